//! Files of one module that contradict each other.

use crate::kind::Sections;
use assigner::words::{both, bytes, grouped, list};
use dumps::read::{Dump, Size, ValueName};
use hlo::Module;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

/// Most findings of one kind that are named; the rest are counted.
const MOST: usize = 20;

/// A contradiction between the files of one module, or within one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The allocations do not add up to the sum that another file gives; it may be cut off.
    Totals {
        /// The file that gives the other sum.
        file: &'static str,
        /// Sum of the allocations, in bytes.
        assignment: u128,
        /// What the other file says, in bytes.
        told: u64,
    },
    /// The same for one memory space.
    SpaceTotals {
        /// The memory space.
        color: u32,
        /// Sum of its allocations, in bytes.
        assignment: u128,
        /// What the memory-usage report says, in bytes.
        told: u64,
    },
    /// Most names of a file are not in the module: it is the file of another one.
    OtherModule {
        /// The file.
        file: &'static str,
        /// Names that are not in the module.
        unknown: usize,
        /// Of how many.
        of: usize,
        /// Some of them.
        examples: Vec<String>,
    },
    /// A value that the module has not.
    UnknownValue {
        /// The file.
        file: &'static str,
        /// The value.
        value: String,
        /// The line in that file, where it is known.
        line: Option<u32>,
    },
    /// A value has another shape in the module.
    Shape {
        /// The value.
        value: String,
        /// Its shape in the assignment.
        assignment: String,
        /// Its shape in the module.
        module: String,
    },
    /// Two values have bytes in common while both are alive, or one ends where the other is written, and they do not stand
    /// in exactly the same place.
    Overlap {
        /// The allocation.
        allocation: u32,
        /// The value that is there first, with the first and the last step of its range.
        first: (String, u32, u32),
        /// The other one.
        second: (String, u32, u32),
        /// The first common byte and the byte after the last.
        bytes: (u64, u64),
    },
    /// A value of one memory space stands in an allocation of another.
    Color {
        /// The value.
        value: String,
        /// Its memory space.
        own: u32,
        /// The allocation.
        allocation: u32,
        /// The allocation's memory space.
        color: u32,
    },
    /// A value takes fewer bytes than its shape needs.
    TooSmall {
        /// The value.
        value: String,
        /// Bytes that it takes.
        size: u64,
        /// Bytes that its shape needs.
        needs: u64,
        /// The line in the assignment.
        line: u32,
    },
    /// A live range goes on behind the end of the program.
    RangeBeyond {
        /// The value.
        value: String,
        /// The last step of its range.
        last: u32,
        /// The end of the program.
        end: u32,
    },
    /// Values with a range that have no place: the assignment is cut off, or of another compilation.
    NotPlaced {
        /// How many.
        count: usize,
        /// Of how many.
        of: usize,
        /// Some of them.
        examples: Vec<String>,
    },
    /// The schedule of the live-range file is not that of the module.
    Schedule {
        /// Has the module the instruction elsewhere? If not, the file is of another module.
        is_known: bool,
        /// The first step that differs.
        step: u32,
        /// The instruction there in the live-range file.
        live_range: String,
        /// The instruction there in the module.
        module: String,
    },
    /// The live-range file gives another sum at its peak than its own entries.
    PeakSum {
        /// Sum of the entries, in bytes.
        entries: u64,
        /// The last cumulative sum, in bytes.
        told: u64,
    },
    /// More of the same kind.
    More {
        /// What.
        what: &'static str,
        /// How many.
        count: usize,
    },
}

