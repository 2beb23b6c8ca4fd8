//! Steps through anything: first, back, play, forward, last, and a slider over all of it.

use crate::figure::watch;
use leptos::ev::Event;
use leptos::html::Div;
use leptos::leptos_dom::helpers::{IntervalHandle, set_interval_with_handle};
use leptos::prelude::*;
use std::time::Duration;

/// Between two steps of play.
const PAUSE: Duration = Duration::from_millis(1100);

/// Does the reader want nothing to move by itself?
fn is_still() -> bool {
    window().match_media("(prefers-reduced-motion: reduce)").ok().flatten().is_some_and(|m| m.matches())
}

/// The controls. `step` gives the number before or after one; it may leave some out.
#[component]
pub fn Scrubber(
    /// What is stepped through: "Placement", "Decision".
    label: &'static str,
    /// Where it is.
    #[prop(into)]
    value: Signal<u32>,
    /// The last one; the first is 0.
    #[prop(into)]
    last: Signal<u32>,
    /// Where it is, in words.
    #[prop(into)]
    said: Signal<String>,
    /// The next one: from where, and forward or back.
    #[prop(into)]
    step: Callback<(u32, bool), u32>,
    /// Goes there.
    #[prop(into)]
    set: Callback<u32>,
) -> impl IntoView {
    let node = NodeRef::<Div>::new();
    let playing = StoredValue::new_local(None::<IntervalHandle>);
    let is_playing = RwSignal::new(false);
    let stop = move || {
        if let Some(handle) = playing.try_update_value(Option::take).flatten() {
            handle.clear();
            is_playing.set(false);
        }
    };
    let go = move |to: u32| {
        if to != value.get_untracked() {
            set.run(to);
        }
    };
    let press = move |to: u32| {
        stop();
        go(to);
    };
    let advance = move || {
        let from = value.get_untracked();
        let to = step.run((from, true));
        if to == from { stop() } else { go(to) }
    };
    let play = move |_| {
        if is_playing.get_untracked() {
            return stop();
        }
        let from = value.get_untracked();
        if step.run((from, true)) == from {
            go(0);
        }
        if let Ok(handle) = set_interval_with_handle(advance, PAUSE) {
            playing.set_value(Some(handle));
            is_playing.set(true);
        }
    };
    // Nothing plays that nobody sees.
    Effect::new(move |_| {
        if let Some(element) = node.get() {
            watch(&element, "0px", move |is_seen| {
                if !is_seen {
                    stop();
                }
            });
        }
    });
    on_cleanup(stop);
    let slid = move |e: Event| {
        if let Ok(to) = event_target_value(&e).parse() {
            press(to);
        }
    };
    let at_start = move || value.get() == 0;
    let at_end = move || value.get() >= last.get();
    let still = is_still();
    view! {
        <div class="scrubber" role="group" aria-label=label node_ref=node>
            <button type="button" aria-label=format!("{label}: first") disabled=at_start on:click=move |_| press(0)>
                "|◀"
            </button>
            <button
                type="button"
                aria-label=format!("{label}: back")
                disabled=at_start
                on:click=move |_| press(step.run((value.get_untracked(), false)))
            >
                "◀"
            </button>
            {(!still)
                .then(|| {
                    view! {
                        <button type="button" class="play" on:click=play>
                            {move || if is_playing.get() { "Pause" } else { "Play" }}
                        </button>
                    }
                })}
            <button
                type="button"
                aria-label=format!("{label}: forward")
                disabled=at_end
                on:click=move |_| press(step.run((value.get_untracked(), true)))
            >
                "▶"
            </button>
            <button
                type="button"
                aria-label=format!("{label}: last")
                disabled=at_end
                on:click=move |_| press(last.get_untracked())
            >
                "▶|"
            </button>
            <input
                type="range"
                min="0"
                max=move || last.get().to_string()
                prop:value=move || value.get().to_string()
                aria-label=label
                aria-valuetext=move || said.get()
                on:input=slid
            />
            <span class="where" aria-hidden="true">{move || said.get()}</span>
        </div>
    }
}
