//! The copies put into the schedule (MEMORY_SPACE 25, steps 3 and 5).

use crate::Time;
use crate::allocation::{Assignment, UseRef};
use crate::problem::Space;
use crate::program::Program;
use analysis::Facts;
use hlo::{ComputationId, InstructionId, Module, Opcode};
use std::collections::{BTreeMap, BTreeSet};

/// One place of the new schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placed {
    /// An instruction of the module.
    Original(InstructionId),
    /// The start of the copy that makes an allocation, by its place in [`Assignment::allocations`].
    CopyStart(usize),
    /// Its end.
    CopyDone(usize),
    /// The start of one slice of a sliced copy, by its rank of offset.
    SliceStart(usize, usize),
    /// Its end.
    SliceDone(usize, usize),
    /// The slices seen as one, which takes no time.
    Concat(usize),
}

/// A copy or slice with its place in time.
struct Step {
    start: Option<Time>,
    done: Time,
    begin: Option<Placed>,
    end: Placed,
}

/// The schedule of every computation that runs, with copies. Instructions that copies take the place of are left out.
pub fn schedule(
    module: &Module,
    facts: &Facts,
    program: &Program,
    assignment: &Assignment,
) -> BTreeMap<ComputationId, Vec<Placed>> {
    Writer::new(module, facts, program, assignment).run()
}

struct Writer<'m> {
    module: &'m Module,
    facts: &'m Facts,
    assignment: &'m Assignment,
    /// What an instruction reads instead of an operand.
    redirected: BTreeMap<(InstructionId, u32), Placed>,
    /// The instruction a copy reads.
    sources: BTreeMap<usize, InstructionId>,
    removed: BTreeSet<InstructionId>,
    emitted: BTreeSet<Placed>,
    schedule: BTreeMap<ComputationId, Vec<Placed>>,
    after: BTreeMap<Time, Vec<Placed>>,
    before: BTreeMap<Time, Vec<Placed>>,
}

impl<'m> Writer<'m> {
    fn new(module: &'m Module, facts: &'m Facts, program: &'m Program, assignment: &'m Assignment) -> Self {
        let mut writer = Self {
            module,
            facts,
            assignment,
            redirected: BTreeMap::new(),
            sources: BTreeMap::new(),
            removed: BTreeSet::new(),
            emitted: BTreeSet::new(),
            schedule: BTreeMap::new(),
            after: BTreeMap::new(),
            before: BTreeMap::new(),
        };
        for (index, allocation) in assignment.allocations.iter().enumerate() {
            if allocation.copy.is_none() {
                continue;
            }
            let position = allocation.buffer.and_then(|buffer| {
                let places = program.places.get(buffer.index())?;
                let values = &program.problem.buffers[buffer.index()].allocation_values;
                let at = values.iter().position(|v| {
                    v.definition_time == allocation.definition_time && v.name == allocation.position
                })?;
                Some(places.get(at)?.0.instruction)
            });
            let parameter = || {
                let names = module.computation(module.entry).parameters.iter().copied();
                let name = allocation.position.split('{').next().unwrap_or_default();
                names.into_iter().find(|id| module.name_of(*id) == name)
            };
            if let Some(source) = position.or_else(parameter) {
                writer.sources.insert(index, source);
            }
            if let Some(time) = allocation.replaces
                && let Some(id) = facts.clock.sequence.get(usize::try_from(time).unwrap_or(usize::MAX))
            {
                writer.removed.insert(*id);
            }
            let end =
                if allocation.slices.is_empty() { Placed::CopyDone(index) } else { Placed::Concat(index) };
            for usage in &allocation.uses {
                for usage in uses_of(program, *usage) {
                    if usage.sub == 0 {
                        writer.redirected.insert((usage.user, usage.operand), end);
                    }
                }
            }
        }
        writer.order_copies();
        writer
    }

    /// Evictions first, then prefetches, each by end and start (25, step 3).
    fn order_copies(&mut self) {
        let mut lists: [Vec<Step>; 2] = [Vec::new(), Vec::new()];
        for (index, allocation) in self.assignment.allocations.iter().enumerate() {
            let Some(copy) = &allocation.copy else { continue };
            let list = &mut lists[usize::from(allocation.space == Space::Alternate)];
            if allocation.slices.is_empty() {
                list.push(Step {
                    start: Some(copy.start),
                    done: copy.done,
                    begin: Some(Placed::CopyStart(index)),
                    end: Placed::CopyDone(index),
                });
                continue;
            }
            for (rank, slice) in allocation.slices.iter().enumerate() {
                list.push(Step {
                    start: Some(slice.start),
                    done: copy.done,
                    begin: Some(Placed::SliceStart(index, rank)),
                    end: Placed::SliceDone(index, rank),
                });
            }
            list.push(Step { start: None, done: copy.done, begin: None, end: Placed::Concat(index) });
        }
        for mut list in lists {
            list.sort_by_key(|step| (step.done, step.start.unwrap_or(step.done)));
            for step in list {
                if let (Some(begin), Some(start)) = (step.begin, step.start) {
                    let start = self.in_right_computation(begin, start);
                    self.after.entry(start).or_default().push(begin);
                }
                self.before.entry(step.done).or_default().push(step.end);
            }
        }
    }

