//! What the page knows: what was opened, what is chosen, and how it is looked at.

use crate::link::Link;
use crate::talk::{
    Answer, Ask, Chosen, Detail, Edit, Filter, Group, MapData, Opened, Sort, Source, Trial, Tried,
};
use browser::Palette;
use js_sys::Array;
use leptos::prelude::*;
use std::rc::Rc;
use std::sync::Arc;
use wasm_bindgen::JsValue;

/// The panes below the map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tab {
    /// Values, at the peak or at any time.
    Values,
    /// Allocations with their owners.
    Slabs,
    /// The decision log.
    Decisions,
    /// The module's text.
    Text,
    /// Questions in words.
    Ask,
    /// Changes, each run again.
    Try,
    /// Two dumps side by side.
    Compare,
    /// Files to be taken away.
    Take,
}

impl Tab {
    /// All, in order.
    pub const ALL: [Tab; 8] =
        [Tab::Values, Tab::Slabs, Tab::Decisions, Tab::Text, Tab::Ask, Tab::Try, Tab::Compare, Tab::Take];

    /// What stands on it.
    pub fn name(self) -> &'static str {
        match self {
            Tab::Values => "What is alive",
            Tab::Slabs => "Allocations",
            Tab::Decisions => "Decision log",
            Tab::Text => "HLO text",
            Tab::Ask => "Ask",
            Tab::Try => "Try",
            Tab::Compare => "Compare",
            Tab::Take => "Take away",
        }
    }
}

/// At which step values are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// At the step at which most of the temporaries is taken.
    Peak,
    /// At the step of the cursor.
    Cursor,
    /// At any.
    Ever,
}

/// Everything the page knows.
#[derive(Clone, Copy)]
pub struct Lab {
    /// The worker.
    pub link: Link,
    /// What was opened.
    pub opened: RwSignal<Option<Arc<Opened>>>,
    /// The module that is chosen.
    pub chosen: RwSignal<Option<Arc<Chosen>>>,
    /// Whose assignment is looked at.
    pub source: RwSignal<Source>,
    /// What is drawn of it.
    pub map: RwSignal<Option<Arc<MapData>>>,
    /// Which values are listed, but for the step.
    pub filter: RwSignal<Filter>,
    /// At which step.
    pub when: RwSignal<When>,
    /// By what they are put together.
    pub group: RwSignal<Group>,
    /// The group that is open.
    pub within: RwSignal<Option<String>>,
    /// In which order.
    pub sort: RwSignal<Sort>,
    /// The rows that fit the filter, by row; `None` if all do.
    pub fitting: RwSignal<Option<Arc<Vec<bool>>>>,
    /// The row that is selected.
    pub selected: RwSignal<Option<u32>>,
    /// Everything about it.
    pub detail: RwSignal<Option<Arc<Detail>>>,
    /// The cursor's step.
    pub step: RwSignal<u32>,
    /// The pane.
    pub tab: RwSignal<Tab>,
    /// The line of the text to go to, from 0.
    pub line: RwSignal<Option<u32>>,
    /// The two values of the question why they do not share.
    pub pair: RwSignal<(String, String)>,
    /// What was tried: each state of the edits, for undo and redo.
    pub trials: RwSignal<Vec<Trial>>,
    /// Which of them is shown; the first one is without edits.
    pub at_trial: RwSignal<usize>,
    /// What the one that is shown came to.
    pub tried: RwSignal<Option<Result<Arc<Tried>, String>>>,
    /// Makes the map that is shown into SVG.
    pub svg: StoredValue<Option<Rc<dyn Fn() -> String>>, LocalStorage>,
    /// The files that are open, pairs of path and file.
    pub files: StoredValue<Array, LocalStorage>,
    /// Are files to be opened beside those that are?
    pub keep: RwSignal<bool>,
    /// What went wrong last.
    pub problem: RwSignal<Option<String>>,
    /// What the live region says.
    pub announced: RwSignal<String>,
    /// Changes whenever the colours do.
    pub palette: Palette,
}

