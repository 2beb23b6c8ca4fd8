//! `bufferscope deallocate FILE.mlir`

use crate::input::read_bytes;
use crate::{Answer, Failure, say};
use deallocation::run::{Border, NOTHING, run_all, words};
use deallocation::{Options, Refusal};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// MLIR text; `-` is standard input
    file: PathBuf,
    /// A result of an operation that is not known may be any of its operands, as in XLA's copy of the pass
    #[arg(long)]
    unknown_may_alias: bool,
    /// Count uses that LLVM 16 overlooks, so that nothing is freed too early
    #[arg(long)]
    close_gaps: bool,
    /// The newer rule: a truth beside each buffer says whether it is owned, and the end of each block frees what is owned and
    /// not passed on
    #[arg(long, conflicts_with_all = ["unknown_may_alias", "close_gaps", "as_it_is"])]
    ownership: bool,
    /// With --ownership: `bufferization.dealloc` in plain operations, which compare addresses and free under conditions
    #[arg(long, requires = "ownership")]
    lower: bool,
    /// Run the result on every way instead of printing it: what is leaked, freed twice, used when it is gone
    #[arg(long)]
    check: bool,
    /// With --check: the file as it is, without freeing anything
    #[arg(long, requires = "check")]
    as_it_is: bool,
    /// With --check: a buffer that a call gives belongs to its caller, as in LLVM's newer pass; --ownership implies it
    #[arg(long, requires = "check")]
    owned_results: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let bytes = read_bytes(&arguments.file)?;
    let text = String::from_utf8_lossy(&bytes);
    let fail = |e: Refusal| Failure(format!("{}:{e}", arguments.file.display()));
    let program = deallocation::read(&text).map_err(fail)?;
    let options =
        Options { unknown_may_alias: arguments.unknown_may_alias, close_gaps: arguments.close_gaps };
    let program = if arguments.as_it_is {
        program
    } else if arguments.ownership {
        let owned = deallocation::own(&program).map_err(fail)?;
        if arguments.lower { deallocation::lower(&owned) } else { owned }
    } else {
        deallocation::deallocate(&program, &options).map_err(fail)?.program
    };
    if !arguments.check {
        return say(&deallocation::print(&program));
    }
    let border =
        if arguments.owned_results || arguments.ownership { Border::Owned } else { Border::Borrowed };
    let report = run_all(&program, border);
    let mut out: String = report.faults.iter().map(|f| words(&program, f) + "\n").collect();
    if !report.complete {
        out += "There are too many ways to go them all.\n";
    }
    if report.faults.is_empty() {
        out += NOTHING;
        out.push('\n');
    }
    say(&out)?;
    Ok(if report.faults.is_empty() && report.complete { Answer::Yes } else { Answer::No })
}
