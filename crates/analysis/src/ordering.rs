//! What must run before what, without a total order (6, with the corrections of the copy-insertion supplement, 6').
//!
//! A module without a schedule leaves the order open where no dependency fixes it. Two values then may share only if one
//! is certain to be done with before the other is written.

use crate::sharing::can_share;
use crate::values::{Position, Value};
use crate::{CallGraph, Facts, Use, ValueId};
use hlo::{ComputationId, InstructionId, Module, Opcode};
use rustc_hash::FxHashSet;

/// How one instruction stands to another in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constraint {
    /// They are the same, or one is what the other wraps.
    Same,
    /// The first is done before the second starts.
    BeforeStart,
    /// The first is done before the second, which holds it, ends.
    BeforeEnd,
    /// They are in different branches; the first's comes first.
    ExclusiveBefore,
    /// They are in different branches; the first's comes later.
    ExclusiveAfter,
    /// The first runs after the second.
    After,
    /// Nothing is known.
    Unordered,
}

/// Computations of more instructions than this are searched at each question instead of keeping all answers.
const MOST_KEPT: usize = 1 << 14;

/// What the instructions of one computation depend on.
#[derive(Debug)]
enum Reach {
    /// For each instruction a row of bits, one for each that it depends on.
    Rows {
        /// Words of a row.
        words: usize,
        bits: Vec<u64>,
    },
    /// For each instruction those that it depends on directly.
    Lists(Vec<Vec<u32>>),
}

/// Which instruction depends on which, by operands and control edges, inside each computation.
///
/// It is as the module was when it was made, and does not follow later changes of operands; only [`Ordering::depend`] adds.
#[derive(Debug)]
pub struct Ordering {
    /// By instruction: its number in its computation.
    number: Vec<u32>,
    /// By computation.
    reach: Vec<Reach>,
    /// By computation: the longest chain of callers above it.
    depth: Vec<u32>,
    /// By computation: the nearest other one that all chains of callers pass through, and how many of those there are.
    dominator: Vec<(Option<ComputationId>, u32)>,
}

impl Ordering {
    /// The dependency ordering of a module.
    #[must_use]
    pub fn dependency(module: &Module, graph: &CallGraph, callee_first: &[ComputationId]) -> Self {
        let mut number = vec![0u32; module.instructions.len()];
        let mut reach = Vec::with_capacity(module.computations.len());
        for c in module.computation_ids() {
            let order = graph.post_order(c);
            for (i, id) in order.iter().enumerate() {
                number[id.index()] = i as u32;
            }
            let before = |id: &InstructionId| {
                let direct = module.operands(*id).iter().chain(module.control_predecessors(*id));
                direct.map(|i| number[i.index()]).collect::<Vec<u32>>()
            };
            if order.len() > MOST_KEPT {
                reach.push(Reach::Lists(order.iter().map(before).collect()));
                continue;
            }
            let words = order.len().div_ceil(64);
            let mut bits = vec![0u64; words * order.len()];
            for (i, id) in order.iter().enumerate() {
                for j in before(id) {
                    let j = j as usize;
                    if j < i {
                        // Rows of what comes before are complete in post-order.
                        let (done, rest) = bits.split_at_mut(i * words);
                        for (to, from) in rest[..words].iter_mut().zip(&done[j * words..(j + 1) * words]) {
                            *to |= from;
                        }
                        rest[j / 64] |= 1 << (j % 64);
                    }
                }
            }
            reach.push(Reach::Rows { words, bits });
        }
        let mut depth = vec![0u32; module.computations.len()];
        for c in callee_first.iter().rev() {
            for site in graph.callers(*c) {
                let above = depth[module.instruction(*site).computation.index()];
                depth[c.index()] = depth[c.index()].max(above + 1);
            }
        }
        let dominator = dominators(module, graph, callee_first);
        Self { number, reach, depth, dominator }
    }

