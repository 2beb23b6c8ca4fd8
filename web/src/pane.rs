//! The four dump files line by line: what each line says, which values it is about, and how a reader's own files compare
//! with what the engine writes.
//!
//! Lines are told apart by [`dumps::read::annotate`], the same for our files and for a reader's; what is said of them is
//! made from what stands in them and from the picture beside them.

use crate::engine::{self, Opened, Problem, Run};
use crate::scene::{self, Curve, Item, Picture, Slab, SlabKind, StepName};
use assigner::words::{both, bytes, grouped, list};
use dumps::read::{AllocationRecord, Dump, LineKind, ReportRow, UseRecord, ValueName};
use sorts::Arrange as _;
use std::collections::HashMap;
use std::fmt::Write as _;

/// No file larger than this is read: 32 MiB.
pub const LARGEST: usize = 32 << 20;

/// What a line is about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Links {
    /// Values, by number in the picture.
    pub values: Vec<u32>,
    /// A step of the schedule.
    pub step: Option<u32>,
}

/// A file with what is known of its lines.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct File {
    /// Its name.
    pub name: String,
    text: String,
    /// Where each line begins and ends, in bytes.
    bounds: Vec<(u32, u32)>,
    kinds: Vec<LineKind>,
    links: Vec<Links>,
    /// The lines about each value, from 0.
    about: HashMap<u32, Vec<u32>>,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
    /// How it compares with what the engine writes, where there is something to compare with.
    pub compared: Option<Compared>,
}

/// A file beside the one that the engine writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Compared {
    /// Byte for byte the same.
    Same,
    /// It differs.
    Differs {
        /// The first line that does, from 1.
        line: u32,
        /// What the engine writes there; empty behind its last line.
        ours: String,
        /// How many lines differ.
        count: u32,
    },
}

/// Files and the picture they belong to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Shown {
    /// The files.
    pub files: Vec<File>,
    /// Values, ranges and places.
    pub picture: Picture,
    /// Bytes in use, step by step.
    pub curve: Curve,
    /// What cannot be shown of what was opened, a sentence each.
    pub remarks: Vec<String>,
}

/// What names in files stand for in a picture.
struct Guide<'p> {
    picture: &'p Picture,
    values: HashMap<&'p str, u32>,
    steps: HashMap<&'p str, u32>,
    /// Blocks of the memory-usage report, in its order (9.4): memory spaces one after the other, in each the largest first.
    blocks: Vec<usize>,
}

impl<'p> Guide<'p> {
    fn new(picture: &'p Picture, colors: &[u32]) -> Self {
        let plain = |name: &'p str| name.strip_suffix("{}").unwrap_or(name);
        let mut blocks: Vec<usize> = (0..picture.slabs.len()).collect();
        blocks.arrange_by_key(|i| {
            let slab = &picture.slabs[*i];
            (colors.get(*i).copied().unwrap_or(0), std::cmp::Reverse(slab.size), slab.id)
        });
        Self {
            picture,
            values: picture.items.iter().map(|i| (plain(&i.name), i.value)).collect(),
            steps: picture.steps.iter().enumerate().map(|(n, s)| (s.name.as_str(), n as u32)).collect(),
            blocks,
        }
    }

    fn value(&self, name: &ValueName) -> Option<u32> {
        self.values.get(name.to_string().as_str()).copied()
    }

