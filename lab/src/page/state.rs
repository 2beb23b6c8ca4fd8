//! What the page knows: what was opened, what is chosen, and how it is looked at.

use crate::link::Link;
use crate::talk::{Answer, Ask, Chosen, Detail, Filter, Group, MapData, Opened, Sort, Source};
use leptos::prelude::*;
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
}

impl Tab {
    /// All, in order.
    pub const ALL: [Tab; 5] = [Tab::Values, Tab::Slabs, Tab::Decisions, Tab::Text, Tab::Ask];

    /// What stands on it.
    pub fn name(self) -> &'static str {
        match self {
            Tab::Values => "What is alive",
            Tab::Slabs => "Allocations",
            Tab::Decisions => "Decision log",
            Tab::Text => "HLO text",
            Tab::Ask => "Ask",
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
    /// What went wrong last.
    pub problem: RwSignal<Option<String>>,
    /// What the live region says.
    pub announced: RwSignal<String>,
    /// Changes whenever the colours do.
    pub palette: RwSignal<u32>,
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
            problem: RwSignal::new(None),
            announced: RwSignal::new(String::new()),
            palette: RwSignal::new(0),
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
        let is_busy = self.link.progress.get_untracked().is_some();
        if is_busy || self.link.crashed.get_untracked().is_some() {
            self.link.restart();
        }
        self.forget();
        self.link.progress.set(Some(crate::talk::Progress {
            stage: "Starting".to_owned(),
            ..crate::talk::Progress::default()
        }));
        self.link.ask_with(Ask::Open { text }, files, move |answer| match answer {
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
        if self.source.get_untracked() == source {
            return;
        }
        self.selected.set(None);
        self.map.set(None);
        self.source.set(source);
        self.draw();
    }

    /// The step at which most of the temporaries is taken.
    pub fn peak_step(self) -> u32 {
        let source = self.source.get();
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
