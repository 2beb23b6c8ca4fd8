//! Copying to alternate memory, whole or in slices (MEMORY_SPACE 14 and 15).

use crate::allocation::{Copy, Kind, OffsetGroup, Slice};
use crate::decision::{Prefetch, PrefetchResult, PrefetchWindow, Step, Try, TryOutcome};
use crate::engine::{Booked, Engine, Trial};
use crate::heap::Chunk;
use crate::no_copy::Place;
use crate::problem::{Space, UseKind};
use crate::segment::Request;
use crate::sliced::{self, SlicedPlace};
use crate::{Outcome, Time};

/// Resources of slices are asked for with so much to spare (15).
const SLICE_INFLATION: f32 = 1.8;

/// One prefetch, as far as it does not change while starts are tried.
struct Attempt<'a> {
    request: &'a Request,
    done: Time,
    size: u64,
    slices: &'a [u64],
    preferred: Option<OffsetGroup>,
    extra_copies: i64,
}

/// A copy that fits.
enum Solution {
    Whole { start: Time, offset: u64, seconds: f32 },
    Sliced { starts: Vec<Time>, place: SlicedPlace, seconds: Vec<f32> },
}

impl<'p> Engine<'p> {
    /// Tries to copy the value from its default allocation (a place in the sequence) to alternate memory.
    pub(crate) fn prefetch(
        &mut self,
        trial: &mut Trial<'p>,
        request: &Request,
        default: usize,
        preferred: Option<OffsetGroup>,
    ) -> Outcome {
        let mut tried = Vec::new();
        let (window, result) = self.search(trial, request, default, preferred, &mut tried);
        let done = request.latest_prefetch;
        let (outcome, result) = match result {
            Ok(solution) => {
                let result = self.commit_prefetch(trial, request, default, preferred, solution);
                (Outcome::SUCCESS, result)
            }
            Err(outcome) => (outcome, PrefetchResult::Failed { outcome }),
        };
        trial.steps.push(Step::Prefetch(Prefetch { done, window, tried, result }));
        outcome
    }

    /// A colour wants the value in alternate memory at the end: right before that, whatever it costs (20).
    pub(crate) fn force_prefetch(
        &mut self,
        trial: &mut Trial<'p>,
        request: &Request,
        default: usize,
        reservation: usize,
    ) -> Outcome {
        let (chunk, group) = {
            let r = &self.colours.reservations[reservation];
            (r.chunk, r.group)
        };
        let done = request.latest_prefetch;
        let start = done - 1;
        let is_there = trial.sequences[request.position][default].available_time() <= start;
        if !is_there || !self.heap.is_free(done, request.end, chunk) {
            return Outcome::OUT_OF_MEMORY;
        }
        let solution = Solution::Whole { start, offset: chunk.offset, seconds: 0.0 };
        let result = self.commit_prefetch(trial, request, default, Some(group), solution);
        let window = PrefetchWindow::Forced;
        trial.steps.push(Step::Prefetch(Prefetch { done, window, tried: Vec::new(), result }));
        Outcome::SUCCESS
    }

