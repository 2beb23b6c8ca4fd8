//! What the exhibit says beside the figures. Reasons come from the engine's words; here they are put together.

use crate::engine::{Opened, Run, Threshold};
use crate::scene::{Item, Picture, SlabKind};
use crate::state::End;
use assigner::words::{both, bytes, difference, grouped, list};
use sorts::Arrange as _;
use std::cmp::Ordering;
use std::fmt::Write as _;

/// What an edit did, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The values that the edited ones no longer share with.
    pub lost: Vec<u32>,
    /// What the reader did: "sort.25 now ends at step 33 instead of 30."
    pub deed: String,
    /// The peak's difference, `+1,148 B (+4.6 %)`.
    pub difference: String,
    /// Which way it went.
    pub direction: Ordering,
    /// The rest: the new size, what broke and why, what moved.
    pub rest: String,
}

/// Where the peak is and what makes it, in one sentence.
pub fn peak(run: &Run) -> String {
    let (picture, curve) = (&run.picture, &run.curve);
    let Some(step) = curve.peak() else {
        return "This module needs no temporaries: everything is a parameter, a constant or a result."
            .to_owned();
    };
    let mut alive: Vec<&Item> =
        picture.temps().filter(|i| i.start <= step && step <= i.end && i.size > 0).collect();
    alive.arrange_by_key(|i| (std::cmp::Reverse(i.size), i.value));
    let largest: Vec<String> =
        alive.iter().take(2).map(|i| format!("{} ({})", i.name, bytes(i.size))).collect();
    let mut out = format!("Peak: at step {step}, where {} runs, ", picture.step_name(step));
    _ = match alive.len() {
        1 => write!(out, "{} is alive: {}.", list(&largest, 2), bytes(curve.floor)),
        2 => write!(out, "{} are alive: {}.", list(&largest, 2), bytes(curve.floor)),
        n => write!(
            out,
            "{n} values are alive, together {}; the largest are {}.",
            bytes(curve.floor),
            list(&largest, 2)
        ),
    };
    if curve.assigned > curve.floor {
        _ = write!(
            out,
            " The heap takes {}, {} more, which is what holes and alignment cost.",
            bytes(curve.assigned),
            difference(curve.floor, curve.assigned).replace('+', "")
        );
    } else {
        _ = write!(out, " The heap takes exactly as much: no packing could do better.");
    }
    out
}

/// Where a value stands, why there, and with whom it shares the address.
pub fn why(run: &Run, value: u32) -> String {
    let picture = &run.picture;
    let Some(item) = picture.item(value) else { return String::new() };
    let Some(slab) = item.slab.map(|s| &picture.slabs[s]) else {
        return format!("{} has no memory of its own.", item.name);
    };
    let mut out = format!(
        "{} ({}) is alive from step {} to step {}",
        item.name,
        both(item.bytes),
        item.start,
        item.end,
    );
    // Not every range ends with a read: some are cut or stretched by what they must share with.
    if item.reads.last() == Some(&item.end) {
        _ = write!(out, ", where {} reads it last", picture.step_name(item.end));
    }
    if !picture.is_temp(item) {
        let what = match slab.kind {
            SlabKind::Parameter => "the caller's memory for a parameter",
            SlabKind::Result => "memory for a part of the result",
            SlabKind::Constant => "memory for a constant",
            SlabKind::ThreadLocal => "memory of a computation that runs per element",
            SlabKind::Temp => "a slab of temporaries of its own",
        };
        _ = write!(out, "; it stands in {what}, allocation {}.", slab.id);
        return out;
    }
    _ = write!(out, "; it stands at addresses {} to {}.", grouped(item.offset), grouped(item.top()));
    let mates = picture.mates(value);
    let before = mates.iter().filter(|m| m.end <= item.start).max_by_key(|m| (m.end, m.value));
    let after = mates.iter().filter(|m| m.start >= item.end).min_by_key(|m| (m.start, m.value));
    match before {
        Some(m) if m.end == item.start => {
            _ = write!(out, " It is written over {} in place, at the step that reads it last", m.name);
        }
        Some(m) => _ = write!(out, " Before it, until step {}, {} stands there", m.end, m.name),
        None => {}
    }
    let joint = if before.is_some() { "; after it," } else { " After it," };
    match after {
        Some(m) if m.start == item.end => {
            let joint = if before.is_some() { "; in turn," } else { "" };
            _ = write!(out, "{joint} {} is written over it in place at step {}.", m.name, m.start);
        }
        Some(m) => _ = write!(out, "{joint} from step {}, {} stands there.", m.start, m.name),
        None if before.is_some() => out.push('.'),
        None => out.push_str(" Nothing else ever stands there."),
    }
    let in_place = before.is_some_and(|m| m.end == item.start) || after.is_some_and(|m| m.start == item.end);
    if in_place {
        out.push_str(
            " They may share the address because their live ranges do not overlap, except at the step that works in place.",
        );
    } else if before.is_some() || after.is_some() {
        out.push_str(" They may share the address because their live ranges do not overlap.");
    }
    out
}

