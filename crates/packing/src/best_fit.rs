//! Best fit over one or more heaps (BUFFER_ASSIGNMENT 10.4 and 10.5).

use crate::timeline::{Group, Timeline};
use crate::{Chunk, Heap, Options, PackError, Placement};

/// The end of the address space for best fit: chunks end at or before it.
pub(crate) const SPACE_END: u64 = i64::MAX as u64;

/// `offset` rounded up to a multiple of `alignment`. Past the end of `u64` it stays there: no chunk can begin so high.
pub(crate) fn round_up(offset: u64, alignment: u64) -> u64 {
    if alignment.is_power_of_two() {
        let mask = alignment - 1;
        return offset.checked_add(mask).map_or(u64::MAX, |sum| sum & !mask);
    }
    offset.checked_next_multiple_of(alignment).unwrap_or(u64::MAX)
}

/// Knows what is occupied in one heap, and finds the best gap in it.
///
/// There is a plain one that follows the rule's text and a fast one; both give the same offsets.
pub(crate) trait GapFinder {
    /// Forgets everything: a new heap begins. From now on only groups of `order` come, in this order, each at most once.
    fn begin_heap(&mut self, order: &[u32]);

    /// Where the group goes: the start of the smallest gap that holds it, the lowest one of several equal. A gap is free
    /// at every tick at which some member lives. `None` if there is none below [`SPACE_END`].
    fn find(&mut self, group: u32) -> Option<u64>;

    /// The group stands at `offset` from now on.
    fn occupy(&mut self, group: u32, offset: u64);

    /// The first `count` groups of the order have been dealt with.
    fn advance(&mut self, count: usize);
}

/// Puts a group into a heap at `offset`. What is placed ends within `u64`: see the callers.
pub(crate) fn commit(heap: &mut Heap, timeline: &Timeline, group: &Group, offset: u64) {
    let chunk = Chunk { offset, size: group.size };
    heap.size = heap.size.max(chunk.end());
    heap.chunks.extend(timeline.members(group).iter().map(|key| (*key, chunk)));
    heap.placements.push(Placement { buffer: group.root, offset, size: group.size });
}

/// Whether the group may stand at `offset` in the heap (FAST_PACKERS 5).
pub(crate) fn within_limit(heap: &Heap, group: &Group, offset: u64, options: &Options) -> bool {
    let is_empty = heap.size == 0;
    is_empty || options.limit.is_none_or(|limit| offset.saturating_add(group.size) <= limit)
}

/// Places the groups of `order` by best fit, heap after heap.
pub(crate) fn pack(
    timeline: &Timeline,
    mut order: Vec<u32>,
    options: &Options,
    finder: &mut impl GapFinder,
) -> Result<Vec<Heap>, PackError> {
    let mut heaps = Vec::new();
    loop {
        let mut heap = Heap::default();
        fill(timeline, &mut heap, &mut order, options, finder)?;
        heaps.push(heap);
        if order.is_empty() {
            return Ok(heaps);
        }
    }
}

/// Places what it can of `order` into one heap; the rest stays in `order`.
pub(crate) fn fill(
    timeline: &Timeline,
    heap: &mut Heap,
    order: &mut Vec<u32>,
    options: &Options,
    finder: &mut impl GapFinder,
) -> Result<(), PackError> {
    if order.is_empty() {
        return Ok(());
    }
    finder.begin_heap(order);
    let mut leftover = Vec::new();
    for (i, &at) in order.iter().enumerate() {
        finder.advance(i);
        let group = &timeline.groups[at as usize];
        // A group above the limit needs no search: it ends above the limit wherever it is. Whether it has a place at
        // all will be asked when it is the first of its heap.
        if !within_limit(heap, group, 0, options) {
            leftover.push(at);
            continue;
        }
        let Some(offset) = finder.find(at) else {
            return Err(PackError::NoPlace { buffer: group.root, size: group.size });
        };
        if within_limit(heap, group, offset, options) {
            finder.occupy(at, offset);
            commit(heap, timeline, group, offset);
        } else {
            leftover.push(at);
        }
    }
    *order = leftover;
    Ok(())
}
