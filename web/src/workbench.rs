//! The signals that the parts of the page share, and the only functions that change them.

use crate::engine::{self, Opened, Problem, Run, Threshold};
use crate::modules::{FIRST_TEXT, SHIPPED, shipped};
use crate::state::{End, History, Selection, Source, State};
use crate::story::{self, Outcome};
use leptos::prelude::*;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::JsValue;

/// Shared, and equal only to itself: a signal that holds it tells its readers when there is another one.
#[derive(Debug)]
pub struct Shared<T>(Arc<T>);

impl<T> Shared<T> {
    /// Makes it shared.
    pub fn new(inner: T) -> Self {
        Self(Arc::new(inner))
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Where both ends of the selected value would break a sharing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thresholds {
    /// Towards the program's start.
    pub start: Vec<Threshold>,
    /// Towards its end.
    pub end: Vec<Threshold>,
}

/// What the parts of the page share.
#[derive(Clone, Copy)]
pub struct Workbench {
    history: RwSignal<History>,
    /// What is shown.
    pub state: Memo<State>,
    /// The last good module. It stays while a text cannot be read.
    pub opened: RwSignal<Option<Shared<Opened>>>,
    /// The source `opened` was made from.
    opened_from: RwSignal<Option<Source>>,
    /// What is wrong with the text.
    pub problems: RwSignal<Vec<Problem>>,
    /// The text of the present source, once it is there.
    pub text: RwSignal<Arc<str>>,
    /// The present assignment.
    pub run: Memo<Option<Shared<Run>>>,
    /// What the edits did, in words.
    pub outcome: Memo<Option<Outcome>>,
    /// The selected value, if it exists.
    pub selected: Memo<Option<u32>>,
    /// Where it would break a sharing.
    pub thresholds: Memo<Thresholds>,
    /// The value under the pointer.
    pub hover: RwSignal<Option<u32>>,
    /// The step under the pointer.
    pub cursor: RwSignal<Option<u32>>,
    /// Where the pointer is in the window, over a figure.
    pub pointer: RwSignal<Option<(f64, f64)>>,
    /// What a free place under the pointer is.
    pub place: RwSignal<String>,
    /// What the live region says.
    pub announced: RwSignal<String>,
    /// The end that the pointer is dragging.
    pub dragging: RwSignal<Option<End>>,
    texts: RwSignal<HashMap<String, Arc<str>>>,
}

impl Workbench {
    /// Starts from the address, or with the first module.
    pub fn start() -> Self {
        let first = State::new(Source::Shipped(SHIPPED[0].id.to_owned()));
        let from_address = State::from_hash(&hash()).filter(known);
        let history = RwSignal::new(History::new(from_address.unwrap_or(first)));
        let state = Memo::new(move |_| history.with(|h| h.now().clone()));
        let opened = RwSignal::new(None::<Shared<Opened>>);
        let opened_from = RwSignal::new(None);
        // Edits belong to the module they were made on; while another one is on its way they are not applied.
        let edits = Memo::new(move |_| {
            let here = opened_from.with(|from| state.with(|s| from.as_ref() == Some(&s.source)));
            if here { state.with(|s| s.edits.clone()) } else { Vec::new() }
        });
        let run = Memo::new(move |_| {
            let opened = opened.get()?;
            edits.with(|edits| Some(Shared::new(opened.run(edits))))
        });
        let suggested = Memo::new(move |_| {
            let opened = opened.get()?;
            let id = state.with(|s| match &s.source {
                Source::Shipped(id) => Some(id.clone()),
                Source::Own(_) => None,
            });
            let named = id.and_then(|id| shipped(&id)?.suggested);
            named.and_then(|name| opened.find(name)).or_else(|| opened.suggest())
        });
        let selected = Memo::new(move |_| {
            let value = match state.with(|s| s.selection) {
                Selection::Suggested => suggested.get(),
                Selection::Nothing => None,
                Selection::Value(v) => Some(v),
            }?;
            opened.with(|o| o.as_ref()?.original.picture.item(value).map(|_| value))
        });
        // Where the sharings break is asked of the packing as it is without an edit of this very value: so a mark stays
        // where it is while the end is pulled over it.
        let others = Memo::new(move |_| {
            let selected = selected.get();
            edits.with(|e| e.iter().copied().filter(|e| Some(e.value) != selected).collect::<Vec<_>>())
        });
        let thresholds = Memo::new(move |_| {
            let (Some(opened), Some(value)) = (opened.get(), selected.get()) else {
                return Thresholds::default();
            };
            let of = |run: &Run| Thresholds {
                start: opened.thresholds(run, value, End::Start),
                end: opened.thresholds(run, value, End::End),
            };
            others.with(|o| if o.is_empty() { of(&opened.original) } else { of(&opened.run(o)) })
        });
        let outcome = Memo::new(move |_| story::outcome(&*opened.get()?, &*run.get()?, selected.get()));
        let this = Self {
            history,
            outcome,
            state,
            opened,
            opened_from,
            problems: RwSignal::new(Vec::new()),
            text: RwSignal::new(Arc::from("")),
            run,
            selected,
            thresholds,
            hover: RwSignal::new(None),
            cursor: RwSignal::new(None),
            pointer: RwSignal::new(None),
            place: RwSignal::new(String::new()),
            announced: RwSignal::new(String::new()),
            dragging: RwSignal::new(None),
            texts: RwSignal::new(HashMap::from([(SHIPPED[0].id.to_owned(), Arc::from(FIRST_TEXT))])),
        };
        let source = Memo::new(move |_| state.with(|s| s.source.clone()));
        // At once, so that the first paint has its picture; later sources follow as they change.
        this.load(&source.get_untracked());
        // A text from the address that cannot be read: nothing is there to be shown but what is wrong with it.
        if this.opened.with_untracked(Option::is_none) && this.problems.with_untracked(|p| !p.is_empty()) {
            this.update(|s| s.text = true);
        }
        Effect::watch(move || source.get(), move |source, _, _| this.load(source), false);
        this.follow_address();
        this
    }

    /// Brings a source's text and opens it.
    fn load(self, source: &Source) {
        match source {
            Source::Own(text) => self.open(source.clone(), Arc::from(text.as_str())),
            Source::Shipped(id) => {
                self.problems.set(Vec::new());
                if let Some(text) = self.texts.with_untracked(|t| t.get(id).cloned()) {
                    return self.open(source.clone(), text);
                }
                let (id, source) = (id.clone(), source.clone());
                leptos::task::spawn_local(async move {
                    let text = fetch(&format!("modules/{id}.txt")).await;
                    let wanted = self.state.with_untracked(|s| s.source == source);
                    match text {
                        Some(text) => {
                            let text: Arc<str> = Arc::from(text);
                            self.texts.update_untracked(|t| _ = t.insert(id, Arc::clone(&text)));
                            if wanted {
                                self.open(source, text);
                            }
                        }
                        None if wanted => self.problems.set(vec![Problem {
                            line: 1,
                            column: 1,
                            is_error: true,
                            message: format!("modules/{id}.txt could not be fetched"),
                        }]),
                        None => {}
                    }
                });
            }
        }
    }

    fn open(self, source: Source, text: Arc<str>) {
        // A text that is being changed keeps its selected value, by name: numbers may have moved.
        let kept = self.selected.get_untracked().filter(|_| matches!(source, Source::Own(_))).and_then(|v| {
            self.opened.with_untracked(|o| Some(o.as_ref()?.original.picture.item(v)?.name.clone()))
        });
        let opened = engine::open(&text);
        self.text.set(text);
        self.hover.set(None);
        self.cursor.set(None);
        match opened {
            Ok(opened) => {
                self.problems.set(opened.remarks.clone());
                self.opened_from.set(Some(source));
                let kept = kept.and_then(|name| opened.find(&name));
                self.opened.set(Some(Shared::new(opened)));
                if kept.is_some() && self.state.with_untracked(|s| s.selection == Selection::Suggested) {
                    self.select(kept);
                }
            }
            Err(problems) => self.problems.set(problems),
        }
    }

    /// Is what is shown older than the text, because the text cannot be read?
    pub fn is_stale(self) -> bool {
        self.opened_from.with(|from| self.state.with(|s| from.as_ref() != Some(&s.source)))
    }

    /// Goes to another state.
    pub fn set(self, next: State) {
        let mut changed = false;
        self.history.update(|h| changed = h.set(next));
        self.write_address(changed);
        if changed {
            self.announce();
        }
    }

    /// Changes selection or view.
    pub fn update(self, change: impl FnOnce(&mut State)) {
        let mut next = self.state.get_untracked();
        change(&mut next);
        self.set(next);
    }

    /// Selects a value, or none.
    pub fn select(self, value: Option<u32>) {
        self.update(|s| s.selection = value.map_or(Selection::Nothing, Selection::Value));
    }

    /// Moves one end of a range towards a step; [`Workbench::settle`] makes it an entry of the history.
    pub fn move_end(self, value: u32, end: End, to: i64) {
        let Some((original, last)) = self.opened.with_untracked(|o| {
            let picture = &o.as_ref()?.original.picture;
            Some((picture.item(value).map(|i| (i.start, i.end))?, picture.last()))
        }) else {
            return;
        };
        let now = self.state.get_untracked();
        let mut next = now.with_end(value, original, end, to, last);
        next.selection = Selection::Value(value);
        if next != now {
            self.history.update(|h| h.preview(next));
        }
    }

    /// The end of a move.
    pub fn settle(self) {
        let mut changed = false;
        self.history.update(|h| changed = h.settle());
        if changed {
            self.write_address(true);
            self.announce();
        }
    }

    /// Undo.
    pub fn undo(self) {
        self.walk(History::undo);
    }

    /// Redo.
    pub fn redo(self) {
        self.walk(History::redo);
    }

    fn walk(self, step: fn(&mut History) -> bool) {
        let mut moved = false;
        self.history.update(|h| moved = step(h));
        if moved {
            self.write_address(false);
            self.announce();
        }
    }

    /// Is there anything to undo?
    pub fn can_undo(self) -> bool {
        self.history.with(History::can_undo)
    }

    /// Is there anything to redo?
    pub fn can_redo(self) -> bool {
        self.history.with(History::can_redo)
    }

    /// Says the result to those who hear the page.
    fn announce(self) {
        let said = self.run.with_untracked(|run| {
            Some(match self.outcome.get_untracked() {
                Some(o) => format!("{} {} {}", o.deed, o.difference, o.rest),
                None => story::peak(run.as_ref()?),
            })
        });
        self.announced.set(said.unwrap_or_default());
    }

    fn write_address(self, as_entry: bool) {
        let to = self.state.with_untracked(State::to_hash);
        if to == hash() {
            return;
        }
        let Ok(history) = window().history() else { return };
        // Browsers refuse very long addresses, and too many in a short time; the page works on without.
        _ = if as_entry {
            history.push_state_with_url(&JsValue::NULL, "", Some(&to))
        } else {
            history.replace_state_with_url(&JsValue::NULL, "", Some(&to))
        };
    }

    /// Back, Forward and addresses typed by hand.
    fn follow_address(self) {
        let handle = window_event_listener(leptos::ev::popstate, move |_| {
            let first = || State::new(Source::Shipped(SHIPPED[0].id.to_owned()));
            let hash = hash();
            let state = if hash.is_empty() { Some(first()) } else { State::from_hash(&hash).filter(known) };
            if let Some(state) = state
                && self.state.with_untracked(|now| *now != state)
            {
                self.history.update(|h| h.jump(state));
                self.announce();
            }
        });
        on_cleanup(move || handle.remove());
    }

    /// Text typed by the reader: their own, unless it is one that came with the page.
    pub fn type_text(self, text: String) {
        let shipped = self.texts.with_untracked(|texts| {
            let mut ids: Vec<_> =
                texts.iter().filter(|(_, t)| ***t == *text).map(|(id, _)| id.clone()).collect();
            ids.sort_unstable();
            ids.into_iter().next()
        });
        let source = shipped.map_or(Source::Own(text), Source::Shipped);
        self.update(|s| {
            if s.source != source {
                *s = State { all_rows: s.all_rows, table: s.table, text: s.text, ..State::new(source) };
            }
        });
    }
}

fn known(state: &State) -> bool {
    match &state.source {
        Source::Shipped(id) => shipped(id).is_some(),
        Source::Own(_) => true,
    }
}

fn hash() -> String {
    window().location().hash().unwrap_or_default()
}

async fn fetch(path: &str) -> Option<String> {
    use wasm_bindgen_futures::JsFuture;
    let response: web_sys::Response =
        JsFuture::from(window().fetch_with_str(path)).await.ok()?.dyn_into().ok()?;
    if !response.ok() {
        return None;
    }
    JsFuture::from(response.text().ok()?).await.ok()?.as_string()
}

/// The workbench of this page.
pub fn use_workbench() -> Workbench {
    expect_context()
}
