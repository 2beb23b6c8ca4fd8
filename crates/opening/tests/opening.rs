//! Folders, archives and texts as people have them.

use flate2::Compression;
use flate2::write::GzEncoder;
use opening::{Blob, Finding, Foreign, Kind, Limits, Loaded, Opened, open};
use std::io::Write;

const BAD_DUMPS: &[u8] = include_bytes!("data/bad_dumps.tar.gz");

fn opened(blobs: Vec<Blob>) -> Opened {
    open(blobs, &Limits::default())
}

/// One of the folders of damaged dumps.
fn bad(folder: &str) -> (Opened, Loaded) {
    let all = opened(vec![Blob::new("bad.tar.gz", BAD_DUMPS)]);
    assert!(all.remarks.iter().all(|r| r.file.ends_with("expect.txt")), "{:?}", all.remarks);
    let of_folder = all.files.into_iter().filter(|f| f.name.contains(&format!("/{folder}/")));
    let only = opened(of_folder.map(|f| Blob::new(f.name, f.bytes)).collect());
    assert_eq!(only.modules.len(), 1, "{folder}");
    let loaded = only.load(0);
    (only, loaded)
}

fn all_words(loaded: &Loaded) -> String {
    let findings = loaded.findings.iter().map(Finding::words);
    let missing = loaded.missing.iter().map(|m| format!("missing: {}; costs: {}", m.what, m.costs));
    findings
        .chain(loaded.remarks.iter().map(ToString::to_string))
        .chain(missing)
        .collect::<Vec<_>>()
        .join("\n")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(bytes).expect("memory");
    out.finish().expect("memory")
}

fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        out.append_data(&mut header, name, *bytes).expect("memory");
    }
    out.into_inner().expect("memory")
}

fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut out);
    for (name, bytes) in files {
        let (mut entry, config) = archive
            .new_file(name)
            .compression_method(rawzip::CompressionMethod::DEFLATE)
            .start()
            .expect("memory");
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, Compression::default());
        let mut writer = config.wrap(encoder);
        writer.write_all(bytes).expect("memory");
        let (encoder, descriptor) = writer.finish().expect("memory");
        encoder.finish().expect("memory");
        entry.finish(descriptor).expect("memory");
    }
    archive.finish().expect("memory");
    out
}

fn module(name: &str) -> String {
    format!(
        "HloModule {name}, is_scheduled=true\n\nENTRY main {{\n  p = f32[4]{{0}} parameter(0)\n  ROOT n = f32[4]{{0}} negate(p)\n}}\n"
    )
}

