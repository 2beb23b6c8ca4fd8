//! The decision log: every decision in order, with what stood in memory when it was made.

use crate::log::{self, Kind};
use crate::scene;
use crate::views::drawn::Drawn;
use crate::views::plot::change;
use crate::views::scrubber::Scrubber;
use crate::workbench::{Shared, Workbench, use_workbench};
use leptos::ev::Event;
use leptos::prelude::*;

/// Lines that are shown before and after the present one.
const AROUND: usize = 5;

/// The log of the figure around. Its place is in the state's view as `at`, its filter as `only`.
#[component]
pub fn DecisionLog() -> impl IntoView {
    let wb = use_workbench();
    let entries = entries_of(wb);
    let only = Memo::new(move |_| wb.state.with(|s| s.word("only").and_then(Kind::of_word)));
    let last = Memo::new(move |_| entries.with(|e| e.as_ref().map_or(0, |e| e.len().saturating_sub(1))));
    let at = Memo::new(move |_| place(wb).min(last.get()));
    let set = Callback::new(move |to: u32| {
        wb.set_view("at", i64::from(to));
        let value = entries.with_untracked(|e| e.as_ref().and_then(|e| e.get(to as usize)?.value));
        if value.is_some() {
            wb.select(value);
        }
    });
    let step = Callback::new(move |(from, forward): (u32, bool)| {
        entries.with_untracked(|e| {
            e.as_ref().map_or(from, |e| log::next(e, only.get_untracked(), from as usize, forward) as u32)
        })
    });
    let said = move || {
        entries.with(|e| {
            let count = e.as_ref().map_or(0, |e| e.len());
            format!("{} of {count}", at.get() + 1)
        })
    };
    let now = move || {
        entries.with(|e| {
            let e = e.as_ref()?;
            e.get(at.get()).map(|e| format!("Decision {}: {}.", e.at + 1, trim(&e.words)))
        })
    };
    let choose = move |e: Event| match event_target_value(&e) {
        word if word.is_empty() => wb.clear_view("only"),
        word => wb.set_view("only", word.as_str()),
    };
    let lines = move || {
        entries.with(|e| {
            let Some(e) = e.as_ref() else { return Vec::new() };
            let (at, only) = (at.get(), only.get());
            let passes = |e: &&log::Entry| only.is_none_or(|k| e.kind == k) || e.at == at;
            let before: Vec<_> =
                e[..at.min(e.len())].iter().rev().filter(passes).take(AROUND).cloned().collect();
            let mut lines: Vec<_> = before.into_iter().rev().collect();
            let room = 2 * AROUND + 1 - lines.len();
            lines.extend(e.iter().skip(at).filter(passes).take(room).cloned());
            lines
        })
    };
    let allocations = Callback::new(move |width: f64| {
        let run = wb.run.get()?;
        let (at, e) = (at.get(), entries.get()?);
        let now = e.get(at).map_or((None, None), |e| (e.value, e.slab));
        Some(scene::allocations(&run.picture, &log::placed_by(&run, at), now, width))
    });
    let described = move || {
        wb.run.with(|r| {
            r.as_ref().map_or_else(String::new, |r| {
                format!(
                    "The {} allocations; {} values have a place after this decision.",
                    r.picture.slabs.len(),
                    log::placed_by(r, at.get()).len()
                )
            })
        })
    };
    view! {
        <div class="log-view">
            <div class="log-controls">
                <Scrubber
                    label="Decision"
                    value=Signal::derive(move || at.get() as u32)
                    last=Signal::derive(move || last.get() as u32)
                    said=Signal::derive(said)
                    step
                    set
                />
                <label class="field">
                    "Show"
                    <select on:change=choose>
                        <option value="" selected=move || only.get().is_none()>
                            "all decisions"
                        </option>
                        {Kind::ALL
                            .iter()
                            .map(|k| {
                                let k = *k;
                                view! {
                                    <option value=k.word() selected=move || only.get() == Some(k)>
                                        {k.name()}
                                    </option>
                                }
                            })
                            .collect_view()}
                    </select>
                </label>
            </div>
            <p class="now" role="status">{now}</p>
            <div class="log-and-memory">
                <ol class="log">
                    {move || {
                        lines()
                            .into_iter()
                            .map(|e| {
                                let (number, value) = (e.at, e.value);
                                view! {
                                    <li
                                        class=format!("kind-{}", e.kind.word())
                                        class:lit=move || value.is_some() && wb.hover.get() == value
                                        aria-current=move || (at.get() == number).then_some("step")
                                        on:pointerenter=move |_| change(wb.hover, value)
                                        on:pointerleave=move |_| change(wb.hover, None)
                                    >
                                        <button type="button" class="plain" on:click=move |_| set.run(number as u32)>
                                            <span class="n">{number + 1}</span>
                                            <span class="line">{e.words}</span>
                                        </button>
                                    </li>
                                }
                            })
                            .collect_view()
                    }}
                </ol>
                <Drawn
                    wb
                    title="Allocations after this decision"
                    class="memory"
                    said=Signal::derive(described)
                    scene=allocations
                />
            </div>
        </div>
    }
}

/// A question mark ends a sentence as well.
fn trim(words: &str) -> &str {
    words.trim_end_matches('?')
}

/// The log of a figure's run.
pub fn entries_of(wb: Workbench) -> Memo<Option<Shared<Vec<log::Entry>>>> {
    Memo::new(move |_| {
        let (opened, run) = (wb.opened.get()?, wb.run.get()?);
        Some(Shared::new(log::entries(&opened, &run)))
    })
}

fn place(wb: Workbench) -> usize {
    wb.state.with(|s| s.number("at")).and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
}

/// The whole log as a table.
#[component]
pub fn LogTable() -> impl IntoView {
    let wb = use_workbench();
    let entries = entries_of(wb);
    view! {
        <table>
            <thead>
                <tr>
                    <th scope="col" class="n">"No."</th>
                    <th scope="col" class="n">"Allocation"</th>
                    <th scope="col" class="n">"Refusal"</th>
                    <th scope="col">"Decision"</th>
                </tr>
            </thead>
            <tbody>
                {move || {
                    entries
                        .get()
                        .map(|entries| {
                            entries
                                .iter()
                                .map(|e| {
                                    view! {
                                        <tr>
                                            <th scope="row" class="n">{e.at + 1}</th>
                                            <td class="n">{e.slab}</td>
                                            <td class="n">{e.refusal}</td>
                                            <td>{e.words.clone()}</td>
                                        </tr>
                                    }
                                })
                                .collect_view()
                        })
                }}
            </tbody>
        </table>
    }
}
