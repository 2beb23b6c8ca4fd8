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
//! Where buffers lie in the sets alternately, none of the sets is dense and the leaps are short. When they have been
//! many, a *pin* is set: all that is occupied at one tick, kept up to date from then on. What lives at one tick does not
//! overlap, so the free chunks of a pin are few and are found by size; a run over a pin needs to look only there.
//! Searches pay for pins: one is set when the leaps wasted have cost about as much as it will.
//!
//! What covers a whole span lies in the sets of all spans above it, alternately again. So there are *covers* too, set in the
//! same way for groups that live within one *column*, a span of middling size: all that occupies its address at every tick
//! of the column. A cover stands in for the sets of the column and of all spans above it.
//!
//! A search that leaps more often than it would take to read through all that is placed does that instead: a list in
//! order of offset, brought up to date when it is needed. Where most searches end so, the rest of the heap is read through
//! at once, and nothing but the list is kept.
//!
//! Results are those of [`crate::plain`]. What it relies on: offsets are aligned and the ends of what is occupied are
//! rounded up here, so every gap begins aligned and the intersection of gaps does, too.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use crate::best_fit::{GapFinder, SPACE_END, round_up};
use crate::free_chunks::FreeChunks;
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
    /// Those before it have been passed, and all up to `reach` is occupied or in gaps too small.
    passed: usize,
    reach: u64,
}

impl Few {
    fn clear(&mut self) {
        self.ranges.clear();
        self.passed = 0;
        self.reach = 0;
    }

