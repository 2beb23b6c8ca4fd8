//! What the exhibit shows, as one value: it is what stands in the URL's hash, in the undo stack and in tests.
//!
//! Handlers only propose; limits and snapping are kept here.

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

/// The version in front of every hash. A hash of another version is not guessed at.
const VERSION: &str = "v1";

/// No own text larger than this is read out of a hash: 16 MiB.
const LARGEST_TEXT: u64 = 16 << 20;

/// No more edits than this are read out of a hash.
const MOST_EDITS: usize = 4096;

/// Where the HLO text comes from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Source {
    /// One of the modules that come with the page, by its id.
    Shipped(String),
    /// The reader's own text.
    Own(String),
}

/// A live range as the reader set it. Both ends are closed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Edit {
    /// The value's number.
    pub value: u32,
    /// The step at which it is written.
    pub start: u32,
    /// The last step at which it is wanted.
    pub end: u32,
}

/// Which value is selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Selection {
    /// The one with the best story, chosen for the module.
    #[default]
    Suggested,
    /// None: the reader put it down.
    Nothing,
    /// This one.
    Value(u32),
}

/// Everything that decides what is on screen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct State {
    /// The text.
    pub source: Source,
    /// The ranges that differ from the module's own, by value number.
    pub edits: Vec<Edit>,
    /// The selected value.
    pub selection: Selection,
    /// Rows for all buffers, not those in the temporary slab only.
    pub all_rows: bool,
    /// Is the table shown?
    pub table: bool,
    /// Is the HLO text shown?
    pub text: bool,
}

/// Which end of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum End {
    /// Where the value is written.
    Start,
    /// Where it is read last.
    End,
}

impl State {
    /// A module's first state.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            edits: Vec::new(),
            selection: Selection::Suggested,
            all_rows: false,
            table: false,
            text: false,
        }
    }

    /// The range the reader gave a value, if any.
    pub fn edit_of(&self, value: u32) -> Option<Edit> {
        self.edits.iter().copied().find(|e| e.value == value)
    }

    /// One end of a range moved to `to`, which may be anywhere: it is kept inside the program (`0..=last`) and on its
    /// side of the other end. A range that is back where the module has it (`original`) is no edit.
    #[must_use]
    pub fn with_end(&self, value: u32, original: (u32, u32), end: End, to: i64, last: u32) -> Self {
        let (start, stop) = self.edit_of(value).map_or(original, |e| (e.start, e.end));
        let range = match end {
            End::Start => (clamp(to, 0, stop), stop),
            End::End => (start, clamp(to, start, last)),
        };
        self.with_range(value, original, range)
    }

    /// The range of a value set to `range`, which must be in order.
    #[must_use]
    pub fn with_range(&self, value: u32, original: (u32, u32), range: (u32, u32)) -> Self {
        let mut next = self.clone();
        next.edits.retain(|e| e.value != value);
        if range != original {
            let edit = Edit { value, start: range.0, end: range.1.max(range.0) };
            let at = next.edits.partition_point(|e| e.value < value);
            next.edits.insert(at, edit);
        }
        next
    }

    /// Without the edits.
    #[must_use]
    pub fn reset(&self) -> Self {
        Self { edits: Vec::new(), ..self.clone() }
    }

    /// Do both show the same module under the same edits? (Selection and view may differ.)
    pub fn same_facts(&self, other: &Self) -> bool {
        self.source == other.source && self.edits == other.edits
    }

    /// As a URL hash, `#v1;m=mlp_grad;e=57.22.31;s=57`. Parts that have their first value are left out.
    pub fn to_hash(&self) -> String {
        let mut out = format!("#{VERSION}");
        match &self.source {
            Source::Shipped(id) => _ = write!(out, ";m={id}"),
            Source::Own(text) => _ = write!(out, ";x={}", pack(text)),
        }
        for (i, e) in self.edits.iter().enumerate() {
            let lead = if i == 0 { ";e=" } else { "~" };
            _ = write!(out, "{lead}{}.{}.{}", e.value, e.start, e.end);
        }
        match self.selection {
            Selection::Suggested => {}
            Selection::Nothing => out.push_str(";s=none"),
            Selection::Value(v) => _ = write!(out, ";s={v}"),
        }
        for (on, flag) in [(self.all_rows, ";all"), (self.table, ";table"), (self.text, ";text")] {
            if on {
                out.push_str(flag);
            }
        }
        out
    }

    /// Reads a hash; `None` if it is not one of ours, or damaged.
    pub fn from_hash(hash: &str) -> Option<Self> {
        let mut parts = hash.strip_prefix('#').unwrap_or(hash).split(';');
        if parts.next() != Some(VERSION) {
            return None;
        }
        let mut source = None;
        let mut state = Self::new(Source::Shipped(String::new()));
        for part in parts {
            match part.split_once('=').unwrap_or((part, "")) {
                ("m", id) if id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => {
                    source = Some(Source::Shipped(id.to_owned()));
                }
                ("x", packed) => source = Some(Source::Own(unpack(packed)?)),
                ("e", edits) => state.edits = read_edits(edits)?,
                ("s", "none") => state.selection = Selection::Nothing,
                ("s", value) => state.selection = Selection::Value(value.parse().ok()?),
                ("all", "") => state.all_rows = true,
                ("table", "") => state.table = true,
                ("text", "") => state.text = true,
                _ => return None,
            }
        }
        state.source = source?;
        Some(state)
    }
}

