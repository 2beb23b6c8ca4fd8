//! Events in, intervals and groups out (BUFFER_ASSIGNMENT 10.2, FAST_PACKERS 1.1 to 1.5).

use crate::{BufferKey, Event, PackError};
use sorts::Arrange as _;

/// A tick of the logical clock: one per event of non-zero size.
pub(crate) type Tick = u32;

/// A closed range of ticks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Run {
    pub start: Tick,
    pub end: Tick,
}

/// A buffer that needs a place, and all that share it.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The allocated buffer.
    pub root: BufferKey,
    /// The root's own size.
    pub own_size: u64,
    /// The largest size in the group: what the place must hold.
    pub size: u64,
    /// The root's own range.
    pub own: Run,
    /// From the first start to the last end of any member.
    pub hull: Run,
    /// The buffers of the group, the root first, are `members[first_member..last_member]`.
    first_member: u32,
    last_member: u32,
    /// The ticks at which some member lives are `runs[first_run..last_run]`: sorted, disjoint, not adjacent.
    first_run: u32,
    last_run: u32,
}

impl Group {
    /// Whether the root shares its place with nobody.
    pub(crate) fn is_single(&self) -> bool {
        self.last_member - self.first_member == 1
    }
}

/// The events as intervals, grouped by place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    /// In order of the root's start.
    pub groups: Vec<Group>,
    members: Vec<BufferKey>,
    runs: Vec<Run>,
    /// Buffers without an interval (FAST_PACKERS 1.8).
    pub zero_sized: Vec<BufferKey>,
    /// All ticks of all runs are below it.
    pub ticks: Tick,
}

/// What is known of a buffer while the events are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unseen,
    ZeroSized { freed: bool },
    Interval { at: u32, freed: bool },
}

struct Interval {
    key: BufferKey,
    /// Position in `groups`.
    group: u32,
    run: Run,
}

impl Timeline {
    pub(crate) fn new(events: &[Event]) -> Result<Self, PackError> {
        // Each unfreed buffer gets a tick of its own after the last event, hence the factor of two.
        if events.len() > (i32::MAX as usize) {
            return Err(PackError::TooManyEvents);
        }
        let keys = KeyIndex::new(events);
        let mut states = vec![State::Unseen; keys.len()];
        let state_of =
            |states: &[State], key: BufferKey| states.get(keys.of(key)).copied().unwrap_or(State::Unseen);
        let mut zero_sized = Vec::new();
        let mut intervals: Vec<Interval> = Vec::with_capacity(events.len() / 2);
        let mut groups: Vec<Group> = Vec::new();
        let mut now: Tick = 0;

        for (event_at, event) in events.iter().enumerate() {
            match *event {
                Event::Alloc { buffer, .. } | Event::Share { buffer, .. }
                    if state_of(&states, buffer) != State::Unseen =>
                {
                    return Err(PackError::BegunTwice { event: event_at, buffer });
                }
                Event::Alloc { buffer, size: 0 } => {
                    zero_sized.push(buffer);
                    states[keys.of(buffer)] = State::ZeroSized { freed: false };
                }
                Event::Alloc { buffer, size } => {
                    let run = Run { start: now, end: Tick::MAX };
                    states[keys.of(buffer)] = State::Interval { at: intervals.len() as u32, freed: false };
                    intervals.push(Interval { key: buffer, group: groups.len() as u32, run });
                    groups.push(Group {
                        root: buffer,
                        own_size: size,
                        size,
                        own: run,
                        hull: run,
                        first_member: 0,
                        last_member: 0,
                        first_run: 0,
                        last_run: 0,
                    });
                    now += 1;
                }
                Event::Share { buffer, with, size } => {
                    let group = match state_of(&states, with) {
                        State::Unseen => {
                            return Err(PackError::ShareWithUnknown { event: event_at, buffer, with });
                        }
                        State::ZeroSized { .. } => None,
                        State::Interval { at, .. } => Some(intervals[at as usize].group),
                    };
                    if size == 0 {
                        zero_sized.push(buffer);
                        states[keys.of(buffer)] = State::ZeroSized { freed: false };
                        continue;
                    }
                    let Some(group) = group else {
                        return Err(PackError::ShareWithZeroSize { event: event_at, buffer, with });
                    };
                    let run = Run { start: now, end: Tick::MAX };
                    states[keys.of(buffer)] = State::Interval { at: intervals.len() as u32, freed: false };
                    intervals.push(Interval { key: buffer, group, run });
                    let group = &mut groups[group as usize];
                    group.size = group.size.max(size);
                    now += 1;
                }
                Event::Free { buffer } => match state_of(&states, buffer) {
                    State::Unseen => return Err(PackError::FreeBeforeBegin { event: event_at, buffer }),
                    State::ZeroSized { freed: true } | State::Interval { freed: true, .. } => {
                        return Err(PackError::FreedTwice { event: event_at, buffer });
                    }
                    State::ZeroSized { freed: false } => {
                        states[keys.of(buffer)] = State::ZeroSized { freed: true };
                    }
                    State::Interval { at, freed: false } => {
                        states[keys.of(buffer)] = State::Interval { at, freed: true };
                        intervals[at as usize].run.end = now;
                        now += 1;
                    }
                },
            }
        }
        let mut timeline = Self { groups, zero_sized, ..Self::default() };
        timeline.close(&mut intervals, now);
        timeline.gather(&intervals);
        Ok(timeline)
    }

