//! `-live-range.txt` (4.4).

use super::lines::{Cursor, Line, Lines, Read};
use super::{Section, ValueName, section};

/// What the file holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LiveRangeFile {
    /// The end of the program: how many instructions the flattened schedule has.
    pub end: Option<u32>,
    /// The instructions in the order in which they run.
    pub sequence: Vec<String>,
    /// The live ranges in the order of the file.
    pub ranges: Vec<RangeRecord>,
    /// What is alive at the peak; older files have none.
    pub peak: Option<PeakRecord>,
    /// The breakdown of the peak in the order of the file; files before 2026 have none.
    pub breakdown: Vec<BreakdownLine>,
    /// The file says that sizes are not known, so that there is no peak.
    pub is_unbounded: bool,
}

/// `x{0}:3-24`
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RangeRecord {
    /// The value.
    pub name: ValueName,
    /// Its first step.
    pub start: u32,
    /// Its last step.
    pub end: u32,
}

/// The peak and what is alive there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PeakRecord {
    /// When.
    pub step: u32,
    /// What, in the order of the file.
    pub values: Vec<PeakEntry>,
}

/// `x{}: 4194304 bytes (cumulative: 4194304 bytes)`
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PeakEntry {
    /// The value.
    pub name: ValueName,
    /// Its untiled bytes.
    pub bytes: u64,
    /// The sum up to here, where the file gives it.
    pub cumulative: Option<u64>,
}

/// A line of the tree under `Stack trace breakdown`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BreakdownLine {
    /// How deep it stands; 0 is the outermost.
    pub depth: u32,
    /// The part of the trace.
    pub name: String,
    /// Bytes of it and of all below.
    pub total: u64,
    /// Bytes of its own.
    pub current: u64,
}

/// Which list the lines belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    None,
    Sequence,
    Ranges,
    Peak,
    Breakdown,
}

pub(crate) fn parse(lines: &mut Lines<'_>, file: &mut LiveRangeFile) {
    let mut list = List::None;
    while let Some(line) = lines.peek() {
        let text = line.text.trim();
        if text.is_empty() {
            lines.next();
        } else if text.starts_with("HloLiveRange (max") {
            let mut at = Cursor::new(line);
            at.spaces();
            at.skip("HloLiveRange (max".len());
            at.spaces();
            match at.number32() {
                Ok(end) => file.end = Some(end),
                Err(e) => lines.error(line, &e),
            }
            lines.next();
        } else if let Some(next) = heading(text) {
            list = next;
            if list == List::Peak {
                let mut at = Cursor::new(line);
                at.spaces();
                at.skip("Live ranges at ".len());
                match at.number32() {
                    Ok(step) => file.peak = Some(PeakRecord { step, values: Vec::new() }),
                    Err(e) => {
                        lines.error(line, &e);
                        list = List::None;
                    }
                }
            }
            lines.next();
        } else if text.starts_with("Peak memory could not be determined") {
            file.is_unbounded = true;
            lines.next();
        } else if section(lines, line.text).is_some_and(|s| s != Section::LiveRange) {
            break;
        } else {
            lines.next();
            let read = match list {
                List::None => {
                    lines.warn_line(
                        line,
                        "expected a heading of the live-range file; the line is passed over",
                    );
                    Ok(())
                }
                List::Sequence => step(line).map(|(number, name)| {
                    if number as usize != file.sequence.len() {
                        lines.warn(
                            line,
                            format!("step {number}"),
                            format!("expected step {}", file.sequence.len()),
                        );
                    }
                    file.sequence.push(name);
                }),
                List::Ranges => range(line).map(|r| {
                    if r.end < r.start {
                        lines.warn(
                            line,
                            format!("`{}` from {} to {}", r.name, r.start, r.end),
                            "which ends before it starts",
                        );
                    }
                    file.ranges.push(r);
                }),
                List::Peak => peak_entry(line).map(|e| {
                    if let Some(peak) = &mut file.peak {
                        peak.values.push(e);
                    }
                }),
                List::Breakdown => breakdown_line(line).map(|l| file.breakdown.push(l)),
            };
            if let Err(e) = read {
                lines.error(line, &e);
            }
        }
    }
}

fn heading(text: &str) -> Option<List> {
    let headings = [
        ("InstructionSequence:", List::Sequence),
        ("BufferLiveRange:", List::Ranges),
        ("Live ranges at ", List::Peak),
        ("Stack trace breakdown", List::Breakdown),
    ];
    headings.into_iter().find(|(start, _)| text.starts_with(start)).map(|(_, list)| list)
}

/// `12:name`
pub(crate) fn step(line: Line<'_>) -> Read<(u32, String)> {
    let mut at = Cursor::new(line);
    at.spaces();
    let number = at.number32()?;
    at.expect(":")?;
    if at.rest().is_empty() {
        return at.fail("expected the name of an instruction");
    }
    Ok((number, at.rest().trim_end().to_owned()))
}

/// Takes `x{0}` and the colon behind it.
fn name(at: &mut Cursor<'_>) -> Read<ValueName> {
    let text = at.peek_until(":")?;
    let Ok(name) = text.parse() else { return at.fail("expected a name like `fusion.1{}` or `while.2{0}`") };
    at.skip(text.len() + 1);
    Ok(name)
}

pub(crate) fn range(line: Line<'_>) -> Read<RangeRecord> {
    let mut at = Cursor::new(line);
    at.spaces();
    let name = name(&mut at)?;
    at.spaces();
    let start = at.number32()?;
    at.expect("-")?;
    Ok(RangeRecord { name, start, end: at.number32()? })
}

pub(crate) fn peak_entry(line: Line<'_>) -> Read<PeakEntry> {
    let mut at = Cursor::new(line);
    at.spaces();
    let name = name(&mut at)?;
    at.spaces();
    let bytes = at.number()?;
    at.eat(" bytes");
    let cumulative = if at.eat(" (cumulative: ") { Some(at.number()?) } else { None };
    Ok(PeakEntry { name, bytes, cumulative })
}

/// `      ├── jit(f)/exp (50.0%, total: 4 194 304 bytes, current: 4 194 304 bytes, remaining: 8 bytes)`
pub(crate) fn breakdown_line(line: Line<'_>) -> Read<BreakdownLine> {
    let text = line.text;
    let start = text.find(|c: char| !matches!(c, ' ' | '│' | '├' | '└' | '─')).unwrap_or(text.len());
    // The outermost stands at column 4, every level below four further, its connector included; the first takes two more.
    let columns = text[..start].chars().count();
    let depth = if columns <= 4 { 0 } else { columns.saturating_sub(6) / 4 };
    let mut at = Cursor::new(line);
    at.skip(start);
    // A name may hold anything, so the numbers are looked for from the end.
    let Some(len) = at.rest().rfind("%, total: ").and_then(|end| at.rest()[..end].rfind(" (")) else {
        return at.fail("expected a name and `(P%, total: BYTES bytes, current: BYTES bytes, ...)`");
    };
    let name = at.rest()[..len].to_owned();
    at.skip(len + " (".len());
    at.until(":")?;
    at.spaces();
    let total = at.grouped()?;
    at.until(":")?;
    at.spaces();
    let current = at.grouped()?;
    Ok(BreakdownLine { depth: depth as u32, name, total, current })
}
