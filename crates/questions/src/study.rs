//! One assignment as a table: XLA's own, as its dumps tell it, or ours, with whatever of the program is known.

use crate::origin::{Frames, Origin, origin};
use analysis::{AnalysisError, Backend, Facts, Orders, Position, Target, ValueId};
use assigner::{Assignment, Decisions, Options};
use dumps::read::{Dump, ValueName};
use hlo::{InstructionId, Module, ShapeIndex};
use opening::{Check, Loaded};
use rustc_hash::FxHashMap;

/// A module with all that is true of it.
#[derive(Debug)]
pub struct Program {
    /// The module.
    pub module: Module,
    /// The facts.
    pub facts: Facts,
    /// Its tables of source lines.
    pub frames: Frames,
    /// The reads that edits have left out of it.
    pub dropped: Vec<crate::edit::Dropped>,
}

impl Program {
    /// A module with its facts.
    #[must_use]
    pub fn new(module: Module, facts: Facts) -> Self {
        let frames = Frames::new(&module);
        Self { module, facts, frames, dropped: Vec::new() }
    }
}

/// Whose assignment a [`Study`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// XLA's, read from its dumps.
    Dump,
    /// Ours, run on the module.
    Ours,
}

/// An allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slab {
    /// Its number.
    pub number: u32,
    /// Bytes.
    pub size: u64,
    /// Its memory space.
    pub color: u32,
    /// What it is for.
    pub role: Role,
    /// The entry parameter whose memory it is: its number, and where in it.
    pub parameter: Option<(u32, ShapeIndex)>,
    /// May it hold a part of the result?
    pub maybe_live_out: bool,
}

/// What an allocation is for: who owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// An entry parameter: the caller's, and the same address as long as the caller passes the same array.
    Argument,
    /// A part of the result that is no argument: the caller's afterwards.
    Output,
    /// Temporaries: the executable's, free between runs.
    Temp,
    /// A constant: the executable's, and always at one address.
    Constant,
    /// Memory of computations that run per element.
    ThreadLocal,
}

/// The name of a memory space: its number, and on the machines that have several what it is: `5 (host)`.
#[must_use]
pub fn space_name(study: &Study, color: u32) -> String {
    let name = match (study.backend, color) {
        (Some(Backend::Tpu), 0) => "HBM",
        (Some(Backend::Tpu), 1) => "VMEM",
        (Some(Backend::Tpu), 2) => "flags",
        (Some(Backend::Tpu), 6) => "SMEM",
        (Some(Backend::Gpu), 1) => "collectives",
        (Some(Backend::Tpu | Backend::Gpu), 5) => "host",
        _ => return color.to_string(),
    };
    format!("{color} ({name})")
}

impl Role {
    /// All, in the order in which they are listed.
    pub const ALL: [Self; 5] = [Self::Argument, Self::Output, Self::Temp, Self::Constant, Self::ThreadLocal];

    /// `argument`, `output`, `temp`, `constant` or `thread-local`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Argument => "argument",
            Self::Output => "output",
            Self::Temp => "temp",
            Self::Constant => "constant",
            Self::ThreadLocal => "thread-local",
        }
    }

    /// What a command buffer, or anything else that keeps addresses, may rely on.
    #[must_use]
    pub fn address(self) -> &'static str {
        match self {
            Self::Argument => "the caller's; changes if the caller passes another array",
            Self::Output => "new in each run unless the caller donates",
            Self::Temp => "may change from run to run, unless the run time keeps it",
            Self::Constant => "never changes",
            Self::ThreadLocal => "on the stack of each thread",
        }
    }
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub name: ValueName,
    /// The value in the program, if that is there and has it.
    pub value: Option<ValueId>,
    /// The instruction that defines it.
    pub instruction: Option<InstructionId>,
    /// Its allocation: an index into [`Study::slabs`].
    pub slab: usize,
    /// Bytes from the start of the allocation.
    pub offset: u64,
    /// Bytes it takes, padding included.
    pub size: u64,
    /// Bytes of its data without padding; `None` if the shape does not tell.
    pub unpadded: Option<u64>,
    /// Its shape with layout.
    pub shape: String,
    /// The first and the last step at which it is wanted; `None` for values that are not on the clock.
    pub range: Option<(u32, u32)>,
    /// Is it a tuple's table of pointers?
    pub is_tuple: bool,
    /// Where it comes from.
    pub origin: Origin,
}

