//! Two assignments side by side: what moved, appeared, vanished or changed its size.
//!
//! Values are matched by name, because numbers depend on orders that text does not hold. Allocations are matched by the
//! entry parameter they are for, then by the values they share.

use crate::read::{AllocationRecord, BufferAssignmentFile, ValueName};
use assigner::words::{both, bytes, difference, grouped, list};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// Sizes of one side, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// All allocations.
    pub total: u64,
    /// Preallocated temps.
    pub temp: u64,
    /// Entry parameters.
    pub parameter: u64,
    /// Allocations that may hold a part of the result, donated parameters included.
    pub live_out: u64,
    /// Constants.
    pub constant: u64,
    /// Memory of computations that run per element.
    pub thread_local: u64,
    /// How many allocations there are.
    pub allocations: u32,
    /// How many values have a place.
    pub values: u32,
}

impl Totals {
    /// Adds an assignment up.
    #[must_use]
    pub fn of(file: &BufferAssignmentFile) -> Self {
        let mut out = Self::default();
        for a in &file.allocations {
            let add = |sum: &mut u64, yes: bool| {
                if yes {
                    *sum = sum.saturating_add(a.size.bytes);
                }
            };
            add(&mut out.total, true);
            add(&mut out.temp, a.is_preallocated_temp);
            add(&mut out.parameter, a.parameter.is_some());
            add(&mut out.live_out, a.maybe_live_out);
            add(&mut out.constant, a.is_constant);
            add(&mut out.thread_local, a.is_thread_local);
            out.allocations += 1;
            out.values += a.values.len() as u32;
        }
        out
    }
}

/// Where a value stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The allocation's number on its own side.
    pub allocation: u32,
    /// Bytes from the start of the allocation.
    pub offset: u64,
    /// Bytes it takes.
    pub size: u64,
}

/// What happened to a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ValueChange {
    /// Only the right side has it.
    Appeared,
    /// Only the left side has it.
    Vanished,
    /// It has another size.
    Resized,
    /// It stands in another allocation or at another offset.
    Moved,
}

impl ValueChange {
    /// `appeared`, `vanished`, `resized` or `moved`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Appeared => "appeared",
            Self::Vanished => "vanished",
            Self::Resized => "resized",
            Self::Moved => "moved",
        }
    }
}

/// A value that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedValue {
    /// Its name.
    pub name: ValueName,
    /// What happened.
    pub change: ValueChange,
    /// Where it stands on the left.
    pub left: Option<Place>,
    /// Where it stands on the right.
    pub right: Option<Place>,
    /// Its shape, on the right if it is there.
    pub shape: String,
}

/// An allocation that differs in itself: by being there, by size, memory space or kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedAllocation {
    /// Its number, size in bytes, memory space and kind on the left.
    pub left: Option<AllocationFace>,
    /// The same on the right.
    pub right: Option<AllocationFace>,
}

/// What an allocation shows of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllocationFace {
    /// Its number.
    pub number: u32,
    /// Bytes.
    pub size: u64,
    /// Its memory space.
    pub color: u32,
    /// `parameter 0{1}`, `constant`, `thread-local`, `result`, `temporaries`.
    pub kind: String,
}

/// Two assignments side by side.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Difference {
    /// The left side in sum.
    pub left: Totals,
    /// The right side in sum.
    pub right: Totals,
    /// Allocations that differ.
    pub allocations: Vec<ChangedAllocation>,
    /// Values that differ, the largest first.
    pub values: Vec<ChangedValue>,
    /// Allocations that are the same but for their number.
    pub renumbered: u32,
    /// Values that are the same but for XLA's number.
    pub new_ids: u32,
}

impl AllocationFace {
    fn of(a: &AllocationRecord) -> Self {
        let kind = match &a.parameter {
            Some(p) if p.index.is_root() => format!("parameter {}", p.number),
            Some(p) => format!("parameter {}{}", p.number, p.index),
            None if a.is_constant => "constant".to_owned(),
            None if a.is_thread_local => "thread-local".to_owned(),
            None if a.maybe_live_out => "result".to_owned(),
            None => "temporaries".to_owned(),
        };
        let kind = if a.parameter.is_some() && a.maybe_live_out { format!("{kind}, donated") } else { kind };
        Self { number: a.number, size: a.size.bytes, color: a.color, kind }
    }
}

