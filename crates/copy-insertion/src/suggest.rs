//! What would let a copy go: changes of the module, each tried by running the pass on the module so changed.

use crate::story::{Clash, CopyStory, Fate, Late, Place, Refusal, Rule, Until};
use crate::{Options, Outcome, RegionAnalysis, insert_copies};
use analysis::{Backend, Orders, Target};
use hlo::{Alias, AliasKind, ComputationId, InstructionId, Module, Opcode, Shape, ShapeIndex};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// One change of the module as it was before the pass. Numbers are those of that module.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Change {
    /// `reader` runs before `writer`, by a control edge.
    ReadFirst {
        /// The instruction that reads late.
        reader: InstructionId,
        /// The instruction that writes.
        writer: InstructionId,
    },
    /// `reader` no longer reads this operand.
    DropRead {
        /// The instruction that reads late.
        reader: InstructionId,
        /// Which of its operands.
        operand: u32,
    },
    /// A parameter is donated to an output.
    Donate {
        /// The parameter's number.
        parameter: u32,
        /// Where in the parameter.
        index: ShapeIndex,
        /// Where in the result.
        output: ShapeIndex,
    },
    /// An element of the result is given back no more.
    DropOutput {
        /// Where in the result.
        output: ShapeIndex,
    },
    /// The two branches of a conditional change places, and what chooses between them is turned round.
    SwapBranches {
        /// The conditional.
        at: InstructionId,
    },
    /// Region analysis is turned on.
    AnalyseRegions,
}

/// Changes that together let a copy go, and what they are worth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suggestion {
    /// All of them are needed.
    pub changes: Vec<Change>,
    /// Copies that stand in the module without the changes, and with them.
    pub copies: [usize; 2],
    /// Bytes that those copies write.
    pub bytes: [u64; 2],
}

/// At most so many changed modules are tried by [`suggest`].
const MOST_TRIALS: usize = 256;
/// At most so many outputs are tried for one parameter.
const MOST_OUTPUTS: usize = 4;
/// No more suggestions than this for one copy, besides region analysis.
const MOST_SUGGESTIONS: usize = 3;

/// For each copy of `outcome` that stayed, in order, what would let it go. `module`, `orders` and the rest are what the
/// outcome was made from.
#[must_use]
pub fn suggest(
    module: &Module,
    orders: &Orders,
    target: &Target,
    options: Options,
    outcome: &Outcome,
) -> Vec<Vec<Suggestion>> {
    suggest_within(module, orders, target, options, outcome, MOST_TRIALS)
}

/// [`suggest`] with at most so many runs of the pass. Region analysis, which may let many copies go at once, is tried
/// first, and then the largest copies.
#[must_use]
pub fn suggest_within(
    module: &Module,
    orders: &Orders,
    target: &Target,
    options: Options,
    outcome: &Outcome,
    most_trials: usize,
) -> Vec<Vec<Suggestion>> {
    let mut caller_of = vec![None; module.computations.len()];
    for id in module.instruction_ids() {
        for callee in module.called(id) {
            caller_of[callee.index()] = Some(id);
        }
    }
    let mut tries = Trials {
        caller_of,
        module,
        orders,
        target,
        options,
        known: FxHashMap::default(),
        most: most_trials,
        before: Stayed::of(outcome),
    };
    if tries.can_analyse_regions() && !tries.before.keys.is_empty() {
        tries.run(&[Change::AnalyseRegions]);
    }
    let mut out = vec![Vec::new(); outcome.copies.len()];
    let mut order: Vec<usize> =
        (0..outcome.copies.len()).filter(|i| outcome.copies[*i].fate == Fate::Stayed).collect();
    order.sort_by_key(|i| (Reverse(outcome.copies[*i].bytes), *i));
    for i in order {
        let story = &outcome.copies[i];
        let key = key(&outcome.history, story);
        for changes in tries.candidates(outcome, story) {
            // Region analysis has been tried already, and may let more copies go than anything else.
            if out[i].len() >= MOST_SUGGESTIONS && changes != [Change::AnalyseRegions] {
                continue;
            }
            // What needs more than something that helps already is no news.
            let covered = out[i].iter().any(|s: &Suggestion| s.changes.iter().all(|c| changes.contains(c)));
            if covered {
                continue;
            }
            let before = tries.before.clone();
            if let Some(after) = tries.run(&changes)
                && !after.keys.contains(&key)
                && after.bytes < before.bytes
            {
                out[i].push(Suggestion {
                    copies: [before.keys.len(), after.keys.len()],
                    bytes: [before.bytes, after.bytes],
                    changes,
                });
            }
        }
        out[i].sort_by_key(|s| s.bytes[1]);
    }
    out
}

