//! Constants: who reads them, what they cost, which are equal, and which arguments were constants of the program.

use crate::donation::donors;
use crate::hold::value_at;
use crate::study::{Program, Role, Row, Study};
use analysis::{Backend, Context, Position};
use assigner::words::{both, bytes, list};
use hlo::{InstructionId, Module, Opcode};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The constants of a module, and the arguments that its program may have brought along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constants {
    /// Those with memory of their own, the most bytes first.
    pub constants: Vec<Constant>,
    /// Their bytes.
    pub bytes: u64,
    /// Arrays that fusions have in their code, without memory of their own.
    pub in_code: Vec<InstructionId>,
    /// Those that are equal, or look so, by what one of each would save.
    pub alike: Vec<Alike>,
    /// Arguments that were captured, as a guess from names that are missing.
    pub captured: Vec<Captured>,
    /// How many arguments of the module have a name from its program, and of how many.
    pub named: (usize, usize),
}

/// A constant with memory of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// An index into [`Study::rows`].
    pub row: usize,
    /// Bytes it takes, padding included.
    pub bytes: u64,
    /// Who reads it; none without the program.
    pub readers: Vec<Reader>,
    /// What the text tells of its elements.
    pub content: Content,
    /// The operation that its metadata names; empty if it names none.
    pub op_name: String,
}

/// Who reads a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reader {
    /// The instruction that has it as an operand.
    pub instruction: InstructionId,
    /// Of a fusion, what takes it inside; fusions within are seen through.
    pub inside: Vec<InstructionId>,
}

/// What the text tells of a constant's elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing: it has `{...}` in their place, or is not there.
    LeftOut,
    /// All are this one.
    Uniform(String),
    /// They differ.
    Told,
}

/// Constants that are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alike {
    /// Indices into [`Constants::constants`].
    pub constants: Vec<usize>,
    /// Does the text have their elements? If not, no more than their shapes are known to be equal.
    pub is_certain: bool,
    /// Bytes that one in place of all would save.
    pub saves: u64,
}

/// An argument that may be an array which the program captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// The parameter's number.
    pub parameter: u32,
    /// The parameter.
    pub instruction: InstructionId,
    /// Bytes it takes.
    pub bytes: u64,
    /// Its shape with layout.
    pub shape: String,
    /// Who reads it.
    pub readers: Vec<Reader>,
}

/// JAX hands no smaller array over as an argument in place of a constant.
const LEAST_CAPTURED: u64 = 33;

/// Finds them.
#[must_use]
pub fn constants(study: &Study) -> Constants {
    let module = study.program.as_ref().map(|p| &p.module);
    let mut out = Constants::default();
    for (i, row) in study.rows.iter().enumerate() {
        // What else stands in its memory, as the state of a loop that was not given a copy, is none.
        let is_constant = matches!(row.origin.opcode.as_str(), "constant" | "");
        if study.slab(row).role != Role::Constant || !is_constant {
            continue;
        }
        let readers = study.program.as_ref().zip(row.value).map(|(p, v)| readers(p, v)).unwrap_or_default();
        let text = module.and_then(|m| literal(m, row));
        let content = text.map_or(Content::LeftOut, content);
        let op_name = row.origin.op_name.clone();
        out.bytes = out.bytes.saturating_add(row.size);
        out.constants.push(Constant { row: i, bytes: row.size, readers, content, op_name });
    }
    out.constants.sort_by_key(|c| (std::cmp::Reverse(c.bytes), c.row));
    out.alike = alike(study, &out.constants);
    if let Some(program) = &study.program {
        out.in_code = in_code(program);
        (out.captured, out.named) = captured(study, program);
    }
    out
}

