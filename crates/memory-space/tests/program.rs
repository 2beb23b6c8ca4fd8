//! Modules as libtpu had them before memory space assignment, cut into values and uses here; with the seconds out of its
//! log, everything must come out as it did there.

use flate2::read::GzDecoder;
use memory_space::cost::Machine;
use memory_space::problem::{Buffer, BufferIndex, UseKind};
use memory_space::program::{Program, Slicing, problem};
use memory_space::{Options, Problem, assign, replay};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

fn read(folder: &str, file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder).join(file);
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

fn program(text: &str, options: Options) -> Program {
    let module = hlo::read(text).complete().unwrap();
    let target = analysis::Target::detect(&module);
    let orders = analysis::Orders::guess(&module, &target);
    let facts = analysis::Facts::new(&module, orders, target).unwrap();
    problem(&module, &facts, Machine::default(), options, Slicing::default(), 1)
}

/// "sort.9 {0}" and "sort.9{0}" are one name.
fn plain(name: &str) -> String {
    name.replace(" {", "{")
}

/// Takes what only the compiler knows from its log: seconds, bytes, the order of buffers, how copies are sliced.
fn with_costs_of(mut ours: Problem, log: &Problem) -> Problem {
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
    ours
}

/// Positions, uses and what must agree, without ids, which are the module reader's own.
fn structure(problem: &Problem, only: &BTreeMap<String, ()>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for buffer in &problem.buffers {
        if !only.contains_key(&plain(&buffer.name)) {
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
        let ours = program(&read("modules", &format!("{name}.hlo.gz")), log.options.clone()).problem;
        let both: BTreeMap<String, ()> = log.buffers.iter().map(|b| (plain(&b.name), ())).collect();
        let (a, b) = (structure(&ours, &both), structure(&log, &both));
        for (buffer, theirs) in &b {
            let mine = a.get(buffer).map_or("missing", String::as_str);
            if mine != theirs {
                let _ = writeln!(wrong, "{name}: {buffer}\n-- expected\n{theirs}-- got\n{mine}");
            }
        }
        let candidates = |p: &Problem| -> Vec<(String, u64, i64)> {
            p.cross_program.iter().map(|c| (c.name.clone(), c.size, c.last_use_time)).collect()
        };
        if candidates(&ours) != candidates(&log) {
            let _ =
                writeln!(wrong, "{name}: candidates {:?}\n  got {:?}", candidates(&log), candidates(&ours));
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
        let ours = with_costs_of(ours, &log);
        let got = rows(&names_of(&ours), &replay::table(&assign(&ours).unwrap()));
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
