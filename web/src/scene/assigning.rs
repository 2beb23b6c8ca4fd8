//! What became of each buffer, the allocations as they fill, and the nine gates: pictures of decisions.

use super::{Anchor, Form, Layer, Mark, Picture, Scene, fit, text_width};
use crate::gates::{At, QUESTIONS, Trial};
use crate::sorting::{BINS, Count};
use assigner::words::bytes;
use sorts::Arrange as _;

/// A square for each buffer, in the row of the bin it ended up in.
pub fn bins(counts: &[Count], width: f64) -> Scene {
    const ROW: f64 = 26.0;
    let left = 92.0_f64.min(width * 0.3);
    let mut scene = Scene { width, height: ROW * counts.len() as f64 + 4.0, marks: Vec::new() };
    for (k, (count, words)) in counts.iter().zip(&BINS).enumerate() {
        let y = ROW * k as f64 + 4.0;
        let id = k as u32;
        scene.text(Layer::Label, id, (0.0, y + 14.0), Anchor::Start, words.name.to_owned()).class = "name";
        let said = if count.buffers == 0 { "none".to_owned() } else { bytes(count.bytes) };
        let room = width - left - text_width(&said) - 8.0;
        let side = (room / count.buffers.max(1) as f64).clamp(2.0, 18.0);
        let shown = count.buffers.min((room / side) as usize);
        for n in 0..shown {
            let band = scene.rect(
                Layer::Band,
                id * 1000 + n as u32,
                (left + n as f64 * side, y),
                ((side - 2.0).max(1.0), 18.0),
            );
            band.hue = Some(k as u8);
        }
        let at = left + shown as f64 * side + 6.0;
        scene.text(Layer::Axis, id, (at, y + 14.0), Anchor::Start, said);
    }
    scene
}

/// The most allocations that are drawn.
const MOST_ROWS: usize = 20;

/// The allocations as bars, with the values that have been placed so far; `now` is the one that a decision is about.
pub fn allocations(picture: &Picture, placed: &[u32], now: (Option<u32>, Option<u32>), width: f64) -> Scene {
    const ROW: f64 = 19.0;
    let (value, slab) = now;
    // The largest ones, and the one that is spoken of, in order.
    let mut rows: Vec<usize> = (0..picture.slabs.len()).collect();
    if rows.len() > MOST_ROWS {
        rows.arrange_by_key(|i| {
            (slab != Some(picture.slabs[*i].id), std::cmp::Reverse(picture.slabs[*i].size), *i)
        });
        rows.truncate(MOST_ROWS);
        rows.arrange_unstable();
    }
    let left = if width < 340.0 { 128.0 } else { 168.0 };
    let across = width - left - 2.0;
    let mut scene = Scene { width, height: ROW * rows.len() as f64 + 2.0, marks: Vec::new() };
    for (k, &i) in rows.iter().enumerate() {
        let s = &picture.slabs[i];
        let y = ROW * k as f64 + 2.0;
        let is_now = slab == Some(s.id);
        if is_now {
            scene.rect(Layer::RowMark, s.id, (0.0, y - 2.0), (width, ROW)).class = "now";
        }
        let class = if is_now { "now" } else { "" };
        let said = format!("{} {}", s.id, s.kind.name());
        scene.text(Layer::Axis, s.id * 2, (2.0, y + 11.5), Anchor::Start, said).class = class;
        if width >= 340.0 {
            let size = bytes(s.size);
            scene.text(Layer::Axis, s.id * 2 + 1, (left - 6.0, y + 11.5), Anchor::End, size).class = class;
        }
        // Each allocation is as long as any other: its own addresses, from its first byte to its last.
        scene.rect(Layer::Ground, s.id, (left, y), (across, ROW - 4.0));
        let scale = across / s.size.max(1) as f64;
        let place = |v: u32| picture.item(v).map_or((0, s.size), |i| (i.offset, i.size));
        let covered = value.filter(|v| s.values.contains(v)).map(place);
        for v in s.values.iter().copied().filter(|v| placed.binary_search(v).is_ok()) {
            let is_value = value == Some(v);
            let (offset, size) = place(v);
            // Of those at one place the one that is spoken of is seen.
            if !is_value
                && covered == Some((offset, size))
                && placed.binary_search(&value.unwrap_or(v)).is_ok()
            {
                continue;
            }
            let item = picture.item(v);
            let (x, w) = (left + offset as f64 * scale, (size as f64 * scale).max(3.0));
            let band = scene.rect(Layer::Band, v, (x, y), (w, ROW - 4.0));
            band.value = Some(v);
            band.hue = Some(item.map_or(0, |i| i.hue));
            if is_value {
                band.class = "selected";
            }
            let name = fit(item.map_or("", |i| i.name.as_str()), w - 8.0);
            if is_value && !name.is_empty() {
                let mark = scene.text(Layer::Label, v, (x + 4.0, y + 11.5), Anchor::Start, name);
                mark.value = Some(v);
                mark.class = "inside name";
            }
        }
    }
    scene
}

