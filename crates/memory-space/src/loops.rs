//! The optimiser of memory-bound loops that have been unrolled (MEMORY_SPACE 24), usable alone.
//!
//! [`find`] finds a piece of the schedule that repeats itself. [`optimize`] plans one iteration as if it were repeated for ever: what
//! stays in fast memory, what is only temporary there, and which copies run ahead, into the iteration before.
//! Times here are indices within the iteration; those of the iteration before are negative.

use crate::Time;
use crate::heap::{Chunk, Heap};
use serde::Serialize;
use std::collections::BTreeMap;

/// Loops shorter than this are not looked for.
pub const LEAST_LENGTH: usize = 4;
/// And none longer.
pub const MOST_LENGTH: usize = 400;
/// The search for a loop's first instruction begins so much earlier.
const HEAD_START: usize = 10;

/// What a loop is recognised by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Equal for instructions that do the same to the same shapes; `None` for what has none (while loops).
    pub value: Option<u64>,
    /// The computation.
    pub computation: u32,
    /// A parameter, tuple or get-tuple-element.
    pub is_trivial: bool,
    /// Equal for equal opcodes.
    pub opcode: u32,
    /// How far back each operand stands; -1 for parameters, tuples, get-tuple-elements and constants.
    pub distances: Vec<i64>,
}

/// A piece of the schedule that repeats itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FoundLoop {
    /// The first instruction.
    pub start: usize,
    /// The last one.
    pub end: usize,
    /// Instructions in one iteration.
    pub length: usize,
    /// How often it is repeated, also in part.
    pub iterations: f32,
}

/// Finds all loops with at least `least_iterations`.
pub fn find(instructions: &[Fingerprint], least_iterations: f32) -> Vec<FoundLoop> {
    let mut found = Vec::new();
    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    let mut i = 0;
    while i < instructions.len() {
        let here = &instructions[i];
        let Some(value) = here.value.filter(|_| !here.is_trivial) else {
            i += 1;
            continue;
        };
        let last = seen.insert(value, i);
        let length = last.map(|last| i - last).filter(|l| (LEAST_LENGTH..=MOST_LENGTH).contains(l));
        if let Some(length) = length
            && let Some(candidate) = loop_at(instructions, i, length)
            && candidate.iterations >= least_iterations
        {
            i = candidate.end + 1;
            found.push(candidate);
            continue;
        }
        i += 1;
    }
    found
}

fn agree(a: &Fingerprint, b: &Fingerprint, length: usize) -> bool {
    let compatible = |(x, y): (&i64, &i64)| *x == -1 || *y == -1 || x == y || x + length as i64 == *y;
    let same = if a.is_trivial || b.is_trivial {
        a.opcode == b.opcode && a.distances.len() == b.distances.len()
    } else {
        a.value.is_some() && a.value == b.value
    };
    same && a.distances.iter().zip(&b.distances).all(compatible)
}

fn loop_at(instructions: &[Fingerprint], i: usize, length: usize) -> Option<FoundLoop> {
    let from = i.saturating_sub(length + HEAD_START);
    let start = (from..=i - length).find(|j| {
        let (a, b) = (&instructions[*j], &instructions[j + length]);
        a.value.is_some() && a.value == b.value && agree(a, b, length)
    })?;
    let mut end = start + length - 1;
    while let Some(next) = instructions.get(end + 1) {
        let before = &instructions[end + 1 - length];
        if next.computation != before.computation || !agree(before, next, length) {
            break;
        }
        end += 1;
    }
    let iterations = (end + 1 - start) as f32 / length as f32;
    Some(FoundLoop { start, end, length, iterations })
}

/// A use within an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoopUse {
    /// Its place in the iteration.
    pub index: usize,
    /// The operand.
    pub operand: u32,
}

