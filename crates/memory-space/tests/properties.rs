//! What holds for every problem; see `fuzzing`.

use memory_space::fuzzing::check_bytes;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_assignment_is_sound(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check_bytes(&bytes);
    }
}

/// The fuzz target's body on many inputs, the same each time.
#[test]
fn smoke() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for round in 0..3000 {
        let bytes: Vec<u8> = (0..round % 500)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 32) as u8
            })
            .collect();
        check_bytes(&bytes);
    }
}

/// Ten thousand values are no reason to wait; `examples/ten_thousand.rs` measures how long it takes.
#[test]
fn ten_thousand_values() {
    let problem = memory_space::fuzzing::many(10_000);
    let assignment = memory_space::assign(&problem).unwrap();
    assert!(assignment.in_alternate().count() > 1000);
    memory_space::checked::check(&problem, &assignment).unwrap();
}
