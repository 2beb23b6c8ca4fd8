//! The result: allocations and what stands in them.

use analysis::{BufferId, Color, Step, ValueId};
use hlo::ShapeIndex;

/// An allocation by its number. During assignment numbers are those of XLA's log; in an [`Assignment`]
/// they are final (8.7 renumbers).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AllocationId(pub u32);

impl AllocationId {
    /// As an index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The entry parameter whose memory an allocation is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryParameter {
    /// The parameter's number.
    pub number: u32,
    /// Where in the parameter.
    pub index: ShapeIndex,
    /// Is it donated: does an output stand in it?
    pub aliased: bool,
}

/// A value in an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The value.
    pub value: ValueId,
    /// Bytes from the start of the allocation.
    pub offset: u64,
    /// Bytes it takes.
    pub size: u64,
}

/// One allocation (8.2).
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "they are XLA's own flags, independent of each other")]
pub struct Allocation {
    /// Its number.
    pub id: AllocationId,
    /// Bytes.
    pub size: u64,
    /// Its colour: a memory space.
    pub color: Color,
    /// What stands in it, by value id.
    pub values: Vec<Placed>,
    /// Holds a constant.
    pub is_constant: bool,
    /// Belongs to a computation that runs per element (a reducer, a comparator).
    pub is_thread_local: bool,
    /// Holds a tuple's pointer table.
    pub is_tuple: bool,
    /// Holds, or may hold, a part of the result.
    pub maybe_live_out: bool,
    /// Set if it is an entry parameter's memory.
    pub parameter: Option<EntryParameter>,
    /// Where each heap or temp that was merged into this one begins (8.7); empty if nothing was.
    pub merged: Vec<MergedPart>,
}

/// A temp that became part of a combined one (8.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MergedPart {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The heap run it came from, an index into [`Assignment::heaps`]; `None` for a tuple's table.
    pub heap: Option<u32>,
}

impl Allocation {
    /// Nothing may be written here: a constant, or an entry parameter that was not donated (8.2).
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.is_constant || self.parameter.as_ref().is_some_and(|p| !p.aliased)
    }

    /// May another buffer come in? (8.2)
    #[must_use]
    pub fn is_reusable(&self) -> bool {
        !self.is_thread_local && !self.is_tuple
    }

    /// A temporary that the program allocates before it runs (8.2).
    #[must_use]
    pub fn is_preallocated_temp(&self) -> bool {
        self.parameter.is_none() && !self.maybe_live_out && !self.is_thread_local && !self.is_constant
    }

    /// Where a value stands in it.
    #[must_use]
    pub fn placed(&self, value: ValueId) -> Option<Placed> {
        self.values.binary_search_by_key(&value, |p| p.value).ok().map(|i| self.values[i])
    }
}

/// One run of the heap simulator (8.6) and what it gave: kept to be shown, and for the statistics of 9.5.
#[derive(Clone, Debug)]
pub struct HeapRun {
    /// The colour it was for.
    pub color: Color,
    /// The events, in the order of the heap's own clock (10.2).
    pub events: Vec<packing::Event>,
    /// What the packer was asked.
    pub options: packing::Options,
    /// What it answered.
    pub packing: packing::Packing,
    /// Bytes that no packing of these events could do without (10.6 counts a share twice).
    pub unfragmented: u64,
}

/// In place of an allocation: the value has no memory of its own.
pub(crate) const NOWHERE: AllocationId = AllocationId(u32::MAX);

/// By value id, of so many: the allocation that holds it.
pub(crate) fn homes(allocations: &[Allocation], values: usize) -> Vec<AllocationId> {
    let mut out = vec![NOWHERE; values];
    for a in allocations {
        for p in &a.values {
            if let Some(home) = out.get_mut(p.value.index()) {
                *home = a.id;
            }
        }
    }
    out
}

/// All allocations of a module.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    /// By number.
    pub allocations: Vec<Allocation>,
    /// The heap runs, in order.
    pub heaps: Vec<HeapRun>,
    /// By value id: the allocation that holds it, or [`NOWHERE`].
    pub(crate) home: Vec<AllocationId>,
    /// Buffers in the order in which they were considered.
    pub order: Vec<BufferId>,
    /// The end of the program.
    pub end: Step,
}

impl Assignment {
    /// Where a value stands.
    #[must_use]
    pub fn place(&self, value: ValueId) -> Option<(AllocationId, Placed)> {
        let home = *self.home.get(value.index())?;
        let allocation = self.allocations.get(home.index())?;
        Some((home, allocation.placed(value)?))
    }

    /// The same program with other allocations, in which every value stands that stands in these.
    #[must_use]
    pub fn with_allocations(&self, allocations: Vec<Allocation>) -> Self {
        let home = homes(&allocations, self.home.len());
        Self { allocations, home, ..self.clone() }
    }

    /// Sum of the sizes of all allocations, in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.allocations.iter().map(|a| a.size).sum()
    }

    /// Sum of the sizes of the preallocated temps, in bytes.
    #[must_use]
    pub fn temp_bytes(&self) -> u64 {
        self.allocations.iter().filter(|a| a.is_preallocated_temp()).map(|a| a.size).sum()
    }

    /// The allocation.
    #[must_use]
    pub fn allocation(&self, id: AllocationId) -> &Allocation {
        &self.allocations[id.index()]
    }
}
