//! The newer rule: beside each buffer goes a truth, whether it is owned here, and at the end of each block what is owned
//! and not passed on is freed, as the program runs (docs/RULES.md, 15.5).
//!
//! A block owns what it allocates, what a call gave it, and what came in with a truth that says so: as an argument, or
//! alive from an earlier block of the same region. Views own nothing; whoever holds what they are of does. Each side of a
//! two-way branch gets a block, in which what only the other side wants is freed.

use crate::classic::{is_allocation, is_view, supported};
use crate::control::is_structured;
use crate::graph::live_in;
use crate::ir::{
    Block, BlockId, Definition, Op, OpId, Piece, Position, Program, Refusal, Region, RegionId, Syntax, Value,
    ValueId, fresh,
};
use std::collections::BTreeSet;

/// A buffer, and the truth that says whether it is owned.
type Owned = Vec<(ValueId, ValueId)>;

/// Frees what every function owns, with `bufferization.dealloc`. A buffer that a function returns belongs to its caller.
/// A program that frees something itself is refused.
pub fn own(program: &Program) -> Result<Program, Refusal> {
    let mut out = program.clone();
    for function in program.functions() {
        supported(&out, function)?;
        let mut sides = BTreeSet::new();
        for op in out.in_order(out.op(function).regions[0]) {
            let o = out.op(op);
            let message = match o.name.as_str() {
                "memref.dealloc" | "bufferization.dealloc" => "expected a program that frees nothing itself",
                name if !o.regions.is_empty() && !is_structured(name) => {
                    "expected no regions but those of `scf`"
                }
                _ => {
                    if o.successors.len() > 1 {
                        sides.extend((0..o.successors.len()).map(|side| (op, side)));
                    }
                    continue;
                }
            };
            return Err(Refusal { at: o.at, message: format!("`{}`, {message}", o.name) });
        }
        out.split(&sides);
        let names = out.values.iter().map(|v| v.name.clone()).collect();
        let live = live_in(&out);
        let region = out.op(function).regions[0];
        let entry = out.region(region).blocks[0];
        let mut pass = Pass { program: &mut out, live, names, entry, known: [None; 2] };
        pass.region(region, Vec::new());
    }
    Ok(out)
}

struct Pass<'a> {
    program: &'a mut Program,
    live: Vec<BTreeSet<ValueId>>,
    names: BTreeSet<String>,
    /// The function's first block.
    entry: BlockId,
    /// The truths `false` and `true`, once they are needed.
    known: [Option<ValueId>; 2],
}

