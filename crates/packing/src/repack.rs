//! Packing again after an edit: only what the edit can change is searched anew.

use std::cell::{Cell, RefCell};

use crate::best_fit::GapFinder;
use crate::occupancy::Occupancy;
use crate::plain::{Plain, overlap};
use crate::timeline::{Group, KeyIndex, Timeline};
use crate::{Algorithm, Event, Options, PackError, Packing, pack_with};

/// Packs a trace again and again while it is edited, and gives the same as [`pack`](crate::pack) each time.
///
/// Best fit places groups in a sorted order, and where a group goes depends only on what was placed before it and lives with
/// it. So a group keeps its place if nothing that is different now was, or is, in its way: neither what was edited, nor what
/// has moved since. Fast merge, fast split and heaps with a limit are packed from scratch.
///
/// ```
/// use packing::{BufferKey, Event, Options, Repacker, pack};
///
/// let trace = |size| {
///     let alloc = |buffer, size| Event::Alloc { buffer: BufferKey(buffer), size };
///     let free = |buffer| Event::Free { buffer: BufferKey(buffer) };
///     [alloc(0, 512), alloc(1, size), free(0), free(1), alloc(2, 256), free(2)]
/// };
/// let options = Options::default();
/// let mut repacker = Repacker::new(options.clone());
/// assert_eq!(repacker.pack(&trace(64)), pack(&trace(64), &options));
/// assert_eq!(repacker.pack(&trace(128)), pack(&trace(128), &options));
/// assert_eq!(repacker.searches(), 2); // the edited buffer, once in each of two orders
/// # Ok::<(), packing::PackError>(())
/// ```
pub struct Repacker {
    options: Options,
    kept: Option<Kept>,
    searches: usize,
}

/// What the last packing was made of.
struct Kept {
    events: Vec<Event>,
    timeline: Timeline,
    /// One for each order, in the order in which they were made.
    fills: Vec<Fill>,
}

/// One heap filled.
#[derive(Default)]
struct Fill {
    /// Groups in the order in which they were placed.
    order: Vec<u32>,
    /// By group: its position in `order`.
    ranks: Vec<u32>,
    /// By group.
    offsets: Vec<u64>,
}

impl Repacker {
    /// Nothing is known yet.
    pub fn new(options: Options) -> Self {
        Self { options, kept: None, searches: 0 }
    }

    /// The options of all its packings.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// For how many groups the last packing looked for a place, in all orders together.
    pub fn searches(&self) -> usize {
        self.searches
    }

    /// The same as [`pack`](crate::pack) of the events. What is known of the trace before is used, whatever was edited; little
    /// is won where much was.
    ///
    /// # Errors
    /// Those of [`pack`](crate::pack). Then the trace before is still what the next one is compared with.
    pub fn pack(&mut self, events: &[Event]) -> Result<Packing, PackError> {
        let timeline = Timeline::new(events)?;
        let is_best_fit = matches!(
            self.options.algorithm,
            Algorithm::BestOfSpatialTemporal | Algorithm::Spatial | Algorithm::Temporal
        );
        self.searches = 0;
        if !is_best_fit || self.options.limit.is_some() {
            self.searches = timeline.groups.len();
            return pack_with(&timeline, &self.options, Occupancy::new);
        }
        let matched = self.kept.as_ref().map(|kept| Matched::new(kept, events, &timeline));
        let (fills, searches) = (RefCell::new(Vec::new()), Cell::new(0));
        let begun = Cell::new(0);
        let packing = pack_with(&timeline, &self.options, |timeline, alignment| {
            let number = begun.replace(begun.get() + 1);
            let before = self.kept.as_ref().zip(matched.as_ref()).and_then(|(kept, matched)| {
                Some(Before { timeline: &kept.timeline, fill: kept.fills.get(number)?, matched })
            });
            Retracing {
                timeline,
                before,
                fills: &fills,
                searches: &searches,
                is_searched: Vec::new(),
                different: Vec::new(),
                plain: Plain::new(timeline, alignment),
                passed: 0,
                occupancy: None,
                count: 0,
            }
        })?;
        self.searches = searches.get();
        self.kept = Some(Kept { events: events.to_vec(), timeline, fills: fills.into_inner() });
        Ok(packing)
    }
}

