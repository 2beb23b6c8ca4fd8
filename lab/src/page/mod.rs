//! The page: opening, the list of modules, and the module that is chosen with its linked views.

mod bench;
mod comparing;
mod details;
pub mod given;
mod heap_map;
mod opening;
mod panes;
mod state;
mod taking;
mod text_pane;
mod trying;
mod values;
mod verdict;

use browser::{ThemeToggle, follow_system};
use leptos::prelude::*;
use state::Lab;

/// The whole page.
#[component]
pub fn App() -> impl IntoView {
    let lab = Lab::new();
    let given = given::Given::take();
    let is_report = given.is_some();
    if let Some(given) = given {
        lab.open_given(given);
    }
    provide_context(lab);
    follow_system(lab.palette);
    view! {
        <a class="skip" href="#work">"Skip to the work"</a>
        <header class="masthead">
            <p class="brand">"Bufferscope"</p>
            <h1>{if is_report { "A report: why the memory peaks" } else { "The lab: why your memory peaks" }}</h1>
            {(!given::is_single()).then(|| view! { <a class="other-page" href="./">"Reading page"</a> })}
            <ThemeToggle palette=lab.palette />
        </header>
        <main id="work" tabindex="-1">
            <opening::Opening lab is_report />
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
