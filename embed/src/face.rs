//! What JavaScript calls.

use crate::session::Session;
use assigner::words::{bytes, grouped};
use js_sys::{Array, Object, Reflect};
use wasm_bindgen::prelude::*;
use web::modules::{SHIPPED, shipped};
use web::painter::Painter;
use web::scene::{self, HeapLayout, Spot, Timeline, svg};
use web::state::{End, Source, State};
use web::story;
use web_sys::Element;

/// One exhibit on its `<svg>` elements.
#[wasm_bindgen]
pub struct Exhibit {
    session: Session,
    timeline: Option<Pane<Timeline>>,
    heap: Option<Pane<HeapLayout>>,
    plan: Option<Pane<()>>,
    /// The value and the end that are being pulled, and how far from that end the pointer took hold.
    held: Option<(u32, End, f64)>,
    hover: Option<u32>,
    place: String,
}

struct Pane<L> {
    painter: Painter,
    layout: Option<L>,
}

impl<L> Pane<L> {
    fn on(svg: Option<Element>) -> Option<Self> {
        Some(Self { painter: Painter::new(svg?)?, layout: None })
    }
}

fn object(fields: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    for (name, value) in fields {
        // A plain object takes every property.
        _ = Reflect::set(&object, &JsValue::from_str(name), value);
    }
    object.into()
}

fn end_of(name: &str) -> End {
    if name == "start" { End::Start } else { End::End }
}

fn name_of(end: End) -> &'static str {
    match end {
        End::Start => "start",
        End::End => "end",
    }
}

