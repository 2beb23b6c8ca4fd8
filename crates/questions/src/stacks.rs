//! Arrays that a loop fills element by element: residuals and gradients of a scan.

use crate::loops::trip_count;
use crate::study::{Program, Study};
use hlo::{InstructionId, Module, Opcode, Shape, ShapeId};

/// An array that a loop fills, one element each time round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Elements.
    pub length: u64,
    /// The shape of one element, without layout.
    pub element: String,
    /// Bytes of one element.
    pub element_bytes: u64,
    /// What writes an element, inside the loop.
    pub writer: InstructionId,
    /// The loop.
    pub at: Option<InstructionId>,
}

/// Is the value in this row a stack that a loop fills? Needs the program.
#[must_use]
pub fn stack(study: &Study, row: usize) -> Option<Stack> {
    let program = study.program.as_ref()?;
    let row = study.rows.get(row)?;
    let Program { module, facts, .. } = program;
    let buffer = facts.buffer(facts.value(row.value?).buffer);
    for v in &buffer.values {
        let at = facts.value(*v).defined_at();
        let Some((whole, update, is_read)) = update_of(module, at.instruction, at.sub) else { continue };
        let Some((length, element)) = one_of_many(module, whole, update) else { continue };
        let computation = module.instruction(at.instruction).computation;
        let caller = facts
            .graph
            .callers(computation)
            .iter()
            .copied()
            .find(|c| module.instruction(*c).opcode == Opcode::While);
        // Outside of a loop a slice is written once.
        let is_looped = caller.is_some() || is_inside_loop(program, computation);
        // What the loop also reads is changed in place, and so is what it has another number of rounds for.
        let rounds = caller.and_then(|c| trip_count(module, c));
        let is_filled =
            rounds.is_none_or(|n| n > 0 && length.is_multiple_of(n) && length / n <= MOST_AT_ONCE);
        let is_read = is_read || is_read_beside(program, buffer, computation, at.instruction);
        if is_looped && length > 1 && is_filled && !is_read {
            return Some(Stack {
                length,
                element,
                element_bytes: row.size / length,
                writer: at.instruction,
                at: caller,
            });
        }
    }
    None
}

/// Elements that one round of a loop writes at most, as an unrolled one does.
const MOST_AT_ONCE: u64 = 16;

/// Does something in this computation read the array, other than to hand it on or to write an element into it?
fn is_read_beside(
    program: &Program,
    buffer: &analysis::Buffer,
    computation: hlo::ComputationId,
    writer: InstructionId,
) -> bool {
    let Program { module, facts, .. } = program;
    buffer.values.iter().flat_map(|v| &facts.value(*v).uses).any(|u| {
        let reader = module.instruction(u.user);
        let hands_on = matches!(
            reader.opcode,
            Opcode::Tuple
                | Opcode::GetTupleElement
                | Opcode::Bitcast
                | Opcode::Copy
                | Opcode::DynamicUpdateSlice
                | Opcode::While
                | Opcode::Conditional
                | Opcode::Call
        );
        let writes = update_of(module, u.user, 0).is_some_and(|(_, _, is_read)| !is_read);
        reader.computation == computation && u.user != writer && !hands_on && !writes
    })
}

fn is_inside_loop(program: &Program, mut computation: hlo::ComputationId) -> bool {
    let Program { module, facts, .. } = program;
    for _ in 0..64 {
        let Some(caller) = facts.graph.callers(computation).first() else { return false };
        if module.instruction(*caller).opcode == Opcode::While {
            return true;
        }
        computation = module.instruction(*caller).computation;
    }
    false
}

/// If an instruction writes a slice into an array: the array's shape and the slice's, and whether it reads the array as well.
fn update_of(module: &Module, id: InstructionId, sub: u32) -> Option<(ShapeId, ShapeId, bool)> {
    let mut at = id;
    if module.instruction(id).opcode == Opcode::Fusion {
        at = module.root(*module.called(id).first()?);
        if module.instruction(at).opcode == Opcode::Tuple {
            let places = module.shapes.subshapes(module.instruction(id).shape);
            let element = *places.get(sub as usize)?.index.0.first()?;
            at = *module.operands(at).get(element as usize)?;
        }
    }
    // What only changes the look of the array stands behind the update.
    for _ in 0..4 {
        match module.instruction(at).opcode {
            Opcode::DynamicUpdateSlice => {
                let [array, update, ..] = module.operands(at) else { return None };
                let computation = module.instruction(at).computation;
                let is_read = module.instruction(id).opcode == Opcode::Fusion
                    && module
                        .computation(computation)
                        .instructions
                        .iter()
                        .any(|i| *i != at && module.operands(*i).contains(array));
                return Some((module.instruction(at).shape, module.instruction(*update).shape, is_read));
            }
            Opcode::Bitcast | Opcode::Copy | Opcode::Convert | Opcode::Reshape => {
                at = *module.operands(at).first()?;
            }
            _ => return None,
        }
    }
    None
}

/// An update that is one wide in one dimension and whole in all others.
fn one_of_many(module: &Module, whole: ShapeId, update: ShapeId) -> Option<(u64, String)> {
    let (Shape::Array { element, dims, .. }, Shape::Array { dims: part, .. }) =
        (module.shapes.get(whole), module.shapes.get(update))
    else {
        return None;
    };
    if dims.len() != part.len() {
        return None;
    }
    let mut cut = dims.iter().zip(part).enumerate().filter(|(_, (w, p))| w != p);
    let (axis, (length, one)) = cut.next()?;
    if cut.next().is_some() || *one != 1 {
        return None;
    }
    let rest: Vec<String> =
        dims.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, d)| d.to_string()).collect();
    Some((*length, format!("{}[{}]", element.name(), rest.join(","))))
}

