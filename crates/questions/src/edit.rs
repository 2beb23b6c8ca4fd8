//! Edits made by hand: what can be said of a program to be tried, and the program so changed.
//!
//! An edit names things as the module does, so that it can be kept in a file or an address and made again.

use crate::changes::{donate, drop_output, later, leave_out, position, remove_unread, set_header, sooner};
use crate::study::Program;
use analysis::{Facts, Orders, Target};
use assigner::words::{bytes, list};
use hlo::{AliasKind, ComputationId, InstructionId, Module, Opcode, ShapeIndex};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// One edit. Steps are those of the program's clock when its turn comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Edit {
    /// A value is wanted in other steps, whatever the program says.
    Range {
        /// The value, `fusion.1` or `while.2{0}`.
        name: String,
        /// First step.
        start: u32,
        /// Last step.
        end: u32,
    },
    /// An instruction runs at another step; what it calls moves with it.
    Move {
        /// The instruction.
        name: String,
        /// The step.
        to: u32,
    },
    /// Instructions run right before the first that waits for them.
    Later {
        /// The instructions.
        names: Vec<String>,
    },
    /// An instruction runs as soon as what it waits for is done.
    Sooner {
        /// The instruction.
        name: String,
    },
    /// An instruction does not read one of its operands.
    DropRead {
        /// The instruction.
        reader: String,
        /// Which operand, from 0, as the program has them before any edit.
        operand: u32,
    },
    /// An argument is donated to an output.
    Donate {
        /// The parameter's number.
        parameter: u32,
        /// Where in it.
        index: Vec<u32>,
        /// Where in the result.
        output: Vec<u32>,
    },
    /// A donation is taken back; copy insertion runs again.
    Undonate {
        /// The parameter's number.
        parameter: u32,
        /// Where in it.
        index: Vec<u32>,
    },
    /// A part of the result is not returned.
    DropOutput {
        /// The element of its tuple.
        output: u32,
    },
    /// A copy is left out: its readers read what it copies.
    DropCopy {
        /// The copy.
        name: String,
    },
    /// Every plain copy is left out.
    DropCopies,
    /// Copy insertion runs.
    InsertCopies,
    /// One alignment for all memory spaces.
    Alignment {
        /// A power of two, in bytes.
        bytes: u64,
    },
    /// Another packer.
    Algorithm {
        /// Its name.
        name: String,
    },
}

/// The largest alignment that can be asked for, in bytes: 1 GiB. Sizes rounded up to it cannot overflow.
const MOST_ALIGNMENT: u64 = 1 << 30;

/// An alignment in bytes that somebody asks for.
///
/// # Errors
/// If it is no power of two, or above 1 GiB.
pub fn alignment(bytes: u64) -> Result<u64, String> {
    if bytes.is_power_of_two() && bytes <= MOST_ALIGNMENT {
        return Ok(bytes);
    }
    Err(format!("An alignment of {bytes}, expected a power of two from 1 to {MOST_ALIGNMENT}."))
}

/// Names in sentences: a module may name things as long as it likes.
pub(crate) fn cut(text: &str) -> String {
    const MOST: usize = 160;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let head: String = text.chars().take(MOST).collect();
    format!("{head}…")
}

fn index(numbers: &[u32]) -> ShapeIndex {
    ShapeIndex::from(numbers)
}

/// An argument's number, with the place in it.
fn numbered(parameter: u32, at: &[u32]) -> String {
    if at.is_empty() { parameter.to_string() } else { format!("{parameter}{}", index(at)) }
}

fn argument(parameter: u32, at: &[u32]) -> String {
    format!("argument {}", numbered(parameter, at))
}

/// Donations that are told one by one; of more only the first arguments are named.
const FEW: usize = 3;

/// What edits do, for where there is little room: many donations are one clause. `words` are those of the edits, one each.
#[must_use]
pub fn in_short(edits: &[Edit], words: &[String]) -> Vec<String> {
    let donated = |e: &Edit| match e {
        Edit::Donate { parameter, index: at, .. } => Some((true, numbered(*parameter, at))),
        Edit::Undonate { parameter, index: at } => Some((false, numbered(*parameter, at))),
        _ => None,
    };
    let all = |made: bool| -> Vec<String> {
        edits.iter().filter_map(donated).filter(|d| d.0 == made).map(|d| d.1).collect()
    };
    let mut told = [false; 2];
    let mut out = Vec::new();
    for (edit, words) in edits.iter().zip(words) {
        let many = donated(edit).map(|d| (d.0, all(d.0))).filter(|(_, all)| all.len() > FEW);
        let Some((made, arguments)) = many else {
            out.push(words.clone());
            continue;
        };
        if !std::mem::replace(&mut told[usize::from(made)], true) {
            let named = list(&arguments, FEW);
            out.push(if made {
                format!("{} arguments are donated: {named}", arguments.len())
            } else {
                format!("{} arguments are not donated: {named}", arguments.len())
            });
        }
    }
    out
}