/// A buffer that an iteration touches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoopValue {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Where this iteration defines it.
    pub definition: Option<usize>,
    /// Uses in this iteration, in order.
    pub uses: Vec<LoopUse>,
    /// Uses in the next one.
    pub next_uses: Vec<LoopUse>,
    /// Bytes that its definition and uses read and write.
    pub accessed_bytes: u64,
    /// It is defined before the loop, in the same computation.
    pub has_header: bool,
    /// It is used after the loop.
    pub is_used_after: bool,
    /// Its buffer holds only this value.
    pub is_single: bool,
}

/// What a loop value is (24).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// Defined and used up within one turn.
    Temporary,
    /// Handed from one iteration to the next while the next is already using it: left alone.
    LoopCarried,
    /// Read by every iteration: stays.
    Pinned,
    /// Read by one iteration: copied ahead.
    Prefetch,
    /// None of these: left alone.
    Unsupported,
}

impl LoopValue {
    /// What it is.
    pub fn kind(&self) -> LoopKind {
        let last_next = self.next_uses.iter().map(|u| u.index).max();
        match self.definition {
            Some(definition) => match last_next {
                Some(last) if last >= definition => LoopKind::LoopCarried,
                _ => LoopKind::Temporary,
            },
            None => {
                let Some(first) = self.uses.iter().map(|u| u.index).min() else {
                    return LoopKind::Unsupported;
                };
                let first_next = self.next_uses.iter().map(|u| u.index).min();
                if first_next == Some(first) && self.uses.len() == self.next_uses.len() {
                    LoopKind::Pinned
                } else if last_next.is_none_or(|last| last < first) {
                    LoopKind::Prefetch
                } else {
                    LoopKind::Unsupported
                }
            }
        }
    }

    /// Bytes of slow memory that nobody touches any more if it is in fast memory.
    pub fn savings(&self) -> i64 {
        let size = i64::try_from(self.size).unwrap_or(i64::MAX);
        let mut savings = i64::try_from(self.accessed_bytes).unwrap_or(i64::MAX);
        if self.has_header {
            savings = savings.saturating_sub(size);
        }
        if self.definition.is_some() && self.is_used_after {
            savings = savings.saturating_sub(size);
        }
        savings
    }
}

/// An iteration to be planned.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopProblem {
    /// Instructions in it.
    pub length: usize,
    /// What it touches, without what the iteration before defines.
    pub values: Vec<LoopValue>,
    /// Seconds for which each instruction leaves slow memory idle, if all that could be prefetched is in fast memory.
    pub idle_seconds: Vec<f32>,
    /// Bytes of fast memory.
    pub capacity: u64,
    /// Offsets are multiples of this.
    pub alignment: u64,
    /// Bytes that every instruction needs at offset 0 for itself.
    pub scoped_bytes: u64,
    /// Bytes a second that copies move.
    pub copy_bandwidth: f64,
    /// A copy may begin if it is hidden to this extent.
    pub desired_copy_ratio: f32,
    /// A copy may take a whole iteration even if it is not hidden.
    pub allow_fully_pipelined: bool,
}

/// A copy that runs ahead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoopCopy {
    /// From when its memory is taken; negative: in the iteration before.
    pub from: Time,
    /// It starts right after this index.
    pub start_after: usize,
    /// It is done right before this one.
    pub done_before: usize,
    /// The offset in even iterations.
    pub even_offset: u64,
    /// And in odd ones: two copies may be there at once.
    pub odd_offset: u64,
    /// Seconds of it that nothing hides.
    pub leftover_seconds: f32,
}

impl LoopCopy {
    /// Whether it starts in the iteration before.
    fn wraps(&self, length: usize) -> bool {
        self.done_before <= self.start_after + 1 || (self.start_after + 1 == length && self.done_before == 0)
    }

    /// The start relative to the beginning of the iteration whose use it serves.
    pub fn effective_start(&self, length: usize) -> Time {
        let (start, length_) = (self.start_after as Time, length as Time);
        if self.start_after + 1 == length && self.done_before == 0 {
            -length_
        } else if self.done_before <= self.start_after + 1 {
            start - length_
        } else {
            start
        }
    }
}

