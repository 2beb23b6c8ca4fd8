//! Parts of a buffer's life that must be in one memory (MEMORY_SPACE 20).
//!
//! What must be in alternate memory gets its place first, before anything else is tried, and gives it back when the segment that needs
//! it is allocated. What the specification leaves open and is decided here: coloured sites that follow one another at one position are
//! one interval; an asynchronous value has one colour for all its life; a repack leaves reservations where they are.

use crate::Time;
use crate::allocation::{Allocation, Kind, OffsetGroup};
use crate::decision::Decision;
use crate::engine::{Engine, Trial};
use crate::heap::Chunk;
use crate::problem::{BufferIndex, Error, Space, UseKind, ValueId};
use std::collections::BTreeMap;

/// An interval of a buffer that must be in alternate memory.
#[derive(Clone, Debug)]
pub(crate) struct Reservation {
    pub(crate) buffer: BufferIndex,
    pub(crate) start: Time,
    pub(crate) end: Time,
    pub(crate) chunk: Chunk,
    pub(crate) group: OffsetGroup,
    /// Nobody has taken it over yet.
    pub(crate) is_held: bool,
}

/// All colours of a problem.
#[derive(Clone, Debug, Default)]
pub(crate) struct Colours {
    pub(crate) reservations: Vec<Reservation>,
    default: Vec<(BufferIndex, Time, Time)>,
    buffer_of: BTreeMap<ValueId, BufferIndex>,
}

impl Colours {
    /// The reservation of a buffer that covers a time.
    pub(crate) fn alternate(&self, buffer: BufferIndex, time: Time) -> Option<usize> {
        self.reservations.iter().position(|r| r.buffer == buffer && r.start <= time && time <= r.end)
    }

    pub(crate) fn is_default(&self, buffer: BufferIndex, time: Time) -> bool {
        self.default.iter().any(|(b, start, end)| *b == buffer && *start <= time && time <= *end)
    }

    /// Whether a requirement contradicts a colour.
    pub(crate) fn forbids(&self, value: ValueId, time: Time, space: Space) -> bool {
        let Some(buffer) = self.buffer_of.get(&value) else { return false };
        match space {
            Space::Default => self.alternate(*buffer, time).is_some(),
            Space::Alternate => self.is_default(*buffer, time),
        }
    }
}

