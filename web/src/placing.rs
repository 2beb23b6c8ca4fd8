//! One placement after the other: what the packer had before it, what it weighed and what it chose, in words and
//! numbers. All of it is read from [`packing::inspect_placement`]; nothing here decides where anything goes.

use crate::engine::{Opened, Run};
use assigner::HeapRun;
use assigner::words::{bytes, grouped, list};
use packing::{Algorithm, BufferKey, Options, Packing, PlacementStep};
use std::fmt::Write as _;

/// The lines of the algorithm as they stand beside the figure, in the order in which they are done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Line {
    /// Sort the queue.
    Sort,
    /// Take the first that waits, with its colocations.
    Take,
    /// Find what is taken while it is wanted, and so what is free.
    Free,
    /// The smallest free chunk that holds it.
    Fit,
    /// It goes to the chunk's start, and its colocations with it.
    Place,
    /// Once more in the other order; the smaller heap is kept.
    Choose,
}

impl Line {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Sort, Self::Take, Self::Free, Self::Fit, Self::Place, Self::Choose];
}

/// The lines that are done once for each placement.
const EACH: [Line; 4] = [Line::Take, Line::Free, Line::Fit, Line::Place];

/// A moment: a placement and a line of the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Moment {
    /// The placement, from 0. At [`Line::Sort`] the first, at [`Line::Choose`] the last.
    pub placement: usize,
    /// The line.
    pub line: Line,
}

impl Moment {
    /// The last moment there is, for so many placements; moments are numbered from 0.
    pub fn last(placements: usize) -> u32 {
        placements as u32 * 4 + 1
    }

    /// The moment of that number; numbers beyond the ends give the ends.
    pub fn of(number: i64, placements: usize) -> Self {
        let last = Self::last(placements);
        let number = u32::try_from(number.clamp(0, i64::from(last))).unwrap_or(0);
        match number {
            0 => Self { placement: 0, line: Line::Sort },
            n if n == last => Self { placement: placements.saturating_sub(1), line: Line::Choose },
            n => {
                let n = n as usize - 1;
                Self { placement: n / 4, line: EACH[n % 4] }
            }
        }
    }

    /// Its number.
    pub fn number(self) -> u32 {
        match self.line {
            Line::Sort => 0,
            Line::Choose => self.placement as u32 * 4 + 5,
            line => {
                let within = EACH.iter().position(|l| *l == line).unwrap_or(0);
                (self.placement * 4 + within) as u32 + 1
            }
        }
    }
}

/// A heap under the packer's hands.
#[derive(Clone, Debug)]
pub struct Heap {
    /// Spatial or temporal.
    pub algorithm: Algorithm,
    /// The events and what was asked.
    run: HeapRun,
    options: Options,
    /// The packing by this algorithm alone.
    pub packing: Packing,
    /// The buffers that share a place, the allocated one first.
    groups: Vec<Vec<BufferKey>>,
}

/// A chunk that has been placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The value.
    pub value: u32,
    /// Bytes from the heap's start.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// The placement it came with, from 0.
    pub placement: usize,
}

/// The largest heap of a run, for an algorithm of the reader's choice; `None` where nothing is left to the heap.
pub fn heap(run: &Run, algorithm: Option<Algorithm>) -> Option<Heap> {
    let heap = run.assignment.heaps.iter().max_by_key(|h| (h.packing.total(), std::cmp::Reverse(h.color)))?;
    let algorithm = algorithm.unwrap_or(heap.packing.chosen);
    let options = Options { algorithm, ..heap.options.clone() };
    let packing = packing::pack(&heap.events, &options).ok()?;
    let groups = packing::groups(&heap.events).ok()?;
    let heap = Heap { algorithm, run: heap.clone(), options, packing, groups };
    (heap.count() > 0).then_some(heap)
}

impl Heap {
    /// How many placements there are.
    pub fn count(&self) -> usize {
        self.packing.heaps.iter().map(|h| h.placements.len()).sum()
    }

    /// Every offset is a multiple of so many bytes.
    pub fn alignment(&self) -> u64 {
        self.options.alignment
    }

    /// What was weighed at a placement.
    pub fn step(&self, placement: usize) -> Option<PlacementStep> {
        packing::inspect_placement(&self.run.events, &self.options, placement).ok()
    }