impl Finding {
    /// A short name for machines.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Totals { .. } => "totals",
            Self::SpaceTotals { .. } => "space-totals",
            Self::OtherModule { .. } => "other-module",
            Self::UnknownValue { .. } => "unknown-value",
            Self::Shape { .. } => "shape",
            Self::Overlap { .. } => "overlap",
            Self::Color { .. } => "color",
            Self::TooSmall { .. } => "too-small",
            Self::RangeBeyond { .. } => "range-beyond",
            Self::NotPlaced { .. } => "not-placed",
            Self::Schedule { .. } => "schedule",
            Self::PeakSum { .. } => "peak-sum",
            Self::More { .. } => "more",
        }
    }

    /// Is it the assignment that is wrong, or another file that says so? Then its sums are not to be relied on.
    #[must_use]
    pub fn is_of_sums(&self) -> bool {
        match self {
            Self::Totals { .. }
            | Self::SpaceTotals { .. }
            | Self::Shape { .. }
            | Self::Overlap { .. }
            | Self::Color { .. }
            | Self::TooSmall { .. }
            | Self::NotPlaced { .. } => true,
            Self::OtherModule { file, .. } | Self::UnknownValue { file, .. } => *file == "allocations",
            Self::RangeBeyond { .. } | Self::Schedule { .. } | Self::PeakSum { .. } | Self::More { .. } => {
                false
            }
        }
    }

    /// In a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        let sum = |n: &u128| u64::try_from(*n).map_or_else(|_| format!("{n} B"), both);
        match self {
            Self::Totals { file, assignment, told } => format!(
                "The allocations add up to {}, but the {file} says {}: one of the two is cut off or of another compilation.",
                sum(assignment),
                both(*told)
            ),
            Self::SpaceTotals { color, assignment, told } => format!(
                "The allocations of memory space {color} add up to {}, but the memory-usage report says {}.",
                sum(assignment),
                both(*told)
            ),
            Self::OtherModule { file, unknown, of, examples } => format!(
                "The {file} are of another module: {unknown} of {of} names are not in this one, such as {}.",
                list(examples, 3)
            ),
            Self::UnknownValue { file, value, line } => {
                let line = line.map(|l| format!(" (line {l})")).unwrap_or_default();
                format!("The {file} name a value that the module has not: {value}{line}.")
            }
            Self::Shape { value, assignment, module } => {
                format!("{value} is {assignment} in the assignment, but {module} in the module.")
            }
            Self::Overlap { allocation, first, second, bytes: (from, to) } if first.2 == second.1 => format!(
                "{} ({}-{}) ends at the very step that writes {} ({}-{}); they have {} in common, from {} on in allocation {allocation}, but do not stand in exactly the same place.",
                first.0,
                first.1,
                first.2,
                second.0,
                second.1,
                second.2,
                bytes(to - from),
                grouped(*from)
            ),
            Self::Overlap { allocation, first, second, bytes: (from, to) } => format!(
                "{} ({}-{}) and {} ({}-{}) are alive together and have {} in common, from {} on in allocation {allocation}.",
                first.0,
                first.1,
                first.2,
                second.0,
                second.1,
                second.2,
                bytes(to - from),
                grouped(*from)
            ),
            Self::Color { value, own, allocation, color } => format!(
                "{value} is of memory space {own}, but stands in allocation {allocation} of memory space {color}."
            ),
            Self::TooSmall { value, size, needs, line } => {
                format!(
                    "{value} takes {} (line {line}), but its shape needs {}.",
                    bytes(*size),
                    bytes(*needs)
                )
            }
            Self::RangeBeyond { value, last, end } => {
                format!(
                    "The live range of {value} goes on to step {last}, but the program ends at step {end}."
                )
            }
            Self::NotPlaced { count, of, examples } => format!(
                "{count} of the {of} values with a live range have no place in the assignment, such as {}: it is cut off or of another compilation.",
                list(examples, 3)
            ),
            Self::Schedule { is_known: true, step, live_range, module } => format!(
                "The live ranges are of another schedule: at step {step} they have {live_range}, the module has {module}."
            ),
            Self::Schedule { step, live_range, module, .. } => format!(
                "The live ranges are of another module: at step {step} they have {live_range}, which this one has not; it has {module}."
            ),
            Self::PeakSum { entries, told } => {
                format!(
                    "The entries at the peak add up to {}, but the file says {}.",
                    both(*entries),
                    both(*told)
                )
            }
            Self::More { what, count } => format!("And {count} more {what}."),
        }
    }
}

/// A sum of the allocations beside the one that a file of the compiler gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The file, without its folder.
    pub file: String,
    /// What the file calls it.
    pub line: &'static str,
    /// Sum of the allocations, in bytes.
    pub sum: u128,
    /// What the file says.
    pub told: Size,
}

impl Check {
    /// Do they agree, as far as a rounded number can?
    #[must_use]
    pub fn agrees(&self) -> bool {
        let told = u128::from(self.told.bytes);
        // A rounded number has at least three digits.
        let slack = if self.told.is_exact { 0 } else { told / 100 };
        self.sum.abs_diff(told) <= slack
    }

