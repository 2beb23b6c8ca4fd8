//! Other runs of the reader's own module: with ranges put by hand, arguments donated or not, another alignment or packer.

use crate::talk::{Edit, Trial};
use crate::text::cut;
use analysis::{Facts, Orders, RangeEdit, Step, Target, ValueId};
use assigner::Options;
use assigner::words::{self, both, bytes, difference};
use dumps::read::BufferAssignmentFile;
use hlo::{Module, ShapeIndex};
use questions::{Advice, Change, Peak, Program, Role, Study};

/// A run with changes.
pub(crate) struct Run {
    /// The assignment.
    pub(crate) study: Study,
    /// The edits in words, one each.
    pub(crate) edits: Vec<String>,
    /// What became of the sharings, where the module is the same one.
    pub(crate) sharings: Option<String>,
}

/// What the run starts from.
pub(crate) struct Base<'a> {
    pub(crate) study: &'a Study,
    /// What memory space assignment placed, if XLA's file is there.
    pub(crate) placed: Option<&'a BufferAssignmentFile>,
    pub(crate) advice: &'a [Advice],
}

fn program_of(module: Module, target: &Target) -> Result<Program, String> {
    let orders = Orders::guess(&module, target);
    let facts = Facts::new(&module, orders, target.clone()).map_err(|e| e.describe(&module))?;
    Ok(Program::new(module, facts))
}

fn index(numbers: &[u32]) -> ShapeIndex {
    ShapeIndex::from(numbers)
}

fn place(parameter: u32, index: &[u32]) -> String {
    if index.is_empty() { parameter.to_string() } else { format!("{parameter}{}", self::index(index)) }
}

fn find(program: &Program, name: &str) -> Option<ValueId> {
    let wanted = name.trim_end_matches("{}");
    program
        .facts
        .values()
        .map(|v| v.id)
        .find(|v| program.facts.label(&program.module, *v).trim_end_matches("{}") == wanted)
}

/// Writes the aliases into the module's header, from which a printed module is read back.
fn write_aliases(module: &mut Module) {
    let entries: Vec<String> = module
        .input_output_alias
        .iter()
        .map(|a| {
            let kind = if a.kind == hlo::AliasKind::Must { "must-alias" } else { "may-alias" };
            format!("{}: ({}, {}, {kind})", a.output, a.parameter, a.parameter_index)
        })
        .collect();
    let name = "input_output_alias";
    let at = module.header.iter().position(|h| module.str(h.name) == name);
    let Some(at) = at else { return };
    if entries.is_empty() {
        module.header.remove(at);
    } else {
        module.header[at].value = module.add_text(&format!("{{ {} }}", entries.join(", ")));
    }
}

/// The module without a donation: what then has to be copied is copied, as the compiler would.
fn undonated(program: &Program, parameter: u32, at: &ShapeIndex) -> Result<Module, String> {
    let mut module = program.module.clone();
    let before = module.input_output_alias.len();
    module.input_output_alias.retain(|a| a.parameter != parameter || a.parameter_index != *at);
    if module.input_output_alias.len() == before {
        return Err(format!("Argument {} is not donated.", place(parameter, &at.0)));
    }
    write_aliases(&mut module);
    let target = &program.facts.target;
    let orders = Orders::guess(&module, target);
    let copied = copy_insertion::insert_copies(&module, &orders, target, copy_insertion::Options::default())
        .map_err(|e| e.describe(&module))?;
    hlo::read_owned(hlo::print(&copied.module)).complete().map_err(|d| {
        d.first().map_or_else(|| "The changed module cannot be read back.".to_owned(), ToString::to_string)
    })
}

