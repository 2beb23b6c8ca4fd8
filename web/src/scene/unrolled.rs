//! Three iterations of an unrolled loop: copies that run ahead, values that stay, and the idle time that hides copies.

use super::{Anchor, HUES, Layer, Scene, Steps, fit, text_width};
use crate::looping::Plan;
use memory_space::loops::LoopPlan;

const ROW: f64 = 22.0;
const TOP: f64 = 34.0;
const IDLE: f64 = 64.0;
const ITERATIONS: usize = 3;

/// The plan, over three iterations.
pub fn unrolled(plan: &Plan, width: f64) -> Scene {
    let length = plan.length.max(1);
    let shown: Vec<_> = plan.rows.iter().filter(|r| !matches!(r.plan, LoopPlan::Left { .. })).collect();
    let longest = shown.iter().map(|r| text_width(&r.name)).fold(30.0, f64::max);
    let left = (longest + 10.0).min(width * 0.28);
    let steps = Steps::new(left, width - 8.0, (length * ITERATIONS) as u32 - 1);
    let bottom = TOP + ROW * shown.len() as f64;
    let mut scene = Scene { width, height: bottom + IDLE + 44.0, marks: Vec::new() };
    for i in 0..ITERATIONS {
        let at = (steps.x((i * length) as u32), TOP - 6.0);
        let room = steps.column * length as f64;
        let words = fit(&format!("iteration {}", i + 1), room - 6.0);
        scene.text(Layer::Axis, i as u32, (at.0 + 3.0, 14.0), Anchor::Start, words).class = "top";
        scene.line(Layer::Grid, i as u32, at, (0.0, bottom + IDLE - TOP + 10.0));
    }
    let mut id = 0;
    for (n, row) in shown.iter().enumerate() {
        let y = TOP + ROW * n as f64;
        let hue = n as u8 % HUES;
        let name = fit(&row.name, left - 8.0);
        scene.text(Layer::Label, n as u32, (left - 6.0, y + 14.0), Anchor::End, name).class = "name";
        let first = row.definition.or(row.uses.map(|u| u.0)).unwrap_or(0) as i64;
        let last = row.next_use.map(|u| u + length).or(row.uses.map(|u| u.1)).unwrap_or(0) as i64;
        for i in 0..ITERATIONS {
            let base = (i * length) as i64;
            let column = |t: i64| (base + t).clamp(0, i64::from(steps.last) + 1) as u32;
            let mut bar = |from: i64, to: i64, height: f64, class: &'static str| {
                let (x, right) = (steps.x(column(from)), steps.x(column(to)));
                if right > x {
                    let band =
                        scene.rect(Layer::Band, id, (x, y + (ROW - height) / 2.0), (right - x, height));
                    (band.hue, band.class) = (Some(hue), class);
                    id += 1;
                }
            };
            match row.plan {
                LoopPlan::Copied(copy) => {
                    bar(copy.effective_start(length) + 1, copy.done_before as i64, 6.0, "copying");
                    bar(copy.done_before as i64, last + 1, 14.0, "");
                }
                LoopPlan::Fast { .. } if row.definition.is_none() => bar(0, length as i64, 14.0, ""),
                LoopPlan::Fast { .. } => bar(first, last.max(first) + 1, 14.0, ""),
                _ => bar(first, last.max(first) + 1, 4.0, "lost"),
            }
        }
    }
    // Idle time: what there is, and what the copies leave.
    let most = plan.idle.iter().map(|(a, _)| *a).fold(f32::MIN_POSITIVE, f32::max);
    let ground = bottom + IDLE + 4.0;
    let words = fit("Idle time of slow memory: all of it, and what copies leave", width - left - 8.0);
    scene.text(Layer::Axis, 20, (left, bottom + 14.0), Anchor::Start, words).class = "top";
    for i in 0..ITERATIONS {
        for (k, (before, after)) in plan.idle.iter().enumerate() {
            let at = (i * length + k) as u32;
            let (x, w) = (steps.x(at) + steps.column * 0.15, steps.column * 0.7);
            for (bar, seconds, class) in [(0, before, "moving"), (500, after, "compute")] {
                let h = f64::from(seconds.max(0.0) / most) * (IDLE - 22.0);
                scene.rect(Layer::Padding, bar + at, (x, ground - h), (w, h)).class = class;
            }
            let name = plan.names.get(k).map_or_else(String::new, |n| fit(n, steps.column - 2.0));
            let said = if name.is_empty() { k.to_string() } else { name };
            scene.text(Layer::Axis, 100 + at, (steps.middle(at), ground + 16.0), Anchor::Middle, said);
        }
    }
    scene
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looping::{Setting, plan};
    use crate::scene::Form;

    #[test]
    fn everything_stands_inside() {
        let plan = plan(Setting::FIRST).expect("it can be read");
        for width in [280.0, 640.0, 1000.0] {
            let scene = unrolled(&plan, width);
            for m in &scene.marks {
                if let Form::Rect { w, h } = m.form {
                    assert!(
                        m.x >= 0.0 && m.x + w <= width + 0.5 && m.y >= 0.0 && m.y + h <= scene.height,
                        "{m:?}"
                    );
                }
            }
            assert!(scene.marks.iter().any(|m| m.class == "copying"));
            assert_eq!(scene.marks.iter().filter(|m| m.layer == Layer::Padding).count(), 2 * 3 * plan.length);
        }
    }
}
