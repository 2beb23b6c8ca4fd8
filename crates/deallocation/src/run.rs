//! Is a program right about its buffers? It is executed on every way through it, and the first leak, second release, or use
//! behind a release is named with the way that leads there.
//!
//! A state says which buffer each value is and which buffers are there. Loops run not at all, once and twice; conditions
//! are chosen where they are first asked for and remembered, as values do not change. Where ways meet, states that agree in
//! everything that can still matter are one. It shares no rule with the passes: it knows only what operations do.

use crate::control::leavers;
use crate::graph::live_in;
use crate::ir::{BlockId, OpId, Piece, Program, RegionId, Syntax, ValueId};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// No more than this many states are kept where ways meet.
const MOST_STATES: usize = 2000;
/// No more than this many operations are executed, over all ways.
const MOST_STEPS: usize = 2_000_000;

/// Who owns what goes over a function's border.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Border {
    /// A buffer that a call gives belongs to somebody else (the classic rule).
    #[default]
    Borrowed,
    /// A buffer that a call gives belongs to the caller (the newer rule).
    Owned,
}

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// The function ends, and a buffer of its own is there that nobody can free.
    Leak,
    /// A buffer is freed that was freed before.
    FreedTwice,
    /// A buffer is read, written or given away after it was freed.
    UsedAfterRelease,
    /// A buffer is freed that belongs to the caller or to the stack.
    NotOurs,
}

/// One turn on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// A condition was true or not.
    Condition(ValueId, bool),
    /// A loop, or an operation whose region may run, ran that often.
    Times(OpId, u32),
}

/// A fault, with its evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What went wrong.
    pub kind: Kind,
    /// Where it shows: the release, the use, or what ends the function.
    pub at: OpId,
    /// What allocated the buffer; nothing if it is the caller's.
    pub allocated_by: Option<OpId>,
    /// What freed it before.
    pub freed_by: Option<OpId>,
    /// The way there.
    pub way: Vec<Turn>,
    /// The blocks on that way, in order, each as often as it was entered.
    pub blocks: Vec<BlockId>,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Each fault once, in the order in which they were met.
    pub faults: Vec<Fault>,
    /// Whether every way was gone; there may be too many.
    pub complete: bool,
    /// Operations executed.
    pub steps: usize,
}

/// Executes a function on every way.
pub fn run(program: &Program, function: OpId, border: Border) -> Report {
    let mut runner = Runner {
        program,
        border,
        wanted: live_in(program),
        report: Report { complete: true, ..Report::default() },
        seen: BTreeSet::new(),
    };
    let Some(region) = program.op(function).regions.first() else { return runner.report };
    let mut state = State::default();
    for argument in
        program.region(*region).blocks.first().map(|b| &program.block(*b).arguments).into_iter().flatten()
    {
        if program.value(*argument).is_buffer() {
            state.is_new(*argument, Object { by: None, freed: None });
        }
    }
    runner.region(*region, vec![state]);
    runner.report
}

/// Executes every function.
pub fn run_all(program: &Program, border: Border) -> Report {
    let mut out = Report { complete: true, ..Report::default() };
    for function in program.functions() {
        let one = run(program, function, border);
        out.faults.extend(one.faults);
        out.complete &= one.complete;
        out.steps += one.steps;
    }
    out
}

/// A buffer. What nobody here allocated, or stands on the stack, has no `by`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Object {
    by: Option<OpId>,
    freed: Option<OpId>,
}

#[derive(Clone, Default)]
struct State {
    buffers: BTreeMap<ValueId, usize>,
    truths: BTreeMap<ValueId, bool>,
    objects: Vec<Object>,
    /// Allocations whose buffer is there and that nothing can reach any more.
    lost: BTreeSet<OpId>,
    way: Vec<Turn>,
    blocks: Vec<BlockId>,
}

type Key = (Vec<(ValueId, usize)>, Vec<(ValueId, bool)>, Vec<Object>, Vec<OpId>);

impl State {
    fn is_new(&mut self, value: ValueId, object: Object) {
        self.buffers.insert(value, self.objects.len());
        self.objects.push(object);
    }

