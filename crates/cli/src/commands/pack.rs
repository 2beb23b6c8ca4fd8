//! `bufferscope pack TRACE.json`

use crate::input::read_bytes;
use crate::{Answer, Failure, say};
use packing::trace::TraceError;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A trace: `algorithm`, `alignment`, `limit`, `sizes`, `events`
    trace: PathBuf,
    /// The answer as JSON (the only form there is)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let _ = arguments.json;
    let bytes = read_bytes(&arguments.trace)?;
    let text = String::from_utf8_lossy(&bytes);
    match packing::trace::run_json(&text) {
        Ok(answer) => say(&(answer + "\n")),
        Err(TraceError::Json { line, column, message }) => {
            let what = crate::json::words(&message, "a trace of heap events");
            Err(Failure(format!("{}:{line}:{column}: {what}", arguments.trace.display())))
        }
        Err(e) => Err(Failure(format!("{}: {e}", arguments.trace.display()))),
    }
}