    fn search(
        &mut self,
        trial: &Trial<'p>,
        request: &Request,
        default: usize,
        preferred: Option<OffsetGroup>,
        tried: &mut Vec<Try>,
    ) -> (PrefetchWindow, Result<Solution, Outcome>) {
        let buffer = self.buffer(trial.owners[request.position].0);
        let usage = &trial.values[request.use_position].uses[request.usage];
        let done = request.latest_prefetch;
        let size = request.size;
        // A slice that is made asynchronous is not sliced once more; a copy is.
        let slices: &[u64] =
            if buffer.slices.len() >= 2 && buffer.size == size { &buffer.slices } else { &[] };
        let available = trial.sequences[request.position][default].available_time();
        let mut earliest = request.earliest_prefetch.map_or(available, |time| time.max(available));
        if done <= earliest + 1 {
            return (PrefetchWindow::Empty { available: earliest }, Err(Outcome::OUT_OF_MEMORY));
        }
        let mut first_full = done - 1;
        while first_full > earliest && self.heap.used_at(first_full).saturating_add(size) <= self.max_size() {
            first_full -= 1;
        }
        if first_full == done - 1 {
            let used = self.heap.used_at(first_full);
            return (PrefetchWindow::Full { time: first_full, used, size }, Err(Outcome::OUT_OF_MEMORY));
        }
        if slices.is_empty() && request.only_start.is_none() {
            earliest = first_full;
        }
        let mut preferred_time = request.preferred_prefetch;
        if let Some(time) = preferred_time {
            if request.strict_prefetch {
                if !(earliest..done).contains(&time) {
                    let window = PrefetchWindow::PreferredOutside { preferred: time };
                    return (window, Err(Outcome::LIVE_RANGE_TOO_SHORT));
                }
            } else {
                preferred_time = Some(time.max(earliest));
            }
        }
        let window = self.intervals.window(
            size,
            earliest,
            done,
            usage.elapsed_reduction,
            preferred_time,
            request.strict_prefetch,
        );
        if let Some(only) = request.only_start.filter(|t| !(window.earliest..=window.latest).contains(t)) {
            let (seconds, least) = (
                self.intervals.elapsed(only, done),
                (self.intervals.least_seconds(size) - usage.elapsed_reduction).max(0.0),
            );
            let (earliest, latest) = (window.earliest, window.latest);
            let outside = PrefetchWindow::OnlyOutside { only, earliest, latest, seconds, least };
            return (outside, Err(Outcome::LIVE_RANGE_TOO_SHORT));
        }
        let evidence = if window.earliest > window.latest {
            PrefetchWindow::TooNear {
                available: earliest,
                seconds: self.intervals.elapsed(earliest, done),
                least: (self.intervals.least_seconds(size) - usage.elapsed_reduction).max(0.0),
            }
        } else {
            PrefetchWindow::Open { earliest: window.earliest, latest: window.latest, first: window.first }
        };
        let extra_copies = if matches!(usage.kind, UseKind::While { .. }) {
            self.problem.options.while_use_extra_outstanding_prefetch_limit
        } else {
            0
        };
        let attempt = Attempt { request, done, size, slices, preferred, extra_copies };
        if self.whole_place(trial, &attempt, window.latest).is_none() {
            return (evidence, Err(Outcome::OUT_OF_MEMORY));
        }
        let starts: Vec<Time> = match request.only_start {
            Some(only) => vec![only],
            None => self.intervals.starts(window, done, request.strict_prefetch).collect(),
        };
        let mut failures = Outcome::SUCCESS;
        let mut no_place_up_to = None;
        let mut whole = None;
        for start in starts {
            if no_place_up_to.is_some_and(|limit| start <= limit) {
                let outcome = TryOutcome::NoPlaceLater;
                tried.push(Try { start, sliced: !slices.is_empty(), outcome });
                // What failed before is forgotten, and so is a whole copy that has been found (28, 11).
                return (evidence, Err(Outcome::OUT_OF_MEMORY));
            }
            if !slices.is_empty() {
                let (outcome, solution) = self.try_slices(trial, &attempt, start);
                tried.push(Try { start, sliced: true, outcome });
                if solution.is_some() {
                    return (evidence, solution.ok_or(failures));
                }
                if outcome == TryOutcome::NoPlace {
                    no_place_up_to = Some(start);
                }
                if outcome != TryOutcome::SlicesStartTogether {
                    failures |= outcome.outcome();
                }
            }
            if whole.is_none() {
                let (outcome, solution) = self.try_whole(trial, &attempt, start);
                tried.push(Try { start, sliced: false, outcome });
                failures |= outcome.outcome();
                if outcome == TryOutcome::NoPlace && slices.is_empty() {
                    no_place_up_to = Some(start);
                }
                whole = solution;
                if whole.is_some() && slices.is_empty() {
                    break;
                }
            }
        }
        if failures.is_success() {
            failures = Outcome::LIVE_RANGE_TOO_SHORT;
        }
        (evidence, whole.ok_or(failures))
    }

