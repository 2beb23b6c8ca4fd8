//! What a lesson may ask of the engine: conditions that a goal is made of, and questions whose answer it gives.

use crate::engine::{Opened, Run};
use crate::lessons;
use crate::scene::{Item, Picture, overlap};
use crate::state::{Source, State};
use assigner::words::{bytes, difference, grouped};
use sorts::Arrange as _;
use std::fmt;

/// Something that is measured in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Measure {
    /// The largest block of temporaries.
    #[default]
    Heap,
    /// All allocations together.
    Total,
}

impl Measure {
    fn read(word: &str) -> Option<Self> {
        match word {
            "heap" => Some(Self::Heap),
            "total" => Some(Self::Total),
            _ => None,
        }
    }

    fn of(self, picture: &Picture) -> u64 {
        match self {
            Self::Heap => picture.heap_size(),
            Self::Total => picture.total_bytes,
        }
    }

    fn takes(self, size: u64) -> String {
        match self {
            Self::Heap => format!("The heap takes {}", bytes(size)),
            Self::Total => format!("All allocations together take {}", bytes(size)),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heap => "heap",
            Self::Total => "total",
        })
    }
}

/// What has to hold for a goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// `share A B`: two values have a byte of some allocation in common.
    Share(String, String),
    /// `apart A B`: they have not.
    Apart(String, String),
    /// `heap <= 24 KiB`.
    AtMost(Measure, u64),
    /// `heap >= 24 KiB`.
    AtLeast(Measure, u64),
    /// `heap saves 1 KiB`: that much less than when the step began.
    Saves(Measure, u64),
    /// `heap grows 1 KiB`: that much more.
    Grows(Measure, u64),
    /// `selected A`: the value of that name is selected.
    Selected(String),
    /// `changes <= 1`: so many ranges and places of instructions, at most, are not the module's own.
    Changes(u32),
    /// `same instructions`: the text may be changed, but for the instructions.
    SameInstructions,
}

impl Condition {
    /// How they are written.
    pub const FORMS: &str = "`share A B`, `apart A B`, `heap <= 24 KiB` (or `>=`, or `total`), `heap saves 1 KiB`, `heap grows 1 \
                             KiB`, `selected A`, `changes <= 1` or `same instructions`";

