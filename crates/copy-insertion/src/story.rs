//! What became of each copy, and why: the evidence, as data.

use analysis::sharing::Clause;
use hlo::{InstructionId, Module, ShapeId, ShapeIndex};

/// A place in an instruction's result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The instruction, by its number in [`crate::Outcome::history`].
    pub instruction: InstructionId,
    /// Where in its result.
    pub index: ShapeIndex,
}

impl Place {
    pub(crate) fn new(module: &Module, instruction: InstructionId, sub: u32) -> Self {
        let places = module.shapes.subshapes(module.instruction(instruction).shape);
        let index = places.get(sub as usize).map(|p| p.index.clone()).unwrap_or_default();
        Self { instruction, index }
    }

    /// `name`, or `name{index}` if the instruction gives a tuple.
    #[must_use]
    pub fn label(&self, module: &Module) -> String {
        let name = module.name_of(self.instruction);
        if module.shapes.is_tuple(module.instruction(self.instruction).shape) {
            format!("{name}{}", self.index)
        } else {
            name.to_owned()
        }
    }
}

/// The rule that made a copy (11.2 and 11.5).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rule {
    /// None: it stood in the module.
    Given,
    /// The start value of a loop's state, which the loop changes (11.2 a).
    LoopInit {
        /// The loop.
        at: InstructionId,
        /// The element of its state.
        index: ShapeIndex,
    },
    /// The state as the loop's body finds it (11.2 a).
    LoopParameter {
        /// The loop.
        at: InstructionId,
        /// The element of its state.
        index: ShapeIndex,
    },
    /// The state as the loop's body leaves it (11.2 a).
    LoopResult {
        /// The loop.
        at: InstructionId,
        /// The element of its state.
        index: ShapeIndex,
    },
    /// What a branch gives back (11.2 b).
    BranchResult {
        /// The conditional.
        at: InstructionId,
        /// The branch's number.
        branch: u32,
        /// The element of the result.
        index: ShapeIndex,
    },
    /// A transfer that has begun keeps its buffer (11.2.2).
    Transfer {
        /// The operation that begins it.
        at: InstructionId,
    },
    /// An operand that its reader writes over (11.2 d).
    InPlaceOperand {
        /// The reader.
        at: InstructionId,
        /// Which of its operands.
        operand: u32,
        /// The element of the operand.
        index: ShapeIndex,
    },
    /// A parameter that is donated (11.2 e).
    DonatedParameter {
        /// The parameter.
        at: InstructionId,
        /// The element of the parameter.
        index: ShapeIndex,
    },
    /// An output that takes a donated parameter's memory (11.2 e).
    DonatedOutput {
        /// The parameter.
        parameter: InstructionId,
        /// The output.
        index: ShapeIndex,
    },
    /// A constant, or a parameter that is not donated, that came to share with what is written (11.5, 1a).
    ReadOnly {
        /// The value that must not be written over.
        value: Place,
        /// What came to share with it.
        shares_with: Vec<Place>,
    },
    /// An operand that came to share with the result of a reader that cannot work in place (11.5, 1b).
    NotInPlace {
        /// The reader.
        at: InstructionId,
        /// Which of its operands.
        operand: u32,
        /// The clause that says that it cannot.
        why: Clause,
        /// The shapes of the operand and of the result that would share.
        shapes: [ShapeId; 2],
        /// Does the reader write over this operand all the same, as through a bitcast?
        writes_over: bool,
    },
    /// A computation's result that can be one of several buffers (11.5, 2).
    SeveralBuffers {
        /// The element of the result.
        index: ShapeIndex,
    },
    /// One buffer would be given back twice (11.5, 2).
    RepeatedOutput {
        /// The element of the result.
        index: ShapeIndex,
        /// The other element that stands in the same buffer.
        other: ShapeIndex,
    },
    /// A constant, or a parameter that is not donated, would be given back (11.5, 3).
    ReadOnlyOutput {
        /// The element of the result.
        index: ShapeIndex,
        /// The value.
        value: Place,
    },
}

