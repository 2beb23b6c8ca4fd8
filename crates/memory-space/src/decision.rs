//! What was decided and why, with evidence (MEMORY_SPACE 27).

use crate::problem::{BufferIndex, RequirementReason, Space, ValueId};
use crate::{Outcome, Time};
use serde::Serialize;

/// One decision; the list of them is in the order in which they were made.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Decision {
    /// A parameter was considered for being fetched before the program begins.
    CrossProgram(CrossProgram),
    /// A buffer was passed over.
    NotConsidered {
        /// The buffer.
        buffer: BufferIndex,
        /// Why.
        reason: NotConsidered,
    },
    /// A segment of a value's life was requested in alternate memory.
    Segment(Segment),
    /// Space was set aside because a colour asks for it.
    Reserved {
        /// The buffer.
        buffer: BufferIndex,
        /// From when.
        start: Time,
        /// Until when.
        end: Time,
        /// Where.
        offset: u64,
    },
    /// A buffer was to be fetched as a block.
    Block {
        /// The buffer.
        buffer: BufferIndex,
        /// What came of it.
        result: BlockResult,
    },
    /// A window of an operand was wanted.
    Window {
        /// The use.
        usage: String,
        /// Bytes.
        size: u64,
        /// What came of it.
        result: WindowResult,
    },
    /// Everything tried for a buffer was taken back.
    RolledBack {
        /// The buffer.
        buffer: BufferIndex,
        /// Which attempt it was, from 0.
        retry: u32,
        /// All outcomes of the attempt together.
        outcome: Outcome,
        /// Why.
        reason: RollBack,
    },
    /// Everything was packed anew because a buffer did not fit.
    Repacked {
        /// That buffer.
        buffer: BufferIndex,
        /// The new packing fits; if not, the old one stands.
        fits: bool,
        /// How many allocations moved.
        moved: usize,
    },
    /// Copies for a buffer would move more bytes than its uses read.
    Inefficient {
        /// The buffer.
        buffer: BufferIndex,
        /// Bytes moved by copies.
        copied_bytes: u64,
        /// Bytes read and written in alternate memory.
        used_bytes: u64,
        /// The sites that must be in default memory from now on.
        sites: Vec<String>,
    },
    /// What was tried for a buffer stands.
    Finalized {
        /// The buffer.
        buffer: BufferIndex,
        /// How many of its allocations are in alternate memory.
        in_alternate: usize,
    },
}

/// What became of a block prefetch (21).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum BlockResult {
    /// It is kept in default memory.
    Pinned,
    /// Copied.
    Copied {
        /// Exclusive start.
        start: Time,
        /// Done before this: its first use.
        done: Time,
        /// Where.
        offset: u64,
    },
    /// No start from which it would fit.
    NoPlace {
        /// The earliest start that was possible.
        earliest: Time,
        /// Its first use.
        first_use: Time,
    },
}

/// What became of a window (21).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum WindowResult {
    /// It has a place.
    Placed {
        /// Where.
        offset: u64,
    },
    /// The operand is in alternate memory anyway.
    NotNeeded,
    /// It is too small to be worth it.
    TooSmall {
        /// The least.
        least: u64,
    },
    /// The instruction has as many as there may be.
    TooMany {
        /// How many.
        most: u32,
    },
    /// No place.
    NoPlace,
}

/// Why a buffer is not tried at all (2, 9).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum NotConsidered {
    /// It is a tuple, a scalar, has another colour, or the target does not allow it.
    NotAllowed,
    /// It is larger than what is available.
    TooLarge {
        /// Its size.
        size: u64,
        /// What is available.
        available: u64,
    },
    /// It has been fetched before the program begins.
    CrossProgramPrefetched,
    /// It is fetched as a block, or kept back by block prefetching.
    BlockPrefetched,
    /// Its positions would be split between cores in different ways.
    SplitsDisagree,
}

/// Why an attempt was taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RollBack {
    /// A part that others depend on failed.
    RequiresUncommit,
    /// Something did not fit, and packing anew may help.
    Repack,
    /// Some sites are inefficient.
    Inefficient,
    /// A synchronous copy could not be made asynchronous.
    Conversion,
}

