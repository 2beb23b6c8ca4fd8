//! Copy insertion, phase by phase, on small compiled programs: what it added, what it took away again, and why a copy
//! stays. What the reader can change is what the pass itself says would help.

use crate::state::State;
use analysis::{Facts, Orders, Target};
use assigner::words::{bytes, list};
use copy_insertion::{
    Change, Clash, CopyStory, Fate, Options, Outcome, Refusal, RegionAnalysis, Stage, Until, changed,
    guess_orders, insert_copies, suggest, words,
};
use hlo::{ComputationId, InstructionId, Module, Opcode};
use sorts::Arrange as _;
use std::collections::HashMap;
use std::sync::OnceLock;

/// A program as it is before copy insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// Its name in addresses.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it does, and what users ask about it.
    pub about: &'static str,
    text: &'static str,
}

/// Those of the figure; the first is the one to begin with.
pub const CASES: [Case; 5] = [
    Case {
        id: "update",
        title: "Read, then update",
        about: "Reads one number of a donated matrix, then adds 1 to it in place. In the program's source the read comes \
                first, but nothing makes it come first when the program runs.",
        text: include_str!("../../assets/modules/copies_read_then_update.txt"),
    },
    Case {
        id: "pop",
        title: "Take the first of a queue",
        about: "Gives back the first number of a donated queue and moves the others down by one, onto places that overlap \
                with where they were.",
        text: include_str!("../../assets/modules/copies_overlapping_pop.txt"),
    },
    Case {
        id: "idle",
        title: "A branch that does nothing",
        about: "Sets one number of a donated array if a flag says so; else the array goes through as it is. Here the idle \
                branch is the second one.",
        text: include_str!("../../assets/modules/copies_idle_branch.txt"),
    },
    Case {
        id: "swap",
        title: "A swap in a loop",
        about: "Two donated arrays change places in every turn, and one of them gets 1 added on the way.",
        text: include_str!("../../assets/modules/copies_loop_swap.txt"),
    },
    Case {
        id: "late",
        title: "Donated, but read late",
        about: "The hyperbolic tangent of a donated array may be written over it. But the array is also given back in \
                reverse.",
        text: include_str!("../../assets/modules/copies_donated_late.txt"),
    },
];

/// The phases, with the module as it came before them.
pub const STAGES: [&str; 5] = ["before", "added", "removed", "special", "after"];

/// What each phase has done, for a heading.
pub const STAGE_WORDS: [&str; 5] = [
    "Before: the module as it comes",
    "Added: a copy wherever values might get in each other's way",
    "Removed: a copy whose operand and result may share has no readers any more",
    "Special: copies for constants, parameters and results that no order could make up for",
    "After: what nobody reads is gone",
];

/// Something that the reader may change, because the pass says that a copy would go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Switch {
    /// Its name in the state.
    pub key: String,
    /// The change.
    pub change: Change,
    /// What is so without the change, or what is so with it: see [`Switch::is_read`].
    pub words: String,
    /// Is it a read that is there unless the change is made?
    pub is_read: bool,
}

struct Given {
    module: Module,
    orders: Orders,
    target: Target,
    switches: Vec<Switch>,
}

fn given(case: usize) -> Option<&'static Given> {
    static ALL: [OnceLock<Option<Given>>; CASES.len()] = [const { OnceLock::new() }; CASES.len()];
    ALL.get(case)?
        .get_or_init(|| {
            let module = hlo::read(CASES[case].text).complete().ok()?;
            let target = Target::detect(&module);
            let orders = guess_orders(&module, &target);
            let options = Options::default();
            let outcome = insert_copies(&module, &orders, &target, options).ok()?;
            let mut changes: Vec<Change> = suggest(&module, &orders, &target, options, &outcome)
                .into_iter()
                .flatten()
                .flat_map(|s| s.changes)
                .filter(|c| *c != Change::AnalyseRegions)
                .collect();
            // Reads first, each beside its order.
            changes.arrange_by_key(|c| (matches!(c, Change::ReadFirst { .. }), c.clone()));
            changes.dedup();
            let switches = changes
                .into_iter()
                .map(|change| {
                    let is_read = matches!(change, Change::DropRead { .. });
                    Switch { key: key(&change), words: switch_words(&module, &change), is_read, change }
                })
                .collect();
            Some(Given { module, orders, target, switches })
        })
        .as_ref()
}

