//! Bufferscope's page: an explainer and a workbench for XLA's buffer assignment.
//!
//! Data goes one way: [`state`] says what is shown, [`engine`] runs the real rules on it, [`scene`] makes rectangles
//! and labels of the result, and the views draw them. All but the views knows no browser and is tested natively.

pub mod address;
pub mod binding;
pub mod breaking;
pub mod chapters;
pub mod colours;
pub mod copying;
pub mod course;
pub mod engine;
pub mod fragmentation;
pub mod freeing;
pub mod gates;
pub mod lessons;
pub mod log;
pub mod looping;
pub mod made;
pub mod meeting;
pub mod memory;
pub mod modules;
pub mod optimum;
pub mod packed_by_hand;
pub mod pane;
pub mod placing;
pub mod questions;
pub mod remapping;
pub mod scene;
pub mod sorting;
pub mod spreading;
pub mod state;
pub mod story;
pub mod touching;

#[cfg(target_arch = "wasm32")]
mod app;
#[cfg(target_arch = "wasm32")]
mod book;
#[cfg(target_arch = "wasm32")]
mod editor;
#[cfg(target_arch = "wasm32")]
mod exhibit;
#[cfg(target_arch = "wasm32")]
mod figure;
#[cfg(target_arch = "wasm32")]
mod parts;
#[cfg(target_arch = "wasm32")]
mod share;
#[cfg(target_arch = "wasm32")]
mod table;
#[cfg(target_arch = "wasm32")]
mod teach;
#[cfg(target_arch = "wasm32")]
mod views;
#[cfg(target_arch = "wasm32")]
mod workbench;

// The element in other people's pages draws with it, too.
#[cfg(target_arch = "wasm32")]
pub use views::painter;

/// Puts the page into the document.
#[cfg(target_arch = "wasm32")]
pub fn mount() {
    console_error_panic_hook::set_once();
    leptos::mount::mount_to_body(app::App);
}
