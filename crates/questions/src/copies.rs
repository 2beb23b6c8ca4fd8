//! Every copy: what kind it is, what it costs, why it is there and what would remove it.

use crate::asked::{collectives_of, wishes, wishes_words};
use crate::hold::{hold, value_at};
use crate::loops::trip_count;
use crate::study::{Program, Study, space_name};
use analysis::Backend;
use assigner::words::{both, list};
use copy_insertion::{
    Clash, CopyStory, Fate, Late, Options, Outcome, Refusal, RegionAnalysis, Retraced, Rule, Until, needless,
    retrace, retrace_without, suggest_within, words,
};
use hlo::{InstructionId, Module, Opcode, Shape, ShapeId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A copy that stands in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The instruction: a copy, a transfer, or a fusion that copies.
    pub instruction: InstructionId,
    /// What it copies, through bitcasts and parts of tuples.
    pub of: InstructionId,
    /// The entry parameter that it copies, if it is one.
    pub argument: Option<u32>,
    /// What kind of copy.
    pub kind: CopyKind,
    /// Bytes it writes each time.
    pub bytes: u64,
    /// How often it runs, where loops tell it; `None` where one does not. In a branch of a conditional it runs so often at most.
    pub runs: Option<u64>,
    /// The conditional in whose branch it stands, and the number of the branch; the innermost.
    pub branch: Option<(InstructionId, u32)>,
    /// Does the copy stand at its source's own address? Then nothing has to be moved.
    pub in_place: bool,
    /// Where the copy stands: an index into [`Study::rows`].
    pub row: Option<usize>,
    /// Where its source stands: an index into [`Study::rows`].
    pub source_row: Option<usize>,
}

/// What kind of copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CopyKind {
    /// The same data in the same layout: it keeps two values apart.
    Plain,
    /// The same data in another order of dimensions.
    Relayout,
    /// The same order with other tiles.
    Retile,
    /// The same data with wider elements: a conversion of an argument.
    Widening,
    /// The same data with narrower elements: a conversion of an argument.
    Narrowing,
    /// From one memory space into another.
    Transfer,
}

impl CopyKind {
    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Plain => "plain copy",
            Self::Relayout => "re-layout",
            Self::Retile => "other tiling, same order",
            Self::Widening => "widened copy",
            Self::Narrowing => "narrowed copy",
            Self::Transfer => "transfer to another memory space",
        }
    }
}

/// All copies of arrays, those that write most first. Copies inside fusions are seen, also through transpositions; a conversion
/// counts where it is of an argument as a whole. Needs the program.
#[must_use]
pub fn copies(study: &Study) -> Vec<Copy> {
    let Some(program) = &study.program else { return Vec::new() };
    let Program { module, facts, .. } = program;
    let (runs, branches) = runs(program);
    let mut out = Vec::new();
    for c in module.computation_ids() {
        if facts.graph.context(c) != analysis::Context::ControlFlow {
            continue;
        }
        for id in &module.computation(c).instructions {
            for Copied { part, operand, kind } in copied(module, *id) {
                let shape = module.instruction(*id).shape;
                let shape = module.shapes.subshapes(shape).get(part as usize).map_or(shape, |s| s.shape);
                let of = trace(module, operand);
                let argument = argument(module, of);
                if matches!(kind, CopyKind::Widening | CopyKind::Narrowing) && argument.is_none() {
                    continue;
                }
                let bytes = facts.target.bytes(&module.shapes, shape);
                let row = value_at(program, *id, part).and_then(|v| study.row_of(v));
                let place = |row: usize| (study.rows[row].slab, study.rows[row].offset);
                let source_row = value_at(program, operand, 0).and_then(|v| study.row_of(v));
                let in_place = row.zip(source_row).is_some_and(|(a, b)| place(a) == place(b));
                out.push(Copy {
                    instruction: *id,
                    of,
                    argument,
                    kind,
                    bytes,
                    runs: runs.get(&c).copied().flatten(),
                    branch: branches.get(&c).copied(),
                    in_place,
                    row,
                    source_row,
                });
            }
        }
    }
    out.sort_by_key(|c| (std::cmp::Reverse(c.written()), c.instruction));
    out
}

