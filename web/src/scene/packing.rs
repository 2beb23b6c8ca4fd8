//! A heap that is packed by hand: bands in columns, what they overlap, and lines at the heights there are to be reached.

use super::heap::{address, address_step};
use super::{Anchor, Layer, Scene, Steps, fit, text_width};
use crate::packed_by_hand::{Game, Heap};
use assigner::words::{bytes, grouped};

/// The height of the picture in CSS pixels.
pub const PACKING_HEIGHT: f64 = 440.0;

/// Below the addresses: the bytes alive in each column.
const ALIVE: f64 = 34.0;

/// What is shown of a game.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The game.
    pub game: &'a Game,
    /// The selected band.
    pub selected: Option<usize>,
    /// A band and where a hint would have it.
    pub hint: Option<(usize, u64)>,
    /// The optimum in bytes, once it is proved.
    pub best: Option<u64>,
    /// The address at the top of the picture: it stays while a band is held.
    pub ceiling: u64,
}

/// The picture, and what is needed to find things on it again.
#[derive(Clone, PartialEq, Debug)]
pub struct Packing {
    /// The picture.
    pub scene: Scene,
    /// Where address 0 is drawn.
    pub bottom: f64,
    /// Pixels a byte.
    pub scale: f64,
    /// Of each drawn piece: its band, left, top, width and height.
    pieces: Vec<(usize, [f64; 4])>,
}

/// The address at the top of the picture: some room above what there is.
pub fn ceiling(heap: &Heap, top: u64) -> u64 {
    let tallest = top.max(heap.fit.height);
    tallest + tallest / 6
}

/// Draws it.
pub fn packing(view: &View<'_>, width: f64) -> Option<Packing> {
    let heap = view.game.heap()?;
    let standing = view.game.standing();
    let is_narrow = width < 560.0;
    // The heights, from the top down.
    let mut lines = vec![(heap.floor, "alive at once", "alive"), (heap.fit.height, "best fit", "fit")];
    lines.extend(view.best.map(|best| (best, "optimum", "optimum")));
    lines.extend(standing.height.map(|height| (height, "yours", "yours")));
    lines.sort_by_key(|(height, name, _)| (std::cmp::Reverse(*height), *name));
    let longest = text_width(&grouped(view.ceiling));
    let room =
        if is_narrow { 62.0 } else { text_width(&format!("alive at once {}", grouped(heap.floor))) + 12.0 };
    let (left, right) = ((longest + 12.0).max(40.0), width - room);
    let (top, bottom) = (10.0, PACKING_HEIGHT - ALIVE - 14.0);
    let scale = (bottom - top) / view.ceiling.max(1) as f64;
    let y = |address: u64| bottom - address as f64 * scale;
    let columns = Steps::new(left, right, (heap.alive.len() as u32).saturating_sub(1));
    let across = right - left;
    let mut scene = Scene { width, height: PACKING_HEIGHT, marks: Vec::new() };
    let mut pieces = Vec::new();

    scene.rect(Layer::Ground, 0, (left, y(standing.top)), (across, standing.top as f64 * scale));
    let step = address_step(view.ceiling, 10);
    for k in 0..=view.ceiling / step {
        let at = y(k * step);
        scene.line(Layer::Grid, k as u32, (left, at), (across, 0.0));
        scene.text(Layer::Axis, k as u32, (left - 6.0, at + 3.8), Anchor::End, address(k * step, step));
    }

    let mut piece = 0_u32;
    for (n, band) in heap.bands.iter().enumerate() {
        let is_lost = standing.clashes.iter().any(|(a, b)| *a == n || *b == n);
        let class = match (view.selected == Some(n), is_lost) {
            (true, true) => "selected lost",
            (true, false) => "selected",
            (false, true) => "lost",
            (false, false) => "",
        };
        // A place of a few bytes is still to be seen.
        let h = (band.size as f64 * scale).max(2.0);
        let at = y(view.game.offsets[n]) - h;
        for (first, last) in &band.runs {
            let (x, w) = (columns.x(*first), columns.after(*last) - columns.x(*first));
            pieces.push((n, [x, at, w, h]));
            let mark = scene.rect(Layer::Band, piece, (x + 0.5, at), ((w - 1.0).max(1.0), h));
            (mark.value, mark.hue, mark.class) = (Some(n as u32), Some(band.hue), class);
            if h >= 13.0 && w >= 20.0 {
                let name = if text_width(&band.name) + 8.0 <= w {
                    band.name.clone()
                } else {
                    fit(&band.name, w - 8.0)
                };
                if !name.is_empty() {
                    let mark = scene.text(Layer::Label, piece * 2, (x + 4.0, at + 11.5), Anchor::Start, name);
                    (mark.value, mark.class) = (Some(n as u32), "inside name");
                }
                let size = bytes(band.size);
                if h >= 26.0 && text_width(&size) + 8.0 <= w {
                    let mark =
                        scene.text(Layer::Label, piece * 2 + 1, (x + 4.0, at + 23.5), Anchor::Start, size);
                    (mark.value, mark.class) = (Some(n as u32), "inside");
                }
            }
            if let Some((hinted, to)) = view.hint
                && hinted == n
            {
                let ghost = scene.rect(Layer::Ghost, piece, (x, y(to) - h), (w, h));
                ghost.class = "hinted";
            }
            piece += 1;
        }
    }
    let mut common = 0;
    for (a, b) in &standing.clashes {
        let end = |n: usize| view.game.offsets[n] + heap.bands[n].size;
        let from = view.game.offsets[*a].max(view.game.offsets[*b]);
        let h = (end(*a).min(end(*b)) - from) as f64 * scale;
        for x in &heap.bands[*a].runs {
            for z in &heap.bands[*b].runs {
                let (first, last) = (x.0.max(z.0), x.1.min(z.1));
                if first <= last {
                    let (x, w) = (columns.x(first), columns.after(last) - columns.x(first));
                    scene.rect(Layer::Read, common, (x, y(from) - h), (w, h.max(2.0))).class = "clash";
                    common += 1;
                }
            }
        }
    }

    // Their names stand apart, however close the lines are.
    let mut free = top;
    let lowest = bottom - 13.0 * lines.len() as f64;
    for (k, (height, name, class)) in lines.into_iter().enumerate() {
        let at = y(height);
        let id = k as u32;
        scene.line(Layer::Threshold, id, (left, at), (across, 0.0)).class = class;
        let text_at = at.max(free).min(lowest + 13.0 * (k + 1) as f64);
        free = text_at + 13.0;
        scene.line(Layer::Threshold, 10 + id, (right, at), (8.0, text_at - at)).class = class;
        let said = match (is_narrow, name) {
            (true, "alive at once") => "alive".to_owned(),
            (true, _) => name.to_owned(),
            (false, _) => format!("{name} {}", grouped(height)),
        };
        let mark = scene.text(Layer::Axis, 100 + id, (right + 11.0, text_at + 3.8), Anchor::Start, said);
        mark.class = if class == "yours" { "top" } else { "" };
    }

    let most = heap.alive.iter().copied().max().unwrap_or(1).max(1);
    let ground = PACKING_HEIGHT - 2.0;
    for (k, alive) in heap.alive.iter().enumerate() {
        let h = (*alive as f64 / most as f64 * (ALIVE - 4.0)).max(1.0);
        let x = columns.x(k as u32);
        let mark =
            scene.rect(Layer::Cap, k as u32, (x + 0.5, ground - h), ((columns.column - 1.0).max(0.5), h));
        mark.class = if *alive == most { "alive most" } else { "alive" };
    }
    scene.text(Layer::Axis, 200, (left - 6.0, ground - 12.0), Anchor::End, "alive".to_owned());
    Some(Packing { scene, bottom, scale, pieces })
}