/// The literal of a constant as the text has it, of a tuple's part its own; `None` where it leaves the elements out.
fn literal<'a>(module: &'a Module, row: &Row) -> Option<&'a str> {
    let instruction = module.instruction(row.instruction?);
    if instruction.opcode != Opcode::Constant {
        return None;
    }
    let mut text = module.str(instruction.payload).trim();
    for at in &row.name.index.0 {
        text = part(text, *at as usize)?.trim();
    }
    (!text.is_empty() && !text.contains("...")).then_some(text)
}

/// One part of a tuple's literal, `({1, 2}, {3, 4})`.
fn part(text: &str, wanted: usize) -> Option<&str> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let (mut depth, mut from, mut number) = (0i32, 0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            ',' if depth == 0 => {
                if number == wanted {
                    return inner.get(from..at);
                }
                number += 1;
                from = at + 1;
            }
            _ => {}
        }
    }
    (number == wanted).then(|| inner.get(from..))?
}

/// The elements of an array's literal: what stands between braces, commas, spaces and comments that count them.
fn elements(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start_matches(|c: char| matches!(c, '{' | '}' | ',') || c.is_whitespace());
            match rest.strip_prefix("/*") {
                Some(comment) => rest = comment.split_once("*/").map_or("", |(_, behind)| behind),
                None => break,
            }
        }
        // A complex number has its own parentheses.
        let ends = |c: char| matches!(c, '{' | '}' | ',' | '/') || c.is_whitespace();
        let end = if rest.starts_with('(') {
            rest.find(')').map_or(rest.len(), |at| at + 1)
        } else {
            // What cannot be an element ends the text, so that this ends too.
            rest.find(ends).filter(|at| *at > 0).unwrap_or(rest.len())
        };
        let (one, behind) = rest.split_at(end);
        rest = behind;
        (!one.is_empty()).then_some(one)
    })
}

/// Elements so that equal ones are spelt alike: `0.0` is `0`, `true` is `1`, but `-0` is not `0`, and what is no number
/// stays as it is.
fn values(text: &str, shape: &str) -> String {
    // Whole numbers have more digits than a floating-point number could tell apart.
    let is_whole = !shape.starts_with(['f', 'b', 'c']);
    let mut out = String::new();
    for one in elements(text) {
        match (one, one.parse::<i128>(), one.parse::<f64>()) {
            ("true", ..) => out.push('1'),
            ("false", ..) => out.push('0'),
            (_, Ok(n), _) if is_whole => _ = write!(out, "{n}"),
            (_, _, Ok(n)) if !is_whole && !n.is_nan() => _ = write!(out, "{n:e}"),
            _ => out.extend(one.chars().filter(|c| !c.is_whitespace())),
        }
        out.push(' ');
    }
    out
}

fn content(text: &str) -> Content {
    let mut all = elements(text);
    match all.next() {
        Some(one) => {
            let mut rest = all.peekable();
            let is_several = rest.peek().is_some();
            if is_several && rest.all(|o| o == one) {
                Content::Uniform(one.to_owned())
            } else {
                Content::Told
            }
        }
        None => Content::Told,
    }
}

fn alike(study: &Study, all: &[Constant]) -> Vec<Alike> {
    let mut by_shape: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, c) in all.iter().enumerate() {
        let row = &study.rows[c.row];
        // A tuple's own memory holds the addresses of its parts.
        if !row.is_tuple {
            by_shape.entry(row.shape.as_str()).or_default().push(i);
        }
    }
    let mut groups: BTreeMap<(&str, Option<String>), Vec<usize>> = BTreeMap::new();
    for (shape, constants) in by_shape.into_iter().filter(|(_, c)| c.len() > 1) {
        for i in constants {
            let row = &study.rows[all[i].row];
            let text = study.program.as_ref().and_then(|p| literal(&p.module, row));
            groups.entry((shape, text.map(|t| values(t, shape)))).or_default().push(i);
        }
    }
    let mut out: Vec<Alike> = groups
        .into_iter()
        .filter(|(_, constants)| constants.len() > 1)
        .map(|((_, text), constants)| {
            // The first is the largest, though all should be of one size.
            let saves = crate::peak::sum(constants.iter().skip(1).map(|i| all[*i].bytes));
            Alike { constants, is_certain: text.is_some(), saves }
        })
        .collect();
    out.sort_by(|a, b| b.saves.cmp(&a.saves).then_with(|| a.constants.cmp(&b.constants)));
    out
}

