//! Programs up to the names of values and blocks and up to syntax.

use deallocation::Program;
use deallocation::ir::{BlockId, OpId, RegionId, ValueId};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The program in one form for all that mean the same: numbers for names, every operation spelt out.
pub fn canonical(program: &Program) -> String {
    let mut names = Names { program, values: BTreeMap::new(), blocks: BTreeMap::new(), out: String::new() };
    names.region(RegionId(0), 0);
    names.out
}

struct Names<'a> {
    program: &'a Program,
    values: BTreeMap<ValueId, usize>,
    blocks: BTreeMap<BlockId, usize>,
    out: String,
}

impl Names<'_> {
    fn value(&mut self, value: ValueId) -> String {
        let next = self.values.len();
        let number = *self.values.entry(value).or_insert(next);
        format!("%{number}:{}", self.program.value(value).ty.replace(' ', ""))
    }

    fn block(&mut self, block: BlockId) -> String {
        let next = self.blocks.len();
        format!("^{}", self.blocks.entry(block).or_insert(next))
    }

    fn values(&mut self, values: &[ValueId]) -> String {
        values.iter().map(|v| self.value(*v)).collect::<Vec<_>>().join(" ")
    }

    fn region(&mut self, region: RegionId, depth: usize) {
        let program = self.program;
        for block in &program.region(region).blocks {
            let label = self.block(*block);
            let arguments = self.values(&program.block(*block).arguments);
            _ = writeln!(self.out, "{:depth$}{label} {arguments}", "");
            for op in &program.block(*block).ops {
                self.op(*op, depth + 1);
            }
        }
    }

    fn op(&mut self, op: OpId, depth: usize) {
        let o = self.program.op(op);
        if o.name == "builtin.module" {
            // One is put around what has none.
            for block in &self.program.region(o.regions[0]).blocks {
                for op in &self.program.block(*block).ops {
                    self.op(*op, depth);
                }
            }
            return;
        }
        let operands = self.values(&o.operands);
        let results = self.values(&o.results);
        _ = write!(self.out, "{:depth$}{results} = {} {operands}", "", o.name);
        for s in &o.successors {
            let label = self.block(s.block);
            _ = write!(self.out, " {label}/{}", s.count);
        }
        self.out.push('\n');
        for region in &o.regions {
            _ = writeln!(self.out, "{:depth$}(", "");
            self.region(*region, depth + 1);
        }
    }
}
