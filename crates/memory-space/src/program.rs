//! From a scheduled module to a [`Problem`]: values cut into positions and uses (MEMORY_SPACE 2, 4.1, 6 to 8, 14.3, 16, 17).

use crate::Time;
use crate::cost::{Costs, Machine};
use crate::picker::power;
use crate::problem::{
    Alias, AllocationValue, BranchRoot, BranchUse, Buffer, BufferIndex, ComputationId, Conversion,
    CrossProgramCandidate, Instruction, Options, Problem, Requirement, RequirementReason, Space, Split, Use,
    UseKind, UseOverride, ValueId,
};
use analysis::{Facts, Position};
use hlo::{InstructionId, Module, Opcode, Shape};
use std::collections::{BTreeMap, BTreeSet};

/// How copies are sliced (14.3). XLA leaves that to the target; here slices are equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slicing {
    /// At most so many slices; fewer than two turn it off.
    pub max_slices: usize,
    /// Only buffers of at least so many bytes.
    pub min_bytes: u64,
}

impl Default for Slicing {
    fn default() -> Self {
        Self { max_slices: 4, min_bytes: 1 << 20 }
    }
}

/// A problem, and where its parts stand in the module.
#[derive(Debug)]
pub struct Program {
    /// The problem.
    pub problem: Problem,
    /// For each buffer, each position: where it is, and the uses in the order of the problem.
    pub places: Vec<Vec<(Position, Vec<analysis::Use>)>>,
    /// The uses of each cross-program candidate.
    pub cross_program_uses: Vec<Vec<analysis::Use>>,
}

/// Makes a problem of a module, with `options` and the costs of `machine`.
///
/// A value that is already in another memory space is taken as if it were in the default one if that space is
/// `alternate_space`, and is left alone otherwise.
pub fn problem(
    module: &Module,
    facts: &Facts,
    machine: Machine,
    mut options: Options,
    slicing: Slicing,
    alternate_space: u32,
) -> Program {
    options.copy_bandwidth_bytes_per_second = machine.copy_bandwidth();
    let costs = Costs::new(module, facts, machine);
    let builder = Builder::new(module, facts, costs, options, slicing, alternate_space);
    builder.build()
}

struct Builder<'m> {
    module: &'m Module,
    facts: &'m Facts,
    costs: Costs,
    options: Options,
    slicing: Slicing,
    alternate_space: u32,
    /// How deep each computation is nested, and how deep in while loops.
    nest: Vec<(u32, u32)>,
}

/// What the order of buffers is made from.
struct Interval {
    values: Vec<analysis::ValueId>,
    /// Ticks of the clock of allocations (4.1).
    start: Time,
    end: Time,
    size: u64,
    benefit: f32,
    latest_use: Time,
}

impl<'m> Builder<'m> {
    fn new(
        module: &'m Module,
        facts: &'m Facts,
        costs: Costs,
        options: Options,
        slicing: Slicing,
        alternate_space: u32,
    ) -> Self {
        let mut nest = vec![(0, 0); module.computations.len()];
        // Callers before callees.
        for computation in facts.orders.callee_first.iter().rev() {
            if let Some(caller) = facts.graph.callers(*computation).first() {
                let instruction = module.instruction(*caller);
                let (all, whiles) = nest[instruction.computation.index()];
                let is_while = u32::from(instruction.opcode == Opcode::While);
                nest[computation.index()] = (all + 1, whiles + is_while);
            }
        }
        Self { module, facts, costs, options, slicing, alternate_space, nest }
    }

    fn time(&self, id: InstructionId) -> Option<Time> {
        self.facts.clock.time(id).map(|step| Time::from(step.0))
    }

    fn while_nest(&self, id: InstructionId) -> u32 {
        self.nest[self.module.instruction(id).computation.index()].1
    }

    fn label(&self, at: Position) -> String {
        let shape = self.module.instruction(at.instruction).shape;
        let name = self.module.name_of(at.instruction);
        if !self.module.shapes.is_tuple(shape) {
            return name.to_owned();
        }
        let index = self.module.shapes.subshapes(shape).get(at.sub as usize).map(|s| s.index.to_string());
        format!("{name}{}", index.unwrap_or_default())
    }