impl Lab {
    /// With nothing opened.
    pub fn new() -> Self {
        let lab = Self {
            link: Link::new(),
            opened: RwSignal::new(None),
            chosen: RwSignal::new(None),
            source: RwSignal::new(Source::Dump),
            map: RwSignal::new(None),
            filter: RwSignal::new(Filter::default()),
            when: RwSignal::new(When::Peak),
            group: RwSignal::new(Group::Shape),
            within: RwSignal::new(None),
            sort: RwSignal::new(Sort::Bytes),
            fitting: RwSignal::new(None),
            selected: RwSignal::new(None),
            detail: RwSignal::new(None),
            step: RwSignal::new(0),
            tab: RwSignal::new(Tab::Values),
            line: RwSignal::new(None),
            pair: RwSignal::new((String::new(), String::new())),
            trials: RwSignal::new(vec![Trial::default()]),
            at_trial: RwSignal::new(0),
            tried: RwSignal::new(None),
            svg: StoredValue::new_local(None),
            files: StoredValue::new_local(Array::new()),
            keep: RwSignal::new(false),
            problem: RwSignal::new(None),
            announced: RwSignal::new(String::new()),
            palette: Palette::new(),
        };
        lab.keep_detail();
        // A worker that begins anew has nothing opened.
        Effect::new(move |before: Option<u32>| {
            let now = lab.link.generation.get();
            if before.is_some_and(|b| b != now) {
                lab.forget();
            }
            now
        });
        lab
    }

    fn forget(self) {
        self.opened.set(None);
        self.chosen.set(None);
        self.map.set(None);
        self.selected.set(None);
        self.detail.set(None);
        self.fitting.set(None);
        self.problem.set(None);
        self.forget_trials();
    }

    fn forget_trials(self) {
        self.trials.set(vec![Trial::default()]);
        self.at_trial.set(0);
        self.tried.set(None);
    }

    /// The edits that are shown.
    pub fn trial(self) -> Trial {
        let at = self.at_trial.get();
        self.trials.with(|t| t.get(at).cloned().unwrap_or_default())
    }

    /// Is there something to take back?
    pub fn can_undo(self) -> bool {
        self.at_trial.get() > 0
    }

    /// Is there something to do again?
    pub fn can_redo(self) -> bool {
        self.at_trial.get() + 1 < self.trials.with(Vec::len)
    }

    /// Takes back, or does again.
    pub fn step_trial(self, by: isize) {
        let to = self.at_trial.get_untracked().saturating_add_signed(by);
        if to < self.trials.with_untracked(Vec::len) {
            self.at_trial.set(to);
            self.run_trial();
        }
    }

    /// Tries one more change; it takes the place of one of the same kind.
    pub fn try_edit(self, edit: Edit) {
        let at = self.at_trial.get_untracked();
        let mut trial = self.trials.with_untracked(|t| t.get(at).cloned().unwrap_or_default());
        trial.edits.retain(|e| match (e, &edit) {
            (Edit::Range { name: a, .. }, Edit::Range { name: b, .. }) => a != b,
            (Edit::Alignment { .. }, Edit::Alignment { .. })
            | (Edit::Algorithm { .. }, Edit::Algorithm { .. }) => false,
            _ => true,
        });
        trial.edits.push(edit);
        self.try_all(trial);
    }

    /// Tries these changes.
    pub fn try_all(self, trial: Trial) {
        let at = self.at_trial.get_untracked();
        self.trials.update(|t| {
            t.truncate(at + 1);
            t.push(trial);
        });
        self.at_trial.set(at + 1);
        self.run_trial();
    }

    fn run_trial(self) {
        let at = self.at_trial.get_untracked();
        let trial = self.trials.with_untracked(|t| t.get(at).cloned().unwrap_or_default());
        if trial.edits.is_empty() {
            self.tried.set(None);
            self.announced.set("Nothing is changed".to_owned());
            self.show(Source::Ours);
            return;
        }
        self.link.ask(Ask::Try(trial), move |answer| {
            if self.at_trial.get_untracked() != at {
                return;
            }
            match answer {
                Answer::Tried(tried) => {
                    self.announced.set(tried.words.first().cloned().unwrap_or_default());
                    self.tried.set(Some(Ok(Arc::from(tried))));
                    self.show(Source::Tried);
                }
                Answer::Failed(why) => self.tried.set(Some(Err(why))),
                _ => {}
            }
        });
    }

    /// Asks for whatever is to be said of the value that is selected.
    fn keep_detail(self) {
        Effect::new(move |_| {
            let source = self.source.get();
            let Some(row) = self.selected.get() else {
                self.detail.set(None);
                return;
            };
            self.link.ask(Ask::Value { source, row }, move |answer| {
                if let Answer::Value(detail) = answer
                    && self.selected.get_untracked() == Some(row)
                {
                    self.announced.set(format!("{} is selected", detail.line.name));
                    self.detail.set(Some(Arc::from(detail)));
                }
            });
        });
    }

