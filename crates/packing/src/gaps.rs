//! What is free: sets of addresses for [`crate::occupancy`].

use std::collections::BTreeSet;

use crate::best_fit::SPACE_END;

/// A range of addresses `[start, end)`.
pub(crate) type Range = (u64, u64);

/// Chunks to a block at most. Half of it is moved when one is put in.
const BLOCK: usize = 128;

/// The free chunks of an address space, found by offset and by size.
pub(crate) struct Gaps {
    /// All chunks in order, in blocks that are not empty but for the one that stands for nothing.
    blocks: Vec<Vec<Range>>,
    /// Where the first chunk of each block starts.
    heads: Vec<u64>,
    len: usize,
    /// (size, offset), once it was asked for.
    by_size: Option<BTreeSet<(u64, u64)>>,
}

impl Default for Gaps {
    fn default() -> Self {
        Self { blocks: vec![vec![(0, SPACE_END)]], heads: vec![0], len: 1, by_size: None }
    }
}

impl Gaps {
    /// Takes the ranges. What remains below `floor` bytes is forgotten, for nothing that is still to come fits into it.
    /// Gives what it took, as so many chunks compared.
    pub(crate) fn take_all(&mut self, ranges: &mut [Range], floor: u64) -> u64 {
        if ranges.len() < 16 || ranges.len() < self.len / 16 {
            for &(start, end) in ranges.iter() {
                self.take(start, end, floor);
            }
            return 2 * ranges.len() as u64;
        }
        let cost = (self.len + 8 * ranges.len()) as u64 / 16;
        ranges.sort_unstable();
        let mut left: Vec<Range> = Vec::with_capacity(self.len + ranges.len());
        let mut next = ranges.iter().copied().peekable();
        let mut reached = 0;
        for &(start, end) in self.blocks.iter().flatten() {
            let mut free = start.max(reached);
            while let Some((taken, taken_end)) = next.next_if(|(taken, _)| *taken < end) {
                if taken.saturating_sub(free) >= floor {
                    left.push((free, taken));
                }
                reached = reached.max(taken_end);
                free = free.max(taken_end);
            }
            if end.saturating_sub(free) >= floor {
                left.push((free, end));
            }
        }
        if self.by_size.is_some() {
            self.by_size = Some(left.iter().map(|(start, end)| (end - start, *start)).collect());
        }
        self.len = left.len();
        self.blocks.clear();
        // Room to grow in each.
        self.blocks.extend(left.chunks(BLOCK * 3 / 4).map(<[Range]>::to_vec));
        if self.blocks.is_empty() {
            self.blocks.push(Vec::new());
        }
        self.heads.clear();
        self.heads.extend(self.blocks.iter().map(|block| block.first().map_or(0, |chunk| chunk.0)));
        cost
    }

    fn take(&mut self, start: u64, end: u64, floor: u64) {
        let (mut block, mut at) = self.first_reaching(start);
        while let Some(&(low, high)) = self.blocks[block].get(at)
            && low < end
        {
            if let Some(by_size) = &mut self.by_size {
                by_size.remove(&(high - low, low));
            }
            let below = (low, start.max(low));
            let above = (end.min(high), high);
            let mut parts =
                [below, above].into_iter().filter(|(low, high)| low < high && high - low >= floor);
            let (first, second) = (parts.next(), parts.next());
            if let Some(by_size) = &mut self.by_size {
                by_size.extend([first, second].iter().flatten().map(|(low, high)| (high - low, *low)));
            }
            match (first, second) {
                (Some(first), None) => {
                    self.blocks[block][at] = first;
                    if at == 0 {
                        self.heads[block] = first.0;
                    }
                    at += 1;
                }
                (Some(first), Some(second)) => {
                    // It was one chunk, so there is nothing more to take.
                    self.blocks[block][at] = first;
                    self.blocks[block].insert(at + 1, second);
                    self.len += 1;
                    self.cut_in_two(block);
                    return;
                }
                (None, _) => {
                    self.blocks[block].remove(at);
                    self.len -= 1;
                    match self.blocks[block].first() {
                        Some(chunk) => self.heads[block] = chunk.0,
                        None if self.blocks.len() > 1 => {
                            self.blocks.remove(block);
                            self.heads.remove(block);
                            at = 0;
                        }
                        None => {}
                    }
                }
            }
            if block < self.blocks.len() && at == self.blocks[block].len() {
                (block, at) = (block + 1, 0);
            }
            if block == self.blocks.len() {
                return;
            }
        }
    }

    fn cut_in_two(&mut self, block: usize) {
        if self.blocks[block].len() <= BLOCK {
            return;
        }
        let upper = self.blocks[block].split_off(BLOCK / 2);
        self.heads.insert(block + 1, upper[0].0);
        self.blocks.insert(block + 1, upper);
    }

    /// Block and position of the lowest chunk that ends above the address; behind the last block's last if there is none.
    fn first_reaching(&self, address: u64) -> (usize, usize) {
        let block = self.heads.partition_point(|head| *head <= address).saturating_sub(1);
        let at = self.blocks[block].partition_point(|(_, end)| *end <= address);
        if at == self.blocks[block].len() && block + 1 < self.blocks.len() {
            return (block + 1, 0);
        }
        (block, at)
    }

