//! `bufferscope budget MODULE --max-temp 17GiB --max-total SIZE --must-alias 0,1 [--json]`: exit status 0 if it is kept, 1 if not,
//! 2 if XLA's assignment is damaged or contradicts the other files, so that nobody knows.

use crate::commands::donation::table;
use crate::input::{AssignmentArguments, ModuleArguments};
use crate::{Answer, Failure, say, shown};
use assigner::words::both;
use questions::{Role, State};
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// Temporaries may take so much: a number of bytes, or one with KiB, MiB, GiB, TiB (K, M, G, T are the same), or kB, MB, GB, TB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_temp: Option<u64>,
    /// All allocations may take so much
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_total: Option<u64>,
    /// Outputs that stand in no argument may take so much
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_output: Option<u64>,
    /// Constants may take so much
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_constant: Option<u64>,
    /// Copies may write so much each time the program runs
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_copies: Option<u64>,
    /// An output must stand in these arguments, by number; `all` for every one
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    must_alias: Vec<String>,
    /// Of a dump: check our assignment instead of XLA's own
    #[arg(long)]
    ours: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// A number of bytes as people write it.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let fail = || format!("`{text}`, expected a size such as 1048576, 17GiB or 1.5G");
    let digits = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.' || *b == b'_').count();
    let number = text[..digits].replace('_', "");
    let unit: u64 = match text[digits..].trim() {
        "" | "B" => 1,
        "K" | "KiB" | "k" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(fail()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(unit).ok_or_else(fail);
    }
    let value: f64 = number.parse().map_err(|_| fail())?;
    let bytes = value * unit as f64;
    if bytes < 9e18 { Ok(bytes as u64) } else { Err(fail()) }
}

/// One line of the budget.
struct Check {
    what: String,
    limit: Option<u64>,
    actual: Option<u64>,
    /// `None` if the assignment is damaged, so that nobody knows.
    is_kept: Option<bool>,
    words: String,
}

/// No limit is kept by an assignment of which a part is missing.
pub(crate) fn not_to_be_relied_on(study: &questions::Study) -> Option<Failure> {
    damaged(study, "whether the limits are kept is not known")
}

/// What is told after all that could be read if the assignment is damaged, or another file contradicts it: what a script has
/// got is not to be taken for the whole.
pub(crate) fn damaged(study: &questions::Study, so: &str) -> Option<Failure> {
    let first = study.doubts.first()?;
    let more = match study.doubts.len() {
        1 => String::new(),
        n => format!(" (and {} more, told above)", n - 1),
    };
    Some(Failure(format!(
        "{so}: {first}{more}\nexpected an assignment that is whole and agrees with the other files of its module, or --ours"
    )))
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let study = arguments.module.study(&arguments.assignment, arguments.ours)?;
    let is_known = study.doubts.is_empty();
    let peak = questions::peak(&study);
    let of = |role: Role| peak.owner(role).map_or(0, |o| o.bytes);
    let mut checks = Vec::new();
    let mut sizes = vec![
        ("temp", arguments.max_temp, of(Role::Temp)),
        ("total", arguments.max_total, peak.total),
        ("output", arguments.max_output, of(Role::Output)),
        ("constant", arguments.max_constant, of(Role::Constant)),
    ];
    if arguments.max_copies.is_some() {
        if study.program.is_none() {
            return Err(Failure(
                "--max-copies, expected the module's text, in which copies stand".to_owned(),
            ));
        }
        let written = questions::written(&study, &questions::copies(&study)).bytes;
        sizes.push(("copies", arguments.max_copies, written));
    }
    for (what, limit, actual) in sizes {
        let Some(limit) = limit else { continue };
        let is_kept = is_known.then_some(actual <= limit);
        let words = if is_kept.is_none() {
            format!("{what}: {} as far as it can be read, at most {}: not known", both(actual), both(limit))
        } else if is_kept == Some(true) {
            format!("{what}: {}, at most {}: kept", both(actual), both(limit))
        } else {
            format!("{what}: {}, at most {}: {} too much", both(actual), both(limit), both(actual - limit))
        };
        checks.push(Check {
            what: what.to_owned(),
            limit: Some(limit),
            actual: Some(actual),
            is_kept,
            words,
        });
    }
    if !arguments.must_alias.is_empty() {
        checks.extend(aliases(&study, &arguments.must_alias)?);
    }
    if checks.is_empty() {
        return Err(Failure(
            "no budget, expected --max-temp, --max-total or another limit, or --must-alias".to_owned(),
        ));
    }
    let is_kept = is_known.then(|| checks.iter().all(|c| c.is_kept == Some(true)));
    if arguments.json {
        let list: Vec<Value> = checks
            .iter()
            .map(|c| json!({"what": c.what, "limit": c.limit, "actual": c.actual, "kept": c.is_kept, "words": c.words}))
            .collect();
        say(&format!("{}\n", json!({"kept": is_kept, "checks": list})))?;
    } else {
        let mut out = String::new();
        for c in &checks {
            _ = writeln!(out, "{}", c.words);
        }
        say(&shown(&out))?;
    }
    match (not_to_be_relied_on(&study), is_kept) {
        (Some(why), _) => Err(why),
        (None, Some(true)) => Ok(Answer::Yes),
        (None, _) => Ok(Answer::No),
    }
}

fn aliases(study: &questions::Study, wanted: &[String]) -> Result<Vec<Check>, Failure> {
    let table = table(study)?;
    let mut out = Vec::new();
    for name in wanted {
        let number = name.trim().parse::<u32>().ok();
        if number.is_none() && name.trim() != "all" {
            return Err(Failure(format!("--must-alias {name}, expected numbers of arguments, or `all`")));
        }
        let of: Vec<_> = table.arguments.iter().filter(|a| number.is_none_or(|n| a.parameter == n)).collect();
        if of.is_empty() {
            return Err(Failure(format!("--must-alias {name}, expected an argument of the module")));
        }
        let free: Vec<_> = of.iter().filter(|a| !matches!(a.state, State::Taken { .. })).collect();
        let words = match free.first() {
            None => format!("argument {name}: an output stands there: kept"),
            Some(a) => {
                let bytes = free.iter().fold(0u64, |n, a| n.saturating_add(a.bytes));
                let more =
                    if free.len() > 1 { format!(" and {} more", free.len() - 1) } else { String::new() };
                format!("argument {}{more}: no output stands in {}", a.parameter, both(bytes))
            }
        };
        out.push(Check {
            what: format!("alias {name}"),
            limit: None,
            actual: None,
            is_kept: study.doubts.is_empty().then_some(free.is_empty()),
            words,
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes() {
        assert_eq!(size("17GiB"), Ok(17 << 30));
        assert_eq!(size("1.5G"), Ok(3 << 29));
        assert_eq!(size("1_000"), Ok(1000));
        assert_eq!(size("2 MB"), Ok(2_000_000));
        assert_eq!(size("18446744073709551615"), Ok(u64::MAX));
        for bad in ["", "x", "1Q", "99999999999T", "1.2.3G", "-1"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
