//! Whether a program fits: holes in its heaps, and the least that any packing needs.

use crate::peak::{Peak, SpacePeak};
use crate::study::{Role, Study};
use analysis::Backend;
use assigner::words::both;

/// One memory space against what any packing would need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The memory space.
    pub color: u32,
    /// Bytes of its temporary allocations.
    pub temp: u64,
    /// Bytes of temporaries that are taken together at the fullest step, and [`Fit::reserved`]: no packing needs fewer.
    pub least_temp: u64,
    /// Bytes of temporary allocations that hold no value: on the TPU, what kernels reserve for themselves.
    pub reserved: u64,
    /// Bytes lost: the first less the second.
    pub lost: u64,
    /// Bytes of arguments, outputs and constants there.
    pub fixed: u64,
    /// The least that the program needs there, in bytes: `fixed` and `least_temp`.
    pub least: u64,
    /// The holes at the fullest step: the allocation's number, the first byte and the byte after the last; the largest
    /// first.
    pub holes: Vec<(u32, u64, u64)>,
}

/// Can any packing fit into so many bytes?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It fits as it is.
    Fits,
    /// Perhaps, with another packing: only the packing is above the limit.
    Perhaps,
    /// No: what is alive together is more than the limit.
    Never,
}

impl Fit {
    /// Does the program fit into so many bytes of this memory space?
    #[must_use]
    pub fn verdict(&self, limit: u64) -> Verdict {
        if self.fixed.saturating_add(self.temp) <= limit {
            Verdict::Fits
        } else if self.least <= limit {
            Verdict::Perhaps
        } else {
            Verdict::Never
        }
    }
}

/// Of a program that needs more main memory than there is: whether any packing can fit, in a sentence. `limit` is what there
/// is, in bytes. `None` if it fits as it is.
#[must_use]
pub fn packing_words(peak: &Peak, limit: u64) -> Option<String> {
    if peak.total <= limit {
        return None;
    }
    let live = peak.spaces.iter().find(|s| s.color == 0).map_or(0, |s| s.live);
    let fixed = peak.owners.iter().filter(|o| !matches!(o.role, Role::Temp | Role::ThreadLocal));
    let least = crate::peak::sum(fixed.map(|o| o.bytes)).saturating_add(live);
    let (live, all) = (both(live), both(least));
    Some(if least > limit {
        format!("No packing can fit: {live} of temporaries are alive at one step, with the rest {all}.")
    } else {
        format!(
            "A better packing might fit: {live} of temporaries are alive at one step, with the rest {all}."
        )
    })
}

/// The memory spaces against what any packing would need.
#[must_use]
pub fn fits(study: &Study, peak: &Peak) -> Vec<Fit> {
    peak.spaces.iter().map(|s| fit(study, s)).collect()
}

/// Does a temporary allocation of the TPU hold no value?
fn is_reserved(study: &Study, slab: usize) -> bool {
    study.backend == Some(Backend::Tpu)
        && study.slabs[slab].role == Role::Temp
        && !study.rows.iter().any(|r| r.slab == slab)
}

fn reserved(study: &Study, color: u32) -> u64 {
    let of_color = (0..study.slabs.len()).filter(|i| study.slabs[*i].color == color);
    crate::peak::sum(of_color.filter(|i| is_reserved(study, *i)).map(|i| study.slabs[i].size))
}

fn fit(study: &Study, space: &SpacePeak) -> Fit {
    let fixed = study.slabs.iter().filter(|s| {
        s.color == space.color && matches!(s.role, Role::Argument | Role::Output | Role::Constant)
    });
    let fixed = crate::peak::sum(fixed.map(|s| s.size));
    let mut holes = Vec::new();
    for (i, slab) in study.slabs.iter().enumerate() {
        if slab.color != space.color || slab.role != Role::Temp || is_reserved(study, i) {
            continue;
        }
        let mut taken: Vec<(u64, u64)> = space
            .slots
            .iter()
            .filter(|s| s.slab == i)
            .map(|s| (s.offset, s.offset.saturating_add(s.size)))
            .collect();
        taken.sort_unstable();
        let mut at = 0u64;
        for (from, to) in taken {
            if from > at {
                holes.push((slab.number, at, from));
            }
            at = at.max(to);
        }
        if slab.size > at {
            holes.push((slab.number, at, slab.size));
        }
    }
    let reserved = reserved(study, space.color);
    let least_temp = space.live.saturating_add(reserved).min(space.temp.max(space.live));
    holes.sort_by_key(|(number, from, to)| (std::cmp::Reverse(to - from), *number, *from));
    Fit {
        color: space.color,
        temp: space.temp,
        least_temp,
        reserved,
        lost: space.temp.saturating_sub(least_temp),
        fixed,
        least: fixed.saturating_add(least_temp),
        holes,
    }
}
