//! HLO values: which result is the same as which other one (dataflow, 2).

use crate::clock::{bound_operands, wrapped};
use crate::graph::{Context, Read, is_control_flow};
use crate::{Backend, BufferId, CallGraph, Color, Orders, Target, ValueId};
use hlo::{ComputationId, InstructionId, Module, Opcode};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use sorts::Arrange as _;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A place in an instruction's result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    /// The instruction.
    pub instruction: InstructionId,
    /// The pre-order number of the place in its shape: 0 is the result itself ([`hlo::Shapes::subshapes`]).
    pub sub: u32,
}

/// A read of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Use {
    /// The reader.
    pub user: InstructionId,
    /// Which of its operands.
    pub operand: u32,
    /// The pre-order number of the place in the operand's shape.
    pub sub: u32,
}

/// An HLO value (2): one thing that is computed once and may stand at many positions.
#[derive(Clone, Debug)]
pub struct Value {
    /// XLA's number.
    pub id: ValueId,
    /// Where it stands; the first defines it.
    pub positions: Vec<Position>,
    /// Who reads it.
    pub uses: Vec<Use>,
    /// Does it stand for one of several values, depending on the way taken (loops, branches)?
    pub is_phi: bool,
    /// Is a part of the module's result (2.9)?
    pub live_out: bool,
    /// Its memory space (8.1).
    pub color: Color,
    /// The buffer it belongs to (3).
    pub buffer: BufferId,
}

impl Value {
    /// Where it is defined.
    #[must_use]
    pub fn defined_at(&self) -> Position {
        self.positions[0]
    }
}

type ValueSet = SmallVec<[ValueId; 1]>;

/// The values that can stand at each position.
#[derive(Debug)]
pub struct Values {
    /// By id; `None` where a number was given out and taken back (2.4).
    pub(crate) all: Vec<Option<Value>>,
    sets: Vec<ValueSet>,
    base: Vec<u32>,
}

impl Values {
    /// The values that can stand there, by id. None where the analysis has not been: in an instruction made since.
    #[must_use]
    pub fn at(&self, position: Position) -> &[ValueId] {
        let at = position.instruction.index();
        let (Some(&here), Some(&next)) = (self.base.get(at), self.base.get(at + 1)) else { return &[] };
        if here + position.sub < next { &self.sets[(here + position.sub) as usize] } else { &[] }
    }

    /// The one value that stands there; `None` if there are none or several.
    #[must_use]
    pub fn unique_at(&self, position: Position) -> Option<ValueId> {
        match self.at(position) {
            [one] => Some(*one),
            _ => None,
        }
    }

    /// Runs the dataflow analysis.
    pub(crate) fn new(module: &Module, orders: &Orders, graph: &CallGraph, target: &Target) -> Self {
        let mut flow = Flow::new(module, orders, graph, target);
        flow.define();
        flow.propagate();
        flow.simplify_phis();
        flow.finish()
    }
}

struct Phi {
    id: ValueId,
    inputs: Vec<ValueId>,
}

struct Flow<'a> {
    module: &'a Module,
    orders: &'a Orders,
    graph: &'a CallGraph,
    target: &'a Target,
    base: Vec<u32>,
    sets: Vec<ValueSet>,
    /// By value id: where it is defined.
    defined: Vec<Position>,
    is_phi: Vec<bool>,
    deleted: Vec<bool>,
    phis: Vec<Phi>,
    phi_number: FxHashMap<ValueId, usize>,
}

impl<'a> Flow<'a> {
    fn new(module: &'a Module, orders: &'a Orders, graph: &'a CallGraph, target: &'a Target) -> Self {
        let mut base = Vec::with_capacity(module.instructions.len() + 1);
        let mut total = 0u32;
        base.push(0);
        for i in &module.instructions {
            total = total.saturating_add(module.shapes.subshapes(i.shape).len() as u32);
            base.push(total);
        }
        Self {
            module,
            orders,
            graph,
            target,
            sets: vec![ValueSet::new(); total as usize],
            base,
            defined: Vec::new(),
            is_phi: Vec::new(),
            deleted: Vec::new(),
            phis: Vec::new(),
            phi_number: FxHashMap::default(),
        }
    }

