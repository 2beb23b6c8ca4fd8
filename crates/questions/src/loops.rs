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
    let (_, rest) = config.split_once("\"known_trip_count\":{\"n\":\"")?;
    rest.split_once('"')?.0.parse().ok()
}

/// What the counter tells. It must be an integer that never leaves its type's range, else the loop goes on from the other end.
fn counted(module: &Module, id: InstructionId) -> Option<u64> {
    let [body, condition] = module.called(id) else { return None };
    let test = Operation::of(module, module.root(*condition))?;
    if test.opcode(module) != Opcode::Compare {
        return None;
    }
    let [left, right] = test.operands(module)[..] else { return None };
    let direction = module.attribute(test.at, "direction")?;
    // The counter may stand on either side.
    let (counter, limit, direction) = match element_of_parameter(module, id, left) {
        Some(element) if number(module, id, right).is_some() => (element, right, direction),
        _ => {
            let turned = match direction {
                "LT" => "GT",
                "GT" => "LT",
                "LE" => "GE",
                "GE" => "LE",
                same => same,
            };
            (element_of_parameter(module, id, right)?, left, turned)
        }
    };
    let limit = number(module, id, limit)?;
    let first = initial(module, id, counter)?;
    let next = operand_of_root(module, module.root(*body), counter)?;
    let (least, most) = range(module, module.instruction(next).shape)?;
    let next = Operation::of(module, next)?;
    let [a, b] = next.operands(module)[..] else { return None };
    let is_counter = |i: InstructionId| element_of_parameter(module, id, i) == Some(counter);
    let step = match next.opcode(module) {
        Opcode::Add if is_counter(a) => number(module, id, b)?,
        Opcode::Add if is_counter(b) => number(module, id, a)?,
        Opcode::Subtract if is_counter(a) => number(module, id, b)?.checked_neg()?,
        _ => return None,
    };
    let up = step > 0;
    let distance = match direction {
        "LT" if up => limit.checked_sub(first)?,
        "LE" if up => limit.checked_sub(first)?.checked_add(1)?,
        "GT" if step < 0 => first.checked_sub(limit)?,
        "GE" if step < 0 => first.checked_sub(limit)?.checked_add(1)?,
        "NE" if step != 0 && limit.checked_sub(first)?.checked_rem(step)? == 0 => {
            let distance = limit.checked_sub(first)?;
            // Away from the limit it would come round from the other end.
            if distance != 0 && (distance > 0) != up {
                return None;
            }
            distance.checked_abs()?
        }
        _ => return None,
    };
    let rounds = u64::try_from(distance).unwrap_or(0).div_ceil(step.unsigned_abs());
    let last = i128::from(first) + i128::from(rounds) * i128::from(step);
    (least <= last && last <= most).then_some(rounds)
}

/// The least and the most that an integer of this shape can be; `None` if it is none.
fn range(module: &Module, shape: hlo::ShapeId) -> Option<(i128, i128)> {
    let hlo::Shape::Array { element, dims, .. } = module.shapes.get(shape) else { return None };
    let bits = u32::try_from(element.bits()).ok().filter(|b| (1..=64).contains(b) && dims.is_empty())?;
    match element.name().as_bytes()[0] {
        b's' => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        b'u' => Some((0, (1 << bits) - 1)),
        _ => None,
    }
}

/// An operation, which may stand in a fusion, as compilers wrap single ones.
struct Operation {
    at: InstructionId,
    fusion: Option<InstructionId>,
}

impl Operation {
    fn of(module: &Module, id: InstructionId) -> Option<Self> {
        let id = through(module, id);
        let is_fusion = |i: InstructionId| module.instruction(i).opcode == Opcode::Fusion;
        let root = |fusion: InstructionId| module.called(fusion).first().map(|c| module.root(*c));
        if is_fusion(id) {
            return Some(Self { at: through(module, root(id)?), fusion: Some(id) });
        }
        if let (Opcode::GetTupleElement, Some(&fusion)) =
            (module.instruction(id).opcode, module.operands(id).first())
            && is_fusion(fusion)
        {
            let element = module.attribute(id, "index")?.parse().ok()?;
            let inside = operand_of_root(module, root(fusion)?, element)?;
            return Some(Self { at: through(module, inside), fusion: Some(fusion) });
        }
        Some(Self { at: id, fusion: None })
    }

