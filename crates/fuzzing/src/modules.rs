//! Small valid modules from bytes: loops, conditionals, calls, fusions, updates in place, transfers under way, donation.
//!
//! They never went through copy insertion, so that some of them lose values whatever the assignment.

use std::fmt::Write;

/// The shapes that occur; few, so that many values could share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Long,
    Vector,
    Matrix,
    Short,
    Scalar,
    Integer,
    Truth,
}

use Shape::{Integer, Long, Matrix, Scalar, Short, Truth, Vector};

const ARRAYS: [Shape; 4] = [Vector, Short, Long, Matrix];

impl Shape {
    fn text(self) -> &'static str {
        match self {
            Long => "f32[256]{0}",
            Vector => "f32[64]{0}",
            Matrix => "f32[8,8]{1,0}",
            Short => "f32[16]{0}",
            Scalar => "f32[]",
            Integer => "s32[]",
            Truth => "pred[]",
        }
    }
}

fn tuple_text(shapes: &[Shape]) -> String {
    let parts: Vec<&str> = shapes.iter().map(|s| s.text()).collect();
    format!("({})", parts.join(", "))
}

/// Instructions of a module; the last steps that were begun are still finished.
const MOST: usize = 70;
const DEEPEST: u32 = 3;

/// A computation that is being written.
#[derive(Default)]
struct Body {
    lines: Vec<String>,
    pool: Vec<(String, Shape)>,
    /// Transfers that have started.
    under_way: Vec<(String, Shape)>,
}

struct Writer<'a> {
    bytes: std::slice::Iter<'a, u8>,
    names: usize,
    done: Vec<String>,
}

/// The module that the bytes stand for. Any bytes stand for one; when they are used up, all choices are the first.
pub fn module(bytes: &[u8]) -> String {
    let mut w = Writer { bytes: bytes.iter(), names: 0, done: Vec::new() };
    let parameters: Vec<Shape> = (0..=w.below(4)).map(|_| w.array()).collect();
    let mut body = Body::default();
    let mut donors = Vec::new();
    for (n, shape) in parameters.iter().enumerate() {
        let name = w.line(&mut body, shape.text(), &format!("parameter({n})"));
        body.pool.push((name, *shape));
        donors.push((n, *shape));
    }
    let steps = 1 + w.below(24);
    w.steps(&mut body, steps, 0);
    let count = w.below(4);
    let results: Vec<Shape> = (0..count.max(1)).map(|_| w.array()).collect();
    let mut aliases = Vec::new();
    for (n, shape) in results.iter().enumerate() {
        let Some(at) = donors.iter().position(|(_, s)| s == shape) else { continue };
        if w.below(2) == 1 {
            let index = if count == 0 { String::new() } else { n.to_string() };
            aliases.push(format!("{{{index}}}: ({}, {{}}, may-alias)", donors.remove(at).0));
        }
    }
    w.close(body, "main", &results, count > 0, true);
    let mut out = String::from("HloModule fuzzed, is_scheduled=true");
    if !aliases.is_empty() {
        _ = write!(out, ", input_output_alias={{ {} }}", aliases.join(", "));
    }
    out.push_str("\n\n");
    out.push_str(&w.done.join("\n"));
    out
}