fn clamp(to: i64, low: u32, high: u32) -> u32 {
    u32::try_from(to.clamp(i64::from(low), i64::from(high.max(low)))).unwrap_or(low)
}

fn read_edits(text: &str) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    for part in text.split('~').take(MOST_EDITS) {
        let mut numbers = part.split('.').map(str::parse);
        let (value, start, end) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
        if numbers.next().is_some() || start > end {
            return None;
        }
        edits.push(Edit { value, start, end });
    }
    edits.sort_unstable();
    edits.dedup_by_key(|e| e.value);
    Some(edits)
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Deflated, then base64 in its alphabet for URLs, without padding.
fn pack(text: &str) -> String {
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::best());
    let written = deflate.write_all(text.as_bytes()).and_then(|()| deflate.finish());
    let bytes = written.expect("writing to memory does not fail");
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..=chunk.len() {
            out.push(char::from(ALPHABET[(word >> (18 - 6 * i) & 63) as usize]));
        }
    }
    out
}

fn unpack(packed: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(packed.len() / 4 * 3 + 2);
    for chunk in packed.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for b in chunk {
            word = word << 6 | u32::try_from(ALPHABET.iter().position(|a| a == b)?).ok()?;
        }
        word <<= 6 * (4 - chunk.len());
        bytes.extend_from_slice(&word.to_be_bytes()[1..chunk.len().max(1)]);
    }
    let mut text = String::new();
    // One byte more than allowed, so that a longer text is noticed and not cut.
    DeflateDecoder::new(bytes.as_slice()).take(LARGEST_TEXT + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= LARGEST_TEXT).then_some(text)
}

/// The present state and the way to it.
#[derive(Clone, Debug)]
pub struct History {
    past: Vec<State>,
    now: State,
    future: Vec<State>,
    /// The state before a drag that has not ended.
    before: Option<State>,
}

impl History {
    /// Starts here.
    pub fn new(now: State) -> Self {
        Self { past: Vec::new(), now, future: Vec::new(), before: None }
    }

    /// The present state.
    pub fn now(&self) -> &State {
        &self.now
    }

    /// Shows `next` without an entry of its own: the steps of a drag. [`History::settle`] makes them one entry.
    pub fn preview(&mut self, next: State) {
        let before = std::mem::replace(&mut self.now, next);
        self.before.get_or_insert(before);
    }

    /// Ends a drag. `true` if it changed anything.
    pub fn settle(&mut self) -> bool {
        let Some(before) = self.before.take() else { return false };
        if before.same_facts(&self.now) {
            return false;
        }
        self.past.push(before);
        self.future.clear();
        true
    }

    /// Goes to `next`; one entry if module or edits differ, none if only selection or view do.
    pub fn set(&mut self, next: State) -> bool {
        self.preview(next);
        self.settle()
    }

    /// Goes to `next` as though it had been there: what the browser's Back does. No entry of our own is lost but
    /// those undone.
    pub fn jump(&mut self, next: State) {
        self.set(next);
    }

