//! Best fit in the words of the rule (BUFFER_ASSIGNMENT 10.4, FAST_PACKERS 1.9). Every search looks at everything that
//! has been placed. The oracle for [`crate::occupancy`], and what a reader is shown step by step.

use crate::best_fit::{GapFinder, SPACE_END, round_up};
use crate::timeline::{Group, Run, Timeline};

/// The rule as it is written.
pub(crate) struct Plain<'t> {
    timeline: &'t Timeline,
    pub(crate) alignment: u64,
    /// Group and offset of all that stands in the heap.
    pub(crate) placed: Vec<(u32, u64)>,
}

impl<'t> Plain<'t> {
    pub(crate) fn new(timeline: &'t Timeline, alignment: u64) -> Self {
        Self { timeline, alignment, placed: Vec::new() }
    }

    /// All gaps `[start, end)` that are free whenever the group lives, in order of offset.
    pub(crate) fn gaps(&self, group: &Group) -> Vec<(u64, u64)> {
        let mut occupied: Vec<(u64, u64)> = self
            .placed
            .iter()
            .map(|(at, offset)| (&self.timeline.groups[*at as usize], *offset))
            .filter(|(other, _)| overlap(self.timeline.runs(other), self.timeline.runs(group)))
            .map(|(other, offset)| (offset, offset + other.size))
            .collect();
        occupied.sort_unstable();
        let mut gaps = Vec::new();
        let mut free = 0;
        for (start, end) in occupied {
            if start > free {
                gaps.push((free, start));
            }
            free = free.max(round_up(end, self.alignment));
        }
        if free < SPACE_END {
            gaps.push((free, SPACE_END));
        }
        gaps
    }
}

/// Whether two sorted lists of closed ranges have a tick in common.
pub(crate) fn overlap(a: &[Run], b: &[Run]) -> bool {
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        if x.end < y.start {
            i += 1;
        } else if y.end < x.start {
            j += 1;
        } else {
            return true;
        }
    }
    false
}

impl GapFinder for Plain<'_> {
    fn begin_heap(&mut self, _: &[u32]) {
        self.placed.clear();
    }

    fn find(&mut self, group: u32) -> Option<u64> {
        let group = &self.timeline.groups[group as usize];
        self.gaps(group)
            .into_iter()
            .filter(|(start, end)| end - start >= group.size)
            .min_by_key(|(start, end)| (end - start, *start))
            .map(|(start, _)| start)
    }

    fn occupy(&mut self, group: u32, offset: u64) {
        self.placed.push((group, offset));
    }

    fn advance(&mut self, _: usize) {}
}
