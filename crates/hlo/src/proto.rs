//! The reader of `.hlo.pb`: a serialised `HloProto` or `HloModuleProto`.
//!
//! A module's text does not say in which orders XLA keeps its computations and instructions, and much depends on them;
//! the proto does (specification, 0). Reading goes over the text: the proto is printed as XLA would print it, and that is
//! read. So what holds for texts holds here, and what is printed can be compared with the dump beside it.
//!
//! Parts are decoded one at a time from slices of the input, because a message of two bytes may stand for a struct of
//! hundreds.

mod attributes;
mod floats;
mod messages;
mod printing;
mod shapes;
mod wire;

use crate::read::{Read, read_owned};
use crate::{Diagnostic, Location, Severity};
use std::collections::HashSet;

/// The orders in which XLA keeps a module (specification, 0): the order of the file is callee-first for computations and
/// post-order for instructions; ascending ids are the storage order of both.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProtoOrders {
    /// The module's name.
    pub module: String,
    /// The computations in the order of the file.
    pub computations: Vec<ComputationOrder>,
}

/// One computation's part of [`ProtoOrders`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ComputationOrder {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: i64,
    /// Names and ids of its instructions in the order of the file.
    pub instructions: Vec<(String, i64)>,
}

/// Reads the orders of a `.hlo.pb` (not compressed), for use with the module's text by name.
///
/// The error's offset is that of the byte where the message stops making sense.
pub fn read_proto_orders(bytes: &[u8]) -> Result<ProtoOrders, Diagnostic> {
    let module = wire::module(bytes).map_err(|e| e.diagnostic(bytes))?;
    let mut orders = ProtoOrders::default();
    let text = |slice: &[u8], names: &mut HashSet<String>| {
        let name = String::from_utf8_lossy(slice).into_owned();
        names.insert(name.clone()).then_some(name)
    };
    let mut computations = HashSet::new();
    for field in wire::Fields::new(module) {
        let field = field.map_err(|e| e.diagnostic(bytes))?;
        match field.number {
            1 => orders.module = String::from_utf8_lossy(field.bytes).into_owned(),
            3 => {
                let mut order = ComputationOrder::default();
                let mut name = &b""[..];
                let mut instructions = HashSet::new();
                for field in wire::Fields::new(field.bytes) {
                    let field = field.map_err(|e| e.diagnostic(bytes))?;
                    match field.number {
                        1 => name = field.bytes,
                        2 => {
                            let (name, id) =
                                wire::name_and_id(field.bytes).map_err(|e| e.diagnostic(bytes))?;
                            let Some(name) = text(name, &mut instructions) else {
                                return Err(wire::Broken::at(
                                    field.bytes,
                                    "a second instruction of this name",
                                )
                                .diagnostic(bytes));
                            };
                            order.instructions.push((name, id));
                        }
                        5 => order.id = field.number_value(),
                        _ => {}
                    }
                }
                let Some(name) = text(name, &mut computations) else {
                    return Err(wire::Broken::at(name, "a second computation of this name").diagnostic(bytes));
                };
                order.name = name;
                orders.computations.push(order);
            }
            _ => {}
        }
    }
    Ok(orders)
}

/// Reads a module from a `.hlo.pb` (not compressed).
///
/// Names, shapes, operands, calls, the schedule, aliasing and the attributes that say something of memory are all there;
/// literals of more than ten elements are not kept. Lines and columns of the remarks are those of the text that
/// [`proto_text`] makes; of bytes that are no proto, line 1 and the byte's number.
#[must_use]
pub fn read_proto(bytes: &[u8]) -> Read {
    match proto_text(bytes) {
        Ok(text) => read_owned(text),
        Err(diagnostic) => Read { module: None, diagnostics: vec![diagnostic] },
    }
}

/// The text that XLA would print for a `.hlo.pb`, as far as the proto says; what the module's configuration adds to the
/// header is missing.
pub fn proto_text(bytes: &[u8]) -> Result<String, Diagnostic> {
    let module = wire::module(bytes).map_err(|e| e.diagnostic(bytes))?;
    printing::print(module).map_err(|e| e.diagnostic(bytes))
}

impl wire::Broken {
    fn diagnostic(&self, bytes: &[u8]) -> Diagnostic {
        let offset = self.offset_in(bytes);
        let at = Location { line: 1, column: offset.saturating_add(1), offset };
        Diagnostic {
            severity: Severity::Error,
            at,
            read: self.what.clone(),
            expected: "expected a serialised HloProto or HloModuleProto".to_owned(),
        }
    }
}
