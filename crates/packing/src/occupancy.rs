//! Which addresses are taken when: the fast answer to "which gap?".
//!
//! Ticks are cut into *columns*; the first tick of each is a *boundary*. In each stretch of equal width one is set, where the
//! most will live. What must be avoided by a run is found in a few sets:
//!
//! * a *pin*: all that lives at a boundary. It does not overlap, so its free chunks are few and are found by size.
//! * a *cover*: all that lives at both boundaries of a column and so at every tick in it. The same, for what lives within
//!   the column only.
//! * *near*: what begins or ends near the run's ends. Each tick has one event, so it is read from a row, tick by tick.
//! * *touching*: what lives at any tick of a span of columns, as a union.
//!
//! A run within a column needs the column's cover, and the ticks of the column. A run over a few boundaries needs one pin, and
//! its own ticks: what overlaps it without living at the pin begins or ends within it. A longer one is cut into the fewest spans
//! of columns; what overlaps it touches one of them, lives at the boundary behind them, or ends or begins in the rest on
//! either side.
//!
//! The best pin of a run is its fullest boundary. A tree tells which that is, and another what ends highest. If less than
//! what is needed is free at the fullest boundary below that end, there is nothing to search.
//!
//! Sets are brought up to date when they are asked. Until then what is placed stands in logs, one for each node of a tree of
//! columns, so that placing costs a logarithm.
//!
//! Where very many chunks are free all through a run's life, comparing them takes as long as reading through all that is placed.
//! When searches have compared many, [`Holes`] take over: they answer at once, but cost more at each placement. If they cost
//! too much, sets are asked again.
//!
//! Results are those of [`crate::plain`]. What it relies on: offsets are aligned and the ends of what is occupied are
//! rounded up here, so every gap begins aligned and the intersection of gaps does, too.

use crate::best_fit::{GapFinder, SPACE_END, round_up};
use crate::gaps::{Gaps, Range};
use crate::holes::Holes;
use crate::spans::{Fullness, Tops, for_nodes};
use crate::timeline::{Run, Tick, Timeline};

/// Whether holes may take over. What is not asked for is not compiled.
const HAS_HOLES: bool = cfg!(feature = "holes");

/// How much of a set's logs it has taken in.
#[derive(Default)]
struct Known {
    gaps: Gaps,
    /// By level, from the leaf up; then that of what ends in the column, and that of what begins in the span.
    seen: Vec<u32>,
}

/// A set that must be avoided, apart from what is near.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Set {
    Pin(usize),
    Cover(usize),
    Touching(usize),
}

impl Set {
    /// Orders the widest span first.
    fn narrowness(&self) -> (usize, Set) {
        (if let Set::Touching(span) = self { *span } else { usize::MAX }, *self)
    }
}

/// How the work is shared out. The results are the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Ticks to a stretch, as a power of two.
    pub column_bits: u32,
    /// A run over at most so many columns is read tick by tick.
    pub near_columns: usize,
    /// So many chunks of one pin are looked at one by one.
    pub few_windows: usize,
    /// So many chunks may be compared, for each run that has been placed, before holes take over; more, where most of the heap is
    /// done.
    pub patience: u64,
    /// So much may holes cost, for each run that has been placed, before sets are asked again: [`Holes::work`].
    pub effort: u64,
}

pub(crate) struct Occupancy<'t> {
    timeline: &'t Timeline,
    alignment: u64,
    settings: Settings,
    /// By column: its first tick. The first column begins at 0, the others where stretches are fullest.
    boundary_ticks: Vec<Tick>,
    /// Number of columns, a power of two. Spans are numbered as in a heap: 1 is all, `leaves + c` is column `c`.
    leaves: usize,
    /// Spans numbered below it are too wide for any run.
    first_span: usize,
    /// By tick: that of the other end of the run that begins or ends there. The tick itself where nothing stands.
    partner: Vec<Tick>,
    /// By tick: where it stands.
    address: Vec<Range>,
    /// By number of placement.
    placed: Vec<Range>,
    /// What has been placed.
    groups: Vec<u32>,
    /// How many of them stand in the logs.
    logged: usize,
    /// By boundary and by what lies between: even and odd cells.
    tops: Tops,
    fullness: Fullness,
    /// By span: what lives at every tick of it and of the boundary behind it, and is in no wider span.
    covering: Vec<Vec<u32>>,
    /// The levels of `covering`, from the leaves up, at which there is anything: bits of a number.
    covering_levels: u64,
    /// By column: what lives at its boundary but not at the next one.
    ending: Vec<Vec<u32>>,
    /// By span: what begins in it, but not at its first tick.
    beginning: Vec<Vec<u32>>,
    pins: Vec<Option<Box<Known>>>,
    covers: Vec<Option<Box<Known>>>,
    touching: Vec<Option<Box<Known>>>,
    /// Sizes of the smallest group from each position of the order on.
    smallest_from: Vec<u64>,
    floor: u64,
    /// What comes to this heap, and how much of it has been dealt with.
    order: Vec<u32>,
    dealt_with: usize,
    /// How many runs have been placed.
    runs: u64,
    /// How many chunks have been compared, and what sets have cost, as so many.
    compared: u64,
    holes: Option<Holes>,
    /// How many were to come when holes were last told of them.
    expected: usize,
    has_given_up: bool,
    /// Of one search; kept for their memory.
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    sets: Vec<Set>,
    near: Vec<Range>,
    windows: Vec<Range>,
    narrowed: Vec<Range>,
    news: Vec<Range>,
}

