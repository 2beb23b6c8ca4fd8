//! Windows of operands that stay in default memory (MEMORY_SPACE 21): room in which a fusion's first tiles can be fetched ahead.
//!
//! Read, not compared: TPU v5e has it turned off.

use crate::allocation::{Kind, UseRef};
use crate::decision::{Decision, WindowResult};
use crate::engine::Engine;
use crate::heap::Chunk;
use crate::problem::Space;
use std::collections::BTreeMap;

impl Engine<'_> {
    /// Gives a place at the time of the use to each window that is large enough and whose operand is in default memory.
    pub(crate) fn allocate_windows(&mut self) {
        let options = &self.problem.options;
        let (least, most) = (options.window_prefetch_min_span_bytes, options.window_prefetch_max_operands);
        let mut count: BTreeMap<i64, u32> = BTreeMap::new();
        for window in &self.problem.windows {
            let value = &self.buffer(window.buffer).allocation_values[window.position as usize];
            let usage = &value.uses[window.usage as usize];
            let read =
                UseRef::Buffer { buffer: window.buffer, position: window.position, usage: window.usage };
            let is_there = self
                .finalized
                .iter()
                .any(|a| a.space == Space::Alternate && a.value.is_some() && a.uses.contains(&read));
            let (time, size) = (usage.time, window.span_bytes);
            let taken = count.entry(time).or_default();
            let result = if is_there {
                WindowResult::NotNeeded
            } else if size < least {
                WindowResult::TooSmall { least }
            } else if *taken >= most {
                WindowResult::TooMany { most }
            } else {
                let offset = self.heap.find(time, time, size, None);
                let offset = offset.filter(|o| o.saturating_add(size) <= options.max_size_in_bytes);
                match offset {
                    Some(offset) => {
                        *taken += 1;
                        self.heap.commit(time, time, Chunk { offset, size });
                        let group = self.new_group(offset);
                        let (kind, space) = (Kind::WindowPrefetched, Space::Alternate);
                        let mut placed = self.plain_allocation(window.buffer, kind, space, (time, time));
                        placed.position.clone_from(&usage.name);
                        placed.size = size;
                        placed.offset = Some(offset);
                        placed.group = Some(group);
                        self.finalized.push(placed);
                        WindowResult::Placed { offset }
                    }
                    None => WindowResult::NoPlace,
                }
            };
            self.decisions.push(Decision::Window { usage: usage.name.clone(), size, result });
        }
    }
}
