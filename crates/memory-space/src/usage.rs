//! How full the two memories are, step by step.

use crate::Time;
use crate::allocation::Assignment;
use crate::problem::{BufferIndex, Problem, Space};

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

/// When each buffer has a place in default memory, both ends included: for as long as any allocation of it is there, and all its
/// life if it was not tried or came to nothing. What is fetched before the program begins is there all the time.
pub fn slow_spans(problem: &Problem, assignment: &Assignment) -> Vec<Vec<(Time, Time)>> {
    let mut all: Vec<Vec<(Time, Time)>> = vec![Vec::new(); problem.buffers.len()];
    let mut is_tried = vec![false; problem.buffers.len()];
    for allocation in &assignment.allocations {
        let buffer = allocation.buffer.or_else(|| {
            let found = problem.buffers.iter().position(|b| Some(b.value) == allocation.value)?;
            Some(BufferIndex(found as u32))
        });
        if let Some(buffer) = buffer {
            is_tried[buffer.index()] = true;
            if allocation.space == Space::Default {
                all[buffer.index()].push((allocation.start, allocation.end));
            }
        }
    }
    for (at, buffer) in problem.buffers.iter().enumerate() {
        if !is_tried[at] {
            let values = &buffer.allocation_values;
            let start = values.iter().map(|v| v.definition_time).min().unwrap_or(0);
            let end = values.iter().flat_map(|v| v.uses.iter().map(|u| u.time)).max().unwrap_or(start);
            all[at].push((start, end));
        }
        // Several allocations of one buffer are one place.
        all[at].sort_unstable();
        let mut merged: Vec<(Time, Time)> = Vec::new();
        for (start, end) in all[at].drain(..) {
            match merged.last_mut() {
                Some((_, last)) if start <= *last + 1 => *last = end.max(*last),
                _ => merged.push((start, end)),
            }
        }
        all[at] = merged;
    }
    all
}

/// What an assignment puts where.
pub fn usage(problem: &Problem, assignment: &Assignment) -> Usage {
    let length = problem.instructions.len();
    let mut usage = Usage { slow: vec![0; length], fast: vec![0; length] };
    let add = |bytes: &mut Vec<u64>, start: Time, end: Time, size: u64| {
        for time in start.max(0)..=end.min(length as Time - 1) {
            let at = &mut bytes[time as usize];
            *at = at.saturating_add(size);
        }
    };
    for allocation in assignment.in_alternate() {
        if allocation.slices.is_empty() {
            add(&mut usage.fast, allocation.start, allocation.end, allocation.size);
        }
        for slice in &allocation.slices {
            add(&mut usage.fast, slice.start + 1, allocation.end, slice.size);
        }
    }
    for (buffer, spans) in problem.buffers.iter().zip(slow_spans(problem, assignment)) {
        for (start, end) in spans {
            add(&mut usage.slow, start, end, buffer.size);
        }
    }
    usage
}
