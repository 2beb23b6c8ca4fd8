//! Copy or remap: the cutoff for the slices of a module, and many steps in which the memory behind them changes.

use crate::engine::Opened;
use crate::state::State;
use assigner::words::{binary, bytes};
use remap::simulation::{Rules, Scenario, Step, simulate};
use remap::words::{self, Style};
use remap::{Control, Decision, Inputs, Limit, decide};

/// The module of the figures.
pub const MODULE: &str = "gpu_layer_step";

const MIB: u64 = 1 << 20;

/// What the slider for the bandwidth stands at, in gigabytes a second.
pub const BANDWIDTHS: [u64; 15] =
    [100, 200, 400, 700, 1000, 1500, 2000, 3000, 4000, 5300, 6500, 8000, 10_000, 15_000, 20_000];
/// What the slider for the free memory stands at, in MiB.
pub const FREE: [u64; 16] =
    [64, 128, 256, 512, 1024, 2048, 3072, 4096, 6144, 8192, 12_288, 16_384, 32_768, 65_536, 98_304, 183_105];
/// What the slider for the cost of a remap stands at, in tenths of a microsecond.
pub const REMAPS: [u32; 11] = [5, 10, 20, 40, 80, 120, 200, 400, 800, 1200, 2000];
/// By how many MiB the free memory changes in a step of the simulation.
pub const DRIFTS: [i64; 10] = [-512, -256, -128, -96, -64, -48, -32, -16, 0, 64];

/// The memory of the device, in bytes: 192 GB.
const MEMORY: u64 = 192_000_000_000;
/// Steps of the simulation.
pub const STEPS: u32 = 24;

/// A slice: an allocation whose memory is another one in each step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slice {
    /// XLA's number of the allocation.
    pub allocation: u32,
    /// What it is for.
    pub role: String,
    /// Bytes.
    pub size: u64,
    /// Is it read only, so that it comes from outside in each step?
    pub is_input: bool,
}

/// The allocations that a command buffer would have as slices: all but constants and what is local to a thread.
pub fn slices(opened: &Opened) -> Vec<Slice> {
    let all = opened.original.assignment.allocations.iter();
    let shown = all.filter(|a| !a.is_constant && !a.is_thread_local);
    shown
        .map(|a| Slice {
            allocation: a.id.0,
            role: match &a.parameter {
                Some(parameter) => format!("parameter {}", parameter.number),
                None if a.is_tuple => "table of the result".to_owned(),
                None if a.maybe_live_out => "part of the result".to_owned(),
                None => "temporaries".to_owned(),
            },
            size: a.size,
            is_input: a.parameter.as_ref().is_some_and(|p| !p.aliased),
        })
        .collect()
}

/// Microseconds in words.
pub fn micros(micros: f64) -> String {
    if micros > 0.0 && micros < 0.01 { "less than 0.01 µs".to_owned() } else { format!("{micros:.2} µs") }
}

/// Speaks of slices by their allocations.
fn with_names<T>(slices: &[Slice], speak: impl FnOnce(Style<'_>) -> T) -> T {
    let name = |n: usize| slices.get(n).map_or_else(String::new, |s| format!("allocation {}", s.allocation));
    speak(Style { slice: &name, bytes: &bytes, micros: &micros })
}

/// Where the slider for the free memory must stand for the walk to end among slices of one size: 3 GiB.
pub const TIGHT: usize = 6;

/// The slice that the walk does not admit then.
pub fn refused(slices: &[Slice]) -> Option<usize> {
    plan(slices, Setting { free: TIGHT, ..Setting::FIRST }).decision.stop.map(|s| s.slice)
}

/// How the cutoff is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// Its name in addresses.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    control: Control,
    is_measured: bool,
    /// What a step took with it, in milliseconds: measured elsewhere, on another program.
    pub elsewhere: Option<u32>,
}

