//! What nobody would hand over on purpose, and what somebody might: pipes, devices, bombs, links in a circle, names that talk to
//! the terminal. Each is refused or read with a sentence; nothing grows beyond its limits first.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const MODULE: &str = "HloModule example, is_scheduled=true

ENTRY main {
  x = f32[64]{0} parameter(0)
  a = f32[64]{0} negate(x)
  b = f32[64]{0} add(a, x)
  c = f32[64]{0} reverse(b), dimensions={0}
  ROOT d = f32[64]{0} multiply(c, b)
}
";

/// A folder of its own, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bufferscope-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a file");
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Answer {
    text: String,
    said: String,
    status: i32,
}

fn run_with(arguments: &[&str], input: &[u8]) -> Answer {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bufferscope"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    // Who refuses early does not read all of it.
    _ = child.stdin.take().expect("its input").write_all(input);
    let output = child.wait_with_output().expect("the command ends");
    Answer {
        text: String::from_utf8(output.stdout).expect("UTF-8"),
        said: String::from_utf8(output.stderr).expect("UTF-8"),
        status: output.status.code().unwrap_or(-1),
    }
}

fn run(arguments: &[&str]) -> Answer {
    run_with(arguments, b"")
}

#[track_caller]
fn refused(arguments: &[&str], expected: &str) {
    let answer = run(arguments);
    assert_eq!(answer.status, 2, "{arguments:?}: {}{}", answer.text, answer.said);
    assert!(answer.said.contains(expected), "{arguments:?}: expected `{expected}` in {}", answer.said);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    out.write_all(bytes).expect("memory");
    out.finish().expect("memory")
}

#[test]
fn standard_input_is_a_module_or_an_archive() {
    let first = |bytes: &[u8]| {
        let answer = run_with(&["peak", "-"], bytes);
        assert_eq!(answer.status, 0, "{}", answer.said);
        answer.text.lines().next().unwrap_or_default().to_owned()
    };
    let expected = "768 B in all: argument 256 B, output 256 B, temp 256 B.";
    assert_eq!(first(MODULE.as_bytes()), expected);
    assert_eq!(first(&gzip(MODULE.as_bytes())), expected);
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(MODULE.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, "module_0001.example.cpu_after_optimizations.txt", MODULE.as_bytes())
        .expect("memory");
    assert_eq!(first(&gzip(&tar.into_inner().expect("memory"))), expected);
}

#[test]
fn bombs_are_refused_before_they_grow() {
    let folder = Folder::new("bombs");
    let bomb = folder.file("bomb.txt.gz", gzip(&vec![b' '; 64 << 20]));
    for command in ["peak", "print", "assign", "advise", "optimum", "owners", "report"] {
        refused(&[command, &bomb], "unpacks to more than");
    }
    refused(&["inspect", &bomb], "unpacks to more than");
    let sparse = folder.0.join("sparse.txt");
    std::fs::File::create(&sparse).and_then(|f| f.set_len(1 << 40)).expect("a file of nothing");
    let sparse = sparse.display().to_string();
    refused(&["peak", &sparse], "more than 2147483648 bytes, expected fewer");
    refused(&["inspect", &sparse], "more than 2147483648 bytes, expected fewer");
    let folder = Folder::new("sparse");
    for i in 0..9 {
        let file = folder.0.join(format!("{i}.txt"));
        std::fs::File::create(&file).and_then(|f| f.set_len(1 << 31)).expect("a file of nothing");
    }
    // Each is small enough, all together are not.
    refused(&["inspect", &folder.0.display().to_string()], "bytes in its files");
}

#[cfg(unix)]
#[test]
fn links_and_what_is_no_file_are_left_out() {
    let folder = Folder::new("links");
    folder.file("m.txt", MODULE);
    std::fs::create_dir(folder.0.join("inner")).expect("a folder");
    std::os::unix::fs::symlink(&folder.0, folder.0.join("inner/loop")).expect("a link");
    std::os::unix::fs::symlink("/nowhere", folder.0.join("dangling")).expect("a link");
    std::os::unix::fs::symlink("/dev/zero", folder.0.join("zero")).expect("a link");
    let path = folder.0.display().to_string();
    for command in ["inspect", "peak"] {
        let answer = run(&[command, &path]);
        assert_eq!(answer.status, 0, "{}", answer.said);
        for expected in [
            "dangling: No such file",
            "loop: is a link to a folder, which is not followed",
            "zero: is no file",
        ] {
            assert_eq!(answer.said.matches(expected).count(), 1, "{}", answer.said);
        }
    }
    refused(&["peak", "/dev/zero"], "is a device");
    refused(&["inspect", "/dev/zero"], "is a device");
    refused(&["try", &folder.file("m2.txt", MODULE), "--edits", "/dev/zero"], "is a device");
    assert!(!Path::new(&path).join("report.html").exists());
}

