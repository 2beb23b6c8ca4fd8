//! How small could the heaps of an assignment be? An exact search in slices, which can be asked at any time what it has.

use crate::study::{Program, Study};
use analysis::{Facts, ValueId};
use assigner::words::both;
use assigner::{Allocation, Assignment, HeapRun};
use packing::PackError;
use packing::optimum::{Limits, Problem, Solver};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// What is known of one heap, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Smallest {
    /// The memory space.
    pub color: u32,
    /// What the packer takes, as assigned.
    pub assigned: u64,
    /// The best packing that is known.
    pub height: u64,
    /// No packing is smaller.
    pub lower_bound: u64,
}

impl Smallest {
    /// Is the best that is known the best there can be?
    #[must_use]
    pub fn proved(&self) -> bool {
        self.height <= self.lower_bound
    }

    /// Bytes between the best that is known and the bound.
    #[must_use]
    pub fn gap(&self) -> u64 {
        self.height.saturating_sub(self.lower_bound)
    }

    /// Bytes that the packer may have lost: to the bound.
    #[must_use]
    pub fn most_lost(&self) -> u64 {
        self.assigned.saturating_sub(self.lower_bound)
    }

    /// In a sentence, behind the name of the heap and a colon.
    #[must_use]
    pub fn words(&self) -> String {
        let assigned = both(self.assigned);
        if self.proved() && self.most_lost() == 0 {
            return format!(
                "the packer takes {assigned}, and that is the optimum (proved): nothing is lost to packing."
            );
        }
        if self.proved() {
            return format!(
                "the packer takes {assigned}, the optimum is {} (proved): {} are lost to packing.",
                both(self.height),
                both(self.most_lost())
            );
        }
        format!(
            "the packer takes {assigned}; the optimum is at least {}, at most {} (not proved): at least {}, at most {} are lost to packing.",
            both(self.lower_bound),
            both(self.height),
            both(self.assigned - self.height),
            both(self.most_lost())
        )
    }
}

/// The search for the smallest heaps of an assignment.
pub struct SmallestSearch {
    /// Each with its bytes as assigned; and is there more to be done?
    heaps: Vec<(u32, u64, Solver, bool)>,
    at: usize,
}

impl SmallestSearch {
    /// Begins with what simple packings come to; `None` if the study has no assignment of ours.
    ///
    /// # Errors
    /// If the events of a heap contradict themselves, or it is too large to be searched; in words.
    pub fn new(study: &Study) -> Option<Result<Self, String>> {
        let (assignment, _) = study.ours.as_ref()?;
        let heap = |run: &HeapRun| {
            let in_words = |e: PackError| e.to_string();
            let (problem, _) = Problem::from_events(&run.events, run.options.alignment).map_err(in_words)?;
            let solver = Solver::new(&problem, Limits::default()).map_err(|e| e.to_string())?;
            Ok((run.color.0, run.packing.total(), solver, true))
        };
        Some(assignment.heaps.iter().map(heap).collect::<Result<_, _>>().map(|heaps| Self { heaps, at: 0 }))
    }

