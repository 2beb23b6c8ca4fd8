//! `bufferscope owners MODULE [--granularity BYTES] [--json]`: whose memory it is, and which addresses change from run to run.

use crate::commands::budget::damaged;
use crate::commands::budget::size;
use crate::input::{AssignmentArguments, ModuleArguments};
use crate::{Answer, Failure, say, shown};
use assigner::words::{both, grouped};
use questions::{Role, Slab, Study};
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// Of a dump: look at our assignment instead of XLA's own
    #[arg(long)]
    ours: bool,
    /// What addresses are mapped in: each allocation is rounded up to a whole number of these
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "2MiB")]
    granularity: u64,
    /// One JSON object, with every allocation
    #[arg(long)]
    json: bool,
}

/// Allocations of one owner in one memory space.
struct Line {
    role: Role,
    color: u32,
    count: u64,
    bytes: u64,
    mapped: u64,
    largest: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    if arguments.granularity == 0 {
        return Err(Failure("--granularity: 0, expected at least one byte".to_owned()));
    }
    let study = arguments.module.study(&arguments.assignment, arguments.ours)?;
    let mapped = |s: &Slab| mapped(s.size, arguments.granularity);
    let mut lines: Vec<Line> = Vec::new();
    for role in Role::ALL {
        let mut colors: Vec<u32> = study.slabs.iter().filter(|s| s.role == role).map(|s| s.color).collect();
        colors.sort_unstable();
        colors.dedup();
        for color in colors {
            let of = || study.slabs.iter().filter(|s| s.role == role && s.color == color);
            let add = |sum: u64, n: u64| sum.saturating_add(n);
            lines.push(Line {
                role,
                color,
                count: of().count() as u64,
                bytes: of().map(|s| s.size).fold(0, add),
                // What is on a thread's stack is mapped by nobody.
                mapped: if role == Role::ThreadLocal { 0 } else { of().map(mapped).fold(0, add) },
                largest: of().map(|s| s.size).max().unwrap_or(0),
            });
        }
    }
    if arguments.json {
        say(&format!("{}\n", in_json(&study, &lines, arguments.granularity)))?;
    } else {
        say(&shown(&in_words(&study, &lines, arguments.granularity)))?;
    }
    damaged(&study, "these sums are not to be relied on").map_or(Ok(Answer::Yes), Err)
}

/// Bytes of a whole number of pieces.
fn mapped(bytes: u64, granularity: u64) -> u64 {
    bytes.div_ceil(granularity).saturating_mul(granularity)
}

/// Is it the caller who may bring other memory in each run?
fn is_callers(role: Role) -> bool {
    matches!(role, Role::Argument | Role::Output)
}

fn sum(lines: &[Line], wanted: impl Fn(&Line) -> bool) -> (u64, u64, u64) {
    lines.iter().filter(|l| wanted(l)).fold((0, 0, 0), |(count, bytes, mapped), l| {
        (count + l.count, bytes.saturating_add(l.bytes), mapped.saturating_add(l.mapped))
    })
}

fn in_words(study: &Study, lines: &[Line], granularity: u64) -> String {
    let mut out = format!(
        "{:<12} {:>5} {:>11} {:>17} {:>17} {:>17}  its address\n",
        "owner", "space", "allocations", "bytes", "largest", "mapped"
    );
    for l in lines {
        _ = writeln!(
            out,
            "{:<12} {:>5} {:>11} {:>17} {:>17} {:>17}  {}",
            l.role.name(),
            l.color,
            grouped(l.count),
            grouped(l.bytes),
            grouped(l.largest),
            if l.role == Role::ThreadLocal { "-".to_owned() } else { grouped(l.mapped) },
            l.role.address()
        );
    }
    let one = |(count, bytes, _): (u64, u64, u64)| {
        format!(
            "{} in {} {}",
            both(bytes),
            grouped(count),
            if count == 1 { "allocation" } else { "allocations" }
        )
    };
    _ = writeln!(
        out,
        "\nThe caller's, and at other addresses when it passes other arrays: {}.",
        one(sum(lines, |l| is_callers(l.role)))
    );
    let donated: Vec<&Slab> =
        study.slabs.iter().filter(|s| s.role == Role::Argument && s.maybe_live_out).collect();
    if !donated.is_empty() {
        let bytes = donated.iter().fold(0u64, |sum, s| sum.saturating_add(s.size));
        _ = writeln!(
            out,
            "Of that, outputs stand in donated arguments: {}. A caller that passes each result on as the next argument keeps their addresses.",
            one((donated.len() as u64, bytes, 0))
        );
    }
    _ = writeln!(
        out,
        "The executable's: {}.",
        one(sum(lines, |l| matches!(l.role, Role::Temp | Role::Constant)))
    );
    let (_, bytes, mapped) = sum(lines, |l| l.role != Role::ThreadLocal);
    _ = writeln!(
        out,
        "Each mapped in pieces of {}: {}, {} more than is used.",
        both(granularity),
        both(mapped),
        both(mapped.saturating_sub(bytes))
    );
    out
}

fn in_json(study: &Study, lines: &[Line], granularity: u64) -> Value {
    let owners: Vec<Value> = lines
        .iter()
        .map(|l| {
            json!({
                "owner": l.role.name(),
                "color": l.color,
                "allocations": l.count,
                "bytes": l.bytes,
                "largest": l.largest,
                "mapped": l.mapped,
                "address": l.role.address(),
            })
        })
        .collect();
    let allocations: Vec<Value> = study
        .slabs
        .iter()
        .map(|s| {
            json!({
                "allocation": s.number,
                "owner": s.role.name(),
                "color": s.color,
                "size": s.size,
                "mapped": (s.role != Role::ThreadLocal).then(|| mapped(s.size, granularity)),
                "parameter": s.parameter.as_ref().map(|p| p.0),
                "parameter_index": s.parameter.as_ref().map(|p| p.1.to_string()),
                "maybe_live_out": s.maybe_live_out,
            })
        })
        .collect();
    json!({"granularity": granularity, "owners": owners, "allocations": allocations})
}