    fn links(&self, kind: &LineKind) -> Links {
        let one = |name: &ValueName| Links { values: self.value(name).into_iter().collect(), step: None };
        let slab = |i: Option<usize>| i.map(|i| self.picture.slabs[i].values.clone()).unwrap_or_default();
        match kind {
            LineKind::Allocation(a) => {
                Links { values: slab(self.picture.slabs.iter().position(|s| s.id == a.number)), step: None }
            }
            LineKind::Placed { placed, .. } => one(&placed.value.name),
            LineKind::Value(v) => one(&v.name),
            LineKind::Position { of, .. } | LineKind::NoUse { of } | LineKind::Instruction { of } => one(of),
            LineKind::Use { of, by } => {
                Links { step: self.steps.get(by.instruction.as_str()).copied(), ..one(of) }
            }
            LineKind::Step { step, name } => {
                let made = self.picture.items.iter().filter(|i| i.start == *step);
                let made = made.filter(|i| i.name == *name || i.name.starts_with(&format!("{name}{{")));
                Links { values: made.map(|i| i.value).collect(), step: Some(*step) }
            }
            LineKind::Range(r) => one(&r.name),
            LineKind::PeakTitle { step } => {
                let alive = self.picture.items.iter().filter(|i| i.start <= *step && *step <= i.end);
                Links { values: alive.map(|i| i.value).collect(), step: Some(*step) }
            }
            LineKind::Peak(p) => one(&p.name),
            LineKind::BlockTitle { block } => {
                Links { values: slab(self.blocks.get(*block as usize).copied()), step: None }
            }
            LineKind::Row { block, row } => {
                let slab = self.blocks.get(*block as usize).copied();
                let there = self.picture.items.iter().filter(|i| i.slab == slab && i.offset == row.offset);
                Links { values: there.map(|i| i.value).collect(), step: None }
            }
            _ => Links::default(),
        }
    }
}

impl File {
    fn new(name: &str, text: String, guide: Option<&Guide<'_>>) -> Self {
        let kinds = dumps::read::annotate(&text);
        let links: Vec<Links> =
            kinds.iter().map(|k| guide.map_or_else(Links::default, |g| g.links(k))).collect();
        let mut about: HashMap<u32, Vec<u32>> = HashMap::new();
        for (line, links) in links.iter().enumerate() {
            for value in &links.values {
                about.entry(*value).or_default().push(line as u32);
            }
        }
        let mut bounds = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let end = at + line.trim_end_matches(['\n', '\r']).len();
            bounds.push((at as u32, end as u32));
            at += line.len();
        }
        Self {
            name: name.to_owned(),
            text,
            bounds,
            kinds,
            links,
            about,
            problems: Vec::new(),
            compared: None,
        }
    }

    /// How many lines there are.
    pub fn len(&self) -> u32 {
        self.bounds.len() as u32
    }

    /// Is there no line?
    pub fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// A line, counted from 0.
    pub fn line(&self, line: u32) -> &str {
        let Some((from, to)) = self.bounds.get(line as usize) else { return "" };
        self.text.get(*from as usize..*to as usize).unwrap_or_default()
    }

    /// What a line is.
    pub fn kind(&self, line: u32) -> Option<&LineKind> {
        self.kinds.get(line as usize)
    }

    /// What a line is about.
    pub fn links(&self, line: u32) -> Links {
        self.links.get(line as usize).cloned().unwrap_or_default()
    }

    /// The lines about a value, from 0.
    pub fn about(&self, value: u32) -> &[u32] {
        self.about.get(&value).map_or(&[], Vec::as_slice)
    }

    /// The longest line, in characters.
    pub fn width(&self) -> usize {
        (0..self.len()).map(|l| self.line(l).chars().count()).max().unwrap_or(0)
    }

    /// The lines that hold a text, whatever its case.
    pub fn find(&self, text: &str) -> Vec<u32> {
        let wanted = text.to_lowercase();
        if wanted.is_empty() {
            return Vec::new();
        }
        (0..self.len()).filter(|l| self.line(*l).to_lowercase().contains(&wanted)).collect()
    }

    /// The first line of a kind.
    pub fn first(&self, wanted: impl Fn(&LineKind) -> bool) -> Option<u32> {
        self.kinds.iter().position(wanted).map(|l| l as u32)
    }

    /// What is wrong with a line, if anything.
    pub fn problem(&self, line: u32) -> Option<&Problem> {
        self.problems.iter().find(|p| p.line == line + 1)
    }
}

/// The four files that the engine writes for a module.
pub fn generated(opened: &Opened, run: &Run) -> Shown {
    let colors: Vec<u32> = run.assignment.allocations.iter().map(|a| a.color.0).collect();
    let guide = Guide::new(&run.picture, &colors);
    let files = dumps::all(&opened.module, &opened.facts, &run.assignment)
        .into_iter()
        .map(|(name, text)| File::new(name, text, Some(&guide)))
        .collect();
    Shown { files, picture: run.picture.clone(), curve: run.curve.clone(), remarks: Vec::new() }
}

