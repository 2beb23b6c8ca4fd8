//! Puts in place what the other commands need, and nothing that is there already.
//!
//! Tools that take minutes to compile are kept per user and version, outside the clone, so that a second clone (or the
//! second run) finds them. Once everything is there nothing touches the network.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::Result;
use crate::process::{cargo, command, in_ci, output, root, run, target_dir, which};

pub(crate) const TRUNK: &str = "0.21.14";
pub(crate) const WASM_BINDGEN: &str = "0.2.130";
const MDBOOK: &str = "0.5.4";
pub(crate) const WASM_TARGET: &str = "wasm32-unknown-unknown";
/// WebAssembly with files and standard output: the command in the Python package.
pub(crate) const WASI_TARGET: &str = "wasm32-wasip1";
const OLDEST_NODE: u32 = 20;
/// The second number of the oldest Python 3, which is JAX's own.
const OLDEST_PYTHON: u32 = 11;

/// One line about what is being done and why.
pub(crate) fn say(text: &str) {
    println!("  set-up: {text}");
}

/// `rustfmt` and `clippy`.
pub(crate) fn components() -> Result<()> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if output(cargo().args([subcommand, "--version"])).is_none() {
            say(&format!("adding {component} to the toolchain"));
            run(command("rustup").args(["component", "add", component]))?;
        }
    }
    Ok(())
}

/// The standard library for wasm32, of pages.
pub(crate) fn wasm_target() -> Result<()> {
    target(WASM_TARGET, "the page is WebAssembly")
}

/// The standard library for wasm32 with files.
pub(crate) fn wasi_target() -> Result<()> {
    target(WASI_TARGET, "the command in the Python package is WebAssembly")
}

fn target(name: &str, why: &str) -> Result<()> {
    let sysroot = output(command("rustc").args(["--print", "sysroot"])).ok_or("rustc is missing")?;
    if Path::new(&sysroot).join("lib/rustlib").join(name).is_dir() {
        return Ok(());
    }
    if which(&["rustup"]).is_none() {
        return Err(format!(
            "this Rust has no standard library for {name} and there is no rustup to add it; \
             install it with your package manager, or install Rust with rustup"
        ));
    }
    say(&format!("adding the {name} target to the toolchain: {why}"));
    run(command("rustup").args(["target", "add", name]))
}

/// Downloads the dependencies, so that everything after it can be told to stay offline.
pub(crate) fn dependencies() -> Result<()> {
    let mut fetch = cargo();
    fetch.arg("fetch");
    if in_ci() {
        fetch.arg("--locked");
    }
    run(&mut fetch)
}

/// The directory that holds `trunk`.
pub(crate) fn trunk() -> Result<PathBuf> {
    let is_right = |program: &Path| reports(program, &format!("trunk {TRUNK}"));
    if let Some(dir) = on_path("trunk", is_right) {
        return Ok(dir);
    }
    let home = tools()?.join(format!("trunk-{TRUNK}"));
    let bin = home.join("bin");
    if !is_right(&program_in(&bin, "trunk")) {
        say(&format!("compiling Trunk {TRUNK}, which builds and serves the page, into {}", bin.display()));
        say("this takes about four minutes on two cores, once for this user");
        // Its default features are for downloading tools, which we bring ourselves.
        install("trunk", TRUNK, &home)?;
    }
    Ok(bin)
}

/// Compiles a program from the registry, without its default features, into a folder of ours.
fn install(name: &str, version: &str, home: &Path) -> Result<()> {
    // These programs' own profiles optimise for speed at run time and take three times as long to compile.
    run(cargo()
        // Compiled in a folder that Cargo deletes: a kept target directory has no further use for any of it.
        .env_remove("CARGO_TARGET_DIR")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_RELEASE_STRIP", "true")
        .args(["install", "--locked", name, "--version", version, "--no-default-features", "--root"])
        .arg(home))
}

/// The directory that holds `wasm-bindgen`: the one on `PATH` if it is the right one, but only ours cuts a program into parts.
pub(crate) fn wasm_bindgen(cuts: bool) -> Result<PathBuf> {
    let is_right = |program: &Path| reports(program, &format!("wasm-bindgen {WASM_BINDGEN}"));
    if !cuts && let Some(dir) = on_path("wasm-bindgen", is_right) {
        return Ok(dir);
    }
    let bin = tools()?.join(format!("wasm-bindgen-{WASM_BINDGEN}-cutting")).join("bin");
    if !is_right(&program_in(&bin, "wasm-bindgen")) {
        say(&format!(
            "compiling wasm-bindgen {WASM_BINDGEN}, which joins wasm and JavaScript, and wasm-split, which cuts the \
             published page into parts, into {}",
            bin.display()
        ));
        say("this takes one or two minutes, once for this user");
        run(cargo().args(["build", "--profile", "tools", "--package", "wasm-bindgen-tool"]))?;
        fs::create_dir_all(&bin).map_err(|e| format!("cannot make {}: {e}", bin.display()))?;
        let built = program_in(&target_dir()?.join("tools"), "wasm-bindgen");
        // Through a rename, so that another run never sees half a file.
        let half = bin.join(format!("wasm-bindgen.{}", std::process::id()));
        fs::copy(&built, &half)
            .and_then(|_| fs::rename(&half, program_in(&bin, "wasm-bindgen")))
            .map_err(|e| format!("cannot keep {}: {e}", built.display()))?;
    }
    Ok(bin)
}

