//! What goes in and what comes out.

use sorts::Arrange as _;
use std::fmt;
use std::str::FromStr;

use crate::PackError;
use crate::timeline::Timeline;

/// Identifies a buffer in a trace (for HLO: the value id; the final tie-break).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BufferKey(pub u32);

impl fmt::Display for BufferKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One call to the heap, in program order (BUFFER_ASSIGNMENT 10.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A buffer begins and needs a place of its own.
    Alloc {
        /// The buffer that begins.
        buffer: BufferKey,
        /// Its size in bytes.
        size: u64,
    },
    /// A buffer begins at the place of an earlier one, dead or alive.
    Share {
        /// The buffer that begins.
        buffer: BufferKey,
        /// The buffer whose place it takes.
        with: BufferKey,
        /// Size in bytes of the whole group after the share.
        size: u64,
    },
    /// A buffer ends.
    Free {
        /// The buffer that ends.
        buffer: BufferKey,
    },
}

impl Event {
    /// The buffer that begins or ends.
    pub fn buffer(&self) -> BufferKey {
        match *self {
            Event::Alloc { buffer, .. } | Event::Share { buffer, .. } | Event::Free { buffer } => buffer,
        }
    }
}

/// Which of XLA's packers runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Algorithm {
    /// Spatial, then temporal best fit; the smaller total wins, a tie goes to spatial (BUFFER_ASSIGNMENT 10.5).
    /// What CPU and GPU use.
    #[default]
    BestOfSpatialTemporal,
    /// Best fit, largest buffer first (BUFFER_ASSIGNMENT 10.3).
    Spatial,
    /// Best fit, longest-lived group first (BUFFER_ASSIGNMENT 10.3).
    Temporal,
    /// By start time, into the smallest chunk that is free now (FAST_PACKERS 3). What TPU uses.
    FastMerge,
    /// Best fit for the groups and the largest buffers, the rest by start time above them (FAST_PACKERS 4).
    FastSplit,
}

impl Algorithm {
    /// All of them, in the order of the specification.
    pub const ALL: [Algorithm; 5] =
        [Self::BestOfSpatialTemporal, Self::Spatial, Self::Temporal, Self::FastMerge, Self::FastSplit];

    /// The name used in traces and on the command line (FAST_PACKERS 16).
    pub fn name(self) -> &'static str {
        match self {
            Self::BestOfSpatialTemporal => "choose_best",
            Self::Spatial => "spatial",
            Self::Temporal => "temporal",
            Self::FastMerge => "fast_merge",
            Self::FastSplit => "fast_split",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text is not the name of an [`Algorithm`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownAlgorithm(pub String);

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown algorithm {:?}; known are", self.0)?;
        for (i, algorithm) in Algorithm::ALL.into_iter().enumerate() {
            write!(f, "{} {algorithm}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownAlgorithm {}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|a| a.name() == text).ok_or_else(|| UnknownAlgorithm(text.to_owned()))
    }
}

/// [`Options::split_threshold`] of the real compiler (FAST_PACKERS 4).
pub const DEFAULT_SPLIT_THRESHOLD: usize = 500;

/// How to pack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Which packer runs.
    pub algorithm: Algorithm,
    /// Every offset is a multiple of it, in bytes; at least 1. It need not be a power of two.
    pub alignment: u64,
    /// Size in bytes that a heap may reach before another is begun (FAST_PACKERS 5). It is soft: the first buffer of a
    /// heap is placed whatever its size. `None`: one heap, however large.
    pub limit: Option<u64>,
    /// How many ungrouped buffers [`Algorithm::FastSplit`] places by best fit.
    pub split_threshold: usize,
}

impl Default for Options {
    /// As XLA on a CPU: best of two, 64 bytes, no limit.
    fn default() -> Self {
        Self {
            algorithm: Algorithm::default(),
            alignment: 64,
            limit: None,
            split_threshold: DEFAULT_SPLIT_THRESHOLD,
        }
    }
}

/// A piece of a heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chunk {
    /// First byte, relative to the heap's start.
    pub offset: u64,
    /// Length in bytes: the size of the largest buffer in the group, for every member (FAST_PACKERS 1.5).
    pub size: u64,
}

impl Chunk {
    /// The byte after the last.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

/// One decision of the packer: a group was given a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placement {
    /// The buffer that was allocated; the others of the group share its place.
    pub buffer: BufferKey,
    /// First byte of the place.
    pub offset: u64,
    /// Bytes of the place: the group's size.
    pub size: u64,
}

/// One heap of a [`Packing`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Heap {
    /// The largest end of any chunk, in bytes; never rounded (FAST_PACKERS 1.10).
    pub size: u64,
    /// The place of every buffer in this heap, sorted by key.
    pub chunks: Vec<(BufferKey, Chunk)>,
    /// The groups in the order in which they were placed. Buffers of size 0 are not among them.
    pub placements: Vec<Placement>,
}

impl Heap {
    /// The place of `buffer`, if it is in this heap.
    pub fn chunk(&self, buffer: BufferKey) -> Option<Chunk> {
        let at = self.chunks.binary_search_by_key(&buffer, |(key, _)| *key).ok()?;
        self.chunks.get(at).map(|(_, chunk)| *chunk)
    }
}

/// What [`pack`](crate::pack) found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packing {
    /// The heaps, in the order in which they were filled; at least one.
    pub heaps: Vec<Heap>,
    /// The algorithm that made them: for best-of-two the winner, `Spatial` or `Temporal`.
    pub chosen: Algorithm,
    /// Total in bytes of the spatial run, if there was one.
    pub spatial_total: Option<u64>,
    /// Total in bytes of the temporal run, if there was one.
    pub temporal_total: Option<u64>,
    total: u64,
}

impl Packing {
    pub(crate) fn new(
        chosen: Algorithm,
        mut heaps: Vec<Heap>,
        timeline: &Timeline,
    ) -> Result<Self, PackError> {
        let mut total = 0_u64;
        for (i, heap) in heaps.iter_mut().enumerate() {
            total = total.checked_add(heap.size).ok_or(PackError::TotalTooLarge)?;
            if i == 0 {
                let nothing = Chunk { offset: 0, size: 0 };
                heap.chunks.extend(timeline.zero_sized.iter().map(|key| (*key, nothing)));
            }
            heap.chunks.arrange_by_key(|(key, _)| *key);
        }
        Ok(Self { heaps, chosen, spatial_total: None, temporal_total: None, total })
    }

    /// Sum of the heaps' sizes in bytes.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The heap's number and the place of `buffer`.
    pub fn find(&self, buffer: BufferKey) -> Option<(usize, Chunk)> {
        self.heaps.iter().enumerate().find_map(|(i, heap)| Some((i, heap.chunk(buffer)?)))
    }
}
