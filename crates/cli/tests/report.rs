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
        "<meta name=\"bufferscope-shell\" content=\"{}\"><title>x</title><!-- report --><!-- /report --><script type=\"text/plain\" id=\"bufferscope-given\"></script><p>{mark}</p></html>",
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
fn nothing_is_written_over_unasked_and_what_is_read_never() {
    let place = Place::new("over");
    place.write("notes.html", "mine");
    place.write("d/module_0001.m.cpu_after_optimizations.txt", MODULE);
    place.write("s.html", &shell("s"));
    for (arguments, says) in [
        ("report m.txt --plain -o notes.html", "notes.html: is there already, expected --force"),
        ("report m.txt --plain -o m.txt", "m.txt: is what is read, expected another name"),
        (
            "report m.txt --plain -o ./d/../m.txt --force",
            "./d/../m.txt: is what is read, expected another name",
        ),
        ("report m.txt --shell s.html -o s.html --force", "s.html: is what is read, expected another name"),
        (
            "report d --plain -o d/module_0001.m.cpu_after_optimizations.txt --force",
            "d/module_0001.m.cpu_after_optimizations.txt: is what is read, expected another name",
        ),
    ] {
        let refused = place.run(arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments}");
        assert!(errors(&refused).starts_with(says), "{arguments}: {}", errors(&refused));
    }
    assert_eq!((place.text("m.txt").as_str(), place.text("notes.html").as_str()), (MODULE, "mine"));
    assert_eq!(place.text("d/module_0001.m.cpu_after_optimizations.txt"), MODULE);
    assert_eq!(place.run("report m.txt --plain -o notes.html --force").status.code(), Some(0));
    assert!(place.text("notes.html").contains("<h1>m</h1>"));
    assert_eq!(place.run("report d --plain -o d/r.html").status.code(), Some(0));
    assert_eq!(place.run("report d --plain -o d/r.html --force").status.code(), Some(0));
}

#[test]
fn a_shell_is_found_beside_the_program_and_above() {
    let place = Place::new("found");
    let found = |mark: &str| {
        let made = place.run("report m.txt -o r.html --force");
        assert_eq!((made.status.code(), errors(&made).as_str()), (Some(0), ""));
        let page = place.text("r.html");
        assert!(page.ends_with(&format!("<p>{mark}</p></html>")), "{page}");
    };
    // The nearest wins: the folder above, what is shared, what lies beside, what is named.
    place.write("dist/report-shell.html", &shell("above"));
    found("above");
    place.write("share/bufferscope/report-shell.html", &shell("shared"));
    found("shared");
    place.write("bin/report-shell.html", &shell("beside"));
    found("beside");
    place.write("named.html", &shell("named"));
    let made = place.run("report m.txt -o r.html --shell named.html --force");
    assert_eq!(made.status.code(), Some(0));
    assert!(place.text("r.html").ends_with("<p>named</p></html>"));
}

#[test]
fn another_version_and_other_files_are_refused() {
    let place = Place::new("refused");
    place.write("old.html", &shell("old").replace(&report::version(), "0.0.1+0"));
    place.write("cut.html", shell("cut").trim_end_matches("l>"));
    for (arguments, says) in [
        ("report m.txt --shell old.html", "old.html: version 0.0.1+0, expected "),
        ("report m.txt --shell cut.html", "cut.html: is cut off, expected "),
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

#[test]
fn modules_of_one_name_go_by_their_files_or_places() {
    let place = Place::new("twins");
    place.write("d/module.txt", MODULE);
    place.write("d/module-before.txt", &MODULE.replace("4096", "8192"));
    let several = place.run("peak d");
    assert_eq!(several.status.code(), Some(2));
    assert!(
        errors(&several).contains(
            "2 modules, expected --module with the number or the file of one: 1 m (module.txt), 2 m (module-before.txt)"
        ),
        "{}",
        errors(&several)
    );
    let total = |arguments: &str| {
        let made = place.run(arguments);
        assert_eq!(made.status.code(), Some(0), "{arguments}: {}", errors(&made));
        made.stdout
    };
    assert_eq!(total("peak d --module 1"), total("peak d --module module.txt"));
    assert_eq!(total("peak d --module 2"), total("peak d --module module-before.txt"));
    assert_ne!(total("peak d --module 1"), total("peak d --module 2"));
    assert_eq!(place.run("peak d --module 3").status.code(), Some(2));
}

#[test]
fn an_error_in_the_folder_is_told_once_and_measured_against() {
    let place = Place::new("memory");
    let error = "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO temporaries (48.00K) exceeds available HBM (1.00K). HLO module: m.";
    place.write("d/module_0001.m.cpu_after_optimizations.txt", MODULE);
    place.write("d/zerror.txt", error);
    place.write("d/stats.json", &format!("[{{\"error\": \"{error}\\nSee https://a for more details.\"}}]"));
    place.write("d/other.txt", &error.replace("module: m.", "module: n."));
    let told = |arguments: &str| {
        let made = place.run(arguments);
        assert_eq!(made.status.code(), Some(0), "{arguments}: {}", errors(&made));
        String::from_utf8_lossy(&made.stdout).into_owned()
    };
    let page = told("report d --plain -o -");
    assert_eq!(page.matches("<h2>Out of memory</h2>").count(), 1, "{page}");
    assert!(page.contains("exceeds available HBM (1.00K). HLO module: m.</code>"), "{page}");
    assert!(page.contains("zerror.txt") && !page.contains("stats.json") && !page.contains("other.txt"));
    let gap = "The program needs ";
    assert!(page.contains(gap) && told("advise d").contains(gap));
    assert!(!told("advise d/module_0001.m.cpu_after_optimizations.txt").contains(gap));
    let listed = told("inspect d");
    assert_eq!(listed.matches("The dump takes it apart").count(), 1, "{listed}");
    assert!(!listed.contains("stats.json"), "{listed}");
}

#[test]
fn what_cannot_be_read_shows_in_the_status() {
    let place = Place::new("damaged");
    place.write("cut.txt", &MODULE[..MODULE.len() / 2]);
    place.write("good/m.txt", MODULE);
    std::fs::write(place.0.join("cut.gz"), [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xf3]).expect("a file");
    for (arguments, says) in [
        ("inspect cut.txt", "1 of 1 module cannot be read"),
        ("peak cut.gz", "cut.gz: damaged behind the first 0 bytes"),
        ("inspect cut.gz", "cut.gz: is damaged"),
        ("inspect m.txt cut.gz", "1 file was not taken whole, expected none:\n  "),
    ] {
        let made = place.run(arguments);
        assert_eq!(made.status.code(), Some(2), "{arguments}");
        assert!(errors(&made).contains(says), "{arguments}: {}", errors(&made));
    }
    assert_eq!(place.run("inspect good").status.code(), Some(0));
}
