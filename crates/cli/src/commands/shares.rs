//! `bufferscope shares MODULE A B [--json]`: exit status 0 for yes, 1 for no.

use crate::commands::explain::{both_places, explained, placed};
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
