//! The curve of live bytes, drawn by plotters on a canvas.

use crate::scene::{Curve, Steps};
use plotters::prelude::*;
use plotters_canvas::CanvasBackend;
use web_sys::HtmlCanvasElement;

/// The colours of the curve, as the style sheet has them now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ink {
    /// Under the curve.
    pub area: RGBColor,
    /// The curve.
    pub line: RGBColor,
    /// The floor.
    pub floor: RGBColor,
    /// The heap's size, and the peak.
    pub heap: RGBColor,
}

/// `#rrggbb` as the tokens have it; grey for anything else.
pub fn colour(text: &str) -> RGBColor {
    let hex = text.trim().strip_prefix('#').filter(|h| h.len() == 6);
    let n = hex.and_then(|h| u32::from_str_radix(h, 16).ok()).unwrap_or(0x80_80_80);
    RGBColor((n >> 16) as u8, (n >> 8) as u8, n as u8)
}

/// Draws the curve `height` CSS pixels high across the columns of `steps`, at `scale` device pixels for each.
/// `before` is the heap's size before any edit; the vertical scale holds both.
pub fn draw(
    canvas: &HtmlCanvasElement,
    curve: &Curve,
    before: u64,
    steps: &Steps,
    (width, height): (f64, f64),
    scale: f64,
    ink: Ink,
) -> Option<()> {
    let (w, h) = ((width * scale).round() as u32, (height * scale).round() as u32);
    // Setting the size, even to what it is, clears the canvas.
    canvas.set_width(w);
    canvas.set_height(h);
    let most = (before.max(curve.assigned).max(1) as f64) * 1.04;
    let root = CanvasBackend::with_canvas_object(canvas.clone())?.into_drawing_area();
    let across = f64::from(steps.last + 1);
    let mut chart = ChartBuilder::on(&root)
        .margin_left((steps.left * scale).round() as i32)
        .margin_right(((width - steps.right()) * scale).round() as i32)
        .margin_top(0)
        .margin_bottom(0)
        .build_cartesian_2d(0.0..across, 0.0..most)
        .ok()?;
    // A step each, flat across its column.
    let mut outline: Vec<(f64, f64)> = Vec::with_capacity(curve.bytes.len() * 2);
    for (step, bytes) in curve.bytes.iter().enumerate() {
        outline.push((step as f64, *bytes as f64));
        outline.push((step as f64 + 1.0, *bytes as f64));
    }
    let thick = scale.round().max(1.0) as u32;
    chart
        .draw_series(AreaSeries::new(outline, 0.0, ink.area).border_style(ink.line.stroke_width(thick)))
        .ok()?;
    let heap = curve.assigned as f64;
    chart.draw_series(LineSeries::new([(0.0, heap), (across, heap)], ink.heap.stroke_width(thick))).ok()?;
    if before != curve.assigned {
        let at = before as f64;
        chart.draw_series(dashes(at, across, &ink.heap.mix(0.6), thick)).ok()?;
    }
    chart.draw_series(dashes(curve.floor as f64, across, &ink.floor.mix(1.0), thick)).ok()?;
    root.present().ok()
}

fn dashes(
    at: f64,
    across: f64,
    colour: &RGBAColor,
    thick: u32,
) -> impl Iterator<Item = PathElement<(f64, f64)>> + use<> {
    let style = colour.stroke_width(thick);
    let dash = across / 80.0;
    (0..80)
        .step_by(2)
        .map(move |i| PathElement::new(vec![(f64::from(i) * dash, at), (f64::from(i + 1) * dash, at)], style))
}
