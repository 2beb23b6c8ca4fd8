//! Items put together before the search: it is much shorter where it works out, and says nothing where it does not.
//!
//! Items that live in exactly the same sections are *stacked*: they become one, as large as all of them. When one item
//! ends where one other begins, of the same size, they are *chained*: they become one, which takes the place of both in
//! turn. Where that is not enough, what is only nearly alike is put together, too, at some waste. Both can go on where they have begun, since what was put together lives in the same sections as more, or leaves
//! two sections the same. A packing of what results is one of the items. The other way round there need not be one: it
//! may be that they fit only apart.

use super::search::{Part, Unit};
use std::collections::HashMap;

/// An item, or several put together.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Size in units.
    pub(super) size: Unit,
    /// How much of it need not be there if nothing is above it, in bytes.
    pub(super) padding: u64,
    made_of: Blocks,
}

/// What a block is made of: numbers of blocks before it.
#[derive(Clone, Debug)]
enum Blocks {
    Item,
    /// One above the other, from below.
    Stack(Vec<u32>),
    /// One after the other in the same place.
    Chain(u32, u32),
}

/// Items put together.
pub(super) struct Contracted {
    /// The items in their order, then what was made of them.
    blocks: Vec<Block>,
    /// Which of them are to be packed.
    pub(super) open: Vec<u32>,
    /// The open blocks of each section, in order.
    sections: Vec<Vec<u32>>,
}

impl Contracted {
    /// The items as they are: sizes in units and paddings in bytes, and those of each section.
    pub(super) fn new(items: impl Iterator<Item = (Unit, u64)>, sections: &[Vec<u32>]) -> Self {
        let blocks: Vec<Block> =
            items.map(|(size, padding)| Block { size, padding, made_of: Blocks::Item }).collect();
        Self { open: (0..blocks.len() as u32).collect(), blocks, sections: sections.to_vec() }
    }

    /// Sections of each block, in order.
    fn sections_of(&self) -> Vec<Vec<u32>> {
        let mut out = vec![Vec::new(); self.blocks.len()];
        for (s, blocks) in self.sections.iter().enumerate() {
            for b in blocks {
                out[*b as usize].push(s as u32);
            }
        }
        out
    }

    /// Stacks what lives in the same sections; false if there is nothing of the kind.
    pub(super) fn stack(&mut self) -> bool {
        let sections_of = self.sections_of();
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut group_of: HashMap<&[u32], usize> = HashMap::new();
        for b in &self.open {
            let at = *group_of.entry(&sections_of[*b as usize]).or_insert(groups.len());
            if at == groups.len() {
                groups.push(Vec::new());
            }
            groups[at].push(*b);
        }
        if groups.len() == self.open.len() {
            return false;
        }
        let mut into: Vec<Option<u32>> = vec![None; self.blocks.len()];
        for group in groups.into_iter().filter(|g| g.len() > 1) {
            for b in &group {
                into[*b as usize] = Some(self.blocks.len() as u32);
            }
            let block = self.stacked(group);
            self.blocks.push(block);
        }
        for section in &mut self.sections {
            for b in section.iter_mut() {
                *b = into[*b as usize].unwrap_or(*b);
            }
            section.sort_unstable();
            section.dedup();
        }
        self.close();
        true
    }

    /// Chains what follows one another; false if there is nothing of the kind.
    pub(super) fn chain(&mut self) -> bool {
        let mut sections_of = self.sections_of();
        let count = self.blocks.len();
        for s in 1..self.sections.len() {
            let (before, now) = (&self.sections[s - 1], &self.sections[s]);
            let (Some(old), Some(new)) = (only(before, now), only(now, before)) else { continue };
            let (a, b) = (&self.blocks[old as usize], &self.blocks[new as usize]);
            // With pauses, they may meet elsewhere.
            let meet = sections_of[old as usize]
                .iter()
                .any(|s| self.sections[*s as usize].binary_search(&new).is_ok());
            if a.size != b.size || meet {
                continue;
            }
            let block = self.chained(old, new);
            let own = union(&sections_of[old as usize], &sections_of[new as usize]);
            self.join(old, new, block, &own);
            sections_of.push(own);
        }
        if self.blocks.len() == count {
            return false;
        }
        self.close();
        true
    }

