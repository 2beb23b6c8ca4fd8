//! What stands out in an assignment, in sentences, and the numbers that are often misread.

use crate::asked::{Asking, asking, asking_words};
use crate::changes::Advised;
use crate::constants::{Constant, Reader, constants};
use crate::copies::{Copy, CopyKind, copies, written};
use crate::donation::{Donation, Extra, State, donation};
use crate::fit::fits;
use crate::hold::hold;
use crate::limits::{device_words, is_tpu, tpu_alive, tpu_temp};
use crate::origin::Phase;
use crate::padding::padding;
use crate::peak::{Peak, SpacePeak, groups};
use crate::places::largest_place;
use crate::square::growing;
use crate::stacks::{host_transfers, spans, stack};
use crate::study::{Program, Role, Study, space_name};
use analysis::Backend;
use assigner::words::{self, both, bytes, count, grouped, list};
use assigner::{AllocationId, Decision, NewKind};
use hlo::{InstructionId, Opcode};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Something that stands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is, for machines; see `docs/COMMAND_LINE.md`.
    pub name: &'static str,
    /// Bytes that it is about.
    pub bytes: u64,
    /// In a sentence or two.
    pub words: String,
    /// Values that it is about: indices into [`Study::rows`].
    pub rows: Vec<usize>,
    /// Instructions that it is about.
    pub instructions: Vec<InstructionId>,
}

/// The memory space of the host.
const HOST: u32 = 5;

/// Smaller things are not worth a note, unless they are a hundredth of the whole.
const WORTH: u64 = 64 << 10;

/// What stands out, the most bytes first.
#[must_use]
pub fn notes(study: &Study, peak: &Peak) -> Vec<Note> {
    let mut out = Vec::new();
    let least = (peak.total / 100).min(WORTH);
    for space in &peak.spaces {
        alike(study, space, least, &mut out);
        squares(study, space, least, &mut out);
        kept(study, space, least, &mut out);
        collective_memory(study, space, &mut out);
    }
    let table = donation(study);
    let all = copies(study);
    if let Some(table) = &table {
        of_outputs(study, table, &mut out);
        of_donation(study, table, &mut out);
    }
    refused(study, least, &mut out);
    of_copies(study, &all, least, &mut out);
    padded(study, &mut out);
    lost(study, peak, &mut out);
    reserved(study, peak, &mut out);
    devices(study, peak, &mut out);
    of_constants(study, least, &mut out);
    of_program(study, peak, &all, &mut out);
    sort(&mut out);
    let mut out = fold(out);
    of_places(study, peak, least, &mut out);
    out
}

/// Where most of each memory space comes from, the largest space first, before everything else: that is what is asked first.
fn of_places(study: &Study, peak: &Peak, least: u64, out: &mut Vec<Note>) {
    let mut spaces: Vec<&SpacePeak> = peak.spaces.iter().filter(|s| s.live > 0 && s.live >= least).collect();
    spaces.sort_by_key(|s| (std::cmp::Reverse(s.live), s.color));
    let notes: Vec<Note> = spaces
        .iter()
        .filter_map(|space| {
            let (words, place) = largest_place(study, space)?;
            let rows = place.slots.iter().map(|s| space.slots[*s].rows[0]).collect();
            Some(Note { name: "place", bytes: place.bytes, words, rows, instructions: Vec::new() })
        })
        .collect();
    out.splice(0..0, notes);
}

fn sort(notes: &mut [Note]) {
    notes.sort_by(|a, b| {
        b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(b.name)).then_with(|| a.words.cmp(&b.words))
    });
}

/// Notes of one kind that are told in full; the rest are added up.
const MOST_OF_A_KIND: usize = 4;

/// Adds up what is said too often, right behind what it is more of. The notes are sorted.
fn fold(notes: Vec<Note>) -> Vec<Note> {
    let mut out = Vec::new();
    let mut rest: BTreeMap<&'static str, Vec<Note>> = BTreeMap::new();
    let mut told: BTreeMap<&'static str, usize> = BTreeMap::new();
    for note in notes {
        let count = told.entry(note.name).or_default();
        *count += 1;
        if *count <= MOST_OF_A_KIND {
            out.push(note);
        } else {
            rest.entry(note.name).or_default().push(note);
        }
    }
    for (name, notes) in rest {
        let behind = out.iter().rposition(|n| n.name == name).map_or(out.len(), |at| at + 1);
        if notes.len() == 1 {
            out.splice(behind..behind, notes);
            continue;
        }
        let bytes = notes.iter().fold(0, |n: u64, note| n.saturating_add(note.bytes));
        let more = Note {
            name,
            bytes,
            words: format!("And {} more such as the one before, {} in all.", notes.len(), both(bytes)),
            rows: notes.iter().flat_map(|n| n.rows.clone()).collect(),
            instructions: notes.iter().flat_map(|n| n.instructions.clone()).collect(),
        };
        out.insert(behind, more);
    }
    out
}

fn name(study: &Study, id: InstructionId) -> String {
    study.program.as_ref().map(|p| p.module.name_of(id).to_owned()).unwrap_or_default()
}

fn label(study: &Study, row: usize) -> String {
    study.rows[row].name.to_string()
}

/// Many values that are alike and alive together, and whether they are made long before they are read.
fn alike(study: &Study, space: &SpacePeak, least: u64, out: &mut Vec<Note>) {
    for group in groups(study, &space.slots) {
        if group.slots.len() < 3 || group.bytes < least || group.bytes.saturating_mul(20) < space.live {
            continue;
        }
        let rows: Vec<usize> = group.slots.iter().map(|s| space.slots[*s].rows[0]).collect();
        let uses: Vec<(u32, u32)> = rows
            .iter()
            .filter_map(|r| {
                let h = hold(study, *r)?;
                Some((h.range.0, h.first_use.map_or(h.range.1, |u| u.1)))
            })
            .collect();
        let mut words = format!(
            "{} values of {} from {}{} are alive together at step {}: {}.",
            group.slots.len(),
            short(&group.shape),
            group.operation,
            if group.scope.is_empty() { String::new() } else { format!(" in {}", group.scope) },
            space.step,
            both(group.bytes)
        );
        if group.repetitions > 2 {
            _ = write!(words, " They are {} repetitions of one scope.", group.repetitions);
        }
        let waiting = uses.iter().filter(|u| u.1 > space.step).count();
        let is_waiting = waiting * 2 >= rows.len();
        words += &held_by(study, &rows, space.step, is_waiting);
        if let (Some(first), true) = (uses.iter().min(), is_waiting) {
            _ = write!(
                words,
                " {} wait for their first reader then; the earliest is written at step {} and first read at step {}.",
                grouped(waiting as u64),
                first.0,
                first.1
            );
        }
        let name = if group.repetitions > 2 { "repetitions" } else { "alike" };
        out.push(Note { name, bytes: group.bytes, words, rows, instructions: Vec::new() });
    }
}

