//! Where an instruction comes from: operation, scope and source line, and whether it is forward, recomputed or backward.

use hlo::{InstructionId, Module, Opcode};
use rustc_hash::FxHashMap;

/// Where an instruction comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The opcode as written; empty if it is not known.
    pub opcode: String,
    /// Of a fusion without a name of its own, the opcode of its root.
    pub fused: Option<String>,
    /// `op_name` of the metadata; empty if there is none.
    pub op_name: String,
    /// Source file and line of the innermost frame.
    pub source: Option<(String, u32)>,
    /// The function that line is in: the innermost that has a name; empty if it is not known.
    pub function: String,
    /// Which part of a training step it belongs to.
    pub phase: Phase,
    /// Of an instruction that has no name of its own and only moves a value, the `op_name` of what it moves; else empty.
    pub moves: String,
}

/// Which part of a training step a value belongs to, as the names of JAX and of XLA's rematerialization tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// `jvp(...)`: computed on the way forward.
    Forward,
    /// `rematted_computation`, or XLA's own `.remat`: computed again for the way backward.
    Recomputed,
    /// `transpose(...)`: on the way backward.
    Backward,
    /// Not marked.
    #[default]
    Unmarked,
}

impl Phase {
    /// In one word; empty if it is not marked.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Recomputed => "recomputed",
            Self::Backward => "backward",
            Self::Unmarked => "",
        }
    }

    fn of(op_name: &str, instruction: &str) -> Self {
        let is_remat = instruction.split_once(".remat").is_some_and(|(_, rest)| {
            rest.is_empty() || rest.starts_with(|c: char| c == '.' || c.is_ascii_digit())
        });
        if is_remat || op_name.contains("rematted_computation") {
            Self::Recomputed
        } else if op_name.contains("transpose(") {
            Self::Backward
        } else if op_name.contains("jvp(") {
            Self::Forward
        } else {
            Self::Unmarked
        }
    }
}

impl Origin {
    /// From an instruction's name, opcode and metadata.
    #[must_use]
    pub fn new(instruction: &str, opcode: &str, metadata: &str, frames: &Frames) -> Self {
        let op_name = text_field(metadata, "op_name").unwrap_or_default();
        let frame = number_field(metadata, "stack_frame_id");
        let source = match text_field(metadata, "source_file") {
            Some(file) => Some((file, number_field(metadata, "source_line").unwrap_or(0))),
            None => frame.and_then(|id| frames.innermost(id)),
        };
        let function = frame.and_then(|id| frames.function(id)).unwrap_or_default();
        let phase = Phase::of(&op_name, instruction);
        Self {
            opcode: opcode.to_owned(),
            fused: None,
            op_name,
            source,
            function,
            phase,
            moves: String::new(),
        }
    }

    /// The scope: `op_name` without the last part and without what `jit` adds.
    #[must_use]
    pub fn scope(&self) -> &str {
        split_last(&self.op_name).0
    }

    /// The parts of the scope as the program names them: what JAX wraps around them, such as `jvp(...)`, `transpose(...)` and
    /// `rematted_computation`, and the function that was compiled are left out, so that what is computed forward, again and
    /// backward is of one place.
    #[must_use]
    pub fn place(&self) -> Vec<&str> {
        let mut out = Vec::new();
        let mut is_first = true;
        // A transformation that stands last is no operation: an operation without a name of its own stands in it.
        let op_name = if self.op_name.is_empty() { &self.moves } else { &self.op_name };
        let (scope, operation) = split_last(op_name);
        let is_wrapped = operation.split_once('(').is_some_and(|(name, _)| TRANSFORMATIONS.contains(&name));
        for part in parts(if is_wrapped { op_name } else { scope }) {
            let is_function = std::mem::take(&mut is_first) && part.ends_with(')');
            if is_function && ["jit(", "pjit(", "pmap("].iter().any(|f| part.starts_with(f)) {
                continue;
            }
            unwrap(part, &mut out);
        }
        out
    }

