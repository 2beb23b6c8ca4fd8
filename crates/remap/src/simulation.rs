//! Many steps, in which the memory behind the slices and the free memory change. Each of five rules can be switched off, and
//! what then goes wrong is found, not scripted: the simulation only does what an implementation without the rule does.

use crate::cutoff::{Control, Inputs, ascending, decide, is_small, reservation, round_up};

/// The rules that keep it right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The cutoff is found once for each range, not in each step.
    pub freeze_cutoff: bool,
    /// Whether set-up was done is known by a flag of its own, not by whether there is a reservation.
    pub set_up_flag: bool,
    /// Shadows are freed when their range dies.
    pub free_shadows: bool,
    /// A shadow is used again only if it is large enough.
    pub check_shadows: bool,
    /// A slice is small by its size alone, not by whether the walk came to it.
    pub by_size: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            freeze_cutoff: true,
            set_up_flag: true,
            free_shadows: true,
            check_shadows: true,
            by_size: true,
        }
    }
}

impl Rules {
    /// The names of the rules, as the command has them.
    pub const NAMES: [&'static str; 5] =
        ["freeze-cutoff", "set-up-flag", "free-shadows", "check-shadows", "by-size"];

    /// Switches a rule off by its name; false if there is none.
    pub fn without(&mut self, name: &str) -> bool {
        let rule = match name {
            "freeze-cutoff" => &mut self.freeze_cutoff,
            "set-up-flag" => &mut self.set_up_flag,
            "free-shadows" => &mut self.free_shadows,
            "check-shadows" => &mut self.check_shadows,
            "by-size" => &mut self.by_size,
            _ => return false,
        };
        *rule = false;
        true
    }
}

/// What happens over time.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// What the decision is made from in the first step.
    pub inputs: Inputs,
    /// Steps.
    pub steps: u32,
    /// By how much the free memory changes each step, in bytes.
    pub free_drift: i64,
    /// In each step, one slice in this many keeps its memory, chosen anew; 0 and 1: all change.
    pub one_in_stays: u32,
    /// After this many steps the range dies and is made anew; 0 for never.
    pub range_lasts: u32,
    /// A slice that has another size from some step on: slice, step, size.
    pub grows: Option<(usize, u32, u64)>,
    /// What is chosen at random is chosen from this.
    pub seed: u64,
    /// The rules that are kept.
    pub rules: Rules,
}

impl Scenario {
    /// A hundred steps of these inputs in which nothing but addresses changes.
    pub fn new(inputs: Inputs) -> Self {
        Self {
            inputs,
            steps: 100,
            free_drift: 0,
            one_in_stays: 0,
            range_lasts: 0,
            grows: None,
            seed: 1,
            rules: Rules::default(),
        }
    }
}

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// A slice is mapped past the end of the reserved range.
    PastReservation {
        /// The slice.
        slice: usize,
        /// By how many bytes.
        bytes: u64,
    },
    /// The event of the step before is made anew while the device may still wait for it.
    EventInFlight,
    /// A range dies, and its shadows stay.
    LeakedShadows {
        /// How many bytes.
        bytes: u64,
    },
    /// A slice is copied into a shadow that is too small.
    PastShadow {
        /// The slice.
        slice: usize,
        /// By how many bytes.
        bytes: u64,
    },
    /// A slice that was recorded as remapped is copied, or the other way round: the address baked in is another one.
    WrongAddress {
        /// The slice.
        slice: usize,
    },
    /// There is no memory for a shadow: an error that names it.
    NoMemory {
        /// The slice.
        slice: usize,
        /// What it needed, in bytes.
        bytes: u64,
    },
}

/// One step.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// Memory that is free as it begins.
    pub free: u64,
    /// The cutoff that it goes by.
    pub cutoff: u64,
    /// Whether set-up ran.
    pub set_up: bool,
    /// The reserved range, in bytes.
    pub reservation: u64,
    /// What the slices that are remapped by the cutoff need of it.
    pub needed: u64,
    /// Slices whose mapping was changed.
    pub remaps: usize,
    /// Bytes copied, there and back.
    pub copied_bytes: u64,
    /// Memory of shadows that are in use.
    pub shadow_bytes: u64,
    /// Memory of shadows that nobody owns any more.
    pub leaked_bytes: u64,
    /// The model's cost, in microseconds; nothing if copies cannot be told.
    pub cost: Option<f64>,
    /// What went wrong.
    pub faults: Vec<Fault>,
}

/// A range: what set-up made.
#[derive(Clone, Debug)]
struct Range {
    cutoff: u64,
    reservation: u64,
    /// By its walk, for slices whose class is taken from that.
    small: Vec<bool>,
    mapped: Vec<Option<u64>>,
    shadows: Vec<Option<u64>>,
}

/// Places in memory, of which each slice has one.
const PLACES: u64 = 1 << 31;

