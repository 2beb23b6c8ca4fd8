//! From named bytes to modules.
//!
//! [`open`] takes whatever somebody has (a dump folder, some files, an archive, a pasted text) and says what is there:
//! archives are unpacked in memory under [`Limits`], each file is told by its content ([`kind`]), and the files of one
//! module are put together by name and content ([`Opened::modules`]). [`Opened::load`] then reads one module's files and
//! names what is missing and what contradicts itself ([`Finding`]).
//!
//! Nothing here touches a file system, and nothing fails as a whole: what could not be read is a [`Remark`].
//!
//! ```
//! let text = "HloModule m, is_scheduled=true\n\nENTRY main {\n  ROOT p = f32[4]{0} parameter(0)\n}\n";
//! let opened = opening::open(vec![opening::Blob::new("module_0003.m.cpu_after_optimizations.txt", text)], &opening::Limits::default());
//! assert_eq!(opened.modules.len(), 1);
//! assert_eq!((opened.modules[0].id.as_deref(), opened.modules[0].name.as_str()), (Some("0003"), "m"));
//! let loaded = opened.load(0);
//! assert_eq!(loaded.module.map(|m| m.instructions.len()), Some(1));
//! ```

mod check;
mod folder;
mod kind;
mod load;
mod log;
mod name;
mod oom;
mod unpack;

pub use check::{Check, Finding};
pub use folder::{Entry, File, Opened, Progress, Stage, open, open_with};
pub use kind::{Foreign, Kind, Sections, kind};
pub use load::{Figures, Generation, Loaded, Missing};
pub use log::{Strategy, VerboseLog, is_verbose_log, verbose_log};
pub use name::{DumpName, dump_name};
pub use oom::{Form, ListedBuffer, OutOfMemory, is_out_of_memory, out_of_memory, out_of_memory_errors};
pub use unpack::{Blob, Wrapping, wrapping};

use hlo::{Location, Severity};
use std::fmt;

/// What unpacking may grow to. The limits hold before memory is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all that is unpacked.
    pub bytes: u64,
    /// Files.
    pub files: u64,
    /// Archives in archives; a gzipped tar archive is two.
    pub depth: u32,
    /// How many times larger than itself something packed may become.
    pub ratio: u64,
    /// Bytes up to which the ratio does not matter.
    pub always: u64,
}

impl Default for Limits {
    /// Two gibibytes in 20 000 files. The most that deflate packs is 1032 to 1, and HLO comes to some 30 to 1.
    fn default() -> Self {
        Self { bytes: 2 << 30, files: 20_000, depth: 4, ratio: 400, always: 16 << 20 }
    }
}

/// One remark on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// How bad it is.
    pub severity: Severity,
    /// The file's name.
    pub file: String,
    /// Where in the file, if it is about one place.
    pub at: Option<Location>,
    /// What is to be said.
    pub text: String,
}

impl Remark {
    pub(crate) fn error(file: &str, text: String) -> Self {
        Self { severity: Severity::Error, file: file.to_owned(), at: None, text }
    }

    pub(crate) fn warning(file: &str, text: String) -> Self {
        Self { severity: Severity::Warning, file: file.to_owned(), at: None, text }
    }

    pub(crate) fn of(file: &str, d: hlo::Diagnostic) -> Self {
        Self {
            severity: d.severity,
            file: file.to_owned(),
            at: Some(d.at),
            text: format!("{}, {}", d.read, d.expected),
        }
    }
}

impl fmt::Display for Remark {
    /// `FILE:LINE:COLUMN: TEXT`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(at) = self.at {
            write!(f, ":{}:{}", at.line, at.column)?;
        }
        write!(f, ": {}", self.text)
    }
}
