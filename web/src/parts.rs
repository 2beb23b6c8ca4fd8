//! The parts that the page comes in: the program begins with the first chapter; the others are fetched when they come near
//! the screen, when a link leads to them, and else in idle time, so that a search in the page finds everything.
//!
//! `cargo xtask build` cuts the program: what only the chapters of one part need goes into a file of that part, what two
//! parts share into a file of theirs. While developing nothing is cut, and a part is there as soon as it is asked for.

use crate::chapters::{CHAPTERS, Chapter, LESSONS, MADE};
use leptos::prelude::*;
use leptos::reactive::computed::ScopedFuture;
use leptos::wasm_split::SplitLoaderError;
use std::pin::Pin;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;

/// A chapter's view, or that its part could not be fetched.
pub type Fetched = Pin<Box<dyn Future<Output = Result<AnyView, SplitLoaderError>>>>;

/// How a chapter is made: `part!(NAME, view::chapter)` in the part of that name, `part!(view::chapter)` in the program that
/// the page starts with.
macro_rules! part {
    ($view:path) => {
        || Box::pin(std::future::ready(Ok($view())))
    };
    ($part:ident, $view:path) => {{
        #[cfg(split)]
        #[leptos::wasm_split::wasm_split($part, wasm_split_path = leptos::wasm_split, fallible)]
        fn chapter() -> Result<leptos::prelude::AnyView, leptos::wasm_split::SplitLoaderError> {
            Ok($view())
        }
        #[cfg(not(split))]
        async fn chapter() -> Result<leptos::prelude::AnyView, leptos::wasm_split::SplitLoaderError> {
            Ok($view())
        }
        || Box::pin(chapter())
    }};
}
pub(crate) use part;

/// How far a chapter has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Nobody asked for it.
    Waiting,
    /// It was asked for.
    Coming,
    /// It is on the page, or will be with the next frame.
    There,
    /// It could not be fetched.
    Failed,
}

/// The chapters of this page, as far as they have come.
#[derive(Clone, Copy)]
pub struct Parts {
    slots: StoredValue<Vec<Slot>>,
    owner: StoredValue<Owner>,
}

/// A chapter and what came of it.
#[derive(Clone, Copy)]
pub struct Slot {
    /// The chapter.
    pub chapter: &'static Chapter,
    /// How far it has come.
    pub progress: RwSignal<Progress>,
    view: StoredValue<Option<AnyView>, LocalStorage>,
}

impl Slot {
    /// The view, once.
    pub fn take(self) -> Option<AnyView> {
        self.view.try_update_value(Option::take).flatten()
    }
}

impl Parts {
    /// None has come yet. What chapters put into the reactive graph belongs to who calls this.
    pub fn new() -> Self {
        let slot = |chapter| Slot {
            chapter,
            progress: RwSignal::new(Progress::Waiting),
            view: StoredValue::new_local(None),
        };
        Self {
            slots: StoredValue::new(CHAPTERS.iter().chain([&LESSONS, &MADE]).map(slot).collect()),
            owner: StoredValue::new(Owner::current().unwrap_or_default()),
        }
    }

    /// All of them, in the order of the page.
    pub fn slots(self) -> Vec<Slot> {
        self.slots.get_value()
    }

    /// Is every chapter on the page? Tracked.
    pub fn are_there(self) -> bool {
        self.slots().iter().all(|s| s.progress.get() == Progress::There)
    }

    /// Asks for a chapter, unless that was done. One that could not be fetched is asked for again.
    pub fn fetch(self, slot: Slot) {
        if matches!(slot.progress.get_untracked(), Progress::Coming | Progress::There) {
            return;
        }
        slot.progress.set(Progress::Coming);
        let coming = self.owner.with_value(|owner| owner.with(|| ScopedFuture::new((slot.chapter.view)())));
        leptos::task::spawn_local(async move {
            match coming.await {
                Ok(view) => {
                    slot.view.set_value(Some(view));
                    slot.progress.set(Progress::There);
                }
                Err(_) => slot.progress.set(Progress::Failed),
            }
        });
    }

    /// Asks for the chapter with that element: the one of that slug, or of that figure. All of them where nobody knows.
    pub fn fetch_for(self, anchor: &str) {
        let slots = self.slots();
        let has = |s: &&Slot| s.chapter.slug == anchor || s.chapter.figures.contains(&anchor);
        match slots.iter().find(has) {
            Some(slot) => self.fetch(*slot),
            None => slots.into_iter().for_each(|slot| self.fetch(slot)),
        }
    }

    /// Once `begun`, asks for what nobody asked for, one chapter after the other, when the browser has nothing else to do. One
    /// that fails is left to the reader.
    pub fn fetch_in_idle_time(self, begun: RwSignal<bool>) {
        let next = move || self.slots().into_iter().find(|s| s.progress.get() == Progress::Waiting);
        let coming = move || self.slots().iter().any(|s| s.progress.get() == Progress::Coming);
        Effect::new(move |_| {
            if begun.get()
                && !coming()
                && let Some(slot) = next()
            {
                when_idle(move || self.fetch(slot));
            }
        });
    }
}

/// Runs `f` when the browser is idle; soon, where a browser cannot tell.
fn when_idle(f: impl FnOnce() + 'static) {
    let window = window();
    let called = Closure::once_into_js(f);
    let wait = js_sys::Reflect::get(&window, &"requestIdleCallback".into()).ok();
    match wait.and_then(|w| w.dyn_into::<js_sys::Function>().ok()) {
        Some(wait) => _ = wait.call1(&window, &called),
        None => _ = window.set_timeout_with_callback_and_timeout_and_arguments_0(called.unchecked_ref(), 200),
    }
}
