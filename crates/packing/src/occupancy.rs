//! Which addresses are taken when: the fast answer to "which gap?".
//!
//! Ticks are cut into buckets, and a tree of time spans stands over the buckets. A run is split into the fewest spans
//! that make up its full buckets, plus at most two buckets that it covers in part. Each span keeps two sets of occupied
//! addresses, merged where they touch:
//!
//! * *whole*: of what is split into exactly this span, so it occupies the address at every tick of it;
//! * *some*: of what occupies the address at some tick of the span and was not split into a span above it.
//!
//! What a run of a new group must avoid is then the union of *some* of its own spans, *whole* of the spans above them,
//! and those entries of its partial buckets that overlap it. Instead of forming the union, the search leaps from set to
//! set: each names its next gap that is large enough, and the furthest one goes on. A dense set jumps over whatever the
//! others hold below, so it is not the number of overlapping buffers that counts but the number of holes between them.
//!
//! Results are those of [`crate::plain`]. What it relies on: offsets are aligned and the ends of what is occupied are
//! rounded up here, so every gap begins aligned and the intersection of gaps does, too.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use crate::best_fit::{GapFinder, SPACE_END, round_up};
use crate::timeline::{Run, Tick, Timeline};

/// Occupied addresses: start to end, disjoint and not touching.
#[derive(Default)]
struct Blocks(BTreeMap<u64, u64>);

impl Blocks {
    /// Adds `[start, end)`. Gaps below `floor` are closed, for nothing that is still to come fits into them.
    fn insert(&mut self, start: u64, end: u64, floor: u64) {
        let (mut low, mut high) = (start, end);
        match self.0.range(..=start).next_back() {
            Some((_, &below_end)) if below_end >= end => return,
            Some((&below, &below_end)) if start.saturating_sub(below_end) < floor => {
                low = below;
                high = end.max(below_end);
            }
            None if start < floor => low = 0,
            _ => {}
        }
        while let Some((&above, &above_end)) = self.0.range((Excluded(low), Unbounded)).next() {
            if above.saturating_sub(high) >= floor {
                break;
            }
            high = high.max(above_end);
            self.0.remove(&above);
        }
        self.0.insert(low, high);
    }

    /// The first gap `[start, end)` of at least `need` at or above `from`.
    fn gap(&self, from: u64, need: u64) -> Option<(u64, u64)> {
        let mut free = match self.0.range(..=from).next_back() {
            Some((_, &end)) => end.max(from),
            None => from,
        };
        for (&start, &end) in self.0.range((Excluded(from), Unbounded)) {
            if start.saturating_sub(free) >= need {
                return Some((free, start));
            }
            free = free.max(end);
        }
        last_gap(free, need)
    }
}

/// The gap that ends at the end of the address space.
fn last_gap(free: u64, need: u64) -> Option<(u64, u64)> {
    (SPACE_END.saturating_sub(free) >= need).then_some((free, SPACE_END))
}

/// A few occupied ranges, sorted. Searched from left to right only.
#[derive(Default)]
struct Few {
    ranges: Vec<(u64, u64)>,
    /// Those before it end at or below the position asked for last.
    passed: usize,
}

impl Few {
    fn clear(&mut self) {
        self.ranges.clear();
        self.passed = 0;
    }

    fn gap(&mut self, from: u64, need: u64) -> Option<(u64, u64)> {
        let mut free = from;
        while let Some(&(start, end)) = self.ranges.get(self.passed) {
            if start.saturating_sub(free) >= need {
                return Some((free, start));
            }
            free = free.max(end);
            self.passed += 1;
        }
        last_gap(free, need)
    }
}

/// Part of a bucket is occupied.
struct Partial {
    run: Run,
    start: u64,
    end: u64,
}

/// How a span of the tree lies to a run.
enum Span {
    /// One of the spans the run is split into.
    Part(usize),
    /// It holds such a span or a partial bucket, and more.
    Above(usize),
}

