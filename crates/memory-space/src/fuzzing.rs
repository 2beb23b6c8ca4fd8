//! What must hold for every problem, as one function from bytes: the body of the fuzz target, also run by the tests.
//!
//! These functions panic when something does not hold; that is their purpose.

use crate::problem::{
    Alias, AllocationValue, BlockKind, BlockPrefetch, Buffer, BufferIndex, Colouring, ComputationId,
    Conversion, CrossProgramCandidate, Instruction, IntervalRule, Options, PrefetchTime, Problem,
    Requirement, RequirementReason, ScopedReservation, Space, Split, Use, UseOverride, ValueId, Window,
};
use crate::{Allocation, Assignment, Decision, Kind, Step, Time, UseRef, assign, checked, replay};
use std::collections::BTreeMap;

/// Makes a problem of the bytes and checks what comes of it; also reads them as a fixture.
pub fn check_bytes(bytes: &[u8]) {
    check(&decode(bytes));
    let _ = replay::run(&String::from_utf8_lossy(bytes));
}

/// A straight-line problem: a few bytes of options, then instructions, buffers and their uses.
pub fn decode(bytes: &[u8]) -> Problem {
    let mut bytes = bytes.iter().copied();
    let mut next = || i64::from(bytes.next().unwrap_or(0));
    let alignment = 1 << (next() % 4);
    let options = Options {
        max_size_in_bytes: (next() * 4) as u64,
        alignment_in_bytes: alignment,
        max_outstanding_prefetches: next() % 6 - 1,
        max_outstanding_evictions: next() % 6 - 1,
        max_retries: 1 + (next() % 3) as u32,
        max_repacks: (next() % 4) as u32,
        enforce_prefetch_fifo_order: next() % 2 == 0,
        inefficient_use_to_copy_ratio: (next() % 3) as f32 / 2.0,
        all_slice_time_permutations_threshold: (next() % 5) as usize,
        copy_bandwidth_bytes_per_second: 8.0 * (1 + next() % 8) as f64,
        max_cross_program_prefetches: next() % 4 - 1,
        interval_rule: if next() % 4 == 0 {
            IntervalRule::Count { min_overlap: next() % 4, max_overlap: 2 + next() % 12 }
        } else {
            IntervalRule::Cost {
                min_overlap_ratio: (next() % 4) as f32 / 2.0,
                preferred_overlap_ratio: (next() % 8) as f32 / 2.0,
                max_overlap_ratio: (1 + next() % 64) as f32,
            }
        },
        ..Options::default()
    };
    let length = 4 + next() % 24;
    let instructions = (0..length).map(|time| {
        let seconds = (next() % 16) as f32 / 2.0;
        Instruction {
            name: format!("i{time}"),
            elapsed_seconds: seconds,
            copy_seconds: seconds,
            is_control_flow: false,
            computation: ComputationId(0),
            nest: 0,
            while_nest: 0,
        }
    });
    let instructions: Vec<Instruction> = instructions.collect();
    let mut required: BTreeMap<(ValueId, Time), Requirement> = BTreeMap::new();
    let mut buffers = Vec::new();
    let mut cross_program = Vec::new();
    for id in 0..(next() % 20) as u32 {
        let value = ValueId(id);
        let size = 1 + (next() * 2) as u64;
        let mut definition_time = next() % length;
        let mut positions = Vec::new();
        let kind = next();
        // A copy of an earlier buffer, which could be made asynchronous; nothing is written over that buffer meanwhile.
        if kind % 7 == 6
            && let Some([source]) = buffers.last_mut().map(|b: &mut Buffer| &mut b.allocation_values[..])
            && let Some(usage) = source.uses.last_mut()
        {
            definition_time = usage.time;
            usage.conversion = Some(Conversion {
                target: BufferIndex(id),
                position: 0,
                earliest_time: -1,
                latest_time: (definition_time + 1 + next() % 6).min(length),
            });
        }
        let count = if kind % 5 == 0 { 2 } else { 1 };
        for position in 0..count {
            let value = ValueId(id + 100 * position);
            let mut times: Vec<Time> =
                (0..next() % 5).map(|_| definition_time + 1 + next() % length).collect();
            times.retain(|time| *time < length);
            times.sort_unstable();
            let mut uses: Vec<Use> = times
                .iter()
                .map(|time| {
                    let mut usage = Use::plain(format!("i{time} of {value}"), *time);
                    usage.elapsed_reduction = (next() % 4) as f32 / 2.0;
                    usage.bytes_accessed = Some((next() * 4) as u64);
                    usage
                })
                .collect();
            let last = times.last().copied();
            // The second position of a value in place is defined by the last user of the first.
            if let (Some(last), Some(usage), true) = (last, uses.last_mut(), count == 2 && position == 0) {
                usage.aliases.push(Alias { value: ValueId(id + 100), time: last });
            }
            positions.push(AllocationValue {
                value,
                name: format!("v{}", value.0),
                definition_time,
                computation: ComputationId(0),
                uses,
                is_contiguous: kind % 17 == 16,
                is_position_allowed: kind % 13 != 12,
                bytes_accessed: Some(size),
                branch_roots: Vec::new(),
                split: Split::Replicated,
            });
            definition_time = last.unwrap_or(definition_time);
            if last.is_none() {
                break;
            }
        }
        let first = &positions[0];
        if kind % 3 == 0 {
            let (time, space) = (first.definition_time, Space::Default);
            required.insert(
                (value, time),
                Requirement { value, time, space, reason: RequirementReason::ProgramInput },
            );
            if let (Some(one), Some(last)) = (first.uses.first(), first.uses.last()) {
                cross_program.push(CrossProgramCandidate {
                    id,
                    value,
                    name: format!("v{id}"),
                    size,
                    first_use_time: Some(one.time),
                    last_use_time: last.time,
                    uses: Vec::new(),
                });
            }
        }
        let slices = match kind % 4 {
            0 if size >= 4 => vec![size / 4, size / 4, size / 4, size - size / 4 * 3],
            1 if size >= 2 => vec![size / 2, size - size / 2],
            _ => Vec::new(),
        };
        buffers.push(Buffer {
            id,
            value,
            name: format!("v{id}"),
            size,
            benefit: 0.0,
            is_allowed: kind % 11 != 10,
            is_pinned: kind % 64 == 63,
            allocation_values: positions,
            slices,
            split_sizes: Vec::new(),
        });
    }
    let scoped = match next() % 3 {
        0 => vec![ScopedReservation { time: next() % length, size: (next() % 64) as u64 }],
        _ => Vec::new(),
    };
    let mut problem = Problem {
        options,
        instructions,
        buffers,
        required: required.into_values().collect(),
        cross_program,
        scoped,
        ..Problem::default()
    };
    add_wishes(&mut problem, &mut next);
    problem
}

