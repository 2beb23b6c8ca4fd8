//! How much memory a TPU has, by generation, and how the compiler counts what a program needs of it.

use crate::fit::Fit;
use crate::study::{Role, Study};
use analysis::{Backend, Generation};
use assigner::words::{both, list};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The memory of one device, as the compiler's own out-of-memory messages tell it (libtpu of November 2026).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Which generation.
    pub generation: Generation,
    /// Bytes of main memory (HBM, memory space 0) that a program may take, to a hundredth of a GiB. A device of v4 is
    /// one of the two cores of a chip here.
    pub hbm: u64,
    /// Bytes of fast memory (VMEM, memory space 1).
    pub vmem: u64,
}

/// So many hundredths of a GiB.
const fn hundredths(n: u64) -> u64 {
    n * (1 << 30) / 100
}

/// Every generation that is known.
pub const DEVICES: [Device; 7] = [
    Device { generation: Generation::V2, hbm: hundredths(748), vmem: 16 << 20 },
    Device { generation: Generation::V3, hbm: hundredths(1548), vmem: 16 << 20 },
    Device { generation: Generation::V4, hbm: hundredths(1525), vmem: 16 << 20 },
    Device { generation: Generation::V5e, hbm: hundredths(1575), vmem: 128 << 20 },
    Device { generation: Generation::V5p, hbm: hundredths(9573), vmem: 64 << 20 },
    Device { generation: Generation::V6e, hbm: hundredths(3124), vmem: 128 << 20 },
    Device { generation: Generation::V7x, hbm: hundredths(9474), vmem: 64 << 20 },
];

impl Device {
    /// Bytes of a memory space of temporaries, where it has a limit of its own.
    #[must_use]
    pub fn limit(&self, color: u32) -> Option<u64> {
        match color {
            0 => Some(self.hbm),
            1 => Some(self.vmem),
            _ => None,
        }
    }
}

/// Which devices have room for what a program needs of a memory space, in a sentence; `None` where every one has, or the
/// memory space has no limit that is known.
#[must_use]
pub fn device_words(fit: &Fit) -> Option<String> {
    let needs = fit.fixed.saturating_add(fit.temp);
    let of = |is_wanted: &dyn Fn(u64) -> bool| -> Vec<String> {
        DEVICES
            .iter()
            .filter_map(|d| Some((d, d.limit(fit.color)?)))
            .filter(|(_, limit)| is_wanted(*limit))
            .map(|(d, limit)| format!("{} ({})", d.generation.name(), size(limit)))
            .collect()
    };
    let never = of(&|limit| limit < fit.least);
    let perhaps = of(&|limit| limit >= fit.least && limit < needs);
    let room = of(&|limit| limit >= needs);
    if never.is_empty() && perhaps.is_empty() {
        return None;
    }
    let place = if fit.color == 0 { "main memory (HBM)" } else { "fast memory (VMEM)" };
    let mut out = format!("The program takes {} of {place}", both(needs));
    if fit.least < needs {
        _ = write!(out, ", and needs {} under any packing", both(fit.least));
    }
    if !never.is_empty() {
        _ = write!(out, ". That is more than a device has of {}", list(&never, 7));
    }
    if !perhaps.is_empty() {
        _ = write!(out, ". Only another packing could fit on {}", list(&perhaps, 7));
    }
    if room.is_empty() {
        out += ". No generation has room for it.";
    } else {
        _ = write!(out, ". There is room on {}.", list(&room, 7));
    }
    Some(out)
}

/// `15.75 GiB`, `64 MiB`
fn size(bytes: u64) -> String {
    if bytes < 1 << 30 {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{:.2} GiB", bytes as f64 / f64::from(1u32 << 30))
    }
}

/// Bytes that the TPU rounds the end of its temporaries up to.
const HEAP_UNIT: u64 = 16 << 10;

