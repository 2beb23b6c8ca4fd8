//! Contradictions that do not hinder reading, but would hinder all that comes after: too few operands, a while
//! without a body, a tuple of other elements than its shape says.
//!
//! What would make a later step go wrong is an error; what XLA itself would let pass is a warning.

use crate::read::Remarks;
use crate::text::quote;
use crate::{ComputationId, InstructionId, Module, Opcode, Shape, ShapeId};
use std::collections::{HashMap, HashSet};

pub(crate) fn check(module: &Module, source_len: usize, remarks: &mut Remarks) {
    let mut checker = Checker { module, source_len, remarks, pairs: HashMap::new() };
    for id in module.instruction_ids() {
        checker.instruction(id);
    }
    checker.aliases();
}

/// How far two shapes agree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Agree {
    /// Up to layouts.
    Yes,
    /// The same tuples in tuples, but other arrays in them.
    Structure,
    No,
}

struct Checker<'m> {
    module: &'m Module,
    source_len: usize,
    remarks: &'m mut Remarks,
    /// Big tuples are compared once.
    pairs: HashMap<(ShapeId, ShapeId), Agree>,
}

impl Checker<'_> {
    fn at(&self, id: InstructionId) -> usize {
        // Instructions that were made up have their names behind the source.
        (self.module.instruction(id).name.start as usize).min(self.source_len)
    }

    fn error(&mut self, id: InstructionId, read: String, expected: impl Into<String>) {
        self.remarks.error(self.at(id), read, expected);
    }

    fn agree(&mut self, a: ShapeId, b: ShapeId) -> Agree {
        if a == b {
            return Agree::Yes;
        }
        let shapes = &self.module.shapes;
        *self.pairs.entry((a, b)).or_insert_with(|| {
            if shapes.short(a) == shapes.short(b) {
                return Agree::Yes;
            }
            let (a, b) = (shapes.subshapes(a), shapes.subshapes(b));
            let same = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.index == b.index);
            if same { Agree::Structure } else { Agree::No }
        })
    }

    /// `what` of instruction `id` has shape `read`, and should have shape `expected`.
    fn same(&mut self, id: InstructionId, what: &str, read: ShapeId, expected: ShapeId) {
        let agree = self.agree(read, expected);
        if agree == Agree::Yes {
            return;
        }
        let shapes = &self.module.shapes;
        let name = quote(self.module.name_of(id));
        let read = format!("{what} of {name} with shape {}", quote(shapes.short(read)));
        let expected = format!("expected {}", quote(shapes.short(expected)));
        match agree {
            Agree::No => self.error(id, read, expected),
            _ => self.remarks.warning(self.at(id), read, expected),
        }
    }

    fn instruction(&mut self, id: InstructionId) {
        let module = self.module;
        let instruction = module.instruction(id);
        let opcode = instruction.opcode;
        let operands = module.operands(id);
        let (least, most) = arity(opcode);
        if operands.len() < least || operands.len() > most {
            let expected = match (least, most) {
                (0, 0) => "expected none".to_owned(),
                (l, m) if l == m => format!("expected {l}"),
                (l, usize::MAX) => format!("expected at least {l}"),
                (l, m) => format!("expected {l} to {m}"),
            };
            let read = format!("{} operands of {}", operands.len(), quote(module.name_of(id)));
            self.error(id, read, expected);
            return;
        }
        self.sharding(id);
        let shape_of = |id: InstructionId| module.instruction(id).shape;
        match opcode {
            Opcode::Tuple => {
                let Shape::Tuple(elements) = module.shapes.get(instruction.shape) else {
                    self.error(
                        id,
                        format!("the tuple {}", quote(module.name_of(id))),
                        "expected a tuple's shape",
                    );
                    return;
                };
                if elements.len() != operands.len() {
                    let read =
                        format!("{} operands of the tuple {}", operands.len(), quote(module.name_of(id)));
                    self.error(id, read, format!("its shape has {} elements", elements.len()));
                    return;
                }
                for (operand, element) in operands.iter().zip(elements) {
                    self.same(id, "an element", *element, shape_of(*operand));
                }
            }
            Opcode::GetTupleElement => self.element(id),
            Opcode::While => self.while_loop(id),
            Opcode::Conditional => self.conditional(id),
            Opcode::Fusion | Opcode::Call | Opcode::AsyncStart => {
                let called = module.called(id);
                if called.is_empty() || called.len() > 1 && opcode != Opcode::Call {
                    let read =
                        format!("{} computations called by {}", called.len(), quote(module.name_of(id)));
                    self.error(id, read, "expected one");
                    return;
                }
                let parameters = &module.computation(called[0]).parameters;
                // libtpu starts some operations with their operands still to come, in an update.
                let later = opcode == Opcode::AsyncStart && operands.len() < parameters.len();
                if parameters.len() != operands.len() && !later {
                    let read = format!("{} operands of {}", operands.len(), quote(module.name_of(id)));
                    let callee = quote(module.computation_name(called[0]));
                    self.error(id, read, format!("expected {}, for {callee}", parameters.len()));
                    return;
                }
                for (operand, parameter) in operands.iter().zip(parameters) {
                    self.same(id, "an operand", shape_of(*operand), shape_of(*parameter));
                }
                if opcode != Opcode::AsyncStart {
                    self.same(id, "the result", instruction.shape, shape_of(module.root(called[0])));
                }
            }
            Opcode::Map
            | Opcode::Reduce
            | Opcode::ReduceWindow
            | Opcode::Scatter
            | Opcode::Sort
            | Opcode::AllReduce
            | Opcode::AllReduceStart
            | Opcode::ReduceScatter => self.calls_at_least(id, 1),
            Opcode::SelectAndScatter => self.calls_at_least(id, 2),
            // On TPU a copy may change the type of the elements.
            Opcode::Copy => self.same_dimensions(id, shape_of(operands[0])),
            _ if is_elementwise(opcode) => {
                for operand in operands {
                    self.same_dimensions(id, shape_of(*operand));
                }
            }
            _ => {}
        }
    }

    /// `devices=[4,2]<=[2,4]T(1,0)` numbers as many devices as there are tiles.
    fn sharding(&mut self, id: InstructionId) {
        let Some(mut rest) = self.module.attribute(id, "sharding") else { return };
        while let Some((_, tiles)) = rest.split_once("devices=[") {
            let Some((tiles, behind)) = tiles.split_once(']') else { return };
            rest = behind;
            let Some((devices, _)) = behind.strip_prefix("<=[").and_then(|d| d.split_once(']')) else {
                continue;
            };
            let product = |text: &str| {
                let mut factors = text.split(',').map(|n| n.trim().parse::<u64>().ok());
                factors.try_fold(1u64, |all, n| all.checked_mul(n?))
            };
            let (Some(of_tiles), Some(of_devices)) = (product(tiles), product(devices)) else { continue };
            if of_tiles != of_devices {
                let name = quote(self.module.name_of(id));
                let read = format!("a sharding of {name} into {of_tiles} tiles, `devices=[{tiles}]`");
                let expected = format!("expected {of_devices}, as `<=[{devices}]` has devices");
                self.remarks.warning(self.at(id), read, expected);
            }
        }
    }

    fn same_dimensions(&mut self, id: InstructionId, operand: ShapeId) {
        let shapes = &self.module.shapes;
        let result = self.module.instruction(id).shape;
        let (Shape::Array { dims: a, .. }, Shape::Array { dims: b, .. }) =
            (shapes.get(result), shapes.get(operand))
        else {
            return;
        };
        if a != b {
            let read = format!("{} of shape {}", quote(self.module.name_of(id)), quote(shapes.short(result)));
            let expected = format!("an operand has {}", quote(shapes.short(operand)));
            self.remarks.warning(self.at(id), read, expected);
        }
    }

    fn element(&mut self, id: InstructionId) {
        let module = self.module;
        let tuple = module.instruction(module.operands(id)[0]).shape;
        let index = module.attribute(id, "index").and_then(|v| v.parse::<usize>().ok());
        let element = match (module.shapes.get(tuple), index) {
            (Shape::Tuple(elements), Some(index)) => elements.get(index),
            _ => None,
        };
        match element {
            Some(element) => self.same(id, "the result", module.instruction(id).shape, *element),
            None => {
                let index = quote(module.attribute(id, "index").unwrap_or(""));
                let read = format!("the index {index} of {}", quote(module.name_of(id)));
                self.error(id, read, format!("expected an element of {}", quote(module.shapes.short(tuple))));
            }
        }
    }

    fn calls_at_least(&mut self, id: InstructionId, least: usize) {
        let called = self.module.called(id).len();
        if called < least {
            let read = format!("{called} computations called by {}", quote(self.module.name_of(id)));
            self.error(id, read, format!("expected {least}"));
        }
    }

    fn while_loop(&mut self, id: InstructionId) {
        let module = self.module;
        let &[body, condition] = module.called(id) else {
            let read =
                format!("{} computations called by {}", module.called(id).len(), quote(module.name_of(id)));
            self.error(id, read, "expected `body` and `condition`");
            return;
        };
        let shape = module.instruction(id).shape;
        self.same(id, "the operand", module.instruction(module.operands(id)[0]).shape, shape);
        self.single_parameter(id, body, shape);
        self.single_parameter(id, condition, shape);
        self.same(id, "the body's result", module.instruction(module.root(body)).shape, shape);
    }

    fn conditional(&mut self, id: InstructionId) {
        let module = self.module;
        let (called, operands) = (module.called(id), module.operands(id));
        if called.is_empty() || called.len() + 1 != operands.len() {
            let read = format!("{} branches of {}", called.len(), quote(module.name_of(id)));
            let expected = match operands.len() - 1 {
                0 => "expected at least one, and an operand for each".to_owned(),
                n => format!("expected {n}, one for each operand but the first"),
            };
            self.error(id, read, expected);
            return;
        }
        for (branch, operand) in called.iter().zip(&operands[1..]) {
            self.single_parameter(id, *branch, module.instruction(*operand).shape);
            let root = module.instruction(module.root(*branch)).shape;
            self.same(id, "a branch's result", root, module.instruction(id).shape);
        }
    }

    fn single_parameter(&mut self, caller: InstructionId, callee: ComputationId, shape: ShapeId) {
        let module = self.module;
        match module.computation(callee).parameters.as_slice() {
            [parameter] => self.same(caller, "a parameter", module.instruction(*parameter).shape, shape),
            parameters => {
                let callee = quote(module.computation_name(callee));
                let read = format!("{} parameters of {callee}", parameters.len());
                self.error(caller, read, format!("expected one, for {}", quote(module.name_of(caller))));
            }
        }
    }

    fn aliases(&mut self) {
        let module = self.module;
        let entry = module.computation(module.entry);
        let at = module.header.iter().find(|a| module.str(a.name) == "input_output_alias");
        let at = at.map_or(0, |a| a.value.start as usize);
        let (mut outputs, mut inputs) = (HashSet::new(), HashSet::new());
        for alias in &module.input_output_alias {
            let root = module.instruction(entry.root).shape;
            if module.shapes.find(root, &alias.output.0).is_none() || !outputs.insert(&alias.output) {
                let read = format!("the output {} in `input_output_alias`", alias.output);
                self.remarks.error(at, read, "expected each place of the entry's result at most once");
            }
            let parameter = entry.parameters.get(alias.parameter as usize);
            let inside = parameter
                .and_then(|p| module.shapes.find(module.instruction(*p).shape, &alias.parameter_index.0));
            if inside.is_none() || !inputs.insert((alias.parameter, &alias.parameter_index)) {
                let read = format!(
                    "parameter {} {} in `input_output_alias`",
                    alias.parameter, alias.parameter_index
                );
                self.remarks.error(at, read, "expected each place of the entry's parameters at most once");
            }
        }
    }
}

