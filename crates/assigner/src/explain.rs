//! Why two values do or do not share an address, from the facts and the decisions that were made.

use crate::{AllocationId, Assignment, Decision, HeapRun, NewKind, Placed, Refusal};
use analysis::chain::{Link, chain};
use analysis::ranges::LiveRanges;
use analysis::sharing::{Clause, Interference, interference, may_write_over};
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
    /// They could have shared; the packer found another place that fits better.
    BestFit,
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
            Self::BestFit => "best-fit",
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
    (assignment, decisions): (&Assignment, &[Decision]),
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
    decisions: &'a [Decision],
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
        if early.end == late.start
            && let Ok(clause) = may_write_over(self.module, self.facts, early.end_position, second)
        {
            return Reason::WrittenOver { ends: first, starts: second, at: late.start, clause };
        }
        match self.interference(a, b) {
            // A heap may put a value where its range ends early; the assignment is shown as it is.
            Some(why) => self.interferes(a, b, why),
            None => Reason::Disjoint { first, second },
        }
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
            Decision::New { kind, allocation, buffer: b } if *b == buffer => Some((i, *kind, *allocation)),
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
                        if *buffer == self.buffer(v) && *at == allocation =>
                    {
                        Some(reason.clone())
                    }
                    _ => None,
                });
                if let Some(refusal) = tried {
                    return Reason::Refused { value: v, allocation_of: other, refusal };
                }
                let turn = self
                    .decisions
                    .iter()
                    .position(|d| matches!(d, Decision::Assign { buffer } if *buffer == self.buffer(v)));
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
                Decision::Reuse { allocation, buffer: b, .. } if *b == buffer => Some(*allocation),
                _ => None,
            })?;
            self.decisions.iter().enumerate().find_map(|(i, d)| match d {
                Decision::New { kind, allocation, .. } if *allocation == into => Some((i, *kind, into)),
                _ => None,
            })
        })
    }

    fn why_not_in_heap(&self, a: ValueId, b: ValueId) -> Reason {
        let runs = &self.assignment.heaps;
        let run_of = |v: ValueId| {
            runs.iter().find(|r| r.packing.heaps.iter().any(|h| h.chunk(BufferKey(v.0)).is_some()))
        };
        let (Some(run), Some(_)) = (run_of(a), run_of(b)) else { return Reason::BestFit };
        let heap_of = |v: ValueId| run.packing.heaps.iter().position(|h| h.chunk(BufferKey(v.0)).is_some());
        if heap_of(a) != heap_of(b) {
            return Reason::OtherHeap;
        }
        match heap_meeting(run, a, b) {
            Some((first, second)) => Reason::HeapClock { first, second },
            None => Reason::BestFit,
        }
    }
}

/// Two values, one in the place of each, that are alive at the same tick of the heap's clock (10.2, 10.4), the one that
/// begins first in front.
fn heap_meeting(run: &HeapRun, a: ValueId, b: ValueId) -> Option<(ValueId, ValueId)> {
    let mut group: BTreeMap<BufferKey, BufferKey> = BTreeMap::new();
    let mut ticks: BTreeMap<BufferKey, (usize, usize)> = BTreeMap::new();
    for (tick, event) in run.events.iter().enumerate() {
        let buffer = event.buffer();
        match event {
            Event::Alloc { .. } => {
                group.insert(buffer, buffer);
                ticks.insert(buffer, (tick, usize::MAX));
            }
            Event::Share { with, .. } => {
                let root = group.get(with).copied().unwrap_or(*with);
                group.insert(buffer, root);
                ticks.insert(buffer, (tick, usize::MAX));
            }
            Event::Free { .. } => {
                if let Some(t) = ticks.get_mut(&buffer) {
                    t.1 = tick;
                }
            }
        }
    }
    let members = |v: ValueId| -> Vec<(BufferKey, (usize, usize))> {
        let root = group.get(&BufferKey(v.0)).copied();
        let mut out: Vec<_> =
            ticks.iter().filter(|(k, _)| group.get(k).copied() == root).map(|(k, t)| (*k, *t)).collect();
        // The value itself is the best witness.
        out.sort_by_key(|(k, _)| (k.0 != v.0, *k));
        out
    };
    let (ours, theirs) = (members(a), members(b));
    for (x, (s, e)) in &ours {
        for (y, (t, f)) in &theirs {
            if s <= f && t <= e {
                return Some(if s <= t {
                    (ValueId(x.0), ValueId(y.0))
                } else {
                    (ValueId(y.0), ValueId(x.0))
                });
            }
        }
    }
    None
}
