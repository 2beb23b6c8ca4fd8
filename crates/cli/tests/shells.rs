//! What the command says of itself: its version, and its words to shells.

use std::io::Write as _;
use std::process::{Command, Stdio};

fn said(args: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_bufferscope")).args(args).output().expect("the command runs");
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn the_version_names_the_compilers_that_the_documents_name() {
    assert_eq!(said(&["-V"]), format!("bufferscope {}\n", env!("CARGO_PKG_VERSION")));
    let long = said(&["--version"]);
    let (first, rest) = long.split_once('\n').expect("two lines");
    assert_eq!(first, format!("bufferscope {}", env!("CARGO_PKG_VERSION")));
    // "NAME NUMBER (COMPILER)", three times.
    let versions: Vec<String> = rest
        .split(" (")
        .filter(|part| part.ends_with(|c: char| c.is_ascii_digit()))
        .map(|part| {
            part.rsplitn(3, ' ').take(2).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(versions.len(), 3, "{rest}");
    for (name, document) in [
        ("XLA_VERSIONS.md", include_str!("../../../docs/XLA_VERSIONS.md")),
        ("VERIFICATION.md", include_str!("../../../docs/VERIFICATION.md")),
    ] {
        for version in &versions {
            assert!(document.contains(version), "docs/{name} does not know {version}");
        }
    }
}

/// Every command with what is said of it in `--help`.
fn commands() -> Vec<String> {
    said(&["--help"])
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

#[test]
fn every_command_is_in_the_script_of_every_shell() {
    let commands = commands();
    assert!(commands.len() > 20 && commands.iter().any(|c| c == "memory-space"), "{commands:?}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = said(&["completions", shell]);
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell} does not know {command}");
        }
        assert!(script.contains("insert-copies"), "{shell}");
    }
    let wrong = Command::new(env!("CARGO_BIN_EXE_bufferscope"))
        .args(["completions", "tcl"])
        .output()
        .expect("the command runs");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("powershell"), "what there is instead");
}

/// What bash offers for a line of words, of which the last is being written.
fn offered(script: &str, words: &[&str]) -> Option<Vec<String>> {
    let mut bash = Command::new("bash")
        .args(["--norc", "--noprofile"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let last = words.len() - 1;
    let line = format!(
        "{script}\nCOMP_WORDS=({})\nCOMP_CWORD={last}\n_bufferscope bufferscope '{}' '{}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        words.iter().map(|w| format!("'{w}'")).collect::<Vec<_>>().join(" "),
        words[last],
        words[last - 1],
    );
    bash.stdin.take()?.write_all(line.as_bytes()).ok()?;
    let output = bash.wait_with_output().ok()?;
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect())
}

#[test]
fn bash_completes_commands_options_and_values() {
    let script = said(&["completions", "bash"]);
    let Some(commands) = offered(&script, &["bufferscope", "co"]) else {
        println!("skipped: there is no bash here");
        return;
    };
    assert_eq!(commands, ["copies", "collective", "constants", "completions"]);
    let options = offered(&script, &["bufferscope", "assign", "--heap"]).expect("bash");
    assert_eq!(options, ["--heap-limit"]);
    let values = offered(&script, &["bufferscope", "completions", "z"]).expect("bash");
    assert_eq!(values, ["zsh"]);
}