    /// Notes that `after`, of the same computation, now depends on `before`.
    pub fn depend(&mut self, module: &Module, before: InstructionId, after: InstructionId) {
        let (j, i) = (self.number[before.index()] as usize, self.number[after.index()] as usize);
        match &mut self.reach[module.instruction(after).computation.index()] {
            Reach::Lists(lists) => lists[i].push(j as u32),
            Reach::Rows { words, bits } => {
                let words = *words;
                let mut row = bits[j * words..(j + 1) * words].to_vec();
                row[j / 64] |= 1 << (j % 64);
                for (n, to) in bits.chunks_exact_mut(words.max(1)).enumerate() {
                    if n == i || to[i / 64] >> (i % 64) & 1 == 1 {
                        to.iter_mut().zip(&row).for_each(|(to, from)| *to |= from);
                    }
                }
            }
        }
    }

    /// `c`, and the computations that all chains of calls to it pass through, the nearest first.
    pub fn holders(&self, c: ComputationId) -> impl Iterator<Item = ComputationId> + '_ {
        std::iter::successors(Some(c), |c| self.dominator[c.index()].0)
    }

    /// Do all chains of calls that lead to `c` pass through `inside`?
    #[must_use]
    pub fn is_nested(&self, mut c: ComputationId, inside: ComputationId) -> bool {
        let depth = self.dominator[inside.index()].1;
        while self.dominator[c.index()].1 > depth {
            match self.dominator[c.index()].0 {
                Some(up) => c = up,
                None => return false,
            }
        }
        c == inside
    }

    /// Does `b` depend on `a`, both of one computation?
    fn reaches(&self, module: &Module, a: InstructionId, b: InstructionId) -> bool {
        let (j, i) = (self.number[a.index()], self.number[b.index()]);
        match &self.reach[module.instruction(a).computation.index()] {
            Reach::Rows { words, bits } => {
                let word = bits.get(i as usize * words + j as usize / 64);
                word.is_some_and(|w| w >> (j % 64) & 1 == 1)
            }
            Reach::Lists(before) => {
                let mut seen = FxHashSet::default();
                let mut work = vec![i];
                while let Some(at) = work.pop() {
                    for &b in before.get(at as usize).into_iter().flatten() {
                        if b == j {
                            return true;
                        }
                        if seen.insert(b) {
                            work.push(b);
                        }
                    }
                }
                false
            }
        }
    }

    /// How `a` stands to `b` in time.
    #[must_use]
    pub fn constraint(
        &self,
        module: &Module,
        graph: &CallGraph,
        a: InstructionId,
        b: InstructionId,
    ) -> Constraint {
        if a == b || wraps(module, a, b) || wraps(module, b, a) {
            return Constraint::Same;
        }
        let Some((up_a, up_b)) = self.lift(module, graph, a, b) else { return Constraint::Unordered };
        if up_a == up_b {
            let called = module.called(up_a);
            let side = |x: InstructionId| {
                called.iter().position(|c| self.is_nested(module.instruction(x).computation, *c))
            };
            match module.instruction(up_a).opcode {
                // A condition runs before its body.
                Opcode::While if side(a) == Some(1) && side(b) == Some(0) => return Constraint::BeforeEnd,
                Opcode::Conditional => match (side(a), side(b)) {
                    (Some(_), None) if b == up_a => return Constraint::BeforeEnd,
                    (None, Some(_)) if a == up_a => return Constraint::After,
                    (Some(x), Some(y)) if x < y => return Constraint::ExclusiveBefore,
                    (Some(x), Some(y)) if x > y => return Constraint::ExclusiveAfter,
                    _ => {}
                },
                _ => {}
            }
            return Constraint::Unordered;
        }
        if self.reaches(module, up_a, up_b) {
            Constraint::BeforeStart
        } else if self.reaches(module, up_b, up_a) {
            Constraint::After
        } else {
            Constraint::Unordered
        }
    }

    /// The nearest ancestors of both in one computation: to equal depth, then together.
    fn lift(
        &self,
        module: &Module,
        graph: &CallGraph,
        mut a: InstructionId,
        mut b: InstructionId,
    ) -> Option<(InstructionId, InstructionId)> {
        let computation = |i: InstructionId| module.instruction(i).computation;
        let climb = |i: InstructionId| match graph.callers(computation(i)) {
            [site] => Some(*site),
            _ => None,
        };
        while computation(a) != computation(b) {
            let (depth_a, depth_b) = (self.depth[computation(a).index()], self.depth[computation(b).index()]);
            if depth_a >= depth_b {
                a = climb(a)?;
            }
            if depth_b >= depth_a {
                b = climb(b)?;
            }
        }
        Some((a, b))
    }

    fn executes_before(
        &self,
        module: &Module,
        graph: &CallGraph,
        a: InstructionId,
        b: InstructionId,
    ) -> bool {
        matches!(
            self.constraint(module, graph, a, b),
            Constraint::BeforeStart | Constraint::BeforeEnd | Constraint::ExclusiveBefore
        )
    }

    /// Is `a` certain to be written before `b`?
    #[must_use]
    pub fn is_defined_before(&self, module: &Module, graph: &CallGraph, a: &Value, b: &Value) -> bool {
        let (at_a, at_b) = (a.defined_at().instruction, b.defined_at().instruction);
        let (x, y) = (module.instruction(at_a), module.instruction(at_b));
        let is_entry_parameter =
            |i: &hlo::Instruction| i.opcode == Opcode::Parameter && i.computation == module.entry;
        if is_entry_parameter(y) {
            return false;
        }
        if is_entry_parameter(x) {
            return true;
        }
        let parameter_phi = |v: &Value, i: &hlo::Instruction| v.is_phi && i.opcode == Opcode::Parameter;
        let nested = |c: ComputationId, inside: ComputationId| self.is_nested(c, inside);
        if parameter_phi(a, x) && !parameter_phi(b, y) && nested(y.computation, x.computation) {
            return true;
        }
        if parameter_phi(b, y) && nested(x.computation, y.computation) {
            return false;
        }
        if b.is_phi
            && matches!(y.opcode, Opcode::While | Opcode::Conditional)
            && module.called(at_b).iter().any(|c| nested(x.computation, *c))
        {
            return true;
        }
        self.executes_before(module, graph, at_a, at_b)
    }

    /// Are all reads of a value over before `b` is written? `same` says that a read by the very instruction that writes
    /// `b` always counts as before.
    #[must_use]
    pub fn uses_before_definition(
        &self,
        module: &Module,
        facts: &Facts,
        uses: &[Use],
        b: &Value,
        same: bool,
    ) -> bool {
        self.late_use(module, facts, uses, b, same).is_none()
    }

    /// The first read that is not certain to be over before `b` is written.
    ///
    /// The uses may be older than the module: what was an operand and is none any more does not share.
    #[must_use]
    pub fn late_use(
        &self,
        module: &Module,
        facts: &Facts,
        uses: &[Use],
        b: &Value,
        same: bool,
    ) -> Option<Use> {
        let graph = &facts.graph;
        let at_b = b.defined_at();
        let computation_b = module.instruction(at_b.instruction).computation;
        let nested = |inside: ComputationId| self.is_nested(computation_b, inside);
        let (mut exclusive_use, mut escaped) = (false, false);
        'uses: for u in uses {
            let user = module.instruction(u.user);
            let operand = module.operands(u.user).get(u.operand as usize).copied();
            match self.constraint(module, graph, u.user, at_b.instruction) {
                Constraint::Same => {
                    let shares = |instruction| {
                        can_share(module, facts, Position { instruction, sub: u.sub }, at_b).is_ok()
                    };
                    if same || (u.user == at_b.instruction && operand.is_some_and(shares)) {
                        continue;
                    }
                }
                Constraint::ExclusiveAfter => {
                    if !escaped {
                        exclusive_use = true;
                        continue;
                    }
                }
                Constraint::ExclusiveBefore | Constraint::BeforeStart | Constraint::BeforeEnd => continue,
                Constraint::After | Constraint::Unordered => {}
            }
            if user.opcode == Opcode::While {
                let called = module.called(u.user);
                if called.first().is_some_and(|body| nested(*body)) {
                    continue;
                }
                if called.get(1).is_some_and(|condition| nested(*condition)) {
                    let parameter = called.get(1).and_then(|c| module.computation(*c).parameters.first());
                    if parameter == Some(&at_b.instruction) {
                        continue;
                    }
                    return Some(*u);
                }
            }
            let at = module.instruction(at_b.instruction);
            if at.opcode == Opcode::While {
                let called = module.called(at_b.instruction);
                if called.iter().any(|c| self.is_nested(user.computation, *c)) {
                    continue;
                }
            }
            match user.opcode {
                Opcode::Call | Opcode::AsyncStart if module.called(u.user).iter().any(|c| nested(*c)) => {
                    continue;
                }
                Opcode::Conditional => {
                    for _ in module.called(u.user).iter().filter(|c| nested(**c)) {
                        let defined_there = operand.is_some_and(|instruction| {
                            let top = facts.dataflow.at(Position { instruction, sub: 0 });
                            top.iter().any(|v| facts.defining(*v) == instruction)
                        });
                        if !defined_there && b.uses.iter().any(|x| module.is_root(x.user)) {
                            escaped = true;
                        }
                        if !exclusive_use {
                            continue 'uses;
                        }
                    }
                    if u.user == at_b.instruction {
                        continue;
                    }
                }
                _ => {}
            }
            return Some(*u);
        }
        None
    }

    /// Is `a` certain to be done with before `b` is written?
    #[must_use]
    pub fn is_strictly_before(&self, module: &Module, facts: &Facts, a: &Value, b: &Value) -> bool {
        let graph = &facts.graph;
        if !self.is_defined_before(module, graph, a, b) || a.live_out {
            return false;
        }
        let computation_b = module.instruction(b.defined_at().instruction).computation;
        let escapes = a.positions.iter().any(|p| {
            module.is_root(p.instruction)
                && self.is_nested(computation_b, module.instruction(p.instruction).computation)
        });
        if escapes || module.root(computation_b) == a.defined_at().instruction {
            return false;
        }
        let reads: Vec<Use> = a.uses.iter().copied().filter(|u| really_reads(module, facts, *u)).collect();
        self.uses_before_definition(module, facts, &reads, b, false)
    }

    /// Is neither certain to be done with before the other is written?
    #[must_use]
    pub fn may_interfere(&self, module: &Module, facts: &Facts, a: ValueId, b: ValueId) -> bool {
        let (a, b) = (facts.value(a), facts.value(b));
        !self.is_strictly_before(module, facts, a, b) && !self.is_strictly_before(module, facts, b, a)
    }
}

