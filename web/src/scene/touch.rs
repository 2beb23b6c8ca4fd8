//! Two values whose ranges touch: their ranges, with the step at which they do, and their places in the heap below.

use super::{Anchor, Layer, Picture, Scene, Steps, fit, text_width};
use assigner::words::grouped;

/// Its height in CSS pixels.
pub const TOUCH_HEIGHT: f64 = 268.0;

const ROW: f64 = 24.0;

/// The heap: top and bottom.
const HEAP: (f64, f64) = (112.0, 244.0);

/// The ranges of `early` and `later`, and the heap. The step that reads the one and writes the other is marked.
pub fn touch(picture: &Picture, early: u32, later: u32, width: f64) -> Scene {
    let steps = Steps::new(64.0, width - 8.0, picture.last());
    let mut scene = Scene { width, height: TOUCH_HEIGHT, marks: Vec::new() };
    let (top, bottom) = HEAP;
    if let Some(item) = picture.item(later) {
        let at = (steps.x(item.start), 0.0);
        scene.rect(Layer::RowMark, 0, at, (steps.column, bottom));
    }
    for (row, value) in [early, later].into_iter().enumerate() {
        let Some(item) = picture.item(value) else { continue };
        let y = 8.0 + row as f64 * (ROW + 8.0);
        let (x, w) = (steps.x(item.start), steps.after(item.end) - steps.x(item.start));
        let band = scene.rect(Layer::Band, row as u32, (x, y), (w, ROW));
        (band.value, band.hue) = (Some(value), Some(item.hue));
        let name = scene.text(Layer::Label, row as u32, (58.0, y + 16.0), Anchor::End, fit(&item.name, 56.0));
        (name.value, name.class) = (Some(value), "name");
        let words = format!("step {} to {}", item.start, item.end);
        if text_width(&words) + 10.0 <= w {
            let said = scene.text(Layer::Label, 10 + row as u32, (x + 5.0, y + 16.0), Anchor::Start, words);
            (said.value, said.class) = (Some(value), "inside");
        }
    }
    for (n, step) in picture.steps.iter().enumerate() {
        let name = fit(&step.name, steps.column - 4.0);
        scene.text(Layer::Axis, n as u32, (steps.middle(n as u32), 88.0), Anchor::Middle, name);
    }
    let size = picture.heap_size();
    let scale = (bottom - top) / size.max(1) as f64;
    let y = |address: u64| bottom - address as f64 * scale;
    let across = steps.right() - steps.left;
    scene.rect(Layer::Ground, 0, (steps.left, top), (across, bottom - top));
    for (n, address) in [0, size].into_iter().enumerate() {
        scene.line(Layer::Grid, n as u32, (steps.left, y(address)), (across, 0.0));
        let at = (steps.left - 6.0, y(address) + 3.8);
        scene.text(Layer::Axis, 100 + n as u32, at, Anchor::End, grouped(address));
    }
    for item in picture.temps().filter(|i| i.size > 0) {
        let (x, w) = (steps.x(item.start), steps.after(item.end) - steps.x(item.start));
        let h = item.size as f64 * scale;
        let band = scene.rect(Layer::Band, 100 + item.value, (x, y(item.top())), (w, h));
        (band.value, band.hue) = (Some(item.value), Some(item.hue));
        let name = fit(&item.name, w - 10.0);
        if !name.is_empty() && h > 14.0 {
            // Where two stand at one address the earlier one's name stands above the later one's.
            let down = if item.value == later { 26.0 } else { 13.0 };
            let said = scene.text(
                Layer::Label,
                100 + item.value,
                (x + 5.0, y(item.top()) + down),
                Anchor::Start,
                name,
            );
            (said.value, said.class) = (Some(item.value), "inside name");
        }
    }
    scene.text(
        Layer::Axis,
        200,
        (steps.left, bottom + 16.0),
        Anchor::Start,
        "addresses of the heap".to_owned(),
    );
    scene
}

#[cfg(test)]
mod tests {
    use super::super::tests::picture;
    use super::*;

    #[test]
    fn the_step_where_they_touch_is_in_both_ranges() {
        let shared = picture(4, "early 1 2 0 1024\nlater 2 3 0 1024");
        let drawn = touch(&shared, 0, 1, 360.0).to_text();
        let expected = "\
360x268
row-mark 0 179.2,0.0 57.6x244.0
band 0 121.6,8.0 115.2x24.0
label 0 58.0,24.0 End \"early\" .name
label 10 126.6,24.0 Start \"step 1 to 2\" .inside
band 1 179.2,40.0 115.2x24.0
";
        assert!(drawn.starts_with(expected), "{drawn}");
        let apart = picture(4, "early 1 2 0 1024\nlater 2 3 1024 1024");
        let drawn = touch(&apart, 0, 1, 360.0).to_text();
        assert!(drawn.contains("band 100 121.6,178.0 115.2x66.0"), "{drawn}");
        assert!(drawn.contains("band 101 179.2,112.0 115.2x66.0"), "{drawn}");
    }
}
