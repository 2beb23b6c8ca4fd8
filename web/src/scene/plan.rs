//! All allocations at one scale: what the program asks for, and what stands where in it.

use super::{Anchor, Item, Layer, Picture, Scene, SlabKind, fit, text_width};
use assigner::words::bytes;
use sorts::Arrange as _;

/// A lane's height: one value, or the first of several that never meet.
const LANE: f64 = 17.0;

/// No allocation is drawn narrower than this.
const LEAST: f64 = 8.0;

/// In the order of the figure: what the caller brings, what it takes away, what the program came with, what it needs
/// while it runs.
const KINDS: [SlabKind; 5] =
    [SlabKind::Parameter, SlabKind::Result, SlabKind::Constant, SlabKind::ThreadLocal, SlabKind::Temp];

/// A kind in words, for so many.
fn heading(kind: SlabKind, count: usize) -> String {
    let one = match kind {
        SlabKind::Parameter => "entry parameter",
        SlabKind::Result => "result",
        SlabKind::Constant => "constant",
        SlabKind::ThreadLocal => "thread-local",
        SlabKind::Temp => "temporary slab",
    };
    match (kind, count) {
        (_, 1) => format!("1 {one}"),
        (SlabKind::ThreadLocal, n) => format!("{n} {one}"),
        (_, n) => format!("{n} {one}s"),
    }
}

/// Draws each allocation as long as it is large; in it, a lane for each value that is alive while another one is, at the
/// bytes it stands on. The earliest stand lowest.
pub fn plan(picture: &Picture, selected: Option<u32>, width: f64) -> Scene {
    let mut scene = Scene { width, height: 0.0, marks: Vec::new() };
    let largest = picture.slabs.iter().map(|s| s.size).max().unwrap_or(1).max(1);
    let scale = (width - 2.0) / largest as f64;
    let mates: Vec<u32> =
        selected.map_or_else(Vec::new, |s| picture.mates(s).iter().map(|m| m.value).collect());
    let mut y = 4.0;
    for kind in KINDS {
        let slabs: Vec<usize> = (0..picture.slabs.len()).filter(|i| picture.slabs[*i].kind == kind).collect();
        if slabs.is_empty() {
            continue;
        }
        let sum: u64 = slabs.iter().map(|i| picture.slabs[*i].size).sum();
        let text = heading(kind, slabs.len());
        let room = text_width(&text) * 1.1 + 10.0;
        scene.text(Layer::Axis, kind as u32 * 2, (1.0, y + 11.0), Anchor::Start, text).class = "kind";
        scene.text(Layer::Axis, kind as u32 * 2 + 1, (1.0 + room, y + 11.0), Anchor::Start, bytes(sum));
        y += 19.0;
        // Side by side while they fit, so that ten small ones take one line.
        let (mut x, mut line) = (1.0, 0.0_f64);
        for i in slabs {
            let slab = &picture.slabs[i];
            let w = (slab.size as f64 * scale).max(LEAST);
            if x > 1.0 && x + w > width - 1.0 {
                (x, y, line) = (1.0, y + line + 6.0, 0.0);
            }
            let mut items: Vec<&Item> = picture.items.iter().filter(|item| item.slab == Some(i)).collect();
            items.arrange_by_key(|item| (item.start, item.end, item.value));
            // A value goes below the others unless there is a lane in which nothing is in its way, at any time.
            let mut lanes: Vec<Vec<&Item>> = Vec::new();
            for item in items {
                let free = lanes
                    .iter_mut()
                    .find(|l| l.iter().all(|o| o.offset >= item.top() || item.offset >= o.top()));
                match free {
                    Some(lane) => lane.push(item),
                    None => lanes.push(vec![item]),
                }
            }
            let h = LANE * lanes.len().max(1) as f64;
            let ground = scene.rect(Layer::Ground, i as u32, (x, y), (w, h));
            ground.class = "frame";
            for (n, item) in lanes.iter().enumerate().flat_map(|(n, l)| l.iter().map(move |i| (n, *i))) {
                let left = x + item.offset as f64 * scale;
                let across = (item.size as f64 * scale).max(if slab.size == item.size { LEAST } else { 2.0 });
                let at = (left.min(x + w - 2.0), y + h - LANE * (n + 1) as f64);
                let band = scene.rect(Layer::Band, item.value, at, (across.min(x + w - at.0), LANE - 1.0));
                band.value = Some(item.value);
                band.hue = Some(item.hue);
                band.class = if selected == Some(item.value) {
                    "selected"
                } else if mates.contains(&item.value) {
                    "mate"
                } else {
                    ""
                };
                let name = fit(&item.name, across - 8.0);
                if !name.is_empty() {
                    let base = at.1 + LANE - 5.5;
                    let mark = scene.text(Layer::Label, item.value, (at.0 + 4.0, base), Anchor::Start, name);
                    mark.value = Some(item.value);
                    mark.class = "inside";
                }
            }
            x += w + 4.0;
            line = line.max(h);
        }
        y += line + 12.0;
    }
    scene.height = y;
    scene
}

#[cfg(test)]
mod tests {
    use super::super::tests::picture;
    use super::*;
    use crate::scene::Form;

    #[test]
    fn values_stand_at_their_bytes_and_share_them_in_lanes() {
        let p = picture(9, "a 0 3 0 1000\nb 4 8 0 500\nc 4 8 512 400");
        let scene = plan(&p, Some(0), 402.0);
        let band = |value: u32| {
            let m = scene.marks.iter().find(|m| m.layer == Layer::Band && m.value == Some(value)).unwrap();
            let Form::Rect { w, .. } = m.form else { panic!("a rectangle") };
            (m.x, m.y, w, m.class)
        };
        let (a, b, c) = (band(0), band(1), band(2));
        assert!((a.0 - b.0).abs() < 1e-9 && c.0 > b.0, "by offset");
        assert!(b.1 < a.1, "the earlier one stands lower");
        assert!((b.1 - c.1).abs() < 1e-9, "what stands on other bytes needs no lane of its own");
        assert_eq!((a.3, b.3, c.3), ("selected", "mate", "mate"));
        assert!((a.2 - 100.0).abs() < 1e-9, "to scale with the largest allocation, the parameter");
    }

    #[test]
    fn nothing_leaves_the_figure() {
        let p = picture(9, "a 0 3 0 1000\nb 4 8 0 500\nc 4 8 4000 4");
        for width in [260.0, 900.0] {
            for m in &plan(&p, None, width).marks {
                if let Form::Rect { w, .. } = m.form {
                    assert!(m.x >= 0.0 && m.x + w <= width + 0.5, "{m:?}");
                }
            }
        }
    }
}
