//! `cargo xtask fuzz`: the fuzz targets, for as long as one likes.

use crate::Result;
use crate::process::{cargo, output, root, run, which};

pub(crate) struct Options {
    targets: Vec<String>,
    seconds: u64,
    seed: u64,
    plain: bool,
}

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Options> {
        let mut options = Options { targets: Vec::new(), seconds: 60, seed: 1, plain: false };
        let known = targets()?;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut number =
                || args.next().and_then(|n| n.parse().ok()).ok_or(format!("{arg} wants a number"));
            match arg.as_str() {
                "--seconds" => options.seconds = number()?,
                "--seed" => options.seed = number()?,
                "--plain" => options.plain = true,
                name if known.iter().any(|k| k == name) => options.targets.push(name.to_owned()),
                _ => {
                    return Err(format!(
                        "fuzz knows {}, --seconds N, --seed N and --plain, not {arg}",
                        known.join(", ")
                    ));
                }
            }
        }
        if options.targets.is_empty() {
            options.targets = known;
        }
        Ok(options)
    }
}

/// `fuzz/fuzz_targets/*.rs`, by name.
fn targets() -> Result<Vec<String>> {
    let dir = root().join("fuzz/fuzz_targets");
    let entries = std::fs::read_dir(&dir).map_err(|e| format!("cannot read {}: {e}", dir.display()))?;
    let stem = |path: std::path::PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let mut names: Vec<String> = entries.filter_map(|entry| stem(entry.ok()?.path())).collect();
    names.sort();
    Ok(names)
}

/// cargo-fuzz learns from what it has covered, but needs a nightly compiler, so it is taken only where both are there.
fn has_cargo_fuzz() -> bool {
    which(&["cargo-fuzz"]).is_some()
        && output(crate::process::command("rustup").args(["toolchain", "list"]))
            .is_some_and(|list| list.contains("nightly"))
}

/// True when nothing was found.
pub(crate) fn fuzz(options: &Options) -> Result<bool> {
    let guided = !options.plain && has_cargo_fuzz();
    if !guided {
        println!("  the built-in generator; with cargo-fuzz and a nightly compiler the search is guided");
        run(cargo().args(["build", "--package", "bufferscope-fuzzing"]))?;
    }
    let mut good = true;
    for target in &options.targets {
        println!("\n=== {target} ===");
        let seconds = options.seconds.to_string();
        let done = if guided {
            // Through rustup, because this program was started by a cargo of another toolchain.
            run(crate::process::command("rustup")
                .args(["run", "nightly", "cargo", "fuzz", "run", target, "--"])
                .arg(format!("-max_total_time={seconds}"))
                .arg(format!("-seed={}", options.seed))
                .env_remove("CARGO")
                .env_remove("RUSTUP_TOOLCHAIN"))
        } else {
            let seed = options.seed.to_string();
            run(cargo().args(["run", "--quiet", "--package", "bufferscope-fuzzing", "--"]).args([
                target.as_str(),
                "--seconds",
                &seconds,
                "--seed",
                &seed,
            ]))
        };
        if let Err(error) = done {
            println!("{error}");
            good = false;
        }
    }
    Ok(good)
}
