//! The asynchronous copy engine as a resource, and the copies under way (MEMORY_SPACE 15).

use crate::Time;
use crate::interval::IntervalMap;

/// Seconds times this, truncated: the resource is counted in whole units.
const SCALE: f32 = (1_u64 << 40) as f32;

fn units(seconds: f32) -> i64 {
    // `as` truncates and saturates, which is the rule.
    (seconds * SCALE) as i64
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Copy {
    start: Time,
    end: Time,
    resource: i64,
}

/// One direction's copies. Each may use the bandwidth that the instructions between its two ends leave idle; they are
/// served in order of their starts, and a new one may push later ones back, but none beyond its end.
#[derive(Clone, Debug)]
pub(crate) struct CopyResource {
    initial: Vec<i64>,
    /// Work left over from earlier copies when an instruction starts.
    delay: Vec<i64>,
    copies: Vec<Copy>,
    journal: Vec<(usize, i64)>,
}

impl CopyResource {
    pub(crate) fn new(initial_seconds: impl Iterator<Item = f32>) -> Self {
        let initial: Vec<i64> = initial_seconds.map(|s| units(s).max(0)).collect();
        let delay = vec![0; initial.len() + 2];
        Self { initial, delay, copies: Vec::new(), journal: Vec::new() }
    }

    fn set_delay(&mut self, at: usize, value: i64) {
        if let Some(delay) = self.delay.get_mut(at)
            && *delay != value
        {
            self.journal.push((at, *delay));
            *delay = value;
        }
    }

    /// Spends the resource of one more copy. Changes `delay` in any case; gives whether all copies end in time.
    fn consume(&mut self, start: Time, end: Time, resource: i64) -> bool {
        let index = |t: Time| usize::try_from(t.max(0)).unwrap_or(0);
        let waiting = self.delay.get(index(start + 1)).copied().unwrap_or(0);
        let mut now = Copy { start, end, resource: resource.saturating_add(waiting) };
        // The new copy comes behind those with the same start. Whoever is pushed pushes the one behind it, and of several
        // with one start each the next.
        let mut behind = self.copies.partition_point(|copy| copy.start <= start);
        loop {
            let next = self.copies.get(behind).copied();
            behind += 1;
            let mut left = now.resource;
            let mut delay_of_next = None;
            let mut t = now.start + 1;
            while t < now.end && left != 0 {
                if delay_of_next.is_none() && next.is_some_and(|next| next.start == t - 1) {
                    delay_of_next = Some(left);
                }
                if delay_of_next.is_none() {
                    self.set_delay(index(t), left.max(0));
                }
                let idle = self.initial.get(index(t)).copied().unwrap_or(0);
                left -= left.min(idle);
                t += 1;
            }
            if left > 0 {
                return false;
            }
            match (delay_of_next, next) {
                (Some(delay), Some(next)) => {
                    now = Copy { resource: delay.saturating_add(next.resource), ..next };
                }
                _ => return true,
            }
        }
    }

    fn undo(&mut self, mark: usize) {
        while self.journal.len() > mark {
            if let Some((at, value)) = self.journal.pop() {
                self.delay[at] = value;
            }
        }
    }

    /// Whether all of these copies, `(exclusive start, end, seconds)`, would fit together, in order.
    pub(crate) fn has_room(&mut self, wanted: &[(Time, Time, f32)]) -> bool {
        let mark = self.journal.len();
        let mut added = 0;
        let mut fits = true;
        for (start, end, seconds) in wanted {
            if !self.consume(*start, *end, units(*seconds)) {
                fits = false;
                break;
            }
            if wanted.len() > 1 {
                self.insert(*start, *end, units(*seconds));
                added += 1;
            }
        }
        self.undo(mark);
        for (start, end, seconds) in wanted[..added].iter().rev() {
            self.take_out(*start, *end, units(*seconds));
        }
        fits
    }

    fn insert(&mut self, start: Time, end: Time, resource: i64) {
        let at = self.copies.partition_point(|copy| copy.start <= start);
        self.copies.insert(at, Copy { start, end, resource });
    }

    fn take_out(&mut self, start: Time, end: Time, resource: i64) {
        let copy = Copy { start, end, resource };
        if let Some(at) = self.copies.iter().rposition(|other| *other == copy) {
            self.copies.remove(at);
        }
    }

    pub(crate) fn add(&mut self, start: Time, end: Time, seconds: f32) {
        self.consume(start, end, units(seconds));
        self.insert(start, end, units(seconds));
    }

    /// From now on everything can be undone.
    pub(crate) fn begin_trial(&mut self) {
        self.journal.clear();
    }

    /// Undoes the delays since [`Self::begin_trial`] and takes out these copies.
    pub(crate) fn roll_back(&mut self, added: impl Iterator<Item = (Time, Time, f32)>) {
        for (start, end, seconds) in added {
            self.take_out(start, end, units(seconds));
        }
        self.undo(0);
    }

    /// Whether every copy ends in time if all of them are served in order of start.
    #[cfg(test)]
    pub(crate) fn is_sound(&self) -> bool {
        let mut left_at = vec![0_i64; self.initial.len() + 2];
        let mut busy_until: Time = -1;
        for copy in &self.copies {
            let mut t = (copy.start + 1).max(busy_until);
            let mut left = copy.resource;
            while left > 0 && t < copy.end {
                let at = usize::try_from(t.max(0)).unwrap_or(0);
                let idle = self.initial.get(at).copied().unwrap_or(0) - left_at[at.min(left_at.len() - 1)];
                let used = left.min(idle.max(0));
                left -= used;
                if let Some(spent) = left_at.get_mut(at) {
                    *spent += used;
                }
                if left > 0 {
                    t += 1;
                }
            }
            if left > 0 {
                return false;
            }
            busy_until = busy_until.max(t);
        }
        true
    }
}

/// Copies under way in one direction.
#[derive(Clone, Debug)]
pub(crate) struct Outstanding {
    copies: IntervalMap<()>,
}

impl Outstanding {
    pub(crate) fn new(horizon: Time) -> Self {
        Self { copies: IntervalMap::new(horizon) }
    }

    pub(crate) fn add(&mut self, start: Time, done: Time) {
        self.copies.insert(start, done, ());
    }

    pub(crate) fn remove(&mut self, start: Time, done: Time) {
        self.copies.remove(start, done, ());
    }

    pub(crate) fn count(&self, start: Time, done: Time) -> usize {
        self.copies.count_overlapping(start, done)
    }
}

/// All copies with their exclusive starts, for the first-in-first-out rule.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    copies: IntervalMap<()>,
}

