//! Which instructions may write a result over an operand that lies in exactly the same bytes.
//!
//! One instruction is one step: it reads while it writes. That is harmless where each element of the result is
//! made from the same element of the operand (add, select, ...), or where the operand is what gets changed
//! (dynamic-update-slice, scatter).

use hlo::{ComputationId, InstructionId, Module, Opcode, Shape, ShapeIndex};

/// Whose rules hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// XLA:CPU.
    Cpu,
    /// XLA:GPU.
    Gpu,
    /// XLA:TPU.
    Tpu,
}

/// Fusions inside fusions are looked into down to this depth; below it nothing counts as elementwise.
const DEEPEST_FUSION: u32 = 8;

/// Some result leaf over some operand leaf.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub(crate) operand: usize,
    pub(crate) operand_index: &'a ShapeIndex,
    pub(crate) output_index: &'a ShapeIndex,
}

/// `{{0}: (1, {}), ...}`: output index, operand number, operand index.
pub(crate) fn promised_aliases(module: &Module, user: InstructionId) -> Vec<(ShapeIndex, usize, ShapeIndex)> {
    let Some(text) = module
        .attribute(user, "output_to_operand_aliasing")
        .or_else(|| module.attribute(user, "output_operand_aliasing"))
    else {
        return Vec::new();
    };
    let inner = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or("");
    let numbers = |t: &str| ShapeIndex(t.split(',').filter_map(|n| n.trim().parse().ok()).collect());
    let mut out = Vec::new();
    let mut rest = inner;
    // Each entry has three parts: braces, a number behind `(`, braces.
    while let Some((output, after)) = braces(rest) {
        let Some((operand, after)) = after.split_once('(').and_then(|(_, t)| t.split_once(',')) else {
            break;
        };
        let Some((index, after)) = braces(after) else { break };
        let Ok(operand) = operand.trim().parse() else { break };
        out.push((numbers(output), operand, numbers(index)));
        rest = after;
    }
    out
}

fn braces(text: &str) -> Option<(&str, &str)> {
    text.split_once('{')?.1.split_once('}')
}

/// May `user` write that result over that operand, which begins at the same byte?
pub(crate) fn may_write_over(module: &Module, backend: Backend, user: InstructionId, pair: Pair<'_>) -> bool {
    let Pair { operand: k, operand_index, output_index } = pair;
    let at_root = operand_index.is_root();
    let instruction = module.instruction(user);
    let operands = module.operands(user);
    // Operand `k` of `n` belongs to result `{k}`, or to the whole result if there is but one.
    let same_number = |n: usize| {
        k < n
            && at_root
            && if n == 1 { output_index.is_root() } else { output_index.0.as_slice() == [k as u32] }
    };
    let promised = || {
        promised_aliases(module, user)
            .iter()
            .any(|(out, operand, index)| out == output_index && *operand == k && index == operand_index)
    };
    match instruction.opcode {
        // Copying something onto itself changes nothing, unless the elements change their order.
        Opcode::Copy => at_root && module.instruction(operands[k]).shape == instruction.shape,
        Opcode::DynamicUpdateSlice | Opcode::SetDimensionSize => k == 0 && at_root,
        Opcode::TriangularSolve => k == 1 && at_root,
        Opcode::Scatter => same_number(operands.len().saturating_sub(1) / 2),
        Opcode::Sort | Opcode::AllReduceStart => same_number(operands.len()),
        Opcode::AllReduce | Opcode::CollectiveBroadcast if backend != Backend::Cpu => {
            same_number(operands.len())
        }
        Opcode::CollectivePermute => operands.len() == 4 && k == 1,
        Opcode::CollectivePermuteStart => operands.len() == 4 && k == 1 && output_index.0.first() == Some(&1),
        Opcode::RaggedAllToAll => k == 1 && at_root,
        Opcode::CustomCall => {
            promised()
                || (backend == Backend::Tpu && is_hinted(module, user, k, output_index))
                // A matrix product that adds to its third operand.
                || (backend == Backend::Gpu
                    && k == 2
                    && output_index.0.as_slice() == [0]
                    && module
                        .attribute(user, "custom_call_target")
                        .is_some_and(|t| t.contains("__cublas$lt$matmul")))
        }
        Opcode::Fusion => {
            promised()
                || (backend == Backend::Tpu && is_hinted(module, user, k, output_index))
                || fusion_may_write_over(module, backend, user, pair, 0)
        }
        _ => at_root && output_index.is_root() && is_elementwise(module, user, k, same_dims),
    }
}

/// Does the instruction do nothing, because its operands already lie side by side where the result is to be?
///
/// TPU fills one array by several transfers and then calls `ConcatBitcast` to see them as one.
pub(crate) fn joins_in_place(module: &Module, user: InstructionId) -> bool {
    module.instruction(user).opcode == Opcode::CustomCall
        && module.attribute(user, "custom_call_target") == Some("\"ConcatBitcast\"")
}

