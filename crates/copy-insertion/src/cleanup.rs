//! The clean-up after a phase, as far as it decides what the next one sees: tuple simplification and dead code (11.4).

use crate::draft::Draft;
use hlo::{ComputationId, InstructionId, Module, Opcode, ShapeId};

/// Which computations do something besides giving a result.
pub(crate) struct Effects {
    by_computation: Vec<bool>,
    partitioned: bool,
}

impl Effects {
    pub(crate) fn new(draft: &Draft) -> Self {
        let mut effects = Self {
            by_computation: vec![false; draft.module.computations.len()],
            partitioned: draft.module.header_attribute("num_partitions").is_some(),
        };
        for c in &draft.callee_first {
            effects.by_computation[c.index()] = draft.stored(*c).iter().any(|i| effects.of(draft, *i));
        }
        effects
    }

    /// Does the instruction do something besides giving a result?
    pub(crate) fn of(&self, draft: &Draft, id: InstructionId) -> bool {
        let module = &draft.module;
        let own = match draft.opcode(id) {
            Opcode::Send
            | Opcode::SendDone
            | Opcode::Recv
            | Opcode::RecvDone
            | Opcode::Infeed
            | Opcode::Outfeed
            | Opcode::Rng
            | Opcode::RngGetAndUpdateState => true,
            Opcode::CustomCall => module.attribute(id, "custom_call_has_side_effect") == Some("true"),
            Opcode::AllReduce
            | Opcode::AllGather
            | Opcode::AllToAll
            | Opcode::ReduceScatter
            | Opcode::RaggedAllToAll
            | Opcode::CollectivePermute
            | Opcode::CollectiveBroadcast => {
                module.attribute(id, "constrain_layout") == Some("true")
                    || (!self.partitioned && module.attribute(id, "channel_id").is_some())
            }
            _ => false,
        };
        own || module.called(id).iter().any(|c| self.by_computation[c.index()])
    }
}

/// Tuple simplification, then dead code elimination.
pub(crate) fn clean_up(draft: &mut Draft) {
    let effects = Effects::new(draft);
    simplify_tuples(draft, &effects);
    remove_dead(draft, &effects);
}

fn simplify_tuples(draft: &mut Draft, effects: &Effects) {
    for c in draft.storage.clone() {
        for id in draft.post_order(c) {
            if !draft.is_alive(id) {
                continue;
            }
            match draft.opcode(id) {
                Opcode::Tuple => simplify_tuple(draft, id, effects),
                Opcode::GetTupleElement => simplify_element(draft, id, effects),
                _ => {}
            }
        }
    }
}

fn element_number(module: &Module, id: InstructionId) -> Option<u32> {
    module.attribute(id, "index").and_then(|v| v.parse().ok())
}

/// Equal but for layouts.
fn is_compatible(module: &Module, a: ShapeId, b: ShapeId) -> bool {
    a == b || module.shapes.short(a) == module.shapes.short(b)
}

/// A tuple of all elements of another tuple is that tuple.
fn simplify_tuple(draft: &mut Draft, id: InstructionId, effects: &Effects) {
    let module = &draft.module;
    let mut whole = None;
    for (k, operand) in module.operands(id).iter().enumerate() {
        if draft.opcode(*operand) != Opcode::GetTupleElement
            || element_number(module, *operand) != Some(k as u32)
        {
            return;
        }
        let from = module.operands(*operand).first().copied();
        if from.is_none() || (k > 0 && from != whole) {
            return;
        }
        whole = from;
    }
    let Some(whole) = whole else { return };
    if !is_compatible(module, draft.shape(whole), draft.shape(id)) || draft.has_control_edges(id) {
        return;
    }
    replace(draft, id, whole, false, effects);
}

/// An element of a tuple that was put together here is what was put in.
fn simplify_element(draft: &mut Draft, id: InstructionId, effects: &Effects) {
    let module = &draft.module;
    let mut numbers = Vec::new();
    let mut at = id;
    while draft.opcode(at) == Opcode::GetTupleElement {
        match (element_number(module, at), module.operands(at).first()) {
            (Some(n), Some(of)) => {
                numbers.push(n);
                at = *of;
            }
            _ => return,
        }
    }
    while let Some(n) = numbers.pop() {
        if draft.opcode(at) != Opcode::Tuple {
            return;
        }
        match module.operands(at).get(n as usize) {
            Some(element) => at = *element,
            None => return,
        }
    }
    replace(draft, id, at, true, effects);
}