/// The peak as XLA's live-range file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldPeak {
    /// The file, without its folder.
    pub file: String,
    /// The step.
    pub step: u32,
    /// Bytes, without padding, arguments and results included.
    pub bytes: u64,
}

/// One assignment as a table.
#[derive(Debug)]
pub struct Study {
    /// Whose it is.
    pub source: Source,
    /// The compiler, if it is known.
    pub backend: Option<Backend>,
    /// The program, if its text is there.
    pub program: Option<Program>,
    /// Our assignment of the program and the decisions that led to it, also where the table is XLA's.
    pub ours: Option<(Assignment, Decisions)>,
    /// The allocations.
    pub slabs: Vec<Slab>,
    /// The values with a place, in the order of the dump, or by number.
    pub rows: Vec<Row>,
    /// The instructions in the order in which they run.
    pub sequence: Vec<String>,
    /// The end of the program, in steps.
    pub end: u32,
    /// What has to be said of the program: why it is left out, or that its protocol buffer is of another module.
    pub remarks: Vec<String>,
    /// XLA's own sums of the allocations beside those of the table; none where the table is ours, or nothing gives one.
    pub checks: Vec<Check>,
    /// Why the sums of XLA's table are not to be relied on; none if they are, or the table is ours.
    pub doubts: Vec<String>,
    /// The peak that XLA's live-range file gives, if the table is XLA's.
    pub told_peak: Option<ToldPeak>,
    /// The row of each value of the program.
    by_value: FxHashMap<ValueId, usize>,
}

fn index(rows: &[Row]) -> FxHashMap<ValueId, usize> {
    rows.iter().enumerate().filter_map(|(i, r)| Some((r.value?, i))).collect()
}

/// How to look at what was loaded.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Look at our assignment, even if XLA's is there.
    pub ours: bool,
    /// Do not run our assignment if XLA's is there.
    pub no_rerun: bool,
    /// How to run ours.
    pub options: Options,
    /// Another compiler than the one that was found out.
    pub backend: Option<Backend>,
    /// Another alignment for every memory space.
    pub alignment: Option<u64>,
}

/// Why there is nothing to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StudyError {
    /// Neither the program nor XLA's assignment is there.
    Nothing,
    /// The program cannot be analysed: what is wrong, and at which instruction.
    Analysis(String, Option<InstructionId>),
}

impl std::fmt::Display for StudyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => f.write_str("neither a module nor an assignment can be read"),
            Self::Analysis(what, _) => f.write_str(what),
        }
    }
}

impl std::error::Error for StudyError {}

impl Study {
    /// Looks at what was loaded: XLA's assignment if it is there, else ours. A program that cannot be analysed is left
    /// out where XLA's assignment is there.
    pub fn of(loaded: Loaded, settings: &Settings) -> Result<Self, StudyError> {
        let Loaded { module, orders, backend, dump, checks, doubts, peak_file, figures, .. } = loaded;
        let has_dump = dump.assignment.is_some();
        let mut remarks = Vec::new();
        let program = match module.map(|m| program(m, orders.as_ref(), backend, settings, &mut remarks)) {
            Some(Ok(program)) => Some(program),
            Some(Err(e)) if !has_dump => return Err(e),
            Some(Err(e)) => {
                remarks.push(format!("the program is left out: {e}"));
                None
            }
            None => None,
        };
        if has_dump && !settings.ours {
            let told_peak =
                peak_file.zip(figures.peak).map(|(file, (step, bytes))| ToldPeak { file, step, bytes });
            return Ok(Self {
                remarks,
                checks,
                doubts,
                told_peak,
                ..Self::of_dump(program, &dump, backend, settings)
            });
        }
        let Some(program) = program else { return Err(StudyError::Nothing) };
        let options = options(&program, &dump, settings);
        Ok(Self { remarks, ..Self::of_program(program, &options) })
    }