/// `"aliasing_operands":{"lists":[{"indices":["0","3"]},...]}`: numbers below the operand count are operands, the
/// others are array leaves of the result. Numbers in one list may share.
fn is_hinted(module: &Module, user: InstructionId, k: usize, output_index: &ShapeIndex) -> bool {
    let Some(config) = module.attribute(user, "backend_config") else { return false };
    let Some((_, after)) = config.split_once("aliasing_operands") else { return false };
    let Some((_, lists)) = after.split_once('[') else { return false };
    let operands = module.operands(user).len();
    let shapes = &module.shapes;
    let mut leaves =
        shapes.subshapes(module.instruction(user).shape).iter().filter(|s| shapes.is_array(s.shape));
    let Some(leaf) = leaves.position(|s| s.index == *output_index) else { return false };
    // Each list ends with its own bracket; the list of lists ends where another object key follows.
    let lists = if lists.starts_with(']') { "" } else { lists.split("]}]").next().unwrap_or("") };
    lists.split("indices").skip(1).any(|list| {
        let inside = list.split(']').next().unwrap_or("");
        let numbers = inside.split(|c: char| !c.is_ascii_digit());
        let all: Vec<usize> = numbers.filter_map(|n| n.parse().ok()).collect();
        all.contains(&k) && all.contains(&(operands + leaf))
    })
}

fn dims(module: &Module, id: InstructionId) -> Option<&[u64]> {
    match module.shapes.get(module.instruction(id).shape) {
        Shape::Array { dims, .. } => Some(dims),
        _ => None,
    }
}

fn same_dims(module: &Module, user: InstructionId, k: usize) -> bool {
    let operand = module.operands(user)[k];
    dims(module, operand).is_some() && dims(module, operand) == dims(module, user)
}

/// Is each element of the result made from the same element of operand `k` (and of others)?
fn is_elementwise(
    module: &Module,
    user: InstructionId,
    k: usize,
    same: fn(&Module, InstructionId, usize) -> bool,
) -> bool {
    use Opcode as O;
    match module.instruction(user).opcode {
        O::DynamicUpdateSlice => k == 0,
        O::Abs
        | O::RoundNearestAfz
        | O::RoundNearestEven
        | O::Ceil
        | O::Clz
        | O::Convert
        | O::BitcastConvert
        | O::Copy
        | O::Cos
        | O::Cosh
        | O::Acos
        | O::Acosh
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
        | O::Sinh
        | O::Asin
        | O::Asinh
        | O::Sqrt
        | O::Tan
        | O::Tanh
        | O::Atanh
        | O::Add
        | O::Atan2
        | O::Compare
        | O::Complex
        | O::Divide
        | O::Maximum
        | O::Minimum
        | O::Multiply
        | O::Mulhi
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
        | O::Map => same(module, user, k),
        _ => false,
    }
}

/// Follows the fused parameter through the fusion: everything made from it must be made element by element, or be
/// the operand that an in-place instruction changes.
fn fusion_may_write_over(
    module: &Module,
    backend: Backend,
    fusion: InstructionId,
    pair: Pair<'_>,
    depth: u32,
) -> bool {
    let Some(&fused) = module.called(fusion).first() else { return false };
    let Some(&parameter) = module.computation(fused).parameters.get(pair.operand) else { return false };
    changes_in_place(module, fused, parameter, pair.output_index)
        || stays_elementwise(module, backend, fused, parameter, depth)
}

/// Is the result a dynamic-update-slice or scatter of the parameter, seen through bitcasts and tuples?
fn changes_in_place(
    module: &Module,
    fused: ComputationId,
    parameter: InstructionId,
    output_index: &ShapeIndex,
) -> bool {
    let mut at = module.root(fused);
    for n in &output_index.0 {
        match module.instruction(at).opcode {
            Opcode::Tuple => match module.operands(at).get(*n as usize) {
                Some(operand) => at = *operand,
                None => return false,
            },
            // A scatter of several operands has its own tuple.
            Opcode::Scatter => return module.operands(at).get(*n as usize) == Some(&parameter),
            _ => return false,
        }
    }
    // Operands stand above their users, so this ends at the top of the computation.
    loop {
        match module.instruction(at).opcode {
            Opcode::Parameter => return at == parameter,
            Opcode::Bitcast
            | Opcode::Reshape
            | Opcode::DynamicUpdateSlice
            | Opcode::Scatter
            | Opcode::GetTupleElement
            | Opcode::Fusion => match module.operands(at).first() {
                Some(operand) => at = *operand,
                None => return false,
            },
            _ => return false,
        }
    }
}

fn stays_elementwise(
    module: &Module,
    backend: Backend,
    fused: ComputationId,
    parameter: InstructionId,
    depth: u32,
) -> bool {
    if depth > DEEPEST_FUSION {
        return false;
    }
    let mut made_from_it = rustc_hash::FxHashSet::default();
    made_from_it.insert(parameter);
    for &x in &module.computation(fused).instructions {
        let mut touched = false;
        for (k, operand) in module.operands(x).iter().enumerate() {
            if !made_from_it.contains(operand) {
                continue;
            }
            touched = true;
            let fine = match module.instruction(x).opcode {
                Opcode::Tuple | Opcode::GetTupleElement | Opcode::Bitcast => true,
                Opcode::Copy => backend == Backend::Cpu,
                // GPU code reads what it reduces, sorts or updates before it writes; which of these fusions do so is
                // decided by its emitters, and all of them are believed here.
                Opcode::Reduce | Opcode::Sort | Opcode::Scatter | Opcode::DynamicUpdateSlice => {
                    backend == Backend::Gpu || is_elementwise(module, x, k, same_dims)
                }
                Opcode::DynamicSlice if backend == Backend::Gpu => k == 0,
                Opcode::Fusion => module.called(x).first().is_some_and(|inner| {
                    module
                        .computation(*inner)
                        .parameters
                        .get(k)
                        .is_some_and(|p| stays_elementwise(module, backend, *inner, *p, depth + 1))
                }),
                _ => is_elementwise(module, x, k, same_dims),
            };
            if !fine {
                return false;
            }
        }
        if touched {
            made_from_it.insert(x);
        }
    }
    true
}
