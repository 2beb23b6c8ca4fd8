//! XLA's verbose log of one or more assignments (`TF_CPP_VMODULE=buffer_assignment=4`), added up.

use std::collections::BTreeMap;

/// What a verbose log tells of one module's assignment, or of several in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerboseLog {
    /// How many assignments begin in it.
    pub runs: u32,
    /// The settings the TPU compiler tried one after another, with what came of each.
    pub strategies: Vec<Strategy>,
    /// How often a buffer was tried in an allocation that was there.
    pub tried: u64,
    /// How often it went in.
    pub accepted: u64,
    /// Why it did not, with how often, the most frequent first.
    pub refused: Vec<(&'static str, u64)>,
    /// Values put off to the heap.
    pub delayed: u64,
}

/// One setting of the TPU compiler's assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// As the log names it: `1, 4`.
    pub name: String,
    /// Bytes it needs and the limit it exceeds; `None` if the log does not complain of it.
    pub over: Option<(u64, u64)>,
}

const MARKS: [&str; 5] = [
    "Number of buffers to assign:",
    "Assigning buffer for HloBuffer",
    "Trying to assign HloBuffer",
    "Delaying assignment of temp buffer",
    "Trying strategy:",
];

/// Is it such a log?
#[must_use]
pub fn is_verbose_log(text: &str) -> bool {
    MARKS.iter().any(|m| text.contains(m))
}

/// Adds a log up. Lines of other parts of XLA are passed over.
#[must_use]
pub fn verbose_log(text: &str) -> VerboseLog {
    let mut out = VerboseLog::default();
    let mut refused: BTreeMap<&'static str, u64> = BTreeMap::new();
    for line in text.lines() {
        // What logs of XLA say stands at the end of the line, behind a prefix of which there are many.
        if let Some(at) = line.find("Can't assign: ") {
            let rest = &line[at + 14..];
            let why = match () {
                () if rest.starts_with("allocation is readonly") => "read-only",
                () if rest.starts_with("buffer is larger") => "larger",
                () if rest.starts_with("buffer has color") => "color",
                () if rest.starts_with("assignee") => "interference",
                () if rest.contains("size not the same") => "live-out-size",
                () if rest.contains("live out") || rest.contains("live-out") => "must-not-live-out",
                () if rest.contains("not reusable") => "not-reusable",
                () => "other",
            };
            *refused.entry(why).or_default() += 1;
        } else if line.contains("Trying to assign HloBuffer") {
            out.tried += 1;
        } else if line.contains("Reusing allocation #") || line.contains("Reusing (operand) allocation") {
            out.accepted += 1;
        } else if line.contains("Delaying assignment of temp buffer") {
            out.delayed += 1;
        } else if line.contains("Number of buffers to assign:") {
            out.runs += 1;
        } else if let Some((_, name)) = line.split_once("Trying strategy: ") {
            out.strategies.push(Strategy { name: name.trim().to_owned(), over: None });
        } else if let Some((_, rest)) = line.split_once(" exceeded memory limit for color ")
            && let Some(strategy) = out.strategies.last_mut()
        {
            let number = |mark: &str| -> Option<u64> {
                let (_, rest) = rest.split_once(mark)?;
                rest[..rest.bytes().take_while(u8::is_ascii_digit).count()].parse().ok()
            };
            if let (Some(needs), Some(limit)) = (number("("), number("limit of ")) {
                strategy.over = Some((needs, limit));
            }
        }
    }
    out.refused = refused.into_iter().collect();
    out.refused.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    out
}
