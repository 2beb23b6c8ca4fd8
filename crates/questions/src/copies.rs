//! Every copy: what kind it is, what it costs, why it is there and what would remove it.

use crate::hold::value_at;
use crate::study::{Program, Study};
use copy_insertion::{CopyStory, Fate, Options, Outcome, Rule, Suggestion, insert_copies, suggest, words};
use hlo::{InstructionId, Module, Opcode, Shape, ShapeId};
use rustc_hash::FxHashMap;

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
    /// How often it runs, where loops tell it; `None` where one does not.
    pub runs: Option<u64>,
    /// Where the copy stands: an index into [`Study::rows`].
    pub row: Option<usize>,
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
            Self::Transfer => "transfer to another memory space",
        }
    }
}

/// All copies of arrays, those that write most first. Copies inside fusions are seen; a conversion counts where it widens
/// an argument. Needs the program.
#[must_use]
pub fn copies(study: &Study) -> Vec<Copy> {
    let Some(program) = &study.program else { return Vec::new() };
    let Program { module, facts, .. } = program;
    let runs = runs(program);
    let mut out = Vec::new();
    for c in module.computation_ids() {
        if facts.graph.context(c) != analysis::Context::ControlFlow {
            continue;
        }
        for id in &module.computation(c).instructions {
            let Some((part, source_shape, operand)) = copied(module, *id) else { continue };
            let shape = module.instruction(*id).shape;
            let shape = module.shapes.subshapes(shape).get(part as usize).map_or(shape, |s| s.shape);
            let of = trace(module, operand);
            let argument =
                module.parameter_number(of).filter(|_| module.instruction(of).computation == module.entry);
            let Some(kind) = kind(module, source_shape, shape) else { continue };
            if kind == CopyKind::Widening && argument.is_none() {
                continue;
            }
            let bytes = facts.target.bytes(&module.shapes, shape);
            let row = value_at(program, *id, part).and_then(|v| study.row_of(v));
            out.push(Copy {
                instruction: *id,
                of,
                argument,
                kind,
                bytes,
                runs: runs.get(&c).copied().flatten(),
                row,
            });
        }
    }
    out.sort_by_key(|c| (std::cmp::Reverse(c.bytes.saturating_mul(c.runs.unwrap_or(1))), c.instruction));
    out
}

/// What an instruction copies: the part of its result, the shape it copies from, and the operand.
fn copied(module: &Module, id: InstructionId) -> Option<(u32, ShapeId, InstructionId)> {
    let operand = |i: InstructionId| module.operands(i).first().copied();
    match module.instruction(id).opcode {
        Opcode::Copy | Opcode::Convert => {
            let o = operand(id)?;
            module.shapes.is_array(module.instruction(id).shape).then(|| (0, module.instruction(o).shape, o))
        }
        Opcode::CopyStart => {
            let o = operand(id)?;
            // `(result, source, context)`
            let part = module.shapes.find(module.instruction(id).shape, &[0])?;
            Some((part, module.instruction(o).shape, o))
        }
        Opcode::Fusion => {
            let body = *module.called(id).first()?;
            let root = module.root(body);
            let find = |at: InstructionId| -> Option<InstructionId> {
                if !matches!(module.instruction(at).opcode, Opcode::Copy | Opcode::Convert) {
                    return None;
                }
                let inner = trace(module, operand(at)?);
                module.parameter_number(inner)?;
                Some(inner)
            };
            let (part, at, inner) = if module.instruction(root).opcode == Opcode::Tuple {
                let mut all = module.operands(root).iter().enumerate();
                let (i, at, inner) = all.find_map(|(i, o)| Some((i, *o, find(*o)?)))?;
                (module.shapes.find(module.instruction(id).shape, &[i as u32])?, at, inner)
            } else {
                (0, root, find(root)?)
            };
            let outer = *module.operands(id).get(module.parameter_number(inner)? as usize)?;
            let source = module.instruction(operand(at)?).shape;
            Some((part, source, outer))
        }
        _ => None,
    }
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
        return (e2.bits() > e1.bits() && d1 == d2).then_some(CopyKind::Widening);
    }
    if module.shapes.memory_space(from) != module.shapes.memory_space(to) {
        return Some(CopyKind::Transfer);
    }
    let (Some(l1), Some(l2)) = (l1, l2) else { return Some(CopyKind::Plain) };
    if l1.minor_to_major != l2.minor_to_major || d1 != d2 {
        Some(CopyKind::Relayout)
    } else if l1.tiles != l2.tiles {
        Some(CopyKind::Retile)
    } else {
        Some(CopyKind::Plain)
    }
}

