//! `bufferscope print MODULE [--json]`

use crate::input::ModuleArguments;
use crate::{Answer, Failure, say};
use serde_json::json;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    /// One JSON object: the text, and what is in it
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let module = arguments.module.read()?;
    let text = hlo::print(&module);
    if !arguments.json {
        return say(&text);
    }
    let out = json!({
        "name": module.str(module.name),
        "scheduled": module.is_scheduled,
        "entry": module.computation_name(module.entry),
        "computations": module.computations.len(),
        "instructions": module.instructions.len(),
        "text": text,
    });
    say(&format!("{out}\n"))
}
