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

/// Ten thousand values are no reason to wait.
#[test]
fn ten_thousand_values() {
    use memory_space::problem::{
        AllocationValue, Buffer, ComputationId, Instruction, Options, Problem, Use, ValueId,
    };
    let count = 10_000_i64;
    let instructions = (0..count + 60).map(|t| Instruction {
        name: format!("i{t}"),
        elapsed_seconds: 1e-6 + (t % 7) as f32 * 1e-7,
        copy_seconds: 1e-6,
        is_control_flow: false,
        computation: ComputationId(0),
        nest: 0,
        while_nest: 0,
    });
    let buffers = (0..count).map(|t| {
        let size = 4096 * (1 + (t as u64 * 7919) % 256);
        let far = t + 1 + (t * 31) % 50;
        Buffer {
            id: t as u32,
            value: ValueId(t as u32),
            name: format!("v{t}"),
            size,
            benefit: 0.0,
            is_allowed: true,
            is_pinned: false,
            allocation_values: vec![AllocationValue {
                value: ValueId(t as u32),
                name: format!("v{t}"),
                definition_time: t,
                computation: ComputationId(0),
                uses: vec![Use::plain(format!("i{}", t + 1), t + 1), Use::plain(format!("i{far}"), far)],
                is_contiguous: false,
                is_position_allowed: true,
                bytes_accessed: Some(size),
                branch_roots: Vec::new(),
            }],
            slices: Vec::new(),
        }
    });
    let problem = Problem {
        options: Options::tpu_v5e(16 << 20),
        instructions: instructions.collect(),
        buffers: buffers.collect(),
        ..Problem::default()
    };
    let assignment = memory_space::assign(&problem).unwrap();
    assert!(assignment.in_alternate().count() > 1000);
}
