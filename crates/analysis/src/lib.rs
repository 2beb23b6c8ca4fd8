//! What is true of a module before anything is decided.
//!
//! In the order of the pipeline: the internal [`Orders`] that text lacks, the call [`graph`], HLO [`values`]
//! (dataflow), HLO [`buffers`] (must-alias), the [`clock`] (the schedule, flattened), live [`ranges`], and
//! whether two values may share an address ([`sharing`]). [`Facts::new`] runs them all.
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
