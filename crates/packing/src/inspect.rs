//! One step of a packing, recomputed for a reader (BUFFER_ASSIGNMENT 10.3 and 10.4, FAST_PACKERS 2 to 4).

use crate::best_fit::GapFinder;
use crate::fast::{self, Sweep};
use crate::order;
use crate::plain::{self, Plain};
use crate::timeline::{Run, Timeline};
use crate::{Algorithm, BufferKey, Event, Options, PackError, Placement, pack};
use sorts::Arrange as _;

/// A free chunk that was weighed for a placement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeChunk {
    /// First free byte. Best fit looks at aligned starts only; the packers by start time round it up at use.
    pub offset: u64,
    /// The byte after the last: 2^63 - 1 for the last chunk of best fit, 2^63 - 4 for that of the packers by start time.
    pub end: u64,
    /// Whether it holds the group's size from its first aligned byte on.
    pub fits: bool,
    /// Whether the group was placed in it.
    pub is_chosen: bool,
}

/// A group that was placed before, is wanted at some tick at which the new one is, and so blocks its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OccupiedChunk {
    /// The allocated buffer of the group that stands there.
    pub buffer: BufferKey,
    /// First byte.
    pub offset: u64,
    /// The byte after the last.
    pub end: u64,
    /// `end` rounded up to the alignment: the first byte at which something could begin behind it.
    pub free_from: u64,
}

/// A group in the order of placement, with all that the order is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueEntry {
    /// The allocated buffer of the group.
    pub buffer: BufferKey,
    /// Its own size in bytes, which spatial and temporal order compare.
    pub own_size: u64,
    /// Size in bytes of the group: what is placed.
    pub group_size: u64,
    /// Ticks from the start to the end of the buffer itself; spatial order compares it second.
    pub own_ticks: u32,
    /// First tick of the group; the packers by start time compare it.
    pub hull_start: u32,
    /// Last tick of the group.
    pub hull_end: u32,
    /// How many buffers share its place, the allocated one among them.
    pub members: u32,
    /// Number of its placement, from 0 through all heaps.
    pub placement: usize,
}

impl QueueEntry {
    /// Ticks from the first start to the last end of the group; temporal order compares it first.
    pub fn hull_ticks(&self) -> u32 {
        self.hull_end - self.hull_start
    }
}

/// What was to be decided at one placement, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacementStep {
    /// Number of the heap, from 0.
    pub heap: usize,
    /// What was decided.
    pub placement: Placement,
    /// The algorithm by which: for best-of-two the winner, for fast split what placed this group: `Spatial` or
    /// `FastMerge`.
    pub algorithm: Algorithm,
    /// All groups in the order in which the algorithm takes them. With a limit, groups left over are taken up again,
    /// in the same order, for the next heap.
    pub order: Vec<QueueEntry>,
    /// The buffers of the group, the allocated one first.
    pub members: Vec<BufferKey>,
    /// The chunks that are not free for the group, in order of offset.
    pub occupied: Vec<OccupiedChunk>,
    /// The free chunks in order of offset.
    pub free_chunks: Vec<FreeChunk>,
}

/// The buffers that share one place (colocations), a group each in order of its first start, the allocated buffer first.
/// Buffers of size 0 are in none.
///
/// # Errors
/// If the events contradict each other; see [`PackError`].
pub fn groups(events: &[Event]) -> Result<Vec<Vec<BufferKey>>, PackError> {
    let timeline = Timeline::new(events)?;
    Ok(timeline.groups.iter().map(|group| timeline.members(group).to_vec()).collect())
}

/// The free chunks weighed at a placement; see [`inspect_placement`].
pub fn free_chunks_at(
    events: &[Event],
    options: &Options,
    placement: usize,
) -> Result<Vec<FreeChunk>, PackError> {
    inspect_placement(events, options, placement).map(|step| step.free_chunks)
}