    /// What stands there after so many placements, colocations too, in order of placement.
    pub fn placed(&self, placements: usize) -> Vec<Placed> {
        let all = self.packing.heaps.iter().flat_map(|h| &h.placements);
        let mut out = Vec::new();
        for (placement, p) in all.take(placements).enumerate() {
            let group = self.groups.iter().find(|g| g.first() == Some(&p.buffer));
            for member in group.into_iter().flatten() {
                out.push(Placed { value: member.0, offset: p.offset, size: p.size, placement });
            }
        }
        out
    }

    /// The heap's end after so many placements, in bytes.
    pub fn top(&self, placements: usize) -> u64 {
        let all = self.packing.heaps.iter().flat_map(|h| &h.placements);
        all.take(placements).map(|p| p.offset + p.size).max().unwrap_or(0)
    }

    /// What both orders come to, in bytes, and which one XLA keeps: spatial first.
    pub fn totals(&self) -> (Option<u64>, Option<u64>, Algorithm) {
        let p = &self.run.packing;
        (p.spatial_total, p.temporal_total, p.chosen)
    }

    /// The placements at which the chosen chunk was not the lowest one that fits: best fit is not first fit.
    pub fn not_first_fit(&self) -> Vec<usize> {
        (0..self.count())
            .filter(|k| {
                self.step(*k).is_some_and(|step| {
                    step.free_chunks.iter().find(|c| c.fits).is_some_and(|lowest| !lowest.is_chosen)
                })
            })
            .collect()
    }
}

/// Where a free chunk is, in words: `64 to 4,160 (4,096 B)`, or `from 9,000 on`.
pub fn chunk_words(chunk: &packing::FreeChunk) -> String {
    if is_endless(chunk) {
        format!("from {} on, without end", grouped(chunk.offset))
    } else {
        format!("{} to {} ({})", grouped(chunk.offset), grouped(chunk.end), bytes(chunk.end - chunk.offset))
    }
}

/// Is it the rest of the address space?
pub fn is_endless(chunk: &packing::FreeChunk) -> bool {
    chunk.end > 1 << 62
}

fn and_others(names: usize) -> String {
    match names {
        0 => String::new(),
        1 => "; one other value shares its place".to_owned(),
        n => format!("; {n} other values share its place"),
    }
}

/// What happens at a moment, in one or two sentences.
pub fn words(opened: &Opened, heap: &Heap, moment: Moment) -> String {
    let name = |key: BufferKey| opened.facts.label(&opened.module, analysis::ValueId(key.0));
    let Some(step) = heap.step(moment.placement) else { return String::new() };
    let who = name(step.placement.buffer);
    let need = step.placement.size;
    let temporal = heap.algorithm == Algorithm::Temporal;
    match moment.line {
        Line::Sort => {
            let first: Vec<String> = step.order.iter().take(3).map(|e| name(e.buffer)).collect();
            let by = if temporal { "longest-lived first" } else { "biggest first" };
            let count = step.order.len();
            let plural = if count == 1 { "buffer waits" } else { "buffers wait" };
            format!(
                "{count} {plural}, {by}: {}{}.",
                list(&first, 3),
                if count > 3 { ", then the rest" } else { "" }
            )
        }
        Line::Take => {
            format!("Next is {who}, {}{}.", bytes(need), and_others(step.members.len() - 1))
        }
        Line::Free => {
            let taken = match step.occupied.len() {
                0 => format!("Nothing that is placed is wanted while {who} is"),
                1 => format!("One chunk is taken while {who} is wanted"),
                n => format!("{n} chunks are taken while {who} is wanted"),
            };
            let free = match step.free_chunks.len() {
                1 => "One free chunk is left".to_owned(),
                n => format!("{n} free chunks are left"),
            };
            format!("{taken}. {free}, each beginning at a multiple of {}.", heap.alignment())
        }
        Line::Fit => {
            let fitting: Vec<_> = step.free_chunks.iter().filter(|c| c.fits).collect();
            let Some(chosen) = step.free_chunks.iter().find(|c| c.is_chosen) else { return String::new() };
            match (fitting.len(), is_endless(chosen)) {
                (1, true) => {
                    format!("No hole holds {}; only the endless chunk at the top does.", bytes(need))
                }
                (1, false) => format!("One holds {}: {}.", bytes(need), chunk_words(chosen)),
                (n, _) => {
                    format!("{n} of them hold {}. The smallest is {}.", bytes(need), chunk_words(chosen))
                }
            }
        }
        Line::Place => {
            let (before, after) = (heap.top(moment.placement), heap.top(moment.placement + 1));
            let mut out = format!("{who} goes to {}", grouped(step.placement.offset));
            out.push_str(match step.members.len() {
                1 => "",
                2 => ", and the value that shares with it",
                _ => ", and all that share with it",
            });
            if after > before {
                _ = write!(out, ". The heap grows to {}.", bytes(after));
            } else {
                _ = write!(out, ". The heap stays at {}: it costs nothing.", bytes(after));
            }
            out
        }
        Line::Choose => choice(heap),
    }
}