fn key(change: &Change) -> String {
    let index = |i: &hlo::ShapeIndex| i.0.iter().fold(String::new(), |all, n| format!("{all}-{n}"));
    match change {
        Change::ReadFirst { reader, writer } => format!("first-{}-{}", reader.0, writer.0),
        Change::DropRead { reader, operand } => format!("drop-{}-{operand}", reader.0),
        Change::Donate { parameter, index: at, output } => {
            format!("donate-{parameter}{}-to{}", index(at), index(output))
        }
        Change::DropOutput { output } => format!("out{}", index(output)),
        Change::SwapBranches { at } => format!("swap-{}", at.0),
        Change::AnalyseRegions => "regions".to_owned(),
    }
}

fn switch_words(module: &Module, change: &Change) -> String {
    match change {
        Change::DropRead { reader, operand } => match module.operands(*reader).get(*operand as usize) {
            Some(read) => {
                format!("{} reads {}, the old value", module.name_of(*reader), module.name_of(*read))
            }
            None => words::change(module, change),
        },
        Change::ReadFirst { reader, writer } => {
            format!("{} must run before {}", module.name_of(*reader), module.name_of(*writer))
        }
        _ => {
            let words = words::change(module, change);
            words[..1].to_uppercase() + &words[1..]
        }
    }
}

/// What there is to change in a program.
pub fn switches(case: usize) -> &'static [Switch] {
    given(case).map_or(&[], |g| &g.switches)
}

/// What the figure shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Setting {
    /// The program, an index into [`CASES`].
    pub case: usize,
    /// Changes that are made: indices into [`switches`].
    pub on: Vec<usize>,
    /// Is region analysis on?
    pub regions: bool,
}

impl Setting {
    /// Reads it from a state.
    pub fn of(state: &State) -> Self {
        let case = CASES.iter().position(|c| state.word("case") == Some(c.id)).unwrap_or(0);
        let on = switches(case).iter().enumerate().filter(|(_, s)| state.number(&s.key) == Some(1));
        Self { case, on: on.map(|(n, _)| n).collect(), regions: state.number("regions") == Some(1) }
    }

    /// Writes it into a state; what is as at first stands nowhere.
    #[must_use]
    pub fn put(&self, state: &State) -> State {
        let mut next = state.clone();
        next.params.clear();
        if self.case != 0 {
            next.params.insert("case".to_owned(), CASES[self.case].id.into());
        }
        for s in self.on.iter().filter_map(|n| switches(self.case).get(*n)) {
            next.params.insert(s.key.clone(), 1.into());
        }
        if self.regions {
            next.params.insert("regions".to_owned(), 1.into());
        }
        next
    }

    /// With one change made, or not made.
    #[must_use]
    pub fn with(&self, switch: usize, made: bool) -> Self {
        let mut next = self.clone();
        next.on.retain(|n| *n != switch);
        if made {
            next.on.push(switch);
            next.on.arrange_unstable();
        }
        next
    }

    /// With all changes of a suggestion made that can be made here.
    #[must_use]
    pub fn with_all(&self, changes: &[Change]) -> Self {
        let mut next = self.clone();
        for change in changes {
            if *change == Change::AnalyseRegions {
                next.regions = true;
            } else if let Some(n) = switches(self.case).iter().position(|s| s.change == *change) {
                next = next.with(n, true);
            }
        }
        next
    }
}

/// What an instruction is in a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// It is not there.
    Absent,
    /// It stands there.
    Stands,
    /// It stands there, but nobody reads it any more.
    Idle,
}

/// An instruction, with all that it is from phase to phase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// How many calls deep.
    pub depth: u32,
    /// Its name.
    pub name: String,
    /// What it does in each phase, `copy(x.1)`; empty where it does not stand.
    pub text: [String; 5],
    /// What it is in each phase.
    pub presence: [Presence; 5],
    /// The copy that it is, an index into [`Answer::copies`].
    pub copy: Option<usize>,
}

