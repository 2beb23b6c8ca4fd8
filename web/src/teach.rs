//! What teaches: predictions, puzzles, terms that light marks, numbers that can be scrubbed, and the rule behind a claim.
//!
//! Whatever is right or wrong here is asked of the engine. Answers are kept in the figure's state.

use crate::book::use_book;
use crate::gates::pieces;
use crate::state::Selection;
use crate::views::plot::change;
use crate::workbench::Workbench;
use leptos::ev::{Event, KeyboardEvent, PointerEvent};
use leptos::prelude::*;
use std::collections::BTreeMap;

/// The version that rules were checked against unless something else is said.
pub const VERIFIED: &str = "jaxlib 0.10.2";

/// Prose with code between backticks.
pub fn coded(text: &str) -> AnyView {
    let piece = |(is_code, piece): (bool, &str)| {
        let piece = piece.to_owned();
        if is_code { view! { <span class="code">{piece}</span> }.into_any() } else { piece.into_any() }
    };
    pieces(text).map(piece).collect_view().into_any()
}

/// A link to the rule behind a claim: `<Rule section="8.5.1" />`.
#[component]
pub fn Rule(
    /// The section of our rules.
    section: &'static str,
    /// The XLA version it was verified on.
    #[prop(default = VERIFIED)]
    verified: &'static str,
    /// What it was read in, if nothing that we can run shows it.
    #[prop(optional)]
    read_in: Option<&'static str>,
) -> impl IntoView {
    let version = read_in.map_or_else(|| format!("verified on {verified}"), |from| format!("read in {from}"));
    view! {
        <span class="rule">
            <a href=format!("rules.html#{section}")>{format!("rule {section}")}</a>
            <span class="version">{version}</span>
        </span>
    }
}

/// A word in prose that lights the marks of a value and is lit by them; a press selects the value.
#[component]
pub fn Term(
    /// The figure whose marks it lights.
    wb: Workbench,
    /// The value's name.
    #[prop(into)]
    value: Signal<String>,
    /// Its number, where the figure shows another program than its workbench's module; `None` while it does not show the
    /// value's.
    #[prop(optional, into)]
    number: Option<Signal<Option<u32>>>,
    /// What a press does, if the value is not just to be selected.
    #[prop(optional, into)]
    choose: Option<Callback<()>>,
    /// What stands in the prose; the name itself if nothing does.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    let id = Memo::new(move |_| number.map_or_else(|| wb.find(&value.get()), |n| n.get()));
    let lit = move || wb.hover.get().is_some_and(|h| Some(h) == id.get());
    let pressed = move || match number {
        Some(_) => id.get().is_some_and(|id| wb.state.with(|s| s.selection == Selection::Value(id))),
        None => id.get().is_some() && wb.selected.get() == id.get(),
    };
    let light = move |on: bool| {
        let to = id.get_untracked().filter(|_| on);
        if on || wb.hover.get_untracked() == id.get_untracked() {
            change(wb.hover, to);
        }
    };
    view! {
        <button
            type="button"
            class="term"
            class:lit=lit
            aria-pressed=move || pressed().to_string()
            on:pointerenter=move |_| light(true)
            on:pointerleave=move |_| light(false)
            on:focus=move |_| light(true)
            on:blur=move |_| light(false)
            on:click=move |_| {
                match (choose, id.get_untracked()) {
                    (Some(choose), _) => {
                        choose.run(());
                        // What the phrase speaks of is a setting of the figure, which may be far away.
                        wb.show();
                    }
                    (None, Some(id)) => wb.select(Some(id)),
                    (None, None) => {}
                }
            }
        >
            {match children {
                Some(children) => children(),
                None => (move || value.get()).into_any(),
            }}
        </button>
    }
}

