//! Values that must share: how a buffer's group comes about, rule by rule, and what a copy changes in it.

use crate::state::State;
use analysis::buffers::{Binding, Tie, bindings};
use analysis::values::Position;
use analysis::{Facts, Orders, Target, ValueId};
use assigner::words::{bytes, list};
use copy_insertion::{Fate, Rule};
use hlo::{InstructionId, Module, Opcode};
use sorts::Arrange as _;
use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

/// A compiled program in which values must share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Program {
    /// Its name in addresses.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What must share in it, and why.
    pub about: &'static str,
    text: &'static str,
    /// A value of the buffer that is shown.
    watched: &'static str,
}

/// Those of the figure; the first is the one to begin with.
pub const PROGRAMS: [Program; 6] = [
    Program {
        id: "loop",
        title: "A loop that fills a cache (CPU)",
        about: "The cache goes round in the loop's state. What goes in, what each turn finds, what it leaves and what comes \
                out must stand in one place, for the loop is one piece of code and knows one address.",
        text: include_str!("../../assets/modules/share_loop.txt"),
        watched: "while.1{1}",
    },
    Program {
        id: "update",
        title: "dynamic-update-slice in a donated array (CPU)",
        about: "A few rows of a matrix are set. The operation writes only those, so all the others must be there already.",
        text: include_str!("../../assets/modules/share_update.txt"),
        watched: "select_dynamic-update-slice_fusion",
    },
    Program {
        id: "scatter",
        title: "scatter into a donated array (CPU)",
        about: "Rows are added to rows of a matrix, at places that only the run knows. The result is written into the \
                operand.",
        text: include_str!("../../assets/modules/share_scatter.txt"),
        watched: "wrapped_scatter",
    },
    Program {
        id: "reduce",
        title: "all-reduce-start (GPU)",
        about: "Four GPUs add up a matrix. The operation that starts it takes its operand's memory for the result.",
        text: include_str!("../../assets/modules/share_all_reduce.txt"),
        watched: "all-reduce-start",
    },
    Program {
        id: "branches",
        title: "A conditional with two branches (CPU)",
        about: "One of two branches runs, and who reads the result cannot know which: both leave it in one place.",
        text: include_str!("../../assets/modules/share_branches.txt"),
        watched: "cond.1.clone{0}",
    },
    Program {
        id: "donation",
        title: "Two donated arguments, swapped (CPU)",
        about: "The caller gives both arguments away, and each output takes the memory of one: input_output_alias in the \
                module's header.",
        text: include_str!("../../assets/modules/donation_swap.txt"),
        watched: "a_0_.1",
    },
];

struct Given {
    module: Module,
    target: Target,
    sites: Vec<Site>,
    /// Positions that are shown whatever the reader does: the group as it comes, and what its copies copy.
    shown: Vec<Position>,
}

/// A place where a copy may be put, or stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// Its name in the state.
    pub key: String,
    /// The copy in words: "copy.10 into tuple.13".
    pub words: String,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// Before an operand of an instruction.
    Operand(InstructionId, u32),
    /// After the program's result.
    Result(InstructionId),
    /// A copy that stands there as the module comes.
    Stands(InstructionId),
}

impl Site {
    /// Does the copy stand there as the module comes?
    pub fn stands(&self) -> bool {
        matches!(self.what, What::Stands(_))
    }
}