/// Is it a module, as it is printed?
fn is_module(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .find(|l| !l.is_empty() && !l.starts_with("//"))
        .is_some_and(|l| l.starts_with("HloModule") || l.starts_with("ENTRY "))
}

/// Which of the four a file is, by what stands in it.
fn kind_of(file: &File) -> Option<&'static str> {
    file.kinds.iter().find_map(|k| match k {
        LineKind::AssignmentTitle | LineKind::Allocation(_) => Some("buffer-assignment.txt"),
        LineKind::ValuesTitle => Some("values.txt"),
        LineKind::LiveRangeTitle { .. } | LineKind::SequenceTitle | LineKind::RangesTitle => {
            Some("live-range.txt")
        }
        LineKind::Space { .. } | LineKind::BlockTitle { .. } => Some("memory-usage-report.txt"),
        _ => None,
    })
}

/// What a reader opened: each file by its name and what stands in it. Whatever can be shown is; the rest is named.
pub fn read(opened: &[(String, Vec<u8>)]) -> Shown {
    let mut remarks = Vec::new();
    let mut modules: Vec<(String, String)> = Vec::new();
    let mut texts: Vec<(String, String)> = Vec::new();
    for (name, bytes) in opened {
        if bytes.len() > LARGEST {
            remarks.push(format!("{name} is larger than {} and was not read.", both(LARGEST as u64)));
            continue;
        }
        let Ok(text) = String::from_utf8(bytes.clone()) else {
            remarks.push(format!(
                "{name} is not text. A module is wanted as text here, not as a protocol buffer."
            ));
            continue;
        };
        if is_module(&text) {
            modules.push((name.clone(), text));
        } else if text.trim().is_empty() {
            remarks.push(format!("{name} is empty."));
        } else {
            texts.push((name.clone(), text));
        }
    }
    let mut dump = Dump::default();
    let mut problems: Vec<Vec<Problem>> = Vec::new();
    texts.retain(|(name, text)| {
        let (read, diagnostics) = dumps::read::everything(text);
        let nothing = read == Dump::default();
        if nothing {
            remarks.push(format!(
                "{name} is none of the four files and no module: no line of it was understood."
            ));
            return false;
        }
        dump.assignment = dump.assignment.take().or(read.assignment);
        dump.live_range = dump.live_range.take().or(read.live_range);
        problems.push(
            diagnostics
                .iter()
                .map(|d| Problem {
                    line: d.at.line,
                    column: d.at.column,
                    is_error: d.severity == hlo::Severity::Error,
                    message: format!("{}, {}", d.read, d.expected),
                })
                .collect(),
        );
        true
    });
    let (picture, colors) = picture_of(&dump);
    let guide = Guide::new(&picture, &colors);
    let mut files: Vec<File> =
        texts.into_iter().map(|(name, text)| File::new(&name, text, Some(&guide))).collect();
    for (file, problems) in files.iter_mut().zip(problems) {
        file.problems = problems;
    }
    compare_all(&mut files, &modules, &mut remarks);
    if picture.items.is_empty() && !files.is_empty() {
        remarks.push(
            "Without a buffer-assignment file and a live-range file there is no picture beside the lines."
                .to_owned(),
        );
    }
    let curve = scene::curve(&picture);
    Shown { files, picture, curve, remarks }
}