    fn computation_at(&self, time: Time) -> Option<ComputationId> {
        let id = self.facts.clock.sequence.get(usize::try_from(time.max(0)).unwrap_or(usize::MAX))?;
        Some(self.module.instruction(*id).computation)
    }

    /// A copy starts in the computation of what it reads.
    fn in_right_computation(&self, begin: Placed, start: Time) -> Time {
        let (Placed::CopyStart(index) | Placed::SliceStart(index, _)) = begin else { return start };
        let Some(source) = self.sources.get(&index) else { return start };
        let home = self.module.instruction(*source).computation;
        let end = Time::from(self.facts.clock.end.0);
        (start..end).find(|t| self.computation_at(*t) == Some(home)).unwrap_or(start)
    }

    /// What must be emitted before, in order of operands.
    fn operands(&self, placed: Placed) -> Vec<Placed> {
        match placed {
            Placed::Original(id) => {
                let operands = self.module.operands(id).iter().enumerate();
                operands
                    .map(|(operand, from)| {
                        let other = self.redirected.get(&(id, operand as u32)).copied();
                        other.unwrap_or_else(|| self.original_or_copy(*from))
                    })
                    .collect()
            }
            Placed::CopyStart(index) | Placed::SliceStart(index, _) => {
                self.sources.get(&index).map(|id| Placed::Original(*id)).into_iter().collect()
            }
            Placed::CopyDone(index) => vec![Placed::CopyStart(index)],
            Placed::SliceDone(index, rank) => vec![Placed::SliceStart(index, rank)],
            Placed::Concat(index) => {
                let count = self.assignment.allocations[index].slices.len();
                (0..count).map(|rank| Placed::SliceDone(index, rank)).collect()
            }
        }
    }

    /// An instruction, or the copy that took its place.
    fn original_or_copy(&self, id: InstructionId) -> Placed {
        if self.removed.contains(&id) {
            let time = self.facts.clock.time(id).map(|t| Time::from(t.0));
            let copy =
                self.assignment.allocations.iter().position(|a| a.replaces.is_some() && a.replaces == time);
            if let Some(index) = copy {
                let is_sliced = !self.assignment.allocations[index].slices.is_empty();
                return if is_sliced { Placed::Concat(index) } else { Placed::CopyDone(index) };
            }
        }
        Placed::Original(id)
    }

    fn computation_of(&self, placed: Placed) -> Option<ComputationId> {
        match placed {
            Placed::Original(id) => Some(self.module.instruction(id).computation),
            Placed::CopyStart(index)
            | Placed::CopyDone(index)
            | Placed::SliceStart(index, _)
            | Placed::SliceDone(index, _)
            | Placed::Concat(index) => {
                self.sources.get(&index).map(|id| self.module.instruction(*id).computation)
            }
        }
    }

    /// Emits something after everything it needs that is not there yet.
    fn emit(&mut self, placed: Placed) {
        let mut waiting = vec![(placed, false)];
        while let Some((placed, is_ready)) = waiting.pop() {
            if self.emitted.contains(&placed) {
                continue;
            }
            if let Placed::Original(id) = placed
                && self.removed.contains(&id)
            {
                continue;
            }
            if is_ready {
                self.emitted.insert(placed);
                if let Some(computation) = self.computation_of(placed) {
                    self.schedule.entry(computation).or_default().push(placed);
                }
                continue;
            }
            waiting.push((placed, true));
            let operands = self.operands(placed);
            waiting.extend(operands.into_iter().rev().map(|operand| (operand, false)));
        }
    }

    /// One pass over the flattened schedule (25, step 5).
    fn run(mut self) -> BTreeMap<ComputationId, Vec<Placed>> {
        let end = Time::from(self.facts.clock.end.0);
        for time in -2..end {
            let id = usize::try_from(time).ok().and_then(|t| self.facts.clock.sequence.get(t)).copied();
            if let Some(id) = id
                && !matches!(self.module.instruction(id).opcode, Opcode::Bitcast | Opcode::Tuple)
            {
                self.emit(Placed::Original(id));
            }
            for placed in self.before.remove(&(time + 1)).unwrap_or_default() {
                self.emit(placed);
            }
            for placed in self.after.remove(&time).unwrap_or_default() {
                self.emit(placed);
            }
        }
        let computations: Vec<ComputationId> = self.module.computation_ids().collect();
        for computation in computations {
            if self.facts.clock.span(computation).is_some() {
                let root = self.original_or_copy(self.module.root(computation));
                self.emit(root);
            }
        }
        self.schedule
    }
}

fn uses_of(program: &Program, usage: UseRef) -> Vec<analysis::Use> {
    match usage {
        UseRef::Buffer { buffer, position, usage } => program
            .places
            .get(buffer.index())
            .and_then(|places| places.get(position as usize))
            .and_then(|(_, uses)| uses.get(usage as usize))
            .copied()
            .into_iter()
            .collect(),
        UseRef::CrossProgram { candidate } => {
            program.cross_program_uses.get(candidate as usize).cloned().unwrap_or_default()
        }
    }
}
