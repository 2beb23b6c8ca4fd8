//! Two memories with copies between them: is every value where it is read?
//!
//! The caller says what happens, in order: writes, reads, copies that start and copies that are done. [`check_copies`] executes
//! that over bytes and names the first thing that is lost. It knows no live ranges and no windows: two values that share
//! fast memory while both are wanted are found because one of them is read after the other was written.

use crate::memory::{Mark, Memory, Range, Segment, Token};
use rustc_hash::FxHashMap;
use std::fmt;

/// Bytes of one of the two memories.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// `[offset, offset + size)` of the fast memory.
    Fast {
        /// Where it begins.
        offset: u64,
        /// Bytes.
        size: u64,
    },
    /// A place of its own in slow memory.
    Slow {
        /// Its number, counted from 0 without great gaps.
        slot: u32,
        /// Bytes.
        size: u64,
    },
}

/// What happens. Data are numbers of the caller's: one for each time that a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A value is written.
    Write {
        /// Where.
        place: Place,
        /// Which.
        datum: u32,
    },
    /// A value is read.
    Read {
        /// Where.
        place: Place,
        /// Which has to be there.
        datum: u32,
    },
    /// A value gets another name where it stands: it enters a loop, or leaves it.
    Rename {
        /// Where.
        place: Place,
        /// Which has to be there; `None`: whatever is.
        from: Option<u32>,
        /// What it is from now on.
        to: u32,
    },
    /// A copy starts.
    Start {
        /// Its number.
        copy: u32,
        /// From where.
        from: Place,
        /// To where; of the same size.
        to: Place,
        /// What is copied.
        datum: u32,
    },
    /// It is done.
    Done {
        /// Its number.
        copy: u32,
    },
    /// A branch begins, from the memory as it was before the first of them.
    Begin,
    /// It ends.
    End {
        /// The number of what it is a branch of.
        fork: u32,
    },
    /// All branches are over; what any of them has written is unknown from now on.
    Join {
        /// The number.
        fork: u32,
    },
}

/// What is lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CopyViolation {
    /// Bytes beyond the end of the fast memory, which has so many.
    Beyond {
        /// The event.
        at: usize,
        /// Bytes there are.
        capacity: u64,
    },
    /// What is read, copied or renamed is not there.
    Lost {
        /// The event.
        at: usize,
        /// What should be there.
        datum: u32,
        /// What is: a datum, or nothing that anybody wrote.
        found: Option<u32>,
        /// It was lost, or arrived, while a copy was under way.
        is_under_way: bool,
    },
    /// A copy that never started, or is done twice, or never.
    Unpaired {
        /// The event, or their number if the end is missing.
        at: usize,
        /// The copy.
        copy: u32,
    },
    /// A copy between places of different sizes.
    SizesDiffer {
        /// The event.
        at: usize,
    },
}

impl fmt::Display for CopyViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beyond { at, capacity } => {
                write!(f, "event {at}: beyond the {capacity} bytes of fast memory")
            }
            Self::Lost { at, datum, found, is_under_way } => {
                write!(f, "event {at}: {datum} is not there, but ")?;
                match found {
                    Some(found) => write!(f, "{found}")?,
                    None => f.write_str("nothing")?,
                }
                f.write_str(if *is_under_way { ", while a copy was under way" } else { "" })
            }
            Self::Unpaired { at, copy } => write!(f, "event {at}: copy {copy} without its other end"),
            Self::SizesDiffer { at } => write!(f, "event {at}: a copy between places of different sizes"),
        }
    }
}

impl std::error::Error for CopyViolation {}

#[derive(Clone, Copy)]
struct UnderWay {
    from: Range,
    to: Range,
    datum: u32,
    mark: Token,
}

/// No datum of the caller's: the destination of a copy that is under way.
const FIRST_MARK: u32 = 1 << 31;

/// What stands in bytes that a branch may have written.
const UNKNOWN: u32 = u32::MAX;

