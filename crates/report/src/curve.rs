//! The bytes that are in use over time, as a drawing.

use crate::markup::escaped;
use crate::words::space_name;
use assigner::words::{binary, both, grouped};
use questions::{SpacePeak, Study};
use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 230.0;
/// Below the axis: the steps.
const FOOT: f64 = 24.0;
/// Above the highest point: its label.
const HEAD: f64 = 22.0;
/// Columns into which a long curve is put; of each the most is drawn.
const COLUMNS: u32 = 760;

/// A round number of bytes of which at most `most` go into `top`.
fn tick(top: u64, most: u64) -> u64 {
    let mut step = 1u64;
    while top / step > most {
        step = step.saturating_mul(2);
    }
    step
}

/// The points of the curve that are drawn: step and bytes, each up to the next one.
fn points(space: &SpacePeak, end: u32) -> Vec<(u32, u64)> {
    if space.curve.len() <= COLUMNS as usize {
        return space.curve.clone();
    }
    let mut out: Vec<(u32, u64)> = Vec::new();
    let column = |step: u32| u64::from(step) * u64::from(COLUMNS) / u64::from(end.max(1));
    let mut before = 0u64;
    for (step, bytes) in &space.curve {
        match out.last_mut().filter(|last| column(last.0) == column(*step)) {
            Some(last) => last.1 = last.1.max(*bytes),
            // What was in use when the column begins counts too.
            None => out.push((*step, (*bytes).max(before))),
        }
        before = *bytes;
    }
    if let Some(last) = space.curve.last().filter(|l| out.last().is_some_and(|o| o.1 != l.1)) {
        out.push(*last);
    }
    out
}

/// Around a drawing that is a file: so that nothing touches its edge.
const MARGIN: f64 = 14.0;
/// Above such a drawing: the module's name.
const NAME: f64 = 24.0;
/// Characters of a name for which there is room.
const MOST_OF_NAME: usize = 90;

/// The temporaries of one memory space that are in use at each step, to stand in a page. It holds no text of the module.
/// Colours stand at the marks; a style sheet may set others by their classes.
#[must_use]
pub fn curve(study: &Study, space: &SpacePeak) -> String {
    drawing(study, space, None)
}

/// The same as a file of its own, with the module's name and a ground.
#[must_use]
pub fn curve_file(study: &Study, space: &SpacePeak, module: &str) -> String {
    drawing(study, space, Some(module))
}

