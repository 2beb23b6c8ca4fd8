//! `-buffer-assignment-values.txt` (9.2).

use crate::human;
use analysis::{Facts, Position};
use assigner::Assignment;
use hlo::{InstructionId, Module, instruction_text};
use std::fmt::Write;

/// Writes the file. The order of `uses:` is that of the schedule; XLA's own is in no dump.
#[must_use]
pub fn values(module: &Module, facts: &Facts, assignment: &Assignment) -> String {
    let total = assignment.total_bytes();
    let mut out = format!("\nTotal bytes used: {total} ({})\n\nUsed values:\n", human(total));
    for value in facts.values().filter(|v| assignment.place(v.id).is_some()) {
        let _ = writeln!(out, "{}\n positions:", facts.short(module, value.id));
        for p in &value.positions {
            let _ = writeln!(out, "  {}", place(module, *p));
        }
        out.push_str(" uses:\n");
        for u in &value.uses {
            let operand = module.operands(u.user)[u.operand as usize];
            let _ = write!(out, "  {}, operand {}", module.name_of(u.user), u.operand);
            index(&mut out, module, operand, u.sub);
            out.push('\n');
        }
        if value.uses.is_empty() {
            out.push_str("  (none)\n");
        }
        let _ =
            writeln!(out, " from instruction: {}", instruction_text(module, value.defined_at().instruction));
    }
    out
}

/// `tuple.1 {0}`, or `dot` where the result is no tuple (2.6).
fn place(module: &Module, p: Position) -> String {
    let mut out = module.name_of(p.instruction).to_owned();
    index(&mut out, module, p.instruction, p.sub);
    out
}

fn index(out: &mut String, module: &Module, id: InstructionId, sub: u32) {
    let shape = module.instruction(id).shape;
    if module.shapes.is_tuple(shape) {
        let _ = write!(out, " {}", module.shapes.subshapes(shape)[sub as usize].index);
    }
}
