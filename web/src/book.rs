//! What all figures of the page share: the address, the modules that were read, and which figure was touched last.

use crate::address::{Address, MODES};
use crate::chapters::CHAPTERS;
use crate::engine::{self, Opened, Problem};
use crate::modules::{FIRST_ID, FIRST_TEXT, shipped};
use crate::parts::Parts;
use crate::state::{Source, State};
use crate::workbench::{Shared, Workbench};
use leptos::ev::{KeyboardEvent, MouseEvent};
use leptos::prelude::*;
use sorts::Arrange as _;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{Element, HtmlElement};

/// A text and what came of reading it.
#[derive(Clone)]
pub struct Read {
    /// The text.
    pub text: Arc<str>,
    /// The module, or what is wrong with the text.
    pub opened: Result<Shared<Opened>, Vec<Problem>>,
}

/// The page's figures and their address. There is one.
#[derive(Clone, Copy)]
pub struct Book {
    address: StoredValue<Address>,
    figures: StoredValue<BTreeMap<&'static str, Workbench>>,
    /// Texts of modules that came with the page, by id.
    texts: StoredValue<HashMap<String, Arc<str>>>,
    /// The same, read and analysed: several figures may show one module.
    opened: StoredValue<HashMap<String, Read>>,
    last: StoredValue<Option<&'static str>>,
    /// Its chapters, which come one after the other.
    pub parts: Parts,
    /// What is to be shown as soon as its chapter is there.
    wanted: StoredValue<Option<String>>,
    /// States that figures begin with in a lesson, in place of their own.
    first: StoredValue<BTreeMap<String, State>>,
    /// How the page is shown when it is not shown as a whole: see [`MODES`].
    pub modes: RwSignal<Vec<(String, String)>>,
    /// How many figures there are.
    pub arrived: RwSignal<usize>,
    /// What the chapters' predictions and puzzles have come to, by id: right or solved.
    pub results: RwSignal<BTreeMap<&'static str, bool>>,
    /// What stands above the chapters; it comes with the lessons.
    pub desk: RwSignal<Option<fn() -> AnyView>>,
    /// Takes a figure's state into the lesson that is being made, while one is.
    pub collect: RwSignal<Option<Callback<(String, String)>>>,
}

/// The exhibit that the address asks for in place of all of the page, as `boot.js` writes it down: `?exhibit=NAME`.
pub fn exhibit_asked_for() -> Option<String> {
    document().document_element()?.get_attribute("data-exhibit")
}

/// Is one figure shown, and nothing around it?
pub fn is_alone() -> bool {
    exhibit_asked_for().is_some()
}

/// Is it this one?
pub fn is_alone_in(id: &str) -> bool {
    exhibit_asked_for().as_deref() == Some(id)
}

impl Book {
    /// Reads the address and follows it from then on.
    pub fn open() -> Self {
        let address = Address::parse(&hash()).unwrap_or_default();
        let modes = address.modes();
        let this = Self {
            address: StoredValue::new(address),
            figures: StoredValue::new(BTreeMap::new()),
            texts: StoredValue::new(HashMap::from([(FIRST_ID.to_owned(), Arc::from(FIRST_TEXT))])),
            opened: StoredValue::new(HashMap::new()),
            last: StoredValue::new(None),
            parts: Parts::new(),
            wanted: StoredValue::new(None),
            first: StoredValue::new(BTreeMap::new()),
            modes: RwSignal::new(modes),
            arrived: RwSignal::new(0),
            results: RwSignal::new(BTreeMap::new()),
            desk: RwSignal::new(None),
            collect: RwSignal::new(None),
        };
        let back = window_event_listener(leptos::ev::popstate, move |_| this.follow());
        let keys = window_event_listener(leptos::ev::keydown, move |e| this.key(&e));
        let clicks = window_event_listener(leptos::ev::click, move |e| this.link(&e));
        on_cleanup(move || {
            back.remove();
            keys.remove();
            clicks.remove();
        });
        this
    }

