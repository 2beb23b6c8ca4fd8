//! `bufferscope optimum MODULE_OR_CSV [--capacity N] [--time-limit S] [--json]`

use crate::input::{AssignmentArguments, ModuleArguments, Program};
use crate::{Answer, Failure, buffers, checking, say, shown};
use analysis::ValueId;
use assigner::words::both;
use assigner::{Assignment, HeapRun};
use packing::optimum::{Limits, Outcome, Problem, ProblemError, solve};
use packing::{Algorithm, BufferKey, Options, pack};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// Any packing of at most so many bytes will do; of a module, in each memory space
    #[arg(long, value_name = "BYTES")]
    capacity: Option<u64>,
    /// Stop after so many seconds, with the best packing and the bound so far
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    time_limit: f64,
    /// Stop after so many branches: the same answer on every machine
    #[arg(long, value_name = "COUNT")]
    nodes: Option<u64>,
    /// Tell on standard error how the best packing and the bound close in
    #[arg(long)]
    progress: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if s >= 0.0 && s.is_finite() => Ok(s),
        _ => Err(format!("`{text}`, expected seconds")),
    }
}

/// One heap, and what was found.
struct Solved {
    outcome: Outcome,
    /// Only of a module.
    heap: Option<Heap>,
}

/// What XLA's packers make of the same buffers, in bytes.
struct Heap {
    color: u32,
    assigned: u64,
    best_fit: u64,
    fast_merge: u64,
    fast_split: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let end = Instant::now().checked_add(Duration::from_secs_f64(arguments.time_limit.min(1e9)));
    let csv = if arguments.module.is_folder()? {
        None
    } else {
        let bytes = arguments.module.bytes()?;
        if buffers::is_table(arguments.module.path(), &bytes) {
            Some(buffers::read(arguments.module.path(), &bytes)?)
        } else {
            None
        }
    };
    let Some(table) = csv else {
        return answer(arguments, &arguments.module.program()?, end);
    };
    let problem = Problem { items: table.items, alignment: arguments.module.alignment().unwrap_or(1) };
    let outcome = look(arguments, &problem, end, Some(&table.lines))?;
    let offsets: Vec<Value> = table
        .ids
        .iter()
        .zip(&outcome.offsets)
        .map(|(id, offset)| json!({"id": id, "offset": offset}))
        .collect();
    let lines = table.ids.iter().zip(&outcome.offsets).map(|(id, offset)| (id.clone(), *offset)).collect();
    tell(arguments, &[Solved { outcome, heap: None }], offsets, lines)
}

