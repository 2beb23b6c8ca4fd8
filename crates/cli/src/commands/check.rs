//! `bufferscope check MODULE [DUMP] [--json]`

use crate::input::{AssignmentArguments, ModuleArguments, read_bytes};
use crate::{Answer, Failure, say};
use analysis::Backend;
use checker::{Plan, Summary, Verdict, Violation};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    /// XLA's `-buffer-assignment.txt` of the module [default: our own assignment]
    #[arg(value_name = "DUMP")]
    dump: Option<PathBuf>,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// How often to run each loop, each time it is entered
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,
    /// The answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let (module, text, name) = match &arguments.dump {
        Some(path) => {
            let text = String::from_utf8_lossy(&read_bytes(path)?).into_owned();
            (arguments.module.read()?, text, path.display().to_string())
        }
        None => {
            let program = arguments.module.program()?;
            let (assignment, _) = arguments.assignment.assign(&program)?;
            let text = dumps::buffer_assignment(&program.module, &program.facts, &assignment);
            (program.module, text, "our own assignment".to_string())
        }
    };
    let plan = Plan::parse(&text).map_err(|e| Failure(format!("{name}:{e}")))?;
    let mut options = checker::Options::detect(&module, &plan);
    if let Some(target) = arguments.module.target {
        options.backend = match target {
            Backend::Cpu => checker::Backend::Cpu,
            Backend::Gpu => checker::Backend::Gpu,
            Backend::Tpu => checker::Backend::Tpu,
        };
    }
    options.iterations = arguments.iterations;
    let verdict = checker::check(&module, &plan, &options).map_err(|e| Failure(format!("{name}:{e}")))?;
    say(&if arguments.json { event(&verdict).to_string() + "\n" } else { sentence(&verdict) })?;
    Ok(if matches!(verdict, Verdict::Right(_)) { Answer::Yes } else { Answer::No })
}

fn sentence(verdict: &Verdict) -> String {
    let done = |s: &Summary| {
        format!(
            "{} values, {} steps, {} reads, {} writes, {} loops, {} branches",
            s.values, s.steps, s.reads, s.writes, s.loops, s.branches
        )
    };
    match verdict {
        Verdict::Right(s) => format!("right: {}\n", done(s)),
        Verdict::Wrong(v) => format!("wrong: {v}\n"),
        Verdict::NotFullyExplored(s) => {
            format!("not fully explored, nothing wrong so far: {}\n", done(s))
        }
    }
}

fn event(verdict: &Verdict) -> Value {
    let counts = |s: &Summary| {
        json!({
            "values": s.values, "steps": s.steps, "reads": s.reads, "writes": s.writes,
            "loops": s.loops, "branches": s.branches
        })
    };
    match verdict {
        Verdict::Right(s) => json!({"verdict": "right", "done": counts(s)}),
        Verdict::NotFullyExplored(s) => json!({"verdict": "not-fully-explored", "done": counts(s)}),
        Verdict::Wrong(v) => {
            let found = match v.as_ref() {
                Violation::Lost { found, .. } => found.as_ref().map(|d| d.value.as_str()),
                Violation::OverOperand { writer, .. } | Violation::ReadOnly { writer, .. } => {
                    Some(writer.as_str())
                }
                _ => None,
            };
            json!({
                "verdict": "wrong", "kind": v.kind(), "value": v.value(), "by": found,
                "step": v.when().map(|w| w.step), "text": v.to_string()
            })
        }
    }
}