    /// The lowest chunk that ends above the address.
    pub(crate) fn reaching(&self, address: u64) -> Option<Range> {
        let (block, at) = self.first_reaching(address);
        self.blocks[block].get(at).copied()
    }

    /// Free chunks of at least `need` as (size, start), the smallest first, the lowest first of equal ones.
    pub(crate) fn by_size(&mut self, need: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let blocks = &self.blocks;
        self.by_size
            .get_or_insert_with(|| {
                blocks.iter().flatten().map(|(start, end)| (end - start, *start)).collect()
            })
            .range((need, 0)..)
            .copied()
    }

    /// Free chunks of at least `need` in order.
    pub(crate) fn holding(&self, need: u64) -> impl Iterator<Item = Range> + '_ {
        self.blocks.iter().flatten().filter(move |(start, end)| end - start >= need).copied()
    }

    /// What is free of the windows, which are in order, in parts of at least `need`.
    pub(crate) fn narrow(&self, windows: &[Range], need: u64, narrowed: &mut Vec<Range>) {
        narrowed.clear();
        if windows.len() > self.len / 16 {
            self.merge(windows, need, narrowed);
            return;
        }
        for &(low, high) in windows {
            let (mut block, mut at) = self.first_reaching(low);
            while let Some(&(start, end)) = self.blocks[block].get(at)
                && start < high
            {
                let (free, free_end) = (start.max(low), end.min(high));
                if free_end.saturating_sub(free) >= need {
                    narrowed.push((free, free_end));
                }
                if end > high {
                    break;
                }
                at += 1;
                if at == self.blocks[block].len() && block + 1 < self.blocks.len() {
                    (block, at) = (block + 1, 0);
                }
            }
        }
    }
}

impl Gaps {
    /// [`Gaps::narrow`] where windows are about as many as chunks: both from end to end.
    fn merge(&self, windows: &[Range], need: u64, narrowed: &mut Vec<Range>) {
        let mut windows = windows.iter().copied();
        let Some(mut window) = windows.next() else { return };
        for block in &self.blocks {
            if block.last().is_none_or(|(_, end)| *end <= window.0) {
                continue;
            }
            for &(start, end) in block {
                while window.1 <= end {
                    let free = start.max(window.0);
                    if window.1.saturating_sub(free) >= need {
                        narrowed.push((free, window.1));
                    }
                    let Some(next) = windows.next() else { return };
                    window = next;
                }
                let free = start.max(window.0);
                if end.saturating_sub(free) >= need {
                    narrowed.push((free, end));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_a_row_of_bytes(
            taken in proptest::collection::vec((0_u64..900, 1_u64..9, 1_usize..60), 0..200),
            floor in 1_u64..4, wanted in 1_u64..12,
        ) {
            let mut gaps = Gaps::default();
            let mut free = [true; 1000];
            let mut rest = &taken[..];
            while let Some((_, _, count)) = rest.first() {
                let (now, later) = rest.split_at((*count).min(rest.len()));
                rest = later;
                let mut ranges: Vec<Range> = now.iter().map(|(start, size, _)| (*start, start + size)).collect();
                for (start, end) in &ranges {
                    free[*start as usize..*end as usize].fill(false);
                }
                gaps.take_all(&mut ranges, floor);
                let mut expected: Vec<Range> = Vec::new();
                for (at, _) in free.iter().enumerate().filter(|(_, is_free)| **is_free) {
                    match expected.last_mut() {
                        Some(last) if last.1 == at as u64 => last.1 += 1,
                        _ => expected.push((at as u64, at as u64 + 1)),
                    }
                }
                expected.last_mut().unwrap().1 = SPACE_END;
                let need = wanted.max(floor);
                let fits = |(start, end): &Range| end - start >= need;
                let large: Vec<Range> = expected.iter().filter(|chunk| fits(chunk)).copied().collect();
                prop_assert_eq!(gaps.holding(need).collect::<Vec<_>>(), large.clone());
                let mut by_size: Vec<(u64, u64)> = large.iter().map(|(start, end)| (end - start, *start)).collect();
                by_size.sort_unstable();
                prop_assert_eq!(gaps.by_size(need).collect::<Vec<_>>(), by_size);
                let windows = [(3, 40), (40, 41), (90, 300), (600, SPACE_END)];
                let mut narrowed = Vec::new();
                gaps.narrow(&windows, need, &mut narrowed);
                let parts = windows.iter().flat_map(|(low, high)| {
                    expected.iter().map(|(start, end)| (*start.max(low), *end.min(high)))
                });
                let parts: Vec<Range> = parts.filter(|(start, end)| start < end && end - start >= need).collect();
                prop_assert_eq!(narrowed, parts);
                for address in 0..1000 {
                    // What is forgotten is below the floor.
                    let reaching = gaps.reaching(address).unwrap();
                    let known = expected.iter().find(|chunk| chunk.1 > address && chunk.1 - chunk.0 >= floor);
                    prop_assert!(known.is_some_and(|known| reaching.0 <= known.0 && known.1 <= reaching.1
                        || reaching.1 <= known.0));
                }
            }
        }
    }
}
