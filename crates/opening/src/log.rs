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
    /// Why it did not, with how often, the most frequent first: `overlap`, `touch`, `read-only`, `larger`, `color`,
    /// `live-out-size`, `must-not-live-out`, `not-reusable`, `other`.
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
    // One refusal takes several lines; the first tells most.
    let mut is_told = true;
    for line in text.lines() {
        // What logs of XLA say stands at the end of the line, behind a prefix of which there are many.
        if line.contains("buffer cannot be shared") {
            if !std::mem::replace(&mut is_told, true) {
                *refused.entry("touch").or_default() += 1;
            }
        } else if let Some(at) = line.find("Can't assign: ") {
            if std::mem::replace(&mut is_told, true) {
                continue;
            }
            let rest = &line[at + 14..];
            let why = match () {
                () if rest.starts_with("allocation is readonly") => "read-only",
                () if rest.starts_with("buffer is larger") => "larger",
                () if rest.starts_with("buffer has color") => "color",
                () if rest.starts_with("assignee") => "overlap",
                () if rest.contains("size not the same") => "live-out-size",
                () if rest.contains("live out") || rest.contains("live-out") => "must-not-live-out",
                () if rest.contains("not reusable") => "not-reusable",
                () => "other",
            };
            *refused.entry(why).or_default() += 1;
        } else if line.contains("Trying to assign HloBuffer") {
            out.tried += 1;
            is_told = false;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_added_up() {
        let text = "\
Number of buffers to assign: 3
Assigning buffer for HloBuffer 1, values: <1 a @0>
I0712 10:00:00.000000 1 b.cc:7] Trying to assign HloBuffer 1, values: <1 a @0> size 4 to allocation: allocation 1
I0712 10:00:00.000000 1 b.cc:8] Can't assign: allocation is readonly
Trying to assign HloBuffer 1, values: <1 a @0> size 4 to allocation: allocation 0
Can't assign: assignee <1 a @0> may interfere with <2 b @0>
Can't assign: assignee <2 b @0> live range interferes with <1 a @0>
Trying to assign HloBuffer 2, values: <2 b @0> size 4 to allocation: allocation 0
End of live range of <2 b @0> is equal to the start of live range of <3 c @0>, buffer cannot be shared.
Can't assign: assignee <3 c @0> live range interferes with <2 b @0>
Delaying assignment of temp buffer: <2 b @0>
Trying to assign HloBuffer 3, values: <3 c @0> size 4 to allocation: allocation 0
Reusing allocation #0 for: HloBuffer 3
Trying strategy: 1, 4
BufferAssignment strategy (non_sequential: 1, sequential: 4) exceeded memory limit for color 0 (49 bytes vs limit of 14 bytes).
Trying strategy: 1, 5
";
        assert!(is_verbose_log(text));
        let log = verbose_log(text);
        assert_eq!((log.runs, log.tried, log.accepted, log.delayed), (1, 4, 1, 1));
        assert_eq!(log.refused, [("overlap", 1), ("read-only", 1), ("touch", 1)]);
        let strategies: Vec<_> = log.strategies.iter().map(|s| (s.name.as_str(), s.over)).collect();
        assert_eq!(strategies, [("1, 4", Some((49, 14))), ("1, 5", None)]);
    }
}
