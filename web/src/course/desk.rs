//! The lessons of the page: the section behind the chapters, and the desk above them, at which a lesson is gone through. While one
//! is, or one figure is shown alone, nothing else of the page is to be seen: the element that is shown, and those around it,
//! have the class `on`.

use super::classroom::{Classroom, Now, Open};
use super::list::List;
use super::presenter::{Presenter, chapter_title};
use super::task::StepTask;
use super::teacher::Teacher;
use super::{Task, Which, chapter_of};
use crate::book::use_book;
use crate::parts::Progress;
use crate::teach::coded;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, HtmlElement};

const STYLES: &str = "lessons.css";

/// Where the keyboard is when a step begins.
const TITLE: &str = "step-title";

/// The section behind the chapters; the desk comes with it.
pub fn section() -> AnyView {
    let book = use_book();
    let room = Classroom::new(book);
    provide_context(room);
    style(room.styled);
    stage(room);
    book.desk.set(Some(desk));
    view! {
        <List room />
        <Teacher room />
    }
    .into_any()
}

/// Fetches the styles of all this, which no other reader needs.
fn style(styled: RwSignal<bool>) {
    let (Some(head), Ok(link)) = (document().head(), document().create_element("link")) else { return };
    _ = link.set_attribute("rel", "stylesheet");
    _ = link.set_attribute("href", STYLES);
    let done = Closure::once_into_js(move || styled.set(true));
    // A page without them can still be read.
    for event in ["load", "error"] {
        _ = link.add_event_listener_with_callback(event, done.unchecked_ref());
    }
    _ = head.append_child(&link);
}

/// The step that is open.
fn opened(room: Classroom) -> Option<Open> {
    match room.now.get() {
        Now::Open(open) => Some(open),
        _ => None,
    }
}

/// What is to be seen: the figure, and what else of its chapter belongs to the step.
fn shown(room: Classroom) -> Option<(String, Option<String>)> {
    if let Some(open) = opened(room) {
        let step = &open.lesson.steps[open.place.step];
        let beside = match &step.task {
            Task::Puzzle(id) => Some(format!("[data-puzzle='{id}']")),
            Task::Question(id) => Some(format!("[data-predict='{id}']")),
            _ => None,
        };
        return Some((step.figure.clone(), beside));
    }
    let alone = room.book.mode("present").filter(|id| chapter_of(id).is_some())?;
    Some((alone, None))
}

/// Marks what is to be seen, whenever that changes or a chapter has come.
fn stage(room: Classroom) {
    let what = Memo::new(move |_| shown(room));
    Effect::new(move |_| {
        let what = what.get();
        for slot in room.book.parts.slots() {
            _ = slot.progress.get() == Progress::There;
        }
        let (lesson, present) = (room.now.get() != Now::None, room.book.mode("present").is_some());
        let styled = room.styled.get();
        if let Some((figure, _)) = &what {
            room.book.parts.fetch_for(figure);
        }
        mark(what.as_ref());
        // What has come is on the page with the next frame.
        let again = what.clone();
        request_animation_frame(move || mark(again.as_ref()));
        if let Some(root) = document().document_element() {
            for (name, on) in [("data-lesson", lesson), ("data-present", present)] {
                _ = if on && styled { root.set_attribute(name, "") } else { root.remove_attribute(name) };
            }
        }
    });
}

fn mark(what: Option<&(String, Option<String>)>) {
    let document = document();
    if let Ok(old) = document.query_selector_all("main .on") {
        for n in 0..old.length() {
            if let Some(element) = old.get(n).and_then(|n| n.dyn_into::<Element>().ok()) {
                _ = element.class_list().remove_1("on");
            }
        }
    }
    let Some((figure, beside)) = what else { return };
    let beside = beside.as_ref().and_then(|b| document.query_selector(b).ok().flatten());
    for shown in document.get_element_by_id(figure).into_iter().chain(beside) {
        let mut at = Some(shown);
        while let Some(element) = at.filter(|e| e.id() != "text") {
            _ = element.class_list().add_1("on");
            at = element.parent_element();
        }
    }
}

/// What stands above the chapters.
fn desk() -> AnyView {
    let room: Classroom = expect_context();
    let is_shown =
        move || room.styled.get() && (room.now.get() != Now::None || room.book.mode("present").is_some());
    // The keyboard is at the title of what is shown, each time it is something else.
    let here = Memo::new(move |_| {
        is_shown().then(|| (room.now.get(), room.book.mode("present").filter(|id| id != "1")))
    });
    Effect::new(move |_| {
        if here.get().is_some() {
            request_animation_frame(|| {
                window().scroll_to_with_x_and_y(0.0, 0.0);
                let title =
                    document().get_element_by_id(TITLE).and_then(|t| t.dyn_into::<HtmlElement>().ok());
                if let Some(title) = title {
                    _ = title.focus();
                }
            });
        }
    });
    view! {
        <Show when=is_shown>
            <section class="desk" aria-labelledby=TITLE>
                {move || match room.now.get() {
                    Now::Open(open) => {
                        view! {
                            <Bar room open=open.clone() />
                            <Card room open />
                        }
                            .into_any()
                    }
                    Now::Broken(words) => view! { <Broken room words /> }.into_any(),
                    Now::None => {
                        let title = move || room.book.mode("present").and_then(|id| chapter_title(&id));
                        view! {
                            <h2 id=TITLE tabindex="-1" class="alone-title">
                                {title}
                            </h2>
                        }
                            .into_any()
                    }
                }}
                <Presenter room />
            </section>
        </Show>
    }
    .into_any()
}

