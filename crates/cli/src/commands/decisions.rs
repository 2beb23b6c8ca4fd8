//! `bufferscope decisions MODULE [--json]`

use crate::input::{AssignmentArguments, ModuleArguments};
use crate::{Answer, Failure, say};
use dumps::event;

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
        let line = if arguments.json {
            event(&decision)
        } else {
            Some(assigner::words::decision(&program.module, &program.facts, &decision))
        };
        out.extend(line.map(|l| l + "\n"));
    }
    say(&out)
}
