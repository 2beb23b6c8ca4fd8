//! What would change it: edits of the reader's own module, each run again, and what would help most.

use super::state::Lab;
use crate::talk::{Answer, Ask, Edit, Tried};
use assigner::words::{both, difference, grouped};
use leptos::prelude::*;
use std::sync::Arc;

const ALIGNMENTS: [u64; 8] = [1, 16, 64, 128, 256, 512, 1024, 4096];

/// What a trial came to.
#[component]
fn Outcome(tried: Arc<Tried>) -> impl IntoView {
    let row = |what: &'static str, (a, b): (u64, u64)| {
        view! {
            <tr>
                <th scope="row">{what}</th>
                <td class="number">{both(a)}</td>
                <td class="number">{both(b)}</td>
                <td class="number delta-cell" class:less=b < a class:more=a < b>
                    {difference(a, b)}
                </td>
            </tr>
        }
    };
    view! {
        <ul class="edits">{tried.edits.iter().map(|e| view! { <li>{e.clone()}</li> }).collect_view()}</ul>
        <div class="scroll" tabindex="0" role="region" aria-label="What it came to">
            <table id="tried">
                <thead>
                    <tr>
                        <th scope="col">"Bytes"</th>
                        <th scope="col">"As it is"</th>
                        <th scope="col">"Tried"</th>
                        <th scope="col">"Difference"</th>
                    </tr>
                </thead>
                <tbody>
                    {row("All allocations", tried.total)} {row("Temporaries", tried.temp)}
                    {row("Most in use at once", tried.peak)}
                </tbody>
            </table>
        </div>
        {tried.words.iter().skip(3).map(|w| view! { <p>{w.clone()}</p> }).collect_view()}
    }
}