impl Pass<'_> {
    fn is_buffer(&self, value: ValueId) -> bool {
        self.program.value(value).is_buffer()
    }

    fn buffers(&self, values: &[ValueId]) -> Vec<ValueId> {
        values.iter().copied().filter(|v| self.is_buffer(*v)).collect()
    }

    fn name(&mut self, base: &str) -> String {
        // A name of digits alone may have no letters behind.
        let base =
            if base.starts_with(|c: char| c.is_ascii_digit()) { format!("v{base}") } else { base.to_owned() };
        let name = fresh(&base, &self.names);
        self.names.insert(name.clone());
        name
    }

    fn name_of(&self, value: ValueId, what: &str) -> String {
        let value = self.program.value(value);
        match (value.name.is_empty(), value.part) {
            (true, _) => what.to_owned(),
            (false, Some(part)) => format!("{}_{part}_{what}", value.name),
            (false, None) => format!("{}_{what}", value.name),
        }
    }

    fn value(&mut self, name: String, part: Option<u32>, ty: &str, definition: Definition) -> ValueId {
        let id = ValueId(self.program.values.len() as u32);
        self.program.values.push(Value {
            name,
            part,
            ty: ty.to_owned(),
            definition,
            at: Position::default(),
        });
        id
    }

    /// A truth beside a buffer, as an argument of a block.
    fn argument(&mut self, block: BlockId, buffer: ValueId) -> ValueId {
        let number = self.program.block(block).arguments.len() as u32;
        let name = self.name_of(buffer, "own");
        let name = self.name(&name);
        let value = self.value(name, None, "i1", Definition::Argument(block, number));
        self.program.blocks[block.index()].arguments.push(value);
        value
    }

    /// The same as a result of an operation.
    fn result(&mut self, op: OpId, buffer: ValueId) -> ValueId {
        // Results are named all or none.
        for unnamed in self.program.op(op).results.clone() {
            if self.program.value(unnamed).name.is_empty() {
                let name = self.name("given");
                self.program.values[unnamed.index()].name = name;
            }
        }
        let number = self.program.op(op).results.len() as u32;
        let name = self.name_of(buffer, "own");
        let name = self.name(&name);
        let value = self.value(name, None, "i1", Definition::Result(op, number));
        self.program.ops[op.index()].results.push(value);
        value
    }

    /// A new operation at a place of a block; its results share a name if there are several.
    fn insert(
        &mut self,
        (block, place): (BlockId, usize),
        name: &str,
        operands: Vec<ValueId>,
        (base, types): (&str, &[String]),
        syntax: Syntax,
    ) -> OpId {
        let id = OpId(self.program.ops.len() as u32);
        let base = if types.is_empty() { String::new() } else { self.name(base) };
        let part = |n: usize| (types.len() > 1).then_some(n as u32);
        let results: Vec<ValueId> = types
            .iter()
            .enumerate()
            .map(|(n, ty)| self.value(base.clone(), part(n), ty, Definition::Result(id, n as u32)))
            .collect();
        self.program.ops.push(Op {
            name: name.to_owned(),
            operands,
            results,
            successors: Vec::new(),
            regions: Vec::new(),
            syntax,
            block,
            at: Position::default(),
        });
        self.program.blocks[block.index()].ops.insert(place, id);
        id
    }

    /// The truth that is always this one.
    fn known(&mut self, truth: bool) -> ValueId {
        if let Some(value) = self.known[usize::from(truth)] {
            return value;
        }
        let syntax = Syntax::Pieces(vec![Piece::Text(format!(" {truth}"))]);
        let named = (if truth { "true" } else { "false" }, &["i1".to_owned()][..]);
        let op = self.insert((self.entry, 0), "arith.constant", Vec::new(), named, syntax);
        let value = self.program.op(op).results[0];
        self.known[usize::from(truth)] = Some(value);
        value
    }

    /// What a block takes over from earlier blocks of its region: buffers that it, or a block behind it, still uses. An
    /// argument of the function is nobody's here.
    fn taken_over(&self, block: BlockId) -> Vec<ValueId> {
        let region = self.program.block(block).region;
        let is_ours = |v: &&ValueId| {
            let home = self.program.block_of(**v);
            let is_callers =
                home == self.entry && matches!(self.program.value(**v).definition, Definition::Argument(..));
            self.is_buffer(**v) && !is_callers && self.program.block(home).region == region
        };
        self.live[block.index()].iter().filter(is_ours).copied().collect()
    }

    /// All blocks of a region; the first one owns what is given.
    fn region(&mut self, region: RegionId, owned: Owned) {
        let blocks = self.program.region(region).blocks.clone();
        let before = self.program.predecessors();
        let is_side = |b: &BlockId| {
            before[b.index()].first().is_some_and(|(op, _)| self.program.op(*op).successors.len() > 1)
        };
        let own: Vec<BlockId> = blocks.iter().skip(1).filter(|b| !is_side(b)).copied().collect();
        let mut all = vec![(blocks[0], owned)];
        for block in own {
            let mut owned = self.buffers(&self.program.block(block).arguments.clone());
            owned.extend(self.taken_over(block));
            let owned = owned.into_iter().map(|v| (v, self.argument(block, v))).collect();
            all.push((block, owned));
        }
        for (block, owned) in all {
            let owned = self.ops(block, owned);
            let last = self.program.block(block).ops.last().map(|o| self.program.op(*o).successors.clone());
            match last {
                // Either side frees what it does not want.
                Some(sides) if sides.len() > 1 => {
                    for side in sides {
                        let owned = self.ops(side.block, owned.clone());
                        self.end(side.block, &owned);
                    }
                }
                _ => self.end(block, &owned),
            }
        }
    }

    /// Goes through a block and collects what it owns.
    fn ops(&mut self, block: BlockId, mut owned: Owned) -> Owned {
        for op in self.program.block(block).ops.clone() {
            let name = self.program.op(op).name.clone();
            if is_allocation(&name) || name == "func.call" {
                for value in self.buffers(&self.program.op(op).results.clone()) {
                    if self.program.value(value).name.is_empty() {
                        let name = self.name("given");
                        self.program.values[value.index()].name = name;
                    }
                    owned.push((value, self.known(true)));
                }
            } else if is_structured(&name) {
                owned.extend(self.structured(op, &name));
            }
        }
        owned
    }

    /// Truths into, between and out of regions. What goes in is still owned by who put it in.
    fn structured(&mut self, op: OpId, name: &str) -> Owned {
        let o = self.program.op(op).clone();
        let results = self.buffers(&o.results);
        let first = |pass: &Self, n: usize| pass.program.region(o.regions[n]).blocks.first().copied();
        let mut inside: Vec<Owned> = o.regions.iter().map(|_| Vec::new()).collect();
        let entries = match name {
            "scf.for" => 1,
            "scf.while" => 2,
            _ => 0,
        };
        for (n, owned) in inside.iter_mut().enumerate().take(entries) {
            let Some(block) = first(self, n) else { continue };
            for buffer in self.buffers(&self.program.block(block).arguments.clone()) {
                owned.push((buffer, self.argument(block, buffer)));
                if n == 0 {
                    let no = self.known(false);
                    self.program.ops[op.index()].operands.push(no);
                }
            }
        }
        let out = results.into_iter().map(|v| (v, self.result(op, v))).collect();
        for (region, owned) in o.regions.iter().zip(inside) {
            if !self.program.region(*region).blocks.is_empty() {
                self.region(*region, owned);
            }
        }
        out
    }

    /// Frees what a block owns and does not pass on, and passes on who owns what.
    fn end(&mut self, block: BlockId, owned: &Owned) {
        let Some(last) = self.program.block(block).ops.last().copied() else { return };
        let o = self.program.op(last).clone();
        match o.name.as_str() {
            "func.return" => self.give_back(block, last, owned),
            "cf.br" => {
                let to = &o.successors[0];
                let passed = &o.operands[to.first as usize..(to.first + to.count) as usize];
                let mut wanted = self.buffers(passed);
                wanted.extend(self.taken_over(to.block));
                let truths = self.free(block, owned, &wanted);
                let o = &mut self.program.ops[last.index()];
                o.successors[0].count += truths.len() as u32;
                o.operands.extend(truths);
            }
            name => {
                let first = usize::from(name == "scf.condition");
                let wanted = self.buffers(&o.operands[first.min(o.operands.len())..]);
                let truths = self.free(block, owned, &wanted);
                if !truths.is_empty() {
                    self.program.ops[last.index()].operands.extend(truths);
                    self.spell(last, first);
                }
            }
        }
    }

    /// Writes down anew what ends a region, in its own syntax.
    fn spell(&mut self, op: OpId, first: usize) {
        let o = self.program.op(op);
        let Syntax::Pieces(pieces) = &o.syntax else { return };
        let attributes = pieces.iter().find_map(|p| match p {
            Piece::Text(text) if text.starts_with(" {") => Some(text.clone()),
            _ => None,
        });
        let mut out = Vec::new();
        if first > 0 {
            out.extend([Piece::Text("(".to_owned()), Piece::Operand(0), Piece::Text(")".to_owned())]);
        }
        out.extend(attributes.map(Piece::Text));
        out.push(Piece::Text(" ".to_owned()));
        listed(&mut out, first..o.operands.len());
        out.push(Piece::Text(format!(" : {}", self.types(&o.operands[first..]))));
        self.program.ops[op.index()].syntax = Syntax::Pieces(out);
    }

    fn types(&self, values: &[ValueId]) -> String {
        values.iter().map(|v| self.program.value(*v).ty.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Frees in front of a block's end what is owned and none of `wanted`; gives for each of these whether it is owned.
    fn free(&mut self, block: BlockId, owned: &Owned, wanted: &[ValueId]) -> Vec<ValueId> {
        if owned.is_empty() {
            return wanted.iter().map(|_| self.known(false)).collect();
        }
        let mut operands = Vec::new();
        for (buffer, _) in owned {
            operands.push(self.base(block, *buffer));
        }
        let types = self.types(&operands);
        operands.extend(owned.iter().map(|(_, truth)| *truth));
        operands.extend(wanted);
        let n = owned.len();
        let mut pieces = vec![Piece::Text(" (".to_owned())];
        listed(&mut pieces, 0..n);
        pieces.push(Piece::Text(format!(" : {types}) if (")));
        listed(&mut pieces, n..2 * n);
        pieces.push(Piece::Text(")".to_owned()));
        if !wanted.is_empty() {
            pieces.push(Piece::Text(" retain (".to_owned()));
            listed(&mut pieces, 2 * n..operands.len());
            pieces.push(Piece::Text(format!(" : {})", self.types(wanted))));
        }
        let place = self.program.block(block).ops.len() - 1;
        let truths = vec!["i1".to_owned(); wanted.len()];
        let op = self.insert(
            (block, place),
            "bufferization.dealloc",
            operands,
            ("own", &truths),
            Syntax::Pieces(pieces),
        );
        self.program.op(op).results.clone()
    }

    /// The whole buffer that a value is in: only that can be freed. What was allocated here is whole.
    fn base(&mut self, block: BlockId, buffer: ValueId) -> ValueId {
        let value = self.program.value(buffer);
        if let Definition::Result(by, _) = value.definition
            && is_allocation(&self.program.op(by).name)
        {
            return buffer;
        }
        let Some((rank, base)) = whole(&value.ty, &self.program.aliases) else { return buffer };
        let ty = value.ty.clone();
        let mut types = vec![base];
        types.extend(std::iter::repeat_n("index".to_owned(), 1 + 2 * rank));
        let text = format!(" : {ty} -> {}", types.join(", "));
        let pieces = vec![Piece::Text(" ".to_owned()), Piece::Operand(0), Piece::Text(text)];
        let place = self.program.block(block).ops.len() - 1;
        let name = self.name_of(buffer, "whole");
        let op = self.insert(
            (block, place),
            "memref.extract_strided_metadata",
            vec![buffer],
            (&name, &types),
            Syntax::Pieces(pieces),
        );
        self.program.op(op).results[0]
    }

    /// What a function returns belongs to its caller: what it does not own it clones, and what it returns twice as well.
    fn give_back(&mut self, block: BlockId, last: OpId, owned: &Owned) {
        let operands = self.program.op(last).operands.clone();
        let mut wanted: Vec<ValueId> = Vec::new();
        for value in self.buffers(&operands) {
            if !wanted.contains(&value) {
                wanted.push(value);
            }
        }
        let truths = self.free(block, owned, &wanted);
        let mut given = BTreeSet::new();
        for (n, value) in operands.into_iter().enumerate() {
            let Some(at) = wanted.iter().position(|w| *w == value) else { continue };
            let place = self.program.block(block).ops.len() - 1;
            let is_first = given.insert(value);
            if is_first && self.is_surely_owned(value, owned) {
                continue;
            }
            let instead = if !is_first || owned.is_empty() {
                self.clone_at((block, place), value)
            } else {
                self.or_clone((block, place), value, truths[at])
            };
            self.program.ops[last.index()].operands[n] = instead;
        }
    }

    /// Whether a value, or what it is a view of, is owned whatever way was taken.
    fn is_surely_owned(&self, mut value: ValueId, owned: &Owned) -> bool {
        while let Definition::Result(by, _) = self.program.value(value).definition
            && is_view(&self.program.op(by).name)
        {
            value = self.program.op(by).operands[0];
        }
        owned.iter().any(|(v, truth)| *v == value && self.known[1] == Some(*truth))
    }

    fn clone_at(&mut self, place: (BlockId, usize), of: ValueId) -> ValueId {
        let ty = self.program.value(of).ty.clone();
        let pieces =
            vec![Piece::Text(" ".to_owned()), Piece::Operand(0), Piece::Text(format!(" : {ty} to {ty}"))];
        let name = self.name_of(of, "clone");
        let op = self.insert(place, "bufferization.clone", vec![of], (&name, &[ty]), Syntax::Pieces(pieces));
        self.program.op(op).results[0]
    }

    /// The value itself where the truth holds, else a clone of it.
    fn or_clone(&mut self, place: (BlockId, usize), value: ValueId, truth: ValueId) -> ValueId {
        let ty = self.program.value(value).ty.clone();
        let name = self.name_of(value, "given");
        let op = self.insert(place, "scf.if", vec![truth], (&name, &[ty]), Syntax::Control(String::new()));
        for is_owned in [true, false] {
            let region = RegionId(self.program.regions.len() as u32);
            let block = BlockId(self.program.blocks.len() as u32);
            self.program.regions.push(Region { blocks: vec![block], parent: Some(op) });
            self.program.blocks.push(Block {
                label: String::new(),
                arguments: Vec::new(),
                ops: Vec::new(),
                region,
            });
            self.program.ops[op.index()].regions.push(region);
            let given = if is_owned { value } else { self.clone_at((block, 0), value) };
            let place = (block, self.program.block(block).ops.len());
            let syntax = Syntax::Pieces(Vec::new());
            let end = self.insert(place, "scf.yield", vec![given], ("", &[]), syntax);
            self.spell(end, 0);
        }
        self.program.op(op).results[0]
    }
}

/// `%a, %b`, of these operands.
fn listed(pieces: &mut Vec<Piece>, operands: std::ops::Range<usize>) {
    for (n, operand) in operands.enumerate() {
        if n > 0 {
            pieces.push(Piece::Text(", ".to_owned()));
        }
        pieces.push(Piece::Operand(operand as u32));
    }
}

/// The rank of a buffer's type, and the type of the whole buffer it is in: without dimensions and layout. Nothing if it has
/// no rank.
fn whole(ty: &str, aliases: &[String]) -> Option<(usize, String)> {
    let inside = ty.strip_prefix("memref<")?.strip_suffix('>')?;
    let mut rest = inside.trim_start();
    let mut rank = 0;
    loop {
        let digits =
            rest.strip_prefix('?').unwrap_or_else(|| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        match digits.trim_start().strip_prefix('x') {
            Some(behind) if digits.len() < rest.len() => {
                rank += 1;
                rest = behind.trim_start();
            }
            _ => break,
        }
    }
    if rest.starts_with('*') {
        return None;
    }
    let mut parts = Vec::new();
    let (mut depth, mut from) = (0_i32, 0);
    for (at, c) in rest.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            // The head of an arrow closes nothing.
            '>' if rest[..at].ends_with('-') => {}
            '>' | ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(rest[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(rest[from..].trim());
    let is_layout = |part: &&str| {
        let named = |alias: &String| {
            alias.split('=').next().is_some_and(|n| n.trim() == *part) && alias.contains("affine_map")
        };
        part.starts_with("strided<") || part.starts_with("affine_map<") || aliases.iter().any(named)
    };
    let kept: Vec<&str> = parts.iter().filter(|p| !is_layout(p)).copied().collect();
    Some((rank, format!("memref<{}>", kept.join(", "))))
}
