//! `cargo xtask notebooks`: the Python package as its wheel installs it, with a real JAX and a real JupyterLab.
//!
//! A stage of its own, and no step of `cargo xtask test`, because it installs about 1 GB and needs a network for that once. What
//! it depends on is hashed; when that is as it was when everything passed last, there is nothing to be run.

use std::time::Duration;

use crate::process::{cargo, command, root, run, run_within, target_dir};
use crate::stage::{Inputs, Options};
use crate::{Result, setup, wheel};

/// What can change the outcome: the package with its tests, and everything of which the lab and the command are made.
const INPUTS: [&str; 13] = [
    "python",
    "crates",
    "lab",
    "assets",
    "lab.html",
    "Trunkfile.toml",
    "web/boot-single.js",
    "web/language.js",
    "web/locale.js",
    "web/trusted.js",
    "web/tests/harness.mjs",
    "Cargo.toml",
    "Cargo.lock",
];
const LIMIT: Duration = Duration::from_mins(15);

pub(crate) fn notebooks(options: &Options) -> Result<()> {
    let inputs = Inputs::of("notebooks", &INPUTS)?;
    if inputs.need_nothing(options) {
        return Ok(());
    }
    let target = target_dir()?;
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
    inputs.passed()
}
