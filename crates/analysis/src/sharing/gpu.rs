//! What the GPU compiler says of fusions and library calls (GPU and TPU supplement, 4).

use super::{is_cublas_lt_matmul, is_elementwise_on, same_extent};
use crate::Facts;
use crate::values::Position;
use hlo::{InstructionId, Layout, Module, Opcode, Shape, ShapeId};
use rustc_hash::FxHashSet;
use sorts::Arrange as _;

/// May the output stand in the operand's buffer? `None`: no opinion.
pub(super) fn may_alias(module: &Module, facts: &Facts, operand: Position, user: Position) -> Option<bool> {
    let operands = module.operands(user.instruction);
    let output =
        &module.shapes.subshapes(module.instruction(user.instruction).shape)[user.sub as usize].index.0;
    match module.instruction(user.instruction).opcode {
        Opcode::AllReduce | Opcode::CollectiveBroadcast => Some(
            operands.len() == 1
                || matches!(output[..], [n] if operands.get(n as usize) == Some(&operand.instruction)),
        ),
        Opcode::CustomCall => {
            let beta_counts = || {
                let config = module.attribute(user.instruction, "backend_config").unwrap_or("");
                config.split("\"beta\":").nth(1).is_some_and(|rest| {
                    let end = rest.find([',', '}']).unwrap_or(rest.len());
                    is_not_zero(rest[..end].trim().trim_matches('"'))
                })
            };
            Some(
                is_cublas_lt_matmul(module, user.instruction)
                    && operands.get(2) == Some(&operand.instruction)
                    && operands.iter().filter(|o| **o == operand.instruction).count() == 1
                    && output[..] == [0]
                    && beta_counts(),
            )
        }
        Opcode::Fusion => Some(fusion(module, facts, operand, user)),
        _ => None,
    }
}

/// Is it a number other than 0? Its value is not asked for: reading floats would be a tenth of the page's first data.
fn is_not_zero(number: &str) -> bool {
    let digits = number.split(['e', 'E']).next().unwrap_or_default();
    digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'+' | b'-'))
        && digits.bytes().any(|b| matches!(b, b'1'..=b'9'))
}

fn fusion(module: &Module, facts: &Facts, operand: Position, user: Position) -> bool {
    let shapes = &module.shapes;
    let fusion = user.instruction;
    let result = module.instruction(fusion).shape;
    let output_place = &shapes.subshapes(result)[user.sub as usize];
    // Step 1 looks at the whole operand, not at the place in it.
    let operand_shape = module.instruction(operand.instruction).shape;
    if operand_shape != output_place.shape && !same_extent(module, operand_shape, output_place.shape) {
        return false;
    }
    let Some(&body) = module.called(fusion).first() else { return false };
    let Some(number) = module.operands(fusion).iter().position(|o| *o == operand.instruction) else {
        return false;
    };
    let Some(&parameter) = module.computation(body).parameters.get(number) else { return false };

    // Step 2: the root that gives this output, and what stands behind one bitcast.
    let root = module.root(body);
    let mut output = root;
    for n in &output_place.index.0 {
        if module.instruction(output).opcode != Opcode::Tuple {
            break; // A sort, say, gives several outputs itself.
        }
        match module.operands(output).get(*n as usize) {
            Some(o) => output = *o,
            None => return false,
        }
    }
    let opcode = |id: InstructionId| module.instruction(id).opcode;
    let behind = match (opcode(output), module.operands(output).first()) {
        (Opcode::Bitcast, Some(o)) => *o,
        _ => output,
    };

    // Step 3: everything on the way must keep each element in its place.
    let hero = reduction_hero(module, facts, fusion);
    let mut seen: FxHashSet<InstructionId> = FxHashSet::default();
    let mut queue = std::collections::VecDeque::from([parameter]);
    seen.insert(parameter);
    let mut reached = false;
    while let Some(h) = queue.pop_front() {
        reached |= h == output;
        if hero == Some(h) {
            continue;
        }
        let mut last = None;
        for read in facts.graph.reads(h) {
            let x = read.user;
            // Only the first operand through which it is read counts.
            if last == Some(x) {
                continue;
            }
            last = Some(x);
            let k = read.operand;
            let once = module.operands(x).iter().filter(|o| **o == h).count() == 1;
            let fine = if x == behind && opcode(x) == Opcode::Scatter {
                (k as usize) < (module.operands(x).len().saturating_sub(1) / 2).max(1) && once
            } else if x == behind && opcode(x) == Opcode::Sort && once {
                if output_place.index.0[..] != [k] {
                    return false;
                }
                true
            } else if opcode(behind) == Opcode::DynamicUpdateSlice
                && opcode(x) == Opcode::DynamicSlice
                && reads_what_is_written(module, x, behind)
            {
                if !same_start(module, x, behind) {
                    return false;
                }
                true
            } else {
                (opcode(x) != Opcode::Copy && is_elementwise_on(module, facts, x, k))
                    || matches!(opcode(x), Opcode::Bitcast | Opcode::Tuple)
                    || hero == Some(x)
                    || (x == behind && opcode(x) == Opcode::DynamicUpdateSlice && k == 1)
            };
            if !fine {
                return false;
            }
            if seen.insert(x) {
                queue.push_back(x);
            }
        }
    }

    // Step 4: several outputs.
    if opcode(root) == Opcode::Tuple {
        let visited: Vec<InstructionId> =
            module.operands(root).iter().copied().filter(|r| seen.contains(r)).collect();
        let other = visited.iter().any(|r| *r != output);
        let moves_elements = visited
            .iter()
            .any(|r| matches!(opcode(root_hero(module, facts, *r)), Opcode::Transpose | Opcode::Copy));
        let in_place =
            (0..module.operands(behind).len() as u32).all(|k| is_elementwise_on(module, facts, behind, k));
        if other && (!in_place || moves_elements) {
            return false;
        }
    }
    reached
}