    fn subs(&self, id: InstructionId) -> u32 {
        self.base[id.index() + 1] - self.base[id.index()]
    }

    fn slot(&self, id: InstructionId, sub: u32) -> usize {
        (self.base[id.index()] + sub) as usize
    }

    /// The pre-order number of `{index...}` in an instruction's shape.
    fn find(&self, id: InstructionId, index: &[u32]) -> Option<u32> {
        self.module.shapes.find(self.module.instruction(id).shape, index)
    }

    /// The pre-order numbers below (and at) `{index...}`: first and how many.
    fn subtree(&self, id: InstructionId, index: &[u32]) -> Option<(u32, u32)> {
        let shapes = &self.module.shapes;
        let shape = self.module.instruction(id).shape;
        let first = shapes.find(shape, index)?;
        let inner = shapes.subshapes(shape)[first as usize].shape;
        Some((first, shapes.subshapes(inner).len() as u32))
    }

    fn new_value(&mut self, at: Position, is_phi: bool) -> ValueId {
        let id = ValueId(self.defined.len() as u32);
        self.defined.push(at);
        self.is_phi.push(is_phi);
        self.deleted.push(false);
        id
    }

    /// Gives out the first numbers (2.1).
    fn define(&mut self) {
        for &c in &self.orders.callee_first {
            for &id in self.graph.post_order(c) {
                for sub in 0..self.subs(id) {
                    if self.defines(id, sub) {
                        let value = self.new_value(Position { instruction: id, sub }, false);
                        let slot = self.slot(id, sub);
                        self.sets[slot].push(value);
                    }
                }
            }
        }
    }

    fn defines(&self, id: InstructionId, sub: u32) -> bool {
        let instruction = self.module.instruction(id);
        let shapes = &self.module.shapes;
        let place = &shapes.subshapes(instruction.shape)[sub as usize];
        let index = &place.index.0[..];
        let is_tuple = shapes.is_tuple(place.shape);
        match instruction.opcode {
            Opcode::Bitcast
            | Opcode::AddDependency
            | Opcode::While
            | Opcode::Call
            | Opcode::Conditional
            | Opcode::GetTupleElement
            | Opcode::Domain
            | Opcode::OptimizationBarrier
            | Opcode::CopyDone
            | Opcode::AllReduceDone => false,
            Opcode::Parameter => {
                self.graph.callers(instruction.computation).is_empty()
                    || self.graph.context(instruction.computation) == Context::Embedded
            }
            Opcode::Copy | Opcode::Tuple => index.is_empty(),
            Opcode::CopyStart => matches!(index, [] | [0 | 2]),
            Opcode::AsyncStart => is_tuple || index.first().is_some_and(|n| *n > 1),
            // libtpu's updates define the context anew; the public source forwards it.
            Opcode::AsyncUpdate => {
                is_tuple || (self.target.backend == Backend::Tpu && index.first().is_some_and(|n| *n > 1))
            }
            Opcode::AsyncDone => is_tuple,
            Opcode::AllGatherStart => is_tuple || index.first() == Some(&1),
            Opcode::AllGatherDone | Opcode::CollectivePermuteDone => index.is_empty() && is_tuple,
            Opcode::CollectivePermuteStart => {
                let operands = self.module.operands(id).len();
                match index {
                    [] | [1] => true,
                    [k] if *k >= 2 => true,
                    [1, _] => operands > 1,
                    _ => false,
                }
            }
            Opcode::RecvDone => matches!(index, [] | [1]),
            Opcode::Send => matches!(index, [] | [1 | 2]),
            _ => true,
        }
    }

