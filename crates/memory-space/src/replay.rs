//! Traces of a real compiler's memory space assignment, replayed.
//!
//! A fixture is a JSON object. `input` has what the algorithm was given: `options` (by XLA's names), `schedule` and
//! `elapsed_seconds`, `buffers` in the order in which they were tried, `required` assignments, cross-program candidates and what the loop
//! optimiser decided. `trace` has every segment request with its result, `expected` the final table of alternate memory.

use crate::problem::{
    Alias, AllocationValue, BranchUse, Buffer, BufferIndex, ComputationId, Conversion, CrossProgramCandidate,
    Error, Instruction, IntervalRule, LoopHint, Options, Problem, Requirement, RequirementReason, Space,
    Split, Use, UseKind, ValueId,
};
use crate::{Assignment, Decision, Step, Time, assign};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A fixture.
#[derive(Clone, Debug, Deserialize)]
pub struct Fixture {
    /// What the algorithm is given.
    pub input: Input,
    /// Segment requests with their results; empty if not known.
    #[serde(default)]
    pub trace: Vec<TraceEntry>,
    /// The final table of alternate memory; empty if not known.
    #[serde(default)]
    pub expected: Vec<Row>,
    /// The schedule of each computation afterwards, without tuples, bitcasts and get-tuple-elements; copies by their opcode.
    #[serde(default)]
    pub schedule_after: BTreeMap<String, Vec<String>>,
}

/// See [`Fixture`].
#[derive(Clone, Debug, Deserialize)]
pub struct Input {
    options: BTreeMap<String, f64>,
    schedule: Vec<String>,
    elapsed_seconds: Vec<f32>,
    #[serde(default)]
    memory_pressure: Option<u64>,
    #[serde(default)]
    size_override: Option<u64>,
    #[serde(default)]
    cross_program_candidates: Vec<CandidateInput>,
    #[serde(default)]
    cross_program_first_use_times: Vec<Time>,
    buffers: Vec<BufferInput>,
    #[serde(default)]
    required: Vec<RequiredInput>,
    #[serde(default)]
    loop_optimized_uses: BTreeMap<String, LoopInput>,
    /// The computation of each instruction; all in one if it is missing.
    #[serde(default)]
    computations: Vec<u32>,
    /// How deep each instruction is nested, and how deep in while loops.
    #[serde(default)]
    nest: Vec<u32>,
    #[serde(default)]
    while_nest: Vec<u32>,
    /// Times of while loops, conditionals and calls.
    #[serde(default)]
    control_flow: Vec<Time>,
}

#[derive(Clone, Debug, Deserialize)]
struct CandidateInput {
    value: u32,
    #[serde(default)]
    id: Option<u32>,
    name: String,
    size: u64,
    last_use_time: Time,
}

#[derive(Clone, Debug, Deserialize)]
struct BufferInput {
    value: u32,
    id: u32,
    name: String,
    size: u64,
    alternate_memory_benefit: f32,
    #[serde(default)]
    definition_time: Time,
    #[serde(default)]
    uses: Vec<UseInput>,
    /// All positions; if there are none, the buffer has one, with the definition and uses above.
    #[serde(default)]
    positions: Vec<PositionInput>,
    /// In how many equal slices it can be copied; by the options if it is missing.
    #[serde(default)]
    slices: Option<usize>,
}

#[derive(Clone, Debug, Deserialize)]
struct PositionInput {
    value: u32,
    name: String,
    definition_time: Time,
    #[serde(default)]
    computation: u32,
    #[serde(default)]
    bytes_accessed: Option<u64>,
    #[serde(default)]
    is_contiguous: bool,
    uses: Vec<UseInput>,
}

#[derive(Clone, Debug, Deserialize)]
struct UseInput {
    time: Time,
    #[serde(rename = "use")]
    usage: String,
    #[serde(default)]
    elapsed_reduction: f32,
    #[serde(default)]
    bytes_accessed: Option<u64>,
    #[serde(default)]
    corrected_time: Option<Time>,
    #[serde(default)]
    latest_prefetch_time: Option<Time>,
    /// Positions that must agree: value and time.
    #[serde(default)]
    aliases: Vec<(u32, Time)>,
    /// `plain`, `trivial`, `while`, `conditional` or `call`; by the name if it is missing.
    #[serde(default)]
    kind: Option<String>,
    /// A copy or slice that may be made asynchronous: the value of its result.
    #[serde(default)]
    conversion: Option<u32>,
    #[serde(default)]
    body: u32,
    #[serde(default)]
    parameter_time: Time,
    #[serde(default)]
    first_use_time: Option<Time>,
    /// Of a conditional: parameter and first use of each branch.
    #[serde(default)]
    branches: Vec<(Time, Time)>,
}

