//! Buffers fetched as blocks into a part of alternate memory of their own, strictly one after the other (MEMORY_SPACE 21).
//!
//! Read, not compared: no log that shows it is known.

use crate::Time;
use crate::allocation::{Copy, Kind, UseRef};
use crate::decision::{BlockResult, Decision};
use crate::engine::{Booked, Engine, Ring};
use crate::heap::Chunk;
use crate::problem::{BlockKind, Error, Space, UseKind};

impl Engine<'_> {
    /// Whether everything but blocks must do without copies.
    pub(crate) fn is_block_mode(&self) -> bool {
        self.problem.options.reserved_bytes_for_block_prefetches > 0
    }

    /// Fetches the candidates in order of their first use, each as early as its place is free.
    pub(crate) fn allocate_blocks(&mut self) -> Result<(), Error> {
        if !self.is_block_mode() {
            return Ok(());
        }
        let reserved = self.problem.options.reserved_bytes_for_block_prefetches;
        // Blocks stand above what any instruction needs for itself.
        let scoped = self.problem.scoped.iter().map(|s| s.size.min(self.max_size())).max().unwrap_or(0);
        let end_time = self.problem.end_time();
        let floor = Chunk { offset: 0, size: scoped };
        if scoped > 0 {
            self.heap.commit(0, end_time, floor);
        }
        let limit = scoped.saturating_add(reserved).min(self.max_size());
        let times = |uses: &[crate::problem::Use]| {
            let read = uses.iter().filter(|u| u.kind != UseKind::Trivial).map(|u| u.corrected_time);
            Some((read.clone().min()?, read.max()?))
        };
        let mut order = Vec::new();
        for candidate in &self.problem.block_prefetches {
            let value = &self.buffer(candidate.buffer).allocation_values[0];
            if let Some((first, last)) = times(&value.uses) {
                order.push((first, self.buffer(candidate.buffer).id, last, *candidate));
            }
        }
        order.sort_by_key(|(first, id, _, _)| (*first, *id));
        let most = self.problem.options.max_outstanding_block_prefetches as usize;
        let mut done_times: Vec<Time> = Vec::new();
        let mut end_times: Vec<Time> = Vec::new();
        let mut previous_start = -1;
        let mut result = Ok(());
        for (first_use, _, last_use, candidate) in order {
            let index = candidate.buffer;
            let value = &self.buffer(index).allocation_values[0];
            self.finish_block(index);
            if candidate.kind == BlockKind::PinToDefault {
                self.decisions.push(Decision::Block { buffer: index, result: BlockResult::Pinned });
                continue;
            }
            let size = self.size_of(index);
            let in_flight = done_times.len().checked_sub(most).filter(|_| most > 0);
            let earliest =
                value.definition_time.max(previous_start).max(in_flight.map_or(-1, |at| done_times[at]));
            let mut starts = vec![earliest];
            // The place is taken from right after the start.
            starts.extend(end_times.iter().copied().filter(|t| *t > earliest));
            starts.sort_unstable();
            let fits = |start: &Time| {
                let offset = self.heap.find(start + 1, last_use, size, None)?;
                (offset.saturating_add(size) <= limit).then_some((*start, offset))
            };
            let found = starts.iter().filter(|start| **start < first_use).find_map(fits);
            let Some((start, offset)) = found else {
                let result_here = BlockResult::NoPlace { earliest, first_use };
                self.decisions.push(Decision::Block { buffer: index, result: result_here });
                if candidate.is_demanded {
                    result = Err(Error::BlockDoesNotFit { name: self.buffer(index).name.clone() });
                    break;
                }
                continue;
            };
            let group = self.new_group(offset);
            let source = self.finalized.len();
            let uses = value.uses.iter().enumerate().filter(|(_, u)| u.kind != UseKind::Trivial);
            let uses = uses.map(|(at, _)| UseRef::Buffer { buffer: index, position: 0, usage: at as u32 });
            let mut copy = self.plain_allocation(index, Kind::Copy, Space::Alternate, (start + 1, last_use));
            copy.uses = uses.collect();
            copy.offset = Some(offset);
            copy.group = Some(group);
            copy.source = Some(source);
            copy.size = size;
            copy.copy = Some(Copy { start, done: first_use, seconds: 0.0, cross_program: None });
            let pinned = self.plain_allocation(
                index,
                Kind::Pinned,
                Space::Default,
                (value.definition_time, first_use),
            );
            self.heap.commit(start + 1, last_use, Chunk { offset, size });
            self.add_copy(&Booked {
                is_prefetch: true,
                parts: vec![(start, first_use, 0.0)],
                counted: vec![(start + 1, first_use)],
            });
            self.finalized.push(pinned);
            self.rings.push(Ring { members: vec![self.finalized.len()] });
            self.finalized.push(copy);
            self.edge_times.insert(start);
            self.edge_times.insert(last_use + 1);
            done_times.push(first_use);
            end_times.push(last_use);
            previous_start = start;
            let result_here = BlockResult::Copied { start, done: first_use, offset };
            self.decisions.push(Decision::Block { buffer: index, result: result_here });
        }
        if scoped > 0 {
            self.heap.uncommit(0, end_time, floor);
        }
        result
    }
}
