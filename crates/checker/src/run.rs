//! The run itself: one instruction after the other, over memory whose bytes hold data instead of numbers.
//!
//! A computation that runs step by step (entry, loop, branch, call, asynchronous) is a frame on a stack of our own,
//! so depth costs no recursion. What an instruction gives is one cell for each part of its shape: where the part
//! lies and which datum must be there.

use crate::in_place::{Backend, Pair, joins_in_place, may_write_over, promised_aliases};
use crate::memory::{Mark, Memory, Range, Segment, Token};
use crate::program::{DEEPEST_CALL, NONE, Program};
use crate::violation::{Datum, Reason, Violation, When};
use crate::{Bound, Options, Summary};
use hlo::{ComputationId, InstructionId, Opcode, ShapeIndex};
use rustc_hash::{FxHashMap, FxHashSet};

/// Where a part of a result lies, and what must be there. The place is that of whoever wrote it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cell {
    place: u32,
    token: Token,
}

const EMPTY: Cell = Cell { place: NONE, token: Token(NONE) };

/// Who wrote a datum.
#[derive(Clone, Copy)]
struct Writer {
    instruction: InstructionId,
    sub: u32,
    /// Where it was written.
    place: u32,
    context: u32,
    from_the_start: bool,
    in_flight: bool,
}

/// One iteration of one loop, inside another.
#[derive(Clone, Copy)]
struct Context {
    outer: u32,
    of: InstructionId,
    iteration: u32,
}

struct Frame {
    computation: ComputationId,
    at: usize,
    kind: Kind,
}

enum Kind {
    Entry,
    Call(InstructionId),
    Condition(Loop),
    Body(Loop),
    Branch(Fork),
    Async { link: InstructionId, mark: Mark },
}

struct Loop {
    id: InstructionId,
    iteration: u32,
    /// The context outside.
    outer: u32,
    state: Vec<Cell>,
    /// Parts that an iteration has changed.
    changed: Vec<bool>,
}

struct Fork {
    id: InstructionId,
    branch: usize,
    mark: Mark,
    results: Vec<Vec<Cell>>,
    written: Vec<Segment>,
}

/// Why the run ended early.
pub(crate) enum Stop {
    Wrong(Box<Violation>),
    Budget,
}

impl From<Violation> for Stop {
    fn from(v: Violation) -> Self {
        Self::Wrong(Box::new(v))
    }
}

type Done = Result<(), Stop>;

/// One read: which datum, and as which part of which operand.
type Read = (Token, u32, u32);

/// How a part of the result of an asynchronous operation comes about.
#[derive(Clone, Copy)]
enum Source {
    /// Written by this instruction.
    Own,
    /// Written by this instruction, and not to be read before the operation is done.
    InFlight,
    /// A part of an operand, seen from here.
    Operand(u32, u32),
}

pub(crate) struct Machine<'a> {
    p: &'a Program<'a>,
    options: &'a Options,
    memory: Memory,
    writers: Vec<Writer>,
    cells: Vec<Cell>,
    contexts: Vec<Context>,
    context: u32,
    frames: Vec<Frame>,
    /// What the computations of asynchronous operations have written, until they are done.
    pending: FxHashMap<InstructionId, Vec<Segment>>,
    reads: Vec<Read>,
    /// Has the last step run?
    is_over: bool,
    work: u64,
    summary: Summary,
    binding: Binding,
    /// What was lost, but would be whatever the assignment.
    forced: Vec<Violation>,
    /// What of it was told, so that iterations do not repeat it: kind, who, and the two parts concerned.
    told: FxHashSet<(&'static str, InstructionId, u32, u32)>,
}

/// Which parts have to lie in one place.
#[derive(Default)]
struct Binding {
    /// The group of each cell, or [`NONE`]; empty if nothing is known.
    groups: Vec<u32>,
    /// The cells that are there from the start, by group.
    starts: FxHashMap<u32, Vec<(InstructionId, u32)>>,
}

impl Binding {
    fn new(p: &Program<'_>, bound: &Bound<'_>) -> Self {
        let module = p.module;
        let mut out = Self { groups: Vec::with_capacity(p.places.len()), ..Self::default() };
        for id in module.instruction_ids() {
            let instruction = module.instruction(id);
            let stands = instruction.opcode == Opcode::Constant && p.steps[id.index()] != NONE
                || instruction.opcode == Opcode::Parameter && instruction.computation == module.entry;
            for sub in 0..p.count(id) {
                let group = bound(id, sub);
                out.groups.push(group.unwrap_or(NONE));
                if let Some(group) = group
                    && stands
                {
                    out.starts.entry(group).or_default().push((id, sub));
                }
            }
        }
        out
    }

    fn group(&self, cell: u32) -> Option<u32> {
        self.groups.get(cell as usize).copied().filter(|g| *g != NONE)
    }
}

impl<'a> Machine<'a> {
    pub(crate) fn new(p: &'a Program<'a>, options: &'a Options, bound: Option<&Bound<'_>>) -> Self {
        Self {
            binding: bound.map(|b| Binding::new(p, b)).unwrap_or_default(),
            forced: Vec::new(),
            told: FxHashSet::default(),
            p,
            options,
            memory: Memory::new(p.plan.allocations.len()),
            writers: Vec::new(),
            cells: vec![EMPTY; p.places.len()],
            contexts: Vec::new(),
            context: NONE,
            frames: Vec::new(),
            pending: FxHashMap::default(),
            reads: Vec::new(),
            is_over: false,
            work: 0,
            summary: Summary::default(),
        }
    }

