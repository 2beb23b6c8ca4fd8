//! All facts of a module, found in one go.

use crate::buffers::{Buffer, InPlacePairs, merge_values};
use crate::ranges::{LiveRanges, live_ranges};
use crate::values::{Position, Value, Values};
use crate::{Backend, BufferId, CallGraph, Clock, Color, Context, Ordering, Orders, Target, ValueId};
use hlo::{ComputationId, InstructionId, Module, Opcode, Shape, ShapeId};
use std::fmt;

/// Why a module cannot be analysed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnalysisError {
    /// A computation calls itself, directly or through others.
    Recursion(ComputationId),
    /// An instruction's operands, callees or shape do not fit its opcode.
    Malformed {
        /// Which.
        instruction: InstructionId,
        /// What was found and what is expected.
        what: String,
    },
    /// The values of one buffer are in different memory spaces.
    MixedColors(Vec<ValueId>),
}

impl AnalysisError {
    /// In words, with names.
    #[must_use]
    pub fn describe(&self, module: &Module) -> String {
        match self {
            Self::Recursion(c) => {
                format!("computation %{} calls itself, expected calls to end", module.computation_name(*c))
            }
            Self::Malformed { instruction, what } => format!("%{}: {what}", module.name_of(*instruction)),
            Self::MixedColors(values) => {
                let ids: Vec<String> = values.iter().map(ToString::to_string).collect();
                format!("values {} must share a buffer but are in different memory spaces", ids.join(", "))
            }
        }
    }

    /// The instruction it is about, if it is about one.
    #[must_use]
    pub fn instruction(&self) -> Option<InstructionId> {
        match self {
            Self::Malformed { instruction, .. } => Some(*instruction),
            _ => None,
        }
    }
}

impl fmt::Display for AnalysisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recursion(_) => f.write_str("a computation calls itself, expected calls to end"),
            Self::Malformed { what, .. } => f.write_str(what),
            Self::MixedColors(_) => f.write_str("values of one buffer are in different memory spaces"),
        }
    }
}

impl std::error::Error for AnalysisError {}

/// What is true of a module.
#[derive(Debug)]
pub struct Facts {
    /// The backend and its settings.
    pub target: Target,
    /// The orders that were taken.
    pub orders: Orders,
    /// Calls and readers.
    pub graph: CallGraph,
    /// The values at each position.
    pub dataflow: Values,
    /// Operations that write in place.
    pub in_place: InPlacePairs,
    /// The flattened schedule.
    pub clock: Clock,
    /// Live ranges, as the program has them; none without a schedule.
    pub ranges: LiveRanges,
    /// Set if the module is taken as if it had no schedule: what is known of the order then.
    pub partial_order: Option<Ordering>,
    buffers: Vec<Buffer>,
    bytes: Vec<u64>,
}

impl Facts {
    /// Finds them. The module's order of instructions is taken as its schedule.
    pub fn new(module: &Module, orders: Orders, target: Target) -> Result<Self, AnalysisError> {
        validate(module)?;
        let graph = CallGraph::new(module, &orders);
        one_context(module, &graph)?;
        let mut dataflow = Values::new(module, &orders, &graph, &target);
        let in_place = InPlacePairs::new(module, &orders, &target);
        let merged = merge_values(module, &graph, &dataflow, &in_place);
        let bytes: Vec<u64> = dataflow
            .all
            .iter()
            .map(|v| v.as_ref().map_or(0, |v| target.bytes(&module.shapes, shape_at(module, v.defined_at()))))
            .collect();
        let buffers = color_buffers(module, &target, &graph, &mut dataflow, merged, &bytes)?;
        let clock = Clock::new(module);
        let ranges = live_ranges(module, &target, &clock, &dataflow.all, &buffers);
        let partial_order = None;
        Ok(Self { target, orders, graph, dataflow, in_place, clock, ranges, partial_order, buffers, bytes })
    }

    /// The same for a module that is taken as if it had no schedule: there are no live ranges, and only dependencies say
    /// what comes before what (6).
    pub fn without_schedule(module: &Module, orders: Orders, target: Target) -> Result<Self, AnalysisError> {
        let mut facts = Self::new(module, orders, target)?;
        facts.partial_order = Some(Ordering::dependency(module, &facts.graph, &facts.orders.callee_first));
        facts.ranges = LiveRanges::none(facts.clock.end);
        Ok(facts)
    }

