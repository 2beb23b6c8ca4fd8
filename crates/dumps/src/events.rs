//! Decisions as XLA's own log tells them, one JSON object a line.

use assigner::{Decision, NewKind};

/// The event for one decision; `None` where the places that follow say it all.
///
/// | event | fields |
/// |---|---|
/// | `assign` | `buffer` |
/// | `try` | `buffer`, `allocation` |
/// | `refuse` | `reason` |
/// | `new` | `kind`, `allocation`, `buffer` |
/// | `reuse` | `operand`, `allocation`, `buffer` |
/// | `delay` | `value` |
/// | `place` | `allocation`, `size`, `offset`, `value` |
/// | `simulate` | `color` |
/// | `heap` | `size` |
///
/// Allocations are numbered as they were made, before temps are merged; sizes and offsets are bytes.
#[must_use]
pub fn event(decision: &Decision) -> Option<String> {
    Some(match decision {
        Decision::Assign { buffer } => format!(r#"{{"event":"assign","buffer":{buffer}}}"#),
        Decision::Try { buffer, allocation } => {
            format!(r#"{{"event":"try","buffer":{buffer},"allocation":{}}}"#, allocation.0)
        }
        Decision::Refuse { reason, .. } => format!(r#"{{"event":"refuse","reason":"{}"}}"#, reason.name()),
        Decision::New { kind, allocation, buffer } => format!(
            r#"{{"event":"new","kind":"{}","allocation":{},"buffer":{buffer}}}"#,
            kind_name(*kind),
            allocation.0
        ),
        Decision::Reuse { operand, allocation, buffer } => {
            format!(
                r#"{{"event":"reuse","operand":{operand},"allocation":{},"buffer":{buffer}}}"#,
                allocation.0
            )
        }
        Decision::Delay { value } => format!(r#"{{"event":"delay","value":{value}}}"#),
        Decision::Place { allocation, size, offset, value } => format!(
            r#"{{"event":"place","allocation":{},"size":{size},"offset":{offset},"value":{value}}}"#,
            allocation.0
        ),
        Decision::Simulate { color } => format!(r#"{{"event":"simulate","color":{color}}}"#),
        Decision::Heap { size } => format!(r#"{{"event":"heap","size":{size}}}"#),
        Decision::Absorb { .. } => return None,
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
