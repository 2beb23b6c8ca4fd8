//! `bufferscope memory-space MODULE --capacity BYTES`, `bufferscope memory-space --replay FIXTURE.json`

use crate::input::{ModuleArguments, read_bytes};
use crate::{Answer, Failure, say};
use analysis::Backend;
use memory_space::cost::Machine;
use memory_space::loop_hints::{LoopOptions, add_loop_hints};
use memory_space::problem::{PrefetchTime, UseOverride};
use memory_space::program::{Program, Slicing, ask, estimate_seconds, problem};
use memory_space::replay::ReplayError;
use memory_space::usage::usage;
use memory_space::write_back::Placed;
use memory_space::{Assignment, Options, Problem, Space, replay};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// HLO text or `.hlo.pb` with a schedule, also gzipped; `-` is standard input; or a dump folder, or an archive of one
    #[arg(required_unless_present = "replay")]
    module: Option<PathBuf>,
    /// Which module of a folder: its number, its name or one of its files, behind `FOLDER/` or `tpu:` if there are several
    #[arg(long = "module", value_name = "ID_OR_NAME")]
    pick: Option<String>,
    /// A trace of a real compiler (`input`: options, schedule with seconds, buffers, requirements) to be replayed
    #[arg(long, value_name = "FIXTURE", conflicts_with = "module")]
    replay: Option<PathBuf>,
    /// The `.hlo.pb` of the same module, for the internal orders that text lacks
    #[arg(long, value_name = "PROTO")]
    orders: Option<PathBuf>,
    /// The compiler the module comes from: cpu, gpu or tpu [default: detected]
    #[arg(long)]
    target: Option<Backend>,
    /// Bytes of fast memory [default: what XLA has of a TPU v5e]
    #[arg(long, value_name = "BYTES", default_value_t = 117_440_512)]
    capacity: u64,
    /// Bytes a second of slow memory, and of the copies between the two
    #[arg(long, value_name = "BYTES_PER_S", default_value_t = Machine::default().default_bandwidth)]
    bandwidth: f64,
    /// Bytes a second of fast memory
    #[arg(long, value_name = "BYTES_PER_S", default_value_t = Machine::default().alternate_read_bandwidth)]
    fast_bandwidth: f64,
    /// Floating-point operations a second
    #[arg(long, value_name = "PER_S", default_value_t = Machine::default().operations)]
    operations: f64,
    /// The number of the fast memory space in layouts, `S(1)`
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    space: u32,
    /// Prefetches under way at a time; negative: any number
    #[arg(long, value_name = "COUNT", default_value_t = 40, allow_negative_numbers = true)]
    max_outstanding_prefetches: i64,
    /// Evictions under way at a time; negative: any number
    #[arg(long, value_name = "COUNT", default_value_t = 40, allow_negative_numbers = true)]
    max_outstanding_evictions: i64,
    /// Parameters fetched before the program begins; negative: any number
    #[arg(long, value_name = "COUNT", default_value_t = 1, allow_negative_numbers = true)]
    max_cross_program_prefetches: i64,
    /// At most so many slices for a copy; below 2 none is sliced
    #[arg(long, value_name = "COUNT", default_value_t = 4)]
    max_slices: usize,
    /// How often everything may be packed anew
    #[arg(long, value_name = "COUNT", default_value_t = 4)]
    max_repacks: u32,
    /// Ask something of a use or of all uses of a value: `NAME=slow`, `NAME=fast`, `NAME=after:TIME`, `NAME=eager:0.5`, or
    /// `NAME=only:TIME`, the only start there may be; NAME is `dot.3` or `dot.3, operand 1`
    #[arg(long, value_name = "NAME=WISH")]
    ask: Vec<String>,
    /// Have the independent checker execute the result
    #[arg(long)]
    check: bool,
    /// Leave unrolled loops to the main loop
    #[arg(long)]
    no_loop_optimizer: bool,
    /// The answer as JSON
    #[arg(long)]
    json: bool,
    /// Every decision with its evidence instead of the table
    #[arg(long)]
    decisions: bool,
    /// The schedule with the copies in it instead of the table
    #[arg(long, conflicts_with_all = ["decisions", "json", "replay"])]
    schedule: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    if let Some(fixture) = &arguments.replay {
        return run_replay(arguments, fixture);
    }
    let Some(module) = &arguments.module else { return Err(Failure("no module".to_owned())) };
    let source = ModuleArguments::new(module.clone(), arguments.orders.clone(), arguments.target, None)
        .of(arguments.pick.clone());
    let program = source.program()?;
    if !program.module.is_scheduled {
        return Err(source.failure(
            &program.module,
            None,
            "a module without a schedule, expected `is_scheduled=true`",
        ));
    }
    let machine = Machine {
        default_bandwidth: arguments.bandwidth,
        alternate_read_bandwidth: arguments.fast_bandwidth,
        alternate_write_bandwidth: arguments.fast_bandwidth,
        operations: arguments.operations,
        ..Machine::default()
    };
    let options = Options {
        max_outstanding_prefetches: arguments.max_outstanding_prefetches,
        max_outstanding_evictions: arguments.max_outstanding_evictions,
        max_cross_program_prefetches: arguments.max_cross_program_prefetches,
        max_repacks: arguments.max_repacks,
        ..Options::tpu_v5e(arguments.capacity)
    };
    let slicing = Slicing { max_slices: arguments.max_slices, ..Slicing::default() };
    let mut made = problem(&program.module, &program.facts, machine, options, slicing, arguments.space);
    if !arguments.no_loop_optimizer {
        add_loop_hints(&program.module, &program.facts, &mut made, machine, LoopOptions::default());
    }
    for wish in &arguments.ask {
        let (name, asked) = parse_wish(wish)?;
        if ask(&mut made.problem, name, asked) == 0 {
            return Err(Failure(format!(
                "--ask {wish}: expected the name of a value or use, `dot.3, operand 1`"
            )));
        }
    }
    let assignment = memory_space::assign(&made.problem).map_err(|e| match e {
        memory_space::Error::BadOption { option } => Failure(bad_option(option)),
        e => source.failure(&program.module, None, &e.to_string()),
    })?;
    check(arguments, &made.problem, &assignment)?;
    if arguments.decisions {
        return decisions(arguments, &made.problem, &assignment);
    }
    if arguments.schedule {
        return schedule(&program.module, &program.facts, &made, &assignment);
    }
    let (before, after) = estimate_seconds(&made.problem, &assignment);
    let (slow_peak, fast_peak) = usage(&made.problem, &assignment).peaks();
    if arguments.json {
        let answer = serde_json::json!({
            "capacity": arguments.capacity,
            "heap_size": assignment.heap_size,
            "slow_peak": slow_peak,
            "fast_peak": fast_peak,
            "repacks": assignment.repacks,
            "seconds_without": before,
            "seconds_with": after,
            "allocations": assignment.allocations,
        });
        return json(serde_json::to_string_pretty(&answer));
    }
    let mut text = table(&assignment);
    let _ = writeln!(
        text,
        "{} of {} bytes used; at most {fast_peak} bytes at once in fast memory, {slow_peak} in slow memory\n\
         estimated {:.3} us instead of {:.3} us",
        assignment.heap_size,
        arguments.capacity,
        after * 1e6,
        before * 1e6
    );
    say(&text)
}

