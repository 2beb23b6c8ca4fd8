//! What is asked of the engine beyond the rules: overrides, colours, splits, blocks, windows; and that the checker notices.

use flate2::read::GzDecoder;
use memory_space::problem::{
    AllocationValue, BlockKind, BlockPrefetch, Buffer, BufferIndex, Colouring, ComputationId, Error,
    Instruction, IntervalRule, Options, PrefetchTime, Problem, Requirement, RequirementReason, Space, Split,
    Use, UseOverride, ValueId, Window,
};
use memory_space::words::decision;
use memory_space::{Assignment, Decision, Kind, assign, checked, replay};
use std::io::Read;

/// A program of instructions of a second each, in which a copy of 8 bytes takes a second.
fn problem(length: i64, values: &[(&str, u64, i64, &[i64])]) -> Problem {
    let instructions = (0..length).map(|t| Instruction {
        name: format!("i{t}"),
        elapsed_seconds: 1.0,
        copy_seconds: 1.0,
        is_control_flow: false,
        computation: ComputationId(0),
        nest: 0,
        while_nest: 0,
    });
    let buffers = values.iter().enumerate().map(|(id, (name, size, definition_time, uses))| {
        let value = ValueId(id as u32);
        let uses = uses.iter().map(|t| Use::plain(format!("i{t}, operand 0"), *t));
        Buffer {
            id: id as u32,
            value,
            name: (*name).to_owned(),
            size: *size,
            benefit: 0.0,
            is_allowed: true,
            is_pinned: false,
            allocation_values: vec![AllocationValue {
                value,
                name: (*name).to_owned(),
                definition_time: *definition_time,
                computation: ComputationId(0),
                uses: uses.collect(),
                is_contiguous: false,
                is_position_allowed: true,
                bytes_accessed: Some(*size),
                branch_roots: Vec::new(),
                split: Split::Replicated,
            }],
            slices: Vec::new(),
            split_sizes: Vec::new(),
        }
    });
    Problem {
        options: Options {
            max_size_in_bytes: 64,
            alignment_in_bytes: 8,
            copy_bandwidth_bytes_per_second: 8.0,
            enable_cross_program_prefetch: false,
            interval_rule: IntervalRule::Cost {
                min_overlap_ratio: 1.0,
                preferred_overlap_ratio: 2.0,
                max_overlap_ratio: 1.0,
            },
            ..Options::default()
        },
        instructions: instructions.collect(),
        buffers: buffers.collect(),
        ..Problem::default()
    }
}

/// `p` is a parameter that is read at the end.
fn one_parameter() -> Problem {
    let mut problem = problem(10, &[("p", 16, 0, &[9])]);
    problem.required.push(Requirement {
        value: ValueId(0),
        time: 0,
        space: Space::Default,
        reason: RequirementReason::ProgramInput,
    });
    problem
}

fn asked(asked: UseOverride) -> Problem {
    let mut problem = one_parameter();
    problem.buffers[0].allocation_values[0].uses[0].asked = Some(asked);
    problem
}

/// Assigns, has the result checked, and gives the decisions in words with the table of alternate memory.
fn run(problem: &Problem) -> (Assignment, String) {
    let assignment = assign(problem).unwrap();
    checked::check(problem, &assignment).unwrap();
    let mut text = String::new();
    for one in &assignment.decisions {
        text += &decision(problem, one);
        text.push('\n');
    }
    (assignment, text)
}

fn copy_start(problem: &Problem) -> Option<i64> {
    run(problem).0.in_alternate().find_map(|a| a.copy).map(|c| c.start)
}

#[test]
fn overrides_move_or_forbid_a_prefetch() {
    assert_eq!(copy_start(&one_parameter()), Some(4));
    assert_eq!(copy_start(&asked(UseOverride::KeepInDefault)), None);
    let at = |at, is_strict| asked(UseOverride::Prefetch { at, is_strict });
    assert_eq!(copy_start(&at(PrefetchTime::At(2), false)), Some(2));
    assert_eq!(copy_start(&at(PrefetchTime::At(2), true)), Some(2));
    assert_eq!(copy_start(&at(PrefetchTime::Eagerness(0.0), false)), Some(0));
    assert_eq!(copy_start(&at(PrefetchTime::At(9), true)), None);
    let mut demanded = at(PrefetchTime::At(9), true);
    demanded.options.fail_on_unsatisfied_override = true;
    let error = assign(&demanded).unwrap_err();
    assert_eq!(error, Error::UnsatisfiedOverride { usage: "i9, operand 0".to_owned() });
    let pinned = assign(&asked(UseOverride::Pin)).unwrap();
    assert!(pinned.in_alternate().all(|a| a.copy.is_none()));
    assert_eq!(pinned.in_alternate().count(), 1);
}

