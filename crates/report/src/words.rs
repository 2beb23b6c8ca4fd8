//! What an assignment comes to, in sentences and tables, for every place where it is told.

use crate::text::{cut, cut_line};
use analysis::{Backend, Color, Target};
use assigner::words::{binary, both, bytes, grouped};
use hlo::InstructionId;
use opening::OutOfMemory;
use questions::{Peak, Reader, Role, Study};

/// Most lines of a table.
const MOST: usize = 200;

/// Sentences, and a table whose first line is its head.
pub type Told = (Vec<String>, Vec<Vec<String>>);

/// The name of a memory space.
#[must_use]
pub fn space_name(color: u32) -> String {
    match Target::color_name(Color(color)) {
        Some(name) => format!("{color} ({name})"),
        None => color.to_string(),
    }
}

/// A share of a whole.
#[must_use]
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "0 %".to_owned() } else { format!("{:.0} %", part as f64 * 100.0 / whole as f64) }
}

/// An owner's memory, in the plural.
#[must_use]
pub fn owner(role: Role) -> &'static str {
    match role {
        Role::Argument => "arguments",
        Role::Output => "outputs",
        Role::Temp => "temporaries",
        Role::Constant => "constants",
        Role::ThreadLocal => "thread-local",
    }
}

/// What an assignment comes to: a few sentences.
#[must_use]
pub fn headline(study: &Study, peak: &Peak) -> Vec<String> {
    let mut out = Vec::new();
    let kinds: Vec<String> = peak
        .owners
        .iter()
        .filter(|o| o.bytes > 0)
        .map(|o| {
            let donated = if o.donated > 0 {
                format!(" (of them {} donated)", binary(o.donated))
            } else {
                String::new()
            };
            format!("{} {}{donated}", owner(o.role), both(o.bytes))
        })
        .collect();
    let kinds = if kinds.is_empty() { "none with bytes".to_owned() } else { kinds.join(", ") };
    out.push(match study.slabs.len() {
        1 => format!("{} in 1 allocation: {kinds}.", both(peak.total)),
        n => format!("{} in {} allocations: {kinds}.", both(peak.total), grouped(n as u64)),
    });
    for space in peak.spaces.iter().filter(|s| s.temp > 0) {
        out.push(format!(
            "The temporaries of memory space {} take {}; most of that is in use at step {} of {}, {}: {} ({}).",
            space_name(space.color),
            both(space.temp),
            grouped(u64::from(space.step)),
            grouped(u64::from(study.end)),
            cut(study.at(space.step)),
            both(space.live),
            percent(space.live, space.temp)
        ));
        let groups = questions::groups(study, &space.slots);
        let largest: Vec<String> = groups
            .iter()
            .take(3)
            .map(|g| {
                let n = if g.slots.len() > 1 { format!("{} × ", g.slots.len()) } else { String::new() };
                format!(
                    "{n}{} {}, {} ({})",
                    cut(&g.shape),
                    cut(&g.operation),
                    binary(g.bytes),
                    percent(g.bytes, space.live)
                )
            })
            .collect();
        if !largest.is_empty() {
            out.push(format!("Most of it: {}.", largest.join("; ")));
        }
    }
    let elsewhere = |color: u32| study.rows.iter().any(|r| study.slab(r).color == color && r.size > 0);
    if study.backend != Some(Backend::Cpu) && !elsewhere(5) && !study.rows.is_empty() {
        out.push("Nothing is in memory space 5 (host): nothing was offloaded.".to_owned());
    }
    out
}

fn name(study: &Study, id: InstructionId) -> String {
    study.program.as_ref().map(|p| cut(p.module.name_of(id))).unwrap_or_default()
}

/// Of each argument which output took it, or why nobody did; `None` without the program.
#[must_use]
pub fn donation(study: &Study) -> Option<Told> {
    let found = questions::donation(study)?;
    let mut lines = vec![format!("Donation saves {}.", both(found.taken))];
    if found.could_save > 0 {
        lines.push(format!(
            "Donating more could save up to {} more, less the copies that it would need.",
            both(found.could_save)
        ));
    }
    lines.extend(found.unseen_offers().map(str::to_owned));
    let head = ["Argument", "Name", "Bytes", "What became of it", "Needed all the same"];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    for a in found.arguments.iter().take(MOST) {
        let index = if a.index.is_root() { String::new() } else { a.index.to_string() };
        let extras: Vec<String> = a.extras.iter().map(|e| e.words(study)).collect();
        table.push(vec![
            format!("{}{index}", a.parameter),
            cut(&format!("{} {}", a.name, a.shape)),
            bytes(a.bytes),
            cut_line(&a.words()),
            cut_line(&extras.join("; ")),
        ]);
    }
    for o in found.outputs.iter().filter(|o| o.takes.is_none()).take(MOST) {
        let copy = o
            .copy_of
            .map(|(n, c)| format!("a plain copy of argument {n}, made by {}", name(study, c)))
            .unwrap_or_default();
        table.push(vec![
            format!("output {}", o.index),
            cut(&o.shape),
            bytes(o.bytes),
            "stands in memory of its own".to_owned(),
            copy,
        ]);
    }
    let left_out = found.arguments.len().saturating_sub(MOST)
        + found.outputs.iter().filter(|o| o.takes.is_none()).count().saturating_sub(MOST);
    if left_out > 0 {
        lines.push(format!("{} more lines are left out of the table.", grouped(left_out as u64)));
    }
    Some((lines, table))
}

