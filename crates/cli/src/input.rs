//! From what the command line names to a module and its facts.

use crate::{Failure, files};
use analysis::{Backend, Facts, Generation, Orders, Target};
use assigner::words::count;
use assigner::{Assignment, Decisions, Options};
use clap::Args;
use flate2::read::MultiGzDecoder;
use hlo::{Diagnostic, InstructionId, Module, Severity};
use opening::{Blob, Entry, Opened};
use questions::{Settings, Study};
use std::cell::OnceCell;
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Remarks on the files of a module that are told.
const MOST_REMARKS: usize = 20;

/// Modules that are listed to choose from.
const MOST_NAMES: usize = 20;

/// The module and how to take it: the same for all commands that work on one.
#[derive(Args)]
pub(crate) struct ModuleArguments {
    /// HLO text or `.hlo.pb`, also gzipped; `-` is standard input; or a dump folder, or an archive of one
    module: PathBuf,
    /// Which module of a folder: its number, its name or one of its files, behind `FOLDER/` or `cpu:`, `gpu:`, `tpu:` if there are several
    #[arg(long = "module", value_name = "ID_OR_NAME")]
    pick: Option<String>,
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
    #[arg(long, value_name = "BYTES", value_parser = alignment)]
    alignment: Option<u64>,
    /// Take the module as if it had no schedule: only dependencies say what comes before what
    #[arg(long)]
    no_schedule: bool,
    /// Run copy insertion first: for modules as they are before it
    #[arg(long)]
    insert_copies: bool,
    /// What the folder or the archive holds, read once.
    #[arg(skip)]
    opened: OnceCell<Option<Opened>>,
    /// What standard input or a pipe gave, which can be read once only.
    #[arg(skip)]
    stream: OnceCell<Vec<u8>>,
    /// The option that says which module is meant, if it is not `--module`.
    #[arg(skip)]
    pick_option: Option<&'static str>,
}

/// An alignment on the command line.
pub(crate) fn alignment(text: &str) -> Result<u64, String> {
    let bytes = text.parse().map_err(|_| "expected a power of two".to_owned())?;
    questions::alignment(bytes)
}

/// What shapes the assignment itself.
#[derive(Args, Default)]
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

/// The bytes of a module.
pub(crate) struct Input {
    /// Its text or its protocol buffer.
    pub(crate) bytes: Vec<u8>,
    /// The protocol buffer beside its text, if a folder has it.
    proto: Option<Vec<u8>>,
    /// XLA's own assignment beside it.
    pub(crate) assignment: Option<String>,
}

/// The modules that have the number with other zeros before it (`4` for `0004`); if there is none, those whose name ends in
/// the words (`read_late` for `jit_read_late`).
fn loosely_picked(opened: &Opened, pick: &str) -> Vec<usize> {
    let backend = |b: &str| opened.modules.iter().any(|e| e.backend.is_some_and(|e| e.name() == b));
    let (of, pick) = match pick.split_once(':') {
        Some((of, rest)) if backend(of) => (Some(of), rest),
        _ => (None, pick),
    };
    let is_of = |e: &Entry| of.is_none_or(|of| e.backend.is_some_and(|b| b.name() == of));
    let modules = || opened.modules.iter().enumerate().filter(|(_, e)| is_of(e));
    if let Ok(number) = pick.parse::<u64>() {
        let is_it = |e: &Entry| e.id.as_deref().and_then(|id| id.parse().ok()) == Some(number);
        return modules().filter(|(_, e)| is_it(e)).map(|(i, _)| i).collect();
    }
    let is_it = |e: &Entry| {
        let before = e.name.strip_suffix(pick).and_then(|before| before.chars().next_back());
        !pick.is_empty() && before.is_some_and(|c| !c.is_alphanumeric())
    };
    modules().filter(|(_, e)| is_it(e)).map(|(i, _)| i).collect()
}

