//! A heap that the reader packs by hand, against best fit and the optimum. What is right and how high it is, is asked of
//! the engine; here are the heaps, where the bands may be put, and what is said of it.

use crate::scene::{self, Item};
use crate::state::{Param, State};
use assigner::words::{bytes, grouped};
use packing::optimum::Problem;
use packing::{Algorithm, BufferKey, Event, Options, aligned_peak_live_size, pack};
use std::fmt::Write as _;
use std::sync::OnceLock;

/// A heap to be packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// Its name in addresses.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Where it comes from, and what there is to see.
    pub about: &'static str,
    /// The golden module it was made from: folder and name.
    pub module: Option<&'static str>,
    events: &'static str,
}

/// The heaps, from small to fair; the first is the one to begin with.
pub const CASES: [Case; 4] = [
    Case {
        id: "small",
        title: "Six bands, made up",
        about: "Made up for this page: every packer that XLA has loses nearly half.",
        module: None,
        events: include_str!("../../assets/heaps/small.txt"),
    },
    Case {
        id: "conv",
        title: "Convolution, training step (CPU)",
        about: "From a compiled program. The simplest of XLA's packers is the best one here.",
        module: Some("cpu/conv_train"),
        events: include_str!("../../assets/heaps/conv.txt"),
    },
    Case {
        id: "adam",
        title: "Adam, all arguments donated (GPU)",
        about: "From a compiled program. Best fit takes a ninth more than it must.",
        module: Some("gpu/adam_donated"),
        events: include_str!("../../assets/heaps/adam.txt"),
    },
    Case {
        id: "slices",
        title: "Slices sorted and joined (CPU)",
        about: "The heap of the figure above, of many sizes: this one takes patience.",
        module: Some("cpu/varied_temp_sizes"),
        events: include_str!("../../assets/heaps/slices.txt"),
    },
];

/// Something that has one place: a buffer, or several that share it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Band {
    /// The name of its first buffer.
    pub name: String,
    /// How many more buffers stand there.
    pub others: usize,
    /// Bytes.
    pub size: u64,
    /// The columns in which it lives, first and last; several where it pauses.
    pub runs: Vec<(u32, u32)>,
    /// Its colour.
    pub hue: u8,
}

/// What one of XLA's packers makes of the heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packer {
    /// Which; for best fit the order that was kept.
    pub algorithm: Algorithm,
    /// The heap's size in bytes.
    pub height: u64,
    /// The offset of each band.
    pub offsets: Vec<u64>,
}

/// A heap, read, with all that stays the same while it is packed.
#[derive(Debug)]
pub struct Heap {
    /// Places begin at multiples of this many bytes.
    pub alignment: u64,
    /// What the engine is asked about.
    pub problem: Problem,
    /// The bands; their positions are the problem's items.
    pub bands: Vec<Band>,
    /// Bytes alive in each column. A column is a moment at which as much is alive as never right before or after.
    pub alive: Vec<u64>,
    /// Bytes alive when most is.
    pub floor: u64,
    /// Best fit, XLA's choice on CPU and GPU.
    pub fit: Packer,
    /// Fast merge.
    pub merge: Packer,
    /// Fast split.
    pub split: Packer,
}

/// The heap of a case, read once.
pub fn heap(case: usize) -> Option<&'static Heap> {
    static ALL: [OnceLock<Option<Heap>>; CASES.len()] = [const { OnceLock::new() }; CASES.len()];
    ALL.get(case)?.get_or_init(|| Heap::read(CASES[case].events)).as_ref()
}

/// Alignment, events, and the buffers' names.
type Trace<'a> = (u64, Vec<Event>, Vec<(u32, &'a str)>);

