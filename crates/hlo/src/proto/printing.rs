//! A proto as XLA would print it.

use super::attributes::{attributes_text, metadata_text, sharding_text};
use super::messages as m;
use super::wire::{Broken, Fields, name_and_id};
use prost::Message;
use sorts::Arrange as _;
use std::collections::{HashMap, HashSet};
use std::fmt::{Display, Write as _};

pub(super) type Result<T> = std::result::Result<T, Broken>;

/// Deeper tuples are refused here already; the reader of shapes has the same limit.
pub(super) const MAX_DEPTH: usize = crate::MAX_TUPLE_DEPTH;
/// Longer names are refused.
const MAX_NAME: usize = 1 << 14;
/// The text may be so many times as long as the proto, and a little more: shapes in tuples are written out each time.
const MAX_GROWTH: usize = 100;

pub(super) fn print(module: &[u8]) -> Result<String> {
    let mut printer = Printer {
        out: String::with_capacity(module.len()),
        shapes: HashMap::new(),
        truths: HashSet::new(),
        floats: HashSet::new(),
        limit: module.len().saturating_mul(MAX_GROWTH).saturating_add(1 << 20),
    };
    printer.module(module)?;
    Ok(printer.out)
}

/// What is known of a computation before it is printed.
struct Outline<'b> {
    name: String,
    id: i64,
    root: i64,
    thread: &'b [u8],
    instructions: Vec<&'b [u8]>,
}

/// Ids are made of the computation's and the instruction's; some writers cite the lower half only.
pub(super) const HALF: i64 = 0xffff_ffff;

/// Number and name of a computation's instructions by their ids.
#[derive(Default)]
struct Names<'b> {
    by_id: HashMap<i64, (usize, &'b str)>,
    by_half: HashMap<i64, (usize, &'b str)>,
}

impl<'b> Names<'b> {
    fn get(&self, id: i64) -> Option<(usize, &'b str)> {
        self.by_id.get(&id).or_else(|| self.by_half.get(&(id & HALF))).copied()
    }
}

/// One message, decoded.
pub(super) fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M> {
    M::decode(bytes).map_err(|e| Broken::at(bytes, e.to_string()))
}

/// Strings that become names must not look like anything else.
pub(super) fn checked_name<'n>(at: &[u8], name: &'n [u8]) -> Result<&'n str> {
    let name = std::str::from_utf8(name).ok();
    // Names are cited by numbers of a few bytes, so a long one would make a small proto a long text.
    let fine = |n: &&str| {
        !n.is_empty()
            && n.len() <= MAX_NAME
            && n.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
    };
    name.filter(fine).ok_or_else(|| Broken::at(at, "a name that XLA would not give"))
}

pub(super) fn index(numbers: &[i64]) -> String {
    format!("{{{}}}", joined(numbers, ","))
}

pub(super) fn joined<T: Display>(list: &[T], between: &str) -> String {
    let mut out = String::new();
    for (i, item) in list.iter().enumerate() {
        let between = if i > 0 { between } else { "" };
        _ = write!(out, "{between}{item}");
    }
    out
}

/// As C escapes strings: what is no printable ASCII in octal.
pub(super) fn escaped(out: &mut String, bytes: &[u8]) {
    for &b in bytes {
        match b {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'"' => out.push_str("\\\""),
            b'\'' => out.push_str("\\'"),
            b'\\' => out.push_str("\\\\"),
            0x20..0x7f => out.push(char::from(b)),
            _ => _ = write!(out, "\\{b:03o}"),
        }
    }
}

pub(super) fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    escaped(&mut out, bytes);
    out.push('"');
    out
}

