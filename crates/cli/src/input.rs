//! From what the command line names to a module and its facts.

use crate::Failure;
use analysis::{Backend, Facts, Generation, Orders, Target};
use assigner::{Assignment, Decision, Options};
use clap::Args;
use flate2::read::MultiGzDecoder;
use hlo::{Diagnostic, InstructionId, Module, Severity};
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A compressed file may not grow beyond this many bytes.
const MOST_BYTES: u64 = 2 << 30;

/// The module and how to take it: the same for all commands that work on one.
#[derive(Args)]
pub(crate) struct ModuleArguments {
    /// HLO text or `.hlo.pb`, also gzipped; `-` is standard input
    module: PathBuf,
    /// The `.hlo.pb` of the same module, for the internal orders that text lacks
    #[arg(long, value_name = "PROTO")]
    orders: Option<PathBuf>,
    /// The compiler the module comes from: cpu, gpu or tpu [default: detected]
    #[arg(long)]
    pub(crate) target: Option<Backend>,
    /// The generation of TPU: v2, v3, v4, v5e, v5p, v6e or 7x [default: guessed; most modules of v5p and later look like v5e]
    #[arg(long, value_name = "GENERATION")]
    tpu: Option<Generation>,
    /// Use this alignment for every colour
    #[arg(long, value_name = "BYTES")]
    alignment: Option<u64>,
    /// Take the module as if it had no schedule: only dependencies say what comes before what
    #[arg(long)]
    no_schedule: bool,
    /// Run copy insertion first: for modules as they are before it
    #[arg(long)]
    insert_copies: bool,
}

/// What shapes the assignment itself.
#[derive(Args)]
pub(crate) struct AssignmentArguments {
    /// The packer: `choose_best`, `spatial`, `temporal`, `fast_merge`, `fast_split` [default: the target's own]
    #[arg(long, value_name = "NAME")]
    algorithm: Option<packing::Algorithm>,
    /// A value (`name`, or `name{index}`) that must not live out of the module; may be given several times
    #[arg(long, value_name = "VALUE")]
    must_not_live_out: Vec<String>,
    /// Close a heap when it would grow beyond this
    #[arg(long, value_name = "BYTES")]
    heap_limit: Option<u64>,
    /// A buffer-assignment file with what memory space assignment placed: its allocations of colour 1
    #[arg(long, value_name = "FILE")]
    presets: Option<PathBuf>,
}

/// A module with its orders, before anything is found out.
pub(crate) struct Unanalysed {
    pub(crate) module: Module,
    pub(crate) orders: Orders,
    pub(crate) target: Target,
}

/// A module with everything that is true of it.
pub(crate) struct Program {
    pub(crate) module: Module,
    pub(crate) facts: Facts,
}

/// Reads a file, or standard input for `-`, and unpacks it if it is gzipped.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let fail = |e: std::io::Error| Failure(format!("{}: {e}", path.display()));
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(fail)?;
    } else {
        bytes = std::fs::read(path).map_err(fail)?;
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        MultiGzDecoder::new(&bytes[..]).take(MOST_BYTES + 1).read_to_end(&mut unpacked).map_err(fail)?;
        if unpacked.len() as u64 > MOST_BYTES {
            return Err(Failure(format!(
                "{}: more than {MOST_BYTES} bytes unpacked, expected fewer",
                path.display()
            )));
        }
        bytes = unpacked;
    }
    Ok(bytes)
}

/// `FILE:LINE:COLUMN: ...`, one a line.
pub(crate) fn in_words(path: &Path, diagnostics: &[Diagnostic]) -> String {
    let mut out = String::new();
    for d in diagnostics {
        _ = writeln!(out, "{}:{d}", path.display());
    }
    out
}

impl ModuleArguments {
    /// As if the command line had named these.
    pub(crate) fn new(
        module: PathBuf,
        orders: Option<PathBuf>,
        target: Option<Backend>,
        alignment: Option<u64>,
    ) -> Self {
        Self { module, orders, target, tpu: None, alignment, no_schedule: false, insert_copies: false }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.module
    }

    /// Reads the module; warnings go to standard error.
    pub(crate) fn read(&self) -> Result<Module, Failure> {
        self.module_of(&read_bytes(&self.module)?)
    }

    /// The module in what was read already; warnings go to standard error.
    pub(crate) fn module_of(&self, bytes: &[u8]) -> Result<Module, Failure> {
        let read = if is_proto(bytes) { hlo::read_proto(bytes) } else { hlo::read_bytes(bytes) };
        let (errors, warnings): (Vec<_>, Vec<_>) =
            read.diagnostics.into_iter().partition(|d| d.severity == Severity::Error);
        eprint!("{}", in_words(&self.module, &warnings));
        match read.module {
            Some(module) if errors.is_empty() => Ok(module),
            _ => Err(Failure(in_words(&self.module, &errors))),
        }
    }

