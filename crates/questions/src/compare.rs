//! Two assignments of programs that are nearly the same: values matched by name where that holds, else by shape, operation
//! and scope, since names change from build to build.

use crate::copies::{Copy, copies, written};
use crate::donation::{State, donation};
use crate::notes::short;
use crate::origin::without_numbers;
use crate::peak::{Peak, Slot, fullest_step, groups, peak};
use crate::study::{Role, Row, Study};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// How two values were matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// Same name and same shape.
    Name,
    /// Same shape, operation, scope and source line, and the same rank among those.
    Origin,
    /// Same operation and scope; the shape differs.
    Scope,
}

/// A value of the left side and one of the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Index into the left study's rows.
    pub left: usize,
    /// Index into the right study's rows.
    pub right: usize,
    /// How they were matched.
    pub by: By,
}

/// Bytes of one group on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shift {
    /// `N × shape operation scope`, without the count.
    pub what: String,
    /// How many, left and right.
    pub count: (usize, usize),
    /// Bytes, left and right.
    pub bytes: (u64, u64),
    /// The values, left and right: rows of each study.
    pub rows: (Vec<usize>, Vec<usize>),
}

/// Of which memory the peaks are that are taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeaksOf {
    /// The temporaries of each memory space.
    Temporaries,
    /// All memory, at the step of each side at which most of it is in use: where one of the sums grows and the other falls,
    /// temporaries of one side stand in arguments or outputs on the other.
    Everything {
        /// The step, left and right.
        steps: (u32, u32),
    },
}

/// Two assignments side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The peaks.
    pub peaks: (Peak, Peak),
    /// Values that were matched.
    pub matched: Vec<Match>,
    /// Of these, those that take another number of bytes or have another owner, the largest difference first: indices
    /// into `matched`.
    pub changed: Vec<usize>,
    /// Of those matched that did not change, those that stand at another offset of their allocation, the largest first:
    /// indices into `matched`.
    pub moved: Vec<usize>,
    /// Rows that only the left side has, the largest first.
    pub vanished: Vec<usize>,
    /// Rows that only the right side has, the largest first.
    pub appeared: Vec<usize>,
    /// What is alive at the two peaks, by group, the largest difference first; equal ones are left out.
    pub at_peak: Vec<Shift>,
    /// Which peaks those are.
    pub peaks_of: PeaksOf,
    /// Copies and the bytes that they write, left and right, each with its loops.
    pub copies: Option<((usize, u64), (usize, u64))>,
    /// Copies by what they copy, that only one side has: name and bytes.
    pub copies_gained: Vec<(String, u64)>,
    /// The same for copies that only the left side has.
    pub copies_lost: Vec<(String, u64)>,
    /// Arguments that an output takes on the right side only: their numbers.
    pub donations_gained: Vec<u32>,
    /// The same for the left side only.
    pub donations_lost: Vec<u32>,
}

impl Comparison {
    /// All allocations and the temporaries of both sides, where one sum grows and the other one falls: bytes, left and right.
    #[must_use]
    pub fn opposite(&self) -> Option<[(u64, u64); 2]> {
        opposite(&self.peaks)
    }

    /// Does nothing differ? Which values share a piece of memory is seen only where the text is there, so what is taken counts,
    /// and not by whom.
    #[must_use]
    pub fn is_same(&self) -> bool {
        let spaces = |p: &Peak| -> Vec<_> {
            p.spaces.iter().map(|s| (s.color, s.allocated, s.temp, s.step, s.curve.clone())).collect()
        };
        self.changed.is_empty()
            && self.moved.is_empty()
            && self.vanished.is_empty()
            && self.appeared.is_empty()
            && self.peaks.0.owners == self.peaks.1.owners
            && spaces(&self.peaks.0) == spaces(&self.peaks.1)
    }
}

