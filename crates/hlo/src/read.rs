//! The reader of HLO text.
//!
//! One pass over the bytes, without recursion: what is open stands on explicit stacks. Names, attributes and literals
//! stay where they are in the text; only shapes are understood in full.

mod finish;
mod locate;
mod scan;
mod sniff;

use crate::known::{is_known_attribute, stays_with_async};
use crate::module::{Attribute, Computation, ComputationId, Instruction, InstructionId, Module, Slice, Span};
use crate::text::quote;
use crate::{Diagnostic, Opcode, Severity, Shape, ShapeId, Shapes};
pub(crate) use locate::Remarks;
use locate::locate;
use scan::span;
use smallvec::SmallVec;
use sorts::Arrange as _;
use std::collections::{HashMap, HashSet};

/// What came of reading a module.
#[derive(Debug)]
pub struct Read {
    /// The module, if there is an entry computation with a root; perhaps in part only, if there are errors.
    pub module: Option<Module>,
    /// What is to be said of the text, in the order of the text; at most some 150 remarks.
    pub diagnostics: Vec<Diagnostic>,
}

impl Read {
    /// Is anything wrong with the text, so that the module may be incomplete?
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }

    /// The module, if nothing is wrong with it; else what is.
    pub fn complete(self) -> Result<Module, Vec<Diagnostic>> {
        match self.module {
            Some(module) if !self.diagnostics.iter().any(|d| d.severity == Severity::Error) => Ok(module),
            _ => Err(self.diagnostics),
        }
    }
}

/// Reads a module from its text, as XLA dumps it or as a person writes it.
///
/// Takes all that XLA's own parser takes, and some that is newer or looser, with a warning.
/// Time and memory are linear in the text.
#[must_use]
pub fn read(text: &str) -> Read {
    read_owned(text.to_owned())
}

/// [`read`], for a text that need not be copied.
#[must_use]
pub fn read_owned(text: String) -> Read {
    read_with(text, Vec::new())
}

/// [`read`], for bytes that may not be text: what is no UTF-8 is an error, and the rest is still read.
#[must_use]
pub fn read_bytes(bytes: &[u8]) -> Read {
    if let Some(what) = sniff::binary(bytes) {
        let mut remarks = Remarks::default();
        remarks.error(0, what.0, what.1);
        return Read { module: None, diagnostics: locate("", None, remarks) };
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => read_owned(text.to_owned()),
        Err(error) => {
            let at = error.valid_up_to();
            let byte = bytes.get(at).copied().unwrap_or(0);
            let first = (at, format!("the byte 0x{byte:02x}"), "expected UTF-8".to_owned());
            read_with(String::from_utf8_lossy(bytes).into_owned(), vec![first])
        }
    }
}

/// `early`: errors found before, as offset, what was read, what was expected.
fn read_with(text: String, early: Vec<(usize, String, String)>) -> Read {
    let mut remarks = Remarks::default();
    for (at, read, expected) in early {
        remarks.error(at, read, expected);
    }
    // Spans are `u32`, and the sentinel below must stay free.
    if u32::try_from(text.len()).is_err() || text.len() > u32::MAX as usize - (1 << 20) {
        remarks.error(0, "a text of more than 4 GiB", "expected a smaller one");
        return Read { module: None, diagnostics: locate("", None, remarks) };
    }
    if let Some(at) = text.bytes().position(|b| b == 0) {
        remarks.error(at, "a NUL byte", "expected text");
    }
    let original = text;
    let stripped = sniff::strip_log_prefixes(&original);
    if stripped.is_some() {
        remarks.warning(0, "lines of a log", "reading what stands behind the log's prefix");
    }
    let (parts, mut remarks) = {
        let text = stripped.as_deref().unwrap_or(&original);
        let mut reader = Reader::new(text, remarks);
        if reader.is_module_text() {
            reader.module();
        }
        reader.finish()
    };
    let (text, original) = match stripped {
        Some(stripped) => (stripped, Some(original)),
        None => (original, None),
    };
    let Some((mut module, extra)) = parts else {
        return Read { module: None, diagnostics: locate(&text, original.as_deref(), remarks) };
    };
    let source_len = text.len();
    module.text = text;
    module.text.push_str(&extra);
    // Where something is missing already, what contradicts it is no news.
    if !remarks.any_error() {
        crate::check::check(&module, source_len, &mut remarks);
    }
    let diagnostics = locate(&module.text[..source_len], original.as_deref(), remarks);
    Read { module: Some(module), diagnostics }
}

/// Something is wrong, and has been said.
struct Said;

type Step<T> = Result<T, Said>;