    /// The operation: the last part of `op_name`, or the opcode, of a fusion that of its root; of a collective its opcode.
    #[must_use]
    pub fn operation(&self) -> &str {
        // What partitions a program names a collective after whatever asked for it.
        if COLLECTIVES.iter().any(|c| self.opcode.starts_with(c)) {
            return &self.opcode;
        }
        match split_last(&self.op_name).1 {
            "" => self.fused.as_ref().unwrap_or(&self.opcode),
            op => op,
        }
    }

    /// `file.py:12`, without the folder.
    #[must_use]
    pub fn source_words(&self) -> String {
        self.source.as_ref().map_or_else(String::new, |(file, line)| {
            let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
            if *line == 0 { file.to_owned() } else { format!("{file}:{line}") }
        })
    }
}

/// Splits at the last slash that stands in no brackets: `a/b(c/d)/e` into `a/b(c/d)` and `e`.
fn split_last(op_name: &str) -> (&str, &str) {
    let mut depth = 0i32;
    for (i, c) in op_name.char_indices().rev() {
        match c {
            ')' | ']' => depth += 1,
            '(' | '[' => depth -= 1,
            '/' if depth <= 0 => return (&op_name[..i], &op_name[i + 1..]),
            _ => {}
        }
    }
    ("", op_name)
}

/// The parts of a scope, cut at the slashes that stand in no brackets.
fn parts(scope: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(scope);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut depth = 0i32;
        let cut = text.char_indices().find(|(_, c)| {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                _ => {}
            }
            *c == '/' && depth <= 0
        });
        rest = cut.map(|(at, _)| &text[at + 1..]);
        Some(cut.map_or(text, |(at, _)| &text[..at]))
    })
}

/// Opcodes of collectives, whole or begun.
const COLLECTIVES: [&str; 6] =
    ["all-gather", "all-reduce", "all-to-all", "collective-", "ragged-all-to-all", "reduce-scatter"];

/// What JAX writes around a part of a scope.
const TRANSFORMATIONS: [&str; 9] =
    ["jit", "pjit", "pmap", "vmap", "jvp", "transpose", "remat", "checkpoint", "shard_map"];

/// What stands in a part of a scope within the brackets of transformations: `transpose(jvp(jit(softmax)))` has `softmax`.
fn unwrap<'a>(part: &'a str, out: &mut Vec<&'a str>) {
    let mut open = vec![part];
    while let Some(part) = open.pop() {
        let inner = part.strip_suffix(')').and_then(|p| p.split_once('('));
        match inner {
            Some((name, inner)) if TRANSFORMATIONS.contains(&name) => {
                let mut within: Vec<&str> = parts(inner).collect();
                within.reverse();
                open.extend(within);
            }
            _ if matches!(part, "" | "rematted_computation" | "checkpoint" | "remat" | "closed_call") => {}
            _ => out.push(part),
        }
    }
}

/// Digits in a scope are counters of layers and blocks: `layer_3/dot` becomes `layer_*/dot`.
#[must_use]
pub fn without_numbers(scope: &str) -> String {
    let mut out = String::with_capacity(scope.len());
    let mut in_number = false;
    for c in scope.chars() {
        let is_digit = c.is_ascii_digit();
        if !is_digit {
            out.push(c);
        } else if !in_number {
            out.push('*');
        }
        in_number = is_digit;
    }
    out
}

/// Two names that are the same but for their numbers, with `*` where the numbers differ: `layer_1/mlp_2` and `layer_3/mlp_2`
/// are `layer_*/mlp_2` together. The first may have been made so already.
pub(crate) fn common_numbers(a: &str, b: &str) -> String {
    if a == b {
        return a.to_owned();
    }
    let mut out = String::with_capacity(a.len());
    let (mut a, mut b) = (a, b);
    while !a.is_empty() && !b.is_empty() {
        let numbers = [a, b].map(|s| s.bytes().take_while(u8::is_ascii_digit).count());
        let (x, y) = (&a[..numbers[0]], &b[..numbers[1]]);
        if numbers[1] > 0 && (numbers[0] > 0 || a.starts_with('*')) {
            out.push_str(if x == y { x } else { "*" });
            a = &a[numbers[0].max(1)..];
            b = &b[numbers[1]..];
            continue;
        }
        let length = |s: &str| s.chars().next().map_or(0, char::len_utf8);
        out.push_str(&a[..length(a)]);
        (a, b) = (&a[length(a)..], &b[length(b)..]);
    }
    out
}