/// A dynamic-slice of the same array that reads as much as the update writes.
fn reads_what_is_written(module: &Module, slice: InstructionId, update: InstructionId) -> bool {
    let (s, u) = (module.operands(slice), module.operands(update));
    !s.is_empty()
        && s.first() == u.first()
        && u.get(1).is_some_and(|u| {
            module.shapes.short(module.instruction(*u).shape)
                == module.shapes.short(module.instruction(slice).shape)
        })
}

/// Does it read at the very place that is written? Single elements always count as such.
fn same_start(module: &Module, slice: InstructionId, update: InstructionId) -> bool {
    let single = |id: InstructionId| module.shapes.element_count(module.instruction(id).shape) == 1;
    let (s, u) = (module.operands(slice), module.operands(update));
    (single(slice) && u.get(1).is_some_and(|u| single(*u))) || s.get(1..) == u.get(2..)
}

/// The reduction whose shape decides how a fusion is emitted (step 5); `None` if another emitter takes it.
fn reduction_hero(module: &Module, facts: &Facts, fusion: InstructionId) -> Option<InstructionId> {
    let config = module.attribute(fusion, "backend_config").unwrap_or("");
    if ["\"__custom_fusion", "\"__triton", "\"__cudnn$fusion"].iter().any(|kind| config.contains(kind)) {
        return None;
    }
    let root = module.root(*module.called(fusion).first()?);
    let roots: Vec<InstructionId> = match module.instruction(root).opcode {
        Opcode::Tuple => module.operands(root).to_vec(),
        _ => vec![root],
    };
    let heroes: Vec<InstructionId> = roots.iter().map(|r| root_hero(module, facts, *r)).collect();
    let real: Vec<Option<NormalForm>> =
        roots.iter().zip(&heroes).map(|(root, hero)| real_reduction(module, *root, *hero)).collect();
    let first = real.iter().position(Option::is_some)?;
    let hero = heroes[first];
    let input = *module.operands(hero).first()?;
    let elements = module.shapes.element_count(module.instruction(input).shape);
    for (i, root) in roots.iter().enumerate() {
        let same = real[i].is_some() && real[i] == real[first];
        let covers =
            real[i].is_none() && module.shapes.element_count(module.instruction(*root).shape) == elements;
        if i != first && !same && !covers {
            return None;
        }
    }
    Some(hero)
}

/// The operation that a root comes from, behind elementwise ones and bitcasts.
fn root_hero(module: &Module, facts: &Facts, root: InstructionId) -> InstructionId {
    let shape = |id: InstructionId| module.instruction(id).shape;
    let mut at = root;
    loop {
        let operands = module.operands(at);
        let [operand] = operands else { break };
        let climbs = match module.instruction(at).opcode {
            Opcode::Bitcast => true,
            Opcode::Copy => shape(at) == shape(*operand),
            Opcode::Reshape | Opcode::Transpose => moves_nothing(module, at, *operand),
            _ => is_elementwise_on(module, facts, at, 0),
        };
        if !climbs || module.instruction(*operand).opcode == Opcode::Parameter {
            break;
        }
        at = *operand;
    }
    if let Some(hero) = single_mover(module, facts, root, |id| is_tiled_transpose(module, id)).or_else(|| {
        single_mover(module, facts, root, |id| module.instruction(id).opcode == Opcode::Concatenate)
    }) {
        return hero;
    }
    if module.instruction(at).opcode == Opcode::Reduce { at } else { root }
}

