//! Which way a program goes: what ends a block, and from where to where the structured operations of `scf` go, with what.

use crate::ir::{OpId, Program, RegionId, ValueId};

/// One way into, between or out of the regions of a structured operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Way {
    /// The region it leaves; nothing for the operation itself, as it is entered.
    pub from: Option<usize>,
    /// The region it enters; nothing for the operation's end.
    pub to: Option<usize>,
    /// What passes values: an operation and the first of its operands that it passes.
    pub passes: Vec<(OpId, u32)>,
    /// What receives them: arguments of the region's entry, or results.
    pub inputs: Vec<ValueId>,
}

/// Whether an operation ends its block.
pub fn ends(program: &Program, op: OpId) -> bool {
    let op = program.op(op);
    !op.successors.is_empty()
        || matches!(
            op.name.as_str(),
            "func.return"
                | "scf.yield"
                | "scf.condition"
                | "memref.alloca_scope.return"
                | "cf.br"
                | "cf.cond_br"
        )
}

/// The operations whose ways between regions are known.
pub fn is_structured(name: &str) -> bool {
    matches!(name, "scf.if" | "scf.for" | "scf.while" | "scf.execute_region" | "memref.alloca_scope")
}

/// The operations that leave a region for the one around it.
pub fn leavers(program: &Program, region: RegionId) -> Vec<OpId> {
    let last = |b: &crate::ir::BlockId| program.block(*b).ops.last().copied();
    let leaves = |o: &OpId| ends(program, *o) && program.op(*o).successors.is_empty();
    program.region(region).blocks.iter().filter_map(last).filter(leaves).collect()
}

fn entry(program: &Program, region: RegionId) -> Vec<ValueId> {
    program.region(region).blocks.first().map(|b| program.block(*b).arguments.clone()).unwrap_or_default()
}

/// The ways of a structured operation; nothing for any other. The program was verified, so counts fit.
pub fn ways(program: &Program, op: OpId) -> Option<Vec<Way>> {
    let o = program.op(op);
    if !is_structured(&o.name) {
        return None;
    }
    let results = o.results.clone();
    let from = |region: usize, first: u32| -> Vec<(OpId, u32)> {
        leavers(program, o.regions[region]).into_iter().map(|l| (l, first)).collect()
    };
    let is_empty = |region: usize| program.region(o.regions[region]).blocks.is_empty();
    let own = |first: u32| vec![(op, first)];
    let way = |from, to, passes, inputs| Way { from, to, passes, inputs };
    let body = || entry(program, o.regions[0]);
    Some(match o.name.as_str() {
        "scf.if" => {
            let mut out = vec![way(None, Some(0), own(1), Vec::new())];
            if is_empty(1) {
                out.push(way(None, None, own(1), Vec::new()));
            } else {
                out.push(way(None, Some(1), own(1), Vec::new()));
            }
            out.push(way(Some(0), None, from(0, 0), results.clone()));
            if !is_empty(1) {
                out.push(way(Some(1), None, from(1, 0), results));
            }
            out
        }
        "scf.for" => {
            let carried = body().split_off(1);
            vec![
                way(None, Some(0), own(3), carried.clone()),
                way(None, None, own(3), results.clone()),
                way(Some(0), Some(0), from(0, 0), carried),
                way(Some(0), None, from(0, 0), results),
            ]
        }
        "scf.while" => {
            vec![
                way(None, Some(0), own(0), body()),
                way(Some(0), Some(1), from(0, 1), entry(program, o.regions[1])),
                way(Some(0), None, from(0, 1), results),
                way(Some(1), Some(0), from(1, 0), body()),
            ]
        }
        _ => vec![way(None, Some(0), own(0), Vec::new()), way(Some(0), None, from(0, 0), results)],
    })
}
