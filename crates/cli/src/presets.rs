//! `--presets FILE`: what memory space assignment placed before, taken from a buffer-assignment file.

use crate::Failure;
use crate::input::{Program, in_words, read_bytes};
use assigner::Preset;
use std::path::Path;

/// Reads the file; its warnings go to standard error.
pub(crate) fn read(path: &Path, program: &Program) -> Result<Vec<Preset>, Failure> {
    let bytes = read_bytes(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let (presets, warnings) = dumps::presets(&program.module, &program.facts, &text)
        .map_err(|errors| Failure(in_words(path, &errors)))?;
    crate::tell(&in_words(path, &warnings));
    Ok(presets)
}
