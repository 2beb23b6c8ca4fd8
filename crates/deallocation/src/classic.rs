//! The classic rule: aliases are collected, what may not be freed where all ways meet is cloned, and each owner is freed
//! once, where all that may be the same buffer is over.

use crate::control::{ends, is_structured, ways};
use crate::graph::{Tree, back_edge, dominators, live_out, post_dominators};
use crate::ir::{BlockId, Definition, OpId, Program, Refusal, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// How far the rule is trusted with what it does not know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// A result of an operation that is not known may be any of its operands (XLA's copy of the pass). Without it, it is
    /// none of them (LLVM 16).
    pub unknown_may_alias: bool,
    /// Closes four gaps of LLVM 16, whose result may leak a buffer or use one that was freed: in the block where all ways
    /// meet, uses of what was defined in another block count too; a loop that runs not at all passes on what it began
    /// with; a clone for one side of a branch gets a block of its own on that side; and an owner that nothing uses is
    /// freed also in a block that holds nothing but its end.
    pub close_gaps: bool,
}

/// Why one value may be the same buffer as another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Flow {
    /// It is a view of it: a cast, a part.
    View,
    /// It is one of two, chosen as the program runs.
    Select,
    /// It is passed by a branch.
    Branch,
    /// It is passed into, between or out of regions.
    Region,
    /// The operation is not known.
    Unknown,
}

/// Why a value cannot leave the freeing to the buffer it may be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unsafe {
    /// There is a way to it that does not come by the buffer's definition.
    NotDominated,
    /// It is an argument of the very block that the buffer is defined in: of the last time round.
    SameBlock,
}

/// What the pass did, in order, each with its evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A buffer is allocated, and perhaps freed already.
    Allocation {
        /// The buffer.
        value: ValueId,
        /// What frees it.
        freed_by: Option<OpId>,
    },
    /// A value may be another one.
    MayBe {
        /// What it may be.
        from: ValueId,
        /// The value.
        to: ValueId,
        /// Why.
        why: Flow,
    },
    /// A value must own its buffer.
    Owns {
        /// The value.
        value: ValueId,
        /// What flows into it.
        from: ValueId,
        /// The block that is not on every way to it.
        defined_in: BlockId,
        /// Why.
        why: Unsafe,
    },
    /// A copy is made, so that the receiver owns what it gets.
    Clone {
        /// Its number, from 0.
        number: usize,
        /// The clone.
        op: OpId,
        /// What is cloned.
        of: ValueId,
        /// The owner that gets it.
        into: ValueId,
        /// In front of what.
        before: OpId,
    },
    /// A value passes what is a clone already.
    AlreadyClone {
        /// The clone.
        clone: ValueId,
        /// The owner that gets it.
        into: ValueId,
    },
    /// An owner is freed.
    Release {
        /// The owner.
        value: ValueId,
        /// All that may be it.
        aliases: Vec<ValueId>,
        /// The block where all ways meet behind its uses.
        block: BlockId,
        /// The last use in it; nothing if it is freed as the block begins.
        after: Option<OpId>,
        /// What frees it.
        op: OpId,
        /// Whether that was there before and has been moved.
        moved: bool,
    },
    /// An owner leaves the block with its last use, and is not freed here.
    Escapes {
        /// The owner.
        value: ValueId,
        /// What takes it away.
        with: OpId,
    },
}

/// The result.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The program with its clones and releases.
    pub program: Program,
    /// How it came to it.
    pub steps: Vec<Step>,
}

/// Frees every allocation of every function.
pub fn deallocate(program: &Program, options: &Options) -> Result<Outcome, Refusal> {
    let mut out = Outcome { program: program.clone(), steps: Vec::new() };
    let mut clones = 0;
    for function in program.functions() {
        supported(&out.program, function)?;
        let mut done = pass(&out.program, function, *options, clones)?;
        if options.close_gaps {
            let sides = sides_with_clones(&out.program, &done.1);
            if !sides.is_empty() {
                out.program.split(&sides);
                done = pass(&out.program, function, *options, clones)?;
            }
        }
        let (program, steps) = done;
        clones += steps.iter().filter(|s| matches!(s, Step::Clone { .. })).count();
        out.program = program;
        out.steps.extend(steps);
    }
    Ok(out)
}

fn pass(
    program: &Program,
    function: OpId,
    options: Options,
    clones: usize,
) -> Result<(Program, Vec<Step>), Refusal> {
    let pass = Pass {
        dominators: dominators(program),
        post: post_dominators(program),
        live: live_out(program),
        function,
        options,
        aliases: BTreeMap::new(),
        made: BTreeSet::new(),
        clones,
        names: program.values.iter().map(|v| v.name.clone()).collect(),
        steps: Vec::new(),
    };
    let mut out = program.clone();
    let steps = pass.run(&mut out)?;
    Ok((out, steps))
}