/// Do the bytes begin an archive, perhaps a gzipped one?
fn is_archive(bytes: &[u8]) -> bool {
    use opening::Wrapping;
    let mut head = bytes[..bytes.len().min(1024)].to_vec();
    if opening::wrapping(&head) == Some(Wrapping::Gzip) {
        let mut inner = Vec::new();
        // What is damaged is told when it is read whole.
        _ = MultiGzDecoder::new(&head[..]).take(512).read_to_end(&mut inner);
        head = inner;
    }
    matches!(opening::wrapping(&head), Some(Wrapping::Zip | Wrapping::Tar))
}

/// A module with everything that is true of it.
pub(crate) struct Program {
    pub(crate) module: Module,
    pub(crate) facts: Facts,
    /// What memory space assignment placed, where the folder tells it.
    pub(crate) presets: Vec<assigner::Preset>,
}

/// Reads a file, or standard input for `-`, and unpacks it if it is gzipped.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    unpacked(path, files::bytes(path)?)
}

/// The bytes of a file as they are, or unpacked if they are gzipped.
fn unpacked(path: &Path, mut bytes: Vec<u8>) -> Result<Vec<u8>, Failure> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let limits = opening::Limits::default();
        let by_ratio = (bytes.len() as u64).saturating_mul(limits.ratio).max(limits.always);
        let most = by_ratio.min(limits.bytes);
        let mut unpacked = Vec::new();
        if let Err(e) = MultiGzDecoder::new(&bytes[..]).take(most + 1).read_to_end(&mut unpacked) {
            return Err(Failure(format!(
                "{}: damaged behind the first {} bytes that were unpacked ({e}), expected a whole gzip file",
                path.display(),
                unpacked.len()
            )));
        }
        if unpacked.len() as u64 > most {
            return Err(Failure(format!(
                "{}: unpacks to more than {most} bytes, {}, expected fewer",
                path.display(),
                if by_ratio < limits.bytes {
                    format!("{} times its size", limits.ratio)
                } else {
                    "the most that is taken".to_owned()
                }
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
        Self {
            module,
            pick: None,
            orders,
            target,
            tpu: None,
            alignment,
            no_schedule: false,
            insert_copies: false,
            opened: OnceCell::new(),
            stream: OnceCell::new(),
            pick_option: None,
        }
    }

    /// This module of the folder.
    pub(crate) fn of(mut self, pick: Option<String>) -> Self {
        self.pick = pick;
        self
    }

    /// The option by which this command says which module is meant, in place of `--module`.
    pub(crate) fn by(mut self, option: &'static str) -> Self {
        self.pick_option = Some(option);
        self
    }

    /// What standard input or a pipe gave; `None` of a file.
    fn stream(&self) -> Result<Option<&Vec<u8>>, Failure> {
        if self.stream.get().is_none() {
            if !files::is_stream(&self.module)? {
                return Ok(None);
            }
            let bytes = files::bytes(&self.module)?;
            return Ok(Some(self.stream.get_or_init(|| bytes)));
        }
        Ok(self.stream.get())
    }

    /// The bytes of the file that is named, unpacked if it is gzipped.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Failure> {
        match self.stream()? {
            Some(bytes) => unpacked(&self.module, bytes.clone()),
            None => read_bytes(&self.module),
        }
    }

    /// The alignment that is to hold for everything.
    pub(crate) fn alignment(&self) -> Option<u64> {
        self.alignment
    }

    /// Is the module to be taken as if it had no schedule?
    pub(crate) fn is_without_schedule(&self) -> bool {
        self.no_schedule
    }

    /// Does the module have a schedule? What is wrong with it is said by whoever reads it to work on it.
    pub(crate) fn has_schedule(&self) -> Result<bool, Failure> {
        let bytes = self.input()?.bytes;
        let read = if is_proto(&bytes) { hlo::read_proto(&bytes) } else { hlo::read_bytes(&bytes) };
        Ok(read.module.is_some_and(|m| m.is_scheduled))
    }

    /// Is copy insertion to be run first?
    pub(crate) fn inserts_copies(&self) -> bool {
        self.insert_copies
    }

    /// Is it a folder or an archive rather than one file?
    pub(crate) fn is_folder(&self) -> Result<bool, Failure> {
        if let Some(bytes) = self.stream()? {
            return Ok(is_archive(bytes));
        }
        let fail = |e: std::io::Error| Failure(format!("{}: {e}", self.module.display()));
        if std::fs::metadata(&self.module).map_err(fail)?.is_dir() {
            return Ok(true);
        }
        let mut head = Vec::new();
        let file = std::fs::File::open(&self.module).map_err(fail)?;
        file.take(1024).read_to_end(&mut head).map_err(fail)?;
        Ok(is_archive(&head))
    }

    /// Is it a dump with XLA's own assignment: a folder, an archive, or one of the four files?
    pub(crate) fn is_dump(&self) -> Result<bool, Failure> {
        let Some(opened) = self.folder()? else { return Ok(self.beside()?.is_some()) };
        let entry = &opened.modules[self.picked(opened)?];
        Ok(!entry.dumps.is_empty())
    }

    /// Bytes of main memory that there were when the module did not fit, if an error beside it in its folder says so.
    pub(crate) fn limit(&self) -> Result<Option<u64>, Failure> {
        let Some(opened) = self.folder()? else { return Ok(None) };
        Ok(opened.limit_of(self.picked(opened)?))
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.module
    }

    /// Reads the module; warnings go to standard error.
    pub(crate) fn read(&self) -> Result<Module, Failure> {
        self.module_of(&self.input()?.bytes)
    }

    /// The bytes of the module: of a file, or of the module in a folder or an archive that is meant.
    pub(crate) fn input(&self) -> Result<Input, Failure> {
        let Some(opened) = self.folder()? else {
            return Ok(Input { bytes: self.bytes()?, proto: None, assignment: None });
        };
        let entry = &opened.modules[self.picked(opened)?];
        let bytes_of = |i: usize| opened.files[i].bytes.clone();
        let has_assignment =
            |i: &&usize| matches!(opened.files[**i].kind, opening::Kind::Dump(s) if s.assignment);
        let assignment = entry
            .dumps
            .iter()
            .find(has_assignment)
            .map(|i| String::from_utf8_lossy(&opened.files[*i].bytes).into_owned());
        match (entry.hlo, entry.proto) {
            (Some(hlo), proto) => Ok(Input { bytes: bytes_of(hlo), proto: proto.map(bytes_of), assignment }),
            (None, Some(proto)) => Ok(Input { bytes: bytes_of(proto), proto: None, assignment }),
            (None, None) => Err(Failure(format!(
                "{}: no text of {}, expected the file that ends in after_optimizations.txt",
                self.module.display(),
                entry.name
            ))),
        }
    }

    /// What the folder or the archive holds, if it is one. It is read, and what is wrong with it said, once.
    fn folder(&self) -> Result<Option<&Opened>, Failure> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened.as_ref());
        }
        let opened = if self.is_folder()? {
            let blobs = match self.stream()? {
                Some(bytes) => vec![Blob::new("-", bytes.clone())],
                None => files::read(&self.module)?,
            };
            let opened = opening::open(blobs, &opening::Limits::default());
            for r in opened.remarks.iter().filter(|r| r.severity == Severity::Error) {
                crate::tell(&r.to_string());
            }
            Some(opened)
        } else {
            None
        };
        Ok(self.opened.get_or_init(|| opened).as_ref())
    }

    /// What remarks on the module's text begin with: its file, in a folder with the folder before it.
    fn source(&self) -> PathBuf {
        let file = || {
            let opened = self.opened.get()?.as_ref()?;
            let entry = &opened.modules[self.picked(opened).ok()?];
            Some(self.module.join(&opened.files[entry.hlo.or(entry.proto)?].name))
        };
        file().unwrap_or_else(|| self.module.clone())
    }

    /// Which of the modules of a folder is meant.
    fn picked(&self, opened: &Opened) -> Result<usize, Failure> {
        let mut all: Vec<usize> = (0..opened.modules.len())
            .filter(|i| {
                let e = &opened.modules[*i];
                // The name of one of its files will do as well.
                let is_file = |name: &str| {
                    e.hlo.iter().chain(&e.proto).chain(&e.dumps).any(|f| {
                        let file = &opened.files[*f].name;
                        file == name || file.ends_with(&format!("/{name}"))
                    })
                };
                let is_it = |name: &str| e.id.as_deref() == Some(name) || e.name == name || is_file(name);
                // `cpu:0012` and `first/0012`: numbers repeat from compiler to compiler and from folder to folder.
                let is_of = |p: &str| {
                    p.split_once(':')
                        .is_some_and(|(b, name)| e.backend.is_some_and(|e| e.name() == b) && is_it(name))
                        || p.rsplit_once('/').is_some_and(|(folder, name)| {
                            is_it(name) && (e.folder == folder || e.folder.ends_with(&format!("/{folder}")))
                        })
                };
                self.pick.as_ref().is_none_or(|p| is_it(p) || is_of(p))
            })
            .collect();
        if let Some(pick) = self.pick.as_deref().filter(|_| all.is_empty()) {
            all = loosely_picked(opened, pick);
        }
        // Modules without numbers of their own go by their place in the list.
        let has_numbers = opened.modules.iter().any(|e| e.id.is_some());
        if all.is_empty() && !has_numbers {
            let place: Option<usize> = self.pick.as_ref().and_then(|p| p.parse().ok());
            all.extend(place.filter(|n| (1..=opened.modules.len()).contains(n)).map(|n| n - 1));
        }
        let names = |which: &[usize]| -> String {
            let is_twin = |e: &Entry| {
                opened
                    .modules
                    .iter()
                    .filter(|o| o.id == e.id && o.name == e.name && o.folder == e.folder)
                    .count()
                    > 1
            };
            let mut names: Vec<String> = which
                .iter()
                .take(MOST_NAMES)
                .map(|i| {
                    let e = &opened.modules[*i];
                    let folder = match opened.short_folder(e) {
                        "" => String::new(),
                        folder => format!("{folder}/"),
                    };
                    let file = e.hlo.or(e.proto).or(e.dumps.first().copied()).filter(|_| is_twin(e));
                    let file = file.map(|f| &opened.files[f].name);
                    let file = file
                        .and_then(|f| f.rsplit('/').next())
                        .map(|f| format!(" ({f})"))
                        .unwrap_or_default();
                    if has_numbers {
                        format!("{folder}{} {}{file}", e.id.as_deref().unwrap_or("-"), e.name)
                    } else {
                        format!("{} {folder}{}{file}", i + 1, e.name)
                    }
                })
                .collect();
            if which.len() > MOST_NAMES {
                names.push(format!("and {} more", which.len() - MOST_NAMES));
            }
            names.join(", ")
        };
        match all[..] {
            [one] => Ok(one),
            [] if opened.modules.is_empty() => {
                Err(Failure(format!("{}: {}", self.module.display(), opened.advice().unwrap_or_default())))
            }
            [] => Err(Failure(format!(
                "{}: no such module, expected one of: {}",
                self.module.display(),
                names(&(0..opened.modules.len()).collect::<Vec<_>>())
            ))),
            _ => Err(Failure(format!(
                "{}: {} modules, expected {} with the number{} of one: {}",
                self.module.display(),
                all.len(),
                self.pick_option.unwrap_or("--module"),
                if has_numbers { "" } else { " or the file" },
                names(&all)
            ))),
        }
    }

    /// What is asked about: of a folder, an archive or a file of a dump XLA's own assignment unless `ours` is wanted, of a
    /// module ours.
    pub(crate) fn study(&self, assignment: &AssignmentArguments, ours: bool) -> Result<Study, Failure> {
        let study = self.study_of(assignment, ours)?;
        let is_unscheduled = study.program.as_ref().is_some_and(|p| !p.module.is_scheduled);
        if is_unscheduled && !self.no_schedule {
            crate::tell(&format!(
                "{}: the module has no schedule, so the order of its text is taken for one; XLA's own is in the module that ends in after_optimizations",
                self.module.display()
            ));
        }
        Ok(study)
    }

    fn study_of(&self, assignment: &AssignmentArguments, ours: bool) -> Result<Study, Failure> {
        let beside;
        let opened = match self.folder()? {
            Some(opened) => Some(opened),
            None => {
                beside = self.beside()?;
                beside.as_ref()
            }
        };
        let is_plain =
            !self.no_schedule && !self.insert_copies && self.tpu.is_none() && self.orders.is_none();
        if let Some(opened) = opened.filter(|_| is_plain) {
            let picked = self.picked(opened)?;
            let loaded = opened.load(picked);
            if loaded.module.is_none() && loaded.dump.assignment.is_none() {
                refuse(&loaded)?;
            }
            // Earlier stages lie beside the last one in every dump; `inspect` lists them.
            let entry = &opened.modules[picked];
            let is_last = entry.stage.ends_with("after_optimizations");
            let is_usual = |r: &opening::Remark| {
                is_last && entry.other_stages.iter().any(|i| opened.files[*i].name == r.file)
            };
            let remarks: Vec<&opening::Remark> = loaded.remarks.iter().filter(|r| !is_usual(r)).collect();
            for r in remarks.iter().take(MOST_REMARKS) {
                crate::tell(&r.to_string());
            }
            if remarks.len() > MOST_REMARKS {
                crate::tell(&format!(
                    "{}: and {} more, which `inspect` lists",
                    self.module.display(),
                    count((remarks.len() - MOST_REMARKS) as u64, "remark", "remarks")
                ));
            }
            for f in &loaded.findings {
                crate::tell(&format!("{}: {}", self.module.display(), f.words()));
            }
            let has_program = loaded.module.is_some();
            let settings = Settings {
                ours,
                no_rerun: false,
                options: assignment.options(None)?,
                backend: self.target,
                alignment: self.alignment,
            };
            if has_program || loaded.dump.assignment.is_some() {
                return Study::of(loaded, &settings)
                    .map_err(|e| Failure(format!("{}: {e}", self.module.display())));
            }
        }
        let program = self.program()?;
        let (made, decisions) = assignment.assign(&program)?;
        Ok(Study::of_assignment(questions::Program::new(program.module, program.facts), made, decisions))
    }

    /// The files of the module, as a page opens them: of a folder or an archive those that belong to it, of a dump those
    /// beside it that do. A module that cannot be read is no error if XLA's own assignment can.
    pub(crate) fn files(&self) -> Result<Vec<opening::Blob>, Failure> {
        let own;
        let opened = match self.folder()? {
            Some(opened) => opened,
            None => {
                own = match self.beside()? {
                    Some(opened) => opened,
                    None => opening::open(
                        vec![Blob::new(self.module.display().to_string(), self.bytes()?)],
                        &opening::Limits::default(),
                    ),
                };
                &own
            }
        };
        let picked = self.picked(opened)?;
        let loaded = opened.load(picked);
        if loaded.module.is_none() && loaded.dump.assignment.is_none() {
            refuse(&loaded)?;
        }
        for r in loaded.remarks.iter().filter(|r| r.severity == Severity::Error) {
            crate::tell(&r.to_string());
        }
        for f in &loaded.findings {
            crate::tell(&format!("{}: {}", self.module.display(), f.words()));
        }
        Ok(report::files(opened, picked))
    }

    /// If the file is one of the four about an assignment, it and those beside it that are of the same module.
    fn beside(&self) -> Result<Option<Opened>, Failure> {
        if self.stream()?.is_some() {
            return Ok(None);
        }
        let bytes = read_bytes(&self.module)?;
        if !matches!(opening::kind(&bytes), opening::Kind::Dump(_)) {
            return Ok(None);
        }
        let path = self.module.display().to_string();
        let name = opening::dump_name(path.strip_suffix(".gz").unwrap_or(&path));
        let mut blobs = vec![opening::Blob::new(path.clone(), bytes)];
        let folder = self.module.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut others: Vec<PathBuf> = std::fs::read_dir(folder)
            .map(|all| all.filter_map(Result::ok).map(|e| e.path()).filter(|p| p.is_file()).collect())
            .unwrap_or_default();
        others.sort_unstable();
        for other in others {
            let full = if name.folder.is_empty() {
                other.file_name().map(|f| f.to_string_lossy().into_owned()).unwrap_or_default()
            } else {
                other.display().to_string()
            };
            let theirs = opening::dump_name(full.strip_suffix(".gz").unwrap_or(&full));
            if full != path && theirs == name && !name.module.is_empty() {
                blobs.push(opening::Blob::new(full, read_bytes(&other)?));
            }
        }
        Ok(Some(opening::open(blobs, &opening::Limits::default())))
    }

    /// The module in what was read already; warnings go to standard error.
    pub(crate) fn module_of(&self, bytes: &[u8]) -> Result<Module, Failure> {
        let read = if is_proto(bytes) { hlo::read_proto(bytes) } else { hlo::read_bytes(bytes) };
        let (errors, warnings): (Vec<_>, Vec<_>) =
            read.diagnostics.into_iter().partition(|d| d.severity == Severity::Error);
        let source = self.source();
        crate::tell(&in_words(&source, &warnings));
        match read.module {
            Some(module) if errors.is_empty() => Ok(module),
            _ => Err(Failure(in_words(&source, &errors))),
        }
    }

    /// Reads and analyses it.
    pub(crate) fn program(&self) -> Result<Program, Failure> {
        let input = self.input()?;
        self.program_from(&input)
    }

    /// Like [`Self::program`], with the bytes of the module, and what reading and analysis took. Getting the bytes from the
    /// disk and out of an archive is not counted.
    pub(crate) fn timed_program(&self) -> Result<(Program, u64, Duration, Duration), Failure> {
        let input = self.input()?;
        let started = Instant::now();
        std::hint::black_box(self.module_of(&input.bytes)?);
        let reading = started.elapsed();
        let started = Instant::now();
        let program = self.program_from(&input)?;
        let analysis = started.elapsed().saturating_sub(reading);
        Ok((program, input.bytes.len() as u64, reading, analysis))
    }

    /// Analyses a module of which no more is known.
    pub(crate) fn program_of(&self, bytes: &[u8]) -> Result<Program, Failure> {
        self.program_from(&Input { bytes: bytes.to_vec(), proto: None, assignment: None })
    }

    /// Analyses what was read already.
    pub(crate) fn program_from(&self, input: &Input) -> Result<Program, Failure> {
        let Unanalysed { mut module, mut orders, target } = self.unanalysed_of(input, Orders::guess)?;
        if self.insert_copies {
            let with_copies = copy_insertion::insert_copies(
                &module,
                &orders,
                &target,
                copy_insertion::Options::of(&target),
            )
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
            Ok(facts) => {
                // What memory space assignment placed stands beside the module already.
                let presets =
                    input.assignment.as_ref().and_then(|text| dumps::presets(&module, &facts, text).ok());
                Ok(Program { module, facts, presets: presets.map(|p| p.0).unwrap_or_default() })
            }
            Err(e) => Err(self.failure(&module, e.instruction(), &e.describe(&module))),
        }
    }

    /// Reads it with orders and target, for a pass that looks for facts itself. `guess` gives the orders that no proto gives.
    pub(crate) fn unanalysed(
        &self,
        guess: impl Fn(&Module, &Target) -> Orders,
    ) -> Result<Unanalysed, Failure> {
        self.unanalysed_of(&self.input()?, guess)
    }

    fn unanalysed_of(
        &self,
        input: &Input,
        guess: impl Fn(&Module, &Target) -> Orders,
    ) -> Result<Unanalysed, Failure> {
        let module = self.module_of(&input.bytes)?;
        let mut target = match self.target {
            Some(backend) => Target::tuned(backend, &module),
            None => Target::detect(&module),
        };
        if let Some(generation) = self.tpu {
            target = target.of_generation(generation);
        }
        target.alignment_override = self.alignment;
        let orders = self.orders_of(input, &module, &target, guess)?;
        Ok(Unanalysed { module, orders, target })
    }

    /// What is wrong with the module, and where.
    pub(crate) fn failure(&self, module: &Module, at: Option<InstructionId>, what: &str) -> Failure {
        let (line, column) = at.map_or((1, 1), |i| {
            let at = module.location(module.instruction(i).text.start);
            (at.line, at.column)
        });
        Failure(format!("{}:{line}:{column}: {what}", self.source().display()))
    }
}

