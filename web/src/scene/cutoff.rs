//! Slices in ascending order of size, what limits copying them, and what each way of finding the cutoff comes to.

use super::{Anchor, Layer, Scene, fit, text_width};
use crate::remapping::{POLICIES, Plan};
use assigner::words::binary;

/// Where the parts begin and end, from the top.
const SIZES: (f64, f64) = (38.0, 178.0);
const MOVED: (f64, f64) = (254.0, 352.0);
const ROWS: f64 = 406.0;
const ROW: f64 = 22.0;
/// The scale of what was measured elsewhere, in milliseconds.
const SCALE: (f64, f64) = (115.0, 135.0);

/// Colours: what is copied, and what is remapped.
const COPIED: u8 = 4;
const REMAPPED: u8 = 1;

/// Bytes upwards, in proportion or by factors.
#[derive(Clone, Copy)]
struct Upwards {
    top: f64,
    bottom: f64,
    most: u64,
    by_factors: bool,
}

impl Upwards {
    fn y(self, bytes: u64) -> f64 {
        let share = if self.by_factors {
            (bytes.max(1) as f64).log2() / (self.most.max(2) as f64).log2()
        } else {
            bytes as f64 / self.most.max(1) as f64
        };
        (self.bottom - share / 1.06 * (self.bottom - self.top)).max(self.top)
    }
}

/// The step of an axis with two of them: the largest power of two of which two are no more than the most.
fn round_step(most: u64) -> u64 {
    1 << (most / 2).max(1).ilog2()
}

/// A power of two of bytes, which is a whole number of its unit: `128 MiB`.
fn whole_units(bytes: u64) -> String {
    binary(bytes).replace(".0 ", " ")
}

/// The first of some texts that has room, or else the last, cut.
fn first_fit(texts: &[&str], width: f64) -> String {
    let fitting = texts.iter().find(|t| text_width(t) <= width);
    fitting.map_or_else(|| fit(texts.last().unwrap_or(&""), width), |t| (*t).to_owned())
}

/// The picture.
pub fn cutoff(plan: &Plan, chosen: usize, width: f64) -> Scene {
    let count = plan.order.len().max(1);
    let (left, right) = (62.0, width - 8.0);
    let across = right - left;
    let column = across / count as f64;
    let mut scene = Scene { width, height: ROWS + ROW * POLICIES.len() as f64 + 22.0, marks: Vec::new() };
    let d = &plan.decision;
    let largest = plan.slices.iter().map(|s| s.size).max().unwrap_or(1);
    let all = plan.slices.iter().fold(0_u64, |sum, s| sum.saturating_add(s.size.saturating_mul(2)));
    // A limit that is far above all that could be moved is not to be seen.
    let seen = |limit: Option<u64>| limit.filter(|l| *l / 2 <= all).unwrap_or(0);
    let most = d.bounds.map_or(0, |b| seen(b.step_time).max(seen(b.memory)));
    let sizes = Upwards {
        top: SIZES.0,
        bottom: SIZES.1,
        most: largest.max(d.bounds.map_or(0, |b| b.slice)),
        by_factors: true,
    };
    let moved = Upwards { top: MOVED.0, bottom: MOVED.1, most: all.max(most), by_factors: false };
    let mut id = 0;
    let mut line = |scene: &mut Scene, y: f64, name: String| {
        scene.line(Layer::Grid, id, (left, y), (across, 0.0));
        scene.text(Layer::Axis, 10 + id, (left - 6.0, y + 4.0), Anchor::End, name);
        id += 1;
    };
    for (n, unit) in [(0, "1 B"), (10, "1 KiB"), (20, "1 MiB"), (30, "1 GiB")] {
        if 1 << n <= sizes.most {
            line(&mut scene, sizes.y(1 << n), unit.to_owned());
        }
    }
    for bytes in [0, 1, 2].map(|n| n * round_step(moved.most)) {
        line(&mut scene, moved.y(bytes), whole_units(bytes));
    }
    for (n, panel, texts) in [
        (0, sizes, &["Sizes of the slices, smallest first", "Sizes, smallest first"][..]),
        (
            1,
            moved,
            &["What copying would move, all so far: there and back", "Moved by copying, all so far"][..],
        ),
    ] {
        let text = first_fit(texts, across);
        scene.text(Layer::Axis, n, (4.0, panel.top - 22.0), Anchor::Start, text).class = "top";
    }
    let widest = plan.slices.iter().map(|s| text_width(&s.allocation.to_string())).fold(0.0, f64::max);
    let is_crowded = widest > column - 1.0;
    let mut total = 0_u64;
    for (at, n) in plan.order.iter().enumerate() {
        let slice = &plan.slices[*n];
        let (x, w) = (left + column * at as f64 + 1.0, (column - 2.0).max(1.0));
        total = total.saturating_add(slice.size.saturating_mul(2));
        let copied = plan.is_copied(*n);
        let (hue, class) = match (copied, *n == chosen) {
            (true, false) => (COPIED, ""),
            (true, true) => (COPIED, "selected"),
            (false, false) => (REMAPPED, ""),
            (false, true) => (REMAPPED, "selected"),
        };
        for (panel, bytes, id) in [(sizes, slice.size, 0), (moved, total, 1000)] {
            let y = panel.y(bytes).min(panel.bottom - 2.0);
            let band = scene.rect(Layer::Band, id + *n as u32, (x, y), (w, panel.bottom - y));
            (band.value, band.hue, band.class) = (Some(*n as u32), Some(hue), class);
            let sign = if copied { "C" } else { "R" };
            if id == 0 {
                // A bar that is too low for it has it on top.
                let has_room = panel.bottom - y >= 14.0;
                let (from, class) = if has_room { (panel.bottom - 5.0, "inside") } else { (y - 3.0, "") };
                let at = (x + w / 2.0, from);
                let label = scene.text(Layer::Label, *n as u32, at, Anchor::Middle, sign.to_owned());
                (label.value, label.class) = (Some(*n as u32), class);
            }
        }
        // Where columns are narrow, the numbers stand in two rows.
        let low = if is_crowded && at % 2 == 1 { 12.0 } else { 0.0 };
        let at = (x + w / 2.0, SIZES.1 + 13.0 + low);
        scene.text(Layer::Axis, 2000 + *n as u32, at, Anchor::Middle, slice.allocation.to_string());
    }
    scene.text(
        Layer::Axis,
        3000,
        (right, SIZES.1 + if is_crowded { 38.0 } else { 26.0 }),
        Anchor::End,
        first_fit(&["C copied, R remapped; numbers of the allocations", "C copied, R remapped"], across),
    );
    limits(&mut scene, plan, (sizes, moved), (left, across));
    let end = plan.order.iter().filter(|n| plan.is_copied(**n)).count() as f64;
    let x = left + column * end;
    for (n, panel) in [(0, sizes), (1, moved)] {
        scene.line(Layer::Peak, n, (x, panel.top - 8.0), (0.0, panel.bottom - panel.top + 8.0)).class =
            "heap-size";
    }
    let words = if d.cutoff == 0 { "no cutoff".to_owned() } else { format!("cutoff {}", binary(d.cutoff)) };
    let half = text_width(&words) / 2.0;
    let at = (x.clamp(left + half, right - half), SIZES.0 - 11.0);
    scene.text(Layer::Threshold, 50, at, Anchor::Middle, words).class = "word";
    policies(&mut scene, plan, width);
    scene
}