/// A read that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The instruction.
    pub reader: String,
    /// Which operand it was before any edit.
    pub operand: u32,
    /// Is there one operand less? Otherwise another stands in its place.
    pub is_gone: bool,
}

/// Which operand a reader has now for the one that it had before any edit; `None` if that read was left out.
fn operand_now(dropped: &[Dropped], reader: &str, operand: u32) -> Option<u32> {
    let own = || dropped.iter().filter(|d| d.reader == reader);
    if own().any(|d| d.operand == operand) {
        return None;
    }
    let gone = own().filter(|d| d.is_gone && d.operand < operand).count();
    Some(operand - gone as u32)
}

/// The other way; `None` if it stands in for one that was left out.
fn operand_before(dropped: &[Dropped], reader: &str, operand: u32) -> Option<u32> {
    let own = || dropped.iter().filter(|d| d.reader == reader);
    let mut gone: Vec<u32> = own().filter(|d| d.is_gone).map(|d| d.operand).collect();
    gone.sort_unstable();
    let before = gone.iter().fold(operand, |at, g| if *g <= at { at + 1 } else { at });
    (!own().any(|d| d.operand == before)).then_some(before)
}

/// How the program is made and run, beside its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// Ranges put by hand: name, first and last step.
    pub(crate) ranges: Vec<(String, u32, u32)>,
    /// Another alignment.
    pub(crate) alignment: Option<u64>,
    /// Another packer.
    pub(crate) algorithm: Option<packing::Algorithm>,
    /// The reads that were left out.
    pub(crate) dropped: Vec<Dropped>,
}

