//! What can be taken away as text.

use crate::rows::{self, space_name};
use assigner::words::{binary, grouped};
use questions::{Peak, Study};
use serde_json::json;
use std::fmt::Write as _;

/// Names by which files are asked for, and what they are.
pub const FILES: [(&str, &str); 8] = [
    ("values.csv", "All values as CSV"),
    ("assignment.json", "Allocations, values and peak as JSON"),
    ("curve.svg", "The bytes in use at each step, as SVG"),
    ("peak.md", "What makes the peak, as Markdown for an issue tracker"),
    ("buffer-assignment.txt", "buffer-assignment.txt, as XLA writes it of our assignment"),
    ("values.txt", "buffer-assignment-values.txt"),
    ("live-range.txt", "live-range.txt"),
    ("memory-usage-report.txt", "memory-usage-report.txt"),
];

/// Is it one of the files that XLA writes?
pub(crate) fn is_of_xla(what: &str) -> bool {
    FILES[4..].iter().any(|(name, _)| *name == what)
}

/// What is told of the module in a file.
pub(crate) struct Told<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// What it comes to: sentences.
    pub(crate) headline: Vec<String>,
    /// Changes that the sentences leave out, each in words.
    pub(crate) folded: &'a [String],
}

/// One of them; `None` if it is not known, or needs the program and there is none.
pub(crate) fn file(study: &Study, peak: &Peak, told: &Told<'_>, what: &str) -> Option<String> {
    match what {
        "values.csv" => Some(csv(study)),
        "assignment.json" => Some(in_json(study, peak)),
        "curve.svg" => {
            let most = peak.spaces.iter().max_by_key(|s| (s.live, std::cmp::Reverse(s.color)));
            most.map(|space| report::curve_file(study, space, told.name))
        }
        "peak.md" => Some(markdown(study, peak, told)),
        _ => {
            let program = study.program.as_ref()?;
            let (assignment, _) = study.ours.as_ref()?;
            let all = dumps::all(&program.module, &program.facts, assignment);
            all.into_iter().find(|(name, _)| *name == what).map(|(_, text)| text)
        }
    }
}