fn compare_all(files: &mut [File], modules: &[(String, String)], remarks: &mut Vec<String>) {
    let Some((name, text)) = modules.first() else { return };
    if modules.len() > 1 {
        remarks.push(format!("There are {} modules; the files are compared with {name}.", modules.len()));
    }
    match engine::open(text) {
        Ok(module) => {
            let ours = generated(&module, &module.original);
            for file in files {
                let twin = kind_of(file).and_then(|k| ours.files.iter().find(|f| f.name == k));
                file.compared = twin.map(|twin| compare(file, twin));
            }
            remarks.push(format!(
                "The files are compared with what the engine writes for {name}. Its text does not hold XLA's internal \
                 orders, so numbers of values and the order of uses may differ."
            ));
        }
        Err(problems) => {
            let first = problems.iter().find(|p| p.is_error).map_or_else(String::new, |p| {
                format!(": line {}, column {}: {}", p.line, p.column, p.message)
            });
            remarks.push(format!("{name} cannot be read as a module, so nothing is compared{first}."));
        }
    }
}

/// Compares a file with the one that the engine writes, line by line.
fn compare(theirs: &File, ours: &File) -> Compared {
    let differs = |l: &u32| theirs.line(*l) != ours.line(*l);
    let mut lines = (0..theirs.len().max(ours.len())).filter(differs);
    match lines.next() {
        None if theirs.len() == ours.len() => Compared::Same,
        first => {
            let line = first.unwrap_or(theirs.len().min(ours.len()));
            let missing = theirs.len().abs_diff(ours.len());
            let count = (lines.count() as u32 + u32::from(first.is_some())).max(missing);
            Compared::Differs { line: line + 1, ours: ours.line(line).to_owned(), count }
        }
    }
}

/// A picture from what the files themselves say, and the memory space of each slab.
fn picture_of(dump: &Dump) -> (Picture, Vec<u32>) {
    let (Some(assignment), Some(live)) = (&dump.assignment, &dump.live_range) else {
        return (Picture::default(), Vec::new());
    };
    let ranges: HashMap<&ValueName, (u32, u32)> =
        live.ranges.iter().filter(|r| r.start <= r.end).map(|r| (&r.name, (r.start, r.end))).collect();
    let mut picture = Picture { alignment: 1, ..Picture::default() };
    picture.steps =
        live.sequence.iter().map(|name| StepName { name: name.clone(), ..StepName::default() }).collect();
    let last = picture.last();
    let mut buffers: HashMap<(usize, u64, u32), u32> = HashMap::new();
    for (slab, a) in assignment.allocations.iter().enumerate() {
        let mut values = Vec::new();
        for p in &a.values {
            let Some((start, end)) = ranges.get(&p.value.name).copied() else { continue };
            let value = picture.items.len() as u32;
            values.push(value);
            // Which values are one buffer is in no file; those that meet at one place must be.
            let buffer = *buffers.entry((slab, p.offset, start)).or_insert(value);
            picture.items.push(Item {
                value,
                buffer,
                name: p.value.name.to_string(),
                shape: p.shape.clone(),
                start: start.min(last),
                end: end.min(last),
                bytes: p.size,
                slab: Some(slab),
                offset: p.offset,
                size: p.size,
                ..Item::default()
            });
        }
        let kind = if a.parameter.is_some() {
            SlabKind::Parameter
        } else if a.is_constant {
            SlabKind::Constant
        } else if a.is_thread_local {
            SlabKind::ThreadLocal
        } else if a.maybe_live_out {
            SlabKind::Result
        } else {
            SlabKind::Temp
        };
        picture.slabs.push(Slab { id: a.number, kind, size: a.size.bytes, values });
    }
    picture.temp = (0..picture.slabs.len())
        .filter(|i| picture.slabs[*i].kind == SlabKind::Temp)
        .max_by_key(|i| (picture.slabs[*i].size, std::cmp::Reverse(*i)));
    picture.total_bytes = assignment.total_bytes();
    picture.temp_bytes = assignment.temp_bytes();
    scene::colour(&mut picture.items);
    (picture, assignment.allocations.iter().map(|a| a.color).collect())
}

/// A line in one or two plain sentences. `line` counts from 0.
pub fn explain(shown: &Shown, file: usize, line: u32) -> String {
    let Some(file) = shown.files.get(file) else { return String::new() };
    let Some(kind) = file.kind(line) else { return String::new() };
    let mut out = words(shown, file, line, kind);
    if let Some(p) = file.problem(line) {
        _ = write!(out, " Column {}: {}.", p.column, p.message);
    }
    if let Some(Compared::Differs { line: at, ours, .. }) = &file.compared
        && *at == line + 1
    {
        _ = match ours.as_str() {
            "" => write!(out, " The engine's file has no such line."),
            ours => write!(out, " Here the engine writes: {}", ours.trim()),
        };
    }
    out
}

