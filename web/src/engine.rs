//! The one place where text becomes a picture: the engine's crates are called here and nowhere else.

use crate::scene::{self, Curve, Item, Picture, Slab, SlabKind, StepName};
use crate::state::{Edit, End, Move};
use analysis::ranges::{LiveRanges, RangeEdit};
use analysis::sharing::Interference;
use analysis::{Backend, Facts, Orders, Step, Target, ValueId};
use assigner::words::{self, Change};
use assigner::{Assignment, Decisions, Options};
use hlo::{InstructionId, Module};
use sorts::Arrange as _;

/// Something to say about the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// Does it keep the module from being shown?
    pub is_error: bool,
    /// What was read and what was expected.
    pub message: String,
}

/// A module, read and analysed once; edits start from here.
#[derive(Debug)]
pub struct Opened {
    /// The module.
    pub module: Module,
    /// What is true of it.
    pub facts: Facts,
    /// Its assignment as the text has it.
    pub original: Run,
    /// Remarks on the text that do not keep it from being shown.
    pub remarks: Vec<Problem>,
    /// What the assigner is told beside it.
    options: Options,
}

/// One run of the assigner.
#[derive(Debug)]
pub struct Run {
    /// The edits it was run for.
    pub edits: Vec<Edit>,
    /// The ranges, edits included.
    pub ranges: LiveRanges,
    /// What came out.
    pub assignment: Assignment,
    /// How it came about.
    pub decisions: Decisions,
    /// The same, flattened for drawing.
    pub picture: Picture,
    /// Bytes in use, step by step.
    pub curve: Curve,
}

/// Where an end would break a sharing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Threshold {
    /// The end is at this step when it breaks.
    pub step: u32,
    /// With whom: names.
    pub with: Vec<String>,
    /// The number of the first of them.
    pub first: u32,
    /// Why, for the first of them: without a full stop.
    pub words: String,
}

/// Reads and analyses a text. What is wrong with it comes with its line.
pub fn open(text: &str) -> Result<Opened, Vec<Problem>> {
    Ok(assigned(text, analysed(text, None)?, Options::default()))
}

/// The same for a backend that the text need not betray, and with what memory space assignment placed before, as XLA's
/// dump has it; empty where it placed nothing.
pub fn open_as(text: &str, backend: Option<Backend>, placed: &str) -> Result<Opened, Vec<Problem>> {
    let read = analysed(text, backend)?;
    let mut options = Options::default();
    if !placed.is_empty() {
        options.presets = dumps::presets(&read.0, &read.1, placed)
            .map_err(|problems| problems.iter().map(problem).collect::<Vec<_>>())?
            .0;
    }
    Ok(assigned(text, read, options))
}

/// The module, what is true of it, and remarks. Apart from [`open_as`], so that readers of dumps come only with the
/// chapters that need them.
fn analysed(text: &str, backend: Option<Backend>) -> Result<(Module, Facts, Vec<Problem>), Vec<Problem>> {
    let read = hlo::read(text);
    let mut problems: Vec<Problem> = read.diagnostics.iter().map(problem).collect();
    let broken = problems.iter().any(|p| p.is_error);
    let Some(module) = read.module.filter(|_| !broken) else {
        if !broken {
            problems.push(Problem {
                line: 1,
                column: 1,
                is_error: true,
                message: "no module, expected HloModule and an ENTRY computation".to_owned(),
            });
        }
        return Err(problems);
    };
    let target = backend.map_or_else(|| Target::detect(&module), |b| Target::tuned(b, &module));
    let orders = Orders::guess(&module, &target);
    let facts = match Facts::new(&module, orders, target) {
        Ok(facts) => facts,
        Err(error) => {
            let line =
                error.instruction().map_or(1, |i| Lines::new(text).of(module.instruction(i).text.start));
            problems.push(Problem { line, column: 1, is_error: true, message: error.describe(&module) });
            return Err(problems);
        }
    };
    Ok((module, facts, problems))
}

fn assigned(text: &str, (module, facts, remarks): (Module, Facts, Vec<Problem>), options: Options) -> Opened {
    let lines = Lines::new(text);
    let ranges = facts.ranges.edited(&[]);
    let mut original = Run::new((&module, &facts), &options, ranges, Vec::new(), |at| lines.of(at));
    scene::colour(&mut original.picture.items);
    Opened { module, facts, original, remarks, options }
}

/// What a reader has to say, as a problem of the text.
pub fn problem(d: &hlo::Diagnostic) -> Problem {
    Problem {
        line: d.at.line,
        column: d.at.column,
        is_error: d.severity == hlo::Severity::Error,
        message: format!("{}, {}", d.read, d.expected),
    }
}

