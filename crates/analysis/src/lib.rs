//! What is true of a module before anything is decided.
//!
//! In the order of the pipeline: the internal [`Orders`] that text lacks, the call [`graph`], HLO [`values`]
//! (dataflow), HLO [`buffers`] (must-alias), the [`clock`] (the schedule, flattened), live [`ranges`], and
//! whether two values may share an address ([`sharing`]). [`Facts::new`] runs them all.
//!
//! ```
//! let module = hlo::read(
//!     "HloModule m, is_scheduled=true
//!
//! ENTRY main {
//!   p = f32[4]{0} parameter(0)
//!   a = f32[4]{0} negate(p)
//!   b = f32[4]{0} exponential(p)
//!   ROOT c = f32[4]{0} add(a, b)
//! }
//! ",
//! )
//! .complete()
//! .expect("a module");
//! let target = analysis::Target::detect(&module);
//! let orders = analysis::Orders::guess(&module, &target);
//! let facts = analysis::Facts::new(&module, orders, target).expect("a module that can be analysed");
//!
//! let range = |name: &str| {
//!     let found = facts.ranges.iter().find(|(value, _)| facts.label(&module, *value) == name);
//!     found.map(|(_, range)| (range.start.0, range.end.0))
//! };
//! // Written at step 1, wanted until step 3, where it is read; an argument is alive to the end.
//! assert_eq!(range("a"), Some((1, 3)));
//! assert_eq!(range("p"), Some((0, 4)));
//! ```
//!
//! Names are XLA's own. Sections cited are those of the buffer-assignment specification.

pub mod buffers;
pub mod chain;
pub mod clock;
mod facts;
pub mod graph;
mod ids;
pub mod ordering;
pub mod orders;
pub mod ranges;
pub mod sharing;
pub mod target;
pub mod values;

pub use buffers::Buffer;
pub use clock::Clock;
pub use facts::{AnalysisError, Facts, Wish};
pub use graph::{CallGraph, Context};
pub use ids::{BufferId, Color, Step, ValueId};
pub use ordering::{Constraint, Ordering};
pub use orders::Orders;
pub use ranges::{LiveRange, RangeEdit};
pub use sharing::{Interference, Overlap};
pub use target::{Backend, Generation, Target};
pub use values::{Position, Use, Value};
