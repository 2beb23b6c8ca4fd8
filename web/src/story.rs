//! What the exhibit says beside the figures. Reasons come from the engine's words; here they are put together.

use crate::engine::{Opened, Run, Threshold};
use crate::scene::{Item, Picture, SlabKind};
use crate::state::End;
use analysis::ValueId;
use assigner::words::{both, bytes, difference, grouped, list};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// What an edit did, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
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
    alive.sort_by_key(|i| (std::cmp::Reverse(i.size), i.value));
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
        item.end
    );
    if !picture.is_temp(item) {
        let what = match slab.kind {
            SlabKind::Parameter => "the caller's memory for a parameter",
            SlabKind::Result => "memory for a part of the result",
            SlabKind::Constant => "memory for a constant",
            SlabKind::ThreadLocal => "memory of a computation that runs per element",
            SlabKind::Temp => "a slab of temporaries of its own",
        };
        _ = write!(out, " and stands in {what}, allocation {}.", slab.id);
        return out;
    }
    _ = write!(out, " and stands at {} to {}.", grouped(item.offset), grouped(item.top()));
    let mates = picture.mates(value);
    let (mut before, mut after, mut with) = (Vec::new(), Vec::new(), Vec::new());
    for mate in &mates {
        if mate.end < item.start {
            before.push(*mate);
        } else if mate.start > item.end {
            after.push(*mate);
        } else {
            with.push(*mate);
        }
    }
    let names = |items: &[&Item]| list(&items.iter().map(|i| i.name.clone()).collect::<Vec<_>>(), 3);
    if mates.is_empty() {
        out.push_str(" Nothing else ever stands there.");
        return out;
    }
    out.push_str(" It shares that address");
    let mut joint = " with";
    if let Some(last) = before.last() {
        _ = write!(out, "{joint} {} before it (until step {})", names(&before), last.end);
        joint = " and with";
    }
    if !with.is_empty() {
        _ = write!(out, "{joint} {}, written over in place", names(&with));
        joint = " and with";
    }
    if let Some(first) = after.first() {
        _ = write!(out, "{joint} {} after it (from step {})", names(&after), first.start);
    }
    out.push_str(": they are never alive together.");
    if !with.is_empty() {
        out.truncate(out.len() - ": they are never alive together.".len());
        out.push('.');
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
    let mut rest = change.sentence(&opened.module, &opened.facts);
    if opened.original.picture.is_temp(old) && run.picture.is_temp(new) {
        if old.offset != new.offset {
            _ = write!(rest, " It moved from {} to {}", grouped(old.offset), grouped(new.offset));
            let others = change.moved.iter().filter(|v| **v != ValueId(one.value)).count();
            match others {
                0 => rest.push('.'),
                1 => rest.push_str("; one other value moved too."),
                n => _ = write!(rest, "; {n} other values moved too."),
            }
        } else if !change.moved.is_empty() {
            let others = change.moved.len();
            _ = write!(
                rest,
                " {} moved; it stands where it stood.",
                if others == 1 { "One value".to_owned() } else { format!("{others} values") }
            );
        }
    }
    Some(Outcome {
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
