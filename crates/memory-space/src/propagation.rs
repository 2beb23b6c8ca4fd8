//! Memory spaces of fusion calls carried into the fusions (MEMORY_SPACE 29).
//!
//! Memory space assignment colours what stands in the schedule. Inside a fusion the parameter and the root stand for the same
//! memory as the call's operand and result, so they get their space, and so does whatever is the same value there.

use hlo::{ComputationId, InstructionId, Module, Opcode, Shape, ShapeId};
use std::collections::{BTreeMap, BTreeSet};

/// A place inside an instruction's result, by pre-order number of its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The instruction.
    pub instruction: InstructionId,
    /// The place in its shape.
    pub sub: u32,
}

/// A place that gets another memory space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Where.
    pub place: Place,
    /// The space it had.
    pub from: u32,
    /// The space it gets.
    pub to: u32,
}

/// Why a place gets its space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It is the parameter for an operand of a call in the schedule.
    Operand {
        /// The call.
        call: InstructionId,
        /// The operand.
        operand: u32,
    },
    /// It is the root, so the result of a call in the schedule.
    Result {
        /// The call.
        call: InstructionId,
    },
    /// It is another position of the same value.
    SameValue {
        /// The position.
        of: Place,
    },
    /// It is what an update in place is written over.
    InPlace {
        /// The update.
        of: Place,
    },
    /// It is inside a fusion what that is outside.
    Into {
        /// Outside.
        of: Place,
    },
    /// It is outside a fusion what that is inside.
    Out {
        /// Inside.
        of: Place,
    },
    /// The computation has it so itself.
    Own,
}

/// One place that is given its space, in the order in which that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Where.
    pub place: Place,
    /// The space it had.
    pub from: u32,
    /// The space it gets.
    pub to: u32,
    /// Why.
    pub cause: Cause,
}

/// The same as [`propagate`], step by step; places that have their space already are among the steps.
pub fn spread(module: &Module) -> Vec<Spread> {
    run(module).log
}

/// What changes in the interiors of fusions, in order of place.
pub fn propagate(module: &Module) -> Vec<Change> {
    run(module).changes()
}

fn run(module: &Module) -> Propagation<'_> {
    let mut propagation = Propagation::new(module);
    for computation in module.computation_ids() {
        if propagation.fusions.contains_key(&computation) {
            continue;
        }
        for id in &module.computation(computation).instructions {
            propagation.call(*id);
        }
    }
    propagation
}

/// What changes if a computation's own parameters and root have these spaces already: the same from within.
pub fn propagate_within(module: &Module, computation: ComputationId) -> Vec<Change> {
    let mut propagation = Propagation::new(module);
    let root = module.root(computation);
    for id in module.computation(computation).parameters.iter().copied().chain([root]) {
        for sub in propagation.leaves(id) {
            let space = propagation.space_of_shape(Place { instruction: id, sub });
            propagation.push(Place { instruction: id, sub }, space, Cause::Own);
        }
    }
    propagation.changes()
}

/// Writes changes into the module's shapes. Gives how many could not be written because the module's shapes would take too
/// much memory.
pub fn apply(module: &mut Module, changes: &[Change]) -> usize {
    let mut by_instruction: BTreeMap<InstructionId, BTreeMap<u32, u32>> = BTreeMap::new();
    for change in changes {
        by_instruction.entry(change.place.instruction).or_default().insert(change.place.sub, change.to);
    }
    let mut refused = 0;
    for (id, spaces) in by_instruction {
        match with_spaces(module, module.instruction(id).shape, &spaces) {
            Some(shape) => module.set_shape(id, shape),
            None => refused += 1,
        }
    }
    refused
}

