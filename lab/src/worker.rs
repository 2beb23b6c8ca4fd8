//! The worker's loop: a message in, progress and an answer out.

use crate::session::{Reducing, Session, SmallestHeaps};
use crate::talk::{Answer, Ask, Message, Progress, Request};
use js_sys::{Array, Promise, Reflect, Uint8Array};
use opening::Blob;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, File, FileReaderSync, MessageEvent};

/// Bytes read from a file at a time.
const PIECE: f64 = 4_194_304.0;
/// Milliseconds between two notices of progress.
const OFTEN: f64 = 60.0;
/// Most bytes that are taken from disk at once; 32-bit memory has no room for more beside what is made of them.
const MOST_BYTES: f64 = 1.5e9;

fn say(scope: &DedicatedWorkerGlobalScope, message: &Message) {
    if let Ok(text) = serde_json::to_string(message) {
        _ = scope.post_message(&JsValue::from_str(&text));
    }
}

/// A question and the files beside it, out of a message.
pub(crate) fn request(data: &JsValue) -> Option<(Request, JsValue)> {
    let part = |name: &str| Reflect::get(data, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED);
    let request = serde_json::from_str(&part("ask").as_string()?).ok()?;
    Some((request, part("files")))
}

/// Listens for as long as the worker lives.
pub fn listen(scope: DedicatedWorkerGlobalScope) {
    let told = scope.clone();
    std::panic::set_hook(Box::new(move |info| say(&told, &Message::Crashed(info.to_string()))));
    let session = Rc::new(RefCell::new(Session::default()));
    let stopped = Rc::new(Cell::new(false));
    let own = scope.clone();
    let heard = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
        let Some((Request { ticket, ask }, files)) = request(&event.data()) else { return };
        match ask {
            Ask::Stop => return stopped.set(true),
            // What may take minutes: other messages are heard between its steps.
            Ask::Advise => {
                stopped.set(false);
                let search = search(own.clone(), ticket, Rc::clone(&session), Rc::clone(&stopped));
                return wasm_bindgen_futures::spawn_local(search);
            }
            Ask::Smallest { source, seconds } => {
                stopped.set(false);
                let found = session.borrow().smallest_search(source);
                let pack = pack(own.clone(), ticket, found, f64::from(seconds) * 1000.0, Rc::clone(&stopped));
                return wasm_bindgen_futures::spawn_local(pack);
            }
            Ask::Reduce { a, b } => {
                stopped.set(false);
                let found = session.borrow().reducing(&a, &b);
                return wasm_bindgen_futures::spawn_local(reduce(
                    own.clone(),
                    ticket,
                    found,
                    Rc::clone(&stopped),
                ));
            }
            _ => {}
        }
        let mut last = 0.0;
        let mut tell = |progress: Progress| {
            let now = js_sys::Date::now();
            if now - last >= OFTEN {
                last = now;
                say(&own, &Message::Progress { ticket, progress });
            }
        };
        let answer = match read(&files, &mut tell) {
            Ok(files) => session.borrow_mut().answer(ask, files, &mut tell),
            Err(problem) => Answer::Failed(problem),
        };
        say(&own, &Message::Answer { ticket, answer: Box::new(answer) });
    });
    scope.set_onmessage(Some(heard.as_ref().unchecked_ref()));
    heard.forget();
    say(&scope, &Message::Ready);
}

/// Looks for what would help most, until there is no more or it is told to stop; what was found by then is the answer.
async fn search(
    scope: DedicatedWorkerGlobalScope,
    ticket: u32,
    session: Rc<RefCell<Session>>,
    stopped: Rc<Cell<bool>>,
) {
    let mut last = js_sys::Date::now();
    let mut told = 0.0;
    let mut found = session.borrow().advisor();
    if let Some(search) = &mut found {
        let mut tell = |progress: Progress| {
            let now = js_sys::Date::now();
            if now - told >= OFTEN {
                told = now;
                say(&scope, &Message::Progress { ticket, progress });
            }
        };
        while !stopped.get() && session.borrow().advise_on(search, &mut tell) {
            if js_sys::Date::now() - last >= OFTEN {
                pause(&scope).await;
                last = js_sys::Date::now();
            }
        }
    }
    let answer = match found {
        Some(search) => session.borrow().advised(search),
        None => Answer::Failed("This needs the program, and no module is chosen.".to_owned()),
    };
    say(&scope, &Message::Answer { ticket, answer: Box::new(answer) });
}

