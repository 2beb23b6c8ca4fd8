//! The readers: XLA's files and ours give the same facts, older generations too, and broken text gives remarks.

use analysis::{Facts, Orders, Target};
use dumps::read::{self, ShortValue, ValueName};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The folders below `directory` that hold a module.
fn cases(directory: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut stack = vec![directory.to_owned()];
    while let Some(at) = stack.pop() {
        if at.join("module.txt").exists() && at.join("buffer-assignment.txt").exists() {
            out.push(at);
            continue;
        }
        let entries = std::fs::read_dir(&at).expect("a directory");
        stack.extend(entries.map(|e| e.expect("an entry").path()).filter(|p| p.is_dir()));
    }
    out.sort();
    out
}

/// Reads without a remark, or says which.
fn clean<T>(name: &str, (file, diagnostics): (T, Vec<hlo::Diagnostic>)) -> T {
    let remarks: Vec<String> = diagnostics.iter().map(|d| format!("{name}:{d}")).collect();
    assert!(remarks.is_empty(), "{remarks:#?}");
    file
}

fn short(v: &ShortValue) -> String {
    let phi = if v.is_phi { " (phi)" } else { "" };
    let color = v.color.map_or(String::new(), |c| format!(" @{c}"));
    format!("<{} {}{phi}{color}>", v.id, v.name)
}

/// The file again from what was read; `x{}` is written `x`.
fn assignment_again(file: &read::BufferAssignmentFile) -> String {
    let mut out = String::from("BufferAssignment:\n");
    for a in &file.allocations {
        _ = write!(out, "allocation {}: size {}", a.number, a.size.bytes);
        if a.color != 0 {
            _ = write!(out, ", color {}", a.color);
        }
        if let Some(page) = a.page {
            _ = write!(out, ", page {page}");
        }
        if let Some(p) = &a.parameter {
            _ = write!(out, ", parameter {}, shape |{}| at ShapeIndex {}", p.number, p.shape, p.index);
        }
        if let Some(shape) = &a.output_shape {
            _ = write!(out, ", output shape is |{shape}|");
        }
        let flags = [
            (a.is_constant, ", constant"),
            (a.is_thread_local, ", thread-local"),
            (a.maybe_live_out, ", maybe-live-out"),
            (a.is_preallocated_temp, ", preallocated-temp"),
        ];
        out.extend(flags.iter().filter(|(on, _)| *on).map(|(_, word)| *word));
        out.push_str(":\n");
        for p in &a.values {
            _ = writeln!(
                out,
                " value: {} (size={},offset={}): {}",
                short(&p.value),
                p.size,
                p.offset,
                p.shape
            );
        }
    }
    out
}

fn values_again(file: &read::ValuesFile) -> String {
    let total = file.total.expect("a total").bytes;
    let mut out = format!("\nTotal bytes used: {total} ({})\n\nUsed values:\n", dumps::human(total));
    let index = |i: &hlo::ShapeIndex| if i.is_root() { String::new() } else { format!(" {i}") };
    for v in &file.values {
        _ = writeln!(out, "{}\n positions:", short(&v.value));
        for p in &v.positions {
            _ = writeln!(out, "  {}{}", p.instruction, index(&p.index));
        }
        out.push_str(" uses:\n");
        for u in &v.uses {
            _ = writeln!(out, "  {}, operand {}{}", u.instruction, u.operand, index(&u.index));
        }
        if v.uses.is_empty() {
            out.push_str("  (none)\n");
        }
        _ = writeln!(out, " from instruction: {}", v.instruction);
    }
    out
}

fn live_range_again(file: &read::LiveRangeFile) -> String {
    let mut out = format!("HloLiveRange (max {}):\n  InstructionSequence:\n", file.end.expect("an end"));
    for (t, name) in file.sequence.iter().enumerate() {
        _ = writeln!(out, "    {t}:{name}");
    }
    out.push_str("  BufferLiveRange:\n");
    for r in &file.ranges {
        _ = writeln!(out, "    {}{}:{}-{}", r.name.instruction, r.name.index, r.start, r.end);
    }
    let peak = file.peak.as_ref().expect("a peak");
    _ = writeln!(out, "  Live ranges at {} (peak):", peak.step);
    for e in &peak.values {
        let cumulative = e.cumulative.expect("a sum");
        let name = format!("{}{}", e.name.instruction, e.name.index);
        _ = writeln!(out, "    {name}: {} bytes (cumulative: {cumulative} bytes)", e.bytes);
    }
    let total: u64 = peak.values.iter().map(|e| e.bytes).sum();
    _ = writeln!(out, "  Stack trace breakdown for peak usage: {} bytes", dumps::grouped(total));
    out
}