    /// The state that the address gives a figure; `default` if it says nothing, or nothing that can be shown.
    pub fn state_of(self, id: &str, default: &State) -> State {
        let told = self.address.with_value(|a| a.state_of(id).and_then(State::decode));
        told.filter(known).unwrap_or_else(|| default.clone())
    }

    pub(crate) fn register(self, figure: Workbench) {
        debug_assert!(
            CHAPTERS.iter().any(|c| c.figures.contains(&figure.id)),
            "no chapter names {}",
            figure.id
        );
        self.figures.update_value(|f| _ = f.insert(figure.id, figure));
        self.arrived.update(|n| *n += 1);
    }

    /// A figure of the page, once its chapter is there.
    pub fn figure(self, id: &str) -> Option<Workbench> {
        self.figures.with_value(|f| f.get(id).copied())
    }

    /// What an entry of [`MODES`] says.
    pub fn mode(self, name: &str) -> Option<String> {
        self.modes.with(|m| m.iter().find(|(mode, _)| mode == name).map(|(_, value)| value.clone()))
    }

    /// Shows the page in another way, with an entry of the history.
    pub fn set_modes(self, modes: Vec<(String, String)>, anchor: &str) {
        self.modes.set(modes);
        self.push(anchor, true);
    }

    /// Shows one figure alone, large.
    pub fn present(self, id: &str) {
        let mut modes = self.modes.get_untracked();
        modes.retain(|(mode, _)| mode != "present");
        let in_lesson = !modes.is_empty();
        modes.push(("present".to_owned(), if in_lesson { "1".to_owned() } else { id.to_owned() }));
        self.set_modes(modes, id);
    }

    /// The state that a figure begins with at this place of a lesson, if that is not its own.
    pub fn first_of(self, id: &str) -> Option<State> {
        self.first.with_value(|f| f.get(id).cloned())
    }

    /// From now on a figure begins with that state, or again with its own. It goes to `now`, or else to where the address
    /// has it.
    pub fn begin(self, id: &str, first: Option<State>, now: Option<State>) {
        self.first.update_value(|f| {
            _ = match &first {
                Some(state) => f.insert(id.to_owned(), state.clone()),
                None => f.remove(id),
            };
        });
        match self.figure(id) {
            Some(figure) => figure.begin(first, now),
            // It takes what the address says when it comes.
            None => self.address.update_value(|a| {
                if let Some(now) = now {
                    a.figures.retain(|(other, _)| other != id);
                    if Some(&now) != first.as_ref() {
                        a.figures.push((id.to_owned(), now.encode()));
                    }
                }
            }),
        }
    }

    /// Tells the page around a frame what state its figure is in (`embed/talk.js` listens); nothing where all of the page is
    /// shown.
    pub fn tell(id: &str, state: &str) {
        if !is_alone_in(id) {
            return;
        }
        let options = web_sys::CustomEventInit::new();
        options.set_detail(&JsValue::from_str(state));
        if let Ok(event) = web_sys::CustomEvent::new_with_event_init_dict("bufferscope", &options) {
            _ = window().dispatch_event(&event);
        }
    }

    /// Notes that a figure is what the reader is at: keys for undo go to it.
    pub fn touch(self, id: &'static str) {
        self.last.set_value(Some(id));
    }

    /// Writes the state of all figures into the address.
    pub fn write(self, figure: &'static str, as_entry: bool) {
        self.touch(figure);
        self.push(figure, as_entry);
    }

    fn push(self, anchor: &str, as_entry: bool) {
        let mut figures = self.figures.with_value(|f| {
            f.values().filter_map(|w| Some((w.id.to_owned(), w.to_address()?))).collect::<Vec<_>>()
        });
        // Figures of chapters that are still to come keep what the address says of them.
        if !untrack(|| self.parts.are_there()) {
            let known = |id: &str| MODES.contains(&id) || self.figures.with_value(|f| f.contains_key(id));
            self.address.with_value(|a| {
                figures.extend(a.figures.iter().filter(|(id, _)| !known(id)).cloned());
            });
            figures.arrange();
        }
        figures.extend(self.modes.get_untracked());
        let address = Address { anchor: anchor.to_owned(), figures };
        let to = address.to_hash();
        self.address.set_value(address);
        if to == hash() {
            return;
        }
        let Ok(history) = window().history() else { return };
        // Without a hash the address is the page's own path, with the language that was asked for.
        let location = window().location();
        let to = if to.is_empty() {
            location.pathname().unwrap_or_default() + &location.search().unwrap_or_default()
        } else {
            to
        };
        // Browsers refuse very long addresses, and too many in a short time; the page works on without.
        // A frame's own history would stand in the way of that of the page around it.
        _ = if as_entry && !is_alone() {
            history.push_state_with_url(&JsValue::NULL, "", Some(&to))
        } else {
            history.replace_state_with_url(&JsValue::NULL, "", Some(&to))
        };
    }