/// Those of the figure.
pub const POLICIES: [Policy; 6] = [
    Policy { id: "off", title: "Off", control: Control::Off, is_measured: false, elsewhere: Some(132) },
    Policy {
        id: "256",
        title: "256 B",
        control: Control::Exactly(256),
        is_measured: false,
        elsewhere: Some(120),
    },
    Policy {
        id: "4096",
        title: "4,096 B",
        control: Control::Exactly(4096),
        is_measured: false,
        elsewhere: Some(121),
    },
    Policy {
        id: "65536",
        title: "65,536 B",
        control: Control::Exactly(65_536),
        is_measured: false,
        elsewhere: Some(122),
    },
    Policy { id: "auto", title: "Auto", control: Control::Auto, is_measured: false, elsewhere: Some(121) },
    Policy {
        id: "calibrated",
        title: "Auto, calibrated",
        control: Control::Auto,
        is_measured: true,
        elsewhere: None,
    },
];

/// The one that the figure begins with.
pub const AUTO: usize = 4;

/// What the reader set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// An index into [`POLICIES`].
    pub policy: usize,
    /// An index into [`BANDWIDTHS`].
    pub bandwidth: usize,
    /// An index into [`FREE`].
    pub free: usize,
    /// An index into [`REMAPS`].
    pub remap: usize,
}

fn place(state: &State, key: &str, count: usize, first: usize) -> usize {
    let last = count as i64 - 1;
    state.number(key).map_or(first, |n| n.clamp(0, last) as usize)
}

impl Setting {
    /// As the figure begins.
    pub const FIRST: Self = Self { policy: AUTO, bandwidth: 9, free: 11, remap: 4 };

    /// What a figure's state says.
    pub fn of(state: &State) -> Self {
        let first = Self::FIRST;
        let told = state.word("policy").and_then(|id| POLICIES.iter().position(|p| p.id == id));
        Self {
            policy: told.unwrap_or(first.policy),
            bandwidth: place(state, "bandwidth", BANDWIDTHS.len(), first.bandwidth),
            free: place(state, "free", FREE.len(), first.free),
            remap: place(state, "remap", REMAPS.len(), first.remap),
        }
    }

    /// Bytes a second.
    pub fn bandwidth(self) -> u64 {
        BANDWIDTHS[self.bandwidth] * 1_000_000_000
    }

    /// Bytes.
    pub fn free(self) -> u64 {
        FREE[self.free] * MIB
    }

    /// Microseconds.
    pub fn remap(self) -> f64 {
        f64::from(REMAPS[self.remap]) / 10.0
    }

    fn inputs(self, policy: usize, slices: &[Slice]) -> Inputs {
        let policy = POLICIES[policy];
        Inputs {
            bandwidth: self.bandwidth(),
            memory: MEMORY,
            free: self.free(),
            sizes: slices.iter().map(|s| s.size).collect(),
            control: policy.control,
            measured_remap: policy.is_measured.then(|| self.remap()),
            remap_cost: self.remap(),
            ..Inputs::default()
        }
    }
}

/// The decision for a module's slices.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The slices, in the order of their allocations.
    pub slices: Vec<Slice>,
    /// The same in ascending order of size, by their place in `slices`.
    pub order: Vec<usize>,
    /// What it was made from.
    pub setting: Setting,
    inputs: Inputs,
    /// The decision.
    pub decision: Decision,
    /// What each policy would decide.
    pub policies: Vec<Decision>,
}

/// Decides.
pub fn plan(slices: &[Slice], setting: Setting) -> Plan {
    let inputs = setting.inputs(setting.policy, slices);
    Plan {
        slices: slices.to_vec(),
        order: remap::cutoff::ascending(&inputs.sizes),
        setting,
        decision: decide(&inputs),
        policies: (0..POLICIES.len()).map(|n| decide(&setting.inputs(n, slices))).collect(),
        inputs,
    }
}

impl Plan {
    /// The decision in words.
    pub fn sentence(&self) -> String {
        with_names(&self.slices, |style| words::decision(&self.inputs, &self.decision, style).join(" "))
    }

    /// Is the slice at that place copied?
    pub fn is_copied(&self, slice: usize) -> bool {
        self.decision.copied.contains(&slice)
    }

    /// The slice that is looked at: the one that the state selects, or where the walk ended, or the largest.
    pub fn chosen(&self, selected: Option<u32>) -> usize {
        let told = selected.map(|n| n as usize).filter(|n| *n < self.slices.len());
        let ended = self.decision.stop.map(|s| s.slice);
        told.or(ended).or(self.order.last().copied()).unwrap_or(0)
    }

