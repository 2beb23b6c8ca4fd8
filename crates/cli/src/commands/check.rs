//! `bufferscope check MODULE [DUMP] [--ours] [--strict] [--json]`
//!
//! In a folder or an archive the dump is the one beside the module. With a dump the question is whether the assignment is right, without one whether the module with our assignment
//! computes what it says. The difference is in what the module itself loses, because it lacks a copy: no assignment could
//! do better, so only the second question is answered "no" for it.

use crate::checking;
use crate::input::{AssignmentArguments, ModuleArguments, read_bytes};
use crate::{Answer, Failure, say};
use checker::{Plan, Report, Summary, Verdict, Violation};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    /// XLA's `-buffer-assignment.txt` of the module [default: the one beside it in a folder, else our own assignment]
    #[arg(value_name = "DUMP")]
    dump: Option<PathBuf>,
    /// Check our own assignment, even if XLA's is in the folder
    #[arg(long, conflicts_with = "dump")]
    ours: bool,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// How often to run each loop, each time it is entered
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,
    /// Also say no to what the module itself loses, whatever the assignment; always so without DUMP
    #[arg(long)]
    strict: bool,
    /// The answer as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let input = arguments.module.input()?;
    let dump = match &arguments.dump {
        Some(path) => {
            Some((String::from_utf8_lossy(&read_bytes(path)?).into_owned(), path.display().to_string()))
        }
        None => input
            .assignment
            .clone()
            .filter(|_| !arguments.ours)
            .map(|text| (text, "the assignment of the folder".to_owned())),
    };
    let has_dump = dump.is_some();
    let (module, facts, text, name) = match dump {
        Some((text, name)) => {
            let (module, facts) = match arguments.module.program_from(&input) {
                Ok(program) => (program.module, Some(program.facts)),
                // An assignment can be checked without knowing what is bound to one buffer.
                Err(Failure(why)) => {
                    let module = arguments.module.module_of(&input.bytes)?;
                    crate::tell(&why);
                    (module, None)
                }
            };
            (module, facts, text, name)
        }
        None => {
            let program = arguments.module.program_from(&input)?;
            let (assignment, _) = arguments.assignment.assign(&program)?;
            let text = dumps::buffer_assignment(&program.module, &program.facts, &assignment);
            (program.module, Some(program.facts), text, "our own assignment".to_string())
        }
    };
    let plan = Plan::parse(&text).map_err(|e| Failure(format!("{name}:{e}")))?;
    let mut options = checker::Options::detect(&module, &plan);
    if let Some(target) = arguments.module.target {
        options.backend = checking::backend(target);
    }
    options.iterations = arguments.iterations;
    let report = checking::report(&module, facts.as_ref(), &plan, &options)
        .map_err(|e| Failure(format!("{name}:{e}")))?;
    let report = if arguments.strict || !has_dump { strict(report) } else { report };
    for violation in &report.forced {
        crate::tell(&format!("{}: {}", arguments.module.path().display(), blame(violation)));
    }
    say(&if arguments.json { event(&report).to_string() + "\n" } else { sentence(&report.verdict) })?;
    Ok(if matches!(report.verdict, Verdict::Right(_)) { Answer::Yes } else { Answer::No })
}

/// What the module itself loses makes it wrong as well.
fn strict(report: Report) -> Report {
    match (&report.verdict, report.forced.first()) {
        (Verdict::Right(_) | Verdict::NotFullyExplored(_), Some(first)) => {
            Report { verdict: Verdict::Wrong(Box::new(first.clone())), ..report }
        }
        _ => report,
    }
}

fn blame(violation: &Violation) -> String {
    format!("the module itself loses a value, whatever the assignment: it needs a copy: {violation}")
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

fn event(report: &Report) -> Value {
    let counts = |s: &Summary| {
        json!({
            "values": s.values, "steps": s.steps, "reads": s.reads, "writes": s.writes,
            "loops": s.loops, "branches": s.branches
        })
    };
    let mut out = match &report.verdict {
        Verdict::Right(s) => json!({"verdict": "right", "done": counts(s)}),
        Verdict::NotFullyExplored(s) => json!({"verdict": "not-fully-explored", "done": counts(s)}),
        Verdict::Wrong(v) => {
            let mut out = facts_of(v);
            out["verdict"] = "wrong".into();
            out
        }
    };
    out["forced"] = report.forced.iter().map(facts_of).collect();
    out
}

fn facts_of(v: &Violation) -> Value {
    let by = match v {
        Violation::Lost { found, .. } => found.as_ref().map(|d| d.value.as_str()),
        Violation::OverOperand { writer, .. } | Violation::ReadOnly { writer, .. } => Some(writer.as_str()),
        _ => None,
    };
    json!({
        "kind": v.kind(), "value": v.value(), "by": by, "step": v.when().map(|w| w.step), "text": v.to_string()
    })
}
