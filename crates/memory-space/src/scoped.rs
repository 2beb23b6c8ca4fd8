//! What instructions themselves need in alternate memory (MEMORY_SPACE 18).

use crate::allocation::{Allocation, Kind};
use crate::engine::{Engine, Ring};
use crate::heap::Chunk;
use crate::problem::{Error, Space};

impl Engine<'_> {
    /// Reserves scoped memory at offset 0, for each instruction at its own time, in the given order.
    pub(crate) fn allocate_scoped(&mut self) -> Result<(), Error> {
        let at_same_offset = self.problem.options.allocate_reserved_scoped_memory_at_same_offset;
        let mut shared = Ring::default();
        let mut shared_group = None;
        for scoped in &self.problem.scoped {
            let size = scoped.size.min(self.max_size());
            if size == 0 {
                continue;
            }
            let time = scoped.time;
            let chunk = Chunk { offset: 0, size };
            if !self.heap.is_free(time, time, chunk) {
                return Err(Error::ScopedDoesNotFit { time, size });
            }
            self.heap.commit(time, time, chunk);
            let group = match shared_group {
                Some(group) if at_same_offset => group,
                _ => self.new_group(0),
            };
            shared_group = Some(group);
            let name = self.problem.instructions.get(time as usize).map_or("end", |i| i.name.as_str());
            let member = self.finalized.len();
            self.finalized.push(Allocation {
                kind: Kind::Scoped,
                space: Space::Alternate,
                buffer: None,
                id: u32::MAX,
                value: None,
                position: name.to_owned(),
                definition_time: time,
                start: time,
                end: time,
                size,
                offset: Some(0),
                copy: None,
                slices: Vec::new(),
                source: None,
                uses: Vec::new(),
                group: Some(group),
                source_position: None,
                replaces: None,
            });
            if at_same_offset {
                shared.members.push(member);
            } else {
                self.rings.push(Ring { members: vec![member] });
            }
        }
        if !shared.members.is_empty() {
            self.rings.push(shared);
        }
        Ok(())
    }
}
