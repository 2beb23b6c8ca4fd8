//! The lessons that there are, how far the reader has come in each, and a lesson from a file.

use super::classroom::{Classroom, Open};
use super::{LONGEST, Lesson, Place, SHIPPED, Which, read, shipped};
use leptos::ev::Event;
use leptos::prelude::*;
use std::sync::Arc;
use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::JsFuture;

/// The list.
#[component]
pub fn List(room: Classroom) -> impl IntoView {
    let lessons = SHIPPED
        .iter()
        .filter_map(|(id, _)| {
            let lesson = shipped(id)?;
            let place = Place { which: Which::Shipped((*id).to_owned()), step: 0 };
            Some(view! { <li><Entry room place lesson=Arc::new(lesson) /></li> })
        })
        .collect_view();
    let problem = RwSignal::new(String::new());
    let opened = move |lesson: Lesson| {
        let lesson = Arc::new(lesson);
        room.forget("~");
        room.file.set(Some(Arc::clone(&lesson)));
        room.go(&Open { place: Place { which: Which::File, step: 0 }, lesson });
    };
    let chosen = move |e: Event| {
        let Some(input) = e.target().and_then(|t| t.dyn_into::<web_sys::HtmlInputElement>().ok()) else {
            return;
        };
        let Some(file) = input.files().and_then(|f| f.get(0)) else { return };
        problem.set(String::new());
        leptos::task::spawn_local(async move {
            match text_of(&file).await.map(|text| read(&text)) {
                Ok(Ok(lesson)) => opened(lesson),
                Ok(Err(fault)) => problem.set(fault.to_string()),
                Err(words) => problem.set(words),
            }
            // The same file, once more, is another choice.
            input.set_value("");
        });
    };
    view! {
        <p>
            "A lesson leads through figures in an order. Each step asks something: answer it before the engine does, or reach a goal "
            "in the figure, and the engine says whether you have. How far you have come is kept in this browser and nowhere else."
        </p>
        <ul class="lessons">{lessons}</ul>
        <p class="lesson-file">
            <label>
                "A lesson from a file: "
                <input type="file" accept=".txt,text/plain" on:change=chosen />
            </label>
        </p>
        <p class="lesson-problem" role="alert">{move || problem.get()}</p>
    }
}

async fn text_of(file: &web_sys::File) -> Result<String, String> {
    if file.size() > LONGEST as f64 {
        return Err("The file is larger than 256 KiB, and no lesson is.".to_owned());
    }
    let text = JsFuture::from(file.text()).await.ok().and_then(|t| t.as_string());
    text.ok_or_else(|| "The file cannot be read.".to_owned())
}

#[component]
fn Entry(room: Classroom, place: Place, lesson: Arc<Lesson>) -> impl IntoView {
    let key = place.key();
    let count = lesson.steps.len();
    let done = {
        let key = key.clone();
        Memo::new(move |_| (0..count).filter(|n| room.is_done(&key, *n)).count())
    };
    // Where to go on: the first step that is not done.
    let next = {
        let key = key.clone();
        Memo::new(move |_| (0..count).find(|n| !room.is_done(&key, *n)).unwrap_or(0))
    };
    let href = {
        let (place, lesson) = (place.clone(), Arc::clone(&lesson));
        move || place.at(next.get()).to_hash(&lesson)
    };
    let begin = {
        let (place, lesson) = (place.clone(), Arc::clone(&lesson));
        move |e: leptos::ev::MouseEvent| {
            if !(e.ctrl_key() || e.meta_key() || e.shift_key()) {
                e.prevent_default();
                room.go(&Open { place: place.at(next.get_untracked()), lesson: Arc::clone(&lesson) });
            }
        }
    };
    let words = move || match done.get() {
        0 => format!("Begin: {count} steps"),
        n if n == count => "All steps are done. Once more".to_owned(),
        n => format!("Go on at step {}: {n} of {count} done", next.get() + 1),
    };
    view! {
        <h3>{lesson.title.clone()}</h3>
        <p>{lesson.about.clone()}</p>
        <progress
            max=count.to_string()
            prop:value=move || done.get().to_string()
            aria-label="Steps that are done"
        ></progress>
        <p class="lesson-begin">
            <a href=href on:click=begin>
                {words}
            </a>
            <Show when=move || done.get() != 0>
                <button type="button" on:click={let key = key.clone(); move |_| room.forget(&key)}>
                    "Forget what is done"
                </button>
            </Show>
        </p>
    }
}
