//! Where a lesson is made: states in an order, with words, questions and goals. What comes of it is one link, or a file.

use super::classroom::{Classroom, Draft, Open};
use super::{
    ASKED, LONGEST_LINK, Lesson, MOST_STEPS, Place, Step, Task, Which, chapter_of, conditions, linked,
    packed, read, write,
};
use crate::state::State;
use leptos::ev::Event;
use leptos::prelude::*;
use std::sync::Arc;

/// The page for whoever teaches.
#[component]
pub fn Teacher(room: Classroom) -> impl IntoView {
    let draft = room.draft;
    let link = RwSignal::new(String::new());
    let problem = RwSignal::new(String::new());
    let said = RwSignal::new(String::new());
    let add = move |figure: String, state: Option<State>| {
        if draft.with_untracked(|d| d.rows.len()) >= MOST_STEPS {
            problem.set("A lesson has at most 100 steps.".to_owned());
            return;
        }
        draft.update(|d| d.push(Step { figure, state, ..Step::default() }));
        let n = draft.with_untracked(|d| d.rows.len());
        said.set(format!("Step {n} is added to the lesson."));
    };
    let paste = move |_| {
        problem.set(String::new());
        match linked(&link.get_untracked()) {
            Some((figure, state)) => {
                add(figure, state);
                link.set(String::new());
            }
            None => problem.set(
                "No figure's state can be read in it. Copy link, at each figure, gives what belongs here."
                    .to_owned(),
            ),
        }
    };
    let collects = move || room.book.collect.with(Option::is_some);
    let collect = Callback::new(move |(figure, state): (String, String)| add(figure, State::decode(&state)));
    let switch = move |e: Event| room.book.collect.set(event_target_checked(&e).then_some(collect));
    let numbers = Memo::new(move |_| draft.with(|d| d.rows.iter().map(|r| r.id).collect::<Vec<_>>()));
    // Whoever has begun a lesson goes on with it.
    Effect::watch(
        move || numbers.with(Vec::is_empty),
        move |is_empty, was_empty, _| {
            if !is_empty && was_empty != Some(&false) {
                room.book.collect.set(Some(collect));
            }
        },
        true,
    );
    view! {
        <div id="teacher" tabindex="-1" class="teacher">
            <h3>"For teachers: a lesson of your own"</h3>
            <p>
                "Put states of figures in an order, say a few sentences to each, and ask what you want to ask. All of it is in the link "
                "that you give away: nothing is stored anywhere but in this browser, until you empty it."
            </p>
            <div class="fields">
                <label>
                    "Title of the lesson"
                    <input
                        type="text"
                        maxlength="200"
                        prop:value=move || draft.with(|d| d.title.clone())
                        on:input=move |e| draft.update(|d| d.title = event_target_value(&e))
                    />
                </label>
                <label>
                    "For whom, and what for"
                    <textarea
                        rows="2"
                        maxlength="1000"
                        prop:value=move || draft.with(|d| d.about.clone())
                        on:input=move |e| draft.update(|d| d.about = event_target_value(&e))
                    ></textarea>
                </label>
            </div>
            <ol class="rows">
                <For each=move || numbers.get() key=|id| *id let(id)>
                    <StepFields room id />
                </For>
            </ol>
            <div class="fields add">
                <label>
                    "A link to a state"
                    <input
                        type="text"
                        prop:value=move || link.get()
                        on:input=move |e| link.set(event_target_value(&e))
                    />
                </label>
                <button type="button" disabled=move || link.with(|l| l.trim().is_empty()) on:click=paste>
                    "Add as a step"
                </button>
                <label class="switch">
                    <input type="checkbox" prop:checked=collects on:change=switch />
                    "a button at every figure that adds its state"
                </label>
            </div>
            <p class="lesson-problem" role="alert">{move || problem.get()}</p>
            <p class="hidden" role="status">{move || said.get()}</p>
            <Result room />
            <Source room />
        </div>
    }
}

/// Changes the step of that number.
fn change(draft: RwSignal<Draft>, id: u32, change: impl FnOnce(&mut Step)) {
    draft.update(|d| {
        if let Some(row) = d.rows.iter_mut().find(|r| r.id == id) {
            change(&mut row.step);
        }
    });
}

