//! `wasm-bindgen-test-runner`, which Cargo calls in place of running a test built for wasm32.

fn main() {
    if let Err(error) = wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os()) {
        eprintln!("error: {error:?}");
        std::process::exit(1);
    }
}
