//! What would help most: single changes of the program, each tried by running the analysis, the assigner and the checker
//! on the program so changed.

use crate::copies::{Copy, CopyKind, copies, trace};
use crate::donation::{State, WhyNot, donation};
use crate::edit::Edit;
use crate::hold::hold;
use crate::peak::{Peak, groups, peak};
use crate::study::{Program, Role, Source, Study, name_at};
use analysis::{Backend, Facts, Orders, Position, Target};
use assigner::words::{both, list};
use assigner::{Assignment, Options};
use checker::{Plan, Report, Verdict, Violation};
use dumps::read::{
    AllocationRecord, BufferAssignmentFile, PlacedRecord, ShortValue, Size as Bytes, ValueName,
};
use hlo::{Alias, AliasKind, ComputationId, InstructionId, Module, Opcode, Shape, ShapeIndex};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// One change of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// An argument is donated to an output.
    Donate {
        /// The parameter's number.
        parameter: u32,
        /// Where in it.
        index: ShapeIndex,
        /// Where in the result.
        output: ShapeIndex,
    },
    /// The same, and the copies that the program then needs are put in.
    DonateAndCopy {
        /// The parameter's number.
        parameter: u32,
        /// Where in it.
        index: ShapeIndex,
        /// Where in the result.
        output: ShapeIndex,
    },
    /// All arguments that fit outputs are donated.
    DonateAll(Vec<(u32, ShapeIndex, ShapeIndex)>),
    /// Of all arguments that fit outputs those by which, each by itself, nothing is lost.
    DonateSound(Vec<(u32, ShapeIndex, ShapeIndex)>),
    /// An output is not returned.
    DropOutput {
        /// Where in the result: an element of its tuple.
        output: u32,
    },
    /// Values are computed right before their first reader.
    Later(Vec<InstructionId>),
    /// An instruction runs as soon as it can.
    Sooner(InstructionId),
    /// A copy is left out, and its readers read what it copies.
    DropCopy(InstructionId),
    /// The same, and an instruction that reads it runs as soon as it can.
    DropCopyAndRead {
        /// The copy.
        copy: InstructionId,
        /// The late reader.
        reader: InstructionId,
    },
}

/// A change with what it brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The change.
    pub change: Change,
    /// In a sentence.
    pub words: String,
    /// The change alone, without what it saves: a clause.
    pub what: String,
    /// All allocations before and after, in bytes.
    pub total: (u64, u64),
    /// Temporaries before and after, in bytes.
    pub temp: (u64, u64),
    /// Of [`Advice::total`], how many bytes are saved.
    pub saves: u64,
}

/// A donation that was tried and by which a value would be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsound {
    /// The donation.
    pub change: Change,
    /// Bytes of the argument.
    pub bytes: u64,
    /// Which one it is, and what would be lost: a sentence or two.
    pub words: String,
}

/// How much work to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Changes that are tried; the most promising come first.
    pub trials: usize,
    /// Instructions that are looked at in all trials together: a program of a million is tried a few times only.
    pub instructions: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { trials: 200, instructions: 1_500_000 }
    }
}

/// What came of the trials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advised {
    /// Changes that save bytes, the most first.
    pub advice: Vec<Advice>,
    /// How many changes were tried.
    pub tried: usize,
    /// How many of those would have spoilt the program: without a copy, a value would be lost.
    pub spoilt: usize,
    /// Of those the donations, the most bytes first.
    pub unsound: Vec<Unsound>,
    /// How many were left untried for want of effort.
    pub untried: usize,
    /// Set if the program as it is could not be proved right, so that no change could be, either; then nothing was tried.
    pub is_unproved: bool,
    /// That the changes are measured against our own assignment, where that is another one than XLA's: a sentence.
    pub base: Option<String>,
}

impl Advised {
    /// What a promised saving leaves out, if donations are among the changes.
    #[must_use]
    pub fn caveat(&self) -> Option<&'static str> {
        let is_donation = |a: &Advice| {
            matches!(
                a.change,
                Change::Donate { .. }
                    | Change::DonateAndCopy { .. }
                    | Change::DonateAll(_)
                    | Change::DonateSound(_)
            )
        };
        self.advice.iter().any(is_donation).then_some(
            "The program is taken as it was compiled: a compiler that is told of a donation may fuse, order and copy otherwise, and then less or more is saved.",
        )
    }
}

/// Tries single changes. `go_on` is told how many are done, of how many, and ends the search with `false`. Needs the
/// program.
pub fn advise(study: &Study, effort: Effort, go_on: &mut dyn FnMut(usize, usize) -> bool) -> Advised {
    let mut search = Advisor::new(study, effort);
    loop {
        let (done, of) = search.progress();
        if done >= of || !go_on(done, of) {
            return search.advised();
        }
        search.step(study);
    }
}