    /// Reads and analyses it.
    pub(crate) fn program(&self) -> Result<Program, Failure> {
        self.program_of(&read_bytes(&self.module)?)
    }

    /// Analyses what was read already.
    pub(crate) fn program_of(&self, bytes: &[u8]) -> Result<Program, Failure> {
        let Unanalysed { mut module, mut orders, target } = self.unanalysed_of(bytes, Orders::guess)?;
        if self.insert_copies {
            let with_copies =
                copy_insertion::insert_copies(&module, &orders, &target, copy_insertion::Options::default())
                    .map_err(|e| self.failure(&module, e.instruction(), &e.describe(&module)))?;
            // Printed and read again, every instruction has its own line.
            let text = hlo::print(&with_copies.module);
            module = hlo::read_owned(text).complete().map_err(|d| Failure(in_words(&self.module, &d)))?;
            orders = with_copies.orders;
        }
        let facts = if self.no_schedule {
            Facts::without_schedule(&module, orders, target)
        } else {
            Facts::new(&module, orders, target)
        };
        match facts {
            Ok(facts) => Ok(Program { module, facts }),
            Err(e) => Err(self.failure(&module, e.instruction(), &e.describe(&module))),
        }
    }

    /// Reads it with orders and target, for a pass that looks for facts itself. `guess` gives the orders that no proto gives.
    pub(crate) fn unanalysed(
        &self,
        guess: impl Fn(&Module, &Target) -> Orders,
    ) -> Result<Unanalysed, Failure> {
        self.unanalysed_of(&read_bytes(&self.module)?, guess)
    }

    fn unanalysed_of(
        &self,
        bytes: &[u8],
        guess: impl Fn(&Module, &Target) -> Orders,
    ) -> Result<Unanalysed, Failure> {
        let module = self.module_of(bytes)?;
        let mut target = match self.target {
            Some(backend) => Target::tuned(backend, &module),
            None => Target::detect(&module),
        };
        if let Some(generation) = self.tpu {
            target = target.of_generation(generation);
        }
        target.alignment_override = self.alignment;
        let orders = self.orders_of(bytes, &module, &target, guess)?;
        Ok(Unanalysed { module, orders, target })
    }

    /// What is wrong with the module, and where.
    pub(crate) fn failure(&self, module: &Module, at: Option<InstructionId>, what: &str) -> Failure {
        let (line, column) = at.map_or((1, 1), |i| {
            let at = module.location(module.instruction(i).text.start);
            (at.line, at.column)
        });
        Failure(format!("{}:{line}:{column}: {what}", self.module.display()))
    }
}

impl ModuleArguments {
    /// XLA's own orders if there is a proto to take them from, else a guess.
    fn orders_of(
        &self,
        bytes: &[u8],
        module: &Module,
        target: &Target,
        guess: impl Fn(&Module, &Target) -> Orders,
    ) -> Result<Orders, Failure> {
        let named;
        let (path, proto) = match &self.orders {
            Some(path) => {
                named = read_bytes(path)?;
                (path, &named[..])
            }
            None if is_proto(bytes) => (&self.module, bytes),
            None => return Ok(guess(module, target)),
        };
        let stored = hlo::read_proto_orders(proto).map_err(|d| Failure(format!("{}:{d}", path.display())))?;
        Orders::exact(module, target, &stored)
            .map_err(|e| Failure(format!("{}: {e}, expected the same module", path.display())))
    }
}

/// Is it a serialised message rather than text? Both can begin with a line feed, but only a message holds control bytes.
fn is_proto(bytes: &[u8]) -> bool {
    let is_control = |b: &u8| matches!(b, 1..=8 | 14..=31);
    bytes.first() == Some(&b'\n') && bytes.iter().take(4096).any(is_control)
}

impl AssignmentArguments {
    /// Runs the assigner.
    pub(crate) fn assign(&self, program: &Program) -> Result<(Assignment, Vec<Decision>), Failure> {
        let presets = match &self.presets {
            Some(path) => crate::presets::read(path, program)?,
            None => Vec::new(),
        };
        let mut must_not_live_out = Vec::new();
        for name in &self.must_not_live_out {
            let found = program.facts.values().find(|v| program.facts.label(&program.module, v.id) == *name);
            match found {
                Some(v) => must_not_live_out.push(v.id),
                None => {
                    return Err(Failure(format!(
                        "--must-not-live-out: no value `{name}`, expected one of the module"
                    )));
                }
            }
        }
        let options =
            Options { algorithm: self.algorithm, heap_limit: self.heap_limit, must_not_live_out, presets };
        let (assignment, decisions) =
            assigner::assign(&program.module, &program.facts, &program.facts.ranges, &options);
        if cfg!(debug_assertions) {
            crate::checking::assert_right(&program.module, &program.facts, &assignment);
        }
        Ok((assignment, decisions))
    }
}