/// Reads what [`write`] wrote.
fn read(text: &str) -> Option<Trace<'_>> {
    let mut lines = text.lines();
    let alignment = lines.next()?.strip_prefix("alignment ")?.parse().ok()?;
    let (mut events, mut names) = (Vec::new(), Vec::new());
    for line in lines {
        let mut words = line.split(' ');
        let sign = words.next()?;
        let mut number = || words.next()?.parse::<u64>().ok();
        let buffer = BufferKey(u32::try_from(number()?).ok()?);
        events.push(match sign {
            "+" => Event::Alloc { buffer, size: number()? },
            "=" => Event::Share { buffer, with: BufferKey(u32::try_from(number()?).ok()?), size: number()? },
            "-" => Event::Free { buffer },
            _ => return None,
        });
        if let Some(name) = words.next() {
            names.push((buffer.0, name));
        }
    }
    names.sort_unstable();
    Some((alignment, events, names))
}

/// A heap's events in lines, as the files of this page have them: `+ BUFFER SIZE NAME` where one begins, `= BUFFER WITH SIZE
/// NAME` where it shares another's place, `- BUFFER` where it ends; the alignment first.
pub fn write(alignment: u64, events: &[Event], name: impl Fn(u32) -> String) -> String {
    let mut out = format!("alignment {alignment}\n");
    for event in events {
        _ = match event {
            Event::Alloc { buffer, size } => writeln!(out, "+ {buffer} {size} {}", name(buffer.0)),
            Event::Share { buffer, with, size } => {
                writeln!(out, "= {buffer} {with} {size} {}", name(buffer.0))
            }
            Event::Free { buffer } => writeln!(out, "- {buffer}"),
        };
    }
    out
}

impl Heap {
    fn read(text: &str) -> Option<Self> {
        let (alignment, events, names) = read(text)?;
        let (problem, keys) = Problem::from_events(&events, alignment).ok()?;
        let packer = |algorithm| {
            let options = Options { algorithm, alignment, ..Options::default() };
            let packing = pack(&events, &options).ok()?;
            let place = |group: &Vec<BufferKey>| Some(packing.find(*group.first()?)?.1.offset);
            Some(Packer {
                algorithm: packing.chosen,
                height: packing.total(),
                offsets: keys.iter().map(place).collect::<Option<_>>()?,
            })
        };
        let fit = packer(Algorithm::BestOfSpatialTemporal)?;
        let (alive, runs) = columns(&problem);
        let mut items: Vec<Item> = Vec::new();
        for (n, (item, runs)) in problem.items.iter().zip(&runs).enumerate() {
            items.push(Item {
                value: n as u32,
                buffer: n as u32,
                start: runs.first()?.0,
                end: runs.last()?.1,
                slab: Some(0),
                offset: fit.offsets[n],
                size: item.size,
                ..Item::default()
            });
        }
        scene::colour(&mut items);
        let name = |key: BufferKey| {
            let at = names.binary_search_by_key(&key.0, |(buffer, _)| *buffer).ok()?;
            Some(names[at].1.to_owned())
        };
        let bands =
            keys.iter().zip(&problem.items).zip(runs).zip(&items).map(|(((group, item), runs), drawn)| {
                Some(Band {
                    name: name(*group.first()?)?,
                    others: group.len() - 1,
                    size: item.size,
                    runs,
                    hue: drawn.hue,
                })
            });
        Some(Self {
            alignment,
            bands: bands.collect::<Option<_>>()?,
            alive,
            floor: aligned_peak_live_size(&events, 1).ok()?,
            merge: packer(Algorithm::FastMerge)?,
            split: packer(Algorithm::FastSplit)?,
            fit,
            problem,
        })
    }

    /// A band's name, and how many more buffers stand with it.
    pub fn label(&self, band: usize) -> String {
        let Some(b) = self.bands.get(band) else { return String::new() };
        match b.others {
            0 => b.name.clone(),
            1 => format!("{} and 1 more", b.name),
            n => format!("{} and {n} more", b.name),
        }
    }

    /// The packer that needs least: 0 for best fit, 1 for fast merge, 2 for fast split.
    pub fn lowest_packer(&self) -> usize {
        let heights = [self.fit.height, self.merge.height, self.split.height];
        (0..3).min_by_key(|n| heights[*n]).unwrap_or(0)
    }

