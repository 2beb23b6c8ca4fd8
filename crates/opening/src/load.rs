//! One module's files, read.

use crate::check::{Check, Finding, Names, checks, findings};
use crate::folder::{Entry, Opened};
use crate::kind::HOW;
use crate::name::{LONGEST_NAME, dump_name, too_long};
use crate::{Remark, Sections};
use analysis::{Backend, Target};
use dumps::diff::Totals;
use dumps::read::{Dump, everything};
use hlo::{Module, ProtoOrders};

/// Everything that the files of one module give.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The module, if its text or protocol buffer is there and nothing is wrong with it.
    pub module: Option<Module>,
    /// XLA's internal orders, if the protocol buffer is there.
    pub orders: Option<ProtoOrders>,
    /// The compiler that made it.
    pub backend: Option<Backend>,
    /// What XLA says of the assignment.
    pub dump: Dump,
    /// What it comes to.
    pub figures: Figures,
    /// What contradicts itself.
    pub findings: Vec<Finding>,
    /// The sum of the allocations beside those that other files give.
    pub checks: Vec<Check>,
    /// Why the sums of XLA's assignment are not to be relied on: it is damaged, or contradicts the other files; none if they are.
    pub doubts: Vec<String>,
    /// The file that gives the peak of the live ranges, without its folder; `None` if the peak was worked out, or is not known.
    pub peak_file: Option<String>,
    /// What is not there, and what it is needed for.
    pub missing: Vec<Missing>,
    /// What has to be said of the files.
    pub remarks: Vec<Remark>,
    /// Which builds of XLA write such files, as far as they tell; `None` if there are none.
    pub generation: Option<Generation>,
}

/// Builds of XLA, told by how they write their files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Generation {
    /// Up to early 2025: one file for all, or sizes in rounded units, or no peak.
    UpTo2025,
    /// Between.
    Of2025,
    /// From 2026: a breakdown of the peak, or values of other memory spaces named with an allocation.
    From2026,
}

impl Generation {
    fn of(dump: &Dump) -> Option<Self> {
        let (assignment, ranges) = (dump.assignment.as_ref(), dump.live_range.as_ref());
        if assignment.is_none() && ranges.is_none() && dump.report.is_none() {
            return None;
        }
        let is_new = ranges.is_some_and(|l| !l.breakdown.is_empty())
            || assignment.is_some_and(|a| a.allocations.iter().any(|a| !a.reused_by.is_empty()));
        let is_old = assignment
            .is_some_and(|a| a.live_ranges.is_some() || a.allocations.iter().any(|a| !a.size.is_exact))
            || dump.report.as_ref().is_some_and(|r| !r.old_rows.is_empty())
            || ranges.is_some_and(|l| l.peak.is_none());
        Some(match (is_old, is_new) {
            (true, _) => Self::UpTo2025,
            (_, true) => Self::From2026,
            _ => Self::Of2025,
        })
    }

    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::UpTo2025 => "written by XLA of early 2025 or before",
            Self::Of2025 => "written by XLA of 2025",
            Self::From2026 => "written by XLA of 2026 or later",
        }
    }
}

/// The numbers by which modules are told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Instructions of all computations.
    pub instructions: Option<u64>,
    /// Computations.
    pub computations: Option<u64>,
    /// Is the order of the text the order in which instructions run?
    pub is_scheduled: Option<bool>,
    /// The sums of XLA's assignment, in bytes.
    pub totals: Option<Totals>,
    /// The peak of the live ranges as XLA's file gives it: the step, and the bytes without padding, arguments and results
    /// included. Worked out where an old file leaves it out but the sizes are known.
    pub peak: Option<(u32, u64)>,
}

/// Something that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What it is.
    pub what: &'static str,
    /// What cannot be told without it.
    pub costs: &'static str,
    /// How to get it.
    pub how: String,
}

impl Opened {
    /// Reads all files of a module; an empty result if there is no module of that number.
    #[must_use]
    pub fn load(&self, module: usize) -> Loaded {
        let Some(entry) = self.modules.get(module) else { return Loaded::default() };
        let mut out = Loaded { backend: entry.backend, remarks: entry.remarks.clone(), ..Loaded::default() };
        self.load_module(entry, &mut out);
        let names = self.load_dumps(entry, &mut out);
        out.generation = Generation::of(&out.dump);
        out.figures.totals = out.dump.assignment.as_ref().map(Totals::of);
        out.figures.peak = peak(&out.dump);
        out.findings = findings(out.module.as_ref(), &out.dump);
        out.doubts.extend(out.findings.iter().filter(|f| f.is_of_sums()).map(Finding::words));
        out.checks = checks(&out.dump, &names);
        let has_peak = out.dump.live_range.as_ref().is_some_and(|l| l.peak.is_some());
        out.peak_file = has_peak.then_some(names.live_range);
        let text = entry.hlo.or(entry.proto).map_or("", |i| self.files[i].name.as_str());
        out.missing = missing(entry, &out, text);
        out
    }

