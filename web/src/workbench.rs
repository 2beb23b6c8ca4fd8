//! What the parts of one figure share, and the only functions that change it.
//!
//! Every figure has its own: `Workbench::for_figure("clock", State::new(...))`. Give it to `Figure`, which hands it to what
//! is inside; prose outside uses it by name.

use crate::book::{Book, Read, use_book};
use crate::engine::{Opened, Problem, Run, Threshold};
use crate::modules::shipped;
use crate::scene::Scene;
use crate::state::{End, History, Param, Selection, Source, State};
use crate::story::{self, Outcome};
use leptos::prelude::*;
use std::ops::Deref;
use std::sync::Arc;

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

/// A picture that can be exported: its heading and the scene as it is now.
type Export = (&'static str, Callback<(), Option<Scene>>);

/// What the parts of a figure share: one word, to be passed about and kept in closures. There are as many as figures, and
/// they are there as long as the page.
#[derive(Clone, Copy)]
pub struct Workbench(&'static Signals);

impl Deref for Workbench {
    type Target = Signals;
    fn deref(&self) -> &Signals {
        self.0
    }
}

/// What there is to be read of a figure, and listened to.
pub struct Signals {
    /// The figure's id: in the document and in the address.
    pub id: &'static str,
    book: Book,
    /// What it begins with, on the page or in a lesson, and what it begins with on the page.
    default: StoredValue<State>,
    own: StoredValue<State>,
    first: StoredValue<Option<&'static str>>,
    history: RwSignal<History>,
    /// What is shown.
    pub state: Memo<State>,
    /// Has the figure been near the screen? Until then nothing is fetched, read or computed.
    pub awake: RwSignal<bool>,
    /// The last good module, as its text has it. It stays while a text cannot be read.
    pub base: RwSignal<Option<Shared<Opened>>>,
    /// The same with the reader's order of instructions; `base` itself where nothing was moved.
    pub opened: Memo<Option<Shared<Opened>>>,
    /// The source `base` was made from.
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
    words: StoredValue<Option<Callback<(), String>>>,
    pictures: StoredValue<Vec<Export>>,
}

impl Workbench {
    /// A figure's own workbench: the state that the address gives it, or else `default`. Made once for each id, where the
    /// chapter is; it sleeps until its `Figure` comes near the screen.
    pub fn for_figure(id: &'static str, default: State) -> Self {
        let book = use_book();
        let own = StoredValue::new(default.clone());
        let default = book.first_of(id).unwrap_or(default);
        let history = RwSignal::new(History::new(book.state_of(id, &default)));
        let state = Memo::new(move |_| history.with(|h| h.now().clone()));
        let base = RwSignal::new(None::<Shared<Opened>>);
        let opened_from = RwSignal::new(None);
        // Changes belong to the module they were made on; while another one is on its way they are not applied.
        let here = move || opened_from.with(|from| state.with(|s| from.as_ref() == Some(&s.source)));
        let edits = Memo::new(move |_| if here() { state.with(|s| s.edits.clone()) } else { Vec::new() });
        let moves = Memo::new(move |_| if here() { state.with(|s| s.moves.clone()) } else { Vec::new() });
        let opened = Memo::new(move |_| {
            let base = base.get()?;
            moves
                .with(|m| if m.is_empty() { None } else { base.reordered(m) })
                .map(Shared::new)
                .or(Some(base))
        });
        let run = Memo::new(move |_| {
            let opened = opened.get()?;
            edits.with(|edits| Some(Shared::new(opened.run(edits))))
        });
        let first = StoredValue::new(None::<&'static str>);
        let suggested = Memo::new(move |_| {
            let base = base.get()?;
            if let Some(value) = first.get_value().and_then(|name| base.find(name)) {
                return Some(value);
            }
            let id = state.with(|s| match &s.source {
                Source::Shipped(id) => Some(id.clone()),
                Source::Own(_) => None,
            });
            let named = id.and_then(|id| shipped(&id)?.suggested);
            named.and_then(|name| base.find(name)).or_else(|| base.suggest())
        });
        let selected = Memo::new(move |_| {
            let value = match state.with(|s| s.selection) {
                Selection::Suggested => suggested.get(),
                Selection::Nothing => None,
                Selection::Value(v) => Some(v),
            }?;
            base.with(|o| o.as_ref()?.original.picture.item(value).map(|_| value))
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
        let this = Self(Box::leak(Box::new(Signals {
            id,
            book,
            default: StoredValue::new(default),
            own,
            first,
            history,
            outcome,
            state,
            awake: RwSignal::new(false),
            base,
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
            words: StoredValue::new(None),
            pictures: StoredValue::new(Vec::new()),
        })));
        book.register(this);
        let source = Memo::new(move |_| state.with(|s| s.source.clone()));
        Effect::watch(
            move || source.get(),
            move |source, _, _| {
                if this.awake.get_untracked() {
                    this.load(source);
                }
            },
            false,
        );
        this
    }

    /// Begins with the value of that name selected, where there is one; else with the one that suits the module.
    pub fn begin_with(self, name: &'static str) -> Self {
        self.first.set_value(Some(name));
        self
    }

    /// Begins to work: what the figure shows is fetched and read, at once where it is there already.
    pub fn wake(self) {
        if self.awake.get_untracked() {
            return;
        }
        self.awake.set(true);
        self.load(&self.state.with_untracked(|s| s.source.clone()));
        // A text from the address that cannot be read: nothing is there to be shown but what is wrong with it.
        if self.base.with_untracked(Option::is_none) && self.problems.with_untracked(|p| !p.is_empty()) {
            self.update(|s| s.text = true);
        }
    }

    /// Brings a source's text and opens it.
    fn load(self, source: &Source) {
        self.problems.set(Vec::new());
        let wanted = source.clone();
        self.book.read(source.clone(), move |read| {
            if self.state.with_untracked(|s| s.source == wanted) {
                self.open(wanted, read);
            }
        });
    }

    fn open(self, source: Source, read: Read) {
        // A text that is being changed keeps its selected value, by name: numbers may have moved.
        let kept = self.selected.get_untracked().filter(|_| matches!(source, Source::Own(_))).and_then(|v| {
            self.base.with_untracked(|o| Some(o.as_ref()?.original.picture.item(v)?.name.clone()))
        });
        self.text.set(read.text);
        self.hover.set(None);
        self.cursor.set(None);
        match read.opened {
            Ok(opened) => {
                self.problems.set(opened.remarks.clone());
                self.opened_from.set(Some(source));
                let kept = kept.and_then(|name| opened.find(&name));
                self.base.set(Some(opened));
                if kept.is_some() && self.state.with_untracked(|s| s.selection == Selection::Suggested) {
                    self.select(kept);
                }
            }
            Err(problems) => self.problems.set(problems),
        }
    }

    /// Is what is shown older than the text, because the text cannot be read?
    pub fn is_stale(self) -> bool {
        self.opened_from.with(|from| match from {
            Some(from) => self.state.with(|s| *from != s.source),
            // Nothing could be drawn yet: asleep, on its way, or the text is one that cannot be read.
            None => self.problems.with(|p| p.iter().any(|p| p.is_error)),
        })
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

    /// Sets a parameter of this figure; it can be undone.
    pub fn set_param(self, key: &str, value: impl Into<Param>) {
        self.set(self.state.get_untracked().with_param(key, value));
    }

    /// The same while something is being dragged: [`Workbench::settle`] makes it an entry of the history.
    pub fn preview_param(self, key: &str, value: impl Into<Param>) {
        self.preview(self.state.get_untracked().with_param(key, value));
    }

    /// Another state while something is being dragged: [`Workbench::settle`] makes it an entry of the history.
    pub fn preview(self, next: State) {
        if self.state.with_untracked(|now| *now != next) {
            self.history.update(|h| h.preview(next));
        }
    }

    /// Sets how the figure is looked at: in the address, but nothing to undo.
    pub fn set_view(self, key: &str, value: impl Into<Param>) {
        self.update(|s| _ = s.view.insert(key.to_owned(), value.into()));
    }

    /// Takes a view setting back to where it is when nothing was said.
    pub fn clear_view(self, key: &str) {
        self.update(|s| _ = s.view.remove(key));
    }

    /// Moves an instruction towards a place in its computation, as far as what it depends on allows;
    /// [`Workbench::settle`] makes it an entry of the history.
    pub fn move_instruction(self, instruction: u32, to: i64) {
        let now = self.state.get_untracked();
        let Some(base) = self.base.get_untracked() else { return };
        let next = now.with_moves(base.moved(&now.moves, instruction, to));
        if next != now {
            self.history.update(|h| h.preview(next));
        }
    }

    /// Puts back what the reader changed; in a step of a lesson the program too.
    pub fn reset(self) {
        let next = untrack(|| self.state.with(|now| self.put_back(now)));
        self.set(next);
    }

    /// Is there anything to put back?
    pub fn is_changed(self) -> bool {
        self.state.with(|now| self.put_back(now) != *now)
    }

    fn put_back(self, now: &State) -> State {
        let is_step = self.book.mode("lesson").is_some();
        self.default.with_value(|first| {
            if is_step && first.source != now.source {
                let mut next = first.clone();
                next.keep_view(now);
                next
            } else {
                now.reset(first)
            }
        })
    }

    /// What the figure shows of a program when it is chosen: in a step of a lesson, with the step's own one, what the step
    /// begins with.
    pub fn with_source(self, source: Source) -> State {
        let is_step = untrack(|| self.book.mode("lesson").is_some());
        let first = is_step.then(|| self.default.get_value()).filter(|first| first.source == source);
        first.unwrap_or_else(|| State::new(source))
    }

    /// The value of that name.
    pub fn find(self, name: &str) -> Option<u32> {
        self.base.with(|b| b.as_ref()?.find(name))
    }

    /// What the live region is to say after a change, in place of what it says of edited ranges.
    pub fn say_with(self, words: impl Fn() -> String + Send + Sync + 'static) {
        self.words.set_value(Some(Callback::new(move |()| words())));
    }

    /// Adds a picture to what an export holds.
    pub fn export(self, title: &'static str, scene: impl Fn() -> Option<Scene> + Send + Sync + 'static) {
        self.pictures.update_value(|p| p.push((title, Callback::new(move |()| scene()))));
    }

    /// The pictures as they are now.
    pub fn scenes(self) -> Vec<(&'static str, Scene)> {
        let pictures = self.pictures.get_value();
        pictures.into_iter().filter_map(|(title, scene)| Some((title, scene.run(())?))).collect()
    }

    /// Notes that the reader is at this figure.
    pub fn touch(self) {
        self.book.touch(self.id);
    }

    /// Brings the figure into view, and the keyboard with it, unless its head is on the screen.
    pub fn show(self) {
        let top = document().get_element_by_id(self.id).map(|e| e.get_bounding_client_rect().top());
        let height = window().inner_height().ok().and_then(|h| h.as_f64()).unwrap_or(0.0);
        if top.is_some_and(|top| top < 0.0 || top > height / 2.0) {
            self.book.show(self.id);
        }
    }

    /// Its part of the address; `None` while it is as it first was.
    pub fn to_address(self) -> Option<String> {
        let is_first = self.default.with_value(|d| self.state.with_untracked(|s| s == d));
        (!is_first).then(|| self.state.with_untracked(State::encode))
    }

    /// Its state for a link to it alone; `None` where it is as it first is on the page.
    pub fn to_link(self) -> Option<String> {
        let is_own = self.own.with_value(|d| self.state.with_untracked(|s| s == d));
        (!is_own).then(|| self.state.with_untracked(State::encode))
    }

    /// What it begins with on the page.
    pub fn own_state(self) -> State {
        self.own.get_value()
    }

    /// Begins with another state, `None` for its own, and goes to `now`, or else to where the address has it.
    pub fn begin(self, first: Option<State>, now: Option<State>) {
        let first = first.unwrap_or_else(|| self.own.get_value());
        let to = now.unwrap_or_else(|| self.book.state_of(self.id, &first));
        self.default.set_value(first);
        // What was done at another place of the lesson is not undone from here.
        if self.state.with_untracked(|s| *s != to) {
            self.history.set(History::new(to));
        }
    }

    /// Goes to the state that the address has; `true` if that is another one.
    pub fn follow_address(self) -> bool {
        let state = self.default.with_value(|d| self.book.state_of(self.id, d));
        if self.state.with_untracked(|now| *now == state) {
            return false;
        }
        self.history.update(|h| h.jump(state));
        self.announce();
        self.tell();
        true
    }

    /// Says the result to those who hear the page.
    fn announce(self) {
        if let Some(words) = self.words.get_value() {
            return self.announced.set(untrack(move || words.run(())));
        }
        let said = self.run.with_untracked(|run| {
            Some(match self.outcome.get_untracked() {
                Some(o) => format!("{} {} {}", o.deed, o.difference, o.rest),
                None => story::peak(run.as_ref()?),
            })
        });
        self.announced.set(said.unwrap_or_default());
    }

    fn write_address(self, as_entry: bool) {
        self.book.write(self.id, as_entry);
        self.tell();
    }

    /// Tells the page around a frame what is shown in it.
    pub fn tell(self) {
        Book::tell(self.id, &self.to_address().unwrap_or_default());
    }

    /// Is there something to be seen: the picture, or what is wrong? Tracked.
    pub fn is_there(self) -> bool {
        self.awake.get() && (self.base.with(Option::is_some) || self.problems.with(|p| !p.is_empty()))
    }

    /// Text typed by the reader: their own, unless it is one that came with the page.
    pub fn type_text(self, text: String) {
        let shipped = self.book.shipped_text(&text);
        let source = shipped.map_or(Source::Own(text), Source::Shipped);
        self.update(|s| {
            if s.source != source {
                *s = State { all_rows: s.all_rows, table: s.table, text: s.text, ..self.with_source(source) };
            }
        });
    }
}

/// The workbench of the figure around.
pub fn use_workbench() -> Workbench {
    expect_context()
}