    /// In a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { file, line, .. } = self;
        let sum = u64::try_from(self.sum).map_or_else(|_| format!("{} B", self.sum), both);
        let told = both(self.told.bytes);
        match (self.agrees(), self.told.is_exact) {
            (true, true) => {
                format!("Checked: the allocations add up to the files' own total, {sum}: `{line}` in {file}.")
            }
            (true, false) => format!(
                "Checked: the allocations add up to {sum}; {file} rounds its total, `{line}`, to {told}."
            ),
            _ => {
                let difference = self.sum.abs_diff(u128::from(self.told.bytes));
                let difference = u64::try_from(difference).map_or_else(|_| format!("{difference} B"), both);
                if self.sum < u128::from(self.told.bytes) {
                    format!(
                        "The allocations add up to {sum}, but {file} says {told} (`{line}`), {difference} more: one of the two files is cut off or of another compilation."
                    )
                } else {
                    format!(
                        "The allocations add up to {sum}, but {file} says {told} (`{line}`), {difference} less: one of the two files is cut off or of another compilation."
                    )
                }
            }
        }
    }
}

/// The files that the parts of a dump come from, without their folders.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) values: String,
    pub(crate) report: String,
    pub(crate) live_range: String,
}

/// Compares the sum of the allocations with what other files say of it.
pub(crate) fn checks(dump: &Dump, names: &Names) -> Vec<Check> {
    let Some(assignment) = &dump.assignment else { return Vec::new() };
    if assignment.allocations.iter().any(|a| !a.size.is_exact) {
        return Vec::new();
    }
    let sum = assignment.allocations.iter().map(|a| u128::from(a.size.bytes)).sum();
    let mut out = Vec::new();
    if let Some(told) = dump.values.as_ref().and_then(|v| v.total) {
        out.push(Check { file: names.values.clone(), line: "Total bytes used", sum, told });
    }
    if let Some(report) = &dump.report {
        let spaces = report.spaces.iter().fold(0u64, |n, s| n.saturating_add(s.total));
        let (told, line) = match report.total {
            Some(told) => (Some(told), "Total bytes used"),
            None if report.spaces.is_empty() => (None, ""),
            None => (Some(Size { bytes: spaces, is_exact: true }), "Total bytes, of all memory spaces"),
        };
        out.extend(told.map(|told| Check { file: names.report.clone(), line, sum, told }));
    }
    out
}

/// Looks for contradictions. `module` is the module that the files should be of, with its flattened schedule.
pub(crate) fn findings(module: Option<&Module>, dump: &Dump) -> Vec<Finding> {
    let mut out = Vec::new();
    totals(dump, &mut out);
    let mut foreign = Sections::default();
    if let Some(module) = module {
        foreign = names(module, dump, &mut out);
        if !foreign.assignment {
            shapes(module, dump, &mut out);
        }
        if !foreign.live_range {
            schedule(module, dump, &mut out);
        }
    } else {
        foreign.live_range = ranges_of_another(dump, &mut out);
    }
    places(dump, &mut out);
    if !foreign.live_range && !foreign.assignment {
        overlaps(dump, &mut out);
        not_placed(dump, &mut out);
    }
    peak_sum(dump, &mut out);
    out
}

fn totals(dump: &Dump, out: &mut Vec<Finding>) {
    let Some(assignment) = &dump.assignment else { return };
    let sum = |color: Option<u32>| -> u128 {
        let of_color = assignment.allocations.iter().filter(|a| color.is_none_or(|c| a.color == c));
        of_color.map(|a| u128::from(a.size.bytes)).sum()
    };
    let is_exact = assignment.allocations.iter().all(|a| a.size.is_exact);
    let told = [
        ("list of used values", dump.values.as_ref().and_then(|v| v.total)),
        ("memory-usage report", dump.report.as_ref().and_then(|r| r.total)),
    ];
    for (file, told) in told {
        if let Some(told) = told.filter(|t| t.is_exact && is_exact)
            && sum(None) != u128::from(told.bytes)
        {
            out.push(Finding::Totals { file, assignment: sum(None), told: told.bytes });
        }
    }
    for space in dump.report.iter().flat_map(|r| &r.spaces) {
        if is_exact && sum(Some(space.color)) != u128::from(space.total) {
            out.push(Finding::SpaceTotals {
                color: space.color,
                assignment: sum(Some(space.color)),
                told: space.total,
            });
        }
    }
}