#[test]
fn one_start_and_no_other() {
    let at = |start| run(&asked(UseOverride::OnlyStart { start }));
    assert_eq!(at(3).0.in_alternate().find_map(|a| a.copy).map(|c| (c.start, c.seconds)), Some((3, 2.0)));
    assert!(at(7).1.contains("from 7 to the use there are 1000000.000 us, and a copy needs 2000000.000 us"));
    assert!(at(0).1.contains("for too long, 1 is the earliest start") || at(0).0.in_alternate().count() == 1);
    let mut full = asked(UseOverride::OnlyStart { start: 3 });
    full.colourings.push(Colouring {
        buffer: BufferIndex(1),
        position: 0,
        usage: None,
        space: Space::Alternate,
    });
    full.buffers.extend(problem(10, &[("x", 16, 0, &[]), ("big", 64, 5, &[])]).buffers.into_iter().skip(1));
    full.buffers[1].value = ValueId(7);
    full.buffers[1].allocation_values[0].value = ValueId(7);
    assert!(run(&full).1.contains("after 3 there is no place"), "{}", run(&full).1);
}

#[test]
fn colours_set_places_aside() {
    let colour = |problem: &mut Problem, buffer, usage, space| {
        problem.colourings.push(Colouring { buffer: BufferIndex(buffer), position: 0, usage, space });
    };
    // Too large for both, and the first would win.
    let mut both = problem(10, &[("a", 40, 1, &[8]), ("b", 40, 2, &[7])]);
    assert_eq!(run(&both).0.in_alternate().map(|a| a.position.clone()).collect::<Vec<_>>(), ["a"]);
    colour(&mut both, 1, None, Space::Alternate);
    colour(&mut both, 1, Some(0), Space::Alternate);
    let (assignment, text) = run(&both);
    let alternate: Vec<(&str, i64, i64)> =
        assignment.in_alternate().map(|a| (a.position.as_str(), a.start, a.end)).collect();
    assert_eq!(alternate, [("b", 2, 7)]);
    assert!(text.contains("b has 0 set aside from 2 to 7, because its colour asks for it"));
    // Only the definition: one moment there, then it is copied away at once, at any cost.
    let mut moment = problem(10, &[("a", 40, 1, &[8])]);
    colour(&mut moment, 0, None, Space::Alternate);
    colour(&mut moment, 0, Some(0), Space::Default);
    let (assignment, text) = run(&moment);
    assert!(text.contains("copied to slow memory right after 1, because its colour asks for it"), "{text}");
    assert_eq!(assignment.in_alternate().map(|a| (a.start, a.end)).collect::<Vec<_>>(), [(1, 1)]);
    // Only the use: a copy right before it where no other fits.
    let mut last = one_parameter();
    last.options.max_outstanding_prefetches = 0;
    colour(&mut last, 0, Some(0), Space::Alternate);
    assert_eq!(copy_start(&last), Some(8));
    let mut wrong = problem(10, &[("a", 40, 1, &[8])]);
    colour(&mut wrong, 0, None, Space::Alternate);
    wrong.buffers[0].size = 80;
    assert_eq!(
        assign(&wrong).unwrap_err(),
        Error::ColourDoesNotFit { name: "a".to_owned(), start: 1, end: 1 }
    );
}

#[test]
fn cores_that_share_a_value_have_a_part_each() {
    let mut one = problem(10, &[("a", 80, 1, &[8])]);
    one.options.interval_rule =
        IntervalRule::Cost { min_overlap_ratio: 1.0, preferred_overlap_ratio: 2.0, max_overlap_ratio: 10.0 };
    assert_eq!(run(&one).0.in_alternate().count(), 0);
    one.buffers[0].split_sizes = vec![(0, 40)];
    one.buffers[0].allocation_values[0].split = Split::Dimension(0);
    assert_eq!(run(&one).0.in_alternate().map(|a| a.size).collect::<Vec<_>>(), [40]);
    let mut other = one.buffers[0].allocation_values[0].clone();
    (other.split, other.definition_time) = (Split::Dimension(1), 2);
    one.buffers[0].allocation_values.push(other);
    assert!(run(&one).1.contains("would be split between cores in different ways"));
}