/// `NAME="TEXT"`, with its escapes taken back.
fn text_field(metadata: &str, name: &str) -> Option<String> {
    let mut from = 0;
    let at = loop {
        let at = from + metadata.get(from..)?.find(name)?;
        let before = metadata[..at].bytes().next_back();
        if metadata[at + name.len()..].starts_with("=\"")
            && !before.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
        {
            break at;
        }
        from = at + name.len();
    };
    let mut out = String::new();
    let mut chars = metadata[at + name.len() + 2..].chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(c) => out.push(c),
                None => break,
            },
            c => out.push(c),
        }
    }
    Some(out)
}

fn number_field(metadata: &str, name: &str) -> Option<u32> {
    let (_, rest) = metadata.split_once(name)?;
    let rest = rest.strip_prefix('=')?;
    rest[..rest.bytes().take_while(u8::is_ascii_digit).count()].parse().ok()
}

/// The tables between header and computations: which frame is in which file.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    files: FxHashMap<u32, String>,
    /// File and line of a location.
    locations: FxHashMap<u32, (u32, u32)>,
    /// The location of a frame.
    location_of: FxHashMap<u32, u32>,
    functions: FxHashMap<u32, String>,
    /// The function of a location.
    function_of: FxHashMap<u32, u32>,
}

impl Frames {
    /// Reads the tables of a module.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        let mut out = Self::default();
        let mut table = "";
        for line in module.str(module.tables).lines().map(str::trim) {
            if line.is_empty() {
                continue;
            }
            let Some((id, rest)) = line.split_once(' ') else {
                table = line;
                continue;
            };
            let Ok(id) = id.parse::<u32>() else { continue };
            match table {
                "FileNames" => {
                    out.files.insert(id, rest.trim().trim_matches('"').to_owned());
                }
                "FunctionNames" => {
                    out.functions.insert(id, rest.trim().trim_matches('"').to_owned());
                }
                "FileLocations" => {
                    let number = |name: &str| number_field(rest, name);
                    out.function_of.extend(number("function_name_id").map(|f| (id, f)));
                    // `line` is also the end of `end_line`; the first one is meant.
                    if let (Some(file), Some(line)) = (number("file_name_id"), rest.split_once(" line=")) {
                        let line = line.1.bytes().take_while(u8::is_ascii_digit).count();
                        let text = rest.split_once(" line=").map_or("", |(_, l)| &l[..line]);
                        out.locations.insert(id, (file, text.parse().unwrap_or(0)));
                    }
                }
                "StackFrames" => {
                    if let Some(location) = number_field(rest, "file_location_id") {
                        out.location_of.insert(id, location);
                    }
                }
                _ => {}
            }
        }
        out
    }

    fn innermost(&self, frame: u32) -> Option<(String, u32)> {
        let (file, line) = self.locations.get(self.location_of.get(&frame)?)?;
        Some((self.files.get(file)?.clone(), *line))
    }

    /// The function of a frame without those it stands in. What has no name of its own, such as `<lambda>`, goes by the
    /// function it stands in.
    fn function(&self, frame: u32) -> Option<String> {
        let name = self.functions.get(self.function_of.get(self.location_of.get(&frame)?)?)?;
        name.rsplit('.').find(|part| !part.starts_with('<') && !part.is_empty()).map(str::to_owned)
    }
}

