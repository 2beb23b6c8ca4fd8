//! `bufferscope inspect FOLDER_OR_FILE [--json]`

use crate::{Answer, Failure, files, say};
use assigner::words::{both, bytes, count, grouped};
use dumps::diff::Totals;
use dumps::read::Size;
use opening::{Entry, Finding, Limits, Loaded, Opened, OutOfMemory, Remark, VerboseLog};
use questions::{Peak, Role, Settings, Source, Study, peak};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A dump folder, an archive of one (zip, tar, tar.gz), files of a module, the text of an out-of-memory error, a log;
    /// `-` is standard input
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Run our assignment beside XLA's, and say what differs
    #[arg(long)]
    rerun: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// What is missing so often, and matters so little, that only JSON says it.
const UNSAID: &str = "the protocol buffer";

/// Modules of more instructions are not assigned anew only to be listed.
const MOST_INSTRUCTIONS: u64 = 500_000;

/// One module as it is listed.
struct Listed<'a> {
    entry: &'a Entry,
    /// Who holds what: XLA's assignment, else ours.
    peak: Option<(Source, Peak)>,
    backend: Option<&'static str>,
    figures: opening::Figures,
    findings: Vec<Finding>,
    missing: Vec<opening::Missing>,
    remarks: Vec<Remark>,
    generation: Option<opening::Generation>,
    /// Our assignment beside XLA's.
    rerun: Option<String>,
    /// Why the sums of XLA's assignment are not to be relied on.
    doubts: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let mut blobs = Vec::new();
    for path in &arguments.paths {
        blobs.extend(files::read(path)?);
    }
    let opened = opening::open(blobs, &Limits::default());
    let mut listed: Vec<Listed<'_>> = opened
        .modules
        .iter()
        .enumerate()
        .map(|(i, entry)| list(&opened, i, entry, arguments.rerun))
        .collect();
    // What takes most memory is what is looked for.
    listed.sort_by_key(|l| std::cmp::Reverse(l.peak.as_ref().map_or(0, |p| p.1.total)));
    if arguments.json {
        say(&format!("{}\n", in_json(&opened, &listed)))?;
    } else {
        say(&in_words(&opened, &listed))?;
    }
    if is_nothing(&opened) {
        let mut lines = folded(&opened.remarks.iter().collect::<Vec<_>>());
        lines.extend(opened.advice());
        return Err(Failure(lines.join("\n")));
    }
    // What is wrong is told above, with its place; whoever only looks at the status is to know as well.
    let is_error = |r: &Remark| r.severity == hlo::Severity::Error;
    let unread = listed.iter().filter(|l| l.remarks.iter().any(is_error)).count();
    let damaged = opened.remarks.iter().filter(|r| is_error(r)).count();
    let doubtful = listed.iter().filter(|l| !l.doubts.is_empty()).count();
    if unread + damaged + doubtful > 0 {
        let mut lines = Vec::new();
        if unread > 0 {
            lines.push(format!(
                "{unread} of {} cannot be read whole, expected files without errors",
                count(listed.len() as u64, "module", "modules")
            ));
        }
        if doubtful > 0 {
            lines.push(format!(
                "the sums of {doubtful} of {} are not to be relied on, expected assignments that are whole and agree with the other files:",
                count(listed.len() as u64, "module", "modules")
            ));
            let all = listed.iter().filter_map(|l| Some((l, l.doubts.first()?)));
            lines.extend(all.take(MOST_DAMAGED).map(|(l, why)| {
                let id = l.entry.id.as_ref().map(|id| format!("{id} ")).unwrap_or_default();
                format!("  {id}{}: {}", shown(&l.entry.name), shown_long(why))
            }));
        }
        if damaged > 0 {
            let (files, were) = if damaged == 1 { ("file", "was") } else { ("files", "were") };
            lines.push(format!("{damaged} {files} {were} not taken whole, expected none:"));
            let all: Vec<&Remark> = opened.remarks.iter().filter(|r| is_error(r)).collect();
            lines.extend(folded(&all).into_iter().take(MOST_DAMAGED).map(|line| format!("  {line}")));
        }
        return Err(Failure(lines.join("\n")));
    }
    Ok(Answer::Yes)
}

