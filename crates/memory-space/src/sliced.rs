//! Places for buffers that are copied in slices, each of which needs its space from its own start on
//! (MEMORY_SPACE 4.3, FAST_PACKERS 12).

use crate::Time;
use crate::heap::{Chunk, Gap, Heap, SPACE_END, round_up};

/// More slices than this are never proposed: permutations and pieces are looked at one by one.
pub(crate) const MOST_SLICES: usize = 64;

/// Which slice time each offset rank gets, in the order in which they are tried.
///
/// All of them in lexicographic order up to `threshold` slices, else ascending, descending and "small times around the
/// middle". Two that give equal start times everywhere are tried once.
pub(crate) fn permutations(sizes: &[u64], starts: &[Time], threshold: usize) -> Vec<Vec<usize>> {
    let count = sizes.len();
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut add = |permutation: Vec<usize>| {
        let times: Vec<Time> = permutation.iter().map(|k| starts[*k]).collect();
        if seen.insert(times) {
            found.push(permutation);
        }
    };
    // Eight slices have 40,320 permutations; the option is 4 in practice.
    if count <= threshold.min(8) {
        let mut permutation: Vec<usize> = (0..count).collect();
        loop {
            add(permutation.clone());
            let Some(at) = (1..count).rev().find(|i| permutation[i - 1] < permutation[*i]) else { break };
            let swap = (at..count).rev().find(|i| permutation[*i] > permutation[at - 1]).unwrap_or(at);
            permutation.swap(at - 1, swap);
            permutation[at..].reverse();
        }
        return found;
    }
    // Only slices as large as the first change places.
    let movable: Vec<usize> = (0..count).filter(|i| sizes[*i] == sizes[0]).collect();
    let mut place = |order: Vec<usize>| {
        let mut permutation: Vec<usize> = (0..count).collect();
        for (rank, k) in movable.iter().zip(order) {
            permutation[*rank] = movable[k];
        }
        add(permutation);
    };
    let m = movable.len();
    place((0..m).collect());
    place((0..m).rev().collect());
    // Odd ranks get the larger times going down, then even ranks going up: the smallest times are in the middle.
    let around_middle: Vec<usize> = {
        let mut by_time = vec![0; m];
        let ranks = (0..m).filter(|r| r % 2 == 1).rev().chain((0..m).filter(|r| r % 2 == 0));
        for (position, time) in ranks.enumerate() {
            by_time[position] = time;
        }
        by_time
    };
    place(around_middle);
    found
}

/// Where a sliced buffer goes: its offset and the slice time of each slice in order of offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlicedPlace {
    pub(crate) offset: u64,
    pub(crate) time_of_rank: Vec<usize>,
}

/// A part of a root that is free back to slice time `from`.
struct Piece {
    end: u64,
    from: usize,
}

/// Looks for a place for slices of `sizes` (in order of offset) whose starts are `starts` (inclusive, ascending), all of
/// them alive until `end`. `whole` is the size of the group, at least the sum of the slices.
#[expect(clippy::too_many_arguments, reason = "a question of its own: what, when, where")]
pub(crate) fn find(
    heap: &Heap,
    starts: &[Time],
    end: Time,
    sizes: &[u64],
    whole: u64,
    preferred: Option<u64>,
    permutations: &[Vec<usize>],
    suits: impl Fn(u64) -> bool,
) -> Option<SlicedPlace> {
    let last = starts.len().checked_sub(1)?;
    let whole = whole.max(sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size)));
    let by_time: Vec<Vec<Gap>> = starts.iter().map(|start| heap.gaps(&[(*start, end)], 1)).collect();
    let mut roots = by_time[last].clone();
    let try_root = |root: Gap, only: Option<u64>| -> Option<SlicedPlace> {
        if root.size() < whole {
            return None;
        }
        let pieces = pieces(root, &by_time);
        let first = only.unwrap_or_else(|| round_up(root.start, heap.alignment));
        let mut best: Option<(u64, usize)> = None;
        for (rank, permutation) in permutations.iter().enumerate() {
            if let Some(offset) = lowest(
                &pieces,
                first,
                root.end,
                whole,
                sizes,
                permutation,
                heap.alignment,
                only.is_some() || pieces.len() == 1,
                &suits,
            ) && best.is_none_or(|(lowest, _)| offset < lowest)
            {
                best = Some((offset, rank));
            }
        }
        best.map(|(offset, rank)| SlicedPlace { offset, time_of_rank: permutations[rank].clone() })
    };
    if let Some(offset) = preferred
        && offset.is_multiple_of(heap.alignment)
        && let Some(root) = roots.iter().rev().find(|root| root.start <= offset)
        && let Some(place) = try_root(*root, Some(offset))
    {
        return Some(place);
    }
    roots.sort_by_key(|root| (root.size(), root.start));
    roots.into_iter().find_map(|root| try_root(root, None))
}