/// Nested computations, `calls={...}`, may be nested this deep.
const MAX_NESTED: usize = 100;

/// The value of an attribute that names a computation which has no name yet; `len` is the computation's number.
const UNNAMED: u32 = u32::MAX;

/// An instruction whose attributes are not all read.
struct Partial {
    name: Span,
    root: bool,
    opcode_name: Span,
    opcode: Opcode,
    /// For `slice-start` and its like: the operation inside.
    wrapped: Option<Opcode>,
    payload: Span,
    /// A parameter's number and where it stands.
    number: Option<(u32, u32)>,
    shape: ShapeId,
    operands: Slice,
    control_predecessors: Slice,
    /// With XLA's rank: body before condition.
    called: SmallVec<[(u8, Callee); 2]>,
    attributes_from: usize,
}

#[derive(Clone, Copy)]
enum Callee {
    Known(ComputationId),
    /// The name, for a computation that may come later.
    Named(Span),
}

/// A computation that is being read.
struct Frame<'t> {
    name: Option<Span>,
    at: usize,
    entry: bool,
    braced: bool,
    instructions: Vec<InstructionId>,
    root: Option<InstructionId>,
    /// Number, instruction and where the number stands.
    parameters: Vec<(u32, InstructionId, u32)>,
    names: HashMap<&'t str, InstructionId>,
    /// Names whose instruction could not be read: nothing more is said of those who use it.
    broken: HashSet<&'t str>,
    /// Elements of tuples taken by `p#0`.
    taken: HashMap<(InstructionId, u32), InstructionId>,
    /// Made-up instructions, which get a name when all names are known: themselves, and what to call them.
    unnamed: Vec<(InstructionId, String)>,
    /// Operands that were not found: the remark's number, and the name.
    missing: Vec<(usize, &'t str)>,
    /// The instruction that has this computation in an attribute of this name.
    host: Option<(Partial, Span)>,
}

