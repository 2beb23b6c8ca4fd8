//! Packings to begin with.

use super::Problem;
use crate::{Algorithm, BufferKey, Event, Options, pack};

/// Offsets of all items, by each of XLA's packers; at least one.
pub(super) fn packings(problem: &Problem) -> Vec<Vec<u64>> {
    let (events, item_of) = events(problem);
    let mut out = Vec::new();
    for algorithm in [Algorithm::Spatial, Algorithm::Temporal, Algorithm::FastMerge, Algorithm::FastSplit] {
        let options = Options { algorithm, alignment: problem.alignment, ..Options::default() };
        let mut offsets = vec![0; problem.items.len()];
        let Ok(packing) = pack(&events, &options) else { continue };
        for (key, chunk) in packing.heaps.iter().flat_map(|h| &h.chunks) {
            offsets[item_of[key.0 as usize] as usize] = chunk.offset;
        }
        out.push(offsets);
    }
    if out.is_empty() {
        // Cannot be: sizes are small enough for any order. One above the other is a packing, too.
        let mut next = 0;
        let place = |size: u64| {
            let place = next;
            next += size.next_multiple_of(problem.alignment);
            place
        };
        out.push(problem.items.iter().map(|i| i.size).map(place).collect());
    }
    out
}

/// The problem as a trace, and the item of each buffer in it. A pause is an end and a beginning in the same place.
fn events(problem: &Problem) -> (Vec<Event>, Vec<u32>) {
    let mut changes: Vec<(u64, bool, u32, u32)> = Vec::new();
    let mut item_of: Vec<u32> = (0..problem.items.len() as u32).collect();
    for (i, item) in problem.items.iter().enumerate().filter(|(_, item)| item.size > 0) {
        for (k, run) in item.runs.iter().enumerate() {
            let key = if k == 0 { i as u32 } else { item_of.len() as u32 };
            if k > 0 {
                item_of.push(i as u32);
            }
            changes.push((run.start, true, key, i as u32));
            changes.push((run.end, false, key, i as u32));
        }
    }
    // At one time, what ends goes before what begins.
    changes.sort_unstable();
    let event = |(_, begins, key, item): &(u64, bool, u32, u32)| {
        let (buffer, root) = (BufferKey(*key), BufferKey(*item));
        let size = problem.items[*item as usize].size;
        match (begins, buffer == root) {
            (true, true) => Event::Alloc { buffer, size },
            (true, false) => Event::Share { buffer, with: root, size },
            (false, _) => Event::Free { buffer },
        }
    };
    (changes.iter().map(event).collect(), item_of)
}