impl<'t> Occupancy<'t> {
    pub(crate) fn new(timeline: &'t Timeline, alignment: u64) -> Self {
        // Reading a column costs its width for each group, and bringing up what covers it costs a group's length by that
        // width, a few times as much. Narrower columns than these need more memory than they spare reading.
        let length = |run: &Run| u64::from(run.end - run.start);
        let total: u64 = timeline.groups.iter().flat_map(|group| timeline.runs(group)).map(length).sum();
        let mean = total / (timeline.groups.len() as u64).max(1);
        let column_bits = (mean * 16).isqrt().next_power_of_two().trailing_zeros().clamp(8, 14);
        // A placement costs holes about as long as comparing so many chunks. Columns get wider where there is more, and more is
        // compared in them even where holes would not be quicker.
        let patience = (timeline.groups.len() as u64).isqrt().div_ceil(3).max(112);
        let settings = Settings { column_bits, near_columns: 4, few_windows: 32, patience, effort: 512 };
        Self::with_settings(timeline, alignment, settings)
    }

    pub(crate) fn with_settings(timeline: &'t Timeline, alignment: u64, settings: Settings) -> Self {
        let column_bits = settings.column_bits;
        let boundary_ticks = boundary_ticks(timeline, column_bits);
        let leaves = (boundary_ticks.len() + 1).next_power_of_two();
        let runs = timeline.groups.iter().flat_map(|group| timeline.runs(group));
        let longest = runs.map(|run| run.end - run.start).max().unwrap_or(0) as usize >> column_bits;
        let longest = longest + 1; // columns are of unequal width
        Self {
            timeline,
            alignment,
            settings,
            boundary_ticks,
            leaves,
            first_span: leaves >> longest.ilog2().min(leaves.ilog2()),
            partner: Vec::new(),
            address: Vec::new(),
            placed: Vec::new(),
            groups: Vec::new(),
            logged: 0,
            tops: Tops::default(),
            fullness: Fullness::default(),
            covering: Vec::new(),
            covering_levels: 0,
            ending: Vec::new(),
            beginning: Vec::new(),
            pins: Vec::new(),
            covers: Vec::new(),
            touching: Vec::new(),
            smallest_from: Vec::new(),
            floor: 1,
            order: Vec::new(),
            dealt_with: 0,
            runs: 0,
            compared: 0,
            holes: None,
            expected: 0,
            has_given_up: false,
            scratch: Scratch::default(),
        }
    }

    fn column(&self, tick: Tick) -> usize {
        let stretch = tick as usize >> self.settings.column_bits;
        stretch + usize::from(tick >= self.boundary_ticks[stretch + 1])
    }

    /// Boundaries are even cells, what lies between is odd.
    fn cell(&self, tick: Tick) -> usize {
        let column = self.column(tick);
        2 * column + usize::from(tick != self.boundary_ticks[column])
    }

    /// The first and last boundary at which the run lives.
    fn boundaries(&self, run: Run) -> Option<(usize, usize)> {
        let (first, last) = (self.cell(run.start).div_ceil(2), self.column(run.end));
        (first <= last).then_some((first, last))
    }

