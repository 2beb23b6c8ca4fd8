//! `bufferscope explain MODULE A B [--json]`

use crate::input::{AssignmentArguments, ModuleArguments, Program};
use crate::names::find;
use crate::{Answer, Failure, say};
use analysis::{LiveRange, ValueId};
use assigner::explain::{Explanation, Fit, Reason, Until};
use assigner::{AllocationId, Placed, words};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    /// A value: `fusion.1`, `while.2{0}`, or a number
    a: String,
    /// Another one
    b: String,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let (program, e) = explained(&arguments.module, &arguments.assignment, [&arguments.a, &arguments.b])?;
    if arguments.json {
        return say(&format!("{}\n", in_json(&program, &e)));
    }
    say(&format!(
        "{}\n\n{}",
        words::explanation(&program.module, &program.facts, &e),
        both_places(&program, &e)
    ))
}

/// Reads, assigns and explains two values.
pub(crate) fn explained(
    module: &ModuleArguments,
    assignment: &AssignmentArguments,
    names: [&str; 2],
) -> Result<(Program, Explanation), Failure> {
    let program = module.program()?;
    let pair = [find(&program, names[0])?, find(&program, names[1])?];
    let (made, decisions) = assignment.assign(&program)?;
    let (module, facts) = (&program.module, &program.facts);
    let e = assigner::explain::explain(module, facts, &facts.ranges, (&made, &decisions), pair);
    Ok((program, e))
}

/// A line for each of the two.
pub(crate) fn both_places(program: &Program, e: &Explanation) -> String {
    let mut out = String::new();
    for i in 0..2 {
        let name = program.facts.label(&program.module, e.values[i]);
        _ = writeln!(out, "{name}: {}", words::place_words(e.places[i], e.ranges[i]));
    }
    out
}

/// A value with its place and its range.
pub(crate) fn placed(
    program: &Program,
    v: ValueId,
    place: Option<(AllocationId, Placed)>,
    range: Option<LiveRange>,
) -> Value {
    json!({
        "value": program.facts.label(&program.module, v),
        "id": v.0,
        "buffer": program.facts.value(v).buffer.0,
        "allocation": place.map(|(a, _)| a.0),
        "offset": place.map(|(_, p)| p.offset),
        "size": place.map(|(_, p)| p.size),
        "start": range.map(|r| r.start.0),
        "end": range.map(|r| r.end.0),
    })
}

fn in_json(program: &Program, e: &Explanation) -> Value {
    let mut out = Map::new();
    out.insert("shares".to_owned(), json!(e.shares()));
    out.insert("common_bytes".to_owned(), json!(e.common_bytes));
    out.insert("a".to_owned(), placed(program, e.values[0], e.places[0], e.ranges[0]));
    out.insert("b".to_owned(), placed(program, e.values[1], e.places[1], e.ranges[1]));
    out.insert("reason".to_owned(), json!(e.reason.name()));
    out.insert("evidence".to_owned(), evidence(program, &e.reason));
    out.insert("words".to_owned(), json!(words::explanation(&program.module, &program.facts, e)));
    Value::Object(out)
}

fn evidence(program: &Program, reason: &Reason) -> Value {
    let (module, facts) = (&program.module, &program.facts);
    let name = |v: &ValueId| facts.label(module, *v);
    match reason {
        Reason::Same | Reason::OtherHeap => json!({}),
        Reason::BestFit { earlier, later, fit } => {
            let fit = match fit {
                Fit::Taken(by) => json!({"taken_by": name(by)}),
                Fit::Tighter { chosen, other } => {
                    json!({"chosen": [chosen.0, chosen.1], "other": [other.0, other.1]})
                }
                Fit::StartOfChunk { from } => json!({"start_of_chunk": from}),
                Fit::NotWeighed => Value::Null,
            };
            json!({"earlier": name(earlier), "later": name(later), "fit": fit})
        }
        Reason::MustAlias(links) => {
            let links: Vec<Value> = links
                .iter()
                .map(|l| {
                    json!({
                        "link": l.kind.name(),
                        "from": name(&l.from),
                        "to": name(&l.to),
                        "at": module.name_of(l.at),
                    })
                })
                .collect();
            json!({"chain": links})
        }
        Reason::Disjoint { first, second } => json!({"first": name(first), "second": name(second)}),
        Reason::WrittenOver { ends, starts, at, clause } => json!({
            "ends": name(ends), "starts": name(starts), "step": at.0, "clause": format!("{clause:?}"),
        }),
        Reason::NoMemory(v) => json!({"value": name(v)}),
        Reason::Color([a, b]) => json!({"colors": [a.0, b.0]}),
        Reason::Category { value, kind } => json!({"value": name(value), "kind": kind.name()}),
        Reason::Interference { why, holder, until } => {
            let mut out = crate::commands::why::interference(program, why);
            out.insert("holder".to_owned(), json!(name(holder)));
            let until = match until {
                Until::Read(user) => json!({"read_by": module.name_of(*user)}),
                Until::Parameter => json!("parameter"),
                Until::Result => json!("result"),
                Until::Carried => json!("carried"),
            };
            out.insert("until".to_owned(), until);
            Value::Object(out)
        }
        Reason::InterferenceOfBuffers { a, b, why } => {
            let mut out = crate::commands::why::interference(program, why);
            out.insert("a".to_owned(), json!(name(a)));
            out.insert("b".to_owned(), json!(name(b)));
            Value::Object(out)
        }
        Reason::Refused { value, allocation_of, refusal } => json!({
            "value": name(value),
            "allocation_of": name(allocation_of),
            "refusal": crate::commands::why::refusal(program, refusal),
        }),
        Reason::NeverTried { value, was_too_late } => {
            json!({"value": name(value), "was_too_late": was_too_late})
        }
        Reason::HeapClock { first, second } => json!({"first": name(first), "second": name(second)}),
    }
}
