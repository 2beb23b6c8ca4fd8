//! The cutoff: the largest size that is copied.

use std::fmt;

/// The cutoff when nothing is known of the bandwidth, in bytes.
pub const UNKNOWN_BANDWIDTH: u64 = 65_536;
/// A slice is copied if that takes no longer than this, in microseconds: about what a remap costs.
pub const SLICE_MICROSECONDS: u64 = 8;
/// All copies of a step take no longer than this, in microseconds.
pub const STEP_MICROSECONDS: u64 = 15;
/// What a range of addresses is reserved and mapped in, in bytes, unless the device says otherwise.
pub const GRANULARITY: u64 = 2 << 20;

/// The one number that controls it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Control {
    /// The cutoff is derived (unset, or 1).
    #[default]
    Auto,
    /// Everything is remapped (0).
    Off,
    /// Exactly this cutoff in bytes (more than 1).
    Exactly(u64),
}

/// What stood where a number was expected; the control is then automatic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotANumber(pub String);

impl fmt::Display for NotANumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}`, expected a number of bytes, 0 for off or 1 for automatic; taken as automatic",
            self.0
        )
    }
}

impl Control {
    /// From the text of a setting. What is no number is told, and is *not* off: silence would turn the feature off.
    pub fn of_text(text: &str) -> (Self, Option<NotANumber>) {
        match text.trim().parse() {
            Ok(0) => (Self::Off, None),
            Ok(1) => (Self::Auto, None),
            Ok(bytes) => (Self::Exactly(bytes), None),
            Err(_) => (Self::Auto, Some(NotANumber(text.to_owned()))),
        }
    }
}

/// What the decision is made from.
#[derive(Clone, PartialEq, Debug)]
pub struct Inputs {
    /// Of copies within the device, in bytes a second; 0 if it is not known.
    pub bandwidth: u64,
    /// The device's memory in bytes; 0 if it is not known.
    pub memory: u64,
    /// What of it is free now; 0 if it is not known.
    pub free: u64,
    /// The sizes of the slices in bytes, in the order in which they are recorded.
    pub sizes: Vec<u64>,
    /// The setting.
    pub control: Control,
    /// What a remap was measured to cost, in microseconds: the variant with calibration.
    pub measured_remap: Option<f64>,
    /// What a remap is taken to cost in the model, in microseconds.
    pub remap_cost: f64,
    /// Devices whose mappings are changed one after the other.
    pub peers: u64,
    /// What addresses are reserved in, in bytes; 0 counts as 1.
    pub granularity: u64,
}

impl Default for Inputs {
    fn default() -> Self {
        Self {
            bandwidth: 0,
            memory: 0,
            free: 0,
            sizes: Vec::new(),
            control: Control::Auto,
            measured_remap: None,
            remap_cost: SLICE_MICROSECONDS as f64,
            peers: 1,
            granularity: GRANULARITY,
        }
    }
}

/// What limits the bytes that are moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// One slice would take longer than a remap.
    Slice,
    /// All copies of a step would take too long.
    StepTime,
    /// The shadows and what is moved would take too large a part of the memory.
    Memory,
}

/// Where the walk over the sizes ended before their end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    /// The slice that was not admitted, by its place in [`Inputs::sizes`].
    pub slice: usize,
    /// What refused it.
    pub limit: Limit,
}

/// The bounds of the walk, in bytes, rounded down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The largest slice.
    pub slice: u64,
    /// Twice the sizes of all, by time; nothing if it does not bind (calibrated, and the memory is known).
    pub step_time: Option<u64>,
    /// Twice the sizes of all, by memory; nothing if no figure is known.
    pub memory: Option<u64>,
}

impl Bounds {
    /// Twice the sizes of all may be this much, in bytes, and what says so; nothing if nothing does.
    pub fn budget(&self) -> Option<(u64, Limit)> {
        let time = self.step_time.map(|b| (b, Limit::StepTime));
        let memory = self.memory.map(|b| (b, Limit::Memory));
        time.into_iter().chain(memory).min_by_key(|(b, _)| *b)
    }
}

/// What one policy costs, in microseconds a step when every slice's memory has changed; nothing if it cannot be told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// Everything remapped.
    pub remap_all: f64,
    /// Everything copied.
    pub copy_all: Option<f64>,
    /// By the cutoff.
    pub chosen: Option<f64>,
}

/// The decision.
#[derive(Clone, PartialEq, Debug)]
pub struct Decision {
    /// The largest size that is copied, in bytes; 0 for none.
    pub cutoff: u64,
    /// The bounds, if the cutoff was derived from them.
    pub bounds: Option<Bounds>,
    /// How many slices the walk admitted, in ascending order of size. The cutoff may take more, of the same size.
    pub admitted: usize,
    /// Where the walk ended early.
    pub stop: Option<Stop>,
    /// Slices that are copied, by their place.
    pub copied: Vec<usize>,
    /// Slices that are remapped.
    pub remapped: Vec<usize>,
    /// The range of addresses that is reserved, in bytes; none if it is 0.
    pub reservation: u64,
    /// The memory of all shadows, in bytes.
    pub shadow_bytes: u64,
    /// By how much what the copies move is over the budget, in bytes: equal sizes are taken together.
    pub overrun: u64,
    /// The model's costs.
    pub costs: Costs,
    /// Why a measured cost was not taken.
    pub implausible: bool,
}

/// A slice is small if it is not larger than the cutoff, and there is one.
pub fn is_small(size: u64, cutoff: u64) -> bool {
    cutoff > 0 && size <= cutoff
}

/// Rounded up to what addresses are reserved in.
pub fn round_up(size: u64, granularity: u64) -> u64 {
    let granularity = granularity.max(1);
    size.div_ceil(granularity).saturating_mul(granularity)
}

/// What all slices over the cutoff need, in bytes of addresses.
pub fn reservation(sizes: &[u64], cutoff: u64, granularity: u64) -> u64 {
    let large = sizes.iter().filter(|s| !is_small(**s, cutoff));
    large.fold(0, |sum, size| sum.saturating_add(round_up(*size, granularity)))
}

/// The slices in ascending order of size; equal ones as they are recorded.
pub fn ascending(sizes: &[u64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|i| sizes[*i]);
    order
}

/// `bandwidth` x `microseconds` / `parts`, in bytes.
fn in_time(bandwidth: u64, microseconds: u64, parts: u64) -> u64 {
    let bytes = u128::from(bandwidth) * u128::from(microseconds) / (1_000_000 * u128::from(parts));
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn bounds(inputs: &Inputs) -> (Bounds, bool) {
    let memory = match (inputs.free, inputs.memory) {
        (0, 0) => None,
        (0, memory) => Some(memory / 200),
        (free, _) => Some(free / 100),
    };
    let time = in_time(inputs.bandwidth, STEP_MICROSECONDS, 1);
    let plain =
        Bounds { slice: in_time(inputs.bandwidth, SLICE_MICROSECONDS, 2), step_time: Some(time), memory };
    match inputs.measured_remap {
        // A figure that no driver has is no figure; so is what is not a number.
        Some(cost) if !(cost > 0.05 && cost < 5000.0) => (plain, true),
        Some(cost) => {
            let slice = (cost * inputs.bandwidth as f64 / 2e6) as u64;
            (Bounds { slice, step_time: memory.is_none().then_some(time), memory }, false)
        }
        None => (plain, false),
    }
}

/// Decides for each slice whether it is copied or remapped.
pub fn decide(inputs: &Inputs) -> Decision {
    let sizes = &inputs.sizes;
    let (mut cutoff, mut admitted, mut stop, mut used, mut implausible) = (0, 0, None, None, false);
    match inputs.control {
        Control::Off => {}
        Control::Exactly(bytes) => cutoff = bytes,
        Control::Auto if inputs.bandwidth == 0 => cutoff = UNKNOWN_BANDWIDTH,
        Control::Auto => {
            let (bounds, not_taken) = bounds(inputs);
            (used, implausible) = (Some(bounds), not_taken);
            let mut total: u64 = 0;
            for slice in ascending(sizes) {
                let size = sizes[slice];
                let next = total.saturating_add(size.saturating_mul(2));
                let limit = if size > bounds.slice {
                    Some(Limit::Slice)
                } else {
                    bounds.budget().filter(|(budget, _)| next > *budget).map(|(_, limit)| limit)
                };
                if let Some(limit) = limit {
                    stop = Some(Stop { slice, limit });
                    break;
                }
                total = next;
                cutoff = size;
                admitted += 1;
            }
        }
    }
    let (copied, remapped): (Vec<usize>, Vec<usize>) =
        (0..sizes.len()).partition(|i| is_small(sizes[*i], cutoff));
    let shadow_bytes = copied.iter().fold(0_u64, |sum, i| sum.saturating_add(sizes[*i]));
    let budget = used.and_then(|b| b.budget());
    let overrun = budget.map_or(0, |(b, _)| shadow_bytes.saturating_mul(2).saturating_sub(b));
    let remap_cost = inputs.remap_cost.max(0.0) * inputs.peers.max(1) as f64;
    let moving =
        |bytes: u64| (inputs.bandwidth > 0).then(|| 2.0 * bytes as f64 / inputs.bandwidth as f64 * 1e6);
    let all = sizes.iter().fold(0_u64, |sum, s| sum.saturating_add(*s));
    let remaps = remap_cost * remapped.len() as f64;
    let chosen = if copied.is_empty() { Some(remaps) } else { moving(shadow_bytes).map(|c| c + remaps) };
    let costs = Costs { remap_all: remap_cost * sizes.len() as f64, copy_all: moving(all), chosen };
    Decision {
        cutoff,
        bounds: used,
        admitted,
        stop,
        reservation: reservation(sizes, cutoff, inputs.granularity),
        copied,
        remapped,
        shadow_bytes,
        overrun,
        costs,
        implausible,
    }
}