#[test]
fn damaged_dumps_say_what_is_wrong() {
    let check = |folder: &str, expected: &[&str]| {
        let (_, loaded) = bad(folder);
        let words = all_words(&loaded);
        for e in expected {
            assert!(words.contains(e), "{folder}: expected `{e}` in\n{words}");
        }
        (loaded, words)
    };
    let quiet = |folder: &str| {
        let (_, loaded) = bad(folder);
        assert!(loaded.findings.is_empty(), "{folder}: {:?}", loaded.findings);
        let loud = loaded.remarks.iter().find(|r| r.severity == hlo::Severity::Error);
        assert!(loud.is_none(), "{folder}: {loud:?}");
        let figures = loaded.figures.clone();
        assert_eq!(figures.totals.map(|t| t.temp), Some(4_194_436), "{folder}");
        assert_eq!(figures.peak.map(|p| p.0), Some(24), "{folder}");
        loaded
    };
    let good = quiet("00_good");
    assert!(good.remarks.is_empty());
    assert_eq!(good.figures.peak, Some((24, 8_388_612)));
    let (loaded, _) = check("01_no_hlo", &["missing: the HLO text"]);
    assert!(loaded.module.is_none() && loaded.findings.is_empty());
    let (loaded, _) =
        check("03_hlo_only", &["missing: XLA's own assignment", "nothing can be checked against XLA"]);
    assert!(loaded.module.is_some());
    let (loaded, _) =
        check("05_hlo_cut_mid_line", &["after_optimizations.txt:87:", "missing: an HLO text without errors"]);
    assert!(loaded.module.is_none() && loaded.dump.assignment.is_some());
    check("06_assignment_cut", &["the file seems to be cut off here", "have no place in the assignment"]);
    check("10_other_module_live_range", &["The live ranges are of another module", "some_other_fusion.7"]);
    check("12_unknown_value", &["a value that the module has not: copy.777 (line 19)"]);
    check(
        "20_live_values_overlap",
        &["wrapped_exponential (3-24) and while.2{1} (21-24) are alive together and have 4 B in common"],
    );
    check("22_beyond_the_end", &["ends behind the 4194400 bytes of allocation 5"]);
    check("24_value_twice", &["`wrapped_exponential` a second time"]);
    let (loaded, _) = check("25_huge_numbers", &["9,223,372,036,863,164,559 B"]);
    assert_eq!(loaded.figures.totals.map(|t| t.constant), Some(9_223_372_036_854_775_807 + 12));
    quiet("31_bom");
    let loaded = quiet("33_other_colour_lines");
    assert!(
        all_words(&loaded)
            .contains("allocation 5 is also used by values of another memory space: bitcast_add_fusion")
    );
    assert_eq!(loaded.generation, Some(opening::Generation::From2026));
    assert_eq!(quiet("34_no_peak_section").figures.peak, Some((24, 8_388_612)));
    assert_eq!(quiet("36_old_report").generation, Some(opening::Generation::UpTo2025));
    assert_eq!(quiet("38_live_range_inside").generation, Some(opening::Generation::UpTo2025));
    quiet("39_log_prefix");
    quiet("53_space_in_folder");
    let (opened, loaded) = bad("50_gpu_name");
    let entry = &opened.modules[0];
    assert_eq!((entry.id.as_deref(), entry.stage.as_str()), (Some("0012"), "sm_9.0_gpu_after_optimizations"));
    assert_eq!(loaded.backend, Some(analysis::Backend::Gpu));
    assert!(all_words(&loaded).contains("though its name says jit_train_step"));
    let (opened, loaded) = bad("52_dots_in_module");
    assert_eq!(opened.modules[0].id.as_deref(), Some("0002"));
    assert!(all_words(&loaded).contains("though its name says SyncTensorsGraph.4"));
    let (opened, loaded) = bad("55_two_stages");
    assert_eq!(opened.modules[0].stage, "cpu_after_optimizations");
    assert_eq!(opened.modules[0].other_stages.len(), 1);
    assert!(all_words(&loaded).contains("is stage before_optimizations; it is not taken"));
}

/// Where one value ends at the step that writes another, the place may be handed over, but only exactly as it is.
#[test]
fn a_place_is_handed_over_whole() {
    let dump = |offset: u64| {
        let assignment = format!(
            "BufferAssignment:\nallocation 0: size 200, preallocated-temp:\n value: <0 a @0> (size=100,offset=0): f32[25]{{0}}\n value: <1 b @0> (size=100,offset={offset}): f32[25]{{0}}\n"
        );
        let ranges =
            "HloLiveRange (max 9):\n  InstructionSequence:\n  BufferLiveRange:\n    a{}:1-5\n    b{}:5-8\n";
        let opened = opened(vec![
            Blob::new("x-buffer-assignment.txt", assignment),
            Blob::new("x-live-range.txt", ranges),
        ]);
        opened.load(0).findings
    };
    assert_eq!(dump(0), []);
    assert_eq!(dump(100), []);
    let shifted = dump(64);
    assert!(matches!(&shifted[..], [Finding::Overlap { bytes: (64, 100), .. }]), "{shifted:?}");
    assert!(shifted[0].words().contains("do not stand in exactly the same place"));
}

#[test]
fn archives_of_all_kinds_hold_the_same() {
    let text = module("m");
    let file = "d/module_0001.m.cpu_after_optimizations.txt";
    let plain = tar_of(&[(file, text.as_bytes()), ("d/._junk", b"x")]);
    let check = |name: &str, bytes: Vec<u8>| {
        let opened = opened(vec![Blob::new(name, bytes)]);
        assert_eq!(opened.remarks, [], "{name}");
        assert_eq!(opened.modules.len(), 1, "{name}");
        assert_eq!(opened.modules[0].id.as_deref(), Some("0001"), "{name}");
        assert_eq!(opened.files[0].bytes, text.as_bytes(), "{name}");
    };
    check("a.zip", zip_of(&[(file, text.as_bytes())]));
    check("a.tar", plain.clone());
    check("a.tar.gz", gzip(&plain));
    check("a.tgz", gzip(&plain));
    // By content: the name says nothing.
    check("a", gzip(&plain));
    check("a.zip", zip_of(&[("inner/b.tar.gz", &gzip(&plain))]));
    check("module_0001.m.cpu_after_optimizations.txt.gz", gzip(text.as_bytes()));
    check("../../module_0001.m.cpu_after_optimizations.txt", text.clone().into_bytes());
}