#[test]
fn blocks_come_one_after_the_other() {
    let mut blocks =
        problem(12, &[("a", 24, 0, &[6]), ("b", 24, 0, &[8]), ("c", 24, 0, &[9, 10]), ("d", 8, 1, &[3])]);
    blocks.options.reserved_bytes_for_block_prefetches = 48;
    blocks.options.max_outstanding_block_prefetches = 2;
    for buffer in 0..3 {
        let (buffer, kind) = (BufferIndex(buffer), BlockKind::Prefetch);
        blocks.block_prefetches.push(BlockPrefetch { buffer, kind, is_demanded: buffer.0 == 2 });
    }
    let (assignment, text) = run(&blocks);
    let copies: Vec<(i64, i64)> =
        assignment.in_alternate().filter_map(|a| a.copy).map(|c| (c.start, c.done)).collect();
    // The third waits until the first is read for the last time.
    assert_eq!(copies, [(0, 6), (0, 8), (6, 9)], "{text}");
    blocks.options.reserved_bytes_for_block_prefetches = 16;
    assert_eq!(assign(&blocks).unwrap_err(), Error::BlockDoesNotFit { name: "c".to_owned() });
}

#[test]
fn windows_take_what_is_left() {
    let mut one = asked(UseOverride::KeepInDefault);
    one.options.window_prefetch_min_span_bytes = 16;
    for span_bytes in [8, 32, 80] {
        one.windows.push(Window { buffer: BufferIndex(0), position: 0, usage: 0, span_bytes });
    }
    let (assignment, text) = run(&one);
    let windows: Vec<u64> =
        assignment.allocations.iter().filter(|a| a.kind == Kind::WindowPrefetched).map(|a| a.size).collect();
    assert_eq!(windows, [32]);
    assert!(text.contains("8 bytes are fewer than 16") && text.contains("80 bytes are free nowhere"));
}

/// The checker is no ornament: whatever is put where another value is still wanted, it finds.
#[test]
fn a_value_in_the_wrong_place_is_missed() {
    let mut tried = 0;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.display();
        let mut text = String::new();
        GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
        let (fixture, assignment) = replay::run(&text).unwrap();
        let problem = fixture.problem();
        checked::check(&problem, &assignment).unwrap();
        let last_read = |a: &memory_space::Allocation| {
            let times = a.uses.iter().filter_map(|u| match u {
                memory_space::UseRef::Buffer { buffer, position, usage } => {
                    let value = &problem.buffers[buffer.0 as usize].allocation_values[*position as usize];
                    Some(value.uses[*usage as usize].corrected_time)
                }
                memory_space::UseRef::CrossProgram { .. } => None,
            });
            times.max().unwrap_or(-1)
        };
        for (i, a) in assignment.allocations.iter().enumerate() {
            let Some(copy) = a.copy.filter(|_| a.slices.is_empty() && a.replaces.is_none()) else { continue };
            // A copy that is done only after it is read.
            if let (Some(_), true) = (a.offset, last_read(a) > copy.start + 1) {
                let mut late = assignment.clone();
                late.allocations[i].copy.as_mut().unwrap().done = last_read(a) + 1;
                assert!(checked::check(&problem, &late).is_err(), "{name}: {a:?} done late");
                tried += 1;
            }
            for b in assignment.in_alternate().filter(|b| b.buffer != a.buffer) {
                let is_between = b.available_time() <= copy.start && copy.start < last_read(b);
                if a.offset.is_some() && is_between {
                    let mut moved = assignment.clone();
                    moved.allocations[i].offset = b.offset;
                    assert!(checked::check(&problem, &moved).is_err(), "{name}: {a:?} over {b:?}");
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 50, "{tried}");
}

#[test]
fn every_failure_has_evidence() {
    let mut one = one_parameter();
    one.options.max_outstanding_prefetches = 0;
    let (assignment, text) = run(&one);
    assert!(text.contains("0 copies are under way, there may be 0"), "{text}");
    let outcome = assignment.segment_outcomes().next().unwrap().to_string();
    assert_eq!(outcome, "FailOutOfAsyncCopies");
    assert!(assignment.decisions.iter().any(|d| matches!(d, Decision::Finalized { in_alternate: 0, .. })));
}
