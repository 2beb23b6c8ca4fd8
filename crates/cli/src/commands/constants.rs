//! `bufferscope constants MODULE [--most COUNT] [--json]`: who reads them, which are equal, which arguments were captured.

use crate::input::{AssignmentArguments, ModuleArguments};
use crate::{Answer, Failure, say, shown};
use assigner::words::grouped;
use questions::{Constants, Content, Reader, Study};
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    #[command(flatten)]
    assignment: AssignmentArguments,
    /// Of a dump: look at our assignment instead of XLA's own
    #[arg(long)]
    ours: bool,
    /// List at most this many (JSON has them all)
    #[arg(long, value_name = "COUNT", default_value_t = 30)]
    most: usize,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let study = arguments.module.study(&arguments.assignment, arguments.ours)?;
    let found = questions::constants(&study);
    if arguments.json {
        say(&format!("{}\n", in_json(&study, &found)))
    } else {
        say(&shown(&in_words(&study, &found, arguments.most)))
    }
}

fn in_words(study: &Study, found: &Constants, most: usize) -> String {
    let mut out = String::new();
    for line in found.words(study) {
        _ = writeln!(out, "{line}");
    }
    for c in found.constants.iter().take(most) {
        let row = &study.rows[c.row];
        _ = writeln!(out, "\n{:>15}  {} {}", grouped(c.bytes), row.name, row.shape);
        _ = writeln!(out, "{:>15}  {}", "", read_by(study, &c.readers));
        let known = c.words(study);
        if !known.is_empty() {
            _ = writeln!(out, "{:>15}  {known}", "");
        }
    }
    if found.constants.len() > most {
        _ = writeln!(out, "and {} more constants", grouped((found.constants.len() - most) as u64));
    }
    for c in found.captured.iter().take(most) {
        _ = writeln!(
            out,
            "\n{:>15}  argument {} {} {}",
            grouped(c.bytes),
            c.parameter,
            study.program.as_ref().map_or("", |p| p.module.name_of(c.instruction)),
            c.shape
        );
        _ = writeln!(out, "{:>15}  {}", "", read_by(study, &c.readers));
    }
    if found.captured.len() > most {
        _ = writeln!(out, "and {} more arguments", grouped((found.captured.len() - most) as u64));
    }
    out
}

fn read_by(study: &Study, readers: &[Reader]) -> String {
    if study.program.is_none() {
        return "who reads it is not known: the module's text is not there".to_owned();
    }
    format!("read by {}", Reader::list(study, readers))
}

fn readers(study: &Study, readers: &[Reader]) -> Value {
    let Some(module) = study.program.as_ref().map(|p| &p.module) else { return Value::Null };
    let all = readers.iter().map(|r| {
        let inside: Vec<Value> = r
            .inside
            .iter()
            .map(|i| {
                json!({"instruction": module.name_of(*i), "opcode": module.str(module.instruction(*i).opcode_name)})
            })
            .collect();
        json!({"instruction": module.name_of(r.instruction), "inside": inside})
    });
    all.collect()
}

fn in_json(study: &Study, found: &Constants) -> Value {
    let name = |i: &usize| study.rows[found.constants[*i].row].name.to_string();
    let constants: Vec<Value> = found
        .constants
        .iter()
        .map(|c| {
            let row = &study.rows[c.row];
            let (content, element) = match &c.content {
                Content::LeftOut => (None, None),
                Content::Uniform(one) => (Some("uniform"), Some(one)),
                Content::Told => (Some("told"), None),
            };
            json!({
                "constant": row.name.to_string(),
                "shape": row.shape,
                "bytes": c.bytes,
                "unpadded": row.unpadded,
                "color": study.slab(row).color,
                "readers": readers(study, &c.readers),
                "content": content,
                "element": element,
                "op_name": Some(&c.op_name).filter(|n| !n.is_empty()),
                "words": c.words(study),
            })
        })
        .collect();
    let alike: Vec<Value> = found
        .alike
        .iter()
        .map(|a| {
            json!({
                "constants": a.constants.iter().map(name).collect::<Vec<_>>(),
                "certain": a.is_certain,
                "saves": a.saves,
            })
        })
        .collect();
    let module = study.program.as_ref().map(|p| &p.module);
    let name = |i| module.map(|m| m.name_of(i));
    let captured: Vec<Value> = found
        .captured
        .iter()
        .map(|c| {
            json!({
                "parameter": c.parameter,
                "instruction": name(c.instruction),
                "shape": c.shape,
                "bytes": c.bytes,
                "readers": readers(study, &c.readers),
            })
        })
        .collect();
    json!({
        "bytes": found.bytes,
        "constants": constants,
        "alike": alike,
        "in_code": found.in_code.iter().map(|i| name(*i)).collect::<Vec<_>>(),
        "captured": captured,
        "arguments": module.map(|_| json!({"named": found.named.0, "of": found.named.1})),
        "words": found.words(study),
    })
}
