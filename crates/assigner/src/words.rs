//! English sentences about an assignment, each made from the evidence in a [`Decision`], a [`Refusal`] or an
//! [`Interference`], or from two [`Assignment`]s side by side.
//!
//! Sizes are exact bytes, with thousands apart; where a size is long, its binary multiple stands beside it.

mod explain;

pub use explain::{explanation, link_words, place_words};

use crate::{Assignment, Decision, NewKind, Refusal};
use analysis::ranges::LiveRanges;
use analysis::sharing::{Clause, Interference, Overlap, Touching, interference};
use analysis::{Facts, Step, ValueId};
use hlo::{Module, Opcode};
use sorts::Arrange as _;
use std::fmt::Write as _;

/// A number with its thousands apart: `25,028`.
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Exact bytes: `25,028 B`.
#[must_use]
pub fn bytes(n: u64) -> String {
    format!("{} B", grouped(n))
}

/// The binary multiple, one digit behind the point: `24.4 KiB`; plain bytes below 1,024.
#[must_use]
pub fn binary(n: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n < 1024 {
        return bytes(n);
    }
    let mut unit = 0;
    let mut divisor: u128 = 1024;
    // Where one digit would round up to 1024 of a unit, the next unit is meant.
    while u128::from(n) * 20 >= divisor * (1024 * 20 - 1) && unit + 1 < UNITS.len() {
        unit += 1;
        divisor *= 1024;
    }
    let tenths = (u128::from(n) * 10 + divisor / 2) / divisor;
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Exact bytes and their binary multiple: `25,028 B (24.4 KiB)`.
#[must_use]
pub fn both(n: u64) -> String {
    if n < 1024 { bytes(n) } else { format!("{} ({})", bytes(n), binary(n)) }
}

/// `1 copy`, `2,048 copies`.
#[must_use]
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// From one size to another: `+1,148 B (+4.6 %)`, `−64 B (−0.2 %)`, `±0 B`, and from ten times as much on `+40,956 B (×40)`.
#[must_use]
pub fn difference(before: u64, after: u64) -> String {
    if before == after {
        return "±0 B".to_owned();
    }
    let sign = if after > before { '+' } else { '−' };
    let by = after.abs_diff(before);
    if before == 0 {
        return format!("{sign}{}", bytes(by));
    }
    // Beyond ten times as much, how many times says more.
    if after / before >= 10 {
        return format!("{sign}{} (×{})", bytes(by), grouped(after / before));
    }
    let tenths = (u128::from(by) * 1000 + u128::from(before) / 2) / u128::from(before);
    if tenths == 0 {
        format!("{sign}{} ({sign}<0.1 %)", bytes(by))
    } else {
        format!("{sign}{} ({sign}{}.{} %)", bytes(by), tenths / 10, tenths % 10)
    }
}

/// `a`, `a and b`, `a, b and c`, `a, b and 5 more`.
#[must_use]
pub fn list(names: &[String], most: usize) -> String {
    let shown = names.len().min(if names.len() <= most + 1 { most + 1 } else { most });
    let mut out = String::new();
    for (i, name) in names[..shown].iter().enumerate() {
        let last = i + 1 == names.len();
        out.push_str(match i {
            0 => "",
            _ if last => " and ",
            _ => ", ",
        });
        out.push_str(name);
    }
    if shown < names.len() {
        _ = write!(out, " and {} more", names.len() - shown);
    }
    out
}

fn steps(o: Overlap) -> String {
    if o.from == o.to {
        format!("at step {}", o.from)
    } else {
        format!("from step {} to step {}", o.from, o.to)
    }
}

/// `a sort`, `an add`.
fn an(opcode: &str) -> String {
    let vowel = opcode.starts_with(['a', 'e', 'i', 'o']);
    format!("{} {opcode}", if vowel { "an" } else { "a" })
}

/// Why two values may not share: a sentence without its full stop.
#[must_use]
pub fn interference_words(
    module: &Module,
    facts: &Facts,
    a: ValueId,
    b: ValueId,
    why: &Interference,
) -> String {
    let name = |v| facts.label(module, v);
    match *why {
        Interference::Overlap(overlap) => {
            format!("{} and {} are both alive {}", name(a), name(b), steps(overlap))
        }
        Interference::Touch { ends, starts, at, why } => {
            let user = module.instruction(facts.defining(starts));
            let opcode = module.str(user.opcode_name);
            let reason = match why {
                Touching::Copy => "a copy must not stand where its source stands".to_owned(),
                Touching::NotAnOperand => explain::not_an_operand(module, facts, ends, starts),
                Touching::Clause(clause) => clause_words(clause, opcode, &name(ends)),
                Touching::NotAlone => {
                    "a place is handed over only between values that have a buffer of their own".to_owned()
                }
            };
            format!(
                "{} is wanted until step {at}, the very step that writes {}; closed ranges that touch do overlap, and {reason}",
                name(ends),
                name(starts)
            )
        }
        Interference::MayInterfere => {
            format!("nothing says that {} or {} is done before the other starts", name(a), name(b))
        }
    }
}

/// Why the operation cannot work in place: a clause without its full stop.
#[must_use]
pub fn clause_words(clause: Clause, opcode: &str, operand: &str) -> String {
    match clause {
        Clause::MatmulWorkspace => "a matrix multiplication's work space takes nobody's place".to_owned(),
        Clause::ConstantOperand => format!("{operand} is a constant, which nothing may write over"),
        Clause::InPlace => format!("{} does not write this operand in place", an(opcode)),
        Clause::BackendHint => format!("the backend does not let {} work in place", an(opcode)),
        Clause::ShapesDiffer => format!("{} whose result has another shape cannot work in place", an(opcode)),
        Clause::LoopFusion => {
            format!(
                "this fusion reads {operand} in an order of its own, not element by element, so it cannot work in place"
            )
        }
        Clause::OutputFusion => format!(
            "in this fusion only the addend of the product could be written over, and {operand} is not it"
        ),
        Clause::ControlFlow => format!("{} does not take over this operand", an(opcode)),
        Clause::Update => format!("{} writes in place only into the operand it updates", an(opcode)),
        Clause::Sort => format!(
            "{} sorts in place only an operand that nobody else reads, into the result of the same number",
            an(opcode)
        ),
        Clause::Call => {
            "the called computation does not end in an element-by-element operation on it".to_owned()
        }
        Clause::Elementwise => {
            // Others may: "a fusion does not" would be read as a rule about all of them.
            let who = if opcode == "fusion" { "this fusion".to_owned() } else { an(opcode) };
            format!("{who} does not work element by element on {operand}, so it cannot work in place")
        }
    }
}

/// Why a buffer may not go into an allocation: a sentence without its full stop.
#[must_use]
pub fn refusal(module: &Module, facts: &Facts, reason: &Refusal) -> String {
    let name = |v| facts.label(module, v);
    match reason {
        Refusal::Color { buffer, allocation } => {
            format!("it belongs in memory space {buffer}, and the allocation is in memory space {allocation}")
        }
        Refusal::TooBig { buffer, allocation } => {
            format!("its {} do not go into {}", bytes(*buffer), bytes(*allocation))
        }
        Refusal::ReadOnly => {
            "nothing may be written there: it is a constant, or a parameter that was not donated".to_owned()
        }
        Refusal::NewMustNotLiveOut(v) => {
            format!("{} must not be part of the result, and the allocation may be", name(*v))
        }
        Refusal::OldMustNotLiveOut(v) => {
            format!("it is part of the result, and {}, which is there already, must not be", name(*v))
        }
        Refusal::NotReusable => {
            "a tuple's table, or memory of a computation that runs per element, is never shared".to_owned()
        }
        Refusal::Interference { old, new, why } => interference_words(module, facts, *new, *old, why),
        Refusal::CopyOfItself { old, new } => {
            format!(
                "{} is a copy of {}, and a copy must not stand where its source stands",
                name(*new),
                name(*old)
            )
        }
        Refusal::LiveOutSize { buffer, allocation } => format!(
            "it is part of the result, and its {} do not fill the {} exactly",
            bytes(*buffer),
            bytes(*allocation)
        ),
    }
}

/// A decision: a sentence without its full stop.
#[must_use]
pub fn decision(module: &Module, facts: &Facts, decision: &Decision) -> String {
    let name = |v| facts.label(module, v);
    let first = |b: analysis::BufferId| {
        facts.buffer(b).values.first().map_or_else(|| format!("buffer {b}"), |v| name(*v))
    };
    match decision {
        Decision::Assign { buffer } => {
            format!("{}'s turn, {}", first(*buffer), bytes(facts.buffer(*buffer).size))
        }
        Decision::Try { buffer, allocation } => {
            format!("does {} go into allocation {}?", first(*buffer), allocation.0)
        }
        Decision::Refuse { buffer, allocation, reason } => format!(
            "{} does not go into allocation {}: {}",
            first(*buffer),
            allocation.0,
            refusal(module, facts, reason)
        ),
        Decision::New { kind, allocation, buffer } => {
            let why = match kind {
                NewKind::Constant => "it is a constant",
                NewKind::Parameter => "it is a parameter",
                NewKind::ThreadLocal => "its computation runs per element",
                NewKind::Tuple => "it is a tuple's table",
                NewKind::Other => "nothing could take it",
            };
            format!("{} gets allocation {} of its own: {why}", first(*buffer), allocation.0)
        }
        Decision::Reuse { operand: true, allocation, buffer } => {
            format!("{} goes into allocation {}, where its operand stands", first(*buffer), allocation.0)
        }
        Decision::Reuse { operand: false, allocation, buffer } => {
            format!("{} goes into allocation {}", first(*buffer), allocation.0)
        }
        Decision::Delay { value } => format!("{} is left to the heap", name(*value)),
        Decision::Place { allocation, size, offset, value } => format!(
            "{} gets {} at {} of allocation {}",
            name(*value),
            bytes(*size),
            grouped(*offset),
            allocation.0
        ),
        Decision::Simulate { color } => format!("the heap of memory space {color} is packed"),
        Decision::Heap { size } => format!("the heap takes {}", both(*size)),
        Decision::Absorb { into, temp, base } => format!(
            "allocation {} becomes part of allocation {}, from byte {} on",
            temp.0,
            into.0,
            grouped(*base)
        ),
    }
}

/// Do both stand on a byte in common?
fn share_address(assignment: &Assignment, a: ValueId, b: ValueId) -> bool {
    let (Some((in_a, at_a)), Some((in_b, at_b))) = (assignment.place(a), assignment.place(b)) else {
        return false;
    };
    in_a == in_b && at_a.offset < at_b.offset + at_b.size && at_b.offset < at_a.offset + at_a.size
}

/// Two values that shared an address and no longer can.
#[derive(Clone, PartialEq, Debug)]
pub struct Broken {
    /// The value that was edited.
    pub value: ValueId,
    /// The one it shared with.
    pub with: ValueId,
    /// The step at which it went wrong: the first that both now want.
    pub at: Step,
    /// The refusal, as evidence.
    pub why: Interference,
    /// The refusal in words, without a full stop.
    pub words: String,
}

/// What an edit of ranges did to an assignment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Change {
    /// Bytes of temporaries before.
    pub before: u64,
    /// Bytes of temporaries after.
    pub after: u64,
    /// Sharings that broke, the earliest first.
    pub broken: Vec<Broken>,
    /// Values that stand elsewhere now, by id.
    pub moved: Vec<ValueId>,
}