/// Two values that would get in each other's way, by the rows in which they are wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The value that would be written over.
    pub wanted: String,
    /// From its writing to the last of its late readers.
    pub wanted_rows: (usize, usize),
    /// The value that would be written there.
    pub written: String,
    /// From its writing to its last reader.
    pub written_rows: (usize, usize),
    /// Who reads the first value too late; the last of them last.
    pub readers: Vec<String>,
}

/// What would let a copy go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Advice {
    /// All of them are needed.
    pub changes: Vec<Change>,
    /// The same, and what it is worth, in words.
    pub words: String,
    /// Can the reader make all of them here?
    pub is_here: bool,
}

/// A copy and its story.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copy {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub computation: String,
    /// Its shape, without layout.
    pub shape: String,
    /// Bytes that it writes each time.
    pub bytes: u64,
    /// What it copied when it was made.
    pub of: String,
    /// The value that it saves.
    pub saves: String,
    /// Why it was made, without a full stop.
    pub rule: String,
    /// That rule's name.
    pub rule_name: &'static str,
    /// How often the pass tried to remove it.
    pub attempts: usize,
    /// What became of it.
    pub fate: Fate,
    /// Why it stays, without a full stop; empty if it does not.
    pub refusal: String,
    /// The two values that would get in each other's way, if that is why.
    pub pair: Option<Pair>,
    /// What would let it go.
    pub advice: Vec<Advice>,
}

/// What the pass makes of a setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The setting.
    pub setting: Setting,
    /// The instructions, from the first to the last; what is called runs before its caller.
    pub rows: Vec<Row>,
    /// All copies that the pass ever had, in the order in which they were made.
    pub copies: Vec<Copy>,
    /// Bytes of all allocations that the finished module needs, in the order of the rows; nothing where a reader was given
    /// something else to read, which takes memory of its own.
    pub memory: Option<u64>,
}

impl Answer {
    /// The copies that stay.
    pub fn stayed(&self) -> impl Iterator<Item = &Copy> {
        self.copies.iter().filter(|c| c.fate == Fate::Stayed)
    }

    /// Bytes that those write.
    pub fn written(&self) -> u64 {
        self.stayed().map(|c| c.bytes).sum()
    }

    /// The copy to begin with: the largest that stays because two values clash, or else that stays at all.
    pub fn suggested(&self) -> Option<usize> {
        let best = |f: &dyn Fn(&Copy) -> bool| {
            let found = self.copies.iter().enumerate().filter(|(_, c)| f(c));
            found.max_by_key(|(n, c)| (c.bytes, std::cmp::Reverse(*n))).map(|(n, _)| n)
        };
        best(&|c| c.pair.is_some())
            .or_else(|| best(&|c| c.fate == Fate::Stayed))
            .or(if self.copies.is_empty() { None } else { Some(0) })
    }

    /// What a phase leaves, in a sentence.
    pub fn sentence(&self, stage: usize) -> String {
        let standing = |what: Presence| {
            self.rows.iter().filter(|r| r.copy.is_some() && r.presence[stage] == what).count()
        };
        let (live, idle) = (standing(Presence::Stands), standing(Presence::Idle));
        let copies = |n: usize| match n {
            0 => "no copy".to_owned(),
            1 => "1 copy".to_owned(),
            _ => format!("{n} copies"),
        };
        let memory =
            self.memory.map_or_else(String::new, |m| format!(" The program takes {} in all.", bytes(m)));
        match stage {
            0 => format!("{} in the module as it comes.", capital(&copies(live))),
            1 => format!("{} stand where values might get in each other's way.", capital(&copies(live))),
            2 => format!("{} left that somebody reads; {idle} without readers.", capital(&copies(live))),
            3 => {
                let is_new =
                    |r: &&Row| r.presence[2] == Presence::Absent && r.presence[3] != Presence::Absent;
                let added = self.rows.iter().filter(|r| r.copy.is_some()).filter(is_new).count();
                let special = match added {
                    0 => "there is no special case here".to_owned(),
                    1 => "1 of them from a special case".to_owned(),
                    n => format!("{n} of them from special cases"),
                };
                format!("{} left that somebody reads; {special}.", capital(&copies(live)))
            }
            _ if live == 0 => format!("No copy stays.{memory}"),
            _ => {
                let kernels = if live == 1 { "one more kernel" } else { "as many more kernels" };
                let stay = if live == 1 { "stays: it writes" } else { "stay: they write" };
                format!("{} {stay} {}, in {kernels}.{memory}", capital(&copies(live)), bytes(self.written()))
            }
        }
    }

