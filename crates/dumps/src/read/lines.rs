//! Lines of a dump, whatever editor, log or system they went through, and the pieces of one line.

use super::{MOST_DIAGNOSTICS, Size};
use hlo::{Diagnostic, Location, Severity};

/// A line without its end, its log prefix and its carriage return.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'t> {
    pub(crate) text: &'t str,
    number: u32,
    /// Byte offset of `text` in the whole input.
    offset: usize,
    /// Characters of the line before `text`.
    before: u32,
    /// Did it end in a newline?
    is_whole: bool,
}

impl Line<'_> {
    /// Its number, from 1.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

/// What a piece of a line should have been.
#[derive(Debug)]
pub(crate) struct Unexpected {
    /// Where in the line's text, in bytes.
    at: usize,
    expected: &'static str,
}

/// A piece that was read, or why not.
pub(crate) type Read<T> = Result<T, Unexpected>;

/// The lines of a text, and the remarks on them.
pub(crate) struct Lines<'t> {
    rest: &'t str,
    /// Byte offset of `rest`.
    offset: usize,
    number: u32,
    next: Option<Line<'t>>,
    /// The last line, if it does not end in a newline.
    unended: Option<Line<'t>>,
    diagnostics: Vec<Diagnostic>,
    left_out: usize,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = Self {
            rest,
            offset: text.len() - rest.len(),
            number: 0,
            next: None,
            unended: None,
            diagnostics: Vec::new(),
            left_out: 0,
        };
        lines.advance();
        lines
    }

    fn advance(&mut self) {
        if self.rest.is_empty() {
            self.next = None;
            return;
        }
        self.number += 1;
        let (whole, is_whole) = match self.rest.find('\n') {
            Some(end) => (&self.rest[..end], true),
            None => (self.rest, false),
        };
        let prefix = log_prefix(whole);
        let text = &whole[prefix..];
        self.next = Some(Line {
            text: text.strip_suffix('\r').unwrap_or(text),
            number: self.number,
            offset: self.offset + prefix,
            before: whole[..prefix].chars().count() as u32,
            is_whole,
        });
        self.unended = self.next.filter(|l| !l.is_whole && !l.text.is_empty());
        let taken = whole.len() + usize::from(is_whole);
        self.offset += taken;
        self.rest = &self.rest[taken..];
    }

    /// The line that is next.
    pub(crate) fn peek(&self) -> Option<Line<'t>> {
        self.next
    }

    /// Takes the next line.
    pub(crate) fn next(&mut self) -> Option<Line<'t>> {
        let line = self.next;
        self.advance();
        line
    }

    /// Does one of the few lines behind the next one begin like this?
    pub(crate) fn ahead(&self, start: &str) -> bool {
        self.rest
            .lines()
            .map(|line| &line[log_prefix(line)..])
            .filter(|line| !line.trim().is_empty())
            .take(1)
            .any(|line| line.trim_start().starts_with(start))
    }

    fn report(&mut self, severity: Severity, line: Line<'_>, at: usize, read: String, expected: String) {
        if self.diagnostics.len() >= MOST_DIAGNOSTICS {
            self.left_out += 1;
            return;
        }
        let column = line.before as usize + line.text.get(..at).unwrap_or(line.text).chars().count() + 1;
        let at = Location {
            line: line.number,
            column: u32::try_from(column).unwrap_or(u32::MAX),
            offset: u32::try_from(line.offset + at).unwrap_or(u32::MAX),
        };
        self.diagnostics.push(Diagnostic { severity, at, read, expected });
    }

    /// A piece could not be read.
    pub(crate) fn error(&mut self, line: Line<'_>, what: &Unexpected) {
        let rest = line.text.get(what.at..).unwrap_or("");
        let read = match quote(rest) {
            None if line.is_whole => "the end of the line".to_owned(),
            None => "the end of the file".to_owned(),
            Some(text) => format!("`{text}`"),
        };
        let cut = if line.is_whole { "" } else { "; the file seems to be cut off here" };
        self.report(Severity::Error, line, what.at, read, format!("{}{cut}", what.expected));
    }

    /// A remark on a line that was read.
    pub(crate) fn warn(&mut self, line: Line<'_>, read: String, expected: impl Into<String>) {
        self.report(Severity::Warning, line, 0, read, expected.into());
    }

    /// A remark on a line that was read before.
    pub(crate) fn warn_at(&mut self, line: u32, read: String, expected: String) {
        if self.diagnostics.len() >= MOST_DIAGNOSTICS {
            self.left_out += 1;
            return;
        }
        let at = Location { line, column: 1, offset: 0 };
        self.diagnostics.push(Diagnostic { severity: Severity::Warning, at, read, expected });
    }

    /// A line that was not understood.
    pub(crate) fn warn_line(&mut self, line: Line<'_>, expected: &'static str) {
        let start = line.text.len() - line.text.trim_start().len();
        let read = format!("`{}`", quote(line.text.trim_start()).unwrap_or_default());
        self.report(Severity::Warning, line, start, read, expected.to_owned());
    }

    /// All remarks.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        if let Some(last) = self.unended
            && !self.diagnostics.iter().any(|d| d.severity == Severity::Error && d.at.line == last.number)
        {
            let expected = "expected the end of a line; the file may be cut off here".to_owned();
            self.report(Severity::Warning, last, last.text.len(), "the end of the file".to_owned(), expected);
        }
        if self.left_out > 0
            && let Some(last) = self.diagnostics.last()
        {
            let at = last.at;
            self.diagnostics.push(Diagnostic {
                severity: Severity::Warning,
                at,
                read: format!("{} more remarks", self.left_out),
                expected: "which are left out".to_owned(),
            });
        }
        self.diagnostics
    }
}

