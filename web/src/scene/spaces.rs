//! A slab a memory space, each on its own scale, with the addresses at which places may begin.

use super::{Anchor, Layer, Picture, Scene, Steps, fit, text_width};
use crate::colours::Space;
use assigner::words::grouped;

/// The height of one slab with its heading.
const PANEL: f64 = 134.0;

/// No more lines than this tell where places may begin.
const MOST_LINES: u64 = 24;

/// All spaces that have a slab of temporaries, one below the other, on the same steps.
pub fn spaces(picture: &Picture, spaces: &[Space], selected: Option<u32>, width: f64) -> Scene {
    let shown: Vec<&Space> = spaces.iter().filter(|s| s.temp.is_some()).collect();
    let longest = shown.iter().map(|s| text_width(&grouped(s.bytes))).fold(20.0, f64::max);
    let steps = Steps::new(longest * 1.1 + 10.0, width - 8.0, picture.last());
    let mut scene = Scene { width, height: PANEL * shown.len() as f64 + 22.0, marks: Vec::new() };
    let across = steps.right() - steps.left;
    for (n, space) in shown.into_iter().enumerate() {
        let (top, bottom) = (PANEL * n as f64 + 26.0, PANEL * (n + 1) as f64 - 10.0);
        let scale = (bottom - top) / space.bytes.max(1) as f64;
        let y = |address: u64| bottom - address as f64 * scale;
        let id = 1000 * n as u32;
        let full = format!("S({}), {}", space.color, space.name);
        scene.text(Layer::Axis, id, (steps.left, top - 9.0), Anchor::Start, fit(&full, across)).class =
            "kind";
        scene.rect(Layer::Ground, id, (steps.left, top), (across, bottom - top));
        let lines = space.bytes / space.alignment.max(1);
        if lines <= MOST_LINES {
            for k in 0..=lines {
                let at = y(k * space.alignment);
                scene.line(Layer::Grid, id + k as u32, (steps.left - 4.0, at), (across + 4.0, 0.0));
            }
        }
        for (k, address) in [0, space.bytes].into_iter().enumerate() {
            let at = (steps.left - 7.0, y(address) + 3.8);
            scene.text(Layer::Axis, id + 1 + k as u32, at, Anchor::End, grouped(address));
        }
        for item in picture.items.iter().filter(|i| i.slab == space.temp && i.size > 0) {
            let (x, w) = (steps.x(item.start), steps.after(item.end) - steps.x(item.start));
            let h = (item.size as f64 * scale).max(1.5);
            let band = scene.rect(Layer::Band, item.value, (x, y(item.offset) - h), (w, h));
            (band.value, band.hue) = (Some(item.value), Some(item.hue));
            if selected == Some(item.value) {
                band.class = "selected";
            }
            let name = fit(&item.name, w - 8.0);
            if !name.is_empty() && h >= 14.0 {
                let at = (x + 4.0, y(item.offset) - h / 2.0 + 4.0);
                let said = scene.text(Layer::Label, item.value, at, Anchor::Start, name);
                (said.value, said.class) = (Some(item.value), "inside name");
            }
        }
    }
    let bottom = scene.height - 8.0;
    for (n, step) in steps.ticks(28.0).enumerate() {
        let at = (steps.middle(step), bottom);
        scene.text(Layer::Axis, 9000 + n as u32, at, Anchor::Middle, step.to_string());
    }
    scene
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colours;
    use crate::scene::Form;

    #[test]
    fn every_temporary_stands_in_the_slab_of_its_space() {
        for (n, panels) in [(0, 4), (1, 2), (2, 4)] {
            let o = colours::opened(n).expect("it can be read");
            let all = colours::spaces(o);
            for width in [280.0, 620.0, 1000.0] {
                let scene = spaces(&o.original.picture, &all, None, width);
                assert_eq!(scene.marks.iter().filter(|m| m.layer == Layer::Ground).count(), panels);
                let bands = scene.marks.iter().filter(|m| m.layer == Layer::Band).count();
                assert_eq!(bands, all.iter().map(|s| s.values).sum::<usize>());
                for m in &scene.marks {
                    if let Form::Rect { w, h } = m.form {
                        assert!(m.x >= 0.0 && m.x + w <= width && m.y >= 0.0 && m.y + h <= scene.height);
                    }
                }
            }
        }
    }
}
