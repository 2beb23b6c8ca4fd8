//! Set-up, serve, test and build: `cargo xtask ...`.
//!
//! Every command first puts in place what it needs (see [`setup`]) and says so; a tool that is already there in the
//! right version is used as it is.

mod bench;
mod bench_packing;
mod dist;
mod embed;
mod fuzz;
mod notebooks;
mod oracle;
mod process;
mod rules;
mod serve;
mod setup;
mod single;
mod sites;
mod stage;
mod steps;
#[cfg(test)]
mod tidy;
mod wheel;

use std::process::ExitCode;

/// Errors are sentences for the person at the terminal; nothing here recovers from one by its kind.
type Result<T> = std::result::Result<T, String>;

const HELP: &str = "\
cargo xtask serve [--no-open] [--port N] [--release]
    Builds the page, serves it on this machine, builds again when a file changes, and opens the browser.

cargo xtask test [--only STEP,STEP...] [--deny]
    Runs every check. Steps: fmt, clippy, unit, python, dist, browser, sites, deny.

cargo xtask fuzz [TARGET...] [--seconds N] [--seed N] [--plain]
    Runs fuzz targets, N seconds each: with cargo-fuzz where it is there, else with a generator of our own.

cargo xtask bench [MODULE...] [--most N] [--xla 12,24,48] [--out FILE]
    Measures reading, analysis, assignment, packing and writing of these modules, and how packing grows up to N intervals;
    with --xla beside the real XLA, which takes half an hour, or beside what a file says of it. Written to
    docs/PERFORMANCE.md.

cargo xtask bench --packing FOLDER | --optimum FOLDER
    What the exact search takes on NAME.CAPACITY.csv files; what it says about NAME/module.txt. Tables, in Markdown.

cargo xtask build [--dist FOLDER] [--record-size] [--only-finish]
    Writes the page for publishing, in parts, into dist/, and prints their sizes; --record-size writes them to
    web/size.json. What they may be at most is in web/budget.json.

cargo xtask wheel [--out FOLDER] [--dist FOLDER]
    Builds the Python package: one wheel for all machines, with the page and the command (as WebAssembly) in it; into the
    target directory, or into FOLDER. --dist takes a published page that is there already.

cargo xtask notebooks [--force] [--dist FOLDER]
    Tests the Python package as its wheel installs it, with a real JAX and a real JupyterLab in Chromium. The first run
    installs these (about 1 GB). When nothing has changed since it passed last, it says so and does nothing; --force runs it.

cargo xtask sites [--force] [--dist FOLDER]
    Builds the small sites of web/examples with the real generators (mdBook, Sphinx, MkDocs, Docusaurus, reveal.js) and opens
    them in Chromium: the exhibit in each is alive. The first run installs these (about 700 MB). When nothing has changed since
    it passed last, it says so and does nothing; --force runs it.

cargo xtask shell [FOLDER]
    Writes report-shell.html into a folder of built pages (the lab as one file, into which reports are put), and the folder
    embed (an exhibit for other people's pages). Trunk calls it at the end of every build, so that it is seldom called by hand.

cargo xtask oracle [--targets cpu,gpu,tpu] [--topology v5e:2x2] [--random N] [--golden]
    For work on the engine: installs the real XLA (2 GB, once), lets it compile programs, and keeps what it decides;
    with --golden in place of the golden cases. See crates/xtask/oracle/README.md.";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, args) = match args.split_first() {
        Some((command, args)) => (command.as_str(), args),
        None => ("help", [].as_slice()),
    };
    let done = match command {
        "serve" => serve::Options::parse(args).and_then(|options| serve::serve(&options)).map(|()| true),
        "test" => steps::Options::parse(args).and_then(|options| steps::test(&options)),
        "fuzz" => fuzz::Options::parse(args).and_then(|options| fuzz::fuzz(&options)),
        "bench" => match args {
            [what, folder] if what == "--packing" => bench_packing::packing(folder.as_ref()),
            [what, folder] if what == "--optimum" => bench_packing::modules(folder.as_ref()),
            _ => bench::Options::parse(args).and_then(|options| bench::bench(&options)).map(|()| true),
        },
        "oracle" => oracle::Options::parse(args).and_then(|options| oracle::oracle(&options)).map(|()| true),
        "build" => dist::Options::parse(args).and_then(|options| dist::build(&options)).map(|()| true),
        "wheel" => wheel::Options::parse(args).and_then(|options| wheel::wheel(&options)).map(|_| true),
        "notebooks" => stage::Options::parse("notebooks", args)
            .and_then(|options| notebooks::notebooks(&options))
            .map(|()| true),
        "sites" => {
            stage::Options::parse("sites", args).and_then(|options| sites::sites(&options)).map(|()| true)
        }
        "shell" => dist::shell(args).map(|()| true),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(true)
        }
        _ => Err(format!("not understood: {command} {}\n\n{HELP}", args.join(" "))),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