    /// Our assignment of a program.
    #[must_use]
    pub fn of_program(program: Program, options: &Options) -> Self {
        let (assignment, decisions) =
            assigner::assign(&program.module, &program.facts, &program.facts.ranges, options);
        Self::of_assignment(program, assignment, decisions)
    }

    /// An assignment of a program that was made already.
    #[must_use]
    pub fn of_assignment(program: Program, assignment: Assignment, decisions: Decisions) -> Self {
        let Program { module, facts, frames, .. } = &program;
        let mut slabs = Vec::new();
        let mut rows = Vec::new();
        for a in &assignment.allocations {
            let role = role(a.parameter.is_some(), a.is_constant, a.is_thread_local, a.maybe_live_out);
            for p in &a.values {
                let position = facts.value(p.value).defined_at();
                let shape = facts.value_shape(module, p.value);
                rows.push(Row {
                    name: name_at(module, position),
                    value: Some(p.value),
                    instruction: Some(position.instruction),
                    slab: slabs.len(),
                    offset: p.offset,
                    size: p.size,
                    unpadded: unpadded(module, shape),
                    shape: module.shapes.long(shape).to_owned(),
                    range: facts.ranges.get(p.value).map(|r| (r.start.0, r.end.0)),
                    is_tuple: module.shapes.is_tuple(shape),
                    origin: origin(module, position.instruction, frames),
                });
            }
            slabs.push(Slab {
                number: a.id.0,
                size: a.size,
                color: a.color.0,
                role,
                parameter: a.parameter.as_ref().map(|p| (p.number, p.index.clone())),
                maybe_live_out: a.maybe_live_out,
            });
        }
        let sequence = facts.clock.sequence.iter().map(|i| module.name_of(*i).to_owned()).collect();
        Self {
            source: Source::Ours,
            backend: Some(facts.target.backend),
            end: facts.clock.end.0,
            ours: Some((assignment, decisions)),
            program: Some(program),
            by_value: index(&rows),
            remarks: Vec::new(),
            checks: Vec::new(),
            doubts: Vec::new(),
            told_peak: None,
            slabs,
            rows,
            sequence,
        }
    }

    fn of_dump(program: Option<Program>, dump: &Dump, backend: Option<Backend>, settings: &Settings) -> Self {
        let empty = dumps::read::BufferAssignmentFile::default();
        let file = dump.assignment.as_ref().unwrap_or(&empty);
        let by_name = program.as_ref().map(values_by_name).unwrap_or_default();
        let told: FxHashMap<&ValueName, &str> = dump
            .values
            .iter()
            .flat_map(|v| &v.values)
            .map(|v| (&v.value.name, v.instruction.as_str()))
            .collect();
        let ranges: FxHashMap<&ValueName, (u32, u32)> =
            dump.live_range.iter().flat_map(|l| &l.ranges).map(|r| (&r.name, (r.start, r.end))).collect();
        let mut slabs = Vec::new();
        let mut rows = Vec::new();
        for a in &file.allocations {
            for p in &a.values {
                let value = by_name.get(&p.value.name).copied();
                let own = value.zip(program.as_ref()).map(|(v, at)| (v, &at.module, &at.facts, &at.frames));
                let origin = match own {
                    Some((v, module, facts, frames)) => origin(module, facts.defining(v), frames),
                    None => told.get(&p.value.name).map(|line| origin_of_line(line)).unwrap_or_default(),
                };
                let range = match own {
                    _ if dump.live_range.is_some() => ranges.get(&p.value.name).copied(),
                    Some((v, _, facts, _)) => facts.ranges.get(v).map(|r| (r.start.0, r.end.0)),
                    None => None,
                };
                rows.push(Row {
                    name: p.value.name.clone(),
                    value,
                    instruction: own.map(|(v, _, facts, _)| facts.defining(v)),
                    slab: slabs.len(),
                    offset: p.offset,
                    size: p.size,
                    unpadded: unpadded_of_text(&p.shape),
                    shape: p.shape.clone(),
                    range,
                    is_tuple: p.shape.starts_with('('),
                    origin,
                });
            }
            slabs.push(Slab {
                number: a.number,
                size: a.size.bytes,
                color: a.color,
                role: role(a.parameter.is_some(), a.is_constant, a.is_thread_local, a.maybe_live_out),
                parameter: a.parameter.as_ref().map(|p| (p.number, p.index.clone())),
                maybe_live_out: a.maybe_live_out,
            });
        }
        let ours = program
            .as_ref()
            .filter(|_| !settings.no_rerun)
            .map(|p| assigner::assign(&p.module, &p.facts, &p.facts.ranges, &options(p, dump, settings)));
        let sequence = match (&dump.live_range, &program) {
            (Some(file), _) if !file.sequence.is_empty() => file.sequence.clone(),
            (_, Some(p)) => p.facts.clock.sequence.iter().map(|i| p.module.name_of(*i).to_owned()).collect(),
            _ => Vec::new(),
        };
        let last = rows.iter().filter_map(|r| r.range).map(|r| r.1).max().unwrap_or(0);
        let end = dump.live_range.as_ref().and_then(|l| l.end).unwrap_or(last).max(last);
        let backend = backend.or_else(|| program.as_ref().map(|p| p.facts.target.backend));
        let by_value = index(&rows);
        Self {
            source: Source::Dump,
            backend,
            program,
            ours,
            slabs,
            rows,
            sequence,
            end,
            by_value,
            remarks: Vec::new(),
            checks: Vec::new(),
            doubts: Vec::new(),
            told_peak: None,
        }
    }

