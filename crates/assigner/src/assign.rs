//! The assigner, top to bottom (8.3 to 8.5).

use crate::assignment::{
    Allocation, AllocationId, Assignment, EntryParameter, HeapRun, NOWHERE, Placed, homes,
};
use crate::decision::{Decision, NewKind, Refusal};
use crate::decisions::Decisions;
use crate::heap;
use crate::merge;
use crate::pool::{FreePool, Reuse};
use crate::when::When;
use analysis::ranges::{LiveRanges, is_aliased};
use analysis::sharing::interference;
use analysis::{Backend, Buffer, BufferId, Color, Context, Facts, Step, ValueId};
use hlo::{ComputationId, InstructionId, Module, Opcode, ShapeIndex};
use sorts::Arrange as _;
use std::collections::{BTreeMap, BTreeSet};

/// What memory space assignment placed before: one colour's allocation, taken as it is (GPU and TPU supplement, 8.4).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Preset {
    /// The colour.
    pub color: Color,
    /// Bytes of the allocation.
    pub size: u64,
    /// Its values.
    pub values: Vec<Placed>,
}

/// Settings of one run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The packer for every colour; `None` is the target's own.
    pub algorithm: Option<packing::Algorithm>,
    /// A heap is closed when it would grow beyond this many bytes; `None` is one heap without a limit.
    pub heap_limit: Option<u64>,
    /// Values that must not live out of the module (refusals 4 and 5).
    pub must_not_live_out: Vec<ValueId>,
    /// Colours that were placed before.
    pub presets: Vec<Preset>,
}

/// Assigns every value of the module a place. `ranges` are the facts' own, or edited ones.
///
/// Gives the assignment and each decision that led to it, in XLA's order.
#[must_use]
pub fn assign(
    module: &Module,
    facts: &Facts,
    ranges: &LiveRanges,
    options: &Options,
) -> (Assignment, Decisions) {
    let mut run = Run {
        module,
        facts,
        ranges,
        options,
        allocations: Vec::new(),
        place: vec![(NOWHERE, 0); facts.values().last().map_or(0, |v| v.id.index() + 1)],
        decisions: Decisions::new(),
        delayed: BTreeMap::new(),
        preset: BTreeSet::new(),
        heaps: Vec::new(),
        heap_of: BTreeMap::new(),
        order: Vec::new(),
        scratch: None,
        when: Vec::new(),
    };
    run.place_presets();
    let (global, thread_local) = classify(module, facts);
    run.assign_sparse_core(&global);
    run.assign_computations(&global, false);
    run.simulate_heaps();
    run.assign_computations(&thread_local, true);
    run.mark_live_out();
    let (heap_of, limit) = (&run.heap_of, options.heap_limit);
    merge::merge_temps(&mut run.allocations, heap_of, &facts.target, limit, &mut run.decisions);
    run.finish()
}

/// Which computations own global buffers, and which thread-local ones (8.3); fusion bodies own none.
fn classify(module: &Module, facts: &Facts) -> (Vec<ComputationId>, Vec<ComputationId>) {
    let mut reached = vec![false; module.computations.len()];
    reached[module.entry.index()] = true;
    let mut queue = std::collections::VecDeque::from([module.entry]);
    let (mut global, mut thread_local) = (Vec::new(), Vec::new());
    while let Some(c) = queue.pop_front() {
        let is_fusion_body =
            facts.graph.callers(c).iter().any(|site| module.instruction(*site).opcode == Opcode::Fusion);
        match facts.graph.context(c) {
            Context::ControlFlow => global.push(c),
            Context::Embedded if !is_fusion_body => thread_local.push(c),
            Context::Embedded => {}
        }
        for i in &module.computation(c).instructions {
            for callee in module.called(*i) {
                if !std::mem::replace(&mut reached[callee.index()], true) {
                    queue.push_back(*callee);
                }
            }
        }
    }
    (global, thread_local)
}