    /// A slice in words: what both ways cost, which one it goes, and why.
    pub fn words(&self, slice: usize) -> String {
        let Some(s) = self.slices.get(slice) else { return String::new() };
        let alone = decide(&Inputs { sizes: vec![s.size], ..self.inputs.clone() }).costs;
        let mut out = format!(
            "Allocation {}, {}, {}: to copy it there and back takes {}, to remap it {}. ",
            s.allocation,
            s.role,
            bytes(s.size),
            alone.copy_all.map_or("an unknown time".to_owned(), micros),
            micros(alone.remap_all)
        );
        let d = &self.decision;
        let is_past = d.stop.is_some_and(|stop| {
            let at = |n: usize| self.order.iter().position(|o| *o == n);
            at(slice) >= at(stop.slice)
        });
        out += match (self.is_copied(slice), d.stop) {
            (true, Some(_)) if is_past => {
                "The walk did not admit it, but it is as large as one that was admitted, and is copied."
            }
            (true, _) => "It is copied.",
            (false, Some(stop)) if stop.slice == slice => {
                let limit =
                    with_names(&self.slices, |style| words::limit(stop.limit, &self.inputs, d, style));
                let said = format!("{out}It is remapped: {limit}.");
                let is_heard = POLICIES[self.setting.policy].is_measured
                    || self.setting.remap == Setting::FIRST.remap
                    || stop.limit != Limit::Slice;
                return if is_heard { said } else { said + " Only Auto, calibrated goes by the slider." };
            }
            (false, Some(_)) => "It is remapped: the walk ended before it.",
            (false, None) if d.cutoff == 0 => "It is remapped, as all are.",
            (false, None) => "It is remapped: it is larger than the cutoff.",
        };
        out
    }

    /// Which limit ended the walk.
    pub fn limit(&self) -> Option<Limit> {
        self.decision.stop.map(|s| s.limit)
    }

    /// Does it solve the puzzle: everything copied, by a rule and not by a number?
    pub fn solves(&self) -> bool {
        POLICIES[self.setting.policy].control == Control::Auto && self.decision.reservation == 0
    }
}

/// One rule, and a course of events that needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// The rule's name, the engine's.
    pub rule: &'static str,
    /// What the rule says.
    pub title: &'static str,
    /// What happens.
    pub about: &'static str,
}

/// The five rules.
pub const CASES: [Case; 5] = [
    Case {
        rule: Rules::NAMES[0],
        title: "Find the cutoff once",
        about: "6 GiB are free at first, and the free memory changes in each step.",
    },
    Case {
        rule: Rules::NAMES[1],
        title: "Give set-up a flag of its own",
        about: "The cutoff is set to 128 MiB. No slice is larger, so no addresses are reserved.",
    },
    Case {
        rule: Rules::NAMES[2],
        title: "Free the shadows with their range",
        about: "After every 6 steps the range is given up and made anew.",
    },
    Case {
        rule: Rules::NAMES[3],
        title: "Use a shadow again only if it is large enough",
        about: "From step 8 on an input is four times as large, as with a longer batch.",
    },
    Case {
        rule: Rules::NAMES[4],
        title: "Go by the size alone",
        about: "3 GiB are free. Of three slices of one size the walk can admit only two.",
    },
];

/// What the reader set for the steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trial {
    /// An index into [`CASES`].
    pub case: usize,
    /// Is the rule kept?
    pub kept: bool,
    /// An index into [`DRIFTS`].
    pub drift: usize,
}

impl Trial {
    /// As the figure begins: with the rule.
    pub const FIRST: Self = Self { kept: true, ..Self::BROKEN };

    /// The same without it.
    pub const BROKEN: Self = Self { case: 0, kept: false, drift: 2 };

    /// What a figure's state says.
    pub fn of(state: &State) -> Self {
        let told = state.word("rule").and_then(|rule| CASES.iter().position(|c| c.rule == rule));
        Self {
            case: told.unwrap_or(Self::FIRST.case),
            kept: state.number("kept") != Some(0),
            drift: place(state, "drift", DRIFTS.len(), Self::FIRST.drift),
        }
    }

