//! Running other programs, and where things are.

use std::env;
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;

/// The root of the workspace. Cargo's variable is read when running, because a target directory kept between clones
/// may hold an `xtask` that was compiled elsewhere.
pub(crate) fn root() -> PathBuf {
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.ancestors().nth(2).expect("xtask lives two levels below the root").to_path_buf()
}

/// The target directory: this program runs from `TARGET/PROFILE/xtask`.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let exe = env::current_exe().map_err(|e| format!("cannot tell where this program is: {e}"))?;
    Ok(exe.ancestors().nth(2).unwrap_or(Path::new("target")).to_path_buf())
}

/// A command that runs at the root.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// `cargo`, of the toolchain that runs this program.
pub(crate) fn cargo() -> Command {
    command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs to the end; the exit status must be 0.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|e| format!("cannot run {}: {e}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed ({status})", shown(command))) }
}

/// Like [`run`], but ends the program after `limit`, so that a browser which hangs does not hang the whole run.
pub(crate) fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    // A group of its own lets us end its children too. At a terminal it stays in ours, so that Ctrl-C reaches it.
    let grouped = cfg!(unix) && !std::io::stdin().is_terminal();
    #[cfg(unix)]
    if grouped {
        std::os::unix::process::CommandExt::process_group(command, 0);
    }
    let mut child = command.spawn().map_err(|e| format!("cannot run {}: {e}", shown(command)))?;
    let start = Instant::now();
    loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("{} failed ({status})", shown(command))),
            None if start.elapsed() > limit => {
                end(&mut child, grouped);
                return Err(format!(
                    "{} took longer than {} s and was ended",
                    shown(command),
                    limit.as_secs()
                ));
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn end(child: &mut Child, grouped: bool) {
    if grouped {
        // The standard library has no call for this, and ours may not be unsafe.
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status();
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// What a program prints when all goes well; `None` when it is missing or fails.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The first of `names` found on `PATH`.
pub(crate) fn which(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    names.iter().find_map(|name| {
        env::split_paths(&path)
            .flat_map(|dir| [dir.join(name), dir.join(format!("{name}{}", env::consts::EXE_SUFFIX))])
            .find(|file| file.is_file())
    })
}

/// Puts `dirs` before everything else on the `PATH` of `command`.
pub(crate) fn prepend_path(command: &mut Command, dirs: &[PathBuf]) -> Result<()> {
    let old = env::var_os("PATH").unwrap_or_default();
    let all = dirs.iter().cloned().chain(env::split_paths(&old));
    command.env("PATH", env::join_paths(all).map_err(|e| format!("PATH cannot be extended: {e}"))?);
    Ok(())
}

/// True on a build server, where what is merely skipped at home is a failure.
pub(crate) fn in_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default().to_string_lossy();
    let args: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    format!("`{program} {}`", args.join(" "))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_stands_still_is_ended_with_its_children() {
        let start = Instant::now();
        // The inner shell would hold the outer one for a minute.
        let error =
            run_within(Command::new("sh").args(["-c", "sh -c 'sleep 60'; true"]), Duration::from_millis(200));
        assert!(error.expect_err("a limit was passed").contains("was ended"));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_failure_names_the_command() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).expect_err("exit status 3");
        assert!(error.starts_with("`sh -c exit 3` failed"), "{error}");
    }
}
