//! What a figure shows, as plain rectangles, lines and labels: pure functions of the engine's result and a width in
//! CSS pixels. Nothing here knows a browser, and nothing here decides anything about memory.

mod assigning;
mod binding;
mod churn;
mod copying;
mod curve;
mod cutoff;
mod gap;
mod graph;
mod heap;
mod linked;
mod meeting;
mod memories;
mod order;
mod packing;
mod plan;
mod ranges;
mod slabs;
mod spaces;
mod spread;
mod strip;
pub mod svg;
mod timeline;
mod touch;
mod unrolled;

pub use assigning::{allocations, bins, gates, hit};
pub use binding::binding;
pub use churn::churn;
pub use copying::copying;
pub use curve::{Curve, curve};
pub use cutoff::cutoff;
pub use gap::{GAP_HEIGHT, gap, small};
pub use graph::graph;
pub use heap::{HeapLayout, Spot, heap, spot};
pub use linked::{linked_heap, linked_ranges, value_at};
pub use meeting::{Reached, reach, rendezvous};
pub use memories::{Memories, memories};
pub use order::{Order, OrderRow, Shown as OrderShown, order};
pub use packing::{PACKING_HEIGHT, Packing, View as PackingView, ceiling as packing_ceiling, packing};
pub use plan::plan;
pub use ranges::{overlap, ranges};
pub use slabs::{SlabRow, slabs};
pub use spaces::spaces;
pub use spread::spread;
pub use strip::{STRIP_HEIGHT, filling, strip};
pub use timeline::{Options as TimelineOptions, Row, Threshold, Timeline, timeline};
pub use touch::{TOUCH_HEIGHT, touch};
pub use unrolled::unrolled;

use sorts::Arrange as _;
use std::collections::HashMap;
use std::fmt::Write as _;

/// One value with its live range and its place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Item {
    /// The value's number.
    pub value: u32,
    /// The HLO buffer it belongs to.
    pub buffer: u32,
    /// The instruction's name, with the tuple index behind it if there is one.
    pub name: String,
    /// The defining opcode.
    pub opcode: String,
    /// The shape, without layout.
    pub shape: String,
    /// The line of the text that defines it, from 1.
    pub line: u32,
    /// Written at this step.
    pub start: u32,
    /// Wanted until this step, inclusive.
    pub end: u32,
    /// The steps that read it.
    pub reads: Vec<u32>,
    /// Its own size in bytes.
    pub bytes: u64,
    /// The slab it stands in, an index into [`Picture::slabs`].
    pub slab: Option<usize>,
    /// Bytes from the slab's start.
    pub offset: u64,
    /// Bytes that are set aside for it there.
    pub size: u64,
    /// Its colour, from 0 to [`HUES`].
    pub hue: u8,
}

impl Item {
    /// The end of its place in its slab.
    pub fn top(&self) -> u64 {
        self.offset + self.size
    }

    /// Do both want their places at some step in common?
    pub fn meets(&self, other: &Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// Have both a byte of some slab in common?
    pub fn shares_address(&self, other: &Self) -> bool {
        self.slab.is_some()
            && self.slab == other.slab
            && self.offset < other.top()
            && other.offset < self.top()
    }
}

/// What an allocation is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SlabKind {
    /// Temporaries.
    Temp,
    /// An entry parameter.
    Parameter,
    /// A part of the result.
    Result,
    /// A constant.
    Constant,
    /// For a computation that runs per element.
    ThreadLocal,
}

impl SlabKind {
    /// In words, for one.
    pub fn name(self) -> &'static str {
        match self {
            Self::Temp => "temporary",
            Self::Parameter => "parameter",
            Self::Result => "result",
            Self::Constant => "constant",
            Self::ThreadLocal => "thread-local",
        }
    }
}

/// One allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slab {
    /// XLA's number of it.
    pub id: u32,
    /// What it is for.
    pub kind: SlabKind,
    /// Bytes.
    pub size: u64,
    /// The values in it, by number.
    pub values: Vec<u32>,
}

/// One step of the schedule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StepName {
    /// The instruction that runs.
    pub name: String,
    /// Its opcode.
    pub opcode: String,
    /// Its line of the text, from 1.
    pub line: u32,
}

/// The engine's result, flattened for drawing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Picture {
    /// Every value that has a live range, by number.
    pub items: Vec<Item>,
    /// The allocations, by number.
    pub slabs: Vec<Slab>,
    /// The slab of the temporaries, if there is any: the largest one.
    pub temp: Option<usize>,
    /// Places begin at multiples of this many bytes.
    pub alignment: u64,
    /// The schedule. Step `steps.len()` is the program's end.
    pub steps: Vec<StepName>,
    /// All allocations, in bytes.
    pub total_bytes: u64,
    /// All temporaries, in bytes.
    pub temp_bytes: u64,
}

