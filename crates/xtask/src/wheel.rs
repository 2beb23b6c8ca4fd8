//! `cargo xtask wheel`: the Python package, with the lab as one file and the command as WebAssembly in it.
//!
//! What is built twice of the same sources, with the same tools on one machine, is the same bytes: the wheel's files come in one
//! order and with one time.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::process::{cargo, command, output, root, run, target_dir};
use crate::{Result, dist, setup};

/// In which the files of the wheel are built.
const PACKAGE: &str = "python";
/// Where the package looks for what is built.
const DATA: &str = "src/bufferscope/data";
const WASM: &str = "bufferscope.wasm";

#[derive(Default)]
pub(crate) struct Options {
    /// Where to.
    pub(crate) out: Option<PathBuf>,
    /// A page that is built already.
    pub(crate) dist: Option<PathBuf>,
}

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--out" => options.out = Some(args.next().ok_or("--out wants a folder")?.into()),
                "--dist" => options.dist = Some(args.next().ok_or("--dist wants a folder")?.into()),
                _ => return Err(format!("wheel knows --out FOLDER and --dist FOLDER, not {arg}")),
            }
        }
        Ok(options)
    }
}

fn fail(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|e| fail("make", folder, &e))?;
    }
    fs::copy(from, to).map(|_| ()).map_err(|e| fail("copy", from, &e))
}

/// Builds the wheel; gives its path.
pub(crate) fn wheel(options: &Options) -> Result<PathBuf> {
    setup::wasm_target()?;
    setup::wasi_target()?;
    setup::dependencies()?;
    let python =
        setup::python_packages("wheel", "python/requirements-wheel.txt", "hatchling, which packs the wheel")?;
    let page = match &options.dist {
        Some(dist) => dist.clone(),
        None => {
            dist::build(&dist::Options::default())?;
            root().join("dist")
        }
    };
    let target = target_dir()?;
    run(cargo()
        .args(["build", "--package", "bufferscope", "--profile", "wasi", "--target", setup::WASI_TARGET])
        // In place of what anybody's environment has: messages of panics shall not name the folders of one machine.
        .env("CARGO_ENCODED_RUSTFLAGS", remapped()?))?;
    // A copy, so that nothing that is built stands between what is written by hand.
    let stage = target.join("wheel").join(PACKAGE);
    match fs::remove_dir_all(&stage) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(fail("remove", &stage, &e)),
        _ => {}
    }
    for file in tracked(&[PACKAGE])? {
        let inner = file.strip_prefix(PACKAGE).expect("the list is of this folder");
        copy(&root().join(&file), &stage.join(inner))?;
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&root().join(licence), &stage.join(licence))?;
    }
    copy(&page.join(dist::SHELL), &stage.join(DATA).join(dist::SHELL))?;
    copy(&target.join(setup::WASI_TARGET).join("wasi").join(WASM), &stage.join(DATA).join(WASM))?;
    let out = options.out.clone().unwrap_or_else(|| target.join("wheel"));
    let out = std::path::absolute(&out).map_err(|e| fail("find", &out, &e))?;
    run(command(python)
        .args(["-m", "hatchling", "build", "--target", "wheel", "--directory"])
        .arg(&out)
        // A time that is always the same, unless somebody wants another one; zip knows none before 1980.
        .env("SOURCE_DATE_EPOCH", std::env::var("SOURCE_DATE_EPOCH").unwrap_or_else(|_| "315532800".into()))
        .current_dir(&stage))?;
    let wheel = out.join(format!("bufferscope-{}-py3-none-any.whl", env!("CARGO_PKG_VERSION")));
    let bytes = fs::read(&wheel).map_err(|e| fail("read", &wheel, &e))?;
    let hash = hex(&Sha256::digest(&bytes));
    println!("\n{}: {} KiB, sha256 {hash}", wheel.display(), bytes.len().div_ceil(1024));
    Ok(wheel)
}

/// The flags by which the compiler writes neither the folder of this clone nor that of the dependencies into a program.
fn remapped() -> Result<String> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
        .ok_or("no home directory; set CARGO_HOME")?;
    Ok(format!(
        "--remap-path-prefix={}=/cargo\u{1f}--remap-path-prefix={}=/bufferscope",
        home.display(),
        root().display()
    ))
}

/// A hash as it is usually written.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// The files below some folders, or of these names, that are or would be committed; sorted.
pub(crate) fn tracked(below: &[&str]) -> Result<Vec<PathBuf>> {
    let listed = output(
        command("git").args(["ls-files", "--cached", "--others", "--exclude-standard", "--"]).args(below),
    )
    .ok_or("git does not list the files; this needs a clone")?;
    // A file may be deleted and not yet committed.
    let mut files: Vec<PathBuf> =
        listed.lines().map(PathBuf::from).filter(|f| root().join(f).is_file()).collect();
    files.sort();
    Ok(files)
}