impl Edit {
    /// Makes the edit; gives the changed module, if not only how it is run is another, and the edit in words.
    pub(crate) fn make(&self, program: &Program, run: &mut Run) -> Result<(Option<Module>, String), String> {
        let mut module = program.module.clone();
        let words = match self {
            Edit::Range { name, start, end } => {
                if start > end {
                    return Err(format!(
                        "A range from step {start} to step {end}, expected the end at the start or behind it."
                    ));
                }
                run.ranges.retain(|r| r.0 != *name);
                run.ranges.push((name.clone(), *start, *end));
                return Ok((None, format!("{} is wanted from step {start} to step {end}", cut(name))));
            }
            Edit::Alignment { bytes: n } => {
                run.alignment = Some(alignment(*n)?);
                return Ok((None, format!("everything is aligned to {}", bytes(*n))));
            }
            Edit::Algorithm { name } => {
                let algorithm = name.parse().map_err(|e: packing::UnknownAlgorithm| e.to_string())?;
                run.algorithm = Some(algorithm);
                return Ok((None, format!("the packer is {name}")));
            }
            Edit::Move { name, to } => {
                let id = find(&module, name)?;
                let room = room(program, id)?;
                let at = room.place(program, *to)?;
                let c = module.instruction(id).computation;
                let order = &mut module.computations[c.index()].instructions;
                order.retain(|i| *i != id);
                order.insert(at, id);
                if *to == room.now {
                    format!("{} stays at step {to}", cut(name))
                } else {
                    format!("{} runs at step {to} instead of step {}", cut(name), room.now)
                }
            }
            Edit::Later { names } => {
                let ids: Vec<InstructionId> =
                    names.iter().map(|n| find(&module, n)).collect::<Result<_, _>>()?;
                for id in ids.iter().rev() {
                    room(program, *id)?;
                    later(&mut module, *id).ok_or_else(|| {
                        format!("Nothing in its computation waits for {}.", cut(module.name_of(*id)))
                    })?;
                }
                let names: Vec<String> = names.iter().map(|n| cut(n)).collect();
                format!("{} right before the first that waits", list(&names, 3))
            }
            Edit::Sooner { name } => {
                let id = find(&module, name)?;
                room(program, id)?;
                sooner(&mut module, id).ok_or_else(|| format!("{} cannot be moved.", cut(name)))?;
                format!("{} runs as soon as it can", cut(name))
            }
            Edit::DropRead { reader, operand } => {
                let id = find(&module, reader)?;
                let reader = module.name_of(id).to_owned();
                let now = operand_now(&run.dropped, &reader, *operand).ok_or_else(|| {
                    format!(
                        "{} does not read its operand {operand} any more: that read is left out already.",
                        cut(&reader)
                    )
                })?;
                let count = module.operands(id).len();
                let words = drop_read(&mut module, &program.facts, id, now, *operand)?;
                let is_gone = module.operands(id).len() < count;
                run.dropped.push(Dropped { reader, operand: *operand, is_gone });
                words
            }
            Edit::Donate { parameter, index: at, output } => {
                let donor = module
                    .computation(module.entry)
                    .parameters
                    .get(*parameter as usize)
                    .ok_or_else(|| format!("There is no argument {parameter}."))?;
                let place = |i: InstructionId, at: &[u32]| {
                    let shape = module.instruction(i).shape;
                    let sub = module.shapes.find(shape, at)?;
                    module.shapes.subshapes(shape).get(sub as usize).map(|s| s.shape)
                };
                let what = argument(*parameter, at);
                let from = place(*donor, at).ok_or_else(|| format!("There is no {what}."))?;
                let to = place(module.root(module.entry), output)
                    .ok_or_else(|| format!("There is no output {}.", index(output)))?;
                if !module.shapes.is_array(from) || !module.shapes.is_array(to) {
                    return Err(
                        "A donation is of one array to one array; expected the index of one.".to_owned()
                    );
                }
                let is_taken = |a: &hlo::Alias| {
                    a.output.0[..] == output[..]
                        || (a.parameter == *parameter && a.parameter_index.0[..] == at[..])
                };
                if module.input_output_alias.iter().any(is_taken) {
                    return Err(format!(
                        "{what} or output {} is in a donation already; take that back first.",
                        index(output)
                    ));
                }
                let sizes = [from, to].map(|s| program.facts.target.bytes(&module.shapes, s));
                if sizes[0] != sizes[1] {
                    return Err(format!(
                        "{what} has {}, output {} {}; expected the same number.",
                        bytes(sizes[0]),
                        index(output),
                        bytes(sizes[1])
                    ));
                }
                donate(&mut module, *parameter, &index(at), &index(output));
                format!("{what} is donated to output {}", index(output))
            }
            Edit::Undonate { parameter, index: at } => {
                let before = module.input_output_alias.len();
                let place = index(at);
                module.input_output_alias.retain(|a| a.parameter != *parameter || a.parameter_index != place);
                if module.input_output_alias.len() == before {
                    return Err(format!("{} is not donated.", argument(*parameter, at)));
                }
                write_aliases(&mut module);
                let (with, _) = with_copies(&module, &program.facts.target)?;
                module = with;
                format!("{} is not donated", argument(*parameter, at))
            }
            Edit::DropOutput { output } => {
                drop_output(&mut module, *output)
                    .map_err(|why| format!("Output {{{output}}} cannot be left out. {why}"))?;
                format!("output {{{output}}} is not returned")
            }
            Edit::DropCopy { name } => {
                let id = find(&module, name)?;
                if module.instruction(id).opcode != Opcode::Copy {
                    return Err(format!("{} is no copy.", cut(name)));
                }
                leave_out(&mut module, id).ok_or_else(|| {
                    format!(
                        "{} cannot be left out: it changes the layout, or is what its computation returns.",
                        cut(name)
                    )
                })?;
                format!("{} is left out", cut(name))
            }
            Edit::DropCopies => {
                let copies: Vec<InstructionId> = module
                    .instruction_ids()
                    .filter(|i| {
                        module.instruction(*i).opcode == Opcode::Copy
                            && program.facts.clock.time(*i).is_some()
                    })
                    .collect();
                let count = copies.into_iter().filter(|c| leave_out(&mut module, *c).is_some()).count();
                if count == 0 {
                    return Err("There is no copy that could be left out.".to_owned());
                }
                match count {
                    1 => "1 copy is left out".to_owned(),
                    _ => format!("{count} copies are left out"),
                }
            }
            Edit::InsertCopies => {
                let (with, words) = with_copies(&module, &program.facts.target)?;
                module = with;
                words
            }
        };
        // Printed and read again, so that nothing of the old module is left over.
        let module = read_back(&module)?;
        Ok((Some(module), words))
    }
}

fn read_back(module: &Module) -> Result<Module, String> {
    hlo::read_owned(hlo::print(module)).complete().map_err(|d| {
        d.first().map_or_else(|| "The changed module cannot be read back.".to_owned(), ToString::to_string)
    })
}