/// The pane.
#[component]
pub fn TryPane(lab: Lab) -> impl IntoView {
    let donations = RwSignal::new(Vec::<(String, Edit)>::new());
    let advice = RwSignal::new(None::<(Vec<(String, u64, Edit)>, String)>);
    lab.link.ask(Ask::Donations, move |answer| {
        if let Answer::Choices(choices) = answer {
            donations.set(choices);
        }
    });
    let advise = move |_| {
        lab.link.progress.set(Some(crate::talk::Progress {
            stage: "Trying changes".to_owned(),
            ..crate::talk::Progress::default()
        }));
        lab.link.ask(Ask::Advise, move |answer| match answer {
            Answer::Advised { changes, tried } => {
                lab.announced.set(format!("{} changes would help", changes.len()));
                advice.set(Some((changes, tried)));
            }
            Answer::Failed(why) => lab.fail(why),
            _ => {}
        });
    };
    let start = RwSignal::new(0u32);
    let last = RwSignal::new(0u32);
    Effect::new(move |_| {
        if let Some(range) = lab.detail.with(|d| d.as_ref().and_then(|d| d.line.range)) {
            start.set(range.0);
            last.set(range.1);
        }
    });
    let number = move |id: &'static str, label: &'static str, value: RwSignal<u32>| {
        view! {
            <span class="field">
                <label for=id>{label}</label>
                <input
                    id=id
                    type="number"
                    min="0"
                    prop:value=move || value.get().to_string()
                    on:change=move |e| value.set(event_target_value(&e).parse().unwrap_or(0))
                />
            </span>
        }
    };
    let chosen_donation = RwSignal::new(0usize);
    view! {
        <div class="actions" role="group" aria-label="Changes">
            <button type="button" id="undo" disabled=move || !lab.can_undo() on:click=move |_| lab.step_trial(-1)>
                "Undo"
            </button>
            <button type="button" id="redo" disabled=move || !lab.can_redo() on:click=move |_| lab.step_trial(1)>
                "Redo"
            </button>
            <button
                type="button"
                disabled=move || lab.trial().edits.is_empty()
                on:click=move |_| lab.try_all(crate::talk::Trial::default())
            >
                "Reset"
            </button>
        </div>
        <div id="outcome" aria-live="polite">
            {move || match lab.tried.get() {
                Some(Ok(tried)) => view! { <Outcome tried /> }.into_any(),
                Some(Err(why)) => view! { <p class="problem" role="alert">{why}</p> }.into_any(),
                None => {
                    view! {
                        <p class="quiet">
                            "Nothing is changed. A change runs the assignment of this module again, by the same rules; the map and the lists then show that run."
                        </p>
                    }
                        .into_any()
                }
            }}
        </div>
        <h3>"The range of a value"</h3>
        {move || match lab.detail.get() {
            Some(detail) => {
                let name = detail.line.name.clone();
                let named = name.clone();
                view! {
                    <form
                        class="filters"
                        aria-label="Range"
                        on:submit=move |e| {
                            e.prevent_default();
                            lab.try_edit(Edit::Range {
                                name: named.clone(),
                                start: start.get_untracked(),
                                end: last.get_untracked(),
                            });
                        }
                    >
                        <span class="code">{name}</span>
                        {number("range-start", "from step", start)}
                        {number("range-end", "to step", last)}
                        <button type="submit">"Try it"</button>
                    </form>
                }
                    .into_any()
            }
            None => {
                view! {
                    <p class="quiet small">
                        "Select a value: its ends can be set here, or dragged on the map by the two handles."
                    </p>
                }
                    .into_any()
            }
        }}
        <h3>"Donation"</h3>
        {move || {
            let choices = donations.get();
            if choices.is_empty() {
                return view! { <p class="quiet small">"No argument is donated, and none fits an output that is free."</p> }
                    .into_any();
            }
            view! {
                <form
                    class="filters"
                    aria-label="Donation"
                    on:submit=move |e| {
                        e.prevent_default();
                        let at = chosen_donation.get_untracked();
                        if let Some((_, edit)) = donations.with_untracked(|d| d.get(at).cloned()) {
                            lab.try_edit(edit);
                        }
                    }
                >
                    <label class="hidden" for="donation">
                        "Which donation"
                    </label>
                    <select
                        id="donation"
                        on:change=move |e| chosen_donation.set(event_target_value(&e).parse().unwrap_or(0))
                    >
                        {choices
                            .into_iter()
                            .enumerate()
                            .map(|(i, (words, _))| view! { <option value=i.to_string()>{words}</option> })
                            .collect_view()}
                    </select>
                    <button type="submit">"Try it"</button>
                </form>
            }
                .into_any()
        }}
        <h3>"Alignment and packer"</h3>
        <div class="filters">
            <span class="field">
                <label for="alignment">"Alignment"</label>
                <select
                    id="alignment"
                    on:change=move |e| {
                        if let Ok(bytes) = event_target_value(&e).parse() {
                            lab.try_edit(Edit::Alignment { bytes });
                        }
                    }
                >
                    <option value="">"the target's own"</option>
                    {ALIGNMENTS
                        .iter()
                        .map(|a| view! { <option value=a.to_string()>{format!("{} B", grouped(*a))}</option> })
                        .collect_view()}
                </select>
            </span>
            <span class="field">
                <label for="algorithm">"Packer"</label>
                <select
                    id="algorithm"
                    on:change=move |e| {
                        let name = event_target_value(&e);
                        if !name.is_empty() {
                            lab.try_edit(Edit::Algorithm { name });
                        }
                    }
                >
                    <option value="">"the target's own"</option>
                    {packing::Algorithm::ALL
                        .iter()
                        .map(|a| view! { <option value=a.name()>{a.name()}</option> })
                        .collect_view()}
                </select>
            </span>
        </div>
        <h3>"What would help most"</h3>
        <p class="small quiet">
            "Single changes are tried, the most promising first, each with the program run again and checked: donations, orders of instructions, copies, outputs."
        </p>
        <button type="button" id="advise" on:click=advise>
            "Try changes"
        </button>
        {move || {
            advice
                .get()
                .map(|(changes, tried)| {
                    let none = changes.is_empty();
                    view! {
                        <p class="summary">{tried}</p>
                        {none.then(|| view! { <p>"No single change that was tried saves anything."</p> })}
                        <ol class="advice" id="advice">
                            {changes
                                .into_iter()
                                .map(|(words, saves, edit)| {
                                    view! {
                                        <li>
                                            <b>{both(saves)}</b>
                                            " "
                                            {words}
                                            " "
                                            <button type="button" on:click=move |_| lab.try_edit(edit.clone())>
                                                "Try it"
                                            </button>
                                        </li>
                                    }
                                })
                                .collect_view()}
                        </ol>
                    }
                })
        }}
    }
}
