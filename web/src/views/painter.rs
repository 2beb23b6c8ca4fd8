//! Draws a scene as SVG and keeps the elements: from one picture to the next only what differs is touched, so that a
//! drag costs little and what moves can be seen to move.

use crate::scene::svg::{classes, number};
use crate::scene::{Anchor, Form, Layer, Mark, Scene};
use std::collections::HashMap;
use wasm_bindgen::JsCast as _;
use web_sys::{Document, Element, SvgElement};

const SVG: &str = "http://www.w3.org/2000/svg";

/// A drawn mark.
struct Drawn {
    element: SvgElement,
    mark: Mark,
    /// In which picture it was last seen.
    seen: u32,
}

/// An `<svg>` and the marks on it.
pub struct Painter {
    document: Document,
    svg: Element,
    layers: HashMap<Layer, Element>,
    marks: HashMap<(Layer, u32), Drawn>,
    turn: u32,
    lit: Option<u32>,
}

impl Painter {
    /// Draws on an empty `<svg>`.
    pub fn new(svg: Element) -> Option<Self> {
        let document = svg.owner_document()?;
        let mut layers = HashMap::new();
        for layer in Layer::ALL {
            let group = document.create_element_ns(Some(SVG), "g").ok()?;
            set(&group, "class", &format!("layer-{}", layer.class()));
            svg.append_child(&group).ok()?;
            layers.insert(layer, group);
        }
        Some(Self { document, svg, layers, marks: HashMap::new(), turn: 0, lit: None })
    }

    /// Draws a picture in place of the last one.
    pub fn draw(&mut self, scene: &Scene) {
        self.turn = self.turn.wrapping_add(1);
        let (w, h) = (number(scene.width), number(scene.height));
        set(&self.svg, "viewBox", &format!("0 0 {w} {h}"));
        set(&self.svg, "width", &w);
        set(&self.svg, "height", &h);
        for mark in &scene.marks {
            let key = (mark.layer, mark.id);
            let same_form = self
                .marks
                .get(&key)
                .is_some_and(|d| std::mem::discriminant(&d.mark.form) == std::mem::discriminant(&mark.form));
            if !same_form {
                if let Some(old) = self.marks.remove(&key) {
                    old.element.remove();
                }
                let Some(element) = self.create(mark) else { continue };
                update(&element, None, mark, self.lit);
                self.marks.insert(key, Drawn { element, mark: mark.clone(), seen: self.turn });
            } else if let Some(drawn) = self.marks.get_mut(&key) {
                drawn.seen = self.turn;
                if drawn.mark != *mark {
                    update(&drawn.element, Some(&drawn.mark), mark, self.lit);
                    drawn.mark.clone_from(mark);
                }
            }
        }
        let turn = self.turn;
        self.marks.retain(|_, drawn| {
            if drawn.seen != turn {
                drawn.element.remove();
            }
            drawn.seen == turn
        });
    }

    /// Lights all marks of a value, and puts out those lit before.
    pub fn light(&mut self, value: Option<u32>) {
        if self.lit == value {
            return;
        }
        for drawn in self.marks.values() {
            if drawn.mark.value.is_some() && (drawn.mark.value == self.lit || drawn.mark.value == value) {
                _ = drawn.element.class_list().toggle_with_force("lit", drawn.mark.value == value);
            }
        }
        self.lit = value;
    }

    fn create(&self, mark: &Mark) -> Option<SvgElement> {
        let tag = match mark.form {
            Form::Rect { .. } => "rect",
            Form::Line { .. } => "line",
            Form::Text { .. } => "text",
        };
        let element = self.document.create_element_ns(Some(SVG), tag).ok()?;
        self.layers[&mark.layer].append_child(&element).ok()?;
        element.dyn_into().ok()
    }
}

fn set(element: &Element, name: &str, value: &str) {
    // Fails for malformed names only; these are all written here.
    _ = element.set_attribute(name, value);
}

fn update(element: &SvgElement, old: Option<&Mark>, new: &Mark, lit: Option<u32>) {
    let class = |m: &Mark| (m.layer, m.hue, m.class, m.value.is_some());
    if old.is_none_or(|old| class(old) != class(new)) {
        let mut names = classes(new);
        if new.value.is_some() && new.value == lit {
            names.push_str(" lit");
        }
        set(element, "class", &names);
        if new.layer == Layer::Ground {
            // As an attribute: in a style sheet the address would be the style sheet's.
            set(element, "fill", "url(#hatch)");
        }
    }
    // Across is set at once, because the pointer leads it; up and down goes through `transform`, which the style sheet
    // may animate.
    if old.is_none_or(|old| (old.y - new.y).abs() > 0.01) {
        _ = element.style().set_property("transform", &format!("translateY({}px)", number(new.y)));
    }
    let moved = old.is_none_or(|old| (old.x - new.x).abs() > 0.01);
    match &new.form {
        Form::Rect { w, h } => {
            if moved {
                set(element, "x", &number(new.x));
            }
            if old.is_none_or(|old| old.form != new.form) {
                set(element, "width", &number(*w));
                set(element, "height", &number(*h));
            }
        }
        Form::Line { dx, dy } => {
            if moved || old.is_none_or(|old| old.form != new.form) {
                set(element, "x1", &number(new.x));
                set(element, "x2", &number(new.x + dx));
                set(element, "y2", &number(*dy));
            }
        }
        Form::Text { text, anchor } => {
            if moved {
                set(element, "x", &number(new.x));
            }
            if old.is_none_or(|old| old.form != new.form) {
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                set(element, "text-anchor", anchor);
                element.set_text_content(Some(text));
            }
        }
    }
}
