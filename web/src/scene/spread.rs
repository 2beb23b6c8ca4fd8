//! The lines of fusions with their memory spaces, and the step that carries one on.

use super::{Anchor, Layer, Scene, fit, text_width};
use crate::spreading::Story;

const ROW: f64 = 24.0;

/// The lines once `done` steps are made; the last step is drawn from its source to what it reached.
pub fn spread(story: &Story, done: usize, width: f64) -> Scene {
    let mut scene = Scene { width, height: ROW * story.lines.len() as f64 + 8.0, marks: Vec::new() };
    let last = done.checked_sub(1).and_then(|at| story.steps.get(at));
    let row_of = |id| story.lines.iter().position(|l| l.id == id);
    for (n, line) in story.lines.iter().enumerate() {
        let (y, id) = (4.0 + ROW * n as f64, n as u32);
        let x = 26.0 + 18.0 * f64::from(line.depth);
        let space = story.space(line, done);
        let is_now = last.is_some_and(|s| s.place.instruction == line.id);
        let band = scene.rect(Layer::Band, id, (x, y + 1.0), (width - x - 60.0, ROW - 3.0));
        (band.hue, band.class) = (Some(if space == 1 { 3 } else { 7 }), if is_now { "selected" } else { "" });
        let room = width - x - 72.0;
        let name = fit(&line.name, room);
        let used = text_width(&name) + 10.0;
        scene.text(Layer::Label, id, (x + 6.0, y + 16.0), Anchor::Start, name).class = "inside name";
        let rest = fit(&line.rest, room - used);
        if !rest.is_empty() {
            scene.text(Layer::Label, 1000 + id, (x + 6.0 + used, y + 16.0), Anchor::Start, rest).class =
                "inside";
        }
        let at = (width - 54.0, y + 16.0);
        let text = if space == 0 { "S(0)".to_owned() } else { format!("S({space}) fast") };
        scene.text(Layer::Axis, id, at, Anchor::Start, text).class = if space == 1 { "top" } else { "" };
    }
    if let Some(step) = last
        && let (Some(from), Some(to)) = (row_of(story.source(step)), row_of(step.place.instruction))
    {
        let middle = |row: usize| 4.0 + ROW * (row as f64 + 0.5);
        let (a, b) = (middle(from), middle(to));
        scene.line(Layer::Threshold, 0, (12.0, a), (0.0, b - a)).class = "ribbon chosen";
        scene.line(Layer::Threshold, 1, (12.0, a), (10.0, 0.0)).class = "ribbon chosen";
        scene.line(Layer::Threshold, 2, (12.0, b), (10.0, 0.0)).class = "ribbon chosen";
    }
    scene
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spreading::story;

    #[test]
    fn a_row_a_line_and_a_way_for_each_step() {
        let story = story().expect("it can be read");
        for done in 0..=story.steps.len() {
            let scene = spread(story, done, 320.0);
            assert_eq!(scene.marks.iter().filter(|m| m.layer == Layer::Band).count(), story.lines.len());
            assert_eq!(
                scene.marks.iter().filter(|m| m.layer == Layer::Threshold).count(),
                if done > 0 { 3 } else { 0 }
            );
        }
        let text = spread(story, 1, 900.0).to_text();
        let expected = "\
900x488
band 0 26.0,5.0 814.0x21.0
";
        assert!(text.starts_with(expected), "{text}");
    }
}
