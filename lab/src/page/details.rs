//! Everything about the value that is selected.

use super::state::{Lab, Tab};
use crate::talk::Detail;
use leptos::prelude::*;
use std::sync::Arc;

/// Links to other values.
#[component]
fn Neighbours(lab: Lab, title: &'static str, values: Vec<(u32, String)>) -> impl IntoView {
    if values.is_empty() {
        return ().into_any();
    }
    view! {
        <h4>{title}</h4>
        <ul class="neighbours">
            {values
                .into_iter()
                .map(|(row, name)| {
                    view! {
                        <li>
                            <button type="button" class="link" on:click=move |_| lab.select(row)>
                                {name}
                            </button>
                        </li>
                    }
                })
                .collect_view()}
        </ul>
    }
    .into_any()
}

/// The pane beside the map.
#[component]
pub fn DetailPane(lab: Lab) -> impl IntoView {
    view! {
        <section class="detail" id="detail" aria-label="The value that is selected">
            {move || match lab.detail.get() {
                Some(detail) => view! { <Selected lab detail /> }.into_any(),
                None => {
                    view! {
                        <p class="quiet">
                            "Click a band of the map, or a name in a list: what the value is, who holds it and why it stands where it stands is told here."
                        </p>
                    }
                        .into_any()
                }
            }}
        </section>
    }
}

#[component]
fn Selected(lab: Lab, detail: Arc<Detail>) -> impl IntoView {
    let line = detail.line.clone();
    let name = line.name.clone();
    let about = [line.opcode.clone(), line.shape.clone()].join(" ");
    let as_a = name.clone();
    let as_b = name.clone();
    view! {
        <h3 class="code">{name}</h3>
        <p class="code small">{about}</p>
        {(!line.op.is_empty()).then(|| view! { <p class="small quiet">{line.op.clone()}</p> })}
        {(!line.line.is_empty() || !line.pass.is_empty())
            .then(|| view! { <p class="small quiet">{format!("{} {}", line.line, line.pass)}</p> })}
        <div class="actions">
            <button type="button" on:click=move |_| lab.selected.set(None)>
                "Deselect"
            </button>
            {detail
                .text_line
                .map(|l| {
                    view! {
                        <button type="button" on:click=move |_| lab.go_to_line(l)>
                            "Show in the text"
                        </button>
                    }
                })}
            <button
                type="button"
                on:click=move |_| {
                    lab.pair.update(|p| p.0.clone_from(&as_a));
                    lab.tab.set(Tab::Ask);
                }
            >
                "Ask as A"
            </button>
            <button
                type="button"
                on:click=move |_| {
                    lab.pair.update(|p| p.1.clone_from(&as_b));
                    lab.tab.set(Tab::Ask);
                }
            >
                "Ask as B"
            </button>
        </div>
        {detail
            .words
            .iter()
            .map(|w| {
                view! {
                    <h4>{w.title.clone()}</h4>
                    {w.lines.iter().map(|l| view! { <p class="small">{l.clone()}</p> }).collect_view()}
                }
            })
            .collect_view()}
        <Neighbours lab title="On the same bytes" values=detail.sharers.clone() />
        <Neighbours lab title="Made of" values=detail.operands.clone() />
        <Neighbours lab title="Read by" values=detail.readers.clone() />
    }
}
