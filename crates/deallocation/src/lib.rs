//! Buffer deallocation, as MLIR does it: a program that allocates buffers in, the same program with a release for each
//! of them out, and with a copy wherever two owners would otherwise share one.
//!
//! [`read`] takes MLIR text, [`deallocate`] is the classic rule (docs/RULES.md, 15), [`own`] the newer one, and [`lower`] puts
//! its result into plain operations. `run` executes a result on every way through it and names what is leaked, freed twice
//! or used when it is gone. [`print`] writes MLIR again.
//!
//! XLA has a copy of the classic pass (`MLIR_HLO`); LLVM itself had it up to version 18.

mod breaking;
pub mod classic;
pub mod control;
pub mod graph;
pub mod ir;
mod lowering;
mod ownership;
mod print;
mod read;
pub mod run;
mod verify;
pub mod words;

pub use breaking::Break;
pub use classic::{Options, Outcome, Step, deallocate};
pub use ir::{Program, Refusal};
pub use lowering::lower;
pub use ownership::own;
pub use print::{line, print};
pub use read::{MOST_BYTES, read};
#[doc(hidden)]
pub mod fuzzing;