    /// Back, Forward and addresses typed by hand.
    fn follow(self) {
        let Some(address) = Address::parse(&hash()) else { return };
        let anchor = address.anchor.clone();
        let modes = address.modes();
        self.address.set_value(address);
        let mut changed = self.modes.with_untracked(|now| *now != modes);
        if changed {
            let whole = modes.is_empty();
            self.modes.set(modes);
            // The page is whole again with the next frame.
            if whole {
                let anchor = anchor.clone();
                request_animation_frame(move || self.show(&anchor));
            }
        }
        for figure in self.figures.with_value(|f| f.values().copied().collect::<Vec<_>>()) {
            changed |= figure.follow_address();
        }
        if !changed && !is_alone() {
            self.show(&anchor);
        }
    }

    /// Shows what the address names; once, when the page has just been put up.
    pub fn show_anchor(self) {
        let anchor = self.address.with_value(|a| a.anchor.clone());
        // A reload comes back to where the reader was by itself. A frame would move the page around it.
        let whole = !is_alone() && self.modes.with_untracked(Vec::is_empty);
        if whole && !anchor.is_empty() && window().scroll_y().unwrap_or_default() < 1.0 {
            self.show(&anchor);
        }
    }

    /// Brings an element into view, and the keyboard with it; its chapter is fetched first where it is not there yet.
    pub fn show(self, anchor: &str) {
        let is_there = show(anchor);
        self.wanted.set_value((!is_there).then(|| anchor.to_owned()));
        if !anchor.is_empty() {
            self.parts.fetch_for(anchor);
        }
    }

    /// A chapter is about to be put up, in that section.
    pub fn chapter_comes(self, section: Option<HtmlElement>) {
        // Most browsers keep what is read where it is when something above it grows; the others are helped.
        let above = section.filter(|s| !keeps_place() && s.get_bounding_client_rect().bottom() < 0.0);
        let before = above.as_ref().map(|s| s.get_bounding_client_rect().height());
        request_animation_frame(move || {
            if let (Some(section), Some(before)) = (above, before) {
                window().scroll_by_with_x_and_y(0.0, section.get_bounding_client_rect().height() - before);
            }
            if self.wanted.with_value(|w| w.as_deref().is_some_and(show)) {
                self.wanted.set_value(None);
            }
        });
    }

    /// Every chapter is there: what the address names now, no figure has.
    pub fn all_is_there(self) {
        request_animation_frame(move || self.wanted.set_value(None));
    }

    /// A link within the page keeps the figures' states in the address.
    fn link(self, e: &MouseEvent) {
        let is_plain = e.button() == 0 && !(e.ctrl_key() || e.meta_key() || e.shift_key() || e.alt_key());
        if !is_plain || e.default_prevented() {
            return;
        }
        let target = e.target().and_then(|t| t.dyn_into::<Element>().ok());
        let Some(link) = target.and_then(|t| t.closest("a[href^='#']").ok().flatten()) else { return };
        let href = link.get_attribute("href").unwrap_or_default();
        let anchor = href.trim_start_matches('#');
        if document().get_element_by_id(anchor).is_none() && untrack(|| self.parts.are_there()) {
            return;
        }
        e.prevent_default();
        // A link to a place of the page leaves a lesson; the place is there with the next frame.
        if anchor != "text" && self.modes.with_untracked(|m| !m.is_empty()) {
            self.set_modes(Vec::new(), anchor);
            let anchor = anchor.to_owned();
            return request_animation_frame(move || self.show(&anchor));
        }
        self.push(anchor, true);
        self.show(anchor);
    }

