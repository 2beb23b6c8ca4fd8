//! XLA's internal orders, which decide the numbers of values and many ties (0).
//!
//! Printed text holds only the schedule. The order in which computations and instructions are stored is in
//! the `.hlo.pb`; without one it is guessed from names, the way XLA makes them.

use crate::{Backend, Target};
use hlo::{ComputationId, InstructionId, Module, Opcode, ProtoOrders};
use rustc_hash::FxHashMap;
use sorts::Arrange as _;

/// The orders that text lacks.
#[derive(Clone, Debug)]
pub struct Orders {
    /// `SC`: computations as the module stores them.
    pub storage: Vec<ComputationId>,
    /// `SI`: by computation, its instructions as the computation stores them.
    pub instructions: Vec<Vec<InstructionId>>,
    /// `PC`: callees before their callers, as XLA keeps it up.
    pub callee_first: Vec<ComputationId>,
    /// Are these XLA's own, or guessed from the text? Guessed ones may number values differently.
    pub exact: bool,
}

impl Orders {
    /// Guesses the orders from names (0, item 3; GPU and TPU supplement, 7). Calls must be acyclic.
    #[must_use]
    pub fn guess(module: &Module, target: &Target) -> Self {
        let storage = match target.backend {
            Backend::Gpu => Names::new(module).gpu_storage(),
            Backend::Cpu | Backend::Tpu => Names::new(module).cpu_storage(),
        };
        let mut rank = vec![0usize; module.computations.len()];
        for (i, c) in storage.iter().enumerate() {
            rank[c.index()] = i;
        }
        let names = Names::new(module);
        let instructions = module
            .computation_ids()
            .map(|c| names.as_text_visits_callees(names.instructions(c, &rank)))
            .collect();
        let callee_first = callee_first(module, &storage);
        let storage = if target.backend == Backend::Tpu { callee_first.clone() } else { storage };
        Self { storage, instructions, callee_first, exact: false }
    }
}

/// `PC` from `SC`: each computation goes to the end, and whatever already stands there and calls it, directly or not,
/// moves behind it in its old order.
#[must_use]
pub fn callee_first(module: &Module, storage: &[ComputationId]) -> Vec<ComputationId> {
    let mut callers: Vec<Vec<ComputationId>> = vec![Vec::new(); module.computations.len()];
    for id in module.instruction_ids() {
        let caller = module.instruction(id).computation;
        for callee in module.called(id) {
            if callers[callee.index()].last() != Some(&caller) {
                callers[callee.index()].push(caller);
            }
        }
    }
    let first = first_callers(&callers, storage);
    // Places are handed out upwards, so "to the end" is "the next place".
    let mut place = vec![None::<u64>; module.computations.len()];
    let mut next = 0;
    let mut seen = vec![u32::MAX; module.computations.len()];
    let mut moved = Vec::new();
    let mut stack = Vec::new();
    for (turn, &c) in storage.iter().enumerate() {
        place[c.index()] = Some(next);
        next += 1;
        moved.clear();
        stack.push(c);
        while let Some(at) = stack.pop() {
            for &caller in &callers[at.index()] {
                // Nothing that calls it stands there yet, and neither does it.
                if first[caller.index()] > turn as u32 {
                    continue;
                }
                if seen[caller.index()] != turn as u32 && caller != c {
                    seen[caller.index()] = turn as u32;
                    stack.push(caller);
                    moved.extend(place[caller.index()].map(|p| (p, caller)));
                }
            }
        }
        moved.arrange_unstable();
        for &(_, caller) in &moved {
            place[caller.index()] = Some(next);
            next += 1;
        }
    }
    let mut out = storage.to_vec();
    out.arrange_by_key(|c| place[c.index()]);
    out
}

