//! Reads MLIR text: functions, `cf`, `scf` and `memref` in their own syntax, any operation in the generic form.
//!
//! The first thing that is wrong ends the reading, with its place: an operation has no meaning without its operands, so
//! half a program says nothing about who frees what.

use crate::ir::{
    BlockId, Definition, Op, OpId, Piece, Position, Program, Refusal, Region, RegionId, Successor, Syntax,
    TOP, Value, ValueId,
};
use crate::verify;
use std::collections::BTreeMap;

/// Texts are no longer than this many bytes.
pub const MOST_BYTES: usize = 1 << 18;
/// Regions are nested no deeper than this.
const DEEPEST: usize = 64;

/// Operands, and where each is written.
type Operands = Vec<(ValueId, Position)>;
type Result<T> = std::result::Result<T, Refusal>;

/// Reads a text. What it refuses it names by line and column.
pub fn read(text: &str) -> Result<Program> {
    if text.len() > MOST_BYTES {
        let message = format!("{} bytes, expected at most {MOST_BYTES}", text.len());
        return Err(Refusal { at: START, message });
    }
    let mut reader = Reader {
        text,
        place: 0,
        program: Program::empty(),
        scopes: Vec::new(),
        same: Vec::new(),
        counted: (0, START),
    };
    reader.top()?;
    let Reader { program, same, .. } = reader;
    for Same { value, ty, at } in same {
        let value = program.value(value);
        if squeezed(&value.ty) != squeezed(&ty) {
            let message = format!("`{}` as `{ty}`, expected its own type, `{}`", value.label(), value.ty);
            return Err(Refusal { at, message });
        }
    }
    verify::verify(&program)?;
    Ok(program)
}

const START: Position = Position { line: 1, column: 1 };

/// A type without its blanks.
pub(crate) fn squeezed(ty: &str) -> String {
    ty.chars().filter(|c| !c.is_whitespace()).collect()
}

/// A type that a use gives for a value, to be compared once the value is defined.
struct Same {
    value: ValueId,
    ty: String,
    at: Position,
}

/// The names that are visible in a region.
#[derive(Default)]
struct Scope {
    values: BTreeMap<String, Vec<ValueId>>,
    /// Used, and not yet defined: the name and part, and where.
    awaited: BTreeMap<(String, u32), (ValueId, Position)>,
    labels: BTreeMap<String, (BlockId, Option<Position>)>,
    /// Names outside are not visible here: the body of a function.
    isolated: bool,
}

struct Reader<'a> {
    text: &'a str,
    place: usize,
    program: Program,
    scopes: Vec<Scope>,
    same: Vec<Same>,
    /// A place in the text and its line and column, from which later ones are counted.
    counted: (usize, Position),
}

/// How the type of an operation's result follows from the types behind its colon.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Results {
    None,
    /// The last type.
    Last,
    /// The element of the buffer.
    Element,
    Named(&'static str),
}

/// What is known of an operation in its own syntax: its result, and which operand the first type is of.
fn known(name: &str) -> Option<(Results, Option<u32>)> {
    Some(match name {
        "memref.alloc" | "memref.alloca" => (Results::Last, None),
        "memref.cast"
        | "memref.subview"
        | "memref.reinterpret_cast"
        | "memref.memory_space_cast"
        | "memref.view"
        | "memref.collapse_shape"
        | "memref.expand_shape"
        | "bufferization.clone" => (Results::Last, Some(0)),
        "memref.load" => (Results::Element, Some(0)),
        "memref.dim" => (Results::Named("index"), Some(0)),
        "memref.store" => (Results::None, Some(1)),
        "memref.copy" | "memref.dealloc" => (Results::None, Some(0)),
        "arith.cmpi" | "arith.cmpf" => (Results::Named("i1"), Some(0)),
        "arith.select" => (Results::Last, None),
        "arith.constant" => (Results::Last, None),
        _ if name.starts_with("arith.") => (Results::Last, Some(0)),
        _ => return None,
    })
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-')
}

impl<'a> Reader<'a> {
    // Characters.

