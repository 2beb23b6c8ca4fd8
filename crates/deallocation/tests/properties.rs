//! Random programs of blocks, branches, `if`, `for` and `while`: what the rule makes of them, with its gaps closed, is run
//! on every way through it.

use deallocation::{fuzzing, read};
use proptest::prelude::*;
use std::fmt::Write as _;

/// Makes a program of numbers, each of which decides one thing. It is always one that can be read.
struct Maker<'a> {
    numbers: std::slice::Iter<'a, u8>,
    names: usize,
    out: String,
}

const T: &str = "memref<8xf32>";

impl Maker<'_> {
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.numbers.next().copied().unwrap_or(0)) % n
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("%v{}", self.names)
    }

    fn one_of(&mut self, values: &[String]) -> String {
        // The youngest most often: they are what is interesting.
        let back = self.below(values.len().min(5));
        values[values.len() - 1 - back].clone()
    }

    fn condition(&mut self) -> &'static str {
        ["%c", "%d", "%e"][self.below(3)]
    }

    fn line(&mut self, depth: usize, text: &str) {
        _ = writeln!(self.out, "{:1$}{text}", "", depth * 2);
    }

    /// Some operations; gives the values that are there behind them.
    fn ops(&mut self, before: &[String], depth: usize, left: usize) -> Vec<String> {
        let mut values = before.to_vec();
        for _ in 0..self.below(5) {
            let made = self.name();
            match self.below(8) {
                0 | 1 => self.line(depth, &format!("{made} = memref.alloc() : {T}")),
                2 => {
                    let of = self.one_of(&values);
                    self.line(depth, &format!("{made} = bufferization.clone {of} : {T} to {T}"));
                }
                3 => {
                    let (c, a, b) = (self.condition(), self.one_of(&values), self.one_of(&values));
                    self.line(depth, &format!("{made} = arith.select {c}, {a}, {b} : {T}"));
                }
                4 if left > 0 => {
                    self.structured(&made, &values, depth, left - 1);
                }
                _ => {
                    let of = self.one_of(&values);
                    self.line(depth, &format!("\"test.use\"({of}) : ({T}) -> ()"));
                    continue;
                }
            }
            values.push(made);
        }
        values
    }

    fn structured(&mut self, made: &str, values: &[String], depth: usize, left: usize) {
        let ends = |maker: &mut Self, values: &[String], with: &str| {
            let given = maker.one_of(values);
            maker.line(depth + 1, &format!("{with}{given} : {T}"));
        };
        match self.below(3) {
            0 => {
                let c = self.condition();
                self.line(depth, &format!("{made} = scf.if {c} -> ({T}) {{"));
                let inner = self.ops(values, depth + 1, left);
                ends(self, &inner, "scf.yield ");
                self.line(depth, "} else {");
                let inner = self.ops(values, depth + 1, left);
                ends(self, &inner, "scf.yield ");
            }
            1 => {
                let (i, carried, from) = (self.name(), self.name(), self.one_of(values));
                self.line(
                    depth,
                    &format!(
                        "{made} = scf.for {i} = %n to %n step %n iter_args({carried} = {from}) -> ({T}) {{"
                    ),
                );
                let inner = self.ops(&[values, &[carried]].concat(), depth + 1, left);
                ends(self, &inner, "scf.yield ");
            }
            _ => {
                let (carried, from, c, inside) =
                    (self.name(), self.one_of(values), self.condition(), self.name());
                self.line(depth, &format!("{made} = scf.while ({carried} = {from}) : ({T}) -> ({T}) {{"));
                let inner = self.ops(&[values, &[carried]].concat(), depth + 1, left);
                ends(self, &inner, &format!("scf.condition({c}) "));
                self.line(depth, "} do {");
                self.line(depth, &format!("^bb0({inside}: {T}):"));
                let inner = self.ops(&[values, &[inside]].concat(), depth + 1, left);
                ends(self, &inner, "scf.yield ");
            }
        }
        self.line(depth, "}");
    }

    /// A row of diamonds, each of which passes a value to where it meets.
    fn function(&mut self) -> String {
        self.line(0, &format!("func.func @f(%c: i1, %d: i1, %e: i1, %n: index, %x: {T}, %y: {T}) {{"));
        let mut values = self.ops(&["%x".to_owned(), "%y".to_owned()], 1, 2);
        for i in 0..self.below(4) {
            let (c, met) = (self.condition(), self.name());
            let critical = self.below(3) == 0;
            let side = if critical {
                let passed = self.one_of(&values);
                format!("^bb{i}c({passed} : {T})")
            } else {
                format!("^bb{i}b")
            };
            self.line(1, &format!("cf.cond_br {c}, ^bb{i}a, {side}"));
            for half in if critical { &["a"][..] } else { &["a", "b"][..] } {
                self.line(0, &format!("^bb{i}{half}:"));
                let inner = self.ops(&values, 1, 1);
                let passed = self.one_of(&inner);
                self.line(1, &format!("cf.br ^bb{i}c({passed} : {T})"));
            }
            self.line(0, &format!("^bb{i}c({met}: {T}):"));
            values.push(met);
            values = self.ops(&values, 1, 2);
        }
        self.line(1, "return");
        self.line(0, "}");
        std::mem::take(&mut self.out)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn nothing_is_leaked_or_freed_twice_or_used_when_it_is_gone(
        numbers in prop::collection::vec(any::<u8>(), 10..150)
    ) {
        let text = Maker { numbers: numbers.iter(), names: 0, out: String::new() }.function();
        fuzzing::check(&read(&text).unwrap_or_else(|e| panic!("{e}\n{text}")));
    }
}
