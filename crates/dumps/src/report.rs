//! `-memory-usage-report.txt` (9.4).

use crate::human;
use analysis::{Color, Facts, Target, ValueId};
use assigner::{Allocation, Assignment};
use hlo::Module;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Rows and blocks are cut behind this many, once what is left is small.
const ROWS: usize = 50;

/// Is less than a twentieth of the total left?
fn is_tail(total: u64, done: u64) -> bool {
    (total.saturating_sub(done) as f32) < 0.05f32 * total as f32
}

/// Writes the file.
#[must_use]
pub fn memory_usage_report(module: &Module, facts: &Facts, assignment: &Assignment) -> String {
    let mut out = String::new();
    let colors: BTreeSet<Color> = assignment.allocations.iter().map(|a| a.color).collect();
    for color in colors {
        let name = Target::color_name(color).map_or_else(|| format!("color_{color}"), str::to_owned);
        let mut ours: Vec<&Allocation> = assignment.allocations.iter().filter(|a| a.color == color).collect();
        ours.sort_by_key(|a| (std::cmp::Reverse(a.size), a.id));
        let total: u64 = ours.iter().map(|a| a.size).sum();
        let _ =
            writeln!(out, "Memory Space: {name} (color={color})\nTotal bytes: {total} ({})", human(total));
        let mut done = 0;
        for (i, a) in ours.iter().enumerate() {
            block(&mut out, module, facts, a);
            out.push('\n');
            done += a.size;
            if i + 1 > ROWS && is_tail(total, done) {
                break;
            }
        }
        out.push('\n');
    }
    out
}

fn block(out: &mut String, module: &Module, facts: &Facts, a: &Allocation) {
    out.push_str("  cumulative_size;       size;       offset; used_by_n_values; shapes_list\n");
    out.push_str("  ------------------------------------------------------------\n");
    let mut by_offset: BTreeMap<u64, (u64, Vec<ValueId>)> = BTreeMap::new();
    for p in &a.values {
        let group = by_offset.entry(p.offset).or_default();
        group.0 = group.0.max(p.size);
        group.1.push(p.value);
    }
    let mut groups: Vec<(u64, u64, Vec<ValueId>)> =
        by_offset.into_iter().map(|(offset, (size, values))| (size, offset, values)).collect();
    groups.sort_by_key(|(size, _, values)| (std::cmp::Reverse(*size), values.last().copied()));
    let total: u64 = groups.iter().map(|(size, ..)| size).sum();
    let mut done = 0u64;
    for (i, (size, offset, values)) in groups.iter().enumerate() {
        done += size;
        let percent = if total == 0 {
            "-nan".to_owned()
        } else {
            format!("{:3.0}", 100.0 * done as f64 / total as f64)
        };
        let list = shapes(module, facts, values);
        let (sum, own) = (human(done), human(*size));
        let _ =
            writeln!(out, "  {sum:>9}({percent}%); {own:>10}; {offset:>12}; {:>16}; {list}", values.len());
        if i + 1 > ROWS && is_tail(total, done) {
            let rest = groups.len() - i - 1;
            let _ =
                writeln!(out, "  The rest {rest} values are less than 5% of the total size and not shown.");
            break;
        }
    }
}

/// Shapes of a group's values with how often each occurs, the rarest first.
fn shapes(module: &Module, facts: &Facts, values: &[ValueId]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for v in values {
        *counts.entry(module.shapes.short(facts.value_shape(module, *v))).or_default() += 1;
    }
    let mut counts: Vec<(usize, &str)> = counts.into_iter().map(|(text, n)| (n, text)).collect();
    counts.sort_unstable();
    let words: Vec<String> = counts
        .into_iter()
        .map(|(n, text)| if n == 1 { text.to_owned() } else { format!("{n}×{text}") })
        .collect();
    words.join(", ")
}
