//! The lab's page and its worker: one program, told apart by where it runs.

fn main() {
    #[cfg(target_arch = "wasm32")]
    bufferscope_lab::start();
}
