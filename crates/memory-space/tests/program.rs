//! Modules as libtpu had them before memory space assignment, cut into values and uses here; with the seconds out of its
//! log, everything must come out as it did there.

use flate2::read::GzDecoder;
use hlo::Opcode;
use memory_space::cost::Machine;
use memory_space::loop_hints::{LoopOptions, add_loop_hints};
use memory_space::problem::{Buffer, BufferIndex, UseKind};
use memory_space::program::{Program, Slicing, problem};
use memory_space::write_back::{Placed, schedule};
use memory_space::{Assignment, Options, Problem, assign, replay};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

fn read(folder: &str, file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder).join(file);
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

fn program(text: &str, options: Options) -> (hlo::Module, analysis::Facts, Program) {
    let module = hlo::read(text).complete().unwrap();
    let target = analysis::Target::detect(&module);
    let orders = analysis::Orders::guess(&module, &target);
    let facts = analysis::Facts::new(&module, orders, target).unwrap();
    let program = problem(&module, &facts, Machine::default(), options, Slicing::default(), 1);
    (module, facts, program)
}

/// "sort.9 {0}" and "sort.9{0}" are one name.
fn plain(name: &str) -> String {
    name.replace(" {", "{")
}

/// Takes what only the compiler knows from its log: seconds, bytes, the order of buffers, how copies are sliced.
fn take_costs(program: &mut Program, log: &Problem) {
    let ours = &mut program.problem;
    ours.options = log.options.clone();
    ours.memory_pressure = log.memory_pressure;
    assert_eq!(ours.instructions.len(), log.instructions.len());
    for (a, b) in ours.instructions.iter_mut().zip(&log.instructions) {
        assert_eq!(a.name, b.name);
        assert_eq!((a.nest, a.while_nest), (b.nest, b.while_nest), "{}", a.name);
        assert_eq!(a.is_control_flow, b.is_control_flow, "{}", a.name);
        (a.elapsed_seconds, a.copy_seconds) = (b.elapsed_seconds, b.copy_seconds);
    }
    let place: BTreeMap<String, usize> =
        log.buffers.iter().enumerate().map(|(i, b)| (plain(&b.name), i)).collect();
    let mut order: Vec<usize> = (0..ours.buffers.len()).collect();
    order.sort_by_key(|i| place.get(&plain(&ours.buffers[*i].name)).copied().unwrap_or(usize::MAX));
    let mut now = vec![BufferIndex(0); order.len()];
    for (to, from) in order.iter().enumerate() {
        now[*from] = BufferIndex(to as u32);
    }
    let mut buffers: Vec<Buffer> = order.iter().map(|i| ours.buffers[*i].clone()).collect();
    for buffer in &mut buffers {
        let theirs = place.get(&plain(&buffer.name)).map(|i| &log.buffers[*i]);
        if let Some(theirs) = theirs {
            buffer.slices.clone_from(&theirs.slices);
        }
        for value in &mut buffer.allocation_values {
            let same = theirs
                .and_then(|b| b.allocation_values.iter().find(|v| plain(&v.name) == plain(&value.name)));
            if let Some(same) = same {
                value.bytes_accessed = same.bytes_accessed;
            }
            for usage in &mut value.uses {
                if let Some(conversion) = &mut usage.conversion {
                    conversion.target = now[conversion.target.0 as usize];
                }
                let same = same.and_then(|v| v.uses.iter().find(|u| plain(&u.name) == plain(&usage.name)));
                if let Some(same) = same {
                    usage.elapsed_reduction = same.elapsed_reduction;
                    usage.bytes_accessed = same.bytes_accessed;
                    usage.loop_hint = same.loop_hint;
                }
            }
        }
    }
    ours.buffers = buffers;
    program.places = order.iter().map(|i| program.places[*i].clone()).collect();
}

/// The schedule with copies, in the words of the fixtures.
fn schedule_after(
    module: &hlo::Module,
    facts: &analysis::Facts,
    program: &Program,
    assignment: &Assignment,
) -> BTreeMap<String, Vec<String>> {
    // A slice that became asynchronous is copied by its own operation.
    let is_slice = |allocation: usize| {
        let time = assignment.allocations[allocation].replaces;
        let id = time.and_then(|t| facts.clock.sequence.get(usize::try_from(t).ok()?));
        id.is_some_and(|id| module.instruction(*id).opcode != Opcode::Copy)
    };
    let word = |placed: &Placed| match placed {
        Placed::CopyStart(a) if is_slice(*a) => Some("slice-start".to_owned()),
        Placed::CopyDone(a) if is_slice(*a) => Some("slice-done".to_owned()),
        Placed::Original(id) => match module.instruction(*id).opcode {
            Opcode::Tuple | Opcode::Bitcast | Opcode::GetTupleElement => None,
            _ => Some(module.name_of(*id).to_owned()),
        },
        Placed::CopyStart(_) => Some("copy-start".to_owned()),
        Placed::CopyDone(_) => Some("copy-done".to_owned()),
        Placed::SliceStart(..) => Some("slice-start".to_owned()),
        Placed::SliceDone(..) => Some("slice-done".to_owned()),
        Placed::Concat(_) => Some("concat".to_owned()),
    };
    let schedule = schedule(module, facts, program, assignment);
    schedule
        .iter()
        .map(|(c, placed)| (module.computation_name(*c).to_owned(), placed.iter().filter_map(word).collect()))
        .collect()
}

