//! Which operations work element by element (7).

use crate::Facts;
use hlo::{InstructionId, Module, Opcode, Shape};
use rustc_hash::{FxHashMap, FxHashSet};

/// Is the opcode elementwise on every operand? `map` and `bitcast-convert` depend on the instruction.
fn is_elementwise_opcode(module: &Module, id: InstructionId) -> bool {
    use Opcode as O;
    match module.instruction(id).opcode {
        O::Abs
        | O::Acos
        | O::Acosh
        | O::Asin
        | O::Asinh
        | O::Atanh
        | O::Cosh
        | O::Sinh
        | O::RoundNearestAfz
        | O::RoundNearestEven
        | O::Ceil
        | O::Clz
        | O::Convert
        | O::Copy
        | O::Cos
        | O::Erf
        | O::Exp
        | O::Expm1
        | O::Floor
        | O::Imag
        | O::IsFinite
        | O::Log
        | O::Log1p
        | O::Logistic
        | O::Not
        | O::Negate
        | O::PopulationCount
        | O::Real
        | O::ReducePrecision
        | O::Rsqrt
        | O::Cbrt
        | O::Sign
        | O::Sin
        | O::Sqrt
        | O::Tan
        | O::Tanh
        | O::Add
        | O::Atan2
        | O::Compare
        | O::Complex
        | O::Divide
        | O::Maximum
        | O::Minimum
        | O::Mulhi
        | O::Multiply
        | O::Power
        | O::Remainder
        | O::Subtract
        | O::And
        | O::Or
        | O::Xor
        | O::ShiftLeft
        | O::ShiftRightArithmetic
        | O::ShiftRightLogical
        | O::StochasticConvert
        | O::Select
        | O::Clamp
        | O::Rng => true,
        O::BitcastConvert => {
            let bits = |id| match module.shapes.get(module.instruction(id).shape) {
                Shape::Array { element, .. } => element.bits(),
                _ => 0,
            };
            module.operands(id).first().is_some_and(|o| bits(*o) == bits(id))
        }
        O::Map => {
            let rank = match module.shapes.get(module.instruction(id).shape) {
                Shape::Array { dims, .. } => dims.len(),
                _ => 0,
            };
            let listed = module.attribute(id, "dimensions").unwrap_or("{}").trim_matches(['{', '}']);
            listed.split(',').filter(|d| !d.trim().is_empty()).count() == rank
        }
        _ => false,
    }
}

/// Is an instruction elementwise on one of its operands? (7)
///
/// A fusion is if every operation on every way from the fused parameter is elementwise on the operand it is reached
/// through; a bitcast on the way is not.
#[must_use]
pub fn is_elementwise_on(module: &Module, facts: &Facts, id: InstructionId, operand: u32) -> bool {
    match module.instruction(id).opcode {
        Opcode::DynamicUpdateSlice => operand == 0,
        Opcode::Fusion => fusion_is_elementwise_on(module, facts, id, operand),
        _ => is_elementwise_opcode(module, id),
    }
}

/// The same for a fusion, with nested fusions entered through a list of work instead of recursion.
fn fusion_is_elementwise_on(module: &Module, facts: &Facts, fusion: InstructionId, operand: u32) -> bool {
    let parameter = |fusion: InstructionId, operand: u32| {
        let body = module.called(fusion).first()?;
        module.computation(*body).parameters.get(operand as usize).copied()
    };
    let Some(first) = parameter(fusion, operand) else { return false };
    let mut seen: FxHashSet<InstructionId> = FxHashSet::default();
    let mut work = vec![first];
    while let Some(at) = work.pop() {
        if !seen.insert(at) {
            continue;
        }
        for read in facts.graph.reads(at) {
            match module.instruction(read.user).opcode {
                Opcode::Fusion => match parameter(read.user, read.operand) {
                    Some(inner) => work.push(inner),
                    None => return false,
                },
                _ => {
                    if !is_elementwise_on(module, facts, read.user, read.operand) {
                        return false;
                    }
                }
            }
            work.push(read.user);
        }
    }
    true
}

/// The rule of loop and input fusions (7, clause 7): everything that the parameter reaches is a tuple, or elementwise on
/// each operand through which it reads something reached.
pub(super) fn reaches_only_elementwise(module: &Module, facts: &Facts, parameter: InstructionId) -> bool {
    let mut seen: FxHashSet<InstructionId> = FxHashSet::default();
    let mut elementwise: FxHashMap<(InstructionId, u32), bool> = FxHashMap::default();
    let mut work = vec![parameter];
    while let Some(at) = work.pop() {
        for read in facts.graph.reads(at) {
            let user = read.user;
            if module.instruction(user).opcode != Opcode::Tuple {
                let ok = *elementwise
                    .entry((user, read.operand))
                    .or_insert_with(|| is_elementwise_on(module, facts, user, read.operand));
                if !ok {
                    return false;
                }
            }
            if seen.insert(user) {
                work.push(user);
            }
        }
    }
    true
}
