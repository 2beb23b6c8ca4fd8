//! `bufferscope shares MODULE A B [--json]`: exit status 0 for yes, 1 for no.

use crate::commands::explain::{both_places, explained, placed};
use crate::commands::peak::row_in_json;
use crate::input::{AssignmentArguments, ModuleArguments};
use crate::{Answer, Failure, say};
use assigner::words::{bytes, grouped};
use serde_json::json;

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
    if arguments.module.is_dump()? {
        return of_dump(arguments);
    }
    let (program, e) = explained(&arguments.module, &arguments.assignment, [&arguments.a, &arguments.b])?;
    if arguments.json {
        let answer = json!({
            "shares": e.shares(),
            "common_bytes": e.common_bytes,
            "a": placed(&program, e.values[0], e.places[0], e.ranges[0]),
            "b": placed(&program, e.values[1], e.places[1], e.ranges[1]),
        });
        say(&format!("{answer}\n"))?;
    } else {
        let answer = if e.shares() { format!("yes, {}", bytes(e.common_bytes)) } else { "no".to_owned() };
        say(&format!("{answer}\n{}", both_places(&program, &e)))?;
    }
    Ok(if e.shares() { Answer::Yes } else { Answer::No })
}

/// By XLA's own places, which need no program.
fn of_dump(arguments: &Arguments) -> Result<Answer, Failure> {
    let study = arguments.module.study(&arguments.assignment, false)?;
    let find = |name: &str| {
        let row = study.find(name);
        row.map(|i| &study.rows[i])
            .ok_or_else(|| Failure(format!("`{name}`, expected a value that has a place in the dump")))
    };
    let (a, b) = (find(&arguments.a)?, find(&arguments.b)?);
    let end = |r: &questions::Row| r.offset.saturating_add(r.size);
    let common = if a.slab == b.slab { end(a).min(end(b)).saturating_sub(a.offset.max(b.offset)) } else { 0 };
    if arguments.json {
        let answer = json!({
            "shares": common > 0,
            "common_bytes": common,
            "a": row_in_json(&study, a),
            "b": row_in_json(&study, b),
        });
        say(&format!("{answer}\n"))?;
    } else {
        let answer = if common > 0 { format!("yes, {}", bytes(common)) } else { "no".to_owned() };
        let line = |r: &questions::Row| {
            let range = r.range.map(|(from, to)| format!(", steps {from} to {to}")).unwrap_or_default();
            let place =
                format!("{} at {} of allocation {}", bytes(r.size), grouped(r.offset), study.slab(r).number);
            format!("{}: {place}{range}, {}\n", r.name, r.shape)
        };
        say(&format!("{answer}\n{}{}", line(a), line(b)))?;
    }
    Ok(if common > 0 { Answer::Yes } else { Answer::No })
}
