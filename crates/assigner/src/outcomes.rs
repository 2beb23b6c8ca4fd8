//! What the decisions come to: where each buffer ended up, and what was tried on the way.

use crate::{AllocationId, Assignment, Decision, Decisions, NewKind, Refusal};
use analysis::{BufferId, Facts};

/// Where a buffer ended up: the categories of 8.5. Only the last one reaches the packing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Bin {
    /// Step 1a: memory of its own, because it is a constant.
    Constant,
    /// Step 1b: an entry parameter's memory.
    Parameter,
    /// Step 2: memory of a computation that runs per element.
    ThreadLocal,
    /// Step 3a: memory of its own for a tuple's table of pointers.
    Tuple,
    /// Steps 3b and 4: an allocation that was there before.
    Reused,
    /// Step 6: memory of its own, because it is part of the result or has no schedule.
    Own,
    /// Step 5: left to the heap, which is packed when all else is done.
    Heap,
}

impl Bin {
    /// All of them, in the order in which the assigner asks for them.
    pub const ALL: [Self; 7] = [
        Self::Constant,
        Self::Parameter,
        Self::ThreadLocal,
        Self::Tuple,
        Self::Reused,
        Self::Heap,
        Self::Own,
    ];
}

/// Where a buffer ended up, and the decision that put it there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Where.
    pub bin: Bin,
    /// The decision's place in the list.
    pub decision: usize,
}

/// Where each buffer ended up, by buffer id; `None` for those that get no memory (inside fusions) or were placed before
/// (presets).
#[must_use]
pub fn outcomes(facts: &Facts, decisions: &Decisions) -> Vec<Option<Outcome>> {
    let mut out: Vec<Option<Outcome>> = vec![None; facts.buffers().len()];
    for (decision, d) in decisions.iter().enumerate() {
        let (buffer, bin) = match d {
            Decision::New { kind, buffer, .. } => (
                buffer,
                match kind {
                    NewKind::Constant => Bin::Constant,
                    NewKind::Parameter => Bin::Parameter,
                    NewKind::ThreadLocal => Bin::ThreadLocal,
                    NewKind::Tuple => Bin::Tuple,
                    NewKind::Other => Bin::Own,
                },
            ),
            Decision::Reuse { buffer, .. } => (buffer, Bin::Reused),
            Decision::Delay { value } => (facts.value(value).buffer, Bin::Heap),
            _ => continue,
        };
        out[buffer.index()].get_or_insert(Outcome { bin, decision });
    }
    out
}

/// One buffer tried in one allocation (8.5.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// The buffer.
    pub buffer: BufferId,
    /// The allocation, by its number at that moment.
    pub allocation: AllocationId,
    /// Why it was refused; `None` if the buffer went in.
    pub refusal: Option<Refusal>,
    /// The place of the trial in the list of decisions.
    pub decision: usize,
}

/// Everything that was tried, in order.
#[must_use]
pub fn attempts(decisions: &Decisions) -> Vec<Attempt> {
    let mut out: Vec<Attempt> = Vec::new();
    for (decision, d) in decisions.iter().enumerate() {
        match d {
            Decision::Try { buffer, allocation } => {
                out.push(Attempt { buffer, allocation, refusal: None, decision });
            }
            Decision::Refuse { reason, .. } => {
                if let Some(last) = out.last_mut() {
                    last.refusal = Some(reason);
                }
            }
            _ => {}
        }
    }
    out
}

/// The final number of an allocation that a decision names by its number of the moment: temps are merged and all are
/// numbered anew at the end (8.7). `None` if nothing was ever put into it.
#[must_use]
pub fn final_allocation(
    assignment: &Assignment,
    decisions: &Decisions,
    of_the_moment: AllocationId,
) -> Option<AllocationId> {
    decisions.iter().find_map(|d| match d {
        Decision::Place { allocation, value, .. } if allocation == of_the_moment => {
            assignment.place(value).map(|(a, _)| a)
        }
        _ => None,
    })
}
