//! `bufferscope collective SCENARIO.json [--json]`, or `--module MODULE`

use crate::input::{AssignmentArguments, ModuleArguments, read_bytes};
use crate::{Answer, Failure, say};
use collective::words::{self, devices};
use collective::{Acquired, Error, Event, Found, Outcome, Scenario, Tables};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A scenario: `devices`, `requests`, `runs`, `generation`, `look_up`
    #[arg(required_unless_present = "module")]
    scenario: Option<PathBuf>,
    /// Instead: a compiled module, whose allocations of colour 1 its collectives need
    #[arg(long, value_name = "MODULE", conflicts_with = "scenario")]
    module: Option<PathBuf>,
    /// With --module: which module of a folder, its number, its name or one of its files
    #[arg(long, value_name = "ID_OR_NAME", requires = "module")]
    pick: Option<String>,
    /// Print the scenario of the module instead of running it
    #[arg(long, requires = "module")]
    print: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let mut needs = String::new();
    let scenario = match (&arguments.module, &arguments.scenario) {
        (Some(module), _) => {
            let program = ModuleArguments::new(module.clone(), None, None, None)
                .of(arguments.pick.clone())
                .by("--pick")
                .program()?;
            let (assignment, _) = AssignmentArguments::default().assign(&program)?;
            for need in collective::module::needs(&program.module, &program.facts, &assignment) {
                let size = assignment.allocations[need.allocation].size;
                let name = program.module.name_of(need.instruction);
                let groups: Vec<String> = need.groups.iter().map(|g| devices(g)).collect();
                let groups = groups.join(", ");
                _ = writeln!(needs, "{name} needs allocation {}, {size} bytes, on {groups}", need.allocation);
            }
            let scenario = collective::module::scenario(&program.module, &program.facts, &assignment);
            if let Some(refusal) = scenario.refusal() {
                return Err(Failure(format!("{}: {refusal}", module.display())));
            }
            scenario
        }
        (None, Some(path)) => {
            let bytes = read_bytes(path)?;
            collective::read(&String::from_utf8_lossy(&bytes)).map_err(|e| {
                let what = crate::json::words(&e.message, "a scenario");
                Failure(format!("{}:{}:{}: {what}", path.display(), e.line, e.column))
            })?
        }
        (None, None) => return Err(Failure("a scenario or a module, expected one of them".to_owned())),
    };
    if arguments.print {
        let text = serde_json::to_string_pretty(&scenario).map_err(|e| Failure(e.to_string()))?;
        return say(&(text + "\n"));
    }
    let outcome = collective::run(&scenario);
    let is_good = outcome.runs.iter().all(|r| r.ranks.values().all(Result::is_ok));
    if arguments.json {
        say(&format!("{}\n", in_json(&scenario, &outcome)))?;
    } else {
        say(&(needs + &in_words(&scenario, &outcome)))?;
    }
    Ok(if is_good { Answer::Yes } else { Answer::No })
}

/// What each look-up of a scenario finds after the last run.
fn found(scenario: &Scenario, outcome: &Outcome) -> Vec<Option<Found>> {
    let last = outcome.runs.last();
    let one = |l: &collective::LookUp| {
        let device = outcome.devices.iter().find(|d| d.id == l.device)?;
        let tables = last?.ranks.get(&l.device)?.as_ref().ok()?;
        Some(collective::look_up(device, tables, l))
    };
    scenario.look_up.iter().map(one).collect()
}

fn tables_in_json(tables: &Tables) -> Value {
    let symmetric = tables.symmetric.iter();
    let multicast = tables.multicast.iter();
    let peer = tables.peer.iter();
    json!({
        "symmetric": symmetric.map(|((c, a), r)| json!({"clique": c, "allocation": a, "memory": r.memory, "offset": r.offset})).collect::<Vec<_>>(),
        "multicast": multicast.map(|((c, a), m)| json!({"clique": c, "allocation": a, "object": m.object, "pointer": m.pointer, "pointers": m.pointers})).collect::<Vec<_>>(),
        "peer": peer.map(|((c, a), r)| json!({"clique": c, "allocation": a, "ranges": r})).collect::<Vec<_>>(),
    })
}

fn in_json(scenario: &Scenario, outcome: &Outcome) -> Value {
    let rank = |(device, result): (&u32, &Result<Tables, Error>)| match result {
        Ok(tables) => json!({"device": device, "tables": tables_in_json(tables), "error": null}),
        Err(error) => {
            json!({"device": device, "tables": null, "error": error, "words": words::error(error)})
        }
    };
    let run = |r: &Acquired| json!({"run": r.run, "ranks": r.ranks.iter().map(rank).collect::<Vec<_>>()});
    json!({
        "runs": outcome.runs.iter().map(run).collect::<Vec<_>>(),
        "events": outcome.events,
        "look_up": found(scenario, outcome),
    })
}

fn in_words(scenario: &Scenario, outcome: &Outcome) -> String {
    let mut out = String::new();
    for event in &outcome.events {
        let indent = if matches!(event, Event::Begins { .. }) { "" } else { "  " };
        _ = writeln!(out, "{indent}{}", words::event(event));
    }
    for (device, result) in outcome.runs.last().into_iter().flat_map(|r| &r.ranks) {
        let Ok(tables) = result else {
            _ = writeln!(out, "device {device} has nothing");
            continue;
        };
        _ = writeln!(out, "device {device}:");
        for ((clique, allocation), r) in &tables.symmetric {
            let (at, size) = (r.memory.address, r.memory.size);
            _ = writeln!(
                out,
                "  symmetric {} allocation {allocation}: {at:#x}, {size} bytes, at offset {}",
                devices(clique),
                r.offset
            );
        }
        for ((clique, allocation), m) in &tables.multicast {
            _ = writeln!(
                out,
                "  multicast {} allocation {allocation}: object {}, {:#x}",
                devices(clique),
                m.object,
                m.pointer
            );
        }
        for ((clique, allocation), ranges) in &tables.peer {
            let ranges: Vec<String> = ranges.iter().map(|(d, r)| format!("{d} {:#x}", r.address)).collect();
            _ = writeln!(out, "  peer {} allocation {allocation}: {}", devices(clique), ranges.join(", "));
        }
    }
    for (asked, found) in scenario.look_up.iter().zip(found(scenario, outcome)) {
        let found = match found {
            None => "that device has nothing".to_owned(),
            Some(found) => words::found(&found),
        };
        let what = match (asked.address, asked.allocation) {
            (Some(address), _) => format!("address {address:#x}"),
            (None, Some(allocation)) => format!("allocation {allocation} at {}", asked.offset),
            (None, None) => "nothing".to_owned(),
        };
        _ = writeln!(out, "device {} looks up {what}: {found}", asked.device);
    }
    out
}
