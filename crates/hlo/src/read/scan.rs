//! Pieces of text: words, balanced brackets, values.

use super::{Reader, Said, Step};
use crate::ShapeId;
use crate::module::Span;
use crate::text::quote;
use smallvec::SmallVec;

/// What a byte may mean while a value is looked through.
const PLAIN: u8 = 0;
const OPENS: u8 = 1;
const CLOSES: u8 = 2;
const QUOTE: u8 = 3;
const COMMA: u8 = 4;
const NEWLINE: u8 = 5;
const SLASH: u8 = 6;

static MEANING: [u8; 256] = {
    let mut table = [PLAIN; 256];
    table[b'(' as usize] = OPENS;
    table[b'[' as usize] = OPENS;
    table[b'{' as usize] = OPENS;
    table[b')' as usize] = CLOSES;
    table[b']' as usize] = CLOSES;
    table[b'}' as usize] = CLOSES;
    table[b'"' as usize] = QUOTE;
    table[b',' as usize] = COMMA;
    table[b'\n' as usize] = NEWLINE;
    table[b'/' as usize] = SLASH;
    table
};

static WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 128 {
        let c = b as u8;
        table[b] = c.is_ascii_alphanumeric() || c == b'_' || c == b'.' || c == b'-';
        b += 1;
    }
    table
};

pub(super) fn span(start: usize, end: usize) -> Span {
    Span { start: start as u32, len: (end - start) as u32 }
}