/// The shape with other memory spaces at some places, built from the leaves up.
fn with_spaces(module: &mut Module, shape: ShapeId, spaces: &BTreeMap<u32, u32>) -> Option<ShapeId> {
    let places: Vec<(Vec<u32>, ShapeId)> =
        module.shapes.subshapes(shape).iter().map(|s| (s.index.0.to_vec(), s.shape)).collect();
    let mut made: Vec<ShapeId> = places.iter().map(|(_, shape)| *shape).collect();
    for at in (0..places.len()).rev() {
        let (index, old) = &places[at];
        if let Shape::Tuple(elements) = module.shapes.get(*old) {
            // The elements of a tuple stand behind it, each one longer in index.
            let count = elements.len();
            let mut parts = Vec::with_capacity(count);
            for (other, (inner, _)) in places.iter().enumerate().skip(at + 1) {
                if inner.len() == index.len() + 1 && inner.starts_with(index) {
                    parts.push(made[other]);
                }
                if parts.len() == count {
                    break;
                }
            }
            made[at] = module.shapes.intern_tuple(&parts).ok()?;
        } else if let Some(space) = spaces.get(&(at as u32)) {
            let text = with_space(module.shapes.long(*old), *space);
            made[at] = module.shapes.intern(&text).ok()?;
        }
    }
    made.first().copied()
}

/// `f32[8]{0:T(128)S(1)}` with another number behind `S`.
fn with_space(text: &str, space: u32) -> String {
    let Some((head, layout)) = text.rsplit_once('{') else { return text.to_owned() };
    let layout = layout.trim_end_matches('}');
    let mut parts = layout.splitn(2, ':');
    let order = parts.next().unwrap_or_default();
    let mut rest = parts.next().unwrap_or_default().to_owned();
    if let Some(start) = rest.find("S(") {
        let end = rest[start..].find(')').map_or(rest.len(), |end| start + end + 1);
        rest.replace_range(start..end, "");
    }
    if space != 0 {
        // What is split stands behind the space.
        let at = rest.find("SC(").unwrap_or(rest.len());
        rest.insert_str(at, &format!("S({space})"));
    }
    if rest.is_empty() { format!("{head}{{{order}}}") } else { format!("{head}{{{order}:{rest}}}") }
}

struct Propagation<'m> {
    module: &'m Module,
    /// The call of each fusion.
    fusions: BTreeMap<ComputationId, InstructionId>,
    /// All places of a value, by the place that defines it.
    positions: BTreeMap<Place, Vec<Place>>,
    /// Who reads an instruction.
    readers: BTreeMap<InstructionId, Vec<(InstructionId, u32)>>,
    spaces: BTreeMap<Place, u32>,
    log: Vec<Spread>,
}

impl<'m> Propagation<'m> {
    fn new(module: &'m Module) -> Self {
        let mut fusions = BTreeMap::new();
        let mut readers: BTreeMap<InstructionId, Vec<(InstructionId, u32)>> = BTreeMap::new();
        for id in module.instruction_ids() {
            if module.instruction(id).opcode == Opcode::Fusion
                && let Some(callee) = module.called(id).first()
            {
                fusions.insert(*callee, id);
            }
            for (operand, from) in module.operands(id).iter().enumerate() {
                readers.entry(*from).or_default().push((id, operand as u32));
            }
        }
        let mut this = Self {
            module,
            fusions,
            positions: BTreeMap::new(),
            readers,
            spaces: BTreeMap::new(),
            log: Vec::new(),
        };
        for id in module.instruction_ids() {
            if this.fusions.contains_key(&module.instruction(id).computation) {
                for sub in this.leaves(id) {
                    let place = Place { instruction: id, sub };
                    let value = this.value(place);
                    this.positions.entry(value).or_default().push(place);
                }
            }
        }
        this
    }

    /// Places of arrays in an instruction's result.
    fn leaves(&self, id: InstructionId) -> Vec<u32> {
        let shape = self.module.instruction(id).shape;
        let places = self.module.shapes.subshapes(shape).iter().enumerate();
        places.filter(|(_, s)| self.module.shapes.is_array(s.shape)).map(|(sub, _)| sub as u32).collect()
    }

    fn space_of_shape(&self, place: Place) -> u32 {
        let shape = self.module.instruction(place.instruction).shape;
        let inner = self.module.shapes.subshapes(shape).get(place.sub as usize);
        inner.map_or(0, |s| self.module.shapes.memory_space(s.shape))
    }

