//! What memory space assignment placed before, taken from the buffer-assignment file of the same module.

use crate::read::{AllocationRecord, BufferAssignmentFile, ValueName, buffer_assignment};
use analysis::{Backend, Color, Facts, Position, ValueId};
use assigner::{Placed, Preset};
use hlo::{Diagnostic, Location, Module, Severity};
use std::collections::HashMap;

/// The memory space that memory space assignment fills: vector memory, and before that the common memory.
const PRESET_COLORS: [u32; 2] = [1, 3];

/// Reads the file, and gives the warnings there are. Values are found by instruction and index, because numbers may differ
/// from those of the module at hand.
///
/// # Errors
///
/// What is wrong with the file, or a value in it that the module has not, at its line.
pub fn presets(
    module: &Module,
    facts: &Facts,
    text: &str,
) -> Result<(Vec<Preset>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let (file, diagnostics) = buffer_assignment(text);
    let (errors, warnings): (Vec<_>, Vec<_>) =
        diagnostics.into_iter().partition(|d| d.severity == Severity::Error);
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok((presets_of(module, facts, &file)?, warnings))
}

/// [`presets`] of a file that was read already.
///
/// # Errors
///
/// A value in it that the module has not, at its line.
pub fn presets_of(
    module: &Module,
    facts: &Facts,
    file: &BufferAssignmentFile,
) -> Result<Vec<Preset>, Vec<Diagnostic>> {
    let of_color = |color: u32| -> Vec<&AllocationRecord> {
        file.allocations.iter().filter(|a| a.color == color && a.is_preallocated_temp).collect()
    };
    let found = PRESET_COLORS.into_iter().map(|c| (c, of_color(c))).find(|(_, found)| !found.is_empty());
    let Some((color, allocations)) = found else { return Ok(empty(facts)) };
    let values = by_name(module, facts);
    let mut out = Vec::new();
    for a in allocations {
        let mut placed = Vec::with_capacity(a.values.len());
        for p in &a.values {
            let Some(&value) = values.get(&p.value.name) else {
                return Err(vec![Diagnostic {
                    at: Location { line: p.line, column: 1, offset: 0 },
                    severity: Severity::Error,
                    read: format!("the value `{}`", p.value.name),
                    expected: "expected a value of the module".to_owned(),
                }]);
            };
            placed.push(Placed { value, offset: p.offset, size: p.size });
        }
        out.push(Preset { color: Color(color), size: a.size.bytes, values: placed });
    }
    Ok(out)
}

/// Where memory space assignment ran and placed nothing there is still its allocation; it does not run on the
/// generations without a second memory, which are those that round tuples up to 1024 bytes.
fn empty(facts: &Facts) -> Vec<Preset> {
    let target = &facts.target;
    if target.backend == Backend::Tpu && target.tuple_unit < 1024 {
        vec![Preset { color: Color(PRESET_COLORS[0]), size: 0, values: Vec::new() }]
    } else {
        Vec::new()
    }
}

/// The values of a module by the place that defines them.
fn by_name(module: &Module, facts: &Facts) -> HashMap<ValueName, ValueId> {
    facts
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
