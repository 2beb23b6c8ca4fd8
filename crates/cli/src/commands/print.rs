//! `bufferscope print MODULE`

use crate::input::ModuleArguments;
use crate::{Answer, Failure, say};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    say(&hlo::print(&arguments.module.read()?))
}
