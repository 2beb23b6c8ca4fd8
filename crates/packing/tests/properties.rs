//! What holds for every trace. The checks themselves are the fuzz target's body.

use packing::{
    Algorithm, BufferKey, Event, Options, PackError, Repacker, aligned_peak_live_size, free_chunks_at,
    fuzzing, inspect_placement, pack, peak_live_size, unfragmented_size,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn alloc(buffer: u32, size: u64) -> Event {
    Event::Alloc { buffer: BufferKey(buffer), size }
}

fn share(buffer: u32, with: u32, size: u64) -> Event {
    Event::Share { buffer: BufferKey(buffer), with: BufferKey(with), size }
}

fn free(buffer: u32) -> Event {
    Event::Free { buffer: BufferKey(buffer) }
}

/// A small deterministic source of numbers (Knuth's MMIX constants).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A well-formed trace of `count` buffers, every `share_every`th of which shares.
fn random_trace(seed: u64, count: u32, largest: u64, share_every: u64) -> Vec<Event> {
    let mut numbers = Numbers(seed);
    let mut alive = Vec::new();
    let mut events = Vec::new();
    let mut next = 0;
    while next < count || !alive.is_empty() {
        if next < count && (alive.is_empty() || numbers.below(5) < 3) {
            let size = 1 + numbers.below(largest);
            if next > 0 && numbers.below(share_every) == 0 {
                events.push(share(next, numbers.below(u64::from(next)) as u32, size));
            } else {
                events.push(alloc(next, size));
            }
            alive.push(next);
            next += 1;
        } else {
            events.push(free(alive.swap_remove(numbers.below(alive.len() as u64) as usize)));
        }
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..400)) {
        fuzzing::check_bytes(&bytes);
    }

    #[test]
    fn any_bytes_have_an_optimum(bytes in vec(any::<u8>(), 0..400)) {
        fuzzing::check_optimum(&bytes);
    }

    #[test]
    fn grouped(seed in any::<u64>(), count in 1_u32..60, largest in 1_u64..300, share_every in 1_u64..9,
               alignment in 1_u64..70, limit in proptest::option::of(0_u64..2000), split_threshold in 0_usize..40) {
        let events = random_trace(seed, count, largest, share_every);
        fuzzing::check(&events, &Options { alignment, limit, split_threshold, ..Options::default() });
    }

    #[test]
    fn edits_are_packed_as_from_scratch(seed in any::<u64>(), count in 1_u32..60, largest in 1_u64..300, share_every in 1_u64..9,
                                        alignment in 1_u64..70, limit in proptest::option::of(0_u64..2000),
                                        edits in vec(any::<u8>(), 0..60)) {
        let events = random_trace(seed, count, largest, share_every);
        fuzzing::check_edits(events, &Options { alignment, limit, ..Options::default() }, &edits);
    }

    #[test]
    fn no_packing_is_below_the_aligned_bound(seed in any::<u64>(), count in 1_u32..40, largest in 1_u64..300,
                                             share_every in 1_u64..9, alignment in 1_u64..70) {
        let events = random_trace(seed, count, largest, share_every);
        let bound = aligned_peak_live_size(&events, alignment).unwrap();
        prop_assert!(bound >= peak_live_size(&events).unwrap());
        prop_assert_eq!(aligned_peak_live_size(&events, 1).unwrap(), peak_live_size(&events).unwrap());
        for algorithm in Algorithm::ALL {
            let total = pack(&events, &Options { algorithm, alignment, ..Options::default() }).unwrap().total();
            prop_assert!(bound <= total, "{} is above the {} of {}", bound, total, algorithm);
        }
    }

    #[test]
    fn split_below_the_threshold_is_spatial(seed in any::<u64>(), count in 1_u32..60, limit in proptest::option::of(0_u64..900)) {
        let events = random_trace(seed, count, 100, 5);
        let run = |algorithm| pack(&events, &Options { algorithm, limit, ..Options::default() }).unwrap().heaps;
        prop_assert_eq!(run(Algorithm::FastSplit), run(Algorithm::Spatial));
    }
}

