//! The four files read back, of all generations.
//!
//! Every reader takes the whole text of a file and gives what could be read together with remarks that name line and
//! column; it never fails as a whole and never panics. A byte order mark, carriage returns and the prefixes of a log
//! (`I0712 10:00:00.000000 1234 buffer_assignment.cc:2664] `) are passed over.
//!
//! Old builds wrote the used values and the live ranges behind the allocations, into one file: [`everything`] takes
//! any of the files, or several in one, by what stands in it. The readers of one kind are the same with a remark if
//! that kind is missing.
//!
//! Values go by the name of their instruction and the index in its result, because that is what all files have;
//! [`ShortValue::id`] is XLA's number where the file gives it.

mod annotate;
mod buffer_assignment;
mod lines;
mod live_range;
mod report;
mod values;

pub use annotate::{LineKind, annotate};
pub use buffer_assignment::{AllocationRecord, BufferAssignmentFile, ParameterRecord, PlacedRecord};
pub use live_range::{BreakdownLine, LiveRangeFile, PeakEntry, PeakRecord, RangeRecord};
pub use report::{OldRow, ReportBlock, ReportFile, ReportRow, ReportSpace};
pub use values::{PositionRecord, UseRecord, ValueRecord, ValuesFile};

use hlo::{Diagnostic, ShapeIndex};
use lines::{Cursor, Lines, Read};
use std::fmt;

/// Most remarks on one file; the rest are counted in the last one.
pub const MOST_DIAGNOSTICS: usize = 200;

/// A value, by name: the instruction that defines it and where in its result.
///
/// Files print `x`, `x{}` and `x{0}`; the first two are the same.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct ValueName {
    /// The instruction, without `%`.
    pub instruction: String,
    /// Where in its result.
    pub index: ShapeIndex,
}

impl fmt::Display for ValueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.instruction)?;
        if self.index.is_root() { Ok(()) } else { write!(f, "{}", self.index) }
    }
}

impl std::str::FromStr for ValueName {
    type Err = String;

    /// Reads `x`, `%x`, `x{}` or `x{0,1}`.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim().trim_start_matches('%');
        let (name, index) = match text.split_once('{') {
            Some((name, rest)) => {
                let inner =
                    rest.strip_suffix('}').ok_or_else(|| format!("`{text}`, expected a `}}` at the end"))?;
                (name, inner)
            }
            None => (text, ""),
        };
        let numbers: Result<Vec<u32>, _> =
            index.split(',').map(str::trim).filter(|n| !n.is_empty()).map(str::parse).collect();
        match numbers {
            _ if name.is_empty() => {
                Err(format!("`{text}`, expected a name like `fusion.1` or `while.2{{0}}`"))
            }
            Ok(numbers) => Ok(Self { instruction: name.to_owned(), index: ShapeIndex::from(&numbers[..]) }),
            Err(_) => Err(format!("`{text}`, expected numbers between the braces")),
        }
    }
}

/// A value as `<48 arg_tuple.3{1} (phi) @0>` tells it (2.8).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShortValue {
    /// XLA's number.
    pub id: u32,
    /// Its name.
    pub name: ValueName,
    /// Does it stand for one of several values?
    pub is_phi: bool,
    /// Its memory space; old files and files made before colouring have none.
    pub color: Option<u32>,
}

/// A number of bytes, which some files give rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// Bytes; a rounded size is taken at its face value.
    pub bytes: u64,
    /// Was it printed in full?
    pub is_exact: bool,
}

/// All that a text holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Dump {
    /// The allocations, if there are any.
    pub assignment: Option<BufferAssignmentFile>,
    /// The used values.
    pub values: Option<ValuesFile>,
    /// The live ranges.
    pub live_range: Option<LiveRangeFile>,
    /// The memory-usage report.
    pub report: Option<ReportFile>,
}

/// What begins at a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Assignment,
    Values,
    LiveRange,
    Report,
}

/// Reads whatever of the four files a text holds.
#[must_use]
pub fn everything(text: &str) -> (Dump, Vec<Diagnostic>) {
    let mut lines = Lines::new(text);
    let mut dump = Dump::default();
    while let Some(line) = lines.peek() {
        match section(&lines, line.text) {
            Some(Section::Assignment) => {
                buffer_assignment::parse(&mut lines, dump.assignment.get_or_insert_default());
            }
            Some(Section::Values) => values::parse(&mut lines, dump.values.get_or_insert_default()),
            Some(Section::LiveRange) => {
                live_range::parse(&mut lines, dump.live_range.get_or_insert_default());
            }
            Some(Section::Report) => report::parse(&mut lines, dump.report.get_or_insert_default()),
            None => {
                if !line.text.trim().is_empty() {
                    lines.warn_line(line, "expected the start of a buffer-assignment, values, live-range or memory-usage file; the line is passed over");
                }
                lines.next();
            }
        }
    }
    if let Some(assignment) = &mut dump.assignment {
        assignment.used_values.clone_from(&dump.values);
        assignment.live_ranges.clone_from(&dump.live_range);
    }
    (dump, lines.finish())
}

