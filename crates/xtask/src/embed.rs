//! The folder `embed` of the published page: the element `<buffer-scope>`, its program, and what frames need.
//!
//! The element's style sheet is made of the page's own: the same tokens and marks, said of the element in place of the
//! document. It goes into the script, so that the element is one script with its program beside it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::Result;
use crate::process::{cargo, root, run};
use crate::single::{glue, inside};

/// What Trunk makes of the element's crate, by the names it gives.
const PROGRAM: [&str; 2] = ["embed.js", "embed_bg.wasm"];
/// What is copied as it is, but for the version.
const FILES: [&str; 9] = [
    "buffer-scope.d.ts",
    "embed.html",
    "frame.css",
    "frame.js",
    "host.d.ts",
    "host.js",
    "package.json",
    "README.md",
    "talk.js",
];

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// A style sheet said of the element in place of the document.
fn of_host(sheet: &str) -> String {
    sheet
        .replace(":root:not([data-theme=\"light\"])", ":host(:not([theme=\"light\"]))")
        .replace(":root[data-theme=\"dark\"]", ":host([theme=\"dark\"])")
        .replace(":root", ":host")
}

/// A style sheet without comments and the space between its rules.
fn small(sheet: &str) -> String {
    let mut out = String::with_capacity(sheet.len());
    let mut rest = sheet;
    while let Some((before, after)) = rest.split_once("/*") {
        out += before;
        rest = after.split_once("*/").map_or("", |(_, rest)| rest);
    }
    out += rest;
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text as it stands between the double quotes of a script.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('<', "\\x3c")
}

fn script() -> Result<String> {
    let assets = root().join("assets");
    let style = format!(
        "{}{}{}",
        of_host(&read(&assets.join("tokens.css"))?),
        of_host(&read(&assets.join("marks.css"))?),
        read(&root().join("embed/buffer-scope.css"))?
    );
    let script = read(&root().join("embed/buffer-scope.js"))?;
    for mark in ["\"@VERSION@\"", "\"@STYLE@\""] {
        if script.matches(mark).count() != 1 {
            return Err(format!("embed/buffer-scope.js must have {mark} once: the build writes there"));
        }
    }
    Ok(script
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("\"@STYLE@\"", &format!("\"{}\"", quoted(&small(&style)))))
}

/// Makes `embed` in a folder of built pages.
pub(crate) fn assemble(folder: &Path) -> Result<()> {
    let to = folder.join("embed");
    let modules = to.join("modules");
    fs::create_dir_all(&modules).map_err(|e| format!("cannot make {}: {e}", modules.display()))?;
    for name in PROGRAM {
        let (from, to) = (folder.join(name), to.join(name));
        // By hand it may be the second time.
        if from.exists() || !to.exists() {
            fs::rename(&from, &to)
                .map_err(|e| format!("cannot move {} to {}: {e}", from.display(), to.display()))?;
        }
    }
    let script = script()?;
    write(&to.join("buffer-scope.js"), &script)?;
    for name in FILES {
        let text = read(&root().join("embed").join(name))?;
        write(&to.join(name), &text.replace("@VERSION@", env!("CARGO_PKG_VERSION")))?;
    }
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        write(&to.join(name), &read(&root().join(name))?)?;
    }
    let locales = to.join("locales");
    fs::create_dir_all(&locales).map_err(|e| format!("cannot make {}: {e}", locales.display()))?;
    write(&to.join("locale.js"), &read(&folder.join("locale.js"))?)?;
    write(&locales.join("zh-Hans.json"), &read(&folder.join("locales/zh-Hans.json"))?)?;
    let mut texts = Vec::new();
    for id in modules_of_the_page()? {
        let name = format!("{id}.txt");
        let text = read(&folder.join("modules").join(&name))?;
        write(&modules.join(&name), &text)?;
        texts.push((id, text));
    }
    let single = single(&to, &script, &texts)?;
    write(&to.join("embed-single.html"), &single)
}

/// The pictures that stand in an element's place until it starts.
pub(crate) fn posters(folder: &Path) -> Result<()> {
    run(cargo()
        .args(["run", "--quiet", "--package", "bufferscope-embed", "--example", "element_posters", "--"])
        .arg(folder.join("embed/posters")))
}

