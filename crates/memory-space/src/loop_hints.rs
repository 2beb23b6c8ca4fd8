//! Unrolled loops of a module: found, planned, and the plan given to the uses of all iterations (MEMORY_SPACE 24).

use crate::Time;
use crate::cost::{Costs, Machine};
use crate::loops::{
    Fingerprint, FoundLoop, LoopKind, LoopPlan, LoopProblem, LoopUse, LoopValue, Optimized, find, optimize,
};
use crate::problem::LoopHint;
use crate::program::Program;
use analysis::Facts;
use hlo::{InstructionId, Module, Opcode};
use std::collections::BTreeMap;

/// Options of the optimiser (2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopOptions {
    /// A copy may begin if it is hidden to this extent.
    pub desired_copy_ratio: f32,
    /// A copy may take a whole iteration even if it is not hidden.
    pub allow_unsatisfied_fully_pipelined_prefetch: bool,
    /// Loops with fewer iterations are left alone.
    pub min_num_iterations: f32,
}

impl Default for LoopOptions {
    /// What libtpu 0.0.52 uses.
    fn default() -> Self {
        Self {
            desired_copy_ratio: 0.7,
            allow_unsatisfied_fully_pipelined_prefetch: true,
            min_num_iterations: 6.0,
        }
    }
}

/// A loop with its plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedLoop {
    /// Where it is.
    pub found: FoundLoop,
    /// One iteration.
    pub problem: LoopProblem,
    /// What was planned.
    pub plan: Optimized,
    /// Seconds of an iteration with everything in slow memory, and as planned: what copies leave unhidden is added. An
    /// estimate of ours; the compiler simulates three iterations.
    pub seconds: (f32, f32),
}