    fn load_module(&self, entry: &Entry, out: &mut Loaded) {
        let mut wrong = Vec::new();
        for (i, is_proto) in [(entry.hlo, false), (entry.proto, true)] {
            let Some(i) = i else { continue };
            let file = &self.files[i];
            if is_proto {
                match hlo::read_proto_orders(&file.bytes) {
                    Ok(orders) => out.orders = Some(orders),
                    Err(d) => {
                        wrong.push(Remark::of(&file.name, d));
                        continue;
                    }
                }
            }
            if out.module.is_some() {
                continue;
            }
            let read = if is_proto { hlo::read_proto(&file.bytes) } else { hlo::read_bytes(&file.bytes) };
            let is_wrong = read.has_errors();
            wrong.extend(read.diagnostics.into_iter().map(|d| Remark::of(&file.name, d)));
            out.module = read.module.filter(|_| !is_wrong);
        }
        out.remarks.extend(wrong);
        if let Some(module) = &out.module {
            out.backend = out.backend.or_else(|| Some(Target::detect(module).backend));
            out.figures.instructions = Some(module.instructions.len() as u64);
            out.figures.computations = Some(module.computations.len() as u64);
            out.figures.is_scheduled = Some(module.is_scheduled);
        }
    }

    /// Reads the dumps, and says which file each part is from.
    fn load_dumps(&self, entry: &Entry, out: &mut Loaded) -> Names {
        let mut from = Sections::default();
        let mut names = Names::default();
        for i in &entry.dumps {
            let file = &self.files[*i];
            let own = file.name.rsplit(['/', '\\']).next().unwrap_or(&file.name);
            let text = String::from_utf8_lossy(&file.bytes);
            let (dump, diagnostics) = everything(&text);
            let told: Vec<Remark> = diagnostics.into_iter().map(|d| Remark::of(&file.name, d)).collect();
            if dump.assignment.is_some() {
                let is_error = |r: &&Remark| r.severity == hlo::Severity::Error;
                out.doubts.extend(told.iter().filter(is_error).map(ToString::to_string));
            }
            out.remarks.extend(told);
            let mut remarks = Vec::new();
            let mut again = |there: &mut bool, what: &str| {
                if std::mem::replace(there, true) {
                    let text = format!("is a second file with {what} of the same module; it is not taken");
                    out.remarks.push(Remark::warning(&file.name, text));
                    return true;
                }
                false
            };
            for a in dump.assignment.iter().flat_map(|a| &a.allocations).filter(|a| !a.reused_by.is_empty()) {
                let names: Vec<String> = a.reused_by.iter().map(|v| v.name.to_string()).collect();
                let text = format!(
                    "says that allocation {} is also used by values of another memory space: {}",
                    a.number,
                    assigner::words::list(&names, 6)
                );
                remarks.push(Remark::warning(&file.name, text));
            }
            if let Some(part) = dump.assignment
                && !again(&mut from.assignment, "the allocations")
            {
                out.dump.assignment = Some(part);
            }
            if let Some(part) = dump.values
                && !again(&mut from.values, "the used values")
            {
                own.clone_into(&mut names.values);
                out.dump.values = Some(part);
            }
            if let Some(part) = dump.live_range
                && !again(&mut from.live_range, "the live ranges")
            {
                own.clone_into(&mut names.live_range);
                out.dump.live_range = Some(part);
            }
            if let Some(part) = dump.report
                && !again(&mut from.report, "the memory-usage report")
            {
                own.clone_into(&mut names.report);
                out.dump.report = Some(part);
            }
            out.remarks.extend(remarks);
        }
        let tiles = |d: &Dump| {
            d.assignment
                .iter()
                .flat_map(|a| &a.allocations)
                .any(|a| a.values.iter().any(|v| v.shape.contains(":T(")))
        };
        if out.backend.is_none() && tiles(&out.dump) {
            out.backend = Some(Backend::Tpu);
        }
        names
    }
}

