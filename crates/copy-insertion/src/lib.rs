//! XLA's copy insertion: a module in, a module with the copies that it needs out, and why it needs them.
//!
//! Loops, branches, updates in place and donation bind values to one buffer. Where two of them are wanted at the same
//! time, only a copy helps. [`insert_copies`] runs the pass as XLA does (copy-insertion specification, 11.1 to 11.5), in
//! the order of the modules:
//!
//! 1. `add` puts a copy wherever values *might* get in each other's way (11.2);
//! 2. `cleanup` takes tuples apart and drops what nobody reads (11.4), as it does at the end;
//! 3. `remove` takes copies away again: the values of each buffer stand in a list in the order in which they are written,
//!    and a copy goes if the lists of its source and of itself can be joined (11.3). Where live ranges alone say no,
//!    `region` may look closer, and may make instructions wait for each other (11.3.5). Rounds go on until nothing changes;
//! 4. `special` adds what no order can make up for: constants and parameters that are not donated may not be written
//!    over or returned, and each result needs a buffer of its own (11.5).
//!
//! Each copy has a [`CopyStory`]: the rule that made it, the attempts to remove it, and if it stays the two values that would
//! clash and who reads too late. [`suggest`] looks for what would let it go, and gives only what it has tried. [`retrace`] tells
//! of the copies that a compiled module has.
//!
//! ```
//! let module = hlo::read(
//!     "HloModule m
//!
//! ENTRY main {
//!   p = f32[8]{0} parameter(0)
//!   u = f32[2]{0} parameter(1)
//!   i = s32[] constant(1)
//!   ROOT d = f32[8]{0} dynamic-update-slice(p, u, i)
//! }
//! ",
//! )
//! .complete()
//! .expect("a module");
//! let target = analysis::Target::detect(&module);
//! let orders = copy_insertion::guess_orders(&module, &target);
//! let options = copy_insertion::Options::default();
//! let outcome = copy_insertion::insert_copies(&module, &orders, &target, options).expect("copies");
//!
//! // The parameter is not donated, so that its buffer cannot be the result's.
//! let root = outcome.module.root(outcome.module.entry);
//! let updated = outcome.module.operands(root)[0];
//! assert_eq!(outcome.module.instruction(updated).opcode, hlo::Opcode::Copy);
//!
//! let advice = copy_insertion::suggest(&module, &orders, &target, options, &outcome);
//! let advice: Vec<String> =
//!     advice.iter().flatten().map(|s| copy_insertion::words::suggestion(&module, s)).collect();
//! assert_eq!(advice, ["donate parameter 0, p, to output {}: 0 copies instead of 1, 32 B less"]);
//! ```
//!
//! # What is not modelled
//!
//! Explicit buffer types ([`Error::ExplicitBuffer`]); a region limit between never and always; schedules: only
//! dependencies order instructions, and the result has no schedule. Rules for transfers under way (11.2.2) and for
//! asynchronous operations follow the specification without having been compared with XLA.

mod add;
mod cleanup;
mod draft;
#[doc(hidden)]
pub mod fuzzing;
mod region;
mod remove;
mod retrace;
mod special;
mod story;
mod suggest;
pub mod words;

pub use retrace::{Retraced, before_memory_spaces, needless, retrace, retrace_without};
pub use story::{
    Attempt, AttemptOutcome, Clash, CopyStory, Fate, Late, LateRead, Place, Refusal, Rule, Until,
};
pub use suggest::{Change, Suggestion, changed, suggest, suggest_within};

use analysis::{AnalysisError, Backend, Orders, Target};
use draft::Draft;
use hlo::{ComputationId, InstructionId, Module, Opcode, Shape};
use rustc_hash::FxHashMap;
use std::fmt;

/// When region analysis is asked (11.1, the region limit).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RegionAnalysis {
    /// Never, as XLA:CPU and XLA:GPU do by themselves.
    #[default]
    Never,
    /// Whenever the plain test fails.
    Always,
}

/// After which phase to stop (11.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Stage {
    /// Copies are added wherever values might get in each other's way.
    Added,
    /// Copies that are not needed have no readers any more; they still stand there.
    Removed,
    /// Copies for read-only values and unclear results are added.
    Special,
    /// What nobody reads is gone: the end.
    #[default]
    After,
}

/// How to run the pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// When region analysis is asked.
    pub region_analysis: RegionAnalysis,
    /// After which phase to stop.
    pub stop_after: Stage,
    /// Leave what nobody reads where it is. XLA's pass clears it away (11.4), which a module that is past its later passes
    /// may not want: transfers ahead of the next program are read by none.
    pub keep_unread: bool,
}

impl Options {
    /// As the target's own compiler runs it: libtpu asks region analysis, as what copies its modules have shows; XLA:CPU and XLA:GPU
    /// do not.
    #[must_use]
    pub fn of(target: &Target) -> Self {
        let region_analysis = match target.backend {
            Backend::Tpu => RegionAnalysis::Always,
            Backend::Cpu | Backend::Gpu => RegionAnalysis::Never,
        };
        Self { region_analysis, ..Self::default() }
    }
}

