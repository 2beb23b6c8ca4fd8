//! `bufferscope collective SCENARIO.json [--json]`, or `--module MODULE`

use crate::input::{AssignmentArguments, ModuleArguments, read_bytes};
use crate::{Answer, Failure, say};
use collective::{Acquired, Error, Event, Found, Kept, Outcome, Scenario, Tables};
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
            let program = ModuleArguments::new(module.clone(), None, None, None).program()?;
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
            collective::read(&String::from_utf8_lossy(&bytes))
                .map_err(|e| Failure(format!("{}:{e}", path.display())))?
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

fn devices(clique: &[u32]) -> String {
    let list: Vec<String> = clique.iter().map(u32::to_string).collect();
    format!("{{{}}}", list.join(","))
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
            json!({"device": device, "tables": null, "error": error, "words": error_in_words(error)})
        }
    };
    let run = |r: &Acquired| json!({"run": r.run, "ranks": r.ranks.iter().map(rank).collect::<Vec<_>>()});
    json!({
        "runs": outcome.runs.iter().map(run).collect::<Vec<_>>(),
        "events": outcome.events,
        "look_up": found(scenario, outcome),
    })
}

fn place(place: &collective::Place) -> String {
    let what = match place.what {
        collective::What::Vote => "the vote",
        collective::What::Register => "registration",
        collective::What::Map => "multicast",
        collective::What::Exchange => "the exchange",
    };
    let run = if place.run > 0 { format!(" in run {}", place.run) } else { String::new() };
    format!("{what} {} of {}{run}", place.number, devices(&place.clique))
}

fn error_in_words(error: &Error) -> String {
    match error {
        Error::NotInClique { clique } => {
            format!("it is not in the clique {} that it asks for", devices(clique))
        }
        Error::NoAllocationAt { address } => format!("no allocation contains the address {address:#x}"),
        Error::NoAllocation { allocation } => format!("there is no allocation {allocation}"),
        Error::OtherProcess { kind, clique } => {
            let kind = match kind {
                collective::Kind::Symmetric => "symmetric",
                collective::Kind::Multicast => "multicast",
                collective::Kind::Peer => "peer",
            };
            format!("unimplemented: {kind} memory for {}, which spans processes", devices(clique))
        }
        Error::NoMulticast { device } => format!("unimplemented: device {device} makes no multicast objects"),
        Error::Disagree { place: at, asked } => {
            let asked: Vec<String> = asked.iter().map(|(d, a)| format!("device {d} for {a:?}")).collect();
            format!("at {} they ask for different allocations: {}", place(at), asked.join(", "))
        }
        Error::Sizes { allocation, sizes } => {
            let sizes: Vec<String> = sizes.iter().map(|(d, s)| format!("{s} on device {d}")).collect();
            format!("allocation {allocation} has different sizes: {}", sizes.join(", "))
        }
        Error::Waits { place: at, absent } => {
            let kept = |(device, kept): (&u32, &Kept)| match kept {
                Kept::Absent => format!("device {device}, which does not come"),
                Kept::Done => format!("device {device}, which is done"),
                Kept::Failed => format!("device {device}, which has failed"),
                Kept::WaitsAt { place: other } => format!("device {device}, which waits at {}", place(other)),
            };
            let absent: Vec<String> = absent.iter().map(kept).collect();
            format!("it would hang at {}, waiting for {}", place(at), absent.join(", "))
        }
        Error::TooLate => "it comes when nobody waits any more".to_owned(),
        Error::Absent => "it never comes".to_owned(),
    }
}

fn event_in_words(event: &Event) -> String {
    match event {
        Event::Begins { run } => format!("run {run}"),
        Event::Arrives { device, place: at, allocations } => {
            format!("  device {device} comes to {} with {allocations:?}", place(at))
        }
        Event::Agreed { place: at, allocations } => format!("  all are at {}: {allocations:?}", place(at)),
        Event::Failed { place: at } => format!("  all are at {}, and cannot agree", place(at)),
        Event::Cached { device, allocation } => {
            format!("  device {device} has allocation {allocation} registered already")
        }
        Event::Ready { device } => format!("  device {device} is ready"),
        Event::Ends { device, error } => format!("  device {device}: {}", error_in_words(error)),
    }
}

fn in_words(scenario: &Scenario, outcome: &Outcome) -> String {
    let mut out = String::new();
    for event in &outcome.events {
        _ = writeln!(out, "{}", event_in_words(event));
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
            Some(Found::Registered { allocation, memory, offset }) => {
                format!(
                    "allocation {allocation}, offset {offset} of the registration at {:#x}",
                    memory.address
                )
            }
            Some(Found::Multicast { allocation, pointer: Some(pointer), offset }) => {
                format!("allocation {allocation}, {pointer:#x} + {offset}")
            }
            Some(Found::Multicast { allocation, pointer: None, offset }) => {
                format!("allocation {allocation}, no object, offset {offset}")
            }
            Some(Found::Peers { allocation, ranges }) => {
                let ranges: Vec<String> =
                    ranges.iter().map(|(d, r)| format!("{d} {:#x}", r.address)).collect();
                format!("allocation {allocation}, {}", ranges.join(", "))
            }
            Some(Found::Nothing { allocation: Some(allocation) }) => {
                format!("allocation {allocation}, which nothing was acquired for")
            }
            Some(Found::Nothing { allocation: None }) => "no allocation".to_owned(),
            Some(Found::Outside { allocation, size }) => {
                format!("not within allocation {allocation}, which has {size} bytes")
            }
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
