//! An unrolled loop, planned: what stays in fast memory, what is copied ahead and by how much, and what that gains.

use crate::memory::micros;
use crate::state::State;
use assigner::words::{bytes, list};
use memory_space::cost::Machine;
use memory_space::loop_hints::{LoopOptions, PlannedLoop, add_loop_hints};
use memory_space::loops::{LoopCopy, LoopPlan};
use memory_space::program::{Program, Slicing, problem};
use memory_space::{Options, Time};
use sorts::Arrange as _;
use std::fmt::Write as _;
use std::sync::OnceLock;

/// Layers of the program.
const LAYERS: usize = 10;

/// The program: ten layers, unrolled, each with two weights of its own. Of our own making; the programs of libtpu that we have
/// read the same weights in each iteration, which leaves nothing to copy ahead.
pub fn text() -> String {
    let array = "f32[512,512]{1,0}";
    let mut text =
        format!("HloModule layers, is_scheduled=true\n\nENTRY main {{\n  h0 = {array} parameter(0)\n");
    for i in 0..LAYERS {
        let (w, v) = (2 * i + 1, 2 * i + 2);
        _ = writeln!(text, "  w{} = {array} parameter({w})\n  v{} = {array} parameter({v})", i + 1, i + 1);
    }
    let dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    for i in 1..=LAYERS {
        let root = if i == LAYERS { "ROOT " } else { "" };
        _ = writeln!(
            text,
            "  a{i} = {array} dot(h{}, w{i}), {dims}\n  t{i} = {array} tanh(a{i})\n  d{i} = {array} dot(t{i}, v{i}), {dims}\n  {root}h{i} = {array} add(d{i}, t{i})",
            i - 1
        );
    }
    text + "}\n"
}

/// What the sliders give: hundredths of a v5e's copy engine, of 2 MiB of fast memory, and of the copy's own time that must be hidden.
pub const BANDWIDTH: (i64, i64) = (10, 400);
/// See [`BANDWIDTH`].
pub const CAPACITY: (i64, i64) = (10, 800);
/// See [`BANDWIDTH`].
pub const HIDDEN: (i64, i64) = (10, 100);

/// Bytes that the slider for fast memory calls 100.
pub const BASE: u64 = 2 << 20;

/// What the reader set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The copy engine.
    pub bandwidth: i64,
    /// Fast memory.
    pub capacity: i64,
    /// How much of a copy must be hidden before it may start.
    pub hidden: i64,
}

impl Setting {
    /// As the figure begins: libtpu's own ratio, and room for everything.
    pub const FIRST: Self = Self { bandwidth: 100, capacity: 400, hidden: 70 };

    /// What a figure's state says.
    pub fn of(state: &State) -> Self {
        let number =
            |key, (low, high): (i64, i64), first| state.number(key).map_or(first, |n| n.clamp(low, high));
        Self {
            bandwidth: number("bandwidth", BANDWIDTH, Self::FIRST.bandwidth),
            capacity: number("capacity", CAPACITY, Self::FIRST.capacity),
            hidden: number("hidden", HIDDEN, Self::FIRST.hidden),
        }
    }

    /// Bytes of fast memory.
    pub fn bytes(self) -> u64 {
        BASE / 100 * self.capacity.unsigned_abs() / 4096 * 4096
    }
}

/// The most fast memory that the puzzle allows.
pub const ENOUGH: u64 = 11 << 19;

/// Does that setting solve the puzzle: both weights copied ahead with little memory?
pub fn solves(setting: Setting) -> bool {
    setting.bytes() <= ENOUGH && plan(setting).is_some_and(|p| p.copied() == 2)
}

/// A value of the iteration and what was planned for it.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Where it is defined in the iteration, if there.
    pub definition: Option<usize>,
    /// First and last use in the iteration.
    pub uses: Option<(usize, usize)>,
    /// The last use in the next iteration.
    pub next_use: Option<usize>,
    /// What was planned.
    pub plan: LoopPlan,
}

impl Row {
    /// The copy, if it is copied ahead, with how many steps it starts before its use.
    pub fn copy(&self, length: usize) -> Option<(LoopCopy, Time)> {
        match self.plan {
            LoopPlan::Copied(copy) => Some((copy, copy.done_before as Time - copy.effective_start(length))),
            _ => None,
        }
    }

    /// The plan in words.
    pub fn words(&self, length: usize) -> String {
        match self.plan {
            LoopPlan::Fast { .. } if self.definition.is_some() => "made and used in fast memory".to_owned(),
            LoopPlan::Fast { .. } => "stays in fast memory".to_owned(),
            LoopPlan::Copied(copy) => {
                let (_, distance) = self.copy(length).unwrap_or((copy, 0));
                let hidden = if copy.leftover_seconds > 0.0 {
                    format!(", {} of it not hidden", micros(f64::from(copy.leftover_seconds)))
                } else {
                    ", hidden".to_owned()
                };
                format!("copied ahead, {distance} steps before its use{hidden}")
            }
            LoopPlan::Left { .. } => "left to the main loop".to_owned(),
            LoopPlan::NoPlace => "finds no place".to_owned(),
            LoopPlan::NotHidden => "not copied: no start hides enough of it".to_owned(),
        }
    }
}

