//! What can be said only when all has been read: calls of later computations, the entry, aliases, made-up names.

use super::{Reader, Remarks, UNNAMED};
use crate::ShapeIndex;
use crate::module::{Alias, AliasKind, ComputationId, InstructionId, Module, Span};
use crate::text::quote;
use smallvec::SmallVec;
use std::collections::HashSet;

impl Reader<'_> {
    /// The module without its source text, the text made for it, and the remarks.
    pub(super) fn finish(mut self) -> (Option<(Module, String)>, Remarks) {
        self.resolve_later_calls();
        if !self.later.is_empty() {
            self.cut_cycles();
        }
        let Some(entry) = self.find_entry() else {
            if !self.remarks.any_error() {
                self.remarks.error(self.bytes.len(), "the end of the text", "expected a computation");
            }
            return (None, self.remarks);
        };
        self.name_computations();
        if self.name.len == 0 {
            self.name = self.computations[entry.index()].name;
        }
        let is_scheduled = self.header_value("is_scheduled").is_some_and(|v| self.str(v) == "true");
        let input_output_alias = self.aliases();
        self.operand_pool.shrink_to_fit();
        let module = Module {
            text: String::new(),
            name: self.name,
            header: self.header,
            tables: self.tables,
            computations: self.computations,
            instructions: self.instructions,
            entry,
            shapes: self.shapes,
            is_scheduled,
            input_output_alias,
            operand_pool: self.operand_pool,
            called_pool: self.called_pool,
            attribute_pool: self.attribute_pool,
        };
        (Some((module, self.extra)), self.remarks)
    }

    fn header_value(&self, name: &str) -> Option<Span> {
        self.header.iter().find(|a| self.str(a.name) == name).map(|a| a.value)
    }

    fn resolve_later_calls(&mut self) {
        let mut lost: Vec<InstructionId> = Vec::new();
        let mut said = HashSet::new();
        for n in 0..self.later.len() {
            let (instruction, place, name) = self.later[n];
            let text = self.str(name);
            if let Some(id) = self.computation_ids.get(text) {
                self.called_pool[place as usize] = *id;
                if said.insert(text) {
                    let read = format!("{} before its computation", quote(text));
                    self.remarks.warning(name.start as usize, read, "XLA wants the callee first");
                }
            } else {
                lost.push(instruction);
                if !self.broken_computations.contains(text) {
                    let read = format!("the computation {}", quote(text));
                    self.remarks.error(name.start as usize, read, "expected one of this module");
                }
            }
        }
        for instruction in lost {
            self.forget_calls(instruction, |id| id.0 != u32::MAX);
        }
    }

    /// Takes calls off an instruction.
    fn forget_calls(&mut self, instruction: InstructionId, keep: impl Fn(ComputationId) -> bool) {
        let called = &mut self.instructions[instruction.index()].called;
        let range = called.range();
        let mut at = range.start;
        for n in range {
            let id = self.called_pool[n];
            if keep(id) {
                self.called_pool[at] = id;
                at += 1;
            }
        }
        called.len = (at - called.start as usize) as u32;
    }

    /// A computation that calls itself, if over others, is an error; the call is taken out so that nothing runs round.
    fn cut_cycles(&mut self) {
        const NEW: u8 = 0;
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let mut state = vec![NEW; self.computations.len()];
        // Computation, its next instruction, and that instruction's next call.
        let mut stack: Vec<(ComputationId, usize, usize)> = Vec::new();
        for first in 0..self.computations.len() {
            if state[first] != NEW {
                continue;
            }
            state[first] = OPEN;
            stack.push((ComputationId(first as u32), 0, 0));
            while let Some((computation, at, call)) = stack.last_mut() {
                let Some(&id) = self.computations[computation.index()].instructions.get(*at) else {
                    state[computation.index()] = DONE;
                    stack.pop();
                    continue;
                };
                let called = self.instructions[id.index()].called;
                if *call >= called.len as usize {
                    *at += 1;
                    *call = 0;
                    continue;
                }
                let callee = self.called_pool[called.start as usize + *call];
                *call += 1;
                match state[callee.index()] {
                    NEW => {
                        state[callee.index()] = OPEN;
                        stack.push((callee, 0, 0));
                    }
                    OPEN => {
                        *call -= 1;
                        let name = self.instructions[id.index()].name;
                        let what = self.str(self.computations[callee.index()].name);
                        let read = format!("a call of {} from inside itself", quote(what));
                        self.remarks.error(name.start as usize, read, "expected no recursion");
                        self.forget_calls(id, |c| c != callee);
                    }
                    _ => {}
                }
            }
        }
    }

    fn find_entry(&mut self) -> Option<ComputationId> {
        if let Some(entry) = self.entry {
            return Some(entry);
        }
        let made: HashSet<ComputationId> = self.unnamed.iter().map(|u| u.0).collect();
        let named: Vec<u32> =
            (0..self.computations.len() as u32).filter(|n| !made.contains(&ComputationId(*n))).collect();
        let last = ComputationId(*named.last()?);
        // One computation may stand alone, but a dump without its entry has been cut short.
        if named.len() > 1 || self.header_value("entry_computation_layout").is_some() {
            self.remarks.error(self.bytes.len(), "the end of the text", "expected an `ENTRY` computation");
        }
        Some(last)
    }

    /// Computations without a name get one that no other has.
    fn name_computations(&mut self) {
        let mut taken: HashSet<String> = HashSet::new();
        let mut count = 0_u32;
        for (id, what) in std::mem::take(&mut self.unnamed) {
            let mut name = what.clone();
            while self.computation_ids.contains_key(name.as_str()) || taken.contains(&name) {
                count += 1;
                name = format!("{what}.{count}");
            }
            self.computations[id.index()].name = self.make(&name);
            taken.insert(name);
        }
        if !taken.is_empty() {
            let mut values: Vec<Option<Span>> = vec![None; self.computations.len()];
            for attribute in &mut self.attribute_pool {
                if attribute.value.start != UNNAMED {
                    continue;
                }
                let id = attribute.value.len as usize;
                let name = self.computations[id].name;
                let value = *values[id].get_or_insert_with(|| {
                    let start = self.text.len() + self.extra.len();
                    let made = self
                        .extra
                        .get(name.start as usize - self.text.len()..)
                        .and_then(|t| t.get(..name.len as usize));
                    let made = made.unwrap_or("").to_owned();
                    self.extra.push('%');
                    self.extra.push_str(&made);
                    Span { start: start as u32, len: name.len + 1 }
                });
                attribute.value = value;
            }
        }
    }

    /// `{ {0}: (0, {}, may-alias), {1}: (1, {}) }`.
    fn aliases(&mut self) -> Vec<Alias> {
        let Some(value) = self.header_value("input_output_alias") else { return Vec::new() };
        let mut aliases = Vec::new();
        let mut tokens = Tokens { text: self.str(value), at: 0 };
        let result = (|| {
            tokens.expect('{')?;
            while !tokens.eat('}') {
                let output = tokens.index()?;
                tokens.expect(':')?;
                tokens.expect('(')?;
                let parameter = tokens.number()?;
                tokens.expect(',')?;
                let parameter_index = tokens.index()?;
                let mut kind = AliasKind::May;
                if tokens.eat(',') {
                    if tokens.word("must-alias") {
                        kind = AliasKind::Must;
                    } else if !tokens.word("may-alias") {
                        return Err("expected `may-alias` or `must-alias`");
                    }
                }
                tokens.expect(')')?;
                tokens.eat(',');
                aliases.push(Alias { output, parameter, parameter_index, kind });
            }
            Ok(())
        })();
        if let Err(expected) = result {
            let at = value.start as usize + tokens.at;
            let read = tokens.text[tokens.at..].chars().next().map_or_else(String::new, |c| c.to_string());
            self.remarks.error(at, format!("{} in `input_output_alias`", quote(&read)), expected);
        }
        aliases
    }
}

struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl Tokens<'_> {
    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, c: char) -> bool {
        self.skip();
        let found = self.text[self.at..].starts_with(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    fn word(&mut self, word: &str) -> bool {
        self.skip();
        let found = self.text[self.at..].starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn expect(&mut self, c: char) -> Result<(), &'static str> {
        if self.eat(c) {
            return Ok(());
        }
        Err(match c {
            '{' => "expected `{`",
            ':' => "expected `:`",
            '(' => "expected `(`",
            ',' => "expected `,`",
            _ => "expected `)`",
        })
    }

    fn number(&mut self) -> Result<u32, &'static str> {
        self.skip();
        let rest = &self.text[self.at..];
        let len = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = rest[..len].parse().map_err(|_| "expected a number")?;
        self.at += len;
        Ok(number)
    }

    fn index(&mut self) -> Result<ShapeIndex, &'static str> {
        self.expect('{')?;
        let mut numbers = SmallVec::new();
        while !self.eat('}') {
            numbers.push(self.number()?);
            self.eat(',');
        }
        Ok(ShapeIndex(numbers))
    }
}
