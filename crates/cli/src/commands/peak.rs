//! `bufferscope peak MODULE [--json]`

use crate::input::{AssignmentArguments, ModuleArguments, Program};
use crate::{Answer, Failure, say};
use analysis::ValueId;
use assigner::words::{both, bytes, grouped};
use assigner::{Allocation, Assignment};
use dumps::{BreakdownNode, HeapPeak, Peak};
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
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let program = arguments.module.program()?;
    let (assignment, _) = arguments.assignment.assign(&program)?;
    if program.facts.ranges.iter().next().is_none() {
        return Err(Failure("without a schedule there are no live ranges and no peak".to_owned()));
    }
    let peak = dumps::peak(&program.module, &program.facts);
    let tree = dumps::breakdown(&program.module, &program.facts, &peak.values);
    let heaps = dumps::heap_peaks(&program.facts, &assignment);
    if arguments.json {
        say(&format!("{}\n", in_json(&program, &assignment, &peak, &tree, &heaps)))
    } else {
        say(&in_words(&program, &assignment, &peak, &tree, &heaps, arguments.most))
    }
}

/// What an allocation is, in one word.
pub(crate) fn kind(a: &Allocation) -> &'static str {
    if a.parameter.is_some() {
        "parameter"
    } else if a.is_constant {
        "constant"
    } else if a.is_thread_local {
        "thread-local"
    } else if a.maybe_live_out {
        "result"
    } else {
        "temporary"
    }
}

fn in_words(
    program: &Program,
    assignment: &Assignment,
    peak: &Peak,
    tree: &[BreakdownNode],
    heaps: &[HeapPeak],
    most: usize,
) -> String {
    let (module, facts) = (&program.module, &program.facts);
    let at = facts.clock.at(peak.step).map_or("the end", |i| module.name_of(i));
    let mut out = format!(
        "Most is alive at step {} of {}, {at}: {} in {} values, without padding.\n\n",
        peak.step,
        facts.clock.end,
        both(peak.total),
        peak.values.len()
    );
    _ = writeln!(out, "{:>15}  {:>15}  {:>6}  {:<12}  value", "bytes", "cumulative", "share", "memory");
    let mut sum = 0u64;
    for (i, (v, size)) in peak.values.iter().enumerate() {
        sum = sum.saturating_add(*size);
        if i >= most {
            continue;
        }
        let memory = assignment.place(*v).map_or("none", |(a, _)| kind(assignment.allocation(a)));
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
    out += &dumps::breakdown_text(tree, peak.total);
    for heap in heaps {
        let at = facts.clock.at(heap.step).map_or("the end", |i| module.name_of(i));
        _ = writeln!(
            out,
            "\nThe heap of memory space {} takes {}. It is fullest at step {}, {at}: {} alive, {} not.\n",
            heap.color,
            both(heap.size),
            heap.step,
            both(heap.live),
            bytes(heap.size.saturating_sub(heap.live))
        );
        _ = writeln!(out, "{:>15}  {:>15}  {:>6}  values", "bytes", "offset", "share");
        for slot in heap.slots.iter().take(most) {
            let values: Vec<String> = slot.values.iter().map(|v| described(program, *v)).collect();
            _ = writeln!(
                out,
                "{:>15}  {:>15}  {:>5.1}%  {}",
                grouped(slot.size),
                slot.place.map_or(String::new(), |(_, offset)| grouped(offset)),
                share(slot.size, heap.live),
                values.join("; ")
            );
        }
        if heap.slots.len() > most {
            _ = writeln!(out, "and {} more", grouped((heap.slots.len() - most) as u64));
        }
    }
    out
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

fn value(program: &Program, assignment: &Assignment, v: ValueId) -> serde_json::Map<String, Value> {
    let (module, facts) = (&program.module, &program.facts);
    let instruction = module.instruction(facts.defining(v));
    let place = assignment.place(v);
    let range = facts.ranges.get(v);
    let fields = json!({
        "value": facts.label(module, v),
        "id": v.0,
        "shape": module.shapes.long(facts.value_shape(module, v)),
        "opcode": module.str(instruction.opcode_name),
        "op_name": dumps::op_name(module, facts.defining(v)),
        "start": range.map(|r| r.start.0),
        "end": range.map(|r| r.end.0),
        "allocation": place.map(|(a, _)| a.0),
        "offset": place.map(|(_, p)| p.offset),
        "size": place.map(|(_, p)| p.size),
        "kind": place.map(|(a, _)| kind(assignment.allocation(a))),
    });
    match fields {
        Value::Object(map) => map,
        _ => serde_json::Map::new(),
    }
}

fn in_json(
    program: &Program,
    assignment: &Assignment,
    peak: &Peak,
    tree: &[BreakdownNode],
    heaps: &[HeapPeak],
) -> Value {
    let (module, facts) = (&program.module, &program.facts);
    let name = |step| facts.clock.at(step).map(|i| module.name_of(i));
    let mut sum = 0u64;
    let values: Vec<Value> = peak
        .values
        .iter()
        .map(|(v, size)| {
            sum = sum.saturating_add(*size);
            let mut fields = value(program, assignment, *v);
            fields.insert("bytes".to_owned(), json!(size));
            fields.insert("cumulative".to_owned(), json!(sum));
            fields.insert(
                "share".to_owned(),
                json!(if peak.total == 0 { 0.0 } else { *size as f64 / peak.total as f64 }),
            );
            Value::Object(fields)
        })
        .collect();
    let tree: Vec<Value> = tree
        .iter()
        .map(|n| json!({"depth": n.depth, "name": n.name, "total": n.total, "current": n.current}))
        .collect();
    let heaps: Vec<Value> = heaps
        .iter()
        .map(|h| {
            let slots: Vec<Value> = h
                .slots
                .iter()
                .map(|s| {
                    let values: Vec<Value> =
                        s.values.iter().map(|v| Value::Object(value(program, assignment, *v))).collect();
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
