//! `bufferscope assign MODULE [--out DIR] [--json] [--timings]`

use crate::commands::peak::row_in_json;
use crate::input::{AssignmentArguments, ModuleArguments, Program};
use crate::{Answer, Failure, say};
use assigner::{Assignment, Decisions};
use questions::Study;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

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
    /// Tell how long reading, analysis, assignment, packing and writing took: on standard error, and in the JSON object
    #[arg(long)]
    timings: bool,
}

/// What the parts of a run took.
struct Timings {
    /// Bytes of the module, as it is read.
    bytes: u64,
    reading: Duration,
    analysis: Duration,
    /// Without packing.
    assignment: Duration,
    packing: Duration,
    writing: Duration,
}

impl Timings {
    fn rows(&self) -> [(&'static str, Duration); 5] {
        [
            ("reading", self.reading),
            ("analysis", self.analysis),
            ("assignment", self.assignment),
            ("packing", self.packing),
            ("writing", self.writing),
        ]
    }

    fn table(&self) -> String {
        let all: Duration = self.rows().iter().map(|r| r.1).sum();
        let mut out = String::new();
        for (name, took) in self.rows() {
            let share = 100.0 * took.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE);
            let note = if name == "reading" {
                format!("  {:.1} MB/s", self.bytes as f64 / 1e6 / took.as_secs_f64().max(f64::MIN_POSITIVE))
            } else {
                String::new()
            };
            _ = writeln!(out, "{name:<10} {:>12.3} ms {share:>5.1} %{note}", took.as_secs_f64() * 1e3);
        }
        _ = writeln!(out, "{:<10} {:>12.3} ms", "all", all.as_secs_f64() * 1e3);
        out
    }

    fn json(&self) -> Value {
        let seconds = self.rows().map(|(name, took)| (name.to_owned(), Value::from(took.as_secs_f64())));
        Value::Object(seconds.into_iter().collect())
    }
}

/// Runs it once more in parts, with a clock: the engines have none.
fn timings(arguments: &Arguments) -> Result<Timings, Failure> {
    let (program, bytes, reading, analysis) = arguments.module.timed_program()?;
    let started = Instant::now();
    let (assignment, decisions) = arguments.assignment.assign(&program)?;
    let both = started.elapsed();
    let started = Instant::now();
    for heap in &assignment.heaps {
        // Packed already; only how long it takes is of interest.
        let again = packing::pack(&heap.events, &heap.options);
        std::hint::black_box(again.is_ok());
    }
    let packing = started.elapsed();
    drop(decisions);
    let started = Instant::now();
    let written = dumps::all(&program.module, &program.facts, &assignment).map(|(_, text)| text.len());
    std::hint::black_box(written);
    let writing = started.elapsed();
    Ok(Timings { bytes, reading, analysis, assignment: both.saturating_sub(packing), packing, writing })
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let timings = if arguments.timings { Some(timings(arguments)?) } else { None };
    if let Some(timings) = &timings {
        crate::tell(&timings.table());
    }
    let timings = timings.map(|t| t.json());
    let program = arguments.module.program()?;
    let (assignment, decisions) = arguments.assignment.assign(&program)?;
    let stats =
        arguments.stats.then(|| dumps::stats(&program.module, &program.facts, &assignment).to_string());
    let Some(folder) = &arguments.out else {
        if arguments.json {
            return say(&format!("{}\n", in_json(program, assignment, decisions, timings)));
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
        crate::tell(
            "note: without the .hlo.pb XLA's internal orders are guessed; numbers of values may differ",
        );
    }
    if arguments.json {
        return say(&format!("{}\n", in_json(program, assignment, decisions, timings)));
    }
    stats.map_or(Ok(Answer::Yes), |stats| say(&stats))
}

fn in_json(program: Program, assignment: Assignment, decisions: Decisions, timings: Option<Value>) -> Value {
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
    let mut out = json!({"total_bytes": total.0, "temp_bytes": total.1, "allocations": allocations});
    if let Some(timings) = timings {
        out["seconds"] = timings;
    }
    out
}