/// [`advise`] one change at a time, for who has something else to do between.
pub struct Advisor {
    trial: Option<(Trial, Size)>,
    candidates: Vec<Change>,
    /// How many of them are done.
    done: usize,
    /// Copies that can be left out without anything else.
    dropped: HashSet<InstructionId>,
    /// Donations by which nothing is lost, each by itself, where all of them together lose something.
    sound: Option<Vec<(u32, ShapeIndex, ShapeIndex)>>,
    /// What the program takes if copy insertion runs on it as it is, or as it is if the pass cannot; once it is known.
    with_copies: Option<Size>,
    out: Advised,
}

impl Advisor {
    /// Looks for what is worth a trial.
    #[must_use]
    pub fn new(study: &Study, effort: Effort) -> Self {
        let mut search = Self {
            trial: None,
            candidates: Vec::new(),
            done: 0,
            dropped: HashSet::new(),
            sound: None,
            with_copies: None,
            out: Advised::default(),
        };
        let Some(program) = &study.program else { return search };
        let Some(trial) = Trial::new(program, study) else {
            search.out.is_unproved = true;
            return search;
        };
        let Some(before) = trial.measure(&program.module) else { return search };
        search.out.base =
            crate::trying::total_of_dump(study).and_then(|t| crate::trying::base_words(t, before.total));
        search.trial = Some((trial, before));
        search.candidates = candidates(study, program);
        let cost = program.module.instructions.len().max(1) as u64;
        // Of a very large program one change is tried all the same.
        let by_size = usize::try_from(effort.instructions / cost).unwrap_or(usize::MAX).max(1);
        let most = effort.trials.min(by_size);
        search.out.untried = search.candidates.len().saturating_sub(most);
        search.candidates.truncate(most);
        search
    }

    /// How many changes are done, of how many.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        (self.done, self.candidates.len())
    }

    /// Tries the next one, of the same study.
    pub fn step(&mut self, study: &Study) {
        let Some(change) = self.candidates.get(self.done).cloned() else { return };
        self.done += 1;
        self.try_change(study, change);
        if self.done == self.candidates.len()
            && let Some(sound) = self.sound.take().filter(|s| s.len() > 1)
        {
            self.candidates.push(Change::DonateSound(sound));
        }
    }

    fn try_change(&mut self, study: &Study, change: Change) {
        let (Some(program), Some((trial, before))) = (&study.program, &self.trial) else { return };
        if matches!(&change, Change::DropCopyAndRead { copy, .. } if self.dropped.contains(copy)) {
            return;
        }
        let Some(changed) = apply(program, &change) else { return };
        self.out.tried += 1;
        let after = match trial.run(&changed) {
            Ok(after) => after,
            Err(why) => {
                self.out.spoilt += 1;
                match &change {
                    Change::DonateAll(_) => self.sound = Some(Vec::new()),
                    Change::Donate { parameter, index, output } => {
                        self.out.unsound.extend(unsound(study, &change, &why));
                        let (parameter, index, output) = (*parameter, index.clone(), output.clone());
                        // Next, so that it is worth as much effort as what it is made of.
                        self.candidates.insert(self.done, Change::DonateAndCopy { parameter, index, output });
                    }
                    _ => {}
                }
                return;
            }
        };
        if let (Change::Donate { parameter, index, output }, Some(sound)) = (&change, &mut self.sound) {
            sound.push((*parameter, index.clone(), output.clone()));
        }
        // Copy insertion may find some of the module's own copies needless: that is not the donation's doing.
        let mut before = *before;
        if let Change::DonateAndCopy { .. } = change {
            let alone =
                *self.with_copies.get_or_insert_with(|| trial.with_copies(&program.module).unwrap_or(before));
            before.total = before.total.min(alone.total);
        }
        // A ten-thousandth of the whole is no help.
        let saves = before.total.saturating_sub(after.total);
        if saves == 0 || saves.saturating_mul(10_000) < before.total {
            return;
        }
        if let Change::DropCopy(copy) = change {
            self.dropped.insert(copy);
        }
        let what = clause(program, &change);
        self.out.advice.push(Advice {
            words: words(&what, before, after),
            what,
            change,
            total: (before.total, after.total),
            temp: (before.temp, after.temp),
            saves,
        });
    }

    /// What came of those that were tried.
    #[must_use]
    pub fn advised(mut self) -> Advised {
        self.out.untried += self.candidates.len() - self.done;
        rank(self.out)
    }
}

