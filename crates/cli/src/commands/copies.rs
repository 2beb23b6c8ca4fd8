//! `bufferscope copies MODULE [--present|--explain] [--stage STAGE] [--region-analysis] [--json|--print]`

use crate::input::{AssignmentArguments, ModuleArguments, Unanalysed};
use crate::{Answer, Failure, say, shown};
use assigner::words::both;
use copy_insertion::{
    Change, Clash, CopyStory, Fate, Late, Options, Outcome, Place, Refusal, RegionAnalysis, Retraced, Rule,
    Stage, Suggestion, Until, insert_copies, needless, retrace, suggest, words,
};
use hlo::Module;
use questions::{Copy, CopyKind, Program, Study};
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    /// Run the pass, stop after this phase (added, removed, special or after), and print the module as it is then
    #[arg(long, value_name = "STAGE", value_parser = stage)]
    stage: Option<Stage>,
    /// Run the pass, ask region analysis where the plain test fails (`--xla_cpu_copy_insertion_use_region_analysis`), and print the
    /// module
    #[arg(long)]
    region_analysis: bool,
    /// Run the pass, and tell of each copy that stays why it was made, why it stays, and what would let it go [default for a
    /// module without a schedule or without copies]
    #[arg(long)]
    explain: bool,
    /// List the copies that stand in the module: what they cost, why they are there, and what would let them go [default for a
    /// module that has some]
    #[arg(long, conflicts_with_all = ["explain", "stage", "region_analysis"])]
    present: bool,
    /// Run the pass, and print the module with its copies [default with --stage and --region-analysis]
    #[arg(long, conflicts_with_all = ["explain", "present", "json"])]
    print: bool,
    /// List at most this many copies that stand in the module (JSON has them all)
    #[arg(long, value_name = "COUNT", default_value_t = 30)]
    most: usize,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

