//! Two trees over a row of cells, which are told of ranges and asked about ranges: [`Tops`] and [`Fullness`].

/// For each cell, the largest number that was said of a range with it.
#[derive(Default)]
pub(crate) struct Tops {
    /// A power of two. Nodes are numbered as in a heap: 1 is all, `leaves + c` is cell `c`.
    leaves: usize,
    /// The largest within a node, as far as the nodes above do not say more.
    best: Vec<u64>,
    /// What was said of all cells of a node.
    all: Vec<u64>,
}

impl Tops {
    /// All cells hold 0.
    pub(crate) fn reset(&mut self, cells: usize) {
        self.leaves = cells.next_power_of_two();
        for numbers in [&mut self.best, &mut self.all] {
            numbers.clear();
            numbers.resize(2 * self.leaves, 0);
        }
    }

    /// The cells `first..=last` hold at least `top`.
    pub(crate) fn raise(&mut self, first: usize, last: usize, top: u64) {
        for_nodes(self.leaves, first, last, |node| {
            self.best[node] = self.best[node].max(top);
            self.all[node] = self.all[node].max(top);
        });
        for leaf in [first, last] {
            let mut node = (leaf + self.leaves) >> 1;
            while node > 0 {
                self.best[node] = self.best[node].max(top);
                node /= 2;
            }
        }
    }

    /// The largest number in the cells `first..=last`.
    pub(crate) fn max(&self, first: usize, last: usize) -> u64 {
        let mut max = 0;
        for_nodes(self.leaves, first, last, |node| max = max.max(self.best[node]));
        for leaf in [first, last] {
            let mut node = leaf + self.leaves;
            while node > 0 {
                max = max.max(self.all[node]);
                node /= 2;
            }
        }
        max
    }
}

/// For each cell, the sum of what was added to ranges with it.
#[derive(Default)]
pub(crate) struct Fullness {
    /// As in [`Tops`].
    leaves: usize,
    /// The largest sum within a node, without what was added to the nodes above.
    most: Vec<u64>,
    /// What was added to all cells of a node.
    added: Vec<u64>,
}

impl Fullness {
    /// All cells hold 0.
    pub(crate) fn reset(&mut self, cells: usize) {
        self.leaves = cells.next_power_of_two();
        for numbers in [&mut self.most, &mut self.added] {
            numbers.clear();
            numbers.resize(2 * self.leaves, 0);
        }
    }

    /// Adds to the cells `first..=last`.
    pub(crate) fn add(&mut self, first: usize, last: usize, size: u64) {
        for_nodes(self.leaves, first, last, |node| {
            self.most[node] += size;
            self.added[node] += size;
        });
        let (mut left, mut right) = ((first + self.leaves) >> 1, (last + self.leaves) >> 1);
        while left > 0 {
            for node in [left, right] {
                self.most[node] = self.most[2 * node].max(self.most[2 * node + 1]) + self.added[node];
            }
            (left, right) = (left / 2, right / 2);
        }
    }

    /// The fullest of the cells `first..=last`, with what it holds.
    pub(crate) fn fullest(&self, first: usize, last: usize) -> (u64, usize) {
        let (mut left, mut right) = (first + self.leaves, last + self.leaves);
        // The best on either side so far, as seen from `left` and from `right`.
        let mut of_left = (self.most[left], left);
        let mut of_right = (self.most[right], right);
        if left == right {
            of_right.0 = 0;
        } else {
            while left ^ right != 1 {
                if left & 1 == 0 && self.most[left + 1] > of_left.0 {
                    of_left = (self.most[left + 1], left + 1);
                }
                if right & 1 == 1 && self.most[right - 1] > of_right.0 {
                    of_right = (self.most[right - 1], right - 1);
                }
                (left, right) = (left / 2, right / 2);
                of_left.0 += self.added[left];
                of_right.0 += self.added[right];
            }
        }
        let (mut most, mut node) = if of_right.0 > of_left.0 { of_right } else { of_left };
        left /= 2;
        while left > 0 {
            most += self.added[left];
            left /= 2;
        }
        while node < self.leaves {
            node = 2 * node + usize::from(self.most[2 * node + 1] > self.most[2 * node]);
        }
        (most, node - self.leaves)
    }
}

/// The fewest nodes that make up the cells `first..=last`.
pub(crate) fn for_nodes(leaves: usize, first: usize, last: usize, mut each: impl FnMut(usize)) {
    let (mut left, mut right) = (first + leaves, last + leaves + 1);
    while left < right {
        if left & 1 == 1 {
            each(left);
            left += 1;
        }
        if right & 1 == 1 {
            right -= 1;
            each(right);
        }
        (left, right) = (left / 2, right / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_rows_of_numbers(said in proptest::collection::vec((0_usize..40, 0_usize..40, 0_u64..99), 0..60)) {
            let (mut tops, mut fullness) = (Tops::default(), Fullness::default());
            tops.reset(40);
            fullness.reset(40);
            let (mut row, mut sums) = ([0_u64; 40], [0_u64; 40]);
            for (a, b, number) in said {
                let (first, last) = (a.min(b), a.max(b));
                prop_assert_eq!(tops.max(first, last), row[first..=last].iter().copied().max().unwrap());
                let (most, at) = fullness.fullest(first, last);
                prop_assert_eq!(most, sums[first..=last].iter().copied().max().unwrap());
                prop_assert!((first..=last).contains(&at) && sums[at] == most);
                tops.raise(first, last, number);
                fullness.add(first, last, number);
                for cell in first..=last {
                    row[cell] = row[cell].max(number);
                    sums[cell] += number;
                }
            }
        }
    }
}
