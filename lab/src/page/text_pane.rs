//! The module's text: only the lines that are seen are there.

use super::state::Lab;
use crate::talk::{Answer, Ask};
use assigner::words::grouped;
use leptos::html::Div;
use leptos::prelude::*;

/// Pixels a line; the style sheet says the same.
const LINE: f64 = 18.0;
/// Lines above and below what is seen.
const BEYOND: u32 = 40;
/// A page may be no higher than what browsers can scroll; beyond it a part of the text is shown.
const MOST_LINES: u32 = 800_000;

/// The text, with search.
#[component]
pub fn TextPane(lab: Lab, lines: u32) -> impl IntoView {
    let scroller = NodeRef::<Div>::new();
    let first = RwSignal::new(0u32);
    let page = RwSignal::new((0u32, Vec::<String>::new()));
    let wanted = RwSignal::new(String::new());
    let said = RwSignal::new(String::new());
    let wrong = RwSignal::new(None::<String>);
    let current = lab.line;
    let count = lines.min(MOST_LINES);
    let fetch = move |from: u32| {
        let from = from.saturating_sub(BEYOND);
        lab.link.ask(Ask::Text { from, count: 60 + 2 * BEYOND }, move |answer| {
            if let Answer::Text { from, lines, .. } = answer {
                page.set((from, lines));
            }
        });
    };
    Effect::new(move |_| fetch(first.get()));
    let scrolled = move |_| {
        let Some(element) = scroller.get_untracked() else { return };
        let at = (f64::from(element.scroll_top()) / LINE) as u32;
        // New lines are asked for before the old ones end.
        let (from, there) = page.with_untracked(|p| (p.0, p.1.len() as u32));
        if at < from + 10 && from > 0 || at + 45 > from + there && from + there < count {
            first.set(at);
        }
    };
    // Goes where a view, or the search, points.
    Effect::new(move |_| {
        let (Some(line), Some(element)) = (current.get(), scroller.get()) else { return };
        let line = line.min(count.saturating_sub(1));
        first.set(line);
        let element = element.clone();
        request_animation_frame(move || {
            element.set_scroll_top(((f64::from(line) - 6.0).max(0.0) * LINE) as i32);
        });
    });
    let search = move |back: bool| {
        let pattern = wanted.get_untracked();
        lab.link.ask(
            Ask::Find { pattern, after: current.get_untracked(), back },
            move |answer| match answer {
                Answer::Found(Some(line)) => {
                    wrong.set(None);
                    said.set(format!("Line {}", grouped(u64::from(line) + 1)));
                    current.set(Some(line));
                }
                Answer::Found(None) => {
                    wrong.set(None);
                    said.set("Not found".to_owned());
                }
                Answer::Failed(why) => {
                    said.set(String::new());
                    wrong.set(Some(why));
                }
                _ => {}
            },
        );
    };
    view! {
        <form
            class="filters"
            aria-label="Search in the text"
            on:submit=move |e| {
                e.prevent_default();
                search(false);
            }
        >
            <span class="field search">
                <label for="find">"Find"</label>
                <span class="with-error">
                    <input
                        id="find"
                        type="search"
                        spellcheck="false"
                        placeholder="regular expression"
                        aria-describedby="find-wrong"
                        aria-invalid=move || wrong.with(Option::is_some).then_some("true")
                        on:input=move |e| wanted.set(event_target_value(&e))
                    />
                    <span class="error small" id="find-wrong" role="alert">
                        {move || wrong.get()}
                    </span>
                </span>
            </span>
            <button type="submit">"Next"</button>
            <button type="button" on:click=move |_| search(true)>
                "Before"
            </button>
            <span class="field">
                <label for="go-to">"Line"</label>
                <input
                    id="go-to"
                    type="number"
                    min="1"
                    max=lines.to_string()
                    on:keydown=move |e| {
                        // In a form the key would search as well.
                        if e.key() == "Enter" {
                            e.prevent_default();
                            if let Ok(line) = event_target_value(&e).parse::<u32>() {
                                current.set(Some(line.saturating_sub(1)));
                            }
                        }
                    }
                    on:change=move |e| {
                        if let Ok(line) = event_target_value(&e).parse::<u32>() {
                            current.set(Some(line.saturating_sub(1)));
                        }
                    }
                />
                <span class="small">{format!("of {}", grouped(u64::from(lines)))}</span>
            </span>
            <span role="status" class="small">{move || said.get()}</span>
        </form>
        <div
            class="text"
            id="text"
            node_ref=scroller
            tabindex="0"
            role="region"
            aria-label="HLO text"
            on:scroll=scrolled
        >
            <div class="text-all" style:height=format!("{}px", f64::from(count) * LINE)>
                <ol
                    class="text-lines"
                    style:transform=move || format!("translateY({}px)", f64::from(page.with(|p| p.0)) * LINE)
                >
                    {move || {
                        let (from, lines) = page.get();
                        lines
                            .into_iter()
                            .enumerate()
                            .map(|(i, text)| {
                                let number = from + i as u32;
                                view! {
                                    <li aria-current=move || (current.get() == Some(number)).then_some("true")>
                                        <span class="line-number" aria-hidden="true">
                                            {number + 1}
                                        </span>
                                        <code>{text}</code>
                                    </li>
                                }
                            })
                            .collect_view()
                    }}
                </ol>
            </div>
        </div>
    }
}
