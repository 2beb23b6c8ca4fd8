//! Every syntax case: what XLA says of it, and what this reader says.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/syntax").join(name)
}

/// `NAME XLA-VERDICT: our verdict`, and a line for each remark.
fn verdicts() -> String {
    let xla = std::fs::read_to_string(data("xla.txt")).expect("XLA's verdicts");
    let xla: BTreeMap<&str, &str> =
        xla.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once(' ')).collect();
    let mut out = String::new();
    for (name, verdict) in xla {
        let text = std::fs::read_to_string(data(&format!("{name}.hlo"))).expect("the case");
        let read = hlo::read(&text);
        let ours = if read.has_errors() { "refused" } else { "read" };
        _ = writeln!(out, "{name}: XLA {verdict}, {ours}");
        for diagnostic in &read.diagnostics {
            _ = writeln!(out, "    {diagnostic}");
        }
        assert!(verdict != "accepts" || ours == "read", "{name} is fine with XLA:\n{out}");
        if ours == "read" {
            let printed = hlo::print(&read.module.expect("a module"));
            let again = hlo::read(&printed).complete().expect("what is printed is read");
            assert_eq!(hlo::print(&again), printed, "{name}");
        }
    }
    out
}

#[test]
fn cases() {
    let got = verdicts();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(data("expected.txt"), &got).expect("the expectations can be written");
    }
    let expected = std::fs::read_to_string(data("expected.txt")).unwrap_or_default();
    assert_eq!(got, expected, "run with UPDATE_EXPECT=1 if this is right");
}
