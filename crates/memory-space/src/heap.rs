//! Alternate memory as a heap: best fit in space over intervals of time (MEMORY_SPACE 4).

use crate::Time;
use crate::interval::IntervalMap;

/// The end of the address space: the last free gap runs to here.
pub(crate) const SPACE_END: u64 = i64::MAX as u64;

/// `[offset, offset + size)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl Chunk {
    pub(crate) fn end(self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

/// `offset` rounded up to a multiple of `alignment`.
pub(crate) fn round_up(offset: u64, alignment: u64) -> u64 {
    offset.checked_next_multiple_of(alignment.max(1)).unwrap_or(u64::MAX)
}

/// A free range of addresses, `[start, end)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Gap {
    pub(crate) fn size(self) -> u64 {
        self.end - self.start
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Heap {
    chunks: IntervalMap<Chunk>,
    pub(crate) alignment: u64,
    /// Bytes in use at each time.
    peak: Vec<u64>,
}

impl Heap {
    /// A heap for times `0..=horizon`.
    pub(crate) fn new(horizon: Time, alignment: u64) -> Self {
        let length = usize::try_from(horizon.max(0)).unwrap_or(0) + 1;
        Self { chunks: IntervalMap::new(horizon), alignment: alignment.max(1), peak: vec![0; length] }
    }

    fn range(&self, start: Time, end: Time) -> std::ops::Range<usize> {
        let length = self.peak.len();
        let begin = usize::try_from(start.max(0)).unwrap_or(0).min(length);
        let end = usize::try_from(end.saturating_add(1).max(0)).unwrap_or(0).min(length);
        begin..end.max(begin)
    }

    pub(crate) fn used_at(&self, time: Time) -> u64 {
        usize::try_from(time).ok().and_then(|t| self.peak.get(t)).copied().unwrap_or(0)
    }

    pub(crate) fn commit(&mut self, start: Time, end: Time, chunk: Chunk) {
        self.chunks.insert(start, end, chunk);
        let range = self.range(start, end);
        self.peak[range].iter_mut().for_each(|used| *used = used.saturating_add(chunk.size));
    }

    pub(crate) fn uncommit(&mut self, start: Time, end: Time, chunk: Chunk) {
        self.chunks.remove(start, end, chunk);
        let range = self.range(start, end);
        self.peak[range].iter_mut().for_each(|used| *used = used.saturating_sub(chunk.size));
    }

    /// Empties the tree of chunks but not the curve of usage: a repack moves chunks in space only (22).
    pub(crate) fn forget_chunks(&mut self) {
        self.chunks.clear();
    }

    /// Puts a chunk back after a repack.
    pub(crate) fn restore_chunk(&mut self, start: Time, end: Time, chunk: Chunk) {
        self.chunks.insert(start, end, chunk);
    }

    /// What is free during all of the intervals, from low to high, for something of `size` bytes (4.2, step 2).
    pub(crate) fn gaps(&self, intervals: &[(Time, Time)], size: u64) -> Vec<Gap> {
        let mut used: Vec<Chunk> = Vec::new();
        for (start, end) in intervals {
            self.chunks.overlapping(*start, *end, |_, _, chunk| {
                used.push(chunk);
                true
            });
        }
        used.sort_unstable_by_key(|chunk| (chunk.offset, chunk.size));
        let mut gaps = Vec::new();
        let mut start = 0;
        let mut used_end = 0;
        for chunk in used {
            // Ranges that touch are kept apart, but nothing fits between them either way.
            if chunk.offset > start && chunk.offset - start >= size {
                gaps.push(Gap { start, end: chunk.offset });
            }
            used_end = chunk.end().max(used_end);
            start = round_up(used_end, self.alignment);
        }
        if start < SPACE_END && SPACE_END - start >= size {
            gaps.push(Gap { start, end: SPACE_END });
        }
        gaps
    }

    /// The preferred offset if it is free, else the start of the smallest gap that holds `size` (4.2, steps 3 and 4).
    pub(crate) fn find(&self, start: Time, end: Time, size: u64, preferred: Option<u64>) -> Option<u64> {
        self.find_for_all(&[(start, end)], size, preferred, |_| true)
    }

    /// The same for several intervals at once, at an offset that `suits`.
    pub(crate) fn find_for_all(
        &self,
        intervals: &[(Time, Time)],
        size: u64,
        preferred: Option<u64>,
        suits: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let gaps = self.gaps(intervals, size);
        if let Some(offset) = preferred
            && offset.is_multiple_of(self.alignment)
            && gaps.iter().any(|gap| gap.start <= offset && offset <= gap.end - size)
            && suits(offset)
        {
            return Some(offset);
        }
        gaps.iter()
            .filter(|gap| suits(gap.start))
            .min_by_key(|gap| (gap.size(), gap.start))
            .map(|gap| gap.start)
    }

    /// The latest time in `[start, end]` up to which `[offset, offset + size)` is free from `start` on; below `start` if
    /// it is not free even there (4.2).
    pub(crate) fn latest_free_end(&self, start: Time, end: Time, chunk: Chunk) -> Time {
        let mut latest = end;
        self.chunks.overlapping(start, end, |other_start, _, other| {
            let other_end =
                if other.offset < chunk.offset { round_up(other.end(), self.alignment) } else { other.end() };
            if other.offset < chunk.end() && chunk.offset < other_end {
                latest = other_start - 1;
                return false;
            }
            true
        });
        latest
    }

    /// Whether `chunk` overlaps nothing during `[start, end]`.
    pub(crate) fn is_free(&self, start: Time, end: Time, chunk: Chunk) -> bool {
        self.latest_free_end(start, end, chunk) == end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_gap_lowest_first() {
        let mut heap = Heap::new(10, 8);
        heap.commit(0, 10, Chunk { offset: 8, size: 8 });
        heap.commit(0, 4, Chunk { offset: 24, size: 5 });
        assert_eq!(heap.find(0, 4, 8, None), Some(0));
        assert_eq!(heap.find(0, 4, 16, None), Some(32));
        assert_eq!(heap.find(5, 9, 16, None), Some(16));
        assert_eq!(heap.find(0, 4, 8, Some(16)), Some(16));
        assert_eq!(heap.find(0, 4, 8, Some(40)), Some(40));
        assert_eq!(heap.find(0, 4, 8, Some(12)), Some(0));
        assert_eq!(heap.latest_free_end(0, 10, Chunk { offset: 16, size: 8 }), 10);
        assert_eq!(heap.latest_free_end(5, 10, Chunk { offset: 0, size: 16 }), -1);
        assert_eq!(heap.used_at(4), 13);
        heap.uncommit(0, 4, Chunk { offset: 24, size: 5 });
        assert_eq!(heap.used_at(4), 8);
    }
}
