//! The largest free rectangles of ticks and addresses: the answer to "which gap?" where gaps are many.
//!
//! A *hole* is free at all its ticks in all its addresses and cannot grow: before it something ends, behind it something begins,
//! below and above something stands. It is a gap of just those runs that it spans and that overlap both what is below and
//! what is above: where either is missing, a larger hole is the gap. So the smallest gap of a run is the first such hole in
//! order of size, and no chunks are compared with each other.
//!
//! What is placed cuts the holes that it overlaps, three or four of them however many there are, in up to four pieces each. A
//! piece that something does not bound on each side lies in a larger one and is dropped. As each tick has one event, there is one
//! thing that can bound it before and one behind, and it is found by its tick. Below and above may be several things: then the
//! hole is there once for each two of them.

use crate::best_fit::SPACE_END;
use crate::gaps::Range;
use crate::timeline::{Run, Tick};

/// Holes to a block at most.
const BLOCK: usize = 64;
/// Holes within so many ticks, as a power of two and aligned, lie together.
const LEAST_BITS: u32 = 6;

/// A free rectangle: addresses `[start, end)` at the ticks `first..=last`; and one of the runs that end below it, and one of
/// those that begin above it, as far as they are of these ticks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Hole {
    start: u64,
    end: u64,
    first: Tick,
    last: Tick,
    below: Run,
    above: Run,
}

impl Hole {
    fn size(&self) -> u64 {
        self.end - self.start
    }

    /// The ticks from..=to at which runs may begin whose gap this is, and those at which they may end.
    fn begins(&self) -> (Tick, Tick) {
        (self.first, self.below.end.min(self.above.end))
    }

    fn ends(&self) -> (Tick, Tick) {
        (self.below.start.max(self.above.start), self.last)
    }

    /// Whether it is a gap that the run has: free while it lives, and no larger.
    fn is_gap_of(&self, run: Run) -> bool {
        self.first <= run.start
            && run.end <= self.last
            && run.start <= self.below.end
            && self.below.start <= run.end
            && run.start <= self.above.end
            && self.above.start <= run.end
    }

    fn overlaps(&self, run: Run) -> bool {
        self.first <= run.end && run.start <= self.last
    }

    fn clip(&self, run: Run) -> Run {
        Run { start: run.start.max(self.first), end: run.end.min(self.last) }
    }
}

/// What a row of holes is sorted by.
type Key = (u64, u64, Tick, Tick, Tick);

fn by_size(hole: &Hole) -> Key {
    (hole.size(), hole.start, hole.first, hole.below.start, hole.above.start)
}

fn by_address(hole: &Hole) -> Key {
    (hole.start, hole.end, hole.first, hole.below.start, hole.above.start)
}

/// What is known of a block: the earliest and the latest of its holes' begins and ends.
#[derive(Clone, Copy)]
struct Reach {
    begins: (Tick, Tick),
    ends: (Tick, Tick),
}

impl Reach {
    const NONE: Self = Self { begins: (Tick::MAX, 0), ends: (Tick::MAX, 0) };

    fn add(&mut self, hole: &Hole) {
        let (begins, ends) = (hole.begins(), hole.ends());
        self.begins = (self.begins.0.min(begins.0), self.begins.1.max(begins.1));
        self.ends = (self.ends.0.min(ends.0), self.ends.1.max(ends.1));
    }

    fn is_at_edge(&self, hole: &Hole) -> bool {
        let (begins, ends) = (hole.begins(), hole.ends());
        begins.0 == self.begins.0
            || begins.1 == self.begins.1
            || ends.0 == self.ends.0
            || ends.1 == self.ends.1
    }

    fn may_be_gap_of(&self, run: Run) -> bool {
        self.begins.0 <= run.start
            && run.start <= self.begins.1
            && self.ends.0 <= run.end
            && run.end <= self.ends.1
    }
}

/// A sorted row of holes, in blocks that are not empty.
#[derive(Default)]
struct Row {
    /// The key of the first of each block.
    heads: Vec<Key>,
    reach: Vec<Reach>,
    blocks: Vec<Vec<Hole>>,
}

fn reach_of(holes: &[Hole]) -> Reach {
    let mut reach = Reach::NONE;
    for hole in holes {
        reach.add(hole);
    }
    reach
}

impl Row {
    /// The last block that begins at or before the key.
    fn block_of(&self, key: Key) -> usize {
        self.heads.partition_point(|head| *head <= key).saturating_sub(1)
    }

