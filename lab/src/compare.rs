//! Two dumps side by side: in words and tables, and what is drawn of both on shared axes.

use crate::map::{curve, curves, hue, map};
use crate::rows::space_name;
use crate::talk::{ALL_MEMORY, About, Compared, Section, SharedSpace, Source, SpaceCurve, Spans, Words};
use crate::text::cut;
use assigner::words::{both, bytes, difference, grouped};
use questions::{By, Comparison, Peak, PeaksOf, Shift, Study, compare};
use std::collections::BTreeSet;

/// Most lines of a table.
const MOST: usize = 60;
/// Most stretches of time that are told of a line.
const MOST_STEPS: usize = 500;

fn head(columns: &[&str]) -> Vec<Vec<String>> {
    vec![columns.iter().map(|c| (*c).to_owned()).collect()]
}

/// Values with their steps: those that touch become one stretch.
fn spans(study: &Study, rows: impl IntoIterator<Item = usize>) -> Spans {
    let rows: BTreeSet<usize> = rows.into_iter().collect();
    let mut all: Vec<(u32, u32)> = rows.iter().filter_map(|r| study.rows[*r].range).collect();
    all.sort_unstable();
    let mut steps: Vec<(u32, u32)> = Vec::new();
    for (first, last) in all {
        match steps.last_mut().filter(|s| first <= s.1.saturating_add(1)) {
            Some(before) => before.1 = before.1.max(last),
            None => steps.push((first, last)),
        }
    }
    steps.truncate(MOST_STEPS);
    Spans { rows: rows.into_iter().map(|r| r as u32).collect(), steps }
}

fn about(left: (&Study, &[usize]), right: (&Study, &[usize])) -> About {
    About { left: spans(left.0, left.1.iter().copied()), right: spans(right.0, right.1.iter().copied()) }
}

/// Whose an assignment is, in words.
fn whose(source: Source) -> &'static str {
    match source {
        Source::Dump => "XLA's own assignment",
        Source::Ours => "our engine's assignment",
        Source::Tried => "our engine's assignment with what is tried",
        Source::Packed => "our engine's assignment with the smallest heap found",
    }
}

/// Everything about two of them. `source` says whose the left one is.
pub(crate) fn compared(
    (left, left_peak, source): (&Study, &Peak, Source),
    (right, right_peak): (&Study, &Peak),
) -> Compared {
    let c = compare(left, right);
    let is_same = c.is_same();
    let other_source = match right.source {
        questions::Source::Dump => Source::Dump,
        questions::Source::Ours => Source::Ours,
    };
    let mut sections = vec![Section { words: sums(&c, is_same, (source, other_source)), about: Vec::new() }];
    if !c.at_peak.is_empty() {
        let mut section = of_shifts(
            "What makes the difference at the peaks",
            "At the two peaks",
            (left, right),
            &c.at_peak,
        );
        if let PeaksOf::Everything { steps: (here, there) } = c.peaks_of {
            section.words.lines.insert(
                0,
                format!(
                    "Of all memory, where most of it is in use: step {} here, step {} there.",
                    grouped(u64::from(here)),
                    grouped(u64::from(there))
                ),
            );
        }
        sections.push(section);
    }
    sections.extend(values(left, right, &c));
    let mut other = map(right, right_peak, other_source);
    // What is matched has one colour on both sides.
    let mut here = vec![None; right.rows.len()];
    for m in &c.matched {
        here[m.right] = Some(m.left);
    }
    for (row, colour) in other.row.iter().zip(&mut other.hue) {
        if let Some(left_row) = here[*row as usize] {
            *colour = hue(&left.rows[left_row].name.instruction);
        }
    }
    let steps = questions::common_steps(left, right, &c.matched);
    let own = curves(left_peak);
    let colors: BTreeSet<u32> = own.iter().chain(&other.curves).map(|s| s.color).collect();
    let of =
        |curves: &[SpaceCurve], color| curves.iter().find(|s| s.color == color).cloned().unwrap_or_default();
    let mut spaces: Vec<SharedSpace> = colors
        .into_iter()
        .map(|color| SharedSpace {
            color,
            name: space_name(color),
            left: of(&own, color),
            right: of(&other.curves, color),
        })
        .collect();
    let everything = |study| SpaceCurve { color: ALL_MEMORY, ..curve(&questions::fullest_step(study, None)) };
    spaces.push(SharedSpace {
        color: ALL_MEMORY,
        name: String::new(),
        left: everything(left),
        right: SpaceCurve { color: ALL_MEMORY, ..other.everything.clone() },
    });
    let first = c.opposite().map(|_| ALL_MEMORY);
    // Tables of tuples are no values that a program computes.
    let begins = |m: &questions::Match| {
        let (l, r) = (&left.rows[m.left], &right.rows[m.right]);
        (!l.is_tuple).then_some((l.range?.0, r.range?.0))
    };
    let matched = c.matched.iter().filter_map(begins).count();
    // Several values begin at one step.
    let is_in_order = |at: &(u32, u32)| steps.binary_search(at).is_ok();
    let in_order = c.matched.iter().filter_map(begins).filter(is_in_order).count();
    Compared {
        sections,
        same: is_same,
        ends: (left.end, right.end),
        aligned: (steps.len() as u32, matched as u32),
        in_order: in_order as u32,
        anchors: bends(&steps),
        spaces,
        first,
        other,
    }
}

