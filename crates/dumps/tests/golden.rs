//! The four files and the decisions, compared byte for byte with what XLA wrote for real programs.
//!
//! `golden/TARGET/PROGRAM/` holds a module as text and as `.hlo.pb`, XLA's four files for it, and (but for TPU) the events
//! of its decision log. `cargo xtask oracle --golden` makes those in `more-*` anew. What is not compared byte for byte,
//! because it is in no dump: the order of `uses:`, the order of places after a heap result, and on TPU the order of JSON
//! keys in `backend_config`.

use analysis::{Facts, Generation, Orders, Target};
use assigner::{Assignment, Decisions, Options, Preset};
use hlo::Module;
use std::io::Read;
use std::path::{Path, PathBuf};

const FILES: [&str; 4] = ["buffer-assignment.txt", "values.txt", "live-range.txt", "memory-usage-report.txt"];

fn bytes(path: &Path) -> Vec<u8> {
    let packed = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut out).expect("a gzip file");
    out
}

fn text(case: &Path, name: &str) -> String {
    String::from_utf8(bytes(&case.join(format!("{name}.gz")))).expect("UTF-8")
}

fn cases(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(target);
    let mut out: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the golden folder").map(|e| e.expect("an entry").path()).collect();
    out.sort();
    out
}

/// Which way a module comes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// Text with the proto's orders.
    Orders,
    /// The proto alone.
    Proto,
    /// Text alone: orders are guessed.
    Text,
}

struct Run {
    module: Module,
    facts: Facts,
    assignment: Assignment,
    decisions: Decisions,
}

fn run(case: &Path, source: Source) -> Run {
    let proto = bytes(&case.join("module.hlo.pb.gz"));
    let read = match source {
        Source::Proto => hlo::read_proto(&proto),
        _ => hlo::read_owned(text(case, "module.txt")),
    };
    let module = read.complete().unwrap_or_else(|d| panic!("{}: {d:?}", case.display()));
    let set = case.parent().and_then(Path::file_name).unwrap_or_default();
    let mut target = Target::detect(&module);
    if set == "more-tpu-v6e" {
        target = target.of_generation(Generation::V6e);
    }
    let orders = match source {
        Source::Text => Orders::guess(&module, &target),
        _ => Orders::exact(&module, &target, &hlo::read_proto_orders(&proto).expect("a proto"))
            .expect("its orders"),
    };
    let facts = Facts::new(&module, orders, target).expect("facts");
    let presets = presets(&module, &facts, &text(case, "buffer-assignment.txt"));
    let heap_limit = (set == "heap-limit").then_some(600);
    let options = Options { presets, heap_limit, ..Options::default() };
    let (assignment, decisions) = assigner::assign(&module, &facts, &facts.ranges, &options);
    Run { module, facts, assignment, decisions }
}

/// What memory space assignment placed on TPU: the dump's own allocations of colour 1.
fn presets(module: &Module, facts: &Facts, dump: &str) -> Vec<Preset> {
    if facts.target.backend != analysis::Backend::Tpu {
        return Vec::new();
    }
    dumps::presets(module, facts, dump).expect("values of the module").0
}

/// `uses:` blocks sorted, JSON of `backend_config` as a bag of its parts.
fn unordered(values: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut block: Option<usize> = None;
    for line in values.lines() {
        match block {
            Some(_) if line.starts_with("  ") => {}
            Some(from) => {
                out[from..].sort();
                block = None;
            }
            None => {}
        }
        if line == " uses:" {
            block = Some(out.len() + 1);
        }
        out.push(match line.split_once("backend_config=") {
            Some((head, config)) => {
                let mut parts: Vec<&str> = config.split([',', '{', '}']).collect();
                parts.sort_unstable();
                format!("{head}backend_config={}", parts.join(","))
            }
            None => line.to_owned(),
        });
    }
    if let Some(from) = block {
        out[from..].sort();
    }
    out
}

/// Runs of places sorted: after a heap result XLA reports them in hash order.
fn events(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut from = 0;
    for line in lines {
        if !line.contains(r#""event":"place""#) {
            out[from..].sort();
            out.push(line);
            from = out.len();
        } else {
            out.push(line);
        }
    }
    out[from..].sort();
    out
}

fn canonical(json: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(json).expect("an event");
    value.to_string()
}