    /// Puts together what is nearly alike, where it wastes little: stacks what does not live equally long, chains what is
    /// not of one size. No section is to grow beyond `limit`. False if there is nothing of the kind.
    pub(super) fn join_near(&mut self, limit: Unit) -> bool {
        let mut sections_of = self.sections_of();
        let size = |blocks: &[Block], b: u32| blocks[b as usize].size;
        let mut loads: Vec<Unit> =
            self.sections.iter().map(|s| s.iter().map(|b| size(&self.blocks, *b)).sum()).collect();
        // By the waste: bytes times sections that nobody can use.
        let mut pairs: Vec<(Unit, u32, u32, bool)> = Vec::new();
        for (s, now) in self.sections.iter().enumerate() {
            let before: &[u32] = if s == 0 { &[] } else { &self.sections[s - 1] };
            for b in now.iter().filter(|b| before.binary_search(b).is_err()) {
                let (own, own_size) = (&sections_of[*b as usize], size(&self.blocks, *b));
                for a in before.iter().filter(|a| now.binary_search(a).is_err()) {
                    let other = &sections_of[*a as usize];
                    let difference = size(&self.blocks, *a) - own_size;
                    let shorter = if difference > 0 { own.len() } else { other.len() };
                    if common(own, other) == 0 {
                        pairs.push((difference.abs().saturating_mul(shorter as Unit), *a, *b, true));
                    }
                }
                for a in now.iter().filter(|a| *a != b) {
                    let other = &sections_of[*a as usize];
                    let both = common(own, other);
                    let waste = own_size
                        .saturating_mul((other.len() - both) as Unit)
                        .saturating_add(size(&self.blocks, *a).saturating_mul((own.len() - both) as Unit));
                    pairs.push((waste, *a.min(b), *a.max(b), false));
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let count = self.blocks.len();
        // A few at a time: what they become may suit others better.
        let most = self.open.len() / 8 + 1;
        let mut is_used = vec![false; count];
        for (_, a, b, is_chain) in pairs {
            if self.blocks.len() - count == most {
                break;
            }
            if is_used[a as usize] || is_used[b as usize] {
                continue;
            }
            let (of_a, of_b) = (&sections_of[a as usize], &sections_of[b as usize]);
            let (size_a, size_b) = (size(&self.blocks, a), size(&self.blocks, b));
            let own = union(of_a, of_b);
            let whole = if is_chain { size_a.max(size_b) } else { size_a + size_b };
            let grown = |s: &u32| {
                let here = |of: &[u32], size| if of.binary_search(s).is_ok() { size } else { 0 };
                loads[*s as usize] + whole - here(of_a, size_a) - here(of_b, size_b)
            };
            let new_loads: Vec<Unit> = own.iter().map(grown).collect();
            if new_loads.iter().any(|l| *l > limit) {
                continue;
            }
            for (s, load) in own.iter().zip(new_loads) {
                loads[*s as usize] = load;
            }
            (is_used[a as usize], is_used[b as usize]) = (true, true);
            let block = if is_chain { self.chained(a, b) } else { self.stacked(vec![a, b]) };
            self.join(a, b, block, &own);
            sections_of.push(own);
        }
        if self.blocks.len() == count {
            return false;
        }
        self.close();
        true
    }

    fn chained(&self, old: u32, new: u32) -> Block {
        let (a, b) = (&self.blocks[old as usize], &self.blocks[new as usize]);
        Block {
            size: a.size.max(b.size),
            padding: a.padding.min(b.padding),
            made_of: Blocks::Chain(old, new),
        }
    }

    fn stacked(&self, mut group: Vec<u32>) -> Block {
        // What need not be there goes to the top.
        group.sort_by_key(|b| self.blocks[*b as usize].padding);
        Block {
            size: group.iter().map(|b| self.blocks[*b as usize].size).sum(),
            padding: group.last().map_or(0, |b| self.blocks[*b as usize].padding),
            made_of: Blocks::Stack(group),
        }
    }

    /// In these sections the two become one block, the last.
    fn join(&mut self, a: u32, b: u32, block: Block, sections: &[u32]) {
        let whole = self.blocks.len() as u32;
        self.blocks.push(block);
        for s in sections {
            let section = &mut self.sections[*s as usize];
            section.retain(|x| *x != a && *x != b);
            section.push(whole);
        }
    }

    /// Leaves out sections that say nothing new, and finds out what is open.
    fn close(&mut self) {
        let mut kept: Vec<Vec<u32>> = Vec::new();
        for section in self.sections.drain(..) {
            if kept.last().is_some_and(|k| is_subset(&section, k)) {
                continue;
            }
            while kept.last().is_some_and(|k| is_subset(k, &section)) {
                kept.pop();
            }
            kept.push(section);
        }
        self.sections = kept;
        let mut is_open = vec![false; self.blocks.len()];
        for b in self.sections.iter().flatten() {
            is_open[*b as usize] = true;
        }
        self.open = (0..self.blocks.len() as u32).filter(|b| is_open[*b as usize]).collect();
    }

    /// An open block, by its position among them.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.open.iter().map(|b| &self.blocks[*b as usize])
    }

    /// What the search takes.
    pub(super) fn part(&self) -> Part {
        let mut local = vec![0; self.blocks.len()];
        for (at, b) in self.open.iter().enumerate() {
            local[*b as usize] = at as u32;
        }
        let here = |section: &Vec<u32>| section.iter().map(|b| local[*b as usize]).collect();
        // Blocks of one size in the same sections can change places, so one order of them is enough.
        let sections_of = self.sections_of();
        let mut last: HashMap<(Unit, u64, &[u32]), u32> = HashMap::new();
        let mut twin = |(at, b): (usize, &u32)| {
            let block = &self.blocks[*b as usize];
            last.insert((block.size, block.padding, &sections_of[*b as usize]), at as u32)
        };
        Part {
            sizes: self.blocks().map(|b| b.size).collect(),
            sections: self.sections.iter().map(here).collect(),
            twin: self.open.iter().enumerate().map(&mut twin).collect(),
        }
    }

    /// Offsets of the items, from those of the open blocks.
    pub(super) fn expand(&self, items: usize, offsets: &[Unit]) -> Vec<Unit> {
        let mut out = vec![0; self.blocks.len()];
        for (b, offset) in self.open.iter().zip(offsets) {
            out[*b as usize] = *offset;
        }
        for (b, block) in self.blocks.iter().enumerate().rev() {
            let mut offset = out[b];
            match &block.made_of {
                Blocks::Item => {}
                Blocks::Stack(parts) => {
                    for part in parts {
                        out[*part as usize] = offset;
                        offset += self.blocks[*part as usize].size;
                    }
                }
                Blocks::Chain(old, new) => {
                    out[*old as usize] = offset;
                    out[*new as usize] = offset;
                }
            }
        }
        out.truncate(items);
        out
    }
}

/// The one that is in `here` and not in `there`, if there is exactly one. Both are in order.
fn only(here: &[u32], there: &[u32]) -> Option<u32> {
    let mut there = there.iter().peekable();
    let mut found = None;
    for b in here {
        while there.next_if(|t| *t < b).is_some() {}
        if there.peek() == Some(&b) {
            continue;
        }
        if found.replace(*b).is_some() {
            return None;
        }
    }
    found
}

/// Is all of `small` in `large`? Both are in order.
fn is_subset(small: &[u32], large: &[u32]) -> bool {
    let mut large = large.iter();
    small.len() <= large.len() && small.iter().all(|b| large.find(|l| *l >= b) == Some(b))
}

/// What is in either. Both are in order.
fn union(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut out = [a, b].concat();
    out.sort_unstable();
    out.dedup();
    out
}

/// How many are in both. Both are in order.
fn common(a: &[u32], b: &[u32]) -> usize {
    let mut b = b.iter();
    let mut next = b.next();
    a.iter()
        .filter(|x| {
            while next.is_some_and(|n| n < *x) {
                next = b.next();
            }
            next == Some(*x)
        })
        .count()
}
