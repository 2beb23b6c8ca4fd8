//! A slider for a number, with a button at each side.

use crate::workbench::use_workbench;
use leptos::ev::Event;
use leptos::prelude::*;

/// The slider. While it is drawn the figure follows; where it comes to rest is one entry of the history.
#[component]
pub fn Slider(
    /// What it sets.
    label: &'static str,
    /// The parameter of the figure.
    key: &'static str,
    /// The least and the most.
    range: (i64, i64),
    /// Where it stands before anything was set.
    #[prop(default = 100)]
    first: i64,
    /// How far a button goes: a percentage goes by five.
    #[prop(default = 5)]
    step: i64,
    /// What it comes to, in words.
    #[prop(into)]
    said: Signal<String>,
) -> impl IntoView {
    let wb = use_workbench();
    let value = move || wb.state.with(|s| s.number(key)).unwrap_or(first).clamp(range.0, range.1);
    let slid = move |e: Event| {
        if let Ok(to) = event_target_value(&e).parse::<i64>() {
            wb.preview_param(key, to);
        }
    };
    let press = move |by: i64| {
        wb.preview_param(key, (untrack(value) + by).clamp(range.0, range.1));
        wb.settle();
    };
    let id = format!("{}-{key}", wb.id);
    let (labels, says) = (id.clone(), id.clone());
    let at_least = move || value() <= range.0;
    let at_most = move || value() >= range.1;
    view! {
        <div class="percent">
            <label for=labels>{label}</label>
            <button
                type="button"
                aria-label=format!("{label}: less")
                disabled=at_least
                on:click=move |_| press(-step)
            >
                "−"
            </button>
            <input
                id=id
                type="range"
                min=range.0.to_string()
                max=range.1.to_string()
                step=step.to_string()
                prop:value=move || value().to_string()
                aria-valuetext=move || said.get()
                on:input=slid
                on:change=move |_| wb.settle()
            />
            <button
                type="button"
                aria-label=format!("{label}: more")
                disabled=at_most
                on:click=move |_| press(step)
            >
                "+"
            </button>
            <output for=says>{move || said.get()}</output>
        </div>
    }
}
