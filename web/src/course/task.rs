//! What there is to do in a step, and whether it is done.

use super::classroom::{ANSWER, Classroom, Open};
use super::goal::{self, Condition, Judge, Seen, Start};
use super::{Step, Task};
use crate::engine::Opened;
use crate::state::State;
use crate::teach::{Predict, PuzzleResult, coded};
use crate::workbench::{Shared, Workbench};
use leptos::ev::Event;
use leptos::prelude::*;

/// What there is to do in the step that is open.
#[component]
pub fn StepTask(room: Classroom, open: Open) -> impl IntoView {
    let step = open.lesson.steps[open.place.step].clone();
    let book = room.book;
    let figure = step.figure.clone();
    // Its chapter may still be on its way.
    let wb = Memo::new(move |_| {
        book.arrived.track();
        book.figure(&figure).map(Same)
    });
    let place = StoredValue::new(open.place.clone());
    let note = move || place.with_value(|p| room.note(p));
    match step.task.clone() {
        Task::Nothing => {
            note();
            ().into_any()
        }
        Task::Puzzle(id) => {
            let solved = move || book.results.with(|r| r.get(id.as_str()) == Some(&true));
            let solved = Memo::new(move |_| solved());
            Effect::new(move |_| {
                if solved.get() {
                    note();
                }
            });
            view! {
                <p class="to-do">
                    {move || {
                        if solved.get() { "The puzzle is solved." } else { "The puzzle below the figure is yours to solve." }
                    }}
                </p>
                <Help step wb />
            }
            .into_any()
        }
        Task::Question(id) => {
            let answered = Memo::new(move |_| book.results.with(|r| r.contains_key(id.as_str())));
            Effect::new(move |_| {
                if answered.get() {
                    note();
                }
            });
            view! {
                <p class="to-do">
                    {move || {
                        if answered.get() {
                            "The question is answered."
                        } else {
                            "Answer the question beside the figure before you try."
                        }
                    }}
                </p>
            }
            .into_any()
        }
        Task::Predict { question, judge, with } => {
            view! {
                {move || {
                    let (question, judge, with) = (question.clone(), judge.clone(), with.clone());
                    let first = step.state.clone();
                    Some(
                        view! { <Foresee room wb=wb.get()?.0 question judge first=first? with note=Callback::new(move |()| note()) /> },
                    )
                }}
            }
            .into_any()
        }
        Task::Ask { question, choices, answer } => {
            view! {
                {move || {
                    let (question, choices) = (question.clone(), choices.clone());
                    Some(
                        view! { <Asked wb=wb.get()?.0 question choices answer note=Callback::new(move |()| note()) /> },
                    )
                }}
            }
            .into_any()
        }
        Task::Reach { goal, conditions } => {
            view! {
                {move || {
                    let (goal, conditions, step) = (goal.clone(), conditions.clone(), step.clone());
                    let first = step.state.clone();
                    Some(
                        view! {
                            <Reach room wb=wb.get()?.0 goal conditions first=first? note=Callback::new(move |()| note()) />
                            <Help step wb />
                        },
                    )
                }}
            }
            .into_any()
        }
    }
}

/// A workbench in a memo: there is one for each id.
#[derive(Clone, Copy)]
pub struct Same(pub Workbench);