impl Picture {
    /// The last step there is: the end of the program.
    pub fn last(&self) -> u32 {
        self.steps.len() as u32
    }

    /// A value by number.
    pub fn item(&self, value: u32) -> Option<&Item> {
        self.items.binary_search_by_key(&value, |i| i.value).ok().map(|i| &self.items[i])
    }

    /// Is it in the temporaries' slab?
    pub fn is_temp(&self, item: &Item) -> bool {
        item.slab.is_some() && item.slab == self.temp
    }

    /// The size of the temporaries' slab in bytes.
    pub fn heap_size(&self) -> u64 {
        self.temp.map_or(0, |t| self.slabs[t].size)
    }

    /// The values of the temporaries' slab.
    pub fn temps(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|i| self.is_temp(i))
    }

    /// The values at the same address as this one, other than itself and those of its own buffer, in order of time.
    pub fn mates(&self, value: u32) -> Vec<&Item> {
        let Some(this) = self.item(value) else { return Vec::new() };
        let mut mates: Vec<_> =
            self.items.iter().filter(|i| i.buffer != this.buffer && i.shares_address(this)).collect();
        mates.arrange_by_key(|i| (i.start, i.end, i.value));
        mates
    }

    /// What runs at a step.
    pub fn step_name(&self, step: u32) -> &str {
        self.steps.get(step as usize).map_or("the end", |s| s.name.as_str())
    }
}

/// How many colours there are.
pub const HUES: u8 = 10;

/// Gives each buffer a colour that it keeps: by buffer number, moved on where a neighbour in address or in the list
/// of rows has the same. Uses only `items` as the module has them, so that edits change no colour.
pub fn colour(items: &mut [Item]) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.arrange_by_key(|&i| (items[i].start, items[i].buffer, items[i].value));
    let mut by_buffer: HashMap<u32, u8> = HashMap::new();
    let mut recent: Vec<u8> = Vec::new();
    let mut done: Vec<usize> = Vec::new();
    for &i in &order {
        let hue = if let Some(hue) = by_buffer.get(&items[i].buffer) {
            *hue
        } else {
            let mut cost = [0_u32; HUES as usize];
            for (back, hue) in recent.iter().rev().take(3).enumerate() {
                cost[usize::from(*hue)] += 8 - back as u32 * 2;
            }
            // Neighbours on the map: places that touch or overlap in address, close in time.
            for &j in &done {
                let (a, b) = (&items[i], &items[j]);
                let near = a.slab == b.slab && a.offset <= b.top() && b.offset <= a.top();
                if near && a.start <= b.end + 1 && b.start <= a.end + 1 {
                    cost[usize::from(b.hue)] += 16;
                }
            }
            let first = (items[i].buffer % u32::from(HUES)) as u8;
            let hue = (0..HUES)
                .map(|k| (first + k) % HUES)
                .min_by_key(|h| cost[usize::from(*h)])
                .unwrap_or_default();
            by_buffer.insert(items[i].buffer, hue);
            recent.push(hue);
            hue
        };
        items[i].hue = hue;
        done.push(i);
    }
}

/// Which layer a mark belongs to, from the back to the front; with the number it is the mark's identity from one
/// picture to the next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Layer {
    /// The hatched ground: free memory.
    Ground,
    /// Vertical and horizontal rules.
    Grid,
    /// The row of the selected value.
    RowMark,
    /// Alignment padding.
    Padding,
    /// Bars and bands.
    Band,
    /// The closed ends of bars.
    Cap,
    /// Steps that read the selected value.
    Read,
    /// Where something was.
    Ghost,
    /// The step of the peak.
    Peak,
    /// Text in and beside bands.
    Label,
    /// Where a sharing breaks.
    Threshold,
    /// Text of axes.
    Axis,
}

impl Layer {
    /// All, back to front.
    pub const ALL: [Self; 12] = [
        Self::Ground,
        Self::Grid,
        Self::RowMark,
        Self::Padding,
        Self::Band,
        Self::Cap,
        Self::Read,
        Self::Ghost,
        Self::Peak,
        Self::Label,
        Self::Threshold,
        Self::Axis,
    ];

    /// As a class name.
    pub fn class(self) -> &'static str {
        match self {
            Self::Ground => "ground",
            Self::Grid => "grid",
            Self::RowMark => "row-mark",
            Self::Padding => "padding",
            Self::Band => "band",
            Self::Cap => "cap",
            Self::Read => "read",
            Self::Ghost => "ghost",
            Self::Peak => "peak",
            Self::Label => "label",
            Self::Threshold => "threshold",
            Self::Axis => "axis",
        }
    }
}