/// Compares two assignments of one module, the second one made for ranges of which those of `edited` were set by hand.
#[must_use]
pub fn change(
    module: &Module,
    facts: &Facts,
    before: &Assignment,
    (ranges, after): (&LiveRanges, &Assignment),
    edited: &[ValueId],
) -> Change {
    let mut broken = Vec::new();
    for &value in edited {
        let Some(buffer) = facts.find_value(value).map(|v| v.buffer) else { continue };
        for other in facts.values().filter(|o| o.buffer != buffer) {
            if !share_address(before, value, other.id) {
                continue;
            }
            if let Some(why) = interference(module, facts, ranges, value, other.id) {
                let at = match why {
                    Interference::Overlap(overlap) => overlap.from,
                    Interference::Touch { at, .. } => at,
                    Interference::MayInterfere => Step(0),
                };
                let words = interference_words(module, facts, value, other.id, &why);
                broken.push(Broken { value, with: other.id, at, why, words });
            }
        }
    }
    broken.arrange_by_key(|b| (b.at, b.value, b.with));
    let moved = facts
        .values()
        .map(|v| v.id)
        .filter(|v| match (before.place(*v), after.place(*v)) {
            (Some((a, old)), Some((b, new))) => {
                old.offset != new.offset || kind(before, a.index()) != kind(after, b.index())
            }
            (old, new) => old.is_some() != new.is_some(),
        })
        .collect();
    Change { before: before.temp_bytes(), after: after.temp_bytes(), broken, moved }
}