    /// What the packers need, in a sentence.
    pub fn compared(&self) -> String {
        let said = |height| {
            let is_floor = height == self.floor;
            format!("{}{}", bytes(height), if is_floor { ", no more than is alive at once" } else { "" })
        };
        format!(
            "Best fit takes {}; fast merge {}; fast split {}.",
            said(self.fit.height),
            said(self.merge.height),
            said(self.split.height)
        )
    }

    /// Every band at addresses that no other ever has.
    pub fn apart(&self) -> Vec<u64> {
        let mut top = 0;
        let place = |b: &Band| {
            let at = top;
            top = (at + b.size).next_multiple_of(self.alignment);
            at
        };
        self.bands.iter().map(place).collect()
    }

    /// The highest offset at which a band can be put: above all others, if each had addresses of its own.
    pub fn ceiling(&self) -> u64 {
        self.bands.iter().map(|b| b.size.next_multiple_of(self.alignment)).sum()
    }

    /// The band to begin with: of those that reach the top of best fit's heap, the smallest.
    pub fn first_band(&self) -> usize {
        let tops = |n: &usize| self.fit.offsets[*n] + self.bands[*n].size == self.fit.height;
        (0..self.bands.len()).filter(tops).min_by_key(|n| self.bands[*n].size).unwrap_or(0)
    }
}

/// Time in columns: only moments after a beginning and before an end, because all that lives at another lives there, too.
/// Gives the bytes alive in each, and each item's columns.
fn columns(problem: &Problem) -> (Vec<u64>, Vec<Vec<(u32, u32)>>) {
    let mut changes: Vec<(u64, bool, usize)> = Vec::new();
    for (n, item) in problem.items.iter().enumerate() {
        for run in &item.runs {
            changes.push((run.start, true, n));
            changes.push((run.end, false, n));
        }
    }
    // What ends at a time is gone before anything begins at it.
    changes.sort_unstable();
    let mut runs: Vec<Vec<(u32, u32)>> = vec![Vec::new(); problem.items.len()];
    let mut alive = Vec::new();
    let (mut now, mut has_grown) = (0, false);
    for (_, begins, n) in changes {
        let size = problem.items[n].size;
        if begins {
            let column = alive.len() as u32;
            match runs[n].last_mut() {
                // Nothing happened in its pause.
                Some(last) if last.1 + 1 >= column => {}
                _ => runs[n].push((column, column)),
            }
            now += size;
            has_grown = true;
        } else {
            if has_grown {
                alive.push(now);
                has_grown = false;
            }
            now -= size;
            if let Some(last) = runs[n].last_mut() {
                last.1 = (alive.len() as u32).saturating_sub(1).max(last.0);
            }
        }
    }
    (alive, runs)
}

/// What the reader has made of a heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Game {
    /// The case.
    pub case: usize,
    /// The offset of each band.
    pub offsets: Vec<u64>,
    /// Was the optimum shown, so that this is no longer by hand alone?
    pub is_shown: bool,
}

/// How an arrangement stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The heap's size in bytes, if it is a packing.
    pub height: Option<u64>,
    /// Where the highest band ends.
    pub top: u64,
    /// The pairs that are alive together and have bytes in common.
    pub clashes: Vec<(usize, usize)>,
}

impl Game {
    /// A case as it is at first: packed by best fit.
    pub fn new(case: usize) -> Option<Self> {
        Some(Self { case, offsets: heap(case)?.fit.offsets.clone(), is_shown: false })
    }

    /// What a state has; at first, and where it says something that cannot be, best fit's packing.
    pub fn of(state: &State) -> Option<Self> {
        let case = state.word("heap").and_then(|id| CASES.iter().position(|c| c.id == id)).unwrap_or(0);
        let mut game = Self::new(case)?;
        let heap = game.heap()?;
        if let Some(at) = state.word("at") {
            let places: Option<Vec<u64>> =
                at.split('.').map(|n| n.parse::<u64>().ok()?.checked_mul(heap.alignment)).collect();
            if let Some(places) = places
                && places.len() == heap.bands.len()
                && places.iter().all(|o| *o <= heap.ceiling())
            {
                game.offsets = places;
                game.is_shown = state.number("shown") == Some(1);
            }
        }
        Some(game)
    }

