//! One figure alone and large, for a screen that many look at: the steps of a lesson, or the figures of the page, with keys and
//! with what a clicker sends.

use super::chapter_of;
use super::classroom::{Classroom, Now, Open};
use crate::chapters::CHAPTERS;
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, HtmlElement};

/// How large, in percent.
const SIZES: [u32; 6] = [100, 115, 130, 150, 175, 200];
const FIRST_SIZE: usize = 2;

/// The keys, and what they do.
const KEYS: [(&str, &str); 7] = [
    ("→ ↓ Space PageDown", "the next step"),
    ("← ↑ PageUp", "the step before"),
    ("Home End", "the first step, the last step"),
    ("+ −", "larger, smaller"),
    ("F", "the whole screen, or no longer"),
    ("?", "these keys"),
    ("Esc", "back to the page"),
];

/// The title above a figure that is shown alone.
pub fn chapter_title(figure: &str) -> Option<String> {
    chapter_of(figure).map(|c| format!("Chapter {}: {}", c.number, c.title))
}

/// Where the presenter is, and how many places there are.
fn place(room: Classroom) -> Option<(usize, usize)> {
    let mode = room.book.mode("present")?;
    match room.now.get() {
        Now::Open(open) => Some((open.place.step, open.lesson.steps.len())),
        _ => {
            let at = figures().position(|f| f == mode)?;
            Some((at, figures().count()))
        }
    }
}

fn figures() -> impl Iterator<Item = &'static str> {
    CHAPTERS.iter().flat_map(|c| c.figures.iter().copied())
}

fn go(room: Classroom, to: usize) {
    match room.now.get_untracked() {
        Now::Open(open) => room.go(&Open { place: open.place.at(to), lesson: open.lesson }),
        _ => {
            if let Some(id) = figures().nth(to) {
                room.book.present(id);
            }
        }
    }
}

/// Back to the page, or to the lesson as it is on the page.
fn leave(room: Classroom) {
    if document().fullscreen_element().is_some() {
        document().exit_fullscreen();
    }
    match room.now.get_untracked() {
        Now::Open(open) => {
            let modes = vec![("lesson".to_owned(), open.place.encode())];
            room.book.set_modes(modes, &open.lesson.steps[open.place.step].figure);
        }
        _ => {
            let id = untrack(|| room.book.mode("present")).unwrap_or_default();
            room.book.set_modes(Vec::new(), &id);
            request_animation_frame(move || room.book.show(&id));
        }
    }
}

fn whole_screen() {
    if document().fullscreen_element().is_some() {
        document().exit_fullscreen();
    } else if let Some(root) = document().document_element() {
        _ = root.request_fullscreen();
    }
}

/// Is a text written, or one of several chosen, in what has the keyboard?
fn is_field(target: &Element) -> bool {
    match target.tag_name().as_str() {
        "TEXTAREA" | "SELECT" => true,
        "INPUT" => target.get_attribute("type").is_none_or(|t| !matches!(t.as_str(), "checkbox" | "radio")),
        _ => false,
    }
}

/// Does what has the keyboard want this key for itself?
fn is_wanted(e: &KeyboardEvent) -> bool {
    let Some(target) = e.target().and_then(|t| t.dyn_into::<Element>().ok()) else { return false };
    let tag = target.tag_name();
    if is_field(&target) || target.get_attribute("role").is_some_and(|r| r == "slider") {
        return true;
    }
    let presses = matches!(tag.as_str(), "BUTTON" | "A" | "SUMMARY" | "INPUT");
    // The arrow keys go from one answer to the next.
    let is_answer = target.get_attribute("type").is_some_and(|t| t == "radio");
    match e.key().as_str() {
        "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown" if is_answer => true,
        " " | "Enter" => presses,
        // Handles and marks of figures are moved with the arrow keys; the step's own title is no such thing.
        "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown" | "Home" | "End" => {
            !presses
                && target.has_attribute("tabindex")
                && target.get_attribute("tabindex").as_deref() != Some("-1")
        }
        _ => false,
    }
}

