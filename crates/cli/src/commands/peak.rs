//! `bufferscope peak MODULE [--json]`

use crate::commands::budget::{damaged, not_to_be_relied_on, size};
use crate::input::{AssignmentArguments, ModuleArguments};
use crate::{Answer, Failure, say, shown};
use analysis::ValueId;
use assigner::words::{both, bytes, count, grouped};
use dumps::{BreakdownNode, HeapPeak};
use questions::{Fit, Group, Growing, Note, Program, Role, Row, SpacePeak, Study, Sum, Verdict, space_name};
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// List at most this many values of each kind (JSON has them all)
    #[arg(long, value_name = "COUNT", default_value_t = 30)]
    most: usize,
    /// Of a dump: look at our assignment instead of XLA's own
    #[arg(long)]
    ours: bool,
    /// Could it fit into so much main memory (space 0)? Exit status 1 if it does not as it is
    #[arg(long, value_name = "SIZE", value_parser = size)]
    limit: Option<u64>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let study = arguments.module.study(&arguments.assignment, arguments.ours)?;
    if study.rows.iter().all(|r| r.range.is_none()) {
        return Err(Failure(
            "without a schedule or live ranges there is no peak, expected a scheduled module or its live-range file"
                .to_owned(),
        ));
    }
    let peak = questions::peak(&study);
    let notes = questions::notes(&study, &peak);
    let counted = study.program.as_ref().map(counted);
    let fits = questions::fits(&study, &peak);
    let refused = match arguments.limit {
        Some(_) => not_to_be_relied_on(&study),
        None => damaged(&study, "these sums are not to be relied on"),
    };
    let verdict = |f: &Fit| {
        let limit = arguments.limit.filter(|_| f.color == 0 && refused.is_none())?;
        Some((limit, f.verdict(limit)))
    };
    if arguments.json {
        let mut out = in_json(&study, &peak, &notes, counted.as_ref());
        out["fits"] = fits
            .iter()
            .map(|f| {
                json!({
                    "color": f.color,
                    "temp": f.temp,
                    "least_temp": f.least_temp,
                    "fixed": f.fixed,
                    "least": f.least,
                    "holes": f.holes,
                    "verdict": verdict(f).map(|(_, v)| match v {
                        Verdict::Fits => "fits",
                        Verdict::Perhaps => "perhaps",
                        Verdict::Never => "never",
                    }),
                })
            })
            .collect();
        say(&format!("{out}\n"))?;
    } else {
        let mut out = in_words(&study, &peak, &notes, counted.as_ref(), arguments.most);
        for f in &fits {
            if let Some((limit, v)) = verdict(f) {
                _ = writeln!(out, "{}", verdict_words(f, limit, v));
            }
        }
        say(&shown(&out))?;
    }
    if let Some(why) = refused {
        return Err(why);
    }
    let is_kept = fits.iter().filter_map(verdict).all(|(_, v)| v == Verdict::Fits);
    Ok(if is_kept { Answer::Yes } else { Answer::No })
}

fn verdict_words(f: &Fit, limit: u64, verdict: Verdict) -> String {
    let taken = f.fixed.saturating_add(f.temp);
    match verdict {
        Verdict::Fits => format!("Memory space {}: {} fit into {}.", f.color, both(taken), both(limit)),
        Verdict::Perhaps => format!(
            "Memory space {}: {} do not fit into {}, but no more than {} are alive at any step: another packing might.",
            f.color,
            both(taken),
            both(limit),
            both(f.least)
        ),
        Verdict::Never => format!(
            "Memory space {}: no packing fits into {}: {} are alive at one step.",
            f.color,
            both(limit),
            both(f.least)
        ),
    }
}

/// The peak as XLA's live-range file counts it.
struct Counted {
    peak: dumps::Peak,
    tree: Vec<BreakdownNode>,
}

fn counted(program: &Program) -> Counted {
    let peak = dumps::peak(&program.module, &program.facts);
    let tree = dumps::breakdown(&program.module, &program.facts, &peak.values);
    Counted { peak, tree }
}

