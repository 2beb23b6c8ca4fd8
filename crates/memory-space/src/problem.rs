//! What memory space assignment is given, as plain data: no module, no callbacks.

use crate::{Outcome, Time};
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// An HLO value.
    ValueId
);
id!(
    /// A computation of the schedule.
    ComputationId
);
id!(
    /// A buffer of [`Problem::buffers`], by its place there.
    BufferIndex
);

impl BufferIndex {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A memory space (1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// Large and slow: HBM.
    Default,
    /// Small and fast: VMEM, or CMEM on TPU v4.
    Alternate,
}

/// Which times a copy may start at, and how long a value may stay (14.1 and 14.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum IntervalRule {
    /// By estimated time. Ratios are of the time the copy takes.
    Cost {
        /// A copy needs at least this.
        min_overlap_ratio: f32,
        /// A copy would best have this.
        preferred_overlap_ratio: f32,
        /// A value may stay this times as long as it takes to fill alternate memory.
        max_overlap_ratio: f32,
    },
    /// By number of instructions.
    Count {
        /// A copy needs at least so many instructions.
        min_overlap: Time,
        /// And at most so many.
        max_overlap: Time,
    },
}

/// The options (2), by the names XLA gives them.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Bytes of alternate memory.
    pub max_size_in_bytes: u64,
    /// Offsets are multiples of this many bytes.
    pub alignment_in_bytes: u64,
    /// Prefetches under way at a time; negative: any number.
    pub max_outstanding_prefetches: i64,
    /// Evictions under way at a time; negative: any number.
    pub max_outstanding_evictions: i64,
    /// So many more prefetches for an operand of a while.
    pub while_use_extra_outstanding_prefetch_limit: i64,
    /// Attempts at each buffer.
    pub max_retries: u32,
    /// How often everything may be packed anew.
    pub max_repacks: u32,
    /// Pack anew after each buffer (for tests of XLA's own).
    pub repack_after_every_allocation: bool,
    /// Prefetch parameters before the program begins.
    pub enable_cross_program_prefetch: bool,
    /// Give such a parameter's space back after its last use, and fetch it again at the end of the program.
    pub enable_cross_program_prefetch_freeing: bool,
    /// How many; negative: any number.
    pub max_cross_program_prefetches: i64,
    /// After a while that leaves a value alone, use the copy from before it instead of evicting anew.
    pub enable_while_redundant_eviction_elimination: bool,
    /// No prefetch may overtake another.
    pub enforce_prefetch_fifo_order: bool,
    /// Try to make synchronous copies asynchronous ones into alternate memory.
    pub enable_sync_copy_replacement: bool,
    /// The same for slices.
    pub enable_sync_slice_replacement: bool,
    /// So many more copies under way for those.
    pub extend_async_copies_limit_for_sync_mem_op_conversion: i64,
    /// A buffer whose uses read less than this times what is copied for it is not worth it; 0 turns it off.
    pub inefficient_use_to_copy_ratio: f32,
    /// Up to so many slices all orders of their starts are tried.
    pub all_slice_time_permutations_threshold: usize,
    /// Bytes a second that the asynchronous copy engine moves.
    pub copy_bandwidth_bytes_per_second: f64,
    /// When copies may start.
    pub interval_rule: IntervalRule,
    /// The size the interval picker is told for every buffer, in place of its own.
    pub size_override: Option<u64>,
    /// How often a loop's body is taken to run.
    pub while_execution_count: f32,
    /// All scoped memory stands at one offset when packed anew.
    pub allocate_reserved_scoped_memory_at_same_offset: bool,
    /// An override that does not come true is an error.
    pub fail_on_unsatisfied_override: bool,
    /// Bytes set aside for block prefetches; 0 turns them off. With them, everything else runs without copies.
    pub reserved_bytes_for_block_prefetches: u64,
    /// Block prefetches under way at a time.
    pub max_outstanding_block_prefetches: u32,
    /// Windows of at least so many bytes.
    pub window_prefetch_min_span_bytes: u64,
    /// At most so many windows of one instruction.
    pub window_prefetch_max_operands: u32,
}

