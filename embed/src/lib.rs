//! The exhibits of the element `<buffer-scope>`: live ranges, the heap they are packed into, and what a pulled end does.
//!
//! The engine, the scenes and the painter are those of the page. What is missing is the page's framework: an element in
//! somebody else's page has a few buttons, which `buffer-scope.js` makes, and must be small. So the parts here are a
//! [`Session`], which is the exhibit without a browser, and the `Exhibit` that JavaScript calls.

mod session;

#[cfg(target_arch = "wasm32")]
mod face;

#[cfg(target_arch = "wasm32")]
pub use face::Exhibit;
pub use session::{Row, Session, Words};