/// Of steps at which both go on at the same pace only those where that begins and ends.
fn bends(steps: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let pace = |a: (u32, u32), b: (u32, u32)| (b.0 - a.0) == (b.1 - a.1);
    let is_bend = |i: &usize| {
        let inside = i.checked_sub(1).zip(steps.get(i + 1));
        inside.is_none_or(|(before, after)| !(pace(steps[before], steps[*i]) && pace(steps[*i], *after)))
    };
    (0..steps.len()).filter(is_bend).map(|i| steps[i]).collect()
}

/// What makes the difference at a step of each.
pub(crate) fn at_steps(
    left: &Study,
    right: &Study,
    color: u32,
    steps: (Option<u32>, Option<u32>),
) -> Section {
    let slots = |study: &Study, step: Option<u32>| {
        let at = |s| {
            if color == ALL_MEMORY {
                questions::all_slots_at(study, s)
            } else {
                questions::slots_at(study, color, s)
            }
        };
        step.map(at).unwrap_or_default()
    };
    let (l, r) = (slots(left, steps.0), slots(right, steps.1));
    let all = questions::shifts((left, &l), (right, &r));
    let at = |study: &Study, step: Option<u32>| {
        step.map_or_else(
            || "the program is over".to_owned(),
            |s| format!("step {}, {}", grouped(u64::from(s)), cut(study.at(s))),
        )
    };
    let mut out = of_shifts("What makes the difference at this place", "At this place", (left, right), &all);
    out.words.lines =
        vec![format!("Here: {}.", at(left, steps.0)), format!("There: {}.", at(right, steps.1))];
    if all.is_empty() {
        out.words.lines.push("Nothing: the same groups of values take the same bytes.".to_owned());
        out.words.table = Vec::new();
    }
    out
}

fn of_shifts(title: &str, first: &str, (left, right): (&Study, &Study), all: &[Shift]) -> Section {
    let mut table = head(&[first, "Here", "There", "Bytes here", "Bytes there", "Difference"]);
    let mut of = Vec::new();
    for s in all.iter().take(MOST) {
        table.push(vec![
            cut(&s.what),
            s.count.0.to_string(),
            s.count.1.to_string(),
            bytes(s.bytes.0),
            bytes(s.bytes.1),
            difference(s.bytes.0, s.bytes.1),
        ]);
        of.push(about((left, &s.rows.0), (right, &s.rows.1)));
    }
    Section { words: Words { title: title.to_owned(), lines: more(all.len()), table }, about: of }
}

