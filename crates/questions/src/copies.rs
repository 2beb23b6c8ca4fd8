//! Every copy: what kind it is, what it costs, why it is there and what would remove it.

use crate::asked::{collectives_of, wishes, wishes_words};
use crate::hold::{hold, value_at};
use crate::loops::trip_count;
use crate::study::{Program, Study, space_name};
use assigner::words::{both, list};
use copy_insertion::{
    Clash, CopyStory, Fate, Late, Options, Outcome, Refusal, RegionAnalysis, Retraced, Rule, Until,
    before_memory_spaces, guess_orders, retrace, retrace_without, suggest_within, words,
};
use hlo::{InstructionId, Module, Opcode, Shape, ShapeId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A copy that stands in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The instruction: a copy, a transfer, or a fusion that copies.
    pub instruction: InstructionId,
    /// The part of its result that is the copy: a number among the places in its shape.
    pub part: u32,
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
    /// The same data laid out as it was, from one memory space into another. What changes the layout on the way is the other thing.
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
            for Copied { part, operand, kind, to, .. } in copied(module, *id) {
                let of = trace(module, operand);
                let argument = argument(module, of);
                if matches!(kind, CopyKind::Widening | CopyKind::Narrowing) && argument.is_none() {
                    continue;
                }
                let bytes = facts.target.bytes(&module.shapes, to);
                let row = value_at(program, *id, part).and_then(|v| study.row_of(v));
                let place = |row: usize| (study.rows[row].slab, study.rows[row].offset);
                let source_row = value_at(program, operand, 0).and_then(|v| study.row_of(v));
                let in_place = row.zip(source_row).is_some_and(|(a, b)| place(a) == place(b));
                out.push(Copy {
                    instruction: *id,
                    part,
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
    out.sort_by_key(|c| (std::cmp::Reverse(c.written()), c.instruction, c.part));
    out
}

impl Copy {
    /// The name of the instruction, with the place in its result if that has several: `fusion{1}`.
    #[must_use]
    pub fn label(&self, module: &Module) -> String {
        let name = module.name_of(self.instruction);
        let places = module.shapes.subshapes(module.instruction(self.instruction).shape);
        match places.get(self.part as usize) {
            Some(place) if module.instruction(self.instruction).opcode == Opcode::Fusion && self.part > 0 => {
                format!("{name}{}", place.index)
            }
            _ => name.to_owned(),
        }
    }

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
                // The condition is asked once more than the body runs.
                Opcode::While => match trip_count(module, *i).and_then(|trips| {
                    let asked = inside.get(1).copied().unwrap_or(0);
                    once.checked_mul(trips)?.checked_add(asked)
                }) {
                    Some(bytes) => bytes,
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
pub(crate) struct Copied {
    /// The part: a number among the places in the instruction's shape.
    pub part: u32,
    /// The instruction's operand that is copied.
    pub operand: InstructionId,
    /// What kind of copy.
    pub kind: CopyKind,
    /// The shape of what is copied: that of the operand, or of the piece of it that goes.
    pub from: ShapeId,
    /// The shape in which it is written; of a piece that is put into an array, that of the piece.
    pub to: ShapeId,
    /// The memory spaces from which and into which it goes.
    pub spaces: (u32, u32),
    /// By dimension of the copy: which of the operand's it is. `None` where dimensions were split or joined.
    turned: Option<Vec<u32>>,
}

/// The parts of an instruction's result that are copies.
pub(crate) fn copied(module: &Module, id: InstructionId) -> Vec<Copied> {
    let shape = module.instruction(id).shape;
    let shape_of = |i: InstructionId| module.instruction(i).shape;
    let spaces = |from, to| (module.shapes.memory_space(from), module.shapes.memory_space(to));
    match module.instruction(id).opcode {
        Opcode::Copy | Opcode::Convert | Opcode::Transpose if module.shapes.is_array(shape) => {
            let Some(&operand) = module.operands(id).first() else { return Vec::new() };
            let turned = match module.instruction(id).opcode {
                Opcode::Transpose => dimensions(module, id),
                _ => Some((0..rank(module, shape)).collect()),
            };
            let found = step(module, id);
            let found = found.map(|kind| Copied {
                part: 0,
                operand,
                kind,
                from: shape_of(operand),
                to: shape,
                turned,
                spaces: spaces(shape_of(operand), shape),
            });
            found.into_iter().collect()
        }
        Opcode::CopyStart => {
            // `(result, source, context)`
            let found = module.operands(id).first().zip(module.shapes.find(shape, &[0]));
            let found = found.and_then(|(&operand, part)| {
                let (from, to) =
                    (shape_of(operand), module.shapes.subshapes(shape).get(part as usize)?.shape);
                let turned = Some((0..rank(module, to)).collect());
                Some(Copied {
                    part,
                    operand,
                    kind: kind(module, from, to)?,
                    from,
                    to,
                    turned,
                    spaces: spaces(from, to),
                })
            });
            found.into_iter().collect()
        }
        Opcode::AsyncStart => piece_moved(module, id).into_iter().collect(),
        Opcode::Fusion => {
            let Some(body) = module.called(id).first() else { return Vec::new() };
            let root = module.root(*body);
            let whole = |at: InstructionId, part: u32| {
                let (inner, kind, turned) = made_of(module, at)?;
                let operand = *module.operands(id).get(module.parameter_number(inner)? as usize)?;
                let to = module.shapes.subshapes(shape).get(part as usize)?.shape;
                let from = shape_of(inner);
                Some(Copied { part, operand, kind, from, to, turned, spaces: spaces(from, to) })
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

/// A piece of an array that goes from one memory space into another beside other work: a slice that is taken out of an array,
/// or one that is put into it.
fn piece_moved(module: &Module, id: InstructionId) -> Option<Copied> {
    let root = module.root(*module.called(id).first()?);
    let outer = |inner: InstructionId| {
        module.operands(id).get(module.parameter_number(trace(module, inner))? as usize).copied()
    };
    let [array, rest @ ..] = module.operands(root) else { return None };
    // `((operands), result, context)`
    let shape = module.instruction(id).shape;
    let part = module.shapes.find(shape, &[1])?;
    let (operand, from, to) = match module.instruction(root).opcode {
        Opcode::Slice | Opcode::DynamicSlice => {
            (outer(*array)?, module.instruction(*array).shape, module.instruction(root).shape)
        }
        Opcode::DynamicUpdateSlice => {
            let update = *rest.first()?;
            (outer(update)?, module.instruction(update).shape, module.instruction(root).shape)
        }
        _ => return None,
    };
    if module.shapes.memory_space(from) == module.shapes.memory_space(to) {
        return None;
    }
    // Only the piece is written, whatever it is put into.
    let is_put = module.instruction(root).opcode == Opcode::DynamicUpdateSlice;
    let spaces = (module.shapes.memory_space(from), module.shapes.memory_space(to));
    let to = if is_put { from } else { to };
    Some(Copied { part, operand, kind: CopyKind::Transfer, from, to, spaces, turned: None })
}

/// Dimensions of an array.
fn rank(module: &Module, shape: ShapeId) -> u32 {
    match module.shapes.get(shape) {
        Shape::Array { dims, .. } => dims.len() as u32,
        _ => 0,
    }
}

/// `dimensions={0,2,1}`
fn dimensions(module: &Module, id: InstructionId) -> Option<Vec<u32>> {
    let list = module.attribute(id, "dimensions")?.trim_matches(['{', '}']);
    list.split(',').filter(|d| !d.trim().is_empty()).map(|d| d.trim().parse().ok()).collect()
}

/// What kind of copy an instruction alone is; `None` if it moves nothing, or does something else.
fn step(module: &Module, id: InstructionId) -> Option<CopyKind> {
    let operand = *module.operands(id).first()?;
    let (from, to) = (module.instruction(operand).shape, module.instruction(id).shape);
    match module.instruction(id).opcode {
        Opcode::Copy | Opcode::Convert => kind(module, from, to),
        Opcode::Transpose => {
            let order = dimensions(module, id)?;
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
/// transpositions; what kind of copy all of them together are; and by dimension, which of the parameter's it is.
fn made_of(module: &Module, at: InstructionId) -> Option<(InstructionId, CopyKind, Option<Vec<u32>>)> {
    let mut id = at;
    let mut found = None;
    let mut turned: Option<Vec<u32>> = Some((0..rank(module, module.instruction(at).shape)).collect());
    for _ in 0..64 {
        match module.instruction(id).opcode {
            Opcode::Parameter => {
                let (from, to) = (module.instruction(id).shape, module.instruction(at).shape);
                let is_converted = matches!(found, Some(CopyKind::Widening | CopyKind::Narrowing));
                // There and back again is a rounding, and no copy.
                let kind = if is_converted {
                    kind(module, from, to)
                        .filter(|k| matches!(k, CopyKind::Widening | CopyKind::Narrowing))?
                } else {
                    found?
                };
                return Some((id, kind, turned));
            }
            Opcode::Copy | Opcode::Convert | Opcode::Transpose => {
                // A conversion that is no copy, as from an integer to a float, changes the data.
                if module.instruction(id).opcode == Opcode::Convert && step(module, id).is_none() {
                    return None;
                }
                // A conversion says more than another order, and that more than a plain copy.
                let weight = |k: CopyKind| match k {
                    CopyKind::Widening | CopyKind::Narrowing => 4,
                    CopyKind::Relayout => 3,
                    CopyKind::Retile => 2,
                    CopyKind::Transfer => 1,
                    CopyKind::Plain => 0,
                };
                found = found.into_iter().chain(step(module, id)).max_by_key(|k| weight(*k));
                if module.instruction(id).opcode == Opcode::Transpose {
                    let order = dimensions(module, id);
                    turned = turned.zip(order).and_then(|(all, order)| {
                        all.iter().map(|d| order.get(*d as usize).copied()).collect()
                    });
                }
                id = *module.operands(id).first()?;
            }
            Opcode::Bitcast | Opcode::Reshape => {
                let operand = *module.operands(id).first()?;
                if module.instruction(operand).shape != module.instruction(id).shape {
                    turned = None;
                }
                id = operand;
            }
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
    let (Some(l1), Some(l2)) = (l1, l2) else { return Some(CopyKind::Plain) };
    Some(if l1.minor_to_major != l2.minor_to_major || d1 != d2 {
        CopyKind::Relayout
    } else if l1.tiles != l2.tiles {
        CopyKind::Retile
    } else if l1.memory_space != l2.memory_space {
        CopyKind::Transfer
    } else {
        CopyKind::Plain
    })
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
                // The condition is asked once more than the body runs.
                let more = u64::from(opcode == Opcode::While && number == 1);
                let times = here.zip(trips).and_then(|(a, b)| a.checked_mul(b.checked_add(more)?));
                let sum = out.entry(*callee).or_insert(Some(0));
                *sum = sum.zip(times).and_then(|(a, b)| a.checked_add(b));
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
    /// Which part of its result: [`Copy::part`].
    pub part: u32,
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
    // Copies that stand in another memory space than what they copy were put there after they were made.
    let is_asked = |c: &&Copy| {
        matches!(c.kind, CopyKind::Plain | CopyKind::Transfer)
            && program.module.instruction(c.instruction).opcode == Opcode::Copy
    };
    let asked: Vec<&Copy> = copies.iter().filter(is_asked).collect();
    let plain = asked.iter().any(|c| c.kind == CopyKind::Plain);
    let (mut by_the_pass, unknown) = match told_by_the_pass(program, &asked) {
        Ok(found) => (found, None),
        Err(why) => (FxHashMap::default(), Some(why).filter(|_| plain)),
    };
    let mut out = Vec::new();
    for copy in copies {
        let found = asked.iter().find(|c| c.instruction == copy.instruction);
        let found = found.and_then(|c| by_the_pass.remove(&c.instruction));
        let Some(mut cause) = found else {
            out.extend(told.by_program(copy).or_else(|| {
                (unknown.is_none()).then(|| Cause {
                    copy: copy.instruction,
                    part: 0,
                    words: std::iter::once(
                        "Copy insertion does not ask for it: another pass made it.".to_owned(),
                    )
                    .chain(copy.in_place.then(|| IN_PLACE.to_owned()))
                    .chain(told.asked(copy))
                    .collect(),
                    removes: Vec::new(),
                    saves: Vec::new(),
                })
            }));
            continue;
        };
        if copy.kind == CopyKind::Transfer {
            cause.words.extend(told.goes(copy));
        }
        if copy.in_place {
            cause.words.push(IN_PLACE.to_owned());
        }
        cause.words.extend(told.asked(copy));
        out.push(cause);
    }
    (out, unknown)
}

const IN_PLACE: &str = "It stands where its source stands, so that nothing is moved and nothing is lost.";

/// Larger modules are asked in one way only.
const MOST_TO_COMPARE: usize = 20_000;

/// A run of the pass on a module, and how it was asked.
struct Asked {
    run: Retraced,
    options: Options,
    /// Copies of the module that the run has no story of; then those that it makes and the module has not.
    off: (usize, usize),
}

impl Asked {
    /// Runs it. `by_name` has the module's copies, by the names of their computations and their own.
    fn new(
        base: &Module,
        facts: &analysis::Facts,
        orders: &analysis::Orders,
        options: Options,
        by_name: &FxHashMap<(&str, &str), &Copy>,
    ) -> Result<Self, String> {
        let run = retrace(base, orders, &facts.target, options).map_err(|e| e.describe(base))?;
        let history = &run.outcome.history;
        let of = |i: InstructionId| {
            let home = history.computation_name(history.instruction(i).computation);
            by_name.get(&(home, history.name_of(i))).copied()
        };
        let (mut found, mut more) = (FxHashSet::default(), 0);
        for story in run.outcome.copies.iter().filter(|s| s.fate == Fate::Stayed) {
            let own: Vec<&Copy> =
                std::iter::once(&story.copy).chain(&story.in_place_of).filter_map(|c| of(*c)).collect();
            more += usize::from(own.is_empty() && story.rule != Rule::Given);
            // That it had a transfer already accounts for none.
            let told = own.iter().filter(|c| c.kind == CopyKind::Plain || story.rule != Rule::Given);
            found.extend(told.map(|c| c.instruction));
        }
        Ok(Self { run, options, off: (by_name.len() - found.len(), more) })
    }
}

/// The stories of copies. The pass is run on the module without its copies, if it then makes the same ones; else on the module as
/// it is; and what it takes out there it makes again, or not, on the module without those. It is asked with region analysis and
/// without, and of the module as it was before arrays were put into other memory spaces: what accounts best for the copies tells.
fn told_by_the_pass(program: &Program, asked: &[&Copy]) -> Result<FxHashMap<InstructionId, Cause>, String> {
    if asked.is_empty() {
        return Ok(FxHashMap::default());
    }
    let Program { module, facts, .. } = program;
    let mut by_name: FxHashMap<(&str, &str), &Copy> = FxHashMap::default();
    for copy in asked {
        let home = module.computation_name(module.instruction(copy.instruction).computation);
        by_name.insert((home, module.name_of(copy.instruction)), copy);
    }
    let usual = Options::of(&facts.target);
    let other = match usual.region_analysis {
        RegionAnalysis::Never => RegionAnalysis::Always,
        RegionAnalysis::Always => RegionAnalysis::Never,
    };
    let other = Options { region_analysis: other, ..usual };
    let is_large = module.instructions.len() > MOST_TO_COMPARE;
    let before = before_memory_spaces(module).map(|m| (guess_orders(&m, &facts.target), m));
    let mut best: Result<(Asked, &Module), String> = Err(String::new());
    let bases = before.iter().map(|(orders, m)| (m, orders)).chain([(module, &facts.orders)]);
    'all: for (base, orders) in bases {
        for options in [usual, other] {
            match (Asked::new(base, facts, orders, options, &by_name), &best) {
                (Ok(new), Ok((old, _))) if new.off >= old.off => {}
                (Ok(new), _) => best = Ok((new, base)),
                (Err(_), Ok(_)) => {}
                (Err(why), Err(_)) => best = Err(why),
            }
            if best.as_ref().is_ok_and(|(b, _)| is_large || b.off == (0, 0)) {
                break 'all;
            }
        }
    }
    let (Asked { run: first, options, .. }, base) = best?;
    let plain = asked.len();
    type Found = FxHashMap<InstructionId, Cause>;
    let mut out = Found::default();
    let tell = |out: &mut Found, run: &Retraced, only: Option<&[(InstructionId, usize)]>, given: bool| {
        let of_base = |i: InstructionId| {
            let home = base.computation_name(base.instruction(i).computation);
            by_name.get(&(home, base.name_of(i))).copied()
        };
        let Retraced { module: before, orders, outcome } = run;
        let trials = (MOST_WORK / before.instructions.len().max(1)).min(256);
        let suggestions = suggest_within(before, orders, &facts.target, options, outcome, trials);
        let home = |i: InstructionId| {
            let computation = outcome.history.instruction(i).computation;
            outcome.history.computation_name(computation)
        };
        let history = in_the_modules_names(base, outcome, only);
        for (i, (story, removes)) in outcome.copies.iter().zip(&suggestions).enumerate() {
            if story.fate != Fate::Stayed || (story.rule == Rule::Given) != given {
                continue;
            }
            let saves: Vec<u64> = removes.iter().map(|s| s.bytes[0].saturating_sub(s.bytes[1])).collect();
            let removes: Vec<String> = removes
                .iter()
                .map(|s| {
                    // Where the numbers differ, passes behind it have fused copies with something else, or taken them away.
                    if s.copies[0] == plain {
                        words::suggestion(before, s)
                    } else {
                        words::suggestion_of_the_pass(before, s)
                    }
                })
                .collect();
            let told: Vec<&Copy> = match only {
                Some(only) => {
                    only.iter().filter(|(_, s)| *s == i).filter_map(|(old, _)| of_base(*old)).collect()
                }
                None => std::iter::once(&story.copy)
                    .chain(&story.in_place_of)
                    .filter_map(|c| by_name.get(&(home(*c), outcome.history.name_of(*c))).copied())
                    .collect(),
            };
            let undeclared = undeclared(&history, story);
            // That the module had a transfer already is no reason for it.
            let told = told.iter().filter(|c| !given || c.kind == CopyKind::Plain);
            for copy in told.map(|c| c.instruction) {
                let mut words = story_lines(&history, story, module.name_of(copy));
                words.extend(undeclared.clone());
                let (removes, saves) = (removes.clone(), saves.clone());
                out.entry(copy).or_insert(Cause { copy, part: 0, words, removes, saves });
            }
        }
    };
    tell(&mut out, &first, None, false);
    // What it takes out, and what it leaves as it found it, it may make itself where it is not there.
    let home = |i: InstructionId| base.computation_name(base.instruction(i).computation);
    let copy_of = |i: InstructionId| by_name.get(&(home(i), base.name_of(i))).map(|c| c.instruction);
    let open: Vec<InstructionId> =
        base.instruction_ids().filter(|i| copy_of(*i).is_some_and(|c| !out.contains_key(&c))).collect();
    if !open.is_empty()
        && let Some((second, found)) = retrace_without(base, &facts.target, options, &open)
    {
        tell(&mut out, &second, Some(&found), false);
    }
    if asked.iter().any(|c| c.kind == CopyKind::Plain && !out.contains_key(&c.instruction)) {
        tell(&mut out, &first, None, true);
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
    // Elements that the pass took from tuples are named as such.
    for index in 0..history.instructions.len() {
        let id = InstructionId(index as u32);
        if history.instruction(id).opcode != Opcode::GetTupleElement || is_there.contains(history.name_of(id))
        {
            continue;
        }
        let Some(tuple) = history.operands(id).first() else { continue };
        let element = history.attribute(id, "index").unwrap_or("?");
        let name = format!("{}{{{element}}}", history.name_of(*tuple));
        let name = history.add_text(&name);
        history.instructions[index].name = name;
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
        let Copied { operand, from: source, to: result, spaces, turned, .. } =
            copied(module, copy.instruction).into_iter().find(|c| c.part == copy.part)?;
        let name = |i: InstructionId| module.name_of(i).to_owned();
        let (readers, is_given_back) = self.readers(copy);
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
                words.extend(self.goes(copy));
                let wanted = if copy.of == operand || same_dimensions(module, copy.of, operand) {
                    turned.and_then(|turned| laid_out(module, copy.of, result, &turned))
                } else {
                    None
                };
                removes.push(match (copy.argument, wanted) {
                    (Some(n), Some(layout)) => format!("hand over argument {n} laid out as {layout}"),
                    (Some(n), None) => format!("hand over argument {n} as its reader wants it, {to}"),
                    (None, _) if is_given_back => {
                        format!("let the output be laid out as {from}, as {} gives it", name(copy.of))
                    }
                    (None, _) => {
                        format!("let {} give {to} at once, or its readers take {from}", name(copy.of))
                    }
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
                let space = |color: u32| format!("memory space {}", space_name(self.study, color));
                let (here, there) = (space(spaces.0), space(spaces.1));
                let is_piece =
                    module.instruction(copy.instruction).opcode == Opcode::AsyncStart && source != result;
                let when = readers
                    .iter()
                    .filter_map(|r| facts.clock.time(*r).map(|t| t.0))
                    .min()
                    .map(|t| format!(" (first at step {t})"))
                    .unwrap_or_default();
                words.push(if module.attribute(copy.instruction, "cross_program_prefetch_index").is_some() {
                    format!(
                        "Fetched before the program starts, from {here} into {there}, where {who} it{when}."
                    )
                } else if readers.is_empty() && !is_given_back && self.is_fetched_before(copy) {
                    format!(
                        "Fetched again at the end, from {here} into {there}, for the next run: something else stood there in between."
                    )
                } else if readers.is_empty() && is_given_back {
                    format!("Goes from {here} to {there}, as a part of the result.")
                } else if is_piece {
                    format!("A part of it goes from {here} to {there}, where {who} it{when}.")
                } else {
                    format!("Goes from {here} to {there}, where {who} it{when}.")
                });
                words.extend(self.asked(copy));
            }
        }
        if copy.in_place {
            words.push(IN_PLACE.to_owned());
        }
        let saves = vec![0; removes.len()];
        Some(Cause { copy: copy.instruction, part: copy.part, words, removes, saves })
    }

    /// From which memory space into which a copy goes.
    fn goes(&self, copy: &Copy) -> Option<String> {
        let found = copied(&self.program.module, copy.instruction);
        let (from, to) = found.into_iter().find(|c| c.part == copy.part)?.spaces;
        let name = |color| space_name(self.study, color);
        (from != to)
            .then(|| format!("It goes from memory space {} to memory space {}.", name(from), name(to)))
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

    /// Who reads a copy, through bitcasts, the end of a transfer and elements of a tuple, and the loop that carries it on; and
    /// whether it is, through such, the result of the program itself.
    fn readers(&self, copy: &Copy) -> (Vec<InstructionId>, bool) {
        let Program { module, facts, .. } = self.program;
        let passes_on = |i: InstructionId| {
            matches!(
                module.instruction(i).opcode,
                Opcode::Bitcast
                    | Opcode::CopyDone
                    | Opcode::AsyncDone
                    | Opcode::GetTupleElement
                    | Opcode::Tuple
            )
        };
        // Of a fusion with several results only those who take this one.
        let places = module.shapes.subshapes(module.instruction(copy.instruction).shape);
        let element = match module.instruction(copy.instruction).opcode {
            Opcode::Fusion => places.get(copy.part as usize).and_then(|p| p.index.0.first().copied()),
            _ => None,
        };
        let is_another = |at: InstructionId, user: InstructionId| {
            at == copy.instruction
                && module.instruction(user).opcode == Opcode::GetTupleElement
                && element.is_some_and(|e| module.attribute(user, "index") != Some(e.to_string().as_str()))
        };
        let mut open = vec![copy.instruction];
        let mut seen = FxHashSet::default();
        let mut out = Vec::new();
        let mut is_result = false;
        while let Some(at) = open.pop() {
            let home = module.instruction(at).computation;
            if at == module.root(module.entry) {
                is_result = true;
            } else if at == module.root(home) {
                out.extend(facts.graph.callers(home));
            }
            for user in self.users.get(&at).into_iter().flatten().filter(|u| !is_another(at, **u)) {
                if !passes_on(*user) {
                    out.push(*user);
                } else if seen.insert(*user) {
                    open.push(*user);
                }
            }
        }
        out.sort_unstable();
        out.dedup();
        (out, is_result)
    }
}

/// Are both arrays of the same dimensions?
fn same_dimensions(module: &Module, a: InstructionId, b: InstructionId) -> bool {
    let dims = |i: InstructionId| match module.shapes.get(module.instruction(i).shape) {
        Shape::Array { dims, layout, .. } => Some((dims, layout.as_ref().map(|l| &l.minor_to_major))),
        _ => None,
    };
    dims(a).is_some() && dims(a) == dims(b)
}

/// The shape of an array as it would have to be laid out to lie as a copy of it does, whose dimensions are its own turned round.
fn laid_out(module: &Module, of: InstructionId, copy: ShapeId, turned: &[u32]) -> Option<String> {
    let Shape::Array { layout: Some(layout), .. } = module.shapes.get(copy) else { return None };
    let order: Option<Vec<String>> =
        layout.minor_to_major.iter().map(|d| turned.get(*d as usize).map(ToString::to_string)).collect();
    let long = module.shapes.long(copy);
    // Tiles stay what they are; where it lies is not the layout's.
    let tiles = long.split_once(':').map_or("", |(_, rest)| rest.trim_end_matches('}'));
    let tiles = tiles.split_once("S(").map_or(tiles, |(tiles, _)| tiles);
    let tiles = if tiles.is_empty() { String::new() } else { format!(":{tiles}") };
    let shape = module.shapes.short(module.instruction(of).shape);
    Some(format!("{shape}{{{}{tiles}}}", order?.join(",")))
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