    fn use_label(&self, usage: &analysis::Use) -> String {
        let name = self.module.name_of(usage.user);
        let label = format!("{name}, operand {}", usage.operand);
        let Some(from) = self.module.operands(usage.user).get(usage.operand as usize) else { return label };
        let shape = self.module.instruction(*from).shape;
        match self.module.shapes.subshapes(shape).get(usage.sub as usize) {
            Some(place) if self.module.shapes.is_tuple(shape) => format!("{label} {}", place.index),
            _ => label,
        }
    }

    fn is_trivial(opcode: Opcode) -> bool {
        matches!(opcode, Opcode::GetTupleElement | Opcode::Tuple | Opcode::Bitcast)
    }

    /// Uses in the schedule, in order of time.
    fn uses_of(&self, value: &analysis::Value) -> Vec<(Time, analysis::Use)> {
        let timed = value.uses.iter().filter_map(|u| Some((self.time(u.user)?, *u)));
        let mut uses: Vec<(Time, analysis::Use)> = timed.collect();
        uses.sort_by_key(|(time, _)| *time);
        uses
    }

    /// Whether a value may be in alternate memory at all (2).
    fn is_allowed(&self, value: &analysis::Value) -> bool {
        let shape = self.facts.value_shape(self.module, value.id);
        let Shape::Array { dims, .. } = self.module.shapes.get(shape) else { return false };
        if dims.iter().all(|d| *d == 1) {
            return false;
        }
        if value.color.0 != 0 && value.color.0 != self.alternate_space {
            return false;
        }
        !value.positions.iter().any(|at| {
            matches!(
                self.module.instruction(at.instruction).opcode,
                // No use ties the result of a call to the root of what is called, so nothing would keep both in one place.
                Opcode::Call
                    | Opcode::AddDependency
                    | Opcode::Send
                    | Opcode::SendDone
                    | Opcode::Recv
                    | Opcode::RecvDone
            )
        })
    }

    /// What alternate memory gains for the buffers at a value's definition, by the square root of its size (3).
    fn benefit(&self, value: &analysis::Value, size: u64) -> f32 {
        let at = value.defined_at();
        let count = self.options.while_execution_count;
        let mut benefit =
            self.costs.output_benefit(at.instruction, at.sub, count, self.while_nest(at.instruction));
        for other in &self.facts.buffer(value.buffer).values {
            let Some(other) = self.facts.find_value(*other) else { continue };
            for (_, usage) in self.uses_of(other) {
                let opcode = self.module.instruction(usage.user).opcode;
                if matches!(opcode, Opcode::While | Opcode::Conditional) {
                    continue;
                }
                let nest = self.while_nest(usage.user);
                let gain = self.costs.operand_benefit(usage.user, usage.operand, usage.sub, count, nest);
                benefit = if benefit > 0.0 && gain > 0.0 { benefit + gain } else { benefit.max(gain) };
            }
        }
        benefit / (size.max(1) as f32).sqrt()
    }

