//! What is alive at the peak: of which the temporaries are made when most of them is taken.

use crate::cover::Cover;
use crate::origin::{Phase, common_numbers, without_numbers};
use crate::places::common_lines;
use crate::study::{Role, Row, Slab, Study};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The peak of a whole program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    /// What each owner holds, in bytes, by [`Role::ALL`]: all allocations, added up.
    pub owners: Vec<Owner>,
    /// Sum of all allocations, in bytes.
    pub total: u64,
    /// The memory spaces, each at its own peak, by colour.
    pub spaces: Vec<SpacePeak>,
}

/// Allocations of one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Whose.
    pub role: Role,
    /// How many allocations.
    pub allocations: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Of those, bytes of arguments that an output takes over.
    pub donated: u64,
}

/// One memory space when most of its temporaries is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpacePeak {
    /// Its colour.
    pub color: u32,
    /// Bytes of all its allocations.
    pub allocated: u64,
    /// Bytes of its temporary allocations.
    pub temp: u64,
    /// The step at which most of them is taken; the first one of several.
    pub step: u32,
    /// Bytes that are taken then.
    pub live: u64,
    /// What is taken, the largest first. Together they are [`SpacePeak::live`], unless values overlap that must not.
    pub slots: Vec<Slot>,
    /// Bytes that are taken at each change: the steps, ascending, from which on so many are taken.
    pub curve: Vec<(u32, u64)>,
}

/// A piece of a temporary allocation that is taken, by one value or by several that share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The allocation: an index into [`Study::slabs`].
    pub slab: usize,
    /// Bytes from the start of the allocation.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Bytes of this slot and of all before it.
    pub cumulative: u64,
    /// The values that are in it at that step: indices into [`Study::rows`]. The first tells what it is.
    pub rows: Vec<usize>,
    /// The first and the last step at which one of these values is wanted, all of the slot's buffer taken together.
    pub range: (u32, u32),
}

/// Slots that are alike: `N × shape`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The shape.
    pub shape: String,
    /// The operation.
    pub operation: String,
    /// The scope, with `*` for numbers in which the slots' scopes differ.
    pub scope: String,
    /// The source lines, `file.py:12` or `file.py:19–20`; of several files, how many places there are.
    pub source: String,
    /// Which part of a training step.
    pub phase: Phase,
    /// Bytes of all of them.
    pub bytes: u64,
    /// The slots: indices into [`SpacePeak::slots`].
    pub slots: Vec<usize>,
    /// How many different scopes stand behind the `*`: repetitions of one layer.
    pub repetitions: usize,
    /// The first step at which one of them is written, and the last at which one is read.
    pub range: (u32, u32),
}

/// Bytes by one property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The property.
    pub name: String,
    /// How many slots.
    pub count: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Finds the peak.
#[must_use]
pub fn peak(study: &Study) -> Peak {
    let owners = Role::ALL
        .iter()
        .map(|role| {
            let of_role = || study.slabs.iter().filter(|s| s.role == *role);
            Owner {
                role: *role,
                allocations: of_role().count() as u32,
                bytes: sum(of_role().map(|s| s.size)),
                donated: sum(of_role()
                    .filter(|s| *role == Role::Argument && s.maybe_live_out)
                    .map(|s| s.size)),
            }
        })
        .collect();
    let colors: BTreeSet<u32> = study.slabs.iter().map(|s| s.color).collect();
    Peak {
        owners,
        total: sum(study.slabs.iter().map(|s| s.size)),
        spaces: colors.into_iter().map(|c| space(study, c)).collect(),
    }
}

pub(crate) fn sum(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.fold(0, u64::saturating_add)
}

impl Peak {
    /// What an owner holds.
    #[must_use]
    pub fn owner(&self, role: Role) -> Option<&Owner> {
        self.owners.iter().find(|o| o.role == role)
    }
}

/// Where the allocations that are taken in begin if they are laid one behind another.
fn bases(study: &Study, is_in: &dyn Fn(&Slab) -> bool) -> (Vec<Option<u64>>, u64) {
    let mut next = 0u64;
    let bases = study
        .slabs
        .iter()
        .map(|s| {
            is_in(s).then(|| {
                let base = next;
                next = next.saturating_add(s.size);
                base
            })
        })
        .collect();
    (bases, next)
}

fn space(study: &Study, color: u32) -> SpacePeak {
    let of_color = study.slabs.iter().filter(|s| s.color == color);
    let allocated = sum(of_color.map(|s| s.size));
    SpacePeak { color, allocated, ..fullest(study, &|s| s.color == color && s.role == Role::Temp) }
}

