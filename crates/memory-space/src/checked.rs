//! An assignment as a list of what happens, for the checker, which executes it and knows nothing of how it was made.
//!
//! Around instruction `t` things happen in this order: its reads, its writes, the ends of copies that must be done before the next
//! instruction (evictions first; a copy that starts here, too, starts right before its end), copies that start. A position that takes over from others (the parameter of a loop's body from the operand, the loop's result
//! from the body's root) is renamed where it stands; so a value that is not back at its place is missed.

use crate::Time;
use crate::allocation::{Allocation, Assignment, Kind, UseRef};
use crate::problem::{AllocationValue, ComputationId, Problem, Space, Use, UseKind};
use checker::{CopyViolation, Event, Place, check_copies};
use std::collections::BTreeMap;

/// When something happens around an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Before,
    Read,
    Rename,
    Write,
    Done,
    Start,
    After,
}

/// How a position comes to its value.
enum Origin {
    /// Its instruction writes it.
    Written,
    /// It is the parameter of a computation that is called with that position.
    Enters((u32, u32)),
    /// It is what a loop leaves.
    Leaves {
        operand: (u32, u32),
        parameter_time: Time,
        root: Option<(u32, u32)>,
        parameters: Vec<(u32, u32)>,
    },
    /// It is what several branches leave, each at a time.
    Joins(Vec<((u32, u32), Time)>),
}

/// Something that is not in its place, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// The time at which it is missed.
    pub time: Time,
    /// What is missed: a position.
    pub wanted: String,
    /// What is there, or that nothing is.
    pub found: Option<String>,
    /// What the checker said.
    pub violation: CopyViolation,
}

impl std::fmt::Display for Misplaced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { time, wanted, found, violation } = self;
        match violation {
            CopyViolation::Lost { .. } => {
                let found = found.as_deref().unwrap_or("nothing");
                write!(f, "at {time}: {wanted} should be there, but {found} is")
            }
            other => write!(f, "at {time}: {wanted}: {other}"),
        }
    }
}

impl std::error::Error for Misplaced {}

/// When a use has its value: what is called has it when it begins, a `call` too.
fn read_time(usage: &Use) -> Time {
    match usage.kind {
        UseKind::Call => (usage.latest_prefetch_time + 1).min(usage.time),
        _ => usage.corrected_time,
    }
}

struct Journal<'p> {
    problem: &'p Problem,
    assignment: &'p Assignment,
    /// Time, moment, order at that moment.
    events: Vec<(Time, Moment, (bool, Time), Event)>,
    /// What each datum is called.
    names: Vec<String>,
    /// The datum of each position, by buffer and place there.
    data: BTreeMap<(u32, u32), u32>,
    /// Allocations of each position.
    of_position: BTreeMap<(u32, u32), Vec<usize>>,
    slots: u32,
}

/// Executes an assignment: every read must find its value.
///
/// # Errors
/// The first value that is not where it is read, copied or handed over.
pub fn check(problem: &Problem, assignment: &Assignment) -> Result<(), Box<Misplaced>> {
    let mut journal = Journal {
        problem,
        assignment,
        events: Vec::new(),
        names: Vec::new(),
        data: BTreeMap::new(),
        of_position: BTreeMap::new(),
        slots: problem.buffers.len() as u32,
    };
    journal.write_down();
    // What happens at one moment of one time happens in the order in which it was written down.
    journal.events.sort_by_key(|(time, moment, order, _)| (*time, *moment, *order));
    let events: Vec<Event> = journal.events.iter().map(|(_, _, _, event)| *event).collect();
    check_copies(&events, problem.options.max_size_in_bytes).map_err(|violation| {
        let name = |datum: u32| journal.names.get(datum as usize).cloned().unwrap_or_default();
        let (at, wanted, found) = match &violation {
            CopyViolation::Lost { at, datum, found, .. } => (*at, name(*datum), found.map(name)),
            CopyViolation::Beyond { at, .. }
            | CopyViolation::Unpaired { at, .. }
            | CopyViolation::SizesDiffer { at } => (*at, String::new(), None),
        };
        let time = journal.events.get(at).map_or(problem.end_time(), |(time, _, _, _)| *time);
        Box::new(Misplaced { time, wanted, found, violation })
    })
}

