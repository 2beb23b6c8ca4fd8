//! Values as a user names them: `fusion.1`, `%while.2{0}`, or a number.

use crate::Failure;
use analysis::{Facts, Position, ValueId};
use dumps::read::ValueName;
use hlo::Module;

/// Finds the value. A place that holds the value of another one is as good as the name of that.
pub(crate) fn find(module: &Module, facts: &Facts, text: &str) -> Result<ValueId, Failure> {
    let name: ValueName = text.parse().map_err(Failure)?;
    let Some(id) = module.instruction_ids().find(|i| module.name_of(*i) == name.instruction) else {
        let number = text.trim_start_matches('#').parse().ok().map(ValueId);
        if let Some(value) = number.and_then(|id| facts.find_value(id)) {
            return Ok(value.id);
        }
        let mut close: Vec<&str> = module
            .instruction_ids()
            .map(|i| module.name_of(i))
            .filter(|n| n.contains(&name.instruction) || name.instruction.contains(n))
            .collect();
        close.truncate(5);
        let hint = if close.is_empty() { String::new() } else { format!("; there is {}", close.join(", ")) };
        return Err(Failure(format!("`{text}`, expected an instruction of the module{hint}")));
    };
    let shape = module.instruction(id).shape;
    let Some(sub) = module.shapes.find(shape, &name.index.0) else {
        return Err(Failure(format!("`{text}`, expected an index into {}", module.shapes.short(shape))));
    };
    match facts.dataflow.at(Position { instruction: id, sub }) {
        [value] => Ok(*value),
        [] => Err(Failure(format!("`{text}`, expected a place that holds a value"))),
        several => {
            let names: Vec<String> = several.iter().map(|v| facts.label(module, *v)).collect();
            Err(Failure(format!("`{text}`, expected one value; {} may stand there", names.join(", "))))
        }
    }
}