fn rank(mut out: Advised) -> Advised {
    out.advice.sort_by(|a, b| {
        let parts = |a: &Advice| if let Change::Later(ids) = &a.change { ids.len() } else { 1 };
        b.saves.cmp(&a.saves).then_with(|| parts(a).cmp(&parts(b))).then_with(|| a.words.cmp(&b.words))
    });
    out.unsound.sort_by_key(|u| std::cmp::Reverse(u.bytes));
    // Of single donations beside that of all the best is enough.
    let of_all = |a: &Advice| matches!(a.change, Change::DonateAll(_) | Change::DonateSound(_));
    if let Some(all) = out.advice.iter().find(|a| of_all(a)).map(|a| a.saves) {
        let mut told = false;
        out.advice.retain(|a| {
            let is_part =
                matches!(a.change, Change::Donate { .. } | Change::DonateAndCopy { .. }) && a.saves <= all;
            !(is_part && std::mem::replace(&mut told, true))
        });
    }
    // Any one of several moves that save the very same: the first of them tells of the others.
    let is_single = |a: &Advice| matches!(&a.change, Change::Later(ids) if ids.len() == 1);
    let mut alike: HashMap<(u64, u64), usize> = HashMap::new();
    for a in out.advice.iter().filter(|a| is_single(a)) {
        *alike.entry((a.total.1, a.temp.1)).or_default() += 1;
    }
    let mut told: HashSet<(u64, u64)> = HashSet::new();
    out.advice.retain_mut(|a| {
        let key = (a.total.1, a.temp.1);
        let count = alike.get(&key).copied().unwrap_or(0);
        if !is_single(a) || count < 3 {
            return true;
        }
        let is_first = told.insert(key);
        if is_first {
            _ = write!(a.words, " Any one of {} other values moved so saves the same.", count - 1);
        }
        is_first
    });
    // What is part of a better change, or more than one that is as good, is no news.
    let mut told: Vec<Vec<InstructionId>> = Vec::new();
    out.advice.retain(|a| {
        let Change::Later(ids) = &a.change else { return true };
        let is_known =
            told.iter().any(|t| ids.iter().all(|i| t.contains(i)) || t.iter().all(|i| ids.contains(i)));
        if !is_known {
            told.push(ids.clone());
        }
        !is_known
    });
    out
}

#[derive(Clone, Copy)]
struct Size {
    total: u64,
    temp: u64,
}

/// How changed programs are measured: all in the same way, with guessed orders, so that they compare.
struct Trial {
    target: Target,
    /// What memory space assignment placed, where XLA's own assignment tells it.
    placed: Option<BufferAssignmentFile>,
    /// The values that the program loses as it is, in words; changes may not make it more.
    forced: Vec<String>,
}

impl Trial {
    /// `None` if the program as it is cannot be proved right: then no change can be, either.
    fn new(program: &Program, study: &Study) -> Option<Self> {
        let mut out =
            Self { target: program.facts.target.clone(), placed: placed(study), forced: Vec::new() };
        let (facts, assignment) = out.assigned(&program.module)?;
        out.forced = check(&program.module, &facts, &assignment).ok()?;
        Some(out)
    }

    fn assigned(&self, module: &Module) -> Option<(Facts, Assignment)> {
        let orders = Orders::guess(module, &self.target);
        let facts = Facts::new(module, orders, self.target.clone()).ok()?;
        let mut options = Options::default();
        if let Some(file) = &self.placed {
            options.presets = presets(module, &facts, file)?;
        }
        let (assignment, _) = assigner::assign(module, &facts, &facts.ranges, &options);
        Some((facts, assignment))
    }

    fn measure(&self, module: &Module) -> Option<Size> {
        let (_, assignment) = self.assigned(module)?;
        Some(size(&assignment))
    }

    /// The size of a changed program; in a clause what is lost if it is no longer right.
    fn run(&self, module: &Module) -> Result<Size, String> {
        let (facts, assignment) =
            self.assigned(module).ok_or_else(|| "the program so changed cannot be analysed".to_owned())?;
        let forced = check(module, &facts, &assignment)?;
        if forced.len() > self.forced.len() {
            let new = forced.into_iter().find(|v| !self.forced.contains(v));
            return Err(new.unwrap_or_else(|| "another copy is needed".to_owned()));
        }
        if returns_read_only(module, &facts) {
            return Err("a part of the result would be an argument or a constant itself".to_owned());
        }
        Ok(size(&assignment))
    }

    /// The size of a program with the copies that it needs; `None` if that cannot be found out.
    fn with_copies(&self, module: &Module) -> Option<Size> {
        self.run(&copied(module, &self.target)?).ok()
    }
}