impl Engine<'_> {
    /// Sets space aside for everything that must be in alternate memory.
    pub(crate) fn reserve_colours(&mut self) -> Result<(), Error> {
        let mut buffers: Vec<BufferIndex> = self.problem.colourings.iter().map(|c| c.buffer).collect();
        buffers.sort_unstable();
        buffers.dedup();
        for index in buffers {
            let buffer = self.buffer(index);
            for value in &buffer.allocation_values {
                self.colours.buffer_of.insert(value.value, index);
            }
            let intervals = self.coloured_intervals(index);
            for (i, (start, end, space)) in intervals.iter().enumerate() {
                let clash =
                    intervals[..i].iter().find(|(s, e, other)| other != space && s <= end && start <= e);
                if let Some((other, _, _)) = clash {
                    let time = *start.max(other);
                    return Err(Error::ContradictoryColours { name: buffer.name.clone(), time });
                }
                if *space == Space::Default {
                    self.colours.default.push((index, *start, *end));
                    continue;
                }
                let size = self.size_of(index);
                let offset = self.heap.find(*start, *end, size, None).unwrap_or(u64::MAX);
                let chunk = Chunk { offset, size };
                if chunk.end() > self.max_size() {
                    let (start, end) = (*start, *end);
                    return Err(Error::ColourDoesNotFit { name: buffer.name.clone(), start, end });
                }
                self.heap.commit(*start, *end, chunk);
                let group = self.new_group(offset);
                let (start, end) = (*start, *end);
                self.colours.reservations.push(Reservation {
                    buffer: index,
                    start,
                    end,
                    chunk,
                    group,
                    is_held: true,
                });
                self.decisions.push(Decision::Reserved { buffer: index, start, end, offset });
            }
        }
        Ok(())
    }

    /// What must be where, and when: intervals that are as long as sites of one colour follow one another.
    fn coloured_intervals(&self, index: BufferIndex) -> Vec<(Time, Time, Space)> {
        let colour = |position: usize, usage: Option<usize>| {
            let found = self.problem.colourings.iter().find(|c| {
                c.buffer == index
                    && c.position as usize == position
                    && c.usage.map(|usage| usage as usize) == usage
            });
            found.map(|c| c.space)
        };
        let mut intervals: Vec<(Time, Time, Space)> = Vec::new();
        for (position, value) in self.buffer(index).allocation_values.iter().enumerate() {
            let mut sites = vec![(value.definition_time, colour(position, None))];
            for (at, usage) in value.uses.iter().enumerate() {
                if usage.kind != UseKind::Trivial {
                    sites.push((usage.corrected_time, colour(position, Some(at))));
                }
            }
            sites.sort_by_key(|(time, _)| *time);
            if value.is_contiguous
                && let Some(space) = sites.iter().find_map(|(_, colour)| *colour)
            {
                for (_, colour) in &mut sites {
                    *colour = Some(space);
                }
            }
            let mut now: Option<(Time, Time, Space)> = None;
            for (time, colour) in sites {
                now = match (now, colour) {
                    (Some((start, _, space)), Some(colour)) if space == colour => Some((start, time, space)),
                    (done, colour) => {
                        intervals.extend(done);
                        colour.map(|colour| (time, time, colour))
                    }
                };
            }
            intervals.extend(now);
        }
        intervals.sort_unstable_by_key(|(start, end, _)| (*start, *end));
        // Positions of one buffer follow on one another.
        let mut merged: Vec<(Time, Time, Space)> = Vec::new();
        for (start, end, space) in intervals {
            match merged.last_mut() {
                Some((_, last, same)) if *same == space && start <= *last + 1 => *last = end.max(*last),
                _ => merged.push((start, end, space)),
            }
        }
        merged
    }

    /// Gives the places of a segment's colours back, for the segment to take them.
    pub(crate) fn release(&mut self, trial: &mut Trial<'_>, buffer: BufferIndex, times: [Time; 2]) {
        for time in times {
            let Some(at) = self.colours.alternate(buffer, time) else { continue };
            let reservation = &mut self.colours.reservations[at];
            if reservation.is_held {
                reservation.is_held = false;
                let (start, end, chunk) = (reservation.start, reservation.end, reservation.chunk);
                self.heap.uncommit(start, end, chunk);
                trial.released.push(at);
            }
        }
    }

    /// Takes what was given back in a trial that came to nothing.
    pub(crate) fn reserve_again(&mut self, trial: &mut Trial<'_>) {
        for at in trial.released.drain(..).rev() {
            let reservation = &mut self.colours.reservations[at];
            reservation.is_held = true;
            let (start, end, chunk) = (reservation.start, reservation.end, reservation.chunk);
            self.heap.commit(start, end, chunk);
        }
    }

    /// What was set aside and never taken.
    pub(crate) fn leftover_reservations(&self) -> Vec<Allocation> {
        let held = self.colours.reservations.iter().filter(|r| r.is_held);
        held.map(|r| {
            let buffer = self.buffer(r.buffer);
            Allocation {
                kind: Kind::Reserved,
                space: Space::Alternate,
                buffer: Some(r.buffer),
                id: buffer.id,
                value: Some(buffer.value),
                position: buffer.name.clone(),
                definition_time: r.start,
                start: r.start,
                end: r.end,
                size: r.chunk.size,
                offset: Some(r.chunk.offset),
                copy: None,
                slices: Vec::new(),
                source: None,
                replaces: None,
                uses: Vec::new(),
                group: Some(r.group),
                source_position: None,
            }
        })
        .collect()
    }
}
