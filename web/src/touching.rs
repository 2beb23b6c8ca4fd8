//! One value ends where another is written: may the write go to the same address? Smallest modules for it, made from a few
//! settings, and what the engine says of each.

use crate::engine::{self, Opened, Problem};
use crate::state::State;
pub use analysis::sharing::Touching;
use analysis::sharing::{Clause, Interference, can_share, interference, may_write_over};
use analysis::{Backend, ValueId};
use assigner::words::{self, bytes};
use std::fmt::Write as _;

/// The operation that reads the earlier value last and writes the later one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op {
    /// Its name in addresses.
    pub id: &'static str,
    /// Its name in the list.
    pub name: &'static str,
    /// Can the result be given another shape?
    pub may_differ: bool,
    /// Can it read the earlier value twice?
    pub may_repeat: bool,
}

const fn op(id: &'static str, name: &'static str, may_differ: bool, may_repeat: bool) -> Op {
    Op { id, name, may_differ, may_repeat }
}

/// Those there are to choose from.
pub const OPS: [Op; 22] = [
    op("add", "add", false, true),
    op("cosine", "cosine", false, false),
    op("convert", "convert", true, false),
    op("copy", "copy", true, false),
    op("reverse", "reverse", false, false),
    op("transpose", "transpose", false, false),
    op("slice", "slice", true, false),
    op("dot", "dot", false, true),
    op("solve", "triangular-solve", false, true),
    op("sort", "sort", false, false),
    op("pairs", "sort of two operands", false, true),
    op("update", "dynamic-update-slice, into it", false, false),
    op("patch", "dynamic-update-slice, with it", false, false),
    op("loop", "fusion, element by element", true, true),
    op("bias", "fusion that adds a broadcast row", false, false),
    op("bitcast", "fusion with a bitcast", true, true),
    op("both", "fusion that reads it reversed, too", true, false),
    op("addend", "fusion of dot and add, as the addend", false, true),
    op("factor", "fusion of dot and add, as a factor", false, false),
    op("library", "custom fusion of a dot", false, false),
    op("while", "while", false, false),
    op("custom", "custom-call", false, false),
];

/// The operation that the figure begins with.
pub const FIRST: &str = "bitcast";

/// What a module is made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The later value's operation.
    pub op: &'static Op,
    /// Has the later value another shape?
    pub differs: bool,
    /// Does the operation read the earlier value twice?
    pub twice: bool,
    /// For a GPU?
    pub gpu: bool,
}

/// The operation of that name.
pub fn find(id: &str) -> Option<&'static Op> {
    OPS.iter().find(|o| o.id == id)
}

impl Setting {
    /// With what an operation cannot have left out.
    #[must_use]
    pub fn with_op(self, op: &'static Op) -> Self {
        Self { op, differs: self.differs && op.may_differ, twice: self.twice && op.may_repeat, ..self }
    }

    /// What a figure's state says; anything else is as at first.
    pub fn of(state: &State) -> Self {
        let op = state.word("op").and_then(find).or_else(|| find(FIRST)).unwrap_or(&OPS[0]);
        let on = |key| state.number(key) == Some(1);
        Self { op, differs: on("differs"), twice: on("twice"), gpu: on("gpu") }.with_op(op)
    }

    /// As the figure begins.
    pub fn first() -> Self {
        let op = find(FIRST).unwrap_or(&OPS[0]);
        Self { op, differs: false, twice: false, gpu: false }
    }
}

/// All arrays but the result and what differs: 1,024 bytes.
const A: &str = "f32[16,16]{1,0}";

