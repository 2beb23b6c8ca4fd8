//! Rules about the files themselves.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::root;
use crate::setup::{TRUNK, WASM_BINDGEN};

/// Large files make every clone slow, and a page that carries them slower.
const LARGEST_FILE: u64 = 1_500_000;

/// Engines compute and nothing else: text or bytes in, plain data out, the same everywhere.
const ENGINES: [&str; 14] = [
    "hlo",
    "analysis",
    "copy-insertion",
    "packing",
    "assigner",
    "checker",
    "dumps",
    "opening",
    "questions",
    "report",
    "memory-space",
    "collective",
    "deallocation",
    "remap",
];

/// The files that are or would be committed, relative to the root.
fn files() -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    assert!(listed.status.success(), "git ls-files failed; these tests need a clone");
    let listed = String::from_utf8(listed.stdout).expect("file names are UTF-8");
    // A file may be deleted and not yet committed.
    listed
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        .filter(|f| root().join(f).is_file())
        .collect()
}

fn files_ending(ends: &[&str]) -> Vec<(PathBuf, String)> {
    files()
        .into_iter()
        .filter(|file| file.extension().is_some_and(|end| ends.iter().any(|e| end == *e)))
        .filter_map(|file| Some((file.clone(), fs::read_to_string(root().join(&file)).ok()?)))
        .collect()
}

/// Fails with one line for each finding.
#[track_caller]
fn expect_none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

/// Lines of `files` that hold one of `words`, with the words themselves left out of this file's own text.
fn lines_with(files: &[(PathBuf, String)], words: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (file, text) in files {
        for (number, line) in text.lines().enumerate() {
            if let Some(word) = words.iter().find(|word| line.contains(word.as_str())) {
                found.push(format!("{}:{}: {word}", file.display(), number + 1));
            }
        }
    }
    found
}

/// Code up to the first test module, for rules that tests may break.
fn without_tests(text: &str) -> &str {
    text.split_once("#[cfg(test)]\nmod ").map_or(text, |(code, _)| code)
}

#[test]
fn every_crate_says_what_it_is() {
    let mut silent = Vec::new();
    for manifest in files().iter().filter(|f| f.ends_with("Cargo.toml") && f.components().count() > 1) {
        let dir = root().join(manifest).parent().expect("a file is in a folder").to_path_buf();
        let heads =
            ["README.md", "src/lib.rs", "src/main.rs"].map(|head| fs::read_to_string(dir.join(head)).ok());
        let says = heads[0].is_some() || heads[1..].iter().flatten().any(|text| text.starts_with("//!"));
        // A crate made of several programs has its description in the manifest.
        let described =
            fs::read_to_string(root().join(manifest)).is_ok_and(|text| text.contains("\ndescription = "));
        let only_programs = heads.iter().all(Option::is_none);
        if !(says || only_programs && described) {
            silent.push(manifest.display().to_string());
        }
    }
    expect_none("these crates have neither a README.md nor a //! head", &silent);
}

#[test]
fn nothing_is_left_unfinished() {
    let words = ["todo", "unimplemented", "dbg"].map(|word| format!("{word}!("));
    expect_none("unfinished code", &lines_with(&files_ending(&["rs"]), &words));
}

#[test]
fn input_never_becomes_markup() {
    let words = [["inner", "_html"], ["set_inner", "_html"], ["inner", "HTML"], ["insertAdjacent", "HTML"]]
        .map(|parts| parts.concat());
    let files: Vec<_> = files_ending(&["rs", "js", "mjs"])
        .into_iter()
        .filter(|(f, _)| {
            [
                "web/src",
                "lab",
                "assets",
                "web/boot.js",
                "web/boot-single.js",
                "web/language.js",
                "web/locale.js",
            ]
            .iter()
            .any(|ours| f.starts_with(ours))
        })
        .collect();
    expect_none(
        "text nodes only: names in a module are not to be trusted as markup",
        &lines_with(&files, &words),
    );
}

#[test]
fn no_path_of_one_machine() {
    let words = [["/", "work/"], ["/", "root/"], ["/home", "/"], ["/Us", "ers/"]].map(|parts| parts.concat());
    let files = files_ending(&[
        "rs", "md", "toml", "json", "js", "mjs", "html", "css", "sh", "yml", "txt", "hlo", "py", "ipynb",
    ]);
    // Real modules carry the paths of the machine they were compiled on; they are data and stay as they were written.
    let ours: Vec<_> = files.into_iter().filter(|(file, _)| !is_corpus(file)).collect();
    expect_none("paths that exist on one machine only", &lines_with(&ours, &words[..2]));
    let docs: Vec<_> =
        ours.into_iter().filter(|(file, _)| file.extension().is_some_and(|end| end == "md")).collect();
    expect_none("paths that exist on one machine only", &lines_with(&docs, &words[2..]));
}

fn is_corpus(file: &Path) -> bool {
    file.components().any(|part| {
        let part = part.as_os_str();
        part == "corpus" || part == "modules" || part == "fixtures" || part == "testdata"
    })
}

#[test]
fn no_large_file() {
    let mut large = Vec::new();
    for file in files() {
        let size = fs::metadata(root().join(&file)).map_or(0, |data| data.len());
        if size > LARGEST_FILE {
            large.push(format!("{} has {size} bytes", file.display()));
        }
    }
    expect_none("larger than 1.5 MB", &large);
}