    /// All buffers in the order in which they are tried (4.1, 6).
    fn intervals(&self) -> Vec<Interval> {
        let facts = self.facts;
        let mut timed: Vec<(u32, u32, analysis::ValueId)> =
            facts.ranges.iter().map(|(id, range)| (range.start.0, range.end.0, id)).collect();
        timed.retain(|(_, _, id)| facts.find_value(*id).is_some_and(|v| facts.buffer(v.buffer).size > 0));
        timed.sort_unstable();
        let horizon = facts.clock.end.0 as usize + 1;
        let mut defined: Vec<Vec<analysis::ValueId>> = vec![Vec::new(); horizon + 1];
        let mut freed: Vec<Vec<analysis::ValueId>> = vec![Vec::new(); horizon + 1];
        for (start, end, id) in &timed {
            defined[(*start as usize).min(horizon)].push(*id);
            freed[(*end as usize).min(horizon)].push(*id);
        }
        let mut tick: Time = 0;
        let mut leads: BTreeMap<u32, usize> = BTreeMap::new();
        let mut ticks: BTreeMap<analysis::ValueId, (Time, Time)> = BTreeMap::new();
        let mut intervals: Vec<Interval> = Vec::new();
        for time in 0..=horizon {
            for id in &defined[time] {
                let buffer = facts.value(*id).buffer;
                let at = *leads.entry(buffer.0).or_insert_with(|| {
                    intervals.push(Interval {
                        values: Vec::new(),
                        start: 0,
                        end: 0,
                        size: facts.buffer(buffer).size,
                        benefit: 0.0,
                        latest_use: 0,
                    });
                    intervals.len() - 1
                });
                intervals[at].values.push(*id);
                ticks.insert(*id, (tick, tick));
                tick += 1;
            }
            for id in &freed[time] {
                if let Some(range) = ticks.get_mut(id) {
                    range.1 = tick;
                }
                tick += 1;
            }
        }
        for interval in &mut intervals {
            let lead = facts.value(interval.values[0]);
            (interval.start, interval.end) = ticks[&lead.id];
            interval.benefit = self.benefit(lead, interval.size);
            let uses = interval.values.iter().flat_map(|id| self.uses_of(facts.value(*id)));
            interval.latest_use = uses.map(|(time, _)| time).max().unwrap_or(0);
            interval.values.sort_by_key(|id| ticks[id]);
        }
        intervals.sort_by(|a, b| {
            b.benefit
                .total_cmp(&a.benefit)
                .then(b.size.cmp(&a.size))
                .then((a.start - a.end).cmp(&(b.start - b.end)))
                .then(a.latest_use.cmp(&b.latest_use))
                .then(a.start.cmp(&b.start))
                .then(a.values[0].cmp(&b.values[0]))
        });
        intervals
    }

    fn build(self) -> Program {
        let module = self.module;
        let intervals = self.intervals();
        let mut buffers = Vec::new();
        let mut places = Vec::new();
        for interval in &intervals {
            let (buffer, place) = self.buffer(interval);
            buffers.push(buffer);
            places.push(place);
        }
        self.add_conversions(&mut buffers, &places);
        let instructions = self.facts.clock.sequence.iter().map(|id| {
            let instruction = module.instruction(*id);
            let seconds = self.costs.elapsed(*id);
            let (nest, while_nest) = self.nest[instruction.computation.index()];
            Instruction {
                name: module.name_of(*id).to_owned(),
                elapsed_seconds: seconds,
                copy_seconds: seconds,
                is_control_flow: matches!(
                    instruction.opcode,
                    Opcode::While | Opcode::Conditional | Opcode::Call
                ),
                computation: ComputationId(instruction.computation.0),
                nest,
                while_nest,
            }
        });
        let instructions = instructions.collect();
        let required = self.required(&buffers);
        let (cross_program, cross_program_uses) = self.cross_program(&intervals);
        let problem = Problem {
            options: self.options,
            instructions,
            buffers,
            required,
            cross_program,
            scoped: Vec::new(),
            ..Problem::default()
        };
        Program { problem, places, cross_program_uses }
    }

