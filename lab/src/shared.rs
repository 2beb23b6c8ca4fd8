//! The curves of two assignments on shared axes: bytes upwards, and each program's steps on one axis to the right.
//!
//! Schedules differ in length. So what is matched stands under what it is matched with, as lines do in two texts that are
//! compared: where only one side has something to run, the other one waits.

use crate::axes::{byte_ticks, nice};
use crate::raster::most_between;
use crate::talk::{Compared, MapData, Scale, SharedSpace, SpaceCurve, Spans};
use assigner::words::{both, bytes, difference, grouped};
use std::fmt::Write as _;

/// Steps of one program along the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Places and the moments that are there, both ascending; between two of them both go on evenly.
    knots: Vec<(f64, f64)>,
}

impl Side {
    /// The place of a moment: of the beginning of a step if it is a whole number.
    #[must_use]
    pub fn place(&self, moment: f64) -> f64 {
        let after = self.knots.partition_point(|k| k.1 <= moment);
        let Some(from) = after.checked_sub(1).map(|i| self.knots[i]) else { return 0.0 };
        let Some(to) = self.knots.get(after) else { return from.0 };
        from.0 + (to.0 - from.0) * (moment - from.1) / (to.1 - from.1).max(1e-9)
    }

    /// The moment at a place; `None` where the program is over.
    #[must_use]
    pub fn moment(&self, place: f64) -> Option<f64> {
        let after = self.knots.partition_point(|k| k.0 <= place);
        let from = self.knots.get(after.checked_sub(1)?)?;
        let to = self.knots.get(after)?;
        Some(from.1 + (to.1 - from.1) * (place - from.0) / (to.0 - from.0).max(1e-9))
    }

    /// The step at a place.
    #[must_use]
    pub fn step(&self, place: f64) -> Option<u32> {
        // What is computed of a whole number may be a hair less.
        self.moment(place).map(|m| (m + 1e-6) as u32)
    }

    /// The middle of a step.
    #[must_use]
    pub fn middle(&self, step: u32) -> f64 {
        let step = f64::from(step);
        f64::midpoint(self.place(step), self.place(step + 1.0))
    }
}

/// The axis of two programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Of the one that is looked at.
    pub left: Side,
    /// Of the other one.
    pub right: Side,
    /// The last place.
    pub total: f64,
}

impl Axis {
    /// Lays both out.
    #[must_use]
    pub fn new(compared: &Compared, scale: Scale) -> Self {
        let ends = (f64::from(compared.ends.0) + 1.0, f64::from(compared.ends.1) + 1.0);
        let long = ends.0.max(ends.1);
        let straight = |width: f64, end: f64| Side { knots: vec![(0.0, 0.0), (width, end)] };
        match scale {
            Scale::Share => Self { left: straight(long, ends.0), right: straight(long, ends.1), total: long },
            Scale::Steps => {
                Self { left: straight(ends.0, ends.0), right: straight(ends.1, ends.1), total: long }
            }
            Scale::Matched => {
                let mut out = Self::default();
                let mut at = (0.0, 0.0);
                out.left.knots.push((0.0, 0.0));
                out.right.knots.push((0.0, 0.0));
                let anchors = compared.anchors.iter().map(|(l, r)| (f64::from(*l), f64::from(*r)));
                for to in anchors.chain([ends]) {
                    let wide = (to.0 - at.0).max(to.1 - at.1);
                    if to.0 < at.0 || to.1 < at.1 || wide <= 0.0 || to.0 > ends.0 || to.1 > ends.1 {
                        continue;
                    }
                    out.total += wide;
                    out.left.knots.push((out.total, to.0));
                    out.right.knots.push((out.total, to.1));
                    at = to;
                }
                out
            }
        }
    }

    fn sides(&self) -> [&Side; 2] {
        [&self.left, &self.right]
    }
}

