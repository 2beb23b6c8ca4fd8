//! All allocations, by what they are for.

use super::{Picture, SlabKind};

/// One kind of allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlabRow {
    /// What they are for.
    pub kind: SlabKind,
    /// How many.
    pub count: usize,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Each one, or none where there are too many to tell apart: index into [`Picture::slabs`] and width in thousandths
    /// of the row.
    pub blocks: Vec<(usize, u32)>,
    /// The row's length against the longest one, in thousandths.
    pub length: u32,
}

/// No more blocks than this are drawn in one row.
const MOST: usize = 48;

/// One row a kind that occurs, temporaries first.
pub fn slabs(picture: &Picture) -> Vec<SlabRow> {
    let mut rows: Vec<SlabRow> = Vec::new();
    for kind in
        [SlabKind::Temp, SlabKind::Parameter, SlabKind::Result, SlabKind::Constant, SlabKind::ThreadLocal]
    {
        let of_kind: Vec<usize> =
            (0..picture.slabs.len()).filter(|i| picture.slabs[*i].kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let bytes: u64 = of_kind.iter().map(|i| picture.slabs[*i].size).sum();
        let share = |part: u64, whole: u64| (u128::from(part) * 1000 / u128::from(whole.max(1))) as u32;
        let blocks = if of_kind.len() > MOST {
            Vec::new()
        } else {
            of_kind.iter().map(|i| (*i, share(picture.slabs[*i].size, bytes))).collect()
        };
        rows.push(SlabRow { kind, count: of_kind.len(), bytes, blocks, length: 0 });
    }
    let longest = rows.iter().map(|r| r.bytes).max().unwrap_or(1).max(1);
    for row in &mut rows {
        row.length = (u128::from(row.bytes) * 1000 / u128::from(longest)) as u32;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::tests::picture;
    use super::*;

    #[test]
    fn kinds_come_with_their_bytes() {
        let rows = slabs(&picture(9, "a 0 4 0 1000\nb 3 8 1000 1000"));
        let seen: Vec<_> = rows.iter().map(|r| (r.kind, r.count, r.bytes, r.length)).collect();
        assert_eq!(seen, [(SlabKind::Temp, 1, 2000, 500), (SlabKind::Parameter, 1, 4000, 1000)]);
    }
}