/// Which groups are the same in two traces: of the same buffers with the same sizes, and each lying to each other as before.
struct Matched {
    /// By group now: its number before.
    before: Vec<Option<u32>>,
    /// The others, as they were and as they are.
    edited: Vec<(Option<u32>, Option<u32>)>,
}

impl Matched {
    fn new(kept: &Kept, events: &[Event], timeline: &Timeline) -> Self {
        let both: Vec<Event> = kept.events.iter().chain(events).copied().collect();
        let keys = KeyIndex::new(&both);
        let mut is_edited = vec![false; keys.len()];
        out_of_step(&kept.events, events, |event| keys.of(event.buffer()), &mut is_edited);
        let is_touched = |timeline: &Timeline, group: &Group| {
            timeline.members(group).iter().any(|member| is_edited[keys.of(*member)])
        };
        // By root: the group before.
        let mut roots: Vec<Option<u32>> = vec![None; keys.len()];
        for (group, number) in kept.timeline.groups.iter().zip(0..) {
            roots[keys.of(group.root)] = Some(number);
        }
        let (mut before, mut edited) = (Vec::with_capacity(timeline.groups.len()), Vec::new());
        for (group, now) in timeline.groups.iter().zip(0..) {
            let old = roots[keys.of(group.root)].take();
            let is_same = old.is_some_and(|old| {
                !is_touched(timeline, group)
                    && !is_touched(&kept.timeline, &kept.timeline.groups[old as usize])
            });
            before.push(old.filter(|_| is_same));
            if !is_same {
                edited.push((old, Some(now)));
            }
        }
        edited.extend(roots.into_iter().flatten().map(|old| (Some(old), None)));
        Self { before, edited }
    }
}

/// Marks owners until the two rows, without what belongs to marked ones, are equal. Few, if one was made of the other by
/// moving, changing, removing or adding few.
fn out_of_step<T: PartialEq>(old: &[T], new: &[T], owner: impl Fn(&T) -> usize, marks: &mut [bool]) {
    let (mut i, mut j) = (0, 0);
    loop {
        while old.get(i).is_some_and(|item| marks[owner(item)]) {
            i += 1;
        }
        while new.get(j).is_some_and(|item| marks[owner(item)]) {
            j += 1;
        }
        match (old.get(i), new.get(j)) {
            (None, None) => return,
            (Some(a), Some(b)) if a == b => (i, j) = (i + 1, j + 1),
            (Some(a), Some(b)) => {
                let (is_gone, is_new) = (old.get(i + 1) == Some(b), new.get(j + 1) == Some(a));
                marks[owner(a)] |= is_gone || !is_new;
                marks[owner(b)] |= !is_gone;
            }
            (Some(only), None) | (None, Some(only)) => marks[owner(only)] = true,
        }
    }
}

struct Before<'k> {
    timeline: &'k Timeline,
    fill: &'k Fill,
    matched: &'k Matched,
}

/// A group that is, or may be, in the way of others otherwise than before.
struct Different {
    before: Option<u32>,
    now: Option<u32>,
    /// Where it stands now, once it does.
    offset: Option<u64>,
}

/// With more than so many differences it is not worth while to ask which of them matter.
const MOST_DIFFERENT: usize = 256;
/// Placing a group in the sets that make searches quick takes about as long as passing so many in a plain search.
const PASSED_PER_PLACED: usize = 32;

/// Gives groups the places that they had, as long as it is sure that they would be found.
struct Retracing<'a> {
    timeline: &'a Timeline,
    before: Option<Before<'a>>,
    fills: &'a RefCell<Vec<Fill>>,
    searches: &'a Cell<usize>,
    /// By group: its turn comes in another order than before.
    is_searched: Vec<bool>,
    different: Vec<Different>,
    plain: Plain<'a>,
    /// How many groups plain searches have passed.
    passed: usize,
    occupancy: Option<Occupancy<'a>>,
    /// How many have been dealt with.
    count: usize,
}