/// What runs in which order, copies included.
fn schedule(
    module: &hlo::Module,
    facts: &analysis::Facts,
    program: &Program,
    assignment: &Assignment,
) -> Result<Answer, Failure> {
    let of = |allocation: usize| assignment.allocations[allocation].position.clone();
    let mut text = String::new();
    for (computation, placed) in memory_space::write_back::schedule(module, facts, program, assignment) {
        let _ = writeln!(text, "{}:", module.computation_name(computation));
        for one in placed {
            let line = match one {
                Placed::Original(id) => module.name_of(id).to_owned(),
                Placed::CopyStart(a) => format!("copy-start of {}", of(a)),
                Placed::CopyDone(a) => format!("copy-done of {}", of(a)),
                Placed::SliceStart(a, rank) => format!("slice-start of {}, part {rank}", of(a)),
                Placed::SliceDone(a, rank) => format!("slice-done of {}, part {rank}", of(a)),
                Placed::Concat(a) => format!("concat-bitcast of {}", of(a)),
            };
            let _ = writeln!(text, "  {line}");
        }
    }
    say(&text)
}

/// `dot.3, operand 1=after:7`
fn parse_wish(text: &str) -> Result<(&str, UseOverride), Failure> {
    let wrong =
        || Failure(format!("--ask {text}: expected NAME=slow, fast, after:TIME, eager:SHARE or only:TIME"));
    let (name, wish) = text.rsplit_once('=').ok_or_else(wrong)?;
    let (kind, value) = wish.split_once(':').unwrap_or((wish, ""));
    let time = || value.parse::<i64>().map_err(|_| wrong());
    let asked = match kind {
        "slow" => UseOverride::KeepInDefault,
        "fast" => UseOverride::Pin,
        "after" => UseOverride::Prefetch { at: PrefetchTime::At(time()?), is_strict: false },
        "eager" => {
            let share = value.parse().ok().filter(|s| (0.0..=1.0).contains(s)).ok_or_else(wrong)?;
            UseOverride::Prefetch { at: PrefetchTime::Eagerness(share), is_strict: false }
        }
        "only" => UseOverride::OnlyStart { start: time()? },
        _ => return Err(wrong()),
    };
    Ok((name, asked))
}

