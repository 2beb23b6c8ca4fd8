//! `cargo xtask serve`.

use std::env;
use std::process::Command;

use crate::process::{command, prepend_path, run, target_dir};
use crate::{Result, setup};

pub(crate) struct Options {
    open: bool,
    port: u16,
    release: bool,
}

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Options> {
        let mut options = Options { open: true, port: 8080, release: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--no-open" => options.open = false,
                "--release" => options.release = true,
                "--port" => {
                    let port = args.next().ok_or("--port wants a number")?;
                    options.port = port.parse().map_err(|_| format!("--port wants a number, not {port}"))?;
                }
                _ => return Err(format!("serve knows --no-open, --port N and --release, not {arg}")),
            }
        }
        Ok(options)
    }
}

pub(crate) fn serve(options: &Options) -> Result<()> {
    let mut trunk = trunk("serve", options.release, false)?;
    trunk.args(["--port", &options.port.to_string()]);
    // Apart from `dist/`, so that `cargo xtask test` may run meanwhile.
    trunk.arg("--dist").arg(target_dir()?.join("served"));
    // On a machine without a screen there is nothing to open; Trunk would report an error where there is none.
    let screen = cfg!(not(target_os = "linux"))
        || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|v| env::var_os(v).is_some());
    if options.open && screen {
        trunk.args(["--open", "true"]);
    }
    println!(
        "\nThe page will be at http://127.0.0.1:{}/ when the first build is done. Ctrl-C ends.\n",
        options.port
    );
    run(&mut trunk)
}

/// Trunk with everything it needs in place; with `cuts`, the page's program is cut into parts, which Trunk does not put
/// beside it.
pub(crate) fn trunk(subcommand: &str, release: bool, cuts: bool) -> Result<Command> {
    setup::wasm_target()?;
    setup::dependencies()?;
    let mut path = vec![setup::trunk()?, setup::wasm_bindgen(cuts)?];
    let mut args = vec!["--config", "Trunkfile.toml", subcommand];
    if release {
        match setup::npm_packages() {
            Ok(modules) => {
                path.push(modules.join(".bin"));
                args.push("--release");
            }
            Err(error) => {
                println!("  {error}; going on without wasm-opt, so the page is some 2 % larger to download");
                args.extend(["--cargo-profile", "wasm-release"]);
            }
        }
    }
    let mut trunk = command("trunk");
    trunk.args(args);
    // See web/build.rs.
    trunk.env_remove("BUFFERSCOPE_SPLIT");
    if cuts {
        trunk.env("BUFFERSCOPE_SPLIT", "1");
    }
    // Everything was fetched above. Offline, a tool of the wrong version is an error at once, not a download.
    trunk.env("TRUNK_OFFLINE", "true");
    // Trunk reads NO_COLOR as true or false only and stops at the customary NO_COLOR=1.
    if env::var_os("NO_COLOR").is_some() {
        trunk.env_remove("NO_COLOR").env("TRUNK_COLOR", "never");
    }
    prepend_path(&mut trunk, &path)?;
    Ok(trunk)
}
