//! The part that needs no program: sums, curve, what is alive at the peak, what stands out, what would help, donations.

use crate::State;
use crate::curve::curve;
use crate::markup::{Column, escaped, list, table};
use crate::text::{cut, cut_line};
use crate::words::{constants, donation, headline, out_of_memory, owner, percent, size_words, space_name};
use assigner::words::{both, bytes, difference, grouped};
use opening::{Blob, Loaded, Opened, OutOfMemory};
use questions::{Effort, Group, Growing, Peak, Source, SpacePeak, Study};
use std::fmt::Write as _;

use Column::{Code, Number, Words};

/// Most groups of what is alive in one memory space.
const MOST_GROUPS: usize = 60;
/// Most sentences of what stands out.
const MOST_NOTES: usize = 40;
/// Most changes that would help.
const MOST_ADVICE: usize = 20;
/// Most entries of an out-of-memory error's listing.
const MOST_LISTED: usize = 30;
/// Most contradictions and remarks.
const MOST_REMARKS: usize = 60;

/// What the files say of themselves.
pub(crate) struct OfFiles {
    name: String,
    chips: Vec<String>,
    findings: Vec<String>,
    remarks: Vec<String>,
    missing: Vec<String>,
    /// Name and bytes.
    files: Vec<(String, u64)>,
    /// Out-of-memory errors about the module.
    errors: Vec<OutOfMemory>,
    /// Bytes that there were when it did not fit.
    limit: Option<u64>,
}

impl OfFiles {
    pub(crate) fn new(opened: &Opened, module: usize, files: &[Blob], loaded: &Loaded) -> Self {
        let entry = &opened.modules[module];
        let chips = [
            entry.id.as_ref().map(|id| format!("module {id}")),
            loaded.backend.or(entry.backend).map(|b| b.name().to_uppercase()),
            (!entry.stage.is_empty()).then(|| cut(&entry.stage)),
            loaded.figures.instructions.map(|n| format!("{} instructions", grouped(n))),
            loaded.generation.map(|g| g.words().to_owned()),
        ];
        Self {
            name: cut(&entry.name),
            chips: chips.into_iter().flatten().collect(),
            findings: loaded.findings.iter().map(|f| cut_line(&f.words())).collect(),
            remarks: loaded.remarks.iter().map(|r| cut_line(&r.to_string())).collect(),
            missing: loaded
                .missing
                .iter()
                .map(|m| format!("{}. Without it: {}. To get it: {}.", m.what, m.costs, m.how))
                .collect(),
            files: files.iter().map(|f| (cut(&f.name), f.bytes.len() as u64)).collect(),
            errors: opened.errors_of(module).map(|(_, e)| e.clone()).collect(),
            limit: opened.limit_of(module),
        }
    }
}

fn heading(out: &mut String, text: &str) {
    _ = writeln!(out, "<h2>{}</h2>", escaped(text));
}

fn paragraph(out: &mut String, text: &str) {
    _ = writeln!(out, "<p>{}</p>", escaped(text));
}