/// Who reads values last that are alive together: what keeps them. Of those that still wait for their first reader only where
/// all wait for the same one. Empty if it is not known.
fn held_by(study: &Study, rows: &[usize], step: u32, is_waiting: bool) -> String {
    let Some(program) = &study.program else { return String::new() };
    let mut readers: BTreeMap<u32, BTreeSet<InstructionId>> = BTreeMap::new();
    let mut held = 0;
    for h in rows.iter().filter_map(|r| hold(study, *r)).filter(|h| h.range.1 > step) {
        let at = readers.entry(h.range.1).or_default();
        let before = at.len();
        at.extend(h.last_readers);
        held += usize::from(at.len() > before || !at.is_empty());
    }
    let all: BTreeSet<InstructionId> = readers.values().flatten().copied().collect();
    let (Some((from, _)), Some((to, _))) = (readers.first_key_value(), readers.last_key_value()) else {
        return String::new();
    };
    // Where few are held beyond this step nothing is explained.
    if all.is_empty() || held * 2 < rows.len() {
        return String::new();
    }
    let name = |i: &InstructionId| program.module.name_of(*i).to_owned();
    match all.len() {
        1 => format!(
            " {} reads all {} of them at step {to}, so no other order of the program frees one of them sooner.",
            all.iter().map(name).collect::<String>(),
            grouped(held as u64)
        ),
        _ if is_waiting => String::new(),
        _ => {
            let names: Vec<String> = all.iter().map(name).collect();
            format!(
                " {} are kept for readers behind it, steps {from} to {to}: {}.",
                grouped(held as u64),
                list(&names, 3)
            )
        }
    }
}