    /// The place that defines the value at a place: tuples and their elements define nothing, bitcasts do.
    fn value(&self, mut place: Place) -> Place {
        let shapes = &self.module.shapes;
        // Each round goes to an operand, which stands before.
        loop {
            let instruction = self.module.instruction(place.instruction);
            let Some(at) = shapes.subshapes(instruction.shape).get(place.sub as usize) else { return place };
            let operands = self.module.operands(place.instruction);
            let next = match instruction.opcode {
                Opcode::GetTupleElement => operands.first().and_then(|from| {
                    let element = self.module.attribute(place.instruction, "index")?.trim().parse().ok()?;
                    let mut index = vec![element];
                    index.extend(at.index.0.iter().copied());
                    let sub = shapes.find(self.module.instruction(*from).shape, &index)?;
                    Some(Place { instruction: *from, sub })
                }),
                Opcode::Tuple => at.index.0.split_first().and_then(|(element, inner)| {
                    let from = operands.get(*element as usize)?;
                    let sub = shapes.find(self.module.instruction(*from).shape, inner)?;
                    Some(Place { instruction: *from, sub })
                }),
                _ => None,
            };
            match next {
                Some(next) if next < place => place = next,
                _ => return place,
            }
        }
    }

    /// A call in the schedule: operands and results say what stands inside.
    fn call(&mut self, id: InstructionId) {
        let module = self.module;
        let instruction = module.instruction(id);
        if instruction.opcode != Opcode::Fusion {
            return;
        }
        let Some(callee) = module.called(id).first() else { return };
        for (operand, from) in module.operands(id).iter().enumerate() {
            let Some(parameter) = module.computation(*callee).parameters.get(operand) else { continue };
            for sub in self.leaves(*from) {
                let space = self.space_of_shape(Place { instruction: *from, sub });
                let cause = Cause::Operand { call: id, operand: operand as u32 };
                self.push(Place { instruction: *parameter, sub }, space, cause);
            }
        }
        let root = module.root(*callee);
        for sub in self.leaves(id) {
            let space = self.space_of_shape(Place { instruction: id, sub });
            self.push(Place { instruction: root, sub }, space, Cause::Result { call: id });
        }
    }

    /// Gives a space to the value at a place and to all that are the same memory.
    fn push(&mut self, place: Place, space: u32, cause: Cause) {
        let mut waiting = vec![(place, cause)];
        let mut seen = BTreeSet::new();
        while let Some((place, cause)) = waiting.pop() {
            let value = self.value(place);
            if !seen.insert(value) {
                continue;
            }
            let positions = self.positions.get(&value).cloned().unwrap_or_default();
            for position in positions {
                let from =
                    self.spaces.insert(position, space).unwrap_or_else(|| self.space_of_shape(position));
                let cause = if position == place { cause } else { Cause::SameValue { of: place } };
                self.log.push(Spread { place: position, from, to: space, cause });
                self.same_memory(position, &mut waiting);
            }
        }
    }

    /// Places that are the same memory as this one, across the borders of fusions.
    fn same_memory(&self, place: Place, waiting: &mut Vec<(Place, Cause)>) {
        let module = self.module;
        let instruction = module.instruction(place.instruction);
        let sub = place.sub;
        match instruction.opcode {
            Opcode::DynamicUpdateSlice => {
                if let Some(from) = module.operands(place.instruction).first() {
                    waiting.push((Place { instruction: *from, sub }, Cause::InPlace { of: place }));
                }
            }
            Opcode::Fusion => {
                if let Some(callee) = module.called(place.instruction).first() {
                    let root = module.root(*callee);
                    waiting.push((Place { instruction: root, sub }, Cause::Into { of: place }));
                }
            }
            _ => {}
        }
        // Outwards, as long as the call is inside a fusion itself.
        if let Some(call) = self.fusions.get(&instruction.computation)
            && self.fusions.contains_key(&module.instruction(*call).computation)
        {
            if module.is_root(place.instruction) {
                waiting.push((Place { instruction: *call, sub }, Cause::Out { of: place }));
            }
            let number = module.parameter_number(place.instruction);
            if let Some(from) = number.and_then(|n| module.operands(*call).get(n as usize)) {
                waiting.push((Place { instruction: *from, sub }, Cause::Out { of: place }));
            }
        }
        for (reader, operand) in self.readers.get(&place.instruction).into_iter().flatten() {
            if module.instruction(*reader).opcode == Opcode::Fusion
                && let Some(callee) = module.called(*reader).first()
                && let Some(parameter) = module.computation(*callee).parameters.get(*operand as usize)
            {
                waiting.push((Place { instruction: *parameter, sub }, Cause::Into { of: place }));
            }
        }
    }