/// The lines of what copying may take.
fn limits(scene: &mut Scene, plan: &Plan, (sizes, moved): (Upwards, Upwards), (left, across): (f64, f64)) {
    let Some(bounds) = plan.decision.bounds else { return };
    let binding = bounds.budget().map(|(bytes, _)| bytes);
    let lines = [
        (sizes, Some(bounds.slice), "a slice, by time", true),
        (moved, bounds.step_time, "all, by time", bounds.step_time == binding),
        (moved, bounds.memory, "all, by memory", bounds.memory == binding),
    ];
    let mut taken: Vec<f64> = Vec::new();
    for (n, (panel, limit, name, binds)) in lines.into_iter().enumerate() {
        let Some(limit) = limit.filter(|l| *l <= panel.most) else { continue };
        let (n, y) = (n as u32, panel.y(limit));
        scene.line(Layer::Threshold, n, (left, y), (across, 0.0)).class =
            if binds { "limit" } else { "limit idle" };
        // Two lines that are close have their words above and below.
        let is_close = taken.iter().any(|other| (y - other).abs() < 16.0);
        let below = is_close && taken.iter().all(|other| y >= *other) || y < panel.top + 12.0;
        taken.push(y);
        let words = fit(&format!("{name}: {}", binary(limit)), across);
        let at = (left + 3.0, if below { y + 12.0 } else { y - 4.0 });
        scene.text(Layer::Threshold, 20 + n, at, Anchor::Start, words).class = "word";
    }
}

