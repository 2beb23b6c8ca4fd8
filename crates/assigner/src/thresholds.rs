//! Where, along a live range that is pulled longer, a sharing breaks.

use crate::Assignment;
use crate::heap::hands_over;
use analysis::ranges::LiveRanges;
use analysis::sharing::{Touching, interference_of, may_write_over};
use analysis::{Facts, Interference, LiveRange, Step, ValueId};
use hlo::Module;
use sorts::Arrange as _;

/// One end of a live range.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum End {
    /// Where it is written.
    Start,
    /// Where it is read last.
    End,
}

/// The first step at which two values that share bytes now cannot share them any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threshold {
    /// Put the end here, or beyond, and the sharing is over.
    pub step: Step,
    /// The value that is lost.
    pub loses: ValueId,
    /// How the ranges meet there.
    pub why: Interference,
}

/// Values that stand on some of the bytes of `value` now, without having to.
#[must_use]
pub fn sharers(facts: &Facts, assignment: &Assignment, value: ValueId) -> Vec<ValueId> {
    let Some((allocation, mine)) = assignment.place(value) else { return Vec::new() };
    let buffer = facts.value(value).buffer;
    let others = assignment.allocation(allocation).values.iter();
    others
        .filter(|p| p.offset < mine.offset + mine.size && mine.offset < p.offset + p.size)
        .filter(|p| facts.value(p.value).buffer != buffer)
        .map(|p| p.value)
        .collect()
}

/// All thresholds of one end of `value`, the nearest first: for each value that shares bytes with it in `assignment`,
/// the first step at which pulling that end makes the two interfere (5), all other ranges as they are.
#[must_use]
pub fn thresholds(
    module: &Module,
    facts: &Facts,
    ranges: &LiveRanges,
    assignment: &Assignment,
    value: ValueId,
    end: End,
) -> Vec<Threshold> {
    let Some(range) = ranges.get(value) else { return Vec::new() };
    let mut out = Vec::new();
    for other in sharers(facts, assignment, value) {
        let Some(theirs) = ranges.get(other) else { continue };
        // Ranges that touch may still share if the later one is written in place; a step further they overlap.
        let steps: [Option<Step>; 2] = match end {
            End::End if theirs.start >= range.end => {
                [Some(theirs.start), Some(Step(theirs.start.0 + 1)).filter(|s| *s <= ranges.end())]
            }
            End::Start if theirs.end <= range.start => {
                [Some(theirs.end), theirs.end.0.checked_sub(1).map(Step)]
            }
            _ => [None, None],
        };
        for step in steps.into_iter().flatten() {
            let pulled = match end {
                End::End => LiveRange { end: step, ..range },
                End::Start => LiveRange { start: step, ..range },
            };
            let met = if in_heap(assignment, value) && in_heap(assignment, other) {
                in_heap_interference(module, facts, (value, pulled), (other, theirs))
            } else {
                interference_of(module, facts, (value, pulled), (other, theirs))
            };
            if let Some(why) = met {
                out.push(Threshold { step, loses: other, why });
                break;
            }
        }
    }
    match end {
        End::End => out.arrange_by_key(|t| (t.step, t.loses)),
        End::Start => out.arrange_by_key(|t| (std::cmp::Reverse(t.step), t.loses)),
    }
    out
}

/// Did the heap place it?
fn in_heap(assignment: &Assignment, value: ValueId) -> bool {
    assignment.heaps.iter().any(|run| run.packing.find(packing::BufferKey(value.0)).is_some())
}

/// The same question for two values of the heap: where ranges touch its own clock decides, which lets a place change hands
/// only as [`hands_over`] says (10.1).
fn in_heap_interference(
    module: &Module,
    facts: &Facts,
    (a, range_a): (ValueId, LiveRange),
    (b, range_b): (ValueId, LiveRange),
) -> Option<Interference> {
    let (ends, last, starts) = if range_a.end == range_b.start {
        (a, range_a, b)
    } else if range_b.end == range_a.start {
        (b, range_b, a)
    } else {
        return interference_of(module, facts, (a, range_a), (b, range_b));
    };
    if hands_over(module, facts, ends, starts) {
        return None;
    }
    let why = may_write_over(module, facts, last.end_position, starts).err().unwrap_or(Touching::NotAlone);
    Some(Interference::Touch { ends, starts, at: last.end, why })
}
