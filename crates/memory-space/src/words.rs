//! Decisions in English, made here and nowhere else.

use crate::Outcome;
use crate::decision::{
    BlockResult, CrossProgramResult, Decision, Evict, KeptBecause, NoCopy, NotConsidered, Prefetch,
    PrefetchResult, PrefetchWindow, RollBack, Segment, Step, TryOutcome, WindowResult,
};
use crate::problem::{BufferIndex, Error, Problem, RequirementReason, Space};
use std::fmt;
use std::fmt::Write as _;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { what, most } => write!(f, "too many {what}: at most {most}"),
            Self::TimeOutOfRange { what, time } => {
                write!(f, "{what}: time {time} is outside of the schedule")
            }
            Self::BadOption { option } => write!(f, "{option} makes no sense"),
            Self::ContradictoryRequirement { value, time } => {
                write!(f, "value {value} is required in both memories at {time}")
            }
            Self::PinnedDoesNotFit { name, outcome } => {
                write!(f, "{name} must be in alternate memory and cannot be: {outcome}")
            }
            Self::ContradictoryColours { name, time } => {
                write!(f, "colours ask for {name} in both memories at {time}")
            }
            Self::ColourDoesNotFit { name, start, end } => {
                write!(f, "{name} must be in alternate memory from {start} to {end}, and there is no place")
            }
            Self::UnsatisfiedOverride { usage } => {
                write!(f, "what was asked of {usage} did not come true")
            }
            Self::BlockDoesNotFit { name } => {
                write!(f, "{name} was to be fetched as a block, and there is no place")
            }
            Self::ScopedDoesNotFit { time, size } => {
                write!(f, "{size} bytes of scoped memory do not fit at {time}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// What a failure means.
pub fn failure(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::OUT_OF_MEMORY => "there is no place in fast memory",
        Outcome::PREVIOUS_NOT_IN_ALTERNATE => "it stands in slow memory before, so it cannot simply stay",
        Outcome::LIVE_RANGE_TOO_LONG => "it would lie in fast memory unused for too long",
        Outcome::LIVE_RANGE_TOO_SHORT => "there is too little time to hide a copy in",
        Outcome::OUT_OF_ASYNC_COPIES => "no further copy can be under way at that time",
        Outcome::VIOLATES_ASYNC_COPY_RESOURCE => "the copy engine has no bandwidth left",
        Outcome::REQUIRES_UNCOMMIT => "others depend on it, so everything tried is taken back",
        Outcome::ALL_SLICES_HAVE_THE_SAME_START_TIME => "all slices would start at once",
        Outcome::CONFLICTING_PREFERRED_OFFSETS => "it would have to be at two addresses",
        Outcome::SYNC_DATA_MOVE_REPLACEMENT => "a copy could not be made asynchronous",
        _ => "it went well",
    }
}

/// All failures of an outcome in words; "it went well" if there are none.
pub fn outcome(outcome: Outcome) -> String {
    let words: Vec<&str> =
        Outcome::NAMES.iter().filter(|(bit, _)| outcome.has(*bit)).map(|(bit, _)| failure(*bit)).collect();
    if words.is_empty() { failure(Outcome::SUCCESS).to_owned() } else { words.join("; ") }
}

fn space(space: Space) -> &'static str {
    match space {
        Space::Default => "slow memory",
        Space::Alternate => "fast memory",
    }
}

/// Why a place is required.
pub fn reason(reason: &RequirementReason) -> &str {
    match reason {
        RequirementReason::ProgramInput => "it is a parameter of the program",
        RequirementReason::ProgramOutput => "it is a result of the program",
        RequirementReason::Constant => "it is a constant",
        RequirementReason::ValueNotAllowed => "the value may be nowhere else",
        RequirementReason::PositionNotAllowed => "its definition may be nowhere else",
        RequirementReason::UseNotAllowed => "the reader may find it nowhere else",
        RequirementReason::AliasedUse => "it must agree with another position of the buffer",
        RequirementReason::InefficientSite => "copies would move more than is read",
        RequirementReason::WhileWithoutBenefit => "the loop would not gain from it",
        RequirementReason::ConditionalWithoutBenefit => "the branches would not gain from it",
        RequirementReason::ConditionalOutput => "it is the result of a conditional",
        RequirementReason::Colour => "its colour asks for it",
        RequirementReason::Override => "that was asked for",
        RequirementReason::Other(text) => text,
    }
}

