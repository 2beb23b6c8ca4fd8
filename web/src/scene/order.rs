//! The schedule from the top to the bottom: the instructions, the values between them, and the bytes that are alive.

use super::{Anchor, Curve, Item, Layer, Picture, Scene, SlabKind, fit};
use assigner::words::bytes;
use sorts::Arrange as _;

/// An instruction at its step.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OrderRow {
    /// Its number in the module.
    pub instruction: u32,
    /// Its name.
    pub name: String,
    /// The computation it stands in.
    pub computation: u32,
    /// How many calls deep.
    pub depth: u32,
    /// Its place in its computation.
    pub slot: u32,
    /// The value it writes: the first one that has a range.
    pub value: Option<u32>,
}

/// A drawn order, and what is needed to find things on it again.
#[derive(Clone, PartialEq, Debug)]
pub struct Order {
    /// The picture.
    pub scene: Scene,
    /// A row's height.
    pub row_height: f64,
    /// Where the first row begins.
    pub top: f64,
    /// How many rows there are.
    pub rows: u32,
    /// Where names end and values begin.
    pub names: f64,
}

impl Order {
    /// The step at a height, the nearest there is.
    pub fn step_at(&self, y: f64) -> u32 {
        let step = ((y - self.top) / self.row_height).floor();
        (step.max(0.0) as u32).min(self.rows.saturating_sub(1))
    }

    /// The middle of a step's row.
    pub fn middle(&self, step: u32) -> f64 {
        self.top + (f64::from(step) + 0.5) * self.row_height
    }
}

/// What is shown of an order beside the order itself.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Width in CSS pixels.
    pub width: f64,
    /// The step of the instruction that may be moved.
    pub selected: Option<u32>,
    /// The first and the last step at which it may stand.
    pub range: Option<(u32, u32)>,
}

/// Draws the order of `now`; `base` is the module's own, whose bytes leave a ghost.
pub fn order(
    rows: &[OrderRow],
    (base, base_curve): (&Picture, &Curve),
    (now, curve): (&Picture, &Curve),
    shown: Shown,
) -> Order {
    let width = shown.width;
    let row_height = if rows.len() <= 32 { 22.0 } else { 17.0 };
    let top = 20.0;
    let bottom = top + row_height * rows.len() as f64;
    let mut scene = Scene { width, height: bottom + 4.0, marks: Vec::new() };
    let row = |step: u32| top + f64::from(step) * row_height;
    let line = |step: u32| row(step) + row_height / 2.0 + 3.8;

    // Each value has its own lane, in the order in which the module has them: so that a lane stays where it is.
    let mut items: Vec<&Item> = base.items.iter().filter(|i| is_drawn(base, i)).collect();
    items.arrange_by_key(|i| (i.start, i.end, i.value));
    let names = (width * 0.34).clamp(104.0, 230.0);
    let lane = ((width * 0.33) / items.len().max(1) as f64).clamp(3.5, 14.0);
    let bars = names + 8.0 + lane * items.len() as f64 + 12.0;

    for (at, title, x) in [(0, "step", 4.0), (1, "values, from writing to last reading", names + 8.0)] {
        let title = fit(title, if at == 0 { 60.0 } else { bars - names - 16.0 });
        scene.text(Layer::Axis, at, (x, 11.0), Anchor::Start, title);
    }
    scene.text(Layer::Axis, 2, (width - 4.0, 11.0), Anchor::End, "live bytes".to_owned());

    if let Some((first, last)) = shown.range {
        let h = row(last + 1) - row(first);
        scene.rect(Layer::RowMark, 0, (0.0, row(first)), (names, h)).class = "allowed";
    }
    if let Some(step) = shown.selected {
        scene.rect(Layer::RowMark, 1, (0.0, row(step)), (width, row_height)).class = "chosen";
    }
    let most = base_curve.assigned.max(curve.assigned).max(1) as f64;
    let scale = (width - 6.0 - bars) / (most * 1.02);
    for (step, r) in rows.iter().enumerate() {
        let step = step as u32;
        scene.line(Layer::Grid, step, (0.0, row(step)), (width, 0.0));
        scene.text(Layer::Axis, 10 + step, (22.0, line(step)), Anchor::End, step.to_string());
        // What is called runs before its caller: set in, with a rule at its side.
        let x = 30.0 + 12.0 * f64::from(r.depth);
        for depth in 0..r.depth {
            let at = (32.0 + 12.0 * f64::from(depth), row(step));
            scene.line(Layer::Cap, step * 8 + depth, at, (0.0, row_height)).class = "nested";
        }
        let name = fit(&r.name, names - x - 18.0);
        let mark = scene.text(Layer::Label, r.instruction, (x, line(step)), Anchor::Start, name);
        mark.value = r.value;
        mark.class = if shown.selected == Some(step) { "name chosen" } else { "name" };

        let used = curve.bytes.get(step as usize).copied().unwrap_or(0);
        let at = (bars, row(step) + 2.5);
        let bar = scene.rect(Layer::Padding, step, at, (used as f64 * scale, row_height - 5.0));
        bar.class = if curve.floor > 0 && used == curve.floor { "use most" } else { "use" };
        let before = base_curve.bytes.get(step as usize).copied().unwrap_or(0);
        if before != used {
            let at = (bars + before as f64 * scale, row(step) + 1.0);
            scene.line(Layer::Ghost, step, at, (0.0, row_height - 2.0)).class = "selected";
        }
    }
    for (n, old) in items.iter().enumerate() {
        let Some(item) = now.item(old.value) else { continue };
        let x = names + 8.0 + lane * n as f64;
        let w = (lane - 3.0).max(2.0);
        let last = item.end.min(rows.len().saturating_sub(1) as u32);
        let y = row(item.start) + 3.0;
        let band = scene.rect(Layer::Band, item.value, (x, y), (w, row(last + 1) - 3.0 - y));
        band.value = Some(item.value);
        band.hue = Some(item.hue);
        band.class = if now.is_temp(item) { "" } else { "other" };
        for (k, read) in item.reads.iter().enumerate().filter(|(_, r)| **r <= last) {
            let y = row(*read) + row_height / 2.0 - 2.0;
            let mark = scene.rect(Layer::Read, item.value * 64 + (k as u32).min(63), (x, y), (w, 4.0));
            mark.value = Some(item.value);
        }
    }
    let heap = bars + curve.assigned as f64 * scale;
    scene.line(Layer::Peak, 0, (heap, top), (0.0, bottom - top)).class = "heap-size";
    let label = format!("heap {}", bytes(curve.assigned));
    let title = super::text_width(&label) < width - bars - 70.0;
    if title && curve.assigned > 0 {
        scene.text(Layer::Axis, 3, (bars, 11.0), Anchor::Start, label).class = "top";
    }
    if base_curve.assigned != curve.assigned {
        let x = bars + base_curve.assigned as f64 * scale;
        scene.line(Layer::Ghost, u32::MAX, (x, top), (0.0, bottom - top)).class = "top";
    }
    Order { scene, row_height, top, rows: rows.len() as u32, names }
}