#[test]
fn engines_only_compute() {
    let words =
        ["println!(", "eprintln!(", "std::fs", "std::time", "std::env", "static mut", "thread_local!"]
            .map(str::to_owned);
    let code: Vec<_> = files_ending(&["rs"])
        .into_iter()
        .filter(|(file, _)| {
            ENGINES.iter().any(|engine| file.starts_with(Path::new("crates").join(engine).join("src")))
        })
        .filter(|(file, _)| !file.file_stem().is_some_and(|stem| stem == "tests" || stem == "test"))
        .filter(|(file, _)| !file.components().any(|part| part.as_os_str() == "bin"))
        .map(|(file, text)| (file, without_tests(&text).to_owned()))
        .collect();
    expect_none(
        "an engine does no I/O, prints nothing, reads no clock, holds no global",
        &lines_with(&code, &words),
    );
}

#[test]
fn relative_links_resolve() {
    let mut broken = Vec::new();
    for (file, text) in files_ending(&["md"]) {
        let dir = root().join(&file).parent().expect("a file is in a folder").to_path_buf();
        for target in links(&text) {
            let path = target.split('#').next().unwrap_or_default();
            let elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !path.is_empty() && !elsewhere && !dir.join(path).exists() {
                broken.push(format!("{}: {target}", file.display()));
            }
        }
    }
    expect_none("broken links", &broken);
}

/// The targets of `[text](target)` outside of fenced code.
fn links(markdown: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            continue;
        }
        for rest in line.split("](").skip(1) {
            if let Some((target, _)) = rest.split_once(')') {
                found.push(target.split_whitespace().next().unwrap_or_default());
            }
        }
    }
    found
}

#[test]
fn links_are_found_outside_of_code() {
    assert_eq!(links("[a](b.md) and [c](d.md#e \"title\")\n```\n[x](y)\n```"), ["b.md", "d.md#e"]);
}

/// The page says which rule a claim rests on; each of them is in `docs/RULES.md`.
#[test]
fn rules_that_are_named_exist() {
    let rules = fs::read_to_string(root().join("docs/RULES.md")).expect("docs/RULES.md");
    let known: Vec<String> = crate::rules::sections(&rules).into_iter().map(|(n, _)| n).collect();
    let mut unknown = Vec::new();
    for (file, text) in files_ending(&["rs"]).iter().filter(|(f, _)| f.starts_with("web/src")) {
        for rest in text.split("<Rule section=\"").skip(1) {
            let section = rest.split('"').next().unwrap_or_default();
            // The component's own example is one, too.
            if !known.iter().any(|n| n == section) {
                unknown.push(format!("{}: {section}", file.display()));
            }
        }
    }
    expect_none("sections that docs/RULES.md does not have", &unknown);
}

/// What a notebook has been shown is no source: it is large, of one machine, and soon wrong.
#[test]
fn notebooks_hold_no_outputs() {
    let mut run = Vec::new();
    for (file, text) in files_ending(&["ipynb"]) {
        for (number, line) in text.lines().map(str::trim).enumerate() {
            let is_empty =
                ["\"outputs\": [],", "\"outputs\": []", "\"execution_count\": null,"].contains(&line);
            if ["\"outputs\":", "\"execution_count\":"].iter().any(|key| line.starts_with(key)) && !is_empty {
                run.push(format!("{}:{}: {line}", file.display(), number + 1));
            }
        }
    }
    expect_none("clear the outputs of these notebooks", &run);
}

/// The Python package opens what the crates write, so it is of their version.
#[test]
fn the_python_package_is_of_the_crates_version() {
    let read = |file: &str| fs::read_to_string(root().join(file)).expect(file);
    let version = env!("CARGO_PKG_VERSION");
    let format = include_str!("../../report/FORMAT").trim();
    for (file, text) in [
        ("python/pyproject.toml", format!("version = \"{version}\"")),
        ("python/src/bufferscope/_version.py", format!("__version__ = \"{version}\"")),
        ("python/src/bufferscope/_version.py", format!("FORMAT = \"{format}\"")),
        ("docs/NOTEBOOKS.md", format!("bufferscope-{version}-py3-none-any.whl")),
    ] {
        assert!(read(file).contains(&text), "{file} does not say {text}");
    }
}

/// Versions of tools are written in several places, for Cargo, Trunk and npm; they must be the same.
#[test]
fn tool_versions_agree() {
    let read = |file: &str| fs::read_to_string(root().join(file)).expect(file);
    let expected = BTreeMap::from([
        ("Cargo.toml", format!("wasm-bindgen = \"={WASM_BINDGEN}\"")),
        ("Trunkfile.toml", format!("wasm_bindgen = \"{WASM_BINDGEN}\"")),
        ("crates/wasm-bindgen-tool/Cargo.toml", format!("version = \"={WASM_BINDGEN}\"")),
        ("README.md", TRUNK.to_owned()),
    ]);
    for (file, text) in expected {
        assert!(read(file).contains(&text), "{file} does not say {text}");
    }
    let package = read("package.json");
    let binaryen =
        package.split("\"binaryen\": \"").nth(1).and_then(|rest| rest.split('.').next()).expect("binaryen");
    assert!(
        read("Trunkfile.toml").contains(&format!("wasm_opt = \"version_{binaryen}\"")),
        "binaryen {binaryen}"
    );
}
