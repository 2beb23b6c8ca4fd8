//! What list, desk and teacher's page share: the lesson at hand, how far the reader has come, and the lesson that is being made.

use super::{Lesson, Place, Which, read_draft, shipped, unpacked, write};
use crate::book::Book;
use crate::state::State;
use leptos::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where the progress is kept, and the teacher's draft: in the browser, nowhere else.
const PROGRESS: &str = "lessons";
const DRAFT: &str = "lesson-draft";

/// The name of the lesson's answer in the state of a step's figure.
pub const ANSWER: &str = "lesson";

/// A step that is open.
#[derive(Clone, PartialEq, Debug)]
pub struct Open {
    /// Where in which lesson.
    pub place: Place,
    /// The lesson.
    pub lesson: Arc<Lesson>,
}

/// What became of the lesson that the address names.
#[derive(Clone, PartialEq, Debug)]
pub enum Now {
    /// It names none.
    None,
    /// It is open.
    Open(Open),
    /// It cannot be opened, and why.
    Broken(String),
}

/// A step of the lesson that is being made. Its number stays the same wherever it is moved.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Its number.
    pub id: u32,
    /// What it is so far.
    pub step: super::Step,
}

/// The lesson that is being made.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Draft {
    /// A few words.
    pub title: String,
    /// For whom, and what for.
    pub about: String,
    /// Its steps.
    pub rows: Vec<Row>,
    next: u32,
}

impl Draft {
    /// A lesson, to be changed.
    pub fn of(lesson: Lesson) -> Self {
        let mut draft = Self { title: lesson.title, about: lesson.about, ..Self::default() };
        for step in lesson.steps {
            draft.push(step);
        }
        draft
    }

    /// One more step.
    pub fn push(&mut self, step: super::Step) {
        self.rows.push(Row { id: self.next, step });
        self.next += 1;
    }

    /// As a lesson.
    pub fn lesson(&self) -> Lesson {
        Lesson {
            title: self.title.clone(),
            about: self.about.clone(),
            steps: self.rows.iter().map(|r| r.step.clone()).collect(),
        }
    }
}

/// All of it: one word, to be passed about.
#[derive(Clone, Copy)]
pub struct Classroom {
    /// The page's figures.
    pub book: Book,
    /// The lesson and the step that the address names.
    pub now: Memo<Now>,
    /// The steps that are done, by lesson.
    pub done: RwSignal<BTreeMap<String, BTreeSet<usize>>>,
    /// A lesson that was opened from a file.
    pub file: RwSignal<Option<Arc<Lesson>>>,
    /// The lesson that is being made.
    pub draft: RwSignal<Draft>,
    /// Have the lessons' styles come?
    pub styled: RwSignal<bool>,
    /// How the reader left a step.
    left: StoredValue<BTreeMap<(String, usize), State>>,
    /// The figure that begins as a step has it.
    begun: StoredValue<Option<String>>,
}

fn storage() -> Option<web_sys::Storage> {
    window().local_storage().ok().flatten()
}

fn keep(key: &str, text: &str) {
    if let Some(storage) = storage() {
        // Full or forbidden: then it is kept as long as the page.
        _ = if text.is_empty() { storage.remove_item(key) } else { storage.set_item(key, text) };
    }
}

fn kept(key: &str) -> Option<String> {
    storage()?.get_item(key).ok().flatten()
}

/// `new=0.1.4;memory=2`.
fn progress_of(text: &str) -> BTreeMap<String, BTreeSet<usize>> {
    text.split(';')
        .filter_map(|part| {
            let (key, steps) = part.split_once('=')?;
            Some((
                key.to_owned(),
                steps.split('.').filter_map(|n| n.parse().ok()).take(super::MOST_STEPS).collect(),
            ))
        })
        .take(200)
        .collect()
}

fn progress_text(done: &BTreeMap<String, BTreeSet<usize>>) -> String {
    let part = |(key, steps): (&String, &BTreeSet<usize>)| {
        let steps: Vec<String> = steps.iter().map(usize::to_string).collect();
        format!("{key}={}", steps.join("."))
    };
    done.iter().filter(|(_, steps)| !steps.is_empty()).map(part).collect::<Vec<_>>().join(";")
}

