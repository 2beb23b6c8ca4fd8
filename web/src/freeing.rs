//! Who frees what: MLIR's buffer deallocation step by step, and what a run of every way finds, also when it is spoilt.

use crate::engine::Problem;
use crate::state::State;
use deallocation::ir::{BlockId, Definition, OpId, Program, RegionId, ValueId};
use deallocation::run::{Border, Fault, Kind, NOTHING, Report, run_all, words};
use deallocation::{Break, Options, Outcome, Refusal, Step, deallocate, line, own, read};
use sorts::Arrange as _;
use std::collections::{BTreeMap, BTreeSet};

/// A program of the gallery: one of those that the engine is tested with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Example {
    /// Its name in addresses.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it is there for.
    pub about: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The gallery; the first is the one to begin with.
pub const EXAMPLES: [Example; 6] = [
    Example {
        id: "diamond",
        title: "Two ways, and one makes a buffer",
        about: "On one way %r is a new buffer, on the other the caller's own. The block where they meet cannot tell which.",
        text: include_str!("../../assets/deallocation/diamond.mlir"),
    },
    Example {
        id: "view",
        title: "A buffer and a view of it",
        about: "No branches. The cast makes no buffer: %v and %a are one, and the last use of either counts.",
        text: include_str!("../../assets/deallocation/view.mlir"),
    },
    Example {
        id: "one-side",
        title: "Used on one way only",
        about: "%a is used on one of two ways. Freed there, it would leak on the other; so it waits until the ways have met.",
        text: include_str!("../../assets/deallocation/one_side.mlir"),
    },
    Example {
        id: "if",
        title: "A branch that gives a result",
        about: "scf.if keeps its two ways in regions. Each allocates, and what the operation gives is one or the other.",
        text: include_str!("../../assets/deallocation/if.mlir"),
    },
    Example {
        id: "loop",
        title: "A loop that carries a buffer",
        about: "Each time round makes a new buffer and hands it to the next. The first one is the caller's.",
        text: include_str!("../../assets/deallocation/loop.mlir"),
    },
    Example {
        id: "blocks",
        title: "A loop of blocks, refused",
        about: "The same as the loop before, but made of branches.",
        text: include_str!("../../assets/deallocation/blocks.mlir"),
    },
];

/// No more operations than this are drawn.
const MOST_OPERATIONS: usize = 300;

/// By which rule buffers are freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rule {
    /// The older one, with its gaps closed.
    #[default]
    Older,
    /// The older one as LLVM 16 has it.
    Llvm16,
    /// The newer one, which carries who owns what.
    Newer,
}

impl Rule {
    /// All.
    pub const ALL: [Self; 3] = [Self::Older, Self::Llvm16, Self::Newer];

    /// Its name in addresses.
    pub fn id(self) -> &'static str {
        match self {
            Self::Older => "older",
            Self::Llvm16 => "llvm16",
            Self::Newer => "newer",
        }
    }

    /// In words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Older => "The older rule, its gaps closed",
            Self::Llvm16 => "The older rule, with the gaps of LLVM 16",
            Self::Newer => "The newer rule",
        }
    }
}

/// What the reader set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Setting {
    /// The program, an index into [`EXAMPLES`].
    pub example: usize,
    /// The reader's text in its place.
    pub text: Option<String>,
    /// The rule.
    pub rule: Rule,
    /// What is spoilt: the number of a clone or release in the order in which they were put in, and how.
    pub broken: BTreeSet<(usize, Break)>,
}

fn letter(how: Break) -> char {
    match how {
        Break::LeftOut => 'l',
        Break::TooEarly => 'e',
        Break::Twice => 't',
    }
}

impl Setting {
    /// Reads it from a state.
    pub fn of(state: &State) -> Self {
        let part = |part: &str| {
            let how = Break::ALL.into_iter().find(|how| part.ends_with(letter(*how)))?;
            Some((part[..part.len() - 1].parse().ok()?, how))
        };
        Self {
            example: EXAMPLES.iter().position(|e| state.word("program") == Some(e.id)).unwrap_or(0),
            text: state.word("mlir").map(str::to_owned),
            rule: Rule::ALL.into_iter().find(|r| state.word("rule") == Some(r.id())).unwrap_or_default(),
            broken: state.word("broken").unwrap_or_default().split('.').filter_map(part).collect(),
        }
    }

    /// Writes it into a state; what is as at first stands nowhere.
    #[must_use]
    pub fn put(&self, state: &State) -> State {
        let mut next = state.clone();
        next.params.clear();
        if self.example > 0 {
            next.params.insert("program".to_owned(), EXAMPLES[self.example].id.into());
        }
        if let Some(text) = &self.text {
            next.params.insert("mlir".to_owned(), text.as_str().into());
        }
        if self.rule != Rule::Older {
            next.params.insert("rule".to_owned(), self.rule.id().into());
        }
        if !self.broken.is_empty() {
            let parts: Vec<String> =
                self.broken.iter().map(|(n, how)| format!("{n}{}", letter(*how))).collect();
            next.params.insert("broken".to_owned(), parts.join(".").as_str().into());
        }
        next
    }