/// The sides of branches for which clones were made in front of a branch that has another side.
fn sides_with_clones(program: &Program, steps: &[Step]) -> BTreeSet<(OpId, usize)> {
    let mut out = BTreeSet::new();
    for step in steps {
        let Step::Clone { into, before, .. } = step else { continue };
        let successors = program.ops.get(before.index()).map(|o| &o.successors[..]).unwrap_or_default();
        if let (Definition::Argument(block, _), [_, _]) = (program.value(*into).definition, successors) {
            out.extend((0..2).filter(|i| successors[*i].block == block).map(|i| (*before, i)));
        }
    }
    out
}

/// Refuses loops of blocks, and regions whose ways are not known.
pub(crate) fn supported(program: &Program, function: OpId) -> Result<(), Refusal> {
    if let Some(branch) = back_edge(program, function) {
        let message = "a branch back makes a loop of blocks, expected loops as `scf.for` or `scf.while` only";
        return Err(Refusal { at: program.op(branch).at, message: message.to_owned() });
    }
    for op in ops_of(program, function) {
        let o = program.op(op);
        if (o.regions.len() > 1 || o.regions.len() == 1 && !o.results.is_empty()) && !is_structured(&o.name) {
            let message = format!(
                "`{}`, expected an operation of `scf`: how its regions follow each other is not known",
                o.name
            );
            return Err(Refusal { at: o.at, message });
        }
    }
    Ok(())
}

fn ops_of(program: &Program, function: OpId) -> Vec<OpId> {
    program.op(function).regions.iter().flat_map(|r| program.in_order(*r)).collect()
}

/// Operations whose result is a view of their first operand.
pub(crate) fn is_view(name: &str) -> bool {
    matches!(
        name,
        "memref.cast"
            | "memref.subview"
            | "memref.reinterpret_cast"
            | "memref.memory_space_cast"
            | "memref.view"
            | "memref.collapse_shape"
            | "memref.expand_shape"
    )
}

/// Operations whose result is a new buffer that somebody must free.
pub(crate) fn is_allocation(name: &str) -> bool {
    matches!(name, "memref.alloc" | "bufferization.clone")
}

struct Pass {
    dominators: Tree,
    post: Tree,
    live: Vec<BTreeSet<ValueId>>,
    function: OpId,
    options: Options,
    /// What each value may flow into, in the order in which it was found.
    aliases: BTreeMap<ValueId, Vec<ValueId>>,
    /// Values that are clones of this pass.
    made: BTreeSet<ValueId>,
    clones: usize,
    names: BTreeSet<String>,
    steps: Vec<Step>,
}

impl Pass {
    fn run(mut self, program: &mut Program) -> Result<Vec<Step>, Refusal> {
        let mut owners: Vec<(ValueId, Option<OpId>)> = Vec::new();
        let uses = program.uses();
        for op in ops_of(program, self.function) {
            if is_allocation(&program.op(op).name) {
                let value = program.op(op).results[0];
                let frees = |(o, _): &&(OpId, u32)| program.op(*o).name == "memref.dealloc";
                let freed_by = uses[value.index()].iter().find(frees).map(|(o, _)| *o);
                owners.push((value, freed_by));
                self.steps.push(Step::Allocation { value, freed_by });
            }
        }
        self.collect(program);
        let unsafe_values = self.find_unsafe(program, &owners);
        let freed: BTreeSet<ValueId> = unsafe_values.iter().copied().collect();
        for into in self.aliases.values_mut() {
            into.retain(|v| !freed.contains(v));
        }
        for value in unsafe_values {
            self.clone_for(program, value)?;
            owners.push((value, None));
        }
        for (value, freed_by) in owners {
            self.release(program, value, freed_by)?;
        }
        Ok(self.steps)
    }

    fn flows(&mut self, program: &Program, from: ValueId, to: ValueId, why: Flow) {
        if !program.value(to).is_buffer() {
            return;
        }
        let into = self.aliases.entry(from).or_default();
        if !into.contains(&to) {
            into.push(to);
            self.steps.push(Step::MayBe { from, to, why });
        }
    }