fn words(shown: &Shown, file: &File, line: u32, kind: &LineKind) -> String {
    let picture = &shown.picture;
    let item = || file.links(line).values.first().and_then(|v| picture.item(*v)).cloned();
    match kind {
        LineKind::Blank => "An empty line.".to_owned(),
        LineKind::AssignmentTitle => {
            "Every allocation, a block of memory each, and under it the values that have a place in it.".to_owned()
        }
        LineKind::Allocation(a) => allocation(a, picture),
        LineKind::Placed { allocation, placed } => {
            let to = placed.offset.saturating_add(placed.size);
            let mut out = format!(
                "{} stands in allocation {allocation}, from byte {} up to byte {}, {} in all.",
                placed.value.name,
                grouped(placed.offset),
                grouped(to),
                both(placed.size)
            );
            if let Some(item) = item() {
                _ = write!(out, " It is wanted from step {} to step {}.", item.start, item.end);
                let mates: Vec<String> =
                    picture.mates(item.value).iter().map(|m| m.name.clone()).collect();
                if mates.is_empty() {
                    out.push_str(" Nothing else ever stands there.");
                } else {
                    _ = write!(out, " Some of these bytes also hold, at other times, {}.", list(&mates, 3));
                }
            }
            out
        }
        LineKind::Reused => "Values of other memory spaces that use the allocation above too.".to_owned(),
        LineKind::Total(size) => format!(
            "All allocations together take {}: parameters, constants, results and temporaries.",
            both(size.bytes)
        ),
        LineKind::ValuesTitle => {
            "Every value that has a place: where it can be found, who reads it, and the instruction that makes it."
                .to_owned()
        }
        LineKind::Value(v) => {
            let phi = if v.is_phi {
                " It is a phi: it stands for one of several values, depending on where control came from."
            } else {
                ""
            };
            let color = match v.color {
                Some(c) => format!(" @{c} is its memory space."),
                None => String::new(),
            };
            format!("Value {} of XLA's analysis, called after what makes it: {}.{phi}{color}", v.id, v.name)
        }
        LineKind::PositionsTitle => {
            "The places at which this value can be found: first where it is made, then wherever it is handed on without a copy."
                .to_owned()
        }
        LineKind::UsesTitle => "The instructions that read this value.".to_owned(),
        LineKind::Position { of, at } if of == at => format!("{of} is made here."),
        LineKind::Position { of, at } => {
            format!("The same value, and so the same memory: what {at} holds is {of}.")
        }
        LineKind::Use { of, by } => read_by(picture, of, by),
        LineKind::NoUse { of } => format!("No instruction reads {of}."),
        LineKind::Instruction { of } => format!("The instruction that makes {of}, as XLA prints it."),
        LineKind::LiveRangeTitle { end } => {
            format!("The program has {end} steps, 0 to {}; {end} stands for its end.", end.saturating_sub(1))
        }
        LineKind::SequenceTitle => {
            "The schedule as one line of steps; what a called computation does stands before the instruction that calls it."
                .to_owned()
        }
        LineKind::Step { step, name } => {
            let mut out = format!("At step {step} {name} runs.");
            if let Some(used) = shown.curve.bytes.get(*step as usize).filter(|_| !picture.items.is_empty()) {
                let alive = picture.temps().filter(|i| i.start <= *step && *step <= i.end && i.size > 0);
                _ = match alive.count() {
                    0 => write!(out, " No temporary is alive then."),
                    1 => write!(out, " One temporary is alive then: {}.", bytes(*used)),
                    n => write!(out, " {n} temporaries are alive then, together {}.", bytes(*used)),
                };
            }
            out
        }
        LineKind::RangesTitle => {
            "When each value is wanted: from the step that writes it to the step that reads it last, both included."
                .to_owned()
        }
        LineKind::Range(r) => {
            let mut out = format!("{} is wanted from step {} to step {}, both included", r.name, r.start, r.end);
            let name = |step: u32| picture.steps.get(step as usize).map(|s| s.name.as_str());
            match (name(r.start), name(r.end)) {
                (Some(from), Some(to)) if r.start != r.end => _ = write!(out, ": from {from} to {to}"),
                (Some(from), None) if !picture.items.is_empty() => {
                    _ = write!(out, ": from {from} to the end of the program");
                }
                _ => {}
            }
            out.push('.');
            out
        }
        LineKind::PeakTitle { step } => format!(
            "Most is alive at step {step}{}. XLA looks for this moment with the sizes of whole results; the list below counts their parts.",
            picture.steps.get(*step as usize).map_or_else(String::new, |s| format!(", where {} runs", s.name))
        ),
        LineKind::Peak(p) => match p.cumulative {
            Some(sum) => format!(
                "{} is alive then and takes {}; with all above it that makes {}.",
                p.name,
                bytes(p.bytes),
                bytes(sum)
            ),
            None => format!("{} is alive then and takes {}.", p.name, bytes(p.bytes)),
        },
        LineKind::BreakdownTitle => {
            "The same bytes by where they come from: the computation, then the operation of the source that asked for them."
                .to_owned()
        }
        LineKind::Breakdown(b) => match (b.current, b.total - b.total.min(b.current)) {
            (0, below) => format!("{} itself holds nothing; what is below it holds {}.", b.name, bytes(below)),
            (own, 0) => format!("{} comes from {}.", bytes(own), b.name),
            (own, below) => {
                format!("{} comes from {} itself, {} from what is below it.", bytes(own), b.name, bytes(below))
            }
        },
        LineKind::Unbounded => "Sizes are not known before the program runs, so there is no peak.".to_owned(),
        LineKind::Space { name, color } => format!("Memory space {color}, called {name}."),
        LineKind::SpaceTotal(size) => {
            format!("The allocations of this memory space together take {}.", both(size.bytes))
        }
        LineKind::BlockTitle { .. } => match item().and_then(|i| i.slab).map(|s| &picture.slabs[s]) {
            Some(slab) => format!(
                "A block for each allocation, the largest first, without its number. This one is allocation {}, {}.",
                slab.id,
                bytes(slab.size)
            ),
            None => "A block for each allocation, the largest first, without its number.".to_owned(),
        },
        LineKind::Row { row, .. } => report_row(row),
        LineKind::RowsLeftOut { .. } => {
            "After fifty rows, once less than a twentieth is left, the report stops.".to_owned()
        }
        LineKind::Unread => "This is no line of any of the four files; it is passed over.".to_owned(),
    }
}

