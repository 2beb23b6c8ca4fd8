//! Phase A: a copy wherever values might get in each other's way (11.2).

use crate::draft::{Draft, Operands};
use crate::story::{Place, Rule};
use crate::{Error, Made};
use analysis::{Facts, Position};
use hlo::{InstructionId, Opcode, ShapeIndex};

/// Adds them. Many are not needed; the next phase finds out which.
pub(crate) fn add_copies(draft: &mut Draft, made: &mut Vec<Made>) -> Result<(), Error> {
    let facts = draft.facts()?;
    let mut adder = Adder { draft, facts: &facts, made };
    for c in adder.draft.callee_first.clone() {
        if adder.draft.is_fusion_body(c) || adder.draft.is_async_wrapped(c) {
            continue;
        }
        for id in adder.draft.post_order(c) {
            match adder.draft.opcode(id) {
                Opcode::While => adder.around_loop(id),
                Opcode::Conditional => adder.in_branches(id),
                Opcode::Send | Opcode::Recv | Opcode::CopyStart => adder.around_transfer(id),
                _ => adder.before_in_place(id),
            }
        }
    }
    adder.around_donations();
    Ok(())
}

struct Adder<'a> {
    draft: &'a mut Draft,
    facts: &'a Facts,
    made: &'a mut Vec<Made>,
}