impl Frame<'_> {
    fn new(name: Option<Span>, at: usize, entry: bool, braced: bool) -> Self {
        Self {
            name,
            at,
            entry,
            braced,
            instructions: Vec::new(),
            root: None,
            parameters: Vec::new(),
            names: HashMap::new(),
            broken: HashSet::new(),
            taken: HashMap::new(),
            unnamed: Vec::new(),
            missing: Vec::new(),
            host: None,
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    remarks: Remarks,
    /// False once something opened was never closed: from then on, things must close on their own line. Else a text of
    /// many open brackets would be searched to its end for each.
    many_lines: bool,
    /// Where what was read last ends, before white space and comments.
    last_end: usize,
    /// Text made here; its spans start behind the source's.
    extra: String,
    name: Span,
    header: Vec<Attribute>,
    tables: Span,
    shapes: Shapes,
    computations: Vec<Computation>,
    computation_ids: HashMap<&'t str, ComputationId>,
    broken_computations: HashSet<&'t str>,
    entry: Option<ComputationId>,
    instructions: Vec<Instruction>,
    operand_pool: Vec<InstructionId>,
    operand_stack: Vec<InstructionId>,
    called_pool: Vec<ComputationId>,
    attribute_pool: Vec<Attribute>,
    attribute_stack: Vec<Attribute>,
    /// Calls of computations that had not been read: the caller, where in `called_pool`, and the name.
    later: Vec<(InstructionId, u32, Span)>,
    /// Computations without a name, and what to call them.
    unnamed: Vec<(ComputationId, String)>,
    frames: Vec<Frame<'t>>,
    brackets: Vec<(u8, u32)>,
    unknown: HashSet<&'t str>,
    said_compact: bool,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, remarks: Remarks) -> Self {
        let lines = text.bytes().filter(|b| *b == b'\n').count() + 1;
        let guess = lines.min(text.len() / 16 + 1);
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            remarks,
            many_lines: true,
            last_end: 0,
            extra: String::new(),
            name: Span::default(),
            header: Vec::new(),
            tables: Span::default(),
            shapes: Shapes::with_weight_limit((1 << 26) + 4 * text.len() as u64),
            computations: Vec::new(),
            computation_ids: HashMap::new(),
            broken_computations: HashSet::new(),
            entry: None,
            instructions: Vec::with_capacity(guess),
            operand_pool: Vec::with_capacity(guess),
            operand_stack: Vec::new(),
            called_pool: Vec::new(),
            attribute_pool: Vec::with_capacity(guess),
            attribute_stack: Vec::new(),
            later: Vec::new(),
            unnamed: Vec::new(),
            frames: Vec::new(),
            brackets: Vec::new(),
            unknown: HashSet::new(),
            said_compact: false,
        }
    }

    // ---- The module ----

    fn module(&mut self) {
        self.skip_space();
        if self.at_word("HloModule") {
            self.at += "HloModule".len();
            if self.header().is_err() {
                self.skip_line();
            }
        }
        self.skip_space();
        self.tables();
        loop {
            self.skip_space();
            if self.at >= self.bytes.len() {
                break;
            }
            if self.at_word("HloModule") {
                self.remarks.error(self.at, "a second `HloModule`", "expected one module in a file");
                break;
            }
            if self.computation_start().is_err() {
                self.skip_line();
                continue;
            }
            self.body();
        }
    }

    fn header(&mut self) -> Step<()> {
        self.skip_blanks();
        let start = self.at;
        while self.peek().is_some_and(|b| !b.is_ascii_whitespace() && b != b',') {
            self.at += 1;
        }
        self.name = span(start, self.at);
        if self.at == start {
            return self.unexpected("expected the module's name");
        }
        loop {
            self.skip_space();
            if !self.eat(b',') {
                return Ok(());
            }
            self.skip_space();
            let name = self.attribute_name()?;
            let value = self.value()?;
            self.header.push(Attribute { name, value });
        }
    }

    /// `FileNames`, `FunctionNames`, `FileLocations`, `StackFrames`: lines of numbers, kept as they are.
    fn tables(&mut self) {
        let start = self.at;
        let mut end = self.at;
        loop {
            self.skip_space();
            let line = self.line();
            let is_title = matches!(line, "FileNames" | "FunctionNames" | "FileLocations" | "StackFrames");
            let is_row = end > start && line.starts_with(|c: char| c.is_ascii_digit());
            if !is_title && !is_row {
                break;
            }
            end = self.at + line.len();
            // A file's name may hold a line's end.
            if is_row && line.bytes().filter(|b| *b == b'"').count() % 2 == 1 {
                let from = self.at + line.find('"').unwrap_or(0);
                match self.string_end(from) {
                    Some(close) => end = close,
                    None => self.many_lines = false,
                }
            }
            self.at = end;
        }
        self.at = end;
        self.tables = span(start, end);
    }

    /// `ENTRY %name (signature) -> shape {`, or the first instruction of a computation without braces.
    fn computation_start(&mut self) -> Step<()> {
        let start = self.at;
        let entry = self.at_word("ENTRY");
        if entry {
            self.at += "ENTRY".len();
            self.skip_space();
        }
        if !entry && self.at_word("ROOT") {
            self.frames.push(Frame::new(None, start, false, false));
            return Ok(());
        }
        let name_at = self.at;
        let name = if self.peek() == Some(b'{') && entry { Span::default() } else { self.name()? };
        self.skip_space();
        match self.peek() {
            Some(b'=') if !entry => {
                self.at = start;
                self.frames.push(Frame::new(None, start, false, false));
                return Ok(());
            }
            Some(b'(') => {
                self.balanced()?;
                self.skip_space();
                if self.bytes[self.at..].starts_with(b"->") {
                    self.at += 2;
                    self.skip_space();
                    self.shape_extent()?;
                }
            }
            _ => {}
        }
        self.skip_space();
        if !self.eat(b'{') {
            return self.unexpected("expected `{` and a computation's instructions");
        }
        let key = self.str(name);
        if self.computation_ids.contains_key(key) || self.broken_computations.contains(key) {
            self.remarks.error(
                name_at,
                format!("a second computation {}", quote(key)),
                "expected another name",
            );
        }
        if entry && self.entry.is_some() {
            self.remarks.error(start, "a second `ENTRY`", "expected one in a module");
        }
        let name = Some(name).filter(|n| n.len > 0);
        self.frames.push(Frame::new(name, name_at, entry, true));
        Ok(())
    }

    // ---- Computations ----

    /// The instructions of the open computation and of those nested in it.
    fn body(&mut self) {
        while let Some(frame) = self.frames.last() {
            let (braced, name) = (frame.braced, frame.name);
            self.skip_space();
            match self.peek() {
                None => {
                    if braced {
                        let what = name.map_or_else(String::new, |n| format!(" {}", quote(self.str(n))));
                        self.remarks.error(
                            self.at,
                            format!("the end of the text inside computation{what}"),
                            "expected `}`",
                        );
                    }
                    self.abandon();
                    return;
                }
                Some(b'}') if braced => {
                    self.at += 1;
                    if self.close().is_err() {
                        self.skip_line();
                    }
                }
                _ => {
                    let start = self.at;
                    let before = self.attribute_stack.len();
                    match self.instruction() {
                        Ok(true) => {}
                        // Another computation begins.
                        Ok(false) => {
                            if braced {
                                self.remarks.error(
                                    start,
                                    "the start of a computation",
                                    "expected `}` before it",
                                );
                            }
                            self.at = start;
                            self.abandon();
                            return;
                        }
                        Err(Said) => {
                            self.attribute_stack.truncate(before);
                            self.operand_stack.clear();
                            self.skip_line();
                        }
                    }
                }
            }
        }
    }

    /// Closes all that is open, as far as it can be closed.
    fn abandon(&mut self) {
        while let Some(mut frame) = self.frames.pop() {
            let host = frame.host.take();
            let id = self.add_computation(frame, host.is_some());
            if let Some((mut partial, name)) = host {
                self.attach(&mut partial, name, id);
                _ = self.add_instruction(partial);
            }
        }
    }

    /// Behind a computation's `}`.
    fn close(&mut self) -> Step<()> {
        let Some(mut frame) = self.frames.pop() else { return Ok(()) };
        if let Some((mut partial, name)) = frame.host.take() {
            let id = self.add_computation(frame, true);
            self.attach(&mut partial, name, id);
            return self.attributes(partial);
        }
        let id = self.add_computation(frame, false);
        let start = self.attribute_pool.len();
        loop {
            self.skip_space();
            if !self.eat(b',') {
                return Ok(());
            }
            self.skip_space();
            let name = self.attribute_name()?;
            let value = self.value()?;
            if let Some(id) = id {
                self.attribute_pool.push(Attribute { name, value });
                self.computations[id.index()].attributes = slice(start, self.attribute_pool.len());
            }
        }
    }

    fn attach(&mut self, partial: &mut Partial, name: Span, id: Option<ComputationId>) {
        let Some(id) = id else { return };
        let rank = call_rank(self.str(name), partial.opcode).unwrap_or(0);
        partial.called.push((rank, Callee::Known(id)));
        self.attribute_stack.push(Attribute { name, value: Span { start: UNNAMED, len: id.0 } });
        let what = format!("{}.nested", self.str(partial.name));
        self.unnamed.push((id, what));
    }

    fn add_computation(&mut self, mut frame: Frame<'t>, nested: bool) -> Option<ComputationId> {
        let Some(root) = frame.root.or(frame.instructions.last().copied()) else {
            // Something has been said of instructions that could not be read.
            if frame.broken.is_empty() {
                self.remarks.error(frame.at, "a computation without instructions", "expected at least one");
            }
            if let Some(name) = frame.name {
                self.broken_computations.insert(self.str(name));
            }
            return None;
        };
        frame.parameters.arrange_by_key(|p| (p.0, p.1));
        let mut parameters = Vec::with_capacity(frame.parameters.len());
        let mut expected = 0;
        for &(number, id, at) in &frame.parameters {
            let read = match number.cmp(&expected) {
                std::cmp::Ordering::Equal => {
                    parameters.push(id);
                    expected += 1;
                    continue;
                }
                std::cmp::Ordering::Less => format!("parameter {number} a second time"),
                std::cmp::Ordering::Greater => format!("parameter {number}"),
            };
            // The numbers behind a gap are all wrong, but one remark says it.
            let gap = number > expected;
            let expected = if gap {
                format!("expected a parameter {expected} beside it")
            } else {
                "expected each number once".to_owned()
            };
            self.remarks.error(at as usize, read, expected);
            if gap {
                break;
            }
        }
        for (number, name) in &frame.missing {
            if frame.names.contains_key(name) {
                self.remarks.expect(*number, "expected its definition above, not below");
            }
        }
        self.name_instructions(&frame);
        let id = ComputationId(self.computations.len() as u32);
        for i in &frame.instructions {
            self.instructions[i.index()].computation = id;
        }
        let name = frame.name.unwrap_or_default();
        self.computations.push(Computation {
            name,
            instructions: frame.instructions,
            root,
            parameters,
            attributes: Slice::default(),
        });
        if frame.entry && self.entry.is_none() {
            self.entry = Some(id);
        }
        if frame.name.is_some() {
            self.computation_ids.entry(self.str(name)).or_insert(id);
        } else if !nested {
            self.unnamed.push((id, "main".to_owned()));
            self.entry.get_or_insert(id);
        }
        Some(id)
    }

    /// Instructions made up for `p#0` get names that no other has.
    fn name_instructions(&mut self, frame: &Frame<'t>) {
        let mut count = 0_u32;
        for (id, what) in &frame.unnamed {
            let mut name = what.clone();
            while frame.names.contains_key(name.as_str()) {
                count += 1;
                name = format!("{what}.{count}");
            }
            self.instructions[id.index()].name = self.make(&name);
        }
    }

    // ---- Instructions ----

    /// One instruction; false if this is the start of another computation.
    fn instruction(&mut self) -> Step<bool> {
        let mut root = false;
        let root_at = self.at;
        if self.at_word("ROOT") {
            self.at += "ROOT".len();
            self.skip_space();
            root = true;
        } else if self.at_word("ENTRY") || self.at_word("HloModule") {
            return Ok(false);
        }
        let name = self.name()?;
        self.skip_space();
        match self.peek() {
            Some(b'=') => self.at += 1,
            Some(b'(' | b'{') if !root && self.frames.len() == 1 => return Ok(false),
            _ => return self.unexpected("expected `=` after the instruction's name"),
        }
        let text = self.text;
        let key = text.get(name.start as usize..(name.start + name.len) as usize).unwrap_or("");
        let result = self.right_side(name, root, root_at);
        if result.is_err()
            && let Some(frame) = self.frames.last_mut()
        {
            frame.broken.insert(key);
        }
        result.map(|()| true)
    }

    fn right_side(&mut self, name: Span, root: bool, root_at: usize) -> Step<()> {
        self.skip_space();
        let shape = self.shape()?;
        self.skip_space();
        let opcode_at = self.at;
        let opcode_name = self.word("expected an operation, for example `add`")?;
        let opcode_text = self.str(opcode_name);
        let (opcode, wrapped) = self.opcode(opcode_text, opcode_at);
        self.skip_space();
        if self.peek() != Some(b'(') {
            return self.unexpected("expected `(` after the operation");
        }
        let mut payload = Span::default();
        let mut parameter = None;
        let mut operands = Slice::default();
        match opcode {
            Opcode::Constant => payload = self.balanced()?,
            Opcode::Parameter => {
                let at = self.at + 1;
                payload = self.balanced()?;
                let digits = Some(self.str(payload)).filter(|p| p.bytes().all(|b| b.is_ascii_digit()));
                let number = digits.and_then(|p| p.parse::<u32>().ok());
                let Some(number) = number else {
                    self.remarks.error(at, quote(self.str(payload)), "expected the parameter's number");
                    return Err(Said);
                };
                parameter = Some((number, at as u32));
            }
            _ => operands = self.operands()?,
        }
        if root
            && let Some(frame) = self.frames.last()
            && frame.root.is_some()
        {
            self.remarks.error(root_at, "a second `ROOT`", "expected one in a computation");
        }
        self.attributes(Partial {
            name,
            root,
            opcode_name,
            opcode,
            wrapped,
            payload,
            number: parameter,
            shape,
            operands,
            control_predecessors: Slice::default(),
            called: SmallVec::new(),
            attributes_from: self.attribute_stack.len(),
        })
    }

    fn opcode(&mut self, name: &'t str, at: usize) -> (Opcode, Option<Opcode>) {
        let opcode = Opcode::from_name(name);
        if opcode != Opcode::Unknown {
            return (opcode, None);
        }
        let suffixes =
            [("-start", Opcode::AsyncStart), ("-update", Opcode::AsyncUpdate), ("-done", Opcode::AsyncDone)];
        for (suffix, asynchronous) in suffixes {
            if let Some(inside) = name.strip_suffix(suffix).map(Opcode::from_name)
                && inside != Opcode::Unknown
            {
                return (asynchronous, Some(inside));
            }
        }
        if self.unknown.insert(name) {
            self.remarks.warning(
                at,
                format!("an unknown operation {}", quote(name)),
                "kept as it is; what it does to memory is not known",
            );
        }
        (Opcode::Unknown, None)
    }

    fn operands(&mut self) -> Step<Slice> {
        self.at += 1;
        self.operand_stack.clear();
        self.skip_space();
        if !self.eat(b')') {
            loop {
                self.operand()?;
                self.skip_space();
                if self.eat(b',') {
                    self.skip_space();
                } else if self.eat(b')') {
                    break;
                } else {
                    return self.unexpected("expected `,` or `)` after the operand");
                }
            }
        }
        let start = self.operand_pool.len();
        self.operand_pool.append(&mut self.operand_stack);
        Ok(slice(start, self.operand_pool.len()))
    }

    fn operand(&mut self) -> Step<()> {
        let shape_at = self.at;
        let mut shape = None;
        if self.peek() != Some(b'%') && self.starts_shape() {
            shape = Some(self.shape()?);
            self.skip_space();
        }
        let at = self.at;
        let name = self.name()?;
        let key = self.str(name);
        if self.peek() == Some(b'(') {
            self.remarks.error(at, "an instruction inside an operand", "expected it on a line of its own");
            return Err(Said);
        }
        let frame = self.frames.last();
        let Some(mut id) = frame.and_then(|f| f.names.get(key).copied()) else {
            if !frame.is_some_and(|f| f.broken.contains(key)) {
                let read = format!("the operand {}", quote(key));
                let number = self.remarks.error(at, read, "expected an instruction from above");
                if let Some(frame) = self.frames.last_mut() {
                    frame.missing.extend(number.map(|n| (n, key)));
                }
            }
            while self.peek() == Some(b'#') {
                self.at += 1;
                while self.peek().is_some_and(|b| b.is_ascii_digit()) {
                    self.at += 1;
                }
            }
            return Ok(());
        };
        while self.peek() == Some(b'#') {
            self.at += 1;
            id = self.element(id)?;
        }
        if let Some(shape) = shape {
            let defined = self.instructions[id.index()].shape;
            if shape != defined && self.shapes.short(shape) != self.shapes.short(defined) {
                let (read, expected) = (self.shapes.short(shape), self.shapes.short(defined));
                let read = format!("the shape {}", quote(read));
                let expected = format!("the instruction itself has {}", quote(expected));
                self.remarks.warning(shape_at, read, expected);
            }
        }
        self.operand_stack.push(id);
        Ok(())
    }

    /// `p#0`, behind the `#`: newer XLA's way to write a `get-tuple-element`, which is made here.
    fn element(&mut self, tuple: InstructionId) -> Step<InstructionId> {
        let at = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        let digits = span(at, self.at);
        let Ok(number) = self.str(digits).parse::<u32>() else {
            return self.unexpected("expected the number of a tuple's element");
        };
        if let Some(id) = self.frames.last().and_then(|f| f.taken.get(&(tuple, number))) {
            return Ok(*id);
        }
        let shape = match self.shapes.get(self.instructions[tuple.index()].shape) {
            Shape::Tuple(elements) => elements.get(number as usize).copied(),
            _ => None,
        };
        let Some(shape) = shape else {
            let what = self.str(self.instructions[tuple.index()].name).to_owned();
            self.remarks.error(
                at,
                format!("element {number}"),
                format!("expected an element of {}", quote(&what)),
            );
            return Err(Said);
        };
        if !self.said_compact {
            self.said_compact = true;
            self.remarks.warning(
                at - 1,
                "a tuple's element written `NAME#NUMBER`",
                "read as a `get-tuple-element`, as older XLA writes it",
            );
        }
        let start = self.operand_pool.len();
        self.operand_pool.push(tuple);
        let name = self.make("index");
        let attributes = self.attribute_pool.len();
        self.attribute_pool.push(Attribute { name, value: digits });
        let id = InstructionId(self.instructions.len() as u32);
        let opcode_name = self.make("get-tuple-element");
        let what = self.instructions[tuple.index()].name;
        let what = if what.len == 0 { "element".to_owned() } else { format!("{}.{number}", self.str(what)) };
        self.instructions.push(Instruction {
            name: Span::default(),
            opcode_name,
            payload: Span::default(),
            text: Span::default(),
            opcode: Opcode::GetTupleElement,
            shape,
            computation: ComputationId(u32::MAX),
            operands: slice(start, start + 1),
            control_predecessors: Slice::default(),
            called: Slice::default(),
            attributes: slice(attributes, attributes + 1),
        });
        if let Some(frame) = self.frames.last_mut() {
            frame.taken.insert((tuple, number), id);
            frame.unnamed.push((id, what));
            frame.instructions.push(id);
        }
        Ok(id)
    }

    /// `, name=value` until there is no more; suspended where the value is a computation in braces.
    fn attributes(&mut self, mut partial: Partial) -> Step<()> {
        loop {
            match self.attribute(&mut partial) {
                Ok(Next::More) => {}
                Ok(Next::End) => return self.add_instruction(partial),
                Ok(Next::Nested(name)) => {
                    let mut frame = Frame::new(None, self.at, false, true);
                    frame.host = Some((partial, name));
                    self.frames.push(frame);
                    return Ok(());
                }
                Err(Said) => {
                    // What was read of it serves those who use it.
                    self.skip_line();
                    return self.add_instruction(partial);
                }
            }
        }
    }

    fn attribute(&mut self, partial: &mut Partial) -> Step<Next> {
        self.last_end = self.at;
        self.skip_space();
        if !self.eat(b',') {
            return Ok(Next::End);
        }
        self.skip_space();
        let at = self.at;
        let name = self.attribute_name()?;
        let key = self.str(name);
        let rank = call_rank(key, partial.opcode);
        if rank.is_some() && self.peek() == Some(b'{') {
            let brace = self.at;
            self.at += 1;
            if self.starts_instruction() {
                if self.frames.len() > MAX_NESTED {
                    self.remarks.error(brace, "computations in computations", "expected at most 100 levels");
                    return Err(Said);
                }
                return Ok(Next::Nested(name));
            }
            self.at = brace;
        }
        let value = self.value()?;
        self.attribute_stack.push(Attribute { name, value });
        if let Some(rank) = rank {
            self.callees(partial, rank, value)?;
        } else if key == "control-predecessors" {
            self.control_predecessors(partial, value);
        } else if !is_known_attribute(key) && self.unknown.insert(key) {
            self.remarks.warning(at, format!("an unknown attribute {}", quote(key)), "kept as it is");
        }
        Ok(Next::More)
    }

    /// `%a`, `a`, `{%a, %b}`, `{}`.
    fn callees(&mut self, partial: &mut Partial, rank: u8, value: Span) -> Step<()> {
        for (at, name) in self.names_in(value)? {
            let name = span(at, at + name.len());
            let callee = self.computation_ids.get(self.str(name)).copied();
            partial.called.push((rank, callee.map_or(Callee::Named(name), Callee::Known)));
        }
        Ok(())
    }

    fn control_predecessors(&mut self, partial: &mut Partial, value: Span) {
        let Ok(names) = self.names_in(value) else { return };
        let start = self.operand_pool.len();
        for (at, name) in names {
            let frame = self.frames.last();
            if let Some(id) = frame.and_then(|f| f.names.get(name).copied()) {
                self.operand_pool.push(id);
            } else if !frame.is_some_and(|f| f.broken.contains(name)) {
                let read = format!("the control predecessor {}", quote(name));
                self.remarks.error(at, read, "expected an instruction from above");
            }
        }
        partial.control_predecessors = slice(start, self.operand_pool.len());
    }

    fn add_instruction(&mut self, mut partial: Partial) -> Step<()> {
        let text = self.text_behind(partial.name);
        if partial.opcode == Opcode::AsyncStart
            && let Some(inside) = partial.wrapped
        {
            self.wrap(&mut partial, inside)?;
        }
        let id = InstructionId(self.instructions.len() as u32);
        let called_from = self.called_pool.len();
        partial.called.arrange_by_key(|c| c.0);
        for (_, callee) in &partial.called {
            match *callee {
                Callee::Known(id) => self.called_pool.push(id),
                Callee::Named(name) => {
                    self.later.push((id, self.called_pool.len() as u32, name));
                    self.called_pool.push(ComputationId(u32::MAX));
                }
            }
        }
        let attributes_from = self.attribute_pool.len();
        self.attribute_pool.extend(self.attribute_stack.drain(partial.attributes_from..));
        self.instructions.push(Instruction {
            name: partial.name,
            opcode_name: partial.opcode_name,
            payload: partial.payload,
            text,
            opcode: partial.opcode,
            shape: partial.shape,
            computation: ComputationId(u32::MAX),
            operands: partial.operands,
            control_predecessors: partial.control_predecessors,
            called: slice(called_from, self.called_pool.len()),
            attributes: slice(attributes_from, self.attribute_pool.len()),
        });
        let key = self.str(partial.name);
        if let Some(frame) = self.frames.last_mut() {
            frame.instructions.push(id);
            if let Some((number, at)) = partial.number {
                frame.parameters.push((number, id, at));
            }
            if partial.root && frame.root.is_none() {
                frame.root = Some(id);
            }
            match frame.names.entry(key) {
                std::collections::hash_map::Entry::Vacant(entry) => _ = entry.insert(id),
                std::collections::hash_map::Entry::Occupied(_) => {
                    let at = (partial.name.start as usize).saturating_sub(usize::from(
                        self.bytes.get((partial.name.start as usize).wrapping_sub(1)) == Some(&b'%'),
                    ));
                    let read = format!("a second instruction {}", quote(key));
                    self.remarks.error(at, read, "expected another name");
                }
            }
        }
        Ok(())
    }

    /// `slice-start(%p), slice={[0:2]}`: makes the computation that XLA makes of it, and leaves
    /// `async-start(%p), calls=%it`.
    fn wrap(&mut self, partial: &mut Partial, inside: Opcode) -> Step<()> {
        let calls =
            self.attribute_stack[partial.attributes_from..].iter().any(|a| self.str(a.name) == "calls");
        let opcode_name = self.make("async-start");
        if calls && !matches!(inside, Opcode::Fusion | Opcode::Call | Opcode::CustomCall) {
            partial.opcode_name = opcode_name;
            return Ok(());
        }
        let shape = match self.shapes.get(partial.shape) {
            Shape::Tuple(elements) => elements.get(1).copied(),
            _ => None,
        };
        let Some(shape) = shape else {
            let at = partial.opcode_name.start as usize;
            let read = format!(
                "{} of shape {}",
                quote(self.str(partial.opcode_name)),
                quote(self.shapes.short(partial.shape))
            );
            self.remarks.error(at, read, "expected a tuple of operands, result and contexts");
            self.attribute_stack.truncate(partial.attributes_from);
            self.at = self.last_end;
            return Err(Said);
        };
        let id = ComputationId(self.computations.len() as u32);
        let mut instructions = Vec::with_capacity(partial.operands.len as usize + 1);
        let parameter = self.make("parameter");
        for n in 0..partial.operands.len {
            let operand = self.operand_pool[(partial.operands.start + n) as usize];
            let name = self.make(&format!("param_{n}"));
            let payload = Span { start: name.start + 6, len: name.len - 6 };
            instructions.push(InstructionId(self.instructions.len() as u32));
            self.instructions.push(Instruction {
                name,
                opcode_name: parameter,
                payload,
                text: Span::default(),
                opcode: Opcode::Parameter,
                shape: self.instructions[operand.index()].shape,
                computation: id,
                operands: Slice::default(),
                control_predecessors: Slice::default(),
                called: Slice::default(),
                attributes: Slice::default(),
            });
        }
        let parameters = instructions.clone();
        let operands_from = self.operand_pool.len();
        self.operand_pool.extend_from_slice(&instructions);
        // Which attributes go inside.
        let attributes_from = self.attribute_pool.len();
        let all: SmallVec<[Attribute; 8]> = self.attribute_stack.drain(partial.attributes_from..).collect();
        let name = self.make("calls");
        self.attribute_stack.push(Attribute { name, value: Span { start: UNNAMED, len: id.0 } });
        let mut thread = None;
        for attribute in all {
            let key = self.str(attribute.name);
            if key == "async_execution_thread" {
                thread = Some(attribute.value);
            }
            if stays_with_async(key) {
                self.attribute_stack.push(attribute);
            } else {
                self.attribute_pool.push(attribute);
            }
        }
        let attributes = slice(attributes_from, self.attribute_pool.len());
        let called_from = self.called_pool.len();
        let root = InstructionId(self.instructions.len() as u32);
        partial.called.arrange_by_key(|c| c.0);
        for (_, callee) in &partial.called {
            match *callee {
                Callee::Known(id) => self.called_pool.push(id),
                Callee::Named(name) => {
                    self.later.push((root, self.called_pool.len() as u32, name));
                    self.called_pool.push(ComputationId(u32::MAX));
                }
            }
        }
        let inside_name = self.make(inside.name());
        self.instructions.push(Instruction {
            name: inside_name,
            opcode_name: inside_name,
            payload: Span::default(),
            text: Span::default(),
            opcode: inside,
            shape,
            computation: id,
            operands: slice(operands_from, self.operand_pool.len()),
            control_predecessors: Slice::default(),
            called: slice(called_from, self.called_pool.len()),
            attributes,
        });
        instructions.push(root);
        let thread_from = self.attribute_pool.len();
        if let Some(value) = thread {
            let name = self.make("execution_thread");
            self.attribute_pool.push(Attribute { name, value });
        }
        self.computations.push(Computation {
            name: Span::default(),
            instructions,
            root,
            parameters,
            attributes: slice(thread_from, self.attribute_pool.len()),
        });
        self.unnamed.push((id, format!("{}.wrapped", self.str(partial.name))));
        partial.opcode_name = opcode_name;
        partial.called = SmallVec::from_iter([(0, Callee::Known(id))]);
        Ok(())
    }
}

enum Next {
    More,
    End,
    Nested(Span),
}

fn slice(start: usize, end: usize) -> Slice {
    Slice { start: start as u32, len: (end - start) as u32 }
}

/// Does this attribute name computations, and in which order do they come (specification, 1.3)?
fn call_rank(attribute: &str, opcode: Opcode) -> Option<u8> {
    match attribute {
        "calls"
        | "to_apply"
        | "body"
        | "branch_computations"
        | "true_computation"
        | "called_computations" => Some(0),
        "condition" | "false_computation" => Some(1),
        "select" if opcode == Opcode::SelectAndScatter => Some(0),
        "scatter" if opcode == Opcode::SelectAndScatter => Some(1),
        _ => None,
    }
}
