//! Buffer deallocation, as MLIR does it: a program that allocates buffers in, the same program with a release for each
//! of them out, and with a copy wherever two owners would otherwise share one.
//!
//! [`read`] takes MLIR text, [`deallocate`] is the classic rule (docs/RULES.md, 15), [`own`] the newer one, and [`lower`] puts
//! its result into plain operations. `run` executes a result on every way through it and names what is leaked, freed twice
//! or used when it is gone. [`print`] writes MLIR again.
//!
//! ```
//! let program = deallocation::read(
//!     r#"
//! func.func @f(%out: memref<64xf32>) {
//!   %a = memref.alloc() : memref<64xf32>
//!   "test.copy"(%a, %out) : (memref<64xf32>, memref<64xf32>) -> ()
//!   return
//! }
//! "#,
//! )
//! .expect("a program");
//! let function = program.functions()[0];
//! let border = deallocation::run::Border::default();
//! assert_eq!(deallocation::run::run(&program, function, border).faults.len(), 1, "a leak");
//!
//! let freed = deallocation::deallocate(&program, &deallocation::Options::default()).expect("it can be freed");
//! assert!(deallocation::run::run(&freed.program, function, border).faults.is_empty());
//! assert!(deallocation::print(&freed.program).contains("memref.dealloc %a"));
//! ```
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
