//! One question: do these items fit below this ceiling?
//!
//! The timeline is cut into *sections*, at each of which the same items live. Of each section it is known which items lie at
//! its bottom, in which order, and which at its top; the rest is open. A branch names the next one from below, or from
//! above, of one section: the one for which the fewest come into question. Lowest and highest places of all items follow
//! from these orders, and from what still has to have room between bottom and top of each section.

use std::ops::ControlFlow;

/// Offsets and sizes, in steps that all offsets are multiples of.
pub(super) type Unit = i64;

/// What is to be packed, with sizes in units. Every item has a section; no section's items are a subset of another's.
#[derive(Default)]
pub(super) struct Part {
    /// Sizes, at least 1.
    pub(super) sizes: Vec<Unit>,
    /// The items of each section.
    pub(super) sections: Vec<Vec<u32>>,
    /// For each item the one before it of the same size in the same sections, if there is one.
    pub(super) twin: Vec<Option<u32>>,
}

/// What a [`Search::run`] came to.
pub(super) enum Answer {
    /// A packing: the offset of each item.
    Fits(Vec<Unit>),
    /// There is none.
    Never,
    /// The limit of nodes was reached.
    OutOfNodes,
    /// The caller wants no more.
    Stopped,
}

/// Two orders of a pair are open until one is written here.
const OPEN: u8 = 0;
const BEFORE: u8 = 1;
const AFTER: u8 = 2;
/// They never live at one time.
const NEVER: u8 = 3;

/// Looks at items and sections until the caller is asked whether to go on: a few milliseconds.
const STEPS_A_TICK: u64 = 20_000;

/// A change to be taken back.
enum Change {
    Low(u32, Unit),
    High(u32, Unit),
    Bottom(u32),
    Top(u32),
    Order(u32, u32),
}

/// A branch: which item is next at one end of a section.
struct Frame {
    /// Length of the trail before it.
    trail: usize,
    section: u32,
    is_top: bool,
    /// Where its candidates begin in the common list; those before `next` were tried.
    next: usize,
    end: usize,
}

/// Consecutive sections of an item; `slot` is where what is kept for the first of them stands.
#[derive(Clone, Copy)]
struct Stretch {
    first: u32,
    last: u32,
    slot: u32,
}

/// An item in a section, with its slot there.
#[derive(Clone, Copy)]
struct Member {
    item: u32,
    slot: u32,
}

/// One section: its items are the bottom ones in order, the open ones in any order, the top ones in order.
struct Section {
    members: Vec<Member>,
    bottom: u32,
    top: u32,
    /// Sums of the sizes of each kind.
    bottom_size: Unit,
    open_size: Unit,
    top_size: Unit,
    /// How often it was here that it failed, and one more.
    failures: f64,
    is_queued: bool,
}

/// The search; what it learns about where it is hard stays for the next run.
pub(super) struct Search {
    sizes: Vec<Unit>,
    twin: Vec<Option<u32>>,
    /// Where each item's stretches are.
    stretches_of: Vec<std::ops::Range<u32>>,
    stretches: Vec<Stretch>,
    /// The items that live at one time with each.
    neighbours: Vec<Vec<u32>>,
    /// Lowest and highest offset of each item.
    low: Vec<Unit>,
    high: Vec<Unit>,
    sections: Vec<Section>,
    /// Per slot the sum of the sizes of those of the section that are known to lie below the item, and above it.
    under: Vec<Unit>,
    over: Vec<Unit>,
    /// Per pair of items which is below.
    pair: Vec<u8>,
    trail: Vec<Change>,
    frames: Vec<Frame>,
    candidates: Vec<u32>,
    /// Sections to be looked at.
    queue: Vec<u32>,
    /// Items whose places have changed.
    moved: Vec<u32>,
    is_moved: Vec<bool>,
    random: u64,
    /// Items and sections looked at so far.
    steps: u64,
    /// How often it was this item for which no place was left.
    failures: Vec<f64>,
    scratch: Vec<(Unit, Unit)>,
    /// Branches left of this run.
    left: u64,
    /// Is the last branch worth to be followed?
    alive: bool,
}

struct Failed;