/// An instruction by its name.
fn find(module: &Module, name: &str) -> Result<InstructionId, String> {
    let wanted = name.trim_start_matches('%');
    let all = || module.instruction_ids().filter(|i| stands(module, *i));
    all()
        .find(|i| module.name_of(*i) == wanted)
        .or_else(|| only(all().filter(|i| is_cut_of(wanted, module.name_of(*i)))))
        .ok_or_else(|| format!("There is no instruction {}.", cut(name)))
}

/// The one that there is.
pub(crate) fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    all.next().filter(|_| all.next().is_none())
}

/// Is it how a very long name is shown, its beginning and then `… (600 characters more)`? An edit that was made from what was
/// shown, and an address that has no room for the whole name, say it like that.
pub(crate) fn is_cut_of(shown: &str, name: &str) -> bool {
    let parts = || {
        let (head, more) = shown.rsplit_once("… (")?;
        Some((head, more.strip_suffix(" characters more)")?.parse::<usize>().ok()?))
    };
    let rest = |head| name.strip_prefix(head).map(|rest: &str| rest.chars().count());
    parts().is_some_and(|(head, more)| rest(head) == Some(more))
}

/// Is it in its computation's order, or was it taken away?
fn stands(module: &Module, id: InstructionId) -> bool {
    position(module, module.instruction(id).computation, id).is_some()
}

/// Writes the aliases into the module's header, from which a printed module is read back.
fn write_aliases(module: &mut Module) {
    let entries: Vec<String> = module
        .input_output_alias
        .iter()
        .map(|a| {
            let kind = if a.kind == AliasKind::Must { "must-alias" } else { "may-alias" };
            format!("{}: ({}, {}, {kind})", a.output, a.parameter, a.parameter_index)
        })
        .collect();
    if entries.is_empty() {
        module.header.retain({
            let texts: Vec<bool> =
                module.header.iter().map(|a| module.str(a.name) != "input_output_alias").collect();
            let mut texts = texts.into_iter();
            move |_| texts.next().unwrap_or(true)
        });
    } else {
        set_header(module, "input_output_alias", &format!("{{ {} }}", entries.join(", ")));
    }
}

/// The module with the copies that it needs, and what that has changed in words. What nobody reads stays: the pass would
/// clear it away, and what that saves would look like the copies' doing.
pub(crate) fn with_copies(module: &Module, target: &Target) -> Result<(Module, String), String> {
    let orders = Orders::guess(module, target);
    let options = copy_insertion::Options { keep_unread: true, ..copy_insertion::Options::of(target) };
    let made =
        copy_insertion::insert_copies(module, &orders, target, options).map_err(|e| e.describe(module))?;
    let stands_for: HashSet<String> = made
        .copies
        .iter()
        .filter(|c| c.stands_as.is_some())
        .filter_map(|c| Some(module.name_of(*c.in_place_of.first()?).to_owned()))
        .collect();
    let with = in_schedule(module, made);
    let words = copies_in_words(module, &with, &stands_for);
    Ok((with, words))
}