/// Exactly one such operation behind elementwise ones, all of whose transitive readers are such ones too.
fn single_mover(
    module: &Module,
    facts: &Facts,
    root: InstructionId,
    is_hero: impl Fn(InstructionId) -> bool,
) -> Option<InstructionId> {
    let passes = |id: InstructionId| {
        let operands = module.operands(id);
        let operation = module.instruction(id).opcode;
        !operands.is_empty()
            && operands.len() <= 3
            && (operation == Opcode::Bitcast
                || (0..operands.len() as u32).all(|k| is_elementwise_on(module, facts, id, k)))
    };
    let mut found = None;
    let mut seen: FxHashSet<InstructionId> = FxHashSet::default();
    let mut work = vec![root];
    while let Some(id) = work.pop() {
        if !seen.insert(id) {
            continue;
        }
        if is_hero(id) {
            if found.replace(id).is_some() {
                return None;
            }
        } else if passes(id) {
            work.extend_from_slice(module.operands(id));
        }
    }
    let hero = found?;
    let mut work = vec![hero];
    let mut above: FxHashSet<InstructionId> = FxHashSet::default();
    while let Some(id) = work.pop() {
        for read in facts.graph.reads(id) {
            if module.instruction(read.user).opcode != Opcode::Tuple && !passes(read.user) {
                return None;
            }
            if above.insert(read.user) {
                work.push(read.user);
            }
        }
    }
    Some(hero)
}

fn array(module: &Module, shape: ShapeId) -> Option<(&[u64], Option<&Layout>, u64)> {
    match module.shapes.get(shape) {
        Shape::Array { dims, layout, element, .. } => Some((dims, layout.as_deref(), element.bits())),
        _ => None,
    }
}

/// Sizes in the order of memory, the most major first, with the dimension numbers.
fn physical(dims: &[u64], layout: Option<&Layout>) -> Vec<(u32, u64)> {
    let size = |d: u32| (d, dims.get(d as usize).copied().unwrap_or(1));
    match layout {
        Some(l) if l.minor_to_major.len() == dims.len() => {
            l.minor_to_major.iter().rev().map(|d| size(*d)).collect()
        }
        _ => (0..dims.len() as u32).map(size).collect(),
    }
}

fn numbers(text: Option<&str>) -> Vec<u32> {
    text.unwrap_or("").trim_matches(['{', '}']).split(',').filter_map(|n| n.trim().parse().ok()).collect()
}

/// A reshape or transpose that leaves every element where it is in memory.
fn moves_nothing(module: &Module, id: InstructionId, operand: InstructionId) -> bool {
    let (Some((to, to_layout, _)), Some((from, from_layout, _))) =
        (array(module, module.instruction(id).shape), array(module, module.instruction(operand).shape))
    else {
        return false;
    };
    let real = |p: Vec<(u32, u64)>| p.into_iter().filter(|(_, n)| *n != 1).collect::<Vec<_>>();
    match module.instruction(id).opcode {
        Opcode::Reshape => {
            // The usual layouts: equal element order whatever the dimensions.
            let plain = |p: &[(u32, u64)]| p.windows(2).all(|w| w[0].0 < w[1].0);
            plain(&real(physical(to, to_layout))) && plain(&real(physical(from, from_layout)))
        }
        _ => {
            let permutation = numbers(module.attribute(id, "dimensions"));
            let target: Vec<u32> = real(physical(to, to_layout))
                .into_iter()
                .map(|(d, _)| permutation.get(d as usize).copied().unwrap_or(d))
                .collect();
            let source: Vec<u32> = real(physical(from, from_layout)).into_iter().map(|(d, _)| d).collect();
            target == source
        }
    }
}