struct Run {
    memory: Memory,
    capacity: u64,
    copies: FxHashMap<u32, UnderWay>,
    marks: u32,
    /// Where the branches that have not ended began.
    began: Vec<Mark>,
    /// What the branches that have ended wrote.
    written: FxHashMap<u32, Vec<Segment>>,
}

/// Executes what happens; `Err` is the first thing that is wrong. Data have to be below 2³¹.
pub fn check_copies(events: &[Event], capacity: u64) -> Result<(), CopyViolation> {
    let places = |event: &Event| match event {
        Event::Write { place, .. } | Event::Read { place, .. } | Event::Rename { place, .. } => {
            [Some(*place), None]
        }
        Event::Start { from, to, .. } => [Some(*from), Some(*to)],
        _ => [None, None],
    };
    let slots = events.iter().flat_map(places).flatten().map(|place| match place {
        Place::Fast { .. } => 1,
        Place::Slow { slot, .. } => slot as usize + 2,
    });
    let slots = slots.max().unwrap_or(1);
    let mut run = Run {
        memory: Memory::new(slots),
        capacity,
        copies: FxHashMap::default(),
        marks: FIRST_MARK,
        began: Vec::new(),
        written: FxHashMap::default(),
    };
    for (at, event) in events.iter().enumerate() {
        run.step(at, *event)?;
    }
    // The lowest number, so that the answer is the same each time.
    match run.copies.keys().min() {
        Some(copy) => Err(CopyViolation::Unpaired { at: events.len(), copy: *copy }),
        None => Ok(()),
    }
}

impl Run {
    fn range(&self, at: usize, place: Place) -> Result<Range, CopyViolation> {
        match place {
            Place::Fast { offset, size } => {
                let end = offset.checked_add(size).filter(|end| *end <= self.capacity);
                let end = end.ok_or(CopyViolation::Beyond { at, capacity: self.capacity })?;
                Ok(Range { allocation: 0, start: offset, end })
            }
            Place::Slow { slot, size } => Ok(Range { allocation: slot + 1, start: 0, end: size }),
        }
    }

    fn expect(&self, at: usize, range: Range, datum: u32) -> Result<(), CopyViolation> {
        let Some((_, found)) = self.memory.lost(range, Token(datum)) else { return Ok(()) };
        let found = found.map(|token| token.0);
        let is_under_way = found.is_some_and(|found| (FIRST_MARK..UNKNOWN).contains(&found));
        let found = found.filter(|found| *found < FIRST_MARK);
        Err(CopyViolation::Lost { at, datum, found, is_under_way })
    }