/// The module of a setting: `later` reads `early` for the last time. The result is too small for either to stand in it.
pub fn module(s: Setting) -> String {
    let second = if s.twice { "early" } else { "p" };
    let (mut above, mut before, mut shape) = (String::new(), String::new(), A.to_owned());
    let mut index = false;
    let call = match s.op.id {
        "add" => format!("add(early, {second})"),
        "convert" => {
            if s.differs {
                "s32[16,16]{1,0}".clone_into(&mut shape);
            }
            "convert(early)".to_owned()
        }
        "copy" => {
            if s.differs {
                "f32[16,16]{0,1}".clone_into(&mut shape);
            }
            "copy(early)".to_owned()
        }
        "reverse" => "reverse(early), dimensions={0}".to_owned(),
        "transpose" => "transpose(early), dimensions={1,0}".to_owned(),
        "slice" => {
            if s.differs {
                "f32[8,16]{1,0}".clone_into(&mut shape);
            }
            format!("slice(early), slice={{[0:{}], [0:16]}}", if s.differs { 8 } else { 16 })
        }
        "dot" => format!("dot(early, {second}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"),
        "solve" => {
            let first = if s.twice { "early" } else { "p" };
            format!(
                "triangular-solve({first}, early), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE"
            )
        }
        "sort" => {
            above = less(1);
            "sort(early), dimensions={1}, to_apply=less".to_owned()
        }
        "pairs" => {
            above = less(2);
            shape = format!("({A}, {A})");
            index = true;
            format!("sort(early, {second}), dimensions={{1}}, to_apply=less")
        }
        "update" => {
            before.push_str("  row = f32[1,16]{1,0} parameter(1)\n  i = s32[] parameter(2)\n");
            "dynamic-update-slice(early, row, i, i)".to_owned()
        }
        "patch" => {
            _ = writeln!(before, "  i = s32[] parameter(1)\n  other = {A} sine(p)");
            "dynamic-update-slice(other, early, i, i)".to_owned()
        }
        "loop" | "bitcast" | "both" => {
            let (to, body) = fused(s);
            shape = format!("{to}[16,16]{{1,0}}");
            above = format!("fused {{\n  q = {A} parameter(0)\n{body}}}\n\n");
            let operands = match s.op.id {
                "loop" => format!("early, {second}"),
                _ if s.twice => "early, early".to_owned(),
                _ => "early".to_owned(),
            };
            format!("fusion({operands}), kind=kLoop, calls=fused")
        }
        "bias" => {
            before.push_str("  row = f32[16]{0} parameter(1)\n");
            above = format!(
                "fused {{\n  q = {A} parameter(0)\n  r = f32[16]{{0}} parameter(1)\n  b = {A} broadcast(r), dimensions={{1}}\n  \
                 ROOT t = {A} add(q, b)\n}}\n\n"
            );
            "fusion(early, row), kind=kLoop, calls=fused".to_owned()
        }
        "library" => {
            above = format!(
                "fused {{\n  x = {A} parameter(0)\n  y = {A} parameter(1)\n  ROOT d = {A} dot(x, y), \
                 lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}\n\n"
            );
            "fusion(early, p), kind=kCustom, calls=fused".to_owned()
        }
        "addend" | "factor" => {
            above = format!(
                "fused {{\n  x = {A} parameter(0)\n  y = {A} parameter(1)\n  z = {A} parameter(2)\n  d = {A} dot(x, y), \
                 lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n  ROOT s = {A} add(d, z)\n}}\n\n"
            );
            let operands = match (s.op.id, s.twice) {
                ("factor", _) => "early, p, p",
                (_, true) => "early, p, early",
                _ => "p, p, early",
            };
            format!("fusion({operands}), kind=kOutput, calls=fused")
        }
        "while" => {
            above = format!(
                "again {{\n  c = {A} parameter(0)\n  ROOT yes = pred[] constant(true)\n}}\n\n\
                 body {{\n  b = {A} parameter(0)\n  ROOT n = {A} cosine(b)\n}}\n\n"
            );
            "while(early), condition=again, body=body".to_owned()
        }
        "custom" => "custom-call(early), custom_call_target=\"work\"".to_owned(),
        _ => "cosine(early)".to_owned(),
    };
    let element = if shape.starts_with("s32") { "s32" } else { "f32" };
    let mut out =
        format!("HloModule touch, is_scheduled=true\n\n{above}ENTRY main {{\n  p = {A} parameter(0)\n");
    out.push_str(&before);
    _ = writeln!(out, "  early = {A} sine(p)\n  later = {shape} {call}");
    let read = if index {
        _ = writeln!(out, "  first = {A} get-tuple-element(later), index=0");
        "first"
    } else {
        "later"
    };
    let order = if shape.ends_with("{0,1}") { "{0,1}" } else { "{1,0}" };
    _ = writeln!(out, "  ROOT last = {element}[1,1]{order} slice({read}), slice={{[0:1], [0:1]}}\n}}");
    out
}

