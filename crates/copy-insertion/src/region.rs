//! Region analysis: may two buffers be one although plain live ranges cannot show it? (11.3.5)

use crate::remove::Remover;
use analysis::Constraint;
use hlo::{ComputationId, InstructionId, Opcode};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Which of the two buffers is meant to come first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefer {
    First,
    Last,
}

/// What an instruction does with a buffer.
#[derive(Clone, Copy, Default)]
struct Entry {
    is_definition: bool,
    /// It reads what this one defines.
    reads: Option<InstructionId>,
}

/// By computation, its instructions that have to do with a buffer, in `SI`.
type Region = BTreeMap<ComputationId, Vec<(InstructionId, Entry)>>;

/// How two instructions stand in time, as a set of bits.
type Order = u8;
const EXCLUSIVE: Order = 0;
const SAME: Order = 1;
const BEFORE: Order = 2;
const BEFORE_OR_SAME: Order = 3;
const AFTER: Order = 4;
const UNORDERED: Order = 6;

/// So many forced edges are followed in a row.
const MOST_STEPS: u32 = 64;

/// One attempt.
pub(crate) struct Regions<'a, 'd> {
    remover: &'a Remover<'d>,
    known: FxHashMap<(InstructionId, InstructionId), Order>,
    /// By instruction: what is to be forced before it.
    pending: BTreeMap<InstructionId, Vec<InstructionId>>,
}

impl<'a, 'd> Regions<'a, 'd> {
    pub(crate) fn new(remover: &'a Remover<'d>) -> Self {
        Self { remover, known: FxHashMap::default(), pending: BTreeMap::new() }
    }

    /// The control edges that the answer "no" relies on.
    pub(crate) fn into_edges(self) -> Vec<(InstructionId, InstructionId)> {
        let edges = self.pending.into_iter();
        edges.flat_map(|(after, before)| before.into_iter().map(move |b| (b, after))).collect()
    }

    /// Do the buffers of source and copy get in each other's way?
    pub(crate) fn interfere(&mut self, source: u32, own: u32, prefer: Prefer) -> bool {
        let (a, b) = (self.region(source), self.region(own));
        let (overlaps_1, intercepts_1) = self.between(&a, &b);
        let (overlaps_2, intercepts_2) = self.between(&b, &a);
        match (overlaps_1, overlaps_2) {
            (true, true) => true,
            (true, false) => intercepts_1 || (prefer != Prefer::First && intercepts_2),
            (false, true) => intercepts_2 || (prefer != Prefer::Last && intercepts_1),
            (false, false) => false,
        }
    }

    fn region(&self, node: u32) -> Region {
        let lists = &self.remover.lists;
        let mut entries: BTreeMap<ComputationId, FxHashMap<InstructionId, Entry>> = BTreeMap::new();
        for n in lists.circle(node) {
            let node = &lists.nodes[n as usize];
            let definition = self.remover.facts.defining(node.value);
            let mut entry = |id: InstructionId, change: &dyn Fn(&mut Entry)| {
                let here = entries.entry(self.remover.draft.computation(id)).or_default();
                change(here.entry(id).or_default());
            };
            entry(definition, &|e| e.is_definition = true);
            for u in &node.uses {
                entry(u.user, &|e| e.reads = Some(definition));
            }
        }
        entries
            .into_iter()
            .map(|(c, found)| {
                let mut list: Vec<(InstructionId, Entry)> = found.into_iter().collect();
                list.sort_unstable_by_key(|(i, _)| self.remover.draft.stored_position(*i));
                (c, list)
            })
            .collect()
    }

