//! Files and text that a reader takes away.

use leptos::prelude::*;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;

/// Gives the reader a file of text; `kind` is its media type.
pub fn download(name: &str, text: &str, kind: &str) {
    let parts = js_sys::Array::of1(&JsValue::from_str(text));
    let options = web_sys::BlobPropertyBag::new();
    options.set_type(kind);
    if let Ok(blob) = web_sys::Blob::new_with_str_sequence_and_options(&parts, &options) {
        download_blob(name, &blob);
    }
}

/// Gives the reader a file.
pub fn download_blob(name: &str, blob: &web_sys::Blob) {
    let Ok(url) = web_sys::Url::create_object_url_with_blob(blob) else { return };
    if let Ok(link) = document().create_element("a") {
        _ = link.set_attribute("href", &url);
        _ = link.set_attribute("download", name);
        link.unchecked_into::<web_sys::HtmlElement>().click();
    }
    // Once the download has begun.
    set_timeout(move || _ = web_sys::Url::revoke_object_url(&url), std::time::Duration::from_secs(20));
}

/// Puts text on the clipboard; `false` if the browser does not let it, as where the page is not served securely.
pub async fn copy(text: &str) -> bool {
    let clipboard = js_sys::Reflect::get(&window().navigator(), &"clipboard".into());
    if !clipboard.is_ok_and(|c| !c.is_undefined()) {
        return false;
    }
    JsFuture::from(window().navigator().clipboard().write_text(text)).await.is_ok()
}
