//! When the values of an allocation are wanted, so that those in the way of another are found without asking all.

use analysis::ranges::LiveRange;
use std::collections::BTreeMap;

/// Steps to a bucket, as a power of two.
const BUCKET: u32 = 6;

/// The values of one allocation by the time at which they are wanted. What overlaps in time is in one allocation only where
/// it is one buffer, so each bucket holds few.
#[derive(Default)]
pub(crate) struct When {
    buckets: BTreeMap<u32, Vec<(u32, LiveRange)>>,
    /// Wanted over more buckets than are worth an entry in each.
    long: Vec<(u32, LiveRange)>,
}

/// A range over more buckets than this is kept apart.
const LONG: u32 = 16;

/// The first and the last bucket. A range that was edited by hand may end before it starts.
fn buckets(range: LiveRange) -> (u32, u32) {
    let (a, b) = (range.start.0 >> BUCKET, range.end.0 >> BUCKET);
    (a.min(b), a.max(b))
}

impl When {
    /// The value of this number comes in. Without a range it is in nobody's way.
    pub(crate) fn push(&mut self, number: u32, range: Option<LiveRange>) {
        let Some(range) = range else { return };
        let (first, last) = buckets(range);
        if last - first > LONG {
            self.long.push((number, range));
            return;
        }
        for bucket in first..=last {
            self.buckets.entry(bucket).or_default().push((number, range));
        }
    }

    /// Adds the numbers of those that are wanted at some step of the range, both ends included; some of them twice.
    pub(crate) fn overlapping(&self, range: LiveRange, out: &mut Vec<u32>) {
        let (first, last) = buckets(range);
        let meets = |other: &&(u32, LiveRange)| other.1.start <= range.end && range.start <= other.1.end;
        let near = self.buckets.range(first..=last).flat_map(|(_, all)| all);
        out.extend(near.chain(&self.long).filter(meets).map(|(number, _)| *number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::{Position, Step};
    use hlo::InstructionId;

    fn range(start: u32, end: u32) -> LiveRange {
        let end_position = Position { instruction: InstructionId(0), sub: 0 };
        LiveRange { start: Step(start), end: Step(end), end_position }
    }

    #[test]
    fn who_is_in_the_way_is_found() {
        let mut when = When::default();
        let mut of = Vec::new();
        // Short and long ones, at edges of buckets and across them.
        for i in 0..400_u32 {
            let start = (i * 37) % 3000;
            let end = start + if i % 9 == 0 { 64 * 40 } else { i % 70 };
            of.push(range(start, end));
            when.push(i, Some(range(start, end)));
        }
        when.push(400, None);
        for (start, end) in [(0, 0), (63, 64), (64, 64), (100, 2900), (2999, 6000), (127, 191), (9000, 9001)]
        {
            let wanted: Vec<u32> = (0..400_u32)
                .filter(|i| of[*i as usize].start.0 <= end && start <= of[*i as usize].end.0)
                .collect();
            let mut found = Vec::new();
            when.overlapping(range(start, end), &mut found);
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, wanted, "{start} to {end}");
        }
    }
}