/// What tells an allocation from others when numbers may have changed.
fn kind(assignment: &Assignment, index: usize) -> (bool, bool, bool, bool) {
    let a = &assignment.allocations[index];
    (a.is_preallocated_temp(), a.parameter.is_some(), a.maybe_live_out, a.is_constant)
}

impl Change {
    /// What became of the size of all temporaries: `The temporaries now need 26,116 B: +1,088 B (+4.3 %).`
    #[must_use]
    pub fn size_words(&self) -> String {
        if self.after == self.before {
            format!("The temporaries still need {}.", bytes(self.after))
        } else {
            format!(
                "The temporaries now need {}: {}.",
                bytes(self.after),
                difference(self.before, self.after)
            )
        }
    }

    /// Which sharing broke, at which step and why.
    #[must_use]
    pub fn sharing_words(&self, module: &Module, facts: &Facts) -> String {
        let name = |v| facts.label(module, v);
        let Some(first) = self.broken.first() else {
            let kept = if self.moved.is_empty() { "Nothing moved: every" } else { "Every" };
            return format!("{kept} sharing can still hold.");
        };
        let mut out =
            format!("{} no longer shares with {}: {}.", name(first.value), name(first.with), first.words);
        let rest: Vec<String> = self.broken[1..].iter().map(|b| name(b.with)).collect();
        if !rest.is_empty() {
            _ = write!(out, " Nor does it with {}.", list(&rest, 3));
        }
        out
    }

