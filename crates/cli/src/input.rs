//! From what the command line names to a module and its facts.

use crate::Failure;
use analysis::{Backend, Facts, Orders, Target};
use assigner::{Assignment, Decision, Options};
use clap::Args;
use flate2::read::MultiGzDecoder;
use hlo::{Diagnostic, Module, Severity};
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
    /// Use this alignment for every colour
    #[arg(long, value_name = "BYTES")]
    alignment: Option<u64>,
}

/// What shapes the assignment itself.
#[derive(Args)]
pub(crate) struct AssignmentArguments {
    /// The packer: `choose_best`, `spatial`, `temporal`, `fast_merge`, `fast_split` [default: the target's own]
    #[arg(long, value_name = "NAME")]
    algorithm: Option<packing::Algorithm>,
    /// Close a heap when it would grow beyond this
    #[arg(long, value_name = "BYTES")]
    heap_limit: Option<u64>,
    /// A buffer-assignment file with what memory space assignment placed: its allocations of colour 1
    #[arg(long, value_name = "FILE")]
    presets: Option<PathBuf>,
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
        Self { module, orders, target, alignment }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.module
    }

    /// Reads the module; warnings go to standard error.
    pub(crate) fn read(&self) -> Result<Module, Failure> {
        self.module_of(&read_bytes(&self.module)?)
    }

    fn module_of(&self, bytes: &[u8]) -> Result<Module, Failure> {
        let read = hlo::read_bytes(bytes);
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
        let module = self.module_of(bytes)?;
        let mut target = match self.target {
            Some(backend) => Target::tuned(backend, &module),
            None => Target::detect(&module),
        };
        target.alignment_override = self.alignment;
        let orders = Orders::guess(&module, &target);
        match Facts::new(&module, orders, target) {
            Ok(facts) => Ok(Program { module, facts }),
            Err(e) => {
                let (line, column) = e.instruction().map_or((1, 1), |i| {
                    let at = module.location(module.instruction(i).text.start);
                    (at.line, at.column)
                });
                Err(Failure(format!("{}:{line}:{column}: {}", self.module.display(), e.describe(&module))))
            }
        }
    }
}

impl AssignmentArguments {
    /// Runs the assigner.
    pub(crate) fn assign(&self, program: &Program) -> Result<(Assignment, Vec<Decision>), Failure> {
        let presets = match &self.presets {
            Some(path) => crate::presets::read(path, program)?,
            None => Vec::new(),
        };
        let options =
            Options { algorithm: self.algorithm, heap_limit: self.heap_limit, presets, ..Options::default() };
        Ok(assigner::assign(&program.module, &program.facts, &program.facts.ranges, &options))
    }
}
