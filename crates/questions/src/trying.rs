//! What edits made by hand come to: the program is changed, its assignment is made again by the same rules, and the checker
//! says whether that one is right.

use crate::changes::{is_known, placed, presets, report, report_of, returns_read_only};
use crate::edit::{Edit, Run, cut, is_cut_of, only};
use crate::peak::{peak, sum};
use crate::study::{Program, Role, Row, Study};
use analysis::{Facts, Orders, RangeEdit, Step, Target, ValueId};
use assigner::words::{both, difference, list};
use assigner::{Assignment, Options, words};
use checker::Verdict;
use dumps::read::{BufferAssignmentFile, ValueName};
use hlo::Module;
use std::collections::HashMap;

/// The sums of an assignment, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// All allocations.
    pub total: u64,
    /// Temporaries.
    pub temp: u64,
    /// Most of the temporaries of one memory space that is in use at once.
    pub peak: u64,
}

impl Sizes {
    /// Of an assignment.
    #[must_use]
    pub fn of(study: &Study) -> Self {
        let found = peak(study);
        Self {
            total: found.total,
            temp: found.owner(Role::Temp).map_or(0, |o| o.bytes),
            peak: found.spaces.iter().map(|s| s.live).max().unwrap_or(0),
        }
    }
}

/// What edits are measured against: the program as it is.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// With XLA's own orders, where they are known.
    own: Sizes,
    /// With guessed orders, as a changed program has to be run.
    guessed: Sizes,
    /// What the program itself loses as it is, in words; or why the checker cannot say.
    forced: Result<Vec<String>, String>,
    /// Is a part of the result an argument that is not donated, or a constant?
    returns_read_only: bool,
    /// What memory space assignment placed.
    placed: Option<BufferAssignmentFile>,
    /// Bytes of all allocations of XLA's own assignment, where that is known.
    theirs: Option<u64>,
}

/// That a change is measured against our own assignment, where that is another one than XLA's: bytes of all allocations of
/// both. `None` if there is nothing to say.
#[must_use]
pub fn base_words(theirs: u64, ours: u64) -> Option<String> {
    (theirs != ours).then(|| {
        format!(
            "The change is measured against our own assignment of the program as it is, {}; XLA's own takes {}: ours {}.",
            both(ours),
            both(theirs),
            difference(theirs, ours)
        )
    })
}

/// Bytes of all allocations of XLA's own assignment, if the study is of it.
pub(crate) fn total_of_dump(study: &Study) -> Option<u64> {
    (study.source == crate::study::Source::Dump).then(|| sum(study.slabs.iter().map(|s| s.size)))
}

/// Is the assignment of a changed program right?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Soundness {
    /// The checker executed it, and every read found its value.
    Right,
    /// Nothing was lost so far, but the program is too long to be executed to its end.
    NotFullyExplored,
    /// It loses a value.
    Wrong(String),
    /// The program itself now loses a value, whatever the assignment: it needs a copy.
    NeedsCopy(Vec<String>),
    /// A part of the result is an argument that is not donated, or a constant; XLA would return a copy.
    ReturnsArgument,
    /// The checker cannot say, and why.
    Unknown(String),
}

impl Soundness {
    /// `right`, `not-fully-explored`, `wrong`, `needs-copy`, `returns-argument` or `unknown`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::NotFullyExplored => "not-fully-explored",
            Self::Wrong(_) => "wrong",
            Self::NeedsCopy(_) => "needs-copy",
            Self::ReturnsArgument => "returns-argument",
            Self::Unknown(_) => "unknown",
        }
    }

    /// Would running it spoil a value?
    #[must_use]
    pub fn is_unsound(&self) -> bool {
        matches!(self, Self::Wrong(_) | Self::NeedsCopy(_) | Self::ReturnsArgument)
    }

    /// In a sentence or two.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Right => "Sound: executed step by step, every read finds its value.".to_owned(),
            Self::NotFullyExplored => {
                "Nothing is lost as far as it was executed; the program is too long to be executed to its end."
                    .to_owned()
            }
            Self::Wrong(why) => format!("Unsound: {why}."),
            Self::NeedsCopy(why) => format!(
                "Unsound: the program so changed needs a copy that it does not have: {}{}. Copy insertion would put it in.",
                why.first().map_or("", String::as_str),
                if why.len() > 1 { format!(" (and {} more)", why.len() - 1) } else { String::new() }
            ),
            Self::ReturnsArgument => {
                "Unsound: a part of the result is now an argument that is not donated, or a constant; XLA would return a copy of it. Copy insertion would put it in."
                    .to_owned()
            }
            Self::Unknown(why) => format!("Whether this is sound cannot be said: {why}."),
        }
    }
}

/// What edits came to.
#[derive(Debug)]
pub struct Tried {
    /// The assignment that was made.
    pub study: Study,
    /// The edits in words, one each.
    pub edits: Vec<String>,
    /// The sums before, made in the same way.
    pub before: Sizes,
    /// And after.
    pub after: Sizes,
    /// What became of the sharings of values whose range was edited, where the module is the same one.
    pub sharings: Option<String>,
    /// Is it right?
    pub soundness: Soundness,
    /// What else is to be said.
    pub remarks: Vec<String>,
}

