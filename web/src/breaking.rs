//! What chapter 5 asks beside the exhibit: where each range would break a sharing, what the first break costs, and whether
//! one pulled end made the heap grow.

use crate::engine::{Opened, Run};
use crate::fragmentation::Packed;
use crate::state::{Edit, End};
use assigner::words::{bytes, list};
use packing::Algorithm;

/// No more buffers than this get their ticks.
const MOST: usize = 400;

/// At which steps the end of each temporary would break a sharing: value and step.
pub fn ticks(opened: &Opened, run: &Run) -> Vec<(u32, u32)> {
    run.picture
        .temps()
        .filter(|i| i.size > 0)
        .take(MOST)
        .flat_map(|i| opened.thresholds(run, i.value, End::End).into_iter().map(|t| (i.value, t.step)))
        .collect()
}

/// A value whose end is pulled to the first step at which a sharing breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pulled {
    /// The value's name.
    pub name: String,
    /// Its own size in bytes.
    pub bytes: u64,
    /// Its end, and the step it is pulled to.
    pub steps: (u32, u32),
    /// With whom the sharing breaks.
    pub with: Vec<String>,
    /// The heap before and after.
    pub heap: (u64, u64),
}

/// Pulls the end of a value to its first threshold.
pub fn pulled(opened: &Opened, value: u32) -> Option<Pulled> {
    let item = opened.original.picture.item(value)?;
    let first = opened.thresholds(&opened.original, value, End::End).into_iter().next()?;
    let run = opened.run(&[Edit { value, start: item.start, end: first.step }]);
    Some(Pulled {
        name: item.name.clone(),
        bytes: item.size,
        steps: (item.end, first.step),
        with: first.with,
        heap: (opened.original.picture.heap_size(), run.picture.heap_size()),
    })
}

impl Pulled {
    /// Which of the answers is right: it stays, grows by less than the value, by as much or more, or gets smaller.
    pub fn answer(&self) -> usize {
        let (before, after) = self.heap;
        match after.checked_sub(before) {
            Some(0) => 0,
            Some(more) if more < self.bytes => 1,
            Some(_) => 2,
            None => 3,
        }
    }

    /// Why, in a sentence or two.
    pub fn words(&self) -> String {
        let (before, after) = self.heap;
        let moved = format!(
            "At step {} {} no longer shares with {}, and one of them needs another place. ",
            self.steps.1,
            self.name,
            list(&self.with, 2)
        );
        let came = match self.answer() {
            0 => format!("There is one that was free: the heap stays at {}.", bytes(before)),
            3 => format!(
                "The packing takes another way from there on, and by luck a better one: {} become {}.",
                bytes(before),
                bytes(after)
            ),
            _ => format!(
                "The heap grows from {} to {}, by {}; the value itself has {}.",
                bytes(before),
                bytes(after),
                bytes(after - before),
                bytes(self.bytes)
            ),
        };
        moved + &came
    }
}

/// The packers that are shown side by side, each with its name; the first is the one that XLA takes on CPU and GPU.
pub const PACKERS: [(Algorithm, &str); 4] = [
    (Algorithm::BestOfSpatialTemporal, "XLA's choice: the smaller of the next two"),
    (Algorithm::Spatial, "Biggest first (spatial)"),
    (Algorithm::Temporal, "Longest-lived first (temporal)"),
    (Algorithm::FastMerge, "Fast merge, as on TPU"),
];

/// The largest heap of a run under each of [`PACKERS`], all from the same events.
pub fn packers(run: &Run) -> Vec<Packed> {
    let Some(heap) = run.assignment.heaps.iter().max_by_key(|h| h.packing.total()) else { return Vec::new() };
    PACKERS
        .into_iter()
        .filter_map(|(algorithm, _)| {
            let options = packing::Options { algorithm, ..heap.options.clone() };
            let packing = packing::pack(&heap.events, &options).ok()?;
            let chunks = &packing.heaps.first()?.chunks;
            let places = chunks.iter().map(|(key, chunk)| (key.0, chunk.offset, chunk.size)).collect();
            Some(Packed { algorithm, size: packing.total(), places })
        })
        .collect()
}

/// How far the end may be pulled for the puzzle.
pub const REACH: u32 = 6;

/// By how many bytes the heap is to grow: a twentieth, in whole kilobytes where it has any.
pub fn goal(opened: &Opened) -> u64 {
    let share = opened.original.picture.heap_size() / 20;
    if share > 1024 { share / 1024 * 1024 } else { share.max(1) }
}

/// How far the puzzle is: solved, and where things stand.
pub fn progress(opened: &Opened, run: &Run) -> (bool, String) {
    let (before, after) = (opened.original.picture.heap_size(), run.picture.heap_size());
    let grown = after.saturating_sub(before);
    let goal = goal(opened);
    let [edit] = run.edits[..] else {
        return match run.edits.len() {
            0 => (false, "Nothing is pulled yet.".to_owned()),
            n => (false, format!("{n} ranges are changed; the goal is one.")),
        };
    };
    let Some(item) = opened.original.picture.item(edit.value) else { return (false, String::new()) };
    let (a, b) = (edit.start.abs_diff(item.start), edit.end.abs_diff(item.end));
    let is_one = (a == 0 || b == 0) && a + b <= REACH;
    let words = format!(
        "{} is pulled by {} {}, and the heap grows by {}; the goal is {}{}.",
        item.name,
        a + b,
        if a + b == 1 { "step" } else { "steps" },
        bytes(grown),
        bytes(goal),
        if is_one { String::new() } else { format!(", with one end and at most {REACH} steps") }
    );
    (is_one && grown >= goal, words)
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::chapters::text_of;
    use crate::engine::open;

    fn first() -> Opened {
        open(&text_of("varied_temp_sizes")).expect("it can be read")
    }

    #[test]
    fn the_puzzle_can_be_solved_but_not_by_most() {
        let opened = first();
        let picture = &opened.original.picture;
        let mut solved = Vec::new();
        let mut tried = 0;
        for item in picture.temps() {
            for by in 1..=REACH {
                let end = (item.end + by).min(picture.last());
                let run = opened.run(&[Edit { value: item.value, start: item.start, end }]);
                tried += 1;
                if progress(&opened, &run).0 {
                    solved.push((item.name.as_str(), by));
                }
            }
        }
        assert!(
            !solved.is_empty() && solved.len() * 4 < tried,
            "{solved:?} of {tried}, goal {}",
            goal(&opened)
        );
        assert!(!progress(&opened, &opened.original).0);
    }

    #[test]
    fn the_first_break_is_one_of_the_ticks() {
        let opened = first();
        let value = opened.find("sort.6").expect("it is there");
        let pulled = pulled(&opened, value).expect("it shares");
        let all = ticks(&opened, &opened.original);
        assert!(all.contains(&(value, pulled.steps.1)));
        assert!(all.iter().any(|(v, _)| *v != value), "others have ticks, too");
        assert!(pulled.words().contains("no longer shares with"), "{}", pulled.words());
    }
}
