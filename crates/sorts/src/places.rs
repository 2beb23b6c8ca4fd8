//! A sort of places, which knows no types: runs that were sorted in place, merged.

/// Elements of any type, asked for and moved by their places.
pub(crate) trait Elements {
    fn len(&self) -> usize;
    /// Must the element at `a` stand before that at `b`?
    fn is_less(&mut self, a: usize, b: usize) -> bool;
    fn swap(&mut self, a: usize, b: usize);
}

/// A slice and what is less in it.
pub(crate) struct By<'a, T, F>(pub(crate) &'a mut [T], pub(crate) F);

impl<T, F: FnMut(&T, &T) -> bool> Elements for By<'_, T, F> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_less(&mut self, a: usize, b: usize) -> bool {
        (self.1)(&self.0[a], &self.0[b])
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.0.swap(a, b);
    }
}

/// A slice and a key for each of its elements.
pub(crate) struct With<'a, T, K>(pub(crate) &'a mut [T], pub(crate) &'a mut [K]);

impl<T, K: Ord> Elements for With<'_, T, K> {
    fn len(&self) -> usize {
        self.1.len()
    }

    fn is_less(&mut self, a: usize, b: usize) -> bool {
        self.1[a] < self.1[b]
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.0.swap(a, b);
        self.1.swap(a, b);
    }
}

/// Sorts, stably.
pub(crate) fn sort(elements: &mut dyn Elements) {
    /// A run this short is sorted by insertion.
    const RUN: usize = 12;
    let len = elements.len();
    for run in (0..len).step_by(RUN) {
        for next in run + 1..len.min(run + RUN) {
            let mut at = next;
            while at > run && elements.is_less(at, at - 1) {
                elements.swap(at, at - 1);
                at -= 1;
            }
        }
    }
    if len <= RUN {
        return;
    }
    // From here on places are merged, and the elements stay until it is known where each of them goes.
    let mut from: Vec<u32> = (0..len as u32).collect();
    let mut to = from.clone();
    let mut width = RUN;
    while width < len {
        for begin in (0..len).step_by(2 * width) {
            let middle = len.min(begin + width);
            let end = len.min(middle + width);
            let (mut left, mut right) = (begin, middle);
            // Often the second run follows the first as it is.
            let in_order =
                middle == end || !elements.is_less(from[middle] as usize, from[middle - 1] as usize);
            for place in &mut to[begin..end] {
                let take_right = left == middle
                    || !in_order
                        && right < end
                        && elements.is_less(from[right] as usize, from[left] as usize);
                let taken = if take_right { &mut right } else { &mut left };
                *place = from[*taken];
                *taken += 1;
            }
        }
        std::mem::swap(&mut from, &mut to);
        width *= 2;
    }
    // `from[i]` is where the element comes from that belongs at `i`: along each cycle, one swap an element.
    for begin in 0..len {
        let mut at = begin;
        loop {
            let next = from[at] as usize;
            from[at] = at as u32;
            if next == begin {
                break;
            }
            elements.swap(at, next);
            at = next;
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::{By, With, sort};
    use proptest::prelude::*;

    fn lists() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..400),
            proptest::collection::vec(0..4u8, 0..400),
            (0..400usize).prop_map(|n| (0..n).map(|i| (i / 3) as u8).collect()),
            (0..400usize).prop_map(|n| (0..n).rev().map(|i| (i / 3) as u8).collect()),
        ]
    }

    proptest! {
        #[test]
        fn is_the_standard_librarys_stable_sort(list in lists()) {
            let numbered: Vec<(u8, usize)> = list.into_iter().zip(0..).collect();
            let mut wanted = numbered.clone();
            wanted.sort_by_key(|e| e.0);
            let mut by = numbered.clone();
            sort(&mut By(&mut by, |a: &(u8, usize), b: &(u8, usize)| a.0 < b.0));
            prop_assert_eq!(&by, &wanted);
            let mut with = numbered.clone();
            let mut keys: Vec<u8> = numbered.iter().map(|e| e.0).collect();
            sort(&mut With(&mut with, &mut keys));
            prop_assert_eq!(&with, &wanted);
        }
    }

    #[test]
    fn an_order_that_contradicts_itself_ends_and_loses_nothing() {
        let mut list: Vec<u32> = (0..1000).collect();
        let mut n = 0_u32;
        sort(&mut By(&mut list, |_: &u32, _: &u32| {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            n >> 31 == 0
        }));
        list.sort_unstable();
        assert!(list.into_iter().eq(0..1000));
    }
}
