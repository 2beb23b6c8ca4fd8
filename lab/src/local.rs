//! The session without a worker: for pages in which none can start, such as a frame that may do little. It answers in the
//! page itself, so that the page stands still meanwhile, but it answers.

use crate::session::Session;
use crate::talk::{Answer, Message, Request};
use crate::worker::request;
use js_sys::{Array, Promise, Uint8Array};
use leptos::prelude::window;
use opening::Blob;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::File;

/// Milliseconds before an answer is worked out, in which the page can draw that it is at work.
const PAUSE: i32 = 30;

/// A session in the page.
#[derive(Clone)]
pub(crate) struct Local {
    session: Rc<RefCell<Session>>,
    queue: Rc<RefCell<VecDeque<(Request, JsValue)>>>,
    is_busy: Rc<Cell<bool>>,
    heard: Rc<dyn Fn(Message)>,
}

impl Local {
    /// A session with nothing opened, whose answers are given to `heard`.
    pub(crate) fn new(heard: impl Fn(Message) + 'static) -> Self {
        Self { session: Rc::default(), queue: Rc::default(), is_busy: Rc::default(), heard: Rc::new(heard) }
    }

    /// Takes a message as the worker would: one is answered after the other.
    pub(crate) fn post(&self, message: &JsValue) {
        self.queue.borrow_mut().extend(request(message));
        if self.is_busy.replace(true) {
            return;
        }
        let local = self.clone();
        leptos::task::spawn_local(async move {
            loop {
                let next = local.queue.borrow_mut().pop_front();
                let Some((Request { ticket, ask }, files)) = next else { break };
                pause().await;
                let answer = match read(&files).await {
                    Ok(files) => local.session.borrow_mut().answer(ask, files, &mut |_| {}),
                    Err(path) => Answer::Failed(format!("{path} cannot be read.")),
                };
                (local.heard)(Message::Answer { ticket, answer: Box::new(answer) });
            }
            local.is_busy.set(false);
        });
    }
}

async fn pause() {
    let promise = Promise::new(&mut |resolve, _| {
        _ = window().set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, PAUSE);
    });
    _ = JsFuture::from(promise).await;
}

async fn read(files: &JsValue) -> Result<Vec<Blob>, String> {
    let mut out = Vec::new();
    if !files.is_object() {
        return Ok(out);
    }
    for pair in Array::from(files).iter() {
        let Ok(pair) = pair.dyn_into::<Array>() else { continue };
        let (Some(path), Ok(file)) = (pair.get(0).as_string(), pair.get(1).dyn_into::<File>()) else {
            continue;
        };
        let buffer = JsFuture::from(file.array_buffer()).await.map_err(|_| crate::text::cut(&path))?;
        out.push(Blob::new(path, Uint8Array::new(&buffer).to_vec()));
    }
    Ok(out)
}