/// Longer traces than the properties above, so that the tree of the fast search has several levels.
#[test]
fn fast_and_plain_agree_on_long_traces() {
    for (seed, count, largest, share_every, alignment) in [
        (1, 1500, 1000, u64::MAX, 64),
        (2, 1500, 4, u64::MAX, 1),
        (3, 2000, 1 << 20, 3, 16),
        (4, 1000, 50, 1, 7),
    ] {
        let events = random_trace(seed, count, largest, share_every);
        for limit in [None, Some(largest * 20)] {
            for algorithm in Algorithm::ALL {
                let options = Options { algorithm, alignment, limit, split_threshold: 300 };
                let plain = fuzzing::pack_plainly(&events, &options);
                assert!(pack(&events, &options) == plain, "{algorithm}, seed {seed}, limit {limit:?}");
                let by_holes = fuzzing::pack_by_holes(&events, &options);
                assert!(by_holes == plain, "{algorithm} by holes, seed {seed}, limit {limit:?}");
            }
        }
    }
}

/// Long enough that the sets of the fast search are built, and that an edit is far from most.
#[test]
fn one_edit_of_many_is_few_searches() {
    let mut events = random_trace(11, 3000, 1 << 16, u64::MAX);
    let options = Options::default();
    let mut repacker = Repacker::new(options.clone());
    assert_eq!(repacker.pack(&events), pack(&events, &options));
    assert_eq!(repacker.searches(), 6000);
    let mut numbers = Numbers(12);
    let mut searches = 0;
    for _ in 0..20 {
        let at = numbers.below(events.len() as u64) as usize;
        let size = 1 + numbers.below(1 << 16);
        if let Event::Alloc { size: old, .. } = &mut events[at] {
            *old = size;
        } else if matches!(events.get(at + 1), Some(Event::Free { .. })) {
            events.swap(at, at + 1);
        }
        assert_eq!(repacker.pack(&events), pack(&events, &options));
        searches += repacker.searches();
    }
    assert!(searches < 20 * 3000, "{searches} searches are as many as from scratch");
}

#[test]
fn smoke_of_the_fuzz_body() {
    let mut numbers = Numbers(7);
    for _ in 0..1500 {
        let len = numbers.below(200);
        let bytes: Vec<u8> = (0..len).map(|_| numbers.below(256) as u8).collect();
        fuzzing::check_bytes(&bytes);
    }
}

#[test]
fn the_aligned_bound_spares_the_highest_its_rounding() {
    // 40 and 80 live together: 64 + 80 or 128 + 40, whichever is less.
    let events = [alloc(0, 40), alloc(1, 80), free(0), free(1)];
    assert_eq!(aligned_peak_live_size(&events, 64), Ok(144));
    assert_eq!(aligned_peak_live_size(&events, 1), Ok(120));
    assert_eq!(aligned_peak_live_size(&events, 0), Err(PackError::ZeroAlignment));
    assert_eq!(aligned_peak_live_size(&[], 64), Ok(0));
}

