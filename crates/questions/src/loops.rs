//! Loops: how often they run, and which parts of their state stay what they are.

use hlo::{InstructionId, Module, Opcode};

/// How often a loop's body runs: as XLA notes it, else as its counter tells, which the condition compares with a constant and the
/// body changes by a constant. `None` if neither tells.
#[must_use]
pub fn trip_count(module: &Module, at: InstructionId) -> Option<u64> {
    noted(module, at).or_else(|| counted(module, at))
}

/// The trip count that XLA notes: `"known_trip_count":{"n":"10"}`.
fn noted(module: &Module, id: InstructionId) -> Option<u64> {
    let config = module.attribute(id, "backend_config")?;
    let (_, rest) = config.split_once("known_trip_count")?;
    let start = rest.find(|c: char| c.is_ascii_digit())?;
    if rest[..start].ends_with('-') {
        return None;
    }
    let digits = &rest[start..];
    digits[..digits.bytes().take_while(u8::is_ascii_digit).count()].parse().ok()
}

fn counted(module: &Module, id: InstructionId) -> Option<u64> {
    let [body, condition] = module.called(id) else { return None };
    let test = module.root(*condition);
    if module.instruction(test).opcode != Opcode::Compare {
        return None;
    }
    let [left, right] = module.operands(test) else { return None };
    let direction = module.attribute(test, "direction")?;
    // The counter may stand on either side.
    let (counter, limit, direction) = match element_of_parameter(module, *left) {
        Some(element) if number(module, id, *right).is_some() => (element, *right, direction),
        _ => {
            let turned = match direction {
                "LT" => "GT",
                "GT" => "LT",
                "LE" => "GE",
                "GE" => "LE",
                same => same,
            };
            (element_of_parameter(module, *right)?, *left, turned)
        }
    };
    let limit = number(module, id, limit)?;
    let next = operand_of_root(module, module.root(*body), counter)?;
    let next = through(module, next);
    let (a, b) = match module.operands(next) {
        [a, b] => (*a, *b),
        _ => return None,
    };
    let is_counter = |i: InstructionId| element_of_parameter(module, i) == Some(counter);
    let step = match module.instruction(next).opcode {
        Opcode::Add if is_counter(a) => number(module, id, b)?,
        Opcode::Add if is_counter(b) => number(module, id, a)?,
        Opcode::Subtract if is_counter(a) => number(module, id, b)?.checked_neg()?,
        _ => return None,
    };
    let first = initial(module, id, counter)?;
    let (distance, step) = match direction {
        "LT" => (limit.checked_sub(first)?, step),
        "LE" => (limit.checked_sub(first)?.checked_add(1)?, step),
        "GT" => (first.checked_sub(limit)?, step.checked_neg()?),
        "GE" => (first.checked_sub(limit)?.checked_add(1)?, step.checked_neg()?),
        "NE" if step > 0 => (limit.checked_sub(first)?, step),
        _ => return None,
    };
    let step = u64::try_from(step).ok().filter(|s| *s > 0)?;
    Some(u64::try_from(distance).unwrap_or(0).div_ceil(step))
}

/// Back through what only passes a number or an array on.
fn through(module: &Module, mut id: InstructionId) -> InstructionId {
    for _ in 0..16 {
        match module.instruction(id).opcode {
            Opcode::Copy | Opcode::Bitcast | Opcode::Reshape | Opcode::CopyDone | Opcode::CopyStart => {
                match module.operands(id).first() {
                    Some(operand) => id = *operand,
                    None => break,
                }
            }
            _ => break,
        }
    }
    id
}

/// Which element of the state of a loop an instruction in its body or condition gives.
fn element_of_parameter(module: &Module, id: InstructionId) -> Option<u32> {
    let id = through(module, id);
    let state = module.operands(id).first()?;
    let is_element = module.instruction(id).opcode == Opcode::GetTupleElement
        && module.instruction(*state).opcode == Opcode::Parameter;
    is_element.then(|| module.attribute(id, "index")?.parse().ok()).flatten()
}