/// `argument 256 B, temp 1 KiB`, without those that hold nothing.
pub(crate) fn owners_words(peak: &questions::Peak) -> String {
    let owners: Vec<String> = peak
        .owners
        .iter()
        .filter(|o| o.bytes > 0)
        .map(|o| {
            let donated =
                if o.donated > 0 { format!(" ({} donated)", bytes(o.donated)) } else { String::new() };
            format!("{} {}{donated}", o.role.name(), both(o.bytes))
        })
        .collect();
    if owners.is_empty() { "nothing".to_owned() } else { owners.join(", ") }
}

fn in_words(
    study: &Study,
    peak: &questions::Peak,
    notes: &[Note],
    counted: Option<&Counted>,
    most: usize,
) -> String {
    let mut out = format!("{} in all: {}.\n", both(peak.total), owners_words(peak));
    for words in checked_words(study) {
        _ = writeln!(out, "{words}");
    }
    let spaces: Vec<String> = peak
        .spaces
        .iter()
        .filter(|s| s.allocated > 0)
        .map(|s| format!("{} in space {}", both(s.allocated), space_name(study, s.color)))
        .collect();
    if spaces.len() > 1 {
        _ = writeln!(out, "By memory space: {}.", spaces.join(", "));
    }
    let (first, rest) = notes.split_at(notes.len().min(FIRST_NOTES));
    if peak.spaces.iter().all(|s| s.temp == 0) {
        out += "There are no temporaries: arguments, outputs and constants are all there is.\n";
    }
    for space in peak.spaces.iter().filter(|s| s.temp > 0) {
        out += &summary(study, space);
    }
    notes_in_words("What stands out:", first, most, &mut out);
    for space in peak.spaces.iter().filter(|s| s.temp > 0) {
        space_in_words(study, space, most, &mut out);
    }
    notes_in_words("What else stands out:", rest, most.saturating_sub(first.len()), &mut out);
    if let (Some(program), Some(counted)) = (&study.program, counted) {
        counted_in_words(study, program, counted, most, &mut out);
    }
    out
}

/// Notes that are told before the tables.
const FIRST_NOTES: usize = 5;

fn notes_in_words(title: &str, notes: &[Note], most: usize, out: &mut String) {
    if most > 0 && !notes.is_empty() {
        _ = writeln!(out, "\n{title}");
        for note in notes.iter().take(most) {
            _ = writeln!(out, "  {}", note.words);
        }
    }
}

/// What a memory space comes to: how much, when, and where most of it comes from.
fn summary(study: &Study, space: &SpacePeak) -> String {
    let mut out = format!(
        "Temporaries of memory space {}: {}. Most is taken at step {} of {}, {}: {}, {} not.\n",
        space_name(study, space.color),
        both(space.temp),
        space.step,
        study.end,
        study.at(space.step),
        both(space.live),
        bytes(space.temp.saturating_sub(space.live))
    );
    let by = |property: &dyn Fn(&Row) -> String| -> Vec<String> {
        let sums = questions::sums(study, &space.slots, property);
        let part = |s: &Sum| format!("{} {:.0} %", s.name, share(s.bytes, space.live));
        let mut parts: Vec<String> = sums.iter().take(3).map(part).collect();
        let named = sums.iter().fold(0u64, |n, s| n.saturating_add(s.bytes));
        let rest = share(space.live.saturating_sub(named), space.live);
        if !parts.is_empty() && rest >= 0.5 {
            parts.push(format!("{rest:.0} % without"));
        }
        parts
    };
    let places = questions::places(study, &space.slots);
    let named =
        places.iter().filter(|p| p.name() != p.lines && p.bytes.saturating_mul(100) >= space.live).take(3);
    let places: Vec<String> =
        named.map(|p| format!("{} {:.0} %", p.name(), share(p.bytes, space.live))).collect();
    let lines = by(&|r| r.origin.source_words());
    let operations = by(&|r| r.origin.operation().to_owned());
    let phases = by(&|r| r.origin.phase.name().to_owned());
    for (what, parts) in [
        ("By place", places),
        ("By source line", lines),
        ("By operation", operations),
        ("By part of the step", phases),
    ] {
        if !parts.is_empty() {
            _ = writeln!(out, "  {what}: {}.", parts.join(", "));
        }
    }
    out
}

