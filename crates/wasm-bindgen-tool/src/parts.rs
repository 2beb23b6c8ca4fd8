//! Cuts a program into the parts that it names before wasm-bindgen joins the first of them with JavaScript.
//!
//! `OUT/split/parts-HASH/` holds what is fetched later: wasm files and `link.js`, which the program's own script imports as
//! `./parts-HASH/link.js`. Who publishes the page copies that folder beside the script.

use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::{error, fs};

type Result<T> = std::result::Result<T, Box<dyn error::Error>>;

/// What the exports and imports of a program that can be cut begin with.
const MARK: &[u8] = b"__wasm_split_00";
/// What is handed to wasm-bindgen in place of the whole program.
const FIRST: &str = "first.wasm";
/// In the script that fetches parts; needs a host that knows wasm by its type.
const STREAMING: &str = "WebAssembly.instantiateStreaming(src, imports)";
/// The same for any host.
const BUFFERED: &str = "WebAssembly.instantiate(await (await src).arrayBuffer(), imports)";

/// The arguments for wasm-bindgen: as they were, or with the first part in place of a program that was cut.
pub(crate) fn cut(mut args: Vec<OsString>) -> Result<Vec<OsString>> {
    let (Some(input), Some(out)) = (input(&args), option(&args, "--out-dir")) else { return Ok(args) };
    let out = PathBuf::from(out);
    let name = option(&args, "--out-name").unwrap_or_default();
    let program = fs::read(Path::new(&args[input]))?;
    if !program.windows(MARK.len()).any(|bytes| bytes == MARK) {
        return Ok(args);
    }
    let split = out.join("split");
    if split.is_dir() {
        fs::remove_dir_all(&split)?;
    }
    let mut hasher = DefaultHasher::new();
    program.hash(&mut hasher);
    let folder = format!("parts-{:016x}", hasher.finish());
    let parts = split.join(&folder);
    fs::create_dir_all(&parts)?;

    let first = split.join(FIRST);
    let link = format!("./{folder}/link.js");
    // From beside `link.js`. Who publishes the page may have given the script another name, and changes this then.
    let main = format!("../{name}.js");
    let mut options = wasm_split_cli_support::Options::new(&program);
    options.output_dir = &split;
    options.main_out_path = &first;
    options.link_name = &link;
    options.main_module = &main;
    for part in wasm_split_cli_support::transform(options)?.split_modules {
        let file = part.file_name().ok_or("a part without a name")?;
        fs::rename(&part, parts.join(file))?;
    }
    let link = parts.join("link.js");
    let script = fs::read_to_string(&link)?;
    if !script.contains(STREAMING) {
        return Err("the script that fetches parts is not what it was".into());
    }
    fs::write(&link, script.replace(STREAMING, BUFFERED))?;

    args[input] = first.into();
    // The parts use the first one's memory and table.
    args.push("--keep-lld-exports".into());
    Ok(args)
}

/// Which argument is the program.
fn input(args: &[OsString]) -> Option<usize> {
    args.iter().rposition(|arg| Path::new(arg).extension() == Some(OsStr::new("wasm")))
}

/// The value of `--name VALUE` or `--name=VALUE`.
fn option(args: &[OsString], name: &str) -> Option<String> {
    args.iter().enumerate().find_map(|(i, arg)| {
        let rest = arg.to_str()?.strip_prefix(name)?;
        match rest.strip_prefix('=') {
            Some(value) => Some(value.to_owned()),
            None if rest.is_empty() => args.get(i + 1)?.to_str().map(str::to_owned),
            None => None,
        }
    })
}
