//! Copy or remap: a command buffer has its addresses baked in when it is recorded, and the memory behind them changes.
//!
//! A slice whose memory changes is either *remapped*, so that its address shows the new memory, at a cost that does not
//! depend on its size; or *copied* into a shadow before the program runs and back behind it, at a cost that does.
//! [`decide`] finds the size up to which copying is taken (docs/RULES.md, 16); [`simulate`](simulation::simulate) runs
//! many steps in which addresses and free memory change, with the rules that keep it right switched on or off.
//!
//! ```
//! use remap::{Control, Inputs, decide};
//!
//! // A small slice is worth a copy, a large one is not: at 1 TB a second, 64 MiB there and back take longer than a remap.
//! let inputs = Inputs {
//!     bandwidth: 1_000_000_000_000,
//!     memory: 80 << 30,
//!     free: 40 << 30,
//!     sizes: vec![4 << 10, 64 << 20],
//!     ..Inputs::default()
//! };
//! let decision = decide(&inputs);
//! assert_eq!((decision.copied, decision.remapped), (vec![0], vec![1]));
//!
//! // Told to copy up to 64 MiB, it reserves no addresses.
//! let decision = decide(&Inputs { control: Control::Exactly(64 << 20), ..inputs });
//! assert_eq!((decision.copied, decision.reservation), (vec![0, 1], 0));
//! ```

pub mod cutoff;
pub mod simulation;
pub mod words;

pub use cutoff::{Control, Decision, Inputs, Limit, Stop, decide};
