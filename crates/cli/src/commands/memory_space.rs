//! `bufferscope memory-space --replay FIXTURE.json`

use crate::input::read_bytes;
use crate::{Answer, Failure, say};
use memory_space::replay;
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A trace of a real compiler (`input`: options, schedule with seconds, buffers, requirements) to be replayed
    #[arg(long, value_name = "FIXTURE")]
    replay: PathBuf,
    /// The final table of alternate memory as JSON, in order of allocation
    #[arg(long)]
    json: bool,
    /// Every decision with its evidence instead of the table
    #[arg(long)]
    decisions: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let bytes = read_bytes(&arguments.replay)?;
    let text = String::from_utf8_lossy(&bytes);
    let (_, assignment) =
        replay::run(&text).map_err(|e| Failure(format!("{}:{e}", arguments.replay.display())))?;
    let json = |value: serde_json::Result<String>| match value {
        Ok(text) => say(&(text + "\n")),
        Err(e) => Err(Failure(e.to_string())),
    };
    if arguments.decisions && arguments.json {
        return json(serde_json::to_string_pretty(&assignment.decisions));
    }
    if arguments.json {
        return json(serde_json::to_string_pretty(&replay::table(&assignment)));
    }
    let mut text = String::new();
    for allocation in assignment.in_alternate() {
        let offset = allocation.offset.unwrap_or(0);
        let _ = writeln!(
            text,
            "{} [{}, {}] at {offset}, {} bytes",
            allocation.position, allocation.start, allocation.end, allocation.size
        );
    }
    say(&text)
}