impl Writer<'_> {
    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.bytes.next().copied().unwrap_or(0)) % bound.max(1)
    }

    fn array(&mut self) -> Shape {
        ARRAYS[self.below(ARRAYS.len())]
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn line(&mut self, body: &mut Body, shape: &str, what: &str) -> String {
        let name = self.name();
        body.lines.push(format!("{name} = {shape} {what}"));
        name
    }

    /// A line whose result others may take.
    fn keep(&mut self, body: &mut Body, shape: Shape, what: &str) -> String {
        let name = self.line(body, shape.text(), what);
        body.pool.push((name.clone(), shape));
        name
    }

    /// A value of that shape: one that is there, or a new one.
    fn value(&mut self, body: &mut Body, shape: Shape) -> String {
        let found: Vec<&String> = body.pool.iter().filter(|(_, s)| *s == shape).map(|(n, _)| n).collect();
        if !found.is_empty() {
            let chosen = self.below(found.len());
            // The latest first, so that without bytes there are chains.
            return found[found.len() - 1 - chosen].clone();
        }
        match shape {
            Scalar | Integer => self.keep(body, shape, "constant(1)"),
            Truth => self.keep(body, shape, "constant(true)"),
            _ => {
                let scalar = self.value(body, Scalar);
                self.keep(body, shape, &format!("broadcast({scalar}), dimensions={{}}"))
            }
        }
    }

    /// Ends a computation: everything under way arrives, and the root is written.
    fn close(&mut self, mut body: Body, name: &str, results: &[Shape], as_tuple: bool, is_entry: bool) {
        while !body.under_way.is_empty() {
            self.arrive(&mut body, 0);
        }
        let values: Vec<String> = results.iter().map(|s| self.value(&mut body, *s)).collect();
        if as_tuple {
            self.line(&mut body, &tuple_text(results), &format!("tuple({})", values.join(", ")));
        } else {
            // The root must be the last line, and a parameter or an old value cannot be.
            let kind = ["negate", "copy"][self.below(2)];
            let shape = results[0];
            let what = match shape {
                Truth => format!("not({})", values[0]),
                _ => format!("{kind}({})", values[0]),
            };
            self.line(&mut body, shape.text(), &what);
        }
        let mut text = format!("{}{name} {{\n", if is_entry { "ENTRY " } else { "" });
        let last = body.lines.len() - 1;
        for (n, line) in body.lines.iter().enumerate() {
            _ = writeln!(text, "  {}{line}", if n == last { "ROOT " } else { "" });
        }
        text.push_str("}\n");
        self.done.push(text);
    }

    fn arrive(&mut self, body: &mut Body, which: usize) {
        let (start, shape) = body.under_way.remove(which);
        self.keep(body, shape, &format!("copy-done({start})"));
    }

    /// A computation of one parameter, an array or a tuple of them.
    fn nested(
        &mut self,
        parameter: &[Shape],
        p_tuple: bool,
        results: &[Shape],
        r_tuple: bool,
        depth: u32,
    ) -> String {
        let mut body = Body::default();
        if p_tuple {
            let all = self.line(&mut body, &tuple_text(parameter), "parameter(0)");
            self.elements(&mut body, &all, parameter);
        } else {
            self.keep(&mut body, parameter[0], "parameter(0)");
        }
        let steps = self.below(6);
        self.steps(&mut body, steps, depth + 1);
        let name = format!("region_{}", self.name());
        self.close(body, &name, results, r_tuple, false);
        name
    }

    fn elements(&mut self, body: &mut Body, of: &str, shapes: &[Shape]) {
        for (n, shape) in shapes.iter().enumerate() {
            self.keep(body, *shape, &format!("get-tuple-element({of}), index={n}"));
        }
    }

    fn tuple(&mut self, body: &mut Body, shapes: &[Shape]) -> String {
        let values: Vec<String> = shapes.iter().map(|s| self.value(body, *s)).collect();
        self.line(body, &tuple_text(shapes), &format!("tuple({})", values.join(", ")))
    }

    fn steps(&mut self, body: &mut Body, count: usize, depth: u32) {
        for _ in 0..count {
            if self.names > MOST {
                return;
            }
            self.step(body, depth);
        }
    }

    fn step(&mut self, body: &mut Body, depth: u32) {
        match self.below(28) {
            0..=2 => {
                let shape = self.array();
                let operand = self.value(body, shape);
                let kind = ["negate", "exponential", "copy", "cosine"][self.below(4)];
                self.keep(body, shape, &format!("{kind}({operand})"));
            }
            3..=5 => {
                let shape = self.array();
                let (a, b) = (self.value(body, shape), self.value(body, shape));
                let kind = ["add", "multiply", "maximum"][self.below(3)];
                self.keep(body, shape, &format!("{kind}({a}, {b})"));
            }
            6 => {
                let a = self.value(body, Vector);
                self.keep(body, Vector, &format!("reverse({a}), dimensions={{0}}"));
            }
            7 => {
                let a = self.value(body, Matrix);
                self.keep(body, Matrix, &format!("transpose({a}), dimensions={{1,0}}"));
            }
            8 => {
                let a = self.value(body, Vector);
                self.keep(body, Short, &format!("slice({a}), slice={{[8:24]}}"));
            }
            9 => {
                let parts: Vec<String> = (0..4).map(|_| self.value(body, Short)).collect();
                self.keep(body, Vector, &format!("concatenate({}), dimensions={{0}}", parts.join(", ")));
            }
            10 => {
                let (from, to) = [(Vector, Matrix), (Matrix, Vector)][self.below(2)];
                let a = self.value(body, from);
                self.keep(body, to, &format!("bitcast({a})"));
            }
            11 | 12 => {
                let (whole, part) = [(Vector, Short), (Long, Vector)][self.below(2)];
                let (a, b, i) = (self.value(body, whole), self.value(body, part), self.value(body, Integer));
                self.keep(body, whole, &format!("dynamic-update-slice({a}, {b}, {i})"));
            }
            13 => {
                let (a, i) = (self.value(body, Vector), self.value(body, Integer));
                self.keep(body, Short, &format!("dynamic-slice({a}, {i}), dynamic_slice_sizes={{16}}"));
            }
            14 => {
                let (a, zero) = (self.value(body, Vector), self.value(body, Scalar));
                let name = format!("sum_{}", self.name());
                let (x, y) = (self.name(), self.name());
                let root = self.name();
                self.done.push(format!(
                    "{name} {{\n  {x} = f32[] parameter(0)\n  {y} = f32[] parameter(1)\n  ROOT {root} = f32[] add({x}, {y})\n}}\n"
                ));
                self.keep(body, Scalar, &format!("reduce({a}, {zero}), dimensions={{0}}, to_apply={name}"));
            }
            15 | 16 => self.fusion(body),
            17 => self.custom_call(body),
            18 => {
                let shapes: Vec<Shape> = (0..=self.below(3)).map(|_| self.array()).collect();
                let mut all = self.tuple(body, &shapes);
                if self.below(2) == 1 {
                    all = self.line(body, &tuple_text(&shapes), &format!("opt-barrier({all})"));
                }
                self.elements(body, &all, &shapes);
            }
            19 => {
                let (a, b) = (self.value(body, Matrix), self.value(body, Matrix));
                let what = format!("dot({a}, {b}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}");
                self.keep(body, Matrix, &what);
            }
            20 => {
                let (a, b) = (self.value(body, Integer), self.value(body, Integer));
                if self.below(2) == 0 {
                    self.keep(body, Integer, &format!("add({a}, {b})"));
                } else {
                    self.keep(body, Truth, &format!("compare({a}, {b}), direction=LT"));
                }
            }
            21 => {
                let shape = self.array();
                let a = self.value(body, shape);
                let text = shape.text();
                let start = self.line(body, &format!("({text}, {text}, u32[])"), &format!("copy-start({a})"));
                body.under_way.push((start, shape));
            }
            22 if !body.under_way.is_empty() => {
                let which = self.below(body.under_way.len());
                self.arrive(body, which);
            }
            23 | 24 if depth < DEEPEST => self.call(body, depth),
            25 | 26 if depth < DEEPEST => self.while_loop(body, depth),
            27 if depth < DEEPEST => self.conditional(body, depth),
            _ => {
                let shape = self.array();
                let a = self.value(body, shape);
                self.keep(body, shape, &format!("tanh({a})"));
            }
        }
    }

    fn fusion(&mut self, body: &mut Body) {
        let (x, y) = (self.name(), self.name());
        let name = format!("fused_{x}");
        let kind = ["kLoop", "kInput", "kOutput"][self.below(3)];
        if self.below(2) == 0 {
            let shape = self.array();
            let t = shape.text();
            let (a, b) = (self.value(body, shape), self.value(body, shape));
            let (m, r) = (self.name(), self.name());
            // Either operand may be the one that is read in another order.
            let (from, other) = [(&x, &y), (&y, &x)][self.below(2)];
            let middle = match (self.below(3), shape) {
                (0, Vector) => format!("reverse({from}), dimensions={{0}}"),
                (1, _) => format!("bitcast({from})"),
                _ => format!("negate({from})"),
            };
            self.done.push(format!(
                "{name} {{\n  {x} = {t} parameter(0)\n  {y} = {t} parameter(1)\n  {m} = {t} {middle}\n  ROOT {r} = {t} add({m}, {other})\n}}\n"
            ));
            self.keep(body, shape, &format!("fusion({a}, {b}), kind={kind}, calls={name}"));
        } else {
            let (whole, part) = [(Vector, Short), (Long, Vector)][self.below(2)];
            let (w, p) = (whole.text(), part.text());
            let (a, b, at) = (self.value(body, whole), self.value(body, part), self.value(body, Integer));
            let (i, m, r) = (self.name(), self.name(), self.name());
            self.done.push(format!(
                "{name} {{\n  {x} = {w} parameter(0)\n  {y} = {p} parameter(1)\n  {i} = s32[] parameter(2)\n  {m} = {p} negate({y})\n  ROOT {r} = {w} dynamic-update-slice({x}, {m}, {i})\n}}\n"
            ));
            self.keep(body, whole, &format!("fusion({a}, {b}, {at}), kind={kind}, calls={name}"));
        }
    }

    fn custom_call(&mut self, body: &mut Body) {
        let shape = self.array();
        let (a, b) = (self.value(body, shape), self.value(body, Vector));
        let call = format!("custom-call({a}, {b}), custom_call_target=\"Work\"");
        match self.below(3) {
            0 => {
                self.keep(body, Short, &call);
            }
            1 => {
                self.keep(body, shape, &format!("{call}, output_to_operand_aliasing={{{{}}: (0, {{}})}}"));
            }
            _ => {
                let both = [shape, Vector];
                let what = format!("{call}, output_to_operand_aliasing={{{{1}}: (1, {{}})}}");
                let all = self.line(body, &tuple_text(&both), &what);
                self.elements(body, &all, &both);
            }
        }
    }

    fn call(&mut self, body: &mut Body, depth: u32) {
        let (from, to) = (self.array(), self.array());
        let operand = self.value(body, from);
        let callee = self.nested(&[from], false, &[to], false, depth);
        self.keep(body, to, &format!("call({operand}), to_apply={callee}"));
    }

    fn while_loop(&mut self, body: &mut Body, depth: u32) {
        let mut state = vec![Integer];
        state.extend((0..=self.below(3)).map(|_| self.array()));
        let init = self.tuple(body, &state);
        let inside = self.nested(&state, true, &state, true, depth);
        let condition = {
            let t = tuple_text(&state);
            let (p, i, n, r) = (self.name(), self.name(), self.name(), self.name());
            let name = format!("condition_{p}");
            self.done.push(format!(
                "{name} {{\n  {p} = {t} parameter(0)\n  {i} = s32[] get-tuple-element({p}), index=0\n  {n} = s32[] constant(5)\n  ROOT {r} = pred[] compare({i}, {n}), direction=LT\n}}\n"
            ));
            name
        };
        let what = format!("while({init}), condition={condition}, body={inside}");
        let all = self.line(body, &tuple_text(&state), &what);
        self.elements(body, &all, &state);
    }

    fn conditional(&mut self, body: &mut Body, depth: u32) {
        let results: Vec<Shape> = (0..=self.below(2)).map(|_| self.array()).collect();
        let as_tuple = self.below(2) == 1;
        let selector = self.value(body, Truth);
        let mut operands = Vec::new();
        let mut branches = Vec::new();
        for _ in 0..2 {
            let shapes: Vec<Shape> = (0..=self.below(2)).map(|_| self.array()).collect();
            let is_tuple = self.below(2) == 1;
            let operand = if is_tuple { self.tuple(body, &shapes) } else { self.value(body, shapes[0]) };
            operands.push(operand);
            branches.push(self.nested(&shapes, is_tuple, &results, as_tuple, depth));
        }
        let shape = if as_tuple { tuple_text(&results) } else { results[0].text().to_owned() };
        let what = format!(
            "conditional({selector}, {}, {}), true_computation={}, false_computation={}",
            operands[0], operands[1], branches[0], branches[1]
        );
        let all = self.line(body, &shape, &what);
        if as_tuple {
            self.elements(body, &all, &results);
        } else {
            body.pool.push((all, results[0]));
        }
    }
}