/// What became of a cross-program candidate (17).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossProgram {
    /// The parameter's value.
    pub value: ValueId,
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// What became of it.
    pub result: CrossProgramResult,
}

/// See [`CrossProgram`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum CrossProgramResult {
    /// It stays to the end of the program.
    Kept {
        /// Where.
        offset: u64,
        /// Why its space was not given back.
        because: KeptBecause,
    },
    /// Its space is free between its last use and a second copy at the end of the program.
    Freed {
        /// Where.
        offset: u64,
        /// Its last use.
        last_use: Time,
        /// The exclusive start of the second copy.
        second_start: Time,
        /// The share of the program's time for which it is occupied.
        occupied_ratio: f32,
    },
    /// No place for the whole program.
    NoPlace {
        /// Where its chunk would end.
        end: u64,
        /// What is available.
        available: u64,
    },
}

/// Why a cross-program prefetch keeps its space.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum KeptBecause {
    /// Freeing is turned off.
    Disabled,
    /// Everything fits anyway.
    NoPressure {
        /// Bytes that want to be in alternate memory.
        pressure: u64,
        /// Bytes there are.
        size: u64,
    },
    /// It would be occupied for most of the time all the same (0.6 or more).
    OccupiedTooLong {
        /// The share.
        ratio: f32,
    },
    /// There is no time between the last use and the second copy.
    NoTime {
        /// The preferred start of the second copy.
        start: Time,
    },
}

/// A segment request and what came of it (10, 11).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Segment {
    /// The buffer.
    pub buffer: BufferIndex,
    /// The value.
    pub value: ValueId,
    /// The position the segment belongs to.
    pub position: String,
    /// The use it ends at.
    #[serde(rename = "use")]
    pub usage: String,
    /// From when.
    pub start: Time,
    /// Until when.
    pub end: Time,
    /// A copy must be done right before this.
    pub latest_prefetch_time: Time,
    /// Which attempt it was, from 0.
    pub retry: u32,
    /// The outcome.
    pub outcome: Outcome,
    /// What was tried, in order.
    pub steps: Vec<Step>,
}

/// One thing tried for a segment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Another operand of the same instruction: it reads what is there.
    SameInstruction,
    /// A requirement holds at the start or the end.
    Required {
        /// When.
        time: Time,
        /// Where it must be.
        space: Space,
        /// Why.
        reason: RequirementReason,
    },
    /// Staying in alternate memory.
    NoCopy(NoCopy),
    /// Copying to default memory.
    Evict(Evict),
    /// Copying to alternate memory.
    Prefetch(Prefetch),
    /// It is read from default memory.
    FromDefault,
}

/// Staying in alternate memory (12).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum NoCopy {
    /// It stays.
    Stays {
        /// Where.
        offset: u64,
        /// The chunk was chosen so that it is free until this use.
        free_until: Time,
    },
    /// The value may not be in alternate memory.
    NotAllowed,
    /// It stands in default memory before.
    PreviousElsewhere,
    /// Too long unused.
    TooLong {
        /// Seconds between the two.
        seconds: f32,
        /// Seconds allowed.
        most: f32,
    },
    /// It would have to be at two offsets.
    OffsetConflict,
    /// No place.
    NoPlace {
        /// Bytes wanted.
        size: u64,
        /// From when.
        from: Time,
        /// Until when.
        until: Time,
        /// The only offset that would do, if there was one.
        only_at: Option<u64>,
    },
}

/// Copying to default memory (13).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Evict {
    /// Copied.
    Copied {
        /// Exclusive start.
        start: Time,
        /// Done before this.
        done: Time,
        /// Seconds booked.
        seconds: f32,
        /// No bandwidth was asked for: the last attempt.
        is_last_resort: bool,
    },
    /// There is no time for a copy.
    TooShort {
        /// The exclusive start, and the end too.
        start: Time,
    },
    /// The copy engine has no bandwidth left.
    NoBandwidth {
        /// Exclusive start.
        start: Time,
        /// End.
        done: Time,
        /// Seconds wanted.
        seconds: f32,
    },
    /// A colour asks for it: right after the time, whatever it costs.
    Forced {
        /// The exclusive start.
        start: Time,
    },
    /// With block prefetching nothing else is copied.
    NoCopies,
    /// Too many evictions under way.
    TooMany {
        /// How many.
        count: usize,
        /// How many there may be.
        most: i64,
    },
}

