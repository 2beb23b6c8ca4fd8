//! Every example of `docs/COMMAND_LINE.md` is run and must print what stands there.
//!
//! Blocks of `console` hold commands (`$ bufferscope ...`) with their output; `# exit status N` in front of a command
//! says that it ends with another status than 0; `| jq` prints JSON over several lines. Blocks of `file=NAME` are the
//! files that the commands read. `UPDATE_DOCS=1 cargo test -p bufferscope --test documented` writes the output anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs one command in `folder`; gives its output, standard error behind standard output, and its exit status.
fn run(folder: &Path, command: &str) -> (String, i32) {
    let (command, is_pretty) = match command.strip_suffix("| jq") {
        Some(rest) => (rest, true),
        None => (command, false),
    };
    let mut words = command.split_whitespace();
    assert_eq!(words.next(), Some("bufferscope"), "{command}");
    let output = Command::new(env!("CARGO_BIN_EXE_bufferscope"))
        .args(words.map(|w| w.trim_matches('\'')))
        .current_dir(folder)
        .output()
        .expect("the command runs");
    let mut text = String::from_utf8(output.stdout).expect("UTF-8");
    if is_pretty {
        let value: serde_json::Value =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{command}: {e}\n{text}"));
        text = serde_json::to_string_pretty(&value).expect("JSON") + "\n";
    }
    text += &String::from_utf8(output.stderr).expect("UTF-8");
    (text, output.status.code().unwrap_or(-1))
}

/// The document with the output of every command as it is now.
fn run_all(document: &str, folder: &Path) -> String {
    let mut out = String::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        _ = writeln!(out, "{line}");
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
        if let Some((_, name)) = info.split_once("file=") {
            std::fs::write(folder.join(name), block.join("\n") + "\n").expect("a file");
        }
        if info != "console" {
            out.extend(block.iter().flat_map(|l| [*l, "\n"]));
        } else {
            for command in block.iter().filter_map(|l| l.strip_prefix("$ ")) {
                let (text, status) = run(folder, command);
                if status != 0 {
                    _ = writeln!(out, "# exit status {status}");
                }
                _ = writeln!(out, "$ {command}");
                out += &text;
            }
        }
        out += "```\n";
    }
    out
}

#[test]
fn examples_print_what_they_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/COMMAND_LINE.md");
    let document = std::fs::read_to_string(&path).expect("the document");
    let folder: PathBuf = std::env::temp_dir().join(format!("bufferscope-documented-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let now = run_all(&document, &folder);
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, now).expect("the document");
        return;
    }
    for (i, (was, is)) in document.lines().zip(now.lines()).enumerate() {
        assert_eq!(is, was, "docs/COMMAND_LINE.md:{}", i + 1);
    }
    assert_eq!(document.lines().count(), now.lines().count(), "docs/COMMAND_LINE.md");
}
