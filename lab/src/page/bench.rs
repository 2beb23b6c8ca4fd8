//! The module that is chosen: what it comes to, its map, and the panes.

use super::comparing::ComparePane;
use super::details::DetailPane;
use super::heap_map::HeapMap;
use super::opening::Notes;
use super::panes::{AskPane, DecisionPane, SlabPane};
use super::state::{Lab, Tab};
use super::taking::TakePane;
use super::text_pane::TextPane;
use super::trying::{Tried, TryPane};
use super::values::ValuesPane;
use super::verdict::Verdict;
use crate::talk::{Chosen, Source};
use assigner::words::{both, grouped};
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use std::sync::Arc;
use wasm_bindgen::JsCast as _;

/// Everything about the module.
#[component]
pub fn Bench(lab: Lab, chosen: Arc<Chosen>) -> impl IntoView {
    let line = chosen.line.clone();
    let chips: Vec<String> = [
        (!line.id.is_empty()).then(|| format!("module {}", line.id)),
        (!line.backend.is_empty()).then(|| line.backend.to_uppercase()),
        (!line.stage.is_empty()).then(|| line.stage.clone()),
        line.instructions.map(|n| format!("{} instructions", grouped(n))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let sources = chosen.sources.clone();
    let has_map = !sources.is_empty();
    let missing = chosen.missing.clone();
    let difference = chosen.difference.clone();
    let findings = chosen.findings.clone();
    let spaces = chosen.spaces.clone();
    view! {
        <section class="bench" id="bench" aria-labelledby="bench-title">
            <h2 id="bench-title" tabindex="-1">{line.name.clone()}</h2>
            <p class="chips">{chips.into_iter().map(|c| view! { <span class="chip">{c}</span> }).collect_view()}</p>
            {(!findings.is_empty())
                .then(|| {
                    view! {
                        <div class="findings" id="findings">
                            <h3>{format!("The files contradict each other ({})", findings.len())}</h3>
                            <ul>
                                {findings
                                    .into_iter()
                                    .take(100)
                                    .map(|f| view! { <li><b>{f.place}</b> " " {f.text}</li> })
                                    .collect_view()}
                            </ul>
                        </div>
                    }
                })}
            <Verdict lab chosen=chosen.clone() />
            <div class="folds">
                {(!chosen.headline.is_empty())
                    .then(|| {
                        view! {
                            <details class="headline" id="headline">
                                <summary>"In words"</summary>
                                {chosen.headline.iter().map(|s| view! { <p>{s.clone()}</p> }).collect_view()}
                            </details>
                        }
                    })}
            {(spaces.len() > 1)
                .then(|| {
                    view! {
                        <details class="spaces">
                            <summary>{format!("Memory spaces ({})", spaces.len())}</summary>
                            <div class="scroll" tabindex="0" role="region" aria-label="Memory spaces">
                                <table>
                                    <thead>
                                        <tr>
                                            <th scope="col">"Memory space"</th>
                                            <th scope="col">"Allocations"</th>
                                            <th scope="col">"Temporaries"</th>
                                            <th scope="col">"Most in use"</th>
                                            <th scope="col">"At step"</th>
                                            <th scope="col">"Values"</th>
                                        </tr>
                                    </thead>
                                    <tbody>
                                        {spaces
                                            .into_iter()
                                            .map(|s| {
                                                view! {
                                                    <tr>
                                                        <th scope="row">{s.name}</th>
                                                        <td class="number">{both(s.total)}</td>
                                                        <td class="number">{both(s.temp)}</td>
                                                        <td class="number">{both(s.peak.1)}</td>
                                                        <td class="number">{grouped(u64::from(s.peak.0))}</td>
                                                        <td class="number">{grouped(u64::from(s.values))}</td>
                                                    </tr>
                                                }
                                            })
                                            .collect_view()}
                                    </tbody>
                                </table>
                            </div>
                        </details>
                    }
                })}
            {difference
                .map(|d| {
                    view! {
                        <details class="difference" id="difference">
                            <summary>{format!("XLA's assignment and ours: {}", d.title.to_lowercase())}</summary>
                            <ul>{d.lines.into_iter().map(|l| view! { <li>{l}</li> }).collect_view()}</ul>
                        </details>
                    }
                })}
            <Notes title="What was said of this module's files" notes=chosen.notes.clone() open=!has_map />
            {(!missing.is_empty())
                .then(|| {
                    view! {
                        <details class="missing" id="missing" open=!has_map>
                            <summary>{format!("What is not there ({})", missing.len())}</summary>
                            <ul>
                                {missing
                                    .into_iter()
                                    .map(|[what, costs, how]| {
                                        view! {
                                            <li>
                                                <b>{what}</b>
                                                {format!(". Without it: {costs}. To get it: {how}.")}
                                            </li>
                                        }
                                    })
                                    .collect_view()}
                            </ul>
                        </details>
                    }
                })}
            </div>
            <SourceSwitch lab sources />
            {move || {
                let tried = lab.tried.get().and_then(Result::ok)?;
                // All allocations and the temporaries: one may fall while the other one grows.
                let temp = tried.words.get(1).filter(|_| tried.temp.0 != tried.temp.1).cloned();
                Some(view! {
                    <div class="tried-note" class:unsound=tried.is_unsound id="tried-note">
                        <Tried tried=tried.clone() />
                        <p>{tried.words.first().cloned()} {temp.map(|t| format!(" {t}"))}</p>
                        <p>
                            <b>{tried.sound.clone()}</b>
                        </p>
                    </div>
                })
            }}
            {has_map
                .then(|| {
                    view! {
                        <div class="linked">
                            <HeapMap lab />
                            <DetailPane lab />
                        </div>
                        <Panes lab chosen=chosen.clone() />
                    }
                })}
        </section>
    }
}

/// Whose assignment the map and the lists show.
#[component]
fn SourceSwitch(lab: Lab, sources: Vec<crate::talk::SourceLine>) -> impl IntoView {
    let first = sources.first().map(|s| s.source);
    let lines = Memo::new(move |_| {
        let tried = lab.tried.with(|t| match t {
            Some(Ok(tried)) => Some(tried.line.clone()),
            _ => None,
        });
        let packed = lab.packing.with(|p| p.as_ref().map(|p| p.line.clone()));
        sources.iter().cloned().chain(tried).chain(packed).collect::<Vec<_>>()
    });
    move || {
        let lines = lines.get();
        if lines.len() < 2 {
            let whose = match first {
                Some(Source::Dump) => "What is shown is XLA's own assignment, as its files have it.",
                Some(_) => "What is shown is our engine's assignment: XLA's own is not among the files.",
                None => "",
            };
            return view! { <p class="quiet small whose">{whose}</p> }.into_any();
        }
        view! {
            <div class="switch-source" id="whose" role="group" aria-label="Whose assignment">
                {lines
                    .into_iter()
                    .map(|s| {
                        let name = match s.source {
                            Source::Dump => "XLA's own, as its files have it",
                            Source::Ours => "Ours, computed of the same module",
                            Source::Tried => "With what is tried",
                            Source::Packed => "The smallest heap found",
                        };
                        view! {
                            <button
                                type="button"
                                aria-pressed=move || (lab.source.get() == s.source).to_string()
                                on:click=move |_| lab.look_at(s.source)
                            >
                                {name}
                                <span class="quiet small">{format!(" {}", both(s.total))}</span>
                            </button>
                        }
                    })
                    .collect_view()}
            </div>
        }
        .into_any()
    }
}

#[component]
fn Panes(lab: Lab, chosen: Arc<Chosen>) -> impl IntoView {
    let has_program = chosen.can_try;
    let has_text = chosen.lines > 0;
    let tabs: Vec<Tab> = Tab::ALL
        .into_iter()
        .filter(|t| match t {
            Tab::Decisions | Tab::Try => has_program,
            Tab::Text => has_text,
            _ => true,
        })
        .collect();
    let order = StoredValue::new(tabs.clone());
    let keys = move |e: KeyboardEvent| {
        let tabs = order.get_value();
        let at = tabs.iter().position(|t| *t == lab.tab.get_untracked()).unwrap_or(0);
        let to = match e.key().as_str() {
            "ArrowRight" => (at + 1) % tabs.len(),
            "ArrowLeft" => (at + tabs.len() - 1) % tabs.len(),
            "Home" => 0,
            "End" => tabs.len() - 1,
            _ => return,
        };
        e.prevent_default();
        lab.tab.set(tabs[to]);
        let id = format!("tab-{:?}", tabs[to]);
        if let Some(button) = document().get_element_by_id(&id) {
            _ = button.unchecked_into::<web_sys::HtmlElement>().focus();
        }
    };
    let lines = chosen.lines;
    view! {
        <div class="panes" id="panes">
            <div class="tabs" role="tablist" aria-label="Views" on:keydown=keys>
                {tabs
                    .into_iter()
                    .map(|t| {
                        let is = move || lab.tab.get() == t;
                        view! {
                            <button
                                type="button"
                                role="tab"
                                id=format!("tab-{t:?}")
                                aria-controls="pane"
                                aria-selected=move || is().to_string()
                                tabindex=move || if is() { "0" } else { "-1" }
                                on:click=move |_| lab.tab.set(t)
                            >
                                {t.name()}
                            </button>
                        }
                    })
                    .collect_view()}
            </div>
            <div
                class="view"
                id="pane"
                role="tabpanel"
                aria-labelledby=move || format!("tab-{:?}", lab.tab.get())
            >
                {move || match lab.tab.get() {
                    Tab::Values => view! { <ValuesPane lab /> }.into_any(),
                    Tab::Slabs => view! { <SlabPane lab /> }.into_any(),
                    Tab::Decisions => view! { <DecisionPane lab /> }.into_any(),
                    Tab::Text => view! { <TextPane lab lines /> }.into_any(),
                    Tab::Ask => view! { <AskPane lab /> }.into_any(),
                    Tab::Try => view! { <TryPane lab /> }.into_any(),
                    Tab::Compare => view! { <ComparePane lab /> }.into_any(),
                    Tab::Take => view! { <TakePane lab /> }.into_any(),
                }}
            </div>
        </div>
    }
}
