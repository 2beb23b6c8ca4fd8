//! What must hold for every trace, as one function from bytes: the body of the fuzz target, also run by the tests.
//!
//! These functions panic when something does not hold; that is their purpose.

use crate::occupancy::Settings;
use crate::optimum::{self, Limits, Problem};
use crate::timeline::Timeline;
use crate::{
    Algorithm, BufferKey, Event, Options, PackError, Packing, Repacker, aligned_peak_live_size,
    inspect_placement, occupancy, pack, pack_with, peak_live_size, plain, trace, unfragmented_size,
};
use std::ops::ControlFlow;

/// Makes a trace of the bytes and checks all algorithms on it.
pub fn check_bytes(bytes: &[u8]) {
    let (options, events) = decode(bytes);
    check(&events, &options);
    check_edits(events, &options, bytes);
    let text = String::from_utf8_lossy(bytes);
    let _ = trace::run_json(&text);
}

/// Makes a trace of the bytes and looks for the optimum of its heap, with few branches.
pub fn check_optimum(bytes: &[u8]) {
    let (options, events) = decode(bytes);
    let Ok((problem, keys)) = Problem::from_events(&events, options.alignment) else { return };
    assert_eq!(problem.items.len(), keys.len());
    let on = &mut |_: &optimum::Progress| ControlFlow::Continue(());
    let limits = Limits { capacity: None, nodes: Some(400) };
    let Ok(outcome) = optimum::solve(&problem, &limits, on) else { return };
    assert_eq!(problem.height(&outcome.offsets), Some(outcome.height), "no packing, or of another height");
    assert!(outcome.lower_bound <= outcome.height);
    assert_eq!(optimum::solve(&problem, &limits, on).as_ref(), Ok(&outcome), "not deterministic");
    let peak = aligned_peak_live_size(&events, options.alignment);
    assert!(peak.is_ok_and(|peak| outcome.lower_bound >= peak), "the bound is below the obvious one");
    for algorithm in Algorithm::ALL {
        let options = Options { algorithm, limit: None, ..options.clone() };
        let total = pack(&events, &options).map_or(u64::MAX, |p| p.total());
        assert!(outcome.lower_bound <= total, "{algorithm} is better than can be");
    }
    // What was proved must not be found, and what was found must not be disproved.
    for (capacity, impossible) in
        [(outcome.height, Some(false)), (outcome.lower_bound.saturating_sub(1), Some(true))]
    {
        let limits = Limits { capacity: Some(capacity), nodes: Some(400) };
        let again = optimum::solve(&problem, &limits, on).expect("a sound problem");
        assert_eq!(problem.height(&again.offsets), Some(again.height));
        let is_empty = outcome.height == 0;
        assert!(is_empty || again.fits(capacity) != impossible, "{capacity}: {again:?} against {outcome:?}");
    }
}

/// Four bytes of options, then three bytes an event. Most traces are well formed: a key that cannot begin or end is
/// replaced by one that can, except for one value of the first byte.
fn decode(bytes: &[u8]) -> (Options, Vec<Event>) {
    let mut bytes = bytes.iter().copied();
    let mut next = || bytes.next();
    let (Some(mode), Some(alignment), Some(limit), Some(threshold)) = (next(), next(), next(), next()) else {
        return (Options::default(), Vec::new());
    };
    let options = Options {
        algorithm: Algorithm::default(),
        alignment: u64::from(alignment >> 2).max(u64::from(alignment & 3 != 0)),
        limit: (limit >= 128).then(|| u64::from(limit - 128) * 16),
        split_threshold: usize::from(threshold) / 4,
    };
    let is_wild = mode & 3 == 3;
    let huge = mode & 4 != 0;
    let mut events = Vec::new();
    let mut alive: Vec<BufferKey> = Vec::new();
    let mut seen: Vec<BufferKey> = Vec::new();
    while let (Some(kind), Some(who), Some(size)) = (next(), next(), next()) {
        let fresh = BufferKey((seen.len() as u32).wrapping_mul(u32::from(mode >> 3) * 2 + 1) ^ 5);
        let pick = |from: &[BufferKey]| from.get(usize::from(who) % from.len().max(1)).copied();
        let buffer = if is_wild { BufferKey(u32::from(who)) } else { fresh };
        let size = match (kind >> 2, size) {
            (0, _) if huge => u64::MAX >> (size & 3),
            (1, 0) => 0,
            _ => u64::from(size) + 1,
        };
        match kind & 3 {
            0 | 1 => events.push(Event::Alloc { buffer, size }),
            2 => {
                let Some(with) = pick(&seen) else { continue };
                events.push(Event::Share { buffer, with, size });
            }
            _ if is_wild => {
                events.push(Event::Free { buffer });
                continue;
            }
            _ => {
                let Some(buffer) = pick(&alive) else { continue };
                alive.retain(|other| *other != buffer);
                events.push(Event::Free { buffer });
                continue;
            }
        }
        alive.push(buffer);
        seen.push(buffer);
    }
    (options, events)
}

