//! `bufferscope diff LEFT RIGHT [--json]`

use crate::commands::peak::{owners_words, row_in_json};
use crate::input::{AssignmentArguments, ModuleArguments};
use crate::side::{Peak, Side};
use crate::{Answer, Failure, say, shown};
use analysis::Backend;
use assigner::words::{both, bytes, count, difference, list as list_of};
use dumps::diff::{AllocationFace, Difference, Place, Totals, diff};
use questions::{By, Comparison, PeaksOf, Study, compare};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A `-buffer-assignment.txt`, or a module, which is assigned first; or a dump folder or an archive of one
    left: PathBuf,
    /// The other one
    right: PathBuf,
    /// The `.hlo.pb` of the left module
    #[arg(long, value_name = "PROTO")]
    left_orders: Option<PathBuf>,
    /// The `.hlo.pb` of the right module
    #[arg(long, value_name = "PROTO")]
    right_orders: Option<PathBuf>,
    /// The compiler the modules come from: cpu, gpu or tpu [default: detected]
    #[arg(long)]
    target: Option<Backend>,
    /// Which module of the left folder: its number or its name
    #[arg(long, value_name = "ID_OR_NAME")]
    left_module: Option<String>,
    /// Which module of the right folder
    #[arg(long, value_name = "ID_OR_NAME")]
    right_module: Option<String>,
    /// Match values by shape, operation and scope where names differ, and compare the two peaks; always so for folders
    #[arg(long)]
    by_origin: bool,
    /// Use this alignment for every colour
    #[arg(long, value_name = "BYTES", value_parser = crate::input::alignment)]
    alignment: Option<u64>,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let one = |path: &PathBuf, orders: &Option<PathBuf>, pick: &Option<String>| {
        ModuleArguments::new(path.clone(), orders.clone(), arguments.target, arguments.alignment)
            .of(pick.clone())
    };
    let left = one(&arguments.left, &arguments.left_orders, &arguments.left_module).by("--left-module");
    let right = one(&arguments.right, &arguments.right_orders, &arguments.right_module).by("--right-module");
    if arguments.by_origin || left.is_folder()? || right.is_folder()? {
        let left = left.study(&arguments.assignment, false)?;
        let right = right.study(&arguments.assignment, false)?;
        return by_origin(&left, &right, arguments.json);
    }
    let left = Side::read(&left, &arguments.assignment)?;
    let right = Side::read(&right, &arguments.assignment)?;
    let difference = diff(&left.assignment, &right.assignment);
    if arguments.json {
        say(&format!("{}\n", in_json(&difference, &left, &right)))?;
    } else {
        let mut out = difference.words();
        if let (Some(l), Some(r)) = (&left.peak, &right.peak) {
            _ = writeln!(
                out,
                "peak of the live ranges: {} at step {} -> {} at step {}: {}",
                assigner::words::both(l.bytes),
                l.step,
                assigner::words::both(r.bytes),
                r.step,
                assigner::words::difference(l.bytes, r.bytes)
            );
        }
        say(&out)?;
    }
    Ok(if difference.is_same() { Answer::Yes } else { Answer::No })
}

/// Values named one by one of each kind.
const MOST: usize = 15;

fn by_origin(left: &Study, right: &Study, is_json: bool) -> Result<Answer, Failure> {
    let c = compare(left, right);
    let is_same = c.is_same();
    if is_json {
        say(&format!("{}\n", comparison_in_json(left, right, &c, is_same)))?;
    } else {
        say(&shown(&comparison_in_words(left, right, &c, is_same)))?;
    }
    Ok(if is_same { Answer::Yes } else { Answer::No })
}

