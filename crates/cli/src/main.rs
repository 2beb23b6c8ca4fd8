//! `bufferscope`: XLA's buffer assignment without a browser.
//!
//! Exit status: 0 success, 1 the answer is "no", 2 bad input. Errors go to standard error as
//! `FILE:LINE:COLUMN: what was read, what was expected`.

mod buffers;
mod checking;
mod commands;
mod files;
mod input;
mod json;
mod names;
mod presets;
mod side;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Which XLA the rules were verified on; `docs/XLA_VERSIONS.md` has it as a table.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nrules verified on jaxlib 0.10.2 (CPU), jax-cuda12-plugin 0.10.2 (GPU) and libtpu 0.0.52 (TPU)"
);

#[derive(Parser)]
#[command(name = "bufferscope", version, long_version = LONG_VERSION, about = "How every value of an XLA program gets its address")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Says what is there: modules, their files, sums, and whatever is missing or contradicts itself
    Inspect(commands::inspect::Arguments),
    /// Reads a module and prints it back in XLA's own style
    Print(commands::print::Arguments),
    /// Runs buffer assignment and writes the four dump files
    Assign(commands::assign::Arguments),
    /// Prints every decision in order, one a line
    Decisions(commands::decisions::Arguments),
    /// Proves an assignment right, or names the first value it loses
    Check(commands::check::Arguments),
    /// Says why each copy is there, what it costs and what would let it go; or adds those that a module needs
    Copies(commands::copies::Arguments),
    /// Compares two assignments: dumps, or modules, which are assigned first
    Diff(commands::diff::Arguments),
    /// Says why two values do or do not share
    Explain(commands::explain::Arguments),
    /// Do two values share? Exit status 0 for yes, 1 for no
    Shares(commands::shares::Arguments),
    /// Tells every allocation that was tried for a value, and the rule that refused it
    Why(commands::why::Arguments),
    /// Prints a small module that still shows why two values do not share, for a bug report
    Reduce(commands::reduce::Arguments),
    /// Runs memory space assignment: what lives in fast memory, when it is copied there and back
    MemorySpace(commands::memory_space::Arguments),
    /// Frees the buffers of an MLIR program: clones and releases
    Deallocate(commands::deallocate::Arguments),
    /// Copy or remap: the cutoff for the slices of a command buffer
    Remap(commands::remap::Arguments),
    /// Collective memory: ranks agree on what to make reachable, or say why they cannot
    Collective(commands::collective::Arguments),
    /// Packs a trace of heap events: offsets out
    Pack(commands::pack::Arguments),
    /// Looks for the smallest heap there can be: offsets, and a bound that proves them
    Optimum(commands::optimum::Arguments),
    /// Lists what is alive when most is, by value, by origin and in the heap
    Peak(commands::peak::Arguments),
    /// Tries single changes of the program and ranks them by the bytes they save; then what stands out
    Advise(commands::advise::Arguments),
    /// Makes changes by hand and says what they come to: exit status 1 if that would spoil a value
    Try(commands::try_edits::Arguments),
    /// Tells of each argument which output took it, or why nobody did
    Donation(commands::donation::Arguments),
    /// Lists the constants: who reads them, which are equal, and which arguments were captured in place of one
    Constants(commands::constants::Arguments),
    /// Tells whose memory it is, and which addresses change from run to run
    Owners(commands::owners::Arguments),
    /// Writes one page with the module, what it comes to, and the lab: for a colleague, an issue, an archive
    Report(commands::report::Arguments),
    /// Checks sizes and donations against a budget: exit status 0 if it is kept, 1 if not
    Budget(commands::budget::Arguments),
    /// Prints the script by which a shell completes this command's words
    Completions(commands::completions::Arguments),
}

/// What a command has to say when it is done.
pub(crate) enum Answer {
    /// It went well.
    Yes,
    /// The answer is "no".
    No,
}

/// Bad input, already in words; printed as it is, exit status 2.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Inspect(a) => commands::inspect::run(&a),
        Command::Print(a) => commands::print::run(&a),
        Command::Assign(a) => commands::assign::run(&a),
        Command::Decisions(a) => commands::decisions::run(&a),
        Command::Check(a) => commands::check::run(&a),
        Command::Copies(a) => commands::copies::run(&a),
        Command::Diff(a) => commands::diff::run(&a),
        Command::Explain(a) => commands::explain::run(&a),
        Command::Shares(a) => commands::shares::run(&a),
        Command::Why(a) => commands::why::run(&a),
        Command::Reduce(a) => commands::reduce::run(&a),
        Command::MemorySpace(a) => commands::memory_space::run(&a),
        Command::Deallocate(a) => commands::deallocate::run(&a),
        Command::Remap(a) => commands::remap::run(&a),
        Command::Collective(a) => commands::collective::run(&a),
        Command::Pack(a) => commands::pack::run(&a),
        Command::Optimum(a) => commands::optimum::run(&a),
        Command::Peak(a) => commands::peak::run(&a),
        Command::Advise(a) => commands::advise::run(&a),
        Command::Try(a) => commands::try_edits::run(&a),
        Command::Donation(a) => commands::donation::run(&a),
        Command::Constants(a) => commands::constants::run(&a),
        Command::Owners(a) => commands::owners::run(&a),
        Command::Report(a) => commands::report::run(&a),
        Command::Budget(a) => commands::budget::run(&a),
        Command::Completions(a) => commands::completions::run(&a),
    };
    match result {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(Failure(text)) => {
            tell(&text);
            ExitCode::from(2)
        }
    }
}

/// Text of a module as it may be shown on a terminal: control characters, which a terminal would obey, and those that turn
/// the direction of writing, by their numbers.
pub(crate) fn shown(text: &str) -> String {
    let is_hidden = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{061c}')
    };
    if !text.contains(is_hidden) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// Most characters of one line on standard error: a module may have names of a megabyte.
const MOST_LINE: usize = 2_000;

/// Tells something of the input on standard error, a line each. Names in it are text of others: shown as text, and cut.
pub(crate) fn tell(text: &str) {
    use std::fmt::Write as _;
    use std::io::Write as _;
    let mut out = String::new();
    for line in text.trim_end().lines() {
        match line.char_indices().nth(MOST_LINE) {
            Some((at, _)) => {
                let left = line[at..].chars().count();
                out += &line[..at];
                _ = write!(out, "… ({left} characters more)");
            }
            None => out += line,
        }
        out.push('\n');
    }
    // Nobody may be listening.
    _ = std::io::stderr().lock().write_all(shown(&out).as_bytes());
}

/// Writes to standard output. A reader that has gone away (`| head`) is no error.
pub(crate) fn say(text: &str) -> Result<Answer, Failure> {
    use std::io::Write;
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure(format!("standard output: {e}"))),
        _ => Ok(Answer::Yes),
    }
}
