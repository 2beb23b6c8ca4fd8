//! The timeline: a row a buffer, the steps across.

use super::{Anchor, Form, Item, Layer, Picture, Scene, Steps, fit, text_width};
use crate::state::End;
use assigner::words::bytes;
use sorts::Arrange as _;

/// How far outside of a bar its handles can be taken hold of, in CSS pixels.
const GRIP: f64 = 22.0;

/// One row: a buffer with its values, in order of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The buffer.
    pub buffer: u32,
    /// Its values.
    pub values: Vec<u32>,
}

/// A drawn timeline, and what is needed to find things on it again.
#[derive(Clone, PartialEq, Debug)]
pub struct Timeline {
    /// The picture.
    pub scene: Scene,
    /// The steps across.
    pub steps: Steps,
    /// The rows from the top.
    pub rows: Vec<Row>,
    /// A row's height.
    pub row_height: f64,
    /// Where the first row begins.
    pub top: f64,
}

/// Where a sharing breaks, as drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Threshold {
    /// At this step, if the end (or start) comes here.
    pub step: u32,
    /// What is said beside it.
    pub label: String,
    /// The same where there is little room.
    pub short: String,
}

/// What the timeline is to show beside the ranges.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Width in CSS pixels.
    pub width: f64,
    /// Rows for everything, not for temporaries only.
    pub all_rows: bool,
    /// The selected value.
    pub selected: Option<u32>,
    /// Values that an edit parted from those they shared with.
    pub lost: &'a [u32],
    /// Where its end would break a sharing.
    pub at_end: &'a [Threshold],
    /// Where its start would break a sharing.
    pub at_start: &'a [Threshold],
    /// The step of the peak.
    pub peak: Option<u32>,
}

/// The rows: buffers in the order in which the module (`base`, before any edit) first writes them.
pub fn rows(base: &Picture, all_rows: bool) -> Vec<Row> {
    let mut items: Vec<&Item> = base.items.iter().filter(|i| all_rows || base.is_temp(i)).collect();
    items.arrange_by_key(|i| (i.start, i.end, i.value));
    let mut rows: Vec<Row> = Vec::new();
    let mut at = std::collections::HashMap::new();
    for item in items {
        let row = *at.entry(item.buffer).or_insert_with(|| {
            rows.push(Row { buffer: item.buffer, values: Vec::new() });
            rows.len() - 1
        });
        rows[row].values.push(item.value);
    }
    rows
}

