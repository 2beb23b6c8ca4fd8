//! What a heap is made of, as one bar; and the heap of each packer, small, all on the same axes.

use super::{Anchor, Layer, Picture, Scene, Steps, text_width};
use crate::fragmentation::Gap;
use assigner::words::{bytes, grouped};

/// The height of the bar's figure in CSS pixels.
pub const GAP_HEIGHT: f64 = 96.0;

/// The bar itself: top and height.
const BAR: (f64, f64) = (28.0, 34.0);

/// The bar from 0 to what is assigned: what is alive at once, what the packer loses, what alignment adds. `most` bytes
/// are as wide as the figure, so that bars of several alignments can be compared. `best` is the optimum, if it is known.
pub fn gap(gap: &Gap, best: Option<u64>, most: u64, width: f64) -> Scene {
    let (left, right) = (1.0, width - 1.0);
    let scale = (right - left) / (most.max(gap.assigned).max(gap.free).max(1) as f64 * 1.02);
    let x = |at: u64| left + at as f64 * scale;
    let (top, height) = BAR;
    let mut scene = Scene { width, height: GAP_HEIGHT, marks: Vec::new() };
    let mut part = |id: u32, from: u64, to: u64, class: &'static str| {
        if to > from {
            let w = (x(to) - x(from)).max(1.5);
            scene.rect(Layer::Band, id, (x(from), top), (w, height)).class = class;
            let name = if id == 0 { "alive at once" } else { class };
            if text_width(name) + 8.0 <= w {
                scene.text(Layer::Label, id, (x(from) + 4.0, top + 14.0), Anchor::Start, name.to_owned());
            }
            let size = bytes(to - from);
            if text_width(&size) + 8.0 <= w {
                scene.text(Layer::Label, 10 + id, (x(from) + 4.0, top + 27.0), Anchor::Start, size);
            }
        }
    };
    part(0, 0, gap.floor, "floor");
    part(1, gap.floor, gap.free.min(gap.assigned).max(gap.floor), "packer");
    part(2, gap.free, gap.assigned, "alignment");
    if gap.free > gap.assigned {
        scene.rect(Layer::Ghost, 0, (x(gap.assigned), top), (x(gap.free) - x(gap.assigned), height));
    }
    // The bound above the bar, the heap's end below it: two numbers that may stand close together.
    let over = |at: f64, text: &str| {
        let half = text_width(text) / 2.0;
        at.clamp(left + half, (right - half).max(left + half))
    };
    let bound = best.map_or_else(
        || format!("not below {}", grouped(gap.aligned_floor)),
        |best| format!("optimum {}", grouped(best)),
    );
    let at = x(best.unwrap_or(gap.aligned_floor));
    scene.line(Layer::Threshold, 0, (at, top - 9.0), (0.0, 13.0)).class = "tick";
    scene.text(Layer::Threshold, 1, (over(at, &bound), top - 13.0), Anchor::Middle, bound.clone()).class =
        "word";
    let end = format!("heap {}", grouped(gap.assigned));
    let at = x(gap.assigned);
    scene.line(Layer::Peak, 0, (at, top), (0.0, height + 8.0));
    scene.text(Layer::Axis, 0, (over(at, &end), top + height + 21.0), Anchor::Middle, end.clone()).class =
        "top";
    let zero = "0".to_owned();
    if over(at, &end) - text_width(&end) / 2.0 > 16.0 {
        scene.text(Layer::Axis, 1, (left, top + height + 21.0), Anchor::Start, zero);
    }
    scene
}

