//! `cargo xtask bench`: what the engines take, written to `docs/PERFORMANCE.md`.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::Result;
use crate::oracle;
use crate::process::{cargo, command, root, run, shown, target_dir};

pub(crate) struct Options {
    /// As they were given.
    given: Vec<String>,
    modules: Vec<String>,
    most: Option<String>,
    /// Numbers of layers that XLA compiles beside, or a file with what it took.
    xla: Option<String>,
    out: PathBuf,
}

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Options> {
        let mut options = Options {
            given: args.to_vec(),
            modules: Vec::new(),
            most: None,
            xla: None,
            out: root().join("docs/PERFORMANCE.md"),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = |what: &str| args.next().cloned().ok_or(format!("{arg} wants {what}"));
            match arg.as_str() {
                "--most" => options.most = Some(value("a number of intervals")?),
                "--xla" => options.xla = Some(value("numbers of layers, as in 12,24,48, or a file")?),
                "--out" => options.out = value("a file")?.into(),
                path if !path.starts_with('-') => {
                    let path = fs::canonicalize(path).map_err(|e| format!("{path}: {e}"))?;
                    options.modules.push(path.display().to_string());
                }
                _ => {
                    return Err(format!(
                        "bench knows module files, --most N, --xla N,N and --out FILE, not {arg}"
                    ));
                }
            }
        }
        Ok(options)
    }
}

pub(crate) fn bench(options: &Options) -> Result<()> {
    let mut bench = cargo();
    bench.args(["bench", "--quiet", "--package", "bufferscope", "--bench", "performance"]);
    // Compiled before anything is measured.
    run(bench.arg("--no-run"))?;
    let mut bench = cargo();
    bench.args(["bench", "--quiet", "--package", "bufferscope", "--bench", "performance", "--"]);
    bench.args(&options.modules);
    if let Some(most) = &options.most {
        bench.args(["--most", most]);
    }
    if let Some(layers) = &options.xla {
        let file = if layers.contains(|c: char| !c.is_ascii_digit() && c != ',') {
            fs::canonicalize(layers).map_err(|e| format!("{layers}: {e}"))?
        } else {
            let out = target_dir()?.join("timing");
            fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
            let script = root().join("crates/xtask/oracle/timing.py");
            let told =
                printed(command(oracle::environment()?).arg(script).arg(&out).args(["--layers", layers]))?;
            let file = out.join("xla.json");
            fs::write(&file, told).map_err(|e| format!("{}: {e}", file.display()))?;
            file
        };
        bench.arg("--xla").arg(file);
    }
    let tables = printed(&mut bench)?;
    let commit = printed(command("git").args(["rev-parse", "--short", "HEAD"])).unwrap_or_default();
    let date = printed(command("date").args(["-u", "+%Y-%m-%d"])).unwrap_or_default();
    let names: Vec<String> = options
        .given
        .iter()
        .map(|a| a.rsplit_once('/').map_or(a.clone(), |(_, file)| format!(".../{file}")))
        .collect();
    let text = format!(
        "# Performance\n\nWritten by `cargo xtask bench {}`, on {}, commit {}. Machine: {}.\n{tables}\n{}",
        names.join(" "),
        date.trim(),
        commit.trim(),
        machine(),
        notes(&options.out)
    );
    fs::write(&options.out, text).map_err(|e| format!("{}: {e}", options.out.display()))?;
    println!("{}", options.out.display());
    Ok(())
}

/// What stands by hand below the tables stays.
fn notes(file: &std::path::Path) -> String {
    const MARK: &str = "## What was found";
    let old = fs::read_to_string(file).unwrap_or_default();
    old.find(MARK).map(|at| old[at..].to_owned()).unwrap_or_default()
}

fn printed(command: &mut std::process::Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot run {}: {e}", shown(command)))?;
    if !output.status.success() {
        return Err(format!("{} failed ({})", shown(command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}

/// The processor, how many of them, and how much else they had to do.
fn machine() -> String {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map_or("unknown processor", |l| l.trim_start_matches([' ', '\t', ':']));
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    format!("{name}, {cpus} threads, load average at the end {load}")
}