/// The step at which most is in use of all memory that is reserved before the program runs: of arguments, outputs, constants
/// and temporaries, of one memory space or of all. [`SpacePeak::temp`] is then the bytes of all those allocations.
#[must_use]
pub fn fullest_step(study: &Study, color: Option<u32>) -> SpacePeak {
    let is_in = |s: &Slab| color.is_none_or(|c| s.color == c) && s.role != Role::ThreadLocal;
    let out = fullest(study, &is_in);
    SpacePeak { color: color.unwrap_or(0), allocated: out.temp, ..out }
}

fn fullest(study: &Study, is_in: &dyn Fn(&Slab) -> bool) -> SpacePeak {
    let (bases, temp) = bases(study, is_in);
    let placed = |row: &Row| -> Option<(u64, u64)> {
        let from = bases[row.slab]?.checked_add(row.offset)?;
        let to = from.checked_add(row.size)?;
        (from < to && row.range.is_some()).then_some((from, to))
    };
    let live: Vec<(usize, (u64, u64))> =
        study.rows.iter().enumerate().filter_map(|(i, r)| Some((i, placed(r)?))).collect();
    let mut cover = Cover::new(live.iter().flat_map(|(_, (from, to))| [*from, *to]).collect());
    // What comes at a step comes before what goes with the step before it is over: both ends of a range are included.
    let mut changes: Vec<(u32, bool, usize)> = Vec::with_capacity(2 * live.len());
    for (n, (i, _)) in live.iter().enumerate() {
        if let Some((start, end)) = study.rows[*i].range {
            changes.push((start, true, n));
            changes.push((end.saturating_add(1), false, n));
        }
    }
    changes.sort_unstable();
    let mut curve: Vec<(u32, u64)> = Vec::new();
    let mut best = (0u32, 0u64);
    let mut at = 0;
    while at < changes.len() {
        let step = changes[at].0;
        while let Some((_, comes, n)) = changes.get(at).filter(|c| c.0 == step) {
            let (from, to) = live[*n].1;
            cover.change(from, to, *comes);
            at += 1;
        }
        let total = cover.total();
        if curve.last().map(|c| c.1) != Some(total) {
            curve.push((step, total));
        }
        if total > best.1 {
            best = (step, total);
        }
    }
    let slots = slots_of(study, is_in, best.0);
    SpacePeak { color: 0, allocated: 0, temp, step: best.0, live: best.1, slots, curve }
}

/// What is taken of the temporaries of a memory space at a step, the largest first.
#[must_use]
pub fn slots_at(study: &Study, color: u32, step: u32) -> Vec<Slot> {
    slots_of(study, &|s| s.color == color && s.role == Role::Temp, step)
}

/// The same of all memory that is reserved before the program runs, of all memory spaces together.
#[must_use]
pub fn all_slots_at(study: &Study, step: u32) -> Vec<Slot> {
    slots_of(study, &|s| s.role != Role::ThreadLocal, step)
}

fn slots_of(study: &Study, is_in: &dyn Fn(&Slab) -> bool, step: u32) -> Vec<Slot> {
    let mut by_place: BTreeMap<(usize, u64, u64), Vec<usize>> = BTreeMap::new();
    for (i, row) in study.rows.iter().enumerate() {
        let is_alive = row.range.is_some_and(|(start, end)| start <= step && step <= end);
        if is_alive && row.size > 0 && is_in(study.slab(row)) {
            by_place.entry((row.slab, row.offset, row.size)).or_default().push(i);
        }
    }
    let mut slots: Vec<Slot> = by_place
        .into_iter()
        .map(|((slab, offset, size), rows)| {
            let range = whole_range(study, &rows);
            Slot { slab, offset, size, cumulative: 0, rows, range }
        })
        .collect();
    hand_over(study, step, &mut slots);
    slots.sort_by_key(|s| (std::cmp::Reverse(s.size), s.slab, s.offset));
    let mut so_far = 0u64;
    for slot in &mut slots {
        so_far = so_far.saturating_add(slot.size);
        slot.cumulative = so_far;
        // The first writer says most of what the slot is; a parameter of a loop's body says least.
        slot.rows.sort_by_key(|i| {
            let row = &study.rows[*i];
            (row.origin.opcode == "parameter", row.range.map_or(0, |r| r.0), *i)
        });
    }
    slots
}