    fn forget(&mut self, value: ValueId) {
        self.buffers.remove(&value);
        self.truths.remove(&value);
    }

    fn bind(&mut self, to: ValueId, from: &State, value: ValueId) {
        self.forget(to);
        if let Some(object) = from.buffers.get(&value) {
            self.buffers.insert(to, *object);
        }
        if let Some(truth) = from.truths.get(&value) {
            self.truths.insert(to, *truth);
        }
    }

    /// Keeps the values that `keeps` wants, numbers the buffers as they come, and forgets those that nothing reaches.
    fn tidy(&mut self, keeps: impl Fn(ValueId) -> bool) {
        self.buffers.retain(|v, _| keeps(*v));
        self.truths.retain(|v, _| keeps(*v));
        let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
        let mut objects = Vec::new();
        for object in self.buffers.values_mut() {
            *object = *numbers.entry(*object).or_insert_with(|| {
                objects.push(self.objects[*object].clone());
                objects.len() - 1
            });
        }
        for (i, object) in self.objects.iter().enumerate() {
            if let (false, Some(by), None) = (numbers.contains_key(&i), object.by, object.freed) {
                self.lost.insert(by);
            }
        }
        self.objects = objects;
    }

    fn key(&self) -> Key {
        let buffers = self.buffers.iter().map(|(v, o)| (*v, *o)).collect();
        let truths = self.truths.iter().map(|(v, t)| (*v, *t)).collect();
        (buffers, truths, self.objects.clone(), self.lost.iter().copied().collect())
    }
}

struct Runner<'a> {
    program: &'a Program,
    border: Border,
    wanted: Vec<BTreeSet<ValueId>>,
    report: Report,
    seen: BTreeSet<(Kind, OpId, Option<OpId>)>,
}

