//! The page's end of the line to the worker: questions out, answers in, and what happens when it stops.

use crate::local::Local;
use crate::page::given::helper;
use crate::talk::{Answer, Ask, Message, Progress, Request};
use js_sys::{Object, Reflect};
use leptos::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{Event, MessageEvent, Worker};

type Then = Box<dyn FnOnce(Answer)>;

/// Who answers.
enum End {
    /// A worker.
    Worker(Worker),
    /// The page itself, where no worker can start.
    Here(Local),
}

impl End {
    fn post(&self, message: &JsValue) {
        match self {
            Self::Worker(worker) => _ = worker.post_message(message),
            Self::Here(local) => local.post(message),
        }
    }
}

/// A worker, made by the page's script: the content security policy lets nobody else make one.
fn worker() -> Option<Worker> {
    helper("bufferscopeWorker", &JsValue::UNDEFINED)?.ok()?.dyn_into().ok()
}

/// A question that is not answered.
struct Waiting {
    then: Then,
    message: JsValue,
    /// Is nobody told how far it is?
    is_quiet: bool,
    /// Is it what somebody cancels, not what just waits behind it?
    is_long: bool,
}

/// What was asked and not answered when a worker ended, in order: to be asked of the next one.
pub struct Unanswered(Vec<Waiting>);

/// One worker: what is sent but not answered, and what waits for it to be there.
#[derive(Default)]
struct State {
    end: Option<End>,
    is_ready: bool,
    ticket: u32,
    waiting: BTreeMap<u32, Waiting>,
    unsent: Vec<JsValue>,
    heard: Option<Closure<dyn Fn(MessageEvent)>>,
    failed: Option<Closure<dyn Fn(Event)>>,
}

impl State {
    /// Ends the worker; what waits for it is forgotten.
    fn end(&mut self) {
        if let Some(End::Worker(worker)) = self.end.take() {
            worker.set_onmessage(None);
            worker.set_onerror(None);
            worker.terminate();
        }
        self.waiting.clear();
        self.unsent.clear();
        self.is_ready = false;
    }

    fn send(&mut self, text: &str, files: &JsValue, waiting: impl FnOnce(JsValue) -> Waiting) {
        let message = Object::new();
        _ = Reflect::set(&message, &"ask".into(), &text.into());
        _ = Reflect::set(&message, &"files".into(), files);
        self.waiting.insert(self.ticket, waiting(message.clone().into()));
        self.post(message.into());
    }

    fn post(&mut self, message: JsValue) {
        match (&self.end, self.is_ready) {
            (Some(end), true) => end.post(&message),
            _ => self.unsent.push(message),
        }
    }
}

type Shared = Rc<RefCell<State>>;

/// Does an answer take so long that somebody may want to cancel it?
fn is_long(ask: &Ask) -> bool {
    matches!(
        ask,
        Ask::Open { .. }
            | Ask::Choose { .. }
            | Ask::Reduce { .. }
            | Ask::Compare { .. }
            | Ask::Report(_)
            | Ask::Advise
            | Ask::Smallest { .. }
    )
}

/// The line to the worker.
#[derive(Clone, Copy)]
pub struct Link {
    state: StoredValue<Shared, LocalStorage>,
    /// A worker that opens something else: it takes the place of the other once that is open.
    next: StoredValue<Option<Shared>, LocalStorage>,
    /// How far the request that takes long is; `None` when nothing does.
    pub progress: RwSignal<Option<Progress>>,
    /// Why the worker stopped, if it did.
    pub crashed: RwSignal<Option<String>>,
    /// Counted up whenever a worker begins anew, with nothing opened.
    pub generation: RwSignal<u32>,
}

impl Link {
    /// A line with a worker at its end.
    pub fn new() -> Self {
        let link = Self {
            state: StoredValue::new_local(Shared::default()),
            next: StoredValue::new_local(None),
            progress: RwSignal::new(None),
            crashed: RwSignal::new(None),
            generation: RwSignal::new(0),
        };
        link.start(&link.state());
        link
    }

    fn state(&self) -> Shared {
        self.state.get_value()
    }

