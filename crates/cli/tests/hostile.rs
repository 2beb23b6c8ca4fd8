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
    assert!(none.text.contains("Tried 0 changes;"), "{}", none.text);
}

/// Each is refused where it is wrong, and says what is expected; none makes the command panic, which is another exit status.
#[test]
fn what_no_compiler_writes_is_refused_in_a_sentence() {
    let folder = Folder::new("odd");
    let entry = |lines: &str| format!("HloModule m, is_scheduled=true\n\nENTRY main {{\n{lines}\n}}\n");
    let shared = "HloModule m, is_scheduled=true

f {
  p = f32[4]{0} parameter(0)
  ROOT n = f32[4]{0} negate(p)
}

ENTRY main {
  x = f32[4]{0} parameter(0)
  a = f32[4]{0} fusion(x), kind=kLoop, calls=f
  b = f32[4]{0} call(x), to_apply=f
  ROOT c = f32[4]{0} add(a, b)
}
";
    let of = |what: &str| entry(&format!("  x = f32[4]{{0}} parameter(0)\n  ROOT d = f32[4]{{0}} {what}"));
    for (name, bytes, expected) in [
        (
            "shared.txt",
            shared.into(),
            ":11:3: %b: %f runs here as control flow and in %a per element, expected",
        ),
        (
            "done.txt",
            of("copy-done(x)").into(),
            "its operand is f32[4], expected the tuple that a start gives",
        ),
        (
            "async.txt",
            of("async-done(x)").into(),
            "its operand is f32[4], expected the tuple that a start gives",
        ),
        (
            "branches.txt",
            entry("  x = s32[] parameter(0)\n  ROOT n = f32[4]{0} conditional(x), branch_computations={}")
                .into(),
            ":5:8: 0 branches of `n`, expected at least one",
        ),
        ("packed.bz2", b"BZh91AY&SY\xff\x00".to_vec(), "bytes packed with bzip2, expected them unpacked"),
        ("packed.xz", b"\xfd7zXZ\0\x00\x04".to_vec(), "bytes packed with xz, expected them unpacked"),
        (
            "packed.zst",
            b"\x28\xb5\x2f\xfd\x00".to_vec(),
            "bytes packed with Zstandard, expected them unpacked",
        ),
        ("wide.txt", b"\xff\xfe\0\0H\0\0\0".to_vec(), "UTF-32, expected UTF-8"),
    ] {
        let file = folder.file(name, bytes);
        for command in ["peak", "assign", "constants", "donation"] {
            refused(&[command, &file], expected);
        }
    }
}

/// A field of a protocol buffer.
fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![(number << 3 | 2) as u8, bytes.len() as u8];
    out.extend(bytes);
    out
}

/// A module of one computation in a protocol buffer: a parameter of number 1, and what is negated, of number 2.
fn proto(root: u8, operand: u8, second: u8) -> Vec<u8> {
    let shape = field(3, &[0x10, 11, 0x1a, 1, 64, 0x2a, 3, 0x0a, 1, 0]);
    let instruction = |name: &str, opcode: &str, id: u8, more: &[u8]| {
        // Numbers of 16 and above take two bytes: 35, the instruction's own, and 36, its operands.
        [
            field(1, name.as_bytes()),
            field(2, opcode.as_bytes()),
            shape.clone(),
            vec![0x98, 2, id],
            more.to_vec(),
        ]
        .concat()
    };
    let parameter = instruction("x", "parameter", 1, &[0x48, 0]);
    let negated = instruction("n", "negate", second, &[0xa2, 2, 1, operand]);
    let computation =
        [field(1, b"main"), field(2, &parameter), field(2, &negated), vec![0x28, 1, 0x30, root]].concat();
    [field(1, b"m"), field(2, b"main"), field(3, &computation), vec![0x30, 1]].concat()
}

#[test]
fn protocol_buffers_that_contradict_themselves_are_refused() {
    let folder = Folder::new("protos");
    let good = folder.file("good.pb", proto(2, 1, 2));
    let answer = run(&["peak", &good]);
    assert_eq!(answer.status, 0, "{}", answer.said);
    assert!(answer.text.starts_with("512 B in all"), "{}", answer.text);
    for (name, bytes, expected) in [
        ("root.pb", proto(9, 1, 2), "a computation whose root is none of its instructions"),
        ("twice.pb", proto(2, 1, 1), "a second instruction of this id"),
        ("itself.pb", proto(2, 2, 2), "expected its definition above"),
    ] {
        let file = folder.file(name, bytes);
        refused(&["peak", &file], expected);
    }
}
