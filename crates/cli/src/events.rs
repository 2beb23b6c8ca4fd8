//! Decisions as events, one JSON object a line, and as sentences.

use crate::input::Program;
use assigner::{Decision, NewKind};
use serde_json::{Value, json};

/// The event that XLA's own log gives for it.
pub(crate) fn event(decision: &Decision) -> Value {
    match decision {
        Decision::Assign { buffer } => json!({"event": "assign", "buffer": buffer.0}),
        Decision::Try { buffer, allocation } => {
            json!({"event": "try", "buffer": buffer.0, "allocation": allocation.0})
        }
        Decision::Refuse { reason, .. } => json!({"event": "refuse", "reason": reason.name()}),
        Decision::New { kind, allocation, buffer } => {
            json!({"event": "new", "kind": kind_name(*kind), "allocation": allocation.0, "buffer": buffer.0})
        }
        Decision::Reuse { operand, allocation, buffer } => {
            json!({"event": "reuse", "operand": operand, "allocation": allocation.0, "buffer": buffer.0})
        }
        Decision::Delay { value } => json!({"event": "delay", "value": value.0}),
        Decision::Place { allocation, size, offset, value } => json!({
            "event": "place", "allocation": allocation.0, "size": size, "offset": offset, "value": value.0
        }),
        Decision::Simulate { color } => json!({"event": "simulate", "color": color.0}),
        Decision::Heap { size } => json!({"event": "heap", "size": size}),
    }
}

fn kind_name(kind: NewKind) -> &'static str {
    match kind {
        NewKind::Constant => "constant",
        NewKind::Parameter => "parameter",
        NewKind::ThreadLocal => "thread-local",
        NewKind::Tuple => "tuple",
        NewKind::Other => "other",
    }
}

/// The same in words, one line.
pub(crate) fn sentence(program: &Program, decision: &Decision) -> String {
    let value = |v| program.facts.short(&program.module, v);
    let buffer = |b| {
        let values: Vec<String> = program.facts.buffer(b).values.iter().map(|v| value(*v)).collect();
        format!("buffer {b} ({})", values.join(", "))
    };
    match decision {
        Decision::Assign { buffer: b } => buffer(*b),
        Decision::Try { allocation, .. } => format!("  tries allocation {}", allocation.0),
        Decision::Refuse { reason, .. } => format!("  refused: {}", reason.name()),
        Decision::New { kind, allocation, .. } => {
            format!("  new allocation {}: {}", allocation.0, kind_name(*kind))
        }
        Decision::Reuse { operand, allocation, .. } => {
            format!("  reuses allocation {}{}", allocation.0, if *operand { " of an operand" } else { "" })
        }
        Decision::Delay { value: v } => format!("  {} is left to the heap", value(*v)),
        Decision::Place { allocation, size, offset, value: v } => {
            format!("  {} in allocation {} at {offset}, {size} bytes", value(*v), allocation.0)
        }
        Decision::Simulate { color } => format!("heap of colour {color}"),
        Decision::Heap { size } => format!("  heap of {size} bytes"),
    }
}