impl Runner<'_> {
    fn fault(&mut self, kind: Kind, at: OpId, object: &Object, state: &State) {
        if self.seen.insert((kind, at, object.by)) {
            let (way, blocks) = (state.way.clone(), state.blocks.clone());
            let (allocated_by, freed_by) = (object.by, object.freed);
            self.report.faults.push(Fault { kind, at, allocated_by, freed_by, way, blocks });
        }
    }

    fn region_of(&self, value: ValueId) -> RegionId {
        self.program.block(self.program.block_of(value)).region
    }

    /// One of each kind, and not too many.
    fn distinct(&mut self, states: Vec<State>) -> Vec<State> {
        let mut keys: HashSet<Key> = HashSet::new();
        let mut out: Vec<State> = states.into_iter().filter(|s| keys.insert(s.key())).collect();
        if out.len() > MOST_STATES {
            out.truncate(MOST_STATES);
            self.report.complete = false;
        }
        out
    }

    /// Runs a region; gives the states in which it ends, each with what ended it.
    fn region(&mut self, region: RegionId, states: Vec<State>) -> Vec<(State, Option<OpId>)> {
        let program = self.program;
        let blocks = &program.region(region).blocks;
        let Some(entry) = blocks.first().copied() else {
            return states.into_iter().map(|s| (s, None)).collect();
        };
        let mut waiting: BTreeMap<BlockId, Vec<State>> = BTreeMap::from([(entry, states)]);
        let mut ended = Vec::new();
        for block in order(program, region) {
            let mut states = waiting.remove(&block).unwrap_or_default();
            let wanted = std::mem::take(&mut self.wanted[block.index()]);
            for state in &mut states {
                let keeps = |v: ValueId| {
                    let home = program.block_of(v);
                    home == block || program.block(home).region != region || wanted.contains(&v)
                };
                state.tidy(keeps);
            }
            self.wanted[block.index()] = wanted;
            let mut states = self.distinct(states);
            for state in &mut states {
                state.blocks.push(block);
            }
            for op in &program.block(block).ops {
                self.report.steps += states.len();
                if self.report.steps > MOST_STEPS {
                    self.report.complete = false;
                    return ended;
                }
                if program.op(*op).successors.is_empty() {
                    states = self.op(*op, states);
                } else {
                    for (to, state) in self.branch(*op, std::mem::take(&mut states)) {
                        waiting.entry(to).or_default().push(state);
                    }
                }
            }
            let last = program.block(block).ops.last().copied();
            let goes_on = last.is_some_and(|o| !program.op(o).successors.is_empty());
            if !goes_on {
                ended.extend(states.into_iter().map(|s| (s, last)));
            }
        }
        ended
    }

    fn branch(&mut self, op: OpId, states: Vec<State>) -> Vec<(BlockId, State)> {
        let o = self.program.op(op);
        let mut out = Vec::new();
        for state in states {
            let ways = if o.successors.len() == 1 { vec![(state, 0)] } else { decide(state, o.operands[0]) };
            for (state, way) in ways {
                let s = &o.successors[way];
                let mut next = state.clone();
                let inputs = &self.program.block(s.block).arguments;
                for (i, input) in inputs.iter().enumerate() {
                    next.bind(*input, &state, o.operands[s.first as usize + i]);
                }
                out.push((s.block, next));
            }
        }
        out
    }

    /// The states behind an operation, with its results bound to what its regions end with.
    fn op(&mut self, op: OpId, states: Vec<State>) -> Vec<State> {
        let mut out = Vec::new();
        for state in states {
            out.extend(self.one(op, state));
        }
        self.distinct(out)
    }

    fn one(&mut self, op: OpId, mut state: State) -> Vec<State> {
        let program = self.program;
        let o = program.op(op);
        for result in &o.results {
            state.forget(*result);
        }
        match o.name.as_str() {
            "memref.alloc" => {
                state.is_new(o.results[0], Object { by: Some(op), freed: None });
                vec![state]
            }
            "memref.alloca" => {
                state.is_new(o.results[0], Object { by: None, freed: None });
                vec![state]
            }
            "bufferization.clone" => {
                self.uses(op, &state);
                state.is_new(o.results[0], Object { by: Some(op), freed: None });
                vec![state]
            }
            "memref.dealloc" => {
                self.frees(op, o.operands[0], &mut state);
                vec![state]
            }
            "bufferization.dealloc" => self.frees_if(op, state),
            "memref.cast"
            | "memref.subview"
            | "memref.reinterpret_cast"
            | "memref.memory_space_cast"
            | "memref.view"
            | "memref.collapse_shape"
            | "memref.expand_shape"
            | "memref.extract_strided_metadata"
            // An address stands for the buffer that is there.
            | "memref.extract_aligned_pointer_as_index" => {
                if let (Some(to), Some(from)) = (o.results.first(), o.operands.first()) {
                    let before = state.clone();
                    state.bind(*to, &before, *from);
                }
                vec![state]
            }
            "arith.constant" => {
                if let Some(truth) = truth(program, op) {
                    state.truths.insert(o.results[0], truth);
                }
                vec![state]
            }
            "arith.select" if o.operands.len() == 3 => {
                let mut out = Vec::new();
                for (mut state, way) in decide(state, o.operands[0]) {
                    let before = state.clone();
                    state.bind(o.results[0], &before, o.operands[1 + way]);
                    out.push(state);
                }
                out
            }
            "arith.cmpi" if compares_equal(program, op) => {
                let [a, b] = [0, 1].map(|n| state.buffers.get(&o.operands[n]));
                if let (Some(a), Some(b)) = (a, b) {
                    let truth = a == b;
                    state.truths.insert(o.results[0], truth);
                }
                vec![state]
            }
            "arith.andi" | "arith.ori" | "arith.xori"
                if o.operands.len() == 2 && self.is_truth(o.results[0]) =>
            {
                let mut out = Vec::new();
                for (state, a) in decide(state, o.operands[0]) {
                    for (mut state, b) in decide(state, o.operands[1]) {
                        let (a, b) = (a == 0, b == 0);
                        let truth = match o.name.as_str() {
                            "arith.andi" => a && b,
                            "arith.ori" => a || b,
                            _ => a != b,
                        };
                        state.truths.insert(o.results[0], truth);
                        out.push(state);
                    }
                }
                out
            }
            "func.return" => {
                self.uses(op, &state);
                self.ends(op, &state);
                vec![state]
            }
            "scf.if" => {
                let mut out = Vec::new();
                for (state, way) in decide(state, o.operands[0]) {
                    out.extend(self.inside(o.regions[way], state, &o.results, 0));
                }
                out
            }
            "scf.for" => self.counted_loop(op, state),
            "scf.while" => self.open_loop(op, state),
            "scf.execute_region" | "memref.alloca_scope" => self.inside(o.regions[0], state, &o.results, 0),
            "scf.yield" | "scf.condition" | "memref.alloca_scope.return" => vec![state],
            _ => self.unknown(op, state),
        }
    }

    fn is_truth(&self, value: ValueId) -> bool {
        self.program.value(value).ty == "i1"
    }

    /// Every buffer among the operands is there.
    fn uses(&mut self, op: OpId, state: &State) {
        for operand in &self.program.op(op).operands {
            if let Some(object) = state.buffers.get(operand).map(|o| state.objects[*o].clone())
                && object.freed.is_some()
            {
                self.fault(Kind::UsedAfterRelease, op, &object, state);
            }
        }
    }

    fn frees(&mut self, op: OpId, value: ValueId, state: &mut State) {
        let Some(number) = state.buffers.get(&value).copied() else { return };
        let object = state.objects[number].clone();
        if object.freed.is_some() {
            self.fault(Kind::FreedTwice, op, &object, state);
        } else if object.by.is_none() {
            self.fault(Kind::NotOurs, op, &object, state);
        }
        state.objects[number].freed = Some(op);
    }

    /// Frees each buffer whose condition holds, once, unless it is among the retained; tells for each of these whether
    /// it would have been freed.
    fn frees_if(&mut self, op: OpId, state: State) -> Vec<State> {
        let o = self.program.op(op);
        let retained = o.results.len();
        let buffers = (o.operands.len() - retained) / 2;
        let mut states = vec![state];
        for condition in &o.operands[buffers..buffers * 2] {
            states = states.into_iter().flat_map(|s| decide(s, *condition)).map(|(s, _)| s).collect();
        }
        for state in &mut states {
            let keeps: Vec<Option<usize>> =
                o.operands[buffers * 2..].iter().map(|v| state.buffers.get(v).copied()).collect();
            let mut owned = vec![false; retained];
            let mut done = BTreeSet::new();
            for i in 0..buffers {
                let Some(object) = state.buffers.get(&o.operands[i]).copied() else { continue };
                if state.truths.get(&o.operands[buffers + i]) != Some(&true) {
                    continue;
                }
                let mut kept = false;
                for (owned, keep) in owned.iter_mut().zip(&keeps) {
                    if *keep == Some(object) {
                        (*owned, kept) = (true, true);
                    }
                }
                if !kept && done.insert(object) {
                    self.frees(op, o.operands[i], state);
                }
            }
            for (result, owned) in o.results.iter().zip(owned) {
                state.truths.insert(*result, owned);
            }
        }
        states
    }

    /// The function ends: what is its own and neither freed nor given back is lost.
    fn ends(&mut self, op: OpId, state: &State) {
        let given: BTreeSet<usize> =
            self.program.op(op).operands.iter().filter_map(|v| state.buffers.get(v).copied()).collect();
        for (i, object) in state.objects.iter().enumerate() {
            if object.by.is_some() && object.freed.is_none() && !given.contains(&i) {
                self.fault(Kind::Leak, op, object, state);
            }
        }
        for by in &state.lost {
            self.fault(Kind::Leak, op, &Object { by: Some(*by), freed: None }, state);
        }
    }

    /// Runs a region once; what it ends with becomes `results`.
    fn inside(&mut self, region: RegionId, state: State, results: &[ValueId], first: usize) -> Vec<State> {
        let ended = self.region(region, vec![state]);
        let out =
            ended.into_iter().map(|(state, by)| self.leave(region, state, by, results, first)).collect();
        self.distinct(out)
    }

    fn leave(
        &self,
        region: RegionId,
        state: State,
        by: Option<OpId>,
        results: &[ValueId],
        first: usize,
    ) -> State {
        let mut out = state.clone();
        if let Some(by) = by.filter(|by| leavers(self.program, region).contains(by)) {
            let passed = &self.program.op(by).operands;
            for (result, value) in results.iter().zip(passed.iter().skip(first)) {
                out.bind(*result, &state, *value);
            }
        }
        out.tidy(|v| results.contains(&v) || self.region_of(v) != region);
        out
    }

    fn bind_all(state: &mut State, to: &[ValueId], from: &[ValueId]) {
        let before = state.clone();
        for (to, from) in to.iter().zip(from) {
            state.bind(*to, &before, *from);
        }
    }

    fn arguments(&self, region: RegionId) -> Vec<ValueId> {
        self.program
            .region(region)
            .blocks
            .first()
            .map(|b| self.program.block(*b).arguments.clone())
            .unwrap_or_default()
    }

    fn counted_loop(&mut self, op: OpId, state: State) -> Vec<State> {
        let o = self.program.op(op);
        let arguments = self.arguments(o.regions[0]);
        // What is carried stands in the results between two iterations.
        let mut entering = state;
        Self::bind_all(&mut entering, &o.results, &o.operands[3..]);
        let mut states = vec![entering];
        let mut out = Vec::new();
        for times in 0..=2 {
            for state in &states {
                let mut done = state.clone();
                done.way.push(Turn::Times(op, times));
                out.push(done);
            }
            if times == 2 {
                break;
            }
            let mut next = Vec::new();
            for mut state in states {
                Self::bind_all(&mut state, &arguments[1..], &o.results);
                o.results.iter().for_each(|r| state.forget(*r));
                next.extend(self.inside(o.regions[0], state, &o.results, 0));
            }
            states = self.distinct(next);
        }
        out
    }

    fn open_loop(&mut self, op: OpId, mut state: State) -> Vec<State> {
        let o = self.program.op(op);
        let [before, after] = [o.regions[0], o.regions[1]];
        let (before_arguments, after_arguments) = (self.arguments(before), self.arguments(after));
        Self::bind_all(&mut state, &before_arguments, &o.operands);
        let mut states = vec![state];
        let mut out = Vec::new();
        for times in 0..=2 {
            let mut next = Vec::new();
            for state in states {
                for state in self.inside(before, state, &o.results, 1) {
                    let mut done = state.clone();
                    done.way.push(Turn::Times(op, times));
                    out.push(done);
                    if times < 2 {
                        let mut again = state;
                        Self::bind_all(&mut again, &after_arguments, &o.results);
                        o.results.iter().for_each(|r| again.forget(*r));
                        next.extend(self.inside(after, again, &before_arguments, 0));
                    }
                }
            }
            states = self.distinct(next);
        }
        out
    }

    /// An operation that is not known uses its operands; its regions run or do not; what it gives is not ours, unless a
    /// call gives it and the border says so.
    fn unknown(&mut self, op: OpId, mut state: State) -> Vec<State> {
        let o = self.program.op(op);
        self.uses(op, &state);
        let by = (self.border == Border::Owned && o.name == "func.call").then_some(op);
        for result in &o.results {
            if self.program.value(*result).is_buffer() {
                state.is_new(*result, Object { by, freed: None });
            }
        }
        let mut states = vec![state];
        for region in &o.regions {
            let mut next = Vec::new();
            for state in states {
                let mut once = state.clone();
                let mut never = state;
                never.way.push(Turn::Times(op, 0));
                once.way.push(Turn::Times(op, 1));
                next.push(never);
                next.extend(self.inside(*region, once, &[], 0));
            }
            states = next;
        }
        states
    }
}