    /// Numbers instructions in the order in which the work list takes them (2.2).
    fn ordinals(&self) -> Vec<u32> {
        let mut ordinal = vec![0u32; self.module.instructions.len()];
        let mut numbered = vec![false; self.module.instructions.len()];
        let mut next = 0;
        let mut entered = vec![false; self.module.computations.len()];
        entered[self.module.entry.index()] = true;
        let mut stack: Vec<(ComputationId, usize, bool)> = vec![(self.module.entry, 0, false)];
        while let Some(frame) = stack.last_mut() {
            let (c, at, ready) = *frame;
            let Some(&id) = self.graph.post_order(c).get(at) else {
                stack.pop();
                continue;
            };
            if ready {
                if !numbered[id.index()] {
                    numbered[id.index()] = true;
                    ordinal[id.index()] = next;
                    next += 1;
                }
                *frame = (c, at + 1, false);
                continue;
            }
            frame.2 = true;
            let opcode = self.module.instruction(id).opcode;
            let called = self.module.called(id);
            let visit = |callee: &ComputationId, stack: &mut Vec<_>, entered: &mut Vec<bool>| {
                if !std::mem::replace(&mut entered[callee.index()], true) {
                    stack.push((*callee, 0, false));
                }
            };
            match opcode {
                // The last pushed is walked first: a while's condition, then its body.
                Opcode::While => called.iter().for_each(|c| visit(c, &mut stack, &mut entered)),
                Opcode::Call | Opcode::Conditional | Opcode::AsyncStart => {
                    called.iter().rev().for_each(|c| visit(c, &mut stack, &mut entered));
                }
                _ => {}
            }
        }
        ordinal
    }

    fn propagate(&mut self) {
        let ordinal = self.ordinals();
        let mut waiting = vec![true; self.module.instructions.len()];
        let mut work: BinaryHeap<Reverse<(u32, InstructionId)>> =
            self.module.instruction_ids().map(|i| Reverse((ordinal[i.index()], i))).collect();
        let add = |id: InstructionId, work: &mut BinaryHeap<_>, waiting: &mut Vec<bool>| {
            if !std::mem::replace(&mut waiting[id.index()], true) {
                work.push(Reverse((ordinal[id.index()], id)));
            }
        };
        while let Some(Reverse((_, id))) = work.pop() {
            waiting[id.index()] = false;
            if !self.update(id) {
                continue;
            }
            for read in self.graph.reads(id) {
                let user = read.user;
                add(user, &mut work, &mut waiting);
                let opcode = self.module.instruction(user).opcode;
                match opcode {
                    Opcode::Conditional => {
                        if let Some(branch) =
                            read.operand.checked_sub(1).and_then(|j| self.module.called(user).get(j as usize))
                        {
                            for p in self.module.computation(*branch).parameters.iter().take(1) {
                                add(*p, &mut work, &mut waiting);
                            }
                        }
                    }
                    Opcode::AsyncUpdate | Opcode::AsyncDone => {
                        if let Some(callee) = wrapped(self.module, user) {
                            for p in &self.module.computation(callee).parameters {
                                add(*p, &mut work, &mut waiting);
                            }
                        }
                    }
                    _ if is_control_flow(opcode) => {
                        for callee in self.module.called(user) {
                            if let Some(p) =
                                self.module.computation(*callee).parameters.get(read.operand as usize)
                            {
                                add(*p, &mut work, &mut waiting);
                            }
                        }
                    }
                    _ => {}
                }
            }
            let computation = self.module.instruction(id).computation;
            if self.module.root(computation) == id {
                for &site in self.graph.callers(computation) {
                    let opcode = self.module.instruction(site).opcode;
                    if !is_control_flow(opcode) {
                        continue;
                    }
                    add(site, &mut work, &mut waiting);
                    if opcode == Opcode::While {
                        for callee in self.module.called(site) {
                            for p in self.module.computation(*callee).parameters.iter().take(1) {
                                add(*p, &mut work, &mut waiting);
                            }
                        }
                    }
                    // The links behind the start forward the wrapped root too.
                    if opcode == Opcode::AsyncStart {
                        let mut link = site;
                        while let Some(next) = self.graph.reads(link).iter().map(|r| r.user).find(|u| {
                            matches!(
                                self.module.instruction(*u).opcode,
                                Opcode::AsyncUpdate | Opcode::AsyncDone
                            )
                        }) {
                            add(next, &mut work, &mut waiting);
                            link = next;
                        }
                    }
                }
            }
        }
    }

