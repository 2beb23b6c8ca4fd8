//! The page's entry point.

fn main() {
    #[cfg(target_arch = "wasm32")]
    bufferscope_web::mount();
}
