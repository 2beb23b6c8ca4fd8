//! Where requests come from: the collectives of a compiled module, and the allocations that its compiler put into collective
//! memory (colour 1, `S(1)` in layouts).

use crate::scenario::{Allocation, Device, Kind, MOST_DEVICES, Request, Scenario};
use analysis::{Color, Facts};
use assigner::Assignment;
use hlo::{InstructionId, Module};

/// The colour of collective memory.
const COLLECTIVE: Color = Color(1);
/// What memory is given out in, in the model.
const ROOM: u64 = 2 << 20;

/// An allocation that ranks must reach, and the collective that needs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Need {
    /// The collective.
    pub instruction: InstructionId,
    /// The allocation's index, XLA's.
    pub allocation: usize,
    /// The devices that take part, in groups.
    pub groups: Vec<Vec<u32>>,
}

/// The devices that a module is compiled for.
pub fn devices(module: &Module) -> u32 {
    let number = |name| module.header_attribute(name).and_then(|v| v.trim().parse::<u32>().ok()).unwrap_or(1);
    number("num_partitions").saturating_mul(number("replica_count")).max(1)
}

/// What a module needs, in the order of its text.
pub fn needs(module: &Module, facts: &Facts, assignment: &Assignment) -> Vec<Need> {
    let mut found: Vec<(InstructionId, usize)> = Vec::new();
    for allocation in assignment.allocations.iter().filter(|a| a.color == COLLECTIVE) {
        for placed in &allocation.values {
            let value = facts.value(placed.value);
            let at = value.positions.iter().map(|p| p.instruction).chain(value.uses.iter().map(|u| u.user));
            found.extend(at.filter(|i| is_collective(module, *i)).map(|i| (i, allocation.id.index())));
        }
    }
    found.sort_unstable();
    found.dedup();
    let need =
        |(instruction, allocation)| Need { instruction, allocation, groups: groups(module, instruction) };
    found.into_iter().map(need).collect()
}

fn is_collective(module: &Module, id: InstructionId) -> bool {
    let name = module.str(module.instruction(id).opcode_name);
    let kinds = [
        "all-reduce",
        "all-gather",
        "all-to-all",
        "reduce-scatter",
        "collective-permute",
        "collective-broadcast",
        "ragged-all-to-all",
    ];
    kinds.iter().any(|k| name == *k || name.strip_prefix(k) == Some("-start"))
}

/// The groups of devices of a collective: `{{0,1},{2,3}}`, `[2,2]<=[4]`, `mesh['x'=2,'y'=2] {'x'}`, or all as one.
pub fn groups(module: &Module, id: InstructionId) -> Vec<Vec<u32>> {
    let all = || vec![(0..devices(module).min(MOST_DEVICES as u32)).collect()];
    if let Some(pairs) = module.attribute(id, "source_target_pairs") {
        let mut clique: Vec<u32> = braces(pairs).concat();
        clique.sort_unstable();
        clique.dedup();
        return if clique.is_empty() { all() } else { vec![clique] };
    }
    let Some(text) = module.attribute(id, "replica_groups") else { return all() };
    let text = text.trim();
    let groups = if text.starts_with("mesh") {
        mesh(text)
    } else if text.starts_with('[') {
        iota(text)
    } else {
        Some(braces(text))
    };
    groups.filter(|g| !g.is_empty()).unwrap_or_else(all)
}

fn numbers(text: &str) -> Vec<u32> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

fn braces(text: &str) -> Vec<Vec<u32>> {
    text.split('{').map(numbers).filter(|g| !g.is_empty()).collect()
}

