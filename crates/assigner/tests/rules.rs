//! Lessons that are tests: `rules/*.md`.
//!
//! Each file says what a rule is and has two modules: one where the rule shows, and one, under "And then it passes", where it
//! does not. A module is a block `hlo`, with the options of the `bufferscope` command in a line before it, what was placed
//! before in a block `presets`, and what comes of it in a block `text`. `UPDATE_EXPECT=1` writes the latter anew. A file
//! `0N-...` is about refusal N: it must show in the first module and in no other.

use analysis::{Backend, Color, Facts, Orders, Target, ValueId};
use assigner::{Assignment, Decision, Decisions, Options, words};
use hlo::Module;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A lesson shows one thing.
const MOST_INSTRUCTIONS: usize = 12;

/// A module with all that shapes its assignment, and the line of the block that tells what comes of it.
#[derive(Default)]
struct Example {
    options: Vec<String>,
    module: String,
    presets: String,
    expected: String,
    at_line: usize,
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules");
    let mut out: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the rules").map(|e| e.expect("an entry").path()).collect();
    out.sort();
    out
}

fn read(text: &str) -> Vec<Example> {
    let mut out = Vec::new();
    let mut at = Example::default();
    let mut block: Option<String> = None;
    let mut kind = "";
    for (n, line) in (1..).zip(text.lines()) {
        match &mut block {
            None => {
                if let Some(options) = line.strip_prefix("Options: `") {
                    at.options = options.trim_end_matches('`').split(' ').map(String::from).collect();
                } else if let Some(name) = line.strip_prefix("```") {
                    kind = name;
                    block = Some(String::new());
                    at.at_line = n;
                }
            }
            Some(done) if line == "```" => {
                let done = std::mem::take(done);
                block = None;
                match kind {
                    "hlo" => at.module = done,
                    "presets" => at.presets = done,
                    "text" => {
                        at.expected = done;
                        out.push(std::mem::take(&mut at));
                    }
                    _ => panic!("line {n}: a block of kind `{kind}`"),
                }
            }
            Some(block) => {
                block.push_str(line);
                block.push('\n');
            }
        }
    }
    out
}

fn find(module: &Module, facts: &Facts, name: &str) -> ValueId {
    let found = facts.values().find(|v| facts.label(module, v.id) == name);
    found.unwrap_or_else(|| panic!("no value {name}")).id
}

struct Run {
    module: Module,
    facts: Facts,
    assignment: Assignment,
    decisions: Decisions,
}

fn run(example: &Example) -> Run {
    let module = hlo::read_owned(example.module.clone()).complete().unwrap_or_else(|d| panic!("{d:?}"));
    let mut target = Target::detect(&module);
    let mut options = Options::default();
    let (mut no_schedule, mut has_presets) = (false, false);
    let mut forbidden = Vec::new();
    let mut words = example.options.iter();
    while let Some(word) = words.next() {
        let mut next = || words.next().expect("what the option is set to");
        match word.as_str() {
            "--target" => target = Target::tuned(next().parse::<Backend>().expect("a target"), &module),
            "--no-schedule" => no_schedule = true,
            "--heap-limit" => options.heap_limit = Some(next().parse().expect("bytes")),
            "--must-not-live-out" => forbidden.push(next().clone()),
            "--presets" => has_presets = true,
            _ => panic!("no option {word}"),
        }
    }
    assert_eq!(has_presets, !example.presets.is_empty(), "--presets and a block of them go together");
    let orders = Orders::guess(&module, &target);
    let facts = if no_schedule {
        Facts::without_schedule(&module, orders, target)
    } else {
        Facts::new(&module, orders, target)
    };
    let facts = facts.expect("facts");
    options.must_not_live_out = forbidden.iter().map(|name| find(&module, &facts, name)).collect();
    if has_presets {
        let (presets, warnings) = dumps::presets(&module, &facts, &example.presets).expect("presets");
        assert!(warnings.is_empty(), "{warnings:?}");
        options.presets = presets;
    }
    let (assignment, decisions) = assigner::assign(&module, &facts, &facts.ranges, &options);
    Run { module, facts, assignment, decisions }
}

impl Run {
    /// What was decided, without the routine, and where everything is in the end.
    fn tell(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for decision in &self.decisions {
            let is_routine =
                matches!(decision, Decision::Assign { .. } | Decision::Try { .. } | Decision::Place { .. });
            let line = words::decision(&self.module, &self.facts, &decision);
            // An allocation that is tried twice is refused twice.
            if !is_routine && lines.last() != Some(&line) {
                lines.push(line);
            }
        }
        lines.push(String::new());
        for a in &self.assignment.allocations {
            let mut line = format!("allocation {}: {}", a.id.0, words::bytes(a.size));
            if a.color != Color(0) {
                let _ = write!(line, ", memory space {}", a.color);
            }
            if let Some(p) = &a.parameter {
                let _ = write!(line, ", parameter {}", p.number);
            }
            for (is_it, word) in [
                (a.is_constant, "constant"),
                (a.maybe_live_out, "may be the result"),
                (a.is_preallocated_temp(), "temporary"),
            ] {
                if is_it {
                    let _ = write!(line, ", {word}");
                }
            }
            let values: Vec<String> = a
                .values
                .iter()
                .map(|p| {
                    let name = self.facts.label(&self.module, p.value);
                    if p.offset == 0 { name } else { format!("{name} at {}", p.offset) }
                })
                .collect();
            lines.push(format!("{line}: {}", values.join(", ")));
        }
        lines.join("\n") + "\n"
    }

    fn has_refusal(&self, number: u8) -> bool {
        self.decisions
            .iter()
            .any(|d| matches!(d, Decision::Refuse { reason, .. } if reason.number() == number))
    }
}

#[test]
fn lessons() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut seen = Vec::new();
    for path in files() {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let mut text = std::fs::read_to_string(&path).expect("a lesson");
        let examples = read(&text);
        assert!(text.starts_with("# ") && text.contains("\n## And then it passes\n"), "{name}: its headings");
        assert_eq!(examples.len(), 2, "{name}: a module where the rule shows and one where it does not");
        let number: Option<u8> = name.split_once('-').and_then(|(n, _)| n.parse().ok());
        seen.extend(number);
        // The last one first, so that the lines of the others stay where they are.
        for (n, example) in examples.iter().enumerate().rev() {
            let run = run(example);
            assert!(run.module.instructions.len() <= MOST_INSTRUCTIONS, "{name}: too long for a lesson");
            if let Some(number) = number {
                assert_eq!(run.has_refusal(number), n == 0, "{name}: refusal {number} in module {}", n + 1);
            }
            let got = run.tell();
            if update {
                let mut lines: Vec<&str> = text.lines().collect();
                let from = example.at_line;
                lines.splice(from..from + example.expected.lines().count(), got.lines());
                text = lines.join("\n") + "\n";
                std::fs::write(&path, &text).expect("the lesson can be written");
            } else {
                assert_eq!(
                    got, example.expected,
                    "{name}:{}: UPDATE_EXPECT=1 if it is right",
                    example.at_line
                );
            }
        }
    }
    assert_eq!(seen, (1..=9).collect::<Vec<u8>>(), "a lesson for each refusal");
}
