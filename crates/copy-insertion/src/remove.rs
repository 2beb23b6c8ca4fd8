//! Phase B: copies that are not needed go (11.3).

use crate::draft::Draft;
use crate::region::{Prefer, Regions};
use crate::story::{Attempt, AttemptOutcome, Clash, Late, LateRead, Place, Refusal, Until};
use crate::{Error, RegionAnalysis};
use analysis::graph::Read;
use analysis::{Constraint, Facts, Ordering, Use, Value, ValueId};
use hlo::{ComputationId, InstructionId, Opcode};
use rustc_hash::FxHashMap;

/// What is told of each copy that could be tried.
#[derive(Default)]
pub(crate) struct Removal {
    pub(crate) attempts: FxHashMap<InstructionId, Vec<Attempt>>,
    pub(crate) refusals: FxHashMap<InstructionId, Refusal>,
    pub(crate) protects: FxHashMap<InstructionId, Place>,
    /// What each removed copy is replaced by.
    pub(crate) removed: FxHashMap<InstructionId, InstructionId>,
}

/// Removes copies until a whole round removes none.
pub(crate) fn remove_copies(draft: &mut Draft, limit: RegionAnalysis) -> Result<Removal, Error> {
    let facts = draft.facts()?;
    let order = Ordering::dependency(&draft.module, &facts.graph, &draft.callee_first);
    let mut remover = Remover { lists: Lists::default(), order, facts, draft, limit };
    remover.draft.touched.clear();
    remover.make_lists();
    let mut told = Removal::default();
    // In `SI` as it is now: nothing is added while copies are removed.
    let copies: Vec<InstructionId> = remover
        .draft
        .storage
        .clone()
        .into_iter()
        .filter(|c| !remover.draft.is_fusion_body(*c))
        .flat_map(|c| remover.draft.stored(c))
        .filter(|i| remover.draft.opcode(*i) == Opcode::Copy)
        .collect();
    let mut waiting = Vec::new();
    for copy in copies {
        match remover.lists.table.get(&copy) {
            Some((source, _)) => {
                let value = remover.lists.nodes[*source as usize].value;
                told.protects.insert(copy, remover.place(value));
                waiting.push(copy);
            }
            None => {
                told.refusals.insert(copy, Refusal::AmbiguousSource);
            }
        }
    }
    for round in 1.. {
        let mut left = Vec::with_capacity(waiting.len());
        let before = waiting.len();
        for copy in waiting {
            let outcome = remover.elide(copy);
            let attempts = told.attempts.entry(copy).or_default();
            attempts.push(Attempt { round, outcome: outcome.clone().unwrap_or(AttemptOutcome::Refused) });
            if outcome.is_none() {
                left.push(copy);
                continue;
            }
            told.removed.insert(copy, remover.draft.module.operands(copy)[0]);
            remover.forget(copy);
        }
        waiting = left;
        if waiting.len() == before {
            break;
        }
    }
    for copy in waiting {
        if let Some(refusal) = remover.refusal(copy) {
            told.refusals.insert(copy, refusal);
        }
    }
    Ok(told)
}

/// A value in the list of its buffer (11.3.1).
pub(crate) struct Node {
    pub(crate) value: ValueId,
    pub(crate) uses: Vec<Use>,
    previous: u32,
    next: u32,
    is_head: bool,
}

/// The circular lists of values, one for each buffer, in the order in which they are written.
#[derive(Default)]
pub(crate) struct Lists {
    pub(crate) nodes: Vec<Node>,
    /// By copy: the nodes of what it reads and of what it gives.
    table: FxHashMap<InstructionId, (u32, u32)>,
}

impl Lists {
    fn next(&self, node: u32) -> Option<u32> {
        let next = self.nodes[node as usize].next;
        (!self.nodes[next as usize].is_head).then_some(next)
    }

    fn previous(&self, node: u32) -> Option<u32> {
        let node = &self.nodes[node as usize];
        (!node.is_head).then_some(node.previous)
    }

    fn first(&self, mut node: u32) -> u32 {
        while let Some(previous) = self.previous(node) {
            node = previous;
        }
        node
    }

    fn last(&self, mut node: u32) -> u32 {
        while let Some(next) = self.next(node) {
            node = next;
        }
        node
    }

    /// The whole list, from this node on and round.
    pub(crate) fn circle(&self, start: u32) -> Vec<u32> {
        let mut out = vec![start];
        let mut at = self.nodes[start as usize].next;
        while at != start {
            out.push(at);
            at = self.nodes[at as usize].next;
        }
        out
    }

