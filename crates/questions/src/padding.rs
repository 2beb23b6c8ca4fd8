//! What the tiles of a layout cost: padded against unpadded bytes.

use crate::study::{Row, Study};
use hlo::ElementType;

/// One value that takes more bytes than its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Padded {
    /// The value: an index into [`Study::rows`].
    pub row: usize,
    /// Bytes of the data.
    pub unpadded: u64,
    /// Bytes it takes.
    pub padded: u64,
    /// How many times its data it takes.
    pub factor: f64,
    /// The tiles as the layout writes them, `(8,128)(2,1)`; empty if it has none.
    pub tiling: String,
    /// The dimension that is minor, from 0, and its size.
    pub minor: Option<(u32, u64)>,
    /// The order of dimensions, the most minor first, that would take fewest bytes with the same tiles, and how many.
    pub best: Option<(Vec<u32>, u64)>,
}

/// Sums over all values that have data, one by one: values that take turns at an address are each counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Padding {
    /// Values that take more than their data, the most bytes lost first.
    pub values: Vec<Padded>,
    /// Bytes of data of all values.
    pub unpadded: u64,
    /// Bytes that they take.
    pub padded: u64,
}

/// What padding costs.
#[must_use]
pub fn padding(study: &Study) -> Padding {
    let mut out = Padding::default();
    for (i, row) in study.rows.iter().enumerate() {
        let Some(unpadded) = row.unpadded else { continue };
        out.unpadded = out.unpadded.saturating_add(unpadded);
        out.padded = out.padded.saturating_add(row.size.max(unpadded));
        if row.size > unpadded && unpadded > 0 {
            out.values.push(of_row(i, row, unpadded));
        }
    }
    out.values.sort_by_key(|p| (std::cmp::Reverse(p.padded - p.unpadded), p.row));
    out
}

fn of_row(i: usize, row: &Row, unpadded: u64) -> Padded {
    let layout = Layout::of(&row.shape);
    let minor = layout.as_ref().and_then(|l| {
        let d = *l.minor_to_major.first()?;
        Some((d, *l.dims.get(d as usize)?))
    });
    Padded {
        row: i,
        unpadded,
        padded: row.size,
        factor: row.size as f64 / unpadded as f64,
        tiling: layout.as_ref().map(|l| l.tiling.clone()).unwrap_or_default(),
        minor,
        best: layout.as_ref().and_then(Layout::best).filter(|(_, bytes)| *bytes < row.size),
    }
}

/// What a shape's text tells of its layout.
struct Layout {
    bits: u64,
    dims: Vec<u64>,
    minor_to_major: Vec<u32>,
    /// The first tile, rows and columns.
    tile: (u64, u64),
    tiling: String,
}

impl Layout {
    fn of(shape: &str) -> Option<Self> {
        let (element, rest) = shape.split_once('[')?;
        let bits = ElementType::from_name(element)?.bits().max(8);
        let (dims, rest) = rest.split_once(']')?;
        let dims: Option<Vec<u64>> = dims
            .split(',')
            .filter(|d| !d.is_empty())
            .map(|d| d.trim_start_matches("<=").parse().ok())
            .collect();
        let inner = rest.strip_prefix('{')?.strip_suffix('}')?;
        let (order, properties) = inner.split_once(':').unwrap_or((inner, ""));
        let minor_to_major: Option<Vec<u32>> =
            order.split(',').filter(|d| !d.is_empty()).map(|d| d.parse().ok()).collect();
        let at = properties.find("T(")?;
        let tail = &properties[at + 1..];
        let len = tail.find(|c: char| !(c.is_ascii_digit() || "(),*".contains(c))).unwrap_or(tail.len());
        let tiling = tail[..len].to_owned();
        let first: Vec<u64> =
            tiling.get(1..tiling.find(')')?)?.split(',').filter_map(|n| n.parse().ok()).collect();
        let tile = match first[..] {
            [columns] => (1, columns),
            [rows, columns] => (rows, columns),
            _ => return None,
        };
        Some(Self { bits, dims: dims?, minor_to_major: minor_to_major?, tile, tiling })
    }

    /// Bytes with two dimensions in the tile and all others outside of it.
    fn bytes(&self, minor: usize, second: Option<usize>) -> Option<u64> {
        let mut count = 1u64;
        for (i, d) in self.dims.iter().enumerate() {
            let size = if i == minor {
                d.checked_next_multiple_of(self.tile.1)?
            } else if Some(i) == second {
                d.checked_next_multiple_of(self.tile.0)?
            } else {
                *d
            };
            count = count.checked_mul(size)?;
        }
        Some(count.checked_mul(self.bits)?.div_ceil(8))
    }

    /// The order of dimensions that takes fewest bytes.
    fn best(&self) -> Option<(Vec<u32>, u64)> {
        let n = self.dims.len();
        if !(2..=12).contains(&n) || self.tile.0 == 0 || self.tile.1 == 0 {
            return None;
        }
        let pairs = (0..n).flat_map(|a| (0..n).filter(move |b| *b != a).map(move |b| (a, b)));
        let (bytes, minor, second) =
            pairs.filter_map(|(a, b)| Some((self.bytes(a, Some(b))?, a, b))).min()?;
        let mut order = vec![minor as u32, second as u32];
        order.extend(
            self.minor_to_major.iter().copied().filter(|d| *d as usize != minor && *d as usize != second),
        );
        Some((order, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_weighed() {
        let l = Layout::of("s32[8388608,8,4]{2,1,0:T(8,128)}").expect("a layout");
        assert_eq!((l.tile, l.tiling.as_str()), ((8, 128), "(8,128)"));
        assert_eq!(l.bytes(2, Some(1)), Some(8_388_608 * 8 * 128 * 4));
        // The long dimension as the minor one wastes nothing but for the rows of the tile.
        assert_eq!(l.best(), Some((vec![0, 1, 2], 8_388_608 * 8 * 4 * 4)));
        assert!(Layout::of("f32[4]{0}").is_none());
        assert!(
            Layout::of("bf16[8,2176,8,132,2]{2,4,3,1,0:T(2,128)(2,1)}")
                .is_some_and(|l| l.tiling == "(2,128)(2,1)")
        );
    }
}
