//! What must hold of a program before its rules mean anything: counts and types that fit, definitions before uses.

use crate::control::{ends, is_structured, leavers};
use crate::graph::dominators;
use crate::ir::{Definition, OpId, Program, Refusal, Syntax, TOP, ValueId};
use crate::read::squeezed;

type Result<T> = std::result::Result<T, Refusal>;

/// Refuses a program that MLIR would refuse, as far as the rules depend on it.
pub(crate) fn verify(program: &Program) -> Result<()> {
    for op in program.in_order(TOP.0) {
        blocks(program, op)?;
        successors(program, op)?;
        structure(program, op)?;
    }
    definitions(program)
}

fn refuse<T>(program: &Program, op: OpId, message: String) -> Result<T> {
    let op = program.op(op);
    Err(Refusal { at: op.at, message: format!("`{}`, {message}", op.name) })
}

fn same_types(program: &Program, values: &[ValueId], inputs: &[ValueId]) -> bool {
    let ty = |v: &ValueId| squeezed(&program.value(*v).ty);
    values.len() == inputs.len() && values.iter().zip(inputs).all(|(v, i)| ty(v) == ty(i))
}

fn blocks(program: &Program, op: OpId) -> Result<()> {
    let o = program.op(op);
    for region in &o.regions {
        let blocks = &program.region(*region).blocks;
        let must_end = blocks.len() > 1 || o.name == "func.func" || is_structured(&o.name);
        for block in blocks {
            let ops = &program.block(*block).ops;
            let Some(last) = ops.last() else {
                if !must_end {
                    continue;
                }
                return refuse(program, op, "expected each of its blocks to hold an operation".to_owned());
            };
            if must_end && !ends(program, *last) {
                return refuse(
                    program,
                    *last,
                    "expected a branch, `return` or `scf.yield` at the end of a block".to_owned(),
                );
            }
            if let Some(early) = ops[..ops.len() - 1].iter().find(|o| ends(program, **o)) {
                return refuse(program, *early, "expected nothing behind it in its block".to_owned());
            }
        }
    }
    Ok(())
}

fn successors(program: &Program, op: OpId) -> Result<()> {
    let o = program.op(op);
    for successor in &o.successors {
        let block = program.block(successor.block);
        let region = program.block(o.block).region;
        if block.region != region {
            return refuse(program, op, format!("expected `^{}` to be in its own region", block.label));
        }
        if program.region(region).blocks.first() == Some(&successor.block) {
            return refuse(program, op, "expected no branch to the first block of a region".to_owned());
        }
        let passed = &o.operands[successor.first as usize..(successor.first + successor.count) as usize];
        if !same_types(program, passed, &block.arguments) {
            let message = format!(
                "expected what it passes to fit the {} arguments of `^{}`",
                block.arguments.len(),
                block.label
            );
            return refuse(program, op, message);
        }
    }
    Ok(())
}