/// Solves the problem; what comes out is looked at once more. `lines` are those of the items, if they stand in a table.
fn look(
    arguments: &Arguments,
    problem: &Problem,
    end: Option<Instant>,
    lines: Option<&[usize]>,
) -> Result<Outcome, Failure> {
    let limits = Limits { capacity: arguments.capacity, nodes: arguments.nodes };
    let mut told = None;
    let outcome = solve(problem, &limits, &mut |now| {
        if arguments.progress && told != Some((now.height, now.lower_bound)) {
            told = Some((now.height, now.lower_bound));
            crate::tell(&format!(
                "{} bytes, at least {}, after {} branches",
                now.height, now.lower_bound, now.nodes
            ));
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
    .map_err(|e| {
        let path = arguments.module.path().display();
        match (e, lines) {
            (ProblemError::TooLarge { item }, Some(lines)) if item < lines.len() => Failure(format!(
                "{path}:{}: with this buffer the sizes add up to more than 2^61 bytes, expected less",
                lines[item]
            )),
            _ => Failure(format!("{path}: {e}")),
        }
    })?;
    assert_eq!(problem.height(&outcome.offsets), Some(outcome.height), "the packing is none");
    Ok(outcome)
}

/// The heaps of a module.
fn answer(arguments: &Arguments, program: &Program, end: Option<Instant>) -> Result<Answer, Failure> {
    if arguments.assignment.has_heap_limit() {
        return Err(Failure(
            "--heap-limit, expected --capacity: there is one heap for each memory space".to_owned(),
        ));
    }
    let (assignment, _) = arguments.assignment.assign(program)?;
    let label = |v: u32| program.facts.label(&program.module, ValueId(v));
    let mut solved = Vec::new();
    let mut places: Vec<(ValueId, u64)> = Vec::new();
    let (mut offsets, mut lines) = (Vec::new(), Vec::new());
    for run in &assignment.heaps {
        let fail = |e: packing::PackError| Failure(format!("{}: {e}", arguments.module.path().display()));
        let (problem, keys) = Problem::from_events(&run.events, run.options.alignment).map_err(fail)?;
        let outcome = look(arguments, &problem, end, None)?;
        let mut own: Vec<(BufferKey, u64)> = keys
            .iter()
            .zip(&outcome.offsets)
            .flat_map(|(group, offset)| group.iter().map(|key| (*key, *offset)))
            .collect();
        // Values of size 0 are no part of the problem.
        let none = run.packing.heaps.iter().flat_map(|h| &h.chunks).filter(|(_, chunk)| chunk.size == 0);
        own.extend(none.map(|(key, _)| (*key, 0)));
        own.sort_unstable();
        for (key, offset) in own {
            places.push((ValueId(key.0), offset));
            let name = label(key.0);
            offsets.push(json!({"id": name, "offset": offset, "value": key.0, "color": run.color.0}));
            lines.push((name, offset));
        }
        solved.push(Solved { outcome, heap: Some(compare(run).map_err(fail)?) });
    }
    // Behind a heap that has grown, places would overlap.
    let is_within =
        assignment.heaps.iter().zip(&solved).all(|(run, solved)| {
            run.packing.heaps.len() == 1 && solved.outcome.height <= run.packing.total()
        });
    if cfg!(debug_assertions) && is_within && program.facts.target.backend != analysis::Backend::Tpu {
        checking::assert_right(&program.module, &program.facts, &moved(&assignment, &places));
    }
    tell(arguments, &solved, offsets, lines)
}

/// The assignment with these places in its heaps. A heap may stand behind other temporaries in one allocation.
fn moved(assignment: &Assignment, places: &[(ValueId, u64)]) -> Assignment {
    let mut out = assignment.clone();
    for (value, offset) in places {
        let chunk = assignment.heaps.iter().find_map(|run| run.packing.find(BufferKey(value.0)));
        let (Some((id, placed)), Some((_, chunk))) = (assignment.place(*value), chunk) else { continue };
        let begin = placed.offset.saturating_sub(chunk.offset);
        for placed in out.allocations[id.index()].values.iter_mut().filter(|p| p.value == *value) {
            placed.offset = begin.saturating_add(*offset);
        }
    }
    out
}

fn compare(run: &HeapRun) -> Result<Heap, packing::PackError> {
    let total = |algorithm| {
        let options = Options { algorithm, ..run.options.clone() };
        pack(&run.events, &options).map(|p| p.total())
    };
    Ok(Heap {
        color: run.color.0,
        assigned: run.packing.total(),
        best_fit: total(Algorithm::BestOfSpatialTemporal)?,
        fast_merge: total(Algorithm::FastMerge)?,
        fast_split: total(Algorithm::FastSplit)?,
    })
}

fn tell(
    arguments: &Arguments,
    solved: &[Solved],
    offsets: Vec<Value>,
    lines: Vec<(String, u64)>,
) -> Result<Answer, Failure> {
    let height: u64 = solved.iter().map(|s| s.outcome.height).sum();
    let lower_bound: u64 = solved.iter().map(|s| s.outcome.lower_bound).sum();
    let proved = solved.iter().all(|s| s.outcome.proved());
    let fits = arguments.capacity.map(|c| {
        let all: Vec<Option<bool>> = solved.iter().map(|s| s.outcome.fits(c)).collect();
        if all.contains(&Some(false)) { Some(false) } else { (!all.contains(&None)).then_some(true) }
    });
    if arguments.json {
        let mut out = json!({
            "height": height,
            "lower_bound": lower_bound,
            "proved": proved,
            "fits": fits.flatten(),
            "nodes": solved.iter().map(|s| s.outcome.nodes).sum::<u64>(),
            "offsets": offsets,
        });
        let heap = |s: &Solved| {
            let heap = s.heap.as_ref()?;
            Some(json!({
                "color": heap.color,
                "height": s.outcome.height,
                "lower_bound": s.outcome.lower_bound,
                "proved": s.outcome.proved(),
                "fits": arguments.capacity.and_then(|c| s.outcome.fits(c)),
                "assigned": heap.assigned,
                "best_fit": heap.best_fit,
                "fast_merge": heap.fast_merge,
                "fast_split": heap.fast_split,
            }))
        };
        out["heaps"] = match solved {
            [Solved { heap: None, .. }] => Value::Null,
            _ => solved.iter().filter_map(heap).collect(),
        };
        say(&format!("{out}\n"))?;
    } else {
        say(&shown(&in_words(arguments, solved, &lines)))?;
    }
    if fits == Some(None) {
        crate::tell("no packing was found in time; whether there is one is not known");
    }
    Ok(if fits.is_none_or(|f| f == Some(true)) { Answer::Yes } else { Answer::No })
}

fn in_words(arguments: &Arguments, solved: &[Solved], lines: &[(String, u64)]) -> String {
    let mut out = String::new();
    for s in solved {
        let o = &s.outcome;
        if let Some(heap) = &s.heap {
            _ = write!(out, "Memory space {}: ", heap.color);
        }
        _ = match (o.proved(), arguments.capacity.map(|c| (c, o.fits(c)))) {
            (true, None | Some((_, Some(true)))) => {
                writeln!(out, "{}; there is no smaller packing.", both(o.height))
            }
            (_, Some((capacity, Some(true)))) => {
                writeln!(out, "{}: fits into {}.", both(o.height), both(capacity))
            }
            (_, Some((capacity, Some(false)))) => writeln!(
                out,
                "nothing fits into {}; at least {} are needed, a packing of {} was found.",
                both(capacity),
                both(o.lower_bound),
                both(o.height)
            ),
            (_, Some((capacity, None))) => writeln!(
                out,
                "no packing into {} was found in time; at least {} are needed, a packing of {} was found.",
                both(capacity),
                both(o.lower_bound),
                both(o.height)
            ),
            (false, None) => writeln!(
                out,
                "{}; whether there is a smaller packing is not known, at least {} are needed.",
                both(o.height),
                both(o.lower_bound)
            ),
        };
        if let Some(h) = &s.heap {
            _ = writeln!(
                out,
                "As assigned {}; best fit {}, fast merge {}, fast split {}.",
                both(h.assigned),
                both(h.best_fit),
                both(h.fast_merge),
                both(h.fast_split)
            );
        }
    }
    if solved.is_empty() {
        out += "There is no heap: nothing to pack.\n";
    }
    out.push('\n');
    for (id, offset) in lines {
        _ = writeln!(out, "{offset:>15}  {id}");
    }
    out
}