    fn step(&mut self, at: usize, event: Event) -> Result<(), CopyViolation> {
        match event {
            Event::Write { place, datum } => {
                let range = self.range(at, place)?;
                self.memory.write(range, Token(datum));
            }
            Event::Read { place, datum } => self.expect(at, self.range(at, place)?, datum)?,
            Event::Rename { place, from, to } => {
                let range = self.range(at, place)?;
                if let Some(from) = from {
                    self.expect(at, range, from)?;
                }
                self.memory.write(range, Token(to));
            }
            Event::Start { copy, from, to, datum } => {
                let (from, to) = (self.range(at, from)?, self.range(at, to)?);
                if from.end - from.start != to.end - to.start {
                    return Err(CopyViolation::SizesDiffer { at });
                }
                self.expect(at, from, datum)?;
                let mark = Token(self.marks);
                self.marks = self.marks.wrapping_add(1).max(FIRST_MARK);
                self.memory.write(to, mark);
                if self.copies.insert(copy, UnderWay { from, to, datum, mark }).is_some() {
                    return Err(CopyViolation::Unpaired { at, copy });
                }
            }
            Event::Done { copy } => {
                let Some(now) = self.copies.remove(&copy) else {
                    return Err(CopyViolation::Unpaired { at, copy });
                };
                // The source had to stay, and nobody may have written over the destination.
                self.expect(at, now.from, now.datum)?;
                if let Some((_, found)) = self.memory.lost(now.to, now.mark) {
                    let found = found.map(|token| token.0).filter(|found| *found < FIRST_MARK);
                    return Err(CopyViolation::Lost { at, datum: now.datum, found, is_under_way: true });
                }
                self.memory.write(now.to, Token(now.datum));
            }
            Event::Begin => self.began.push(self.memory.listen()),
            Event::End { fork } => {
                if let Some(mark) = self.began.pop() {
                    let written = self.memory.written_since(mark);
                    self.written.entry(fork).or_default().extend(written);
                    self.memory.roll_back(mark);
                    self.memory.stop();
                }
            }
            Event::Join { fork } => {
                for segment in self.written.remove(&fork).unwrap_or_default() {
                    self.memory.write(segment.range, Token(UNKNOWN));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fast(offset: u64) -> Place {
        Place::Fast { offset, size: 8 }
    }

    const SLOW: Place = Place::Slow { slot: 0, size: 8 };

    fn prefetch() -> Vec<Event> {
        vec![
            Event::Write { place: SLOW, datum: 1 },
            Event::Start { copy: 0, from: SLOW, to: fast(0), datum: 1 },
            Event::Done { copy: 0 },
            Event::Read { place: fast(0), datum: 1 },
        ]
    }

    #[test]
    fn a_copy_brings_the_value() {
        assert_eq!(check_copies(&prefetch(), 16), Ok(()));
        let mut early = prefetch();
        early.swap(2, 3);
        let lost = CopyViolation::Lost { at: 2, datum: 1, found: None, is_under_way: true };
        assert_eq!(check_copies(&early, 16), Err(lost));
        assert_eq!(check_copies(&prefetch(), 7), Err(CopyViolation::Beyond { at: 1, capacity: 7 }));
    }

    #[test]
    fn neither_end_of_a_copy_may_be_written_meanwhile() {
        for (place, size) in [(fast(4), 16), (SLOW, 16)] {
            let mut events = prefetch();
            events.insert(2, Event::Write { place, datum: 7 });
            let lost = CopyViolation::Lost { at: 3, datum: 1, found: Some(7), is_under_way: place != SLOW };
            assert_eq!(check_copies(&events, size), Err(lost));
        }
    }

    #[test]
    fn two_values_in_one_place() {
        let mut events = prefetch();
        events.insert(3, Event::Write { place: fast(4), datum: 2 });
        let lost = CopyViolation::Lost { at: 4, datum: 1, found: Some(2), is_under_way: false };
        assert_eq!(check_copies(&events, 16), Err(lost.clone()));
        assert_eq!(lost.to_string(), "event 4: 1 is not there, but 2");
    }

    #[test]
    fn branches_begin_from_one_memory() {
        let read = Event::Read { place: fast(0), datum: 1 };
        let mut events = prefetch();
        let branches = [
            Event::Begin,
            Event::Write { place: fast(4), datum: 5 },
            Event::End { fork: 0 },
            Event::Begin,
            read,
            Event::End { fork: 0 },
            Event::Join { fork: 0 },
        ];
        events.extend(branches);
        assert_eq!(check_copies(&events, 16), Ok(()));
        events.push(read);
        let lost = CopyViolation::Lost { at: 11, datum: 1, found: None, is_under_way: false };
        assert_eq!(check_copies(&events, 16), Err(lost));
    }

    #[test]
    fn loops_rename() {
        let mut events = prefetch();
        events.push(Event::Rename { place: fast(0), from: Some(1), to: 2 });
        events.push(Event::Read { place: fast(0), datum: 2 });
        assert_eq!(check_copies(&events, 16), Ok(()));
        events.push(Event::Done { copy: 0 });
        assert_eq!(check_copies(&events, 16), Err(CopyViolation::Unpaired { at: 6, copy: 0 }));
    }
}
