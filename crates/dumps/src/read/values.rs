//! `-buffer-assignment-values.txt` (9.2).

use super::lines::{Cursor, Lines, Read};
use super::{Section, ShortValue, Size, ValueName, index, section, short_value};
use hlo::ShapeIndex;

/// What the file holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ValuesFile {
    /// `Total bytes used: N`
    pub total: Option<Size>,
    /// The values in the order of the file.
    pub values: Vec<ValueRecord>,
}

/// A value that has an allocation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ValueRecord {
    /// The value.
    pub value: ShortValue,
    /// Where it stands; the first position defines it.
    pub positions: Vec<PositionRecord>,
    /// Who reads it.
    pub uses: Vec<UseRecord>,
    /// The defining instruction as printed.
    pub instruction: String,
    /// The line of its head, from 1.
    pub line: u32,
}

/// `tuple.1 {0}`
pub type PositionRecord = ValueName;

/// `cond.7, operand 1 {0}`
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct UseRecord {
    /// The reader.
    pub instruction: String,
    /// Which of its operands.
    pub operand: u32,
    /// Where in the operand.
    pub index: ShapeIndex,
}

pub(crate) fn parse(lines: &mut Lines<'_>, file: &mut ValuesFile) {
    // Which list of a value the lines belong to.
    let mut in_uses = false;
    while let Some(line) = lines.peek() {
        let text = line.text;
        let trimmed = text.trim();
        if trimmed.is_empty() || trimmed.starts_with("Used values:") {
            lines.next();
        } else if trimmed.starts_with("Total bytes used:") {
            if section(lines, text) == Some(Section::Report) {
                break;
            }
            lines.next();
            let mut at = Cursor::new(line);
            match at.until(":").and_then(|_| {
                at.spaces();
                at.size()
            }) {
                Ok(size) => file.total = Some(size),
                Err(e) => lines.error(line, &e),
            }
        } else if text.starts_with('<') {
            lines.next();
            match short_value(&mut Cursor::new(line)) {
                Ok(value) => {
                    file.values.push(ValueRecord { value, line: line.number(), ..ValueRecord::default() });
                }
                Err(e) => lines.error(line, &e),
            }
            in_uses = false;
        } else if trimmed == "positions:" || trimmed == "uses:" {
            lines.next();
            in_uses = trimmed == "uses:";
        } else if let Some(instruction) = trimmed.strip_prefix("from instruction:") {
            lines.next();
            if let Some(value) = file.values.last_mut() {
                instruction.trim().clone_into(&mut value.instruction);
            }
        } else if text.starts_with("  ") && !file.values.is_empty() && section(lines, text).is_none() {
            lines.next();
            let Some(value) = file.values.last_mut() else { continue };
            let mut at = Cursor::new(line);
            at.spaces();
            if trimmed == "(none)" {
            } else if in_uses {
                match read_use(&mut at) {
                    Ok(u) => value.uses.push(u),
                    Err(e) => lines.error(line, &e),
                }
            } else {
                match position(&mut at) {
                    Ok(p) => value.positions.push(p),
                    Err(e) => lines.error(line, &e),
                }
            }
        } else if section(lines, text).is_some() {
            break;
        } else {
            lines.warn_line(
                line,
                "expected a value, its positions, uses or instruction; the line is passed over",
            );
            lines.next();
        }
    }
}

/// `tuple.1 {0}` or `dot`
pub(crate) fn position(at: &mut Cursor<'_>) -> Read<PositionRecord> {
    let rest = at.rest().trim_end();
    let (name, has_index) = match rest.split_once(" {") {
        Some((name, _)) => (name, true),
        None => (rest, false),
    };
    if name.is_empty() {
        return at.fail("expected the name of an instruction");
    }
    at.skip(name.len() + usize::from(has_index));
    Ok(ValueName {
        instruction: name.to_owned(),
        index: if has_index { index(at)? } else { ShapeIndex::root() },
    })
}

/// `cond.7, operand 1 {0}`
pub(crate) fn read_use(at: &mut Cursor<'_>) -> Read<UseRecord> {
    let instruction = at.until(",")?.to_owned();
    at.spaces();
    if !at.eat("operand ") {
        return at.fail("expected `operand NUMBER`");
    }
    let operand = at.number32()?;
    let index = if at.eat(" {") {
        let mut rest = ShapeIndex::root();
        if !at.eat("}") {
            loop {
                rest.0.push(at.number32()?);
                if !at.eat(",") {
                    break;
                }
            }
            at.expect("}")?;
        }
        rest
    } else {
        ShapeIndex::root()
    };
    Ok(UseRecord { instruction, operand, index })
}