    /// One buffer's positions, with their uses (7).
    fn buffer(&self, interval: &Interval) -> (Buffer, Vec<(Position, Vec<analysis::Use>)>) {
        let facts = self.facts;
        let lead = facts.value(interval.values[0]);
        let mut positions: Vec<(Time, Position, analysis::ValueId)> = Vec::new();
        let mut users: Vec<Vec<analysis::Use>> = Vec::new();
        for id in &interval.values {
            let value = facts.value(*id);
            let first = positions.len();
            let mut own: Vec<(Time, Position, analysis::ValueId)> = value
                .positions
                .iter()
                .filter(|at| !Self::is_trivial(self.module.instruction(at.instruction).opcode))
                .filter_map(|at| Some((self.time(at.instruction)?, *at, *id)))
                .collect();
            own.sort_by_key(|(time, _, _)| *time);
            positions.extend(own);
            users.resize(positions.len(), Vec::new());
            for (time, usage) in self.uses_of(value) {
                if let Some(at) = self.position_of_use(&positions[first..], time, &usage) {
                    users[first + at].push(usage);
                }
            }
        }
        let allocation_values = positions.iter().zip(&users).map(|((time, at, id), users)| {
            let instruction = self.module.instruction(at.instruction);
            AllocationValue {
                value: ValueId(id.0),
                name: self.label(*at),
                definition_time: *time,
                computation: ComputationId(instruction.computation.0),
                uses: users.iter().map(|u| self.usage(&positions, u)).collect(),
                is_contiguous: matches!(instruction.opcode, Opcode::AsyncStart | Opcode::AsyncUpdate),
                is_position_allowed: true,
                bytes_accessed: Some(self.costs.output_bytes(at.instruction, at.sub)),
                branch_roots: self.branch_roots(*at),
                split: Split::Replicated,
            }
        });
        let is_allowed = interval.values.iter().all(|id| self.is_allowed(facts.value(*id)));
        let buffer = Buffer {
            id: lead.buffer.0,
            value: ValueId(lead.id.0),
            name: facts.label(self.module, lead.id),
            size: interval.size,
            benefit: interval.benefit,
            is_allowed,
            is_pinned: false,
            allocation_values: allocation_values.collect(),
            slices: self.slices(interval.size),
            split_sizes: Vec::new(),
        };
        let places = positions.iter().zip(users).map(|((_, at, _), users)| (*at, users)).collect();
        (buffer, places)
    }

    fn slices(&self, size: u64) -> Vec<u64> {
        let count = self.slicing.max_slices.min(crate::sliced::MOST_SLICES);
        let parts = count as u64;
        if count < 2 || size < self.slicing.min_bytes || !size.is_multiple_of(parts) {
            return Vec::new();
        }
        vec![size / parts; count]
    }

    /// The position a use reads: that of its own asynchronous operation, else the last one before it.
    fn position_of_use(
        &self,
        positions: &[(Time, Position, analysis::ValueId)],
        time: Time,
        usage: &analysis::Use,
    ) -> Option<usize> {
        let user = self.module.instruction(usage.user);
        let is_chain = matches!(user.opcode, Opcode::AsyncDone | Opcode::AsyncUpdate | Opcode::CopyDone);
        if is_chain && usage.operand == 0 {
            let from = self.module.operands(usage.user).first()?;
            return positions.iter().position(|(_, at, _)| at.instruction == *from && at.sub == usage.sub);
        }
        positions.iter().rposition(|(defined, at, _)| {
            let instruction = self.module.instruction(at.instruction);
            *defined < time
                && instruction.computation == user.computation
                && !matches!(instruction.opcode, Opcode::AsyncStart | Opcode::AsyncUpdate)
        })
    }

    fn usage(&self, positions: &[(Time, Position, analysis::ValueId)], usage: &analysis::Use) -> Use {
        let module = self.module;
        let id = usage.user;
        let opcode = module.instruction(id).opcode;
        let time = self.time(id).unwrap_or(0);
        let mut result = Use::plain(self.use_label(usage), time);
        result.elapsed_reduction = self.costs.elapsed_reduction(id, usage.operand, usage.sub);
        result.bytes_accessed = Some(self.costs.operand_bytes(id, usage.operand, usage.sub));
        let called = module.called(id);
        // The branches of a conditional have an operand each.
        let entered = match opcode {
            Opcode::Conditional => {
                let branch = usize::try_from(usage.operand).ok().and_then(|operand| operand.checked_sub(1));
                branch.and_then(|branch| called.get(branch)).map_or(&[][..], std::slice::from_ref)
            }
            _ => called,
        };
        // Positions that must agree: the instruction's own, parameters of what it calls, the root of a body, the result of
        // a conditional.
        for (defined, at, value) in positions {
            let is_parameter = module.instruction(at.instruction).opcode == Opcode::Parameter
                && entered.contains(&module.instruction(at.instruction).computation);
            if at.instruction == id || is_parameter {
                result.aliases.push(Alias { value: ValueId(value.0), time: *defined });
            }
        }
        let control = matches!(opcode, Opcode::While | Opcode::Conditional | Opcode::Call);
        if control {
            let starts = called.iter().filter_map(|c| self.facts.clock.span(*c));
            if let Some(first) = starts.map(|(start, _)| Time::from(start.0)).min() {
                result.latest_prefetch_time = time.min(first - 1).max(0);
            }
        }
        match opcode {
            Opcode::While => self.while_use(&mut result, usage),
            Opcode::Conditional => self.conditional_use(&mut result, usage),
            Opcode::Call => result.kind = UseKind::Call,
            opcode if Self::is_trivial(opcode) && !module.is_root(id) => result.kind = UseKind::Trivial,
            Opcode::Tuple => self.branch_root_use(&mut result, usage),
            _ => {}
        }
        result
    }