fn allocation(a: &AllocationRecord, picture: &Picture) -> String {
    let mut out = format!("Allocation {} is one block of {}.", a.number, both(a.size.bytes));
    if let Some(p) = &a.parameter {
        let part = if p.index.is_root() { String::new() } else { format!(", part {}", p.index) };
        _ = write!(out, " It is the caller's memory for parameter {}{part}.", p.number);
    }
    if a.is_constant {
        out.push_str(" It holds a constant, so nothing may write to it.");
    }
    if a.is_thread_local {
        out.push_str(" It belongs to a computation that runs once per element, and is never shared.");
    }
    if a.maybe_live_out {
        out.push_str(" A part of the result stands in it, or may stand there, when the program ends.");
    }
    if a.is_preallocated_temp {
        out.push_str(" It holds temporaries only and is free again when the program is done.");
    }
    if a.output_shape.is_some() {
        out.push_str(" The root of the result is here.");
    }
    let values = picture.slabs.iter().find(|s| s.id == a.number).map_or(0, |s| s.values.len());
    _ = match values {
        0 => Ok(()),
        1 => write!(out, " One value stands in it."),
        n => {
            let sum: u64 = picture
                .slabs
                .iter()
                .position(|s| s.id == a.number)
                .map_or(0, |i| picture.items.iter().filter(|v| v.slab == Some(i)).map(|v| v.size).sum());
            write!(out, " {n} values stand in it")
                .and_then(|()| {
                    if sum > a.size.bytes {
                        write!(out, ", together {}: some of them at the same bytes", bytes(sum))
                    } else {
                        Ok(())
                    }
                })
                .and_then(|()| write!(out, "."))
        }
    };
    out
}

