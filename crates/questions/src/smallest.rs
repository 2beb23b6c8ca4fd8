//! How small could the heaps of an assignment be? An exact search in slices, which can be asked at any time what it has.

use crate::study::Study;
use assigner::words::both;
use packing::PackError;
use packing::optimum::{Limits, Problem, Solver};
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
        let heap = |run: &assigner::HeapRun| {
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
}