    /// MiB a step.
    pub fn drift(self) -> i64 {
        DRIFTS[self.drift]
    }

    /// What is played.
    pub fn scenario(self, slices: &[Slice]) -> Scenario {
        let first = Setting::FIRST;
        let mut inputs = first.inputs(AUTO, slices);
        let mut scenario = Scenario { steps: STEPS, ..Scenario::new(inputs.clone()) };
        match self.case {
            0 => {
                inputs.free = 6144 * MIB;
                scenario.free_drift = self.drift() * MIB as i64;
            }
            1 => inputs.control = Control::Exactly(128 * MIB),
            2 => scenario.range_lasts = 6,
            3 => {
                let inputs = slices.iter().enumerate().filter(|(_, s)| s.is_input);
                scenario.grows = inputs.max_by_key(|(_, s)| s.size).map(|(n, s)| (n, 8, s.size * 4));
            }
            _ => inputs.free = FREE[TIGHT] * MIB,
        }
        scenario.inputs = inputs;
        if !self.kept {
            scenario.rules.without(CASES[self.case].rule);
        }
        scenario
    }
}

/// The steps, played.
#[derive(Clone, PartialEq, Debug)]
pub struct Course {
    /// What was asked for.
    pub trial: Trial,
    /// The steps.
    pub steps: Vec<Step>,
    slices: Vec<Slice>,
}

/// Plays it.
pub fn course(slices: &[Slice], trial: Trial) -> Course {
    Course { trial, steps: simulate(&trial.scenario(slices)), slices: slices.to_vec() }
}

impl Course {
    /// The first step in which something goes wrong.
    pub fn first_fault(&self) -> Option<usize> {
        self.steps.iter().position(|s| !s.faults.is_empty())
    }

    /// The step that is looked at: the one that the state selects, or the first in which something goes wrong.
    pub fn chosen(&self, selected: Option<u32>) -> usize {
        let told = selected.map(|n| n as usize).filter(|n| *n < self.steps.len());
        told.or(self.first_fault()).unwrap_or(0)
    }

    /// What goes wrong in a step, in words.
    pub fn faults(&self, step: usize) -> Vec<String> {
        let faults = self.steps.get(step).map(|s| &s.faults[..]).unwrap_or_default();
        with_names(&self.slices, |style| faults.iter().map(|f| words::fault(f, style)).collect())
    }

    /// The gravest of what goes wrong in a step, in words.
    fn worst(&self, step: usize) -> String {
        let gravest = self.steps.get(step).and_then(|s| s.faults.iter().min());
        gravest.map_or_else(String::new, |f| with_names(&self.slices, |style| words::fault(f, style)))
    }

    /// A step in words.
    pub fn words(&self, step: usize) -> String {
        let Some(now) = self.steps.get(step) else { return String::new() };
        let mut out = with_names(&self.slices, |style| words::step(step, now, style));
        out = capital(&out) + ".";
        for fault in self.faults(step) {
            out += " ";
            out += &capital(&fault);
            out += ".";
        }
        out
    }

    /// What it comes to.
    pub fn sentence(&self) -> String {
        let wrong = self.steps.iter().filter(|s| !s.faults.is_empty()).count();
        let all = self.steps.len();
        match self.first_fault() {
            None => format!("Nothing goes wrong in {all} steps."),
            Some(first) => {
                let why = self.worst(first);
                format!("It goes wrong in {wrong} of {all} steps, first in step {first}: {why}.")
            }
        }
    }
}

/// The fastest fall of the free memory at which nothing goes wrong though the cutoff is found anew in each step.
pub fn fastest(slices: &[Slice]) -> Option<usize> {
    (0..DRIFTS.len()).find(|drift| {
        let trial = Trial { drift: *drift, ..Trial::BROKEN };
        course(slices, trial).first_fault().is_none()
    })
}

/// Without a flag of its own, does set-up run in every step: where all slices are copied, and where all are remapped?
pub fn set_up_again(slices: &[Slice]) -> [bool; 2] {
    [Control::Exactly(u64::MAX), Control::Off].map(|control| {
        let mut scenario = Trial { case: 1, ..Trial::BROKEN }.scenario(slices);
        scenario.inputs.control = control;
        simulate(&scenario).iter().all(|s| s.set_up)
    })
}