/// Least and most operands.
fn arity(opcode: Opcode) -> (usize, usize) {
    const ANY: usize = usize::MAX;
    match opcode {
        Opcode::Parameter | Opcode::Constant | Opcode::Iota | Opcode::PartitionId | Opcode::ReplicaId => {
            (0, 0)
        }
        Opcode::Copy
        | Opcode::CopyStart
        | Opcode::CopyDone
        | Opcode::Bitcast
        | Opcode::Broadcast
        | Opcode::GetTupleElement
        | Opcode::While
        | Opcode::Reshape
        | Opcode::Transpose
        | Opcode::Reverse
        | Opcode::Slice
        | Opcode::Cholesky
        | Opcode::Fft
        | Opcode::GetDimensionSize
        | Opcode::RngBitGenerator
        | Opcode::RecvDone
        | Opcode::SendDone
        | Opcode::AsyncDone
        | Opcode::AllReduceDone
        | Opcode::AllGatherDone
        | Opcode::CollectivePermuteDone
        | Opcode::Domain
        | Opcode::OptimizationBarrier => (1, 1),
        Opcode::Infeed | Opcode::Recv => (0, 1),
        Opcode::AddDependency | Opcode::Send | Opcode::Pad | Opcode::Gather | Opcode::SetDimensionSize => {
            (2, 2)
        }
        Opcode::Outfeed => (1, 2),
        Opcode::AsyncUpdate => (1, ANY),
        Opcode::Dot | Opcode::ReduceWindow | Opcode::Reduce | Opcode::Convolution => (2, ANY),
        Opcode::SelectAndScatter => (3, 3),
        Opcode::Scatter => (3, ANY),
        Opcode::DynamicSlice | Opcode::Conditional | Opcode::Concatenate | Opcode::Sort => (1, ANY),
        Opcode::DynamicUpdateSlice => (2, ANY),
        Opcode::Select | Opcode::Clamp => (3, 3),
        _ if is_unary(opcode) => (1, 1),
        _ if is_binary(opcode) => (2, 2),
        _ => (0, ANY),
    }
}

