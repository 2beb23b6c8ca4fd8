//! What a file is, told by its content.

use crate::log::is_verbose_log;
use crate::oom::{is_out_of_memory, without_prefix};
use hlo::ElementType;

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// HLO text, whole or a fragment.
    Hlo,
    /// A serialised HloProto or HloModuleProto.
    HloProto,
    /// One or several of the four files about an assignment.
    Dump(Sections),
    /// The text of an out-of-memory error.
    OutOfMemory,
    /// XLA's verbose log of an assignment.
    VerboseLog,
    /// Something else.
    Foreign(Foreign),
}

/// Which of the four files' contents a text holds; builds up to 2025 put several into one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sections {
    /// Allocations and what stands in them.
    pub assignment: bool,
    /// The used values.
    pub values: bool,
    /// The live ranges.
    pub live_range: bool,
    /// The memory-usage report.
    pub report: bool,
}

/// What is no file about an HLO module's memory, but is often taken for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Foreign {
    /// StableHLO or another MLIR dialect, as text or bytecode.
    Mlir,
    /// A Python program.
    Python,
    /// A jaxpr.
    Jaxpr,
    /// LLVM IR.
    LlvmIr,
    /// PTX or another assembly.
    Assembly,
    /// A graph for Graphviz.
    Graphviz,
    /// HTML or XML.
    Markup,
    /// A protocol buffer in text form.
    ProtoText,
    /// JSON.
    Json,
    /// UTF-16 text.
    Utf16,
    /// Text of another kind.
    Text,
    /// Bytes of another kind.
    Binary,
    /// Nothing.
    Empty,
}

impl Kind {
    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Hlo => "HLO text",
            Self::HloProto => "HLO as a protocol buffer",
            Self::Dump(s) => match (s.assignment, s.values, s.live_range, s.report) {
                (true, false, false, false) => "buffer assignment",
                (false, true, false, false) => "used values",
                (false, false, true, false) => "live ranges",
                (false, false, false, true) => "memory-usage report",
                _ => "buffer assignment with more in one file",
            },
            Self::OutOfMemory => "out-of-memory error",
            Self::VerboseLog => "verbose log of an assignment",
            Self::Foreign(f) => f.words(),
        }
    }

    /// What to do to get a file of use instead; empty for those that are.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::Foreign(f) => f.advice(),
            _ => "",
        }
    }
}

/// How to get the dumps.
pub(crate) const HOW: &str =
    "compile with XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text\" and open DIR";

impl Foreign {
    fn words(self) -> &'static str {
        match self {
            Self::Mlir => "MLIR (StableHLO or another dialect), from before XLA",
            Self::Python => "a Python program",
            Self::Jaxpr => "a jaxpr, from before XLA",
            Self::LlvmIr => "LLVM IR, from behind buffer assignment",
            Self::Assembly => "assembly, from behind buffer assignment",
            Self::Graphviz => "a graph for Graphviz",
            Self::Markup => "HTML or XML",
            Self::ProtoText => "a protocol buffer in text form",
            Self::Json => "JSON",
            Self::Utf16 => "UTF-16 text",
            Self::Text => "text of another kind",
            Self::Binary => "bytes of another kind",
            Self::Empty => "an empty file",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Mlir | Self::Jaxpr | Self::LlvmIr | Self::Assembly | Self::Graphviz | Self::Markup => HOW,
            Self::Python => {
                "run it with XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text\" in its environment and open DIR"
            }
            Self::ProtoText => {
                "dump with --xla_dump_hlo_as_text or --xla_dump_hlo_as_proto instead of the text form of the protocol buffer"
            }
            Self::Utf16 => "save it as UTF-8",
            Self::Empty => {
                "a module that comes from the compilation cache is dumped empty or not at all; compile without the cache"
            }
            Self::Json | Self::Text | Self::Binary => "",
        }
    }
}

/// Lines that are looked at for a first word that tells.
const MOST_LINES: usize = 2000;

