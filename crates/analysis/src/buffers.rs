//! HLO buffers: values that must share one address (alias analysis, 3).

use crate::values::{Position, Value, Values};
use crate::{Backend, BufferId, CallGraph, Color, Orders, Target, ValueId};
use hlo::{InstructionId, Module, Opcode, ShapeIndex};
use rustc_hash::FxHashMap;
use sorts::Arrange as _;

/// Values that must share one address.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// XLA's number.
    pub id: BufferId,
    /// Its values, by id.
    pub values: Vec<ValueId>,
    /// Bytes: the largest of its values.
    pub size: u64,
    /// Its memory space.
    pub color: Color,
    /// Is any of its values a part of the result (3.2)?
    pub live_out: bool,
}

/// An operand whose buffer the result must take (3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InPlacePair {
    /// The operand's number.
    pub operand: u32,
    /// The place in the operand, by pre-order number.
    pub operand_sub: u32,
    /// The place in the result, by pre-order number.
    pub output_sub: u32,
}

/// All in-place pairs of a module, by instruction.
#[derive(Debug, Default)]
pub struct InPlacePairs(FxHashMap<InstructionId, Vec<InPlacePair>>);

impl InPlacePairs {
    /// The pairs of one instruction.
    #[must_use]
    pub fn of(&self, id: InstructionId) -> &[InPlacePair] {
        self.0.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Finds them all (3.1).
    #[must_use]
    pub fn new(module: &Module, orders: &Orders, target: &Target) -> Self {
        let mut pairs = Self::default();
        // Bodies before the fusions that hold them, so that nested fusions are known when they are needed.
        for &c in &orders.callee_first {
            for &id in &module.computation(c).instructions {
                let found = pairs.find(module, id, target);
                if !found.is_empty() {
                    pairs.0.insert(id, found);
                }
            }
        }
        pairs
    }

    fn find(&self, module: &Module, id: InstructionId, target: &Target) -> Vec<InPlacePair> {
        let shapes = &module.shapes;
        let instruction = module.instruction(id);
        let operands = module.operands(id);
        let sub = |index: &[u32]| shapes.find(instruction.shape, index);
        let whole = |operand: u32| vec![InPlacePair { operand, operand_sub: 0, output_sub: 0 }];
        let per_output = |count: usize| {
            if count == 1 {
                return whole(0);
            }
            (0..count as u32)
                .filter_map(|i| Some(InPlacePair { operand: i, operand_sub: 0, output_sub: sub(&[i])? }))
                .collect()
        };
        match instruction.opcode {
            Opcode::DynamicUpdateSlice | Opcode::SetDimensionSize => whole(0),
            // Data operands, one index operand, as many updates as data operands.
            Opcode::Scatter => per_output((operands.len().saturating_sub(1) / 2).max(1)),
            Opcode::AllReduceStart => per_output(operands.len()),
            Opcode::RaggedAllToAll => whole(1),
            Opcode::CollectivePermute if operands.len() == 4 => self.permute_pairs(module, id, &[]),
            Opcode::CollectivePermuteStart if operands.len() == 4 && sub(&[0, 0]).is_none() => {
                self.permute_pairs(module, id, &[1])
            }
            // libtpu annotates the later links of a chain as well, where they carry on scratch memory.
            Opcode::CustomCall | Opcode::AsyncStart | Opcode::AsyncUpdate => annotated_pairs(module, id),
            Opcode::Fusion => {
                let mut out = self.fusion_pairs(module, id, target);
                for pair in annotated_pairs(module, id) {
                    if !out.contains(&pair) {
                        out.push(pair);
                    }
                }
                out
            }
            _ => Vec::new(),
        }
    }

    /// The four-operand collective-permute writes into its second operand.
    #[allow(clippy::unused_self, reason = "one of the finders above")]
    fn permute_pairs(&self, module: &Module, id: InstructionId, output: &[u32]) -> Vec<InPlacePair> {
        let shapes = &module.shapes;
        let result = module.instruction(id).shape;
        let Some(&target) = module.operands(id).get(1) else { return Vec::new() };
        let target = module.instruction(target).shape;
        let Some(first) = shapes.find(result, output) else { return Vec::new() };
        (0..shapes.subshapes(target).len() as u32)
            .map(|i| InPlacePair { operand: 1, operand_sub: i, output_sub: first + i })
            .collect()
    }

    fn fusion_pairs(&self, module: &Module, id: InstructionId, target: &Target) -> Vec<InPlacePair> {
        let shapes = &module.shapes;
        let Some(&body) = module.called(id).first() else { return Vec::new() };
        let mut out = Vec::new();
        for (leaf, place) in shapes.subshapes(module.instruction(id).shape).iter().enumerate() {
            if !shapes.is_array(place.shape) {
                continue;
            }
            let (mut at, mut index) = follow(module, module.root(body), place.index.0.to_vec(), target);
            // An in-place operation, then as many nested fusions as it comes through.
            while let Some(output_sub) = shapes.find(module.instruction(at).shape, &index) {
                let Some(pair) = self.of(at).iter().find(|p| p.output_sub == output_sub) else { break };
                let Some(&operand) = module.operands(at).get(pair.operand as usize) else { break };
                let inner = shapes.subshapes(module.instruction(operand).shape);
                let Some(inner) = inner.get(pair.operand_sub as usize) else { break };
                (at, index) = follow(module, operand, inner.index.0.to_vec(), target);
                if let Some(number) = module.parameter_number(at) {
                    if let Some(operand_sub) = shapes.find(module.instruction(at).shape, &index) {
                        out.push(InPlacePair { operand: number, operand_sub, output_sub: leaf as u32 });
                    }
                    break;
                }
                if module.instruction(at).opcode != Opcode::Fusion {
                    break;
                }
            }
        }
        out
    }
}

/// Follows indirections from a place back to the instruction that makes it: tuples, then get-tuple-elements, then bitcasts.
fn follow(
    module: &Module,
    mut at: InstructionId,
    mut index: Vec<u32>,
    target: &Target,
) -> (InstructionId, Vec<u32>) {
    while module.instruction(at).opcode == Opcode::Tuple && !index.is_empty() {
        match module.operands(at).get(index[0] as usize) {
            Some(o) => at = *o,
            None => return (at, index),
        }
        index.remove(0);
    }
    while module.instruction(at).opcode == Opcode::GetTupleElement {
        let element = module.attribute(at, "index").and_then(|v| v.parse().ok());
        match (module.operands(at).first(), element) {
            (Some(o), Some(element)) => {
                at = *o;
                index.insert(0, element);
            }
            _ => return (at, index),
        }
    }
    let transparent =
        |opcode| opcode == Opcode::Bitcast || (opcode == Opcode::Reshape && target.backend == Backend::Gpu);
    while index.is_empty() && transparent(module.instruction(at).opcode) {
        match module.operands(at).first() {
            Some(o) => at = *o,
            None => break,
        }
    }
    (at, index)
}

/// `output_to_operand_aliasing={{0}: (1, {}), ...}`.
fn annotated_pairs(module: &Module, id: InstructionId) -> Vec<InPlacePair> {
    let Some(text) = module.attribute(id, "output_to_operand_aliasing") else { return Vec::new() };
    let shapes = &module.shapes;
    parse_aliasing(text)
        .into_iter()
        .filter_map(|(output, operand, operand_index)| {
            let read = *module.operands(id).get(operand as usize)?;
            Some(InPlacePair {
                operand,
                operand_sub: shapes.find(module.instruction(read).shape, &operand_index.0)?,
                output_sub: shapes.find(module.instruction(id).shape, &output.0)?,
            })
        })
        .collect()
}

/// Reads `{OUTPUT}: (NUMBER, {INDEX}), ...`; whatever is malformed is left out.
fn parse_aliasing(text: &str) -> Vec<(ShapeIndex, u32, ShapeIndex)> {
    let inner = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or("");
    let index = |t: &str| -> ShapeIndex {
        let numbers: Vec<u32> =
            t.trim_matches(['{', '}', ' ']).split(',').filter_map(|n| n.trim().parse().ok()).collect();
        ShapeIndex::from(&numbers[..])
    };
    inner
        .split(')')
        .filter_map(|entry| {
            let (output, rest) = entry.split_once(':')?;
            let (operand, operand_index) = rest.trim().strip_prefix('(')?.split_once(',')?;
            let operand_index = operand_index.split('}').next().unwrap_or("");
            Some((
                index(output.trim_start_matches([',', ' '])),
                operand.trim().parse().ok()?,
                index(operand_index),
            ))
        })
        .collect()
}

/// Why two values must share (3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tie {
    /// An output takes the memory of a donated parameter.
    Donated {
        /// The parameter.
        parameter: InstructionId,
    },
    /// The state goes into a loop.
    LoopInit {
        /// The loop.
        at: InstructionId,
    },
    /// The loop's body or its condition finds the state.
    LoopParameter {
        /// The loop.
        at: InstructionId,
        /// The condition's parameter, not the body's?
        is_condition: bool,
    },
    /// The loop's body leaves the state.
    LoopResult {
        /// The loop.
        at: InstructionId,
    },
    /// A branch gives its result.
    Branch {
        /// The conditional.
        at: InstructionId,
        /// The branch's number.
        branch: u32,
    },
    /// The result is written into the operand.
    InPlace {
        /// The operation.
        at: InstructionId,
        /// Which of its operands.
        operand: u32,
    },
}