/// Where a text is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    /// At its left.
    Start,
    /// At its middle.
    Middle,
    /// At its right.
    End,
}

/// What is drawn.
#[derive(Clone, PartialEq, Debug)]
pub enum Form {
    /// A rectangle, by width and height.
    Rect {
        /// Width.
        w: f64,
        /// Height.
        h: f64,
    },
    /// A line, by where it goes from its start.
    Line {
        /// To the right.
        dx: f64,
        /// Down.
        dy: f64,
    },
    /// A text on its base line.
    Text {
        /// What it says.
        text: String,
        /// Where it is held.
        anchor: Anchor,
    },
}

/// One thing drawn.
#[derive(Clone, PartialEq, Debug)]
pub struct Mark {
    /// Its layer.
    pub layer: Layer,
    /// Its number in the layer.
    pub id: u32,
    /// Left.
    pub x: f64,
    /// Top, or the base line of a text.
    pub y: f64,
    /// What it is.
    pub form: Form,
    /// The value it stands for.
    pub value: Option<u32>,
    /// Its colour.
    pub hue: Option<u8>,
    /// Further class names.
    pub class: &'static str,
}

/// A picture ready to be drawn.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scene {
    /// Width in CSS pixels.
    pub width: f64,
    /// Height in CSS pixels.
    pub height: f64,
    /// What is drawn.
    pub marks: Vec<Mark>,
}

impl Scene {
    fn push(&mut self, layer: Layer, id: u32, (x, y): (f64, f64), form: Form) -> &mut Mark {
        self.marks.push(Mark { layer, id, x, y, form, value: None, hue: None, class: "" });
        self.marks.last_mut().expect("just pushed")
    }

    fn rect(&mut self, layer: Layer, id: u32, at: (f64, f64), (w, h): (f64, f64)) -> &mut Mark {
        self.push(layer, id, at, Form::Rect { w: w.max(0.0), h: h.max(0.0) })
    }

    fn line(&mut self, layer: Layer, id: u32, at: (f64, f64), (dx, dy): (f64, f64)) -> &mut Mark {
        self.push(layer, id, at, Form::Line { dx, dy })
    }

    fn text(&mut self, layer: Layer, id: u32, at: (f64, f64), anchor: Anchor, text: String) -> &mut Mark {
        self.push(layer, id, at, Form::Text { text, anchor })
    }

    /// One line a mark, for tests.
    pub fn to_text(&self) -> String {
        let mut out = format!("{:.0}x{:.0}\n", self.width, self.height);
        for m in &self.marks {
            _ = write!(out, "{} {} {:.1},{:.1} ", m.layer.class(), m.id, m.x, m.y);
            _ = match &m.form {
                Form::Rect { w, h } => write!(out, "{w:.1}x{h:.1}"),
                Form::Line { dx, dy } => write!(out, "to {dx:.1},{dy:.1}"),
                Form::Text { text, anchor } => write!(out, "{anchor:?} \"{text}\""),
            };
            if !m.class.is_empty() {
                _ = write!(out, " .{}", m.class);
            }
            out.push('\n');
        }
        out
    }
}

/// The steps across a figure: each step is a column, so that a range that is closed at both ends covers the columns of
/// both, and two ranges that touch are seen to overlap.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Steps {
    /// Where step 0 begins.
    pub left: f64,
    /// A column's width.
    pub column: f64,
    /// The last step.
    pub last: u32,
}

impl Steps {
    /// Columns for `0..=last` between two margins.
    pub fn new(left: f64, right: f64, last: u32) -> Self {
        Self { left, column: ((right - left) / f64::from(last + 1)).max(0.01), last }
    }

    /// The left side of a step's column.
    pub fn x(&self, step: u32) -> f64 {
        self.left + f64::from(step) * self.column
    }

    /// The right side of a step's column.
    pub fn after(&self, step: u32) -> f64 {
        self.left + (f64::from(step) + 1.0) * self.column
    }

    /// The middle of a step's column.
    pub fn middle(&self, step: u32) -> f64 {
        self.left + (f64::from(step) + 0.5) * self.column
    }

    /// The step at `x`, if it is inside.
    pub fn at(&self, x: f64) -> Option<u32> {
        let step = ((x - self.left) / self.column).floor();
        (step >= 0.0 && step <= f64::from(self.last)).then_some(step as u32)
    }

    /// The step whose column begins nearest to `x`; may be outside the program.
    pub fn start_near(&self, x: f64) -> i64 {
        ((x - self.left) / self.column).round() as i64
    }

