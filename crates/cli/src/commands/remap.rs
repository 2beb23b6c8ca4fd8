//! `bufferscope remap --bandwidth B --memory M --free F --sizes a,b,c [--threshold N] [--json]`

use crate::input::{AssignmentArguments, ModuleArguments};
use crate::{Answer, Failure, say};
use remap::simulation::{Fault, Rules, Scenario, Step, simulate};
use remap::words::{self, PLAIN};
use remap::{Control, Decision, Inputs, Limit, decide};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Steps that are run at most: each is told.
const MOST_STEPS: i64 = 100_000;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Of copies within the device; 0 if it is not known
    #[arg(long, value_name = "BYTES_PER_S", value_parser = amount, default_value = "0", allow_negative_numbers = true)]
    bandwidth: u64,
    /// The device's memory; 0 if it is not known
    #[arg(long, value_name = "BYTES", value_parser = amount, default_value = "0", allow_negative_numbers = true)]
    memory: u64,
    /// What of it is free; 0 if it is not known
    #[arg(long, value_name = "BYTES", value_parser = amount, default_value = "0", allow_negative_numbers = true)]
    free: u64,
    /// The sizes of the slices, separated by commas
    #[arg(long, value_name = "BYTES,...")]
    sizes: Option<String>,
    /// Take the sizes from the allocations of a module: all but constants and what is local to a thread
    #[arg(long, value_name = "MODULE", conflicts_with = "sizes")]
    module: Option<PathBuf>,
    /// With --module: which module of a folder, its number, its name or one of its files
    #[arg(long, value_name = "ID_OR_NAME", requires = "module")]
    pick: Option<String>,
    /// 0 off, 1 automatic, more than 1: the cutoff in bytes
    #[arg(long, value_name = "NUMBER", default_value = "1", allow_hyphen_values = true)]
    threshold: String,
    /// The variant with calibration: what a remap was measured to cost
    #[arg(long, value_name = "MICROSECONDS")]
    measured_remap: Option<f64>,
    /// What a remap costs in the model
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 8.0)]
    remap_cost: f64,
    /// Devices whose mappings are changed one after the other
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    peers: u64,
    /// What addresses are reserved in
    #[arg(long, value_name = "BYTES", default_value_t = remap::cutoff::GRANULARITY, value_parser = clap::value_parser!(u64).range(1..))]
    granularity: u64,
    /// Run this many steps in which every slice's memory changes
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(..=MOST_STEPS))]
    steps: Option<u32>,
    /// With --steps: by how much the free memory changes each step
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 0,
        allow_negative_numbers = true,
        requires = "steps"
    )]
    free_drift: i64,
    /// With --steps: after how many the range dies and is made anew
    #[arg(long, value_name = "COUNT", default_value_t = 0, requires = "steps")]
    range_lasts: u32,
    /// With --steps: break a rule: freeze-cutoff, set-up-flag, free-shadows, check-shadows or by-size
    #[arg(long, value_name = "RULE", requires = "steps")]
    without: Vec<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// A number of bytes; what is not positive is not known.
fn amount(text: &str) -> Result<u64, String> {
    if let Ok(whole) = text.parse::<i128>() {
        return Ok(u64::try_from(whole.max(0)).unwrap_or(u64::MAX));
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number.max(0.0) as u64),
        _ => Err(format!("`{text}`, expected a number")),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let (control, warning) = Control::of_text(&arguments.threshold);
    if let Some(warning) = warning {
        crate::tell(&format!("--threshold: {warning}"));
    }
    let inputs = Inputs {
        bandwidth: arguments.bandwidth,
        memory: arguments.memory,
        free: arguments.free,
        sizes: sizes(arguments)?,
        control,
        measured_remap: arguments.measured_remap,
        remap_cost: arguments.remap_cost,
        peers: arguments.peers,
        granularity: arguments.granularity,
    };
    let decision = decide(&inputs);
    let steps = match arguments.steps {
        Some(steps) => Some(simulated(arguments, &inputs, steps)?),
        None => None,
    };
    if arguments.json {
        let mut out = in_json(&inputs, &decision);
        if let Some(steps) = steps {
            out["steps"] = steps.iter().map(step_in_json).collect();
        }
        return say(&format!("{out}\n"));
    }
    let mut out = words::decision(&inputs, &decision, PLAIN).join("\n") + "\n";
    for (i, step) in steps.iter().flatten().enumerate() {
        _ = writeln!(out, "{}", words::step(i, step, PLAIN));
        for fault in &step.faults {
            _ = writeln!(out, "  {}", words::fault(fault, PLAIN));
        }
    }
    say(&out)
}

