//! When a prefetch may start, and how long a value may stay (MEMORY_SPACE 14.1 and 14.2).

use crate::Time;
use crate::problem::{Instruction, IntervalRule};

/// Answers questions about intervals of time. Exclusive start `t` means right after instruction `t`; -1 is before all.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    /// Sum of the seconds of all instructions up to and including this one, loops counted several times.
    sums: Vec<f32>,
    nest: Vec<u32>,
    /// `lowest[k][t]`: the lowest level of while loops in `[t, t + 2^k)`.
    lowest: Vec<Vec<u32>>,
    while_execution_count: f32,
    /// One second of copying moves so many bytes.
    copy_bandwidth: f64,
    size_override: Option<u64>,
    rule: IntervalRule,
    max_elapsed: f32,
}

/// What the picker would offer for one prefetch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    pub(crate) latest: Time,
    pub(crate) earliest: Time,
    pub(crate) first: Time,
}

impl Intervals {
    pub(crate) fn new(
        instructions: &[Instruction],
        while_execution_count: f32,
        copy_bandwidth: f64,
        size_override: Option<u64>,
        rule: IntervalRule,
        memory_size: u64,
    ) -> Self {
        let mut sum = 0.0_f32;
        let sums = instructions
            .iter()
            .map(|i| {
                if !i.is_control_flow {
                    sum += i.elapsed_seconds * power(while_execution_count, i.while_nest);
                }
                sum
            })
            .collect();
        let nest = instructions.iter().map(|i| i.nest).collect();
        let mut lowest: Vec<Vec<u32>> = vec![instructions.iter().map(|i| i.while_nest).collect()];
        // All levels equal is the rule; then one table will do.
        if instructions.iter().any(|i| i.while_nest != instructions[0].while_nest) {
            let mut width = 1;
            while width * 2 <= instructions.len() {
                let below = &lowest[lowest.len() - 1];
                let level =
                    (0..=instructions.len() - width * 2).map(|t| below[t].min(below[t + width])).collect();
                lowest.push(level);
                width *= 2;
            }
        }
        let mut this = Self {
            sums,
            nest,
            lowest,
            while_execution_count,
            copy_bandwidth,
            size_override,
            rule,
            max_elapsed: f32::INFINITY,
        };
        if let IntervalRule::Cost { max_overlap_ratio, .. } = rule {
            let rounded = memory_size.div_ceil(4).saturating_mul(4);
            this.max_elapsed = this.true_copy_seconds(rounded) * max_overlap_ratio;
        }
        this
    }

    fn lowest_level(&self, start: usize, end: usize) -> u32 {
        if self.lowest.len() == 1 {
            return self.lowest[0].get(start).copied().unwrap_or(0);
        }
        let k = (end - start + 1).ilog2() as usize;
        let row = &self.lowest[k];
        row[start].min(row[end + 1 - (1 << k)])
    }

    /// Seconds between the end of instruction `start` and the start of instruction `end`: both are left out, and
    /// instruction 0 too if `start` is -1.
    pub(crate) fn elapsed(&self, start: Time, end: Time) -> f32 {
        if let IntervalRule::Count { .. } = self.rule {
            return if start == end { 0.0 } else { (end - start - 1) as f32 };
        }
        let last = self.sums.len();
        if start >= end || last == 0 {
            return 0.0;
        }
        let begin = usize::try_from(start.max(0)).unwrap_or(0);
        let end = usize::try_from(end.max(0)).unwrap_or(0).min(last);
        if end <= begin {
            return 0.0;
        }
        let level = self.lowest_level(begin, end.min(last - 1));
        (self.sums[end - 1] - self.sums[begin]) / power(self.while_execution_count, level)
    }

    /// Seconds for which the asynchronous copy engine is busy with so many bytes.
    pub(crate) fn true_copy_seconds(&self, size: u64) -> f32 {
        (f64::from(size as f32) / self.copy_bandwidth) as f32
    }

    /// The same as the picker sees it: the override, if any, replaces every size.
    pub(crate) fn copy_seconds(&self, size: u64) -> f32 {
        self.true_copy_seconds(self.size_override.unwrap_or(size))
    }

