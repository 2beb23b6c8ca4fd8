//! The lab: a reader's own dump, opened and asked in the browser.
//!
//! Data goes one way: the page asks ([`talk`]), the worker answers from what was opened ([`session`]), the page draws. All
//! but the views knows no browser and is tested natively.

pub mod address;
pub mod axes;
mod compare;
pub mod export;
mod map;
pub mod raster;
mod rows;
pub mod session;
pub mod shared;
pub mod talk;
pub mod text;
pub mod topics;
mod trial;

pub use rows::space_name;

#[cfg(target_arch = "wasm32")]
mod link;
#[cfg(target_arch = "wasm32")]
mod local;
#[cfg(target_arch = "wasm32")]
#[allow(
    clippy::large_types_passed_by_value,
    reason = "the page's state is a handful of handles, handed on as handles are"
)]
mod page;
#[cfg(target_arch = "wasm32")]
mod worker;

/// Starts the worker where there is no document, else the page.
#[cfg(target_arch = "wasm32")]
pub fn start() {
    use wasm_bindgen::JsCast as _;
    match js_sys::global().dyn_into::<web_sys::DedicatedWorkerGlobalScope>() {
        Ok(scope) => worker::listen(scope),
        Err(_) => {
            console_error_panic_hook::set_once();
            leptos::mount::mount_to_body(page::App);
        }
    }
}
