//! Writes the figures as they first are, with their captions, as a piece of HTML: what readers without JavaScript
//! are led to. `cargo xtask build` makes a page of it; the name of the file to be written is the only argument.

#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::io::Result<()> {
    let Some(file) = std::env::args_os().nth(1) else {
        return Err(std::io::Error::other("the name of the file to be written is wanted"));
    };
    std::fs::write(file, bufferscope_web::chapters::posters_html())
}
