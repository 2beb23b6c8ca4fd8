//! XLA's assignments with one thing broken: the checker says which.

mod common;

use checker::{Allocation, Placement, Plan, Verdict};
use common::{Case, cases, expect, words};
use hlo::{InstructionId, Opcode};
use std::fmt::Write;

/// At most this many answers are written out for each case and kind of damage; all are counted.
const SHOWN: usize = 2;

struct Damage {
    what: String,
    verdict: Verdict,
}

fn name(p: &Placement) -> String {
    if p.index.is_root() { p.instruction.clone() } else { format!("{}{}", p.instruction, p.index) }
}

fn is_temp(a: &Allocation) -> bool {
    a.parameter.is_none() && !a.is_constant && !a.is_thread_local
}

fn find(case: &Case, name: &str) -> Option<InstructionId> {
    case.module.instruction_ids().find(|id| case.module.name_of(*id) == name)
}

/// All ways to damage `plan` by changing one placement with `change`.
fn each_value(
    plan: &Plan,
    mut change: impl FnMut(&Placement) -> Option<(String, Placement)>,
) -> Vec<(String, Plan)> {
    let changed = plan.placements.iter().enumerate().filter_map(|(n, p)| {
        let (what, new) = change(p)?;
        let mut plan = plan.clone();
        plan.placements[n] = new;
        Some((what, plan))
    });
    changed.collect()
}

fn moved(p: &Placement, to: &Placement) -> Placement {
    Placement { allocation: to.allocation, offset: to.offset, ..p.clone() }
}

/// Each value onto the next larger or equal one in the same allocation that lies elsewhere.
fn onto_another(plan: &Plan) -> Vec<(String, Plan)> {
    each_value(plan, |p| {
        let other = plan.placements.iter().find(|q| {
            q.allocation == p.allocation && q.offset != p.offset && q.size >= p.size && p.size > 0
        })?;
        Some((format!("{} onto {}", name(p), name(other)), moved(p, other)))
    })
}

/// Each value some bytes further.
fn a_little_further(plan: &Plan) -> Vec<(String, Plan)> {
    let mut grown = plan.clone();
    for a in &mut grown.allocations {
        a.size += 4;
    }
    let plan = &grown;
    each_value(plan, |p| {
        (p.size > 0 && is_temp(&plan.allocations[p.allocation as usize])).then(|| {
            (format!("{} 4 bytes further", name(p)), Placement { offset: p.offset + 4, ..p.clone() })
        })
    })
}

fn without(plan: &Plan) -> Vec<(String, Plan)> {
    (0..plan.placements.len())
        .map(|n| {
            let mut new = plan.clone();
            let p = new.placements.remove(n);
            (format!("without {}", name(&p)), new)
        })
        .collect()
}

fn shrunk(plan: &Plan) -> Vec<(String, Plan)> {
    let used = |n: usize| {
        let ends = plan.placements.iter().filter(|p| p.allocation as usize == n);
        ends.map(|p| p.offset + p.size).max().unwrap_or(0)
    };
    let of = (0..plan.allocations.len()).filter(|n| used(*n) > 0).map(|n| {
        let mut new = plan.clone();
        new.allocations[n].size = used(n) - 1;
        (format!("allocation {n} shrunk"), new)
    });
    of.collect()
}

fn over_a_constant(plan: &Plan) -> Vec<(String, Plan)> {
    let constants: Vec<&Placement> =
        plan.placements.iter().filter(|p| plan.allocations[p.allocation as usize].is_constant).collect();
    each_value(plan, |p| {
        let constant = constants.iter().find(|c| c.size >= p.size)?;
        (p.size > 0 && is_temp(&plan.allocations[p.allocation as usize]))
            .then(|| (format!("{} onto constant {}", name(p), name(constant)), moved(p, constant)))
    })
}

/// Values of loops and of their parameters, each to an allocation of its own.
fn loop_state_elsewhere(case: &Case, plan: &Plan) -> Vec<(String, Plan)> {
    let mut grown = plan.clone();
    let size = plan.placements.iter().map(|p| p.size).max().unwrap_or(0);
    grown.allocations.push(Allocation {
        size,
        color: 0,
        parameter: None,
        is_constant: false,
        is_thread_local: false,
        maybe_live_out: false,
    });
    let last = plan.allocations.len() as u32;
    each_value(&grown, |p| {
        let id = find(case, &p.instruction)?;
        let color = plan.allocations[p.allocation as usize].color;
        (case.module.instruction(id).opcode == Opcode::While && p.size > 0 && color == 0).then(|| {
            (format!("{} elsewhere", name(p)), Placement { allocation: last, offset: 0, ..p.clone() })
        })
    })
}

/// A copy that stands where its source stands: as if there were none.
fn copy_dropped(case: &Case, plan: &Plan) -> Vec<(String, Plan)> {
    let mut out = Vec::new();
    for p in &plan.placements {
        let Some(id) = find(case, &p.instruction) else { continue };
        let operands = case.module.operands(id);
        if case.module.instruction(id).opcode != Opcode::Copy || operands.is_empty() {
            continue;
        }
        let source = case.module.name_of(operands[0]);
        let Some(to) = plan.placements.iter().find(|q| q.instruction == source && q.index.is_root()) else {
            continue;
        };
        // Whatever shares the copy's place goes with it.
        let mut new = plan.clone();
        for q in &mut new.placements {
            if (q.allocation, q.offset, q.size) == (p.allocation, p.offset, p.size) {
                *q = moved(q, to);
            }
        }
        out.push((format!("{} dropped", name(p)), new));
    }
    out
}

