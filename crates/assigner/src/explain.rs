//! Why two values do or do not share an address, from the facts and the decisions that were made.

use crate::{AllocationId, Assignment, Decision, Decisions, HeapRun, NewKind, Placed, Refusal};
use analysis::chain::{Link, chain};
use analysis::ranges::LiveRanges;
use analysis::sharing::{Clause, Interference, Touching, interference, may_write_over};
use analysis::{BufferId, Color, Facts, LiveRange, Step, ValueId};
use hlo::{InstructionId, Module};
use packing::{BufferKey, Event};
use std::collections::BTreeMap;

/// Two values, where they stand, when they are wanted, and why that is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The two values.
    pub values: [ValueId; 2],
    /// Where they stand; `None` for values without memory of their own.
    pub places: [Option<(AllocationId, Placed)>; 2],
    /// When they are wanted; `None` for values that are not on the clock.
    pub ranges: [Option<LiveRange>; 2],
    /// How many bytes they have in common.
    pub common_bytes: u64,
    /// Why.
    pub reason: Reason,
}

impl Explanation {
    /// Do they stand on the same bytes, at least in part? Values of no bytes share if they must.
    #[must_use]
    pub fn shares(&self) -> bool {
        self.common_bytes > 0 || matches!(self.reason, Reason::Same | Reason::MustAlias(_))
    }
}

/// Why two values share, or do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// They are one value.
    Same,
    /// They share: they are of one buffer, by these links.
    MustAlias(Vec<Link>),
    /// They share: one is done before the other starts.
    Disjoint {
        /// The value that is wanted first.
        first: ValueId,
        /// The other one.
        second: ValueId,
    },
    /// They share: one ends where the other is written, and the instruction there may write over it.
    WrittenOver {
        /// The value that ends.
        ends: ValueId,
        /// The value that starts.
        starts: ValueId,
        /// The step.
        at: Step,
        /// The clause of 7 that said yes.
        clause: Clause,
    },
    /// One of them has no memory of its own: it is inside a fusion, say.
    NoMemory(ValueId),
    /// They are in different memory spaces.
    Color([Color; 2]),
    /// One of them is of a kind that shares with nobody.
    Category {
        /// The value.
        value: ValueId,
        /// Its kind.
        kind: NewKind,
    },
    /// They are wanted at the same time.
    Interference {
        /// How their ranges meet.
        why: Interference,
        /// The one that is there first.
        holder: ValueId,
        /// What keeps it.
        until: Until,
    },
    /// They could share by themselves, but one must share with a value that is in the way.
    InterferenceOfBuffers {
        /// A value that must share with the first.
        a: ValueId,
        /// A value that must share with the second.
        b: ValueId,
        /// How the ranges of these meet.
        why: Interference,
    },
    /// The allocation of one was tried for the other, and somebody or something else there was in the way.
    Refused {
        /// The value it was tried for.
        value: ValueId,
        /// The value whose allocation it was.
        allocation_of: ValueId,
        /// Why it was refused.
        refusal: Refusal,
    },
    /// One is in an allocation of its own, which was never tried for the other.
    NeverTried {
        /// The value with the allocation.
        value: ValueId,
        /// Was the allocation made only after the other value's turn?
        was_too_late: bool,
    },
    /// They meet on the heap's clock, which runs finer than the program's, or values that share with them do.
    HeapClock {
        /// A value that shares with one of them.
        first: ValueId,
        /// A value that shares with the other one and begins before the first is free.
        second: ValueId,
    },
    /// A limit put them into different heaps.
    OtherHeap,
    /// They could have shared; the packer put the later one elsewhere.
    BestFit {
        /// The value that had its place first.
        earlier: ValueId,
        /// The other one.
        later: ValueId,
        /// Why it was put elsewhere.
        fit: Fit,
    },
}

/// Why the packer did not put a value where another stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Somebody else was there by then: this value, at a time at which the later one is wanted.
    Taken(ValueId),
    /// Another free chunk is smaller, or as small and lower.
    Tighter {
        /// The first byte of the chosen one and the byte after its last.
        chosen: (u64, u64),
        /// The same of the one with the place of the earlier value.
        other: (u64, u64),
    },
    /// It was put at the start of the very chunk that has the place, and does not reach it.
    StartOfChunk {
        /// The first byte of the chunk.
        from: u64,
    },
    /// The packer works in an order of its own, so that the place was not among those it weighed.
    NotWeighed,
}