impl Search {
    pub(super) fn new(part: Part) -> Self {
        let count = part.sizes.len();
        let mut of: Vec<Vec<Stretch>> = vec![Vec::new(); count];
        let mut slots = 0;
        let mut sections = Vec::with_capacity(part.sections.len());
        // The slots of a stretch are to be side by side, so they are given out when its end is known.
        for (s, items) in part.sections.iter().enumerate() {
            let s = s as u32;
            for i in items {
                match of[*i as usize].last_mut() {
                    Some(stretch) if stretch.last + 1 == s => stretch.last = s,
                    _ => of[*i as usize].push(Stretch { first: s, last: s, slot: 0 }),
                }
            }
        }
        let mut stretches_of = Vec::with_capacity(count);
        let mut stretches: Vec<Stretch> = Vec::new();
        for own in of {
            let begin = stretches.len() as u32;
            for mut stretch in own {
                stretch.slot = slots;
                slots += stretch.last - stretch.first + 1;
                stretches.push(stretch);
            }
            stretches_of.push(begin..stretches.len() as u32);
        }
        let mut pair = vec![NEVER; count * count];
        let mut next_stretch: Vec<u32> = stretches_of.iter().map(|r| r.start).collect();
        for (s, items) in part.sections.iter().enumerate() {
            let s = s as u32;
            let member = |i: &u32| {
                let at = &mut next_stretch[*i as usize];
                if stretches[*at as usize].last < s {
                    *at += 1;
                }
                let stretch = stretches[*at as usize];
                Member { item: *i, slot: stretch.slot + s - stretch.first }
            };
            let members: Vec<Member> = items.iter().map(member).collect();
            // Who was here before has met the others.
            let old: &[u32] = if s == 0 { &[] } else { &part.sections[s as usize - 1] };
            for a in items.iter().filter(|a| old.binary_search(a).is_err()) {
                for b in items.iter().filter(|b| a != *b) {
                    pair[*a as usize * count + *b as usize] = OPEN;
                    pair[*b as usize * count + *a as usize] = OPEN;
                }
            }
            sections.push(Section {
                top: members.len() as u32,
                members,
                bottom: 0,
                bottom_size: 0,
                open_size: 0,
                top_size: 0,
                failures: 1.0,
                is_queued: false,
            });
        }
        let neighbours = pair
            .chunks(count.max(1))
            .map(|row| (0..count as u32).filter(|j| row[*j as usize] != NEVER).collect())
            .collect();
        Self {
            sizes: part.sizes,
            twin: part.twin,
            stretches_of,
            stretches,
            neighbours,
            low: vec![0; count],
            high: vec![0; count],
            sections,
            under: vec![0; slots as usize],
            over: vec![0; slots as usize],
            pair,
            trail: Vec::new(),
            frames: Vec::new(),
            candidates: Vec::new(),
            queue: Vec::new(),
            moved: Vec::new(),
            is_moved: vec![false; count],
            random: 0x9e37_79b9_7f4a_7c15,
            steps: 0,
            failures: vec![0.0; count],
            scratch: Vec::new(),
            left: 0,
            alive: false,
        }
    }

