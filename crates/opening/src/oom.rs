//! The text of an out-of-memory error, of all compilers: what was asked for, what there is, and the listing.

use dumps::read::Size;
use hlo::{Diagnostic, Location, Severity};

/// Most entries of a listing that are kept.
const MOST_BUFFERS: usize = 10_000;

/// What an out-of-memory error says. Sizes are mostly rounded by whoever wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The line that says it, without the log's prefix.
    pub sentence: String,
    /// Which form it has.
    pub form: Form,
    /// The memory space: `hbm`, `vmem`, ...; `None` where the text names none.
    pub space: Option<String>,
    /// What the program needs there.
    pub used: Option<Size>,
    /// What there is.
    pub limit: Option<Size>,
    /// What one request asked for, at run time.
    pub requested: Option<Size>,
    /// The module it is about.
    pub module: Option<String>,
    /// Sums by kind as the text gives them: `arguments`, `HLO temp`, `preallocated temp allocation`, ...
    pub totals: Vec<(String, Size)>,
    /// The listing, in its order.
    pub buffers: Vec<ListedBuffer>,
}

impl OutOfMemory {
    /// What a number of the text is not, though its name says so: a sentence.
    #[must_use]
    pub fn caution(&self) -> Option<&'static str> {
        (self.form == Form::TpuShort)
            .then_some("What the text calls HLO temporaries is everything: arguments and results are in it.")
    }
}

/// The forms of the error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The TPU compiler's two lines (`E1000`, from 2026), which have no listing.
    TpuShort,
    /// The TPU compiler's older text: `Largest program allocations in hbm`.
    TpuListing,
    /// An allocation on the vector memory of a kernel (`E1001`, `would exceed memory`).
    Scoped,
    /// The GPU and CPU run time's `BufferAssignment OOM Debugging`, with `Peak buffers`.
    PeakBuffers,
    /// None of these: a sentence only.
    #[default]
    Bare,
}

/// One entry of the listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedBuffer {
    /// Its number in the listing, from 1.
    pub number: u32,
    /// Bytes it takes, padding included.
    pub size: Size,
    /// Bytes without padding, where the text tells both.
    pub unpadded: Option<Size>,
    /// `op_name` of the operation.
    pub op_name: Option<String>,
    /// Source file and line.
    pub source: Option<(String, u32)>,
    /// Its shape.
    pub shape: String,
    /// The instruction as XLA prints it, or its opcode.
    pub label: Option<String>,
    /// `HLO temp`, `parameter`, `global`, `scoped`, ...
    pub kind: Option<String>,
}

/// What marks such a text; any one of them will do.
const MARKS: [&str; 9] = [
    "RESOURCE_EXHAUSTED",
    "Ran out of memory",
    "Out of memory while trying to allocate",
    "Out of memory allocating",
    "Largest program allocations in",
    "BufferAssignment OOM Debugging",
    "Peak buffers:",
    "would exceed memory (size=",
    "exceeded scoped vmem limit",
];

/// Is it the text of an out-of-memory error?
#[must_use]
pub fn is_out_of_memory(text: &str) -> bool {
    MARKS.iter().any(|m| text.contains(m))
}

/// All errors of a file. In JSON, as tools keep what a run said, each string is a text of its own, with its escapes undone.
#[must_use]
pub fn out_of_memory_errors(text: &str) -> Vec<(OutOfMemory, Vec<Diagnostic>)> {
    if text.trim_start().starts_with(['[', '{']) {
        let texts = json_strings(text).into_iter().filter(|t| is_out_of_memory(t));
        let all: Vec<_> = texts.map(|t| out_of_memory(&t)).collect();
        if !all.is_empty() {
            return all;
        }
    }
    vec![out_of_memory(text)]
}

