//! Every allocation that was offered to a value, the rule that refused it, and what came of it.

use crate::pair::{our_place, place_of};
use crate::study::{Source, Study};
use analysis::{BufferId, ValueId};
use assigner::words::{self, both, bytes, grouped};
use assigner::{AllocationId, Assignment, Decision, Refusal};
use packing::{BufferKey, Event};
use std::collections::HashMap;

/// One allocation that was offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The value that the allocation was made for.
    pub made_for: Option<ValueId>,
    /// Its number in our finished assignment.
    pub allocation: Option<AllocationId>,
    /// Why not; `None` if it was taken.
    pub refusal: Option<Refusal>,
}

/// How a value was packed into a heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InHeap {
    /// Bytes of the heap.
    pub heap_size: u64,
    /// How many places were chosen before.
    pub number: usize,
    /// How many were chosen in all.
    pub count: usize,
    /// Where it stands in the heap, in bytes.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
    /// The free chunk it was put into, its first byte and the byte after its last; it may go on for ever.
    pub chunk: Option<(u64, Option<u64>)>,
    /// The value that the place was looked for, if not this one.
    pub leader: ValueId,
}

/// What happened to a value in our own assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// The value.
    pub value: ValueId,
    /// What shares its memory by rule, and was placed with it.
    pub buffer: BufferId,
    /// The allocations that were offered, in order.
    pub trials: Vec<Trial>,
    /// The decision that settled it.
    pub outcome: Option<Decision>,
}

/// Tells it; `None` without a program, or without an assignment of ours.
#[must_use]
pub fn story(study: &Study, value: ValueId) -> Option<Story> {
    let program = study.program.as_ref()?;
    let (assignment, decisions) = study.ours.as_ref()?;
    let buffer = program.facts.value(value).buffer;
    let mut made_for: HashMap<AllocationId, ValueId> = HashMap::new();
    let mut story = Story { value, buffer, trials: Vec::new(), outcome: None };
    for d in decisions {
        match d {
            Decision::New { allocation, buffer: b, .. } => {
                made_for.insert(allocation, program.facts.buffer(b).values[0]);
                if b == buffer {
                    story.outcome = Some(d);
                }
            }
            Decision::Try { buffer: b, allocation } if b == buffer => {
                let first = made_for.get(&allocation).copied();
                let now = first.and_then(|v| assignment.place(v)).map(|(a, _)| a);
                story.trials.push(Trial { made_for: first, allocation: now, refusal: None });
            }
            Decision::Refuse { buffer: b, reason, .. } if b == buffer => {
                if let Some(last) = story.trials.last_mut() {
                    last.refusal = Some(reason);
                }
            }
            Decision::Reuse { buffer: b, .. } if b == buffer => story.outcome = Some(d),
            Decision::Delay { value: v } if v == value => story.outcome = Some(d),
            _ => {}
        }
    }
    Some(story)
}

/// Free chunks that end beyond this go on for ever.
const FOR_EVER: u64 = 1 << 62;

fn in_heap(assignment: &Assignment, value: ValueId) -> Option<InHeap> {
    let key = BufferKey(value.0);
    let run = assignment.heaps.iter().find(|r| r.packing.heaps.iter().any(|h| h.chunk(key).is_some()))?;
    // The value that was allocated, whose place this one shares.
    let mut leader: HashMap<BufferKey, BufferKey> = HashMap::new();
    for event in &run.events {
        match event {
            Event::Alloc { buffer, .. } => {
                leader.insert(*buffer, *buffer);
            }
            Event::Share { buffer, with, .. } => {
                let root = leader.get(with).copied().unwrap_or(*with);
                leader.insert(*buffer, root);
            }
            Event::Free { .. } => {}
        }
    }
    let leader = leader.get(&key).copied()?;
    let placements = run.packing.heaps.iter().flat_map(|h| &h.placements);
    let number = placements.clone().position(|p| p.buffer == leader)?;
    let placement = placements.clone().nth(number)?;
    let options = packing::Options { algorithm: run.packing.chosen, ..run.options };
    let chunks = packing::free_chunks_at(&run.events, &options, number).unwrap_or_default();
    Some(InHeap {
        heap_size: run.packing.total(),
        number,
        count: placements.count(),
        offset: placement.offset,
        size: placement.size,
        chunk: chunks.iter().find(|c| c.is_chosen).map(|c| (c.offset, (c.end < FOR_EVER).then_some(c.end))),
        leader: ValueId(leader.0),
    })
}

impl Trial {
    /// The number of the allocation: XLA's own where a dump tells it, else ours.
    #[must_use]
    pub fn number(&self, study: &Study) -> Option<u32> {
        let made_for = self.made_for?;
        if study.source == Source::Ours {
            return self.allocation.map(|a| a.0);
        }
        study.row_of(made_for).map(|row| study.slab(&study.rows[row]).number)
    }
}

