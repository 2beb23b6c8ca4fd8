//! `bufferscope decisions MODULE [--json]`

use crate::events::{event, sentence};
use crate::input::{AssignmentArguments, ModuleArguments};
use crate::{Answer, Failure, say};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let program = arguments.module.program()?;
    let (_, decisions) = arguments.assignment.assign(&program)?;
    let mut out = String::new();
    for decision in &decisions {
        out += &if arguments.json { event(decision).to_string() } else { sentence(&program, decision) };
        out.push('\n');
    }
    say(&out)
}