/// Where each line starts, in bytes.
struct Lines(Vec<u32>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32).collect())
    }

    fn of(&self, at: u32) -> u32 {
        self.0.partition_point(|newline| *newline < at) as u32 + 1
    }
}

impl Run {
    fn new(
        (module, facts): (&Module, &Facts),
        options: &Options,
        ranges: LiveRanges,
        edits: Vec<Edit>,
        line: impl Fn(u32) -> u32,
    ) -> Self {
        let (assignment, decisions) = assigner::assign(module, facts, &ranges, options);
        let mut picture = Picture {
            total_bytes: assignment.total_bytes(),
            temp_bytes: assignment.temp_bytes(),
            steps: facts
                .clock
                .sequence
                .iter()
                .map(|i| StepName {
                    name: module.name_of(*i).to_owned(),
                    opcode: module.str(module.instruction(*i).opcode_name).to_owned(),
                    line: line(module.instruction(*i).text.start),
                })
                .collect(),
            ..Picture::default()
        };
        for a in &assignment.allocations {
            let kind = if a.parameter.is_some() {
                SlabKind::Parameter
            } else if a.is_constant {
                SlabKind::Constant
            } else if a.is_thread_local {
                SlabKind::ThreadLocal
            } else if a.maybe_live_out {
                SlabKind::Result
            } else {
                SlabKind::Temp
            };
            let values = a.values.iter().map(|p| p.value.0).collect();
            picture.slabs.push(Slab { id: a.id.0, kind, size: a.size, values });
        }
        picture.temp = (0..picture.slabs.len())
            .filter(|i| picture.slabs[*i].kind == SlabKind::Temp)
            .max_by_key(|i| (picture.slabs[*i].size, std::cmp::Reverse(*i)));
        picture.alignment =
            picture.temp.map_or(1, |t| facts.target.alignment(assignment.allocations[t].color));
        for (value, range) in ranges.iter() {
            let Some(v) = facts.find_value(value) else { continue };
            let instruction = module.instruction(facts.defining(value));
            let place = assignment.place(value);
            let mut reads: Vec<u32> =
                v.uses.iter().filter_map(|u| facts.clock.time(u.user)).map(|s| s.0).collect();
            reads.arrange_unstable();
            reads.dedup();
            picture.items.push(Item {
                value: value.0,
                buffer: v.buffer.0,
                name: facts.label(module, value),
                opcode: module.str(instruction.opcode_name).to_owned(),
                shape: module.shapes.short(facts.value_shape(module, value)).to_owned(),
                line: line(instruction.text.start),
                start: range.start.0,
                end: range.end.0,
                reads,
                bytes: facts.value_bytes(value),
                slab: place.map(|(a, _)| a.index()),
                offset: place.map_or(0, |(_, p)| p.offset),
                size: place.map_or(0, |(_, p)| p.size),
                hue: 0,
            });
        }
        let curve = scene::curve(&picture);
        Self { edits, ranges, assignment, decisions, picture, curve }
    }
}

fn end_of(end: End) -> assigner::End {
    match end {
        End::Start => assigner::End::Start,
        End::End => assigner::End::End,
    }
}

/// The moves that make `to` of `from`: all but a longest run of instructions that keep their order among themselves.
fn fewest_moves(from: &[InstructionId], to: &[InstructionId]) -> Vec<Move> {
    if from == to {
        return Vec::new();
    }
    let rank: std::collections::HashMap<InstructionId, usize> =
        from.iter().enumerate().map(|(n, i)| (*i, n)).collect();
    // The longest increasing subsequence: for each instruction how long a run may end with it, and what stands before.
    let ranks: Vec<usize> = to.iter().filter_map(|i| rank.get(i).copied()).collect();
    let mut tails: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; ranks.len()];
    for (n, r) in ranks.iter().enumerate() {
        let at = tails.partition_point(|t| ranks[*t] < *r);
        if at > 0 {
            before[n] = tails[at - 1];
        }
        if at == tails.len() {
            tails.push(n);
        } else {
            tails[at] = n;
        }
    }
    let mut stays = vec![false; ranks.len()];
    let mut n = tails.last().copied().unwrap_or(usize::MAX);
    while let Some(stay) = stays.get_mut(n) {
        *stay = true;
        n = before[n];
    }
    to.iter()
        .enumerate()
        .filter(|(n, _)| !stays.get(*n).copied().unwrap_or(true))
        .map(|(n, i)| Move { to: n as u32, instruction: i.0 })
        .collect()
}