fn given(program: usize) -> Option<&'static Given> {
    static ALL: [OnceLock<Option<Given>>; PROGRAMS.len()] = [const { OnceLock::new() }; PROGRAMS.len()];
    ALL.get(program)?
        .get_or_init(|| {
            let module = hlo::read(PROGRAMS[program].text).complete().ok()?;
            let target = Target::detect(&module);
            let facts = Facts::new(&module, Orders::guess(&module, &target), target.clone()).ok()?;
            let watched = facts.values().find(|v| facts.label(&module, v.id) == PROGRAMS[program].watched)?;
            let group = &facts.buffer(watched.buffer).values;
            let mut shown: Vec<Position> = group.iter().map(|v| facts.value(*v).defined_at()).collect();
            let mut sites = Vec::new();
            let fused: BTreeSet<_> = module
                .instruction_ids()
                .filter(|i| module.instruction(*i).opcode == Opcode::Fusion)
                .flat_map(|i| module.called(i).to_vec())
                .collect();
            let at = |instruction| facts.dataflow.unique_at(Position { instruction, sub: 0 });
            let in_group = |i: InstructionId| {
                module.shapes.is_array(module.instruction(i).shape)
                    && at(i).is_some_and(|v| group.contains(&v))
            };
            for c in module.computation_ids().filter(|c| !fused.contains(c)) {
                for &id in &module.computation(c).instructions {
                    let opcode = module.instruction(id).opcode;
                    let name = module.name_of(id);
                    if opcode == Opcode::Copy {
                        let of = module.operands(id)[0];
                        if in_group(id) || in_group(of) {
                            let source = at(of).map(|v| facts.value(v).defined_at());
                            shown.extend(source);
                            shown.extend(at(id).map(|v| facts.value(v).defined_at()));
                            sites.push(Site {
                                key: format!("no-{}", id.0),
                                words: format!("{name}, a copy of {}", module.name_of(of)),
                                what: What::Stands(id),
                            });
                        }
                        continue;
                    }
                    for (n, operand) in module.operands(id).iter().enumerate() {
                        let n = n as u32;
                        let binds = opcode == Opcode::Tuple
                            || facts.in_place.of(id).iter().any(|p| p.operand == n && p.operand_sub == 0);
                        if binds && in_group(*operand) {
                            sites.push(Site {
                                key: format!("at-{}-{n}", id.0),
                                words: format!("between {} and {name}", module.name_of(*operand)),
                                what: What::Operand(id, n),
                            });
                        }
                    }
                    if c == module.entry && module.is_root(id) && in_group(id) {
                        sites.push(Site {
                            key: format!("out-{}", id.0),
                            words: format!("between {name} and the caller"),
                            what: What::Result(id),
                        });
                    }
                }
            }
            shown.arrange_unstable();
            shown.dedup();
            Some(Given { module, target, sites, shown })
        })
        .as_ref()
}

/// Where copies may be put in a program, and those that stand there.
pub fn sites(program: usize) -> &'static [Site] {
    given(program).map_or(&[], |g| &g.sites)
}

/// What the figure shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Setting {
    /// The program, an index into [`PROGRAMS`].
    pub program: usize,
    /// Sites that are not as the module has them: a copy put in, or taken out.
    pub turned: Vec<usize>,
}

impl Setting {
    /// Reads it from a state.
    pub fn of(state: &State) -> Self {
        let program = PROGRAMS.iter().position(|p| state.word("program") == Some(p.id)).unwrap_or(0);
        let turned = sites(program).iter().enumerate().filter(|(_, s)| state.number(&s.key) == Some(1));
        Self { program, turned: turned.map(|(n, _)| n).collect() }
    }

    /// Writes it into a state; what is as at first stands nowhere.
    #[must_use]
    pub fn put(&self, state: &State) -> State {
        let mut next = state.clone();
        next.params.clear();
        if self.program != 0 {
            next.params.insert("program".to_owned(), PROGRAMS[self.program].id.into());
        }
        for s in self.turned.iter().filter_map(|n| sites(self.program).get(*n)) {
            next.params.insert(s.key.clone(), 1.into());
        }
        next
    }

    /// Is there a copy at a site?
    pub fn has_copy(&self, site: usize) -> bool {
        let stands = sites(self.program).get(site).is_some_and(Site::stands);
        stands != self.turned.contains(&site)
    }

    /// The other way round at one site.
    #[must_use]
    pub fn turn(&self, site: usize) -> Self {
        let mut next = self.clone();
        if self.turned.contains(&site) {
            next.turned.retain(|n| *n != site);
        } else {
            next.turned.push(site);
            next.turned.arrange_unstable();
        }
        next
    }
}

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Its number in the figure: the same whatever is put in or taken out.
    pub key: u32,
    /// Its name.
    pub name: String,
    /// Its shape, without layout.
    pub shape: String,
    /// What it is to the program: "parameter of the loop's body".
    pub role: String,
    /// Bytes.
    pub bytes: u64,
    /// Its buffer, by XLA's number.
    pub buffer: u32,
    /// Is it a copy that the reader put in?
    pub is_new: bool,
}