    /// What begins or ends in the run's column and overlaps the run, which has no boundary.
    fn read_column(&self, run: Run, near: &mut Vec<Range>) {
        let column = self.column(run.start);
        let boundary = self.boundary_ticks[column];
        let next = self.boundary_ticks.get(column + 1).map_or(self.timeline.ticks, |next| *next);
        let (start, end) = (run.start as usize, run.end as usize);
        // Before: what lives all through the run. What ends in it is found at its end.
        self.read(boundary as usize + 1, start, near, |_, partner| partner > run.end);
        self.read(start, end + 1, near, |tick, partner| {
            partner > tick || (partner < tick && partner < run.start)
        });
        // What began in this column has been found.
        self.read(end + 1, next as usize, near, |_, partner| partner <= boundary);
    }

    /// What ends at the ticks `from..to`.
    fn read_ends(&self, from: Tick, to: Tick, near: &mut Vec<Range>) {
        self.read(from as usize, to as usize, near, |tick, partner| partner < tick);
    }

    /// What begins at the ticks `from..to`.
    fn read_starts(&self, from: Tick, to: Tick, near: &mut Vec<Range>) {
        self.read(from as usize, to as usize, near, |tick, partner| partner > tick);
    }

    /// What stands at the ticks `from..to` of which `is_wanted` says so, from the tick and its partner.
    fn read(&self, from: usize, to: usize, near: &mut Vec<Range>, is_wanted: impl Fn(Tick, Tick) -> bool) {
        if from >= to {
            return;
        }
        let mut tick = from as Tick;
        for partners in self.partner[from..to].chunks(16) {
            let is_any = partners.iter().zip(tick..).fold(false, |any, (p, t)| any | is_wanted(t, *p));
            if is_any {
                for (partner, tick) in partners.iter().zip(tick..) {
                    if is_wanted(tick, *partner) {
                        near.push(self.address[tick as usize]);
                    }
                }
            }
            tick += partners.len() as Tick;
        }
    }

    /// Names the sets of a run of which boundaries `first..=last` are part, and reads what is near. Gives the one of which
    /// `fullest` is part.
    fn name_sets(
        &self,
        run: Run,
        (first, last): (usize, usize),
        fullest: usize,
        scratch: &mut Scratch,
    ) -> Set {
        let pin = Set::Pin(fullest);
        if last - first <= self.settings.near_columns {
            let tick = self.boundary_ticks[fullest];
            self.read_ends(run.start, tick, &mut scratch.near);
            self.read_starts(tick + 1, run.end + 1, &mut scratch.near);
            scratch.sets.push(pin);
            return pin;
        }
        self.read_ends(run.start, self.boundary_ticks[first], &mut scratch.near);
        self.read_starts(self.boundary_ticks[last] + 1, run.end + 1, &mut scratch.near);
        let mut guide = None;
        for_nodes(self.leaves, first, last - 1, |span| {
            let height = self.leaves.ilog2() - span.ilog2();
            if (self.leaves + fullest) >> height == span {
                guide = Some(Set::Touching(span));
            }
            scratch.sets.push(Set::Touching(span));
        });
        scratch.sets.push(Set::Pin(last));
        let widest = scratch.sets.iter().copied().min_by_key(Set::narrowness);
        guide.or(widest).unwrap_or(pin)
    }

    /// The set, brought up to date.
    fn bring_up(&mut self, set: Set, news: &mut Vec<Range>) -> &mut Gaps {
        let (known, column) = match set {
            Set::Pin(boundary) => (&mut self.pins[boundary], boundary),
            Set::Cover(column) => (&mut self.covers[column], column),
            Set::Touching(span) => {
                let height = self.leaves.ilog2() - span.ilog2();
                (&mut self.touching[span], (span << height) - self.leaves)
            }
        };
        let known = known.get_or_insert_default();
        let levels = self.leaves.ilog2() as usize + 1;
        known.seen.resize(levels + 2, 0);
        news.clear();
        let mut take_in = |log: &[u32], seen: &mut u32| {
            news.extend(log[*seen as usize..].iter().map(|at| self.placed[*at as usize]));
            *seen = log.len() as u32;
        };
        for (level, seen) in known.seen[..levels].iter_mut().enumerate() {
            if self.covering_levels >> level & 1 == 1 {
                take_in(&self.covering[(self.leaves + column) >> level], seen);
            }
        }
        if !matches!(set, Set::Cover(_)) {
            take_in(&self.ending[column], &mut known.seen[levels]);
        }
        if let Set::Touching(span) = set {
            take_in(&self.beginning[span], &mut known.seen[levels + 1]);
        }
        if !news.is_empty() {
            self.compared += known.gaps.take_all(news, self.floor);
        }
        &mut known.gaps
    }