impl Opened {
    /// The order of instructions in each computation that `moves` touch, once they are made; `None` if a move is of no
    /// instruction of this module.
    fn order(module: &Module, moves: &[Move]) -> Option<Vec<(hlo::ComputationId, Vec<InstructionId>)>> {
        let mut orders: Vec<(hlo::ComputationId, Vec<InstructionId>)> = Vec::new();
        for m in moves {
            let c = module.instructions.get(m.instruction as usize)?.computation;
            let order = match orders.iter_mut().find(|(other, _)| *other == c) {
                Some((_, order)) => order,
                None => {
                    orders.push((c, module.computation(c).instructions.clone()));
                    &mut orders.last_mut()?.1
                }
            };
            order.retain(|i| i.0 != m.instruction);
        }
        for m in moves {
            let c = module.instruction(InstructionId(m.instruction)).computation;
            let (_, order) = orders.iter_mut().find(|(other, _)| *other == c)?;
            let to = (m.to as usize).min(order.len());
            order.insert(to, InstructionId(m.instruction));
        }
        Some(orders)
    }

    /// The module with some instructions at other places of the schedule, analysed and assigned anew. Values keep their
    /// numbers and colours. `None` if a move is not possible: nothing may run before what it reads.
    pub fn reordered(&self, moves: &[Move]) -> Option<Self> {
        let mut module = self.module.clone();
        for (c, order) in Self::order(&self.module, moves)? {
            module.computations[c.index()].instructions = order;
        }
        let in_order = |c: &hlo::Computation| {
            let mut seen = std::collections::HashSet::new();
            c.instructions.iter().all(|i| {
                seen.insert(*i);
                module.operands(*i).iter().chain(module.control_predecessors(*i)).all(|o| seen.contains(o))
            })
        };
        if !moves.iter().all(|m| {
            in_order(module.computation(module.instruction(InstructionId(m.instruction)).computation))
        }) {
            return None;
        }
        // The orders that number the values are those of the module as it was read.
        let facts = Facts::new(&module, self.facts.orders.clone(), self.facts.target.clone()).ok()?;
        let ranges = facts.ranges.edited(&[]);
        let mut original = Run::new((&module, &facts), &self.options, ranges, Vec::new(), |_| 0);
        self.keep_identity(&mut original.picture);
        let (remarks, options) = (self.remarks.clone(), self.options.clone());
        Some(Self { module, facts, original, remarks, options })
    }

    /// Lines and colours are the module's; neither edits nor moves change them.
    fn keep_identity(&self, picture: &mut Picture) {
        let line_of: std::collections::HashMap<&str, u32> =
            self.original.picture.steps.iter().map(|s| (s.name.as_str(), s.line)).collect();
        for step in &mut picture.steps {
            step.line = line_of.get(step.name.as_str()).copied().unwrap_or(0);
        }
        for item in &mut picture.items {
            if let Some(old) = self.original.picture.item(item.value) {
                (item.line, item.hue) = (old.line, old.hue);
            }
        }
    }

    /// The places at which an instruction may stand in its computation, both included: after what it reads, before what
    /// reads it. Its present place is among them.
    pub fn slots(&self, instruction: u32) -> Option<(u32, u32)> {
        let module = &self.module;
        let id = InstructionId(instruction);
        let order =
            &module.computation(module.instructions.get(instruction as usize)?.computation).instructions;
        let at = order.iter().position(|i| *i == id)?;
        let wants = |user: InstructionId, of: InstructionId| {
            module.operands(user).contains(&of) || module.control_predecessors(user).contains(&of)
        };
        let first = order[..at].iter().rposition(|i| wants(id, *i)).map_or(0, |p| p + 1);
        let last = order[at + 1..].iter().position(|i| wants(*i, id)).map_or(order.len() - 1, |p| at + p);
        Some((first as u32, last as u32))
    }

    /// Where an instruction stands in its computation.
    pub fn slot(&self, instruction: u32) -> Option<u32> {
        let module = &self.module;
        let c = module.instructions.get(instruction as usize)?.computation;
        module.computation(c).instructions.iter().position(|i| i.0 == instruction).map(|p| p as u32)
    }

    /// The moves that lead from this module's order to the one in which `moves` are made and then `instruction` is put
    /// at `to`, which is kept within what it depends on. As few as possible: back where all was, there is none.
    pub fn moved(&self, moves: &[Move], instruction: u32, to: i64) -> Vec<Move> {
        let Some(now) = (if moves.is_empty() { None } else { self.reordered(moves) }) else {
            return self.moved_from(self, instruction, to).unwrap_or_default();
        };
        self.moved_from(&now, instruction, to).unwrap_or_else(|| moves.to_vec())
    }

    fn moved_from(&self, now: &Self, instruction: u32, to: i64) -> Option<Vec<Move>> {
        let (first, last) = now.slots(instruction)?;
        let to = to.clamp(i64::from(first), i64::from(last)) as usize;
        let mut out = Vec::new();
        for c in self.module.computation_ids() {
            let mut order = now.module.computation(c).instructions.clone();
            if let Some(at) = order.iter().position(|i| i.0 == instruction) {
                let id = order.remove(at);
                order.insert(to, id);
            }
            out.extend(fewest_moves(&self.module.computation(c).instructions, &order));
        }
        out.arrange_unstable();
        Some(out)
    }