fn drawing(study: &Study, space: &SpacePeak, module: Option<&str>) -> String {
    let end = study.end.max(space.curve.last().map_or(0, |c| c.0)).max(1);
    let top = space.live.max(1);
    let x = |step: u32| f64::from(step) / f64::from(end) * WIDTH;
    let y = |bytes: u64| HEAD + (HEIGHT - HEAD - FOOT) * (1.0 - bytes as f64 / top as f64);
    let base = HEIGHT - FOOT;
    let title = format!("Temporaries of memory space {} in use", space_name(space.color));
    let told = format!(
        "The most, {}, is in use at step {} of {}.",
        both(space.live),
        grouped(u64::from(space.step)),
        grouped(u64::from(end))
    );
    let title = match module {
        Some(module) => format!("{}: {title}", crate::text::cut(module)),
        None => title,
    };
    let around = if module.is_some() { (MARGIN, NAME + MARGIN) } else { (0.0, 0.0) };
    let (left, upper) = (-around.0, -around.1);
    let (wide, high) = (WIDTH + 2.0 * around.0, HEIGHT + around.1 + around.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"curve-drawing\" role=\"img\" viewBox=\"{left} {upper} {wide} {high}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" aria-label=\"{0}. {1}\">\n<title>{0}</title>\n<desc>{1}</desc>\n",
        escaped(&title),
        escaped(&told)
    );
    if let Some(module) = module {
        let name: String = module.chars().take(MOST_OF_NAME).collect();
        let more = if name.len() < module.len() { "…" } else { "" };
        _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n<text class=\"name\" x=\"0\" y=\"-8\" font-size=\"14\" font-weight=\"600\" fill=\"#1b1c1f\">{}{more}</text>",
            -MARGIN,
            -NAME - MARGIN,
            escaped(&name)
        );
    }
    let all = points(space, end);
    let mut line = String::new();
    let mut last = base;
    for (i, (step, bytes)) in all.iter().enumerate() {
        let (at, high) = (x(*step), y(*bytes));
        _ = write!(line, "{}{at:.2} {last:.2} V{high:.2} ", if i == 0 { "M" } else { "L" });
        last = high;
    }
    if !all.is_empty() {
        _ = write!(line, "L{WIDTH} {last:.2} V{base}");
        _ = writeln!(out, "<path class=\"area\" fill=\"#dedbd3\" d=\"{} Z\"/>", line.trim());
        _ = writeln!(
            out,
            "<path class=\"line\" fill=\"none\" stroke=\"#77756c\" stroke-width=\"1.5\" d=\"{}\"/>",
            line.trim()
        );
    }
    let step = tick(top, 4);
    let mut mark = step;
    while mark <= top {
        let at = y(mark);
        // The highest mark makes room for the label of the peak.
        _ = writeln!(
            out,
            "<path class=\"rule\" stroke=\"#8a887f\" stroke-opacity=\"0.5\" stroke-dasharray=\"2 4\" d=\"M0 {at:.2}H{WIDTH}\"/>"
        );
        if at > HEAD + 16.0 {
            _ = writeln!(
                out,
                "<text class=\"label halo\" x=\"4\" y=\"{:.2}\" fill=\"#5b5d63\">{}</text>",
                at - 4.0,
                binary(mark)
            );
        }
        mark = mark.saturating_add(step);
    }
    // In the middle of its step.
    let at = x(space.step) + 0.5 / f64::from(end) * WIDTH;
    _ = writeln!(
        out,
        "<path class=\"peak\" stroke=\"#ad3c0d\" stroke-width=\"2\" d=\"M{at:.2} {:.2}V{base}\"/>",
        HEAD - 4.0
    );
    let (anchor, place) =
        if at > WIDTH / 2.0 { ("end", (at + 4.0).min(WIDTH - 2.0)) } else { ("start", (at - 4.0).max(2.0)) };
    _ = writeln!(
        out,
        "<text class=\"label top\" x=\"{place:.2}\" y=\"{:.2}\" text-anchor=\"{anchor}\" font-weight=\"600\" fill=\"#ad3c0d\">{} at step {}</text>",
        HEAD - 9.0,
        binary(space.live),
        grouped(u64::from(space.step))
    );
    _ = writeln!(out, "<path class=\"axis\" stroke=\"#8a887f\" d=\"M0 {base}H{WIDTH}\"/>");
    for (step, place, anchor) in [(0, 0.0, "start"), (end / 2, WIDTH / 2.0, "middle"), (end, WIDTH, "end")] {
        let word = if step == 0 { "step " } else { "" };
        _ = writeln!(
            out,
            "<text class=\"label\" x=\"{place}\" y=\"{}\" text-anchor=\"{anchor}\" fill=\"#5b5d63\">{word}{}</text>",
            HEIGHT - 7.0,
            grouped(u64::from(step))
        );
    }
    out += "</svg>\n";
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_few_and_round() {
        assert_eq!((tick(1, 4), tick(4, 4), tick(5, 4), tick(5 << 30, 4)), (1, 1, 2, 2 << 30));
    }

    #[test]
    fn a_file_names_its_module_and_keeps_its_ends_inside() {
        let text = "HloModule m, is_scheduled=true\n\nENTRY e {\n  p = f32[256]{0} parameter(0)\n  a = f32[256]{0} negate(p)\n  ROOT b = f32[256]{0} negate(a)\n}\n";
        let module = hlo::read_owned(text.to_owned()).complete().expect("a module");
        let target = analysis::Target::new(analysis::Backend::Cpu);
        let facts =
            analysis::Facts::new(&module, analysis::Orders::guess(&module, &target), target).expect("facts");
        let study = Study::of_program(questions::Program::new(module, facts), &assigner::Options::default());
        let peak = questions::peak(&study);
        let name = format!("<script>{}</script>", "n".repeat(1000));
        let file = curve_file(&study, &peak.spaces[0], &name);
        assert!(file.contains("&lt;script&gt;nnn") && !file.contains("<script"), "{file}");
        assert!(file.starts_with("<svg") && file.contains("viewBox=\"-14 -38 788 282\""), "{file}");
        assert!(file.len() < 8_000, "{}", file.len());
        // In a page there is no name: it stands above.
        assert!(!curve(&study, &peak.spaces[0]).contains("script"));
    }

    #[test]
    fn a_long_curve_keeps_its_peak() {
        let curve: Vec<(u32, u64)> =
            (0..100_000).map(|i| (i, if i == 77_777 { 999 } else { u64::from(i % 7) })).collect();
        let space = SpacePeak {
            color: 0,
            allocated: 999,
            temp: 999,
            step: 77_777,
            live: 999,
            slots: Vec::new(),
            curve,
        };
        let drawn = points(&space, 100_000);
        assert!(drawn.len() <= COLUMNS as usize + 1);
        assert_eq!(drawn.iter().map(|p| p.1).max(), Some(999));
        assert!(drawn.is_sorted_by_key(|p| p.0));
    }
}