/// What an instruction moves and does not change, back to what made it; `None` if it does something else.
fn moved(module: &Module, id: InstructionId) -> Option<InstructionId> {
    let mut at = id;
    for _ in 0..64 {
        let moves = match module.instruction(at).opcode {
            Opcode::Copy | Opcode::CopyStart | Opcode::CopyDone | Opcode::Bitcast => true,
            Opcode::GetTupleElement => at != id,
            _ => false,
        };
        match module.operands(at).first() {
            Some(before) if moves => at = *before,
            _ => break,
        }
    }
    (at != id).then_some(at)
}

/// Where an instruction of a module comes from. A fusion without metadata is told by its root, what only moves a value by what
/// made that.
#[must_use]
pub fn origin(module: &Module, id: InstructionId, frames: &Frames) -> Origin {
    let mut out = origin_of_own(module, id, frames);
    // What only moves a value is of the place that made it.
    let made = if out.op_name.is_empty() && out.source.is_none() { moved(module, id) } else { None };
    if let Some(made) = made {
        let made = origin_of_own(module, made, frames);
        out.source = made.source;
        out.function = made.function;
        if out.phase == Phase::Unmarked {
            out.phase = made.phase;
        }
        out.moves = made.op_name;
    }
    out
}

fn origin_of_own(module: &Module, id: InstructionId, frames: &Frames) -> Origin {
    let opcode = module.str(module.instruction(id).opcode_name);
    let name = module.name_of(id);
    let own = |i| module.attribute(i, "metadata").unwrap_or("");
    let mut metadata = own(id);
    let mut fused = None;
    if module.instruction(id).opcode == Opcode::Fusion
        && let [body] = module.called(id)
    {
        let root = module.root(*body);
        if metadata.is_empty() {
            metadata = own(root);
        }
        fused = Some(module.str(module.instruction(root).opcode_name).to_owned());
    }
    Origin { fused, ..Origin::new(name, opcode, metadata, frames) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(split_last("jit(f)/a(b/c)/dot"), ("jit(f)/a(b/c)", "dot"));
        assert_eq!(split_last("x"), ("", "x"));
        assert_eq!(without_numbers("layer_12/h3"), "layer_*/h*");
        assert_eq!(common_numbers("jit(bf16_mlp)/h3", "jit(bf16_mlp)/h3"), "jit(bf16_mlp)/h3");
        let two = common_numbers("jit(bf16_mlp)/layer_9/é", "jit(bf16_mlp)/layer_10/é");
        assert_eq!(two, "jit(bf16_mlp)/layer_*/é");
        assert_eq!(common_numbers(&two, "jit(bf16_mlp)/layer_11/é"), two);
        let o = Origin::new(
            "fusion.2",
            "fusion",
            "{op_name=\"a/b\" source_file=\"/x/y z.py\" source_line=7}",
            &Frames::default(),
        );
        assert_eq!((o.scope(), o.operation(), o.source_words().as_str()), ("a", "b", "y z.py:7"));
        let place = |op_name: &str| {
            let metadata = format!("{{op_name=\"{op_name}\"}}");
            Origin::new("x", "add", &metadata, &Frames::default()).place().join("/")
        };
        assert_eq!(place("jit(step)/transpose(jvp(jit(log_softmax)))/mul"), "log_softmax");
        assert_eq!(place("jit(step)/jvp(Model)/layers_0/attn/dot"), "Model/layers_0/attn");
        assert_eq!(
            place("jit(step)/transpose(jvp(Model/layers_0))/rematted_computation/attn/dot"),
            "Model/layers_0/attn"
        );
        assert_eq!(place("jit(step)/jvp()/dot_general"), "");
        assert_eq!(place("jit(f)/while/body/closed_call/add"), "while/body");
        assert_eq!(place("loss/softmax(a b)/Exp"), "loss/softmax(a b)");
        assert_eq!(Phase::of("", "fusion.410.remat3"), Phase::Recomputed);
        assert_eq!(Phase::of("", "fusion.rematted"), Phase::Unmarked);
        assert_eq!(Phase::of("jit(f)/transpose(jvp(g))/mul", ""), Phase::Backward);
        assert_eq!(Phase::of("jit(f)/transpose(jvp(g))/rematted_computation/mul", ""), Phase::Recomputed);
    }
}