/// At the step of a hand-over two values stand on the same bytes, perhaps of different sizes: the smaller one is told
/// with the larger.
fn hand_over(study: &Study, step: u32, slots: &mut Vec<Slot>) {
    slots.sort_by_key(|s| (s.slab, s.offset, std::cmp::Reverse(s.size)));
    let mut out: Vec<Slot> = Vec::with_capacity(slots.len());
    for slot in slots.drain(..) {
        let inside = out.last_mut().filter(|o| {
            o.slab == slot.slab && slot.offset.saturating_add(slot.size) <= o.offset.saturating_add(o.size)
        });
        match inside {
            Some(outer) if touches(study, step, &outer.rows, &slot.rows) => outer.rows.extend(slot.rows),
            _ => out.push(slot),
        }
    }
    *slots = out;
}

fn touches(study: &Study, step: u32, a: &[usize], b: &[usize]) -> bool {
    let all = |rows: &[usize], end: bool| {
        rows.iter().all(|i| study.rows[*i].range.is_some_and(|r| if end { r.1 == step } else { r.0 == step }))
    };
    all(a, true) && all(b, false) || all(a, false) && all(b, true)
}

/// From the first write to the last read of the values that share a buffer with these, where that is known.
fn whole_range(study: &Study, rows: &[usize]) -> (u32, u32) {
    let mut range = (u32::MAX, 0);
    let mut add = |r: Option<(u32, u32)>| {
        if let Some((start, end)) = r {
            range = (range.0.min(start), range.1.max(end));
        }
    };
    for i in rows {
        let row = &study.rows[*i];
        add(row.range);
        if let (Some(value), Some(p)) = (row.value, &study.program) {
            for v in &p.facts.buffer(p.facts.value(value).buffer).values {
                add(p.facts.ranges.get(*v).map(|r| (r.start.0, r.end.0)));
            }
        }
    }
    range
}

impl Slot {
    /// The value that tells what it is.
    #[must_use]
    pub fn row<'s>(&self, study: &'s Study) -> &'s Row {
        &study.rows[self.rows[0]]
    }
}

/// Puts slots together that are alike in shape, operation, scope (but for its numbers) and phase; the most bytes first.
#[must_use]
pub fn groups(study: &Study, slots: &[Slot]) -> Vec<Group> {
    let mut by_key: FxHashMap<(String, String, String, Phase), Group> = FxHashMap::default();
    let mut scopes: FxHashMap<(String, String, String, Phase), BTreeSet<&str>> = FxHashMap::default();
    for (n, slot) in slots.iter().enumerate() {
        let row = slot.row(study);
        let operation = without_numbers(row.origin.operation());
        let scope = without_numbers(row.origin.scope());
        let key = (row.shape.clone(), operation, scope, row.origin.phase);
        scopes.entry(key.clone()).or_default().insert(row.origin.op_name.as_str());
        let group = by_key.entry(key).or_insert_with(|| Group {
            shape: row.shape.clone(),
            operation: row.origin.operation().to_owned(),
            scope: row.origin.scope().to_owned(),
            source: String::new(),
            phase: row.origin.phase,
            bytes: 0,
            slots: Vec::new(),
            repetitions: 0,
            range: (u32::MAX, 0),
        });
        group.operation = common_numbers(&group.operation, row.origin.operation());
        group.scope = common_numbers(&group.scope, row.origin.scope());
        group.bytes = group.bytes.saturating_add(slot.size);
        group.slots.push(n);
        if let Some((start, end)) = row.range {
            group.range = (group.range.0.min(start), group.range.1.max(end));
        }
    }
    let mut out: Vec<Group> = by_key
        .into_iter()
        .map(|(key, group)| {
            let rows: Vec<&Row> = group.slots.iter().map(|s| slots[*s].row(study)).collect();
            let repetitions = scopes.get(&key).map_or(0, BTreeSet::len);
            Group { repetitions, source: common_lines(&rows), ..group }
        })
        .collect();
    out.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.slots.cmp(&b.slots)));
    out
}

/// Bytes by one property of the values, the most first. Values without it are left out.
#[must_use]
pub fn sums(study: &Study, slots: &[Slot], property: impl Fn(&Row) -> String) -> Vec<Sum> {
    let mut by_name: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for slot in slots {
        let name = property(slot.row(study));
        if name.is_empty() {
            continue;
        }
        let (count, bytes) = by_name.entry(name).or_default();
        *count += 1;
        *bytes = bytes.saturating_add(slot.size);
    }
    let mut out: Vec<Sum> =
        by_name.into_iter().map(|(name, (count, bytes))| Sum { name, count, bytes }).collect();
    out.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    out
}
