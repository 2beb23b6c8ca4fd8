//! Changing a module: what a pass needs to add instructions and to redirect operands.
//!
//! Pools only grow; a changed list of another length gets a new place in its pool.

use crate::module::{Attribute, ComputationId, Instruction, InstructionId, Module, Slice, Span};
use crate::{Opcode, ShapeId};

impl Module {
    /// Appends to the module's text; the span stays valid for good.
    ///
    /// Gives an empty span where the text would pass 4 GiB.
    pub fn add_text(&mut self, text: &str) -> Span {
        let end = self.text.len() + text.len();
        if u32::try_from(end).is_err() {
            return Span::default();
        }
        let start = self.text.len() as u32;
        self.text.push_str(text);
        Span { start, len: text.len() as u32 }
    }

    /// Makes an instruction without attributes. It stands nowhere in its computation's order until it is put into
    /// [`crate::Computation::instructions`].
    pub fn add_instruction(
        &mut self,
        computation: ComputationId,
        name: &str,
        opcode: Opcode,
        shape: ShapeId,
        operands: &[InstructionId],
    ) -> InstructionId {
        let id = InstructionId(self.instructions.len() as u32);
        let name = self.add_text(name);
        let opcode_name = self.add_text(opcode.name());
        let operands = append(&mut self.operand_pool, operands);
        self.instructions.push(Instruction {
            name,
            opcode_name,
            payload: Span::default(),
            text: Span::default(),
            opcode,
            shape,
            computation,
            operands,
            control_predecessors: Slice::default(),
            called: Slice::default(),
            attributes: Slice::default(),
        });
        id
    }

    /// Sets the instructions whose results it reads.
    pub fn set_operands(&mut self, id: InstructionId, operands: &[InstructionId]) {
        let old = self.instruction(id).operands;
        self.instructions[id.index()].operands = replace(&mut self.operand_pool, old, operands);
    }

    /// Sets the instructions that must run before it though it does not read them. The attribute
    /// `control-predecessors` stays as it was until [`Module::name_control_predecessors`].
    pub fn set_control_predecessors(&mut self, id: InstructionId, predecessors: &[InstructionId]) {
        let old = self.instruction(id).control_predecessors;
        self.instructions[id.index()].control_predecessors =
            replace(&mut self.operand_pool, old, predecessors);
    }

    /// Writes the attribute `control-predecessors` anew wherever it is not what the links say: after they have been set, or
    /// instructions have got other names.
    pub fn name_control_predecessors(&mut self) {
        for id in self.instruction_ids() {
            let before = self.control_predecessors(id);
            let said = self.attribute(id, "control-predecessors");
            if before.is_empty() {
                if said.is_some() {
                    self.remove_attribute(id, "control-predecessors");
                }
                continue;
            }
            let names: Vec<String> = before.iter().map(|b| format!("%{}", self.name_of(*b))).collect();
            let text = format!("{{{}}}", names.join(", "));
            if said != Some(&text) {
                self.set_attribute(id, "control-predecessors", &text);
            }
        }
    }

    /// Sets the computations it calls. The attributes that name them are not changed.
    pub fn set_called(&mut self, id: InstructionId, called: &[ComputationId]) {
        let old = self.instruction(id).called;
        self.instructions[id.index()].called = replace(&mut self.called_pool, old, called);
    }

    /// Sets one attribute as it is to be printed; a new one is put last.
    pub fn set_attribute(&mut self, id: InstructionId, name: &str, value: &str) {
        let mut list = self.attributes(id).to_vec();
        let value = self.add_text(value);
        match list.iter().position(|a| self.str(a.name) == name) {
            Some(n) => list[n].value = value,
            None => {
                let name = self.add_text(name);
                list.push(Attribute { name, value });
            }
        }
        let old = self.instruction(id).attributes;
        self.instructions[id.index()].attributes = replace(&mut self.attribute_pool, old, &list);
    }

    /// Takes one attribute away, if it is there.
    pub fn remove_attribute(&mut self, id: InstructionId, name: &str) {
        let mut list = self.attributes(id).to_vec();
        list.retain(|a| self.str(a.name) != name);
        let old = self.instruction(id).attributes;
        self.instructions[id.index()].attributes = replace(&mut self.attribute_pool, old, &list);
    }

    /// Gives it another shape.
    pub fn set_shape(&mut self, id: InstructionId, shape: ShapeId) {
        self.instructions[id.index()].shape = shape;
    }

    /// Makes it the root of its computation.
    pub fn set_root(&mut self, id: InstructionId) {
        let computation = self.instruction(id).computation;
        self.computations[computation.index()].root = id;
    }
}

fn append<T: Copy>(pool: &mut Vec<T>, list: &[T]) -> Slice {
    let start = pool.len() as u32;
    pool.extend_from_slice(list);
    Slice { start, len: list.len() as u32 }
}

fn replace<T: Copy>(pool: &mut Vec<T>, old: Slice, list: &[T]) -> Slice {
    if list.len() > old.len as usize {
        return append(pool, list);
    }
    let start = old.start as usize;
    pool[start..start + list.len()].copy_from_slice(list);
    Slice { start: old.start, len: list.len() as u32 }
}