impl Copy {
    /// Bytes it writes in one run of the program, a loop whose count is not known taken once; none if it is in place.
    #[must_use]
    pub fn written(&self) -> u64 {
        if self.in_place { 0 } else { self.bytes.saturating_mul(self.runs.unwrap_or(1)) }
    }
}

/// What all copies write in one run of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes: of the branches of a conditional those of the one that writes most, of a loop whose count is not known those of
    /// one round.
    pub bytes: u64,
    /// Is there a loop with copies whose count is not known?
    pub is_uncounted: bool,
    /// Are there copies in branches, of which one is taken?
    pub has_branches: bool,
}

impl Written {
    /// What a sum that is told has to be read with, behind it; empty if nothing.
    #[must_use]
    pub fn caveat(self) -> &'static str {
        match (self.is_uncounted, self.has_branches) {
            (false, false) => "",
            (true, false) => ", loops whose count is not known taken once",
            (false, true) => ", of branches the one that writes most",
            (true, true) => {
                ", loops whose count is not known taken once, of branches the one that writes most"
            }
        }
    }
}

/// What copies write in one run of the program, each as often as it runs.
#[must_use]
pub fn written(study: &Study, copies: &[Copy]) -> Written {
    let Some(Program { module, facts, .. }) = &study.program else { return Written::default() };
    let mut own: FxHashMap<hlo::ComputationId, u64> = FxHashMap::default();
    for c in copies.iter().filter(|c| !c.in_place) {
        let sum = own.entry(module.instruction(c.instruction).computation).or_default();
        *sum = sum.saturating_add(c.bytes);
    }
    let mut out = Written::default();
    let mut all: FxHashMap<hlo::ComputationId, u64> = FxHashMap::default();
    for c in &facts.orders.callee_first {
        let mut sum = own.get(c).copied().unwrap_or(0);
        for i in &module.computation(*c).instructions {
            let inside: Vec<u64> =
                module.called(*i).iter().map(|c| all.get(c).copied().unwrap_or(0)).collect();
            if inside.iter().all(|b| *b == 0) {
                continue;
            }
            let once = crate::peak::sum(inside.iter().copied());
            let bytes = match module.instruction(*i).opcode {
                Opcode::Conditional => {
                    out.has_branches = true;
                    inside.into_iter().max().unwrap_or(0)
                }
                Opcode::While => match trip_count(module, *i) {
                    Some(trips) => once.saturating_mul(trips),
                    None => {
                        out.is_uncounted = true;
                        once
                    }
                },
                _ => once,
            };
            sum = sum.saturating_add(bytes);
        }
        all.insert(*c, sum);
    }
    out.bytes = all.get(&module.entry).copied().unwrap_or(0);
    out
}

/// The number of the entry parameter that an instruction is.
fn argument(module: &Module, id: InstructionId) -> Option<u32> {
    module.parameter_number(id).filter(|_| module.instruction(id).computation == module.entry)
}

/// The argument that a part of an instruction's result is, copied, turned round or with other elements, and nothing else.
pub(crate) fn argument_copied(module: &Module, id: InstructionId, part: u32) -> Option<u32> {
    let found = copied(module, id).into_iter().find(|c| c.part == part)?;
    argument(module, trace(module, found.operand))
}

/// A part of a result that is nothing but a copy.
struct Copied {
    part: u32,
    operand: InstructionId,
    kind: CopyKind,
}

