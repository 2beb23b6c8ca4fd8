//! From a problem to its independent parts.

use super::search::Unit;
use super::{Item, Problem};
use std::collections::HashMap;

/// Items of one part of the timeline, which share no moment with those of another.
#[derive(Default)]
pub(super) struct Piece {
    /// Their numbers in the problem.
    pub(super) items: Vec<u32>,
    /// For each the size in units, and how much less it is in bytes.
    pub(super) sizes: Vec<(Unit, u64)>,
    /// Those that live at one time, by their positions in `items`; no section's items are a subset of another's.
    pub(super) sections: Vec<Vec<u32>>,
    /// What no packing of it can be smaller than, in bytes.
    pub(super) lower_bound: u64,
}

/// The problem without what does not matter to a search.
pub(super) struct Pieces {
    /// In the order of their first items.
    pub(super) pieces: Vec<Piece>,
    /// All offsets of a packing in which every item lies on another or at 0 are multiples of it.
    pub(super) unit: u64,
}

/// All sections together may name no more items than this; beyond it a search would not come to an end in any case.
const MOST_NAMED: usize = 20_000_000;

/// Cuts the problem up; `None` if it is too large to be searched.
pub(super) fn pieces(problem: &Problem) -> Option<Pieces> {
    let items = &problem.items;
    let rounded = |item: &Item| item.size.next_multiple_of(problem.alignment);
    let unit = items.iter().map(rounded).fold(0, gcd).max(1);
    let sections = sections(items)?;
    // Items that live at one time belong to one piece.
    let mut leader: Vec<u32> = (0..items.len() as u32).collect();
    for section in &sections {
        for pair in section.windows(2) {
            let (a, b) = (find(&mut leader, pair[0]), find(&mut leader, pair[1]));
            leader[a.max(b) as usize] = a.min(b);
        }
    }
    let mut piece_of: HashMap<u32, usize> = HashMap::new();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut local = vec![0_u32; items.len()];
    for (i, item) in items.iter().enumerate() {
        if item.size == 0 || item.runs.is_empty() {
            continue;
        }
        let at = *piece_of.entry(find(&mut leader, i as u32)).or_insert_with(|| {
            pieces.push(Piece::default());
            pieces.len() - 1
        });
        local[i] = pieces[at].items.len() as u32;
        pieces[at].items.push(i as u32);
        pieces[at].sizes.push(((rounded(item) / unit) as Unit, rounded(item) - item.size));
    }
    for section in &sections {
        let Some(first) = section.first() else { continue };
        let piece = &mut pieces[piece_of[&find(&mut leader, *first)]];
        // Every item but the highest takes its size up to the alignment.
        let sum: u64 = section.iter().map(|i| rounded(&items[*i as usize])).sum();
        let padding = section.iter().map(|i| rounded(&items[*i as usize]) - items[*i as usize].size).max();
        piece.lower_bound = piece.lower_bound.max(sum - padding.unwrap_or(0));
        piece.sections.push(section.iter().map(|i| local[*i as usize]).collect());
    }
    Some(Pieces { pieces, unit })
}

/// The items that live at one time, for every time at which no subset lives of those of the time before or after.
fn sections(items: &[Item]) -> Option<Vec<Vec<u32>>> {
    // At one time, what ends goes before what begins.
    let mut changes: Vec<(u64, bool, u32)> = Vec::new();
    for (i, item) in items.iter().enumerate().filter(|(_, item)| item.size > 0) {
        for run in &item.runs {
            changes.push((run.start, true, i as u32));
            changes.push((run.end, false, i as u32));
        }
    }
    changes.sort_unstable();
    let mut out = Vec::new();
    let mut named = 0;
    let mut living: Vec<u32> = Vec::new();
    let mut place = vec![0_usize; items.len()];
    let mut has_grown = false;
    for (_, begins, item) in changes {
        if begins {
            place[item as usize] = living.len();
            living.push(item);
            has_grown = true;
            continue;
        }
        if has_grown {
            named += living.len();
            if named > MOST_NAMED {
                return None;
            }
            let mut section = living.clone();
            section.sort_unstable();
            out.push(section);
            has_grown = false;
        }
        let at = place[item as usize];
        living.swap_remove(at);
        if let Some(moved) = living.get(at) {
            place[*moved as usize] = at;
        }
    }
    Some(out)
}

fn find(leader: &mut [u32], mut item: u32) -> u32 {
    while leader[item as usize] != item {
        leader[item as usize] = leader[leader[item as usize] as usize];
        item = leader[item as usize];
    }
    item
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
