//! `cargo xtask build`: the page as it is published.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{cargo, command, root, run, target_dir};
use crate::serve::trunk;
use crate::{Result, embed, rules, setup, single};

/// What a page without a program may do: be looked at. Styles come from files; a block is moved through the style object,
/// which this allows. `blob:` is a figure on its way to a PNG; no page can be made to fetch one of somebody else's.
const READ: &str = "default-src 'none'; style-src 'self'; img-src 'self' blob:; font-src 'self'; base-uri 'none'; form-action 'none'";
/// What a page with a program may do besides: run its own script and wasm, and fetch its own files. Nothing typed or dropped
/// into it can leave the machine.
const RUN: &str = "script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";
/// What the lab may do besides: start its worker.
const WORK: &str = "worker-src 'self'";
/// No string becomes markup or a script, but through the one policy in `web/trusted.js`.
pub(crate) const TRUSTED: &str = "require-trusted-types-for 'script'; trusted-types bufferscope";
/// The page's program.
const PAGE: &str = "bufferscope-web";
const CHARSET: &str = r#"<meta charset="utf-8">"#;
/// The lab as one file; the command and the lab look for this name.
pub(crate) const SHELL: &str = "report-shell.html";
/// The figures as they first are, for readers without JavaScript or WebAssembly: a page of its own, which nobody else has to
/// download.
const FIGURES: &str = "figures.html";
/// Leads there without being asked.
const TO_FIGURES: &str = r#"<noscript><meta http-equiv="refresh" content="0; url=figures.html"></noscript>"#;

/// How the page is to be built.
#[derive(Default)]
pub(crate) struct Options {
    /// Where to, in place of `dist`.
    pub(crate) dist: Option<PathBuf>,
    /// Write the sizes to `web/size.json`.
    pub(crate) record: bool,
    /// Is it an error if they differ from what is written there?
    pub(crate) sizes_must_agree: bool,
    /// Leave out Trunk: what it built is there already.
    pub(crate) only_finish: bool,
}

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--record-size" => options.record = true,
                "--only-finish" => options.only_finish = true,
                "--dist" => options.dist = Some(args.next().ok_or("--dist wants a folder")?.into()),
                _ => {
                    return Err(format!(
                        "build knows --dist FOLDER, --record-size and --only-finish, not {arg}"
                    ));
                }
            }
        }
        Ok(options)
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

pub(crate) fn build(options: &Options) -> Result<()> {
    let dist = options.dist.clone().unwrap_or_else(|| root().join("dist"));
    if !options.only_finish {
        // Trunk does not make a folder outside of its own.
        fs::create_dir_all(&dist).map_err(|e| format!("cannot make {}: {e}", dist.display()))?;
        run(trunk("build", true, true)?.arg("--dist").arg(&dist))?;
        put_parts(&dist)?;
    }
    finish(&dist)?;
    println!("\n{} can be copied to any static host, at any path.", dist.display());
    match setup::node() {
        // Node has gzip and brotli built in, which saves this crate two dependencies.
        Ok(()) => {
            let mut sizes = command("node");
            sizes.arg("crates/xtask/src/sizes.mjs").arg(&dist).args(["web/size.json", "web/budget.json"]);
            if options.record {
                sizes.arg("--record");
            }
            if options.sizes_must_agree {
                sizes.arg("--agree");
            }
            run(&mut sizes)
        }
        Err(error) => {
            println!("Sizes are not shown: {error}.");
            Ok(())
        }
    }
}

/// Puts the parts that are fetched later beside the page, made smaller as Trunk made the first one.
fn put_parts(dist: &Path) -> Result<()> {
    let optimizer = setup::npm_packages().ok().map(|modules| modules.join(".bin/wasm-opt"));
    // Without wasm-opt it was not told to build a release; see `trunk`.
    let mode = if optimizer.is_some() { "release" } else { "debug" };
    let made = target_dir()?.join("wasm-bindgen").join(mode).join("split");
    let entries = |dir: &Path| -> Result<Vec<PathBuf>> {
        let list = fs::read_dir(dir).map_err(|e| format!("cannot read {}: {e}", dir.display()))?;
        Ok(list.filter_map(|entry| Some(entry.ok()?.path())).collect())
    };
    let folder = entries(&made)?.into_iter().find(|path| path.is_dir());
    let folder = folder.ok_or_else(|| format!("no parts of the page in {}", made.display()))?;
    let name = folder.file_name().unwrap_or_default();
    let to = dist.join(name);
    fs::create_dir_all(&to).map_err(|e| format!("cannot make {}: {e}", to.display()))?;
    let page = read(&dist.join("index.html"))?;
    let script = page.split("data-js=\"./").nth(1).and_then(|rest| rest.split('"').next());
    let script = script.ok_or("index.html does not say which script it starts")?;
    for part in entries(&folder)? {
        let file = to.join(part.file_name().unwrap_or_default());
        if part.extension().is_some_and(|extension| extension == "js") {
            // Trunk has given the page's script a name of its own.
            let link = read(&part)?;
            let plain = format!("\"../{PAGE}.js\"");
            if link.matches(&plain).count() != 1 {
                return Err(format!("{} must import {plain} once", part.display()));
            }
            write(&file, &link.replace(&plain, &format!("\"../{script}\"")))?;
        } else if let Some(optimizer) = &optimizer {
            run(command(optimizer).arg("-Oz").arg(&part).arg("-o").arg(&file))?;
        } else {
            fs::copy(&part, &file).map_err(|e| format!("cannot copy {}: {e}", part.display()))?;
        }
    }
    // The page's script cannot start without it, so it is fetched at the same time.
    let preload =
        format!("<link rel=\"modulepreload\" href=\"./{}/link.js\">\n  </head>", name.to_string_lossy());
    write(&dist.join("index.html"), &page.replacen("</head>", &preload, 1))
}