/// Runs a scenario.
pub fn simulate(scenario: &Scenario) -> Vec<Step> {
    let rules = scenario.rules;
    let mut inputs = scenario.inputs.clone();
    let count = inputs.sizes.len();
    let mut numbers = Numbers(scenario.seed.wrapping_mul(2).wrapping_add(1));
    let mut memory: Vec<u64> = (0..count as u64).collect();
    let mut range: Option<Range> = None;
    let mut is_set_up = false;
    let mut leaked: u64 = 0;
    let mut out = Vec::new();
    for step in 0..scenario.steps {
        let mut faults = Vec::new();
        if step > 0 {
            inputs.free = inputs.free.saturating_add_signed(scenario.free_drift);
            for place in &mut memory {
                if scenario.one_in_stays < 2 || numbers.below(u64::from(scenario.one_in_stays)) > 0 {
                    // Anywhere, but not where it was.
                    *place = (*place + 1 + numbers.below(PLACES - 1)) % PLACES;
                }
            }
        }
        if let Some((slice, at, size)) = scenario.grows
            && at == step
            && slice < count
        {
            inputs.sizes[slice] = size;
        }
        if scenario.range_lasts > 0 && step > 0 && step % scenario.range_lasts == 0 {
            let bytes = range
                .take()
                .map_or(0, |r| r.shadows.iter().flatten().fold(0, |a: u64, b| a.saturating_add(*b)));
            is_set_up = false;
            if !rules.free_shadows && bytes > 0 {
                leaked = leaked.saturating_add(bytes);
                faults.push(Fault::LeakedShadows { bytes });
            }
        }
        let now = decide(&Inputs {
            free: inputs.free.saturating_sub(leaked).max(u64::from(inputs.free > 0)),
            ..inputs.clone()
        });
        let reserved = range.as_ref().map_or(0, |r| r.reservation);
        let needs_set_up = if rules.set_up_flag { !is_set_up } else { reserved == 0 };
        if needs_set_up {
            if is_set_up {
                faults.push(Fault::EventInFlight);
            }
            let old = range.take();
            range = Some(Range {
                cutoff: now.cutoff,
                reservation: reservation(&inputs.sizes, now.cutoff, inputs.granularity),
                small: classes(&inputs, &memory, now.cutoff, now.admitted, rules),
                mapped: vec![None; count],
                shadows: old.map_or_else(|| vec![None; count], |r| r.shadows),
            });
            is_set_up = true;
        }
        let Some(range) = &mut range else { continue };
        if needs_set_up && !rules.by_size {
            let large = (0..count)
                .filter(|i| !range.small[*i])
                .map(|i| round_up(inputs.sizes[i], inputs.granularity));
            range.reservation = large.fold(0, u64::saturating_add);
        }
        let cutoff = if rules.freeze_cutoff { range.cutoff } else { now.cutoff };
        let small = classes(&inputs, &memory, cutoff, now.admitted, rules);
        let mut done = Step {
            free: inputs.free,
            cutoff,
            set_up: needs_set_up,
            reservation: range.reservation,
            needed: 0,
            remaps: 0,
            copied_bytes: 0,
            shadow_bytes: 0,
            leaked_bytes: leaked,
            cost: None,
            faults,
        };
        for slice in 0..count {
            let size = inputs.sizes[slice];
            if small[slice] != range.small[slice] {
                done.faults.push(Fault::WrongAddress { slice });
            }
            if small[slice] {
                copy(range, slice, size, &inputs, rules, &mut done);
            } else {
                done.needed = done.needed.saturating_add(round_up(size, inputs.granularity));
                if done.needed > range.reservation {
                    let bytes = done.needed - range.reservation;
                    done.faults.push(Fault::PastReservation { slice, bytes });
                }
                if range.mapped[slice] != Some(memory[slice]) {
                    range.mapped[slice] = Some(memory[slice]);
                    done.remaps += 1;
                }
            }
        }
        done.shadow_bytes = range.shadows.iter().flatten().fold(0, |a: u64, b| a.saturating_add(*b));
        let remaps = done.remaps as f64 * inputs.remap_cost.max(0.0) * inputs.peers.max(1) as f64;
        done.cost = match (done.copied_bytes, inputs.bandwidth) {
            (0, _) => Some(remaps),
            (_, 0) => None,
            (bytes, bandwidth) => Some(remaps + bytes as f64 / bandwidth as f64 * 1e6),
        };
        out.push(done);
    }
    out
}

fn copy(range: &mut Range, slice: usize, size: u64, inputs: &Inputs, rules: Rules, done: &mut Step) {
    let capacity = range.shadows[slice];
    let fits = capacity.is_some_and(|c| c >= size);
    match capacity {
        Some(capacity) if !fits && !rules.check_shadows => {
            done.faults.push(Fault::PastShadow { slice, bytes: size - capacity });
        }
        _ if fits => {}
        _ => {
            range.shadows[slice] = None;
            let held = range.shadows.iter().flatten().fold(0_u64, |a, b| a.saturating_add(*b));
            let left = inputs.free.saturating_sub(held).saturating_sub(done.leaked_bytes);
            if inputs.free > 0 && left < size {
                done.faults.push(Fault::NoMemory { slice, bytes: size });
                return;
            }
            range.shadows[slice] = Some(size);
        }
    }
    done.copied_bytes = done.copied_bytes.saturating_add(size.saturating_mul(2));
}

/// Which slices are small. Without the rule they are those that the walk itself admits: of equal sizes it takes those that
/// come first in memory, and those are others in each step.
fn classes(inputs: &Inputs, memory: &[u64], cutoff: u64, admitted: usize, rules: Rules) -> Vec<bool> {
    let by_size: Vec<bool> = inputs.sizes.iter().map(|s| is_small(*s, cutoff)).collect();
    if rules.by_size || inputs.control != Control::Auto || inputs.bandwidth == 0 {
        return by_size;
    }
    let mut order = ascending(&inputs.sizes);
    order.sort_by_key(|i| (inputs.sizes[*i], memory[*i]));
    let mut out = vec![false; by_size.len()];
    for slice in order.into_iter().take(admitted) {
        out[slice] = by_size[slice];
    }
    out
}

/// Numbers that look random, the same for the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n.max(1)
    }
}
