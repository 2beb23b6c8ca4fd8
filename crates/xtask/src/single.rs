//! A page of the build as one file: style sheets, fonts, icon, scripts, program and worker in it. It works from a disk, and
//! in a frame that may do nothing but run scripts.
//!
//! What goes in is the page as the build wrote it, with the table of its other language; nothing is known of which page it is.
//! The program is started by `web/boot-single.js` instead of `web/boot.js`. The file has a content security policy of its own that names each script
//! and each style by its hash, so that whatever is put into the page later cannot run.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::Result;
use crate::dist::TRUSTED;

/// Of which version a report's shell is; the crate `report` has the same words.
pub(crate) fn version() -> String {
    format!("{}+{}", env!("CARGO_PKG_VERSION"), include_str!("../../report/FORMAT").trim())
}

/// The page's other language; English is in its sources.
const LANGUAGE: &str = "zh-Hans";

/// A program larger than this is a developer's build, which is not worth the time that packing it well takes.
const LARGE: usize = 8 << 20;

fn bytes(folder: &Path, name: &str) -> Result<Vec<u8>> {
    // Addresses in the page are relative to it.
    let path = folder.join(name.trim_start_matches("./"));
    fs::read(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

fn text(folder: &Path, name: &str) -> Result<String> {
    let text = String::from_utf8(bytes(folder, name)?).map_err(|_| format!("{name} is not UTF-8"))?;
    // As a browser reads it before it works out the hash.
    Ok(text.replace("\r\n", "\n"))
}

/// A script's text as a part of another script: nothing is exported.
fn alone(script: &str) -> String {
    script.lines().fold(String::with_capacity(script.len()), |mut out, line| {
        out += line.strip_prefix("export ").unwrap_or(line);
        out.push('\n');
        out
    })
}

/// Compressed, as text.
fn packed(bytes: &[u8]) -> Result<String> {
    let level = if bytes.len() > LARGE { 1 } else { 9 };
    let mut packer = GzEncoder::new(Vec::new(), Compression::new(level));
    let packed = packer.write_all(bytes).and_then(|()| packer.finish()).map_err(|e| e.to_string())?;
    Ok(BASE64_STANDARD.encode(packed))
}

/// The value of an attribute.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = element.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

fn kind_of(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("woff2") => "font/woff2",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    }
}

fn data_url(folder: &Path, name: &str) -> Result<String> {
    Ok(format!("data:{};base64,{}", kind_of(name), BASE64_STANDARD.encode(bytes(folder, name)?)))
}

/// A style sheet with the files it names in it.
fn style(folder: &Path, name: &str) -> Result<String> {
    let sheet = text(folder, name)?;
    let mut out = String::with_capacity(sheet.len());
    let mut rest = sheet.as_str();
    while let Some((before, after)) = rest.split_once("url(\"") {
        let (file, behind) =
            after.split_once('"').ok_or_else(|| format!("{name}: url(\" has no end, expected \""))?;
        _ = write!(out, "{before}url(\"{}\"", data_url(folder, file)?);
        rest = behind;
    }
    Ok(out + rest)
}

/// Text of an element that the parser reads as it is must not hold what ends it.
pub(crate) fn inside(name: &str, text: &str) -> Result<()> {
    let low = text.to_ascii_lowercase();
    match ["</script", "</style", "<!--", "<script"].iter().find(|end| low.contains(*end)) {
        Some(end) => Err(format!("{name} holds {end}, which would end it within a page")),
        None => Ok(()),
    }
}

/// The glue as a part of a script that is no module: nothing is exported, and its default export is called `start`.
pub(crate) fn glue(folder: &Path, name: &str) -> Result<String> {
    let glue = text(folder, name)?;
    let lost = || {
        format!(
            "{name} has no line `export {{ ..., NAME as default }};`, by which wasm-bindgen ends its glue"
        )
    };
    let (code, export) = glue.trim_end().rsplit_once("export {").ok_or_else(lost)?;
    let start = export
        .trim_end_matches(['}', ';', ' ', '\n'])
        .split(',')
        .find_map(|item| item.trim().strip_suffix(" as default"))
        .ok_or_else(lost)?;
    let mut out = String::with_capacity(code.len());
    for line in code.lines() {
        let line = line.strip_prefix("export ").unwrap_or(line);
        if line.starts_with("import ") || line.starts_with('{') || line.starts_with("default ") {
            return Err(format!(
                "{name}: `{line}`, expected neither other scripts nor other exports than named ones"
            ));
        }
        // Only asked where the wasm is not handed over, as it is here.
        out += &line.replace("import.meta.url", "self.location.href");
        out.push('\n');
    }
    if out.contains("import.meta") {
        return Err(format!(
            "{name} asks import.meta for more than its url, which there is in a module only"
        ));
    }
    _ = writeln!(out, "const start = {start};");
    Ok(out)
}

struct Maker<'a> {
    folder: &'a Path,
    hashes: [Vec<String>; 2],
}