/// The strings of a JSON text, keys too. What is no JSON gives whatever stands between its quotation marks.
fn json_strings(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut chars = text.chars();
    while chars.by_ref().any(|c| c == '"') {
        let mut string = String::new();
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' => match chars.next() {
                    Some('n') => string.push('\n'),
                    Some('t') => string.push('\t'),
                    Some('r') => string.push('\r'),
                    Some('b' | 'f') | None => {}
                    Some('u') => {
                        let digits: String = chars.by_ref().take(4).collect();
                        let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                        string.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
                    }
                    Some(c) => string.push(c),
                },
                c => string.push(c),
            }
        }
        out.push(string);
    }
    out
}

/// Reads the text of an out-of-memory error: whatever stands around it is passed over.
#[must_use]
pub fn out_of_memory(text: &str) -> (OutOfMemory, Vec<Diagnostic>) {
    let mut out = OutOfMemory::default();
    let mut remarks = Vec::new();
    let mut in_totals = false;
    let mut number = 0u32;
    let mut left_out = 0usize;
    for (i, line) in text.lines().enumerate() {
        let bare = without_prefix(line);
        let t = bare.trim();
        // A line of a log may hold the whole text as a literal, with its line breaks escaped.
        for part in t.split("\\n") {
            out.sentence_in(part.trim());
        }
        // A number before `Size:` begins an entry of the TPU's listing, `Buffer N:` one of the other.
        if let Some((n, rest)) = entry_start(t) {
            in_totals = false;
            number = n;
            let Some(rest) = rest else { continue };
            let buffer =
                ListedBuffer { number, size: size(rest).unwrap_or_default(), ..ListedBuffer::default() };
            left_out += out.push(buffer);
            continue;
        }
        if let Some((key, value)) = t.split_once(": ") {
            let value = value.trim();
            if key == "Size" && number > 0 {
                let buffer =
                    ListedBuffer { number, size: size(value).unwrap_or_default(), ..ListedBuffer::default() };
                if size(value).is_none() {
                    remarks.push(Diagnostic {
                        severity: Severity::Warning,
                        at: Location { line: i as u32 + 1, column: 1, offset: 0 },
                        read: format!("the size `{}`", value.chars().take(40).collect::<String>()),
                        expected: "expected a number with a unit".to_owned(),
                    });
                }
                left_out += out.push(buffer);
                continue;
            }
            if let Some(buffer) = out.buffers.last_mut().filter(|_| left_out == 0) {
                buffer.field(key, value);
            }
            let is_total = key.ends_with("allocation") || key.ends_with("fragmentation");
            if is_total && let Some(bytes) = size(value) {
                out.totals.push((key.to_owned(), bytes));
            }
        }
        if t.starts_with("Total ") && t.contains("usage")
            || t.starts_with("Program ") && t.contains("requirement")
        {
            in_totals = true;
        } else if t.starts_with("Largest program allocations") || t.starts_with("Peak buffers") {
            in_totals = false;
        } else if in_totals && let Some((name, bytes)) = total(bare) {
            out.totals.push((name.to_owned(), bytes));
        }
    }
    if left_out > 0 {
        remarks.push(Diagnostic {
            severity: Severity::Warning,
            at: Location { line: 1, column: 1, offset: 0 },
            read: format!("{left_out} more entries"),
            expected: "which are left out".to_owned(),
        });
    }
    if out.form != Form::Scoped {
        if text.contains("Largest program allocations") || text.contains("Program hbm requirement") {
            out.form = Form::TpuListing;
        } else if text.contains("Peak buffers:") || text.contains("BufferAssignment OOM Debugging") {
            out.form = Form::PeakBuffers;
        }
    }
    (out, remarks)
}