/// Two values that a rule binds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Link {
    /// Indices into [`Answer::nodes`].
    pub ends: (usize, usize),
    /// The rule, in a few words.
    pub rule: &'static str,
    /// Why, in a sentence without a full stop.
    pub words: String,
}

/// What the engine makes of a setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The setting.
    pub setting: Setting,
    /// The values, in the order in which they are written.
    pub nodes: Vec<Node>,
    /// What binds them, in the order in which the rules are asked.
    pub links: Vec<Link>,
    /// The buffer that is watched.
    pub buffer: u32,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes of all allocations.
    pub memory: u64,
    /// What copy insertion would do with this module, in a sentence.
    pub pass: String,
    /// How many copies it would put in, and how many it would take out.
    pub pass_counts: (usize, usize),
}

impl Answer {
    /// The values of the watched buffer.
    pub fn group(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|n| n.buffer == self.buffer)
    }

    /// After the first `step` links: for each value, the first value of its group.
    pub fn groups(&self, step: usize) -> Vec<usize> {
        let mut root: Vec<usize> = (0..self.nodes.len()).collect();
        for link in self.links.iter().take(step) {
            let (a, b) = (root[link.ends.0], root[link.ends.1]);
            for r in &mut root {
                if *r == a.max(b) {
                    *r = a.min(b);
                }
            }
        }
        root
    }

    /// How things stand, in a sentence or two.
    pub fn sentence(&self) -> String {
        let names: Vec<String> = self.group().map(|n| n.name.clone()).collect();
        let others: Vec<String> =
            self.nodes.iter().filter(|n| n.buffer != self.buffer).map(|n| n.name.clone()).collect();
        let apart = match others.len() {
            0 => String::new(),
            1 => format!(" {} has a buffer of its own.", others[0]),
            _ => {
                let buffers: BTreeSet<u32> =
                    self.nodes.iter().map(|n| n.buffer).filter(|b| *b != self.buffer).collect();
                let own = if buffers.len() == 1 { "another one" } else { "others" };
                format!(" {} are in {own}.", list(&others, 6))
            }
        };
        let count = if names.len() == 1 { "1 value".to_owned() } else { format!("{} values", names.len()) };
        format!(
            "One buffer of {} has {count}: {}.{apart} The program takes {} in all.",
            bytes(self.bytes),
            list(&names, 8),
            bytes(self.memory)
        )
    }

    /// After the first `step` links, in words.
    pub fn said(&self, step: usize) -> String {
        let groups = self.groups(step);
        let count = groups.iter().collect::<BTreeSet<_>>().len();
        let groups = if count == 1 { "1 group".to_owned() } else { format!("{count} groups") };
        match step.checked_sub(1).and_then(|n| self.links.get(n)) {
            Some(link) => format!("{step} of {}: {}; {groups}", self.links.len(), link.words),
            None => format!("0 of {}: every value by itself; {groups}", self.links.len()),
        }
    }

    fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|n| n.name == name)
    }

    /// Has the puzzle been solved, and how far is it? What the update writes must leave the loop's buffer.
    pub fn puzzle(&self) -> (bool, String) {
        if PROGRAMS[self.setting.program].id != "loop" {
            return (false, "This is another program.".to_owned());
        }
        let (Some(update), Some(state)) = (self.node(UPDATE), self.node("while.1{1}")) else {
            return (false, String::new());
        };
        let put = self.nodes.iter().filter(|n| n.is_new).count();
        let copies = if put == 1 { "1 copy is".to_owned() } else { format!("{put} copies are") };
        if update.buffer == state.buffer {
            (false, format!("{copies} put in, and {UPDATE} still shares with the loop."))
        } else {
            (true, format!("{copies} put in, and {UPDATE} has left the loop's buffer."))
        }
    }
}

/// What the loop's body writes into its cache.
pub const UPDATE: &str = "select_dynamic-update-slice_fusion";