/// Are the names of the files in the module? Gives the files that are of another one.
fn names(module: &Module, dump: &Dump, out: &mut Vec<Finding>) -> Sections {
    let known: HashMap<&str, hlo::ShapeId> =
        module.instruction_ids().map(|i| (module.name_of(i), module.instruction(i).shape)).collect();
    let has = |name: &ValueName| {
        known.get(name.instruction.as_str()).is_some_and(|s| module.shapes.find(*s, &name.index.0).is_some())
    };
    let mut foreign = Sections::default();
    let mut check = |file: &'static str, all: Vec<(&ValueName, Option<u32>)>| -> bool {
        let unknown: Vec<_> = all.iter().filter(|(n, _)| !has(n)).collect();
        if unknown.len() * 2 > all.len() {
            let examples = unknown.iter().take(3).map(|(n, _)| n.to_string()).collect();
            out.push(Finding::OtherModule { file, unknown: unknown.len(), of: all.len(), examples });
            return true;
        }
        for (name, line) in unknown.iter().take(MOST) {
            out.push(Finding::UnknownValue { file, value: name.to_string(), line: *line });
        }
        if unknown.len() > MOST {
            out.push(Finding::More { what: "values that the module has not", count: unknown.len() - MOST });
        }
        false
    };
    if let Some(assignment) = &dump.assignment {
        let all =
            assignment.allocations.iter().flat_map(|a| &a.values).map(|p| (&p.value.name, Some(p.line)));
        foreign.assignment = check("allocations", all.collect());
    }
    if let Some(values) = &dump.values {
        foreign.values =
            check("used values", values.values.iter().map(|v| (&v.value.name, Some(v.line))).collect());
    }
    if let Some(ranges) = &dump.live_range {
        foreign.live_range = check("live ranges", ranges.ranges.iter().map(|r| (&r.name, None)).collect());
    }
    foreign
}

/// Without the module: are the ranges of the values that are placed?
fn ranges_of_another(dump: &Dump, out: &mut Vec<Finding>) -> bool {
    let (Some(assignment), Some(ranges)) = (&dump.assignment, &dump.live_range) else { return false };
    let placed: HashSet<&ValueName> =
        assignment.allocations.iter().flat_map(|a| &a.values).map(|p| &p.value.name).collect();
    let unknown: Vec<&ValueName> =
        ranges.ranges.iter().map(|r| &r.name).filter(|n| !placed.contains(n)).collect();
    if placed.is_empty() || unknown.len() * 2 <= ranges.ranges.len() {
        return false;
    }
    let examples = unknown.iter().take(3).map(ToString::to_string).collect();
    out.push(Finding::OtherModule {
        file: "live ranges",
        unknown: unknown.len(),
        of: ranges.ranges.len(),
        examples,
    });
    true
}

fn shapes(module: &Module, dump: &Dump, out: &mut Vec<Finding>) {
    let known: HashMap<&str, hlo::ShapeId> =
        module.instruction_ids().map(|i| (module.name_of(i), module.instruction(i).shape)).collect();
    let mut count = 0;
    for p in dump.assignment.iter().flat_map(|a| &a.allocations).flat_map(|a| &a.values) {
        let name = &p.value.name;
        let Some(shape) = known.get(name.instruction.as_str()) else { continue };
        let Some(sub) = module.shapes.find(*shape, &name.index.0) else { continue };
        let in_module = module.shapes.long(module.shapes.subshapes(*shape)[sub as usize].shape);
        // Old builds leave the layout out.
        let bare = |s: &str| s.replace([' '], "");
        let without_layout = |s: &str| bare(s).split('{').next().unwrap_or("").to_owned();
        let is_tuple = in_module.starts_with('(');
        let differs = if p.shape.contains('{') && !is_tuple {
            bare(&p.shape) != bare(in_module)
        } else {
            !is_tuple && without_layout(&p.shape) != without_layout(in_module)
        };
        if differs {
            count += 1;
            if count <= MOST {
                out.push(Finding::Shape {
                    value: name.to_string(),
                    assignment: p.shape.clone(),
                    module: in_module.to_owned(),
                });
            }
        }
    }
    if count > MOST {
        out.push(Finding::More { what: "values of another shape", count: count - MOST });
    }
}