/// The first part of the report.
pub(crate) fn body(
    of: &OfFiles,
    study: &Study,
    peak: &Peak,
    state: &State,
    tell: &mut dyn FnMut(usize, usize),
) -> String {
    let mut out = String::from(
        "<article class=\"report\" id=\"report\">\n<header>\n<p class=\"brand\">Bufferscope report</p>\n",
    );
    _ = writeln!(out, "<h1>{}</h1>\n<p class=\"chips\">", escaped(&of.name));
    for chip in &of.chips {
        _ = writeln!(out, "<span class=\"chip\">{}</span>", escaped(chip));
    }
    out += "</p>\n</header>\n<div class=\"headline\">\n";
    for sentence in headline(study, peak) {
        paragraph(&mut out, &sentence);
    }
    for check in &study.checks {
        paragraph(&mut out, &cut_line(&check.words()));
    }
    paragraph(
        &mut out,
        match study.source {
            Source::Dump => "What is told is XLA's own assignment, as its files have it.",
            Source::Ours => "What is told is our engine's assignment: XLA's own is not among the files.",
        },
    );
    out += "</div>\n";
    for e in &of.errors {
        heading(&mut out, "Out of memory");
        _ = writeln!(out, "<p><code>{}</code></p>", escaped(&cut_line(&e.sentence)));
        let packing = e.limit.and_then(|limit| questions::packing_words(peak, limit.bytes));
        for words in out_of_memory(e).into_iter().chain(packing) {
            paragraph(&mut out, &words);
        }
        listing(&mut out, e);
    }
    if !of.findings.is_empty() {
        heading(&mut out, &format!("The files contradict each other ({})", of.findings.len()));
        list(&mut out, "ul", &of.findings[..of.findings.len().min(MOST_REMARKS)]);
    }
    if let Some(tried) = &state.tried {
        heading(&mut out, "What was tried");
        list(&mut out, "ul", &tried.edits);
        let lines: Vec<Vec<String>> = tried
            .sums
            .iter()
            .map(|(name, a, b)| vec![name.clone(), both(*a), both(*b), difference(*a, *b)])
            .collect();
        let columns = [("Bytes", Words), ("As it is", Number), ("Tried", Number), ("Difference", Number)];
        table(&mut out, "What the changes came to", &columns, &lines, None);
        for words in &tried.words {
            paragraph(&mut out, words);
        }
        paragraph(&mut out, "Everything below is the module as it is.");
    }
    totals(&mut out, peak);
    for space in peak.spaces.iter().filter(|s| s.temp > 0) {
        of_space(&mut out, study, space);
    }
    if peak.spaces.iter().all(|s| s.temp == 0) {
        paragraph(&mut out, "There are no temporaries: arguments, outputs and constants are all there is.");
    }
    stands_out(&mut out, study, peak);
    advice(&mut out, study, peak, of.limit, tell);
    if let Some((lines, rows)) = donation(study) {
        heading(&mut out, "Donation");
        for line in lines {
            paragraph(&mut out, &line);
        }
        if let Some((_, rows)) = rows.split_first().filter(|(_, rows)| !rows.is_empty()) {
            let columns = [
                ("Argument", Words),
                ("Name and shape", Code),
                ("Bytes", Number),
                ("What became of it", Words),
                ("Needed all the same", Words),
            ];
            table(&mut out, "Arguments, and outputs in memory of their own", &columns, rows, None);
        }
    }
    of_constants(&mut out, study);
    heading(&mut out, "Which number is which");
    let lines: Vec<Vec<String>> = questions::numbers(study, peak)
        .iter()
        .map(|n| vec![n.name.to_owned(), bytes(n.bytes), n.words.to_owned()])
        .collect();
    let columns = [("Number", Code), ("Bytes", Number), ("What it is", Words)];
    table(&mut out, "Numbers as compiler and run time give them", &columns, &lines, None);
    let cautions: Vec<String> = questions::cautions(study).into_iter().map(str::to_owned).collect();
    list(&mut out, "ul", &cautions);
    of_files(&mut out, of, study);
    out += "</article>\n";
    out
}

/// The constants, where there is one or an argument that may have been one.
fn of_constants(out: &mut String, study: &Study) {
    let (lines, rows) = constants(study);
    let Some((_, rows)) = rows.split_first() else { return };
    heading(out, "Constants");
    for line in lines {
        paragraph(out, &line);
    }
    let columns = [
        ("What", Code),
        ("Shape", Code),
        ("Bytes", Number),
        ("Who reads it", Words),
        ("What is known of it", Words),
    ];
    table(out, "Constants, and arguments that may be captured arrays", &columns, rows, None);
}

/// The largest entries of an error's own listing.
fn listing(out: &mut String, e: &OutOfMemory) {
    if e.buffers.is_empty() {
        return;
    }
    let lines: Vec<Vec<String>> = e
        .buffers
        .iter()
        .take(MOST_LISTED)
        .map(|b| {
            let what = b.op_name.as_deref().or(b.label.as_deref()).unwrap_or_default();
            vec![size_words(b.size), cut(&b.shape), cut(b.kind.as_deref().unwrap_or_default()), cut(what)]
        })
        .collect();
    let columns = [("Size", Number), ("Shape", Code), ("Kind", Words), ("What", Words)];
    table(out, "The error's own listing", &columns, &lines, None);
}