/// Draws the timeline of `now`; rows and their order are those of `base`.
pub fn timeline(base: &Picture, now: &Picture, options: Options<'_>) -> Timeline {
    let Options { width, selected, .. } = options;
    let rows = rows(base, options.all_rows);
    let row_height = match rows.len() {
        0..=16 => 22.0,
        17..=28 => 18.0,
        _ => 13.5,
    };
    let top = 22.0;
    let steps = Steps::new((width * 0.17).clamp(64.0, 110.0), width - 10.0, now.last());
    let mut scene = Scene { width, height: top + row_height * rows.len() as f64 + 8.0, marks: Vec::new() };
    let bottom = scene.height - 6.0;

    for step in steps.ticks(34.0) {
        let x = steps.middle(step);
        scene.line(Layer::Grid, step, (x, top - 4.0), (0.0, bottom - top + 4.0));
        scene.text(Layer::Axis, step, (x, 12.0), Anchor::Middle, step.to_string());
    }
    if let Some(peak) = options.peak {
        scene.line(Layer::Peak, 0, (steps.middle(peak), top - 4.0), (0.0, bottom - top + 4.0));
    }

    let mates: Vec<u32> = selected.map_or_else(Vec::new, |s| now.mates(s).iter().map(|m| m.value).collect());
    for (r, row) in rows.iter().enumerate() {
        let y = top + row_height * r as f64;
        let holds = selected.is_some_and(|s| row.values.contains(&s));
        if holds {
            scene.rect(Layer::RowMark, 0, (0.0, y), (width, row_height));
        }
        for (k, item) in row.values.iter().filter_map(|v| now.item(*v)).enumerate() {
            let (x, w) = (steps.x(item.start), steps.after(item.end) - steps.x(item.start));
            let bar = scene.rect(Layer::Band, item.value, (x, y + 1.0), (w.max(1.5), row_height - 2.5));
            bar.value = Some(item.value);
            bar.hue = Some(item.hue);
            bar.class = if selected == Some(item.value) {
                "selected"
            } else if options.lost.contains(&item.value) {
                "lost"
            } else if mates.contains(&item.value) {
                "mate"
            } else {
                ""
            };
            if let Some(old) = base.item(item.value).filter(|o| (o.start, o.end) != (item.start, item.end)) {
                let (x, w) = (steps.x(old.start), steps.after(old.end) - steps.x(old.start));
                let ghost = scene.rect(Layer::Ghost, item.value, (x, y + 1.0), (w, row_height - 2.5));
                ghost.value = Some(item.value);
                ghost.class = "selected";
            }
            // Closed ends: a cap inside the first and the last column.
            let cap = 2.0_f64.min(w / 2.0);
            for (side, at) in [x, x + w - cap].into_iter().enumerate() {
                let mark = scene.rect(
                    Layer::Cap,
                    item.value * 2 + side as u32,
                    (at, y + 1.0),
                    (cap, row_height - 2.5),
                );
                mark.value = Some(item.value);
                mark.hue = Some(item.hue);
            }
            if selected == Some(item.value) {
                // Who reads it, as the module has it: what its end is made of.
                for read in item.reads.iter().filter(|r| (item.start..=item.end).contains(r)) {
                    let w = (steps.column * 0.5).clamp(1.5, 4.0);
                    let at = (steps.middle(*read) - w / 2.0, y + row_height - 6.0);
                    scene.rect(Layer::Read, *read, at, (w, 4.5));
                }
            }
            let base_line = y + row_height / 2.0 + 3.6;
            if k == 0 {
                let name = fit(&item.name, x - 6.0);
                if name.is_empty() {
                    // No room before it: behind it, if there is any.
                    let after = x + w + 6.0;
                    let name = fit(&item.name, (steps.right() - after).min(140.0));
                    if !name.is_empty() && row.values.len() == 1 {
                        let mark =
                            scene.text(Layer::Label, item.value * 2, (after, base_line), Anchor::Start, name);
                        mark.value = Some(item.value);
                        mark.class = "name";
                    }
                } else {
                    let mark =
                        scene.text(Layer::Label, item.value * 2, (x - 5.0, base_line), Anchor::End, name);
                    mark.value = Some(item.value);
                    mark.class = "name";
                }
            }
            let size = bytes(item.bytes);
            // The next value of the buffer may begin inside of this one's last column.
            let next = row.values.get(k + 1).and_then(|v| now.item(*v)).map_or(x + w, |n| steps.x(n.start));
            if text_width(&size) + 10.0 <= w.min(next - x) {
                let mark =
                    scene.text(Layer::Label, item.value * 2 + 1, (x + 6.0, base_line), Anchor::Start, size);
                mark.value = Some(item.value);
                mark.class = "inside";
            }
        }
        let Some(item) = selected.filter(|_| holds).and_then(|s| now.item(s)) else { continue };
        thresholds(&mut scene, &steps, item, (y, row_height), options);
    }
    Timeline { scene, steps, rows, row_height, top }
}

