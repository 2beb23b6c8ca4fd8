//! What was decided, in order, with the evidence.

use crate::AllocationId;
use analysis::{BufferId, Color, Interference, ValueId};

/// Why an allocation was made (8.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewKind {
    /// Step 1a: a constant.
    Constant,
    /// Step 1b: an entry parameter.
    Parameter,
    /// Step 2: a value of a computation that runs per element.
    ThreadLocal,
    /// Step 3a: a tuple's pointer table.
    Tuple,
    /// Step 6: nothing could take it.
    Other,
}

/// Why a buffer may not go into an allocation: the nine reasons of 8.5.1, in the order in which they are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// 1: they are in different memory spaces.
    Color {
        /// The buffer's colour.
        buffer: Color,
        /// The allocation's colour.
        allocation: Color,
    },
    /// 2: the buffer is larger, in bytes.
    TooBig {
        /// The buffer's size.
        buffer: u64,
        /// The allocation's size.
        allocation: u64,
    },
    /// 3: nothing may be written there.
    ReadOnly,
    /// 4: the allocation may live out, and this value of the buffer must not.
    NewMustNotLiveOut(ValueId),
    /// 5: the buffer lives out, and this value in the allocation must not.
    OldMustNotLiveOut(ValueId),
    /// 6: it holds a tuple, or belongs to a computation that runs per element.
    NotReusable,
    /// 7: a value of the buffer and one in the allocation are wanted at the same time.
    Interference {
        /// The value that is there.
        old: ValueId,
        /// The value that would come in.
        new: ValueId,
        /// How their ranges meet.
        why: Interference,
    },
    /// 8: a copy must not stand where its source stands.
    CopyOfItself {
        /// The value that is there, the copy's source.
        old: ValueId,
        /// The copy.
        new: ValueId,
    },
    /// 9: the buffer lives out and does not fill the allocation exactly, in bytes.
    LiveOutSize {
        /// The buffer's size.
        buffer: u64,
        /// The allocation's size.
        allocation: u64,
    },
}

impl Refusal {
    /// Its number in 8.5.1, from 1 to 9.
    #[must_use]
    pub fn number(&self) -> u8 {
        match self {
            Self::Color { .. } => 1,
            Self::TooBig { .. } => 2,
            Self::ReadOnly => 3,
            Self::NewMustNotLiveOut(_) => 4,
            Self::OldMustNotLiveOut(_) => 5,
            Self::NotReusable => 6,
            Self::Interference { .. } => 7,
            Self::CopyOfItself { .. } => 8,
            Self::LiveOutSize { .. } => 9,
        }
    }

    /// Its name, as the decision events spell it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Color { .. } => "color",
            Self::TooBig { .. } => "larger",
            Self::ReadOnly => "read-only",
            Self::NewMustNotLiveOut(_) | Self::OldMustNotLiveOut(_) => "must-not-live-out",
            Self::NotReusable => "not-reusable",
            Self::Interference { .. } => "interference",
            Self::CopyOfItself { .. } => "copy-of-itself",
            Self::LiveOutSize { .. } => "live-out-size",
        }
    }
}

/// One decision. Allocation numbers are those of the moment, before temps are merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the fields are named after what they are")]
pub enum Decision {
    /// A buffer's turn (8.4).
    Assign { buffer: BufferId },
    /// An allocation is tried for it (8.5.1).
    Try { buffer: BufferId, allocation: AllocationId },
    /// It is refused.
    Refuse { buffer: BufferId, allocation: AllocationId, reason: Refusal },
    /// An allocation is made for it.
    New { kind: NewKind, allocation: AllocationId, buffer: BufferId },
    /// It goes into an allocation that is there; `operand` if that was found through an operand (step 3b).
    Reuse { operand: bool, allocation: AllocationId, buffer: BufferId },
    /// A value is left to the heap (step 5).
    Delay { value: ValueId },
    /// A value gets its place, in bytes.
    Place { allocation: AllocationId, size: u64, offset: u64, value: ValueId },
    /// The heap simulator starts for a colour (8.6).
    Simulate { color: Color },
    /// The heap's size in bytes.
    Heap { size: u64 },
    /// A temp becomes part of the combined one of its colour, from `base` on (8.7); its values get new places.
    Absorb { into: AllocationId, temp: AllocationId, base: u64 },
}