/// Has it more than a few elements? A TPU pads a single one to hundreds of bytes.
fn is_array(study: &Study, constant: &Constant) -> bool {
    study.rows[constant.row].unpadded.unwrap_or(constant.bytes) > 64
}

/// Does an instruction only hand a value on?
fn passes_on(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Tuple
            | Opcode::GetTupleElement
            | Opcode::Bitcast
            | Opcode::While
            | Opcode::Conditional
            | Opcode::Call
            | Opcode::OptimizationBarrier
            | Opcode::CopyStart
            | Opcode::CopyDone
    )
}

/// Who reads a value: loops, branches and calls are seen through, since the analysis follows it there, and transfers to
/// another memory space.
fn readers(program: &Program, value: analysis::ValueId) -> Vec<Reader> {
    let Program { module, facts, .. } = program;
    let mut uses = facts.value(value).uses.clone();
    let mut next = 0;
    while let Some(user) = uses.get(next).map(|u| u.user) {
        next += 1;
        // What a transfer makes of it is a value of its own.
        if module.instruction(user).opcode == Opcode::CopyStart
            && let Some(moved) = value_at(program, user, 1)
        {
            uses.extend(facts.value(moved).uses.iter().copied());
        }
    }
    let is_real = |user: InstructionId| {
        !passes_on(module.instruction(user).opcode)
            && facts.graph.context(module.instruction(user).computation) == Context::ControlFlow
    };
    let any_real = uses.iter().any(|u| is_real(u.user));
    let mut out: Vec<Reader> = Vec::new();
    let mut at: FxHashMap<InstructionId, usize> = FxHashMap::default();
    for u in uses.iter().filter(|u| is_real(u.user) || !any_real) {
        let at = *at.entry(u.user).or_insert(out.len());
        if at == out.len() {
            out.push(Reader { instruction: u.user, inside: Vec::new() });
        }
        out[at].inside.extend(inside(module, u.user, u.operand));
    }
    for reader in &mut out {
        reader.inside.sort_unstable();
        reader.inside.dedup();
    }
    out
}

/// What takes an operand of a fusion inside it.
fn inside(module: &Module, fusion: InstructionId, operand: u32) -> Vec<InstructionId> {
    let mut out = Vec::new();
    let mut open: Vec<InstructionId> = Vec::new();
    let mut seen: BTreeSet<InstructionId> = BTreeSet::new();
    let parameter = |fusion: InstructionId, operand: usize| {
        let body = module.called(fusion).first()?;
        module.computation(*body).parameters.get(operand).copied()
    };
    if module.instruction(fusion).opcode == Opcode::Fusion {
        open.extend(parameter(fusion, operand as usize));
    }
    while let Some(at) = open.pop() {
        let body = module.instruction(at).computation;
        for user in &module.computation(body).instructions {
            for (k, _) in module.operands(*user).iter().enumerate().filter(|(_, o)| **o == at) {
                let next = match module.instruction(*user).opcode {
                    Opcode::Bitcast | Opcode::Tuple => Some(*user),
                    Opcode::Fusion => parameter(*user, k),
                    _ => {
                        out.push(*user);
                        None
                    }
                };
                // A fusion within a fusion is a computation of its own, so nothing is met twice but by two ways.
                open.extend(next.filter(|n| seen.insert(*n)));
            }
        }
    }
    out
}