impl Reason {
    /// Its name in JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::MustAlias(_) => "must-alias",
            Self::Disjoint { .. } => "disjoint",
            Self::WrittenOver { .. } => "written-over",
            Self::NoMemory(_) => "no-memory",
            Self::Color(_) => "color",
            Self::Category { .. } => "category",
            Self::Interference { why, .. } => match why {
                Interference::Overlap(_) => "overlap",
                Interference::Touch { .. } => "touch",
                Interference::MayInterfere => "unordered",
            },
            Self::InterferenceOfBuffers { .. } => "overlap-of-buffers",
            Self::Refused { .. } => "refused",
            Self::NeverTried { .. } => "never-tried",
            Self::HeapClock { .. } => "heap-clock",
            Self::OtherHeap => "other-heap",
            Self::BestFit { .. } => "best-fit",
        }
    }
}

impl NewKind {
    /// Its name in JSON, which is that of the decision events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Parameter => "parameter",
            Self::ThreadLocal => "thread-local",
            Self::Tuple => "tuple",
            Self::Other => "other",
        }
    }
}

/// What keeps a value to the end of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// This instruction reads it last.
    Read(InstructionId),
    /// It is an entry parameter that was not donated.
    Parameter,
    /// It is a part of the result.
    Result,
    /// It, or a value that must share with it, stands in something that lives on: a tuple, a computation's result.
    Carried,
}

/// What keeps a value to the end of its range.
#[must_use]
pub fn until(module: &Module, facts: &Facts, ranges: &LiveRanges, value: ValueId) -> Until {
    let v = facts.value(value);
    let Some(range) = ranges.get(value) else { return Until::Carried };
    let at = v.defined_at();
    let is_parameter = module.parameter_number(at.instruction).is_some()
        && module.instruction(at.instruction).computation == module.entry;
    if is_parameter && range.end == ranges.end() && !analysis::ranges::is_aliased(module, at) {
        return Until::Parameter;
    }
    if v.live_out && range.end == ranges.end() {
        return Until::Result;
    }
    match v.uses.iter().find(|u| facts.clock.time(u.user) == Some(range.end)) {
        Some(u) => Until::Read(u.user),
        None => Until::Carried,
    }
}

/// Explains two values of an assignment that was made for `ranges`, with the decisions that led to it.
#[must_use]
pub fn explain(
    module: &Module,
    facts: &Facts,
    ranges: &LiveRanges,
    (assignment, decisions): (&Assignment, &Decisions),
    [a, b]: [ValueId; 2],
) -> Explanation {
    let places = [assignment.place(a), assignment.place(b)];
    let common_bytes = match places {
        [Some((in_a, p)), Some((in_b, q))] if in_a == in_b => {
            let end = (p.offset.saturating_add(p.size)).min(q.offset.saturating_add(q.size));
            end.saturating_sub(p.offset.max(q.offset))
        }
        _ => 0,
    };
    let search = Search { module, facts, ranges, assignment, decisions };
    let reason = if a == b {
        Reason::Same
    } else if let Some(links) = chain(module, facts, a, b) {
        Reason::MustAlias(links)
    } else if let Some(value) = [a, b].into_iter().find(|v| assignment.place(*v).is_none()) {
        Reason::NoMemory(value)
    } else if common_bytes > 0 {
        search.why_shared(a, b)
    } else {
        search.why_not(a, b)
    };
    Explanation { values: [a, b], places, ranges: [ranges.get(a), ranges.get(b)], common_bytes, reason }
}

struct Search<'a> {
    module: &'a Module,
    facts: &'a Facts,
    ranges: &'a LiveRanges,
    assignment: &'a Assignment,
    decisions: &'a Decisions,
}

