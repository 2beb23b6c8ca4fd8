//! What was decided, and what goes wrong, in words.

use crate::cutoff::{Control, Decision, Inputs, Limit, SLICE_MICROSECONDS, STEP_MICROSECONDS};
use crate::simulation::{Fault, Step};

/// How slices, sizes and times are written. Whoever shows the words knows what the slices are called.
#[derive(Clone, Copy)]
pub struct Style<'a> {
    /// A slice, by its place.
    pub slice: &'a dyn Fn(usize) -> String,
    /// Bytes.
    pub bytes: &'a dyn Fn(u64) -> String,
    /// Microseconds.
    pub micros: &'a dyn Fn(f64) -> String,
}

/// Plain numbers: `slice 3`, `4096 bytes`, `8.000 us`.
pub const PLAIN: Style<'static> = Style {
    slice: &|slice| format!("slice {slice}"),
    bytes: &|bytes| format!("{bytes} bytes"),
    micros: &|micros| format!("{micros:.3} us"),
};

/// Why the walk went no further.
pub fn limit(limit: Limit, inputs: &Inputs, d: &Decision, style: Style<'_>) -> String {
    match limit {
        Limit::Slice => {
            let measured = inputs.measured_remap.filter(|_| !d.implausible);
            let taken = measured.unwrap_or(SLICE_MICROSECONDS as f64);
            format!(
                "copying it would take longer than the {} that a remap is taken to cost",
                (style.micros)(taken)
            )
        }
        Limit::StepTime => format!(
            "the copies of a step would take longer than {}",
            (style.micros)(STEP_MICROSECONDS as f64)
        ),
        Limit::Memory if inputs.free > 0 => {
            "the copies would move more than a hundredth of the free memory".to_owned()
        }
        Limit::Memory => "the copies would move more than half a hundredth of the memory".to_owned(),
    }
}

/// A decision, a sentence for each thing that is to be said of it.
pub fn decision(inputs: &Inputs, d: &Decision, style: Style<'_>) -> Vec<String> {
    let bytes = style.bytes;
    let mut out = vec![match (d.cutoff, inputs.control) {
        (_, Control::Off) => "Off: every slice is remapped.".to_owned(),
        (0, _) => "Every slice is remapped: no cutoff.".to_owned(),
        (cutoff, _) => format!("Slices of up to {} are copied.", bytes(cutoff)),
    }];
    if d.implausible {
        out.push("The measured cost of a remap is not plausible, and is not taken.".to_owned());
    }
    if let Some(stop) = d.stop {
        let (slice, size) = ((style.slice)(stop.slice), bytes(inputs.sizes[stop.slice]));
        out.push(format!("The walk ends at {slice} of {size}: {}.", limit(stop.limit, inputs, d, style)));
    }
    out.push(format!(
        "{} copied, {} of shadows; {} remapped, {} of addresses reserved.",
        d.copied.len(),
        bytes(d.shadow_bytes),
        d.remapped.len(),
        bytes(d.reservation)
    ));
    if d.overrun > 0 {
        out.push(format!("Equal sizes are taken together: {} over the budget.", bytes(d.overrun)));
    }
    let cost = |c: Option<f64>| c.map_or("unknown".to_owned(), style.micros);
    out.push(format!(
        "A step costs {}; all remapped {}, all copied {}.",
        cost(d.costs.chosen),
        cost(Some(d.costs.remap_all)),
        cost(d.costs.copy_all)
    ));
    out
}

/// What happens in a step, without what goes wrong in it.
pub fn step(number: usize, step: &Step, style: Style<'_>) -> String {
    let bytes = style.bytes;
    let set_up = if step.set_up { ", set-up" } else { "" };
    format!(
        "step {number}: cutoff {}, remaps: {}, {} copied, {} of addresses needed and {} reserved, {} of shadows, {} leaked{set_up}",
        bytes(step.cutoff),
        step.remaps,
        bytes(step.copied_bytes),
        bytes(step.needed),
        bytes(step.reservation),
        bytes(step.shadow_bytes),
        bytes(step.leaked_bytes)
    )
}

/// What goes wrong.
pub fn fault(fault: &Fault, style: Style<'_>) -> String {
    let Style { slice, bytes, .. } = style;
    match *fault {
        Fault::PastReservation { slice: n, bytes: past } => {
            format!("{} is mapped {} past the end of the reserved addresses", slice(n), bytes(past))
        }
        Fault::EventInFlight => {
            "set-up runs again and replaces an event that the device may still be waiting for".to_owned()
        }
        Fault::LeakedShadows { bytes: leaked } => {
            format!("the range dies, and {} of shadows stay", bytes(leaked))
        }
        Fault::PastShadow { slice: n, bytes: past } => {
            format!("{} is copied {} past the end of its shadow", slice(n), bytes(past))
        }
        Fault::WrongAddress { slice: n } => {
            format!(
                "{} was recorded as copied and is now remapped, or the reverse: the recorded address is wrong",
                slice(n)
            )
        }
        Fault::NoMemory { slice: n, bytes: wanted } => {
            format!("no memory for the shadow of {}, {}", slice(n), bytes(wanted))
        }
    }
}