/// Damaged files that the error names; the listing has them all.
const MOST_DAMAGED: usize = 5;

/// Files of which the same is said, one by one; of more, the rest are counted.
const MOST_ALIKE: usize = 8;

/// Remarks, a line each. What is the same of many files is told of some of them, then counted.
fn folded(remarks: &[&Remark]) -> Vec<String> {
    let mut count: HashMap<&str, usize> = HashMap::new();
    for r in remarks {
        *count.entry(&r.text).or_default() += 1;
    }
    let mut told: HashMap<&str, usize> = HashMap::new();
    let mut out = Vec::new();
    for r in remarks {
        let (n, all) = (told.entry(&r.text).or_default(), count[r.text.as_str()]);
        *n += 1;
        if *n <= MOST_ALIKE || all == MOST_ALIKE + 1 {
            out.push(shown_long(&r.to_string()));
        } else if *n == MOST_ALIKE + 1 {
            let more = grouped((all - MOST_ALIKE) as u64);
            out.push(format!("... and {more} more: {}", shown_long(&r.text)));
        }
    }
    out
}

/// Is nothing of use there? Then it is told as an error.
fn is_nothing(opened: &Opened) -> bool {
    opened.modules.is_empty() && opened.errors.is_empty() && opened.logs.is_empty()
}

fn list<'a>(opened: &Opened, i: usize, entry: &'a Entry, with_rerun: bool) -> Listed<'a> {
    let mut loaded = opened.load(i);
    let Loaded { figures, findings, missing, remarks, .. } = &mut loaded;
    let (figures, findings) = (std::mem::take(figures), std::mem::take(findings));
    let (missing, mut remarks) = (std::mem::take(missing), std::mem::take(remarks));
    let (backend, generation) = (loaded.backend, loaded.generation);
    let doubts = loaded.doubts.clone();
    let is_large = figures.instructions.is_some_and(|n| n > MOST_INSTRUCTIONS) && figures.totals.is_none();
    let mut rerun = None;
    let peak = if is_large {
        None
    } else {
        match Study::of(loaded, &Settings { no_rerun: !with_rerun, ..Settings::default() }) {
            Ok(study) => {
                remarks.extend(study.remarks.iter().map(|text| Remark {
                    severity: hlo::Severity::Warning,
                    file: entry.name.clone(),
                    at: None,
                    text: text.clone(),
                }));
                rerun = questions::rerun(&study).map(|r| r.words(&study));
                Some((study.source, peak(&study)))
            }
            Err(questions::StudyError::Nothing) => None,
            Err(e) => {
                let file =
                    entry.hlo.or(entry.proto).map(|f| opened.files[f].name.clone()).unwrap_or_default();
                remarks.push(Remark { severity: hlo::Severity::Error, file, at: None, text: e.to_string() });
                None
            }
        }
    };
    Listed {
        entry,
        peak,
        backend: backend.map(analysis::Backend::name),
        figures,
        findings,
        missing,
        remarks,
        generation,
        rerun,
        doubts,
    }
}

/// Text of a module in a line: shown as text, and not too long.
fn shown(text: &str) -> String {
    cut(text, 120)
}

fn cut(text: &str, most: usize) -> String {
    let mut out: String = text.chars().take(most).map(|c| if c == '\n' { ' ' } else { c }).collect();
    if text.chars().nth(most).is_some() {
        out.push('…');
    }
    crate::shown(&out)
}

fn temp_of(peak: &Peak) -> u64 {
    peak.owner(Role::Temp).map_or(0, |o| o.bytes)
}

/// Bytes in use at the fullest step: what stays throughout, and the temporaries less what the packing loses.
fn in_use(peak: &Peak) -> u64 {
    let temp = peak.spaces.iter().fold(0u64, |sum, s| sum.saturating_add(s.temp));
    let live = peak.spaces.iter().fold(0u64, |sum, s| sum.saturating_add(s.live));
    peak.total.saturating_sub(temp).saturating_add(live)
}