/// The constants with their readers, and the arguments that were captured.
#[must_use]
pub fn constants(study: &Study) -> Told {
    let found = questions::constants(study);
    let mut lines: Vec<String> = found.words(study).iter().map(|l| cut_line(l)).collect();
    let mut table =
        vec![["What", "Shape", "Bytes", "Who reads it", "What is known of it"].map(str::to_owned).to_vec()];
    for c in found.constants.iter().take(MOST) {
        let row = &study.rows[c.row];
        table.push(vec![
            cut(&row.name.to_string()),
            cut(&row.shape),
            bytes(c.bytes),
            cut_line(&Reader::list(study, &c.readers)),
            cut_line(&c.words(study)),
        ]);
    }
    for c in found.captured.iter().take(MOST) {
        table.push(vec![
            format!("argument {} {}", c.parameter, name(study, c.instruction)),
            cut(&c.shape),
            bytes(c.bytes),
            cut_line(&Reader::list(study, &c.readers)),
            "an argument without a name: as a guess, a captured array".to_owned(),
        ]);
    }
    let left_out = found.constants.len().saturating_sub(MOST) + found.captured.len().saturating_sub(MOST);
    if left_out > 0 {
        lines.push(format!("{} more lines are left out of the table.", grouped(left_out as u64)));
    }
    (lines, if table.len() > 1 { table } else { Vec::new() })
}

/// A size that another program wrote, rounded or not.
#[must_use]
pub fn size_words(size: dumps::read::Size) -> String {
    if size.is_exact { both(size.bytes) } else { format!("about {}", binary(size.bytes)) }
}

/// What an out-of-memory error says, in sentences.
#[must_use]
pub fn out_of_memory(e: &OutOfMemory) -> Vec<String> {
    let mut words = Vec::new();
    let space = e.space.as_deref().map(|s| format!(" in {}", cut(s))).unwrap_or_default();
    match (e.used, e.limit) {
        (Some(used), Some(limit)) => words.push(format!(
            "The program needs {}{space}, and there are {}: {} too much.",
            size_words(used),
            size_words(limit),
            binary(used.bytes.saturating_sub(limit.bytes))
        )),
        (Some(used), None) => words.push(format!("The program needs {}{space}.", size_words(used))),
        _ => {}
    }
    if let (opening::Form::Scoped, Some(asked), Some(limit)) = (e.form, e.requested, e.limit) {
        words.push(format!(
            "A kernel asked for {} of its own{space}; its limit is {}.",
            size_words(asked),
            size_words(limit)
        ));
        let name = e.buffers.first().and_then(|b| b.op_name.as_deref().or(b.label.as_deref()));
        words.extend(name.map(|name| format!("It is the kernel {}.", cut(name))));
        return words;
    }
    words.extend(e.caution().map(str::to_owned));
    if let Some(asked) = e.requested {
        words.push(format!("One request, at run time, asked for {}.", size_words(asked)));
    }
    if let Some(module) = &e.module {
        words.push(format!("It is about the module {}.", cut(module)));
    }
    if !e.totals.is_empty() {
        let sums: Vec<String> =
            e.totals.iter().map(|(what, size)| format!("{}: {}", cut(what), size_words(*size))).collect();
        words.push(format!("By kind, as the message has it: {}.", sums.join("; ")));
    }
    if !e.buffers.is_empty() {
        let sum = e.buffers.iter().fold(0u64, |s, b| s.saturating_add(b.size.bytes));
        words.push(match e.buffers.len() {
            1 => format!("The listing names 1 buffer with {}.", binary(sum)),
            n => format!("The listing names {} buffers with {} together.", grouped(n as u64), binary(sum)),
        });
    }
    words
}
