//! `bufferscope report MODULE [-o report.html]`

use crate::input::ModuleArguments;
use crate::{Answer, Failure, say, shown};
use assigner::words::both;
use std::path::{Path, PathBuf};

/// The shell's name, as the build writes it.
const SHELL: &str = "report-shell.html";
/// The page's name, if none is given.
const DEFAULT: &str = "report.html";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// HLO text or `.hlo.pb`, also gzipped; `-` is standard input; or a dump folder, or an archive of one
    module: PathBuf,
    /// Which module of a folder: its number, its name or one of its files, behind `FOLDER/` or `cpu:`, `gpu:`, `tpu:` if there are several
    #[arg(long = "module", value_name = "ID_OR_NAME")]
    pick: Option<String>,
    /// The page, which must not be there yet; `-` is standard output [default: report.html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write over a file that is there, unless it is one that is read
    #[arg(long)]
    force: bool,
    /// The lab as one file, as the build writes it [default: looked for beside this program, in dist/, and above]
    #[arg(long, value_name = "FILE", conflicts_with = "plain")]
    shell: Option<PathBuf>,
    /// Only the part that is read without a program: some kilobytes
    #[arg(long)]
    plain: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let output = arguments.output.clone().unwrap_or_else(|| DEFAULT.into());
    guard(arguments, &output)?;
    let shell = if arguments.plain { None } else { shell(arguments.shell.as_deref())? };
    let module = ModuleArguments::new(arguments.module.clone(), None, None, None).of(arguments.pick.clone());
    let files = module.files()?;
    let fail = |what: &dyn std::fmt::Display, path: &Path| Failure(format!("{}: {what}", path.display()));
    if let Some((path, text)) = &shell {
        if is_same(path, &output) {
            return Err(is_read(&output));
        }
        report::check(text).map_err(|e| fail(&e, path))?;
    }
    let is_one_of_them = |f: &opening::Blob| output.file_name().is_some_and(|n| *n == *f.name);
    if is_inside(&arguments.module, &output) && files.iter().any(is_one_of_them) {
        return Err(is_read(&output));
    }
    let text = shell.as_ref().map(|s| s.1.as_str());
    let made = report::make(&files, text, &report::State::default(), &mut |_, _| {})
        .map_err(|e| fail(&e, &arguments.module))?;
    if shell.is_none() && !arguments.plain {
        crate::tell(&format!(
            "{}: without the live part: no {SHELL} beside this program or in a dist/ above; `cargo xtask build` writes it, and --shell names one",
            output.display()
        ));
    }
    if output.as_os_str() == "-" {
        return say(&made.page);
    }
    std::fs::write(&output, &made.page).map_err(|e| fail(&e, &output))?;
    let live = if shell.is_some() { "with the lab in it" } else { "to be read only" };
    say(&shown(&format!(
        "{}: {}, {} in all; {live}\n",
        output.display(),
        report::cut(&made.name),
        both(made.total)
    )))
}

/// A file that is there is somebody's: it is written over only when that is asked for, and what is read never.
fn guard(arguments: &Arguments, output: &Path) -> Result<(), Failure> {
    if is_same(&arguments.module, output) {
        return Err(is_read(output));
    }
    if !arguments.force && output.is_file() {
        return Err(Failure(format!(
            "{}: is there already, expected --force to write over it, or -o with another name",
            output.display()
        )));
    }
    Ok(())
}

fn is_read(output: &Path) -> Failure {
    Failure(format!("{}: is what is read, expected another name for the page", output.display()))
}

/// Do both name one file? Links are followed.
fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Is it a file that is in this folder?
fn is_inside(folder: &Path, file: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| file.canonicalize().is_ok_and(|file| file.starts_with(folder)))
}

/// The shell with its path: the one that is named, else beside this program, else in a `dist` above it or above here.
fn shell(named: Option<&Path>) -> Result<Option<(PathBuf, String)>, Failure> {
    let read = |path: PathBuf| match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path, text)),
        Err(e) => Err(Failure(format!("{}: {e}", path.display()))),
    };
    if let Some(path) = named {
        return read(path.to_owned()).map(Some);
    }
    let program = std::env::current_exe().ok().and_then(|p| p.canonicalize().ok());
    let folder = program.as_deref().and_then(Path::parent);
    let here = std::env::current_dir().ok();
    let beside = folder.into_iter().flat_map(|f| [f.join(SHELL), f.join("../share/bufferscope").join(SHELL)]);
    let above = folder
        .into_iter()
        .chain(here.as_deref())
        .flat_map(Path::ancestors)
        .map(|f| f.join("dist").join(SHELL));
    beside.chain(above).find(|p| p.is_file()).map(read).transpose()
}
