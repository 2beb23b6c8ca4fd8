//! `cargo xtask notebooks`: the Python package as its wheel installs it, with a real JAX and a real JupyterLab.
//!
//! A stage of its own, and no step of `cargo xtask test`, because it installs about 1 GB and needs a network for that once. What
//! it depends on is hashed; when that is as it was when everything passed last, there is nothing to be run.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::process::{cargo, command, root, run, run_within, target_dir};
use crate::{Result, setup, wheel};

/// What can change the outcome: the package with its tests, and everything of which the lab and the command are made.
const INPUTS: [&str; 11] = [
    "python",
    "crates",
    "lab",
    "assets",
    "lab.html",
    "Trunkfile.toml",
    "web/boot-single.js",
    "web/trusted.js",
    "web/tests/harness.mjs",
    "Cargo.toml",
    "Cargo.lock",
];
const LIMIT: Duration = Duration::from_mins(15);

#[derive(Default)]
pub(crate) struct Options {
    /// Run it even if nothing has changed.
    force: bool,
    /// A page that is built already.
    dist: Option<PathBuf>,
}

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--force" => options.force = true,
                "--dist" => options.dist = Some(args.next().ok_or("--dist wants a folder")?.into()),
                _ => return Err(format!("notebooks knows --force and --dist FOLDER, not {arg}")),
            }
        }
        Ok(options)
    }
}

/// One hash of all inputs: their names and what is in them.
fn inputs() -> Result<String> {
    let mut hash = Sha256::new();
    for file in wheel::tracked(&INPUTS)? {
        let bytes =
            fs::read(root().join(&file)).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
        hash.update(file.to_string_lossy().as_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    Ok(wheel::hex(&hash.finalize()))
}

pub(crate) fn notebooks(options: &Options) -> Result<()> {
    let now = inputs()?;
    let target = target_dir()?;
    let stamp = target.join("notebooks.passed");
    if !options.force && fs::read_to_string(&stamp).is_ok_and(|passed| passed == now) {
        println!(
            "Nothing that the notebooks depend on has changed since they passed last; --force runs them all the same."
        );
        return Ok(());
    }
    let browser = setup::browser()?;
    setup::npm_packages()?;
    let python = setup::python_packages(
        "notebooks",
        "python/requirements-notebooks.txt",
        "JAX for the CPU, JupyterLab, wasmtime and what tests Python, about 1 GB",
    )?;
    let wheel = wheel::wheel(&wheel::Options { out: None, dist: options.dist.clone() })?;
    println!("\n=== the wheel as it is installed ===");
    run(command(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"])
        .arg("--force-reinstall")
        .arg(&wheel))?;
    run(cargo().args(["build", "--quiet", "--package", "bufferscope"]))?;
    let tool = |name: &str, args: &[&str]| {
        let mut tool = command(&python);
        tool.args(["-B", "-m", name]).args(args).current_dir(root().join("python"));
        tool.env("BUFFERSCOPE_COMMAND", target.join("debug").join("bufferscope"))
            // There may be more devices here than one thinks, and none that is wanted.
            .env("JAX_PLATFORMS", "cpu")
            .env_remove("BUFFERSCOPE")
            .env_remove("PYTHONPATH");
        tool
    };
    run(&mut tool("ruff", &["check", "--no-cache"]))?;
    run(&mut tool("ruff", &["format", "--check", "--no-cache"]))?;
    run(tool("mypy", &["--cache-dir"]).arg(target.join("mypy")))?;
    run_within(&mut tool("pytest", &["-q", "-p", "no:cacheprovider"]), LIMIT)?;
    println!("\n=== JupyterLab in Chromium ===");
    let mut node = command("node");
    node.args(["--test", "--test-reporter=spec", "--test-concurrency=1", "--test-timeout=600000"])
        .arg("python/tests/notebook.test.mjs")
        .env("BUFFERSCOPE_PYTHON", &python)
        .env("CHROMIUM", &browser.chromium)
        .env("BUFFERSCOPE_SCREENSHOTS", target.join("screenshots"))
        .env("JAX_PLATFORMS", "cpu")
        .env_remove("BUFFERSCOPE")
        .env_remove("PYTHONPATH");
    run_within(&mut node, LIMIT)?;
    fs::write(&stamp, now).map_err(|e| format!("cannot write {}: {e}", stamp.display()))?;
    println!("\nThe notebooks passed.");
    Ok(())
}