    /// Ends what was never freed. Each such buffer gets a tick of its own, so that every tick has at most one event:
    /// they all overlap at `now` in any case.
    fn close(&mut self, intervals: &mut [Interval], now: Tick) {
        let mut next = now;
        for interval in intervals.iter_mut().filter(|interval| interval.run.end == Tick::MAX) {
            interval.run.end = next;
            next += 1;
        }
        self.ticks = next;
    }

    /// Lays out the members and runs of each group side by side.
    fn gather(&mut self, intervals: &[Interval]) {
        // A counting sort by group. Intervals are in order of start, so each group's are too, the root first.
        let mut counts = vec![0_u32; self.groups.len()];
        for interval in intervals {
            counts[interval.group as usize] += 1;
        }
        let mut next = 0;
        for (group, count) in self.groups.iter_mut().zip(&counts) {
            group.first_member = next;
            group.last_member = next;
            next += count;
        }
        let mut sorted = vec![0_u32; intervals.len()];
        for (at, interval) in intervals.iter().enumerate() {
            let group = &mut self.groups[interval.group as usize];
            sorted[group.last_member as usize] = at as u32;
            group.last_member += 1;
        }
        self.members = sorted.iter().map(|at| intervals[*at as usize].key).collect();
        for group in &mut self.groups {
            group.first_run = self.runs.len() as u32;
            for at in &sorted[group.first_member as usize..group.last_member as usize] {
                let run = intervals[*at as usize].run;
                let known = self.runs.len() > group.first_run as usize;
                match self.runs.last_mut() {
                    Some(last) if known && run.start <= last.end.saturating_add(1) => {
                        last.end = last.end.max(run.end);
                    }
                    _ => self.runs.push(run),
                }
                if at == &sorted[group.first_member as usize] {
                    group.own = run;
                    group.hull = run;
                }
                group.hull.end = group.hull.end.max(run.end);
            }
            group.last_run = self.runs.len() as u32;
        }
    }

    pub(crate) fn members(&self, group: &Group) -> &[BufferKey] {
        &self.members[group.first_member as usize..group.last_member as usize]
    }

    pub(crate) fn runs(&self, group: &Group) -> &[Run] {
        &self.runs[group.first_run as usize..group.last_run as usize]
    }

    /// How many runs there are in all groups together.
    pub(crate) fn run_count(&self) -> usize {
        self.runs.len()
    }
}

/// Numbers the buffers of a trace without gaps.
pub(crate) enum KeyIndex {
    /// The keys are small enough to be the numbers.
    Dense(usize),
    Sorted(Vec<BufferKey>),
}

impl KeyIndex {
    pub(crate) fn new(events: &[Event]) -> Self {
        let bound =
            events.iter().map(|event| event.buffer().0 as usize).max().map_or(0, |largest| largest + 1);
        if bound <= 1024 + 8 * events.len() {
            return Self::Dense(bound);
        }
        let mut keys: Vec<BufferKey> = events.iter().map(Event::buffer).collect();
        keys.arrange_unstable();
        keys.dedup();
        Self::Sorted(keys)
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Dense(bound) => *bound,
            Self::Sorted(keys) => keys.len(),
        }
    }

    /// The number of a key; `usize::MAX` if it begins or ends nowhere.
    pub(crate) fn of(&self, key: BufferKey) -> usize {
        match self {
            Self::Dense(_) => key.0 as usize,
            Self::Sorted(keys) => keys.binary_search(&key).unwrap_or(usize::MAX),
        }
    }
}