/// Does the text hold allocations? A module's own text does not.
#[must_use]
pub fn is_buffer_assignment(text: &str) -> bool {
    text.lines()
        .any(|line| line.contains("BufferAssignment:") || line.trim_start().starts_with("allocation "))
}

/// Which section a line begins.
pub(crate) fn section(lines: &Lines<'_>, line: &str) -> Option<Section> {
    let line = line.trim();
    if line.starts_with("BufferAssignment:") || line.starts_with("allocation ") {
        Some(Section::Assignment)
    } else if line.starts_with("Total bytes used:") {
        // The head of the values, or of an old report.
        Some(if lines.ahead("Allocations sorted by size:") { Section::Report } else { Section::Values })
    } else if line.starts_with("Used values:") {
        Some(Section::Values)
    } else if line.starts_with("HloLiveRange (max")
        || line.starts_with("BufferLiveRange:")
        || line.starts_with("InstructionSequence:")
    {
        Some(Section::LiveRange)
    } else if line.starts_with("Memory Space:") || line.starts_with("Allocations sorted by size:") {
        Some(Section::Report)
    } else {
        None
    }
}

fn one<T: Default>(
    part: Option<T>,
    what: &'static str,
    mut diagnostics: Vec<Diagnostic>,
) -> (T, Vec<Diagnostic>) {
    if part.is_none() {
        diagnostics.push(Diagnostic {
            severity: hlo::Severity::Error,
            at: hlo::Location { line: 1, column: 1, offset: 0 },
            read: "another kind of text".to_owned(),
            expected: format!("expected {what}"),
        });
    }
    (part.unwrap_or_default(), diagnostics)
}

/// Reads `-buffer-assignment.txt`, of any generation.
#[must_use]
pub fn buffer_assignment(text: &str) -> (BufferAssignmentFile, Vec<Diagnostic>) {
    let (dump, diagnostics) = everything(text);
    one(dump.assignment, "`BufferAssignment:`", diagnostics)
}

/// Reads `-buffer-assignment-values.txt`, or that part of an old buffer-assignment file.
#[must_use]
pub fn values(text: &str) -> (ValuesFile, Vec<Diagnostic>) {
    let (dump, diagnostics) = everything(text);
    one(dump.values, "`Used values:`", diagnostics)
}

/// Reads `-live-range.txt`, or that part of an old buffer-assignment file.
#[must_use]
pub fn live_range(text: &str) -> (LiveRangeFile, Vec<Diagnostic>) {
    let (dump, diagnostics) = everything(text);
    one(dump.live_range, "`HloLiveRange (max N):`", diagnostics)
}

/// Reads `-memory-usage-report.txt`, of any generation.
#[must_use]
pub fn memory_usage_report(text: &str) -> (ReportFile, Vec<Diagnostic>) {
    let (dump, diagnostics) = everything(text);
    one(dump.report, "`Memory Space: NAME (color=N)`", diagnostics)
}

/// `<48 arg_tuple.3{1} (phi) @0>`
pub(crate) fn short_value(at: &mut Cursor<'_>) -> Read<ShortValue> {
    at.expect("<")?;
    let id = at.number32()?;
    at.expect(" ")?;
    let inner = at.peek_until(">")?;
    let (rest, color) = match inner.rsplit_once(" @") {
        Some((rest, color)) => (rest, color.parse().ok()),
        None => (inner, None),
    };
    if color.is_none() && rest.len() != inner.len() {
        at.skip(rest.len() + 2);
        return at.fail("expected the number of a colour");
    }
    let (rest, is_phi) = match rest.strip_suffix(" (phi)") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let Ok(name) = rest.parse() else { return at.fail("expected a name like `fusion.1` or `while.2{0}`") };
    at.skip(inner.len() + 1);
    Ok(ShortValue { id, name, is_phi, color })
}

/// `{}` or `{0,1}`
pub(crate) fn index(at: &mut Cursor<'_>) -> Read<ShapeIndex> {
    at.expect("{")?;
    let mut out = ShapeIndex::root();
    if at.eat("}") {
        return Ok(out);
    }
    loop {
        out.0.push(at.number32()?);
        if !at.eat(",") {
            break;
        }
        at.eat(" ");
    }
    at.expect("}")?;
    Ok(out)
}
