//! Who comes before whom: dominators, post-dominators, and what is still wanted behind a block.

use crate::ir::{BlockId, OpId, Program, RegionId, ValueId};
use std::collections::BTreeSet;

/// A tree of dominators for each region, or of post-dominators.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The next one above each block; nothing for a root.
    above: Vec<Option<BlockId>>,
    /// Whether the roots reach it.
    reached: Vec<bool>,
}

/// Who dominates: every way from a region's entry to a block goes through its dominators.
pub fn dominators(program: &Program) -> Tree {
    tree(program, false)
}

/// Who post-dominates: every way from a block out of the region goes through its post-dominators.
pub fn post_dominators(program: &Program) -> Tree {
    tree(program, true)
}

fn successors(program: &Program, block: BlockId) -> Vec<BlockId> {
    let last = program.block(block).ops.last();
    last.map(|o| program.op(*o).successors.iter().map(|s| s.block).collect()).unwrap_or_default()
}

fn tree(program: &Program, backwards: bool) -> Tree {
    let count = program.blocks.len();
    let mut out = Tree { above: vec![None; count], reached: vec![false; count] };
    // Node 0 is before all roots; a block is node 1 + its number.
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count + 1];
    for region in &program.regions {
        for (i, block) in region.blocks.iter().enumerate() {
            let to = successors(program, *block);
            let is_root = if backwards { to.is_empty() } else { i == 0 };
            if is_root {
                next[0].push(block.index() + 1);
            }
            for to in to {
                let (from, to) = if backwards { (to, *block) } else { (*block, to) };
                next[from.index() + 1].push(to.index() + 1);
            }
        }
    }
    // Reverse postorder.
    let mut order = Vec::new();
    let mut seen = vec![false; count + 1];
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((node, child)) = stack.pop() {
        match next[node].get(child) {
            Some(to) => {
                stack.push((node, child + 1));
                if !std::mem::replace(&mut seen[*to], true) {
                    stack.push((*to, 0));
                }
            }
            None => order.push(node),
        }
    }
    order.reverse();
    let mut rank = vec![usize::MAX; count + 1];
    for (i, node) in order.iter().enumerate() {
        rank[*node] = i;
    }
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); count + 1];
    for node in &order {
        for to in &next[*node] {
            before[*to].push(*node);
        }
    }
    let mut above = vec![usize::MAX; count + 1];
    above[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for node in order.iter().skip(1) {
            let mut best = usize::MAX;
            for from in &before[*node] {
                if above[*from] == usize::MAX {
                    continue;
                }
                best = if best == usize::MAX { *from } else { meet(&above, &rank, best, *from) };
            }
            if above[*node] != best {
                above[*node] = best;
                changed = true;
            }
        }
    }
    for node in 1..=count {
        out.reached[node - 1] = seen[node];
        if seen[node] && above[node] != 0 {
            out.above[node - 1] = Some(BlockId(above[node] as u32 - 1));
        }
    }
    out
}

fn meet(above: &[usize], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while rank[a] > rank[b] {
            a = above[a];
        }
        while rank[b] > rank[a] {
            b = above[b];
        }
    }
    a
}

impl Tree {
    /// Whether `a` dominates `b`, which may be inside an operation of a block that `a` dominates. A block dominates
    /// itself. What nothing reaches is dominated by everything.
    pub fn dominates(&self, program: &Program, a: BlockId, b: BlockId) -> bool {
        let Some(b) = program.ancestor_in_region(b, program.block(a).region) else { return false };
        if a == b || !self.reached[b.index()] {
            return true;
        }
        self.reached[a.index()] && std::iter::successors(Some(b), |b| self.above[b.index()]).any(|b| b == a)
    }

    /// The nearest block that (post-)dominates both, which stand in regions that have one around them in common.
    pub fn nearest_common(&self, program: &Program, a: BlockId, b: BlockId) -> Option<BlockId> {
        if a == b {
            return Some(a);
        }
        let mut region: RegionId = program.block(a).region;
        let common = loop {
            if let Some(b) = program.ancestor_in_region(b, region) {
                break b;
            }
            region = program.block(program.op(program.region(region).parent?).block).region;
        };
        let a = program.ancestor_in_region(a, region)?;
        if a == common {
            return Some(a);
        }
        if !self.reached[a.index()] || !self.reached[common.index()] {
            return None;
        }
        let chain: BTreeSet<BlockId> = std::iter::successors(Some(a), |x| self.above[x.index()]).collect();
        std::iter::successors(Some(common), |x| self.above[x.index()]).find(|x| chain.contains(x))
    }

    /// Whether the roots reach this block at all.
    pub fn reaches(&self, block: BlockId) -> bool {
        self.reached[block.index()]
    }
}

/// For each block, the values that a later block of its region may still use. What is used inside an operation is used by
/// the block that the operation stands in.
pub fn live_out(program: &Program) -> Vec<BTreeSet<ValueId>> {
    liveness(program).1
}

/// For each block, the values defined in another block that are used in it or behind it.
pub fn live_in(program: &Program) -> Vec<BTreeSet<ValueId>> {
    liveness(program).0
}

type Sets = Vec<BTreeSet<ValueId>>;

fn liveness(program: &Program) -> (Sets, Sets) {
    let count = program.blocks.len();
    let mut live: Sets = vec![BTreeSet::new(); count];
    let mut wanted: Sets = vec![BTreeSet::new(); count];
    let before = program.predecessors();
    for (value, uses) in program.uses().iter().enumerate() {
        let value = ValueId(value as u32);
        if uses.is_empty() {
            continue;
        }
        let home = program.block_of(value);
        // From each use back to the definition.
        let mut open: Vec<BlockId> = Vec::new();
        let mut entered: BTreeSet<BlockId> = BTreeSet::new();
        for (op, _) in uses {
            // The use is also one of every block around it, up to the region of the definition.
            let mut block = program.op(*op).block;
            loop {
                if block != home && entered.insert(block) {
                    open.push(block);
                }
                if program.block(block).region == program.block(home).region {
                    break;
                }
                let Some(parent) = program.parent_of(block) else { break };
                block = program.op(parent).block;
            }
        }
        while let Some(block) = open.pop() {
            for (from, _) in &before[block.index()] {
                let from = program.op(*from).block;
                live[from.index()].insert(value);
                if from != home && entered.insert(from) {
                    open.push(from);
                }
            }
        }
        for block in entered {
            wanted[block.index()].insert(value);
        }
    }
    (wanted, live)
}

/// The terminator that goes back to a block that is still being walked, in a function without structured loops; nothing
/// if there is none.
pub fn back_edge(program: &Program, function: OpId) -> Option<OpId> {
    let mut regions: Vec<RegionId> = program.op(function).regions.clone();
    while let Some(region) = regions.pop() {
        let blocks = &program.region(region).blocks;
        for block in blocks {
            for op in &program.block(*block).ops {
                regions.extend(&program.op(*op).regions);
            }
        }
        let Some(entry) = blocks.first() else { continue };
        let mut state = vec![0_u8; program.blocks.len()];
        let mut stack = vec![(*entry, 0)];
        state[entry.index()] = 1;
        while let Some((block, child)) = stack.pop() {
            let to = successors(program, block);
            match to.get(child) {
                Some(next) => {
                    stack.push((block, child + 1));
                    if state[next.index()] == 1 {
                        return program.block(block).ops.last().copied();
                    }
                    if state[next.index()] == 0 {
                        state[next.index()] = 1;
                        stack.push((*next, 0));
                    }
                }
                None => state[block.index()] = 2,
            }
        }
    }
    None
}
