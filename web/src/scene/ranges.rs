//! A few live ranges, large: a row a value, in words and as columns.

use super::{Anchor, Layer, Picture, Scene, Steps, fit, text_width};
use assigner::words::bytes;

/// A row's height.
const ROW: f64 = 46.0;

/// Draws the ranges of `values`, from the top. The columns of `shade`, first and last, are marked as those at which two of
/// them meet.
pub fn ranges(
    picture: &Picture,
    values: &[u32],
    shade: Option<(u32, u32)>,
    selected: Option<u32>,
    width: f64,
) -> Scene {
    let steps = Steps::new(6.0, width - 6.0, picture.last());
    let top = 20.0;
    let bottom = top + ROW * values.len() as f64;
    let mut scene = Scene { width, height: bottom + 22.0, marks: Vec::new() };
    for step in steps.ticks(26.0) {
        scene.line(Layer::Grid, step, (steps.middle(step), top - 4.0), (0.0, bottom - top + 4.0));
        scene.text(Layer::Axis, step, (steps.middle(step), 12.0), Anchor::Middle, step.to_string());
    }
    if let Some((first, last)) = shade {
        let (x, w) = (steps.x(first), steps.after(last) - steps.x(first));
        scene.rect(Layer::RowMark, 0, (x, top - 4.0), (w, bottom - top + 4.0)).class = "meet";
        let text = if first == last {
            format!("both at step {first}: {} runs", picture.step_name(first))
        } else {
            format!("both from step {first} to step {last}: {} steps", last - first + 1)
        };
        let text = fit(&text, width - 8.0);
        let half = text_width(&text) * 0.53;
        let x = (x + w / 2.0).clamp(half + 2.0, (width - half - 2.0).max(half + 2.0));
        scene.text(Layer::Axis, 5000, (x, bottom + 14.0), Anchor::Middle, text).class = "top";
    }
    for (n, item) in values.iter().filter_map(|v| picture.item(*v)).enumerate() {
        let y = top + ROW * n as f64;
        let (x, w) = (steps.x(item.start), steps.after(item.end) - steps.x(item.start));
        let words = if item.start == item.end {
            format!("{} · {} · step {}", item.name, bytes(item.bytes), item.start)
        } else {
            format!("{} · {} · steps {} to {}", item.name, bytes(item.bytes), item.start, item.end)
        };
        let words = fit(&words, width - 8.0);
        // Beginning with its bar, unless that would push it out of the figure.
        let at = x.min((width - text_width(&words) - 4.0).max(2.0));
        let mark = scene.text(Layer::Label, item.value, (at, y + 13.0), Anchor::Start, words);
        mark.value = Some(item.value);
        mark.class = "range-name";
        let (bar, h) = (y + 19.0, 18.0);
        let band = scene.rect(Layer::Band, item.value, (x, bar), (w, h));
        band.value = Some(item.value);
        band.hue = Some(item.hue);
        band.class = if selected == Some(item.value) { "selected" } else { "" };
        // Both ends belong to it: a cap in the first and in the last column.
        let cap = (steps.column * 0.3).clamp(2.0, 5.0).min(w / 2.0);
        for (side, at) in [x, x + w - cap].into_iter().enumerate() {
            let mark = scene.rect(Layer::Cap, item.value * 2 + side as u32, (at, bar), (cap, h));
            mark.value = Some(item.value);
            mark.hue = Some(item.hue);
        }
        for read in &item.reads {
            let w = (steps.column * 0.4).clamp(2.0, 6.0);
            let at = (steps.middle(*read) - w / 2.0, bar + h / 2.0 - 3.0);
            let mark = scene.rect(Layer::Read, n as u32 * 4096 + read % 4096, at, (w, 6.0));
            // A read outside of the range: another value of the same buffer has taken over by then.
            mark.class = if (item.start..=item.end).contains(read) { "" } else { "beyond" };
        }
    }
    scene
}

/// The steps at which both are wanted, first and last.
pub fn overlap(picture: &Picture, a: u32, b: u32) -> Option<(u32, u32)> {
    let (a, b) = (picture.item(a)?, picture.item(b)?);
    let (first, last) = (a.start.max(b.start), a.end.min(b.end));
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::super::Form;
    use super::super::tests::picture;
    use super::*;

    #[test]
    fn written_where_the_other_is_last_read_is_an_overlap_of_one_step() {
        let p = picture(9, "a 2 7 0 100\nb 7 8 128 100\nc 8 9 0 100");
        assert_eq!((overlap(&p, 0, 1), overlap(&p, 1, 0)), (Some((7, 7)), Some((7, 7))));
        assert_eq!(overlap(&p, 0, 2), None);
        let scene = ranges(&p, &[0, 1], overlap(&p, 0, 1), None, 400.0);
        assert!(scene.to_text().contains("\"both at step 7: i.7 runs\""), "{}", scene.to_text());
    }

    #[test]
    fn nothing_leaves_the_figure() {
        let p = picture(9, "a_rather_long_name.12 0 9 0 100\nb_another_long_name.7 9 9 128 100");
        for width in [250.0, 900.0] {
            for m in &ranges(&p, &[0, 1], overlap(&p, 0, 1), None, width).marks {
                if let Form::Rect { w, .. } = m.form {
                    assert!(m.x >= 0.0 && m.x + w <= width + 0.5, "{m:?}");
                }
            }
        }
    }
}