#[test]
fn bombs_are_refused() {
    let zeros = vec![0u8; 64 << 20];
    let small = Limits { bytes: 1 << 20, ..Limits::default() };
    let check = |bytes: Vec<u8>, limits: &Limits, expected: &str| {
        let opened = open(vec![Blob::new("b", bytes)], limits);
        let said = opened.remarks.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(said.contains(expected), "expected `{expected}` in `{said}`");
        assert!(opened.files.iter().all(|f| f.bytes.len() <= 1 << 20));
    };
    check(gzip(&zeros), &Limits::default(), "unpacks to more than 400 times its size");
    check(zip_of(&[("a", &zeros)]), &Limits::default(), "unpacks to more than 400 times its size");
    check(
        gzip(&vec![b'a'; 2 << 20]),
        &small,
        "unpacks to more than the 1048576 bytes that are allowed in all",
    );
    // Each is allowed by itself, all together are not.
    let half = vec![b'a'; 700_000];
    check(zip_of(&[("a", &half), ("b", &half)]), &small, "bytes that are allowed in all");
    let mut nested = b"HloModule m".to_vec();
    for _ in 0..10 {
        nested = gzip(&nested);
    }
    check(nested, &Limits::default(), "an archive in more than 4 others");
    let many: Vec<(String, Vec<u8>)> = (0..50).map(|i| (format!("f{i}"), b"x".to_vec())).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|(n, b)| (n.as_str(), b.as_slice())).collect();
    check(tar_of(&many), &Limits { files: 10, ..Limits::default() }, "more than 10 entries");
}

#[test]
fn entries_on_the_same_bytes_are_refused() {
    // Two entries of the directory that point to one file: the second is made by repeating the first.
    let zip = zip_of(&[("a", &vec![b'x'; 5000])]);
    let end = zip.len() - 22;
    let directory = u32::from_le_bytes(zip[end + 16..end + 20].try_into().expect("four")) as usize;
    let mut twice = zip[..end].to_vec();
    twice.extend_from_slice(&zip[directory..end]);
    let mut tail = zip[end..].to_vec();
    let size = 2 * (end - directory) as u32;
    tail[8..10].copy_from_slice(&2u16.to_le_bytes());
    tail[10..12].copy_from_slice(&2u16.to_le_bytes());
    tail[12..16].copy_from_slice(&size.to_le_bytes());
    twice.extend_from_slice(&tail);
    let opened = opened(vec![Blob::new("z.zip", twice)]);
    assert_eq!(opened.files.len(), 1);
    assert!(
        opened.remarks.iter().any(|r| r.text.contains("lies on the bytes of another entry")),
        "{:?}",
        opened.remarks
    );
}

#[test]
fn broken_archives_give_what_could_be_read() {
    let text = module("m").repeat(200);
    let gz = gzip(text.as_bytes());
    let cut = opened(vec![Blob::new("m.txt.gz", &gz[..gz.len() / 2])]);
    assert!(cut.remarks.iter().any(|r| r.text.contains("is damaged")), "{:?}", cut.remarks);
    assert!(!cut.files.is_empty(), "what stands before the damage is kept");
    let tar = tar_of(&[("a.txt", text.as_bytes()), ("b.txt", text.as_bytes())]);
    let cut = opened(vec![Blob::new("m.tar", &tar[..text.len() + 2000])]);
    assert!(
        cut.remarks.iter().any(|r| r.text.contains("is cut off") || r.text.contains("damaged")),
        "{:?}",
        cut.remarks
    );
    assert_eq!(cut.files[0].bytes.len(), text.len());
    let zip = zip_of(&[("a.txt", text.as_bytes())]);
    for len in (0..zip.len()).step_by(7) {
        // Cut anywhere it is refused or partly read, and never panics.
        let cut = opened(vec![Blob::new("m.zip", &zip[..len])]);
        assert!(cut.files.is_empty() || len < 4, "{len}");
    }
    let mut flipped = zip.clone();
    flipped[60] ^= 0x55;
    let opened = opened(vec![Blob::new("m.zip", flipped)]);
    assert!(opened.remarks.iter().any(|r| r.text.contains("damaged")), "{:?}", opened.remarks);
}