fn replace(draft: &mut Draft, old: InstructionId, new: InstructionId, is_element: bool, effects: &Effects) {
    let module = &draft.module;
    if let (Some(a), Some(b)) = (module.attribute(old, "sharding"), module.attribute(new, "sharding"))
        && a != b
    {
        return;
    }
    if is_element {
        let (before, after) = (module.control_predecessors(old).to_vec(), draft.successors(old).to_vec());
        draft.drop_edges(old);
        for b in before {
            draft.add_edge(b, new);
        }
        for a in after {
            draft.add_edge(new, a);
        }
    }
    draft.replace_all(old, new);
    let has_name =
        |id: InstructionId| draft.module.attribute(id, "metadata").is_some_and(|m| m.contains("op_name="));
    if has_name(old) && !has_name(new) {
        let metadata = draft.module.attribute(old, "metadata").unwrap_or("").to_owned();
        draft.module.set_attribute(new, "metadata", &metadata);
    }
    if draft.opcode(old) == draft.opcode(new) {
        draft.take_name(new, old);
    }
    if draft.users(old).is_empty() && !draft.module.is_root(old) {
        draft.remove(old, is_element, effects);
    }
}

fn remove_dead(draft: &mut Draft, effects: &Effects) {
    draft.remove_unreachable();
    let mut seen = vec![false; draft.module.computations.len()];
    let mut work = vec![draft.module.entry];
    seen[draft.module.entry.index()] = true;
    while let Some(c) = work.pop() {
        // Only what is found dead below takes the computations that it called with it. What goes with the fusion's results
        // or operands leaves them behind, for the next clean-up to find.
        draft.spare_callees = true;
        if let Some(fusion) = draft.fusion_of(c) {
            drop_unused_results(draft, fusion, c, effects);
        }
        draft.spare_callees = false;
        let dead: Vec<InstructionId> = draft
            .stored(c)
            .into_iter()
            .filter(|i| draft.is_removable(*i, effects) && !draft.has_control_edges(*i))
            .collect();
        for id in dead {
            if draft.is_alive(id) {
                draft.remove(id, false, effects);
            }
        }
        draft.spare_callees = true;
        if let Some(fusion) = draft.fusion_of(c) {
            let module = &draft.module;
            let keep: Vec<bool> = module
                .computation(c)
                .parameters
                .iter()
                .map(|p| !draft.users(*p).is_empty() || module.is_root(*p))
                .collect();
            if keep.contains(&false) {
                let operands = module.operands(fusion).to_vec();
                draft.keep_parameters(fusion, &keep);
                // What only the fusion read is dead in a computation that was looked at already.
                for operand in operands {
                    if draft.is_removable(operand, effects) && !draft.has_control_edges(operand) {
                        draft.remove(operand, false, effects);
                    }
                }
            }
        }
        draft.spare_callees = false;
        for id in draft.stored(c) {
            for callee in draft.module.called(id) {
                if !std::mem::replace(&mut seen[callee.index()], true) {
                    work.push(*callee);
                }
            }
        }
    }
    draft.remove_unreachable();
}

/// A fusion makes only those elements of its result that somebody takes.
fn drop_unused_results(draft: &mut Draft, fusion: InstructionId, body: ComputationId, effects: &Effects) {
    let module = &draft.module;
    let root = module.root(body);
    let users = draft.users(fusion).to_vec();
    if draft.opcode(root) != Opcode::Tuple
        || draft.has_control_edges(fusion)
        || module.attribute(fusion, "output_to_operand_aliasing").is_some()
        || module.attribute(fusion, "kind") == Some("kCustom")
        || module.is_root(fusion)
        || users.is_empty()
        || users.iter().any(|u| draft.opcode(*u) != Opcode::GetTupleElement)
    {
        return;
    }
    let elements = module.operands(root).to_vec();
    let mut used = vec![false; elements.len()];
    for user in &users {
        match element_number(module, *user).and_then(|n| used.get_mut(n as usize)) {
            Some(slot) => *slot = true,
            None => return,
        }
    }
    if !used.contains(&false) {
        return;
    }
    let kept: Vec<InstructionId> = elements.iter().zip(&used).filter(|(_, u)| **u).map(|(e, _)| *e).collect();
    if let [only] = kept[..] {
        draft.module.set_root(only);
        draft.module.set_shape(fusion, draft.shape(only));
        draft.remove(root, false, effects);
        for user in users {
            draft.replace_all(user, fusion);
            draft.remove(user, false, effects);
        }
        return;
    }
    let shapes: Vec<ShapeId> = kept.iter().map(|e| draft.shape(*e)).collect();
    let Ok(shape) = draft.module.shapes.intern_tuple(&shapes) else { return };
    let new_root = draft.add(body, Opcode::Tuple, shape, &kept);
    draft.module.set_root(new_root);
    draft.take_name(new_root, root);
    draft.remove(root, false, effects);
    draft.module.set_shape(fusion, shape);
    let numbers: Vec<u32> = used
        .iter()
        .scan(0, |next, used| {
            let number = *next;
            *next += u32::from(*used);
            Some(number)
        })
        .collect();
    for user in users {
        if let Some(number) = element_number(&draft.module, user).and_then(|n| numbers.get(n as usize)) {
            draft.module.set_attribute(user, "index", &number.to_string());
        }
    }
}
