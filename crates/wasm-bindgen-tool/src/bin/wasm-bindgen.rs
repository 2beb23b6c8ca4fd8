//! `wasm-bindgen`, as Trunk expects to find it on `PATH`. A program that names parts is cut into them first.

#[path = "../parts.rs"]
mod parts;

fn main() {
    let run =
        parts::cut(std::env::args_os().collect()).map_err(|error| format!("{error:?}")).and_then(|args| {
            wasm_bindgen_cli::wasm_bindgen::run_cli_with_args(args).map_err(|error| format!("{error:?}"))
        });
    if let Err(error) = run {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