    /// Where is the second region relative to the first? Gives whether it overlaps, and whether it intercepts.
    fn between(&mut self, first: &Region, second: &Region) -> (bool, bool) {
        let (mut overlaps, mut intercepts) = (false, false);
        // Only what holds a computation can dominate it.
        let mut pairs: Vec<(ComputationId, ComputationId)> = second
            .keys()
            .flat_map(|c2| self.remover.order.holders(*c2).map(move |c1| (c1, *c2)))
            .filter(|(c1, _)| first.contains_key(c1))
            .collect();
        pairs.sort_unstable();
        for (c1, c2) in pairs {
            let (entries1, entries2) = (&first[&c1], &second[&c2]);
            for (i2, entry2) in entries2 {
                let can_modify = self.can_modify(*i2, *entry2, first);
                let (mut order, mut intercepted, mut if_unordered) = (0, false, false);
                let mut unordered = Vec::new();
                for (i1, entry1) in entries1 {
                    let (o, k) = self.relation((*i1, *entry1), (*i2, *entry2), can_modify);
                    if o == UNORDERED {
                        unordered.push(*i1);
                        if_unordered |= k;
                    } else {
                        order |= o;
                        intercepted |= k;
                    }
                }
                if !unordered.is_empty() && !self.force(*i2, &unordered, order) {
                    order |= UNORDERED;
                    intercepted |= if_unordered;
                }
                overlaps |= order >= UNORDERED;
                intercepts |= intercepted;
            }
        }
        (overlaps, intercepts)
    }

    fn relation(
        &mut self,
        (i1, entry1): (InstructionId, Entry),
        (i2, entry2): (InstructionId, Entry),
        can_modify: bool,
    ) -> (Order, bool) {
        let remover = self.remover;
        let (draft, module) = (&remover.draft, &remover.draft.module);
        let mut order = self.runtime(i2, i1, 0);
        if order == SAME && entry1.is_definition != entry2.is_definition {
            order = if entry1.is_definition { BEFORE } else { AFTER };
        }
        let is_async = matches!(
            draft.opcode(i2),
            Opcode::CollectivePermute
                | Opcode::CollectivePermuteStart
                | Opcode::CollectivePermuteDone
                | Opcode::AllReduceStart
                | Opcode::AllReduceDone
                | Opcode::AllGatherStart
                | Opcode::AllGatherDone
                | Opcode::AsyncStart
                | Opcode::AsyncDone
                | Opcode::CopyStart
                | Opcode::CopyDone
        );
        let Some(definition) = entry1.reads.filter(|_| can_modify) else { return (order, is_async) };
        if draft.opcode(definition) == Opcode::Parameter && module.is_root(i1) {
            return (order, true);
        }
        if draft.computation(i1) == draft.computation(definition) {
            let in_body = |of: InstructionId| module.called(of).first() == Some(&draft.computation(i2));
            if draft.opcode(definition) == Opcode::While
                && in_body(definition)
                && self.runtime(i1, i2, 0) == AFTER
            {
                return (order, false);
            }
            if draft.opcode(i1) == Opcode::While && in_body(i1) && self.runtime(definition, i2, 0) == BEFORE {
                return (order, false);
            }
            let is_branch = || {
                let callers = remover.facts.graph.callers(draft.computation(i1));
                callers.iter().any(|s| draft.opcode(*s) == Opcode::Conditional)
            };
            if definition == i2 && module.shapes.is_tuple(draft.shape(definition)) && is_branch() {
                return (order, true);
            }
        }
        let later = matches!(order, BEFORE | UNORDERED)
            && matches!(self.runtime(i2, definition, 0), AFTER | UNORDERED);
        (order, is_async || later)
    }