/// The peak of the live ranges: as the file gives it, or worked out from ranges and sizes.
fn peak(dump: &Dump) -> Option<(u32, u64)> {
    let ranges = dump.live_range.as_ref()?;
    if let Some(peak) = &ranges.peak {
        return Some((peak.step, peak.values.iter().fold(0u64, |sum, e| sum.saturating_add(e.bytes))));
    }
    let sizes: std::collections::HashMap<_, u64> = dump
        .assignment
        .iter()
        .flat_map(|a| &a.allocations)
        .flat_map(|a| &a.values)
        .map(|p| (&p.value.name, p.size))
        .collect();
    if sizes.is_empty() {
        return None;
    }
    // XLA looks for the step with the sizes of whole results, of which only the table of pointers counts, and then adds
    // up the values (4.5).
    let whole = |name: &dumps::read::ValueName| {
        let root =
            dumps::read::ValueName { instruction: name.instruction.clone(), index: hlo::ShapeIndex::root() };
        sizes.get(&root).or_else(|| sizes.get(name)).copied().unwrap_or(0)
    };
    let mut changes: std::collections::BTreeMap<u32, i128> = std::collections::BTreeMap::new();
    for r in &ranges.ranges {
        let size = i128::from(whole(&r.name));
        *changes.entry(r.start).or_default() += size;
        *changes.entry(r.end.saturating_add(1)).or_default() -= size;
    }
    let (mut live, mut best) = (0i128, (0u32, 0i128));
    for (step, change) in changes {
        live += change;
        if live > best.1 {
            best = (step, live);
        }
    }
    let alive = ranges.ranges.iter().filter(|r| r.start <= best.0 && best.0 <= r.end);
    let bytes = alive.fold(0u64, |sum, r| sum.saturating_add(sizes.get(&r.name).copied().unwrap_or(0)));
    Some((best.0, bytes))
}

/// How to get a file of the module whose text is in the file `text`, which ends in `end`.
fn how_to_get(end: &str, text: &str) -> String {
    let text = text.rsplit(['/', '\\']).next().unwrap_or(text);
    let stem = text.strip_suffix(".gz").unwrap_or(text);
    let stem = stem.strip_suffix(".txt").or_else(|| stem.strip_suffix(".hlo.pb"));
    match stem.map(|stem| format!("{stem}{end}")) {
        Some(file) if dump_name(text).is_after_optimizations() && file.len() > LONGEST_NAME => {
            format!("it is the file that ends in {end}: {}", too_long(&file))
        }
        _ => format!("{HOW}; it is the file that ends in {end}"),
    }
}

fn missing(entry: &Entry, loaded: &Loaded, text: &str) -> Vec<Missing> {
    let mut out = Vec::new();
    let mut add = |what, costs, how: String| out.push(Missing { what, costs, how });
    let has_text = entry.hlo.is_some() || entry.proto.is_some();
    if !has_text {
        add(
            "the HLO text",
            "reasons that need the program: why two values do not share, donation, copies, what a change would bring",
            format!("{HOW}; it is the file that ends in after_optimizations.txt"),
        );
    } else if loaded.module.is_none() {
        add(
            "an HLO text without errors",
            "reasons that need the program; what the other files say is still shown",
            format!("copy the file once more, or {HOW}"),
        );
    } else if loaded.module.as_ref().is_some_and(|m| !m.is_scheduled) {
        add(
            "a schedule",
            "live ranges, the peak and the packing as XLA has them; the order of the text is taken for the schedule",
            format!("take the module that XLA dumps at the end (after_optimizations): {HOW}"),
        );
    }
    let dump = &loaded.dump;
    if dump.assignment.is_none() {
        add(
            "XLA's own assignment",
            "nothing can be checked against XLA; the assignment is run anew",
            how_to_get("-buffer-assignment.txt", text),
        );
    } else {
        if dump.live_range.is_none() {
            let costs = if loaded.module.is_none() {
                "the peak, and what is alive together"
            } else {
                "live ranges are worked out from the program and cannot be checked against XLA's"
            };
            add("the file of live ranges", costs, how_to_get("-live-range.txt", text));
        }
        if dump.values.is_none() && loaded.module.is_none() {
            add(
                "the file of used values",
                "operations, scopes and source lines",
                how_to_get("-buffer-assignment-values.txt", text),
            );
        }
        if dump.report.is_none() && dump.values.is_none() {
            add(
                "the memory-usage report",
                "the sum of the allocations cannot be checked",
                how_to_get("-memory-usage-report.txt", text),
            );
        }
    }
    if loaded.module.is_some() && loaded.orders.is_none() {
        add(
            "the protocol buffer",
            "XLA's internal orders, which text lacks: numbers of values and ties may differ from XLA's",
            "add --xla_dump_hlo_as_proto to the flags".to_owned(),
        );
    }
    out
}
