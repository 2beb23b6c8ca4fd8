//! How small could the heaps of an assignment be? The exact search, for one heap or several in turn, in slices that leave the
//! page time to breathe; what it has found can be asked at any time.

use assigner::Assignment;
use assigner::words::{bytes, grouped};
use packing::BufferKey;
use packing::optimum::{Limits, Outcome, Problem, Progress, Solver};
use std::ops::ControlFlow;

/// What is known by now, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// No packing is smaller.
    pub bound: u64,
    /// The smallest that is known.
    pub height: u64,
    /// Branches of the search so far.
    pub nodes: u64,
}

impl Found {
    /// Is the smallest that is known the smallest there can be?
    pub fn is_proved(&self) -> bool {
        self.height <= self.bound
    }
}

/// How the search stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// It has not begun.
    Waiting,
    /// It is under way.
    Running,
    /// It was stopped, and can go on.
    Stopped,
    /// There is nothing more to be done.
    Over,
}

/// Value, offset and size of each place.
pub type Places = Vec<(u32, u64, u64)>;

struct Heap {
    /// What is known without the search.
    assigned: u64,
    /// Of each item, the buffers that it stands for.
    keys: Vec<Vec<BufferKey>>,
    sizes: Vec<u64>,
    solver: Solver,
    is_open: bool,
}

/// The search.
pub struct Search {
    heaps: Vec<Heap>,
    at: usize,
}

impl Search {
    /// For the heaps of an assignment; `None` if they are too large to be searched.
    pub fn of(assignment: &Assignment) -> Option<Self> {
        let heap = |run: &assigner::HeapRun| {
            let (problem, keys) = Problem::from_events(&run.events, run.options.alignment).ok()?;
            Heap::new(&problem, keys, run.packing.total())
        };
        Some(Self { heaps: assignment.heaps.iter().map(heap).collect::<Option<_>>()?, at: 0 })
    }

    /// For one heap, of which a packing of `assigned` bytes is known.
    pub fn of_one(problem: &Problem, assigned: u64) -> Option<Self> {
        Some(Self { heaps: vec![Heap::new(problem, Vec::new(), assigned)?], at: 0 })
    }