impl Default for Options {
    /// XLA's own defaults, with the interval picker of its tests and no alternate memory.
    fn default() -> Self {
        Self {
            max_size_in_bytes: 0,
            alignment_in_bytes: 1,
            max_outstanding_prefetches: -1,
            max_outstanding_evictions: -1,
            while_use_extra_outstanding_prefetch_limit: 0,
            max_retries: 1,
            max_repacks: 0,
            repack_after_every_allocation: false,
            enable_cross_program_prefetch: true,
            enable_cross_program_prefetch_freeing: true,
            max_cross_program_prefetches: 1,
            enable_while_redundant_eviction_elimination: true,
            enforce_prefetch_fifo_order: false,
            enable_sync_copy_replacement: false,
            enable_sync_slice_replacement: false,
            extend_async_copies_limit_for_sync_mem_op_conversion: 0,
            inefficient_use_to_copy_ratio: 0.0,
            all_slice_time_permutations_threshold: 0,
            copy_bandwidth_bytes_per_second: 1.0e12,
            interval_rule: IntervalRule::Cost {
                min_overlap_ratio: 0.8,
                preferred_overlap_ratio: 1.5,
                max_overlap_ratio: 10.0,
            },
            size_override: None,
            while_execution_count: 5.0,
            allocate_reserved_scoped_memory_at_same_offset: true,
            fail_on_unsatisfied_override: false,
            reserved_bytes_for_block_prefetches: 0,
            max_outstanding_block_prefetches: 0,
            window_prefetch_min_span_bytes: 4096,
            window_prefetch_max_operands: 1024,
        }
    }
}

impl Options {
    /// What libtpu 0.0.52 uses for TPU v5e, with `max_size_in_bytes` of alternate memory.
    pub fn tpu_v5e(max_size_in_bytes: u64) -> Self {
        Self {
            max_size_in_bytes,
            alignment_in_bytes: 4096,
            max_outstanding_prefetches: 40,
            max_outstanding_evictions: 40,
            while_use_extra_outstanding_prefetch_limit: 4,
            max_retries: 2,
            max_repacks: 4,
            enable_sync_copy_replacement: true,
            enable_sync_slice_replacement: true,
            inefficient_use_to_copy_ratio: 0.5,
            all_slice_time_permutations_threshold: 4,
            copy_bandwidth_bytes_per_second: 737.66e9,
            interval_rule: IntervalRule::Cost {
                min_overlap_ratio: 1.0,
                preferred_overlap_ratio: 2.0,
                max_overlap_ratio: 8.0,
            },
            ..Self::default()
        }
    }
}

/// One instruction of the flattened schedule; its place is its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Its name.
    pub name: String,
    /// How long it takes with everything in default memory.
    pub elapsed_seconds: f32,
    /// For how long it leaves the copy engine its bandwidth: `elapsed_seconds`, unless something limits it.
    pub copy_seconds: f32,
    /// A while, conditional or call: its time is that of what it calls.
    pub is_control_flow: bool,
    /// Where it stands.
    pub computation: ComputationId,
    /// How many callers stand between it and the entry.
    pub nest: u32,
    /// How many of those are while loops.
    pub while_nest: u32,
}

/// A position that must agree with a use (7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The value at the position.
    pub value: ValueId,
    /// When the position is defined.
    pub time: Time,
}

/// What a branch of a conditional does with an operand (16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchUse {
    /// When the branch's parameter is defined.
    pub parameter_time: Time,
    /// When it is first read there.
    pub first_use_time: Time,
}

/// What kind of use it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UseKind {
    /// An instruction that reads the value.
    Plain,
    /// A tuple, get-tuple-element or bitcast in the middle of a computation: nothing to decide.
    Trivial,
    /// A while loop.
    While {
        /// The body, which may have to give the value back at the same offset.
        body: ComputationId,
        /// When the body's parameter is defined.
        parameter_time: Time,
        /// When the body first reads the value, before its root; `None`: it only passes it on.
        first_use_time: Option<Time>,
        /// The loop's output is the value itself: the body leaves it alone.
        is_unchanged: bool,
    },
    /// A conditional.
    Conditional {
        /// The branches that get the value as an operand.
        branches: Vec<BranchUse>,
    },
    /// A call.
    Call,
}

/// What the memory-bound loop optimiser decided for a use (24).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopHint {
    /// Prefetch with this exclusive start, if possible.
    Prefetch {
        /// The start.
        start: Time,
    },
    /// Alternate memory without a copy.
    Alternate,
    /// Default memory.
    Default,
}

/// When an override wants a copy to start (20).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PrefetchTime {
    /// So far on the way from the earliest start, 0, to the latest, 1.
    Eagerness(f32),
    /// Right after this time.
    At(Time),
}

/// What somebody asks of a use, against the rules (20): XLA's `msa_tensor_overrides`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UseOverride {
    /// It reads default memory.
    KeepInDefault,
    /// It reads alternate memory without a copy, or assignment fails.
    Pin,
    /// It is prefetched at this time, whatever the copy costs.
    Prefetch {
        /// When.
        at: PrefetchTime,
        /// Then or never.
        is_strict: bool,
    },
    /// A question of ours, no override of XLA's: the copy starts then or never, and is booked as always.
    OnlyStart {
        /// The exclusive start.
        start: Time,
    },
}