    /// Has the puzzle been solved, and how far is it? The queue must do without a copy by one change, region analysis off,
    /// and all that was read must still be read.
    pub fn puzzle(&self) -> (bool, String) {
        let s = &self.setting;
        let left = self.stayed().count();
        let made: Vec<&Switch> = s.on.iter().filter_map(|n| switches(s.case).get(*n)).collect();
        let drops = made.iter().any(|m| !matches!(m.change, Change::ReadFirst { .. }));
        let copies = if left == 1 { "1 copy stays".to_owned() } else { format!("{left} copies stay") };
        if CASES[s.case].id != "pop" {
            return (false, "This is another program.".to_owned());
        }
        if s.regions {
            return (false, format!("{copies}, but region analysis is on."));
        }
        if drops {
            return (false, format!("{copies}, but a read is gone."));
        }
        if made.len() > 1 {
            return (false, format!("{copies}, but {} things are changed.", made.len()));
        }
        (left == 0, format!("{copies}, and every value is still read."))
    }
}

fn capital(text: &str) -> String {
    text.split_at_checked(1).map_or_else(String::new, |(first, rest)| first.to_uppercase() + rest)
}

/// Runs the pass in all its phases.
pub fn answer(setting: &Setting) -> Option<Answer> {
    let given = given(setting.case)?;
    let analysis = if setting.regions { RegionAnalysis::Always } else { RegionAnalysis::Never };
    let options = Options { region_analysis: analysis, ..Options::default() };
    let changes: Vec<Change> =
        setting.on.iter().filter_map(|n| Some(given.switches.get(*n)?.change.clone())).collect();
    let (module, orders, _) = changed(&given.module, &given.orders, options, &changes)?;
    let run =
        |stop_after| insert_copies(&module, &orders, &given.target, Options { stop_after, ..options }).ok();
    let phases = [run(Stage::Added)?, run(Stage::Removed)?, run(Stage::Special)?, run(Stage::After)?];
    let done = &phases[3];
    let rows = rows(&module, &phases);
    let at: HashMap<&str, usize> = rows.iter().enumerate().map(|(n, r)| (r.name.as_str(), n)).collect();
    let advice = suggest(&module, &orders, &given.target, options, done);
    let copies = done
        .copies
        .iter()
        .zip(advice)
        .map(|(story, advice)| {
            let advice = advice
                .into_iter()
                .map(|s| Advice {
                    is_here: s.changes.iter().all(|c| {
                        *c == Change::AnalyseRegions || given.switches.iter().any(|w| w.change == *c)
                    }),
                    words: advice_words(&module, &s),
                    changes: s.changes,
                })
                .collect();
            told(done, story, &at, &phases[0].module, advice)
        })
        .collect();
    let facts = Facts::new(&done.module, done.orders.clone(), given.target.clone()).ok()?;
    let (assignment, _) =
        assigner::assign(&done.module, &facts, &facts.ranges, &assigner::Options::default());
    let is_whole = changes.iter().all(|c| !matches!(c, Change::DropRead { .. } | Change::DropOutput { .. }));
    let memory = is_whole.then(|| assignment.total_bytes());
    Some(Answer { setting: setting.clone(), rows, copies, memory })
}

fn advice_words(module: &Module, s: &copy_insertion::Suggestion) -> String {
    let changes: Vec<String> = s.changes.iter().map(|c| words::change(module, c)).collect();
    format!(
        "{}: {} instead of {}, and {} less",
        changes.join(", and "),
        if s.copies[1] == 1 { "1 copy".to_owned() } else { format!("{} copies", s.copies[1]) },
        s.copies[0],
        bytes(s.bytes[0].saturating_sub(s.bytes[1]))
    )
}