    fn can_modify(&self, i2: InstructionId, entry: Entry, first: &Region) -> bool {
        let (draft, module) = (&self.remover.draft, &self.remover.draft.module);
        let stands_in = |id: InstructionId| {
            first.get(&draft.computation(id)).is_some_and(|l| l.iter().any(|(i, _)| *i == id))
        };
        let operand = |id: InstructionId, n: u32| module.operands(id).get(n as usize).copied();
        if !entry.is_definition {
            let pairs = self.remover.facts.in_place.of(i2).iter();
            return pairs.filter_map(|p| operand(i2, p.operand)).any(stands_in);
        }
        match draft.opcode(i2) {
            Opcode::Copy => {
                let Some(read) = operand(i2, 0) else { return true };
                let through = operand(read, 0).filter(|_| draft.opcode(read) == Opcode::GetTupleElement);
                let inside = stands_in(read) || through.is_some_and(stands_in);
                !(inside && draft.shape(read) == draft.shape(i2))
            }
            Opcode::Parameter
            | Opcode::Tuple
            | Opcode::GetTupleElement
            | Opcode::While
            | Opcode::Call
            | Opcode::Conditional => false,
            _ => true,
        }
    }

    /// How `a` stands to `b` in time.
    fn runtime(&mut self, a: InstructionId, b: InstructionId, depth: u32) -> Order {
        if let Some(order) = self.known.get(&(a, b)) {
            return *order;
        }
        if let Some(order) = self.known.get(&(b, a)) {
            return (order & SAME) | (order & BEFORE) << 1 | (order & AFTER) >> 1;
        }
        let draft = &self.remover.draft;
        let order = match self.remover.order.constraint(&draft.module, &self.remover.facts.graph, a, b) {
            Constraint::Same => SAME,
            Constraint::BeforeEnd => BEFORE_OR_SAME,
            Constraint::BeforeStart => BEFORE,
            Constraint::After => AFTER,
            Constraint::ExclusiveBefore | Constraint::ExclusiveAfter => EXCLUSIVE,
            Constraint::Unordered => {
                if draft.computation(a) != draft.computation(b) || depth >= MOST_STEPS {
                    return UNORDERED;
                }
                if self.goes_before_pending(a, b, depth) {
                    BEFORE
                } else if self.goes_before_pending(b, a, depth) {
                    AFTER
                } else {
                    return UNORDERED;
                }
            }
        };
        self.known.insert((a, b), order);
        order
    }

    /// Is `a` before something that is to be forced before `b`?
    fn goes_before_pending(&mut self, a: InstructionId, b: InstructionId, depth: u32) -> bool {
        let Some(list) = self.pending.get(&b).cloned() else { return false };
        list.into_iter().any(|p| matches!(self.runtime(a, p, depth + 1), SAME | BEFORE | BEFORE_OR_SAME))
    }

    /// Can `i2` be made to run before, or after, all that it is not ordered with? If so it is noted.
    fn force(&mut self, i2: InstructionId, unordered: &[InstructionId], wanted: Order) -> bool {
        let draft = &self.remover.draft;
        let module = &draft.module;
        if !matches!(wanted, BEFORE | AFTER) {
            return false;
        }
        let ends = |i1: InstructionId| if wanted == BEFORE { (i2, i1) } else { (i1, i2) };
        let is_possible = unordered.iter().all(|i1| {
            let (before, after) = ends(*i1);
            let updates = || {
                let copied = module.operands(after).first();
                self.remover.facts.in_place.of(before).iter().any(|p| {
                    let updated = module.operands(before).get(p.operand as usize);
                    updated.is_some() && updated == copied
                })
            };
            draft.computation(*i1) == draft.computation(i2)
                && !module.is_root(before)
                && !(draft.opcode(after) == Opcode::Copy && updates())
        });
        if !is_possible {
            return false;
        }
        for i1 in unordered {
            let (before, after) = ends(*i1);
            self.known.insert((i2, *i1), wanted);
            let list = self.pending.entry(after).or_default();
            let relation = |p: InstructionId| {
                let forward = self.known.get(&(before, p)).copied();
                forward.or_else(|| {
                    let back = self.known.get(&(p, before))?;
                    Some((back & SAME) | (back & BEFORE) << 1 | (back & AFTER) >> 1)
                })
            };
            match list.iter_mut().find_map(|p| relation(*p).map(|r| (p, r))) {
                Some((p, AFTER)) => *p = before,
                Some(_) => {}
                None => list.push(before),
            }
        }
        true
    }
}