    /// The first reader of a position within its computation that does something with it.
    fn first_reader(&self, at: Position, before: Time) -> Option<Time> {
        let value = self.facts.dataflow.unique_at(at)?;
        let home = self.module.instruction(at.instruction).computation;
        let start = self.time(at.instruction)?;
        let readers = self.uses_of(self.facts.find_value(value)?).into_iter().filter(|(time, usage)| {
            let instruction = self.module.instruction(usage.user);
            *time > start
                && *time < before
                && instruction.computation == home
                && !Self::is_trivial(instruction.opcode)
        });
        readers.map(|(time, _)| time).min()
    }

    fn while_use(&self, result: &mut Use, usage: &analysis::Use) {
        let module = self.module;
        let Some(body) = module.called(usage.user).first() else { return };
        let Some(parameter) = module.computation(*body).parameters.first() else { return };
        let (Some(parameter_time), root) = (self.time(*parameter), module.root(*body)) else { return };
        let root_time = self.time(root).unwrap_or(result.time);
        if let Some(value) = self.facts.dataflow.unique_at(Position { instruction: root, sub: usage.sub }) {
            result.aliases.push(Alias { value: ValueId(value.0), time: root_time });
        }
        result.corrected_time = parameter_time;
        let at = |instruction| self.facts.dataflow.unique_at(Position { instruction, sub: usage.sub });
        let operand = module.operands(usage.user).first().and_then(|o| at(*o));
        result.kind = UseKind::While {
            body: ComputationId(body.0),
            parameter_time,
            first_use_time: self
                .first_reader(Position { instruction: *parameter, sub: usage.sub }, root_time),
            is_unchanged: operand.is_some() && operand == at(usage.user),
        };
    }

    fn conditional_use(&self, result: &mut Use, usage: &analysis::Use) {
        let module = self.module;
        let called = module.called(usage.user);
        let parameters = called
            .iter()
            .filter_map(|c| module.computation(*c).parameters.first())
            .filter_map(|p| self.time(*p));
        result.corrected_time = parameters.min().unwrap_or(result.time);
        let mut branches = Vec::new();
        let branch =
            usize::try_from(usage.operand).ok().and_then(|operand| called.get(operand.checked_sub(1)?));
        if let Some(parameter) = branch.and_then(|c| module.computation(*c).parameters.first())
            && let Some(parameter_time) = self.time(*parameter)
        {
            let at = Position { instruction: *parameter, sub: usage.sub };
            let first_use_time = self.first_reader(at, result.time).unwrap_or(result.time);
            branches.push(BranchUse { parameter_time, first_use_time });
        }
        // Operand 0 chooses the branch and is read by the conditional itself.
        if usage.operand > 0 {
            result.kind = UseKind::Conditional { branches };
        }
    }

    /// The conditional whose branch ends with this instruction.
    fn conditional_of(&self, root: InstructionId) -> Option<InstructionId> {
        let module = self.module;
        if !module.is_root(root) {
            return None;
        }
        let caller = self.facts.graph.callers(module.instruction(root).computation).first()?;
        (module.instruction(*caller).opcode == Opcode::Conditional).then_some(*caller)
    }

