//! What holds a value alive: its last readers, and what else keeps its bytes.

use crate::study::{Program, Study};
use analysis::{Position, ValueId};
use assigner::words::list;
use hlo::{ComputationId, InstructionId, Module, Opcode};
use std::fmt::Write as _;

/// What holds a value until its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The value: an index into [`Study::rows`].
    pub row: usize,
    /// The first and the last step at which it is wanted.
    pub range: (u32, u32),
    /// The first instruction that reads it, with its step; what only passes it on does not count.
    pub first_use: Option<(InstructionId, u32)>,
    /// Those that read it last, at the end of the range.
    pub last_readers: Vec<InstructionId>,
    /// What keeps it until its end.
    pub until: Until,
    /// Where it stands last, if that is not where it is defined: the hand-over to a later value looks at this instruction's
    /// readers (7).
    pub last_position: Option<InstructionId>,
    /// Work that a last reader repeats on this value, though the result of it is there.
    pub repeated: Option<Repeated>,
}

/// What keeps a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// It is read.
    Read,
    /// It is a part of the result.
    Result,
    /// It is an argument that nobody donated: its memory is the caller's to the end.
    Argument,
    /// It is carried round a loop, which is this instruction.
    Carried(InstructionId),
    /// A transfer that has begun: until this instruction ends it.
    Transfer(InstructionId),
}

/// A fusion computes again what another instruction has computed already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The fusion.
    pub reader: InstructionId,
    /// The operation.
    pub opcode: String,
    /// The instruction whose result it could read instead.
    pub instead_of: InstructionId,
}

impl Hold {
    /// In a few sentences.
    #[must_use]
    pub fn words(&self, study: &Study) -> String {
        let Some(program) = &study.program else { return String::new() };
        let name = |i: InstructionId| program.module.name_of(i);
        let row = &study.rows[self.row];
        let mut out = match self.first_use {
            Some((i, step)) => {
                format!(
                    "{} is there from step {} on and first read at step {step}, by {}.",
                    row.name,
                    self.range.0,
                    name(i)
                )
            }
            None => format!("{} is there from step {} on.", row.name, self.range.0),
        };
        let readers: Vec<String> = self.last_readers.iter().map(|i| name(*i).to_owned()).collect();
        let end = self.range.1;
        let until = match &self.until {
            Until::Read if readers.is_empty() => format!(" It is wanted until step {end}; nobody reads it."),
            Until::Read => {
                format!(" It is wanted until step {end}, where {} reads it last.", list(&readers, 4))
            }
            Until::Result => " It is a part of the result, so it stays to the end.".to_owned(),
            Until::Argument => " It is an argument that is not donated, so it stays to the end.".to_owned(),
            Until::Carried(at) => format!(" {} carries it round until step {end}.", name(*at)),
            Until::Transfer(done) => {
                format!(" A transfer keeps it until step {end}, where {} ends it.", name(*done))
            }
        };
        out += &until;
        if let Some(at) = self.last_position {
            let which = if name(at) == row.name.instruction {
                String::new()
            } else {
                format!(" It stands last in {}.", name(at))
            };
            out += &which;
        }
        if let Some(r) = &self.repeated {
            _ = write!(
                out,
                " {} computes {} of it again, though {} holds that.",
                name(r.reader),
                r.opcode,
                name(r.instead_of)
            );
        }
        out
    }
}

/// What holds a value; `None` without the program, or for a value that is not on the clock.
#[must_use]
pub fn hold(study: &Study, row: usize) -> Option<Hold> {
    let program = study.program.as_ref()?;
    let at = study.rows.get(row)?;
    let value = at.value?;
    let range = at.range?;
    let Program { module, facts, .. } = program;
    let v = facts.value(value);
    let time = |i: InstructionId| facts.clock.time(i).map(|s| s.0);
    let mut first_use: Option<(InstructionId, u32)> = None;
    let mut last_readers = Vec::new();
    for u in &v.uses {
        let Some(step) = time(u.user) else { continue };
        let passes = matches!(
            module.instruction(u.user).opcode,
            Opcode::Tuple | Opcode::GetTupleElement | Opcode::Bitcast
        );
        // What runs other computations stands behind them on the clock, and reads before them.
        let is_around =
            matches!(module.instruction(u.user).opcode, Opcode::While | Opcode::Conditional | Opcode::Call);
        let first = if is_around { step.min(range.1) } else { step };
        if !passes && first > range.0 && first_use.is_none_or(|(_, s)| first < s) {
            first_use = Some((u.user, first));
        }
        if step == range.1 && !last_readers.contains(&u.user) {
            last_readers.push(u.user);
        }
    }
    let end_position = facts.ranges.get(value).map(|r| r.end_position.instruction);
    let last_position = end_position.filter(|i| *i != v.defined_at().instruction);
    let slab = study.slab(at);
    let until = if v.live_out && range.1 >= study.end {
        Until::Result
    } else if let Some(done) = last_readers.iter().find(|i| is_done(module.instruction(**i).opcode)) {
        Until::Transfer(*done)
    } else if !last_readers.is_empty() {
        Until::Read
    } else if slab.parameter.is_some() && !slab.maybe_live_out {
        Until::Argument
    } else if let Some(at) = carrier(program, value) {
        Until::Carried(at)
    } else {
        Until::Read
    };
    let repeated = last_readers.iter().find_map(|r| repeated(program, value, *r));
    Some(Hold { row, range, first_use, last_readers, until, last_position, repeated })
}