/// A program with the copies that it needs, as it is read.
fn copied(module: &Module, target: &Target) -> Option<Module> {
    let (with, _) = crate::edit::with_copies(module, target).ok()?;
    hlo::read_owned(hlo::print(&with)).complete().ok()
}

/// A donation that loses a value, in words.
fn unsound(study: &Study, change: &Change, why: &str) -> Option<Unsound> {
    let Change::Donate { parameter, index, output } = change else { return None };
    let table = donation(study)?;
    let argument = table.arguments.into_iter().find(|a| a.parameter == *parameter && a.index == *index)?;
    let part = if index.is_root() { String::new() } else { index.to_string() };
    let words = format!(
        "Argument {parameter}{part} ({}) cannot be donated to output {output} as the program stands: {why}.",
        argument.name
    );
    Some(Unsound { change: change.clone(), bytes: argument.bytes, words })
}

/// What memory space assignment placed, for a changed program: what the change has taken away needs no place.
pub(crate) fn presets(
    module: &Module,
    facts: &Facts,
    placed: &BufferAssignmentFile,
) -> Option<Vec<assigner::Preset>> {
    let known: HashSet<ValueName> = facts.values().map(|v| name_at(module, v.defined_at())).collect();
    let mut file = placed.clone();
    for a in &mut file.allocations {
        a.values.retain(|p| known.contains(&p.value.name));
    }
    dumps::presets_of(module, facts, &file).ok()
}

/// The temporaries of XLA's own assignment on the TPU, as the file has them.
pub(crate) fn placed(study: &Study) -> Option<BufferAssignmentFile> {
    if study.source != Source::Dump || study.backend != Some(Backend::Tpu) {
        return None;
    }
    let allocations = study.slabs.iter().enumerate().filter(|(_, s)| s.role == Role::Temp).map(|(i, s)| {
        let values = study.rows.iter().filter(|r| r.slab == i).map(|r| PlacedRecord {
            value: ShortValue { name: r.name.clone(), ..ShortValue::default() },
            size: r.size,
            offset: r.offset,
            shape: r.shape.clone(),
            line: 0,
        });
        AllocationRecord {
            number: s.number,
            size: Bytes { bytes: s.size, is_exact: true },
            color: s.color,
            is_preallocated_temp: true,
            values: values.collect(),
            ..AllocationRecord::default()
        }
    });
    Some(BufferAssignmentFile { allocations: allocations.collect(), ..BufferAssignmentFile::default() })
}

/// Is a part of the result an argument that is not donated, or a constant? XLA returns a copy of it (11.5, 3).
pub(crate) fn returns_read_only(module: &Module, facts: &Facts) -> bool {
    let donated: HashSet<(u32, &ShapeIndex)> =
        module.input_output_alias.iter().map(|a| (a.parameter, &a.parameter_index)).collect();
    facts.values().filter(|v| v.live_out).any(|v| {
        let at = v.defined_at();
        let instruction = module.instruction(at.instruction);
        let places = module.shapes.subshapes(instruction.shape);
        let Some(place) = places.get(at.sub as usize).filter(|p| module.shapes.is_array(p.shape)) else {
            return false;
        };
        match module.parameter_number(at.instruction) {
            Some(number) => {
                instruction.computation == module.entry && !donated.contains(&(number, &place.index))
            }
            None => instruction.opcode == Opcode::Constant,
        }
    })
}

fn size(assignment: &Assignment) -> Size {
    let sum = |temp_only: bool| {
        let of = assignment.allocations.iter().filter(|a| !temp_only || a.is_preallocated_temp());
        crate::peak::sum(of.map(|a| a.size))
    };
    Size { total: sum(false), temp: sum(true) }
}

/// The values that the program itself loses, in words; an error if the assignment loses one, or if that could not be found
/// out.
fn check(module: &Module, facts: &Facts, assignment: &Assignment) -> Result<Vec<String>, String> {
    let report = report(module, facts, assignment)?;
    match report.verdict {
        Verdict::Wrong(v) if !is_known(&v) => Err(v.to_string()),
        _ => Ok(report.forced.iter().map(ToString::to_string).collect()),
    }
}

/// A fusion that reads one value twice may write over it before the second reading, by XLA's own rule.
pub(crate) fn is_known(violation: &Violation) -> bool {
    matches!(violation, Violation::OverOperand { is_second_reading: true, .. })
}

/// What the checker says of an assignment; in words why it cannot say anything.
pub(crate) fn report(module: &Module, facts: &Facts, assignment: &Assignment) -> Result<Report, String> {
    report_of(module, facts, &dumps::buffer_assignment(module, facts, assignment))
}