/// The parts of an instruction's result that are copies.
fn copied(module: &Module, id: InstructionId) -> Vec<Copied> {
    let shape = module.instruction(id).shape;
    match module.instruction(id).opcode {
        Opcode::Copy | Opcode::Convert | Opcode::Transpose if module.shapes.is_array(shape) => {
            let Some(operand) = module.operands(id).first().copied() else { return Vec::new() };
            step(module, id).map(|kind| Copied { part: 0, operand, kind }).into_iter().collect()
        }
        Opcode::CopyStart => {
            // `(result, source, context)`
            let found = module.operands(id).first().zip(module.shapes.find(shape, &[0]));
            let found = found.and_then(|(operand, part)| {
                let result = module.shapes.subshapes(shape).get(part as usize)?.shape;
                let kind = kind(module, module.instruction(*operand).shape, result)?;
                Some(Copied { part, operand: *operand, kind })
            });
            found.into_iter().collect()
        }
        Opcode::Fusion => {
            let Some(body) = module.called(id).first() else { return Vec::new() };
            let root = module.root(*body);
            let whole = |at: InstructionId, part: u32| {
                let (inner, kind) = made_of(module, at)?;
                let operand = *module.operands(id).get(module.parameter_number(inner)? as usize)?;
                Some(Copied { part, operand, kind })
            };
            if module.instruction(root).opcode != Opcode::Tuple {
                return whole(root, 0).into_iter().collect();
            }
            let elements = (0u32..).zip(module.operands(root));
            elements.filter_map(|(i, at)| whole(*at, module.shapes.find(shape, &[i])?)).collect()
        }
        _ => Vec::new(),
    }
}

/// What kind of copy an instruction alone is; `None` if it moves nothing, or does something else.
fn step(module: &Module, id: InstructionId) -> Option<CopyKind> {
    let operand = *module.operands(id).first()?;
    let (from, to) = (module.instruction(operand).shape, module.instruction(id).shape);
    match module.instruction(id).opcode {
        Opcode::Copy | Opcode::Convert => kind(module, from, to),
        Opcode::Transpose => {
            let order: Option<Vec<u32>> = module
                .attribute(id, "dimensions")?
                .trim_matches(['{', '}'])
                .split(',')
                .map(|d| d.trim().parse().ok())
                .collect();
            let order = order?;
            let (Shape::Array { layout: Some(from), .. }, Shape::Array { layout: Some(to), .. }) =
                (module.shapes.get(from), module.shapes.get(to))
            else {
                return Some(CopyKind::Relayout);
            };
            // Dimension `d` of the result is dimension `order[d]` of the operand: if these lie in the same order, nothing moves.
            let turned = to.minor_to_major.iter().map(|d| order.get(*d as usize).copied());
            let stays = turned.eq(from.minor_to_major.iter().map(|d| Some(*d)));
            (!stays).then_some(CopyKind::Relayout)
        }
        _ => None,
    }
}

/// The parameter of a fusion that something inside is a copy of, if it goes through nothing but copies, conversions and
/// transpositions, and what kind of copy all of them together are.
fn made_of(module: &Module, at: InstructionId) -> Option<(InstructionId, CopyKind)> {
    let mut id = at;
    let mut found = None;
    for _ in 0..64 {
        match module.instruction(id).opcode {
            Opcode::Parameter => {
                let (from, to) = (module.instruction(id).shape, module.instruction(at).shape);
                // There and back again is no conversion.
                let is_converted = matches!(found, Some(CopyKind::Widening | CopyKind::Narrowing));
                let kind = if is_converted { kind(module, from, to) } else { None };
                return Some((id, kind.or(found)?));
            }
            Opcode::Copy | Opcode::Convert | Opcode::Transpose => {
                let kind = step(module, id);
                // A conversion says more than another order, and that more than a plain copy.
                let weight = |k: CopyKind| match k {
                    CopyKind::Widening | CopyKind::Narrowing => 4,
                    CopyKind::Relayout => 3,
                    CopyKind::Retile => 2,
                    CopyKind::Transfer => 1,
                    CopyKind::Plain => 0,
                };
                found = found.into_iter().chain(kind).max_by_key(|k| weight(*k));
                id = *module.operands(id).first()?;
            }
            Opcode::Bitcast | Opcode::Reshape => id = *module.operands(id).first()?,
            _ => return None,
        }
    }
    None
}

/// Back to what makes the data: through bitcasts, parts of tuples and what only passes on.
pub(crate) fn trace(module: &Module, mut id: InstructionId) -> InstructionId {
    for _ in 0..64 {
        let next = match module.instruction(id).opcode {
            Opcode::Bitcast | Opcode::Reshape | Opcode::CopyDone | Opcode::OptimizationBarrier => {
                module.operands(id).first().copied()
            }
            Opcode::GetTupleElement => {
                let index = module.attribute(id, "index").and_then(|i| i.parse::<usize>().ok());
                let tuple = module.operands(id).first().copied();
                match tuple.map(|t| (t, module.instruction(t).opcode)) {
                    Some((t, Opcode::Tuple)) => index.and_then(|i| module.operands(t).get(i).copied()),
                    _ => None,
                }
            }
            _ => None,
        };
        match next {
            Some(next) => id = next,
            None => return id,
        }
    }
    id
}