impl Maker<'_> {
    fn hash(&mut self, which: usize, text: &str) {
        self.hashes[which]
            .push(format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()))));
    }

    fn script(&mut self, name: &str, attributes: &str, text: &str) -> Result<String> {
        inside(name, text)?;
        self.hash(0, text);
        Ok(format!("<script{attributes}>{text}</script>"))
    }

    fn policy(&self) -> String {
        let [scripts, styles] = [0, 1].map(|i| self.hashes[i].join(" "));
        format!(
            "default-src 'none'; script-src {scripts} 'wasm-unsafe-eval'; style-src {styles}; img-src data:; \
             font-src data:; worker-src blob:; base-uri 'none'; form-action 'none'; {TRUSTED}"
        )
    }
}

/// Makes one file of a page in a folder. `boot` is the text of `web/boot-single.js`.
pub(crate) fn single(folder: &Path, page: &str, boot: &str) -> Result<String> {
    let html = text(folder, page)?;
    let mut maker = Maker { folder, hashes: [Vec::new(), Vec::new()] };
    let mut styles = String::new();
    let mut lines: Vec<String> = Vec::new();
    let mut program = None;
    let mut at_styles = None;
    for line in html.lines() {
        let element = line.trim();
        if element.starts_with("<link") {
            let name = attribute(element, "href").unwrap_or_default();
            match attribute(element, "rel").unwrap_or_default() {
                "stylesheet" => {
                    at_styles.get_or_insert(lines.len());
                    styles += &style(maker.folder, name)?;
                }
                "icon" => lines.push(format!("    <link rel=\"icon\" href=\"{}\">", data_url(folder, name)?)),
                "preload" | "modulepreload" => {}
                other => {
                    return Err(format!(
                        "{page}: a link of rel {other}, expected what can be put into one file"
                    ));
                }
            }
        } else if element.starts_with("<script") && attribute(element, "data-wasm").is_some() {
            program = attribute(element, "data-js").zip(attribute(element, "data-wasm"));
        } else if let Some(name) = attribute(element, "src").filter(|_| element.starts_with("<script")) {
            let code = text(folder, name)?;
            lines.push(format!("    {}", maker.script(name, "", &code)?));
        } else if !element.contains("http-equiv=\"Content-Security-Policy\"") {
            lines.push(line.to_owned());
        }
    }
    let (js, wasm) = program.ok_or_else(|| format!("{page} has no script with data-js and data-wasm"))?;
    inside("the style sheets", &styles)?;
    if let Some(at) = at_styles {
        maker.hash(1, &styles);
        lines.insert(at, format!("    <style>{styles}</style>"));
    }
    let code = format!(
        "\n(() => {{\n{}{}const locale = () => {{\n{}return {{ Page, Translator }};\n}};\n{}}})();\n",
        glue(folder, js)?,
        alone(&text(folder, "language.js")?),
        alone(&text(folder, "locale.js")?),
        boot.replace("\r\n", "\n")
    );
    let program = maker.script("the program", " id=\"bufferscope-program\"", &code)?;
    let wasm = bytes(folder, wasm)?;
    let table = bytes(folder, &format!("locales/{LANGUAGE}.json"))?;
    let blocks = format!(
        "    <script type=\"text/plain\" id=\"bufferscope-given\"></script>\n    <script type=\"text/plain\" id=\"bufferscope-wasm\">{}</script>\n    \
         <script type=\"text/plain\" id=\"bufferscope-{LANGUAGE}\">{}</script>\n    {program}",
        packed(&wasm)?,
        packed(&table)?
    );
    let head = lines.iter().position(|l| l.contains("<meta charset"));
    let end = lines.iter().rposition(|l| l.trim() == "</body>");
    let (Some(head), Some(end)) = (head, end) else {
        return Err(format!("{page}: no line <meta charset> or </body>, expected both"));
    };
    lines.insert(end, blocks);
    lines.insert(
        head + 1,
        format!(
            "    <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n    <meta name=\"bufferscope-shell\" content=\"{}\">",
            maker.policy(),
            version()
        ),
    );
    Ok(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("bufferscope-single-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("locales")).expect("a folder");
        for (file, text) in files {
            fs::write(folder.join(file), text).expect("a file");
        }
        folder
    }

    const PAGE: &str = "<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"old\">\n<link rel=\"stylesheet\" href=\"a.css\">\n<script src=\"a.js\"></script>\n<script type=\"module\" src=\"boot.js\" data-js=\"./p.js\" data-wasm=\"./p.wasm\"></script>\n</head>\n<body>\n</body>\n";

    #[test]
    fn everything_is_in_it_and_named_by_its_hash() {
        let folder = folder(
            "whole",
            &[
                ("p.html", PAGE),
                ("a.css", "p { src: url(\"f.woff2\") }"),
                ("f.woff2", "font"),
                ("a.js", "1;"),
                (
                    "p.js",
                    "export function f() { return import.meta.url; }\nlet w = 1;\nexport { f, w as default };\n",
                ),
                ("p.wasm", "wasm"),
                ("language.js", "export class Language {}\n"),
                ("locale.js", "export class Page {}\n"),
                ("locales/zh-Hans.json", "{}"),
            ],
        );
        let one = single(&folder, "p.html", "start();\n").expect("one file");
        fs::remove_dir_all(&folder).expect("the folder goes");
        let program = "\n(() => {\nfunction f() { return self.location.href; }\nlet w = 1;\nconst start = w;\nclass Language {}\nconst locale = () => {\nclass Page {}\nreturn { Page, Translator };\n};\nstart();\n})();\n";
        assert!(one.contains(&format!("<script id=\"bufferscope-program\">{program}</script>")), "{one}");
        assert!(one.contains("url(\"data:font/woff2;base64,Zm9udA==\")") && !one.contains("href=\"a.css\""));
        // The hash of `1;`.
        assert!(one.contains("script-src 'sha256-"), "{one}");
        let known = BASE64_STANDARD.encode(Sha256::digest(b"1;"));
        assert!(one.contains(&format!("'sha256-{known}'")));
        assert!(one.contains("<script type=\"text/plain\" id=\"bufferscope-zh-Hans\">H4sI"), "{one}");
        assert_eq!(one.matches("http-equiv").count(), 1);
        assert!(!one.contains("boot.js") && one.contains(&format!("content=\"{}\"", version())));
    }

    #[test]
    fn what_would_end_the_script_is_refused() {
        let folder = folder(
            "refused",
            &[
                ("p.html", PAGE),
                ("a.css", ""),
                ("a.js", "'</Script>'"),
                ("p.js", "export { w as default };"),
                ("p.wasm", ""),
                ("language.js", ""),
                ("locale.js", ""),
                ("locales/zh-Hans.json", "{}"),
            ],
        );
        assert!(single(&folder, "p.html", "").is_err_and(|e| e.contains("a.js holds </script")));
        fs::write(folder.join("a.js"), "1").expect("a file");
        for (glue, says) in [
            ("let w;", "wasm-bindgen"),
            ("import a from 'b';\nexport { w as default };", "`import a"),
            ("let w = import.meta.env;\nexport { w as default };", "import.meta"),
        ] {
            fs::write(folder.join("p.js"), glue).expect("a file");
            assert!(single(&folder, "p.html", "").is_err_and(|e| e.contains(says)), "{glue}");
        }
        fs::remove_dir_all(&folder).expect("the folder goes");
    }
}
