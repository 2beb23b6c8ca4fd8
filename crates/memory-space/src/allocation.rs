//! What comes out: allocations in both memories (MEMORY_SPACE 1).

use crate::decision::Decision;
use crate::problem::{BufferIndex, Space, ValueId};
use crate::{Outcome, Time};
use serde::Serialize;

/// What an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The value stands where it is defined.
    Pinned,
    /// It was copied here.
    Copy,
    /// It was copied here slice by slice.
    SlicedCopy,
    /// A second view of another allocation, inside a branch or after a loop.
    Mirrored,
    /// What stands in default memory from before a loop, carried into its body.
    Parent,
    /// Set aside because a colour asks for it, and used by nobody.
    Reserved,
    /// A window of an operand, filled while the instruction before runs.
    WindowPrefetched,
    /// What an instruction itself needs, for its own time only.
    Scoped,
}

/// An asynchronous copy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Copy {
    /// It starts right after this instruction; -1: before the first.
    pub start: Time,
    /// It is done right before this one.
    pub done: Time,
    /// Seconds of the copy engine booked for it.
    pub seconds: f32,
    /// The cross-program prefetch it belongs to.
    pub cross_program: Option<u32>,
}

/// A slice of a sliced copy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slice {
    /// Its copy starts right after this instruction.
    pub start: Time,
    /// Where it goes.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Seconds of the copy engine booked for it.
    pub seconds: f32,
}

/// A use that reads an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum UseRef {
    /// A use in [`crate::Problem::buffers`].
    Buffer {
        /// Which buffer.
        buffer: BufferIndex,
        /// Which of its positions.
        position: u32,
        /// Which use of that.
        #[serde(rename = "use")]
        usage: u32,
    },
    /// All uses of a candidate in [`crate::Problem::cross_program`].
    CrossProgram {
        /// Which.
        candidate: u32,
    },
}

/// A value, or a copy of it, in one memory for a while.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Allocation {
    /// What it is.
    pub kind: Kind,
    /// Where.
    pub space: Space,
    /// The buffer, unless it is scoped memory or a cross-program prefetch.
    pub buffer: Option<BufferIndex>,
    /// The number in XLA's table.
    pub id: u32,
    /// The value; `None` for scoped memory.
    pub value: Option<ValueId>,
    /// The position of the value.
    pub position: String,
    /// When that position is defined.
    pub definition_time: Time,
    /// From when it occupies memory.
    pub start: Time,
    /// Until when, inclusive.
    pub end: Time,
    /// Bytes.
    pub size: u64,
    /// Where in alternate memory; `None` in default memory.
    pub offset: Option<u64>,
    /// How it came here.
    pub copy: Option<Copy>,
    /// Its slices by offset, if it is a sliced copy.
    pub slices: Vec<Slice>,
    /// What a copy is made from: a place in the same list.
    pub source: Option<usize>,
    /// The time of the synchronous copy or slice whose place it takes (19).
    pub replaces: Option<Time>,
    /// Who reads it.
    pub uses: Vec<UseRef>,
    #[serde(skip)]
    pub(crate) group: Option<OffsetGroup>,
    /// Of a trial: the position whose allocation it is copied from, if it is another.
    #[serde(skip)]
    pub(crate) source_position: Option<usize>,
}

impl Allocation {
    /// When it can be read or copied from: at its definition, or once its copy is done.
    pub fn available_time(&self) -> Time {
        self.copy.map_or(self.start, |copy| copy.done)
    }

    pub(crate) fn is_copy_like(&self) -> bool {
        matches!(self.kind, Kind::Copy | Kind::SlicedCopy)
    }

    pub(crate) fn extend(&mut self, end: Time) {
        self.end = self.end.max(end);
    }
}

/// Allocations that must keep one offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OffsetGroup(pub(crate) u32);

/// The result of memory space assignment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Assignment {
    /// All allocations, in the order in which they became final.
    pub allocations: Vec<Allocation>,
    /// All decisions, in the order in which they were made.
    pub decisions: Vec<Decision>,
    /// The highest address used in alternate memory.
    pub heap_size: u64,
    /// How often everything was packed anew with success.
    pub repacks: u32,
}

impl Assignment {
    /// The allocations in alternate memory.
    pub fn in_alternate(&self) -> impl Iterator<Item = &Allocation> {
        self.allocations.iter().filter(|a| a.space == Space::Alternate)
    }

    /// The outcome of every segment request, in order.
    pub fn segment_outcomes(&self) -> impl Iterator<Item = Outcome> {
        self.decisions.iter().filter_map(|decision| match decision {
            Decision::Segment(segment) => Some(segment.outcome),
            _ => None,
        })
    }
}
