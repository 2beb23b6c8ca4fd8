//! What the page knows: what was opened, what is chosen, and how it is looked at.

use crate::address::{Address, Kept, Open};
use crate::link::Link;
use crate::talk::{
    Advised, Answer, Ask, Beside, Chosen, Detail, Edit, Filter, Group, Hands, MapData, ModuleLine, Opened,
    Repacked, Sort, Source, SourceLine, Trial, Tried,
};
use browser::Palette;
use js_sys::Array;
use leptos::prelude::*;
use std::rc::Rc;
use std::sync::Arc;
use wasm_bindgen::{JsCast as _, JsValue};

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

/// Brings the answer into view, where it is far down: below a long list of modules.
fn bring_into_view() {
    request_animation_frame(|| {
        let Some(bench) = document().get_element_by_id("bench") else { return };
        let height = window().inner_height().ok().and_then(|h| h.as_f64()).unwrap_or(0.0);
        if bench.get_bounding_client_rect().top() > height / 4.0 {
            bench.scroll_into_view();
        }
    });
}

/// Puts the keyboard where the answer begins.
pub fn focus_answer() {
    request_animation_frame(|| {
        if let Some(title) = document().get_element_by_id("bench-title") {
            _ = title.unchecked_into::<web_sys::HtmlElement>().focus();
        }
    });
}

/// How far it is when a module begins to be read.
fn reading() -> crate::talk::Progress {
    crate::talk::Progress { stage: "Reading the module".to_owned(), ..crate::talk::Progress::default() }
}

/// Where what is opened comes from.
pub enum Origin {
    /// The reader's own files.
    Own,
    /// A sample, by its file.
    Sample(String),
    /// The page itself, which is a report.
    Page,
}

/// Heaps packed as a search found it.
pub struct Packing {
    /// Whose heaps.
    pub of: Source,
    /// As the worker takes them.
    pub packings: Vec<Repacked>,
    /// The sums with them.
    pub line: SourceLine,
}