    /// A tuple at the root of a branch: the conditional's result must agree with it.
    fn branch_root_use(&self, result: &mut Use, usage: &analysis::Use) {
        let module = self.module;
        let Some(conditional) = self.conditional_of(usage.user) else { return };
        let Some(from) = module.operands(usage.user).get(usage.operand as usize) else { return };
        let inner = module.shapes.subshapes(module.instruction(*from).shape);
        let Some(inner) = inner.get(usage.sub as usize) else { return };
        let mut index = vec![usage.operand];
        index.extend(inner.index.0.iter().copied());
        let shape = module.instruction(conditional).shape;
        let Some(sub) = module.shapes.find(shape, &index) else { return };
        let at = Position { instruction: conditional, sub };
        if let (Some(value), Some(time)) = (self.facts.dataflow.unique_at(at), self.time(conditional)) {
            result.aliases.push(Alias { value: ValueId(value.0), time });
        }
    }

    fn branch_roots(&self, at: Position) -> Vec<BranchRoot> {
        let module = self.module;
        if module.instruction(at.instruction).opcode != Opcode::Conditional {
            return Vec::new();
        }
        let root = |computation: &hlo::ComputationId| {
            let root = module.root(*computation);
            let value = self.facts.dataflow.unique_at(Position { instruction: root, sub: at.sub })?;
            let is_tuple = module.instruction(root).opcode == Opcode::Tuple;
            Some(BranchRoot { value: ValueId(value.0), time: self.time(root)?, is_tuple })
        };
        module.called(at.instruction).iter().filter_map(root).collect()
    }

    /// Copies and slices between buffers that could be asynchronous (19).
    fn add_conversions(&self, buffers: &mut [Buffer], places: &[Vec<(Position, Vec<analysis::Use>)>]) {
        let module = self.module;
        let mut definitions: BTreeMap<InstructionId, (usize, usize)> = BTreeMap::new();
        for (buffer, positions) in places.iter().enumerate() {
            for (position, (at, _)) in positions.iter().enumerate() {
                if at.sub == 0 {
                    definitions.insert(at.instruction, (buffer, position));
                }
            }
        }
        let is_candidate = |id: InstructionId| {
            let instruction = module.instruction(id);
            let Some(from) = module.operands(id).first() else { return false };
            let from = module.instruction(*from).shape;
            if module.is_root(id) || !module.shapes.is_array(instruction.shape) {
                return false;
            }
            let spaces = [instruction.shape, from].map(|shape| module.shapes.memory_space(shape));
            if spaces.iter().any(|space| *space != 0) {
                return false;
            }
            match instruction.opcode {
                Opcode::Copy => self.options.enable_sync_copy_replacement && instruction.shape == from,
                Opcode::Slice | Opcode::DynamicSlice => self.options.enable_sync_slice_replacement,
                _ => false,
            }
        };
        for (buffer, positions) in places.iter().enumerate() {
            for (position, (_, users)) in positions.iter().enumerate() {
                for (usage_at, usage) in users.iter().enumerate() {
                    let id = usage.user;
                    if usage.operand != 0
                        || usage.sub != 0
                        || !is_candidate(id)
                        || module.operands(id).iter().any(|o| is_candidate(*o))
                    {
                        continue;
                    }
                    let Some((target, target_position)) = definitions.get(&id).copied() else { continue };
                    // Only the value a buffer is allocated for can be tried together with another.
                    let leads = |buffer: usize, position: usize| {
                        buffers[buffer].allocation_values[position].value == buffers[buffer].value
                    };
                    if target == buffer
                        || !buffers[target].is_allowed
                        || !leads(buffer, position)
                        || !leads(target, target_position)
                    {
                        continue;
                    }
                    let uses = &buffers[target].allocation_values[target_position].uses;
                    let Some(latest_time) = uses.iter().map(|u| u.corrected_time).min() else { continue };
                    // While it is copied nothing may be written over what it reads, nor run what must come after it.
                    let copied_at = self.time(id).unwrap_or(-1);
                    let overwritten = buffers[buffer].allocation_values.iter().map(|v| v.definition_time);
                    let successors = module
                        .instruction_ids()
                        .filter(|other| module.control_predecessors(*other).contains(&id))
                        .filter_map(|other| self.time(other));
                    let latest_time = overwritten
                        .chain(successors)
                        .filter(|time| *time > copied_at)
                        .fold(latest_time, Time::min);
                    let earliest = module.operands(id).iter().filter_map(|o| self.time(*o)).max();
                    buffers[buffer].allocation_values[position].uses[usage_at].conversion =
                        Some(Conversion {
                            target: BufferIndex(target as u32),
                            position: target_position as u32,
                            earliest_time: earliest.unwrap_or(-1),
                            latest_time,
                        });
                }
            }
        }
    }