/// What the edits of `run` did; `None` without edits.
pub fn outcome(opened: &Opened, run: &Run, selected: Option<u32>) -> Option<Outcome> {
    let edits: Vec<_> =
        run.edits.iter().filter(|e| opened.original.picture.item(e.value).is_some()).collect();
    let one = selected.and_then(|s| edits.iter().find(|e| e.value == s)).or(edits.first())?;
    let (old, new) = (opened.original.picture.item(one.value)?, run.picture.item(one.value)?);
    let mut deed = match (old.start != new.start, old.end != new.end) {
        (true, true) => format!(
            "{} is now alive from step {} to step {} instead of {} to {}.",
            old.name, new.start, new.end, old.start, old.end
        ),
        (true, false) => format!("{} now starts at step {} instead of {}.", old.name, new.start, old.start),
        _ => format!("{} now ends at step {} instead of {}.", old.name, new.end, old.end),
    };
    match edits.len() {
        1 => {}
        2 => deed.push_str(" One other range is changed too."),
        n => _ = write!(deed, " {} other ranges are changed too.", n - 1),
    }
    let change = opened.change(run);
    let mut rest = change.sharing_words(&opened.module, &opened.facts);
    // Who moved: the edited value itself, or else the one it lost.
    let lost = change.broken.first().map(|b| b.with.0);
    let place = |value: u32| {
        let (old, new) = (opened.original.picture.item(value)?, run.picture.item(value)?);
        let both_temps = opened.original.picture.is_temp(old) && run.picture.is_temp(new);
        (both_temps && old.offset != new.offset).then_some((value, old, new))
    };
    let moved = change.moved.len();
    match place(one.value).or_else(|| place(lost?)) {
        Some((_, old, new)) => {
            _ = write!(rest, " {} moves from {} to {}", old.name, grouped(old.offset), grouped(new.offset));
            match moved - 1 {
                0 => rest.push('.'),
                1 => rest.push_str(", and one other value moves too."),
                n => _ = write!(rest, ", and {n} other values move too."),
            }
        }
        None if moved == 1 => rest.push_str(" One other value moves."),
        None if moved > 1 => _ = write!(rest, " {moved} other values move."),
        None => {}
    }
    Some(Outcome {
        lost: change.broken.iter().map(|b| b.with.0).collect(),
        deed,
        difference: difference(change.before, change.after),
        direction: change.after.cmp(&change.before),
        rest,
    })
}

/// What a handle says of itself: "ends at step 30, concatenate.10".
pub fn handle(picture: &Picture, item: &Item, end: End) -> String {
    match end {
        End::Start => format!("starts at step {}, {}", item.start, picture.step_name(item.start)),
        End::End => format!("ends at step {}, {}", item.end, picture.step_name(item.end)),
    }
}

/// A threshold as it stands beside the range.
pub fn threshold(t: &Threshold) -> (String, String) {
    let with = list(&t.with, 1);
    (format!("step {}: stops sharing with {with}", t.step), format!("{}: loses {with}", t.step))
}

/// The task, in one sentence: which end to pull, and towards what. The name stands between its two parts.
pub fn task(end: &[Threshold], start: &[Threshold]) -> (&'static str, &'static str) {
    match (end, start) {
        ([_, ..], _) => ("Take the right end of ", " and pull it to the right, until the sharing breaks."),
        ([], [_, ..]) => ("Take the left end of ", " and pull it to the left, until the sharing breaks."),
        ([], []) => ("Take either end of ", " and pull: the packing runs again at every step."),
    }
}

/// What stands beside the pointer: a value's name and what it is, then its numbers.
pub fn tip(picture: &Picture, value: u32) -> Option<(String, String)> {
    let item = picture.item(value)?;
    let place =
        if picture.is_temp(item) { format!(" · at {}", grouped(item.offset)) } else { String::new() };
    Some((
        format!("{} · {} · {}", item.name, item.opcode, item.shape),
        format!("{} · steps {} to {}{place}", bytes(item.bytes), item.start, item.end),
    ))
}

/// The one-line text for a point of time: what runs, and how much is in use.
pub fn step(run: &Run, step: u32) -> String {
    let used = run.curve.bytes.get(step as usize).copied().unwrap_or(0);
    match run.picture.steps.get(step as usize) {
        Some(s) => format!("Step {step} · {} ({}) runs · {} alive", s.name, s.opcode, bytes(used)),
        None => format!("Step {step} · the end of the program"),
    }
}

/// The one-line text for a value.
pub fn value(picture: &Picture, value: u32) -> String {
    let Some(item) = picture.item(value) else { return String::new() };
    let place = if picture.is_temp(item) {
        format!("at {}", grouped(item.offset))
    } else {
        item.slab.map_or_else(String::new, |s| {
            let slab = &picture.slabs[s];
            format!("in {} slab {}", slab.kind.name(), slab.id)
        })
    };
    format!(
        "{} · {} · {} · {} · steps {} to {} · {place}",
        item.name,
        item.opcode,
        item.shape,
        bytes(item.bytes),
        item.start,
        item.end
    )
}
