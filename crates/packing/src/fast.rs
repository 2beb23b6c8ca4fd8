//! The packers that place by start time (FAST_PACKERS 3 and 4).

use sorts::Arrange as _;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::best_fit::{self, GapFinder, commit, round_up, within_limit};
use crate::free_chunks::FreeChunks;
use crate::order;
use crate::timeline::{Group, Tick, Timeline};
use crate::{Heap, Options, PackError};

/// What is free now in one heap, and what will be given back when.
pub(crate) struct Sweep {
    alignment: u64,
    free: FreeChunks,
    /// (time, start, end), earliest first.
    releases: BinaryHeap<Reverse<(Tick, u64, u64)>>,
}

impl Sweep {
    /// A heap of which `[0, reserved)` is taken for ever.
    pub(crate) fn new(alignment: u64, reserved: u64) -> Option<Self> {
        let mut free = FreeChunks::new(alignment);
        free.allocate(0, reserved).then(|| Self { alignment, free, releases: BinaryHeap::new() })
    }

    /// Gives back what has ended at or before the group's start.
    pub(crate) fn advance(&mut self, group: &Group) {
        while let Some(&Reverse((time, start, end))) = self.releases.peek()
            && time <= group.hull.start
        {
            self.releases.pop();
            self.free.deallocate(start, end);
        }
    }

    pub(crate) fn free_chunks(&self) -> &FreeChunks {
        &self.free
    }

    /// The start of the free chunk, not rounded, and the offset at which the group would stand in it.
    pub(crate) fn find(&self, group: &Group) -> Option<(u64, u64)> {
        let (start, _) = self.free.find(group.size)?;
        Some((start, round_up(start, self.alignment)))
    }

    /// Takes the chunk from `start` on, with the padding before the offset: it returns with the group's place.
    pub(crate) fn occupy(&mut self, group: &Group, start: u64, offset: u64) -> bool {
        let end = offset + group.size;
        self.releases.push(Reverse((group.hull.end, start, end)));
        self.free.allocate(start, end)
    }
}

/// Places every group at its start, heap after heap (FAST_PACKERS 3).
pub(crate) fn merge(timeline: &Timeline, options: &Options) -> Result<Vec<Heap>, PackError> {
    let mut order = order::by_start(timeline);
    let mut heaps = Vec::new();
    loop {
        let mut heap = Heap::default();
        fill(timeline, &mut heap, &mut order, options, 0)?;
        heaps.push(heap);
        if order.is_empty() {
            return Ok(heaps);
        }
    }
}

/// The groups that [`split`] places by best fit, in spatial order, and those it places by start time.
pub(crate) fn split_lists(timeline: &Timeline, options: &Options) -> (Vec<u32>, Vec<u32>) {
    let mut single_count = 0;
    let (slow, mut fast): (Vec<u32>, Vec<u32>) = order::spatial(timeline).into_iter().partition(|&at| {
        let is_single = timeline.groups[at as usize].is_single();
        if is_single && single_count >= options.split_threshold {
            return false;
        }
        single_count += usize::from(is_single);
        true
    });
    fast.arrange_unstable(); // positions are in order of start
    (slow, fast)
}

/// Best fit for the largest and the grouped, the rest above them by start time (FAST_PACKERS 4).
pub(crate) fn split(
    timeline: &Timeline,
    options: &Options,
    finder: &mut impl GapFinder,
) -> Result<Vec<Heap>, PackError> {
    let (mut slow, mut fast) = split_lists(timeline, options);
    let mut heaps = Vec::new();
    loop {
        let mut heap = Heap::default();
        best_fit::fill(timeline, &mut heap, &mut slow, options, finder)?;
        let reserved = heap.size;
        fill(timeline, &mut heap, &mut fast, options, reserved)?;
        heaps.push(heap);
        if slow.is_empty() && fast.is_empty() {
            return Ok(heaps);
        }
    }
}

/// Places what it can of `order`, which is in order of start, into one heap; the rest stays in `order`.
fn fill(
    timeline: &Timeline,
    heap: &mut Heap,
    order: &mut Vec<u32>,
    options: &Options,
    reserved: u64,
) -> Result<(), PackError> {
    let Some(&first) = order.first() else { return Ok(()) };
    let no_place = |group: &Group| PackError::NoPlace { buffer: group.root, size: group.size };
    let mut sweep =
        Sweep::new(options.alignment, reserved).ok_or_else(|| no_place(&timeline.groups[first as usize]))?;
    let mut leftover = Vec::new();
    for &at in order.iter() {
        let group = &timeline.groups[at as usize];
        // Above the limit wherever it is; see `best_fit::fill`.
        if !within_limit(heap, group, 0, options) {
            leftover.push(at);
            continue;
        }
        sweep.advance(group);
        let (start, offset) = sweep.find(group).ok_or_else(|| no_place(group))?;
        if !within_limit(heap, group, offset, options) {
            leftover.push(at);
            continue;
        }
        if !sweep.occupy(group, start, offset) {
            return Err(no_place(group));
        }
        commit(heap, timeline, group, offset);
    }
    *order = leftover;
    Ok(())
}