/// How often each computation runs: the product of the trip counts of the loops around it; `None` where one is not told.
fn runs(program: &Program) -> FxHashMap<hlo::ComputationId, Option<u64>> {
    let Program { module, facts, .. } = program;
    let mut out: FxHashMap<hlo::ComputationId, Option<u64>> = FxHashMap::default();
    out.insert(module.entry, Some(1));
    // Callers stand behind their callees, so from the back each caller is known before it is asked.
    for c in facts.orders.callee_first.iter().rev() {
        let Some(here) = out.get(c).copied() else { continue };
        for i in &module.computation(*c).instructions {
            let trips = match module.instruction(*i).opcode {
                Opcode::While => trip_count(module, *i),
                _ => Some(1),
            };
            for callee in module.called(*i) {
                let times = here.zip(trips).map(|(a, b)| a.saturating_mul(b));
                let sum = out.entry(*callee).or_insert(Some(0));
                *sum = sum.zip(times).map(|(a, b)| a.saturating_add(b));
            }
        }
    }
    out
}

/// The trip count that XLA knows: `"known_trip_count":{"n":"10"}`.
fn trip_count(module: &Module, id: InstructionId) -> Option<u64> {
    let config = module.attribute(id, "backend_config")?;
    let (_, rest) = config.split_once("known_trip_count")?;
    let start = rest.find(|c: char| c.is_ascii_digit())?;
    let digits = &rest[start..];
    digits[..digits.bytes().take_while(u8::is_ascii_digit).count()].parse().ok()
}

/// Why a copy is there, found out by running copy insertion on the program again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The copy in the program.
    pub copy: InstructionId,
    /// The story in words, a line each: the rule that asks for the copy, and what would clash without it.
    pub words: Vec<String>,
    /// What would let it go, each tried: in words.
    pub removes: Vec<String>,
}

/// Programs of more instructions are not changed to find out what would remove a copy: the pass is run once for each
/// change.
const MOST_TRIED: usize = 4_000;

/// What copy insertion says of the copies, by the copies of the program; what would remove them only in programs of no
/// more than some thousand instructions. Empty where the pass cannot run, which is so
/// after optimisation where a computation is called from several places; then the reason is given.
pub fn causes(study: &Study) -> Result<Vec<Cause>, String> {
    let Some(Program { module, facts, .. }) = &study.program else { return Ok(Vec::new()) };
    let options = Options::default();
    let outcome =
        insert_copies(module, &facts.orders, &facts.target, options).map_err(|e| e.describe(module))?;
    let suggestions = if module.instructions.len() <= MOST_TRIED {
        suggest(module, &facts.orders, &facts.target, options, &outcome)
    } else {
        vec![Vec::new(); outcome.copies.len()]
    };
    let stories = outcome.copies.iter().zip(&suggestions);
    let mut out: Vec<Cause> = stories
        .clone()
        .filter(|(s, _)| s.fate == Fate::Stayed)
        .flat_map(|(s, removes)| causes_of(module, &outcome, s, removes))
        .collect();
    for (story, _) in stories.filter(|(s, _)| s.fate == Fate::Removed && s.rule == Rule::Given) {
        if !out.iter().any(|c| c.copy == story.copy) {
            let words = vec!["Copy insertion, run on this module once more, takes it away.".to_owned()];
            out.push(Cause { copy: story.copy, words, removes: Vec::new() });
        }
    }
    Ok(out)
}

fn causes_of(module: &Module, outcome: &Outcome, story: &CopyStory, removes: &[Suggestion]) -> Vec<Cause> {
    let lines: Vec<String> =
        words::story(&outcome.history, story).lines().skip(1).map(|l| l.trim().to_owned()).collect();
    let removes: Vec<String> = removes.iter().map(|s| words::suggestion(module, s)).collect();
    // The story is that of a copy the pass made in place of those that stood there, or of one that stood there.
    let mut stood: Vec<InstructionId> = story.in_place_of.clone();
    stood.push(story.copy);
    stood
        .into_iter()
        .filter(|i| i.index() < module.instructions.len())
        .map(|copy| Cause { copy, words: lines.clone(), removes: removes.clone() })
        .collect()
}
