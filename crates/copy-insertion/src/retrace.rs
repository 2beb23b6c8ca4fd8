//! Why a compiled module has the copies that it has: the pass run again on the module as it must have been before.
//!
//! Run on a compiled module as it is, the pass meets its own copies, takes those out first, and sometimes needs fewer: a
//! copy that it added early can stand in the way of what it does later. Without them it goes the way that it went.

use crate::story::{CopyStory, Fate, Refusal, Rule};
use crate::{Error, Options, Outcome, guess_orders, insert_copies};
use analysis::{Orders, Target};
use hlo::{InstructionId, Module, Opcode};
use rustc_hash::FxHashMap;

/// A run of the pass, and what it was run on.
#[derive(Debug)]
pub struct Retraced {
    /// The module: the one that was given, or that without its copies.
    pub module: Module,
    /// Its orders.
    pub orders: Orders,
    /// What the pass made of it. Where copies were left out and made again, they have their old names in
    /// [`Outcome::history`].
    pub outcome: Outcome,
}

/// The copies of the module that the pass took out without making another one for the same end, by their numbers in
/// [`Outcome::history`].
#[must_use]
pub fn needless(outcome: &Outcome) -> Vec<InstructionId> {
    let is_made_again = |i: &InstructionId| outcome.copies.iter().any(|c| c.in_place_of.contains(i));
    outcome
        .copies
        .iter()
        .filter(|c| c.rule == Rule::Given && c.fate != Fate::Stayed && !is_made_again(&c.copy))
        .map(|c| c.copy)
        .collect()
}

/// Runs the pass so that it tells of the copies that a module has. That is the module as it is; or, where the pass would
/// take some of its copies out, the module without them, if the pass then makes the very same copies.
pub fn retrace(
    module: &Module,
    orders: &Orders,
    target: &Target,
    options: Options,
) -> Result<Retraced, Error> {
    let outcome = insert_copies(module, orders, target, options)?;
    let as_it_is = Retraced { module: module.clone(), orders: orders.clone(), outcome };
    if needless(&as_it_is.outcome).is_empty() {
        return Ok(as_it_is);
    }
    let Some((retraced, left_out, found)) = run_without(module, target, options, |_| true) else {
        return Ok(as_it_is);
    };
    let is_new = |c: &&CopyStory| c.fate == Fate::Stayed && c.rule != Rule::Given;
    let made = retraced.outcome.copies.iter().filter(is_new).count();
    Ok(if found.len() == left_out.len() && made == left_out.len() { retraced } else { as_it_is })
}

/// Runs the pass on the module without some of its plain copies, and tells which copy of [`Outcome::copies`] is made in the
/// place of which of them: of the same value, or, to keep the same two values apart, of the other one. Not every one of
/// them is found again. `None` if none of `copies` can be left out, or the pass cannot run without them.
#[must_use]
pub fn retrace_without(
    module: &Module,
    target: &Target,
    options: Options,
    copies: &[InstructionId],
) -> Option<(Retraced, Vec<(InstructionId, usize)>)> {
    let (retraced, left_out, mut found) = run_without(module, target, options, |i| copies.contains(&i))?;
    let outcome = &retraced.outcome;
    for old in left_out {
        if found.iter().any(|(known, _)| *known == old) {
            continue;
        }
        let home = module.computation_name(module.instruction(old).computation);
        let saved = origin(module, module.operands(old)[0]);
        let keeps_apart = |story: &CopyStory| {
            let Some(Refusal::Clash(clash)) = &story.refusal else { return false };
            let Some(new) = story.stands_as else { return false };
            let made = &outcome.module;
            let mut wanted = origin(&outcome.history, clash.wanted.instruction);
            wanted.1.splice(0..0, clash.wanted.index.0.iter().rev().map(ToString::to_string));
            made.computation_name(made.instruction(new).computation) == home && wanted == saved
        };
        let is_free = |i: &usize| !found.iter().any(|(_, story)| story == i);
        let new = (0..outcome.copies.len())
            .filter(is_free)
            .find(|i| outcome.copies[*i].rule != Rule::Given && keeps_apart(&outcome.copies[*i]));
        found.extend(new.map(|new| (old, new)));
    }
    Some((retraced, found))
}

