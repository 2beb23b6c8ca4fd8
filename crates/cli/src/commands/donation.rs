//! `bufferscope donation MODULE [--json]`

use crate::input::{AssignmentArguments, ModuleArguments};
use crate::{Answer, Failure, say, shown};
use assigner::words::{both, bytes, list};
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

fn why_words(why: WhyNot, own: u64) -> String {
    match why {
        WhyNot::HasAnother => "stands in another argument".to_owned(),
        WhyNot::Bytes(n) if n < own => format!("takes {} only", bytes(n)),
        WhyNot::Bytes(n) => format!("takes {}", bytes(n)),
        WhyNot::Shape => "has another shape or type, though as many bytes".to_owned(),
        WhyNot::Sharding => "has another sharding".to_owned(),
        WhyNot::Nothing => "would fit".to_owned(),
    }
}

fn name(study: &Study, id: hlo::InstructionId) -> &str {
    study.program.as_ref().map_or("", |p| p.module.name_of(id))
}

fn state_words(own: u64, state: &State) -> String {
    match state {
        State::Taken { output, kind } => {
            let kind = if *kind == AliasKind::Must { "must" } else { "may" };
            format!("taken by output {output} ({kind} alias)")
        }
        State::NotTaken(why) if why.is_empty() => "offered, but there is no output".to_owned(),
        State::NotTaken(why) => {
            let why: Vec<String> = why.iter().map(|(o, w)| format!("{o} {}", why_words(*w, own))).collect();
            format!("offered, and nobody took it: output {}", list(&why, 6))
        }
        State::NotOffered(fits) if fits.is_empty() => "not donated; no free output has its size".to_owned(),
        State::NotOffered(fits) => {
            let fits: Vec<String> = fits.iter().map(ToString::to_string).collect();
            format!("not donated; output {} could stand there", list(&fits, 4))
        }
    }
}

fn extra_words(study: &Study, extra: &Extra) -> String {
    match extra {
        Extra::CopiedAtTheEnd { copy, from, bytes: n } => format!(
            "yet the output is computed in {} of work space ({}) and copied there by {}",
            bytes(*n),
            study.rows[*from].name,
            name(study, *copy)
        ),
        Extra::Saved { copy, reader, bytes: n, inside } => {
            let reader = reader.map(|r| format!(", which {} reads last", name(study, r))).unwrap_or_default();
            let inside = inside.map(|p| format!(", in the memory of argument {p}")).unwrap_or_default();
            format!(
                "it is still wanted when it is written over: {} saves it{inside}, {}{reader}",
                name(study, *copy),
                bytes(*n)
            )
        }
    }
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
            state_words(a.bytes, &a.state)
        );
        for e in &a.extras {
            _ = writeln!(out, "  {}", extra_words(study, e));
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
    _ = writeln!(out, "Donation saves {}.", both(table.taken));
    if table.could_save > 0 {
        _ = writeln!(out, "Donating more could save {} more.", both(table.could_save));
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
                    };
                    json!({"kind": kind, "copy": name(study, copy), "bytes": bytes, "words": extra_words(study, e)})
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
                "words": state_words(a.bytes, &a.state),
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