/// What cannot be read of a module, if anything is wrong with it.
fn refuse(loaded: &opening::Loaded) -> Result<(), Failure> {
    let errors = loaded.remarks.iter().filter(|r| r.severity == Severity::Error);
    let lines: Vec<String> = errors.map(ToString::to_string).collect();
    if lines.is_empty() { Ok(()) } else { Err(Failure(lines.join("\n"))) }
}

impl ModuleArguments {
    /// XLA's own orders if there is a proto to take them from, else a guess.
    fn orders_of(
        &self,
        input: &Input,
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
            None if is_proto(&input.bytes) => (&self.module, &input.bytes[..]),
            None if input.proto.is_some() => (&self.module, input.proto.as_deref().unwrap_or_default()),
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
    /// How to run the assigner. What names values needs the program.
    pub(crate) fn options(&self, program: Option<&Program>) -> Result<Options, Failure> {
        let mut options =
            Options { algorithm: self.algorithm, heap_limit: self.heap_limit, ..Options::default() };
        let Some(program) = program else {
            if self.presets.is_some() || !self.must_not_live_out.is_empty() {
                return Err(Failure(
                    "--presets and --must-not-live-out, expected a module's own file instead of a folder"
                        .to_owned(),
                ));
            }
            return Ok(options);
        };
        options.presets = match &self.presets {
            Some(path) => crate::presets::read(path, program)?,
            None => program.presets.clone(),
        };
        for name in &self.must_not_live_out {
            let found = program.facts.values().find(|v| program.facts.label(&program.module, v.id) == *name);
            match found {
                Some(v) => options.must_not_live_out.push(v.id),
                None => {
                    return Err(Failure(format!(
                        "--must-not-live-out: no value `{name}`, expected one of the module"
                    )));
                }
            }
        }
        Ok(options)
    }

    /// Does nothing shape the assignment in another way than XLA's own?
    pub(crate) fn is_default(&self) -> bool {
        self.algorithm.is_none()
            && self.heap_limit.is_none()
            && self.presets.is_none()
            && self.must_not_live_out.is_empty()
    }

    /// May a heap be closed and another begun?
    pub(crate) fn has_heap_limit(&self) -> bool {
        self.heap_limit.is_some()
    }

    /// Runs the assigner.
    pub(crate) fn assign(&self, program: &Program) -> Result<(Assignment, Decisions), Failure> {
        let options = self.options(Some(program))?;
        let (assignment, decisions) =
            assigner::assign(&program.module, &program.facts, &program.facts.ranges, &options);
        // Slices that memory space assignment placed in one array stand apart when their places are not given.
        let is_whole = program.facts.target.backend != Backend::Tpu || !options.presets.is_empty();
        if cfg!(debug_assertions) && is_whole {
            crate::checking::assert_right(&program.module, &program.facts, &assignment);
        }
        Ok((assignment, decisions))
    }
}