/// What copy insertion has put in, made anew and taken away. A copy that stands in for one of the module's has its name,
/// which is in `stands_for`.
fn copies_in_words(before: &Module, after: &Module, stands_for: &HashSet<String>) -> String {
    let standing = |m: &Module| -> HashMap<String, InstructionId> {
        let all = m.computations.iter().flat_map(|c| &c.instructions);
        all.map(|i| (m.name_of(*i).to_owned(), *i)).collect()
    };
    let (had, has) = (standing(before), standing(after));
    let is_copy = |m: &Module, i: InstructionId| m.instruction(i).opcode == Opcode::Copy;
    let source = |m: &Module, i: InstructionId| m.operands(i).first().map(|o| m.name_of(*o).to_owned());
    // The names of one module that are wanted, in its order.
    let named = |m: &Module, wanted: &dyn Fn(&str, InstructionId) -> bool| -> Vec<String> {
        let all = m.computations.iter().flat_map(|c| &c.instructions);
        all.filter(|i| wanted(m.name_of(**i), **i)).map(|i| cut(m.name_of(*i))).collect()
    };
    let copies = |names: &[String]| {
        let noun = if names.len() == 1 { "copy" } else { "copies" };
        format!("{} {noun} ({})", names.len(), list(names, 3))
    };
    let mut parts = Vec::new();
    let put_in = named(after, &|name, i| is_copy(after, i) && !had.contains_key(name));
    if !put_in.is_empty() {
        parts.push(format!("puts in {}", copies(&put_in)));
    }
    let gone = named(before, &|name, i| is_copy(before, i) && !has.contains_key(name));
    if !gone.is_empty() {
        parts.push(format!("takes away {} of the module's that it finds needless", copies(&gone)));
    }
    let renewed = named(after, &|name, i| {
        let old = had.get(name).filter(|_| is_copy(after, i) && stands_for.contains(name));
        old.is_some_and(|old| source(before, *old) != source(after, i))
    });
    if !renewed.is_empty() {
        parts.push(format!("puts {} of the module's anew, to copy something else", copies(&renewed)));
    }
    // Tuples and their elements take no memory worth a word.
    let is_plumbing = |i: InstructionId| {
        matches!(before.instruction(i).opcode, Opcode::Tuple | Opcode::GetTupleElement | Opcode::Bitcast)
    };
    let cleared = named(before, &|name, i| !is_copy(before, i) && !is_plumbing(i) && !has.contains_key(name));
    if !cleared.is_empty() {
        parts.push(format!("clears away what nobody reads then: {}", list(&cleared, 3)));
    }
    if !parts.is_empty() {
        return format!("copy insertion {}", parts.join("; "));
    }
    match named(after, &|_, i| is_copy(after, i)).len() {
        0 => "copy insertion finds no copy to put in".to_owned(),
        1 => "copy insertion finds nothing to change: the copy that is there stays".to_owned(),
        n => format!("copy insertion finds nothing to change: the {n} copies that are there stay"),
    }
}

/// The pass leaves a module without a schedule. Here the one that the module had stays: each instruction keeps its place, a
/// copy that stands in for one of the module's takes that one's place and name, and a new one runs right before the first
/// that waits for it. Where nothing was put in or taken out, the module stays what it was.
fn in_schedule(before: &Module, made: copy_insertion::Outcome) -> Module {
    let mut module = made.module;
    for copy in &made.copies {
        let (Some(stands), Some(old)) = (copy.stands_as, copy.in_place_of.first()) else { continue };
        let name = before.name_of(*old).to_owned();
        if !module.instruction_ids().any(|i| module.name_of(i) == name) {
            module.instructions[stands.index()].name = module.add_text(&name);
        }
    }
    module.name_control_predecessors();
    let place: HashMap<&str, usize> = before
        .computations
        .iter()
        .flat_map(|c| c.instructions.iter().enumerate())
        .map(|(at, i)| (before.name_of(*i), at))
        .collect();
    let of = |module: &Module, i: InstructionId| place.get(module.name_of(i)).copied();
    let reads = |m: &Module| -> HashMap<String, Vec<String>> {
        let names = |i: InstructionId| m.operands(i).iter().map(|o| m.name_of(*o).to_owned()).collect();
        let all = m.computations.iter().flat_map(|c| &c.instructions);
        all.map(|i| (m.name_of(*i).to_owned(), names(*i))).collect()
    };
    let is_same = reads(&module) == reads(before);
    if is_same {
        return before.clone();
    }
    for c in module.computation_ids() {
        let mut wanted = module.computation(c).instructions.clone();
        wanted.sort_by_key(|i| of(&module, *i).unwrap_or(usize::MAX));
        let mut placed: HashSet<InstructionId> = HashSet::new();
        let mut order = Vec::with_capacity(wanted.len());
        for id in wanted {
            let mut stack = vec![(id, false)];
            while let Some((i, is_ready)) = stack.pop() {
                if placed.contains(&i) {
                    continue;
                }
                if is_ready {
                    placed.insert(i);
                    order.push(i);
                    continue;
                }
                stack.push((i, true));
                let waits_for = module.control_predecessors(i).iter().chain(module.operands(i)).rev();
                stack.extend(waits_for.filter(|w| !placed.contains(w)).map(|w| (*w, false)));
            }
        }
        module.computations[c.index()].instructions = order;
    }
    if before.is_scheduled {
        module.is_scheduled = true;
        set_header(&mut module, "is_scheduled", "true");
    }
    module
}

/// Where an instruction may run without coming before what it waits for or behind what waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// The step at which it runs.
    pub now: u32,
    /// The earliest step.
    pub earliest: u32,
    /// The latest step.
    pub latest: u32,
    /// What it waits for last.
    pub behind: Option<InstructionId>,
    /// What waits for it first.
    pub before: Option<InstructionId>,
    instruction: InstructionId,
    /// By place in its computation's order, from the first that it may take on: the step at which it then runs.
    steps: Vec<u32>,
    /// The first place it may take.
    first: usize,
}