/// Whether the sums are those of the compiler's own files.
fn checked_words(study: &Study) -> Vec<String> {
    match (study.source, study.checks.is_empty()) {
        (questions::Source::Ours, _) => {
            vec!["The sums are those of our own assignment, which no file of the compiler gives.".to_owned()]
        }
        (questions::Source::Dump, true) => vec![
            "Not checked: no file gives the total. It stands in those that end in -buffer-assignment-values.txt and -memory-usage-report.txt."
                .to_owned(),
        ],
        (questions::Source::Dump, false) => study.checks.iter().map(opening::Check::words).collect(),
    }
}

/// How XLA's own peak of the live ranges compares with the one that was worked out.
fn told_peak_words(study: &Study, peak: &dumps::Peak) -> Option<String> {
    let told = study.told_peak.as_ref()?;
    let difference = both(told.bytes.abs_diff(peak.total));
    let step = if told.step == peak.step.0 { String::new() } else { format!(", at step {}", told.step) };
    Some(match told.bytes.cmp(&peak.total) {
        std::cmp::Ordering::Equal => format!("Checked: {} says the same{step}.", told.file),
        order => format!(
            "{} says {}{step}, {difference} {}: its ranges are of another module or another compilation, or cut off.",
            told.file,
            both(told.bytes),
            if order.is_gt() { "more" } else { "less" }
        ),
    })
}

fn space_in_words(study: &Study, space: &SpacePeak, most: usize, out: &mut String) {
    _ = writeln!(out, "\nIn memory space {} at step {}:\n", space_name(study, space.color), space.step);
    let groups = questions::groups(study, &space.slots);
    let growing = questions::growing(study, space);
    _ = writeln!(out, "{:>15}  {:>15}  {:>6}  {:<11}  what", "bytes", "cumulative", "share", "steps");
    let mut sum = 0u64;
    for (i, g) in groups.iter().enumerate() {
        sum = sum.saturating_add(g.bytes);
        if i < most {
            _ = writeln!(
                out,
                "{:>15}  {:>15}  {:>5.1}%  {:<11}  {}",
                grouped(g.bytes),
                grouped(sum),
                share(g.bytes, space.live),
                format!("{}-{}", g.range.0, g.range.1),
                group_words(study, space, &growing, g)
            );
        }
    }
    if groups.len() > most {
        _ = writeln!(out, "and {} more", grouped((groups.len() - most) as u64));
    }
    if sum != space.live {
        _ = writeln!(
            out,
            "Together {}, not {}: values overlap that are alive at the same time.",
            both(sum),
            both(space.live)
        );
    }
    let table = |out: &mut String, title: &str, sums: Vec<Sum>| {
        if sums.is_empty() {
            return;
        }
        _ = writeln!(out, "\n{title}");
        for s in sums.iter().take(most.min(10)) {
            _ = writeln!(
                out,
                "{:>15}  {:>5.1}%  {:>4} ×  {}",
                grouped(s.bytes),
                share(s.bytes, space.live),
                s.count,
                s.name
            );
        }
    };
    table(out, "By scope:", questions::sums(study, &space.slots, |r| r.origin.scope().to_owned()));
    table(out, "By source line:", questions::sums(study, &space.slots, |r| r.origin.source_words()));
    table(
        out,
        "By part of the step:",
        questions::sums(study, &space.slots, |r| r.origin.phase.name().to_owned()),
    );
}