#[test]
fn contradictions_are_errors() {
    let (zero, one) = (BufferKey(0), BufferKey(1));
    let cases: [(&[Event], PackError); 8] = [
        (&[free(0)], PackError::FreeBeforeBegin { event: 0, buffer: zero }),
        (&[alloc(0, 1), alloc(0, 1)], PackError::BegunTwice { event: 1, buffer: zero }),
        (&[alloc(0, 1), free(0), alloc(0, 1)], PackError::BegunTwice { event: 2, buffer: zero }),
        (&[alloc(0, 1), free(0), free(0)], PackError::FreedTwice { event: 2, buffer: zero }),
        (&[share(0, 1, 4)], PackError::ShareWithUnknown { event: 0, buffer: zero, with: one }),
        (&[share(0, 0, 4)], PackError::ShareWithUnknown { event: 0, buffer: zero, with: zero }),
        (&[alloc(0, 0), share(1, 0, 4)], PackError::ShareWithZeroSize { event: 1, buffer: one, with: zero }),
        (&[alloc(0, u64::MAX)], PackError::NoPlace { buffer: zero, size: u64::MAX }),
    ];
    for (events, expected) in cases {
        for algorithm in Algorithm::ALL {
            assert_eq!(pack(events, &Options { algorithm, ..Options::default() }), Err(expected));
        }
        assert!(!expected.to_string().is_empty());
    }
    let no_alignment = Options { alignment: 0, ..Options::default() };
    assert_eq!(pack(&[], &no_alignment), Err(PackError::ZeroAlignment));
    let heaps = [alloc(0, 1 << 62), alloc(1, 1 << 62), alloc(2, 1 << 62), alloc(3, 1 << 62)];
    let limited = Options { limit: Some(0), ..Options::default() };
    assert_eq!(pack(&heaps, &limited), Err(PackError::TotalTooLarge));
}

#[test]
fn far_apart_keys_are_no_burden() {
    let events =
        [alloc(u32::MAX, 8), alloc(3, 8), share(1 << 30, 3, 16), free(u32::MAX), free(1 << 30), free(3)];
    let packing = pack(&events, &Options::default()).unwrap();
    assert_eq!(packing.total(), 72); // the group at 0, the other at 64
    assert_eq!(packing.find(BufferKey(1 << 30)), packing.find(BufferKey(3)));
}

/// BUFFER_ASSIGNMENT 10.6: a share counts twice while both live.
#[test]
fn unfragmented_size_counts_shares() {
    let events = [alloc(0, 40), share(1, 0, 40), free(0), free(1)];
    assert_eq!(unfragmented_size(&events), 80);
    assert_eq!(peak_live_size(&events), Ok(40));
    assert_eq!(pack(&events, &Options::default()).unwrap().total(), 40);
    assert_eq!(unfragmented_size(&[alloc(0, u64::MAX), alloc(1, u64::MAX)]), u64::MAX);
}

#[test]
fn groups_are_what_shares() {
    let share = |buffer, with| Event::Share { buffer: BufferKey(buffer), with: BufferKey(with), size: 9 };
    let events = [alloc(4, 9), alloc(7, 5), free(4), share(2, 4), free(7), share(3, 2), free(2), free(3)];
    let names: Vec<Vec<u32>> =
        packing::groups(&events).unwrap().iter().map(|g| g.iter().map(|k| k.0).collect()).collect();
    assert_eq!(names, [vec![4, 2, 3], vec![7]]);
}

