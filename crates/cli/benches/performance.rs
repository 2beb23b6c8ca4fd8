//! What the engines take, and how that grows: `cargo xtask bench`, which keeps the answer in `docs/PERFORMANCE.md`.
//!
//! Not criterion: it wants ten samples of each, which at a million intervals would be an hour. Here what is quick runs
//! often and the median counts, and what is slow runs once.
//!
//! Arguments: module files (HLO text, also gzipped), `--most N` intervals, `--xla FILE` with what XLA took for some of these
//! modules (`crates/xtask/oracle/timing.py`). Prints Markdown.

mod shapes;

use analysis::{Facts, Orders, Target};
use packing::{Algorithm, Options};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Read;
use std::time::Instant;

fn main() {
    let mut modules = Vec::new();
    let mut most = 1_000_000;
    let mut xla = Vec::new();
    // Cargo adds `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--most" => {
                most = arguments.next().and_then(|n| n.parse().ok()).expect("--most wants a number");
            }
            "--xla" => {
                let path = arguments.next().expect("--xla wants a file");
                let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
                let read: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"));
                xla = read.as_array().cloned().unwrap_or_default();
            }
            "--memory" => {
                // A process of its own: what it took at most is known at its end only.
                let path = arguments.next().expect("--memory wants a file");
                print!("{}", memory(&path));
                return;
            }
            path => modules.push(path.to_owned()),
        }
    }
    for known in &xla {
        modules.extend(known["text"].as_str().map(str::to_owned));
    }
    print!("{}", of_modules(&modules, &xla));
    print!("{}", growth(most));
    print!("{}", hard(most.min(100_000)));
}

/// The median of several runs: as many as two seconds allow, one at least and nine at most.
fn median(mut run: impl FnMut()) -> f64 {
    let begun = Instant::now();
    let mut took = Vec::new();
    while took.is_empty() || (took.len() < 9 && begun.elapsed().as_secs_f64() < 2.0) {
        let started = Instant::now();
        run();
        took.push(started.elapsed().as_secs_f64());
    }
    took.sort_by(f64::total_cmp);
    took[took.len() / 2]
}

fn bytes_of(path: &str) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut out = Vec::new();
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut out).expect("gzip");
        return out;
    }
    bytes
}

/// What this process took at most so far, in bytes; 0 where the system does not tell.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// Bytes that are held at most for each byte of the module: when it has been read, and when it has been assigned.
fn memory(path: &str) -> String {
    let empty = peak();
    let bytes = bytes_of(path);
    let length = bytes.len() as f64;
    let module = hlo::read_owned(String::from_utf8(bytes).expect("UTF-8")).complete().expect("a module");
    let read = peak() - empty;
    let target = Target::detect(&module);
    let facts = Facts::new(&module, Orders::guess(&module, &target), target).expect("facts");
    let (assignment, decisions) =
        assigner::assign(&module, &facts, &facts.ranges, &assigner::Options::default());
    let all = peak() - empty;
    std::hint::black_box((assignment.total_bytes(), decisions.len()));
    format!("{} {}", read as f64 / length, all as f64 / length)
}