/// A transpose that the GPU does tile by tile through shared memory.
fn is_tiled_transpose(module: &Module, id: InstructionId) -> bool {
    if module.instruction(id).opcode != Opcode::Transpose {
        return false;
    }
    let Some(&operand) = module.operands(id).first() else { return false };
    let Some((from, layout, bits)) = array(module, module.instruction(operand).shape) else { return false };
    let default = layout.is_none_or(|l| l.minor_to_major.windows(2).all(|w| w[0] > w[1]));
    let permutation: Vec<u32> = numbers(module.attribute(id, "dimensions"))
        .into_iter()
        .filter(|d| from.get(*d as usize).is_some_and(|n| *n != 1))
        .collect();
    if !default || permutation.is_empty() {
        return false;
    }
    // Runs of dimensions that stay together move as one.
    let mut runs: Vec<(u32, u64)> = Vec::new();
    let mut previous: Option<u32> = None;
    for d in &permutation {
        let size = from[*d as usize];
        let follows = previous.is_some_and(|p| {
            p < *d && (p + 1..*d).all(|between| from.get(between as usize).is_none_or(|n| *n == 1))
        });
        match runs.last_mut() {
            Some(run) if follows => run.1 = run.1.saturating_mul(size),
            _ => runs.push((*d, size)),
        }
        previous = Some(*d);
    }
    if runs.len() < 2 {
        return false;
    }
    let mut operand_runs = runs.clone();
    operand_runs.arrange_unstable();
    let (out_last, in_last) = (runs[runs.len() - 1], operand_runs[operand_runs.len() - 1]);
    if out_last == in_last {
        let second = runs[runs.len() - 2].1.min(operand_runs[operand_runs.len() - 2].1);
        let row = bits.saturating_mul(out_last.1);
        row <= 64 && row.saturating_mul(second) >= 128
    } else {
        let (a, b) = (in_last.1, out_last.1);
        (a >= 16 && b >= 16) || (a >= 8 && b >= 8 && a.saturating_mul(b) >= 8192 && bits > 4)
    }
}

/// A reduction brought to three dimensions.
#[derive(Clone, Copy, PartialEq, Eq)]
struct NormalForm {
    /// Along rows (the minor dimension goes), or along columns.
    row: bool,
    sizes: [u64; 3],
}

/// Is the hero a reduction that the reduction emitter takes, and in which form?
fn real_reduction(module: &Module, root: InstructionId, hero: InstructionId) -> Option<NormalForm> {
    if module.instruction(hero).opcode != Opcode::Reduce {
        return None;
    }
    let input = *module.operands(hero).first()?;
    let (dims, layout, _) = array(module, module.instruction(input).shape)?;
    let reduced = numbers(module.attribute(hero, "dimensions"));
    let order = physical(dims, layout);
    let is_reduced: Vec<bool> = order.iter().map(|(d, _)| reduced.contains(d)).collect();
    let size =
        |range: std::ops::Range<usize>| order[range].iter().fold(1u64, |n, (_, d)| n.saturating_mul(*d));
    // The run of wanted dimensions, if they lie together.
    let run = |wanted: bool| {
        let first = is_reduced.iter().position(|r| *r == wanted)?;
        let last = is_reduced.iter().rposition(|r| *r == wanted)?;
        is_reduced[first..=last].iter().all(|r| *r == wanted).then_some(first..last + 1)
    };
    let all = order.len();
    let form = if !is_reduced.contains(&false) {
        NormalForm { row: true, sizes: [1, 1, size(0..all)] }
    } else if let Some(kept) = run(false) {
        let (major, middle, minor) = (size(0..kept.start), size(kept.clone()), size(kept.end..all));
        if middle == 1 {
            NormalForm { row: true, sizes: [1, 1, major.saturating_mul(minor)] }
        } else if minor == 1 {
            NormalForm { row: false, sizes: [1, major, middle] }
        } else {
            NormalForm { row: true, sizes: [major, middle, minor] }
        }
    } else {
        let gone = run(true)?;
        let (major, middle, minor) = (size(0..gone.start), size(gone.clone()), size(gone.end..all));
        if minor == 1 {
            NormalForm { row: true, sizes: [1, major, middle] }
        } else {
            NormalForm { row: false, sizes: [major, middle, minor] }
        }
    };
    let [first, a, b] = form.sizes;
    let worth = if form.row {
        b >= 32 || (b > 0 && 32 % b == 0)
    } else {
        !(a < 32 || (a < 64 && b < 32) || (a < 128 && b < 8) || (a < 256 && b < 3))
    };
    let race_free = if form.row { b <= 16384 && first <= 8 } else { a <= 4096 };
    (worth && (hero == root || race_free)).then_some(form)
}

#[cfg(test)]
mod tests {
    use super::is_not_zero;

    #[test]
    fn zero_has_many_forms() {
        for text in ["0", "0.0", "-0", "0e5", "0.000E-3", "", "null", "nan"] {
            assert!(!is_not_zero(text), "{text}");
        }
        for text in ["1", "-1", "0.5", "1e-3", "+2.0E10"] {
            assert!(is_not_zero(text), "{text}");
        }
    }
}
