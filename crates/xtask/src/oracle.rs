//! `cargo xtask oracle`: lets the real XLA compile programs, and keeps what it writes about buffers.
//!
//! For working on the engine only: it installs about 2 GB once, takes minutes, and no test runs it.

use std::fs;
use std::path::PathBuf;

use crate::Result;
use crate::process::{command, root, run, target_dir};
use crate::setup;

pub(crate) struct Options {
    /// The arguments of `generate.py` or `random_modules.py`.
    arguments: Vec<String>,
    random: bool,
    golden: bool,
}

/// What of the golden corpus can be made again: folder, targets, further arguments of `generate.py`.
const GOLDEN: [(&str, &str, &[&str]); 5] = [
    ("more-cpu", "cpu", &[]),
    ("more-gpu", "gpu", &[]),
    ("more-tpu", "tpu", &[]),
    ("more-tpu-v3", "tpu", &["--topology", "v3:2x2"]),
    ("more-tpu-v6e", "tpu", &["--topology", "v6e:2x2"]),
];

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Options> {
        let mut options = Options {
            arguments: vec!["--targets".into(), "cpu,gpu,tpu".into()],
            random: false,
            golden: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = |what: &str| args.next().cloned().ok_or(format!("{arg} wants {what}"));
            match arg.as_str() {
                "--random" => {
                    options.random = true;
                    options.arguments = vec!["--count".into(), value("a number")?];
                }
                "--golden" => options.golden = true,
                "--targets" => options.arguments[1] = value("targets, as in cpu,gpu")?,
                "--topology" => {
                    let topology = value("a topology, as in v5e:2x2")?;
                    options.arguments.extend(["--topology".into(), topology]);
                }
                _ => {
                    return Err(format!(
                        "oracle knows --golden, --random N, --targets T,T and --topology T, not {arg}"
                    ));
                }
            }
        }
        Ok(options)
    }
}

pub(crate) fn oracle(options: &Options) -> Result<()> {
    let python = environment()?;
    let scripts = root().join("crates/xtask/oracle");
    if options.golden {
        let golden = root().join("crates/dumps/tests/golden");
        for (folder, target, more) in GOLDEN {
            // The programs that are kept; the others are compiled when somebody wants them.
            let kept: Vec<String> = fs::read_dir(golden.join(folder))
                .map_err(|e| format!("cannot read the golden cases of {folder}: {e}"))?
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .collect();
            run(command(&python)
                .arg(scripts.join("generate.py"))
                .arg(&golden)
                .args(["--targets", target, "--as", folder, "--only", &kept.join(",")])
                .args(more))?;
        }
        return Ok(());
    }
    let script = if options.random { "random_modules.py" } else { "generate.py" };
    let out = target_dir()?.join("oracle");
    let out = if options.random { out.join("random") } else { out };
    run(command(&python).arg(scripts.join(script)).arg(&out).args(&options.arguments))?;
    println!("kept in {}", out.display());
    Ok(())
}

/// The Python of an environment with the compilers in the wanted versions, made if need be.
pub(crate) fn environment() -> Result<PathBuf> {
    setup::python_packages(
        "oracle",
        "crates/xtask/oracle/requirements.txt",
        "XLA's compilers for CPU, GPU and TPU, about 2 GB",
    )
}