/// Why the pass cannot run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The module cannot be analysed.
    Analysis(AnalysisError),
    /// A computation is called from two places, or both as control flow and per element (11.1).
    NotFlattened(ComputationId),
    /// A value with an explicit buffer type, whose rules are not known well enough (11.2.2).
    ExplicitBuffer(InstructionId),
}

impl Error {
    /// In words, with names.
    #[must_use]
    pub fn describe(&self, module: &Module) -> String {
        match self {
            Self::Analysis(e) => e.describe(module),
            Self::NotFlattened(c) => format!(
                "computation %{} is called from several places, expected the call graph to be flattened before copy insertion",
                module.computation_name(*c)
            ),
            Self::ExplicitBuffer(i) => {
                format!("%{} has a buffer type `b(...)`, expected arrays and tuples", module.name_of(*i))
            }
        }
    }

    /// The instruction it is about, if it is about one.
    #[must_use]
    pub fn instruction(&self) -> Option<InstructionId> {
        match self {
            Self::Analysis(e) => e.instruction(),
            Self::NotFlattened(_) => None,
            Self::ExplicitBuffer(i) => Some(*i),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Analysis(e) => e.fmt(f),
            Self::NotFlattened(_) => f.write_str("the call graph is not flattened"),
            Self::ExplicitBuffer(_) => f.write_str("an explicit buffer type"),
        }
    }
}

impl std::error::Error for Error {}

impl From<AnalysisError> for Error {
    fn from(e: AnalysisError) -> Self {
        Self::Analysis(e)
    }
}

/// What the pass gave.
#[derive(Debug)]
pub struct Outcome {
    /// The module with its copies. It has no schedule.
    pub module: Module,
    /// Its orders.
    pub orders: Orders,
    /// All that the pass ever had, removed instructions included (emptied); [`CopyStory`] names its instructions.
    pub history: Module,
    /// All copies, in the order in which they were made.
    pub copies: Vec<CopyStory>,
    /// What each removed copy is replaced by, numbered as in `history`.
    pub replaced: Vec<(InstructionId, InstructionId)>,
}

/// A copy that was made, and why.
pub(crate) struct Made {
    pub(crate) copy: InstructionId,
    pub(crate) of: Place,
    pub(crate) rule: Rule,
}

/// Guesses the orders of a module as it is before the pass, where there is no proto to take them from.
///
/// Region analysis forces instructions to wait for each other in the order in which they are stored. XLA:CPU makes
/// bitcasts when other instructions stand already, and fusions last.
#[must_use]
pub fn guess_orders(module: &Module, target: &Target) -> Orders {
    let mut orders = Orders::guess(module, target);
    for list in &mut orders.instructions {
        let is_fused = list.first().is_some_and(|first| {
            let computation = module.instruction(*first).computation;
            // A body is stored from its root backwards.
            computation != module.entry && module.root(computation) == *first && list.len() > 1
        });
        if !is_fused {
            list.sort_by_key(|i| match module.instruction(*i).opcode {
                Opcode::Bitcast => 1,
                Opcode::Fusion => 2,
                _ => 0,
            });
        }
    }
    orders
}

/// Runs the pass.
pub fn insert_copies(
    module: &Module,
    orders: &Orders,
    target: &Target,
    options: Options,
) -> Result<Outcome, Error> {
    let is_buffer = |i: &InstructionId| {
        let places = module.shapes.subshapes(module.instruction(*i).shape);
        places.iter().any(|p| matches!(module.shapes.get(p.shape), Shape::Buffer(_)))
    };
    if let Some(id) = module.instruction_ids().find(is_buffer) {
        return Err(Error::ExplicitBuffer(id));
    }
    // Reading the facts once checks the module before anything relies on it.
    let facts = analysis::Facts::new(module, orders.clone(), target.clone())?;
    check_flattened(module, &facts)?;

    let mut draft = Draft::new(module, orders, target);
    if options.keep_unread {
        draft.keep_unread();
    }
    let mut made = given(&draft);
    let mut removal = remove::Removal::default();
    add::add_copies(&mut draft, &mut made)?;
    cleanup::clean_up(&mut draft);
    if options.stop_after >= Stage::Removed {
        removal = remove::remove_copies(&mut draft, options.region_analysis)?;
    }
    if options.stop_after >= Stage::Special {
        special::add_special(&mut draft, &mut made)?;
    }
    if options.stop_after >= Stage::After {
        cleanup::clean_up(&mut draft);
    }
    let (module, orders, map) = draft.finish();
    let mut replacements = stand_ins(&made, &removal, &map);
    let copies = made
        .into_iter()
        .map(|m| {
            let id = m.copy;
            let was_removed = removal.removed.contains_key(&id);
            let stands_as = map.get(id.index()).copied().flatten();
            CopyStory {
                copy: id,
                stands_as,
                of: m.of,
                in_place_of: replacements.remove(&id).unwrap_or_default(),
                protects: removal.protects.remove(&id).map(|p| standing(p, &removal)),
                bytes: target.bytes(&draft.module.shapes, draft.shape(id)),
                rule: m.rule,
                attempts: removal.attempts.remove(&id).unwrap_or_default(),
                refusal: removal.refusals.remove(&id),
                fate: match (was_removed, stands_as) {
                    (true, _) => Fate::Removed,
                    (false, Some(_)) => Fate::Stayed,
                    (false, None) => Fate::Dead,
                },
            }
        })
        .collect();
    let mut replaced: Vec<_> = removal.removed.into_iter().collect();
    replaced.sort_unstable();
    Ok(Outcome { module, orders, history: draft.module, copies, replaced })
}