/// Compares two assignments.
#[must_use]
pub fn diff(left: &BufferAssignmentFile, right: &BufferAssignmentFile) -> Difference {
    let mut out = Difference { left: Totals::of(left), right: Totals::of(right), ..Difference::default() };
    let matched = match_allocations(left, right);
    let mut taken = vec![false; right.allocations.len()];
    for (a, partner) in left.allocations.iter().zip(&matched) {
        let partner = partner.map(|i| {
            taken[i] = true;
            &right.allocations[i]
        });
        let faces = (AllocationFace::of(a), partner.map(AllocationFace::of));
        match faces {
            (l, Some(r)) if (l.size, l.color, &l.kind) == (r.size, r.color, &r.kind) => {
                out.renumbered += u32::from(l.number != r.number);
            }
            (l, r) => out.allocations.push(ChangedAllocation { left: Some(l), right: r }),
        }
    }
    for (a, _) in right.allocations.iter().zip(&taken).filter(|(_, taken)| !**taken) {
        out.allocations.push(ChangedAllocation { left: None, right: Some(AllocationFace::of(a)) });
    }
    compare_values(left, right, &matched, &mut out);
    out
}

/// For each allocation on the left, which one on the right it is.
fn match_allocations(left: &BufferAssignmentFile, right: &BufferAssignmentFile) -> Vec<Option<usize>> {
    let mut out = vec![None; left.allocations.len()];
    let mut free = vec![true; right.allocations.len()];
    let parameters: HashMap<_, usize> = right
        .allocations
        .iter()
        .enumerate()
        .filter_map(|(i, a)| a.parameter.as_ref().map(|p| ((p.number, &p.index), i)))
        .collect();
    for (a, slot) in left.allocations.iter().zip(&mut out) {
        let found = a.parameter.as_ref().and_then(|p| parameters.get(&(p.number, &p.index)));
        if let Some(i) = found.filter(|i| free[**i]) {
            *slot = Some(*i);
            free[*i] = false;
        }
    }
    // The pairs with most values in common first.
    let home: HashMap<&ValueName, usize> = right
        .allocations
        .iter()
        .enumerate()
        .flat_map(|(i, a)| a.values.iter().map(move |p| (&p.value.name, i)))
        .collect();
    let mut common: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    for (l, a) in left.allocations.iter().enumerate().filter(|(l, _)| out[*l].is_none()) {
        for p in &a.values {
            if let Some(r) = home.get(&p.value.name).filter(|r| free[**r]) {
                *common.entry((l, *r)).or_default() += 1;
            }
        }
    }
    let mut pairs: Vec<(u32, usize, usize)> = common.into_iter().map(|((l, r), n)| (n, l, r)).collect();
    pairs.sort_unstable_by_key(|(n, l, r)| (std::cmp::Reverse(*n), *l, *r));
    for (_, l, r) in pairs {
        if out[l].is_none() && free[r] {
            out[l] = Some(r);
            free[r] = false;
        }
    }
    // What holds no value in common is the same if it looks the same.
    for (l, a) in left.allocations.iter().enumerate() {
        if out[l].is_none() {
            let face = AllocationFace::of(a);
            let twin = right.allocations.iter().enumerate().position(|(r, b)| {
                let other = AllocationFace::of(b);
                free[r]
                    && a.values.is_empty()
                    && b.values.is_empty()
                    && (face.color, &face.kind) == (other.color, &other.kind)
            });
            if let Some(r) = twin {
                out[l] = Some(r);
                free[r] = false;
            }
        }
    }
    out
}

fn compare_values(
    left: &BufferAssignmentFile,
    right: &BufferAssignmentFile,
    matched: &[Option<usize>],
    out: &mut Difference,
) {
    // A broken dump may hold a value twice, so there are lists.
    let places = |file: &BufferAssignmentFile| {
        let mut all: BTreeMap<ValueName, Vec<(usize, Place, u32, String)>> = BTreeMap::new();
        for (i, a) in file.allocations.iter().enumerate() {
            for p in &a.values {
                let place = Place { allocation: a.number, offset: p.offset, size: p.size };
                all.entry(p.value.name.clone()).or_default().push((i, place, p.value.id, p.shape.clone()));
            }
        }
        all
    };
    let mut theirs = places(right);
    for (name, mut here) in places(left) {
        let mut there = theirs.remove(&name).unwrap_or_default();
        here.retain(|(l, place, id, _)| {
            let twin = there.iter().position(|(r, other, ..)| {
                matched[*l] == Some(*r) && (place.offset, place.size) == (other.offset, other.size)
            });
            if let Some(i) = twin {
                out.new_ids += u32::from(*id != there.remove(i).2);
            }
            twin.is_none()
        });
        let mut there = there.into_iter();
        for (_, place, _, shape) in here {
            let name = name.clone();
            out.values.push(match there.next() {
                Some((_, other, _, shape)) => {
                    let is_moved = place.size == other.size;
                    let change = if is_moved { ValueChange::Moved } else { ValueChange::Resized };
                    ChangedValue { name, change, left: Some(place), right: Some(other), shape }
                }
                None => ChangedValue {
                    name,
                    change: ValueChange::Vanished,
                    left: Some(place),
                    right: None,
                    shape,
                },
            });
        }
        theirs.insert(name, there.collect());
    }
    for (name, rest) in theirs {
        for (_, place, _, shape) in rest {
            let change = ValueChange::Appeared;
            out.values.push(ChangedValue {
                name: name.clone(),
                change,
                left: None,
                right: Some(place),
                shape,
            });
        }
    }
    out.values.sort_by(|a, b| {
        let size = |v: &ChangedValue| v.left.map_or(0, |p| p.size).max(v.right.map_or(0, |p| p.size));
        size(b).cmp(&size(a)).then_with(|| a.change.cmp(&b.change)).then_with(|| a.name.cmp(&b.name))
    });
}