/// The same of an assignment as its file has it.
pub(crate) fn report_of(module: &Module, facts: &Facts, text: &str) -> Result<Report, String> {
    let plan = Plan::parse(text).map_err(|e| e.to_string())?;
    let backend = match facts.target.backend {
        Backend::Cpu => checker::Backend::Cpu,
        Backend::Gpu => checker::Backend::Gpu,
        Backend::Tpu => checker::Backend::Tpu,
    };
    let bound = |instruction, sub| {
        let value = facts.dataflow.unique_at(Position { instruction, sub })?;
        Some(facts.value(value).buffer.0)
    };
    checker::check_bound(module, &plan, &checker::Options::new(backend), &bound).map_err(|e| e.to_string())
}

/// What is worth a trial, the most promising first.
fn candidates(study: &Study, program: &Program) -> Vec<Change> {
    let found = peak(study);
    let mut out: Vec<(u64, Change)> = Vec::new();
    donations(study, &mut out);
    for c in copies(study).into_iter().filter(|c| c.kind == CopyKind::Plain && c.bytes > 0) {
        drop_copy(program, &c, &mut out);
    }
    moves(study, program, &found, &mut out);
    out.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let mut seen = HashSet::new();
    out.into_iter().map(|(_, change)| change).filter(|c| seen.insert(c.clone())).collect()
}

/// The donation of all arguments that fit outputs, each to one of its own, with their bytes; `None` of fewer than two.
#[must_use]
pub fn all_donations(study: &Study) -> Option<(u64, Change)> {
    let mut all = Vec::new();
    donations(study, &mut all);
    all.into_iter().find(|(_, change)| matches!(change, Change::DonateAll(_)))
}

fn donations(study: &Study, out: &mut Vec<(u64, Change)>) {
    let Some(table) = donation(study) else { return };
    let mut all = Vec::new();
    let mut sum = 0u64;
    let mut used: Vec<&ShapeIndex> = Vec::new();
    for a in &table.arguments {
        let fits: Vec<&ShapeIndex> = match &a.state {
            State::NotOffered(fits) => fits.iter().collect(),
            State::NotTaken(why) => why
                .iter()
                .filter(|(_, w)| matches!(w, WhyNot::Nothing | WhyNot::Shape))
                .map(|(o, _)| o)
                .collect(),
            State::Taken { .. } => continue,
        };
        // The same shape first: that is what can be donated without a reinterpretation.
        let is_same = |o: &&&ShapeIndex| table.outputs.iter().any(|x| x.index == ***o && x.shape == a.shape);
        let free = || fits.iter().filter(|o| !used.contains(*o));
        let Some(output) = free().find(is_same).or_else(|| free().next()).copied() else { continue };
        out.push((
            a.bytes,
            Change::Donate { parameter: a.parameter, index: a.index.clone(), output: output.clone() },
        ));
        sum = sum.saturating_add(a.bytes);
        used.push(output);
        all.push((a.parameter, a.index.clone(), output.clone()));
    }
    if all.len() > 1 {
        out.push((sum, Change::DonateAll(all)));
    }
    for o in table.outputs.iter().filter(|o| o.copy_of.is_some()) {
        if let [element] = o.index.0[..] {
            out.push((o.bytes, Change::DropOutput { output: element }));
        }
    }
}

fn drop_copy(program: &Program, c: &Copy, out: &mut Vec<(u64, Change)>) {
    if program.module.instruction(c.instruction).opcode != Opcode::Copy {
        return;
    }
    out.push((c.bytes, Change::DropCopy(c.instruction)));
    // Whoever reads it, or what it copies, while another one writes over that.
    let value = |i| crate::hold::value_at(program, i, 0);
    let readers: HashSet<InstructionId> = [value(c.instruction), value(c.of)]
        .into_iter()
        .flatten()
        .flat_map(|v| program.facts.value(v).uses.iter().map(|u| u.user))
        .filter(|u| {
            *u != c.instruction && *u != program.module.root(program.module.instruction(*u).computation)
        })
        .collect();
    let mut readers: Vec<InstructionId> = readers.into_iter().collect();
    readers.sort_unstable();
    for reader in readers.into_iter().take(8) {
        out.push((c.bytes, Change::DropCopyAndRead { copy: c.instruction, reader }));
    }
}

