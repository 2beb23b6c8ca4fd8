//! From live ranges to the events that a packer takes (10.1).

use analysis::ranges::LiveRanges;
use analysis::sharing::can_share;
use analysis::{Facts, Position, Step, ValueId};
use hlo::{Module, Opcode};
use packing::{BufferKey, Event, Options, Packing};
use sorts::Arrange as _;

/// Packs the events. They are well formed by construction, so the only failure left is a size beyond the address space;
/// such a module gets heaps of nothing, and its sizes were reported when it was read.
pub(crate) fn pack(events: &[Event], options: &Options) -> Packing {
    packing::pack(events, options)
        .unwrap_or_else(|_| packing::pack(&[], options).expect("no events fit anywhere"))
}

/// Which values begin, share and end, in the order of the heap's clock.
pub(crate) fn events(module: &Module, facts: &Facts, ranges: &LiveRanges, values: &[ValueId]) -> Vec<Event> {
    Simulation::new(module, facts, ranges, values).run()
}

/// Could `w`, which ends where `v` is written and is read there, hand its place over? (10.1, 1b: what does not depend on
/// the clock.) The heap looks at where `w` is defined, and only at values that have a buffer of their own.
pub(crate) fn hands_over(module: &Module, facts: &Facts, w: ValueId, v: ValueId) -> bool {
    let (from, at) = (facts.value(w).defined_at(), facts.value(v).defined_at());
    let alone = |v: ValueId| facts.buffer(facts.value(v).buffer).values.len() == 1;
    let operands = module.operands(at.instruction);
    alone(v)
        && alone(w)
        && module.instruction(at.instruction).opcode != Opcode::Copy
        && operands.contains(&from.instruction)
        && operands.iter().any(|o| facts.dataflow.at(Position { instruction: *o, sub: 0 }).contains(&w))
        && can_share(module, facts, from, at).is_ok()
}

/// The bytes that would do if the whole module were one heap that never breaks up (9.5, 10.6): all values that have a
/// range but constants, parameters and results among them. It counts a value twice while it shares with another.
#[must_use]
pub fn unfragmented(module: &Module, facts: &Facts, ranges: &LiveRanges) -> u64 {
    let values: Vec<ValueId> = ranges
        .iter()
        .map(|(v, _)| v)
        .filter(|v| module.instruction(facts.defining(*v)).opcode != Opcode::Constant)
        .collect();
    packing::unfragmented_size(&events(module, facts, ranges, &values))
}

struct Simulation<'a> {
    module: &'a Module,
    facts: &'a Facts,
    /// By value id: the end of its range, moved when another value takes its place over.
    end: Vec<Option<Step>>,
    requested: Vec<bool>,
    /// By value id: still to be freed by the clock.
    waiting: Vec<bool>,
    by_start: Vec<(Step, Step, ValueId)>,
    last: Step,
    /// By buffer: the value that was placed first.
    first: Vec<Option<ValueId>>,
    /// By buffer: the buffer whose size group it joined, itself if none.
    group: Vec<u32>,
    group_size: Vec<u64>,
    events: Vec<Event>,
}

impl<'a> Simulation<'a> {
    fn new(module: &'a Module, facts: &'a Facts, ranges: &LiveRanges, values: &[ValueId]) -> Self {
        let count = facts.values().last().map_or(0, |v| v.id.index() + 1);
        let mut end = vec![None; count];
        let mut requested = vec![false; count];
        let mut by_start = Vec::with_capacity(values.len());
        for v in values {
            if let Some(r) = ranges.get(*v) {
                end[v.index()] = Some(r.end);
                requested[v.index()] = true;
                by_start.push((r.start, r.end, *v));
            }
        }
        by_start.arrange_unstable();
        Self {
            module,
            facts,
            waiting: requested.clone(),
            end,
            requested,
            last: by_start.iter().map(|(_, end, _)| *end).max().unwrap_or_default(),
            by_start,
            first: vec![None; facts.buffers().len()],
            group: (0..facts.buffers().len() as u32).collect(),
            group_size: facts.buffers().iter().map(|b| b.size).collect(),
            events: Vec::new(),
        }
    }

    fn run(mut self) -> Vec<Event> {
        let by_start = std::mem::take(&mut self.by_start);
        let mut freed: Vec<Vec<ValueId>> = vec![Vec::new(); self.last.index() + 1];
        for (_, end, v) in &by_start {
            freed[end.index()].push(*v);
        }
        let mut next = 0;
        for t in 0..=self.last.0 {
            while let Some(&(start, _, v)) = by_start.get(next)
                && start.0 == t
            {
                self.define(v, Step(t));
                next += 1;
            }
            for v in &freed[t as usize] {
                if std::mem::replace(&mut self.waiting[v.index()], false) {
                    self.events.push(Event::Free { buffer: BufferKey(v.0) });
                }
            }
        }
        self.events
    }

    fn define(&mut self, v: ValueId, now: Step) {
        let buffer = self.facts.value(v).buffer;
        if let Some(first) = self.first[buffer.index()] {
            self.share(v, first);
            return;
        }
        if self.facts.buffer(buffer).values.len() == 1
            && let Some(w) = self.operand_to_reuse(v, now)
        {
            self.waiting[w.index()] = false;
            self.events.push(Event::Free { buffer: BufferKey(w.0) });
            self.share(v, w);
            self.end[w.index()] = self.end[v.index()];
            return;
        }
        let group = self.root(buffer.0);
        let size = self.group_size[group as usize];
        self.events.push(Event::Alloc { buffer: BufferKey(v.0), size });
        self.first[buffer.index()] = Some(v);
    }

    /// An operand that ends now and whose place the instruction may write over (10.1, 1b).
    fn operand_to_reuse(&self, v: ValueId, now: Step) -> Option<ValueId> {
        let at = self.facts.value(v).defined_at();
        let operands = self.module.operands(at.instruction);
        for operand in operands {
            for &w in self.facts.dataflow.at(Position { instruction: *operand, sub: 0 }) {
                let takes = self.requested[w.index()]
                    && self.waiting[w.index()]
                    && self.end[w.index()] == Some(now)
                    && hands_over(self.module, self.facts, w, v);
                if takes {
                    return Some(w);
                }
            }
        }
        None
    }

    fn share(&mut self, v: ValueId, with: ValueId) {
        let (a, b) = (self.root(self.facts.value(v).buffer.0), self.root(self.facts.value(with).buffer.0));
        let size = self.group_size[a as usize].max(self.group_size[b as usize]);
        self.group[a as usize] = b;
        self.group_size[b as usize] = size;
        self.events.push(Event::Share { buffer: BufferKey(v.0), with: BufferKey(with.0), size });
    }

    fn root(&mut self, mut buffer: u32) -> u32 {
        while self.group[buffer as usize] != buffer {
            let up = self.group[self.group[buffer as usize] as usize];
            self.group[buffer as usize] = up;
            buffer = up;
        }
        buffer
    }
}
