//! The program: operations in blocks in regions, as MLIR has them, in arenas.
//!
//! Everything that the rules ask is answered from names and positions of operands; what an operation says beyond that
//! (attributes, the types behind its colon) is kept as text and printed again.

use std::collections::BTreeSet;
use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in its arena.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// An operation.
    OpId,
    /// A block: operations that run one after the other.
    BlockId,
    /// A region: the blocks inside an operation.
    RegionId,
    /// A value: a result of an operation, or an argument of a block.
    ValueId
}

/// Where something stands in the text; both from 1. Both are 0 for what the pass adds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a text or a program is refused: where, what was found, what was expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Where.
    pub at: Position,
    /// What was read and what was expected.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

impl std::error::Error for Refusal {}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Definition {
    /// A result of an operation, and which.
    Result(OpId, u32),
    /// An argument of a block, and which.
    Argument(BlockId, u32),
}

/// A value.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its name without `%`; results of one operation share it.
    pub name: String,
    /// With several results: which one, written behind `#`.
    pub part: Option<u32>,
    /// Its type, as written.
    pub ty: String,
    /// Where it comes from.
    pub definition: Definition,
    /// Where it is defined in the text.
    pub at: Position,
}

impl Value {
    /// Its name as it is written where it is used.
    pub fn label(&self) -> String {
        match self.part {
            Some(part) => format!("%{}#{part}", self.name),
            None => format!("%{}", self.name),
        }
    }

    /// Whether it is a buffer: `memref<...>`, with or without a rank.
    pub fn is_buffer(&self) -> bool {
        self.ty.starts_with("memref<")
    }
}

/// A piece of an operation's own syntax.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// Text as written.
    Text(String),
    /// The operand of that number.
    Operand(u32),
}

/// How an operation is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Syntax {
    /// `"name"(operands)[successors] <{properties}> ({regions}) {attributes} : type`
    Generic {
        /// `<{...}>`, or nothing.
        properties: String,
        /// `{...}`, or nothing.
        attributes: String,
    },
    /// Its own: pieces of text behind the name, with operands between them.
    Pieces(Vec<Piece>),
    /// A module: the text between its name and its region.
    Module(String),
    /// A function.
    Function {
        /// `private` or nothing.
        visibility: String,
        /// Its name with `@`.
        symbol: String,
        /// The types of its arguments if it has no body, and the dictionaries behind arguments if it has.
        arguments: Vec<String>,
        /// What stands behind the arrow, as written; nothing without an arrow.
        results: String,
        /// `attributes {...}` or nothing.
        attributes: String,
    },
    /// `cf.br`, `cf.cond_br`, `scf.if`, `scf.for`, `scf.while`, `scf.execute_region`: written by what they are. The text is
    /// what stands behind: attributes.
    Control(String),
    /// A terminator that the text left out, as `scf.yield` without operands may be.
    Implicit,
}

/// Where a terminator may go, and what it passes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Successor {
    /// The block.
    pub block: BlockId,
    /// The first of the operands that it passes.
    pub first: u32,
    /// How many it passes.
    pub count: u32,
}

/// An operation.
#[derive(Clone, Debug)]
pub struct Op {
    /// Its full name, with dialect.
    pub name: String,
    /// What it takes.
    pub operands: Vec<ValueId>,
    /// What it makes.
    pub results: Vec<ValueId>,
    /// Where it may go.
    pub successors: Vec<Successor>,
    /// What is inside it.
    pub regions: Vec<RegionId>,
    /// How it is written.
    pub syntax: Syntax,
    /// The block it stands in.
    pub block: BlockId,
    /// Where it stands in the text.
    pub at: Position,
}

/// A block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its label without `^`; nothing for an entry that has none.
    pub label: String,
    /// Its arguments.
    pub arguments: Vec<ValueId>,
    /// Its operations, in order.
    pub ops: Vec<OpId>,
    /// The region it stands in.
    pub region: RegionId,
}

/// A region.
#[derive(Clone, Debug)]
pub struct Region {
    /// Its blocks; the first is entered.
    pub blocks: Vec<BlockId>,
    /// The operation it is in; nothing for the outermost.
    pub parent: Option<OpId>,
}

/// A whole text: one outermost region with one block, whose operations are functions and modules.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) ops: Vec<Op>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) regions: Vec<Region>,
    pub(crate) values: Vec<Value>,
    /// Lines before the operations that name types and attributes: `#map = ...`.
    pub(crate) aliases: Vec<String>,
}

