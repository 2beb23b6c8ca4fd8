//! Why a compiled module has the copies that it has: the pass run again on the module as it must have been before.
//!
//! Run on a compiled module as it is, the pass meets its own copies, takes those out first, and sometimes needs fewer: a
//! copy that it added early can stand in the way of what it does later. Without them it goes the way that it went.

use crate::story::{CopyStory, Fate, Rule};
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
    let Some((bare, left_out)) = without_copies(module) else { return Ok(as_it_is) };
    let orders = guess_orders(&bare, target);
    let Ok(mut outcome) = insert_copies(&bare, &orders, target, options) else { return Ok(as_it_is) };
    let Some(names) = same_copies(module, &left_out, &outcome) else { return Ok(as_it_is) };
    for (copy, name) in names {
        let name = outcome.history.add_text(&name);
        outcome.history.instructions[copy.index()].name = name;
    }
    Ok(Retraced { module: bare, orders, outcome })
}

/// The module without its plain copies, and which they were. `None` if it has none, or cannot be written without them.
fn without_copies(module: &Module) -> Option<(Module, Vec<InstructionId>)> {
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
            && !fused.contains(&copy.computation);
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
                if before.is_empty() {
                    bare.remove_attribute(id, "control-predecessors");
                } else {
                    let names: Vec<String> =
                        before.iter().map(|b| format!("%{}", module.name_of(*b))).collect();
                    bare.set_attribute(id, "control-predecessors", &format!("{{{}}}", names.join(", ")));
                }
            }
        }
        let bare = &mut bare.computations[c.index()];
        bare.instructions.retain(|i| read_by(*i).is_none());
        bare.root = source(module.root(c));
    }
    if left_out.is_empty() {
        return None;
    }
    // Written and read again: what was left out has no number any more.
    let bare = hlo::read_owned(hlo::print(&bare)).complete().ok()?;
    Some((bare, left_out))
}

/// The copies that stay, each with the name of the copy of `module` that it is; `None` unless they are the same.
fn same_copies(
    module: &Module,
    left_out: &[InstructionId],
    outcome: &Outcome,
) -> Option<Vec<(InstructionId, String)>> {
    let stayed: Vec<&CopyStory> = outcome.copies.iter().filter(|c| c.fate == Fate::Stayed).collect();
    if stayed.len() != left_out.len() {
        return None;
    }
    let made = &outcome.module;
    // By what is made: the copy of the module that it is.
    let mut known: FxHashMap<InstructionId, InstructionId> = FxHashMap::default();
    let mut open: Vec<InstructionId> = left_out.to_vec();
    loop {
        let before = open.len();
        open.retain(|old| {
            let home = module.computation_name(module.instruction(*old).computation);
            let of = module.operands(*old)[0];
            let is_it = |story: &&&CopyStory| {
                let Some(new) = story.stands_as.filter(|n| !known.contains_key(n)) else { return false };
                let Some(&reads) = made.operands(new).first() else { return false };
                made.computation_name(made.instruction(new).computation) == home
                    && match known.get(&reads) {
                        Some(copy) => *copy == of,
                        None => origin(made, reads) == origin(module, of),
                    }
            };
            match stayed.iter().find(is_it).and_then(|s| s.stands_as) {
                Some(new) => {
                    known.insert(new, *old);
                    false
                }
                None => true,
            }
        });
        if open.is_empty() {
            break;
        }
        if open.len() == before {
            return None;
        }
    }
    let name = |s: &&CopyStory| {
        let old = known.get(&s.stands_as?)?;
        Some((s.copy, module.name_of(*old).to_owned()))
    };
    stayed.iter().map(name).collect()
}

/// What an instruction is, whatever the elements of tuples are called: `name`, and the elements taken from it.
fn origin(module: &Module, mut id: InstructionId) -> (String, Vec<String>) {
    let mut elements = Vec::new();
    while module.instruction(id).opcode == Opcode::GetTupleElement
        && let Some(&of) = module.operands(id).first()
    {
        elements.push(module.attribute(id, "index").unwrap_or_default().to_owned());
        id = of;
    }
    (module.name_of(id).to_owned(), elements)
}