/// The live-range file's own peak, where it is far below what is in use: it misses parts of tuples.
fn own_peak(l: &Listed<'_>) -> Option<String> {
    let (_, told) = l.figures.peak?;
    let (source, peak) = l.peak.as_ref()?;
    (*source == Source::Dump && told < in_use(peak) / 4 * 3).then(|| {
        format!(
            "The live-range file calls {} its peak. It counts logical sizes and leaves parts of tuples out: {} are in use.",
            both(told),
            both(in_use(peak))
        )
    })
}

fn in_words(opened: &Opened, listed: &[Listed<'_>]) -> String {
    let mut out = String::new();
    if !listed.is_empty() {
        _ = writeln!(
            out,
            "{} in {}.\n",
            count(listed.len() as u64, "module", "modules"),
            count(opened.files.len() as u64, "file", "files")
        );
        _ = writeln!(
            out,
            "{:<6} {:<7} {:>12} {:>15} {:>15} {:>15}  module",
            "id", "backend", "instructions", "total", "temporaries", "most in use"
        );
        for l in listed {
            let number = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), grouped);
            let totals = l.peak.as_ref();
            let stages = if l.entry.stage.is_empty() {
                String::new()
            } else {
                format!("  ({})", shown(&l.entry.stage))
            };
            _ = writeln!(
                out,
                "{:<6} {:<7} {:>12} {:>15} {:>15} {:>15}  {}{stages}",
                l.entry.id.as_deref().unwrap_or("-"),
                l.backend.unwrap_or("?"),
                number(l.figures.instructions),
                number(totals.map(|p| p.1.total)),
                number(totals.map(|p| temp_of(&p.1))),
                number(totals.map(|p| in_use(&p.1))),
                shown(&l.entry.name),
            );
        }
        let mut generations: Vec<&str> = listed.iter().filter_map(|l| Some(l.generation?.words())).collect();
        generations.sort_unstable();
        generations.dedup();
        if let [one] = generations[..] {
            _ = writeln!(out, "\nThe files about the assignment were {one}.");
        }
        if listed.iter().any(|l| l.peak.as_ref().is_some_and(|p| p.0 == Source::Ours)) {
            out += "\nModules without XLA's own assignment were assigned anew.\n";
        }
        let mut told: Vec<&str> = Vec::new();
        for l in listed.iter().filter(|l| !l.entry.same_name.is_empty()) {
            if !told.contains(&l.entry.name.as_str()) {
                told.push(&l.entry.name);
                let signatures: std::collections::HashSet<Option<&str>> = listed
                    .iter()
                    .filter(|o| o.entry.name == l.entry.name)
                    .map(|o| o.entry.signature.as_deref())
                    .collect();
                let why = if signatures.len() > 1 {
                    "one function compiled for several shapes, or several functions of that name"
                } else {
                    "several functions of that name, or one with other options"
                };
                _ = writeln!(
                    out,
                    "\n{} modules are named {}: {why}; they are kept apart by their numbers and files.",
                    l.entry.same_name.len() + 1,
                    shown(&l.entry.name)
                );
                for other in listed.iter().filter(|o| o.entry.name == l.entry.name) {
                    let id = other.entry.id.as_deref().unwrap_or("-");
                    let folder = opened.short_folder(other.entry);
                    let signature = other.entry.signature.as_deref().unwrap_or("");
                    let file = other.entry.hlo.or(other.entry.proto).map(|f| opened.files[f].name.as_str());
                    let file = file.and_then(|f| f.rsplit('/').next()).unwrap_or("");
                    let parts = [shown(folder), shown(file), shown(signature)];
                    let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
                    _ = writeln!(out, "  {id}  {}", parts.join("  "));
                }
            }
        }
    }
    let missing_words = |m: &opening::Missing| {
        format!("{} is not there. Without it: {}. {}.", upper(m.what), m.costs, upper(&m.how))
    };
    // What most of many modules lack is said once.
    let mut lacking: Vec<(String, usize)> = Vec::new();
    for m in listed.iter().flat_map(|l| &l.missing).filter(|m| m.what != UNSAID) {
        let words = missing_words(m);
        match lacking.iter_mut().find(|(w, _)| *w == words) {
            Some((_, count)) => *count += 1,
            None => lacking.push((words, 1)),
        }
    }
    lacking.retain(|(_, count)| *count > 3);
    for (words, count) in &lacking {
        let of = if *count == listed.len() {
            "All".to_owned()
        } else {
            format!("{count} of the {}", listed.len())
        };
        _ = writeln!(out, "\n{of} modules: {words}");
    }
    for l in listed {
        let mut lines: Vec<String> = l.findings.iter().map(|f| shown_long(&f.words())).collect();
        lines.extend(own_peak(l));
        lines.extend(l.rerun.iter().map(|r| shown_long(r)));
        lines.extend(l.remarks.iter().map(|r| shown_long(&r.to_string())));
        lines.extend(
            l.missing
                .iter()
                .filter(|m| m.what != UNSAID)
                .map(missing_words)
                .filter(|words| !lacking.iter().any(|(w, _)| w == words)),
        );
        if !lines.is_empty() {
            let id = l.entry.id.as_ref().map(|id| format!("{id} ")).unwrap_or_default();
            _ = writeln!(out, "\n{id}{}:", shown(&l.entry.name));
            for line in lines {
                _ = writeln!(out, "  {line}");
            }
        }
    }
    for (file, oom) in &opened.errors {
        _ = writeln!(out, "\n{}:", shown(&opened.files[*file].name));
        out += &oom_words(oom, listed);
    }
    for (file, log) in &opened.logs {
        _ = writeln!(out, "\n{}:", shown(&opened.files[*file].name));
        out += &log_words(log);
    }
    if !opened.remarks.is_empty() && !is_nothing(opened) {
        out.push('\n');
        for line in folded(&opened.remarks.iter().collect::<Vec<_>>()) {
            _ = writeln!(out, "{line}");
        }
    }
    if let Some(advice) = opened.advice().filter(|_| !is_nothing(opened)) {
        _ = writeln!(out, "\n{advice}");
    }
    out
}

