//! Why two values must share one address: the links between them, one by one (3).
//!
//! Buffers are found by merging sets, which forgets what merged them. This looks the relation up again, for the values
//! of one buffer, and walks the shortest way.

use crate::values::Position;
use crate::{Facts, ValueId};
use hlo::{InstructionId, Module, Opcode};
use std::collections::{BTreeMap, VecDeque};

/// What makes two values share one address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LinkKind {
    /// A part of the result takes the memory of a donated parameter (rule 2).
    Donation,
    /// A value enters a loop (rule 3).
    WhileInit,
    /// A loop's state as its body or condition sees it (rule 3).
    WhileParameter,
    /// What a loop's body gives back (rule 3).
    WhileResult,
    /// What a branch gives back (rule 4).
    ConditionalResult,
    /// An operation writes into its operand (rule 5).
    InPlace,
}

impl LinkKind {
    /// `donation`, `while-init`, `while-parameter`, `while-result`, `conditional-result` or `in-place`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Donation => "donation",
            Self::WhileInit => "while-init",
            Self::WhileParameter => "while-parameter",
            Self::WhileResult => "while-result",
            Self::ConditionalResult => "conditional-result",
            Self::InPlace => "in-place",
        }
    }
}

/// Two values that must share one address, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The value that the rule is about: it enters, is the parameter, is given back, is written over or is the output.
    pub from: ValueId,
    /// The value whose address it takes: the loop's, the conditional's, the operation's or the parameter's.
    pub to: ValueId,
    /// The rule.
    pub kind: LinkKind,
    /// The while, the conditional or the operation; for a donation the parameter.
    pub at: InstructionId,
}

/// The shortest way from one value to another of the same buffer; `None` if they are in different buffers. Links keep
/// their own direction, whichever way they are walked.
#[must_use]
pub fn chain(module: &Module, facts: &Facts, a: ValueId, b: ValueId) -> Option<Vec<Link>> {
    let buffer = facts.find_value(a)?.buffer;
    if facts.find_value(b)?.buffer != buffer {
        return None;
    }
    let mut neighbours: BTreeMap<ValueId, Vec<Link>> = BTreeMap::new();
    for v in &facts.buffer(buffer).values {
        for link in links(module, facts, *v) {
            neighbours.entry(link.from).or_default().push(link);
            neighbours.entry(link.to).or_default().push(link);
        }
    }
    let mut came_by: BTreeMap<ValueId, Option<Link>> = BTreeMap::from([(a, None)]);
    let mut queue = VecDeque::from([a]);
    while let Some(at) = queue.pop_front() {
        if at == b {
            break;
        }
        for link in neighbours.get(&at).into_iter().flatten() {
            let next = if link.from == at { link.to } else { link.from };
            if let std::collections::btree_map::Entry::Vacant(entry) = came_by.entry(next) {
                entry.insert(Some(*link));
                queue.push_back(next);
            }
        }
    }
    let mut out = Vec::new();
    let mut at = b;
    while let Some(link) = *came_by.get(&at)? {
        out.push(link);
        at = if link.to == at { link.from } else { link.to };
    }
    out.reverse();
    Some(out)
}

/// The links that start at a value, in the order of the rules.
#[must_use]
pub fn links(module: &Module, facts: &Facts, value: ValueId) -> Vec<Link> {
    let Some(v) = facts.find_value(value) else { return Vec::new() };
    let mut out = Vec::new();
    let mut to = |kind: LinkKind, at: InstructionId, position: Position| {
        let there = facts.dataflow.at(position).iter().filter(|other| **other != value);
        out.extend(there.map(|other| Link { from: value, to: *other, kind, at }));
    };
    let result = module.root(module.entry);
    for p in &v.positions {
        let instruction = module.instruction(p.instruction);
        if p.instruction == result {
            let index = &module.shapes.subshapes(instruction.shape)[p.sub as usize].index;
            for alias in module.input_output_alias.iter().filter(|a| a.output == *index) {
                let parameters = &module.computation(module.entry).parameters;
                if let Some(&parameter) = parameters.get(alias.parameter as usize)
                    && let Some(sub) =
                        module.shapes.find(module.instruction(parameter).shape, &alias.parameter_index.0)
                {
                    to(LinkKind::Donation, parameter, Position { instruction: parameter, sub });
                }
            }
        }
        if module.is_root(p.instruction) {
            for &site in facts.graph.callers(instruction.computation) {
                let kind = match module.instruction(site).opcode {
                    Opcode::While if module.called(site).first() == Some(&instruction.computation) => {
                        LinkKind::WhileResult
                    }
                    Opcode::Conditional => LinkKind::ConditionalResult,
                    _ => continue,
                };
                to(kind, site, Position { instruction: site, sub: p.sub });
            }
        }
    }
    let at = v.defined_at();
    if module.instruction(at.instruction).opcode == Opcode::Parameter {
        for &site in facts.graph.callers(module.instruction(at.instruction).computation) {
            if module.instruction(site).opcode == Opcode::While {
                to(LinkKind::WhileParameter, site, Position { instruction: site, sub: at.sub });
            }
        }
    }
    for u in &v.uses {
        if module.instruction(u.user).opcode == Opcode::While {
            to(LinkKind::WhileInit, u.user, Position { instruction: u.user, sub: u.sub });
        }
        let pairs = facts.in_place.of(u.user).iter();
        for pair in pairs.filter(|p| p.operand == u.operand && p.operand_sub == u.sub) {
            to(LinkKind::InPlace, u.user, Position { instruction: u.user, sub: pair.output_sub });
        }
    }
    // An operand that is no use of its own (of a tuple inside a fusion, say) is found from the output.
    for p in &v.positions {
        for pair in facts.in_place.of(p.instruction).iter().filter(|pair| pair.output_sub == p.sub) {
            if let Some(&operand) = module.operands(p.instruction).get(pair.operand as usize) {
                let position = Position { instruction: operand, sub: pair.operand_sub };
                let there = facts.dataflow.at(position).iter().filter(|other| **other != value);
                out.extend(there.map(|other| Link {
                    from: *other,
                    to: value,
                    kind: LinkKind::InPlace,
                    at: p.instruction,
                }));
            }
        }
    }
    out
}