/// Is `inner` what the async operation `outer` wraps?
fn wraps(module: &Module, outer: InstructionId, inner: InstructionId) -> bool {
    module.instruction(outer).opcode == Opcode::AsyncStart
        && module.called(outer).first().is_some_and(|c| module.root(*c) == inner)
}

/// By computation: the nearest other one that all chains of callers pass through, and how many of those there are.
fn dominators(
    module: &Module,
    graph: &CallGraph,
    callee_first: &[ComputationId],
) -> Vec<(Option<ComputationId>, u32)> {
    let mut tree: Vec<(Option<ComputationId>, u32)> = vec![(None, 0); module.computations.len()];
    // Callers come first here, so theirs are known.
    for c in callee_first.iter().rev() {
        let mut callers = graph.callers(*c).iter().map(|s| module.instruction(*s).computation);
        let Some(first) = callers.next() else { continue };
        let common = callers.try_fold(first, |mut a, mut b| {
            while a != b {
                let (up_a, up_b) = (tree[a.index()], tree[b.index()]);
                if up_a.1 >= up_b.1 {
                    a = up_a.0?;
                }
                if up_b.1 >= up_a.1 {
                    b = up_b.0?;
                }
            }
            Some(a)
        });
        tree[c.index()] = (common, common.map_or(0, |up| tree[up.index()].1 + 1));
    }
    tree
}

/// A loop fusion whose parameter nobody inside reads does not read the operand.
fn really_reads(module: &Module, facts: &Facts, u: Use) -> bool {
    let is_loop_fusion = module.instruction(u.user).opcode == Opcode::Fusion
        && module.attribute(u.user, "kind") == Some("kLoop");
    let parameter = || {
        let body = *module.called(u.user).first()?;
        let parameter = *module.computation(body).parameters.get(u.operand as usize)?;
        facts.dataflow.unique_at(Position { instruction: parameter, sub: u.sub })
    };
    !is_loop_fusion || parameter().is_none_or(|v| facts.find_value(v).is_none_or(|v| !v.uses.is_empty()))
}