fn told(
    done: &Outcome,
    story: &CopyStory,
    at: &HashMap<&str, usize>,
    added: &Module,
    advice: Vec<Advice>,
) -> Copy {
    let history = &done.history;
    let copy = history.instruction(story.copy);
    let refusal = match (&story.refusal, story.fate) {
        (Some(r), Fate::Stayed) => words::refusal(history, r),
        (None, Fate::Stayed) => "copies of the special cases are final".to_owned(),
        _ => String::new(),
    };
    let pair = match &story.refusal {
        Some(Refusal::Clash(clash)) if story.fate == Fate::Stayed => pair(history, clash, at, added),
        _ => None,
    };
    Copy {
        name: history.name_of(story.copy).to_owned(),
        computation: history.computation_name(copy.computation).to_owned(),
        shape: history.shapes.short(copy.shape).to_owned(),
        bytes: story.bytes,
        of: story.of.label(history),
        saves: story.protects.as_ref().unwrap_or(&story.of).label(history),
        rule: words::rule(history, &story.rule),
        rule_name: story.rule.name(),
        attempts: story.attempts.len(),
        fate: story.fate,
        refusal,
        pair,
        advice,
    }
}

/// The rows of two values that clash.
fn pair(history: &Module, clash: &Clash, at: &HashMap<&str, usize>, added: &Module) -> Option<Pair> {
    let row = |i: InstructionId| at.get(history.name_of(i)).copied();
    let (wanted, written) = (row(clash.wanted.instruction)?, row(clash.written.instruction)?);
    let mut readers: Vec<(usize, String)> = match &clash.until {
        Until::Reads(reads) => {
            reads.iter().filter_map(|r| Some((row(r.user)?, history.name_of(r.user).to_owned()))).collect()
        }
        Until::Unread | Until::Result => Vec::new(),
    };
    readers.arrange();
    readers.dedup();
    let until = match (&clash.until, readers.last()) {
        (_, Some((last, _))) => *last,
        // To the end of the computation in which the other one is written.
        (Until::Result, None) => {
            let home = history.instruction(clash.written.instruction).computation;
            let of_home = at.values().filter(|n| **n >= written && is_in(history, at, **n, home));
            of_home.max().copied().unwrap_or(written)
        }
        _ => wanted,
    };
    // Who reads the other value, when all copies stand.
    let name = history.name_of(clash.written.instruction);
    let last = added
        .instruction_ids()
        .filter(|i| added.operands(*i).iter().any(|o| added.name_of(*o) == name))
        .filter_map(|i| at.get(added.name_of(i)).copied())
        .max();
    Some(Pair {
        wanted: clash.wanted.label(history),
        wanted_rows: (wanted.min(until), until.max(wanted)),
        written: clash.written.label(history),
        written_rows: (written, last.unwrap_or(written).max(written)),
        readers: readers.into_iter().map(|(_, name)| name).collect(),
    })
}

fn is_in(history: &Module, at: &HashMap<&str, usize>, row: usize, home: ComputationId) -> bool {
    history
        .instruction_ids()
        .any(|i| history.instruction(i).computation == home && at.get(history.name_of(i)) == Some(&row))
}

/// An instruction in one phase.
struct Seen {
    depth: u32,
    name: String,
    text: String,
}

/// The instructions of a module, callees before their callers; conditions of loops and whatever runs per element are left
/// out.
fn flattened(module: &Module) -> Vec<Seen> {
    let mut rows = Vec::new();
    emit(module, module.entry, 0, &mut rows);
    rows
}

fn emit(module: &Module, c: ComputationId, depth: u32, out: &mut Vec<Seen>) {
    // Programs of the figure are a few calls deep; a reader's own never come here.
    for &id in &module.computation(c).instructions {
        let called: &[ComputationId] = match module.instruction(id).opcode {
            Opcode::While => module.called(id).get(..1).unwrap_or(&[]),
            Opcode::Conditional | Opcode::Call => module.called(id),
            _ => &[],
        };
        for callee in called {
            emit(module, *callee, depth + 1, out);
        }
        let operands: Vec<String> =
            module.operands(id).iter().map(|o| module.name_of(*o).to_owned()).collect();
        let opcode = module.str(module.instruction(id).opcode_name);
        let what = if operands.is_empty() {
            format!("{opcode}({})", module.str(module.instruction(id).payload))
        } else {
            format!("{opcode}({})", operands.join(", "))
        };
        out.push(Seen { depth, name: module.name_of(id).to_owned(), text: what });
    }
}

