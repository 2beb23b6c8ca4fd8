//! The heap map: addresses upwards, the steps across, a band a value.

use super::{Anchor, Item, Layer, Picture, Scene, Steps, fit, text_width};
use assigner::words::{binary, bytes, grouped};
use sorts::Arrange as _;

/// A drawn heap map, and what is needed to find things on it again.
#[derive(Clone, PartialEq, Debug)]
pub struct HeapLayout {
    /// The picture.
    pub scene: Scene,
    /// The steps across.
    pub steps: Steps,
    /// Where address 0 is drawn.
    pub bottom: f64,
    /// Pixels a byte.
    pub scale: f64,
    /// How many bands stand elsewhere than in the module's own assignment.
    pub moved: usize,
}

/// What there is at a point of the map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spot {
    /// A value's place.
    Value(u32),
    /// Bytes set aside behind this value, so that the next place begins where the alignment wants it.
    Padding(u32),
    /// Nothing, from one address to another.
    Hole(u64, u64),
}

/// A step between marked addresses: a power of two that gives at most about `most` marks.
pub(super) fn address_step(size: u64, most: u64) -> u64 {
    let mut step = 1_u64;
    while size / step > most {
        step = step.saturating_mul(2);
    }
    step
}

/// An address on the axis: exact where steps are small, in binary multiples where they are round ones.
pub(super) fn address(at: u64, step: u64) -> String {
    match step {
        _ if at == 0 => "0".to_owned(),
        0..0x1_0000 => grouped(at),
        0x1_0000..0x4000_0000 if at.is_multiple_of(1 << 20) => format!("{} MiB", at >> 20),
        0x1_0000..0x4000_0000 => format!("{} KiB", grouped(at >> 10)),
        _ => binary(at),
    }
}

fn align_up(at: u64, alignment: u64) -> u64 {
    at.checked_next_multiple_of(alignment.max(1)).unwrap_or(at)
}

/// Draws the slab of temporaries of `now`; whatever stood elsewhere in `base` leaves a ghost.
pub fn heap(
    base: &Picture,
    now: &Picture,
    (width, height): (f64, f64),
    selected: Option<u32>,
    lost: &[u32],
    peak: Option<u32>,
) -> HeapLayout {
    let steps = HeapLayout::steps_for(width, base, now);
    let (top, bottom) = (22.0, height - 20.0);
    let size = now.heap_size();
    let tallest = size.max(base.heap_size()).max(1);
    // Some room above, so that growth is seen before it rescales the figure.
    let scale = (bottom - top) / (tallest as f64 * 1.04);
    let y = |address: u64| bottom - address as f64 * scale;
    let mut scene = Scene { width, height, marks: Vec::new() };
    let across = steps.right() - steps.left;

    if size > 0 {
        scene.rect(Layer::Ground, 0, (steps.left, y(size)), (across, size as f64 * scale));
    }
    let step = address_step(tallest, 8);
    for k in 0..=tallest / step {
        let at = k * step;
        scene.line(Layer::Grid, k as u32, (steps.left, y(at)), (across, 0.0));
        // The slab's own end is labelled below; no second number is put on top of it.
        if (y(at) - y(size)).abs() >= 12.0 {
            scene.text(
                Layer::Axis,
                k as u32,
                (steps.left - 6.0, y(at) + 3.8),
                Anchor::End,
                address(at, step),
            );
        }
    }
    for (k, step) in steps.ticks(34.0).enumerate() {
        let x = steps.middle(step);
        scene.text(Layer::Axis, 1000 + k as u32, (x, bottom + 14.0), Anchor::Middle, step.to_string());
    }
    if size > 0 {
        scene.line(Layer::Grid, 900, (steps.left, y(size)), (across, 0.0)).class = "top";
        scene.text(Layer::Axis, 900, (steps.left - 6.0, y(size) + 3.8), Anchor::End, grouped(size)).class =
            "top";
    }
    if base.heap_size() != size && base.heap_size() > 0 {
        let at = y(base.heap_size());
        scene.line(Layer::Ghost, u32::MAX, (steps.left, at), (across, 0.0)).class = "top";
    }

    // The selected value's addresses, right across: who else stands in this lane shares with it.
    let chosen = selected.and_then(|s| now.item(s)).filter(|i| now.is_temp(i) && i.size > 0);
    if let Some(item) = chosen {
        let h = (item.size as f64 * scale).max(2.0);
        scene.rect(Layer::RowMark, 0, (steps.left, y(item.offset) - h), (across, h));
    }
    let mates: Vec<u32> =
        chosen.map_or_else(Vec::new, |c| now.mates(c.value).iter().map(|m| m.value).collect());
    let mut items: Vec<&Item> = now.temps().collect();
    items.arrange_by_key(|i| (i.start, i.end, i.value));
    let mut moved = 0;
    for item in items {
        let (x, w) = (steps.x(item.start), (steps.after(item.end) - steps.x(item.start)).max(1.0));
        let padded = align_up(item.top(), now.alignment).min(size);
        if padded > item.top() {
            let h = (padded - item.top()) as f64 * scale;
            let mark = scene.rect(Layer::Padding, item.value, (x, y(padded)), (w, h));
            mark.value = Some(item.value);
        }
        // A place of a few bytes is still to be seen and hit.
        let h = (item.size as f64 * scale).max(1.5);
        let at = y(item.offset) - h;
        let band = scene.rect(Layer::Band, item.value, (x, at), (w, h));
        band.value = Some(item.value);
        band.hue = Some(item.hue);
        band.class = if selected == Some(item.value) {
            "selected"
        } else if lost.contains(&item.value) {
            "lost"
        } else if mates.contains(&item.value) {
            "mate"
        } else {
            ""
        };
        // A value written over this one in place covers its last column.
        let w = w - if w > 3.0 * steps.column { steps.column } else { 0.0 };
        if h >= 12.0 && w >= 26.0 {
            let name = fit(&item.name, w - 7.0);
            if !name.is_empty() {
                let mark =
                    scene.text(Layer::Label, item.value * 2, (x + 4.0, at + 11.5), Anchor::Start, name);
                mark.value = Some(item.value);
                mark.class = "inside name";
            }
            let size = bytes(item.size);
            if h >= 25.0 && text_width(&size) + 7.0 <= w {
                let mark =
                    scene.text(Layer::Label, item.value * 2 + 1, (x + 4.0, at + 23.5), Anchor::Start, size);
                mark.value = Some(item.value);
                mark.class = "inside";
            }
        }
        if let Some(old) = base.item(item.value)
            && base.is_temp(old)
            && old.offset != item.offset
        {
            moved += 1;
            let h = (old.size as f64 * scale).max(1.5);
            let (x, w) = (steps.x(old.start), (steps.after(old.end) - steps.x(old.start)).max(1.0));
            let ghost = scene.rect(Layer::Ghost, item.value, (x, y(old.offset) - h), (w, h));
            ghost.value = Some(item.value);
            ghost.class =
                if selected == Some(item.value) || lost.contains(&item.value) { "selected" } else { "" };
        }
    }
    if let Some(peak) = peak {
        scene.line(Layer::Peak, 0, (steps.middle(peak), top), (0.0, bottom - top));
    }
    HeapLayout { scene, steps, bottom, scale, moved }
}

