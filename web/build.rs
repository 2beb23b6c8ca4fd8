//! For the page as it is published: `cargo xtask build` asks for a program that can be cut into parts.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=BUFFERSCOPE_SPLIT");
    println!("cargo::rustc-check-cfg=cfg(split)");
    let wanted =
        ["BUFFERSCOPE_SPLIT", "CARGO_FEATURE_PARTS"].iter().all(|name| std::env::var_os(name).is_some());
    let is_wasm = std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32");
    if wanted && is_wasm {
        println!("cargo::rustc-cfg=split");
        // Who calls whom, and who reads which bytes: what the cut goes by.
        println!("cargo::rustc-link-arg-bins=--emit-relocs");
    }
}
