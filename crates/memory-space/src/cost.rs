//! What instructions cost: the rules of MEMORY_SPACE 3 over a simple model of the machine.
//!
//! XLA asks the target's own cost model, which is not public. This one counts bytes and operations: an instruction takes as long
//! as its slower side, reading and writing its operands and result at the memory's bandwidth, or computing. It is right about
//! what is large and what is small, and about nothing finer. Seconds are `f32`, as XLA's are.

use crate::picker::power;
use analysis::Facts;
use hlo::{ComputationId, InstructionId, Module, Opcode, Shape, ShapeId};
use std::collections::BTreeMap;

/// A machine, in bytes and operations a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Default memory, reading and writing.
    pub default_bandwidth: f64,
    /// Alternate memory, reading.
    pub alternate_read_bandwidth: f64,
    /// Alternate memory, writing.
    pub alternate_write_bandwidth: f64,
    /// The share of the default memory's bandwidth that asynchronous copies get, above 0 and at most 1.
    pub copy_share: f64,
    /// Floating-point operations.
    pub operations: f64,
}

impl Default for Machine {
    /// Roughly a TPU v5e, with the bandwidth that its compiler's log shows.
    fn default() -> Self {
        Self {
            default_bandwidth: 737.660_62e9,
            alternate_read_bandwidth: 16.0e12,
            alternate_write_bandwidth: 16.0e12,
            copy_share: 1.0,
            operations: 197.0e12,
        }
    }
}

impl Machine {
    /// Bytes a second that asynchronous copies move.
    pub fn copy_bandwidth(&self) -> f64 {
        self.default_bandwidth * self.copy_share
    }
}

/// What one instruction does.
#[derive(Clone, Debug, Default, PartialEq)]
struct Cost {
    compute_seconds: f32,
    /// Bytes of each array inside each operand.
    operands: BTreeMap<(u32, u32), u64>,
    /// Bytes of each array of the result.
    outputs: BTreeMap<u32, u64>,
    total: u64,
}

/// Costs of a module's instructions.
#[derive(Debug)]
pub struct Costs {
    machine: Machine,
    by_instruction: BTreeMap<InstructionId, Cost>,
}

/// No work of their own: XLA gives these no time.
fn is_free(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Parameter
            | Opcode::Constant
            | Opcode::Tuple
            | Opcode::GetTupleElement
            | Opcode::Bitcast
            | Opcode::While
            | Opcode::Conditional
            | Opcode::Call
            | Opcode::AfterAll
            | Opcode::AddDependency
            | Opcode::OptimizationBarrier
            | Opcode::AsyncStart
            | Opcode::AsyncUpdate
            | Opcode::AsyncDone
            | Opcode::CopyStart
            | Opcode::CopyDone
            | Opcode::AllGatherStart
            | Opcode::AllGatherDone
            | Opcode::AllReduceStart
            | Opcode::AllReduceDone
            | Opcode::CollectivePermuteStart
            | Opcode::CollectivePermuteDone
            | Opcode::Domain
            | Opcode::PartitionId
            | Opcode::ReplicaId
    )
}

impl Costs {
    /// Finds the costs of everything in the flattened schedule.
    pub fn new(module: &Module, facts: &Facts, machine: Machine) -> Self {
        let mut inner: BTreeMap<ComputationId, f64> = BTreeMap::new();
        // Callees come first, so the operations inside a fusion are known when the fusion is asked for.
        for computation in &facts.orders.callee_first {
            let sum = module.computation(*computation).instructions.iter().map(|id| {
                let called =
                    module.called(*id).iter().map(|c| inner.get(c).copied().unwrap_or(0.0)).sum::<f64>();
                match module.instruction(*id).opcode {
                    Opcode::Fusion | Opcode::Call => called,
                    _ => operations(module, *id),
                }
            });
            let sum = sum.sum();
            inner.insert(*computation, sum);
        }
        let by_instruction = facts.clock.sequence.iter().map(|id| {
            let opcode = module.instruction(*id).opcode;
            if is_free(opcode) {
                return (*id, Cost::default());
            }
            let work = match opcode {
                Opcode::Fusion => {
                    module.called(*id).iter().map(|c| inner.get(c).copied().unwrap_or(0.0)).sum()
                }
                _ => operations(module, *id),
            };
            let mut cost = accesses(module, facts, *id);
            cost.compute_seconds = (work / machine.operations) as f32;
            cost.total = cost
                .operands
                .values()
                .chain(cost.outputs.values())
                .fold(0, |sum: u64, b| sum.saturating_add(*b));
            (*id, cost)
        });
        Self { machine, by_instruction: by_instruction.collect() }
    }