    /// The values, by id.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.dataflow.all.iter().flatten()
    }

    /// A value.
    ///
    /// # Panics
    /// If the id was taken back, or is of another module.
    #[must_use]
    pub fn value(&self, id: ValueId) -> &Value {
        self.dataflow.all[id.index()].as_ref().expect("the id of a value of this module")
    }

    /// A value, if there is one of that number.
    #[must_use]
    pub fn find_value(&self, id: ValueId) -> Option<&Value> {
        self.dataflow.all.get(id.index()).and_then(Option::as_ref)
    }

    /// The buffers, by id.
    #[must_use]
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// A buffer.
    #[must_use]
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.index()]
    }

    /// Bytes that a value takes on the target.
    #[must_use]
    pub fn value_bytes(&self, id: ValueId) -> u64 {
        self.bytes.get(id.index()).copied().unwrap_or(0)
    }

    /// A value's shape.
    #[must_use]
    pub fn value_shape(&self, module: &Module, id: ValueId) -> ShapeId {
        shape_at(module, self.value(id).defined_at())
    }

    /// The instruction that defines a value.
    #[must_use]
    pub fn defining(&self, id: ValueId) -> InstructionId {
        self.value(id).defined_at().instruction
    }

    /// `name{index}`: the index is left out where the instruction's result is no tuple.
    #[must_use]
    pub fn label(&self, module: &Module, id: ValueId) -> String {
        let at = self.value(id).defined_at();
        let shape = module.instruction(at.instruction).shape;
        if module.shapes.is_tuple(shape) {
            format!(
                "{}{}",
                module.name_of(at.instruction),
                module.shapes.subshapes(shape)[at.sub as usize].index
            )
        } else {
            module.name_of(at.instruction).to_owned()
        }
    }

    /// XLA's short form, `<48 arg_tuple.3{1} (phi) @0>` (2.8).
    #[must_use]
    pub fn short(&self, module: &Module, id: ValueId) -> String {
        let value = self.value(id);
        let phi = if value.is_phi { " (phi)" } else { "" };
        format!("<{id} {}{phi} @{}>", self.label(module, id), value.color)
    }
}

/// The shape at a position.
#[must_use]
pub(crate) fn shape_at(module: &Module, at: Position) -> ShapeId {
    module.shapes.subshapes(module.instruction(at.instruction).shape)[at.sub as usize].shape
}

fn color_buffers(
    module: &Module,
    target: &Target,
    graph: &CallGraph,
    dataflow: &mut Values,
    merged: Vec<Vec<ValueId>>,
    bytes: &[u64],
) -> Result<Vec<Buffer>, AnalysisError> {
    let mut buffers = Vec::with_capacity(merged.len());
    for (number, values) in merged.into_iter().enumerate() {
        let id = BufferId(number as u32);
        let mut color: Option<Color> = None;
        let mut mixed = false;
        let mut live_out = false;
        for v in &values {
            let Some(value) = &mut dataflow.all[v.index()] else { continue };
            value.buffer = id;
            live_out |= value.live_out;
            let at = value.defined_at();
            let mut own = Color(module.shapes.memory_space(shape_at(module, at)));
            match target.backend {
                // The GPU colours whole buffers: any value's wish is everybody's (GPU and TPU supplement, 5).
                Backend::Gpu => {
                    if own.0 == 0 && target.collective_memory && is_collective_buffer(module, value) {
                        own = Color(1);
                    }
                    if own.0 != 0 {
                        mixed |= color.is_some_and(|c| c != own);
                        color = Some(own);
                    }
                }
                Backend::Cpu | Backend::Tpu => {
                    value.color = own;
                    mixed |= color.is_some_and(|c| c != own);
                    color = Some(own);
                }
            }
        }
        // Inside fusions nothing gets an address, and libtpu does not keep layouts' spaces consistent there.
        let computation = |v: &ValueId| {
            dataflow.all[v.index()]
                .as_ref()
                .map(|v| module.instruction(v.defined_at().instruction).computation)
        };
        let has_address =
            values.iter().filter_map(computation).any(|c| graph.context(c) == Context::ControlFlow);
        if mixed && has_address {
            return Err(AnalysisError::MixedColors(values));
        }
        let color = color.unwrap_or_default();
        for v in &values {
            if let Some(value) = &mut dataflow.all[v.index()] {
                value.color = color;
            }
        }
        let size = values.iter().map(|v| bytes[v.index()]).max().unwrap_or(0);
        buffers.push(Buffer { id, values, size, color, live_out });
    }
    Ok(buffers)
}

/// Is the value written or read by a collective, so that with user buffers on it goes to colour 1?
fn is_collective_buffer(module: &Module, value: &Value) -> bool {
    let at = value.defined_at();
    !module.shapes.is_tuple(shape_at(module, at))
        && (is_collective(module, at.instruction) || value.uses.iter().any(|u| is_collective(module, u.user)))
}