/// Where an instruction may run.
pub fn room(program: &Program, id: InstructionId) -> Result<Room, String> {
    let Program { module, facts, .. } = program;
    let name = || cut(module.name_of(id));
    if module.instruction(id).opcode == Opcode::Parameter {
        return Err(format!("{} is a parameter: it is there when its computation begins.", name()));
    }
    let c = module.instruction(id).computation;
    let (Some(now), Some(span)) = (facts.clock.time(id), facts.clock.span(c)) else {
        return Err(format!("{} has no step of its own: it runs inside of another instruction.", name()));
    };
    let all = &module.computation(c).instructions;
    let at = position(module, c, id).ok_or_else(|| format!("{} is not in the schedule.", name()))?;
    let behind = (0..at).rev().find(|n| {
        let other = all[*n];
        module.operands(id).contains(&other) || module.control_predecessors(id).contains(&other)
    });
    let before = (at + 1..all.len()).find(|n| {
        let other = all[*n];
        module.operands(other).contains(&id) || module.control_predecessors(other).contains(&id)
    });
    // What it calls runs right before it, and moves with it.
    let time = |i: &InstructionId| facts.clock.time(*i).map_or(0, |s| s.0);
    let begin = if at == 0 { span.0.0 } else { time(&all[at - 1]) + 1 };
    let length = (now.0 + 1).saturating_sub(begin);
    let others: Vec<InstructionId> = all.iter().copied().filter(|i| *i != id).collect();
    let shifted = |i: &InstructionId| {
        let t = time(i);
        if t > now.0 { t - length } else { t }
    };
    let (first, last) = (behind.map_or(0, |n| n + 1), before.map_or(others.len(), |n| n - 1));
    let steps: Vec<u32> = (first..=last)
        .map(|k| {
            let done = if k == 0 { span.0.0 } else { shifted(&others[k - 1]) + 1 };
            (done + length).saturating_sub(1)
        })
        .collect();
    Ok(Room {
        now: now.0,
        earliest: steps.first().copied().unwrap_or(now.0),
        latest: steps.last().copied().unwrap_or(now.0),
        behind: behind.map(|n| all[n]),
        before: before.map(|n| all[n]),
        instruction: id,
        steps,
        first,
    })
}

impl Room {
    /// The place in the order at which it runs at a step.
    fn place(&self, program: &Program, to: u32) -> Result<usize, String> {
        if let Some(n) = self.steps.iter().position(|s| *s == to) {
            return Ok(self.first + n);
        }
        let module = &program.module;
        if (self.earliest..=self.latest).contains(&to) {
            let near = self.steps.iter().min_by_key(|s| s.abs_diff(to)).copied().unwrap_or(self.now);
            return Err(format!(
                "At step {to} another computation runs, not the one of {}; expected a step like {near}.",
                cut(module.name_of(self.instruction))
            ));
        }
        Err(format!("{} Step {to} is outside of it.", self.words(module)))
    }

    /// The steps at which it can run, those in between that belong to other computations left out.
    pub fn steps(&self) -> impl Iterator<Item = u32> + '_ {
        self.steps.iter().copied()
    }

    /// In a sentence.
    #[must_use]
    pub fn words(&self, module: &Module) -> String {
        let name = |i: InstructionId| cut(module.name_of(i));
        let from = self.behind.map_or_else(String::new, |i| format!(", behind {}", name(i)));
        let to = self.before.map_or_else(String::new, |i| format!(", before {}", name(i)));
        if self.earliest == self.latest {
            return format!("{} can run at step {} only{from}{to}.", name(self.instruction), self.earliest);
        }
        format!(
            "{} can run from step {}{from} to step {}{to}.",
            name(self.instruction),
            self.earliest,
            self.latest
        )
    }
}

/// A read that can be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOf {
    /// Who reads.
    pub reader: InstructionId,
    /// Which operand of it, as the program has them before any edit.
    pub operand: u32,
}

/// Who reads the value that an instruction makes, directly or through a bitcast or an element of a tuple, such that the
/// read can be left out.
#[must_use]
pub fn droppable_reads(program: &Program, value: analysis::ValueId) -> Vec<ReadOf> {
    let module = &program.module;
    let Some(v) = program.facts.find_value(value) else { return Vec::new() };
    let mut out: Vec<ReadOf> = v
        .uses
        .iter()
        .filter(|u| program.facts.clock.time(u.user).is_some())
        .filter(|u| refusal(module, u.user).is_none())
        .filter_map(|u| {
            let operand = operand_before(&program.dropped, module.name_of(u.user), u.operand)?;
            Some(ReadOf { reader: u.user, operand })
        })
        .collect();
    out.sort_by_key(|r| (program.facts.clock.time(r.reader), r.operand));
    out.dedup();
    out
}