    /// The state with this in it.
    #[must_use]
    pub fn put(&self, state: &State) -> State {
        let mut next = state.clone();
        for key in ["heap", "at", "shown"] {
            next.params.remove(key);
        }
        if self.case > 0 {
            next.params.insert("heap".to_owned(), CASES[self.case].id.into());
        }
        if let Some(heap) = self.heap()
            && heap.fit.offsets != self.offsets
        {
            let places: Vec<String> = self.offsets.iter().map(|o| (o / heap.alignment).to_string()).collect();
            next.params.insert("at".to_owned(), Param::Word(places.join(".")));
            if self.is_shown {
                next.params.insert("shown".to_owned(), 1.into());
            }
        }
        next
    }

    /// Its heap.
    pub fn heap(&self) -> Option<&'static Heap> {
        heap(self.case)
    }

    /// With these offsets in place of its own.
    #[must_use]
    pub fn with(&self, offsets: &[u64], is_shown: bool) -> Self {
        Self { case: self.case, offsets: offsets.to_vec(), is_shown }
    }

    /// With a band somewhere else: at a multiple of the alignment, and below the ceiling.
    #[must_use]
    pub fn moved(&self, band: usize, to: u64) -> Self {
        let mut next = self.clone();
        if let (Some(heap), Some(offset)) = (self.heap(), next.offsets.get_mut(band)) {
            let to = to.min(heap.ceiling());
            *offset = to - to % heap.alignment;
        }
        next
    }

    /// How it stands, as the engine has it.
    pub fn standing(&self) -> Standing {
        let Some(heap) = self.heap() else { return Standing { height: None, top: 0, clashes: Vec::new() } };
        let ends = self.offsets.iter().zip(&heap.bands).map(|(o, b)| o + b.size);
        Standing {
            height: heap.problem.height(&self.offsets),
            top: ends.max().unwrap_or(0),
            clashes: heap.problem.clashes(&self.offsets),
        }
    }

    /// Who a band would overlap at an offset.
    pub fn overlaps(&self, band: usize, at: u64) -> Vec<usize> {
        let there = self.moved(band, at);
        let other = |(a, b)| if a == band { Some(b) } else { (b == band).then_some(a) };
        there.standing().clashes.into_iter().filter_map(other).collect()
    }

    /// Where a band comes to stand on another that lives with it, or right below one, or on the bottom: in order.
    pub fn edges(&self, band: usize) -> Vec<u64> {
        let Some(heap) = self.heap() else { return Vec::new() };
        let (items, size) = (&heap.problem.items, heap.bands.get(band).map_or(0, |b| b.size));
        let mut out = vec![0];
        for (n, offset) in self.offsets.iter().enumerate() {
            if n != band && items.get(band).is_some_and(|i| i.meets(&items[n])) {
                out.push((offset + items[n].size).next_multiple_of(heap.alignment));
                if let Some(below) = offset.checked_sub(size) {
                    out.push(below - below % heap.alignment);
                }
            }
        }
        out.retain(|o| *o <= heap.ceiling());
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The edges at which a band would overlap nobody.
    pub fn free_edges(&self, band: usize) -> Vec<u64> {
        self.edges(band).into_iter().filter(|at| self.overlaps(band, *at).is_empty()).collect()
    }

    /// Where a band comes to rest that is let go at `to`: at an edge that is no further than `reach`, else right there.
    pub fn snapped(&self, band: usize, to: f64, reach: f64) -> u64 {
        let to = to.max(0.0);
        let far = |edge: &u64| (*edge as f64 - to).abs();
        let nearest = self.edges(band).into_iter().min_by(|a, b| far(a).total_cmp(&far(b)));
        if let Some(edge) = nearest.filter(|e| far(e) <= reach) {
            return edge;
        }
        let unit = self.heap().map_or(1, |h| h.alignment);
        (to / unit as f64).round() as u64 * unit
    }

    /// The next of some places above or below where a band is.
    pub fn next(&self, band: usize, places: &[u64], up: bool) -> Option<u64> {
        let now = *self.offsets.get(band)?;
        if up {
            places.iter().copied().find(|at| *at > now)
        } else {
            places.iter().rev().copied().find(|at| *at < now)
        }
    }

    /// Where a band is and whom it overlaps, for those who hear it.
    pub fn said(&self, band: usize) -> String {
        let (Some(heap), Some(offset)) = (self.heap(), self.offsets.get(band)) else { return String::new() };
        let (from, to) = (grouped(*offset), bytes(offset + heap.bands[band].size));
        let others: Vec<String> =
            self.overlaps(band, *offset).iter().map(|n| heap.bands[*n].name.clone()).collect();
        if others.is_empty() {
            format!("from {from} to {to}, free of others")
        } else {
            format!("from {from} to {to}, overlaps {}", others.join(", "))
        }
    }

    /// How it stands, in words; `best` is the optimum, once it is proved.
    pub fn sentence(&self, best: Option<u64>) -> String {
        let Some(heap) = self.heap() else { return String::new() };
        let standing = self.standing();
        let Some(height) = standing.height else {
            let named = standing.clashes.iter().take(2).map(|(a, b)| {
                let end = |n: usize| self.offsets[n] + heap.bands[n].size;
                let (from, to) = (self.offsets[*a].max(self.offsets[*b]), end(*a).min(end(*b)));
                format!(
                    "{} and {} are alive together and both have {} at {}",
                    heap.bands[*a].name,
                    heap.bands[*b].name,
                    bytes(to - from),
                    grouped(from)
                )
            });
            let named: Vec<String> = named.collect();
            let rest = match standing.clashes.len().saturating_sub(2) {
                0 => String::new(),
                1 => "; and 1 pair more".to_owned(),
                n => format!("; and {n} pairs more"),
            };
            return format!("This is no packing: {}{rest}.", named.join("; "));
        };
        let mut out = format!("The heap takes {}", bytes(height));
        let fit = heap.fit.height;
        _ = match height.cmp(&fit) {
            _ if self.offsets == heap.fit.offsets => write!(out, ", as best fit packs it"),
            std::cmp::Ordering::Equal => write!(out, ", as much as best fit's"),
            std::cmp::Ordering::Less => write!(out, ", {} less than best fit's", bytes(fit - height)),
            std::cmp::Ordering::Greater => write!(out, ", {} more than best fit's", bytes(height - fit)),
        };
        match best {
            Some(best) if height <= best => out.push_str(". This is the optimum: no packing is smaller."),
            Some(best) => _ = write!(out, ". {} could be saved.", bytes(height - best)),
            None => out.push('.'),
        }
        out
    }

    /// The largest band that is elsewhere than in a packing `best`; the one after `than`, if that is one of them.
    pub fn hint(&self, best: &[u64], than: Option<usize>) -> Option<usize> {
        let heap = self.heap()?;
        let is_elsewhere = |n: &usize| best.get(*n) != self.offsets.get(*n);
        let mut order: Vec<usize> = (0..heap.bands.len()).filter(is_elsewhere).collect();
        order.sort_by_key(|n| (std::cmp::Reverse(heap.bands[*n].size), *n));
        let after = than.and_then(|t| order.iter().position(|n| *n == t)).map_or(0, |at| at + 1);
        order.get(after).or(order.first()).copied()
    }

    /// What there is to be said of the goal: is it reached, and how things stand.
    pub fn verdict(&self, best: Option<u64>) -> (bool, String) {
        let (standing, said) = (self.standing(), self.sentence(best));
        let is_reached = standing.height.is_some() && best.is_some() && standing.height <= best;
        if is_reached && self.is_shown {
            return (false, format!("{said} But it was shown, and not packed by hand."));
        }
        (is_reached, said)
    }
}