fn stage(name: &str) -> Result<Stage, String> {
    match name {
        "added" => Ok(Stage::Added),
        "removed" => Ok(Stage::Removed),
        "special" => Ok(Stage::Special),
        "after" => Ok(Stage::After),
        _ => Err(format!("`{name}` is no stage, expected added, removed, special or after")),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let is_of_the_pass = arguments.explain
        || arguments.print
        || arguments.stage.is_some()
        || arguments.region_analysis
        || arguments.module.inserts_copies();
    if arguments.present {
        return present(arguments, &stands(arguments)?);
    }
    if !is_of_the_pass && arguments.module.has_schedule()? {
        let study = stands(arguments)?;
        if !questions::copies(&study).is_empty() {
            return present(arguments, &study);
        }
    }
    let input = arguments.module.unanalysed(copy_insertion::guess_orders)?;
    let Unanalysed { module, orders, target } = &input;
    let mut options = Options { stop_after: arguments.stage.unwrap_or(Stage::After), ..Options::of(target) };
    if arguments.region_analysis {
        options.region_analysis = RegionAnalysis::Always;
    }
    let failure =
        |e: copy_insertion::Error| arguments.module.failure(module, e.instruction(), &e.describe(module));
    let is_printed = arguments.print
        || (arguments.stage.is_some() || arguments.region_analysis) && !arguments.explain && !arguments.json;
    if is_printed {
        let outcome = insert_copies(module, orders, target, options).map_err(failure)?;
        return say(&hlo::print(&outcome.module));
    }
    let Retraced { module, orders, outcome } = retrace(module, orders, target, options).map_err(failure)?;
    let (module, orders) = (&module, &orders);
    let suggestions = suggest(module, orders, target, options, &outcome);
    let stayed: Vec<(&CopyStory, &Vec<Suggestion>)> =
        outcome.copies.iter().zip(&suggestions).filter(|(s, _)| s.fate == Fate::Stayed).collect();
    if arguments.json {
        return say(&format!("{}\n", in_json(module, &outcome, &stayed)));
    }
    say(&in_words(module, &outcome, &stayed))
}

/// The module with what is known of it.
fn stands(arguments: &Arguments) -> Result<Study, Failure> {
    let study = arguments.module.study(&AssignmentArguments::default(), false)?;
    if study.program.is_none() {
        return Err(Failure(
            "copies stand in the module's text, expected the file that ends in after_optimizations.txt"
                .to_owned(),
        ));
    }
    Ok(study)
}

/// The copies that stand in the module.
fn present(arguments: &Arguments, study: &Study) -> Result<Answer, Failure> {
    let Some(Program { module, .. }) = &study.program else { return Ok(Answer::Yes) };
    let copies = questions::copies(study);
    let (causes, unknown) = questions::causes(study, &copies);
    let cause = |of: &Copy| causes.iter().find(|c| (c.copy, c.part) == (of.instruction, of.part));
    let sum = questions::written(study, &copies);
    if arguments.json {
        let list: Vec<Value> = copies
            .iter()
            .map(|c| {
                let cause = cause(c);
                json!({
                    "copy": c.label(module),
                    "of": module.name_of(c.of),
                    "argument": c.argument,
                    "kind": c.kind.words(),
                    "bytes": c.bytes,
                    "runs": c.runs,
                    "branch": c.branch.map(|(at, branch)| json!({"conditional": module.name_of(at), "branch": branch})),
                    "written": c.written(),
                    "in_place": c.in_place,
                    "shape": module.shapes.long(module.instruction(c.instruction).shape),
                    "cause": cause.map(|c| &c.words),
                    "removed_by": cause.map(|c| &c.removes),
                    "asked_by": asked_by(study, [c.row, c.source_row]),
                })
            })
            .collect();
        let out = json!({
            "copies": list,
            "bytes": sum.bytes,
            "uncounted_loops": sum.is_uncounted,
            "causes_unknown": unknown,
        });
        return say(&format!("{out}\n"));
    }
    let mut out = match copies.len() {
        0 => "No copy of an array stands in the module.\n".to_owned(),
        1 => format!("1 copy writes {} each time the program runs{}.\n", both(sum.bytes), sum.caveat()),
        n => format!("{n} copies write {} each time the program runs{}.\n", both(sum.bytes), sum.caveat()),
    };
    if let Some(why) = &unknown {
        _ = writeln!(
            out,
            "Why the plain ones are there cannot be told by running copy insertion again: {why}."
        );
    }
    // What lets most of them go is not to be looked for in the stories.
    let best = causes.iter().flat_map(|c| c.saves.iter().zip(&c.removes)).max_by_key(|(saves, _)| **saves);
    if let Some((saves, words)) = best.filter(|(saves, _)| **saves > 0 && copies.len() > MOST_WITHOUT_SUMMARY)
    {
        // Each counted once, as the saving is.
        let all: u64 = copies.iter().fold(0, |n, c| n.saturating_add(c.bytes));
        let all = if *saves > all / 2 { "Most would go" } else { "More than by any other change would go" };
        _ = writeln!(out, "{all} if you {words}.");
    }
    for c in copies.iter().take(arguments.most) {
        let most = if c.branch.is_some() { "at most " } else { "" };
        let mut times = match c.runs {
            Some(1) => String::new(),
            Some(n) => format!(", {most}{n} times: {}", both(c.bytes.saturating_mul(n))),
            None => ", as often as its loop runs".to_owned(),
        };
        if let Some((at, branch)) = c.branch {
            _ = write!(times, ", if {} takes branch {branch}", module.name_of(at));
        }
        let argument = c.argument.map(|n| format!(" (argument {n})")).unwrap_or_default();
        _ = writeln!(
            out,
            "\n{}: {} of {}{argument}, {}{times}",
            c.label(module),
            c.kind.words(),
            module.name_of(c.of),
            both(c.bytes)
        );
        if let Some(cause) = cause(c) {
            for line in &cause.words {
                _ = writeln!(out, "  {line}");
            }
            for line in &cause.removes {
                _ = writeln!(out, "  It would go if you {line}.");
            }
            if cause.removes.is_empty() && c.kind == CopyKind::Plain && !c.in_place {
                out.push_str("  No single change that was tried lets it go.\n");
            }
        }
    }
    if copies.len() > arguments.most {
        let rest = &copies[arguments.most..];
        let bytes = rest.iter().fold(0u64, |n, c| n.saturating_add(c.written()));
        _ = writeln!(out, "\nand {} more, which write {}", rest.len(), both(bytes));
    }
    if copies.iter().any(|c| c.kind == CopyKind::Transfer) {
        out.push_str("\nWhich values are transferred, and when, is up to memory space assignment: `bufferscope memory-space`.\n");
    }
    say(&shown(&out))
}

/// So many copies can be looked through without a line that says what lets most of them go.
const MOST_WITHOUT_SUMMARY: usize = 5;

/// The collectives that want one of these values in a memory space of its own.
pub(crate) fn asked_by(study: &Study, rows: impl IntoIterator<Item = Option<usize>>) -> Vec<String> {
    let Some(program) = &study.program else { return Vec::new() };
    let mut out: Vec<String> = Vec::new();
    for row in rows.into_iter().flatten() {
        for collective in questions::collectives_of(&questions::wishes(study, row)) {
            let name = program.module.name_of(collective).to_owned();
            if !out.contains(&name) {
                out.push(name);
            }
        }
    }
    out
}

fn in_words(module: &Module, outcome: &Outcome, stayed: &[(&CopyStory, &Vec<Suggestion>)]) -> String {
    let count = |fate: Fate| outcome.copies.iter().filter(|s| s.fate == fate).count();
    let bytes: u64 = stayed.iter().map(|(s, _)| s.bytes).sum();
    let mut out = format!(
        "Copies that stay: {}, writing {}; removed: {}; without readers: {}.\n",
        stayed.len(),
        both(bytes),
        count(Fate::Removed),
        count(Fate::Dead)
    );
    let needless = names_of_needless(outcome);
    if !needless.is_empty() {
        _ = writeln!(out, "The module has copies that the pass would take out: {}.", needless.join(", "));
    }
    for (story, suggestions) in stayed {
        _ = write!(out, "\n{}", words::story(&outcome.history, story));
        for s in *suggestions {
            _ = writeln!(out, "  It would go if you {}.", words::suggestion(module, s));
        }
        if suggestions.is_empty() {
            out.push_str("  No single change that was tried lets it go.\n");
        }
    }
    out
}

fn names_of_needless(outcome: &Outcome) -> Vec<&str> {
    needless(outcome).into_iter().map(|i| outcome.history.name_of(i)).collect()
}

fn in_json(module: &Module, outcome: &Outcome, stayed: &[(&CopyStory, &Vec<Suggestion>)]) -> Value {
    let count = |fate: Fate| outcome.copies.iter().filter(|s| s.fate == fate).count();
    let list: Vec<Value> = stayed.iter().map(|(story, s)| told(module, &outcome.history, story, s)).collect();
    json!({
        "stayed": stayed.len(),
        "bytes": stayed.iter().map(|(s, _)| s.bytes).sum::<u64>(),
        "removed": count(Fate::Removed),
        "dead": count(Fate::Dead),
        "needless": names_of_needless(outcome),
        "copies": list,
    })
}

fn told(module: &Module, history: &Module, story: &CopyStory, suggestions: &[Suggestion]) -> Value {
    let copy = history.instruction(story.copy);
    let label = |p: &Place| p.label(history);
    let suggestions: Vec<Value> = suggestions
        .iter()
        .map(|s| {
            json!({
                "changes": s.changes.iter().map(|c| change(module, c)).collect::<Vec<_>>(),
                "copies": s.copies,
                "bytes": s.bytes,
                "words": words::suggestion(module, s),
            })
        })
        .collect();
    json!({
        "copy": history.name_of(story.copy),
        "computation": history.computation_name(copy.computation),
        "shape": history.shapes.long(copy.shape),
        "bytes": story.bytes,
        "copies": label(&story.of),
        "saves": story.protects.as_ref().map(label),
        "in_place_of": story.in_place_of.iter().map(|i| history.name_of(*i)).collect::<Vec<_>>(),
        "rule": rule(history, &story.rule),
        "attempts": story.attempts.len(),
        "refusal": story.refusal.as_ref().map(|r| refusal(history, r)),
        "suggestions": suggestions,
        "words": words::story(history, story),
    })
}

fn rule(history: &Module, rule: &Rule) -> Value {
    let name = |i: &hlo::InstructionId| history.name_of(*i).to_owned();
    let mut out = match rule {
        Rule::Given => json!({}),
        Rule::LoopInit { at, index } | Rule::LoopParameter { at, index } | Rule::LoopResult { at, index } => {
            json!({"loop": name(at), "index": index.to_string()})
        }
        Rule::BranchResult { at, branch, index } => {
            json!({"conditional": name(at), "branch": branch, "index": index.to_string()})
        }
        Rule::Transfer { at } => json!({"transfer": name(at)}),
        Rule::InPlaceOperand { at, operand, index } => {
            json!({"reader": name(at), "operand": operand, "index": index.to_string()})
        }
        Rule::DonatedParameter { at, index } => json!({"parameter": name(at), "index": index.to_string()}),
        Rule::DonatedOutput { parameter, index } => {
            json!({"parameter": name(parameter), "output": index.to_string()})
        }
        Rule::ReadOnly { value, shares_with } => json!({
            "value": value.label(history),
            "shares_with": shares_with.iter().map(|p| p.label(history)).collect::<Vec<_>>(),
        }),
        Rule::NotInPlace { at, operand, shapes, writes_over, .. } => json!({
            "reader": name(at),
            "operand": operand,
            "shapes": shapes.map(|s| history.shapes.long(s)),
            "writes_over": writes_over,
        }),
        Rule::SeveralBuffers { index } => json!({"index": index.to_string()}),
        Rule::RepeatedOutput { index, other } => {
            json!({"output": index.to_string(), "other": other.to_string()})
        }
        Rule::ReadOnlyOutput { index, value } => {
            json!({"output": index.to_string(), "value": value.label(history)})
        }
    };
    out["name"] = json!(rule.name());
    out["words"] = json!(words::rule(history, rule));
    out
}

fn refusal(history: &Module, refusal: &Refusal) -> Value {
    let mut out = match refusal {
        Refusal::AmbiguousSource | Refusal::LayoutChange | Refusal::MiddleToMiddle => json!({}),
        Refusal::Scatter(at) => json!({"scatter": history.name_of(*at)}),
        Refusal::Clash(clash) => clash_in_json(history, clash),
    };
    out["name"] = json!(refusal.name());
    out["words"] = json!(words::refusal(history, refusal));
    out
}

fn clash_in_json(history: &Module, clash: &Clash) -> Value {
    let mut out = json!({"wanted": clash.wanted.label(history), "written": clash.written.label(history)});
    out["until"] = match &clash.until {
        Until::Unread => json!("unread"),
        Until::Result => json!("result"),
        Until::Reads(reads) => {
            let each = reads.iter().map(|r| {
                let why = match r.why {
                    Late::After => "after",
                    Late::Unordered => "unordered",
                    Late::NotInPlace => "not-in-place",
                    Late::Nested => "nested",
                };
                json!({"reader": history.name_of(r.user), "operand": r.operand, "why": why})
            });
            Value::Array(each.collect())
        }
    };
    out
}

fn change(module: &Module, change: &Change) -> Value {
    let name = |i: &hlo::InstructionId| module.name_of(*i).to_owned();
    match change {
        Change::ReadFirst { reader, writer } => json!({"read_first": name(reader), "before": name(writer)}),
        Change::DropRead { reader, operand } => json!({"drop_read_by": name(reader), "operand": operand}),
        Change::Donate { parameter, index, output } => {
            json!({"donate": parameter, "index": index.to_string(), "output": output.to_string()})
        }
        Change::DropOutput { output } => json!({"drop_output": output.to_string()}),
        Change::SwapBranches { at } => json!({"swap_branches": name(at)}),
        Change::AnalyseRegions => json!({"flag": "--region-analysis"}),
    }
}