/// A use of a position.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    /// The instruction and operand, as logged: "fusion.3, operand 1".
    pub name: String,
    /// When the instruction stands in the schedule.
    pub time: Time,
    /// When the value must be there: for a while or conditional, when what it calls begins (7).
    pub corrected_time: Time,
    /// A copy must be done right before this instruction at the latest.
    pub latest_prefetch_time: Time,
    /// What kind of use it is.
    pub kind: UseKind,
    /// Positions that must agree with the use, in XLA's order.
    pub aliases: Vec<Alias>,
    /// Seconds saved at the instruction by having this operand in alternate memory.
    pub elapsed_reduction: f32,
    /// The use may read alternate memory.
    pub is_allowed: bool,
    /// Bytes the instruction reads of it; unknown in some traces.
    pub bytes_accessed: Option<u64>,
    /// What the loop optimiser decided.
    pub loop_hint: Option<LoopHint>,
    /// The use is a synchronous copy or slice that could be an asynchronous one (19).
    pub conversion: Option<Conversion>,
    /// What somebody asks of it.
    pub asked: Option<UseOverride>,
}

/// A synchronous copy or slice that could be made asynchronous (19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// The buffer of its result.
    pub target: BufferIndex,
    /// The position there that it defines.
    pub position: u32,
    /// When the last of its operands is there.
    pub earliest_time: Time,
    /// When the result must be there at the latest.
    pub latest_time: Time,
}

impl Use {
    /// A use by an ordinary instruction at `time`.
    pub fn plain(name: impl Into<String>, time: Time) -> Self {
        Self {
            name: name.into(),
            time,
            corrected_time: time,
            latest_prefetch_time: time,
            kind: UseKind::Plain,
            aliases: Vec::new(),
            elapsed_reduction: 0.0,
            is_allowed: true,
            bytes_accessed: None,
            loop_hint: None,
            conversion: None,
            asked: None,
        }
    }
}

/// A position of a value together with its uses: XLA's `AllocationValue` (7).
#[derive(Clone, Debug, PartialEq)]
pub struct AllocationValue {
    /// The value.
    pub value: ValueId,
    /// The position, as logged: "fusion.3{1}".
    pub name: String,
    /// When the position is defined.
    pub definition_time: Time,
    /// Where.
    pub computation: ComputationId,
    /// Its uses.
    pub uses: Vec<Use>,
    /// No copies: it is part of an asynchronous operation.
    pub is_contiguous: bool,
    /// The position may stand in alternate memory.
    pub is_position_allowed: bool,
    /// Bytes the instruction writes of it; unknown in some traces.
    pub bytes_accessed: Option<u64>,
    /// If a conditional defines it: where its branches leave it.
    pub branch_roots: Vec<BranchRoot>,
    /// Along which dimension several cores would share it.
    pub split: Split,
}

/// Along which dimension a position's shape can be split between cores (20).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Every core has the whole.
    #[default]
    Replicated,
    /// Any dimension will do.
    Any,
    /// This one.
    Dimension(u32),
}

/// Where a branch of a conditional leaves a part of its result (16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchRoot {
    /// The value there.
    pub value: ValueId,
    /// The time of the branch's root.
    pub time: Time,
    /// The root is a tuple instruction.
    pub is_tuple: bool,
}

/// A buffer: values that must share storage, tried together (6).
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// The number XLA knows it by in its table of allocations.
    pub id: u32,
    /// Its first value.
    pub value: ValueId,
    /// That value's name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// What alternate memory gains, as in the order of buffers.
    pub benefit: f32,
    /// It may be in alternate memory at all (2).
    pub is_allowed: bool,
    /// It must be in alternate memory for its whole life, or assignment fails (20).
    pub is_pinned: bool,
    /// Its positions.
    pub allocation_values: Vec<AllocationValue>,
    /// Sizes of the slices it can be copied in, by offset; fewer than two: none.
    pub slices: Vec<u64>,
    /// Bytes each core has of it if it is split along a dimension.
    pub split_sizes: Vec<(u32, u64)>,
}

/// Why something must stand where it does (8).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RequirementReason {
    /// A parameter of the program.
    ProgramInput,
    /// A result of the program.
    ProgramOutput,
    /// A constant.
    Constant,
    /// The value may not be in alternate memory.
    ValueNotAllowed,
    /// The position may not.
    PositionNotAllowed,
    /// The use may not.
    UseNotAllowed,
    /// It must agree with a use elsewhere.
    AliasedUse,
    /// Copies would move more than its uses read.
    InefficientSite,
    /// A while loop gains nothing from it.
    WhileWithoutBenefit,
    /// A conditional gains nothing from it.
    ConditionalWithoutBenefit,
    /// The result of a conditional.
    ConditionalOutput,
    /// A colour asks for it.
    Colour,
    /// Somebody asked for it.
    Override,
    /// Another reason, in XLA's words.
    Other(String),
}

