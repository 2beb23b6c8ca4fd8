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
    children: Vec<u32>,
}

/// The tree as it grows. A path is the number of the node where it ends, so that a deep one costs no more than a short one.
struct Tree {
    nodes: Vec<Node>,
    /// The child of a node by its name, a number in `names`.
    by_name: FxHashMap<(u32, u32), u32>,
    names: FxHashMap<String, u32>,
}

impl Tree {
    fn new() -> Self {
        Self { nodes: vec![Node::default()], by_name: FxHashMap::default(), names: FxHashMap::default() }
    }

    /// The child of that name, made if there is none.
    fn child(&mut self, at: u32, name: &str) -> u32 {
        let number = match self.names.get(name) {
            Some(number) => *number,
            None => {
                let number = self.names.len() as u32;
                self.names.insert(name.to_owned(), number);
                number
            }
        };
        let next = self.nodes.len() as u32;
        let child = *self.by_name.entry((at, number)).or_insert(next);
        if child == next {
            self.nodes.push(Node { name: name.to_owned(), ..Node::default() });
            self.nodes[at as usize].children.push(child);
        }
        child
    }

    /// The node at the end of a path that goes on from another one.
    fn descend(&mut self, at: u32, parts: &[String]) -> u32 {
        parts.iter().fold(at, |at, name| self.child(at, name))
    }
}

/// Breaks bytes of values down by where they come from. Depth first, the largest first; what has no bytes is left out.
#[must_use]
pub fn breakdown(module: &Module, facts: &Facts, values: &[(ValueId, u64)]) -> Vec<BreakdownNode> {
    let mut tree = Tree::new();
    let mut prefixes = FxHashMap::default();
    for (v, bytes) in values {
        let at = facts.value(*v).defined_at();
        let mut leaf = leaf_parts(module, at.instruction);
        if at.sub != 0
            && let Some(last) = leaf.last_mut()
        {
            let index =
                &module.shapes.subshapes(module.instruction(at.instruction).shape)[at.sub as usize].index;
            let _ = write!(last, "{index}");
        }
        let computation = module.instruction(at.instruction).computation;
        let paths = prefixes_of(module, facts, computation, &mut prefixes, &mut tree);
        // Divided evenly; the first ones take what is left over.
        let (share, rest) = (bytes / paths.len() as u64, bytes % paths.len() as u64);
        for (i, path) in paths.iter().enumerate() {
            let end = tree.descend(*path, &leaf);
            let current = &mut tree.nodes[end as usize].current;
            *current = current.saturating_add(share + u64::from((i as u64) < rest));
        }
    }
    let mut nodes = tree.nodes;
    // A child is always made after its parent, so backwards the sums are ready when they are needed.
    for i in (0..nodes.len()).rev() {
        let below = nodes[i].children.iter().map(|c| nodes[*c as usize].total);
        nodes[i].total = below.fold(nodes[i].current, u64::saturating_add);
    }
    flatten(&nodes)
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
            node.children.iter().map(|c| *c as usize).filter(|c| nodes[*c].total > 0).collect();
        children.sort_by(|a, b| {
            nodes[*b].total.cmp(&nodes[*a].total).then_with(|| nodes[*a].name.cmp(&nodes[*b].name))
        });
        stack.extend(children.into_iter().rev().enumerate().map(|(k, c)| (c, depth + 1, k == 0)));
    }
    out
}

/// The lines with the most bytes, so many of them, in the order of the whole tree: a line never without those above it.
#[must_use]
pub fn largest(nodes: &[BreakdownNode], most: usize) -> Vec<BreakdownNode> {
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    // No line has more bytes than the one that it hangs from, which comes first among equals.
    order.sort_by_key(|i| (std::cmp::Reverse(nodes[*i].total), *i));
    order.truncate(most);
    order.sort_unstable();
    let mut out: Vec<BreakdownNode> = order.into_iter().map(|i| nodes[i].clone()).collect();
    // What is last below its parent now: seen from the end, the first of its depth since a line less deep.
    let mut seen: Vec<bool> = Vec::new();
    for node in out.iter_mut().rev() {
        seen.resize(node.depth as usize + 1, false);
        let seen = &mut seen[node.depth as usize];
        node.is_last = !std::mem::replace(seen, true);
    }
    out
}

/// Most bytes of a tree that is written: each line is indented by its depth, so a deep one would grow with its square.
const MOST_TEXT: usize = 64 << 20;

/// Writes the tree as the live-range file has it, under a line that gives the whole.
#[must_use]
pub fn breakdown_text(nodes: &[BreakdownNode], total: u64) -> String {
    let mut out = format!("  Stack trace breakdown for peak usage: {} bytes\n", grouped(total));
    // What stands before the connector, and by depth how much of that.
    let mut prefix = String::from("  ");
    let mut ends: Vec<usize> = vec![prefix.len()];
    for (i, node) in nodes.iter().enumerate() {
        if out.len() > MOST_TEXT {
            let _ = writeln!(out, "  ({} more lines are left out)", nodes.len() - i);
            break;
        }
        ends.truncate(node.depth as usize + 1);
        let Some(end) = ends.last() else { break };
        prefix.truncate(*end);
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
        prefix += if node.is_last { "    " } else { "│   " };
        ends.push(prefix.len());
    }
    out
}

/// The paths that lead into a computation, its own name last: computation, leaf of the call site, computation, and so on. Callers
/// are done first, by an explicit stack.
fn prefixes_of<'p>(
    module: &Module,
    facts: &Facts,
    computation: ComputationId,
    prefixes: &'p mut FxHashMap<ComputationId, Vec<u32>>,
    tree: &mut Tree,
) -> &'p Vec<u32> {
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
        let name = module.computation_name(c);
        let mut paths = Vec::new();
        for site in &sites {
            let leaf = leaf_parts(module, *site);
            let room = MOST_TRACES - paths.len();
            for path in prefixes[&module.instruction(*site).computation].iter().take(room) {
                let end = tree.descend(*path, &leaf);
                paths.push(tree.child(end, name));
            }
        }
        if sites.is_empty() {
            paths.push(tree.child(0, name));
        }
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
