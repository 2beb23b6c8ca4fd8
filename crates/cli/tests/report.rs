//! `bufferscope report`: where the shell is found, what is refused, what is written.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

const MODULE: &str = "HloModule m, is_scheduled=true\n\nENTRY e {\n  p = f32[4096]{0} parameter(0)\n  a = f32[4096]{0} negate(p)\n  ROOT r = f32[4096]{0} negate(a)\n}\n";

/// One at a time: a program cannot run while a process that another test has just begun still holds the file it was copied to.
static ONE: Mutex<()> = Mutex::new(());

/// A folder of its own, with a program in `bin` so that what lies around it is known.
struct Place(PathBuf, #[expect(dead_code, reason = "held until the folder goes")] MutexGuard<'static, ()>);

impl Place {
    fn new(name: &str) -> Self {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = std::env::temp_dir().join(format!("bufferscope-report-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).expect("a folder");
        std::fs::copy(env!("CARGO_BIN_EXE_bufferscope"), folder.join("bin/bufferscope")).expect("a program");
        std::fs::write(folder.join("m.txt"), MODULE).expect("a module");
        Self(folder, one)
    }

    fn run(&self, arguments: &str) -> Output {
        Command::new(self.0.join("bin/bufferscope"))
            .args(arguments.split_whitespace())
            .current_dir(&self.0)
            .output()
            .expect("the command runs")
    }

    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).expect("a file")
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn shell(mark: &str) -> String {
    format!(
        "<meta name=\"bufferscope-shell\" content=\"{}\"><title>x</title><!-- report --><!-- /report --><script type=\"text/plain\" id=\"bufferscope-given\"></script><p>{mark}</p>",
        report::version()
    )
}

#[test]
fn without_a_shell_the_rest_is_written_and_said() {
    let place = Place::new("none");
    let made = place.run("report m.txt");
    assert_eq!(made.status.code(), Some(0), "{}", errors(&made));
    assert!(errors(&made).contains("without the live part") && errors(&made).contains("`cargo xtask build`"));
    assert!(place.text("report.html").contains("<h1>m</h1>"));
    // Asked for, it needs no remark; and a page that is there is not written over unasked.
    let again = place.run("report m.txt --plain");
    assert_eq!(again.status.code(), Some(2));
    assert!(errors(&again).contains("--force"));
    let forced = place.run("report m.txt --plain --force");
    assert_eq!((forced.status.code(), errors(&forced).as_str()), (Some(0), ""));
    assert!(String::from_utf8_lossy(&forced.stdout).starts_with("report.html: m, "));
    let page = place.run("report m.txt --plain -o -");
    assert_eq!(String::from_utf8_lossy(&page.stdout), place.text("report.html"));
}

#[test]
fn a_shell_is_found_beside_the_program_and_above() {
    let place = Place::new("found");
    let found = |mark: &str| {
        let made = place.run("report m.txt -o r.html");
        assert_eq!((made.status.code(), errors(&made).as_str()), (Some(0), ""));
        let page = place.text("r.html");
        assert!(page.ends_with(&format!("<p>{mark}</p>")), "{page}");
    };
    // The nearest wins: the folder above, what is shared, what lies beside, what is named.
    place.write("dist/report-shell.html", &shell("above"));
    found("above");
    place.write("share/bufferscope/report-shell.html", &shell("shared"));
    found("shared");
    place.write("bin/report-shell.html", &shell("beside"));
    found("beside");
    place.write("named.html", &shell("named"));
    let made = place.run("report m.txt -o r.html --shell named.html");
    assert_eq!(made.status.code(), Some(0));
    assert!(place.text("r.html").ends_with("<p>named</p>"));
}

#[test]
fn another_version_and_other_files_are_refused() {
    let place = Place::new("refused");
    place.write("old.html", &shell("old").replace(&report::version(), "0.0.1+0"));
    for (arguments, says) in [
        ("report m.txt --shell old.html", "old.html: version 0.0.1+0, expected "),
        ("report m.txt --shell m.txt", "m.txt: no version"),
        ("report m.txt --shell none.html", "none.html: "),
        ("report none.txt", "none.txt: "),
        ("report m.txt --plain -o none/r.html", "none/r.html: "),
    ] {
        let refused = place.run(arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments}");
        assert!(errors(&refused).starts_with(says), "{arguments}: {}", errors(&refused));
    }
    assert!(!place.0.join("report.html").exists());
    place.write("wrong.txt", &MODULE.replace("negate(a)", "negate(q)"));
    let wrong = place.run("report wrong.txt --plain");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(errors(&wrong).starts_with("wrong.txt:6:"), "{}", errors(&wrong));
}

#[test]
fn a_folder_wants_one_module_and_its_order_does_not_matter() {
    let place = Place::new("folder");
    place.write("d/module_0001.m.cpu_after_optimizations.txt", MODULE);
    place.write("d/module_0002.n.cpu_after_optimizations.txt", &MODULE.replace("HloModule m", "HloModule n"));
    let several = place.run("report d --plain");
    assert_eq!(several.status.code(), Some(2));
    assert!(errors(&several).contains("--module"));
    let one = place.run("report d --module 0002 --plain -o n.html");
    assert_eq!(one.status.code(), Some(0), "{}", errors(&one));
    let page = place.text("n.html");
    assert!(page.contains("<h1>n</h1>") && page.contains("module_0002.n.cpu_after_optimizations.txt"));
    assert!(!page.contains("module_0001"));
    assert!(!page.contains(&*place.0.to_string_lossy()), "no path of this machine");
    assert!(Path::new(&place.0).join("n.html").exists());
}
