//! `bufferscope diff LEFT RIGHT [--json]`

use crate::input::{AssignmentArguments, ModuleArguments};
use crate::side::{Peak, Side};
use crate::{Answer, Failure, say};
use analysis::Backend;
use dumps::diff::{AllocationFace, Difference, Place, Totals, diff};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A `-buffer-assignment.txt`, or a module, which is assigned first
    left: PathBuf,
    /// The other one
    right: PathBuf,
    /// The `.hlo.pb` of the left module
    #[arg(long, value_name = "PROTO")]
    left_orders: Option<PathBuf>,
    /// The `.hlo.pb` of the right module
    #[arg(long, value_name = "PROTO")]
    right_orders: Option<PathBuf>,
    /// The compiler the modules come from: cpu, gpu or tpu [default: detected]
    #[arg(long)]
    target: Option<Backend>,
    /// Use this alignment for every colour
    #[arg(long, value_name = "BYTES")]
    alignment: Option<u64>,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let side = |path: &PathBuf, orders: &Option<PathBuf>| {
        let module =
            ModuleArguments::new(path.clone(), orders.clone(), arguments.target, arguments.alignment);
        Side::read(&module, &arguments.assignment)
    };
    let left = side(&arguments.left, &arguments.left_orders)?;
    let right = side(&arguments.right, &arguments.right_orders)?;
    let difference = diff(&left.assignment, &right.assignment);
    if arguments.json {
        say(&format!("{}\n", in_json(&difference, &left, &right)))?;
    } else {
        let mut out = difference.words();
        if let (Some(l), Some(r)) = (&left.peak, &right.peak) {
            _ = writeln!(
                out,
                "peak of the live ranges: {} at step {} -> {} at step {}: {}",
                assigner::words::both(l.bytes),
                l.step,
                assigner::words::both(r.bytes),
                r.step,
                assigner::words::difference(l.bytes, r.bytes)
            );
        }
        say(&out)?;
    }
    Ok(if difference.is_same() { Answer::Yes } else { Answer::No })
}

fn in_json(difference: &Difference, left: &Side, right: &Side) -> Value {
    let allocations: Vec<Value> = difference
        .allocations
        .iter()
        .map(|a| json!({"left": a.left.as_ref().map(face), "right": a.right.as_ref().map(face)}))
        .collect();
    let values: Vec<Value> = difference
        .values
        .iter()
        .map(|v| {
            json!({
                "value": v.name.to_string(),
                "change": v.change.name(),
                "shape": v.shape,
                "left": v.left.map(place),
                "right": v.right.map(place),
            })
        })
        .collect();
    json!({
        "same": difference.is_same(),
        "left": totals(&difference.left, left.peak.as_ref()),
        "right": totals(&difference.right, right.peak.as_ref()),
        "allocations": allocations,
        "values": values,
        "renumbered_allocations": difference.renumbered,
        "renumbered_values": difference.new_ids,
    })
}

fn totals(t: &Totals, peak: Option<&Peak>) -> Value {
    json!({
        "total_bytes": t.total,
        "temp_bytes": t.temp,
        "parameter_bytes": t.parameter,
        "live_out_bytes": t.live_out,
        "constant_bytes": t.constant,
        "thread_local_bytes": t.thread_local,
        "allocations": t.allocations,
        "values": t.values,
        "peak": peak.map(|p| json!({"step": p.step, "bytes": p.bytes})),
    })
}

fn face(f: &AllocationFace) -> Value {
    json!({"allocation": f.number, "size": f.size, "color": f.color, "kind": f.kind})
}

fn place(p: Place) -> Value {
    json!({"allocation": p.allocation, "offset": p.offset, "size": p.size})
}
