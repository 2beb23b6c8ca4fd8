//! Copying to default memory, right after the definition (MEMORY_SPACE 13).

use crate::allocation::{Copy, Kind};
use crate::decision::{Evict, Step};
use crate::engine::{Booked, Engine, Trial};
use crate::heap::Chunk;
use crate::problem::Space;
use crate::segment::Request;
use crate::{Outcome, Time};

impl<'p> Engine<'p> {
    /// Copies the latest allocation of the position to default memory, and keeps it until the copy is done.
    pub(crate) fn evict(&mut self, trial: &mut Trial<'p>, request: &Request) -> Outcome {
        let Some(previous) = trial.sequences[request.position].last() else {
            return Outcome::OUT_OF_ASYNC_COPIES;
        };
        let (start, end) = (previous.start, previous.end);
        let Some(group) = previous.group else { return Outcome::OUT_OF_ASYNC_COPIES };
        if self.is_block_mode() {
            trial.steps.push(Step::Evict(Evict::NoCopies));
            return Outcome::OUT_OF_ASYNC_COPIES;
        }
        if request.start_reserved.is_some() {
            return self.force_eviction(trial, request, end);
        }
        let chunk = Chunk { offset: self.offset(group), size: previous.size };
        let size = previous.size;
        let preferred_end = self
            .intervals
            .preferred_eviction_end(size, start, request.end, trial.retry)
            .max(end)
            .min(request.latest_prefetch);
        let done = self.longest_stay(end, preferred_end, chunk);
        let mut seconds = self.intervals.true_copy_seconds(size);
        let fail = |trial: &mut Trial<'_>, evidence| {
            trial.steps.push(Step::Evict(evidence));
            Outcome::OUT_OF_ASYNC_COPIES
        };
        if done <= start {
            return fail(trial, Evict::TooShort { start });
        }
        let mut is_last_resort = false;
        if !self.eviction_resource.has_room(&[(start, done, seconds)]) {
            if trial.retry + 1 < self.problem.options.max_retries {
                return fail(trial, Evict::NoBandwidth { start, done, seconds });
            }
            // A copy without cost always fits.
            (is_last_resort, seconds) = (true, 0.0);
        }
        let most = self.problem.options.max_outstanding_evictions;
        let count = self.evictions.count(start + 1, done);
        if most >= 0 && count as i64 + 1 >= most {
            return fail(trial, Evict::TooMany { count, most });
        }
        self.commit(trial, end + 1, done, chunk);
        let sequence = &mut trial.sequences[request.position];
        let source = sequence.len() - 1;
        sequence[source].extend(done);
        let mut copy = self.new_allocation(
            trial,
            request.position,
            Kind::Copy,
            Space::Default,
            (start + 1, end.max(done)),
            None,
        );
        copy.copy = Some(Copy { start, done, seconds, cross_program: None });
        copy.source = Some(source);
        trial.sequences[request.position].push(copy);
        self.book(
            trial,
            Booked {
                is_prefetch: false,
                parts: vec![(start, done, seconds)],
                counted: vec![(start + 1, done)],
            },
        );
        trial.steps.push(Step::Evict(Evict::Copied { start, done, seconds, is_last_resort }));
        Outcome::SUCCESS
    }

    /// A colour wants the value where it is until then, and elsewhere right after (20).
    fn force_eviction(&mut self, trial: &mut Trial<'p>, request: &Request, end: Time) -> Outcome {
        let (start, done) = (end, end + 1);
        if done > self.problem.end_time() {
            trial.steps.push(Step::Evict(Evict::TooShort { start }));
            return Outcome::OUT_OF_ASYNC_COPIES;
        }
        let source = trial.sequences[request.position].len() - 1;
        let (kind, space) = (Kind::Copy, Space::Default);
        let mut copy = self.new_allocation(trial, request.position, kind, space, (done, done), None);
        copy.copy = Some(Copy { start, done, seconds: 0.0, cross_program: None });
        copy.source = Some(source);
        trial.sequences[request.position].push(copy);
        let (parts, counted) = (vec![(start, done, 0.0)], vec![(done, done)]);
        self.book(trial, Booked { is_prefetch: false, parts, counted });
        trial.steps.push(Step::Evict(Evict::Forced { start }));
        Outcome::SUCCESS
    }

    /// Until when the chunk can stay, at most to `preferred`: either to there, or to a time at which something else
    /// begins or ends; `end` if no longer.
    fn longest_stay(&self, end: Time, preferred: Time, chunk: Chunk) -> Time {
        if preferred <= end {
            return end;
        }
        let free_until = self.heap.latest_free_end(end + 1, preferred, chunk);
        if free_until >= preferred {
            return preferred;
        }
        let edge = self.edge_times.range(end + 1..=free_until.max(end + 1)).next_back().copied();
        edge.filter(|edge| *edge <= free_until).unwrap_or(end)
    }
}