/// What is wrong with an option, by its name in the engine.
fn bad_option(name: &str) -> String {
    match name {
        "max_size_in_bytes" => "--capacity: expected bytes from 0 to 2^60".to_owned(),
        "copy_bandwidth_bytes_per_second" => "--bandwidth: expected more than 0 bytes a second".to_owned(),
        name => format!("{name}: expected another value"),
    }
}

/// Says that the checker found every value where it is read, or fails.
fn check(arguments: &Arguments, problem: &Problem, assignment: &Assignment) -> Result<(), Failure> {
    if !arguments.check {
        return Ok(());
    }
    memory_space::checked::check(problem, assignment).map_err(|e| Failure(e.to_string()))
}

fn run_replay(arguments: &Arguments, fixture: &Path) -> Result<Answer, Failure> {
    let bytes = read_bytes(fixture)?;
    let text = String::from_utf8_lossy(&bytes);
    let path = fixture.display();
    let (fixture, assignment) = replay::run(&text).map_err(|e| match e {
        ReplayError::Json(e) => {
            let what = crate::json::words(&e.to_string(), "a trace of memory space assignment");
            Failure(format!("{path}:{}:{}: {what}", e.line(), e.column()))
        }
        ReplayError::Problem(e) => Failure(format!("{path}: {e}")),
    })?;
    check(arguments, &fixture.problem(), &assignment)?;
    if arguments.decisions {
        return decisions(arguments, &fixture.problem(), &assignment);
    }
    if arguments.json {
        return json(serde_json::to_string_pretty(&replay::table(&assignment)));
    }
    say(&table(&assignment))
}

fn json(value: serde_json::Result<String>) -> Result<Answer, Failure> {
    match value {
        Ok(text) => say(&(text + "\n")),
        Err(e) => Err(Failure(e.to_string())),
    }
}

fn decisions(arguments: &Arguments, problem: &Problem, assignment: &Assignment) -> Result<Answer, Failure> {
    if arguments.json {
        return json(serde_json::to_string_pretty(&assignment.decisions));
    }
    let mut text = String::new();
    for decision in &assignment.decisions {
        let _ = writeln!(text, "{}", memory_space::words::decision(problem, decision));
    }
    say(&text)
}

/// What is in fast memory, one allocation a line.
fn table(assignment: &Assignment) -> String {
    let mut text = String::new();
    for allocation in assignment.in_alternate() {
        let offset = allocation.offset.unwrap_or(0);
        let _ = write!(
            text,
            "{:>10} {:>10} bytes [{}, {}] {}",
            offset, allocation.size, allocation.start, allocation.end, allocation.position
        );
        let _ = match &allocation.copy {
            Some(copy) if copy.cross_program.is_some() => {
                writeln!(text, ", fetched before the program, done before {}", copy.done)
            }
            Some(copy) => writeln!(text, ", copied after {}, done before {}", copy.start, copy.done),
            None => writeln!(text),
        };
    }
    for allocation in assignment.allocations.iter().filter(|a| a.space == Space::Default) {
        if let Some(copy) = &allocation.copy {
            let _ = writeln!(
                text,
                "{:>10} {:>10} bytes         {}, evicted after {}, done before {}",
                "", allocation.size, allocation.position, copy.start, copy.done
            );
        }
    }
    text
}
