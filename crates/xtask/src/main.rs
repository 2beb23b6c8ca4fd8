//! Set-up, serve, test and build: `cargo xtask ...`.

fn main() {}
