//! The heap at one placement, as a line of addresses: what is taken, what is free, what fits and what is chosen. And the
//! heap as it fills, small.

use super::{Anchor, Layer, Picture, Scene, Steps, fit, text_width};
use crate::placing::{Line, Placed, is_endless};
use assigner::words::{bytes, grouped};
use packing::PlacementStep;

/// The height of the strip in CSS pixels.
pub const STRIP_HEIGHT: f64 = 150.0;

/// The block that is to be placed: top and height.
const BLOCK: (f64, f64) = (20.0, 22.0);

/// The line of addresses: top and height.
const LINE: (f64, f64) = (58.0, 38.0);

/// Draws what was weighed at a placement, as far as the algorithm has come. Addresses go from 0 to `end`, and a little
/// beyond it for the chunk without an end.
pub fn strip(picture: &Picture, step: &PlacementStep, line: Line, end: u64, width: f64) -> Scene {
    let (left, right) = (4.0, width - 4.0);
    let scale = (right - left) / (end.max(1) as f64 * 1.06);
    let x = |at: u64| (left + at as f64 * scale).min(right);
    let (top, height) = LINE;
    let mut scene = Scene { width, height: STRIP_HEIGHT, marks: Vec::new() };
    scene.rect(Layer::Ground, 0, (left, top), (right - left, height));

    let item = |value: u32| picture.item(value);
    let free_shown = line >= Line::Free;
    let fit_shown = line >= Line::Fit;
    let is_placed = line >= Line::Place;

    for chunk in &step.occupied {
        let value = chunk.buffer.0;
        if chunk.free_from > chunk.end {
            let w = (x(chunk.free_from) - x(chunk.end)).max(1.0);
            scene.rect(Layer::Padding, value, (x(chunk.end), top), (w, height)).value = Some(value);
        }
        let w = (x(chunk.end) - x(chunk.offset)).max(1.5);
        let band = scene.rect(Layer::Band, value, (x(chunk.offset), top), (w, height));
        band.value = Some(value);
        band.hue = item(value).map(|i| i.hue);
        let name = fit(item(value).map_or("", |i| i.name.as_str()), w - 8.0);
        if w >= 30.0 && !name.is_empty() {
            let at = (x(chunk.offset) + 4.0, top + 16.0);
            let mark = scene.text(Layer::Label, value * 4, at, Anchor::Start, name);
            mark.value = Some(value);
            mark.class = "inside name";
            let size = bytes(chunk.end - chunk.offset);
            if text_width(&size) + 8.0 <= w {
                let at = (x(chunk.offset) + 4.0, top + 30.0);
                let mark = scene.text(Layer::Label, value * 4 + 1, at, Anchor::Start, size);
                mark.value = Some(value);
                mark.class = "inside";
            }
        }
    }

    // The words under free chunks, from the left, so that none is written over another.
    let mut written = f64::MIN;
    for (k, chunk) in step.free_chunks.iter().enumerate().filter(|_| free_shown) {
        let k = k as u32;
        let (from, to) = (x(chunk.offset), if is_endless(chunk) { right } else { x(chunk.end) });
        let w = (to - from).max(1.5);
        let mark = scene.rect(Layer::RowMark, k, (from, top), (w, height));
        mark.class = match (fit_shown, chunk.fits, chunk.is_chosen) {
            (false, ..) => "free",
            (true, true, true) => "free chosen",
            (true, true, false) => "free fits",
            (true, false, _) => "free small",
        };
        let size = if is_endless(chunk) { "no end →".to_owned() } else { bytes(chunk.end - chunk.offset) };
        // The block stands in the chosen one; its size is said below.
        if text_width(&size) + 6.0 <= w && !(is_placed && chunk.is_chosen) {
            let at = (f64::midpoint(from, to), top + 23.0);
            scene.text(Layer::Label, 1_000_000 + k, at, Anchor::Middle, size).class = "size";
        }
        if fit_shown {
            let word = match (chunk.fits, chunk.is_chosen) {
                (true, true) => "✓ chosen",
                (true, false) => "fits",
                _ => "✗",
            };
            let half = text_width(word) / 2.0;
            let middle = f64::midpoint(from, to).clamp(left + half, right - half);
            if middle - half > written + 3.0 {
                let mark = scene.text(
                    Layer::Label,
                    2_000_000 + k,
                    (middle, top + height + 15.0),
                    Anchor::Middle,
                    word.into(),
                );
                mark.class = if chunk.is_chosen { "word chosen" } else { "word" };
                written = middle + half;
            }
        }
    }

    // What is to be placed: it waits at the left, then stands over its chunk, then in it.
    let value = step.placement.buffer.0;
    if line > Line::Sort {
        let at = if fit_shown { step.placement.offset } else { 0 };
        let w = (step.placement.size as f64 * scale).max(2.0);
        let hue = item(value).map(|i| i.hue);
        let (y, h) = if is_placed { LINE } else { BLOCK };
        let block = scene.rect(Layer::Band, value, (x(at), y), (w, h));
        block.value = Some(value);
        block.hue = hue;
        block.class = "selected";
        let said =
            format!("{} · {}", item(value).map_or("", |i| i.name.as_str()), bytes(step.placement.size));
        let said = fit(&said, right - left);
        let start = x(at).min(right - text_width(&said)).max(left);
        let mark = scene.text(Layer::Label, 3_000_000, (start, 13.0), Anchor::Start, said);
        mark.value = Some(value);
        mark.class = "name";
        if fit_shown {
            for (k, edge) in [x(at), x(at) + w].into_iter().enumerate() {
                let from = BLOCK.0 + if is_placed { 0.0 } else { BLOCK.1 };
                scene.line(Layer::Threshold, k as u32, (edge, from), (0.0, top + height - from)).class =
                    "track";
            }
        }
    }

    let mut step_bytes = 1_u64;
    while (step_bytes as f64) * scale < 64.0 {
        step_bytes = step_bytes.saturating_mul(2);
    }
    for k in 0..=end / step_bytes {
        let at = x(k * step_bytes);
        let word = grouped(k * step_bytes);
        if k > 0 && at + text_width(&word) / 2.0 > right {
            continue;
        }
        scene.line(Layer::Grid, k as u32, (at, top + height), (0.0, 5.0));
        let (at, anchor) = if k == 0 { (left, Anchor::Start) } else { (at, Anchor::Middle) };
        scene.text(Layer::Axis, k as u32, (at, STRIP_HEIGHT - 18.0), anchor, word);
    }
    let label = "address in bytes".to_owned();
    scene.text(Layer::Axis, 10_000, (right, STRIP_HEIGHT - 3.0), Anchor::End, label);
    scene
}