fn kind(module: &Module, from: ShapeId, to: ShapeId) -> Option<CopyKind> {
    let (
        Shape::Array { element: e1, dims: d1, layout: l1, .. },
        Shape::Array { element: e2, dims: d2, layout: l2, .. },
    ) = (module.shapes.get(from), module.shapes.get(to))
    else {
        return None;
    };
    if e1 != e2 {
        return match e2.bits().cmp(&e1.bits()) {
            std::cmp::Ordering::Greater => Some(CopyKind::Widening),
            std::cmp::Ordering::Less => Some(CopyKind::Narrowing),
            std::cmp::Ordering::Equal => None,
        };
    }
    let same = if module.shapes.memory_space(from) == module.shapes.memory_space(to) {
        CopyKind::Plain
    } else {
        CopyKind::Transfer
    };
    // Another order of dimensions says more than another place.
    let (Some(l1), Some(l2)) = (l1, l2) else { return Some(same) };
    if l1.minor_to_major != l2.minor_to_major || d1 != d2 {
        Some(CopyKind::Relayout)
    } else if l1.tiles != l2.tiles {
        Some(CopyKind::Retile)
    } else {
        Some(same)
    }
}

/// By computation: how often it runs.
type Runs = FxHashMap<hlo::ComputationId, Option<u64>>;
/// By computation: the innermost conditional in whose branch it is, and which branch.
type Branches = FxHashMap<hlo::ComputationId, (InstructionId, u32)>;

/// How often each computation runs, the product of the trip counts of the loops around it, `None` where one is not told; and in
/// which branch it is.
pub(crate) fn runs(program: &Program) -> (Runs, Branches) {
    let Program { module, facts, .. } = program;
    let mut out = Runs::default();
    let mut branches = Branches::default();
    out.insert(module.entry, Some(1));
    // Callers stand behind their callees, so from the back each caller is known before it is asked.
    for c in facts.orders.callee_first.iter().rev() {
        let Some(here) = out.get(c).copied() else { continue };
        let branch = branches.get(c).copied();
        for i in &module.computation(*c).instructions {
            let opcode = module.instruction(*i).opcode;
            let trips = match opcode {
                Opcode::While => trip_count(module, *i),
                _ => Some(1),
            };
            for (number, callee) in (0u32..).zip(module.called(*i)) {
                let times = here.zip(trips).map(|(a, b)| a.saturating_mul(b));
                let sum = out.entry(*callee).or_insert(Some(0));
                *sum = sum.zip(times).map(|(a, b)| a.saturating_add(b));
                let inside = if opcode == Opcode::Conditional { Some((*i, number)) } else { branch };
                branches.extend(inside.map(|b| (*callee, b)));
            }
        }
    }
    (out, branches)
}

/// Why a copy is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The copy in the program.
    pub copy: InstructionId,
    /// The story in words, a line each. For a plain copy that is the rule that asks for it and what would clash without it,
    /// found out by running copy insertion again; for the others, who wants the data otherwise.
    pub words: Vec<String>,
    /// What would let it go. What copy insertion decides is tried: each line has been run.
    pub removes: Vec<String>,
    /// Bytes that all copies together write less with each of [`Cause::removes`]; 0 where that is not counted.
    pub saves: Vec<u64>,
}

/// Copy insertion is run again for each change that might remove a copy, so large programs get fewer trials: at most so many
/// instructions are gone through in all.
const MOST_WORK: usize = 1_000_000;