fn group_words(study: &Study, space: &SpacePeak, growing: &[Growing], g: &Group) -> String {
    let first = &space.slots[g.slots[0]];
    let mut out = format!("{} × {}", g.slots.len(), g.shape);
    if !g.operation.is_empty() {
        _ = write!(out, " {}", g.operation);
    }
    if !g.scope.is_empty() {
        _ = write!(out, "  {}", g.scope);
    }
    if !g.source.is_empty() {
        _ = write!(out, "  {}", g.source);
    }
    if !g.phase.name().is_empty() {
        _ = write!(out, "  [{}]", g.phase.name());
    }
    let names: Vec<String> =
        g.slots.iter().take(3).map(|s| space.slots[*s].row(study).name.to_string()).collect();
    let more = if g.slots.len() > 3 { ", ..." } else { "" };
    _ = write!(out, "  ({}{more})", names.join(", "));
    if g.slots.len() == 1
        && let Some(unpadded) =
            first.row(study).unpadded.filter(|u| *u > 0 && u.saturating_mul(3) < first.size.saturating_mul(2))
    {
        _ = write!(out, "  {:.1} times its data", first.size as f64 / unpadded as f64);
    }
    if let Some(d) = Growing::of(growing, first.rows[0]) {
        _ = write!(out, "  {}", d.words());
    }
    out
}

fn counted_in_words(study: &Study, program: &Program, counted: &Counted, most: usize, out: &mut String) {
    let peak = &counted.peak;
    _ = writeln!(
        out,
        "\nAs the live-range file counts, with arguments and results and without padding, most is alive at step {} of {}, {}: {} in {}.",
        peak.step,
        program.facts.clock.end,
        study.at(peak.step.0),
        both(peak.total),
        count(peak.values.len() as u64, "value", "values")
    );
    if let Some(words) = told_peak_words(study, peak) {
        _ = writeln!(out, "{words}");
    }
    out.push('\n');
    _ = writeln!(out, "{:>15}  {:>15}  {:>6}  {:<12}  value", "bytes", "cumulative", "share", "memory");
    let mut sum = 0u64;
    for (i, (v, size)) in peak.values.iter().enumerate() {
        sum = sum.saturating_add(*size);
        if i >= most {
            continue;
        }
        let memory = study.row_of(*v).map_or("none", |r| role_word(study.slab(&study.rows[r]).role));
        _ = writeln!(
            out,
            "{:>15}  {:>15}  {:>5.1}%  {memory:<12}  {}",
            grouped(*size),
            grouped(sum),
            share(*size, peak.total),
            described(program, *v)
        );
    }
    if peak.values.len() > most {
        _ = writeln!(out, "and {} more", grouped((peak.values.len() - most) as u64));
    }
    out.push('\n');
    let lines = dumps::largest(&counted.tree, most);
    *out += &dumps::breakdown_text(&lines, peak.total);
    let more = counted.tree.len() - lines.len();
    if more > 0 {
        _ = writeln!(out, "  and {}", count(more as u64, "smaller line", "smaller lines"));
    }
}

