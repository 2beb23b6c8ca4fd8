//! `bufferscope-fuzz TARGET [--seconds N] [--seed N]` runs a fuzz target's body on inputs from a seeded generator;
//! `bufferscope-fuzz TARGET FILE...` runs it on files.
//!
//! The input at hand is kept in a file, so that it is there even if the program is ended. Exit status: 0 if nothing was found, 1
//! if something was, 2 if the question was not understood.

use fuzzing::{TARGETS, Target};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// An input that takes longer is as bad as one that panics.
const LONGEST: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(what) => {
            let names: Vec<&str> = TARGETS.iter().map(|t| t.name).collect();
            eprintln!(
                "{what}\nbufferscope-fuzz TARGET [--seconds N] [--seed N] | TARGET FILE...; targets: {}",
                names.join(", ")
            );
            ExitCode::from(2)
        }
    }
}

fn run(args: &[String]) -> Result<bool, String> {
    let Some((name, args)) = args.split_first() else { return Err("a target is missing".into()) };
    let target = Target::find(name).ok_or(format!("no target {name}"))?;
    let (mut seconds, mut seed) = (60, 1);
    let mut files = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|n| n.parse().ok()).ok_or(format!("{arg} wants a number"));
        match arg.as_str() {
            "--seconds" => seconds = number()?,
            "--seed" => seed = number()?,
            file => files.push(file),
        }
    }
    if files.is_empty() {
        return search(target, Duration::from_secs(seconds), seed);
    }
    let mut good = true;
    for file in files {
        let bytes = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
        good &= holds(target, &bytes);
        println!("{file}: {}", if good { "holds" } else { "does not hold" });
    }
    Ok(good)
}

fn holds(target: Target, bytes: &[u8]) -> bool {
    std::panic::catch_unwind(|| (target.body)(bytes)).is_ok()
}

fn search(target: Target, time: Duration, seed: u64) -> Result<bool, String> {
    let folder = std::env::temp_dir().join("bufferscope-fuzz");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let current = folder.join(format!("{}-{seed}-current", target.name));
    let seeds = target.seeds();
    println!(
        "{}: seed {seed}, {} files to start from, the input at hand is in {}",
        target.name,
        seeds.len(),
        current.display()
    );
    let start = Instant::now();
    let (mut count, mut found) = (0_u64, 0_u64);
    // Far apart, so that runs with different seeds do not repeat each other.
    let first = seed.wrapping_mul(1 << 32);
    while start.elapsed() < time {
        let input = target.input(&seeds, first.wrapping_add(count));
        write(&current, &input)?;
        let from = Instant::now();
        let good = holds(target, &input);
        let took = from.elapsed();
        if !good || took > LONGEST {
            found += 1;
            let kept = folder.join(format!("{}-{seed}-{count}", target.name));
            write(&kept, &input)?;
            println!("FOUND after {took:?}: {}", kept.display());
        }
        count += 1;
    }
    println!("{}: {count} inputs in {} s, {found} found", target.name, start.elapsed().as_secs());
    Ok(found == 0)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}