/// With commas between thousands, as in all our words.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn micros(seconds: f32) -> String {
    format!("{:.3} us", seconds * 1e6)
}

fn name(problem: &Problem, buffer: BufferIndex) -> &str {
    problem.buffers.get(buffer.index()).map_or("?", |b| b.name.as_str())
}

/// One decision as a line.
pub fn decision(problem: &Problem, decision: &Decision) -> String {
    match decision {
        Decision::CrossProgram(c) => {
            let name = &c.name;
            match &c.result {
                CrossProgramResult::Kept { offset, because } => {
                    let because = match because {
                        KeptBecause::Disabled => "its space is not given back: turned off".to_owned(),
                        KeptBecause::NoPressure { pressure, size } => {
                            format!(
                                "its space is not given back: all {} bytes fit into {}",
                                grouped(*pressure),
                                grouped(*size)
                            )
                        }
                        KeptBecause::OccupiedTooLong { ratio } => format!(
                            "its space is not given back: it would be occupied for {:.0} % of the time anyway",
                            ratio * 100.0
                        ),
                        KeptBecause::NoTime { .. } => {
                            "its space is not given back: no time for a second copy".to_owned()
                        }
                    };
                    format!("{name} is fetched before the program begins, to {}; {because}", grouped(*offset))
                }
                CrossProgramResult::Freed { offset, last_use, second_start, .. } => format!(
                    "{name} is fetched before the program begins, to {}; its space is free from {last_use} \
                     until it is fetched for the next run after {second_start}",
                    grouped(*offset)
                ),
                CrossProgramResult::NoPlace { end, available } => format!(
                    "{name} is not fetched before the program begins: it would end at {} of {} bytes",
                    grouped(*end),
                    grouped(*available)
                ),
            }
        }
        Decision::NotConsidered { buffer, reason } => {
            let name = name(problem, *buffer);
            match reason {
                NotConsidered::NotAllowed => format!("{name} may not be in fast memory"),
                NotConsidered::TooLarge { size, available } => {
                    format!(
                        "{name} has {} bytes, more than the {} there are",
                        grouped(*size),
                        grouped(*available)
                    )
                }
                NotConsidered::BlockPrefetched => format!("{name} is left to block prefetching"),
                NotConsidered::SplitsDisagree => {
                    format!("the positions of {name} would be split between cores in different ways")
                }
                NotConsidered::CrossProgramPrefetched => {
                    format!("{name} has been fetched before the program begins")
                }
            }
        }
        Decision::Reserved { buffer, start, end, offset } => {
            let name = name(problem, *buffer);
            format!("{name} has {offset} set aside from {start} to {end}, because its colour asks for it")
        }
        Decision::Block { buffer, result } => {
            let name = name(problem, *buffer);
            match result {
                BlockResult::Pinned => format!("{name} is kept in slow memory"),
                BlockResult::Copied { start, done, offset } => {
                    format!("{name} is fetched as a block to {offset} after {start}, done before {done}")
                }
                BlockResult::NoPlace { earliest, first_use } => format!(
                    "{name} is not fetched as a block: between {earliest} and its first use at {first_use} there is \
                     no start from which it would fit"
                ),
            }
        }
        Decision::Window { usage, size, result } => match result {
            WindowResult::Placed { offset } => format!("{usage}: a window of {size} bytes at {offset}"),
            WindowResult::NotNeeded => format!("{usage}: no window, it reads fast memory"),
            WindowResult::TooSmall { least } => {
                format!("{usage}: no window, {size} bytes are fewer than {least}")
            }
            WindowResult::TooMany { most } => format!("{usage}: no window, there may be {most}"),
            WindowResult::NoPlace => format!("{usage}: no window, {size} bytes are free nowhere"),
        },
        Decision::Segment(segment) => self::segment(segment),
        Decision::RolledBack { buffer, reason, outcome, .. } => {
            let name = name(problem, *buffer);
            match reason {
                RollBack::RequiresUncommit => {
                    format!("{name}: everything tried is taken back: {}", self::outcome(*outcome))
                }
                RollBack::Repack => format!("{name}: taken back, to try again after packing everything anew"),
                RollBack::Inefficient => format!("{name}: taken back, because copies would not pay"),
                RollBack::Conversion => {
                    format!("{name}: taken back, because a copy could not be made asynchronous")
                }
            }
        }
        Decision::Repacked { buffer, fits: true, moved } => {
            format!("everything is packed anew for {}: {moved} moved", name(problem, *buffer))
        }
        Decision::Repacked { buffer, fits: false, .. } => {
            format!(
                "packing everything anew for {} does not fit; all stays where it was",
                name(problem, *buffer)
            )
        }
        Decision::Inefficient { buffer, copied_bytes, used_bytes, sites } => format!(
            "{}: {} bytes would be copied for {} read and written; in slow memory from now on: {}",
            name(problem, *buffer),
            grouped(*copied_bytes),
            grouped(*used_bytes),
            sites.join(", ")
        ),
        Decision::Finalized { buffer, in_alternate: 0 } => {
            format!("{} stays in slow memory", name(problem, *buffer))
        }
        Decision::Finalized { buffer, in_alternate: 1 } => {
            format!("{} is in fast memory once", name(problem, *buffer))
        }
        Decision::Finalized { buffer, in_alternate } => {
            format!("{} is in fast memory, {in_alternate} times", name(problem, *buffer))
        }
    }
}