/// All instructions of all phases in one order: that of the phase with most copies, and the others where they stand.
fn rows(before: &Module, phases: &[Outcome; 4]) -> Vec<Row> {
    let seen: Vec<Vec<Seen>> =
        std::iter::once(before).chain(phases.iter().map(|p| &p.module)).map(flattened).collect();
    let mut order: Vec<(u32, String)> = seen[1].iter().map(|s| (s.depth, s.name.clone())).collect();
    for stage in [0, 2, 3, 4] {
        let mut at = 0;
        for s in &seen[stage] {
            match order.iter().position(|(_, name)| *name == s.name) {
                Some(found) => at = found + 1,
                None => {
                    order.insert(at, (s.depth, s.name.clone()));
                    at += 1;
                }
            }
        }
    }
    let done = &phases[3];
    let copy_of: HashMap<&str, usize> =
        done.copies.iter().enumerate().map(|(n, c)| (done.history.name_of(c.copy), n)).collect();
    order
        .into_iter()
        .map(|(depth, name)| {
            let text: [String; 5] = std::array::from_fn(|stage| {
                let found = seen[stage].iter().find(|s| s.name == name);
                found.map(|s| s.text.clone()).unwrap_or_default()
            });
            let copy = copy_of.get(name.as_str()).copied();
            let presence = std::array::from_fn(|stage: usize| {
                let idle = stage > 1
                    && copy.is_some_and(|n| {
                        phases[stage - 1].copies.get(n).is_some_and(|c| c.fate == Fate::Removed)
                    });
                match (text[stage].is_empty(), idle) {
                    (true, _) => Presence::Absent,
                    (false, true) => Presence::Idle,
                    (false, false) => Presence::Stands,
                }
            });
            Row { depth, name, text, presence, copy }
        })
        .collect()
}

/// The rule that makes a copy, in a word or two for a list.
pub fn rule_title(rule: &str) -> &'static str {
    match rule {
        "loop-init" => "what a loop starts from",
        "loop-parameter" => "a loop's state, as the body finds it",
        "loop-result" => "a loop's state, as the body leaves it",
        "branch-result" => "a branch's result",
        "in-place-operand" => "an operand that is written over",
        "donated-parameter" => "a donated parameter",
        "donated-output" => "an output in donated memory",
        "read-only" => "a value that nobody may write over",
        "given" => "stood there already",
        _ => "a special case",
    }
}

/// What became of a copy, in a word or two.
pub fn fate_words(fate: Fate) -> &'static str {
    match fate {
        Fate::Stayed => "it stays",
        Fate::Removed => "removed",
        Fate::Dead => "nobody read it",
    }
}

/// How many of the copies of "Read, then update" stay when the read is made to come first, and why: for the prediction.
pub fn read_first() -> Option<(Answer, Answer)> {
    let first = Setting::default();
    let n = switches(0).iter().position(|s| matches!(s.change, Change::ReadFirst { .. }))?;
    Some((answer(&first)?, answer(&first.with(n, true))?))
}