/// A packer's heap, small: its size, and value, offset and size of each place. Addresses go up to `most` in each, so that
/// heights can be compared; the line is its own end.
pub fn small(
    picture: &Picture,
    (total, places): (u64, &[(u32, u64, u64)]),
    most: u64,
    (width, height): (f64, f64),
) -> Scene {
    let steps = Steps::new(1.0, width - 1.0, picture.last());
    let (top, bottom) = (14.0, height - 2.0);
    let scale = (bottom - top) / most.max(total).max(1) as f64;
    let y = |address: u64| bottom - address as f64 * scale;
    let across = steps.right() - steps.left;
    let mut scene = Scene { width, height, marks: Vec::new() };
    scene.rect(Layer::Ground, 0, (steps.left, y(total)), (across, total as f64 * scale));
    for (value, offset, size) in places {
        let Some(item) = picture.item(*value).filter(|_| *size > 0) else { continue };
        let (x, w) = (steps.x(item.start), (steps.after(item.end) - steps.x(item.start)).max(1.0));
        let h = (*size as f64 * scale).max(1.0);
        let band = scene.rect(Layer::Band, *value, (x, y(*offset) - h), (w, h));
        band.value = Some(*value);
        band.hue = Some(item.hue);
    }
    scene.line(Layer::Grid, 0, (steps.left, y(total)), (across, 0.0)).class = "top";
    let size = grouped(total);
    let at = (steps.right(), (y(total) - 3.0).max(10.0));
    scene.text(Layer::Axis, 0, at, Anchor::End, size).class = "top";
    scene
}

#[cfg(test)]
mod tests {
    use super::super::tests::picture;
    use super::*;

    const GAP: Gap =
        Gap { alignment: 64, floor: 22316, aligned_floor: 22660, free: 24624, assigned: 25028, temp: 25028 };

    #[test]
    fn a_whole_bar() {
        let expected = "\
600x96
band 0 1.0,28.0 522.7x34.0 .floor
label 0 5.0,42.0 Start \"alive at once\"
label 10 5.0,55.0 Start \"22,316 B\"
band 1 523.7,28.0 54.1x34.0 .packer
label 1 527.7,42.0 Start \"packer\"
label 11 527.7,55.0 Start \"2,308 B\"
band 2 577.8,28.0 9.5x34.0 .alignment
threshold 0 531.8,19.0 to 0.0,13.0 .tick
threshold 1 531.8,15.0 Middle \"not below 22,660\" .word
peak 0 587.3,28.0 to 0.0,42.0
axis 0 564.4,83.0 Middle \"heap 25,028\" .top
axis 1 1.0,83.0 Start \"0\"
";
        assert_eq!(gap(&GAP, None, 0, 600.0).to_text(), expected);
    }

    #[test]
    fn a_known_optimum_takes_the_place_of_the_bound() {
        let text = gap(&GAP, Some(23000), 0, 600.0).to_text();
        assert!(text.contains("\"optimum 23,000\"") && !text.contains("not below"), "{text}");
    }

    #[test]
    fn what_alignment_saves_is_a_ghost() {
        let lucky = Gap { assigned: 24000, ..GAP };
        let text = gap(&lucky, None, 0, 600.0).to_text();
        assert!(text.contains("ghost 0 ") && !text.contains(".alignment"), "{text}");
    }

    #[test]
    fn nothing_leaves_the_figure() {
        for width in [280.0, 600.0, 1100.0] {
            for m in &gap(&GAP, None, 60000, width).marks {
                if let super::super::Form::Text { text, anchor: Anchor::Middle } = &m.form {
                    let half = text_width(text) / 2.0;
                    assert!(m.x - half >= 0.0 && m.x + half <= width, "{text} at {} in {width}", m.x);
                }
            }
        }
    }

    #[test]
    fn small_heaps_have_one_scale() {
        let p = picture(9, "a 0 4 0 100\nb 3 8 128 100");
        let drawn = |size, offset| small(&p, (size, &[(0, 0, 100), (1, offset, 100)]), 400, (100.0, 116.0));
        let (one, two) = (drawn(200, 100), drawn(400, 300));
        let height = |s: &Scene| {
            s.marks.iter().filter(|m| m.layer == Layer::Band).map(|m| m.form.clone()).collect::<Vec<_>>()
        };
        assert_eq!(height(&one), height(&two));
        assert!(one.to_text().contains("\"200\"") && two.to_text().contains("\"400\""));
    }
}
