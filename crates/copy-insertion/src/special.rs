//! Phase C: copies that no order of instructions can make up for (11.5).

use crate::draft::{Draft, Operands};
use crate::story::{Place, Rule};
use crate::{Error, Made};
use analysis::sharing::can_share;
use analysis::{BufferId, Context, Facts, Position, Value, ValueId};
use hlo::{ComputationId, InstructionId, Opcode, ShapeIndex};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// By instruction and place: the first rule that asked for a copy.
type Wanted = FxHashMap<InstructionId, BTreeMap<u32, Rule>>;

/// Adds them.
pub(crate) fn add_special(draft: &mut Draft, made: &mut Vec<Made>) -> Result<(), Error> {
    let facts = draft.facts()?;
    let mut wanted = Wanted::default();
    shared_by_mistake(draft, &facts, &mut wanted);
    for c in draft.storage.clone() {
        if facts.graph.context(c) != Context::Embedded {
            unclear_results(draft, &facts, c, &mut wanted);
        }
    }
    read_only_outputs(draft, &facts, &mut wanted);

    let mut rank = vec![u32::MAX; draft.module.computations.len()];
    for (n, c) in draft.storage.iter().enumerate() {
        rank[c.index()] = n as u32;
    }
    let mut order: Vec<InstructionId> = wanted.keys().copied().collect();
    order.sort_unstable_by_key(|i| (rank[draft.computation(*i).index()], draft.stored_position(*i)));
    for id in order {
        let Some(places) = wanted.remove(&id) else { continue };
        if draft.is_async_wrapped(draft.computation(id)) {
            continue;
        }
        let mut chosen = vec![false; draft.module.shapes.subshapes(draft.shape(id)).len()];
        for sub in places.keys() {
            chosen[*sub as usize] = true;
        }
        let users = draft.users(id).to_vec();
        let (result, copies) = draft.deep_copy(id, &chosen);
        for (sub, copy) in copies {
            if let Some(rule) = places.get(&sub) {
                made.push(Made { copy, of: Place::new(&draft.module, id, sub), rule: rule.clone() });
            }
        }
        for user in users {
            draft.replace_in(user, id, result, Operands::All);
        }
        if draft.module.is_root(id) {
            draft.module.set_root(result);
        }
    }
    Ok(())
}

fn place(draft: &Draft, at: Position) -> Place {
    Place::new(&draft.module, at.instruction, at.sub)
}

/// May nobody write over it: a constant, or a parameter of the program at a place that is not donated?
fn is_read_only(draft: &Draft, value: &Value) -> bool {
    let at = value.defined_at();
    match draft.opcode(at.instruction) {
        Opcode::Constant => true,
        Opcode::Parameter if draft.computation(at.instruction) == draft.module.entry => {
            let number = draft.module.parameter_number(at.instruction);
            let index = place(draft, at).index;
            !draft
                .module
                .input_output_alias
                .iter()
                .any(|a| Some(a.parameter) == number && a.parameter_index == index)
        }
        _ => false,
    }
}

/// Rules 1a and 1b: what came to share although nobody may write over it, or although the reader cannot work in place.
fn shared_by_mistake(draft: &Draft, facts: &Facts, wanted: &mut Wanted) {
    for value in facts.values() {
        let buffer = facts.buffer(value.buffer);
        if buffer.values.len() < 2 {
            continue;
        }
        let others = || buffer.values.iter().filter(|v| **v != value.id);
        let mut want = |at: InstructionId, sub: u32, rule: Rule| {
            wanted.entry(at).or_default().entry(sub).or_insert(rule);
        };
        if is_read_only(draft, value) {
            let at = value.defined_at();
            let shares_with = others().map(|v| place(draft, facts.value(*v).defined_at())).collect();
            let rule = Rule::ReadOnly { value: place(draft, at), shares_with };
            want(at.instruction, at.sub, rule);
        }
        let mut defined_by: FxHashMap<InstructionId, Vec<u32>> = FxHashMap::default();
        for v in others() {
            let at = facts.value(*v).defined_at();
            defined_by.entry(at.instruction).or_default().push(at.sub);
        }
        for u in &value.uses {
            for sub in defined_by.get(&u.user).into_iter().flatten() {
                let Some(&operand) = draft.module.operands(u.user).get(u.operand as usize) else { continue };
                let from = Position { instruction: operand, sub: u.sub };
                let to = Position { instruction: u.user, sub: *sub };
                if let Err(why) = can_share(&draft.module, facts, from, to) {
                    let shape = |p: Position| {
                        draft.module.shapes.subshapes(draft.shape(p.instruction))[p.sub as usize].shape
                    };
                    let pairs = facts.in_place.of(u.user);
                    let writes_over = pairs
                        .iter()
                        .any(|p| (p.output_sub, p.operand, p.operand_sub) == (*sub, u.operand, u.sub));
                    let shapes = [shape(from), shape(to)];
                    let rule = Rule::NotInPlace { at: u.user, operand: u.operand, why, shapes, writes_over };
                    want(operand, u.sub, rule);
                }
            }
        }
    }
}

/// Rule 2: results that can stand in several buffers, or two that stand in one.
fn unclear_results(draft: &Draft, facts: &Facts, c: ComputationId, wanted: &mut Wanted) {
    let root = draft.module.root(c);
    let is_entry = c == draft.module.entry;
    let places = draft.module.shapes.subshapes(draft.shape(root));
    let is_donated = |index: &ShapeIndex| draft.module.input_output_alias.iter().any(|a| a.output == *index);
    let mut seen: FxHashMap<BufferId, u32> = FxHashMap::default();
    for (sub, here) in places.iter().enumerate() {
        let sub = sub as u32;
        let values = facts.dataflow.at(Position { instruction: root, sub });
        let mut buffers: Vec<BufferId> = values.iter().map(|v: &ValueId| facts.value(*v).buffer).collect();
        buffers.sort_unstable();
        buffers.dedup();
        let mut earlier = None;
        for b in &buffers {
            match seen.get(b) {
                Some(other) => earlier = Some(*other),
                None => {
                    seen.insert(*b, sub);
                }
            }
        }
        let mut want = |sub: u32, rule: Rule| {
            wanted.entry(root).or_default().entry(sub).or_insert(rule);
        };
        let index = here.index.clone();
        if let (true, [_], Some(other)) = (is_entry && is_donated(&index), &buffers[..], earlier) {
            // The donated one keeps the buffer, the other one is copied.
            let first = places[other as usize].index.clone();
            want(other, Rule::RepeatedOutput { index: first, other: index });
            continue;
        }
        if buffers.len() > 1 {
            want(sub, Rule::SeveralBuffers { index });
        } else if let (true, Some(other)) = (is_entry, earlier) {
            let other = places[other as usize].index.clone();
            want(sub, Rule::RepeatedOutput { index, other });
        }
    }
}

/// Rule 3: constants and parameters are not given back.
fn read_only_outputs(draft: &Draft, facts: &Facts, wanted: &mut Wanted) {
    let root = draft.module.root(draft.module.entry);
    for (sub, here) in draft.module.shapes.subshapes(draft.shape(root)).iter().enumerate() {
        let values = facts.dataflow.at(Position { instruction: root, sub: sub as u32 });
        if let Some(v) = values.iter().map(|v| facts.value(*v)).find(|v| is_read_only(draft, v)) {
            let rule =
                Rule::ReadOnlyOutput { index: here.index.clone(), value: place(draft, v.defined_at()) };
            wanted.entry(root).or_default().entry(sub as u32).or_insert(rule);
        }
    }
}