/// The selected value's thresholds: a dotted track from its end to the last of them, a tick at each, and beside as many
/// of them as there is room for what breaks there.
fn thresholds(scene: &mut Scene, steps: &Steps, item: &Item, (y, height): (f64, f64), options: Options<'_>) {
    let middle = y + height / 2.0;
    let mut id = 0;
    let ends = [(options.at_end, steps.after(item.end), 1.0), (options.at_start, steps.x(item.start), -1.0)];
    for (marks, from, side) in ends {
        // A tick stands at the near side of the column: touching it is what breaks the sharing.
        let at = |t: &Threshold| if side > 0.0 { steps.x(t.step) } else { steps.after(t.step) };
        let Some(far) = marks.iter().map(at).reduce(|a, b| if (b - a) * side > 0.0 { b } else { a }) else {
            continue;
        };
        if (far - from) * side > 0.0 {
            scene.line(Layer::Threshold, id, (from, middle), (far - from, 0.0)).class = "track";
        }
        id += 1;
        for t in marks {
            let passed = (at(t) - from) * side < 0.0;
            let mark = scene.line(Layer::Threshold, id, (at(t), y - 2.0), (0.0, height + 4.0));
            mark.class = if passed { "tick passed" } else { "tick" };
            id += 1;
        }
    }
    // The first of either end in words; above the row, or below it in the first row.
    let label_y = if y > 40.0 { y - 7.0 } else { y + height + 15.0 };
    let mut taken: Option<(f64, f64)> = None;
    for (marks, forward) in [(options.at_end, true), (options.at_start, false)] {
        let next = marks.iter().find(|t| if forward { t.step > item.end } else { t.step < item.start });
        let Some(first) = next.or(marks.first()) else { continue };
        let x = if forward { steps.x(first.step) } else { steps.after(first.step) };
        let text = if options.width < 480.0 { &first.short } else { &first.label };
        // Semibold is wider.
        let w = text_width(text) * 1.06 + 12.0;
        let left = (x - w / 2.0).clamp(2.0, (scene.width - w - 2.0).max(2.0));
        if taken.is_some_and(|(a, b)| left < b + 6.0 && a < left + w + 6.0) {
            continue;
        }
        taken = Some((left, left + w));
        scene.rect(Layer::Threshold, id, (left, label_y - 11.5), (w, 16.0)).class = "plate";
        scene.text(Layer::Threshold, id + 1, (left + 6.0, label_y), Anchor::Start, text.clone()).class =
            "word";
        id += 2;
    }
}

impl Timeline {
    /// Adds a small tick at each step at which the end of a value would break a sharing; the selected value has large ones.
    pub fn add_ticks(&mut self, ticks: &[(u32, u32)], selected: Option<u32>) {
        for (r, row) in self.rows.iter().enumerate() {
            let y = self.top + self.row_height * r as f64;
            for (value, step) in ticks.iter().filter(|(v, _)| row.values.contains(v) && Some(*v) != selected)
            {
                let id = 10_000 + self.scene.marks.len() as u32;
                let at = (self.steps.x(*step), y + self.row_height * 0.25);
                let mark = self.scene.line(Layer::Threshold, id, at, (0.0, self.row_height * 0.5));
                (mark.class, mark.value) = ("other", Some(*value));
            }
        }
    }

    /// The row at a height.
    pub fn row_at(&self, y: f64) -> Option<usize> {
        let row = ((y - self.top) / self.row_height).floor();
        (row >= 0.0 && row < self.rows.len() as f64).then_some(row as usize)
    }

    /// The value at a point: the one whose bar is there, else the nearest in that row.
    pub fn value_at(&self, picture: &Picture, x: f64, y: f64) -> Option<u32> {
        let row = &self.rows[self.row_at(y)?];
        let items = row.values.iter().filter_map(|v| picture.item(*v));
        items.min_by(|a, b| self.distance(a, x).total_cmp(&self.distance(b, x))).map(|i| i.value)
    }