impl Story {
    /// How the value was packed into a heap, if it was. This packs the heap again up to there.
    #[must_use]
    pub fn in_heap(&self, study: &Study) -> Option<InHeap> {
        let (assignment, _) = study.ours.as_ref()?;
        matches!(self.outcome, Some(Decision::Delay { .. }))
            .then(|| in_heap(assignment, self.value))
            .flatten()
    }

    /// A sentence each: where our own assignment has it, if that is another place; with what it must share; each allocation
    /// that was offered, once; and what came of it.
    #[must_use]
    pub fn lines(&self, study: &Study) -> Vec<String> {
        let (Some(program), Some((assignment, _))) = (&study.program, &study.ours) else { return Vec::new() };
        let (module, facts) = (&program.module, &program.facts);
        let name = |v| facts.label(module, v);
        let mut out = Vec::new();
        if let Some(place) = our_place(study, self.value) {
            out.push(format!(
                "What was tried is told of our own assignment, which has it elsewhere: {place}."
            ));
        }
        let values = &facts.buffer(self.buffer).values;
        if values.len() > 1 {
            let others: Vec<String> = values.iter().filter(|v| **v != self.value).map(|v| name(*v)).collect();
            out.push(format!("It must share with {}.", words::list(&others, 6)));
        }
        let Some(outcome) = self.outcome else {
            let is_placed = assignment.place(self.value).is_some();
            out.push(
                if is_placed {
                    "It was placed before the assignment began."
                } else {
                    "It has no memory of its own."
                }
                .to_owned(),
            );
            return out;
        };
        for (i, t) in self.trials.iter().enumerate() {
            // An allocation may be offered twice, as that of an operand and as one of all.
            let is_again = |other: &Trial| (other.made_for, other.refusal) == (t.made_for, t.refusal);
            if t.refusal.is_some() && self.trials[..i].iter().any(is_again) {
                continue;
            }
            let why = t.refusal.map(|r| words::refusal(module, facts, &r));
            out.push(match (t.made_for.map(name), t.number(study), why) {
                (Some(v), Some(a), Some(why)) => format!("allocation {a} ({v}): no, {why}"),
                (Some(v), Some(a), None) => format!("allocation {a} ({v}): yes"),
                (Some(v), None, Some(why)) => format!("the allocation of {v}: no, {why}"),
                (Some(v), None, None) => format!("the allocation of {v}: yes"),
                (None, _, Some(why)) => format!("an allocation: no, {why}"),
                (None, _, None) => "an allocation: yes".to_owned(),
            });
        }
        if self.trials.is_empty() {
            out.push("No allocation was tried.".to_owned());
        }
        out.push(match outcome {
            Decision::New { kind, .. } => format!("It got an allocation of its own ({}).", kind.name()),
            Decision::Reuse { operand: true, .. } => "It took the place of an operand.".to_owned(),
            Decision::Reuse { .. } => "It took an allocation that was there.".to_owned(),
            _ => "It was left to the heap.".to_owned(),
        });
        out
    }
}

impl InHeap {
    /// A sentence each: whose place it is, when it was chosen, and the free chunk it was put into.
    #[must_use]
    pub fn lines(&self, study: &Study, value: ValueId) -> Vec<String> {
        let mut out = Vec::new();
        if self.leader != value
            && let Some(program) = &study.program
        {
            let leader = program.facts.label(&program.module, self.leader);
            out.push(format!("In the heap it shares the place of {leader}."));
        }
        let heap = if our_place(study, self.leader).is_some() { "our heap" } else { "the heap" };
        out.push(format!(
            "In {heap} of {} that place, {} at {}, was number {} of {} to be chosen.",
            both(self.heap_size),
            bytes(self.size),
            grouped(self.offset),
            self.number + 1,
            self.count
        ));
        out.extend(self.chunk.map(|(from, to)| match to {
            Some(to) => format!(
                "It was the smallest free chunk that holds it: from {} to {}.",
                grouped(from),
                grouped(to)
            ),
            None if from == 0 => "In its time nothing was there yet.".to_owned(),
            None => {
                format!(
                    "No free chunk between others held it, so it was put on top, from {} on.",
                    grouped(from)
                )
            }
        }));
        out
    }
}

/// Where a value stands, as the table has it; else as our own assignment has its range.
#[must_use]
pub fn place_in_words(study: &Study, value: ValueId) -> String {
    match study.row_of(value) {
        Some(row) => place_of(study, &study.rows[row]),
        None => words::place_words(None, study.program.as_ref().and_then(|p| p.facts.ranges.get(value))),
    }
}