fn moves(study: &Study, program: &Program, found: &Peak, out: &mut Vec<(u64, Change)>) {
    let movable = |i: InstructionId| {
        !matches!(
            program.module.instruction(i).opcode,
            Opcode::Parameter | Opcode::Constant | Opcode::While | Opcode::Conditional
        )
    };
    for space in &found.spaces {
        let waits = |row: usize| -> Option<InstructionId> {
            let h = hold(study, row)?;
            let id = study.rows[row].instruction.filter(|i| movable(*i))?;
            (h.range.0 <= space.step && h.first_use?.1 > space.step).then_some(id)
        };
        for slot in space.slots.iter().take(40) {
            let row = slot.rows[0];
            if let Some(id) = waits(row) {
                out.push((slot.size, Change::Later(vec![id])));
            }
            if let Some(h) = hold(study, row) {
                for reader in h.last_readers.iter().filter(|r| movable(**r)).take(2) {
                    if h.range.1 > space.step {
                        out.push((slot.size, Change::Sooner(*reader)));
                    }
                }
            }
        }
        for group in groups(study, &space.slots) {
            let mut all: Vec<InstructionId> =
                group.slots.iter().filter_map(|s| waits(space.slots[*s].rows[0])).collect();
            all.sort_unstable();
            all.dedup();
            if all.len() > 1 {
                out.push((group.bytes, Change::Later(all)));
            }
        }
        // Everything that waits, of whatever kind.
        let mut all: Vec<InstructionId> = space.slots.iter().filter_map(|s| waits(s.rows[0])).collect();
        all.sort_unstable();
        all.dedup();
        if all.len() > 1 {
            out.push((space.live, Change::Later(all)));
        }
    }
}

/// The program so changed; `None` if the change cannot be made.
#[must_use]
pub fn apply(program: &Program, change: &Change) -> Option<Module> {
    let mut module = program.module.clone();
    match change {
        Change::Donate { parameter, index, output } => donate(&mut module, *parameter, index, output),
        Change::DonateAndCopy { parameter, index, output } => {
            donate(&mut module, *parameter, index, output);
            module = copied(&module, &program.facts.target)?;
        }
        Change::DonateAll(all) | Change::DonateSound(all) => {
            for (parameter, index, output) in all {
                donate(&mut module, *parameter, index, output);
            }
        }
        Change::DropOutput { output } => drop_output(&mut module, *output).ok()?,
        Change::Later(ids) => {
            for id in ids.iter().rev() {
                later(&mut module, *id)?;
            }
        }
        Change::Sooner(id) => sooner(&mut module, *id)?,
        Change::DropCopy(copy) => leave_out(&mut module, *copy)?,
        Change::DropCopyAndRead { copy, reader } => {
            leave_out(&mut module, *copy)?;
            sooner(&mut module, *reader)?;
        }
    }
    // Printed and read again, so that nothing of the old module is left over.
    hlo::read_owned(hlo::print(&module)).complete().ok()
}

/// The change as edits that can be made by hand.
#[must_use]
pub fn as_edits(program: &Program, change: &Change) -> Vec<Edit> {
    let name = |id: &InstructionId| program.module.name_of(*id).to_owned();
    let donate = |parameter: u32, index: &ShapeIndex, output: &ShapeIndex| Edit::Donate {
        parameter,
        index: index.0.to_vec(),
        output: output.0.to_vec(),
    };
    match change {
        Change::Donate { parameter, index, output } => vec![donate(*parameter, index, output)],
        Change::DonateAndCopy { parameter, index, output } => {
            vec![donate(*parameter, index, output), Edit::InsertCopies]
        }
        Change::DonateAll(all) | Change::DonateSound(all) => {
            all.iter().map(|(p, index, output)| donate(*p, index, output)).collect()
        }
        Change::DropOutput { output } => vec![Edit::DropOutput { output: *output }],
        Change::Later(ids) => vec![Edit::Later { names: ids.iter().map(name).collect() }],
        Change::Sooner(id) => vec![Edit::Sooner { name: name(id) }],
        Change::DropCopy(copy) => vec![Edit::DropCopy { name: name(copy) }],
        Change::DropCopyAndRead { copy, reader } => {
            vec![Edit::DropCopy { name: name(copy) }, Edit::Sooner { name: name(reader) }]
        }
    }
}

pub(crate) fn donate(module: &mut Module, parameter: u32, index: &ShapeIndex, output: &ShapeIndex) {
    module.input_output_alias.push(Alias {
        output: output.clone(),
        parameter,
        parameter_index: index.clone(),
        kind: AliasKind::May,
    });
    let entries: Vec<String> = module
        .input_output_alias
        .iter()
        .map(|a| {
            let kind = if a.kind == AliasKind::Must { "must" } else { "may" };
            format!("{}: ({}, {}, {kind}-alias)", a.output, a.parameter, a.parameter_index)
        })
        .collect();
    set_header(module, "input_output_alias", &format!("{{ {} }}", entries.join(", ")));
}

