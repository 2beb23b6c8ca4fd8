//! `bufferscope explain MODULE A B [--json]`

use crate::input::{AssignmentArguments, ModuleArguments};
use crate::names::find;
use crate::{Answer, Failure, say};
use analysis::ValueId;
use assigner::explain::{Fit, Reason, Until};
use questions::{Pair, Program, Source, Study};
use serde_json::{Map, Value, json};

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
    let (study, pair) = explained(&arguments.module, &arguments.assignment, [&arguments.a, &arguments.b])?;
    if arguments.json {
        return say(&format!("{}\n", in_json(&study, &pair)));
    }
    say(&format!("{}\n\n{}", pair.words(&study), both_places(&study, &pair)))
}

/// Reads, assigns and explains two values.
pub(crate) fn explained(
    module: &ModuleArguments,
    assignment: &AssignmentArguments,
    names: [&str; 2],
) -> Result<(Study, Pair), Failure> {
    let study = with_reasons(module, assignment)?;
    let program = program_of(&study)?;
    let find = |name| find(&program.module, &program.facts, name);
    let pair = questions::pair(&study, [find(names[0])?, find(names[1])?]);
    let pair = pair.ok_or_else(|| Failure("no assignment of ours, expected one".to_owned()))?;
    Ok((study, pair))
}

/// XLA's own assignment if it is there and nothing asks for another one, else ours; with our decisions either way.
pub(crate) fn with_reasons(
    module: &ModuleArguments,
    assignment: &AssignmentArguments,
) -> Result<Study, Failure> {
    if module.is_dump()? && assignment.is_default() {
        let study = module.study(assignment, false)?;
        if study.program.is_some() {
            return Ok(study);
        }
    }
    let program = module.program()?;
    let (made, decisions) = assignment.assign(&program)?;
    Ok(Study::of_assignment(questions::Program::new(program.module, program.facts), made, decisions))
}

pub(crate) fn program_of(study: &Study) -> Result<&Program, Failure> {
    study.program.as_ref().ok_or_else(|| Failure("no program, expected its text".to_owned()))
}

/// A line for each of the two.
pub(crate) fn both_places(study: &Study, pair: &Pair) -> String {
    pair.places(study).map(|line| line + "\n").concat()
}

/// A value with its place and its range; where a dump tells XLA's own place, that one, and ours beside it.
pub(crate) fn placed(study: &Study, program: &Program, v: ValueId) -> Value {
    let ours = study.ours.as_ref().and_then(|(a, _)| a.place(v));
    let our_range = program.facts.ranges.get(v).map(|r| (r.start.0, r.end.0));
    let mut out = json!({
        "value": program.facts.label(&program.module, v),
        "id": v.0,
        "buffer": program.facts.value(v).buffer.0,
        "allocation": ours.map(|(a, _)| a.0),
        "offset": ours.map(|(_, p)| p.offset),
        "size": ours.map(|(_, p)| p.size),
        "start": our_range.map(|r| r.0),
        "end": our_range.map(|r| r.1),
    });
    if study.source == Source::Dump {
        let row = study.row_of(v).map(|r| &study.rows[r]);
        out["ours"] = json!({"allocation": out["allocation"], "offset": out["offset"], "size": out["size"]});
        out["allocation"] = json!(row.map(|r| study.slab(r).number));
        out["offset"] = json!(row.map(|r| r.offset));
        out["size"] = json!(row.map(|r| r.size));
        if let Some((start, end)) = row.and_then(|r| r.range) {
            out["start"] = json!(start);
            out["end"] = json!(end);
        }
    }
    out
}

fn in_json(study: &Study, pair: &Pair) -> Value {
    let Some(program) = &study.program else { return Value::Null };
    let mut out = Map::new();
    out.insert("shares".to_owned(), json!(pair.shares));
    out.insert("common_bytes".to_owned(), json!(pair.common_bytes));
    out.insert("a".to_owned(), placed(study, program, pair.ours.values[0]));
    out.insert("b".to_owned(), placed(study, program, pair.ours.values[1]));
    out.insert("reason".to_owned(), json!(pair.ours.reason.name()));
    out.insert("evidence".to_owned(), evidence(program, &pair.ours.reason));
    out.insert("words".to_owned(), json!(pair.words(study)));
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
