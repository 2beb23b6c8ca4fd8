//! Prints a program as MLIR reads it: what was in its own syntax in that, the rest in the generic form.

use crate::ir::{BlockId, OpId, Piece, Program, RegionId, Syntax, TOP, ValueId};
use std::fmt::Write as _;

/// The whole program.
pub fn print(program: &Program) -> String {
    let mut out = String::new();
    for line in &program.aliases {
        out += line;
        out.push('\n');
    }
    for op in &program.block(TOP.1).ops {
        print_op(program, *op, 0, &mut out);
    }
    out
}

/// One operation without what is inside it, on one line: what a figure and a message show.
pub fn line(program: &Program, op: OpId) -> String {
    let mut out = String::new();
    print_op(program, op, 0, &mut out);
    out.lines().next().unwrap_or_default().trim_end_matches(" {").trim_end().to_owned()
}

fn list(program: &Program, values: &[ValueId]) -> String {
    values.iter().map(|v| program.value(*v).label()).collect::<Vec<_>>().join(", ")
}

fn types(program: &Program, values: &[ValueId]) -> String {
    values.iter().map(|v| program.value(*v).ty.as_str()).collect::<Vec<_>>().join(", ")
}

/// `(%a, %b : T, T)`, or nothing.
fn passed(program: &Program, values: &[ValueId]) -> String {
    if values.is_empty() {
        return String::new();
    }
    format!("({} : {})", list(program, values), types(program, values))
}

fn arrow(program: &Program, op: OpId) -> String {
    let results = &program.op(op).results;
    if results.is_empty() { String::new() } else { format!(" -> ({})", types(program, results)) }
}

fn typed_arguments(program: &Program, block: BlockId) -> String {
    let argument = |v: &ValueId| format!("{}: {}", program.value(*v).label(), program.value(*v).ty);
    program.block(block).arguments.iter().map(argument).collect::<Vec<_>>().join(", ")
}

fn behind(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" {text}") }
}

fn print_op(program: &Program, op: OpId, depth: usize, out: &mut String) {
    let o = program.op(op);
    if o.syntax == Syntax::Implicit {
        return;
    }
    _ = write!(out, "{:1$}", "", depth * 2);
    let names = result_names(program, op);
    if !names.is_empty() {
        _ = write!(out, "{names} = ");
    }
    let own_name = match o.name.as_str() {
        "builtin.module" => "module",
        // Only a function in its own syntax lends its dialect's name.
        "func.return" if in_own_function(program, op) => "return",
        "func.call" => "call",
        name => name,
    };
    match &o.syntax {
        Syntax::Implicit => {}
        Syntax::Generic { properties, attributes } => {
            _ = write!(out, "\"{}\"({})", o.name, list(program, &o.operands));
            if !o.successors.is_empty() {
                let labels: Vec<String> =
                    o.successors.iter().map(|s| format!("^{}", program.block(s.block).label)).collect();
                _ = write!(out, "[{}]", labels.join(", "));
            }
            *out += &behind(properties);
            for (i, region) in o.regions.iter().enumerate() {
                *out += if i == 0 { " (" } else { ", " };
                print_region(program, *region, depth, true, out);
            }
            if !o.regions.is_empty() {
                out.push(')');
            }
            *out += &behind(attributes);
            let results = types(program, &o.results);
            let results = if o.results.len() == 1 && !results.starts_with('(') {
                results
            } else {
                format!("({results})")
            };
            _ = write!(out, " : ({}) -> {results}", types(program, &o.operands));
        }
        Syntax::Pieces(pieces) => {
            *out += own_name;
            for piece in pieces {
                match piece {
                    Piece::Text(text) => *out += text,
                    Piece::Operand(i) => *out += &program.value(o.operands[*i as usize]).label(),
                }
            }
        }
        Syntax::Module(head) => {
            _ = write!(out, "module{} ", behind(head));
            print_region(program, o.regions[0], depth, false, out);
        }
        Syntax::Function { visibility, symbol, arguments, results, attributes } => {
            _ = write!(out, "func.func{} {symbol}(", behind(visibility));
            let entry = o.regions.first().and_then(|r| program.region(*r).blocks.first());
            match entry {
                Some(entry) => {
                    for (i, (v, dictionary)) in
                        program.block(*entry).arguments.iter().zip(arguments).enumerate()
                    {
                        let value = program.value(*v);
                        let comma = if i > 0 { ", " } else { "" };
                        _ = write!(out, "{comma}{}: {}{}", value.label(), value.ty, behind(dictionary));
                    }
                }
                None => *out += &arguments.join(", "),
            }
            out.push(')');
            if !results.is_empty() {
                _ = write!(out, " -> {results}");
            }
            if !attributes.is_empty() {
                _ = write!(out, " attributes {attributes}");
            }
            if entry.is_some() {
                out.push(' ');
                print_region(program, o.regions[0], depth, false, out);
            }
        }
        Syntax::Control(attributes) => {
            *out += own_name;
            control(program, op, depth, out);
            if o.name == "scf.while" && !attributes.is_empty() {
                *out += " attributes";
            }
            *out += &behind(attributes);
        }
    }
    out.push('\n');
}

