//! A small program around one refused sharing that still shows it: for a bug report.

use crate::study::name_at;
use analysis::{Facts, Orders, Target, ValueId};
use assigner::Options;
use assigner::explain::{Reason, explain};
use dumps::read::ValueName;
use hlo::{ComputationId, InstructionId, Module, Opcode, Shape};
use std::collections::HashSet;

/// The small program, and what it shows.
#[derive(Debug)]
pub struct Reduced {
    /// The program.
    pub module: Module,
    /// Its text.
    pub text: String,
    /// Why the two values do not share, or do, in the program as it was and in the small one.
    pub reason: &'static str,
    /// Do they share?
    pub shares: bool,
    /// Instructions before and after.
    pub instructions: (usize, usize),
    /// Smaller programs that were tried.
    pub tried: usize,
}

/// Why there is no smaller program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReduceError {
    /// One of the two is no value of the program.
    NoValue(String),
    /// The program cannot be analysed once more, from its own text.
    Broken(String),
}

impl std::fmt::Display for ReduceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoValue(name) => write!(f, "`{name}`, expected a value of the module"),
            Self::Broken(what) => write!(f, "{what}, expected a module that reads back from its own text"),
        }
    }
}

impl std::error::Error for ReduceError {}

/// What has to stay as it is.
#[derive(Debug)]
struct Question {
    target: Target,
    options: Options,
    pair: [ValueName; 2],
    verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Verdict {
    shares: bool,
    reason: &'static str,
    detail: &'static str,
}

/// Looks for a small program in which two values share, or do not, for the same reason. `effort` is the number of
/// instructions that may be looked at in all trials together, without presets, which name values of the module as it was; `go_on` is told how many instructions are left and ends the
/// search with `false`.
pub fn reduce(
    module: &Module,
    target: &Target,
    options: &Options,
    pair: [ValueName; 2],
    effort: u64,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Reduced, ReduceError> {
    let mut search = Reducer::new(module, target, options, pair, effort)?;
    while go_on(search.left()) && search.step() {}
    Ok(search.found())
}

/// The search for a small program, trial by trial. Whoever leaves it has the smallest program that was found so far.
#[derive(Debug)]
pub struct Reducer {
    question: Question,
    best: Module,
    /// Instructions of the program as it was.
    before: usize,
    tried: usize,
    /// Instructions that may still be looked at.
    effort: u64,
    at: At,
}

/// Where the search is.
#[derive(Clone, Copy, Debug)]
enum At {
    /// Trying one way.
    Way {
        /// How many times all ways were gone.
        round: u32,
        /// Which, by [`Way::ALL`].
        way: usize,
        /// Instructions when this round began.
        began: usize,
        /// How much is done at once; `None` before the first trial of this way.
        size: Option<usize>,
        /// The first of what may be done that is not tried yet.
        from: usize,
    },
    /// Taking away attributes: which, by [`ATTRIBUTES`].
    Attributes(usize),
    /// There is nothing more to try.
    Done,
}

/// Times that all ways are gone at most.
const ROUNDS: u32 = 4;

/// What says where a program comes from and how its fusions were made.
const ATTRIBUTES: [&[&str]; 3] = [&["metadata"], &["frontend_attributes"], &["backend_config"]];

impl Reducer {
    /// Begins: `effort` is as for [`reduce`].
    pub fn new(
        module: &Module,
        target: &Target,
        options: &Options,
        pair: [ValueName; 2],
        effort: u64,
    ) -> Result<Self, ReduceError> {
        let best = again(module, &HashSet::new()).map_err(ReduceError::Broken)?;
        let mut question = Question {
            target: target.clone(),
            // Both name values by numbers, which change with each step.
            options: Options { presets: Vec::new(), must_not_live_out: Vec::new(), ..options.clone() },
            pair,
            verdict: Verdict { shares: false, reason: "", detail: "" },
        };
        question.verdict = question.ask(&best).ok_or_else(|| {
            let known = |n: &&ValueName| best.instruction_ids().any(|i| best.name_of(i) == n.instruction);
            let missing = question.pair.iter().find(|n| !known(n)).unwrap_or(&question.pair[0]);
            ReduceError::NoValue(missing.to_string())
        })?;
        let began = best.instructions.len();
        let at = At::Way { round: 0, way: 0, began, size: None, from: 0 };
        Ok(Self { question, best, before: module.instructions.len(), tried: 0, effort, at })
    }

    /// Instructions of the smallest program so far.
    #[must_use]
    pub fn left(&self) -> usize {
        self.best.instructions.len()
    }

    /// Tries one more program; `false` once there is none.
    pub fn step(&mut self) -> bool {
        match self.at {
            At::Way { round, way, began, size, from } => self.shrink(round, way, began, size, from),
            At::Attributes(n) => {
                let clean = without_attributes(&self.best, ATTRIBUTES[n]);
                if let Some(clean) = clean.filter(|m| self.shows_it(m)) {
                    self.best = clean;
                }
                self.at = if n + 1 < ATTRIBUTES.len() { At::Attributes(n + 1) } else { At::Done };
            }
            At::Done => {}
        }
        !matches!(self.at, At::Done)
    }

    /// The smallest program so far.
    #[must_use]
    pub fn found(self) -> Reduced {
        Reduced {
            text: hlo::print(&self.best),
            reason: self.question.verdict.reason,
            shares: self.question.verdict.shares,
            instructions: (self.before, self.best.instructions.len()),
            tried: self.tried,
            module: self.best,
        }
    }

    fn shows_it(&self, module: &Module) -> bool {
        self.question.ask(module) == Some(self.question.verdict)
    }

    /// Tries halves, then quarters, and so on, of what may be done: one of them, or goes to the next way.
    fn shrink(&mut self, round: u32, number: usize, began: usize, size: Option<usize>, from: usize) {
        let way = Way::ALL[number];
        let all = self.targets(way);
        let most = if matches!(way, Way::Hoisted) { all.len().min(1) } else { all.len() };
        let mut size = size.unwrap_or(most);
        let mut from = from;
        if from >= all.len() {
            (size, from) = (size / 2, 0);
        }
        if size == 0 || all.is_empty() {
            self.at = self.next_way(round, number, began);
            return;
        }
        let cost = self.best.instructions.len() as u64;
        if self.effort < cost {
            self.at = At::Attributes(0);
            return;
        }
        self.effort -= cost;
        self.tried += 1;
        let smaller = apply(&self.best, way, &all[from..(from + size).min(all.len())]);
        let is_smaller =
            |m: &Module| !matches!(way, Way::Hoisted) || m.instructions.len() < self.best.instructions.len();
        match smaller.filter(|m| is_smaller(m) && self.shows_it(m)) {
            // What stood behind it has moved up.
            Some(module) => self.best = module,
            None => from += size,
        }
        self.at = At::Way { round, way: number, began, size: Some(size), from };
    }

    fn next_way(&self, round: u32, way: usize, began: usize) -> At {
        let left = self.best.instructions.len();
        if way + 1 < Way::ALL.len() {
            At::Way { round, way: way + 1, began, size: None, from: 0 }
        } else if round + 1 < ROUNDS && left != began {
            At::Way { round: round + 1, way: 0, began: left, size: None, from: 0 }
        } else {
            At::Attributes(0)
        }
    }
}

impl Question {
    /// Do the two share in this program, and why? `None` if one of them is not there, or nothing can be said.
    fn ask(&self, module: &Module) -> Option<Verdict> {
        let orders = Orders::guess(module, &self.target);
        let facts = Facts::new(module, orders, self.target.clone()).ok()?;
        let find = |name: &ValueName| -> Option<ValueId> {
            facts.values().find(|v| name_at(module, v.defined_at()) == *name).map(|v| v.id)
        };
        let pair = [find(&self.pair[0])?, find(&self.pair[1])?];
        let (assignment, decisions) = assigner::assign(module, &facts, &facts.ranges, &self.options);
        let e = explain(module, &facts, &facts.ranges, (&assignment, &decisions), pair);
        let detail = match &e.reason {
            Reason::Refused { refusal, .. } => refusal.name(),
            Reason::Category { kind, .. } => kind.name(),
            _ => "",
        };
        Some(Verdict { shares: e.shares(), reason: e.reason.name(), detail })
    }

    fn is_kept(&self, module: &Module, id: InstructionId) -> bool {
        let name = module.name_of(id);
        self.pair.iter().any(|p| p.instruction == name)
    }
}

/// One way of making a program smaller: what may be done, and how it is done to some of it.
#[derive(Clone, Copy)]
enum Way {
    /// Outputs are not returned.
    Outputs,
    /// Instructions of the entry computation become parameters.
    Parameters,
    /// Instructions of other computations become constants.
    Constants,
    /// Donations are taken back.
    Donations,
    /// An output is replaced by an operand of what makes it.
    Hoisted,
}

/// Operands of an output that are tried in its place.
const MOST_HOISTED: u32 = 8;

impl Way {
    /// All, in the order in which they are gone.
    const ALL: [Self; 5] = [Self::Outputs, Self::Parameters, Self::Hoisted, Self::Constants, Self::Donations];
}

impl Reducer {
    /// What may be done, as numbers of instructions, outputs or donations.
    fn targets(&self, way: Way) -> Vec<u32> {
        let module = &self.best;
        let entry = module.entry;
        let root = module.root(entry);
        let is_free = |i: &InstructionId| {
            *i != root
                && !self.question.is_kept(module, *i)
                && !matches!(module.instruction(*i).opcode, Opcode::Parameter | Opcode::Constant)
        };
        match way {
            Way::Outputs if module.instruction(root).opcode == Opcode::Tuple => {
                (0..module.operands(root).len() as u32).collect()
            }
            Way::Outputs => Vec::new(),
            Way::Parameters => {
                // From the end: what is read last goes first, and takes what it reads with it.
                module
                    .computation(entry)
                    .instructions
                    .iter()
                    .rev()
                    .filter(|i| is_free(i))
                    .map(|i| i.0)
                    .collect()
            }
            Way::Constants => module
                .computation_ids()
                .filter(|c| *c != entry && is_control_flow(module, *c))
                .flat_map(|c| module.computation(c).instructions.iter().rev().copied().collect::<Vec<_>>())
                .filter(|i| {
                    let c = module.instruction(*i).computation;
                    is_free(i) && module.root(c) != *i && module.shapes.is_array(module.instruction(*i).shape)
                })
                .map(|i| i.0)
                .collect(),
            Way::Donations => (0..module.input_output_alias.len() as u32).collect(),
            Way::Hoisted => outputs(module)
                .iter()
                .enumerate()
                .filter(|(_, o)| !self.question.is_kept(module, **o))
                .flat_map(|(k, o)| {
                    let count = (module.operands(*o).len() as u32).min(MOST_HOISTED);
                    (0..count).map(move |n| k as u32 * MOST_HOISTED + n)
                })
                .collect(),
        }
    }
}

/// Is a computation called by a loop, a branch or a call?
fn is_control_flow(module: &Module, c: ComputationId) -> bool {
    module.instruction_ids().any(|i| {
        matches!(module.instruction(i).opcode, Opcode::While | Opcode::Conditional | Opcode::Call)
            && module.called(i).contains(&c)
    })
}

fn apply(module: &Module, way: Way, some: &[u32]) -> Option<Module> {
    let mut module = module.clone();
    match way {
        Way::Outputs => {
            let root = module.root(module.entry);
            let keep = |n: &usize| !some.contains(&(*n as u32));
            let operands = module.operands(root).to_vec();
            let Shape::Tuple(elements) = module.shapes.get(module.instruction(root).shape).clone() else {
                return None;
            };
            let kept: Vec<usize> = (0..operands.len()).filter(keep).collect();
            if kept.is_empty() {
                return None;
            }
            let elements: Vec<_> = kept.iter().map(|n| elements[*n]).collect();
            let shape = module.shapes.intern_tuple(&elements).ok()?;
            let operands: Vec<_> = kept.iter().map(|n| operands[*n]).collect();
            module.set_operands(root, &operands);
            module.set_shape(root, shape);
            let mut aliases = std::mem::take(&mut module.input_output_alias);
            aliases.retain_mut(|a| {
                let Some(first) = a.output.0.first_mut() else { return true };
                match kept.iter().position(|n| *n as u32 == *first) {
                    Some(n) => {
                        *first = n as u32;
                        true
                    }
                    None => false,
                }
            });
            module.input_output_alias = aliases;
        }
        Way::Parameters => {
            for id in some.iter().map(|i| InstructionId(*i)) {
                let number = module.computation(module.entry).parameters.len();
                become_leaf(&mut module, id, Opcode::Parameter, &number.to_string());
                let entry = module.entry;
                module.computations[entry.index()].parameters.push(id);
            }
        }
        Way::Constants => {
            for id in some.iter().map(|i| InstructionId(*i)) {
                become_leaf(&mut module, id, Opcode::Constant, "{...}");
            }
        }
        Way::Hoisted => {
            let at = *some.first()?;
            hoist(&mut module, at / MOST_HOISTED, at % MOST_HOISTED)?;
        }
        Way::Donations => {
            let mut n = 0;
            module.input_output_alias.retain(|_| {
                n += 1;
                !some.contains(&(n - 1))
            });
        }
    }
    sweep(&mut module);
    let reachable = reachable(&module);
    again(&module, &reachable).ok()
}

/// What makes the outputs.
fn outputs(module: &Module) -> Vec<InstructionId> {
    let root = module.root(module.entry);
    if module.instruction(root).opcode == Opcode::Tuple { module.operands(root).to_vec() } else { vec![root] }
}

fn hoist(module: &mut Module, output: u32, operand: u32) -> Option<()> {
    let root = module.root(module.entry);
    let maker = *outputs(module).get(output as usize)?;
    let instead = *module.operands(maker).get(operand as usize)?;
    if module.instruction(root).opcode == Opcode::Tuple {
        let Shape::Tuple(mut elements) = module.shapes.get(module.instruction(root).shape).clone() else {
            return None;
        };
        *elements.get_mut(output as usize)? = module.instruction(instead).shape;
        let shape = module.shapes.intern_tuple(&elements).ok()?;
        let mut operands = module.operands(root).to_vec();
        *operands.get_mut(output as usize)? = instead;
        module.set_operands(root, &operands);
        module.set_shape(root, shape);
    } else {
        module.set_root(instead);
    }
    let shape = module.instruction(instead).shape;
    let mut aliases = std::mem::take(&mut module.input_output_alias);
    aliases.retain(|a| {
        let is_other = a.output.0.first().is_some_and(|n| *n != output);
        let parameter = module.computation(module.entry).parameters.get(a.parameter as usize);
        is_other || parameter.is_some_and(|p| module.instruction(*p).shape == shape)
    });
    module.input_output_alias = aliases;
    Some(())
}

/// Takes away what says where the program comes from and how its fusions were made, if that changes nothing.
fn without_attributes(module: &Module, names: &[&str]) -> Option<Module> {
    let mut module = module.clone();
    for id in module.instruction_ids() {
        for name in names {
            module.remove_attribute(id, name);
        }
    }
    module.tables = hlo::Span::default();
    again(&module, &HashSet::new()).ok()
}

/// Makes an instruction one that reads nothing.
fn become_leaf(module: &mut Module, id: InstructionId, opcode: Opcode, payload: &str) {
    module.set_operands(id, &[]);
    module.set_control_predecessors(id, &[]);
    module.set_called(id, &[]);
    let names: Vec<String> = module.attributes(id).iter().map(|a| module.str(a.name).to_owned()).collect();
    for name in names {
        module.remove_attribute(id, &name);
    }
    let name = module.add_text(opcode.name());
    let payload = module.add_text(payload);
    let instruction = &mut module.instructions[id.index()];
    instruction.opcode = opcode;
    instruction.opcode_name = name;
    instruction.payload = payload;
}

/// Takes away what nobody reads, and numbers the entry's parameters anew.
fn sweep(module: &mut Module) {
    for c in module.computation_ids() {
        let mut wanted: HashSet<InstructionId> = HashSet::new();
        let mut open = vec![module.root(c)];
        while let Some(i) = open.pop() {
            if wanted.insert(i) {
                open.extend(module.operands(i));
            }
        }
        // A computation keeps its parameters, which its callers give; the entry's are nobody's unless they are donated.
        for (n, p) in module.computation(c).parameters.iter().enumerate() {
            if c != module.entry || module.input_output_alias.iter().any(|a| a.parameter as usize == n) {
                wanted.insert(*p);
            }
        }
        let list: Vec<InstructionId> =
            module.computation(c).instructions.iter().copied().filter(|i| wanted.contains(i)).collect();
        for i in &list {
            let before: Vec<InstructionId> =
                module.control_predecessors(*i).iter().copied().filter(|p| wanted.contains(p)).collect();
            if before.len() != module.control_predecessors(*i).len() {
                module.set_control_predecessors(*i, &before);
            }
        }
        module.computations[c.index()].instructions = list;
        if c == module.entry {
            let old = module.computation(c).parameters.clone();
            let kept: Vec<InstructionId> = old.iter().copied().filter(|p| wanted.contains(p)).collect();
            for (n, p) in kept.iter().enumerate() {
                let payload = module.add_text(&n.to_string());
                module.instructions[p.index()].payload = payload;
            }
            for a in &mut module.input_output_alias {
                let number = kept.iter().position(|p| old.get(a.parameter as usize) == Some(p));
                a.parameter = number.unwrap_or(0) as u32;
            }
            module.computations[c.index()].parameters = kept;
        }
    }
    module.name_control_predecessors();
}

/// The names of the computations that the entry reaches.
fn reachable(module: &Module) -> HashSet<String> {
    let mut out = HashSet::new();
    let mut open = vec![module.entry];
    while let Some(c) = open.pop() {
        if out.insert(module.computation_name(c).to_owned()) {
            open.extend(module.computation(c).instructions.iter().flat_map(|i| module.called(*i)));
        }
    }
    out
}

/// Prints a module and reads it again, with these computations only (all if there are none), and without the parts of the
/// header that speak of signatures.
fn again(module: &Module, keep: &HashSet<String>) -> Result<Module, String> {
    let mut module = module.clone();
    let aliases: Vec<String> = module
        .input_output_alias
        .iter()
        .map(|a| {
            let kind = if a.kind == hlo::AliasKind::Must { "must" } else { "may" };
            format!("{}: ({}, {}, {kind}-alias)", a.output, a.parameter, a.parameter_index)
        })
        .collect();
    let wanted = ["is_scheduled", "fingerprint_before_lhs", "num_partitions", "replica_count"];
    let names: Vec<bool> = module.header.iter().map(|a| wanted.contains(&module.str(a.name))).collect();
    let mut names = names.into_iter();
    module.header.retain(|_| names.next().unwrap_or(false));
    if !aliases.is_empty() {
        let (name, value) = (
            module.add_text("input_output_alias"),
            module.add_text(&format!("{{ {} }}", aliases.join(", "))),
        );
        module.header.push(hlo::Attribute { name, value });
    }
    let text = hlo::print(&module);
    let text = if keep.is_empty() { text } else { only(&text, keep) };
    hlo::read_owned(text).complete().map_err(|d| d.first().map_or_else(String::new, ToString::to_string))
}

/// Of a printed module the header and these computations. A computation is printed from a line that begins with its name,
/// `%` in front, or with `ENTRY`, to a line that is a brace.
fn only(text: &str, keep: &HashSet<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_kept = true;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix('%') {
            let name = rest.split([' ', '(']).next().unwrap_or("");
            is_kept = keep.contains(name);
        } else if line.starts_with("ENTRY ") {
            is_kept = true;
        }
        if is_kept {
            out += line;
            out.push('\n');
        }
        if line == "}" {
            is_kept = true;
        }
    }
    out
}
