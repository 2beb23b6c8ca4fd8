//! The free chunks of one heap at one moment (FAST_PACKERS 2).

use std::collections::{BTreeMap, BTreeSet};

use crate::best_fit::round_up;

/// The free chunks of a heap: disjoint, never adjacent, found by offset and by size.
///
/// Sizes are compared as they are after the start has been rounded up to the alignment.
#[derive(Clone, Debug)]
pub struct FreeChunks {
    alignment: u64,
    /// Offset to end.
    by_offset: BTreeMap<u64, u64>,
    /// (size after rounding the offset up, offset). The size is negative if the chunk has no aligned byte.
    by_size: BTreeSet<(i64, u64)>,
}

impl FreeChunks {
    /// The end of the one chunk that is free at first.
    pub const END: u64 = i64::MAX as u64 - 3;

    /// Everything is free. An alignment of 0 counts as 1.
    pub fn new(alignment: u64) -> Self {
        let (by_offset, by_size) = (BTreeMap::new(), BTreeSet::new());
        let mut chunks = Self { alignment: alignment.max(1), by_offset, by_size };
        chunks.insert(0, Self::END);
        chunks
    }

    fn sort_key(&self, offset: u64, end: u64) -> (i64, u64) {
        // What is above `i64` is above `END` too: such a chunk has no aligned byte.
        let signed = |position: u64| i64::try_from(position).unwrap_or(i64::MAX);
        (signed(end) - signed(round_up(offset, self.alignment)), offset)
    }

    fn insert(&mut self, offset: u64, end: u64) {
        if offset < end {
            self.by_offset.insert(offset, end);
            self.by_size.insert(self.sort_key(offset, end));
        }
    }

    fn remove(&mut self, offset: u64, end: u64) {
        self.by_offset.remove(&offset);
        self.by_size.remove(&self.sort_key(offset, end));
    }

    /// Takes `[start, end)` out of the free chunk in which it lies. `false`, and nothing happens, if it does not lie in
    /// one. An empty range at 0 is always granted.
    #[must_use]
    pub fn allocate(&mut self, start: u64, end: u64) -> bool {
        if start == 0 && end == 0 {
            return true;
        }
        let Some((&chunk_start, &chunk_end)) = self.by_offset.range(..=start).next_back() else {
            return false;
        };
        if start > end || end > chunk_end {
            return false;
        }
        self.remove(chunk_start, chunk_end);
        self.insert(end, chunk_end);
        self.insert(chunk_start, start);
        true
    }

    /// Gives `[start, end)` back and merges it with the free chunks that touch it. An empty range changes nothing.
    pub fn deallocate(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let mut merged = (start, end);
        if let Some(&above_end) = self.by_offset.get(&end) {
            self.remove(end, above_end);
            merged.1 = above_end;
        }
        if let Some((&below_start, &below_end)) = self.by_offset.range(..=start).next_back()
            && below_end >= start
        {
            self.remove(below_start, below_end);
            merged = (below_start, merged.1.max(below_end));
        }
        self.insert(merged.0, merged.1);
    }

    /// The smallest chunk `(start, end)` that holds `size` bytes from its first aligned byte on; the lowest of several.
    pub fn find(&self, size: u64) -> Option<(u64, u64)> {
        let size = i64::try_from(size).ok()?;
        let (_, offset) = self.by_size.range((size, 0)..).next()?;
        self.by_offset.get(offset).map(|end| (*offset, *end))
    }

    /// All free chunks `(start, end)` in order of offset.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.by_offset.iter().map(|(start, end)| (*start, *end))
    }
}