    /// The smallest gap of at least `need`, the lowest of several, as (size, start): among the chunks of `guide`, but for what
    /// is near. Nothing else is in the way. For many chunks: only those in which something near lies are looked at.
    fn cut_chunks(guide: &mut Gaps, near: &[Range], need: u64) -> Option<(u64, u64)> {
        let mut best: Option<(u64, u64)> = None;
        let mut weigh = |start: u64, end: u64| {
            let size = end.saturating_sub(start);
            if size >= need && best.is_none_or(|best| (size, start) < best) {
                best = Some((size, start));
            }
        };
        let mut cut: Vec<u64> = Vec::new();
        let mut chunk: Option<Range> = None;
        // All below is weighed, or taken by something near.
        let mut free = 0;
        for &(start, end) in near {
            if chunk.is_none_or(|(_, chunk_end)| chunk_end <= start) {
                if let Some((chunk_start, chunk_end)) = chunk
                    && cut.last() == Some(&chunk_start)
                {
                    weigh(free, chunk_end);
                }
                chunk = guide.reaching(start);
            }
            while let Some((chunk_start, chunk_end)) = chunk
                && chunk_start < end
            {
                if cut.last() != Some(&chunk_start) {
                    cut.push(chunk_start);
                    free = free.max(chunk_start);
                }
                weigh(free, start);
                free = free.max(end);
                if end < chunk_end {
                    break;
                }
                chunk = guide.reaching(chunk_end);
            }
        }
        if let Some((chunk_start, chunk_end)) = chunk
            && cut.last() == Some(&chunk_start)
        {
            weigh(free, chunk_end);
        }
        let whole = guide.by_size(need).find(|(_, start)| cut.binary_search(start).is_err());
        match (best, whole) {
            (Some(best), Some(whole)) => Some(best.min(whole)),
            (best, whole) => best.or(whole),
        }
    }
}

/// The first ticks of the columns.
fn boundary_ticks(timeline: &Timeline, column_bits: u32) -> Vec<Tick> {
    // What begins and ends at each tick; sums may wrap around and come back.
    let mut changes = vec![0_u64; timeline.ticks as usize + 1];
    for group in &timeline.groups {
        for run in timeline.runs(group) {
            let (start, after) = (run.start as usize, run.end as usize + 1);
            changes[start] = changes[start].wrapping_add(group.size);
            changes[after] = changes[after].wrapping_sub(group.size);
        }
    }
    let mut ticks = vec![0];
    let mut live = 0_u64;
    for (stretch, changes) in changes.chunks(1 << column_bits).enumerate() {
        let (mut fullest, mut most) = (0, 0);
        for (at, change) in changes.iter().enumerate() {
            live = live.wrapping_add(*change);
            if live > most {
                (fullest, most) = (at, live);
            }
        }
        ticks.push(((stretch << column_bits) + fullest) as Tick);
    }
    ticks
}

/// What is free of each window but for `near`, which is in order.
fn narrow_by_near(windows: &[Range], near: &[Range], need: u64, narrowed: &mut Vec<Range>) {
    narrowed.clear();
    let mut next = 0;
    // The highest end of what has been passed: it may reach into windows to come.
    let mut reached = 0;
    for &(low, high) in windows {
        let mut free = low.max(reached);
        while let Some(&(start, end)) = near.get(next)
            && start < high
        {
            if start.saturating_sub(free) >= need {
                narrowed.push((free, start));
            }
            reached = reached.max(end);
            free = free.max(end);
            next += 1;
        }
        if high.saturating_sub(free) >= need {
            narrowed.push((free, high));
        }
    }
}