fn facts_of(module: &Module, target: &Target) -> Result<Facts, String> {
    let orders = Orders::guess(module, target);
    Facts::new(module, orders, target.clone()).map_err(|e| e.describe(module))
}

/// The program as it is; `None` without one. `file` is XLA's own assignment, if that is known beside the study.
#[must_use]
pub fn baseline(study: &Study, file: Option<&BufferAssignmentFile>) -> Option<Baseline> {
    let program = study.program.as_ref()?;
    let (assignment, _) = study.ours.as_ref()?;
    let Program { module, facts, .. } = program;
    let own_sizes = |a: &Assignment| Sizes {
        total: sum(a.allocations.iter().map(|a| a.size)),
        temp: sum(a.allocations.iter().filter(|a| a.is_preallocated_temp()).map(|a| a.size)),
        peak: 0,
    };
    let placed = file.cloned().or_else(|| placed(study));
    let mut guessed = own_sizes(assignment);
    let rerun = |facts: Facts, options: &Options| {
        Sizes::of(&Study::of_program(Program::new(module.clone(), facts), options))
    };
    // Our own assignment stands in the study already, but its peak is only known of a study of ours.
    let mut options = Options::default();
    if let Some(file) = &placed {
        options.presets = presets(module, facts, file).unwrap_or_default();
    }
    let own = if study.source == crate::study::Source::Ours {
        Sizes::of(study)
    } else {
        let again = Facts::new(module, facts.orders.clone(), facts.target.clone()).ok()?;
        Sizes { total: guessed.total, temp: guessed.temp, ..rerun(again, &options) }
    };
    guessed.peak = own.peak;
    if facts.orders.exact
        && let Ok(again) = facts_of(module, &facts.target)
    {
        guessed = rerun(again, &options);
    }
    let forced = match report(module, facts, assignment) {
        Ok(r) => match r.verdict {
            Verdict::Wrong(v) if !is_known(&v) => {
                Err(format!("the checker does not find the program right as it is: {v}"))
            }
            _ => Ok(r.forced.iter().map(ToString::to_string).collect()),
        },
        Err(why) => Err(why),
    };
    let theirs =
        total_of_dump(study).or_else(|| file.map(|f| sum(f.allocations.iter().map(|a| a.size.bytes))));
    let returns_read_only = returns_read_only(module, facts);
    Some(Baseline { own, guessed, forced, returns_read_only, placed, theirs })
}

/// A value by the name that the report gives it.
fn value_of(program: &Program, name: &str) -> Result<ValueId, String> {
    let wanted = name.trim_end_matches("{}");
    let all = || program.facts.values().map(|v| v.id);
    let label = |v: &ValueId| program.facts.label(&program.module, *v);
    all()
        .find(|v| label(v).trim_end_matches("{}") == wanted)
        .or_else(|| only(all().filter(|v| is_cut_of(name, &label(v)))))
        .ok_or_else(|| format!("There is no value {}.", cut(name)))
}

/// Makes the edits one after another, and runs the program so changed. What is wrong is said in a sentence.
pub fn try_edits(study: &Study, baseline: &Baseline, edits: &[Edit]) -> Result<Tried, String> {
    let original = study.program.as_ref().ok_or("This needs the program.")?;
    let mut target = original.facts.target.clone();
    let mut run = Run::default();
    let mut changed: Option<Program> = None;
    let mut said = Vec::new();
    for edit in edits {
        let (change, words) = edit.make(changed.as_ref().unwrap_or(original), &mut run)?;
        if let Some(module) = change {
            let facts = facts_of(&module, &target)?;
            changed = Some(Program::new(module, facts));
        }
        said.push(words);
    }
    let is_same_module = changed.is_none();
    if run.alignment.is_some() {
        target.alignment_override = run.alignment;
    }
    let mut program = match changed {
        Some(program) if program.facts.target == target => program,
        Some(Program { module, .. }) => {
            let facts = facts_of(&module, &target)?;
            Program::new(module, facts)
        }
        None => {
            let module = original.module.clone();
            let facts = Facts::new(&module, original.facts.orders.clone(), target)
                .map_err(|e| e.describe(&module))?;
            Program::new(module, facts)
        }
    };
    let mut remarks = Vec::new();
    let mut options = Options { algorithm: run.algorithm, ..Options::default() };
    if let Some(file) = &baseline.placed {
        match presets(&program.module, &program.facts, file) {
            Some(presets) => options.presets = presets,
            None => remarks.push(
                "What memory space assignment placed does not fit the program so changed, and is left out."
                    .to_owned(),
            ),
        }
    }
    program.dropped = run.dropped;
    let mut edited = Vec::new();
    let last = program.facts.clock.end.0;
    for (name, start, end) in &run.ranges {
        let value = value_of(&program, name)?;
        // What lives out is wanted at the end of the program, a step behind the last.
        if *end > last {
            return Err(format!(
                "A range of {} to step {end}, expected at most {last}: the program ends there.",
                cut(name)
            ));
        }
        edited.push(RangeEdit { value, start: Step(*start), end: Step(*end) });
    }
    program.facts.ranges = program.facts.ranges.edited(&edited);
    let Program { module, facts, .. } = &program;
    let (assignment, decisions) = assigner::assign(module, facts, &facts.ranges, &options);
    let sharings = match &study.ours {
        Some((before, _)) if is_same_module && !edited.is_empty() => {
            let values: Vec<ValueId> = edited.iter().map(|e| e.value).collect();
            let change = words::change(module, facts, before, (&facts.ranges, &assignment), &values);
            Some(change.sharing_words(module, facts))
        }
        _ => None,
    };
    let soundness = soundness(&program, &assignment, baseline);
    if !is_same_module && original.facts.orders.exact {
        remarks.push(
            "XLA's internal orders are known of the program as it is only; both sums are of runs with guessed ones."
                .to_owned(),
        );
    }
    let before = if is_same_module { baseline.own } else { baseline.guessed };
    remarks.extend(baseline.theirs.and_then(|theirs| base_words(theirs, before.total)));
    let study = Study::of_assignment(program, assignment, decisions);
    let after = Sizes::of(&study);
    let is_donation = edits.iter().any(|e| matches!(e, Edit::Donate { .. }));
    if is_donation && !is_same_module && after.temp > before.temp {
        remarks.extend(turned_out(original, baseline, &study));
    }
    Ok(Tried { study, edits: said, before, after, sharings, soundness, remarks })
}

