//! One side of a comparison: a dump as it is, or a module that is assigned first.

use crate::Failure;
use crate::input::{AssignmentArguments, ModuleArguments, in_words, read_bytes};
use dumps::read::{BufferAssignmentFile, LiveRangeFile};
use hlo::Severity;
use std::path::{Path, PathBuf};

/// An assignment and, where it is known, what is alive at the peak.
pub(crate) struct Side {
    pub(crate) assignment: BufferAssignmentFile,
    pub(crate) peak: Option<Peak>,
}

/// The live-range file's peak.
pub(crate) struct Peak {
    pub(crate) step: u32,
    pub(crate) bytes: u64,
}

impl Side {
    /// Reads it.
    pub(crate) fn read(module: &ModuleArguments, arguments: &AssignmentArguments) -> Result<Self, Failure> {
        let path = module.path();
        let bytes = module.bytes()?;
        let text = String::from_utf8_lossy(&bytes);
        if dumps::read::is_buffer_assignment(&text) {
            return Self::of_dump(path, &text);
        }
        let program = module.program_of(&bytes)?;
        let (assignment, _) = arguments.assign(&program)?;
        let text = dumps::buffer_assignment(&program.module, &program.facts, &assignment);
        let peak = dumps::peak(&program.module, &program.facts);
        Ok(Self {
            assignment: dumps::read::buffer_assignment(&text).0,
            peak: Some(Peak { step: peak.step.0, bytes: peak.total }),
        })
    }

    fn of_dump(path: &Path, text: &str) -> Result<Self, Failure> {
        let (assignment, diagnostics) = dumps::read::buffer_assignment(text);
        let (errors, warnings): (Vec<_>, Vec<_>) =
            diagnostics.into_iter().partition(|d| d.severity == Severity::Error);
        crate::tell(&in_words(path, &warnings));
        if !errors.is_empty() {
            return Err(Failure(in_words(path, &errors)));
        }
        let peak = match &assignment.live_ranges {
            Some(inside) => peak_of(inside),
            None => beside(path).and_then(|p| {
                let bytes = read_bytes(&p).ok()?;
                peak_of(&dumps::read::live_range(&String::from_utf8_lossy(&bytes)).0)
            }),
        };
        Ok(Self { assignment, peak })
    }
}

fn peak_of(file: &LiveRangeFile) -> Option<Peak> {
    let peak = file.peak.as_ref()?;
    let bytes = peak.values.iter().fold(0u64, |sum, e| sum.saturating_add(e.bytes));
    Some(Peak { step: peak.step, bytes })
}

/// The live-range file of the same module.
fn beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let (stem, end) = name.rsplit_once("buffer-assignment")?;
    Some(path.with_file_name(format!("{stem}live-range{end}"))).filter(|p| p.exists())
}
