//! The page around the exhibit: title, introduction, theme.

use crate::exhibit::Exhibit;
use crate::workbench::{Workbench, use_workbench};
use assigner::words::bytes;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;

/// Changes whenever the colours do, by the toggle or by the system.
#[derive(Clone, Copy)]
pub struct Palette(pub RwSignal<u32>);

/// The page.
#[component]
pub fn App() -> impl IntoView {
    let palette = Palette(RwSignal::new(0));
    provide_context(palette);
    provide_context(Workbench::start());
    follow_system(palette);
    view! {
        <header class="masthead">
            <p class="brand">"Bufferscope"</p>
            <h1>"How every value gets an address"</h1>
            <ThemeToggle />
        </header>
        <main>
            <Introduction />
            <Exhibit />
            <Limits />
        </main>
        <footer>
            <p>
                "Everything is computed in this page, by the rules that the tests compare with XLA's own output. "
                "Nothing you type or open leaves your machine."
            </p>
        </footer>
    }
}

#[component]
fn Introduction() -> impl IntoView {
    let wb = use_workbench();
    let facts = move || {
        wb.opened.with(|o| {
            let picture = &o.as_ref()?.original.picture;
            let (mut count, mut sum) = (0, 0);
            let mut seen = std::collections::HashSet::new();
            for item in picture.temps() {
                if seen.insert(item.buffer) {
                    count += 1;
                    sum += item.size;
                }
            }
            let heap = picture.heap_size();
            let verb = match count {
                0 => return None,
                _ if sum > heap => "; by sharing they fit into ",
                _ => "; with the room that alignment wants they take ",
            };
            Some((count, bytes(sum), verb, bytes(heap)))
        })
    };
    view! {
        <section class="intro">
            <p>
                "When XLA compiles a program it decides, before anything runs, at which address every intermediate "
                "value will stand. That is " <dfn>"buffer assignment"</dfn> ", and it decides how much memory the "
                "program needs."
            </p>
            <p>
                "Two values may stand at the same address if their " <dfn>"live ranges"</dfn>
                " do not overlap: if the last reader of one is done before the other is written. "
                {move || {
                    facts()
                        .map(|(count, sum, verb, heap)| {
                            view! {
                                "The program below has "
                                <b class="figure-number">{count}</b>
                                " temporary buffers of together "
                                <b class="figure-number">{sum}</b>
                                {verb}
                                <b class="figure-number">{heap}</b>
                                "."
                            }
                        })
                }}
            </p>
        </section>
    }
}

#[component]
fn Limits() -> impl IntoView {
    view! {
        <section class="limits">
            <h2>"What you see, and what you do not"</h2>
            <p>
                "The figures show the module as compiled: its schedule is the order of the instructions in the text, "
                "and called computations run just before their caller. A dragged range is an experiment: the rules of "
                "the packing are the real ones, but no compiler would give this program that range. HLO text does not "
                "hold XLA's internal orders; where they matter, places can differ from XLA's by a swap of equals."
            </p>
        </section>
    }
}

const THEMES: [(&str, &str); 3] = [("auto", "System"), ("light", "Light"), ("dark", "Dark")];

#[component]
fn ThemeToggle() -> impl IntoView {
    let palette = expect_context::<Palette>();
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
fn follow_system(palette: Palette) {
    for query in ["(prefers-color-scheme: dark)", "(forced-colors: active)", "print"] {
        let Ok(Some(list)) = window().match_media(query) else { continue };
        let changed = Closure::<dyn Fn()>::new(move || palette.0.update(|n| *n += 1));
        list.set_onchange(Some(changed.as_ref().unchecked_ref()));
        // As long as the page.
        changed.forget();
    }
}