/// The outermost region and its block.
pub(crate) const TOP: (RegionId, BlockId) = (RegionId(0), BlockId(0));

impl Program {
    pub(crate) fn empty() -> Self {
        Self {
            ops: Vec::new(),
            blocks: vec![Block {
                label: String::new(),
                arguments: Vec::new(),
                ops: Vec::new(),
                region: TOP.0,
            }],
            regions: vec![Region { blocks: vec![TOP.1], parent: None }],
            values: Vec::new(),
            aliases: Vec::new(),
        }
    }

    /// An operation.
    pub fn op(&self, id: OpId) -> &Op {
        &self.ops[id.index()]
    }

    /// A block.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    /// A region.
    pub fn region(&self, id: RegionId) -> &Region {
        &self.regions[id.index()]
    }

    /// A value.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    /// The block a value is defined in.
    pub fn block_of(&self, value: ValueId) -> BlockId {
        match self.value(value).definition {
            Definition::Result(op, _) => self.op(op).block,
            Definition::Argument(block, _) => block,
        }
    }

    /// The operation a block is inside of.
    pub fn parent_of(&self, block: BlockId) -> Option<OpId> {
        self.region(self.block(block).region).parent
    }

    /// The ancestor of an operation, or itself, that stands in this block.
    pub fn ancestor_in_block(&self, mut op: OpId, block: BlockId) -> Option<OpId> {
        while self.op(op).block != block {
            op = self.parent_of(self.op(op).block)?;
        }
        Some(op)
    }

    /// The block of this region that a block is, or is inside of.
    pub fn ancestor_in_region(&self, mut block: BlockId, region: RegionId) -> Option<BlockId> {
        while self.block(block).region != region {
            block = self.op(self.parent_of(block)?).block;
        }
        Some(block)
    }

    /// The functions that have a body, in the order of the text.
    pub fn functions(&self) -> Vec<OpId> {
        let has_body = |op: &OpId| {
            let op = self.op(*op);
            op.name == "func.func" && op.regions.iter().any(|r| !self.region(*r).blocks.is_empty())
        };
        self.in_order(TOP.0).into_iter().filter(has_body).collect()
    }

    /// The name of a function, with `@`.
    pub fn function_name(&self, function: OpId) -> &str {
        match &self.op(function).syntax {
            Syntax::Function { symbol, .. } => symbol,
            _ => &self.op(function).name,
        }
    }

    /// Every operation in the order of the text: an operation, what is inside it, the next.
    pub fn in_order(&self, region: RegionId) -> Vec<OpId> {
        fn visit(program: &Program, region: RegionId, out: &mut Vec<OpId>) {
            for block in &program.region(region).blocks {
                for op in &program.block(*block).ops {
                    out.push(*op);
                    for inner in &program.op(*op).regions {
                        visit(program, *inner, out);
                    }
                }
            }
        }
        let mut out = Vec::new();
        visit(self, region, &mut out);
        out
    }

    /// For each value, the operations that use it, with the number of the operand.
    pub fn uses(&self) -> Vec<Vec<(OpId, u32)>> {
        let mut uses = vec![Vec::new(); self.values.len()];
        for op in self.in_order(TOP.0) {
            for (i, value) in self.op(op).operands.iter().enumerate() {
                uses[value.index()].push((op, i as u32));
            }
        }
        uses
    }

    /// Which blocks of its region may come right before each block; a block that goes to one twice is named twice.
    pub fn predecessors(&self) -> Vec<Vec<(OpId, usize)>> {
        let mut out = vec![Vec::new(); self.blocks.len()];
        for block in &self.blocks {
            let Some(last) = block.ops.last() else { continue };
            for (i, successor) in self.op(*last).successors.iter().enumerate() {
                out[successor.block.index()].push((*last, i));
            }
        }
        out
    }

    /// Adds an operation of one operand, written as its own syntax, right before `before`.
    pub(crate) fn insert_before(
        &mut self,
        before: OpId,
        name: &str,
        operand: ValueId,
        result: Option<String>,
    ) -> OpId {
        let block = self.op(before).block;
        let ty = self.value(operand).ty.clone();
        let id = OpId(self.ops.len() as u32);
        let tail = if result.is_some() { format!(" : {ty} to {ty}") } else { format!(" : {ty}") };
        let results = result.map(|name| {
            let value = ValueId(self.values.len() as u32);
            let definition = Definition::Result(id, 0);
            self.values.push(Value { name, part: None, ty, definition, at: Position::default() });
            value
        });
        self.ops.push(Op {
            name: name.to_owned(),
            operands: vec![operand],
            results: results.into_iter().collect(),
            successors: Vec::new(),
            regions: Vec::new(),
            syntax: Syntax::Pieces(vec![Piece::Text(" ".to_owned()), Piece::Operand(0), Piece::Text(tail)]),
            block,
            at: Position::default(),
        });
        let ops = &mut self.blocks[block.index()].ops;
        let place = ops.iter().position(|o| *o == before).unwrap_or(ops.len());
        ops.insert(place, id);
        id
    }

