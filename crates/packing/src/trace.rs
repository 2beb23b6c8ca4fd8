//! The JSON form of a trace and of the answer (FAST_PACKERS 16).
//!
//! A trace is an object of `algorithm`, `alignment`, `limit` (`null`: none), `sizes` (key to bytes) and `events`, each
//! `["A", key]` (alloc), `["S", key, with]` (share) or `["F", key]` (free); `split_threshold` may be added. Other fields
//! are ignored. `"alloc"`, `"share"` and `"free"` are read as well, and an alloc or a share may carry its own size as
//! the last item instead of one in `sizes`.
//!
//! ```
//! let text = r#"{"algorithm": "fast_merge", "alignment": 64, "limit": null, "sizes": {"7": 10, "9": 20},
//!                "events": [["A", 7], ["A", 9], ["F", 7], ["F", 9]]}"#;
//! let answer = packing::trace::run_json(text)?;
//! assert!(answer.contains(r#""offsets":{"7":0,"9":64}"#));
//! # Ok::<(), packing::trace::TraceError>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{BufferKey, DEFAULT_SPLIT_THRESHOLD, Event, Options, PackError, Packing, UnknownAlgorithm, pack};

/// A trace as it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// How to pack.
    pub options: Options,
    /// What to pack.
    pub events: Vec<Event>,
}

/// Why a text gives no answer, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TraceError {
    /// Not JSON, or not of the form of a trace.
    Json {
        /// Line in the text, from 1.
        line: usize,
        /// Column in bytes, from 1; 0 at the start of a line.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// The algorithm's name is not known.
    Algorithm(UnknownAlgorithm),
    /// An event is not of one of the three forms.
    Event {
        /// Position in `events`, from 0.
        event: usize,
        /// What is wrong.
        message: &'static str,
    },
    /// A buffer begins but has no size.
    NoSize {
        /// Position in `events`, from 0.
        event: usize,
        /// The buffer.
        buffer: BufferKey,
    },
    /// The trace was read but cannot be packed.
    Pack(PackError),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json { line, column, message } => write!(f, "line {line}, column {column}: {message}"),
            Self::Algorithm(error) => error.fmt(f),
            Self::Event { event, message } => write!(f, "event {event}: {message}"),
            Self::NoSize { event, buffer } => {
                write!(f, "event {event}: no size is given for buffer {buffer}")
            }
            Self::Pack(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TraceError {}

impl From<PackError> for TraceError {
    fn from(error: PackError) -> Self {
        Self::Pack(error)
    }
}

#[derive(Deserialize)]
struct TraceFile {
    algorithm: String,
    alignment: u64,
    #[serde(default)]
    limit: Option<u64>,
    #[serde(default)]
    split_threshold: Option<usize>,
    #[serde(default)]
    sizes: BTreeMap<u32, u64>,
    events: Vec<Vec<Item>>,
}

#[derive(Serialize)]
struct TraceFileOut<'a> {
    algorithm: &'static str,
    alignment: u64,
    limit: Option<u64>,
    split_threshold: usize,
    events: &'a [Vec<Item>],
}

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Item {
    Number(u64),
    Word(String),
}

#[derive(Serialize)]
struct AnswerOut {
    size: u64,
    algorithm: &'static str,
    heaps: Vec<HeapOut>,
}

#[derive(Serialize)]
struct HeapOut {
    size: u64,
    offsets: BTreeMap<u32, u64>,
}

impl Trace {
    /// Reads a trace. Whether its events agree with each other is found out when it is packed.
    pub fn from_json(text: &str) -> Result<Self, TraceError> {
        let file: TraceFile = serde_json::from_str(text).map_err(|error| TraceError::Json {
            line: error.line(),
            column: error.column(),
            message: without_position(&error),
        })?;
        let events = file
            .events
            .iter()
            .enumerate()
            .map(|(at, items)| read_event(at, items, &file.sizes))
            .collect::<Result<_, _>>()?;
        let options = Options {
            algorithm: file.algorithm.parse().map_err(TraceError::Algorithm)?,
            alignment: file.alignment,
            limit: file.limit,
            split_threshold: file.split_threshold.unwrap_or(DEFAULT_SPLIT_THRESHOLD),
        };
        Ok(Self { options, events })
    }

    /// The trace as JSON on one line, sizes beside the events. [`Trace::from_json`] gives the same trace again.
    pub fn to_json(&self) -> String {
        let word = |word: &str| Item::Word(word.to_owned());
        let key = |key: BufferKey| Item::Number(u64::from(key.0));
        let events: Vec<Vec<Item>> = self
            .events
            .iter()
            .map(|event| match *event {
                Event::Alloc { buffer, size } => vec![word("A"), key(buffer), Item::Number(size)],
                Event::Share { buffer, with, size } => {
                    vec![word("S"), key(buffer), key(with), Item::Number(size)]
                }
                Event::Free { buffer } => vec![word("F"), key(buffer)],
            })
            .collect();
        let out = TraceFileOut {
            algorithm: self.options.algorithm.name(),
            alignment: self.options.alignment,
            limit: self.options.limit,
            split_threshold: self.options.split_threshold,
            events: &events,
        };
        to_json(&out)
    }
}

/// Reads a trace, packs it and writes the answer: `{"size": total, "algorithm": chosen, "heaps": [{"size": bytes,
/// "offsets": {key: offset}}]}`, sizes and offsets in bytes.
pub fn run_json(text: &str) -> Result<String, TraceError> {
    let trace = Trace::from_json(text)?;
    Ok(answer_json(&pack(&trace.events, &trace.options)?))
}

/// A packing in the answer's form; see [`run_json`].
pub fn answer_json(packing: &Packing) -> String {
    let heaps = packing.heaps.iter().map(|heap| HeapOut {
        size: heap.size,
        offsets: heap.chunks.iter().map(|(key, chunk)| (key.0, chunk.offset)).collect(),
    });
    to_json(&AnswerOut { size: packing.total(), algorithm: packing.chosen.name(), heaps: heaps.collect() })
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers, words and maps keyed by numbers can be written")
}

/// The message without the position at its end, which is reported apart.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&position).unwrap_or(&message).to_owned()
}