/// A gap that is exactly large enough wins over a larger one below it.
#[test]
fn a_step_shows_what_was_weighed() {
    let events = [
        alloc(0, 50), // placed first, then 1, 2, 3 on top
        alloc(1, 40),
        alloc(2, 30),
        alloc(3, 25),
        free(0),
        free(2),
        alloc(4, 20),
        free(1),
        free(3),
        free(4),
    ];
    let options = Options { algorithm: Algorithm::Spatial, alignment: 10, ..Options::default() };
    let step = inspect_placement(&events, &options, 4).unwrap();
    assert_eq!(step.placement.buffer, BufferKey(4));
    assert_eq!(step.placement.offset, 90);
    assert_eq!(step.order.iter().map(|entry| entry.buffer.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    let shown: Vec<_> = step.free_chunks.iter().map(|c| (c.offset, c.end, c.fits, c.is_chosen)).collect();
    let last = (150, i64::MAX as u64, true, false);
    assert_eq!(shown, [(0, 50, true, false), (90, 120, true, true), last]);
    let shown: Vec<_> = step.occupied.iter().map(|c| (c.buffer.0, c.offset, c.end, c.free_from)).collect();
    assert_eq!(shown, [(1, 50, 90, 90), (3, 120, 145, 150)]);
    assert_eq!(step.members, [BufferKey(4)]);
    assert_eq!(free_chunks_at(&events, &options, 4).unwrap(), step.free_chunks);
    assert_eq!(
        free_chunks_at(&events, &options, 5),
        Err(PackError::NoSuchPlacement { placement: 5, count: 5 })
    );
}

#[test]
fn trace_errors_say_where() {
    let error = |text: &str| packing::trace::run_json(text).unwrap_err().to_string();
    assert_eq!(error("{\n  \"algorithm\": }"), "line 2, column 16: expected value");
    let with = |events: &str| {
        error(&format!(
            r#"{{"algorithm":"spatial","alignment":1,"limit":null,"sizes":{{"1":4}},"events":[{events}]}}"#
        ))
    };
    assert_eq!(with(r#"["A",1],["A",2]"#), "event 1: no size is given for buffer 2");
    assert_eq!(with(r#"["A",1],["F",1],["F",1]"#), "event 2: buffer 1 is freed a second time");
    assert_eq!(with(r#"["X",1]"#), "event 0: must begin with \"A\", \"S\" or \"F\"");
    assert_eq!(with(r#"["S",1]"#), "event 0: has the wrong number of items");
    assert_eq!(
        error(r#"{"algorithm":"worst","alignment":1,"events":[]}"#),
        "unknown algorithm \"worst\"; known are choose_best, spatial, temporal, fast_merge, fast_split"
    );
}

/// From a source of numbers, the interval's number and the number of ticks to its start and end.
type Shape = fn(&mut Numbers, u64, u64) -> (u64, u64);

/// Where very many overlap, the fast packer sets covers, and in the end reads through all that is placed. Short traces
/// come to neither.
#[test]
fn dense_traces_are_packed_as_the_rule_says() {
    let count = 1200_u64;
    let all = 4 * count;
    // Anywhere; a few that live long among many that do not; a forward pass that waits for its backward pass.
    let shapes: [Shape; 3] = [
        |n, _, all| {
            let (a, b) = (n.below(all), n.below(all));
            (a.min(b), a.max(b) + 1)
        },
        |n, i, all| {
            let start = n.below(all);
            (start, start + if i % 10 == 0 { all / 2 } else { 1 + n.below(40) })
        },
        |n, i, all| {
            let start = if i % 2 == 0 { 2 * i } else { all - 2 * i };
            (start, if i % 6 == 0 { all - start + 1 } else { start + 4 + n.below(12) })
        },
    ];
    for (seed, shape) in shapes.into_iter().enumerate() {
        let mut numbers = Numbers(seed as u64 + 1);
        let mut at: Vec<(u64, bool, u32)> = Vec::new();
        for i in 0..count {
            let (start, end) = shape(&mut numbers, i, all);
            at.push((start, true, i as u32));
            at.push((end, false, i as u32));
        }
        at.sort_unstable();
        let mut begun = std::collections::BTreeSet::new();
        let mut events = Vec::new();
        for (_, begins, buffer) in at {
            if begins {
                begun.insert(buffer);
                let magnitude = 10 + 9 * numbers.below(2);
                events.push(alloc(buffer, 1 + numbers.below(1 << magnitude)));
            } else if begun.contains(&buffer) {
                events.push(free(buffer));
            }
        }
        for algorithm in [Algorithm::Spatial, Algorithm::Temporal] {
            let options = Options { algorithm, alignment: 64, ..Options::default() };
            let plain = fuzzing::pack_plainly(&events, &options);
            assert!(plain.is_ok(), "{seed} {algorithm}");
            assert_eq!(pack(&events, &options), plain, "{seed} {algorithm}");
            assert_eq!(fuzzing::pack_by_holes(&events, &options), plain, "{seed} {algorithm}, by holes");
        }
    }
}
