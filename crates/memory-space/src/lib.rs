//! XLA's memory space assignment without XLA: which values live in the small fast memory, when they are copied there
//! and back, and why the others are not.
//!
//! [`assign`] takes a [`Problem`] (plain data: a flattened schedule with the seconds each instruction takes, buffers in the
//! order in which they are tried, the uses that cut their lives into segments) and gives an [`Assignment`]: every allocation in both memories,
//! every copy with its start and end, and the list of [`Decision`]s with the evidence for each. Times are places in the
//! flattened schedule; sizes and offsets are bytes; seconds are `f32`, as in XLA, since some decisions hang on the last bit.
//!
//! Sections cited are those of the memory-space specification. No I/O, no clock: the same input gives the same output.
//!
//! Read in this order: `problem` what is given, `interval` and `heap` where things are, `sliced` the search for slices,
//! `picker` when copies may start, `resource` the copy engine, `engine` the main loop, `segment` one request, then what a
//! request tries: `no_copy`, `eviction`, `prefetch`; then `cross_program`, `scoped`, `repack`, `inefficient`.

mod allocation;
mod block;
pub mod checked;
mod colours;
pub mod cost;
mod cross_program;
mod decision;
mod engine;

mod eviction;
#[doc(hidden)]
pub mod fuzzing;
mod heap;
mod inefficient;
mod interval;
pub mod loop_hints;
pub mod loops;
mod no_copy;
mod outcome;
mod picker;
mod prefetch;
pub mod problem;
pub mod program;
pub mod propagation;
mod repack;
pub mod replay;
mod resource;
mod scoped;
mod segment;
mod sliced;
pub mod usage;
mod windows;
pub mod words;
pub mod write_back;

pub use allocation::{Allocation, Assignment, Copy, Kind, Slice, UseRef};
pub use decision::{
    BlockResult, CrossProgram, CrossProgramResult, Decision, Evict, KeptBecause, NoCopy, NotConsidered,
    Prefetch, PrefetchResult, PrefetchWindow, RollBack, Segment, Step, Try, TryOutcome, WindowResult,
};
pub use engine::assign;
pub use outcome::Outcome;
pub use problem::{Error, Options, Problem, Space};

/// A place in the flattened schedule; -1 is before the first instruction.
pub type Time = i64;