/// By computation: the smallest place in `storage` of it and all that call it, directly or not; 0 where calls go round in circles.
fn first_callers(callers: &[Vec<ComputationId>], storage: &[ComputationId]) -> Vec<u32> {
    let mut callees: Vec<Vec<ComputationId>> = vec![Vec::new(); callers.len()];
    for (callee, all) in (0u32..).map(ComputationId).zip(callers) {
        for caller in all {
            callees[caller.index()].push(callee);
        }
    }
    let mut own = vec![0u32; callers.len()];
    for (place, c) in (0u32..).zip(storage) {
        own[c.index()] = place;
    }
    // Callers first: a computation is ready when all that call it are done.
    let mut waits: Vec<usize> = callers.iter().map(Vec::len).collect();
    let mut ready: Vec<ComputationId> =
        (0u32..).zip(&waits).filter(|(_, n)| **n == 0).map(|(c, _)| ComputationId(c)).collect();
    let mut out = vec![0u32; callers.len()];
    while let Some(c) = ready.pop() {
        let above = callers[c.index()].iter().map(|caller| out[caller.index()]).min();
        out[c.index()] = above.unwrap_or(u32::MAX).min(own[c.index()]);
        for callee in &callees[c.index()] {
            waits[callee.index()] -= 1;
            if waits[callee.index()] == 0 {
                ready.push(*callee);
            }
        }
    }
    out
}

/// What the names of computations betray about when they were made.
struct Names<'m> {
    module: &'m Module,
    /// By computation: the opcode of its first call site.
    called_by: Vec<Option<(Opcode, InstructionId)>>,
    /// By computation: how many instructions call it.
    call_sites: Vec<u32>,
}

/// The number behind the last dot of a name, if there is one.
fn trailing_number(name: &str) -> Option<u64> {
    name.rsplit_once('.').and_then(|(_, n)| n.parse().ok())
}

/// The last number anywhere behind a dot: `region_0.4.clone` gives 4.
fn last_number(name: &str) -> Option<u64> {
    name.rsplit('.').find_map(|part| part.parse().ok())
}

/// `bitcast.14.0` gives `bitcast` and 14, 0.
fn split_name(name: &str) -> (&str, Vec<u64>) {
    let mut base = name;
    let mut numbers = Vec::new();
    while let Some((rest, number)) = base.rsplit_once('.')
        && let Ok(number) = number.parse()
    {
        numbers.push(number);
        base = rest;
    }
    numbers.reverse();
    (base, numbers)
}

/// The last number before the first `.clone`: what was cloned.
fn base_number(name: &str) -> Option<u64> {
    name.split(".clone").next().and_then(last_number)
}

impl<'m> Names<'m> {
    fn new(module: &'m Module) -> Self {
        let mut called_by = vec![None; module.computations.len()];
        let mut call_sites = vec![0; module.computations.len()];
        for id in module.instruction_ids() {
            for callee in module.called(id) {
                call_sites[callee.index()] += 1;
                called_by[callee.index()].get_or_insert((module.instruction(id).opcode, id));
            }
        }
        Self { module, called_by, call_sites }
    }