    fn insert(&mut self, hole: Hole, key: impl Fn(&Hole) -> Key) {
        if self.blocks.is_empty() {
            self.heads.push(key(&hole));
            self.reach.push(reach_of(&[hole]));
            self.blocks.push(vec![hole]);
            return;
        }
        let block = self.block_of(key(&hole));
        let holes = &mut self.blocks[block];
        let at = holes.partition_point(|other| key(other) < key(&hole));
        holes.insert(at, hole);
        self.heads[block] = key(&holes[0]);
        self.reach[block].add(&hole);
        if holes.len() > BLOCK {
            let upper = holes.split_off(BLOCK / 2);
            self.reach[block] = reach_of(holes);
            self.heads.insert(block + 1, key(&upper[0]));
            self.reach.insert(block + 1, reach_of(&upper));
            self.blocks.insert(block + 1, upper);
        }
    }

    fn remove(&mut self, hole: &Hole, key: impl Fn(&Hole) -> Key) {
        let block = self.block_of(key(hole));
        let holes = &mut self.blocks[block];
        let at = holes.partition_point(|other| key(other) < key(hole));
        holes.remove(at);
        if holes.is_empty() {
            self.heads.remove(block);
            self.reach.remove(block);
            self.blocks.remove(block);
            return;
        }
        self.heads[block] = key(&holes[0]);
        if self.reach[block].is_at_edge(hole) {
            self.reach[block] = reach_of(holes);
        }
    }
}

/// All holes of a heap but for those that nothing to come fits into.
pub(crate) struct Holes {
    /// By span of ticks, numbered as in a heap: the holes that lie in it and in no narrower one, by size.
    by_size: Vec<Row>,
    /// The number of spans of one tick each, a power of two.
    ticks: usize,
    /// By the logarithm of their size, by address.
    by_address: Vec<Row>,
    /// By the logarithm of a size and by span of `LEAST_BITS`: the earliest end of what is still to come, is not larger, and
    /// begins there or later.
    earliest_end: Vec<Vec<Tick>>,
    /// By tick: where what begins or ends there stands.
    address: Vec<Range>,
    work: u64,
    /// Of one placement; kept for their memory.
    cut: Vec<Hole>,
    pieces: Vec<Hole>,
}

impl Holes {
    /// Everything is free.
    pub(crate) fn new(ticks: Tick) -> Self {
        let ticks = (ticks as usize).next_power_of_two().max(1 << LEAST_BITS);
        let mut holes = Self {
            by_size: Vec::new(),
            ticks,
            by_address: Vec::new(),
            earliest_end: Vec::new(),
            address: vec![(0, 0); ticks],
            work: 0,
            cut: Vec::new(),
            pieces: Vec::new(),
        };
        holes.by_size.resize_with((2 * ticks) >> LEAST_BITS, Row::default);
        holes.by_address.resize_with(64, Row::default);
        let all = Run { start: 0, end: (ticks - 1) as Tick };
        holes.insert(Hole { start: 0, end: SPACE_END, first: 0, last: all.end, below: all, above: all });
        holes
    }

    /// Only these runs, of these sizes, are still to come.
    pub(crate) fn expect(&mut self, to_come: impl Iterator<Item = (Run, u64)>) {
        let width = (self.ticks >> LEAST_BITS).max(1);
        self.earliest_end.clear();
        for (run, size) in to_come {
            let class = size.ilog2() as usize;
            if class >= self.earliest_end.len() {
                self.earliest_end.resize_with(class + 1, || vec![Tick::MAX; width]);
            }
            let end = &mut self.earliest_end[class][run.start as usize >> LEAST_BITS];
            *end = run.end.min(*end);
        }
        for class in 0..self.earliest_end.len() {
            let mut earliest = Tick::MAX;
            for at in (0..width).rev() {
                earliest = earliest.min(self.earliest_end[class][at]);
                if class > 0 {
                    earliest = earliest.min(self.earliest_end[class - 1][at]);
                }
                self.earliest_end[class][at] = earliest;
            }
        }
    }

    /// Whether something to come may fit. What lies in an unwanted hole is not wanted either, so it may be forgotten.
    fn is_wanted(&self, hole: &Hole) -> bool {
        let class = (hole.size().ilog2() as usize).min(self.earliest_end.len().wrapping_sub(1));
        self.earliest_end.get(class).is_some_and(|ends| ends[hole.first as usize >> LEAST_BITS] <= hole.last)
    }

    /// The narrowest span in which both ticks lie.
    fn span(&self, first: Tick, last: Tick) -> usize {
        let height = (Tick::BITS - (first ^ last).leading_zeros()).max(LEAST_BITS);
        (self.ticks + first as usize) >> height
    }

    fn insert(&mut self, hole: Hole) {
        let span = self.span(hole.first, hole.last);
        self.by_size[span].insert(hole, by_size);
        self.by_address[hole.size().ilog2() as usize].insert(hole, by_address);
    }