impl Order {
    pub(crate) fn new(horizon: Time) -> Self {
        Self { copies: IntervalMap::new(horizon) }
    }

    pub(crate) fn add(&mut self, start: Time, done: Time) {
        self.copies.insert(start, done, ());
    }

    pub(crate) fn remove(&mut self, start: Time, done: Time) {
        self.copies.remove(start, done, ());
    }

    /// Whether a copy would overtake another or be overtaken: one strictly inside the other.
    pub(crate) fn violates(&self, start: Time, done: Time) -> bool {
        let mut violates = false;
        self.copies.overlapping(start, done, |other_start, other_done, ()| {
            violates =
                (other_start < start && other_done > done) || (other_start > start && other_done < done);
            !violates
        });
        violates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_copies_are_pushed_but_not_beyond_their_end() {
        let mut resource = CopyResource::new([1.0; 10].into_iter());
        resource.add(0, 4, 2.0);
        assert!(resource.has_room(&[(1, 5, 1.0)]));
        assert!(!resource.has_room(&[(1, 5, 2.5)]));
        resource.add(1, 5, 1.0);
        // A copy that starts before pushes both.
        assert!(!resource.has_room(&[(-1, 3, 3.0)]));
        assert!(resource.has_room(&[(-1, 3, 1.0)]));
        assert!(resource.is_sound());
    }

    /// Numbers out of a compiler's log: a copy before three that start together pushes all of them.
    #[test]
    fn copies_with_one_start_push_each_other() {
        let slice = 390_735.0 / SCALE;
        let mut resource = CopyResource::new([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0].into_iter());
        for _ in 0..3 {
            resource.add(3, 7, slice);
        }
        assert_eq!(resource.delay[4], 3 * 390_735);
        resource.add(2, 6, 1_562_943.0 / SCALE);
        assert_eq!(resource.delay[4], 2_735_148);
    }

    #[test]
    fn a_check_changes_nothing() {
        let mut resource = CopyResource::new([1.0; 10].into_iter());
        resource.add(2, 6, 1.5);
        let before = resource.clone();
        assert!(resource.has_room(&[(1, 5, 1.0), (3, 8, 1.0)]));
        assert_eq!(before.delay, resource.delay);
        assert_eq!(before.copies, resource.copies);
        resource.begin_trial();
        resource.add(1, 5, 1.0);
        resource.roll_back([(1, 5, 1.0)].into_iter());
        assert_eq!(before.delay, resource.delay);
        assert_eq!(before.copies, resource.copies);
    }
}