/// That a table is not all.
fn more(of: usize) -> Vec<String> {
    if of <= MOST {
        return Vec::new();
    }
    vec![format!("The first {} of {}.", grouped(MOST as u64), grouped(of as u64))]
}

/// The sums, and how much is matched.
fn sums(c: &Comparison, is_same: bool, (here, there): (Source, Source)) -> Words {
    let (l, r) = (&c.peaks.0, &c.peaks.1);
    let mut sums = head(&["", "This one", "The other", "Difference"]);
    let mut add = |what: String, a: u64, b: u64| {
        sums.push(vec![what, both(a), both(b), difference(a, b)]);
    };
    add("all allocations".to_owned(), l.total, r.total);
    for (a, b) in l.owners.iter().zip(&r.owners).filter(|(a, b)| a.bytes > 0 || b.bytes > 0) {
        add(a.role.name().to_owned(), a.bytes, b.bytes);
    }
    let colors: BTreeSet<u32> = l.spaces.iter().chain(&r.spaces).map(|s| s.color).collect();
    for color in colors {
        let of = |p: &Peak| p.spaces.iter().find(|s| s.color == color).map_or(0, |s| s.live);
        if of(l) > 0 || of(r) > 0 {
            add(format!("temporaries in use at the peak, memory space {}", space_name(color)), of(l), of(r));
        }
    }
    let mut lines = vec![format!("This one is {}, the other is {}.", whose(here), whose(there))];
    if let Some([total, temps]) = c.opposite() {
        lines.insert(
            0,
            format!(
                "There the temporaries change by {}, all memory by {}: what is temporary on one side stands in the memory of arguments or outputs on the other, so all memory is drawn first.",
                difference(temps.0, temps.1),
                difference(total.0, total.1)
            ),
        );
    }
    if is_same {
        lines.insert(
            0,
            "Nothing differs: every value is matched, with the same bytes, the same owner and the same place."
                .to_owned(),
        );
    } else {
        lines.push(format!(
            "Values matched, by name or by shape, operation, scope and source line: {}; of them with other bytes or another owner: {}, at another offset: {}; only in this one: {}, only in the other: {}.",
            grouped(c.matched.len() as u64),
            grouped(c.changed.len() as u64),
            grouped(c.moved.len() as u64),
            grouped(c.vanished.len() as u64),
            grouped(c.appeared.len() as u64)
        ));
    }
    if let Some(((n, a), (m, b))) = c.copies.filter(|(a, b)| a.0 > 0 || b.0 > 0) {
        lines.push(format!(
            "Copies here: {n}, which write {}; copies there: {m}, which write {}: {}.",
            both(a),
            both(b),
            difference(a, b)
        ));
    }
    for (what, donations) in
        [("Donated only there", &c.donations_gained), ("Donated only here", &c.donations_lost)]
    {
        if !donations.is_empty() {
            let all: Vec<String> = donations.iter().map(|n| format!("argument {n}")).collect();
            lines.push(format!("{what}: {}.", assigner::words::list(&all, 12)));
        }
    }
    Words { title: "Sums".to_owned(), lines, table: sums }
}

