//! What every drawn figure needs: its width, a painter for its scene, and where the pointer is.

use crate::scene;
use crate::views::painter::Painter;
use crate::workbench::{Shared, Workbench};
use leptos::ev::{MouseEvent, PointerEvent};
use leptos::html::Div;
use leptos::prelude::*;
use leptos::svg::Svg;

pub use browser::width_of;

/// A painter for an `<svg>`, drawing `layout` whenever it changes and lighting what is under the pointer. The scene also
/// goes into the figure's export, under `title`.
pub fn paint<T: Send + Sync + 'static>(
    wb: Workbench,
    title: &'static str,
    svg: NodeRef<Svg>,
    layout: Memo<Option<Shared<T>>>,
    scene: fn(&T) -> &scene::Scene,
) {
    wb.export(title, move || layout.with_untracked(|l| Some(scene(l.as_ref()?).clone())));
    let painter = StoredValue::new_local(None::<Painter>);
    Effect::new(move |_| {
        let Some(element) = svg.get() else { return };
        painter.update_value(|p| {
            if p.is_none() {
                *p = Painter::new(element.into());
            }
            layout.with(|l| {
                if let (Some(p), Some(l)) = (p, l) {
                    p.draw(scene(l));
                }
            });
        });
    });
    Effect::new(move |_| {
        let lit = wb.hover.get();
        painter.update_value(|p| {
            if let Some(p) = p {
                p.light(lit);
            }
        });
    });
}

/// Sets a signal, if that changes it.
pub fn change<T: PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, to: T) {
    if signal.with_untracked(|now| *now != to) {
        signal.set(to);
    }
}

/// How much larger an element is shown than it is drawn: the presenter shows figures larger.
pub fn scale_of(element: &web_sys::HtmlElement) -> f64 {
    let own = f64::from(element.offset_width());
    let scale = if own > 0.0 { element.get_bounding_client_rect().width() / own } else { 1.0 };
    // The element's own width is a whole number.
    if (scale - 1.0).abs() < 0.02 { 1.0 } else { scale }
}

/// Where the pointer is on an element, in the pixels that it was drawn in.
pub fn point(e: &MouseEvent, node: NodeRef<Div>) -> Option<(f64, f64)> {
    let element = node.get_untracked()?;
    let (frame, scale) = (element.get_bounding_client_rect(), scale_of(&element));
    Some(((f64::from(e.client_x()) - frame.left()) / scale, (f64::from(e.client_y()) - frame.top()) / scale))
}

/// Notes where the pointer is, for what is said beside it.
pub fn at_pointer(wb: Workbench, e: &PointerEvent) {
    // A finger that only passes by has no place to stay.
    if e.pointer_type() != "touch" || wb.dragging.get_untracked().is_some() {
        change(wb.pointer, Some((f64::from(e.client_x()), f64::from(e.client_y()))));
    }
}

/// The pointer is gone.
pub fn leave(wb: Workbench) {
    if wb.dragging.get_untracked().is_none() {
        change(wb.pointer, None);
    }
    change(wb.hover, None);
    change(wb.cursor, None);
    change(wb.place, String::new());
}

/// The line at the step under the pointer, in every figure.
#[component]
pub fn Cursor(#[prop(into)] x: Signal<Option<f64>>) -> impl IntoView {
    view! {
        <div
            class="cursor"
            class:on=move || x.get().is_some()
            style:transform=move || format!("translateX({:.1}px)", x.get().unwrap_or(0.0))
        ></div>
    }
}

/// The hatching of free memory, once for the whole page.
#[component]
pub fn Hatch() -> impl IntoView {
    view! {
        <svg class="defs" aria-hidden="true" width="0" height="0">
            <defs>
                <pattern
                    id="hatch"
                    width="6"
                    height="6"
                    patternUnits="userSpaceOnUse"
                    patternTransform="rotate(45)"
                >
                    <rect class="hatch-ground" width="6" height="6"></rect>
                    <line class="hatch-line" x1="0" y1="0" x2="0" y2="6"></line>
                </pattern>
            </defs>
        </svg>
    }
}