/// The directory that holds `mdbook`, for one of the sites of `web/examples`.
pub(crate) fn mdbook() -> Result<PathBuf> {
    let is_right = |program: &Path| reports(program, &format!("mdbook v{MDBOOK}"));
    if let Some(dir) = on_path("mdbook", is_right) {
        return Ok(dir);
    }
    let home = tools()?.join(format!("mdbook-{MDBOOK}"));
    let bin = home.join("bin");
    if !is_right(&program_in(&bin, "mdbook")) {
        say(&format!("compiling mdBook {MDBOOK}, a few minutes, once for this user, into {}", bin.display()));
        install("mdbook", MDBOOK, &home)?;
    }
    Ok(bin)
}

/// What `package.json` names, or why not: Node is not something to install behind anybody's back.
pub(crate) fn npm_packages() -> Result<PathBuf> {
    node()?;
    let modules = root().join("node_modules");
    let lock = root().join("package-lock.json");
    let wanted = fs::read(&lock).map_err(|e| format!("cannot read {}: {e}", lock.display()))?;
    let stamp = modules.join(".bufferscope-lock");
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(modules);
    }
    say("npm ci: wasm-opt, which shrinks the page, and playwright-core, axe and ws, which test it");
    run(command("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]))?;
    fs::write(&stamp, wanted).map_err(|e| format!("cannot write {}: {e}", stamp.display()))?;
    Ok(modules)
}

/// Whether Node is there and new enough.
pub(crate) fn node() -> Result<()> {
    let wanted = format!(
        "Node {OLDEST_NODE} or newer with npm is needed (Debian, Ubuntu: `apt-get install nodejs npm`)"
    );
    let version = output(command("node").arg("--version")).ok_or_else(|| wanted.clone())?;
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok());
    if major.is_none_or(|major: u32| major < OLDEST_NODE) {
        return Err(format!("{wanted}; this is {version}"));
    }
    output(command("npm").arg("--version")).map(|_| ()).ok_or(wanted)
}

/// The Python of this machine, or why not: it is not something to install behind anybody's back.
pub(crate) fn python() -> Result<PathBuf> {
    let wanted = format!(
        "Python 3.{OLDEST_PYTHON} or newer is needed (Debian, Ubuntu: `apt-get install python3 python3-venv`)"
    );
    let python = which(&["python3", "python"]).ok_or_else(|| wanted.clone())?;
    let version = output(Command::new(&python).arg("--version")).unwrap_or_default();
    let second = version.strip_prefix("Python 3.").and_then(|v| v.split('.').next()?.parse::<u32>().ok());
    if second.is_none_or(|second| second < OLDEST_PYTHON) {
        return Err(format!("{wanted}; {} is {version}", python.display()));
    }
    Ok(python)
}

