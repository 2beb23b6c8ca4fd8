//! `cargo xtask sites`: the small sites of `web/examples`, as the real generators build them, opened in a browser.
//!
//! A documentation author pastes one line; whether that is enough depends on the generator as much as on the element. The
//! generators (about 700 MB) are installed once, in `~/.cache/bufferscope/sites`. What the outcome depends on is hashed; when
//! that is as it was when everything passed last, there is nothing to be run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::{command, root, run, run_within, target_dir};
use crate::stage::{Inputs, Options};
use crate::{Result, dist, setup};

/// The element, the sites, and what builds and opens them. What the element computes is tested elsewhere.
const INPUTS: [&str; 15] = [
    "embed/buffer-scope.css",
    "embed/buffer-scope.d.ts",
    "embed/buffer-scope.js",
    "embed/embed.html",
    "embed/frame.css",
    "embed/frame.js",
    "embed/host.d.ts",
    "embed/package.json",
    "embed/talk.js",
    "crates/xtask/src/embed.rs",
    "crates/xtask/src/sites.rs",
    "crates/xtask/src/stage.rs",
    "web/examples",
    "web/tests/harness.mjs",
    "web/tests/sites.mjs",
];
const LIMIT: Duration = Duration::from_mins(15);
const EXAMPLES: &str = "web/examples";

/// The generators, in place.
pub(crate) struct Generators {
    python: PathBuf,
    mdbook: PathBuf,
    docusaurus: PathBuf,
    reveal: PathBuf,
    typescript: PathBuf,
}

impl Generators {
    /// Installs what is not there.
    pub(crate) fn put_in_place() -> Result<Generators> {
        Ok(Generators {
            python: setup::python_packages(
                "sites/python",
                &format!("{EXAMPLES}/requirements.txt"),
                "Sphinx and MkDocs, about 200 MB",
            )?,
            mdbook: setup::mdbook()?,
            docusaurus: npm("docusaurus", "about 300 MB")?,
            reveal: npm("reveal", "about 15 MB")?,
            typescript: npm("typescript", "about 25 MB")?,
        })
    }
}

/// A copy of an example in the cache, with what its `package.json` names.
fn npm(name: &str, size: &str) -> Result<PathBuf> {
    setup::node()?;
    let folder = setup::cache()?.join("sites").join(name);
    let stamp = folder.join("installed.json");
    let wanted = read(&root().join(EXAMPLES).join(name).join("package.json"))?;
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    setup::say(&format!("npm install: {name}, {size}, into {}", folder.display()));
    make(&folder)?;
    write(&folder.join("package.json"), &wanted)?;
    run(command("npm")
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--prefix"])
        .arg(&folder)
        .current_dir(&folder))?;
    write(&stamp, &wanted)?;
    Ok(folder)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))
}

/// A folder, empty.
fn clear(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|e| format!("cannot remove {}: {e}", folder.display()))?;
    }
    make(folder)
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    make(to)?;
    let entries = fs::read_dir(from).map_err(|e| format!("cannot read {}: {e}", from.display()))?;
    for entry in entries {
        let entry = entry.map_err(|e| format!("cannot read {}: {e}", from.display()))?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(&from, &to).map_err(|e| format!("cannot copy {}: {e}", from.display()))?;
        }
    }
    Ok(())
}

/// What they depend on.
pub(crate) fn inputs() -> Result<Inputs> {
    Inputs::of("sites", &INPUTS)
}

pub(crate) fn sites(options: &Options) -> Result<()> {
    if inputs()?.need_nothing(options) {
        return Ok(());
    }
    let generators = Generators::put_in_place()?;
    let page = match &options.dist {
        Some(dist) => {
            std::path::absolute(dist).map_err(|e| format!("cannot find {}: {e}", dist.display()))?
        }
        None => {
            dist::build(&dist::Options::default())?;
            root().join("dist")
        }
    };
    build_and_open(&generators, &page)
}

/// Builds all sites with the element of a published page, and opens them.
pub(crate) fn build_and_open(generators: &Generators, page: &Path) -> Result<()> {
    let inputs = inputs()?;
    let browser = setup::browser()?;
    setup::npm_packages()?;
    let embed = page.join("embed");
    if !embed.join("buffer-scope.js").is_file() {
        return Err(format!("{} has no embed/buffer-scope.js, expected a built page", page.display()));
    }
    let target = target_dir()?.join("sites");
    clear(&target)?;
    let (work, out) = (target.join("work"), target.join("out"));
    make(&out)?;
    // Each is copied, so that nothing that is built stands between what is written by hand.
    let stage = |name: &str, statics: &str| -> Result<(PathBuf, PathBuf)> {
        println!("\n=== {name} ===");
        let folder = work.join(name);
        copy(&root().join(EXAMPLES).join(name), &folder)?;
        copy(&embed, &folder.join(statics))?;
        Ok((folder, out.join(name)))
    };
    let (html, to) = stage("html", "embed")?;
    copy(&html, &to)?;
    let (mdbook, to) = stage("mdbook", "src/embed")?;
    run(command(generators.mdbook.join("mdbook")).arg("build").arg(&mdbook).arg("--dest-dir").arg(&to))?;
    let (sphinx, to) = stage("sphinx", "_static/embed")?;
    run(command(&generators.python)
        .args(["-m", "sphinx", "-q", "-W", "-b", "html"])
        .args([&sphinx, &to])
        .env_remove("PYTHONPATH"))?;
    let (mkdocs, to) = stage("mkdocs", "docs/embed")?;
    run(command(&generators.python)
        .args(["-m", "mkdocs", "build", "--quiet", "--strict", "--config-file"])
        .arg(mkdocs.join("mkdocs.yml"))
        .arg("--site-dir")
        .arg(&to)
        .env_remove("PYTHONPATH"))?;
    // Beside its packages, where it looks for them.
    println!("\n=== docusaurus ===");
    let docusaurus = &generators.docusaurus;
    for part in ["docs", "static"] {
        clear(&docusaurus.join(part))?;
    }
    copy(&root().join(EXAMPLES).join("docusaurus"), docusaurus)?;
    copy(&embed, &docusaurus.join("static/embed"))?;
    run(command("node")
        .arg(docusaurus.join("node_modules/@docusaurus/core/bin/docusaurus.mjs"))
        .args(["build", "--out-dir"])
        .arg(out.join("docusaurus"))
        .current_dir(docusaurus)
        .env("CI", "true"))?;
    let (reveal, to) = stage("reveal", "embed")?;
    copy(&reveal, &to)?;
    let library = "node_modules/reveal.js/dist";
    copy(&generators.reveal.join(library), &to.join(library))?;
    println!("\n=== typescript ===");
    let typescript = &generators.typescript;
    copy(&root().join(EXAMPLES).join("typescript"), typescript)?;
    let package = typescript.join("node_modules/buffer-scope");
    clear(&package)?;
    copy(&embed, &package)?;
    run(command(typescript.join("node_modules/.bin/tsc")).current_dir(typescript))?;
    println!("\n=== the sites in Chromium ===");
    let mut node = command("node");
    node.args(["--test", "--test-reporter=spec", "--test-concurrency=1", "--test-timeout=300000"])
        .arg("web/tests/sites.mjs")
        .env("BUFFERSCOPE_SITES", &out)
        .env("CHROMIUM", &browser.chromium)
        .env("BUFFERSCOPE_SCREENSHOTS", target_dir()?.join("screenshots"));
    run_within(&mut node, LIMIT)?;
    inputs.passed()
}