/// A shape without its layouts, of a tuple those of its parts: `(f32[64]{0}, s32[])` becomes `(f32[64], s32[])`.
pub(crate) fn short(shape: &str) -> String {
    let mut depth = 0u32;
    let mut out = String::with_capacity(shape.len());
    for c in shape.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

/// What collectives keep in a memory space of its own.
fn collective_memory(study: &Study, space: &SpacePeak, out: &mut Vec<Note>) {
    let Some(words) = asking_words(study, space.color) else { return };
    let asking = asking(study, space.color);
    let mut words = format!(
        "{words} It takes {} in all, so that is what its pool has to hold; {} of that are temporaries.",
        both(space.allocated),
        bytes(space.temp)
    );
    words += &beside_collectives(study, space.color, &asking);
    out.push(Note {
        name: "collective-memory",
        bytes: space.allocated,
        words,
        rows: asking.iter().flat_map(|a| a.rows.clone()).collect::<BTreeSet<_>>().into_iter().collect(),
        instructions: asking.iter().map(|a| a.collective).collect(),
    });
}

/// Values that stand in a memory space for collectives though none reads or writes them, in a sentence behind another one;
/// empty if there are none.
fn beside_collectives(study: &Study, color: u32, asking: &[Asking]) -> String {
    let asked: BTreeSet<usize> = asking.iter().flat_map(|a| a.rows.iter().copied()).collect();
    let of_space = |i: &usize| study.slab(&study.rows[*i]).color == color && !study.rows[*i].is_tuple;
    let all: Vec<usize> = (0..study.rows.len()).filter(of_space).collect();
    // Each byte once: what stands in a collective's own place is not beside it.
    let covered = |rows: &mut dyn Iterator<Item = usize>| -> u64 {
        let mut places: Vec<(usize, u64, u64)> = rows
            .map(|i| &study.rows[i])
            .map(|r| (r.slab, r.offset, r.offset.saturating_add(r.size)))
            .collect();
        places.sort_unstable();
        let (mut sum, mut slab, mut end) = (0u64, usize::MAX, 0u64);
        for (at, from, to) in places {
            if at != slab {
                (slab, end) = (at, 0);
            }
            sum = sum.saturating_add(to.saturating_sub(from.max(end)));
            end = end.max(to);
        }
        sum
    };
    let rest = covered(&mut all.iter().copied()).saturating_sub(covered(&mut asked.iter().copied()));
    if rest == 0 {
        return String::new();
    }
    let mut others: Vec<usize> = all.into_iter().filter(|i| !asked.contains(i)).collect();
    others.sort_by_key(|i| (std::cmp::Reverse(study.rows[*i].size), *i));
    let names: Vec<String> = others.iter().map(|i| study.rows[*i].name.to_string()).collect();
    format!(" No collective reads or writes {} of it: that is for {}.", both(rest), list(&names, 3))
}

/// What grows with the square of one dimension.
fn squares(study: &Study, space: &SpacePeak, least: u64, out: &mut Vec<Note>) {
    for g in growing(study, space) {
        if g.bytes < least || g.bytes.saturating_mul(20) < space.live {
            continue;
        }
        let d = g.dimension;
        let one = g.rows.len() == 1;
        let words = format!(
            "{} at the peak of memory space {} {} {} ({}): {} of {}. If they are one quantity, such as the length of a sequence in attention scores, {} with {}: twice the length takes {} times the bytes. That is a guess from shapes alone.",
            count(g.rows.len() as u64, "value", "values"),
            space_name(study, space.color),
            if one { "has" } else { "have" },
            d.words(),
            list(&g.shapes, 3),
            both(g.bytes),
            both(space.live),
            if one { "it grows" } else { "they grow" },
            d.power(),
            1u64.checked_shl(d.times).unwrap_or(u64::MAX)
        );
        out.push(Note { name: "square", bytes: g.bytes, words, rows: g.rows, instructions: Vec::new() });
    }
}

/// Stacks, and what is forward, recomputed and backward.
fn kept(study: &Study, space: &SpacePeak, least: u64, out: &mut Vec<Note>) {
    let mut by_phase = [0u64; 3];
    let mut merged = 0u64;
    for slot in &space.slots {
        let row = slot.rows[0];
        let phase = study.rows[row].origin.phase;
        match phase {
            Phase::Forward => by_phase[0] = by_phase[0].saturating_add(slot.size),
            // What the forward pass reads as well is the original, whatever it is called.
            Phase::Recomputed if slot.rows.iter().any(|r| is_read_forward(study, *r)) => {
                merged = merged.saturating_add(slot.size);
                by_phase[0] = by_phase[0].saturating_add(slot.size);
            }
            Phase::Recomputed => by_phase[1] = by_phase[1].saturating_add(slot.size),
            Phase::Backward => by_phase[2] = by_phase[2].saturating_add(slot.size),
            Phase::Unmarked => {}
        }
        if slot.size < least {
            continue;
        }
        if let Some(s) = slot.rows.iter().find_map(|r| stack(study, *r)) {
            let what = match study
                .program
                .as_ref()
                .map(|p| crate::origin::origin(&p.module, s.writer, &p.frames).phase)
            {
                Some(Phase::Backward) => "a stacked gradient of a backward loop",
                Some(Phase::Recomputed) => "a stack of recomputed values",
                Some(Phase::Forward) => "a stacked residual of a forward loop",
                _ => "a stack that a loop fills",
            };
            let at = s.at.map(|l| format!(" in {}", name(study, l))).unwrap_or_default();
            let mut words = format!(
                "{} is {what}: {} × {} of {}, {} in all; {}{at} writes one element each time.",
                label(study, row),
                s.length,
                s.element,
                bytes(s.element_bytes),
                both(slot.size),
                name(study, s.writer)
            );
            if space.color == HOST {
                words += " It stands in the host's memory.";
            }
            out.push(Note {
                name: "stack",
                bytes: slot.size,
                words,
                rows: slot.rows.clone(),
                instructions: vec![s.writer],
            });
        }
    }
    // Where they are much of it, what would take them away.
    let forward = stacks_at(study, space).filter(|s| study.rows[s.rows[0]].origin.phase == Phase::Forward);
    let (rows, sizes): (Vec<usize>, Vec<u64>) = forward.map(|s| (s.rows[0], s.size)).unzip();
    let stacked = crate::peak::sum(sizes.into_iter());
    if stacked > least && stacked.saturating_mul(3) >= space.live {
        let words = stacks_words(stacked).trim().to_owned();
        out.push(Note { name: "stacks", bytes: stacked, words, rows, instructions: Vec::new() });
    }
    if merged > least {
        out.push(Note {
            name: "recomputation-merged",
            bytes: merged,
            words: format!(
                "Of what is marked as recomputed, {} at the peak are read by the forward pass as well: the compiler has made one of the recomputation and the original, and keeps that until the backward pass. Checkpointing saves nothing there.",
                both(merged)
            ),
            rows: Vec::new(),
            instructions: Vec::new(),
        });
    }
    let [forward, recomputed, backward] = by_phase;
    if recomputed > least {
        let words = format!(
            "At the peak {} are forward values, {} are recomputed ones, and {} are of the backward pass: recomputing helps only where the one is freed before the other is made.",
            bytes(forward),
            bytes(recomputed),
            bytes(backward)
        );
        out.push(Note {
            name: "recomputed",
            bytes: recomputed,
            words,
            rows: Vec::new(),
            instructions: Vec::new(),
        });
    }
}

/// Does an instruction of the forward pass read the value?
fn is_read_forward(study: &Study, row: usize) -> bool {
    let Some(Program { module, facts, frames, .. }) = &study.program else { return false };
    let Some(value) = study.rows[row].value else { return false };
    facts
        .value(value)
        .uses
        .iter()
        .any(|u| crate::origin::origin(module, u.user, frames).phase == Phase::Forward)
}

fn of_outputs(study: &Study, table: &Donation, out: &mut Vec<Note>) {
    for o in &table.outputs {
        let Some((parameter, copy)) = o.copy_of else { continue };
        let argument = table.arguments.iter().find(|a| a.parameter == parameter);
        let what = argument.map_or_else(String::new, |a| a.name.clone());
        let is_taken = argument.is_some_and(|a| matches!(a.state, State::Taken { .. }));
        let advice = if is_taken {
            " Another output takes the argument's memory."
        } else {
            " If the argument were donated, it would be the output itself; if the caller has it anyway, it need not be returned."
        };
        out.push(Note {
            name: "output-copies-argument",
            bytes: o.bytes,
            words: format!(
                "Output {} is a plain copy of argument {parameter} ({what}), made by {}: {}.{advice}",
                o.index,
                name(study, copy),
                both(o.bytes)
            ),
            rows: Vec::new(),
            instructions: vec![copy],
        });
    }
}

fn of_donation(study: &Study, table: &Donation, out: &mut Vec<Note>) {
    let mut saved_in_others: Vec<(InstructionId, u32, u32, u64)> = Vec::new();
    for a in &table.arguments {
        if let State::NotTaken(_) = a.state {
            out.push(Note {
                name: "donation-not-used",
                bytes: a.bytes,
                words: format!(
                    "Argument {}{} ({}) was offered ({}), and no output took it.",
                    a.parameter,
                    index_words(&a.index),
                    a.name,
                    both(a.bytes)
                ),
                rows: Vec::new(),
                instructions: Vec::new(),
            });
        }
        for e in &a.extras {
            match e {
                Extra::CopiedAtTheEnd { copy, from, bytes: n } => out.push(Note {
                    name: "work-space-in-spite-of-donation",
                    bytes: *n,
                    words: format!(
                        "Argument {} ({}) is taken by an output, yet the output is computed in {} of work space ({}) and copied by {} in the end: the donation saves the output, not the work space.",
                        a.parameter,
                        a.name,
                        both(*n),
                        label(study, *from),
                        name(study, *copy)
                    ),
                    rows: vec![*from],
                    instructions: vec![*copy],
                }),
                // That is a note of copies.
                Extra::Otherwise { .. } => {}
                Extra::Saved { copy, reader, bytes: n, inside } => {
                    if let Some(other) = inside.filter(|o| *o != a.parameter) {
                        saved_in_others.push((*copy, a.parameter, other, *n));
                    }
                    let reader = reader.map(|r| format!(" {} reads it last.", name(study, r))).unwrap_or_default();
                    out.push(Note {
                        name: "argument-saved",
                        bytes: *n,
                        words: format!(
                            "Argument {} ({}) is donated and written over while it is still wanted, so {} saves it first: {}.{reader}",
                            a.parameter,
                            a.name,
                            name(study, *copy),
                            both(*n)
                        ),
                        rows: Vec::new(),
                        instructions: vec![*copy],
                    });
                }
            }
        }
    }
    if !saved_in_others.is_empty() {
        let names: Vec<String> = saved_in_others
            .iter()
            .map(|(copy, of, inside, _)| {
                format!("{} (of argument {of}, in that of argument {inside})", name(study, *copy))
            })
            .collect();
        out.push(Note {
            name: "copy-in-anothers-memory",
            bytes: saved_in_others.iter().fold(0, |n: u64, c| n.saturating_add(c.3)),
            words: format!(
                "Copies of arguments stand in the donated memory of other arguments, which is free by then: {}.",
                list(&names, 6)
            ),
            rows: Vec::new(),
            instructions: saved_in_others.iter().map(|c| c.0).collect(),
        });
    }
    if table.could_save > 0 {
        let fitting: Vec<String> = table
            .arguments
            .iter()
            .filter(|a| matches!(&a.state, State::NotOffered(o) if !o.is_empty()))
            .map(|a| format!("{}{} ({})", a.parameter, index_words(&a.index), a.name))
            .collect();
        if !fitting.is_empty() {
            out.push(Note {
                name: "could-donate",
                bytes: table.could_save,
                words: format!(
                    "Outputs of {} could stand in the memory of arguments, if the caller gives these up: argument {}. That is by size alone; whether a value would be lost, a trial says.",
                    both(table.could_save),
                    list(&fitting, 6)
                ),
                rows: Vec::new(),
                instructions: Vec::new(),
            });
        }
    }
}

/// Work space that a donated argument of as many bytes was refused to: the program takes the memory twice.
fn refused(study: &Study, least: u64, out: &mut Vec<Note>) {
    let (Some(program), Some((_, decisions))) = (&study.program, &study.ours) else { return };
    let Program { module, facts, .. } = program;
    let rows_of = |buffer| facts.buffer(buffer).values.iter().filter_map(|v| study.row_of(*v));
    let mut donated: BTreeMap<AllocationId, usize> = BTreeMap::new();
    let mut told: BTreeSet<usize> = BTreeSet::new();
    for d in decisions {
        match d {
            Decision::New { kind: NewKind::Parameter, allocation, buffer } => {
                let is_donated = |row: &usize| {
                    let slab = study.slab(&study.rows[*row]);
                    slab.role == Role::Argument && slab.maybe_live_out
                };
                donated.extend(rows_of(buffer).find(is_donated).map(|row| (allocation, row)));
            }
            Decision::Refuse { buffer, allocation, reason } => {
                let Some(argument) = donated.get(&allocation).map(|row| &study.rows[*row]) else { continue };
                let is_twice = |row: &usize| {
                    let row = &study.rows[*row];
                    study.slab(row).role == Role::Temp && row.size == argument.size && row.size >= least
                };
                let Some(row) = rows_of(buffer).find(is_twice).filter(|row| told.insert(*row)) else {
                    continue;
                };
                let number = study.slab(argument).parameter.as_ref().map_or(0, |p| p.0);
                out.push(Note {
                    name: "hand-over-refused",
                    bytes: argument.size,
                    words: format!(
                        "{} takes {} of work space, as much as the donated argument {number} ({}) has; the memory of that was tried and refused: {}.",
                        label(study, row),
                        both(argument.size),
                        argument.name,
                        words::refusal(module, facts, &reason)
                    ),
                    rows: vec![row],
                    instructions: study.rows[row].instruction.into_iter().collect(),
                });
            }
            _ => {}
        }
    }
}

fn index_words(index: &hlo::ShapeIndex) -> String {
    if index.is_root() { String::new() } else { index.to_string() }
}

fn of_copies(study: &Study, all: &[Copy], least: u64, out: &mut Vec<Note>) {
    let widened: Vec<&Copy> =
        all.iter().filter(|c| c.kind == CopyKind::Widening && c.bytes >= least).collect();
    if !widened.is_empty() {
        let arguments: BTreeSet<u32> = widened.iter().filter_map(|c| c.argument).collect();
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let ranges: Vec<(u32, u32)> = widened.iter().filter_map(|c| study.rows[c.row?].range).collect();
        let together = ranges
            .iter()
            .map(|r| ranges.iter().filter(|o| o.0 <= r.0 && r.0 <= o.1).count())
            .max()
            .unwrap_or(0);
        let sum = widened.iter().fold(0, |n: u64, c| n.saturating_add(c.bytes));
        let mut words = format!(
            "{} of argument {}: {} in all.",
            count(widened.len() as u64, "widened copy", "widened copies"),
            list(&arguments, 8),
            both(sum)
        );
        if together > 1 {
            _ = write!(
                words,
                " {together} of them are alive together, made before the first is read; made one by one, {} would do.",
                both(widened.iter().map(|c| c.bytes).max().unwrap_or(0))
            );
        }
        out.push(Note {
            name: "widened",
            bytes: sum,
            words,
            rows: widened.iter().filter_map(|c| c.row).collect(),
            instructions: widened.iter().map(|c| c.instruction).collect(),
        });
    }
    for c in all.iter().filter(|c| c.kind == CopyKind::Narrowing && c.bytes >= least) {
        let held = c.row.and_then(|row| hold(study, row));
        let reader = held.as_ref().and_then(|h| h.last_readers.first()).map(|r| name(study, *r));
        let held = match held.as_ref().map(|h| h.range).zip(reader) {
            Some(((from, to), reader)) => {
                format!(" It is there from step {from} to step {to}, where {reader} reads it last.")
            }
            None => String::new(),
        };
        out.push(Note {
            name: "narrowed",
            bytes: c.bytes,
            words: format!(
                "{} is argument {} ({}) as a whole with narrower elements: {}.{held} Handed over so, or converted where it is read, a part at a time, the argument would need no such copy.",
                name(study, c.instruction),
                c.argument.unwrap_or(0),
                name(study, c.of),
                both(c.bytes)
            ),
            rows: c.row.into_iter().collect(),
            instructions: vec![c.instruction],
        });
    }
    for c in
        all.iter().filter(|c| matches!(c.kind, CopyKind::Relayout | CopyKind::Retile) && c.bytes >= least)
    {
        let of = match c.argument {
            Some(n) => format!("argument {n} ({})", name(study, c.of)),
            None => name(study, c.of),
        };
        let row = c.row.map(|r| &study.rows[r]);
        let size = row.map_or(c.bytes, |r| r.size);
        let data = row
            .and_then(|r| r.unpadded)
            .filter(|u| *u > 0 && *u < size)
            .map(|u| format!(" It takes {:.1} times its {} of data.", size as f64 / u as f64, both(u)));
        out.push(Note {
            name: if c.kind == CopyKind::Retile { "retiled" } else { "relayout" },
            bytes: size,
            words: format!(
                "{} is {of} in {}: {}{}.{}",
                name(study, c.instruction),
                if c.kind == CopyKind::Retile { "other tiles" } else { "another order of dimensions" },
                row.map(|r| format!("{}, ", r.shape)).unwrap_or_default(),
                both(size),
                data.unwrap_or_default()
            ),
            rows: c.row.into_iter().collect(),
            instructions: vec![c.instruction],
        });
    }
    let plain: Vec<&Copy> = all.iter().filter(|c| c.kind == CopyKind::Plain).collect();
    let once = plain.iter().fold(0, |n: u64, c| n.saturating_add(c.bytes));
    let moved = {
        let plain: Vec<Copy> = plain.iter().map(|c| (*c).clone()).collect();
        written(study, &plain).bytes
    };
    if once >= least && !plain.is_empty() {
        let large: Vec<String> = plain
            .iter()
            .filter(|c| c.bytes >= least)
            .map(|c| format!("{} ({})", name(study, c.instruction), bytes(c.bytes)))
            .collect();
        let mut words = format!(
            "{} {}",
            count(plain.len() as u64, "plain copy writes", "plain copies write"),
            both(once)
        );
        if moved != once {
            _ = write!(
                words,
                ", {} in a run, with its loops and of branches the one that writes most",
                both(moved)
            );
        }
        _ = write!(words, "; those that count: {}.", list(&large, 6));
        out.push(Note {
            name: "copies",
            bytes: once,
            words,
            rows: plain.iter().filter_map(|c| c.row).collect(),
            instructions: plain.iter().map(|c| c.instruction).collect(),
        });
    }
}

fn padded(study: &Study, out: &mut Vec<Note>) {
    if !is_tpu(study) {
        return;
    }
    let all = padding(study);
    let lost = all.padded.saturating_sub(all.unpadded);
    for p in all.values.iter().take(3).filter(|p| p.factor >= 1.5 && p.padded > WORTH) {
        let row = &study.rows[p.row];
        let minor = p.minor.map(|(d, n)| format!(", dimension {d} of {n} is minor")).unwrap_or_default();
        let best = p.best.as_ref().map(|(order, n)| {
            let order: Vec<String> = order.iter().map(ToString::to_string).collect();
            format!(" In the order {{{}}} it would take {}.", order.join(","), both(*n))
        });
        out.push(Note {
            name: "padding",
            bytes: p.padded - p.unpadded,
            words: format!(
                "{} takes {} for {} of data, {:.1} times as much: tiles T{}{minor}.{}",
                row.name,
                both(p.padded),
                both(p.unpadded),
                p.factor,
                p.tiling,
                best.unwrap_or_default()
            ),
            rows: vec![p.row],
            instructions: row.instruction.into_iter().collect(),
        });
    }
    if lost > WORTH && all.unpadded > 0 {
        out.push(Note {
            name: "padding-in-all",
            bytes: lost,
            words: format!(
                "All values together take {} for {} of data, counted one by one: {} are padding.",
                both(all.padded),
                both(all.unpadded),
                both(lost)
            ),
            rows: Vec::new(),
            instructions: Vec::new(),
        });
    }
}

/// What small values of the TPU's main memory lie apart.
const TPU_STRIDE: u64 = 16 << 10;

fn lost(study: &Study, peak: &Peak, out: &mut Vec<Note>) {
    for f in fits(study, peak) {
        // Small values of the TPU lie 16 KiB apart: a nearly empty little heap is no loss.
        let is_small = |r: &&crate::study::Row| {
            r.size < TPU_STRIDE && study.slab(r).role == Role::Temp && study.slab(r).color == f.color
        };
        let (least, apart) = if is_tpu(study) {
            (1 << 20, (study.rows.iter().filter(is_small).count() as u64).saturating_mul(TPU_STRIDE))
        } else {
            (WORTH, 0)
        };
        if f.lost.saturating_sub(apart).saturating_mul(50) < f.temp || f.temp < least {
            continue;
        }
        out.push(Note {
            name: "packing-loss",
            bytes: f.lost,
            words: format!(
                "The temporaries of memory space {} take {}, though no more than {} are alive at any step: {} are lost to the packing and to alignment.",
                space_name(study, f.color),
                both(f.temp),
                both(f.least_temp),
                both(f.lost)
            ),
            rows: Vec::new(),
            instructions: Vec::new(),
        });
    }
}

/// What kernels of the TPU reserve for themselves.
fn reserved(study: &Study, peak: &Peak, out: &mut Vec<Note>) {
    for f in fits(study, peak).into_iter().filter(|f| f.reserved > 0) {
        let mut kernels: Vec<(u64, InstructionId)> = Vec::new();
        if let Some(Program { module, .. }) = &study.program {
            let size = |i: InstructionId| scoped(module.attribute(i, "backend_config")?, f.color);
            kernels.extend(module.instruction_ids().filter_map(|i| Some((size(i)?, i))));
        }
        kernels.sort_by_key(|(size, i)| (std::cmp::Reverse(*size), *i));
        // Those that are content with less find room in it.
        let most = kernels.first().map_or(0, |k| k.0);
        kernels.retain(|k| k.0 == most);
        let names: Vec<String> =
            kernels.iter().map(|(size, i)| format!("{} ({})", name(study, *i), bytes(*size))).collect();
        let who = if names.is_empty() {
            String::new()
        } else {
            format!(" What reserves most of it: {}.", list(&names, 3))
        };
        out.push(Note {
            name: "reserved",
            bytes: f.reserved,
            words: format!(
                "{} of memory space {} hold no value: kernels reserve them for themselves while they run.{who}",
                both(f.reserved),
                space_name(study, f.color)
            ),
            rows: Vec::new(),
            instructions: kernels.into_iter().map(|(_, i)| i).collect(),
        });
    }
}

/// What an instruction reserves in a memory space: `"scoped_memory_configs":[{"memory_space":"1","offset":"0","size":"16777216"}]`.
fn scoped(config: &str, color: u32) -> Option<u64> {
    let (_, rest) = config.split_once("\"scoped_memory_configs\":[{")?;
    let rest = rest.split(']').next()?;
    let of_space = rest.split('{').find(|c| c.contains(&format!("\"memory_space\":\"{color}\"")))?;
    let (_, size) = of_space.split_once("\"size\":\"")?;
    size.split('"').next()?.parse().ok().filter(|n| *n > 0)
}

/// Devices of the TPU that have too little memory.
fn devices(study: &Study, peak: &Peak, out: &mut Vec<Note>) {
    if !is_tpu(study) {
        return;
    }
    // How much of the fast memory is taken is up to the compiler, which fills what the generation it compiles for has.
    for f in fits(study, peak).into_iter().filter(|f| f.color == 0) {
        let Some(words) = device_words(&f) else { continue };
        let bytes = f.fixed.saturating_add(f.temp);
        out.push(Note { name: "device-limits", bytes, words, rows: Vec::new(), instructions: Vec::new() });
    }
}

fn of_constants(study: &Study, least: u64, out: &mut Vec<Note>) {
    let found = constants(study);
    let all: Vec<&Constant> = found.constants.iter().filter(|c| c.bytes >= least.max(4096)).collect();
    if !all.is_empty() {
        let names: Vec<String> = all
            .iter()
            .map(|c| {
                let row = &study.rows[c.row];
                format!(
                    "{} {} ({}, read by {})",
                    row.name,
                    short(&row.shape),
                    bytes(c.bytes),
                    Reader::list(study, &c.readers)
                )
            })
            .collect();
        let twice = found.alike.iter().find(|a| a.is_certain && a.saves >= least.max(4096));
        let twice = twice.map_or_else(String::new, |a| {
            format!(" {} of them hold the same: {} could be saved.", a.constants.len(), both(a.saves))
        });
        out.push(Note {
            name: "constants",
            bytes: crate::peak::sum(all.iter().map(|c| c.bytes)),
            words: format!("Constants are part of the executable: {}. An array that the function closes over becomes one; passed as an argument it does not.{twice}", list(&names, 6)),
            rows: all.iter().map(|c| c.row).collect(),
            instructions: Vec::new(),
        });
    }
    let sum = crate::peak::sum(found.captured.iter().map(|c| c.bytes));
    if sum >= least.max(4096) {
        out.push(Note {
            name: "captured-arguments",
            bytes: sum,
            words: found.captured_words(),
            rows: Vec::new(),
            instructions: found.captured.iter().map(|c| c.instruction).collect(),
        });
    }
}

/// Targets of custom calls that the compilers write for themselves: they mark something, or name a buffer, and call no library.
const MARKERS: [&str; 14] = [
    "AllocateBuffer",
    "AnnotateDevicePlacement",
    "AssumeGatherIndicesInBound",
    "ConcatBitcast",
    "CreateBuffer",
    "LayoutConstraint",
    "MoveToDevice",
    "MoveToHost",
    "Pin",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "Sharding",
    "SliceToDynamic",
    "Unpin",
];

fn of_program(study: &Study, peak: &Peak, all: &[Copy], out: &mut Vec<Note>) {
    let Some(Program { module, facts, .. }) = &study.program else { return };
    let mut add = |name, bytes, words, instructions| {
        out.push(Note { name, bytes, words, rows: Vec::new(), instructions });
    };
    let remat: Vec<InstructionId> = module
        .instruction_ids()
        .filter(|i| {
            let c = module.instruction(*i).computation;
            module.name_of(*i).contains(".remat") && facts.graph.context(c) == analysis::Context::ControlFlow
        })
        .collect();
    let is_short = !remat.is_empty();
    if is_short {
        let words = format!(
            "The compiler itself recomputes {}, so it was short of memory already.",
            count(remat.len() as u64, "value", "values")
        );
        add("compiler-rematerialized", 0, words, remat);
    }
    let target = |i: InstructionId| module.attribute(i, "custom_call_target").map(|t| t.trim_matches('"'));
    let calls: Vec<InstructionId> = module
        .instruction_ids()
        .filter(|i| module.instruction(*i).opcode == Opcode::CustomCall)
        .filter(|i| !target(*i).is_some_and(|t| MARKERS.contains(&t)))
        .collect();
    if !calls.is_empty() {
        let targets: BTreeSet<&str> = calls.iter().filter_map(|i| target(*i)).collect();
        let targets: Vec<String> = targets.into_iter().map(str::to_owned).collect();
        let words = format!(
            "{} ({}): what is allocated inside is in no dump; the only work space that shows is what stands in the results.",
            count(calls.len() as u64, "library call", "library calls"),
            list(&targets, 4)
        );
        add("library-calls", 0, words, calls);
    }
    let has_barrier =
        module.instruction_ids().any(|i| module.instruction(i).opcode == Opcode::OptimizationBarrier);
    let plain = all.iter().any(|c| c.kind == CopyKind::Plain && c.bytes >= WORTH);
    if study.backend == Some(Backend::Cpu) && !has_barrier && plain {
        let words = "There is no optimization barrier in this module. The CPU compiler takes barriers out before it copies and schedules: one that the program has is not honoured here.".to_owned();
        add("no-barriers", 0, words, Vec::new());
    }
    // Nobody offloads where there is memory enough: what is recomputed or kept for the backward pass says that there is not.
    let is_kept = peak.spaces.iter().flat_map(|s| &s.slots).any(|s| {
        let row = s.rows[0];
        study.rows[row].origin.phase == Phase::Recomputed || stack(study, row).is_some()
    });
    if (is_short || is_kept)
        && matches!(study.backend, Some(Backend::Tpu | Backend::Gpu))
        && !peak.spaces.iter().any(|s| s.color == HOST)
    {
        add(
            "nothing-offloaded",
            0,
            "Nothing is in the host's memory (space 5): nothing was offloaded.".to_owned(),
            Vec::new(),
        );
    }
    let moved = host_transfers(study);
    if !moved.is_empty() {
        let sum = |to_host: bool| {
            let of = || moved.iter().filter(move |t| t.is_to_host == to_host);
            (of().count() as u64, crate::peak::sum(of().map(|t| t.bytes)))
        };
        let ((n, to), (m, back)) = (sum(true), sum(false));
        let mut words = format!(
            "To the host's memory go {} in {}, and {} come back in {}, in one run.",
            both(to),
            count(n, "transfer", "transfers"),
            both(back),
            count(m, "transfer", "transfers")
        );
        let is_back = |i: &InstructionId| moved.iter().any(|t| !t.is_to_host && t.instruction == *i);
        for space in peak.spaces.iter().filter(|s| s.color != HOST) {
            let fetched = space
                .slots
                .iter()
                .filter(|s| s.rows.iter().any(|r| study.rows[*r].instruction.as_ref().is_some_and(is_back)));
            let there = crate::peak::sum(fetched.map(|s| s.size));
            if there >= WORTH {
                _ = write!(
                    words,
                    " At the peak of memory space {} {} of what comes back are there.",
                    space_name(study, space.color),
                    both(there)
                );
            }
        }
        let instructions = moved.iter().map(|t| t.instruction).collect();
        add("host-transfers", to.max(back), words, instructions);
    }
    let spans = spans(study);
    if !spans.is_empty() {
        let most = spans.iter().max_by_key(|s| (s.bytes, std::cmp::Reverse(s.from)));
        if let Some(s) = most {
            let words = format!(
                "{} beside other work; {} to {} (steps {} to {}) pins most: {}.",
                count(spans.len() as u64, "transfer runs", "transfers run"),
                module.name_of(s.start),
                module.name_of(s.done),
                s.from,
                s.to,
                both(s.bytes)
            );
            add("transfers", s.bytes, words, vec![s.start, s.done]);
        }
    }
    // Late readers that repeat work: the largest values only, since each has its readers looked through.
    let mut large: Vec<usize> =
        (0..study.rows.len()).filter(|i| study.rows[*i].size >= WORTH && !study.rows[*i].is_tuple).collect();
    large.sort_by_key(|i| (std::cmp::Reverse(study.rows[*i].size), *i));
    for row in large.into_iter().take(200) {
        let Some(h) = hold(study, row) else { continue };
        if let Some(r) = h.repeated {
            let size = study.rows[row].size;
            let words = format!(
                "{} reads {} at step {} and computes {} of it again, though {} holds that: so {} lives until then ({}).",
                module.name_of(r.reader),
                study.rows[row].name,
                h.range.1,
                r.opcode,
                module.name_of(r.instead_of),
                study.rows[row].name,
                both(size)
            );
            out.push(Note {
                name: "repeated-work",
                bytes: size,
                words,
                rows: vec![row],
                instructions: vec![r.reader],
            });
        }
    }
    carried(study, out);
    mixed(study, out);
}

/// Fusions that read or write the host's memory and the device's at once.
fn mixed(study: &Study, out: &mut Vec<Note>) {
    let Some(program) = &study.program else { return };
    let Program { module, facts, .. } = program;
    if !study.slabs.iter().any(|s| s.color == HOST) {
        return;
    }
    // Arrays only: a tuple's table of pointers is where its reader is.
    let places = |id: InstructionId| {
        let subs = module.shapes.subshapes(module.instruction(id).shape);
        let arrays = (0u32..).zip(subs).filter(|(_, s)| module.shapes.is_array(s.shape)).map(|(sub, _)| sub);
        let rows = arrays.filter_map(|sub| study.row_of(crate::hold::value_at(program, id, sub)?));
        rows.map(|r| study.slab(&study.rows[r]).color == HOST).collect::<Vec<_>>()
    };
    for id in module.instruction_ids().filter(|i| module.instruction(*i).opcode == Opcode::Fusion) {
        if facts.clock.time(id).is_none() {
            continue;
        }
        let results = places(id);
        let operands: Vec<bool> = module.operands(id).iter().flat_map(|o| places(*o)).collect();
        let both_kinds = results.iter().chain(&operands);
        if !(both_kinds.clone().any(|h| *h) && both_kinds.clone().any(|h| !*h)) {
            continue;
        }
        let what = |all: &[bool]| match (all.iter().any(|h| *h), all.iter().any(|h| !*h)) {
            (true, true) => "both",
            (true, false) => "the host's",
            _ => "the device's",
        };
        out.push(Note {
            name: "mixed-spaces",
            bytes: 0,
            words: format!(
                "{} works in the host's memory (space 5) and in the device's: it reads {} and writes {}.",
                module.name_of(id),
                what(&operands),
                what(&results)
            ),
            rows: Vec::new(),
            instructions: vec![id],
        });
    }
}

/// Arguments that loops carry without changing them.
fn carried(study: &Study, out: &mut Vec<Note>) {
    let Some(Program { module, facts, .. }) = &study.program else { return };
    let mut carried = 0;
    let mut sum = 0u64;
    let mut loops = Vec::new();
    for row in
        study.rows.iter().filter(|r| study.slab(r).role == Role::Argument && r.origin.opcode == "parameter")
    {
        let Some(value) = row.value else { continue };
        if module.instruction(facts.defining(value)).computation != module.entry {
            continue;
        }
        let at = facts
            .value(value)
            .positions
            .iter()
            .map(|p| p.instruction)
            .find(|i| module.instruction(*i).opcode == Opcode::While);
        if let Some(at) = at {
            carried += 1;
            sum = sum.saturating_add(row.size);
            if !loops.contains(&at) {
                loops.push(at);
            }
        }
    }
    if carried > 0 && sum >= WORTH {
        out.push(Note {
            name: "loop-invariant",
            bytes: sum,
            words: format!(
                "{} through loops unchanged, {} in all, where they are: carrying them costs nothing.",
                count(carried, "argument goes", "arguments go"),
                both(sum)
            ),
            rows: Vec::new(),
            instructions: loops,
        });
    }
}

/// Of a program that needs more main memory than there is: whether the single changes that were tried can close the gap, and
/// if not, what takes most at the peak. `limit` is what there is, in bytes. `None` if it fits, or if a change makes it fit.
#[must_use]
pub fn gap(study: &Study, peak: &Peak, limit: u64, found: &Advised) -> Option<String> {
    let fit = fits(study, peak).into_iter().find(|f| f.color == 0)?;
    let over = fit.fixed.saturating_add(fit.temp).saturating_sub(limit);
    let best = found.advice.iter().map(|a| a.saves).max().unwrap_or(0);
    if over == 0 || best >= over || found.is_unproved {
        return None;
    }
    let mut out = format!("The program needs {} more than the {} that there are", both(over), both(limit));
    _ = match best {
        0 => write!(out, ", and no single change saves anything."),
        _ => write!(out, "; the best single change saves {}: no single one closes the gap.", both(best)),
    };
    let space = peak.spaces.iter().find(|s| s.color == 0)?;
    if fit.least <= limit {
        out += " What is alive together would fit: another packing might.";
    } else if let Some(most) = groups(study, &space.slots).first() {
        _ = write!(
            out,
            " Most of what is alive at the peak is {}{} {}: {} of {}.",
            if most.slots.len() > 1 { format!("{} × ", most.slots.len()) } else { String::new() },
            short(&most.shape),
            most.operation,
            both(most.bytes),
            both(space.live)
        );
        if let Some(d) = growing(study, space).first().filter(|g| g.bytes.saturating_mul(2) >= space.live) {
            _ = write!(
                out,
                " {} are of values with {}: if that is one quantity, such as the length of a sequence, they grow with {}.",
                both(d.bytes),
                d.dimension.words(),
                d.dimension.power()
            );
        }
        let stacked = crate::peak::sum(stacks_at(study, space).map(|s| s.size));
        if stacked.saturating_mul(10) >= space.live {
            out += &stacks_words(stacked);
        }
    }
    Some(out)
}

/// Stacks that loops fill, of those that are alive at a peak.
fn stacks_at<'s>(study: &'s Study, space: &'s SpacePeak) -> impl Iterator<Item = &'s crate::peak::Slot> {
    space.slots.iter().filter(|s| s.rows.iter().any(|r| stack(study, *r).is_some()))
}

/// What would take them away: a sentence behind another one.
fn stacks_words(bytes: u64) -> String {
    format!(
        " Arrays that loops fill element by element, such as what a scan keeps for its backward pass, take {}: computing it again instead of keeping it (`jax.checkpoint` around the loop's body) is what would take them away.",
        both(bytes)
    )
}

/// A number that compiler and run time give, with what it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// Its name in JAX's `memory_analysis`, or that of the file.
    pub name: &'static str,
    /// Bytes, as the assignment tells them.
    pub bytes: u64,
    /// What it is made of, and what it leaves out.
    pub words: &'static str,
}

