//! `-buffer-assignment.txt` (9.1).

use super::lines::{Cursor, Line, Lines, Read};
use super::{LiveRangeFile, Section, ShortValue, Size, ValueName, ValuesFile, index, section, short_value};
use hlo::ShapeIndex;
use std::collections::HashMap;

/// What the file holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BufferAssignmentFile {
    /// The allocations in the order of the file.
    pub allocations: Vec<AllocationRecord>,
    /// The used values, where an old build put them into the same file.
    pub used_values: Option<ValuesFile>,
    /// The live ranges, where an old build put them into the same file.
    pub live_ranges: Option<LiveRangeFile>,
}

/// One allocation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "they are the words of the file")]
pub struct AllocationRecord {
    /// Its number.
    pub number: u32,
    /// Its size.
    pub size: Size,
    /// Its memory space.
    pub color: u32,
    /// `page P`, which only TPU builds print.
    pub page: Option<u32>,
    /// The entry parameter whose memory it is.
    pub parameter: Option<ParameterRecord>,
    /// The shape of the whole result, if its root stands here.
    pub output_shape: Option<String>,
    /// `constant`
    pub is_constant: bool,
    /// `thread-local`
    pub is_thread_local: bool,
    /// `maybe-live-out`
    pub maybe_live_out: bool,
    /// `preallocated-temp`
    pub is_preallocated_temp: bool,
    /// Its values in the order of the file.
    pub values: Vec<PlacedRecord>,
    /// Values of other memory spaces that use it too (builds from mid-2026).
    pub reused_by: Vec<ShortValue>,
    /// The line of its header, from 1.
    pub line: u32,
}

/// `parameter 0, shape |f32[4]| at ShapeIndex {}`
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ParameterRecord {
    /// Its number.
    pub number: u32,
    /// Its shape; empty where an old file leaves it out.
    pub shape: String,
    /// Where in the parameter.
    pub index: ShapeIndex,
}

/// A value in an allocation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlacedRecord {
    /// The value.
    pub value: ShortValue,
    /// Bytes it takes.
    pub size: u64,
    /// Bytes from the start of the allocation.
    pub offset: u64,
    /// Its shape with layout.
    pub shape: String,
    /// Its line, from 1.
    pub line: u32,
}

impl BufferAssignmentFile {
    /// Sum of the sizes of all allocations, in bytes; stops at `u64::MAX`.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.allocations.iter().fold(0, |sum, a| sum.saturating_add(a.size.bytes))
    }

    /// Sum of the sizes of the preallocated temps, in bytes; stops at `u64::MAX`.
    #[must_use]
    pub fn temp_bytes(&self) -> u64 {
        let temps = self.allocations.iter().filter(|a| a.is_preallocated_temp);
        temps.fold(0, |sum, a| sum.saturating_add(a.size.bytes))
    }
}

pub(crate) fn parse(lines: &mut Lines<'_>, file: &mut BufferAssignmentFile) {
    let first = file.allocations.len();
    while let Some(line) = lines.peek() {
        let text = line.text.trim();
        if text.starts_with("allocation ") {
            lines.next();
            // Of a broken header what stands before the break is kept, for the values that follow.
            let number = file.allocations.last().map_or(0, |a| a.number.saturating_add(1));
            let mut allocation =
                AllocationRecord { number, line: line.number(), ..AllocationRecord::default() };
            let mut at = Cursor::new(line);
            at.spaces();
            at.eat("allocation ");
            match header(&mut at, &mut allocation) {
                Ok(Some(unknown)) => lines.warn(line, format!("`{unknown}`"), "which is passed over"),
                Ok(None) => {}
                Err(e) => lines.error(line, &e),
            }
            file.allocations.push(allocation);
        } else if text.starts_with("value: ") {
            lines.next();
            match (value(line), file.allocations.last_mut()) {
                (Ok(placed), Some(allocation)) => allocation.values.push(placed),
                (Ok(_), None) => {
                    lines.warn(line, "a value".to_owned(), "expected the line of its allocation before it");
                }
                (Err(e), _) => lines.error(line, &e),
            }
        } else if text.starts_with("reused by buffers of a different color:") {
            lines.next();
            match (reused_by(line), file.allocations.last_mut()) {
                (Ok(values), Some(allocation)) => allocation.reused_by.extend(values),
                (Err(e), _) => lines.error(line, &e),
                (Ok(_), None) => {}
            }
        } else if text.is_empty() || text.starts_with("BufferAssignment:") {
            lines.next();
        } else {
            if section(lines, line.text).is_some_and(|s| s != Section::Assignment) {
                break;
            }
            lines.warn_line(line, "expected `allocation ` or ` value: `; the line is passed over");
            lines.next();
        }
    }
    contradictions(lines, &file.allocations[first..]);
}