/// Each of XLA's files says nothing that reading loses.
fn check_folder(folder: &Path) {
    let read = |name: &str| {
        let path = folder.join(name);
        (path.display().to_string(), std::fs::read_to_string(&path).expect("a file"))
    };
    let (name, text) = read("buffer-assignment.txt");
    let file = clean(&name, read::buffer_assignment(&text));
    let without_root = text.replace("{} (phi)", " (phi)").replace("{} @", " @");
    assert_eq!(assignment_again(&file), without_root, "{name}");

    let (name, text) = read("values.txt");
    let values = clean(&name, read::values(&text));
    let without_root = text.replace("{} (phi)", " (phi)").replace("{} @", " @").replace(" {}\n", "\n");
    assert_eq!(values_again(&values), without_root.replace(", schedule\n", ", schedule {}\n"), "{name}");
    assert_eq!(values.total.map(|t| t.bytes), Some(file.total_bytes()), "{name}");

    let (name, text) = read("live-range.txt");
    let live_range = clean(&name, read::live_range(&text));
    let again = live_range_again(&live_range);
    assert!(text.starts_with(&again), "{name}:\n{again}");
    assert_eq!(live_range.breakdown.len(), text.lines().count() - again.lines().count(), "{name}");
    check_tree(&name, &live_range.breakdown);

    let (name, text) = read("memory-usage-report.txt");
    let report = clean(&name, read::memory_usage_report(&text));
    let by_color: BTreeSet<u32> = file.allocations.iter().map(|a| a.color).collect();
    assert_eq!(report.spaces.iter().map(|s| s.color).collect::<BTreeSet<_>>(), by_color, "{name}");
    for space in &report.spaces {
        let ours = file.allocations.iter().filter(|a| a.color == space.color);
        assert_eq!(space.total, ours.map(|a| a.size.bytes).sum::<u64>(), "{name}");
    }
}

/// Every node's total is its own bytes and those of the nodes right below it.
fn check_tree(name: &str, lines: &[read::BreakdownLine]) {
    for (i, line) in lines.iter().enumerate() {
        let below = lines[i + 1..].iter().take_while(|l| l.depth > line.depth);
        let sum: u64 = below.filter(|l| l.depth == line.depth + 1).map(|l| l.total).sum();
        assert_eq!(line.total, line.current + sum, "{name}: {}", line.name);
    }
}

/// What we write and read back is what we had.
fn check_our_own(folder: &Path) {
    let text = std::fs::read_to_string(folder.join("module.txt")).expect("a module");
    let module = hlo::read(&text).module.expect("a module");
    let target = Target::detect(&module);
    let facts = Facts::new(&module, Orders::guess(&module, &target), target).expect("facts");
    let (assignment, _) = assigner::assign(&module, &facts, &facts.ranges, &assigner::Options::default());
    let name = folder.display().to_string();
    let named = |v| -> ValueName { facts.label(&module, v).parse().expect("a name") };

    let file = clean(&name, read::buffer_assignment(&dumps::buffer_assignment(&module, &facts, &assignment)));
    assert_eq!(file.allocations.len(), assignment.allocations.len());
    for (read, a) in file.allocations.iter().zip(&assignment.allocations) {
        assert_eq!(
            (read.number, read.size.bytes, read.color, read.is_constant, read.is_thread_local),
            (a.id.0, a.size, a.color.0, a.is_constant, a.is_thread_local),
            "{name}"
        );
        assert_eq!(
            (read.maybe_live_out, read.is_preallocated_temp),
            (a.maybe_live_out, a.is_preallocated_temp()),
            "{name}"
        );
        assert_eq!(
            read.parameter.as_ref().map(|p| (p.number, &p.index)),
            a.parameter.as_ref().map(|p| (p.number, &p.index)),
            "{name}"
        );
        let had: Vec<_> = a.values.iter().map(|p| (p.value.0, named(p.value), p.size, p.offset)).collect();
        let got: Vec<_> =
            read.values.iter().map(|p| (p.value.id, p.value.name.clone(), p.size, p.offset)).collect();
        assert_eq!(got, had, "{name}");
    }

    let values = clean(&name, read::values(&dumps::values(&module, &facts, &assignment)));
    for read in &values.values {
        let v = facts.value(analysis::ValueId(read.value.id));
        assert_eq!(read.positions.len(), v.positions.len(), "{name}");
        assert_eq!(read.uses.len(), v.uses.len(), "{name}");
        assert_eq!((read.value.is_phi, read.value.color), (v.is_phi, Some(v.color.0)), "{name}");
    }

    let live_range = clean(&name, read::live_range(&dumps::live_range(&module, &facts)));
    let had: Vec<_> = facts.ranges.iter().map(|(v, r)| (named(v), r.start.0, r.end.0)).collect();
    let got: Vec<_> = live_range.ranges.iter().map(|r| (r.name.clone(), r.start, r.end)).collect();
    assert_eq!(got, had, "{name}");
    let peak = dumps::peak(&module, &facts);
    let read = live_range.peak.expect("a peak");
    assert_eq!(read.step, peak.step.0, "{name}");
    let had: Vec<_> = peak.values.iter().map(|(v, bytes)| (named(*v), *bytes)).collect();
    assert_eq!(read.values.iter().map(|e| (e.name.clone(), e.bytes)).collect::<Vec<_>>(), had, "{name}");
    check_tree(&name, &live_range.breakdown);
    clean(&name, read::memory_usage_report(&dumps::memory_usage_report(&module, &facts, &assignment)));
}