impl GapFinder for Occupancy<'_> {
    fn begin_heap(&mut self, order: &[u32]) {
        let ticks = self.timeline.ticks;
        if self.partner.is_empty() {
            self.partner = (0..ticks).collect();
            self.address.resize(ticks as usize, (0, 0));
        }
        for at in self.groups.drain(..) {
            for run in self.timeline.runs(&self.timeline.groups[at as usize]) {
                for tick in [run.start, run.end] {
                    self.partner[tick as usize] = tick;
                }
            }
        }
        self.placed.clear();
        (self.logged, self.dealt_with) = (0, 0);
        (self.runs, self.compared) = (0, 0);
        (self.holes, self.has_given_up) = (None, false);
        self.order.clear();
        self.order.extend(order);
        self.covering_levels = 0;
        self.tops.reset(2 * self.leaves);
        self.fullness.reset(self.leaves);
        for (logs, count) in [
            (&mut self.covering, 2 * self.leaves),
            (&mut self.ending, self.leaves),
            (&mut self.beginning, 2 * self.leaves),
        ] {
            logs.iter_mut().for_each(Vec::clear);
            logs.resize(count, Vec::new());
        }
        for (known, count) in [
            (&mut self.pins, self.leaves),
            (&mut self.covers, self.leaves),
            (&mut self.touching, 2 * self.leaves),
        ] {
            known.clear();
            known.resize_with(count, || None);
        }
        self.smallest_from.clear();
        let mut smallest = u64::MAX;
        self.smallest_from.extend(order.iter().rev().map(|at| {
            smallest = smallest.min(self.timeline.groups[*at as usize].size);
            smallest
        }));
        self.smallest_from.reverse();
    }

    fn advance(&mut self, count: usize) {
        self.dealt_with = count;
        self.floor = self.smallest_from.get(count).copied().unwrap_or(1).max(1);
    }

    fn find(&mut self, group: u32) -> Option<u64> {
        let timeline = self.timeline;
        let group = &timeline.groups[group as usize];
        let need = group.size;
        let runs = timeline.runs(group);

        // What ends highest among what overlaps lies between these two.
        let (mut upper, mut lower) = (0, 0);
        let mut fullest: Option<(u64, usize)> = None;
        for &run in runs {
            upper = upper.max(self.tops.max(self.cell(run.start), self.cell(run.end)));
            if let Some((first, last)) = self.boundaries(run) {
                lower = lower.max(self.tops.max(2 * first, 2 * last));
                fullest = fullest.max(Some(self.fullness.fullest(first, last)));
            }
        }
        let above_all = (SPACE_END.saturating_sub(upper) >= need).then_some(upper);
        // No gap below `upper` from `from` on is large enough, and something overlapping ends there.
        let is_above_all = |free_below: u64| upper == lower && free_below < need;
        if upper == 0 || fullest.is_some_and(|(full, _)| is_above_all(upper - full)) {
            return above_all;
        }

        let mut scratch = std::mem::take(&mut self.scratch);
        if let Some(holes) = self.holes.as_mut().filter(|_| HAS_HOLES) {
            let found =
                holes.find(runs, need, &mut scratch.windows, &mut scratch.narrowed, &mut scratch.news);
            self.scratch = scratch;
            return found;
        }
        scratch.sets.clear();
        scratch.near.clear();
        let mut guide = (0, Set::Cover(self.column(runs[0].start)));
        for &run in runs {
            let Some((first, last)) = self.boundaries(run) else {
                scratch.sets.push(Set::Cover(self.column(run.start)));
                self.read_column(run, &mut scratch.near);
                continue;
            };
            let (full, fullest) = self.fullness.fullest(first, last);
            let set = self.name_sets(run, (first, last), fullest, &mut scratch);
            if full >= guide.0 {
                guide = (full, set);
            }
        }
        let (_, guide) = guide;
        let found = self.search(guide, need, &mut scratch, is_above_all, upper);
        self.scratch = scratch;
        found.filter(|start| SPACE_END.saturating_sub(*start) >= need)
    }

    fn occupy(&mut self, group_at: u32, offset: u64) {
        let timeline = self.timeline;
        let group = &timeline.groups[group_at as usize];
        let (start, end) = (offset, round_up(offset + group.size, self.alignment).min(SPACE_END));
        self.placed.push((start, end));
        self.groups.push(group_at);
        for &run in timeline.runs(group) {
            for (tick, partner) in [(run.start, run.end), (run.end, run.start)] {
                self.partner[tick as usize] = partner;
                self.address[tick as usize] = (start, end);
            }
            self.tops.raise(self.cell(run.start), self.cell(run.end), end);
            if let Some((first, last)) = self.boundaries(run) {
                self.fullness.add(first, last, end - start);
            }
            if let Some(holes) = self.holes.as_mut().filter(|_| HAS_HOLES) {
                holes.take(run, (start, end));
            }
        }
        self.runs += timeline.runs(group).len() as u64;
        if self
            .holes
            .as_ref()
            .is_some_and(|holes| holes.work() > self.settings.effort.saturating_mul(self.runs))
        {
            self.holes = None;
            self.has_given_up = true;
        }
        if HAS_HOLES && self.holes.is_some() {
            // What nothing more fits into need not be kept.
            if (self.order.len() - self.dealt_with) * 4 < self.expected * 3 {
                self.expect();
            }
            return;
        }
        self.log();
        // Holes are cut for all that has been placed, and spare comparing for what remains only.
        let (all, remaining) = (self.order.len() as u64, (self.order.len() - self.dealt_with) as u64);
        let spared = self.compared.saturating_mul(all.min(2 * remaining));
        let wanted = self.settings.patience.saturating_mul(self.runs.saturating_mul(all));
        if HAS_HOLES && spared > wanted && !self.has_given_up {
            self.dig();
        }
    }
}

