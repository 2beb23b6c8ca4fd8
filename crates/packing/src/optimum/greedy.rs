//! Packings to begin with.

use super::Problem;
use crate::best_fit::GapFinder;
use crate::occupancy::Occupancy;
use crate::timeline::Timeline;
use crate::{Algorithm, BufferKey, Event, Options, pack_with};
use std::cell::RefCell;
use std::ops::ControlFlow;

/// Offsets of all items, by each of XLA's packers; at least one. When
/// `go_on`, asked only where there are thousands of items, breaks, what is not done by then is left out.
pub(super) fn packings(problem: &Problem, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Vec<Vec<u64>> {
    let (events, item_of) = events(problem);
    // Cannot be: sizes are small enough for any order.
    let Ok(timeline) = Timeline::new(&events) else { return vec![one_above_the_other(problem)] };
    let go_on = RefCell::new(go_on);
    let mut found: Vec<(usize, Vec<u64>)> = Vec::new();
    // The quickest first, so that there is something to show when the time is over; the first of several equal ones counts.
    let algorithms = [
        (2, Algorithm::FastMerge),
        (3, Algorithm::FastSplit),
        (0, Algorithm::Spatial),
        (1, Algorithm::Temporal),
    ];
    for (rank, algorithm) in algorithms {
        let options = Options { algorithm, alignment: problem.alignment, ..Options::default() };
        let mut offsets = vec![0; problem.items.len()];
        let Ok(packing) = pack_with(&timeline, &options, |timeline, alignment| Stoppable {
            inner: Occupancy::new(timeline, alignment),
            go_on: &go_on,
            asked: 0,
            is_stopped: false,
        }) else {
            continue;
        };
        for (key, chunk) in packing.heaps.iter().flat_map(|h| &h.chunks) {
            offsets[item_of[key.0 as usize] as usize] = chunk.offset;
        }
        found.push((rank, offsets));
    }
    found.sort_by_key(|f| f.0);
    let mut out: Vec<Vec<u64>> = found.into_iter().map(|f| f.1).collect();
    if out.is_empty() {
        out.push(one_above_the_other(problem));
    }
    out
}

/// A packing of any problem.
fn one_above_the_other(problem: &Problem) -> Vec<u64> {
    let mut next = 0;
    let place = |size: u64| {
        let place = next;
        next += size.next_multiple_of(problem.alignment);
        place
    };
    problem.items.iter().map(|i| i.size).map(place).collect()
}

/// Finds gaps until it is told to stop; from then on there is none.
struct Stoppable<'a, 'f, G> {
    inner: G,
    go_on: &'a RefCell<&'f mut dyn FnMut() -> ControlFlow<()>>,
    asked: u32,
    is_stopped: bool,
}

/// How many gaps are looked for between two looks at the clock.
const GAPS_BETWEEN: u32 = 4096;

impl<G: GapFinder> GapFinder for Stoppable<'_, '_, G> {
    fn begin_heap(&mut self, order: &[u32]) {
        self.inner.begin_heap(order);
    }

    fn find(&mut self, group: u32) -> Option<u64> {
        self.asked += 1;
        if self.asked.is_multiple_of(GAPS_BETWEEN) && !self.is_stopped {
            self.is_stopped = (*self.go_on.borrow_mut())().is_break();
        }
        if self.is_stopped { None } else { self.inner.find(group) }
    }

    fn occupy(&mut self, group: u32, offset: u64) {
        self.inner.occupy(group, offset);
    }

    fn advance(&mut self, count: usize) {
        self.inner.advance(count);
    }
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