/// Compares two assignments.
#[must_use]
pub fn compare(left: &Study, right: &Study) -> Comparison {
    let matched = matches(left, right);
    let rows = |m: &Match| (&left.rows[m.left], &right.rows[m.right]);
    let owner = |study: &Study, row: &Row| study.slab(row).role;
    let mut changed: Vec<usize> = (0..matched.len())
        .filter(|i| {
            let (l, r) = rows(&matched[*i]);
            l.size != r.size || owner(left, l) != owner(right, r)
        })
        .collect();
    changed.sort_by_key(|i| {
        let (l, r) = rows(&matched[*i]);
        (std::cmp::Reverse(l.size.abs_diff(r.size).max(l.size.max(r.size) / 4)), *i)
    });
    let mut moved: Vec<usize> = (0..matched.len())
        .filter(|i| {
            let (l, r) = rows(&matched[*i]);
            l.size == r.size && owner(left, l) == owner(right, r) && l.size > 0 && l.offset != r.offset
        })
        .collect();
    moved.sort_by_key(|i| (std::cmp::Reverse(left.rows[matched[*i].left].size), *i));
    let rest = |study: &Study, is_matched: &dyn Fn(usize) -> bool| {
        let mut rest: Vec<usize> =
            (0..study.rows.len()).filter(|i| !is_matched(*i) && !study.rows[*i].is_tuple).collect();
        rest.sort_by_key(|i| (std::cmp::Reverse(study.rows[*i].size), *i));
        rest
    };
    let mut left_matched = vec![false; left.rows.len()];
    let mut right_matched = vec![false; right.rows.len()];
    for m in &matched {
        left_matched[m.left] = true;
        right_matched[m.right] = true;
    }
    let peaks = (peak(left), peak(right));
    let (at_peak, peaks_of) = at_peaks(left, right, &peaks);
    let mut out = Comparison {
        peaks_of,
        vanished: rest(left, &|i| left_matched[i]),
        appeared: rest(right, &|i| right_matched[i]),
        peaks,
        changed,
        moved,
        matched,
        at_peak,
        copies: None,
        copies_gained: Vec::new(),
        copies_lost: Vec::new(),
        donations_gained: Vec::new(),
        donations_lost: Vec::new(),
    };
    copies_of_both(left, right, &mut out);
    donations_of_both(left, right, &mut out);
    out
}

/// What a value is known by when names change.
type Key = [String; 4];

/// Shape, operation, scope and source of a value.
fn key(row: &Row) -> Key {
    let shape = short(&row.shape);
    [
        shape,
        row.origin.operation().to_owned(),
        inner_scope(row.origin.scope()).to_owned(),
        row.origin.source_words(),
    ]
}

/// A scope without the name of the function that was compiled, which often is what differs.
fn inner_scope(scope: &str) -> &str {
    let is_function = scope.starts_with("jit(") || scope.starts_with("pjit(") || scope.starts_with("pmap(");
    let mut depth = 0i32;
    for (i, c) in scope.char_indices().filter(|_| is_function) {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            '/' if depth == 0 => return &scope[i + 1..],
            _ => {}
        }
    }
    if is_function { "" } else { scope }
}

fn matches(left: &Study, right: &Study) -> Vec<Match> {
    let mut out = Vec::new();
    let mut free_left = vec![true; left.rows.len()];
    let mut free_right = vec![true; right.rows.len()];
    let mut pair = |l: usize, r: usize, by: By, free_left: &mut Vec<bool>, free_right: &mut Vec<bool>| {
        free_left[l] = false;
        free_right[r] = false;
        out.push(Match { left: l, right: r, by });
    };
    // By name, where shape and origin do not say otherwise: names are reused for other things. Where the text of one of the
    // two is not there, its origins are not known. Damaged files have a name several times: those come in their order.
    let mut by_name: FxHashMap<_, Vec<usize>> = FxHashMap::default();
    for (r, row) in right.rows.iter().enumerate().rev() {
        by_name.entry(&row.name).or_default().push(r);
    }
    for (l, row) in left.rows.iter().enumerate() {
        let Some(named) = by_name.get_mut(&row.name) else { continue };
        let Some(&r) = named.last() else { continue };
        let other = &right.rows[r];
        let is_known = row.instruction.is_some() == other.instruction.is_some();
        let told = if is_known { 3 } else { 1 };
        if key(row)[..told] == key(other)[..told] {
            named.pop();
            pair(l, r, By::Name, &mut free_left, &mut free_right);
        }
    }
    // By origin, in the order in which they are written.
    let mut pass = |by: By, key: &dyn Fn(&Row) -> Option<Key>| {
        let mut theirs: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        let order = |study: &Study, free: &[bool]| {
            let mut all: Vec<usize> = (0..study.rows.len()).filter(|i| free[*i]).collect();
            all.sort_by_key(|i| (study.rows[*i].range.map_or(u32::MAX, |r| r.0), *i));
            all
        };
        for r in order(right, &free_right).into_iter().rev() {
            if let Some(k) = key(&right.rows[r]) {
                theirs.entry(k).or_default().push(r);
            }
        }
        for l in order(left, &free_left) {
            let found = key(&left.rows[l]).and_then(|k| theirs.get_mut(&k)?.pop());
            if let Some(r) = found {
                pair(l, r, by, &mut free_left, &mut free_right);
            }
        }
    };
    let has_origin = |r: &Row| !r.origin.op_name.is_empty();
    pass(By::Origin, &|r| has_origin(r).then(|| key(r)));
    pass(By::Origin, &|r| {
        let [shape, operation, scope, _] = key(r);
        has_origin(r).then(|| [shape, operation, scope, String::new()])
    });
    pass(By::Scope, &|r| {
        let [_, operation, scope, source] = key(r);
        has_origin(r).then(|| [String::new(), operation, without_numbers(&scope), source])
    });
    // What has no origin: by shape, opcode, and the stem of its name.
    pass(By::Origin, &|r| {
        let [shape, operation, ..] = key(r);
        let stem = format!("{}{}", without_numbers(&r.name.instruction), r.name.index);
        (!has_origin(r)).then_some([shape, operation, stem, String::new()])
    });
    out.sort_by_key(|m| m.left);
    out
}