/// Colours, overrides, splits, blocks and windows; few of each, and often none.
fn add_wishes(problem: &mut Problem, next: &mut impl FnMut() -> i64) {
    let count = problem.buffers.len() as i64;
    if count == 0 {
        return;
    }
    problem.options.fail_on_unsatisfied_override = next() % 8 == 7;
    for _ in 0..next() % 6 {
        let at = next() % count;
        let buffer = BufferIndex(at as u32);
        let length = problem.instructions.len() as Time;
        let values = &mut problem.buffers[at as usize].allocation_values;
        let position = (next() % values.len() as i64) as usize;
        let uses = &mut values[position].uses;
        let usage = (!uses.is_empty()).then(|| (next() % uses.len() as i64) as usize);
        let space = if next() % 2 == 0 { Space::Default } else { Space::Alternate };
        match (next() % 6, usage) {
            (0, _) => {
                problem.colourings.push(Colouring { buffer, position: position as u32, usage: None, space });
            }
            (1, Some(usage)) => {
                let usage = Some(usage as u32);
                problem.colourings.push(Colouring { buffer, position: position as u32, usage, space });
            }
            (2, Some(usage)) => {
                let at = match next() % 2 {
                    0 => PrefetchTime::At(next() % length),
                    _ => PrefetchTime::Eagerness(next() as f32 / 255.0),
                };
                let is_strict = next() % 2 == 0;
                uses[usage].asked = Some(match next() % 4 {
                    0 => UseOverride::KeepInDefault,
                    1 => UseOverride::OnlyStart { start: next() % length - 1 },
                    _ => UseOverride::Prefetch { at, is_strict },
                });
            }
            (3, Some(usage)) => problem.windows.push(Window {
                buffer,
                position: position as u32,
                usage: usage as u32,
                span_bytes: (next() * 64) as u64,
            }),
            (4, _) => {
                values[position].split = if next() % 2 == 0 { Split::Any } else { Split::Dimension(0) };
                let buffer = &mut problem.buffers[at as usize];
                buffer.split_sizes = vec![(0, buffer.size.div_ceil(2))];
            }
            _ => {
                if !problem.block_prefetches.iter().any(|b| b.buffer == buffer) {
                    let is_demanded = next() % 4 == 0;
                    problem.block_prefetches.push(BlockPrefetch {
                        buffer,
                        kind: BlockKind::Prefetch,
                        is_demanded,
                    });
                }
            }
        }
    }
    if next() % 4 == 3 {
        problem.options.reserved_bytes_for_block_prefetches = (next() * 2) as u64;
        problem.options.max_outstanding_block_prefetches = (next() % 4) as u32;
    }
    problem.options.window_prefetch_min_span_bytes = (next() * 16) as u64;
}

