//! How many bytes of a memory are taken at each step, each byte counted once however many values stand on it.

/// Counts covered bytes over a set of intervals that come and go: a segment tree over the places where intervals begin
/// and end.
pub(crate) struct Cover {
    /// The places, ascending.
    cuts: Vec<u64>,
    /// Per node: how many intervals cover it whole.
    count: Vec<u32>,
    /// Per node: bytes that are covered below it.
    covered: Vec<u64>,
}

impl Cover {
    /// For intervals that begin and end at these places.
    pub(crate) fn new(mut cuts: Vec<u64>) -> Self {
        cuts.sort_unstable();
        cuts.dedup();
        let leaves = cuts.len().saturating_sub(1).max(1);
        let nodes = 2 * leaves.next_power_of_two();
        Self { cuts, count: vec![0; nodes], covered: vec![0; nodes] }
    }

    /// Bytes that are covered.
    pub(crate) fn total(&self) -> u64 {
        self.covered.get(1).copied().unwrap_or(0)
    }

    /// An interval comes (`true`) or goes. It must begin and end at places that were named.
    pub(crate) fn change(&mut self, from: u64, to: u64, comes: bool) {
        let (Ok(from), Ok(to)) = (self.cuts.binary_search(&from), self.cuts.binary_search(&to)) else {
            return;
        };
        if from < to {
            let leaves = self.count.len() / 2;
            self.update(1, 0, leaves, from, to, comes);
        }
    }

    /// The depth is that of a tree over the number of places: at most 64.
    fn update(&mut self, node: usize, low: usize, high: usize, from: usize, to: usize, comes: bool) {
        if to <= low || high <= from {
            return;
        }
        if from <= low && high <= to {
            self.count[node] = if comes { self.count[node] + 1 } else { self.count[node].saturating_sub(1) };
        } else {
            let middle = usize::midpoint(low, high);
            self.update(2 * node, low, middle, from, to, comes);
            self.update(2 * node + 1, middle, high, from, to, comes);
        }
        let place = |i: usize| self.cuts[i.min(self.cuts.len() - 1)];
        self.covered[node] = if self.count[node] > 0 {
            place(high) - place(low)
        } else if high - low == 1 {
            0
        } else {
            self.covered[2 * node] + self.covered[2 * node + 1]
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_once() {
        let mut c = Cover::new(vec![0, 10, 20, 30, 5, 15]);
        c.change(0, 10, true);
        c.change(5, 15, true);
        assert_eq!(c.total(), 15);
        c.change(0, 10, true);
        c.change(0, 10, false);
        assert_eq!(c.total(), 15);
        c.change(0, 10, false);
        assert_eq!(c.total(), 10);
        c.change(20, 30, true);
        c.change(5, 15, false);
        assert_eq!(c.total(), 10);
        c.change(20, 30, false);
        assert_eq!(c.total(), 0);
        assert_eq!(Cover::new(Vec::new()).total(), 0);
    }
}
