//! Is a buffer assignment right? It is executed, and the first value that is lost is named.
//!
//! [`check`] takes a module and the text of an assignment, and nothing else: no live ranges, no aliasing analysis, no
//! can-share table of the engine that assigns. It shares no code with that engine, so that agreement means something.
//!
//! ```
//! let module = hlo::read(
//!     "HloModule m, is_scheduled=true
//!
//! ENTRY main {
//!   p = f32[4]{0} parameter(0)
//!   a = f32[4]{0} negate(p)
//!   b = f32[4]{0} exponential(p)
//!   ROOT c = f32[4]{0} add(a, b)
//! }
//! ",
//! )
//! .module
//! .expect("a module");
//! let plan = checker::Plan::parse(
//!     "BufferAssignment:
//! allocation 0: size 16, parameter 0, shape |f32[4]| at ShapeIndex {}:
//!  value: <0 p @0> (size=16,offset=0): f32[4]{0}
//! allocation 1: size 32, output shape is |f32[4]|, maybe-live-out:
//!  value: <1 a @0> (size=16,offset=0): f32[4]{0}
//!  value: <2 b @0> (size=16,offset=8): f32[4]{0}
//!  value: <3 c @0> (size=16,offset=0): f32[4]{0}
//! ",
//! )
//! .expect("an assignment");
//! let options = checker::Options::detect(&module, &plan);
//! let Ok(checker::Verdict::Wrong(violation)) = checker::check(&module, &plan, &options) else { panic!() };
//! assert_eq!(
//!     violation.to_string(),
//!     "step 3: c reads a, written at step 1, but allocation 1 [8,16) holds b, written at step 2"
//! );
//! ```
//!
//! # The model
//!
//! Memory maps bytes to data. A datum stands for "this value, written at this step of this iteration"; no two writes
//! give the same datum. The module runs in the order of its text, one instruction a step. What an instruction gives is
//! a tree of references, one for each part of its shape: where the part lies, and which datum has to be there.
//!
//! * Most instructions read every part of every operand, and write every part of their result where the assignment
//!   says. A read looks whether all bytes of the operand hold its datum.
//! * `tuple` writes its table of pointers and passes its elements on; `get-tuple-element` reads the table; `bitcast` and
//!   its like pass on.
//! * A loop runs its condition and its body, twice, and its condition once more. The state must lie where the loop says,
//!   before the first iteration and after each: nothing moves it. It is looked at whenever the loop could end.
//! * The branches of a conditional all run, each from the memory as it was before. Afterwards a byte that any of them
//!   has written no longer holds what was there; the results must lie in one place, and get the conditional's name.
//! * An operation that starts at one step and is done at another keeps its operands, its result and whatever its
//!   computation has written until it is done; nobody may read the result before.
//! * Constants and entry parameters are there from the start. Nothing may be written over a constant or a parameter that
//!   is not donated. At the end, all results stand in allocations that live out, donated ones in their parameter's.
//! * A fusion, reduction, sort or custom call is one step. It may write over an operand in exactly the same bytes if each
//!   element of the result is made from the same element of that operand, or if the operand is what it changes; see
//!   the specification, 7. It may never write over a part of an operand.
//!
//! # Why a pass means that the assignment is right
//!
//! A computation sees the world through its parameters only. So what it reads is its state, its constants, and what
//! itself has written; if all that is in place at its beginning, the addresses alone decide whether it is in place at
//! each of its reads. At the second iteration the addresses are those of the first, and so at each later one: if two
//! went well and left the state in place, all do. After a loop or conditional the memory counts as overwritten wherever
//! any path could have written, so what is found intact is intact on every path.
//!
//! # Who is to blame
//!
//! A loop, a donation or an update in place binds values to one buffer. Where two of them are wanted at the same time the
//! program needs a copy, and without it no assignment can be right. [`check_bound`] is told what is bound, reports such
//! losses apart, and goes on as if the read had found its value: what else it finds is the assignment's own. A loss counts
//! as the module's only if what is lost and what lies over it are bound *and* begin at the same byte.
//!
//! # What it cannot see
//!
//! * What happens inside one step: values of reducers and comparators get the checks of their place only.
//! * On GPU, which fusions read before they write is decided by emitters. A fusion that reduces, sorts, scatters or
//!   updates is believed to; one that transposes, multiplies matrices or gathers is not. On TPU the compiler's own
//!   `aliasing_operands` are believed.
//! * A dynamic-update-slice or scatter whose result lies elsewhere than its operand: it is taken to copy the rest.
//! * Two results of the program in one place: each is intact, but some callers want them apart.
//! * Padding. A value owns all bytes that the assignment gives it; that its tiles need them all is not computed, only
//!   that they are no fewer than the untiled shape takes.
//! * Alignment, and whether memory is wasted.
//! * Threads. Steps that XLA runs at the same time (thunks without a dependency) run here one after the other.

mod copies;
mod in_place;
mod memory;
mod plan;
mod program;
mod run;
mod violation;

pub use copies::{CopyViolation, Event, Place, check_copies};
pub use in_place::Backend;
pub use plan::{Allocation, Placement, Plan, PlanError};
pub use violation::{Datum, Reason, Spot, Violation, When};