fn sizes(arguments: &Arguments) -> Result<Vec<u64>, Failure> {
    if let Some(module) = &arguments.module {
        let program = ModuleArguments::new(module.clone(), None, None, None)
            .of(arguments.pick.clone())
            .by("--pick")
            .program()?;
        let (assignment, _) = AssignmentArguments::default().assign(&program)?;
        let slices = assignment.allocations.iter().filter(|a| !a.is_constant && !a.is_thread_local);
        return Ok(slices.map(|a| a.size).collect());
    }
    let text = arguments.sizes.as_deref().unwrap_or_default();
    let parse = |(i, part): (usize, &str)| {
        part.trim()
            .parse()
            .map_err(|_| Failure(format!("--sizes:1:{}: `{part}`, expected a number of bytes", i + 1)))
    };
    let mut column = 0;
    let mut parts = Vec::new();
    for part in text.split(',') {
        parts.push((column, part));
        column += part.chars().count() + 1;
    }
    if text.trim().is_empty() {
        parts.clear();
    }
    parts.into_iter().map(parse).collect()
}

fn simulated(arguments: &Arguments, inputs: &Inputs, steps: u32) -> Result<Vec<Step>, Failure> {
    let mut rules = Rules::default();
    for name in &arguments.without {
        if !rules.without(name) {
            let names = Rules::NAMES.join(", ");
            return Err(Failure(format!("--without: `{name}` is no rule, expected one of {names}")));
        }
    }
    let scenario = Scenario {
        steps,
        free_drift: arguments.free_drift,
        range_lasts: arguments.range_lasts,
        rules,
        ..Scenario::new(inputs.clone())
    };
    Ok(simulate(&scenario))
}

fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Slice => "slice",
        Limit::StepTime => "step-time",
        Limit::Memory => "memory",
    }
}

fn in_json(inputs: &Inputs, d: &Decision) -> Value {
    let list = |of: &[usize]| -> Vec<Value> {
        of.iter().map(|i| json!({"slice": i, "size": inputs.sizes[*i]})).collect()
    };
    json!({
        "cutoff": d.cutoff,
        "control": match inputs.control {
            Control::Auto => "auto",
            Control::Off => "off",
            Control::Exactly(_) => "exact",
        },
        "bounds": d.bounds.map(|b| json!({
            "slice": b.slice,
            "step_time": b.step_time,
            "memory": b.memory,
            "budget": b.budget().map(|(bytes, _)| bytes),
        })),
        "admitted": d.admitted,
        "stop": d.stop.map(|s| json!({"slice": s.slice, "limit": limit(s.limit)})),
        "copied": list(&d.copied),
        "remapped": list(&d.remapped),
        "reservation": d.reservation,
        "shadow_bytes": d.shadow_bytes,
        "overrun": d.overrun,
        "measured_remap_taken": inputs.measured_remap.map(|_| !d.implausible),
        "microseconds": {
            "remap_all": d.costs.remap_all,
            "copy_all": d.costs.copy_all,
            "chosen": d.costs.chosen,
        },
    })
}

fn step_in_json(step: &Step) -> Value {
    let fault = |f: &Fault| {
        let (name, slice, bytes) = match f {
            Fault::PastReservation { slice, bytes } => ("past-reservation", Some(*slice), Some(*bytes)),
            Fault::EventInFlight => ("event-in-flight", None, None),
            Fault::LeakedShadows { bytes } => ("leaked-shadows", None, Some(*bytes)),
            Fault::PastShadow { slice, bytes } => ("past-shadow", Some(*slice), Some(*bytes)),
            Fault::WrongAddress { slice } => ("wrong-address", Some(*slice), None),
            Fault::NoMemory { slice, bytes } => ("no-memory", Some(*slice), Some(*bytes)),
        };
        json!({"fault": name, "slice": slice, "bytes": bytes})
    };
    json!({
        "free": step.free,
        "cutoff": step.cutoff,
        "set_up": step.set_up,
        "reservation": step.reservation,
        "needed": step.needed,
        "remaps": step.remaps,
        "copied_bytes": step.copied_bytes,
        "shadow_bytes": step.shadow_bytes,
        "leaked_bytes": step.leaked_bytes,
        "microseconds": step.cost,
        "faults": step.faults.iter().map(fault).collect::<Vec<_>>(),
    })
}
