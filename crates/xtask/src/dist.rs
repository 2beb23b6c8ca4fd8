//! `cargo xtask build`: the page as it is published.

use std::fs;

use crate::process::{command, root, run};
use crate::serve::trunk;
use crate::{Result, setup};

/// What the published page may do: run its own script and wasm, and fetch its own files. Nothing typed or dropped into it
/// can leave the machine. Styles come from files too; a block is moved through the style object, which this allows.
///
/// Put in after the build, because Trunk's server reloads the page with an inline script that this would refuse.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                      img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; \
                      frame-src 'self'; base-uri 'none'; form-action 'none'";
const CHARSET: &str = r#"<meta charset="utf-8">"#;

pub(crate) fn build() -> Result<()> {
    run(&mut trunk("build", true)?)?;
    let page = root().join("dist/index.html");
    let html = fs::read_to_string(&page).map_err(|e| format!("cannot read {}: {e}", page.display()))?;
    if html.matches(CHARSET).count() != 1 {
        return Err(format!(
            "index.html must have {CHARSET} once: the content security policy goes after it"
        ));
    }
    let policy = format!("{CHARSET}\n    <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">");
    fs::write(&page, html.replace(CHARSET, &policy))
        .map_err(|e| format!("cannot write {}: {e}", page.display()))?;

    println!("\ndist/ can be copied to any static host, at any path.");
    match setup::node() {
        // Node has gzip and brotli built in, which saves this crate two dependencies.
        Ok(()) => run(command("node").args(["crates/xtask/src/sizes.mjs", "dist"])),
        Err(error) => {
            println!("Sizes are not shown: {error}.");
            Ok(())
        }
    }
}
