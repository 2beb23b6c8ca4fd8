//! What a packing costs above what it needs: the gap, split into alignment and heuristic, and the packers side by side.

use crate::engine::Opened;
use crate::optimum::Found;
use analysis::Facts;
use assigner::words::{bytes, grouped};
use assigner::{Assignment, HeapRun};
use packing::Algorithm;
use std::fmt::Write as _;

/// The exponents of the alignments that can be asked for: 1 to 4,096 bytes.
pub const MOST: i64 = 12;

/// The heaps of a module at one alignment, in bytes. All of them are summed, one for each memory space.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gap {
    /// The alignment.
    pub alignment: u64,
    /// What is alive when most is: no packing can be smaller.
    pub floor: u64,
    /// What no packing at this alignment can be smaller than.
    pub aligned_floor: u64,
    /// What the target's packer takes where places may begin at any byte.
    pub free: u64,
    /// What it takes at this alignment.
    pub assigned: u64,
    /// Size of all preallocated temps: the heaps, what is between them, and tables of tuples.
    pub temp: u64,
}

impl Gap {
    /// Bytes that the packer loses by itself: what it is above the floor where it may place at any byte.
    pub fn heuristic(&self) -> u64 {
        self.free.saturating_sub(self.floor)
    }

    /// Bytes that the alignment adds. Negative where the packer happens to do better with it than without.
    pub fn by_alignment(&self) -> i64 {
        self.assigned as i64 - self.free as i64
    }

    /// What is known of the smallest heap there could be at this alignment, with what a search has found.
    pub fn optimum(&self, found: Option<Found>) -> Optimum {
        let bound = found.map_or(self.aligned_floor, |f| f.bound.max(self.aligned_floor));
        let height = found.map_or(self.assigned, |f| f.height.min(self.assigned));
        if height > bound {
            Optimum::Between(bound, height)
        } else if height == self.assigned {
            Optimum::Reached
        } else {
            Optimum::Proved(height)
        }
    }
}

/// What is known of the smallest heap there could be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Optimum {
    /// It is what the packer found.
    Reached,
    /// It is less than what the packer found: this.
    Proved(u64),
    /// It is somewhere from the first to the second, both included.
    Between(u64, u64),
}

/// A packer's result, for a picture of its own.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The packer.
    pub algorithm: Algorithm,
    /// The heap's size in bytes.
    pub size: u64,
    /// Its values: number, offset and size.
    pub places: Vec<(u32, u64, u64)>,
}

/// An assignment of a module at an alignment of the reader's, by a packer of the reader's.
#[derive(Debug)]
pub struct Aligned {
    /// What is true of the module, under this alignment.
    pub facts: Facts,
    /// The assignment.
    pub assignment: Assignment,
}

/// The alignment of the module's own target for temporaries.
pub fn own_alignment(opened: &Opened) -> u64 {
    opened.original.picture.alignment
}

/// Runs the whole assigner with every place at a multiple of `alignment`; `None` is the target's own.
pub fn assign(opened: &Opened, alignment: Option<u64>, algorithm: Option<Algorithm>) -> Option<Aligned> {
    let mut target = opened.facts.target.clone();
    target.alignment_override = alignment;
    let facts = Facts::new(&opened.module, opened.facts.orders.clone(), target).ok()?;
    let options = assigner::Options { algorithm, ..assigner::Options::default() };
    let (assignment, _) = assigner::assign(&opened.module, &facts, &facts.ranges, &options);
    Some(Aligned { facts, assignment })
}

/// A gap in two or three sentences, with what a search has found.
pub fn sentence(gap: &Gap, found: Option<Found>) -> String {
    if gap.assigned == 0 {
        return "This module has no heap: nothing is left to be packed.".to_owned();
    }
    let mut out =
        format!("At an alignment of {} the heap takes {}. ", bytes(gap.alignment), bytes(gap.assigned));
    if gap.assigned == gap.floor {
        out.push_str("As much is alive at once, so nothing is lost: no packing could be smaller.");
        return out;
    }
    _ = write!(out, "{} are alive at once", bytes(gap.floor));
    _ = match gap.heuristic() {
        0 => write!(out, "; the packer loses nothing by itself"),
        lost => write!(out, "; the packer loses {} by itself", bytes(lost)),
    };
    _ = match gap.by_alignment() {
        0 => write!(out, ", alignment adds nothing."),
        more @ 1.. => write!(out, ", alignment adds {}.", bytes(more.unsigned_abs())),
        less => {
            write!(out, ", and with this alignment it happens to need {} less.", bytes(less.unsigned_abs()))
        }
    };
    _ = match gap.optimum(found) {
        Optimum::Reached => write!(out, " No packing at this alignment could be smaller."),
        Optimum::Proved(best) => write!(
            out,
            " The best packing at this alignment takes {}: {} less, and none is smaller.",
            bytes(best),
            bytes(gap.assigned - best)
        ),
        Optimum::Between(from, to) => {
            write!(
                out,
                " The best packing at this alignment is somewhere from {} to {}.",
                grouped(from),
                bytes(to)
            )
        }
    };
    out
}

