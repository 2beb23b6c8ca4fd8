//! The nine refusals as gates, each with a smallest module that the reader can change. The lessons are the assigner's own
//! tests, word for word; what is said of a module is what the assigner decides about it.

use crate::engine::{self, Problem};
use analysis::{Backend, Facts, Orders, Target};
use assigner::words;
use assigner::{Decision, Decisions, Options, attempts};
use hlo::Module;
use std::sync::OnceLock;

/// How many there are.
pub const COUNT: u8 = 9;

/// What each gate asks, in the order of 8.5.1; an answer "no" lets the pair through.
pub const QUESTIONS: [&str; COUNT as usize] = [
    "Another memory space?",
    "Too big for it?",
    "Read-only memory?",
    "Kept out of the result, and this is a result's memory?",
    "Part of the result, and what is here is kept out of it?",
    "Memory that is never shared?",
    "Both wanted at once?",
    "A copy of what is there?",
    "Part of the result, and smaller than the memory?",
];

/// A module of a lesson, with what the assigner is told beside it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Example {
    /// Options of the command line, as `--target tpu`.
    pub options: String,
    /// The text.
    pub module: String,
    /// What was placed before, as XLA's dump would have it; empty as a rule.
    pub presets: String,
}

/// A lesson about one refusal.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lesson {
    /// The refusal's number, from 1.
    pub number: u8,
    /// Its name, without the number.
    pub title: String,
    /// What it is about, a paragraph each.
    pub prose: Vec<String>,
    /// Where it refuses.
    pub first: Example,
    /// What lets the pair pass.
    pub advice: String,
    /// Where it does not refuse.
    pub then: Example,
}

const FILES: [&str; COUNT as usize] = [
    include_str!("../../crates/assigner/tests/rules/01-colour.md"),
    include_str!("../../crates/assigner/tests/rules/02-too-big.md"),
    include_str!("../../crates/assigner/tests/rules/03-read-only.md"),
    include_str!("../../crates/assigner/tests/rules/04-new-must-not-live-out.md"),
    include_str!("../../crates/assigner/tests/rules/05-old-must-not-live-out.md"),
    include_str!("../../crates/assigner/tests/rules/06-not-reusable.md"),
    include_str!("../../crates/assigner/tests/rules/07-interference.md"),
    include_str!("../../crates/assigner/tests/rules/08-copy-of-itself.md"),
    include_str!("../../crates/assigner/tests/rules/09-live-out-size.md"),
];

/// The nine lessons, in order.
pub fn lessons() -> &'static [Lesson] {
    static LESSONS: OnceLock<Vec<Lesson>> = OnceLock::new();
    LESSONS.get_or_init(|| (1..).zip(FILES).map(|(number, text)| read(number, text)).collect())
}

/// The lesson of that number; the first for a number that no refusal has.
pub fn lesson(number: u8) -> &'static Lesson {
    let all = lessons();
    &all[usize::from(number.clamp(1, COUNT)) - 1]
}

/// Reads a lesson: a heading, prose, options in a line, blocks `hlo`, `presets` and `text`, and once more under "And then
/// it passes".
fn read(number: u8, text: &str) -> Lesson {
    let mut lesson = Lesson { number, ..Lesson::default() };
    let mut second = false;
    let mut block: Option<(&str, String)> = None;
    let mut paragraph = String::new();
    for line in text.lines().chain([""]) {
        let example = if second { &mut lesson.then } else { &mut lesson.first };
        if let Some((kind, content)) = &mut block {
            if line == "```" {
                match *kind {
                    "hlo" => example.module.clone_from(content),
                    "presets" => example.presets.clone_from(content),
                    _ => {}
                }
                block = None;
            } else {
                content.push_str(line);
                content.push('\n');
            }
            continue;
        }
        if let Some(kind) = line.strip_prefix("```") {
            block = Some((kind, String::new()));
        } else if let Some(title) = line.strip_prefix("# ") {
            title.split_once(". ").map_or(title, |(_, t)| t).clone_into(&mut lesson.title);
        } else if line.starts_with("## ") {
            second = true;
        } else if let Some(options) = line.strip_prefix("Options: `") {
            options.trim_end_matches('`').clone_into(&mut example.options);
        } else if line.is_empty() {
            let done = std::mem::take(&mut paragraph);
            if !done.is_empty() && second {
                if !lesson.advice.is_empty() {
                    lesson.advice.push(' ');
                }
                lesson.advice.push_str(&done);
            } else if !done.is_empty() {
                lesson.prose.push(done);
            }
        } else {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(line);
        }
    }
    lesson
}

/// Prose in pieces: `true` for what stands between backticks.
pub fn pieces(prose: &str) -> impl Iterator<Item = (bool, &str)> {
    prose.split('`').enumerate().map(|(n, piece)| (n % 2 == 1, piece)).filter(|(_, piece)| !piece.is_empty())
}

/// A buffer that was tried in an allocation, and how far it came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trial {
    /// The buffer: its first value.
    pub buffer: String,
    /// The allocation: the first value that stood there.
    pub holder: String,
    /// The gate that refused; `None` if the buffer went in.
    pub gate: Option<u8>,
    /// The refusal or the success, in words without a full stop.
    pub words: String,
}

