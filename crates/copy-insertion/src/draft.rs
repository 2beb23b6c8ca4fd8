//! The module while it is being changed: readers, control edges and the orders are kept up with every step.

use crate::Error;
use crate::cleanup::Effects;
use analysis::graph::Read;
use analysis::{Facts, Orders, Target};
use hlo::{Computation, ComputationId, InstructionId, Module, Opcode, Shape, ShapeId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A module under change. Ids stay valid to the end: what is removed is emptied and left where it was.
pub(crate) struct Draft {
    pub(crate) module: Module,
    pub(crate) target: Target,
    /// `SC`, without the computations that were removed.
    pub(crate) storage: Vec<ComputationId>,
    /// `PC`, without the computations that were removed.
    pub(crate) callee_first: Vec<ComputationId>,
    /// `SI`; what was removed may still stand in it, see [`Draft::stored`].
    stored: Vec<Vec<InstructionId>>,
    /// By instruction: its place in `SI` when the phase began.
    positions: Vec<u32>,
    exact: bool,
    users: Vec<Vec<InstructionId>>,
    successors: Vec<Vec<InstructionId>>,
    alive: Vec<bool>,
    /// By computation: the fusion whose body it is.
    fusion_of: Vec<Option<InstructionId>>,
    /// By computation: the asynchronous operation that wraps it.
    async_of: Vec<bool>,
    names: Names,
    /// By instruction: where the last walks have met it.
    marks: Vec<(u32, u8)>,
    walk: u32,
    /// While this is set, what removed instructions called outlives them until the next clean-up.
    pub(crate) spare_callees: bool,
    spared: Vec<ComputationId>,
    /// Instructions whose readers have changed since this was emptied last.
    pub(crate) touched: Vec<InstructionId>,
    /// What nobody read from the start and what is to stay all the same.
    unread: FxHashSet<InstructionId>,
}

/// Hands out names as XLA does: the opcode, made unique with the smallest number that was never taken (11.1.1).
#[derive(Default)]
struct Names {
    taken: FxHashSet<String>,
    next: FxHashMap<String, u64>,
}

impl Names {
    fn unique(&mut self, base: &str) -> String {
        let next = self.next.entry(base.to_owned()).or_insert(0);
        loop {
            let name = if *next == 0 { base.to_owned() } else { format!("{base}.{next}") };
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Which operands to replace.
#[derive(Clone, Copy)]
pub(crate) enum Operands {
    /// All that are equal; afterwards a fusion's equal operands are merged.
    All,
    /// This one only.
    Number(u32),
}

impl Draft {
    pub(crate) fn new(module: &Module, orders: &Orders, target: &Target) -> Self {
        let mut module = module.clone();
        // The pass makes a new order; what stood there as a schedule is none any more.
        if module.is_scheduled {
            module.is_scheduled = false;
            let header = std::mem::take(&mut module.header);
            module.header = header.into_iter().filter(|a| module.str(a.name) != "is_scheduled").collect();
        }
        let count = module.instructions.len();
        let mut draft = Self {
            target: target.clone(),
            storage: orders.storage.clone(),
            callee_first: orders.callee_first.clone(),
            stored: orders.instructions.clone(),
            positions: Vec::new(),
            exact: orders.exact,
            users: vec![Vec::new(); count],
            successors: vec![Vec::new(); count],
            alive: vec![true; count],
            fusion_of: vec![None; module.computations.len()],
            async_of: vec![false; module.computations.len()],
            names: Names::default(),
            marks: vec![(0, 0); count],
            walk: 0,
            spare_callees: false,
            spared: Vec::new(),
            touched: Vec::new(),
            unread: FxHashSet::default(),
            module,
        };
        for id in draft.module.instruction_ids() {
            draft.names.taken.insert(draft.module.name_of(id).to_owned());
            for called in draft.module.called(id).to_vec() {
                match draft.opcode(id) {
                    Opcode::Fusion => draft.fusion_of[called.index()] = Some(id),
                    Opcode::AsyncStart => draft.async_of[called.index()] = true,
                    _ => {}
                }
            }
            draft.attach(id);
        }
        draft
    }

    /// From now on what nobody reads stays.
    pub(crate) fn keep_unread(&mut self) {
        let is_unread = |i: &InstructionId| self.users(*i).is_empty() && !self.module.is_root(*i);
        self.unread = self.module.instruction_ids().filter(is_unread).collect();
    }

    /// Is it to stay though nobody reads it?
    pub(crate) fn is_kept(&self, id: InstructionId) -> bool {
        self.unread.contains(&id)
    }

    /// Enters an instruction with what it reads.
    fn attach(&mut self, id: InstructionId) {
        for operand in distinct(self.module.operands(id)) {
            self.users[operand.index()].push(id);
            self.touched.push(operand);
        }
        for n in 0..self.module.control_predecessors(id).len() {
            let before = self.module.control_predecessors(id)[n];
            self.successors[before.index()].push(id);
        }
    }

    pub(crate) fn opcode(&self, id: InstructionId) -> Opcode {
        self.module.instruction(id).opcode
    }

    pub(crate) fn shape(&self, id: InstructionId) -> ShapeId {
        self.module.instruction(id).shape
    }

    pub(crate) fn computation(&self, id: InstructionId) -> ComputationId {
        self.module.instruction(id).computation
    }

    pub(crate) fn is_alive(&self, id: InstructionId) -> bool {
        self.alive[id.index()]
    }

    /// Who reads it, each once.
    pub(crate) fn users(&self, id: InstructionId) -> &[InstructionId] {
        &self.users[id.index()]
    }

    /// What must wait for it though it does not read it.
    pub(crate) fn successors(&self, id: InstructionId) -> &[InstructionId] {
        &self.successors[id.index()]
    }

    pub(crate) fn has_control_edges(&self, id: InstructionId) -> bool {
        !self.successors[id.index()].is_empty() || !self.module.control_predecessors(id).is_empty()
    }

    /// A body that outlived its fusion is none any more.
    pub(crate) fn is_fusion_body(&self, c: ComputationId) -> bool {
        self.fusion_of(c).is_some()
    }

    pub(crate) fn fusion_of(&self, c: ComputationId) -> Option<InstructionId> {
        self.fusion_of[c.index()].filter(|f| self.is_alive(*f))
    }

    pub(crate) fn is_async_wrapped(&self, c: ComputationId) -> bool {
        self.async_of[c.index()]
    }

    /// `SI`: the instructions of a computation as they are stored.
    pub(crate) fn stored(&self, c: ComputationId) -> Vec<InstructionId> {
        self.stored[c.index()].iter().copied().filter(|i| self.is_alive(*i)).collect()
    }

    /// Its place in `SI` when the phase began.
    pub(crate) fn stored_position(&self, id: InstructionId) -> u32 {
        self.positions.get(id.index()).copied().unwrap_or(u32::MAX)
    }

    /// Who reads it, as which operand.
    pub(crate) fn reads(&self, id: InstructionId) -> Vec<Read> {
        let mut reads = Vec::new();
        for &user in self.users(id) {
            let operands = self.module.operands(user).iter().enumerate();
            reads.extend(operands.filter(|(_, o)| **o == id).map(|(k, _)| Read { user, operand: k as u32 }));
        }
        reads
    }

    /// Operands before their readers (1.2), as things are now.
    pub(crate) fn post_order(&mut self, c: ComputationId) -> Vec<InstructionId> {
        let instructions = self.stored(c);
        self.walk += 1;
        let walk = self.walk;
        let mut out = Vec::with_capacity(instructions.len());
        let mut stack: Vec<InstructionId> = Vec::new();
        for start in instructions {
            if !self.users(start).is_empty() {
                continue;
            }
            stack.push(start);
            while let Some(&at) = stack.last() {
                let (seen, state) = self.marks[at.index()];
                let state = if seen == walk { state } else { 0 };
                match state {
                    0 => {
                        self.marks[at.index()] = (walk, 1);
                        let marks = &self.marks;
                        let unfinished = |i: &&InstructionId| marks[i.index()] != (walk, 2);
                        stack.extend(self.module.operands(at).iter().rev().filter(unfinished));
                        stack.extend(self.module.control_predecessors(at).iter().filter(unfinished));
                    }
                    1 => {
                        self.marks[at.index()] = (walk, 2);
                        out.push(at);
                        stack.pop();
                    }
                    _ => {
                        stack.pop();
                    }
                }
            }
        }
        out
    }

    /// Makes an instruction at the end of a computation.
    pub(crate) fn add(
        &mut self,
        computation: ComputationId,
        opcode: Opcode,
        shape: ShapeId,
        operands: &[InstructionId],
    ) -> InstructionId {
        let name = self.names.unique(opcode.name());
        let id = self.module.add_instruction(computation, &name, opcode, shape, operands);
        self.users.push(Vec::new());
        self.successors.push(Vec::new());
        self.alive.push(true);
        self.marks.push((0, 0));
        self.stored[computation.index()].push(id);
        self.attach(id);
        id
    }

    pub(crate) fn add_element(&mut self, of: InstructionId, number: u32, shape: ShapeId) -> InstructionId {
        let id = self.add(self.computation(of), Opcode::GetTupleElement, shape, &[of]);
        self.module.set_attribute(id, "index", &number.to_string());
        id
    }

    fn remove_user(&mut self, of: InstructionId, user: InstructionId) {
        let users = &mut self.users[of.index()];
        // The one that goes was often the last that came.
        if let Some(n) = users.iter().rposition(|u| *u == user) {
            users.swap_remove(n);
        }
        self.touched.push(of);
    }

    /// Sets what an instruction reads.
    pub(crate) fn set_operands(&mut self, id: InstructionId, operands: &[InstructionId]) {
        for o in distinct(self.module.operands(id)) {
            self.remove_user(o, id);
        }
        self.module.set_operands(id, operands);
        for o in distinct(operands) {
            self.users[o.index()].push(id);
            self.touched.push(o);
        }
    }

    /// In one reader, `new` takes the place of `old` (11.1.2).
    pub(crate) fn replace_in(
        &mut self,
        user: InstructionId,
        old: InstructionId,
        new: InstructionId,
        which: Operands,
    ) {
        if old == new {
            return;
        }
        let mut operands = self.module.operands(user).to_vec();
        let knew = operands.contains(&new);
        match which {
            Operands::All => operands.iter_mut().filter(|o| **o == old).for_each(|o| *o = new),
            Operands::Number(k) => {
                if let Some(o) = operands.get_mut(k as usize).filter(|o| **o == old) {
                    *o = new;
                }
            }
        }
        self.module.set_operands(user, &operands);
        if !operands.contains(&old) {
            self.remove_user(old, user);
        }
        if !knew && operands.contains(&new) {
            self.users[new.index()].push(user);
        }
        self.touched.extend([old, new]);
        if matches!(which, Operands::All) {
            self.merge_operands(user);
        }
    }

    /// Every reader of `old` but `new` reads `new`, which is the root if `old` was (11.1.2).
    pub(crate) fn replace_all(&mut self, old: InstructionId, new: InstructionId) {
        for user in self.users(old).to_vec() {
            if user != new {
                self.replace_in(user, old, new, Operands::All);
            }
        }
        if self.module.is_root(old) {
            self.module.set_root(new);
        }
    }

    /// Equal operands of a fusion become one (11.1.2). Inside, nested fusions may have to follow.
    fn merge_operands(&mut self, fusion: InstructionId) {
        let mut work = vec![fusion];
        while let Some(fusion) = work.pop() {
            if self.opcode(fusion) != Opcode::Fusion
                || self.module.attribute(fusion, "kind") == Some("kCustom")
            {
                continue;
            }
            let operands = self.module.operands(fusion).to_vec();
            let Some(&body) = self.module.called(fusion).first() else { continue };
            let mut first: FxHashMap<InstructionId, usize> = FxHashMap::default();
            let mut keep = Vec::with_capacity(operands.len());
            for (k, o) in operands.iter().enumerate() {
                let earlier = *first.entry(*o).or_insert(k);
                keep.push(earlier == k);
                if earlier == k {
                    continue;
                }
                let parameters = &self.module.computation(body).parameters;
                if let (Some(&to), Some(&from)) = (parameters.get(earlier), parameters.get(k)) {
                    for user in self.users(from).to_vec() {
                        let inner = self.module.operands(user).iter();
                        let inner: Vec<_> = inner.map(|o| if *o == from { to } else { *o }).collect();
                        self.set_operands(user, &inner);
                        work.push(user);
                    }
                    if self.module.is_root(from) {
                        self.module.set_root(to);
                    }
                }
            }
            if keep.contains(&false) {
                self.keep_parameters(fusion, &keep);
            }
        }
    }

    /// Drops operands of a fusion with their parameters; later parameters get new numbers.
    pub(crate) fn keep_parameters(&mut self, fusion: InstructionId, keep: &[bool]) {
        let Some(&body) = self.module.called(fusion).first() else { return };
        let old = self.module.computation(body).parameters.clone();
        let mut parameters = Vec::new();
        let mut moved = Vec::new();
        for (k, p) in old.into_iter().enumerate() {
            if !keep.get(k).copied().unwrap_or(true) {
                self.drop_instruction(p, false);
                continue;
            }
            if parameters.len() != k {
                let number = parameters.len().to_string();
                let name = self.names.unique(&format!("param_{number}"));
                let (name, payload) = (self.module.add_text(&name), self.module.add_text(&number));
                let instruction = &mut self.module.instructions[p.index()];
                (instruction.name, instruction.payload) = (name, payload);
                moved.push(p);
            }
            parameters.push(p);
        }
        self.module.computations[body.index()].parameters = parameters;
        if !moved.is_empty() {
            let gone: FxHashSet<InstructionId> = moved.iter().copied().collect();
            let stored = &mut self.stored[body.index()];
            stored.retain(|i| !gone.contains(i));
            stored.extend(moved);
        }
        let operands = self.module.operands(fusion).to_vec();
        let operands: Vec<InstructionId> = operands
            .into_iter()
            .enumerate()
            .filter(|(k, _)| keep.get(*k).copied().unwrap_or(true))
            .map(|(_, o)| o)
            .collect();
        self.set_operands(fusion, &operands);
    }

    /// `after` waits for `before`.
    pub(crate) fn add_edge(&mut self, before: InstructionId, after: InstructionId) {
        let mut list = self.module.control_predecessors(after).to_vec();
        if list.contains(&before) || before == after {
            return;
        }
        list.push(before);
        self.module.set_control_predecessors(after, &list);
        self.successors[before.index()].push(after);
    }

    /// Drops its control edges in both directions.
    pub(crate) fn drop_edges(&mut self, id: InstructionId) {
        for before in self.module.control_predecessors(id).to_vec() {
            self.successors[before.index()].retain(|s| *s != id);
        }
        self.module.set_control_predecessors(id, &[]);
        for after in std::mem::take(&mut self.successors[id.index()]) {
            let mut list = self.module.control_predecessors(after).to_vec();
            list.retain(|b| *b != id);
            self.module.set_control_predecessors(after, &list);
        }
    }

    /// Takes an instruction that nobody reads out of the module. With `bridge`, what it waited for is then waited for
    /// by what waited for it.
    fn drop_instruction(&mut self, id: InstructionId, bridge: bool) {
        if bridge {
            let before = self.module.control_predecessors(id).to_vec();
            for after in self.successors(id).to_vec() {
                for b in &before {
                    self.add_edge(*b, after);
                }
            }
        }
        self.drop_edges(id);
        self.set_operands(id, &[]);
        if self.spare_callees {
            self.spared.extend_from_slice(self.module.called(id));
        }
        self.module.set_called(id, &[]);
        self.alive[id.index()] = false;
        self.module.instructions[id.index()].opcode = Opcode::Constant;
    }

    /// Could it go, now that nobody reads it?
    pub(crate) fn is_removable(&self, id: InstructionId, effects: &Effects) -> bool {
        self.is_alive(id)
            && self.users(id).is_empty()
            && !self.module.is_root(id)
            && self.opcode(id) != Opcode::Parameter
            && !self.is_kept(id)
            && !effects.of(self, id)
    }

    /// Removes an instruction, and whatever nobody needs then. With `bridge`, control edges keep nothing alive.
    pub(crate) fn remove(&mut self, id: InstructionId, bridge: bool, effects: &Effects) {
        let mut work = vec![id];
        while let Some(at) = work.pop() {
            if at != id && (!self.is_removable(at, effects) || (!bridge && self.has_control_edges(at))) {
                continue;
            }
            if !self.is_alive(at) {
                continue;
            }
            let operands = self.module.operands(at).to_vec();
            self.drop_instruction(at, bridge);
            work.extend(operands);
        }
    }

    /// Removes computations that neither the entry nor a spared one reaches.
    pub(crate) fn remove_unreachable(&mut self) {
        let mut reached = vec![false; self.module.computations.len()];
        let mut work = std::mem::take(&mut self.spared);
        work.push(self.module.entry);
        for c in &work {
            reached[c.index()] = true;
        }
        while let Some(c) = work.pop() {
            for id in &self.stored[c.index()] {
                for callee in self.module.called(*id) {
                    if !std::mem::replace(&mut reached[callee.index()], true) {
                        work.push(*callee);
                    }
                }
            }
        }
        for c in self.storage.clone() {
            if !reached[c.index()] {
                for id in self.stored(c) {
                    self.drop_edges(id);
                    self.set_operands(id, &[]);
                    self.module.set_called(id, &[]);
                    self.alive[id.index()] = false;
                    self.module.instructions[id.index()].opcode = Opcode::Constant;
                }
                self.module.computations[c.index()].parameters.clear();
            }
        }
        self.storage.retain(|c| reached[c.index()]);
        self.callee_first.retain(|c| reached[c.index()]);
    }

    /// The deep copy of an instruction (11.1.1): every tuple is taken apart and made anew, chosen arrays are copied.
    /// Gives the result, and the copies with the pre-order numbers of their places.
    pub(crate) fn deep_copy(
        &mut self,
        of: InstructionId,
        chosen: &[bool],
    ) -> (InstructionId, Vec<(u32, InstructionId)>) {
        struct Frame {
            tuple: InstructionId,
            elements: Vec<ShapeId>,
            made: Vec<InstructionId>,
        }
        let computation = self.computation(of);
        let mut copies = Vec::new();
        let mut stack: Vec<Frame> = Vec::new();
        let mut sub = 0u32;
        let mut at = of;
        loop {
            let shape = self.shape(at);
            let here = sub;
            sub += 1;
            let mut done = match self.module.shapes.get(shape) {
                Shape::Tuple(elements) => {
                    let elements = elements.clone();
                    stack.push(Frame { tuple: at, elements, made: Vec::new() });
                    None
                }
                Shape::Array { .. } if chosen.get(here as usize).copied().unwrap_or(false) => {
                    let copy = self.add(computation, Opcode::Copy, shape, &[at]);
                    copies.push((here, copy));
                    Some(copy)
                }
                _ => Some(at),
            };
            // Close what is complete, then take the next element.
            loop {
                let Some(frame) = stack.last_mut() else {
                    return (done.unwrap_or(of), copies);
                };
                frame.made.extend(done.take());
                if frame.made.len() < frame.elements.len() {
                    let number = frame.made.len();
                    let (tuple, shape) = (frame.tuple, frame.elements[number]);
                    at = self.add_element(tuple, number as u32, shape);
                    break;
                }
                let Some(frame) = stack.pop() else { break };
                let shape = self.shape(frame.tuple);
                done = Some(self.add(computation, Opcode::Tuple, shape, &frame.made));
            }
        }
    }

    /// The new instruction takes over the name of the one that it replaces.
    pub(crate) fn take_name(&mut self, new: InstructionId, old: InstructionId) {
        self.module.instructions[new.index()].name = self.module.instruction(old).name;
    }

    /// The orders as they are now.
    pub(crate) fn orders(&self) -> Orders {
        Orders {
            storage: self.storage.clone(),
            instructions: self.module.computation_ids().map(|c| self.stored(c)).collect(),
            callee_first: self.callee_first.clone(),
            exact: self.exact,
        }
    }

    /// Puts every computation's instructions in post-order, which is how a module without schedule is printed.
    fn settle(&mut self) {
        self.positions = vec![u32::MAX; self.module.instructions.len()];
        for c in self.module.computation_ids() {
            self.stored[c.index()] = self.stored(c);
            for (n, id) in self.stored[c.index()].iter().enumerate() {
                self.positions[id.index()] = n as u32;
            }
            let order = self.post_order(c);
            self.module.computations[c.index()].instructions = order;
        }
    }

    /// What is true of the module as it is now (each phase looks anew).
    pub(crate) fn facts(&mut self) -> Result<Facts, Error> {
        self.settle();
        Ok(Facts::new(&self.module, self.orders(), self.target.clone())?)
    }

    /// The module without what was removed, its orders, and by old id the new one.
    pub(crate) fn finish(&mut self) -> (Module, Orders, Vec<Option<InstructionId>>) {
        self.settle();
        let mut module = self.module.clone();
        let mut computations: Vec<Option<ComputationId>> = vec![None; module.computations.len()];
        let mut kept: Vec<Computation> = Vec::new();
        let live: FxHashSet<ComputationId> = self.storage.iter().copied().collect();
        let mut map: Vec<Option<InstructionId>> = vec![None; module.instructions.len()];
        let mut instructions = Vec::new();
        for c in module.computation_ids().filter(|c| live.contains(c)) {
            computations[c.index()] = Some(ComputationId(kept.len() as u32));
            kept.push(module.computation(c).clone());
            for id in &module.computation(c).instructions {
                map[id.index()] = Some(InstructionId(instructions.len() as u32));
                instructions.push((*id, module.instruction(*id).clone()));
            }
        }
        let to = |i: InstructionId| map[i.index()].unwrap_or(InstructionId(0));
        let to_all = |list: &[InstructionId]| list.iter().map(|i| to(*i)).collect::<Vec<_>>();
        let to_computation = |c: ComputationId| computations[c.index()].unwrap_or(ComputationId(0));
        for c in &mut kept {
            c.instructions = to_all(&c.instructions);
            c.parameters = to_all(&c.parameters);
            c.root = to(c.root);
        }
        let orders = Orders {
            storage: self.storage.iter().map(|c| to_computation(*c)).collect(),
            callee_first: self.callee_first.iter().map(|c| to_computation(*c)).collect(),
            instructions: self
                .module
                .computation_ids()
                .filter(|c| live.contains(c))
                .map(|c| to_all(&self.stored(c)))
                .collect(),
            exact: self.exact,
        };
        module.entry = to_computation(module.entry);
        let links: Vec<_> = instructions
            .iter()
            .map(|(old, _)| {
                (
                    to_all(self.module.operands(*old)),
                    to_all(self.module.control_predecessors(*old)),
                    self.module.called(*old).iter().map(|c| to_computation(*c)).collect::<Vec<_>>(),
                )
            })
            .collect();
        module.computations = kept;
        module.instructions = instructions.into_iter().map(|(_, i)| i).collect();
        for (n, (operands, before, called)) in links.iter().enumerate() {
            let id = InstructionId(n as u32);
            let computation = to_computation(module.instruction(id).computation);
            module.instructions[n].computation = computation;
            module.set_operands(id, operands);
            module.set_control_predecessors(id, before);
            module.set_called(id, called);
        }
        module.name_control_predecessors();
        (module, orders, map)
    }
}

/// Each once, in the order of its first occurrence.
fn distinct(list: &[InstructionId]) -> Vec<InstructionId> {
    if let [] | [_] = list {
        return list.to_vec();
    }
    let mut seen: FxHashSet<InstructionId> = FxHashSet::default();
    list.iter().copied().filter(|i| seen.insert(*i)).collect()
}