/// What a packer is called here.
pub fn name(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::BestOfSpatialTemporal => "The smaller of both, XLA's choice",
        Algorithm::Spatial => "Largest first (spatial)",
        Algorithm::Temporal => "Longest-lived first (temporal)",
        Algorithm::FastMerge => "Fast merge",
        Algorithm::FastSplit => "Fast split",
    }
}

/// The size of a packer's heap against the bound: "10.5 % above the bound".
pub fn against(size: u64, gap: &Gap) -> String {
    match size.saturating_sub(gap.aligned_floor) {
        0 => "as small as can be".to_owned(),
        more => format!("{:.1} % above the bound", 100.0 * more as f64 / gap.aligned_floor.max(1) as f64),
    }
}

/// The lines of the statistics block: label, number, and what it means.
pub fn stats_lines(block: &str) -> Vec<(String, String, &'static str)> {
    block
        .lines()
        .filter_map(|line| line.trim().split_once(": "))
        .map(|(label, value)| {
            let about = match label {
                "parameter allocation" => {
                    "memory of the caller for the arguments; a donated one counts as a result too"
                }
                "constant allocation" => "memory that comes with the program",
                "maybe_live_out allocation" => "what holds, or may hold, a part of the result",
                "preallocated temp allocation" => {
                    "one block for all temporaries: the heap, and tables of tuples behind it"
                }
                "preallocated temp fragmentation" => {
                    "how far the heap is above what is alive at once, and how much of the line above that is"
                }
                "total allocation" => "all allocations together",
                _ => "the same for all allocations together, as though all but constants were one heap",
            };
            (label.to_owned(), value.trim().to_owned(), about)
        })
        .collect()
}

fn sum(heaps: &[HeapRun], of: impl Fn(&HeapRun) -> u64) -> u64 {
    heaps.iter().fold(0, |n, run| n.saturating_add(of(run)))
}

/// What the target's packer takes where places may begin at any byte.
pub fn free_bytes(opened: &Opened) -> Option<u64> {
    Some(sum(&assign(opened, Some(1), None)?.assignment.heaps, |run| run.packing.total()))
}

/// The gap of a module at an alignment: two runs of the assigner, one at this alignment and one at 1.
pub fn gap(opened: &Opened, alignment: u64) -> Option<Gap> {
    Some(assign(opened, Some(alignment), None)?.gap(alignment, free_bytes(opened)?))
}

/// The module's largest heap under each packer, at an alignment.
pub fn packers(opened: &Opened, alignment: u64) -> Vec<Packed> {
    assign(opened, Some(alignment), None).map(|a| a.packers()).unwrap_or_default()
}

impl Aligned {
    /// The gap, with what [`free_bytes`] gave for the module.
    pub fn gap(&self, alignment: u64, free: u64) -> Gap {
        let heaps = &self.assignment.heaps;
        let bound = |run: &HeapRun, alignment| {
            packing::aligned_peak_live_size(&run.events, alignment).unwrap_or_default()
        };
        Gap {
            alignment,
            floor: sum(heaps, |run| bound(run, 1)),
            aligned_floor: sum(heaps, |run| bound(run, alignment)),
            free,
            assigned: sum(heaps, |run| run.packing.total()),
            temp: self.assignment.temp_bytes(),
        }
    }