/// Checks all algorithms on a trace.
pub fn check(events: &[Event], options: &Options) {
    let peak = peak_live_size(events);
    let _ = unfragmented_size(events);
    for algorithm in Algorithm::ALL {
        let options = Options { algorithm, ..options.clone() };
        let packing = pack(events, &options);
        assert_eq!(packing, pack(events, &options), "{algorithm}: not deterministic");
        assert_eq!(packing, pack_plainly(events, &options), "{algorithm}: fast and plain differ");
        // The last two ask for holes; the very last gives them up.
        for (column_bits, near_columns, few_windows, patience, effort) in [
            (1, 0, 0, 256, 0),
            (1, 2, 1, 256, 0),
            (2, 0, 3, 256, 0),
            (3, 1, 0, 0, u64::MAX),
            (2, 1, 2, 1, 12),
        ] {
            let settings = Settings { column_bits, near_columns, few_windows, patience, effort };
            assert_eq!(packing, pack_finely(events, &options, settings), "{algorithm}: {settings:?} differ");
        }
        let Ok(packing) = packing else { continue };
        let timeline = Timeline::new(events).expect("a trace that was packed is well formed");
        check_packing(&timeline, &options, &packing);
        assert!(peak.is_ok_and(|peak| packing.total() >= peak), "{algorithm}: below the lower bound");
        let count: usize = packing.heaps.iter().map(|heap| heap.placements.len()).sum();
        for number in [0, count / 2, count.saturating_sub(1)] {
            check_step(events, &options, &packing, number, count);
        }
        let trace = trace::Trace { options, events: events.to_vec() };
        assert_eq!(
            trace::Trace::from_json(&trace.to_json()),
            Ok(trace),
            "JSON does not give the trace again"
        );
    }
}

/// Edits the trace as the bytes say, three for each edit, and checks that packing again gives what packing gives.
pub fn check_edits(mut events: Vec<Event>, options: &Options, bytes: &[u8]) {
    for algorithm in [Algorithm::BestOfSpatialTemporal, Algorithm::Temporal, Algorithm::FastSplit] {
        let options = Options { algorithm, ..options.clone() };
        let unlimited = Options { limit: None, ..options.clone() };
        let (mut repacker, mut again) = (Repacker::new(options.clone()), Repacker::new(unlimited.clone()));
        let none = &[0, 0, 0][..];
        for edit in [none].into_iter().chain(bytes.chunks_exact(3).take(40)) {
            self::edit(&mut events, edit[0], usize::from(edit[1]), usize::from(edit[2]));
            assert_eq!(repacker.pack(&events), pack(&events, &options), "{algorithm}, packed again");
            assert_eq!(again.pack(&events), pack(&events, &unlimited), "{algorithm}, packed again");
        }
        // Nothing has changed, so there is nothing to look for.
        if options.algorithm != Algorithm::FastSplit && again.pack(&events).is_ok() {
            again.pack(&events).expect("as before");
            assert_eq!(again.searches(), 0, "{algorithm}");
        }
    }
}

/// Moves, resizes, removes or adds; sometimes so that the trace is not well formed any more.
fn edit(events: &mut Vec<Event>, kind: u8, which: usize, what: usize) {
    let (which, to) = (which % events.len().max(1), what % events.len().max(1));
    let Some(event) = events.get(which).copied() else { return };
    match kind % 8 {
        1..=3 => {
            events.remove(which);
            events.insert(to, event);
        }
        4 | 5 => match &mut events[which] {
            Event::Alloc { size, .. } | Event::Share { size, .. } => *size = what as u64 * 3,
            Event::Free { .. } => {}
        },
        6 => events.retain(|other| other.buffer() != event.buffer()),
        7 => {
            let last = events.iter().map(|event| event.buffer().0).max().unwrap_or(0);
            let buffer = BufferKey(last.wrapping_add(1));
            events.insert(which.max(to), Event::Free { buffer });
            events.insert(which.min(to), Event::Alloc { buffer, size: what as u64 });
        }
        _ => {}
    }
}