fn read_event(at: usize, items: &[Item], sizes: &BTreeMap<u32, u64>) -> Result<Event, TraceError> {
    let bad = |message| TraceError::Event { event: at, message };
    let [Item::Word(kind), items @ ..] = items else {
        return Err(bad("must begin with \"A\", \"S\" or \"F\""));
    };
    let mut keys_and_size = [0; 3];
    if items.len() > keys_and_size.len() {
        return Err(bad("has too many items"));
    }
    for (number, item) in keys_and_size.iter_mut().zip(items) {
        let Item::Number(given) = item else { return Err(bad("keys and sizes must be numbers")) };
        *number = *given;
    }
    let key = |number: u64| u32::try_from(number).map(BufferKey).map_err(|_| bad("a key must be below 2^32"));
    let [first, second, third] = keys_and_size;
    let listed =
        |buffer: BufferKey| sizes.get(&buffer.0).copied().ok_or(TraceError::NoSize { event: at, buffer });
    match (kind.as_str(), items.len()) {
        ("A" | "alloc", 1) => {
            let buffer = key(first)?;
            Ok(Event::Alloc { buffer, size: listed(buffer)? })
        }
        ("A" | "alloc", 2) => Ok(Event::Alloc { buffer: key(first)?, size: second }),
        ("S" | "share", 2) => {
            let buffer = key(first)?;
            Ok(Event::Share { buffer, with: key(second)?, size: listed(buffer)? })
        }
        ("S" | "share", 3) => Ok(Event::Share { buffer: key(first)?, with: key(second)?, size: third }),
        ("F" | "free", 1 | 2) => Ok(Event::Free { buffer: key(first)? }),
        ("A" | "alloc" | "S" | "share" | "F" | "free", _) => Err(bad("has the wrong number of items")),
        _ => Err(bad("must begin with \"A\", \"S\" or \"F\"")),
    }
}