/// Looks for the smallest heaps, until they are proved, the time is over, or it is told to stop; so far found is the answer.
async fn pack(
    scope: DedicatedWorkerGlobalScope,
    ticket: u32,
    found: Result<SmallestHeaps, String>,
    milliseconds: f64,
    stopped: Rc<Cell<bool>>,
) {
    let end = js_sys::Date::now() + milliseconds;
    let answer = match found {
        Ok(mut search) => {
            let mut tell = |progress: Progress| say(&scope, &Message::Progress { ticket, progress });
            while !stopped.get() && js_sys::Date::now() < end {
                let slice = end.min(js_sys::Date::now() + OFTEN);
                if !search.go_on(&mut || js_sys::Date::now() < slice, &mut tell) {
                    break;
                }
                pause(&scope).await;
            }
            search.found()
        }
        Err(why) => Answer::Failed(why),
    };
    say(&scope, &Message::Answer { ticket, answer: Box::new(answer) });
}

/// Looks for a small module, until there is no smaller one or it is told to stop; the smallest so far is the answer.
async fn reduce(
    scope: DedicatedWorkerGlobalScope,
    ticket: u32,
    found: Result<Reducing, String>,
    stopped: Rc<Cell<bool>>,
) {
    let answer = match found {
        Ok(mut search) => {
            let (mut last, mut told) = (js_sys::Date::now(), 0.0);
            let mut tell = |progress: Progress| {
                let now = js_sys::Date::now();
                if now - told >= OFTEN {
                    told = now;
                    say(&scope, &Message::Progress { ticket, progress });
                }
            };
            while !stopped.get() && search.go_on(&mut tell) {
                if js_sys::Date::now() - last >= OFTEN {
                    pause(&scope).await;
                    last = js_sys::Date::now();
                }
            }
            search.found()
        }
        Err(why) => Answer::Failed(why),
    };
    say(&scope, &Message::Answer { ticket, answer: Box::new(answer) });
}

/// Lets messages in.
async fn pause(scope: &DedicatedWorkerGlobalScope) {
    let soon = Promise::new(&mut |resolve, _| {
        _ = scope.set_timeout_with_callback(&resolve);
    });
    _ = wasm_bindgen_futures::JsFuture::from(soon).await;
}

/// Reads the files, piece by piece.
fn read(files: &JsValue, tell: &mut dyn FnMut(Progress)) -> Result<Vec<Blob>, String> {
    let mut out = Vec::new();
    if !files.is_object() {
        return Ok(out);
    }
    let pairs: Vec<(String, File)> = Array::from(files)
        .iter()
        .filter_map(|pair| {
            let pair: Array = pair.dyn_into().ok()?;
            Some((pair.get(0).as_string()?, pair.get(1).dyn_into().ok()?))
        })
        .collect();
    let of: f64 = pairs.iter().map(|(_, f)| f.size()).sum();
    if of > MOST_BYTES {
        return Err(format!(
            "These files have {} together; a page has memory for about {}. Open the files of one module, or use the bufferscope command.",
            assigner::words::binary(of as u64),
            assigner::words::binary(MOST_BYTES as u64)
        ));
    }
    let reader =
        FileReaderSync::new().map_err(|_| "This browser does not let a worker read files.".to_owned())?;
    let mut done = 0.0;
    for (path, file) in pairs {
        let mut bytes = Vec::with_capacity(file.size() as usize);
        let mut at = 0.0;
        while at < file.size() {
            let to = (at + PIECE).min(file.size());
            let piece = file
                .slice_with_f64_and_f64(at, to)
                .and_then(|blob| reader.read_as_array_buffer(&blob))
                .map_err(|_| format!("{path} cannot be read: it may have been moved or changed since."))?;
            let piece = Uint8Array::new(&piece);
            let from = bytes.len();
            bytes.resize(from + piece.length() as usize, 0);
            piece.copy_to(&mut bytes[from..]);
            at = to;
            tell(Progress {
                stage: "Reading".to_owned(),
                what: crate::text::cut(&path),
                done: (done + at) as u64,
                of: Some(of as u64),
                bytes: true,
            });
        }
        done += at;
        out.push(Blob::new(path, bytes));
    }
    Ok(out)
}