#[test]
fn files_of_xla_and_of_ours() {
    let folders = cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"));
    assert_eq!(folders.len(), 4);
    for folder in folders {
        check_folder(&folder);
        check_our_own(&folder);
    }
}

/// The same for a directory of dumps elsewhere: `BUFFERSCOPE_CORPUS=DIR cargo test -p bufferscope-dumps -- --ignored`.
#[test]
#[ignore = "needs a directory of dumps"]
fn a_whole_corpus() {
    let directory = std::env::var_os("BUFFERSCOPE_CORPUS").expect("BUFFERSCOPE_CORPUS names a directory");
    let folders = cases(Path::new(&directory));
    assert!(!folders.is_empty());
    for folder in folders {
        check_folder(&folder);
        check_our_own(&folder);
    }
}

#[test]
fn old_builds_put_all_into_one_file() {
    let now = clean("now", read::buffer_assignment(&data("old/buffer-assignment.txt")));
    let old = clean("old", read::buffer_assignment(&data("old/live-range-inside.txt")));
    assert_eq!(assignment_again(&old), assignment_again(&now));
    let live_range = clean("live range", read::live_range(&data("old/live-range.txt")));
    assert_eq!(old.live_ranges, Some(live_range));
    let mut values = clean("values", read::values(&data("old/values.txt")));
    let mut inside = old.used_values.expect("values");
    for v in values.values.iter_mut().chain(&mut inside.values) {
        v.line = 0;
    }
    assert_eq!(inside, values);
    // Each part can be asked for by its own reader.
    let text = data("old/live-range-inside.txt");
    assert_eq!(clean("old", read::values(&text)).values.len(), values.values.len());
    assert_eq!(clean("old", read::live_range(&text)).sequence.len(), 25);
}

#[test]
fn old_report_has_human_sizes() {
    let report = clean("old", read::memory_usage_report(&data("old/memory-usage-report.txt")));
    assert_eq!(report.total.map(|t| (t.bytes, t.is_exact)), Some((8_388_756, true)));
    let rows: Vec<_> = report
        .old_rows
        .iter()
        .map(|r| {
            (r.allocation.number, r.allocation.size.bytes, r.allocation.size.is_exact, r.cumulative.bytes)
        })
        .collect();
    assert_eq!(rows, [(5, 4 << 20, false, 4 << 20), (0, 4 << 20, false, 8 << 20)]);
    assert_eq!(report.old_rows[1].allocation.parameter.as_ref().map(|p| p.number), Some(0));
}

#[test]
fn prefixes_marks_and_line_ends_do_not_matter() {
    let now = clean("now", read::buffer_assignment(&data("old/buffer-assignment.txt")));
    let log = clean("log", read::buffer_assignment(&data("old/log-prefix.txt")));
    assert_eq!(log, now);
    let log = clean("log", read::live_range(&data("old/log-prefix-live-range.txt")));
    assert_eq!(log, clean("now", read::live_range(&data("old/live-range.txt"))));
    for text in ["old/buffer-assignment.txt", "old/live-range.txt", "old/values.txt"].map(data) {
        let marked = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(clean("marked", read::everything(&marked)), clean("plain", read::everything(&text)));
    }
}

/// The remarks on a text, one a line.
fn remarks(text: &str) -> String {
    read::everything(text).1.iter().map(|d| format!("{d}\n")).collect::<Vec<_>>().concat()
}