/// The scale that tells most: what is matched, where enough of it comes in the same order, and it is enough of the shorter
/// program.
#[must_use]
pub fn best_scale(compared: &Compared) -> Scale {
    let (aligned, of) = compared.aligned;
    let wanted = of.max(compared.ends.0.min(compared.ends.1).saturating_add(1));
    if aligned >= 3 && aligned.saturating_mul(4) >= wanted { Scale::Matched } else { Scale::Share }
}

/// What both have in use at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Step and bytes here; `None` where the program is over.
    pub left: Option<(u32, u64)>,
    /// There.
    pub right: Option<(u32, u64)>,
}

/// Reads both curves at one place.
#[must_use]
pub fn read(axis: &Axis, space: &SharedSpace, place: f64) -> Reading {
    let one = |side: &Side, curve: &SpaceCurve| {
        let step = side.step(place)?;
        Some((step, most_between(&curve.points, f64::from(step), f64::from(step) + 1.0)))
    };
    Reading { left: one(&axis.left, &space.left), right: one(&axis.right, &space.right) }
}

impl Reading {
    /// In words: here, there, and the difference.
    #[must_use]
    pub fn words(&self) -> [String; 3] {
        let number = |step: u32| grouped(u64::from(step));
        let bytes = |side: Option<(u32, u64)>| side.map_or(0, |s| s.1);
        [
            match self.left {
                Some((step, bytes)) => format!("Here, step {}: {}", number(step), both(bytes)),
                None => "Here: over".to_owned(),
            },
            match self.right {
                Some((step, bytes)) => format!("There, step {}: {}", number(step), both(bytes)),
                None => "There: over".to_owned(),
            },
            difference(bytes(self.left), bytes(self.right)),
        ]
    }
}

/// Places at which one of the curves changes, ascending.
#[must_use]
pub fn changes(axis: &Axis, space: &SharedSpace) -> Vec<f64> {
    let mut out: Vec<f64> = axis
        .sides()
        .into_iter()
        .zip([&space.left, &space.right])
        .flat_map(|(side, curve)| curve.points.iter().map(|p| side.place(f64::from(p.0))))
        .collect();
    out.sort_by(f64::total_cmp);
    out.dedup_by(|a, b| (*a - *b).abs() < 1e-6);
    out
}

/// A line of the table that tells what the curves show: a stretch of the axis with the steps of both and the most in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// First and last step, and the most bytes, here and there; `None` where the program is over.
    pub sides: [Option<(u32, u32, u64)>; 2],
}

/// The axis in at most so many stretches.
#[must_use]
pub fn stretches(axis: &Axis, space: &SharedSpace, count: u32) -> Vec<Stretch> {
    let count = count.min(axis.total as u32).max(1);
    let wide = axis.total / f64::from(count);
    (0..count)
        .map(|i| {
            let (from, to) = (f64::from(i) * wide, f64::from(i + 1) * wide);
            let one = |(side, curve): (&Side, &SpaceCurve)| {
                let first = side.step(from)?;
                // The step that begins at the end of the stretch is of the next one.
                let end = side.moment(to - 1e-6).unwrap_or_else(|| side.knots.last().map_or(0.0, |k| k.1));
                let last = ((end - 1e-6).max(0.0) as u32).max(first);
                Some((first, last, most_between(&curve.points, f64::from(first), f64::from(last) + 1.0)))
            };
            Stretch { sides: [one((&axis.left, &space.left)), one((&axis.right, &space.right))] }
        })
        .collect()
}

/// What a mark of the drawing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line of the grid.
    Rule,
    /// Below the curve of this one.
    LeftArea,
    /// Its curve.
    LeftLine,
    /// The curve of the other one.
    RightLine,
    /// The peak of this one.
    LeftPeak,
    /// The peak of the other one.
    RightPeak,
    /// When the values of a line of a table are wanted here.
    LeftLit,
    /// And there.
    RightLit,
    /// Words in the colour of this one.
    LeftText,
    /// Words in the colour of the other one.
    RightText,
    /// Other words.
    Text,
}

impl Mark {
    /// Its class in the page.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::LeftArea => "area left",
            Self::LeftLine => "line left",
            Self::RightLine => "line right",
            Self::LeftPeak => "peak left",
            Self::RightPeak => "peak right",
            Self::LeftLit => "lit left",
            Self::RightLit => "lit right",
            Self::LeftText => "label left",
            Self::RightText => "label right",
            Self::Text => "label",
        }
    }
}