/// Cuts a root into pieces by how far back each address is free.
fn pieces(root: Gap, by_time: &[Vec<Gap>]) -> Vec<Piece> {
    let last = by_time.len() - 1;
    let mut cuts = vec![root.start, root.end];
    for gap in by_time.iter().flatten() {
        cuts.extend([gap.start, gap.end].into_iter().filter(|cut| root.start < *cut && *cut < root.end));
    }
    cuts.sort_unstable();
    cuts.dedup();
    let mut at = vec![0; by_time.len()];
    let mut pieces: Vec<Piece> = Vec::new();
    for pair in cuts.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        let mut from = last;
        for time in (0..last).rev() {
            let gaps = &by_time[time];
            while at[time] < gaps.len() && gaps[at[time]].end <= start {
                at[time] += 1;
            }
            let is_free = gaps.get(at[time]).is_some_and(|gap| gap.start <= start && end <= gap.end);
            if !is_free {
                break;
            }
            from = time;
        }
        match pieces.last_mut() {
            Some(piece) if piece.from == from => piece.end = end,
            _ => pieces.push(Piece { end, from }),
        }
    }
    pieces
}

/// The lowest offset at which every slice's addresses are free back to its time under `permutation`.
#[expect(clippy::too_many_arguments, reason = "the search of one root is one step of `find`")]
fn lowest(
    pieces: &[Piece],
    first: u64,
    root_end: u64,
    whole: u64,
    sizes: &[u64],
    permutation: &[usize],
    alignment: u64,
    only_first: bool,
    suits: &impl Fn(u64) -> bool,
) -> Option<u64> {
    let mut offset = first;
    'offset: while offset <= SPACE_END && offset.saturating_add(whole) <= root_end {
        let mut begin = offset;
        for (rank, size) in sizes.iter().enumerate() {
            let end = begin.saturating_add(*size);
            let mut at = pieces.partition_point(|piece| piece.end <= begin);
            // The last piece in the way decides how far to go: no lower offset can be free.
            let mut obstacle = None;
            while let Some(piece) = pieces.get(at) {
                if piece.from > permutation[rank] {
                    obstacle = Some(piece.end);
                }
                if piece.end >= end {
                    break;
                }
                at += 1;
            }
            if let Some(obstacle) = obstacle {
                if only_first {
                    return None;
                }
                let step = round_up(obstacle.saturating_sub(begin).max(1), alignment);
                offset = offset.saturating_add(step);
                continue 'offset;
            }
            begin = end;
        }
        if suits(offset) {
            return Some(offset);
        }
        if only_first {
            return None;
        }
        offset = offset.saturating_add(alignment);
    }
    None
}

/// The chunk of every slice, by offset rank.
pub(crate) fn chunks(place: &SlicedPlace, sizes: &[u64]) -> Vec<Chunk> {
    let mut offset = place.offset;
    sizes
        .iter()
        .map(|size| {
            let chunk = Chunk { offset, size: *size };
            offset = chunk.end();
            chunk
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_permutations_skip_equal_start_times() {
        let all = permutations(&[1, 1, 1], &[3, 3, 4], 4);
        assert_eq!(all, [vec![0, 1, 2], vec![0, 2, 1], vec![2, 0, 1]]);
    }

    #[test]
    fn preferred_permutations() {
        let some = permutations(&[1; 5], &[1, 2, 3, 4, 5], 4);
        assert_eq!(some, [vec![0, 1, 2, 3, 4], vec![4, 3, 2, 1, 0], vec![3, 1, 0, 2, 4]]);
    }

    #[test]
    fn an_early_slice_goes_where_there_is_space_early() {
        let mut heap = Heap::new(10, 4);
        heap.commit(0, 3, Chunk { offset: 0, size: 8 });
        heap.commit(0, 10, Chunk { offset: 16, size: 100 });
        let all = permutations(&[8, 8], &[2, 5], 4);
        let place = find(&heap, &[2, 5], 8, &[8, 8], 16, None, &all, |_| true).unwrap();
        assert_eq!(place, SlicedPlace { offset: 0, time_of_rank: vec![1, 0] });
        let none = find(&heap, &[2, 3], 8, &[8, 8], 16, None, &all, |_| true).unwrap();
        assert_eq!(none.offset, 116);
    }
}