/// Is it a collective whose buffers the GPU colours 1, or the start or end of one?
fn is_collective(module: &Module, id: InstructionId) -> bool {
    match module.instruction(id).opcode {
        Opcode::AllReduce
        | Opcode::AllReduceStart
        | Opcode::AllReduceDone
        | Opcode::AllGather
        | Opcode::AllGatherStart
        | Opcode::AllGatherDone
        | Opcode::ReduceScatter
        | Opcode::CollectivePermute
        | Opcode::CollectivePermuteStart
        | Opcode::CollectivePermuteDone
        | Opcode::AllToAll
        | Opcode::RaggedAllToAll => true,
        Opcode::AsyncStart | Opcode::AsyncDone => crate::clock::wrapped(module, id).is_some_and(|c| {
            matches!(
                module.instruction(module.root(c)).opcode,
                Opcode::AllReduce
                    | Opcode::AllGather
                    | Opcode::ReduceScatter
                    | Opcode::CollectivePermute
                    | Opcode::AllToAll
                    | Opcode::RaggedAllToAll
            )
        }),
        _ => false,
    }
}

/// What asks for a buffer's memory space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Wish {
    /// A collective reads this value of it.
    Read {
        /// The value.
        value: ValueId,
        /// The collective, or the start of one.
        collective: InstructionId,
    },
    /// A collective writes this value of it.
    Written {
        /// The value.
        value: ValueId,
        /// The collective, or the start or the end of one.
        collective: InstructionId,
    },
    /// The layout of this value names the space.
    Layout(ValueId),
}