/// Makes the changes and runs the analysis.
pub fn answer(setting: &Setting) -> Option<Answer> {
    let given = given(setting.program)?;
    let mut module = given.module.clone();
    let first_new = module.instructions.len() as u32;
    let mut shown = given.shown.clone();
    for site in setting.turned.iter().filter_map(|n| given.sites.get(*n)) {
        match site.what {
            // What it copies goes through it as it is.
            What::Stands(id) => module.instructions[id.index()].opcode = Opcode::Bitcast,
            What::Operand(user, n) => {
                let mut operands = module.operands(user).to_vec();
                let copy = copy_of(&mut module, operands[n as usize], user);
                operands[n as usize] = copy;
                module.set_operands(user, &operands);
                shown.push(Position { instruction: copy, sub: 0 });
            }
            What::Result(root) => {
                let copy = copy_of(&mut module, root, root);
                let order = &mut module.computations[given.module.entry.index()].instructions;
                order.retain(|i| *i != copy);
                order.push(copy);
                module.set_root(copy);
                shown.push(Position { instruction: copy, sub: 0 });
            }
        }
    }
    let orders = Orders::guess(&module, &given.target);
    let facts = Facts::new(&module, orders.clone(), given.target.clone()).ok()?;
    let at = |p: &Position| facts.dataflow.unique_at(*p);
    let watched = facts.values().find(|v| facts.label(&module, v.id) == PROGRAMS[setting.program].watched)?;
    // All that is in a buffer with something that is shown is shown too.
    let mut values: BTreeSet<ValueId> = shown.iter().filter_map(at).collect();
    for v in values.clone() {
        values.extend(&facts.buffer(facts.value(v).buffer).values);
    }
    let mut values: Vec<ValueId> = values.into_iter().collect();
    values.arrange_by_key(|v| (facts.clock.time(facts.defining(*v)), *v));
    let row: HashMap<ValueId, usize> = values.iter().enumerate().map(|(n, v)| (*v, n)).collect();
    let nodes = values
        .iter()
        .map(|v| {
            let value = facts.value(*v);
            let defined = value.defined_at();
            Node {
                key: defined.instruction.0 * 64 + defined.sub.min(63),
                name: facts.label(&module, *v),
                shape: module.shapes.short(facts.value_shape(&module, *v)).to_owned(),
                role: role(&module, &facts, defined),
                bytes: facts.value_bytes(*v),
                buffer: value.buffer.0,
                is_new: defined.instruction.0 >= first_new,
            }
        })
        .collect();
    let links = bindings(&module, &facts)
        .into_iter()
        .filter_map(|b| {
            let ends = (*row.get(&b.first)?, *row.get(&b.second)?);
            let (rule, words) = tie_words(&module, &facts, &b);
            Some(Link { ends: (ends.0.min(ends.1), ends.0.max(ends.1)), rule, words })
        })
        .collect();
    let buffer = facts.buffer(watched.buffer);
    let (assignment, _) = assigner::assign(&module, &facts, &facts.ranges, &assigner::Options::default());
    let (pass, pass_counts) = pass(&module, &orders, &given.target);
    Some(Answer {
        setting: setting.clone(),
        nodes,
        links,
        buffer: buffer.id.0,
        bytes: buffer.size,
        memory: assignment.total_bytes(),
        pass,
        pass_counts,
    })
}

/// A new copy, right before an instruction.
fn copy_of(module: &mut Module, of: InstructionId, before: InstructionId) -> InstructionId {
    let home = module.instruction(before).computation;
    let shape = module.instruction(of).shape;
    let base = format!("new-copy-of-{}", module.name_of(of));
    let taken = module.instruction_ids().filter(|i| module.name_of(*i).starts_with(&base)).count();
    let name = if taken == 0 { base } else { format!("{base}.{taken}") };
    let copy = module.add_instruction(home, &name, Opcode::Copy, shape, &[of]);
    let order = &mut module.computations[home.index()].instructions;
    let at = order.iter().position(|i| *i == before).unwrap_or(order.len());
    order.insert(at, copy);
    copy
}

