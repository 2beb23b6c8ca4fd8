//! From byte offsets to lines and columns.

use crate::{Diagnostic, Location, Severity};
use sorts::Arrange as _;

const MAX_ERRORS: usize = 100;
const MAX_WARNINGS: usize = 50;

/// What was found, by offset; the first so many of each kind.
#[derive(Default)]
pub(crate) struct Remarks {
    list: Vec<(usize, Severity, String, String)>,
    errors: usize,
    warnings: usize,
}

impl Remarks {
    /// Gives the error's number while there is room for it.
    pub(crate) fn error(
        &mut self,
        at: usize,
        read: impl Into<String>,
        expected: impl Into<String>,
    ) -> Option<usize> {
        self.errors += 1;
        if self.errors < MAX_ERRORS {
            self.list.push((at, Severity::Error, read.into(), expected.into()));
            return Some(self.list.len() - 1);
        }
        if self.errors == MAX_ERRORS {
            self.list.push((at, Severity::Error, "more errors".to_owned(), "not shown".to_owned()));
        }
        None
    }

    /// Says something better of an error, as soon as it is known.
    pub(crate) fn expect(&mut self, number: usize, expected: &str) {
        if let Some(remark) = self.list.get_mut(number) {
            expected.clone_into(&mut remark.3);
        }
    }

    pub(crate) fn warning(&mut self, at: usize, read: impl Into<String>, expected: impl Into<String>) {
        self.warnings += 1;
        if self.warnings <= MAX_WARNINGS {
            self.list.push((at, Severity::Warning, read.into(), expected.into()));
        }
    }

    pub(crate) fn any_error(&self) -> bool {
        self.errors > 0
    }
}

/// Gives every remark its line and column; `original` is the text before log prefixes were taken off its lines.
pub(super) fn locate(text: &str, original: Option<&str>, remarks: Remarks) -> Vec<Diagnostic> {
    let mut list = remarks.list;
    list.arrange_by_key(|r| r.0);
    let mut diagnostics = Vec::with_capacity(list.len());
    let mut list = list.into_iter().peekable();
    let mut original_lines = original.map(|o| o.split('\n'));
    let mut start = 0;
    let mut before = 0;
    for (number, line) in text.split('\n').enumerate() {
        let end = start + line.len();
        let original_line = original_lines.as_mut().and_then(Iterator::next);
        let prefix = original_line.map_or(0, |o| o.len().saturating_sub(line.len()));
        while let Some((at, severity, read, expected)) = list.next_if(|r| r.0 <= end) {
            let inside = line.get(..at.saturating_sub(start)).unwrap_or(line);
            let inside = inside.strip_prefix('\u{feff}').unwrap_or(inside);
            let at = Location {
                line: number as u32 + 1,
                column: (prefix + inside.chars().count()) as u32 + 1,
                offset: (at + before + prefix) as u32,
            };
            diagnostics.push(Diagnostic { severity, at, read, expected });
        }
        if list.peek().is_none() {
            break;
        }
        before += prefix;
        start = end + 1;
    }
    for (at, severity, read, expected) in list {
        let at = Location { line: 1, column: 1, offset: at as u32 };
        diagnostics.push(Diagnostic { severity, at, read, expected });
    }
    diagnostics
}