    /// Searches anew with the highest offset of each item, at most `nodes` branches.
    pub(super) fn run(
        &mut self,
        highest: &[Unit],
        nodes: u64,
        used: &mut u64,
        tick: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Answer {
        self.left = nodes;
        self.alive = self.reset(highest).is_ok() && self.propagate().is_ok();
        self.go_on(used, tick)
    }

    /// Goes on with a run that was stopped, as if it had not been.
    pub(super) fn go_on(&mut self, used: &mut u64, tick: &mut dyn FnMut(u64) -> ControlFlow<()>) -> Answer {
        let mut next_tick = self.steps + STEPS_A_TICK;
        loop {
            if self.alive {
                if self.left == 0 {
                    return Answer::OutOfNodes;
                }
                if self.steps >= next_tick {
                    next_tick = self.steps + STEPS_A_TICK;
                    if tick(*used).is_break() {
                        return Answer::Stopped;
                    }
                }
                self.left -= 1;
                *used += 1;
                if !self.branch() {
                    return Answer::Fits(self.low.clone());
                }
            }
            // The next candidate of the last branch that has one.
            loop {
                let Some(frame) = self.frames.last_mut() else { return Answer::Never };
                let (trail, section, is_top) = (frame.trail, frame.section, frame.is_top);
                let candidate = (frame.next < frame.end).then(|| self.candidates[frame.next]);
                frame.next += 1;
                self.undo(trail);
                if let Some(item) = candidate {
                    self.alive = self.place(section, item, is_top).is_ok() && self.propagate().is_ok();
                    if !self.alive {
                        self.forget();
                    }
                    break;
                }
                self.frames.pop();
                let end = self.frames.last().map_or(0, |f| f.end);
                self.candidates.truncate(end);
            }
        }
    }

    fn reset(&mut self, highest: &[Unit]) -> Result<(), Failed> {
        self.forget();
        self.undo(0);
        self.frames.clear();
        self.candidates.clear();
        self.low.fill(0);
        self.high.copy_from_slice(highest);
        for s in &mut self.sections {
            s.open_size = s.members.iter().map(|m| self.sizes[m.item as usize]).sum();
            s.is_queued = true;
        }
        self.queue.extend(0..self.sections.len() as u32);
        for i in 0..self.twin.len() {
            if let Some(t) = self.twin[i] {
                self.set_order(t, i as u32)?;
            }
        }
        for i in 0..self.sizes.len() {
            self.mark_moved(i as u32);
        }
        Ok(())
    }

    /// Empties the queues.
    fn forget(&mut self) {
        for s in self.queue.drain(..) {
            self.sections[s as usize].is_queued = false;
        }
        for i in self.moved.drain(..) {
            self.is_moved[i as usize] = false;
        }
    }

    fn undo(&mut self, length: usize) {
        let count = self.sizes.len();
        while self.trail.len() > length {
            match self.trail.pop() {
                Some(Change::Low(i, was)) => self.low[i as usize] = was,
                Some(Change::High(i, was)) => self.high[i as usize] = was,
                Some(Change::Bottom(s)) => {
                    let s = &mut self.sections[s as usize];
                    s.bottom -= 1;
                    let size = self.sizes[s.members[s.bottom as usize].item as usize];
                    s.open_size += size;
                    s.bottom_size -= size;
                }
                Some(Change::Top(s)) => {
                    let s = &mut self.sections[s as usize];
                    let size = self.sizes[s.members[s.top as usize].item as usize];
                    s.top += 1;
                    s.open_size += size;
                    s.top_size -= size;
                }
                Some(Change::Order(i, j)) => {
                    self.pair[i as usize * count + j as usize] = OPEN;
                    self.pair[j as usize * count + i as usize] = OPEN;
                    self.add_sizes(i, j, -1);
                }
                None => return,
            }
        }
    }

    /// What is below and above in the sections in which both live.
    fn add_sizes(&mut self, below: u32, above: u32, sign: Unit) {
        let (size_below, size_above) = (sign * self.sizes[below as usize], sign * self.sizes[above as usize]);
        for a in self.stretches_of[below as usize].clone() {
            let a = self.stretches[a as usize];
            for b in self.stretches_of[above as usize].clone() {
                let b = self.stretches[b as usize];
                let (first, last) = (a.first.max(b.first), a.last.min(b.last));
                if first > last {
                    continue;
                }
                let range =
                    |x: Stretch| (x.slot + first - x.first) as usize..=(x.slot + last - x.first) as usize;
                for over in &mut self.over[range(a)] {
                    *over += size_above;
                }
                for under in &mut self.under[range(b)] {
                    *under += size_below;
                }
            }
        }
    }

    fn mark_section(&mut self, s: u32) {
        let section = &mut self.sections[s as usize];
        if !section.is_queued {
            section.is_queued = true;
            self.queue.push(s);
        }
    }

    fn mark_moved(&mut self, item: u32) {
        if !self.is_moved[item as usize] {
            self.is_moved[item as usize] = true;
            self.moved.push(item);
        }
    }

    fn mark_sections(&mut self, item: u32) {
        for k in self.stretches_of[item as usize].clone() {
            let stretch = self.stretches[k as usize];
            for s in stretch.first..=stretch.last {
                self.mark_section(s);
            }
        }
    }

    fn raise(&mut self, item: u32, low: Unit) -> Result<(), Failed> {
        let i = item as usize;
        if low > self.low[i] {
            if low > self.high[i] {
                self.failures[i] += 1.0;
                return Err(Failed);
            }
            self.trail.push(Change::Low(item, self.low[i]));
            self.low[i] = low;
            self.mark_moved(item);
        }
        Ok(())
    }

    fn lower(&mut self, item: u32, high: Unit) -> Result<(), Failed> {
        let i = item as usize;
        if high < self.high[i] {
            if high < self.low[i] {
                self.failures[i] += 1.0;
                return Err(Failed);
            }
            self.trail.push(Change::High(item, self.high[i]));
            self.high[i] = high;
            self.mark_moved(item);
        }
        Ok(())
    }

    /// `below` lies below `above`.
    fn set_order(&mut self, below: u32, above: u32) -> Result<(), Failed> {
        let count = self.sizes.len();
        let at = below as usize * count + above as usize;
        match self.pair[at] {
            BEFORE => Ok(()),
            OPEN => {
                self.pair[at] = BEFORE;
                self.pair[above as usize * count + below as usize] = AFTER;
                self.trail.push(Change::Order(below, above));
                self.add_sizes(below, above, 1);
                let size = self.sizes[below as usize];
                self.raise(above, self.low[below as usize] + size)?;
                self.lower(below, self.high[above as usize] - size)?;
                // Where both live the sums change, even if no place did.
                for a in self.stretches_of[below as usize].clone() {
                    let a = self.stretches[a as usize];
                    for b in self.stretches_of[above as usize].clone() {
                        let b = self.stretches[b as usize];
                        for s in a.first.max(b.first)..=a.last.min(b.last) {
                            self.mark_section(s);
                        }
                    }
                }
                Ok(())
            }
            _ => Err(Failed),
        }
    }

    /// Makes the item the next at the bottom or at the top of the section.
    fn place(&mut self, section: u32, item: u32, is_top: bool) -> Result<(), Failed> {
        let size = self.sizes[item as usize];
        let s = &mut self.sections[section as usize];
        let (bottom, top) = (s.bottom as usize, s.top as usize);
        let at = (bottom..top).find(|k| s.members[*k].item == item).ok_or(Failed)?;
        s.open_size -= size;
        if is_top {
            s.members.swap(at, top - 1);
            s.top -= 1;
            s.top_size += size;
            self.trail.push(Change::Top(section));
        } else {
            s.members.swap(at, bottom);
            s.bottom += 1;
            s.bottom_size += size;
            self.trail.push(Change::Bottom(section));
        }
        let open = s.bottom as usize..s.top as usize;
        self.mark_section(section);
        for k in open {
            let other = self.sections[section as usize].members[k].item;
            if is_top { self.set_order(other, item)? } else { self.set_order(item, other)? }
        }
        Ok(())
    }

    /// Draws conclusions until there are no more.
    fn propagate(&mut self) -> Result<(), Failed> {
        let mut patience = 64 * (self.sizes.len() + self.sections.len()) as u64;
        let begin = self.steps;
        loop {
            self.steps += 1;
            if self.steps - begin > patience {
                // Three or more that lie below each other in a circle would climb over one another to the ceiling.
                patience *= 2;
                if self.has_circle() {
                    return Err(Failed);
                }
            }
            // Pairs first: they cost least.
            if let Some(i) = self.moved.pop() {
                self.is_moved[i as usize] = false;
                self.mark_sections(i);
                self.look_at_item(i)?;
            } else if let Some(s) = self.queue.pop() {
                self.sections[s as usize].is_queued = false;
                if self.look_at(s).is_err() {
                    self.sections[s as usize].failures += 1.0;
                    return Err(Failed);
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Is some item, by the orders of pairs, below itself?
    fn has_circle(&self) -> bool {
        let count = self.sizes.len();
        let is_below = |i: usize, j: u32| self.pair[i * count + j as usize] == BEFORE;
        let mut waits_for: Vec<u32> = vec![0; count];
        for (i, neighbours) in self.neighbours.iter().enumerate() {
            for j in neighbours.iter().filter(|j| is_below(i, **j)) {
                waits_for[*j as usize] += 1;
            }
        }
        let mut ready: Vec<usize> = (0..count).filter(|i| waits_for[*i] == 0).collect();
        let mut done = 0;
        while let Some(i) = ready.pop() {
            done += 1;
            for j in self.neighbours[i].iter().filter(|j| is_below(i, **j)) {
                waits_for[*j as usize] -= 1;
                if waits_for[*j as usize] == 0 {
                    ready.push(*j as usize);
                }
            }
        }
        done < count
    }

    /// What follows for those that live with it.
    fn look_at_item(&mut self, item: u32) -> Result<(), Failed> {
        let i = item as usize;
        let count = self.sizes.len();
        let size = self.sizes[i];
        for k in 0..self.neighbours[i].len() {
            let other = self.neighbours[i][k];
            let j = other as usize;
            match self.pair[i * count + j] {
                BEFORE => {
                    self.raise(other, self.low[i] + size)?;
                    self.lower(item, self.high[j] - size)?;
                }
                AFTER => {
                    self.lower(other, self.high[i] - self.sizes[j])?;
                    self.raise(item, self.low[j] + self.sizes[j])?;
                }
                _ => {
                    if self.low[i] + size > self.high[j] {
                        self.set_order(other, item)?;
                    } else if self.low[j] + self.sizes[j] > self.high[i] {
                        self.set_order(item, other)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Draws what conclusions one section allows.
    fn look_at(&mut self, section: u32) -> Result<(), Failed> {
        let s = &self.sections[section as usize];
        let (bottom, top, length) = (s.bottom as usize, s.top as usize, s.members.len());
        let open = s.open_size;
        // The chains at both ends are in order by their pairs.
        let mut floor = 0;
        if bottom > 0 {
            let i = s.members[bottom - 1].item as usize;
            floor = self.low[i] + self.sizes[i];
        }
        let mut ceiling = Unit::MAX;
        if top < length {
            ceiling = self.high[s.members[top].item as usize];
        }
        if bottom < top {
            let (mut least, mut most) = (Unit::MAX, Unit::MIN);
            for m in &s.members[bottom..top] {
                let i = m.item as usize;
                least = least.min(self.low[i]);
                most = most.max(self.high[i] + self.sizes[i]);
            }
            floor = floor.max(least);
            ceiling = ceiling.min(most);
        }
        if floor + open > ceiling {
            return Err(Failed);
        }
        let slack = ceiling.saturating_sub(floor + open);
        if bottom > 0 {
            let i = s.members[bottom - 1].item;
            self.lower(i, ceiling.saturating_sub(open + self.sizes[i as usize]))?;
        }
        if top < length {
            let i = self.sections[section as usize].members[top].item;
            self.raise(i, floor + open)?;
        }
        let count = top - bottom;
        if count == 0 {
            return Ok(());
        }
        let mut new = std::mem::take(&mut self.scratch);
        new.clear();
        let result = self.look_at_open(section, floor, ceiling, slack, &mut new);
        self.scratch = new;
        result
    }

    fn look_at_open(
        &mut self,
        section: u32,
        floor: Unit,
        ceiling: Unit,
        slack: Unit,
        new: &mut Vec<(Unit, Unit)>,
    ) -> Result<(), Failed> {
        let s = &self.sections[section as usize];
        let (bottom, top) = (s.bottom as usize, s.top as usize);
        let (bottom_size, top_size) = (s.bottom_size, s.top_size);
        // Who is not the first begins no lower than the first to end.
        let (mut least, mut firsts, mut first) = (Unit::MAX, 0, 0);
        let (mut most, mut lasts, mut last) = (Unit::MIN, 0, 0);
        for m in &s.members[bottom..top] {
            let i = m.item as usize;
            let size = self.sizes[i];
            let under = self.under[m.slot as usize] - bottom_size;
            let over = self.over[m.slot as usize] - top_size;
            let low = self.low[i].max(floor + under);
            let high = self.high[i].min(ceiling - over - size);
            if under == 0 && low <= floor + slack {
                least = least.min(low + size);
                firsts += 1;
                first = m.item;
            }
            if over == 0 && high + size >= ceiling - slack {
                most = most.max(high);
                lasts += 1;
                last = m.item;
            }
            new.push((low, high));
        }
        if firsts == 0 || lasts == 0 {
            return Err(Failed);
        }
        for k in bottom..top {
            let m = self.sections[section as usize].members[k];
            let i = m.item as usize;
            let size = self.sizes[i];
            let (mut low, mut high) = new[k - bottom];
            let is_first = self.under[m.slot as usize] == bottom_size && low <= floor + slack;
            let is_last = self.over[m.slot as usize] == top_size && high + size >= ceiling - slack;
            if !is_first {
                low = low.max(least);
            }
            if !is_last {
                high = high.min(most - size);
            }
            if low > high {
                return Err(Failed);
            }
            self.raise(m.item, low)?;
            self.lower(m.item, high)?;
        }
        if top - bottom > 1 {
            if firsts == 1 {
                self.place(section, first, false)?;
            }
            if lasts == 1 && !(firsts == 1 && first == last) {
                self.place(section, last, true)?;
            }
        }
        Ok(())
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// Floor, ceiling and slack of the open items of a section.
    fn room(&self, s: &Section) -> (Unit, Unit, Unit) {
        let (mut floor, mut ceiling) = (Unit::MAX, Unit::MIN);
        for m in &s.members[s.bottom as usize..s.top as usize] {
            let i = m.item as usize;
            floor = floor.min(self.low[i]);
            ceiling = ceiling.max(self.high[i] + self.sizes[i]);
        }
        (floor, ceiling, ceiling - floor - s.open_size)
    }

    /// Chooses the next branch; false if every section is in order.
    fn branch(&mut self) -> bool {
        let mut best: Option<(f64, u32, bool)> = None;
        for (at, s) in self.sections.iter().enumerate() {
            if s.top - s.bottom < 2 {
                continue;
            }
            let (floor, ceiling, slack) = self.room(s);
            let (mut firsts, mut lasts) = (0, 0);
            let mut failures = s.failures;
            for m in &s.members[s.bottom as usize..s.top as usize] {
                let i = m.item as usize;
                failures += self.failures[i];
                firsts +=
                    u32::from(self.low[i] <= floor + slack && self.under[m.slot as usize] == s.bottom_size);
                lasts += u32::from(
                    self.high[i] + self.sizes[i] >= ceiling - slack
                        && self.over[m.slot as usize] == s.top_size,
                );
            }
            for (number, is_top) in [(firsts, false), (lasts, true)] {
                let score = f64::from(number * number) / failures;
                if best.is_none_or(|b| score < b.0) {
                    best = Some((score, at as u32, is_top));
                }
            }
        }
        let Some((_, section, is_top)) = best else { return false };
        let s = &self.sections[section as usize];
        let begin = self.candidates.len();
        let (floor, ceiling, slack) = self.room(s);
        for m in &s.members[s.bottom as usize..s.top as usize] {
            let i = m.item as usize;
            let can = if is_top {
                self.high[i] + self.sizes[i] >= ceiling - slack && self.over[m.slot as usize] == s.top_size
            } else {
                self.low[i] <= floor + slack && self.under[m.slot as usize] == s.bottom_size
            };
            if can {
                self.candidates.push(m.item);
            }
        }
        let (low, high, sizes) = (&self.low, &self.high, &self.sizes);
        let length = |i: u32| -> u32 {
            let own = self.stretches_of[i as usize].clone();
            own.map(|k| self.stretches[k as usize]).map(|x| x.last - x.first + 1).sum()
        };
        self.candidates[begin..].sort_by_key(|i| {
            let k = *i as usize;
            let waste = if is_top { ceiling - high[k] - sizes[k] } else { low[k] - floor };
            (waste, std::cmp::Reverse(length(*i)), *i)
        });
        let end = self.candidates.len();
        if end - begin > 1 && self.random().is_multiple_of(8) {
            self.candidates.swap(begin, begin + 1);
        }
        self.frames.push(Frame { trail: self.trail.len(), section, is_top, next: begin, end });
        true
    }
}