    pub(crate) fn max_elapsed(&self) -> f32 {
        self.max_elapsed
    }

    /// Whether a value may stay in alternate memory, unused, from `start` to `end`. The size plays no part.
    pub(crate) fn allows_no_copy(&self, start: Time, end: Time) -> bool {
        match self.rule {
            IntervalRule::Count { max_overlap, .. } => end - start <= max_overlap,
            IntervalRule::Cost { .. } => self.max_elapsed > self.elapsed(start, end),
        }
    }

    fn level(&self, time: Time) -> u32 {
        let last = self.nest.len().saturating_sub(1);
        let at = usize::try_from(time.max(0)).unwrap_or(0).min(last);
        self.nest.get(at).copied().unwrap_or(0)
    }

    /// Seconds that must pass between the start of a copy and its end.
    pub(crate) fn least_seconds(&self, size: u64) -> f32 {
        match self.rule {
            IntervalRule::Count { min_overlap, .. } => min_overlap as f32,
            IntervalRule::Cost { min_overlap_ratio, .. } => min_overlap_ratio * self.copy_seconds(size),
        }
    }

    fn preferred_seconds(&self, size: u64) -> f32 {
        match self.rule {
            IntervalRule::Count { .. } => 0.0,
            IntervalRule::Cost { preferred_overlap_ratio, .. } => {
                preferred_overlap_ratio * self.copy_seconds(size)
            }
        }
    }

    /// The time in `[earliest, latest]` whose distance to `end` is nearest to the preferred one; the earlier of two.
    fn nearest_to_preferred(&self, size: u64, earliest: Time, latest: Time, end: Time, level: u32) -> Time {
        let preferred = self.preferred_seconds(size);
        let distance = |t: Time| (preferred - self.elapsed(t, end)).abs();
        let mut best = earliest;
        let mut best_distance = distance(earliest);
        for t in earliest + 1..=latest {
            if self.level(t) == level {
                let here = distance(t);
                if here < best_distance {
                    (best, best_distance) = (t, here);
                }
            }
        }
        best
    }

    /// When the copy of a cross-program prefetch at the end of the program would start.
    pub(crate) fn preferred_start(&self, size: u64, earliest: Time, latest: Time, end: Time) -> Time {
        match self.rule {
            IntervalRule::Count { max_overlap, .. } => earliest.max(end - max_overlap).min(latest),
            IntervalRule::Cost { .. } => {
                self.nearest_to_preferred(size, earliest, latest, end, self.level(end - 1))
            }
        }
    }

    /// When an eviction that starts right after `start` would best be done.
    pub(crate) fn preferred_eviction_end(&self, size: u64, start: Time, latest: Time, retry: u32) -> Time {
        match self.rule {
            IntervalRule::Count { min_overlap, .. } => start.saturating_add(min_overlap).min(latest),
            IntervalRule::Cost { .. } => {
                let least = (1.0 + 2.0 * retry as f32) * self.preferred_seconds(size);
                (start + 1..=latest).find(|e| self.elapsed(start, *e) >= least).unwrap_or(latest + 1)
            }
        }
    }

    /// The window of exclusive start times for a copy that must be done before `end`. `reduction`: seconds saved at the
    /// use by having the operand in alternate memory.
    pub(crate) fn window(
        &self,
        size: u64,
        start: Time,
        end: Time,
        reduction: f32,
        preferred: Option<Time>,
        strict: bool,
    ) -> Window {
        let window = match self.rule {
            IntervalRule::Count { min_overlap, max_overlap } => {
                let latest = end - min_overlap - 1;
                let first = preferred.unwrap_or_else(|| start.max(end - max_overlap));
                Window { latest, earliest: first, first }
            }
            IntervalRule::Cost { .. } => {
                let level = self.level(end);
                let least = self.least_seconds(size);
                let latest = (start..end)
                    .rev()
                    .find(|t| self.level(*t) == level && least <= self.elapsed(*t, end) + reduction)
                    .unwrap_or(start - 1);
                let earliest = (start..latest)
                    .find(|t| self.level(*t) == level && self.max_elapsed >= self.elapsed(*t, end))
                    .unwrap_or_else(|| start.max(latest));
                let first = match preferred {
                    Some(preferred) if preferred <= latest => preferred,
                    _ if earliest > latest => earliest,
                    _ => self.nearest_to_preferred(size, earliest, latest, end, level),
                };
                Window { latest, earliest, first }
            }
        };
        match preferred {
            Some(preferred) if strict => Window { latest: preferred, earliest: preferred, first: preferred },
            _ => window,
        }
    }

