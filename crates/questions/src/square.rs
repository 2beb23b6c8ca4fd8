//! Dimensions that stand in a shape twice: what grows with the square of a sequence's length, guessed from shapes.

use crate::copies::argument_copied;
use crate::peak::{Slot, SpacePeak};
use crate::study::{Role, Row, Study};
use std::collections::{BTreeMap, BTreeSet};

/// A dimension that a shape has more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RepeatedDimension {
    /// Its size.
    pub size: u64,
    /// How often it is there: 2 or more.
    pub times: u32,
}

/// Smaller dimensions repeat by chance, as those of a filter do.
const LEAST: u64 = 16;

/// The dimensions in a shape's text; none for a tuple.
fn dimensions(shape: &str) -> Vec<u64> {
    if shape.starts_with('(') {
        return Vec::new();
    }
    let inner = shape.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(d, _)| d);
    inner.split(',').filter_map(|d| d.trim().trim_start_matches("<=").parse().ok()).collect()
}

/// The dimension that a shape repeats, if it repeats one: of several, the one that makes most of it.
///
/// ```
/// let found = questions::repeated("bf16[8,16,4096,4096]{3,2,1,0}").expect("a square");
/// assert_eq!((found.size, found.times), (4096, 2));
/// assert_eq!(questions::repeated("bf16[8,4096,1024]"), None);
/// ```
#[must_use]
pub fn repeated(shape: &str) -> Option<RepeatedDimension> {
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    for d in dimensions(shape).into_iter().filter(|d| *d >= LEAST) {
        *counts.entry(d).or_default() += 1;
    }
    let all = counts.into_iter().filter(|(_, times)| *times > 1);
    all.max_by_key(|(size, times)| (size.saturating_pow(*times), *size))
        .map(|(size, times)| RepeatedDimension { size, times })
}

impl RepeatedDimension {
    /// `two dimensions of 4096`
    #[must_use]
    pub fn words(self) -> String {
        let times = match self.times {
            2 => "two".to_owned(),
            3 => "three".to_owned(),
            n => n.to_string(),
        };
        format!("{times} dimensions of {}", self.size)
    }

    /// `its square`
    #[must_use]
    pub fn power(self) -> String {
        match self.times {
            2 => "its square".to_owned(),
            3 => "its cube".to_owned(),
            n => format!("its {n}th power"),
        }
    }
}

/// Values that are taken at a peak and repeat one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growing {
    /// The dimension.
    pub dimension: RepeatedDimension,
    /// Their bytes.
    pub bytes: u64,
    /// Their shapes without layout, the one with most bytes first.
    pub shapes: Vec<String>,
    /// The values: indices into [`Study::rows`].
    pub rows: Vec<usize>,
}

impl Growing {
    /// The dimension that a value at the peak repeats, if it is one of those that were found.
    #[must_use]
    pub fn of(found: &[Self], row: usize) -> Option<RepeatedDimension> {
        found.iter().find(|g| g.rows.contains(&row)).map(|g| g.dimension)
    }
}

/// Is a value an argument as a whole, copied or converted?
fn is_argument(study: &Study, row: &Row) -> bool {
    let found = study.program.as_ref().zip(row.value).and_then(|(p, value)| {
        let at = p.facts.value(value).defined_at();
        argument_copied(&p.module, at.instruction, at.sub)
    });
    found.is_some()
}

/// What at a memory space's peak repeats a dimension, the most bytes first. A matrix of the shape of an argument is left out, and
/// so is an argument that was copied or converted: that is more likely a weight, or its gradient.
#[must_use]
pub fn growing(study: &Study, space: &SpacePeak) -> Vec<Growing> {
    let of_arguments: BTreeSet<Vec<u64>> = study
        .rows
        .iter()
        .filter(|r| study.slab(r).role == Role::Argument)
        .map(|r| dimensions(&r.shape))
        .collect();
    let mut found: BTreeMap<RepeatedDimension, Vec<&Slot>> = BTreeMap::new();
    for slot in &space.slots {
        let row = slot.row(study);
        let shape = &row.shape;
        let Some(dimension) = repeated(shape) else { continue };
        // A weight in other elements or another order is one all the same.
        if slot.rows.iter().any(|r| is_argument(study, &study.rows[*r])) {
            continue;
        }
        let all = dimensions(shape);
        if all.len() > 2 || !of_arguments.contains(&all) {
            found.entry(dimension).or_default().push(slot);
        }
    }
    let mut out: Vec<Growing> = found
        .into_iter()
        .map(|(dimension, slots)| {
            let mut by_shape: BTreeMap<String, u64> = BTreeMap::new();
            for slot in &slots {
                let bytes = by_shape.entry(crate::notes::short(&slot.row(study).shape)).or_default();
                *bytes = bytes.saturating_add(slot.size);
            }
            let mut shapes: Vec<(String, u64)> = by_shape.into_iter().collect();
            shapes.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
            Growing {
                dimension,
                bytes: crate::peak::sum(slots.iter().map(|s| s.size)),
                shapes: shapes.into_iter().map(|(shape, _)| shape).collect(),
                rows: slots.iter().map(|s| s.rows[0]).collect(),
            }
        })
        .collect();
    out.sort_by_key(|g| std::cmp::Reverse(g.bytes));
    out
}