/// Recomputes what was weighed at a placement. Placements are counted from 0 through all heaps, as they stand in
/// [`Heap::placements`](crate::Heap::placements).
///
/// # Errors
/// As [`pack`]; and [`PackError::NoSuchPlacement`].
pub fn inspect_placement(
    events: &[Event],
    options: &Options,
    placement: usize,
) -> Result<PlacementStep, PackError> {
    let packing = pack(events, options)?;
    let timeline = Timeline::new(events)?;
    let count = packing.heaps.iter().map(|heap| heap.placements.len()).sum();
    let mut in_heap = placement;
    let mut found = None;
    for (number, heap) in packing.heaps.iter().enumerate() {
        if let Some(placed) = heap.placements.get(in_heap) {
            found = Some((number, heap, *placed));
            break;
        }
        in_heap -= heap.placements.len();
    }
    let Some((heap_number, heap, placed)) = found else {
        return Err(PackError::NoSuchPlacement { placement, count });
    };

    let mut position_of: Vec<(BufferKey, u32)> =
        timeline.groups.iter().zip(0..).map(|(group, at)| (group.root, at)).collect();
    position_of.arrange_unstable();
    let position = |buffer: BufferKey| {
        let at = position_of.binary_search_by_key(&buffer, |(key, _)| *key).expect("only roots are placed");
        position_of[at].1
    };

    let (slow, fast) = match packing.chosen {
        Algorithm::BestOfSpatialTemporal | Algorithm::Spatial => (order::spatial(&timeline), Vec::new()),
        Algorithm::Temporal => (order::temporal(&timeline), Vec::new()),
        Algorithm::FastMerge => (Vec::new(), order::by_start(&timeline)),
        Algorithm::FastSplit => fast::split_lists(&timeline, options),
    };
    let mut is_fast = vec![false; timeline.groups.len()];
    for at in &fast {
        is_fast[*at as usize] = true;
    }

    let at = position(placed.buffer);
    let group = &timeline.groups[at as usize];
    let before = &heap.placements[..in_heap];
    let free_chunks = if is_fast[at as usize] {
        let slow_end = before
            .iter()
            .filter(|earlier| !is_fast[position(earlier.buffer) as usize])
            .map(|earlier| earlier.offset + earlier.size)
            .max();
        let mut sweep = Sweep::new(options.alignment, slow_end.unwrap_or(0))
            .ok_or(PackError::NoPlace { buffer: placed.buffer, size: placed.size })?;
        for earlier in before {
            let at = position(earlier.buffer) as usize;
            if is_fast[at] {
                let earlier = &timeline.groups[at];
                sweep.advance(earlier);
                if let Some((start, offset)) = sweep.find(earlier) {
                    let _ = sweep.occupy(earlier, start, offset);
                }
            }
        }
        sweep.advance(group);
        let chosen = sweep.find(group).map(|(start, _)| start);
        let holds = |start: u64, end: u64| {
            let aligned = crate::best_fit::round_up(start, options.alignment);
            aligned <= end && end - aligned >= group.size
        };
        sweep
            .free_chunks()
            .iter()
            .map(|(offset, end)| FreeChunk {
                offset,
                end,
                fits: holds(offset, end),
                is_chosen: chosen == Some(offset),
            })
            .collect()
    } else {
        let mut plain = Plain::new(&timeline, options.alignment);
        for earlier in before {
            plain.occupy(position(earlier.buffer), earlier.offset);
        }
        plain
            .gaps(group)
            .into_iter()
            .map(|(offset, end)| FreeChunk {
                offset,
                end,
                fits: end - offset >= group.size,
                is_chosen: offset == placed.offset,
            })
            .collect()
    };

    let mut occupied: Vec<OccupiedChunk> = before
        .iter()
        .filter(|earlier| {
            let earlier = &timeline.groups[position(earlier.buffer) as usize];
            plain::overlap(timeline.runs(earlier), timeline.runs(group))
        })
        .map(|earlier| {
            let end = earlier.offset + earlier.size;
            let free_from = crate::best_fit::round_up(end, options.alignment);
            OccupiedChunk { buffer: earlier.buffer, offset: earlier.offset, end, free_from }
        })
        .collect();
    occupied.arrange_by_key(|chunk| (chunk.offset, chunk.end, chunk.buffer));

    let mut number_of = vec![0; timeline.groups.len()];
    for (number, placed) in packing.heaps.iter().flat_map(|heap| &heap.placements).enumerate() {
        number_of[position(placed.buffer) as usize] = number;
    }
    let order = slow
        .iter()
        .chain(&fast)
        .map(|&at| {
            let group = &timeline.groups[at as usize];
            let ticks = |run: Run| run.end - run.start;
            QueueEntry {
                buffer: group.root,
                own_size: group.own_size,
                group_size: group.size,
                own_ticks: ticks(group.own),
                hull_start: group.hull.start,
                hull_end: group.hull.end,
                members: timeline.members(group).len() as u32,
                placement: number_of[at as usize],
            }
        })
        .collect();
    let algorithm = match packing.chosen {
        Algorithm::FastSplit if is_fast[at as usize] => Algorithm::FastMerge,
        Algorithm::FastSplit => Algorithm::Spatial,
        chosen => chosen,
    };
    let members = timeline.members(group).to_vec();
    Ok(PlacementStep {
        heap: heap_number,
        placement: placed,
        algorithm,
        order,
        members,
        occupied,
        free_chunks,
    })
}