fn is_elementwise(opcode: Opcode) -> bool {
    is_unary(opcode) || is_binary(opcode)
}

fn is_unary(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Abs
            | Opcode::Acos
            | Opcode::Acosh
            | Opcode::Asin
            | Opcode::Asinh
            | Opcode::Atanh
            | Opcode::Cbrt
            | Opcode::Ceil
            | Opcode::Clz
            | Opcode::Convert
            | Opcode::Cos
            | Opcode::Cosh
            | Opcode::Erf
            | Opcode::Exp
            | Opcode::Expm1
            | Opcode::Floor
            | Opcode::Imag
            | Opcode::IsFinite
            | Opcode::Log
            | Opcode::Log1p
            | Opcode::Logistic
            | Opcode::Negate
            | Opcode::Not
            | Opcode::PopulationCount
            | Opcode::Real
            | Opcode::ReducePrecision
            | Opcode::RoundNearestAfz
            | Opcode::RoundNearestEven
            | Opcode::Rsqrt
            | Opcode::Sign
            | Opcode::Sin
            | Opcode::Sinh
            | Opcode::Sqrt
            | Opcode::Tan
            | Opcode::Tanh
    )
}

fn is_binary(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Add
            | Opcode::And
            | Opcode::Atan2
            | Opcode::Compare
            | Opcode::Complex
            | Opcode::Divide
            | Opcode::Maximum
            | Opcode::Minimum
            | Opcode::Mulhi
            | Opcode::Multiply
            | Opcode::Or
            | Opcode::Power
            | Opcode::Remainder
            | Opcode::ShiftLeft
            | Opcode::ShiftRightArithmetic
            | Opcode::ShiftRightLogical
            | Opcode::StochasticConvert
            | Opcode::Subtract
            | Opcode::Xor
    )
}
