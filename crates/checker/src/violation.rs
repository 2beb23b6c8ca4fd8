//! What can be wrong with an assignment, with the evidence. Sentences are made from it here and nowhere else.

use hlo::ShapeIndex;
use std::fmt;

/// Bytes of one allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    /// The allocation's number.
    pub allocation: u32,
    /// The first byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

/// A step of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct When {
    /// The number in the flattened schedule (specification, 4.1): the same in every iteration.
    pub step: u32,
    /// The loops around it, the outermost first, each with the number of its iteration from 1.
    pub loops: Vec<(String, u32)>,
}

/// A datum: one value, written once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datum {
    /// The value: an instruction's name, and for a tuple's part its index.
    pub value: String,
    /// When it was written; `None` if it stood there from the start.
    pub written: Option<When>,
}

/// Why something has to be where it is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A loop's state stays in one place: what enters the loop, and what an iteration leaves, must lie there.
    LoopState,
    /// All branches of a conditional leave their results in one place.
    BranchResult,
    /// The result is an operand seen under another name.
    PassedOn,
    /// The instruction promises to write its result into an operand.
    InPlace,
    /// An output stands in the donated parameter that the module names for it.
    Donation,
}

/// The first thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// A value must lie somewhere, and the assignment gives it no place.
    NoAddress {
        /// The value.
        value: String,
    },
    /// A value reaches beyond its allocation.
    Outside {
        /// The value.
        value: String,
        /// Where it is said to lie.
        at: Spot,
        /// The allocation's size in bytes.
        size: u64,
    },
    /// A value gets fewer bytes than its shape takes.
    TooSmall {
        /// The value.
        value: String,
        /// Bytes given.
        size: u64,
        /// Bytes its shape takes at least.
        needed: u64,
    },
    /// The layout asks for a memory space, and the allocation is of another.
    WrongSpace {
        /// The value.
        value: String,
        /// The layout's memory space.
        space: u32,
        /// The allocation.
        allocation: u32,
        /// The allocation's colour.
        color: u32,
    },
    /// A value that is there from the start lies in an allocation that is not for it.
    NotItsAllocation {
        /// The value: an entry parameter or a constant.
        value: String,
        /// The allocation.
        allocation: u32,
        /// Is it a constant?
        is_constant: bool,
    },
    /// Two values that are there from the start share bytes.
    StartOverlap {
        /// The value met first.
        first: String,
        /// The other one.
        second: String,
        /// Where the second lies.
        at: Spot,
    },
    /// A result of the program lies where nobody will look.
    NotLiveOut {
        /// The value.
        value: String,
        /// The allocation, which is not marked as live out.
        allocation: u32,
    },
    /// Something is not where it has to be.
    Elsewhere {
        /// The position that has a place.
        position: String,
        /// That place.
        expected: Spot,
        /// What should be there.
        value: String,
        /// Where it is.
        found: Spot,
        /// Why they have to agree.
        reason: Reason,
    },
    /// A value is needed, and its bytes hold something else.
    Lost {
        /// The instruction that needs it.
        reader: String,
        /// When; `None` at the end of the program.
        when: Option<When>,
        /// What it needs.
        expected: Datum,
        /// The bytes that no longer hold it.
        at: Spot,
        /// What they hold; `None` if nothing was ever written there.
        found: Option<Datum>,
    },
    /// A value is read before the operation that makes it is done.
    InFlight {
        /// The instruction that reads.
        reader: String,
        /// When.
        when: When,
        /// What it reads; written by the start of the operation.
        value: Datum,
    },
    /// Something is written over a constant or over a parameter that was not donated.
    ReadOnly {
        /// The instruction that writes.
        writer: String,
        /// When.
        when: When,
        /// What it writes.
        value: String,
        /// Where.
        at: Spot,
        /// Are constants there? Else a parameter.
        is_constant: bool,
    },
    /// An instruction writes over something that it still reads.
    OverOperand {
        /// The instruction.
        writer: String,
        /// When.
        when: When,
        /// What it writes.
        value: String,
        /// Where.
        at: Spot,
        /// The operand's number.
        operand: u32,
        /// What it reads.
        read: Datum,
        /// Where that lies.
        read_at: Spot,
        /// It reads the same datum through another operand, too, and over that one it might write. XLA's rules ask about
        /// one of the two only.
        is_second_reading: bool,
    },
    /// Two results of one instruction share bytes.
    ResultsOverlap {
        /// The instruction.
        writer: String,
        /// When.
        when: When,
        /// The result written first.
        first: String,
        /// The other one.
        second: String,
        /// Where the second lies.
        at: Spot,
    },
}