fn comparison_in_words(left: &Study, right: &Study, c: &Comparison, is_same: bool) -> String {
    let (l, r) = (&c.peaks.0, &c.peaks.1);
    let mut out = String::new();
    _ = writeln!(out, "total: {} -> {}: {}", both(l.total), both(r.total), difference(l.total, r.total));
    for (a, b) in l.owners.iter().zip(&r.owners).filter(|(a, b)| a.bytes > 0 || b.bytes > 0) {
        _ = writeln!(
            out,
            "{}: {} -> {}: {}",
            a.role.name(),
            both(a.bytes),
            both(b.bytes),
            difference(a.bytes, b.bytes)
        );
    }
    for color in l.spaces.iter().chain(&r.spaces).map(|s| s.color).collect::<std::collections::BTreeSet<_>>()
    {
        let of = |p: &questions::Peak| {
            p.spaces.iter().find(|s| s.color == color).map_or((0, 0), |s| (s.live, s.step))
        };
        let (a, b) = (of(l), of(r));
        if a.0 > 0 || b.0 > 0 {
            _ = writeln!(
                out,
                "most temporaries alive in memory space {}: {} at step {} of {} -> {} at step {} of {}: {}",
                questions::space_name(left, color),
                both(a.0),
                a.1,
                left.end,
                both(b.0),
                b.1,
                right.end,
                difference(a.0, b.0)
            );
        }
    }
    if let Some([total, temps]) = c.opposite() {
        _ = writeln!(
            out,
            "The temporaries change by {}, all memory by {}: what is temporary on one side stands in the memory of arguments or outputs on the other.",
            difference(temps.0, temps.1),
            difference(total.0, total.1)
        );
    }
    if !c.at_peak.is_empty() {
        match c.peaks_of {
            PeaksOf::Temporaries => out += "\nWhat makes the difference at the two peaks:\n",
            PeaksOf::Everything { steps: (l, r) } => {
                _ = writeln!(
                    out,
                    "\nWhat makes the difference where most of all memory is in use, at step {l} of {} and step {r} of {}:",
                    left.end, right.end
                );
            }
        }
        for s in c.at_peak.iter().take(MOST) {
            let count = if s.count.0 == s.count.1 {
                s.count.0.to_string()
            } else {
                format!("{} -> {}", s.count.0, s.count.1)
            };
            _ = writeln!(out, "  {}: {count} × {}", difference(s.bytes.0, s.bytes.1), s.what);
        }
    }
    if let Some((a, b)) = c.copies {
        _ = writeln!(out, "\ncopies: {} writing {} -> {} writing {}", a.0, both(a.1), b.0, both(b.1));
        for (what, list) in [("lost", &c.copies_lost), ("gained", &c.copies_gained)] {
            let names: Vec<String> = list.iter().map(|(n, b)| format!("{n} ({})", bytes(*b))).collect();
            if !names.is_empty() {
                _ = writeln!(out, "  {what}: {}", list_of(&names, MOST));
            }
        }
    }
    for (what, all) in [("gained", &c.donations_gained), ("lost", &c.donations_lost)] {
        let names: Vec<String> = all.iter().map(ToString::to_string).collect();
        if !names.is_empty() {
            _ = writeln!(out, "donations {what}: argument {}", list_of(&names, MOST));
        }
    }
    if left.program.is_some() != right.program.is_some() {
        let side = if left.program.is_some() { "right" } else { "left" };
        _ = writeln!(
            out,
            "\nThe {side} side has no text of its module: names and shapes are compared, but not operations, scopes and copies."
        );
    }
    let by = |wanted: By| c.matched.iter().filter(|m| m.by == wanted).count();
    _ = writeln!(
        out,
        "\n{} the same by name, {} by shape, operation and scope, {} by operation and scope only.",
        count(by(By::Name) as u64, "value is", "values are"),
        by(By::Origin),
        by(By::Scope)
    );
    for i in c.changed.iter().take(MOST) {
        let m = &c.matched[*i];
        let (a, b) = (&left.rows[m.left], &right.rows[m.right]);
        _ = writeln!(
            out,
            "  {} -> {}: {} {} {} -> {} {} {}",
            a.name,
            b.name,
            left.slab(a).role.name(),
            a.shape,
            bytes(a.size),
            right.slab(b).role.name(),
            b.shape,
            bytes(b.size)
        );
    }
    if !c.moved.is_empty() {
        _ = writeln!(out, "{} moved to another offset:", c.moved.len());
        for m in c.moved.iter().take(MOST).map(|i| &c.matched[*i]) {
            let (a, b) = (&left.rows[m.left], &right.rows[m.right]);
            let owner = left.slab(a).role.name();
            _ = writeln!(out, "  {} {owner} {}: {} -> {}", a.name, bytes(a.size), a.offset, b.offset);
        }
    }
    for (what, study, rows) in [("vanished", left, &c.vanished), ("appeared", right, &c.appeared)] {
        if rows.is_empty() {
            continue;
        }
        _ = writeln!(out, "{} {what}:", rows.len());
        for i in rows.iter().take(MOST) {
            let row = &study.rows[*i];
            _ = writeln!(
                out,
                "  {} {} {} {}",
                row.name,
                row.shape,
                study.slab(row).role.name(),
                bytes(row.size)
            );
        }
    }
    if is_same {
        out += "The two are the same.\n";
    }
    out
}