/// Two values that must share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Binding {
    /// The one with the smaller number.
    pub first: ValueId,
    /// The other one.
    pub second: ValueId,
    /// Why.
    pub tie: Tie,
}

/// Every pair of values that a rule binds, in the order in which the rules are asked; each pair and rule once. The
/// buffers are what these pairs hold together.
#[must_use]
pub fn bindings(module: &Module, facts: &crate::Facts) -> Vec<Binding> {
    let mut out: Vec<Binding> = Vec::new();
    let mut seen: rustc_hash::FxHashSet<Binding> = rustc_hash::FxHashSet::default();
    for value in facts.values() {
        tied_to(module, &facts.graph, &facts.dataflow, &facts.in_place, value, &mut |others, tie| {
            for other in others.iter().filter(|o| **o != value.id) {
                let binding = Binding { first: value.id.min(*other), second: value.id.max(*other), tie };
                if seen.insert(binding) {
                    out.push(binding);
                }
            }
        });
    }
    out
}

/// All that one value is bound to, rule by rule.
fn tied_to(
    module: &Module,
    graph: &CallGraph,
    values: &Values,
    pairs: &InPlacePairs,
    value: &Value,
    found: &mut impl FnMut(&[ValueId], Tie),
) {
    let result = module.root(module.entry);
    for p in &value.positions {
        let instruction = module.instruction(p.instruction);
        // 2: an output that takes a donated parameter's buffer.
        if p.instruction == result && !module.input_output_alias.is_empty() {
            let index = &module.shapes.subshapes(instruction.shape)[p.sub as usize].index;
            for alias in module.input_output_alias.iter().filter(|a| a.output == *index) {
                let parameters = &module.computation(module.entry).parameters;
                if let Some(&parameter) = parameters.get(alias.parameter as usize)
                    && let Some(sub) =
                        module.shapes.find(module.instruction(parameter).shape, &alias.parameter_index.0)
                {
                    let tie = Tie::Donated { parameter };
                    found(values.at(Position { instruction: parameter, sub }), tie);
                }
            }
        }
        // 3 and 4: the roots of a while's body and of branches.
        if module.is_root(p.instruction) {
            for &at in graph.callers(instruction.computation) {
                let called = || module.called(at).iter().position(|c| *c == instruction.computation);
                let tie = match (module.instruction(at).opcode, called()) {
                    (Opcode::While, Some(0)) => Tie::LoopResult { at },
                    (Opcode::Conditional, branch) => {
                        Tie::Branch { at, branch: branch.unwrap_or_default() as u32 }
                    }
                    _ => continue,
                };
                found(values.at(Position { instruction: at, sub: p.sub }), tie);
            }
        }
        // 5: operations that write in place.
        for pair in pairs.of(p.instruction).iter().filter(|pair| pair.output_sub == p.sub) {
            if let Some(&operand) = module.operands(p.instruction).get(pair.operand as usize) {
                let tie = Tie::InPlace { at: p.instruction, operand: pair.operand };
                found(values.at(Position { instruction: operand, sub: pair.operand_sub }), tie);
            }
        }
    }
    // 3: a value that enters a loop.
    let at = value.defined_at();
    let home = module.instruction(at.instruction).computation;
    if module.instruction(at.instruction).opcode == Opcode::Parameter {
        for &site in graph.callers(home) {
            if module.instruction(site).opcode == Opcode::While {
                let is_condition = module.called(site).first() != Some(&home);
                let tie = Tie::LoopParameter { at: site, is_condition };
                found(values.at(Position { instruction: site, sub: at.sub }), tie);
            }
        }
    }
    for u in &value.uses {
        if module.instruction(u.user).opcode == Opcode::While {
            let tie = Tie::LoopInit { at: u.user };
            found(values.at(Position { instruction: u.user, sub: u.sub }), tie);
        }
        for pair in pairs.of(u.user).iter().filter(|p| p.operand == u.operand && p.operand_sub == u.sub) {
            let tie = Tie::InPlace { at: u.user, operand: u.operand };
            found(values.at(Position { instruction: u.user, sub: pair.output_sub }), tie);
        }
    }
}