/// Numbers from 0 in a box of `dims`, its axes in the order `order`, in rows of `row`.
fn rows(dims: &[u32], order: &[usize], row: usize) -> Option<Vec<Vec<u32>>> {
    let count = dims
        .iter()
        .try_fold(1_usize, |n, d| n.checked_mul(*d as usize))
        .filter(|n| (1..=4096).contains(n))?;
    let mut is_axis = order.to_vec();
    is_axis.sort_unstable();
    if is_axis != (0..dims.len()).collect::<Vec<_>>() || row == 0 || count % row != 0 {
        return None;
    }
    let stride = |axis: usize| dims[axis + 1..].iter().product::<u32>();
    let number = |mut place: usize| {
        let mut out = 0;
        for axis in order.iter().rev() {
            out += (place % dims[*axis] as usize) as u32 * stride(*axis);
            place /= dims[*axis] as usize;
        }
        out
    };
    Some((0..count / row).map(|r| (0..row).map(|i| number(r * row + i)).collect()).collect())
}

/// `[2,4]<=[4,2]T(1,0)`
fn iota(text: &str) -> Option<Vec<Vec<u32>>> {
    let (shape, rest) = text.split_once("<=")?;
    let (dims, order) = rest.split_once('T').map_or((rest, None), |(d, o)| (d, Some(o)));
    let dims = numbers(dims);
    let order = match order {
        Some(order) => numbers(order).into_iter().map(|n| n as usize).collect(),
        None => (0..dims.len()).collect::<Vec<_>>(),
    };
    let [_, row] = numbers(shape)[..] else { return None };
    rows(&dims, &order, row as usize)
}

/// `mesh['axis_0'=1,'axis_1'=4] {'axis_1'}`: groups along the axes in braces.
fn mesh(text: &str) -> Option<Vec<Vec<u32>>> {
    let (axes, along) = text.strip_prefix("mesh[")?.split_once(']')?;
    let mut names = Vec::new();
    let mut dims = Vec::new();
    for axis in axes.split(',') {
        let (name, size) = axis.split_once('=')?;
        names.push(name.trim());
        dims.push(size.trim().parse().ok()?);
    }
    let along: Vec<&str> =
        along.trim().trim_start_matches('{').trim_end_matches('}').split(',').map(str::trim).collect();
    let along: Vec<usize> =
        along.into_iter().map(|a| names.iter().position(|n| *n == a)).collect::<Option<_>>()?;
    let across = (0..dims.len()).filter(|i| !along.contains(i));
    let order: Vec<usize> = across.chain(along.iter().copied()).collect();
    let row = along.iter().map(|i| dims[*i] as usize).product();
    rows(&dims, &order, row)
}

/// A scenario of a module: every device has its allocations one behind the other, each in room of its own, and asks for
/// what the module needs.
pub fn scenario(module: &Module, facts: &Facts, assignment: &Assignment) -> Scenario {
    let mut requests: Vec<Request> = Vec::new();
    for need in needs(module, facts, assignment) {
        for clique in need.groups {
            let same = requests.iter_mut().find(|r| r.clique == clique);
            match same {
                Some(request) if request.allocations.contains(&need.allocation) => {}
                Some(request) => request.allocations.push(need.allocation),
                None => requests.push(Request {
                    kind: Kind::Symmetric,
                    clique,
                    allocations: vec![need.allocation],
                    addresses: Vec::new(),
                }),
            }
        }
    }
    let named = requests.iter().flat_map(|r| r.clique.iter().copied()).max().map_or(0, |d| d + 1);
    let count = devices(module).max(named).min(MOST_DEVICES as u32);
    requests.retain(|r| r.clique.iter().all(|d| *d < count));
    let device = |id: u32| {
        // Each device has its memory elsewhere, as it is in fact.
        let mut next = (u64::from(id) + 1) << 36;
        let mut allocations = Vec::new();
        for allocation in &assignment.allocations {
            allocations.push(Allocation { address: next, size: allocation.size });
            next = next.saturating_add(allocation.size.div_ceil(ROOM).saturating_mul(ROOM));
        }
        Device {
            id,
            process: 0,
            multicast: true,
            allocations,
            physical: Vec::new(),
            late: 0,
            never: false,
            requests: None,
        }
    };
    Scenario {
        devices: (0..count).map(device).collect(),
        requests,
        runs: Vec::new(),
        generation: 3,
        timeout: 1000,
        seed: 0,
        look_up: Vec::new(),
    }
}
