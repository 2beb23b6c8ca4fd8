//! Merging temps into one allocation a colour, and the numbers that allocations end up with (8.7).

use crate::assignment::{Allocation, AllocationId, MergedPart, Placed};
use crate::{Decision, Decisions};
use analysis::{Backend, Color, Target};
use std::collections::BTreeMap;

/// Partitions, merges, renumbers.
pub(crate) fn merge_temps(
    allocations: &mut Vec<Allocation>,
    heap_of: &BTreeMap<AllocationId, u32>,
    target: &Target,
    limit: Option<u64>,
    decisions: &mut Decisions,
) {
    let first_temp = partition(allocations);
    let temps = allocations.split_off(first_temp);
    let mut combined: Vec<Allocation> = Vec::new();
    let mut current: BTreeMap<Color, usize> = BTreeMap::new();
    for mut temp in temps {
        // These stay by themselves, in front of those that are merged.
        if target.is_sparse_core(temp.color) {
            temp.merged.push(MergedPart { offset: 0, size: temp.size, heap: None });
            allocations.push(temp);
            continue;
        }
        let heap = heap_of.get(&temp.id).copied();
        let fits = current
            .get(&temp.color)
            .copied()
            .filter(|at| limit.is_none_or(|limit| combined[*at].size.saturating_add(temp.size) < limit));
        match fits {
            Some(at) => {
                let into = &mut combined[at];
                let alignment = target.alignment(temp.color);
                let base = into.size.checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
                decisions.push(Decision::Absorb { into: into.id, temp: temp.id, base });
                for p in &mut temp.values {
                    p.offset = p.offset.saturating_add(base);
                    let Placed { value, offset, size } = *p;
                    decisions.push(Decision::Place { allocation: into.id, size, offset, value });
                }
                into.values.append(&mut temp.values);
                into.merged.push(MergedPart { offset: base, size: temp.size, heap });
                into.size = base.saturating_add(temp.size);
                // A merged allocation is no tuple's own any more.
                into.is_tuple &= temp.is_tuple;
                if target.backend == Backend::Gpu
                    && into.color == Color(0)
                    && let Some(color) = target.separate_temp_color
                {
                    into.color = color;
                }
            }
            None => {
                current.insert(temp.color, combined.len());
                temp.merged.push(MergedPart { offset: 0, size: temp.size, heap });
                combined.push(temp);
            }
        }
    }
    allocations.append(&mut combined);
    for (i, a) in allocations.iter_mut().enumerate() {
        a.id = AllocationId(i as u32);
    }
}

/// Temps to the back by swapping from both ends, which changes the order of the others too. Gives the first temp.
fn partition(allocations: &mut [Allocation]) -> usize {
    let mut first = 0;
    let mut last = allocations.len();
    loop {
        while first < last && !allocations[first].is_preallocated_temp() {
            first += 1;
        }
        while first < last && allocations[last - 1].is_preallocated_temp() {
            last -= 1;
        }
        if first >= last {
            return first;
        }
        allocations.swap(first, last - 1);
        first += 1;
        last -= 1;
    }
}
