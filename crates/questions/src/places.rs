//! Where most of what is alive comes from: the source lines, functions and scopes of the program.

use crate::origin::{common_numbers, without_numbers};
use crate::peak::{Slot, SpacePeak, sum};
use crate::study::{Row, Study, space_name};
use assigner::words::{both, grouped};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Values that come from one place of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The function, if the module has a table of them and all values are of one; else empty.
    pub function: String,
    /// The scope of at least half of the bytes, without what transformations wrap around it, with `*` for numbers that
    /// differ; empty if there is none.
    pub scope: String,
    /// The source lines: `file.py:3`, `file.py:19–20`, or how many places there are; empty if none is known.
    pub lines: String,
    /// Bytes of the values.
    pub bytes: u64,
    /// The slots that they are in: indices into those that were asked about.
    pub slots: Vec<usize>,
}

impl Place {
    /// `loss, log_softmax (train.py:19–20)`, `attention (model.py:7)`, `train.py:19`.
    #[must_use]
    pub fn name(&self) -> String {
        let names: Vec<&str> =
            [&*self.function, &*self.scope].into_iter().filter(|name| !name.is_empty()).collect();
        let names = names.join(", ");
        match (names.is_empty(), self.lines.is_empty()) {
            (true, _) => self.lines.clone(),
            (false, true) => names,
            (false, false) => format!("{names} ({})", self.lines),
        }
    }
}

/// The values of slots by where they come from, the most bytes first; those of which nothing is known are left out. That is by
/// source line, each of the lines with most bytes together with its neighbours in the same function; but by scope where that
/// tells values apart and lines do not, as where all layers are one line of a library.
#[must_use]
pub fn places(study: &Study, slots: &[Slot]) -> Vec<Place> {
    let whole = sum(slots.iter().map(|s| s.size));
    let all = [by_line(study, slots), by_scope(study, slots)];
    let known = |places: &[Place]| sum(places.iter().map(|p| p.bytes));
    let tells = |places: &[Place]| known(places).saturating_mul(2) >= whole && !places.is_empty();
    let tells_apart = |places: &[Place]| {
        tells(places)
            && places.first().is_some_and(|p| p.bytes.saturating_mul(10) < known(places).saturating_mul(9))
    };
    let best = all.iter().position(|p| tells_apart(p)).or_else(|| all.iter().position(|p| tells(p)));
    let best = best.or_else(|| all.iter().position(|p| !p.is_empty())).unwrap_or(0);
    all.into_iter().nth(best).unwrap_or_default()
}

/// Each source line with its neighbours, the lines with most bytes first.
fn by_line(study: &Study, slots: &[Slot]) -> Vec<Place> {
    // By file and function: the slots of each line.
    let mut lines: FxHashMap<(&str, &str), BTreeMap<u32, Vec<usize>>> = FxHashMap::default();
    for (n, slot) in slots.iter().enumerate() {
        let origin = &slot.row(study).origin;
        if let Some((file, line)) = &origin.source {
            lines.entry((file, &origin.function)).or_default().entry(*line).or_default().push(n);
        }
    }
    let bytes = |of: &[usize]| sum(of.iter().map(|n| slots[*n].size));
    let mut out = Vec::new();
    for mut lines in lines.into_values() {
        let mut heaviest: Vec<u32> = lines.keys().copied().collect();
        heaviest.sort_by_key(|l| (std::cmp::Reverse(bytes(&lines[l])), *l));
        for line in heaviest {
            let Some(mut of) = lines.remove(&line) else { continue };
            for beside in [line.checked_sub(1), line.checked_add(1)].into_iter().flatten() {
                of.extend(lines.remove(&beside).into_iter().flatten());
            }
            of.sort_unstable();
            out.push(place(study, slots, of));
        }
    }
    sorted(out)
}

fn by_scope(study: &Study, slots: &[Slot]) -> Vec<Place> {
    let mut scopes: FxHashMap<String, Vec<usize>> = FxHashMap::default();
    for (n, slot) in slots.iter().enumerate() {
        let scope = slot.row(study).origin.place().join("/");
        if !scope.is_empty() {
            scopes.entry(without_numbers(&scope)).or_default().push(n);
        }
    }
    sorted(scopes.into_values().map(|of| place(study, slots, of)).collect())
}

fn sorted(mut places: Vec<Place>) -> Vec<Place> {
    places.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.slots.cmp(&b.slots)));
    places
}

