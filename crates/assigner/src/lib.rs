//! Buffer assignment itself: which allocation, at which offset, for every value, and why.
//!
//! [`assign`] takes a module and its [`analysis::Facts`] and gives an [`Assignment`] together with the
//! list of [`Decision`]s that led to it, in XLA's own order. Sentences about an assignment are made from
//! the decisions, never from a second guess.

mod assign;
mod assignment;
mod decision;
mod decisions;
pub mod explain;
mod heap;
mod merge;
mod outcomes;
mod pool;
mod thresholds;
mod when;
pub mod words;

pub use assign::{Options, Preset, assign};
pub use assignment::{Allocation, AllocationId, Assignment, EntryParameter, HeapRun, MergedPart, Placed};
pub use decision::{Decision, NewKind, Refusal};
pub use decisions::Decisions;
pub use heap::unfragmented;
pub use outcomes::{Attempt, Bin, Outcome, attempts, final_allocation, outcomes};
pub use thresholds::{End, Threshold, sharers, thresholds};