pub(crate) struct Occupancy<'t> {
    timeline: &'t Timeline,
    alignment: u64,
    /// Ticks per bucket, as a power of two.
    bucket_bits: u32,
    /// Number of buckets, a power of two. Spans are numbered as in a heap: 1 is all, `leaves + b` is bucket `b`.
    leaves: usize,
    whole: Vec<Blocks>,
    some: Vec<Blocks>,
    partial: Vec<Vec<Partial>>,
    /// Sizes of the smallest group from each position of the order on.
    smallest_from: Vec<u64>,
    floor: u64,
    /// The sets of one search; kept for its memory.
    sets: Vec<(bool, usize)>,
    few: Few,
}

impl<'t> Occupancy<'t> {
    pub(crate) fn new(timeline: &'t Timeline, alignment: u64) -> Self {
        // Small enough that a bucket is quickly looked through, large enough that the spans above do not cost more than
        // the buffers themselves.
        let bucket_bits =
            (u64::from(timeline.ticks) / 8192).next_power_of_two().trailing_zeros().clamp(5, 12);
        Self::with_bucket_bits(timeline, alignment, bucket_bits)
    }

    pub(crate) fn with_bucket_bits(timeline: &'t Timeline, alignment: u64, bucket_bits: u32) -> Self {
        let leaves = ((timeline.ticks as usize >> bucket_bits) + 1).next_power_of_two();
        Self {
            timeline,
            alignment,
            bucket_bits,
            leaves,
            whole: Vec::new(),
            some: Vec::new(),
            partial: Vec::new(),
            smallest_from: Vec::new(),
            floor: 1,
            sets: Vec::new(),
            few: Few::default(),
        }
    }

    fn bucket(&self, tick: Tick) -> usize {
        tick as usize >> self.bucket_bits
    }

    /// The buckets that the run covers in part.
    fn partial_buckets(&self, run: Run) -> impl Iterator<Item = usize> + use<> {
        let mask = (1 << self.bucket_bits) - 1;
        let (first, last) = (self.bucket(run.start), self.bucket(run.end));
        let ragged_end = run.end & mask != mask;
        let at_start = run.start & mask != 0 || (first == last && ragged_end);
        let at_end = ragged_end && last != first;
        at_start.then_some(first).into_iter().chain(at_end.then_some(last))
    }

    fn visit(&self, run: Run, mut visit: impl FnMut(Span)) {
        let mask = (1 << self.bucket_bits) - 1;
        let (first, last) = (self.bucket(run.start) + self.leaves, self.bucket(run.end) + self.leaves);
        // Full buckets: `[low, high)`.
        let low = first + usize::from(run.start & mask != 0);
        let high = last + usize::from(run.end & mask == mask);
        let (mut left, mut right) = (low, high);
        while left < right {
            if left & 1 == 1 {
                visit(Span::Part(left));
                left += 1;
            }
            if right & 1 == 1 {
                right -= 1;
                visit(Span::Part(right));
            }
            left /= 2;
            right /= 2;
        }
        let (mut left, mut right) = (first, last);
        let mut height = 0;
        while left > 0 {
            let is_inside = |span: usize| span << height >= low && (span + 1) << height <= high;
            if !is_inside(left) {
                visit(Span::Above(left));
            }
            if right != left && !is_inside(right) {
                visit(Span::Above(right));
            }
            left /= 2;
            right /= 2;
            height += 1;
        }
    }
}