/// A mark of the drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A path.
    Path(Mark, String),
    /// Words at a place: where they begin, are in the middle, or end, by 0, 1 and 2.
    Words(Mark, (f64, f64), u8, String),
}

/// Left of the curves, at negative places: the bytes, and whose steps the rows below are.
pub const SIDE: f64 = 78.0;
/// Above the curves: the labels of both peaks.
pub const HEAD: f64 = 40.0;
/// The curves.
const PLOT: f64 = 190.0;
/// Below them: the steps of both.
const ROW: f64 = 16.0;
/// Below these: when the values of a line are wanted, here and there.
const LANE: f64 = 12.0;
/// The bottom of the curves.
pub const BASE: f64 = HEAD + PLOT;
/// All of it.
pub const HEIGHT: f64 = BASE + 2.0 * LANE + 8.0 + 2.0 * ROW;

/// The drawing for a width in pixels: of each column the most.
#[must_use]
pub fn draw(axis: &Axis, space: &SharedSpace, lit: Option<(&Spans, &Spans)>, width: f64) -> Vec<Shape> {
    let mut out = Vec::new();
    let x = |place: f64| place / axis.total.max(1e-9) * width;
    let top = space.left.peak.1.max(space.right.peak.1).max(1);
    let y = |bytes: u64| BASE - PLOT * bytes as f64 / top as f64;
    for tick in byte_ticks(0.0, top as f64, 4.0) {
        let at = y(tick.at as u64);
        out.push(Shape::Path(Mark::Rule, format!("M-4 {at:.1}H{width:.0}")));
        out.push(Shape::Words(Mark::Text, (-8.0, at + 4.0), 2, tick.words));
    }
    let [left, right] = axis.sides();
    let line = |side: &Side, curve: &SpaceCurve| path(side, curve, (axis.total, width), y);
    let (here, there) = (line(left, &space.left), line(right, &space.right));
    out.extend(here.as_ref().map(|h| Shape::Path(Mark::LeftArea, format!("{h}V{BASE:.1}H0Z"))));
    for (mark, line) in [(Mark::LeftLine, here), (Mark::RightLine, there)] {
        out.extend(line.map(|line| Shape::Path(mark, line)));
    }
    let mut labels = Vec::new();
    for (i, (side, curve, peak, text)) in [
        (left, &space.left, Mark::LeftPeak, Mark::LeftText),
        (right, &space.right, Mark::RightPeak, Mark::RightText),
    ]
    .into_iter()
    .enumerate()
    {
        if curve.peak.1 == 0 {
            continue;
        }
        let (at, row) = (x(side.middle(curve.peak.0)), 14.0 + 18.0 * i as f64);
        out.push(Shape::Path(peak, format!("M{:.1} {:.1}h8l-4 6z", at - 4.0, y(curve.peak.1) - 7.0)));
        let step = grouped(u64::from(curve.peak.0));
        let in_words = |size: &str| match i {
            0 => format!("{size} here at step {step}"),
            _ => format!("{size} there at step {step}"),
        };
        let mut words = in_words(&both(curve.peak.1));
        if length(&words) > width {
            words = in_words(&bytes(curve.peak.1));
        }
        // Beside its mark, where there is room; else as near as there is.
        let (place, anchor) = if at > width / 2.0 {
            ((at - 5.0).max(length(&words)).min(width), 2)
        } else {
            ((at + 5.0).min(width - length(&words)).max(0.0), 0)
        };
        let from = if anchor == 2 { place - length(&words) } else { place };
        labels.push((at, row, (from - 4.0, from + length(&words) + 4.0), peak));
        out.push(Shape::Words(text, (place, row), anchor, words));
    }
    for (at, row, _, peak) in &labels {
        // A line begins at its label, unless it would cross that or the other one.
        let crosses = labels.iter().any(|l| l.1 >= *row && (l.2.0..l.2.1).contains(at));
        let from = if crosses { HEAD - 2.0 } else { row - 8.0 };
        out.push(Shape::Path(*peak, format!("M{at:.1} {from:.1}V{BASE:.1}")));
    }
    if let Some((here, there)) = lit {
        for (i, (side, spans, mark)) in
            [(left, here, Mark::LeftLit), (right, there, Mark::RightLit)].into_iter().enumerate()
        {
            let top = BASE + 2.0 * ROW + 8.0 + i as f64 * (LANE + 1.0);
            let mut lane = String::new();
            for (first, last) in &spans.steps {
                let from = x(side.place(f64::from(*first)));
                let to = x(side.place(f64::from(*last) + 1.0)).max(from + 2.0).min(width.max(from + 2.0));
                _ = write!(lane, "M{from:.1} {top:.1}H{to:.1}V{:.1}H{from:.1}Z", top + LANE - 2.0);
            }
            if !lane.is_empty() {
                out.push(Shape::Path(mark, lane));
            }
        }
    }
    steps_of_both(axis, width, &mut out);
    out
}

