//! The four files in which XLA says where every value went.
//!
//! | file | written by | specification |
//! |---|---|---|
//! | `-buffer-assignment.txt` | [`buffer_assignment`] | 9.1 |
//! | `-buffer-assignment-values.txt` | [`values`] | 9.2 |
//! | `-live-range.txt` | [`live_range`] | 4.4, 4.5 |
//! | `-memory-usage-report.txt` | [`memory_usage_report`] | 9.4 |
//!
//! [`stats`] makes the block that stands in the log and in out-of-memory reports, in no file (9.5).
//!
//! [`read`] takes them back, of this and of older generations.
//!
//! Each writer gives the whole file as text, byte for byte as XLA does where ids are XLA's own.
//!
//! ```
//! let text = "BufferAssignment:
//! allocation 0: size 16, parameter 0, shape |f32[4]| at ShapeIndex {}:
//!  value: <0 p @0> (size=16,offset=0): f32[4]{0}
//! allocation 1: size 16, output shape is |f32[4]|, maybe-live-out:
//!  value: <1 n @0> (size=16,offset=0): f32[4]{0}
//! ";
//! let (read, problems) = dumps::read::buffer_assignment(text);
//! assert!(problems.is_empty(), "{problems:?}");
//! assert_eq!((read.allocations.len(), read.total_bytes(), read.temp_bytes()), (2, 32, 0));
//! ```

mod buffer_assignment;
mod bytes;
pub mod diff;
mod events;
#[doc(hidden)]
pub mod fuzzing;
mod heap_peak;
mod live_range;
mod presets;
pub mod read;
mod report;
mod stack;
mod stats;
mod values;

pub use buffer_assignment::buffer_assignment;
pub use bytes::{grouped, human};
pub use events::event;
pub use heap_peak::{HeapPeak, HeapSlot, heap_peaks};
pub use live_range::{Peak, live_range, peak};
pub use presets::{presets, presets_of};
pub use report::memory_usage_report;
pub use stack::{BreakdownNode, breakdown, breakdown_text, largest, op_name};
pub use stats::{Stats, stats};
pub use values::values;

use analysis::Facts;
use assigner::Assignment;
use hlo::Module;

/// The four files' names, as the corpus and the command line call them, with their contents.
#[must_use]
pub fn all(module: &Module, facts: &Facts, assignment: &Assignment) -> [(&'static str, String); 4] {
    [
        ("buffer-assignment.txt", buffer_assignment(module, facts, assignment)),
        ("values.txt", values(module, facts, assignment)),
        ("live-range.txt", live_range(module, facts)),
        ("memory-usage-report.txt", memory_usage_report(module, facts, assignment)),
    ]
}