/// Makes a drawing, for which names may have to be asked for, and hands it on.
pub type MakeSvg = Rc<dyn Fn(Box<dyn FnOnce(String)>)>;

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
    /// Makes the map that is shown into SVG, and hands it on.
    pub svg: StoredValue<Option<MakeSvg>, LocalStorage>,
    /// The files that are open or being opened, pairs of path and file.
    pub files: StoredValue<Array, LocalStorage>,
    /// The sample that is open, if it is one.
    pub sample: RwSignal<Option<String>>,
    /// The smallest heaps that were found, if they are smaller than the packer's.
    pub packing: RwSignal<Option<Arc<Packing>>>,
    /// What would help most, once it was searched for.
    pub advice: RwSignal<Option<Arc<Advised>>>,
    /// What can be tried with the value that is selected.
    pub hands: RwSignal<Option<Arc<Hands>>>,
    /// With what the module is compared, and how that is looked at; `None` before it is.
    pub beside: RwSignal<Option<Beside>>,
    /// The module and the changes that an address or a file asks for, once that is open.
    pub awaited: StoredValue<(Option<u32>, Kept)>,
    /// The comparison that an address asks for, once the module is read.
    pub awaited_beside: StoredValue<Option<Beside>>,
    /// The hash that the page wrote last.
    pub hash: StoredValue<String>,
    /// What can be ended without loss is being done; set to `false` once it was asked to end.
    pub searching: RwSignal<Option<bool>>,
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
            sample: RwSignal::new(None),
            packing: RwSignal::new(None),
            advice: RwSignal::new(None),
            hands: RwSignal::new(None),
            beside: RwSignal::new(None),
            awaited: StoredValue::new((None, Kept::default())),
            awaited_beside: StoredValue::new(None),
            hash: StoredValue::new(String::new()),
            searching: RwSignal::new(None),
            keep: RwSignal::new(false),
            problem: RwSignal::new(None),
            announced: RwSignal::new(String::new()),
            palette: Palette::new(),
        };
        lab.keep_detail();
        lab.keep_hands();
        lab.keep_address();
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
        self.advice.set(None);
        self.beside.set(None);
        self.forget_trials();
    }

    fn forget_trials(self) {
        self.packing.set(None);
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
        self.at_trial.get() > 0 || self.source.get() == Source::Packed
    }

    /// Is there something to do again?
    pub fn can_redo(self) -> bool {
        self.at_trial.get() + 1 < self.trials.with(Vec::len)
    }

    /// Takes back, or does again.
    pub fn step_trial(self, by: isize) {
        // What was done last is that the heap was packed otherwise.
        if by < 0 && self.source.get_untracked() == Source::Packed {
            self.unpack();
            return;
        }
        let to = self.at_trial.get_untracked().saturating_add_signed(by);
        if to < self.trials.with_untracked(Vec::len) {
            self.at_trial.set(to);
            self.run_trial();
        }
    }

    /// Tries one more change; it takes the place of one of the same kind.
    pub fn try_edit(self, edit: Edit) {
        let mut trial = self.trial_now();
        trial.edits.retain(|e| match (e, &edit) {
            (Edit::Range { name: a, .. }, Edit::Range { name: b, .. }) => a != b,
            (Edit::Alignment { .. }, Edit::Alignment { .. })
            | (Edit::Algorithm { .. }, Edit::Algorithm { .. }) => false,
            _ => true,
        });
        // A handle that is let go again and again is one move.
        if let (Some(Edit::Move { name: a, .. }), Edit::Move { name: b, .. }) = (trial.edits.last(), &edit)
            && a == b
        {
            trial.edits.pop();
        }
        trial.edits.push(edit);
        self.try_all(trial);
    }

    /// Tries several changes more.
    pub fn try_edits(self, edits: Vec<Edit>) {
        let mut trial = self.trial_now();
        trial.edits.extend(edits);
        self.try_all(trial);
    }

    /// The edits that are shown, for who does not follow them.
    pub fn trial_now(self) -> Trial {
        let at = self.at_trial.get_untracked();
        self.trials.with_untracked(|t| t.get(at).cloned().unwrap_or_default())
    }

    /// The module's name as the beginning of a file's.
    pub fn file_name(self) -> String {
        self.chosen.with_untracked(|c| {
            let name = c.as_ref().map(|c| c.line.name.clone()).unwrap_or_default();
            let name: String = name
                .chars()
                .take(60)
                .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' })
                .collect();
            if name.is_empty() { "module".to_owned() } else { name }
        })
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

    /// Packs the heaps as a search found it, to be shown beside the packer's.
    pub fn pack(self, of: Source, packings: Vec<Repacked>) {
        self.packing.set(None);
        if packings.iter().all(|p| p.offsets.is_none()) {
            return;
        }
        let ask = Ask::Pack { source: of, packings: packings.clone() };
        self.link.ask(ask, move |answer| match answer {
            Answer::Packed(line) => self.packing.set(Some(Arc::new(Packing { of, packings, line: *line }))),
            Answer::Failed(why) => self.fail(why),
            _ => {}
        });
    }

    /// Shows the heaps as the packer has them.
    pub fn unpack(self) {
        let of = self.packing.with_untracked(|p| p.as_ref().map_or(Source::Ours, |p| p.of));
        let first =
            self.chosen.with_untracked(|c| c.as_ref().and_then(|c| c.sources.first().map(|s| s.source)));
        self.look_at(if of == Source::Tried { of } else { first.unwrap_or(of) });
    }

    fn run_trial(self) {
        // Heaps of another run.
        self.packing.set(None);
        let at = self.at_trial.get_untracked();
        let trial = self.trial_now();
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
                Answer::Failed(why) => {
                    self.announced.set(why.clone());
                    self.tried.set(Some(Err(why)));
                }
                _ => {}
            }
        });
    }

    /// Takes one change of those that are tried back.
    pub fn take_back(self, number: usize) {
        let mut trial = self.trial_now();
        if number < trial.edits.len() {
            trial.edits.remove(number);
            self.try_all(trial);
        }
    }

    /// Searches for what would help most. It is stopped by [`Lab::cancel`], and keeps what it has found.
    pub fn advise(self) {
        self.link.progress.set(Some(crate::talk::Progress {
            stage: "Trying changes".to_owned(),
            ..crate::talk::Progress::default()
        }));
        self.searching.set(Some(true));
        let module = self.chosen.with_untracked(|c| c.as_ref().map(|c| c.line.module));
        self.link.ask(Ask::Advise, move |answer| {
            self.searching.set(None);
            match answer {
                _ if self.chosen.with_untracked(|c| c.as_ref().map(|c| c.line.module)) != module => {}
                Answer::Advised(advice) => {
                    self.announced.set(format!("{} changes would help", advice.changes.len()));
                    self.advice.set(Some(Arc::new(advice)));
                }
                Answer::Failed(why) => self.fail(why),
                _ => {}
            }
        });
    }

    /// Asks for what can be tried with the value that is selected, of the program as it is being tried.
    fn keep_hands(self) {
        Effect::new(move |_| {
            let can_try = self.chosen.with(|c| c.as_ref().is_some_and(|c| c.can_try));
            let name = self.detail.with(|d| d.as_ref().map(|d| d.line.name.clone()));
            let tried = self.tried.with(|t| matches!(t, Some(Ok(_))));
            let Some(name) = name.filter(|_| can_try) else {
                self.hands.set(None);
                return;
            };
            self.link.ask(Ask::Hands { name: name.clone(), tried }, move |answer| {
                let is_it = self.detail.with_untracked(|d| d.as_ref().is_some_and(|d| d.line.name == name));
                if is_it {
                    self.hands.set(match answer {
                        Answer::Hands(hands) => Some(Arc::from(hands)),
                        _ => None,
                    });
                }
            });
        });
    }

    /// Searches for a small module that still shows why two values do or do not share, until there is no smaller one, or
    /// [`Lab::cancel`] ends it with what it has found.
    pub fn reduce(self, a: String, b: String, then: impl FnOnce(Answer) + 'static) {
        self.link.progress.set(Some(crate::talk::Progress {
            stage: "Making the module smaller".to_owned(),
            ..crate::talk::Progress::default()
        }));
        self.searching.set(Some(true));
        self.link.ask(Ask::Reduce { a, b }, move |answer| {
            self.searching.set(None);
            then(answer);
        });
    }

    /// Keeps what is tried, and with what the module is compared, in the address, as far as it has room: of a sample, and of
    /// a reader's own module the changes alone. A module of his own goes into an address only when he asks for a link.
    fn keep_address(self) {
        Effect::new(move |_| {
            let trial = self.trial();
            let sample = self.sample.get();
            let own = self.chosen.with(|c| c.as_ref().map(|c| (c.line.name.clone(), c.line.module)));
            let several = self.opened.with(|o| o.as_ref().is_some_and(|o| o.modules.len() > 1));
            let Some((of, module)) = own else { return };
            let open = match sample {
                Some(name) => Open::Sample { name, module: several.then_some(module) },
                None => Open::Own,
            };
            let kept = if trial.edits.is_empty() { Kept::default() } else { Kept { of, edits: trial.edits } };
            let hash = (Address { open, kept, beside: self.beside.get() }).to_hash().unwrap_or_default();
            self.write_hash(&hash);
        });
    }

    /// Puts a hash into the address, without a step in the browser's history.
    pub fn write_hash(self, hash: &str) {
        let hash = if hash.is_empty() { String::new() } else { format!("#{hash}") };
        let location = window().location();
        if location.hash().unwrap_or_default() == hash {
            self.hash.set_value(hash);
            return;
        }
        let (path, query) = (location.pathname().unwrap_or_default(), location.search().unwrap_or_default());
        self.hash.set_value(hash.clone());
        if let Ok(history) = window().history() {
            let to = format!("{path}{query}{hash}");
            _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&to));
        }
    }

    /// Ends what takes long. A search keeps what it has found; what is being opened is left off, and what is open stays;
    /// whatever else ends with its worker, and the new one is told again what is open, while the page shows what it has.
    pub fn cancel(self) {
        if self.searching.get_untracked() == Some(true) {
            self.searching.set(Some(false));
            self.link.stop();
            return;
        }
        self.searching.set(None);
        self.awaited.set_value((None, Kept::default()));
        self.awaited_beside.set_value(None);
        if self.link.is_opening() {
            self.link.stop_opening();
            self.announced.set("Cancelled; what was open still is".to_owned());
            return;
        }
        self.announced.set("Cancelled".to_owned());
        if self.opened.with_untracked(Option::is_none) {
            self.link.restart();
            return;
        }
        let unanswered = self.link.renew();
        let files: JsValue = self.files.get_value().into();
        let chosen = self.chosen.with_untracked(|c| c.as_ref().map(|c| c.line.module));
        let trial = self.trial_now();
        self.link.ask_quietly(Ask::Open { text: None }, &files, |_| {});
        if let Some(module) = chosen {
            self.link.ask_quietly(Ask::Choose { module }, &JsValue::UNDEFINED, |_| {});
            if !trial.edits.is_empty() {
                self.link.ask_quietly(Ask::Try(trial), &JsValue::UNDEFINED, |_| {});
            }
            if let Some(packing) = self.packing.get_untracked() {
                let ask = Ask::Pack { source: packing.of, packings: packing.packings.clone() };
                self.link.ask_quietly(ask, &JsValue::UNDEFINED, |_| {});
            }
        }
        self.link.resume(unanswered);
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

    /// Opens files of the reader's own: pairs of path and file. What is open stays so until they are.
    pub fn open(self, files: &JsValue, text: Option<String>) {
        self.awaited.update_value(|a| a.0 = None);
        self.open_all(files, text, Origin::Own);
    }

    /// Opens what the page holds.
    pub fn open_given(self, given: super::given::Given) {
        self.awaited.set_value((given.module, given.kept));
        self.open_all(&given.files, None, Origin::Page);
    }

    /// Opens files, beside those that are open if the reader wants that.
    pub fn open_all(self, files: &JsValue, text: Option<String>, origin: Origin) {
        if !matches!(origin, Origin::Sample(_)) {
            self.awaited_beside.set_value(None);
        }
        let keeps = self.keep.get_untracked();
        let mut all = Array::new();
        if keeps {
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
        self.problem.set(None);
        let has_something = self.opened.with_untracked(Option::is_some);
        if !has_something {
            let is_busy = self.link.progress.get_untracked().is_some();
            if is_busy || self.link.crashed.get_untracked().is_some() {
                self.link.restart();
            }
        }
        self.link.progress.set(Some(crate::talk::Progress {
            stage: "Starting".to_owned(),
            ..crate::talk::Progress::default()
        }));
        let is_before = keeps.then(|| self.chosen.get_untracked()).flatten();
        let given = all.clone();
        let then = move |answer| match answer {
            Answer::Opened(opened) => {
                let asked = self.awaited.with_value(|a| a.0);
                let is_there = |m: &u32| opened.modules.iter().any(|x| x.module == *m);
                let only = (opened.modules.len() == 1).then(|| opened.modules[0].module);
                // What something was opened beside is still what is looked at.
                let same = is_before.and_then(|c| {
                    let is_same = |m: &&ModuleLine| {
                        (&m.id, &m.name, &m.folder, &m.stage)
                            == (&c.line.id, &c.line.name, &c.line.folder, &c.line.stage)
                    };
                    opened.modules.iter().find(is_same).map(|m| m.module)
                });
                let first = asked.filter(is_there).or(same).or(only);
                let tab = if same.is_some() && same == first { Tab::Compare } else { Tab::Values };
                let take = move || {
                    self.link.adopt();
                    self.take_opened(opened, given, origin);
                };
                match first {
                    None => take(),
                    // What was open before stays until the module is read, too.
                    Some(module) => {
                        if !has_something {
                            take();
                            self.choose_for(module, tab);
                            return;
                        }
                        self.link.progress.set(Some(reading()));
                        self.link.ask_next(Ask::Choose { module }, move |answer| {
                            take();
                            self.take_chosen(answer, tab);
                        });
                    }
                }
            }
            Answer::Failed(why) => self.fail(why),
            _ => {}
        };
        if has_something {
            self.link.open_beside(&all, then);
        } else {
            self.link.ask_with(Ask::Open { text: None }, &all, then);
        }
    }

    /// What was opened takes the place of what was open.
    fn take_opened(self, opened: Box<Opened>, given: Array, origin: Origin) {
        self.forget();
        self.files.set_value(given);
        if !matches!(origin, Origin::Page) {
            super::given::forget();
        }
        match origin {
            Origin::Sample(name) => {
                self.write_hash(&format!("sample={name}"));
                self.sample.set(Some(name));
            }
            Origin::Own | Origin::Page => self.sample.set(None),
        }
        let (files, modules) = (opened.files, opened.modules.len());
        self.announced.set(format!("{files} files, {modules} modules"));
        if let Some(kept) = opened.kept.clone() {
            self.awaited.set_value((None, kept));
        }
        self.opened.set(Some(Arc::from(opened)));
    }

    /// Chooses a module. The one before is shown until it is read.
    pub fn choose(self, module: u32) {
        self.link.progress.set(Some(reading()));
        self.link.ask(Ask::Choose { module }, move |answer| {
            self.take_chosen(answer, Tab::Values);
            bring_into_view();
        });
    }

    /// Chooses a module, to go to one of the panes.
    fn choose_for(self, module: u32, tab: Tab) {
        self.link.progress.set(Some(reading()));
        self.link.ask(Ask::Choose { module }, move |answer| self.take_chosen(answer, tab));
    }

    /// The module that was read takes the place of the one before.
    fn take_chosen(self, answer: Answer, tab: Tab) {
        match answer {
            Answer::Chosen(chosen) => {
                self.selected.set(None);
                self.map.set(None);
                self.fitting.set(None);
                self.advice.set(None);
                self.beside.set(None);
                self.forget_trials();
                let first = chosen.sources.first().cloned();
                self.announced.set(chosen.headline.first().cloned().unwrap_or_default());
                self.filter.set(Filter::default());
                self.when.set(When::Peak);
                self.within.set(None);
                self.line.set(None);
                self.source.set(first.as_ref().map_or(Source::Dump, |s| s.source));
                self.step.set(first.as_ref().map_or(0, |s| s.peak.1));
                let (name, can_try) = (chosen.line.name.clone(), chosen.can_try);
                let asked = self.awaited_beside.try_update_value(Option::take).flatten();
                let is_other = |b: &Beside| {
                    let all = |o: &Opened| o.modules.iter().any(|m| m.module == b.module);
                    b.module != chosen.line.module
                        && self.opened.with_untracked(|o| o.as_deref().is_some_and(all))
                };
                let asked = asked.filter(is_other);
                self.tab.set(if asked.is_some() { Tab::Compare } else { tab });
                self.beside.set(asked);
                self.chosen.set(Some(Arc::from(chosen)));
                if first.is_some() {
                    self.draw();
                }
                super::given::replace();
                let (_, kept) = self.awaited.get_value();
                if kept.edits.is_empty() {
                    return;
                }
                if kept.of != name {
                    self.fail(format!(
                        "The changes of the address or the file are of the module {}; they are made once it is open.",
                        crate::text::cut(&kept.of)
                    ));
                } else if can_try {
                    self.awaited.set_value((None, Kept::default()));
                    // That they wait for their module is no longer true.
                    self.problem.set(None);
                    if asked.is_none() {
                        self.tab.set(Tab::Try);
                    }
                    self.try_all(Trial { edits: kept.edits });
                }
            }
            Answer::Failed(why) => self.fail(why),
            _ => {}
        }
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
        if source == Source::Packed {
            return self.packing.with(|p| p.as_ref().map_or(0, |p| p.line.peak.1));
        }
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

    /// Selects the value of that name, if the assignment that is shown has one.
    pub fn select_named(self, name: &str) {
        let source = self.source.get_untracked();
        self.link.ask(Ask::Named { source, name: name.to_owned() }, move |answer| match answer {
            Answer::Line(line) => self.select(line.row),
            Answer::Failed(why) => self.announced.set(why),
            _ => {}
        });
    }

    /// Goes to a line of the text.
    pub fn go_to_line(self, line: u32) {
        self.tab.set(Tab::Text);
        self.line.set(Some(line));
    }
}