    /// Puts a whole list behind a node of another one.
    fn insert_after(&mut self, node: u32, head: u32) {
        let after = self.nodes[node as usize].next;
        let last = self.nodes[head as usize].previous;
        self.nodes[head as usize].is_head = false;
        self.nodes[node as usize].next = head;
        self.nodes[head as usize].previous = node;
        self.nodes[last as usize].next = after;
        self.nodes[after as usize].previous = last;
    }

    fn unlink(&mut self, node: u32) {
        let (previous, next) = (self.nodes[node as usize].previous, self.nodes[node as usize].next);
        self.nodes[previous as usize].next = next;
        self.nodes[next as usize].previous = previous;
        if self.nodes[node as usize].is_head {
            self.nodes[next as usize].is_head = true;
        }
    }
}

pub(crate) struct Remover<'a> {
    pub(crate) draft: &'a mut Draft,
    /// As they were when the phase began, but for who reads what.
    pub(crate) facts: Facts,
    pub(crate) order: Ordering,
    pub(crate) lists: Lists,
    limit: RegionAnalysis,
}

/// Which way the lists of source and copy would be joined.
enum Join {
    SameBuffer,
    AfterSource,
    BeforeCopy,
}

impl Remover<'_> {
    fn value(&self, node: u32) -> &Value {
        self.facts.value(self.lists.nodes[node as usize].value)
    }

    fn place(&self, value: ValueId) -> Place {
        let at = self.facts.value(value).defined_at();
        Place::new(&self.draft.module, at.instruction, at.sub)
    }

    fn make_lists(&mut self) {
        let number = self.numbers();
        let mut node_of: FxHashMap<ValueId, u32> = FxHashMap::default();
        for buffer in self.facts.buffers() {
            let Some(first) = buffer.values.first() else { continue };
            if self.draft.is_fusion_body(self.draft.computation(self.facts.defining(*first))) {
                continue;
            }
            let before = |a: &ValueId, b: &ValueId| self.comes_first(&number, *a, *b);
            let sorted = merge_sort(buffer.values.clone(), before);
            let start = self.lists.nodes.len() as u32;
            let count = sorted.len() as u32;
            for (i, value) in sorted.into_iter().enumerate() {
                let i = i as u32;
                node_of.insert(value, start + i);
                self.lists.nodes.push(Node {
                    value,
                    uses: self.facts.value(value).uses.clone(),
                    previous: start + (i + count - 1) % count,
                    next: start + (i + 1) % count,
                    is_head: i == 0,
                });
            }
        }
        for c in &self.draft.storage {
            if self.draft.is_fusion_body(*c) {
                continue;
            }
            for id in self.draft.stored(*c) {
                if self.draft.opcode(id) != Opcode::Copy {
                    continue;
                }
                let Some(operand) = self.draft.module.operands(id).first() else { continue };
                let at = |instruction| analysis::Position { instruction, sub: 0 };
                let source = self.facts.dataflow.unique_at(at(*operand)).and_then(|v| node_of.get(&v));
                let own = self.facts.dataflow.unique_at(at(id)).and_then(|v| node_of.get(&v));
                if let (Some(source), Some(own)) = (source, own) {
                    self.lists.table.insert(id, (*source, *own));
                }
            }
        }
    }

    /// Numbers all instructions along the calls (11.3.1).
    fn numbers(&self) -> Vec<u32> {
        let module = &self.draft.module;
        let mut number = vec![0u32; module.instructions.len()];
        let mut next = 0u32;
        let mut entered = vec![false; module.computations.len()];
        let order = |c: ComputationId| -> Vec<InstructionId> {
            let is_parameter = |i: &&InstructionId| self.draft.opcode(**i) == Opcode::Parameter;
            let parameters = module.computation(c).parameters.iter();
            let rest = self.facts.graph.post_order(c).iter().filter(|i| !is_parameter(i));
            parameters.chain(rest).copied().collect()
        };
        for start in std::iter::once(&module.entry).chain(&self.draft.callee_first) {
            if std::mem::replace(&mut entered[start.index()], true) {
                continue;
            }
            let mut stack = vec![(order(*start), 0usize, false)];
            while let Some((list, at, ready)) = stack.last_mut() {
                let Some(&id) = list.get(*at) else {
                    stack.pop();
                    continue;
                };
                if *ready {
                    number[id.index()] = next;
                    next += 1;
                    *at += 1;
                    *ready = false;
                    continue;
                }
                *ready = true;
                // The last pushed is walked first: a while's condition, then its body; others in order.
                let mut called = module.called(id).to_vec();
                if self.draft.opcode(id) != Opcode::While {
                    called.reverse();
                }
                for callee in called {
                    if !std::mem::replace(&mut entered[callee.index()], true) {
                        stack.push((order(callee), 0, false));
                    }
                }
            }
        }
        number
    }

    /// Is `a` written before `b`, so far as one can tell? (11.3.1)
    fn comes_first(&self, number: &[u32], a: ValueId, b: ValueId) -> bool {
        let key = |v: ValueId| {
            let at = self.facts.value(v).defined_at();
            (number[at.instruction.index()], at.sub, v)
        };
        let (x, y) = if key(a) < key(b) { (a, b) } else { (b, a) };
        let (module, graph) = (&self.draft.module, &self.facts.graph);
        let before = |p: ValueId, q: ValueId| {
            self.order.is_defined_before(module, graph, self.facts.value(p), self.facts.value(q))
        };
        let first = if !before(x, y) && before(y, x) { y } else { x };
        first == a
    }

    /// Tries to remove a copy (11.3.3). `None` if it must stay.
    fn elide(&mut self, copy: InstructionId) -> Option<AttemptOutcome> {
        let (source, own) = *self.lists.table.get(&copy)?;
        let join = self.find_join(copy, source, own)?;
        let outcome = match join {
            Join::SameBuffer => AttemptOutcome::SameBuffer,
            Join::AfterSource => {
                self.lists.insert_after(source, own);
                AttemptOutcome::AfterSource
            }
            Join::BeforeCopy => {
                let before = self.lists.nodes[own as usize].previous;
                let head = self.lists.first(source);
                self.lists.insert_after(before, head);
                AttemptOutcome::BeforeCopy
            }
        };
        self.lists.unlink(own);
        let mut moved = std::mem::take(&mut self.lists.nodes[own as usize].uses);
        for u in &moved {
            if let Some(entry) = self.lists.table.get_mut(&u.user)
                && entry.0 == own
            {
                entry.0 = source;
            }
        }
        let uses = &mut self.lists.nodes[source as usize].uses;
        uses.retain(|u| u.user != copy);
        uses.append(&mut moved);
        self.lists.table.remove(&copy);
        Some(outcome)
    }

    fn find_join(&mut self, copy: InstructionId, source: u32, own: u32) -> Option<Join> {
        let operand = *self.draft.module.operands(copy).first()?;
        if self.draft.shape(copy) != self.draft.shape(operand) {
            return None;
        }
        if self.lists.nodes[source as usize].next == own {
            return Some(Join::SameBuffer);
        }
        if self.lists.nodes[own as usize].is_head {
            if self.scatter_over(source, own).is_some() {
                return None;
            }
            let plain = self.all_before(Some(source), self.lists.next(own))
                && self.all_before(Some(self.lists.last(own)), self.lists.next(source));
            let joined = plain || self.regions_agree(operand, source, own, Prefer::First);
            return joined.then_some(Join::AfterSource);
        }
        if self.lists.next(source).is_none() {
            let plain = self.all_before(self.lists.previous(own), Some(self.lists.first(source)))
                && self.all_before(Some(source), self.lists.next(own));
            let joined = plain || self.regions_agree(operand, source, own, Prefer::Last);
            return joined.then_some(Join::BeforeCopy);
        }
        None
    }

    /// A scatter of several operands, or a fusion of one, that would write over what it reads itself.
    fn scatter_over(&self, source: u32, own: u32) -> Option<InstructionId> {
        let next = self.value(self.lists.next(own)?).defined_at().instruction;
        let module = &self.draft.module;
        let is_scatter = |id: InstructionId| {
            self.draft.opcode(id) == Opcode::Scatter && module.shapes.is_tuple(self.draft.shape(id))
        };
        let found = is_scatter(next)
            || (self.draft.opcode(next) == Opcode::Fusion
                && module.called(next).first().is_some_and(|body| is_scatter(module.root(*body))));
        let reads = self.lists.nodes[source as usize].uses.iter().any(|u| u.user == next);
        (found && reads).then_some(next)
    }

    fn regions_agree(&mut self, operand: InstructionId, source: u32, own: u32, prefer: Prefer) -> bool {
        if self.limit == RegionAnalysis::Never || self.draft.opcode(operand) == Opcode::Broadcast {
            return false;
        }
        let edges = {
            let mut regions = Regions::new(self);
            if regions.interfere(source, own, prefer) {
                return false;
            }
            regions.into_edges()
        };
        for (before, after) in edges {
            self.draft.add_edge(before, after);
            self.order.depend(&self.draft.module, before, after);
        }
        true
    }

    /// Every value from `b` on against every value up to `a` (11.3.3).
    fn all_before(&self, a: Option<u32>, b: Option<u32>) -> bool {
        self.clashing(a, b).is_none()
    }

    /// The first pair that clashes.
    fn clashing(&self, a: Option<u32>, b: Option<u32>) -> Option<(u32, u32)> {
        let mut later = b;
        a?;
        while let Some(y) = later {
            let mut earlier = a;
            while let Some(x) = earlier {
                if !self.is_before(x, y) {
                    return Some((x, y));
                }
                earlier = self.lists.previous(x);
            }
            later = self.lists.next(y);
        }
        None
    }

    /// Is `a` certain to be done with before `b` is written? (11.3.4)
    fn is_before(&self, a: u32, b: u32) -> bool {
        let (x, y) = (self.value(a), self.value(b));
        let module = &self.draft.module;
        let uses = &self.lists.nodes[a as usize].uses;
        if uses.is_empty() {
            return self.order.is_defined_before(module, &self.facts.graph, x, y);
        }
        if self.is_result_where(x, y) {
            return false;
        }
        self.order.uses_before_definition(module, &self.facts, uses, y, false)
    }

    /// Is the first value, as things are now, the result of the computation in which the second is written?
    fn is_result_where(&self, x: &Value, y: &Value) -> bool {
        let root = self.draft.module.root(self.draft.computation(y.defined_at().instruction));
        x.positions.iter().any(|p| p.instruction == root)
    }

    /// Takes a removed copy out of the graph, where it stays without readers.
    fn forget(&mut self, copy: InstructionId) {
        let operand = self.draft.module.operands(copy)[0];
        self.draft.drop_edges(copy);
        self.draft.replace_all(copy, operand);
        for id in std::mem::take(&mut self.draft.touched) {
            let reads: Vec<Read> = self.draft.reads(id);
            self.facts.graph.set_reads(id, reads);
        }
    }

    /// Why it cannot be removed, with all the evidence. `None` if it can.
    fn refusal(&self, copy: InstructionId) -> Option<Refusal> {
        let (source, own) = *self.lists.table.get(&copy)?;
        let operand = *self.draft.module.operands(copy).first()?;
        if self.draft.shape(copy) != self.draft.shape(operand) {
            return Some(Refusal::LayoutChange);
        }
        let pair = if self.lists.nodes[own as usize].is_head {
            if let Some(scatter) = self.scatter_over(source, own) {
                return Some(Refusal::Scatter(scatter));
            }
            self.clashing(Some(source), self.lists.next(own))
                .or_else(|| self.clashing(Some(self.lists.last(own)), self.lists.next(source)))
        } else if self.lists.next(source).is_none() {
            self.clashing(self.lists.previous(own), Some(self.lists.first(source)))
                .or_else(|| self.clashing(Some(source), self.lists.next(own)))
        } else {
            return Some(Refusal::MiddleToMiddle);
        };
        pair.map(|(a, b)| Refusal::Clash(self.clash(a, b)))
    }

    fn clash(&self, a: u32, b: u32) -> Clash {
        let (x, y) = (self.value(a), self.value(b));
        let uses = &self.lists.nodes[a as usize].uses;
        let until = if uses.is_empty() {
            Until::Unread
        } else if self.is_result_where(x, y) {
            Until::Result
        } else {
            let late = |u: &&Use| {
                let order = &self.order;
                order.late_use(&self.draft.module, &self.facts, &[**u], y, false).is_some()
            };
            let mut reads: Vec<LateRead> = uses.iter().filter(late).map(|u| self.late_read(*u, y)).collect();
            if reads.is_empty() {
                // Late only together with another one.
                let first = self.order.late_use(&self.draft.module, &self.facts, uses, y, false);
                reads.extend(first.map(|u| self.late_read(u, y)));
            }
            reads.dedup();
            Until::Reads(reads)
        };
        Clash { wanted: self.place(x.id), written: self.place(y.id), until }
    }

    fn late_read(&self, u: Use, written: &Value) -> LateRead {
        let at = written.defined_at().instruction;
        let why = match self.order.constraint(&self.draft.module, &self.facts.graph, u.user, at) {
            Constraint::Same => Late::NotInPlace,
            Constraint::After => Late::After,
            Constraint::Unordered if self.draft.computation(u.user) == self.draft.computation(at) => {
                Late::Unordered
            }
            _ => Late::Nested,
        };
        LateRead { user: u.user, operand: u.operand, why }
    }
}

/// A stable sort that ends whatever the comparison says: XLA's need not be transitive.
fn merge_sort<T: Copy>(mut list: Vec<T>, before: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let mut width = 1;
    while width < list.len() {
        let mut out = Vec::with_capacity(list.len());
        for pair in list.chunks(2 * width) {
            let (mut a, mut b) = pair.split_at(width.min(pair.len()));
            while let ([x, rest_a @ ..], [y, rest_b @ ..]) = (a, b) {
                if before(y, x) {
                    out.push(*y);
                    b = rest_b;
                } else {
                    out.push(*x);
                    a = rest_a;
                }
            }
            out.extend_from_slice(a);
            out.extend_from_slice(b);
        }
        list = out;
        width *= 2;
    }
    list
}