/// Arrays in the code of fusions.
fn in_code(program: &Program) -> Vec<InstructionId> {
    let Program { module, facts, .. } = program;
    module
        .instruction_ids()
        .filter(|i| {
            let instruction = module.instruction(*i);
            instruction.opcode == Opcode::Constant
                && module.shapes.is_array(instruction.shape)
                && module.shapes.element_count(instruction.shape) > 1
                && facts.graph.context(instruction.computation) != Context::ControlFlow
        })
        .collect()
}

/// Arguments that stand before all that have a name: JAX gives those that were captured the first places, and no name.
fn captured(study: &Study, program: &Program) -> (Vec<Captured>, (usize, usize)) {
    let Program { module, facts, .. } = program;
    let parameters = &module.computation(module.entry).parameters;
    let is_named = |i: &InstructionId| dumps::op_name(module, *i).is_some();
    let named = parameters.iter().filter(|i| is_named(i)).count();
    if named == 0 {
        return (Vec::new(), (0, parameters.len()));
    }
    // What the caller gives away is its own argument.
    let mut given: BTreeSet<u32> = module.input_output_alias.iter().map(|a| a.parameter).collect();
    given.extend(donors(module.header_attribute("buffer_donor").unwrap_or("")).into_iter().map(|d| d.0));
    let out = parameters
        .iter()
        .take_while(|i| !is_named(i))
        .filter(|i| module.parameter_number(**i).is_none_or(|n| !given.contains(&n)))
        .filter_map(|i| {
            let shape = module.instruction(*i).shape;
            let value = facts.dataflow.unique_at(Position { instruction: *i, sub: 0 })?;
            let bytes = study.row_of(value).map_or_else(|| facts.value_bytes(value), |r| study.rows[r].size);
            let least = module.shapes.bytes(shape, 8);
            (module.shapes.is_array(shape) && least >= LEAST_CAPTURED).then(|| Captured {
                parameter: module.parameter_number(*i).unwrap_or(0),
                instruction: *i,
                bytes,
                shape: module.shapes.long(shape).to_owned(),
                readers: readers(program, value),
            })
        })
        .collect();
    (out, (named, parameters.len()))
}

impl Reader {
    /// `fusion.3 (inside: dot, add)`
    #[must_use]
    pub fn words(&self, module: &Module) -> String {
        let name = module.name_of(self.instruction);
        let mut inside: Vec<String> =
            self.inside.iter().map(|i| module.str(module.instruction(*i).opcode_name).to_owned()).collect();
        inside.sort();
        inside.dedup();
        match inside.len() {
            0 => name.to_owned(),
            _ => format!("{name} (inside: {})", list(&inside, 4)),
        }
    }

    /// Some of them, `nobody` if there are none.
    #[must_use]
    pub fn list(study: &Study, readers: &[Self]) -> String {
        let Some(program) = &study.program else {
            return "not known: the module's text is not there".to_owned();
        };
        match readers.len() {
            0 => "nobody".to_owned(),
            _ => {
                let all: Vec<String> = readers.iter().map(|r| r.words(&program.module)).collect();
                list(&all, 4)
            }
        }
    }
}

impl Constant {
    /// What is known of its elements and where it comes from, in a few words.
    #[must_use]
    pub fn words(&self, study: &Study) -> String {
        if study.program.is_none() {
            return String::new();
        }
        let content = match &self.content {
            Content::LeftOut => "the text leaves its elements out",
            Content::Uniform(one) => &format!("every element is {one}"),
            Content::Told => "the text has its elements",
        };
        let made = match self.op_name.as_str() {
            "" => "no operation is named in it: as a guess from that, the program brought it along",
            name => &format!(
                "as a guess from its metadata, the compiler made it out of other constants, for {name}"
            ),
        };
        format!("{content}; {made}")
    }
}