    fn cost(&self, id: InstructionId) -> Option<&Cost> {
        self.by_instruction.get(&id)
    }

    /// Bytes an instruction reads at a place inside an operand.
    pub fn operand_bytes(&self, id: InstructionId, operand: u32, sub: u32) -> u64 {
        self.cost(id).and_then(|c| c.operands.get(&(operand, sub)).copied()).unwrap_or(0)
    }

    /// Bytes an instruction writes at a place inside its result.
    pub fn output_bytes(&self, id: InstructionId, sub: u32) -> u64 {
        self.cost(id).and_then(|c| c.outputs.get(&sub).copied()).unwrap_or(0)
    }

    /// Seconds for reading and writing with so many bytes of it in alternate memory.
    fn memory_seconds(&self, cost: &Cost, read: u64, written: u64) -> f32 {
        let rest = cost.total.saturating_sub(read.saturating_add(written));
        (read as f64 / self.machine.alternate_read_bandwidth
            + written as f64 / self.machine.alternate_write_bandwidth
            + rest as f64 / self.machine.default_bandwidth) as f32
    }

    /// The two sides of an instruction with everything in default memory: seconds for computing, seconds for moving bytes.
    pub fn sides(&self, id: InstructionId) -> (f32, f32) {
        self.cost(id).map_or((0.0, 0.0), |cost| (cost.compute_seconds, self.memory_seconds(cost, 0, 0)))
    }

    /// Seconds an instruction takes with everything in default memory.
    pub fn elapsed(&self, id: InstructionId) -> f32 {
        self.cost(id).map_or(0.0, |cost| cost.compute_seconds.max(self.memory_seconds(cost, 0, 0)))
    }

    /// Seconds saved by having one operand in alternate memory.
    pub fn elapsed_reduction(&self, id: InstructionId, operand: u32, sub: u32) -> f32 {
        let Some(cost) = self.cost(id) else { return 0.0 };
        let read = self.operand_bytes(id, operand, sub);
        let with = cost.compute_seconds.max(self.memory_seconds(cost, read, 0));
        (self.elapsed(id) - with).max(0.0)
    }

    /// What having these bytes in alternate memory gains; negative where the instruction computes longer than it reads.
    fn benefit(&self, id: InstructionId, read: u64, written: u64, multiplier: f32) -> f32 {
        let Some(cost) = self.cost(id) else { return 0.0 };
        let memory = self.memory_seconds(cost, 0, 0);
        if memory > cost.compute_seconds {
            (memory - self.memory_seconds(cost, read, written)) * multiplier
        } else {
            memory - cost.compute_seconds
        }
    }

    /// Gain at a definition, loops counted several times.
    pub fn output_benefit(&self, id: InstructionId, sub: u32, while_count: f32, while_nest: u32) -> f32 {
        self.benefit(id, 0, self.output_bytes(id, sub), power(while_count, while_nest))
    }

    /// Gain at a use.
    pub fn operand_benefit(
        &self,
        id: InstructionId,
        operand: u32,
        sub: u32,
        while_count: f32,
        while_nest: u32,
    ) -> f32 {
        self.benefit(id, self.operand_bytes(id, operand, sub), 0, power(while_count, while_nest))
    }
}