/// The states in which a condition is true (with 0) and false (with 1): as it is known to be, or both.
fn decide(state: State, condition: ValueId) -> Vec<(State, usize)> {
    match state.truths.get(&condition) {
        Some(true) => vec![(state, 0)],
        Some(false) => vec![(state, 1)],
        None => [true, false]
            .into_iter()
            .enumerate()
            .map(|(i, truth)| {
                let mut state = state.clone();
                state.truths.insert(condition, truth);
                state.way.push(Turn::Condition(condition, truth));
                (state, i)
            })
            .collect(),
    }
}

/// Whether a comparison asks for equality, in its own syntax.
fn compares_equal(program: &Program, op: OpId) -> bool {
    let o = program.op(op);
    let is_equal = |p: &Piece| matches!(p, Piece::Text(text) if text.trim_start().starts_with("eq,"));
    o.operands.len() == 2
        && matches!(&o.syntax, Syntax::Pieces(pieces) if pieces.first().is_some_and(is_equal))
}

/// The truth that a constant holds.
fn truth(program: &Program, op: OpId) -> Option<bool> {
    let text =
        match &program.op(op).syntax {
            Syntax::Pieces(pieces) => match pieces.first() {
                Some(Piece::Text(text)) => text.as_str(),
                _ => return None,
            },
            Syntax::Generic { properties, attributes }
                if program.value(program.op(op).results[0]).ty == "i1" =>
            {
                if properties.contains("true") || attributes.contains("true") { " true" } else { " false" }
            }
            _ => return None,
        };
    match text.trim() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Blocks so that each comes behind those that lead to it; what nothing reaches is left out.
fn order(program: &Program, region: RegionId) -> Vec<BlockId> {
    let Some(entry) = program.region(region).blocks.first().copied() else { return Vec::new() };
    let next = |block: BlockId| -> Vec<BlockId> {
        let last = program.block(block).ops.last();
        last.map(|o| program.op(*o).successors.iter().map(|s| s.block).collect()).unwrap_or_default()
    };
    let mut out = Vec::new();
    let mut seen = BTreeSet::from([entry]);
    let mut stack = vec![(entry, 0)];
    while let Some((block, child)) = stack.pop() {
        match next(block).get(child) {
            Some(to) => {
                stack.push((block, child + 1));
                if seen.insert(*to) {
                    stack.push((*to, 0));
                }
            }
            None => out.push(block),
        }
    }
    out.reverse();
    out
}

/// What a run says that found nothing.
pub const NOTHING: &str = "Nothing is leaked, freed twice or used when it is gone.";

/// A fault in one sentence.
pub fn words(program: &Program, fault: &Fault) -> String {
    let line = |op: OpId| format!("`{}`", crate::line(program, op));
    let buffer = match fault.allocated_by {
        Some(by) => match program.op(by).results.first() {
            Some(value) => format!("the buffer of `{}`", program.value(*value).label()),
            None => "a buffer".to_owned(),
        },
        None => "a buffer of the caller or of the stack".to_owned(),
    };
    let freed = fault.freed_by.map(|by| format!(" It was freed by {}.", line(by))).unwrap_or_default();
    let what = match fault.kind {
        Kind::Leak => format!("{buffer} is never freed: it is still there at {}.", line(fault.at)),
        Kind::FreedTwice => format!("{buffer} is freed twice, the second time by {}.{freed}", line(fault.at)),
        Kind::UsedAfterRelease => format!("{buffer} is used when it is gone, by {}.{freed}", line(fault.at)),
        Kind::NotOurs => format!("{buffer} is freed by {}.", line(fault.at)),
    };
    let turn = |turn: &Turn| match turn {
        Turn::Condition(value, truth) => format!("{} is {truth}", program.value(*value).label()),
        Turn::Times(op, times) => {
            let times = match times {
                0 => "not at all".to_owned(),
                1 => "once".to_owned(),
                2 => "twice".to_owned(),
                n => format!("{n} times"),
            };
            format!("`{}` runs {times}", program.op(*op).name)
        }
    };
    let way: Vec<String> = fault.way.iter().map(turn).collect();
    let way = if way.is_empty() { String::new() } else { format!(" The way there: {}.", way.join(", ")) };
    let mut out = format!("{what}{way}");
    if let Some(first) = out.get(..1) {
        let upper = first.to_uppercase();
        out.replace_range(..1, &upper);
    }
    out
}