    /// The text that is read.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or(EXAMPLES[self.example].text)
    }

    /// With one thing spoilt, or whole again.
    #[must_use]
    pub fn turn(&self, n: usize, how: Break) -> Self {
        let mut next = self.clone();
        if !next.broken.remove(&(n, how)) {
            next.broken.retain(|(m, _)| *m != n);
            next.broken.insert((n, how));
        }
        next
    }
}

/// A text, and what the rule made of it.
#[derive(Clone, Debug)]
pub struct Story {
    /// The program as it came out, or, if it was refused, as it was read.
    program: Program,
    rule: Rule,
    outcome: Option<Outcome>,
    /// Why the rule refuses it.
    pub refusal: Option<Refusal>,
    /// The buffers' values, each with its place in the order of the text; a clone has that of the one who gets it.
    ranks: BTreeMap<ValueId, u32>,
    /// Those of them that are no names of the reader's: clones, and buffers asked for as a whole.
    unnamed: BTreeSet<ValueId>,
}

/// A refusal as a problem of the text.
pub fn problem(refusal: &Refusal) -> Problem {
    Problem {
        line: refusal.at.line,
        column: refusal.at.column,
        is_error: true,
        message: refusal.message.clone(),
    }
}

/// Reads a text and frees its buffers. What cannot even be read is an error.
pub fn story(text: &str, rule: Rule) -> Result<Story, Refusal> {
    let read = read(text)?;
    let count: usize = read.functions().iter().map(|f| operations(&read, *f).len()).sum();
    if count > MOST_OPERATIONS {
        let at = read.functions().first().map(|f| read.op(*f).at).unwrap_or_default();
        let message = format!("{count} operations, expected at most {MOST_OPERATIONS} in this figure");
        return Err(Refusal { at, message });
    }
    let done = match rule {
        Rule::Newer => own(&read).map(|program| (program, None)),
        Rule::Older | Rule::Llvm16 => {
            let options = Options { close_gaps: rule == Rule::Older, ..Options::default() };
            deallocate(&read, &options).map(|outcome| (outcome.program.clone(), Some(outcome)))
        }
    };
    let (program, outcome, refusal) = match done {
        Ok((program, outcome)) => (program, outcome, None),
        Err(refusal) => (read, None, Some(refusal)),
    };
    let mut story =
        Story { program, rule, outcome, refusal, ranks: BTreeMap::new(), unnamed: BTreeSet::new() };
    story.rank();
    Ok(story)
}

fn operations(program: &Program, function: OpId) -> Vec<OpId> {
    program.op(function).regions.iter().flat_map(|r| program.in_order(*r)).collect()
}

impl Story {
    fn rank(&mut self) {
        let clones =
            self.steps().iter().filter_map(|s| self.clone_of(s)).map(|(clone, into, _)| (clone, into));
        // The newer rule asks for the whole of a buffer before it frees it.
        let functions = self.program.functions();
        let wholes = functions.iter().flat_map(|f| operations(&self.program, *f)).filter_map(|op| {
            let o = self.program.op(op);
            let is_put_in = o.at.line == 0 && o.name == "memref.extract_strided_metadata";
            is_put_in.then(|| (o.results[0], o.operands[0]))
        });
        let clones: BTreeMap<ValueId, ValueId> = clones.chain(wholes).collect();
        let mut seen = BTreeSet::new();
        for function in self.program.functions() {
            let mut values = Vec::new();
            values_of(&self.program, function, &mut values);
            for value in values {
                if self.program.value(value).is_buffer() && !clones.contains_key(&value) && seen.insert(value)
                {
                    self.ranks.insert(value, seen.len() as u32 - 1);
                }
            }
        }
        for (clone, into) in clones {
            if let Some(rank) = self.ranks.get(&into).copied() {
                self.ranks.insert(clone, rank);
                self.unnamed.insert(clone);
            }
        }
    }

    /// The clone of a step, who gets it, and what it is of.
    fn clone_of(&self, step: &Step) -> Option<(ValueId, ValueId, ValueId)> {
        match step {
            Step::Clone { op, of, into, .. } => {
                self.program.op(*op).results.first().map(|clone| (*clone, *into, *of))
            }
            _ => None,
        }
    }

    /// What the rule did, in order.
    pub fn steps(&self) -> &[Step] {
        self.outcome.as_ref().map_or(&[], |o| &o.steps)
    }

    /// How many clones and releases it put in.
    pub fn counts(&self) -> (usize, usize) {
        let functions = self.program.functions();
        let mut all = functions.iter().flat_map(|f| operations(&self.program, *f));
        all.by_ref().fold((0, 0), |(clones, releases), op| {
            let o = self.program.op(op);
            let is_put_in = self.rule == Rule::Newer && o.at.line == 0
                || self.outcome.iter().flat_map(Outcome::put_in).any(|(put, _)| put == op);
            match o.name.as_str() {
                "bufferization.clone" if is_put_in => (clones + 1, releases),
                "memref.dealloc" | "bufferization.dealloc" if is_put_in => (clones, releases + 1),
                _ => (clones, releases),
            }
        })
    }

    /// The same in a sentence.
    pub fn counted(&self) -> String {
        let (clones, releases) = self.counts();
        let how = if self.rule == Rule::Newer { ", under conditions" } else { "" };
        format!(
            "{} and {}{how}.",
            if clones == 1 { "1 clone".to_owned() } else { format!("{clones} clones") },
            if releases == 1 { "1 release".to_owned() } else { format!("{releases} releases") }
        )
    }

