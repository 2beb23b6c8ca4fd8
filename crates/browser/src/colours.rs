//! Light, dark, or as the system has it.

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;

/// Changes whenever the colours do, by the toggle or by the system.
#[derive(Clone, Copy)]
pub struct Palette(pub RwSignal<u32>);

impl Palette {
    /// Before any change.
    #[must_use]
    pub fn new() -> Self {
        Self(RwSignal::new(0))
    }
}

impl Default for Palette {
    fn default() -> Self {
        Self::new()
    }
}

const THEMES: [(&str, &str); 3] = [("auto", "System"), ("light", "Light"), ("dark", "Dark")];

/// Three buttons; what was chosen is kept for the next visit, and for the other page. Until something is chosen, what the page
/// itself says holds: whoever puts it into a frame may have written it there.
#[component]
pub fn ThemeToggle(
    /// Is told of a change.
    palette: Palette,
) -> impl IntoView {
    let storage = || window().local_storage().ok().flatten();
    let kept = storage().and_then(|s| s.get_item("theme").ok().flatten());
    let of_page = || document().document_element().and_then(|root| root.get_attribute("data-theme"));
    let start = kept.or_else(of_page);
    let start = THEMES.iter().position(|(id, _)| Some(*id) == start.as_deref()).unwrap_or(0);
    let theme = RwSignal::new(start);
    Effect::new(move |_| {
        let (id, _) = THEMES[theme.get()];
        if let Some(root) = document().document_element() {
            _ = root.set_attribute("data-theme", id);
        }
        if let Some(storage) = storage() {
            _ = if id == "auto" { storage.remove_item("theme") } else { storage.set_item("theme", id) };
        }
        palette.0.update(|n| *n += 1);
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
pub fn follow_system(palette: Palette) {
    for query in ["(prefers-color-scheme: dark)", "(forced-colors: active)", "print"] {
        let Ok(Some(list)) = window().match_media(query) else { continue };
        let changed = Closure::<dyn Fn()>::new(move || palette.0.update(|n| *n += 1));
        list.set_onchange(Some(changed.as_ref().unchecked_ref()));
        // As long as the page.
        changed.forget();
    }
}