/// The value under a point: that of the rectangle which is drawn on top.
pub fn hit(scene: &Scene, x: f64, y: f64) -> Option<u32> {
    let inside = |m: &&Mark| match m.form {
        Form::Rect { w, h } => m.x <= x && x < m.x + w && m.y <= y && y < m.y + h,
        _ => false,
    };
    let marks = scene.marks.iter().enumerate().filter(|(_, m)| m.value.is_some() && inside(m));
    marks.max_by_key(|(n, m)| (m.layer, *n)).and_then(|(_, m)| m.value)
}

/// The nine gates from top to bottom, and how far a pair came.
pub fn gates(trial: Option<&Trial>, width: f64) -> Scene {
    const ROW: f64 = 30.0;
    let mut scene = Scene { width, height: ROW * 10.0 + 4.0, marks: Vec::new() };
    let x = 14.0;
    for (k, question) in QUESTIONS.iter().enumerate() {
        let y = ROW * k as f64 + 2.0;
        let id = k as u32;
        let at = trial.map_or(At::NotReached, |t| t.at(id as u8 + 1));
        scene.line(Layer::Grid, id, (x, y + 24.0), (0.0, ROW - 24.0)).class =
            if at == At::Passed { "came" } else { "" };
        let mark = scene.rect(Layer::RowMark, id, (2.0, y), (width - 4.0, 24.0));
        mark.class = match at {
            At::Passed => "gate passed",
            At::Stopped => "gate stopped",
            At::NotReached => "gate",
        };
        let sign = match at {
            At::Passed => "✓",
            At::Stopped => "✗",
            At::NotReached => "·",
        };
        let said = format!("{sign}  {}  {question}", k + 1);
        scene.text(Layer::Label, id, (9.0, y + 16.0), Anchor::Start, fit(&said, width - 16.0)).class =
            if at == At::Stopped { "name" } else { "" };
    }
    let end = trial.map_or(String::new(), |t| match t.gate {
        Some(gate) => format!("{} stops at gate {gate}", t.buffer),
        None => format!("✓  {} goes in", t.buffer),
    });
    scene.text(Layer::Label, 9, (9.0, ROW * 9.0 + 16.0), Anchor::Start, fit(&end, width - 16.0)).class =
        "name";
    scene
}

#[cfg(test)]
mod tests {
    use super::super::tests::picture;
    use super::*;
    use assigner::Bin;

    #[test]
    fn a_square_for_each_buffer() {
        let counts: Vec<Count> = BINS
            .iter()
            .map(|b| Count { bin: b.bin, buffers: usize::from(b.bin == Bin::Heap) * 3, bytes: 640 })
            .collect();
        let text = bins(&counts, 400.0).to_text();
        assert_eq!(text.matches("\nband").count(), 3, "{text}");
        assert!(text.contains("band 5000 92.0,134.0 16.0x18.0"), "{text}");
        assert!(text.contains("\"640 B\"") && text.contains("\"none\""), "{text}");
        // However many there are, the row stays inside.
        let many = Count { bin: Bin::Constant, buffers: 9000, bytes: 36_000 };
        let scene = bins(&[many], 320.0);
        assert!(scene.marks.iter().all(|m| m.x <= 320.0));
    }

    #[test]
    fn allocations_fill() {
        let p = picture(9, "a 0 4 0 1000\nb 3 8 1000 1000");
        let scene = allocations(&p, &[1], (Some(1), Some(1)), 318.0);
        assert_eq!(
            scene.to_text(),
            r#"318x40
axis 0 2.0,13.5 Start "0 parameter"
ground 0 128.0,2.0 188.0x15.0
row-mark 1 0.0,19.0 318.0x19.0 .now
axis 2 2.0,32.5 Start "1 temporary" .now
ground 1 128.0,21.0 188.0x15.0
band 1 222.0,21.0 94.0x15.0 .selected
label 1 226.0,32.5 Start "b" .inside name
"#
        );
    }

    #[test]
    fn what_is_on_top_is_hit() {
        let p = picture(9, "a 0 4 0 1000\nb 3 8 1000 1000");
        let scene = allocations(&p, &[0, 1], (None, None), 318.0);
        assert_eq!(
            [hit(&scene, 130.0, 30.0), hit(&scene, 300.0, 30.0), hit(&scene, 20.0, 30.0)],
            [Some(0), Some(1), None]
        );
    }

    #[test]
    fn the_gates_say_where_a_pair_stops() {
        let trial = |gate| Trial {
            buffer: "a".into(),
            holder: "p".into(),
            gate,
            words: "a goes into allocation 0".into(),
        };
        let stopped = gates(Some(&trial(Some(3))), 300.0).to_text();
        assert_eq!(stopped.matches(".gate passed").count(), 2);
        assert_eq!(stopped.matches(".gate stopped").count(), 1);
        assert!(stopped.contains("a stops at gate 3"), "{stopped}");
        let passed = gates(Some(&trial(None)), 300.0).to_text();
        assert_eq!(passed.matches(".gate passed").count(), 9);
        assert!(passed.contains("a goes in"), "{passed}");
    }
}
