//! Live ranges on the flattened clock (4.2, 4.3). Both ends are closed: a value is wanted at its last step too.

use crate::buffers::Buffer;
use crate::clock::{start_of_chain, wrapped};
use crate::values::{Position, Value};
use crate::{Backend, Clock, Step, Target, ValueId};
use hlo::{ComputationId, InstructionId, Module, Opcode};
use sorts::Arrange as _;

/// From when to when a value is wanted, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LiveRange {
    /// The step that writes it.
    pub start: Step,
    /// The last step that may still read it.
    pub end: Step,
    /// The position that stands last in time (uses do not count): sharing at an end looks at its instruction (5).
    pub end_position: Position,
}

/// A range put by hand in place of what the program says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RangeEdit {
    /// Whose range.
    pub value: ValueId,
    /// Its first step.
    pub start: Step,
    /// Its last step.
    pub end: Step,
}

/// The live ranges of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRanges {
    /// By value id.
    ranges: Vec<Option<LiveRange>>,
    /// The end of the program.
    end: Step,
}

impl LiveRanges {
    /// No ranges at all.
    #[must_use]
    pub fn none(end: Step) -> Self {
        Self { ranges: Vec::new(), end }
    }

    /// The range of a value; `None` for values that are not on the clock (inside fusions and reducers).
    #[must_use]
    pub fn get(&self, value: ValueId) -> Option<LiveRange> {
        self.ranges.get(value.index()).copied().flatten()
    }

    /// All ranges, by value id.
    pub fn iter(&self) -> impl Iterator<Item = (ValueId, LiveRange)> + '_ {
        self.ranges.iter().enumerate().filter_map(|(i, r)| r.map(|r| (ValueId(i as u32), r)))
    }

    /// One past the last step.
    #[must_use]
    pub fn end(&self) -> Step {
        self.end
    }

    /// These ranges with some put by hand. An edit is cut to the program and its end to its start; one of a value
    /// without a range is passed over.
    #[must_use]
    pub fn edited(&self, edits: &[RangeEdit]) -> Self {
        let mut out = self.clone();
        for edit in edits {
            if let Some(Some(range)) = out.ranges.get_mut(edit.value.index()) {
                range.start = edit.start.min(self.end);
                range.end = edit.end.clamp(range.start, self.end);
            }
        }
        out
    }
}

pub(crate) fn live_ranges(
    module: &Module,
    target: &Target,
    clock: &Clock,
    values: &[Option<Value>],
    buffers: &[Buffer],
) -> LiveRanges {
    let context = AsyncContexts::new(module, target, clock);
    let mut ranges: Vec<Option<LiveRange>> =
        values.iter().map(|v| v.as_ref().and_then(|v| raw_range(module, clock, &context, v))).collect();
    // Aliased values take turns: inside a buffer each range is cut where the next begins (4.3).
    let mut chain: Vec<(Step, Step, ValueId)> = Vec::new();
    for buffer in buffers {
        chain.clear();
        chain.extend(buffer.values.iter().filter_map(|v| ranges[v.index()].map(|r| (r.start, r.end, *v))));
        chain.arrange_unstable();
        for i in 1..chain.len() {
            let carried = chain[i].1.max(chain[i - 1].1);
            chain[i - 1].1 = chain[i - 1].1.min(chain[i].0);
            chain[i].1 = carried;
        }
        for &(_, end, v) in &chain {
            if let Some(range) = &mut ranges[v.index()] {
                range.end = end;
            }
        }
    }
    LiveRanges { ranges, end: clock.end }
}

/// What an async chain adds to values inside the computation it wraps (GPU and TPU supplement, 3): by computation, when
/// the chain starts (TPU only) and when it is done.
struct AsyncContexts(Vec<Option<(Option<Step>, Step)>>);

impl AsyncContexts {
    fn new(module: &Module, target: &Target, clock: &Clock) -> Self {
        let mut by_computation: Vec<Option<(Option<Step>, Step)>> = vec![None; module.computations.len()];
        for id in module.instruction_ids() {
            if module.instruction(id).opcode != Opcode::AsyncDone {
                continue;
            }
            let (Some(callee), Some(done)) = (wrapped(module, id), clock.time(id)) else { continue };
            let start = clock.time(start_of_chain(module, id)).filter(|_| target.backend == Backend::Tpu);
            // The wrapped computation and all that it runs.
            let mut stack = vec![callee];
            while let Some(c) = stack.pop() {
                if by_computation[c.index()].is_some() {
                    continue;
                }
                by_computation[c.index()] = Some((start, done));
                for i in &module.computation(c).instructions {
                    stack.extend(module.called(*i).iter().filter(|c| clock.span(**c).is_some()));
                }
            }
        }
        Self(by_computation)
    }

    fn get(&self, c: ComputationId) -> Option<(Option<Step>, Step)> {
        self.0[c.index()]
    }
}

fn raw_range(module: &Module, clock: &Clock, context: &AsyncContexts, value: &Value) -> Option<LiveRange> {
    let at = value.defined_at();
    let instruction = module.instruction(at.instruction);
    let time = clock.time(at.instruction)?;
    let span = clock.span(instruction.computation)?;
    let is_parameter = instruction.opcode == Opcode::Parameter;
    let mut start = if is_parameter { span.0 } else { time };
    let mut end = if module.is_root(at.instruction) { span.1 } else { time };
    if let Some((started, done)) = context.get(instruction.computation) {
        end = end.max(done);
        start = start.max(started.unwrap_or(start));
    }
    let mut end_position = at;
    for p in &value.positions[1..] {
        let when = if module.is_root(p.instruction) {
            clock.span(module.instruction(p.instruction).computation).map(|s| s.1)
        } else {
            clock.time(p.instruction)
        };
        if let Some(when) = when
            && when > end
        {
            end = when;
            end_position = *p;
        }
    }
    let is_entry_parameter = is_parameter && instruction.computation == module.entry;
    if is_entry_parameter && !is_aliased(module, at) {
        end = clock.end;
    } else {
        end =
            end.max(value.uses.iter().filter_map(|u| last_read(module, clock, u.user)).max().unwrap_or(end));
    }
    Some(LiveRange { start, end, end_position })
}

/// Does an output stand in this place of an entry parameter?
#[must_use]
pub fn is_aliased(module: &Module, parameter: Position) -> bool {
    let Some(number) = module.parameter_number(parameter.instruction) else { return false };
    let shape = module.instruction(parameter.instruction).shape;
    let Some(place) = module.shapes.subshapes(shape).get(parameter.sub as usize) else { return false };
    module.input_output_alias.iter().any(|a| a.parameter == number && a.parameter_index == place.index)
}

/// When a use reads the value for the last time.
fn last_read(module: &Module, clock: &Clock, user: InstructionId) -> Option<Step> {
    let callee = module.called(user).first();
    match module.instruction(user).opcode {
        // The callee's own parameter carries the value on.
        Opcode::Call if callee.is_some_and(|c| clock.span(*c).is_some()) => None,
        // The value that enters a loop is taken over by the body's parameter.
        Opcode::While => match callee.and_then(|c| module.computation(*c).parameters.first()) {
            Some(p) => clock.time(*p).or_else(|| clock.time(user)),
            None => clock.time(user),
        },
        _ => clock.time(user),
    }
}