fn schedule(module: &Module, dump: &Dump, out: &mut Vec<Finding>) {
    let Some(ranges) = &dump.live_range else { return };
    if !module.is_scheduled || ranges.sequence.is_empty() || !calls_end(module) {
        return;
    }
    let clock = analysis::Clock::new(module);
    let mut ours = clock.sequence.iter().map(|i| module.name_of(*i));
    for (step, theirs) in ranges.sequence.iter().enumerate() {
        let here = ours.next().unwrap_or("nothing");
        if here != theirs {
            let is_known = module.instruction_ids().any(|i| module.name_of(i) == theirs);
            let (live_range, module) = (theirs.clone(), here.to_owned());
            return out.push(Finding::Schedule { is_known, step: step as u32, live_range, module });
        }
    }
}

/// The clock follows calls, so none may go round in circles.
fn calls_end(module: &Module) -> bool {
    // Callees stand before their callers in all that XLA prints; a module in which they do has no circle.
    module.instruction_ids().all(|i| module.called(i).iter().all(|c| *c < module.instruction(i).computation))
}

/// A placed value with its range.
struct Band<'a> {
    name: &'a ValueName,
    start: u32,
    end: u32,
    offset: u64,
    size: u64,
}

fn overlaps(dump: &Dump, out: &mut Vec<Finding>) {
    let (Some(assignment), Some(ranges)) = (&dump.assignment, &dump.live_range) else { return };
    let range_of: HashMap<&ValueName, (u32, u32)> =
        ranges.ranges.iter().map(|r| (&r.name, (r.start, r.end))).collect();
    let mut count = 0;
    for a in &assignment.allocations {
        let mut bands: Vec<Band<'_>> = a
            .values
            .iter()
            .filter(|p| p.size > 0)
            .filter_map(|p| {
                let (start, end) = *range_of.get(&p.value.name)?;
                Some(Band { name: &p.value.name, start, end, offset: p.offset, size: p.size })
            })
            .collect();
        bands.sort_by(|x, y| (x.start, x.end, x.offset, x.name).cmp(&(y.start, y.end, y.offset, y.name)));
        // What is alive, by place: of several values in one place that which ends last.
        let mut alive: BTreeMap<(u64, u64), usize> = BTreeMap::new();
        let mut ends: BinaryHeap<Reverse<(u32, u64, u64)>> = BinaryHeap::new();
        for (i, b) in bands.iter().enumerate() {
            while let Some(Reverse((end, offset, size))) = ends.peek().copied().filter(|e| e.0.0 < b.start) {
                ends.pop();
                if alive.get(&(offset, size)).is_some_and(|j| bands[*j].end <= end) {
                    alive.remove(&(offset, size));
                }
            }
            let stop = b.offset.saturating_add(b.size);
            // In a right assignment only neighbours can be in question; in a wrong one a few are enough.
            for (&(offset, size), j) in alive.range(..(stop, 0)).rev().take(64) {
                let other = &bands[*j];
                let common = (b.offset.max(offset), stop.min(offset.saturating_add(size)));
                let is_same_place = (offset, size) == (b.offset, b.size);
                // Where one ends as the other is written, the place may be handed over, but only as it is; in the memory that
                // memory space assignment fills, slices that were fetched one by one become one value.
                let touches = a.color == 0 && other.end == b.start && other.start < b.start;
                let is_alive = other.start < b.end && b.start < other.end || touches;
                if !is_same_place && common.0 < common.1 && is_alive {
                    count += 1;
                    if count <= MOST {
                        out.push(Finding::Overlap {
                            allocation: a.number,
                            first: (other.name.to_string(), other.start, other.end),
                            second: (b.name.to_string(), b.start, b.end),
                            bytes: common,
                        });
                    }
                }
            }
            let slot = alive.entry((b.offset, b.size)).or_insert(i);
            if bands[*slot].end < b.end {
                *slot = i;
            }
            ends.push(Reverse((b.end, b.offset, b.size)));
        }
    }
    if count > MOST {
        out.push(Finding::More { what: "values that overlap", count: count - MOST });
    }
}