impl Adder<'_> {
    fn places(&self, id: InstructionId) -> usize {
        self.draft.module.shapes.subshapes(self.draft.shape(id)).len()
    }

    fn index(&self, id: InstructionId, sub: u32) -> ShapeIndex {
        Place::new(&self.draft.module, id, sub).index
    }

    fn values(&self, instruction: InstructionId, sub: usize) -> &[analysis::ValueId] {
        self.facts.dataflow.at(Position { instruction, sub: sub as u32 })
    }

    fn deep_copy(
        &mut self,
        of: InstructionId,
        chosen: &[bool],
        rule: impl Fn(ShapeIndex) -> Rule,
    ) -> (InstructionId, Vec<(u32, InstructionId)>) {
        let (result, copies) = self.draft.deep_copy(of, chosen);
        for (sub, copy) in &copies {
            let index = self.index(of, *sub);
            let place = Place::new(&self.draft.module, of, *sub);
            self.made.push(Made { copy: *copy, of: place, rule: rule(index) });
        }
        (result, copies)
    }

    /// (a)
    fn around_loop(&mut self, id: InstructionId) {
        let Some(&init) = self.draft.module.operands(id).first() else { return };
        let Some(&body) = self.draft.module.called(id).first() else { return };
        let Some(&parameter) = self.draft.module.computation(body).parameters.first() else { return };
        let chosen: Vec<bool> = (0..self.places(id))
            .map(|sub| {
                let (before, after) = (self.values(init, sub), self.values(id, sub));
                before.len() != 1 || before != after
            })
            .collect();
        if !chosen.contains(&true) {
            return;
        }
        let (copied, _) = self.deep_copy(init, &chosen, |index| Rule::LoopInit { at: id, index });
        self.draft.replace_in(id, init, copied, Operands::Number(0));

        let users = self.draft.users(parameter).to_vec();
        let rule = |index| Rule::LoopParameter { at: id, index };
        let (state, at_parameter) = self.deep_copy(parameter, &chosen, rule);
        let root = self.draft.module.root(body);
        let rule = |index| Rule::LoopResult { at: id, index };
        let (result, at_root) = self.deep_copy(root, &chosen, rule);
        self.pair(&at_parameter, &at_root);
        for user in users {
            self.draft.replace_in(user, parameter, state, Operands::All);
        }
        self.draft.module.set_root(result);
    }

    /// The later copy waits for the earlier one of the same place.
    fn pair(&mut self, earlier: &[(u32, InstructionId)], later: &[(u32, InstructionId)]) {
        // Both come from the same choice, so that places agree one by one.
        for ((a, before), (b, after)) in earlier.iter().zip(later) {
            if a == b {
                self.draft.add_edge(*before, *after);
            }
        }
    }

    /// (b)
    fn in_branches(&mut self, id: InstructionId) {
        let chosen: Vec<bool> = (0..self.places(id))
            .map(|sub| match self.values(id, sub) {
                [one] => {
                    let value = self.facts.value(*one);
                    value.is_phi && value.defined_at() == Position { instruction: id, sub: sub as u32 }
                }
                _ => false,
            })
            .collect();
        if !chosen.contains(&true) {
            return;
        }
        for (n, branch) in self.draft.module.called(id).to_vec().into_iter().enumerate() {
            let root = self.draft.module.root(branch);
            let users = self.draft.users(root).to_vec();
            let rule = |index| Rule::BranchResult { at: id, branch: n as u32, index };
            let (result, _) = self.deep_copy(root, &chosen, rule);
            for user in users {
                self.draft.replace_in(user, root, result, Operands::All);
            }
            self.draft.module.set_root(result);
        }
    }

    /// (d)
    fn before_in_place(&mut self, id: InstructionId) {
        let mut operands: Vec<u32> = Vec::new();
        for pair in self.facts.in_place.of(id) {
            if !operands.contains(&pair.operand) {
                operands.push(pair.operand);
            }
        }
        let disjoint = self
            .draft
            .module
            .attribute(id, "frontend_attributes")
            .is_some_and(|a| a.contains("_xla_disjoint_read_write_regions"));
        for operand in operands {
            let Some(&read) = self.draft.module.operands(id).get(operand as usize) else { continue };
            if disjoint && self.draft.users(read) == [id] {
                continue;
            }
            let all = vec![true; self.places(read)];
            let rule = |index| Rule::InPlaceOperand { at: id, operand, index };
            let (copied, _) = self.deep_copy(read, &all, rule);
            self.draft.replace_in(id, read, copied, Operands::Number(operand));
        }
    }

    /// (c), for values that may not be copied while they are under way (11.2.2).
    fn around_transfer(&mut self, start: InstructionId) {
        let is_done = |opcode| matches!(opcode, Opcode::SendDone | Opcode::RecvDone | Opcode::CopyDone);
        let [user] = self.draft.users(start) else { return };
        let user = *user;
        if is_done(self.draft.opcode(user)) {
            return;
        }
        let computation = self.draft.computation(start);
        let copy_operand = |adder: &mut Self| -> Option<InstructionId> {
            let operand = *adder.draft.module.operands(start).first()?;
            let all = vec![true; adder.places(operand)];
            let (copied, _) = adder.deep_copy(operand, &all, |_| Rule::Transfer { at: start });
            adder.draft.replace_in(start, operand, copied, Operands::Number(0));
            Some(copied)
        };
        if self.draft.opcode(user) != Opcode::Tuple {
            return;
        }
        if let [only] = self.draft.users(user)
            && self.draft.opcode(*only) == Opcode::While
        {
            copy_operand(self);
            return;
        }
        // The rotated form: the transfer ends in the next turn of the loop.
        let is_body = self.facts.graph.callers(computation).iter().any(|site| {
            self.draft.opcode(*site) == Opcode::While
                && self.draft.module.called(*site).first() == Some(&computation)
        });
        if !is_body || self.draft.module.root(computation) != user {
            return;
        }
        let element = self.draft.module.operands(user).iter().position(|o| *o == start);
        let Some(&parameter) = self.draft.module.computation(computation).parameters.first() else { return };
        let done = self.draft.users(parameter).iter().find_map(|g| {
            let number: Option<usize> = self.draft.module.attribute(*g, "index").and_then(|v| v.parse().ok());
            if number.is_none() || number != element {
                return None;
            }
            self.draft.users(*g).iter().copied().find(|d| is_done(self.draft.opcode(*d)))
        });
        let Some(done) = done else { return };
        if let Some(copied) = copy_operand(self) {
            self.draft.add_edge(done, copied);
        }
        self.draft.add_edge(done, start);
        let users = self.draft.users(done).to_vec();
        if !users.is_empty() {
            let all = vec![true; self.places(done)];
            let (copied, copies) = self.deep_copy(done, &all, |_| Rule::Transfer { at: start });
            for user in users {
                self.draft.replace_in(user, done, copied, Operands::All);
            }
            for (_, copy) in copies {
                self.draft.add_edge(copy, start);
            }
        }
    }

    /// (e)
    fn around_donations(&mut self) {
        let entry = self.draft.module.entry;
        let mut aliases = self.draft.module.input_output_alias.clone();
        if aliases.is_empty() {
            return;
        }
        aliases.sort_by(|a, b| a.output.cmp(&b.output));
        let parameters = self.draft.module.computation(entry).parameters.clone();
        let mut at_parameters: Vec<Vec<(u32, InstructionId)>> = vec![Vec::new(); parameters.len()];
        let mut any = false;
        for (n, &parameter) in parameters.iter().enumerate() {
            let mut chosen = vec![false; self.places(parameter)];
            for alias in aliases.iter().filter(|a| a.parameter as usize == n) {
                let shape = self.draft.shape(parameter);
                if let Some(sub) = self.draft.module.shapes.find(shape, &alias.parameter_index.0) {
                    chosen[sub as usize] = true;
                }
            }
            if !chosen.contains(&true) {
                continue;
            }
            any = true;
            let users = self.draft.users(parameter).to_vec();
            let rule = |index| Rule::DonatedParameter { at: parameter, index };
            let (copied, copies) = self.deep_copy(parameter, &chosen, rule);
            at_parameters[n] = copies;
            for user in users {
                self.draft.replace_in(user, parameter, copied, Operands::All);
            }
            if self.draft.module.root(entry) == parameter {
                self.draft.module.set_root(copied);
            }
        }
        if !any {
            return;
        }
        let root = self.draft.module.root(entry);
        let shape = self.draft.shape(root);
        let mut chosen = vec![false; self.places(root)];
        let place = |adder: &Self, index: &ShapeIndex| adder.draft.module.shapes.find(shape, &index.0);
        for alias in &aliases {
            if let Some(sub) = place(self, &alias.output) {
                chosen[sub as usize] = true;
            }
        }
        let donor = |index: &ShapeIndex| {
            let alias = aliases.iter().find(|a| a.output == *index);
            alias.and_then(|a| parameters.get(a.parameter as usize)).copied().unwrap_or(root)
        };
        let rule = |index: ShapeIndex| Rule::DonatedOutput { parameter: donor(&index), index };
        let (result, at_outputs) = self.deep_copy(root, &chosen, rule);
        self.draft.module.set_root(result);
        for alias in &aliases {
            let Some(&parameter) = parameters.get(alias.parameter as usize) else { continue };
            let inner = self.draft.module.shapes.find(self.draft.shape(parameter), &alias.parameter_index.0);
            let outer = place(self, &alias.output);
            let find = |copies: &[(u32, InstructionId)], sub: Option<u32>| {
                copies.iter().find(|(s, _)| Some(*s) == sub).map(|(_, c)| *c)
            };
            let copies = &at_parameters[alias.parameter as usize];
            if let (Some(before), Some(after)) = (find(copies, inner), find(&at_outputs, outer)) {
                self.draft.add_edge(before, after);
            }
        }
    }
}
