//! The page around the chapters: title, introduction, contents, theme.

use crate::book::{Book, exhibit_asked_for, use_book};
use crate::chapters::{CHAPTERS, LESSONS, MADE};
use crate::figure::watch;
use crate::parts::{Parts, Progress, Slot};
use crate::views::plot::Hatch;
use browser::{Palette, ThemeToggle, follow_system};
use leptos::html::Section;
use leptos::prelude::*;

/// The page.
#[component]
pub fn App() -> impl IntoView {
    let palette = Palette::new();
    provide_context(palette);
    let book = Book::open();
    provide_context(book);
    follow_system(palette);
    if let Some(name) = exhibit_asked_for() {
        return view! { <Alone name /> }.into_any();
    }
    // The slug of the chapter that is being read.
    let reading = RwSignal::new(None::<&'static str>);
    let parts = book.parts;
    // The first chapter is part of the program, and drawn before anything else is fetched.
    parts.slots().first().copied().into_iter().for_each(|first| parts.fetch(first));
    // A lesson that an address names is wanted at once.
    Effect::new(move |_| {
        if book.modes.with(|m| !m.is_empty()) {
            parts.fetch_for(LESSONS.slug);
        }
    });
    let drawn = RwSignal::new(false);
    Effect::new(move |_| {
        request_animation_frame(move || {
            book.show_anchor();
            drawn.set(true);
        });
    });
    parts.fetch_in_idle_time(drawn);
    Effect::new(move |_| {
        if parts.are_there() {
            book.all_is_there();
        }
    });
    view! {
        <a class="skip" href="#text">"Skip to the text"</a>
        <header class="masthead">
            <p class="brand">"Bufferscope"</p>
            <h1>"How every value gets an address"</h1>
            <a class="other-page" href="#lessons">"Lessons"</a>
            <a class="other-page" href="lab.html">"Open your own dump: the lab"</a>
            <ThemeToggle palette />
        </header>
        <Hatch />
        <div class="page">
            <nav class="rail" aria-label="Chapters">
                <p class="rail-title">"Contents"</p>
                <ContentsList reading />
            </nav>
            <details class="contents">
                <summary>"Contents"</summary>
                <nav aria-label="Chapters, short">
                    <ContentsList reading />
                </nav>
            </details>
            <main id="text" tabindex="-1" aria-busy=move || (!parts.are_there()).to_string()>
                {move || book.desk.get().map(|desk| desk())}
                <Introduction />
                {parts
                    .slots()
                    .into_iter()
                    .map(|entry| view! { <ChapterSection entry parts reading /> })
                    .collect_view()}
            </main>
        </div>
        <footer>
            <p>
                "Everything is computed in this page, by the rules that the tests compare with XLA's own output. "
                "Nothing you type or open leaves your machine. "
                <a href="#how-this-was-made">"How this was made"</a>
                "."
            </p>
        </footer>
    }
    .into_any()
}

/// One figure and nothing around it. Its chapter is put up whole, because the figure is a part of it; the style sheet shows the
/// figure alone.
#[component]
fn Alone(name: String) -> impl IntoView {
    let parts = use_book().parts;
    // What comes behind the chapters has no figures of that kind.
    let slots = parts.slots().into_iter().take(CHAPTERS.len()).collect::<Vec<_>>();
    let Some(entry) = slots.iter().copied().find(|s| s.chapter.figures.contains(&name.as_str())) else {
        let known: Vec<&str> = slots.iter().flat_map(|s| s.chapter.figures).copied().collect();
        let said = format!("There is no exhibit {name}; there are {}.", known.join(", "));
        return view! {
            <main class="alone">
                <p class="pending" role="alert">
                    {said}
                </p>
            </main>
        }
        .into_any();
    };
    parts.fetch(entry);
    let reading = RwSignal::new(None);
    view! {
        <Hatch />
        <main class="alone" id="text">
            <ChapterSection entry parts reading />
        </main>
    }
    .into_any()
}

#[component]
fn ContentsList(reading: RwSignal<Option<&'static str>>) -> impl IntoView {
    view! {
        <ol>
            {CHAPTERS
                .iter()
                .chain([&LESSONS, &MADE])
                .map(|c| {
                    let current = move || (reading.get() == Some(c.slug)).then_some("true");
                    view! {
                        <li>
                            <a href=format!("#{}", c.slug) aria-current=current>
                                <span class="n">{(c.number > 0).then_some(c.number)}</span>
                                {c.title}
                            </a>
                        </li>
                    }
                })
                .collect_view()}
        </ol>
    }
}

/// How far from the screen a chapter is fetched.
const NEAR: &str = "1600px 0px";

#[component]
fn ChapterSection(entry: Slot, parts: Parts, reading: RwSignal<Option<&'static str>>) -> impl IntoView {
    let (slot, chapter) = (entry, entry.chapter);
    let book = use_book();
    let node = NodeRef::<Section>::new();
    Effect::new(move |_| {
        let Some(element) = node.get() else { return };
        // A thin band at a third of the window: the chapter that crosses it is the one being read.
        watch(&element, "-33% 0px -66% 0px", move |is_there| {
            if is_there {
                reading.set(Some(chapter.slug));
            }
        });
        watch(&element, NEAR, move |near| {
            if near && slot.progress.get_untracked() == Progress::Waiting {
                parts.fetch(slot);
            }
        });
    });
    let content = move || match slot.progress.get() {
        Progress::There => {
            let view = slot.take();
            book.chapter_comes(node.get_untracked());
            view
        }
        Progress::Failed => Some(
            view! {
                <div class="pending" role="alert">
                    <p>"This chapter could not be fetched. "</p>
                    <button type="button" on:click=move |_| parts.fetch(slot)>
                        "Try again"
                    </button>
                </div>
            }
            .into_any(),
        ),
        Progress::Waiting | Progress::Coming => {
            Some(view! { <p class="pending">"This chapter is on its way…"</p> }.into_any())
        }
    };
    let (title_id, labelled) = (format!("{}-title", chapter.slug), format!("{}-title", chapter.slug));
    view! {
        <section class="chapter" id=chapter.slug tabindex="-1" node_ref=node aria-labelledby=labelled>
            {(chapter.number > 0)
                .then(|| view! { <p class="chapter-number">{format!("Chapter {}", chapter.number)}</p> })}
            <h2 id=title_id>{chapter.title}</h2>
            <p class="question">{chapter.question}</p>
            {content}
        </section>
    }
}

#[component]
fn Introduction() -> impl IntoView {
    view! {
        <section class="intro">
            <p>
                "When XLA compiles a program it decides, before anything runs, at which address every intermediate "
                "value will stand. That is " <dfn>"buffer assignment"</dfn> ", and it decides how much memory the "
                "program needs. This page runs the same rules on real programs, and lets you pull at them."
            </p>
        </section>
    }
}