impl Retracing<'_> {
    /// Where the group stood before, if it must stand there again.
    fn same_place(&self, group: u32) -> Option<u64> {
        let before = self.before.as_ref()?;
        if self.is_searched[group as usize] || self.different.len() > MOST_DIFFERENT {
            return None;
        }
        let old = before.matched.before[group as usize]?;
        let lives_with = |timeline: &Timeline, a: u32, b: u32| {
            let (a, b) = (&timeline.groups[a as usize], &timeline.groups[b as usize]);
            overlap(timeline.runs(a), timeline.runs(b))
        };
        let ranks = &before.fill.ranks;
        let is_in_the_way_as_before = |different: &Different| {
            let was = different.before.filter(|other| {
                ranks[*other as usize] < ranks[old as usize] && lives_with(before.timeline, *other, old)
            });
            let was = was.map(|other| {
                (before.fill.offsets[other as usize], before.timeline.groups[other as usize].size)
            });
            let is = different.now.zip(different.offset);
            let is = is.filter(|(other, _)| lives_with(self.timeline, *other, group));
            was == is.map(|(other, offset)| (offset, self.timeline.groups[other as usize].size))
        };
        self.different.iter().all(is_in_the_way_as_before).then(|| before.fill.offsets[old as usize])
    }
}

impl GapFinder for Retracing<'_> {
    fn begin_heap(&mut self, order: &[u32]) {
        let groups = self.timeline.groups.len();
        let mut ranks = vec![0; groups];
        for (group, rank) in order.iter().zip(0..) {
            ranks[*group as usize] = rank;
        }
        self.fills.borrow_mut().push(Fill { order: order.to_vec(), ranks, offsets: vec![0; groups] });
        self.is_searched = vec![false; groups];
        let Some(before) = &self.before else { return };
        // What is the same stands in the same order, but for a few.
        let mut now_of: Vec<Option<u32>> = vec![None; before.timeline.groups.len()];
        for (old, now) in before.matched.before.iter().zip(0..) {
            if let Some(old) = old {
                now_of[*old as usize] = Some(now);
            }
        }
        let old_order: Vec<u32> = before.fill.order.iter().filter_map(|old| now_of[*old as usize]).collect();
        let is_same = |now: &u32| before.matched.before[*now as usize].is_some();
        let new_order: Vec<u32> = order.iter().copied().filter(is_same).collect();
        out_of_step(&old_order, &new_order, |now| *now as usize, &mut self.is_searched);
        let moved = (0..groups as u32).filter(|now| self.is_searched[*now as usize]);
        let moved = moved.map(|now| (before.matched.before[now as usize], Some(now)));
        let all = before.matched.edited.iter().copied().chain(moved);
        self.different = all.map(|(before, now)| Different { before, now, offset: None }).collect();
    }

    fn find(&mut self, group: u32) -> Option<u64> {
        if let Some(offset) = self.same_place(group) {
            return Some(offset);
        }
        self.searches.set(self.searches.get() + 1);
        let is_plain_enough = self.passed <= PASSED_PER_PLACED * self.is_searched.len();
        if self.occupancy.is_none() && (self.before.is_none() || !is_plain_enough) {
            let mut occupancy = Occupancy::new(self.timeline, self.plain.alignment);
            let fills = self.fills.borrow();
            occupancy.begin_heap(&fills.last()?.order);
            occupancy.advance(self.count);
            for (placed, offset) in &self.plain.placed {
                occupancy.occupy(*placed, *offset);
            }
            self.occupancy = Some(occupancy);
        }
        match &mut self.occupancy {
            Some(occupancy) => occupancy.find(group),
            None => {
                self.passed += self.plain.placed.len();
                self.plain.find(group)
            }
        }
    }

    fn occupy(&mut self, group: u32, offset: u64) {
        if let Some(fill) = self.fills.borrow_mut().last_mut() {
            fill.offsets[group as usize] = offset;
        }
        match &mut self.occupancy {
            Some(occupancy) => occupancy.occupy(group, offset),
            None => self.plain.occupy(group, offset),
        }
        let Some(before) = &self.before else { return };
        if self.different.len() > MOST_DIFFERENT {
            return;
        }
        let old = before.matched.before[group as usize];
        if old.is_none() || self.is_searched[group as usize] {
            for different in self.different.iter_mut().filter(|different| different.now == Some(group)) {
                different.offset = Some(offset);
            }
        } else if old.is_some_and(|old| before.fill.offsets[old as usize] != offset) {
            self.different.push(Different { before: old, now: Some(group), offset: Some(offset) });
        }
    }

    fn advance(&mut self, count: usize) {
        self.count = count;
        if let Some(occupancy) = &mut self.occupancy {
            occupancy.advance(count);
        }
    }
}
