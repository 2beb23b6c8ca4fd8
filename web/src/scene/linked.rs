//! The pictures beside the dump files: ranges and heap, with the values and the step of a line lit.

use super::{Layer, Mark, Picture, Scene, TimelineOptions, heap, timeline};
use crate::pane::Links;

/// More values than this are not outlined one by one: where all is lit, nothing is.
const MOST_LIT: usize = 24;

/// With more values than this only the temporaries have rows.
const MOST_ROWS: usize = 80;

/// Lights all marks of some values. A single one is selected by its picture already.
fn light(scene: &mut Scene, links: &Links) {
    if links.values.len() > MOST_LIT {
        return;
    }
    for m in &mut scene.marks {
        let lit = m.value.is_some_and(|v| links.values.contains(&v));
        m.class = match (lit, m.layer, m.class) {
            (true, Layer::Band, "" | "mate") => "lit",
            (true, Layer::Label, "name") => "name lit",
            (_, _, class) => class,
        };
    }
}

fn mark_step(scene: &mut Scene, x: f64, top: f64) {
    let height = scene.height - top;
    scene.line(Layer::Threshold, 0, (x, top), (0.0, height)).class = "tick";
}

/// The live ranges, with rows for everything where there are few.
pub fn linked_ranges(picture: &Picture, links: &Links, peak: Option<u32>, width: f64) -> Scene {
    let one = if let [value] = links.values[..] { Some(value) } else { None };
    let options = TimelineOptions {
        width,
        all_rows: picture.items.len() <= MOST_ROWS || links.values.iter().any(|v| is_no_temp(picture, *v)),
        selected: one,
        lost: &[],
        at_end: &[],
        at_start: &[],
        peak,
    };
    let mut drawn = timeline(picture, picture, options);
    light(&mut drawn.scene, links);
    if let Some(step) = links.step {
        mark_step(&mut drawn.scene, drawn.steps.middle(step), 16.0);
    }
    drawn.scene
}

fn is_no_temp(picture: &Picture, value: u32) -> bool {
    picture.item(value).is_some_and(|i| !picture.is_temp(i))
}

/// The heap.
pub fn linked_heap(picture: &Picture, links: &Links, peak: Option<u32>, size: (f64, f64)) -> Scene {
    let one = if let [value] = links.values[..] { Some(value) } else { None };
    let mut drawn = heap(picture, picture, size, one, &[], peak);
    light(&mut drawn.scene, links);
    if let Some(step) = links.step {
        mark_step(&mut drawn.scene, drawn.steps.middle(step), 18.0);
    }
    drawn.scene
}

/// The value whose mark is at a point, the front one.
pub fn value_at(scene: &Scene, x: f64, y: f64) -> Option<u32> {
    let holds = |m: &&Mark| match m.form {
        super::Form::Rect { w, h } => m.x <= x && x <= m.x + w && m.y <= y && y <= m.y + h,
        _ => false,
    };
    let found = scene.marks.iter().filter(|m| m.value.is_some()).filter(holds);
    found.max_by_key(|m| (m.layer, m.id)).and_then(|m| m.value)
}

#[cfg(test)]
mod tests {
    use super::super::tests::picture;
    use super::*;

    #[test]
    fn several_values_and_a_step_are_lit() {
        let p = picture(9, "a 0 4 0 100\nb 3 8 128 100\nc 5 9 0 64");
        let links = Links { values: vec![0, 2], step: Some(3) };
        for scene in [linked_ranges(&p, &links, None, 500.0), linked_heap(&p, &links, None, (500.0, 300.0))] {
            let lit: Vec<u32> = scene
                .marks
                .iter()
                .filter(|m| m.layer == Layer::Band && m.class == "lit")
                .filter_map(|m| m.value)
                .collect();
            assert_eq!(lit, [0, 2]);
            assert!(scene.marks.iter().any(|m| m.layer == Layer::Threshold));
        }
    }

    #[test]
    fn what_is_drawn_can_be_found() {
        let p = picture(9, "a 0 4 0 100\nb 3 8 128 100");
        let scene = linked_heap(&p, &Links::default(), None, (500.0, 300.0));
        for m in scene.marks.iter().filter(|m| m.layer == Layer::Band) {
            assert_eq!(value_at(&scene, m.x + 1.0, m.y + 1.0), m.value);
        }
    }
}