impl Search<'_> {
    fn buffer(&self, v: ValueId) -> BufferId {
        self.facts.value(v).buffer
    }

    fn interference(&self, a: ValueId, b: ValueId) -> Option<Interference> {
        interference(self.module, self.facts, self.ranges, a, b)
    }

    fn why_shared(&self, a: ValueId, b: ValueId) -> Reason {
        let (Some(x), Some(y)) = (self.ranges.get(a), self.ranges.get(b)) else {
            return Reason::Disjoint { first: a, second: b };
        };
        let (first, second, early, late) =
            if (x.start, x.end) <= (y.start, y.end) { (a, b, x, y) } else { (b, a, y, x) };
        if early.end == late.start {
            let by_last_place = may_write_over(self.module, self.facts, early.end_position, second);
            if let Ok(clause) = by_last_place.or_else(|_| self.heap_lets_write_over(first, second)) {
                return Reason::WrittenOver { ends: first, starts: second, at: late.start, clause };
            }
        }
        match self.interference(a, b) {
            // A heap may put a value where its range ends early; the assignment is shown as it is.
            Some(why) => self.interferes(a, b, why),
            None => Reason::Disjoint { first, second },
        }
    }

    /// The heap asks of the place that defines a value what the assigner asks of the one where it stands last (10.1).
    fn heap_lets_write_over(&self, ends: ValueId, starts: ValueId) -> Result<Clause, Touching> {
        may_write_over(self.module, self.facts, self.facts.value(ends).defined_at(), starts)
    }

    fn interferes(&self, a: ValueId, b: ValueId, why: Interference) -> Reason {
        let start = |v| self.ranges.get(v).map(|r| (r.start, v));
        let holder = match why {
            Interference::Touch { ends, .. } => ends,
            _ if start(a) <= start(b) => a,
            _ => b,
        };
        Reason::Interference { why, holder, until: until(self.module, self.facts, self.ranges, holder) }
    }

    /// The kind of allocation that was made for a buffer, if one was.
    fn made_for(&self, buffer: BufferId) -> Option<(usize, NewKind, AllocationId)> {
        self.decisions.iter().enumerate().find_map(|(i, d)| match d {
            Decision::New { kind, allocation, buffer: b } if b == buffer => Some((i, kind, allocation)),
            _ => None,
        })
    }

    fn why_not(&self, a: ValueId, b: ValueId) -> Reason {
        let colors = [a, b].map(|v| self.facts.value(v).color);
        if colors[0] != colors[1] {
            return Reason::Color(colors);
        }
        for v in [a, b] {
            let Some((_, kind, _)) = self.made_for(self.buffer(v)) else { continue };
            let donated = || {
                let allocation = self.assignment.place(v).map(|(id, _)| self.assignment.allocation(id));
                allocation.is_some_and(|a| !a.is_read_only())
            };
            let is_closed = match kind {
                NewKind::Constant | NewKind::ThreadLocal | NewKind::Tuple => true,
                NewKind::Parameter => !donated(),
                NewKind::Other => false,
            };
            if is_closed {
                return Reason::Category { value: v, kind };
            }
        }
        if let Some(why) = self.interference(a, b) {
            if let Interference::Touch { ends, starts, .. } = why
                && self.home(a).is_none()
                && self.home(b).is_none()
                && self.heap_lets_write_over(ends, starts).is_ok()
            {
                return self.why_not_in_heap(a, b);
            }
            return self.interferes(a, b, why);
        }
        let (ours, theirs) = (self.facts.buffer(self.buffer(a)), self.facts.buffer(self.buffer(b)));
        for x in &ours.values {
            for y in &theirs.values {
                if let Some(why) = self.interference(*x, *y) {
                    return Reason::InterferenceOfBuffers { a: *x, b: *y, why };
                }
            }
        }
        // Now it is a question of what was tried, or of the packing.
        for (v, other) in [(a, b), (b, a)] {
            if let Some((made, _, allocation)) = self.home(other) {
                let tried = self.decisions.iter().find_map(|d| match d {
                    Decision::Refuse { buffer, allocation: at, reason }
                        if buffer == self.buffer(v) && at == allocation =>
                    {
                        Some(reason)
                    }
                    _ => None,
                });
                if let Some(refusal) = tried {
                    return Reason::Refused { value: v, allocation_of: other, refusal };
                }
                let turn = self
                    .decisions
                    .iter()
                    .position(|d| matches!(d, Decision::Assign { buffer } if buffer == self.buffer(v)));
                if self.home(v).is_none() || turn > Some(made) {
                    return Reason::NeverTried { value: other, was_too_late: turn < Some(made) };
                }
            }
        }
        if self.home(a).is_some() || self.home(b).is_some() {
            return Reason::NeverTried { value: b, was_too_late: true };
        }
        self.why_not_in_heap(a, b)
    }

    /// The allocation of its own, or of another, that a buffer went to before the heap, and when it was made.
    fn home(&self, v: ValueId) -> Option<(usize, NewKind, AllocationId)> {
        let buffer = self.buffer(v);
        self.made_for(buffer).or_else(|| {
            let into = self.decisions.iter().find_map(|d| match d {
                Decision::Reuse { allocation, buffer: b, .. } if b == buffer => Some(allocation),
                _ => None,
            })?;
            self.decisions.iter().enumerate().find_map(|(i, d)| match d {
                Decision::New { kind, allocation, .. } if allocation == into => Some((i, kind, into)),
                _ => None,
            })
        })
    }

    fn why_not_in_heap(&self, a: ValueId, b: ValueId) -> Reason {
        let runs = &self.assignment.heaps;
        let run_of = |v: ValueId| {
            runs.iter().find(|r| r.packing.heaps.iter().any(|h| h.chunk(BufferKey(v.0)).is_some()))
        };
        let (Some(run), Some(_)) = (run_of(a), run_of(b)) else { return Reason::OtherHeap };
        let heap_of = |v: ValueId| run.packing.heaps.iter().position(|h| h.chunk(BufferKey(v.0)).is_some());
        if heap_of(a) != heap_of(b) {
            return Reason::OtherHeap;
        }
        let clock = HeapClock::new(run);
        match clock.meeting(a, b) {
            Some((first, second)) => Reason::HeapClock { first, second },
            None => clock.best_fit(run, a, b),
        }
    }
}

