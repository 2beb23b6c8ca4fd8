//! Copy or remap: a command buffer has its addresses baked in when it is recorded, and the memory behind them changes.
//!
//! A slice whose memory changes is either *remapped*, so that its address shows the new memory, at a cost that does not
//! depend on its size; or *copied* into a shadow before the program runs and back behind it, at a cost that does.
//! [`decide`] finds the size up to which copying is taken (docs/RULES.md, 16); [`simulate`](simulation::simulate) runs
//! many steps in which addresses and free memory change, with the rules that keep it right switched on or off.

pub mod cutoff;
pub mod simulation;
pub mod words;

pub use cutoff::{Control, Decision, Inputs, Limit, Stop, decide};
