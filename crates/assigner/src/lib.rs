//! Buffer assignment itself: which allocation, at which offset, for every value, and why.
//!
//! [`assign`] takes a module and its [`analysis::Facts`] and gives an [`Assignment`] together with the
//! list of [`Decision`]s that led to it, in XLA's own order. Sentences about an assignment are made from
//! the decisions, never from a second guess.
//!
//! ```
//! let module = hlo::read(
//!     "HloModule m, is_scheduled=true
//!
//! ENTRY main {
//!   p = f32[256]{0} parameter(0)
//!   a = f32[256]{0} reverse(p), dimensions={0}
//!   b = f32[256]{0} reverse(a), dimensions={0}
//!   ROOT c = f32[256]{0} reverse(b), dimensions={0}
//! }
//! ",
//! )
//! .complete()
//! .expect("a module");
//! let target = analysis::Target::detect(&module);
//! let orders = analysis::Orders::guess(&module, &target);
//! let facts = analysis::Facts::new(&module, orders, target).expect("a module that can be analysed");
//! let options = assigner::Options::default();
//! let (assignment, decisions) = assigner::assign(&module, &facts, &facts.ranges, &options);
//!
//! // The argument and the result have memory of their own; `a` is done before the result needs its room, and `b` is not.
//! assert_eq!((assignment.total_bytes(), assignment.temp_bytes()), (3 * 1024, 1024));
//! let place = |name: &str| {
//!     let value = facts.ranges.iter().map(|(v, _)| v).find(|v| facts.label(&module, *v) == name)?;
//!     assignment.place(value).map(|(allocation, _)| allocation)
//! };
//! assert_eq!(place("a"), place("c"));
//! assert_ne!(place("b"), place("c"));
//! assert!(!decisions.is_empty());
//! ```

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
