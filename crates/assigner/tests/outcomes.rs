//! What decisions come to, on a real program: a decoding loop with a donated cache has one of everything.

use analysis::{Facts, Orders, Target};
use assigner::{Bin, Options, attempts, final_allocation, outcomes};
use std::fmt::Write as _;

const KV_CACHE_LOOP: &str = include_str!("../../../assets/modules/kv_cache_loop.txt");

#[test]
fn every_buffer_ends_up_in_one_bin() {
    let module = hlo::read(KV_CACHE_LOOP).module.expect("a module");
    let target = Target::detect(&module);
    let orders = Orders::guess(&module, &target);
    let facts = Facts::new(&module, orders, target).expect("facts");
    let (assignment, decisions) = assigner::assign(&module, &facts, &facts.ranges, &Options::default());
    let outcomes = outcomes(&facts, &decisions);

    let mut seen = String::new();
    for bin in Bin::ALL {
        let names: Vec<String> = facts
            .buffers()
            .iter()
            .filter(|b| outcomes[b.id.index()].is_some_and(|o| o.bin == bin))
            .map(|b| facts.label(&module, b.values[0]))
            .collect();
        _ = writeln!(seen, "{bin:?}: {}", names.join(" "));
    }
    assert_eq!(
        seen,
        "\
Constant: constant.28 constant.27 constant.15
Parameter: select_dynamic-update-slice_fusion a_2_.1 a_1_.1
ThreadLocal: reduce_sum.3 reduce_sum.4 reduce_sum.5
Tuple: tuple.15{} tuple.16{}
Reused: bitcast_tanh_fusion
Heap: copy.4 wrapped_add dot wrapped_compare
Own: multiply_add_fusion
"
    );

    // Whoever is considered ends up somewhere.
    for buffer in &assignment.order {
        assert!(outcomes[buffer.index()].is_some(), "{buffer}");
    }

    let tried = attempts(&decisions);
    assert_eq!(tried.len(), 15);
    let went_in: Vec<_> = tried.iter().filter(|a| a.refusal.is_none()).collect();
    assert_eq!(went_in.len(), 1, "a buffer went in exactly where a refusal is missing");
    let buffer = facts.buffer(went_in[0].buffer);
    let place = assignment.place(buffer.values[0]).expect("it has a place").0;
    assert_eq!(final_allocation(&assignment, &decisions, went_in[0].allocation), Some(place));
}