/// The kinds of tasks that a teacher may set.
const KINDS: [(&str, &str); 3] = [
    ("nothing", "nothing: it is to be read"),
    ("ask", "a question of your own"),
    ("reach", "a goal that the engine checks"),
];

fn kind(task: &Task) -> &'static str {
    match task {
        Task::Nothing | Task::Puzzle(_) | Task::Question(_) | Task::Predict { .. } => "nothing",
        Task::Ask { .. } => "ask",
        Task::Reach { .. } => "reach",
    }
}

/// The fields of one step.
#[component]
fn StepFields(room: Classroom, id: u32) -> impl IntoView {
    let draft = room.draft;
    let at = Memo::new(move |_| draft.with(|d| d.rows.iter().position(|r| r.id == id)).unwrap_or(0));
    let count = move || draft.with(|d| d.rows.len());
    let step = move || {
        draft.with(|d| d.rows.iter().find(|r| r.id == id).map(|r| r.step.clone()).unwrap_or_default())
    };
    let step = Memo::new(move |_| step());
    let figure = step.with_untracked(|s| s.figure.clone());
    let shown =
        chapter_of(&figure).map_or_else(String::new, |c| format!("Chapter {}: {}", c.number, c.title));
    let href = step.with_untracked(|s| match &s.state {
        Some(state) => format!("#v2/{figure}/{figure}={}", state.encode()),
        None => format!("#{figure}"),
    });
    let can_reach = ASKED.contains(&figure.as_str()) && step.with_untracked(|s| s.state.is_some());
    let go = move |by: isize| {
        draft.update(|d| {
            if let Some(from) = d.rows.iter().position(|r| r.id == id) {
                let to = from.saturating_add_signed(by).min(d.rows.len() - 1);
                d.rows.swap(from, to);
            }
        });
    };
    let remove = move |_| draft.update(|d| d.rows.retain(|r| r.id != id));
    // Written into its field when it has changed, not whenever another field has: what is being typed stays.
    let paragraphs = Memo::new(move |_| step.with(|s| s.says.join("\n\n")));
    let chosen = Memo::new(move |_| step.with(|s| kind(&s.task)));
    let choose = move |e: Event| {
        let task = match event_target_value(&e).as_str() {
            "ask" => Task::Ask { question: String::new(), choices: Vec::new(), answer: None },
            "reach" => Task::Reach { goal: String::new(), conditions: Vec::new() },
            _ => Task::Nothing,
        };
        change(draft, id, |s| s.task = task);
    };
    view! {
        <li class="row">
            <p class="row-head">
                <b>{move || format!("Step {}", at.get() + 1)}</b>
                " "
                <a href=href target="_blank" rel="noopener">
                    {shown}
                </a>
            </p>
            <div class="actions" role="group" aria-label=move || format!("Step {}", at.get() + 1)>
                <button type="button" disabled=move || at.get() == 0 on:click=move |_| go(-1)>
                    "Up"
                </button>
                <button type="button" disabled=move || { at.get() + 1 >= count() } on:click=move |_| go(1)>
                    "Down"
                </button>
                <button type="button" on:click=remove>
                    "Remove"
                </button>
            </div>
            <div class="fields">
                <label>
                    "Title"
                    <input
                        type="text"
                        maxlength="200"
                        prop:value=move || step.with(|s| s.title.clone())
                        on:input=move |e| change(draft, id, |s| s.title = event_target_value(&e))
                    />
                </label>
                <label>
                    "What you say; an empty line begins a paragraph"
                    <textarea
                        rows="3"
                        maxlength="4000"
                        prop:value=move || paragraphs.get()
                        on:change=move |e| {
                            let says = event_target_value(&e)
                                .split("\n\n")
                                .map(str::trim)
                                .filter(|p| !p.is_empty())
                                .map(str::to_owned)
                                .collect();
                            change(draft, id, |s| s.says = says);
                        }
                    ></textarea>
                </label>
                <label>
                    "What there is to do"
                    <select on:change=choose>
                        {KINDS
                            .iter()
                            .filter(|(kind, _)| *kind != "reach" || can_reach)
                            .map(|(kind, words)| {
                                view! {
                                    <option value=*kind selected=move || chosen.get() == *kind>
                                        {*words}
                                    </option>
                                }
                            })
                            .collect_view()}
                    </select>
                </label>
                {move || match chosen.get() {
                    "ask" => view! { <AskFields draft id /> }.into_any(),
                    "reach" => view! { <ReachFields draft id /> }.into_any(),
                    _ => ().into_any(),
                }}
            </div>
        </li>
    }
}