/// What a value is to the program.
fn role(module: &Module, facts: &Facts, at: Position) -> String {
    let instruction = module.instruction(at.instruction);
    if instruction.opcode == Opcode::Parameter {
        let caller = facts.graph.callers(instruction.computation).first();
        return match caller.map(|c| (module.instruction(*c).opcode, module.called(*c).first())) {
            Some((Opcode::While, Some(body))) if *body == instruction.computation => {
                "what each turn of the loop finds".to_owned()
            }
            Some((Opcode::While, _)) => "what the loop's condition reads".to_owned(),
            _ => "a parameter".to_owned(),
        };
    }
    match instruction.opcode {
        Opcode::While => "what comes out of the loop".to_owned(),
        Opcode::Conditional => "what comes out of the conditional".to_owned(),
        Opcode::Copy => {
            format!(
                "a copy of {}",
                module.operands(at.instruction).first().map_or("?", |o| module.name_of(*o))
            )
        }
        _ => format!("written by {}", module.str(instruction.opcode_name)),
    }
}

/// The rule in a few words, and why, with names.
fn tie_words(module: &Module, facts: &Facts, b: &Binding) -> (&'static str, String) {
    let name = |i: InstructionId| module.name_of(i);
    let (first, second) = (facts.label(module, b.first), facts.label(module, b.second));
    // The value that is not the caller's own result.
    let other = |at: InstructionId| {
        if facts.defining(b.first) == at { second.clone() } else { first.clone() }
    };
    match b.tie {
        Tie::Donated { parameter } => (
            "donation",
            format!(
                "{} is an output, and takes the memory of the donated {}",
                other(parameter),
                name(parameter)
            ),
        ),
        Tie::LoopInit { at } => {
            ("into the loop", format!("{} goes into {} as its first state", other(at), name(at)))
        }
        Tie::LoopParameter { at, is_condition: false } => {
            ("each turn", format!("{} is the state as each turn of {} finds it", other(at), name(at)))
        }
        Tie::LoopParameter { at, is_condition: true } => {
            ("condition", format!("{} is the state as the condition of {} reads it", other(at), name(at)))
        }
        Tie::LoopResult { at } => {
            ("round the loop", format!("{} is the state as each turn of {} leaves it", other(at), name(at)))
        }
        Tie::Branch { at, branch } => {
            ("a branch", format!("{} is the result of {} if branch {branch} runs", other(at), name(at)))
        }
        Tie::InPlace { at, .. } => ("in place", format!("{} writes its result into {}", name(at), other(at))),
    }
}

/// What copy insertion would do with a module: put in what it needs, and take out what it does not.
fn pass(module: &Module, orders: &Orders, target: &Target) -> (String, (usize, usize)) {
    let Ok(o) = copy_insertion::insert_copies(module, orders, target, copy_insertion::Options::default())
    else {
        return ("Copy insertion cannot run on this module.".to_owned(), (0, 0));
    };
    let put: Vec<_> = o
        .copies
        .iter()
        .filter(|c| c.fate == Fate::Stayed && c.rule != Rule::Given && c.in_place_of.is_empty())
        .collect();
    let out: Vec<String> =
        copy_insertion::needless(&o).into_iter().map(|i| o.history.name_of(i).to_owned()).collect();
    let copies = |n: usize| if n == 1 { "a copy".to_owned() } else { format!("{n} copies") };
    let counts = (put.len(), out.len());
    let words = match (put.first(), out.is_empty()) {
        (None, true) => "Copy insertion would change nothing here.".to_owned(),
        (None, false) => {
            format!("Copy insertion would take {} out: nothing needs it.", list(&out, 4))
        }
        (Some(c), _) => {
            let why = copy_insertion::words::rule(&o.history, &c.rule);
            let also =
                if out.is_empty() { String::new() } else { format!(" It would take {} out.", list(&out, 4)) };
            format!("Copy insertion would put {} in: {why}.{also}", copies(put.len()))
        }
    };
    (words, counts)
}

