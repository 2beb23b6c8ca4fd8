//! What the pass did, in sentences.

use crate::breaking::uses;
use crate::classic::{Flow, Step, Unsafe};
use crate::ir::{BlockId, OpId, Program, ValueId};

/// A value's name as code.
fn name(program: &Program, value: ValueId) -> String {
    format!("`{}`", program.value(value).label())
}

fn line(program: &Program, op: OpId) -> String {
    format!("`{}`", crate::line(program, op))
}

/// What a region is to the operation around it, without an article.
pub fn region_role(program: &Program, block: BlockId) -> &'static str {
    let region = program.block(block).region;
    let Some(parent) = program.region(region).parent else { return "program" };
    let parent = program.op(parent);
    match (parent.name.as_str(), parent.regions.iter().position(|r| *r == region)) {
        ("func.func", _) => "function",
        ("scf.if", Some(0)) => "then",
        ("scf.if", _) => "else",
        ("scf.for", _) => "body",
        ("scf.while", Some(0)) => "before",
        ("scf.while", _) => "do",
        _ => "region",
    }
}

/// A block by its label, or, where it has none, by what it is in.
pub fn block(program: &Program, block: BlockId) -> String {
    let b = program.block(block);
    let is_first = program.region(b.region).blocks.first() == Some(&block);
    let parent = program.region(b.region).parent.map(|p| program.op(p).name.clone()).unwrap_or_default();
    match (region_role(program, block), is_first) {
        ("function" | "program", true) => "the first block".to_owned(),
        (role, true) => format!("the {role} of `{parent}`"),
        (_, false) => format!("`^{}`", b.label),
    }
}

/// A step in one or two sentences; of the program that came out.
pub fn step(program: &Program, step: &Step) -> String {
    let name = |value: ValueId| name(program, value);
    let line = |op: OpId| line(program, op);
    match step {
        Step::Allocation { value, freed_by: None } => {
            format!("{} is allocated: somebody has to free it.", name(*value))
        }
        Step::Allocation { value, freed_by: Some(by) } => {
            format!("{} is allocated, and {} frees it already.", name(*value), line(*by))
        }
        Step::MayBe { from, to, why } => {
            let why = match why {
                Flow::View => "it is a view of it",
                Flow::Select => "it is chosen from several as the program runs",
                Flow::Branch => "a branch passes the one to the other",
                Flow::Region => "it is passed into, between or out of regions",
                Flow::Unknown => "what the operation gives is not known",
            };
            format!("{} may be {}: {why}.", name(*to), name(*from))
        }
        Step::Owns { value, from, defined_in, why } => {
            let why = match why {
                Unsafe::NotDominated => {
                    format!("there is a way to it that does not come by {}", block(program, *defined_in))
                }
                Unsafe::SameBlock => "what comes in may be of the last time round".to_owned(),
            };
            format!("{} may be {}, but {why}: so it must own its buffer.", name(*value), name(*from))
        }
        Step::Clone { op, of, into, before, .. } => {
            let clone = program.op(*op).results.first().map(|v| name(*v)).unwrap_or_default();
            format!(
                "{clone} is a clone of {}, made in front of {}, so that {} gets a buffer of its own.",
                name(*of),
                line(*before),
                name(*into)
            )
        }
        Step::AlreadyClone { clone, into } => {
            format!("{} gets {}, which is a clone already.", name(*into), name(*clone))
        }
        Step::Release { value, aliases, block: at, after, moved, .. } => {
            let all: Vec<String> = aliases.iter().map(|v| name(*v)).collect();
            let place = match after {
                Some(after) if uses(program, *after, aliases) => {
                    format!("behind the last use, {}", line(*after))
                }
                Some(after) => format!("behind {}", line(*after)),
                None => "as the block begins".to_owned(),
            };
            let (may, their) = match all.len() {
                1 => (format!("{} has no other name", all[0]), "its"),
                _ => (format!("{} may all be one buffer", all.join(", ")), "their"),
            };
            format!(
                "{may}. All ways from {their} uses meet in {}: {} is freed there, {place}.{}",
                block(program, *at),
                name(*value),
                if *moved { " The release that stood in the text is moved there." } else { "" }
            )
        }
        Step::Escapes { value, with } => {
            format!("{} leaves with {}: it is not freed here.", name(*value), line(*with))
        }
    }
}