pub(crate) fn is_done(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::AsyncDone
            | Opcode::CopyDone
            | Opcode::AllReduceDone
            | Opcode::AllGatherDone
            | Opcode::CollectivePermuteDone
            | Opcode::SendDone
            | Opcode::RecvDone
    )
}

/// The loop that carries a value, if one does.
fn carrier(program: &Program, value: ValueId) -> Option<InstructionId> {
    let Program { module, facts, .. } = program;
    let buffer = facts.buffer(facts.value(value).buffer);
    buffer
        .values
        .iter()
        .flat_map(|v| &facts.value(*v).positions)
        .map(|p| p.instruction)
        .find(|i| module.instruction(*i).opcode == Opcode::While)
}

/// Does a fusion repeat on this value what another instruction has done to it?
fn repeated(program: &Program, value: ValueId, reader: InstructionId) -> Option<Repeated> {
    let Program { module, facts, .. } = program;
    let inner = applied_inside(module, reader, &operands_of(program, value, reader))?;
    let others = facts.value(value).uses.iter().map(|u| u.user).filter(|u| *u != reader);
    for other in others {
        let instruction = module.instruction(other);
        let outer = if instruction.opcode == Opcode::Fusion {
            applied_inside(module, other, &operands_of(program, value, other)).and_then(|all| {
                let root = module.called(other).first().map(|c| module.root(*c))?;
                all.into_iter().find(|i| *i == root)
            })
        } else {
            Some(other)
        };
        let Some(outer) = outer else { continue };
        let opcode = module.instruction(outer).opcode;
        let is_cheap = matches!(
            opcode,
            Opcode::Bitcast
                | Opcode::Copy
                | Opcode::GetTupleElement
                | Opcode::Tuple
                | Opcode::Reshape
                | Opcode::Broadcast
        );
        let is_same = |i: &InstructionId| {
            let inner = module.instruction(*i);
            inner.opcode == opcode && module.operands(*i).len() == 1 && module.operands(outer).len() == 1
        };
        if !is_cheap && opcode != Opcode::Unknown && inner.iter().any(is_same) {
            return Some(Repeated { reader, opcode: opcode.name().to_owned(), instead_of: other });
        }
    }
    None
}

/// Which operands of an instruction a value is.
fn operands_of(program: &Program, value: ValueId, user: InstructionId) -> Vec<u32> {
    program.facts.value(value).uses.iter().filter(|u| u.user == user).map(|u| u.operand).collect()
}

/// The instructions of a fusion that take these operands as they are.
fn applied_inside(module: &Module, fusion: InstructionId, operands: &[u32]) -> Option<Vec<InstructionId>> {
    if module.instruction(fusion).opcode != Opcode::Fusion {
        return None;
    }
    let body: ComputationId = *module.called(fusion).first()?;
    let parameters = &module.computation(body).parameters;
    let given: Vec<InstructionId> =
        operands.iter().filter_map(|o| parameters.get(*o as usize).copied()).collect();
    let all = &module.computation(body).instructions;
    Some(all.iter().copied().filter(|i| module.operands(*i).iter().any(|o| given.contains(o))).collect())
}

/// The value at a position, if it is a single one.
pub(crate) fn value_at(program: &Program, instruction: InstructionId, sub: u32) -> Option<ValueId> {
    program.facts.dataflow.unique_at(Position { instruction, sub })
}