impl OutOfMemory {
    /// Do both tell of one error? Two texts of it differ in what stands around the sentence, and in the listing.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let key = |e: &Self| (e.form, e.space.clone(), e.used, e.limit, e.requested, e.module.clone());
        key(self) == key(other) && (self.module.is_some() || self.sentence == other.sentence)
    }

    fn push(&mut self, buffer: ListedBuffer) -> usize {
        if self.buffers.len() >= MOST_BUFFERS {
            return 1;
        }
        self.buffers.push(buffer);
        0
    }

    /// Takes the kernel that the sentence names as the only entry of a listing.
    fn kernel_in(&mut self, t: &str) {
        let Some((_, rest)) = t.split_once("while allocating on stack for ") else { return };
        let (name, rest) = rest.split_once(" = ").unwrap_or((rest, ""));
        // What is no name of an instruction is told by the sentence.
        if name.contains(' ') || !name.starts_with('%') {
            return;
        }
        self.buffers.push(ListedBuffer {
            number: 1,
            size: self.requested.unwrap_or_default(),
            op_name: quoted(rest, "op_name=\""),
            shape: rest.split(' ').next().unwrap_or_default().to_owned(),
            label: Some(name.to_owned()),
            kind: Some("scoped".to_owned()),
            ..ListedBuffer::default()
        });
    }

    /// Takes what the sentence of the error says.
    fn sentence_in(&mut self, t: &str) {
        // The title of an error may have a line of its own: `RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:`.
        let is_title = self.sentence.ends_with(':') && !t.is_empty();
        if !(self.sentence.is_empty() || is_title) || !MARKS.iter().any(|m| t.contains(m)) {
            return;
        }
        if t.starts_with("BufferAssignment OOM")
            || t.starts_with("Peak buffers")
            || t.starts_with("Largest program")
        {
            return;
        }
        t.clone_into(&mut self.sentence);
        let after = |mark: &str| t.split_once(mark).map(|(_, rest)| rest);
        if t.contains("exceeded scoped vmem limit") {
            self.form = Form::Scoped;
            self.space = Some("vmem".to_owned());
            self.requested = after("with size ").and_then(size);
            self.limit = after(" and limit ").or(after("limit ")).and_then(size);
            self.kernel_in(t);
        } else if let Some(rest) = after("Ran out of memory in memory space ") {
            let name = rest.split(['.', ' ']).next().unwrap_or_default();
            self.space = Some(name.to_owned()).filter(|n| !n.is_empty());
            if let Some(rest) = after("Used ") {
                self.used = size(rest);
                self.limit = rest.split_once(" of ").and_then(|(_, l)| size(l));
            }
        } else if let Some(rest) = after("Ran out of memory on ") {
            self.form = Form::TpuShort;
            self.space = rest.split([',', '.', ' ']).next().map(str::to_lowercase);
            self.used = after("temporaries (").and_then(size);
            self.limit =
                after("exceeds available ").and_then(|r| r.split_once('(')).and_then(|(_, l)| size(l));
            self.module = after("HLO module: ")
                .and_then(|m| m.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\')).next())
                .map(|m| m.trim_end_matches('.').to_owned())
                .filter(|m| !m.is_empty());
        } else if let Some(rest) = after("would exceed memory (size=") {
            self.form = Form::Scoped;
            self.requested = after("Allocation (size=").and_then(size);
            self.limit = size(rest);
            self.space = after("space=").map(|s| s.split([',', ' ', ']']).next().unwrap_or("").to_owned());
        }
        for mark in ["while trying to allocate ", "Out of memory allocating ", "Failed to allocate "] {
            if self.requested.is_none() {
                self.requested = after(mark).and_then(size);
            }
        }
    }
}

impl ListedBuffer {
    fn field(&mut self, key: &str, value: &str) {
        match key {
            "Operator" => {
                self.op_name = quoted(value, "op_name=\"");
                let line = value.split_once("source_line=").map(|(_, l)| l);
                let line = line.map_or("", |l| &l[..l.bytes().take_while(u8::is_ascii_digit).count()]);
                if let (Some(file), Ok(line)) = (quoted(value, "source_file=\""), line.parse()) {
                    self.source = Some((file, line));
                }
            }
            "Shape" => value.clone_into(&mut self.shape),
            "Entry Parameter Subshape" => {
                value.clone_into(&mut self.shape);
                self.kind = Some("parameter".to_owned());
            }
            "Unpadded size" => self.unpadded = size(value),
            "XLA label" | "XLA Label" => self.label = Some(value.to_owned()),
            "Allocation type" => self.kind = Some(value.to_owned()),
            _ => {}
        }
    }
}