/// What differs from XLA's files, by name.
fn differences(case: &Path, source: Source) -> Vec<&'static str> {
    let run = run(case, source);
    let ours = dumps::all(&run.module, &run.facts, &run.assignment);
    let mut out: Vec<&'static str> = Vec::new();
    for (name, got) in &ours {
        let want = text(case, name);
        let same = if *name == "values.txt" { unordered(got) == unordered(&want) } else { *got == want };
        if !same {
            out.push(name);
        }
    }
    if case.join("events.jsonl.gz").exists() {
        let want = events(text(case, "events.jsonl").lines().map(canonical));
        let got = events(run.decisions.iter().filter_map(|d| dumps::event(&d)).map(|e| canonical(&e)));
        if got != want {
            out.push("decisions");
        }
    }
    out
}

fn all_same(target: &str, source: Source, at_least: usize) {
    let cases = cases(target);
    assert!(cases.len() >= at_least, "{} cases of {target}, expected {at_least}", cases.len());
    let wrong: Vec<_> = cases
        .iter()
        .map(|c| (c.file_name().map(|n| n.to_string_lossy().into_owned()), differences(c, source)))
        .filter(|(_, d)| !d.is_empty())
        .collect();
    assert!(wrong.is_empty(), "{target} from {source:?}: {wrong:#?}");
}

#[test]
fn cpu_is_exact() {
    all_same("cpu", Source::Orders, 52);
    all_same("cpu", Source::Proto, 52);
}

#[test]
fn gpu_is_exact() {
    all_same("gpu", Source::Orders, 49);
    all_same("gpu", Source::Proto, 49);
}

#[test]
fn gpu_with_collective_memory_is_exact() {
    all_same("gpu_collective", Source::Orders, 5);
    all_same("gpu_collective", Source::Proto, 5);
}

#[test]
fn tpu_is_exact_with_presets() {
    all_same("tpu", Source::Orders, 49);
    all_same("tpu", Source::Proto, 49);
}

#[test]
fn random_modules_are_exact() {
    all_same("random", Source::Orders, 50);
    all_same("random", Source::Proto, 50);
}

/// Programs and random modules that showed rules which the others do not: XLA's own phis that stay, callers by id, small
/// floats and empty literals in a proto, generations of TPU without a scalar, SparseCore, colour 4.
#[test]
fn more_programs_are_exact() {
    for (target, at_least) in
        [("more-cpu", 18), ("more-gpu", 12), ("more-tpu", 8), ("more-tpu-v3", 9), ("more-random", 40)]
    {
        all_same(target, Source::Orders, at_least);
        all_same(target, Source::Proto, at_least);
    }
}

/// v6e, which most of its modules do not show.
#[test]
fn a_named_generation_is_exact() {
    all_same("more-tpu-v6e", Source::Orders, 7);
    all_same("more-tpu-v6e", Source::Proto, 7);
}

/// With `--xla_multiheap_size_constraint_per_heap=600`.
#[test]
fn heap_limits_are_exact() {
    all_same("heap-limit", Source::Orders, 6);
}

#[test]
fn every_line_is_told_what_it_is() {
    for case in ["cpu", "gpu", "tpu"].iter().flat_map(|target| cases(target)) {
        for name in FILES {
            let text = text(&case, name);
            let kinds = dumps::read::annotate(&text);
            assert_eq!(kinds.len(), text.lines().count(), "{}: {name}", case.display());
            let unread = kinds.iter().position(|k| *k == dumps::read::LineKind::Unread);
            assert_eq!(unread, None, "{}: {name}", case.display());
        }
    }
}

/// `golden/stats.txt`: for each program a line `# TARGET/PROGRAM`, then the block of XLA's log.
#[test]
fn statistics_are_exact() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let golden = std::fs::read_to_string(root.join("stats.txt")).expect("the golden statistics");
    let mut count = 0;
    for part in golden.split("# ").skip(1) {
        let (name, want) = part.split_once('\n').expect("a name, then a block");
        let run = run(&root.join(name), Source::Orders);
        let got = dumps::stats(&run.module, &run.facts, &run.assignment).to_string();
        assert_eq!(got, want, "{name}");
        count += 1;
    }
    assert!(count >= 104, "{count} blocks");
}

/// From text alone the orders are guessed; the guesses must not get worse.
#[test]
fn guesses_hold() {
    for (target, expected) in [
        ("cpu", [50, 42, 52, 52]),
        ("gpu", [46, 30, 49, 49]),
        ("gpu_collective", [5, 2, 5, 5]),
        ("tpu", [44, 32, 47, 49]),
    ] {
        let mut same = [0; 4];
        for case in cases(target) {
            let wrong = differences(&case, Source::Text);
            for (count, name) in same.iter_mut().zip(FILES) {
                *count += usize::from(!wrong.contains(&name));
            }
        }
        for (i, name) in FILES.iter().enumerate() {
            assert!(
                same[i] >= expected[i],
                "{target}: {name} {} from text alone, it was {}",
                same[i],
                expected[i]
            );
        }
    }
}