    fn opcode(&self, module: &Module) -> Opcode {
        module.instruction(self.at).opcode
    }

    /// Its operands, parameters of the fusion as what the fusion is given.
    fn operands(&self, module: &Module) -> Vec<InstructionId> {
        let outer = |i: InstructionId| {
            let i = through(module, i);
            match self.fusion.zip(module.parameter_number(i)) {
                Some((fusion, n)) => module.operands(fusion).get(n as usize).copied().unwrap_or(i),
                None => i,
            }
        };
        module.operands(self.at).iter().map(|o| outer(*o)).collect()
    }
}

/// Back through what only passes a number or an array on.
fn through(module: &Module, mut id: InstructionId) -> InstructionId {
    let element = |i: InstructionId| match module.shapes.get(module.instruction(i).shape) {
        hlo::Shape::Array { element, .. } => Some(*element),
        _ => None,
    };
    for _ in 0..16 {
        let Some(&operand) = module.operands(id).first() else { break };
        match module.instruction(id).opcode {
            Opcode::Copy | Opcode::Reshape | Opcode::CopyDone | Opcode::CopyStart => {}
            // The same bits may be another number.
            Opcode::Bitcast if element(id) == element(operand) => {}
            _ => break,
        }
        id = operand;
    }
    id
}

/// Which element of the state of the loop `at` an instruction of its body or condition gives. What a computation that is called
/// there, such as a fusion's, has as its parameter is no state of the loop.
fn element_of_parameter(module: &Module, at: InstructionId, id: InstructionId) -> Option<u32> {
    let id = through(module, id);
    let state = module.operands(id).first()?;
    let is_element = module.instruction(id).opcode == Opcode::GetTupleElement
        && module.instruction(*state).opcode == Opcode::Parameter
        && module.called(at).contains(&module.instruction(*state).computation);
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
    match element_of_parameter(module, at, id) {
        Some(element) if is_invariant(module, at, element) => initial(module, at, element),
        Some(_) => None,
        None => constant(module, id),
    }
}

fn constant(module: &Module, id: InstructionId) -> Option<i64> {
    let instruction = module.instruction(id);
    (instruction.opcode == Opcode::Constant && range(module, instruction.shape).is_some())
        .then(|| module.str(instruction.payload).trim().parse().ok())
        .flatten()
}

/// What an element of a loop's state is at first, if it is a constant.
fn initial(module: &Module, at: InstructionId, element: u32) -> Option<i64> {
    constant(module, through(module, operand_of_init(module, at, element)?))
}

/// What an element of a loop's state is at first.
fn operand_of_init(module: &Module, at: InstructionId, element: u32) -> Option<InstructionId> {
    let init = given(module, *module.operands(at).first()?);
    Some(given(module, operand_of_root(module, init, element)?))
}

/// What a parameter of a computation is that is called in one place.
fn given(module: &Module, mut id: InstructionId) -> InstructionId {
    for _ in 0..16 {
        let Some(number) = module.parameter_number(id) else { break };
        let home = module.instruction(id).computation;
        let mut callers = module.instruction_ids().filter(|i| module.called(*i).contains(&home));
        let operand = match (callers.next(), callers.next()) {
            (Some(caller), None) if module.instruction(caller).opcode == Opcode::Call => {
                module.operands(caller).get(number as usize).copied()
            }
            _ => None,
        };
        let Some(operand) = operand else { break };
        id = operand;
    }
    id
}