/// What was planned for a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "plan", rename_all = "snake_case")]
pub enum LoopPlan {
    /// In fast memory, at one offset in every iteration.
    Fast {
        /// The offset.
        offset: u64,
    },
    /// Copied ahead.
    Copied(LoopCopy),
    /// Left in slow memory: nothing would be saved, or it is of a kind that is left alone.
    Left {
        /// The kind.
        kind: LoopKind,
    },
    /// There is no place for it.
    NoPlace,
    /// No start would hide enough of the copy.
    NotHidden,
}

/// The plan of an iteration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Optimized {
    /// For each value of the problem.
    pub plans: Vec<LoopPlan>,
    /// Values in the order in which they were considered, best first.
    pub order: Vec<usize>,
    /// What the copies leave of the idle time.
    pub idle_seconds: Vec<f32>,
}

/// Plans an iteration.
pub fn optimize(problem: &LoopProblem) -> Optimized {
    let length = problem.length.min(MOST_LENGTH);
    let mut order: Vec<usize> = (0..problem.values.len()).collect();
    let merit = |value: &LoopValue| value.savings() as f32 / value.size.max(1) as f32;
    order.sort_by(|a, b| merit(&problem.values[*b]).total_cmp(&merit(&problem.values[*a])));
    let mut planner = Planner::new(problem, length);
    for at in &order {
        let value = &problem.values[*at];
        if value.kind() == LoopKind::Temporary && value.is_single {
            planner.temporary(*at);
        }
    }
    for at in &order {
        let value = &problem.values[*at];
        if value.kind() == LoopKind::Pinned && value.savings() > 0 {
            planner.stay(*at, 0, length as Time - 1);
        }
    }
    let mut prefetches: Vec<usize> =
        order.iter().copied().filter(|at| problem.values[*at].kind() == LoopKind::Prefetch).collect();
    prefetches.sort_by_key(|at| std::cmp::Reverse(problem.values[*at].uses.iter().min().copied()));
    for at in prefetches {
        planner.prefetch(at);
    }
    Optimized { plans: planner.plans, order, idle_seconds: planner.idle }
}

/// A copy's place, in the heap of four iterations.
#[derive(Clone, Copy, Debug)]
struct Placed {
    value: usize,
    from: Time,
    until: Time,
    even: u64,
    odd: u64,
}

struct Planner<'p> {
    problem: &'p LoopProblem,
    length: Time,
    heap: Heap,
    idle: Vec<f32>,
    plans: Vec<LoopPlan>,
    /// Prefetches in the order in which they were planned; `None` for those that have no place.
    processed: Vec<Option<Placed>>,
}

impl<'p> Planner<'p> {
    fn new(problem: &'p LoopProblem, length: usize) -> Self {
        let mut idle = problem.idle_seconds.clone();
        idle.resize(length, 0.0);
        let length = length as Time;
        let mut heap = Heap::new(length * 6, problem.alignment);
        if problem.scoped_bytes > 0 {
            heap.commit(0, length * 6, Chunk { offset: 0, size: problem.scoped_bytes });
        }
        let plans = problem.values.iter().map(|v| LoopPlan::Left { kind: v.kind() }).collect();
        Self { problem, length, heap, idle, plans, processed: Vec::new() }
    }

    /// The interval in two of the four iterations: the even or the odd ones.
    fn twice(&self, from: Time, until: Time, odd: bool) -> [(Time, Time); 2] {
        let shift = if from < 0 { self.length } else { 0 } + if odd { self.length } else { 0 };
        let two = 2 * self.length;
        [(from + shift, until + shift), (from + shift + two, until + shift + two)]
    }

    fn fits(&self, offset: u64, size: u64) -> bool {
        offset.checked_add(size).is_some_and(|end| end <= self.problem.capacity)
    }

    /// One offset for all four iterations.
    fn stay(&mut self, at: usize, from: Time, until: Time) {
        let size = self.problem.values[at].size;
        let [a, b] = self.twice(from, until, false);
        let [c, d] = self.twice(from, until, true);
        let all = [a, b, c, d];
        let offset =
            self.heap.find_for_all(&all, size, None, |_| true).filter(|offset| self.fits(*offset, size));
        let Some(offset) = offset else {
            self.plans[at] = LoopPlan::NoPlace;
            return;
        };
        for (start, end) in all {
            self.heap.commit(start, end, Chunk { offset, size });
        }
        self.plans[at] = LoopPlan::Fast { offset };
    }