/// The numbers of `memory_analysis` as the assignment tells them, and those that are often misread.
#[must_use]
pub fn numbers(study: &Study, peak: &Peak) -> Vec<Number> {
    let is_tpu = is_tpu(study);
    // The TPU's numbers are those of its main memory.
    let of = |wanted: &dyn Fn(&crate::study::Slab) -> bool| {
        crate::peak::sum(
            study.slabs.iter().filter(|s| (!is_tpu || s.color == 0) && wanted(s)).map(|s| s.size),
        )
    };
    let temp = of(&|s| s.role == Role::Temp);
    let mut out = vec![
        Number {
            name: "argument_size_in_bytes",
            bytes: of(&|s| s.role == Role::Argument),
            words: "all arguments, donated ones too",
        },
        Number {
            name: "output_size_in_bytes",
            bytes: of(&|s| s.maybe_live_out),
            words: "all outputs with their tables of pointers, those in donated arguments too",
        },
        Number {
            name: "alias_size_in_bytes",
            bytes: of(&|s| s.role == Role::Argument && s.maybe_live_out),
            words: "what is in both",
        },
        Number {
            name: "temp_size_in_bytes",
            bytes: if is_tpu { tpu_temp(study) } else { temp },
            words: if is_tpu {
                "the temporaries of main memory, packing loss included, up to the next 16 KiB; fast memory and tables of pointers are left out"
            } else {
                "the temporaries' allocations, packing loss included; `peak` takes them apart"
            },
        },
        Number {
            name: "total",
            bytes: peak.total,
            words: "all allocations: arguments, outputs less what is in both, temporaries, constants",
        },
    ];
    if study.backend == Some(Backend::Cpu) {
        out.push(Number {
            name: "peak_memory_in_bytes",
            bytes: peak.total.saturating_sub(temp).saturating_sub(of(&|s| s.role == Role::ThreadLocal)),
            words: "on the CPU it leaves the temporaries out: it is no peak",
        });
    }
    if is_tpu && let Some(alive) = tpu_alive(study) {
        let fixed = of(&|s| matches!(s.role, Role::Argument | Role::Output));
        out.push(Number {
            name: "peak_memory_in_bytes",
            bytes: fixed.saturating_add(alive),
            words: "arguments, outputs, and what is alive together at most in one memory space, be it the fast one, without packing loss: to some KiB; the main memory that is needed can be less or more",
        });
    }
    out
}

/// What is misread in the files that are there, a sentence each.
#[must_use]
pub fn cautions(study: &Study) -> Vec<&'static str> {
    let mut out = vec![
        "The cumulative column of the memory-usage report adds slots that overlap; its sums mean nothing.",
        "The peak of the live-range file adds logical sizes, arguments and results included, and may fall on another step than the peak of the temporaries.",
    ];
    if study.backend == Some(Backend::Tpu) {
        out.push("The live-range file counts bytes without padding, the assignment with it: they do not add up to each other.");
        out.push("Small values lie 16 KiB apart: a small heap that looks empty is no packing loss.");
    }
    out
}