/// The copies that stay.
#[derive(Clone)]
struct Stayed {
    keys: Vec<String>,
    bytes: u64,
}

impl Stayed {
    fn of(outcome: &Outcome) -> Self {
        let stayed = || outcome.copies.iter().filter(|s| s.fate == Fate::Stayed);
        Self {
            keys: stayed().map(|s| key(&outcome.history, s)).collect(),
            bytes: stayed().fold(0u64, |sum, s| sum.saturating_add(s.bytes)),
        }
    }
}

/// What makes a copy the same one in two runs: its rule and what it copies, not its own name.
fn key(history: &Module, story: &CopyStory) -> String {
    let name = |i: InstructionId| history.name_of(i);
    let detail = match &story.rule {
        Rule::Given => name(story.copy).to_owned(),
        Rule::LoopInit { at, index } | Rule::LoopParameter { at, index } | Rule::LoopResult { at, index } => {
            return format!("{} {}{index}", story.rule.name(), name(*at));
        }
        // Of any branch: they may have changed places.
        Rule::BranchResult { at, index, .. } => return format!("branch-result {} {index}", name(*at)),
        Rule::InPlaceOperand { at, operand, index } => {
            return format!("in-place-operand {} {operand} {index}", name(*at));
        }
        Rule::DonatedOutput { index, .. } => return format!("donated-output {index}"),
        Rule::NotInPlace { at, operand, .. } => format!("{} {operand}", name(*at)),
        _ => String::new(),
    };
    format!("{} {} {detail}", story.rule.name(), story.of.label(history))
}

struct Trials<'a> {
    module: &'a Module,
    orders: &'a Orders,
    target: &'a Target,
    options: Options,
    /// By computation: who calls it.
    caller_of: Vec<Option<InstructionId>>,
    known: FxHashMap<Vec<Change>, Option<Stayed>>,
    /// At most so many changed modules are tried.
    most: usize,
    before: Stayed,
}