/// Names in a row: "a, b and c".
pub fn names(all: &[String]) -> String {
    list(all, 6)
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::state::Source;
    use proptest::prelude::*;

    fn of(id: &str) -> Setting {
        Setting { case: CASES.iter().position(|c| c.id == id).expect("a case"), ..Setting::default() }
    }

    /// The copies that stay, each with its rule and what it protects.
    fn stays(setting: &Setting) -> Vec<String> {
        let a = answer(setting).expect("it runs");
        a.stayed().map(|c| format!("{} {} {}", c.name, c.rule_name, c.saves)).collect()
    }

    #[test]
    fn what_stays_in_each_program() {
        let all: Vec<String> =
            CASES.iter().map(|c| format!("{}: {}", c.id, stays(&of(c.id)).join(", "))).collect();
        let expected = [
            "update: copy in-place-operand copy.1, copy.1 donated-parameter x.1",
            "pop: copy in-place-operand copy.1, copy.1 donated-parameter q.1",
            "idle: copy in-place-operand x.5, copy.2 branch-result x.5, copy.4 donated-output cond.1.clone{0}",
            "swap: copy.4 loop-parameter arg_tuple.1{1}, copy.5 loop-parameter arg_tuple.1{2}, \
             copy.7 loop-result copy.5, copy.8 loop-result broadcast_add_fusion, copy.13 read-only constant.7",
            "late: copy donated-parameter x.1",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn region_analysis_settles_the_first_program_and_not_the_swap() {
        let with = |id| stays(&Setting { regions: true, ..of(id) }).len();
        assert_eq!(CASES.map(|c| with(c.id)), [0, 0, 1, 3, 0]);
    }

    #[test]
    fn every_advice_that_can_be_tried_here_lets_its_copy_go() {
        for c in CASES {
            let before = answer(&of(c.id)).expect("it runs");
            for copy in before.stayed() {
                for advice in copy.advice.iter().filter(|a| a.is_here) {
                    let after = answer(&of(c.id).with_all(&advice.changes)).expect("it runs");
                    assert!(after.written() < before.written(), "{}: {}", c.id, advice.words);
                    let is_it = |a: &&Copy| {
                        (a.rule_name, &a.of, &a.computation) == (copy.rule_name, &copy.of, &copy.computation)
                    };
                    assert!(!after.stayed().any(|a| is_it(&a)), "{}: {}", c.id, advice.words);
                }
            }
        }
    }

    #[test]
    fn a_copy_goes_with_its_late_reader_and_comes_back() {
        for (n, switch) in switches(0).iter().enumerate() {
            let changed = of("update").with(n, true);
            assert_eq!(answer(&changed).expect("it runs").stayed().count(), 0, "{}", switch.words);
            assert_eq!(stays(&changed.with(n, false)), stays(&of("update")));
        }
        let a = answer(&of("update")).expect("it runs");
        let pair = a.copies[a.suggested().expect("one")].pair.as_ref().expect("two values clash");
        assert_eq!(pair.readers, ["slice_bitcast_fusion"]);
        assert!(pair.wanted_rows.1 > pair.written_rows.0);
    }

    #[test]
    fn the_puzzle_has_one_answer() {
        let solved = |s: &Setting| answer(s).expect("it runs").puzzle().0;
        let pop = of("pop");
        let ways: Vec<&str> = (0..switches(pop.case).len())
            .filter(|n| solved(&pop.with(*n, true)))
            .map(|n| switches(pop.case)[n].words.as_str())
            .collect();
        assert_eq!(ways, ["slice_bitcast_fusion must run before dynamic_update_slice.1"]);
        assert!(
            !solved(&pop) && !solved(&Setting { regions: true, ..pop.clone() }) && !solved(&of("update"))
        );
    }

    #[test]
    fn phases_count_what_stands() {
        let a = answer(&of("swap")).expect("it runs");
        let said: Vec<String> = (0..5).map(|stage| a.sentence(stage)).collect();
        let expected = [
            "No copy in the module as it comes.",
            "13 copies stand where values might get in each other's way.",
            "4 copies left that somebody reads; 9 without readers.",
            "5 copies left that somebody reads; 1 of them from a special case.",
        ];
        assert_eq!(said[..4], expected);
        assert!(
            said[4].starts_with("5 copies stay: they write 65,540 B, in as many more kernels."),
            "{}",
            said[4]
        );
    }

    proptest! {
        #[test]
        fn a_setting_round_trips_through_an_address(case in 0..CASES.len(), bits in any::<u16>(), regions in any::<bool>()) {
            let on = (0..switches(case).len()).filter(|n| bits >> n & 1 != 0).collect();
            let s = Setting { case, on, regions };
            let state = s.put(&State::new(Source::Shipped("attention_grad".to_owned())));
            let back = State::decode(&state.encode()).expect("an address");
            prop_assert_eq!(Setting::of(&back), s);
        }
    }
}