/// Bytes an instruction reads and writes.
fn accesses(module: &Module, facts: &Facts, id: InstructionId) -> Cost {
    let mut cost = Cost::default();
    let bytes = |shape: ShapeId| match module.shapes.get(shape) {
        Shape::Array { .. } => facts.target.bytes(&module.shapes, shape),
        _ => 0,
    };
    let instruction = module.instruction(id);
    for (sub, place) in module.shapes.subshapes(instruction.shape).iter().enumerate() {
        cost.outputs.insert(sub as u32, bytes(place.shape));
    }
    let result: u64 = cost.outputs.values().fold(0, |sum, b| sum.saturating_add(*b));
    for (operand, from) in module.operands(id).iter().enumerate() {
        let shape = module.instruction(*from).shape;
        for (sub, place) in module.shapes.subshapes(shape).iter().enumerate() {
            let mut read = bytes(place.shape);
            // Only the part that is asked for is read.
            if operand == 0
                && matches!(instruction.opcode, Opcode::Slice | Opcode::DynamicSlice | Opcode::Gather)
            {
                read = read.min(result);
            }
            cost.operands.insert((operand as u32, sub as u32), read);
        }
    }
    if instruction.opcode == Opcode::DynamicUpdateSlice {
        // The rest stays as it is.
        let update = cost.operands.get(&(1, 0)).copied().unwrap_or(0);
        cost.operands.insert((0, 0), 0);
        cost.outputs.insert(0, update);
    }
    cost
}

/// Floating-point operations of one instruction, roughly.
fn operations(module: &Module, id: InstructionId) -> f64 {
    let instruction = module.instruction(id);
    let elements = |id: InstructionId| module.shapes.element_count(module.instruction(id).shape) as f64;
    let output = elements(id);
    let operands = module.operands(id);
    let first = operands.first().map_or(0.0, |o| elements(*o));
    match instruction.opcode {
        // A dot sums over what both sides have and the result has not.
        Opcode::Dot | Opcode::Convolution => {
            let second = operands.get(1).map_or(0.0, |o| elements(*o));
            if output <= 0.0 {
                return 0.0;
            }
            2.0 * output * (first * second / output).max(0.0).sqrt()
        }
        Opcode::Reduce | Opcode::ReduceWindow => first,
        Opcode::Sort => first * first.max(2.0).log2(),
        Opcode::Copy
        | Opcode::Slice
        | Opcode::DynamicSlice
        | Opcode::DynamicUpdateSlice
        | Opcode::Gather
        | Opcode::Concatenate
        | Opcode::Broadcast
        | Opcode::Reshape
        | Opcode::Transpose
        | Opcode::Pad
        | Opcode::Iota => 0.0,
        opcode if is_free(opcode) => 0.0,
        Opcode::Exp
        | Opcode::Tanh
        | Opcode::Log
        | Opcode::Sin
        | Opcode::Cos
        | Opcode::Power
        | Opcode::Logistic => 8.0 * output,
        _ => output,
    }
}

impl Costs {
    /// Seconds an instruction takes with so many bytes of it in fast memory.
    pub fn elapsed_with(&self, id: InstructionId, read: u64, written: u64) -> f32 {
        self.cost(id).map_or(0.0, |cost| cost.compute_seconds.max(self.memory_seconds(cost, read, written)))
    }

    /// Seconds for which an instruction leaves slow memory idle, with so many bytes of it in fast memory (3).
    pub fn idle_seconds(&self, id: InstructionId, read: u64, written: u64) -> f32 {
        let Some(cost) = self.cost(id) else { return 0.0 };
        let elapsed = cost.compute_seconds.max(self.memory_seconds(cost, read, written));
        let rest = cost.total.saturating_sub(read.saturating_add(written));
        (elapsed - (rest as f64 / self.machine.default_bandwidth) as f32).max(0.0)
    }
}
