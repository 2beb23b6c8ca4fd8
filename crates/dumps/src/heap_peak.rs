//! What stands in a heap when it is fullest (10.7): the temporaries taken apart at their own peak.

use analysis::{Color, Facts, Step, ValueId};
use assigner::{AllocationId, Assignment, HeapRun};
use packing::{BufferKey, Event};
use rustc_hash::FxHashMap;

/// A heap at the first moment at which most of it is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapPeak {
    /// The heap's memory space.
    pub color: Color,
    /// Bytes of the heap, of all its parts if a limit cut it into several.
    pub size: u64,
    /// The event of the heap's own clock, from 0 (10.2).
    pub tick: u32,
    /// The step of the program at that moment.
    pub step: Step,
    /// Bytes that are alive: the sum of the slots.
    pub live: u64,
    /// The slots that are taken, the largest first.
    pub slots: Vec<HeapSlot>,
}

/// A piece of a heap that is taken, by one value or by several that share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapSlot {
    /// Bytes.
    pub size: u64,
    /// The allocation that the heap became a part of, and where in it the slot begins.
    pub place: Option<(AllocationId, u64)>,
    /// The values that are in it at that moment.
    pub values: Vec<ValueId>,
}

/// The heaps of an assignment, each at its own peak, in the order in which they were packed.
#[must_use]
pub fn heap_peaks(facts: &Facts, assignment: &Assignment) -> Vec<HeapPeak> {
    assignment.heaps.iter().map(|run| heap_peak(facts, assignment, run)).collect()
}

/// What is alive of the buffers that share one place.
#[derive(Default)]
struct Group {
    size: u64,
    alive: Vec<BufferKey>,
}

fn heap_peak(facts: &Facts, assignment: &Assignment, run: &HeapRun) -> HeapPeak {
    let groups = group_of(&run.events);
    let tick = peak_tick(&run.events, &groups);
    let mut alive: FxHashMap<BufferKey, Group> = FxHashMap::default();
    let mut live = 0;
    for event in run.events.iter().take(tick + 1) {
        step(event, &groups, &mut alive, &mut live);
    }
    let mut slots: Vec<HeapSlot> = alive
        .into_values()
        .filter(|g| !g.alive.is_empty())
        .map(|g| {
            let mut values: Vec<ValueId> = g.alive.iter().map(|b| ValueId(b.0)).collect();
            values.sort_unstable();
            let place = values.first().and_then(|v| assignment.place(*v)).map(|(a, p)| (a, p.offset));
            HeapSlot { size: g.size, place, values }
        })
        .collect();
    slots.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.values.cmp(&b.values)));
    // The event begins a value, whose range starts at that step.
    let at = run.events.get(tick).and_then(|e| facts.ranges.get(ValueId(e.buffer().0)));
    HeapPeak {
        color: run.color,
        size: run.packing.total(),
        tick: tick as u32,
        step: at.map_or(Step(0), |r| r.start),
        live,
        slots,
    }
}

/// For each buffer the one whose place it takes in the end.
fn group_of(events: &[Event]) -> FxHashMap<BufferKey, BufferKey> {
    let mut out: FxHashMap<BufferKey, BufferKey> = FxHashMap::default();
    for event in events {
        match event {
            Event::Alloc { buffer, .. } => {
                out.insert(*buffer, *buffer);
            }
            Event::Share { buffer, with, .. } => {
                let group = out.get(with).copied().unwrap_or(*with);
                out.insert(*buffer, group);
            }
            Event::Free { .. } => {}
        }
    }
    out
}

fn step(
    event: &Event,
    groups: &FxHashMap<BufferKey, BufferKey>,
    alive: &mut FxHashMap<BufferKey, Group>,
    live: &mut u64,
) {
    let buffer = event.buffer();
    let group = alive.entry(groups.get(&buffer).copied().unwrap_or(buffer)).or_default();
    match event {
        Event::Alloc { size, .. } | Event::Share { size, .. } => {
            if group.alive.is_empty() {
                group.size = *size;
                *live = live.saturating_add(*size);
            }
            group.alive.push(buffer);
        }
        Event::Free { .. } => {
            group.alive.retain(|b| *b != buffer);
            if group.alive.is_empty() {
                *live = live.saturating_sub(group.size);
            }
        }
    }
}

fn peak_tick(events: &[Event], groups: &FxHashMap<BufferKey, BufferKey>) -> usize {
    let mut alive = FxHashMap::default();
    let (mut live, mut most, mut at) = (0, 0, 0);
    for (tick, event) in events.iter().enumerate() {
        step(event, groups, &mut alive, &mut live);
        if live > most {
            (most, at) = (live, tick);
        }
    }
    at
}