/// What the assigner makes of a module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Judged {
    /// What was tried, in order.
    pub trials: Vec<Trial>,
}

/// A pair's state at a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// It came through.
    Passed,
    /// It was refused here.
    Stopped,
    /// It never came so far.
    NotReached,
}

impl Trial {
    /// How it fared at a gate.
    pub fn at(&self, gate: u8) -> At {
        match self.gate {
            Some(stop) if gate == stop => At::Stopped,
            Some(stop) if gate > stop => At::NotReached,
            _ => At::Passed,
        }
    }
}

impl Judged {
    /// The trial that a lesson is about: one that its gate refuses, or else that of the same pair as in the lesson's own
    /// module, or else one that went in, or else the last.
    pub fn watched(&self, lesson: &Lesson) -> Option<usize> {
        let find = |f: &dyn Fn(&Trial) -> bool| self.trials.iter().position(f);
        let (buffer, holder) = names(lesson);
        find(&|t| t.gate == Some(lesson.number))
            .or_else(|| find(&|t| t.buffer == *buffer && t.holder == *holder))
            .or_else(|| find(&|t| t.gate.is_none()))
            .or_else(|| self.trials.len().checked_sub(1))
    }

    /// Does the lesson's gate refuse nothing any more, and did something go in?
    pub fn passes(&self, lesson: &Lesson) -> bool {
        self.trials.iter().all(|t| t.gate != Some(lesson.number))
            && self.watched(lesson).is_some_and(|t| self.trials[t].gate.is_none())
    }
}

/// The pair that a lesson is about.
fn names(lesson: &Lesson) -> &'static (String, String) {
    static NAMES: OnceLock<Vec<(String, String)>> = OnceLock::new();
    let all = NAMES.get_or_init(|| {
        lessons()
            .iter()
            .map(|l| {
                let judged = judge(&l.first.module, &l.first.options, &l.first.presets).unwrap_or_default();
                let refused = judged.trials.into_iter().find(|t| t.gate == Some(l.number));
                refused.map(|t| (t.buffer, t.holder)).unwrap_or_default()
            })
            .collect()
    });
    &all[usize::from(lesson.number) - 1]
}

/// What the assigner says of a text, or what is wrong with it.
pub type Answer = Result<Judged, Vec<Problem>>;

/// How a lesson stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The pair goes in.
    Passed,
    /// A gate refuses it.
    Stopped,
    /// The text or the options cannot be read.
    Broken,
}

/// How a lesson stands, and that in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// How.
    pub outcome: Outcome,
    /// In a sentence.
    pub words: String,
}

/// What the assigner says of a lesson's module as it is now.
pub fn verdict(lesson: &Lesson, answer: &Answer) -> Verdict {
    let n = lesson.number;
    let judged = match answer {
        Ok(judged) => judged,
        Err(problems) => {
            let line = problems.first().map_or(0, |p| p.line);
            let place = if line == 0 { "The options".to_owned() } else { format!("Line {line}") };
            let words = format!("{place} cannot be read; nothing is decided.");
            return Verdict { outcome: Outcome::Broken, words };
        }
    };
    let Some(t) = judged.watched(lesson).map(|t| &judged.trials[t]) else {
        let words = "Nothing is tried in this module any more.".to_owned();
        return Verdict { outcome: Outcome::Stopped, words };
    };
    match t.gate {
        None => Verdict { outcome: Outcome::Passed, words: format!("It passes: {}.", t.words) },
        Some(g) if g == n => Verdict {
            outcome: Outcome::Stopped,
            words: format!("Gate {g} refuses {}: {}.", t.buffer, t.words),
        },
        Some(g) => Verdict {
            outcome: Outcome::Stopped,
            words: format!("Gate {n} has nothing to say, but gate {g} refuses {}: {}.", t.buffer, t.words),
        },
    }
}

fn problem(line: u32, column: u32, message: String) -> Vec<Problem> {
    vec![Problem { line, column, is_error: true, message }]
}

