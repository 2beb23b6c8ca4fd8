//! In which order groups are placed (BUFFER_ASSIGNMENT 10.3, FAST_PACKERS 1.4). All orders are total: the key of the
//! root decides at last.

use sorts::Arrange as _;
use std::cmp::Reverse;

use crate::timeline::{Group, Timeline};

/// Positions in `timeline.groups`, largest own size first; then longest own range; then key.
pub(crate) fn spatial(timeline: &Timeline) -> Vec<u32> {
    sorted(timeline, |group| (Reverse(group.own_size), Reverse(group.own.end - group.own.start), group.root))
}

/// Positions in `timeline.groups`, longest hull first; then largest own size; then key.
pub(crate) fn temporal(timeline: &Timeline) -> Vec<u32> {
    sorted(timeline, |group| {
        (Reverse(group.hull.end - group.hull.start), Reverse(group.own_size), group.root)
    })
}

/// Positions in `timeline.groups` by start. Starts differ, and the groups already lie in that order.
pub(crate) fn by_start(timeline: &Timeline) -> Vec<u32> {
    (0..timeline.groups.len() as u32).collect()
}

fn sorted<K: Ord>(timeline: &Timeline, key: impl Fn(&Group) -> K) -> Vec<u32> {
    let mut order: Vec<(K, u32)> = timeline.groups.iter().map(key).zip(0..).collect();
    order.arrange_unstable();
    order.into_iter().map(|(_, at)| at).collect()
}