    pub(crate) fn summary(&self) -> Summary {
        Summary { values: self.p.plan.placements.len(), ..self.summary }
    }

    pub(crate) fn forced(self) -> Vec<Violation> {
        self.forced
    }

    pub(crate) fn run(&mut self) -> Done {
        self.begin()?;
        self.enter(self.p.module.entry, Kind::Entry);
        while let Some(frame) = self.frames.last_mut() {
            if let Some(&id) = self.p.module.computation(frame.computation).instructions.get(frame.at) {
                frame.at += 1;
                self.step(id)?;
            } else if let Some(frame) = self.frames.pop() {
                self.leave(frame)?;
            }
        }
        self.end()
    }

    // Words.

    fn when(&self, id: InstructionId, context: u32) -> When {
        let mut loops = Vec::new();
        let mut at = context;
        while at != NONE {
            let c = self.contexts[at as usize];
            loops.push((self.p.module.name_of(c.of).to_string(), c.iteration));
            at = c.outer;
        }
        loops.reverse();
        When { step: self.p.steps[id.index()], loops }
    }

    fn now(&self, id: InstructionId) -> When {
        self.when(id, self.context)
    }

    fn datum(&self, token: Token) -> Datum {
        let w = self.writers[token.0 as usize];
        Datum {
            value: self.p.value(w.instruction, w.sub),
            written: (!w.from_the_start).then(|| self.when(w.instruction, w.context)),
        }
    }

    fn name(&self, id: InstructionId) -> String {
        self.p.module.name_of(id).to_string()
    }

    // Cells.

    fn cells_of(&self, id: InstructionId) -> &[Cell] {
        &self.cells[self.p.base[id.index()] as usize..self.p.base[id.index() + 1] as usize]
    }

    fn cell(&self, id: InstructionId, sub: u32) -> Cell {
        self.cells_of(id).get(sub as usize).copied().unwrap_or(EMPTY)
    }

    fn set(&mut self, id: InstructionId, sub: u32, cell: Cell) {
        self.cells[(self.p.base[id.index()] + sub) as usize] = cell;
    }

    fn fresh(&mut self, instruction: InstructionId, sub: u32, place: u32, in_flight: bool) -> Token {
        self.writers.push(Writer {
            instruction,
            sub,
            place,
            context: self.context,
            from_the_start: false,
            in_flight,
        });
        Token(self.writers.len() as u32 - 1)
    }

    fn is_in_flight(&self, token: Token) -> bool {
        self.writers.get(token.0 as usize).is_some_and(|w| w.in_flight)
    }

    // What no assignment could do better.