/// `temp_size_in_bytes` of a TPU: the temporaries of main memory up to the next 16 KiB. Tables of pointers are not there
/// when the program runs, so nothing is left where there is nothing else.
pub(crate) fn tpu_temp(study: &Study) -> u64 {
    let is_temp = |slab: usize| study.slabs[slab].role == Role::Temp && study.slabs[slab].color == 0;
    if !study.rows.iter().any(|r| is_temp(r.slab) && !r.is_tuple && r.size > 0) {
        return 0;
    }
    let sum = (0..study.slabs.len())
        .filter(|s| is_temp(*s))
        .fold(0u64, |sum, s| sum.saturating_add(study.slabs[s].size));
    sum.checked_next_multiple_of(HEAP_UNIT).unwrap_or(sum)
}

/// What is alive together at most in the memory space where that is most, as `peak_memory_in_bytes` of a TPU counts it:
/// buffers as they are before they get a place, each from its first step to its last, both included. Needs the program.
pub(crate) fn tpu_alive(study: &Study) -> Option<u64> {
    let facts = &study.program.as_ref()?.facts;
    let mut changes: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for buffer in facts.buffers() {
        let rows: Vec<usize> = buffer.values.iter().filter_map(|v| study.row_of(*v)).collect();
        let rows = rows.iter().map(|r| &study.rows[*r]).filter(|r| study.slab(r).role == Role::Temp);
        let mut range: Option<(u32, u32)> = None;
        let mut place = (0, 0);
        for row in rows {
            let Some((start, end)) = row.range else { continue };
            range = Some(range.map_or((start, end), |(s, e)| (s.min(start), e.max(end))));
            place = (study.slab(row).color, row.size);
        }
        let Some((start, end)) = range else { continue };
        let (color, size) = place;
        let at = changes.entry((color, start)).or_default();
        at.0 = at.0.saturating_add(size);
        let after = changes.entry((color, end.saturating_add(1))).or_default();
        after.1 = after.1.saturating_add(size);
    }
    let (mut color, mut now, mut most) = (0, 0u64, 0u64);
    for ((c, _), (more, less)) in changes {
        if c != color {
            (color, now) = (c, 0);
        }
        now = now.saturating_sub(less).saturating_add(more);
        most = most.max(now);
    }
    Some(most)
}

/// Is it a TPU's?
pub(crate) fn is_tpu(study: &Study) -> bool {
    study.backend == Some(Backend::Tpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(color: u32, fixed: u64, temp: u64, least_temp: u64) -> Fit {
        let least = fixed + least_temp;
        Fit { color, temp, least_temp, reserved: 0, lost: temp - least_temp, fixed, least, holes: Vec::new() }
    }

    #[test]
    fn who_has_room() {
        assert_eq!(device_words(&fit(0, 1 << 30, 1 << 30, 1 << 30)), None);
        let words = device_words(&fit(0, 1 << 30, 15 << 30, 13 << 30)).unwrap_or_default();
        assert_eq!(
            words,
            "The program takes 17,179,869,184 B (16.0 GiB) of main memory (HBM), and needs 15,032,385,536 B (14.0 GiB) \
             under any packing. That is more than a device has of v2 (7.48 GiB). Only another packing could fit on v3 \
             (15.48 GiB), v4 (15.25 GiB) and v5e (15.75 GiB). There is room on v5p (95.73 GiB), v6e (31.24 GiB) and 7x \
             (94.74 GiB)."
        );
        let words = device_words(&fit(1, 0, 100 << 20, 100 << 20)).unwrap_or_default();
        assert!(words.ends_with("There is room on v5e (128 MiB) and v6e (128 MiB)."), "{words}");
        assert!(
            device_words(&fit(0, 100 << 30, 0, 0))
                .is_some_and(|w| w.ends_with("No generation has room for it."))
        );
        assert_eq!(device_words(&fit(5, 100 << 30, 0, 0)), None);
    }
}
