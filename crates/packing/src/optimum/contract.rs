//! Items put together before the search: it is much shorter where it works out, and says nothing where it does not.
//!
//! Items that live in exactly the same sections are *stacked*: they become one, as large as all of them. When one item
//! ends where one other begins, of the same size, they are *chained*: they become one, which takes the place of both in
//! turn. Both can go on where they have begun, since what was put together lives in the same sections as more, or leaves
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
        for mut group in groups.into_iter().filter(|g| g.len() > 1) {
            // What need not be there goes to the top.
            group.sort_by_key(|b| self.blocks[*b as usize].padding);
            let size = group.iter().map(|b| self.blocks[*b as usize].size).sum();
            let padding = group.last().map_or(0, |b| self.blocks[*b as usize].padding);
            for b in &group {
                into[*b as usize] = Some(self.blocks.len() as u32);
            }
            self.blocks.push(Block { size, padding, made_of: Blocks::Stack(group) });
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
            let whole = self.blocks.len() as u32;
            let made_of = Blocks::Chain(old, new);
            self.blocks.push(Block { size: a.size, padding: a.padding.min(b.padding), made_of });
            let mut own = sections_of[old as usize].clone();
            own.extend_from_slice(&sections_of[new as usize]);
            own.sort_unstable();
            for s in &own {
                let section = &mut self.sections[*s as usize];
                section.retain(|b| *b != old && *b != new);
                section.push(whole);
            }
            sections_of.push(own);
        }
        if self.blocks.len() == count {
            return false;
        }
        self.close();
        true
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
