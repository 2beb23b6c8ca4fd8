//! A scene on the page: drawn, lit by hovering and selected by a click, linked with all else in its figure.

use crate::scene::{Scene, hit};
use crate::views::plot::{change, paint, point, width_of};
use crate::workbench::{Shared, Workbench};
use leptos::ev::{MouseEvent, PointerEvent};
use leptos::html::Div;
use leptos::prelude::*;
use leptos::svg::Svg;

/// A scene that is made for the width there is.
#[component]
pub fn Drawn(
    /// The figure it belongs to.
    wb: Workbench,
    /// Its heading in an export.
    title: &'static str,
    /// Its class: what marks in it look like.
    class: &'static str,
    /// What is seen, for those who do not see it.
    #[prop(into)]
    said: Signal<String>,
    /// Makes it.
    #[prop(into)]
    scene: Callback<f64, Option<Scene>>,
) -> impl IntoView {
    let (plot, svg) = (NodeRef::<Div>::new(), NodeRef::<Svg>::new());
    let width = width_of(plot);
    let layout = Memo::new(move |_| {
        let width = width.get();
        (width > 0.0).then(|| scene.run(width)).flatten().map(Shared::new)
    });
    paint(wb, title, svg, layout, |scene| scene);
    let value_at =
        move |x: f64, y: f64| layout.with_untracked(|l| l.as_ref().and_then(|scene| hit(scene, x, y)));
    let moved = move |e: PointerEvent| {
        if let Some((x, y)) = point(&e, plot) {
            change(wb.hover, value_at(x, y));
        }
    };
    let clicked = move |e: MouseEvent| {
        let Some((x, y)) = point(&e, plot) else { return };
        let at = value_at(x, y);
        if at.is_some() {
            wb.select(at);
        }
    };
    view! {
        <div class=class>
            <div
                class="plot"
                node_ref=plot
                on:pointermove=moved
                on:pointerleave=move |_| change(wb.hover, None)
                on:click=clicked
            >
                <svg node_ref=svg role="img" aria-label=move || said.get()></svg>
            </div>
        </div>
    }
}