/// A value must be in a space at a time (8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The value.
    pub value: ValueId,
    /// The time.
    pub time: Time,
    /// The space.
    pub space: Space,
    /// Why.
    pub reason: RequirementReason,
}

/// A parameter that may be fetched before the program begins (17), in order of merit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossProgramCandidate {
    /// The number in the table of allocations.
    pub id: u32,
    /// The value.
    pub value: ValueId,
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Its first eligible use; unknown if it was never chosen in a trace.
    pub first_use_time: Option<Time>,
    /// Its last.
    pub last_use_time: Time,
    /// The uses, as logged.
    pub uses: Vec<String>,
}

/// Memory that an instruction itself needs in alternate memory (18).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedReservation {
    /// The instruction.
    pub time: Time,
    /// Bytes.
    pub size: u64,
}

/// A part of a buffer's life that must be in a space (20).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colouring {
    /// The buffer.
    pub buffer: BufferIndex,
    /// One of its positions.
    pub position: u32,
    /// A use of that; the definition if there is none.
    pub usage: Option<u32>,
    /// The space.
    pub space: Space,
}

/// What is to become of a candidate for block prefetching (21).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// It stays in default memory.
    PinToDefault,
    /// It is fetched once, before its first use.
    Prefetch,
}

/// A buffer that is to be fetched block by block (21).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPrefetch {
    /// The buffer; its first position is what is fetched.
    pub buffer: BufferIndex,
    /// What is to become of it.
    pub kind: BlockKind,
    /// Somebody asked for it: that it does not fit is an error.
    pub is_demanded: bool,
}

/// What a fusion would like to have of an operand in alternate memory: a window of it (21).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The buffer, position and use.
    pub buffer: BufferIndex,
    /// The position.
    pub position: u32,
    /// The use.
    pub usage: u32,
    /// Bytes of the window.
    pub span_bytes: u64,
}

/// Everything memory space assignment needs to know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problem {
    /// Options.
    pub options: Options,
    /// The flattened schedule.
    pub instructions: Vec<Instruction>,
    /// Buffers in the order in which they are tried.
    pub buffers: Vec<Buffer>,
    /// Requirements known beforehand.
    pub required: Vec<Requirement>,
    /// Cross-program candidates in the order in which they are tried.
    pub cross_program: Vec<CrossProgramCandidate>,
    /// Scoped memory.
    pub scoped: Vec<ScopedReservation>,
    /// Sum of the sizes of all buffers that could be in alternate memory; computed if unknown.
    pub memory_pressure: Option<u64>,
    /// Parts of lives that must be in a space.
    pub colourings: Vec<Colouring>,
    /// Buffers to be fetched in blocks; only with [`Options::reserved_bytes_for_block_prefetches`].
    pub block_prefetches: Vec<BlockPrefetch>,
    /// Windows that fusions would like to have, tried when everything else is done.
    pub windows: Vec<Window>,
}

/// What is wrong with a [`Problem`], or a pinned buffer that does not fit.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// More instructions, buffers, uses or slices than the engine takes.
    TooLarge {
        /// Of what.
        what: &'static str,
        /// The most there may be.
        most: u64,
    },
    /// A time outside of the schedule.
    TimeOutOfRange {
        /// Whose time.
        what: String,
        /// The time.
        time: Time,
    },
    /// An option that makes no sense.
    BadOption {
        /// Which.
        option: &'static str,
    },
    /// Two requirements for one value and time contradict each other.
    ContradictoryRequirement {
        /// The value.
        value: ValueId,
        /// The time.
        time: Time,
    },
    /// A buffer that must be in alternate memory does not fit (20).
    PinnedDoesNotFit {
        /// The buffer's name.
        name: String,
        /// The outcome of the attempt.
        outcome: Outcome,
    },
    /// Colours ask for both memories at one time (20).
    ContradictoryColours {
        /// The buffer's name.
        name: String,
        /// The time.
        time: Time,
    },
    /// What a colour asks for does not fit (20).
    ColourDoesNotFit {
        /// The buffer's name.
        name: String,
        /// From when.
        start: Time,
        /// Until when.
        end: Time,
    },
    /// An override did not come true (20).
    UnsatisfiedOverride {
        /// The use.
        usage: String,
    },
    /// A block prefetch that was asked for does not fit (21).
    BlockDoesNotFit {
        /// The buffer's name.
        name: String,
    },
    /// Scoped memory does not fit at offset 0 (18).
    ScopedDoesNotFit {
        /// The instruction's time.
        time: Time,
        /// Bytes.
        size: u64,
    },
}

