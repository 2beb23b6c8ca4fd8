//! Says what a text is that is no HLO module.

use super::Reader;

/// What bytes are that are no text at all.
pub(super) fn binary(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let head = &bytes[..bytes.len().min(64)];
    if head.starts_with(&[0x1f, 0x8b]) {
        return Some(("gzip-compressed bytes", "expected them unpacked"));
    }
    if head.starts_with(&[0xff, 0xfe, 0, 0]) || head.starts_with(&[0, 0, 0xfe, 0xff]) {
        return Some(("UTF-32", "expected UTF-8"));
    }
    let packed: [(&[u8], &str); 4] = [
        (b"BZh", "bytes packed with bzip2"),
        (b"\xfd7zXZ\0", "bytes packed with xz"),
        (b"\x28\xb5\x2f\xfd", "bytes packed with Zstandard"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    ];
    // A text may begin with these letters, but not go on with what is no text.
    if let Some((_, what)) =
        packed.iter().find(|(magic, _)| head.starts_with(magic) && std::str::from_utf8(head).is_err())
    {
        return Some((what, "expected them unpacked, or packed with gzip"));
    }
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return Some(("UTF-16", "expected UTF-8"));
    }
    if head.starts_with(b"PK\x03\x04") {
        return Some(("a zip archive", "expected one of the files in it"));
    }
    // A field of length-delimited type with number 1 and control characters: protobuf.
    let control = head.iter().any(|b| *b < 0x20 && !b.is_ascii_whitespace());
    if head.first() == Some(&0x0a) && control {
        return Some(("a binary protobuf, perhaps a `.hlo.pb`", "expected a module's text here"));
    }
    None
}

/// First words of texts that are something else.
const OTHERS: &[(&str, &str)] = &[
    ("BufferAssignment:", "a buffer assignment (`-buffer-assignment.txt`)"),
    ("Total bytes used:", "the values of a buffer assignment (`-buffer-assignment-values.txt`)"),
    ("HloLiveRange", "live ranges (`-live-range.txt`)"),
    ("Memory Space:", "a memory usage report (`-memory-usage-report.txt`)"),
    ("Used values:", "the values of a buffer assignment"),
    ("module @", "MLIR, for example StableHLO"),
    ("module {", "MLIR, for example StableHLO"),
    ("module attributes", "MLIR, for example StableHLO"),
    ("builtin.module", "MLIR, for example StableHLO"),
    ("\"builtin.module\"", "MLIR, for example StableHLO"),
    ("func.func", "MLIR, for example StableHLO"),
    ("#loc", "MLIR, for example StableHLO"),
    ("#map", "MLIR, for example StableHLO"),
    ("import ", "a Python program"),
    ("from ", "a Python program"),
    ("def ", "a Python program"),
    ("class ", "a Python program"),
    ("\"\"\"", "a Python program"),
    ("#!/", "a script"),
    ("{ lambda", "a jaxpr"),
    ("; ModuleID", "LLVM IR"),
    ("source_filename", "LLVM IR"),
    ("target triple", "LLVM IR"),
    (".version", "PTX"),
    ("digraph", "a graph for Graphviz"),
    ("<", "HTML or XML"),
    ("hlo_module {", "a protobuf in text form"),
    ("hlo {", "a protobuf in text form"),
    ("name: \"", "a protobuf in text form"),
];

impl Reader<'_> {
    /// Moves to where a module's text begins. False if there is none, and then it has been said.
    pub(super) fn is_module_text(&mut self) -> bool {
        if self.text.starts_with('\u{feff}') {
            self.remarks.warning(0, "a byte order mark", "passed over");
            self.at = '\u{feff}'.len_utf8();
        }
        let start = self.at;
        // Comments first: PTX begins with them too.
        self.skip_space();
        if self.at >= self.bytes.len() {
            if !self.remarks.any_error() {
                self.remarks.error(self.bytes.len(), "the end of the text", "expected `HloModule NAME`");
            }
            return false;
        }
        let rest = &self.text[self.at..];
        // `hlo {` and the like could be a computation without braces in its name, but XLA never writes one so.
        for (word, what) in OTHERS {
            if rest.starts_with(word) {
                self.remarks.error(self.at, (*what).to_owned(), "expected an HLO module: `HloModule NAME`");
                return false;
            }
        }
        if rest.starts_with(['{', '[']) {
            self.remarks.error(
                self.at,
                "JSON or something like it",
                "expected an HLO module: `HloModule NAME`",
            );
            return false;
        }
        if self.at_word("HloModule") || self.at_word("ENTRY") || self.at_word("ROOT") || rest.starts_with('%')
        {
            return true;
        }
        // Something stands before the module: a log, a prompt, a title.
        let header = self.text[start..].match_indices("HloModule ").find(|(n, _)| {
            let at = start + n;
            at == 0 || self.bytes[at - 1] == b'\n'
        });
        if let Some((n, _)) = header {
            self.remarks.warning(self.at, "text before `HloModule`", "passed over");
            self.at = start + n;
        }
        true
    }
}

/// Lines as logs have them, `I1129 12:00:00.000000 123 file.cc:12] HloModule m`, without what stands before them.
pub(super) fn strip_log_prefixes(text: &str) -> Option<String> {
    let first = text.lines().find(|l| !l.trim().is_empty())?;
    log_prefix(first)?;
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        out.push_str(&line[log_prefix(line).unwrap_or(0)..]);
    }
    Some(out)
}

fn log_prefix(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let digits =
        |from: usize, n: usize| bytes.get(from..from + n).is_some_and(|b| b.iter().all(u8::is_ascii_digit));
    if !matches!(bytes.first(), Some(b'I' | b'W' | b'E' | b'F'))
        || !digits(1, 4)
        || bytes.get(5) != Some(&b' ')
    {
        return None;
    }
    if !digits(6, 2) || bytes.get(8) != Some(&b':') || !digits(9, 2) || bytes.get(11) != Some(&b':') {
        return None;
    }
    // The rest of the time, the thread, the file and line.
    let end = bytes.iter().take(300).position(|b| *b == b']')? + 1;
    let head = line.get(..end)?;
    let (_, place) = head.rsplit_once(' ')?;
    if !place.contains(':') {
        return None;
    }
    Some(end + usize::from(bytes.get(end) == Some(&b' ')))
}