/// [`pack`] by the rule's text, for tests: every search looks at everything placed.
pub fn pack_plainly(events: &[Event], options: &Options) -> Result<Packing, PackError> {
    pack_with(&Timeline::new(events)?, options, plain::Plain::new)
}

/// [`pack`] by holes alone, but for what nothing is in the way of.
pub fn pack_by_holes(events: &[Event], options: &Options) -> Result<Packing, PackError> {
    let settings =
        Settings { column_bits: 8, near_columns: 4, few_windows: 32, patience: 0, effort: u64::MAX };
    pack_finely(events, options, settings)
}

/// [`pack`] with narrow columns, so that short traces have many, and with holes from early on.
fn pack_finely(events: &[Event], options: &Options, settings: Settings) -> Result<Packing, PackError> {
    pack_with(&Timeline::new(events)?, options, |timeline, alignment| {
        occupancy::Occupancy::with_settings(timeline, alignment, settings)
    })
}

/// Every buffer has one chunk of its group's size; groups that live at one time do not overlap; sizes are as they say.
fn check_packing(timeline: &Timeline, options: &Options, packing: &Packing) {
    assert!(!packing.heaps.is_empty());
    if options.limit.is_none() {
        assert_eq!(packing.heaps.len(), 1);
    }
    let mut chunk_count = timeline.zero_sized.len();
    let mut placed = Vec::new();
    for group in &timeline.groups {
        let members = timeline.members(group);
        chunk_count += members.len();
        let (heap, chunk) = packing.find(group.root).expect("every group is placed");
        assert_eq!(chunk.size, group.size);
        assert_eq!(chunk.offset % options.alignment, 0);
        for member in members {
            assert_eq!(packing.find(*member), Some((heap, chunk)), "a member stands apart from its group");
        }
        if let Some(limit) = options.limit {
            assert!(chunk.end() <= limit || packing.heaps[heap].placements[0].buffer == group.root);
        }
        placed.push((group, heap, chunk));
    }
    assert_eq!(chunk_count, packing.heaps.iter().map(|heap| heap.chunks.len()).sum::<usize>());
    for heap in &packing.heaps {
        assert!(heap.chunks.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(heap.size, heap.chunks.iter().map(|(_, chunk)| chunk.end()).max().unwrap_or(0));
    }
    for (i, (a, heap_a, chunk_a)) in placed.iter().enumerate() {
        for (b, heap_b, chunk_b) in &placed[..i] {
            if heap_a != heap_b || chunk_a.end() <= chunk_b.offset || chunk_b.end() <= chunk_a.offset {
                continue;
            }
            let apart = timeline
                .runs(a)
                .iter()
                .all(|x| timeline.runs(b).iter().all(|y| x.end < y.start || y.end < x.start));
            assert!(apart, "{} and {} overlap", a.root, b.root);
        }
    }
}

fn check_step(events: &[Event], options: &Options, packing: &Packing, number: usize, count: usize) {
    let step = inspect_placement(events, options, number);
    if number >= count {
        assert_eq!(step, Err(PackError::NoSuchPlacement { placement: number, count }));
        return;
    }
    let step = step.expect("the placement exists");
    assert_eq!(step.order.len(), count);
    assert_eq!(packing.find(step.placement.buffer).map(|(heap, _)| heap), Some(step.heap));
    let chosen: Vec<_> = step.free_chunks.iter().filter(|chunk| chunk.is_chosen).collect();
    assert_eq!(chosen.len(), 1, "one chunk is chosen");
    assert!(chosen[0].fits);
    assert_eq!(chosen[0].offset.checked_next_multiple_of(options.alignment), Some(step.placement.offset));
    assert!(step.free_chunks.is_sorted_by(|a, b| a.end <= b.offset));
    assert_eq!(step.members.first(), Some(&step.placement.buffer));
    if matches!(step.algorithm, Algorithm::Spatial | Algorithm::Temporal) {
        // What is taken and what is free have no byte in common.
        for taken in &step.occupied {
            assert!(step.free_chunks.iter().all(|free| free.end <= taken.offset || taken.end <= free.offset));
        }
    }
}