/// Counts and types of what structured operations pass around.
fn structure(program: &Program, op: OpId) -> Result<()> {
    let o = program.op(op);
    let regions = match o.name.as_str() {
        "scf.if" | "scf.while" => 2,
        "scf.for" | "scf.execute_region" | "memref.alloca_scope" => 1,
        "func.func" => return returns(program, op),
        _ => return Ok(()),
    };
    if o.regions.len() != regions {
        return refuse(program, op, format!("expected {regions} regions"));
    }
    let operands = match o.name.as_str() {
        "scf.if" => 1,
        "scf.for" => 3 + o.results.len(),
        "scf.while" => o.operands.len(),
        _ => 0,
    };
    if o.operands.len() != operands {
        return refuse(program, op, format!("expected {operands} operands"));
    }
    let entries: Vec<&[ValueId]> = o
        .regions
        .iter()
        .map(|r| program.region(*r).blocks.first().map_or(&[][..], |b| &program.block(*b).arguments))
        .collect();
    let is_empty = |i: usize| program.region(o.regions[i]).blocks.is_empty();
    let leaves = |region: usize, with: &str, first: usize, inputs: &[ValueId]| -> Result<()> {
        for leaver in leavers(program, o.regions[region]) {
            let l = program.op(leaver);
            if l.name != with
                || l.operands.len() < first
                || !same_types(program, &l.operands[first..], inputs)
            {
                let message = format!("expected `{with}` that passes {} values of their types", inputs.len());
                return refuse(program, leaver, message);
            }
        }
        Ok(())
    };
    let wrong = |what: &str| refuse(program, op, format!("expected {what}"));
    let multiblock = matches!(o.name.as_str(), "scf.execute_region" | "memref.alloca_scope");
    if !multiblock && o.regions.iter().any(|r| program.region(*r).blocks.len() > 1) {
        return wrong("regions of one block");
    }
    match o.name.as_str() {
        "scf.if" => {
            if is_empty(0) || is_empty(1) && !o.results.is_empty() {
                return wrong("a region for each result");
            }
            if !entries[0].is_empty() || !entries[1].is_empty() {
                return wrong("regions without arguments");
            }
            leaves(0, "scf.yield", 0, &o.results)?;
            leaves(1, "scf.yield", 0, &o.results)
        }
        "scf.for" => {
            if entries[0].len() != 1 + o.results.len()
                || !same_types(program, &o.operands[3..], &o.results)
                || !same_types(program, &entries[0][1..], &o.results)
            {
                return wrong("an argument and a result for each value that is carried");
            }
            leaves(0, "scf.yield", 0, &o.results)
        }
        "scf.while" => {
            if is_empty(0) || is_empty(1) {
                return wrong("two regions that are not empty");
            }
            if !same_types(program, &o.operands, entries[0]) || !same_types(program, &o.results, entries[1]) {
                return wrong("arguments that fit its operands and its results");
            }
            leaves(0, "scf.condition", 1, &o.results)?;
            leaves(1, "scf.yield", 0, entries[0])
        }
        name => {
            if is_empty(0) || !entries[0].is_empty() {
                return wrong("a region without arguments");
            }
            let with = if name == "scf.execute_region" { "scf.yield" } else { "memref.alloca_scope.return" };
            leaves(0, with, 0, &o.results)
        }
    }
}

/// What is returned fits what the function says it returns.
fn returns(program: &Program, op: OpId) -> Result<()> {
    let o = program.op(op);
    let Syntax::Function { results, .. } = &o.syntax else { return Ok(()) };
    let types = crate::read::types_of(results);
    for region in &o.regions {
        for leaver in leavers(program, *region) {
            let l = program.op(leaver);
            let given: Vec<String> = l.operands.iter().map(|v| squeezed(&program.value(*v).ty)).collect();
            if l.name != "func.return" || given != types {
                let message = format!("expected `return` of what the function says: ({})", types.join(", "));
                return refuse(program, leaver, message);
            }
        }
    }
    Ok(())
}

fn definitions(program: &Program) -> Result<()> {
    let tree = dominators(program);
    let mut place = vec![0_usize; program.ops.len()];
    for block in &program.blocks {
        for (i, op) in block.ops.iter().enumerate() {
            place[op.index()] = i;
        }
    }
    for op in program.in_order(TOP.0) {
        for operand in &program.op(op).operands {
            let home = program.block_of(*operand);
            let comes_first = match program.value(*operand).definition {
                _ if !tree.dominates(program, home, program.op(op).block) => false,
                Definition::Argument(..) => true,
                Definition::Result(by, _) => match program.ancestor_in_block(op, home) {
                    Some(at) => place[by.index()] < place[at.index()],
                    None => true,
                },
            };
            if !comes_first {
                let label = program.value(*operand).label();
                return refuse(program, op, format!("expected `{label}` to be defined on every way to it"));
            }
        }
    }
    Ok(())
}