    /// Searches one heap, the next one at each call, as long as `goes_on` says so, which is told of the branches that all
    /// have taken so far. Is there more to be done?
    pub fn go_on(&mut self, goes_on: &mut dyn FnMut(u64) -> bool) -> bool {
        let count = self.heaps.len();
        let Some(next) = (0..count).map(|i| (self.at + i) % count).find(|i| self.heaps[*i].is_open) else {
            return false;
        };
        let others: u64 = self
            .heaps
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != next)
            .map(|(_, h)| h.solver.now().nodes)
            .sum();
        let heap = &mut self.heaps[next];
        heap.is_open = heap.solver.go_on(&mut |now: &Progress| {
            if goes_on(others + now.nodes) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        self.at = next + 1;
        self.heaps.iter().any(|h| h.is_open)
    }

    /// What is known by now, of all heaps together.
    pub fn found(&self) -> Found {
        let mut out = Found { bound: 0, height: 0, nodes: 0 };
        for heap in &self.heaps {
            let now = heap.solver.now();
            out.bound = out.bound.saturating_add(now.lower_bound);
            out.height = out.height.saturating_add(now.height.min(heap.assigned));
            out.nodes += now.nodes;
        }
        out
    }

    /// The best packing of the first heap so far.
    pub fn outcome(&self) -> Option<Outcome> {
        Some(self.heaps.first()?.solver.outcome())
    }

    /// The best packing so far of the largest heap: its size and its places; `None` while what
    /// is known without the search is smaller.
    pub fn largest(&self) -> Option<(u64, Places)> {
        let heap = self.heaps.iter().max_by_key(|h| h.assigned)?;
        let outcome = heap.solver.outcome();
        let places = heap
            .keys
            .iter()
            .zip(&heap.sizes)
            .zip(&outcome.offsets)
            .flat_map(|((keys, size), offset)| keys.iter().map(move |key| (key.0, *offset, *size)));
        (outcome.height <= heap.assigned).then(|| (outcome.height, places.collect()))
    }
}

impl Heap {
    fn new(problem: &Problem, keys: Vec<Vec<BufferKey>>, assigned: u64) -> Option<Self> {
        let solver = Solver::new(problem, Limits::default()).ok()?;
        let sizes = problem.items.iter().map(|i| i.size).collect();
        Some(Self { assigned, keys, sizes, solver, is_open: true })
    }
}

/// What the search has to say, in a sentence.
pub fn words(found: &Found, phase: Phase) -> String {
    let branches = match found.nodes {
        1 => "1 branch".to_owned(),
        n => format!("{} branches", grouped(n)),
    };
    match phase {
        Phase::Waiting => "The exact search has not begun.".to_owned(),
        _ if found.is_proved() && found.nodes == 0 => {
            format!("The optimum is {}: proved without a search.", bytes(found.height))
        }
        _ if found.is_proved() => {
            format!("The optimum is {}: proved by a search of {branches}.", bytes(found.height))
        }
        Phase::Running => format!(
            "Searching: the optimum is from {} to {}, after {branches}.",
            grouped(found.bound),
            bytes(found.height)
        ),
        Phase::Stopped => format!(
            "Stopped after {branches}: the optimum is from {} to {}.",
            grouped(found.bound),
            bytes(found.height)
        ),
        Phase::Over => format!(
            "Too large to be searched further: the optimum is from {} to {}.",
            grouped(found.bound),
            bytes(found.height)
        ),
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::chapters::text_of;
    use crate::engine::open;
    use crate::fragmentation::{self, MOST};
    use crate::modules::SHIPPED;

    #[test]
    fn in_slices_it_finds_what_it_finds_at_once() {
        let opened = open(&text_of("varied_temp_sizes")).expect("it can be read");
        let assignment = &opened.original.assignment;
        let mut at_once = Search::of(assignment).expect("a search");
        while at_once.go_on(&mut |_| true) {}
        let mut sliced = Search::of(assignment).expect("a search");
        let first = sliced.found();
        assert!(first.bound <= 22660 && first.height <= 25028, "{first:?}");
        let mut slices = 0;
        while sliced.go_on(&mut |_| false) {
            slices += 1;
        }
        assert!(slices > 0);
        assert_eq!(sliced.found(), at_once.found());
        assert_eq!(sliced.outcome(), at_once.outcome());
        let found = sliced.found();
        assert!(found.is_proved());
        assert_eq!(found.height, 22660);
        let (size, places) = sliced.largest().expect("a packing");
        assert_eq!(places.iter().map(|(_, offset, size)| offset + size).max(), Some(size));
        assert_eq!(
            words(&found, Phase::Over),
            format!("The optimum is 22,660 B: proved by a search of {} branches.", found.nodes)
        );
    }

    /// What the page finds by itself; with a limit no module keeps it busy for ever.
    #[test]
    fn most_heaps_of_the_page_are_proved_soon() {
        let mut open_ones = Vec::new();
        for module in SHIPPED {
            let opened = open(&text_of(module.id)).expect("it can be read");
            for exponent in 0..=MOST {
                let aligned =
                    fragmentation::assign(&opened, Some(1 << exponent), None).expect("an assignment");
                let mut search = Search::of(&aligned.assignment).expect("a search");
                while search.go_on(&mut |nodes| nodes < 2000) {
                    if search.found().nodes >= 2000 {
                        break;
                    }
                }
                let (found, gap) = (search.found(), aligned.gap(1 << exponent, 0));
                assert!(
                    gap.aligned_floor <= found.bound && found.height <= gap.assigned,
                    "{found:?} {gap:?}"
                );
                if !found.is_proved() {
                    open_ones.push(format!("{} at {}: {found:?}", module.id, 1 << exponent));
                }
            }
        }
        assert!(open_ones.len() < 8, "{open_ones:#?}");
    }
}