impl GapFinder for Occupancy<'_> {
    fn begin_heap(&mut self, order: &[u32]) {
        self.whole.clear();
        self.some.clear();
        self.whole.resize_with(2 * self.leaves, Blocks::default);
        self.some.resize_with(2 * self.leaves, Blocks::default);
        self.partial.iter_mut().for_each(Vec::clear);
        self.partial.resize_with(self.leaves, Vec::new);
        self.smallest_from.clear();
        let mut smallest = u64::MAX;
        self.smallest_from.extend(order.iter().rev().map(|at| {
            smallest = smallest.min(self.timeline.groups[*at as usize].size);
            smallest
        }));
        self.smallest_from.reverse();
    }

    fn advance(&mut self, count: usize) {
        self.floor = self.smallest_from.get(count).copied().unwrap_or(1).max(1);
    }

    fn find(&mut self, group: u32) -> Option<u64> {
        let timeline = self.timeline;
        let group = &timeline.groups[group as usize];
        let need = group.size;
        let mut sets = std::mem::take(&mut self.sets);
        let mut few = std::mem::take(&mut self.few);
        sets.clear();
        few.clear();
        let runs = timeline.runs(group);
        for &run in runs {
            self.visit(run, |span| match span {
                Span::Part(span) if !self.some[span].0.is_empty() => sets.push((true, span)),
                Span::Above(span) if !self.whole[span].0.is_empty() => sets.push((false, span)),
                Span::Part(_) | Span::Above(_) => {}
            });
            for bucket in self.partial_buckets(run) {
                few.ranges.extend(
                    self.partial[bucket]
                        .iter()
                        .filter(|other| other.run.start <= run.end && run.start <= other.run.end)
                        .map(|other| (other.start, other.end)),
                );
            }
        }
        if runs.len() > 1 {
            sets.sort_unstable();
            sets.dedup();
        }
        few.ranges.sort_unstable();
        let blocks: Vec<&Blocks> = sets
            .iter()
            .map(|&(is_some, span)| if is_some { &self.some[span] } else { &self.whole[span] })
            .collect();
        let found = smallest_common_gap(&blocks, &mut few, need, self.alignment);
        self.sets = sets;
        self.few = few;
        found
    }

    fn occupy(&mut self, group: u32, offset: u64) {
        let timeline = self.timeline;
        let group = &timeline.groups[group as usize];
        let (start, end) = (offset, round_up(offset + group.size, self.alignment));
        let floor = self.floor;
        let mut whole = std::mem::take(&mut self.whole);
        let mut some = std::mem::take(&mut self.some);
        for &run in timeline.runs(group) {
            self.visit(run, |span| match span {
                Span::Part(span) => {
                    whole[span].insert(start, end, floor);
                    some[span].insert(start, end, floor);
                }
                Span::Above(span) => some[span].insert(start, end, floor),
            });
            for bucket in self.partial_buckets(run) {
                self.partial[bucket].push(Partial { run, start, end });
            }
        }
        self.whole = whole;
        self.some = some;
    }
}

/// The start of the smallest gap of at least `need` that all sets have in common; the lowest of several.
fn smallest_common_gap(sets: &[&Blocks], few: &mut Few, need: u64, alignment: u64) -> Option<u64> {
    let mut best: Option<(u64, u64)> = None;
    // `[from, end)` is free in the `agreed` sets looked at last.
    let (mut from, mut end, mut agreed, mut next) = (0, SPACE_END, 0, 0);
    loop {
        let gap = if next == sets.len() { few.gap(from, need) } else { sets[next].gap(from, need) };
        let Some((gap_start, gap_end)) = gap else { break };
        if gap_start > from {
            (from, end, agreed) = (gap_start, gap_end, 1);
        } else {
            end = end.min(gap_end);
            agreed += 1;
            if end - from < need {
                (from, end, agreed) = (end, SPACE_END, 0);
            }
        }
        if agreed > sets.len() {
            if best.is_none_or(|(size, _)| end - from < size) {
                best = Some((end - from, from));
                if end - from - need < alignment {
                    break; // no gap can be smaller, and this one is the lowest of its size
                }
            }
            (from, end, agreed) = (end, SPACE_END, 0);
        }
        next = if next == sets.len() { 0 } else { next + 1 };
    }
    best.map(|(_, from)| from)
}