    /// The row of a value by its name, `fusion.1` or `while.2{0}`. A place that holds the value of another one is as good
    /// as the name of that, where the program is known.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<usize> {
        let name: ValueName = text.parse().ok()?;
        if let Some(i) = self.rows.iter().position(|r| r.name == name) {
            return Some(i);
        }
        let program = self.program.as_ref()?;
        let module = &program.module;
        let id = module.instruction_ids().find(|i| module.name_of(*i) == name.instruction)?;
        let sub = module.shapes.find(module.instruction(id).shape, &name.index.0)?;
        let value = program.facts.dataflow.unique_at(Position { instruction: id, sub })?;
        self.row_of(value)
    }

    /// The row of a value of the program.
    #[must_use]
    pub fn row_of(&self, value: ValueId) -> Option<usize> {
        self.by_value.get(&value).copied()
    }

    /// What runs at a step.
    #[must_use]
    pub fn at(&self, step: u32) -> &str {
        self.sequence.get(step as usize).map_or("the end", String::as_str)
    }

    /// The allocation of a row.
    #[must_use]
    pub fn slab(&self, row: &Row) -> &Slab {
        &self.slabs[row.slab]
    }
}

/// How to run ours: what memory space assignment placed before is taken from XLA's assignment, if that is there.
fn options(program: &Program, dump: &Dump, settings: &Settings) -> Options {
    let mut options = settings.options.clone();
    if options.presets.is_empty()
        && let Some(file) = &dump.assignment
        && let Ok(presets) = dumps::presets_of(&program.module, &program.facts, file)
    {
        options.presets = presets;
    }
    options
}

/// A module with its facts, and XLA's own orders if they are there and fit.
fn program(
    module: Module,
    orders: Option<&hlo::ProtoOrders>,
    backend: Option<Backend>,
    settings: &Settings,
    remarks: &mut Vec<String>,
) -> Result<Program, StudyError> {
    let mut target = match settings.backend.or(backend) {
        Some(backend) => Target::tuned(backend, &module),
        None => Target::detect(&module),
    };
    target.alignment_override = settings.alignment;
    let exact = orders.map(|stored| Orders::exact(&module, &target, stored));
    let orders = match exact {
        Some(Ok(orders)) => orders,
        Some(Err(e)) => {
            remarks.push(format!("the protocol buffer is of another module: {e}; its orders are not taken"));
            Orders::guess(&module, &target)
        }
        None => Orders::guess(&module, &target),
    };
    let fail = |e: AnalysisError| StudyError::Analysis(e.describe(&module), e.instruction());
    let facts = Facts::new(&module, orders, target).map_err(fail)?;
    Ok(Program::new(module, facts))
}