/// A place whose instruction was removed is where its value comes from.
fn standing(place: Place, removal: &remove::Removal) -> Place {
    let mut at = place.instruction;
    while let Some(next) = removal.removed.get(&at) {
        at = *next;
    }
    // Only arrays are copied, and what is copied may be a part of a tuple that is taken out beforehand.
    if at == place.instruction { place } else { Place { instruction: at, index: hlo::ShapeIndex::default() } }
}

/// By copy that stays: the copies of the module that were removed beside it.
fn stand_ins(
    made: &[Made],
    removal: &remove::Removal,
    map: &[Option<InstructionId>],
) -> FxHashMap<InstructionId, Vec<InstructionId>> {
    let stays = |i: &InstructionId| {
        !removal.removed.contains_key(i) && map.get(i.index()).is_some_and(Option::is_some)
    };
    let copies: FxHashMap<InstructionId, &Made> = made.iter().map(|m| (m.copy, m)).collect();
    let by_source: FxHashMap<InstructionId, InstructionId> = made
        .iter()
        .filter(|m| m.rule != Rule::Given && stays(&m.copy))
        .map(|m| (m.of.instruction, m.copy))
        .collect();
    let by_value: FxHashMap<InstructionId, InstructionId> = made
        .iter()
        .filter(|m| m.rule != Rule::Given && stays(&m.copy))
        .filter_map(|m| Some((removal.protects.get(&m.copy)?.instruction, m.copy)))
        .collect();
    let mut out: FxHashMap<InstructionId, Vec<InstructionId>> = FxHashMap::default();
    for given in made.iter().filter(|m| m.rule == Rule::Given) {
        if !removal.removed.contains_key(&given.copy) {
            continue;
        }
        // What it reads now, through other copies that went.
        let mut at = given.copy;
        while let Some(next) = removal.removed.get(&at) {
            at = *next;
        }
        let reads_one = copies.contains_key(&at) && stays(&at);
        let found = by_source
            .get(&given.copy)
            .copied()
            .or(Some(at).filter(|_| reads_one))
            // Its own value is saved by another copy, which reads it through a tuple.
            .or_else(|| by_value.get(&given.copy).copied())
            // What it copied is copied anew, by a special case.
            .or_else(|| by_source.get(&at).copied());
        if let Some(copy) = found {
            out.entry(copy).or_default().push(given.copy);
        }
    }
    out
}

/// The copies that stand in the module already.
fn given(draft: &Draft) -> Vec<Made> {
    let mut out = Vec::new();
    for c in &draft.storage {
        if draft.is_fusion_body(*c) {
            continue;
        }
        for copy in draft.stored(*c) {
            if draft.opcode(copy) == Opcode::Copy
                && let Some(of) = draft.module.operands(copy).first()
            {
                let of = Place::new(&draft.module, *of, 0);
                out.push(Made { copy, of, rule: Rule::Given });
            }
        }
    }
    out
}

/// Control flow may call each computation from one place only, and none may be called per element too (11.1).
fn check_flattened(module: &Module, facts: &analysis::Facts) -> Result<(), Error> {
    let mut by_control_flow = vec![0u32; module.computations.len()];
    let mut per_element = vec![false; module.computations.len()];
    for id in module.instruction_ids() {
        let opcode = module.instruction(id).opcode;
        let is_async = matches!(opcode, Opcode::AsyncStart | Opcode::AsyncUpdate | Opcode::AsyncDone);
        let caller = module.instruction(id).computation;
        let inherits = facts.graph.context(caller) == analysis::Context::Embedded;
        for c in module.called(id) {
            if !analysis::graph::is_control_flow(opcode) || inherits {
                per_element[c.index()] = true;
            } else if !is_async {
                by_control_flow[c.index()] += 1;
            }
        }
    }
    let is_wrong = |c: &ComputationId| {
        by_control_flow[c.index()] > 1 || (by_control_flow[c.index()] > 0 && per_element[c.index()])
    };
    match module.computation_ids().find(is_wrong) {
        Some(c) => Err(Error::NotFlattened(c)),
        None => Ok(()),
    }
}
