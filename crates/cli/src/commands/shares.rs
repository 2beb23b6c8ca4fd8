//! `bufferscope shares MODULE A B [--json]`: exit status 0 for yes, 1 for no.

use crate::commands::explain::{both_places, explained, placed, program_of};
use crate::commands::peak::row_in_json;
use crate::input::{AssignmentArguments, ModuleArguments};
use crate::{Answer, Failure, say};
use assigner::words::bytes;
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
    let (study, pair) = explained(&arguments.module, &arguments.assignment, [&arguments.a, &arguments.b])?;
    if arguments.json {
        let program = program_of(&study)?;
        let answer = json!({
            "shares": pair.shares,
            "common_bytes": pair.common_bytes,
            "a": placed(&study, program, pair.ours.values[0]),
            "b": placed(&study, program, pair.ours.values[1]),
        });
        say(&format!("{answer}\n"))?;
    } else {
        let answer = if pair.shares { format!("yes, {}", bytes(pair.common_bytes)) } else { "no".to_owned() };
        say(&format!("{answer}\n{}", both_places(&study, &pair)))?;
    }
    Ok(if pair.shares { Answer::Yes } else { Answer::No })
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
    let common = questions::common(a, b);
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
        let line =
            |r: &questions::Row| format!("{}: {}, {}\n", r.name, questions::place_of(&study, r), r.shape);
        say(&format!("{answer}\n{}{}", line(a), line(b)))?;
    }
    Ok(if common > 0 { Answer::Yes } else { Answer::No })
}
