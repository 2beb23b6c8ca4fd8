//! `completions`: what a shell needs to complete the command's words.

use crate::{Answer, Failure, say};
use clap::CommandFactory as _;
use clap_complete::{Shell, generate};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// For which shell
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let mut script = Vec::new();
    // Into memory first: the generator does not forgive a pipe that closes.
    generate(arguments.shell, &mut crate::Arguments::command(), "bufferscope", &mut script);
    say(&String::from_utf8_lossy(&script))
}
