//! Staying in alternate memory (MEMORY_SPACE 12).

use crate::allocation::{Kind, OffsetGroup};
use crate::decision::{NoCopy, Step};
use crate::engine::{Engine, Trial};
use crate::heap::Chunk;
use crate::problem::Space;
use crate::segment::Request;
use crate::{Outcome, Time};

/// A place, and the use time up to which it is known to be free.
pub(crate) struct Place<T> {
    pub(crate) at: T,
    pub(crate) free_until: Time,
}

impl<'p> Engine<'p> {
    /// Looks for a place that suits not only this segment but as many later uses as could be reached without a copy.
    /// `find(end)` gives a place that is free until `end`, with the end of its chunk.
    pub(crate) fn best_place<T>(
        &self,
        trial: &Trial<'_>,
        end: Time,
        find: impl Fn(Time) -> Option<(T, u64)>,
    ) -> Option<Place<T>> {
        let fits = |until: Time| {
            find(until).filter(|(_, chunk_end)| *chunk_end <= self.max_size()).map(|(at, _)| at)
        };
        let times = &trial.all_use_times;
        let first = times.partition_point(|t| *t < end);
        if first == times.len() {
            return fits(end).map(|at| Place { at, free_until: end });
        }
        let mut last = first;
        while last + 1 < times.len() && self.intervals.allows_no_copy(times[last], times[last + 1]) {
            last += 1;
        }
        // Bisection as in `lower_bound`: right after a success, left after a failure.
        let mut best = None;
        let (mut low, mut high) = (first, last);
        loop {
            let middle = low + (high - low) / 2;
            if let Some(at) = fits(times[middle]) {
                best = Some(Place { at, free_until: times[middle] });
                low = middle + 1;
            } else {
                if middle == low {
                    break;
                }
                high = middle - 1;
            }
            if low > high {
                break;
            }
        }
        best
    }

    /// Tries to keep the value in alternate memory from the segment's start to its end.
    pub(crate) fn stay(
        &mut self,
        trial: &mut Trial<'p>,
        request: &Request,
        preferred: Option<OffsetGroup>,
    ) -> Outcome {
        let fail = |trial: &mut Trial<'_>, evidence, outcome| {
            trial.steps.push(Step::NoCopy(evidence));
            outcome
        };
        let value = trial.values[request.position];
        let previous = trial.sequences[request.position].last();
        if let Some(previous) = previous {
            if previous.space != Space::Alternate {
                return fail(trial, NoCopy::PreviousElsewhere, Outcome::PREVIOUS_NOT_IN_ALTERNATE);
            }
        } else if !self.buffer(trial.buffer).is_allowed && !request.require_no_copy {
            return fail(trial, NoCopy::NotAllowed, Outcome::PREVIOUS_NOT_IN_ALTERNATE);
        }
        if !request.require_no_copy
            && !request.prefer_no_copy
            && !self.intervals.allows_no_copy(request.start, request.end)
        {
            let seconds = self.intervals.elapsed(request.start, request.end);
            let evidence = NoCopy::TooLong { seconds, most: self.intervals.max_elapsed() };
            return fail(trial, evidence, Outcome::LIVE_RANGE_TOO_LONG);
        }
        let mut start = request.start;
        let mut group = preferred;
        if let Some(previous) = previous {
            start = previous.end + 1;
            if preferred.is_some() && preferred != previous.group {
                return fail(trial, NoCopy::OffsetConflict, Outcome::CONFLICTING_PREFERRED_OFFSETS);
            }
            group = previous.group;
        }
        let size = previous.map_or(request.size, |previous| previous.size);
        let only_at = group.map(|group| self.offset(group));
        let place = match only_at {
            Some(offset) => self
                .heap
                .find(start, request.end, size, only_at)
                .filter(|found| *found == offset && offset.saturating_add(size) <= self.max_size())
                .map(|at| Place { at, free_until: request.end }),
            None => self.best_place(trial, request.end, |until| {
                self.heap.find(start, until, size, None).map(|at| (at, at.saturating_add(size)))
            }),
        };
        let Some(Place { at: offset, free_until }) = place else {
            let evidence = NoCopy::NoPlace { size, from: start, until: request.end, only_at };
            return fail(trial, evidence, Outcome::OUT_OF_MEMORY);
        };
        self.commit(trial, start, request.end, Chunk { offset, size });
        let use_ref = Self::use_ref(trial, request);
        let sequence = &mut trial.sequences[request.position];
        let continues =
            sequence.last().is_some_and(|a| a.is_copy_like() || a.definition_time == value.definition_time);
        match sequence.last_mut() {
            Some(previous) if continues => {
                previous.extend(request.end);
                if !request.is_extend_only {
                    previous.uses.push(use_ref);
                }
            }
            _ => {
                let group = group.unwrap_or_else(|| self.new_group(offset));
                let times = (request.start, request.end);
                let mut pinned = self.new_allocation(
                    trial,
                    request.position,
                    Kind::Pinned,
                    Space::Alternate,
                    times,
                    Some(group),
                );
                if !request.is_extend_only {
                    pinned.uses.push(use_ref);
                }
                trial.sequences[request.position].push(pinned);
            }
        }
        trial.steps.push(Step::NoCopy(NoCopy::Stays { offset, free_until }));
        Outcome::SUCCESS
    }
}