    fn temporary(&mut self, at: usize) {
        let value = &self.problem.values[at];
        let Some(definition) = value.definition else { return };
        let last = value.uses.iter().map(|u| u.index as Time).max();
        let last_next = value.next_uses.iter().map(|u| u.index as Time + self.length).max();
        let until = last_next.or(last).unwrap_or(definition as Time);
        self.stay(at, definition as Time, until.max(definition as Time));
    }

    /// An even and an odd offset for `[from, until]`, both taken; `None` takes nothing.
    fn place(&mut self, value: usize, from: Time, until: Time) -> Option<Placed> {
        let size = self.problem.values[value].size;
        let even_times = self.twice(from, until, false);
        let even = self.heap.find_for_all(&even_times, size, None, |_| true)?;
        if !self.fits(even, size) {
            return None;
        }
        for (start, end) in even_times {
            self.heap.commit(start, end, Chunk { offset: even, size });
        }
        let odd_times = self.twice(from, until, true);
        let odd = self.heap.find_for_all(&odd_times, size, None, |_| true).filter(|o| self.fits(*o, size));
        let Some(odd) = odd else {
            for (start, end) in even_times {
                self.heap.uncommit(start, end, Chunk { offset: even, size });
            }
            return None;
        };
        for (start, end) in odd_times {
            self.heap.commit(start, end, Chunk { offset: odd, size });
        }
        Some(Placed { value, from, until, even, odd })
    }

    fn take_out(&mut self, placed: Placed) {
        let size = self.problem.values[placed.value].size;
        for (odd, offset) in [(false, placed.even), (true, placed.odd)] {
            for (start, end) in self.twice(placed.from, placed.until, odd) {
                self.heap.uncommit(start, end, Chunk { offset, size });
            }
        }
    }

    fn put_back(&mut self, placed: Placed) {
        let size = self.problem.values[placed.value].size;
        for (odd, offset) in [(false, placed.even), (true, placed.odd)] {
            for (start, end) in self.twice(placed.from, placed.until, odd) {
                self.heap.commit(start, end, Chunk { offset, size });
            }
        }
    }

    /// Places the early forced ones one step earlier, then the value from `from` on; all or nothing.
    fn place_all(&mut self, forced: &[usize], at: usize, from: Time, until: Time) -> Option<Vec<Placed>> {
        let old: Vec<Placed> = forced.iter().filter_map(|i| self.processed[*i]).collect();
        for placed in &old {
            self.take_out(*placed);
        }
        let wanted = old.iter().map(|p| (p.value, p.from - 1, p.until)).chain([(at, from, until)]);
        let mut new = Vec::new();
        for (value, from, until) in wanted {
            match self.place(value, from, until) {
                Some(placed) => new.push(placed),
                None => {
                    for placed in new {
                        self.take_out(placed);
                    }
                    for placed in old {
                        self.put_back(placed);
                    }
                    return None;
                }
            }
        }
        Some(new)
    }

    /// Undoes [`Self::place_all`].
    fn undo(&mut self, forced: &[usize], new: Vec<Placed>) {
        for placed in new {
            self.take_out(placed);
        }
        let old: Vec<Placed> = forced.iter().filter_map(|i| self.processed[*i]).collect();
        for placed in old {
            self.put_back(placed);
        }
    }

    fn copy_of(&self, value: usize) -> Option<LoopCopy> {
        match self.plans[value] {
            LoopPlan::Copied(copy) => Some(copy),
            _ => None,
        }
    }

    fn index(&self, time: Time) -> usize {
        usize::try_from(time.rem_euclid(self.length.max(1))).unwrap_or(0)
    }