fn comparison_in_json(left: &Study, right: &Study, c: &Comparison, is_same: bool) -> Value {
    let side = |p: &questions::Peak| {
        let spaces: Vec<Value> = p
            .spaces
            .iter()
            .map(|s| json!({"color": s.color, "temp": s.temp, "live": s.live, "step": s.step}))
            .collect();
        json!({"total_bytes": p.total, "owners": crate::commands::peak::owners_in_json(p), "spaces": spaces, "words": owners_words(p)})
    };
    let by = |b: By| match b {
        By::Name => "name",
        By::Origin => "origin",
        By::Scope => "scope",
    };
    let changed: Vec<Value> = c
        .changed
        .iter()
        .map(|i| {
            let m = &c.matched[*i];
            json!({
                "by": by(m.by),
                "left": row_in_json(left, &left.rows[m.left]),
                "right": row_in_json(right, &right.rows[m.right]),
            })
        })
        .collect();
    let moved: Vec<Value> = c
        .moved
        .iter()
        .map(|i| &c.matched[*i])
        .map(|m| json!({"left": row_in_json(left, &left.rows[m.left]), "right": row_in_json(right, &right.rows[m.right])}))
        .collect();
    let rows = |study: &Study, rows: &[usize]| -> Vec<Value> {
        rows.iter().map(|i| row_in_json(study, &study.rows[*i])).collect()
    };
    let copies = |all: &[(String, u64)]| -> Vec<Value> {
        all.iter().map(|(name, bytes)| json!({"copy": name, "bytes": bytes})).collect()
    };
    let at_peak: Vec<Value> = c
        .at_peak
        .iter()
        .map(|s| json!({"what": s.what, "count": [s.count.0, s.count.1], "bytes": [s.bytes.0, s.bytes.1]}))
        .collect();
    json!({
        "same": is_same,
        "left": side(&c.peaks.0),
        "right": side(&c.peaks.1),
        "at_peak": at_peak,
        "at_peak_of": match c.peaks_of {
            PeaksOf::Temporaries => "temporaries",
            PeaksOf::Everything { .. } => "all",
        },
        "matched": {
            "name": c.matched.iter().filter(|m| m.by == By::Name).count(),
            "origin": c.matched.iter().filter(|m| m.by == By::Origin).count(),
            "scope": c.matched.iter().filter(|m| m.by == By::Scope).count(),
        },
        "changed": changed,
        "moved": moved,
        "vanished": rows(left, &c.vanished),
        "appeared": rows(right, &c.appeared),
        "copies": c.copies.map(|(a, b)| json!({"left": {"count": a.0, "bytes": a.1}, "right": {"count": b.0, "bytes": b.1}})),
        "copies_lost": copies(&c.copies_lost),
        "copies_gained": copies(&c.copies_gained),
        "donations_gained": c.donations_gained,
        "donations_lost": c.donations_lost,
    })
}

fn in_json(difference: &Difference, left: &Side, right: &Side) -> Value {
    let allocations: Vec<Value> = difference
        .allocations
        .iter()
        .map(|a| json!({"left": a.left.as_ref().map(face), "right": a.right.as_ref().map(face)}))
        .collect();
    let values: Vec<Value> = difference
        .values
        .iter()
        .map(|v| {
            json!({
                "value": v.name.to_string(),
                "change": v.change.name(),
                "shape": v.shape,
                "left": v.left.map(place),
                "right": v.right.map(place),
            })
        })
        .collect();
    json!({
        "same": difference.is_same(),
        "left": totals(&difference.left, left.peak.as_ref()),
        "right": totals(&difference.right, right.peak.as_ref()),
        "allocations": allocations,
        "values": values,
        "renumbered_allocations": difference.renumbered,
        "renumbered_values": difference.new_ids,
    })
}

fn totals(t: &Totals, peak: Option<&Peak>) -> Value {
    json!({
        "total_bytes": t.total,
        "temp_bytes": t.temp,
        "parameter_bytes": t.parameter,
        "live_out_bytes": t.live_out,
        "constant_bytes": t.constant,
        "thread_local_bytes": t.thread_local,
        "allocations": t.allocations,
        "values": t.values,
        "peak": peak.map(|p| json!({"step": p.step, "bytes": p.bytes})),
    })
}

fn face(f: &AllocationFace) -> Value {
    json!({"allocation": f.number, "size": f.size, "color": f.color, "kind": f.kind})
}

fn place(p: Place) -> Value {
    json!({"allocation": p.allocation, "offset": p.offset, "size": p.size})
}