/// The Python of an environment named `name` that has the packages of a list and no others; made if need be.
pub(crate) fn python_packages(name: &str, list: &str, what: &str) -> Result<PathBuf> {
    let list = root().join(list);
    let wanted = fs::read(&list).map_err(|e| format!("cannot read {}: {e}", list.display()))?;
    let folder = cache()?.join(name);
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let stamp = folder.join("installed.txt");
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let system = self::python()?;
    say(&format!("{what}, into {}", folder.display()));
    run(command(system).args(["-m", "venv", "--clear"]).arg(&folder))?;
    run(command(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(&list))?;
    fs::write(&stamp, wanted).map_err(|e| format!("cannot write {}: {e}", stamp.display()))?;
    Ok(python)
}

/// The browser of the tests, and the program through which it is driven.
pub(crate) struct Browser {
    pub(crate) chromium: PathBuf,
    pub(crate) chromedriver: PathBuf,
}

/// Looks for Chromium and its driver; where apt can install them, it does.
pub(crate) fn browser() -> Result<Browser> {
    if let Some(browser) = find_browser() {
        return Ok(browser);
    }
    let missing = "Chromium and its driver are missing; \
                   install them (Debian, Ubuntu: `sudo apt-get install chromium chromium-driver`), \
                   or set CHROMIUM and CHROMEDRIVER to where they are";
    apt(
        &["chromium", "chromium-driver", "fonts-dejavu-core"],
        "the page is tested in a real browser (about 440 MB)",
    )
    .map_err(|e| format!("{missing}{e}"))?;
    find_browser().ok_or_else(|| missing.into())
}

/// Installs packages with apt, where it is there and may be used; else says in half a sentence why not.
fn apt(packages: &[&str], why: &str) -> Result<()> {
    if which(&["apt-get"]).is_none() {
        return Err("; there is no apt-get here to do it".into());
    }
    let as_root: &[&str] = if output(Command::new("id").arg("-u")).as_deref() == Some("0") {
        &[]
    } else if output(Command::new("sudo").args(["-n", "true"])).is_some() {
        &["sudo", "-n"]
    } else {
        return Err("; this user may not do it".into());
    };
    say(&format!("apt-get install {}: {why}", packages.join(" ")));
    let apt = |args: &[&str]| {
        let words: Vec<&str> =
            as_root.iter().copied().chain(["apt-get"]).chain(args.iter().copied()).collect();
        run(Command::new(words[0]).args(&words[1..]).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let install: Vec<&str> =
        ["install", "-y", "--no-install-recommends"].iter().chain(packages).copied().collect();
    // The list of packages may be old or absent; only then is fetching it worth the time.
    apt(&install)
        .or_else(|_| apt(&["update"]).and_then(|()| apt(&install)))
        .map_err(|e| format!("; that was tried: {e}"))
}

fn find_browser() -> Option<Browser> {
    Some(Browser {
        chromium: named(
            "CHROMIUM",
            &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
        )?,
        chromedriver: named("CHROMEDRIVER", &["chromedriver"])?,
    })
}

/// Another browser of `web/tests/browsers.test.mjs`: its name there, and under which variables its programs are looked for.
pub(crate) struct Other {
    pub(crate) name: &'static str,
    pub(crate) programs: Result<Vec<(&'static str, PathBuf)>>,
}

/// Firefox and WebKit, put in place where apt can.
pub(crate) fn other_browsers() -> [Other; 2] {
    let with =
        |find: fn() -> Option<Vec<(&'static str, PathBuf)>>, packages: &[&str], why: &str, missing: &str| {
            find().map_or_else(
                || {
                    apt(packages, why).map_err(|e| format!("{missing}{e}"))?;
                    find().ok_or_else(|| missing.to_owned())
                },
                Ok,
            )
        };
    [
        Other {
            name: "Firefox",
            programs: with(
                find_firefox,
                &["firefox-esr"],
                "the page is tested in Firefox too (about 310 MB)",
                "Firefox is missing; install it (Debian: `sudo apt-get install firefox-esr`), or set FIREFOX to where it is",
            ),
        },
        Other {
            name: "WebKit",
            programs: with(
                find_webkit,
                &["webkit2gtk-driver", "xvfb", "xauth"],
                "the page is tested in WebKit, the engine of Safari, too (about 200 MB)",
                "WebKit with its driver, or a screen for it, is missing; install them (Debian, Ubuntu: \
                 `sudo apt-get install webkit2gtk-driver xvfb xauth`), \
                 or set WEBKIT_DRIVER, MINIBROWSER and XVFB_RUN to where they are",
            ),
        },
    ]
}

fn named(variable: &str, names: &[&str]) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).or_else(|| which(names))
}

fn find_firefox() -> Option<Vec<(&'static str, PathBuf)>> {
    Some(vec![("FIREFOX", named("FIREFOX", &["firefox-esr", "firefox"])?)])
}

fn find_webkit() -> Option<Vec<(&'static str, PathBuf)>> {
    // Not on the path: a browser for tests, in the library's own folder.
    let beside_the_library = || {
        let folder = format!("/usr/lib/{}-linux-gnu", env::consts::ARCH);
        ["4.1", "4.0"]
            .iter()
            .map(|api| Path::new(&folder).join(format!("webkit2gtk-{api}/MiniBrowser")))
            .find(|p| p.is_file())
    };
    Some(vec![
        ("WEBKIT_DRIVER", named("WEBKIT_DRIVER", &["WebKitWebDriver"])?),
        ("MINIBROWSER", named("MINIBROWSER", &["MiniBrowser"]).or_else(beside_the_library)?),
        ("XVFB_RUN", named("XVFB_RUN", &["xvfb-run"])?),
    ])
}

/// `~/.cache/bufferscope/tools`.
fn tools() -> Result<PathBuf> {
    Ok(cache()?.join("tools"))
}

/// `~/.cache/bufferscope`.
pub(crate) fn cache() -> Result<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME")
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".cache")))
        .ok_or("no home directory to keep the build tools in; set XDG_CACHE_HOME")?;
    Ok(cache.join("bufferscope"))
}

fn on_path(name: &str, is_right: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let program = which(&[name]).filter(|program| is_right(program))?;
    program.parent().map(Path::to_path_buf)
}

fn program_in(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}{}", env::consts::EXE_SUFFIX))
}

fn reports(program: &Path, version: &str) -> bool {
    output(Command::new(program).arg("--version")).is_some_and(|text| text.starts_with(version))
}