/// What stands between `mark` and the next quotation mark that is not escaped.
fn quoted(text: &str, mark: &str) -> Option<String> {
    let (_, rest) = text.split_once(mark)?;
    let mut out = String::new();
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Some(out),
            '\\' => out.extend(chars.next()),
            c => out.push(c),
        }
    }
    Some(out)
}

/// `12. Size: REST` gives `(12, Some(REST))`, `Buffer 12:` gives `(12, None)`.
fn entry_start(t: &str) -> Option<(u32, Option<&str>)> {
    if let Some(rest) = t.strip_prefix("Buffer ") {
        return rest.strip_suffix(':').and_then(|n| n.parse().ok()).map(|n| (n, None));
    }
    let (n, rest) = t.split_once(". Size: ")?;
    Some((n.parse().ok()?, Some(rest)))
}

/// `    HLO temp         19.58G (99.7% utilization ...`
fn total(line: &str) -> Option<(&str, Size)> {
    let t = line.trim();
    let at = t.find("  ")?;
    let name = &t[..at];
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == ' ');
    if is_name { Some((name, size(t[at..].trim())?)) } else { None }
}

/// A size at the start of a text: `4.00G`, `276.0K`, `15.75GiB`, `0B`, `17179869184 bytes`. Binary units all.
pub(crate) fn size(text: &str) -> Option<Size> {
    let text = text.trim_start();
    let digits = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let number = text[..digits].trim_end_matches('.');
    let unit = match text.as_bytes().get(number.len()) {
        Some(b'K') => 1u64 << 10,
        Some(b'M') => 1 << 20,
        Some(b'G') => 1 << 30,
        Some(b'T') => 1 << 40,
        _ => 1,
    };
    let is_exact = unit == 1 && !number.contains('.');
    if is_exact {
        return Some(Size { bytes: number.parse().ok()?, is_exact });
    }
    let value: f64 = number.parse().ok()?;
    // Beyond 2^53 a double has no place for single bytes; these numbers are rounded anyway.
    let bytes = value * unit as f64;
    (bytes < 9e18).then_some(Size { bytes: bytes.round() as u64, is_exact: false })
}