fn upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn shown_long(text: &str) -> String {
    cut(text, 600)
}

fn size_words(s: Size) -> String {
    if s.is_exact { both(s.bytes) } else { format!("about {}", assigner::words::binary(s.bytes)) }
}

fn oom_words(oom: &OutOfMemory, listed: &[Listed<'_>]) -> String {
    let mut out = String::new();
    let place = oom.space.as_deref().unwrap_or("memory");
    match (oom.used, oom.limit) {
        (Some(used), Some(limit)) => {
            let over = used.bytes.saturating_sub(limit.bytes);
            _ = writeln!(
                out,
                "  The program needs {} of {place}; there are {}: {} too much.",
                size_words(used),
                size_words(limit),
                size_words(Size { bytes: over, is_exact: false })
            );
        }
        _ => {
            if let (opening::Form::Scoped, Some(requested), Some(limit)) =
                (oom.form, oom.requested, oom.limit)
            {
                let over = requested.bytes.saturating_sub(limit.bytes);
                let kernel = oom.buffers.first().and_then(|b| b.label.as_deref()).unwrap_or("A kernel");
                _ = writeln!(
                    out,
                    "  {} needs {} of its own in {place}; its limit is {}: {} too much. Smaller blocks need less, and a kernel of Pallas may be allowed more with `vmem_limit_bytes`.",
                    shown(kernel),
                    size_words(requested),
                    size_words(limit),
                    size_words(Size { bytes: over, is_exact: false })
                );
            } else if let Some(requested) = oom.requested {
                let limit = oom.limit.map(|l| format!(" of {}", size_words(l))).unwrap_or_default();
                _ = writeln!(out, "  One request asked for {}{limit}.", size_words(requested));
            }
        }
    }
    if let Some(caution) = oom.caution() {
        _ = writeln!(out, "  {caution}");
    }
    for (name, size) in &oom.totals {
        _ = writeln!(out, "  {}: {}", shown(name), size_words(*size));
    }
    if !oom.buffers.is_empty() {
        _ = writeln!(out, "  The listing has {}:", count(oom.buffers.len() as u64, "entry", "entries"));
        for b in oom.buffers.iter().take(15) {
            let padding = b.unpadded.filter(|u| u.bytes > 0 && u.bytes < b.size.bytes).map(|u| {
                format!(", {:.1} times its {} of data", b.size.bytes as f64 / u.bytes as f64, size_words(u))
            });
            // What a kernel's own memory is for stands in the label: a window, registers that were put aside.
            let label = b.label.as_deref().filter(|_| b.op_name.is_none() || place == "vmem");
            let op = match (b.op_name.as_deref(), label) {
                (Some(op), Some(label)) => format!("{op}, {label}"),
                (op, label) => op.or(label).or(b.kind.as_deref()).unwrap_or("").to_owned(),
            };
            _ = writeln!(
                out,
                "    {:>3}. {} {} {}{}",
                b.number,
                size_words(b.size),
                shown(&b.shape),
                shown(&op),
                padding.unwrap_or_default()
            );
        }
    }
    // A text without the module's name is about the only module there is.
    let is_meant = |l: &&Listed<'_>| match &oom.module {
        Some(name) => l.entry.name == *name,
        None => listed.len() == 1,
    };
    if let Some(l) = listed.iter().find(is_meant)
        && let Some((_, peak)) = &l.peak
    {
        out += "  The dump takes it apart:\n";
        for o in peak.owners.iter().filter(|o| o.bytes > 0) {
            let donated = if o.role == Role::Argument && peak.owner(Role::Output).is_some_and(|r| r.bytes > 0)
            {
                format!(", of which {} are donated", bytes(o.donated))
            } else {
                String::new()
            };
            _ = writeln!(out, "    {}: {}{donated}", o.role.name(), both(o.bytes));
        }
        if let Some(words) = oom.limit.and_then(|limit| questions::packing_words(peak, limit.bytes)) {
            _ = writeln!(out, "    {words}");
        }
    }
    out
}

