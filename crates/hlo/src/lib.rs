//! HLO modules: the text that XLA dumps, read into typed arenas, printed back and measured in bytes.
//!
//! Data flows one way through Bufferscope: text → module → facts → decisions → picture. This crate is
//! the first arrow. It knows nothing of values, schedules or memory.
//!
//! A [`Module`] owns its source text; names and attributes are [`Span`]s into it, so reading copies the
//! text once and nothing else. Reading never panics and never fails whole when a part will do:
//! [`read`] gives what could be read, and a list of [`Diagnostic`]s with line and column.

mod check;
mod diagnostic;
mod known;
mod module;
mod opcode;
mod print;
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
pub use read::{Read, read, read_bytes, read_owned};
pub use shape::{
    ElementType, Layout, MAX_RANK, MAX_TUPLE_DEPTH, Shape, ShapeError, ShapeId, ShapeIndex, Shapes, Subshape,
    Tile,
};