    /// Start times in the order in which they are tried.
    pub(crate) fn starts(&self, window: Window, end: Time, strict: bool) -> Starts<'_> {
        let mut starts = Starts {
            intervals: self,
            window,
            end,
            level: self.level(end),
            down: window.first,
            up: window.first + 1,
            is_up_next: false,
        };
        if window.earliest > window.latest {
            (starts.down, starts.up) = (window.earliest - 1, window.latest + 1);
        } else if strict {
            starts.up = window.latest + 1;
        } else if let IntervalRule::Count { .. } = self.rule {
            // Only upwards.
            (starts.down, starts.up) = (window.earliest - 1, window.first);
            starts.is_up_next = true;
        } else {
            starts.settle();
        }
        starts
    }

    /// Exclusive start times of `count` slices copied one after the other between `start` and `end` (14.3).
    pub(crate) fn slice_starts(
        &self,
        start: Time,
        end: Time,
        count: usize,
        computation_of: &[u32],
    ) -> Vec<Time> {
        let total = self.elapsed(start, end);
        let mut starts = vec![start];
        if count < 2 || start >= end - 2 || total <= 0.0 {
            starts.resize(count, start);
            return starts;
        }
        let computation = |t: Time| computation_of.get(usize::try_from(t.max(0)).unwrap_or(0)).copied();
        let home = computation(start);
        let mut candidate = start;
        let mut last_valid = start;
        for k in 1..count {
            let target = total * (count - k) as f32 / count as f32;
            while candidate < end && self.elapsed(candidate, end) >= target {
                if computation(candidate) == home && self.elapsed(last_valid, candidate + 1) > 0.0 {
                    last_valid = candidate;
                }
                candidate += 1;
            }
            starts.push(last_valid);
        }
        starts
    }
}

/// `base ^ exponent` by multiplication, as many times as loops are nested.
pub(crate) fn power(base: f32, exponent: u32) -> f32 {
    (0..exponent.min(64)).fold(1.0, |product, _| product * base)
}

/// Exclusive starts: the first one, one later, one earlier, two later, and so on; once the later ones are used up, only
/// those earlier ones that add a hundredth of the longest interval.
pub(crate) struct Starts<'i> {
    intervals: &'i Intervals,
    window: Window,
    end: Time,
    level: u32,
    down: Time,
    up: Time,
    is_up_next: bool,
}

impl Starts<'_> {
    fn settle(&mut self) {
        while self.up <= self.window.latest && self.intervals.level(self.up) != self.level {
            self.up += 1;
        }
    }
}

impl Iterator for Starts<'_> {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        let can_up = self.up <= self.window.latest;
        let can_down = self.down >= self.window.earliest;
        if !can_up && !can_down {
            return None;
        }
        if (self.is_up_next && can_up) || !can_down {
            let time = self.up;
            self.up += 1;
            self.settle();
            self.is_up_next = !can_down;
            return Some(time);
        }
        let time = self.down;
        self.down -= 1;
        let mut target = f32::NEG_INFINITY;
        if !can_up {
            let longest = self.intervals.elapsed(self.window.earliest, self.end);
            target = self.intervals.elapsed(time, self.end) + longest / 100.0;
        }
        while self.down >= self.window.earliest
            && (self.intervals.level(self.down) != self.level
                || self.intervals.elapsed(self.down, self.end) < target)
        {
            self.down -= 1;
        }
        self.is_up_next = true;
        Some(time)
    }
}