    /// Puts a block of its own on each of these sides of branches: it gets nothing and passes on what the side passed.
    pub(crate) fn split(&mut self, sides: &BTreeSet<(OpId, usize)>) {
        let mut labels: BTreeSet<String> = self.blocks.iter().map(|b| b.label.clone()).collect();
        for (branch, side) in sides {
            let to = self.op(*branch).successors[*side].clone();
            let passed =
                self.op(*branch).operands[to.first as usize..(to.first + to.count) as usize].to_vec();
            let region = self.block(to.block).region;
            let label = fresh(&self.block(to.block).label, &labels);
            labels.insert(label.clone());
            let id = BlockId(self.blocks.len() as u32);
            let op = OpId(self.ops.len() as u32);
            self.blocks.push(Block { label, arguments: Vec::new(), ops: vec![op], region });
            let blocks = &mut self.regions[region.index()].blocks;
            let place = blocks.iter().position(|b| *b == to.block).unwrap_or(blocks.len());
            blocks.insert(place, id);
            let at = self.op(*branch).at;
            let count = passed.len() as u32;
            self.ops.push(Op {
                name: "cf.br".to_owned(),
                operands: passed,
                results: Vec::new(),
                successors: vec![Successor { block: to.block, first: 0, count }],
                regions: Vec::new(),
                syntax: Syntax::Control(String::new()),
                block: id,
                at,
            });
            let from = &mut self.ops[branch.index()];
            from.operands.drain(to.first as usize..(to.first + to.count) as usize);
            for other in &mut from.successors[side + 1..] {
                other.first -= count;
            }
            from.successors[*side] = Successor { block: id, first: to.first, count: 0 };
            if let Syntax::Generic { attributes, .. } = &from.syntax {
                // Its own syntax counts its operands itself.
                let kept = if attributes.contains("egment") { String::new() } else { attributes.clone() };
                from.syntax = Syntax::Control(kept);
            }
        }
    }

    /// Takes an operation out of its block and puts it right behind another one.
    pub(crate) fn move_after(&mut self, op: OpId, behind: OpId) {
        let from = self.op(op).block;
        self.blocks[from.index()].ops.retain(|o| *o != op);
        let to = self.op(behind).block;
        self.ops[op.index()].block = to;
        let ops = &mut self.blocks[to.index()].ops;
        let place = ops.iter().position(|o| *o == behind).map_or(ops.len(), |p| p + 1);
        ops.insert(place, op);
    }

    /// Takes an operation out of its block and puts it right in front of another one.
    pub(crate) fn move_before(&mut self, op: OpId, before: OpId) {
        self.remove(op);
        let to = self.op(before).block;
        self.ops[op.index()].block = to;
        let ops = &mut self.blocks[to.index()].ops;
        let place = ops.iter().position(|o| *o == before).unwrap_or(ops.len());
        ops.insert(place, op);
    }

    /// Takes an operation without results out of its block.
    pub fn remove(&mut self, op: OpId) {
        let block = self.op(op).block;
        self.blocks[block.index()].ops.retain(|o| *o != op);
    }

    /// Makes every user of `value` use `instead`.
    pub fn replace_uses(&mut self, value: ValueId, instead: ValueId) {
        for op in &mut self.ops {
            for operand in &mut op.operands {
                if *operand == value {
                    *operand = instead;
                }
            }
        }
    }

    /// The position of each operation in its block.
    pub(crate) fn order_in(&self, block: BlockId, op: OpId) -> usize {
        self.block(block).ops.iter().position(|o| *o == op).unwrap_or(usize::MAX)
    }
}

/// `base`, or with the first number behind it that makes it a name that is not taken.
pub(crate) fn fresh(base: &str, taken: &BTreeSet<String>) -> String {
    let numbered = (1..=taken.len()).map(|n| format!("{base}_{n}"));
    let name = std::iter::once(base.to_owned()).chain(numbered).find(|n| !taken.contains(n));
    name.expect("one more than are taken were tried")
}