/// A comparison for as many operands.
fn less(operands: u32) -> String {
    let mut out = "less {\n".to_owned();
    for n in 0..2 * operands {
        _ = writeln!(out, "  a{n} = f32[] parameter({n})");
    }
    out.push_str("  ROOT l = pred[] compare(a0, a1), direction=LT\n}\n\n");
    out
}

/// The element type of a loop fusion's result, and its body without the first parameter.
fn fused(s: Setting) -> (&'static str, String) {
    let to = if s.differs { "s32" } else { "f32" };
    let mut out = String::new();
    let needs_second = s.op.id == "loop" || s.twice;
    if needs_second {
        _ = writeln!(out, "  r = {A} parameter(1)");
    }
    let end = |out: &mut String, made: &str| {
        if s.differs {
            _ = writeln!(out, "  t = {A} {made}\n  ROOT u = s32[16,16]{{1,0}} convert(t)");
        } else {
            _ = writeln!(out, "  ROOT t = {A} {made}");
        }
    };
    match s.op.id {
        "loop" => end(&mut out, "add(q, r)"),
        "both" => {
            _ = writeln!(out, "  v = {A} reverse(q), dimensions={{0}}");
            end(&mut out, "add(q, v)");
        }
        _ => {
            out.push_str("  b = f32[256]{0} bitcast(q)\n");
            if needs_second {
                out.push_str("  d = f32[256]{0} bitcast(r)\n  c = f32[256]{0} add(b, d)\n");
            } else {
                out.push_str("  c = f32[256]{0} cosine(b)\n");
            }
            end(&mut out, "bitcast(c)");
        }
    }
    (to, out)
}

/// What the rule says of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// They are one buffer: there is no choice.
    Must(Option<Clause>),
    /// The later one may write over the earlier.
    May(Clause),
    /// It may not.
    No(Touching),
}

impl Verdict {
    /// Do both stand at one address?
    pub fn shares(self) -> bool {
        !matches!(self, Self::No(_))
    }

    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Must(_) => "must",
            Self::May(_) => "yes",
            Self::No(_) => "no",
        }
    }

    /// The clause that decided, by its number in rule 7 and in a few words; that a copy never does is rule 5.
    pub fn decided(self) -> String {
        let named = |c: Clause| format!("{} {}", number(c), title(c));
        match self {
            Self::Must(Some(c)) | Self::May(c) | Self::No(Touching::Clause(c)) => named(c),
            Self::Must(None) => "one buffer".to_owned(),
            Self::No(Touching::Copy) => "a copy".to_owned(),
            Self::No(Touching::NotAnOperand) => "not an operand".to_owned(),
            Self::No(Touching::NotAlone) => "not alone".to_owned(),
        }
    }
}

/// The clause's number in rule 7 of `docs/RULES.md`.
pub fn number(clause: Clause) -> u8 {
    match clause {
        Clause::MatmulWorkspace => 1,
        Clause::ConstantOperand => 2,
        Clause::InPlace => 3,
        Clause::BackendHint => 4,
        Clause::ShapesDiffer => 5,
        Clause::LoopFusion => 6,
        Clause::OutputFusion => 7,
        Clause::ControlFlow => 8,
        Clause::Update => 9,
        Clause::Sort => 10,
        Clause::Call => 11,
        Clause::Elementwise => 12,
    }
}

/// What a clause is about.
fn title(clause: Clause) -> &'static str {
    match clause {
        Clause::MatmulWorkspace => "work space",
        Clause::ConstantOperand => "constant",
        Clause::InPlace => "written in place",
        Clause::BackendHint => "the backend's say",
        Clause::ShapesDiffer => "shapes differ",
        Clause::LoopFusion => "loop fusion",
        Clause::OutputFusion => "output fusion",
        Clause::ControlFlow => "control flow",
        Clause::Update => "update",
        Clause::Sort => "sort",
        Clause::Call => "call",
        Clause::Elementwise => "element by element",
    }
}