/// Memory spaces and sizes of the values that are placed, and the ends of the ranges.
fn places(dump: &Dump, out: &mut Vec<Finding>) {
    let mut shapes = hlo::Shapes::default();
    let mut needs: HashMap<&str, Option<u64>> = HashMap::new();
    let mut counts = [0usize; 3];
    let mut add = |kind: usize, finding: Finding, out: &mut Vec<Finding>| {
        counts[kind] += 1;
        if counts[kind] <= MOST {
            out.push(finding);
        }
    };
    for a in dump.assignment.iter().flat_map(|f| &f.allocations) {
        for p in &a.values {
            if let Some(own) = p.value.color.filter(|c| *c != a.color) {
                let (value, allocation, color) = (p.value.name.to_string(), a.number, a.color);
                add(0, Finding::Color { value, own, allocation, color }, out);
            }
            let needs = *needs.entry(&p.shape).or_insert_with(|| {
                let id = shapes.intern(&p.shape).ok().filter(|id| shapes.is_array(*id))?;
                Some(shapes.bytes(id, 8))
            });
            if let Some(needs) = needs.filter(|n| p.size < *n) {
                let (value, size, line) = (p.value.name.to_string(), p.size, p.line);
                add(1, Finding::TooSmall { value, size, needs, line }, out);
            }
        }
    }
    if let Some(ranges) = &dump.live_range
        && let Some(end) = ranges.end
    {
        for r in ranges.ranges.iter().filter(|r| r.end > end) {
            add(2, Finding::RangeBeyond { value: r.name.to_string(), last: r.end, end }, out);
        }
    }
    for (count, what) in counts.iter().zip([
        "values in another memory space",
        "values that are too small",
        "ranges that go on behind the end",
    ]) {
        if *count > MOST {
            out.push(Finding::More { what, count: count - MOST });
        }
    }
}

fn not_placed(dump: &Dump, out: &mut Vec<Finding>) {
    let (Some(assignment), Some(ranges)) = (&dump.assignment, &dump.live_range) else { return };
    let placed: HashSet<&ValueName> =
        assignment.allocations.iter().flat_map(|a| &a.values).map(|p| &p.value.name).collect();
    let missing: Vec<&ValueName> =
        ranges.ranges.iter().map(|r| &r.name).filter(|n| !placed.contains(n)).collect();
    if !missing.is_empty() {
        let examples = missing.iter().take(3).map(ToString::to_string).collect();
        out.push(Finding::NotPlaced { count: missing.len(), of: ranges.ranges.len(), examples });
    }
}

fn peak_sum(dump: &Dump, out: &mut Vec<Finding>) {
    let Some(peak) = dump.live_range.as_ref().and_then(|l| l.peak.as_ref()) else { return };
    let entries = peak.values.iter().fold(0u64, |sum, e| sum.saturating_add(e.bytes));
    if let Some(told) = peak.values.last().and_then(|e| e.cumulative).filter(|t| *t != entries) {
        out.push(Finding::PeakSum { entries, told });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_agree_or_it_is_said_by_how_much_not() {
        let check = |sum, bytes, is_exact| Check {
            file: "m-values.txt".to_owned(),
            line: "Total bytes used",
            sum,
            told: Size { bytes, is_exact },
        };
        let same = check(1000, 1000, true);
        assert!(same.agrees());
        assert_eq!(
            same.words(),
            "Checked: the allocations add up to the files' own total, 1,000 B: `Total bytes used` in m-values.txt."
        );
        let less = check(1000, 1001, true);
        assert!(!less.agrees());
        assert!(
            less.words().contains("but m-values.txt says 1,001 B (`Total bytes used`), 1 B more"),
            "{}",
            less.words()
        );
        assert!(check(1001, 1000, true).words().contains("1 B less"));
        // A number that was rounded cannot be compared to the byte.
        assert!(check(1_001_000, 1_000_000, false).agrees());
        assert!(check(1_001_000, 1_000_000, false).words().contains("rounds its total"));
        assert!(!check(1_011_000, 1_000_000, false).agrees());
        // More than fits into 64 bits is told all the same.
        assert!(check(1 << 70, 1, true).words().contains(&format!("{} B", 1u128 << 70)));
    }
}
