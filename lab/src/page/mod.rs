//! The page: opening, the list of modules, and the module that is chosen with its linked views.

mod bench;
mod details;
mod heap_map;
mod opening;
mod panes;
mod state;
mod taking;
mod text_pane;
mod trying;
mod values;

use leptos::prelude::*;
use state::Lab;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;

/// The whole page.
#[component]
pub fn App() -> impl IntoView {
    let lab = Lab::new();
    provide_context(lab);
    follow_system(lab);
    view! {
        <a class="skip" href="#work">"Skip to the work"</a>
        <header class="masthead">
            <p class="brand">"Bufferscope"</p>
            <h1>"The lab: why your memory peaks"</h1>
            <a class="other-page" href="./">"Reading page"</a>
            <ThemeToggle lab />
        </header>
        <main id="work" tabindex="-1">
            <opening::Opening lab />
            {move || lab.chosen.get().map(|chosen| view! { <bench::Bench lab chosen /> })}
        </main>
        <p class="hidden" role="status" aria-live="polite">{move || lab.announced.get()}</p>
        <footer>
            <p>
                "Everything is read and computed in this page; nothing you open leaves your machine. Where XLA's own files are there, what they say is shown as they say it; what our engine works out stands beside it and is named so."
            </p>
        </footer>
    }
}

const THEMES: [(&str, &str); 3] = [("auto", "System"), ("light", "Light"), ("dark", "Dark")];

#[component]
fn ThemeToggle(lab: Lab) -> impl IntoView {
    let storage = || window().local_storage().ok().flatten();
    let kept = storage().and_then(|s| s.get_item("theme").ok().flatten());
    let start = THEMES.iter().position(|(id, _)| Some(*id) == kept.as_deref()).unwrap_or(0);
    let theme = RwSignal::new(start);
    Effect::new(move |_| {
        let (id, _) = THEMES[theme.get()];
        if let Some(root) = document().document_element() {
            _ = root.set_attribute("data-theme", id);
        }
        if let Some(storage) = storage() {
            _ = if id == "auto" { storage.remove_item("theme") } else { storage.set_item("theme", id) };
        }
        lab.palette.update(|n| *n += 1);
    });
    view! {
        <div class="theme" role="group" aria-label="Colours">
            {THEMES
                .iter()
                .enumerate()
                .map(|(i, (_, name))| {
                    view! {
                        <button
                            type="button"
                            aria-pressed=move || (theme.get() == i).to_string()
                            on:click=move |_| theme.set(i)
                        >
                            {*name}
                        </button>
                    }
                })
                .collect_view()}
        </div>
    }
}

/// The system's own change between light and dark also changes what is drawn on canvas.
fn follow_system(lab: Lab) {
    for query in ["(prefers-color-scheme: dark)", "(forced-colors: active)", "print"] {
        let Ok(Some(list)) = window().match_media(query) else { continue };
        let changed = Closure::<dyn Fn()>::new(move || lab.palette.update(|n| *n += 1));
        list.set_onchange(Some(changed.as_ref().unchecked_ref()));
        // As long as the page.
        changed.forget();
    }
}
