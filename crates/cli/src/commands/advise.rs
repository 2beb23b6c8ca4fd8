//! `bufferscope advise MODULE [--json]`: what would help most.

use crate::commands::peak::notes_in_json;
use crate::input::{AssignmentArguments, ModuleArguments};
use crate::{Answer, Failure, say, shown};
use assigner::words::{both, count, grouped};
use questions::{Change, CopyKind, Effort, advise};
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// Try at most this many changes
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    trials: usize,
    /// List at most this many changes (JSON has them all)
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    most: usize,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let study = arguments.module.study(&arguments.assignment, false)?;
    if study.program.is_none() {
        return Err(Failure(
            "what would help is found by changing the program, expected the file that ends in after_optimizations.txt"
                .to_owned(),
        ));
    }
    let peak = questions::peak(&study);
    let notes = questions::notes(&study, &peak);
    let effort = Effort { trials: arguments.trials, ..Effort::default() };
    let found = advise(&study, effort, &mut |_, _| true);
    let gap = arguments.module.limit()?.and_then(|limit| questions::gap(&study, &peak, limit, &found));
    // What would let copies go, as copy insertion sees it: moves that no single change above makes.
    let mut copies = questions::copies(&study);
    copies.retain(|c| c.kind == CopyKind::Plain);
    let mut removes: Vec<(u64, String)> = questions::causes(&study, &copies)
        .0
        .into_iter()
        .flat_map(|c| c.saves.into_iter().zip(c.removes))
        .collect();
    removes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    removes.dedup();
    let removes: Vec<String> = removes.into_iter().map(|(_, words)| words).collect();
    if arguments.json {
        let changes: Vec<Value> = found
            .advice
            .iter()
            .map(|a| {
                json!({
                    "change": name(&a.change),
                    "words": a.words,
                    "saves": a.saves,
                    "total": [a.total.0, a.total.1],
                    "temp": [a.temp.0, a.temp.1],
                })
            })
            .collect();
        let numbers: Vec<Value> = questions::numbers(&study, &peak)
            .iter()
            .map(|n| json!({"name": n.name, "bytes": n.bytes, "words": n.words}))
            .collect();
        let out = json!({
            "changes": changes,
            "tried": found.tried,
            "spoilt": found.spoilt,
            "untried": found.untried,
            "unsound": found
                .unsound
                .iter()
                .map(|u| json!({"change": name(&u.change), "bytes": u.bytes, "words": u.words}))
                .collect::<Vec<_>>(),
            "unproved": found.is_unproved,
            "base": found.base,
            "caveat": found.caveat(),
            "copies_removed_by": removes,
            "gap": gap,
            "notes": notes_in_json(&study, &notes),
            "numbers": numbers,
            "cautions": questions::cautions(&study),
        });
        return say(&format!("{out}\n"));
    }
    let mut out = String::new();
    if found.is_unproved {
        out += "The program as it is cannot be proved right by the checker, so no change was tried.\n";
    } else if found.advice.is_empty() {
        out += "No single change that was tried saves anything.\n";
    } else {
        out += "What would help most, each change by itself, with the program run again:\n";
        for (i, a) in found.advice.iter().take(arguments.most).enumerate() {
            _ = writeln!(out, "{:>3}. {}", i + 1, a.words);
        }
        if found.advice.len() > arguments.most {
            _ = writeln!(out, "     and {} more", found.advice.len() - arguments.most);
        }
    }
    let untried = if found.untried > 0 {
        format!(", {} left untried", grouped(found.untried as u64))
    } else {
        String::new()
    };
    _ = writeln!(
        out,
        "Tried {}; {} would lose a value without another copy{untried}.",
        count(found.tried as u64, "change", "changes"),
        grouped(found.spoilt as u64)
    );
    for u in found.unsound.iter().take(MOST_UNSOUND) {
        _ = writeln!(out, "  {}", u.words);
    }
    if found.unsound.len() > MOST_UNSOUND {
        let rest = &found.unsound[MOST_UNSOUND..];
        let bytes = rest.iter().fold(0u64, |n, u| n.saturating_add(u.bytes));
        _ = writeln!(
            out,
            "  and {} of {} for such reasons; `try --donate` says each",
            count(rest.len() as u64, "argument", "arguments"),
            both(bytes)
        );
    }
    for words in found.base.as_deref().into_iter().chain(found.caveat()) {
        _ = writeln!(out, "{words}");
    }
    if let Some(gap) = &gap {
        _ = writeln!(out, "{gap}");
    }
    if !removes.is_empty() {
        out += "\nCopies would go, as copy insertion sees it, if you\n";
        for line in removes.iter().take(arguments.most) {
            _ = writeln!(out, "  {line}");
        }
    }
    if !notes.is_empty() {
        out += "\nWhat stands out:\n";
        for note in &notes {
            _ = writeln!(out, "  {}", note.words);
        }
    }
    out += "\nThe numbers:\n";
    for n in questions::numbers(&study, &peak) {
        _ = writeln!(out, "  {:<24} {:>15}  {}", n.name, grouped(n.bytes), n.words);
    }
    for f in questions::fits(&study, &peak).iter().filter(|f| f.temp > 0) {
        _ = writeln!(
            out,
            "  In memory space {} no packing needs fewer than {} of temporaries; this one takes {}.",
            questions::space_name(&study, f.color),
            both(f.least_temp),
            both(f.temp)
        );
    }
    for c in questions::cautions(&study) {
        _ = writeln!(out, "  {c}");
    }
    say(&shown(&out))
}

/// Donations that would lose a value and are told one by one.
const MOST_UNSOUND: usize = 3;

fn name(change: &Change) -> &'static str {
    match change {
        Change::Donate { .. } => "donate",
        Change::DonateAndCopy { .. } => "donate-and-copy",
        Change::DonateAll(_) => "donate-all",
        Change::DonateSound(_) => "donate-sound",
        Change::DropOutput { .. } => "drop-output",
        Change::Later(_) => "later",
        Change::Sooner(_) => "sooner",
        Change::DropCopy(_) => "drop-copy",
        Change::DropCopyAndRead { .. } => "read-sooner",
    }
}