    fn remove(&mut self, hole: &Hole) {
        let span = self.span(hole.first, hole.last);
        self.by_size[span].remove(hole, by_size);
        self.by_address[hole.size().ilog2() as usize].remove(hole, by_address);
    }

    /// What holes have cost so far: blocks looked at, and, as four each, holes made and cut.
    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    /// Where the smallest gap of at least `need` starts that is one in all the runs, the lowest of several. The last three
    /// are there for their memory.
    pub(crate) fn find(
        &mut self,
        runs: &[Run],
        need: u64,
        gaps: &mut Vec<Range>,
        others: &mut Vec<Range>,
        common: &mut Vec<Range>,
    ) -> Option<u64> {
        let (&first, rest) = runs.split_first()?;
        if rest.is_empty() {
            return self.smallest(first, need);
        }
        self.gaps(first, need, gaps);
        for &run in rest {
            self.gaps(run, need, others);
            meet(gaps, others, need, common);
            std::mem::swap(gaps, common);
        }
        gaps.iter().map(|(start, end)| (end - start, *start)).min().map(|(_, start)| start)
    }

    /// Where the smallest gap of at least `need` starts that the run has, the lowest of several.
    fn smallest(&mut self, run: Run, need: u64) -> Option<u64> {
        let mut best: Option<Hole> = None;
        let mut span = self.span(run.start, run.end);
        while span > 0 {
            let row = &self.by_size[span];
            let from = row.block_of((need, 0, 0, 0, 0));
            'row: for block in from..row.blocks.len() {
                if best.is_some_and(|best| row.heads[block] >= by_size(&best)) {
                    break;
                }
                self.work += 1;
                if !row.reach[block].may_be_gap_of(run) {
                    continue;
                }
                for hole in &row.blocks[block] {
                    if hole.is_gap_of(run) && hole.size() >= need {
                        if best.is_none_or(|best| by_size(hole) < by_size(&best)) {
                            best = Some(*hole);
                        }
                        break 'row;
                    }
                }
            }
            span /= 2;
        }
        best.map(|hole| hole.start)
    }

    /// All gaps of at least `need` that the run has, in order.
    fn gaps(&mut self, run: Run, need: u64, gaps: &mut Vec<Range>) {
        gaps.clear();
        let mut span = self.span(run.start, run.end);
        while span > 0 {
            let row = &self.by_size[span];
            for block in row.block_of((need, 0, 0, 0, 0))..row.blocks.len() {
                self.work += 4;
                if row.reach[block].may_be_gap_of(run) {
                    let fits = |hole: &&Hole| hole.is_gap_of(run) && hole.size() >= need;
                    gaps.extend(row.blocks[block].iter().filter(fits).map(|hole| (hole.start, hole.end)));
                }
            }
            span /= 2;
        }
        // A hole that has several runs above or below is there several times.
        gaps.sort_unstable();
        gaps.dedup();
        self.work += gaps.len() as u64;
    }

    /// The addresses are taken while the run lives.
    pub(crate) fn take(&mut self, run: Run, (start, end): Range) {
        self.address[run.start as usize] = (start, end);
        self.address[run.end as usize] = (start, end);
        let mut cut = std::mem::take(&mut self.cut);
        let mut pieces = std::mem::take(&mut self.pieces);
        cut.clear();
        pieces.clear();
        for (class, row) in self.by_address.iter().enumerate() {
            let least = start.saturating_sub(2 << class);
            for block in row.block_of((least, 0, 0, 0, 0))..row.blocks.len() {
                if row.heads[block].0 > end {
                    break;
                }
                self.work += 1;
                if row.reach[block].begins.0 > run.end || row.reach[block].ends.1 < run.start {
                    continue;
                }
                for hole in &row.blocks[block] {
                    if !hole.overlaps(run) || hole.end < start || hole.start > end {
                        continue;
                    }
                    // What only touches a hole bounds it, too.
                    if hole.start == end {
                        pieces.push(Hole { below: hole.clip(run), ..*hole });
                    } else if hole.end == start {
                        pieces.push(Hole { above: hole.clip(run), ..*hole });
                    } else {
                        cut.push(*hole);
                    }
                }
            }
        }
        for hole in &cut {
            self.remove(hole);
        }
        let last_tick = (self.ticks - 1) as Tick;
        // Whether something ends before it and something begins behind it.
        let is_enclosed = |hole: &Hole| {
            let meets = |tick: Tick| {
                let (low, high) = self.address[tick as usize];
                low < hole.end && hole.start < high
            };
            (hole.first == 0 || meets(hole.first - 1)) && (hole.last == last_tick || meets(hole.last + 1))
        };
        for hole in &cut {
            let (below, above) = (hole.below, hole.above);
            if hole.first < run.start && below.start < run.start && above.start < run.start {
                let last = run.start - 1;
                let cap = |run: Run| Run { end: run.end.min(last), ..run };
                pieces.push(Hole { last, below: cap(below), above: cap(above), ..*hole });
            }
            if hole.last > run.end && below.end > run.end && above.end > run.end {
                let first = run.end + 1;
                let cap = |run: Run| Run { start: run.start.max(first), ..run };
                pieces.push(Hole { first, below: cap(below), above: cap(above), ..*hole });
            }
            if hole.start < start {
                let piece = Hole { end: start, above: hole.clip(run), ..*hole };
                if is_enclosed(&piece) {
                    pieces.push(piece);
                }
            }
            if hole.end > end {
                let piece = Hole { start: end, below: hole.clip(run), ..*hole };
                if is_enclosed(&piece) {
                    pieces.push(piece);
                }
            }
        }
        pieces.sort_unstable();
        pieces.dedup();
        for piece in &pieces {
            if self.is_wanted(piece) {
                self.insert(*piece);
                self.work += 4;
            }
        }
        self.work += 4 * cut.len() as u64;
        (self.cut, self.pieces) = (cut, pieces);
    }
}