impl Facts {
    /// What asks for the memory space of a buffer that is not in the main one, the wishes of collectives first; empty for
    /// one that is. Only the GPU heeds collectives (GPU and TPU supplement, 5).
    #[must_use]
    pub fn wishes(&self, module: &Module, buffer: BufferId) -> Vec<Wish> {
        let buffer = self.buffer(buffer);
        if buffer.color.0 == 0 {
            return Vec::new();
        }
        let heeds_collectives = self.target.backend == Backend::Gpu && buffer.color.0 == 1;
        let mut out = Vec::new();
        for id in &buffer.values {
            let value = self.value(*id);
            let at = value.defined_at();
            let shape = shape_at(module, at);
            if module.shapes.memory_space(shape) == buffer.color.0 {
                out.push(Wish::Layout(*id));
            }
            if !heeds_collectives || module.shapes.is_tuple(shape) {
                continue;
            }
            let writer = is_collective(module, at.instruction).then(|| self.begins(module, at.instruction));
            out.extend(writer.map(|collective| Wish::Written { value: *id, collective }));
            let readers = value.uses.iter().map(|u| u.user).filter(|u| is_collective(module, *u));
            // The end of a collective reads what its start wrote.
            let readers = readers.map(|u| self.begins(module, u)).filter(|u| Some(*u) != writer);
            out.extend(readers.map(|collective| Wish::Read { value: *id, collective }));
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The instruction that begins a collective of which this is a part.
    fn begins(&self, module: &Module, id: InstructionId) -> InstructionId {
        let start = match module.instruction(id).opcode {
            Opcode::AllReduceDone | Opcode::AllGatherDone | Opcode::CollectivePermuteDone => {
                module.operands(id).first().copied().unwrap_or(id)
            }
            _ => crate::clock::start_of_chain(module, id),
        };
        match self.graph.callers(module.instruction(start).computation) {
            [site] if module.instruction(*site).opcode == Opcode::AsyncStart => *site,
            _ => start,
        }
    }
}

/// Checks what the analyses rely on, so that none of them can go out of bounds or round in circles.
fn validate(module: &Module) -> Result<(), AnalysisError> {
    check_calls(module)?;
    for id in module.instruction_ids() {
        let operands = module.operands(id);
        let called = module.called(id);
        let fail = |what: String| Err(AnalysisError::Malformed { instruction: id, what });
        let parameters = |c: ComputationId| module.computation(c).parameters.len();
        let instruction = module.instruction(id);
        let expected_operands = match instruction.opcode {
            Opcode::Copy
            | Opcode::Bitcast
            | Opcode::GetTupleElement
            | Opcode::While
            | Opcode::CopyStart
            | Opcode::CopyDone
            | Opcode::OptimizationBarrier
            | Opcode::AllReduceDone
            | Opcode::AllGatherDone
            | Opcode::CollectivePermuteDone => Some(1),
            _ => None,
        };
        if let Some(n) = expected_operands
            && operands.len() != n
        {
            return fail(format!("{} operands, expected {n}", operands.len()));
        }
        match instruction.opcode {
            Opcode::While => {
                if called.len() != 2 {
                    return fail(format!("{} callees, expected a body and a condition", called.len()));
                }
                for c in called {
                    if parameters(*c) != 1 {
                        return fail(format!(
                            "%{} has {} parameters, expected 1",
                            module.computation_name(*c),
                            parameters(*c)
                        ));
                    }
                }
            }
            Opcode::Call | Opcode::Fusion => match called {
                [c] if parameters(*c) == operands.len() => {}
                [c] => {
                    return fail(format!(
                        "{} operands for the {} parameters of %{}",
                        operands.len(),
                        parameters(*c),
                        module.computation_name(*c)
                    ));
                }
                _ => return fail(format!("{} callees, expected 1", called.len())),
            },
            Opcode::Conditional => {
                if called.is_empty() || operands.len() != called.len() + 1 {
                    return fail(format!(
                        "{} operands for {} branches, expected a selector and one for each",
                        operands.len(),
                        called.len()
                    ));
                }
                if let Some(c) = called.iter().find(|c| parameters(**c) != 1) {
                    return fail(format!(
                        "branch %{} has {} parameters, expected 1",
                        module.computation_name(*c),
                        parameters(*c)
                    ));
                }
            }
            Opcode::GetTupleElement => {
                let index: Option<u32> = module.attribute(id, "index").and_then(|v| v.parse().ok());
                let count = match module.shapes.get(module.instruction(operands[0]).shape) {
                    Shape::Tuple(elements) => elements.len(),
                    _ => 0,
                };
                if index.is_none_or(|i| i as usize >= count) {
                    return fail(format!("index of a tuple of {count} elements, expected one below {count}"));
                }
            }
            Opcode::Tuple => {
                let count = match module.shapes.get(instruction.shape) {
                    Shape::Tuple(elements) => elements.len(),
                    _ => return fail("a tuple whose shape is none".to_owned()),
                };
                if count != operands.len() {
                    return fail(format!("{} operands for a tuple of {count} elements", operands.len()));
                }
            }
            Opcode::AsyncUpdate | Opcode::AsyncDone if operands.is_empty() => {
                return fail("no operand, expected the link before".to_owned());
            }
            // What they give is a part of what their start gave.
            Opcode::CopyDone | Opcode::AsyncDone | Opcode::AsyncUpdate => {
                let shape = module.instruction(operands[0]).shape;
                if !module.shapes.is_tuple(shape) {
                    return fail(format!(
                        "its operand is {}, expected the tuple that a start gives",
                        module.shapes.short(shape)
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A computation runs as control flow, in memory of its own, or per element: XLA gives one that does both a copy for each
/// before it assigns buffers, and has no place for what is left.
fn one_context(module: &Module, graph: &CallGraph) -> Result<(), AnalysisError> {
    for c in module.computation_ids() {
        let runs = |site: InstructionId| {
            crate::graph::is_control_flow(module.instruction(site).opcode)
                && graph.context(module.instruction(site).computation) == Context::ControlFlow
        };
        let callers = graph.callers(c);
        let flow = callers.iter().find(|site| runs(**site));
        let embedded = callers.iter().find(|site| !runs(**site));
        if let (Some(flow), Some(embedded)) = (flow, embedded) {
            let what = format!(
                "%{} runs here as control flow and in %{} per element, expected a computation of its own for each",
                module.computation_name(c),
                module.name_of(*embedded)
            );
            return Err(AnalysisError::Malformed { instruction: *flow, what });
        }
    }
    Ok(())
}

/// Calls must not go round in circles.
fn check_calls(module: &Module) -> Result<(), AnalysisError> {
    // Depth first with an explicit stack; 1 is on the way, 2 is done.
    let mut state = vec![0u8; module.computations.len()];
    let mut stack: Vec<(ComputationId, Vec<ComputationId>)> = Vec::new();
    let callees = |c: ComputationId| -> Vec<ComputationId> {
        module.computation(c).instructions.iter().flat_map(|i| module.called(*i)).copied().collect()
    };
    for c in module.computation_ids() {
        if state[c.index()] != 0 {
            continue;
        }
        state[c.index()] = 1;
        stack.push((c, callees(c)));
        while let Some((at, rest)) = stack.last_mut() {
            match rest.pop() {
                Some(next) if state[next.index()] == 1 => return Err(AnalysisError::Recursion(next)),
                Some(next) if state[next.index()] == 0 => {
                    state[next.index()] = 1;
                    stack.push((next, callees(next)));
                }
                Some(_) => {}
                None => {
                    state[at.index()] = 2;
                    stack.pop();
                }
            }
        }
    }
    Ok(())
}