fn operand_of_root(module: &Module, root: InstructionId, element: u32) -> Option<InstructionId> {
    (module.instruction(root).opcode == Opcode::Tuple)
        .then(|| module.operands(root).get(element as usize).copied())
        .flatten()
}

/// A constant in a loop, which may come from outside of it.
fn number(module: &Module, at: InstructionId, id: InstructionId) -> Option<i64> {
    let id = through(module, id);
    match element_of_parameter(module, id) {
        Some(element) if is_invariant(module, at, element) => initial(module, at, element),
        Some(_) => None,
        None => constant(module, id),
    }
}

fn constant(module: &Module, id: InstructionId) -> Option<i64> {
    let instruction = module.instruction(id);
    (instruction.opcode == Opcode::Constant)
        .then(|| module.str(instruction.payload).trim().parse().ok())
        .flatten()
}

/// What an element of a loop's state is at first, if it is a constant.
fn initial(module: &Module, at: InstructionId, element: u32) -> Option<i64> {
    constant(module, through(module, operand_of_init(module, at, element)?))
}

/// What an element of a loop's state is at first.
pub(crate) fn operand_of_init(module: &Module, at: InstructionId, element: u32) -> Option<InstructionId> {
    operand_of_root(module, *module.operands(at).first()?, element)
}

/// Does the body hand an element of the state on as it is?
pub(crate) fn is_invariant(module: &Module, at: InstructionId, element: u32) -> bool {
    let Some(body) = module.called(at).first() else { return false };
    operand_of_root(module, module.root(*body), element)
        .is_some_and(|next| element_of_parameter(module, next) == Some(element))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop whose counter begins at `first`, changes by `change` and is compared by `test`.
    fn count(first: &str, change: &str, test: &str) -> Option<u64> {
        let text = format!(
            "HloModule m, is_scheduled=true

body {{
  p = (s32[], f32[4], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4] get-tuple-element(p), index=1
  n = s32[] get-tuple-element(p), index=2
  k = s32[] constant(3)
  kept = s32[] copy(i)
  next = s32[] {change}
  y = f32[4] negate(x)
  ROOT t = (s32[], f32[4], s32[]) tuple(next, y, n)
}}

condition {{
  p = (s32[], f32[4], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=2
  ten = s32[] constant(10)
  ROOT r = pred[] {test}
}}

ENTRY e {{
  x = f32[4] parameter(0)
  zero = s32[] constant({first})
  begin = s32[] copy(zero)
  limit = s32[] constant(64)
  init = (s32[], f32[4], s32[]) tuple(begin, x, limit)
  ROOT w = (s32[], f32[4], s32[]) while(init), condition=condition, body=body
}}
"
        );
        let module = hlo::read(&text).complete().expect("a module");
        let at = module.root(module.entry);
        trip_count(&module, at)
    }

    #[test]
    fn a_loop_is_counted_by_its_counter() {
        assert_eq!(count("0", "add(kept, k)", "compare(i, ten), direction=LT"), Some(4));
        assert_eq!(count("0", "add(k, i)", "compare(i, n), direction=LT"), Some(22));
        assert_eq!(count("1", "add(kept, k)", "compare(ten, i), direction=GE"), Some(4));
        assert_eq!(count("40", "subtract(i, k)", "compare(i, ten), direction=GT"), Some(10));
        assert_eq!(count("10", "add(i, k)", "compare(i, ten), direction=LT"), Some(0));
        // Another direction, another operation, and a counter that does not change.
        assert_eq!(count("0", "add(i, k)", "compare(i, ten), direction=GT"), None);
        assert_eq!(count("0", "multiply(i, k)", "compare(i, ten), direction=LT"), None);
        assert_eq!(count("0", "subtract(i, k)", "compare(i, ten), direction=LT"), None);
        assert_eq!(count("0", "copy(i)", "compare(i, ten), direction=LT"), None);
    }
}