#[test]
fn what_cannot_be_read_is_named() {
    let text = "\
BufferAssignment:
allocation 0: size 64, preallocated-temp:
 value: <3 add @0> (size=4,offset=64): s32[]
 value: <3 add @0> (size=4,offset=0): s32[]
 value: <4 while.2{x} @0> (size=4,offset=0): s32[]
allocation 1: size 18446744073709551615, novelty, constant:
 value: <5 c @0> (size=99999999999999999999,offset=0): s32[]
allocation 1: size 4, prealloc";
    assert_eq!(
        remarks(text),
        "\
5:12: `while.2{x} @0> (size=4,o…`, expected a name like `fusion.1` or `while.2{0}`
6:1: warning: `novelty`, which is passed over
7:24: `99999999999999999999,off…`, expected a number below 2^64
8:31: the end of the file, expected `:`; the file seems to be cut off here
3:1: warning: `add` at 64 with 4 bytes, which ends behind the 64 bytes of allocation 0
4:1: warning: `add` a second time, it has a place in line 3
8:1: warning: a second allocation 1, the first is in line 6
"
    );
    let (file, _) = read::buffer_assignment(text);
    assert_eq!(file.allocations[0].values.len(), 2);
    assert_eq!(file.allocations[1].size.bytes, u64::MAX);

    assert_eq!(
        remarks(
            "HloLiveRange (max 2):\n  InstructionSequence:\n    0:a\n    2:b\n  BufferLiveRange:\n    a{}:3-1\n    b{}:1"
        ),
        "\
4:1: warning: step 2, expected step 1
6:1: warning: `a` from 3 to 1, which ends before it starts
7:10: the end of the file, expected `-` and the end of the range; the file seems to be cut off here
"
    );
    assert_eq!(
        remarks("allocation 0: size 8, constant:\n value: <1 c @0> (size=8,offset=0): (f32[2"),
        "2:43: the end of the file, expected the rest of the shape; the file seems to be cut off here\n"
    );
    assert_eq!(
        remarks("allocation 0: size 8, constant:\n value: <1 c @0> (size=8,offset=0): f32"),
        "2:40: warning: the end of the file, expected the end of a line; the file may be cut off here\n"
    );
    assert_eq!(read::live_range("x\n").1.len(), 2);
    assert_eq!(
        read::buffer_assignment("").1[0].to_string(),
        "1:1: another kind of text, expected `BufferAssignment:`"
    );
}

#[test]
fn other_colours_and_missing_peaks() {
    let text = "\
BufferAssignment:
allocation 3: size 16, color 1, page 0, preallocated-temp:
 value: <3 add @1> (size=4,offset=0): s32[]
 reused by buffers of a different color: <4 while.2{0} (phi) @0>, <5 b @0>
";
    let file = clean("colours", read::buffer_assignment(text));
    let a = &file.allocations[0];
    assert_eq!((a.color, a.page, a.values.len()), (1, Some(0), 1));
    assert_eq!(a.reused_by.iter().map(short).collect::<Vec<_>>(), ["<4 while.2{0} (phi) @0>", "<5 b @0>"]);

    let text = data("old/live-range.txt");
    let (before, _) = text.split_once("  Live ranges at").expect("a peak");
    assert_eq!(clean("no peak", read::live_range(before)).peak, None);
    let text = "HloLiveRange (max 0):\n  InstructionSequence:\n  BufferLiveRange:\n  Peak memory could not be determined due to unbounded dynamic shape.\n";
    assert!(clean("unbounded", read::live_range(text)).is_unbounded);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Nothing that is cut, doubled or overwritten makes a reader panic, and remarks stay few.
    #[test]
    fn broken_files(which in 0usize..6, at in 0usize..20_000, len in 0usize..200, with in "[ -~\n{}<>│]{0,12}") {
        let names = [
            "old/live-range-inside.txt",
            "old/memory-usage-report.txt",
            "old/log-prefix.txt",
            "tpu/kv_cache_loop/buffer-assignment.txt",
            "tpu/kv_cache_loop/memory-usage-report.txt",
            "cpu/scan_grad/live-range.txt",
        ];
        let text = data(names[which]);
        let from = text.floor_char_boundary(at % text.len());
        let to = text.floor_char_boundary((from + len).min(text.len())).max(from);
        let broken = format!("{}{with}{}", &text[..from], &text[to..]);
        let (_, diagnostics) = read::everything(&broken);
        prop_assert!(diagnostics.len() <= read::MOST_DIAGNOSTICS + 1);
    }
}
