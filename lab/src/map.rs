//! What is drawn of an assignment, in columns.

use crate::talk::{MapData, SlabFace, Source, SpaceCurve};
use questions::{Role, Study};

/// A module that claims more steps than this is drawn up to here.
const MOST_STEPS: u32 = 50_000_000;

/// One of ten colours that stays with a name, whatever else changes.
pub(crate) fn hue(name: &str) -> u8 {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    ((hash >> 32) % 10) as u8
}

/// The columns. Temporaries come first, the largest allocations before the others; thread-local memory is left out,
/// because it is not reserved before the program runs.
pub(crate) fn map(study: &Study, peak: &questions::Peak, source: Source) -> MapData {
    let mut order: Vec<usize> =
        (0..study.slabs.len()).filter(|s| study.slabs[*s].role != Role::ThreadLocal).collect();
    order.sort_by_key(|s| {
        let slab = &study.slabs[*s];
        (slab.role != Role::Temp, slab.color, std::cmp::Reverse(slab.size), slab.number)
    });
    let mut at = vec![None; study.slabs.len()];
    let mut out = MapData { source, end: study.end.min(MOST_STEPS), ..MapData::default() };
    for s in order {
        let slab = &study.slabs[s];
        at[s] = Some(out.slabs.len() as u32);
        out.slabs.push(SlabFace {
            number: slab.number,
            kind: slab.role.into(),
            color: slab.color,
            size: slab.size,
        });
    }
    for (i, row) in study.rows.iter().enumerate() {
        let (Some(slab), Some((start, last))) = (at[row.slab], row.range) else { continue };
        if row.size == 0 {
            continue;
        }
        out.row.push(i as u32);
        out.slab.push(slab);
        out.start.push(start);
        out.last.push(last.max(start));
        out.offset.push(row.offset);
        out.size.push(row.size);
        out.hue.push(hue(&row.name.instruction));
    }
    out.curves = curves(peak);
    out.spaces = peak.spaces.iter().map(|s| curve(&questions::fullest_step(study, Some(s.color)))).collect();
    out.everything = match &out.spaces[..] {
        [only] => only.clone(),
        _ => curve(&questions::fullest_step(study, None)),
    };
    out
}

/// One curve.
pub(crate) fn curve(s: &questions::SpacePeak) -> SpaceCurve {
    SpaceCurve { color: s.color, temp: s.temp, peak: (s.step, s.live), points: s.curve.clone(), bounds: None }
}

/// How much is taken of each memory space that has temporaries.
pub(crate) fn curves(peak: &questions::Peak) -> Vec<SpaceCurve> {
    peak.spaces.iter().filter(|s| s.temp > 0).map(curve).collect()
}