/// A transfer or collective that runs beside other instructions, and what it pins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// What begins it.
    pub start: InstructionId,
    /// What ends it.
    pub done: InstructionId,
    /// The step at which it begins.
    pub from: u32,
    /// The step at which it ends.
    pub to: u32,
    /// Bytes that may not be used otherwise until then: operands and results, each place once.
    pub bytes: u64,
    /// The memory spaces of these.
    pub colors: Vec<u32>,
}

/// All transfers and collectives that have a start and an end, in the order in which they begin. Needs the program.
#[must_use]
pub fn spans(study: &Study) -> Vec<Span> {
    let Some(program) = &study.program else { return Vec::new() };
    let Program { module, facts, .. } = program;
    let mut out = Vec::new();
    for done in module.instruction_ids() {
        if !crate::hold::is_done(module.instruction(done).opcode) {
            continue;
        }
        // The links between are updates; a start is no operand of one.
        let mut start = done;
        for _ in 0..64 {
            match module.operands(start).first() {
                Some(before) if start == done || module.instruction(start).opcode == Opcode::AsyncUpdate => {
                    start = *before;
                }
                _ => break,
            }
        }
        let (Some(from), Some(to)) = (facts.clock.time(start), facts.clock.time(done)) else { continue };
        out.push(Span { start, done, from: from.0, to: to.0, bytes: 0, colors: Vec::new() });
    }
    out.sort_by_key(|s| (s.from, s.to, s.start));
    // Which rows are read or written by the start.
    let mut rows_of: rustc_hash::FxHashMap<InstructionId, Vec<usize>> = rustc_hash::FxHashMap::default();
    for (i, row) in study.rows.iter().enumerate().filter(|(_, r)| !r.is_tuple) {
        let Some(value) = row.value else { continue };
        let v = facts.value(value);
        for user in v.uses.iter().map(|u| u.user).chain(v.positions.iter().map(|p| p.instruction)) {
            let rows = rows_of.entry(user).or_default();
            if rows.last() != Some(&i) {
                rows.push(i);
            }
        }
    }
    for span in &mut out {
        let mut places: Vec<(usize, u64, u64)> = Vec::new();
        for i in rows_of.get(&span.start).into_iter().flatten() {
            let row = &study.rows[*i];
            places.push((row.slab, row.offset, row.size));
        }
        places.sort_unstable();
        places.dedup();
        span.bytes = crate::peak::sum(places.iter().map(|p| p.2));
        span.colors = places.iter().map(|p| study.slabs[p.0].color).collect();
        span.colors.sort_unstable();
        span.colors.dedup();
    }
    out
}

/// A transfer between the host's memory and the device's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostTransfer {
    /// The instruction that makes it, or begins it.
    pub instruction: InstructionId,
    /// Is it to the host?
    pub is_to_host: bool,
    /// Bytes in one run of the program, a loop whose count is not known taken once.
    pub bytes: u64,
}

/// The memory space of the host.
const HOST: u32 = 5;

/// All transfers to the host's memory and back, in the order of the text: copies, and slices that are read from or written into an
/// array beside other work. Needs the program.
#[must_use]
pub fn host_transfers(study: &Study) -> Vec<HostTransfer> {
    let Some(program) = &study.program else { return Vec::new() };
    let Program { module, facts, .. } = program;
    if !study.slabs.iter().any(|s| s.color == HOST) {
        return Vec::new();
    }
    let (runs, _) = crate::copies::runs(program);
    let is_host = |shape: ShapeId| module.shapes.memory_space(shape) == HOST;
    let mut out = Vec::new();
    for id in module.instruction_ids().filter(|i| facts.clock.time(*i).is_some()) {
        let own = |i: InstructionId| module.instruction(i).shape;
        let operand = |i: InstructionId, n: usize| module.operands(i).get(n).map(|o| own(*o));
        // From where, to where, and what is moved.
        let found = match module.instruction(id).opcode {
            Opcode::Copy => operand(id, 0).map(|from| (from, own(id), own(id))),
            Opcode::CopyStart => operand(id, 0).and_then(|from| {
                let part = module.shapes.find(own(id), &[0])?;
                let to = module.shapes.subshapes(own(id)).get(part as usize)?.shape;
                Some((from, to, to))
            }),
            Opcode::AsyncStart => module.called(id).first().and_then(|body| {
                let root = module.root(*body);
                match module.instruction(root).opcode {
                    Opcode::DynamicUpdateSlice => Some((operand(root, 1)?, own(root), operand(root, 1)?)),
                    Opcode::DynamicSlice | Opcode::Slice => Some((operand(root, 0)?, own(root), own(root))),
                    _ => None,
                }
            }),
            _ => None,
        };
        let Some((_, to, moved)) = found.filter(|(from, to, _)| is_host(*from) != is_host(*to)) else {
            continue;
        };
        let times = runs.get(&module.instruction(id).computation).copied().flatten().unwrap_or(1);
        let bytes = facts.target.bytes(&module.shapes, moved).saturating_mul(times);
        out.push(HostTransfer { instruction: id, is_to_host: is_host(to), bytes });
    }
    out
}