#[wasm_bindgen]
impl Exhibit {
    /// Opens a text. `id` is that of a module that comes with the element; without one the text is the host's own. Throws a
    /// text with a line for each thing that is wrong: `line 3, column 5: read ..., expected ...`.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str, id: Option<String>) -> Result<Exhibit, JsValue> {
        let session = Session::open(text, id.as_deref()).map_err(|problems| {
            let lines: Vec<String> = problems
                .iter()
                .filter(|p| p.is_error)
                .map(|p| format!("line {}, column {}: {}", p.line, p.column, p.message))
                .collect();
            JsValue::from_str(&lines.join("\n"))
        })?;
        Ok(Self {
            session,
            timeline: None,
            heap: None,
            plan: None,
            held: None,
            hover: None,
            place: String::new(),
        })
    }

    /// Which module a state is of: its id, or nothing for a text of its own.
    pub fn module_of(state: &str) -> Option<String> {
        match State::decode(state)?.source {
            Source::Shipped(id) => Some(id),
            Source::Own(_) => None,
        }
    }

    /// The text that a state carries with it.
    pub fn text_of(state: &str) -> Option<String> {
        match State::decode(state)?.source {
            Source::Shipped(_) => None,
            Source::Own(text) => Some(text),
        }
    }

    /// The ids of the modules that come with the element.
    pub fn modules() -> Vec<String> {
        SHIPPED.iter().map(|m| m.id.to_owned()).collect()
    }

    /// What a module is called.
    pub fn title_of(id: &str) -> Option<String> {
        shipped(id).map(|m| m.title.to_owned())
    }

    /// Draws on these elements from now on.
    pub fn mount(&mut self, timeline: Option<Element>, heap: Option<Element>, plan: Option<Element>) {
        (self.timeline, self.heap, self.plan) = (Pane::on(timeline), Pane::on(heap), Pane::on(plan));
    }

    /// Draws; widths and the heap's height are in CSS pixels.
    pub fn draw(&mut self, timeline: f64, heap: f64, heap_height: f64, plan: f64) {
        if let Some(pane) = self.timeline.as_mut().filter(|_| timeline > 0.0) {
            let layout = self.session.timeline(timeline);
            pane.painter.draw(&layout.scene);
            pane.layout = Some(layout);
        }
        if let Some(pane) = self.heap.as_mut().filter(|_| heap > 0.0) {
            let layout = self.session.heap((heap, heap_height));
            pane.painter.draw(&layout.scene);
            pane.layout = Some(layout);
        }
        if let Some(pane) = self.plan.as_mut().filter(|_| plan > 0.0) {
            pane.painter.draw(&self.session.plan(plan));
        }
        self.light();
    }

    fn light(&mut self) {
        let hover = self.hover;
        let panes = [
            self.timeline.as_mut().map(|p| &mut p.painter),
            self.heap.as_mut().map(|p| &mut p.painter),
            self.plan.as_mut().map(|p| &mut p.painter),
        ];
        for painter in panes.into_iter().flatten() {
            painter.light(hover);
        }
    }

    /// The pointer goes down on the timeline. Says which end it took hold of, if any; it may select another value.
    pub fn grip(&mut self, x: f64, y: f64) -> Option<String> {
        let layout = self.timeline.as_ref()?.layout.as_ref()?;
        let (value, grip) = layout.grip(&self.session.run().picture, self.session.selected(), x, y)?;
        if self.session.selected() != Some(value) {
            self.session.select(Some(value));
        }
        let (end, off) = grip?;
        self.held = Some((value, end, off));
        Some(name_of(end).to_owned())
    }

    /// The pointer moves while it holds an end. `true` if that changed anything.
    pub fn pull(&mut self, x: f64) -> bool {
        let (Some((value, end, off)), Some(layout)) =
            (self.held, self.timeline.as_ref().and_then(|p| p.layout.as_ref()))
        else {
            return false;
        };
        let to = match end {
            End::Start => layout.steps.start_near(x - off),
            End::End => layout.steps.end_near(x - off),
        };
        self.hover = None;
        // What was said of the place under the pointer is of the range as it was.
        self.place.clear();
        self.session.move_end(value, end, to)
    }

    /// Lets go; `true` if something was changed since the pointer went down.
    pub fn release(&mut self) -> bool {
        self.held = None;
        self.session.settle()
    }

    /// The pointer passes over the timeline.
    pub fn over_timeline(&mut self, x: f64, y: f64) {
        let found = self.timeline.as_ref().and_then(|p| p.layout.as_ref());
        let found = found.map(|l| (l.value_at(&self.session.run().picture, x, y), l.steps.at(x)));
        let (value, step) = found.unwrap_or_default();
        self.pass(value, step, String::new());
    }

    /// The pointer passes over the heap; gives the value there.
    pub fn over_heap(&mut self, x: f64, y: f64) -> Option<u32> {
        let picture = &self.session.run().picture;
        let spot = self.heap.as_ref().and_then(|p| p.layout.as_ref()).and_then(|layout| {
            let (step, address) = layout.at(x, y)?;
            Some((step, scene::spot(picture, step, address, (2.0 / layout.scale) as u64)))
        });
        let (step, spot) = spot.map_or((None, None), |(step, spot)| (Some(step), spot));
        let said = match spot {
            Some(Spot::Hole(from, to)) => {
                format!("hole of {}: {} to {} is free", bytes(to - from), grouped(from), grouped(to))
            }
            Some(Spot::Padding(v)) => picture.item(v).map_or_else(String::new, |i| {
                format!("padding behind {}: the next place begins at a multiple of the alignment", i.name)
            }),
            _ => String::new(),
        };
        let value = match spot {
            Some(Spot::Value(v)) => Some(v),
            _ => None,
        };
        self.pass(value, step, said);
        value
    }

    fn pass(&mut self, value: Option<u32>, step: Option<u32>, said: String) {
        let run = self.session.run();
        self.place = match (value, step) {
            (Some(v), _) => story::value(&run.picture, v),
            (None, Some(s)) if said.is_empty() => story::step(run, s),
            (None, Some(s)) => format!("{} · {said}", story::step(run, s)),
            (None, None) => String::new(),
        };
        if self.hover != value {
            self.hover = value;
            self.light();
        }
    }

    /// The pointer is gone.
    pub fn leave(&mut self) {
        self.pass(None, None, String::new());
    }

    /// What is under the pointer, or else selected, in a line.
    pub fn readout(&self) -> String {
        if !self.place.is_empty() {
            return self.place.clone();
        }
        let selected = self.session.selected();
        selected.map_or_else(String::new, |v| story::value(&self.session.run().picture, v))
    }

    /// Where the handles stand in CSS pixels: left of both, and their middle's height; nothing without a selection.
    pub fn handles(&self) -> Option<Vec<f64>> {
        let layout = self.timeline.as_ref()?.layout.as_ref()?;
        let ((start, end, _), value) = (self.session.range()?, self.session.selected()?);
        Some(vec![
            layout.steps.x(start),
            layout.steps.after(end),
            layout.row_of(value)? + layout.row_height / 2.0,
        ])
    }

    /// Start, end and last step of the selected range.
    pub fn range(&self) -> Option<Vec<u32>> {
        self.session.range().map(|(a, b, c)| vec![a, b, c])
    }

    /// An end in words: `ends at step 9, fusion.2`.
    pub fn end_words(&self, end: &str) -> String {
        let picture = &self.session.run().picture;
        let item = self.session.selected().and_then(|v| picture.item(v));
        item.map_or_else(String::new, |item| story::handle(picture, item, end_of(end)))
    }

    /// Moves an end of the selected range towards a step.
    pub fn move_end(&mut self, end: &str, to: f64) -> bool {
        let Some(value) = self.session.selected() else { return false };
        self.session.move_end(value, end_of(end), to as i64)
    }

    /// The end of a move.
    pub fn settle(&mut self) -> bool {
        self.session.settle()
    }

    /// Selects a value by number, or none.
    pub fn select(&mut self, value: Option<u32>) {
        self.session.select(value);
    }

    /// The selected value's number.
    pub fn selected(&self) -> Option<u32> {
        self.session.selected()
    }

    /// Undo.
    pub fn undo(&mut self) -> bool {
        self.session.undo()
    }

    /// Redo.
    pub fn redo(&mut self) -> bool {
        self.session.redo()
    }

    /// Puts back what was changed.
    pub fn reset(&mut self) {
        self.session.reset();
    }

    /// Whether there is anything to undo, to redo, to put back.
    pub fn can(&self) -> Vec<u8> {
        let s = &self.session;
        [s.can_undo(), s.can_redo(), s.is_changed()].map(u8::from).to_vec()
    }

    /// Rows for parameters and results too, or not.
    pub fn show_all(&mut self, all: bool) {
        self.session.show_all(all);
    }

    /// Are there rows for parameters and results too?
    pub fn shows_all(&self) -> bool {
        self.session.shows_all()
    }

    /// The state as an address has it.
    pub fn state(&self) -> String {
        self.session.state()
    }

    /// The same, also while all is as it first was.
    pub fn whole_state(&self) -> String {
        self.session.whole_state()
    }

    /// Goes to a state; `false` if it is none of this module.
    pub fn set_state(&mut self, state: &str) -> bool {
        self.session.set_state(state)
    }

    /// What is to be said, as an object of texts.
    pub fn words(&self) -> JsValue {
        let w = self.session.words();
        let heap = self.session.run().picture.heap_size();
        object(&[
            ("before", w.task.0.into()),
            ("name", w.name.into()),
            ("after", w.task.1.into()),
            ("deed", w.deed.into()),
            ("difference", w.difference.into()),
            ("direction", f64::from(w.direction).into()),
            ("rest", w.rest.into()),
            ("peak", w.peak.into()),
            ("heap", (heap as f64).into()),
        ])
    }

    /// Where a pulled end breaks a sharing: `{end, step, label, words}` each.
    pub fn breaks(&self) -> Array {
        let one = |(end, step, label, words): (End, u32, String, String)| {
            object(&[
                ("end", name_of(end).into()),
                ("step", f64::from(step).into()),
                ("label", label.into()),
                ("words", words.into()),
            ])
        };
        self.session.breaks().into_iter().map(one).collect()
    }

    /// The values that are shown: `{value, name, cells}` each, with the cells of the table in the order of its head.
    pub fn rows(&self) -> Array {
        let one = |r: crate::Row| {
            let cells =
                [r.opcode, r.start.to_string(), r.end.to_string(), r.bytes, r.allocation, r.offset, r.shares];
            let cells: Array = cells.into_iter().map(JsValue::from).collect();
            object(&[("value", f64::from(r.value).into()), ("name", r.name.into()), ("cells", cells.into())])
        };
        self.session.rows().into_iter().map(one).collect()
    }

    /// The pictures as the text of an SVG file; it carries its styles with it.
    pub fn svg(&self, title: &str) -> String {
        let mut pictures = Vec::new();
        if let Some(layout) = self.timeline.as_ref().and_then(|p| p.layout.as_ref()) {
            pictures.push(("Live ranges", layout.scene.clone()));
        }
        if let Some(layout) = self.heap.as_ref().and_then(|p| p.layout.as_ref()) {
            pictures.push(("Heap", layout.scene.clone()));
        }
        if self.plan.is_some() {
            pictures.push(("All slabs", self.session.plan(900.0)));
        }
        let of: Vec<_> = pictures.iter().map(|(heading, scene)| (*heading, scene)).collect();
        svg::file(title, &of)
    }
}
