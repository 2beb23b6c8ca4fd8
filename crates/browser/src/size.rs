//! How wide an element is.

use leptos::html::Div;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use web_sys::HtmlElement;

/// The width of an element in CSS pixels, now and when it changes.
pub fn width_of(node: NodeRef<Div>) -> RwSignal<f64> {
    let width = RwSignal::new(0.0);
    Effect::new(move |_| {
        let Some(element) = node.get() else { return };
        width.set(f64::from(element.client_width()));
        let watched: HtmlElement = element.clone().unchecked_into();
        let resized = Closure::<dyn Fn()>::new(move || {
            let now = f64::from(watched.client_width());
            if width.try_get_untracked().is_some_and(|was| (was - now).abs() > 0.5) {
                width.set(now);
            }
        });
        if let Ok(observer) = web_sys::ResizeObserver::new(resized.as_ref().unchecked_ref()) {
            observer.observe(&element);
        }
        // Nothing tells when the element is gone; what is drawn is there as long as the page.
        resized.forget();
    });
    width
}