    fn collect(&mut self, program: &Program) {
        let ops = ops_of(program, self.function);
        for op in &ops {
            let o = program.op(*op);
            let why = match o.name.as_str() {
                name if is_view(name) => Flow::View,
                "arith.select" => Flow::Select,
                name if self.options.unknown_may_alias
                    && !is_allocation(name)
                    && !is_structured(name)
                    && !matches!(name, "memref.alloca" | "memref.load") =>
                {
                    Flow::Unknown
                }
                _ => continue,
            };
            let from = if why == Flow::View { &o.operands[..1] } else { &o.operands[..] };
            for from in from.iter().filter(|v| program.value(**v).is_buffer()) {
                for to in &o.results {
                    self.flows(program, *from, *to, why);
                }
            }
        }
        for op in &ops {
            for s in &program.op(*op).successors {
                let passed = &program.op(*op).operands[s.first as usize..(s.first + s.count) as usize];
                for (from, to) in passed.iter().zip(&program.block(s.block).arguments) {
                    self.flows(program, *from, *to, Flow::Branch);
                }
            }
        }
        for op in &ops {
            for way in ways(program, *op).into_iter().flatten() {
                if way.from.is_none() && way.to.is_none() && !self.options.close_gaps {
                    continue;
                }
                for (by, first) in way.passes {
                    for (from, to) in program.op(by).operands[first as usize..].iter().zip(&way.inputs) {
                        self.flows(program, *from, *to, Flow::Region);
                    }
                }
            }
        }
    }

    /// The values that need a buffer of their own, in the order in which they are found.
    fn find_unsafe(&mut self, program: &Program, owners: &[(ValueId, Option<OpId>)]) -> Vec<ValueId> {
        let mut found: Vec<ValueId> = Vec::new();
        let mut is_found = BTreeSet::new();
        let mut visited = BTreeSet::new();
        let mut open: Vec<(ValueId, BlockId)> = Vec::new();
        let mut first = owners.iter().map(|(value, _)| (*value, program.block_of(*value)));
        while let Some((source, home)) = first.next().or_else(|| open.pop()) {
            for value in self.aliases.get(&source).cloned().unwrap_or_default() {
                if is_found.contains(&value) {
                    continue;
                }
                let block = program.block_of(value);
                let is_argument = matches!(program.value(value).definition, Definition::Argument(..));
                let why = if !self.dominators.dominates(program, home, block) {
                    Some(Unsafe::NotDominated)
                } else if home == block && is_argument {
                    Some(Unsafe::SameBlock)
                } else {
                    None
                };
                if let Some(why) = why {
                    open.push((value, block));
                    found.push(value);
                    is_found.insert(value);
                    self.steps.push(Step::Owns { value, from: source, defined_in: home, why });
                } else if visited.insert((value, home)) {
                    open.push((value, home));
                }
            }
        }
        found
    }

    /// Gives a value a buffer of its own on every way to it.
    fn clone_for(&mut self, program: &mut Program, value: ValueId) -> Result<(), Refusal> {
        match program.value(value).definition {
            Definition::Argument(block, number) => {
                // A branch that comes here twice passes its last operands first.
                for (branch, successor) in program.predecessors()[block.index()].clone().into_iter().rev() {
                    let operand = program.op(branch).successors[successor].first + number;
                    self.pass_clone(program, branch, operand, branch, value);
                }
                let region = program.block(block).region;
                let Some(parent) = program.region(region).parent else { return Ok(()) };
                let is_entry = program.region(region).blocks.first() == Some(&block);
                if let (true, Some(ways)) = (is_entry, ways(program, parent)) {
                    let me = program.op(parent).regions.iter().position(|r| *r == region);
                    for inside in [true, false] {
                        for way in ways.iter().filter(|w| w.to == me && w.from.is_some() == inside) {
                            self.along(program, &way.passes, &way.inputs, value);
                        }
                    }
                }
            }
            Definition::Result(op, _) => {
                let Some(ways) = ways(program, op) else {
                    let o = program.op(op);
                    let message = format!("`{}`, expected a result that a clone can be passed to", o.name);
                    return Err(Refusal { at: o.at, message });
                };
                for way in ways.iter().filter(|w| w.to.is_none() && w.from.is_some()) {
                    self.along(program, &way.passes, &way.inputs, value);
                }
            }
        }
        Ok(())
    }

    fn along(&mut self, program: &mut Program, passes: &[(OpId, u32)], inputs: &[ValueId], value: ValueId) {
        let Some(number) = inputs.iter().position(|v| *v == value) else { return };
        for (by, first) in passes {
            self.pass_clone(program, *by, first + number as u32, *by, value);
        }
    }