/// What Trunk does not do: the page of figures for readers without JavaScript, the page of rules, the content security policy
/// of each page. That is put in after the build, because Trunk's server reloads a page with an inline script, which it would
/// refuse.
fn finish(dist: &Path) -> Result<()> {
    let page = dist.join("index.html");
    let mut html = read(&page)?;
    if !html.contains(TO_FIGURES) {
        html = html.replacen("</head>", &format!("{TO_FIGURES}\n  </head>"), 1);
    }
    // Without the icon a browser would ask for one where there is none.
    let shared = |line: &&str| line.contains("rel=\"stylesheet\"") || line.contains("rel=\"icon\"");
    let styles: Vec<&str> = html.lines().map(str::trim).filter(shared).collect();
    let rules = rules::page(&read(&root().join("docs/RULES.md"))?, &styles.join("\n"), &policy(&[READ]));
    write(&dist.join("rules.html"), &rules)?;
    let figures = dist.join(FIGURES);
    run(cargo()
        .args(["run", "--quiet", "--package", "bufferscope-web", "--example", "posters", "--"])
        .arg(&figures))?;
    write(&figures, &figures_page(&read(&figures)?, &styles.join("\n"), &policy(&[READ])))?;
    write(&page, &with_policy(html, &policy(&[READ, RUN, TRUSTED]), "index.html")?)?;
    embed::posters(dist)?;
    let lab = dist.join("lab.html");
    write(&lab, &with_policy(read(&lab)?, &policy(&[READ, RUN, WORK, TRUSTED]), "lab.html")?)
}

/// The page of the figures as they first are.
fn figures_page(posters: &str, styles: &str, policy: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n{CHARSET}\n{policy}\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Bufferscope: the figures as they first are</title>\n{styles}\n</head>\n<body>\n\
         <header class=\"masthead\"><p class=\"brand\"><a href=\"./\">Bufferscope</a></p>\
         <h1>How every value gets an address</h1></header>\n\
         <main>\n<section class=\"intro\"><p>Bufferscope computes everything in your browser, with WebAssembly, and sends \
         nothing anywhere. It needs JavaScript to start; please allow it for this page. Until then, here are the figures as \
         they first are.</p></section>\n{posters}</main>\n</body>\n</html>\n"
    )
}

/// Writes the lab as one file beside the built pages, and the element for other people's pages into a folder of its own.
pub(crate) fn shell(args: &[String]) -> Result<()> {
    let folder = match args {
        [] => std::env::var_os("TRUNK_STAGING_DIR").map_or_else(|| root().join("dist"), PathBuf::from),
        [folder] => folder.into(),
        _ => return Err("shell wants one folder".to_owned()),
    };
    let boot = read(&root().join("web/boot-single.js"))?;
    let page = single::single(&folder, "lab.html", &boot)?;
    write(&folder.join(SHELL), &page)?;
    println!("{SHELL}: {} KiB", page.len().div_ceil(1024));
    embed::assemble(&folder)
}

fn policy(parts: &[&str]) -> String {
    format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">", parts.join("; "))
}

/// Puts the content security policy into a page, once.
fn with_policy(html: String, policy: &str, name: &str) -> Result<String> {
    if html.contains(policy) {
        return Ok(html);
    }
    if html.matches(CHARSET).count() != 1 {
        return Err(format!("{name} must have {CHARSET} once: the content security policy goes after it"));
    }
    Ok(html.replace(CHARSET, &format!("{CHARSET}\n    {policy}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_the_policy_that_the_pages_carry() {
        let hosting = include_str!("../../../docs/HOSTING.md");
        let header = format!("Content-Security-Policy: {}\n", [READ, RUN, WORK, TRUSTED].join("; "));
        assert!(hosting.contains(&header), "docs/HOSTING.md does not have the line\n{header}");
    }
}