    /// One entry back, keeping the view flags.
    pub fn undo(&mut self) -> bool {
        self.settle();
        let Some(mut state) = self.past.pop() else { return false };
        state.keep_view(&self.now);
        self.future.push(std::mem::replace(&mut self.now, state));
        true
    }

    /// One entry forward again.
    pub fn redo(&mut self) -> bool {
        let Some(mut state) = self.future.pop() else { return false };
        state.keep_view(&self.now);
        self.past.push(std::mem::replace(&mut self.now, state));
        true
    }

    /// Is there anything to undo?
    pub fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    /// Is there anything to redo?
    pub fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }
}

impl State {
    fn keep_view(&mut self, other: &Self) {
        (self.all_rows, self.table, self.text) = (other.all_rows, other.table, other.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State::new(Source::Shipped("mlp_grad".to_owned()))
    }

    #[test]
    fn every_hash_reads_back() {
        let mut texts = vec![state()];
        texts.push(State { edits: vec![Edit { value: 57, start: 22, end: 31 }], ..state() });
        texts.push(State {
            edits: vec![Edit { value: 3, start: 0, end: 0 }, Edit { value: 57, start: 22, end: u32::MAX }],
            selection: Selection::Value(57),
            all_rows: true,
            table: true,
            text: true,
            ..state()
        });
        texts.push(State { selection: Selection::Nothing, ..state() });
        for n in 0..80 {
            let text: String = (0..n).map(|i| char::from(b' ' + (i * 7 % 90) as u8)).collect();
            texts.push(State::new(Source::Own(format!("HloModule é{text}\n"))));
        }
        for state in texts {
            let hash = state.to_hash();
            assert_eq!(State::from_hash(&hash), Some(state), "{hash}");
        }
    }

    #[test]
    fn the_hash_is_short_and_plain_where_it_can_be() {
        let next = state().with_end(57, (22, 30), End::End, 31, 45);
        assert_eq!(next.to_hash(), "#v1;m=mlp_grad;e=57.22.31");
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        for hash in [
            "",
            "#",
            "#v2;m=a",
            "#v1",
            "#v1;m=../x",
            "#v1;m=a;e=1.2",
            "#v1;m=a;e=1.3.2",
            "#v1;x=!!",
            "#v1;x=AAAA",
            "#v1;m=a;s=x",
            "#v1;m=a;what=1",
            "#v1;m=a;e=1.2.3.4",
        ] {
            assert_eq!(State::from_hash(hash), None, "{hash}");
        }
    }

    #[test]
    fn ends_stay_in_the_program_and_in_order() {
        let s = state();
        assert_eq!(s.with_end(1, (5, 9), End::End, 99, 45).edits[0].end, 45);
        assert_eq!(s.with_end(1, (5, 9), End::End, 2, 45).edits[0].end, 5);
        assert_eq!(s.with_end(1, (5, 9), End::Start, -3, 45).edits[0].start, 0);
        assert_eq!(s.with_end(1, (5, 9), End::Start, 30, 45).edits[0].start, 9);
        assert_eq!(s.with_end(1, (5, 9), End::End, 10, 45).with_end(1, (5, 9), End::End, 9, 45), s);
    }

    #[test]
    fn a_drag_is_one_entry() {
        let mut h = History::new(state());
        for to in 10..14 {
            let next = h.now().with_end(1, (5, 9), End::End, to, 45);
            h.preview(next);
        }
        assert!(h.settle());
        assert_eq!(h.now().edits[0].end, 13);
        assert!(h.undo());
        assert_eq!(h.now(), &state());
        assert!(!h.undo() && h.redo());
        assert_eq!(h.now().edits[0].end, 13);
        h.set(State { table: true, ..h.now().clone() });
        assert!(h.undo() && h.now().table && h.now().edits.is_empty());
    }

    #[test]
    fn a_drag_back_to_where_it_was_is_no_entry() {
        let mut h = History::new(state());
        for to in [10, 11, 9] {
            let next = h.now().with_end(1, (5, 9), End::End, to, 45);
            h.preview(next);
        }
        assert!(!h.settle() && !h.can_undo());
    }
}
