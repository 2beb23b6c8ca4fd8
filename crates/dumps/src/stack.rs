//! The breakdown of the peak by where it comes from (4.5).

use crate::grouped;
use analysis::{Facts, ValueId};
use hlo::{ComputationId, InstructionId, Module};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Traces of one instruction that are told apart; beyond it the rest are dropped from the printed tree.
const MOST_TRACES: usize = 4096;

/// A line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakdownNode {
    /// How deep it stands; 0 is the outermost, normally the entry computation.
    pub depth: u32,
    /// A computation, an `op_name`, a part of one, or an instruction without one.
    pub name: String,
    /// Bytes of its own.
    pub current: u64,
    /// Bytes of it and of all below.
    pub total: u64,
    /// What of the whole is left after it and all lines before it.
    pub remaining: u64,
    /// Is it the last one below its parent?
    pub is_last: bool,
}

#[derive(Default)]
struct Node {
    name: String,
    current: u64,
    total: u64,
    children: Vec<usize>,
    by_name: FxHashMap<String, usize>,
}

/// Breaks bytes of values down by where they come from. Depth first, the largest first; what has no bytes is left out.
#[must_use]
pub fn breakdown(module: &Module, facts: &Facts, values: &[(ValueId, u64)]) -> Vec<BreakdownNode> {
    let mut nodes = vec![Node::default()];
    let mut prefixes = FxHashMap::default();
    for (v, bytes) in values {
        let at = facts.value(*v).defined_at();
        let mut traces = traces(module, facts, at.instruction, &mut prefixes);
        if at.sub != 0 {
            let index =
                &module.shapes.subshapes(module.instruction(at.instruction).shape)[at.sub as usize].index;
            for trace in &mut traces {
                if let Some(last) = trace.last_mut() {
                    let _ = write!(last, "{index}");
                }
            }
        }
        // Divided evenly; the first ones take what is left over.
        let (share, rest) = (bytes / traces.len() as u64, bytes % traces.len() as u64);
        for (i, trace) in traces.iter().enumerate() {
            insert(&mut nodes, trace, share + u64::from((i as u64) < rest));
        }
    }
    // A child is always made after its parent, so backwards the sums are ready when they are needed.
    for i in (0..nodes.len()).rev() {
        nodes[i].total = nodes[i].current + nodes[i].children.iter().map(|c| nodes[*c].total).sum::<u64>();
    }
    flatten(&nodes)
}

fn insert(nodes: &mut Vec<Node>, trace: &[String], bytes: u64) {
    let mut at = 0;
    for name in trace {
        at = match nodes[at].by_name.get(name) {
            Some(child) => *child,
            None => {
                let child = nodes.len();
                nodes.push(Node { name: name.clone(), ..Node::default() });
                nodes[at].by_name.insert(name.clone(), child);
                nodes[at].children.push(child);
                child
            }
        };
    }
    nodes[at].current += bytes;
}

fn flatten(nodes: &[Node]) -> Vec<BreakdownNode> {
    let mut remaining = nodes[0].total;
    let mut out = Vec::new();
    // Frames: a node, its depth, is it its parent's last child. Pushed in reverse, so that the first comes first.
    let mut stack: Vec<(usize, u32, bool)> = vec![(0, 0, true)];
    while let Some((i, depth, is_last)) = stack.pop() {
        let node = &nodes[i];
        if i != 0 {
            remaining = remaining.saturating_sub(node.current);
            out.push(BreakdownNode {
                depth: depth - 1,
                name: node.name.clone(),
                current: node.current,
                total: node.total,
                remaining,
                is_last,
            });
        }
        let mut children: Vec<usize> =
            node.children.iter().copied().filter(|c| nodes[*c].total > 0).collect();
        children.sort_by(|a, b| {
            nodes[*b].total.cmp(&nodes[*a].total).then_with(|| nodes[*a].name.cmp(&nodes[*b].name))
        });
        stack.extend(children.into_iter().rev().enumerate().map(|(k, c)| (c, depth + 1, k == 0)));
    }
    out
}

/// Writes the tree as the live-range file has it, under a line that gives the whole.
#[must_use]
pub fn breakdown_text(nodes: &[BreakdownNode], total: u64) -> String {
    let mut out = format!("  Stack trace breakdown for peak usage: {} bytes\n", grouped(total));
    // By depth: what stands before the connector.
    let mut prefixes: Vec<String> = vec!["  ".to_owned()];
    for node in nodes {
        prefixes.truncate(node.depth as usize + 1);
        let Some(prefix) = prefixes.last() else { break };
        let connector = match (node.depth, node.is_last) {
            (0, _) => "  ",
            (_, true) => "└── ",
            (_, false) => "├── ",
        };
        let percent = if total == 0 { 0.0 } else { node.total as f64 * 100.0 / total as f64 };
        let _ = writeln!(
            out,
            "{prefix}{connector}{} ({percent:.1}%, total: {} bytes, current: {} bytes, remaining: {} bytes)",
            node.name,
            grouped(node.total),
            grouped(node.current),
            grouped(node.remaining)
        );
        let below = format!("{prefix}{}", if node.is_last { "    " } else { "│   " });
        prefixes.push(below);
    }
    out
}