    /// What a press at a point takes hold of: a value, and one of its ends together with how far off the point is. The
    /// selected value's handles come first; they stand outside of the bar, so that a short bar has two.
    pub fn grip(
        &self,
        picture: &Picture,
        selected: Option<u32>,
        x: f64,
        y: f64,
    ) -> Option<(u32, Option<(End, f64)>)> {
        let ends = |item: &Item| {
            let (left, right) = (self.steps.x(item.start), self.steps.after(item.end));
            let inside = ((right - left) / 3.0).min(6.0);
            if x >= left - GRIP && x < left + inside {
                Some((End::Start, x - left))
            } else if x > right - inside && x <= right + GRIP {
                Some((End::End, x - right))
            } else {
                None
            }
        };
        let held = selected.and_then(|s| picture.item(s)).filter(|i| {
            let middle = self.row_of(i.value).map(|top| top + self.row_height / 2.0);
            middle.is_some_and(|m| (y - m).abs() <= 12.0_f64.max(self.row_height / 2.0))
        });
        if let Some((item, grip)) = held.and_then(|i| Some((i, ends(i)?))) {
            return Some((item.value, Some(grip)));
        }
        let value = self.value_at(picture, x, y)?;
        // Of a value that is not selected only the ends themselves can be taken: beside the bar is a press on the row.
        let grip = ends(picture.item(value)?).filter(|(_, off)| off.abs() <= 6.0);
        Some((value, grip))
    }

    fn distance(&self, item: &Item, x: f64) -> f64 {
        (self.steps.x(item.start) - x).max(x - self.steps.after(item.end)).max(0.0)
    }

    /// The height of a value's row: its top.
    pub fn row_of(&self, value: u32) -> Option<f64> {
        let row = self.rows.iter().position(|r| r.values.contains(&value))?;
        Some(self.top + row as f64 * self.row_height)
    }