    /// What the program itself requires (8).
    fn required(&self, buffers: &[Buffer]) -> Vec<Requirement> {
        let module = self.module;
        let mut found: BTreeMap<(ValueId, Time), RequirementReason> = BTreeMap::new();
        let mut all_of = |id: InstructionId, time: Time, reason: &RequirementReason| {
            for sub in 0..module.shapes.subshapes(module.instruction(id).shape).len() as u32 {
                for value in self.facts.dataflow.at(Position { instruction: id, sub }) {
                    found.entry((ValueId(value.0), time)).or_insert_with(|| reason.clone());
                }
            }
        };
        for id in &self.facts.clock.sequence {
            let instruction = module.instruction(*id);
            let Some(time) = self.time(*id) else { continue };
            if instruction.opcode == Opcode::Parameter && instruction.computation == module.entry {
                all_of(*id, time, &RequirementReason::ProgramInput);
            }
            if *id == module.root(module.entry) {
                all_of(*id, time, &RequirementReason::ProgramOutput);
            }
            if instruction.opcode == Opcode::Constant {
                all_of(*id, time, &RequirementReason::Constant);
            }
        }
        for buffer in buffers.iter().filter(|b| !b.is_allowed) {
            for value in &buffer.allocation_values {
                let key = (value.value, value.definition_time);
                found.entry(key).or_insert(RequirementReason::ValueNotAllowed);
            }
        }
        let required = found.into_iter().map(|((value, time), reason)| Requirement {
            value,
            time,
            space: Space::Default,
            reason,
        });
        required.collect()
    }

    /// Parameters worth fetching before the program begins (17).
    fn cross_program(&self, intervals: &[Interval]) -> (Vec<CrossProgramCandidate>, Vec<Vec<analysis::Use>>) {
        let module = self.module;
        let root = module.root(module.entry);
        let mut found: Vec<(u64, u64, Time, CrossProgramCandidate, Vec<analysis::Use>)> = Vec::new();
        for interval in intervals {
            let value = self.facts.value(interval.values[0]);
            let at = value.defined_at();
            let instruction = module.instruction(at.instruction);
            let is_parameter =
                instruction.opcode == Opcode::Parameter && instruction.computation == module.entry;
            let buffer = self.facts.buffer(value.buffer);
            let depth =
                module.shapes.subshapes(instruction.shape).get(at.sub as usize).map(|s| s.index.0.len());
            if !is_parameter
                || depth.is_none_or(|depth| depth > 1)
                || !self.is_allowed(value)
                || buffer.live_out
                || interval.size > self.options.max_size_in_bytes
            {
                continue;
            }
            let mut uses = self.uses_of(value);
            // What only passes it on as a result is no use of it.
            uses.retain(|(_, usage)| {
                usage.user != root || !Self::is_trivial(module.instruction(root).opcode)
            });
            let looks_right = uses.iter().all(|(_, usage)| {
                let from = module.operands(usage.user).get(usage.operand as usize);
                from.is_some_and(|from| !self.looks_like_activation(*from))
            });
            let (Some((first, _)), Some((last, _)), true) = (uses.first(), uses.last(), looks_right) else {
                continue;
            };
            let sizes =
                uses.iter().map(|(_, u)| module.shapes.element_count(module.instruction(u.user).shape));
            let cumulative = sizes.fold(0_u64, u64::saturating_add);
            let candidate = CrossProgramCandidate {
                id: value.buffer.0,
                value: ValueId(value.id.0),
                name: self.label(at),
                size: interval.size,
                first_use_time: Some(*first),
                last_use_time: *last,
                uses: uses.iter().map(|(_, u)| self.use_label(u)).collect(),
            };
            let uses = uses.iter().map(|(_, u)| *u).collect();
            found.push((interval.size, cumulative, *last, candidate, uses));
        }
        found.sort_by_key(|(size, cumulative, last, candidate, _)| {
            (std::cmp::Reverse(*size), std::cmp::Reverse(*cumulative), *last, candidate.value)
        });
        found.into_iter().map(|(_, _, _, candidate, uses)| (candidate, uses)).unzip()
    }