    fn rest(&self) -> &'a str {
        &self.text[self.place..]
    }

    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let bare = rest.trim_start();
            self.place += rest.len() - bare.len();
            if !bare.starts_with("//") {
                return;
            }
            self.place += bare.find('\n').unwrap_or(bare.len());
        }
    }

    fn at(&mut self, place: usize) -> Position {
        let (mut from, mut position) = self.counted;
        if place < from {
            // Rarely, and by little: an error that points back.
            (from, position) = (0, START);
        }
        for c in self.text[from..place].chars() {
            position = match c {
                '\n' => Position { line: position.line + 1, column: 1 },
                _ => Position { column: position.column + 1, ..position },
            };
        }
        self.counted = (place, position);
        position
    }

    fn here(&mut self) -> Position {
        self.skip();
        self.at(self.place)
    }

    fn wrong<T>(&mut self, expected: &str) -> Result<T> {
        let at = self.here();
        let rest = self.rest();
        let first = rest.chars().next();
        let word: String = match first {
            Some(c) if is_name(c) || matches!(c, '%' | '^' | '@' | '"') => {
                rest.chars().take_while(|c| !c.is_whitespace()).take(40).collect()
            }
            Some(c) => c.to_string(),
            None => return Err(Refusal { at, message: format!("the end of the text, expected {expected}") }),
        };
        Err(Refusal { at, message: format!("`{word}`, expected {expected}") })
    }

    fn sees(&mut self, what: &str) -> bool {
        self.skip();
        let Some(behind) = self.rest().strip_prefix(what) else { return false };
        // A word ends where it ends: `to` is not seen in `total`.
        !(what.chars().all(is_name) && behind.starts_with(is_name))
    }

    fn takes(&mut self, what: &str) -> bool {
        let sees = self.sees(what);
        if sees {
            self.place += what.len();
        }
        sees
    }

    fn expect(&mut self, what: &str) -> Result<()> {
        if self.takes(what) { Ok(()) } else { self.wrong(&format!("`{what}`")) }
    }

    /// A word of name characters, perhaps empty.
    fn word(&mut self) -> &'a str {
        self.skip();
        let rest = self.rest();
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        // `->` behind a word is an arrow.
        let word = rest[..end].trim_end_matches('-');
        self.place += word.len();
        word
    }

    fn quoted(&mut self) -> Result<&'a str> {
        self.skip();
        let rest = self.rest();
        let mut escaped = false;
        if rest.starts_with('"') {
            for (i, c) in rest.char_indices().skip(1) {
                match c {
                    '"' if !escaped => {
                        self.place += i + 1;
                        return Ok(&rest[1..i]);
                    }
                    '\n' => break,
                    _ => escaped = c == '\\' && !escaped,
                }
            }
        }
        self.wrong("text in quotes")
    }

    /// From an opening bracket to the one that closes it.
    fn balanced(&mut self) -> Result<&'a str> {
        self.skip();
        let start = self.place;
        let mut open: Vec<char> = Vec::new();
        loop {
            let Some(c) = self.rest().chars().next() else {
                let closer = open.last().copied().unwrap_or(')');
                return self.wrong(&format!("`{closer}`"));
            };
            match c {
                '"' => {
                    self.quoted()?;
                    continue;
                }
                '(' => open.push(')'),
                '[' => open.push(']'),
                '{' => open.push('}'),
                '<' => open.push('>'),
                '-' if self.rest().starts_with("->") => {
                    self.place += 2;
                    continue;
                }
                ')' | ']' | '}' | '>' => match open.pop() {
                    Some(closer) if closer == c => {}
                    Some(closer) => return self.wrong(&format!("`{closer}`")),
                    None => return self.wrong("an opening bracket"),
                },
                _ => {}
            }
            self.place += c.len_utf8();
            if open.is_empty() {
                return Ok(&self.text[start..self.place]);
            }
        }
    }

    fn dictionary(&mut self) -> Result<String> {
        if self.sees("{") { Ok(self.balanced()?.to_owned()) } else { Ok(String::new()) }
    }

    fn ty(&mut self) -> Result<String> {
        self.skip();
        let start = self.place;
        if self.sees("(") {
            self.balanced()?;
            if self.takes("->") {
                // A function that makes a function ends somewhere: each step takes text.
                if self.sees("(") {
                    self.balanced()?;
                } else {
                    self.simple_type()?;
                }
            }
        } else {
            self.simple_type()?;
        }
        Ok(self.text[start..self.place].trim().to_owned())
    }

    fn simple_type(&mut self) -> Result<()> {
        self.takes("!");
        if self.word().is_empty() {
            return self.wrong("a type");
        }
        if self.rest().starts_with('<') {
            self.balanced()?;
        }
        Ok(())
    }

    fn types(&mut self) -> Result<Vec<String>> {
        let mut out = vec![self.ty()?];
        while self.takes(",") {
            out.push(self.ty()?);
        }
        Ok(out)
    }

    /// `(T, T)`, or one type.
    fn types_in_brackets(&mut self) -> Result<Vec<String>> {
        if !self.takes("(") {
            return Ok(vec![self.ty()?]);
        }
        if self.takes(")") {
            return Ok(Vec::new());
        }
        let out = self.types()?;
        self.expect(")")?;
        Ok(out)
    }

    /// `(T, T) -> T`
    fn function_type(&mut self) -> Result<(Vec<String>, Vec<String>)> {
        if !self.sees("(") {
            return self.wrong("the types of the operands in brackets");
        }
        let operands = self.types_in_brackets()?;
        self.expect("->")?;
        Ok((operands, self.types_in_brackets()?))
    }

    fn loc(&mut self) -> Result<()> {
        if self.sees("loc") {
            let before = self.place;
            self.place += 3;
            if self.sees("(") {
                self.balanced()?;
            } else {
                self.place = before;
            }
        }
        Ok(())
    }

    // Values.

    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a scope is open while something is read")
    }

    fn value_name(&mut self) -> Result<(String, u32)> {
        if !self.takes("%") {
            return self.wrong("a value");
        }
        let name = self.word().to_owned();
        if name.is_empty() {
            return self.wrong("the name of a value");
        }
        let mut part = 0;
        if self.rest().starts_with('#') {
            self.place += 1;
            part = match self.word().parse() {
                Ok(part) => part,
                Err(_) => return self.wrong("the number of a result"),
            };
        }
        Ok((name, part))
    }

    fn operand(&mut self) -> Result<ValueId> {
        let at = self.here();
        let (name, part) = self.value_name()?;
        for scope in self.scopes.iter().rev() {
            if let Some(values) = scope.values.get(&name) {
                return match values.get(part as usize) {
                    Some(value) => Ok(*value),
                    None => {
                        let message =
                            format!("`%{name}#{part}`, expected one of its {} values", values.len());
                        Err(Refusal { at, message })
                    }
                };
            }
            if scope.isolated {
                break;
            }
        }
        if let Some((value, _)) = self.scope().awaited.get(&(name.clone(), part)) {
            return Ok(*value);
        }
        let value = self.fresh(&name, String::new(), Definition::Argument(TOP.1, 0), at);
        self.scope().awaited.insert((name, part), (value, at));
        Ok(value)
    }

    fn fresh(&mut self, name: &str, ty: String, definition: Definition, at: Position) -> ValueId {
        let id = ValueId(self.program.values.len() as u32);
        self.program.values.push(Value { name: name.to_owned(), part: None, ty, definition, at });
        id
    }

    /// Defines a name with one or several values.
    fn define(
        &mut self,
        name: &str,
        types: Vec<String>,
        at: Position,
        definition: impl Fn(u32) -> Definition,
    ) -> Result<Vec<ValueId>> {
        for scope in self.scopes.iter().rev() {
            if let Some(first) = scope.values.get(name).and_then(|v| v.first()) {
                let earlier = self.program.value(*first).at;
                let message = format!("`%{name}`, expected a new name: it is defined at {earlier}");
                return Err(Refusal { at, message });
            }
            if scope.isolated {
                break;
            }
        }
        let several = types.len() > 1;
        let mut out = Vec::new();
        for (i, ty) in types.into_iter().enumerate() {
            let part = i as u32;
            let awaited = self.scope().awaited.remove(&(name.to_owned(), part));
            let id = match awaited {
                Some((id, _)) => id,
                None => self.fresh(name, String::new(), definition(part), at),
            };
            let part = several.then_some(part);
            self.program.values[id.index()] =
                Value { name: name.to_owned(), part, ty, definition: definition(i as u32), at };
            out.push(id);
        }
        let rest = self.scope().awaited.range((name.to_owned(), 0)..).next();
        if let Some(((_, part), (_, at))) = rest.filter(|((n, _), _)| n == name) {
            let message = format!("`%{name}#{part}`, expected one of its {} values", out.len());
            return Err(Refusal { at: *at, message });
        }
        self.scope().values.insert(name.to_owned(), out.clone());
        Ok(out)
    }

    /// Operands separated by commas, none if there is no `%`.
    fn operands(&mut self) -> Result<Vec<(ValueId, Position)>> {
        let mut out = Vec::new();
        if self.sees("%") {
            loop {
                let at = self.here();
                out.push((self.operand()?, at));
                if !self.takes(",") {
                    break;
                }
            }
        }
        Ok(out)
    }

    /// Says that operands have these types.
    fn agree(&mut self, operands: &[(ValueId, Position)], types: &[String]) -> Result<()> {
        if operands.len() != types.len() {
            let expected =
                format!("{} types, one for each operand; there are {}", operands.len(), types.len());
            return self.wrong(&expected);
        }
        for ((value, at), ty) in operands.iter().zip(types) {
            self.same.push(Same { value: *value, ty: ty.clone(), at: *at });
        }
        Ok(())
    }

    // Regions, blocks.

    fn new_region(&mut self, parent: OpId) -> RegionId {
        let id = RegionId(self.program.regions.len() as u32);
        self.program.regions.push(Region { blocks: Vec::new(), parent: Some(parent) });
        self.program.ops[parent.index()].regions.push(id);
        id
    }

    fn new_block(&mut self, label: &str, region: RegionId) -> BlockId {
        let id = BlockId(self.program.blocks.len() as u32);
        self.program.blocks.push(crate::ir::Block {
            label: label.to_owned(),
            arguments: Vec::new(),
            ops: Vec::new(),
            region,
        });
        id
    }

    fn argument(&mut self, block: BlockId, name: &str, ty: String, at: Position) -> Result<()> {
        let number = self.program.block(block).arguments.len() as u32;
        let values = self.define(name, vec![ty], at, |_| Definition::Argument(block, number))?;
        self.program.blocks[block.index()].arguments.extend(values);
        Ok(())
    }

    /// The block of a label, which may come later.
    fn label(&mut self) -> Result<BlockId> {
        let at = self.here();
        self.expect("^")?;
        let name = self.word().to_owned();
        if name.is_empty() {
            return self.wrong("the label of a block");
        }
        if let Some((block, _)) = self.scope().labels.get(&name) {
            return Ok(*block);
        }
        // Its region is set where it is defined; a region that ends without it is refused.
        let block = self.new_block(&name, TOP.0);
        self.scope().labels.insert(name, (block, Some(at)));
        Ok(block)
    }

    /// A region in braces. `arguments` are those of its first block, if the operation's own syntax names them.
    fn region(
        &mut self,
        parent: OpId,
        isolated: bool,
        arguments: Vec<(String, String, Position)>,
        implied: Option<&str>,
    ) -> Result<RegionId> {
        let named = !arguments.is_empty();
        if self.scopes.len() > DEEPEST {
            return self.wrong(&format!("regions inside one another to a depth of {DEEPEST}"));
        }
        self.expect("{")?;
        let region = self.new_region(parent);
        self.scopes.push(Scope { isolated, ..Scope::default() });
        let first_is_bare = !self.sees("^") || named;
        let mut current = None;
        if first_is_bare && (named || implied.is_some() || !self.sees("}")) {
            let block = self.new_block("", region);
            self.program.regions[region.index()].blocks.push(block);
            for (name, ty, at) in arguments {
                self.argument(block, &name, ty, at)?;
            }
            current = Some(block);
        }
        while !self.takes("}") {
            if self.sees("^") {
                current = Some(self.block_head(region)?);
            } else if let Some(block) = current {
                self.op(block)?;
            } else {
                return self.wrong("an operation, or `}`");
            }
        }
        let closed = self.at(self.place - 1);
        if let Some(name) = implied
            && let [block] = self.program.region(region).blocks[..]
            && self.program.block(block).ops.last().is_none_or(|o| !crate::control::ends(&self.program, *o))
        {
            let id = self.new_op(name, block, closed);
            self.program.ops[id.index()].syntax = Syntax::Implicit;
        }
        self.leave()?;
        Ok(region)
    }

    fn block_head(&mut self, region: RegionId) -> Result<BlockId> {
        let at = self.here();
        let block = self.label()?;
        let label = self.program.block(block).label.clone();
        match self.scope().labels.get_mut(&label) {
            Some((_, waiting @ Some(_))) => *waiting = None,
            _ => {
                return Err(Refusal {
                    at,
                    message: format!("`^{label}`, expected a new label: it is defined above"),
                });
            }
        }
        self.program.blocks[block.index()].region = region;
        self.program.regions[region.index()].blocks.push(block);
        if self.takes("(") && !self.takes(")") {
            loop {
                let at = self.here();
                let (name, _) = self.value_name()?;
                self.expect(":")?;
                let ty = self.ty()?;
                self.loc()?;
                self.argument(block, &name, ty, at)?;
                if !self.takes(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        self.expect(":")?;
        Ok(block)
    }

    /// Ends a scope: labels must be defined; names that are still awaited may come outside, unless it is isolated.
    fn leave(&mut self) -> Result<()> {
        let scope = self.scopes.pop().expect("the scope was opened");
        for (name, (_, waiting)) in scope.labels {
            if let Some(at) = waiting {
                return Err(Refusal {
                    at,
                    message: format!("`^{name}`, expected the label of a block of this region"),
                });
            }
        }
        for ((name, part), (value, at)) in scope.awaited {
            if scope.isolated || self.scopes.is_empty() {
                let part = if part > 0 { format!("#{part}") } else { String::new() };
                let message = format!("`%{name}{part}`, expected a value that is defined");
                return Err(Refusal { at, message });
            }
            match self.scope().awaited.get(&(name.clone(), part)) {
                Some((other, _)) => {
                    let other = *other;
                    self.program.replace_uses(value, other);
                    self.same.iter_mut().filter(|s| s.value == value).for_each(|s| s.value = other);
                }
                None => {
                    self.scope().awaited.insert((name, part), (value, at));
                }
            }
        }
        Ok(())
    }

    // Operations.

    fn top(&mut self) -> Result<()> {
        self.scopes.push(Scope { isolated: true, ..Scope::default() });
        while !self.here_is_end() {
            if self.sees("#") || self.sees("!") || self.sees("{-#") {
                self.alias()?;
            } else {
                self.op(TOP.1)?;
            }
        }
        self.leave()
    }

    fn here_is_end(&mut self) -> bool {
        self.skip();
        self.rest().is_empty()
    }

    /// `#name = ...` and `!name = ...`: kept as lines. A blob of resources (`{-# ... #-}`) is left out.
    fn alias(&mut self) -> Result<()> {
        if self.sees("{-#") {
            let Some(end) = self.rest().find("#-}") else { return self.wrong("`#-}` somewhere behind") };
            self.place += end + 3;
            return Ok(());
        }
        let start = self.place;
        self.place += 1;
        if self.word().is_empty() {
            return self.wrong("a name");
        }
        self.expect("=")?;
        self.skip();
        // Up to the end of the line, or of the brackets that the line opens.
        while let Some(c) = self.rest().chars().next() {
            match c {
                '\n' => break,
                '"' => _ = self.quoted()?,
                '(' | '[' | '{' | '<' => _ = self.balanced()?,
                _ => self.place += c.len_utf8(),
            }
        }
        let line = self.text[start..self.place].trim().to_owned();
        self.program.aliases.push(line);
        Ok(())
    }

    fn new_op(&mut self, name: &str, block: BlockId, at: Position) -> OpId {
        let id = OpId(self.program.ops.len() as u32);
        self.program.ops.push(Op {
            name: name.to_owned(),
            operands: Vec::new(),
            results: Vec::new(),
            successors: Vec::new(),
            regions: Vec::new(),
            syntax: Syntax::Pieces(Vec::new()),
            block,
            at,
        });
        self.program.blocks[block.index()].ops.push(id);
        id
    }

    fn op(&mut self, block: BlockId) -> Result<()> {
        let mut names: Vec<(String, usize, Position)> = Vec::new();
        if self.sees("%") {
            loop {
                let at = self.here();
                let (name, _) = self.value_name()?;
                let mut count = 1;
                if self.takes(":") {
                    count = match self.word().parse() {
                        Ok(count @ 1..=1000) => count,
                        _ => return self.wrong("the number of results, from 1 to 1000"),
                    };
                }
                names.push((name, count, at));
                if !self.takes(",") {
                    break;
                }
            }
            self.expect("=")?;
        }
        let at = self.here();
        let (id, types) =
            if self.sees("\"") { self.generic(block, at)? } else { self.own_syntax(block, at)? };
        self.loc()?;
        let wanted: usize = names.iter().map(|(_, n, _)| n).sum();
        if wanted != types.len() && !(names.is_empty() && types.is_empty()) {
            let name = &self.program.op(id).name;
            let message = format!("{wanted} names for the results of `{name}`, expected {}", types.len());
            // Results without a name are allowed; they cannot be used.
            if wanted != 0 {
                return Err(Refusal { at: names.first().map_or(at, |n| n.2), message });
            }
            let unnamed: Vec<ValueId> = types
                .into_iter()
                .enumerate()
                .map(|(i, ty)| self.fresh("", ty, Definition::Result(id, i as u32), at))
                .collect();
            self.program.ops[id.index()].results = unnamed;
            return Ok(());
        }
        let mut types = types.into_iter();
        let mut before = 0;
        for (name, count, at) in names {
            let mine: Vec<String> = types.by_ref().take(count).collect();
            let first = before;
            let values = self.define(&name, mine, at, |i| Definition::Result(id, first + i))?;
            before += count as u32;
            self.program.ops[id.index()].results.extend(values);
        }
        Ok(())
    }

    fn generic(&mut self, block: BlockId, at: Position) -> Result<(OpId, Vec<String>)> {
        let name = self.quoted()?;
        let id = self.new_op(name, block, at);
        self.expect("(")?;
        let operands = self.operands()?;
        self.expect(")")?;
        let mut successors = Vec::new();
        if self.takes("[") && !self.takes("]") {
            loop {
                successors.push(self.label()?);
                if !self.takes(",") {
                    break;
                }
            }
            self.expect("]")?;
        }
        let properties = if self.sees("<") { self.balanced()?.to_owned() } else { String::new() };
        if self.takes("(") {
            loop {
                self.region(id, name == "func.func", Vec::new(), None)?;
                if !self.takes(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        let attributes = self.dictionary()?;
        self.expect(":")?;
        let (operand_types, types) = self.function_type()?;
        self.agree(&operands, &operand_types)?;
        let segments = segments(&format!("{properties}{attributes}"));
        let op = &mut self.program.ops[id.index()];
        op.operands = operands.iter().map(|(v, _)| *v).collect();
        op.successors = match (name, &successors[..]) {
            (_, []) => Vec::new(),
            ("cf.br", [to]) => vec![Successor { block: *to, first: 0, count: operands.len() as u32 }],
            ("cf.cond_br", [yes, no]) => {
                let split = segments.filter(|s| s.len() == 3 && s[0] == 1);
                let fits =
                    |s: &Vec<u32>| s.iter().map(|n| u64::from(*n)).sum::<u64>() == operands.len() as u64;
                let Some(s) = split.filter(fits) else {
                    let message = "expected `operand_segment_sizes` of three numbers that count its operands"
                        .to_owned();
                    return Err(Refusal { at, message: format!("`cf.cond_br`, {message}") });
                };
                vec![
                    Successor { block: *yes, first: 1, count: s[1] },
                    Successor { block: *no, first: 1 + s[1], count: s[2] },
                ]
            }
            _ => {
                let message = format!(
                    "`{name}` with successors, expected `cf.br` or `cf.cond_br`: what it passes is not known"
                );
                return Err(Refusal { at, message });
            }
        };
        op.syntax = Syntax::Generic { properties, attributes };
        Ok((id, types))
    }

    fn own_syntax(&mut self, block: BlockId, at: Position) -> Result<(OpId, Vec<String>)> {
        let start = self.place;
        let word = self.word();
        let name = match word {
            "return" => "func.return",
            "call" => "func.call",
            "module" => "builtin.module",
            _ => word,
        };
        let id = self.new_op(name, block, at);
        let types = match name {
            "builtin.module" => {
                let from = self.place;
                while !self.sees("{") && !self.here_is_end() {
                    if self.takes("attributes") {
                        self.dictionary()?;
                    } else if !self.takes("@") && self.word().is_empty() {
                        return self.wrong("`{`");
                    }
                }
                let head = self.text[from..self.place].trim().to_owned();
                self.program.ops[id.index()].syntax = Syntax::Module(head);
                self.region(id, true, Vec::new(), None)?;
                Vec::new()
            }
            "func.func" => self.function(id)?,
            "func.call" => self.pieces(id, |reader| {
                let (operands, types) = reader.function_type()?;
                Ok((operands, types))
            })?,
            "func.return" | "scf.yield" | "scf.condition" | "memref.alloca_scope.return" => {
                self.terminator(id)?
            }
            "test.copy" => self.pieces(id, |reader| Ok((reader.types_in_brackets()?, Vec::new())))?,
            "memref.extract_strided_metadata" | "memref.extract_aligned_pointer_as_index" => {
                self.pieces(id, |reader| {
                    let operands = reader.types()?;
                    reader.expect("->")?;
                    Ok((operands, reader.types()?))
                })?
            }
            "bufferization.dealloc" => self.conditional_dealloc(id)?,
            "cf.br" | "cf.cond_br" => self.branch(id)?,
            "scf.if" => self.scf_if(id)?,
            "scf.for" => self.scf_for(id)?,
            "scf.while" => self.scf_while(id)?,
            "scf.execute_region" | "memref.alloca_scope" => {
                let types = self.arrow()?;
                let end =
                    if name == "scf.execute_region" { "scf.yield" } else { "memref.alloca_scope.return" };
                self.region(id, false, Vec::new(), Some(end))?;
                let attributes = self.dictionary()?;
                self.program.ops[id.index()].syntax = Syntax::Control(attributes);
                types
            }
            _ => match known(name) {
                Some((results, first)) => self.known(id, results, first)?,
                None => {
                    self.place = start;
                    return self.wrong("an operation of `func`, `cf`, `scf`, `memref` or `arith`, or one in its generic form, its name in quotes");
                }
            },
        };
        Ok((id, types))
    }

    /// `-> T` or `-> (T, T)`, or nothing.
    fn arrow(&mut self) -> Result<Vec<String>> {
        if self.takes("->") { self.types_in_brackets() } else { Ok(Vec::new()) }
    }

    fn function(&mut self, id: OpId) -> Result<Vec<String>> {
        let visibility = if self.sees("@") { String::new() } else { self.word().to_owned() };
        let from = self.place;
        self.expect("@")?;
        if self.sees("\"") {
            self.quoted()?;
        } else if self.word().is_empty() {
            return self.wrong("the name of a function");
        }
        let symbol = self.text[from..self.place].trim().to_owned();
        self.expect("(")?;
        let mut arguments = Vec::new();
        let mut dictionaries = Vec::new();
        let named = self.sees("%");
        while !self.takes(")") {
            let at = self.here();
            if named {
                let (name, _) = self.value_name()?;
                self.expect(":")?;
                let ty = self.ty()?;
                arguments.push((name, ty, at));
                dictionaries.push(self.dictionary()?);
                self.loc()?;
            } else {
                let ty = self.ty()?;
                let dictionary = self.dictionary()?;
                dictionaries.push(format!("{ty} {dictionary}").trim().to_owned());
            }
            if !self.takes(",") && !self.sees(")") {
                return self.wrong("`,` or `)`");
            }
        }
        let mut results = String::new();
        if self.takes("->") {
            self.skip();
            let from = self.place;
            if self.sees("(") {
                self.balanced()?;
            } else {
                self.ty()?;
            }
            self.text[from..self.place].trim().clone_into(&mut results);
        }
        let mut attributes = String::new();
        if self.takes("attributes") {
            attributes = self.dictionary()?;
        }
        self.program.ops[id.index()].syntax =
            Syntax::Function { visibility, symbol, arguments: dictionaries, results, attributes };
        if self.sees("{") {
            if !named && !self.program.function_arguments_are_empty(id) {
                return self.wrong("no body, or arguments with names");
            }
            let region = self.region(id, true, arguments, None)?;
            if self.program.region(region).blocks.is_empty() {
                return self.wrong("a function's body to hold an operation");
            }
        } else if named {
            return self.wrong("the function's body");
        }
        Ok(Vec::new())
    }

    /// Text with operands in it up to the colon, then types, as `types` reads them: of the operands, of the results.
    fn pieces(
        &mut self,
        id: OpId,
        types: impl Fn(&mut Self) -> Result<(Vec<String>, Vec<String>)>,
    ) -> Result<Vec<String>> {
        let (mut pieces, operands) = self.until_colon()?;
        let from = self.place;
        self.expect(":")?;
        let (operand_types, types) = types(self)?;
        self.agree(&operands, &operand_types)?;
        pieces.push(Piece::Text(format!(" {}", self.text[from..self.place].trim())));
        let op = &mut self.program.ops[id.index()];
        op.operands = operands.into_iter().map(|(v, _)| v).collect();
        op.syntax = Syntax::Pieces(pieces);
        Ok(types)
    }

    fn until_colon(&mut self) -> Result<(Vec<Piece>, Operands)> {
        let mut pieces = Vec::new();
        let mut operands = Vec::new();
        let mut depth = 0_u32;
        let mut from = self.place;
        loop {
            let rest = self.rest();
            let Some(c) = rest.chars().next() else { return self.wrong("`:` and a type") };
            match c {
                '%' => {
                    pieces.push(Piece::Text(self.text[from..self.place].to_owned()));
                    let at = self.here();
                    let value = self.operand()?;
                    pieces.push(Piece::Operand(operands.len() as u32));
                    operands.push((value, at));
                    from = self.place;
                    continue;
                }
                '"' => {
                    self.quoted()?;
                    continue;
                }
                '/' if rest.starts_with("//") => return self.wrong("`:` and a type"),
                '(' | '[' | '{' | '<' => depth += 1,
                '-' if rest.starts_with("->") => self.place += 1,
                ')' | ']' | '}' | '>' if depth == 0 => return self.wrong("`:` and a type"),
                ')' | ']' | '}' | '>' => depth -= 1,
                '=' | '^' if depth == 0 => return self.wrong("`:` and a type"),
                ':' if depth == 0 => {
                    let before = &self.text[from..self.place];
                    if !["offset", "sizes", "strides"].iter().any(|word| before.ends_with(word)) {
                        break;
                    }
                }
                _ => {}
            }
            self.place += c.len_utf8();
        }
        let last = self.text[from..self.place].trim_end();
        if !last.is_empty() {
            pieces.push(Piece::Text(last.to_owned()));
        }
        Ok((pieces, operands))
    }

    fn known(&mut self, id: OpId, results: Results, first: Option<u32>) -> Result<Vec<String>> {
        let name = self.program.op(id).name.clone();
        let before = self.place;
        if name == "arith.constant" {
            for word in ["true", "false"] {
                if self.takes(word) {
                    self.program.ops[id.index()].syntax =
                        Syntax::Pieces(vec![Piece::Text(format!(" {word}"))]);
                    return Ok(vec!["i1".to_owned()]);
                }
            }
        }
        self.place = before;
        let (mut pieces, operands) = self.until_colon()?;
        let from = self.place;
        self.expect(":")?;
        let mut types = self.types()?;
        if self.takes("to") || self.takes("into") {
            types.push(self.ty()?);
        }
        pieces.push(Piece::Text(format!(" {}", self.text[from..self.place].trim())));
        if let Some(first) = first {
            let Some((value, at)) = operands.get(first as usize) else {
                let at = self.program.op(id).at;
                return Err(Refusal {
                    at,
                    message: format!("`{name}`, expected at least {} operands", first + 1),
                });
            };
            self.same.push(Same { value: *value, ty: types[0].clone(), at: *at });
        }
        let last = types.pop().expect("one was read");
        let types = match results {
            Results::None => Vec::new(),
            Results::Last => vec![last],
            Results::Element => vec![element(&last)],
            Results::Named(ty) => vec![ty.to_owned()],
        };
        let op = &mut self.program.ops[id.index()];
        op.operands = operands.into_iter().map(|(v, _)| v).collect();
        op.syntax = Syntax::Pieces(pieces);
        Ok(types)
    }

    /// `return`, `scf.yield`, `scf.condition(%c)`: operands, and their types if there are any.
    fn terminator(&mut self, id: OpId) -> Result<Vec<String>> {
        let mut pieces = Vec::new();
        let mut all = Vec::new();
        if self.program.op(id).name == "scf.condition" {
            self.expect("(")?;
            let at = self.here();
            all.push((self.operand()?, at));
            self.expect(")")?;
            self.same.push(Same { value: all[0].0, ty: "i1".to_owned(), at });
            pieces.extend([Piece::Text("(".to_owned()), Piece::Operand(0), Piece::Text(")".to_owned())]);
        }
        let attributes = self.dictionary()?;
        if !attributes.is_empty() {
            pieces.push(Piece::Text(format!(" {attributes}")));
        }
        let operands = self.operands()?;
        if !operands.is_empty() {
            self.expect(":")?;
            let types = self.types()?;
            self.agree(&operands, &types)?;
            for i in 0..operands.len() {
                pieces.push(Piece::Text(if i == 0 { " " } else { ", " }.to_owned()));
                pieces.push(Piece::Operand((all.len() + i) as u32));
            }
            pieces.push(Piece::Text(format!(" : {}", types.join(", "))));
            all.extend(operands);
        }
        let op = &mut self.program.ops[id.index()];
        op.operands = all.into_iter().map(|(v, _)| v).collect();
        op.syntax = Syntax::Pieces(pieces);
        Ok(Vec::new())
    }

    /// `(%a : T) if (%c) retain (%r : T)`: each part may be missing. It gives a truth for each that is retained.
    fn conditional_dealloc(&mut self, id: OpId) -> Result<Vec<String>> {
        let mut pieces = Vec::new();
        let mut all = Vec::new();
        let mut counts = [0; 3];
        for (part, word) in ["", "if", "retain"].into_iter().enumerate() {
            let is_there = if word.is_empty() { self.sees("(") } else { self.takes(word) };
            if !is_there {
                continue;
            }
            self.expect("(")?;
            let operands = self.operands()?;
            let types = if word == "if" {
                vec!["i1".to_owned(); operands.len()]
            } else {
                self.expect(":")?;
                self.types()?
            };
            self.agree(&operands, &types)?;
            self.expect(")")?;
            pieces.push(Piece::Text(if word.is_empty() { " (".to_owned() } else { format!(" {word} (") }));
            counts[part] = operands.len();
            for i in 0..operands.len() {
                if i > 0 {
                    pieces.push(Piece::Text(", ".to_owned()));
                }
                pieces.push(Piece::Operand((all.len() + i) as u32));
            }
            let behind = if word == "if" { String::new() } else { format!(" : {}", types.join(", ")) };
            pieces.push(Piece::Text(format!("{behind})")));
            all.extend(operands.into_iter().map(|(v, _)| v));
        }
        if counts[0] != counts[1] {
            return self
                .wrong(&format!("a condition for each of {} buffers; there are {}", counts[0], counts[1]));
        }
        let op = &mut self.program.ops[id.index()];
        op.operands = all;
        op.syntax = Syntax::Pieces(pieces);
        Ok(vec!["i1".to_owned(); counts[2]])
    }

    fn branch(&mut self, id: OpId) -> Result<Vec<String>> {
        let mut operands = Vec::new();
        let conditional = self.program.op(id).name == "cf.cond_br";
        if conditional {
            let at = self.here();
            let value = self.operand()?;
            self.same.push(Same { value, ty: "i1".to_owned(), at });
            operands.push(value);
            self.expect(",")?;
        }
        let mut successors = Vec::new();
        for i in 0..=u32::from(conditional) {
            if i > 0 {
                self.expect(",")?;
            }
            let block = self.label()?;
            let first = operands.len() as u32;
            if self.takes("(") {
                let passed = self.operands()?;
                if !passed.is_empty() {
                    self.expect(":")?;
                    let types = self.types()?;
                    self.agree(&passed, &types)?;
                }
                operands.extend(passed.into_iter().map(|(v, _)| v));
                self.expect(")")?;
            }
            successors.push(Successor { block, first, count: operands.len() as u32 - first });
        }
        let attributes = self.dictionary()?;
        let op = &mut self.program.ops[id.index()];
        op.operands = operands;
        op.successors = successors;
        op.syntax = Syntax::Control(attributes);
        Ok(Vec::new())
    }

    fn scf_if(&mut self, id: OpId) -> Result<Vec<String>> {
        let at = self.here();
        let condition = self.operand()?;
        self.same.push(Same { value: condition, ty: "i1".to_owned(), at });
        self.program.ops[id.index()].operands = vec![condition];
        let types = self.arrow()?;
        self.region(id, false, Vec::new(), Some("scf.yield"))?;
        if self.takes("else") {
            self.region(id, false, Vec::new(), Some("scf.yield"))?;
        } else {
            self.new_region(id);
        }
        let attributes = self.dictionary()?;
        self.program.ops[id.index()].syntax = Syntax::Control(attributes);
        Ok(types)
    }

    /// `%a = %b, ...`, in brackets: names of arguments and what they begin with.
    fn carried(&mut self) -> Result<(Vec<(String, Position)>, Operands)> {
        let mut names = Vec::new();
        let mut values = Vec::new();
        self.expect("(")?;
        while !self.takes(")") {
            let at = self.here();
            let (name, _) = self.value_name()?;
            names.push((name, at));
            self.expect("=")?;
            let at = self.here();
            values.push((self.operand()?, at));
            if !self.takes(",") && !self.sees(")") {
                return self.wrong("`,` or `)`");
            }
        }
        Ok((names, values))
    }

    fn scf_for(&mut self, id: OpId) -> Result<Vec<String>> {
        let at = self.here();
        let (induction, _) = self.value_name()?;
        self.expect("=")?;
        let mut bounds = vec![(self.operand()?, at)];
        for word in ["to", "step"] {
            self.expect(word)?;
            bounds.push((self.operand()?, at));
        }
        let mut names = Vec::new();
        let mut values = Vec::new();
        let mut types = Vec::new();
        if self.takes("iter_args") {
            (names, values) = self.carried()?;
            types = self.arrow()?;
        }
        let kind = if self.takes(":") { self.ty()? } else { "index".to_owned() };
        self.agree(&values, &types)?;
        for (value, at) in &bounds {
            self.same.push(Same { value: *value, ty: kind.clone(), at: *at });
        }
        self.program.ops[id.index()].operands = bounds.iter().chain(&values).map(|(v, _)| *v).collect();
        let mut arguments = vec![(induction, kind, at)];
        arguments.extend(names.into_iter().zip(&types).map(|((name, at), ty)| (name, ty.clone(), at)));
        self.region(id, false, arguments, Some("scf.yield"))?;
        let attributes = self.dictionary()?;
        self.program.ops[id.index()].syntax = Syntax::Control(attributes);
        Ok(types)
    }

    fn scf_while(&mut self, id: OpId) -> Result<Vec<String>> {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        if self.sees("(") {
            (names, values) = self.carried()?;
        }
        self.expect(":")?;
        let (operand_types, types) = self.function_type()?;
        self.agree(&values, &operand_types)?;
        self.program.ops[id.index()].operands = values.into_iter().map(|(v, _)| v).collect();
        let arguments = names.into_iter().zip(operand_types).map(|((name, at), ty)| (name, ty, at)).collect();
        self.region(id, false, arguments, None)?;
        self.expect("do")?;
        self.region(id, false, Vec::new(), Some("scf.yield"))?;
        let mut attributes = String::new();
        if self.takes("attributes") {
            attributes = self.dictionary()?;
        }
        self.program.ops[id.index()].syntax = Syntax::Control(attributes);
        Ok(types)
    }
}

impl Program {
    fn function_arguments_are_empty(&self, id: OpId) -> bool {
        matches!(&self.op(id).syntax, Syntax::Function { arguments, .. } if arguments.is_empty())
    }
}

/// The numbers of `operand_segment_sizes = array<i32: 1, 0, 2>`, or as a property, `operandSegmentSizes`.
fn segments(text: &str) -> Option<Vec<u32>> {
    let at = ["operand_segment_sizes", "operandSegmentSizes"]
        .iter()
        .find_map(|w| text.find(w).map(|i| i + w.len()))?;
    let inside = text[at..].split_once("array<i32")?.1.split_once('>')?.0;
    let numbers = inside.trim_start().strip_prefix(':')?;
    numbers.split(',').map(|n| n.trim().parse().ok()).collect()
}

/// The type of the elements of a buffer.
fn element(ty: &str) -> String {
    let inside = ty.strip_prefix("memref<").and_then(|t| t.strip_suffix('>')).unwrap_or(ty);
    let mut depth = 0_i32;
    let end = inside.char_indices().find(|(_, c)| {
        depth += i32::from(matches!(c, '<' | '(' | '[')) - i32::from(matches!(c, '>' | ')' | ']'));
        *c == ',' && depth == 0
    });
    let mut shape = inside[..end.map_or(inside.len(), |(i, _)| i)].trim();
    while let Some((first, rest)) = shape.split_once('x')
        && (first == "?" || first == "*" || !first.is_empty() && first.bytes().all(|b| b.is_ascii_digit()))
    {
        shape = rest;
    }
    shape.to_owned()
}

/// The types in what a function says it returns, without blanks and without their attributes.
pub(crate) fn types_of(results: &str) -> Vec<String> {
    let mut reader = Reader {
        text: results,
        place: 0,
        program: Program::empty(),
        scopes: Vec::new(),
        same: Vec::new(),
        counted: (0, START),
    };
    let mut out = Vec::new();
    let brackets = reader.takes("(");
    while !reader.here_is_end() && !reader.sees(")") {
        let Ok(ty) = reader.ty() else { break };
        out.push(squeezed(&ty));
        if reader.dictionary().is_err() || !brackets || !reader.takes(",") {
            break;
        }
    }
    out
}
