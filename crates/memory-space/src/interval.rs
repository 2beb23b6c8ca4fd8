//! Intervals of logical time with something attached, found by overlap.

use crate::Time;

/// A multiset of closed intervals `[start, end]` within `[-1, horizon]`.
///
/// Intervals are kept by start, and over the starts stands a tree of the latest ends, so that a question visits only
/// what overlaps. Answers come in order of start, those with one start in order of insertion.
#[derive(Clone, Debug)]
pub(crate) struct IntervalMap<T> {
    by_start: Vec<Vec<(Time, T)>>,
    latest_end: Vec<Time>,
    leaves: usize,
}

const NONE: Time = Time::MIN;

impl<T: Copy + PartialEq> IntervalMap<T> {
    pub(crate) fn new(horizon: Time) -> Self {
        let starts = usize::try_from(horizon.max(0)).unwrap_or(0) + 2;
        let leaves = starts.next_power_of_two();
        Self { by_start: vec![Vec::new(); starts], latest_end: vec![NONE; leaves * 2], leaves }
    }

    fn bucket(&self, start: Time) -> usize {
        usize::try_from(start.saturating_add(1).max(0)).unwrap_or(0).min(self.by_start.len() - 1)
    }

    fn update(&mut self, bucket: usize) {
        let mut node = bucket + self.leaves;
        self.latest_end[node] = self.by_start[bucket].iter().map(|(end, _)| *end).max().unwrap_or(NONE);
        while node > 1 {
            node /= 2;
            self.latest_end[node] = self.latest_end[node * 2].max(self.latest_end[node * 2 + 1]);
        }
    }

    pub(crate) fn insert(&mut self, start: Time, end: Time, item: T) {
        let bucket = self.bucket(start);
        self.by_start[bucket].push((end, item));
        self.update(bucket);
    }

    /// Takes out the interval inserted last of those that are equal to this one.
    pub(crate) fn remove(&mut self, start: Time, end: Time, item: T) {
        let bucket = self.bucket(start);
        if let Some(at) = self.by_start[bucket].iter().rposition(|other| *other == (end, item)) {
            self.by_start[bucket].remove(at);
            self.update(bucket);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.by_start.iter_mut().for_each(Vec::clear);
        self.latest_end.fill(NONE);
    }

    /// Calls `visit(start, end, item)` for all that overlap `[start, end]`, until it gives `false`.
    pub(crate) fn overlapping(&self, start: Time, end: Time, mut visit: impl FnMut(Time, Time, T) -> bool) {
        if end < start {
            return;
        }
        let last = self.bucket(end);
        // A tree of 2^k leaves is k deep, and at most one sibling waits on each level.
        let mut waiting = [0_usize; usize::BITS as usize + 1];
        let mut count = 1;
        waiting[0] = 1;
        while count > 0 {
            count -= 1;
            let node = waiting[count];
            if self.latest_end[node] < start {
                continue;
            }
            if node >= self.leaves {
                let bucket = node - self.leaves;
                if bucket > last {
                    return;
                }
                for (other_end, item) in &self.by_start[bucket] {
                    if *other_end >= start && !visit(bucket as Time - 1, *other_end, *item) {
                        return;
                    }
                }
                continue;
            }
            waiting[count] = node * 2 + 1;
            waiting[count + 1] = node * 2;
            count += 2;
        }
    }

    pub(crate) fn count_overlapping(&self, start: Time, end: Time) -> usize {
        let mut count = 0;
        self.overlapping(start, end, |_, _, _| {
            count += 1;
            true
        });
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_closed_on_both_ends_and_in_order_of_start() {
        let mut map = IntervalMap::new(10);
        for (start, end, item) in [(3, 5, 'b'), (-1, 2, 'a'), (3, 9, 'c'), (6, 6, 'd')] {
            map.insert(start, end, item);
        }
        let found = |map: &IntervalMap<char>, start, end| {
            let mut found = String::new();
            map.overlapping(start, end, |_, _, item| {
                found.push(item);
                true
            });
            found
        };
        assert_eq!(found(&map, 2, 3), "abc");
        assert_eq!(found(&map, 6, 10), "cd");
        assert_eq!(found(&map, -1, -1), "a");
        assert_eq!(found(&map, 5, 4), "");
        map.remove(3, 9, 'c');
        map.remove(3, 9, 'x');
        assert_eq!(found(&map, 0, 10), "abd");
        assert_eq!(map.count_overlapping(6, 10), 1);
        map.clear();
        assert_eq!(map.count_overlapping(-1, 10), 0);
    }
}
