//! Why two values do or do not share, beside XLA's own places where a dump tells them.

use crate::study::{Row, Source, Study};
use analysis::ValueId;
use assigner::explain::{Explanation, explain};
use assigner::words::{self, bytes, grouped};
use std::fmt::Write as _;

/// Two values, the reason that our own assignment gives, and where they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// What our own run of the rules says; its places are ours.
    pub ours: Explanation,
    /// Where XLA's own assignment has them: indices into [`Study::rows`]. `None` if there is no dump.
    pub theirs: Option<[Option<usize>; 2]>,
    /// Do they stand on the same bytes, at least in part: in XLA's own assignment if that is there, else in ours?
    pub shares: bool,
    /// How many bytes they have in common there.
    pub common_bytes: u64,
}

/// Explains two values; `None` without a program, or without an assignment of ours.
#[must_use]
pub fn pair(study: &Study, values: [ValueId; 2]) -> Option<Pair> {
    let program = study.program.as_ref()?;
    let (assignment, decisions) = study.ours.as_ref()?;
    let facts = &program.facts;
    let ours = explain(&program.module, facts, &facts.ranges, (assignment, decisions), values);
    if study.source == Source::Ours {
        let (shares, common_bytes) = (ours.shares(), ours.common_bytes);
        return Some(Pair { ours, theirs: None, shares, common_bytes });
    }
    let theirs = values.map(|v| study.row_of(v));
    let common_bytes = match theirs.map(|r| r.map(|r| &study.rows[r])) {
        [Some(a), Some(b)] => common(a, b),
        _ => 0,
    };
    // Values of no bytes share if they must.
    let shares = common_bytes > 0 || ours.shares() && ours.common_bytes == 0;
    Some(Pair { ours, theirs: Some(theirs), shares, common_bytes })
}

/// How many bytes two values of one assignment have in common.
#[must_use]
pub fn common(a: &Row, b: &Row) -> u64 {
    let end = |r: &Row| r.offset.saturating_add(r.size);
    if a.slab == b.slab { end(a).min(end(b)).saturating_sub(a.offset.max(b.offset)) } else { 0 }
}

/// Where a value stands and when, as the table has it: `256 B at 0 of allocation 11, steps 17 to 20`.
#[must_use]
pub fn place_of(study: &Study, row: &Row) -> String {
    let place =
        format!("{} at {} of allocation {}", bytes(row.size), grouped(row.offset), study.slab(row).number);
    match row.range {
        Some((from, to)) if from == to => format!("{place}, step {from}"),
        Some((from, to)) => format!("{place}, steps {from} to {to}"),
        None => place,
    }
}

/// Where our own assignment has a value, if that is another place than XLA's: `256 B at 64 of our allocation 5`.
/// `None` if the table is ours, or if the place in its allocation is the same.
#[must_use]
pub fn our_place(study: &Study, value: ValueId) -> Option<String> {
    if study.source == Source::Ours {
        return None;
    }
    let (assignment, _) = study.ours.as_ref()?;
    let row = study.row_of(value).map(|r| &study.rows[r]);
    match (assignment.place(value), row) {
        (None, None) => None,
        (Some((_, p)), Some(row)) if (p.offset, p.size) == (row.offset, row.size) => None,
        (Some((a, p)), _) => {
            Some(format!("{} at {} of our allocation {}", bytes(p.size), grouped(p.offset), a.0))
        }
        (None, Some(_)) => Some("nowhere".to_owned()),
    }
}

impl Pair {
    /// The answer and the reason. Whatever is of our own assignment and not of XLA's is said to be ours.
    #[must_use]
    pub fn words(&self, study: &Study) -> String {
        let Some(program) = &study.program else { return String::new() };
        let (module, facts) = (&program.module, &program.facts);
        let ours = words::explanation(module, facts, &self.ours);
        if self.theirs.is_none() {
            return ours;
        }
        let [a, b] = self.ours.values.map(|v| facts.label(module, v));
        let mut out = if (self.shares, self.common_bytes) == (self.ours.shares(), self.ours.common_bytes) {
            ours
        } else if self.shares {
            format!(
                "In XLA's own assignment {a} and {b} share {}. In ours it is otherwise: {ours}",
                bytes(self.common_bytes)
            )
        } else {
            format!("In XLA's own assignment {a} and {b} do not share. In ours it is otherwise: {ours}")
        };
        let elsewhere: Vec<String> = (self.ours.values.into_iter().zip([a, b]))
            .filter_map(|(v, name)| Some(format!("{name}, {}", our_place(study, v)?)))
            .collect();
        if !elsewhere.is_empty() {
            _ = write!(
                out,
                " The reason is of our own assignment, where other places are given: {}.",
                elsewhere.join("; ")
            );
        }
        out
    }

    /// Where each of the two stands, a line each: in XLA's own assignment if that is there, else in ours.
    #[must_use]
    pub fn places(&self, study: &Study) -> [String; 2] {
        [0, 1].map(|i| {
            let name = study
                .program
                .as_ref()
                .map(|p| p.facts.label(&p.module, self.ours.values[i]))
                .unwrap_or_default();
            let place = match self.theirs {
                None => words::place_words(self.ours.places[i], self.ours.ranges[i]),
                Some(rows) => match rows[i] {
                    Some(row) => place_of(study, &study.rows[row]),
                    None => words::place_words(None, self.ours.ranges[i]),
                },
            };
            format!("{name}: {place}")
        })
    }
}