fn segment(segment: &Segment) -> String {
    let Segment { position, usage, start, end, .. } = segment;
    let mut text = format!("{position} from {start} to {end}, for {usage}: ");
    let steps: Vec<String> = segment.steps.iter().map(step).collect();
    text += &steps.join("; ");
    if !segment.outcome.is_success() {
        let _ = write!(text, " [{}]", segment.outcome);
    }
    text
}

/// One thing tried, in words.
pub fn step(step: &Step) -> String {
    match step {
        Step::SameInstruction => "read by the same instruction".to_owned(),
        Step::Required { time, space: s, reason: r } => {
            format!("must be in {} at {time}, because {}", space(*s), reason(r))
        }
        Step::NoCopy(no_copy) => self::no_copy(no_copy),
        Step::Evict(evict) => self::evict(evict),
        Step::Prefetch(prefetch) => self::prefetch(prefetch),
        Step::FromDefault => "read from slow memory".to_owned(),
    }
}

fn no_copy(no_copy: &NoCopy) -> String {
    match no_copy {
        NoCopy::Stays { offset, .. } => format!("stays in fast memory at {}", grouped(*offset)),
        NoCopy::NotAllowed => "may not be in fast memory".to_owned(),
        NoCopy::PreviousElsewhere => failure(Outcome::PREVIOUS_NOT_IN_ALTERNATE).to_owned(),
        NoCopy::TooLong { seconds, most } => {
            format!("would lie unused for {}, more than {}", micros(*seconds), micros(*most))
        }
        NoCopy::OffsetConflict => failure(Outcome::CONFLICTING_PREFERRED_OFFSETS).to_owned(),
        NoCopy::NoPlace { size, from, until, only_at: Some(offset) } => {
            format!("{} bytes are not free at {} from {from} to {until}", grouped(*size), grouped(*offset))
        }
        NoCopy::NoPlace { size, from, until, only_at: None } => {
            format!("{} bytes are free nowhere from {from} to {until}", grouped(*size))
        }
    }
}

