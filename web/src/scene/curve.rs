//! How many bytes of the temporaries' slab are in use at each step.

use super::{Item, Picture};
use sorts::Arrange as _;

/// Bytes in use, step by step.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Curve {
    /// For each step, the bytes in use. A byte that two values hold at once (one written over the other in place)
    /// counts once.
    pub bytes: Vec<u64>,
    /// The most of all: no packing of these ranges could do with less.
    pub floor: u64,
    /// The first step at which it is so many.
    pub floor_step: u32,
    /// The slab's size.
    pub assigned: u64,
}

/// Counts the bytes in use. Addresses of values that are alive together are apart, except where values share in place;
/// so the union of places is the sum over distinct buffers, shared ones once.
pub fn curve(picture: &Picture) -> Curve {
    let mut items: Vec<&Item> = picture.temps().filter(|i| i.size > 0).collect();
    items.arrange_by_key(|i| (i.start, i.offset, i.value));
    let mut next = 0;
    let mut alive: Vec<(u64, u64, u32)> = Vec::new();
    let mut curve = Curve { assigned: picture.heap_size(), ..Curve::default() };
    for step in 0..=picture.last() {
        let mut changed = false;
        alive.retain(|(_, _, end)| {
            changed |= *end < step;
            *end >= step
        });
        while let Some(item) = items.get(next).filter(|i| i.start <= step) {
            let at = alive.partition_point(|(offset, ..)| *offset < item.offset);
            alive.insert(at, (item.offset, item.top(), item.end));
            next += 1;
            changed = true;
        }
        let used = if changed {
            let mut covered = 0;
            alive.iter().fold(0, |sum, (offset, top, _)| {
                let from = covered.max(*offset);
                covered = covered.max(*top);
                sum + top.saturating_sub(from)
            })
        } else {
            curve.bytes.last().copied().unwrap_or(0)
        };
        if used > curve.floor {
            (curve.floor, curve.floor_step) = (used, step);
        }
        curve.bytes.push(used);
    }
    curve
}

impl Curve {
    /// The step of the peak; `None` where nothing is ever in use.
    pub fn peak(&self) -> Option<u32> {
        (self.floor > 0).then_some(self.floor_step)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::picture;
    use super::curve;

    #[test]
    fn bytes_are_those_of_distinct_places() {
        let c = curve(&picture(6, "a 0 3 0 100\nb 2 4 128 50\nc 3 5 0 100"));
        // At step 3 `a` and `c` hold the same bytes.
        assert_eq!(c.bytes, [100, 100, 150, 150, 150, 100, 0]);
        assert_eq!((c.floor, c.peak(), c.assigned), (150, Some(2), 178));
    }

    #[test]
    fn nothing_has_no_peak() {
        assert_eq!(curve(&picture(3, "a 0 3 0 0")).peak(), None);
    }
}