impl Packing {
    /// The band at a point; `slack` pixels above or below it still count, for places that are a few pixels high.
    pub fn at(&self, x: f64, y: f64, slack: f64) -> Option<usize> {
        let far = |[_, top, _, h]: &[f64; 4]| (top - y).max(y - (top + h)).max(0.0);
        self.pieces
            .iter()
            .filter(|(_, [left, _, w, _])| *left <= x && x < left + w)
            .filter(|(_, piece)| far(piece) <= slack)
            // Of those one above the other, the smaller: the larger one can be taken elsewhere.
            .min_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)).then((a[2] * a[3]).total_cmp(&(b[2] * b[3]))))
            .map(|(n, _)| *n)
    }

    /// Where a band is drawn, from its first column to its last: left, top, width and height.
    pub fn frame(&self, band: usize) -> Option<[f64; 4]> {
        let mut of = self.pieces.iter().filter(|(n, _)| *n == band).map(|(_, piece)| *piece);
        let first = of.next()?;
        let right = of.fold(first[0] + first[2], |right, [left, _, w, _]| right.max(left + w));
        Some([first[0], first[1], right - first[0], first[3]])
    }

    /// Bytes that so many pixels are.
    pub fn bytes_of(&self, pixels: f64) -> f64 {
        pixels / self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::super::Form;
    use super::*;
    use crate::packed_by_hand::CASES;

    fn drawn(game: &Game, width: f64) -> Packing {
        let heap = game.heap().expect("a heap");
        let top = ceiling(heap, game.standing().top);
        let view = View { game, selected: Some(1), hint: Some((0, 0)), best: Some(15360), ceiling: top };
        packing(&view, width).expect("a picture")
    }

    #[test]
    fn bands_stand_where_the_game_has_them() {
        let game = Game::new(0).expect("a heap");
        let picture = drawn(&game, 900.0);
        for n in 0..6 {
            let [x, y, w, h] = picture.frame(n).expect("a band");
            let size = game.heap().expect("a heap").bands[n].size as f64;
            assert!((h - size * picture.scale).abs() < 1e-6);
            assert!((picture.bottom - y - h - game.offsets[n] as f64 * picture.scale).abs() < 1e-6);
            assert_eq!(picture.at(x + w / 2.0, y + h / 2.0, 0.0), Some(n));
        }
        assert!(!picture.scene.to_text().contains(".clash"));
        assert_eq!(picture.at(1.0, 1.0, 12.0), None);
    }

    #[test]
    fn what_overlaps_is_drawn_as_such() {
        let game = Game::new(0).expect("a heap").moved(0, 0).moved(1, 0);
        let text = drawn(&game, 900.0).scene.to_text();
        assert!(text.contains(".selected lost") && text.contains(".clash"), "{text}");
        assert!(!text.contains("yours"), "what is no packing has no height: {text}");
    }

    #[test]
    fn nothing_leaves_the_picture_and_no_two_heights_share_a_line() {
        for case in 0..CASES.len() {
            let game = Game::new(case).expect("a heap");
            for width in [250.0, 330.0, 600.0, 1100.0] {
                let picture = drawn(&game, width);
                let mut last = 0.0;
                for m in &picture.scene.marks {
                    assert!(m.y >= 0.0 && m.y <= PACKING_HEIGHT, "{m:?}");
                    if let Form::Text { text, anchor: Anchor::Start } = &m.form {
                        assert!(m.x + text_width(text) <= width + 1.0, "{text} at {} in {width}", m.x);
                        if m.layer == Layer::Axis {
                            assert!(m.y - last >= 12.9, "{text} at {}", m.y);
                            last = m.y;
                        }
                    }
                }
            }
        }
    }
}