    /// Keys that work everywhere but in a text that is being written.
    fn key(self, e: &KeyboardEvent) {
        let target = e.target().and_then(|t| t.dyn_into::<Element>().ok());
        if target.is_some_and(|t| matches!(t.tag_name().as_str(), "TEXTAREA" | "INPUT" | "SELECT")) {
            return;
        }
        let Some(figure) =
            self.last.get_value().and_then(|id| self.figures.with_value(|f| f.get(id).copied()))
        else {
            return;
        };
        let command = e.ctrl_key() || e.meta_key();
        // Where one figure is shown alone, this key leads back to the page.
        let alone = untrack(|| self.mode("present")).is_some();
        match e.key().as_str() {
            "Escape" if !alone => figure.select(None),
            "z" | "Z" if command && e.shift_key() => figure.redo(),
            "z" if command => figure.undo(),
            "y" if command => figure.redo(),
            _ => return,
        }
        e.prevent_default();
    }

    /// Reads a source and gives it to `done`, at once where the text is there.
    pub fn read(self, source: Source, done: impl FnOnce(Read) + 'static) {
        let id = match source {
            Source::Own(text) => {
                let opened = engine::open(&text).map(Shared::new);
                return done(Read { text: Arc::from(text), opened });
            }
            Source::Shipped(id) => id,
        };
        if let Some(read) = self.opened.with_value(|o| o.get(&id).cloned()) {
            return done(read);
        }
        if let Some(text) = self.texts.with_value(|t| t.get(&id).cloned()) {
            return done(self.keep(id, text));
        }
        leptos::task::spawn_local(async move {
            done(match fetch(&format!("modules/{id}.txt")).await {
                Some(text) => self.keep(id, Arc::from(text)),
                None => Read {
                    text: Arc::from(""),
                    opened: Err(vec![Problem {
                        line: 1,
                        column: 1,
                        is_error: true,
                        message: format!("modules/{id}.txt could not be fetched"),
                    }]),
                },
            });
        });
    }

    fn keep(self, id: String, text: Arc<str>) -> Read {
        // Two figures may have asked at the same time.
        if let Some(read) = self.opened.with_value(|o| o.get(&id).cloned()) {
            return read;
        }
        let read = Read { opened: engine::open(&text).map(Shared::new), text: Arc::clone(&text) };
        self.texts.update_value(|t| _ = t.insert(id.clone(), text));
        self.opened.update_value(|o| _ = o.insert(id, read.clone()));
        read
    }

    /// The shipped module of exactly that text, if it was read before.
    pub fn shipped_text(self, text: &str) -> Option<String> {
        self.texts.with_value(|texts| {
            let mut ids: Vec<&String> =
                texts.iter().filter(|(_, t)| ***t == *text).map(|(id, _)| id).collect();
            ids.arrange_unstable();
            ids.first().map(|id| (*id).clone())
        })
    }
}

/// Is it of a module that there is?
pub fn known(state: &State) -> bool {
    match &state.source {
        Source::Shipped(id) => shipped(id).is_some(),
        Source::Own(_) => true,
    }
}

fn hash() -> String {
    window().location().hash().unwrap_or_default()
}

/// Does this browser keep what is read where it is when something above it grows?
fn keeps_place() -> bool {
    let style =
        document().document_element().and_then(|root| root.dyn_into::<HtmlElement>().ok()).map(|r| r.style());
    style.is_some_and(|s| js_sys::Reflect::has(&s, &"overflowAnchor".into()).unwrap_or(false))
}

/// Brings an element into view, and the keyboard with it, if it is there.
fn show(anchor: &str) -> bool {
    let Some(element) = document().get_element_by_id(anchor) else { return false };
    element.scroll_into_view();
    if let Ok(element) = element.dyn_into::<HtmlElement>() {
        let options = web_sys::FocusOptions::new();
        options.set_prevent_scroll(true);
        _ = element.focus_with_options(&options);
    }
    true
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

/// The book of this page.
pub fn use_book() -> Book {
    expect_context()
}