    /// Searches one heap, the next one at each call, for as long as `goes_on` says so. Is there more to be done?
    pub fn step(&mut self, goes_on: &mut dyn FnMut() -> bool) -> bool {
        let count = self.heaps.len();
        let Some(next) = (0..count).map(|i| (self.at + i) % count).find(|i| self.heaps[*i].3) else {
            return false;
        };
        let (_, _, solver, is_open) = &mut self.heaps[next];
        *is_open = solver.go_on(&mut |_| {
            if goes_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        self.at = next + 1;
        self.heaps.iter().any(|h| h.3)
    }

    /// What is known by now, the heap that may lose most first.
    #[must_use]
    pub fn found(&self) -> Vec<Smallest> {
        let known = |(color, assigned, solver, _): &(u32, u64, Solver, bool)| {
            let now = solver.now();
            Smallest {
                color: *color,
                assigned: *assigned,
                // The packer's own is one, too.
                height: now.height.min(*assigned),
                lower_bound: now.lower_bound,
            }
        };
        let mut out: Vec<Smallest> = self.heaps.iter().map(known).collect();
        out.sort_by_key(|h| (std::cmp::Reverse(h.most_lost()), h.color));
        out
    }

    /// Where the best packings that are known put everything, heap by heap as they were run.
    #[must_use]
    pub fn packings(&self) -> Vec<Repacked> {
        let best = |(_, assigned, solver, _): &(u32, u64, Solver, bool)| {
            let found = solver.outcome();
            let is_better = found.height < *assigned;
            Repacked { lower_bound: found.lower_bound, offsets: is_better.then_some(found.offsets) }
        };
        self.heaps.iter().map(best).collect()
    }
}

/// One heap packed otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repacked {
    /// No packing is smaller, in bytes.
    pub lower_bound: u64,
    /// Where each of the heap's groups begins, in the order of their first events; `None` leaves the packer's packing.
    pub offsets: Option<Vec<u64>>,
}

/// The study's own assignment with its heaps packed as given, one for each heap run. Nothing else changes: which values are
/// in which heap, and all other allocations, stay.
///
/// # Errors
/// If the study has no assignment of ours, or these are no packings of its heaps; in words.
pub fn repacked(study: &Study, heaps: &[Repacked]) -> Result<Study, String> {
    let (Some((assignment, _)), Some(program)) = (&study.ours, &study.program) else {
        return Err("This needs the program, and its text is not there.".to_owned());
    };
    if heaps.len() != assignment.heaps.len() {
        return Err(format!("{} heaps are packed, expected {}.", heaps.len(), assignment.heaps.len()));
    }
    let mut new: Vec<Option<(u64, FxHashMap<ValueId, u64>)>> = Vec::new();
    for (run, heap) in assignment.heaps.iter().zip(heaps) {
        new.push(heap.offsets.as_ref().map(|offsets| places(run, offsets)).transpose()?);
    }
    let alignment = |color| program.facts.target.alignment(color);
    let allocations = assignment.allocations.iter().map(|a| moved(a, &new, alignment(a.color))).collect();
    let Program { module, facts, frames, dropped } = program;
    let mut again =
        Facts::new(module, facts.orders.clone(), facts.target.clone()).map_err(|e| e.describe(module))?;
    again.ranges = facts.ranges.clone();
    let program =
        Program { module: module.clone(), facts: again, frames: frames.clone(), dropped: dropped.clone() };
    let assignment: Assignment = assignment.with_allocations(allocations);
    // No rule put the values there, so there are no decisions to tell.
    Ok(Study::of_assignment(program, assignment, assigner::Decisions::new()))
}

/// The size of a heap with these offsets, and where each value begins.
fn places(run: &HeapRun, offsets: &[u64]) -> Result<(u64, FxHashMap<ValueId, u64>), String> {
    let (problem, keys) =
        Problem::from_events(&run.events, run.options.alignment).map_err(|e| e.to_string())?;
    let height = problem.height(offsets).ok_or("These offsets are no packing of the heap.")?;
    if run.packing.heaps.len() != 1 {
        return Err(
            "The packer made several heaps because of a limit; they cannot be packed as one.".to_owned()
        );
    }
    let at = keys.iter().zip(offsets).flat_map(|(keys, offset)| keys.iter().map(|k| (ValueId(k.0), *offset)));
    Ok((height, at.collect()))
}

/// An allocation with the heaps in it packed otherwise.
fn moved(a: &Allocation, new: &[Option<(u64, FxHashMap<ValueId, u64>)>], alignment: u64) -> Allocation {
    let packed = |heap: Option<u32>| new.get(heap? as usize)?.as_ref();
    let mut out = a.clone();
    if !a.merged.iter().any(|part| packed(part.heap).is_some()) {
        return out;
    }
    let mut end = 0u64;
    for (i, part) in out.merged.iter_mut().enumerate() {
        if i > 0 {
            end = end.checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
        }
        part.offset = end;
        if let Some((height, _)) = packed(part.heap) {
            part.size = *height;
        }
        end = end.saturating_add(part.size);
    }
    out.size = end;
    for p in &mut out.values {
        // What has no bytes may stand at a border: at the beginning of the later part.
        let i = a.merged.partition_point(|part| part.offset <= p.offset).saturating_sub(1);
        let within = match packed(a.merged[i].heap) {
            Some((_, at)) => at.get(&p.value).copied().unwrap_or(0),
            None => p.offset - a.merged[i].offset,
        };
        p.offset = out.merged[i].offset.saturating_add(within);
    }
    out
}