/// Copying to alternate memory (14).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prefetch {
    /// The copy must be done right before this.
    pub done: Time,
    /// Exclusive starts in question, or why there are none.
    pub window: PrefetchWindow,
    /// Starts tried, in order.
    pub tried: Vec<Try>,
    /// What came of it.
    pub result: PrefetchResult,
}

/// Which starts are possible.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "window", rename_all = "snake_case")]
pub enum PrefetchWindow {
    /// The value is not there before the copy would have to be done.
    Empty {
        /// When it is there.
        available: Time,
    },
    /// Memory is full right before the use.
    Full {
        /// When.
        time: Time,
        /// Bytes in use then.
        used: u64,
        /// Bytes wanted.
        size: u64,
    },
    /// The asked-for time lies outside.
    PreferredOutside {
        /// The time.
        preferred: Time,
    },
    /// The only start that was asked about is too near to the use, or the value would lie in alternate memory for too long.
    OnlyOutside {
        /// The start.
        only: Time,
        /// The earliest there may be.
        earliest: Time,
        /// The latest; below the earliest if there is none.
        latest: Time,
        /// Seconds from it to the use.
        seconds: f32,
        /// Seconds that a copy needs.
        least: f32,
    },
    /// A colour asks for it: right before the use, whatever it costs.
    Forced,
    /// There are starts.
    Open {
        /// The earliest exclusive start.
        earliest: Time,
        /// The latest.
        latest: Time,
        /// The one tried first.
        first: Time,
    },
    /// Every start is too near to the use (or in another loop).
    TooNear {
        /// The earliest start there could be.
        available: Time,
        /// Seconds from there to the use.
        seconds: f32,
        /// Seconds needed.
        least: f32,
    },
}

/// One start that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Try {
    /// Exclusive start.
    pub start: Time,
    /// In slices.
    pub sliced: bool,
    /// What came of it.
    pub outcome: TryOutcome,
}

/// See [`Try`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TryOutcome {
    /// It fits.
    Fits {
        /// Where.
        offset: u64,
    },
    /// All slices would start at once.
    SlicesStartTogether,
    /// It would overtake another copy.
    OutOfOrder,
    /// Too many prefetches under way.
    TooMany {
        /// How many.
        count: usize,
        /// How many there may be.
        most: i64,
    },
    /// The copy engine has no bandwidth left.
    NoBandwidth {
        /// Seconds wanted.
        seconds: f32,
    },
    /// No place.
    NoPlace,
    /// A later start had no place, so an earlier one has none.
    NoPlaceLater,
}

impl TryOutcome {
    pub(crate) fn outcome(self) -> Outcome {
        match self {
            Self::Fits { .. } => Outcome::SUCCESS,
            Self::SlicesStartTogether => Outcome::ALL_SLICES_HAVE_THE_SAME_START_TIME,
            Self::OutOfOrder | Self::NoBandwidth { .. } => Outcome::VIOLATES_ASYNC_COPY_RESOURCE,
            Self::TooMany { .. } => Outcome::OUT_OF_ASYNC_COPIES,
            Self::NoPlace | Self::NoPlaceLater => Outcome::OUT_OF_MEMORY,
        }
    }
}

/// What came of a prefetch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum PrefetchResult {
    /// Copied.
    Copied {
        /// Exclusive start (of the first slice).
        start: Time,
        /// Where.
        offset: u64,
        /// Seconds booked in all.
        seconds: f32,
        /// The starts of the slices, by offset; empty if it is one copy.
        slice_starts: Vec<Time>,
    },
    /// Not copied.
    Failed {
        /// Why.
        outcome: Outcome,
    },
}