/// A large straight-line problem with `count` values of two uses each, the same every time.
pub fn many(count: i64) -> Problem {
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
                split: Split::Replicated,
            }],
            slices: Vec::new(),
            split_sizes: Vec::new(),
        }
    });
    Problem {
        options: Options::tpu_v5e(16 << 20),
        instructions: instructions.collect(),
        buffers: buffers.collect(),
        ..Problem::default()
    }
}

/// Runs it twice and checks the result.
pub fn check(problem: &Problem) {
    let result = assign(problem);
    assert_eq!(result, assign(problem), "not deterministic");
    let Ok(assignment) = result else { return };
    check_places(problem, &assignment);
    check_copies(problem, &assignment);
    check_uses(problem, &assignment);
    if let Err(misplaced) = checked::check(problem, &assignment) {
        panic!("{misplaced}");
    }
}

/// Times and addresses an allocation occupies.
fn occupied(allocation: &Allocation) -> Vec<(Time, Time, u64, u64)> {
    let Some(offset) = allocation.offset else { return Vec::new() };
    if allocation.slices.is_empty() {
        return vec![(allocation.start, allocation.end, offset, offset + allocation.size)];
    }
    allocation.slices.iter().map(|s| (s.start + 1, allocation.end, s.offset, s.offset + s.size)).collect()
}

/// Never over capacity, always aligned, no two things in one place at one time.
fn check_places(problem: &Problem, assignment: &Assignment) {
    let options = &problem.options;
    assert!(assignment.heap_size <= options.max_size_in_bytes);
    let all: Vec<&Allocation> = assignment.in_alternate().collect();
    for (i, a) in all.iter().enumerate() {
        let offset = a.offset.expect("alternate memory has offsets");
        assert!(offset.is_multiple_of(options.alignment_in_bytes), "{a:?}");
        assert!(offset + a.size <= options.max_size_in_bytes, "{a:?}");
        let sum: u64 = a.slices.iter().map(|s| s.size).sum();
        assert!(a.slices.is_empty() || sum == a.size, "{a:?}");
        for b in &all[i + 1..] {
            // Positions of one buffer take a place over from each other.
            if a.group == b.group && a.group.is_some() {
                continue;
            }
            for (a_start, a_end, a_low, a_high) in occupied(a) {
                for (b_start, b_end, b_low, b_high) in occupied(b) {
                    let in_time = a_start <= b_end && b_start <= a_end;
                    let in_space = a_low < b_high && b_low < a_high;
                    assert!(!(in_time && in_space), "{a:?}\n{b:?}");
                }
            }
        }
    }
}