/// Runs the module with the edits of a trial.
pub(crate) fn run(base: &Base<'_>, trial: &Trial) -> Result<Run, String> {
    let original = base.study.program.as_ref().ok_or("This needs the program.")?;
    let mut target = original.facts.target.clone();
    let mut options = Options::default();
    let mut ranges: Vec<(&str, u32, u32)> = Vec::new();
    let mut changed: Option<Program> = None;
    let mut edits = Vec::new();
    for edit in &trial.edits {
        let now = changed.as_ref().unwrap_or(original);
        match edit {
            Edit::Range { name, start, end } => {
                ranges.retain(|r| r.0 != name);
                ranges.push((name, *start, *end));
                edits.push(format!("{} is wanted from step {start} to step {end}", cut(name)));
            }
            Edit::Donate { parameter, index: at, output } => {
                let change =
                    Change::Donate { parameter: *parameter, index: index(at), output: index(output) };
                let module = questions::apply(now, &change).ok_or("This donation cannot be made.")?;
                changed = Some(program_of(module, &target)?);
                edits.push(format!(
                    "argument {} is donated to output {}",
                    place(*parameter, at),
                    index(output)
                ));
            }
            Edit::Undonate { parameter, index: at } => {
                let module = undonated(now, *parameter, &index(at))?;
                changed = Some(program_of(module, &target)?);
                edits.push(format!("argument {} is not donated", place(*parameter, at)));
            }
            Edit::Advised { number } => {
                let advice =
                    base.advice.get(*number as usize).ok_or("The advice is gone; ask for it again.")?;
                let module = questions::apply(now, &advice.change).ok_or("This change cannot be made.")?;
                changed = Some(program_of(module, &target)?);
                edits.push(cut(&advice.words));
            }
            Edit::Alignment { bytes: n } => {
                if !n.is_power_of_two() {
                    return Err(format!("An alignment is a power of two, not {n}."));
                }
                target.alignment_override = Some(*n);
                edits.push(format!("everything is aligned to {}", bytes(*n)));
            }
            Edit::Algorithm { name } => {
                let algorithm: packing::Algorithm =
                    name.parse().map_err(|e: packing::UnknownAlgorithm| e.to_string())?;
                options.algorithm = Some(algorithm);
                edits.push(format!("the packer is {name}"));
            }
        }
    }
    let is_same_module = changed.is_none();
    let mut program = match changed {
        Some(program) if program.facts.target == target => program,
        Some(program) => program_of(program.module, &target)?,
        None => {
            let module = original.module.clone();
            let facts = Facts::new(&module, original.facts.orders.clone(), target)
                .map_err(|e| e.describe(&module))?;
            Program::new(module, facts)
        }
    };
    if let Some(file) = base.placed
        && let Ok(presets) = dumps::presets_of(&program.module, &program.facts, file)
    {
        options.presets = presets;
    }
    let mut edited = Vec::new();
    for (name, start, end) in ranges {
        let value = find(&program, name).ok_or_else(|| format!("There is no value {} now.", cut(name)))?;
        edited.push(RangeEdit { value, start: Step(start), end: Step(end) });
    }
    program.facts.ranges = program.facts.ranges.edited(&edited);
    let Program { module, facts, .. } = &program;
    let (assignment, decisions) = assigner::assign(module, facts, &facts.ranges, &options);
    let sharings = match &base.study.ours {
        Some((before, _)) if is_same_module && !edited.is_empty() => {
            let values: Vec<ValueId> = edited.iter().map(|e| e.value).collect();
            let change = words::change(module, facts, before, (&facts.ranges, &assignment), &values);
            Some(change.sharing_words(module, facts))
        }
        _ => None,
    };
    Ok(Run { study: Study::of_assignment(program, assignment, decisions), edits, sharings })
}

/// Sums of an assignment: all allocations, temporaries, and most of the temporaries in use at once; in bytes.
pub(crate) fn sums(peak: &Peak) -> (u64, u64, u64) {
    let temp = peak.owner(Role::Temp).map_or(0, |o| o.bytes);
    let live = peak.spaces.iter().map(|s| s.live).max().unwrap_or(0);
    (peak.total, temp, live)
}

/// What a run came to, against what it started from: a sentence each.
pub(crate) fn words(before: &Peak, after: &Peak) -> Vec<String> {
    let (a, b) = (sums(before), sums(after));
    [("All allocations", a.0, b.0), ("The temporaries", a.1, b.1), ("Most in use at once", a.2, b.2)]
        .into_iter()
        .map(|(what, a, b)| format!("{what}: {}, before {}: {}.", both(b), both(a), difference(a, b)))
        .collect()
}