impl HeapLayout {
    /// The columns of a map of that width, with room at the left for addresses up to the larger heap of the two: the
    /// curve below has the same.
    pub fn steps_for(width: f64, base: &Picture, now: &Picture) -> Steps {
        let longest = grouped(base.heap_size().max(now.heap_size()));
        Steps::new((text_width(&longest) * 1.08 + 12.0).max(48.0), width - 8.0, now.last())
    }

    /// The step and the address at a point.
    pub fn at(&self, x: f64, y: f64) -> Option<(u32, u64)> {
        let address = (self.bottom - y) / self.scale;
        (address >= 0.0).then_some((self.steps.at(x)?, address as u64))
    }
}

/// What there is at a step and an address of the temporaries' slab. `slack` bytes up or down still count as a hit of a
/// value, because a place may be less than a pixel high.
pub fn spot(picture: &Picture, step: u32, address: u64, slack: u64) -> Option<Spot> {
    let alive = || picture.temps().filter(|i| i.start <= step && step <= i.end && i.size > 0);
    // Where two values stand at one address, the later one is drawn on top.
    if let Some(item) =
        alive().filter(|i| i.offset <= address && address < i.top()).max_by_key(|i| (i.start, i.value))
    {
        return Some(Spot::Value(item.value));
    }
    let near = alive()
        .map(|i| (i.offset.saturating_sub(address).max(address.saturating_sub(i.top())), i.value))
        .filter(|(far, _)| *far <= slack)
        .min();
    if let Some((_, value)) = near {
        return Some(Spot::Value(value));
    }
    if address >= picture.heap_size() {
        return None;
    }
    let below = alive().filter(|i| i.top() <= address).max_by_key(|i| i.top());
    if let Some(item) = below
        && address < align_up(item.top(), picture.alignment)
    {
        return Some(Spot::Padding(item.value));
    }
    let from = below.map_or(0, Item::top);
    let to = alive().map(|i| i.offset).filter(|o| *o > address).min().unwrap_or(picture.heap_size());
    Some(Spot::Hole(from, to))
}