    /// The largest heap under each packer, all from the same events.
    pub fn packers(&self) -> Vec<Packed> {
        let Some(run) = self.assignment.heaps.iter().max_by_key(|run| run.packing.total()) else {
            return Vec::new();
        };
        Algorithm::ALL
            .into_iter()
            .filter_map(|algorithm| {
                let options = packing::Options { algorithm, ..run.options.clone() };
                let packing = packing::pack(&run.events, &options).ok()?;
                let heap = packing.heaps.first()?;
                let places =
                    heap.chunks.iter().map(|(key, chunk)| (key.0, chunk.offset, chunk.size)).collect();
                Some(Packed { algorithm, size: packing.total(), places })
            })
            .collect()
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::chapters::text_of;
    use crate::engine::open;
    use crate::modules::SHIPPED;

    #[test]
    fn the_parts_make_up_the_whole_for_every_module_and_alignment() {
        for module in SHIPPED {
            let opened = open(&text_of(module.id)).expect("it can be read");
            for exponent in 0..=MOST {
                let gap = gap(&opened, 1 << exponent).expect("an assignment");
                let parts =
                    i128::from(gap.floor) + i128::from(gap.heuristic()) + i128::from(gap.by_alignment());
                assert_eq!(parts, i128::from(gap.assigned), "{} at {}", module.id, gap.alignment);
                assert!(gap.floor <= gap.free && gap.aligned_floor <= gap.assigned, "{gap:?}");
                assert!(gap.floor <= gap.aligned_floor, "{gap:?}");
                if exponent == 0 {
                    assert_eq!((gap.by_alignment(), gap.aligned_floor), (0, gap.floor));
                }
                let best = packers(&opened, 1 << exponent);
                let of = |algorithm| best.iter().find(|p| p.algorithm == algorithm).map_or(0, |p| p.size);
                assert_eq!(
                    of(Algorithm::BestOfSpatialTemporal),
                    of(Algorithm::Spatial).min(of(Algorithm::Temporal))
                );
            }
        }
    }

    #[test]
    fn sentences_say_what_is_lost_and_what_is_known() {
        let of = |id: &str, alignment| {
            let opened = open(&text_of(id)).expect("it can be read");
            sentence(&gap(&opened, alignment).expect("an assignment"), None)
        };
        assert_eq!(
            of("varied_temp_sizes", 64),
            "At an alignment of 64 B the heap takes 25,028 B. 22,316 B are alive at once; the packer loses 2,308 B by \
             itself, alignment adds 404 B. The best packing at this alignment is somewhere from 22,660 to 25,028 B."
        );
        assert_eq!(
            of("mlp_grad", 64),
            "At an alignment of 64 B the heap takes 16,384 B. As much is alive at once, so nothing is lost: no packing \
             could be smaller."
        );
        assert!(of("lstm_scan", 64).ends_with("No packing at this alignment could be smaller."));
    }

    #[test]
    fn what_a_search_has_found_is_said() {
        let opened = open(&text_of("varied_temp_sizes")).expect("it can be read");
        let gap = gap(&opened, 64).expect("an assignment");
        let found = |bound, height| Some(Found { bound, height, nodes: 9 });
        assert_eq!(gap.optimum(found(0, 30000)), Optimum::Between(22660, 25028));
        assert_eq!(gap.optimum(found(22700, 23000)), Optimum::Between(22700, 23000));
        assert_eq!(gap.optimum(found(22660, 22660)), Optimum::Proved(22660));
        assert_eq!(gap.optimum(found(25028, 25028)), Optimum::Reached);
        assert!(sentence(&gap, found(22660, 22660)).ends_with(
            "The best packing at this alignment takes 22,660 B: 2,368 B less, and none is smaller."
        ));
    }

    #[test]
    fn each_line_of_the_statistics_has_its_own_meaning() {
        let opened = open(&text_of("varied_temp_sizes")).expect("it can be read");
        let block = dumps::stats(&opened.module, &opened.facts, &opened.original.assignment).to_string();
        let lines = stats_lines(&block);
        assert_eq!(lines.len(), 7);
        assert_eq!(
            (lines[4].0.as_str(), lines[4].1.as_str()),
            ("preallocated temp fragmentation", "2.6KiB (10.84%)")
        );
        for (i, (_, _, about)) in lines.iter().enumerate() {
            assert!(lines[..i].iter().all(|(_, _, other)| other != about));
        }
    }

    /// The numbers that the browser tests expect of the page. `UPDATE=1 cargo test -p bufferscope-web` writes them anew.
    #[test]
    fn the_page_is_expected_to_show_what_is_computed_here() {
        let mut all = Vec::new();
        for module in SHIPPED {
            let opened = open(&text_of(module.id)).expect("it can be read");
            for exponent in 0..=MOST {
                let gap = gap(&opened, 1 << exponent).expect("an assignment");
                let packers: Vec<u64> = packers(&opened, 1 << exponent).iter().map(|p| p.size).collect();
                all.push(serde_json::json!({
                    "module": module.id,
                    "alignment": gap.alignment,
                    "floor": gap.floor,
                    "bound": gap.aligned_floor,
                    "free": gap.free,
                    "assigned": gap.assigned,
                    "packers": packers,
                }));
            }
        }
        let lines: Vec<String> = all.iter().map(ToString::to_string).collect();
        let text = format!("[\n{}\n]\n", lines.join(",\n"));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fragmentation.json");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, text).expect("the file can be written");
        } else {
            assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text, "UPDATE=1 writes it anew");
        }
    }

    #[test]
    fn at_its_own_alignment_it_is_the_assignment_of_the_module() {
        for module in SHIPPED {
            let opened = open(&text_of(module.id)).expect("it can be read");
            let gap = gap(&opened, own_alignment(&opened)).expect("an assignment");
            assert_eq!(gap.temp, opened.original.picture.temp_bytes, "{}", module.id);
        }
    }
}
