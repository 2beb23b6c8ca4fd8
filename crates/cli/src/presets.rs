//! `--presets FILE`: what memory space assignment placed before, taken from a buffer-assignment file.

use crate::Failure;
use crate::input::{Program, in_words, read_bytes};
use analysis::{Backend, Color, Position, ValueId};
use assigner::{Placed, Preset};
use dumps::read::{AllocationRecord, ValueName};
use hlo::Severity;
use std::collections::HashMap;
use std::path::Path;

/// The memory space that memory space assignment fills: vector memory, and before that the common memory.
const PRESET_COLORS: [u32; 2] = [1, 3];

/// Reads the file. Values are found by instruction and index, because numbers may differ from those of the module at hand.
pub(crate) fn read(path: &Path, program: &Program) -> Result<Vec<Preset>, Failure> {
    let bytes = read_bytes(path)?;
    let (file, diagnostics) = dumps::read::buffer_assignment(&String::from_utf8_lossy(&bytes));
    let (errors, warnings): (Vec<_>, Vec<_>) =
        diagnostics.into_iter().partition(|d| d.severity == Severity::Error);
    eprint!("{}", in_words(path, &warnings));
    if !errors.is_empty() {
        return Err(Failure(in_words(path, &errors)));
    }
    let of_color = |color: u32| -> Vec<&AllocationRecord> {
        file.allocations.iter().filter(|a| a.color == color && a.is_preallocated_temp).collect()
    };
    let found = PRESET_COLORS.into_iter().map(|c| (c, of_color(c))).find(|(_, found)| !found.is_empty());
    let Some((color, allocations)) = found else { return Ok(empty(program)) };
    let values = by_name(program);
    let mut out = Vec::new();
    for a in allocations {
        let mut placed = Vec::with_capacity(a.values.len());
        for p in &a.values {
            let Some(&value) = values.get(&p.value.name) else {
                return Err(Failure(format!(
                    "{}:{}:1: the value `{}`, expected a value of the module",
                    path.display(),
                    p.line,
                    p.value.name
                )));
            };
            placed.push(Placed { value, offset: p.offset, size: p.size });
        }
        out.push(Preset { color: Color(color), size: a.size.bytes, values: placed });
    }
    Ok(out)
}

/// Where memory space assignment ran and placed nothing there is still its allocation; it does not run on the
/// generations without a second memory, which are those that round tuples up to 1024 bytes.
fn empty(program: &Program) -> Vec<Preset> {
    let target = &program.facts.target;
    if target.backend == Backend::Tpu && target.tuple_unit < 1024 {
        vec![Preset { color: Color(PRESET_COLORS[0]), size: 0, values: Vec::new() }]
    } else {
        Vec::new()
    }
}

/// The values of a module by the place that defines them.
pub(crate) fn by_name(program: &Program) -> HashMap<ValueName, ValueId> {
    let module = &program.module;
    program
        .facts
        .values()
        .map(|v| {
            let Position { instruction, sub } = v.defined_at();
            let places = module.shapes.subshapes(module.instruction(instruction).shape);
            let name = ValueName {
                instruction: module.name_of(instruction).to_owned(),
                index: places[sub as usize].index.clone(),
            };
            (name, v.id)
        })
        .collect()
}