#[test]
fn a_damaged_file_goes_by_its_own_name_and_is_told_once() {
    let folder = Folder::new("damaged");
    let whole = gzip(MODULE.repeat(20).as_bytes());
    folder.file("m.txt.gz", &whole[..whole.len() / 2]);
    let path = folder.0.display().to_string();
    for command in ["advise", "peak", "assign", "report"] {
        let answer = run(&[command, &path]);
        assert_eq!(answer.status, 2, "{command}: {}", answer.text);
        assert_eq!(answer.said.matches("m.txt.gz: is damaged").count(), 1, "{command}: {}", answer.said);
        assert!(!answer.said.contains("m.txt:"), "{command}: {}", answer.said);
    }
}

#[test]
fn errors_show_names_as_text_and_cut_them() {
    let folder = Folder::new("names");
    let module = folder.file("m.txt", MODULE);
    let long = "a".repeat(100_000);
    for arguments in [
        vec!["why", &module, &long],
        vec!["shares", &module, &long, "b"],
        vec!["try", &module, "--packer", &long],
    ] {
        let answer = run(&arguments);
        assert_eq!(answer.status, 2);
        assert!(answer.said.len() < 3_000, "{} bytes", answer.said.len());
    }
    let evil = run(&["why", &module, "a\u{1b}[31m\u{202e}b"]);
    assert!(evil.said.contains("\\u{1b}[31m\\u{202e}b"), "{}", evil.said);
}

#[test]
fn edits_in_a_file_are_refused_with_their_place() {
    let folder = Folder::new("edits");
    let module = folder.file("m.txt", MODULE);
    let check = |text: &str, expected: &str| {
        let edits = folder.file("e.json", text);
        refused(&["try", &module, "--edits", &edits], &format!("e.json:{expected}"));
    };
    check("[\n{\"edit\": \"move\", \"name\": \"a\"}]", "2:30: no `to`, expected a list of edits");
    check("[{\"edit\": \"mve\"}]", "1:15: `mve`, expected one of `range`, `move`");
    check("{\"edits\": 3}", "1:11: integer `3`, expected a list");
    check("{}", "1:2: no `edits`, expected a list of edits, or a file that the lab has saved");
    check(
        "[{\"edit\": \"move\", \"name\": \"a\", \"to\": -1}]",
        "1:41: integer `-1`, expected a whole number from 0",
    );
    check("HloModule", "1:1: no JSON (expected value), expected a list of edits");
    let good =
        folder.file("e.json", "{\"of\": \"example\", \"edits\": [{\"edit\": \"sooner\", \"name\": \"c\"}]}");
    assert_eq!(run(&["try", &module, "--edits", &good]).status, 0);
}

#[test]
fn numbers_without_sense() {
    let folder = Folder::new("numbers");
    let module = folder.file("m.txt", MODULE);
    refused(&["memory-space", &module, "--bandwidth", "0"], "--bandwidth: expected more than 0");
    refused(&["memory-space", &module, "--capacity", "18446744073709551615"], "--capacity: expected bytes");
    refused(&["remap", "--sizes", "1,2", "--steps", "4294967295"], "4294967295 is not in");
    refused(&["remap", "--sizes", "1,2", "--granularity", "0"], "0 is not in");
    refused(&["pack", &module], "m.txt:1:1: no JSON (expected value), expected a trace of heap events");
    refused(&["collective", &module], "m.txt:1:1: no JSON (expected value), expected a scenario");
    refused(&["memory-space", "--replay", &module], "m.txt:1:1: no JSON");
    let none = run(&["advise", &module, "--trials", "0"]);
    assert!(none.text.contains("Tried 0;"), "{}", none.text);
}
