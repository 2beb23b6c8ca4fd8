//! HLO modules: the text that XLA dumps, read into typed arenas, printed back and measured in bytes.
//!
//! Data flows one way through Bufferscope: text → module → facts → decisions → picture. This crate is
//! the first arrow. It knows nothing of values, schedules or memory.
//!
//! A [`Module`] owns its source text; names and attributes are [`Span`]s into it, so reading copies the
//! text once and nothing else. Reading never panics and never fails whole when a part will do:
//! [`read`] gives what could be read, and a list of [`Diagnostic`]s with line and column.
//!
//! ```
//! let text = "\
//! HloModule m
//!
//! ENTRY main {
//!   p = f32[4, 5]{1, 0} parameter(0)
//!   ROOT n = f32[4,5]{1,0} negate(p)
//! }
//! ";
//! let read = hlo::read(text);
//! assert!(read.diagnostics.is_empty());
//!
//! let module = read.module.expect("an entry computation");
//! let root = module.root(module.entry);
//! assert_eq!(module.instruction(root).opcode, hlo::Opcode::Negate);
//! assert_eq!(module.name_of(module.operands(root)[0]), "p");
//! assert_eq!(module.shapes.bytes(module.instruction(root).shape, 8), 80);
//! assert_eq!(
//!     hlo::print(&module),
//!     "\
//! HloModule m
//!
//! ENTRY %main (p: f32[4,5]) -> f32[4,5] {
//!   %p = f32[4,5]{1,0} parameter(0)
//!   ROOT %n = f32[4,5]{1,0} negate(%p)
//! }
//!
//! "
//! );
//!
//! let read = hlo::read("ENTRY main {\n  n = f32[4]{0} negate(p)\n}\n");
//! assert_eq!(
//!     read.diagnostics[0].to_string(),
//!     "2:24: the operand `p`, expected an instruction from above"
//! );
//! ```

mod check;
mod diagnostic;
mod edit;
#[doc(hidden)]
pub mod fuzzing;
mod known;
mod module;
mod opcode;
mod print;
mod proto;
mod read;
mod shape;
mod shape_text;
mod text;

pub use diagnostic::{Diagnostic, Location, Severity};
pub use module::{
    Alias, AliasKind, Attribute, Computation, ComputationId, Instruction, InstructionId, Module, Slice, Span,
};
pub use opcode::Opcode;
pub use print::{instruction_text, print};
pub use proto::{ComputationOrder, ProtoOrders, proto_text, read_proto, read_proto_orders};
pub use read::{Read, read, read_bytes, read_owned};
pub use shape::{
    ElementType, Layout, MAX_RANK, MAX_TUPLE_DEPTH, Shape, ShapeError, ShapeId, ShapeIndex, Shapes, Subshape,
    Tile,
};
