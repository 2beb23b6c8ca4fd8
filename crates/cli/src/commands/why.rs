//! `bufferscope why MODULE VALUE [--json]`: every allocation that was tried, and the rule that refused it.

use crate::commands::copies::asked_by;
use crate::commands::explain::{placed, program_of, with_reasons};
use crate::input::{AssignmentArguments, ModuleArguments};
use crate::names::find;
use crate::{Answer, Failure, say, shown};
use analysis::sharing::Touching;
use analysis::{Interference, ValueId};
use assigner::{Decision, Refusal, words};
use questions::{InHeap, Program, Story, Study};
use serde_json::{Map, Value, json};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    /// A value: `fusion.1`, `while.2{0}`, or a number
    value: String,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let study = with_reasons(&arguments.module, &arguments.assignment)?;
    let program = program_of(&study)?;
    let value = find(&program.module, &program.facts, &arguments.value)?;
    let story = questions::story(&study, value)
        .ok_or_else(|| Failure("no assignment of ours, expected one".to_owned()))?;
    let heap = story.in_heap(&study);
    let told = in_words(&study, program, &story, heap.as_ref());
    let row = study.row_of(value);
    let held = row.and_then(|row| questions::hold(&study, row)).map(|h| h.words(&study));
    let space = row.and_then(|row| questions::wishes_words(&study, row));
    if arguments.json {
        let mut out = in_json(&study, program, &story, heap.as_ref());
        out["held"] = json!(held);
        out["memory_space"] = json!({
            "color": row.map(|r| study.slab(&study.rows[r]).color),
            "asked_by": asked_by(&study, [row]),
            "words": space,
        });
        say(&format!("{out}\n"))
    } else {
        let more: String = space.into_iter().chain(held).map(|line| line + "\n").collect();
        say(&shown(&(told + &more)))
    }
}

fn in_words(study: &Study, program: &Program, story: &Story, heap: Option<&InHeap>) -> String {
    let name = program.facts.label(&program.module, story.value);
    let mut out = format!("{name}: {}\n", questions::place_in_words(study, story.value));
    let of_heap = heap.map(|h| h.lines(study, story.value));
    for line in story.lines(study).into_iter().chain(of_heap.into_iter().flatten()) {
        out += &line;
        out.push('\n');
    }
    out
}

fn in_json(study: &Study, program: &Program, story: &Story, heap: Option<&InHeap>) -> Value {
    let (module, facts) = (&program.module, &program.facts);
    let name = |v: ValueId| facts.label(module, v);
    let trials: Vec<Value> = story
        .trials
        .iter()
        .map(|t| {
            json!({
                "allocation": t.number(study),
                "made_for": t.made_for.map(name),
                "refusal": t.refusal.map(|r| refusal(program, &r)),
            })
        })
        .collect();
    let outcome = match story.outcome {
        Some(Decision::New { kind, .. }) => json!({"outcome": "new", "kind": kind.name()}),
        Some(Decision::Reuse { operand, .. }) => json!({"outcome": "reuse", "operand": operand}),
        Some(_) => json!({"outcome": "heap"}),
        None if study.ours.as_ref().is_some_and(|(a, _)| a.place(story.value).is_some()) => {
            json!({"outcome": "preset"})
        }
        None => json!({"outcome": "none"}),
    };
    let placed_in = heap.map(|h| {
        json!({
            "heap_size": h.heap_size,
            "placement": h.number,
            "placements": h.count,
            "offset": h.offset,
            "size": h.size,
            "free_chunk": h.chunk.map(|(from, to)| json!([from, to])),
            "place_of": name(h.leader),
        })
    });
    let must_share: Vec<String> =
        facts.buffer(story.buffer).values.iter().filter(|v| **v != story.value).map(|v| name(*v)).collect();
    json!({
        "value": placed(study, program, story.value),
        "must_share_with": must_share,
        "tried": trials,
        "decision": outcome,
        "heap": placed_in,
        "words": in_words(study, program, story, heap),
    })
}

/// A refusal with its evidence.
pub(crate) fn refusal(program: &Program, refusal: &Refusal) -> Value {
    let (module, facts) = (&program.module, &program.facts);
    let name = |v: &ValueId| facts.label(module, *v);
    let mut out = match refusal {
        Refusal::Color { buffer, allocation } => {
            as_map(json!({"buffer_color": buffer.0, "allocation_color": allocation.0}))
        }
        Refusal::TooBig { buffer, allocation } | Refusal::LiveOutSize { buffer, allocation } => {
            as_map(json!({"buffer_size": buffer, "allocation_size": allocation}))
        }
        Refusal::ReadOnly | Refusal::NotReusable => Map::new(),
        Refusal::NewMustNotLiveOut(v) | Refusal::OldMustNotLiveOut(v) => as_map(json!({"value": name(v)})),
        Refusal::Interference { old, new, why } => {
            let mut out = interference(program, why);
            out.insert("old".to_owned(), json!(name(old)));
            out.insert("new".to_owned(), json!(name(new)));
            out
        }
        Refusal::CopyOfItself { old, new } => as_map(json!({"old": name(old), "new": name(new)})),
    };
    out.insert("rule".to_owned(), json!(refusal.number()));
    out.insert("name".to_owned(), json!(refusal.name()));
    out.insert("words".to_owned(), json!(words::refusal(module, facts, refusal)));
    Value::Object(out)
}

/// How two ranges meet.
pub(crate) fn interference(program: &Program, why: &Interference) -> Map<String, Value> {
    let name = |v: &ValueId| program.facts.label(&program.module, *v);
    as_map(match why {
        Interference::Overlap(o) => json!({"overlap": [o.from.0, o.to.0]}),
        Interference::Touch { ends, starts, at, why } => {
            let clause = match why {
                Touching::Copy => "Copy".to_owned(),
                Touching::NotAnOperand => "NotAnOperand".to_owned(),
                Touching::Clause(clause) => format!("{clause:?}"),
                Touching::NotAlone => "NotAlone".to_owned(),
            };
            json!({"touch": at.0, "ends": name(ends), "starts": name(starts), "clause": clause})
        }
        Interference::MayInterfere => json!({"unordered": true}),
    })
}

fn as_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