#[test]
fn what_is_no_dump_is_named_with_the_flag_that_gives_one() {
    let check = |text: &str, kind: Foreign, says: &str| {
        let opened = opened(vec![Blob::new("x", text)]);
        assert_eq!(opened.files[0].kind, Kind::Foreign(kind));
        assert!(opened.remarks[0].text.contains(says), "{:?}", opened.remarks);
        assert!(opened.advice().is_some_and(|a| a.contains("--xla_dump_to=DIR")));
    };
    check("module @jit_f {\n}\n", Foreign::Mlir, "--xla_dump_to=DIR");
    check("import jax\n", Foreign::Python, "run it with XLA_FLAGS");
    check("hlo_module {\n name: \"x\"\n}", Foreign::ProtoText, "--xla_dump_hlo_as_proto");
    check("", Foreign::Empty, "compilation cache");
    let opened = opened(vec![Blob::new("m.txt", module("m").replace(", is_scheduled=true", ""))]);
    let loaded = opened.load(0);
    assert!(
        loaded.missing.iter().any(|m| m.what == "a schedule" && m.how.contains("after_optimizations")),
        "{:?}",
        loaded.missing
    );
}

#[test]
fn one_name_many_modules() {
    let blobs: Vec<Blob> = (0..100)
        .map(|i| Blob::new(format!("dir/module_{i:04}.jit_fn.cpu_after_optimizations.txt"), module("jit_fn")))
        .collect();
    let opened = opened(blobs);
    assert_eq!(opened.modules.len(), 100);
    assert!(opened.modules.iter().all(|m| m.same_name.len() == 99 && m.name == "jit_fn"));
    let ids: std::collections::BTreeSet<_> = opened.modules.iter().map(|m| m.id.clone()).collect();
    assert_eq!(ids.len(), 100);
}

#[test]
fn files_without_names_find_their_module_by_content() {
    let (good, _) = bad("00_good");
    let names = ["a.txt", "b", "c.log", "d.txt", "e.hlo"];
    let blobs = good.files.iter().filter(|f| !f.name.ends_with("expect.txt")).zip(names);
    let opened = opened(blobs.map(|(f, name)| Blob::new(name, f.bytes.clone())).collect());
    let whole = opened.modules.iter().position(|m| m.hlo.is_some()).expect("the module");
    let loaded = opened.load(whole);
    assert!(
        loaded.dump.assignment.is_some() && loaded.dump.live_range.is_some() && loaded.dump.values.is_some()
    );
    assert!(loaded.findings.is_empty(), "{:?}", loaded.findings);
}

#[test]
fn two_compilers_of_one_module_are_two() {
    let blobs = ["cpu_after_optimizations", "sm_9.0_gpu_after_optimizations"];
    let opened =
        opened(blobs.iter().map(|s| Blob::new(format!("module_0001.m.{s}.txt"), module("m"))).collect());
    let backends: Vec<_> = opened.modules.iter().map(|m| m.backend).collect();
    assert_eq!(backends, [Some(analysis::Backend::Cpu), Some(analysis::Backend::Gpu)]);
}

#[test]
fn hostile_names_are_names() {
    let long = "x".repeat(1 << 20);
    for name in [
        "<img src=x onerror=alert(1)>",
        "\u{202e}txt.exe",
        "a\u{0}b",
        "",
        "/",
        "..\\..\\x",
        "module_.",
        "module_99999999999999999999.f.txt",
        &long,
    ] {
        let opened = opened(vec![Blob::new(name, module("m"))]);
        assert_eq!(opened.modules.len(), 1, "{name:.40}");
        assert_eq!(opened.modules[0].name, "m");
    }
}

