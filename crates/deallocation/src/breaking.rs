//! A result on its way, and a result that is spoilt: to see what each part of it is for.

use crate::classic::{Outcome, Step};
use crate::ir::{OpId, Program, ValueId};

/// How something that the pass put in is spoilt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Break {
    /// It is not there. What a clone was of is passed itself.
    LeftOut,
    /// A release stands in front of the last use and not behind it.
    TooEarly,
    /// A release stands there twice.
    Twice,
}

impl Break {
    /// All.
    pub const ALL: [Self; 3] = [Self::LeftOut, Self::TooEarly, Self::Twice];
}

impl Outcome {
    /// What the pass put in, in order: clones and releases, each with the step that did it.
    pub fn put_in(&self) -> impl Iterator<Item = (OpId, usize)> {
        self.steps.iter().enumerate().filter_map(|(n, step)| match step {
            Step::Clone { op, .. } | Step::Release { op, .. } => Some((*op, n)),
            _ => None,
        })
    }

    /// The last use in the block of a release, in front of which it would be too early; nothing where nothing uses the
    /// buffer there, or where it is made there.
    pub fn last_use(&self, release: OpId) -> Option<OpId> {
        let (after, aliases) = self.steps.iter().find_map(|step| match step {
            Step::Release { op, after, aliases, .. } if *op == release => Some((*after, aliases)),
            _ => None,
        })?;
        after.filter(|after| uses(&self.program, *after, aliases))
    }

    /// Whether something that was put in can be spoilt that way.
    pub fn can_break(&self, op: OpId, how: Break) -> bool {
        let is_release = self.program.op(op).name == "memref.dealloc";
        match how {
            Break::LeftOut => true,
            Break::TooEarly => is_release && self.last_use(op).is_some(),
            Break::Twice => is_release,
        }
    }

    /// The program after the first `done` steps, spoilt. A release that stood in the text is where it ends up, from the
    /// beginning. With each second release comes the operation that it repeats.
    pub fn so_far(&self, done: usize, broken: &[(OpId, Break)]) -> (Program, Vec<(OpId, OpId)>) {
        let mut program = self.program.clone();
        let mut seconds = Vec::new();
        for (n, step) in self.steps.iter().enumerate() {
            let how = |op: OpId| broken.iter().filter(move |(o, _)| *o == op).map(|(_, how)| *how);
            match step {
                Step::Clone { op, of, .. } if n >= done || how(*op).any(|h| h == Break::LeftOut) => {
                    program.replace_uses(program.op(*op).results[0], *of);
                    program.remove(*op);
                }
                Step::Release { op, value, moved, .. } => {
                    if n >= done {
                        if !moved {
                            program.remove(*op);
                        }
                        continue;
                    }
                    for how in how(*op) {
                        match how {
                            Break::LeftOut => program.remove(*op),
                            Break::TooEarly => {
                                if let Some(before) = self.last_use(*op) {
                                    program.move_before(*op, before);
                                }
                            }
                            Break::Twice => {
                                let second = program.insert_before(*op, "memref.dealloc", *value, None);
                                seconds.push((second, *op));
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        (program, seconds)
    }
}

/// Whether an operation, or what is inside it, takes one of these values.
pub(crate) fn uses(program: &Program, op: OpId, values: &[ValueId]) -> bool {
    let o = program.op(op);
    o.operands.iter().any(|v| values.contains(v))
        || o.regions
            .iter()
            .flat_map(|r| program.in_order(*r))
            .any(|op| program.op(op).operands.iter().any(|v| values.contains(v)))
}