fn of_modules(paths: &[String], xla: &[Value]) -> String {
    let mut out = String::from(
        "\n## Modules\n\nMedians. *Assignment* is everything between facts and places, decisions with their reasons included, without \
         *packing*. Memory is what the process held at most, its input included, for each byte of the module's text.\n\n\
         | module | MB | instructions | reading | MB/s | analysis | assignment | packing | writing | memory after reading | at the end |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut beside = String::from(
        "\n## Beside XLA\n\nXLA's own time is that between `Assigning buffers` and `Buffer assignment done.` in its log of level 1; its \
         reader is jaxlib's `hlo_module_from_text`.\n\n\
         | module | XLA assigns | ours | ratio | XLA reads, MB/s | ours | ratio |\n|---|---|---|---|---|---|---|\n",
    );
    let mut compared = 0;
    for path in paths {
        let bytes = bytes_of(path);
        let mb = bytes.len() as f64 / 1e6;
        let text = String::from_utf8(bytes).expect("UTF-8");
        let reading = median(|| {
            let read = hlo::read(&text);
            assert!(read.module.is_some(), "{path}");
        });
        let module = hlo::read(&text).complete().unwrap_or_else(|d| panic!("{path}: {d:?}"));
        let target = Target::detect(&module);
        let analyse = || {
            let orders = Orders::guess(&module, &target);
            Facts::new(&module, orders, target.clone()).expect("facts")
        };
        let analysis = median(|| {
            std::hint::black_box(analyse().buffers().len());
        });
        let facts = analyse();
        let assign = || assigner::assign(&module, &facts, &facts.ranges, &assigner::Options::default());
        let whole = median(|| {
            std::hint::black_box(assign().1.len());
        });
        let (assignment, _) = assign();
        let packing = median(|| {
            for heap in &assignment.heaps {
                std::hint::black_box(packing::pack(&heap.events, &heap.options).is_ok());
            }
        });
        let writing = median(|| {
            let all = dumps::all(&module, &facts, &assignment);
            std::hint::black_box(all.map(|(_, text)| text.len()));
        });
        let itself = std::env::current_exe().expect("this program");
        let told = std::process::Command::new(itself).args(["--memory", path]).output().expect("it runs");
        let told = String::from_utf8(told.stdout).expect("UTF-8");
        let (read, all) = told.split_once(' ').unwrap_or(("0", "0"));
        let factor = |n: &str| n.parse::<f64>().unwrap_or(0.0);
        let known = xla.iter().find(|k| k["text"].as_str() == Some(path));
        let name = match known {
            Some(known) => format!("{} layers", known["layers"]),
            None => {
                let path = std::path::Path::new(path);
                let file = |p: &std::path::Path| p.file_name().map(|f| f.to_string_lossy().into_owned());
                let folder = path.parent().and_then(file);
                format!("`{}/{}`", folder.unwrap_or_default(), file(path).unwrap_or_default())
            }
        };
        _ = writeln!(
            out,
            "| {name} | {mb:.2} | {} | {} | {:.0} | {} | {} | {} | {} | {:.1} | {:.1} |",
            module.instructions.len(),
            seconds(reading),
            mb / reading,
            seconds(analysis),
            seconds((whole - packing).max(0.0)),
            seconds(packing),
            seconds(writing),
            factor(read),
            factor(all)
        );
        if let Some(known) = known {
            compared += 1;
            let theirs = known["assignment_seconds"].as_f64().unwrap_or(f64::NAN);
            let speed = known["reading_mb_per_second"].as_f64().unwrap_or(f64::NAN);
            _ = writeln!(
                beside,
                "| {name} | {} | {} | {:.2} | {speed:.1} | {:.0} | {:.1} |",
                seconds(theirs),
                seconds(whole),
                whole / theirs,
                mb / reading,
                mb / reading / speed
            );
        }
    }
    if paths.is_empty() {
        return String::new();
    }
    if compared > 0 { out + &beside } else { out }
}

fn seconds(s: f64) -> String {
    if s < 0.001 {
        format!("{:.0} µs", s * 1e6)
    } else if s < 1.0 {
        format!("{:.1} ms", s * 1e3)
    } else {
        format!("{s:.2} s")
    }
}

fn pack(events: &[packing::Event]) -> f64 {
    let options =
        Options { algorithm: Algorithm::BestOfSpatialTemporal, alignment: 64, ..Options::default() };
    median(|| {
        let packed = packing::pack(events, &options).expect("it packs");
        std::hint::black_box(packed.total());
    })
}

fn growth(most: usize) -> String {
    let sizes: Vec<usize> = [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|n| *n <= most).collect();
    let mut out = String::from(
        "\n## Packing, by number of intervals\n\nXLA's CPU and GPU packer: best of spatial and temporal best fit. The slope is that of the line through the points, both axes logarithmic.\n\n| shape |",
    );
    for n in &sizes {
        _ = write!(out, " {n} |");
    }
    out += " slope |\n|---|";
    out += &"---|".repeat(sizes.len() + 1);
    out.push('\n');
    for (name, make) in shapes::SHAPES {
        _ = write!(out, "| {name} |");
        let mut points = Vec::new();
        for n in &sizes {
            let took = pack(&make(*n));
            _ = write!(out, " {} |", seconds(took));
            points.push(((*n as f64).ln(), took.ln()));
        }
        _ = writeln!(out, " {:.2} |", slope(&points));
    }
    out
}

/// Of the line that lies nearest to the points.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (up, along) = points
        .iter()
        .fold((0.0, 0.0), |(up, along), p| (up + (p.0 - x) * (p.1 - y), along + (p.0 - x) * (p.0 - x)));
    up / along
}

fn hard(n: usize) -> String {
    let mut out = format!("\n## Hard inputs, {n} intervals\n\n| input | time |\n|---|---|\n");
    for (name, make) in shapes::HARD {
        _ = writeln!(out, "| {name} | {} |", seconds(pack(&make(n))));
    }
    out
}
