//! What a figure shows, as one value: it is what stands in the URL's hash, in the undo stack and in tests.
//!
//! Handlers only propose; limits and snapping are kept here. What makes up a whole address is in [`crate::address`].

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use serde::{Deserialize, Serialize};
use sorts::Arrange as _;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

/// No own text larger than this is read out of a hash: 16 MiB.
const LARGEST_TEXT: u64 = 16 << 20;

/// No more edits, and no more moves, than this are read out of a hash.
const MOST_EDITS: usize = 4096;

/// No more parameters than this, and none longer, are read out of a hash.
const MOST_PARAMS: usize = 64;

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

/// An instruction that the reader moved: where it now stands in its computation, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Move {
    /// Its place in its computation.
    pub to: u32,
    /// The instruction's number in the module.
    pub instruction: u32,
}

/// Something a single figure needs: a step of a scrubber, a chosen opcode, the answer to a prediction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Param {
    /// A number.
    Number(i64),
    /// A word.
    Word(String),
}

impl From<i64> for Param {
    fn from(n: i64) -> Self {
        Self::Number(n)
    }
}

impl From<&str> for Param {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
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
    /// The instructions that stand elsewhere than in the module's own order, by place: take them all out, then put each
    /// in at its place, in this order.
    pub moves: Vec<Move>,
    /// What the reader set in this figure and can undo: a capacity, an opcode. Keys are letters and digits.
    pub params: BTreeMap<String, Param>,
    /// How the reader looks at it, which is not undone: a step, an answer. Keys are letters and digits.
    pub view: BTreeMap<String, Param>,
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
            moves: Vec::new(),
            params: BTreeMap::new(),
            view: BTreeMap::new(),
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

    /// With an order of instructions in place of the module's own.
    #[must_use]
    pub fn with_moves(&self, mut moves: Vec<Move>) -> Self {
        moves.arrange_unstable();
        Self { moves, ..self.clone() }
    }

    /// With one parameter set.
    #[must_use]
    pub fn with_param(&self, key: &str, value: impl Into<Param>) -> Self {
        let mut next = self.clone();
        next.params.insert(key.to_owned(), value.into());
        next
    }

    /// A parameter, or else a view setting, that is a number.
    pub fn number(&self, key: &str) -> Option<i64> {
        match self.params.get(key).or_else(|| self.view.get(key)) {
            Some(Param::Number(n)) => Some(*n),
            _ => None,
        }
    }