/// The ids of the modules that a reader can choose, as the page lists them.
fn modules_of_the_page() -> Result<Vec<String>> {
    let list = read(&root().join("web/src/modules.rs"))?;
    let (_, list) = list.split_once("pub const SHIPPED").ok_or("web/src/modules.rs has no SHIPPED")?;
    let (list, _) = list.split_once("];").ok_or("web/src/modules.rs: SHIPPED has no end")?;
    let ids: Vec<String> = list
        .split("id: \"")
        .skip(1)
        .filter_map(|rest| rest.split_once('"').map(|(id, _)| id.to_owned()))
        .collect();
    if ids.is_empty() { Err("web/src/modules.rs: SHIPPED lists nothing".to_owned()) } else { Ok(ids) }
}

/// `embed.html` as one file that fetches nothing: for frames that may do nothing but run scripts.
fn single(folder: &Path, script: &str, modules: &[(String, String)]) -> Result<String> {
    let wasm = folder.join(PROGRAM[1]);
    let wasm = fs::read(&wasm).map_err(|e| format!("cannot read {}: {e}", wasm.display()))?;
    let glue = glue(folder, PROGRAM[0])?;
    // No module can be imported in one file, so the three scripts become one.
    let alone = |text: &str, name: &str| -> Result<String> {
        let mut out = String::new();
        for line in text.lines() {
            if line.starts_with("import ") {
                continue;
            }
            _ = writeln!(out, "{}", line.strip_prefix("export ").unwrap_or(line));
        }
        inside(name, &out)?;
        // What a file of its own knows of its place: where the page is that it was taken from is not known to it.
        Ok(out.replace("import.meta.url", "document.baseURI"))
    };
    let mut files = String::from("{\n");
    let locale = folder.join("locale.js");
    _ = writeln!(
        files,
        "\"locale.js\": (() => {{\n{}return {{ Page, Translator }};\n}})(),",
        alone(&read(&locale)?, "locale.js")?
    );
    let table = "locales/zh-Hans.json";
    _ = writeln!(files, "\"{table}\": JSON.parse(\"{}\"),", quoted(&read(&folder.join(table))?));
    for (id, text) in modules {
        _ = writeln!(files, "\"modules/{id}.txt\": \"{}\",", quoted(text));
    }
    _ = write!(
        files,
        "\"embed_bg.wasm\": Uint8Array.from(atob(\"{}\"), (c) => c.charCodeAt(0)) }}",
        BASE64_STANDARD.encode(wasm)
    );
    let of = |name: &str| alone(&read(&root().join("embed").join(name))?, name);
    let code = format!(
        "\nglobalThis.bufferScopeFiles = {files};\n(() => {{\n{glue}{}{}{}}})();\n",
        alone(script, "buffer-scope.js")?,
        of("talk.js")?,
        of("frame.js")?,
    );
    inside("the program", &code)?;
    let style = read(&root().join("embed/frame.css"))?;
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())));
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; script-src {} 'wasm-unsafe-eval'; style-src {}; img-src data: blob:; base-uri 'none'; \
         form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Bufferscope: an exhibit</title>\n<style>{style}</style>\n\
         </head>\n<body>\n<noscript>This exhibit computes in your browser and needs JavaScript.</noscript>\n\
         <script>{code}</script>\n</body>\n</html>\n",
        hash(&code),
        hash(&style)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_is_of_the_element_and_of_nothing_else() {
        let tokens = of_host(&read(&root().join("assets/tokens.css")).expect("tokens"));
        assert!(!tokens.contains(":root") && tokens.contains(":host(:not([theme=\"light\"]))"));
        assert!(tokens.contains(":host([theme=\"dark\"])"));
        let script = script().expect("the script");
        assert!(!script.contains("@STYLE@") && !script.contains("@VERSION@") && !script.contains(":root"));
    }

    #[test]
    fn comments_go_and_text_stays_within_its_quotes() {
        assert_eq!(small("/* a */\na {\n  b: c;\n}\n/* d */\n"), "a { b: c; }");
        assert_eq!(quoted("a\"b\\c\n</script>"), "a\\\"b\\\\c\\n\\x3c/script>");
    }

    #[test]
    fn the_modules_are_those_that_are_shipped() {
        let ids = modules_of_the_page().expect("a list");
        assert!(
            ids.len() > 5 && ids.iter().all(|id| root().join(format!("assets/modules/{id}.txt")).exists())
        );
    }
}
