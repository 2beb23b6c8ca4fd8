//! Five rules: with each, nothing goes wrong; without it, what it is there for does.

use proptest::prelude::*;
use remap::simulation::{Fault, Rules, Scenario, Step, simulate};
use remap::{Control, Inputs};

/// MI300X-like: 5.3 TB/s, 192 GB. Some small slices, some large.
fn inputs(free: u64) -> Inputs {
    Inputs {
        bandwidth: 5_300_000_000_000,
        memory: 192_000_000_000,
        free,
        sizes: vec![4, 256, 256, 4096, 65_536, 1 << 20, 8 << 20, 64 << 20, 2_000_000_000],
        ..Inputs::default()
    }
}

fn faults(steps: &[Step]) -> Vec<Fault> {
    steps.iter().flat_map(|s| s.faults.iter().copied()).collect()
}

/// Runs it with all rules, where nothing may go wrong, and without the one.
fn broken(scenario: &Scenario, name: &str) -> Vec<Step> {
    assert_eq!(faults(&simulate(scenario)), [], "with all rules");
    let mut rules = Rules::default();
    assert!(rules.without(name));
    simulate(&Scenario { rules, ..scenario.clone() })
}

#[test]
fn a_cutoff_found_anew_runs_past_the_reservation() {
    // 1 % of the free memory holds the megabyte slice at first, and no longer does.
    let scenario = Scenario { free_drift: -4_000_000, ..Scenario::new(inputs(300_000_000)) };
    let steps = broken(&scenario, "freeze-cutoff");
    let first = steps.iter().position(|s| !s.faults.is_empty()).expect("it goes wrong");
    assert!(steps[first].cutoff < steps[first - 1].cutoff);
    assert!(steps[first].needed > steps[first].reservation);
    assert!(faults(&steps).iter().any(|f| matches!(f, Fault::PastReservation { .. })));
}

#[test]
fn without_a_flag_set_up_runs_in_every_step() {
    let all_small = Inputs { sizes: vec![4, 4, 256], ..inputs(100_000_000_000) };
    let scenario = Scenario::new(all_small);
    let count = |steps: &[Step]| steps.iter().filter(|s| s.set_up).count();
    assert_eq!(count(&simulate(&scenario)), 1);
    let steps = broken(&scenario, "set-up-flag");
    assert_eq!(count(&steps), 100);
    assert_eq!(faults(&steps), vec![Fault::EventInFlight; 99]);
    // With a slice that is remapped there is a reservation, and nothing shows.
    let some_large = Scenario::new(inputs(100_000_000_000));
    assert_eq!(faults(&broken(&some_large, "set-up-flag")), []);
}

#[test]
fn shadows_that_nobody_frees_stay() {
    let scenario = Scenario { range_lasts: 10, ..Scenario::new(inputs(100_000_000_000)) };
    assert_eq!(simulate(&scenario).last().expect("steps").leaked_bytes, 0);
    let steps = broken(&scenario, "free-shadows");
    let each = steps[0].shadow_bytes;
    assert!(each > 0);
    assert_eq!(faults(&steps), vec![Fault::LeakedShadows { bytes: each }; 9]);
    assert_eq!(steps.last().expect("steps").leaked_bytes, 9 * each);
}

#[test]
fn a_shadow_that_is_too_small_is_written_past() {
    let scenario = Scenario { grows: Some((1, 40, 1024)), ..Scenario::new(inputs(100_000_000_000)) };
    let steps = broken(&scenario, "check-shadows");
    assert_eq!(faults(&steps[..40]), []);
    assert_eq!(faults(&steps), vec![Fault::PastShadow { slice: 1, bytes: 768 }; 60]);
}

#[test]
fn of_equal_sizes_others_are_small_each_step() {
    // The walk comes to three of the six.
    let equal = Inputs { sizes: vec![1 << 20; 6], ..inputs(700_000_000) };
    let scenario = Scenario::new(equal);
    let steps = simulate(&scenario);
    assert!(steps.iter().all(|s| s.remaps == 0 && s.copied_bytes == 12 << 20));
    let steps = broken(&scenario, "by-size");
    assert_eq!(steps[0].faults, []);
    assert!(faults(&steps).iter().any(|f| matches!(f, Fault::WrongAddress { .. })));
}

#[test]
fn a_shadow_that_cannot_be_had_is_an_error_with_its_slice() {
    let inputs = Inputs { control: Control::Exactly(1 << 30), sizes: vec![100, 1000], ..inputs(500) };
    let steps = simulate(&Scenario { steps: 2, ..Scenario::new(inputs) });
    assert_eq!(faults(&steps), vec![Fault::NoMemory { slice: 1, bytes: 1000 }; 2]);
    assert_eq!(steps[0].copied_bytes, 200);
}

#[test]
fn what_stays_where_it_is_needs_no_remap() {
    let inputs = Inputs { control: Control::Off, ..inputs(0) };
    let all = simulate(&Scenario::new(inputs.clone()));
    let some = simulate(&Scenario { one_in_stays: 2, ..Scenario::new(inputs) });
    let sum = |steps: &[Step]| steps.iter().map(|s| s.remaps).sum::<usize>();
    assert_eq!(sum(&all), 900);
    assert!((400..600).contains(&sum(&some)), "{}", sum(&some));
}

proptest! {
    #[test]
    fn with_all_rules_nothing_goes_wrong(
        sizes in prop::collection::vec(prop_oneof![Just(256_u64), 0..5_000_000_u64], 0..20),
        free in 1_000_000_000..100_000_000_000_u64,
        drift in -10_000_000..10_000_000_i64,
        stays in 0..4_u32,
        lasts in 0..20_u32,
        seed in any::<u64>(),
    ) {
        let scenario = Scenario {
            free_drift: drift, one_in_stays: stays, range_lasts: lasts, seed, ..Scenario::new(Inputs { sizes, ..inputs(free) })
        };
        let steps = simulate(&scenario);
        prop_assert_eq!(faults(&steps), []);
        prop_assert_eq!(&steps, &simulate(&scenario));
        for step in &steps {
            prop_assert!(step.needed <= step.reservation);
        }
    }
}
