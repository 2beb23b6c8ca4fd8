//! Draws a scene as SVG and keeps the elements: from one picture to the next only what differs is touched, so that a
//! drag costs little and what moves can be seen to move.

use crate::scene::svg::{classes, number};
use crate::scene::{Anchor, Form, Layer, Mark, Scene};
use std::collections::HashMap;
use wasm_bindgen::JsCast as _;
use web_sys::{Document, Element, SvgElement};

const SVG: &str = "http://www.w3.org/2000/svg";

/// No more marks than this glide at once: where all of them move it is the scale that changed, and nothing is to be learnt
/// from the movement.
const MOST_GLIDING: usize = 40;

/// A drawn mark.
struct Drawn {
    element: SvgElement,
    mark: Mark,
    /// In which picture it was last seen.
    seen: u32,
    /// The animation by which it came here, if it was elsewhere.
    glide: &'static str,
}

/// An `<svg>` and the marks on it.
pub struct Painter {
    document: Document,
    svg: Element,
    layers: HashMap<Layer, Element>,
    marks: HashMap<(Layer, u32), Drawn>,
    turn: u32,
    lit: Option<u32>,
    size: Option<(f64, f64)>,
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
        Some(Self { document, svg, layers, marks: HashMap::new(), turn: 0, lit: None, size: None })
    }

    /// Draws a picture in place of the last one.
    pub fn draw(&mut self, scene: &Scene) {
        self.turn = self.turn.wrapping_add(1);
        // Browsers lay out all that is in an <svg> when these are set, even to what they are.
        let size = (scene.width, scene.height);
        if self.size != Some(size) {
            self.size = Some(size);
            let (w, h) = (number(scene.width), number(scene.height));
            set(&self.svg, "viewBox", &format!("0 0 {w} {h}"));
            set(&self.svg, "width", &w);
            set(&self.svg, "height", &h);
        }
        let falls = |mark: &&Mark| {
            let drawn = self.marks.get(&(mark.layer, mark.id));
            glides(mark.layer) && drawn.is_some_and(|d| (d.mark.y - mark.y).abs() > 0.01)
        };
        let may_glide = scene.marks.iter().filter(falls).nth(MOST_GLIDING).is_none();
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
                let mut drawn = Drawn { element, mark: mark.clone(), seen: self.turn, glide: "" };
                update(&mut drawn, mark, true, false, self.lit);
                self.marks.insert(key, drawn);
            } else if let Some(drawn) = self.marks.get_mut(&key) {
                drawn.seen = self.turn;
                if drawn.mark != *mark {
                    update(drawn, mark, false, may_glide, self.lit);
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

/// Which marks glide to where they are now; the style sheet says in which figures, and how long it takes.
fn glides(layer: Layer) -> bool {
    matches!(layer, Layer::Band | Layer::RowMark | Layer::Label | Layer::Padding)
}

fn update(drawn: &mut Drawn, new: &Mark, is_new: bool, may_glide: bool, lit: Option<u32>) {
    let Drawn { element, mark: old, glide, .. } = drawn;
    let differs = |of: fn(&Mark) -> f64| is_new || (of(old) - of(new)).abs() > 0.01;
    let (across, down) = (differs(|m| m.x), differs(|m| m.y));
    let formed = is_new || old.form != new.form;
    let class = |m: &Mark| (m.layer, m.hue, m.class, m.value.is_some());
    let falls = down && may_glide && glides(new.layer);
    if is_new || falls || class(old) != class(new) {
        if falls {
            // Across is set at once, because the pointer leads it. Up and down is shown as a movement from where it was: an
            // animation, which leaves no transform behind, since each mark that has one is a layer of its own. It begins
            // anew only under another name.
            *glide = if *glide == "glide-a" { "glide-b" } else { "glide-a" };
            _ = element.style().set_property("--from", &format!("{}px", number(old.y - new.y)));
        }
        let lit = if new.value.is_some() && new.value == lit { "lit" } else { "" };
        set(element, "class", format!("{} {lit} {glide}", classes(new)).trim_end());
        if new.layer == Layer::Ground {
            // As an attribute: in a style sheet the address would be the style sheet's.
            set(element, "fill", "url(#hatch)");
        }
    }
    match &new.form {
        Form::Rect { w, h } => {
            if across {
                set(element, "x", &number(new.x));
            }
            if down {
                set(element, "y", &number(new.y));
            }
            if formed {
                set(element, "width", &number(*w));
                set(element, "height", &number(*h));
            }
        }
        Form::Line { dx, dy } => {
            if across || formed {
                set(element, "x1", &number(new.x));
                set(element, "x2", &number(new.x + dx));
            }
            if down || formed {
                set(element, "y1", &number(new.y));
                set(element, "y2", &number(new.y + dy));
            }
        }
        Form::Text { text, anchor } => {
            if across {
                set(element, "x", &number(new.x));
            }
            if down {
                set(element, "y", &number(new.y));
            }
            if formed {
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
    old.clone_from(new);
}