impl Occupancy<'_> {
    /// Puts what has been placed into the logs.
    fn log(&mut self) {
        let timeline = self.timeline;
        for number in self.logged..self.placed.len() {
            for &run in timeline.runs(&timeline.groups[self.groups[number] as usize]) {
                self.log_run(run, number as u32);
            }
        }
        self.logged = self.placed.len();
    }

    fn log_run(&mut self, run: Run, number: u32) {
        if let Some((first, last)) = self.boundaries(run) {
            if first < last {
                for_nodes(self.leaves, first, last - 1, |span| {
                    self.covering[span].push(number);
                    self.covering_levels |= 1 << (self.leaves.ilog2() - span.ilog2());
                });
            }
            self.ending[last].push(number);
        }
        let (column, is_between) = (self.column(run.start), self.cell(run.start) % 2 == 1);
        let mut span = self.leaves + column;
        let mut first = column;
        let mut width = 1;
        while span >= self.first_span {
            if is_between || first != column {
                self.beginning[span].push(number);
            }
            span /= 2;
            width *= 2;
            first &= !(width - 1);
        }
    }

    /// From now on holes are asked.
    fn dig(&mut self) {
        let timeline = self.timeline;
        self.holes = Some(Holes::new(timeline.ticks));
        self.expect();
        for (group, place) in self.groups.iter().zip(&self.placed) {
            for run in timeline.runs(&timeline.groups[*group as usize]) {
                if let Some(holes) = &mut self.holes {
                    holes.take(*run, *place);
                }
            }
        }
    }

    /// Tells the holes what is still to come.
    fn expect(&mut self) {
        let timeline = self.timeline;
        let Some(holes) = &mut self.holes else { return };
        let groups = self.order.iter().skip(self.dealt_with).map(|at| &timeline.groups[*at as usize]);
        holes.expect(groups.flat_map(|group| timeline.runs(group).iter().map(|run| (*run, group.size))));
        self.expected = self.order.len() - self.dealt_with;
    }

    fn search(
        &mut self,
        guide: Set,
        need: u64,
        scratch: &mut Scratch,
        is_above_all: impl Fn(u64) -> bool,
        upper: u64,
    ) -> Option<u64> {
        let Scratch { sets, near, windows, narrowed, news } = scratch;
        sets.retain(|set| *set != guide);
        let few = self.settings.few_windows;
        self.compared += near.len() as u64;
        windows.clear();
        if matches!(guide, Set::Cover(_)) && self.covering_levels == 0 {
            windows.push((0, SPACE_END));
        } else {
            let gaps = self.bring_up(guide, news);
            windows.extend(gaps.by_size(need).map(|(size, start)| (start, start + size)).take(few + 1));
            if windows.len() <= few {
                windows.sort_unstable();
            } else if sets.is_empty() {
                near.sort_unstable();
                return Self::cut_chunks(gaps, near, need).map(|(_, start)| start);
            } else {
                windows.clear();
                windows.extend(gaps.holding(need));
            }
        }
        if windows.len() > 1 || windows.first().is_some_and(|(start, _)| *start > 0) {
            near.retain(|(start, end)| {
                let next = windows.partition_point(|(_, high)| high <= start);
                windows.get(next).is_some_and(|(low, _)| low < end)
            });
        }
        near.sort_unstable();
        narrow_by_near(windows, near, need, narrowed);
        std::mem::swap(windows, narrowed);
        // The widest span first.
        sets.sort_unstable_by_key(Set::narrowness);
        sets.dedup();
        for &set in &*sets {
            match windows[..] {
                [] => return None,
                [(start, SPACE_END)] if is_above_all(upper.saturating_sub(start)) => return Some(upper),
                _ => {}
            }
            self.compared += windows.len() as u64;
            self.bring_up(set, news).narrow(windows, need, narrowed);
            std::mem::swap(windows, narrowed);
        }
        windows.iter().map(|(start, end)| (end - start, *start)).min().map(|(_, start)| start)
    }
}