/// Lets the assigner decide about a text. What is wrong with it comes with its line; line 0 is the options.
pub fn judge(text: &str, options: &str, presets: &str) -> Answer {
    let read = hlo::read(text);
    let errors: Vec<Problem> = read.diagnostics.iter().map(engine::problem).filter(|p| p.is_error).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let Some(module) = read.module else {
        return Err(problem(1, 1, "no module, expected HloModule and an ENTRY computation".to_owned()));
    };
    let mut target = Target::detect(&module);
    let mut asked = Options::default();
    let (mut no_schedule, mut forbidden) = (false, Vec::new());
    let mut words_of = options.split_whitespace();
    while let Some(word) = words_of.next() {
        let mut next =
            || words_of.next().ok_or_else(|| problem(0, 1, format!("{word} is not followed by anything")));
        match word {
            "--target" => {
                let name = next()?;
                let backend = name
                    .parse::<Backend>()
                    .map_err(|_| problem(0, 1, format!("target {name}, expected cpu, gpu or tpu")))?;
                target = Target::tuned(backend, &module);
            }
            "--no-schedule" => no_schedule = true,
            "--must-not-live-out" => forbidden.push(next()?),
            "--presets" => {}
            other => {
                let known = "expected --target, --no-schedule, --must-not-live-out or --presets";
                return Err(problem(0, 1, format!("{other}, {known}")));
            }
        }
    }
    let orders = Orders::guess(&module, &target);
    let facts = if no_schedule {
        Facts::without_schedule(&module, orders, target)
    } else {
        Facts::new(&module, orders, target)
    };
    let facts = facts.map_err(|error| {
        let line = error.instruction().map_or(1, |i| module.location(module.instruction(i).text.start).line);
        problem(line, 1, error.describe(&module))
    })?;
    let find = |name: &str| {
        let found = facts.values().find(|v| facts.label(&module, v.id) == name);
        found.map(|v| v.id).ok_or_else(|| problem(0, 1, format!("{name}, which no value is called")))
    };
    for name in forbidden {
        asked.must_not_live_out.push(find(name)?);
    }
    if options.split_whitespace().any(|w| w == "--presets") {
        // Its lines are not the module's: the reader is told that it is the options that are wrong.
        let wrong = |d: &hlo::Diagnostic| Problem { line: 0, ..engine::problem(d) };
        asked.presets = dumps::presets(&module, &facts, presets)
            .map_err(|all| all.iter().map(wrong).collect::<Vec<_>>())?
            .0;
    }
    let (_, decisions) = assigner::assign(&module, &facts, &facts.ranges, &asked);
    Ok(Judged { trials: trials(&module, &facts, &decisions) })
}

fn trials(module: &Module, facts: &Facts, decisions: &Decisions) -> Vec<Trial> {
    let first = |b: analysis::BufferId| {
        facts.buffer(b).values.first().map_or_else(String::new, |v| facts.label(module, *v))
    };
    attempts(decisions)
        .into_iter()
        .map(|a| {
            // Who came first into that allocation.
            let holder = decisions.iter().find_map(|d| match d {
                Decision::Place { allocation, value, .. } if allocation == a.allocation => {
                    Some(facts.label(module, value))
                }
                _ => None,
            });
            let words = match &a.refusal {
                Some(reason) => words::refusal(module, facts, reason),
                None => format!("{} goes into allocation {}", first(a.buffer), a.allocation.0),
            };
            Trial {
                buffer: first(a.buffer),
                holder: holder.unwrap_or_default(),
                gate: a.refusal.as_ref().map(assigner::Refusal::number),
                words,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lesson_is_refused_at_its_gate_and_passes_when_it_is_changed() {
        for lesson in lessons() {
            let Lesson { number, first, then, .. } = lesson;
            let judged = judge(&first.module, &first.options, &first.presets).expect("it can be read");
            let watched = judged.watched(lesson).expect("something is tried");
            assert_eq!(judged.trials[watched].gate, Some(*number));
            assert!(!judged.passes(lesson), "lesson {number}");
            let judged = judge(&then.module, &then.options, &then.presets).expect("it can be read");
            assert!(judged.passes(lesson), "lesson {number}: {judged:?}");
        }
    }

    #[test]
    fn lessons_have_all_their_parts() {
        for lesson in lessons() {
            assert!(!lesson.title.is_empty() && !lesson.prose.is_empty() && !lesson.advice.is_empty());
            assert!(lesson.prose.iter().all(|p| p.matches('`').count() % 2 == 0), "lesson {}", lesson.number);
        }
        assert_eq!(lesson(8).title, "A copy of what is there");
        assert_eq!(lesson(8).first.options, "--no-schedule");
        assert!(lesson(5).first.presets.starts_with("BufferAssignment:"));
    }

    #[test]
    fn a_pair_passes_the_gates_before_the_one_that_stops_it() {
        let lesson = lesson(7);
        let judged = judge(&lesson.first.module, "", "").expect("it can be read");
        let trial = &judged.trials[judged.watched(lesson).expect("something is tried")];
        let seen: Vec<At> = (1..=COUNT).map(|g| trial.at(g)).collect();
        assert_eq!(seen[..6], [At::Passed; 6]);
        assert_eq!(seen[6..], [At::Stopped, At::NotReached, At::NotReached]);
    }

    #[test]
    fn with_a_schedule_a_copy_is_refused_at_gate_7_already() {
        let lesson = lesson(8);
        let judged = judge(&lesson.first.module, "", "").expect("it can be read");
        let trial = judged.trials.iter().find(|t| t.buffer == "c" && t.holder == "out");
        assert_eq!(trial.and_then(|t| t.gate), Some(7), "{judged:?}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let lesson = lesson(7);
        let line = |text: &str, options: &str| judge(text, options, "").expect_err("wrong")[0].line;
        assert_eq!(line(&lesson.first.module.replace("negate(p)", "negate(q)"), ""), 5);
        assert_eq!(line(&lesson.first.module, "--fast"), 0);
        assert_eq!(line(&lesson.first.module, "--must-not-live-out nobody"), 0);
        assert_eq!(line(&lesson.first.module, "--target"), 0);
        assert_eq!(line("", ""), 1);
    }
}
