//! `bufferscope why MODULE VALUE [--json]`: every allocation that was tried, and the rule that refused it.

use crate::commands::copies::asked_by;
use crate::commands::explain::{placed, program_of, with_reasons};
use crate::input::{AssignmentArguments, ModuleArguments};
use crate::names::find;
use crate::{Answer, Failure, say, shown};
use analysis::sharing::Touching;
use analysis::{BufferId, Interference, ValueId};
use assigner::words::{both, bytes, grouped};
use assigner::{AllocationId, Assignment, Decision, Decisions, Refusal, words};
use packing::{BufferKey, Event};
use questions::{Program, Source, Study};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;

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

/// One allocation that was offered.
struct Trial {
    /// The value that the allocation was made for.
    made_for: Option<ValueId>,
    /// Its number in the finished assignment.
    allocation: Option<AllocationId>,
    /// Why not; `None` if it was taken.
    refusal: Option<Refusal>,
}

/// How a value was packed into a heap.
struct InHeap {
    heap_size: u64,
    number: usize,
    count: usize,
    offset: u64,
    size: u64,
    /// The free chunk it was put into; it may go on for ever.
    chunk: Option<(u64, u64)>,
    /// The value that the place was looked for, if not this one.
    leader: ValueId,
}

struct Story {
    value: ValueId,
    buffer: BufferId,
    trials: Vec<Trial>,
    /// The decision that settled it.
    outcome: Option<Decision>,
    in_heap: Option<InHeap>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let study = with_reasons(&arguments.module, &arguments.assignment)?;
    let program = program_of(&study)?;
    let value = find(&program.module, &program.facts, &arguments.value)?;
    let (assignment, decisions) =
        study.ours.as_ref().ok_or_else(|| Failure("no assignment of ours, expected one".to_owned()))?;
    let story = tell(program, assignment, decisions, value);
    let told = in_words(&study, program, assignment, &story);
    let row = study.row_of(value);
    let held = row.and_then(|row| questions::hold(&study, row)).map(|h| h.words(&study));
    let space = row.and_then(|row| questions::wishes_words(&study, row));
    if arguments.json {
        let mut out = in_json(&study, program, assignment, &story);
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

/// The number of an allocation that was made for a value: XLA's own where a dump tells it, else ours.
fn number(study: &Study, made_for: ValueId, ours: Option<AllocationId>) -> Option<u32> {
    if study.source == Source::Ours {
        return ours.map(|a| a.0);
    }
    study.row_of(made_for).map(|row| study.slab(&study.rows[row]).number)
}

fn tell(program: &Program, assignment: &Assignment, decisions: &Decisions, value: ValueId) -> Story {
    let buffer = program.facts.value(value).buffer;
    let mut made_for: HashMap<AllocationId, ValueId> = HashMap::new();
    let mut story = Story { value, buffer, trials: Vec::new(), outcome: None, in_heap: None };
    for d in decisions {
        match d {
            Decision::New { allocation, buffer: b, .. } => {
                made_for.insert(allocation, program.facts.buffer(b).values[0]);
                if b == buffer {
                    story.outcome = Some(d);
                }
            }
            Decision::Try { buffer: b, allocation } if b == buffer => {
                let first = made_for.get(&allocation).copied();
                let now = first.and_then(|v| assignment.place(v)).map(|(a, _)| a);
                story.trials.push(Trial { made_for: first, allocation: now, refusal: None });
            }
            Decision::Refuse { buffer: b, reason, .. } if b == buffer => {
                if let Some(last) = story.trials.last_mut() {
                    last.refusal = Some(reason);
                }
            }
            Decision::Reuse { buffer: b, .. } if b == buffer => story.outcome = Some(d),
            Decision::Delay { value: v } if v == value => story.outcome = Some(d),
            _ => {}
        }
    }
    if matches!(story.outcome, Some(Decision::Delay { .. })) {
        story.in_heap = in_heap(assignment, value);
    }
    story
}

fn in_heap(assignment: &Assignment, value: ValueId) -> Option<InHeap> {
    let key = BufferKey(value.0);
    let run = assignment.heaps.iter().find(|r| r.packing.heaps.iter().any(|h| h.chunk(key).is_some()))?;
    // The value that was allocated, whose place this one shares.
    let mut leader: HashMap<BufferKey, BufferKey> = HashMap::new();
    for event in &run.events {
        match event {
            Event::Alloc { buffer, .. } => {
                leader.insert(*buffer, *buffer);
            }
            Event::Share { buffer, with, .. } => {
                let root = leader.get(with).copied().unwrap_or(*with);
                leader.insert(*buffer, root);
            }
            Event::Free { .. } => {}
        }
    }
    let leader = leader.get(&key).copied()?;
    let placements = run.packing.heaps.iter().flat_map(|h| &h.placements);
    let number = placements.clone().position(|p| p.buffer == leader)?;
    let placement = placements.clone().nth(number)?;
    let options = packing::Options { algorithm: run.packing.chosen, ..run.options };
    let chunks = packing::free_chunks_at(&run.events, &options, number).unwrap_or_default();
    Some(InHeap {
        heap_size: run.packing.total(),
        number,
        count: placements.count(),
        offset: placement.offset,
        size: placement.size,
        chunk: chunks.iter().find(|c| c.is_chosen).map(|c| (c.offset, c.end)),
        leader: ValueId(leader.0),
    })
}

/// Free chunks that end beyond this go on for ever.
const FOR_EVER: u64 = 1 << 62;

fn in_words(study: &Study, program: &Program, assignment: &Assignment, story: &Story) -> String {
    let (module, facts) = (&program.module, &program.facts);
    let name = |v| facts.label(module, v);
    let buffer = facts.buffer(story.buffer);
    let place = match study.row_of(story.value) {
        Some(row) => questions::place_of(study, &study.rows[row]),
        None => words::place_words(None, facts.ranges.get(story.value)),
    };
    let mut out = format!("{}: {place}\n", name(story.value));
    if let Some(place) = questions::our_place(study, story.value) {
        _ = writeln!(out, "What was tried is told of our own assignment, which has it elsewhere: {place}.");
    }
    if buffer.values.len() > 1 {
        let others: Vec<String> =
            buffer.values.iter().filter(|v| **v != story.value).map(|v| name(*v)).collect();
        _ = writeln!(out, "It must share with {}.", words::list(&others, 6));
    }
    if story.outcome.is_none() {
        out += if assignment.place(story.value).is_some() {
            "It was placed before the assignment began.\n"
        } else {
            "It has no memory of its own.\n"
        };
        return out;
    }
    for (i, t) in story.trials.iter().enumerate() {
        // An allocation may be offered twice, as that of an operand and as one of all.
        let is_again = |other: &Trial| (other.made_for, other.refusal) == (t.made_for, t.refusal);
        if t.refusal.is_some() && story.trials[..i].iter().any(is_again) {
            continue;
        }
        let number = t.made_for.and_then(|v| number(study, v, t.allocation));
        let what = match (t.made_for, number) {
            (Some(v), Some(a)) => format!("allocation {a} ({})", name(v)),
            (Some(v), None) => format!("the allocation of {}", name(v)),
            _ => "an allocation".to_owned(),
        };
        _ = match t.refusal {
            Some(r) => writeln!(out, "{what}: no, {}", words::refusal(module, facts, &r)),
            None => writeln!(out, "{what}: yes"),
        };
    }
    if story.trials.is_empty() {
        out += "No allocation was tried.\n";
    }
    if let Some(outcome) = story.outcome {
        let text = match outcome {
            Decision::New { kind, .. } => format!("It got an allocation of its own ({}).", kind.name()),
            Decision::Reuse { operand: true, .. } => "It took the place of an operand.".to_owned(),
            Decision::Reuse { .. } => "It took an allocation that was there.".to_owned(),
            _ => "It was left to the heap.".to_owned(),
        };
        _ = writeln!(out, "{text}");
    }
    if let Some(h) = &story.in_heap {
        if h.leader != story.value {
            _ = writeln!(out, "In the heap it shares the place of {}.", name(h.leader));
        }
        let heap = if questions::our_place(study, h.leader).is_some() { "our heap" } else { "the heap" };
        _ = writeln!(
            out,
            "In {heap} of {} that place, {} at {}, was number {} of {} to be chosen.",
            both(h.heap_size),
            bytes(h.size),
            grouped(h.offset),
            h.number + 1,
            h.count
        );
        _ = match h.chunk {
            Some((from, to)) if to < FOR_EVER => {
                writeln!(
                    out,
                    "It was the smallest free chunk that holds it: from {} to {}.",
                    grouped(from),
                    grouped(to)
                )
            }
            Some((0, _)) => writeln!(out, "In its time nothing was there yet."),
            Some((from, _)) => {
                writeln!(
                    out,
                    "No free chunk between others held it, so it was put on top, from {} on.",
                    grouped(from)
                )
            }
            None => Ok(()),
        };
    }
    out
}

fn in_json(study: &Study, program: &Program, assignment: &Assignment, story: &Story) -> Value {
    let (module, facts) = (&program.module, &program.facts);
    let name = |v: ValueId| facts.label(module, v);
    let trials: Vec<Value> = story
        .trials
        .iter()
        .map(|t| {
            json!({
                "allocation": t.made_for.and_then(|v| number(study, v, t.allocation)),
                "made_for": t.made_for.map(name),
                "refusal": t.refusal.map(|r| refusal(program, &r)),
            })
        })
        .collect();
    let outcome = match story.outcome {
        Some(Decision::New { kind, .. }) => json!({"outcome": "new", "kind": kind.name()}),
        Some(Decision::Reuse { operand, .. }) => json!({"outcome": "reuse", "operand": operand}),
        Some(_) => json!({"outcome": "heap"}),
        None if assignment.place(story.value).is_some() => json!({"outcome": "preset"}),
        None => json!({"outcome": "none"}),
    };
    let heap = story.in_heap.as_ref().map(|h| {
        json!({
            "heap_size": h.heap_size,
            "placement": h.number,
            "placements": h.count,
            "offset": h.offset,
            "size": h.size,
            "free_chunk": h.chunk.map(|(from, to)| json!([from, Some(to).filter(|to| *to < FOR_EVER)])),
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
        "heap": heap,
        "words": in_words(study, program, assignment, story),
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
