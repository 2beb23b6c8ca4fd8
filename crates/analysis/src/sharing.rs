//! May two values stand at one address? (5 and 7)

mod elementwise;
mod gpu;

pub use elementwise::is_elementwise_on;

use crate::ranges::{LiveRange, LiveRanges};
use crate::values::{Position, Use};
use crate::{Backend, Facts, Step, ValueId};
use hlo::{InstructionId, Module, Opcode, Shape};

/// How the live ranges of two values get in each other's way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interference {
    /// Both are wanted at the same steps.
    Overlap(Overlap),
    /// One ends at the very step where the other is written, and the instruction there may not write over it.
    Touch {
        /// The value that ends.
        ends: ValueId,
        /// The value that starts.
        starts: ValueId,
        /// The step.
        at: Step,
        /// Why it may not.
        why: Touching,
    },
    /// Without a total order: neither is certain to be done before the other starts (6).
    MayInterfere,
}

/// The steps at which two values are both wanted, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overlap {
    /// The first.
    pub from: Step,
    /// The last.
    pub to: Step,
}

/// Why a value that ends where another starts cannot be written over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touching {
    /// The later one is a copy, which must not stand where its source stands.
    Copy,
    /// The instruction that writes the later one does not read the earlier one directly.
    NotAnOperand,
    /// It reads it, but cannot work in place: this clause of 7 said so.
    Clause(Clause),
    /// One of them shares its buffer with other values, and the heap hands over only buffers of one value (10.1).
    NotAlone,
}

/// The clause of 7 that decides whether an operand's buffer can be the result's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Clause {
    /// 1: the output is the work space of a matrix multiplication.
    MatmulWorkspace,
    /// 2: the operand is a constant.
    ConstantOperand,
    /// 4: the operation writes that operand in place.
    InPlace,
    /// 5: the backend has an opinion of its own.
    BackendHint,
    /// 6: the shapes differ.
    ShapesDiffer,
    /// 7: a loop or input fusion; all that the operand reaches must be elementwise.
    LoopFusion,
    /// 7: an output fusion; only the addend of a matrix multiplication.
    OutputFusion,
    /// 8: while and conditional.
    ControlFlow,
    /// 9: an update; only the operand that is updated, read once.
    Update,
    /// 10: sort; only the output of the same number.
    Sort,
    /// 11: call; only an elementwise root.
    Call,
    /// 12: the rest; the operation must be elementwise on the operand.
    Elementwise,
}

/// Do two values get in each other's way? (5; without a total order, 6)
///
/// `None` means they may share. A value without a live range gets in nobody's way.
#[must_use]
pub fn interference(
    module: &Module,
    facts: &Facts,
    ranges: &LiveRanges,
    new: ValueId,
    old: ValueId,
) -> Option<Interference> {
    if let Some(order) = &facts.partial_order {
        return order.may_interfere(module, facts, new, old).then_some(Interference::MayInterfere);
    }
    interference_of(module, facts, (new, ranges.get(new)?), (old, ranges.get(old)?))
}

/// [`interference`] for ranges that need not be the module's own.
#[must_use]
pub fn interference_of(
    module: &Module,
    facts: &Facts,
    (new, a): (ValueId, LiveRange),
    (old, b): (ValueId, LiveRange),
) -> Option<Interference> {
    if a.start > b.end || b.start > a.end {
        return None;
    }
    let touch = |ends: ValueId, last: LiveRange, starts: ValueId| {
        may_write_over(module, facts, last.end_position, starts).err().map(|why| Interference::Touch {
            ends,
            starts,
            at: last.end,
            why,
        })
    };
    if a.end == b.start {
        touch(new, a, old)
    } else if b.end == a.start {
        touch(old, b, new)
    } else {
        Some(Interference::Overlap(Overlap { from: a.start.max(b.start), to: a.end.min(b.end) }))
    }
}

/// A value stands last at `last` and ends where `starts` is written: may the write go to the same address? (5)
pub fn may_write_over(
    module: &Module,
    facts: &Facts,
    last: Position,
    starts: ValueId,
) -> Result<Clause, Touching> {
    let user = facts.value(starts).defined_at();
    if module.instruction(user.instruction).opcode == Opcode::Copy {
        return Err(Touching::Copy);
    }
    if !module.operands(user.instruction).contains(&last.instruction) {
        return Err(Touching::NotAnOperand);
    }
    can_share(module, facts, last, user).map_err(Touching::Clause)
}

