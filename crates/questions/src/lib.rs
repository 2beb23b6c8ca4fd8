//! What engineers ask of an assignment.
//!
//! A [`Study`] is one assignment as a table: XLA's own, read from its dumps ([`opening::Loaded`]), or ours. Every
//! question is a function of it, gives plain data, and works with whatever is there: without the program what needs the
//! program is left out.
//!
//! | question | answer |
//! |---|---|
//! | what makes the peak | [`peak`], [`groups`], [`sums`] |

mod cover;
mod origin;
mod peak;
mod study;

pub use origin::{Frames, Origin, Phase, origin, without_numbers};
pub use peak::{Group, Owner, Peak, Slot, SpacePeak, Sum, groups, peak, slots_at, sums};
pub use study::{Program, Role, Row, Settings, Slab, Source, Study, StudyError, unpadded_of_text};