/// The start of a text, short enough for a message.
fn quote(text: &str) -> Option<String> {
    const MOST: usize = 24;
    if text.is_empty() {
        return None;
    }
    let mut out: String = text.chars().take(MOST).filter(|c| !c.is_control()).collect();
    if text.chars().nth(MOST).is_some() {
        out.push('…');
    }
    Some(out)
}

/// How long the prefix is that a log puts before a line: `I0712 10:00:00.000000 1234 file.cc:2664] `.
fn log_prefix(line: &str) -> usize {
    let bytes = line.as_bytes();
    if bytes.len() < 6 || !b"IWEF".contains(&bytes[0]) || !bytes[1..5].iter().all(u8::is_ascii_digit) {
        return 0;
    }
    match line.find("] ") {
        Some(end) if line[..end].contains(':') => end + 2,
        // An empty line of a log may have lost its last space.
        _ if line.trim_end().ends_with(']') && line.contains(':') => line.trim_end().len(),
        _ => 0,
    }
}

/// A place in a line.
pub(crate) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(line: Line<'t>) -> Self {
        Self { text: line.text, at: 0 }
    }

    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(crate) fn skip(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.text.len());
    }

    pub(crate) fn spaces(&mut self) {
        let rest = self.rest();
        self.skip(rest.len() - rest.trim_start().len());
    }

    pub(crate) fn fail<T>(&self, expected: &'static str) -> Read<T> {
        Err(Unexpected { at: self.at, expected })
    }

    pub(crate) fn eat(&mut self, word: &str) -> bool {
        let yes = self.rest().starts_with(word);
        if yes {
            self.skip(word.len());
        }
        yes
    }

    pub(crate) fn expect(&mut self, word: &'static str) -> Read<()> {
        if self.eat(word) { Ok(()) } else { self.fail(named(word)) }
    }

    /// The text before `end`, left where it is.
    pub(crate) fn peek_until(&self, end: &'static str) -> Read<&'t str> {
        match self.rest().find(end) {
            Some(len) => Ok(&self.rest()[..len]),
            None => Err(Unexpected { at: self.text.len(), expected: named(end) }),
        }
    }

    /// Takes the text before `end`, and `end`.
    pub(crate) fn until(&mut self, end: &'static str) -> Read<&'t str> {
        let text = self.peek_until(end)?;
        self.skip(text.len() + end.len());
        Ok(text)
    }

    pub(crate) fn number(&mut self) -> Read<u64> {
        let rest = self.rest();
        let len = rest.bytes().take_while(u8::is_ascii_digit).count();
        if len == 0 {
            return self.fail("expected a number");
        }
        match rest[..len].parse() {
            Ok(n) => {
                self.skip(len);
                Ok(n)
            }
            Err(_) => self.fail("expected a number below 2^64"),
        }
    }

    pub(crate) fn number32(&mut self) -> Read<u32> {
        let start = self.at;
        let n = self.number()?;
        u32::try_from(n).map_err(|_| Unexpected { at: start, expected: "expected a number below 2^32" })
    }

    /// `157 444`: digits in groups.
    pub(crate) fn grouped(&mut self) -> Read<u64> {
        let rest = self.rest().as_bytes();
        let mut len = 0;
        while rest.get(len).is_some_and(|b| {
            b.is_ascii_digit() || *b == b' ' && rest.get(len + 1).is_some_and(u8::is_ascii_digit)
        }) {
            len += 1;
        }
        let digits: String = self.rest()[..len].chars().filter(char::is_ascii_digit).collect();
        if digits.is_empty() {
            return self.fail("expected a number");
        }
        match digits.parse() {
            Ok(n) => {
                self.skip(len);
                Ok(n)
            }
            Err(_) => self.fail("expected a number below 2^64"),
        }
    }

    /// `1234`, `36.2KiB`, `3.00MiB` or `20B`.
    pub(crate) fn size(&mut self) -> Read<Size> {
        let start = self.at;
        let whole = self.number()?;
        let mut hundredths = 0;
        let mut has_point = false;
        if self.rest().starts_with('.') {
            has_point = true;
            self.skip(1);
            let rest = self.rest();
            let len = rest.bytes().take_while(u8::is_ascii_digit).count();
            let mut digits = rest.bytes().take(len).chain([b'0', b'0']);
            for _ in 0..2 {
                hundredths = hundredths * 10 + u128::from(digits.next().unwrap_or(b'0') - b'0');
            }
            self.skip(len);
        }
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let Some(power) = units.iter().position(|u| self.eat(u)) else {
            if has_point {
                return Err(Unexpected { at: start, expected: "expected bytes with a unit" });
            }
            return Ok(Size { bytes: whole, is_exact: true });
        };
        let bytes = (u128::from(whole) * 100 + hundredths) * (1u128 << (10 * power)) / 100;
        Ok(Size { bytes: u64::try_from(bytes).unwrap_or(u64::MAX), is_exact: power == 0 })
    }
}

/// The words of a message for a token.
fn named(word: &'static str) -> &'static str {
    match word {
        "<" => "expected `<`",
        ">" => "expected `>`",
        ":" => "expected `:`",
        "|" => "expected `|`",
        "{" => "expected `{`",
        "}" => "expected `}`",
        ")" => "expected `)`",
        "," => "expected `,`",
        " " => "expected a space",
        "-" => "expected `-` and the end of the range",
        ";" => "expected `;`",
        " (size=" => "expected ` (size=BYTES,offset=BYTES)`",
        ",offset=" => "expected `,offset=BYTES)`",
        "): " => "expected `): ` and the shape",
        ": size " => "expected `: size BYTES`",
        _ => "something else",
    }
}
