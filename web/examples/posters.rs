//! Writes the figures as they first are, with their captions, as a piece of HTML: what stands on the page where there is
//! no JavaScript. `cargo xtask build` puts it in; the name of the file to be written is the only argument.

#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::io::Result<()> {
    let Some(file) = std::env::args_os().nth(1) else {
        return Err(std::io::Error::other("the name of the file to be written is wanted"));
    };
    std::fs::write(file, bufferscope_web::chapters::posters_html())
}