/// A number in prose that can be dragged sideways, moved with the arrow keys, or stepped with its two buttons.
#[component]
pub fn Scrub(
    /// What the number is, for those who hear it.
    label: &'static str,
    /// The number.
    #[prop(into)]
    value: Signal<i64>,
    /// The least there can be.
    #[prop(into)]
    min: Signal<i64>,
    /// The most there can be.
    #[prop(into)]
    max: Signal<i64>,
    /// How far one step goes.
    #[prop(default = 1)]
    step: i64,
    /// Called with each number on the way.
    #[prop(into)]
    set: Callback<i64>,
    /// Called when the number has come to rest.
    #[prop(optional, into)]
    settle: Option<Callback<()>>,
    /// The number as it is written, with its unit; plain if nothing is given.
    #[prop(optional, into)]
    text: Option<Signal<String>>,
) -> impl IntoView {
    let said = move || text.map_or_else(|| value.get().to_string(), |t| t.get());
    let go = move |to: i64| set.run(to.clamp(min.get_untracked(), max.get_untracked()));
    let rest = move || {
        if let Some(settle) = settle {
            settle.run(());
        }
    };
    let press = move |by: i64| {
        go(value.get_untracked() + by * step);
        rest();
    };
    let at_least = move || value.get() <= min.get();
    let at_most = move || value.get() >= max.get();
    // Where the pointer took hold, and the number then.
    let held = RwSignal::new(None::<(f64, i64)>);
    let down = move |e: PointerEvent| {
        if e.button() == 0 {
            held.set(Some((f64::from(e.client_x()), value.get_untracked())));
            _ = event_target::<web_sys::Element>(&e).set_pointer_capture(e.pointer_id());
        }
    };
    let moved = move |e: PointerEvent| {
        if let Some((from, number)) = held.get_untracked() {
            go(number + ((f64::from(e.client_x()) - from) / 8.0).round() as i64 * step);
        }
    };
    let up = move |_: PointerEvent| {
        if held.get_untracked().is_some() {
            held.set(None);
            rest();
        }
    };
    let key = move |e: KeyboardEvent| {
        let now = value.get_untracked();
        let to = match e.key().as_str() {
            "ArrowLeft" | "ArrowDown" => now - step,
            "ArrowRight" | "ArrowUp" => now + step,
            "PageDown" => now - 10 * step,
            "PageUp" => now + 10 * step,
            "Home" => min.get_untracked(),
            "End" => max.get_untracked(),
            _ => return,
        };
        e.prevent_default();
        go(to);
    };
    view! {
        <span class="scrub" class:dragging=move || held.get().is_some()>
            <button
                type="button"
                aria-label=format!("{label}: less")
                disabled=at_least
                on:click=move |_| press(-1)
            >
                "−"
            </button>
            <span
                role="slider"
                tabindex="0"
                aria-label=label
                aria-valuemin=move || min.get().to_string()
                aria-valuemax=move || max.get().to_string()
                aria-valuenow=move || value.get().to_string()
                aria-valuetext=said
                on:pointerdown=down
                on:pointermove=moved
                on:pointerup=up
                on:pointercancel=up
                on:keydown=key
                on:keyup=move |_| rest()
            >
                {said}
            </span>
            <button
                type="button"
                aria-label=format!("{label}: more")
                disabled=at_most
                on:click=move |_| press(1)
            >
                "+"
            </button>
        </span>
    }
}