    /// Where a step belongs: collecting, cloning, placing.
    pub fn phase(&self, done: usize) -> &'static str {
        match done.checked_sub(1).and_then(|n| self.steps().get(n)) {
            None => "before",
            Some(Step::Allocation { .. } | Step::MayBe { .. }) => "collecting",
            Some(Step::Owns { .. } | Step::Clone { .. } | Step::AlreadyClone { .. }) => "cloning",
            Some(Step::Release { .. } | Step::Escapes { .. }) => "placing",
        }
    }

    /// The step in words, with code between backticks.
    pub fn words(&self, done: usize) -> String {
        match done.checked_sub(1).and_then(|n| self.steps().get(n)) {
            Some(step) => deallocation::words::step(&self.program, step),
            None if self.rule == Rule::Newer => {
                "Beside each buffer goes a truth, whether it is owned here. At its end each block frees what is owned and not passed on."
                    .to_owned()
            }
            None => "The program as it was written. Nobody has asked yet who frees what.".to_owned(),
        }
    }

    /// What was put in, to be spoilt: its number, its text, and the ways to spoil it.
    pub fn parts(&self) -> Vec<Part> {
        let Some(outcome) = &self.outcome else { return Vec::new() };
        let part = |(number, (op, step)): (usize, (OpId, usize))| {
            let text = short(&self.program, op);
            Part {
                number,
                step,
                place: deallocation::words::block(&self.program, self.program.op(op).block).replace('`', ""),
                ways: Break::ALL.into_iter().filter(|how| outcome.can_break(op, *how)).collect(),
                text,
            }
        };
        outcome.put_in().enumerate().map(part).collect()
    }

    /// Things as they stand after the first `done` steps, with some of what was put in spoilt, run on every way.
    pub fn moment(&self, done: usize, broken: &BTreeSet<(usize, Break)>, fault: usize) -> Moment {
        let parts: Vec<(OpId, usize)> = self.outcome.iter().flat_map(Outcome::put_in).collect();
        let broken: Vec<(OpId, Break)> =
            broken.iter().filter_map(|(n, how)| Some((parts.get(*n)?.0, *how))).collect();
        let (program, seconds) = match &self.outcome {
            Some(outcome) => outcome.so_far(done, &broken),
            None => (self.program.clone(), Vec::new()),
        };
        // What is refused is not run either: a loop of blocks has no end.
        let border = if self.rule == Rule::Newer { Border::Owned } else { Border::Borrowed };
        let report = if self.refusal.is_none() { run_all(&program, border) } else { Report::default() };
        let sets = self.sets(done);
        let fault = report.faults.get(fault.min(report.faults.len().saturating_sub(1))).cloned();
        let mut moment = Moment {
            faults: report.faults.iter().map(|f| (f.kind, words(&program, f))).collect(),
            is_complete: report.complete,
            is_refused: self.refusal.is_some(),
            way: fault.as_ref().map(|f| f.blocks.clone()).unwrap_or_default(),
            functions: Vec::new(),
            sets: Vec::new(),
            blocks: BTreeMap::new(),
        };
        let now = done.checked_sub(1).and_then(|n| self.steps().get(n));
        let context = Rows {
            story: self,
            program: &program,
            sets: &sets,
            parts: &parts,
            broken: &broken,
            seconds: &seconds,
            done,
            fault,
            now,
        };
        for function in self.program.functions() {
            if let Some(region) = self.program.op(function).regions.first() {
                moment.functions.push(*region);
                context.region(*region, &mut moment.blocks);
            }
        }
        moment.sets = self.told(&sets, done);
        moment
    }

    /// For each buffer's value the set it is in: the lowest rank of all that may be the same buffer.
    fn sets(&self, done: usize) -> BTreeMap<ValueId, u32> {
        let steps = &self.steps()[..done.min(self.steps().len())];
        let owners: BTreeSet<ValueId> = steps
            .iter()
            .filter_map(|s| match s {
                Step::Owns { value, .. } => Some(*value),
                _ => None,
            })
            .collect();
        let mut sets = self.ranks.clone();
        for step in steps {
            let Step::MayBe { from, to, .. } = step else { continue };
            let (Some(a), Some(b)) = (sets.get(from).copied(), sets.get(to).copied()) else { continue };
            if a != b && !owners.contains(to) {
                let (low, high) = (a.min(b), a.max(b));
                sets.values_mut().filter(|set| **set == high).for_each(|set| *set = low);
            }
        }
        sets
    }

    fn told(&self, sets: &BTreeMap<ValueId, u32>, done: usize) -> Vec<Set> {
        let steps = &self.steps()[..done.min(self.steps().len())];
        let mut by_set: BTreeMap<u32, Vec<(u32, ValueId)>> = BTreeMap::new();
        for (value, set) in sets {
            by_set.entry(*set).or_default().push((self.ranks[value], *value));
        }
        let of = |(rank, mut values): (u32, Vec<(u32, ValueId)>)| {
            values.retain(|(_, v)| !self.unnamed.contains(v));
            values.arrange_unstable();
            let names = values.iter().map(|(_, v)| self.program.value(*v).label()).collect();
            let owners: Vec<String> = values
                .iter()
                .filter_map(|(_, v)| {
                    let label = self.program.value(*v).label();
                    let mut said = None;
                    for step in steps {
                        match step {
                            Step::Allocation { value, .. } | Step::Owns { value, .. } if value == v => {
                                said = Some(format!("{label} has to be freed"));
                            }
                            Step::Release { value, block, .. } if value == v => {
                                let place =
                                    deallocation::words::block(&self.program, *block).replace('`', "");
                                said = Some(format!("{label} is freed in {place}"));
                            }
                            Step::Escapes { value, .. } if value == v => {
                                said = Some(format!("{label} leaves, and is not freed here"));
                            }
                            _ => {}
                        }
                    }
                    said
                })
                .collect();
            let is_callers = values.iter().any(|(_, v)| self.is_callers(*v));
            let status = match (owners.is_empty(), is_callers) {
                (true, true) => "the caller's".to_owned(),
                (true, false) if self.rule == Rule::Newer => "owned or not, as it runs".to_owned(),
                (true, false) => "nobody was asked yet".to_owned(),
                (false, true) => format!("{}, or the caller's", owners.join(", ")),
                (false, false) => owners.join(", "),
            };
            Set { rank, letter: letter_of(rank), names, status }
        };
        by_set.into_iter().map(of).collect()
    }

    fn is_callers(&self, value: ValueId) -> bool {
        let Definition::Argument(block, _) = self.program.value(value).definition else { return false };
        let region = self.program.block(block).region;
        let is_function = |op: OpId| self.program.op(op).name == "func.func";
        self.program.region(region).parent.is_some_and(is_function)
            && self.program.region(region).blocks.first() == Some(&block)
    }
}