/// A value that is printed as it is, if it is one balanced group of braces, so that it can be read again.
pub(super) fn is_group(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    if !text.starts_with('{') || text.contains('\n') {
        return false;
    }
    let (mut open, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => loop {
                at += 1;
                match bytes.get(at) {
                    None => return false,
                    Some(b'"') => break,
                    Some(b'\\') => at += 1,
                    _ => {}
                }
            },
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'(' => open.push(b')'),
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => return false,
            b @ (b'}' | b']' | b')') => {
                if open.pop() != Some(b) {
                    return false;
                }
                if open.is_empty() {
                    return at + 1 == bytes.len();
                }
            }
            _ => {}
        }
        at += 1;
    }
    false
}

pub(super) struct Printer<'b> {
    pub(super) out: String,
    /// Texts of shapes by their bytes, with layout.
    pub(super) shapes: HashMap<&'b [u8], String>,
    /// Ids, their lower halves, of this computation's single truth values: they choose between branches.
    pub(super) truths: HashSet<i64>,
    /// Ids, their lower halves, of this computation's arrays of floating-point numbers.
    pub(super) floats: HashSet<i64>,
    limit: usize,
}

impl<'b> Printer<'b> {
    fn module(&mut self, module: &'b [u8]) -> Result<()> {
        let (mut name, mut entry_name, mut entry_id) = (&b""[..], &b""[..], 0);
        let mut computations = Vec::new();
        let mut program_shape = None;
        let mut aliases = Vec::new();
        let mut donors = Vec::new();
        let mut schedule: Option<HashMap<i64, Vec<i64>>> = None;
        let mut frontend = None;
        let mut stack_frames = None;
        let mut partitions = (1, 1);
        for field in Fields::new(module) {
            let field = field?;
            match field.number {
                1 => name = field.bytes,
                2 => entry_name = field.bytes,
                3 => computations.push(outline(field.bytes)?),
                4 => program_shape = Some(field.bytes),
                6 => entry_id = field.number_value(),
                7 => {
                    let schedule = schedule.get_or_insert_default();
                    for entry in Fields::new(field.bytes) {
                        let entry: m::ScheduleEntry = decode(entry?.bytes)?;
                        schedule.insert(entry.computation, entry.sequence.unwrap_or_default().numbers);
                    }
                }
                8 => {
                    for entry in Fields::new(field.bytes) {
                        aliases.push(decode::<m::AliasEntry>(entry?.bytes)?);
                    }
                }
                15 => {
                    let devices: m::DeviceAssignment = decode(field.bytes)?;
                    partitions = (devices.replica_count, devices.computation_count);
                }
                17 => stack_frames = Some(field.bytes),
                18 => {
                    for entry in Fields::new(field.bytes) {
                        donors.push(decode::<m::DonorEntry>(entry?.bytes)?);
                    }
                }
                19 => frontend = Some(decode::<m::Attributes>(field.bytes)?),
                _ => {}
            }
        }
        let by_id: HashMap<i64, usize> = computations.iter().enumerate().map(|(n, c)| (c.id, n)).collect();
        if by_id.len() != computations.len() {
            return Err(Broken::at(module, "two computations of one id"));
        }
        let by_name = || computations.iter().position(|c| c.name.as_bytes() == entry_name);
        let Some(entry) = by_id.get(&entry_id).copied().or_else(by_name) else {
            return Err(Broken::at(module, "a module without its entry computation"));
        };

        // The header.
        self.out.push_str("HloModule ");
        let start = self.out.len();
        escaped(&mut self.out, name);
        if self.out[start..].contains([' ', ',']) || name.is_empty() {
            return Err(Broken::at(name, "a name that XLA would not give"));
        }
        if schedule.is_some() {
            self.out.push_str(", is_scheduled=true");
        }
        if !aliases.is_empty() {
            let entries: Vec<_> = aliases
                .iter()
                .map(|a| {
                    let kind = if a.kind == 2 { "must-alias" } else { "may-alias" };
                    format!("{}: ({}, {}, {kind})", index(&a.output), a.parameter, index(&a.parameter_index))
                })
                .collect();
            _ = write!(self.out, ", input_output_alias={{ {} }}", entries.join(", "));
        }
        if !donors.is_empty() {
            let entries: Vec<_> =
                donors.iter().map(|d| format!("({}, {})", d.parameter, index(&d.parameter_index))).collect();
            _ = write!(self.out, ", buffer_donor={{ {} }}", entries.join(", "));
        }
        if let Some(bytes) = program_shape {
            self.entry_layout(bytes)?;
        }
        if partitions.0 > 1 {
            _ = write!(self.out, ", replica_count={}", partitions.0);
        }
        if partitions.1 > 1 {
            _ = write!(self.out, ", num_partitions={}", partitions.1);
        }
        if let Some(attributes) = frontend.filter(|f| !f.map.is_empty()) {
            _ = write!(self.out, ", frontend_attributes={}", attributes_text(attributes)?);
        }
        self.out.push_str("\n\n");
        if let Some(bytes) = stack_frames {
            self.tables(bytes)?;
        }

        // The computations, callees first, each at its first call in storage order.
        for n in print_order(&computations, &by_id, entry)? {
            let computation = &computations[n];
            let sequence = schedule.as_ref().and_then(|s| s.get(&computation.id));
            self.computation(computation, &computations, &by_id, sequence, n == entry)?;
        }
        Ok(())
    }