struct Run<'a> {
    module: &'a Module,
    facts: &'a Facts,
    ranges: &'a LiveRanges,
    options: &'a Options,
    allocations: Vec<Allocation>,
    /// By value id: the allocation that holds it, and its number in there.
    place: Vec<(AllocationId, u32)>,
    decisions: Decisions,
    delayed: BTreeMap<Color, Vec<ValueId>>,
    preset: BTreeSet<BufferId>,
    heaps: Vec<HeapRun>,
    /// Which heap run an allocation came from.
    heap_of: BTreeMap<AllocationId, u32>,
    order: Vec<BufferId>,
    /// What the SparseCore's operations work in, in colour 0.
    scratch: Option<AllocationId>,
    /// By allocation: when its values are wanted.
    when: Vec<When>,
}

impl Run<'_> {
    fn place_presets(&mut self) {
        for preset in &self.options.presets {
            let id = self.new_allocation(preset.size, preset.color);
            for placed in &preset.values {
                self.preset.insert(self.facts.value(placed.value).buffer);
                self.place_value(id, *placed);
            }
        }
    }

    fn new_allocation(&mut self, size: u64, color: Color) -> AllocationId {
        let id = AllocationId(self.allocations.len() as u32);
        self.when.push(When::default());
        self.allocations.push(Allocation {
            id,
            size,
            color,
            values: Vec::new(),
            is_constant: false,
            is_thread_local: false,
            is_tuple: false,
            maybe_live_out: false,
            parameter: None,
            merged: Vec::new(),
        });
        id
    }

    fn place_value(&mut self, allocation: AllocationId, placed: Placed) {
        let values = &mut self.allocations[allocation.index()].values;
        let range = self.ranges.get(placed.value);
        let number = values.len() as u32;
        self.when[allocation.index()].push(number, range);
        values.push(placed);
        self.place[placed.value.index()] = (allocation, number);
        self.decisions.push(Decision::Place {
            allocation,
            size: placed.size,
            offset: placed.offset,
            value: placed.value,
        });
    }

    fn place_buffer(&mut self, allocation: AllocationId, buffer: BufferId) {
        let facts = self.facts;
        let buffer = facts.buffer(buffer);
        for &value in &buffer.values {
            self.place_value(allocation, Placed { value, offset: 0, size: buffer.size });
        }
        self.allocations[allocation.index()].maybe_live_out |= buffer.live_out;
    }

    /// 8.4: the buffers of these computations, in their order, one by one.
    fn assign_computations(&mut self, computations: &[ComputationId], thread_local: bool) {
        let module = self.module;
        let facts = self.facts;
        let mut ours = vec![false; module.computations.len()];
        for c in computations {
            ours[c.index()] = true;
        }
        let mut candidates: Vec<BufferId> = facts
            .buffers()
            .iter()
            .filter(|b| ours[module.instruction(facts.defining(b.values[0])).computation.index()])
            .filter(|b| !self.preset.contains(&b.id))
            .map(|b| b.id)
            .collect();
        let sweep = facts.target.backend == Backend::Tpu;
        if !sweep {
            let position = self.positions(&ours);
            candidates.arrange_by_cached_key(|id| {
                let b = facts.buffer(*id);
                let first = b.values.iter().map(|v| position[facts.defining(*v).index()]).min();
                (std::cmp::Reverse(b.size), !b.live_out, first, *id)
            });
        } else if !thread_local {
            candidates.arrange_by_cached_key(|id| {
                let b = facts.buffer(*id);
                (self.hull(*id).0, std::cmp::Reverse(b.size), !b.live_out, *id)
            });
        }
        let mut reuse = if sweep { Reuse::Pool(FreePool::default()) } else { Reuse::List(Vec::new()) };
        for buffer in candidates {
            self.order.push(buffer);
            self.assign_buffer(buffer, thread_local, &mut reuse);
        }
    }

    /// The memories of the SparseCore are given out first, the largest buffer first: each is one allocation, in which all
    /// of its buffers begin at 0, even where they are alive together (each operation there has a stack of its own).
    fn assign_sparse_core(&mut self, global: &[ComputationId]) {
        let (module, facts) = (self.module, self.facts);
        let mut candidates: Vec<BufferId> = facts
            .buffers()
            .iter()
            .filter(|b| facts.target.is_sparse_core(b.color) && !self.preset.contains(&b.id))
            .filter(|b| global.contains(&module.instruction(facts.defining(b.values[0])).computation))
            .map(|b| b.id)
            .collect();
        candidates.arrange_by_key(|id| {
            let b = facts.buffer(*id);
            (std::cmp::Reverse(b.size), !b.live_out, *id)
        });
        let mut of_color: BTreeMap<Color, AllocationId> = BTreeMap::new();
        for buffer in candidates {
            self.preset.insert(buffer);
            self.order.push(buffer);
            self.decisions.push(Decision::Assign { buffer });
            let color = self.facts.buffer(buffer).color;
            if let Some(&allocation) = of_color.get(&color) {
                self.place_buffer(allocation, buffer);
                self.decisions.push(Decision::Reuse { operand: false, allocation, buffer });
            } else {
                of_color.insert(color, self.make(buffer, NewKind::Other));
            }
        }
    }

    /// Is it memory that an operation of the SparseCore only works in, kept in the context of its asynchronous chain?
    /// Like the SparseCore's own memories it begins at one place for all of them.
    fn is_sparse_core_scratch(&self, buffer: BufferId) -> bool {
        let (module, facts) = (self.module, self.facts);
        let buffer = facts.buffer(buffer);
        let is_context = |v: &ValueId| {
            let at = facts.value(*v).defined_at();
            matches!(module.instruction(at.instruction).opcode, Opcode::AsyncStart | Opcode::AsyncUpdate)
                && sub_index(module, at.instruction, at.sub).0.first().is_some_and(|n| *n > 1)
        };
        let is_sparse = |v: &ValueId| {
            let thread = module.attribute(facts.defining(*v), "async_execution_thread");
            thread.is_some_and(|thread| thread.contains("sparsecore"))
        };
        facts.target.backend == Backend::Tpu
            && buffer.color == Color(0)
            && buffer.size > 0
            && buffer.values.iter().all(is_context)
            && buffer.values.iter().any(is_sparse)
    }

    /// From when to when a buffer is wanted; buffers without ranges are never ready.
    fn hull(&self, buffer: BufferId) -> (Step, Step) {
        let ranges = self.facts.buffer(buffer).values.iter().filter_map(|v| self.ranges.get(*v));
        ranges.fold((Step(u32::MAX), Step(0)), |(s, e), r| (s.min(r.start), e.max(r.end)))
    }

    /// 8.4: positions of instructions, callers before callees; `u32::MAX` outside these computations.
    fn positions(&self, ours: &[bool]) -> Vec<u32> {
        let module = self.module;
        let orders = &self.facts.orders;
        let mut done = vec![false; module.computations.len()];
        let mut post_order: Vec<ComputationId> = Vec::new();
        // Callees in the order of their first call, each with the ones below it first.
        let callees = |c: ComputationId| -> Vec<ComputationId> {
            let mut seen = BTreeSet::new();
            let mut out: Vec<ComputationId> = orders.instructions[c.index()]
                .iter()
                .flat_map(|i| module.called(*i))
                .copied()
                .filter(|c| seen.insert(*c))
                .collect();
            out.reverse();
            out
        };
        let mut stack: Vec<(ComputationId, Vec<ComputationId>)> = Vec::new();
        for &root in &orders.storage {
            if !self.facts.graph.callers(root).is_empty() || done[root.index()] {
                continue;
            }
            done[root.index()] = true;
            stack.push((root, callees(root)));
            while let Some((at, rest)) = stack.last_mut() {
                match rest.pop() {
                    Some(next) => {
                        if !std::mem::replace(&mut done[next.index()], true) {
                            stack.push((next, callees(next)));
                        }
                    }
                    None => {
                        post_order.push(*at);
                        stack.pop();
                    }
                }
            }
        }
        let mut position = vec![u32::MAX; module.instructions.len()];
        let mut next = 0;
        for c in post_order.iter().rev().filter(|c| ours[c.index()]) {
            for i in self.facts.graph.post_order(*c) {
                position[i.index()] = next;
                next += 1;
            }
        }
        position
    }

    /// 8.5: the categories, in order.
    fn assign_buffer(&mut self, id: BufferId, thread_local: bool, reuse: &mut Reuse) {
        let (module, facts) = (self.module, self.facts);
        let buffer = facts.buffer(id);
        self.decisions.push(Decision::Assign { buffer: id });
        for &v in &buffer.values {
            let at = facts.value(v).defined_at();
            let instruction = module.instruction(at.instruction);
            if instruction.opcode == Opcode::Constant {
                let a = self.make(id, NewKind::Constant);
                self.allocations[a.index()].is_constant = true;
                return;
            }
            if instruction.opcode == Opcode::Parameter && instruction.computation == module.entry {
                let a = self.make(id, NewKind::Parameter);
                let aliased = is_aliased(module, at);
                self.allocations[a.index()].parameter = Some(EntryParameter {
                    number: module.parameter_number(at.instruction).unwrap_or(0),
                    index: sub_index(module, at.instruction, at.sub),
                    aliased,
                });
                if aliased && let Reuse::List(list) = reuse {
                    list.push(a);
                }
                return;
            }
        }
        if thread_local {
            let a = self.make(id, NewKind::ThreadLocal);
            self.allocations[a.index()].is_thread_local = true;
            return;
        }
        for &v in &buffer.values {
            let at = facts.value(v).defined_at();
            if module.shapes.is_tuple(facts.value_shape(module, v)) {
                let a = self.make(id, NewKind::Tuple);
                self.allocations[a.index()].is_tuple = true;
                return;
            }
            if at.sub != 0 {
                continue;
            }
            for &operand in module.operands(at.instruction) {
                for a in self.allocations_of(operand) {
                    if self.try_assign(id, a) {
                        self.decisions.push(Decision::Reuse { operand: true, allocation: a, buffer: id });
                        return;
                    }
                }
            }
        }
        if self.is_sparse_core_scratch(id) {
            let size = buffer.size;
            match self.scratch.filter(|a| self.allocations[a.index()].size >= size) {
                Some(allocation) => {
                    self.place_buffer(allocation, id);
                    self.decisions.push(Decision::Reuse { operand: false, allocation, buffer: id });
                }
                None => {
                    let allocation = self.make(id, NewKind::Other);
                    self.scratch = Some(allocation);
                    if let Reuse::Pool(pool) = reuse {
                        pool.begin(allocation, self.hull(id).1);
                    }
                }
            }
            return;
        }
        if let Some(a) = self.try_reuse(id, reuse) {
            self.decisions.push(Decision::Reuse { operand: false, allocation: a, buffer: id });
            return;
        }
        // Without a schedule there is no clock to simulate a heap on.
        if !buffer.live_out && facts.partial_order.is_none() {
            for &value in &buffer.values {
                self.decisions.push(Decision::Delay { value });
                self.delayed.entry(buffer.color).or_default().push(value);
            }
            return;
        }
        let a = self.make(id, NewKind::Other);
        match reuse {
            Reuse::List(list) => list.push(a),
            Reuse::Pool(pool) => pool.begin(a, self.hull(id).1),
        }
    }

    /// A new allocation with the buffer in it. XLA places first and reports after.
    fn make(&mut self, buffer: BufferId, kind: NewKind) -> AllocationId {
        let b = self.facts.buffer(buffer);
        let allocation = self.new_allocation(b.size, b.color);
        self.place_buffer(allocation, buffer);
        self.decisions.push(Decision::New { kind, allocation, buffer });
        allocation
    }

    /// The allocations that hold the operand's result itself, each slice once.
    fn allocations_of(&self, operand: InstructionId) -> Vec<AllocationId> {
        let values = self.facts.dataflow.at(analysis::Position { instruction: operand, sub: 0 });
        let mut slices: Vec<(AllocationId, u64, u64)> = values
            .iter()
            .filter_map(|v| {
                let (a, number) = *self.place.get(v.index())?;
                let p = self.allocations.get(a.index())?.values.get(number as usize)?;
                Some((a, p.offset, p.size))
            })
            .collect();
        slices.arrange_unstable();
        slices.dedup();
        slices.into_iter().map(|(a, ..)| a).collect()
    }

    /// 8.5 step 4, or its sweeping form on TPU.
    fn try_reuse(&mut self, buffer: BufferId, reuse: &mut Reuse) -> Option<AllocationId> {
        match reuse {
            Reuse::List(list) => list.iter().rev().copied().find(|a| self.try_assign(buffer, *a)),
            Reuse::Pool(pool) => {
                let (start, end) = self.hull(buffer);
                let b = self.facts.buffer(buffer);
                let (size, color) = (b.size, b.color);
                pool.advance(start, |a| {
                    let allocation = &self.allocations[a.index()];
                    (allocation.color, allocation.size)
                });
                let found = pool.candidates(color, size).into_iter().find(|a| self.try_assign(buffer, *a))?;
                pool.take(color, self.allocations[found.index()].size, found);
                pool.begin(found, end);
                Some(found)
            }
        }
    }

    /// 8.5.1: tries one allocation; on success the buffer is in it.
    fn try_assign(&mut self, buffer: BufferId, allocation: AllocationId) -> bool {
        self.decisions.push(Decision::Try { buffer, allocation });
        match self.refusal(buffer, allocation) {
            Some(reason) => {
                self.decisions.push(Decision::Refuse { buffer, allocation, reason });
                false
            }
            None => {
                self.place_buffer(allocation, buffer);
                true
            }
        }
    }

    /// The nine reasons, in their order (8.5.1).
    fn refusal(&self, buffer: BufferId, allocation: AllocationId) -> Option<Refusal> {
        let (module, facts) = (self.module, self.facts);
        let b = facts.buffer(buffer);
        let a = &self.allocations[allocation.index()];
        if b.color != a.color {
            return Some(Refusal::Color { buffer: b.color, allocation: a.color });
        }
        if b.size > a.size {
            return Some(Refusal::TooBig { buffer: b.size, allocation: a.size });
        }
        if a.is_read_only() {
            return Some(Refusal::ReadOnly);
        }
        let forbidden = |v: &ValueId| self.options.must_not_live_out.contains(v);
        if a.maybe_live_out
            && let Some(v) = b.values.iter().copied().find(forbidden)
        {
            return Some(Refusal::NewMustNotLiveOut(v));
        }
        if b.live_out
            && !self.options.must_not_live_out.is_empty()
            && let Some(v) = a.values.iter().map(|p| p.value).find(forbidden)
        {
            return Some(Refusal::OldMustNotLiveOut(v));
        }
        if !a.is_reusable() {
            return Some(Refusal::NotReusable);
        }
        let clash = |old: ValueId| {
            b.values.iter().find_map(|&new| {
                if let Some(why) = interference(module, facts, self.ranges, new, old) {
                    return Some(Refusal::Interference { old, new, why });
                }
                self.is_copy_of(new, old).then_some(Refusal::CopyOfItself { old, new })
            })
        };
        // The first value in the allocation's own order is the reason. Most often it is one of the first.
        let (first, rest) = a.values.split_at(a.values.len().min(FIRST));
        if let Some(reason) = first.iter().find_map(|p| clash(p.value)) {
            return Some(reason);
        }
        let reason = match self.candidates(b, a) {
            None => rest.iter().find_map(|p| clash(p.value)),
            Some(few) => few.into_iter().find_map(|at| clash(a.values[at as usize].value)),
        };
        if reason.is_some() {
            return reason;
        }
        if b.live_out && a.size != b.size {
            return Some(Refusal::LiveOutSize { buffer: b.size, allocation: a.size });
        }
        None
    }

    /// Which values of an allocation could be in the buffer's way, by their numbers in it, in order; `None` where all have to
    /// be looked at.
    fn candidates(&self, buffer: &Buffer, allocation: &Allocation) -> Option<Vec<u32>> {
        if allocation.values.len() <= 2 * FIRST || self.facts.partial_order.is_some() {
            return None;
        }
        let is_copy = |v: &ValueId| self.module.instruction(self.facts.defining(*v)).opcode == Opcode::Copy;
        if buffer.values.iter().any(is_copy) {
            return None;
        }
        let mut out = Vec::new();
        for range in buffer.values.iter().filter_map(|v| self.ranges.get(*v)) {
            self.when[allocation.id.index()].overlapping(range, &mut out);
        }
        out.arrange_unstable();
        out.dedup();
        Some(out)
    }

    /// Reason 8: is `new` a copy of something that stands where `old` does?
    fn is_copy_of(&self, new: ValueId, old: ValueId) -> bool {
        let copy = self.facts.defining(new);
        self.module.instruction(copy).opcode == Opcode::Copy
            && self
                .module
                .operands(copy)
                .iter()
                .any(|o| self.facts.value(old).positions.iter().any(|p| p.instruction == *o))
    }

    /// 8.6: a heap for each colour over the values that were left to it.
    fn simulate_heaps(&mut self) {
        for (color, values) in std::mem::take(&mut self.delayed) {
            self.decisions.push(Decision::Simulate { color });
            let events = heap::events(self.module, self.facts, self.ranges, &values);
            let options = packing::Options {
                algorithm: self
                    .options
                    .algorithm
                    .unwrap_or_else(|| own_algorithm(self.facts.target.backend, color)),
                alignment: self.facts.target.alignment(color),
                limit: self.options.heap_limit,
                ..packing::Options::default()
            };
            let packing = heap::pack(&events, &options);
            self.decisions.push(Decision::Heap { size: packing.total() });
            for heap in &packing.heaps {
                let allocation = self.new_allocation(heap.size, color);
                self.heap_of.insert(allocation, self.heaps.len() as u32);
                for (key, chunk) in &heap.chunks {
                    let placed = Placed { value: ValueId(key.0), offset: chunk.offset, size: chunk.size };
                    self.place_value(allocation, placed);
                }
            }
            let unfragmented = packing::unfragmented_size(&events);
            self.heaps.push(HeapRun { color, events, options, packing, unfragmented });
        }
    }

    /// 8.3 step 5.
    fn mark_live_out(&mut self) {
        for buffer in self.facts.buffers().iter().filter(|b| b.live_out) {
            for v in &buffer.values {
                let home = self.place.get(v.index()).map(|(a, _)| a.index());
                if let Some(a) = home.and_then(|a| self.allocations.get_mut(a)) {
                    a.maybe_live_out = true;
                }
            }
        }
    }

    fn finish(mut self) -> (Assignment, Decisions) {
        self.decisions.shrink();
        for a in &mut self.allocations {
            a.values.arrange_by_key(|p| p.value);
            a.values.shrink_to_fit();
        }
        let home = homes(&self.allocations, self.place.len());
        let assignment = Assignment {
            allocations: self.allocations,
            heaps: self.heaps,
            home,
            order: self.order,
            end: self.ranges.end(),
        };
        (assignment, self.decisions)
    }
}

/// So many values of an allocation are asked one by one before it is looked up which of them can be in the way.
const FIRST: usize = 32;

/// The packer that a backend takes for a colour (8.6; GPU and TPU supplement, 8.4).
fn own_algorithm(backend: Backend, color: Color) -> packing::Algorithm {
    match (backend, color.0) {
        (Backend::Cpu | Backend::Gpu, _) | (Backend::Tpu, 2 | 4) => packing::Algorithm::BestOfSpatialTemporal,
        (Backend::Tpu, _) => packing::Algorithm::FastMerge,
    }
}

/// The index of a place in an instruction's result.
fn sub_index(module: &Module, id: InstructionId, sub: u32) -> ShapeIndex {
    module.shapes.subshapes(module.instruction(id).shape)[sub as usize].index.clone()
}
