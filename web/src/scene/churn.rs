//! Many steps of a command buffer: addresses reserved and needed, the cutoff, shadows, and what goes wrong.

use super::{Anchor, Layer, Scene, Steps, fit};
use crate::remapping::Course;
use assigner::words::binary;

/// Where the parts begin and end, from the top.
const RANGE: (f64, f64) = (24.0, 124.0);
const CUTOFF: (f64, f64) = (158.0, 208.0);
const SHADOWS: (f64, f64) = (242.0, 312.0);
const SIGNS: f64 = 342.0;
const ROW: f64 = 18.0;

/// The picture, with one step looked at.
pub fn churn(course: &Course, chosen: usize, width: f64) -> Scene {
    let last = course.steps.len().saturating_sub(1) as u32;
    let steps = Steps::new(70.0_f64.min(width * 0.22), width - 8.0, last);
    let mut scene = Scene { width, height: SIGNS + 2.0 * ROW + 24.0, marks: Vec::new() };
    let across = steps.right() - steps.left;
    let at = (steps.x(chosen as u32), RANGE.0 - 2.0);
    scene.rect(Layer::RowMark, 0, at, (steps.column, SIGNS + 2.0 * ROW - RANGE.0 + 2.0));
    let most = |of: fn(&remap::simulation::Step) -> u64| course.steps.iter().map(of).max().unwrap_or(0);
    let range = most(|s| s.needed.max(s.reservation));
    let cutoff = most(|s| s.cutoff);
    let shadows = most(|s| s.shadow_bytes.saturating_add(s.leaked_bytes));
    let panels = [
        (RANGE, range, "Addresses: needed, and reserved (line)"),
        (CUTOFF, cutoff, "Cutoff"),
        (SHADOWS, shadows, "Shadows: in use, and above it leaked"),
    ];
    for (n, ((top, bottom), most, heading)) in panels.into_iter().enumerate() {
        let n = n as u32;
        scene.rect(Layer::Ground, n, (steps.left, top), (across, bottom - top));
        let text = fit(heading, across);
        scene.text(Layer::Axis, 10 + n, (steps.left, top - 7.0), Anchor::Start, text).class = "top";
        let at = (steps.left - 6.0, top + 9.0);
        scene.text(Layer::Axis, 20 + n, at, Anchor::End, fit(&binary(most), steps.left - 8.0));
        scene.text(Layer::Axis, 30 + n, (steps.left - 6.0, bottom), Anchor::End, "0".to_owned());
    }
    let height = |(top, bottom): (f64, f64), of: u64, most: u64| {
        if most == 0 { 0.0 } else { of as f64 / most as f64 * (bottom - top) }
    };
    let (name_y, name_x) = (12.0, steps.left - 6.0);
    for (n, name) in ["set-up", "wrong"].into_iter().enumerate() {
        let y = SIGNS + ROW * n as f64 + name_y;
        scene.text(Layer::Axis, 40 + n as u32, (name_x, y), Anchor::End, name.to_owned());
    }
    for (n, step) in course.steps.iter().enumerate() {
        let n = n as u32;
        let (x, w) = (steps.x(n) + 1.0, (steps.column - 2.0).max(1.0));
        let mut bar = |id: u32, place: (f64, f64), from: f64, h: f64, hue: u8, class: &'static str| {
            if h > 0.0 {
                let band = scene.rect(Layer::Band, id + n, (x, place.1 - from - h), (w, h));
                (band.value, band.hue, band.class) = (Some(n), Some(hue), class);
            }
        };
        let inside = step.needed.min(step.reservation);
        let h = height(RANGE, inside, range);
        bar(0, RANGE, 0.0, h, 1, "");
        bar(1000, RANGE, h, height(RANGE, step.needed - inside, range), 1, "lost");
        bar(2000, CUTOFF, 0.0, height(CUTOFF, step.cutoff, cutoff), 6, "");
        let h = height(SHADOWS, step.shadow_bytes, shadows);
        bar(3000, SHADOWS, 0.0, h, 4, "");
        bar(4000, SHADOWS, h, height(SHADOWS, step.leaked_bytes, shadows), 4, "lost");
        let y = RANGE.1 - height(RANGE, step.reservation, range);
        scene.line(Layer::Threshold, n, (steps.x(n), y), (steps.column, 0.0)).class = "limit";
        if step.set_up {
            let at = (steps.middle(n) - 3.5, SIGNS + 4.0);
            scene.rect(Layer::Read, n, at, (7.0, 7.0)).value = Some(n);
        }
        if !step.faults.is_empty() {
            let at = (steps.middle(n), SIGNS + ROW + name_y);
            let sign = scene.text(Layer::Threshold, 1000 + n, at, Anchor::Middle, "×".to_owned());
            (sign.value, sign.class) = (Some(n), "word cross");
        }
    }
    for (n, tick) in steps.ticks(24.0).enumerate() {
        let at = (steps.middle(tick), SIGNS + 2.0 * ROW + 16.0);
        scene.text(Layer::Axis, 100 + n as u32, at, Anchor::Middle, tick.to_string());
    }
    scene
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::remapping::{CASES, MODULE, Trial, course, slices};
    use crate::scene::Form;

    #[test]
    fn every_fault_has_its_sign_and_all_stands_inside() {
        let opened = crate::engine::open(&crate::chapters::text_of(MODULE)).expect("it can be read");
        let slices = slices(&opened);
        for (case, kept) in (0..CASES.len()).flat_map(|c| [(c, false), (c, true)]) {
            let course = course(&slices, Trial { case, kept, ..Trial::FIRST });
            for width in [280.0, 640.0, 1000.0] {
                let scene = churn(&course, course.chosen(None), width);
                for m in &scene.marks {
                    if let Form::Rect { w, h } = m.form {
                        assert!(m.x >= 0.0 && m.x + w <= width + 0.5, "{m:?}");
                        assert!(m.y >= 0.0 && m.y + h <= scene.height, "{m:?}");
                    }
                }
                let wrong = course.steps.iter().filter(|s| !s.faults.is_empty()).count();
                assert_eq!(scene.marks.iter().filter(|m| m.class == "word cross").count(), wrong);
                assert_eq!(wrong == 0, kept);
                let past = course.steps.iter().filter(|s| s.needed > s.reservation).count();
                let drawn = scene.marks.iter().filter(|m| m.class == "lost" && m.id / 1000 == 1).count();
                assert_eq!(drawn, past);
            }
        }
    }
}