fn values_of(program: &Program, op: OpId, out: &mut Vec<ValueId>) {
    out.extend(&program.op(op).results);
    for region in &program.op(op).regions {
        for block in &program.region(*region).blocks {
            out.extend(&program.block(*block).arguments);
            for op in &program.block(*block).ops {
                values_of(program, *op, out);
            }
        }
    }
}

/// The letter of a set, as on its chips.
pub fn letter_of(rank: u32) -> String {
    let first = char::from(b'A' + (rank % 26) as u8);
    if rank < 26 { first.to_string() } else { format!("{first}{}", rank / 26) }
}

/// What a way to spoil something is called.
pub fn break_words(how: Break) -> &'static str {
    match how {
        Break::LeftOut => "leave it out",
        Break::TooEarly => "too early",
        Break::Twice => "twice",
    }
}

/// What a fault is called.
pub fn kind_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Leak => "leaked",
        Kind::FreedTwice => "freed twice",
        Kind::UsedAfterRelease => "used when it is gone",
        Kind::NotOurs => "not ours to free",
    }
}

/// A clone or a release that was put in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Its number in the order in which they were put in.
    pub number: usize,
    /// The step that put it in, from 0.
    pub step: usize,
    /// What it says.
    pub text: String,
    /// The block it is in.
    pub place: String,
    /// How it can be spoilt.
    pub ways: Vec<Break>,
}

/// Values that may be one buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Set {
    /// The first of them in the order of the text; its colour and letter follow from that.
    pub rank: u32,
    /// Its letter.
    pub letter: String,
    /// The values.
    pub names: Vec<String>,
    /// Who frees it.
    pub status: String,
}

/// Is an operation there?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// It was in the text.
    Given,
    /// The rule put it in.
    PutIn,
    /// The rule will put it in.
    ToCome,
    /// It was taken away.
    LeftOut,
    /// It stands where it should not.
    Spoilt,
}

/// What an operation has to do with the fault that is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// It allocated the buffer.
    Made,
    /// It freed the buffer before.
    Freed,
    /// Here it shows.
    Fault,
}

impl Sign {
    /// In a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Self::Made => "made here",
            Self::Freed => "freed here",
            Self::Fault => "wrong here",
        }
    }
}

/// A line of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its number, the same at each step.
    pub key: u32,
    /// The operation in short.
    pub text: String,
    /// The operation in MLIR.
    pub line: String,
    /// The sets of the buffers in it, in the order in which they stand there.
    pub sets: Vec<u32>,
    /// Is it there?
    pub presence: Presence,
    /// Its part in the fault that is shown.
    pub sign: Option<Sign>,
    /// Is it what the present step is about?
    pub is_now: bool,
    /// The regions inside, with what they are.
    pub inside: Vec<RegionId>,
}

/// A block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// What it is called, and what it gets.
    pub title: String,
    /// The sets of the buffers that it gets.
    pub sets: Vec<u32>,
    /// Does the present step say that it gets one that it must own, or that all ways meet in it?
    pub is_now: bool,
    /// Its lines.
    pub rows: Vec<Row>,
    /// Where it may go, with what the condition says on that side.
    pub next: Vec<(BlockId, &'static str)>,
}

/// Things as they stand after some steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment {
    /// The regions of the functions.
    pub functions: Vec<RegionId>,
    /// The alias sets.
    pub sets: Vec<Set>,
    /// What the run of every way found, in words.
    pub faults: Vec<(Kind, String)>,
    is_complete: bool,
    is_refused: bool,
    /// The blocks on the way to the fault that is shown.
    pub way: Vec<BlockId>,
    /// The blocks of each region, with those inside, in order.
    blocks: BTreeMap<RegionId, Vec<(BlockId, Block)>>,
}