    fn entry_layout(&mut self, bytes: &'b [u8]) -> Result<()> {
        let mut parameters = Vec::new();
        let mut result = String::new();
        for field in Fields::new(bytes) {
            let field = field?;
            match field.number {
                1 => parameters.push(self.shape(field.bytes)?),
                2 => result = self.shape(field.bytes)?,
                _ => {}
            }
        }
        let mut list = String::new();
        for (i, parameter) in parameters.iter().enumerate() {
            push_separator(&mut list, i);
            list.push_str(parameter);
        }
        _ = write!(self.out, ", entry_computation_layout={{({list})->{result}}}");
        self.check_size(bytes)
    }

    fn tables(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rows: [Vec<String>; 4] = Default::default();
        for field in Fields::new(bytes) {
            let field = field?;
            match field.number {
                1 => rows[0].push(quoted(field.bytes)),
                2 => rows[1].push(quoted(field.bytes)),
                3 => {
                    let l: m::FileLocation = decode(field.bytes)?;
                    rows[2].push(format!(
                        "{{file_name_id={} function_name_id={} line={} end_line={} column={} end_column={}}}",
                        l.file_name_id, l.function_name_id, l.line, l.end_line, l.column, l.end_column
                    ));
                }
                4 => {
                    let f: m::StackFrame = decode(field.bytes)?;
                    // The text counts frames from 1 and has no word for "none", so all parents are one higher.
                    let parent = f.parent_frame_id.saturating_add(1);
                    let location = f.file_location_id;
                    rows[3].push(format!("{{file_location_id={location} parent_frame_id={parent}}}"));
                }
                _ => {}
            }
        }
        if rows.iter().all(Vec::is_empty) {
            return Ok(());
        }
        for (title, rows) in ["FileNames", "FunctionNames", "FileLocations", "StackFrames"].iter().zip(&rows)
        {
            self.out.push_str(title);
            self.out.push('\n');
            for (i, row) in rows.iter().enumerate() {
                _ = writeln!(self.out, "{} {row}", i + 1);
            }
            self.out.push('\n');
        }
        self.out.push('\n');
        self.check_size(bytes)
    }

    pub(super) fn check_size(&self, at: &[u8]) -> Result<()> {
        if self.out.len() > self.limit {
            return Err(Broken::at(at, "a module whose text would be too long"));
        }
        Ok(())
    }