    fn same_spot(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.p.range(a), self.p.range(b));
        (a.allocation, a.start) == (b.allocation, b.start)
    }

    fn group_of(&self, id: InstructionId, sub: u32) -> Option<u32> {
        self.binding.group(self.p.base[id.index()] + sub)
    }

    /// Had the datum to be written where the other part has to be? Only if it was: what is bound and lies elsewhere
    /// is the assignment's doing.
    fn is_bound(&self, token: Token, id: InstructionId, sub: u32, place: u32) -> bool {
        let w = self.writers[token.0 as usize];
        let group = self.group_of(id, sub);
        group.is_some() && group == self.group_of(w.instruction, w.sub) && self.same_spot(w.place, place)
    }

    /// Does the part have to lie where a constant or parameter stands whose allocation this is?
    fn is_bound_to_a_start(&self, id: InstructionId, sub: u32, place: u32) -> bool {
        let starts = self.group_of(id, sub).and_then(|g| self.binding.starts.get(&g));
        starts.into_iter().flatten().any(|&(start, at)| {
            let own = self.p.place(start, at);
            (start, at) != (id, sub)
                && own != NONE
                && self.same_spot(own, place)
                && self.is_its_own(start, at, own)
        })
    }

    /// Ends the run, unless the module itself is to blame: then it is noted once, and the run goes on.
    fn blame(&mut self, is_forced: bool, who: InstructionId, parts: (u32, u32), what: Violation) -> Done {
        if !is_forced {
            return Err(what.into());
        }
        if self.told.insert((what.kind(), who, parts.0, parts.1)) {
            self.forced.push(what);
        }
        Ok(())
    }

    fn part_of(&self, token: Token) -> u32 {
        let w = self.writers[token.0 as usize];
        self.p.base[w.instruction.index()] + w.sub
    }

    /// Does the datum stand where the cell says?
    fn holds(&mut self, cell: Cell, reader: InstructionId) -> Done {
        self.summary.reads += 1;
        self.work += 1;
        self.stands_in(self.p.range(cell.place), cell, reader)
    }

    fn stands_in(&mut self, range: Range, cell: Cell, reader: InstructionId) -> Done {
        let mut at = range.start;
        while let Some((bytes, found)) = self.memory.lost(Range { start: at, ..range }, cell.token) {
            let w = self.writers[cell.token.0 as usize];
            let is_forced = found.is_some_and(|f| self.is_bound(f, w.instruction, w.sub, cell.place));
            let what = Violation::Lost {
                reader: self.name(reader),
                when: (!self.is_over).then(|| self.now(reader)),
                expected: self.datum(cell.token),
                at: Program::spot(bytes),
                found: found.map(|t| self.datum(t)),
            };
            let parts = (self.part_of(cell.token), found.map_or(NONE, |t| self.part_of(t)));
            self.blame(is_forced, reader, parts, what)?;
            at = bytes.end;
        }
        Ok(())
    }

    /// Every part of `of` must be in its place now.
    fn all_hold(&mut self, of: InstructionId, reader: InstructionId) -> Done {
        for sub in 0..self.p.count(of) {
            self.part_holds(of, sub, reader)?;
        }
        Ok(())
    }

    fn part_holds(&mut self, of: InstructionId, sub: u32, reader: InstructionId) -> Done {
        let cell = self.cell(of, sub);
        if cell.place == NONE {
            return Err(Violation::NoAddress { value: self.p.value(of, sub) }.into());
        }
        self.holds(cell, reader)
    }

    fn reads_part(&mut self, of: InstructionId, sub: u32, reader: InstructionId) -> Done {
        self.part_holds(of, sub, reader)?;
        let token = self.cell(of, sub).token;
        if self.is_in_flight(token) {
            return Err(Violation::InFlight {
                reader: self.name(reader),
                when: self.now(reader),
                value: self.datum(token),
            }
            .into());
        }
        Ok(())
    }

    fn reads_all(&mut self, of: InstructionId, reader: InstructionId) -> Done {
        for sub in 0..self.p.count(of) {
            self.reads_part(of, sub, reader)?;
        }
        Ok(())
    }

    /// Reads all operands and remembers them until the results are written.
    fn read_operands(&mut self, id: InstructionId, done: bool) -> Done {
        self.reads.clear();
        let operands = self.p.module.operands(id);
        for (k, &operand) in (0_u32..).zip(operands) {
            for sub in 0..self.p.count(operand) {
                if done {
                    self.part_holds(operand, sub, id)?;
                } else {
                    self.reads_part(operand, sub, id)?;
                }
                self.reads.push((self.cell(operand, sub).token, k, sub));
            }
        }
        self.reads.sort_unstable();
        Ok(())
    }

    /// The assignment may list a position that only passes something on; then both must lie in one place.
    fn agrees(&self, id: InstructionId, sub: u32, cell: Cell, reason: Reason) -> Done {
        let listed = self.p.place(id, sub);
        if listed == NONE || cell.place == NONE || listed == cell.place {
            return Ok(());
        }
        let (expected, found) = (self.p.range(listed), self.p.range(cell.place));
        if (expected.allocation, expected.start) == (found.allocation, found.start) {
            return Ok(());
        }
        Err(Violation::Elsewhere {
            position: self.p.value(id, sub),
            expected: Program::spot(expected),
            value: self.datum(cell.token).value,
            found: Program::spot(found),
            reason,
        }
        .into())
    }

    /// Gives part `sub` of `id` what `cell` holds.
    fn pass(&mut self, id: InstructionId, sub: u32, cell: Cell, reason: Reason) -> Done {
        self.agrees(id, sub, cell, reason)?;
        self.set(id, sub, cell);
        self.work += 1;
        Ok(())
    }

    fn pass_all(&mut self, id: InstructionId, from: &[Cell], reason: Reason) -> Done {
        for (sub, cell) in (0..self.p.count(id)).zip(from) {
            self.pass(id, sub, *cell, reason)?;
        }
        Ok(())
    }

    // Writing.

    /// Writes part `sub` of the result of `id`. `first` is the first datum of this step.
    fn write(&mut self, id: InstructionId, sub: u32, in_flight: bool, first: Token) -> Done {
        let place = self.p.place(id, sub);
        if place == NONE {
            return Err(Violation::NoAddress { value: self.p.value(id, sub) }.into());
        }
        let range = self.p.range(place);
        if range.start < range.end {
            self.may_be_written(id, sub, place)?;
            let under: Vec<Segment> = self.memory.segments(range).collect();
            for s in under {
                self.may_be_overwritten(id, sub, place, s, first)?;
            }
        }
        let token = self.fresh(id, sub, place, in_flight);
        self.memory.write(range, token);
        self.set(id, sub, Cell { place, token });
        self.summary.writes += 1;
        self.work += 1;
        Ok(())
    }

    fn may_be_written(&mut self, id: InstructionId, sub: u32, place: u32) -> Done {
        let range = self.p.range(place);
        let allocation = &self.p.plan.allocations[range.allocation as usize];
        let protected = allocation.parameter.as_ref().is_some_and(|p| !self.p.donated.contains(p));
        if allocation.is_constant || protected {
            let what = Violation::ReadOnly {
                writer: self.name(id),
                when: self.now(id),
                value: self.p.value(id, sub),
                at: Program::spot(range),
                is_constant: allocation.is_constant,
            };
            return self.blame(self.is_bound_to_a_start(id, sub, place), id, (sub, NONE), what);
        }
        Ok(())
    }

    fn may_be_overwritten(
        &mut self,
        id: InstructionId,
        sub: u32,
        place: u32,
        under: Segment,
        first: Token,
    ) -> Done {
        let range = self.p.range(place);
        let is_forced = self.is_bound(under.token, id, sub, place);
        if under.token >= first {
            let what = Violation::ResultsOverlap {
                writer: self.name(id),
                when: self.now(id),
                first: self.datum(under.token).value,
                second: self.p.value(id, sub),
                at: Program::spot(range),
            };
            return self.blame(is_forced, id, (self.part_of(under.token), sub), what);
        }
        let from = self.reads.partition_point(|r| r.0 < under.token);
        let reads: Vec<Read> =
            self.reads[from..].iter().take_while(|r| r.0 == under.token).copied().collect();
        let may = |&(_, k, operand_sub): &Read| {
            let operand = self.p.module.operands(id)[k as usize];
            let read = self.p.range(self.cell(operand, operand_sub).place);
            let same = range.start == read.start && (range.end == read.end || self.p.backend == Backend::Tpu);
            let inside = range.start <= read.start && read.end <= range.end;
            let pair = Pair {
                operand: k as usize,
                operand_index: self.p.index(operand, operand_sub),
                output_index: self.p.index(id, sub),
            };
            inside && self.p.backend == Backend::Tpu && joins_in_place(self.p.module, id)
                || same && may_write_over(self.p.module, self.p.backend, id, pair)
        };
        let fine: Vec<bool> = reads.iter().map(may).collect();
        let is_second_reading = fine.contains(&true);
        for ((_, k, operand_sub), is_fine) in reads.into_iter().zip(fine) {
            if !is_fine {
                let operand = self.p.module.operands(id)[k as usize];
                let read = self.p.range(self.cell(operand, operand_sub).place);
                let what = Violation::OverOperand {
                    writer: self.name(id),
                    when: self.now(id),
                    value: self.p.value(id, sub),
                    at: Program::spot(range),
                    operand: k,
                    read: self.datum(under.token),
                    read_at: Program::spot(read),
                    is_second_reading,
                };
                self.blame(is_forced, id, (k, sub), what)?;
            }
        }
        Ok(())
    }

    /// A new name for what already stands in a place: the loop's or conditional's own value.
    fn rename(&mut self, id: InstructionId, sub: u32, place: u32, in_flight: bool) -> Cell {
        let token = self.fresh(id, sub, place, in_flight);
        self.memory.write(self.p.range(place), token);
        Cell { place, token }
    }

    // Before the first step and after the last.

    fn begin(&mut self) -> Done {
        let module = self.p.module;
        let entry = module.computation(module.entry);
        for &id in &entry.parameters {
            for sub in 0..self.p.count(id) {
                self.stands(id, sub)?;
            }
        }
        // Constants of all computations that run; a constant inside a step has its own place or none.
        for id in module.instruction_ids() {
            if module.instruction(id).opcode == Opcode::Constant && self.p.steps[id.index()] != NONE {
                for sub in 0..self.p.count(id) {
                    self.stands(id, sub)?;
                }
            }
        }
        Ok(())
    }

    /// Puts there what is there from the start: a parameter, or a constant.
    fn stands(&mut self, id: InstructionId, sub: u32) -> Done {
        let place = self.p.place(id, sub);
        let value = || self.p.value(id, sub);
        if place == NONE {
            return Err(Violation::NoAddress { value: value() }.into());
        }
        let range = self.p.range(place);
        let is_forced = self.is_bound_to_a_start(id, sub, place);
        if !self.is_its_own(id, sub, place) {
            let what = Violation::NotItsAllocation {
                value: value(),
                allocation: range.allocation,
                is_constant: self.p.module.instruction(id).opcode == Opcode::Constant,
            };
            self.blame(is_forced, id, (sub, NONE), what)?;
        }
        let under = self.memory.segments(range).next();
        if let Some(s) = under {
            let what = Violation::StartOverlap {
                first: self.datum(s.token).value,
                second: self.p.value(id, sub),
                at: Program::spot(range),
            };
            self.blame(self.is_bound(s.token, id, sub, place), id, (sub, self.part_of(s.token)), what)?;
        }
        let token = self.fresh(id, sub, place, false);
        self.writers[token.0 as usize].from_the_start = true;
        self.memory.write(range, token);
        self.set(id, sub, Cell { place, token });
        Ok(())
    }

    /// Is the allocation the one for this parameter's part, or one for constants?
    fn is_its_own(&self, id: InstructionId, sub: u32, place: u32) -> bool {
        let allocation = &self.p.plan.allocations[self.p.range(place).allocation as usize];
        match self.p.parameter_of(id) {
            Some(n) => {
                let is_it = |(k, index): &(u32, ShapeIndex)| *k == n && index == self.p.index(id, sub);
                allocation.parameter.as_ref().is_some_and(is_it)
            }
            None => allocation.is_constant,
        }
    }

    fn end(&mut self) -> Done {
        let module = self.p.module;
        let root = module.root(module.entry);
        self.is_over = true;
        self.reads_all(root, root)?;
        for sub in 0..self.p.count(root) {
            let allocation = self.p.range(self.cell(root, sub).place).allocation;
            if !self.p.plan.allocations[allocation as usize].maybe_live_out {
                let value = self.datum(self.cell(root, sub).token).value;
                return Err(Violation::NotLiveOut { value, allocation }.into());
            }
        }
        for alias in &module.input_output_alias {
            let Some(&parameter) = module.computation(module.entry).parameters.get(alias.parameter as usize)
            else {
                continue;
            };
            let sub = |id: InstructionId, index: &ShapeIndex| {
                module.shapes.find(module.instruction(id).shape, &index.0)
            };
            let (Some(from), Some(to)) = (sub(parameter, &alias.parameter_index), sub(root, &alias.output))
            else {
                continue;
            };
            self.same_place((parameter, from), (root, to), Reason::Donation)?;
        }
        for &id in &module.computation(module.entry).parameters {
            let number = module.parameter_number(id).unwrap_or(NONE);
            for sub in 0..self.p.count(id) {
                if !self.p.donated.contains(&(number, self.p.index(id, sub).clone())) {
                    self.part_holds(id, sub, id)?;
                }
            }
        }
        Ok(())
    }

    /// What `at` holds must lie where `with` lies.
    fn same_place(&self, with: (InstructionId, u32), at: (InstructionId, u32), reason: Reason) -> Done {
        let (a, b) = (self.cell(with.0, with.1), self.cell(at.0, at.1));
        if a.place == NONE || b.place == NONE {
            return Ok(());
        }
        let (expected, found) = (self.p.range(a.place), self.p.range(b.place));
        if (expected.allocation, expected.start) == (found.allocation, found.start) {
            return Ok(());
        }
        Err(Violation::Elsewhere {
            position: self.p.value(with.0, with.1),
            expected: Program::spot(expected),
            value: self.datum(b.token).value,
            found: Program::spot(found),
            reason,
        }
        .into())
    }

    // Steps.

    fn enter(&mut self, computation: ComputationId, kind: Kind) {
        // The numbering of steps has already refused anything deeper.
        debug_assert!(self.frames.len() <= DEEPEST_CALL);
        self.frames.push(Frame { computation, at: 0, kind });
    }

    fn step(&mut self, id: InstructionId) -> Done {
        self.summary.steps += 1;
        self.work += 1;
        if self.work > self.options.budget {
            return Err(Stop::Budget);
        }
        let module = self.p.module;
        let operand = module.operands(id).first().copied();
        match (module.instruction(id).opcode, operand) {
            // Set by the caller, or before the first step.
            (Opcode::Parameter | Opcode::Constant, _) => Ok(()),
            (
                Opcode::Bitcast | Opcode::Domain | Opcode::OptimizationBarrier | Opcode::AddDependency,
                Some(from),
            ) => {
                let cells = self.cells_of(from).to_vec();
                self.pass_all(id, &cells, Reason::PassedOn)
            }
            (Opcode::GetTupleElement, Some(from)) => self.get_tuple_element(id, from),
            (Opcode::Tuple, _) => {
                self.reads.clear();
                self.write(id, 0, false, Token(NONE))?;
                let mut sub = 1;
                for &operand in module.operands(id) {
                    for cell in self.cells_of(operand).to_vec() {
                        self.pass(id, sub, cell, Reason::PassedOn)?;
                        sub += 1;
                    }
                }
                Ok(())
            }
            (Opcode::Copy, Some(from)) => {
                self.reads_part(from, 0, id)?;
                self.reads.clear();
                self.reads.push((self.cell(from, 0).token, 0, 0));
                self.write(id, 0, false, Token(NONE))?;
                for sub in 1..self.p.count(id) {
                    self.pass(id, sub, self.cell(from, sub), Reason::PassedOn)?;
                }
                Ok(())
            }
            (Opcode::While, Some(init)) => self.begin_loop(id, init),
            (Opcode::Conditional, Some(selector)) => self.begin_fork(id, selector),
            (Opcode::Call, _) => self.begin_call(id),
            (Opcode::AsyncStart | Opcode::AsyncUpdate, _) => self.begin_async(id),
            (Opcode::AsyncDone, Some(link)) => self.async_done(id, link),
            (
                Opcode::CopyStart
                | Opcode::AllReduceStart
                | Opcode::AllGatherStart
                | Opcode::CollectivePermuteStart
                | Opcode::Send
                | Opcode::Recv,
                _,
            ) => {
                self.read_operands(id, false)?;
                self.write_results(id)
            }
            (
                Opcode::CopyDone
                | Opcode::AllReduceDone
                | Opcode::AllGatherDone
                | Opcode::CollectivePermuteDone
                | Opcode::SendDone
                | Opcode::RecvDone,
                _,
            ) => {
                self.read_operands(id, true)?;
                self.write_results(id)
            }
            _ => {
                self.read_operands(id, false)?;
                let first = Token(self.writers.len() as u32);
                for sub in 0..self.p.count(id) {
                    self.write(id, sub, false, first)?;
                }
                self.keeps_promises(id)?;
                if self.p.backend == Backend::Tpu && joins_in_place(module, id) {
                    return self.is_joined(id);
                }
                Ok(())
            }
        }
    }

    /// Nothing is moved, so the operands must already fill the result. They do not overlap: each was read just now.
    fn is_joined(&self, id: InstructionId) -> Done {
        let whole = self.p.range(self.cell(id, 0).place);
        let mut filled = 0_u64;
        for &operand in self.p.module.operands(id) {
            let part = self.p.range(self.cell(operand, 0).place);
            let is_inside =
                part.allocation == whole.allocation && part.start >= whole.start && part.end <= whole.end;
            if !is_inside {
                return self.same_place((operand, 0), (id, 0), Reason::InPlace);
            }
            filled = filled.saturating_add(part.end - part.start);
        }
        if filled == whole.end - whole.start {
            return Ok(());
        }
        let Some(&first) = self.p.module.operands(id).first() else { return Ok(()) };
        Err(Violation::Elsewhere {
            position: self.p.value(first, 0),
            expected: Program::spot(self.p.range(self.cell(first, 0).place)),
            value: self.p.value(id, 0),
            found: Program::spot(whole),
            reason: Reason::InPlace,
        }
        .into())
    }

    fn get_tuple_element(&mut self, id: InstructionId, from: InstructionId) -> Done {
        let module = self.p.module;
        self.reads_part(from, 0, id)?;
        let element = module.attribute(id, "index").and_then(|t| t.trim().parse().ok());
        let at = element.and_then(|n: u32| module.shapes.find(module.instruction(from).shape, &[n]));
        if let Some(at) = at {
            for sub in 0..self.p.count(id) {
                self.pass(id, sub, self.cell(from, at + sub), Reason::PassedOn)?;
            }
        }
        Ok(())
    }

    /// A custom call or fusion may promise to write a result into an operand; both sides count on it.
    fn keeps_promises(&self, id: InstructionId) -> Done {
        let module = self.p.module;
        if !matches!(module.instruction(id).opcode, Opcode::CustomCall | Opcode::Fusion) {
            return Ok(());
        }
        for (output, k, index) in promised_aliases(module, id) {
            let Some(&operand) = module.operands(id).get(k) else { continue };
            let find =
                |x: InstructionId, i: &ShapeIndex| module.shapes.find(module.instruction(x).shape, &i.0);
            if let (Some(from), Some(to)) = (find(operand, &index), find(id, &output)) {
                self.same_place((operand, from), (id, to), Reason::InPlace)?;
            }
        }
        Ok(())
    }

    // Loops.

    fn begin_loop(&mut self, id: InstructionId, init: InstructionId) -> Done {
        self.all_hold(init, id)?;
        let state = self.cells_of(init).to_vec();
        for (sub, cell) in (0..self.p.count(id)).zip(&state) {
            self.agrees(id, sub, *cell, Reason::LoopState)?;
        }
        let changed = vec![false; state.len()];
        self.begin_condition(Loop { id, iteration: 1, outer: self.context, state, changed })
    }

    /// The body and the condition of a while.
    fn body_and_condition(&self, id: InstructionId) -> Option<(ComputationId, ComputationId)> {
        match self.p.module.called(id) {
            [body, condition] => Some((*body, *condition)),
            _ => None,
        }
    }

    fn begin_condition(&mut self, run: Loop) -> Done {
        let Some((_, condition)) = self.body_and_condition(run.id) else { return Ok(()) };
        self.contexts.push(Context { outer: run.outer, of: run.id, iteration: run.iteration });
        self.context = self.contexts.len() as u32 - 1;
        self.give_state(condition, &run)?;
        self.enter(condition, Kind::Condition(run));
        Ok(())
    }

    fn give_state(&mut self, to: ComputationId, run: &Loop) -> Done {
        match self.p.module.computation(to).parameters.first() {
            Some(&parameter) => self.pass_all(parameter, &run.state, Reason::LoopState),
            None => Ok(()),
        }
    }

    fn after_condition(&mut self, condition: ComputationId, run: Loop) -> Done {
        self.reads_all(self.p.module.root(condition), run.id)?;
        // The loop may end here, after any number of iterations: then this is its result.
        for cell in &run.state {
            if cell.place != NONE {
                self.holds(*cell, run.id)?;
            }
        }
        if run.iteration > self.options.iterations {
            return self.end_loop(run);
        }
        let Some((body, _)) = self.body_and_condition(run.id) else { return Ok(()) };
        self.give_state(body, &run)?;
        self.enter(body, Kind::Body(run));
        Ok(())
    }

    fn after_body(&mut self, body: ComputationId, mut run: Loop) -> Done {
        let module = self.p.module;
        let root = module.root(body);
        self.all_hold(root, run.id)?;
        for sub in 0..run.state.len().min(self.p.count(root) as usize) {
            let (old, new) = (run.state[sub], self.cell(root, sub as u32));
            if old == new {
                continue;
            }
            let (expected, found) = (self.p.range(old.place), self.p.range(new.place));
            if (expected.allocation, expected.start) != (found.allocation, found.start) {
                return Err(Violation::Elsewhere {
                    position: self.p.value(run.id, sub as u32),
                    expected: Program::spot(expected),
                    value: self.datum(new.token).value,
                    found: Program::spot(found),
                    reason: Reason::LoopState,
                }
                .into());
            }
            if old.token != new.token && !run.changed[sub] {
                run.changed[sub] = true;
                // What changes is a value of its own, on all three sides.
                let parameters = module
                    .called(run.id)
                    .iter()
                    .rev()
                    .filter_map(|c| module.computation(*c).parameters.first().copied());
                for id in parameters.chain([run.id]) {
                    if self.p.place(id, sub as u32) == NONE {
                        return Err(Violation::NoAddress { value: self.p.value(id, sub as u32) }.into());
                    }
                }
            }
            run.state[sub] = new;
        }
        run.iteration += 1;
        self.begin_condition(run)
    }

    fn end_loop(&mut self, run: Loop) -> Done {
        self.context = run.outer;
        self.summary.loops += 1;
        // Parts that hold one datum still do after it gets the loop's name.
        let mut renamed: FxHashMap<Token, Cell> = FxHashMap::default();
        for (sub, cell) in (0..self.p.count(run.id)).zip(&run.state) {
            let mut cell = *cell;
            if run.changed[sub as usize] {
                cell = match renamed.get(&cell.token) {
                    Some(known) => *known,
                    None => {
                        let in_flight = self.is_in_flight(cell.token);
                        let new = self.rename(run.id, sub, cell.place, in_flight);
                        renamed.insert(cell.token, new);
                        new
                    }
                };
            }
            self.pass(run.id, sub, cell, Reason::LoopState)?;
        }
        Ok(())
    }

    // Branches.

    fn begin_fork(&mut self, id: InstructionId, selector: InstructionId) -> Done {
        self.reads_all(selector, id)?;
        let mark = self.memory.listen();
        self.begin_branch(Fork { id, branch: 0, mark, results: Vec::new(), written: Vec::new() })
    }

    fn begin_branch(&mut self, fork: Fork) -> Done {
        let module = self.p.module;
        let (Some(&computation), Some(&operand)) =
            (module.called(fork.id).get(fork.branch), module.operands(fork.id).get(fork.branch + 1))
        else {
            return self.end_fork(fork);
        };
        self.all_hold(operand, fork.id)?;
        if let Some(&parameter) = module.computation(computation).parameters.first() {
            let cells = self.cells_of(operand).to_vec();
            self.pass_all(parameter, &cells, Reason::PassedOn)?;
        }
        self.enter(computation, Kind::Branch(fork));
        Ok(())
    }

    fn after_branch(&mut self, branch: ComputationId, mut fork: Fork) -> Done {
        let root = self.p.module.root(branch);
        self.all_hold(root, fork.id)?;
        fork.results.push(self.cells_of(root).to_vec());
        fork.written.extend(self.memory.written_since(fork.mark));
        self.memory.roll_back(fork.mark);
        fork.branch += 1;
        self.begin_branch(fork)
    }

    fn end_fork(&mut self, fork: Fork) -> Done {
        self.memory.stop();
        self.summary.branches += fork.branch as u64;
        // A byte that any branch has written no longer holds what was there before, whichever branch is taken; and
        // nobody outside can ask for what is inside, except under the conditional's own name.
        for s in &fork.written {
            self.memory.write(s.range, s.token);
        }
        self.work += fork.written.len() as u64;
        let mut renamed: FxHashMap<Vec<Token>, Cell> = FxHashMap::default();
        for sub in 0..self.p.count(fork.id) {
            let all: Vec<Cell> = fork.results.iter().filter_map(|r| r.get(sub as usize).copied()).collect();
            let Some(&first) = all.first() else { continue };
            for cell in &all {
                self.agrees(fork.id, sub, *cell, Reason::BranchResult)?;
                let (expected, found) = (self.p.range(first.place), self.p.range(cell.place));
                if (expected.allocation, expected.start) != (found.allocation, found.start) {
                    return Err(Violation::Elsewhere {
                        position: self.datum(first.token).value,
                        expected: Program::spot(expected),
                        value: self.datum(cell.token).value,
                        found: Program::spot(found),
                        reason: Reason::BranchResult,
                    }
                    .into());
                }
            }
            let mut cell = first;
            if all.iter().any(|c| c.token != first.token) {
                if self.p.place(fork.id, sub) == NONE {
                    return Err(Violation::NoAddress { value: self.p.value(fork.id, sub) }.into());
                }
                let tokens: Vec<Token> = all.iter().map(|c| c.token).collect();
                cell = match renamed.get(&tokens) {
                    Some(known) => *known,
                    None => {
                        let in_flight = all.iter().any(|c| self.is_in_flight(c.token));
                        let new = self.rename(fork.id, sub, first.place, in_flight);
                        renamed.insert(tokens, new);
                        new
                    }
                };
            }
            self.set(fork.id, sub, cell);
        }
        Ok(())
    }

    // Calls.

    fn begin_call(&mut self, id: InstructionId) -> Done {
        let module = self.p.module;
        let Some(&callee) = module.called(id).first() else { return Ok(()) };
        for (&operand, &parameter) in module.operands(id).iter().zip(&module.computation(callee).parameters) {
            self.all_hold(operand, id)?;
            let cells = self.cells_of(operand).to_vec();
            self.pass_all(parameter, &cells, Reason::PassedOn)?;
        }
        self.enter(callee, Kind::Call(id));
        Ok(())
    }

    fn after_call(&mut self, callee: ComputationId, id: InstructionId) -> Done {
        let root = self.p.module.root(callee);
        self.all_hold(root, id)?;
        let cells = self.cells_of(root).to_vec();
        self.pass_all(id, &cells, Reason::PassedOn)
    }

    fn leave(&mut self, frame: Frame) -> Done {
        let of = frame.computation;
        match frame.kind {
            Kind::Entry => Ok(()),
            Kind::Call(id) => self.after_call(of, id),
            Kind::Condition(run) => self.after_condition(of, run),
            Kind::Body(run) => self.after_body(of, run),
            Kind::Branch(fork) => self.after_branch(of, fork),
            Kind::Async { link, mark } => self.after_async(link, Some((of, mark))),
        }
    }

    // Asynchronous operations with a computation of their own.

    /// The operands of a chain up to this link: which instruction gives each.
    fn bound(&self, link: InstructionId) -> Vec<InstructionId> {
        let mut out = Vec::new();
        for (n, l) in self.p.chain(link).into_iter().enumerate() {
            out.extend(self.p.module.operands(l).iter().skip(usize::from(n > 0)));
        }
        out
    }

    fn begin_async(&mut self, link: InstructionId) -> Done {
        let module = self.p.module;
        for &operand in module.operands(link) {
            self.all_hold(operand, link)?;
        }
        if !self.p.starts_here(link) {
            return self.after_async(link, None);
        }
        let Some(wrapped) = self.p.wrapped(link) else { return Ok(()) };
        for (operand, &parameter) in self.bound(link).into_iter().zip(&module.computation(wrapped).parameters)
        {
            self.reads_all(operand, link)?;
            let cells = self.cells_of(operand).to_vec();
            self.pass_all(parameter, &cells, Reason::PassedOn)?;
        }
        let mark = self.memory.listen();
        self.enter(wrapped, Kind::Async { link, mark });
        Ok(())
    }

    fn after_async(&mut self, link: InstructionId, wrapped: Option<(ComputationId, Mark)>) -> Done {
        let module = self.p.module;
        let bound = self.bound(link);
        let shape = module.instruction(link).shape;
        let before = match module.instruction(link).opcode {
            Opcode::AsyncUpdate => module.operands(link).first().copied(),
            _ => None,
        };
        self.reads.clear();
        for &operand in module.operands(link) {
            for sub in 0..self.p.count(operand) {
                self.reads.push((self.cell(operand, sub).token, 0, sub));
            }
        }
        self.reads.sort_unstable();
        let first = Token(self.writers.len() as u32);
        for sub in 0..self.p.count(link) {
            let part = &module.shapes.subshapes(shape)[sub as usize];
            let find =
                |x: InstructionId, index: &[u32]| module.shapes.find(module.instruction(x).shape, index);
            let is_tuple = module.shapes.is_tuple(part.shape);
            if self.p.place(link, sub) != NONE {
                self.write(link, sub, !is_tuple, first)?;
                continue;
            }
            let inner = match (part.index.0.as_slice(), wrapped) {
                ([0, i, rest @ ..], _) if !is_tuple => {
                    bound.get(*i as usize).and_then(|o| Some(self.cell(*o, find(*o, rest)?)))
                }
                ([1, rest @ ..], Some((computation, _))) => {
                    let root = module.root(computation);
                    match find(root, rest).map(|s| self.cell(root, s)) {
                        Some(cell) if cell.place != NONE && !is_tuple => {
                            self.holds(cell, link)?;
                            Some(self.rename(link, sub, cell.place, true))
                        }
                        other => other,
                    }
                }
                (index, _) => before.and_then(|o| Some(self.cell(o, find(o, index)?))),
            };
            self.set(link, sub, inner.unwrap_or(EMPTY));
        }
        if let Some((_, mark)) = wrapped {
            let start = self.p.chain(link).first().copied().unwrap_or(link);
            let written = self.memory.written_since(mark);
            self.memory.stop();
            self.pending.insert(start, written);
        }
        Ok(())
    }

    fn async_done(&mut self, id: InstructionId, link: InstructionId) -> Done {
        let module = self.p.module;
        self.read_operands(id, true)?;
        let start = self.p.chain(id).first().copied().unwrap_or(link);
        // Whatever the operation keeps for itself is its own until now.
        for s in self.pending.remove(&start).unwrap_or_default() {
            let place = self.writers[s.token.0 as usize].place;
            self.stands_in(s.range, Cell { place, token: s.token }, id)?;
        }
        let first = Token(self.writers.len() as u32);
        for sub in 0..self.p.count(id) {
            if self.p.place(id, sub) != NONE {
                self.write(id, sub, false, first)?;
                continue;
            }
            let index = self.p.index(id, sub).under(1);
            let from = module.shapes.find(module.instruction(link).shape, &index.0);
            self.finish(id, sub, from.map_or(EMPTY, |f| self.cell(link, f)))?;
        }
        Ok(())
    }

    /// What was under way has arrived, in the same place.
    fn finish(&mut self, id: InstructionId, sub: u32, cell: Cell) -> Done {
        self.agrees(id, sub, cell, Reason::PassedOn)?;
        let cell = if self.is_in_flight(cell.token) { self.rename(id, sub, cell.place, false) } else { cell };
        self.set(id, sub, cell);
        Ok(())
    }

    // Operations that start at one step and are done at another.

    fn write_results(&mut self, id: InstructionId) -> Done {
        let first = Token(self.writers.len() as u32);
        for sub in 0..self.p.count(id) {
            match self.source(id, sub) {
                Source::Own => self.write(id, sub, false, first)?,
                Source::InFlight => self.write(id, sub, true, first)?,
                Source::Operand(k, from) => {
                    let operand = self.p.module.operands(id)[k as usize];
                    self.finish_or_pass(id, sub, self.cell(operand, from))?;
                }
            }
        }
        Ok(())
    }

    fn finish_or_pass(&mut self, id: InstructionId, sub: u32, cell: Cell) -> Done {
        match self.p.module.instruction(id).opcode {
            Opcode::CopyDone
            | Opcode::AllReduceDone
            | Opcode::AllGatherDone
            | Opcode::CollectivePermuteDone
            | Opcode::RecvDone => self.finish(id, sub, cell),
            _ => self.pass(id, sub, cell, Reason::PassedOn),
        }
    }

    /// Specification, 2.1 and 2.3, for what starts and what is done.
    fn source(&self, id: InstructionId, sub: u32) -> Source {
        let module = self.p.module;
        let index = self.p.index(id, sub);
        let operands = module.operands(id);
        let shape = module.shapes.subshapes(module.instruction(id).shape)[sub as usize].shape;
        let is_tuple = module.shapes.is_tuple(shape);
        let from = |k: u32, index: &[u32]| {
            operands
                .get(k as usize)
                .and_then(|o| module.shapes.find(module.instruction(*o).shape, index))
                .map_or(Source::Own, |s| Source::Operand(k, s))
        };
        let own = if is_tuple { Source::Own } else { Source::InFlight };
        match (module.instruction(id).opcode, index.0.as_slice()) {
            (Opcode::CopyStart, [1, rest @ ..]) => from(0, rest),
            (Opcode::AllGatherStart | Opcode::CollectivePermuteStart, [0, rest @ ..]) if !is_tuple => {
                match rest {
                    [i, rest @ ..] if operands.len() > 1 => from(*i, rest),
                    _ => from(0, rest),
                }
            }
            (Opcode::Send, [0, rest @ ..]) => from(0, rest),
            (
                Opcode::CopyStart
                | Opcode::AllReduceStart
                | Opcode::AllGatherStart
                | Opcode::CollectivePermuteStart
                | Opcode::Send
                | Opcode::Recv,
                _,
            ) => own,
            (Opcode::CopyDone, index) => from(0, ShapeIndex::from(index).under(0).0.as_slice()),
            (Opcode::AllReduceDone, index) => from(0, index),
            (Opcode::AllGatherDone | Opcode::CollectivePermuteDone, index) if !is_tuple => {
                from(0, ShapeIndex::from(index).under(1).0.as_slice())
            }
            (Opcode::RecvDone, index) if index.first() == Some(&0) => from(0, index),
            _ => Source::Own,
        }
    }
}