/// The heap after some placements, small: addresses upwards to `tallest`, the program's steps across. The placement
/// `now` is marked.
pub fn filling(
    picture: &Picture,
    placed: &[Placed],
    now: Option<usize>,
    tallest: u64,
    (width, height): (f64, f64),
) -> Scene {
    let steps = Steps::new(1.0, width - 1.0, picture.last());
    let (top, bottom) = (14.0, height - 1.0);
    let scale = (bottom - top) / tallest.max(1) as f64;
    let mut scene = Scene { width, height, marks: Vec::new() };
    scene.rect(Layer::Ground, 0, (steps.left, top), (steps.right() - steps.left, bottom - top));
    for p in placed {
        let Some(item) = picture.item(p.value) else { continue };
        let h = (p.size as f64 * scale).max(1.0);
        let at = (steps.x(item.start), bottom - p.offset as f64 * scale - h);
        let w = (steps.after(item.end) - at.0).max(1.0);
        let band = scene.rect(Layer::Band, p.value, at, (w, h));
        band.value = Some(p.value);
        band.hue = Some(item.hue);
        if now == Some(p.placement) {
            band.class = "selected";
        }
    }
    let end = placed.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
    let y = bottom - end as f64 * scale;
    scene.line(Layer::Grid, 0, (steps.left, y), (steps.right() - steps.left, 0.0)).class = "top";
    scene.text(Layer::Axis, 0, (steps.left + 2.0, y - 3.0), Anchor::Start, bytes(end)).class = "top";
    scene
}

#[cfg(test)]
mod tests {
    use super::super::tests::picture;
    use super::*;
    use packing::{Algorithm, BufferKey, Event, Options, inspect_placement};

