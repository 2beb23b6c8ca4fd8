//! `cargo xtask test`: every check, in order, each under a heading, and one line with the count at the end.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use std::{env, fs};

use crate::process::{cargo, command, in_ci, root, run, run_within, target_dir, which};
use crate::{Result, dist, setup, sites};

/// Somebody else's program in two lines; it takes long to compile and there is nothing in it to check.
const TOOL: &str = "wasm-bindgen-tool";
const PAGE: &str = "bufferscope-web";
const LAB: &str = "bufferscope-lab";
const EMBED: &str = "bufferscope-embed";

/// Generous: a slow machine is no failure, only one that stands still.
const BROWSER_LIMIT: Duration = Duration::from_mins(25);

pub(crate) struct Options {
    only: Option<Vec<String>>,
    deny: bool,
}

/// How a step ended, when it did not fail.
enum Done {
    Passed,
    Skipped(String),
}

struct Step {
    /// What `--only` calls it; steps of one kind share a name.
    name: &'static str,
    title: &'static str,
    run: fn(&Options) -> Result<Done>,
}

const STEPS: [Step; 9] = [
    Step { name: "fmt", title: "formatting", run: fmt },
    Step { name: "clippy", title: "clippy, native", run: clippy_native },
    Step { name: "clippy", title: "clippy, pages and element (wasm32)", run: clippy_page },
    Step { name: "unit", title: "unit and corpus tests", run: unit },
    Step { name: "python", title: "unit tests of the Python package", run: python },
    Step { name: "dist", title: "the page as published", run: build },
    Step { name: "browser", title: "browser tests", run: browser },
    Step { name: "sites", title: "sites of other generators", run: small_sites },
    Step { name: "deny", title: "licences and advisories (cargo-deny)", run: deny },
];

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Options> {
        let mut options = Options { only: None, deny: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--deny" => options.deny = true,
                "--only" => {
                    let names = args.next().ok_or("--only wants steps, as in --only fmt,unit")?;
                    let names: Vec<String> = names.split(',').map(str::to_owned).collect();
                    if let Some(unknown) =
                        names.iter().find(|name| STEPS.iter().all(|step| step.name != **name))
                    {
                        let mut known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
                        known.dedup();
                        return Err(format!(
                            "there is no step {unknown}; the steps are {}",
                            known.join(", ")
                        ));
                    }
                    options.only = Some(names);
                }
                _ => return Err(format!("test knows --only STEPS and --deny, not {arg}")),
            }
        }
        Ok(options)
    }

    fn selects(&self, name: &str) -> bool {
        let Some(only) = &self.only else { return true };
        // The browser tests look at what `dist` has just built, never at something older.
        only.iter().any(|chosen| {
            chosen == name || (["browser", "sites"].contains(&chosen.as_str()) && name == "dist")
        })
    }
}

/// The page as published, built beside the steps before it: most of the time the linker keeps one core busy with it, in folders
/// of its own. What it says is kept until its turn.
struct Ahead {
    child: Child,
    log: PathBuf,
}

impl Ahead {
    /// Starts it, where there is something to do meanwhile and a core to do it on.
    fn start(options: &Options) -> Option<Self> {
        let compiles = ["clippy", "unit"].iter().any(|name| options.selects(name));
        let has_cores = available_parallelism().is_ok_and(|cores| cores.get() > 1);
        if !(compiles && options.selects("dist") && has_cores) {
            return None;
        }
        let log = target_dir().ok()?.join("dist.log");
        let out = fs::File::create(&log).ok()?;
        let child = command(env::current_exe().ok()?)
            .args(["test", "--only", "dist"])
            .stdin(Stdio::null())
            .stdout(out.try_clone().ok()?)
            .stderr(out)
            .spawn()
            .ok()?;
        Some(Self { child, log })
    }

    fn end(mut self) -> Result<Done> {
        let status = self.child.wait().map_err(|e| e.to_string())?;
        println!("{}", fs::read_to_string(&self.log).unwrap_or_default());
        if status.success() { Ok(Done::Passed) } else { Err("the page was not built; see above".into()) }
    }
}

/// Runs the chosen steps; true when nothing failed.
fn run_all(options: &Options) -> bool {
    let mut lines = Vec::new();
    let mut ahead = Ahead::start(options);
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut dist_failed = false;
    for step in STEPS.iter().filter(|step| options.selects(step.name)) {
        println!("\n=== {} ===", step.title);
        let start = Instant::now();
        let done = if ["browser", "sites"].contains(&step.name) && dist_failed {
            Ok(Done::Skipped("there is no page to test".into()))
        } else if let Some(built) = ahead.take_if(|_| step.name == "dist") {
            built.end()
        } else {
            (step.run)(options)
        };
        let seconds = start.elapsed().as_secs();
        lines.push(match done {
            Ok(Done::Passed) => {
                passed += 1;
                format!("passed   {} ({seconds} s)", step.title)
            }
            Ok(Done::Skipped(reason)) => {
                skipped += 1;
                format!("skipped  {}: {reason}", step.title)
            }
            Err(error) => {
                failed += 1;
                dist_failed |= step.name == "dist";
                format!("FAILED   {}: {error}", step.title)
            }
        });
        println!("{}", lines[lines.len() - 1]);
    }
    println!(
        "\n=== summary ===\n{}\n\n{passed} passed, {failed} failed, {skipped} skipped",
        lines.join("\n")
    );
    failed == 0
}

pub(crate) fn test(options: &Options) -> Result<bool> {
    setup::components()?;
    setup::wasm_target()?;
    setup::dependencies()?;
    Ok(run_all(options))
}

