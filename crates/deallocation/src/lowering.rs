//! `bufferization.dealloc` in plain operations: addresses are compared, and each buffer is freed under a condition.

use crate::ir::{
    Block, BlockId, Definition, Op, OpId, Piece, Position, Program, Region, RegionId, Syntax, TOP, Value,
    ValueId, fresh,
};
use std::collections::BTreeSet;

/// Puts plain operations in place of every `bufferization.dealloc`: of buffers that are the same as the program runs, the
/// first one that is owned is freed, unless one that is retained is the same too; what is retained is owned if any owned
/// one is the same.
#[must_use]
pub fn lower(program: &Program) -> Program {
    let mut out = program.clone();
    let names = out.values.iter().map(|v| v.name.clone()).collect();
    let mut pass = Pass { program: &mut out, names, new: Vec::new(), count: 0 };
    for op in program.in_order(TOP.0) {
        if program.op(op).name == "bufferization.dealloc" {
            pass.conditional(op);
        }
    }
    out
}

struct Pass<'a> {
    program: &'a mut Program,
    names: BTreeSet<String>,
    /// What is to stand in place of an operation.
    new: Vec<OpId>,
    /// Names given.
    count: usize,
}

impl Pass<'_> {
    /// A new operation of a block, from its text with `%` for each operand; it gets its place later.
    fn add(
        &mut self,
        block: BlockId,
        name: &str,
        text: &str,
        operands: &[ValueId],
        result: Option<(&str, &str)>,
    ) -> OpId {
        let id = OpId(self.program.ops.len() as u32);
        let mut pieces = Vec::new();
        for (n, part) in text.split('%').enumerate() {
            if n > 0 {
                pieces.push(Piece::Operand(n as u32 - 1));
            }
            if !part.is_empty() {
                pieces.push(Piece::Text(part.to_owned()));
            }
        }
        let results = result.map(|(base, ty)| {
            // Numbered throughout: there may be thousands.
            self.count += 1;
            let name = fresh(&format!("{base}_{}", self.count), &self.names);
            self.names.insert(name.clone());
            let value = ValueId(self.program.values.len() as u32);
            self.program.values.push(Value {
                name,
                part: None,
                ty: ty.to_owned(),
                definition: Definition::Result(id, 0),
                at: Position::default(),
            });
            value
        });
        self.program.ops.push(Op {
            name: name.to_owned(),
            operands: operands.to_vec(),
            results: results.into_iter().collect(),
            successors: Vec::new(),
            regions: Vec::new(),
            syntax: Syntax::Pieces(pieces),
            block,
            at: Position::default(),
        });
        self.new.push(id);
        id
    }

    fn truth(&mut self, at: BlockId, name: &str, text: &str, operands: &[ValueId], base: &str) -> ValueId {
        let op = self.add(at, name, text, operands, Some((base, "i1")));
        self.program.op(op).results[0]
    }

    fn address(&mut self, at: BlockId, buffer: ValueId) -> ValueId {
        let text = format!(" % : {} -> index", self.program.value(buffer).ty);
        let name = "memref.extract_aligned_pointer_as_index";
        let op = self.add(at, name, &text, &[buffer], Some(("address", "index")));
        self.program.op(op).results[0]
    }

    fn conditional(&mut self, op: OpId) {
        let o = self.program.op(op).clone();
        let at = o.block;
        let count = (o.operands.len() - o.results.len()) / 2;
        let (buffers, rest) = o.operands.split_at(count);
        let (owned, wanted) = rest.split_at(count);
        let is_alone = count == 1 && wanted.is_empty();
        let of = |pass: &mut Self, values: &[ValueId]| -> Vec<ValueId> {
            if is_alone { Vec::new() } else { values.iter().map(|v| pass.address(at, *v)).collect() }
        };
        let (ours, theirs) = (of(self, buffers), of(self, wanted));
        let same = " eq, %, % : index";
        let both = " %, % : i1";
        let mut given: Vec<Option<ValueId>> = vec![None; wanted.len()];
        let mut conditions = Vec::new();
        for i in 0..count {
            let mut condition = owned[i];
            let mut others: Vec<ValueId> = Vec::new();
            for (j, address) in theirs.iter().enumerate() {
                let is_same = self.truth(at, "arith.cmpi", same, &[ours[i], *address], "same");
                let is_owned = self.truth(at, "arith.andi", both, &[owned[i], is_same], "kept");
                given[j] = Some(match given[j] {
                    Some(before) => self.truth(at, "arith.ori", both, &[before, is_owned], "kept"),
                    None => is_owned,
                });
                others.push(is_same);
            }
            for k in 0..i {
                let is_same = self.truth(at, "arith.cmpi", same, &[ours[i], ours[k]], "same");
                others.push(self.truth(at, "arith.andi", both, &[owned[k], is_same], "freed"));
            }
            if !others.is_empty() {
                let yes = self.truth(at, "arith.constant", " true", &[], "true");
                for other in others {
                    let not = self.truth(at, "arith.xori", both, &[yes, other], "other");
                    condition = self.truth(at, "arith.andi", both, &[condition, not], "frees");
                }
            }
            conditions.push(condition);
        }
        for (buffer, condition) in buffers.iter().zip(conditions) {
            self.free_if(at, *buffer, condition);
        }
        for (result, given) in o.results.iter().zip(given) {
            // Without anything that may be owned nothing is.
            let given = given.unwrap_or_else(|| self.truth(at, "arith.constant", " false", &[], "false"));
            self.program.replace_uses(*result, given);
        }
        let place = self.program.order_in(at, op);
        self.program.blocks[at.index()].ops.splice(place..=place, self.new.drain(..));
    }

    fn free_if(&mut self, at: BlockId, buffer: ValueId, condition: ValueId) {
        let op = self.add(at, "scf.if", "", &[condition], None);
        self.program.ops[op.index()].syntax = Syntax::Control(String::new());
        for n in 0..2 {
            let region = RegionId(self.program.regions.len() as u32);
            let block = BlockId(self.program.blocks.len() as u32);
            let blocks = if n == 0 { vec![block] } else { Vec::new() };
            self.program.regions.push(Region { blocks, parent: Some(op) });
            if n == 0 {
                self.program.blocks.push(Block {
                    label: String::new(),
                    arguments: Vec::new(),
                    ops: Vec::new(),
                    region,
                });
            }
            self.program.ops[op.index()].regions.push(region);
            if n == 0 {
                let text = format!(" % : {}", self.program.value(buffer).ty);
                let from = self.new.len();
                self.add(block, "memref.dealloc", &text, &[buffer], None);
                let end = self.add(block, "scf.yield", "", &[], None);
                self.program.ops[end.index()].syntax = Syntax::Implicit;
                self.program.blocks[block.index()].ops.extend(self.new.drain(from..));
            }
        }
    }
}