    fn start(self, state: &Shared) {
        let Some(worker) = worker() else {
            self.here(state);
            return;
        };
        let own = Rc::downgrade(state);
        let heard = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
            let message = event.data().as_string().and_then(|t| serde_json::from_str::<Message>(&t).ok());
            if let (Some(message), Some(state)) = (message, own.upgrade()) {
                self.hear(&state, message);
            }
        });
        let own = Rc::downgrade(state);
        let failed = Closure::<dyn Fn(Event)>::new(move |event: Event| {
            // Said here instead of in the console.
            event.prevent_default();
            // A script that cannot be loaded has no message.
            let why = Reflect::get(&event, &"message".into()).ok().and_then(|m| m.as_string());
            if let Some(state) = own.upgrade() {
                self.stopped(&state, why.unwrap_or_default());
            }
        });
        worker.set_onmessage(Some(heard.as_ref().unchecked_ref()));
        worker.set_onerror(Some(failed.as_ref().unchecked_ref()));
        let mut state = state.borrow_mut();
        state.end = Some(End::Worker(worker));
        state.is_ready = false;
        state.heard = Some(heard);
        state.failed = Some(failed);
    }

    fn hear(self, state: &Shared, message: Message) {
        match message {
            Message::Ready => Self::ready(state),
            Message::Progress { ticket, progress } => {
                if state.borrow().waiting.get(&ticket).is_some_and(|w| !w.is_quiet) {
                    self.progress.set(Some(progress));
                }
            }
            Message::Answer { ticket, answer } => {
                let answered = state.borrow_mut().waiting.remove(&ticket);
                let is_next = self.is_next(state);
                if is_next && matches!(*answer, Answer::Failed(_)) {
                    self.stop_opening();
                }
                let is_idle =
                    || !self.is_opening() && self.state().borrow().waiting.values().all(|w| w.is_quiet);
                if is_idle() {
                    self.progress.set(None);
                }
                if let Some(answered) = answered {
                    (answered.then)(*answer);
                }
                if is_next && is_idle() {
                    self.progress.set(None);
                }
            }
            Message::Crashed(why) => self.stopped(state, why),
        }
    }

    /// Goes on without a worker.
    fn here(self, state: &Shared) {
        let own = Rc::downgrade(state);
        let local = Local::new(move |message| {
            if let Some(state) = own.upgrade() {
                self.hear(&state, message);
            }
        });
        {
            let mut state = state.borrow_mut();
            if let Some(End::Worker(worker)) = state.end.replace(End::Here(local)) {
                worker.set_onmessage(None);
                worker.set_onerror(None);
                worker.terminate();
            }
        }
        Self::ready(state);
    }

    fn ready(state: &Shared) {
        let mut state = state.borrow_mut();
        state.is_ready = true;
        for message in std::mem::take(&mut state.unsent) {
            if let Some(end) = &state.end {
                end.post(&message);
            }
        }
    }

    fn stopped(self, state: &Shared, why: String) {
        if !state.borrow().is_ready {
            // It never was there: some frames and browsers let none start.
            self.here(state);
            return;
        }
        let why = if why.is_empty() { "out of memory, most likely".to_owned() } else { why };
        if self.is_next(state) {
            // What was open before is still there, and so is its worker.
            self.next.set_value(None);
            let waiting = std::mem::take(&mut state.borrow_mut().waiting);
            state.borrow_mut().end();
            self.progress.set(None);
            for (_, waiting) in waiting {
                (waiting.then)(Answer::Failed(format!(
                    "These files could not be opened: the engine stopped ({}). What was open before still is.",
                    crate::text::cut(&why)
                )));
            }
            return;
        }
        if self.crashed.get_untracked().is_none() {
            self.crashed.set(Some(why));
        }
        state.borrow_mut().end();
        self.progress.set(None);
    }

    /// Ends whatever is being done and begins anew.
    pub fn restart(self) {
        self.renew();
        self.generation.update(|g| *g += 1);
    }

    /// The same, for who tells the new worker himself what was opened; what only waited is given back.
    pub fn renew(self) -> Unanswered {
        self.stop_opening();
        let state = self.state();
        let waiting = std::mem::take(&mut state.borrow_mut().waiting);
        state.borrow_mut().end();
        self.progress.set(None);
        self.crashed.set(None);
        self.start(&state);
        Unanswered(waiting.into_values().filter(|w| !w.is_long).collect())
    }

    /// Asks the new worker what the old one did not come to.
    pub fn resume(self, unanswered: Unanswered) {
        let state = self.state();
        let mut state = state.borrow_mut();
        for waiting in unanswered.0 {
            let part =
                |name: &str| Reflect::get(&waiting.message, &name.into()).unwrap_or(JsValue::UNDEFINED);
            let request = part("ask").as_string().and_then(|t| serde_json::from_str::<Request>(&t).ok());
            let Some(request) = request else { continue };
            state.ticket += 1;
            let again = Request { ticket: state.ticket, ask: request.ask };
            let Ok(text) = serde_json::to_string(&again) else { continue };
            state.send(&text, &part("files"), |message| Waiting { message, ..waiting });
        }
    }

    fn is_next(self, state: &Shared) -> bool {
        self.next.with_value(|n| n.as_ref().is_some_and(|n| Rc::ptr_eq(n, state)))
    }

    /// Is something being opened beside what is?
    pub fn is_opening(self) -> bool {
        self.next.with_value(Option::is_some)
    }

    /// Leaves off opening something else; what is open is not touched.
    pub fn stop_opening(self) {
        if let Some(next) = self.next.try_update_value(Option::take).flatten() {
            next.borrow_mut().end();
            self.progress.set(None);
        }
    }

    /// Ends a search with what it has found. It needs no answer.
    pub fn stop(self) {
        let state = self.state();
        let state = state.borrow();
        let message = Object::new();
        if let (Some(end), Ok(text)) =
            (&state.end, serde_json::to_string(&Request { ticket: 0, ask: Ask::Stop }))
        {
            _ = Reflect::set(&message, &"ask".into(), &text.into());
            end.post(&message);
        }
    }

    /// Opens files in a worker of their own, so that what is open stays so until [`Link::adopt`], and if it never comes to
    /// that. Where the page itself does the work, that is not possible.
    pub fn open_beside(self, files: &JsValue, then: impl FnOnce(Answer) + 'static) {
        self.stop_opening();
        // Whoever asked to be told gets the worker's answers, and says when it is to take the other's place.
        let is_worker = matches!(self.state().borrow().end, Some(End::Worker(_)));
        let ask = Ask::Open { text: None };
        if !is_worker {
            self.ask_with(ask, files, then);
            return;
        }
        let next = Shared::default();
        self.next.set_value(Some(Rc::clone(&next)));
        self.start(&next);
        Self::send(&next, ask, files, false, then);
    }

    /// Asks the worker that opens something else; the one that there is if there is no other.
    pub fn ask_next(self, ask: Ask, then: impl FnOnce(Answer) + 'static) {
        match self.next.get_value() {
            Some(next) => Self::send(&next, ask, &JsValue::UNDEFINED, false, then),
            None => self.ask(ask, then),
        }
    }

    /// The worker that opened something else takes the place of the other.
    pub fn adopt(self) {
        if let Some(next) = self.next.try_update_value(Option::take).flatten() {
            self.state().borrow_mut().end();
            self.state.set_value(next);
            self.crashed.set(None);
        }
    }

    /// Asks; `files` are pairs of path and file that go beside the question.
    pub fn ask_with(self, ask: Ask, files: &JsValue, then: impl FnOnce(Answer) + 'static) {
        self.ask_current(ask, files, false, then);
    }

    /// The same without a word of how far it is: what was there already is told again.
    pub fn ask_quietly(self, ask: Ask, files: &JsValue, then: impl FnOnce(Answer) + 'static) {
        self.ask_current(ask, files, true, then);
    }

    fn ask_current(self, ask: Ask, files: &JsValue, is_quiet: bool, then: impl FnOnce(Answer) + 'static) {
        if self.state().borrow().end.is_none() {
            self.restart();
        }
        Self::send(&self.state(), ask, files, is_quiet, then);
    }

    fn send(state: &Shared, ask: Ask, files: &JsValue, is_quiet: bool, then: impl FnOnce(Answer) + 'static) {
        let mut state = state.borrow_mut();
        state.ticket += 1;
        let is_long = is_long(&ask);
        let Ok(text) = serde_json::to_string(&Request { ticket: state.ticket, ask }) else { return };
        state.send(&text, files, |message| Waiting { then: Box::new(then), message, is_quiet, is_long });
    }

    /// Asks.
    pub fn ask(self, ask: Ask, then: impl FnOnce(Answer) + 'static) {
        self.ask_with(ask, &JsValue::UNDEFINED, then);
    }
}