/// What is taken of one memory space on both sides, at a step of each, by groups of values that are alike in shape,
/// operation and scope: those whose bytes differ, the largest difference first. Slots are those of [`crate::slots_at`], or
/// of a peak.
#[must_use]
pub fn shifts(left: (&Study, &[Slot]), right: (&Study, &[Slot])) -> Vec<Shift> {
    let mut by_what = BTreeMap::new();
    let is_told = has_text(left.0) == has_text(right.0);
    add_groups(&mut by_what, left, "", true, is_told);
    add_groups(&mut by_what, right, "", false, is_told);
    that_differ(by_what)
}

fn has_text(study: &Study) -> bool {
    study.program.is_some()
}

/// Groups by shape, and by operation and scope if `is_told`: where only one side has its text, the other's are not known.
fn add_groups(
    by_what: &mut BTreeMap<String, Shift>,
    (study, slots): (&Study, &[Slot]),
    place: &str,
    is_left: bool,
    is_told: bool,
) {
    for g in groups(study, slots) {
        let shape = short(&g.shape);
        let what = [shape.as_str(), &g.operation, inner_scope(&g.scope)]
            .iter()
            .take(if is_told { 3 } else { 1 })
            .filter(|s| !s.is_empty())
            .copied()
            .collect::<Vec<_>>();
        let what = format!("{}{place}", what.join(" "));
        let shift = by_what.entry(what.clone()).or_insert_with(|| Shift {
            what,
            count: (0, 0),
            bytes: (0, 0),
            rows: Default::default(),
        });
        let (count, bytes, rows) = if is_left {
            (&mut shift.count.0, &mut shift.bytes.0, &mut shift.rows.0)
        } else {
            (&mut shift.count.1, &mut shift.bytes.1, &mut shift.rows.1)
        };
        *count += g.slots.len();
        *bytes = bytes.saturating_add(g.bytes);
        rows.extend(g.slots.iter().flat_map(|s| &slots[*s].rows));
    }
}

fn that_differ(by_what: BTreeMap<String, Shift>) -> Vec<Shift> {
    let mut out: Vec<Shift> = by_what.into_values().filter(|s| s.bytes.0 != s.bytes.1).collect();
    out.sort_by_key(|s| std::cmp::Reverse(s.bytes.0.abs_diff(s.bytes.1)));
    out
}

fn opposite((l, r): &(Peak, Peak)) -> Option<[(u64, u64); 2]> {
    let temp = |p: &Peak| p.owner(Role::Temp).map_or(0, |o| o.bytes);
    let (total, temps) = ((l.total, r.total), (temp(l), temp(r)));
    let is_opposite = total.0 < total.1 && temps.0 > temps.1 || total.0 > total.1 && temps.0 < temps.1;
    is_opposite.then_some([total, temps])
}

fn at_peaks(left: &Study, right: &Study, peaks: &(Peak, Peak)) -> (Vec<Shift>, PeaksOf) {
    if opposite(peaks).is_some() {
        let (l, r) = (fullest_step(left, None), fullest_step(right, None));
        let steps = (l.step, r.step);
        return (shifts((left, &l.slots), (right, &r.slots)), PeaksOf::Everything { steps });
    }
    let mut by_what = BTreeMap::new();
    for (study, peak, is_left) in [(left, &peaks.0, true), (right, &peaks.1, false)] {
        for space in &peak.spaces {
            let place =
                if space.color == 0 { String::new() } else { format!(" in memory space {}", space.color) };
            add_groups(
                &mut by_what,
                (study, &space.slots),
                &place,
                is_left,
                has_text(left) == has_text(right),
            );
        }
    }
    (that_differ(by_what), PeaksOf::Temporaries)
}

