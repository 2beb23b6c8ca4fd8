//! How full the two memories are, step by step.

use crate::allocation::Assignment;
use crate::problem::{Problem, Space};

/// Bytes in use at each time of the schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// In default memory.
    pub slow: Vec<u64>,
    /// In alternate memory.
    pub fast: Vec<u64>,
}

impl Usage {
    /// The most that is in use at once: default memory, alternate memory.
    pub fn peaks(&self) -> (u64, u64) {
        let most = |bytes: &[u64]| bytes.iter().copied().max().unwrap_or(0);
        (most(&self.slow), most(&self.fast))
    }
}

/// What an assignment puts where. A buffer has its place in default memory for as long as any allocation of it is there; one
/// that was not tried, or came to nothing, for all its life.
pub fn usage(problem: &Problem, assignment: &Assignment) -> Usage {
    let length = problem.instructions.len();
    let mut slow: Vec<Vec<(i64, i64)>> = vec![Vec::new(); problem.buffers.len()];
    let mut is_tried = vec![false; problem.buffers.len()];
    let mut usage = Usage { slow: vec![0; length], fast: vec![0; length] };
    let add = |bytes: &mut Vec<u64>, start: i64, end: i64, size: u64| {
        for time in start.max(0)..=end.min(length as i64 - 1) {
            let at = &mut bytes[time as usize];
            *at = at.saturating_add(size);
        }
    };
    for allocation in &assignment.allocations {
        if let Some(buffer) = allocation.buffer {
            is_tried[buffer.index()] = true;
        }
        match (allocation.space, allocation.buffer) {
            (Space::Alternate, _) if allocation.slices.is_empty() => {
                add(&mut usage.fast, allocation.start, allocation.end, allocation.size);
            }
            (Space::Alternate, _) => {
                for slice in &allocation.slices {
                    add(&mut usage.fast, slice.start + 1, allocation.end, slice.size);
                }
            }
            (Space::Default, Some(buffer)) => slow[buffer.index()].push((allocation.start, allocation.end)),
            (Space::Default, None) => add(&mut usage.slow, allocation.start, allocation.end, allocation.size),
        }
    }
    for (at, buffer) in problem.buffers.iter().enumerate() {
        let values = &buffer.allocation_values;
        if !is_tried[at] && !fetched(assignment, buffer.value) {
            let start = values.iter().map(|v| v.definition_time).min().unwrap_or(0);
            let end = values.iter().flat_map(|v| v.uses.iter().map(|u| u.time)).max().unwrap_or(start);
            slow[at].push((start, end));
        }
        // Several allocations of one buffer in default memory are one place.
        slow[at].sort_unstable();
        let mut until = -1;
        for (start, end) in &slow[at] {
            let start = (*start).max(until + 1);
            add(&mut usage.slow, start, *end, buffer.size);
            until = until.max(*end);
        }
    }
    usage
}

/// Whether a value is one of those that are fetched before the program begins, which are listed without their buffer.
fn fetched(assignment: &Assignment, value: crate::problem::ValueId) -> bool {
    assignment.allocations.iter().any(|a| a.buffer.is_none() && a.value == Some(value))
}
