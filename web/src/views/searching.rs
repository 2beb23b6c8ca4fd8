//! The exact search between two frames: a few milliseconds of it, then the page's turn again. So it needs no second copy of
//! the program in a worker, and can be stopped at any time.

use crate::optimum::{Found, Phase, Search, words};
use leptos::prelude::*;
use std::time::Duration;

/// Milliseconds of one slice: half a frame.
const SLICE: f64 = 8.0;

/// Branches after which a search that nobody asked for stops.
const BY_ITSELF: u64 = 20_000;

/// How long nothing must change before a search begins.
const QUIET: Duration = Duration::from_millis(200);

/// A search, and what is known of it. There is one a figure; `K` is what tells one of its subjects from another.
pub struct Searching<K: 'static> {
    search: StoredValue<Option<Search>, LocalStorage>,
    subject: RwSignal<Option<K>>,
    /// Which search is the present one: slices of one that was left do nothing.
    turn: StoredValue<u32>,
    most: StoredValue<u64>,
    found: RwSignal<Option<Found>>,
    phase: RwSignal<Phase>,
}

impl<K> Clone for Searching<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Searching<K> {}

impl<K: Clone + PartialEq + Send + Sync> Searching<K> {
    /// None yet.
    pub fn new() -> Self {
        Self {
            search: StoredValue::new_local(None),
            subject: RwSignal::new(None),
            turn: StoredValue::new(0),
            most: StoredValue::new(BY_ITSELF),
            found: RwSignal::new(None),
            phase: RwSignal::new(Phase::Waiting),
        }
    }

    fn turn(self) -> u32 {
        self.turn.update_value(|t| *t = t.wrapping_add(1));
        self.turn.get_value()
    }

    /// Leaves what was searched, and begins something else once nothing has changed for a moment.
    pub fn begin(self, subject: K, make: impl FnOnce() -> Option<Search> + 'static) {
        let turn = self.turn();
        self.subject.set(Some(subject));
        self.search.set_value(None);
        self.most.set_value(BY_ITSELF);
        self.found.set(None);
        self.phase.set(Phase::Waiting);
        set_timeout(
            move || {
                if self.turn.try_get_value() == Some(turn) {
                    self.search.set_value(make());
                    self.phase.set(Phase::Running);
                    self.slice(turn);
                }
            },
            QUIET,
        );
    }

    /// Ends it with what is known.
    pub fn stop(self) {
        self.turn();
        if self.phase.get_untracked() == Phase::Running {
            self.phase.set(Phase::Stopped);
        }
    }

    /// Goes on, now without an end of its own.
    pub fn go_on(self) {
        if self.phase.get_untracked() == Phase::Stopped {
            self.most.set_value(u64::MAX);
            self.phase.set(Phase::Running);
            self.slice(self.turn());
        }
    }

    fn slice(self, turn: u32) {
        // The figure may be gone.
        if self.turn.try_get_value() != Some(turn) {
            return;
        }
        let end = js_sys::Date::now() + SLICE;
        let most = self.most.get_value();
        let mut has_more = false;
        let found = self.search.try_update_value(|search| {
            let search = search.as_mut()?;
            has_more = search.go_on(&mut |nodes| nodes < most && js_sys::Date::now() < end);
            Some(search.found())
        });
        let found = found.flatten();
        self.found.set(found);
        if !has_more {
            self.phase.set(Phase::Over);
        } else if found.is_some_and(|f| f.nodes >= most) {
            self.phase.set(Phase::Stopped);
        } else {
            set_timeout(move || self.slice(turn), Duration::ZERO);
        }
    }

    /// What is known of a subject by now; nothing while the search is still at another.
    pub fn found(self, subject: &K) -> Option<Found> {
        let found = self.found.get();
        self.subject.with(|s| if s.as_ref() == Some(subject) { found } else { None })
    }

    /// How the search stands.
    pub fn phase(self) -> Phase {
        self.phase.get()
    }

    /// Asks the search of a subject for more than its numbers.
    pub fn ask<T>(self, subject: &K, what: impl FnOnce(&Search) -> Option<T>) -> Option<T> {
        self.found(subject)?;
        self.search.with_value(|s| what(s.as_ref()?))
    }

    /// What it says now.
    pub fn words(self) -> String {
        match self.found.get() {
            Some(found) => words(&found, self.phase.get()),
            None if self.phase.get() == Phase::Over => {
                "This heap is too large for the exact search.".to_owned()
            }
            None => "The exact search is about to begin.".to_owned(),
        }
    }
}

/// How the search closes in, from below and from above, with a button that stops it and lets it go on.
#[component]
pub fn SearchLine<K: Clone + PartialEq + Send + Sync + 'static>(
    /// The search.
    searching: Searching<K>,
    /// What there is between: the least that the optimum could be before the search, and the most.
    #[prop(into)]
    between: Signal<(u64, u64)>,
) -> impl IntoView {
    let phase = searching.phase;
    let is_running = move || phase.get() == Phase::Running;
    let press =
        move |_| if phase.get_untracked() == Phase::Running { searching.stop() } else { searching.go_on() };
    let share = move |of: fn(&Found) -> u64| {
        let (from, to) = between.get();
        let at = searching.found.with(|f| f.as_ref().map(of)).unwrap_or(from).clamp(from, to.max(from));
        // Whole tenths of a per cent.
        let tenths = u128::from(at - from) * 1000 / u128::from((to - from).max(1));
        if to == from { 0 } else { tenths }
    };
    let per_cent = |tenths: u128| format!("{}.{}%", tenths / 10, tenths % 10);
    let said = move || match phase.get() {
        Phase::Stopped | Phase::Over => searching.words(),
        Phase::Waiting | Phase::Running => String::new(),
    };
    let name = move || match phase.get() {
        Phase::Waiting => "waiting",
        Phase::Running => "running",
        Phase::Stopped => "stopped",
        Phase::Over => "over",
    };
    let numbers =
        move || searching.found.with(|f| f.map(|f| format!("{} {} {}", f.bound, f.height, f.nodes)));
    view! {
        <div class="searching" data-search=name data-found=numbers>
            <p class="words">{move || searching.words()}</p>
            <div class="closing" aria-hidden="true">
                <i
                    style:left=move || per_cent(share(|f| f.bound))
                    style:right=move || per_cent(1000 - share(|f| f.height))
                ></i>
            </div>
            <button
                type="button"
                disabled=move || !matches!(phase.get(), Phase::Running | Phase::Stopped)
                on:click=press
            >
                {move || if is_running() { "Stop" } else { "Search on" }}
            </button>
            <p class="hidden" role="status">{said}</p>
        </div>
    }
}
