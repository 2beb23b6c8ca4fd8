//! The shell around every figure: a title, what can be done with it, the picture itself once it is near the screen, and
//! a live region that says what a change came to.

use crate::book::{is_alone_in, use_book};
use crate::share::Share;
use crate::state::State;
use crate::table::Table;
use crate::workbench::Workbench;
use leptos::context::Provider;
use leptos::html::Section;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry, IntersectionObserverInit};

/// How far from the screen a figure wakes.
const NEAR: &str = "800px 0px";

/// Calls `seen` each time `element` comes into or leaves the window, grown by `margin`.
pub fn watch(element: &Element, margin: &str, seen: impl Fn(bool) + 'static) {
    let seen = std::rc::Rc::new(seen);
    let tell = std::rc::Rc::clone(&seen);
    let called = Closure::<dyn Fn(js_sys::Array)>::new(move |entries: js_sys::Array| {
        if let Some(entry) =
            entries.iter().last().and_then(|e| e.dyn_into::<IntersectionObserverEntry>().ok())
        {
            tell(entry.is_intersecting());
        }
    });
    let options = IntersectionObserverInit::new();
    options.set_root_margin(margin);
    match IntersectionObserver::new_with_options(called.as_ref().unchecked_ref(), &options) {
        Ok(observer) => {
            observer.observe(element);
            // What is watched is there as long as the page.
            called.forget();
        }
        Err(_) => seen(true),
    }
}

/// A figure: `<Figure wb title="..." caption="..." reserve=[620, 900, 1100]> ... </Figure>`.
///
/// `children` are put up when the figure comes near the screen, and find its workbench with `use_workbench()`. Their
/// scenes go into the export by `paint` (or `Workbench::export`); their table is `table`, or the table of values.
#[component]
pub fn Figure(
    /// Its state; its id is the figure's.
    wb: Workbench,
    /// A few words.
    title: &'static str,
    /// One or two sentences: what is seen, and what can be done.
    caption: &'static str,
    /// The height of the picture in CSS pixels where the figure is wider than 900, than 560, and where it is not: kept
    /// free while it sleeps.
    reserve: [u16; 3],
    /// Wakes at once: for a figure on the first screen.
    #[prop(optional)]
    eager: bool,
    /// The figure's own table, in place of the table of values: headings and rows in a `<table>`.
    #[prop(optional, into)]
    table: Option<ViewFn>,
    /// The picture.
    children: ChildrenFn,
) -> impl IntoView {
    let node = NodeRef::<Section>::new();
    if eager {
        wb.wake();
    } else {
        Effect::new(move |_| {
            if let Some(element) = node.get() {
                watch(&element, NEAR, move |near| {
                    if near {
                        wb.wake();
                    }
                });
            }
        });
        // What is printed has to be there; nothing tells beforehand which page of it will be.
        let print =
            window_event_listener(leptos::ev::Custom::<leptos::ev::Event>::new("beforeprint"), move |_| {
                wb.wake();
            });
        on_cleanup(move || print.remove());
    }
    let book = use_book();
    let is_alone = is_alone_in(wb.id);
    if is_alone {
        // The page around the frame is told when there is something to be seen.
        Effect::new(move |told: Option<bool>| {
            let is_there = wb.is_there();
            if is_there && told != Some(true) {
                request_animation_frame(move || wb.tell());
            }
            is_there || told == Some(true)
        });
    }
    let (title_id, labelled) = (format!("{}-title", wb.id), format!("{}-title", wb.id));
    let children = StoredValue::new(children);
    let table = StoredValue::new(table);
    view! {
        <section
            class="figure"
            class:only=is_alone
            id=wb.id
            tabindex="-1"
            node_ref=node
            aria-labelledby=labelled
            style=("--wide", format!("{}px", reserve[0]))
            style=("--middle", format!("{}px", reserve[1]))
            style=("--narrow", format!("{}px", reserve[2]))
            on:pointerdown=move |_| wb.touch()
            on:focusin=move |_| wb.touch()
        >
            <div class="figure-head">
                <h3 id=title_id>{title}</h3>
                <div class="actions" role="group" aria-label="Changes">
                    <button type="button" disabled=move || !wb.can_undo() on:click=move |_| wb.undo()>
                        "Undo"
                    </button>
                    <button type="button" disabled=move || !wb.can_redo() on:click=move |_| wb.redo()>
                        "Redo"
                    </button>
                    <button type="button" disabled=move || !wb.is_changed() on:click=move |_| wb.reset()>
                        "Reset"
                    </button>
                    <Share wb title />
                    <button type="button" class="present" on:click=move |_| book.present(wb.id)>
                        "Present"
                    </button>
                    {move || {
                        book.collect
                            .get()
                            .map(|collect| {
                                let add = move |_| {
                                    let state = wb.state.with_untracked(State::encode);
                                    collect.run((wb.id.to_owned(), state));
                                };
                                view! {
                                    <button type="button" class="collect" on:click=add>
                                        "Add to lesson"
                                    </button>
                                }
                            })
                    }}
                </div>
            </div>
            <p class="caption">{caption}</p>
            <div class="stage" class:asleep=move || !wb.awake.get()>
                <Show when=move || wb.awake.get()>
                    <Provider value=wb>{children.with_value(|c| c())}</Provider>
                </Show>
            </div>
            <Provider value=wb>
                {match table.get_value() {
                    Some(own) => view! { <Table rows=own /> }.into_any(),
                    None => view! { <Table /> }.into_any(),
                }}
            </Provider>
            <p class="hidden" role="status" aria-live="polite">{move || wb.announced.get()}</p>
        </section>
    }
}
