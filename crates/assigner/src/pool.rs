//! Which allocations are offered to a buffer before it goes to the heap (8.5 step 4).

use crate::AllocationId;
use analysis::{Color, Step};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// What CPU and GPU do, and what TPU does.
pub(crate) enum Reuse {
    /// Every allocation made so far, tried from the last one back.
    List(Vec<AllocationId>),
    /// Only allocations that are free by now, the smallest that is large enough first.
    Pool(FreePool),
}

/// Whole allocations that come free as the sweep goes on (GPU and TPU supplement, 8.4 step 3).
#[derive(Default)]
pub(crate) struct FreePool {
    active: BinaryHeap<Reverse<(Step, AllocationId)>>,
    free: BTreeMap<Color, BTreeSet<(u64, AllocationId)>>,
}

impl FreePool {
    /// An allocation is taken until `end`.
    pub(crate) fn begin(&mut self, allocation: AllocationId, end: Step) {
        self.active.push(Reverse((end, allocation)));
    }

    /// The sweep has come to `now`: what ended by then is free.
    pub(crate) fn advance(&mut self, now: Step, kind: impl Fn(AllocationId) -> (Color, u64)) {
        while let Some(&Reverse((end, allocation))) = self.active.peek() {
            if end > now {
                break;
            }
            self.active.pop();
            let (color, size) = kind(allocation);
            self.free.entry(color).or_default().insert((size, allocation));
        }
    }

    /// Free allocations of at least `size` bytes, the smallest first.
    pub(crate) fn candidates(&self, color: Color, size: u64) -> Vec<AllocationId> {
        let free = self.free.get(&color);
        free.into_iter().flat_map(|f| f.range((size, AllocationId(0))..)).map(|(_, a)| *a).collect()
    }

    /// An allocation is free no more.
    pub(crate) fn take(&mut self, color: Color, size: u64, allocation: AllocationId) {
        if let Some(free) = self.free.get_mut(&color) {
            free.remove(&(size, allocation));
        }
    }
}
