//! XLA's own assignment beside ours of the same program.

use crate::study::{Role, Source, Study};
use assigner::words::{both, difference, grouped, list};
use rustc_hash::FxHashMap;

/// What differs between the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rerun {
    /// Values that stand in the same place in both.
    pub same: usize,
    /// Values that do not.
    pub moved: Vec<Moved>,
    /// Values whose live range is another one in XLA's file than the program gives: indices into [`Study::rows`].
    pub ranges: Vec<usize>,
    /// Bytes of all allocations, XLA's and ours.
    pub total: (u64, u64),
    /// Bytes of the temporaries, XLA's and ours.
    pub temp: (u64, u64),
    /// Were XLA's internal orders known, from the protocol buffer?
    pub exact: bool,
}

/// A value that stands in another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The value, with XLA's place: an index into [`Study::rows`].
    pub row: usize,
    /// Our place: allocation, offset and size; `None` if the value has none.
    pub ours: Option<(u32, u64, u64)>,
}

/// Compares XLA's assignment with ours; `None` if one of the two is not there.
#[must_use]
pub fn rerun(study: &Study) -> Option<Rerun> {
    let (ours, _) = study.ours.as_ref().filter(|_| study.source == Source::Dump)?;
    let program = study.program.as_ref()?;
    let place = |row: &crate::Row| ours.place(row.value?);
    // Allocations are numbered anew by each side: those are the same that have most values in common.
    let mut votes: FxHashMap<(usize, u32), usize> = FxHashMap::default();
    for row in &study.rows {
        if let Some((a, _)) = place(row) {
            *votes.entry((row.slab, a.0)).or_default() += 1;
        }
    }
    let mut votes: Vec<((usize, u32), usize)> = votes.into_iter().collect();
    votes.sort_by_key(|(pair, n)| (std::cmp::Reverse(*n), *pair));
    let mut twin: FxHashMap<usize, u32> = FxHashMap::default();
    let mut taken: FxHashMap<u32, usize> = FxHashMap::default();
    for ((slab, a), _) in votes {
        if !twin.contains_key(&slab) && !taken.contains_key(&a) {
            twin.insert(slab, a);
            taken.insert(a, slab);
        }
    }
    let mut out = Rerun {
        same: 0,
        moved: Vec::new(),
        ranges: Vec::new(),
        total: (crate::peak::sum(study.slabs.iter().map(|s| s.size)), ours.total_bytes()),
        temp: (
            crate::peak::sum(study.slabs.iter().filter(|s| s.role == Role::Temp).map(|s| s.size)),
            ours.temp_bytes(),
        ),
        exact: program.facts.orders.exact,
    };
    for (i, row) in study.rows.iter().enumerate() {
        let here = place(row);
        let range = row.value.and_then(|v| program.facts.ranges.get(v)).map(|r| (r.start.0, r.end.0));
        if row.range.is_some() && range.is_some() && row.range != range {
            out.ranges.push(i);
        }
        let is_same = here.is_some_and(|(a, p)| {
            twin.get(&row.slab) == Some(&a.0) && (p.offset, p.size) == (row.offset, row.size)
        });
        if is_same {
            out.same += 1;
        } else {
            out.moved.push(Moved { row: i, ours: here.map(|(a, p)| (a.0, p.offset, p.size)) });
        }
    }
    Some(out)
}

impl Rerun {
    /// In a sentence or two.
    #[must_use]
    pub fn words(&self, study: &Study) -> String {
        let ranges: Vec<String> = self.ranges.iter().map(|i| study.rows[*i].name.to_string()).collect();
        let places = self.place_words(study);
        if ranges.is_empty() {
            return places;
        }
        format!("{places} The live ranges of {} differ from those that the program gives.", list(&ranges, 4))
    }

    fn place_words(&self, study: &Study) -> String {
        if self.moved.is_empty() && self.total.0 == self.total.1 {
            return format!(
                "Our assignment is XLA's: all {} values stand in the same place.",
                grouped(self.same as u64)
            );
        }
        let names: Vec<String> = self.moved.iter().map(|m| study.rows[m.row].name.to_string()).collect();
        let why = if self.exact {
            ""
        } else {
            " The text does not hold XLA's internal orders, so ties may be settled otherwise; the .hlo.pb beside it gives them."
        };
        format!(
            "Ours differs from XLA's in {} of {} values ({}); total {} against {}: {}.{why}",
            grouped(self.moved.len() as u64),
            grouped(study.rows.len() as u64),
            list(&names, 4),
            both(self.total.1),
            both(self.total.0),
            difference(self.total.0, self.total.1)
        )
    }
}