/// Why an instruction's reads cannot be left out.
fn refusal(module: &Module, id: InstructionId) -> Option<&'static str> {
    use Opcode as O;
    match module.instruction(id).opcode {
        O::Tuple
        | O::GetTupleElement
        | O::Bitcast
        | O::AddDependency
        | O::OptimizationBarrier
        | O::Domain => {
            Some("it only passes on what it is given; leave out the read of who reads it from there")
        }
        O::While | O::Conditional | O::Call | O::AsyncStart | O::AsyncUpdate | O::AsyncDone => {
            Some("it hands it to the computation that it runs; leave out the read in there")
        }
        O::CopyStart
        | O::CopyDone
        | O::Send
        | O::SendDone
        | O::Recv
        | O::RecvDone
        | O::AllGatherStart
        | O::AllGatherDone
        | O::AllReduceStart
        | O::AllReduceDone
        | O::CollectivePermuteStart
        | O::CollectivePermuteDone => Some("it is one of a pair that starts and ends a transfer"),
        O::Parameter | O::Constant | O::Iota => Some("it reads nothing"),
        _ if module.shapes.is_tuple(module.instruction(id).shape)
            && !matches!(module.instruction(id).opcode, O::Fusion | O::CustomCall) =>
        {
            Some("it gives a result for each of its operands")
        }
        _ => None,
    }
}

/// The instruction without one of its operands, which was number `named` before any edit; what nobody reads then is not
/// computed.
fn drop_read(
    module: &mut Module,
    facts: &Facts,
    id: InstructionId,
    operand: u32,
    named: u32,
) -> Result<String, String> {
    let name = cut(module.name_of(id));
    let mut operands = module.operands(id).to_vec();
    let k = operand as usize;
    let Some(old) = operands.get(k).copied() else {
        return Err(format!(
            "{name} has {} operands, expected a number below that, not {named}.",
            operands.len() + (named - operand) as usize
        ));
    };
    if let Some(why) = refusal(module, id) {
        return Err(format!("{name} is {}: {why}.", module.str(module.instruction(id).opcode_name)));
    }
    let shape = module.instruction(id).shape;
    let opcode = module.instruction(id).opcode;
    let twin = |o: &InstructionId| module.instruction(*o).shape == module.instruction(old).shape && *o != old;
    let stand_in = operands.iter().copied().find(|o| twin(o));
    let is_elementwise = matches!(
        opcode,
        Opcode::Add
            | Opcode::And
            | Opcode::Atan2
            | Opcode::Compare
            | Opcode::Complex
            | Opcode::Divide
            | Opcode::Maximum
            | Opcode::Minimum
            | Opcode::Multiply
            | Opcode::Or
            | Opcode::Power
            | Opcode::Remainder
            | Opcode::Select
            | Opcode::ShiftLeft
            | Opcode::ShiftRightArithmetic
            | Opcode::ShiftRightLogical
            | Opcode::Subtract
            | Opcode::Xor
    );
    if let Some(other) = stand_in.filter(|_| is_elementwise) {
        // The same operation of what is left: what it may write over stays the same.
        operands[k] = other;
        module.set_operands(id, &operands);
    } else if let Some(inner) = fused(module, id).filter(|_| opcode == Opcode::Fusion) {
        let parameter = module.computation(inner).parameters.get(k).copied();
        let parameter = parameter.ok_or_else(|| format!("{name} does not take operand {named}."))?;
        of_zero(module, parameter)?;
        module.computations[inner.index()].parameters.remove(k);
        for (n, p) in module.computation(inner).parameters.clone().into_iter().enumerate() {
            let number = module.add_text(&n.to_string());
            module.instructions[p.index()].payload = number;
        }
        operands.remove(k);
        module.set_operands(id, &operands);
        renumber_aliasing(module, id, operand);
    } else {
        // An operation that gives the same shape and writes where it wrote before, of which no more is known.
        let pairs = facts.in_place.of(id).iter();
        let pair = pairs.filter(|p| p.operand_sub == 0 && p.output_sub == 0).map(|p| p.operand).next();
        operands.remove(k);
        module.set_operands(id, &operands);
        if opcode == Opcode::CustomCall {
            module.remove_attribute(id, "operand_layout_constraints");
            renumber_aliasing(module, id, operand);
        } else {
            let metadata = module.attribute(id, "metadata").map(str::to_owned);
            let names: Vec<String> =
                module.attributes(id).iter().map(|a| module.str(a.name).to_owned()).collect();
            for n in names {
                module.remove_attribute(id, &n);
            }
            module.set_called(id, &[]);
            let text = module.add_text(Opcode::CustomCall.name());
            let instruction = &mut module.instructions[id.index()];
            instruction.opcode_name = text;
            instruction.opcode = Opcode::CustomCall;
            module.set_attribute(id, "custom_call_target", "\"without_one_read\"");
            if let Some(pair) = pair.filter(|p| *p != operand && module.shapes.is_array(shape)) {
                let left = if pair > operand { pair - 1 } else { pair };
                module.set_attribute(id, "output_to_operand_aliasing", &format!("{{{{}}: ({left}, {{}})}}"));
            }
            if let Some(metadata) = metadata {
                module.set_attribute(id, "metadata", &metadata);
            }
        }
    }
    let mut words = format!("{name} does not read {} (operand {named})", cut(module.name_of(old)));
    if module.operands(id).contains(&old) {
        words += ", but still reads it through another operand";
    }
    let gone = remove_unread(module, old);
    if !gone.is_empty() {
        let names: Vec<String> = gone.iter().map(|i| cut(module.name_of(*i))).collect();
        _ = write!(words, "; what nobody else reads is not computed: {}", list(&names, 3));
    }
    Ok(words)
}