/// A row for each way of finding the cutoff: the model's step, and what was measured elsewhere.
fn policies(scene: &mut Scene, plan: &Plan, width: f64) {
    let name_width = POLICIES.iter().map(|p| text_width(p.title)).fold(0.0, f64::max);
    let left = (name_width + 12.0).min(width * 0.34);
    let middle = left + (width - left) * 0.56;
    let (far_left, far_right) = (middle + 24.0, width - 52.0);
    let most = plan.policies.iter().filter_map(|d| d.costs.chosen).fold(f64::MIN_POSITIVE, f64::max);
    let room = middle - left - 8.0;
    let head = fit("A step in the model", middle - 8.0);
    scene.text(Layer::Axis, 4000, (4.0, ROWS - 26.0), Anchor::Start, head).class = "top";
    let head = first_fit(&["Measured elsewhere", "Elsewhere"], width - middle - 8.0);
    scene.text(Layer::Axis, 4001, (middle + 8.0, ROWS - 26.0), Anchor::Start, head).class = "top";
    let head = fit("copying below, remapping above", middle - 8.0);
    scene.text(Layer::Axis, 4002, (4.0, ROWS - 12.0), Anchor::Start, head);
    let head = first_fit(&["ms a step, another program", "ms a step"], width - middle - 8.0);
    scene.text(Layer::Axis, 4003, (middle + 8.0, ROWS - 12.0), Anchor::Start, head);
    for (n, (policy, decision)) in POLICIES.iter().zip(&plan.policies).enumerate() {
        let (y, id) = (ROWS + ROW * n as f64, n as u32);
        if n == plan.setting.policy {
            scene.rect(Layer::RowMark, id, (0.0, y), (width, ROW));
        }
        let name = fit(policy.title, left - 8.0);
        scene.text(Layer::Label, 5000 + id, (4.0, y + 15.0), Anchor::Start, name).class = "name";
        if let Some(cost) = decision.costs.chosen {
            let remaps = plan.setting.remap() * decision.remapped.len() as f64;
            let scale = (room - 58.0).max(10.0) / most;
            let parts = [(0, remaps, 4.0, REMAPPED), (1, (cost - remaps).max(0.0), 11.0, COPIED)];
            for (part, cost, down, hue) in parts {
                let bar = scene.rect(
                    Layer::Band,
                    6000 + 10 * id + part,
                    (left, y + down),
                    ((cost * scale).max(0.5), 6.0),
                );
                bar.hue = Some(hue);
            }
            let said = format!("{cost:.1} µs");
            let at = (left + (remaps.max(cost - remaps) * scale) + 5.0, y + 15.0);
            scene.text(Layer::Axis, 4100 + id, at, Anchor::Start, said);
        }
        scene.line(Layer::Grid, 100 + id, (far_left, y + ROW / 2.0), (far_right - far_left, 0.0));
        if let Some(ms) = policy.elsewhere {
            let x = far_left + (f64::from(ms) - SCALE.0) / (SCALE.1 - SCALE.0) * (far_right - far_left);
            scene.rect(Layer::Read, id, (x - 3.5, y + ROW / 2.0 - 3.5), (7.0, 7.0));
            let at = (width - 4.0, y + 15.0);
            scene.text(Layer::Axis, 4200 + id, at, Anchor::End, format!("{ms} ms"));
        }
    }
    let y = ROWS + ROW * POLICIES.len() as f64 + 14.0;
    // Where the scale is too short for both of its ends it stands for order only.
    let ends = [(SCALE.0, far_left), (SCALE.1, far_right)].map(|(at, x)| (format!("{at:.0}"), x));
    if ends.iter().map(|(text, _)| text_width(text)).sum::<f64>() / 2.0 + 6.0 <= far_right - far_left {
        for (n, (text, x)) in ends.into_iter().enumerate() {
            scene.text(Layer::Axis, 4300 + n as u32, (x, y), Anchor::Middle, text);
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::remapping::{BANDWIDTHS, FREE, MODULE, Setting, plan, slices};
    use crate::scene::Form;

    #[test]
    fn everything_stands_inside_for_every_setting() {
        let opened = crate::engine::open(&crate::chapters::text_of(MODULE)).expect("it can be read");
        let slices = slices(&opened);
        for policy in 0..POLICIES.len() {
            for (bandwidth, free) in (0..BANDWIDTHS.len()).flat_map(|b| (0..FREE.len()).map(move |f| (b, f)))
            {
                let plan = plan(&slices, Setting { policy, bandwidth, free, ..Setting::FIRST });
                for width in [280.0, 640.0, 1000.0] {
                    let scene = cutoff(&plan, plan.chosen(None), width);
                    for m in &scene.marks {
                        let (w, h) = match &m.form {
                            Form::Rect { w, h } => (*w, *h),
                            Form::Line { dx, dy } => (*dx, *dy),
                            Form::Text { .. } => (0.0, 0.0),
                        };
                        assert!(m.x >= -0.5 && m.x + w <= width + 0.5, "{m:?} at {width}");
                        assert!(m.y >= 0.0 && m.y + h <= scene.height, "{m:?}");
                        if let Form::Text { text, .. } = &m.form
                            && m.layer == Layer::Axis
                        {
                            assert!(!text.contains('…'), "{text} at {width}");
                        }
                    }
                    let numbers: Vec<_> = scene
                        .marks
                        .iter()
                        .filter(|m| m.layer == Layer::Axis && (2000..3000).contains(&m.id))
                        .collect();
                    assert_eq!(numbers.len(), slices.len(), "every bar has its number");
                    for (i, a) in numbers.iter().enumerate() {
                        for b in numbers[..i].iter().filter(|b| (b.y - a.y).abs() < 1.0) {
                            let (Form::Text { text: left, .. }, Form::Text { text: right, .. }) =
                                (&a.form, &b.form)
                            else {
                                continue;
                            };
                            let apart = f64::midpoint(text_width(left), text_width(right));
                            assert!((a.x - b.x).abs() >= apart, "{left} and {right} at {width}");
                        }
                    }
                    let bands = scene.marks.iter().filter(|m| m.value.is_some() && m.layer == Layer::Band);
                    assert_eq!(bands.count(), 2 * slices.len());
                }
            }
        }
    }
}