    /// The step whose column ends nearest to `x`; may be outside the program.
    pub fn end_near(&self, x: f64) -> i64 {
        self.start_near(x) - 1
    }

    /// The right end of the figure.
    pub fn right(&self) -> f64 {
        self.after(self.last)
    }

    /// Steps to be numbered: at a round distance, at least `room` pixels apart.
    fn ticks(&self, room: f64) -> impl Iterator<Item = u32> + use<> {
        let every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000]
            .into_iter()
            .find(|n| f64::from(*n) * self.column >= room)
            .unwrap_or(self.last.max(1));
        (0..=self.last).step_by(every as usize)
    }
}

/// The width a text takes at 11 px, on the safe side.
pub fn text_width(text: &str) -> f64 {
    text.chars()
        .map(|c| match c {
            'i' | 'l' | 'j' | '.' | ',' | ':' | '\'' | '|' | ' ' => 3.6,
            'f' | 't' | 'r' | '(' | ')' | '{' | '}' | '-' => 4.5,
            'm' | 'w' | 'M' | 'W' | '…' => 10.2,
            '_' => 6.2,
            c if c.is_ascii_uppercase() => 8.0,
            _ => 6.9,
        })
        .sum()
}

/// A text cut to a width at 11 px, with an ellipsis before its last part: the number behind an HLO name tells the
/// values apart, so it is kept. Empty if not even three letters fit.
pub fn fit(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let tail_at = text.rfind('.').filter(|at| text.len() - at <= 5 && *at > 3);
    let head = &text[..tail_at.unwrap_or(text.len())];
    // The ellipsis stands for the point as well.
    let tail = tail_at.map_or("", |at| &text[at + 1..]);
    let mut kept = String::new();
    for c in head.chars() {
        kept.push(c);
        if text_width(&kept) + text_width(tail) + 10.2 > width {
            kept.pop();
            break;
        }
    }
    if kept.chars().count() < 3 { String::new() } else { format!("{kept}…{tail}") }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A picture from lines `name start end offset size`; all in one slab of temporaries.
    pub fn picture(last: u32, text: &str) -> Picture {
        let mut picture = Picture {
            slabs: vec![
                Slab { id: 0, kind: SlabKind::Parameter, size: 4000, values: vec![] },
                Slab { id: 1, kind: SlabKind::Temp, size: 0, values: vec![] },
            ],
            temp: Some(1),
            alignment: 64,
            ..Picture::default()
        };
        picture.steps = (0..last)
            .map(|i| StepName { name: format!("i.{i}"), opcode: "add".into(), line: i + 1 })
            .collect();
        for (value, line) in text.trim().lines().enumerate() {
            let mut words = line.split_whitespace();
            let name = words.next().expect("a name").to_owned();
            let mut number = || words.next().expect("a number").parse::<u64>().expect("a number");
            let (start, end, offset, size) = (number() as u32, number() as u32, number(), number());
            let value = value as u32;
            picture.items.push(Item {
                value,
                buffer: value,
                name,
                opcode: "add".into(),
                start,
                end,
                bytes: size,
                slab: Some(1),
                offset,
                size,
                ..Item::default()
            });
            picture.slabs[1].values.push(value);
            picture.slabs[1].size = picture.slabs[1].size.max(offset + size);
        }
        picture.temp_bytes = picture.slabs[1].size;
        picture.total_bytes = picture.temp_bytes + 4000;
        colour(&mut picture.items);
        picture
    }

    #[test]
    fn names_are_cut_before_their_number() {
        assert_eq!(fit("broadcast_multiply_fusion.10", 90.0), "broadcast_…10");
        assert_eq!(fit("sort.19", 90.0), "sort.19");
        assert_eq!(fit("wrapped_reduce-window", 70.0), "wrapped_…");
        assert_eq!(fit("broadcast.1", 20.0), "");
    }

    #[test]
    fn a_closed_range_covers_both_its_columns() {
        let steps = Steps::new(100.0, 200.0, 9);
        assert_eq!((steps.x(3), steps.after(3), steps.middle(3)), (130.0, 140.0, 135.0));
        assert_eq!((steps.at(129.9), steps.at(130.0), steps.at(200.0)), (Some(2), Some(3), None));
    }

    #[test]
    fn neighbours_differ_in_colour() {
        let p = picture(20, "a 0 4 0 64\nb 4 9 0 64\nc 2 6 64 64\nd 3 8 128 64\ne 9 12 0 64");
        for (i, a) in p.items.iter().enumerate() {
            for b in &p.items[i + 1..] {
                if a.offset <= b.top() && b.offset <= a.top() && a.meets(b) {
                    assert_ne!(a.hue, b.hue, "{} {}", a.name, b.name);
                }
            }
        }
    }
}