/// A lesson that cannot be opened.
#[component]
fn Broken(room: Classroom, words: String) -> impl IntoView {
    view! {
        <div class="step" role="alert">
            <h2 id=TITLE tabindex="-1">
                "This lesson cannot be opened"
            </h2>
            <p>{words}</p>
            <button type="button" on:click=move |_| room.leave()>
                "Leave the lesson"
            </button>
        </div>
    }
}

/// Where the reader is in the lesson, and the ways on.
#[component]
fn Bar(room: Classroom, open: Open) -> impl IntoView {
    let key = open.place.key();
    let (at, count) = (open.place.step, open.lesson.steps.len());
    let is_ours = matches!(open.place.which, Which::Shipped(_));
    let to = StoredValue::new(open.clone());
    let (is_first, is_last) = (at == 0, at + 1 == count);
    let go = move |step: usize| {
        let open = to.with_value(|o| Open { place: o.place.at(step), lesson: o.lesson.clone() });
        room.go(&open);
    };
    let dots = (0..count)
        .map(|n| {
            let open = to.get_value();
            let title = open.lesson.steps[n].title.clone();
            let href = open.place.at(n).to_hash(&open.lesson);
            let key = key.clone();
            let done = Memo::new(move |_| room.is_done(&key, n));
            let label = move || {
                let done = if done.get() { ", done" } else { "" };
                format!("Step {}{done}", n + 1)
            };
            view! {
                <li>
                    <a
                        href=href
                        class:done=move || done.get()
                        aria-current=(n == at).then_some("step")
                        title=title
                        translate=(!is_ours).then_some("no")
                        on:click=move |e| {
                            if !(e.ctrl_key() || e.meta_key() || e.shift_key()) {
                                e.prevent_default();
                                go(n);
                            }
                        }
                    >
                        <span class="hidden">{label}</span>
                        <span aria-hidden="true">{n + 1}</span>
                    </a>
                </li>
            }
        })
        .collect_view();
    let title = open.lesson.title.clone();
    let figure = open.lesson.steps[at].figure.clone();
    view! {
        <nav class="lesson-bar" aria-label="Lesson">
            <p class="lesson-title">
                <span translate=(!is_ours).then_some("no")>{title}</span>
            </p>
            <p class="lesson-place">{format!("Step {} of {}", at + 1, count)}</p>
            <ol class="lesson-dots">{dots}</ol>
            <div class="lesson-ways">
                <button type="button" disabled=is_first on:click=move |_| go(at.saturating_sub(1))>
                    "Previous"
                </button>
                <button type="button" class="next" disabled=is_last on:click=move |_| go(at + 1)>
                    "Next"
                </button>
                <button type="button" class="to-present" on:click=move |_| room.book.present(&figure)>
                    "Present"
                </button>
                <button type="button" on:click=move |_| room.leave()>
                    "Leave"
                </button>
            </div>
        </nav>
    }
}

/// What is said in the step, and what there is to do.
#[component]
fn Card(room: Classroom, open: Open) -> impl IntoView {
    let step = open.lesson.steps[open.place.step].clone();
    let is_ours = matches!(open.place.which, Which::Shipped(_));
    // A teacher's words are in the teacher's language.
    let own = (!is_ours).then_some("no");
    let title =
        if step.title.is_empty() { format!("Step {}", open.place.step + 1) } else { step.title.clone() };
    let says = step.says.iter().map(|p| view! { <p translate=own>{coded(p)}</p> }).collect_view();
    let chapter = chapter_of(&step.figure).map(|c| {
        let words = format!("Chapter {}: {}", c.number, c.title);
        view! {
            <p class="to-chapter">
                <a href=format!("#{}", c.slug)>{words}</a>
            </p>
        }
    });
    let is_last = open.place.step + 1 == open.lesson.steps.len();
    let key = open.place.key();
    let count = open.lesson.steps.len();
    let done = Memo::new(move |_| (0..count).filter(|n| room.is_done(&key, *n)).count());
    view! {
        <div class="step">
            <h2 id=TITLE tabindex="-1" translate=own>
                {title}
            </h2>
            {says}
            <StepTask room open />
            {is_last
                .then(|| {
                    view! {
                        <p class="at-end" role="status">
                            {move || {
                                if done.get() == count {
                                    "This was the last step, and all are done.".to_owned()
                                } else {
                                    format!("This is the last step; {} of {} done.", done.get(), count)
                                }
                            }}
                        </p>
                    }
                })}
            {chapter}
        </div>
    }
}