    fn name(&self, c: ComputationId) -> &'m str {
        self.module.computation_name(c)
    }

    fn is_fusion_body(&self, c: ComputationId) -> bool {
        matches!(self.called_by[c.index()], Some((Opcode::Fusion, _)))
    }

    /// For the clones: (smallest number in the names of a while's pair, 0 for its condition and 1 for its body).
    fn pair_keys(&self, number: fn(&str) -> Option<u64>) -> FxHashMap<ComputationId, (u64, u8)> {
        let mut keys = FxHashMap::default();
        for id in self.module.instruction_ids() {
            if let (Opcode::While, &[body, condition]) =
                (self.module.instruction(id).opcode, self.module.called(id))
            {
                let least = [body, condition].iter().filter_map(|c| number(self.name(*c))).min().unwrap_or(0);
                keys.entry(condition).or_insert((least, 0));
                keys.entry(body).or_insert((least, 1));
            }
        }
        keys
    }

    /// The number that a parameter named `prefix[.N]` carries, 0 if it carries none.
    fn parameter_suffix(&self, c: ComputationId, prefix: &str) -> Option<u64> {
        self.module.computation(c).parameters.iter().find_map(|p| {
            let rest = self.module.name_of(*p).strip_prefix(prefix)?;
            if rest.is_empty() { Some(0) } else { rest.strip_prefix('.')?.parse().ok() }
        })
    }

    /// How a computation stores its instructions. A fusion's body is filled from its root backwards. Elsewhere parameters
    /// come first, by number, and fusions, which were made later, behind the rest, as their bodies were made.
    fn instructions(&self, c: ComputationId, rank: &[usize]) -> Vec<InstructionId> {
        let module = self.module;
        let mut list = module.computation(c).instructions.clone();
        if self.is_fusion_body(c) {
            list.reverse();
            return list;
        }
        let mut first: FxHashMap<&str, usize> = FxHashMap::default();
        let mut keyed: Vec<_> = list
            .drain(..)
            .enumerate()
            .map(|(at, i)| {
                let key = match module.instruction(i).opcode {
                    Opcode::Parameter => (0, module.parameter_number(i).unwrap_or(0) as usize, Vec::new()),
                    Opcode::Fusion => (
                        2,
                        module.called(i).first().map_or(usize::MAX, |body| rank[body.index()]),
                        Vec::new(),
                    ),
                    _ => {
                        // Of equal names the lower number was made first.
                        let (base, numbers) = split_name(module.name_of(i));
                        (1, *first.entry(base).or_insert(at), numbers)
                    }
                };
                (key, i)
            })
            .collect();
        keyed.arrange();
        keyed.into_iter().map(|(_, i)| i).collect()
    }

    /// The text lists computations as a walk from the entry leaves them, and that walk takes the instructions of each in
    /// the order of storage. So where two instructions each call a computation of their own, the order of those two in
    /// the text is certain; only the places among the rest are a guess.
    fn as_text_visits_callees(&self, mut list: Vec<InstructionId>) -> Vec<InstructionId> {
        let own_callee = |i: &InstructionId| {
            let callees = self.module.called(*i).iter();
            callees.filter(|c| self.call_sites[c.index()] == 1).min().copied()
        };
        let places: Vec<usize> = (0..list.len()).filter(|at| own_callee(&list[*at]).is_some()).collect();
        let mut callers: Vec<InstructionId> = places.iter().map(|at| list[*at]).collect();
        callers.arrange_by_key(own_callee);
        for (at, caller) in places.into_iter().zip(callers) {
            list[at] = caller;
        }
        list
    }

    fn cpu_storage(&self) -> Vec<ComputationId> {
        // As long as no pass has made computations of its own, their numbers are the order in which they were made.
        let untouched = |c: ComputationId| {
            let name = self.name(c);
            let made_later =
                name.starts_with("fused_") || name.starts_with("wrapped_") || name.contains(".clone");
            trailing_number(name).filter(|_| !made_later)
        };
        let numbers: Option<Vec<_>> =
            self.module.computation_ids().map(|c| untouched(c).map(|n| (n, c))).collect();
        if let Some(mut numbers) = numbers {
            numbers.arrange_unstable();
            return numbers.into_iter().map(|(_, c)| c).collect();
        }
        let pairs = self.pair_keys(base_number);
        let counters = self.creation_counters();
        let mut keyed: Vec<(u8, u64, u8, u64, ComputationId)> = self
            .module
            .computation_ids()
            .map(|c| {
                let name = self.name(c);
                if self.is_fusion_body(c) {
                    let rest = name.strip_prefix("fused_computation");
                    match rest
                        .and_then(|r| if r.is_empty() { Some(0) } else { r.strip_prefix('.')?.parse().ok() })
                    {
                        Some(k) => (2, k, 0, 0, c),
                        None => {
                            let (counter, side) = counters.get(&c).copied().unwrap_or((u64::MAX, 0));
                            (3, counter, side, 0, c)
                        }
                    }
                } else if name.strip_suffix("_computation").is_some_and(|n| trailing_number(n).is_some()) {
                    // Loops that are moved out into a computation of their own, after everything else.
                    (4, last_number(name).unwrap_or(0), 0, 0, c)
                } else if name.contains(".clone") {
                    let clones = name.matches("clone").count() as u64;
                    let (base, part) = pairs.get(&c).copied().unwrap_or((base_number(name).unwrap_or(0), 0));
                    (1, base, part + 1, clones << 32 | trailing_number(name).unwrap_or(0), c)
                } else if self.is_made_by_a_pass(c) {
                    (1, 0, 0, trailing_number(name).unwrap_or(0), c)
                } else {
                    // After partitioning all numbers behind the dot may be 0; `region_1.0` still follows `region_0.0`, and
                    // parts follow what is whole.
                    let part = u8::from(name.ends_with("_spmd"));
                    let number = last_number(name.trim_end_matches("_spmd")).unwrap_or(0);
                    (0, number, part, region_number(name), c)
                }
            })
            .collect();
        keyed.arrange_unstable();
        keyed.into_iter().map(|(.., c)| c).collect()
    }

    /// Comparators and folds that passes make, and names that do not end in a number, are younger than the entry.
    fn is_made_by_a_pass(&self, c: ComputationId) -> bool {
        let name = self.name(c);
        name.starts_with("compare-")
            || name.starts_with("scalar_")
            || (name.contains('.') && !name.ends_with("_spmd") && trailing_number(name).is_none())
    }

    /// When the bodies of `wrapped_*` fusions were made: the counter in the name of their first parameter. A body without
    /// parameters was made between its neighbours: just before the next one of its caller, or just after the last.
    fn creation_counters(&self) -> FxHashMap<ComputationId, (u64, u8)> {
        let mut counters = FxHashMap::default();
        for computation in &self.module.computations {
            let bodies: Vec<(ComputationId, Option<u64>)> = computation
                .instructions
                .iter()
                .filter(|i| self.module.instruction(**i).opcode == Opcode::Fusion)
                .filter_map(|i| self.module.called(*i).first().copied())
                .filter(|c| !self.name(*c).starts_with("fused_computation"))
                .map(|c| (c, self.parameter_suffix(c, "param_0")))
                .collect();
            for (at, (body, counter)) in bodies.iter().enumerate() {
                let next = || bodies[at..].iter().find_map(|(_, k)| *k).map(|k| (k, 0));
                let previous = || bodies[..at].iter().rev().find_map(|(_, k)| *k).map(|k| (k, 2));
                let key = counter.map(|k| (k, 1)).or_else(next).or_else(previous);
                counters.insert(*body, key.unwrap_or((u64::MAX, 0)));
            }
        }
        counters
    }

    fn gpu_storage(&self) -> Vec<ComputationId> {
        let pairs = self.pair_keys(last_number);
        // The partitioner takes over the program's own computations as they are, and those that it needs come after them.
        let is_partitioned = self.module.computation_ids().any(|c| self.name(c).ends_with("_spmd"));
        let mut first: Vec<((u8, u64, u64, u64), ComputationId)> = Vec::new();
        let mut fusions = Vec::new();
        let mut wrapped = Vec::new();
        for c in self.module.computation_ids() {
            let name = self.name(c);
            let is_async = matches!(
                self.called_by[c.index()],
                Some((Opcode::AsyncStart | Opcode::AsyncUpdate | Opcode::AsyncDone, _))
            );
            if is_async {
                wrapped.push(c);
            } else if self.is_fusion_body(c) {
                match self.parameter_suffix(c, "parameter_0") {
                    Some(n) => first.push(((5, n, 0, 0), c)),
                    None => fusions.push(c),
                }
            } else if let Some(n) = add_clone_number(name) {
                let group = if is_partitioned { 3 } else { 1 };
                first.push(((group, 0, n, 0), c));
            } else if name.ends_with("_computation") || name.starts_with("compare-") {
                let clones = name.matches("clone").count() as u64;
                let base = base_number(name).unwrap_or(0);
                first.push(((4, clones, base, trailing_number(name).unwrap_or(0)), c));
            } else if name.contains(".clone") {
                match pairs.get(&c) {
                    Some(&(least, part)) => first.push(((3, least, u64::from(part), 0), c)),
                    None => {
                        let clones = name.matches("clone").count() as u64;
                        let base = base_number(name).unwrap_or(0);
                        first.push(((4, clones, base, trailing_number(name).unwrap_or(0)), c));
                    }
                }
            } else {
                let number = last_number(name.trim_end_matches("_spmd")).unwrap_or(0);
                first.push(((2, number, region_number(name), 0), c));
            }
        }
        first.arrange_unstable();
        let mut storage: Vec<ComputationId> = first.into_iter().map(|(_, c)| c).collect();
        // The other fusions follow their callers, and those stand in the callee-first order of what is known so far.
        let mut rank = vec![usize::MAX; self.module.computations.len()];
        for (i, c) in callee_first(self.module, &storage).into_iter().enumerate() {
            rank[c.index()] = i;
        }
        fusions.arrange_by_key(|c| {
            let caller = self.called_by[c.index()].map(|(_, i)| self.module.instruction(i).computation);
            let is_wrapped = self.name(*c).starts_with("wrapped_");
            (is_wrapped, caller.map_or(usize::MAX, |caller| rank[caller.index()]), *c)
        });
        storage.extend(fusions);
        storage.extend(wrapped);
        storage
    }
}