pub(crate) fn set_header(module: &mut Module, name: &str, value: &str) {
    let value = module.add_text(value);
    match module.header.iter().position(|a| module.str(a.name) == name) {
        Some(i) => module.header[i].value = value,
        None => {
            let name = module.add_text(name);
            module.header.push(hlo::Attribute { name, value });
        }
    }
}

/// Leaves an element of the result out; in a sentence why that cannot be.
pub(crate) fn drop_output(module: &mut Module, element: u32) -> Result<(), String> {
    let root = module.root(module.entry);
    let Shape::Tuple(mut elements) = module.shapes.get(module.instruction(root).shape).clone() else {
        return Err(
            "The program returns one array and no tuple: there is no part of it to leave out.".to_owned()
        );
    };
    if element as usize >= elements.len() {
        return Err(format!(
            "There is no output {{{element}}}: the program returns {}, numbered from 0.",
            elements.len()
        ));
    }
    if elements.len() == 1 {
        return Err("It is the only output: a program that returns nothing computes nothing.".to_owned());
    }
    if module.instruction(root).opcode != Opcode::Tuple {
        return Err(format!(
            "The result is made whole by a {}, not put together of its parts: none of them can be left out.",
            module.str(module.instruction(root).opcode_name)
        ));
    }
    if let Some(a) = module.input_output_alias.iter().find(|a| a.output.0.first() == Some(&element)) {
        let place = if a.parameter_index.is_root() { String::new() } else { a.parameter_index.to_string() };
        return Err(format!(
            "Argument {}{place} is donated to output {}, which would be gone; take the donation back first.",
            a.parameter, a.output
        ));
    }
    let mut operands = module.operands(root).to_vec();
    let dropped = operands.remove(element as usize);
    elements.remove(element as usize);
    let shape = module.shapes.intern_tuple(&elements).map_err(|e| e.to_string())?;
    module.set_operands(root, &operands);
    module.set_shape(root, shape);
    for a in &mut module.input_output_alias {
        if let Some(first) = a.output.0.first_mut()
            && *first > element
        {
            *first -= 1;
        }
    }
    let aliases = std::mem::take(&mut module.input_output_alias);
    drop_headers(module, &["input_output_alias", "entry_computation_layout"]);
    for a in aliases {
        donate(module, a.parameter, &a.parameter_index, &a.output);
    }
    remove_unread(module, dropped);
    Ok(())
}

fn drop_headers(module: &mut Module, names: &[&str]) {
    let keep: Vec<bool> = module.header.iter().map(|a| !names.contains(&module.str(a.name))).collect();
    let mut keep = keep.into_iter();
    module.header.retain(|_| keep.next().unwrap_or(true));
}

/// Takes an instruction away if nobody reads it and it does nothing else, and then what it read. Gives what is gone.
pub(crate) fn remove_unread(module: &mut Module, id: InstructionId) -> Vec<InstructionId> {
    let mut open = vec![id];
    let mut gone = Vec::new();
    while let Some(id) = open.pop() {
        let computation = module.instruction(id).computation;
        let is_read = module.computation(computation).instructions.iter().any(|i| {
            *i != id && (module.operands(*i).contains(&id) || module.control_predecessors(*i).contains(&id))
        });
        if is_read || module.root(computation) == id || !is_pure(module, id) {
            continue;
        }
        let operands = module.operands(id).to_vec();
        module.computations[computation.index()].instructions.retain(|i| *i != id);
        gone.push(id);
        open.extend(operands);
    }
    gone
}

/// Does it nothing but give its result? What runs other computations, talks to others or holds a place is left alone.
fn is_pure(module: &Module, id: InstructionId) -> bool {
    use Opcode as O;
    match module.instruction(id).opcode {
        O::Parameter | O::While | O::Conditional | O::Call | O::Unknown => false,
        O::AsyncStart | O::AsyncUpdate | O::AsyncDone => false,
        O::Send | O::SendDone | O::Recv | O::RecvDone | O::Infeed | O::Outfeed => false,
        O::AllReduce | O::AllReduceStart | O::AllReduceDone | O::AllGather | O::AllGatherStart => false,
        O::AllGatherDone | O::AllToAll | O::CollectiveBroadcast | O::CollectivePermute => false,
        O::CollectivePermuteStart | O::CollectivePermuteDone | O::ReduceScatter | O::RaggedAllToAll => false,
        O::Rng | O::RngGetAndUpdateState | O::OptimizationBarrier => false,
        O::CustomCall => module.attribute(id, "custom_call_has_side_effect") != Some("true"),
        _ => true,
    }
}