fn place(study: &Study, slots: &[Slot], of: Vec<usize>) -> Place {
    let rows: Vec<&Row> = of.iter().map(|n| slots[*n].row(study)).collect();
    let bytes = sum(of.iter().map(|n| slots[*n].size));
    let mut scopes: FxHashMap<String, (u64, Vec<&Row>)> = FxHashMap::default();
    for (n, row) in of.iter().zip(&rows) {
        let scope = scopes.entry(without_numbers(&row.origin.place().join("/"))).or_default();
        scope.0 = scope.0.saturating_add(slots[*n].size);
        scope.1.push(row);
    }
    let most = scopes.values().find(|s| s.0.saturating_mul(2) > bytes);
    let function = &rows[0].origin.function;
    Place {
        function: if rows.iter().all(|r| r.origin.function == *function) {
            function.clone()
        } else {
            String::new()
        },
        scope: most.map_or_else(String::new, |(_, rows)| common_scope(rows)),
        lines: common_lines(&rows),
        bytes,
        slots: of,
    }
}

/// The scope of all of these values, with `*` for numbers that differ; the part that all have in common where they differ
/// otherwise. Empty if there is none.
#[must_use]
pub fn common_scope(rows: &[&Row]) -> String {
    let mut common: Option<Vec<String>> = None;
    for row in rows {
        let own = row.origin.place();
        common = Some(match common {
            None => own.into_iter().map(str::to_owned).collect(),
            Some(common) => common
                .iter()
                .zip(own)
                .map_while(|(a, b)| (without_numbers(a) == without_numbers(b)).then(|| common_numbers(a, b)))
                .collect(),
        });
    }
    common.unwrap_or_default().join("/")
}

/// Stretches of lines that are named one by one.
const MOST_STRETCHES: usize = 3;

/// The source lines of these values: `file.py:3`, `file.py:19–20, 31`; of several files, or of many lines, how many places
/// there are. Empty if none is known.
#[must_use]
pub fn common_lines(rows: &[&Row]) -> String {
    let mut lines: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for (file, line) in rows.iter().filter_map(|r| r.origin.source.as_ref()) {
        lines.entry(file).or_default().insert(*line);
    }
    let count = lines.values().map(BTreeSet::len).sum::<usize>();
    let mut files = lines.into_iter();
    let (Some((file, lines)), None) = (files.next(), files.next()) else {
        return if count == 0 { String::new() } else { format!("{count} places") };
    };
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let mut stretches: Vec<(u32, u32)> = Vec::new();
    for line in lines.into_iter().filter(|l| *l > 0) {
        match stretches.last_mut().filter(|s| s.1 + 1 >= line) {
            Some(stretch) => stretch.1 = line,
            None => stretches.push((line, line)),
        }
    }
    if stretches.is_empty() {
        return file.to_owned();
    }
    if stretches.len() > MOST_STRETCHES {
        let (first, last) = (stretches[0].0, stretches[stretches.len() - 1].1);
        return format!("{file}:{first}–{last}");
    }
    let stretches: Vec<String> = stretches
        .iter()
        .map(|(from, to)| if from == to { from.to_string() } else { format!("{from}–{to}") })
        .collect();
    format!("{file}:{}", stretches.join(","))
}

/// A place is worth a sentence if it has so much of what is alive, in hundredths.
const WORTH: u64 = 10;

/// The place that most of what is alive at a peak comes from: in a sentence or two, and as it is. `None` if of most values it
/// is not known where they come from, or if they come from many places alike.
#[must_use]
pub fn largest_place(study: &Study, space: &SpacePeak) -> Option<(String, Place)> {
    let mut found = places(study, &space.slots);
    let rest = found.split_off(found.len().min(1));
    let first = found.pop()?;
    let known = sum(rest.iter().map(|p| p.bytes)).saturating_add(first.bytes);
    if first.bytes.saturating_mul(100) < space.live.saturating_mul(WORTH)
        || known.saturating_mul(2) < space.live
    {
        return None;
    }
    let percent = |n: u64| format!("{:.0} %", n as f64 * 100.0 / space.live.max(1) as f64);
    let mut words = format!(
        "The place that holds most at the peak of memory space {} is {}: {} in {}, {} of what is alive.",
        space_name(study, space.color),
        first.name(),
        both(first.bytes),
        values(first.slots.len()),
        percent(first.bytes)
    );
    let next: Vec<String> = rest
        .iter()
        .take(2)
        .filter(|p| p.bytes.saturating_mul(100) >= space.live.saturating_mul(WORTH))
        .map(|p| format!("{} {}", p.name(), percent(p.bytes)))
        .collect();
    if !next.is_empty() {
        _ = write!(words, " Next: {}.", next.join(", "));
    }
    Some((words, first))
}

fn values(n: usize) -> String {
    if n == 1 { "1 value".to_owned() } else { format!("{} values", grouped(n as u64)) }
}
