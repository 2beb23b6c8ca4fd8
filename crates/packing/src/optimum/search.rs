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

/// The search; what it learns about where it is hard stays for the next run.
pub(super) struct Search {
    part: Part,
    /// The sections of each item.
    sections_of: Vec<Vec<u32>>,
    /// Lowest and highest offset of each item.
    low: Vec<Unit>,
    high: Vec<Unit>,
    /// Per section its items: the bottom ones in order, the open ones in any order, the top ones in order.
    order: Vec<Vec<u32>>,
    bottom: Vec<u32>,
    top: Vec<u32>,
    /// Sum of the sizes of the open ones.
    open_size: Vec<Unit>,
    /// Per pair of items which is below.
    pair: Vec<u8>,
    trail: Vec<Change>,
    frames: Vec<Frame>,
    candidates: Vec<u32>,
    /// Sections to be looked at.
    queue: Vec<u32>,
    is_queued: Vec<bool>,
    /// How often a section was where it failed.
    weight: Vec<f64>,
    random: u64,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    items: Vec<u32>,
    size: Vec<Unit>,
    low: Vec<Unit>,
    high: Vec<Unit>,
    is_first: Vec<bool>,
    is_last: Vec<bool>,
}

struct Failed;

impl Search {
    pub(super) fn new(part: Part) -> Self {
        let count = part.sizes.len();
        let mut sections_of = vec![Vec::new(); count];
        for (s, items) in part.sections.iter().enumerate() {
            for i in items {
                sections_of[*i as usize].push(s as u32);
            }
        }
        Self {
            sections_of,
            low: Vec::new(),
            high: Vec::new(),
            order: part.sections.clone(),
            bottom: Vec::new(),
            top: Vec::new(),
            open_size: Vec::new(),
            pair: vec![OPEN; count * count],
            trail: Vec::new(),
            frames: Vec::new(),
            candidates: Vec::new(),
            queue: Vec::new(),
            is_queued: vec![false; part.sections.len()],
            weight: vec![1.0; part.sections.len()],
            part,
            random: 0x9e37_79b9_7f4a_7c15,
            scratch: Scratch::default(),
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
        self.reset(highest);
        let mut left = nodes;
        let mut alive = self.propagate().is_ok();
        loop {
            if alive {
                if left == 0 {
                    return Answer::OutOfNodes;
                }
                left -= 1;
                *used += 1;
                if used.is_multiple_of(256) && tick(*used).is_break() {
                    return Answer::Stopped;
                }
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
                match candidate {
                    Some(item) => {
                        alive = self.place(section, item, is_top).is_ok() && self.propagate().is_ok();
                        break;
                    }
                    None => {
                        self.frames.pop();
                        let end = self.frames.last().map_or(0, |f| f.end);
                        self.candidates.truncate(end);
                    }
                }
            }
        }
    }

    fn reset(&mut self, highest: &[Unit]) {
        self.low = vec![0; highest.len()];
        self.high = highest.to_vec();
        self.pair.fill(OPEN);
        self.trail.clear();
        self.frames.clear();
        self.candidates.clear();
        let sizes = &self.part.sizes;
        self.bottom = vec![0; self.order.len()];
        self.top = self.order.iter().map(|o| o.len() as u32).collect();
        self.open_size = self.order.iter().map(|o| o.iter().map(|i| sizes[*i as usize]).sum()).collect();
        self.queue.clear();
        self.is_queued.fill(false);
        for s in (0..self.order.len()).rev() {
            self.queue.push(s as u32);
            self.is_queued[s] = true;
        }
        for (i, twin) in self.part.twin.iter().enumerate() {
            if let Some(t) = *twin {
                self.pair[t as usize * highest.len() + i] = BEFORE;
                self.pair[i * highest.len() + t as usize] = AFTER;
            }
        }
    }

    fn undo(&mut self, length: usize) {
        let count = self.part.sizes.len();
        while self.trail.len() > length {
            match self.trail.pop() {
                Some(Change::Low(i, was)) => self.low[i as usize] = was,
                Some(Change::High(i, was)) => self.high[i as usize] = was,
                Some(Change::Bottom(s)) => {
                    let s = s as usize;
                    self.bottom[s] -= 1;
                    self.open_size[s] += self.part.sizes[self.order[s][self.bottom[s] as usize] as usize];
                }
                Some(Change::Top(s)) => {
                    let s = s as usize;
                    self.open_size[s] += self.part.sizes[self.order[s][self.top[s] as usize] as usize];
                    self.top[s] += 1;
                }
                Some(Change::Order(i, j)) => {
                    self.pair[i as usize * count + j as usize] = OPEN;
                    self.pair[j as usize * count + i as usize] = OPEN;
                }
                None => return,
            }
        }
    }

    fn mark(&mut self, item: u32) {
        for s in &self.sections_of[item as usize] {
            if !self.is_queued[*s as usize] {
                self.is_queued[*s as usize] = true;
                self.queue.push(*s);
            }
        }
    }

    fn raise(&mut self, item: u32, low: Unit) -> Result<(), Failed> {
        let i = item as usize;
        if low > self.low[i] {
            if low > self.high[i] {
                return Err(Failed);
            }
            self.trail.push(Change::Low(item, self.low[i]));
            self.low[i] = low;
            self.mark(item);
        }
        Ok(())
    }

    fn lower(&mut self, item: u32, high: Unit) -> Result<(), Failed> {
        let i = item as usize;
        if high < self.high[i] {
            if high < self.low[i] {
                return Err(Failed);
            }
            self.trail.push(Change::High(item, self.high[i]));
            self.high[i] = high;
            self.mark(item);
        }
        Ok(())
    }

    /// `below` lies below `above`.
    fn set_order(&mut self, below: u32, above: u32) -> Result<(), Failed> {
        let count = self.part.sizes.len();
        let at = below as usize * count + above as usize;
        match self.pair[at] {
            BEFORE => Ok(()),
            OPEN => {
                self.pair[at] = BEFORE;
                self.pair[above as usize * count + below as usize] = AFTER;
                self.trail.push(Change::Order(below, above));
                let size = self.part.sizes[below as usize];
                self.raise(above, self.low[below as usize] + size)?;
                self.lower(below, self.high[above as usize] - size)?;
                // Where both live the sums change, even if no place did.
                self.mark(below);
                Ok(())
            }
            _ => Err(Failed),
        }
    }

    /// Makes the item the next at the bottom or at the top of the section.
    fn place(&mut self, section: u32, item: u32, is_top: bool) -> Result<(), Failed> {
        let s = section as usize;
        let (bottom, top) = (self.bottom[s] as usize, self.top[s] as usize);
        let at = (bottom..top).find(|k| self.order[s][*k] == item).ok_or(Failed)?;
        self.open_size[s] -= self.part.sizes[item as usize];
        if is_top {
            self.order[s].swap(at, top - 1);
            self.top[s] -= 1;
            self.trail.push(Change::Top(section));
        } else {
            self.order[s].swap(at, bottom);
            self.bottom[s] += 1;
            self.trail.push(Change::Bottom(section));
        }
        if !self.is_queued[s] {
            self.is_queued[s] = true;
            self.queue.push(section);
        }
        for k in self.bottom[s] as usize..self.top[s] as usize {
            let other = self.order[s][k];
            if is_top { self.set_order(other, item)? } else { self.set_order(item, other)? }
        }
        Ok(())
    }

    fn propagate(&mut self) -> Result<(), Failed> {
        let mut at = 0;
        while at < self.queue.len() {
            let s = self.queue[at];
            at += 1;
            self.is_queued[s as usize] = false;
            if self.look_at(s).is_err() {
                self.weight[s as usize] += 1.0;
                for s in self.queue.drain(..) {
                    self.is_queued[s as usize] = false;
                }
                return Err(Failed);
            }
            if at > 4096 {
                self.queue.drain(..at);
                at = 0;
            }
        }
        self.queue.clear();
        Ok(())
    }

    /// Draws what conclusions one section allows.
    fn look_at(&mut self, section: u32) -> Result<(), Failed> {
        let s = section as usize;
        let (bottom, top) = (self.bottom[s] as usize, self.top[s] as usize);
        let length = self.order[s].len();
        let open = self.open_size[s];
        // From below through the items that are known to be there, from above likewise.
        let mut floor = 0;
        for k in 0..bottom {
            let i = self.order[s][k];
            self.raise(i, floor)?;
            floor = self.low[i as usize] + self.part.sizes[i as usize];
        }
        let mut ceiling = Unit::MAX;
        for k in (top..length).rev() {
            let i = self.order[s][k];
            let size = self.part.sizes[i as usize];
            self.lower(i, ceiling.saturating_sub(size))?;
            ceiling = self.high[i as usize];
        }
        let count = top - bottom;
        if count > 0 {
            let (mut least, mut most) = (Unit::MAX, Unit::MIN);
            for k in bottom..top {
                let i = self.order[s][k] as usize;
                least = least.min(self.low[i]);
                most = most.max(self.high[i] + self.part.sizes[i]);
            }
            floor = floor.max(least);
            ceiling = ceiling.min(most);
        }
        if floor + open > ceiling {
            return Err(Failed);
        }
        let mut above = ceiling.saturating_sub(open);
        for k in (0..bottom).rev() {
            let i = self.order[s][k];
            self.lower(i, above.saturating_sub(self.part.sizes[i as usize]))?;
            above = self.high[i as usize];
        }
        let mut below = floor + open;
        for k in top..length {
            let i = self.order[s][k];
            self.raise(i, below)?;
            below = self.low[i as usize] + self.part.sizes[i as usize];
        }
        if count == 0 {
            return Ok(());
        }
        if count == 1 {
            let i = self.order[s][bottom];
            self.raise(i, floor)?;
            return self.lower(i, ceiling - self.part.sizes[i as usize]);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let result = self.look_at_open(section, floor, ceiling, &mut scratch);
        self.scratch = scratch;
        result
    }

    fn look_at_open(
        &mut self,
        section: u32,
        floor: Unit,
        ceiling: Unit,
        x: &mut Scratch,
    ) -> Result<(), Failed> {
        let s = section as usize;
        let all = self.part.sizes.len();
        let open = self.open_size[s];
        let slack = ceiling - floor - open;
        x.items.clear();
        x.items.extend_from_slice(&self.order[s][self.bottom[s] as usize..self.top[s] as usize]);
        let count = x.items.len();
        x.size.clear();
        x.low.clear();
        x.high.clear();
        for i in &x.items {
            let i = *i as usize;
            let size = self.part.sizes[i];
            x.size.push(size);
            x.low.push(self.low[i].max(floor));
            x.high.push(self.high[i].min(ceiling - size));
        }
        // Whoever must lie below another, by order or because there is no room for it above.
        x.is_first.clear();
        x.is_first.resize(count, true);
        x.is_last.clear();
        x.is_last.resize(count, true);
        for a in 0..count {
            let row = &self.pair[x.items[a] as usize * all..][..all];
            let (size, low, high) = (x.size[a], x.low[a], x.high[a]);
            let (mut under, mut over) = (0, 0);
            let (mut under_end, mut over_start) = (floor, ceiling);
            for b in 0..count {
                let order = row[x.items[b] as usize];
                if b == a {
                    continue;
                }
                if order == AFTER || low + size > x.high[b] {
                    under += x.size[b];
                    under_end = under_end.max(x.low[b] + x.size[b]);
                }
                if order == BEFORE || x.low[b] + x.size[b] > high {
                    over += x.size[b];
                    over_start = over_start.min(x.high[b]);
                }
            }
            let new_low = low.max(floor + under).max(if under > 0 { under_end } else { floor });
            let new_high = high.min(over_start.min(ceiling - over) - size);
            if new_low > new_high {
                return Err(Failed);
            }
            x.low[a] = new_low;
            x.high[a] = new_high;
            if under > 0 || new_low > floor + slack {
                x.is_first[a] = false;
            }
            if over > 0 || new_high + size < ceiling - slack {
                x.is_last[a] = false;
            }
        }
        // Who is not the first begins no lower than the first to end.
        let (mut least, mut second) = (Unit::MAX, Unit::MAX);
        let (mut most, mut second_most) = (Unit::MIN, Unit::MIN);
        for a in 0..count {
            if x.is_first[a] {
                let end = x.low[a] + x.size[a];
                if end < least {
                    (least, second) = (end, least);
                } else {
                    second = second.min(end);
                }
            }
            if x.is_last[a] {
                let start = x.high[a];
                if start > most {
                    (most, second_most) = (start, most);
                } else {
                    second_most = second_most.max(start);
                }
            }
        }
        if least == Unit::MAX || most == Unit::MIN {
            return Err(Failed);
        }
        for a in 0..count {
            if !x.is_first[a] {
                x.low[a] = x.low[a].max(least);
            }
            if !x.is_last[a] {
                x.high[a] = x.high[a].min(most - x.size[a]);
            }
        }
        for a in 0..count {
            self.raise(x.items[a], x.low[a])?;
            self.lower(x.items[a], x.high[a])?;
        }
        if second == Unit::MAX {
            let first = x.is_first.iter().position(|f| *f).ok_or(Failed)?;
            self.place(section, x.items[first], false)?;
            if second_most == Unit::MIN && x.is_last[first] {
                return Ok(());
            }
        }
        if second_most == Unit::MIN && self.top[s] - self.bottom[s] > 1 {
            let last = x.is_last.iter().position(|f| *f).ok_or(Failed)?;
            self.place(section, x.items[last], true)?;
        }
        Ok(())
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// Chooses the next branch; false if every section is in order.
    fn branch(&mut self) -> bool {
        let all = self.part.sizes.len();
        let mut best: Option<(f64, u32, bool)> = None;
        for s in 0..self.order.len() {
            let (bottom, top) = (self.bottom[s] as usize, self.top[s] as usize);
            if top - bottom < 2 {
                continue;
            }
            let open = &self.order[s][bottom..top];
            let (mut floor, mut ceiling) = (Unit::MAX, Unit::MIN);
            for i in open {
                floor = floor.min(self.low[*i as usize]);
                ceiling = ceiling.max(self.high[*i as usize] + self.part.sizes[*i as usize]);
            }
            let slack = ceiling - floor - self.open_size[s];
            let (mut firsts, mut lasts) = (0, 0);
            for i in open {
                let i = *i as usize;
                firsts += u32::from(self.low[i] <= floor + slack);
                lasts += u32::from(self.high[i] + self.part.sizes[i] >= ceiling - slack);
            }
            for (number, is_top) in [(firsts, false), (lasts, true)] {
                let score = f64::from(number) / self.weight[s];
                if best.is_none_or(|b| score < b.0) {
                    best = Some((score, s as u32, is_top));
                }
            }
        }
        let Some((_, section, is_top)) = best else { return false };
        let s = section as usize;
        let begin = self.candidates.len();
        let open = self.bottom[s] as usize..self.top[s] as usize;
        let (mut floor, mut ceiling) = (Unit::MAX, Unit::MIN);
        for i in &self.order[s][open.clone()] {
            floor = floor.min(self.low[*i as usize]);
            ceiling = ceiling.max(self.high[*i as usize] + self.part.sizes[*i as usize]);
        }
        let slack = ceiling - floor - self.open_size[s];
        for i in &self.order[s][open.clone()] {
            let k = *i as usize;
            let row = &self.pair[k * all..][..all];
            let can = if is_top {
                self.high[k] + self.part.sizes[k] >= ceiling - slack
                    && self.order[s][open.clone()].iter().all(|j| row[*j as usize] != BEFORE)
            } else {
                self.low[k] <= floor + slack
                    && self.order[s][open.clone()].iter().all(|j| row[*j as usize] != AFTER)
            };
            if can {
                self.candidates.push(*i);
            }
        }
        let (low, high, sizes) = (&self.low, &self.high, &self.part.sizes);
        let sections_of = &self.sections_of;
        self.candidates[begin..].sort_by_key(|i| {
            let k = *i as usize;
            let waste = if is_top { ceiling - high[k] - sizes[k] } else { low[k] - floor };
            (waste, std::cmp::Reverse(sizes[k] * sections_of[k].len() as i64), *i)
        });
        let end = self.candidates.len();
        if end - begin > 1 && self.random().is_multiple_of(8) {
            self.candidates.swap(begin, begin + 1);
        }
        self.frames.push(Frame { trail: self.trail.len(), section, is_top, next: begin, end });
        true
    }
}