    /// Reads one.
    pub fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let named = |name: &&str| name.len() <= 200;
        Some(match words[..] {
            ["share", a, b] if named(&a) && named(&b) => Self::Share(a.to_owned(), b.to_owned()),
            ["apart", a, b] if named(&a) && named(&b) => Self::Apart(a.to_owned(), b.to_owned()),
            ["selected", a] if named(&a) => Self::Selected(a.to_owned()),
            ["same", "instructions"] => Self::SameInstructions,
            ["changes", "<=", n] => Self::Changes(n.parse().ok()?),
            [measure, sign, ref size @ ..] => {
                let (measure, size) = (Measure::read(measure)?, size_of(size)?);
                match sign {
                    "<=" => Self::AtMost(measure, size),
                    ">=" => Self::AtLeast(measure, size),
                    "saves" => Self::Saves(measure, size),
                    "grows" => Self::Grows(measure, size),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// Does it hold, and what is there to say of it?
    fn check(&self, start: &Start, now: &Seen<'_>) -> (bool, String) {
        let picture = &now.run.picture;
        match self {
            Self::Share(a, b) => {
                let together = common(picture, a, b);
                (together.is_some_and(|n| n > 0), share_words(a, b, together))
            }
            Self::Apart(a, b) => {
                let together = common(picture, a, b);
                (together == Some(0), share_words(a, b, together))
            }
            Self::AtMost(measure, most) => {
                let size = measure.of(picture);
                (size <= *most, format!("{}; the goal is at most {}.", measure.takes(size), bytes(*most)))
            }
            Self::AtLeast(measure, least) => {
                let size = measure.of(picture);
                (size >= *least, format!("{}; the goal is at least {}.", measure.takes(size), bytes(*least)))
            }
            Self::Saves(measure, by) => {
                let (before, size) = (start.bytes(*measure), measure.of(picture));
                let is = before.saturating_sub(size) >= *by;
                (is, compared(*measure, before, size, before.saturating_sub(*by)))
            }
            Self::Grows(measure, by) => {
                let (before, size) = (start.bytes(*measure), measure.of(picture));
                let goal = before.saturating_add(*by);
                let words = format!(
                    "{}, {}; the goal is at least {}.",
                    measure.takes(size),
                    difference(before, size),
                    bytes(goal)
                );
                (size >= goal, words)
            }
            Self::Selected(name) => {
                let selected = now.selected.and_then(|v| picture.item(v));
                let is = selected.is_some_and(|i| i.name == *name);
                (
                    is,
                    selected.map_or_else(
                        || "No value is selected.".to_owned(),
                        |i| format!("{} is selected.", i.name),
                    ),
                )
            }
            Self::Changes(most) => {
                let n = (now.state.edits.len() + now.state.moves.len()) as u32;
                let is = n <= *most;
                let words = match (is, n) {
                    (true, _) => String::new(),
                    (false, 1) => "One change is made; the goal allows none.".to_owned(),
                    (false, n) => format!(
                        "{} changes are made; the goal allows {}.",
                        grouped(n.into()),
                        grouped((*most).into())
                    ),
                };
                (is, words)
            }
            Self::SameInstructions => {
                let is = start.instructions == instructions(now.opened);
                (
                    is,
                    if is {
                        String::new()
                    } else {
                        "The instructions are no longer those of the step.".to_owned()
                    },
                )
            }
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(a, b) => write!(f, "share {a} {b}"),
            Self::Apart(a, b) => write!(f, "apart {a} {b}"),
            Self::AtMost(m, n) => write!(f, "{m} <= {n} B"),
            Self::AtLeast(m, n) => write!(f, "{m} >= {n} B"),
            Self::Saves(m, n) => write!(f, "{m} saves {n} B"),
            Self::Grows(m, n) => write!(f, "{m} grows {n} B"),
            Self::Selected(a) => write!(f, "selected {a}"),
            Self::Changes(n) => write!(f, "changes <= {n}"),
            Self::SameInstructions => f.write_str("same instructions"),
        }
    }
}

/// `24 KiB`, `1,024 B`, `1024`.
fn size_of(words: &[&str]) -> Option<u64> {
    let (number, unit) = match words {
        [number] => (number, "B"),
        [number, unit] => (number, *unit),
        _ => return None,
    };
    let number: u64 = number.replace(',', "").parse().ok()?;
    let unit: u64 = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

fn named<'a>(picture: &'a Picture, name: &str) -> Option<&'a Item> {
    picture.items.iter().find(|i| i.name == name)
}

/// How many bytes two values have in common; `None` if one of them is not there.
fn common(picture: &Picture, a: &str, b: &str) -> Option<u64> {
    let (a, b) = (named(picture, a)?, named(picture, b)?);
    Some(if a.shares_address(b) { a.top().min(b.top()) - a.offset.max(b.offset) } else { 0 })
}

fn share_words(a: &str, b: &str, together: Option<u64>) -> String {
    match together {
        None => format!("{a} and {b} are not both in the program any more."),
        Some(0) => format!("{a} and {b} have no address in common."),
        Some(n) => format!("{a} and {b} share {} of memory.", bytes(n)),
    }
}

fn compared(measure: Measure, before: u64, size: u64, goal: u64) -> String {
    format!("{}, {}; the goal is at most {}.", measure.takes(size), difference(before, size), bytes(goal))
}

/// The lines of all instructions, sorted.
fn instructions(opened: &Opened) -> Vec<String> {
    let module = &opened.module;
    let line = |i| module.str(module.instruction(i).text).to_owned();
    let mut lines: Vec<String> = module.instruction_ids().map(line).collect();
    lines.arrange();
    lines
}

/// A state as the engine has it.
pub struct Seen<'a> {
    /// The state.
    pub state: &'a State,
    /// Its module, in its order.
    pub opened: &'a Opened,
    /// Its assignment.
    pub run: &'a Run,
    /// Its selected value.
    pub selected: Option<u32>,
}

/// Looks at a state of the module `base`, which is the one of its source; `None` if it cannot be had.
pub fn see<T>(base: &Opened, state: &State, look: impl FnOnce(&Seen<'_>) -> T) -> Option<T> {
    let moved = if state.moves.is_empty() { None } else { Some(base.reordered(&state.moves)?) };
    let opened = moved.as_ref().unwrap_or(base);
    let run = opened.run(&state.edits);
    let selected = match state.selection {
        crate::state::Selection::Value(v) => Some(v),
        _ => None,
    };
    Some(look(&Seen { state, opened, run: &run, selected }))
}

/// What goals remember of the state that a step begins with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    source: Source,
    heap: u64,
    total: u64,
    instructions: Vec<String>,
}

impl Start {
    /// Remembers a state.
    pub fn of(seen: &Seen<'_>) -> Self {
        let picture = &seen.run.picture;
        Self {
            source: seen.state.source.clone(),
            heap: picture.heap_size(),
            total: picture.total_bytes,
            instructions: instructions(seen.opened),
        }
    }

    fn bytes(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Heap => self.heap,
            Measure::Total => self.total,
        }
    }
}

/// Is a goal reached, and how do things stand?
pub fn check(conditions: &[Condition], start: &Start, now: &Seen<'_>) -> (bool, String) {
    if now.state.source != start.source && !conditions.contains(&Condition::SameInstructions) {
        return (false, "Another program is open; Reset leads back to the one of this step.".to_owned());
    }
    let mut all = true;
    let mut said = Vec::new();
    for condition in conditions {
        let (is, words) = condition.check(start, now);
        all &= is;
        if !words.is_empty() {
            said.push(words);
        }
    }
    (all, said.join(" "))
}

/// What a question asks of the engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Judge {
    /// `heap` or `total`: does it become smaller or larger?
    Compare(Measure),
    /// `share A B`: do two values share memory?
    Share(String, String),
    /// `meet A B`: are they alive at the same time?
    Meet(String, String),
}

