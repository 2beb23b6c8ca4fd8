//! `bufferscope assign MODULE --out DIR`

use crate::input::{AssignmentArguments, ModuleArguments};
use crate::{Answer, Failure, say};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// The folder that gets the four files; without it `buffer-assignment.txt` goes to standard output
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the block of statistics that XLA writes to its log and into out-of-memory reports
    #[arg(long)]
    stats: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let program = arguments.module.program()?;
    let (assignment, _) = arguments.assignment.assign(&program)?;
    let stats =
        arguments.stats.then(|| dumps::stats(&program.module, &program.facts, &assignment).to_string());
    let Some(folder) = &arguments.out else {
        if let Some(stats) = stats {
            return say(&stats);
        }
        return say(&dumps::buffer_assignment(&program.module, &program.facts, &assignment));
    };
    let fail = |path: &std::path::Path, e: std::io::Error| Failure(format!("{}: {e}", path.display()));
    std::fs::create_dir_all(folder).map_err(|e| fail(folder, e))?;
    for (name, text) in dumps::all(&program.module, &program.facts, &assignment) {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| fail(&path, e))?;
    }
    if !program.facts.orders.exact {
        eprintln!(
            "note: without the .hlo.pb XLA's internal orders are guessed; numbers of values may differ"
        );
    }
    stats.map_or(Ok(Answer::Yes), |stats| say(&stats))
}
