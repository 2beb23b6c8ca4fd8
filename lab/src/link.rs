//! The page's end of the line to the worker: questions out, answers in, and what happens when it stops.

use crate::local::Local;
use crate::page::given::helper;
use crate::talk::{Answer, Ask, Message, Progress, Request};
use js_sys::{Object, Reflect};
use leptos::prelude::*;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
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

/// What is sent but not answered, and what waits for the worker to be there.
#[derive(Default)]
struct State {
    end: Option<End>,
    is_ready: bool,
    ticket: u32,
    waiting: HashMap<u32, Then>,
    /// Requests whose progress nobody is told of.
    quiet: HashSet<u32>,
    unsent: Vec<JsValue>,
    heard: Option<Closure<dyn Fn(MessageEvent)>>,
    failed: Option<Closure<dyn Fn(Event)>>,
}

/// The line to the worker.
#[derive(Clone, Copy)]
pub struct Link {
    state: StoredValue<Rc<RefCell<State>>, LocalStorage>,
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
            state: StoredValue::new_local(Rc::default()),
            progress: RwSignal::new(None),
            crashed: RwSignal::new(None),
            generation: RwSignal::new(0),
        };
        link.start();
        link
    }

    fn state(&self) -> Rc<RefCell<State>> {
        self.state.get_value()
    }

    fn start(&self) {
        let Some(worker) = worker() else {
            self.here();
            return;
        };
        let link = *self;
        let heard = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
            let message = event.data().as_string().and_then(|t| serde_json::from_str::<Message>(&t).ok());
            if let Some(message) = message {
                link.hear(message);
            }
        });
        let failed = Closure::<dyn Fn(Event)>::new(move |event: Event| {
            // Said here instead of in the console.
            event.prevent_default();
            // A script that cannot be loaded has no message.
            let why = Reflect::get(&event, &"message".into()).ok().and_then(|m| m.as_string());
            link.stopped(why.unwrap_or_default());
        });
        worker.set_onmessage(Some(heard.as_ref().unchecked_ref()));
        worker.set_onerror(Some(failed.as_ref().unchecked_ref()));
        let state = self.state();
        let mut state = state.borrow_mut();
        state.end = Some(End::Worker(worker));
        state.is_ready = false;
        state.heard = Some(heard);
        state.failed = Some(failed);
    }

    fn hear(self, message: Message) {
        match message {
            Message::Ready => self.ready(),
            Message::Progress { ticket, progress } => {
                let state = self.state();
                let state = state.borrow();
                if state.waiting.contains_key(&ticket) && !state.quiet.contains(&ticket) {
                    self.progress.set(Some(progress));
                }
            }
            Message::Answer { ticket, answer } => {
                let then = self.state().borrow_mut().waiting.remove(&ticket);
                self.state().borrow_mut().quiet.remove(&ticket);
                let idle = {
                    let state = self.state();
                    let state = state.borrow();
                    state.waiting.keys().all(|t| state.quiet.contains(t))
                };
                if idle {
                    self.progress.set(None);
                }
                if let Some(then) = then {
                    then(*answer);
                }
            }
            Message::Crashed(why) => self.stopped(why),
        }
    }

    /// Goes on without a worker.
    fn here(self) {
        self.leave_worker();
        self.state().borrow_mut().end = Some(End::Here(Local::new(move |message| self.hear(message))));
        self.ready();
    }

    fn leave_worker(self) {
        let end = self.state().borrow_mut().end.take();
        if let Some(End::Worker(worker)) = end {
            worker.set_onmessage(None);
            worker.set_onerror(None);
            worker.terminate();
        }
    }

    fn ready(self) {
        let state = self.state();
        let mut state = state.borrow_mut();
        state.is_ready = true;
        for message in std::mem::take(&mut state.unsent) {
            if let Some(end) = &state.end {
                end.post(&message);
            }
        }
    }

    fn end(self) {
        self.leave_worker();
        let state = self.state();
        let mut state = state.borrow_mut();
        state.waiting.clear();
        state.quiet.clear();
        state.unsent.clear();
        state.is_ready = false;
    }

    fn stopped(self, why: String) {
        if !self.state().borrow().is_ready {
            // It never was there: some frames and browsers let none start.
            self.here();
            return;
        }
        if self.crashed.get_untracked().is_none() {
            self.crashed.set(Some(if why.is_empty() {
                "out of memory, most likely".to_owned()
            } else {
                why
            }));
        }
        self.end();
        self.progress.set(None);
    }

    /// Ends whatever is being done and begins anew.
    pub fn restart(self) {
        self.renew();
        self.generation.update(|g| *g += 1);
    }

    /// The same, for who tells the new worker himself what was opened.
    pub fn renew(self) {
        self.end();
        self.progress.set(None);
        self.crashed.set(None);
        self.start();
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

    /// Asks; `files` are pairs of path and file that go beside the question.
    pub fn ask_with(self, ask: Ask, files: &JsValue, then: impl FnOnce(Answer) + 'static) {
        self.send(ask, files, false, then);
    }

    /// The same without a word of how far it is: what was there already is told again.
    pub fn ask_quietly(self, ask: Ask, files: &JsValue, then: impl FnOnce(Answer) + 'static) {
        self.send(ask, files, true, then);
    }

    fn send(self, ask: Ask, files: &JsValue, is_quiet: bool, then: impl FnOnce(Answer) + 'static) {
        if self.state().borrow().end.is_none() {
            self.restart();
        }
        let state = self.state();
        let mut state = state.borrow_mut();
        state.ticket += 1;
        let ticket = state.ticket;
        let Ok(text) = serde_json::to_string(&Request { ticket, ask }) else { return };
        let message = Object::new();
        _ = Reflect::set(&message, &"ask".into(), &text.into());
        _ = Reflect::set(&message, &"files".into(), files);
        state.waiting.insert(ticket, Box::new(then));
        if is_quiet {
            state.quiet.insert(ticket);
        }
        match (&state.end, state.is_ready) {
            (Some(end), true) => end.post(&message),
            _ => state.unsent.push(message.into()),
        }
    }

    /// Asks.
    pub fn ask(self, ask: Ask, then: impl FnOnce(Answer) + 'static) {
        self.ask_with(ask, &JsValue::UNDEFINED, then);
    }
}
