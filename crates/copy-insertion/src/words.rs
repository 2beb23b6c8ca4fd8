//! Stories in English. Every fact in a sentence comes from the story; nothing is guessed again here.

use crate::story::{AttemptOutcome, Clash, CopyStory, Fate, Late, LateRead, Refusal, Rule, Until};
use crate::suggest::{Change, Suggestion};
use analysis::sharing::Clause;
use hlo::{InstructionId, Module};
use std::fmt::Write as _;

/// Why the copy was made: a clause after "Made because".
#[must_use]
pub fn rule(history: &Module, rule: &Rule) -> String {
    let name = |i: &InstructionId| history.name_of(*i);
    match rule {
        Rule::Given => "the module had it already".to_owned(),
        Rule::LoopInit { at, index } => {
            format!(
                "loop {} changes its state {index}, and must not write over what it starts from",
                name(at)
            )
        }
        Rule::LoopParameter { at, index } => {
            format!("the body of loop {} may still read state {index} when the new one is written", name(at))
        }
        Rule::LoopResult { at, index } => {
            format!(
                "what the body of loop {} leaves as state {index} must get to the state's place",
                name(at)
            )
        }
        Rule::BranchResult { at, branch, index } => {
            let part = if index.is_root() { String::new() } else { format!(" {index}") };
            format!(
                "branch {branch} of {} gives its result{part} in the place that all branches share",
                name(at)
            )
        }
        Rule::Transfer { at } => format!("transfer {} is under way and keeps its buffer", name(at)),
        Rule::InPlaceOperand { at, operand, .. } => {
            format!("{} writes over its operand {operand}", name(at))
        }
        Rule::DonatedParameter { at, .. } => {
            format!("parameter {} is donated, and an output will be written there", name(at))
        }
        Rule::DonatedOutput { parameter, index } => {
            format!("output {index} must get to the place of the donated parameter {}", name(parameter))
        }
        Rule::ReadOnly { value, shares_with } => {
            let what = value.label(history);
            let others: Vec<String> = shares_with.iter().take(3).map(|p| p.label(history)).collect();
            let more = if shares_with.len() > 3 { ", ..." } else { "" };
            format!(
                "{what} would share a buffer with {}{more}, which is written, and nobody may write over {what}: it is {}",
                others.join(", "),
                read_only(history, value.instruction)
            )
        }
        Rule::NotInPlace { at, operand, why: Clause::ShapesDiffer, shapes: [from, to], writes_over } => {
            let (from, to) = (history.shapes.short(*from), history.shapes.short(*to));
            let at = name(at);
            if *writes_over {
                format!(
                    "{at} writes over its operand {operand}, and XLA wants operand and result to be of one shape for that; they are {from} and {to}, and no copy would be needed if they were the same"
                )
            } else {
                format!(
                    "{at} would write where its operand {operand} stands, and they are of two shapes: {from} and {to}"
                )
            }
        }
        Rule::NotInPlace { at, operand, .. } => {
            format!("{} would write where its operand {operand} stands, and cannot work in place", name(at))
        }
        Rule::SeveralBuffers { index } => format!("result {index} could stand in one of several buffers"),
        Rule::RepeatedOutput { index, other } => {
            format!("outputs {other} and {index} would be one buffer, and each output needs its own")
        }
        Rule::ReadOnlyOutput { index, value } => {
            let what = value.label(history);
            format!(
                "output {index} would be {what} itself, which is {}",
                read_only(history, value.instruction)
            )
        }
    }
}

fn read_only(history: &Module, id: InstructionId) -> &'static str {
    match history.parameter_number(id) {
        Some(_) => "a parameter that is not donated there",
        None => "a constant",
    }
}

/// Why it could not be removed: a sentence without its end.
#[must_use]
pub fn refusal(history: &Module, refusal: &Refusal) -> String {
    match refusal {
        Refusal::AmbiguousSource => "what it reads can be one of several values".to_owned(),
        Refusal::LayoutChange => "it changes the layout or the memory space".to_owned(),
        Refusal::MiddleToMiddle => {
            "it leads from the middle of one buffer's values to the middle of another's, and such buffers are never joined"
                .to_owned()
        }
        Refusal::Scatter(at) => {
            format!("{} scatters into several results and would write over what it reads", history.name_of(*at))
        }
        Refusal::Clash(c) => clash(history, c),
    }
}

fn clash(history: &Module, c: &Clash) -> String {
    let (wanted, written) = (c.wanted.label(history), c.written.label(history));
    let without = format!("without it, {written} would be written where {wanted} stands");
    match &c.until {
        Until::Unread => format!("{without}, and nothing says that {wanted} is written first"),
        Until::Result => format!("{without}, which is the result of that computation"),
        Until::Reads(reads) => {
            let each: Vec<String> = reads.iter().map(|r| late(history, r, &written, &wanted)).collect();
            format!("{without}, but {}", each.join("; "))
        }
    }
}