    fn changes(&self) -> Vec<Change> {
        let change = |(place, space): (&Place, &u32)| {
            let from = self.space_of_shape(*place);
            (from != *space).then_some(Change { place: *place, from, to: *space })
        };
        self.spaces.iter().filter_map(change).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of the module that changed, afterwards.
    fn check(text: &str, expected: &[&str]) {
        let mut module = hlo::read(text).complete().unwrap();
        let changes = propagate(&module);
        assert_eq!(apply(&mut module, &changes), 0);
        let mut ids: Vec<InstructionId> = changes.iter().map(|c| c.place.instruction).collect();
        ids.dedup();
        let found: Vec<String> = ids
            .iter()
            .map(|id| {
                format!("{} {}", module.name_of(*id), module.shapes.long(module.instruction(*id).shape))
            })
            .collect();
        assert_eq!(found, expected);
        assert_eq!(propagate(&module), [], "nothing is left to do");
    }

    #[test]
    fn operands_and_results_of_a_fusion() {
        check(
            "HloModule m, is_scheduled=true\n\
             f {\n  p0 = f32[8]{0} parameter(0)\n  p1 = f32[8]{0} parameter(1)\n  b = f32[8]{0} bitcast(p0)\n  \
             ROOT a = f32[8]{0} add(b, p1)\n}\n\
             ENTRY e {\n  x = f32[8]{0:S(1)} parameter(0)\n  y = f32[8]{0} parameter(1)\n  \
             ROOT r = f32[8]{0:S(1)} fusion(x, y), kind=kLoop, calls=f\n}\n",
            &["p0 f32[8]{0:S(1)}", "a f32[8]{0:S(1)}"],
        );
    }

    #[test]
    fn tuples_nested_fusions_and_updates_in_place() {
        check(
            "HloModule m, is_scheduled=true\n\
             g {\n  q0 = f32[8]{0} parameter(0)\n  q1 = f32[2]{0} parameter(1)\n  i = s32[] constant(0)\n  \
             ROOT d = f32[8]{0} dynamic-update-slice(q0, q1, i)\n}\n\
             f {\n  p0 = f32[8]{0} parameter(0)\n  p1 = f32[2]{0} parameter(1)\n  \
             n = f32[8]{0} fusion(p0, p1), kind=kLoop, calls=g\n  ROOT t = (f32[8]{0}, f32[2]{0}) tuple(n, p1)\n}\n\
             ENTRY e {\n  x = f32[8]{0} parameter(0)\n  y = f32[2]{0} parameter(1)\n  \
             ROOT r = (f32[8]{0:S(1)}, f32[2]{0}) fusion(x, y), kind=kLoop, calls=f\n}\n",
            &[
                "q0 f32[8]{0:S(1)}",
                "d f32[8]{0:S(1)}",
                "p0 f32[8]{0:S(1)}",
                "n f32[8]{0:S(1)}",
                "t (f32[8]{0:S(1)}, f32[2]{0})",
            ],
        );
    }

    #[test]
    fn layouts_keep_what_else_they_say() {
        assert_eq!(with_space("f32[8,4]{1,0:T(8,128)S(1)}", 0), "f32[8,4]{1,0:T(8,128)}");
        assert_eq!(with_space("s4[8]{0:T(8)E(4)SC(0:4)}", 5), "s4[8]{0:T(8)E(4)S(5)SC(0:4)}");
        assert_eq!(with_space("f32[8]{0:S(1)}", 0), "f32[8]{0}");
        assert_eq!(with_space("f32[8]{0}", 2), "f32[8]{0:S(2)}");
    }
}