impl Journal<'_> {
    fn datum(&mut self, name: &str) -> u32 {
        self.names.push(name.to_owned());
        self.names.len() as u32 - 1
    }

    fn push(&mut self, time: Time, moment: Moment, event: Event) {
        self.events.push((time, moment, (false, 0), event));
    }

    /// The events of a copy's start and end.
    fn push_copy(&mut self, allocation: &Allocation, start: Time, done: Time, ends: [&[Event]; 2]) {
        let order = (allocation.space == Space::Alternate, start);
        for (events, is_end) in ends.into_iter().zip([false, true]) {
            // A copy with no instruction between its ends starts when its end is due.
            let (time, moment) =
                if is_end || start == done - 1 { (done - 1, Moment::Done) } else { (start, Moment::Start) };
            self.events.extend(events.iter().map(|event| (time, moment, order, *event)));
        }
    }

    fn place(allocation: &Allocation, slot: u32) -> Place {
        let size = allocation.size;
        match (allocation.space, allocation.offset) {
            (Space::Alternate, Some(offset)) => Place::Fast { offset, size },
            _ => Place::Slow { slot, size },
        }
    }

    fn write_down(&mut self) {
        let problem = self.problem;
        for (index, allocation) in self.assignment.allocations.iter().enumerate() {
            let Some(buffer) = allocation.buffer.filter(|_| allocation.kind != Kind::WindowPrefetched) else {
                self.without_buffer(index, allocation);
                continue;
            };
            let values = &problem.buffers[buffer.index()].allocation_values;
            let position = values
                .iter()
                .position(|v| {
                    v.definition_time == allocation.definition_time && v.name == allocation.position
                })
                .or_else(|| values.iter().position(|v| v.definition_time == allocation.definition_time));
            if let Some(position) = position.filter(|_| allocation.kind != Kind::Reserved) {
                self.of_position.entry((buffer.0, position as u32)).or_default().push(index);
            }
        }
        let keys: Vec<(u32, u32)> = self.of_position.keys().copied().collect();
        let mut keys = keys;
        // Who gives comes before who takes over.
        keys.sort_by_key(|key| self.value(*key).definition_time);
        for key in &keys {
            self.position(*key);
        }
        for key in keys {
            self.reads(key);
        }
        self.branches();
    }

    /// Where a position is when it begins.
    fn first_place(&self, key: (u32, u32)) -> Option<Place> {
        let time = self.value(key).definition_time;
        let all = self.of_position.get(&key)?.iter().map(|i| &self.assignment.allocations[*i]);
        // A view of default memory beside the value in fast memory is one of what stood there before.
        let here = |a: &&Allocation| a.copy.is_none() && a.start <= time.max(0);
        let mut found = all.filter(here);
        let first = found.next()?;
        let best = found.find(|a| a.space == Space::Alternate);
        Some(Self::place(best.unwrap_or(first), key.0))
    }

    fn value(&self, key: (u32, u32)) -> &AllocationValue {
        &self.problem.buffers[key.0 as usize].allocation_values[key.1 as usize]
    }

    fn find(&self, buffer: u32, wanted: impl Fn(&AllocationValue) -> bool) -> Option<(u32, u32)> {
        let values = &self.problem.buffers[buffer as usize].allocation_values;
        let found = values.iter().position(wanted).map(|position| (buffer, position as u32));
        found.filter(|key| self.of_position.contains_key(key))
    }

    /// How a position comes to its value.
    fn origin(&self, key: (u32, u32)) -> Origin {
        let value = self.value(key);
        let here = value.definition_time;
        let values = &self.problem.buffers[key.0 as usize].allocation_values;
        let mut branches = Vec::new();
        for (position, other) in values.iter().enumerate() {
            let giver = (key.0, position as u32);
            for usage in &other.uses {
                if !usage.aliases.iter().any(|a| a.value == value.value && a.time == here) {
                    continue;
                }
                match usage.kind {
                    UseKind::Plain | UseKind::Trivial if usage.time < here => {
                        branches.push((giver, usage.corrected_time));
                    }
                    UseKind::Plain | UseKind::Trivial => {}
                    _ if read_time(usage) <= here && here < usage.time => return Origin::Enters(giver),
                    UseKind::While { parameter_time, .. } if usage.time == here => {
                        // The value at the body's root is one that no position of that time defines.
                        let root = usage.aliases.iter().find(|a| {
                            a.time < here
                                && !values.iter().any(|v| v.value == a.value && v.definition_time == a.time)
                        });
                        let giver = root.and_then(|root| {
                            let before = values
                                .iter()
                                .enumerate()
                                .filter(|(_, v)| v.value == root.value && v.definition_time <= root.time);
                            before.max_by_key(|(_, v)| v.definition_time).map(|(p, _)| (key.0, p as u32))
                        });
                        let parameters = usage.aliases.iter().filter(|a| a.time < here);
                        let parameters = parameters.filter_map(|a| {
                            self.find(key.0, |v| v.value == a.value && v.definition_time == a.time)
                        });
                        return Origin::Leaves {
                            operand: (key.0, position as u32),
                            parameter_time,
                            root: giver,
                            parameters: parameters.collect(),
                        };
                    }
                    _ => {}
                }
            }
        }
        if branches.is_empty() { Origin::Written } else { Origin::Joins(branches) }
    }

    fn position(&mut self, key: (u32, u32)) {
        let (here, name) = (self.value(key).definition_time, self.value(key).name.clone());
        let replaced =
            self.of_position[&key].iter().any(|i| self.assignment.allocations[*i].replaces == Some(here));
        let place = self.first_place(key).filter(|_| !replaced);
        let datum = match self.origin(key) {
            Origin::Enters(giver) => self.data.get(&giver).copied(),
            Origin::Leaves { root, .. } => root.and_then(|root| self.data.get(&root).copied()),
            Origin::Written | Origin::Joins(_) => None,
        };
        let datum = datum.unwrap_or_else(|| self.datum(&name));
        self.data.insert(key, datum);
        let Some(place) = place else { return };
        match self.origin(key) {
            Origin::Written => self.push(here, Moment::Write, Event::Write { place, datum }),
            Origin::Enters(giver) if self.data.contains_key(&giver) => {
                self.push(here, Moment::Read, Event::Read { place, datum });
            }
            Origin::Leaves { operand, parameter_time, root: Some(root), parameters }
                if self.data.contains_key(&root) =>
            {
                self.push(here, Moment::Read, Event::Read { place, datum });
                // It must be back where the next round looks for it; and there may be no round at all.
                for parameter in parameters {
                    if let Some(place) = self.first_place(parameter) {
                        self.push(here, Moment::Read, Event::Read { place, datum });
                    }
                }
                if let Some(before) = self.data.get(&operand).copied() {
                    self.push(parameter_time, Moment::Read, Event::Read { place, datum: before });
                }
            }
            Origin::Joins(branches) => {
                for (giver, time) in branches {
                    if let Some(datum) = self.data.get(&giver).copied() {
                        self.push(time, Moment::Read, Event::Read { place, datum });
                    }
                }
                self.push(here, Moment::Rename, Event::Rename { place, from: None, to: datum });
            }
            // Whoever gives it has not been allocated: it stands in default memory all along.
            _ => self.push(here, Moment::Rename, Event::Rename { place, from: None, to: datum }),
        }
    }

    /// Its copies, and who reads it.
    fn reads(&mut self, key: (u32, u32)) {
        let datum = self.data[&key];
        for index in self.of_position[&key].clone() {
            let allocation = &self.assignment.allocations[index];
            self.copy(index, allocation, key.0);
            let place = Self::place(allocation, key.0);
            for usage in &allocation.uses {
                let UseRef::Buffer { buffer, position, usage } = usage else { continue };
                let values = &self.problem.buffers[buffer.index()].allocation_values;
                let Some(read) = values.get(*position as usize).and_then(|v| v.uses.get(*usage as usize))
                else {
                    continue;
                };
                if read.kind != UseKind::Trivial {
                    self.push(read_time(read), Moment::Read, Event::Read { place, datum });
                }
            }
        }
    }

    /// The branches of conditionals, as far as a buffer enters them.
    fn branches(&mut self) {
        let problem = self.problem;
        let mut found: BTreeMap<(Time, ComputationId), (Time, Time)> = BTreeMap::new();
        for usage in problem.buffers.iter().flat_map(|b| &b.allocation_values).flat_map(|v| &v.uses) {
            let UseKind::Conditional { branches } = &usage.kind else { continue };
            for branch in branches {
                let Ok(at) = usize::try_from(branch.parameter_time) else { continue };
                let Some(home) = problem.instructions.get(at).map(|i| i.computation) else { continue };
                found.entry((usage.time, home)).or_insert_with(|| {
                    let own = |t: &usize| problem.instructions[*t].computation == home;
                    let end = usize::try_from(usage.time).unwrap_or(0).min(problem.instructions.len());
                    let first = (0..end).find(own).unwrap_or(at);
                    let last = (0..end).rev().find(own).unwrap_or(at);
                    (first as Time, last as Time)
                });
            }
        }
        for ((conditional, _), (first, last)) in found {
            let fork = conditional as u32;
            self.push(first, Moment::Before, Event::Begin);
            self.push(last, Moment::After, Event::End { fork });
            self.push(conditional, Moment::Before, Event::Join { fork });
        }
    }

    /// A copy, slice by slice if it is sliced.
    fn copy(&mut self, index: usize, allocation: &Allocation, slot: u32) {
        let (Some(copy), Some(source)) = (allocation.copy, allocation.source) else { return };
        let source = &self.assignment.allocations[source];
        let source_key = source.buffer.and_then(|buffer| {
            let of = |(key, list): (&(u32, u32), &Vec<usize>)| {
                (key.0 == buffer.0 && list.contains(&allocation.source?)).then_some(*key)
            };
            self.of_position.iter().find_map(of)
        });
        let from_slot = source_key.map_or(slot, |key| key.0);
        let datum = source_key.map_or(0, |key| self.data[&key]);
        // The whole of the value in slow memory is as large as what is copied of it.
        let from = match Self::place(source, from_slot) {
            Place::Slow { slot, .. } => Place::Slow { slot, size: allocation.size.min(source.size) },
            place @ Place::Fast { .. } => place,
        };
        let number = index as u32 * 64;
        let is_replacing = allocation.replaces.is_some();
        if allocation.slices.is_empty() || is_replacing {
            // What a converted slice or copy gives is a value of its own: the part of the source that it reads.
            let to = Self::place(allocation, slot);
            if is_replacing {
                let target =
                    self.of_position.iter().find(|(_, list)| list.contains(&index)).map(|(key, _)| *key);
                let to_datum = target.map_or(datum, |key| self.data[&key]);
                let read = Event::Read { place: from, datum };
                let write = Event::Write { place: to, datum: to_datum };
                self.push_copy(allocation, copy.start, copy.done, [&[read], &[read, write]]);
                return;
            }
            let (start, done) =
                (Event::Start { copy: number, from, to, datum }, Event::Done { copy: number });
            self.push_copy(allocation, copy.start, copy.done, [&[start], &[done]]);
            return;
        }
        for (rank, slice) in allocation.slices.iter().enumerate() {
            let copy_number = number + rank as u32;
            let to = Place::Fast { offset: slice.offset, size: slice.size };
            let part = match from {
                Place::Slow { slot, .. } => Place::Slow { slot, size: slice.size },
                Place::Fast { offset, .. } => Place::Fast { offset, size: slice.size },
            };
            let start = Event::Start { copy: copy_number, from: part, to, datum };
            let done = Event::Done { copy: copy_number };
            self.push_copy(allocation, slice.start, copy.done, [&[start], &[done]]);
        }
    }

    /// Scratch memory of an instruction, and parameters fetched before the program.
    fn without_buffer(&mut self, index: usize, allocation: &Allocation) {
        if allocation.value.is_none() || allocation.kind == Kind::WindowPrefetched {
            let datum = self.datum(&allocation.position);
            let place = Self::place(allocation, 0);
            self.push(allocation.start, Moment::Rename, Event::Write { place, datum });
            self.push(allocation.end, Moment::Write, Event::Read { place, datum });
            return;
        }
        if allocation.space == Space::Default {
            return;
        }
        // Each fetch reads a place of its own: the parameter is there all the time.
        let datum = self.datum(&allocation.position);
        let slot = self.slots;
        self.slots += 1;
        let from = Place::Slow { slot, size: allocation.size };
        let to = Self::place(allocation, 0);
        let Some(copy) = allocation.copy else { return };
        let number = index as u32 * 64;
        self.push(-2, Moment::Write, Event::Write { place: from, datum });
        let (start, done) = (Event::Start { copy: number, from, to, datum }, Event::Done { copy: number });
        self.push_copy(allocation, copy.start, copy.done, [&[start], &[done]]);
        for usage in &allocation.uses {
            let UseRef::CrossProgram { candidate } = usage else { continue };
            let Some(candidate) = self.problem.cross_program.get(*candidate as usize) else { continue };
            for time in [candidate.first_use_time, Some(candidate.last_use_time)].into_iter().flatten() {
                self.push(time, Moment::Read, Event::Read { place: to, datum });
            }
        }
        // It stays for as long as its space is taken.
        self.push(allocation.end, Moment::Read, Event::Read { place: to, datum });
    }
}