fn task_of(draft: RwSignal<Draft>, id: u32) -> Task {
    draft.with(|d| d.rows.iter().find(|r| r.id == id).map(|r| r.step.task.clone()).unwrap_or_default())
}

#[component]
fn AskFields(draft: RwSignal<Draft>, id: u32) -> impl IntoView {
    let question = move || match task_of(draft, id) {
        Task::Ask { question, .. } => question,
        _ => String::new(),
    };
    let listed = Memo::new(move |_| match task_of(draft, id) {
        Task::Ask { choices, answer, .. } => {
            let line = |(n, c): (usize, String)| if answer == Some(n) { format!("* {c}") } else { c };
            choices.into_iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    });
    let set_question = move |e: Event| {
        change(draft, id, |s| {
            if let Task::Ask { question, .. } = &mut s.task {
                *question = event_target_value(&e);
            }
        });
    };
    let set_choices = move |e: Event| {
        let mut choices = Vec::new();
        let mut expected = None;
        for line in event_target_value(&e).lines().map(str::trim).filter(|l| !l.is_empty()).take(12) {
            if let Some(right) = line.strip_prefix('*') {
                expected.get_or_insert(choices.len());
                choices.push(right.trim().to_owned());
            } else {
                choices.push(line.to_owned());
            }
        }
        change(draft, id, |s| {
            if let Task::Ask { choices: of, answer, .. } = &mut s.task {
                (*of, *answer) = (choices, expected);
            }
        });
    };
    view! {
        <label>
            "The question"
            <input type="text" maxlength="1000" prop:value=question on:input=set_question />
        </label>
        <label>
            "Choices, a line each; * before the one that you expect. Without any, it is a question to think about"
            <textarea rows="3" maxlength="4000" prop:value=move || listed.get() on:change=set_choices></textarea>
        </label>
    }
}

#[component]
fn ReachFields(draft: RwSignal<Draft>, id: u32) -> impl IntoView {
    let wrong = RwSignal::new(String::new());
    let goal = move || match task_of(draft, id) {
        Task::Reach { goal, .. } => goal,
        _ => String::new(),
    };
    let listed = Memo::new(move |_| match task_of(draft, id) {
        Task::Reach { conditions, .. } => {
            conditions.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    });
    let set_goal = move |e: Event| {
        change(draft, id, |s| {
            if let Task::Reach { goal, .. } = &mut s.task {
                *goal = event_target_value(&e);
            }
        });
    };
    let set_conditions = move |e: Event| match conditions(&event_target_value(&e)) {
        Ok(read) => {
            wrong.set(String::new());
            change(draft, id, |s| {
                if let Task::Reach { conditions, .. } = &mut s.task {
                    *conditions = read;
                }
            });
        }
        Err(fault) => wrong.set(fault.to_string()),
    };
    view! {
        <label>
            "The goal, in words"
            <input type="text" maxlength="1000" prop:value=goal on:input=set_goal />
        </label>
        <label>
            "What has to hold, a line each; the engine checks it"
            <textarea
                rows="2"
                maxlength="2000"
                spellcheck="false"
                prop:value=move || listed.get()
                on:change=set_conditions
            ></textarea>
        </label>
        <ul class="forms" aria-label="What a line may be" translate="no">
            {["share A B", "apart A B", "heap <= 24 KiB", "heap saves 1 KiB", "total grows 100 B", "selected A", "changes <= 1", "same instructions"]
                .map(|form| view! { <li class="code">{form}</li> })
                .collect_view()}
        </ul>
        <p class="lesson-problem" role="alert">{move || wrong.get()}</p>
    }
}

/// What is still missing, or nothing.
fn missing(lesson: &Lesson) -> Option<String> {
    if lesson.title.trim().is_empty() {
        return Some("The lesson has no title yet.".to_owned());
    }
    if lesson.steps.is_empty() {
        return Some("The lesson has no step yet.".to_owned());
    }
    for (n, step) in lesson.steps.iter().enumerate() {
        let n = n + 1;
        match &step.task {
            Task::Ask { question, .. } if question.trim().is_empty() => {
                return Some(format!("Step {n} has no question yet."));
            }
            Task::Ask { choices, .. } if choices.len() == 1 => {
                return Some(format!("Step {n} has only one choice."));
            }
            Task::Reach { goal, .. } if goal.trim().is_empty() => {
                return Some(format!("Step {n} does not say its goal yet."));
            }
            Task::Reach { conditions, .. } if conditions.is_empty() => {
                return Some(format!("Step {n} does not say yet what has to hold."));
            }
            _ => {}
        }
    }
    // Whatever else the reader of lessons would not take.
    read(&write(lesson)).err().map(|fault| fault.to_string())
}

/// The link, the file, the preview.
#[component]
fn Result(room: Classroom) -> impl IntoView {
    let draft = room.draft;
    let lesson = Memo::new(move |_| draft.with(Draft::lesson));
    let lacks = Memo::new(move |_| lesson.with(missing));
    let place = Memo::new(move |_| {
        let ready = lacks.with(Option::is_none);
        ready.then(|| Place { which: Which::Packed(lesson.with(packed)), step: 0 })
    });
    let href = Memo::new(move |_| place.with(|p| p.as_ref().map(|p| lesson.with(|l| p.to_hash(l)))));
    let whole = move || {
        let href = href.get()?;
        let here = window().location().href().unwrap_or_default();
        Some(format!("{}{href}", here.split('#').next().unwrap_or_default()))
    };
    let is_long = move || whole().is_some_and(|link| link.len() > LONGEST_LINK);
    let copied = RwSignal::new(false);
    Effect::new(move |_| {
        href.track();
        copied.set(false);
    });
    let copy = move |_| {
        if let Some(link) = untrack(whole) {
            leptos::task::spawn_local(async move { copied.set(browser::copy(&link).await) });
        }
    };
    let save =
        move |_| browser::download("bufferscope-lesson.txt", &lesson.with_untracked(write), "text/plain");
    let preview = move |_| {
        if let Some(place) = place.get_untracked() {
            room.go(&Open { place, lesson: Arc::new(lesson.get_untracked()) });
        }
    };
    let nothing = move || place.with(Option::is_none);
    view! {
        <div class="result">
            <p role="status">
                {move || match (lacks.get(), whole()) {
                    (Some(words), _) => words,
                    (None, Some(link)) if is_long() => {
                        format!(
                            "The link has {} characters; some programs cut links after {}. Give the lesson away as a file, which students open under Lessons.",
                            assigner::words::grouped(link.len() as u64),
                            assigner::words::grouped(LONGEST_LINK as u64),
                        )
                    }
                    (None, Some(link)) => {
                        format!("The link has {} characters.", assigner::words::grouped(link.len() as u64))
                    }
                    (None, None) => String::new(),
                }}
            </p>
            <label class="link">
                "The link"
                <input type="text" readonly prop:value=move || whole().unwrap_or_default() />
            </label>
            <div class="actions" role="group" aria-label="The lesson">
                <button type="button" disabled=nothing on:click=copy>
                    {move || if copied.get() { "Copied" } else { "Copy the link" }}
                </button>
                <button type="button" disabled=nothing on:click=save>
                    "Save as a file"
                </button>
                <button type="button" disabled=nothing on:click=preview>
                    "Preview"
                </button>
            </div>
        </div>
    }
}

/// The lesson as text, to be changed or put in.
#[component]
fn Source(room: Classroom) -> impl IntoView {
    let draft = room.draft;
    let wrong = RwSignal::new(String::new());
    let text = Memo::new(move |_| draft.with(|d| write(&d.lesson())));
    let changed = move |e: Event| {
        let text = event_target_value(&e);
        match read(&text) {
            Ok(lesson) => {
                wrong.set(String::new());
                draft.set(Draft::of(lesson));
            }
            Err(fault) => wrong.set(fault.to_string()),
        }
    };
    let empty = move |_| {
        wrong.set(String::new());
        draft.set(Draft::default());
    };
    view! {
        <details class="source">
            <summary>"The lesson as text"</summary>
            <label>
                "All of it can be changed here, also what has no field above. It is taken over when you leave the field"
                <textarea rows="12" spellcheck="false" prop:value=move || text.get() on:change=changed></textarea>
            </label>
            <p class="lesson-problem" role="alert">{move || wrong.get()}</p>
            <button type="button" on:click=empty>
                "Empty the lesson"
            </button>
        </details>
    }
}
