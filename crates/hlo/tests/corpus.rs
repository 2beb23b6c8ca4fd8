//! Modules as XLA dumped them: read without a remark, printed byte for byte, and broken in many ways.

use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files.extend(files_of_corpus(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

fn files_of_corpus(directory: &Path) -> Vec<PathBuf> {
    let names = [
        "module.txt",
        "module-before.txt",
        "before.txt",
        "added.txt",
        "removed.txt",
        "special.txt",
        "after.txt",
    ];
    let is_module = |p: &PathBuf| names.iter().any(|n| p.file_name().is_some_and(|f| f == *n));
    files(directory).into_iter().filter(is_module).collect()
}

fn texts() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/corpus");
    let read = |p: PathBuf| (p.display().to_string(), std::fs::read_to_string(&p).expect("a text"));
    files(&directory).into_iter().map(read).collect()
}

fn check_round_trip(name: &str, text: &str) {
    let read = hlo::read(text);
    let remarks: Vec<_> = read.diagnostics.iter().map(|d| format!("{name}:{d}")).collect();
    assert!(remarks.is_empty(), "{remarks:#?}");
    let printed = hlo::print(&read.module.expect("a module"));
    assert!(printed == text, "{name} is printed otherwise than it was");
}

#[test]
fn printed_as_they_were() {
    for (name, text) in texts() {
        check_round_trip(&name, &text);
    }
}

/// The same for a directory of dumps elsewhere: `BUFFERSCOPE_CORPUS=DIR cargo test -p bufferscope-hlo -- --ignored`.
#[test]
#[ignore = "needs a directory of dumps"]
fn a_whole_corpus() {
    let directory = std::env::var_os("BUFFERSCOPE_CORPUS").expect("BUFFERSCOPE_CORPUS names a directory");
    let files = files_of_corpus(Path::new(&directory));
    assert!(!files.is_empty());
    for file in files {
        check_round_trip(&file.display().to_string(), &std::fs::read_to_string(&file).expect("a text"));
    }
}

/// Wherever a dump is cut off, that is an error, and nothing panics.
#[test]
fn truncated() {
    for (name, text) in texts() {
        let whole = text.trim_end().len();
        for end in (0..whole).step_by(200).filter(|n| text.is_char_boundary(*n)) {
            let read = hlo::read(&text[..end]);
            assert!(read.has_errors(), "{name} cut at {end}");
            if let Some(module) = read.module {
                _ = hlo::print(&module);
            }
        }
    }
}

/// Windows line ends and a byte order mark change nothing but, for the mark, a warning.
#[test]
fn line_ends_and_marks() {
    for (name, text) in texts() {
        let read = hlo::read(&text.replace('\n', "\r\n"));
        assert!(read.diagnostics.is_empty(), "{name}: {:?}", read.diagnostics);
        let plain = |t: String| t.replace('\r', "");
        assert!(plain(hlo::print(&read.module.expect("a module"))) == text, "{name}");

        let read = hlo::read(&format!("\u{feff}{text}"));
        let remarks: Vec<_> = read.diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(remarks, ["1:1: warning: a byte order mark, passed over"], "{name}");
        assert!(hlo::print(&read.module.expect("a module")) == text, "{name}");
    }
}

const PREFIX: &str = "I1129 12:00:00.000000  123 file.cc:12] ";

/// Every line behind a log's prefix.
#[test]
fn out_of_a_log() {
    for (name, text) in texts() {
        let log = text.lines().fold(String::new(), |log, line| log + PREFIX + line + "\n");
        let read = hlo::read(&log);
        let remarks: Vec<_> = read.diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(
            remarks,
            ["1:40: warning: lines of a log, reading what stands behind the log's prefix"],
            "{name}"
        );
        assert!(hlo::print(&read.module.expect("a module")) == text, "{name}");
    }
}

/// Pieces that mean something to the reader.
const PIECES: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "\"",
    "\\",
    ",",
    "=",
    "%",
    "ROOT ",
    "ENTRY ",
    "HloModule ",
    "\n",
    "/*",
    "*/",
    "//",
    "calls={",
    "to_apply=",
    "f32[4]{0}",
    "(f32[], s32[])",
    "parameter(0)",
    "#0",
    "-start(",
    "-done(",
    "<=",
    "\0",
    "\u{e9}",
    "99999999999",
    "while(",
    "body=%a",
    ", index=1",
    "control-predecessors={%a}",
    "call-start(",
    "tuple(",
    "conditional(",
    "b(",
    "execution_thread=\"x\"",
    "FileNames\n",
];

fn mutate(text: &str, edits: &[(usize, usize, usize)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for &(at, len, piece) in edits {
        let at = at % (bytes.len() + 1);
        let end = (at + len).min(bytes.len());
        let piece = PIECES[piece % PIECES.len()];
        bytes.splice(at..end, piece.bytes());
    }
    bytes
}

/// So many of each; more with `PROPTEST_CASES`.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Broken modules are read as far as they go, and what is read is printed so that it is read again.
    #[test]
    fn mutated(
        file in 0_usize..100,
        edits in proptest::collection::vec((0_usize..20_000, 0_usize..12, 0_usize..100), 1..5),
    ) {
        let mut texts = texts();
        texts.retain(|t| t.1.len() < 9000);
        let bytes = mutate(&texts[file % texts.len()].1, &edits);
        hlo::fuzzing::read_print_read(&bytes);
    }

    /// The same for the short cases, where an edit is more likely to meet something.
    #[test]
    fn mutated_cases(
        file in 0_usize..1000,
        edits in proptest::collection::vec((0_usize..500, 0_usize..6, 0_usize..100), 1..4),
    ) {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/syntax");
        let files = files(&directory);
        let text = std::fs::read_to_string(&files[file % files.len()]).expect("a text");
        hlo::fuzzing::read_print_read(&mutate(&text, &edits));
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        hlo::fuzzing::read_print_read(&bytes);
    }
}