/// The bar at the lower edge, and the keys.
#[component]
pub fn Presenter(room: Classroom) -> impl IntoView {
    let here = Memo::new(move |_| place(room));
    let is_on = Memo::new(move |_| room.book.mode("present").is_some());
    let size = RwSignal::new(FIRST_SIZE);
    let help = RwSignal::new(false);
    let resize = move |by: i32| {
        size.update(|n| *n = n.saturating_add_signed(by as isize).min(SIZES.len() - 1));
    };
    Effect::new(move |_| {
        let root = document().document_element().and_then(|r| r.dyn_into::<HtmlElement>().ok());
        if let Some(root) = root {
            let zoom = f64::from(SIZES[size.get()]) / 100.0;
            _ = root.style().set_property("--zoom", &zoom.to_string());
        }
    });
    let keys = window_event_listener(leptos::ev::keydown, move |e| {
        if !is_on.get_untracked() || e.ctrl_key() || e.meta_key() || e.alt_key() || e.default_prevented() {
            return;
        }
        let key = e.key();
        if key != "Escape" && is_wanted(&e) {
            return;
        }
        let Some((at, count)) = here.get_untracked() else {
            if key == "Escape" {
                leave(room);
            }
            return;
        };
        match key.as_str() {
            "ArrowRight" | "ArrowDown" | " " if at + 1 < count => go(room, at + 1),
            "ArrowLeft" | "ArrowUp" if at > 0 => go(room, at - 1),
            "Home" => go(room, 0),
            "End" => go(room, count - 1),
            "+" | "=" => resize(1),
            "-" => resize(-1),
            "f" | "F" => whole_screen(),
            "?" => help.update(|h| *h = !*h),
            "Escape" if help.get_untracked() => help.set(false),
            "Escape" => leave(room),
            // At either end nothing moves, the page least of all.
            "ArrowRight" | "ArrowDown" | " " | "ArrowLeft" | "ArrowUp" => {}
            _ => return,
        }
        e.prevent_default();
    });
    on_cleanup(move || keys.remove());
    // What a clicker sends turns the page also when the end of a range, which would take it for a wide step, has been pulled
    // before: it is caught on its way down.
    let clicker = Closure::<dyn Fn(KeyboardEvent)>::new(move |e: KeyboardEvent| {
        let writes = e.target().and_then(|t| t.dyn_into::<Element>().ok()).is_some_and(|t| is_field(&t));
        if !is_on.get_untracked() || e.ctrl_key() || e.meta_key() || e.alt_key() || writes {
            return;
        }
        let to = |at: usize, count| match e.key().as_str() {
            "PageDown" => Some((at + 1).min(count - 1)),
            "PageUp" => Some(at.saturating_sub(1)),
            _ => None,
        };
        if let Some((at, to)) = here.get_untracked().and_then(|(at, count)| Some((at, to(at, count)?))) {
            if to != at {
                go(room, to);
            }
            e.prevent_default();
            e.stop_propagation();
        }
    });
    let heard = clicker.as_ref().unchecked_ref();
    _ = window().add_event_listener_with_callback_and_bool("keydown", heard, true);
    let clicker = StoredValue::new_local(clicker);
    on_cleanup(move || {
        _ = clicker.try_with_value(|clicker| {
            let heard = clicker.as_ref().unchecked_ref();
            window().remove_event_listener_with_callback_and_bool("keydown", heard, true)
        });
    });
    let told = move || here.get().map(|(at, count)| format!("{} of {}", at + 1, count));
    let is_first = move || here.get().is_none_or(|(at, _)| at == 0);
    let is_last = move || here.get().is_none_or(|(at, count)| at + 1 == count);
    let step = move |by: isize| {
        if let Some((at, _)) = here.get_untracked() {
            go(room, at.saturating_add_signed(by));
        }
    };
    view! {
        <Show when=move || is_on.get()>
            <nav class="presenter" aria-label="Presenter">
                <Show when=move || help.get()>
                    <dl class="presenter-keys">
                        {KEYS
                            .iter()
                            .map(|(key, does)| {
                                view! {
                                    <dt translate="no">{*key}</dt>
                                    <dd>{*does}</dd>
                                }
                            })
                            .collect_view()}
                    </dl>
                </Show>
                <button type="button" disabled=is_first on:click=move |_| step(-1)>
                    "Previous"
                </button>
                <p role="status">{told}</p>
                <button type="button" disabled=is_last on:click=move |_| step(1)>
                    "Next"
                </button>
                <button type="button" aria-label="Smaller" disabled=move || size.get() == 0 on:click=move |_| resize(-1)>
                    "A−"
                </button>
                <button
                    type="button"
                    aria-label="Larger"
                    disabled=move || size.get() + 1 == SIZES.len()
                    on:click=move |_| resize(1)
                >
                    "A+"
                </button>
                <button type="button" on:click=move |_| whole_screen()>
                    "Whole screen"
                </button>
                <button
                    type="button"
                    aria-expanded=move || help.get().to_string()
                    on:click=move |_| help.update(|h| *h = !*h)
                >
                    "Keys"
                </button>
                <button type="button" on:click=move |_| leave(room)>
                    "Leave"
                </button>
            </nav>
        </Show>
    }
}