impl Moment {
    /// The blocks of a region.
    pub fn blocks(&self, region: RegionId) -> &[(BlockId, Block)] {
        self.blocks.get(&region).map_or(&[], Vec::as_slice)
    }

    /// What the run of every way found; nothing of a program that was refused.
    pub fn verdict(&self) -> Option<String> {
        if self.is_refused {
            return None;
        }
        let mut said: Vec<&str> = self.faults.iter().map(|(_, words)| words.as_str()).collect();
        if said.is_empty() {
            said.push(NOTHING);
        }
        if !self.is_complete {
            said.push("There are too many ways to go them all.");
        }
        Some(said.join(" "))
    }

    /// Every line, with its block, for the table.
    pub fn lines(&self) -> Vec<(String, Row)> {
        let mut out = Vec::new();
        for region in &self.functions {
            self.lines_of(*region, &mut out);
        }
        out
    }

    fn lines_of(&self, region: RegionId, out: &mut Vec<(String, Row)>) {
        for (_, block) in self.blocks(region) {
            for row in &block.rows {
                out.push((block.title.clone(), row.clone()));
                for inside in &row.inside {
                    self.lines_of(*inside, out);
                }
            }
        }
    }
}

/// What the lines of a moment are made from.
struct Rows<'a> {
    story: &'a Story,
    /// As it stands.
    program: &'a Program,
    sets: &'a BTreeMap<ValueId, u32>,
    parts: &'a [(OpId, usize)],
    broken: &'a [(OpId, Break)],
    seconds: &'a [(OpId, OpId)],
    done: usize,
    fault: Option<Fault>,
    now: Option<&'a Step>,
}

/// Lines that are there beside an operation's own have numbers from here.
const EXTRA: u32 = 1 << 20;

impl Rows<'_> {
    fn region(&self, region: RegionId, out: &mut BTreeMap<RegionId, Vec<(BlockId, Block)>>) {
        let whole = &self.story.program;
        let mut blocks = Vec::new();
        for id in &whole.region(region).blocks {
            let b = whole.block(*id);
            let mut rows = Vec::new();
            for op in &b.ops {
                self.rows(*op, &mut rows);
                for inside in &whole.op(*op).regions {
                    self.region(*inside, out);
                }
            }
            let names: Vec<String> = b.arguments.iter().map(|v| whole.value(*v).label()).collect();
            let successors = b.ops.last().map(|o| whole.op(*o).successors.as_slice()).unwrap_or_default();
            let side = |n: usize| if successors.len() < 2 { "" } else { ["true", "false"][n.min(1)] };
            let meets = match self.now {
                Some(Step::Release { block, .. }) => block == id,
                Some(Step::Owns { value, .. }) => b.arguments.contains(value),
                _ => false,
            };
            blocks.push((
                *id,
                Block {
                    title: title(whole, *id, &names),
                    sets: self.sets_of(&b.arguments),
                    is_now: meets,
                    rows,
                    next: successors.iter().enumerate().map(|(n, s)| (s.block, side(n))).collect(),
                },
            ));
        }
        out.insert(region, blocks);
    }

    fn sets_of(&self, values: &[ValueId]) -> Vec<u32> {
        let mut out = Vec::new();
        for set in values.iter().filter_map(|v| self.sets.get(v)) {
            if !out.contains(set) {
                out.push(*set);
            }
        }
        out
    }

    fn row(&self, program: &Program, op: OpId, key: u32, presence: Presence) -> Row {
        let o = program.op(op);
        let values: Vec<ValueId> = o.results.iter().chain(&o.operands).copied().collect();
        let is_there = !matches!(presence, Presence::ToCome | Presence::LeftOut);
        let sign = self.fault.as_ref().filter(|_| is_there).and_then(|f| {
            let all = [(Some(f.at), Sign::Fault), (f.freed_by, Sign::Freed), (f.allocated_by, Sign::Made)];
            all.into_iter().find(|(by, _)| *by == Some(op)).map(|(_, sign)| sign)
        });
        let is_now = match self.now {
            Some(
                Step::Clone { op: by, .. } | Step::Release { op: by, .. } | Step::Escapes { with: by, .. },
            ) => *by == op,
            Some(Step::Allocation { value, .. }) => o.results.contains(value),
            Some(Step::MayBe { from, to, .. }) => {
                o.results.contains(to) && o.operands.contains(from) || self.passes(program, op, *from, *to)
            }
            Some(Step::AlreadyClone { clone, .. }) => o.operands.contains(clone),
            Some(Step::Owns { .. }) | None => false,
        };
        Row {
            key,
            text: short(program, op),
            line: line(program, op),
            sets: self.sets_of(&values),
            presence,
            sign,
            is_now,
            inside: o.regions.iter().filter(|r| !program.region(**r).blocks.is_empty()).copied().collect(),
        }
    }

    /// Does a branch, or what ends a region, pass the one to the other? In the text as it was before clones.
    fn passes(&self, program: &Program, op: OpId, from: ValueId, to: ValueId) -> bool {
        let o = program.op(op);
        let is_from = |v: ValueId| {
            v == from
                || self.story.steps().iter().any(|s| {
                    self.story
                        .clone_of(s)
                        .is_some_and(|(clone, into, of)| clone == v && of == from && into == to)
                })
        };
        let by_branch = o.successors.iter().any(|s| {
            let passed = &o.operands[s.first as usize..(s.first + s.count) as usize];
            passed.iter().zip(&program.block(s.block).arguments).any(|(p, a)| *a == to && is_from(*p))
        });
        let ends = matches!(o.name.as_str(), "scf.yield" | "scf.condition");
        by_branch
            || ends && o.operands.iter().any(|v| is_from(*v)) && {
                let parent = program.parent_of(o.block);
                parent.is_some_and(|p| {
                    let inside = |r: &RegionId| {
                        program
                            .region(*r)
                            .blocks
                            .first()
                            .is_some_and(|b| program.block(*b).arguments.contains(&to))
                    };
                    program.op(p).results.contains(&to) || program.op(p).regions.iter().any(inside)
                })
            }
    }

    fn rows(&self, op: OpId, out: &mut Vec<Row>) {
        let whole = &self.story.program;
        let step = self.parts.iter().find(|(o, _)| *o == op).map(|(_, step)| *step);
        let how = |how: Break| self.broken.contains(&(op, how));
        // Whoever was moved in front of this one.
        for (release, kind) in self.broken {
            let outcome = self.story.outcome.as_ref();
            let is_done = self.parts.iter().any(|(o, step)| o == release && *step < self.done);
            if *kind == Break::TooEarly && is_done && outcome.and_then(|o| o.last_use(*release)) == Some(op) {
                out.push(self.row(self.program, *release, EXTRA + release.0, Presence::Spoilt));
            }
        }
        for (second, _) in self.seconds.iter().filter(|(_, of)| *of == op) {
            out.push(self.row(self.program, *second, EXTRA + op.0, Presence::Spoilt));
        }
        let presence = match step {
            // What a rule adds stands nowhere in the text.
            None if self.story.rule == Rule::Newer && whole.op(op).at.line == 0 => Presence::PutIn,
            None => Presence::Given,
            Some(step) if step >= self.done => Presence::ToCome,
            Some(_) if how(Break::LeftOut) || how(Break::TooEarly) => Presence::LeftOut,
            Some(_) => Presence::PutIn,
        };
        let is_there = matches!(presence, Presence::Given | Presence::PutIn);
        out.push(self.row(if is_there { self.program } else { whole }, op, op.0, presence));
    }
}

