//! `bufferscope assign MODULE [--out DIR] [--json]`

use crate::commands::peak::row_in_json;
use crate::input::{AssignmentArguments, ModuleArguments, Program};
use crate::{Answer, Failure, say};
use assigner::{Assignment, Decision};
use questions::Study;
use serde_json::{Value, json};
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
    /// One JSON object: the allocations with their values, and the sums
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let program = arguments.module.program()?;
    let (assignment, decisions) = arguments.assignment.assign(&program)?;
    let stats =
        arguments.stats.then(|| dumps::stats(&program.module, &program.facts, &assignment).to_string());
    let Some(folder) = &arguments.out else {
        if arguments.json {
            return say(&format!("{}\n", in_json(program, assignment, decisions)));
        }
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
    if arguments.json {
        return say(&format!("{}\n", in_json(program, assignment, decisions)));
    }
    stats.map_or(Ok(Answer::Yes), |stats| say(&stats))
}

fn in_json(program: Program, assignment: Assignment, decisions: Vec<Decision>) -> Value {
    let total = (assignment.total_bytes(), assignment.temp_bytes());
    let study =
        Study::of_assignment(questions::Program::new(program.module, program.facts), assignment, decisions);
    let allocations: Vec<Value> = study
        .slabs
        .iter()
        .enumerate()
        .map(|(i, s)| {
            let values = study.rows.iter().filter(|r| r.slab == i).map(|r| row_in_json(&study, r));
            json!({
                "allocation": s.number,
                "size": s.size,
                "color": s.color,
                "owner": s.role.name(),
                "parameter": s.parameter.as_ref().map(|(n, index)| json!({"number": n, "index": index.to_string()})),
                "maybe_live_out": s.maybe_live_out,
                "values": values.collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({"total_bytes": total.0, "temp_bytes": total.1, "allocations": allocations})
}