fn evict(evict: &Evict) -> String {
    match evict {
        Evict::Copied { start, done, is_last_resort, .. } => format!(
            "copied to slow memory after {start}, done before {done}{}",
            if *is_last_resort { ", though the copy engine is busy: the last attempt" } else { "" }
        ),
        Evict::TooShort { start } => format!("no time to copy it to slow memory after {start}"),
        Evict::NoBandwidth { start, done, seconds } => format!(
            "the copy engine has not {} left between {start} and {done} to copy it to slow memory",
            micros(*seconds)
        ),
        Evict::Forced { start } => {
            format!("copied to slow memory right after {start}, because its colour asks for it")
        }
        Evict::NoCopies => "with block prefetching nothing else is copied".to_owned(),
        Evict::TooMany { count, most } => {
            format!("{count} copies to slow memory are under way, there may be {most}")
        }
    }
}

fn prefetch(prefetch: &Prefetch) -> String {
    if let PrefetchResult::Copied { start, offset, slice_starts, .. } = &prefetch.result {
        let done = prefetch.done;
        return if slice_starts.is_empty() {
            format!("copied to fast memory at {} after {start}, done before {done}", grouped(*offset))
        } else {
            let starts: Vec<String> = slice_starts.iter().map(ToString::to_string).collect();
            format!(
                "copied to fast memory at {} in {} slices after {}, done before {done}",
                grouped(*offset),
                slice_starts.len(),
                starts.join(", ")
            )
        };
    }
    match &prefetch.window {
        PrefetchWindow::Empty { available } => {
            format!("no copy: it is there only after {available}, and must be done before {}", prefetch.done)
        }
        PrefetchWindow::Full { time, used, size } => {
            format!(
                "no copy: at {time}, {} bytes are in use, and {} more are too many",
                grouped(*used),
                grouped(*size)
            )
        }
        PrefetchWindow::PreferredOutside { preferred } => {
            format!("no copy: the time asked for, {preferred}, is not possible")
        }
        PrefetchWindow::OnlyOutside { only, earliest, latest, .. }
            if earliest <= latest && only < earliest =>
        {
            format!(
                "no copy: after {only} it would lie in fast memory for too long, {earliest} is the earliest start"
            )
        }
        PrefetchWindow::OnlyOutside { only, seconds, least, .. } => format!(
            "no copy: from {only} to the use there are {}, and a copy needs {}",
            micros(*seconds),
            micros(*least)
        ),
        PrefetchWindow::Forced => "no copy".to_owned(),
        PrefetchWindow::TooNear { available, .. }
            if prefetch.result == (PrefetchResult::Failed { outcome: Outcome::OUT_OF_MEMORY }) =>
        {
            format!("no copy: from {available} on there is no place for it")
        }
        PrefetchWindow::TooNear { available, seconds, least } => format!(
            "no copy: from {available} to the use there are {}, and a copy needs {}",
            micros(*seconds),
            micros(*least)
        ),
        PrefetchWindow::Open { earliest, latest, .. } => {
            let mut text = format!("no copy between {earliest} and {latest}");
            if let Some(last) = prefetch.tried.last() {
                let _ = write!(text, ": after {} {}", last.start, tried(last.outcome));
            } else {
                text += ": no place even for the latest";
            }
            text
        }
    }
}

fn tried(outcome: TryOutcome) -> String {
    match outcome {
        TryOutcome::Fits { offset } => format!("it fits at {offset}"),
        TryOutcome::SlicesStartTogether => "all slices would start at once".to_owned(),
        TryOutcome::OutOfOrder => "it would overtake another copy".to_owned(),
        TryOutcome::TooMany { count, most } => format!("{count} copies are under way, there may be {most}"),
        TryOutcome::NoBandwidth { seconds } => format!("the copy engine has not {} left", micros(seconds)),
        TryOutcome::NoPlace => "there is no place".to_owned(),
        TryOutcome::NoPlaceLater => "there is no place, as there is none from a later start on".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_its_own_words() {
        let words: std::collections::BTreeSet<&str> =
            Outcome::NAMES.iter().map(|(bit, _)| failure(*bit)).collect();
        assert_eq!(words.len(), Outcome::NAMES.len());
        let both = Outcome::OUT_OF_MEMORY | Outcome::LIVE_RANGE_TOO_SHORT;
        assert_eq!(
            outcome(both),
            "there is no place in fast memory; there is too little time to hide a copy in"
        );
        assert_eq!(outcome(Outcome::SUCCESS), "it went well");
    }
}