/// The computation that a fusion runs, if no one else runs it.
fn fused(module: &Module, id: InstructionId) -> Option<ComputationId> {
    let inner = *module.called(id).first()?;
    let calls = module.instruction_ids().filter(|i| module.called(*i).contains(&inner)).count();
    (calls == 1).then_some(inner)
}

/// Turns the parameter of a fused computation into a broadcast zero, which takes no memory there.
fn of_zero(module: &mut Module, parameter: InstructionId) -> Result<(), String> {
    let shape = module.instruction(parameter).shape;
    let hlo::Shape::Array { element, .. } = *module.shapes.get(shape) else {
        return Err("This operand is a tuple; expected an array.".to_owned());
    };
    let name = element.name();
    let scalar = module.shapes.intern(&format!("{name}[]")).map_err(|e| e.to_string())?;
    let zero = match name {
        "pred" => "false",
        _ if name.starts_with('c') => "(0, 0)",
        _ => "0",
    };
    let c = module.instruction(parameter).computation;
    let own = format!("{}.zero", module.name_of(parameter));
    let constant = module.add_instruction(c, &own, Opcode::Constant, scalar, &[]);
    let zero = module.add_text(zero);
    module.instructions[constant.index()].payload = zero;
    let at = position(module, c, parameter).unwrap_or(0);
    module.computations[c.index()].instructions.insert(at, constant);
    let text = module.add_text(Opcode::Broadcast.name());
    let instruction = &mut module.instructions[parameter.index()];
    instruction.opcode = Opcode::Broadcast;
    instruction.opcode_name = text;
    instruction.payload = hlo::Span::default();
    module.set_operands(parameter, &[constant]);
    let names: Vec<String> =
        module.attributes(parameter).iter().map(|a| module.str(a.name).to_owned()).collect();
    for n in names {
        module.remove_attribute(parameter, &n);
    }
    module.set_attribute(parameter, "dimensions", "{}");
    Ok(())
}

/// `output_to_operand_aliasing={{0}: (1, {}), ...}` after an operand is gone.
fn renumber_aliasing(module: &mut Module, id: InstructionId, gone: u32) {
    const NAME: &str = "output_to_operand_aliasing";
    let Some(text) = module.attribute(id, NAME).map(str::to_owned) else { return };
    let inner = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or("");
    let left: Vec<String> = inner
        .split(')')
        .filter_map(|entry| {
            let (output, rest) = entry.trim_start_matches([',', ' ']).split_once(": (")?;
            let (number, rest) = rest.split_once(',')?;
            let number: u32 = number.trim().parse().ok()?;
            let now = if number > gone { number - 1 } else { number };
            (number != gone).then(|| format!("{output}: ({now},{rest})"))
        })
        .collect();
    if left.is_empty() {
        module.remove_attribute(id, NAME);
    } else {
        module.set_attribute(id, NAME, &format!("{{{}}}", left.join(", ")));
    }
}
