//! Packing everything anew by best fit, longest first (MEMORY_SPACE 22).

use crate::Time;
use crate::allocation::Allocation;
use crate::decision::Decision;
use crate::engine::{Engine, Ring};
use crate::heap::{Chunk, Heap};
use crate::problem::BufferIndex;
use crate::sliced;

/// Where a ring goes, and the slice times of each of its members.
struct Move {
    offset: u64,
    times: Vec<Vec<usize>>,
}

/// Inclusive slice starts of an allocation, ascending.
fn slice_starts(allocation: &Allocation) -> Vec<Time> {
    let mut starts: Vec<Time> = allocation.slices.iter().map(|s| s.start + 1).collect();
    starts.sort_unstable();
    starts
}

fn slice_sizes(allocation: &Allocation) -> Vec<u64> {
    allocation.slices.iter().map(|s| s.size).collect()
}

/// The times and chunks an allocation occupies at an offset.
fn occupied(allocation: &Allocation, offset: u64, times: &[usize]) -> Vec<(Time, Time, Chunk)> {
    if allocation.slices.is_empty() {
        return vec![(allocation.start, allocation.end, Chunk { offset, size: allocation.size })];
    }
    let starts = slice_starts(allocation);
    let mut at = offset;
    let mut found = Vec::new();
    for (slice, time) in allocation.slices.iter().zip(times) {
        found.push((starts[*time], allocation.end, Chunk { offset: at, size: slice.size }));
        at = at.saturating_add(slice.size);
    }
    found
}

impl Engine<'_> {
    /// Packs all final allocations anew; gives whether the new packing fits and was taken.
    pub(crate) fn repack(&mut self, because_of: BufferIndex) -> bool {
        let mut order: Vec<usize> = (0..self.rings.len()).collect();
        let key = |ring: &Ring| {
            let members = ring.members.iter().map(|at| &self.finalized[*at]);
            let end = members.map(|a| a.end).max().unwrap_or(0);
            let leader = &self.finalized[ring.members[0]];
            (leader.start - end, std::cmp::Reverse(leader.size), ring.members[0])
        };
        order.sort_by_key(|at| key(&self.rings[*at]));
        let mut heap = Heap::new(self.problem.end_time(), self.problem.options.alignment_in_bytes);
        for r in self.colours.reservations.iter().filter(|r| r.is_held) {
            heap.commit(r.start, r.end, r.chunk);
        }
        let mut moves: Vec<Option<Move>> = self.rings.iter().map(|_| None).collect();
        let mut fits = true;
        for at in order {
            let Some(place) = self.place_ring(&heap, &self.rings[at]) else {
                fits = false;
                break;
            };
            for (member, times) in self.rings[at].members.iter().zip(&place.times) {
                for (start, end, chunk) in occupied(&self.finalized[*member], place.offset, times) {
                    fits &= chunk.end() <= self.max_size();
                    heap.commit(start, end, chunk);
                }
            }
            if !fits {
                break;
            }
            moves[at] = Some(place);
        }
        let mut moved = 0;
        if fits {
            moved = self.take_over(moves);
            self.successful_repacks += 1;
        }
        self.decisions.push(Decision::Repacked { buffer: because_of, fits, moved });
        fits
    }

    fn place_ring(&self, heap: &Heap, ring: &Ring) -> Option<Move> {
        let members: Vec<&Allocation> = ring.members.iter().map(|at| &self.finalized[*at]).collect();
        let size = members.iter().map(|a| a.size).max()?;
        let threshold = self.problem.options.all_slice_time_permutations_threshold;
        let whole: Vec<(Time, Time)> =
            members.iter().filter(|a| a.slices.is_empty()).map(|a| (a.start, a.end)).collect();
        let sliced_members: Vec<&&Allocation> = members.iter().filter(|a| !a.slices.is_empty()).collect();
        let permutations_of = |a: &Allocation| {
            let (sizes, starts) = (slice_sizes(a), slice_starts(a));
            let mut wanted: Vec<(u64, Time)> = a.slices.iter().map(|s| (s.size, s.start + 1)).collect();
            wanted.sort_unstable();
            let mut all = sliced::permutations(&sizes, &starts, threshold);
            all.retain(|permutation| {
                let mut given: Vec<(u64, Time)> =
                    permutation.iter().enumerate().map(|(rank, k)| (sizes[rank], starts[*k])).collect();
                given.sort_unstable();
                given == wanted
            });
            all
        };
        // The first order of a member's slices that fits at an offset.
        let fit_at = |a: &Allocation, offset: u64| {
            let all = permutations_of(a);
            let place = sliced::find(
                heap,
                &slice_starts(a),
                a.end,
                &slice_sizes(a),
                size,
                Some(offset),
                &all,
                |_| true,
            );
            place.filter(|place| place.offset == offset).map(|place| place.time_of_rank)
        };
        let offset = if let [leader] = &members[..]
            && !leader.slices.is_empty()
        {
            let all = permutations_of(leader);
            let (starts, sizes) = (slice_starts(leader), slice_sizes(leader));
            let place = sliced::find(heap, &starts, leader.end, &sizes, size, None, &all, |_| true)?;
            return Some(Move { offset: place.offset, times: vec![place.time_of_rank] });
        } else if sliced_members.is_empty() {
            heap.find_for_all(&whole, size, None, |_| true)?
        } else {
            // A mixed ring: a place for the time of the latest slices, then each sliced member at that offset.
            let mut intervals = whole;
            intervals.extend(
                sliced_members.iter().map(|a| (slice_starts(a).last().copied().unwrap_or(a.start), a.end)),
            );
            heap.find_for_all(&intervals, size, None, |offset| {
                sliced_members.iter().all(|a| fit_at(a, offset).is_some())
            })?
        };
        let times =
            members.iter().map(|a| if a.slices.is_empty() { Some(Vec::new()) } else { fit_at(a, offset) });
        Some(Move { offset, times: times.collect::<Option<_>>()? })
    }

    /// Makes the new packing the current one.
    fn take_over(&mut self, moves: Vec<Option<Move>>) -> usize {
        let mut moved = 0;
        self.heap.forget_chunks();
        for r in self.colours.reservations.iter().filter(|r| r.is_held) {
            self.heap.restore_chunk(r.start, r.end, r.chunk);
        }
        for (ring, place) in self.rings.iter().zip(moves) {
            let Some(place) = place else { continue };
            for (member, times) in ring.members.iter().zip(&place.times) {
                let allocation = &mut self.finalized[*member];
                moved += usize::from(allocation.offset != Some(place.offset));
                for (start, end, chunk) in occupied(allocation, place.offset, times) {
                    self.heap.restore_chunk(start, end, chunk);
                }
                let starts = slice_starts(allocation);
                let by_start: Vec<(Time, f32)> =
                    allocation.slices.iter().map(|s| (s.start + 1, s.seconds)).collect();
                let mut offset = place.offset;
                for (slice, time) in allocation.slices.iter_mut().zip(times) {
                    slice.start = starts[*time] - 1;
                    slice.seconds =
                        by_start.iter().find(|(t, _)| *t == starts[*time]).map_or(slice.seconds, |(_, s)| *s);
                    slice.offset = offset;
                    offset = offset.saturating_add(slice.size);
                }
                allocation.offset = Some(place.offset);
                if let Some(group) = allocation.group {
                    self.offsets[group.0 as usize] = place.offset;
                }
            }
        }
        moved
    }
}