    /// Both.
    #[must_use]
    pub fn sentence(&self, module: &Module, facts: &Facts) -> String {
        format!("{} {}", self.size_words(), self.sharing_words(module, facts))
    }
}

/// Where a value came from, in three or four words: `the result of sort`, `a parameter`.
#[must_use]
pub fn origin(module: &Module, facts: &Facts, value: ValueId) -> String {
    let instruction = module.instruction(facts.defining(value));
    match instruction.opcode {
        Opcode::Parameter => "a parameter".to_owned(),
        Opcode::Constant => "a constant".to_owned(),
        _ => format!("the result of {}", an(module.str(instruction.opcode_name))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(
            [0, 999, 1000, 25028, 1_234_567].map(grouped),
            ["0", "999", "1,000", "25,028", "1,234,567"]
        );
        assert_eq!(
            [1023, 1024, 25028, 1_048_575, 1 << 20, u64::MAX].map(binary),
            ["1,023 B", "1.0 KiB", "24.4 KiB", "1.0 MiB", "1.0 MiB", "16.0 EiB"]
        );
        assert_eq!(both(25028), "25,028 B (24.4 KiB)");
    }

    #[test]
    fn differences() {
        assert_eq!(difference(25028, 26176), "+1,148 B (+4.6 %)");
        assert_eq!(difference(1000, 936), "−64 B (−6.4 %)");
        assert_eq!(difference(1_000_000, 1_000_004), "+4 B (+<0.1 %)");
        assert_eq!((difference(5, 5).as_str(), difference(0, 64).as_str()), ("±0 B", "+64 B"));
    }

    #[test]
    fn lists() {
        let names: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
        assert_eq!(list(&names[..1], 2), "a");
        assert_eq!(list(&names[..2], 2), "a and b");
        assert_eq!(list(&names[..3], 2), "a, b and c");
        assert_eq!(list(&names, 2), "a, b and 3 more");
    }

    /// `a` is read for the last time where `c` is written; `c` is the result of a transposition, so it cannot work in
    /// place, and of an addition in `d`, which can.
    const SMALL: &str = "\
HloModule small, is_scheduled=true

ENTRY main {
  p = f32[8,8]{1,0} parameter(0)
  a = f32[8,8]{1,0} add(p, p)
  c = f32[8,8]{1,0} transpose(a), dimensions={1,0}
  d = f32[8,8]{1,0} add(c, c)
  e = f32[8,8]{1,0} copy(d)
  ROOT f = f32[8,8]{1,0} transpose(e), dimensions={1,0}
}
";

    fn check(a: &str, b: &str, expected: &str) {
        let module = hlo::read(SMALL).module.expect("a module");
        let target = analysis::Target::detect(&module);
        let orders = analysis::Orders::guess(&module, &target);
        let facts = Facts::new(&module, orders, target).expect("facts");
        let find = |name: &str| {
            facts
                .values()
                .map(|v| v.id)
                .find(|v| facts.label(&module, *v) == name)
                .expect("a value of that name")
        };
        let (a, b) = (find(a), find(b));
        let said = interference(&module, &facts, &facts.ranges, a, b)
            .map_or("they may share".to_owned(), |why| interference_words(&module, &facts, a, b, &why));
        assert_eq!(said, expected);
    }

    #[test]
    fn refusals_in_words() {
        check("a", "d", "they may share");
        check("c", "d", "they may share");
        check("p", "c", "p and c are both alive from step 2 to step 3");
        check(
            "a",
            "c",
            "a is wanted until step 2, the very step that writes c; closed ranges that touch do overlap, and \
             a transpose does not work element by element on a, so it cannot work in place",
        );
        check(
            "d",
            "e",
            "d is wanted until step 4, the very step that writes e; closed ranges that touch do overlap, and \
             a copy must not stand where its source stands",
        );
    }
}