fn read_by(picture: &Picture, of: &ValueName, by: &UseRecord) -> String {
    let part = if by.index.is_root() { String::new() } else { format!(", part {} of it", by.index) };
    let step = picture.steps.iter().position(|s| s.name == by.instruction);
    let at = step.map_or_else(String::new, |s| format!(" at step {s}"));
    format!("{} reads {of}{at}, as operand {}{part}.", by.instruction, by.operand)
}

fn report_row(row: &ReportRow) -> String {
    let about = |size: &dumps::read::Size| {
        if size.is_exact {
            bytes(size.bytes)
        } else {
            format!("about {}", assigner::words::binary(size.bytes))
        }
    };
    let many = match row.values {
        1 => format!("One value begins at byte {} and takes {}", grouped(row.offset), about(&row.size)),
        n => format!(
            "{n} values begin at byte {}; the largest of them takes {}",
            grouped(row.offset),
            about(&row.size)
        ),
    };
    format!(
        "{many}. The rows so far add up to {}; but rows can overlap, so the last sum is not the size of the block.",
        about(&row.cumulative)
    )
}

/// The rows of the report's block for the temporaries: the sum of their sizes, in bytes, and the allocation's size. The
/// sum counts each offset once, with its largest value (9.4).
pub fn rows_against_allocation(picture: &Picture) -> Option<(u64, u64)> {
    let temp = picture.temp?;
    let mut rows: HashMap<u64, u64> = HashMap::new();
    for i in picture.items.iter().filter(|i| i.slab == Some(temp)) {
        let row = rows.entry(i.offset).or_default();
        *row = (*row).max(i.size);
    }
    Some((rows.values().sum(), picture.slabs[temp].size))
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::chapters::text_of;
    use crate::engine::open;
    use crate::modules::SHIPPED;

    fn shown(id: &str) -> Shown {
        let opened = open(&text_of(id)).expect("it can be read");
        generated(&opened, &opened.original)
    }

    #[test]
    fn every_line_of_every_module_has_a_sentence_and_links_hold_both_ways() {
        for module in SHIPPED {
            let shown = shown(module.id);
            for (f, file) in shown.files.iter().enumerate() {
                for line in 0..file.len() {
                    let said = explain(&shown, f, line);
                    assert!(said.ends_with('.'), "{} {}:{line}: {said}", module.id, file.name);
                    assert_ne!(file.kind(line), Some(&LineKind::Unread));
                    for value in file.links(line).values {
                        assert!(file.about(value).contains(&line));
                    }
                }
            }
            // All that have a place are in the first two files and, with a range, in the third.
            for item in shown.picture.items.iter().filter(|i| i.slab.is_some()) {
                for file in &shown.files[..3] {
                    assert!(
                        !file.about(item.value).is_empty(),
                        "{}: {} in {}",
                        module.id,
                        item.name,
                        file.name
                    );
                }
            }
        }
    }

    #[test]
    fn sentences_are_made_from_the_facts() {
        let shown = shown("varied_temp_sizes");
        let say = |file: usize, start: &str| {
            let f = &shown.files[file];
            let line = (0..f.len()).find(|l| f.line(*l).trim().starts_with(start)).expect("such a line");
            explain(&shown, file, line)
        };
        let temp = shown.picture.temp.expect("temporaries");
        let slab = &shown.picture.slabs[temp];
        let head = say(0, &format!("allocation {}:", slab.id));
        assert!(head.contains("25,028 B (24.4 KiB)") && head.contains("temporaries only"), "{head}");
        assert!(head.contains("some of them at the same bytes"), "{head}");
        let range = say(2, "sort.6{}:");
        let item = shown.picture.items.iter().find(|i| i.name == "sort.6").expect("it is there");
        assert!(range.contains(&format!("from step {} to step {}", item.start, item.end)), "{range}");
    }

    #[test]
    fn a_readers_own_files_make_the_same_picture() {
        let opened = open(&text_of("mlp_grad")).expect("it can be read");
        let ours = generated(&opened, &opened.original);
        let mut files: Vec<(String, Vec<u8>)> = ours
            .files
            .iter()
            .map(|f| (format!("module_0001.jit_f.{}", f.name), f.text.clone().into_bytes()))
            .collect();
        files.push(("module_0001.jit_f.txt".to_owned(), text_of("mlp_grad").into_bytes()));
        let theirs = read(&files);
        assert_eq!(theirs.files.len(), 4);
        assert!(theirs.files.iter().all(|f| f.compared == Some(Compared::Same) && f.problems.is_empty()));
        let places = |p: &Picture| {
            let mut all: Vec<_> = p
                .items
                .iter()
                .map(|i| (i.name.trim_end_matches("{}").to_owned(), i.start, i.end, i.slab, i.offset, i.size))
                .filter(|i| i.3.is_some())
                .collect();
            all.sort();
            all
        };
        assert_eq!(places(&theirs.picture), places(&ours.picture));
        assert_eq!(theirs.curve.floor, ours.curve.floor);
    }

    #[test]
    fn broken_files_are_named_and_the_rest_is_shown() {
        let ours = shown("mlp_grad");
        let cut = |n: usize| ours.files[n].text.as_bytes()[..ours.files[n].text.len() / 2].to_vec();
        let theirs = read(&[
            ("half.txt".to_owned(), cut(0)),
            ("live.txt".to_owned(), ours.files[2].text.clone().into_bytes()),
            ("photo.png".to_owned(), vec![0x89, b'P', 0xff, 0]),
            ("empty.txt".to_owned(), Vec::new()),
            ("notes.txt".to_owned(), b"bring milk".to_vec()),
            (
                "broken-module.txt".to_owned(),
                b"HloModule x\n\nENTRY e {\n  ROOT a = f32[2]{0} add(b, b)\n}\n".to_vec(),
            ),
        ]);
        assert_eq!(theirs.files.len(), 2);
        assert!(!theirs.files[0].problems.is_empty());
        let said = theirs.remarks.join("\n");
        for name in ["photo.png", "empty.txt", "notes.txt", "broken-module.txt"] {
            assert!(said.contains(name), "{said}");
        }
        assert!(said.contains("line 4"), "{said}");
    }

    #[test]
    fn a_difference_is_found_at_its_line() {
        let module = text_of("mlp_grad");
        let ours = shown("mlp_grad");
        let other = ours.files[0].text.replacen("offset=0", "offset=64", 1);
        let at = other.lines().position(|l| l.contains("offset=64")).expect("it was put there") as u32;
        let theirs =
            read(&[("a.txt".to_owned(), other.into_bytes()), ("m.txt".to_owned(), module.into_bytes())]);
        let Some(Compared::Differs { line, count, ours }) = &theirs.files[0].compared else {
            panic!("{:?}", theirs.files[0].compared)
        };
        assert_eq!((*line, *count), (at + 1, 1));
        assert!(ours.contains("offset=0"));
        assert!(explain(&theirs, 0, at).contains("Here the engine writes"));
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300), cut in 0_usize..4000) {
            let text = &*TEXT;
            let cut = text.floor_char_boundary(cut.min(text.len()));
            let mut mixed = text.as_bytes()[..cut].to_vec();
            mixed.extend(String::from_utf8_lossy(&bytes).bytes());
            let shown = read(&[("a".to_owned(), mixed), ("b".to_owned(), bytes)]);
            for (f, file) in shown.files.iter().enumerate() {
                for line in 0..file.len() {
                    _ = explain(&shown, f, line);
                }
            }
        }
    }

    static TEXT: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
        let shown = shown("kv_cache_loop");
        shown.files.iter().map(|f| f.text.as_str()).collect()
    });
}