    /// Recomputes the value sets of one instruction from its inputs (2.3). Did anything change?
    fn update(&mut self, id: InstructionId) -> bool {
        let module = self.module;
        let instruction = module.instruction(id);
        let operands = module.operands(id);
        match instruction.opcode {
            Opcode::Bitcast
            | Opcode::OptimizationBarrier
            | Opcode::Domain
            | Opcode::AddDependency
            | Opcode::AllReduceDone => {
                operands.first().is_some_and(|o| self.forward(id, 0, *o, 0, self.subs(id)))
            }
            Opcode::Copy => {
                operands.first().is_some_and(|o| self.forward(id, 1, *o, 1, self.subs(id).saturating_sub(1)))
            }
            Opcode::GetTupleElement => {
                let index = module.attribute(id, "index").and_then(|v| v.parse().ok());
                match (operands.first(), index) {
                    (Some(&o), Some(index)) => match self.subtree(o, &[index]) {
                        Some((first, count)) => self.forward(id, 0, o, first, count),
                        None => false,
                    },
                    _ => false,
                }
            }
            Opcode::Tuple => {
                let mut changed = false;
                let mut at = 1;
                for &o in operands {
                    let count = self.subs(o);
                    changed |= self.forward(id, at, o, 0, count);
                    at += count;
                }
                changed
            }
            Opcode::Call => match module.called(id).first() {
                Some(callee) => self.forward(id, 0, module.root(*callee), 0, self.subs(id)),
                None => false,
            },
            Opcode::CopyStart => match (operands.first(), self.find(id, &[1])) {
                (Some(&o), Some(sub)) => self.forward(id, sub, o, 0, 1),
                _ => false,
            },
            Opcode::CopyDone => self.forward_subtree(id, &[], operands.first().copied(), &[0]),
            Opcode::Send => self.forward_subtree(id, &[0], operands.first().copied(), &[]),
            Opcode::RecvDone => self.forward_subtree(id, &[0], operands.first().copied(), &[0]),
            Opcode::AllGatherStart | Opcode::CollectivePermuteStart => {
                // With one operand its buffer is element {0}; with several, {0} is a tuple of them.
                let in_place = operands.len() == 4 && self.find(id, &[0, 0]).is_none();
                if operands.len() == 1 || in_place {
                    return self.forward_subtree(id, &[0], operands.first().copied(), &[]);
                }
                let mut changed = false;
                for (i, o) in operands.iter().enumerate() {
                    changed |= self.forward_subtree(id, &[0, i as u32], Some(*o), &[]);
                }
                changed
            }
            Opcode::AllGatherDone | Opcode::CollectivePermuteDone => {
                let Some(&o) = operands.first() else { return false };
                let Some((first, count)) = self.subtree(o, &[1]) else { return false };
                // The result's own pointer table, if it is a tuple, is a value of its own.
                let skip = u32::from(module.shapes.is_tuple(instruction.shape));
                self.forward(id, skip, o, first + skip, count.saturating_sub(skip))
            }
            Opcode::AsyncStart | Opcode::AsyncUpdate | Opcode::AsyncDone => self.update_async(id),
            Opcode::While => {
                let mut inputs: SmallVec<[InstructionId; 4]> = SmallVec::new();
                inputs.extend(module.called(id).first().map(|body| module.root(*body)));
                inputs.extend(operands.first().copied());
                self.phi(id, &inputs)
            }
            Opcode::Conditional => {
                let inputs: SmallVec<[InstructionId; 4]> =
                    module.called(id).iter().map(|b| module.root(*b)).collect();
                self.phi(id, &inputs)
            }
            Opcode::Parameter => self.update_parameter(id),
            _ => false,
        }
    }

    fn update_parameter(&mut self, id: InstructionId) -> bool {
        let module = self.module;
        let computation = module.instruction(id).computation;
        let sites = self.graph.callers(computation);
        if sites.is_empty() || self.graph.context(computation) == Context::Embedded {
            return false;
        }
        let number = module.parameter_number(id).unwrap_or(0) as usize;
        let mut inputs: SmallVec<[InstructionId; 4]> = SmallVec::new();
        let mut is_phi = false;
        for &site in sites {
            let operands = module.operands(site);
            match module.instruction(site).opcode {
                Opcode::Call => inputs.extend(operands.get(number).copied()),
                Opcode::While => {
                    is_phi = true;
                    inputs.extend(operands.first().copied());
                    let body_root = module.called(site).first().map(|body| module.root(*body));
                    inputs.extend(body_root.filter(|root| *root != id));
                }
                Opcode::Conditional => {
                    is_phi = true;
                    // One operand for each branch that names this computation.
                    for (branch, callee) in module.called(site).iter().enumerate() {
                        if *callee == computation {
                            inputs.extend(operands.get(branch + 1).copied());
                        }
                    }
                }
                Opcode::AsyncStart | Opcode::AsyncUpdate | Opcode::AsyncDone => {
                    inputs.extend(bound_operands(module, site).get(number).copied());
                    // Later links may bind what the start leaves open.
                    if module.instruction(site).opcode == Opcode::AsyncStart {
                        let last = self.last_link(site);
                        if inputs.is_empty() {
                            inputs.extend(bound_operands(module, last).get(number).copied());
                        }
                    }
                }
                _ => {}
            }
        }
        if is_phi { self.phi(id, &inputs) } else { self.union(id, &inputs) }
    }