/// Why each of the copies is there and what would remove it. What the program alone tells is always there; the error says
/// why copy insertion cannot be run, which is so after optimisation where a computation is called from several places, and
/// which leaves plain copies without their cause.
#[must_use]
pub fn causes(study: &Study, copies: &[Copy]) -> (Vec<Cause>, Option<String>) {
    let Some(program) = &study.program else { return (Vec::new(), None) };
    let told = Told { study, program, users: users(&program.module), together: together(study, copies) };
    let mut out: Vec<Cause> = copies.iter().filter_map(|c| told.by_program(c)).collect();
    let plain: Vec<InstructionId> = copies
        .iter()
        .filter(|c| {
            c.kind == CopyKind::Plain && program.module.instruction(c.instruction).opcode == Opcode::Copy
        })
        .map(|c| c.instruction)
        .collect();
    if plain.is_empty() {
        return (out, None);
    }
    match told_by_the_pass(program, &plain) {
        Ok(by_the_pass) => {
            for copy in copies.iter().filter(|c| plain.contains(&c.instruction)) {
                let mut cause = by_the_pass.get(&copy.instruction).cloned().unwrap_or_else(|| Cause {
                    copy: copy.instruction,
                    words: vec!["Copy insertion does not ask for it: another pass made it.".to_owned()],
                    removes: Vec::new(),
                    saves: Vec::new(),
                });
                if copy.in_place {
                    cause.words.push(IN_PLACE.to_owned());
                }
                cause.words.extend(told.asked(copy));
                out.push(cause);
            }
            (out, None)
        }
        Err(why) => (out, Some(why)),
    }
}

const IN_PLACE: &str = "It stands where its source stands, so that nothing is moved and nothing is lost.";

/// The stories of plain copies. The pass is run on the module without its copies, if it then makes the same ones; else on
/// the module as it is; and what it takes out there it makes again, or not, on the module without those.
fn told_by_the_pass(
    program: &Program,
    plain: &[InstructionId],
) -> Result<FxHashMap<InstructionId, Cause>, String> {
    let target = &program.facts.target;
    let options = Options::of(target);
    let told = told_by_a_run(program, plain, options)?;
    if told.len() == plain.len() || target.backend == Backend::Cpu {
        return Ok(told);
    }
    // How far the other compilers look is known from their copies only: whichever way accounts for more of them is the one.
    let region_analysis = match options.region_analysis {
        RegionAnalysis::Never => RegionAnalysis::Always,
        RegionAnalysis::Always => RegionAnalysis::Never,
    };
    let other = told_by_a_run(program, plain, Options { region_analysis, ..options });
    Ok(other.ok().filter(|other| other.len() > told.len()).unwrap_or(told))
}

fn told_by_a_run(
    program: &Program,
    plain: &[InstructionId],
    options: Options,
) -> Result<FxHashMap<InstructionId, Cause>, String> {
    let Program { module, facts, .. } = program;
    let mut by_name: FxHashMap<(&str, &str), InstructionId> = FxHashMap::default();
    for id in plain {
        let home = module.computation_name(module.instruction(*id).computation);
        by_name.insert((home, module.name_of(*id)), *id);
    }
    let mut out: FxHashMap<InstructionId, Cause> = FxHashMap::default();
    let mut tell = |run: &Retraced, only: Option<&[(InstructionId, usize)]>| {
        let Retraced { module: before, orders, outcome } = run;
        let trials = (MOST_WORK / before.instructions.len().max(1)).min(256);
        let suggestions = suggest_within(before, orders, &facts.target, options, outcome, trials);
        let home = |i: InstructionId| {
            let computation = outcome.history.instruction(i).computation;
            outcome.history.computation_name(computation)
        };
        let history = in_the_modules_names(module, outcome, only);
        for (i, (story, removes)) in outcome.copies.iter().zip(&suggestions).enumerate() {
            if story.fate != Fate::Stayed {
                continue;
            }
            let saves: Vec<u64> = removes.iter().map(|s| s.bytes[0].saturating_sub(s.bytes[1])).collect();
            let removes: Vec<String> = removes
                .iter()
                .map(|s| {
                    // Where the numbers differ, passes behind it have fused copies with something else, or taken them away.
                    if s.copies[0] == plain.len() {
                        words::suggestion(before, s)
                    } else {
                        words::suggestion_of_the_pass(before, s)
                    }
                })
                .collect();
            let told: Vec<InstructionId> = match only {
                Some(only) => only.iter().filter(|(_, s)| *s == i).map(|(old, _)| *old).collect(),
                None => std::iter::once(&story.copy)
                    .chain(&story.in_place_of)
                    .filter_map(|c| by_name.get(&(home(*c), outcome.history.name_of(*c))).copied())
                    .collect(),
            };
            for copy in told {
                let mut words = story_lines(&history, story, module.name_of(copy));
                words.extend(undeclared(&outcome.history, story));
                let (removes, saves) = (removes.clone(), saves.clone());
                out.entry(copy).or_insert(Cause { copy, words, removes, saves });
            }
        }
    };
    let first = retrace(module, &facts.orders, &facts.target, options).map_err(|e| e.describe(module))?;
    tell(&first, None);
    let open: Vec<InstructionId> = needless(&first.outcome)
        .into_iter()
        // Where the pass takes copies out, it was run on the module as it is, so numbers are the same.
        .filter(|i| plain.contains(i))
        .collect();
    if !open.is_empty()
        && let Some((second, found)) = retrace_without(module, &facts.target, options, &open)
    {
        tell(&second, Some(&found));
    }
    Ok(out)
}