fn totals(out: &mut String, peak: &Peak) {
    heading(out, "All allocations");
    let lines: Vec<Vec<String>> = peak
        .owners
        .iter()
        .filter(|o| o.allocations > 0)
        .map(|o| {
            let donated = if o.donated > 0 { bytes(o.donated) } else { String::new() };
            vec![
                owner(o.role).to_owned(),
                both(o.bytes),
                percent(o.bytes, peak.total),
                grouped(u64::from(o.allocations)),
                donated,
                o.role.address().to_owned(),
            ]
        })
        .collect();
    let count = peak.owners.iter().fold(0u64, |n, o| n + u64::from(o.allocations));
    let foot = vec![
        "all".to_owned(),
        both(peak.total),
        percent(peak.total, peak.total),
        grouped(count),
        String::new(),
        String::new(),
    ];
    let columns = [
        ("Owner", Words),
        ("Bytes", Number),
        ("Share", Number),
        ("Allocations", Number),
        ("Donated", Number),
        ("Address", Words),
    ];
    table(out, "Allocations by owner", &columns, &lines, Some(&foot));
}

/// The names of a group's values, the largest first.
fn names(study: &Study, space: &SpacePeak, group: &Group) -> String {
    let first = group.slots.first().map(|s| space.slots[*s].row(study).name.to_string()).unwrap_or_default();
    let more = group.slots.len().saturating_sub(1);
    if more > 0 { format!("{} and {} more", cut(&first), grouped(more as u64)) } else { cut(&first) }
}

fn of_space(out: &mut String, study: &Study, space: &SpacePeak) {
    heading(out, &format!("In use at the peak: memory space {}", space_name(space.color)));
    _ = write!(
        out,
        "<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n",
        curve(study, space),
        escaped(&format!(
            "Bytes of temporaries in use at each step. The most, {}, is in use at step {} ({}); the allocations take {}.",
            both(space.live),
            grouped(u64::from(space.step)),
            cut(study.at(space.step)),
            both(space.temp)
        ))
    );
    let groups = questions::groups(study, &space.slots);
    let growing = questions::growing(study, space);
    let mut so_far = 0u64;
    let lines: Vec<Vec<String>> = groups
        .iter()
        .take(MOST_GROUPS)
        .map(|g| {
            so_far = so_far.saturating_add(g.bytes);
            let origin: Vec<String> = [&g.scope, &g.source]
                .into_iter()
                .filter(|t| !t.is_empty())
                .map(|t| cut(t))
                .chain((!g.phase.name().is_empty()).then(|| g.phase.name().to_owned()))
                .chain(
                    Growing::of(&growing, space.slots[g.slots[0]].rows[0])
                        .map(questions::RepeatedDimension::words),
                )
                .collect();
            vec![
                names(study, space, g),
                bytes(g.bytes),
                percent(g.bytes, space.live),
                percent(so_far, space.live),
                grouped(g.slots.len() as u64),
                cut(&g.shape),
                cut(&g.operation),
                origin.join(", "),
            ]
        })
        .collect();
    let sum = groups.iter().fold(0u64, |s, g| s.saturating_add(g.bytes));
    let columns = [
        ("Values", Code),
        ("Bytes", Number),
        ("Share", Number),
        ("So far", Number),
        ("Count", Number),
        ("Shape", Code),
        ("Operation", Code),
        ("Scope and source", Words),
    ];
    let mut foot = vec![String::new(); columns.len()];
    "all".clone_into(&mut foot[0]);
    foot[1] = bytes(sum);
    foot[2] = percent(sum, space.live);
    foot[4] = grouped(space.slots.len() as u64);
    let step = grouped(u64::from(space.step));
    table(
        out,
        &format!("In use at step {step}, put together by shape, operation and scope"),
        &columns,
        &lines,
        Some(&foot),
    );
    if groups.len() > MOST_GROUPS {
        let rest = groups[MOST_GROUPS..].iter().fold(0u64, |s, g| s.saturating_add(g.bytes));
        paragraph(
            out,
            &format!(
                "{} more groups with {} are left out of the table.",
                grouped((groups.len() - MOST_GROUPS) as u64),
                both(rest)
            ),
        );
    }
    if sum != space.live {
        paragraph(
            out,
            &format!(
                "The groups add up to {}, {} more than is in use: some values stand on the same bytes at this step, as where one is handed over to another.",
                both(sum),
                bytes(sum.saturating_sub(space.live))
            ),
        );
    }
}