/// A hash that is the same everywhere (FNV-1a).
fn hash(parts: &[u64]) -> u64 {
    let bytes = parts.iter().flat_map(|p| p.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// What each instruction of the flattened schedule is recognised by.
pub fn fingerprints(module: &Module, facts: &Facts) -> Vec<Fingerprint> {
    let is_trivial = |opcode| matches!(opcode, Opcode::Parameter | Opcode::Tuple | Opcode::GetTupleElement);
    let one = |id: &InstructionId| {
        let instruction = module.instruction(*id);
        let operands = module.operands(*id);
        let mut parts =
            vec![instruction.opcode as u64, operands.len() as u64, u64::from(instruction.shape.0)];
        parts.extend(operands.iter().map(|o| u64::from(module.instruction(*o).shape.0)));
        let time = facts.clock.time(*id);
        let distances = operands.iter().map(|o| {
            let opcode = module.instruction(*o).opcode;
            match (time, facts.clock.time(*o)) {
                (Some(here), Some(there)) if !is_trivial(opcode) && opcode != Opcode::Constant => {
                    i64::from(here.0) - i64::from(there.0)
                }
                _ => -1,
            }
        });
        Fingerprint {
            value: (instruction.opcode != Opcode::While).then(|| hash(&parts)),
            computation: instruction.computation.0,
            is_trivial: is_trivial(instruction.opcode),
            opcode: instruction.opcode as u32,
            distances: distances.collect(),
        }
    };
    facts.clock.sequence.iter().map(one).collect()
}

/// Finds the unrolled loops of a program, plans them, and tells the uses of all iterations.
pub fn add_loop_hints(
    module: &Module,
    facts: &Facts,
    program: &mut Program,
    machine: Machine,
    options: LoopOptions,
) -> Vec<PlannedLoop> {
    let costs = Costs::new(module, facts, machine);
    let found = find(&fingerprints(module, facts), options.min_num_iterations);
    let mut planned = Vec::new();
    for found in found {
        let problem = one_iteration(facts, program, &costs, found, options);
        let plan = optimize(&problem);
        give_hints(program, found, &problem, &plan);
        let seconds = gain(facts, program, &costs, found, &problem, &plan);
        planned.push(PlannedLoop { found, problem, plan, seconds });
    }
    planned
}

/// The second iteration; the first may be cut off.
fn one_iteration(
    facts: &Facts,
    program: &Program,
    costs: &Costs,
    found: FoundLoop,
    options: LoopOptions,
) -> LoopProblem {
    let length = found.length as Time;
    let begin = found.start as Time + length;
    let within = |time: Time, from: Time| (from..from + length).contains(&time);
    let home = program.problem.instructions.get(begin as usize).map(|i| i.computation);
    let mut values = Vec::new();
    // Bytes of each instruction that would be in fast memory.
    let mut fast: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for buffer in &program.problem.buffers {
        if !buffer.is_allowed {
            continue;
        }
        let mut value = LoopValue {
            name: buffer.name.clone(),
            size: buffer.size,
            is_single: buffer.allocation_values.iter().all(|v| v.value == buffer.value),
            ..LoopValue::default()
        };
        let mut is_from_before = false;
        let mut touched: Vec<(usize, u64, u64)> = Vec::new();
        for position in &buffer.allocation_values {
            if within(position.definition_time, begin - length) {
                is_from_before = true;
            } else if within(position.definition_time, begin) {
                let at = (position.definition_time - begin) as usize;
                let bytes = position.bytes_accessed.unwrap_or(0);
                value.definition = Some(value.definition.map_or(at, |old| old.min(at)));
                value.accessed_bytes = value.accessed_bytes.saturating_add(bytes);
                touched.push((at, 0, bytes));
            } else if position.definition_time < begin && Some(position.computation) == home {
                value.has_header = true;
            }
            for usage in &position.uses {
                let bytes = usage.bytes_accessed.unwrap_or(0);
                let operand = operand_of(&usage.name);
                if within(usage.time, begin) {
                    let at = (usage.time - begin) as usize;
                    value.uses.push(LoopUse { index: at, operand });
                    value.accessed_bytes = value.accessed_bytes.saturating_add(bytes);
                    touched.push((at, bytes, 0));
                } else if within(usage.time, begin + length) {
                    let at = (usage.time - begin - length) as usize;
                    value.next_uses.push(LoopUse { index: at, operand });
                    value.accessed_bytes = value.accessed_bytes.saturating_add(bytes);
                    touched.push((at, bytes, 0));
                } else if usage.time > found.end as Time {
                    value.is_used_after = true;
                }
            }
        }
        let is_touched = value.definition.is_some() || !value.uses.is_empty();
        if is_from_before || !is_touched {
            continue;
        }
        value.uses.sort_unstable();
        value.next_uses.sort_unstable();
        if matches!(value.kind(), LoopKind::Prefetch | LoopKind::Temporary | LoopKind::Pinned) {
            for (at, read, written) in touched {
                let bytes = fast.entry(at).or_default();
                *bytes = (bytes.0.saturating_add(read), bytes.1.saturating_add(written));
            }
        }
        values.push(value);
    }
    let idle = (0..found.length).map(|k| {
        let (read, written) = fast.get(&k).copied().unwrap_or_default();
        let id = facts.clock.sequence.get(begin as usize + k);
        id.map_or(0.0, |id| costs.idle_seconds(*id, read, written))
    });
    let settings = &program.problem.options;
    LoopProblem {
        length: found.length,
        values,
        idle_seconds: idle.collect(),
        capacity: settings.max_size_in_bytes,
        alignment: settings.alignment_in_bytes,
        scoped_bytes: 0,
        copy_bandwidth: settings.copy_bandwidth_bytes_per_second,
        desired_copy_ratio: options.desired_copy_ratio,
        allow_fully_pipelined: options.allow_unsatisfied_fully_pipelined_prefetch,
    }
}

/// Seconds of the planned iteration, without and with the plan.
fn gain(
    facts: &Facts,
    program: &Program,
    costs: &Costs,
    found: FoundLoop,
    problem: &LoopProblem,
    plan: &Optimized,
) -> (f32, f32) {
    let begin = (found.start + found.length) as Time;
    let within = |time: Time| (begin..begin + found.length as Time).contains(&time);
    let mut fast: BTreeMap<Time, (u64, u64)> = BTreeMap::new();
    let mut unhidden = 0.0;
    for (value, plan) in problem.values.iter().zip(&plan.plans) {
        match plan {
            LoopPlan::Fast { .. } => {}
            LoopPlan::Copied(copy) => unhidden += copy.leftover_seconds.max(0.0),
            _ => continue,
        }
        // Of values that are one per iteration, the one before is read here, too.
        for buffer in program.problem.buffers.iter().filter(|b| b.name == value.name) {
            for position in &buffer.allocation_values {
                let mut add = |time: Time, read: u64, written: u64| {
                    let time = if within(time) { time } else { time - found.length as Time };
                    if within(time) {
                        let bytes = fast.entry(time).or_default();
                        *bytes = (bytes.0.saturating_add(read), bytes.1.saturating_add(written));
                    }
                };
                if within(position.definition_time) {
                    add(position.definition_time, 0, position.bytes_accessed.unwrap_or(0));
                }
                for usage in &position.uses {
                    add(usage.time, usage.bytes_accessed.unwrap_or(0), 0);
                }
            }
        }
    }
    let times = begin..begin + found.length as Time;
    let of = |fast: &dyn Fn(Time) -> (u64, u64)| -> f32 {
        let seconds = times.clone().filter_map(|t| {
            let (read, written) = fast(t);
            let id = facts.clock.sequence.get(usize::try_from(t).ok()?)?;
            Some(costs.elapsed_with(*id, read, written))
        });
        seconds.sum()
    };
    let slow = of(&|_| (0, 0));
    let planned = of(&|t| fast.get(&t).copied().unwrap_or_default());
    (slow, (planned + unhidden).min(slow))
}

/// The operand's number in "fusion.3, operand 1" or "while, operand 0 {2}".
fn operand_of(name: &str) -> u32 {
    let number = name.rsplit_once("operand ").map_or("", |(_, rest)| rest);
    number.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn give_hints(program: &mut Program, found: FoundLoop, problem: &LoopProblem, plan: &Optimized) {
    let mut by_use: BTreeMap<LoopUse, (LoopPlan, usize)> = BTreeMap::new();
    for (value, plan) in problem.values.iter().zip(&plan.plans) {
        for usage in value.uses.iter().chain(&value.next_uses) {
            by_use.insert(*usage, (*plan, usage.index));
        }
    }
    let (start, end) = (found.start as Time, found.end as Time);
    let uses =
        program.problem.buffers.iter_mut().flat_map(|b| &mut b.allocation_values).flat_map(|v| &mut v.uses);
    for usage in uses.filter(|u| start <= u.time && u.time <= end) {
        let index = ((usage.time - start) % found.length as Time) as usize;
        let key = LoopUse { index, operand: operand_of(&usage.name) };
        usage.loop_hint = match by_use.get(&key) {
            Some((LoopPlan::Fast { .. }, _)) => Some(LoopHint::Alternate),
            Some((LoopPlan::Copied(copy), index)) => Some(LoopHint::Prefetch {
                start: usage.time - *index as Time + copy.effective_start(found.length),
            }),
            // What is carried along is left to the main loop.
            Some((LoopPlan::Left { kind: LoopKind::LoopCarried | LoopKind::Unsupported }, _)) => None,
            Some((LoopPlan::Left { .. } | LoopPlan::NoPlace | LoopPlan::NotHidden, _)) => {
                Some(LoopHint::Default)
            }
            None => None,
        };
    }
}