/// Copies stand within their windows, in order where asked, not too many at a time, and never need more bandwidth than
/// there is.
fn check_copies(problem: &Problem, assignment: &Assignment) {
    let mut by_direction: [Vec<(Time, Time, f32)>; 2] = [Vec::new(), Vec::new()];
    for allocation in &assignment.allocations {
        let Some(copy) = allocation.copy else { continue };
        let source = &assignment.allocations[allocation.source.expect("a copy has a source")];
        assert!(copy.start < copy.done, "{allocation:?}");
        assert_eq!(allocation.start, copy.start + 1);
        assert_ne!(source.space, allocation.space);
        if copy.cross_program.is_none() {
            assert!(copy.start >= source.available_time(), "{allocation:?}\n{source:?}");
        }
        for usage in &allocation.uses {
            if let UseRef::Buffer { buffer, position, usage } = usage {
                let values = &problem.buffers[buffer.index()].allocation_values;
                let time = values[*position as usize].uses[*usage as usize].corrected_time;
                assert!(copy.done <= time, "{allocation:?}");
            }
        }
        let is_prefetch = allocation.space == Space::Alternate;
        let parts = &mut by_direction[usize::from(is_prefetch)];
        if allocation.slices.is_empty() {
            parts.push((copy.start, copy.done, copy.seconds));
        } else {
            parts.extend(allocation.slices.iter().map(|s| (s.start, copy.done, s.seconds)));
        }
    }
    if problem.options.enforce_prefetch_fifo_order {
        for (i, a) in by_direction[1].iter().enumerate() {
            for b in &by_direction[1][i + 1..] {
                let overtakes = (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1);
                assert!(!overtakes || a.2 == 0.0 || b.2 == 0.0, "{a:?} {b:?}");
            }
        }
    }
    for parts in &by_direction {
        check_bandwidth(problem, parts);
    }
}

/// Whatever must be copied within a range of time fits into what the instructions of that range leave idle.
fn check_bandwidth(problem: &Problem, parts: &[(Time, Time, f32)]) {
    for (start, _, _) in parts {
        for (_, end, _) in parts {
            let inside = parts.iter().filter(|(s, e, _)| s >= start && e <= end);
            let wanted: f64 = inside.map(|(_, _, seconds)| f64::from(*seconds)).sum();
            let idle = problem.instructions.iter().enumerate();
            let idle: f64 = idle
                .filter(|(t, _)| (*t as Time) > *start && (*t as Time) < *end)
                .map(|(_, i)| f64::from(i.copy_seconds))
                .sum();
            assert!(wanted <= idle * (1.0 + 1e-5) + 1e-5, "{wanted} s in ({start}, {end}), {idle} s idle");
        }
    }
}

/// Every use of a buffer that became final reads exactly one allocation that is alive then.
fn check_uses(problem: &Problem, assignment: &Assignment) {
    let mut readers: BTreeMap<UseRef, usize> = BTreeMap::new();
    for allocation in &assignment.allocations {
        for usage in &allocation.uses {
            *readers.entry(*usage).or_default() += 1;
            if let UseRef::Buffer { buffer, position, usage } = usage {
                let values = &problem.buffers[buffer.index()].allocation_values;
                let time = values[*position as usize].uses[*usage as usize].corrected_time;
                assert!(
                    allocation.available_time() <= time && time <= allocation.end,
                    "{allocation:?} at {time}"
                );
            }
        }
    }
    for decision in &assignment.decisions {
        if let Decision::Finalized { buffer, .. } = decision {
            for (position, value) in problem.buffers[buffer.index()].allocation_values.iter().enumerate() {
                for (usage, read) in value.uses.iter().enumerate() {
                    // A copy that has become asynchronous reads nothing any more.
                    let is_replaced = |a: &Allocation| a.replaces == Some(read.time);
                    if read.conversion.is_some() && assignment.allocations.iter().any(is_replaced) {
                        continue;
                    }
                    let (position, usage) = (position as u32, usage as u32);
                    let key = UseRef::Buffer { buffer: *buffer, position, usage };
                    assert_eq!(readers.get(&key), Some(&1), "{key:?}");
                }
            }
        }
        if let Decision::Segment(segment) = decision
            && segment.outcome.is_success()
        {
            assert!(segment.steps.iter().any(|s| !matches!(s, Step::Required { .. })), "{segment:?}");
        }
    }
    assert!(assignment.allocations.iter().all(|a| a.kind == Kind::Scoped || a.value.is_some()));
}
