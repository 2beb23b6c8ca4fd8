//! A report: a page that holds the files of one module, with the part that is read without a program above the lab.

use crate::address::Kept;
use js_sys::{Array, Function, Reflect};
use leptos::prelude::*;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, Response};

/// What the page holds.
pub struct Given {
    /// Pairs of path and file.
    pub files: Array,
    /// Which of their modules is meant, if one is.
    pub module: Option<u32>,
    /// What is to be tried at once.
    pub kept: Kept,
}

fn global(name: &str) -> Option<JsValue> {
    Reflect::get(&js_sys::global(), &name.into()).ok().filter(|v| !v.is_undefined())
}

impl Given {
    /// Takes it, if the page is a report.
    pub fn take() -> Option<Self> {
        let given = global("bufferscopeGiven")?;
        let part = |name: &str| Reflect::get(&given, &name.into()).unwrap_or(JsValue::UNDEFINED);
        let state = js_sys::JSON::stringify(&part("state")).ok().and_then(|s| s.as_string());
        Some(Self {
            files: part("files").dyn_into().ok()?,
            module: part("module").as_f64().map(|m| m as u32),
            kept: state
                .and_then(|s| serde_json::from_str::<Option<Kept>>(&s).ok().flatten())
                .unwrap_or_default(),
        })
    }
}

/// Is the page one file, with nothing beside it?
pub fn is_single() -> bool {
    global("bufferscopeShell").is_some()
}

/// Calls a helper of the page's scripts, if there is one of that name.
pub fn helper(name: &str, argument: &JsValue) -> Option<Result<JsValue, JsValue>> {
    let function: Function = global(name)?.dyn_into().ok()?;
    Some(function.call1(&JsValue::NULL, argument))
}

/// The shell of reports, as files that go beside a question: this page itself if it is one, else the file beside it.
pub async fn shell() -> Option<Array> {
    const NAME: &str = "report-shell.html";
    let text = match global("bufferscopeShell") {
        Some(text) => text,
        None => {
            let response: Response =
                JsFuture::from(window().fetch_with_str(NAME)).await.ok()?.dyn_into().ok()?;
            if !response.ok() {
                return None;
            }
            JsFuture::from(response.text().ok()?).await.ok()?
        }
    };
    let file = File::new_with_str_sequence(&Array::of1(&text), NAME).ok()?;
    Some(Array::of1(&Array::of2(&JsValue::from_str(NAME), &file)))
}

fn part() -> Option<web_sys::Element> {
    document().get_element_by_id("report")
}

/// The lab has taken the place of the part that is read without a program; that part stays for paper.
pub fn replace() {
    if let Some(part) = part() {
        _ = part.class_list().add_1("replaced");
    }
}

/// What the reader opened is no longer what the page was made of.
pub fn forget() {
    if let Some(part) = part() {
        part.remove();
    }
}