/// Which values must share: a partition of them into buffers (3).
pub(crate) fn merge_values(
    module: &Module,
    graph: &CallGraph,
    values: &Values,
    pairs: &InPlacePairs,
) -> Vec<Vec<ValueId>> {
    let mut members: Vec<Vec<ValueId>> = values
        .all
        .iter()
        .enumerate()
        .map(|(i, v)| if v.is_some() { vec![ValueId(i as u32)] } else { Vec::new() })
        .collect();
    let mut slot: Vec<u32> = (0..values.all.len() as u32).collect();
    let mut together: Vec<ValueId> = Vec::new();
    for value in values.all.iter().flatten() {
        together.clear();
        together.push(value.id);
        tied_to(module, graph, values, pairs, value, &mut |others, _| together.extend_from_slice(others));
        if together.len() < 2 {
            continue;
        }
        together.arrange_unstable();
        together.dedup();
        // Into the largest set; among equals the one reached through the smallest value.
        let mut largest = slot[together[0].index()];
        for v in &together {
            let s = slot[v.index()];
            if members[s as usize].len() > members[largest as usize].len() {
                largest = s;
            }
        }
        for v in &together {
            let s = slot[v.index()];
            if s != largest {
                let moved = std::mem::take(&mut members[s as usize]);
                for m in &moved {
                    slot[m.index()] = largest;
                }
                members[largest as usize].extend(moved);
            }
        }
    }
    members.retain(|m| !m.is_empty());
    for m in &mut members {
        m.arrange_unstable();
    }
    members
}