/// What the pass went through, with its copies named as the module names them: the pass counts anew. A copy that is not in
/// the module is said to be none of it. `only` has the module's copies that were left out of what the pass was run on, each
/// with the story that stands for it.
fn in_the_modules_names(
    module: &Module,
    outcome: &Outcome,
    only: Option<&[(InstructionId, usize)]>,
) -> Module {
    let mut history = outcome.history.clone();
    let is_there: FxHashSet<&str> = module.instruction_ids().map(|i| module.name_of(i)).collect();
    // Those that the module had keep their names.
    let made = outcome.copies.iter().enumerate().filter(|(_, story)| story.rule != Rule::Given);
    for (i, story) in made {
        let own = outcome.history.name_of(story.copy);
        let left_out = only.into_iter().flatten().find(|(_, s)| *s == i).map(|(old, _)| module.name_of(*old));
        let stands_for = story.in_place_of.first().map(|old| outcome.history.name_of(*old));
        let name = match left_out.or(stands_for) {
            Some(name) => name.to_owned(),
            None if story.fate != Fate::Stayed => {
                format!("{own} (a copy that the pass put in and took out again)")
            }
            None if only.is_none() && is_there.contains(own) => continue,
            None => format!("{own} (a copy that the pass puts in, and the module has not)"),
        };
        let name = history.add_text(&name);
        history.instructions[story.copy.index()].name = name;
    }
    history
}

/// A kernel that a copy is made for because it does not say that it writes over what it reads.
fn undeclared(history: &Module, story: &CopyStory) -> Option<String> {
    let late = match &story.refusal {
        Some(Refusal::Clash(Clash { until: Until::Reads(reads), .. })) => {
            reads.iter().filter(|r| r.why == Late::NotInPlace).map(|r| r.user).collect()
        }
        _ => Vec::new(),
    };
    let by_rule = match story.rule {
        Rule::NotInPlace { at, .. } => Some(at),
        _ => None,
    };
    let kernel = late.into_iter().chain(by_rule).find(|i| {
        history.instruction(*i).opcode == Opcode::CustomCall
            && history.attribute(*i, "output_to_operand_aliasing").is_none()
    })?;
    Some(format!(
        "{} declares no output_to_operand_aliasing: if it can write over what it reads, let it say so (`input_output_aliases` of Pallas and of foreign functions).",
        history.name_of(kernel)
    ))
}

/// A story without its title, and without what is said of the copy's own work.
fn story_lines(history: &Module, story: &CopyStory, name: &str) -> Vec<String> {
    let own = format!("Does the work of {name}, which the module had already.");
    // What the pass copies may be the module's copy that this one stands for.
    let itself = format!("Copies {name}.");
    let text = words::story(history, story);
    text.lines().skip(1).map(str::trim).filter(|l| *l != own && *l != itself).map(str::to_owned).collect()
}

/// What is needed to tell of a copy from the program alone.
struct Told<'a> {
    study: &'a Study,
    program: &'a Program,
    /// By instruction: those that have it as an operand.
    users: FxHashMap<InstructionId, Vec<InstructionId>>,
    /// What the widened copies take together.
    together: Option<String>,
}