/// About how long words are, in pixels.
fn length(words: &str) -> f64 {
    6.9 * words.chars().count() as f64
}

/// The steps of both right below the axis: round ones of the side that goes on for longer, and what the other one is at there.
fn steps_of_both(axis: &Axis, width: f64, out: &mut Vec<Shape>) {
    let [left, right] = axis.sides();
    let end = |side: &Side| side.knots.last().copied().unwrap_or_default();
    let main = if end(right).0 > end(left).0 { right } else { left };
    let count = (width / 56.0).clamp(3.0, 14.0).floor();
    let every = nice(end(main).1 / count).max(1.0);
    let first = BASE + ROW + 1.0;
    let words = ["step here", "step there"];
    for (i, mark) in [Mark::LeftText, Mark::RightText].into_iter().enumerate() {
        out.push(Shape::Words(mark, (-8.0, first + i as f64 * ROW), 2, words[i].to_owned()));
    }
    let mut step = 0.0;
    let mut last = f64::MIN;
    while step < end(main).1 {
        let place = main.place(step);
        let at = place / axis.total.max(1e-9) * width;
        if at >= last && at <= width - 30.0 {
            out.push(Shape::Path(Mark::Rule, format!("M{at:.1} {BASE:.1}v4")));
            for (i, (side, mark)) in
                [(left, Mark::LeftText), (right, Mark::RightText)].into_iter().enumerate()
            {
                let Some(there) = side.step(place) else { continue };
                let number = grouped(u64::from(there));
                // Room for the longer one of both.
                last = f64::max(last, at + length(&number) + 10.0);
                out.push(Shape::Words(mark, (at, first + i as f64 * ROW), 0, number));
            }
        }
        step += every;
    }
}

/// A curve as a path.
fn path(
    side: &Side,
    curve: &SpaceCurve,
    (total, width): (f64, f64),
    y: impl Fn(u64) -> f64,
) -> Option<String> {
    if curve.points.is_empty() {
        return None;
    }
    let columns = width.max(1.0) as u32;
    let mut out = format!("M0 {BASE:.1}");
    let mut last = None;
    let mut end = 0.0;
    for column in 0..columns {
        let place = |c: u32| f64::from(c) / f64::from(columns) * total;
        let Some(from) = side.moment(place(column)) else { break };
        let to = side.moment(place(column + 1)).unwrap_or(f64::MAX).max(from + 1e-6);
        let bytes = most_between(&curve.points, from, to);
        end = f64::from(column + 1) / f64::from(columns) * width;
        if last != Some(bytes) {
            _ = write!(out, "H{:.1}V{:.1}", f64::from(column) / f64::from(columns) * width, y(bytes));
            last = Some(bytes);
        }
    }
    _ = write!(out, "H{end:.1}");
    Some(out)
}