/// A protocol buffer that is cut off anywhere is refused, and says where.
#[test]
fn truncated_protos_are_refused() {
    let packed = include_bytes!("../../hlo/tests/data/proto/cpu_diamond.hlo.pb.gz");
    let whole = opened(vec![Blob::new("module_0001.d.cpu_after_optimizations.hlo.pb.gz", &packed[..])]);
    assert_eq!(whole.files[0].kind, Kind::HloProto);
    let loaded = whole.load(0);
    assert!(
        loaded.module.is_some() && loaded.orders.is_some() && loaded.remarks.is_empty(),
        "{:?}",
        loaded.remarks
    );
    let bytes = &whole.files[0].bytes;
    for len in (0..bytes.len()).step_by(1 + bytes.len() / 300) {
        let cut = opened(vec![Blob::new("m.hlo.pb", &bytes[..len])]);
        for i in 0..cut.modules.len() {
            let loaded = cut.load(i);
            let is_told = loaded.remarks.iter().any(|r| r.severity == hlo::Severity::Error && r.at.is_some());
            assert!(loaded.module.is_none() && is_told, "{len}: {:?}", loaded.remarks);
        }
    }
}

#[test]
fn progress_is_told_and_can_stop() {
    let blobs = || vec![Blob::new("a", gzip(module("a").as_bytes())), Blob::new("b", module("b"))];
    let mut told = Vec::new();
    let all = opening::open_with(blobs(), &Limits::default(), &mut |p| {
        told.push(p.stage);
        true
    });
    assert!(all.is_some_and(|o| o.modules.len() == 2));
    assert!(told.contains(&opening::Stage::Unpacking) && told.contains(&opening::Stage::Telling));
    assert!(opening::open_with(blobs(), &Limits::default(), &mut |_| false).is_none());
}

mod any_bytes {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000), start in 0usize..6) {
            let heads: [&[u8]; 6] = [b"", b"\x1f\x8b\x08", b"PK\x03\x04", b"HloModule m\n", b"\n\x05", b"BufferAssignment:\nallocation 0: size "];
            let blob = [heads[start], &bytes].concat();
            let opened = opened(vec![Blob::new("x", blob)]);
            for i in 0..opened.modules.len() {
                _ = opened.load(i);
            }
        }

        #[test]
        fn nor_damaged_archives(flips in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8), is_zip in any::<bool>()) {
            let text = module("m");
            let files: [(&str, &[u8]); 2] = [("a.txt", text.as_bytes()), ("b/c.txt", text.as_bytes())];
            let mut bytes = if is_zip { zip_of(&files) } else { tar_of(&files) };
            for (at, with) in flips {
                let at = at.index(bytes.len());
                bytes[at] ^= with;
            }
            opened(vec![Blob::new("x", bytes)]);
        }
    }
}

/// One thing at a time is wrong with a good set of files, and it is named.
#[test]
fn one_thing_is_wrong() {
    let (good, _) = bad("00_good");
    let change = |end: &str, from: &str, to: &str| {
        let mut hits = 0;
        let blobs = good.files.iter().filter(|f| !f.name.ends_with("expect.txt")).map(|f| {
            let text = String::from_utf8(f.bytes.clone()).expect("text");
            let text = if f.name.ends_with(end) {
                hits += text.matches(from).count();
                text.replace(from, to)
            } else {
                text
            };
            Blob::new(f.name.clone(), text)
        });
        let opened = opened(blobs.collect());
        assert!(hits > 0, "{end} {from}");
        all_words(&opened.load(0))
    };
    let check = |end: &str, from: &str, to: &str, expected: &str| {
        let words = change(end, from, to);
        assert!(words.contains(expected), "expected `{expected}` in\n{words}");
    };
    let assignment = "-buffer-assignment.txt";
    check(
        assignment,
        "wrapped_exponential @0",
        "wrapped_exponential @1",
        "is of memory space 1, but stands in allocation 5 of memory space 0",
    );
    check(
        assignment,
        "(size=4194304,offset=64)",
        "(size=64,offset=64)",
        "takes 64 B (line 23), but its shape needs 4,194,304 B",
    );
    check(
        assignment,
        "offset=64): f32[1048576]{0}",
        "offset=64): f32[1024,1024]{1,0}",
        "is f32[1024,1024]{1,0} in the assignment, but f32[1048576]{0} in the module",
    );
    check(assignment, "size 4194436", "size -1", "expected a number");
    check(assignment, "allocation 4:", "allocation 3:", "a second allocation 3");
    check(
        "-live-range.txt",
        "wrapped_exponential{}:3-24",
        "wrapped_exponential{}:3-99",
        "goes on to step 99, but the program ends at step 25",
    );
    check(
        "-live-range.txt",
        "wrapped_exponential{}:3-24",
        "wrapped_exponential{}:24-3",
        "which ends before it starts",
    );
    check(
        "-live-range.txt",
        "3:wrapped_exponential",
        "3:copy.8",
        "are of another schedule: at step 3 they have copy.8, the module has wrapped_exponential",
    );
    check(
        "-live-range.txt",
        "(cumulative: 8388612 bytes)",
        "(cumulative: 8388613 bytes)",
        "add up to 8,388,612 B (8.0 MiB), but the file says 8,388,613 B",
    );
    check(
        "-memory-usage-report.txt",
        "Total bytes: 8388756",
        "Total bytes: 8388757",
        "but the memory-usage report says 8,388,757 B",
    );
    // Line ends of another system are no fault.
    let words = change(".txt", "\n", "\r\n");
    assert_eq!(
        words,
        "missing: the protocol buffer; costs: XLA's internal orders, which text lacks: numbers of values and ties may differ from XLA's"
    );
}