impl Constants {
    /// What they come to and what to do, in sentences.
    #[must_use]
    pub fn words(&self, study: &Study) -> Vec<String> {
        let mut out = Vec::new();
        let n = self.constants.len();
        out.push(match n {
            0 => "No constant has memory of its own.".to_owned(),
            1 => format!("1 constant takes {}.", both(self.bytes)),
            _ => format!("{n} constants take {}.", both(self.bytes)),
        });
        if n > 0 {
            out.extend(lasts(study).map(str::to_owned));
        }
        if let Some(largest) = self.constants.iter().find(|c| is_array(study, c)) {
            let name = &study.rows[largest.row].name;
            out.push(format!(
                "An array that a jitted function closes over is written into the module: passed as an argument it is the caller's, in memory once for all programs that read it. The largest, {name}, takes {}.",
                both(largest.bytes)
            ));
        }
        for a in self.alike.iter().filter(|a| a.saves >= if a.is_certain { 32 } else { 128 }).take(MOST_ALIKE)
        {
            let names: Vec<String> =
                a.constants.iter().map(|c| study.rows[self.constants[*c].row].name.to_string()).collect();
            let saves = bytes(a.saves);
            out.push(if a.is_certain {
                format!("{} hold the same: one of them in place of all would save {saves}.", list(&names, 4))
            } else {
                format!(
                    "{} are of one shape. Whether they hold the same the text does not tell, since it leaves the elements out; if they do, one in place of all would save {saves}.",
                    list(&names, 4)
                )
            });
        }
        for c in self.constants.iter().filter(|c| is_array(study, c)).take(MOST_ALIKE) {
            if let Content::Uniform(one) = &c.content {
                let name = &study.rows[c.row].name;
                out.push(format!(
                    "Every element of {name} is {one}: made where it is read, as by `jnp.full`, it would need no memory ({}).",
                    both(c.bytes)
                ));
            }
        }
        match self.in_code.len() {
            0 => {}
            1 => out.push("1 array stands in the code of a fusion, without memory of its own.".to_owned()),
            n => out.push(format!("{n} arrays stand in the code of fusions, without memory of their own.")),
        }
        if study.program.is_some() {
            out.push(self.captured_words());
        }
        out
    }

    /// Which arguments were captured.
    pub(crate) fn captured_words(&self) -> String {
        let sum = crate::peak::sum(self.captured.iter().map(|c| c.bytes));
        let numbers: Vec<String> = self.captured.iter().map(|c| c.parameter.to_string()).collect();
        match (self.captured.len(), self.named) {
            (_, (_, 0)) => "The module has no arguments.".to_owned(),
            (_, (0, _)) => "No argument has a name from its program, so which of them were captured the module does not tell.".to_owned(),
            (0, _) => "No argument looks like a captured array that was handed over in place of a constant: each has a name from its program, is very small, is donated, or stands behind one that has a name.".to_owned(),
            (1, _) => format!(
                "As a guess from its missing name, argument {} ({}) is an array that the function closes over, handed over in place of a constant: JAX gives such arrays the first places and no name. It is the caller's, and in no executable.",
                numbers[0],
                both(sum)
            ),
            _ => format!(
                "As a guess from their missing names, arguments {} ({}) are arrays that the function closes over, handed over in place of constants: JAX gives such arrays the first places and no name. They are the caller's, and in no executable.",
                list(&numbers, 8),
                both(sum)
            ),
        }
    }
}

/// Groups, and constants of one element, that are told.
const MOST_ALIKE: usize = 4;

/// What a constant costs, and how long.
fn lasts(study: &Study) -> Option<&'static str> {
    Some(match study.backend? {
        Backend::Cpu => {
            "Constants are part of the compiled program, in memory as long as that is loaded; each program compiled for other shapes has its own."
        }
        Backend::Gpu => {
            "Constants are in the device's memory as long as the compiled program is loaded, between its runs too; each program compiled for other shapes has its own."
        }
        Backend::Tpu => {
            "Constants are in the device's main memory, padded to whole tiles, as long as the compiled program is loaded, between its runs too; each program compiled for other shapes has its own."
        }
    })
}