/// Can the operand's buffer be the result's? (7) Gives the clause that said yes, or the one that said no.
pub fn can_share(
    module: &Module,
    facts: &Facts,
    operand: Position,
    user: Position,
) -> Result<Clause, Clause> {
    let shapes = &module.shapes;
    let u = module.instruction(user.instruction);
    let o = module.instruction(operand.instruction);
    let says = |yes: bool, clause: Clause| if yes { Ok(clause) } else { Err(clause) };
    let output_index = || &shapes.subshapes(u.shape)[user.sub as usize].index;

    if is_cublas_lt_matmul(module, user.instruction) && output_index().0[..] == [1] {
        return Err(Clause::MatmulWorkspace);
    }
    if o.opcode == Opcode::Constant {
        return Err(Clause::ConstantOperand);
    }
    let operand_shape = shapes.subshapes(o.shape)[operand.sub as usize].shape;
    let output_shape = shapes.subshapes(u.shape)[user.sub as usize].shape;
    let same_shape = operand_shape == output_shape;
    if same_shape && writes_in_place(facts, operand, user) {
        return Ok(Clause::InPlace);
    }
    if let Some(yes) = hint(module, facts, operand, user) {
        return says(yes, Clause::BackendHint);
    }
    if !same_shape {
        return Err(Clause::ShapesDiffer);
    }
    let operands = module.operands(user.instruction);
    let Some(number) = operands.iter().position(|x| *x == operand.instruction) else {
        return Err(Clause::Elementwise);
    };
    let once = operands.iter().filter(|x| **x == operand.instruction).count() == 1;
    match u.opcode {
        Opcode::Fusion => {
            let kind = module.attribute(user.instruction, "kind").unwrap_or("");
            let parameter = module
                .called(user.instruction)
                .first()
                .and_then(|body| module.computation(*body).parameters.get(number).copied());
            match (kind, parameter) {
                ("kLoop" | "kInput", Some(p)) => {
                    return says(elementwise::reaches_only_elementwise(module, facts, p), Clause::LoopFusion);
                }
                ("kOutput", Some(p)) => {
                    if let Some(yes) = output_fusion(module, facts, user.instruction, p) {
                        return says(yes, Clause::OutputFusion);
                    }
                }
                _ => {}
            }
        }
        Opcode::While | Opcode::Conditional => return Ok(Clause::ControlFlow),
        Opcode::DynamicUpdateSlice | Opcode::Scatter | Opcode::SetDimensionSize => {
            return says(once && number == 0, Clause::Update);
        }
        Opcode::TriangularSolve => return says(once && number == 1, Clause::Update),
        Opcode::Sort => {
            if facts.graph.users(operand.instruction).count() != 1 {
                return Err(Clause::Sort);
            }
            let yes = operands.len() == 1 || (once && output_index().0.first() == Some(&(number as u32)));
            return says(yes, Clause::Sort);
        }
        Opcode::Call => {
            return says(call_is_elementwise(module, facts, operand, user.instruction), Clause::Call);
        }
        _ => {}
    }
    says(is_elementwise_on(module, facts, user.instruction, number as u32), Clause::Elementwise)
}

/// Clause 4: is one of the operation's in-place operands this very value?
fn writes_in_place(facts: &Facts, operand: Position, user: Position) -> bool {
    let pairs = facts.in_place.of(user.instruction);
    if !pairs.iter().any(|p| p.output_sub == user.sub) {
        return false;
    }
    let Some(value) = facts.dataflow.unique_at(operand).and_then(|v| facts.find_value(v)) else {
        return false;
    };
    pairs.iter().filter(|p| p.output_sub == user.sub).any(|p| {
        let wanted = Use { user: user.instruction, operand: p.operand, sub: p.operand_sub };
        value.uses.contains(&wanted)
    })
}

/// Clause 5: what the backend says, if it says anything.
fn hint(module: &Module, facts: &Facts, operand: Position, user: Position) -> Option<bool> {
    match facts.target.backend {
        Backend::Cpu => None,
        Backend::Gpu => gpu::may_alias(module, facts, operand, user),
        Backend::Tpu => tpu_may_alias(module, operand, user),
    }
}

