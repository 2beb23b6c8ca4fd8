//! `cargo xtask bench --packing FOLDER` and `--optimum FOLDER`: what the exact search of `packing` takes, and what it says
//! about modules.

use crate::Result;
use crate::process::{cargo, command, run, target_dir};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// What one run printed, and what it took.
struct Ran {
    json: String,
    /// Of the processor, outside the kernel; one thread.
    user_seconds: f64,
}

/// Builds the command; gives its path.
fn build() -> Result<PathBuf> {
    run(cargo().args(["build", "--quiet", "--release", "--package", "bufferscope"]))?;
    Ok(target_dir()?.join("release").join(format!("bufferscope{}", std::env::consts::EXE_SUFFIX)))
}

/// Runs the command. The shell tells what its children took; the standard library does not.
fn optimum(exe: &Path, arguments: &[&str]) -> Result<Ran> {
    let output = command("sh")
        .args(["-c", "\"$@\"; times", "sh"])
        .arg(exe)
        .arg("optimum")
        .args(arguments)
        .arg("--json")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot run sh: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    let json = lines.next().filter(|l| l.starts_with('{')).ok_or(format!("{}: no answer", arguments[0]))?;
    // The second line is about the children; its first word is `0m0.042s`, or `0m0.042000s`.
    let times = lines.nth(1).and_then(|l| l.split_whitespace().next()).and_then(|t| t.split_once('m'));
    let user_seconds = times
        .and_then(|(m, s)| Some(60.0 * m.parse::<f64>().ok()? + s.trim_end_matches('s').parse::<f64>().ok()?))
        .ok_or("sh does not tell times as POSIX says")?;
    Ok(Ran { json: json.to_owned(), user_seconds })
}

/// The number behind a name in JSON on one line.
fn number(json: &str, name: &str) -> u64 {
    let behind = json.split(&format!("\"{name}\":")).nth(1).unwrap_or_default();
    let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    behind[..end].parse().unwrap_or(0)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    // The command runs elsewhere.
    let folder = std::path::absolute(folder).map_err(|e| e.to_string())?;
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

/// A table of what each `NAME.CAPACITY.csv` of the folder takes; without a number there, the optimum is looked for. True if all fit.
pub(crate) fn packing(folder: &Path) -> Result<bool> {
    let exe = build()?;
    println!("| instance | buffers | capacity | height | proved | user seconds | nodes |");
    println!("|---|--:|--:|--:|---|--:|--:|");
    let (mut all_fit, mut sum) = (true, 0.0);
    for path in entries(folder)?.iter().filter(|p| p.extension().is_some_and(|e| e == "csv")) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let capacity = stem.rsplit_once('.').map(|(_, c)| c).filter(|c| c.parse::<u64>().is_ok());
        let file = path.to_string_lossy();
        let mut arguments = vec![&*file];
        if let Some(capacity) = capacity {
            arguments.extend(["--capacity", capacity]);
        }
        let ran = optimum(&exe, &arguments)?;
        let proved = ran.json.contains("\"proved\":true");
        let fits = match capacity {
            Some(_) => ran.json.contains("\"fits\":true"),
            None => proved,
        };
        println!(
            "| {stem} | {} | {} | {} | {} | {:.3} | {} |",
            ran.json.matches("\"offset\":").count(),
            capacity.unwrap_or("-"),
            number(&ran.json, "height"),
            if proved { "yes" } else { "no" },
            ran.user_seconds,
            number(&ran.json, "nodes"),
        );
        all_fit &= fits;
        sum += ran.user_seconds;
    }
    println!("\n{sum:.3} user seconds in sum; {}", if all_fit { "all solved" } else { "not all solved" });
    Ok(all_fit)
}

/// A table of the modules of a folder, each in a folder of its own (`NAME/module.txt`, and `module.hlo.pb.gz` if there is
/// one): what XLA's packers make of its heaps, and what would be the best.
pub(crate) fn modules(folder: &Path) -> Result<bool> {
    let exe = build()?;
    println!("| module | space | best fit | fast merge | fast split | optimum | best fit takes more |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    let (mut heaps, mut without, mut exact, mut best) = (0, 0, 0, 0);
    for path in entries(folder)?.iter().filter(|p| p.join("module.txt").is_file()) {
        let (module, proto) = (path.join("module.txt"), path.join("module.hlo.pb.gz"));
        let (module, proto) = (module.to_string_lossy(), proto.to_string_lossy());
        let mut arguments = vec![&*module, "--time-limit", "20"];
        if Path::new(&*proto).is_file() {
            arguments.extend(["--orders", &proto]);
        }
        let ran = optimum(&exe, &arguments)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let all = ran.json.split("\"heaps\":[").nth(1).and_then(|h| h.split(']').next()).unwrap_or_default();
        if all.is_empty() {
            without += 1;
        }
        for heap in all.split("},{").filter(|h| !h.is_empty()) {
            let of = |name| number(heap, name);
            let (fit, height, bound) = (of("best_fit"), of("height"), of("lower_bound"));
            let (optimum, more) = if height == bound {
                exact += 1;
                (height.to_string(), percent(fit, height))
            } else {
                (
                    format!("{bound} to {height}"),
                    format!("{} to {}", percent(fit, height), percent(fit, bound)),
                )
            };
            heaps += 1;
            best += u32::from(fit == height);
            println!(
                "| {name} | {} | {fit} | {} | {} | {optimum} | {more} |",
                of("color"),
                of("fast_merge"),
                of("fast_split"),
            );
        }
    }
    println!(
        "\n{heaps} heaps, of {exact} the optimum is known; best fit reaches it in {best}. {without} modules have no heap."
    );
    Ok(true)
}

fn percent(taken: u64, least: u64) -> String {
    if taken == least || least == 0 {
        "0".to_owned()
    } else {
        format!("{:.2} %", (taken as f64 / least as f64 - 1.0) * 100.0)
    }
}