/// Positions, uses and what must agree, without ids, which are the module reader's own.
fn structure(problem: &Problem, only: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for buffer in &problem.buffers {
        if !only.contains(&plain(&buffer.name)) {
            continue;
        }
        let mut text = format!("{} bytes\n", buffer.size);
        for value in &buffer.allocation_values {
            let _ = writeln!(text, "{} @{}", plain(&value.name), value.definition_time);
            for usage in &value.uses {
                let kind = match &usage.kind {
                    UseKind::Plain => "plain".to_owned(),
                    UseKind::Trivial => "trivial".to_owned(),
                    UseKind::While { parameter_time, first_use_time, .. } => {
                        format!("while {parameter_time} {first_use_time:?}")
                    }
                    UseKind::Conditional { branches } => format!("conditional {branches:?}"),
                    UseKind::Call => "call".to_owned(),
                };
                let mut aliases: Vec<i64> = usage.aliases.iter().map(|a| a.time).collect();
                aliases.sort_unstable();
                let _ = writeln!(
                    text,
                    "  {} @{} corrected {} latest {} {kind} agrees {aliases:?}",
                    plain(&usage.name),
                    usage.time,
                    usage.corrected_time,
                    usage.latest_prefetch_time
                );
            }
        }
        found.insert(plain(&buffer.name), text);
    }
    found
}

#[test]
fn modules_give_what_the_compiler_had() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/modules");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().trim_end_matches(".hlo.gz").to_owned())
        .collect();
    names.sort();
    let mut wrong = String::new();
    let mut same = 0;
    for name in &names {
        let fixture = replay::Fixture::from_json(&read("golden", &format!("{name}.json.gz"))).unwrap();
        let log = fixture.problem();
        let text = read("modules", &format!("{name}.hlo.gz"));
        let (module, facts, mut made) = program(&text, log.options.clone());
        let ours = &made.problem;
        let both: BTreeSet<String> = log.buffers.iter().map(|b| plain(&b.name)).collect();
        let (a, b) = (structure(ours, &both), structure(&log, &both));
        for (buffer, theirs) in &b {
            let mine = a.get(buffer).map_or("missing", String::as_str);
            if mine != theirs {
                let _ = writeln!(wrong, "{name}: {buffer}\n-- expected\n{theirs}-- got\n{mine}");
            }
        }
        let candidates = |p: &Problem| -> Vec<(String, u64, i64)> {
            p.cross_program.iter().map(|c| (c.name.clone(), c.size, c.last_use_time)).collect()
        };
        if candidates(ours) != candidates(&log) {
            let _ =
                writeln!(wrong, "{name}: candidates {:?}\n  got {:?}", candidates(&log), candidates(ours));
        }
        let names_of = |p: &Problem| -> BTreeMap<u32, String> {
            let buffers = p.buffers.iter().map(|b| (b.id, plain(&b.name)));
            buffers.chain(p.cross_program.iter().map(|c| (c.id, c.name.clone()))).collect()
        };
        let rows = |names: &BTreeMap<u32, String>, rows: &[replay::Row]| -> Vec<String> {
            rows.iter()
                .map(|r| {
                    let name = names.get(&r.id).cloned().unwrap_or_default();
                    format!("{name} {} at {} [{}, {}]", r.size, r.offset, r.start, r.end)
                })
                .collect()
        };
        let expected = rows(&names_of(&log), &fixture.expected);
        take_costs(&mut made, &log);
        let assignment = assign(&made.problem).unwrap();
        let got = rows(&names_of(&made.problem), &replay::table(&assignment));
        let after = schedule_after(&module, &facts, &made, &assignment);
        for (computation, theirs) in &fixture.schedule_after {
            let mine = after.get(computation).cloned().unwrap_or_default();
            if mine != *theirs {
                let _ = writeln!(wrong, "{name}: %{computation}\n  expected {theirs:?}\n  got      {mine:?}");
            }
        }
        if expected == got {
            same += 1;
        } else {
            let at = expected.iter().zip(&got).take_while(|(a, b)| a == b).count();
            let _ = writeln!(
                wrong,
                "{name}: row {at}\n  expected {:?}\n  got {:?}",
                expected.get(at),
                got.get(at)
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}{same}/{}", names.len());
}

/// What the loop optimiser decides for each use of an unrolled loop.
#[test]
fn an_unrolled_loop_is_planned_as_by_the_compiler() {
    let fixture = replay::Fixture::from_json(&read("golden", "unrolled_v5e.json.gz")).unwrap();
    let log = fixture.problem();
    let text = read("modules", "unrolled_v5e.hlo.gz");
    let (module, facts, mut made) = program(&text, log.options.clone());
    let planned = add_loop_hints(&module, &facts, &mut made, Machine::default(), LoopOptions::default());
    assert_eq!(planned.len(), 1);
    assert_eq!((planned[0].found.start, planned[0].found.end, planned[0].found.length), (4, 53, 5));
    let hints = |problem: &Problem| -> BTreeMap<String, String> {
        let uses = problem.buffers.iter().flat_map(|b| &b.allocation_values).flat_map(|v| &v.uses);
        uses.filter_map(|u| Some((plain(&u.name), format!("{:?}", u.loop_hint?)))).collect()
    };
    // The weight that is fetched before the program begins is tried no more, and its uses are not in the log.
    let theirs = hints(&log);
    let mut ours = hints(&made.problem);
    ours.retain(|name, _| !name.starts_with("fusion") || !name.ends_with("operand 0"));
    assert!(theirs.len() >= 50);
    assert_eq!(ours, theirs);
}