/// `region_1.0` gives 1; what is no region comes last.
fn region_number(name: &str) -> u64 {
    let number = name.strip_prefix("region_").and_then(|n| n.split('.').next()?.parse().ok());
    number.unwrap_or(u64::MAX)
}

/// `add.clone` and `add.N.clone`, the reducers that GPU collectives are made with: their number.
fn add_clone_number(name: &str) -> Option<u64> {
    let middle = name.strip_prefix("add")?.strip_suffix(".clone")?;
    if middle.is_empty() { Some(0) } else { middle.strip_prefix('.')?.parse().ok() }
}

impl Orders {
    /// XLA's own orders, from what a `.hlo.pb` stores (0, item 1): the order of the file is `PC`, that of the numbers `SC`
    /// and `SI`. On TPU `SC` is `PC`.
    ///
    /// # Errors
    /// If the two are not the same module: the name that the other lacks.
    pub fn exact(module: &Module, target: &Target, stored: &ProtoOrders) -> Result<Self, String> {
        let stored = &stored.computations;
        let by_name: FxHashMap<&str, ComputationId> =
            module.computation_ids().map(|c| (module.computation_name(c), c)).collect();
        let mut callee_first = Vec::with_capacity(stored.len());
        let mut storage = Vec::with_capacity(stored.len());
        let mut instructions = vec![Vec::new(); module.computations.len()];
        for s in stored {
            let Some(&c) = by_name.get(&s.name[..]) else {
                return Err(format!("computation `{}`, which the text does not have", s.name));
            };
            let ours: FxHashMap<&str, InstructionId> =
                module.computation(c).instructions.iter().map(|i| (module.name_of(*i), *i)).collect();
            let mut list = Vec::with_capacity(s.instructions.len());
            for (name, id) in &s.instructions {
                let Some(&i) = ours.get(&name[..]) else {
                    return Err(format!(
                        "instruction `{name}` of `{}`, which the text does not have",
                        s.name
                    ));
                };
                list.push((*id, i));
            }
            if list.len() != ours.len() {
                return Err(format!(
                    "{} instructions of `{}`, where the text has {}",
                    list.len(),
                    s.name,
                    ours.len()
                ));
            }
            list.arrange_unstable();
            instructions[c.index()] = list.into_iter().map(|(_, i)| i).collect();
            callee_first.push(c);
            storage.push((s.id, c));
        }
        if storage.len() != module.computations.len() {
            return Err(format!(
                "{} computations, where the text has {}",
                storage.len(),
                module.computations.len()
            ));
        }
        // libtpu has read its module from such a file itself, so that the file's order is also that of storage there.
        if target.backend != Backend::Tpu {
            storage.arrange_unstable();
        }
        let storage = storage.into_iter().map(|(_, c)| c).collect();
        Ok(Self { storage, instructions, callee_first, exact: true })
    }
}
