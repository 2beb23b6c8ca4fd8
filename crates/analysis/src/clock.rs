//! The schedule as one clock: every computation that runs as control flow, flattened before its caller (4.1).

use crate::Step;
use hlo::{ComputationId, InstructionId, Module, Opcode, Shape};

/// The flattened schedule.
#[derive(Debug)]
pub struct Clock {
    /// The instructions in the order in which they run.
    pub sequence: Vec<InstructionId>,
    /// How many there are: the end of the program.
    pub end: Step,
    time: Vec<Option<Step>>,
    span: Vec<Option<(Step, Step)>>,
}

impl Clock {
    /// Flattens the module's schedule.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        let mut clock = Self {
            sequence: Vec::new(),
            end: Step(0),
            time: vec![None; module.instructions.len()],
            span: vec![None; module.computations.len()],
        };
        // Frames of the walk: a computation, how far it is, and whether the callees of the next instruction are done.
        let mut entered = vec![false; module.computations.len()];
        let mut stack: Vec<(ComputationId, usize, bool)> = vec![(module.entry, 0, false)];
        entered[module.entry.index()] = true;
        while let Some(frame) = stack.last_mut() {
            let (computation, next, ready) = *frame;
            let now = Step(clock.sequence.len() as u32);
            clock.span[computation.index()].get_or_insert((now, now));
            let Some(&at) = module.computation(computation).instructions.get(next) else {
                if let Some(span) = &mut clock.span[computation.index()] {
                    span.1 = now;
                }
                stack.pop();
                continue;
            };
            if ready {
                clock.time[at.index()] = Some(now);
                clock.sequence.push(at);
                *frame = (computation, next + 1, false);
                continue;
            }
            frame.2 = true;
            // Pushed last, run first: the condition of a while before its body, branches in order.
            let called = module.called(at);
            let callees: Vec<ComputationId> = match module.instruction(at).opcode {
                Opcode::While => called.to_vec(),
                Opcode::Call | Opcode::Conditional => called.iter().rev().copied().collect(),
                Opcode::AsyncStart | Opcode::AsyncUpdate | Opcode::AsyncDone => {
                    if runs_wrapped(module, at) {
                        wrapped(module, at).into_iter().collect()
                    } else {
                        Vec::new()
                    }
                }
                _ => Vec::new(),
            };
            for callee in callees {
                // A computation with several call sites has its place at the first.
                if !entered[callee.index()] {
                    entered[callee.index()] = true;
                    stack.push((callee, 0, false));
                }
            }
        }
        clock.end = Step(clock.sequence.len() as u32);
        clock
    }

    /// When an instruction runs; `None` if it is not part of the flattened schedule (a fusion's body, say).
    #[must_use]
    pub fn time(&self, id: InstructionId) -> Option<Step> {
        self.time[id.index()]
    }

    /// When a computation begins, and one past its last step.
    #[must_use]
    pub fn span(&self, id: ComputationId) -> Option<(Step, Step)> {
        self.span[id.index()]
    }

    /// The instruction that runs at a step.
    #[must_use]
    pub fn at(&self, step: Step) -> Option<InstructionId> {
        self.sequence.get(step.index()).copied()
    }
}

/// The computation that an async operation wraps.
pub(crate) fn wrapped(module: &Module, id: InstructionId) -> Option<ComputationId> {
    module.called(start_of_chain(module, id)).first().copied()
}

/// The first link of an async chain.
pub(crate) fn start_of_chain(module: &Module, mut id: InstructionId) -> InstructionId {
    while matches!(module.instruction(id).opcode, Opcode::AsyncUpdate | Opcode::AsyncDone) {
        match module.operands(id).first() {
            Some(previous) => id = *previous,
            None => break,
        }
    }
    id
}

/// What is bound to the wrapped computation's parameters at this link and before: the start's operands, then those that
/// each update adds (GPU and TPU supplement, 3).
pub(crate) fn bound_operands(module: &Module, id: InstructionId) -> Vec<InstructionId> {
    let mut chain = vec![id];
    let mut at = id;
    while matches!(module.instruction(at).opcode, Opcode::AsyncUpdate | Opcode::AsyncDone) {
        match module.operands(at).first() {
            Some(previous) => at = *previous,
            None => break,
        }
        chain.push(at);
    }
    let mut bound = Vec::new();
    for link in chain.into_iter().rev() {
        let operands = module.operands(link);
        let skip = usize::from(module.instruction(link).opcode != Opcode::AsyncStart);
        bound.extend_from_slice(operands.get(skip..).unwrap_or(&[]));
    }
    bound
}

/// Is this link the first whose inputs and outputs are all bound? The wrapped computation runs just before it.
fn runs_wrapped(module: &Module, id: InstructionId) -> bool {
    let Some(callee) = wrapped(module, id) else { return false };
    if module.instruction(id).opcode == Opcode::AsyncDone {
        return true;
    }
    let all_bound = bound_operands(module, id).len() >= module.computation(callee).parameters.len();
    let output_bound = match module.shapes.get(module.instruction(id).shape) {
        Shape::Tuple(elements) => elements
            .get(1)
            .is_some_and(|out| !matches!(module.shapes.get(*out), Shape::Tuple(inner) if inner.is_empty())),
        _ => false,
    };
    all_bound && output_bound
}
