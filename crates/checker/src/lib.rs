//! Is a buffer assignment right? (stub)

mod in_place;
mod memory;
mod plan;
mod program;
mod run;
mod violation;

pub use in_place::Backend;
pub use plan::{Allocation, Placement, Plan, PlanError};
pub use violation::{Datum, Reason, Spot, Violation, When};

use hlo::{Module, Shape};
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
pub fn check(module: &Module, plan: &Plan, options: &Options) -> Result<Verdict, CheckError> {
    let program = program::Program::new(module, plan, options.backend)?;
    if let Err(violation) = program.check_places() {
        return Ok(Verdict::Wrong(Box::new(violation)));
    }
    let mut machine = Machine::new(&program, options);
    let end = machine.run();
    Ok(match end {
        Ok(()) => Verdict::Right(machine.summary()),
        Err(Stop::Wrong(violation)) => Verdict::Wrong(violation),
        Err(Stop::Budget) => Verdict::NotFullyExplored(machine.summary()),
    })
}