    /// Makes an operand a clone of what it was.
    fn pass_clone(&mut self, program: &mut Program, op: OpId, operand: u32, before: OpId, into: ValueId) {
        let of = program.op(op).operands[operand as usize];
        if self.made.contains(&of) {
            self.steps.push(Step::AlreadyClone { clone: of, into });
            return;
        }
        let number = self.clones;
        self.clones += 1;
        let name = self.name(program, of);
        let clone = program.insert_before(before, "bufferization.clone", of, Some(name));
        let result = program.op(clone).results[0];
        program.ops[op.index()].operands[operand as usize] = result;
        self.made.insert(result);
        self.steps.push(Step::Clone { number, op: clone, of, into, before });
    }

    /// A name for a clone that nothing has.
    fn name(&mut self, program: &Program, of: ValueId) -> String {
        let value = program.value(of);
        let base = match value.part {
            Some(part) => format!("{}_{part}_clone", value.name),
            None => format!("{}_clone", value.name),
        };
        // A name of digits alone may have no letters behind.
        let base = if base.starts_with(|c: char| c.is_ascii_digit()) { format!("v{base}") } else { base };
        let name = crate::ir::fresh(&base, &self.names);
        self.names.insert(name.clone());
        name
    }

    fn all_that_may_be(&self, value: ValueId) -> Vec<ValueId> {
        let mut out = vec![value];
        let mut seen = BTreeSet::from([value]);
        let mut next = 0;
        while let Some(v) = out.get(next) {
            next += 1;
            for to in self.aliases.get(v).into_iter().flatten() {
                if seen.insert(*to) {
                    out.push(*to);
                }
            }
        }
        out
    }

    fn release(
        &mut self,
        program: &mut Program,
        value: ValueId,
        freed_by: Option<OpId>,
    ) -> Result<(), Refusal> {
        let aliases = self.all_that_may_be(value);
        let uses = program.uses();
        let mut meeting = Some(program.block_of(value));
        for alias in &aliases {
            let home = std::iter::once(program.block_of(*alias));
            for block in home.chain(uses[alias.index()].iter().map(|(op, _)| program.op(*op).block)) {
                meeting = meeting.and_then(|m| self.post.nearest_common(program, m, block));
            }
        }
        let Some(block) = meeting else {
            let v = program.value(value);
            let message = format!(
                "`{}` is used on ways that never meet again, expected a block that all ways out go through",
                v.label()
            );
            return Err(Refusal { at: v.at, message });
        };
        let ops = &program.block(block).ops;
        let Some(first) = ops.first().copied() else { return Ok(()) };
        let mut end = first;
        let mut end_place = 0;
        let place = |op: OpId| program.order_in(block, op);
        for alias in &aliases {
            let mut last = end;
            if let Definition::Result(by, _) = program.value(*alias).definition {
                match program.ancestor_in_block(by, block) {
                    Some(by) => last = by,
                    None if self.options.close_gaps => {}
                    None => continue,
                }
            }
            let mut last_place = place(last);
            if self.live[block.index()].contains(alias) {
                (last, last_place) = (*ops.last().unwrap_or(&last), ops.len() - 1);
            } else {
                for (op, _) in &uses[alias.index()] {
                    let Some(here) = program.ancestor_in_block(*op, block) else { continue };
                    if place(here) > last_place {
                        (last, last_place) = (here, place(here));
                    }
                }
            }
            if last_place > end_place {
                (end, end_place) = (last, last_place);
            }
        }
        let comes_by = self.dominators.dominates(program, program.block_of(value), block);
        if let Some(op) = freed_by.filter(|_| comes_by) {
            let moved = op != end;
            if moved {
                program.move_after(op, end);
            }
            self.steps.push(Step::Release { value, aliases, block, after: moved.then_some(end), op, moved });
            return Ok(());
        }
        let is_wanted = self.live[block.index()].iter().any(|v| aliases.contains(v))
            || program.op(end).operands.iter().any(|v| aliases.contains(v));
        let next = match ops.get(end_place + 1) {
            Some(next) => Some(*next),
            None if self.options.close_gaps && ends(program, end) && !is_wanted => Some(end),
            None => None,
        };
        let Some(next) = next else {
            self.steps.push(Step::Escapes { value, with: end });
            return Ok(());
        };
        if !comes_by {
            let v = program.value(value);
            let message = format!(
                "`{}` is used on ways that meet only where others come in too, expected a block that it is defined before",
                v.label()
            );
            return Err(Refusal { at: v.at, message });
        }
        let op = program.insert_before(next, "memref.dealloc", value, None);
        let after = (next != end).then_some(end);
        self.steps.push(Step::Release { value, aliases, block, after, op, moved: false });
        Ok(())
    }
}