pub(crate) fn position(module: &Module, c: ComputationId, id: InstructionId) -> Option<usize> {
    module.computation(c).instructions.iter().position(|i| *i == id)
}

/// Moves an instruction to right before the first that waits for it.
pub(crate) fn later(module: &mut Module, id: InstructionId) -> Option<()> {
    let c = module.instruction(id).computation;
    let at = position(module, c, id)?;
    let waits = |i: &InstructionId| {
        module.operands(*i).contains(&id) || module.control_predecessors(*i).contains(&id)
    };
    let list = &module.computation(c).instructions;
    let first = (at + 1..list.len()).find(|n| waits(&list[*n]))?;
    let list = &mut module.computations[c.index()].instructions;
    let moved = list.remove(at);
    list.insert(first - 1, moved);
    Some(())
}

/// Moves an instruction to right behind the last that it waits for, and before it whatever it alone reads.
pub(crate) fn sooner(module: &mut Module, id: InstructionId) -> Option<()> {
    let c = module.instruction(id).computation;
    let at = position(module, c, id)?;
    let waits_for: Vec<InstructionId> =
        module.operands(id).iter().chain(module.control_predecessors(id)).copied().collect();
    let list = &module.computation(c).instructions;
    let behind =
        waits_for.iter().filter_map(|i| list[..at].iter().position(|x| x == i)).max().map_or(0, |n| n + 1);
    let list = &mut module.computations[c.index()].instructions;
    let moved = list.remove(at);
    list.insert(behind, moved);
    Some(())
}

/// Leaves a copy out: its readers read what it copies.
pub(crate) fn leave_out(module: &mut Module, copy: InstructionId) -> Option<()> {
    let source = *module.operands(copy).first()?;
    let c = module.instruction(copy).computation;
    if module.root(c) == copy || module.instruction(copy).shape != module.instruction(source).shape {
        return None;
    }
    for i in module.computation(c).instructions.clone() {
        if module.operands(i).contains(&copy) {
            let operands: Vec<InstructionId> =
                module.operands(i).iter().map(|o| if *o == copy { source } else { *o }).collect();
            module.set_operands(i, &operands);
        }
        if module.control_predecessors(i).contains(&copy) {
            return None;
        }
    }
    module.computations[c.index()].instructions.retain(|i| *i != copy);
    Some(())
}

fn words(what: &str, before: Size, after: Size) -> String {
    let temp = if before.temp > after.temp {
        format!(", temporaries {} instead of {}", both(after.temp), both(before.temp))
    } else {
        String::new()
    };
    format!("{what}: saves {}{temp}.", both(before.total - after.total))
}

fn clause(program: &Program, change: &Change) -> String {
    let module = &program.module;
    let name = |i: InstructionId| module.name_of(i);
    let first = |i: InstructionId| {
        let c = module.instruction(i).computation;
        let list = &module.computation(c).instructions;
        list.iter().find(|r| module.operands(**r).contains(&i)).map_or("its reader", |r| name(*r))
    };
    match change {
        Change::Donate { parameter, index, output } => {
            let index = if index.is_root() { String::new() } else { index.to_string() };
            format!("Donate argument {parameter}{index} to output {output}")
        }
        Change::DonateAndCopy { parameter, index, output } => {
            let index = if index.is_root() { String::new() } else { index.to_string() };
            format!(
                "Donate argument {parameter}{index} to output {output}, with the copies that the program then needs"
            )
        }
        Change::DonateAll(all) => format!("Donate all {} arguments that fit outputs", all.len()),
        Change::DonateSound(all) => {
            format!("Donate {} arguments that fit outputs, by none of which a value is lost", all.len())
        }
        Change::DropOutput { output } => {
            format!("Do not return output {{{output}}}, which is a plain copy of an argument")
        }
        Change::Later(ids) => match ids[..] {
            [one] => format!("Compute {} right before {}", name(one), first(one)),
            _ => format!(
                "Compute each of {} values ({}) right before its first reader",
                ids.len(),
                list(&ids.iter().map(|i| name(*i).to_owned()).collect::<Vec<_>>(), 3)
            ),
        },
        Change::Sooner(id) => format!("Run {} as soon as its operands are there", name(*id)),
        Change::DropCopy(copy) => format!(
            "Do without {}: its readers can read {}",
            name(*copy),
            module.operands(*copy).first().map_or("its operand", |o| name(trace(module, *o)))
        ),
        Change::DropCopyAndRead { copy, reader } => {
            format!(
                "Run {} as soon as its operands are there, then {} is not needed",
                name(*reader),
                name(*copy)
            )
        }
    }
}