/// The plan of an iteration.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Instructions in an iteration.
    pub length: usize,
    /// Iterations.
    pub iterations: usize,
    /// Their names, of the iteration that was planned.
    pub names: Vec<String>,
    /// The values, those that are copied ahead first.
    pub rows: Vec<Row>,
    /// Seconds of idle slow memory in each instruction: before the copies, and what they leave.
    pub idle: Vec<(f32, f32)>,
    /// Seconds of an iteration: all in slow memory, and as planned.
    pub seconds: (f32, f32),
}

/// The module, read and analysed once.
fn read() -> Option<&'static (hlo::Module, analysis::Facts)> {
    static READ: OnceLock<Option<(hlo::Module, analysis::Facts)>> = OnceLock::new();
    let read = || {
        let module = hlo::read(&text()).complete().ok()?;
        let target = analysis::Target::detect(&module);
        let orders = analysis::Orders::guess(&module, &target);
        let facts = analysis::Facts::new(&module, orders, target).ok()?;
        Some((module, facts))
    };
    READ.get_or_init(read).as_ref()
}

/// Plans the loop.
pub fn plan(setting: Setting) -> Option<Plan> {
    let (module, facts) = read()?;
    let standard = Machine::default();
    let machine = Machine {
        copy_share: 1.0,
        default_bandwidth: standard.default_bandwidth * setting.bandwidth as f64 / 100.0,
        ..standard
    };
    let options = Options::tpu_v5e(setting.bytes());
    let mut made: Program = problem(module, facts, machine, options, Slicing::default(), 1);
    let loop_options =
        LoopOptions { desired_copy_ratio: setting.hidden as f32 / 100.0, ..LoopOptions::default() };
    let planned: PlannedLoop =
        add_loop_hints(module, facts, &mut made, machine, loop_options).into_iter().next()?;
    let length = planned.found.length;
    let begin = planned.found.start + length;
    let mut rows: Vec<Row> = planned
        .problem
        .values
        .iter()
        .zip(&planned.plan.plans)
        .map(|(value, plan)| Row {
            name: value.name.clone(),
            size: value.size,
            definition: value.definition,
            uses: value.uses.iter().map(|u| u.index).min().zip(value.uses.iter().map(|u| u.index).max()),
            next_use: value.next_uses.iter().map(|u| u.index).max(),
            plan: *plan,
        })
        .collect();
    rows.arrange_by_key(|r| {
        (!matches!(r.plan, LoopPlan::Copied(_)), !matches!(r.plan, LoopPlan::Fast { .. }))
    });
    let before = planned.problem.idle_seconds.iter();
    Some(Plan {
        length,
        iterations: (planned.found.end + 1 - planned.found.start) / length,
        names: (begin..begin + length)
            .filter_map(|t| Some(made.problem.instructions.get(t)?.name.clone()))
            .collect(),
        rows,
        idle: before.copied().zip(planned.plan.idle_seconds.iter().copied()).collect(),
        seconds: planned.seconds,
    })
}

impl Plan {
    /// How many values are copied ahead.
    pub fn copied(&self) -> usize {
        self.rows.iter().filter(|r| r.copy(self.length).is_some()).count()
    }

    /// What it comes to.
    pub fn sentence(&self) -> String {
        let (slow, fast) = (f64::from(self.seconds.0), f64::from(self.seconds.1));
        let distances: Vec<String> = self
            .rows
            .iter()
            .filter_map(|r| Some(format!("{} by {} steps", r.name, r.copy(self.length)?.1)))
            .collect();
        let copies = if distances.is_empty() {
            "Nothing is copied ahead.".to_owned()
        } else {
            format!("Copied ahead: {}.", list(&distances, 4))
        };
        format!(
            "{} iterations of {} steps. {copies} An iteration takes an estimated {} instead of {}, {:.0} % less.",
            self.iterations,
            self.length,
            micros(fast),
            micros(slow),
            (1.0 - fast / slow.max(f64::MIN_POSITIVE)) * 100.0
        )
    }

    /// Bytes that the planned values have together.
    pub fn bytes(&self) -> String {
        bytes(self.rows.iter().filter(|r| !matches!(r.plan, LoopPlan::Left { .. })).map(|r| r.size).sum())
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::state::Source;

    #[test]
    fn copies_run_ahead_and_gain() {
        let plan = plan(Setting::FIRST).expect("it can be read");
        assert_eq!((plan.length, plan.names.len(), plan.idle.len()), (4, 4, 4));
        assert!(plan.copied() > 0, "{}", plan.sentence());
        assert!(plan.seconds.1 < plan.seconds.0, "{}", plan.sentence());
        let wraps =
            |r: &Row| r.copy(plan.length).is_some_and(|(c, d)| d > 0 && c.effective_start(plan.length) < 0);
        assert!(plan.rows.iter().any(wraps), "one starts in the iteration before");
    }

    proptest::proptest! {
        #[test]
        fn a_setting_survives_the_address(b in -9_i64..900, c in -9_i64..900, h in -9_i64..900) {
            let state = State::new(Source::Shipped("attention_grad".to_owned()));
            let state = state.with_param("bandwidth", b).with_param("capacity", c).with_param("hidden", h);
            let back = State::decode(&state.encode()).expect("what was written can be read");
            let setting = Setting::of(&state);
            proptest::prop_assert_eq!(Setting::of(&back), setting);
            let plan = plan(setting).expect("there is a plan for every setting");
            proptest::prop_assert!(plan.seconds.1 <= plan.seconds.0 * 1.0001, "{}", plan.sentence());
        }
    }
}