/// A block's heading: the function's name at its first block, a region's part in its operation, or the label.
fn title(program: &Program, block: BlockId, arguments: &[String]) -> String {
    let b = program.block(block);
    let is_first = program.region(b.region).blocks.first() == Some(&block);
    let parent = program.region(b.region).parent;
    let name = match (parent, is_first) {
        (Some(parent), true) if program.op(parent).name == "func.func" => {
            program.function_name(parent).to_owned()
        }
        (Some(_), true) => deallocation::words::region_role(program, block).to_owned(),
        _ => format!("^{}", b.label),
    };
    if arguments.is_empty() { name } else { format!("{name}({})", arguments.join(", ")) }
}

/// An operation in short: without dialects that are known, and without types.
pub fn short(program: &Program, op: OpId) -> String {
    let o = program.op(op);
    let label = |v: &ValueId| program.value(*v).label();
    let list = |values: &[ValueId]| values.iter().map(label).collect::<Vec<_>>().join(", ");
    let mut results = Vec::new();
    for value in &o.results {
        let value = program.value(*value);
        if !value.name.is_empty() && value.part.is_none_or(|part| part == 0) {
            results.push(format!("%{}", value.name));
        }
    }
    let known = ["memref.", "bufferization.", "func.", "cf.", "scf.", "arith."];
    let name = known.iter().find_map(|k| o.name.strip_prefix(k)).unwrap_or(&o.name);
    let with = |values: String| if values.is_empty() { String::new() } else { format!(" {values}") };
    let said = match (o.name.as_str(), o.successors.is_empty()) {
        (_, false) => {
            let first = o.successors.iter().map(|s| s.first as usize).min().unwrap_or(o.operands.len());
            let mut parts: Vec<String> = o.operands[..first].iter().map(label).collect();
            parts.extend(o.successors.iter().map(|s| {
                let passed = list(&o.operands[s.first as usize..(s.first + s.count) as usize]);
                let to = &program.block(s.block).label;
                if passed.is_empty() { format!("^{to}") } else { format!("^{to}({passed})") }
            }));
            with(parts.join(", "))
        }
        ("scf.for", _) => with(list(&o.operands[3..])),
        ("bufferization.dealloc", _) => {
            let count = (o.operands.len() - o.results.len()) / 2;
            let (buffers, rest) = o.operands.split_at(count);
            let (truths, kept) = rest.split_at(count);
            let kept = if kept.is_empty() { String::new() } else { format!(", keep {}", list(kept)) };
            format!(" {} if {}{kept}", list(buffers), list(truths))
        }
        _ => with(list(&o.operands)),
    };
    let results = if results.is_empty() { String::new() } else { format!("{} = ", results.join(", ")) };
    format!("{results}{name}{said}")
}

/// What the run finds when the clone of the new buffer in the first program is left out: for the prediction.
pub fn without_the_clone() -> Option<Moment> {
    let story = story(EXAMPLES[0].text, Rule::Older).ok()?;
    let of = |s: &Step| matches!(s, Step::Clone { of, .. } if story.program.value(*of).label() == "%a");
    let step = story.steps().iter().position(of)?;
    let number = story.parts().iter().find(|p| p.step == step)?.number;
    Some(story.moment(story.steps().len(), &BTreeSet::from([(number, Break::LeftOut)]), 0))
}