/// A field: quoted where it must be, and never one that a spreadsheet would run.
fn field(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

fn csv(study: &Study) -> String {
    let mut out = String::from(
        "name,opcode,shape,bytes,bytes_without_padding,first_step,last_step,allocation,offset,kind,memory_space,op_name,source,pass\n",
    );
    for row in &study.rows {
        let slab = study.slab(row);
        let number = |n: Option<String>| n.unwrap_or_default();
        let fields = [
            row.name.to_string(),
            row.origin.opcode.clone(),
            row.shape.clone(),
            row.size.to_string(),
            number(row.unpadded.map(|n| n.to_string())),
            number(row.range.map(|r| r.0.to_string())),
            number(row.range.map(|r| r.1.to_string())),
            slab.number.to_string(),
            row.offset.to_string(),
            slab.role.name().to_owned(),
            slab.color.to_string(),
            row.origin.op_name.clone(),
            row.origin.source_words(),
            row.origin.phase.name().to_owned(),
        ];
        let fields: Vec<String> = fields.iter().map(|f| field(f)).collect();
        out += &fields.join(",");
        out.push('\n');
    }
    out
}

fn in_json(study: &Study, peak: &Peak) -> String {
    let slabs: Vec<_> = study
        .slabs
        .iter()
        .map(|s| {
            json!({
                "number": s.number, "bytes": s.size, "memory_space": s.color, "kind": s.role.name(),
                "parameter": s.parameter.as_ref().map(|(n, i)| json!({"number": n, "index": i.0.to_vec()})),
                "maybe_live_out": s.maybe_live_out,
            })
        })
        .collect();
    let values: Vec<_> = study
        .rows
        .iter()
        .map(|r| {
            json!({
                "name": r.name.to_string(), "opcode": r.origin.opcode, "shape": r.shape, "bytes": r.size,
                "bytes_without_padding": r.unpadded, "range": r.range.map(|r| [r.0, r.1]),
                "allocation": study.slab(r).number, "offset": r.offset, "op_name": r.origin.op_name,
                "source": r.origin.source_words(), "pass": r.origin.phase.name(),
            })
        })
        .collect();
    let spaces: Vec<_> = peak
        .spaces
        .iter()
        .map(|s| {
            let slots: Vec<_> = s
                .slots
                .iter()
                .map(|slot| {
                    let names: Vec<String> =
                        slot.rows.iter().map(|r| study.rows[*r].name.to_string()).collect();
                    json!({
                        "allocation": study.slabs[slot.slab].number, "offset": slot.offset, "bytes": slot.size,
                        "cumulative": slot.cumulative, "values": names,
                    })
                })
                .collect();
            json!({
                "memory_space": s.color, "allocated": s.allocated, "temporaries": s.temp, "peak_step": s.step,
                "peak_bytes": s.live, "alive": slots,
            })
        })
        .collect();
    let source = match study.source {
        questions::Source::Dump => "xla",
        questions::Source::Ours => "ours",
    };
    let out = json!({
        "assignment": source, "end": study.end, "total": peak.total, "memory_spaces": spaces,
        "allocations": slabs, "values": values,
    });
    format!("{out}\n")
}

/// Text of others in a cell of a Markdown table: marked as code, and on one line.
fn cell(text: &str) -> String {
    let text: String = crate::text::cut(text)
        .chars()
        .map(|c| match c {
            '|' => '¦',
            '`' => '\'',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect();
    if text.is_empty() { text } else { format!("`{text}`") }
}

fn markdown(study: &Study, peak: &Peak, told: &Told<'_>) -> String {
    let mut out = format!("## The memory of {}\n\n", cell(told.name));
    for sentence in &told.headline {
        _ = writeln!(out, "{sentence}\n");
    }
    if !told.folded.is_empty() {
        let count = grouped(told.folded.len() as u64);
        _ = writeln!(out, "<details><summary>All {count} changes</summary>\n");
        for change in told.folded {
            _ = writeln!(out, "- {}", cell(change));
        }
        out += "\n</details>\n\n";
    }
    for space in peak.spaces.iter().filter(|s| s.temp > 0) {
        _ = writeln!(
            out,
            "### In use at step {} in memory space {}: {}\n\n| count | bytes | shape | operation | scope | source |\n|---:|---:|---|---|---|---|",
            space.step,
            space_name(space.color),
            binary(space.live)
        );
        let groups = questions::groups(study, &space.slots);
        for g in groups.iter().take(25) {
            _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} |",
                g.slots.len(),
                grouped(g.bytes),
                cell(&g.shape),
                cell(&g.operation),
                cell(&g.scope),
                cell(&g.source)
            );
        }
        if groups.len() > 25 {
            _ = writeln!(out, "\n{} more groups are left out.", groups.len() - 25);
        }
        out.push('\n');
    }
    out
}

/// The scopes of what is alive as a tree, depth first and the largest first: at most so many lines, so deep.
pub(crate) fn tree(study: &Study, alive_at: Option<u32>) -> Vec<crate::talk::TreeLine> {
    const MOST_LINES: usize = 3000;
    const DEEPEST: usize = 12;
    #[derive(Default)]
    struct Node {
        name: String,
        rows: Vec<u32>,
        children: std::collections::BTreeMap<String, usize>,
    }
    let mut nodes = vec![Node { name: "everything".to_owned(), ..Node::default() }];
    for (i, row) in study.rows.iter().enumerate() {
        if row.size == 0 || alive_at.is_some_and(|step| !rows::is_alive(row, step)) {
            continue;
        }
        let mut at = 0;
        nodes[0].rows.push(i as u32);
        let name = if row.origin.op_name.is_empty() { "without an op_name" } else { &row.origin.op_name };
        for part in rows::parts(name).take(DEEPEST) {
            let next = nodes[at].children.get(part).copied();
            at = next.unwrap_or_else(|| {
                nodes.push(Node { name: part.to_owned(), ..Node::default() });
                let new = nodes.len() - 1;
                nodes[at].children.insert(part.to_owned(), new);
                new
            });
            nodes[at].rows.push(i as u32);
        }
    }
    let bytes: Vec<u64> = nodes
        .iter()
        .map(|n| {
            let mut counted = rows::Counted::default();
            n.rows.iter().fold(0u64, |sum, r| sum.saturating_add(counted.add_row(&study.rows[*r as usize])))
        })
        .collect();
    let mut out = Vec::new();
    let mut stack = vec![(0usize, 0u32)];
    while let Some((n, depth)) = stack.pop() {
        if out.len() >= MOST_LINES {
            break;
        }
        let node = &nodes[n];
        let largest =
            node.rows.iter().copied().max_by_key(|r| (study.rows[*r as usize].size, std::cmp::Reverse(*r)));
        out.push(crate::talk::TreeLine {
            depth,
            name: crate::text::cut(&node.name),
            bytes: bytes[n],
            count: node.rows.len() as u32,
            row: largest.unwrap_or(0),
        });
        let mut children: Vec<usize> = node.children.values().copied().collect();
        // The last one pushed comes first.
        children.sort_by(|a, b| bytes[*a].cmp(&bytes[*b]).then_with(|| nodes[*b].name.cmp(&nodes[*a].name)));
        stack.extend(children.into_iter().map(|c| (c, depth + 1)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_never_run() {
        assert_eq!(field("a"), "a");
        assert_eq!(field("f32[2,3]"), "\"f32[2,3]\"");
        assert_eq!(field("say \"a\",b"), "\"say \"\"a\"\",b\"");
        assert_eq!(field("=cmd()"), "'=cmd()");
    }

    #[test]
    fn scopes_fall_into_parts() {
        let of = |s| rows::parts(s).collect::<Vec<_>>();
        assert_eq!(of("jit(f)/a(b/c)/dot"), ["jit(f)", "a(b/c)", "dot"]);
    }

    #[test]
    fn cells_stay_in_their_table() {
        assert_eq!(cell("a|b`c\nd"), "`a¦b'c d`");
    }
}