pub(crate) fn role(
    is_parameter: bool,
    is_constant: bool,
    is_thread_local: bool,
    maybe_live_out: bool,
) -> Role {
    if is_parameter {
        Role::Argument
    } else if is_constant {
        Role::Constant
    } else if is_thread_local {
        Role::ThreadLocal
    } else if maybe_live_out {
        Role::Output
    } else {
        Role::Temp
    }
}

pub(crate) fn name_at(module: &Module, at: Position) -> ValueName {
    let places = module.shapes.subshapes(module.instruction(at.instruction).shape);
    ValueName {
        instruction: module.name_of(at.instruction).to_owned(),
        index: places[at.sub as usize].index.clone(),
    }
}

fn values_by_name(program: &Program) -> FxHashMap<ValueName, ValueId> {
    program.facts.values().map(|v| (name_at(&program.module, v.defined_at()), v.id)).collect()
}

/// From a line of HLO, as the file of the used values has it.
fn origin_of_line(line: &str) -> Origin {
    let name =
        line.trim().trim_start_matches("ROOT ").trim_start_matches('%').split(' ').next().unwrap_or("");
    let opcode = line
        .split_once(" = ")
        .and_then(|(_, rest)| {
            // The opcode stands behind the shape, which ends at the first space outside its own brackets.
            let rest = rest.trim_start();
            let mut depth = 0i32;
            let end = rest.find(|c| {
                match c {
                    '(' | '{' | '[' => depth += 1,
                    ')' | '}' | ']' => depth -= 1,
                    _ => {}
                }
                c == ' ' && depth == 0
            })?;
            rest[end..].trim_start().split('(').next()
        })
        .unwrap_or("");
    let metadata = line.rsplit_once("metadata={").map_or("", |(_, m)| m);
    Origin::new(name, opcode, metadata, &Frames::default())
}

/// Bytes of an array's elements; `None` for what is no array.
fn unpadded(module: &Module, shape: hlo::ShapeId) -> Option<u64> {
    match module.shapes.get(shape) {
        hlo::Shape::Array { .. } => unpadded_of_text(module.shapes.long(shape)),
        _ => None,
    }
}

/// Bytes of the elements of an array that is given as text, `bf16[8,128]{1,0:T(8,128)(2,1)}`.
#[must_use]
pub fn unpadded_of_text(shape: &str) -> Option<u64> {
    let (element, rest) = shape.split_once('[')?;
    let bits = hlo::ElementType::from_name(element.trim())?.bits();
    let (dimensions, layout) = rest.split_once(']')?;
    let mut count = 1u64;
    for d in dimensions.split(',').filter(|d| !d.is_empty()) {
        count = count.checked_mul(d.trim().trim_start_matches("<=").parse().ok()?)?;
    }
    // `E(4)`: elements are packed.
    let packed =
        layout.split_once("E(").and_then(|(_, e)| e.split_once(')')).and_then(|(e, _)| e.parse::<u64>().ok());
    let bits = packed.filter(|p| *p < bits.max(8)).unwrap_or(bits.max(8));
    Some(count.checked_mul(bits)?.div_ceil(8))
}

#[cfg(test)]
mod tests {
    use super::origin_of_line;

    #[test]
    fn the_opcode_of_a_line_stands_behind_its_shape() {
        for (line, opcode) in [
            ("%copy.4 = s32[]{:T(128)} copy(%x), metadata={op_name=\"a/b\"}", "copy"),
            ("ROOT t = (f32[8,128]{1,0:T(8,128)S(1)}, (s32[], s32[])) tuple(a, b)", "tuple"),
            ("c = pred[]{:T(512)S(6)} compare(a, b), direction=LT", "compare"),
            ("k = s32[] constant(3)", "constant"),
            ("x", ""),
            ("x = s32[]{:T(128", ""),
        ] {
            assert_eq!(origin_of_line(line).opcode, opcode, "{line}");
        }
    }
}