    /// A parameter, or else a view setting, that is a word.
    pub fn word(&self, key: &str) -> Option<&str> {
        match self.params.get(key).or_else(|| self.view.get(key)) {
            Some(Param::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// What the reader changed put back to what `default` has; the module stays the one that is open.
    #[must_use]
    pub fn reset(&self, default: &Self) -> Self {
        let mut next = self.clone();
        if self.source == default.source {
            next.edits.clone_from(&default.edits);
            next.moves.clone_from(&default.moves);
        } else {
            next.edits.clear();
            next.moves.clear();
        }
        next.params.clone_from(&default.params);
        next
    }

    /// Do both show the same module under the same changes? (Selection and view may differ.)
    pub fn same_facts(&self, other: &Self) -> bool {
        self.source == other.source
            && self.edits == other.edits
            && self.moves == other.moves
            && self.params == other.params
    }

    /// In the letters an address may have, `m=mlp_grad;e=57.22.31;s=57`. Parts that have their first value are left
    /// out.
    pub fn encode(&self) -> String {
        let mut out = match &self.source {
            Source::Shipped(id) => format!("m={id}"),
            Source::Own(text) => format!("x={}", pack(text)),
        };
        for (i, e) in self.edits.iter().enumerate() {
            let lead = if i == 0 { ";e=" } else { "~" };
            _ = write!(out, "{lead}{}.{}.{}", e.value, e.start, e.end);
        }
        for (i, m) in self.moves.iter().enumerate() {
            let lead = if i == 0 { ";o=" } else { "~" };
            _ = write!(out, "{lead}{}.{}", m.instruction, m.to);
        }
        for (lead, params) in [(";p.", &self.params), (";v.", &self.view)] {
            for (key, value) in params {
                _ = match value {
                    Param::Number(n) => write!(out, "{lead}{key}={n}"),
                    // A plain word stands as it is, behind a mark that no number has.
                    Param::Word(word) if is_plain(word) => write!(out, "{lead}{key}=!{word}"),
                    Param::Word(word) => write!(out, "{lead}{key}=*{}", base64(word.as_bytes())),
                };
            }
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

    /// Reads what [`State::encode`] wrote; `None` if it is something else, or damaged.
    pub fn decode(text: &str) -> Option<Self> {
        let mut source = None;
        let mut state = Self::new(Source::Shipped(String::new()));
        for part in text.split(';') {
            match part.split_once('=').unwrap_or((part, "")) {
                ("m", id) if id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => {
                    source = Some(Source::Shipped(id.to_owned()));
                }
                ("x", packed) => source = Some(Source::Own(unpack(packed, LARGEST_TEXT)?)),
                ("e", edits) => state.edits = read_edits(edits)?,
                ("o", moves) => state.moves = read_moves(moves)?,
                ("s", "none") => state.selection = Selection::Nothing,
                ("s", value) => state.selection = Selection::Value(value.parse().ok()?),
                ("all", "") => state.all_rows = true,
                ("table", "") => state.table = true,
                ("text", "") => state.text = true,
                (key, value) => {
                    let (params, key) = match key.split_once('.')? {
                        ("p", key) => (&mut state.params, key),
                        ("v", key) => (&mut state.view, key),
                        _ => return None,
                    };
                    if !is_key(key) || params.len() >= MOST_PARAMS {
                        return None;
                    }
                    params.insert(key.to_owned(), read_param(value)?);
                }
            }
        }
        state.source = source?;
        Some(state)
    }
}

/// May it be the name of a parameter?
fn is_key(key: &str) -> bool {
    !key.is_empty() && key.len() <= 40 && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Can it stand in an address as it is?
fn is_plain(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn read_param(text: &str) -> Option<Param> {
    match text.chars().next()? {
        '!' if is_plain(&text[1..]) => Some(Param::Word(text[1..].to_owned())),
        '*' => Some(Param::Word(String::from_utf8(from_base64(&text[1..])?).ok()?)),
        _ => text.parse().ok().map(Param::Number),
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
    edits.arrange_unstable();
    edits.dedup_by_key(|e| e.value);
    Some(edits)
}

fn read_moves(text: &str) -> Option<Vec<Move>> {
    let mut moves = Vec::new();
    for part in text.split('~').take(MOST_EDITS) {
        let (instruction, to) = part.split_once('.')?;
        moves.push(Move { to: to.parse().ok()?, instruction: instruction.parse().ok()? });
    }
    moves.arrange_unstable();
    Some(moves)
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// In base64's alphabet for URLs, without padding.
fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..=chunk.len() {
            out.push(char::from(ALPHABET[(word >> (18 - 6 * i) & 63) as usize]));
        }
    }
    out
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for b in chunk {
            word = word << 6 | u32::try_from(ALPHABET.iter().position(|a| a == b)?).ok()?;
        }
        word <<= 6 * (4 - chunk.len());
        bytes.extend_from_slice(&word.to_be_bytes()[1..chunk.len().max(1)]);
    }
    Some(bytes)
}

/// Deflated, then base64.
pub(crate) fn pack(text: &str) -> String {
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::best());
    let written = deflate.write_all(text.as_bytes()).and_then(|()| deflate.finish());
    base64(&written.expect("writing to memory does not fail"))
}

/// What [`pack`] was given, if it has no more than `most` bytes.
pub(crate) fn unpack(packed: &str, most: u64) -> Option<String> {
    let bytes = from_base64(packed)?;
    let mut text = String::new();
    // One byte more than allowed, so that a longer text is noticed and not cut.
    DeflateDecoder::new(bytes.as_slice()).take(most + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= most).then_some(text)
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
    pub(crate) fn keep_view(&mut self, other: &Self) {
        (self.all_rows, self.table, self.text) = (other.all_rows, other.table, other.text);
        self.view.clone_from(&other.view);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State::new(Source::Shipped("mlp_grad".to_owned()))
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        for text in [
            "",
            "m=../x",
            "m=a;e=1.2",
            "m=a;e=1.3.2",
            "x=!!",
            "x=AAAA",
            "m=a;s=x",
            "m=a;what=1",
            "m=a;e=1.2.3.4",
            "m=a;o=1",
            "m=a;o=1.2.3",
            "m=a;p.=1",
            "m=a;q.k=1",
            "m=a;p.k=",
            "m=a;p.k=!a b",
            "m=a;p.k=*!",
            "m=a;p.a_b=1",
        ] {
            assert_eq!(State::decode(text), None, "{text}");
        }
    }

    #[test]
    fn a_reset_keeps_the_module_and_the_view() {
        let default = state().with_param("capacity", 4);
        let mut changed = default.with_param("capacity", 9).with_end(1, (5, 9), End::End, 12, 45);
        changed.view.insert("step".to_owned(), Param::Number(3));
        changed.table = true;
        let reset = changed.reset(&default);
        assert!(reset.same_facts(&default) && reset.table && reset.number("step") == Some(3));
        let other = State { source: Source::Own("HloModule".to_owned()), ..changed };
        assert_eq!(other.reset(&default).source, other.source);
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
