//! Two dumps side by side, in words and tables.

use crate::rows::space_name;
use crate::talk::Words;
use crate::text::cut;
use assigner::words::{both, bytes, difference, grouped};
use questions::{By, Study, compare};
use std::collections::BTreeSet;

/// Most lines of a table.
const MOST: usize = 60;

fn head(columns: &[&str]) -> Vec<Vec<String>> {
    vec![columns.iter().map(|c| (*c).to_owned()).collect()]
}

/// What differs: the sums, the peaks, values, copies, donations.
pub(crate) fn words(left: &Study, right: &Study) -> Vec<Words> {
    let c = compare(left, right);
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
        let of = |p: &questions::Peak| p.spaces.iter().find(|s| s.color == color).map_or(0, |s| s.live);
        if of(l) > 0 || of(r) > 0 {
            add(format!("temporaries in use at the peak, memory space {}", space_name(color)), of(l), of(r));
        }
    }
    let mut out = Vec::new();
    let is_same = c.changed.is_empty() && c.vanished.is_empty() && c.appeared.is_empty() && l == r;
    let mut lines = Vec::new();
    if is_same {
        lines.push(
            "Nothing differs: every value is matched, with the same bytes and the same owner.".to_owned(),
        );
    } else {
        lines.push(format!(
            "{} values are matched, by name or by shape, operation, scope and source line; {} of them differ in bytes or owner, {} are only in this one, {} only in the other.",
            grouped(c.matched.len() as u64),
            grouped(c.changed.len() as u64),
            grouped(c.vanished.len() as u64),
            grouped(c.appeared.len() as u64)
        ));
    }
    if let Some(((n, a), (m, b))) = c.copies {
        lines.push(format!(
            "{n} copies write {} here, {m} copies {} there: {}.",
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
    out.push(Words { title: "Sums".to_owned(), lines, table: sums });
    if !c.at_peak.is_empty() {
        let mut table =
            head(&["At the two peaks", "Here", "There", "Bytes here", "Bytes there", "Difference"]);
        for s in c.at_peak.iter().take(MOST) {
            table.push(vec![
                cut(&s.what),
                s.count.0.to_string(),
                s.count.1.to_string(),
                bytes(s.bytes.0),
                bytes(s.bytes.1),
                difference(s.bytes.0, s.bytes.1),
            ]);
        }
        out.push(Words {
            title: "What makes the difference at the peaks".to_owned(),
            lines: Vec::new(),
            table,
        });
    }
    let name = |s: &Study, i: usize| cut(&format!("{} {}", s.rows[i].name, s.rows[i].shape));
    if !c.changed.is_empty() {
        let mut table =
            head(&["Value here", "Value there", "Matched by", "Bytes here", "Bytes there", "Owner"]);
        for i in c.changed.iter().take(MOST) {
            let m = &c.matched[*i];
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
        }
        out.push(Words { title: "Values that changed".to_owned(), lines: Vec::new(), table });
    }
    for (title, study, rows) in [("Only here", left, &c.vanished), ("Only there", right, &c.appeared)] {
        if rows.is_empty() {
            continue;
        }
        let mut table = head(&["Value", "Bytes", "Owner", "Where it comes from"]);
        for i in rows.iter().take(MOST) {
            let row = &study.rows[*i];
            table.push(vec![
                name(study, *i),
                bytes(row.size),
                study.slab(row).role.name().to_owned(),
                cut(&row.origin.op_name),
            ]);
        }
        let lines = vec![format!("{} values.", grouped(rows.len() as u64))];
        out.push(Words { title: title.to_owned(), lines, table });
    }
    for (title, copies) in [("Copies only there", &c.copies_gained), ("Copies only here", &c.copies_lost)] {
        if copies.is_empty() {
            continue;
        }
        let mut table = head(&["Copy of", "Bytes"]);
        table.extend(copies.iter().take(MOST).map(|(of, n)| vec![cut(of), bytes(*n)]));
        out.push(Words { title: title.to_owned(), lines: Vec::new(), table });
    }
    out
}
