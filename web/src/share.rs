//! What a reader takes away of a figure: a link to its state, lines that put it into another page, pictures, and the state
//! as a file, which can be opened again.

use crate::scene::svg;
use crate::state::State;
use crate::workbench::Workbench;
use leptos::ev::{Event, KeyboardEvent};
use leptos::html::{Details, Input};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;
use web_sys::HtmlElement;

/// A longer link is refused by some of the places where links are pasted.
const LONGEST_LINK: usize = 8000;

/// What can be copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copied {
    Link,
    Element,
    Frame,
    Markdown,
}

impl Copied {
    /// The text; nothing where it would be a link that is too long.
    fn text(self, wb: Workbench, title: &str, is_alone: bool) -> Option<String> {
        let href = window().location().href().unwrap_or_default();
        let page = href.split('#').next().unwrap_or_default();
        let folder = page.split('?').next().and_then(|p| p.rsplit_once('/')).map_or("", |(folder, _)| folder);
        let (id, state) = (wb.id, wb.to_link());
        let link = || {
            // In a frame the address asks for one exhibit; a link leads to all of the page.
            let page = if is_alone { format!("{folder}/") } else { page.to_owned() };
            let link = match &state {
                Some(state) => format!("{page}#v2/{id}/{id}={state}"),
                None => format!("{page}#{id}"),
            };
            (link.len() <= LONGEST_LINK).then_some(link)
        };
        Some(match self {
            Self::Link => link()?,
            Self::Markdown => format!("[{title}]({})", link()?),
            Self::Element => {
                let state = state.map_or_else(String::new, |state| format!(" state=\"{state}\""));
                format!(
                    "<script type=\"module\" src=\"{folder}/embed/buffer-scope.js\"></script>\n\
                     <buffer-scope exhibit=\"{id}\"{state}></buffer-scope>"
                )
            }
            Self::Frame => {
                let state = state.map_or_else(String::new, |state| format!("#{state}"));
                let height =
                    document().get_element_by_id(id).map_or(0.0, |e| e.get_bounding_client_rect().height());
                format!(
                    "<iframe class=\"bufferscope\" src=\"{folder}/embed/embed.html?exhibit={id}{state}\" title=\"{}\" \
                     width=\"100%\" height=\"{}\" loading=\"lazy\"></iframe>\n\
                     <script type=\"module\" src=\"{folder}/embed/host.js\"></script>",
                    svg::escaped(title),
                    height.ceil() as u32
                )
            }
        })
    }
}

/// The buttons.
#[component]
pub fn Share(
    /// The figure's state.
    wb: Workbench,
    /// What it is called.
    title: &'static str,
) -> impl IntoView {
    let is_alone = crate::book::is_alone();
    let open = RwSignal::new(false);
    let copied = RwSignal::new(None::<Copied>);
    let said = RwSignal::new("");
    let by_hand = RwSignal::new(String::new());
    // What was copied is no longer what is shown.
    Effect::new(move |_| {
        wb.state.track();
        copied.set(None);
        by_hand.set(String::new());
        said.set("");
    });
    let copy = move |what: Copied| {
        let text = untrack(|| what.text(wb, title, is_alone));
        let Some(text) = text else {
            by_hand.set(String::new());
            said.set("Too long for a link: save the state as a file.");
            open.set(true);
            return;
        };
        spawn_local(async move {
            if browser::copy(&text).await {
                copied.set(Some(what));
                by_hand.set(String::new());
                said.set("");
            } else {
                by_hand.set(text);
                said.set("This page may not copy by itself; the text stands below.");
                open.set(true);
            }
        });
    };
    let button = move |what: Copied, label: &'static str| {
        let says = move || if copied.get() == Some(what) { "Copied" } else { label };
        view! {
            <button type="button" on:click=move |_| copy(what)>
                {says}
            </button>
        }
    };
    let picture = move || {
        let scenes = wb.scenes();
        let pictures: Vec<_> = scenes.iter().map(|(heading, scene)| (*heading, scene)).collect();
        svg::file(title, &pictures)
    };
    let name = move |ending: &str| format!("bufferscope-{}.{ending}", wb.id);
    let save_svg = move |_| browser::download(&name("svg"), &picture(), "image/svg+xml");
    let save_png = move |_| {
        let picture = picture();
        spawn_local(async move {
            match browser::png(&picture).await {
                Some(png) => browser::download_blob(&name("png"), &png),
                None => said.set("This browser cannot make a PNG of the picture; the SVG can be saved."),
            }
        });
    };
    let save_state =
        move |_| browser::download(&name("txt"), &wb.state.with_untracked(State::encode), "text/plain");
    let file = NodeRef::<Input>::new();
    let opened = move |_: Event| {
        let Some(input) = file.get() else { return };
        let Some(chosen) = input.files().and_then(|files| files.get(0)) else { return };
        spawn_local(async move {
            let text = JsFuture::from(chosen.text()).await.ok().and_then(|text| text.as_string());
            // The same file may be chosen again.
            input.set_value("");
            match text.and_then(|text| State::decode(text.trim())).filter(crate::book::known) {
                Some(state) => wb.set(state),
                None => said.set("That file holds no state of a figure."),
            }
        });
    };
    let menu = NodeRef::<Details>::new();
    let toggled = move |_: Event| {
        if let Some(menu) = menu.get() {
            open.set(menu.open());
        }
    };
    let escape = move |e: KeyboardEvent| {
        if e.key() != "Escape" || !open.get_untracked() {
            return;
        }
        e.stop_propagation();
        open.set(false);
        let summary = menu.get().and_then(|menu| menu.query_selector("summary").ok().flatten());
        if let Some(summary) = summary.and_then(|s| wasm_bindgen::JsCast::dyn_into::<HtmlElement>(s).ok()) {
            _ = summary.focus();
        }
    };
    view! {
        {button(Copied::Link, "Copy link")}
        <details class="share" node_ref=menu prop:open=move || open.get() on:toggle=toggled on:keydown=escape>
            <summary>"Embed or save"</summary>
            <div class="menu">
                {button(Copied::Element, "Copy element")} {button(Copied::Frame, "Copy frame")}
                {button(Copied::Markdown, "Copy Markdown")} <button type="button" on:click=save_svg>
                    "Save SVG"
                </button> <button type="button" on:click=save_png>
                    "Save PNG"
                </button> <button type="button" on:click=save_state>
                    "Save state"
                </button>
                <button
                    type="button"
                    on:click=move |_| {
                        if let Some(input) = file.get() {
                            input.click();
                        }
                    }
                >
                    "Open state"
                </button>
                <input
                    type="file"
                    class="state-file"
                    hidden
                    accept=".txt,text/plain"
                    aria-label="File with a state"
                    node_ref=file
                    on:change=opened
                />
                <p role="status">{move || said.get()}</p>
                <Show when=move || !by_hand.with(String::is_empty)>
                    <textarea
                        readonly
                        rows="4"
                        aria-label="What is to be copied"
                        prop:value=move || by_hand.get()
                    ></textarea>
                </Show>
            </div>
        </details>
    }
}