/// The module as it was before arrays were put into other memory spaces than the main one: without those in its layouts, and without
/// the transfers between them. `None` if all is in the main one, or in the host's.
#[must_use]
pub fn before_memory_spaces(module: &Module) -> Option<Module> {
    let spaces = |i: InstructionId| {
        let places = module.shapes.subshapes(module.instruction(i).shape);
        places.iter().map(|p| module.shapes.memory_space(p.shape)).collect::<Vec<_>>()
    };
    let is_fast = |space: &u32| ![0, HOST].contains(space);
    let mut fast: Vec<u32> = module.instruction_ids().flat_map(spaces).filter(is_fast).collect();
    fast.sort_unstable();
    fast.dedup();
    if fast.is_empty() {
        return None;
    }
    // What a transfer from or into fast memory brings: what it began with.
    let starts = |i: InstructionId| {
        let is_start = module.instruction(i).opcode == Opcode::CopyStart;
        // The third part is a flag, which lies elsewhere in any case.
        let is_crossing = spaces(i).get(1..3).is_some_and(|s| s[0] != s[1] && !s.contains(&HOST));
        (is_start && is_crossing).then(|| module.operands(i).first().copied()).flatten()
    };
    let brings = |i: InstructionId| {
        let is_done = module.instruction(i).opcode == Opcode::CopyDone;
        is_done.then(|| starts(*module.operands(i).first()?)).flatten()
    };
    let source = |i: InstructionId| std::iter::successors(Some(i), |i| brings(*i)).last().unwrap_or(i);
    let is_gone = |i: InstructionId| starts(i).is_some() || brings(i).is_some();
    let mut bare = module.clone();
    for c in module.computation_ids() {
        for &id in module.computation(c).instructions.iter().filter(|i| !is_gone(**i)) {
            let operands: Vec<_> = module.operands(id).iter().map(|o| source(*o)).collect();
            bare.set_operands(id, &operands);
            let before: Vec<_> =
                module.control_predecessors(id).iter().copied().filter(|b| !is_gone(*b)).collect();
            if before.len() != module.control_predecessors(id).len() {
                bare.set_control_predecessors(id, &before);
            }
        }
        let bare = &mut bare.computations[c.index()];
        bare.instructions.retain(|i| !is_gone(*i));
        bare.root = source(module.root(c));
    }
    bare.name_control_predecessors();
    let mut text = hlo::print(&bare);
    for space in fast {
        text = text.replace(&format!(":S({space})}}"), "}").replace(&format!(")S({space})}}"), ")}");
    }
    hlo::read_owned(text).complete().ok()
}

/// The memory space of the host.
const HOST: u32 = 5;

/// The run without some copies, which they are, and which of the copies made is the same as which of them.
type Without = (Retraced, Vec<InstructionId>, Vec<(InstructionId, usize)>);

fn run_without(
    module: &Module,
    target: &Target,
    options: Options,
    chosen: impl Fn(InstructionId) -> bool,
) -> Option<Without> {
    let (bare, left_out) = without_copies(module, chosen)?;
    let orders = guess_orders(&bare, target);
    let mut outcome = insert_copies(&bare, &orders, target, options).ok()?;
    let found = same_copies(module, &left_out, &outcome);
    for (old, new) in &found {
        let name = outcome.history.add_text(module.name_of(*old));
        let copy = outcome.copies[*new].copy;
        outcome.history.instructions[copy.index()].name = name;
    }
    Some((Retraced { module: bare, orders, outcome }, left_out, found))
}