impl<'t> Reader<'t> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn eat(&mut self, c: u8) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    /// A piece of the source; text made here is not found.
    pub(super) fn str(&self, span: Span) -> &'t str {
        self.text.get(span.start as usize..span.start as usize + span.len as usize).unwrap_or("")
    }

    /// Appends to the text made here.
    pub(super) fn make(&mut self, text: &str) -> Span {
        // The text as a whole must stay below 4 GiB; past that, the name is lost and `finish` says so.
        let start = self.text.len() + self.extra.len();
        if start + text.len() >= u32::MAX as usize {
            self.remarks.error(0, "a text of nearly 4 GiB", "expected a smaller one");
            return Span::default();
        }
        self.extra.push_str(text);
        Span { start: start as u32, len: text.len() as u32 }
    }

    /// The rest of the line, without its end.
    pub(super) fn line(&self) -> &'t str {
        let end = find(self.bytes, self.at, b'\n').unwrap_or(self.bytes.len());
        self.text.get(self.at..end).unwrap_or("").trim_end()
    }

    pub(super) fn skip_line(&mut self) {
        self.at = find(self.bytes, self.at, b'\n').map_or(self.bytes.len(), |n| n + 1);
    }

    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// White space, comments, NUL bytes (of which something has been said already).
    pub(super) fn skip_space(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\t' | b'\r' | 0 | 0x0c | 0x0b) => self.at += 1,
                Some(b'/') if self.bytes.get(self.at + 1) == Some(&b'/') => self.skip_line(),
                Some(b'/') if self.bytes.get(self.at + 1) == Some(&b'*') => {
                    match comment_end(self.bytes, self.at) {
                        Some(end) => self.at = end,
                        None => {
                            self.remarks.error(self.at, "a comment without end", "expected `*/`");
                            self.at = self.bytes.len();
                        }
                    }
                }
                _ => return,
            }
        }
    }

    /// Does `word` stand here, and nothing that would continue it?
    pub(super) fn at_word(&self, word: &str) -> bool {
        let rest = &self.bytes[self.at..];
        rest.starts_with(word.as_bytes()) && !rest.get(word.len()).is_some_and(|b| WORD[*b as usize])
    }

    pub(super) fn unexpected<T>(&mut self, expected: &str) -> Step<T> {
        let read = match self.text.get(self.at..).and_then(|t| t.chars().next()) {
            None if self.at >= self.bytes.len() => "the end of the text".to_owned(),
            None => "the middle of a character".to_owned(),
            Some('\n' | '\r') => "the end of the line".to_owned(),
            Some(c) if c.is_ascii() && WORD[c as usize] => {
                let end = self.word_end(self.at);
                quote(&self.text[self.at..end])
            }
            Some(c) => quote(c.encode_utf8(&mut [0; 4])),
        };
        self.remarks.error(self.at, read, expected);
        Err(Said)
    }

    fn word_end(&self, start: usize) -> usize {
        let mut at = start;
        while self.bytes.get(at).is_some_and(|b| WORD[*b as usize]) {
            at += 1;
        }
        at
    }

    pub(super) fn word(&mut self, expected: &str) -> Step<Span> {
        let end = self.word_end(self.at);
        if end == self.at {
            return self.unexpected(expected);
        }
        let word = span(self.at, end);
        self.at = end;
        Ok(word)
    }

    /// A name with or without `%`; the span has none.
    pub(super) fn name(&mut self) -> Step<Span> {
        self.eat(b'%');
        self.word("expected a name")
    }

    /// `name=`, and the space behind it; `last_end` is where that space begins.
    pub(super) fn attribute_name(&mut self) -> Step<Span> {
        let name = self.word("expected an attribute")?;
        self.skip_space();
        if !self.eat(b'=') {
            return self.unexpected("expected `=` after the attribute's name");
        }
        self.last_end = self.at;
        self.skip_space();
        Ok(name)
    }

    /// Does `name =` or `ROOT` follow, as inside `calls={...}`?
    pub(super) fn starts_instruction(&self) -> bool {
        let mut at = self.at;
        let blank = |at: &mut usize| {
            while self.bytes.get(*at).is_some_and(u8::is_ascii_whitespace) {
                *at += 1;
            }
        };
        blank(&mut at);
        if self.bytes[at..].starts_with(b"ROOT ") {
            return true;
        }
        at += usize::from(self.bytes.get(at) == Some(&b'%'));
        let end = self.word_end(at);
        if end == at {
            return false;
        }
        at = end;
        blank(&mut at);
        self.bytes.get(at) == Some(&b'=')
    }

    /// Does a shape stand here, rather than a name?
    pub(super) fn starts_shape(&self) -> bool {
        match self.peek() {
            Some(b'(') => true,
            Some(b'a'..=b'z') => {
                let end = self.word_end(self.at);
                let next = self.bytes.get(end);
                next == Some(&b'[') || next == Some(&b'(') && &self.bytes[self.at..end] == b"b"
            }
            _ => false,
        }
    }

    /// Behind the closing quote of the string that starts at `start`.
    pub(super) fn string_end(&self, start: usize) -> Option<usize> {
        let mut at = start + 1;
        loop {
            match *self.bytes.get(at)? {
                b'"' => return Some(at + 1),
                b'\\' => at += 2,
                b'\n' if !self.many_lines => return None,
                _ => at += 1,
            }
        }
    }

    /// From an opening bracket to the one that closes it; gives what stands between, trimmed.
    pub(super) fn balanced(&mut self) -> Step<Span> {
        let start = self.at;
        self.scan(true)?;
        Ok(self.trimmed(start + 1, self.at - 1))
    }

    /// A value: to the comma, the end of the line, a comment or an unmatched closing bracket.
    pub(super) fn value(&mut self) -> Step<Span> {
        let start = self.at;
        self.scan(false)?;
        let value = self.trimmed(start, self.at);
        if value.len == 0 {
            self.at = self.last_end;
            return self.unexpected("expected the attribute's value");
        }
        Ok(value)
    }

    fn trimmed(&self, mut start: usize, mut end: usize) -> Span {
        while start < end && self.bytes[end - 1].is_ascii_whitespace() {
            end -= 1;
        }
        while start < end && self.bytes[start].is_ascii_whitespace() {
            start += 1;
        }
        span(start, end)
    }

    /// Over strings, comments and brackets; `one`: to the end of the first bracketed group.
    fn scan(&mut self, one: bool) -> Step<()> {
        let start = self.at;
        let mut at = start;
        self.brackets.clear();
        let bytes = self.bytes;
        loop {
            while bytes.get(at).is_some_and(|b| MEANING[*b as usize] == PLAIN) {
                at += 1;
            }
            let Some(&b) = bytes.get(at) else { break };
            match MEANING[b as usize] {
                OPENS => {
                    self.brackets.push((b, at as u32));
                    at += 1;
                }
                CLOSES => {
                    let Some((open, open_at)) = self.brackets.pop() else {
                        self.at = at;
                        return Ok(());
                    };
                    let expected = match open {
                        b'(' => b')',
                        b'[' => b']',
                        _ => b'}',
                    };
                    if b != expected {
                        self.at = open_at as usize;
                        let read = quote(char::from(b).encode_utf8(&mut [0; 4]));
                        self.remarks.error(at, read, format!("expected `{}`", char::from(expected)));
                        return Err(Said);
                    }
                    at += 1;
                    if one && self.brackets.is_empty() {
                        self.at = at;
                        return Ok(());
                    }
                }
                QUOTE => match self.string_end(at) {
                    Some(end) => at = end.min(bytes.len()),
                    None => {
                        self.many_lines = false;
                        self.at = at;
                        self.remarks.error(at, "a string without end", "expected `\"`");
                        return Err(Said);
                    }
                },
                COMMA if self.brackets.is_empty() => break,
                NEWLINE if self.brackets.is_empty() || !self.many_lines => break,
                NEWLINE => {
                    at += 1;
                    // Whatever is open cannot go on into the next instruction.
                    if next_is_instruction(bytes, at) {
                        return self.never_closed();
                    }
                }
                SLASH => match bytes.get(at + 1) {
                    Some(b'/' | b'*') if self.brackets.is_empty() => break,
                    Some(b'/') => at = find(bytes, at, b'\n').unwrap_or(bytes.len()),
                    Some(b'*') => match comment_end(bytes, at) {
                        Some(end) => at = end,
                        None => break,
                    },
                    _ => at += 1,
                },
                _ => at += 1,
            }
        }
        self.at = at;
        if self.brackets.is_empty() {
            return Ok(());
        }
        self.many_lines = false;
        self.never_closed()
    }

    fn never_closed(&mut self) -> Step<()> {
        let Some(&(open, open_at)) = self.brackets.first() else { return Ok(()) };
        self.at = open_at as usize;
        let read = format!("`{}` that is never closed", char::from(open));
        let expected = match open {
            b'(' => "expected `)`",
            b'[' => "expected `]`",
            _ => "expected `}`",
        };
        self.remarks.error(open_at as usize, read, expected);
        Err(Said)
    }

    /// Passes over a shape; gives its text.
    pub(super) fn shape_extent(&mut self) -> Step<Span> {
        let start = self.at;
        if self.peek() != Some(b'(') {
            let end = self.word_end(start);
            self.at = end;
            let plain = self.bytes.get(end) == Some(&b'[');
            if end == start || !plain && self.bytes.get(end) != Some(&b'(') {
                self.at = start;
                return self.unexpected("expected a shape, for example `f32[4]{0}`");
            }
            // Most shapes are short and plain.
            if plain {
                let mut at = end + 1;
                while self.bytes.get(at).is_some_and(|b| b.is_ascii_digit() || *b == b',') {
                    at += 1;
                }
                if self.bytes.get(at) == Some(&b']') {
                    self.at = at + 1;
                } else {
                    self.balanced()?;
                }
                if self.peek() == Some(b'{') {
                    self.balanced()?;
                }
                return Ok(span(start, self.at));
            }
        }
        self.balanced()?;
        Ok(span(start, self.at))
    }

    pub(super) fn shape(&mut self) -> Step<ShapeId> {
        let extent = self.shape_extent()?;
        match self.shapes.intern(self.str(extent)) {
            Ok(id) => Ok(id),
            Err(error) => {
                // The line to go on behind is that of the mistake, not that of the bracket that closes.
                self.at = extent.start as usize + error.offset;
                self.remarks.error(extent.start as usize + error.offset, error.read, error.expected);
                Err(Said)
            }
        }
    }

    /// The names in `%a`, `a`, `{%a, %b}` or `{}`, and where they stand.
    pub(super) fn names_in(&mut self, value: Span) -> Step<SmallVec<[(usize, &'t str); 2]>> {
        let mut names = SmallVec::new();
        let (mut start, mut end) = (value.start as usize, (value.start + value.len) as usize);
        if self.bytes[start] == b'{' && self.bytes[end - 1] == b'}' && end - start >= 2 {
            start += 1;
            end -= 1;
        }
        let back = self.at;
        self.at = start;
        loop {
            self.skip_space();
            if self.at >= end {
                break;
            }
            let name = self.name()?;
            names.push((name.start as usize, self.str(name)));
            self.skip_space();
            if self.at < end && !self.eat(b',') {
                return self.unexpected("expected `,` or the end of the names");
            }
        }
        self.at = back;
        Ok(names)
    }

    /// From an instruction's name, `%` included, to what was read last.
    pub(super) fn text_behind(&self, name: Span) -> Span {
        let start = name.start as usize;
        let start = if start > 0 && self.bytes[start - 1] == b'%' { start - 1 } else { start };
        // `at` may have passed white space and comments; the last attribute's end is looked for backwards.
        let mut end = self.last_end.max(start);
        while end > start && self.bytes[end - 1].is_ascii_whitespace() {
            end -= 1;
        }
        span(start, end)
    }
}

/// The next `b` at or behind `from`.
pub(super) fn find(bytes: &[u8], from: usize, b: u8) -> Option<usize> {
    bytes.get(from..)?.iter().position(|x| *x == b).map(|n| from + n)
}

/// Does the line start as `  %name = ` or `  ROOT ` or `ENTRY `?
fn next_is_instruction(bytes: &[u8], from: usize) -> bool {
    let mut at = from;
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    let rest = &bytes[at..];
    if rest.starts_with(b"ROOT ") || rest.starts_with(b"ENTRY ") || rest.starts_with(b"HloModule ") {
        return true;
    }
    if rest.first() != Some(&b'%') {
        return false;
    }
    let end = rest[1..].iter().position(|b| !WORD[*b as usize]).map_or(rest.len(), |n| n + 1);
    end > 1 && rest[end..].starts_with(b" = ")
}

fn comment_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 2;
    loop {
        at = find(bytes, at, b'*')? + 1;
        if bytes.get(at) == Some(&b'/') {
            return Some(at + 1);
        }
    }
}
