//! The element's program. It starts nothing by itself: `buffer-scope.js` makes an exhibit for each element.

fn main() {}

// What is exported is the library's; without a use of it the linker would leave it out.
#[cfg(target_arch = "wasm32")]
pub use bufferscope_embed::Exhibit;