    fn prefetch(&mut self, at: usize) {
        let value = &self.problem.values[at];
        let Some(first) = value.uses.first().map(|u| u.index as Time) else { return };
        let last = value.uses.iter().map(|u| u.index as Time).max().unwrap_or(first);
        let until = value.next_uses.iter().map(|u| u.index as Time + self.length).max().unwrap_or(last);
        let Some(alone) = self.place(at, first, until) else {
            self.plans[at] = LoopPlan::NoPlace;
            self.processed.push(None);
            return;
        };
        self.take_out(alone);
        let copy_seconds = (f64::from(value.size as f32) / self.problem.copy_bandwidth) as f32;
        let mut accumulated = 0.0_f32;
        let mut next_forced = 0;
        let mut forced: Vec<usize> = Vec::new();
        let mut accepted: Option<(Time, usize)> = None;
        let mut i = first - 1;
        while i >= until - self.length {
            let k = self.index(i);
            if i < 0 {
                while let Some(other) = self.processed.get(next_forced) {
                    let Some(copy) = other.and_then(|placed| self.copy_of(placed.value)) else {
                        next_forced += 1;
                        continue;
                    };
                    if copy.wraps(self.length as usize) || copy.start_after != k {
                        break;
                    }
                    forced.push(next_forced);
                    next_forced += 1;
                }
            }
            let Some(new) = self.place_all(&forced, at, i, until) else { break };
            self.undo(&forced, new);
            let idle = self.idle[k];
            if idle >= copy_seconds - accumulated {
                accepted = Some((i, forced.len()));
                break;
            }
            let is_enough = accumulated + idle >= copy_seconds * self.problem.desired_copy_ratio;
            if accepted.is_none() && is_enough {
                accepted = Some((i, forced.len()));
            } else if self.problem.allow_fully_pipelined && k == self.index(until) {
                accepted = Some((i, forced.len()));
                break;
            }
            accumulated += idle;
            i -= 1;
        }
        let Some((start, forced_count)) = accepted else {
            self.plans[at] = LoopPlan::NotHidden;
            self.processed.push(None);
            return;
        };
        // The same subtractions, for good.
        let mut left = copy_seconds;
        let mut i = first - 1;
        while i >= start && left > 0.0 {
            let k = self.index(i);
            let used = self.idle[k].min(left);
            self.idle[k] -= used;
            left -= used;
            i -= 1;
        }
        forced.truncate(forced_count);
        let Some(mut new) = self.place_all(&forced, at, start, until) else {
            self.processed.push(None);
            return;
        };
        let own = new.pop();
        for (slot, placed) in forced.into_iter().zip(new) {
            self.processed[slot] = Some(placed);
            if let LoopPlan::Copied(copy) = &mut self.plans[placed.value] {
                copy.from = placed.from;
                copy.start_after = usize::try_from((placed.from - 1).rem_euclid(self.length)).unwrap_or(0);
                (copy.even_offset, copy.odd_offset) = (placed.even, placed.odd);
            }
        }
        if let Some(placed) = own {
            self.plans[at] = LoopPlan::Copied(LoopCopy {
                from: start,
                start_after: self.index(start - 1),
                done_before: usize::try_from(first).unwrap_or(0),
                even_offset: placed.even,
                odd_offset: placed.odd,
                leftover_seconds: left.max(0.0),
            });
        }
        self.processed.push(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(
        name: &str,
        size: u64,
        definition: Option<usize>,
        uses: &[(usize, u32)],
        next: &[usize],
    ) -> LoopValue {
        let all = uses.len() + next.len() + usize::from(definition.is_some());
        LoopValue {
            name: name.to_owned(),
            size,
            definition,
            uses: uses.iter().map(|(index, operand)| LoopUse { index: *index, operand: *operand }).collect(),
            next_uses: next.iter().map(|index| LoopUse { index: *index, operand: 0 }).collect(),
            accessed_bytes: size * all as u64,
            has_header: definition.is_none(),
            is_used_after: false,
            is_single: true,
        }
    }

    /// Seconds and places out of a compiler's log: a body of five instructions, ten times.
    #[test]
    fn five_instructions_ten_times() {
        let problem = LoopProblem {
            length: 5,
            values: vec![
                value("convolution.7", 131_072, Some(1), &[(2, 0)], &[]),
                value("copy.9", 131_072, Some(2), &[(3, 0)], &[]),
                value("iota", 262_144, None, &[(3, 1)], &[3]),
                LoopValue { accessed_bytes: 131_072, ..value("sort{0}", 131_072, Some(3), &[], &[0]) },
                value("w0", 524_288, None, &[(1, 2)], &[]),
                value("w1", 524_288, None, &[(1, 0)], &[]),
                value("w2", 524_288, None, &[(0, 2)], &[]),
            ],
            idle_seconds: vec![3.94858e-8, 5.04953e-7, 1.57943e-8, 2.36915e-8, 6.66667e-10],
            capacity: 117_440_512,
            alignment: 4096,
            scoped_bytes: 0,
            copy_bandwidth: 737.66e9,
            desired_copy_ratio: 0.7,
            allow_fully_pipelined: true,
        };
        let plan = optimize(&problem);
        let fast: Vec<Option<u64>> = plan.plans[..4]
            .iter()
            .map(|p| if let LoopPlan::Fast { offset } = p { Some(*offset) } else { None })
            .collect();
        assert_eq!(fast, [Some(0), Some(131_072), Some(262_144), Some(0)]);
        let copies: Vec<(Time, usize, usize, u64, u64)> = plan.plans[4..]
            .iter()
            .filter_map(|p| match p {
                LoopPlan::Copied(c) => {
                    Some((c.from, c.start_after, c.done_before, c.even_offset, c.odd_offset))
                }
                _ => None,
            })
            .collect();
        assert_eq!(
            copies,
            [
                (-4, 0, 1, 524_288, 1_048_576),
                (-4, 0, 1, 1_572_864, 2_097_152),
                (-5, 4, 0, 2_621_440, 3_145_728)
            ]
        );
        let LoopPlan::Copied(first) = plan.plans[4] else { panic!() };
        assert!((first.leftover_seconds - 1.26153e-7).abs() < 1e-11, "{first:?}");
        assert_eq!(first.effective_start(5), -5);
        let LoopPlan::Copied(last) = plan.plans[6] else { panic!() };
        assert_eq!(last.effective_start(5), -5);
    }

    #[test]
    fn a_body_that_repeats_itself() {
        let instruction = |value: u64, distance: i64| Fingerprint {
            value: Some(value),
            computation: 0,
            is_trivial: false,
            opcode: 0,
            distances: vec![distance],
        };
        let mut schedule: Vec<Fingerprint> = (100..107).map(|v| instruction(v, -1)).collect();
        for _ in 0..8 {
            schedule.extend((0..5).map(|v| instruction(v, 1)));
        }
        schedule.push(instruction(200, 1));
        let found = find(&schedule, 6.0);
        assert_eq!(found, [FoundLoop { start: 7, end: 46, length: 5, iterations: 8.0 }]);
        assert_eq!(find(&schedule, 9.0), []);
    }

    #[test]
    fn without_a_place_nothing_is_copied() {
        let problem = LoopProblem {
            length: 5,
            values: vec![value("w", 1000, None, &[(3, 0)], &[])],
            idle_seconds: vec![1.0; 5],
            capacity: 999,
            alignment: 1,
            scoped_bytes: 0,
            copy_bandwidth: 1e9,
            desired_copy_ratio: 0.7,
            allow_fully_pipelined: true,
        };
        assert_eq!(optimize(&problem).plans, [LoopPlan::NoPlace]);
        let roomy = LoopProblem { capacity: 2000, ..problem.clone() };
        assert!(matches!(optimize(&roomy).plans[0], LoopPlan::Copied(LoopCopy { start_after: 1, .. })));
        let busy = LoopProblem {
            capacity: 2000,
            idle_seconds: vec![0.0; 5],
            allow_fully_pipelined: false,
            ..problem
        };
        assert_eq!(optimize(&busy).plans, [LoopPlan::NotHidden]);
    }
}
