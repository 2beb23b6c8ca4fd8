//! `-live-range.txt` (4.4).

use crate::stack;
use analysis::{Facts, Step, ValueId};
use hlo::Module;
use std::fmt::Write;

/// Pointer size that the file counts with, whatever the backend's.
const POINTER: u64 = 8;

/// What is alive when most is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    /// When.
    pub step: Step,
    /// What, the largest first, each with its own bytes (untiled, tuples as pointer tables).
    pub values: Vec<(ValueId, u64)>,
    /// Their sum in bytes.
    pub total: u64,
}

/// Finds the peak the way the live-range file does (4.4): the moment is found with whole results, the list counts parts.
#[must_use]
pub fn peak(module: &Module, facts: &Facts) -> Peak {
    let shapes = &module.shapes;
    let mut change: Vec<(u64, u64)> = vec![(0, 0); facts.clock.end.index() + 2];
    for (v, range) in facts.ranges.iter() {
        let whole = shapes.bytes(module.instruction(facts.defining(v)).shape, POINTER);
        let begin = &mut change[range.start.index()].0;
        *begin = begin.saturating_add(whole);
        let end = &mut change[range.end.index() + 1].1;
        *end = end.saturating_add(whole);
    }
    // At one time what begins is counted before what ended.
    let (mut live, mut most, mut step) = (0u64, 0, Step(0));
    for (t, (begins, ended)) in change.iter().enumerate() {
        live = live.saturating_add(*begins);
        if live > most {
            (most, step) = (live, Step(t as u32));
        }
        live = live.saturating_sub(*ended);
    }
    let mut values: Vec<(ValueId, u64)> = facts
        .ranges
        .iter()
        .filter(|(_, r)| r.start <= step && step <= r.end)
        .map(|(v, _)| (v, shapes.bytes(facts.value_shape(module, v), POINTER)))
        .collect();
    values.sort_by(|(a, a_bytes), (b, b_bytes)| {
        let key = |v: ValueId| {
            let at = facts.value(v).defined_at();
            let shape = module.instruction(at.instruction).shape;
            (module.name_of(at.instruction), &shapes.subshapes(shape)[at.sub as usize].index)
        };
        b_bytes.cmp(a_bytes).then_with(|| key(*a).cmp(&key(*b)))
    });
    let total = values.iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    Peak { step, values, total }
}

/// Writes the file.
#[must_use]
pub fn live_range(module: &Module, facts: &Facts) -> String {
    let mut out = format!("HloLiveRange (max {}):\n  InstructionSequence:\n", facts.clock.end);
    for (t, id) in facts.clock.sequence.iter().enumerate() {
        let _ = writeln!(out, "    {t}:{}", module.name_of(*id));
    }
    out.push_str("  BufferLiveRange:\n");
    for (v, range) in facts.ranges.iter() {
        let _ = writeln!(out, "    {}:{}-{}", indexed_name(module, facts, v), range.start, range.end);
    }
    let peak = peak(module, facts);
    let _ = writeln!(out, "  Live ranges at {} (peak):", peak.step);
    let mut cumulative = 0u64;
    for (v, bytes) in &peak.values {
        cumulative = cumulative.saturating_add(*bytes);
        let name = indexed_name(module, facts, *v);
        let _ = writeln!(out, "    {name}: {bytes} bytes (cumulative: {cumulative} bytes)");
    }
    out += &stack::breakdown_text(&stack::breakdown(module, facts, &peak.values), peak.total);
    out
}

/// `name{index}`, the index always printed.
fn indexed_name(module: &Module, facts: &Facts, v: ValueId) -> String {
    let at = facts.value(v).defined_at();
    let places = module.shapes.subshapes(module.instruction(at.instruction).shape);
    format!("{}{}", module.name_of(at.instruction), places[at.sub as usize].index)
}