impl Classroom {
    /// Follows the address from then on.
    pub fn new(book: Book) -> Self {
        let file = RwSignal::new(None::<Arc<Lesson>>);
        let told = Memo::new(move |_| book.mode("lesson"));
        // Read once for all its steps.
        let read_before = StoredValue::new(None::<(Which, Arc<Lesson>)>);
        let now = Memo::new(move |_| {
            let Some(told) = told.get() else { return Now::None };
            let Some(place) = Place::decode(&told) else {
                return Now::Broken("The address does not say which step of which lesson.".to_owned());
            };
            let before =
                read_before.get_value().filter(|(which, _)| *which == place.which && *which != Which::File);
            let lesson = match (before, &place.which) {
                (Some((_, lesson)), _) => Ok(lesson),
                (None, Which::Shipped(id)) => {
                    shipped(id).map(Arc::new).ok_or_else(|| "There is no lesson of that name.".to_owned())
                }
                (None, Which::Packed(packed)) => unpacked(packed)
                    .map(Arc::new)
                    .map_err(|fault| format!("The lesson in the address cannot be read. {fault}")),
                (None, Which::File) => file.get().ok_or_else(|| {
                    "This lesson came from a file. Open the file again to go on, below, under Lessons."
                        .to_owned()
                }),
            };
            match lesson {
                Ok(lesson) => {
                    read_before.set_value(Some((place.which.clone(), Arc::clone(&lesson))));
                    if place.step < lesson.steps.len() {
                        Now::Open(Open { place, lesson })
                    } else {
                        Now::Broken(format!(
                            "The lesson ends at step {}; there is no step {}.",
                            lesson.steps.len(),
                            place.step + 1
                        ))
                    }
                }
                Err(words) => Now::Broken(words),
            }
        });
        let done = RwSignal::new(kept(PROGRESS).map(|t| progress_of(&t)).unwrap_or_default());
        let draft = kept(DRAFT).and_then(|text| read_draft(&text).ok()).map(Draft::of).unwrap_or_default();
        let this = Self {
            book,
            now,
            done,
            file,
            draft: RwSignal::new(draft),
            styled: RwSignal::new(false),
            left: StoredValue::new(BTreeMap::new()),
            begun: StoredValue::new(None),
        };
        Effect::watch(
            move || this.draft.with(Draft::lesson),
            move |lesson, _, _| {
                let is_empty = lesson.steps.is_empty() && lesson.title.is_empty() && lesson.about.is_empty();
                keep(DRAFT, &if is_empty { String::new() } else { write(lesson) });
            },
            false,
        );
        // The figure of the step begins as the step has it, and the one before as it does on the page.
        Effect::new(move |_| {
            let open = match this.now.get() {
                Now::Open(open) => Some(open),
                _ => None,
            };
            let step = open.as_ref().map(|o| o.lesson.steps[o.place.step].clone());
            let figure = step.as_ref().map(|s| s.figure.clone());
            if let Some(old) = this.begun.get_value().filter(|old| Some(old) != figure.as_ref()) {
                book.begin(&old, None, None);
            }
            if let Some(step) = step {
                book.begin(&step.figure, step.state, None);
                book.parts.fetch_for(&figure.clone().unwrap_or_default());
            }
            this.begun.set_value(figure);
        });
        this
    }

    /// Goes to a step, as it was left or else as it begins.
    pub fn go(self, open: &Open) {
        self.leave_step();
        let step = &open.lesson.steps[open.place.step];
        let left = self.left.with_value(|l| l.get(&(open.place.key(), open.place.step)).cloned());
        let own = || self.book.figure(&step.figure).map(crate::workbench::Workbench::own_state);
        self.book.begin(&step.figure, step.state.clone(), left.or_else(|| step.state.clone()).or_else(own));
        self.begun.set_value(Some(step.figure.clone()));
        let mut modes = vec![("lesson".to_owned(), open.place.encode())];
        if untrack(|| self.book.mode("present")).is_some() {
            modes.push(("present".to_owned(), "1".to_owned()));
        }
        self.book.set_modes(modes, &step.figure);
    }

    /// Notes how the reader leaves the step that is open, and lets its figure be as it is on the page.
    fn leave_step(self) {
        let Now::Open(open) = self.now.get_untracked() else { return };
        let id = &open.lesson.steps[open.place.step].figure;
        if let Some(figure) = self.book.figure(id) {
            let state = figure.state.get_untracked();
            self.left.update_value(|l| _ = l.insert((open.place.key(), open.place.step), state));
            self.book.begin(id, None, Some(figure.own_state()));
        }
        self.begun.set_value(None);
    }

    /// Back to the page, at the figure of the step, which keeps its state.
    pub fn leave(self) {
        let Now::Open(open) = self.now.get_untracked() else {
            return self.show_page("lessons");
        };
        let id = open.lesson.steps[open.place.step].figure.clone();
        if let Some(figure) = self.book.figure(&id) {
            let mut state = figure.state.get_untracked();
            self.left.update_value(|l| _ = l.insert((open.place.key(), open.place.step), state.clone()));
            // The answer belongs to the lesson.
            state.view.remove(ANSWER);
            self.book.begin(&id, None, Some(state));
            self.begun.set_value(None);
        }
        self.show_page(&id);
    }

    fn show_page(self, anchor: &str) {
        self.book.set_modes(Vec::new(), anchor);
        let (book, anchor) = (self.book, anchor.to_owned());
        request_animation_frame(move || book.show(&anchor));
    }

    /// Is a step done?
    pub fn is_done(self, key: &str, step: usize) -> bool {
        self.done.with(|d| d.get(key).is_some_and(|steps| steps.contains(&step)))
    }

    /// Notes that a step is done.
    pub fn note(self, place: &Place) {
        let key = place.key();
        if !untrack(|| self.is_done(&key, place.step)) {
            self.done.update(|d| _ = d.entry(key).or_default().insert(place.step));
            keep(PROGRESS, &self.done.with_untracked(progress_text));
        }
    }

    /// Forgets what was done in a lesson.
    pub fn forget(self, key: &str) {
        self.done.update(|d| _ = d.remove(key));
        self.left.update_value(|l| l.retain(|(lesson, _), _| lesson != key));
        keep(PROGRESS, &self.done.with_untracked(progress_text));
    }
}
