//! Parameters fetched before the program begins (MEMORY_SPACE 17).

use crate::Time;
use crate::allocation::{Allocation, Copy, Kind, UseRef};
use crate::decision::{CrossProgram, CrossProgramResult, Decision, KeptBecause};
use crate::engine::{Booked, Engine, Ring};
use crate::heap::Chunk;
use crate::problem::{CrossProgramCandidate, Space};

/// Above this share of the program's time, giving the space back gains nothing.
const OCCUPANCY_LIMIT: f32 = 0.6;

impl Engine<'_> {
    pub(crate) fn allocate_cross_program(&mut self) {
        let options = &self.problem.options;
        if !options.enable_cross_program_prefetch {
            return;
        }
        let most = usize::try_from(options.max_cross_program_prefetches).unwrap_or(usize::MAX);
        let mut count = 0;
        for (index, candidate) in self.problem.cross_program.iter().enumerate() {
            if count >= most {
                break;
            }
            let result = self.allocate_candidate(index, candidate, count as u32);
            if !matches!(result, CrossProgramResult::NoPlace { .. }) {
                count += 1;
            }
            self.decisions.push(Decision::CrossProgram(CrossProgram {
                value: candidate.value,
                name: candidate.name.clone(),
                size: candidate.size,
                result,
            }));
        }
    }

    fn allocate_candidate(
        &mut self,
        index: usize,
        candidate: &CrossProgramCandidate,
        ordinal: u32,
    ) -> CrossProgramResult {
        let end = self.problem.end_time();
        let size = candidate.size;
        let offset = self.heap.find(0, end, size, None).unwrap_or(u64::MAX);
        let chunk = Chunk { offset, size };
        if chunk.end() > self.available {
            return CrossProgramResult::NoPlace { end: chunk.end(), available: self.available };
        }
        self.cross_program_values.insert(candidate.value);
        let first_use = candidate.first_use_time.unwrap_or(candidate.last_use_time);
        let last_use = candidate.last_use_time;
        let second = self.second_start(candidate);
        let group = self.new_group(offset);
        let allocation = |kind, space, start, until, copy: Option<Copy>| Allocation {
            kind,
            space,
            buffer: None,
            id: candidate.id,
            value: Some(candidate.value),
            position: candidate.name.clone(),
            definition_time: 0,
            start,
            end: until,
            size,
            offset: (space == Space::Alternate).then_some(offset),
            copy,
            slices: Vec::new(),
            source: None,
            uses: Vec::new(),
            group: (space == Space::Alternate).then_some(group),
            source_position: None,
            replaces: None,
        };
        let source = self.finalized.len();
        self.finalized.push(allocation(Kind::Pinned, Space::Default, 0, end, None));
        let mut ring = Ring::default();
        let mut add = |engine: &mut Self, start: Time, done: Time, until: Time, uses: Vec<UseRef>| {
            let seconds = 0.0;
            let copy = Copy { start, done, seconds, cross_program: Some(ordinal) };
            let mut new = allocation(Kind::Copy, Space::Alternate, start + 1, until, Some(copy));
            new.source = Some(source);
            new.uses = uses;
            engine.heap.commit(start + 1, until, chunk);
            engine.add_copy(&Booked {
                is_prefetch: true,
                parts: vec![(start, done, seconds)],
                counted: vec![(start + 1, done)],
            });
            engine.edge_times.insert(start);
            engine.edge_times.insert(until + 1);
            ring.members.push(engine.finalized.len());
            engine.finalized.push(new);
        };
        let uses = vec![UseRef::CrossProgram { candidate: index as u32 }];
        let result = match second {
            Ok((second_start, occupied_ratio)) => {
                add(self, -1, first_use, last_use, uses);
                add(self, second_start, end, end, Vec::new());
                CrossProgramResult::Freed { offset, last_use, second_start, occupied_ratio }
            }
            Err(because) => {
                add(self, -1, first_use, end, uses);
                CrossProgramResult::Kept { offset, because }
            }
        };
        self.rings.push(ring);
        result
    }

    /// The exclusive start of the copy at the end of the program and the share of time it is occupied, or why there is
    /// none.
    fn second_start(&self, candidate: &CrossProgramCandidate) -> Result<(Time, f32), KeptBecause> {
        let end = self.problem.end_time();
        let size = candidate.size;
        let last_use = candidate.last_use_time;
        if !self.problem.options.enable_cross_program_prefetch_freeing {
            return Err(KeptBecause::Disabled);
        }
        if self.memory_pressure <= self.max_size() {
            return Err(KeptBecause::NoPressure { pressure: self.memory_pressure, size: self.max_size() });
        }
        let start = self.intervals.preferred_start(size, last_use, end, end);
        let copying = self.intervals.elapsed(start, end).max(self.intervals.copy_seconds(size));
        let occupied = copying + self.intervals.elapsed(0, last_use);
        let ratio = occupied / self.intervals.elapsed(0, end);
        // A program that takes no time keeps it.
        if ratio.is_nan() || ratio >= OCCUPANCY_LIMIT {
            return Err(KeptBecause::OccupiedTooLong { ratio });
        }
        if start <= last_use || start >= end {
            return Err(KeptBecause::NoTime { start });
        }
        Ok((start - 1, ratio))
    }
}