    fn computation(
        &mut self,
        computation: &Outline<'b>,
        computations: &[Outline<'b>],
        by_id: &HashMap<i64, usize>,
        sequence: Option<&Vec<i64>>,
        entry: bool,
    ) -> Result<()> {
        let mut names = Names::default();
        for (n, bytes) in computation.instructions.iter().enumerate() {
            let (name, id) = name_and_id(bytes)?;
            let name = checked_name(bytes, name)?;
            if names.by_id.insert(id, (n, name)).is_some() {
                return Err(Broken::at(bytes, "a second instruction of this id"));
            }
            names.by_half.entry(id & HALF).or_insert((n, name));
        }
        let order: Vec<usize> = match sequence {
            None => (0..computation.instructions.len()).collect(),
            Some(ids) => {
                let order: Vec<usize> = ids.iter().filter_map(|id| names.get(*id)).map(|i| i.0).collect();
                let all: HashSet<usize> = order.iter().copied().collect();
                if all.len() != order.len() || order.len() != computation.instructions.len() {
                    let at = computation.instructions.first().copied().unwrap_or(&[]);
                    return Err(Broken::at(at, "a schedule that does not name each instruction once"));
                }
                order
            }
        };
        // A module from before there was such a field has its root last.
        if computation.root != 0 && names.get(computation.root).is_none() {
            let at = computation.instructions.first().copied().unwrap_or(&[]);
            return Err(Broken::at(at, "a computation whose root is none of its instructions"));
        }
        if entry {
            self.out.push_str("ENTRY ");
        }
        // The reader needs no signature; what it prints has one.
        _ = writeln!(self.out, "%{} {{", computation.name);
        self.truths.clear();
        self.floats.clear();
        for n in order {
            let bytes = computation.instructions[n];
            let instruction: m::Instruction = decode(bytes)?;
            let root = names.get(computation.root).is_some_and(|r| r.0 == n);
            self.out.push_str(if root { "  ROOT " } else { "  " });
            self.instruction(bytes, instruction, &names, computations, by_id)?;
            self.out.push('\n');
            self.check_size(bytes)?;
        }
        self.out.push('}');
        if !matches!(computation.thread, b"" | b"main") {
            _ = write!(self.out, ", execution_thread={}", quoted(computation.thread));
        }
        self.out.push_str("\n\n");
        Ok(())
    }

    fn instruction(
        &mut self,
        bytes: &'b [u8],
        i: m::Instruction,
        names: &Names<'_>,
        computations: &[Outline<'b>],
        by_id: &HashMap<i64, usize>,
    ) -> Result<()> {
        let opcode = checked_name(bytes, i.opcode.as_bytes())?;
        let shape = self.shape(field(bytes, 3)?)?;
        _ = write!(self.out, "%{} = {shape} {opcode}(", i.name);
        match opcode {
            "parameter" => _ = write!(self.out, "{}", i.parameter_number),
            "constant" => self.literal(bytes, &i)?,
            _ => {
                for (n, id) in i.operands.iter().enumerate() {
                    push_separator(&mut self.out, n);
                    let Some((_, name)) = names.get(*id) else {
                        return Err(Broken::at(bytes, format!("an unknown operand {id}")));
                    };
                    _ = write!(self.out, "%{name}");
                    self.check_size(bytes)?;
                }
            }
        }
        self.out.push(')');
        let called: Vec<&str> = i
            .called
            .iter()
            .map(|id| {
                let n =
                    by_id.get(id).ok_or_else(|| Broken::at(bytes, format!("an unknown computation {id}")))?;
                Ok(computations[*n].name.as_str())
            })
            .collect::<Result<_>>()?;
        if shape.starts_with("pred[]") {
            self.truths.insert(i.id & HALF);
        }
        if shape.starts_with(['f', 'b']) && !shape.starts_with("b(") {
            self.floats.insert(i.id & HALF);
        }
        self.own_attributes(bytes, opcode, &i, &called)?;
        if let Some(sharding) = &i.sharding {
            _ = write!(self.out, ", sharding={}", sharding_text(sharding)?);
        }
        if let Some(attributes) = i.frontend_attributes.filter(|f| !f.map.is_empty()) {
            _ = write!(self.out, ", frontend_attributes={}", attributes_text(attributes)?);
        }
        if !i.control_predecessors.is_empty() {
            self.out.push_str(", control-predecessors={");
            for (n, id) in i.control_predecessors.iter().enumerate() {
                let Some((_, name)) = names.get(*id) else {
                    return Err(Broken::at(bytes, format!("an unknown control predecessor {id}")));
                };
                let comma = if n > 0 { ", " } else { "" };
                _ = write!(self.out, "{comma}%{name}");
                self.check_size(bytes)?;
            }
            self.out.push('}');
        }
        if let Some(metadata) = &i.metadata {
            let text = metadata_text(metadata);
            if !text.is_empty() {
                _ = write!(self.out, ", metadata={{{text}}}");
            }
        }
        if !i.backend_config.is_empty() {
            match std::str::from_utf8(&i.backend_config) {
                Ok(text) if is_group(&i.backend_config) => _ = write!(self.out, ", backend_config={text}"),
                _ => _ = write!(self.out, ", backend_config={}", quoted(&i.backend_config)),
            }
        }
        Ok(())
    }
}

fn outline(bytes: &[u8]) -> Result<Outline<'_>> {
    let mut outline = Outline { name: String::new(), id: 0, root: 0, thread: b"", instructions: Vec::new() };
    for field in Fields::new(bytes) {
        let field = field?;
        match field.number {
            1 => checked_name(field.bytes, field.bytes)?.clone_into(&mut outline.name),
            2 => outline.instructions.push(field.bytes),
            5 => outline.id = field.number_value(),
            6 => outline.root = field.number_value(),
            8 => outline.thread = field.bytes,
            _ => {}
        }
    }
    if outline.name.is_empty() {
        return Err(Broken::at(bytes, "a computation without a name"));
    }
    Ok(outline)
}

/// The last field of this number, as bytes.
pub(super) fn field(bytes: &[u8], number: u32) -> Result<&[u8]> {
    let mut found = &b""[..];
    for field in Fields::new(bytes) {
        let field = field?;
        if field.number == number {
            found = field.bytes;
        }
    }
    Ok(found)
}

/// Depth first from the entry, instructions by ascending id, callees in the order called; then what nobody calls.
fn print_order(
    computations: &[Outline<'_>],
    by_id: &HashMap<i64, usize>,
    entry: usize,
) -> Result<Vec<usize>> {
    let mut calls: Vec<Vec<usize>> = Vec::with_capacity(computations.len());
    for computation in computations {
        let mut list: Vec<(i64, Vec<i64>)> = Vec::new();
        for bytes in &computation.instructions {
            let (mut id, mut called) = (0, Vec::new());
            for field in Fields::new(bytes) {
                let field = field?;
                match field.number {
                    35 => id = field.number_value(),
                    38 => called.extend(field.numbers()?),
                    _ => {}
                }
            }
            if !called.is_empty() {
                list.push((id, called));
            }
        }
        list.arrange_by_key(|l| l.0);
        calls.push(list.iter().flat_map(|l| &l.1).filter_map(|id| by_id.get(id).copied()).collect());
    }
    let mut order = Vec::with_capacity(computations.len());
    let mut seen = vec![false; computations.len()];
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for first in std::iter::once(entry).chain(0..computations.len()) {
        if std::mem::replace(&mut seen[first], true) {
            continue;
        }
        stack.push((first, 0));
        while let Some((at, next)) = stack.last_mut() {
            match calls[*at].get(*next) {
                Some(&callee) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[callee], true) {
                        stack.push((callee, 0));
                    }
                }
                None => {
                    order.push(*at);
                    stack.pop();
                }
            }
        }
    }
    Ok(order)
}

/// `, ` and before every fifth element its number.
pub(super) fn push_separator(out: &mut String, n: usize) {
    if n > 0 {
        out.push_str(", ");
        if n.is_multiple_of(5) {
            _ = write!(out, "/*index={n}*/");
        }
    }
}