    fn step(placement: usize) -> PlacementStep {
        let alloc = |b, size| Event::Alloc { buffer: BufferKey(b), size };
        let free = |b| Event::Free { buffer: BufferKey(b) };
        let events = [
            alloc(0, 500),
            alloc(1, 400),
            alloc(2, 300),
            alloc(3, 250),
            free(0),
            free(2),
            alloc(4, 200),
            free(1),
            free(3),
            free(4),
        ];
        let options = Options { algorithm: Algorithm::Spatial, alignment: 64, ..Options::default() };
        inspect_placement(&events, &options, placement).expect("it is there")
    }

    fn drawn(line: Line) -> String {
        let p = picture(9, "a 0 4 0 500\nb 1 7 512 400\nc 2 5 960 300\nd 3 8 1280 250\ne 6 9 960 200");
        strip(&p, &step(4), line, 1530, 640.0).to_text()
    }

    #[test]
    fn the_strip_follows_the_lines_of_the_algorithm() {
        let count = |text: &str, what: &str| text.lines().filter(|l| l.contains(what)).count();
        let take = drawn(Line::Take);
        assert_eq!(
            (count(&take, "band"), count(&take, "row-mark"), count(&take, "padding")),
            (3, 0, 2),
            "{take}"
        );
        let free = drawn(Line::Free);
        assert_eq!((count(&free, ".free"), count(&free, "chosen")), (3, 0), "{free}");
        let fit = drawn(Line::Fit);
        assert_eq!(
            (count(&fit, ".free fits"), count(&fit, ".free chosen"), count(&fit, "✓ chosen")),
            (2, 1, 1)
        );
    }

    #[test]
    fn the_strip_when_the_fit_is_found() {
        assert_eq!(
            drawn(Line::Fit),
            r#"640x150
ground 0 4.0,58.0 632.0x38.0
padding 1 359.4,58.0 18.7x38.0
band 1 203.5,58.0 155.9x38.0
label 4 207.5,74.0 Start "b" .inside name
label 5 207.5,88.0 Start "400 B" .inside
padding 3 600.2,58.0 2.3x38.0
band 3 502.8,58.0 97.4x38.0
label 12 506.8,74.0 Start "d" .inside name
label 13 506.8,88.0 Start "250 B" .inside
row-mark 0 4.0,58.0 199.5x38.0 .free fits
label 1000000 103.8,81.0 Middle "512 B" .size
label 2000000 103.8,111.0 Middle "fits" .word
row-mark 1 378.1,58.0 124.7x38.0 .free chosen
label 1000001 440.5,81.0 Middle "320 B" .size
label 2000001 440.5,111.0 Middle "✓ chosen" .word chosen
row-mark 2 602.6,58.0 33.4x38.0 .free fits
label 2000002 619.3,111.0 Middle "fits" .word
band 4 378.1,20.0 77.9x22.0 .selected
label 3000000 378.1,13.0 Start "e · 200 B" .name
threshold 0 378.1,42.0 to 0.0,54.0 .track
threshold 1 456.0,42.0 to 0.0,54.0 .track
grid 0 4.0,96.0 to 0.0,5.0
axis 0 4.0,132.0 Start "0"
grid 1 103.8,96.0 to 0.0,5.0
axis 1 103.8,132.0 Middle "256"
grid 2 203.5,96.0 to 0.0,5.0
axis 2 203.5,132.0 Middle "512"
grid 3 303.3,96.0 to 0.0,5.0
axis 3 303.3,132.0 Middle "768"
grid 4 403.0,96.0 to 0.0,5.0
axis 4 403.0,132.0 Middle "1,024"
grid 5 502.8,96.0 to 0.0,5.0
axis 5 502.8,132.0 Middle "1,280"
axis 10000 636.0,147.0 End "address in bytes"
"#
        );
    }

    #[test]
    fn the_heap_fills() {
        let p = picture(9, "a 0 4 0 500\nb 1 7 512 400");
        let placed = [
            Placed { value: 0, offset: 0, size: 500, placement: 0 },
            Placed { value: 1, offset: 512, size: 400, placement: 1 },
        ];
        assert_eq!(
            filling(&p, &placed, Some(1), 1024, (102.0, 115.0)).to_text(),
            r#"102x115
ground 0 1.0,14.0 100.0x100.0
band 0 1.0,65.2 50.0x48.8
band 1 11.0,24.9 70.0x39.1 .selected
grid 0 1.0,24.9 to 100.0,0.0 .top
axis 0 3.0,21.9 Start "912 B" .top
"#
        );
    }
}