    /// The last link of an async chain that starts here.
    fn last_link(&self, start: InstructionId) -> InstructionId {
        let mut link = start;
        while let Some(next) =
            self.graph.reads(link).iter().map(|r| r.user).find(|u| {
                matches!(self.module.instruction(*u).opcode, Opcode::AsyncUpdate | Opcode::AsyncDone)
            })
        {
            link = next;
        }
        link
    }

    fn update_async(&mut self, id: InstructionId) -> bool {
        let module = self.module;
        let opcode = module.instruction(id).opcode;
        let root = wrapped(module, id).map(|c| module.root(c));
        let mut changed = false;
        if opcode == Opcode::AsyncDone {
            let Some(root) = root else { return false };
            for sub in 0..self.subs(id).min(self.subs(root)) {
                if !self.defines(id, sub) {
                    changed |= self.forward(id, sub, root, sub, 1);
                }
            }
            return changed;
        }
        for (i, o) in bound_operands(module, id).into_iter().enumerate() {
            changed |= self.forward_leaves(id, &[0, i as u32], o);
        }
        // An output that is not bound yet is an empty tuple, and has no leaves to forward.
        if let Some(root) = root {
            changed |= self.forward_leaves(id, &[1], root);
        }
        if opcode == Opcode::AsyncUpdate
            && self.target.backend != Backend::Tpu
            && let Some(&previous) = module.operands(id).first()
        {
            for element in 2..u32::MAX {
                if self.find(id, &[element]).is_none() {
                    break;
                }
                changed |= self.forward_subtree(id, &[element], Some(previous), &[element]);
            }
        }
        changed
    }

    /// Array leaves of `from` below `index` of `id`, where the shapes have the same places.
    fn forward_leaves(&mut self, id: InstructionId, index: &[u32], from: InstructionId) -> bool {
        let Some((first, count)) = self.subtree(id, index) else { return false };
        if count != self.subs(from) {
            return false;
        }
        let mut changed = false;
        for sub in 0..count {
            if !self.defines(id, first + sub) {
                changed |= self.forward(id, first + sub, from, sub, 1);
            }
        }
        changed
    }

    /// Everything of `from` at and below `from_index` goes to `index` of `id`.
    fn forward_subtree(
        &mut self,
        id: InstructionId,
        index: &[u32],
        from: Option<InstructionId>,
        from_index: &[u32],
    ) -> bool {
        let Some(from) = from else { return false };
        match (self.subtree(id, index), self.subtree(from, from_index)) {
            (Some((to, a)), Some((first, b))) => self.forward(id, to, from, first, a.min(b)),
            _ => false,
        }
    }

    fn forward(
        &mut self,
        id: InstructionId,
        sub: u32,
        from: InstructionId,
        from_sub: u32,
        count: u32,
    ) -> bool {
        let count =
            count.min(self.subs(id).saturating_sub(sub)).min(self.subs(from).saturating_sub(from_sub));
        let mut changed = false;
        for i in 0..count {
            let (to, source) = (self.slot(id, sub + i), self.slot(from, from_sub + i));
            if to != source && self.sets[to] != self.sets[source] {
                let set = self.sets[source].clone();
                self.sets[to] = set;
                changed = true;
            }
        }
        changed
    }

