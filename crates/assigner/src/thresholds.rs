//! Where, along a live range that is pulled longer, a sharing breaks.

use crate::Assignment;
use analysis::ranges::LiveRanges;
use analysis::sharing::interference_of;
use analysis::{Facts, Interference, LiveRange, Step, ValueId};
use hlo::Module;

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
            if let Some(why) = interference_of(module, facts, (value, pulled), (other, theirs)) {
                out.push(Threshold { step, loses: other, why });
                break;
            }
        }
    }
    match end {
        End::End => out.sort_by_key(|t| (t.step, t.loses)),
        End::Start => out.sort_by_key(|t| (std::cmp::Reverse(t.step), t.loses)),
    }
    out
}
