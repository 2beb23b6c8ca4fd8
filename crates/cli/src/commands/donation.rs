//! `bufferscope donation MODULE [--json]`

use crate::input::{AssignmentArguments, ModuleArguments};
use crate::{Answer, Failure, say, shown};
use assigner::words::{both, bytes};
use hlo::{AliasKind, ShapeIndex};
use questions::{Donation, Extra, State, Study, WhyNot};
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let study = arguments.module.study(&arguments.assignment, false)?;
    let table = table(&study)?;
    if arguments.json {
        say(&format!("{}\n", in_json(&study, &table)))
    } else {
        say(&shown(&in_words(&study, &table)))
    }
}

/// The table, which needs the program.
pub(crate) fn table(study: &Study) -> Result<Donation, Failure> {
    questions::donation(study).ok_or_else(|| {
        Failure(
            "donation stands in the module's text, expected the file that ends in after_optimizations.txt"
                .to_owned(),
        )
    })
}

fn index(i: &ShapeIndex) -> String {
    if i.is_root() { String::new() } else { i.to_string() }
}

fn name(study: &Study, id: hlo::InstructionId) -> &str {
    study.program.as_ref().map_or("", |p| p.module.name_of(id))
}

fn in_words(study: &Study, table: &Donation) -> String {
    let mut out = String::new();
    for a in &table.arguments {
        _ = writeln!(
            out,
            "argument {}{} {} {}: {}, {}",
            a.parameter,
            index(&a.index),
            a.name,
            a.shape.split('{').next().unwrap_or(""),
            bytes(a.bytes),
            a.words()
        );
        for e in &a.extras {
            _ = writeln!(out, "  {}", e.words(study));
        }
    }
    for o in table.outputs.iter().filter(|o| o.takes.is_none()) {
        let copy = o
            .copy_of
            .map(|(n, c)| format!("; it is a plain copy of argument {n}, made by {}", name(study, c)));
        _ = writeln!(
            out,
            "output {} {}: {}, in memory of its own{}",
            o.index,
            o.shape.split('{').next().unwrap_or(""),
            bytes(o.bytes),
            copy.unwrap_or_default()
        );
    }
    if let Some(words) = table.unseen_offers() {
        _ = writeln!(out, "{words}");
    }
    _ = writeln!(out, "Donation saves {}.", both(table.taken));
    if table.could_save > 0 {
        _ = writeln!(
            out,
            "Donating more could save up to {} more, less the copies that it would need; `advise` tries each.",
            both(table.could_save)
        );
    }
    out
}

fn in_json(study: &Study, table: &Donation) -> Value {
    let arguments: Vec<Value> = table
        .arguments
        .iter()
        .map(|a| {
            let (state, output, kind, reasons) = match &a.state {
                State::Taken { output, kind } => {
                    let kind = if *kind == AliasKind::Must { "must" } else { "may" };
                    ("taken", Some(output.to_string()), Some(kind), Vec::new())
                }
                State::NotTaken(why) => {
                    let reasons = why.iter().map(|(o, w)| {
                        let reason = match w {
                            WhyNot::HasAnother => "has-another",
                            WhyNot::Bytes(_) => "bytes",
                            WhyNot::Shape => "shape",
                            WhyNot::Sharding => "sharding",
                            WhyNot::Space => "space",
                            WhyNot::Nothing => "nothing",
                        };
                        json!({"output": o.to_string(), "reason": reason})
                    });
                    ("not-taken", None, None, reasons.collect())
                }
                State::NotOffered(fits) => {
                    let fits = fits.iter().map(|o| json!({"output": o.to_string(), "reason": "fits"}));
                    ("not-offered", None, None, fits.collect())
                }
            };
            let extras: Vec<Value> = a
                .extras
                .iter()
                .map(|e| {
                    let (kind, copy, bytes) = match e {
                        Extra::CopiedAtTheEnd { copy, bytes, .. } => ("copied-at-the-end", *copy, *bytes),
                        Extra::Saved { copy, bytes, .. } => ("saved", *copy, *bytes),
                        Extra::Otherwise { copy, bytes, .. } => ("made-otherwise", *copy, *bytes),
                    };
                    json!({"kind": kind, "copy": name(study, copy), "bytes": bytes, "words": e.words(study)})
                })
                .collect();
            json!({
                "parameter": a.parameter,
                "index": a.index.to_string(),
                "name": a.name,
                "shape": a.shape,
                "bytes": a.bytes,
                "state": state,
                "output": output,
                "kind": kind,
                "outputs": reasons,
                "extras": extras,
                "words": a.words(),
            })
        })
        .collect();
    let outputs: Vec<Value> = table
        .outputs
        .iter()
        .map(|o| {
            json!({
                "index": o.index.to_string(),
                "shape": o.shape,
                "bytes": o.bytes,
                "takes": o.takes.as_ref().map(|(p, i)| json!({"parameter": p, "index": i.to_string()})),
                "copy_of": o.copy_of.map(|c| c.0),
            })
        })
        .collect();
    json!({"arguments": arguments, "outputs": outputs, "taken_bytes": table.taken, "could_save_bytes": table.could_save})
}