impl Told<'_> {
    /// What the program itself tells of a copy that changes what it copies.
    fn by_program(&self, copy: &Copy) -> Option<Cause> {
        let Program { module, facts, .. } = self.program;
        let all = copied(module, copy.instruction);
        let Copied { part, operand, .. } =
            all.into_iter().find(|c| c.kind == copy.kind && trace(module, c.operand) == copy.of)?;
        let source = module.instruction(operand).shape;
        let result = module.instruction(copy.instruction).shape;
        let result = module.shapes.subshapes(result).get(part as usize)?.shape;
        let name = |i: InstructionId| module.name_of(i).to_owned();
        let (readers, is_passed_to_the_end) = self.readers(copy.instruction);
        let is_result = |i: InstructionId| i == module.root(module.entry);
        let is_given_back = is_passed_to_the_end || readers.iter().any(|r| is_result(*r));
        let names: Vec<String> = readers.iter().map(|i| name(*i)).collect();
        let who = match readers.len() {
            0 if is_given_back => "the result is".to_owned(),
            0 => "nobody reads".to_owned(),
            1 => format!("{} reads", names[0]),
            _ => format!("{} read", list(&names, 3)),
        };
        let (from, to) = (module.shapes.long(source), module.shapes.long(result));
        let mut words = Vec::new();
        let mut removes = Vec::new();
        match copy.kind {
            CopyKind::Plain if module.instruction(copy.instruction).opcode == Opcode::Copy => return None,
            CopyKind::Plain => words.push(format!(
                "It does nothing but copy {}: a copy that another pass has put into a fusion.",
                name(operand)
            )),
            CopyKind::Relayout | CopyKind::Retile => {
                words.push(format!("{} gives {from}, and {who} {to}.", name(operand)));
                let (a, b) = (module.shapes.memory_space(source), module.shapes.memory_space(result));
                if a != b {
                    words.push(format!("It goes from memory space {a} to {b} as well."));
                }
                let dims = |s: ShapeId| match module.shapes.get(s) {
                    Shape::Array { dims, .. } => Some(dims.clone()),
                    _ => None,
                };
                let is_of_its_dimensions = dims(module.instruction(copy.of).shape) == dims(result);
                removes.push(match copy.argument {
                    Some(n) if is_of_its_dimensions => format!("hand over argument {n} laid out as {to}"),
                    Some(n) => format!("hand over argument {n} as its reader wants it, {to}"),
                    None if is_given_back => {
                        format!("let the output be laid out as {from}, as {} gives it", name(copy.of))
                    }
                    None => format!("let {} give {to} at once, or its readers take {from}", name(copy.of)),
                });
            }
            CopyKind::Widening => {
                words.push(format!(
                    "Argument {} comes as {from}, and {who} {to}.",
                    copy.argument.unwrap_or(0)
                ));
                words.extend(self.together.clone());
                removes.push(format!(
                    "hand argument {} over with wider elements, which needs the bytes all the time, or convert it inside what reads it",
                    copy.argument.unwrap_or(0)
                ));
            }
            CopyKind::Narrowing => {
                let number = copy.argument.unwrap_or(0);
                words.push(format!("Argument {number} comes as {from}, and {who} {to}."));
                removes.push(format!(
                    "hand argument {number} over with narrower elements, or convert it where it is read, a part at a time"
                ));
            }
            CopyKind::Transfer => {
                let space = |s: ShapeId| {
                    format!("memory space {}", space_name(self.study, module.shapes.memory_space(s)))
                };
                let when = readers
                    .iter()
                    .filter_map(|r| facts.clock.time(*r).map(|t| t.0))
                    .min()
                    .map(|t| format!(" (first at step {t})"))
                    .unwrap_or_default();
                words.push(if module.attribute(copy.instruction, "cross_program_prefetch_index").is_some() {
                    format!(
                        "Fetched before the program starts, from {} into {}, where {who} it{when}.",
                        space(source),
                        space(result)
                    )
                } else if readers.is_empty() && !is_given_back && self.is_fetched_before(copy) {
                    format!(
                        "Fetched again at the end, from {} into {}, for the next run: something else stood there in between.",
                        space(source),
                        space(result)
                    )
                } else if readers.is_empty() && is_given_back {
                    format!("Goes from {} to {}, as a part of the result.", space(source), space(result))
                } else {
                    format!("Goes from {} to {}, where {who} it{when}.", space(source), space(result))
                });
                words.extend(self.asked(copy));
            }
        }
        if copy.in_place {
            words.push(IN_PLACE.to_owned());
        }
        let saves = vec![0; removes.len()];
        Some(Cause { copy: copy.instruction, words, removes, saves })
    }

    /// Which collective wants the copy, or its source, in a memory space of its own.
    fn asked(&self, copy: &Copy) -> Option<String> {
        let rows = [copy.row, copy.source_row].into_iter().flatten();
        let asked = rows.filter(|r| !collectives_of(&wishes(self.study, *r)).is_empty());
        let words: Vec<String> = asked.filter_map(|r| wishes_words(self.study, r)).collect();
        words.into_iter().next()
    }

    /// Is the same argument fetched before the program starts, too?
    fn is_fetched_before(&self, copy: &Copy) -> bool {
        let module = &self.program.module;
        let users = self.users.get(&copy.of).into_iter().flatten();
        users.into_iter().any(|u| module.attribute(*u, "cross_program_prefetch_index").is_some())
    }

    /// Who reads the data of an instruction, through bitcasts, the end of a transfer and elements of a tuple; and whether it is,
    /// through such, the result of the program itself.
    fn readers(&self, id: InstructionId) -> (Vec<InstructionId>, bool) {
        let module = &self.program.module;
        let passes_on = |i: InstructionId| {
            matches!(
                module.instruction(i).opcode,
                Opcode::Bitcast | Opcode::CopyDone | Opcode::GetTupleElement | Opcode::Tuple
            ) && i != module.root(module.entry)
        };
        let mut open = vec![id];
        let mut out = Vec::new();
        let mut is_result = false;
        while let Some(at) = open.pop() {
            is_result |= at == module.root(module.entry);
            for user in self.users.get(&at).into_iter().flatten() {
                if passes_on(*user) {
                    open.push(*user);
                } else if !out.contains(user) {
                    out.push(*user);
                }
            }
        }
        out.sort_unstable();
        (out, is_result)
    }
}