fn role_word(role: Role) -> &'static str {
    match role {
        Role::Argument => "parameter",
        Role::Output => "result",
        Role::Temp => "temporary",
        Role::Constant => "constant",
        Role::ThreadLocal => "thread-local",
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// `fusion.1 f32[32,64] jit(f)/dot`
fn described(program: &Program, v: ValueId) -> String {
    let (module, facts) = (&program.module, &program.facts);
    let shape = module.shapes.short(facts.value_shape(module, v));
    let mut out = format!("{} {shape}", facts.label(module, v));
    if let Some(op) = dumps::op_name(module, facts.defining(v)) {
        _ = write!(out, " {op}");
    }
    out
}

fn value(study: &Study, program: &Program, v: ValueId) -> serde_json::Map<String, Value> {
    let (module, facts) = (&program.module, &program.facts);
    let instruction = module.instruction(facts.defining(v));
    let row = study.row_of(v).map(|r| &study.rows[r]);
    let range = facts.ranges.get(v);
    let fields = json!({
        "value": facts.label(module, v),
        "id": v.0,
        "shape": module.shapes.long(facts.value_shape(module, v)),
        "opcode": module.str(instruction.opcode_name),
        "op_name": dumps::op_name(module, facts.defining(v)),
        "start": range.map(|r| r.start.0),
        "end": range.map(|r| r.end.0),
        "allocation": row.map(|r| study.slab(r).number),
        "offset": row.map(|r| r.offset),
        "size": row.map(|r| r.size),
        "kind": row.map(|r| role_word(study.slab(r).role)),
    });
    match fields {
        Value::Object(map) => map,
        _ => serde_json::Map::new(),
    }
}

/// A row of the table.
pub(crate) fn row_in_json(study: &Study, row: &Row) -> Value {
    json!({
        "value": row.name.to_string(),
        "shape": row.shape,
        "allocation": study.slab(row).number,
        "offset": row.offset,
        "size": row.size,
        "unpadded": row.unpadded,
        "color": study.slab(row).color,
        "owner": study.slab(row).role.name(),
        "start": row.range.map(|r| r.0),
        "end": row.range.map(|r| r.1),
        "opcode": row.origin.opcode,
        "op_name": Some(&row.origin.op_name).filter(|n| !n.is_empty()),
        "source_file": row.origin.source.as_ref().map(|s| &s.0),
        "source_line": row.origin.source.as_ref().map(|s| s.1),
        "phase": Some(row.origin.phase.name()).filter(|p| !p.is_empty()),
    })
}

/// What stands out.
pub(crate) fn notes_in_json(study: &Study, notes: &[Note]) -> Vec<Value> {
    notes
        .iter()
        .map(|n| {
            let values: Vec<String> = n.rows.iter().map(|r| study.rows[*r].name.to_string()).collect();
            let module = study.program.as_ref().map(|p| &p.module);
            let instructions: Vec<&str> =
                n.instructions.iter().filter_map(|i| module.map(|m| m.name_of(*i))).collect();
            json!({"name": n.name, "bytes": n.bytes, "words": n.words, "values": values, "instructions": instructions})
        })
        .collect()
}

/// Who holds what.
pub(crate) fn owners_in_json(peak: &questions::Peak) -> Value {
    let owners: Vec<Value> = peak
        .owners
        .iter()
        .map(|o| {
            json!({
                "owner": o.role.name(),
                "allocations": o.allocations,
                "bytes": o.bytes,
                "donated": o.donated,
                "address": o.role.address(),
            })
        })
        .collect();
    json!(owners)
}

fn space_in_json(study: &Study, space: &SpacePeak) -> Value {
    let slots: Vec<Value> = space
        .slots
        .iter()
        .map(|s| {
            json!({
                "allocation": study.slabs[s.slab].number,
                "offset": s.offset,
                "size": s.size,
                "cumulative": s.cumulative,
                "start": s.range.0,
                "end": s.range.1,
                "values": s.rows.iter().map(|r| row_in_json(study, &study.rows[*r])).collect::<Vec<_>>(),
            })
        })
        .collect();
    let asked_by: Vec<Value> = questions::asking(study, space.color)
        .iter()
        .map(|a| {
            let values: Vec<String> = a.rows.iter().map(|r| study.rows[*r].name.to_string()).collect();
            let name = study.program.as_ref().map(|p| p.module.name_of(a.collective));
            json!({"collective": name, "bytes": a.bytes, "values": values})
        })
        .collect();
    let growing = questions::growing(study, space);
    let groups: Vec<Value> = questions::groups(study, &space.slots)
        .iter()
        .map(|g| {
            let names: Vec<String> =
                g.slots.iter().map(|s| space.slots[*s].row(study).name.to_string()).collect();
            json!({
                "count": g.slots.len(),
                "shape": g.shape,
                "operation": g.operation,
                "scope": g.scope,
                "source": g.source,
                "phase": Some(g.phase.name()).filter(|p| !p.is_empty()),
                "bytes": g.bytes,
                "repetitions": g.repetitions,
                "repeated_dimension": Growing::of(&growing, space.slots[g.slots[0]].rows[0])
                    .map(|d| json!({"size": d.size, "times": d.times})),
                "start": g.range.0,
                "end": g.range.1,
                "values": names,
            })
        })
        .collect();
    let sums = |sums: Vec<Sum>| -> Vec<Value> {
        sums.iter().map(|s| json!({"name": s.name, "count": s.count, "bytes": s.bytes})).collect()
    };
    json!({
        "color": space.color,
        "allocated": space.allocated,
        "temp": space.temp,
        "step": space.step,
        "instruction": study.at(space.step),
        "live": space.live,
        "slots": slots,
        "groups": groups,
        "by_place": questions::places(study, &space.slots).iter().map(|p| json!({
            "name": p.name(),
            "function": Some(&p.function).filter(|f| !f.is_empty()),
            "scope": Some(&p.scope).filter(|s| !s.is_empty()),
            "lines": Some(&p.lines).filter(|l| !l.is_empty()),
            "count": p.slots.len(),
            "bytes": p.bytes,
        })).collect::<Vec<_>>(),
        "by_scope": sums(questions::sums(study, &space.slots, |r| r.origin.scope().to_owned())),
        "by_source": sums(questions::sums(study, &space.slots, |r| r.origin.source_words())),
        "by_phase": sums(questions::sums(study, &space.slots, |r| r.origin.phase.name().to_owned())),
        "curve": space.curve,
        "asked_by": asked_by,
    })
}

fn in_json(study: &Study, peak: &questions::Peak, notes: &[Note], counted: Option<&Counted>) -> Value {
    let checks: Vec<Value> = study
        .checks
        .iter()
        .map(|c| {
            json!({
                "file": c.file,
                "line": c.line,
                "sum": u64::try_from(c.sum).ok(),
                "told": c.told.bytes,
                "exact": c.told.is_exact,
                "agrees": c.agrees(),
                "words": c.words(),
            })
        })
        .collect();
    let mut out = json!({
        "source": if study.source == questions::Source::Dump { "dump" } else { "ours" },
        "allocated_bytes": peak.total,
        "owners": owners_in_json(peak),
        "spaces": peak.spaces.iter().map(|s| space_in_json(study, s)).collect::<Vec<_>>(),
        "notes": notes_in_json(study, notes),
        "checks": checks,
        "told_peak": study.told_peak.as_ref().map(|t| json!({"file": t.file, "step": t.step, "bytes": t.bytes})),
    });
    if let (Some(program), Some(counted)) = (&study.program, counted) {
        let more = counted_in_json(study, program, counted);
        if let (Value::Object(out), Value::Object(more)) = (&mut out, more) {
            out.extend(more);
        }
    }
    out
}

/// The peak as XLA's live-range file counts it, and our heaps at theirs.
fn counted_in_json(study: &Study, program: &Program, counted: &Counted) -> Value {
    let facts = &program.facts;
    let peak = &counted.peak;
    let name = |step| facts.clock.at(step).map(|i| program.module.name_of(i));
    let mut sum = 0u64;
    let values: Vec<Value> = peak
        .values
        .iter()
        .map(|(v, size)| {
            sum = sum.saturating_add(*size);
            let mut fields = value(study, program, *v);
            fields.insert("bytes".to_owned(), json!(size));
            fields.insert("cumulative".to_owned(), json!(sum));
            fields.insert(
                "share".to_owned(),
                json!(if peak.total == 0 { 0.0 } else { *size as f64 / peak.total as f64 }),
            );
            Value::Object(fields)
        })
        .collect();
    let tree: Vec<Value> = counted
        .tree
        .iter()
        .map(|n| json!({"depth": n.depth, "name": n.name, "total": n.total, "current": n.current}))
        .collect();
    let heaps: Vec<HeapPeak> =
        study.ours.as_ref().map(|(a, _)| dumps::heap_peaks(facts, a)).unwrap_or_default();
    let heaps: Vec<Value> = heaps
        .iter()
        .map(|h| {
            let slots: Vec<Value> = h
                .slots
                .iter()
                .map(|s| {
                    let values: Vec<Value> =
                        s.values.iter().map(|v| Value::Object(value(study, program, *v))).collect();
                    json!({
                        "size": s.size,
                        "allocation": s.place.map(|(a, _)| a.0),
                        "offset": s.place.map(|(_, offset)| offset),
                        "values": values,
                    })
                })
                .collect();
            json!({
                "color": h.color.0,
                "size": h.size,
                "tick": h.tick,
                "step": h.step.0,
                "instruction": name(h.step),
                "live": h.live,
                "slots": slots,
            })
        })
        .collect();
    json!({
        "step": peak.step.0,
        "end": facts.clock.end.0,
        "instruction": name(peak.step),
        "total_bytes": peak.total,
        "values": values,
        "tree": tree,
        "heaps": heaps,
    })
}
