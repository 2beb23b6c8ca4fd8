//! `-buffer-assignment.txt` (9.1).

use analysis::{Backend, Facts, Position};
use assigner::{Allocation, Assignment};
use hlo::Module;
use std::fmt::Write;

/// Writes the file.
#[must_use]
pub fn buffer_assignment(module: &Module, facts: &Facts, assignment: &Assignment) -> String {
    let mut out = String::from("BufferAssignment:\n");
    for allocation in &assignment.allocations {
        header(&mut out, module, facts, allocation);
        for p in &allocation.values {
            let shape = module.shapes.long(facts.value_shape(module, p.value));
            let short = facts.short(module, p.value);
            let _ = writeln!(out, " value: {short} (size={},offset={}): {shape}", p.size, p.offset);
        }
    }
    out
}

fn header(out: &mut String, module: &Module, facts: &Facts, a: &Allocation) {
    let _ = write!(out, "allocation {}: size {}", a.id.0, a.size);
    if a.color.0 != 0 {
        let _ = write!(out, ", color {}", a.color);
    }
    if facts.target.backend == Backend::Tpu {
        out.push_str(", page 0");
    }
    if let Some(p) = &a.parameter {
        let parameter = module.computation(module.entry).parameters.get(p.number as usize);
        let shape = parameter.and_then(|id| {
            let whole = module.instruction(*id).shape;
            module
                .shapes
                .find(whole, &p.index.0)
                .map(|sub| module.shapes.subshapes(whole)[sub as usize].shape)
        });
        let shape = shape.map_or("", |s| module.shapes.short(s));
        let _ = write!(out, ", parameter {}, shape |{shape}| at ShapeIndex {}", p.number, p.index);
    }
    let root = module.root(module.entry);
    let result = Position { instruction: root, sub: 0 };
    if facts.dataflow.at(result).iter().any(|v| a.placed(*v).is_some()) {
        let _ = write!(out, ", output shape is |{}|", module.shapes.short(module.instruction(root).shape));
    }
    for (flag, word) in [
        (a.is_constant, ", constant"),
        (a.is_thread_local, ", thread-local"),
        (a.maybe_live_out, ", maybe-live-out"),
        (a.is_preallocated_temp(), ", preallocated-temp"),
    ] {
        if flag {
            out.push_str(word);
        }
    }
    out.push_str(":\n");
}