fn log_words(log: &VerboseLog) -> String {
    let mut out = String::new();
    let total: u64 = log.refused.iter().map(|r| r.1).sum();
    _ = writeln!(
        out,
        "  {}; {} in existing allocations, {} accepted, {} refused; {} left to the heap.",
        count(log.runs.into(), "assignment", "assignments"),
        count(log.tried, "trial", "trials"),
        grouped(log.accepted),
        grouped(total),
        count(log.delayed, "value", "values")
    );
    for (why, count) in &log.refused {
        _ = writeln!(out, "    {why}: {}", grouped(*count));
    }
    for s in &log.strategies {
        _ = match s.over {
            Some((needs, limit)) => {
                writeln!(out, "  Strategy {}: {} against a limit of {}.", s.name, both(needs), both(limit))
            }
            None => writeln!(out, "  Strategy {}: no complaint.", s.name),
        };
    }
    out
}

fn totals_in_json(t: &Totals) -> Value {
    json!({
        "total_bytes": t.total,
        "temp_bytes": t.temp,
        "parameter_bytes": t.parameter,
        "live_out_bytes": t.live_out,
        "constant_bytes": t.constant,
        "thread_local_bytes": t.thread_local,
        "allocations": t.allocations,
        "values": t.values,
    })
}

fn remark(r: &Remark) -> Value {
    json!({
        "file": r.file,
        "line": r.at.map(|a| a.line),
        "column": r.at.map(|a| a.column),
        "severity": if r.severity == hlo::Severity::Error { "error" } else { "warning" },
        "text": r.text,
    })
}

fn size(s: Option<Size>) -> Value {
    s.map_or(Value::Null, |s| json!({"bytes": s.bytes, "exact": s.is_exact}))
}