    fn union(&mut self, id: InstructionId, inputs: &[InstructionId]) -> bool {
        let mut changed = false;
        for sub in 0..self.subs(id) {
            let mut set = ValueSet::new();
            for &input in inputs {
                if sub < self.subs(input) {
                    set.extend_from_slice(&self.sets[self.slot(input, sub)]);
                }
            }
            set.arrange_unstable();
            set.dedup();
            let slot = self.slot(id, sub);
            if self.sets[slot] != set {
                self.sets[slot] = set;
                changed = true;
            }
        }
        changed
    }

    /// One of several values comes in: the phi step (2.4).
    fn phi(&mut self, id: InstructionId, inputs: &[InstructionId]) -> bool {
        let mut changed = false;
        for sub in 0..self.subs(id) {
            let here = Position { instruction: id, sub };
            let slot = self.slot(id, sub);
            // Equal numbers count each time: a loop state that only passes through makes a phi of two equal inputs.
            let mut ids: Vec<ValueId> = Vec::new();
            for &input in inputs {
                if sub < self.subs(input) {
                    ids.extend_from_slice(&self.sets[self.slot(input, sub)]);
                }
            }
            let own = match self.sets[slot][..] {
                [v] if self.is_phi[v.index()] && self.defined[v.index()] == here => Some(v),
                _ => None,
            };
            match ids[..] {
                [] => {}
                [only] => {
                    if self.sets[slot][..] != [only] {
                        if let Some(own) = own {
                            self.deleted[own.index()] = true;
                        }
                        self.sets[slot] = ValueSet::from_slice(&[only]);
                        changed = true;
                    }
                }
                _ => match own {
                    Some(own) => {
                        let phi = &mut self.phis[self.phi_number[&own]];
                        if phi.inputs != ids {
                            phi.inputs = ids;
                            changed = true;
                        }
                    }
                    None => {
                        let value = self.new_value(here, true);
                        self.phi_number.insert(value, self.phis.len());
                        self.phis.push(Phi { id: value, inputs: ids });
                        self.sets[slot] = ValueSet::from_slice(&[value]);
                        changed = true;
                    }
                },
            }
        }
        changed
    }