/// Where two sorted rows of ranges meet, in parts of at least `need`.
fn meet(some: &[Range], others: &[Range], need: u64, common: &mut Vec<Range>) {
    common.clear();
    let (mut i, mut j) = (0, 0);
    while let (Some(a), Some(b)) = (some.get(i), others.get(j)) {
        let (start, end) = (a.0.max(b.0), a.1.min(b.1));
        if end.saturating_sub(start) >= need {
            common.push((start, end));
        }
        if a.1 < b.1 {
            i += 1;
        } else {
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::overlap;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Two runs, and how much is needed in both.
    type Wanted = ((Tick, Tick), (Tick, Tick), u64);

    fn run((a, b): (Tick, Tick)) -> Run {
        Run { start: a.min(b), end: a.max(b) }
    }

    proptest! {
        /// Against all that was taken. Every fourth tick begins or ends nothing.
        #[test]
        fn the_smallest_gap_of_all(
            ticks in Just((0..300).filter(|tick| tick % 4 != 3).collect::<Vec<Tick>>()).prop_shuffle(),
            places in vec((0_u64..80, 1_u64..12), 0..110),
            wanted in vec(((0_u32..300, 0_u32..300), (0_u32..300, 0_u32..300), 1_u64..14), 1..60),
            is_all_expected in any::<bool>(),
        ) {
            let mut holes = Holes::new(300);
            let count = if is_all_expected { wanted.len() } else { wanted.len() / 2 };
            let expected = &wanted[wanted.len() - count..];
            let both = |wanted: &[Wanted]| -> Vec<(Run, u64)> {
                wanted.iter().flat_map(|(a, b, size)| [(run(*a), *size), (run(*b), *size)]).collect()
            };
            holes.expect(both(&wanted).into_iter());
            let mut taken: Vec<(Run, Range)> = Vec::new();
            for (at, ((start, size), ticks)) in places.iter().zip(ticks.chunks(2)).enumerate() {
                let (run, place) = (run((ticks[0], ticks[1])), (*start, start + size));
                let is_taken = |(other, (low, high)): &(Run, Range)| {
                    overlap(&[run], &[*other]) && *low < place.1 && place.0 < *high
                };
                if !taken.iter().any(is_taken) {
                    holes.take(run, place);
                    taken.push((run, place));
                }
                if at == places.len() / 2 {
                    holes.expect(both(expected).into_iter());
                }
            }
            for (a, b, need) in expected {
                let mut runs = vec![run(*a)];
                if !overlap(&runs, &[run(*b)]) {
                    runs.push(run(*b));
                    runs.sort_unstable();
                }
                let mut occupied: Vec<Range> =
                    taken.iter().filter(|(run, _)| overlap(&runs, &[*run])).map(|(_, place)| *place).collect();
                occupied.sort_unstable();
                occupied.push((SPACE_END, SPACE_END));
                let (mut free, mut best) = (0, None);
                for (start, end) in occupied {
                    if start.saturating_sub(free) >= *need && best.is_none_or(|best| (start - free, free) < best) {
                        best = Some((start - free, free));
                    }
                    free = free.max(end);
                }
                let found = holes.find(&runs, *need, &mut Vec::new(), &mut Vec::new(), &mut Vec::new());
                prop_assert_eq!(found, best.map(|(_, start)| start));
            }
        }
    }
}