/// Who is in whose place on the heap's clock, and when (10.2, 10.4).
struct HeapClock {
    /// For each buffer the one that was allocated, whose place it shares.
    leader: BTreeMap<BufferKey, BufferKey>,
    /// For each of these, whoever is in its place, with the first and the last tick.
    members: BTreeMap<BufferKey, Vec<(BufferKey, u32, u32)>>,
}

impl HeapClock {
    fn new(run: &HeapRun) -> Self {
        let mut leader: BTreeMap<BufferKey, BufferKey> = BTreeMap::new();
        let mut ticks: BTreeMap<BufferKey, (u32, u32)> = BTreeMap::new();
        for (tick, event) in (0..).zip(&run.events) {
            let buffer = event.buffer();
            let with = match event {
                Event::Alloc { .. } => buffer,
                Event::Share { with, .. } => leader.get(with).copied().unwrap_or(*with),
                Event::Free { .. } => {
                    if let Some(t) = ticks.get_mut(&buffer) {
                        t.1 = tick;
                    }
                    continue;
                }
            };
            leader.insert(buffer, with);
            ticks.insert(buffer, (tick, u32::MAX));
        }
        let mut members: BTreeMap<BufferKey, Vec<(BufferKey, u32, u32)>> = BTreeMap::new();
        for (buffer, (from, to)) in ticks {
            members.entry(leader[&buffer]).or_default().push((buffer, from, to));
        }
        Self { leader, members }
    }

    fn leader(&self, v: ValueId) -> BufferKey {
        let key = BufferKey(v.0);
        self.leader.get(&key).copied().unwrap_or(key)
    }

    /// Two values, one in the place of each, that are alive at the same tick; the one that begins first in front.
    fn meeting(&self, a: ValueId, b: ValueId) -> Option<(ValueId, ValueId)> {
        let members = |v: ValueId| {
            let mut out = self.members.get(&self.leader(v)).cloned().unwrap_or_default();
            // The value itself is the best witness.
            out.sort_by_key(|(k, ..)| (k.0 != v.0, *k));
            out
        };
        let (ours, theirs) = (members(a), members(b));
        for (x, s, e) in &ours {
            for (y, t, f) in &theirs {
                if s <= f && t <= e {
                    let (x, y) = (ValueId(x.0), ValueId(y.0));
                    return Some(if s <= t { (x, y) } else { (y, x) });
                }
            }
        }
        None
    }

    fn best_fit(&self, run: &HeapRun, a: ValueId, b: ValueId) -> Reason {
        let placements: Vec<_> = run.packing.heaps.iter().flat_map(|h| &h.placements).collect();
        let number = |v: ValueId| placements.iter().position(|p| p.buffer == self.leader(v));
        let (earlier, later) = if number(a) <= number(b) { (a, b) } else { (b, a) };
        let (Some(first), Some(second)) = (number(earlier), number(later)) else {
            return Reason::BestFit { earlier, later, fit: Fit::NotWeighed };
        };
        let (place, needed) = (*placements[first], placements[second].size);
        // Somebody who was placed in between, there and at that time.
        let blocks = placements[..second].iter().find_map(|p| {
            let here = p.offset < place.offset.saturating_add(needed)
                && place.offset < p.offset.saturating_add(p.size);
            let (other, _) = self
                .meeting(later, ValueId(p.buffer.0))
                .filter(|_| here)
                .map(|(x, y)| if self.leader(x) == p.buffer { (x, y) } else { (y, x) })?;
            Some(other)
        });
        if let Some(by) = blocks {
            return Reason::BestFit { earlier, later, fit: Fit::Taken(by) };
        }
        let options = packing::Options { algorithm: run.packing.chosen, ..run.options };
        let chunks = packing::free_chunks_at(&run.events, &options, second).unwrap_or_default();
        let chosen = chunks.iter().find(|c| c.is_chosen);
        let other = chunks.iter().find(|c| c.offset <= place.offset && place.offset < c.end);
        let fit = match (chosen, other) {
            (Some(c), Some(o)) if c == o => Fit::StartOfChunk { from: c.offset },
            (Some(c), Some(o)) => Fit::Tighter { chosen: (c.offset, c.end), other: (o.offset, o.end) },
            _ => Fit::NotWeighed,
        };
        Reason::BestFit { earlier, later, fit }
    }
}
