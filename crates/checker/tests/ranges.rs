//! Two opinions about the same question. Live ranges say which values may share bytes; the checker runs the program.
//! Buffers are moved onto each other in every way: where ranges see no conflict, the run must find none.

mod common;

use analysis::{BufferId, Facts, Orders, Target, ValueId};
use checker::{Plan, Verdict};
use common::{cases, words};
use std::collections::HashMap;

#[test]
fn buffers_moved_onto_each_other() {
    let (mut free, mut refused, mut conservative) = (0, 0, 0);
    for case in cases().into_iter().filter(|c| !c.name.contains("random")) {
        // Parts of one array must stay side by side, which ranges do not know.
        if case.name == "tpu_elementwise_large" {
            continue;
        }
        let target = Target::detect(&case.module);
        let orders = Orders::guess(&case.module, &target);
        let facts = Facts::new(&case.module, orders, target).expect("facts");
        let mut buffer_of: HashMap<ValueId, BufferId> = HashMap::new();
        for b in facts.buffers() {
            buffer_of.extend(b.values.iter().map(|v| (*v, b.id)));
        }
        let values: HashMap<String, ValueId> = facts
            .values()
            .map(|v| {
                let at = v.defined_at();
                let shape = case.module.instruction(at.instruction).shape;
                let index = &case.module.shapes.subshapes(shape)[at.sub as usize].index;
                (format!("{}{index}", case.module.name_of(at.instruction)), v.id)
            })
            .collect();
        let plan = case.plan();
        let ids: Vec<ValueId> =
            plan.placements.iter().map(|p| values[&format!("{}{}", p.instruction, p.index)]).collect();
        let is_temp = |n: u32| {
            let a = &plan.allocations[n as usize];
            a.parameter.is_none() && !a.is_constant && !a.is_thread_local && !a.maybe_live_out
        };
        // One placement for each buffer, the first of it.
        let mut firsts: Vec<usize> = Vec::new();
        for (n, p) in plan.placements.iter().enumerate() {
            let is_new = !firsts.iter().any(|f| buffer_of[&ids[*f]] == buffer_of[&ids[n]]);
            if is_new && is_temp(p.allocation) && p.size > 0 {
                firsts.push(n);
            }
        }
        for &x in &firsts {
            for &y in &firsts {
                let (from, to) = (&plan.placements[x], &plan.placements[y]);
                let allocation = &plan.allocations[to.allocation as usize];
                if x == y
                    || allocation.color != plan.allocations[from.allocation as usize].color
                    || (from.allocation, from.offset) == (to.allocation, to.offset)
                    || to.offset + from.size > allocation.size
                {
                    continue;
                }
                let mut new: Plan = plan.clone();
                let mine = |n: usize| buffer_of[&ids[n]] == buffer_of[&ids[x]];
                for n in (0..ids.len()).filter(|n| mine(*n)) {
                    new.placements[n].allocation = to.allocation;
                    new.placements[n].offset = to.offset;
                }
                let range = |n: usize| facts.ranges.get(ids[n]);
                let meets = (0..ids.len()).filter(|n| mine(*n)).any(|n| {
                    let (p, mine_range) = (&new.placements[n], range(n));
                    (0..ids.len()).filter(|o| !mine(*o)).any(|o| {
                        let q = &new.placements[o];
                        let touch = p.allocation == q.allocation
                            && p.offset < q.offset + q.size
                            && q.offset < p.offset + p.size;
                        let (Some(a), Some(b)) = (mine_range, range(o)) else { return false };
                        touch && a.start <= b.end && b.start <= a.end
                    })
                });
                let verdict = case.verdict(&new);
                match (&verdict, meets) {
                    (Verdict::Right(_), false) => free += 1,
                    (Verdict::Right(_), true) => conservative += 1,
                    (_, true) => refused += 1,
                    (_, false) => panic!(
                        "{}: buffer of {} onto {}: {}",
                        case.name,
                        from.instruction,
                        to.instruction,
                        words(&verdict)
                    ),
                }
            }
        }
    }
    println!("{free} free and right, {refused} in conflict and wrong, {conservative} in conflict and right");
    // Ranges are coarser than the run, but not much: to them a conditional reads its selector and all its operands
    // when it ends, while the run lets each branch read its own when it begins; and whether one value may be written
    // over another that is read at that step is a question of its own.
    assert!(free > 100 && refused > 200 && conservative * 4 < refused, "{free} {refused} {conservative}");
}