/// Values that stood in the memory of outputs or arguments and are temporary now that an argument is donated: the largest of
/// them, in a sentence.
fn turned_out(original: &Program, baseline: &Baseline, after: &Study) -> Option<String> {
    let module = original.module.clone();
    let facts = facts_of(&module, &original.facts.target).ok()?;
    let mut options = Options::default();
    if let Some(file) = &baseline.placed {
        options.presets = presets(&module, &facts, file).unwrap_or_default();
    }
    let before = Study::of_program(Program::new(module, facts), &options);
    let roles: HashMap<&ValueName, Role> =
        before.rows.iter().map(|r| (&r.name, before.slab(r).role)).collect();
    let is_out = |r: &&Row| {
        let was = roles.get(&r.name).is_some_and(|r| matches!(r, Role::Output | Role::Argument));
        was && after.slab(r).role == Role::Temp && !r.is_tuple && r.size > 0
    };
    let mut out: Vec<&Row> = after.rows.iter().filter(is_out).collect();
    out.sort_by_key(|r| std::cmp::Reverse(r.size));
    let names: Vec<String> =
        out.iter().map(|r| format!("{} ({})", cut(&r.name.to_string()), words::bytes(r.size))).collect();
    (!names.is_empty()).then(|| {
        format!(
            "The output no longer has memory of its own, in which other values stood before it was written. Temporary now: {}.",
            list(&names, 3)
        )
    })
}

/// Executes the assignment of a study, or the one that `text` is: is it right for the program? `None` without a program.
#[must_use]
pub fn check_study(study: &Study, text: Option<&str>) -> Option<Soundness> {
    let program = study.program.as_ref()?;
    let Program { module, facts, .. } = program;
    let found = match (text, &study.ours) {
        (Some(text), _) => report_of(module, facts, text),
        (None, Some((assignment, _))) => report(module, facts, assignment),
        (None, None) => return None,
    };
    Some(match found {
        Err(why) => Soundness::Unknown(why),
        Ok(report) => match report.verdict {
            Verdict::Wrong(v) => Soundness::Wrong(v.to_string()),
            _ if !report.forced.is_empty() => {
                Soundness::NeedsCopy(report.forced.iter().map(ToString::to_string).collect())
            }
            Verdict::NotFullyExplored(_) => Soundness::NotFullyExplored,
            Verdict::Right(_) => Soundness::Right,
        },
    })
}

fn soundness(program: &Program, assignment: &Assignment, baseline: &Baseline) -> Soundness {
    let before = match &baseline.forced {
        Ok(forced) => forced,
        Err(why) => return Soundness::Unknown(why.clone()),
    };
    let Program { module, facts, .. } = program;
    let report = match report(module, facts, assignment) {
        Ok(report) => report,
        Err(why) => return Soundness::Unknown(why),
    };
    let is_explored = match report.verdict {
        Verdict::Wrong(v) if !is_known(&v) => return Soundness::Wrong(v.to_string()),
        Verdict::NotFullyExplored(_) => false,
        _ => true,
    };
    if report.forced.len() > before.len() {
        let new = report.forced.iter().map(ToString::to_string).filter(|v| !before.contains(v));
        return Soundness::NeedsCopy(new.collect());
    }
    if !baseline.returns_read_only && returns_read_only(module, facts) {
        return Soundness::ReturnsArgument;
    }
    if is_explored { Soundness::Right } else { Soundness::NotFullyExplored }
}
