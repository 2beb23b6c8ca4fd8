//! What a reader says of its input.

use std::fmt;

/// Where in a text. Lines and columns count from 1; columns count characters, not bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Location {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Byte offset from the start of the text.
    pub offset: u32,
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Read all the same: newer or looser than XLA takes, or a contradiction that does not matter for reading.
    Warning,
    /// The text is wrong here; what stands around it may still have been read.
    Error,
}

/// One remark: where, what was read, what was expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where it stands.
    pub at: Location,
    /// What was read there, in words or as a short quotation.
    pub read: String,
    /// What was expected, or what was done about it.
    pub expected: String,
}

impl fmt::Display for Diagnostic {
    /// `LINE:COLUMN: READ, EXPECTED`; the caller puts the file's name in front.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.severity {
            Severity::Warning => "warning: ",
            Severity::Error => "",
        };
        write!(f, "{}:{}: {kind}{}, {}", self.at.line, self.at.column, self.read, self.expected)
    }
}

impl Location {
    /// Where a byte of a text stands.
    #[must_use]
    pub fn of(text: &str, offset: u32) -> Self {
        let before = text.as_bytes().get(..offset as usize).unwrap_or(text.as_bytes());
        let line_start = before.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        let line = before.split(|b| *b == b'\n').count();
        // A character begins at each byte that does not continue one.
        let column = before[line_start..].iter().filter(|b| **b & 0xc0 != 0x80).count() + 1;
        Self { line: line as u32, column: column as u32, offset }
    }
}
