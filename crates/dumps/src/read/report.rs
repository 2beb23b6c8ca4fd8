//! `-memory-usage-report.txt` (9.4), and its form until January 2025.

use super::buffer_assignment::header;
use super::lines::{Cursor, Line, Lines, Read};
use super::{AllocationRecord, Section, Size, section};

/// What the file holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReportFile {
    /// The memory spaces in the order of the file.
    pub spaces: Vec<ReportSpace>,
    /// `Total bytes used: N` of the old form.
    pub total: Option<Size>,
    /// The allocations of the old form.
    pub old_rows: Vec<OldRow>,
}

/// One memory space.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReportSpace {
    /// Its name.
    pub name: String,
    /// Its number.
    pub color: u32,
    /// The sum of its allocations, in bytes.
    pub total: u64,
    /// One block for each allocation, the largest first; small ones may be left out.
    pub blocks: Vec<ReportBlock>,
}

/// One allocation, without its number: the file does not give it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReportBlock {
    /// One row for each offset.
    pub rows: Vec<ReportRow>,
    /// How many rows are left out.
    pub left_out: u64,
}

/// The values at one offset.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReportRow {
    /// Sum of the rows up to here, rounded by the file. Rows can overlap, so this is no size of anything.
    pub cumulative: Size,
    /// The largest value of the row, rounded by the file.
    pub size: Size,
    /// Where it starts.
    pub offset: u64,
    /// How many values there are.
    pub values: u64,
    /// Their shapes, with how often each occurs.
    pub shapes: String,
}

/// One allocation of the old form.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OldRow {
    /// Sum of the allocations up to here, rounded by the file.
    pub cumulative: Size,
    /// The allocation; its size is rounded.
    pub allocation: AllocationRecord,
}

pub(crate) fn parse(lines: &mut Lines<'_>, file: &mut ReportFile) {
    let is_heading = |text: &str| text.starts_with("cumulative_size;");
    let mut is_old = false;
    while let Some(line) = lines.peek() {
        let text = line.text.trim();
        if text.starts_with("Memory Space:") {
            match space(line) {
                Ok(space) => file.spaces.push(space),
                Err(e) => lines.error(line, &e),
            }
            lines.next();
        } else if text.starts_with("Total bytes used:") {
            if section(lines, line.text) != Some(Section::Report) {
                break;
            }
            match total(line) {
                Ok(size) => file.total = Some(size),
                Err(e) => lines.error(line, &e),
            }
            lines.next();
        } else if text.starts_with("Total bytes:") {
            match (total(line), file.spaces.last_mut()) {
                (Ok(size), Some(space)) => space.total = size.bytes,
                (Err(e), _) => lines.error(line, &e),
                (Ok(_), None) => lines.warn_line(line, "expected `Memory Space:` before it"),
            }
            lines.next();
        } else if text.starts_with("Allocations sorted by size:") {
            is_old = true;
            lines.next();
        } else if is_heading(text) {
            // The old form has one heading over all allocations.
            if !text.contains("allocation") {
                if file.spaces.is_empty() && !is_old {
                    file.spaces.push(ReportSpace { name: "default".to_owned(), ..ReportSpace::default() });
                }
                if let Some(space) = file.spaces.last_mut() {
                    space.blocks.push(ReportBlock::default());
                }
            }
            lines.next();
        } else if text.is_empty() || text.starts_with("----") {
            lines.next();
        } else if let Some(rest) = text.strip_prefix("The rest ") {
            let count = rest.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            if let Some(block) = file.spaces.last_mut().and_then(|s| s.blocks.last_mut()) {
                block.left_out = count;
            }
            lines.next();
        } else if section(lines, line.text).is_some() {
            break;
        } else {
            lines.next();
            if is_old && text.contains("; allocation ") {
                match old_row(line) {
                    Ok(row) => file.old_rows.push(row),
                    Err(e) => lines.error(line, &e),
                }
                continue;
            }
            match row(line) {
                Ok(row) => {
                    if let Some(block) = file.spaces.last_mut().and_then(|s| s.blocks.last_mut()) {
                        block.rows.push(row);
                    } else if !is_old {
                        lines.warn_line(line, "expected the heading of its block before it");
                    }
                }
                Err(e) => lines.error(line, &e),
            }
        }
    }
}

/// `Memory Space: NAME (color=C)`
pub(crate) fn space(line: Line<'_>) -> Read<ReportSpace> {
    let mut at = Cursor::new(line);
    at.until(":")?;
    at.spaces();
    let rest = at.rest();
    let Some(len) = rest.rfind(" (color=") else { return at.fail("expected a name and `(color=NUMBER)`") };
    let name = rest[..len].to_owned();
    at.skip(len + " (color=".len());
    Ok(ReportSpace { name, color: at.number32()?, ..ReportSpace::default() })
}

/// `...: N (H)`
pub(crate) fn total(line: Line<'_>) -> Read<Size> {
    let mut at = Cursor::new(line);
    at.until(":")?;
    at.spaces();
    at.size()
}

/// `  4.00MiB(100%);    4.00MiB;           64;                1; f32[1048576]`
pub(crate) fn row(line: Line<'_>) -> Read<ReportRow> {
    let mut at = Cursor::new(line);
    let cumulative = cumulative(&mut at)?;
    at.spaces();
    let size = at.size()?;
    at.expect(";")?;
    at.spaces();
    let offset = at.number()?;
    at.expect(";")?;
    at.spaces();
    let values = at.number()?;
    at.expect(";")?;
    at.spaces();
    Ok(ReportRow { cumulative, size, offset, values, shapes: at.rest().trim_end().to_owned() })
}

/// `  4.00MiB( 50%);`
fn cumulative(at: &mut Cursor<'_>) -> Read<Size> {
    at.spaces();
    let size = at.size()?;
    at.until(";")?;
    Ok(size)
}

/// `  4.00MiB( 50%);    4.00MiB; allocation 5: size 4.00MiB, preallocated-temp:`
pub(crate) fn old_row(line: Line<'_>) -> Read<OldRow> {
    let mut at = Cursor::new(line);
    let cumulative = cumulative(&mut at)?;
    at.until(";")?;
    at.spaces();
    at.eat("allocation ");
    let mut allocation = AllocationRecord { line: line.number(), ..AllocationRecord::default() };
    header(&mut at, &mut allocation)?;
    Ok(OldRow { cumulative, allocation })
}