    /// Whether a parameter is used as data rather than as weights (17). A work list: no recursion on the module's depth.
    fn looks_like_activation(&self, start: InstructionId) -> bool {
        let module = self.module;
        let mut seen = BTreeSet::from([start]);
        let mut waiting = vec![start];
        while let Some(id) = waiting.pop() {
            for read in self.facts.graph.reads(id) {
                let user = module.instruction(read.user);
                let mut follow = |next: InstructionId| {
                    if seen.insert(next) {
                        waiting.push(next);
                    }
                };
                match user.opcode {
                    Opcode::Dot | Opcode::Convolution if read.operand != 0 => {}
                    Opcode::Gather if read.operand == 0 => {}
                    Opcode::DynamicSlice | Opcode::DynamicUpdateSlice | Opcode::Reduce
                        if read.operand == 0 =>
                    {
                        follow(read.user);
                    }
                    Opcode::Bitcast | Opcode::Broadcast | Opcode::Transpose | Opcode::GetTupleElement => {
                        follow(read.user);
                    }
                    Opcode::Fusion => {
                        let callee = module.called(read.user).first();
                        let parameter =
                            callee.and_then(|c| module.computation(*c).parameters.get(read.operand as usize));
                        match parameter {
                            Some(parameter) => follow(*parameter),
                            None => return true,
                        }
                    }
                    _ => return true,
                }
            }
        }
        false
    }
}

/// Asks something of the uses of that name, `dot.3, operand 1`, or of all uses of a value, `dot.3`; gives of how many (20).
pub fn ask(problem: &mut Problem, name: &str, asked: UseOverride) -> usize {
    let mut count = 0;
    for value in problem.buffers.iter_mut().flat_map(|b| &mut b.allocation_values) {
        let is_value = value.name == name;
        for usage in value.uses.iter_mut().filter(|u| is_value || u.name == name) {
            usage.asked = Some(asked);
            count += 1;
        }
    }
    count
}

/// How long a program takes with this assignment, and without (26): sums over the schedule, loops counted several times.
/// Copies themselves are taken to be free.
pub fn estimate_seconds(problem: &Problem, assignment: &crate::Assignment) -> (f64, f64) {
    let weight = |t: usize| {
        f64::from(power(problem.options.while_execution_count, problem.instructions[t].while_nest))
    };
    let before: f64 = problem
        .instructions
        .iter()
        .enumerate()
        .filter(|(_, i)| !i.is_control_flow)
        .map(|(t, i)| f64::from(i.elapsed_seconds) * weight(t))
        .sum();
    let mut saved: BTreeMap<usize, f64> = BTreeMap::new();
    for allocation in assignment.in_alternate() {
        for usage in &allocation.uses {
            if let crate::UseRef::Buffer { buffer, position, usage } = usage {
                let value = &problem.buffers[buffer.index()].allocation_values[*position as usize];
                let usage = &value.uses[*usage as usize];
                *saved.entry(usage.time as usize).or_default() += f64::from(usage.elapsed_reduction);
            }
        }
    }
    let after = saved.iter().filter(|(t, _)| **t < problem.instructions.len()).fold(before, |sum, (t, s)| {
        sum - s.min(f64::from(problem.instructions[*t].elapsed_seconds)) * weight(*t)
    });
    (before, after.max(0.0))
}