/// A question to be answered before the engine does: choose, then see. `answer` and `explain` ask the engine; the choice
/// is kept in the figure's state, so that a link shows it too.
#[component]
pub fn Predict(
    /// The figure that keeps the answer.
    wb: Workbench,
    /// Its name in the state: letters and digits.
    id: &'static str,
    /// The question.
    #[prop(into)]
    question: Signal<String>,
    /// What there is to choose from.
    #[prop(into)]
    options: Signal<Vec<String>>,
    /// The right one, as the engine has it; `None` while there is no module.
    #[prop(into)]
    answer: Signal<Option<usize>>,
    /// Why, in the engine's words and numbers; given what was chosen.
    #[prop(into)]
    explain: Callback<usize, String>,
) -> impl IntoView {
    let given = Memo::new(move |_| wb.state.with(|s| s.number(id)).and_then(|n| usize::try_from(n).ok()));
    // What is marked but not yet given.
    let marked = RwSignal::new(None::<usize>);
    let mark = move |e: Event| marked.set(event_target_value(&e).parse().ok());
    let give = move |_| {
        if let Some(n) = marked.get_untracked() {
            wb.set_view(id, n as i64);
        }
    };
    let again = move |_| {
        marked.set(None);
        wb.clear_view(id);
    };
    let verdict = move || {
        let (given, right) = (given.get()?, answer.get()?);
        Some((given == right, given, right))
    };
    let results = use_book().results;
    Effect::new(move |_| tell(results, id, verdict().map(|(is_right, ..)| is_right)));
    let name = format!("{}-{id}", wb.id);
    view! {
        <fieldset class="predict" data-predict=id>
            <legend><b>"Predict: "</b> {move || question.get()}</legend>
            <div class="choices">
                {move || {
                    let name = name.clone();
                    options
                        .get()
                        .into_iter()
                        .enumerate()
                        .map(move |(n, option)| {
                            let is_right = move || answer.get() == Some(n);
                            let shown = move || given.get().is_some();
                            view! {
                                <label
                                    class:right=move || shown() && is_right()
                                    class:wrong=move || given.get() == Some(n) && !is_right()
                                >
                                    <input
                                        type="radio"
                                        name=name.clone()
                                        value=n.to_string()
                                        prop:checked=move || given.get().or(marked.get()) == Some(n)
                                        disabled=shown
                                        on:change=mark
                                    />
                                    <span>{option}</span>
                                    <span class="sign">
                                        {move || {
                                            if shown() && is_right() {
                                                "the engine's answer"
                                            } else if given.get() == Some(n) {
                                                "your answer"
                                            } else {
                                                ""
                                            }
                                        }}
                                    </span>
                                </label>
                            }
                        })
                        .collect_view()
                }}
            </div>
            <Show
                when=move || given.get().is_some()
                fallback=move || {
                    view! {
                        <button type="button" disabled=move || marked.get().is_none() on:click=give>
                            "See what the engine says"
                        </button>
                    }
                }
            >
                <button type="button" on:click=again>
                    "Answer again"
                </button>
            </Show>
            <p class="verdict" role="status">
                {move || {
                    verdict()
                        .map(|(is_right, given, _)| {
                            view! {
                                <b>{if is_right { "Right. " } else { "Not so. " }}</b>
                                {explain.run(given)}
                            }
                        })
                }}
            </p>
        </fieldset>
    }
}

/// Tells what became of a prediction or a puzzle, to whoever listens.
fn tell(results: RwSignal<BTreeMap<&'static str, bool>>, id: &'static str, now: Option<bool>) {
    if results.with_untracked(|r| r.get(id).copied()) != now {
        results.update(|r| {
            _ = match now {
                Some(is) => r.insert(id, is),
                None => r.remove(id),
            };
        });
    }
}

/// How far a puzzle is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PuzzleResult {
    /// Is the goal reached?
    pub solved: bool,
    /// Where things stand, in numbers: "the heap takes 26,300 B; the goal is 25,000 B".
    pub progress: String,
}

/// A goal that the reader reaches by working in the figure; the engine says whether it is reached.
#[component]
pub fn Puzzle(
    /// Its name: letters and digits.
    id: &'static str,
    /// What is to be reached.
    #[prop(into)]
    goal: Signal<String>,
    /// Asks the engine; `None` while there is no module.
    #[prop(into)]
    check: Signal<Option<PuzzleResult>>,
    /// For those who want one.
    hint: &'static str,
) -> impl IntoView {
    let result = Memo::new(move |_| check.get());
    let solved = move || result.get().is_some_and(|r| r.solved);
    let results = use_book().results;
    Effect::new(move |_| tell(results, id, result.get().map(|r| r.solved)));
    view! {
        <div class="puzzle" class:solved=solved data-puzzle=id>
            <p><b>"Puzzle: "</b> {move || goal.get()}</p>
            <p class="verdict" role="status">
                <b>{move || if solved() { "Solved. " } else { "Not yet. " }}</b>
                {move || result.get().map(|r| r.progress)}
            </p>
            <details>
                <summary>"Hint"</summary>
                <p>{hint}</p>
            </details>
        </div>
    }
}
