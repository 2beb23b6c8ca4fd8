//! The module as the run sees it: a cell for each part of each result, a place for each cell, steps for people.

use crate::in_place::Backend;
use crate::plan::Plan;
use crate::violation::{Spot, Violation, value_name};
use crate::{CheckError, memory::Range};
use hlo::{ComputationId, InstructionId, Module, Opcode, Shape, ShapeIndex};
use rustc_hash::{FxHashMap, FxHashSet};

/// No place, or no datum.
pub(crate) const NONE: u32 = u32::MAX;

/// Calls may be nested this deep.
pub(crate) const DEEPEST_CALL: usize = 1000;

pub(crate) struct Program<'a> {
    pub(crate) module: &'a Module,
    pub(crate) plan: &'a Plan,
    pub(crate) backend: Backend,
    /// Where an instruction's cells begin; one more entry than instructions.
    pub(crate) base: Vec<u32>,
    /// The placement of each cell, or [`NONE`].
    pub(crate) places: Vec<u32>,
    /// Numbers in the flattened schedule, or [`NONE`].
    pub(crate) steps: Vec<u32>,
    /// Parts of entry parameters that may be overwritten.
    pub(crate) donated: FxHashSet<(u32, ShapeIndex)>,
}

impl<'a> Program<'a> {
    pub(crate) fn new(module: &'a Module, plan: &'a Plan, backend: Backend) -> Result<Self, CheckError> {
        let mut base = Vec::with_capacity(module.instructions.len() + 1);
        let mut cells: u32 = 0;
        for instruction in &module.instructions {
            base.push(cells);
            let count = module.shapes.subshapes(instruction.shape).len() as u32;
            cells = cells.checked_add(count).ok_or(CheckError::TooLarge)?;
        }
        base.push(cells);
        let mut out = Self {
            module,
            plan,
            backend,
            base,
            places: vec![NONE; cells as usize],
            steps: vec![NONE; module.instructions.len()],
            donated: module
                .input_output_alias
                .iter()
                .map(|a| (a.parameter, a.parameter_index.clone()))
                .collect(),
        };
        out.find_places()?;
        out.number_steps()?;
        Ok(out)
    }

    fn find_places(&mut self) -> Result<(), CheckError> {
        let module = self.module;
        let by_name: FxHashMap<&str, InstructionId> =
            module.instruction_ids().map(|id| (module.name_of(id), id)).collect();
        for (n, p) in self.plan.placements.iter().enumerate() {
            let unknown = || CheckError::UnknownValue {
                line: p.line,
                value: value_name(&p.instruction, &p.index, !p.index.is_root()),
            };
            let id = *by_name.get(p.instruction.as_str()).ok_or_else(unknown)?;
            let sub = module.shapes.find(module.instruction(id).shape, &p.index.0).ok_or_else(unknown)?;
            let cell = self.base[id.index()] + sub;
            if self.places[cell as usize] != NONE {
                return Err(CheckError::PlacedTwice { line: p.line, value: self.value(id, sub) });
            }
            self.places[cell as usize] = n as u32;
        }
        Ok(())
    }

    /// The flattened schedule (specification, 4.1): what is called comes before the caller, a loop's condition
    /// before its body; a computation is flattened once.
    fn number_steps(&mut self) -> Result<(), CheckError> {
        let module = self.module;
        let mut done = vec![false; module.computations.len()];
        let mut on_stack = vec![false; module.computations.len()];
        let mut next = 0;
        // A computation, the instruction in it, and how many of that one's callees are done.
        let mut stack = vec![(module.entry, 0_usize, 0_usize)];
        on_stack[module.entry.index()] = true;
        while let Some((computation, at, callee)) = stack.pop() {
            let Some(&id) = module.computation(computation).instructions.get(at) else {
                done[computation.index()] = true;
                on_stack[computation.index()] = false;
                continue;
            };
            if let Some(&c) = self.runs(id).get(callee) {
                stack.push((computation, at, callee + 1));
                if on_stack[c.index()] || stack.len() > DEEPEST_CALL {
                    return Err(CheckError::TooDeep { computation: module.computation_name(c).into() });
                }
                if !done[c.index()] {
                    on_stack[c.index()] = true;
                    stack.push((c, 0, 0));
                }
                continue;
            }
            self.steps[id.index()] = next;
            next += 1;
            stack.push((computation, at + 1, 0));
        }
        Ok(())
    }