    /// Says that something went wrong.
    pub fn fail(self, why: String) {
        self.announced.set(why.clone());
        self.problem.set(Some(why));
    }

    /// Opens files: pairs of path and file. Whatever was done before is ended.
    pub fn open(self, files: &JsValue, text: Option<String>) {
        let mut all = Array::new();
        if self.keep.get_untracked() {
            all = self.files.get_value();
        }
        if files.is_object() {
            all = all.concat(&Array::from(files));
        }
        if let Some(text) = &text
            && let Ok(file) =
                web_sys::File::new_with_str_sequence(&Array::of1(&JsValue::from_str(text)), "pasted text")
        {
            all.push(&Array::of2(&JsValue::from_str("pasted text"), &file));
        }
        self.files.set_value(all.clone());
        let is_busy = self.link.progress.get_untracked().is_some();
        if is_busy || self.link.crashed.get_untracked().is_some() {
            self.link.restart();
        }
        self.forget();
        self.link.progress.set(Some(crate::talk::Progress {
            stage: "Starting".to_owned(),
            ..crate::talk::Progress::default()
        }));
        self.link.ask_with(Ask::Open { text: None }, &all, move |answer| match answer {
            Answer::Opened(opened) => {
                let (files, modules) = (opened.files, opened.modules.len());
                self.announced.set(format!("{files} files, {modules} modules"));
                let only = (modules == 1).then(|| opened.modules[0].module);
                self.opened.set(Some(Arc::from(opened)));
                if let Some(only) = only {
                    self.choose(only);
                }
            }
            Answer::Failed(why) => self.fail(why),
            _ => {}
        });
    }

    /// Chooses a module.
    pub fn choose(self, module: u32) {
        self.selected.set(None);
        self.map.set(None);
        self.chosen.set(None);
        self.forget_trials();
        self.link.progress.set(Some(crate::talk::Progress {
            stage: "Reading the module".to_owned(),
            ..crate::talk::Progress::default()
        }));
        self.link.ask(Ask::Choose { module }, move |answer| match answer {
            Answer::Chosen(chosen) => {
                let first = chosen.sources.first().cloned();
                self.announced.set(chosen.headline.first().cloned().unwrap_or_default());
                self.filter.set(Filter::default());
                self.when.set(When::Peak);
                self.within.set(None);
                self.line.set(None);
                self.tab.set(Tab::Values);
                self.source.set(first.as_ref().map_or(Source::Dump, |s| s.source));
                self.step.set(first.as_ref().map_or(0, |s| s.peak.1));
                self.chosen.set(Some(Arc::from(chosen)));
                if first.is_some() {
                    self.draw();
                }
            }
            Answer::Failed(why) => self.fail(why),
            _ => {}
        });
    }

    /// Fetches what is drawn.
    pub fn draw(self) {
        self.link.ask(Ask::Map { source: self.source.get_untracked() }, move |answer| {
            if let Answer::Map(map) = answer {
                self.map.set(Some(Arc::from(map)));
            }
        });
    }

    /// Looks at another assignment.
    pub fn look_at(self, source: Source) {
        if self.source.get_untracked() != source {
            self.show(source);
        }
    }

    /// Looks at an assignment, which may be new. The value that is selected stays so, if it is there.
    fn show(self, source: Source) {
        let name = self.detail.with_untracked(|d| d.as_ref().map(|d| d.line.name.clone()));
        self.selected.set(None);
        self.fitting.set(None);
        self.source.set(source);
        self.draw();
        if let Some(name) = name {
            self.link.ask(Ask::Named { source, name }, move |answer| {
                if let Answer::Line(line) = answer
                    && self.source.get_untracked() == source
                {
                    self.selected.set(Some(line.row));
                }
            });
        }
    }

    /// The step at which most of the temporaries is taken.
    pub fn peak_step(self) -> u32 {
        let source = self.source.get();
        if source == Source::Tried {
            return self.tried.with(|t| match t {
                Some(Ok(tried)) => tried.line.peak.1,
                _ => 0,
            });
        }
        self.chosen
            .with(|c| {
                let line = c.as_ref()?.sources.iter().find(|s| s.source == source)?;
                Some(line.peak.1)
            })
            .unwrap_or(0)
    }

    /// Selects a row.
    pub fn select(self, row: u32) {
        if self.selected.get_untracked() != Some(row) {
            self.selected.set(Some(row));
        }
    }

    /// Goes to a line of the text.
    pub fn go_to_line(self, line: u32) {
        self.tab.set(Tab::Text);
        self.line.set(Some(line));
    }
}