fn passed(command: &mut Command) -> Result<Done> {
    run(command).map(|()| Done::Passed)
}

fn fmt(_: &Options) -> Result<Done> {
    passed(cargo().args(["fmt", "--all", "--check"]))
}

fn clippy_native(_: &Options) -> Result<Done> {
    passed(
        cargo()
            .args(["clippy", "--workspace", "--exclude", TOOL, "--all-targets", "--keep-going"])
            .args(["--", "-D", "warnings"]),
    )
}

fn clippy_page(_: &Options) -> Result<Done> {
    passed(
        cargo()
            .args([
                "clippy",
                "--package",
                PAGE,
                "--package",
                LAB,
                "--package",
                EMBED,
                "--target",
                setup::WASM_TARGET,
                "--all-targets",
                "--keep-going",
            ])
            .args(["--", "-D", "warnings"]),
    )
}

fn unit(_: &Options) -> Result<Done> {
    passed(cargo().args(["test", "--workspace", "--exclude", TOOL, "--no-fail-fast"]))
}

/// Those that need nothing but Python; the others are run by `cargo xtask notebooks`. Without Python, all else still counts.
fn python(_: &Options) -> Result<Done> {
    let python = match setup::python() {
        Ok(python) => python,
        Err(error) => return Ok(Done::Skipped(error)),
    };
    passed(
        command(python)
            // Nothing is left in the clone.
            .args(["-B", "-m", "unittest", "discover", "--start-directory", "python/tests/unit"])
            .env("PYTHONPATH", root().join("python/src")),
    )
}

fn build(_: &Options) -> Result<Done> {
    let options = dist::Options { sizes_must_agree: true, ..dist::Options::default() };
    dist::build(&options).map(|()| Done::Passed)
}

fn browser(_: &Options) -> Result<Done> {
    let browser = match setup::browser() {
        Ok(browser) => browser,
        Err(error) => return without_browser(error),
    };
    if let Err(error) = setup::npm_packages() {
        return without_browser(error);
    }
    // The command's part of the tests is about what it writes.
    run(cargo().args(["build", "--quiet", "--package", "bufferscope"]))?;
    // A file of tests is mostly one browser that is busy on one core.
    let at_once = available_parallelism().map_or(1, |cores| cores.get().min(4));
    let mut node = command("node");
    node.args(["--test", "--test-reporter=spec", "--test-timeout=900000"])
        .arg(format!("--test-concurrency={at_once}"))
        .args(browser_tests()?)
        .env("CHROMIUM", &browser.chromium)
        .env("CHROMEDRIVER", &browser.chromedriver)
        .env("BUFFERSCOPE_DIST", root().join("dist"))
        .env("BUFFERSCOPE_COMMAND", target_dir()?.join("debug").join("bufferscope"))
        .env("BUFFERSCOPE_SCREENSHOTS", target_dir()?.join("screenshots"));
    let mut absent = Vec::new();
    for setup::Other { name, programs } in setup::other_browsers() {
        match programs {
            Ok(programs) => _ = node.envs(programs),
            Err(error) if in_ci() => return Err(error),
            Err(error) => {
                println!("skipped  {name}: {error}");
                absent.push(format!("{name:?}:{error:?}"));
            }
        }
    }
    // What the tests of that browser give as their reason.
    node.env("BUFFERSCOPE_ABSENT", format!("{{{}}}", absent.join(",")));
    run_within(&mut node, BROWSER_LIMIT).map(|()| Done::Passed)
}

/// `web/tests/*.test.mjs`, in order: to add a test, add a file.
fn browser_tests() -> Result<Vec<PathBuf>> {
    let dir = root().join("web/tests");
    let entries = fs::read_dir(&dir).map_err(|e| format!("cannot read {}: {e}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.to_string_lossy().ends_with(".test.mjs"));
    files.sort();
    if files.is_empty() { Err("there is no web/tests/*.test.mjs".into()) } else { Ok(files) }
}

/// Only where something has changed that they depend on. A machine that cannot have the generators can do all else.
fn small_sites(_: &Options) -> Result<Done> {
    if sites::inputs()?.are_as_passed() {
        return Ok(Done::Skipped("nothing has changed that they depend on since they passed last".into()));
    }
    if let Err(error) = setup::browser() {
        return without_browser(error);
    }
    match sites::Generators::put_in_place() {
        Ok(generators) => sites::build_and_open(&generators, &root().join("dist")).map(|()| Done::Passed),
        Err(error) => Ok(Done::Skipped(error)),
    }
}

fn deny(options: &Options) -> Result<Done> {
    if which(&["cargo-deny"]).is_none() {
        if !options.deny {
            let reason = "cargo-deny is not installed; `cargo xtask test --deny` installs it";
            return Ok(Done::Skipped(reason.into()));
        }
        println!("  set-up: compiling cargo-deny; this takes several minutes");
        run(cargo().env_remove("CARGO_TARGET_DIR").args(["install", "--locked", "cargo-deny"]))?;
    }
    passed(cargo().args(["deny", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"]))?;
    // The list of advisories is fetched each time; without being asked for, a run does not depend on the network.
    if options.deny { passed(cargo().args(["deny", "check", "advisories"])) } else { Ok(Done::Passed) }
}

/// At home a check that cannot run is named and skipped; on a build server it must not go unnoticed.
fn without_browser(error: String) -> Result<Done> {
    if in_ci() { Err(error) } else { Ok(Done::Skipped(error)) }
}