/// How the marks are coloured where no style sheet is.
#[derive(Clone, Debug, Default)]
pub struct Colours {
    /// Behind all.
    pub back: String,
    /// Words.
    pub ink: String,
    /// Lines of the grid.
    pub rule: String,
    /// This one.
    pub left: String,
    /// The other one.
    pub right: String,
}

/// Around the drawing as a file.
const MARGIN: f64 = 8.0;

/// The drawing as a file. Its only text of a module are the two names in its title.
#[must_use]
pub fn svg(shapes: &[Shape], width: f64, names: [&str; 2], colours: &Colours) -> String {
    let safe = report::escaped;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{0:.0} 0 {1:.0} {height:.0}\" width=\"{1:.0}\" height=\"{height:.0}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>Temporaries in use: {2} here, {3} there</title>\n<rect x=\"{0:.0}\" width=\"{1:.0}\" height=\"{height:.0}\" fill=\"{4}\"/>\n",
        -SIDE - MARGIN,
        SIDE + width + 2.0 * MARGIN,
        safe(names[0]),
        safe(names[1]),
        colours.back,
        height = HEIGHT,
    );
    for shape in shapes {
        match shape {
            Shape::Path(mark, d) => {
                let (left, right) = (&colours.left, &colours.right);
                let style = match mark {
                    Mark::LeftArea => format!("fill=\"{left}\" fill-opacity=\"0.18\""),
                    Mark::LeftLine => format!("fill=\"none\" stroke=\"{left}\" stroke-width=\"2\""),
                    Mark::RightLine => {
                        format!(
                            "fill=\"none\" stroke=\"{right}\" stroke-width=\"2\" stroke-dasharray=\"6 3\""
                        )
                    }
                    Mark::LeftPeak => format!("fill=\"{left}\" stroke=\"{left}\""),
                    Mark::RightPeak => {
                        format!("fill=\"{right}\" stroke=\"{right}\" stroke-dasharray=\"4 3\"")
                    }
                    Mark::LeftLit => format!("fill=\"{left}\""),
                    Mark::RightLit => format!("fill=\"{right}\""),
                    _ => format!("fill=\"none\" stroke=\"{}\" stroke-opacity=\"0.5\"", colours.rule),
                };
                _ = writeln!(out, "<path d=\"{d}\" {style}/>");
            }
            Shape::Words(mark, (x, y), anchor, words) => {
                let fill = match mark {
                    Mark::LeftText => &colours.left,
                    Mark::RightText => &colours.right,
                    _ => &colours.ink,
                };
                let anchor = ["start", "middle", "end"][usize::from(*anchor).min(2)];
                _ = writeln!(
                    out,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{}</text>",
                    safe(words)
                );
            }
        }
    }
    out += "</svg>\n";
    out
}

/// Parts of a place in which the bands of a map that is laid on the axis are counted.
const PARTS: f64 = 16.0;