/// Why a clause says yes, without a full stop.
fn yes_words(clause: Clause) -> &'static str {
    match clause {
        Clause::InPlace => "the operation writes into this very operand",
        Clause::BackendHint => {
            "the backend has a say of its own, and says that each element is read before it is written over"
        }
        Clause::LoopFusion => "all that the fusion does with it goes element by element",
        Clause::OutputFusion => "it is the addend of the product, and nothing else reads it",
        Clause::ControlFlow => "a loop carries its state on in one place",
        Clause::Update => "it is the operand that the result is computed into, and it is read once",
        Clause::Sort => {
            "nothing else reads it, and its numbers are only put into another order, in the result of the same number"
        }
        Clause::Call => "the called computation ends in an element-by-element operation on it",
        Clause::Elementwise => {
            "it works element by element, so each element is read before it is written over"
        }
        Clause::MatmulWorkspace | Clause::ConstantOperand | Clause::ShapesDiffer => "nothing is against it",
    }
}

/// What the engine makes of a setting.
#[derive(Debug)]
pub struct Answer {
    /// The module's text.
    pub text: String,
    /// The module, assigned.
    pub opened: Opened,
    /// The earlier value's number.
    pub early: u32,
    /// The later value's number.
    pub later: u32,
    /// What the rule says.
    pub verdict: Verdict,
    /// Do both stand at one address in the heap?
    pub shares: bool,
    /// The verdict in a sentence or two, with the heap's size.
    pub words: String,
}

/// Makes the module and runs the engine on it.
pub fn answer(s: Setting) -> Result<Answer, Vec<Problem>> {
    let text = module(s);
    let backend = if s.gpu { Backend::Gpu } else { Backend::Cpu };
    let opened = engine::open_as(&text, Some(backend), "")?;
    let missing = |name: &str| {
        vec![Problem { line: 1, column: 1, is_error: true, message: format!("no value is called {name}") }]
    };
    let early = opened.find("early").ok_or_else(|| missing("early"))?;
    let later = opened.find("later{0}").or_else(|| opened.find("later")).ok_or_else(|| missing("later"))?;
    let (module, facts, ranges) = (&opened.module, &opened.facts, &opened.original.ranges);
    let (e, l) = (ValueId(early), ValueId(later));
    let last = ranges.get(e).map_or_else(|| facts.value(e).defined_at(), |r| r.end_position);
    let verdict = if facts.value(e).buffer == facts.value(l).buffer {
        Verdict::Must(can_share(module, facts, facts.value(e).defined_at(), facts.value(l).defined_at()).ok())
    } else {
        match (interference(module, facts, ranges, l, e), may_write_over(module, facts, last, l)) {
            (None, Ok(clause)) => Verdict::May(clause),
            (Some(Interference::Touch { why, .. }), _) | (_, Err(why)) => Verdict::No(why),
            (Some(_), Ok(_)) => Verdict::No(Touching::NotAlone),
        }
    };
    let picture = &opened.original.picture;
    let shares = match (picture.item(early), picture.item(later)) {
        (Some(a), Some(b)) => a.shares_address(b),
        _ => false,
    };
    let opcode = module.str(module.instruction(facts.defining(l)).opcode_name);
    let heap = bytes(picture.heap_size());
    let words = match verdict {
        Verdict::Must(clause) => format!(
            "They must: {}, so both are one buffer and there is nothing to decide. The heap takes {heap}.",
            clause.map_or("they are names of the same memory", yes_words)
        ),
        Verdict::May(clause) => {
            format!("Yes: {}. Both stand at one address, and the heap takes {heap}.", yes_words(clause))
        }
        Verdict::No(why) => {
            let reason = match why {
                Touching::Copy => "a copy must not stand where its source stands".to_owned(),
                Touching::NotAnOperand => "the later one does not read the earlier one directly".to_owned(),
                Touching::Clause(clause) => words::clause_words(clause, opcode, "early"),
                Touching::NotAlone => "one of them shares its buffer with other values".to_owned(),
            };
            format!("No: {reason}. The two have addresses of their own, and the heap takes {heap}.")
        }
    };
    Ok(Answer { text, opened, early, later, verdict, shares, words })
}