fn stands_out(out: &mut String, study: &Study, peak: &Peak) {
    heading(out, "What stands out");
    let notes = questions::notes(study, peak);
    if notes.is_empty() {
        paragraph(
            out,
            "Nothing that would be worth a note: no large value waits long, no copy is large, no donation is missed.",
        );
        return;
    }
    let lines: Vec<String> = notes.iter().take(MOST_NOTES).map(|n| cut_line(&n.words)).collect();
    list(out, "ul", &lines);
    if notes.len() > MOST_NOTES {
        paragraph(
            out,
            &format!("{} smaller things are left out.", grouped((notes.len() - MOST_NOTES) as u64)),
        );
    }
}

fn advice(
    out: &mut String,
    study: &Study,
    peak: &Peak,
    limit: Option<u64>,
    tell: &mut dyn FnMut(usize, usize),
) {
    if study.program.is_none() {
        return;
    }
    heading(out, "What would help most");
    let found = questions::advise(study, Effort::default(), &mut |done, of| {
        tell(done, of);
        true
    });
    if let Some(gap) = limit.and_then(|limit| questions::gap(study, peak, limit, &found)) {
        paragraph(out, &gap);
    }
    if found.is_unproved {
        paragraph(out, "The program as it is cannot be proved right by the checker, so no change was tried.");
        return;
    }
    if found.advice.is_empty() {
        paragraph(out, "No single change that was tried saves anything.");
    } else {
        let lines: Vec<Vec<String>> = found
            .advice
            .iter()
            .take(MOST_ADVICE)
            .map(|a| vec![cut_line(&a.words), both(a.saves), both(a.total.1)])
            .collect();
        let columns = [("Change", Words), ("Saves", Number), ("All allocations then", Number)];
        table(out, "Single changes, each with the program run again", &columns, &lines, None);
        if found.advice.len() > MOST_ADVICE {
            paragraph(
                out,
                &format!("{} more changes save less.", grouped((found.advice.len() - MOST_ADVICE) as u64)),
            );
        }
    }
    paragraph(
        out,
        &format!(
            "{} changes were tried, each by itself with the program run again; {} of them would lose a value, {} were left untried.",
            grouped(found.tried as u64),
            grouped(found.spoilt as u64),
            grouped(found.untried as u64)
        ),
    );
}

fn of_files(out: &mut String, of: &OfFiles, study: &Study) {
    heading(out, "The files");
    let lines: Vec<Vec<String>> = of.files.iter().map(|(name, n)| vec![name.clone(), bytes(*n)]).collect();
    table(out, "Of these files the report is made", &[("File", Code), ("Bytes", Number)], &lines, None);
    let remarks: Vec<String> =
        of.remarks.iter().cloned().chain(study.remarks.iter().map(|r| cut_line(r))).collect();
    if !remarks.is_empty() {
        paragraph(out, "What was said of them:");
        list(out, "ul", &remarks[..remarks.len().min(MOST_REMARKS)]);
        if remarks.len() > MOST_REMARKS {
            paragraph(out, &format!("and {} more.", grouped((remarks.len() - MOST_REMARKS) as u64)));
        }
    }
    if !of.missing.is_empty() {
        paragraph(out, "What is not among them:");
        list(out, "ul", &of.missing);
    }
    _ = writeln!(
        out,
        "<p class=\"quiet\">Made by Bufferscope {}. Nothing in this page asks the network for anything.</p>",
        env!("CARGO_PKG_VERSION")
    );
}
