//! The instructions of a program in one phase of copy insertion, and how long two values that clash are wanted.

use super::{Anchor, Layer, Scene, fit, text_width};
use crate::copying::{Answer, Presence};

const ROW: f64 = 21.0;

/// The rows of an answer in a phase; what does not stand there leaves its place free. Beside them the two values that
/// would get in each other's way without the copy `selected`, from top to bottom.
pub fn copying(answer: &Answer, stage: usize, selected: Option<usize>, width: f64) -> Scene {
    let top = 22.0;
    let bottom = top + ROW * answer.rows.len() as f64;
    let mut scene = Scene { width, height: bottom + 4.0, marks: Vec::new() };
    let pair = selected.and_then(|n| answer.copies.get(n)?.pair.as_ref()).filter(|_| stage > 0);
    let lane = (width * 0.09).clamp(22.0, 64.0);
    let names = width - 2.0 * lane - 14.0;
    let y = |row: usize| top + row as f64 * ROW;
    scene.text(Layer::Axis, 0, (4.0, 12.0), Anchor::Start, "instructions".to_owned());
    if let Some(pair) = pair {
        for (n, (rows, title)) in
            [(pair.wanted_rows, "old value"), (pair.written_rows, "new value")].into_iter().enumerate()
        {
            let x = names + 8.0 + n as f64 * (lane + 4.0);
            let title = if text_width(title) > lane { &title[..3] } else { title };
            scene.text(Layer::Axis, 1 + n as u32, (x + lane / 2.0, 12.0), Anchor::Middle, title.to_owned());
            let height = y(rows.1 + 1) - y(rows.0) - 4.0;
            let band = scene.rect(Layer::Band, n as u32, (x, y(rows.0) + 2.0), (lane, height));
            band.hue = Some([4, 1][n]);
        }
        let first = pair.wanted_rows.0.max(pair.written_rows.0);
        let last = pair.wanted_rows.1.min(pair.written_rows.1);
        if first <= last {
            let size = (2.0 * lane + 8.0, y(last + 1) - y(first));
            scene.rect(Layer::Threshold, 0, (names + 6.0, y(first)), size).class = "meet";
        }
        for (row, _) in answer.rows.iter().enumerate().filter(|(_, r)| pair.readers.contains(&r.name)) {
            let at = (names + 8.0, y(row) + ROW / 2.0 - 2.0);
            scene.rect(Layer::Read, row as u32, at, (lane, 4.0));
        }
    }
    for (n, row) in answer.rows.iter().enumerate() {
        let id = n as u32;
        scene.line(Layer::Grid, id, (0.0, y(n)), (width, 0.0));
        for depth in 0..row.depth {
            let at = (6.0 + 12.0 * f64::from(depth), y(n));
            scene.line(Layer::Cap, id * 8 + depth, at, (0.0, ROW)).class = "nested";
        }
        let presence = row.presence[stage];
        let x = 6.0 + 12.0 * f64::from(row.depth) + 2.0;
        if let Some(copy) = row.copy {
            let is_selected = selected == Some(copy);
            let mark = scene.rect(Layer::RowMark, id, (x - 1.0, y(n) + 1.5), (names - x, ROW - 3.0));
            mark.value = Some(copy as u32);
            mark.class = match (presence, is_selected) {
                (Presence::Stands, true) => "copy stands chosen",
                (Presence::Stands, false) => "copy stands",
                (Presence::Idle, true) => "copy idle chosen",
                (Presence::Idle, false) => "copy idle",
                (Presence::Absent, true) => "copy absent chosen",
                (Presence::Absent, false) => "copy absent",
            };
        }
        let line = y(n) + ROW / 2.0 + 4.0;
        if presence == Presence::Absent {
            // Where something comes or goes its place stays.
            if row.copy.is_none() {
                scene.line(Layer::Ghost, id, (x + 3.0, y(n) + ROW / 2.0), (18.0, 0.0));
            }
            continue;
        }
        let room = names - x - 10.0;
        let name = fit(&row.name, room);
        let used = text_width(&name) + 10.0;
        let mark = scene.text(Layer::Label, id * 2, (x + 3.0, line), Anchor::Start, name);
        mark.value = row.copy.map(|c| c as u32);
        mark.class = if row.copy.is_some() { "inside name" } else { "name chosen" };
        let sign = if presence == Presence::Idle { "nobody reads it: " } else { "" };
        let text = fit(&format!("{sign}{}", row.text[stage]), room - used);
        if !text.is_empty() {
            scene.text(Layer::Label, id * 2 + 1, (x + 3.0 + used, line), Anchor::Start, text).class = "name";
        }
    }
    scene
}

#[cfg(test)]
mod tests {
    use super::super::Form;
    use super::*;
    use crate::copying::{CASES, Setting, answer};

    #[test]
    fn a_copy_comes_goes_and_keeps_its_place() {
        let a = answer(&Setting::default()).expect("it runs");
        let drawn = |stage| copying(&a, stage, a.suggested(), 700.0);
        let copies = |stage: usize, class: &str| {
            drawn(stage).marks.iter().filter(|m| m.class.starts_with(class)).count()
        };
        assert_eq!([0, 1, 2, 3, 4].map(|s| copies(s, "copy stands")), [0, 3, 2, 2, 2]);
        assert_eq!([0, 1, 2, 3, 4].map(|s| copies(s, "copy idle")), [0, 0, 1, 1, 0]);
        assert!((drawn(0).height - drawn(4).height).abs() < 1e-9);
        let expected = "\
700x194
axis 0 4.0,12.0 Start \"instructions\"
axis 1 599.5,12.0 Middle \"old value\"
band 0 568.0,45.0 63.0x101.0
axis 2 666.5,12.0 Middle \"new value\"
band 1 635.0,87.0 63.0x38.0
threshold 0 566.0,85.0 134.0x42.0 .meet
read 5 568.0,135.5 63.0x4.0
";
        let text = drawn(4).to_text();
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn nothing_leaves_the_figure() {
        for case in 0..CASES.len() {
            let a = answer(&Setting { case, ..Setting::default() }).expect("it runs");
            for width in [240.0, 320.0, 900.0] {
                for m in &copying(&a, 1, a.suggested(), width).marks {
                    let right = match m.form {
                        Form::Rect { w, .. } => m.x + w,
                        Form::Line { dx, .. } => m.x + dx,
                        Form::Text { .. } => m.x,
                    };
                    assert!(m.x >= 0.0 && right <= width + 0.5, "{m:?} in {width}");
                }
            }
        }
    }
}