impl Trials<'_> {
    /// Is region analysis something that can be turned on? Only XLA:CPU has a flag for it.
    fn can_analyse_regions(&self) -> bool {
        self.options.region_analysis == RegionAnalysis::Never && self.target.backend == Backend::Cpu
    }

    fn is_given(&self, id: InstructionId) -> bool {
        id.index() < self.module.instructions.len()
    }

    /// Sets of changes to try, the smallest first.
    fn candidates(&self, outcome: &Outcome, story: &CopyStory) -> Vec<Vec<Change>> {
        let mut out: Vec<Vec<Change>> = Vec::new();
        if let Some(Refusal::Clash(clash)) = &story.refusal {
            self.for_clash(outcome, clash, &mut out);
        }
        let parameter_of = |place: &Place| {
            let id = place.instruction;
            let is_entry = self.is_given(id) && self.module.instruction(id).computation == self.module.entry;
            if is_entry { self.module.parameter_number(id) } else { None }
        };
        match &story.rule {
            Rule::ReadOnly { value, .. } => {
                if let Some(number) = parameter_of(value) {
                    out.extend(self.donations(number, value).into_iter().map(|d| vec![d]));
                }
            }
            Rule::ReadOnlyOutput { index, value } => {
                if let Some(parameter) = parameter_of(value) {
                    let change =
                        Change::Donate { parameter, index: value.index.clone(), output: index.clone() };
                    out.push(vec![change]);
                }
                out.push(vec![Change::DropOutput { output: index.clone() }]);
            }
            Rule::BranchResult { at, .. } if self.module.called(*at).len() == 2 => {
                out.push(vec![Change::SwapBranches { at: *at }]);
            }
            Rule::RepeatedOutput { index, .. } => {
                out.push(vec![Change::DropOutput { output: index.clone() }]);
            }
            _ => {}
        }
        // A parameter that is read in time still may not be written over unless it is donated.
        if let Some(place) = &story.protects
            && let Some(number) = parameter_of(place)
        {
            let donations = self.donations(number, place);
            let alone = out.clone();
            for d in donations {
                out.push(vec![d.clone()]);
                out.extend(alone.iter().map(|changes| [&changes[..], std::slice::from_ref(&d)].concat()));
            }
        }
        if self.can_analyse_regions() {
            out.push(vec![Change::AnalyseRegions]);
        }
        for changes in &mut out {
            changes.sort();
            changes.dedup();
        }
        out
    }

    fn for_clash(&self, outcome: &Outcome, clash: &Clash, out: &mut Vec<Vec<Change>>) {
        let Until::Reads(reads) = &clash.until else { return };
        let mut writer = clash.written.instruction;
        if let Some(made) = outcome.copies.iter().find(|s| s.copy == writer)
            && let Rule::InPlaceOperand { at, .. } | Rule::LoopInit { at, .. } = made.rule
        {
            // Without its copy, this is what writes.
            writer = at;
        }
        let mut first = Vec::new();
        let mut drop = Vec::new();
        let mut can_go_first = self.is_given(writer);
        let mut can_drop = true;
        for read in reads {
            let reader = read.user;
            if !self.is_given(reader) || outcome.history.instruction(reader).opcode == Opcode::Copy {
                can_go_first = false;
                can_drop = false;
                break;
            }
            let ancestor = if can_go_first { self.ancestor_beside(reader, writer) } else { None };
            match ancestor {
                Some(reader) if read.why != Late::After => first.push(Change::ReadFirst { reader, writer }),
                _ => can_go_first = false,
            }
            if read.why == Late::NotInPlace {
                can_drop = false;
            }
            drop.push(Change::DropRead { reader, operand: read.operand });
        }
        if can_go_first && !first.is_empty() {
            out.push(first);
        }
        if can_drop && !drop.is_empty() {
            out.push(drop);
        }
        let chosen = reads.iter().map(|r| r.user).find(|r| {
            self.is_given(*r)
                && self.module.instruction(*r).opcode == Opcode::Conditional
                && self.module.called(*r).len() == 2
        });
        out.extend(chosen.map(|at| vec![Change::SwapBranches { at }]));
    }

    /// The instruction of the writer's computation that is the reader or holds it.
    fn ancestor_beside(&self, mut reader: InstructionId, writer: InstructionId) -> Option<InstructionId> {
        let wanted = self.module.instruction(writer).computation;
        let mut climbed = 0;
        while self.module.instruction(reader).computation != wanted {
            let here = self.module.instruction(reader).computation;
            reader = self.caller_of[here.index()]?;
            climbed += 1;
            if climbed > self.module.computations.len() {
                return None;
            }
        }
        (reader != writer).then_some(reader)
    }

    /// The outputs that the parameter could be donated to.
    fn donations(&self, parameter: u32, place: &Place) -> Vec<Change> {
        let shapes = &self.module.shapes;
        let root = self.module.root(self.module.entry);
        let shape = |id: InstructionId, index: &ShapeIndex| {
            let whole = self.module.instruction(id).shape;
            let sub = shapes.find(whole, &index.0)?;
            Some(shapes.subshapes(whole)[sub as usize].shape)
        };
        let wanted = shape(place.instruction, &place.index);
        let aliases = &self.module.input_output_alias;
        if aliases.iter().any(|a| a.parameter == parameter && a.parameter_index == place.index) {
            return Vec::new();
        }
        shapes
            .subshapes(self.module.instruction(root).shape)
            .iter()
            .filter(|o| shapes.is_array(o.shape) && Some(o.shape) == wanted)
            .filter(|o| !aliases.iter().any(|a| a.output == o.index))
            .take(MOST_OUTPUTS)
            .map(|o| Change::Donate { parameter, index: place.index.clone(), output: o.index.clone() })
            .collect()
    }

    fn run(&mut self, changes: &[Change]) -> Option<Stayed> {
        if let Some(known) = self.known.get(changes) {
            return known.clone();
        }
        if self.known.len() >= self.most {
            return None;
        }
        let stayed =
            changed(self.module, self.orders, self.options, changes).and_then(|(module, orders, options)| {
                let outcome = insert_copies(&module, &orders, self.target, options).ok()?;
                Some(Stayed::of(&outcome))
            });
        self.known.insert(changes.to_vec(), stayed.clone());
        stayed
    }
}

