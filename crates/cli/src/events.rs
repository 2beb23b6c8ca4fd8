//! Decisions as events, one JSON object a line.

use assigner::{Decision, NewKind};
use serde_json::{Value, json};

/// The event that XLA's own log gives for it; `None` where the places that follow say it all.
pub(crate) fn event(decision: &Decision) -> Option<Value> {
    Some(match decision {
        Decision::Absorb { .. } => return None,
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
    })
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