    fn gap(&mut self, from: u64, need: u64) -> Option<(u64, u64)> {
        let mut free = from.max(self.reach);
        while let Some(&(start, end)) = self.ranges.get(self.passed) {
            if start.saturating_sub(free) >= need {
                return Some((free, start));
            }
            self.reach = self.reach.max(end);
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

/// A run at its place; the order is by address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Listed {
    start: u64,
    end: u64,
    first: Tick,
    last: Tick,
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
    /// Group and offset of all that stands in the heap.
    placed: Vec<(u32, u64)>,
    pins: BTreeMap<Tick, FreeChunks>,
    /// By column: what occupies its address at every tick of it.
    covers: BTreeMap<usize, FreeChunks>,
    /// Buckets per column, as a power of two.
    column_bits: u32,
    list: Vec<Listed>,
    /// What is placed but not yet in the list.
    unlisted: Vec<Listed>,
    /// Leaps that a search may take for nothing.
    free_leaps: usize,
    /// How many leaps are not yet paid for by a pin.
    wasted: usize,
    /// How many groups are still to come.
    remaining: usize,
    /// Of the last searches: how many there were, and how many were given up.
    searches: (usize, usize),
    /// Everything is read through from now on, and only the list is kept.
    reads_only: bool,
}

/// As many columns as there are groups to a column: then neither what covers a column nor what lies in it is too much.
fn column_bits(leaves: usize, groups: usize) -> u32 {
    let columns = groups.isqrt().next_power_of_two().clamp(1, leaves);
    (leaves / columns).trailing_zeros()
}

/// So many entries of the list are read in the time of one leap.
const ENTRIES_PER_LEAP: usize = 64;
/// After so many searches it is asked whether most of them were given up.
const SEARCHES: usize = 256;
/// So many entries may wait to be merged into the list while everything is read through.
const UNLISTED: usize = 64;
/// Pins asked in one search: the fullest.
const PINS_PER_SEARCH: usize = 6;
/// Pins of which the fullest are taken.
const PINS_LOOKED_AT: usize = 64;

impl<'t> Occupancy<'t> {
    pub(crate) fn new(timeline: &'t Timeline, alignment: u64) -> Self {
        // Small enough that a bucket is quickly looked through, large enough that the spans above do not cost more than
        // the buffers themselves.
        let bucket_bits =
            (u64::from(timeline.ticks) / 8192).next_power_of_two().trailing_zeros().clamp(5, 12);
        Self::with_settings(timeline, alignment, bucket_bits, 64)
    }

    pub(crate) fn with_settings(
        timeline: &'t Timeline,
        alignment: u64,
        bucket_bits: u32,
        free_leaps: usize,
    ) -> Self {
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
            placed: Vec::new(),
            pins: BTreeMap::new(),
            covers: BTreeMap::new(),
            column_bits: column_bits(leaves, timeline.groups.len()),
            list: Vec::new(),
            unlisted: Vec::new(),
            free_leaps,
            wasted: 0,
            remaining: 0,
            searches: (0, 0),
            reads_only: false,
        }
    }

    /// A tick of the run at which about the most is occupied: the fullest of a few that are evenly spaced, and then of a few
    /// around that one, and again.
    fn fullest_tick(&self, run: Run) -> Tick {
        let mut around = run;
        let mut fullest = run.start;
        for _ in 0..4 {
            let ticks = u64::from(around.end - around.start);
            let samples: [Tick; 17] = std::array::from_fn(|i| around.start + (ticks * i as u64 / 16) as Tick);
            let mut sums = [0_u128; 17];
            for listed in self.list.iter().chain(&self.unlisted) {
                if listed.last < around.start || around.end < listed.first {
                    continue;
                }
                for (sum, tick) in sums.iter_mut().zip(samples) {
                    if listed.first <= tick && tick <= listed.last {
                        *sum += u128::from(listed.end - listed.start);
                    }
                }
            }
            let Some(best) = (0..samples.len()).max_by_key(|i| sums[*i]) else { break };
            fullest = samples[best];
            if ticks <= 16 {
                break;
            }
            around = Run {
                start: samples[best.saturating_sub(1)],
                end: samples[(best + 1).min(samples.len() - 1)],
            };
        }
        fullest
    }

    /// Keeps what is occupied at the tick from now on.
    fn pin(&mut self, tick: Tick) {
        if self.pins.contains_key(&tick) {
            return;
        }
        let mut free = FreeChunks::with_end(1, SPACE_END);
        for &(at, offset) in &self.placed {
            let group = &self.timeline.groups[at as usize];
            let runs = self.timeline.runs(group);
            let next = runs.partition_point(|run| run.end < tick);
            if runs.get(next).is_some_and(|run| run.start <= tick) {
                occupy_pin(&mut free, offset, round_up(offset + group.size, self.alignment));
            }
        }
        self.pins.insert(tick, free);
    }

    /// The column in which the run lies, if it lies in one.
    fn column(&self, run: Run) -> Option<usize> {
        let (first, last) =
            (self.bucket(run.start) >> self.column_bits, self.bucket(run.end) >> self.column_bits);
        (first == last).then_some(first)
    }

    /// The columns of which the run covers every tick, `[first, end)`.
    fn columns_covered(&self, run: Run) -> std::ops::Range<usize> {
        let bits = self.bucket_bits + self.column_bits;
        let first = ((run.start as usize) + (1 << bits) - 1) >> bits;
        first..((run.end as usize + 1) >> bits).max(first)
    }

    /// Keeps what covers the column from now on.
    fn cover(&mut self, column: usize) {
        let mut free = FreeChunks::with_end(1, SPACE_END);
        for &(at, offset) in &self.placed {
            let group = &self.timeline.groups[at as usize];
            if self.timeline.runs(group).iter().any(|run| self.columns_covered(*run).contains(&column)) {
                occupy_pin(&mut free, offset, round_up(offset + group.size, self.alignment));
            }
        }
        self.covers.insert(column, free);
    }

    /// Brings the list up to date: one merge, however many are new.
    fn update_list(&mut self) {
        self.unlisted.sort_unstable();
        // From the back, so that nothing is overwritten before it has been moved.
        let mut old = self.list.len();
        let Some(&filler) = self.unlisted.last() else { return };
        let mut to = old + self.unlisted.len();
        self.list.resize(to, filler);
        while let Some(&new) = self.unlisted.last() {
            to -= 1;
            if old > 0 && self.list[old - 1] > new {
                old -= 1;
                self.list[to] = self.list[old];
            } else {
                self.list[to] = new;
                self.unlisted.pop();
            }
        }
    }

    /// The search without sets: all that overlaps, in order of offset. What is not yet in the list is in order, too.
    fn read_through(&self, runs: &[Run], need: u64) -> Option<u64> {
        let (first, last) = (runs.first()?.start, runs.last()?.end);
        let mut best: Option<(u64, u64)> = None;
        let mut free = 0;
        let mut weigh = |free: u64, end: u64| {
            let size = end.saturating_sub(free);
            if size >= need && best.is_none_or(|(smallest, _)| size < smallest) {
                best = Some((size, free));
            }
        };
        let mut read = |some: &[Listed]| {
            for listed in some {
                if listed.first > last || first > listed.last {
                    continue;
                }
                if runs.len() > 1 {
                    let next = runs.partition_point(|run| run.end < listed.first);
                    if runs.get(next).is_none_or(|run| run.start > listed.last) {
                        continue;
                    }
                }
                weigh(free, listed.start);
                free = free.max(listed.end);
            }
        };
        let mut rest = &self.list[..];
        for new in self.unlisted.chunks(1) {
            let (below, above) = rest.split_at(rest.partition_point(|listed| *listed < new[0]));
            read(below);
            read(new);
            rest = above;
        }
        read(rest);
        weigh(free, SPACE_END);
        best.map(|(_, start)| start)
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
        self.placed.clear();
        self.pins.clear();
        self.covers.clear();
        self.list.clear();
        self.unlisted.clear();
        self.wasted = 0;
        self.searches = (0, 0);
        self.reads_only = false;
        self.remaining = order.len();
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
        self.remaining = self.smallest_from.len().saturating_sub(count);
        self.floor = self.smallest_from.get(count).copied().unwrap_or(1).max(1);
    }

    fn find(&mut self, group: u32) -> Option<u64> {
        let timeline = self.timeline;
        let group = &timeline.groups[group as usize];
        let need = group.size;
        if self.reads_only {
            if self.unlisted.len() > UNLISTED {
                self.update_list();
            }
            self.unlisted.sort_unstable();
            return self.read_through(timeline.runs(group), need);
        }
        let mut sets = std::mem::take(&mut self.sets);
        let mut few = std::mem::take(&mut self.few);
        sets.clear();
        few.clear();
        let runs = timeline.runs(group);
        let mut pins: Vec<&FreeChunks> = Vec::new();
        for &run in runs {
            let cover = self.column(run).and_then(|column| Some((column, self.covers.get(&column)?)));
            // Spans are numbered from the top: what is numbered no higher than the column is the column or above it.
            let covered = cover.map_or(0, |(column, _)| (self.leaves >> self.column_bits) + column);
            pins.extend(cover.map(|(_, free)| free));
            self.visit(run, |span| match span {
                Span::Part(span) if !self.some[span].0.is_empty() => sets.push((true, span)),
                Span::Above(span) if span > covered && !self.whole[span].0.is_empty() => {
                    sets.push((false, span));
                }
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
        let of_covers = pins.len();
        for &run in runs {
            pins.extend(self.pins.range(run.start..=run.end).take(PINS_LOOKED_AT).map(|(_, pin)| pin));
        }
        if pins.len() > of_covers + PINS_PER_SEARCH {
            pins[of_covers..].sort_by_cached_key(|pin| std::cmp::Reverse(pin.top()));
            pins.truncate(of_covers + PINS_PER_SEARCH);
        }
        // The fullest pin leaves the least above it, where several sets may have to be leapt through.
        let guide = (0..pins.len()).max_by_key(|i| pins[*i].top()).map(|i| pins.swap_remove(i));
        let mut search = Search {
            sets: pins
                .into_iter()
                .map(Set::Pin)
                .chain(sets.iter().map(|&(is_some, span)| {
                    Set::Blocks(if is_some { &self.some[span] } else { &self.whole[span] })
                }))
                .chain([Set::Few(&mut few)])
                .collect(),
            need,
            alignment: self.alignment,
            best: None,
            leaps: 0,
            most_leaps: self.free_leaps + (self.list.len() + self.unlisted.len()) / ENTRIES_PER_LEAP,
            last_to_leap: 0,
        };
        let mut candidate_count = 0;
        match guide {
            Some(guide) => {
                let mut candidates: Vec<(u64, u64)> = guide.holding(need).collect();
                candidates.sort_unstable();
                candidate_count = candidates.len();
                for (start, end) in candidates {
                    if search.within(start, end) {
                        break;
                    }
                }
            }
            None => {
                search.within(0, SPACE_END);
            }
        }
        let leaps = search.leaps;
        let is_given_up = leaps > search.most_leaps;
        let mut found = search.best.map(|(_, start)| start);
        drop(search);
        self.searches.0 += 1;
        self.searches.1 += usize::from(is_given_up);
        if self.searches.0 == SEARCHES {
            self.reads_only = 2 * self.searches.1 > SEARCHES;
            self.searches = (0, 0);
        }
        let wasted = if is_given_up {
            // What reading through costs counts as well.
            Some(leaps + self.placed.len() / ENTRIES_PER_LEAP)
        } else {
            leaps.checked_sub(self.free_leaps + 2 * sets.len() + 4 * candidate_count)
        };
        if let Some(wasted) = wasted {
            self.wasted += wasted;
            let is_paid_for = self.wasted > self.placed.len() / 2 + self.remaining / 4;
            let open = runs
                .iter()
                .filter_map(|run| self.column(*run))
                .find(|column| !self.covers.contains_key(column));
            match (open, runs.iter().max_by_key(|run| run.end - run.start)) {
                // A cover serves all that is to come in its column, and costs each of those around it a little.
                (Some(column), _) if self.wasted > self.placed.len() / 8 + self.remaining / 16 => {
                    self.cover(column);
                    self.wasted = 0;
                }
                (None, Some(&run)) if is_paid_for => {
                    self.pin(self.fullest_tick(run));
                    self.wasted = 0;
                }
                _ => {}
            }
        }
        self.sets = sets;
        self.few = few;
        if is_given_up {
            self.update_list();
            found = self.read_through(runs, need);
        }
        found
    }

    fn occupy(&mut self, group_at: u32, offset: u64) {
        let timeline = self.timeline;
        let group = &timeline.groups[group_at as usize];
        let (start, end) = (offset, round_up(offset + group.size, self.alignment));
        let floor = self.floor;
        self.placed.push((group_at, offset));
        let listed = |run: &Run| Listed { start, end, first: run.start, last: run.end };
        self.unlisted.extend(timeline.runs(group).iter().map(listed));
        if self.reads_only {
            return;
        }
        for run in timeline.runs(group) {
            for (_, pin) in self.pins.range_mut(run.start..=run.end) {
                occupy_pin(pin, start, end);
            }
            let columns = self.columns_covered(*run);
            for (_, cover) in self.covers.range_mut(columns) {
                occupy_pin(cover, start, end);
            }
        }
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

/// Takes `[start, end)` out of a pin's free chunks. What lives at one tick does not overlap, so it is always free.
fn occupy_pin(free: &mut FreeChunks, start: u64, end: u64) {
    let is_free = free.allocate(start, end.min(SPACE_END));
    debug_assert!(is_free, "two buffers at one address at one tick");
}

/// One of the sets that a place must avoid.
enum Set<'s> {
    Blocks(&'s Blocks),
    Pin(&'s FreeChunks),
    Few(&'s mut Few),
}

impl Set<'_> {
    fn gap(&mut self, from: u64, need: u64) -> Option<(u64, u64)> {
        match self {
            Set::Blocks(blocks) => blocks.gap(from, need),
            Set::Pin(free) => free.next_from(from, need),
            Set::Few(few) => few.gap(from, need),
        }
    }
}

/// The search for the smallest gap of at least `need` that all sets have in common; the lowest of several.
struct Search<'s> {
    sets: Vec<Set<'s>>,
    need: u64,
    alignment: u64,
    /// Size and start.
    best: Option<(u64, u64)>,
    leaps: usize,
    /// After so many the search is given up.
    most_leaps: usize,
    /// The set that leapt last: likely to refuse the next candidate as well, so it is asked first.
    last_to_leap: usize,
}

impl Search<'_> {
    /// Looks for gaps in `[low, high)`; from call to call the ranges rise. `true` if there is no use
    /// in going on: none can be better any more, or the leaps are used up.
    fn within(&mut self, low: u64, high: u64) -> bool {
        // `[from, end)` is free in the `agreed` sets looked at last.
        let (mut from, mut end, mut agreed, mut next) = (low, high, 0, self.last_to_leap);
        while high.saturating_sub(from) >= self.need {
            self.leaps += 1;
            if self.leaps > self.most_leaps {
                return true;
            }
            let Some((gap_start, gap_end)) = self.sets[next].gap(from, self.need) else { break };
            if gap_start > from {
                self.last_to_leap = next;
                (from, end, agreed) = (gap_start, gap_end.min(high), 1);
            } else {
                end = end.min(gap_end);
                agreed += 1;
            }
            if end.saturating_sub(from) < self.need {
                (from, end, agreed) = (end.max(from), high, 0);
            }
            if agreed == self.sets.len() {
                let size = end - from;
                if self.best.is_none_or(|(smallest, _)| size < smallest) {
                    self.best = Some((size, from));
                    if size - self.need < self.alignment {
                        return true; // no gap can be smaller, and this one is the lowest of its size
                    }
                }
                (from, end, agreed) = (end, high, 0);
            }
            next = if next + 1 == self.sets.len() { 0 } else { next + 1 };
        }
        false
    }
}