    /// A place for the whole buffer from right after `start` on.
    fn whole_place(&self, trial: &Trial<'_>, attempt: &Attempt<'_>, start: Time) -> Option<Place<u64>> {
        let (from, size) = (start + 1, attempt.size);
        match attempt.preferred.map(|group| self.offset(group)) {
            Some(offset) => self
                .heap
                .find(from, attempt.request.end, size, Some(offset))
                .filter(|found| *found == offset && offset.saturating_add(size) <= self.max_size())
                .map(|at| Place { at, free_until: attempt.request.end }),
            None => self.best_place(trial, attempt.request.end, |until| {
                self.heap.find(from, until, size, None).map(|at| (at, at.saturating_add(size)))
            }),
        }
    }

    fn too_many(&self, attempt: &Attempt<'_>, starts: &[Time]) -> Option<TryOutcome> {
        let most = self.problem.options.max_outstanding_prefetches;
        if most < 0 {
            return None;
        }
        let most = most.saturating_add(attempt.extra_copies);
        starts.iter().enumerate().find_map(|(i, start)| {
            let count = self.prefetches.count(*start, attempt.done) + i;
            (count as i64 >= most).then_some(TryOutcome::TooMany { count, most })
        })
    }

    fn try_whole(
        &mut self,
        trial: &Trial<'_>,
        attempt: &Attempt<'_>,
        start: Time,
    ) -> (TryOutcome, Option<Solution>) {
        let is_free = attempt.request.preferred_prefetch.is_some();
        let seconds = if is_free { 0.0 } else { self.intervals.true_copy_seconds(attempt.size) };
        if self.problem.options.enforce_prefetch_fifo_order
            && self.prefetch_order.violates(start, attempt.done)
        {
            return (TryOutcome::OutOfOrder, None);
        }
        if let Some(outcome) = self.too_many(attempt, &[start]) {
            return (outcome, None);
        }
        if !self.prefetch_resource.has_room(&[(start, attempt.done, seconds)]) {
            return (TryOutcome::NoBandwidth { seconds }, None);
        }
        match self.whole_place(trial, attempt, start) {
            Some(Place { at: offset, .. }) => {
                (TryOutcome::Fits { offset }, Some(Solution::Whole { start, offset, seconds }))
            }
            None => (TryOutcome::NoPlace, None),
        }
    }

    fn try_slices(
        &mut self,
        trial: &Trial<'_>,
        attempt: &Attempt<'_>,
        start: Time,
    ) -> (TryOutcome, Option<Solution>) {
        let sizes = attempt.slices;
        let starts = self.intervals.slice_starts(start, attempt.done, sizes.len(), &self.computation_of);
        if starts.iter().all(|other| *other == starts[0]) {
            return (TryOutcome::SlicesStartTogether, None);
        }
        let is_free = attempt.request.preferred_prefetch.is_some();
        let cost = |size: u64| if is_free { 0.0 } else { self.intervals.true_copy_seconds(size) };
        let mut seconds: Vec<f32> = sizes.iter().map(|size| cost(*size)).collect();
        seconds.sort_by(f32::total_cmp);
        if self.problem.options.enforce_prefetch_fifo_order
            && starts.iter().any(|start| self.prefetch_order.violates(*start, attempt.done))
        {
            return (TryOutcome::OutOfOrder, None);
        }
        if let Some(outcome) = self.too_many(attempt, &starts) {
            return (outcome, None);
        }
        let wanted = |seconds: &[f32]| -> Vec<(Time, Time, f32)> {
            let pairs = starts.iter().zip(seconds);
            pairs.map(|(start, s)| (*start, attempt.done, s * SLICE_INFLATION)).collect()
        };
        let total = |seconds: &[f32]| seconds.iter().sum();
        if !self.prefetch_resource.has_room(&wanted(&seconds)) {
            return (TryOutcome::NoBandwidth { seconds: total(&seconds) }, None);
        }
        let inclusive: Vec<Time> = starts.iter().map(|start| start + 1).collect();
        let threshold = self.problem.options.all_slice_time_permutations_threshold;
        let permutations = sliced::permutations(sizes, &inclusive, threshold);
        let preferred = attempt.preferred.map(|group| self.offset(group));
        let search = |until: Time| {
            sliced::find(&self.heap, &inclusive, until, sizes, attempt.size, preferred, &permutations, |_| {
                true
            })
        };
        let end = attempt.request.end;
        let place = match preferred {
            Some(offset) => search(end)
                .filter(|p| p.offset == offset && offset.saturating_add(attempt.size) <= self.max_size()),
            None => self
                .best_place(trial, end, |until| {
                    search(until).map(|p| {
                        let chunk_end = p.offset.saturating_add(attempt.size);
                        (p, chunk_end)
                    })
                })
                .map(|place| place.at),
        };
        let Some(place) = place else { return (TryOutcome::NoPlace, None) };
        // Now it is known which slice starts when.
        let mut by_time = vec![0.0; sizes.len()];
        for (rank, time) in place.time_of_rank.iter().enumerate() {
            by_time[*time] = cost(sizes[rank]);
        }
        if !self.prefetch_resource.has_room(&wanted(&by_time)) {
            return (TryOutcome::NoBandwidth { seconds: total(&by_time) }, None);
        }
        let outcome = TryOutcome::Fits { offset: place.offset };
        (outcome, Some(Solution::Sliced { starts, place, seconds: by_time }))
    }