/// What a file is.
#[must_use]
pub fn kind(bytes: &[u8]) -> Kind {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Kind::Foreign(Foreign::Empty);
    }
    if bytes.starts_with(b"ML\xefR") {
        return Kind::Foreign(Foreign::Mlir);
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Kind::Foreign(Foreign::Utf16);
    }
    if is_proto(bytes) {
        return Kind::HloProto;
    }
    let head = &bytes[..bytes.len().min(4096)];
    if head.iter().filter(|b| is_control(**b)).count() * 20 > head.len() {
        return Kind::Foreign(Foreign::Binary);
    }
    of_text(&String::from_utf8_lossy(bytes))
}

fn is_control(b: u8) -> bool {
    matches!(b, 0..=8 | 14..=26 | 28..=31)
}

/// Both text and a message can begin with a line feed, but only a message holds control bytes.
fn is_proto(bytes: &[u8]) -> bool {
    bytes.first() == Some(&b'\n') && bytes.iter().take(4096).any(|b| is_control(*b))
}

fn of_text(text: &str) -> Kind {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text
        .lines()
        .map(|l| without_prefix(l).trim())
        .filter(|l| !l.is_empty() && !l.starts_with("//") && !l.starts_with("/*"))
        .take(MOST_LINES);
    let first = lines.next().unwrap_or_default();
    match strong(first) {
        Some(Kind::Dump(_)) => return Kind::Dump(sections(text)),
        Some(kind) => return kind,
        None => {}
    }
    if let Some(foreign) = foreign(first) {
        return Kind::Foreign(foreign);
    }
    if is_out_of_memory(text) {
        return Kind::OutOfMemory;
    }
    if is_verbose_log(text) {
        return Kind::VerboseLog;
    }
    match lines.find_map(strong) {
        Some(Kind::Dump(_)) => Kind::Dump(sections(text)),
        Some(kind) => kind,
        None if first.starts_with('{') || first.starts_with('[') => Kind::Foreign(Foreign::Json),
        None => Kind::Foreign(Foreign::Text),
    }
}

/// What a line by itself shows the text to be.
fn strong(line: &str) -> Option<Kind> {
    if section(line) != Sections::default() {
        return Some(Kind::Dump(Sections::default()));
    }
    let is_hlo = line.starts_with("HloModule ")
        || line.starts_with("ENTRY ")
        || (line.ends_with('{') && line.contains(") -> ") && !line.starts_with("func"))
        || is_instruction(line);
    is_hlo.then_some(Kind::Hlo)
}

/// `[ROOT] [%]name = SHAPE opcode(`
fn is_instruction(line: &str) -> bool {
    let line = line.strip_prefix("ROOT ").unwrap_or(line);
    let Some((name, rest)) = line.split_once(" = ") else { return false };
    let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "()[]{}\"'".contains(c));
    let shape = rest.trim_start_matches('(');
    let element = &shape[..shape.bytes().take_while(u8::is_ascii_alphanumeric).count()];
    let is_shape = shape[element.len()..].starts_with('[')
        && (ElementType::from_name(element).is_some() || matches!(element, "token" | "opaque"));
    is_name && (is_shape || rest.starts_with("() ")) && rest.contains('(')
}

fn section(line: &str) -> Sections {
    let mut out = Sections::default();
    let is_allocation = line.strip_prefix("allocation ").is_some_and(|rest| rest.contains(": size "));
    if line.starts_with("BufferAssignment:") || is_allocation {
        out.assignment = true;
    } else if line.starts_with("Used values:") {
        out.values = true;
    } else if line.starts_with("HloLiveRange (max")
        || line.starts_with("BufferLiveRange:")
        || line.starts_with("InstructionSequence:")
    {
        out.live_range = true;
    } else if line.starts_with("Memory Space:") || line.starts_with("Allocations sorted by size:") {
        out.report = true;
    } else if line.starts_with("Total bytes used:") {
        // The head of the values or of an old report; which, the lines behind it tell.
        out.values = true;
    }
    out
}

fn sections(text: &str) -> Sections {
    let mut out = Sections::default();
    let mut totals = false;
    for line in text.lines() {
        let line = without_prefix(line).trim();
        if line.starts_with("Total bytes used:") {
            totals = true;
            continue;
        }
        let s = section(line);
        out.assignment |= s.assignment;
        out.values |= s.values;
        out.live_range |= s.live_range;
        out.report |= s.report;
    }
    // An old report repeats the heads of its allocations, behind their sums.
    if out == Sections::default() && totals {
        out.values = true;
    }
    out
}