/// Free memory and its change, in words.
pub fn drift_words(drift: i64) -> String {
    let size = binary(drift.unsigned_abs() * MIB);
    match drift {
        0 => "stays as it is".to_owned(),
        ..0 => format!("{size} less in each step"),
        _ => format!("{size} more in each step"),
    }
}

/// With the first letter large.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::state::Source;

    fn real() -> Vec<Slice> {
        let opened = crate::engine::open(&crate::chapters::text_of(MODULE)).expect("it can be read");
        slices(&opened)
    }

    #[test]
    fn the_first_decision() {
        let slices = real();
        let plan = plan(&slices, Setting::FIRST);
        assert_eq!(slices.len(), 19);
        assert_eq!(
            plan.sentence(),
            "Slices of up to 6,291,456 B are copied. The walk ends at allocation 0 of 33,554,432 B: copying it would take longer than the 8.00 µs that a remap is taken to cost. 17 copied, 25,702,508 B of shadows; 2 remapped, 106,954,752 B of addresses reserved. A step costs 25.70 µs; all remapped 152.00 µs, all copied 49.77 µs."
        );
        let words = |setting| super::plan(&slices, setting).words(plan.chosen(None));
        let refusal = "copying it would take longer than the 8.00 µs that a remap is taken to cost.";
        assert!(words(Setting::FIRST).ends_with(refusal));
        // What the slider says is not what Auto goes by.
        let dear = words(Setting { remap: REMAPS.len() - 1, ..Setting::FIRST });
        assert!(dear.ends_with(&format!("{refusal} Only Auto, calibrated goes by the slider.")), "{dear}");
    }

    #[test]
    fn each_limit_can_end_the_walk_and_the_puzzle_can_be_solved() {
        let slices = real();
        let mut met = Vec::new();
        let mut solved = false;
        for policy in [AUTO, AUTO + 1] {
            for bandwidth in 0..BANDWIDTHS.len() {
                for free in 0..FREE.len() {
                    let plan = plan(&slices, Setting { policy, bandwidth, free, ..Setting::FIRST });
                    met.extend(plan.limit().filter(|l| !met.contains(l)));
                    solved |= plan.solves();
                    for n in 0..slices.len() {
                        assert!(plan.words(n).ends_with('.'));
                    }
                }
            }
        }
        assert_eq!(met.len(), 3);
        assert!(solved);
        assert!(!plan(&slices, Setting::FIRST).solves());
    }

    #[test]
    fn each_rule_is_missed_and_nothing_goes_wrong_with_it() {
        let slices = real();
        for (case, Case { rule, .. }) in CASES.iter().enumerate() {
            let broken = course(&slices, Trial { case, ..Trial::BROKEN });
            assert!(broken.first_fault().is_some(), "{rule}");
            let kept = course(&slices, Trial { case, kept: true, ..Trial::BROKEN });
            assert_eq!(kept.sentence(), "Nothing goes wrong in 24 steps.", "{rule}");
        }
        let fastest = fastest(&slices).expect("one goes well");
        assert!((1..DRIFTS.len()).contains(&fastest) && DRIFTS[fastest] < 0);
    }

    proptest::proptest! {
        #[test]
        fn settings_survive_the_address(
            policy in 0..POLICIES.len(), case in 0..CASES.len(), kept in 0..2_i64,
            b in -9_i64..90, f in -9_i64..90, r in -9_i64..90, d in -9_i64..90,
        ) {
            let state = State::new(Source::Shipped(MODULE.to_owned()))
                .with_param("policy", POLICIES[policy].id).with_param("bandwidth", b)
                .with_param("free", f).with_param("remap", r)
                .with_param("rule", CASES[case].rule).with_param("kept", kept).with_param("drift", d);
            let back = State::decode(&state.encode()).expect("what was written can be read");
            proptest::prop_assert_eq!(Setting::of(&back), Setting::of(&state));
            proptest::prop_assert_eq!(Trial::of(&back), Trial::of(&state));
            proptest::prop_assert_eq!(Setting::of(&back).policy, policy);
            proptest::prop_assert_eq!(Trial::of(&back).case, case);
        }
    }
}