impl Default for Judge {
    fn default() -> Self {
        Self::Compare(Measure::Heap)
    }
}

impl fmt::Display for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare(measure) => measure.fmt(f),
            Self::Share(a, b) => write!(f, "share {a} {b}"),
            Self::Meet(a, b) => write!(f, "meet {a} {b}"),
        }
    }
}

impl Judge {
    /// Reads one.
    pub fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [measure] => Measure::read(measure).map(Self::Compare),
            ["share", a, b] => Some(Self::Share(a.to_owned(), b.to_owned())),
            ["meet", a, b] => Some(Self::Meet(a.to_owned(), b.to_owned())),
            _ => None,
        }
    }

    /// Does it need two states?
    pub fn compares(&self) -> bool {
        matches!(self, Self::Compare(_))
    }

    /// What there is to choose from.
    pub fn options(&self) -> &'static [&'static str] {
        match self {
            Self::Compare(_) => &["It becomes smaller", "It stays the same", "It becomes larger"],
            Self::Share(..) => &["They share", "They stand apart"],
            Self::Meet(..) => {
                &["Yes, they are alive at the same time", "No, one is done before the other begins"]
            }
        }
    }

    /// The engine's answer, an index into the options, and why.
    pub fn answer(&self, start: &Start, then: &Seen<'_>) -> Option<(usize, String)> {
        let picture = &then.run.picture;
        match self {
            Self::Compare(measure) => {
                let (before, after) = (start.bytes(*measure), measure.of(picture));
                let answer = match after.cmp(&before) {
                    std::cmp::Ordering::Less => 0,
                    std::cmp::Ordering::Equal => 1,
                    std::cmp::Ordering::Greater => 2,
                };
                let words = match measure {
                    Measure::Heap if answer == 1 => format!("The heap takes {}, as before.", bytes(after)),
                    Measure::Total if answer == 1 => {
                        format!("All allocations together take {}, as before.", bytes(after))
                    }
                    _ => format!(
                        "{} in place of {}: {}.",
                        measure.takes(after),
                        bytes(before),
                        difference(before, after)
                    ),
                };
                Some((answer, words))
            }
            Self::Share(a, b) => {
                let shared = common(picture, a, b)?;
                let words = pair(then, a, b)?;
                Some((usize::from(shared == 0), words))
            }
            Self::Meet(a, b) => {
                let (one, other) = (named(picture, a)?.value, named(picture, b)?.value);
                Some((usize::from(overlap(picture, one, other).is_none()), pair(then, a, b)?))
            }
        }
    }
}

/// How two values get along, in the engine's words.
fn pair(seen: &Seen<'_>, a: &str, b: &str) -> Option<String> {
    let (a, b) = (named(&seen.run.picture, a)?.value, named(&seen.run.picture, b)?.value);
    lessons::pair_words(seen.opened, seen.run, a, b)
}