/// The module without the plain copies that are chosen, and which they were. `None` if there is none, or it cannot be
/// written without them.
fn without_copies(
    module: &Module,
    chosen: impl Fn(InstructionId) -> bool,
) -> Option<(Module, Vec<InstructionId>)> {
    let mut bare = module.clone();
    let fused: Vec<_> = module
        .instruction_ids()
        .filter(|i| module.instruction(*i).opcode == Opcode::Fusion)
        .flat_map(|i| module.called(i).to_vec())
        .collect();
    // What a copy reads, if it is an array of the very same shape.
    let read_by = |i: InstructionId| {
        let copy = module.instruction(i);
        let &[of] = module.operands(i) else { return None };
        let is_plain = copy.opcode == Opcode::Copy
            && copy.shape == module.instruction(of).shape
            && module.shapes.is_array(copy.shape)
            && !fused.contains(&copy.computation)
            && chosen(i);
        is_plain.then_some(of)
    };
    // Copies of copies lead to the first; operands stand before their readers, so no chain goes round.
    let source = |i: InstructionId| std::iter::successors(Some(i), |i| read_by(*i)).last().unwrap_or(i);
    let mut left_out = Vec::new();
    for c in module.computation_ids() {
        for &id in &module.computation(c).instructions {
            if read_by(id).is_some() {
                left_out.push(id);
                continue;
            }
            let operands: Vec<_> = module.operands(id).iter().map(|o| source(*o)).collect();
            bare.set_operands(id, &operands);
            let before: Vec<_> =
                module.control_predecessors(id).iter().copied().filter(|b| read_by(*b).is_none()).collect();
            if before.len() != module.control_predecessors(id).len() {
                bare.set_control_predecessors(id, &before);
            }
        }
        let bare = &mut bare.computations[c.index()];
        bare.instructions.retain(|i| read_by(*i).is_none());
        bare.root = source(module.root(c));
    }
    if left_out.is_empty() {
        return None;
    }
    bare.name_control_predecessors();
    // Written and read again: what was left out has no number any more.
    let bare = hlo::read_owned(hlo::print(&bare)).complete().ok()?;
    Some((bare, left_out))
}

/// By copy that was left out: which of the copies that were made is the same one, where there is one.
fn same_copies(
    module: &Module,
    left_out: &[InstructionId],
    outcome: &Outcome,
) -> Vec<(InstructionId, usize)> {
    let stayed: Vec<(usize, InstructionId)> = outcome
        .copies
        .iter()
        .enumerate()
        .filter(|(_, c)| c.fate == Fate::Stayed && c.rule != Rule::Given)
        .filter_map(|(i, c)| Some((i, c.stands_as?)))
        .collect();
    let made = &outcome.module;
    let mut found = Vec::new();
    // By what is made: the copy of the module that it is.
    let mut known: FxHashMap<InstructionId, InstructionId> = FxHashMap::default();
    let mut open: Vec<InstructionId> = left_out.to_vec();
    loop {
        let before = open.len();
        open.retain(|old| {
            let home = module.computation_name(module.instruction(*old).computation);
            let of = module.operands(*old)[0];
            let is_it = |&&(_, new): &&(usize, InstructionId)| {
                if known.contains_key(&new) {
                    return false;
                }
                let Some(&reads) = made.operands(new).first() else { return false };
                made.computation_name(made.instruction(new).computation) == home
                    && match known.get(&reads) {
                        Some(copy) => *copy == of,
                        None => origin(made, reads) == origin(module, of),
                    }
            };
            match stayed.iter().find(is_it) {
                Some(&(story, new)) => {
                    known.insert(new, *old);
                    found.push((*old, story));
                    false
                }
                None => true,
            }
        });
        if open.is_empty() || open.len() == before {
            return found;
        }
    }
}

/// What an instruction is, whatever the elements of tuples are called: `name`, and the elements taken from it. Elements of
/// tuples that are made in place are what they are made of.
fn origin(module: &Module, mut id: InstructionId) -> (String, Vec<String>) {
    let mut elements = Vec::new();
    while module.instruction(id).opcode == Opcode::GetTupleElement
        && let Some(&of) = module.operands(id).first()
    {
        let index = module.attribute(id, "index").unwrap_or_default();
        let made_of = match (module.instruction(of).opcode, index.parse::<usize>()) {
            (Opcode::Tuple, Ok(n)) => module.operands(of).get(n),
            _ => None,
        };
        id = if let Some(part) = made_of {
            *part
        } else {
            elements.push(index.to_owned());
            of
        };
    }
    (module.name_of(id).to_owned(), elements)
}