/// More instructions than this are refused before memory is taken.
pub const MOST_INSTRUCTIONS: usize = 1 << 22;
/// The same for buffers.
pub const MOST_BUFFERS: usize = 1 << 22;

impl Problem {
    /// The time after the last instruction.
    pub fn end_time(&self) -> Time {
        self.instructions.len() as Time
    }

    /// Says what is wrong with it, if anything.
    pub fn check(&self) -> Result<(), Error> {
        let too_large = |what, most| Error::TooLarge { what, most };
        if self.instructions.len() > MOST_INSTRUCTIONS {
            return Err(too_large("instructions", MOST_INSTRUCTIONS as u64));
        }
        if self.buffers.len() > MOST_BUFFERS {
            return Err(too_large("buffers", MOST_BUFFERS as u64));
        }
        let options = &self.options;
        let bad = |option| Err(Error::BadOption { option });
        if options.alignment_in_bytes == 0 || options.alignment_in_bytes > 1 << 40 {
            return bad("alignment_in_bytes");
        }
        if options.max_size_in_bytes > 1 << 60 {
            return bad("max_size_in_bytes");
        }
        let bandwidth = options.copy_bandwidth_bytes_per_second;
        if bandwidth.is_nan() || bandwidth <= 0.0 {
            return bad("copy_bandwidth_bytes_per_second");
        }
        if options.max_retries > 1000 || options.max_repacks > 1_000_000 {
            return bad("max_retries");
        }
        let end = self.end_time();
        let check = |what: &str, time: Time, least: Time, most: Time| {
            if (least..=most).contains(&time) {
                Ok(())
            } else {
                Err(Error::TimeOutOfRange { what: what.to_owned(), time })
            }
        };
        for instruction in &self.instructions {
            if instruction.elapsed_seconds.is_nan() || instruction.copy_seconds.is_nan() {
                return bad("elapsed_seconds");
            }
        }
        for buffer in &self.buffers {
            if buffer.size > 1 << 60 {
                return Err(too_large("bytes of a buffer", 1 << 60));
            }
            if buffer.slices.len() > crate::sliced::MOST_SLICES {
                return Err(too_large("slices", crate::sliced::MOST_SLICES as u64));
            }
            for value in &buffer.allocation_values {
                check(&value.name, value.definition_time, 0, end)?;
                for usage in &value.uses {
                    for time in [usage.time, usage.corrected_time, usage.latest_prefetch_time] {
                        check(&usage.name, time, 0, end)?;
                    }
                    if let Some(conversion) = usage.conversion {
                        check(&usage.name, conversion.latest_time, 0, end)?;
                        let target = self.buffers.get(conversion.target.index());
                        let position = conversion.position as usize;
                        if target.is_none_or(|target| position >= target.allocation_values.len()) {
                            return bad("conversion");
                        }
                    }
                    for alias in &usage.aliases {
                        check(&usage.name, alias.time, 0, end)?;
                    }
                }
            }
        }
        for candidate in &self.cross_program {
            check(&candidate.name, candidate.last_use_time, 0, end)?;
            if let Some(first) = candidate.first_use_time {
                check(&candidate.name, first, 0, candidate.last_use_time)?;
            }
            if candidate.size > 1 << 60 {
                return Err(too_large("bytes of a parameter", 1 << 60));
            }
        }
        for scoped in &self.scoped {
            check("scoped memory", scoped.time, 0, end)?;
        }
        for required in &self.required {
            check("requirement", required.time, -1, end)?;
        }
        let position = |buffer: BufferIndex, position: u32| {
            self.buffers.get(buffer.index())?.allocation_values.get(position as usize)
        };
        for colouring in &self.colourings {
            let uses = position(colouring.buffer, colouring.position).map(|v| v.uses.len());
            if uses.is_none_or(|uses| colouring.usage.is_some_and(|usage| usage as usize >= uses)) {
                return bad("colouring");
            }
        }
        if self.block_prefetches.iter().any(|b| position(b.buffer, 0).is_none()) {
            return bad("block_prefetches");
        }
        for window in &self.windows {
            let uses = position(window.buffer, window.position).map(|v| v.uses.len());
            if uses.is_none_or(|uses| window.usage as usize >= uses) {
                return bad("windows");
            }
        }
        Ok(())
    }
}
