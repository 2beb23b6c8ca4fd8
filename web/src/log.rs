//! The decisions of a run as lines of a log: in words, with the value and the allocation each is about, and with what
//! stood in memory when it was made.

use crate::engine::{Opened, Run};
use analysis::ValueId;
use assigner::words;
use assigner::{AllocationId, Decision};
use sorts::Arrange as _;
use std::collections::HashMap;

/// What a line of the log is about; the reader can have one kind only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A buffer's turn.
    Turn,
    /// A trial and its refusal.
    Refusal,
    /// Something goes into memory that was there.
    Reuse,
    /// Something gets memory of its own.
    New,
    /// Something is left to the heap, and the heap's own.
    Heap,
    /// A place is written down.
    Place,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Turn, Self::Refusal, Self::Reuse, Self::New, Self::Heap, Self::Place];

    /// In the list of filters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Turn => "turns",
            Self::Refusal => "trials and refusals",
            Self::Reuse => "reuse",
            Self::New => "own memory",
            Self::Heap => "the heap",
            Self::Place => "places",
        }
    }

    /// By its word in an address.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.word() == word)
    }

    /// Its word in an address, and in class names.
    pub fn word(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Refusal => "refusal",
            Self::Reuse => "reuse",
            Self::New => "new",
            Self::Heap => "heap",
            Self::Place => "place",
        }
    }
}

/// A line of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its place in the list of decisions.
    pub at: usize,
    /// What it is about.
    pub kind: Kind,
    /// The decision, without a full stop.
    pub words: String,
    /// The value it is about.
    pub value: Option<u32>,
    /// The allocation it is about, by its final number.
    pub slab: Option<u32>,
    /// The number of the refusal, from 1 to 9.
    pub refusal: Option<u8>,
}

/// The log of a run.
pub fn entries(opened: &Opened, run: &Run) -> Vec<Entry> {
    let (module, facts) = (&opened.module, &opened.facts);
    // The final number of each allocation by its number of the moment.
    let mut last: HashMap<AllocationId, Option<u32>> = HashMap::new();
    let mut number = |a: AllocationId| {
        *last.entry(a).or_insert_with(|| {
            assigner::final_allocation(&run.assignment, &run.decisions, a).map(|AllocationId(n)| n)
        })
    };
    let first = |b: analysis::BufferId| facts.buffer(b).values.first().map(|v| v.0);
    run.decisions
        .iter()
        .enumerate()
        .map(|(at, d)| {
            let (kind, value, allocation) = match &d {
                Decision::Assign { buffer } => (Kind::Turn, first(*buffer), None),
                Decision::Try { buffer, allocation } | Decision::Refuse { buffer, allocation, .. } => {
                    (Kind::Refusal, first(*buffer), Some(*allocation))
                }
                Decision::New { allocation, buffer, .. } => (Kind::New, first(*buffer), Some(*allocation)),
                Decision::Reuse { allocation, buffer, .. } => {
                    (Kind::Reuse, first(*buffer), Some(*allocation))
                }
                Decision::Delay { value } => (Kind::Heap, Some(value.0), None),
                Decision::Place { allocation, value, .. } => (Kind::Place, Some(value.0), Some(*allocation)),
                Decision::Simulate { .. } | Decision::Heap { .. } => (Kind::Heap, None, None),
                Decision::Absorb { temp, .. } => (Kind::Heap, None, Some(*temp)),
            };
            let refusal = match d {
                Decision::Refuse { reason, .. } => Some(reason.number()),
                _ => None,
            };
            let words = words::decision(module, facts, &d);
            Entry { at, kind, words, value, slab: allocation.and_then(&mut number), refusal }
        })
        .collect()
}

/// The values that have a place once the decisions before `at` and the one at it are made.
pub fn placed_by(run: &Run, at: usize) -> Vec<u32> {
    let mut out: Vec<u32> = run
        .decisions
        .iter()
        .take(at + 1)
        .filter_map(|d| match d {
            Decision::Place { value: ValueId(v), .. } => Some(v),
            _ => None,
        })
        .collect();
    out.arrange_unstable();
    out.dedup();
    out
}

/// The next entry in one direction that the filter lets through; the present one where there is none.
pub fn next(entries: &[Entry], only: Option<Kind>, from: usize, forward: bool) -> usize {
    let passes = |e: &&Entry| only.is_none_or(|k| e.kind == k);
    let found = if forward {
        entries.iter().filter(|e| e.at > from).find(passes)
    } else {
        entries.iter().rev().filter(|e| e.at < from).find(passes)
    };
    found.map_or(from, |e| e.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine;

    fn opened() -> Opened {
        engine::open(include_str!("../../assets/modules/kv_cache_loop.txt")).expect("it can be read")
    }

    #[test]
    fn the_log_is_one_line_a_decision_and_steps_there_and_back() {
        let opened = opened();
        let run = &opened.original;
        let log = entries(&opened, run);
        assert_eq!(log.len(), run.decisions.len());
        let refused = next(&log, Some(Kind::Refusal), 0, true);
        assert_eq!(log[refused].kind, Kind::Refusal);
        assert_eq!(next(&log, Some(Kind::Refusal), refused, false), refused, "it is the first");
        let after = next(&log, None, refused, true);
        assert_eq!(next(&log, None, after, false), refused);
        assert_eq!(next(&log, None, log.len() - 1, true), log.len() - 1, "no further than the end");
    }

    #[test]
    fn places_come_one_after_the_other() {
        let opened = opened();
        let run = &opened.original;
        let last = run.decisions.len() - 1;
        let all = placed_by(run, last);
        assert!(all.iter().all(|v| run.assignment.place(ValueId(*v)).is_some()));
        assert!((0..last).all(|at| placed_by(run, at).len() <= placed_by(run, at + 1).len()));
        assert_eq!(placed_by(run, 0), [0; 0]);
    }

    #[test]
    fn allocations_go_by_their_final_numbers() {
        let opened = opened();
        let run = &opened.original;
        for e in entries(&opened, run) {
            if let (Kind::Place, Some(v), Some(slab)) = (e.kind, e.value, e.slab) {
                let place = run.assignment.place(ValueId(v)).map(|(a, _)| a.0);
                assert_eq!(place, Some(slab), "{}", e.words);
            }
        }
    }
}