/// Values that changed, moved, or are on one side only, and copies.
fn values(left: &Study, right: &Study, c: &Comparison) -> Vec<Section> {
    let mut out = Vec::new();
    let name = |s: &Study, i: usize| cut(&format!("{} {}", s.rows[i].name, s.rows[i].shape));
    if !c.changed.is_empty() {
        let mut table =
            head(&["Value here", "Value there", "Matched by", "Bytes here", "Bytes there", "Owner"]);
        let mut of = Vec::new();
        for m in c.changed.iter().take(MOST).map(|i| &c.matched[*i]) {
            let (a, b) = (&left.rows[m.left], &right.rows[m.right]);
            let (p, q) = (left.slab(a).role.name(), right.slab(b).role.name());
            table.push(vec![
                name(left, m.left),
                name(right, m.right),
                match m.by {
                    By::Name => "name",
                    By::Origin => "shape and origin",
                    By::Scope => "operation and scope",
                }
                .to_owned(),
                bytes(a.size),
                bytes(b.size),
                if p == q { p.to_owned() } else { format!("{p}, there {q}") },
            ]);
            of.push(about((left, &[m.left]), (right, &[m.right])));
        }
        out.push(Section {
            words: Words { title: "Values that changed".to_owned(), lines: more(c.changed.len()), table },
            about: of,
        });
    }
    for (title, study, rows, is_left) in
        [("Only here", left, &c.vanished, true), ("Only there", right, &c.appeared, false)]
    {
        if rows.is_empty() {
            continue;
        }
        let mut table = head(&["Value", "Bytes", "Owner", "Where it comes from"]);
        let mut of = Vec::new();
        for i in rows.iter().take(MOST) {
            let row = &study.rows[*i];
            table.push(vec![
                name(study, *i),
                bytes(row.size),
                study.slab(row).role.name().to_owned(),
                cut(&row.origin.op_name),
            ]);
            of.push(one_sided(study, [*i], is_left));
        }
        let mut lines = vec![match rows.len() {
            1 => "1 value.".to_owned(),
            n => format!("{} values.", grouped(n as u64)),
        }];
        lines.extend(more(rows.len()));
        out.push(Section { words: Words { title: title.to_owned(), lines, table }, about: of });
    }
    if !c.moved.is_empty() {
        let mut table = head(&["Value here", "Value there", "Bytes", "Offset here", "Offset there"]);
        let mut of = Vec::new();
        for m in c.moved.iter().take(MOST).map(|i| &c.matched[*i]) {
            let (a, b) = (&left.rows[m.left], &right.rows[m.right]);
            table.push(vec![
                name(left, m.left),
                name(right, m.right),
                bytes(a.size),
                grouped(a.offset),
                grouped(b.offset),
            ]);
            of.push(about((left, &[m.left]), (right, &[m.right])));
        }
        let mut lines =
            vec!["The same bytes for the same owner, at another offset of the allocation.".to_owned()];
        lines.extend(more(c.moved.len()));
        out.push(Section { words: Words { title: "Values that moved".to_owned(), lines, table }, about: of });
    }
    for (title, study, copies, is_left) in [
        ("Copies only there", right, &c.copies_gained, false),
        ("Copies only here", left, &c.copies_lost, true),
    ] {
        if copies.is_empty() {
            continue;
        }
        let mut table = head(&["Copy", "Bytes"]);
        let mut of = Vec::new();
        for (copy, written) in copies.iter().take(MOST) {
            table.push(vec![cut(copy), bytes(*written)]);
            let rows =
                study.rows.iter().enumerate().filter(|(_, r)| r.name.instruction == *copy).map(|(i, _)| i);
            of.push(one_sided(study, rows, is_left));
        }
        let words = Words { title: title.to_owned(), lines: more(copies.len()), table };
        out.push(Section { words, about: of });
    }
    out
}

fn one_sided(study: &Study, rows: impl IntoIterator<Item = usize>, is_left: bool) -> About {
    let of = spans(study, rows);
    if is_left {
        About { left: of, right: Spans::default() }
    } else {
        About { left: Spans::default(), right: of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bends_are_kept() {
        let steps = [(0, 0), (1, 1), (2, 2), (3, 9), (4, 10), (5, 11), (7, 12)];
        assert_eq!(bends(&steps), [(0, 0), (2, 2), (3, 9), (5, 11), (7, 12)]);
        assert_eq!(bends(&[]), []);
        assert_eq!(bends(&[(4, 5)]), [(4, 5)]);
    }
}