/// Does the body hand an element of the state on as it is?
fn is_invariant(module: &Module, at: InstructionId, element: u32) -> bool {
    let Some(body) = module.called(at).first() else { return false };
    operand_of_root(module, module.root(*body), element)
        .is_some_and(|next| element_of_parameter(module, at, next) == Some(element))
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
        // Until it is equal: only if it ever is.
        assert_eq!(count("1", "add(i, k)", "compare(i, ten), direction=NE"), Some(3));
        assert_eq!(count("0", "add(i, k)", "compare(i, ten), direction=NE"), None);
        assert_eq!(count("13", "add(i, k)", "compare(i, ten), direction=NE"), None);
        assert_eq!(count("10", "add(i, k)", "compare(i, ten), direction=NE"), Some(0));
        // Beyond the greatest integer it goes on from the least one.
        assert_eq!(count("2147483640", "add(i, k)", "compare(ten, i), direction=LE"), None);
        assert_eq!(count("-2147483640", "subtract(i, k)", "compare(i, ten), direction=LE"), None);
    }

    /// Compilers wrap single operations into fusions, or join them with others; a counter that is no integer is not counted with.
    #[test]
    fn a_counter_is_seen_inside_fusions() {
        let text = |ty: &str, limit: &str| {
            format!(
                "HloModule m, is_scheduled=true

less {{
  a = {ty}[] parameter(0)
  b = {ty}[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT
}}

more {{
  a = {ty}[] parameter(0)
  x = f32[4] parameter(1)
  two = {ty}[] constant(2)
  n = {ty}[] add(a, two)
  y = f32[4] negate(x)
  ROOT t = (f32[4], {ty}[]) tuple(y, n)
}}

body {{
  p = ({ty}[], f32[4]) parameter(0)
  i = {ty}[] get-tuple-element(p), index=0
  x = f32[4] get-tuple-element(p), index=1
  f = (f32[4], {ty}[]) fusion(i, x), kind=kLoop, calls=more
  y = f32[4] get-tuple-element(f), index=0
  n = {ty}[] get-tuple-element(f), index=1
  ROOT t = ({ty}[], f32[4]) tuple(n, y)
}}

condition {{
  p = ({ty}[], f32[4]) parameter(0)
  i = {ty}[] get-tuple-element(p), index=0
  limit = {ty}[] constant({limit})
  ROOT r = pred[] fusion(i, limit), kind=kLoop, calls=less
}}

ENTRY e {{
  x = f32[4] parameter(0)
  zero = {ty}[] constant(0)
  init = ({ty}[], f32[4]) tuple(zero, x)
  ROOT w = ({ty}[], f32[4]) while(init), condition=condition, body=body
}}
"
            )
        };
        let count = |ty: &str, limit: &str| {
            let module = hlo::read(&text(ty, limit)).complete().expect("a module");
            trip_count(&module, module.root(module.entry))
        };
        assert_eq!(count("s32", "7"), Some(4));
        assert_eq!(count("u8", "254"), Some(127));
        // 254, then 0 again.
        assert_eq!(count("u8", "255"), None);
        assert_eq!(count("f32", "7"), None);
    }

    /// A tuple that a fusion takes is no state of the loop, and a note is read only as XLA writes it.
    #[test]
    fn what_is_no_counter_tells_nothing() {
        let text = |config: &str| {
            format!(
                "HloModule m, is_scheduled=true

next_of {{
  q = (s32[], s32[]) parameter(0)
  a = s32[] get-tuple-element(q), index=0
  one = s32[] constant(1)
  ROOT s = s32[] add(a, one)
}}

body {{
  p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  j = s32[] get-tuple-element(p), index=1
  both = (s32[], s32[]) tuple(j, i)
  next = s32[] fusion(both), kind=kLoop, calls=next_of
  ROOT t = (s32[], s32[]) tuple(next, j)
}}

condition {{
  p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  ten = s32[] constant(10)
  ROOT r = pred[] compare(i, ten), direction=LT
}}

ENTRY e {{
  zero = s32[] constant(0)
  far = s32[] constant(20)
  init = (s32[], s32[]) tuple(zero, far)
  ROOT w = (s32[], s32[]) while(init), condition=condition, body=body{config}
}}
"
            )
        };
        let count = |config: &str| {
            let module = hlo::read(&text(config)).complete().expect("a module");
            trip_count(&module, module.root(module.entry))
        };
        assert_eq!(count(""), None);
        let noted = |note: &str| count(&format!(", backend_config={{{note}}}"));
        assert_eq!(noted("\"known_trip_count\":{\"n\":\"7\"}"), Some(7));
        assert_eq!(
            noted("\"known_trip_count\":{},\"known_induction_variable\":{\"tuple_index\":\"3\"}"),
            None
        );
        assert_eq!(noted("\"known_trip_count\":{\"n\":\"1e3\"}"), None);
    }
}
