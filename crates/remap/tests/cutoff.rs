//! The cutoff, against the rule as it is written, done once more in another way.

use proptest::prelude::*;
use remap::cutoff::{NotANumber, is_small};
use remap::{Control, Inputs, Limit, decide};

fn auto(bandwidth: u64, memory: u64, free: u64, sizes: &[u64]) -> Inputs {
    Inputs { bandwidth, memory, free, sizes: sizes.to_vec(), ..Inputs::default() }
}

/// With whole numbers only, and each bound asked of each prefix.
fn plain(bandwidth: u64, memory: u64, free: u64, sizes: &[u64]) -> u64 {
    if bandwidth == 0 {
        return 65_536;
    }
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let fits = |count: usize| {
        let twice: u128 = sorted[..count].iter().map(|s| 2 * u128::from(*s)).sum();
        let slices = sorted[..count].iter().all(|s| u128::from(*s) * 2_000_000 <= 8 * u128::from(bandwidth));
        let time = twice * 1_000_000 <= 15 * u128::from(bandwidth);
        let memory = match (free, memory) {
            (0, 0) => true,
            (0, m) => twice * 200 <= u128::from(m),
            (f, _) => twice * 100 <= u128::from(f),
        };
        slices && time && memory
    };
    (1..=sorted.len()).take_while(|n| fits(*n)).last().map_or(0, |n| sorted[n - 1])
}

#[test]
fn settings() {
    assert_eq!(Control::of_text("0"), (Control::Off, None));
    assert_eq!(Control::of_text("1"), (Control::Auto, None));
    assert_eq!(Control::of_text(" 4096 "), (Control::Exactly(4096), None));
    for wrong in ["", "lots", "-1", "4k", "1.5"] {
        assert_eq!(Control::of_text(wrong), (Control::Auto, Some(NotANumber(wrong.to_owned()))));
    }
}

#[test]
fn each_bound_by_itself() {
    let tb = 1_000_000_000_000;
    // 8 us at 1 TB/s, there and back: 4 MB.
    let by_slice = decide(&auto(tb, 0, 0, &[1000, 4_000_000, 4_000_001]));
    assert_eq!(
        (by_slice.cutoff, by_slice.stop.map(|s| (s.slice, s.limit))),
        (4_000_000, Some((2, Limit::Slice)))
    );
    // 15 us: 15 MB moved.
    let by_time = decide(&auto(tb, 0, 0, &[3_000_000, 3_000_001, 1_499_999, 100]));
    assert_eq!(
        (by_time.cutoff, by_time.stop.map(|s| (s.slice, s.limit))),
        (3_000_000, Some((1, Limit::StepTime)))
    );
    // 1 % of 1 GB free: 10 MB moved; 0.5 % of 1 GB: 5 MB.
    let by_free = decide(&auto(tb, 1 << 40, 1_000_000_000, &[2_500_000, 2_500_000, 2_500_001]));
    assert_eq!(
        (by_free.cutoff, by_free.stop.map(|s| (s.slice, s.limit))),
        (2_500_000, Some((2, Limit::Memory)))
    );
    let by_memory = decide(&auto(tb, 1_000_000_000, 0, &[2_500_000, 2_500_000]));
    assert_eq!((by_memory.cutoff, by_memory.admitted, by_memory.copied.len()), (2_500_000, 1, 2));
    assert_eq!(by_memory.overrun, 5_000_000);
}

#[test]
fn explicit_settings() {
    let off = decide(&Inputs { control: Control::Off, ..auto(1 << 40, 0, 0, &[1, 2, 3]) });
    assert_eq!((off.cutoff, off.remapped.len(), off.reservation), (0, 3, 3 * (2 << 20)));
    let exact = decide(&Inputs { control: Control::Exactly(2), ..auto(1 << 40, 0, 0, &[1, 2, 3]) });
    assert_eq!((exact.cutoff, exact.copied, exact.reservation), (2, vec![0, 1], 2 << 20));
    let all = decide(&Inputs { control: Control::Exactly(3), ..auto(1 << 40, 0, 0, &[1, 2, 3]) });
    assert_eq!((all.reservation, all.shadow_bytes), (0, 6));
    let unknown = decide(&auto(0, 1 << 30, 0, &[65_536, 65_537]));
    assert_eq!((unknown.cutoff, unknown.copied, unknown.costs.chosen), (65_536, vec![0], None));
}

#[test]
fn calibration() {
    let measured = |cost, free| Inputs {
        measured_remap: Some(cost),
        ..auto(1_000_000_000_000, 0, free, &[10_000_000, 20_000_000])
    };
    // 40 us, there and back: 20 MB; the step's time binds only where no memory figure is known.
    let free = decide(&measured(40.0, 100_000_000_000));
    assert_eq!((free.cutoff, free.implausible), (20_000_000, false));
    let unknown = decide(&measured(40.0, 0));
    assert_eq!((unknown.cutoff, unknown.stop.map(|s| s.limit)), (0, Some(Limit::StepTime)));
    for cost in [0.05, 5000.0, f64::NAN, -1.0] {
        let wrong = decide(&measured(cost, 100_000_000_000));
        assert!(wrong.implausible);
        assert_eq!(wrong.stop.map(|s| s.limit), Some(Limit::Slice));
    }
}

#[test]
fn nothing_overflows() {
    let all = [u64::MAX, u64::MAX, 0, 1];
    for control in [Control::Auto, Control::Off, Control::Exactly(u64::MAX)] {
        for bandwidth in [0, 1, u64::MAX] {
            let d = decide(&Inputs { control, granularity: 0, ..auto(bandwidth, u64::MAX, u64::MAX, &all) });
            assert_eq!(d.copied.len() + d.remapped.len(), 4);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_rule_holds(
        bandwidth in prop_oneof![Just(0_u64), 1..5_000_000_u64, 1..6_000_000_000_000_u64],
        memory in prop_oneof![Just(0_u64), 1..100_000_u64, 1..200_000_000_000_u64],
        free in prop_oneof![Just(0_u64), 1..100_000_u64, 1..200_000_000_000_u64],
        sizes in prop::collection::vec(prop_oneof![0..40_u64, 0..10_000_000_u64, Just(256_u64)], 0..30),
    ) {
        let d = decide(&auto(bandwidth, memory, free, &sizes));
        prop_assert_eq!(d.cutoff, plain(bandwidth, memory, free, &sizes));
        // Every slice is one or the other, by its size.
        for (i, size) in sizes.iter().enumerate() {
            prop_assert_eq!(d.copied.contains(&i), is_small(*size, d.cutoff));
            prop_assert_eq!(d.remapped.contains(&i), !is_small(*size, d.cutoff));
        }
        // Equal sizes are taken together: over by no more than all but one of them.
        let equal = sizes.iter().filter(|s| **s == d.cutoff).count() as u64;
        prop_assert!(d.overrun <= equal.saturating_sub(1) * 2 * d.cutoff);
        prop_assert_eq!(d.reservation % (2 << 20), 0);
        prop_assert_eq!(d.reservation == 0, d.remapped.iter().all(|i| sizes[*i] == 0));
    }

    #[test]
    fn more_free_memory_never_lowers_it(
        free in 1..50_000_000_000_u64, more in 0..50_000_000_000_u64,
        sizes in prop::collection::vec(0..10_000_000_u64, 0..30),
    ) {
        let at = |free| decide(&auto(5_300_000_000_000, 0, free, &sizes)).cutoff;
        prop_assert!(at(free) <= at(free + more));
    }
}