#[derive(Clone, Debug, Deserialize)]
struct RequiredInput {
    value: u32,
    time: Time,
    space: Space,
    reason: String,
}

#[derive(Clone, Debug, Deserialize)]
struct LoopInput {
    kind: String,
    loop_index: Time,
    #[serde(default)]
    start: Time,
}

/// A segment request and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceEntry {
    /// The value.
    pub value: u32,
    /// The use the segment ends at.
    #[serde(rename = "use")]
    pub usage: String,
    /// Its start.
    pub start: Time,
    /// Its end.
    pub end: Time,
    /// "Success", or the failures joined by " | ".
    pub result: String,
}

/// A row of the final table of alternate memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The buffer.
    pub id: u32,
    /// Bytes.
    pub size: u64,
    /// Where.
    pub offset: u64,
    /// From when.
    pub start: Time,
    /// Until when, inclusive.
    pub end: Time,
}

/// Why a fixture could not be replayed.
#[derive(Debug)]
pub enum ReplayError {
    /// It is not a fixture.
    Json(serde_json::Error),
    /// It contradicts itself.
    Problem(Error),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(e) => write!(f, "{}:{}: {e}", e.line(), e.column()),
            Self::Problem(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for ReplayError {}

impl Fixture {
    /// Reads a fixture.
    pub fn from_json(text: &str) -> Result<Self, ReplayError> {
        serde_json::from_str(text).map_err(ReplayError::Json)
    }

    /// What memory space assignment is given.
    pub fn problem(&self) -> Problem {
        self.input.problem()
    }
}

impl Input {
    fn number(&self, name: &str, default: f64) -> f64 {
        self.options.get(name).copied().unwrap_or(default)
    }

    fn options(&self) -> Options {
        let number = |name: &str| self.number(name, 0.0);
        let count = |name: &str| number(name) as i64;
        let is = |name: &str| number(name) != 0.0;
        Options {
            max_size_in_bytes: number("max_size_in_bytes") as u64,
            alignment_in_bytes: self.number("alignment_in_bytes", 1.0) as u64,
            max_outstanding_prefetches: self.number("max_outstanding_prefetches", -1.0) as i64,
            max_outstanding_evictions: self.number("max_outstanding_evictions", -1.0) as i64,
            while_use_extra_outstanding_prefetch_limit: count("while_use_extra_outstanding_prefetch_limit"),
            max_retries: self.number("max_retries", 1.0) as u32,
            max_repacks: number("max_repacks") as u32,
            repack_after_every_allocation: is("repack_after_every_allocation"),
            enable_cross_program_prefetch: is("enable_cross_program_prefetch"),
            enable_cross_program_prefetch_freeing: is("enable_cross_program_prefetch_freeing"),
            max_cross_program_prefetches: self.number("max_cross_program_prefetches", 1.0) as i64,
            enable_while_redundant_eviction_elimination: is("enable_while_redundant_eviction_elimination"),
            enforce_prefetch_fifo_order: is("enforce_prefetch_fifo_order"),
            enable_sync_copy_replacement: is("enable_sync_copy_replacement"),
            enable_sync_slice_replacement: is("enable_sync_slice_replacement"),
            extend_async_copies_limit_for_sync_mem_op_conversion: count(
                "extend_async_copies_limit_for_sync_mem_op_conversion",
            ),
            inefficient_use_to_copy_ratio: number("inefficient_use_to_copy_ratio") as f32,
            all_slice_time_permutations_threshold: number("all_slice_time_permutations_threshold") as usize,
            copy_bandwidth_bytes_per_second: self.number("copy_bandwidth_bytes_per_second", 1e12),
            interval_rule: IntervalRule::Cost {
                min_overlap_ratio: self.number("min_overlap_to_async_copy_ratio", 1.0) as f32,
                preferred_overlap_ratio: self.number("preferred_overlap_to_async_copy_ratio", 2.0) as f32,
                max_overlap_ratio: self.number("max_overlap_to_mem_size_async_copy_ratio", 8.0) as f32,
            },
            size_override: self.size_override,
            while_execution_count: 5.0,
            allocate_reserved_scoped_memory_at_same_offset: is(
                "allocate_reserved_scoped_memory_at_same_offset",
            ),
            ..Options::default()
        }
    }

    /// Equal slices, as many as the target makes of everything large enough (14.3).
    fn slices(&self, size: u64) -> Vec<u64> {
        let count = self.number("max_slices", 0.0) as u64;
        let least = self.number("min_bytes", 0.0) as u64;
        if !(2..=64).contains(&count) || size < least || !size.is_multiple_of(count) {
            return Vec::new();
        }
        equal_slices(size, count as usize)
    }

    fn positions(&self, b: &BufferInput) -> Vec<AllocationValue> {
        if b.positions.is_empty() {
            return vec![AllocationValue {
                value: ValueId(b.value),
                name: b.name.clone(),
                definition_time: b.definition_time,
                computation: ComputationId(0),
                uses: b.uses.iter().map(|u| self.usage(u)).collect(),
                is_contiguous: false,
                is_position_allowed: true,
                bytes_accessed: None,
                branch_roots: Vec::new(),
                split: Split::Replicated,
            }];
        }
        let position = |p: &PositionInput| AllocationValue {
            value: ValueId(p.value),
            name: p.name.clone(),
            definition_time: p.definition_time,
            computation: ComputationId(p.computation),
            uses: p.uses.iter().map(|u| self.usage(u)).collect(),
            is_contiguous: p.is_contiguous,
            is_position_allowed: true,
            bytes_accessed: p.bytes_accessed,
            branch_roots: Vec::new(),
            split: Split::Replicated,
        };
        b.positions.iter().map(position).collect()
    }

    fn problem(&self) -> Problem {
        let instructions = self.schedule.iter().enumerate().map(|(time, name)| {
            let seconds = self.elapsed_seconds.get(time).copied().unwrap_or(0.0);
            Instruction {
                name: name.clone(),
                elapsed_seconds: seconds,
                copy_seconds: seconds,
                is_control_flow: self.control_flow.contains(&(time as Time)),
                computation: ComputationId(self.computations.get(time).copied().unwrap_or(0)),
                nest: self.nest.get(time).copied().unwrap_or(0),
                while_nest: self.while_nest.get(time).copied().unwrap_or(0),
            }
        });
        let buffers = self.buffers.iter().map(|b| Buffer {
            id: b.id,
            value: ValueId(b.value),
            name: b.name.clone(),
            size: b.size,
            benefit: b.alternate_memory_benefit,
            is_allowed: true,
            is_pinned: false,
            slices: match b.slices {
                Some(count) => equal_slices(b.size, count),
                None => self.slices(b.size),
            },
            allocation_values: self.positions(b),
            split_sizes: Vec::new(),
        });
        let required = self.required.iter().map(|r| Requirement {
            value: ValueId(r.value),
            time: r.time,
            space: r.space,
            reason: reason(&r.reason),
        });
        // The first uses are given in the order in which candidates were taken. Those that are too large were not.
        let mut first_uses = self.cross_program_first_use_times.iter();
        let size = self.number("max_size_in_bytes", 0.0) as u64;
        let cross_program = self.cross_program_candidates.iter().map(|c| CrossProgramCandidate {
            id: c.id.unwrap_or_else(|| self.id_of(c.value)),
            value: ValueId(c.value),
            name: c.name.clone(),
            size: c.size,
            first_use_time: if c.size <= size { first_uses.next().copied() } else { None }
                .filter(|first| *first <= c.last_use_time),
            last_use_time: c.last_use_time,
            uses: Vec::new(),
        });
        Problem {
            options: self.options(),
            instructions: instructions.collect(),
            buffers: buffers.collect(),
            required: required.collect(),
            cross_program: cross_program.collect(),
            scoped: Vec::new(),
            memory_pressure: self.memory_pressure,
            ..Problem::default()
        }
    }

    /// Values and rows of XLA's table are numbered in one order; a candidate is missing in the list of buffers, but its
    /// neighbours are not.
    fn id_of(&self, value: u32) -> u32 {
        let neighbour = self.buffers.iter().min_by_key(|b| (b.value.abs_diff(value), b.value));
        neighbour.map_or(value, |b| value.wrapping_sub(b.value).wrapping_add(b.id))
    }

    /// The buffer and position that a copy or slice at `time` defines.
    fn conversion(&self, value: u32, time: Time) -> Option<Conversion> {
        self.buffers.iter().enumerate().find_map(|(target, b)| {
            let (position, uses) = if b.positions.is_empty() {
                (b.value == value).then_some((0, &b.uses))?
            } else {
                let is_it = |p: &PositionInput| p.value == value && p.definition_time == time;
                let position = b.positions.iter().position(is_it)?;
                (position, &b.positions[position].uses)
            };
            let latest_time = uses.iter().map(|u| u.time).min()?;
            let (target, position) = (BufferIndex(target as u32), position as u32);
            Some(Conversion { target, position, earliest_time: -1, latest_time })
        })
    }

    fn usage(&self, u: &UseInput) -> Use {
        let hint = self.loop_optimized_uses.get(&u.usage).map(|hint| match hint.kind.as_str() {
            "prefetch" => LoopHint::Prefetch { start: u.time - hint.loop_index + hint.start },
            "alternate" => LoopHint::Alternate,
            _ => LoopHint::Default,
        });
        let mut usage = Use::plain(u.usage.clone(), u.time);
        usage.elapsed_reduction = u.elapsed_reduction;
        usage.bytes_accessed = u.bytes_accessed;
        usage.loop_hint = hint;
        usage.corrected_time = u.corrected_time.unwrap_or(u.time);
        usage.latest_prefetch_time = u.latest_prefetch_time.unwrap_or(u.time);
        usage.aliases =
            u.aliases.iter().map(|(value, time)| Alias { value: ValueId(*value), time: *time }).collect();
        let is_bitcast = u.usage.starts_with("bitcast.") || u.usage.starts_with("bitcast,");
        usage.conversion = u.conversion.and_then(|value| self.conversion(value, u.time));
        usage.kind = match u.kind.as_deref() {
            Some("trivial") => UseKind::Trivial,
            Some("while") => UseKind::While {
                body: ComputationId(u.body),
                parameter_time: u.parameter_time,
                first_use_time: u.first_use_time,
                is_unchanged: false,
            },
            Some("conditional") => UseKind::Conditional {
                branches: u
                    .branches
                    .iter()
                    .map(|(parameter_time, first_use_time)| BranchUse {
                        parameter_time: *parameter_time,
                        first_use_time: *first_use_time,
                    })
                    .collect(),
            },
            Some("call") => UseKind::Call,
            None if is_bitcast => UseKind::Trivial,
            _ => UseKind::Plain,
        };
        usage
    }
}

/// A buffer in equal parts; none if it does not divide.
fn equal_slices(size: u64, count: usize) -> Vec<u64> {
    let parts = count as u64;
    if !(2..=64).contains(&count) || !size.is_multiple_of(parts) {
        return Vec::new();
    }
    vec![size / parts; count]
}

fn reason(text: &str) -> RequirementReason {
    match text {
        "Program input." => RequirementReason::ProgramInput,
        "Program output." => RequirementReason::ProgramOutput,
        "Constant instruction." => RequirementReason::Constant,
        "Value not allowed." => RequirementReason::ValueNotAllowed,
        other => RequirementReason::Other(other.to_owned()),
    }
}

/// The final table of alternate memory, in order of allocation.
pub fn table(assignment: &Assignment) -> Vec<Row> {
    let row = |a: &crate::Allocation| {
        Some(Row { id: a.id, size: a.size, offset: a.offset?, start: a.start, end: a.end })
    };
    assignment.in_alternate().filter_map(row).collect()
}

/// Every segment request with its result, in order. A second operand of an instruction asks for nothing, and XLA does not
/// log it.
pub fn trace(assignment: &Assignment) -> Vec<TraceEntry> {
    let entry = |decision: &Decision| match decision {
        Decision::Segment(segment) if segment.steps != [Step::SameInstruction] => Some(TraceEntry {
            value: segment.value.0,
            usage: segment.usage.clone(),
            start: segment.start,
            end: segment.end,
            result: segment.outcome.to_string(),
        }),
        _ => None,
    };
    assignment.decisions.iter().filter_map(entry).collect()
}

/// Replays a fixture.
pub fn run(text: &str) -> Result<(Fixture, Assignment), ReplayError> {
    let fixture = Fixture::from_json(text)?;
    let assignment = assign(&fixture.problem()).map_err(ReplayError::Problem)?;
    Ok((fixture, assignment))
}