use hlo::{InstructionId, Module, Shape};
use run::{Machine, Stop};
use std::fmt;

/// How far to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whose rules hold.
    pub backend: Backend,
    /// Iterations of each loop, each time it is entered.
    pub iterations: u32,
    /// The most work: steps, and values read and written.
    pub budget: u64,
}

impl Options {
    /// The usual: two iterations, and fifty million steps, reads and writes, which take seconds.
    #[must_use]
    pub fn new(backend: Backend) -> Self {
        Self { backend, iterations: 2, budget: 50_000_000 }
    }

    /// The usual for the compiler that seems to have made the module: tiled layouts are TPU's, a fingerprint in the
    /// header is GPU's.
    #[must_use]
    pub fn detect(module: &Module, plan: &Plan) -> Self {
        let is_tiled = module.instructions.iter().any(|i| {
            let shapes = &module.shapes;
            shapes.subshapes(i.shape).iter().any(|s| match shapes.get(s.shape) {
                Shape::Array { layout: Some(layout), .. } => !layout.tiles.is_empty(),
                _ => false,
            })
        });
        Self::new(if is_tiled || plan.has_pages {
            Backend::Tpu
        } else if module
            .header_attribute("frontend_attributes")
            .is_some_and(|t| t.contains("fingerprint_before_lhs"))
        {
            Backend::Gpu
        } else {
            Backend::Cpu
        })
    }
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Values with an address.
    pub values: usize,
    /// Steps executed; those of loops each time.
    pub steps: u64,
    /// Values read, each time with success.
    pub reads: u64,
    /// Values written.
    pub writes: u64,
    /// Loops run to their end.
    pub loops: u64,
    /// Branches of conditionals run to their end.
    pub branches: u64,
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every read found its value.
    Right(Summary),
    /// Something is wrong; this is the first thing.
    Wrong(Box<Violation>),
    /// Nothing wrong up to here, but the budget was spent before the end.
    NotFullyExplored(Summary),
}

/// The question makes no sense.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckError {
    /// The assignment speaks of a value that the module does not have.
    UnknownValue {
        /// The line of the assignment.
        line: u32,
        /// The value.
        value: String,
    },
    /// The assignment gives a value two places.
    PlacedTwice {
        /// The line of the second.
        line: u32,
        /// The value.
        value: String,
    },
    /// Computations call each other too deep, or in a circle.
    TooDeep {
        /// Where it was found.
        computation: String,
    },
    /// More than four thousand million parts of results.
    TooLarge,
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownValue { line, value } => {
                write!(f, "{line}:1: {value}, expected a value of the module")
            }
            Self::PlacedTwice { line, value } => {
                write!(f, "{line}:1: {value} a second time, expected one place for each value")
            }
            Self::TooDeep { computation } => {
                write!(f, "1:1: {computation}, expected calls that are not so deep and not circular")
            }
            Self::TooLarge => f.write_str("1:1: too many values, expected fewer than 2^32"),
        }
    }
}

impl std::error::Error for CheckError {}

/// Executes the module over the memory that the assignment lays out.
///
/// Instructions run in the order of the text, also where the module does not claim to be scheduled. The time is that
/// of the steps executed, times the logarithm of how many values an allocation holds; loops in loops run two iterations
/// each, so their work doubles with each level, until [`Options::budget`] is spent.
pub fn check(module: &Module, plan: &Plan, options: &Options) -> Result<Verdict, CheckError> {
    run(module, plan, options, None).map(|report| report.verdict)
}

/// Which parts of results have to share one address, by number of the buffer they are bound to; `None` where that is not
/// known. The second argument counts the parts of a result in pre-order, 0 being the whole.
pub type Bound<'a> = dyn Fn(InstructionId, u32) -> Option<u32> + 'a;

/// What [`check_bound`] found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The answer about the assignment.
    pub verdict: Verdict,
    /// What the module itself loses, whatever the assignment: it needs a copy. In the order of the run, each once.
    pub forced: Vec<Violation>,
}

/// [`check`], told what is bound to one buffer: what is lost for that reason alone is reported apart.
pub fn check_bound(
    module: &Module,
    plan: &Plan,
    options: &Options,
    bound: &Bound<'_>,
) -> Result<Report, CheckError> {
    run(module, plan, options, Some(bound))
}

fn run(
    module: &Module,
    plan: &Plan,
    options: &Options,
    bound: Option<&Bound<'_>>,
) -> Result<Report, CheckError> {
    let program = program::Program::new(module, plan, options.backend)?;
    if let Err(violation) = program.check_places() {
        return Ok(Report { verdict: Verdict::Wrong(violation), forced: Vec::new() });
    }
    let mut machine = Machine::new(&program, options, bound);
    let verdict = match machine.run() {
        Ok(()) => Verdict::Right(machine.summary()),
        Err(Stop::Wrong(violation)) => Verdict::Wrong(violation),
        Err(Stop::Budget) => Verdict::NotFullyExplored(machine.summary()),
    };
    Ok(Report { verdict, forced: machine.forced() })
}