/// The line behind whatever a logger put before it: glog's file and line, or the tag of a worker.
pub(crate) fn without_prefix(line: &str) -> &str {
    let mut line = line;
    for mark in [".cc:", ".py:", ".h:"] {
        if let Some((_, rest)) = line.split_once(mark)
            && let Some((number, rest)) = rest.split_once(']')
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
        {
            line = rest;
        }
    }
    if let Some((tag, rest)) = line.split_once(" pid=")
        && !tag.contains(": ")
        && let Some((number, rest)) = rest.split_once(')')
        && number.bytes().take_while(u8::is_ascii_digit).count() > 0
    {
        // Behind the tag the colour of the terminal may be set back.
        return rest.trim_start_matches("\u{1b}[0m");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_lines_of_the_tpu() {
        let text = "Traceback (most recent call last):\n  File \"x.py\", line 3\njax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: E1000: \
            CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO temporaries (45.52G) exceeds \
            available HBM (15.75G). HLO module: jit_attention_train.\nSee https://openxla.org/xla/errors/error_1000 for more details.";
        assert!(is_out_of_memory(text));
        let (oom, remarks) = out_of_memory(text);
        assert!(remarks.is_empty());
        assert_eq!(oom.form, Form::TpuShort);
        assert_eq!(oom.module.as_deref(), Some("jit_attention_train"));
        assert_eq!(oom.space.as_deref(), Some("hbm"));
        assert_eq!(oom.used, Some(Size { bytes: 48_876_727_828, is_exact: false }));
        assert_eq!(oom.limit, Some(Size { bytes: 16_911_433_728, is_exact: false }));
        assert!(oom.buffers.is_empty());
    }

    #[test]
    fn strings_of_json_are_texts_of_their_own() {
        let one = |module: &str| {
            format!(
                "RESOURCE_EXHAUSTED: E1000: Ran out of memory on HBM, the total memory required for HLO temporaries (45.52G) exceeds available HBM (15.75G). HLO module: {module}.\\nSee https://a/\\u0062 for \\\"more\\\"."
            )
        };
        let text = format!(
            "[\n {{\"label\": \"a\", \"error\": \"{}\"}},\n {{\"error\": \"{}\"}}\n]",
            one("jit_a"),
            one("jit_b")
        );
        let all = out_of_memory_errors(&text);
        let modules: Vec<_> = all.iter().map(|(e, _)| e.module.as_deref().unwrap_or_default()).collect();
        assert_eq!(modules, ["jit_a", "jit_b"]);
        assert!(all.iter().all(|(e, _)| {
            e.sentence.trim_end_matches('.').ends_with(e.module.as_deref().unwrap_or_default())
        }));
        // As a literal in a line of something else.
        let (literal, _) = out_of_memory(&format!("raised 'XlaRuntimeError(\"{}\")'", one("jit_c")));
        assert_eq!(literal.module.as_deref(), Some("jit_c"));
        assert!(literal.sentence.ends_with("HLO module: jit_c."), "{}", literal.sentence);
        // What is no JSON after all is one text.
        assert_eq!(
            out_of_memory_errors(&format!("[2026] {}", one("jit_d").replace('"', "")))[0].0.module.as_deref(),
            Some("jit_d")
        );
        assert_eq!(json_strings("\"a\\"), ["a"]);
        assert_eq!(json_strings("{\"\\ud800\":\"\\u00e9\\/\"}"), ["\u{fffd}", "\u{e9}/"]);
    }

    #[test]
    fn the_listing_of_the_tpu() {
        let text = "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 41.74G of 16.00G hbm. Exceeded hbm capacity by 25.74G.\n\n\
            Total hbm usage >= 41.74G:\n    reserved        528.00M \n    program          41.22G \n    arguments       unknown size \n\n\
            Output size unknown.\n\nProgram hbm requirement 41.22G:\n    global           29.82M\n    HLO temp         41.19G (24.2% utilization, 0.7% \
            fragmentation (293.84M))\n\n  Largest program allocations in hbm:\n\n  1. Size: 32.00G\n     Operator: op_type=\"FloorMod\" \
            op_name=\"a/Floor\\\"Mod\" source_file=\"/a b/c.py\" source_line=17\n     Shape: s32[8388608,8,4]{2,1,0:T(8,128)}\n     Unpadded size: 1.00G\n     \
            Extra memory due to padding: 31.00G (32.0x expansion)\n     XLA label: %copy.4 = s32[8388608,8,4]{2,1,0:T(8,128)} copy(%x)\n     \
            Allocation type: HLO temp\n     ==========================\n\n  2. Size: 4.00K\n     Shape: f32[1024]{0}\n";
        let (oom, _) = out_of_memory(text);
        assert_eq!(oom.form, Form::TpuListing);
        assert_eq!((oom.space.as_deref(), oom.limit.map(|l| l.bytes)), (Some("hbm"), Some(16 << 30)));
        let totals: Vec<&str> = oom.totals.iter().map(|(n, _)| n.as_str()).collect();
        assert_eq!(totals, ["reserved", "program", "global", "HLO temp"]);
        assert_eq!(oom.buffers.len(), 2);
        let first = &oom.buffers[0];
        assert_eq!((first.size.bytes, first.unpadded.map(|u| u.bytes)), (32 << 30, Some(1 << 30)));
        assert_eq!(first.op_name.as_deref(), Some("a/Floor\"Mod"));
        assert_eq!(first.source, Some(("/a b/c.py".to_owned(), 17)));
        assert_eq!(first.kind.as_deref(), Some("HLO temp"));
    }

    #[test]
    fn peak_buffers_with_the_prefix_of_a_log() {
        let p = "2022-10-25 21:52:08.219469: W external/org/bfc.cc:479] ";
        let w = "\u{1b}[2m\u{1b}[36m(MeshHostWorker pid=489)\u{1b}[0m ";
        let text = format!(
            "{p}RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6291456 bytes.\n{w}BufferAssignment OOM Debugging.\n{w}BufferAssignment stats:\n\
             {w}             parameter allocation:    6.00MiB\n{w}     preallocated temp allocation:         0B\n{w}              total fragmentation:         0B (0.00%)\n\
             {w}Peak buffers:\n{w}\tBuffer 1:\n{w}\t\tSize: 6.00MiB\n{w}\t\tOperator: op_name=\"jit(f)/concatenate\" source_file=\"m.py\" source_line=689\n\
             {w}\t\tXLA Label: concatenate\n{w}\t\tShape: f32[4096,128,3]\n\n{w}\tBuffer 2:\n{w}\t\tSize: 384.0KiB\n{w}\t\tEntry Parameter Subshape: f32[256,128,3]\n"
        );
        let (oom, _) = out_of_memory(&text);
        assert_eq!(oom.form, Form::PeakBuffers);
        assert_eq!(oom.requested, Some(Size { bytes: 6_291_456, is_exact: true }));
        assert_eq!(oom.totals.len(), 3, "{:?}", oom.totals);
        assert_eq!(oom.buffers.len(), 2);
        assert_eq!(oom.buffers[0].label.as_deref(), Some("concatenate"));
        assert_eq!(oom.buffers[1].kind.as_deref(), Some("parameter"));
        assert_eq!(oom.buffers[1].size.bytes, 384 << 10);
    }

    #[test]
    fn vector_memory() {
        let (oom, _) = out_of_memory(
            "INTERNAL: Mosaic failed: Allocation (size=68157440) would exceed memory (size=67108864) :: #allocation7 [shape = 'u8[68157440]{0}', space=vmem, \
             size = 0x4100000, scoped, tag = 'input window']",
        );
        assert_eq!(oom.form, Form::Scoped);
        assert_eq!(
            (oom.requested.map(|s| s.bytes), oom.limit.map(|s| s.bytes)),
            (Some(68_157_440), Some(67_108_864))
        );
        assert_eq!(oom.space.as_deref(), Some("vmem"));
        // A kernel whose blocks are too large, as libtpu says it in three lines or in one.
        let text = "RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:\nRan out of memory in memory space vmem while allocating on stack for \
            %block.1 = f32[8192,1024]{1,0:T(8,128)} custom-call(%x.1, %y.1), custom_call_target=\"tpu_custom_call\", metadata={op_name=\"jit(f)/block/pallas_call\" \
            stack_frame_id=2}. Scoped allocation with size 24.00M and limit 16.00M exceeded scoped vmem limit by 8.00M. It should not be possible to run out \
            of scoped vmem - \nSee https://openxla.org/xla/errors/error_1001 for more details.";
        for text in [text.to_owned(), text.replace('\n', " ")] {
            let (oom, _) = out_of_memory(&text);
            assert_eq!((oom.form, oom.space.as_deref()), (Form::Scoped, Some("vmem")), "{text}");
            assert_eq!(
                (oom.requested.map(|s| s.bytes), oom.limit.map(|s| s.bytes)),
                (Some(24 << 20), Some(16 << 20)),
                "{text}"
            );
            let kernel = &oom.buffers[0];
            assert_eq!(
                (kernel.label.as_deref(), kernel.op_name.as_deref()),
                (Some("%block.1"), Some("jit(f)/block/pallas_call"))
            );
        }
    }
}