    /// Where a bar is, for tests: left and right.
    pub fn bar(&self, value: u32) -> Option<(f64, f64)> {
        self.scene.marks.iter().find(|m| m.layer == Layer::Band && m.value == Some(value)).map(|m| {
            let w = if let Form::Rect { w, .. } = m.form { w } else { 0.0 };
            (m.x, m.x + w)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::picture;
    use super::*;

    fn options(width: f64, selected: Option<u32>, at_end: &[Threshold]) -> Options<'_> {
        Options { width, all_rows: false, selected, lost: &[], at_end, at_start: &[], peak: Some(3) }
    }

    #[test]
    fn a_row_a_buffer_and_a_cap_at_each_closed_end() {
        let p = picture(9, "first 0 4 0 100\nsecond 3 8 128 100");
        let t = timeline(&p, &p, options(400.0, None, &[]));
        assert_eq!(t.rows.len(), 2);
        assert_eq!(t.scene.marks.iter().filter(|m| m.layer == Layer::Cap).count(), 4);
        // Both cover the column of step 3, at which they meet.
        let ((_, first), (second, _)) = (t.bar(0).unwrap(), t.bar(1).unwrap());
        assert!(second < first, "{second} {first}");
        assert!((second - t.steps.x(3)).abs() < 1e-9 && (first - t.steps.after(4)).abs() < 1e-9);
    }

    #[test]
    fn a_whole_timeline() {
        let p = picture(4, "first 0 1 0 100\nsecond 3 3 0 100");
        let marks = [Threshold { step: 3, label: "step 3: stops sharing".into(), short: "3: stops".into() }];
        let drawn = timeline(&p, &p, options(510.0, Some(0), &marks)).scene.to_text();
        let expected = "\
510x74
grid 0 128.0,18.0 to 0.0,50.0
axis 0 128.0,12.0 Middle \"0\"
grid 1 210.7,18.0 to 0.0,50.0
axis 1 210.7,12.0 Middle \"1\"
grid 2 293.3,18.0 to 0.0,50.0
axis 2 293.3,12.0 Middle \"2\"
grid 3 376.0,18.0 to 0.0,50.0
axis 3 376.0,12.0 Middle \"3\"
grid 4 458.7,18.0 to 0.0,50.0
axis 4 458.7,12.0 Middle \"4\"
peak 0 376.0,18.0 to 0.0,50.0
row-mark 0 0.0,22.0 510.0x22.0
band 0 86.7,23.0 165.3x19.5 .selected
cap 0 86.7,23.0 2.0x19.5
cap 1 250.0,23.0 2.0x19.5
label 0 81.7,36.6 End \"first\" .name
label 1 92.7,36.6 Start \"100 B\" .inside
threshold 0 252.0,33.0 to 82.7,0.0 .track
threshold 1 334.7,20.0 to 0.0,26.0 .tick
threshold 2 264.4,47.5 140.5x16.0 .plate
threshold 3 270.4,59.0 Start \"step 3: stops sharing\" .word
band 1 334.7,45.0 82.7x19.5 .mate
cap 2 334.7,45.0 2.0x19.5
cap 3 415.3,45.0 2.0x19.5
label 2 329.7,58.6 End \"second\" .name
label 3 340.7,58.6 Start \"100 B\" .inside
";
        assert_eq!(drawn, expected);
    }

    #[test]
    fn rows_keep_their_place_when_a_range_moves() {
        let base = picture(9, "first 0 4 0 100\nsecond 3 8 128 100");
        let now = picture(9, "first 6 7 0 100\nsecond 3 8 128 100");
        let t = timeline(&base, &now, options(400.0, None, &[]));
        assert_eq!(t.rows.iter().map(|r| r.values.clone()).collect::<Vec<_>>(), [[0], [1]]);
    }

    #[test]
    fn thresholds_are_marked_before_they_are_reached() {
        let p = picture(9, "first 0 4 0 100\nsecond 6 8 0 100");
        let marks = [Threshold { step: 6, label: "step 6: stops".into(), short: "6: stops".into() }];
        let t = timeline(&p, &p, options(600.0, Some(0), &marks));
        let tick = t.scene.marks.iter().find(|m| m.class == "tick").unwrap();
        assert!((tick.x - t.steps.x(6)).abs() < 1e-9);
        assert!(t.scene.to_text().contains("step 6: stops"));
        let beyond = picture(9, "first 0 6 0 100\nsecond 6 8 0 100");
        let t = timeline(&p, &beyond, options(300.0, Some(0), &marks));
        assert!(t.scene.marks.iter().any(|m| m.class == "tick passed"));
        assert!(t.scene.to_text().contains("\"6: stops"));
    }

    #[test]
    fn ends_can_be_taken_hold_of() {
        let p = picture(9, "first 0 4 0 100\nsecond 6 6 0 100");
        let t = timeline(&p, &p, options(400.0, Some(1), &[]));
        let y = t.row_of(1).unwrap() + 5.0;
        let (left, right) = t.bar(1).unwrap();
        let end = |x| t.grip(&p, Some(1), x, y).and_then(|(v, g)| Some((v, g?.0)));
        assert_eq!(end(left - 10.0), Some((1, End::Start)));
        assert_eq!(end(right + 10.0), Some((1, End::End)));
        assert_eq!(end(f64::midpoint(left, right)), None);
        // Another row: the ends themselves only.
        let y = t.row_of(0).unwrap() + 5.0;
        let (_, right) = t.bar(0).unwrap();
        assert_eq!(t.grip(&p, None, right + 3.0, y), Some((0, Some((End::End, 3.0)))));
        assert_eq!(t.grip(&p, None, right + 15.0, y), Some((0, None)));
    }

    #[test]
    fn no_label_leaves_the_figure() {
        let p = picture(
            30,
            "broadcast_multiply_fusion.10 0 4 0 100\nbroadcast_multiply_fusion.9 1 8 128 100\nsort 28 30 0 4",
        );
        for width in [320.0, 400.0, 1000.0] {
            for m in &timeline(&p, &p, options(width, Some(2), &[])).scene.marks {
                if let Form::Text { text, anchor } = &m.form {
                    let w = text_width(text);
                    let left = match anchor {
                        Anchor::Start => m.x,
                        Anchor::Middle => m.x - w / 2.0,
                        Anchor::End => m.x - w,
                    };
                    assert!(left >= 0.0 && left + w <= width + 1.0, "{text} at {left} in {width}");
                }
            }
        }
    }
}