impl Rule {
    /// A short name for machines.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::LoopInit { .. } => "loop-init",
            Self::LoopParameter { .. } => "loop-parameter",
            Self::LoopResult { .. } => "loop-result",
            Self::BranchResult { .. } => "branch-result",
            Self::Transfer { .. } => "transfer",
            Self::InPlaceOperand { .. } => "in-place-operand",
            Self::DonatedParameter { .. } => "donated-parameter",
            Self::DonatedOutput { .. } => "donated-output",
            Self::ReadOnly { .. } => "read-only",
            Self::NotInPlace { .. } => "not-in-place",
            Self::SeveralBuffers { .. } => "several-buffers",
            Self::RepeatedOutput { .. } => "repeated-output",
            Self::ReadOnlyOutput { .. } => "read-only-output",
        }
    }
}

/// Two values that a removed copy would put in one buffer, though the first may still be wanted when the second is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clash {
    /// The value that would be written over.
    pub wanted: Place,
    /// The value that would be written there.
    pub written: Place,
    /// How long the first is wanted.
    pub until: Until,
}

/// How long a value is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Until {
    /// Nobody reads it, but it is not certain to be written before the other one.
    Unread,
    /// It is the result of the computation in which the other one is written.
    Result,
    /// These reads are not certain to be over when the other one is written.
    Reads(Vec<LateRead>),
}

/// A read that may come after the write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LateRead {
    /// The reader.
    pub user: InstructionId,
    /// Which of its operands.
    pub operand: u32,
    /// Why it is late.
    pub why: Late,
}

/// Why a read is not certain to be over when a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Late {
    /// It depends on the write.
    After,
    /// Nothing says which of the two comes first.
    Unordered,
    /// The reader is what writes, and it cannot work in place.
    NotInPlace,
    /// It is in the same loop or branch as the write, or holds it.
    Nested,
}

/// Why a copy was not removed (11.3.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// What it reads can be one of several values.
    AmbiguousSource,
    /// It changes the layout or the memory space.
    LayoutChange,
    /// Source and result both stand in the middle of their buffers' histories.
    MiddleToMiddle,
    /// A scatter with several results, or a fusion of one, would write over what it reads.
    Scatter(InstructionId),
    /// Two values would get in each other's way.
    Clash(Clash),
}

impl Refusal {
    /// A short name for machines.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::AmbiguousSource => "ambiguous-source",
            Self::LayoutChange => "layout-change",
            Self::MiddleToMiddle => "middle-to-middle",
            Self::Scatter(_) => "scatter",
            Self::Clash(_) => "clash",
        }
    }
}

/// One attempt to remove a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// In which round over all copies, from 1.
    pub round: u32,
    /// What had become of it.
    pub outcome: AttemptOutcome,
}

/// What came of an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttemptOutcome {
    /// The source and the copy were neighbours in one buffer already.
    SameBuffer,
    /// The copy's buffer went between the source and what follows it.
    AfterSource,
    /// The source's buffer went before the copy.
    BeforeCopy,
    /// Refused; the last refusal has its evidence in [`CopyStory::refusal`].
    Refused,
}

/// What happened to a copy in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It stands in the module that the pass gave.
    Stayed,
    /// It was removed because source and copy may share.
    Removed,
    /// Nobody read it.
    Dead,
}

/// All about one copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyStory {
    /// The copy, by its number in [`crate::Outcome::history`].
    pub copy: InstructionId,
    /// The copy in [`crate::Outcome::module`], if it stands there.
    pub stands_as: Option<InstructionId>,
    /// What it copied when it was made.
    pub of: Place,
    /// Copies that the module had already and that this one makes needless, by their numbers in
    /// [`crate::Outcome::history`].
    pub in_place_of: Vec<InstructionId>,
    /// The value that it saves, if there is one: what it reads, as dataflow sees it.
    pub protects: Option<Place>,
    /// Bytes that it writes.
    pub bytes: u64,
    /// Why it was made.
    pub rule: Rule,
    /// The attempts to remove it; copies of the special cases are not tried.
    pub attempts: Vec<Attempt>,
    /// Why the last attempt was refused.
    pub refusal: Option<Refusal>,
    /// What became of it.
    pub fate: Fate,
}