/// The module with the changes made, and what the pass is run with; `None` where one of them cannot be made. Numbers of
/// instructions stay what they are.
#[must_use]
pub fn changed(
    module: &Module,
    orders: &Orders,
    options: Options,
    changes: &[Change],
) -> Option<(Module, Orders, Options)> {
    let mut module = module.clone();
    let mut orders = orders.clone();
    let mut options = options;
    for change in changes {
        match change {
            Change::ReadFirst { reader, writer } => {
                if depends(&module, *reader, *writer) {
                    return None;
                }
                let mut before = module.control_predecessors(*writer).to_vec();
                before.push(*reader);
                module.set_control_predecessors(*writer, &before);
            }
            Change::DropRead { reader, operand } => {
                drop_read(&mut module, &mut orders, *reader, *operand)?;
            }
            Change::Donate { parameter, index, output } => module.input_output_alias.push(Alias {
                output: output.clone(),
                parameter: *parameter,
                parameter_index: index.clone(),
                kind: AliasKind::May,
            }),
            Change::DropOutput { output } => {
                let (mut at, mut operand) = (module.root(module.entry), None);
                for n in &output.0 {
                    let next = match module.instruction(at).opcode {
                        Opcode::Tuple => *module.operands(at).get(*n as usize)?,
                        _ => return None,
                    };
                    operand = Some((at, *n));
                    at = next;
                }
                let (tuple, n) = operand?;
                drop_read(&mut module, &mut orders, tuple, n)?;
            }
            Change::SwapBranches { at } => {
                let called: Vec<ComputationId> = module.called(*at).iter().rev().copied().collect();
                module.set_called(*at, &called);
                let mut operands = module.operands(*at).to_vec();
                operands.get_mut(1..)?.reverse();
                module.set_operands(*at, &operands);
                // The branch that is written first is also stored and tried first.
                let place = |c: &ComputationId| orders.storage.iter().position(|s| s == c);
                if let [Some(a), Some(b)] = [place(called.first()?), place(called.get(1)?)] {
                    orders.storage.swap(a, b);
                    orders.callee_first = analysis::orders::callee_first(&module, &orders.storage);
                }
            }
            Change::AnalyseRegions => options.region_analysis = RegionAnalysis::Always,
        }
    }
    Some((module, orders, options))
}

/// An operand becomes something that nobody else has.
fn drop_read(module: &mut Module, orders: &mut Orders, reader: InstructionId, operand: u32) -> Option<()> {
    let mut operands = module.operands(reader).to_vec();
    let slot = operands.get_mut(operand as usize)?;
    let shape = module.instruction(*slot).shape;
    if !matches!(module.shapes.get(shape), Shape::Array { .. }) {
        return None;
    }
    let computation: ComputationId = module.instruction(reader).computation;
    let name = format!("instead-of-{}", module.name_of(*slot));
    let instead = module.add_instruction(computation, &name, Opcode::Iota, shape, &[]);
    *slot = instead;
    module.set_operands(reader, &operands);
    module.computations[computation.index()].instructions.insert(0, instead);
    orders.instructions[computation.index()].push(instead);
    Some(())
}

/// Does `a` depend on `b`?
fn depends(module: &Module, a: InstructionId, b: InstructionId) -> bool {
    let mut seen: FxHashSet<InstructionId> = FxHashSet::default();
    let mut work = vec![a];
    while let Some(at) = work.pop() {
        if at == b {
            return true;
        }
        for before in module.operands(at).iter().chain(module.control_predecessors(at)) {
            if seen.insert(*before) {
                work.push(*before);
            }
        }
    }
    false
}