fn users(module: &Module) -> FxHashMap<InstructionId, Vec<InstructionId>> {
    let mut out: FxHashMap<InstructionId, Vec<InstructionId>> = FxHashMap::default();
    for id in module.instruction_ids() {
        for operand in module.operands(id) {
            out.entry(*operand).or_default().push(id);
        }
    }
    out
}

/// What the widened copies take together when most of them are there, and what they would take if each were made where it
/// is first read.
fn together(study: &Study, all: &[Copy]) -> Option<String> {
    let mut now: Vec<(u32, u32, u64)> = Vec::new();
    let mut late: Vec<(u32, u32, u64)> = Vec::new();
    for row in all.iter().filter(|c| c.kind == CopyKind::Widening).filter_map(|c| c.row) {
        let (start, end) = study.rows[row].range?;
        let first = hold(study, row)?.first_use.map_or(end, |(_, step)| step);
        now.push((start, end, study.rows[row].size));
        // Made by the instruction just before the one that reads it.
        late.push((first.saturating_sub(1).max(start), end, study.rows[row].size));
    }
    let (count, bytes) = most_alive(&now);
    let (few, fewer) = most_alive(&late);
    (count > 1 && fewer < bytes).then(|| {
        format!(
            "{count} widened copies of arguments are there at once, {}; made one by one, each just before it is first read, at most {few} would be, {}.",
            both(bytes),
            both(fewer)
        )
    })
}

/// The number and the bytes of the ranges, both ends included, that are alive where most bytes are.
fn most_alive(ranges: &[(u32, u32, u64)]) -> (usize, u64) {
    let at = |step: u32| {
        let alive = ranges.iter().filter(|(from, to, _)| (*from..=*to).contains(&step));
        alive.fold((0, 0u64), |(n, bytes), r| (n + 1, bytes.saturating_add(r.2)))
    };
    ranges.iter().map(|r| at(r.0)).max_by_key(|(n, bytes)| (*bytes, *n)).unwrap_or_default()
}