/// Which order was kept, and why.
pub fn choice(heap: &Heap) -> String {
    match heap.totals() {
        (Some(spatial), Some(temporal), _) if spatial == temporal => format!(
            "Biggest first (spatial) and longest-lived first (temporal) both need {}. On a tie spatial is kept.",
            bytes(spatial)
        ),
        (Some(spatial), Some(temporal), chosen) => format!(
            "Biggest first (spatial) needs {}, longest-lived first (temporal) {}. {} is kept.",
            bytes(spatial),
            bytes(temporal),
            if chosen == Algorithm::Temporal { "Temporal" } else { "Spatial" }
        ),
        _ => format!("The heap needs {}. This target packs in one order only.", bytes(heap.packing.total())),
    }
}

/// An order by its name in addresses.
pub fn algorithm(word: &str) -> Option<Algorithm> {
    [Algorithm::Spatial, Algorithm::Temporal].into_iter().find(|a| a.name() == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine;

    fn opened(id: &str) -> Opened {
        let path = format!("{}/../assets/modules/{id}.txt", env!("CARGO_MANIFEST_DIR"));
        engine::open(&std::fs::read_to_string(path).expect("a module")).expect("it can be read")
    }

    #[test]
    fn moments_are_numbered_without_gaps() {
        for placements in [1, 2, 7] {
            let last = Moment::last(placements);
            let all: Vec<Moment> = (0..=last).map(|n| Moment::of(i64::from(n), placements)).collect();
            assert!(all.iter().enumerate().all(|(n, m)| m.number() as usize == n), "{all:?}");
            assert_eq!(Moment::of(-5, placements), all[0]);
            assert_eq!(Moment::of(i64::from(last) + 9, placements), all[last as usize]);
        }
    }

    #[test]
    fn after_the_last_placement_all_stands_where_the_assignment_has_it() {
        for id in ["varied_temp_sizes", "attention_grad", "kv_cache_loop", "unet_skip"] {
            let opened = opened(id);
            let heap = heap(&opened.original, None).expect("a heap");
            let placed = heap.placed(heap.count());
            assert_eq!(heap.top(heap.count()), heap.packing.total());
            for p in &placed {
                let (_, place) =
                    opened.original.assignment.place(analysis::ValueId(p.value)).expect("it has a place");
                assert_eq!((place.offset, place.size), (p.offset, p.size), "{id}: {}", p.value);
            }
        }
    }

    #[test]
    fn one_placement_in_words() {
        let opened = opened("varied_temp_sizes");
        let heap = heap(&opened.original, None).expect("a heap");
        let k = *heap.not_first_fit().first().expect("best fit is not first fit here");
        let mut said = String::new();
        for line in Line::ALL {
            said += &words(&opened, &heap, Moment { placement: k, line });
            said.push('\n');
        }
        assert_eq!(
            said,
            "\
25 buffers wait, biggest first: concatenate.7, broadcast_multiply_fusion.9 and concatenate.10, then the rest.
Next is wrapped_slice, 2,052 B; one other value shares its place.
4 chunks are taken while wrapped_slice is wanted. 3 free chunks are left, each beginning at a multiple of 64.
3 of them hold 2,052 B. The smallest is 12,608 to 15,936 (3,328 B).
wrapped_slice goes to 12,608, and the value that shares with it. The heap stays at 21,060 B: it costs nothing.
Biggest first (spatial) needs 25,028 B, longest-lived first (temporal) 25,048 B. Spatial is kept.
"
        );
    }
}