/// What a first line shows the text to be that is none of ours.
fn foreign(line: &str) -> Option<Foreign> {
    const STARTS: [(&str, Foreign); 24] = [
        ("module @", Foreign::Mlir),
        ("module {", Foreign::Mlir),
        ("module attributes", Foreign::Mlir),
        ("builtin.module", Foreign::Mlir),
        ("\"builtin.module\"", Foreign::Mlir),
        ("func.func", Foreign::Mlir),
        ("#loc", Foreign::Mlir),
        ("#map", Foreign::Mlir),
        ("stablehlo.", Foreign::Mlir),
        ("import ", Foreign::Python),
        ("from __future__", Foreign::Python),
        ("def ", Foreign::Python),
        ("\"\"\"", Foreign::Python),
        ("# -*-", Foreign::Python),
        ("{ lambda", Foreign::Jaxpr),
        ("; ModuleID", Foreign::LlvmIr),
        ("source_filename", Foreign::LlvmIr),
        ("target triple", Foreign::LlvmIr),
        (".version", Foreign::Assembly),
        ("digraph", Foreign::Graphviz),
        ("<", Foreign::Markup),
        ("hlo_module {", Foreign::ProtoText),
        ("hlo {", Foreign::ProtoText),
        ("name: \"", Foreign::ProtoText),
    ];
    let is_script = line.starts_with("#!") && line.contains("python");
    let is_import = line.starts_with("from ") && line.contains(" import ");
    let is_value = line.starts_with('<') && line.contains(" @");
    if is_script || is_import {
        return Some(Foreign::Python);
    }
    STARTS.iter().find(|(start, _)| line.starts_with(start)).map(|(_, f)| *f).filter(|_| !is_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let check = |text: &str, expected: Kind| assert_eq!(kind(text.as_bytes()), expected, "{text}");
        check("HloModule m\n", Kind::Hlo);
        check("\u{feff}HloModule m\r\n", Kind::Hlo);
        check("// a comment\n\nENTRY main {\n", Kind::Hlo);
        check("x = f32[4]{0} add(a, b)", Kind::Hlo);
        check("ROOT %x = (f32[4]{0}, s32[]) tuple(%a, %b)", Kind::Hlo);
        check("I0712 10:00:00.000000 1 hlo.cc:7] HloModule m\n", Kind::Hlo);
        check("module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n", Kind::Foreign(Foreign::Mlir));
        check("import jax\nx = f(1)\n", Kind::Foreign(Foreign::Python));
        check("#!/usr/bin/env python3\n", Kind::Foreign(Foreign::Python));
        check("{\"a\": 1}", Kind::Foreign(Foreign::Json));
        check("{ lambda ; a:f32[4]. let\n", Kind::Foreign(Foreign::Jaxpr));
        check(" \n\t", Kind::Foreign(Foreign::Empty));
        check("dear all,\n", Kind::Foreign(Foreign::Text));
        check("Traceback\n  x = f(1)\nRESOURCE_EXHAUSTED: Out of memory\n", Kind::OutOfMemory);
        check("Number of buffers to assign: 3\n", Kind::VerboseLog);
        let one = |f: fn(&mut Sections)| {
            let mut s = Sections::default();
            f(&mut s);
            Kind::Dump(s)
        };
        check("BufferAssignment:\nallocation 0: size 4, constant:\n", one(|s| s.assignment = true));
        check("Total bytes used: 4\n\nUsed values:\n", one(|s| s.values = true));
        check("HloLiveRange (max 3):\n", one(|s| s.live_range = true));
        check("Memory Space: default (color=0)\n", one(|s| s.report = true));
        check("Total bytes used: 4\n\nAllocations sorted by size:\n", one(|s| s.report = true));
        assert_eq!(kind(b"\x0a\x05hello\x12\x01"), Kind::HloProto);
        assert_eq!(kind(b"\x7fELF\x01\x02\x03\x00\x00\x00\x01"), Kind::Foreign(Foreign::Binary));
    }
}