/// What XLA leaves of a function whose name is too long for a file's: nothing with the name in it, or only some of the files.
#[test]
fn names_too_long_for_a_file() {
    let long = |count: usize| format!("jit_{}", "y".repeat(count));
    let (unnamed, partly, lost) = (long(230), long(196), long(215));
    let text = |name: &str| module(name).into_bytes();
    let mut blobs = vec![
        Blob::new("module_0008.before_optimizations.txt", text(&unnamed)),
        Blob::new("module_0008.cpu_after_optimizations.txt", text(&unnamed)),
        Blob::new(format!("module_0002.{partly}.cpu_after_optimizations.txt"), text(&partly)),
        Blob::new(format!("module_0006.{lost}.debug_options"), "xla_cpu: true\n"),
    ];
    for id in ["0002", "0006", "0008"] {
        for at in 0..3 {
            let name = format!("module_{id}.__compute_module_{at}.ir-no-opt.ll");
            blobs.push(Blob::new(name, "; ModuleID = 'a'\ntarget triple = \"x86_64\"\n"));
        }
    }
    let all = opened(blobs);
    let ids: Vec<_> = all.modules.iter().map(|e| (e.id.as_deref(), e.name.as_str())).collect();
    assert_eq!(ids, [(Some("0002"), partly.as_str()), (Some("0008"), unnamed.as_str())]);
    let whole = &all.modules[1];
    assert_eq!((whole.stage.as_str(), whole.other_stages.len()), ("cpu_after_optimizations", 1));
    assert!(whole.remarks.iter().all(|r| r.to_string().contains("it is not taken")), "{:?}", whole.remarks);
    assert!(whole.same_name.is_empty());
    // module_0002.jit_….cpu_after_optimizations-buffer-assignment.txt
    let loaded = all.load(0);
    let how = |what: &str| loaded.missing.iter().find(|m| m.what == what).map(|m| m.how.clone());
    let how = how("XLA's own assignment").expect("it is missing");
    let bytes = "module_0002..cpu_after_optimizations-buffer-assignment.txt".len() + partly.len();
    assert!(bytes > 255);
    let expected = format!(
        "it is the file that ends in -buffer-assignment.txt: its name would have {bytes} bytes, and file systems take 255, so XLA \
         could not write it; give the function a name that is shorter by {} or more",
        bytes - 255
    );
    assert_eq!(how, expected);
    let told: Vec<String> = all.remarks.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].ends_with(
            "and 9 more are passed over; a compilation leaves them beside its HLO: 1 × text of another kind, 9 × LLVM IR, from behind buffer assignment"
        ),
        "{told:?}"
    );
    assert_eq!(
        told[1],
        format!(
            "module_0006.{lost}: left files here, but no HLO text: its name would have 259 bytes, and file systems take 255, so XLA \
             could not write it; give the function a name that is shorter by 4 or more"
        )
    );
}