/// All paths that lead to an instruction: computation, leaf of the call site, computation, ..., leaf.
fn traces(
    module: &Module,
    facts: &Facts,
    id: InstructionId,
    prefixes: &mut FxHashMap<ComputationId, Vec<Vec<String>>>,
) -> Vec<Vec<String>> {
    let computation = module.instruction(id).computation;
    let leaf = leaf_parts(module, id);
    let mut out = prefixes_of(module, facts, computation, prefixes).clone();
    for trace in &mut out {
        trace.extend(leaf.iter().cloned());
    }
    out
}

/// The paths that lead into a computation, its own name last. Callers are done first, by an explicit stack.
fn prefixes_of<'p>(
    module: &Module,
    facts: &Facts,
    computation: ComputationId,
    prefixes: &'p mut FxHashMap<ComputationId, Vec<Vec<String>>>,
) -> &'p Vec<Vec<String>> {
    let mut stack = vec![computation];
    while let Some(&c) = stack.last() {
        if prefixes.contains_key(&c) {
            stack.pop();
            continue;
        }
        // By their ids in XLA, which number computations and instructions in the order of storage.
        let mut sites = facts.graph.callers(c).to_vec();
        if sites.len() > 1 {
            let orders = &facts.orders;
            sites.sort_by_cached_key(|site| {
                let caller = module.instruction(*site).computation;
                (
                    orders.storage.iter().position(|c| *c == caller),
                    orders.instructions[caller.index()].iter().position(|i| i == site),
                )
            });
        }
        let missing: Vec<ComputationId> = sites
            .iter()
            .map(|s| module.instruction(*s).computation)
            .filter(|c| !prefixes.contains_key(c))
            .collect();
        if !missing.is_empty() {
            stack.extend(missing);
            continue;
        }
        let name = module.computation_name(c).to_owned();
        let mut paths = Vec::new();
        for site in &sites {
            let leaf = leaf_parts(module, *site);
            for path in &prefixes[&module.instruction(*site).computation] {
                let mut path = path.clone();
                path.extend(leaf.iter().cloned());
                path.push(name.clone());
                paths.push(path);
            }
        }
        if sites.is_empty() {
            paths.push(vec![name]);
        }
        paths.truncate(MOST_TRACES);
        prefixes.insert(c, paths);
        stack.pop();
    }
    prefixes.entry(computation).or_default()
}

/// An instruction's own part of a path: its `op_name`, split where that names a place in a tree of parameters.
fn leaf_parts(module: &Module, id: InstructionId) -> Vec<String> {
    match op_name(module, id) {
        Some(name) => split_keys(&name).unwrap_or_else(|| vec![name]),
        None => vec![module.name_of(id).to_owned()],
    }
}

/// The `op_name` of an instruction's metadata, its C escapes undone; `None` if it has none or an empty one.
#[must_use]
pub fn op_name(module: &Module, id: InstructionId) -> Option<String> {
    module.attribute(id, "metadata").and_then(op_name_in).filter(|n| !n.is_empty())
}

fn op_name_in(metadata: &str) -> Option<String> {
    let start = metadata.find("op_name=\"")? + "op_name=\"".len();
    let mut out: Vec<u8> = Vec::new();
    let mut bytes = metadata.as_bytes()[start..].iter().copied().peekable();
    while let Some(b) = bytes.next() {
        match b {
            b'"' => break,
            b'\\' => match bytes.next()? {
                b'n' => out.push(b'\n'),
                b't' => out.push(b'\t'),
                b'r' => out.push(b'\r'),
                digit @ b'0'..=b'7' => {
                    let mut code = u32::from(digit - b'0');
                    for _ in 0..2 {
                        match bytes.peek() {
                            Some(d @ b'0'..=b'7') => {
                                code = code * 8 + u32::from(d - b'0');
                                bytes.next();
                            }
                            _ => break,
                        }
                    }
                    out.push(code as u8);
                }
                other => out.push(other),
            },
            _ => out.push(b),
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

/// `p['a/b'].c` gives `p`, `a`, `b`, `c`; `None` unless the whole text is an identifier with at least one `['key']`.
fn split_keys(text: &str) -> Option<Vec<String>> {
    let is_identifier = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let identifier = |s: &str| {
        let len = s.bytes().take_while(|b| is_identifier(*b)).count();
        (len > 0 && !s.as_bytes()[0].is_ascii_digit()).then_some(len)
    };
    let first = identifier(text)?;
    let mut parts = vec![text[..first].to_owned()];
    let mut rest = &text[first..];
    let mut keyed = false;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix("['") {
            let end = inner.find('\'')?;
            parts.extend(inner[..end].split('/').map(str::to_owned));
            rest = inner[end..].strip_prefix("']")?;
            keyed = true;
        } else {
            let attribute = rest.strip_prefix('.')?;
            let len = identifier(attribute)?;
            parts.push(attribute[..len].to_owned());
            rest = &attribute[len..];
        }
    }
    keyed.then_some(parts)
}
