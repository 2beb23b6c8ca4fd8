//! What both pages need of a browser, written once: colours that follow the reader, the width of an element, and files
//! and text that are taken away.
#![cfg(target_arch = "wasm32")]

mod colours;
mod size;
mod taken;

pub use colours::{Palette, ThemeToggle, follow_system};
pub use size::width_of;
pub use taken::{copy, download, download_blob, png};