    /// The computations that run step by step on behalf of an instruction, in flattened order. Those of fusions,
    /// reductions, sorts and custom calls run inside one step and are left out.
    pub(crate) fn runs(&self, id: InstructionId) -> Vec<ComputationId> {
        let called = self.module.called(id);
        match self.module.instruction(id).opcode {
            Opcode::While => called.iter().rev().copied().collect(),
            Opcode::Call | Opcode::Conditional => called.to_vec(),
            Opcode::AsyncStart | Opcode::AsyncUpdate if self.starts_here(id) => {
                self.wrapped(id).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The links of an asynchronous chain, from its start to the given one.
    pub(crate) fn chain(&self, id: InstructionId) -> Vec<InstructionId> {
        let mut links = vec![id];
        let mut at = id;
        // Operands stand above, so this ends.
        while matches!(self.module.instruction(at).opcode, Opcode::AsyncUpdate | Opcode::AsyncDone) {
            let Some(&before) = self.module.operands(at).first() else { break };
            at = before;
            links.push(at);
        }
        links.reverse();
        links
    }

    pub(crate) fn wrapped(&self, link: InstructionId) -> Option<ComputationId> {
        self.chain(link).iter().find_map(|l| self.module.called(*l).first().copied())
    }

    /// How many operands a chain has at this link: all of its start's, and from the second on of each update's.
    pub(crate) fn bound(&self, link: InstructionId) -> usize {
        let chain = self.chain(link);
        chain
            .iter()
            .enumerate()
            .map(|(n, l)| self.module.operands(*l).len().saturating_sub(usize::from(n > 0)))
            .sum()
    }

    /// Is this the first link that has all operands? There the wrapped computation runs.
    pub(crate) fn starts_here(&self, link: InstructionId) -> bool {
        let Some(wrapped) = self.wrapped(link) else { return false };
        let wanted = self.module.computation(wrapped).parameters.len();
        if self.bound(link) < wanted {
            return false;
        }
        match self.module.instruction(link).opcode {
            Opcode::AsyncStart => true,
            _ => self.module.operands(link).first().is_some_and(|before| self.bound(*before) < wanted),
        }
    }

    pub(crate) fn count(&self, id: InstructionId) -> u32 {
        self.base[id.index() + 1] - self.base[id.index()]
    }

    pub(crate) fn index(&self, id: InstructionId, sub: u32) -> &ShapeIndex {
        &self.module.shapes.subshapes(self.module.instruction(id).shape)[sub as usize].index
    }

    /// A value's name.
    pub(crate) fn value(&self, id: InstructionId, sub: u32) -> String {
        let is_tuple = self.module.shapes.is_tuple(self.module.instruction(id).shape);
        value_name(self.module.name_of(id), self.index(id, sub), is_tuple)
    }

    /// The number of an entry parameter.
    pub(crate) fn parameter_of(&self, id: InstructionId) -> Option<u32> {
        let is_of_entry = self.module.instruction(id).computation == self.module.entry;
        self.module.parameter_number(id).filter(|_| is_of_entry)
    }

    pub(crate) fn place(&self, id: InstructionId, sub: u32) -> u32 {
        self.places[(self.base[id.index()] + sub) as usize]
    }

    pub(crate) fn range(&self, place: u32) -> Range {
        let p = &self.plan.placements[place as usize];
        Range { allocation: p.allocation, start: p.offset, end: p.offset.saturating_add(p.size) }
    }

    pub(crate) fn spot(range: Range) -> Spot {
        Spot { allocation: range.allocation, start: range.start, end: range.end }
    }

    /// What can be said before anything runs: every place lies inside its allocation, holds its shape, and is of the
    /// memory space that the layout asks for.
    pub(crate) fn check_places(&self) -> Result<(), Box<Violation>> {
        // In the order of the file, so that the first line that is wrong is the one named.
        let mut owner = vec![(InstructionId(0), 0); self.plan.placements.len()];
        for id in self.module.instruction_ids() {
            for sub in 0..self.count(id) {
                let place = self.place(id, sub);
                if place != NONE {
                    owner[place as usize] = (id, sub);
                }
            }
        }
        for (n, p) in self.plan.placements.iter().enumerate() {
            let (id, sub) = owner[n];
            let shape = self.module.shapes.subshapes(self.module.instruction(id).shape)[sub as usize].shape;
            let allocation = &self.plan.allocations[p.allocation as usize];
            let range = self.range(n as u32);
            if p.offset.checked_add(p.size).is_none_or(|end| end > allocation.size) {
                return Err(Box::new(Violation::Outside {
                    value: self.value(id, sub),
                    at: Self::spot(range),
                    size: allocation.size,
                }));
            }
            let shapes = &self.module.shapes;
            let needed = match shapes.get(shape) {
                // A split array is cut over several memories; one holds the largest part only.
                Shape::Array { layout: Some(layout), .. } if layout.split.is_some() => 0,
                _ => shapes.bytes(shape, if self.backend == Backend::Tpu { 4 } else { 8 }),
            };
            let space = shapes.memory_space(shape);
            if p.size < needed {
                return Err(Box::new(Violation::TooSmall {
                    value: self.value(id, sub),
                    size: p.size,
                    needed,
                }));
            }
            if space != 0 && space != allocation.color && !allocation.is_thread_local {
                return Err(Box::new(Violation::WrongSpace {
                    value: self.value(id, sub),
                    space,
                    allocation: p.allocation,
                    color: allocation.color,
                }));
            }
        }
        Ok(())
    }
}
