//! XLA's memory space assignment without XLA: which values live in the small fast memory, when they are copied there
//! and back, and why the others are not.
//!
//! [`assign`] takes a [`Problem`] (plain data: a flattened schedule with the seconds each instruction takes, buffers in the
//! order in which they are tried, the uses that cut their lives into segments) and gives an [`Assignment`]: every allocation in both memories,
//! every copy with its start and end, and the list of [`Decision`]s with the evidence for each. Times are places in the
//! flattened schedule; sizes and offsets are bytes; seconds are `f32`, as in XLA, since some decisions hang on the last bit.
//!
//! ```
//! use memory_space::problem::{AllocationValue, Buffer, ComputationId, Instruction, Split, Use, ValueId};
//! use memory_space::{Options, Problem, assign};
//!
//! // Ten instructions of a microsecond each; a value of 4 KiB is written by the first and read by the last.
//! let instruction = |t: usize| Instruction {
//!     name: format!("i{t}"),
//!     elapsed_seconds: 1e-6,
//!     copy_seconds: 1e-6,
//!     is_control_flow: false,
//!     computation: ComputationId(0),
//!     nest: 0,
//!     while_nest: 0,
//! };
//! let position = AllocationValue {
//!     value: ValueId(0),
//!     name: "v".to_owned(),
//!     definition_time: 0,
//!     computation: ComputationId(0),
//!     uses: vec![Use::plain("i9, operand 0", 9)],
//!     is_contiguous: false,
//!     is_position_allowed: true,
//!     bytes_accessed: Some(4096),
//!     branch_roots: Vec::new(),
//!     split: Split::Replicated,
//! };
//! let buffer = Buffer {
//!     id: 0,
//!     value: ValueId(0),
//!     name: "v".to_owned(),
//!     size: 4096,
//!     benefit: 0.0,
//!     is_allowed: true,
//!     is_pinned: false,
//!     allocation_values: vec![position],
//!     slices: Vec::new(),
//!     split_sizes: Vec::new(),
//! };
//! let problem = Problem {
//!     options: Options::tpu_v5e(16 << 20),
//!     instructions: (0..10).map(instruction).collect(),
//!     buffers: vec![buffer],
//!     ..Problem::default()
//! };
//! let assignment = assign(&problem)?;
//! // There is room, so it is in fast memory for its last reader.
//! assert!(assignment.in_alternate().count() >= 1);
//!
//! // Without any fast memory it is not.
//! let mut problem = problem;
//! problem.options.max_size_in_bytes = 0;
//! assert_eq!(assign(&problem)?.in_alternate().count(), 0);
//! # Ok::<(), memory_space::Error>(())
//! ```
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