    fn commit_prefetch(
        &mut self,
        trial: &mut Trial<'p>,
        request: &Request,
        default: usize,
        preferred: Option<OffsetGroup>,
        solution: Solution,
    ) -> PrefetchResult {
        let (done, end, size) = (request.latest_prefetch, request.end, request.size);
        let position = request.position;
        let offset = match &solution {
            Solution::Whole { offset, .. } => *offset,
            Solution::Sliced { place, .. } => place.offset,
        };
        let group = preferred.unwrap_or_else(|| self.new_group(offset));
        let (start, kind) = match &solution {
            Solution::Whole { start, .. } => (*start, Kind::Copy),
            Solution::Sliced { starts, .. } => (starts[0], Kind::SlicedCopy),
        };
        let mut copy =
            self.new_allocation(trial, position, kind, Space::Alternate, (start + 1, end), Some(group));
        copy.size = size;
        copy.source = Some(default);
        copy.uses.push(Self::use_ref(trial, request));
        let (total, slice_starts) = match solution {
            Solution::Whole { start, seconds, .. } => {
                self.commit(trial, start + 1, end, Chunk { offset, size });
                let parts = vec![(start, done, seconds)];
                let counted = vec![(start + 1, done)];
                self.book(trial, Booked { is_prefetch: true, parts, counted });
                trial.sequences[position][default].extend(request.latest_prefetch);
                (seconds, Vec::new())
            }
            Solution::Sliced { starts, place, seconds } => {
                let sizes = &self.buffer(trial.owners[position].0).slices;
                let last = starts[starts.len() - 1];
                for (chunk, time) in sliced::chunks(&place, sizes).into_iter().zip(&place.time_of_rank) {
                    let start = starts[*time];
                    copy.slices.push(Slice {
                        start,
                        offset: chunk.offset,
                        size: chunk.size,
                        seconds: seconds[*time],
                    });
                    self.commit(trial, start + 1, last, chunk);
                }
                self.commit(trial, last + 1, end, Chunk { offset, size });
                let parts = starts.iter().zip(&seconds).map(|(start, s)| (*start, done, *s)).collect();
                // The exclusive start is counted here (28, 8).
                let counted = starts.iter().map(|start| (*start, done)).collect();
                self.book(trial, Booked { is_prefetch: true, parts, counted });
                (seconds.iter().sum(), copy.slices.iter().map(|s| s.start).collect())
            }
        };
        copy.copy = Some(Copy { start, done, seconds: total, cross_program: None });
        trial.sequences[position].push(copy);
        PrefetchResult::Copied { start, offset, seconds: total, slice_starts }
    }
}
