//! `report.html`: one page that holds a module's files, what they come to in words and tables, and the lab that reads them.
//!
//! [`make`] takes the files of one module and gives the page. Its first part is plain HTML, made here of the answers of
//! [`questions`]: it is read without JavaScript, on paper and aloud. Its second part is the *shell*, the lab as one file,
//! which the build writes (`cargo xtask build`): when it starts, it opens the files that are in the page. Without a shell the
//! first part stands alone.
//!
//! The command and the lab both call it, with the same files, and get the same bytes.
//!
//! ```
//! let text = "HloModule m, is_scheduled=true\n\nENTRY e {\n  p = f32[4]{0} parameter(0)\n  ROOT n = f32[4]{0} negate(p)\n}\n";
//! let opened = opening::open(vec![opening::Blob::new("folder/m.txt", text)], &opening::Limits::default());
//! let files = report::files(&opened, 0);
//! let made = report::make(&files, None, &report::State::default(), &mut |_, _| {}).expect("a report");
//! assert!(made.page.contains("<h1>m</h1>") && !made.page.contains("folder"));
//! ```

mod curve;
mod data;
mod markup;
mod shell;
mod text;
mod words;
mod written;

pub use curve::{curve, curve_file};
pub use data::files;
pub use markup::escaped;
pub use shell::{ShellError, check, version};
pub use text::{cut, cut_line};
pub use words::{Told, constants, donation, headline, out_of_memory, owner, percent, size_words, space_name};

use opening::{Blob, Limits};
use questions::{Settings, Study};
use serde_json::Value;
use std::fmt;

/// What a reader did in the lab, to be found again in the report.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// For the lab: what it needs to be in the same state again; null for a module as it is.
    pub lab: Value,
    /// For the reader: what was tried.
    pub tried: Option<Tried>,
}

/// A run with changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// The changes, a sentence each.
    pub edits: Vec<String>,
    /// What was measured, in bytes: its name, as it is, as it was tried.
    pub sums: Vec<(String, u64, u64)>,
    /// What else is to be said.
    pub words: Vec<String>,
}

/// A report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The page.
    pub page: String,
    /// The module's name.
    pub name: String,
    /// All allocations, in bytes.
    pub total: u64,
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportError(pub String);

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReportError {}

/// Makes the page of the files of one module, as [`files`] gives them. `tell` is told how many changes were tried, of how
/// many.
pub fn make(
    files: &[Blob],
    shell: Option<&str>,
    state: &State,
    tell: &mut dyn FnMut(usize, usize),
) -> Result<Made, ReportError> {
    if let Some(shell) = shell {
        check(shell).map_err(|e| ReportError(e.to_string()))?;
    }
    // What the page will open is what is told here, to the byte.
    let opened = opening::open(files.to_vec(), &Limits::default());
    let module = (0..opened.modules.len()).max_by_key(|m| {
        let e = &opened.modules[*m];
        (e.dumps.len() + usize::from(e.hlo.is_some()) + usize::from(e.proto.is_some()), usize::MAX - m)
    });
    let Some(module) = module else {
        return Err(ReportError(opened.advice().unwrap_or_else(|| "no module, expected one".to_owned())));
    };
    let entry = &opened.modules[module];
    let loaded = opened.load(module);
    let facts = written::OfFiles::new(&opened, module, files, &loaded);
    let study = Study::of(loaded, &Settings::default())
        .map_err(|e| ReportError(format!("{}: {e}", cut(&entry.name))))?;
    let peak = questions::peak(&study);
    let body = written::body(&facts, &study, &peak, state, tell);
    let title = format!("{}: memory report", cut(&entry.name));
    let page = match shell {
        Some(shell) => {
            let data = data::pack(files, module, &state.lab)?;
            shell::fill(shell, &title, &body, &data).map_err(|e| ReportError(e.to_string()))?
        }
        None => shell::plain(&title, &body),
    };
    Ok(Made { page, name: entry.name.clone(), total: peak.total })
}
