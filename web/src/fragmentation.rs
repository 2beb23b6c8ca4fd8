//! What a packing costs above what it needs: the gap, split into alignment and heuristic, and the packers side by side.

use crate::engine::Opened;
use analysis::Facts;
use assigner::{Assignment, HeapRun};
use packing::Algorithm;

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

    /// What is known of the smallest heap there could be at this alignment.
    pub fn optimum(&self) -> Optimum {
        if self.assigned == self.aligned_floor {
            Optimum::Reached
        } else {
            Optimum::Between(self.aligned_floor, self.assigned)
        }
    }
}

/// What is known of the smallest heap there could be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Optimum {
    /// It is what the packer found.
    Reached,
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

fn sum(heaps: &[HeapRun], of: impl Fn(&HeapRun) -> u64) -> u64 {
    heaps.iter().fold(0, |n, run| n.saturating_add(of(run)))
}

/// The gap of a module at an alignment: two runs of the assigner, one at this alignment and one at 1.
pub fn gap(opened: &Opened, alignment: u64) -> Option<Gap> {
    let (free, aligned) =
        (assign(opened, Some(1), None)?.assignment, assign(opened, Some(alignment), None)?.assignment);
    let bound = |run: &HeapRun, alignment| {
        packing::aligned_peak_live_size(&run.events, alignment).unwrap_or_default()
    };
    Some(Gap {
        alignment,
        floor: sum(&aligned.heaps, |run| bound(run, 1)),
        aligned_floor: sum(&aligned.heaps, |run| bound(run, alignment)),
        free: sum(&free.heaps, |run| run.packing.total()),
        assigned: sum(&aligned.heaps, |run| run.packing.total()),
        temp: aligned.temp_bytes(),
    })
}

/// The module's largest heap under each packer, at an alignment; all from the same events.
pub fn packers(opened: &Opened, alignment: u64) -> Vec<Packed> {
    let Some(run) = assign(opened, Some(alignment), None)
        .and_then(|a| a.assignment.heaps.into_iter().max_by_key(|run| run.packing.total()))
    else {
        return Vec::new();
    };
    Algorithm::ALL
        .into_iter()
        .filter_map(|algorithm| {
            let options = packing::Options { algorithm, ..run.options.clone() };
            let packing = packing::pack(&run.events, &options).ok()?;
            let heap = packing.heaps.first()?;
            let places = heap.chunks.iter().map(|(key, chunk)| (key.0, chunk.offset, chunk.size)).collect();
            Some(Packed { algorithm, size: packing.total(), places })
        })
        .collect()
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