    /// Takes back phis that stand for one value only (2.5).
    fn simplify_phis(&mut self) {
        let mut replaced: Vec<ValueId> = (0..self.defined.len() as u32).map(ValueId).collect();
        // Phis that read a value, as they were at first: XLA does not add those that come to read it through a
        // replacement, which then keep what they read.
        let mut readers: FxHashMap<ValueId, Vec<usize>> = FxHashMap::default();
        for (number, phi) in self.phis.iter().enumerate() {
            for input in &phi.inputs {
                readers.entry(*input).or_default().push(number);
            }
        }
        let mut closure: Vec<ValueId> = Vec::new();
        let mut seen = vec![u32::MAX; self.defined.len()];
        let mut turn = 0;
        loop {
            let mut changed = false;
            for i in 0..self.phis.len() {
                let id = self.phis[i].id;
                if self.deleted[id.index()] || replaced[id.index()] != id {
                    continue;
                }
                self.phis[i].inputs.retain(|v| *v != id);
                let inputs = &self.phis[i].inputs;
                let Some(&first) = inputs.first() else { continue };
                closure.clear();
                let mut only: Option<ValueId> = None;
                if inputs.iter().all(|v| *v == first) {
                    closure.push(id);
                    only = Some(first);
                } else {
                    // All that can come in, through other phis; more than one value that is no phi ends the search.
                    turn += 1;
                    closure.push(id);
                    seen[id.index()] = turn;
                    let mut at = 0;
                    'search: while let Some(phi) = closure.get(at) {
                        let number = self.phi_number[phi];
                        at += 1;
                        for input in &self.phis[number].inputs {
                            if std::mem::replace(&mut seen[input.index()], turn) == turn {
                                continue;
                            }
                            if self.is_phi[input.index()] {
                                closure.push(*input);
                            } else if only.replace(*input).is_some() {
                                only = None;
                                break 'search;
                            }
                        }
                    }
                }
                let Some(only) = only else { continue };
                for phi in &closure {
                    if replaced[phi.index()] != *phi {
                        continue;
                    }
                    replaced[phi.index()] = only;
                    changed = true;
                    for reader in readers.get(phi).map_or(&[][..], Vec::as_slice) {
                        for input in &mut self.phis[*reader].inputs {
                            if input == phi {
                                *input = only;
                            }
                        }
                    }
                }
            }
            if !changed {
                break;
            }
        }
        fn resolve(replaced: &mut [ValueId], mut v: ValueId) -> ValueId {
            while replaced[v.index()] != v {
                let up = replaced[replaced[v.index()].index()];
                replaced[v.index()] = up;
                v = up;
            }
            v
        }
        for slot in 0..self.sets.len() {
            let mut set = std::mem::take(&mut self.sets[slot]);
            let mut moved = false;
            for v in &mut set {
                let to = resolve(&mut replaced, *v);
                moved |= to != *v;
                *v = to;
            }
            if moved {
                set.arrange_unstable();
                set.dedup();
            }
            self.sets[slot] = set;
        }
        for phi in &self.phis {
            if replaced[phi.id.index()] != phi.id {
                self.deleted[phi.id.index()] = true;
            }
        }
    }

    /// In which order an instruction's users are told. XLA keeps them as they came, and each pass changes that; no dump
    /// holds it. A module as it was read has them in post-order, and on GPU and TPU that is still the best guess after all
    /// passes. XLA:CPU's passes leave them rather in the order of the schedule, copies last, because those come late.
    fn user_keys(&self) -> Vec<(bool, u32)> {
        let module = self.module;
        let mut keys = vec![(false, 0); module.instructions.len()];
        // Only the fusion passes give their computations names like these.
        let fused = |name: &str| {
            name.starts_with("fused_") || name.starts_with("wrapped_") || name.contains("fusion")
        };
        let is_compiled = self.target.backend == Backend::Cpu
            && module.computation_ids().any(|c| fused(module.computation_name(c)));
        for c in module.computation_ids() {
            if is_compiled && self.graph.context(c) == Context::ControlFlow {
                for (at, i) in module.computation(c).instructions.iter().enumerate() {
                    keys[i.index()] = (module.instruction(*i).opcode == Opcode::Copy, at as u32);
                }
            } else {
                for (at, i) in self.graph.post_order(c).iter().enumerate() {
                    keys[i.index()] = (false, at as u32);
                }
            }
        }
        keys
    }

    /// Positions, uses and what lives out (2.6, 2.7, 2.9).
    fn finish(self) -> Values {
        let module = self.module;
        let mut values: Vec<Option<Value>> = self
            .defined
            .iter()
            .enumerate()
            .map(|(i, at)| {
                (!self.deleted[i]).then(|| Value {
                    id: ValueId(i as u32),
                    positions: vec![*at],
                    uses: Vec::new(),
                    is_phi: self.is_phi[i],
                    live_out: false,
                    color: Color(0),
                    buffer: BufferId(0),
                })
            })
            .collect();
        for &c in &self.orders.storage {
            for &id in &self.orders.instructions[c.index()] {
                for sub in 0..self.subs(id) {
                    for v in &self.sets[self.slot(id, sub)] {
                        if let Some(value) = &mut values[v.index()]
                            && value.positions[0].instruction != id
                        {
                            value.positions.push(Position { instruction: id, sub });
                        }
                    }
                }
            }
        }
        let user_key = self.user_keys();
        let mut reads: Vec<Read> = Vec::new();
        let result = module.root(module.entry);
        for value in values.iter_mut().flatten() {
            let roots: SmallVec<[InstructionId; 8]> =
                value.positions.iter().map(|p| p.instruction).filter(|i| module.is_root(*i)).collect();
            value.live_out = roots.contains(&result);
            let mut uses = Vec::new();
            for p in &value.positions {
                reads.clear();
                reads.extend_from_slice(self.graph.reads(p.instruction));
                reads.arrange_by_key(|r| (user_key[r.user.index()], r.operand));
                for read in &reads {
                    let counts = match module.instruction(read.user).opcode {
                        Opcode::GetTupleElement | Opcode::Copy => p.sub == 0,
                        Opcode::Tuple | Opcode::Domain => false,
                        _ => true,
                    };
                    if counts || roots.contains(&read.user) {
                        uses.push(Use { user: read.user, operand: read.operand, sub: p.sub });
                    }
                }
            }
            value.uses = uses;
        }
        Values { all: values, sets: self.sets, base: self.base }
    }
}