#[cfg(test)]
mod tests {
    use super::super::tests::picture;
    use super::*;

    const THREE: &str = "a 0 4 0 100\nb 3 8 128 100\nc 5 9 0 64";

    #[test]
    fn bands_stand_at_their_addresses() {
        let p = picture(9, THREE);
        let map = heap(&p, &p, (268.0, 262.0), Some(0), &[], Some(3));
        assert!(map.scene.to_text().starts_with("268x262\nground 0 48.0,"), "{}", map.scene.to_text());
        let bands: Vec<_> = map.scene.marks.iter().filter(|m| m.layer == Layer::Band).collect();
        assert_eq!(bands.len(), 3);
        // `a` and `c` stand on the ground; `c` begins a column after `a` ends.
        assert!((bands[2].x - map.steps.after(4)).abs() < 1e-9);
        assert_eq!(map.moved, 0);
        assert!(map.scene.marks.iter().any(|m| m.layer == Layer::Padding && m.value == Some(0)));
    }

    #[test]
    fn a_whole_map() {
        let base = picture(3, "a 0 1 0 128\nb 2 3 0 100");
        let now = picture(3, "a 0 2 0 128\nb 2 3 128 100");
        let drawn = heap(&base, &now, (256.0, 242.0), Some(0), &[1], Some(2)).scene.to_text();
        let expected = "\
256x242
ground 0 48.0,29.7 200.0x192.3
grid 0 48.0,222.0 to 200.0,0.0
axis 0 42.0,225.8 End \"0\"
grid 1 48.0,195.0 to 200.0,0.0
axis 1 42.0,198.8 End \"32\"
grid 2 48.0,168.0 to 200.0,0.0
axis 2 42.0,171.8 End \"64\"
grid 3 48.0,141.0 to 200.0,0.0
axis 3 42.0,144.8 End \"96\"
grid 4 48.0,114.0 to 200.0,0.0
axis 4 42.0,117.8 End \"128\"
grid 5 48.0,87.0 to 200.0,0.0
axis 5 42.0,90.8 End \"160\"
grid 6 48.0,60.1 to 200.0,0.0
axis 6 42.0,63.9 End \"192\"
grid 7 48.0,33.1 to 200.0,0.0
";
        assert!(drawn.starts_with(expected), "{drawn}");
        let end = "\
row-mark 0 48.0,114.0 200.0x108.0
band 0 48.0,114.0 150.0x108.0 .selected
label 0 52.0,125.5 Start \"a\" .inside name
label 1 52.0,137.5 Start \"128 B\" .inside
band 1 148.0,29.7 100.0x84.3 .lost
label 2 152.0,41.2 Start \"b\" .inside name
label 3 152.0,53.2 Start \"100 B\" .inside
ghost 1 148.0,137.7 100.0x84.3 .selected
peak 0 173.0,22.0 to 0.0,200.0
";
        assert!(drawn.ends_with(end), "{drawn}");
    }

    #[test]
    fn what_moved_leaves_a_ghost_at_its_old_address() {
        let base = picture(9, THREE);
        let now = picture(9, "a 0 5 0 100\nb 3 8 128 100\nc 5 9 256 64");
        let map = heap(&base, &now, (268.0, 262.0), None, &[], None);
        let ghosts: Vec<_> =
            map.scene.marks.iter().filter(|m| m.layer == Layer::Ghost).map(|m| m.value).collect();
        assert_eq!((map.moved, ghosts), (1, vec![None, Some(2)]));
    }

    #[test]
    fn addresses_are_short() {
        let labels: Vec<_> =
            [(0, 64), (4096, 4096), (1 << 19, 1 << 19), (1 << 22, 1 << 19), (3 << 30, 1 << 30)]
                .into_iter()
                .map(|(at, step)| address(at, step))
                .collect();
        assert_eq!(labels, ["0", "4,096", "512 KiB", "4 MiB", "3.0 GiB"]);
    }

    #[test]
    fn every_point_is_a_value_padding_or_a_hole() {
        let p = picture(9, THREE);
        assert_eq!(spot(&p, 0, 50, 0), Some(Spot::Value(0)));
        assert_eq!(spot(&p, 0, 110, 0), Some(Spot::Padding(0)));
        assert_eq!(spot(&p, 0, 150, 0), Some(Spot::Hole(100, 228)));
        assert_eq!(spot(&p, 6, 100, 0), Some(Spot::Hole(64, 128)));
        assert_eq!(spot(&p, 6, 100, 30), Some(Spot::Value(1)));
        assert_eq!(spot(&p, 6, 4000, 0), None);
    }
}
