//! Modules as XLA prints them.

use crate::{Attribute, ComputationId, InstructionId, Module, Opcode, Slice};
use std::fmt::Write as _;

/// The module's text in the style of XLA's dumps, byte for byte the same for a text that came from there.
#[must_use]
pub fn print(module: &Module) -> String {
    let mut out = String::with_capacity(module.text.len() + module.text.len() / 8 + 64);
    out.push_str("HloModule ");
    out.push_str(module.str(module.name));
    attributes(module, &module.header, &mut out);
    out.push_str("\n\n");
    let tables = module.str(module.tables);
    if !tables.is_empty() {
        out.push_str(tables);
        out.push_str("\n\n\n");
    }
    for id in module.computation_ids() {
        computation(module, id, &mut out);
        out.push_str("\n\n");
    }
    out
}

/// One instruction as XLA's files quote it: with `%`, without `ROOT`, and asynchronous operations in their short
/// form, `slice-start(%p), slice={[0:2]}` (specification, 2.8; GPU and TPU supplement, 6).
#[must_use]
pub fn instruction_text(module: &Module, id: InstructionId) -> String {
    let mut out = String::new();
    instruction(module, id, true, &mut out);
    out
}

fn computation(module: &Module, id: ComputationId, out: &mut String) {
    let computation = module.computation(id);
    if id == module.entry {
        out.push_str("ENTRY ");
    }
    _ = write!(out, "%{} (", module.str(computation.name));
    for (i, parameter) in computation.parameters.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        let shape = module.shapes.short(module.instruction(*parameter).shape);
        _ = write!(out, "{}: {shape}", module.name_of(*parameter));
    }
    let root = module.instruction(computation.root);
    _ = writeln!(out, ") -> {} {{", module.shapes.short(root.shape));
    for instruction_id in &computation.instructions {
        out.push_str(if *instruction_id == computation.root { "  ROOT " } else { "  " });
        instruction(module, *instruction_id, false, out);
        out.push('\n');
    }
    out.push('}');
    attributes(module, module.attributes_in(computation.attributes), out);
}

fn instruction(module: &Module, id: InstructionId, short: bool, out: &mut String) {
    let instruction = module.instruction(id);
    let wrapped = if short { wrapped_root(module, id) } else { None };
    _ = write!(out, "%{} = {} ", module.name_of(id), module.shapes.long(instruction.shape));
    match wrapped {
        Some(root) => {
            out.push_str(module.str(module.instruction(root).opcode_name));
            out.push_str(match instruction.opcode {
                Opcode::AsyncStart => "-start",
                Opcode::AsyncUpdate => "-update",
                _ => "-done",
            });
        }
        None if instruction.opcode == Opcode::Unknown => out.push_str(module.str(instruction.opcode_name)),
        None => out.push_str(instruction.opcode.name()),
    }
    out.push('(');
    out.push_str(module.str(instruction.payload));
    for (i, operand) in module.operands(id).iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
            if i % 5 == 0 {
                _ = write!(out, "/*index={i}*/");
            }
        }
        out.push('%');
        out.push_str(module.name_of(*operand));
    }
    out.push(')');
    match wrapped {
        Some(root) => {
            for attribute in module.attributes(id) {
                if module.str(attribute.name) != "calls" {
                    attributes(module, &[*attribute], out);
                    continue;
                }
                // Where the computation would be named stands what its root says.
                for attribute in module.attributes(root) {
                    let name = module.str(attribute.name);
                    if !matches!(name, "metadata" | "backend_config" | "sharding") {
                        attributes(module, &[*attribute], out);
                    }
                }
            }
        }
        None => attributes(module, module.attributes(id), out),
    }
}

/// So many `async-update` between start and done are followed.
const MAX_UPDATES: usize = 1000;

/// The operation that an asynchronous instruction stands for.
fn wrapped_root(module: &Module, id: InstructionId) -> Option<InstructionId> {
    let mut at = id;
    // A chain of updates leads to the start.
    for _ in 0..MAX_UPDATES {
        let instruction = module.instruction(at);
        match instruction.opcode {
            Opcode::AsyncStart | Opcode::AsyncUpdate | Opcode::AsyncDone => {}
            _ => return None,
        }
        if let Some(computation) = module.called(at).first() {
            let root = module.root(*computation);
            let mut others = module.computation(*computation).instructions.iter().filter(|i| **i != root);
            let single = others.all(|i| module.instruction(*i).opcode == Opcode::Parameter);
            return Some(root).filter(|_| single);
        }
        at = *module.operands(at).first()?;
    }
    None
}

fn attributes(module: &Module, list: &[Attribute], out: &mut String) {
    for attribute in list {
        _ = write!(out, ", {}={}", module.str(attribute.name), module.str(attribute.value));
    }
}

impl Module {
    pub(crate) fn attributes_in(&self, slice: Slice) -> &[Attribute] {
        self.attribute_pool.get(slice.range()).unwrap_or(&[])
    }
}