fn not_live_out(plan: &Plan) -> Vec<(String, Plan)> {
    let of = (0..plan.allocations.len()).filter(|n| plan.allocations[*n].maybe_live_out).map(|n| {
        let mut new = plan.clone();
        new.allocations[n].maybe_live_out = false;
        (format!("allocation {n} not live out"), new)
    });
    of.collect()
}

/// All damages, by kind.
fn kinds(case: &Case, plan: &Plan) -> [(&'static str, Vec<(String, Plan)>); 8] {
    [
        ("onto another value", onto_another(plan)),
        ("further", a_little_further(plan)),
        ("a line less", without(plan)),
        ("shrunk", shrunk(plan)),
        ("over a constant", over_a_constant(plan)),
        ("loop state elsewhere", loop_state_elsewhere(case, plan)),
        ("copy dropped", copy_dropped(case, plan)),
        ("not live out", not_live_out(plan)),
    ]
}

fn is_wrong(d: &Damage) -> bool {
    matches!(d.verdict, Verdict::Wrong(_))
}

fn tell(got: &mut String, kind: &str, all: &[Damage]) {
    let wrong: Vec<&Damage> = all.iter().filter(|d| is_wrong(d)).collect();
    let _ = writeln!(got, "{kind}: {} of {} wrong", wrong.len(), all.len());
    for d in wrong.iter().take(SHOWN) {
        let _ = writeln!(got, "  {}: {}", d.what, words(&d.verdict));
    }
}

#[test]
fn damaged() {
    let mut got = String::new();
    for case in cases().into_iter().filter(|c| !c.name.contains("random")) {
        let plan = case.plan();
        let _ = writeln!(got, "# {}", case.name);
        for (kind, all) in kinds(&case, &plan) {
            if all.is_empty() {
                continue;
            }
            let all: Vec<Damage> =
                all.into_iter().map(|(what, plan)| Damage { verdict: case.verdict(&plan), what }).collect();
            tell(&mut got, kind, &all);
            // These are wrong whatever the program does.
            if matches!(kind, "shrunk" | "not live out") {
                assert!(all.iter().all(is_wrong), "{}: {kind}", case.name);
            }
            // Only a value whose constant has stopped to matter could be put there, and constants always matter.
            if kind == "over a constant"
                && let Some(d) = all.iter().find(|d| !is_wrong(d))
            {
                panic!("{}: {}: {}", case.name, d.what, words(&d.verdict));
            }
        }
    }
    expect("damaged.txt", &got);
}

/// A module that itself loses values hides no damage that is done to its assignment: where two values are bound to one
/// buffer they may spoil each other only at their common address.
#[test]
fn damaged_where_copies_lack() {
    let mut got = String::new();
    for case in cases() {
        let (plan, facts) = (case.plan(), case.facts());
        if case.report(&plan, &facts).forced.is_empty() {
            continue;
        }
        let _ = writeln!(got, "# {}", case.name);
        for (kind, all) in kinds(&case, &plan) {
            let all: Vec<Damage> = all
                .into_iter()
                .map(|(what, plan)| Damage { verdict: case.report(&plan, &facts).verdict, what })
                .collect();
            if matches!(kind, "shrunk" | "not live out" | "over a constant" | "loop state elsewhere") {
                assert!(all.iter().all(is_wrong), "{}: {kind}", case.name);
            }
            if !all.is_empty() {
                tell(&mut got, kind, &all);
            }
        }
    }
    assert!(!got.is_empty());
    expect("damaged-forced.txt", &got);
}

/// What changes addresses and nothing else is still right.
#[test]
fn harmless() {
    for case in cases().into_iter().filter(|c| !c.name.contains("random")) {
        let plan = case.plan();
        let mut shifted = plan.clone();
        for a in &mut shifted.allocations {
            a.size += 192;
        }
        for p in &mut shifted.placements {
            p.offset += 128;
        }
        let mut reversed = plan.clone();
        reversed.allocations.reverse();
        for p in &mut reversed.placements {
            p.allocation = plan.allocations.len() as u32 - 1 - p.allocation;
        }
        reversed.placements.reverse();
        // Two values that lie side by side change places, with everything that shares their addresses.
        let mut mirrored = plan.clone();
        for p in &mut mirrored.placements {
            let of = &plan.placements;
            let alone = of.iter().all(|q| {
                q.allocation != p.allocation
                    || (q.offset, q.size) == (p.offset, p.size)
                    || q.offset + q.size <= p.offset
                    || p.offset + p.size <= q.offset
            });
            let all_alone = of.iter().filter(|q| q.allocation == p.allocation).all(|q| {
                of.iter().all(|r| {
                    r.allocation != q.allocation
                        || (r.offset, r.size) == (q.offset, q.size)
                        || r.offset + r.size <= q.offset
                        || q.offset + q.size <= r.offset
                })
            });
            if alone && all_alone {
                p.offset = plan.allocations[p.allocation as usize].size - p.offset - p.size;
            }
        }
        for (what, plan) in [("shifted", shifted), ("reversed", reversed), ("mirrored", mirrored)] {
            let verdict = case.verdict(&plan);
            assert!(matches!(verdict, Verdict::Right(_)), "{} {what}: {}", case.name, words(&verdict));
        }
    }
}