/// libtpu writes into `backend_config` which operands and outputs may stand together (GPU and TPU supplement, 8.5).
fn tpu_may_alias(module: &Module, operand: Position, user: Position) -> Option<bool> {
    let config = module.attribute(user.instruction, "backend_config")?;
    let at = config.find("\"aliasing_operands\"")?;
    let lists = alias_lists(&config[at..]);
    let operands = module.operands(user.instruction);
    let shapes = &module.shapes;
    let places = shapes.subshapes(module.instruction(user.instruction).shape);
    let leaves = places[..user.sub as usize].iter().filter(|s| shapes.is_array(s.shape)).count();
    let output = (operands.len() + leaves) as u64;
    let listed = lists.iter().any(|list| {
        list.contains(&output)
            && operands
                .iter()
                .enumerate()
                .any(|(i, o)| *o == operand.instruction && list.contains(&(i as u64)))
    });
    listed.then_some(true)
}

/// Reads every `{"indices":["0","3"]}` of the field that `text` starts with.
fn alias_lists(text: &str) -> Vec<Vec<u64>> {
    // The field ends where its own braces close.
    let mut depth = 0usize;
    let mut end = text.len();
    for (i, b) in text.bytes().enumerate() {
        match b {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    end = i;
                    break;
                }
            }
            _ => {}
        }
    }
    text[..end]
        .split("\"indices\"")
        .skip(1)
        .map(|list| {
            let list = list.split_once('[').map_or("", |(_, rest)| rest.split(']').next().unwrap_or(""));
            list.split(',').filter_map(|n| n.trim().trim_matches('"').parse().ok()).collect()
        })
        .collect()
}

/// Is it a matrix multiplication by cuBLASLt?
fn is_cublas_lt_matmul(module: &Module, id: InstructionId) -> bool {
    module.instruction(id).opcode == Opcode::CustomCall
        && module.attribute(id, "custom_call_target").is_some_and(|t| t.contains("__cublas$lt$matmul"))
}

/// An output fusion adds to a matrix product: only the addend, read once, can be written over. `None` if it is not one.
fn output_fusion(
    module: &Module,
    facts: &Facts,
    fusion: InstructionId,
    parameter: InstructionId,
) -> Option<bool> {
    let root = module.root(*module.called(fusion).first()?);
    if module.instruction(root).opcode != Opcode::Add {
        return None;
    }
    let is_product =
        |o: &InstructionId| matches!(module.instruction(*o).opcode, Opcode::Dot | Opcode::Convolution);
    let Some(product) = module.operands(root).iter().position(is_product) else { return Some(false) };
    let other = 1 - product.min(1) as u32;
    let value = facts.dataflow.unique_at(Position { instruction: parameter, sub: 0 });
    Some(
        value
            .and_then(|v| facts.find_value(v))
            .is_some_and(|v| matches!(v.uses[..], [u] if u.user == root && u.operand == other)),
    )
}

/// Clause 11: the value is read by the call and by the callee's root alone, and the root is elementwise on it.
fn call_is_elementwise(module: &Module, facts: &Facts, operand: Position, call: InstructionId) -> bool {
    let Some(value) = facts.dataflow.unique_at(operand).and_then(|v| facts.find_value(v)) else {
        return false;
    };
    let Some(&callee) = module.called(call).first() else { return false };
    let root = module.root(callee);
    let [a, b] = value.uses[..] else { return false };
    let at_root = match (a.user == call, b.user == call) {
        (true, false) => b,
        (false, true) => a,
        _ => return false,
    };
    at_root.user == root && is_elementwise_on(module, facts, root, at_root.operand)
}

/// Are two shapes of equal element count and width?
fn same_extent(module: &Module, a: hlo::ShapeId, b: hlo::ShapeId) -> bool {
    match (module.shapes.get(a), module.shapes.get(b)) {
        (Shape::Array { element: x, .. }, Shape::Array { element: y, .. }) => {
            x.bits() == y.bits() && module.shapes.element_count(a) == module.shapes.element_count(b)
        }
        _ => false,
    }
}
