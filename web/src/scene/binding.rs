//! Values that must share, one under the other, and what binds them.

use super::{Anchor, Layer, Scene, fit, text_width};
use crate::binding::Answer;

const ROW: f64 = 40.0;

/// The values of an answer from the first to the last, with the first `step` links joined: one colour a group. Links that
/// are still to come leave a ghost.
pub fn binding(answer: &Answer, step: usize, selected: Option<u32>, width: f64) -> Scene {
    let count = answer.links.len().max(1) as f64;
    let top = 20.0;
    let mut scene = Scene { width, height: top + ROW * answer.nodes.len() as f64 + 4.0, marks: Vec::new() };
    let lane = ((width * 0.38) / count).clamp(14.0, 34.0);
    let boxes = (width - 16.0 - lane * count).max(96.0);
    let middle = |row: usize| top + (row as f64 + 0.5) * ROW - 3.0;
    scene.text(
        Layer::Axis,
        0,
        (4.0, 11.0),
        Anchor::Start,
        fit("values, in the order of their writing", boxes),
    );
    let groups = answer.groups(step);
    for (n, node) in answer.nodes.iter().enumerate() {
        let id = node.key;
        let y = top + n as f64 * ROW;
        let band = scene.rect(Layer::Band, id, (2.0, y), (boxes - 4.0, ROW - 6.0));
        (band.value, band.hue) = (Some(id), Some((groups[n] % 10) as u8));
        band.class = if selected == Some(id) { "selected" } else { "" };
        let name = fit(&node.name, boxes - 16.0);
        let mark = scene.text(Layer::Label, id, (8.0, y + 14.0), Anchor::Start, name);
        (mark.value, mark.class) = (Some(id), "inside name");
        let about = format!("{}, {}", node.role, node.shape);
        let about = if text_width(&about) > boxes - 16.0 { node.role.clone() } else { about };
        let about = fit(&about, boxes - 16.0);
        let mark = scene.text(Layer::Label, id + 32, (8.0, y + 28.0), Anchor::Start, about);
        (mark.value, mark.class) = (Some(id), "inside");
    }
    for (n, link) in answer.links.iter().enumerate() {
        let id = n as u32;
        let x = boxes + 8.0 + lane * n as f64 + lane / 2.0;
        let (a, b) = (middle(link.ends.0), middle(link.ends.1));
        let is_made = n < step;
        let class = match (is_made, n + 1 == step) {
            (true, true) => "link now",
            (true, false) => "link",
            (false, _) => "link still",
        };
        let layer = if is_made { Layer::Cap } else { Layer::Ghost };
        scene.line(layer, id * 4, (x, a), (0.0, b - a)).class = class;
        for (k, y) in [a, b].into_iter().enumerate() {
            scene.line(layer, id * 4 + 1 + k as u32, (boxes - 2.0, y), (x - boxes + 2.0, 0.0)).class = class;
        }
        scene.text(Layer::Axis, 10 + id, (x, 11.0), Anchor::Middle, (n + 1).to_string()).class =
            if n + 1 == step { "top" } else { "" };
    }
    scene
}

#[cfg(test)]
mod tests {
    use super::super::Form;
    use super::*;
    use crate::binding::{PROGRAMS, Setting, answer, sites};

    #[test]
    fn five_values_of_one_colour_and_the_argument_of_another() {
        let a = answer(&Setting::default()).expect("it can be read");
        let scene = binding(&a, a.links.len(), None, 620.0);
        let hues: Vec<u8> =
            scene.marks.iter().filter(|m| m.layer == Layer::Band).filter_map(|m| m.hue).collect();
        assert_eq!(hues, [0, 1, 1, 1, 1, 1]);
        let scene = binding(&a, 0, None, 620.0);
        let ghosts = scene.marks.iter().filter(|m| m.class == "link still").count();
        assert_eq!(ghosts, 3 * a.links.len());
        let expected = "\
620x264
axis 0 4.0,11.0 Start \"values, in the order of their writing\"
band 2304 2.0,20.0 430.0x34.0
label 2304 8.0,34.0 Start \"cache.1\" .inside name
label 2336 8.0,48.0 Start \"a parameter, f32[8,64]\" .inside
";
        assert!(scene.to_text().starts_with(expected), "{}", scene.to_text());
    }

    #[test]
    fn nothing_leaves_the_figure() {
        for program in 0..PROGRAMS.len() {
            let all = Setting { program, turned: (0..sites(program).len()).collect() };
            for setting in [Setting { program, turned: Vec::new() }, all] {
                let a = answer(&setting).expect("it can be read");
                for width in [240.0, 320.0, 900.0] {
                    for m in &binding(&a, 1, None, width).marks {
                        let right = match m.form {
                            Form::Rect { w, .. } => m.x + w,
                            Form::Line { dx, .. } => m.x + dx,
                            Form::Text { .. } => m.x,
                        };
                        assert!(m.x >= 0.0 && right <= width + 0.5, "{m:?} in {width}");
                    }
                }
            }
        }
    }
}