/// The puzzle: a text for the first program in which no clone is needed, though an allocated buffer still comes to a block
/// from two sides, and nothing is wrong.
pub fn without_clones(setting: &Setting, told: &Result<Story, Refusal>) -> (bool, String) {
    if setting.example != 0 || setting.rule != Rule::Older || !setting.broken.is_empty() {
        return (false, "It is about the first program, with its gaps closed and nothing spoilt.".to_owned());
    }
    let Some(story) = told.as_ref().ok().filter(|s| s.refusal.is_none()) else {
        return (false, "The text cannot be used as it is.".to_owned());
    };
    let (clones, releases) = story.counts();
    let meets = story.steps().iter().any(|s| match s {
        Step::MayBe { from, to, .. } => {
            let is_allocated = |s: &Step| matches!(s, Step::Allocation { value, .. } if value == from);
            let Definition::Argument(block, _) = story.program.value(*to).definition else { return false };
            let sides =
                |op: OpId| story.program.op(op).successors.iter().filter(|s| s.block == block).count();
            let all: usize = story
                .program
                .functions()
                .iter()
                .flat_map(|f| operations(&story.program, *f))
                .map(sides)
                .sum();
            story.steps().iter().any(is_allocated) && all >= 2
        }
        _ => false,
    });
    let moment = story.moment(story.steps().len(), &BTreeSet::new(), 0);
    if !meets {
        return (false, "No block gets an allocated buffer, and is come to from two sides.".to_owned());
    }
    if !moment.faults.is_empty() {
        return (false, moment.verdict().unwrap_or_default());
    }
    (clones == 0 && releases > 0, story.counted())
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::state::Source;
    use proptest::prelude::*;

    fn of(id: &str) -> Story {
        let example = EXAMPLES.iter().find(|e| e.id == id).expect("an example");
        story(example.text, Rule::Older).expect("it can be read")
    }

    /// The first of what was put in that says this.
    fn part(story: &Story, text: &str) -> usize {
        story.parts().iter().find(|p| p.text == text).expect(text).number
    }

    fn kinds(story: &Story, broken: &[(usize, Break)]) -> BTreeSet<Kind> {
        let broken = broken.iter().copied().collect();
        story.moment(story.steps().len(), &broken, 0).faults.into_iter().map(|(kind, _)| kind).collect()
    }

    #[test]
    fn the_gallery_is_of_the_engines_own_test_cases() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/deallocation/tests/golden");
        let read = |name: &str| std::fs::read_to_string(format!("{golden}/{name}")).expect("the cases");
        let all = read("basic.txt") + &read("own.txt");
        for e in EXAMPLES {
            assert!(all.contains(&format!("\n{}--- ", e.text)), "{}", e.id);
        }
    }

    #[test]
    fn what_becomes_of_each_example() {
        let all: Vec<String> = EXAMPLES
            .iter()
            .map(|e| {
                let story = of(e.id);
                let said = match &story.refusal {
                    Some(refusal) => refusal.to_string(),
                    None => story.counted(),
                };
                format!("{}: {} steps, {said}", e.id, story.steps().len())
            })
            .collect();
        let expected = [
            "diamond: 8 steps, 2 clones and 2 releases.",
            "view: 3 steps, 0 clones and 1 release.",
            "one-side: 2 steps, 0 clones and 1 release.",
            "if: 10 steps, 2 clones and 3 releases.",
            "loop: 13 steps, 2 clones and 3 releases.",
            "blocks: 0 steps, 7:3: a branch back makes a loop of blocks, expected loops as `scf.for` or `scf.while` only",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn sets_grow_and_an_owner_leaves() {
        let story = of("diamond");
        let sets = |done| -> Vec<String> {
            let moment = story.moment(done, &BTreeSet::new(), 0);
            moment.sets.iter().map(|s| format!("{} {}: {}", s.letter, s.names.join(" "), s.status)).collect()
        };
        assert_eq!(sets(0)[2..], ["C %a: nobody was asked yet", "D %r: nobody was asked yet"]);
        assert_eq!(sets(3), ["A %x %a %r: %a has to be freed, or the caller's", "B %out: the caller's"]);
        assert_eq!(sets(4)[2..], ["C %a: %a has to be freed", "D %r: %r has to be freed"]);
        assert_eq!(sets(8)[2..], ["C %a: %a is freed in ^bb1", "D %r: %r is freed in ^bb2"]);
    }

    #[test]
    fn what_is_spoilt_shows() {
        let story = of("diamond");
        let clone = part(&story, "%a_clone = clone %a");
        let release = part(&story, "dealloc %r");
        assert_eq!(kinds(&story, &[]), BTreeSet::new());
        let twice = BTreeSet::from([Kind::FreedTwice, Kind::UsedAfterRelease]);
        assert_eq!(kinds(&story, &[(clone, Break::LeftOut)]), twice);
        assert_eq!(kinds(&story, &[(release, Break::LeftOut)]), BTreeSet::from([Kind::Leak]));
        assert_eq!(kinds(&story, &[(release, Break::TooEarly)]), BTreeSet::from([Kind::UsedAfterRelease]));
        assert_eq!(kinds(&story, &[(release, Break::Twice)]), BTreeSet::from([Kind::FreedTwice]));
        // The way is that of the fault, and its signs stand in the lines.
        let broken = BTreeSet::from([(clone, Break::LeftOut)]);
        let moment = story.moment(story.steps().len(), &broken, 0);
        let titles: Vec<String> =
            moment.way.iter().map(|b| deallocation::words::block(&story.program, *b)).collect();
        assert_eq!(titles, ["the first block", "`^bb1`", "`^bb2`"]);
        let signs: Vec<(String, &str)> =
            moment.lines().into_iter().filter_map(|(_, row)| Some((row.text, row.sign?.words()))).collect();
        let expected =
            [("%a = alloc", "made here"), ("dealloc %a", "freed here"), ("test.copy %r, %out", "wrong here")];
        assert_eq!(signs, expected.map(|(text, sign)| (text.to_owned(), sign)));
    }

    #[test]
    fn the_gaps_of_llvm_leak() {
        let story = story(EXAMPLES[0].text, Rule::Llvm16).expect("it can be read");
        assert_eq!(kinds(&story, &[]), BTreeSet::from([Kind::Leak]));
    }

    #[test]
    fn the_newer_rule_is_right_on_each_example() {
        for e in &EXAMPLES[..5] {
            let story = story(e.text, Rule::Newer).expect("it can be read");
            let moment = story.moment(0, &BTreeSet::new(), 0);
            assert_eq!(moment.verdict().as_deref(), Some(NOTHING), "{}", e.id);
            let (clones, releases) = story.counts();
            assert!(clones == 0 && releases > 0, "{}", e.id);
            assert!(moment.lines().iter().any(|(_, r)| r.presence == Presence::PutIn), "{}", e.id);
        }
    }

    /// A text that solves the puzzle: the allocation stands before the branch.
    const SOLUTION: &str = "\
func.func @f(%c: i1, %x: memref<64xf32>, %out: memref<64xf32>) {
  %a = memref.alloc() : memref<64xf32>
  cf.cond_br %c, ^bb1, ^bb2(%x : memref<64xf32>)
^bb1:
  \"test.write\"(%a) : (memref<64xf32>) -> ()
  cf.br ^bb2(%a : memref<64xf32>)
^bb2(%r: memref<64xf32>):
  \"test.copy\"(%r, %out) : (memref<64xf32>, memref<64xf32>) -> ()
  return
}
";

    #[test]
    fn the_puzzle_has_a_solution_and_is_not_solved_by_nothing() {
        let ask = |text: Option<&str>| {
            let setting = Setting { text: text.map(str::to_owned), ..Setting::default() };
            without_clones(&setting, &story(setting.text(), Rule::Older))
        };
        assert_eq!(ask(None), (false, "2 clones and 2 releases.".to_owned()));
        assert_eq!(ask(Some(SOLUTION)), (true, "0 clones and 1 release.".to_owned()));
        assert!(!ask(Some("func.func @f() {\n  return\n}\n")).0);
        assert!(!ask(Some("func.func")).0);
        // Passing nothing at all is no solution.
        assert!(!ask(Some(EXAMPLES[2].text)).0);
    }

    #[test]
    fn too_large_a_program_is_refused() {
        let many = "  \"test.end\"() : () -> ()\n".repeat(MOST_OPERATIONS);
        let refusal =
            story(&format!("func.func @f() {{\n{many}  return\n}}\n"), Rule::Older).expect_err("too large");
        assert_eq!(refusal.to_string(), "1:1: 301 operations, expected at most 300 in this figure");
    }

    proptest! {
        #[test]
        fn a_setting_round_trips_through_an_address(
            example in 0..EXAMPLES.len(),
            rule in 0..3_usize,
            text in proptest::option::of("[ -~\n]{0,60}"),
            broken in proptest::collection::btree_map(0..40_usize, 0..3_usize, 0..6),
        ) {
            let broken = broken.into_iter().map(|(n, how)| (n, Break::ALL[how])).collect();
            let s = Setting { example, text, rule: Rule::ALL[rule], broken };
            let state = s.put(&State::new(Source::Shipped("attention_grad".to_owned())));
            let back = State::decode(&state.encode()).expect("an address");
            prop_assert_eq!(Setting::of(&back), s);
        }

        /// Whatever is spoilt, at whatever step: every line is there once, and the verdict is one.
        #[test]
        fn nothing_that_can_be_set_is_without_an_answer(
            example in 0..EXAMPLES.len(),
            rule in 0..3_usize,
            done in 0..14_usize,
            fault in 0..4_usize,
            broken in proptest::collection::btree_map(0..8_usize, 0..3_usize, 0..4),
        ) {
            let story = story(EXAMPLES[example].text, Rule::ALL[rule]).expect("it can be read");
            let broken = broken.into_iter().map(|(n, how)| (n, Break::ALL[how])).collect();
            let moment = story.moment(done, &broken, fault);
            prop_assert_eq!(moment.verdict().is_none(), story.refusal.is_some());
            let lines = moment.lines();
            let mut keys: Vec<u32> = lines.iter().map(|(_, r)| r.key).collect();
            keys.sort_unstable();
            keys.dedup();
            prop_assert_eq!(keys.len(), lines.len());
        }
    }
}