fn in_own_function(program: &Program, op: OpId) -> bool {
    let around = program.parent_of(program.op(op).block);
    around.is_none_or(|f| matches!(program.op(f).syntax, Syntax::Function { .. }))
}

/// `%a, %b:2`; nothing for results without a name.
fn result_names(program: &Program, op: OpId) -> String {
    let mut names: Vec<(String, u32)> = Vec::new();
    for value in &program.op(op).results {
        let value = program.value(*value);
        if value.name.is_empty() {
            return String::new();
        }
        match (value.part, names.last_mut()) {
            (Some(part @ 1..), Some((_, count))) => *count = part + 1,
            _ => names.push((value.name.clone(), 1)),
        }
    }
    let name = |(name, count): &(String, u32)| {
        if *count > 1 { format!("%{name}:{count}") } else { format!("%{name}") }
    };
    names.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn control(program: &Program, op: OpId, depth: usize, out: &mut String) {
    let o = program.op(op);
    let value = |v: ValueId| program.value(v).label();
    let carried = |arguments: &[ValueId], operands: &[ValueId]| {
        let pair = |(a, o): (&ValueId, &ValueId)| format!("{} = {}", value(*a), value(*o));
        arguments.iter().zip(operands).map(pair).collect::<Vec<_>>().join(", ")
    };
    match o.name.as_str() {
        "cf.br" | "cf.cond_br" => {
            if o.name == "cf.cond_br" {
                _ = write!(out, " {},", value(o.operands[0]));
            }
            for (i, s) in o.successors.iter().enumerate() {
                let values = &o.operands[s.first as usize..(s.first + s.count) as usize];
                let comma = if i > 0 { "," } else { "" };
                _ = write!(out, "{comma} ^{}{}", program.block(s.block).label, passed(program, values));
            }
        }
        "scf.if" => {
            _ = write!(out, " {}{} ", value(o.operands[0]), arrow(program, op));
            print_region(program, o.regions[0], depth, false, out);
            if !program.region(o.regions[1]).blocks.is_empty() {
                *out += " else ";
                print_region(program, o.regions[1], depth, false, out);
            }
        }
        "scf.for" => {
            let entry = program.region(o.regions[0]).blocks[0];
            let arguments = &program.block(entry).arguments;
            let [lower, upper, step] = [o.operands[0], o.operands[1], o.operands[2]].map(value);
            _ = write!(out, " {} = {lower} to {upper} step {step}", value(arguments[0]));
            if arguments.len() > 1 {
                let pairs = carried(&arguments[1..], &o.operands[3..]);
                _ = write!(out, " iter_args({pairs}){}", arrow(program, op));
            }
            let kind = &program.value(arguments[0]).ty;
            if kind != "index" {
                _ = write!(out, " : {kind}");
            }
            out.push(' ');
            print_region(program, o.regions[0], depth, false, out);
        }
        "scf.while" => {
            let before = program.region(o.regions[0]).blocks[0];
            let pairs = carried(&program.block(before).arguments, &o.operands);
            if !pairs.is_empty() {
                _ = write!(out, " ({pairs})");
            }
            _ = write!(out, " : ({}) -> ({}) ", types(program, &o.operands), types(program, &o.results));
            print_region(program, o.regions[0], depth, false, out);
            *out += " do ";
            print_region(program, o.regions[1], depth, true, out);
        }
        _ => {
            _ = write!(out, "{} ", arrow(program, op));
            print_region(program, o.regions[0], depth, false, out);
        }
    }
}

/// A region in braces. The arguments of its entry are written if the operation's own syntax does not name them.
fn print_region(program: &Program, region: RegionId, depth: usize, with_arguments: bool, out: &mut String) {
    *out += "{\n";
    for (i, block) in program.region(region).blocks.iter().enumerate() {
        let b = program.block(*block);
        if i > 0 || with_arguments && !b.arguments.is_empty() {
            let label = if b.label.is_empty() { "bb0" } else { &b.label };
            _ = write!(out, "{:1$}^{label}", "", depth * 2);
            if !b.arguments.is_empty() {
                _ = write!(out, "({})", typed_arguments(program, *block));
            }
            *out += ":\n";
        }
        for op in &b.ops {
            print_op(program, *op, depth + 1, out);
        }
    }
    _ = write!(out, "{:1$}}}", "", depth * 2);
}
