//! `cargo xtask test`: every check, in order, each under a heading, and one line with the count at the end.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::{cargo, command, in_ci, root, run, run_within, target_dir, which};
use crate::{Result, dist, setup};

/// Somebody else's program in two lines; it takes long to compile and there is nothing in it to check.
const TOOL: &str = "wasm-bindgen-tool";
const PAGE: &str = "bufferscope-web";
const LAB: &str = "bufferscope-lab";

/// Generous: a slow machine is no failure, only one that stands still.
const WASM_LIMIT: Duration = Duration::from_mins(20);
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

const STEPS: [Step; 8] = [
    Step { name: "fmt", title: "formatting", run: fmt },
    Step { name: "clippy", title: "clippy, native", run: clippy_native },
    Step { name: "clippy", title: "clippy, page and lab (wasm32)", run: clippy_page },
    Step { name: "unit", title: "unit and corpus tests", run: unit },
    Step { name: "wasm", title: "wasm tests in Chromium", run: wasm },
    Step { name: "dist", title: "the page as published", run: build },
    Step { name: "browser", title: "browser tests", run: browser },
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
        only.iter().any(|chosen| chosen == name || (chosen == "browser" && name == "dist"))
    }
}

/// Runs the chosen steps; true when nothing failed.
fn run_all(options: &Options) -> bool {
    let mut lines = Vec::new();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut dist_failed = false;
    for step in STEPS.iter().filter(|step| options.selects(step.name)) {
        println!("\n=== {} ===", step.title);
        let start = Instant::now();
        let done = if step.name == "browser" && dist_failed {
            Ok(Done::Skipped("there is no page to test".into()))
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

fn wasm(_: &Options) -> Result<Done> {
    let browser = match setup::browser() {
        Ok(browser) => browser,
        Err(error) => return without_browser(error),
    };
    let runner = setup::wasm_bindgen()?.join("wasm-bindgen-test-runner");
    let target = target_dir()?;
    // Written here rather than kept in the page's folder, because it names the browser that was found.
    let capabilities = target.join("webdriver.json");
    let text = format!(
        r#"{{"goog:chromeOptions":{{"binary":{:?},"args":["--headless=new","--no-sandbox","--disable-gpu","--disable-dev-shm-usage"]}}}}"#,
        browser.chromium.display().to_string()
    );
    fs::write(&capabilities, text).map_err(|e| format!("cannot write {}: {e}", capabilities.display()))?;
    let mut test = cargo();
    test.args(["test", "--package", PAGE, "--target", setup::WASM_TARGET])
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", runner)
        .env("CHROMEDRIVER", &browser.chromedriver)
        .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", &capabilities)
        .env("WASM_BINDGEN_TEST_TIMEOUT", "120");
    run_within(&mut test, WASM_LIMIT).map(|()| Done::Passed)
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
    let mut node = command("node");
    node.args(["--test", "--test-reporter=spec", "--test-concurrency=1", "--test-timeout=900000"])
        .args(browser_tests()?)
        .env("CHROMIUM", &browser.chromium)
        .env("BUFFERSCOPE_DIST", root().join("dist"))
        .env("BUFFERSCOPE_COMMAND", target_dir()?.join("debug").join("bufferscope"))
        .env("BUFFERSCOPE_SCREENSHOTS", target_dir()?.join("screenshots"));
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
