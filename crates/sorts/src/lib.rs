//! Sorting for code that the page begins with.
//!
//! The standard library's sorts are compiled anew for each type and each key that is sorted: two to five kilobytes each time,
//! which is why they are quick on large modules, and which was a sixth of what a reader had to download before the first
//! figure lived. Natively these methods are the standard library's. On wasm32 one routine, compiled once, sorts places and
//! asks through a function pointer; it takes half as long again. Both are stable, so they give the same order.
//!
//! ```
//! use sorts::Arrange as _;
//!
//! let mut ends = [(3, 'b'), (1, 'a'), (3, 'a')];
//! ends.arrange_by_key(|end| end.0);
//! assert_eq!(ends, [(1, 'a'), (3, 'b'), (3, 'a')]);
//! ```

use std::cmp::Ordering;

#[cfg(any(target_arch = "wasm32", test))]
mod places;

/// What a slice's own sorts do, in less code on wasm32. Equal elements keep their order.
pub trait Arrange<T> {
    /// As `sort`.
    fn arrange(&mut self)
    where
        T: Ord;
    /// As `sort_by`.
    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);
    /// As `sort_by_key`.
    fn arrange_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
    /// As `sort_by_cached_key`: each key is made once.
    fn arrange_by_cached_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
    /// As `sort_unstable`, for elements that nobody can tell apart when they are equal.
    fn arrange_unstable(&mut self)
    where
        T: Ord;
}

#[cfg(not(target_arch = "wasm32"))]
impl<T> Arrange<T> for [T] {
    fn arrange(&mut self)
    where
        T: Ord,
    {
        self.sort();
    }

    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering) {
        self.sort_by(compare);
    }

    fn arrange_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K) {
        self.sort_by_key(key);
    }

    fn arrange_by_cached_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K) {
        self.sort_by_cached_key(key);
    }

    fn arrange_unstable(&mut self)
    where
        T: Ord,
    {
        self.sort_unstable();
    }
}

#[cfg(target_arch = "wasm32")]
impl<T> Arrange<T> for [T] {
    fn arrange(&mut self)
    where
        T: Ord,
    {
        places::sort(&mut places::By(self, T::lt));
    }

    fn arrange_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        places::sort(&mut places::By(self, |a: &T, b: &T| compare(a, b).is_lt()));
    }

    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        places::sort(&mut places::By(self, |a: &T, b: &T| key(a) < key(b)));
    }

    fn arrange_by_cached_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K) {
        let mut keys: Vec<K> = self.iter().map(key).collect();
        places::sort(&mut places::With(self, &mut keys));
    }

    fn arrange_unstable(&mut self)
    where
        T: Ord,
    {
        self.arrange();
    }
}
