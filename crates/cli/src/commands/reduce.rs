//! `bufferscope reduce MODULE A B [--json]`: a small module that still shows why two values do not share.

use crate::input::{AssignmentArguments, ModuleArguments};
use crate::names::find;
use crate::{Answer, Failure, say};
use assigner::words::count;
use serde_json::json;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    /// A value: `fusion.1`, `while.2{0}`, or a number
    a: String,
    /// Another one
    b: String,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// Look at this many instructions in all trials together
    #[arg(long, value_name = "COUNT", default_value_t = 20_000_000)]
    effort: u64,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let program = arguments.module.program()?;
    let name = |text: &str| {
        let value = find(&program.module, &program.facts, text)?;
        program.facts.label(&program.module, value).parse().map_err(Failure)
    };
    let pair: [dumps::read::ValueName; 2] = [name(&arguments.a)?, name(&arguments.b)?];
    let labels = pair.clone().map(|n| n.to_string());
    let options = arguments.assignment.options(Some(&program))?;
    let target = &program.facts.target;
    let small = questions::reduce(&program.module, target, &options, pair, arguments.effort, &mut |_| true)
        .map_err(|e| Failure(format!("{}: {e}", arguments.module.path().display())))?;
    if arguments.json {
        let out = json!({
            "a": labels[0],
            "b": labels[1],
            "shares": small.shares,
            "reason": small.reason,
            "instructions": [small.instructions.0, small.instructions.1],
            "tried": small.tried,
            "module": small.text,
        });
        return say(&format!("{out}\n"));
    }
    let verdict = if small.shares { "share" } else { "do not share" };
    let head = format!(
        "// {} and {} {verdict}: {}. {} of {} {} left.\n",
        labels[0],
        labels[1],
        small.reason,
        count(small.instructions.1 as u64, "instruction", "instructions"),
        small.instructions.0,
        if small.instructions.1 == 1 { "is" } else { "are" }
    );
    say(&(head + &small.text))
}