impl PartialEq for Same {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

/// The hint, and a way to the goal for those who give up.
#[component]
fn Help(step: Step, wb: Memo<Option<Same>>) -> impl IntoView {
    let solution = step.solution;
    let is_any = !step.hint.is_empty() || solution.is_some();
    let hint = step.hint;
    is_any.then(|| {
        view! {
            <details class="help">
                <summary>"Hint"</summary>
                {(!hint.is_empty()).then(|| view! { <p>{coded(&hint)}</p> })}
                {solution
                    .map(|solution| {
                        let show = move |_| {
                            if let Some(Same(wb)) = wb.get_untracked() {
                                wb.set(solution.clone());
                            }
                        };
                        view! {
                            <button type="button" on:click=show>
                                "Show a solution"
                            </button>
                        }
                    })}
            </details>
        }
    })
}

/// Looks at a state as soon as its module is read.
fn look<T: Send + Sync + 'static>(
    room: Classroom,
    state: State,
    what: impl Fn(&Seen<'_>) -> T + 'static,
    into: RwSignal<Option<T>>,
) {
    room.book.read(state.source.clone(), move |read| {
        if let Ok(base) = read.opened {
            let base: Shared<Opened> = base;
            _ = into.try_set(goal::see(&base, &state, what));
        }
    });
}

#[component]
fn Foresee(
    room: Classroom,
    wb: Workbench,
    question: String,
    judge: Judge,
    /// The step's state, and the one that is asked about if that is another one.
    first: State,
    with: Option<State>,
    note: Callback<()>,
) -> impl IntoView {
    let start = RwSignal::new(None::<Start>);
    look(room, first.clone(), Start::of, start);
    let options = judge.options();
    let then = StoredValue::new(with.clone());
    let asked = with.unwrap_or(first);
    let answer = RwSignal::new(None::<Option<(usize, String)>>);
    Effect::new(move |_| {
        if let Some(start) = start.get() {
            let judge = judge.clone();
            look(room, asked.clone(), move |seen| judge.answer(&start, seen), answer);
        }
    });
    let answer = Memo::new(move |_| answer.get().flatten());
    let given = Memo::new(move |_| wb.state.with(|s| s.number(ANSWER).is_some()));
    Effect::new(move |_| {
        if given.get() {
            note.run(());
        }
    });
    // The changed state in the figure itself, with the answer that was given.
    let show = move |_| {
        if let Some(mut state) = then.get_value() {
            wb.state.with_untracked(|now| state.view.clone_from(&now.view));
            wb.set(state);
        }
    };
    view! {
        <Predict
            wb
            id=ANSWER
            question
            options=Signal::derive(move || options.iter().map(|o| (*o).to_owned()).collect())
            answer=Signal::derive(move || answer.with(|a| a.as_ref().map(|(n, _)| *n)))
            explain=Callback::new(move |_: usize| {
                answer.with(|a| a.as_ref().map(|(_, words)| words.clone())).unwrap_or_default()
            })
        />
        <Show when=move || given.get() && then.with_value(Option::is_some)>
            <button type="button" class="show-it" on:click=show>
                "Show it in the figure"
            </button>
        </Show>
    }
}

#[component]
fn Reach(
    room: Classroom,
    wb: Workbench,
    goal: String,
    conditions: Vec<Condition>,
    first: State,
    note: Callback<()>,
) -> impl IntoView {
    let start = RwSignal::new(None::<Start>);
    look(room, first, Start::of, start);
    let result = Memo::new(move |_| {
        let start = start.get()?;
        // While a module is on its way, what is shown is of the one before.
        if wb.is_stale() {
            return None;
        }
        let (opened, run) = (wb.opened.get()?, wb.run.get()?);
        let state = wb.state.get();
        let seen = Seen { state: &state, opened: &opened, run: &run, selected: wb.selected.get() };
        let (solved, progress) = goal::check(&conditions, &start, &seen);
        Some(PuzzleResult { solved, progress })
    });
    let solved = move || result.with(|r| r.as_ref().is_some_and(|r| r.solved));
    Effect::new(move |_| {
        // An end that is still being pulled has reached nothing.
        if solved() && wb.dragging.get().is_none() {
            note.run(());
        }
    });
    view! {
        <div class="puzzle" class:solved=solved>
            <p><b>"Goal: "</b> {coded(&goal)}</p>
            <p class="verdict" role="status">
                <b>{move || if solved() { "Reached. " } else { "Not yet. " }}</b>
                {move || result.get().map(|r| r.progress)}
            </p>
        </div>
    }
}

/// A question of whoever made the lesson, who may say what is expected.
#[component]
fn Asked(
    wb: Workbench,
    question: String,
    choices: Vec<String>,
    answer: Option<usize>,
    note: Callback<()>,
) -> impl IntoView {
    let given = Memo::new(move |_| wb.state.with(|s| s.number(ANSWER)).and_then(|n| usize::try_from(n).ok()));
    let marked = RwSignal::new(None::<usize>);
    let none = choices.is_empty();
    Effect::new(move |_| {
        if given.get().is_some() || none {
            note.run(());
        }
    });
    let mark = move |e: Event| marked.set(event_target_value(&e).parse().ok());
    let give = move |_| {
        if let Some(n) = marked.get_untracked() {
            wb.set_view(ANSWER, n as i64);
        }
    };
    let again = move |_| {
        marked.set(None);
        wb.clear_view(ANSWER);
    };
    let options = choices
        .into_iter()
        .enumerate()
        .map(|(n, choice)| {
            let shown = move || given.get().is_some();
            let is_right = move || shown() && answer == Some(n);
            let is_wrong = move || given.get() == Some(n) && answer.is_some_and(|a| a != n);
            view! {
                <label class:right=is_right class:wrong=is_wrong>
                    <input
                        type="radio"
                        name="lesson-asked"
                        value=n.to_string()
                        prop:checked=move || given.get().or(marked.get()) == Some(n)
                        disabled=shown
                        on:change=mark
                    />
                    <span translate="no">{choice}</span>
                    <span class="sign">
                        {move || {
                            if is_right() {
                                "the expected answer"
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
        .collect_view();
    let verdict = move || {
        let (given, answer) = (given.get()?, answer?);
        Some(if given == answer { "As expected." } else { "Another answer was expected." })
    };
    view! {
        <fieldset class="predict">
            <legend><b>"Question: "</b> <span translate="no">{question}</span></legend>
            <div class="choices">{options}</div>
            <Show when=move || !none>
                <Show
                    when=move || given.get().is_some()
                    fallback=move || {
                        view! {
                            <button type="button" disabled=move || marked.get().is_none() on:click=give>
                                "Give this answer"
                            </button>
                        }
                    }
                >
                    <button type="button" on:click=again>
                        "Answer again"
                    </button>
                </Show>
            </Show>
            <p class="verdict" role="status">{verdict}</p>
        </fieldset>
    }
}