    /// Runs the assigner again for edited ranges.
    pub fn run(&self, edits: &[Edit]) -> Run {
        let ranges = self.facts.ranges.edited(
            &edits
                .iter()
                .map(|e| RangeEdit { value: ValueId(e.value), start: Step(e.start), end: Step(e.end) })
                .collect::<Vec<_>>(),
        );
        let mut run = Run::new((&self.module, &self.facts), &self.options, ranges, edits.to_vec(), |_| 0);
        self.keep_identity(&mut run.picture);
        run
    }

    /// The steps at which one end of a value's range would break a sharing, the nearest first.
    pub fn thresholds(&self, run: &Run, value: u32, end: End) -> Vec<Threshold> {
        let found = assigner::thresholds(
            &self.module,
            &self.facts,
            &run.ranges,
            &run.assignment,
            ValueId(value),
            end_of(end),
        );
        let mut out: Vec<Threshold> = Vec::new();
        for t in found {
            let name = self.facts.label(&self.module, t.loses);
            match out.iter_mut().find(|o| o.step == t.step.0) {
                Some(same) => same.with.push(name),
                None => out.push(Threshold {
                    step: t.step.0,
                    with: vec![name],
                    first: t.loses.0,
                    words: self.why(ValueId(value), t.loses, &t.why),
                }),
            }
        }
        out.arrange_by_key(|t| t.step);
        if end == End::Start {
            out.reverse();
        }
        out
    }

    fn why(&self, a: ValueId, b: ValueId, why: &Interference) -> String {
        words::interference_words(&self.module, &self.facts, a, b, why)
    }

    /// What the edits of `run` changed against the module as it is.
    pub fn change(&self, run: &Run) -> Change {
        let edited: Vec<ValueId> = run.edits.iter().map(|e| ValueId(e.value)).collect();
        words::change(
            &self.module,
            &self.facts,
            &self.original.assignment,
            (&run.ranges, &run.assignment),
            &edited,
        )
    }

    /// The value of that name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.original.picture.items.iter().find(|i| i.name == name).map(|i| i.value)
    }

    /// A value worth looking at first: a temporary whose end is nearest to breaking a sharing; of those the largest.
    pub fn suggest(&self) -> Option<u32> {
        let picture = &self.original.picture;
        let near = |item: &Item| {
            self.thresholds(&self.original, item.value, End::End)
                .first()
                .map(|t| t.step.saturating_sub(item.end))
        };
        let mut temps: Vec<&Item> =
            picture.temps().filter(|i| i.size > 0 && i.end < picture.last()).collect();
        temps.arrange_by_key(|i| (std::cmp::Reverse(i.size), i.value));
        temps
            .iter()
            .take(24)
            .filter_map(|i| Some((near(i)?, i.value)))
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, value)| value)
            .or_else(|| temps.first().map(|i| i.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::FIRST_TEXT;

    fn opened() -> Opened {
        open(FIRST_TEXT).expect("it can be read")
    }

    #[test]
    fn an_instruction_moves_within_what_it_depends_on_and_back() {
        let base = opened();
        let mut tried = 0;
        for i in (0..base.module.instructions.len() as u32).step_by(3) {
            let (Some((first, last)), Some(at)) = (base.slots(i), base.slot(i)) else { continue };
            assert!(first <= at && at <= last);
            for to in [i64::from(first), i64::from(last), i64::MIN, i64::MAX] {
                let moves = base.moved(&[], i, to);
                let now = base.reordered(&moves).expect("a legal order");
                assert_eq!(now.slot(i), Some(to.clamp(i64::from(first), i64::from(last)) as u32));
                assert_eq!(base.moved(&moves, i, i64::from(at)), []);
                tried += 1;
            }
        }
        assert!(tried > 20, "{tried}");
    }

    #[test]
    fn values_keep_number_name_and_colour_when_the_order_changes() {
        let base = opened();
        let i = base.facts.clock.sequence[4].0;
        let moves = base.moved(&[], i, i64::MAX);
        let now = base.reordered(&moves).expect("a legal order");
        let key = |o: &Opened| {
            o.original
                .picture
                .items
                .iter()
                .map(|i| (i.value, i.name.clone(), i.hue, i.line))
                .collect::<Vec<_>>()
        };
        assert_eq!(key(&base), key(&now));
    }

    #[test]
    fn an_order_that_breaks_a_dependency_is_refused() {
        let base = opened();
        let root = base.module.root(base.module.entry).0;
        assert!(base.reordered(&[Move { to: 0, instruction: root }]).is_none());
        assert!(base.reordered(&[Move { to: 0, instruction: u32::MAX }]).is_none());
    }
}