/// The setting of the prediction: a copy of what the update writes, on its way out of the loop's body.
pub fn predicted() -> Option<Answer> {
    let n = sites(0).iter().position(|s| s.words.starts_with(&format!("between {UPDATE} and")))?;
    answer(&Setting::default().turn(n))
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::state::Source;
    use proptest::prelude::*;

    fn of(id: &str) -> Setting {
        let program = PROGRAMS.iter().position(|p| p.id == id).expect("a program");
        Setting { program, turned: Vec::new() }
    }

    /// The names of the watched buffer, and the rules in the order in which they are asked.
    fn told(setting: &Setting) -> String {
        let a = answer(setting).expect("it can be read");
        let names: Vec<&str> = a.group().map(|n| n.name.as_str()).collect();
        let rules: Vec<&str> = a.links.iter().map(|l| l.rule).collect();
        format!("{} | {}", names.join(" "), rules.join(", "))
    }

    #[test]
    fn each_program_has_its_buffer_and_its_rules() {
        let all: Vec<String> = PROGRAMS.iter().map(|p| format!("{}: {}", p.id, told(&of(p.id)))).collect();
        let expected = [
            "loop: copy.10 arg_tuple.5{1} arg_tuple.6{1} select_dynamic-update-slice_fusion while.1{1} \
             | in place, round the loop, into the loop, condition, each turn",
            "update: a_0_.1 select_dynamic-update-slice_fusion | in place, donation",
            "scatter: x.1 wrapped_scatter | in place, donation",
            "reduce: gemm_fusion_dot_general.3 all-reduce-start | in place",
            "branches: ynn_fusion broadcast_multiply_fusion cond.1.clone{0} | a branch, a branch",
            "donation: a_0_.1 copy.2 | donation",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn copy_insertion_would_leave_each_program_as_it_comes() {
        for p in PROGRAMS {
            let a = answer(&of(p.id)).expect("it can be read");
            assert_eq!(a.pass_counts, (0, 0), "{}: {}", p.id, a.pass);
        }
    }

    #[test]
    fn the_links_make_the_buffers() {
        for (program, p) in PROGRAMS.iter().enumerate() {
            for bits in 0..1u32 << sites(program).len().min(5) {
                let turned = (0..sites(program).len()).filter(|n| bits >> n & 1 != 0).collect();
                let a = answer(&Setting { program, turned }).expect("it can be read");
                let groups = a.groups(a.links.len());
                for (i, x) in a.nodes.iter().enumerate() {
                    for (j, y) in a.nodes.iter().enumerate() {
                        let (by_links, by_buffers) = (groups[i] == groups[j], x.buffer == y.buffer);
                        assert_eq!(by_links, by_buffers, "{}: {} and {}", p.id, x.name, y.name);
                    }
                }
            }
        }
    }

    #[test]
    fn one_copy_does_not_free_the_update_and_two_do() {
        let around: Vec<usize> =
            sites(0).iter().enumerate().filter(|(_, s)| s.words.contains(UPDATE)).map(|(n, _)| n).collect();
        assert_eq!(around.len(), 2);
        let one = answer(&of("loop").turn(around[0])).expect("it can be read");
        assert_eq!(
            one.puzzle(),
            (false, format!("1 copy is put in, and {UPDATE} still shares with the loop."))
        );
        let two = answer(&of("loop").turn(around[0]).turn(around[1])).expect("it can be read");
        assert_eq!(
            two.puzzle(),
            (true, format!("2 copies are put in, and {UPDATE} has left the loop's buffer."))
        );
        assert_eq!(of("loop").turn(around[0]).turn(around[0]), of("loop"));
        assert_eq!(two.pass_counts, (0, 2), "{}", two.pass);
    }

    #[test]
    fn without_its_copy_the_argument_joins_the_loop_and_copy_insertion_says_why_not() {
        let n = sites(0).iter().position(Site::stands).expect("a copy");
        let a = answer(&of("loop").turn(n)).expect("it can be read");
        assert!(a.group().any(|n| n.name == "cache.1") && !a.group().any(|n| n.name == "copy.10"));
        assert_eq!(a.pass_counts, (1, 0));
        assert!(a.pass.contains("nobody may write over cache.1"), "{}", a.pass);
        assert!(a.memory < answer(&of("loop")).expect("it can be read").memory);
    }

    proptest! {
        #[test]
        fn a_setting_round_trips_through_an_address(program in 0..PROGRAMS.len(), bits in any::<u16>()) {
            let turned = (0..sites(program).len()).filter(|n| bits >> n & 1 != 0).collect();
            let s = Setting { program, turned };
            let state = s.put(&State::new(Source::Shipped("attention_grad".to_owned())));
            let back = State::decode(&state.encode()).expect("an address");
            prop_assert_eq!(Setting::of(&back), s);
        }
    }
}
