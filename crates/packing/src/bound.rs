//! Sizes that need no packing.

use crate::timeline::{KeyIndex, Timeline};
use crate::{Event, PackError};
use sorts::Arrange as _;
use std::collections::BTreeMap;

/// The unfragmented size in bytes as XLA counts it: alloc and share add the group's size, free subtracts it, the largest
/// sum counts (BUFFER_ASSIGNMENT 10.6).
///
/// Sharing counts twice while both buffers live, so the result can be *above* what a packing needs. The number belongs
/// to the statistics block; a true lower bound is [`peak_live_size`]. Events that contradict each other are not
/// refused: a free of an unknown buffer subtracts nothing, a second beginning is a new buffer. A sum above `u64::MAX`
/// stays there.
pub fn unfragmented_size(events: &[Event]) -> u64 {
    let keys = KeyIndex::new(events);
    // The group of each buffer and the size of each group.
    let mut group_of = vec![usize::MAX; keys.len()];
    let mut sizes: Vec<u64> = Vec::new();
    let (mut sum, mut largest) = (0_i128, 0_i128);
    for event in events {
        match *event {
            Event::Alloc { buffer, size } => {
                group_of[keys.of(buffer)] = sizes.len();
                sizes.push(size);
                sum += i128::from(size);
            }
            Event::Share { buffer, with, size } => {
                let group = match group_of.get(keys.of(with)) {
                    Some(&group) if group != usize::MAX => group,
                    _ => {
                        sizes.push(size);
                        sizes.len() - 1
                    }
                };
                sizes[group] = sizes[group].max(size);
                group_of[keys.of(buffer)] = group;
                sum += i128::from(sizes[group]);
            }
            Event::Free { buffer } => {
                if let Some(size) = sizes.get(group_of[keys.of(buffer)]) {
                    sum -= i128::from(*size);
                }
            }
        }
        largest = largest.max(sum);
    }
    u64::try_from(largest).unwrap_or(u64::MAX)
}

/// What no packing into one heap at this alignment can be smaller than, in bytes; at alignment 1 it is
/// [`peak_live_size`].
///
/// At each tick every living group but the highest takes its size rounded up to the alignment, so the sum of the rounded
/// sizes, less the largest rounding of one of them, has to fit. A sum above `u64::MAX` stays there.
///
/// # Errors
/// If the events contradict each other, as in [`pack`](crate::pack), or the alignment is 0.
pub fn aligned_peak_live_size(events: &[Event], alignment: u64) -> Result<u64, PackError> {
    if alignment == 0 {
        return Err(PackError::ZeroAlignment);
    }
    let timeline = Timeline::new(events)?;
    let mut changes: Vec<(u32, bool, u64)> = Vec::with_capacity(2 * timeline.run_count());
    for group in &timeline.groups {
        for run in timeline.runs(group) {
            changes.push((run.start, true, group.size));
            changes.push((run.end + 1, false, group.size));
        }
    }
    changes.arrange_unstable(); // at one tick, what ends goes before what begins
    let rounded = |size: u64| size.checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
    // How many living groups there are for each rounding.
    let mut roundings: BTreeMap<u64, u32> = BTreeMap::new();
    let (mut sum, mut largest) = (0_i128, 0_i128);
    for (_, begins, size) in changes {
        let (whole, rounding) = (i128::from(rounded(size)), rounded(size) - size);
        let count = roundings.entry(rounding).or_default();
        if begins {
            *count += 1;
            sum += whole;
        } else {
            *count -= 1;
            if *count == 0 {
                roundings.remove(&rounding);
            }
            sum -= whole;
        }
        let most = roundings.last_key_value().map_or(0, |(rounding, _)| *rounding);
        largest = largest.max(sum - i128::from(most));
    }
    Ok(u64::try_from(largest).unwrap_or(u64::MAX))
}

/// The largest sum of the sizes of the groups that have a living member: no packing into any number of heaps is smaller.
/// In bytes; a sum above `u64::MAX` stays there.
///
/// # Errors
/// If the events contradict each other, as in [`pack`](crate::pack).
pub fn peak_live_size(events: &[Event]) -> Result<u64, PackError> {
    let timeline = Timeline::new(events)?;
    // Runs are closed, so one stops counting at the tick after its end.
    let mut changes: Vec<(u32, i128)> = Vec::with_capacity(2 * timeline.run_count());
    for group in &timeline.groups {
        for run in timeline.runs(group) {
            changes.push((run.start, i128::from(group.size)));
            changes.push((run.end + 1, -i128::from(group.size)));
        }
    }
    changes.arrange_unstable(); // at one tick, what ends goes before what begins
    let (mut sum, mut largest) = (0, 0);
    for (_, change) in changes {
        sum += change;
        largest = largest.max(sum);
    }
    Ok(u64::try_from(largest).unwrap_or(u64::MAX))
}
