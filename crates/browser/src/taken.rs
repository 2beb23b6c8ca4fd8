//! Files and text that a reader takes away.

use leptos::prelude::*;
use wasm_bindgen::closure::Closure;
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

/// A PNG of the text of an SVG file that brings its styles with it, at two pixels for one; nothing if the browser cannot draw it.
pub async fn png(svg: &str) -> Option<web_sys::Blob> {
    let parts = js_sys::Array::of1(&JsValue::from_str(svg));
    let options = web_sys::BlobPropertyBag::new();
    options.set_type("image/svg+xml");
    let file = web_sys::Blob::new_with_str_sequence_and_options(&parts, &options).ok()?;
    let url = web_sys::Url::create_object_url_with_blob(&file).ok()?;
    let image = web_sys::HtmlImageElement::new().ok()?;
    image.set_src(&url);
    let drawn = JsFuture::from(image.decode()).await;
    _ = web_sys::Url::revoke_object_url(&url);
    drawn.ok()?;
    let canvas: web_sys::HtmlCanvasElement = document().create_element("canvas").ok()?.unchecked_into();
    let (width, height) = (image.width() * 2, image.height() * 2);
    canvas.set_width(width);
    canvas.set_height(height);
    let context: web_sys::CanvasRenderingContext2d = canvas.get_context("2d").ok()??.unchecked_into();
    let (width, height) = (f64::from(width), f64::from(height));
    context.draw_image_with_html_image_element_and_dw_and_dh(&image, 0.0, 0.0, width, height).ok()?;
    let made = js_sys::Promise::new(&mut |done, failed| {
        let given = Closure::once_into_js(move |blob: JsValue| _ = done.call1(&JsValue::NULL, &blob));
        if canvas.to_blob_with_type(given.unchecked_ref(), "image/png").is_err() {
            _ = failed.call0(&JsValue::NULL);
        }
    });
    JsFuture::from(made).await.ok()?.dyn_into().ok()
}