/// Values that a place in the order decides about: not the caller's memory, nor what was there before.
fn is_drawn(picture: &Picture, item: &Item) -> bool {
    item.slab.is_some_and(|s| matches!(picture.slabs[s].kind, SlabKind::Temp | SlabKind::Result))
        && item.size > 0
}

#[cfg(test)]
mod tests {
    use super::super::tests::picture;
    use super::super::{Form, curve};
    use super::*;

    fn rows(n: u32) -> Vec<OrderRow> {
        (0..n).map(|i| OrderRow { instruction: i, name: format!("i.{i}"), ..OrderRow::default() }).collect()
    }

    #[test]
    fn a_line_a_value_from_its_writing_to_its_last_reading() {
        let p = picture(6, "a 0 3 0 100\nb 2 5 128 100");
        let c = curve(&p);
        let shown = Shown { width: 600.0, selected: Some(2), range: Some((1, 4)) };
        let o = order(&rows(6), (&p, &c), (&p, &c), shown);
        let bands: Vec<_> = o.scene.marks.iter().filter(|m| m.layer == Layer::Band).collect();
        assert_eq!(bands.len(), 2);
        assert!((bands[0].y - (o.top + 3.0)).abs() < 1e-9);
        assert!(bands[0].x < bands[1].x);
        assert_eq!((o.step_at(o.middle(2)), o.step_at(-50.0), o.step_at(1e6)), (2, 0, 5));
        let most = o.scene.marks.iter().filter(|m| m.class == "use most").count();
        assert_eq!(most, 2, "steps 2 and 3 hold both");
    }

    #[test]
    fn nothing_leaves_the_figure() {
        let p = picture(6, "a 0 3 0 100\nb 2 5 128 100");
        let c = curve(&p);
        for width in [260.0, 320.0, 1000.0] {
            let shown = Shown { width, selected: None, range: None };
            for m in &order(&rows(6), (&p, &c), (&p, &c), shown).scene.marks {
                if let Form::Rect { w, .. } = m.form {
                    assert!(m.x >= 0.0 && m.x + w <= width + 0.5, "{m:?} in {width}");
                }
            }
        }
    }
}