/// What is well written but cannot be.
fn contradictions(lines: &mut Lines<'_>, allocations: &[AllocationRecord]) {
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    let mut seen: HashMap<(u32, &ValueName), u32> = HashMap::new();
    for a in allocations {
        if let Some(before) = numbers.insert(a.number, a.line) {
            lines.warn_at(
                a.line,
                format!("a second allocation {}", a.number),
                format!("the first is in line {before}"),
            );
        }
        for p in &a.values {
            let beyond = p.offset.checked_add(p.size).is_none_or(|end| end > a.size.bytes);
            if beyond && a.size.is_exact {
                lines.warn_at(
                    p.line,
                    format!("`{}` at {} with {} bytes", p.value.name, p.offset, p.size),
                    format!("which ends behind the {} bytes of allocation {}", a.size.bytes, a.number),
                );
            }
            if let Some(before) = seen.insert((p.value.id, &p.value.name), p.line) {
                lines.warn_at(
                    p.line,
                    format!("`{}` a second time", p.value.name),
                    format!("it has a place in line {before}"),
                );
            }
        }
    }
}

/// Reads a header from the allocation's number on; gives the first word that is not known.
pub(crate) fn header(at: &mut Cursor<'_>, a: &mut AllocationRecord) -> Read<Option<String>> {
    a.number = at.number32()?;
    at.expect(": size ")?;
    a.size = at.size()?;
    let mut unknown = None;
    while at.eat(", ") {
        if at.eat("color ") {
            a.color = at.number32()?;
        } else if at.eat("page ") {
            a.page = Some(at.number32()?);
        } else if at.eat("parameter ") {
            let number = at.number32()?;
            let shape = if at.eat(", shape |") { at.until("|")?.to_owned() } else { String::new() };
            let index = if at.eat(" at ShapeIndex ") { index(at)? } else { ShapeIndex::root() };
            a.parameter = Some(ParameterRecord { number, shape, index });
        } else if at.eat("output shape is |") {
            a.output_shape = Some(at.until("|")?.to_owned());
        } else if at.eat("constant") {
            a.is_constant = true;
        } else if at.eat("thread-local") {
            a.is_thread_local = true;
        } else if at.eat("maybe-live-out") {
            a.maybe_live_out = true;
        } else if at.eat("preallocated-temp") {
            a.is_preallocated_temp = true;
        } else {
            let rest = at.rest();
            let len = rest.find(", ").unwrap_or_else(|| rest.strip_suffix(':').unwrap_or(rest).len());
            unknown.get_or_insert_with(|| rest[..len].to_owned());
            at.skip(len.max(1));
        }
    }
    at.expect(":")?;
    Ok(unknown)
}

pub(crate) fn value(line: Line<'_>) -> Read<PlacedRecord> {
    let mut at = Cursor::new(line);
    at.spaces();
    at.eat("value: ");
    let value = short_value(&mut at)?;
    at.expect(" (size=")?;
    let size = at.number()?;
    at.expect(",offset=")?;
    let offset = at.number()?;
    at.expect("): ")?;
    let shape = at.rest().trim_end();
    let count = |open: [char; 2]| shape.matches(open).count();
    if shape.is_empty()
        || count(['[', '(']) + shape.matches('{').count() != count([']', ')']) + shape.matches('}').count()
    {
        at.skip(at.rest().len());
        return at.fail("expected the rest of the shape");
    }
    Ok(PlacedRecord { value, size, offset, shape: shape.to_owned(), line: line.number() })
}

fn reused_by(line: Line<'_>) -> Read<Vec<ShortValue>> {
    let mut at = Cursor::new(line);
    at.until(":")?;
    at.spaces();
    let mut out = Vec::new();
    while !at.rest().is_empty() {
        out.push(short_value(&mut at)?);
        at.eat(",");
        at.spaces();
    }
    Ok(out)
}