fn late(history: &Module, read: &LateRead, written: &str, wanted: &str) -> String {
    let reader = history.name_of(read.user);
    match read.why {
        Late::After => format!("{reader} reads {wanted} and runs after {written}"),
        Late::Unordered => {
            format!("{reader} reads {wanted}, and nothing makes it run before {written}")
        }
        Late::NotInPlace => format!("{reader} reads {wanted} itself and cannot work in place"),
        Late::Nested => format!("{reader} reads {wanted}, and is not certain to be done before {written}"),
    }
}

/// A change as advice, for the module as it was before the pass.
#[must_use]
pub fn change(module: &Module, change: &Change) -> String {
    let name = |i: &InstructionId| module.name_of(*i);
    match change {
        Change::ReadFirst { reader, writer } => format!("let {} run before {}", name(reader), name(writer)),
        Change::DropRead { reader, operand } => match module.operands(*reader).get(*operand as usize) {
            Some(read) => format!("let {} not read {}", name(reader), name(read)),
            None => format!("let {} not read its operand {operand}", name(reader)),
        },
        Change::Donate { parameter, index, output } => {
            let parameters = &module.computation(module.entry).parameters;
            let what = parameters.get(*parameter as usize).map_or("?", |p| module.name_of(*p));
            let part = if index.is_root() { String::new() } else { index.to_string() };
            format!("donate parameter {parameter}, {what}{part}, to output {output}")
        }
        Change::DropOutput { output } => format!("do not return output {output}"),
        Change::SwapBranches { at } => format!("swap the branches of {}", name(at)),
        Change::AnalyseRegions => "turn on region analysis".to_owned(),
    }
}

/// All changes of a suggestion, and what they are worth.
#[must_use]
pub fn suggestion(module: &Module, s: &Suggestion) -> String {
    format!(
        "{}: {} {} instead of {}, {} B less",
        changes(module, s),
        s.copies[1],
        if s.copies[1] == 1 { "copy" } else { "copies" },
        s.copies[0],
        grouped(s.bytes[0].saturating_sub(s.bytes[1]))
    )
}

/// The same for a module that has another number of copies by now than the pass makes.
#[must_use]
pub fn suggestion_of_the_pass(module: &Module, s: &Suggestion) -> String {
    format!(
        "{}: copy insertion then makes {} {} in place of the {} that it makes now, {} B less",
        changes(module, s),
        s.copies[1],
        if s.copies[1] == 1 { "copy" } else { "copies" },
        s.copies[0],
        grouped(s.bytes[0].saturating_sub(s.bytes[1]))
    )
}

fn changes(module: &Module, s: &Suggestion) -> String {
    let changes: Vec<String> = s.changes.iter().map(|c| change(module, c)).collect();
    changes.join(", and ")
}

/// A number with its thousands apart: `25,028`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The whole story, several lines.
#[must_use]
pub fn story(history: &Module, story: &CopyStory) -> String {
    let copy = history.instruction(story.copy);
    let mut out = format!(
        "{}: {}, {} B, in {}\n",
        history.name_of(story.copy),
        history.shapes.short(copy.shape),
        grouped(story.bytes),
        history.computation_name(copy.computation)
    );
    _ = writeln!(out, "  Copies {}.", story.of.label(history));
    if !story.in_place_of.is_empty() {
        let names: Vec<&str> = story.in_place_of.iter().map(|i| history.name_of(*i)).collect();
        _ = writeln!(out, "  Does the work of {}, which the module had already.", names.join(" and "));
    }
    if let Some(value) = story.protects.as_ref().filter(|p| **p != story.of) {
        _ = writeln!(out, "  Saves the value {}.", value.label(history));
    }
    _ = writeln!(out, "  Made because {}.", rule(history, &story.rule));
    if !story.attempts.is_empty() {
        let times = match story.attempts.len() {
            1 => "once".to_owned(),
            n => format!("{n} times"),
        };
        let said = match story.attempts.last().map(|a| &a.outcome) {
            Some(AttemptOutcome::Refused) | None => "refused",
            Some(_) => "removed",
        };
        _ = writeln!(out, "  Tried {times}, {said}.");
    }
    match (&story.refusal, story.fate) {
        (Some(r), Fate::Stayed) => _ = writeln!(out, "  It stays: {}.", refusal(history, r)),
        (None, Fate::Stayed) => out.push_str("  It stays: copies of the special cases are final.\n"),
        _ => {}
    }
    out
}