/// Values named one by one for each kind of change; the rest are counted.
const MOST_NAMES: usize = 20;

impl Difference {
    /// Is everything in its place? Numbers of allocations and values do not count.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.allocations.is_empty() && self.values.is_empty()
    }

    /// In words, a few lines.
    #[must_use]
    pub fn words(&self) -> String {
        let mut out = String::new();
        let rows = [
            ("total", self.left.total, self.right.total),
            ("temporaries", self.left.temp, self.right.temp),
            ("parameters", self.left.parameter, self.right.parameter),
            ("may be the result", self.left.live_out, self.right.live_out),
            ("constants", self.left.constant, self.right.constant),
            ("thread-local", self.left.thread_local, self.right.thread_local),
        ];
        for (name, left, right) in rows {
            if left != right {
                _ = writeln!(out, "{name}: {} -> {}: {}", both(left), both(right), difference(left, right));
            } else if left != 0 || name == "total" {
                _ = writeln!(out, "{name}: {}, the same", both(left));
            }
        }
        for a in &self.allocations {
            let face = |f: &AllocationFace| {
                let color = if f.color == 0 { String::new() } else { format!(", memory space {}", f.color) };
                format!("{} ({}{color})", bytes(f.size), f.kind)
            };
            _ = match (&a.left, &a.right) {
                (Some(l), Some(r)) => {
                    writeln!(out, "allocation {} -> {}: {} -> {}", l.number, r.number, face(l), face(r))
                }
                (Some(l), None) => writeln!(out, "allocation {} vanished: {}", l.number, face(l)),
                (None, Some(r)) => writeln!(out, "allocation {} appeared: {}", r.number, face(r)),
                (None, None) => Ok(()),
            };
        }
        for kind in [ValueChange::Vanished, ValueChange::Appeared, ValueChange::Resized, ValueChange::Moved] {
            let of_kind: Vec<&ChangedValue> = self.values.iter().filter(|v| v.change == kind).collect();
            if of_kind.is_empty() {
                continue;
            }
            _ = writeln!(out, "{} {}:", count(of_kind.len(), "value"), kind.name());
            for v in of_kind.iter().take(MOST_NAMES) {
                _ = writeln!(out, "  {}", v.words());
            }
            if of_kind.len() > MOST_NAMES {
                _ = writeln!(out, "  and {} more", of_kind.len() - MOST_NAMES);
            }
        }
        if self.is_same() {
            out.push_str("Every value is in the same place.\n");
        }
        let mut notes = Vec::new();
        if self.renumbered > 0 {
            notes.push(format!("{} only in number", count(self.renumbered as usize, "allocation")));
        }
        if self.new_ids > 0 {
            notes.push(format!("{} only in number", count(self.new_ids as usize, "value")));
        }
        if !notes.is_empty() {
            _ = writeln!(out, "Besides, {} differ.", list(&notes, 2));
        }
        out
    }
}

impl ChangedValue {
    fn words(&self) -> String {
        let place =
            |p: Place| format!("{} at {} of allocation {}", bytes(p.size), grouped(p.offset), p.allocation);
        let name = &self.name;
        match (self.left, self.right) {
            (Some(l), Some(r)) => format!("{name}: {} -> {}", place(l), place(r)),
            (Some(p), None) | (None, Some(p)) => format!("{name}: {} {}", self.shape, place(p)),
            (None, None) => name.to_string(),
        }
    }
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{} {what}s", grouped(n as u64)) }
}