/// A row of the table: an operation, and the verdicts on CPU and on GPU, as far as the other settings apply to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The operation.
    pub op: &'static Op,
    /// On CPU.
    pub cpu: Option<Verdict>,
    /// On GPU.
    pub gpu: Option<Verdict>,
}

/// The table of all operations under the other settings.
pub fn table(s: Setting) -> Vec<Line> {
    OPS.iter()
        .map(|op| {
            let verdict = |gpu| answer(Setting { gpu, ..s }.with_op(op)).ok().map(|a| a.verdict);
            Line { op, cpu: verdict(false), gpu: verdict(true) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Setting> {
        OPS.iter().flat_map(|op| {
            (0..8)
                .map(move |n| Setting { op, differs: n & 1 != 0, twice: n & 2 != 0, gpu: n & 4 != 0 })
                .filter(|s| *s == s.with_op(s.op))
        })
    }

    #[test]
    fn every_setting_is_a_module_whose_ranges_touch_and_the_heap_does_as_the_rule_says() {
        let mut wrong = Vec::new();
        for s in all() {
            match answer(s) {
                Err(problems) => wrong.push(format!("{s:?}: {problems:?}")),
                Ok(a) => {
                    let p = &a.opened.original.picture;
                    let (e, l) = (p.item(a.early).expect("alive"), p.item(a.later).expect("alive"));
                    if a.verdict.shares() != a.shares {
                        wrong.push(format!("{s:?}: {:?}, but the heap: {}", a.verdict, a.shares));
                    }
                    if !matches!(a.verdict, Verdict::Must(_)) && e.end != l.start {
                        wrong.push(format!("{s:?}: {} and {}", e.end, l.start));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn what_decides() {
        let lines = table(Setting { op: &OPS[0], differs: false, twice: false, gpu: false });
        let said: Vec<String> = lines
            .iter()
            .map(|l| {
                let of = |v: Option<Verdict>| {
                    v.map_or_else(String::new, |v| format!("{} {}", v.word(), v.decided()))
                };
                format!("{}: {} | {}", l.op.id, of(l.cpu), of(l.gpu))
            })
            .collect();
        let expected = [
            "add: yes 12 element by element | yes 12 element by element",
            "cosine: yes 12 element by element | yes 12 element by element",
            "convert: yes 12 element by element | yes 12 element by element",
            "copy: no a copy | no a copy",
            "reverse: no 12 element by element | no 12 element by element",
            "transpose: no 12 element by element | no 12 element by element",
            "slice: no 12 element by element | no 12 element by element",
            "dot: no 12 element by element | no 12 element by element",
            "solve: yes 9 update | yes 9 update",
            "sort: yes 10 sort | yes 10 sort",
            "pairs: yes 10 sort | yes 10 sort",
            "update: must 3 written in place | must 3 written in place",
            "patch: no 9 update | no 9 update",
            "loop: yes 6 loop fusion | yes 4 the backend's say",
            "bias: yes 6 loop fusion | yes 4 the backend's say",
            "bitcast: no 6 loop fusion | yes 4 the backend's say",
            "both: no 6 loop fusion | no 4 the backend's say",
            "addend: yes 7 output fusion | yes 4 the backend's say",
            "factor: no 7 output fusion | no 4 the backend's say",
            "library: no 12 element by element | no 4 the backend's say",
            "while: must 8 control flow | must 8 control flow",
            "custom: no 12 element by element | no 4 the backend's say",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn a_state_keeps_only_what_an_operation_can_have() {
        let state = State::new(crate::state::Source::Own(String::new()));
        assert_eq!(Setting::of(&state), Setting::first());
        let state = state.with_param("op", "while").with_param("twice", 1).with_param("gpu", 1);
        let s = Setting::of(&State::decode(&state.encode()).unwrap_or(state));
        assert_eq!((s.op.id, s.twice, s.gpu), ("while", false, true));
    }
}