/// What a packer is called beside the others.
pub fn name(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::BestOfSpatialTemporal => "Best fit, the better of two orders",
        Algorithm::Spatial => "Best fit, largest first (spatial): XLA's choice of two",
        Algorithm::Temporal => "Best fit, longest-lived first (temporal): XLA's choice of two",
        Algorithm::FastMerge => "Fast merge",
        Algorithm::FastSplit => "Fast split",
    }
}

/// A height against another, in per cent with one digit; "the same" if it is no higher or lower.
pub fn above(height: u64, best: u64) -> String {
    let tenths = (u128::from(height.abs_diff(best)) * 1000 + u128::from(best) / 2) / u128::from(best.max(1));
    match height.cmp(&best) {
        std::cmp::Ordering::Equal => "the same".to_owned(),
        std::cmp::Ordering::Greater => format!("+{}.{} %", tenths / 10, tenths % 10),
        std::cmp::Ordering::Less => format!("−{}.{} %", tenths / 10, tenths % 10),
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::engine::open;
    use crate::optimum::Search;
    use crate::state::Source;
    use analysis::ValueId;
    use flate2::read::GzDecoder;
    use proptest::prelude::*;
    use std::io::Read as _;

    fn solved(case: usize) -> Vec<u64> {
        let heap = heap(case).expect("it can be read");
        let mut search = Search::of_one(&heap.problem, heap.fit.height).expect("a search");
        while search.go_on(&mut |_| true) {}
        assert!(search.found().is_proved(), "{case}");
        search.outcome().expect("one heap").offsets
    }

    /// The files of the compiled programs' heaps. `UPDATE=1 cargo test -p bufferscope-web` writes them anew.
    #[test]
    fn the_heaps_are_those_of_the_golden_modules() {
        for case in CASES {
            let Some(module) = case.module else { continue };
            let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
            let packed = std::fs::read(format!("{root}/crates/dumps/tests/golden/{module}/module.txt.gz"));
            let mut text = String::new();
            GzDecoder::new(packed.expect("it is there").as_slice()).read_to_string(&mut text).expect("text");
            let opened = open(&text).expect("it can be read");
            let heaps = &opened.original.assignment.heaps;
            assert_eq!(heaps.len(), 1, "{module}");
            let name = |n| opened.facts.label(&opened.module, ValueId(n));
            let written = write(heaps[0].options.alignment, &heaps[0].events, name);
            let path = format!("{root}/assets/heaps/{}.txt", case.id);
            if std::env::var_os("UPDATE").is_some() {
                std::fs::write(path, written).expect("the file can be written");
            } else {
                assert_eq!(case.events, written, "{module}: UPDATE=1 writes it anew");
            }
        }
    }

    #[test]
    fn best_fit_loses_on_each_and_the_optimum_is_proved() {
        let mut seen = String::new();
        for (n, case) in CASES.iter().enumerate() {
            let heap = heap(n).expect("it can be read");
            let best = solved(n);
            let height = heap.problem.height(&best).expect("a packing");
            assert!(heap.floor <= height && height < heap.fit.height, "{}", case.id);
            for p in [&heap.fit, &heap.merge, &heap.split] {
                assert_eq!(heap.problem.height(&p.offsets), Some(p.height), "{} {}", case.id, p.algorithm);
            }
            _ = writeln!(
                seen,
                "{}: {} bands, {} columns, alive {}, optimum {height}, {} {}, merge {}, split {}",
                case.id,
                heap.bands.len(),
                heap.alive.len(),
                heap.floor,
                heap.fit.algorithm,
                heap.fit.height,
                heap.merge.height,
                heap.split.height
            );
        }
        assert_eq!(
            seen,
            "\
small: 6 bands, 4 columns, alive 15360, optimum 15360, spatial 22528, merge 22528, split 22528
conv: 11 bands, 6 columns, alive 1097728, optimum 1097728, temporal 1116160, merge 1097728, split 1228800
adam: 14 bands, 7 columns, alive 41472, optimum 41472, spatial 46080, merge 50688, split 46080
slices: 25 bands, 13 columns, alive 22316, optimum 22660, spatial 25028, merge 25048, split 25028
"
        );
    }

    /// What the browser tests expect of the page. `UPDATE=1 cargo test -p bufferscope-web` writes it anew.
    #[test]
    fn the_page_is_expected_to_show_what_is_computed_here() {
        let line = |(n, case): (usize, &Case)| {
            let heap = heap(n).expect("it can be read");
            let best = solved(n);
            serde_json::json!({
                "id": case.id,
                "names": heap.bands.iter().map(|b| &b.name).collect::<Vec<_>>(),
                "floor": heap.floor,
                "best": heap.problem.height(&best),
                "fit": heap.fit.height,
                "merge": heap.merge.height,
                "split": heap.split.height,
                "fitOffsets": heap.fit.offsets,
                "bestOffsets": best,
            })
            .to_string()
        };
        let lines: Vec<String> = CASES.iter().enumerate().map(line).collect();
        let text = format!("[\n{}\n]\n", lines.join(",\n"));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/by-hand.json");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, text).expect("the file can be written");
        } else {
            assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text, "UPDATE=1 writes it anew");
        }
    }

    #[test]
    fn the_fastest_packer_is_the_best_one_once() {
        let heap = heap(1).expect("it can be read");
        assert_eq!(heap.lowest_packer(), 1);
        assert_eq!(
            heap.compared(),
            "Best fit takes 1,116,160 B; fast merge 1,097,728 B, no more than is alive at once; fast split 1,228,800 B."
        );
    }

    #[test]
    fn columns_tell_who_lives_together() {
        for n in 0..CASES.len() {
            let heap = heap(n).expect("it can be read");
            assert_eq!(heap.alive.iter().max(), Some(&heap.floor));
            for (i, a) in heap.bands.iter().enumerate() {
                assert!(a.runs.iter().all(|(from, to)| from <= to && (*to as usize) < heap.alive.len()));
                for (j, b) in heap.bands.iter().enumerate().skip(i + 1) {
                    let share = a.runs.iter().any(|x| b.runs.iter().any(|y| x.0 <= y.1 && y.0 <= x.1));
                    assert_eq!(share, heap.problem.items[i].meets(&heap.problem.items[j]), "{i} {j} of {n}");
                }
            }
            let sum = |column: u32| -> u64 {
                let lives = |b: &&Band| b.runs.iter().any(|(from, to)| (*from..=*to).contains(&column));
                heap.bands.iter().filter(lives).map(|b| b.size).sum()
            };
            for (column, alive) in heap.alive.iter().enumerate() {
                assert_eq!(sum(column as u32), *alive, "column {column} of {n}");
            }
        }
    }

    #[test]
    fn the_small_one_by_hand() {
        let game = Game::new(0).expect("a heap");
        assert_eq!(game.sentence(None), "The heap takes 22,528 B, as best fit packs it.");
        let at = |k: &[u64]| k.iter().map(|n| n * 1024).collect::<Vec<_>>();
        // b beside a, c opposite to a, d beside c.
        let best = game.with(&at(&[0, 7, 8, 0, 0, 3]), false);
        assert_eq!(
            best.verdict(Some(15360)),
            (true, "The heap takes 15,360 B, 7,168 B less than best fit's. This is the optimum: no packing is smaller.".to_owned())
        );
        assert!(!best.with(&best.offsets, true).verdict(Some(15360)).0, "shown is not packed");
        assert!(!best.verdict(None).0, "while the optimum is not known there is no goal");
        let wrong = best.moved(1, 0);
        assert_eq!(
            wrong.verdict(Some(15360)),
            (false, "This is no packing: a and b are alive together and both have 7,168 B at 0.".to_owned())
        );
        assert_eq!(wrong.said(1), "from 0 to 8,192 B, overlaps a");
        assert_eq!(best.said(1), "from 7,168 to 15,360 B, free of others");
        // a lives with b and c only: on each, and below c.
        assert_eq!(best.edges(0), at(&[0, 1, 15]));
        assert_eq!(best.free_edges(0), at(&[0, 15]));
        assert_eq!(best.next(0, &best.free_edges(0), true), Some(15360));
        assert_eq!(best.next(0, &best.free_edges(0), false), None);
        assert_eq!(best.snapped(0, 800.0, 300.0), 1024);
        assert_eq!(best.snapped(0, 500.0, 100.0), 512);
        assert_eq!(best.snapped(0, -500.0, 100.0), 0);
        assert_eq!(best.moved(0, 100).offsets[0], 64);
        assert_eq!(best.moved(0, u64::MAX).offsets[0], game.heap().expect("a heap").ceiling());
    }

    #[test]
    fn hints_lead_to_an_optimum_band_by_band() {
        for n in 0..CASES.len() {
            let best = solved(n);
            let mut game = Game::new(n).expect("a heap");
            let mut count = 0;
            while let Some(band) = game.hint(&best, None) {
                assert_ne!(game.offsets[band], best[band]);
                game = game.moved(band, best[band]);
                count += 1;
                assert!(count <= best.len());
            }
            assert_eq!(game.offsets, best);
            let height = game.heap().and_then(|h| h.problem.height(&best));
            assert!(game.verdict(height).0, "{n}");
        }
    }

    #[test]
    fn apart_is_a_packing_and_as_high_as_the_ceiling_allows() {
        for n in 0..CASES.len() {
            let heap = heap(n).expect("it can be read");
            let height = heap.problem.height(&heap.apart()).expect("a packing");
            assert!(height > heap.fit.height && height <= heap.ceiling(), "{n}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn every_arrangement_comes_back_from_the_address(
            case in 0..CASES.len(),
            moves in prop::collection::vec((0_usize..50, any::<u32>()), 0..12),
            is_shown: bool,
        ) {
            let first = State::new(Source::Shipped("attention_grad".to_owned()));
            let mut game = Game::new(case).expect("a heap");
            for (band, to) in moves {
                game = game.moved(band, u64::from(to));
            }
            game.is_shown = is_shown && game.offsets != game.heap().expect("a heap").fit.offsets;
            let state = State::decode(&game.put(&first).encode()).expect("what was encoded");
            let back = Game::of(&state);
            prop_assert_eq!(back.as_ref(), Some(&game));
            // It has a height, or pairs that are named.
            let standing = game.standing();
            prop_assert_eq!(standing.height.is_none(), !standing.clashes.is_empty());
            prop_assert!(!game.sentence(None).is_empty());
        }

        #[test]
        fn nothing_in_an_address_breaks_it(at in ".{0,60}", heap in ".{0,8}", shown: i64) {
            let state = State::new(Source::Shipped("attention_grad".to_owned()))
                .with_param("at", at.as_str())
                .with_param("heap", heap.as_str())
                .with_param("shown", shown);
            let game = Game::of(&state).expect("a heap");
            prop_assert_eq!(game.offsets.len(), game.heap().expect("a heap").bands.len());
        }

        #[test]
        fn every_free_place_can_be_reached(case in 0..CASES.len(), band in 0_usize..50, to in any::<u16>()) {
            let game = Game::new(case).expect("a heap");
            let band = band % game.offsets.len();
            let heap = game.heap().expect("a heap");
            let to = u64::from(to).min(heap.ceiling() / heap.alignment) * heap.alignment;
            // Without reach nothing snaps: a place that is asked for is the place that is taken.
            prop_assert_eq!(game.moved(band, game.snapped(band, to as f64, 0.0)).offsets[band], to);
            for at in game.free_edges(band) {
                let there = game.moved(band, at);
                prop_assert!(there.standing().height.is_some(), "{band} at {at}");
            }
        }
    }
}