impl Violation {
    /// A word for machines; stable.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoAddress { .. } => "no-address",
            Self::Outside { .. } => "outside",
            Self::TooSmall { .. } => "too-small",
            Self::WrongSpace { .. } => "wrong-space",
            Self::NotItsAllocation { .. } => "not-its-allocation",
            Self::StartOverlap { .. } => "start-overlap",
            Self::NotLiveOut { .. } => "not-live-out",
            Self::Elsewhere { .. } => "elsewhere",
            Self::Lost { .. } => "lost",
            Self::InFlight { .. } => "in-flight",
            Self::ReadOnly { .. } => "read-only",
            Self::OverOperand { .. } => "over-operand",
            Self::ResultsOverlap { .. } => "results-overlap",
        }
    }

    /// The value that suffers.
    #[must_use]
    pub fn value(&self) -> &str {
        match self {
            Self::NoAddress { value }
            | Self::Outside { value, .. }
            | Self::TooSmall { value, .. }
            | Self::WrongSpace { value, .. }
            | Self::NotItsAllocation { value, .. }
            | Self::NotLiveOut { value, .. }
            | Self::Elsewhere { value, .. }
            | Self::ReadOnly { value, .. } => value,
            Self::StartOverlap { first, .. } | Self::ResultsOverlap { first, .. } => first,
            Self::Lost { expected, .. } => &expected.value,
            Self::InFlight { value, .. } => &value.value,
            Self::OverOperand { read, .. } => &read.value,
        }
    }

    /// When it shows; `None` for what is wrong before the first step or after the last.
    #[must_use]
    pub fn when(&self) -> Option<&When> {
        match self {
            Self::Lost { when, .. } => when.as_ref(),
            Self::InFlight { when, .. }
            | Self::ReadOnly { when, .. }
            | Self::OverOperand { when, .. }
            | Self::ResultsOverlap { when, .. } => Some(when),
            _ => None,
        }
    }
}

impl fmt::Display for Spot {
    /// `allocation 8 [64,80)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "allocation {} [{},{})", self.allocation, self.start, self.end)
    }
}

impl fmt::Display for When {
    /// `step 12 (iteration 2 of while.4)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}", self.step)?;
        for (n, (name, iteration)) in self.loops.iter().enumerate() {
            let before = if n == 0 { " (" } else { ", " };
            write!(f, "{before}iteration {iteration} of {name}")?;
        }
        f.write_str(if self.loops.is_empty() { "" } else { ")" })
    }
}

impl fmt::Display for Datum {
    /// `copy.1, written at step 7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.written {
            Some(when) => write!(f, "{}, written at {when}", self.value),
            None => write!(f, "{}, there from the start", self.value),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress { value } => write!(f, "{value} has no address"),
            Self::Outside { value, at, size } => {
                write!(f, "{value} lies at {at}, beyond the allocation's {size} bytes")
            }
            Self::TooSmall { value, size, needed } => {
                write!(f, "{value} gets {size} bytes, its shape takes {needed}")
            }
            Self::WrongSpace { value, space, allocation, color } => write!(
                f,
                "{value} belongs into memory space {space}, but allocation {allocation} has colour {color}"
            ),
            Self::NotItsAllocation { value, allocation, is_constant } => {
                let what = if *is_constant { "constant" } else { "parameter" };
                write!(f, "the {what} {value} lies in allocation {allocation}, which is not for it")
            }
            Self::StartOverlap { first, second, at } => {
                write!(f, "{second} lies at {at}, over {first}; both are there from the start")
            }
            Self::NotLiveOut { value, allocation } => write!(
                f,
                "{value} is a result of the program, but allocation {allocation} is not marked maybe-live-out"
            ),
            Self::Elsewhere { position, expected, value, found, reason } => {
                let why = match reason {
                    Reason::LoopState => "a loop's state must not move",
                    Reason::BranchResult => "all branches must leave their result there",
                    Reason::PassedOn => "it is the same value",
                    Reason::InPlace => "the instruction writes in place",
                    Reason::Donation => "the parameter is donated to it",
                };
                write!(f, "{value} is at {found}, expected at {expected} with {position}: {why}")
            }
            Self::Lost { reader, when, expected, at, found } => {
                match when {
                    Some(when) => write!(f, "{when}: {reader} reads {expected}")?,
                    None => write!(f, "at the end {reader} reads {expected}")?,
                }
                match found {
                    Some(found) => write!(f, ", but {at} holds {found}"),
                    None => write!(f, ", but {at} holds nothing"),
                }
            }
            Self::InFlight { reader, when, value } => {
                write!(f, "{when}: {reader} reads {value}, which is still under way")
            }
            Self::ReadOnly { writer, when, value, at, is_constant } => {
                let what = if *is_constant { "a constant" } else { "a parameter that is not donated" };
                write!(f, "{when}: {writer} writes {value} to {at}, over {what}")
            }
            Self::OverOperand { writer, when, value, at, operand, read, read_at, .. } => write!(
                f,
                "{when}: {writer} writes {value} to {at} while it reads operand {operand} ({read}) from {read_at}"
            ),
            Self::ResultsOverlap { writer, when, first, second, at } => {
                write!(f, "{when}: {writer} writes {second} to {at}, over its other result {first}")
            }
        }
    }
}

/// A value's name: the instruction's, and for a part of a tuple the index.
pub(crate) fn value_name(name: &str, index: &ShapeIndex, is_tuple: bool) -> String {
    if is_tuple { format!("{name}{index}") } else { name.to_string() }
}