fn in_json(opened: &Opened, listed: &[Listed<'_>]) -> Value {
    let name = |i: &usize| opened.files[*i].name.clone();
    let modules: Vec<Value> = listed
        .iter()
        .map(|l| {
            let e = l.entry;
            let owners = l.peak.as_ref().map(|(source, peak)| {
                let by_role: serde_json::Map<String, Value> =
                    peak.owners.iter().map(|o| (o.role.name().replace('-', "_"), json!(o.bytes))).collect();
                json!({
                    "source": if *source == Source::Dump { "dump" } else { "ours" },
                    "total_bytes": peak.total,
                    "by_owner": by_role,
                })
            });
            json!({
                "id": e.id,
                "name": e.name,
                "folder": e.folder,
                "stage": e.stage,
                "backend": l.backend,
                "signature": e.signature,
                "files": e.hlo.iter().chain(&e.proto).chain(&e.dumps).chain(&e.logs).map(name).collect::<Vec<_>>(),
                "other_stages": e.other_stages.iter().map(name).collect::<Vec<_>>(),
                "same_name": e.same_name.iter().map(|i| &opened.modules[*i].id).collect::<Vec<_>>(),
                "instructions": l.figures.instructions,
                "computations": l.figures.computations,
                "generation": l.generation.map(opening::Generation::words),
                "scheduled": l.figures.is_scheduled,
                "totals": l.figures.totals.as_ref().map(totals_in_json),
                "peak": l.figures.peak.map(|(step, bytes)| json!({"step": step, "bytes": bytes})),
                "memory": owners,
                "findings": l.findings.iter().map(|f| json!({"name": f.name(), "words": f.words()})).collect::<Vec<_>>(),
                "missing": l.missing.iter().map(|m| json!({"what": m.what, "costs": m.costs, "how": m.how})).collect::<Vec<_>>(),
                "rerun": l.rerun,
                "remarks": l.remarks.iter().map(remark).collect::<Vec<_>>(),
            })
        })
        .collect();
    let errors: Vec<Value> = opened
        .errors
        .iter()
        .map(|(i, oom)| {
            let buffers: Vec<Value> = oom
                .buffers
                .iter()
                .map(|b| {
                    json!({
                        "number": b.number, "size": size(Some(b.size)), "unpadded": size(b.unpadded), "op_name": b.op_name,
                        "source_file": b.source.as_ref().map(|s| &s.0), "source_line": b.source.as_ref().map(|s| s.1),
                        "shape": b.shape, "label": b.label, "kind": b.kind,
                    })
                })
                .collect();
            let totals: Vec<Value> = oom.totals.iter().map(|(n, s)| json!({"name": n, "size": size(Some(*s))})).collect();
            json!({
                "file": name(i), "sentence": oom.sentence, "space": oom.space, "used": size(oom.used),
                "limit": size(oom.limit), "requested": size(oom.requested), "module": oom.module, "totals": totals,
                "buffers": buffers,
            })
        })
        .collect();
    let logs: Vec<Value> = opened
        .logs
        .iter()
        .map(|(i, log)| {
            let refused: serde_json::Map<String, Value> =
                log.refused.iter().map(|(why, n)| ((*why).to_owned(), json!(n))).collect();
            let strategies: Vec<Value> = log
                .strategies
                .iter()
                .map(|s| json!({"name": s.name, "needs": s.over.map(|o| o.0), "limit": s.over.map(|o| o.1)}))
                .collect();
            json!({
                "file": name(i), "runs": log.runs, "tried": log.tried, "accepted": log.accepted, "refused": refused,
                "delayed": log.delayed, "strategies": strategies,
            })
        })
        .collect();
    let files: Vec<Value> = opened
        .files
        .iter()
        .map(|f| json!({"name": f.name, "kind": f.kind.words(), "bytes": f.bytes.len()}))
        .collect();
    json!({
        "modules": modules,
        "errors": errors,
        "logs": logs,
        "files": files,
        "remarks": opened.remarks.iter().map(remark).collect::<Vec<_>>(),
        "advice": opened.advice(),
    })
}