/// A map with its bands on the axis, in parts of a place.
#[must_use]
pub fn on_axis(map: &MapData, side: &Side, axis: &Axis) -> MapData {
    // A map counts in 32 bits.
    let parts = PARTS.min(f64::from(u32::MAX / 2) / axis.total.max(1.0));
    let at = |moment: f64| (side.place(moment) * parts).round() as u32;
    let start: Vec<u32> = map.start.iter().map(|s| at(f64::from(*s))).collect();
    let last = map
        .last
        .iter()
        .zip(&start)
        .map(|(l, start)| at(f64::from(*l) + 1.0).saturating_sub(1).max(*start))
        .collect();
    MapData { end: (axis.total * parts) as u32, start, last, ..map.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(u32, u64)]) -> SpaceCurve {
        let peak = points.iter().copied().max_by_key(|p| (p.1, std::cmp::Reverse(p.0))).unwrap_or_default();
        SpaceCurve { temp: peak.1, peak, points: points.to_vec(), ..SpaceCurve::default() }
    }

    /// Ten steps here, sixteen there: what is written at steps 2 and 5 here is written at steps 2 and 11 there.
    fn two() -> (Compared, SharedSpace) {
        let compared = Compared {
            ends: (9, 15),
            anchors: vec![(2, 2), (5, 11)],
            aligned: (3, 4),
            ..Compared::default()
        };
        let space = SharedSpace {
            left: curve(&[(0, 0), (2, 100), (5, 300), (6, 0)]),
            right: curve(&[(0, 0), (2, 100), (8, 500), (11, 300), (12, 0)]),
            ..SharedSpace::default()
        };
        (compared, space)
    }

    #[test]
    fn what_is_matched_stands_under_each_other() {
        let (compared, space) = two();
        let axis = Axis::new(&compared, Scale::Matched);
        // 2 and 2, 3 and 9, 5 and 5 steps.
        assert_eq!(axis.total as u32, 2 + 9 + 5);
        assert_eq!((axis.left.place(5.0), axis.right.place(11.0)), (11.0, 11.0));
        // The shorter one waits.
        assert_eq!(
            (axis.left.step(2.5), axis.left.step(4.9), axis.left.step(5.1)),
            (Some(2), Some(2), Some(3))
        );
        assert_eq!(axis.right.step(4.9), Some(4));
        let peaks = read(&axis, &space, 11.5);
        assert_eq!((peaks.left, peaks.right), (Some((5, 300)), Some((11, 300))));
        assert_eq!(peaks.words()[2], difference(300, 300));
        assert_eq!(best_scale(&compared), Scale::Matched);
        assert_eq!(best_scale(&Compared { aligned: (2, 2), ..compared.clone() }), Scale::Share);
        assert_eq!(best_scale(&Compared { aligned: (3, 13), ..compared.clone() }), Scale::Share);
        assert_eq!(best_scale(&Compared { ends: (19, 15), ..compared }), Scale::Share);
    }

    #[test]
    fn the_shorter_program_is_over_sooner() {
        let (compared, space) = two();
        let axis = Axis::new(&compared, Scale::Steps);
        assert_eq!(read(&axis, &space, 12.5).left, None);
        assert_eq!(read(&axis, &space, 8.5).right, Some((8, 500)));
        assert_eq!(read(&axis, &space, 12.5).words()[0], "Here: over");
        let share = Axis::new(&compared, Scale::Share);
        assert_eq!(read(&share, &space, 15.9).left, Some((9, 0)));
        assert_eq!(share.left.step(8.0), Some(5));
    }

    #[test]
    fn every_step_is_in_one_stretch_of_the_table() {
        let (compared, space) = two();
        for scale in Scale::ALL {
            let axis = Axis::new(&compared, scale);
            for count in [1, 3, 7, 16, 99] {
                let all = stretches(&axis, &space, count);
                for (side, (end, most)) in [(9, 300), (15, 500)].into_iter().enumerate() {
                    let told: Vec<_> = all.iter().filter_map(|s| s.sides[side]).collect();
                    assert_eq!((told[0].0, told.last().map(|l| l.1)), (0, Some(end)), "{scale:?} {count}");
                    assert!(told.windows(2).all(|w| w[1].0 <= w[0].1 + 1), "{scale:?} {count} {told:?}");
                    assert_eq!(told.iter().map(|t| t.2).max(), Some(most));
                }
            }
        }
    }

    #[test]
    fn the_drawing_has_both_curves_both_peaks_and_what_is_lit() {
        let (compared, space) = two();
        for (scale, width) in Scale::ALL.into_iter().flat_map(|s| [(s, 290.0), (s, 1100.0)]) {
            let axis = Axis::new(&compared, scale);
            let lit = Spans { rows: vec![1], steps: vec![(2, 4), (8, 8)] };
            let shapes = draw(&axis, &space, Some((&lit, &Spans::default())), width);
            let has = |mark: Mark| {
                shapes
                    .iter()
                    .filter(|s| matches!(s, Shape::Path(m, _) | Shape::Words(m, ..) if *m == mark))
                    .count()
            };
            assert_eq!((has(Mark::LeftLine), has(Mark::RightLine), has(Mark::LeftArea)), (1, 1, 1));
            assert_eq!((has(Mark::LeftLit), has(Mark::RightLit)), (1, 0));
            let words: Vec<&str> = shapes
                .iter()
                .filter_map(|s| if let Shape::Words(.., w) = s { Some(w.as_str()) } else { None })
                .collect();
            assert!(
                words.contains(&"300 B here at step 5") && words.contains(&"500 B there at step 8"),
                "{words:?}"
            );
            // More than one number of bytes and of steps beside 0, at the side and below.
            let numbers = |below: bool| {
                let is = |s: &&Shape| match s {
                    Shape::Words(Mark::Text, (x, _), 2, _) => !below && *x < 0.0,
                    Shape::Words(Mark::RightText, (x, y), 0, _) => below && *x > 0.0 && *y > BASE,
                    _ => false,
                };
                shapes.iter().filter(is).count()
            };
            assert!(numbers(false) > 2 && numbers(true) >= 2, "{scale:?} {width}");
            // No line crosses the label of the other peak.
            let lines = shapes.iter().filter_map(|s| match s {
                Shape::Path(Mark::LeftPeak | Mark::RightPeak, d) => {
                    let (x, y) = d.strip_prefix('M')?.split_once('V')?.0.split_once(' ')?;
                    Some((x.parse::<f64>().ok()?, y.parse::<f64>().ok()?))
                }
                _ => None,
            });
            for (x, top) in lines {
                for shape in &shapes {
                    if let Shape::Words(Mark::LeftText | Mark::RightText, (at, y), anchor, words) = shape
                        && *y < HEAD
                    {
                        let from = if *anchor == 2 { at - length(words) } else { *at };
                        let is_beside = x <= from || x >= from + length(words);
                        assert!(
                            is_beside || top >= *y,
                            "{scale:?} {width}: {words} at {from}, a line at {x}"
                        );
                    }
                }
            }
            // Nothing sticks out.
            for shape in &shapes {
                if let Shape::Words(_, (x, y), anchor, words) = shape {
                    let (from, to) = match anchor {
                        0 => (*x, x + length(words)),
                        _ => (x - length(words), *x),
                    };
                    assert!(
                        from >= -SIDE - 0.5 && to <= width + 0.5 && *y <= HEIGHT,
                        "{words} {from} {to} of {width}"
                    );
                }
            }
        }
    }

    #[test]
    fn one_side_without_temporaries_is_no_curve() {
        let (compared, mut space) = two();
        space.right = SpaceCurve::default();
        let axis = Axis::new(&compared, Scale::Share);
        let shapes = draw(&axis, &space, None, 500.0);
        let is = |s: &Shape, mark: Mark| matches!(s, Shape::Path(m, _) if *m == mark);
        assert!(!shapes.iter().any(|s| is(s, Mark::RightLine) || is(s, Mark::RightPeak)));
        assert!(shapes.iter().any(|s| is(s, Mark::LeftPeak)));
    }

    #[test]
    fn names_in_a_file_are_text() {
        let (compared, space) = two();
        let axis = Axis::new(&compared, Scale::Matched);
        let shapes = draw(&axis, &space, None, 500.0);
        let names = ["</title><script>alert(1)</script>", "\u{202e}a&b\"\u{0}"];
        let text = svg(&shapes, 500.0, names, &Colours::default());
        assert!(!text.contains("<script") && !text.contains('\u{202e}') && !text.contains('\u{0}'), "{text}");
        assert!(text.contains("&lt;script&gt;") && text.contains("a&amp;b"), "{text}");
        assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
    }

    #[test]
    fn bands_of_a_map_keep_their_order_on_the_axis() {
        let (compared, _) = two();
        let map =
            MapData { end: 15, row: vec![0, 1], start: vec![0, 3], last: vec![2, 15], ..MapData::default() };
        for scale in Scale::ALL {
            let axis = Axis::new(&compared, scale);
            let laid = on_axis(&map, &axis.right, &axis);
            // The second one begins right after the first one has ended.
            assert_eq!(laid.last[0] + 1, laid.start[1], "{scale:?}");
            assert_eq!(laid.last[1] + 1, (axis.right.place(16.0) * 16.0) as u32);
        }
    }
}