/// Steps of both sides at which the same is written: the longest chain of matched values whose order is the same on both
/// sides, by the step at which each begins. Both steps grow from one pair to the next.
#[must_use]
pub fn common_steps(left: &Study, right: &Study, matched: &[Match]) -> Vec<(u32, u32)> {
    let mut pairs: Vec<(u32, u32)> = matched
        .iter()
        .filter(|m| !left.rows[m.left].is_tuple)
        .filter_map(|m| Some((left.rows[m.left].range?.0, right.rows[m.right].range?.0)))
        .collect();
    // Of several pairs with one left step at most one fits into a chain: the last ones come first.
    pairs.sort_unstable_by_key(|(l, r)| (*l, std::cmp::Reverse(*r)));
    pairs.dedup();
    // For each length the pair with the smallest right step that ends a chain of that length.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; pairs.len()];
    for (i, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|e| pairs[*e].1 < pair.1);
        before[i] = length.checked_sub(1).map(|n| ends[n]);
        match ends.get_mut(length) {
            Some(end) => *end = i,
            None => ends.push(i),
        }
    }
    let mut out = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(i) = at {
        out.push(pairs[i]);
        at = before[i];
    }
    out.reverse();
    out
}

fn copies_of_both(left: &Study, right: &Study, out: &mut Comparison) {
    if left.program.is_none() || right.program.is_none() {
        return;
    }
    let list = |study: &Study, all: &[Copy]| -> Vec<(String, String, u64)> {
        let Some(program) = &study.program else { return Vec::new() };
        all.iter()
            .map(|c| {
                let shape = program.module.shapes.short(program.module.instruction(c.instruction).shape);
                let of = without_numbers(program.module.name_of(c.of));
                (
                    format!("{of} {shape} {}", c.kind.words()),
                    program.module.name_of(c.instruction).to_owned(),
                    c.written(),
                )
            })
            .collect()
    };
    let (of_left, of_right) = (copies(left), copies(right));
    let (l, r) = (list(left, &of_left), list(right, &of_right));
    let sum = |study: &Study, all: &[Copy]| (all.len(), written(study, all).bytes);
    out.copies = Some((sum(left, &of_left), sum(right, &of_right)));
    let only = |of: &[(String, String, u64)], other: &[(String, String, u64)]| -> Vec<(String, u64)> {
        let mut count: FxHashMap<&str, usize> = FxHashMap::default();
        for (k, ..) in other {
            *count.entry(k).or_default() += 1;
        }
        of.iter()
            .filter(|(k, ..)| match count.get_mut(k.as_str()).filter(|n| **n > 0) {
                Some(n) => {
                    *n -= 1;
                    false
                }
                None => true,
            })
            .map(|(_, name, bytes)| (name.clone(), *bytes))
            .collect()
    };
    out.copies_gained = only(&r, &l);
    out.copies_lost = only(&l, &r);
}

fn donations_of_both(left: &Study, right: &Study, out: &mut Comparison) {
    let taken = |study: &Study| -> Vec<u32> {
        let arguments = donation(study).map(|d| d.arguments).unwrap_or_default();
        let from_program: Vec<u32> = arguments
            .iter()
            .filter(|a| matches!(a.state, State::Taken { .. }))
            .map(|a| a.parameter)
            .collect();
        if study.program.is_some() {
            return from_program;
        }
        study
            .slabs
            .iter()
            .filter(|s| s.role == Role::Argument && s.maybe_live_out)
            .filter_map(|s| s.parameter.as_ref().map(|p| p.0))
            .collect()
    };
    let (l, r) = (taken(left), taken(right));
    out.donations_gained = r.iter().copied().filter(|p| !l.contains(p)).collect();
    out.donations_lost = l.iter().copied().filter(|p| !r.contains(p)).collect();
}

#[cfg(test)]
mod tests {
    use crate::notes::short;

    #[test]
    fn layouts_leave_shapes() {
        assert_eq!(short("(f32[64]{0:T(8)}, (s32[], f32[2,4]{1,0}))"), "(f32[64], (s32[], f32[2,4]))");
        assert_eq!(short("f32[8]{0"), "f32[8]");
    }
}
