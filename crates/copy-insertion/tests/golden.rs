//! Every phase compared as a graph with what XLA made of the same module: real programs, and random modules.
//!
//! `golden/plain` is without region analysis, `golden/regions` with it. The script `copies.py` among the tools that make
//! the corpus writes more such folders; name one with `BUFFERSCOPE_COPIES`.

mod common;

use common::{STAGES, analysis_of, cases, known_names, module, prints, run};
use copy_insertion::Options;

fn compare(folder: &str, exact: bool, excepted: &[&str]) {
    let mut wrong = Vec::new();
    for case in cases(folder) {
        let name = case.file_name().expect("a name").to_string_lossy().into_owned();
        let before = module(&case, "before");
        let known = known_names(&before);
        for (stage, stop_after) in STAGES {
            let options = Options { region_analysis: analysis_of(folder), stop_after };
            let ours = prints(&run(&case, &before, exact, options).module, &known);
            if ours != prints(&module(&case, stage), &known) {
                wrong.push(format!("{name}/{stage}"));
                break;
            }
        }
    }
    wrong.retain(|w| !excepted.iter().any(|e| w.starts_with(e)));
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn plain() {
    compare("plain", true, &[]);
}

#[test]
fn plain_from_text_alone() {
    compare("plain", false, &[]);
}

#[test]
fn with_region_analysis() {
    compare("regions", true, &[]);
}

/// The order in which instructions are stored decides the order of forced control edges, and no text tells it.
#[test]
fn with_region_analysis_from_text_alone() {
    compare("regions", false, &["carry_81/removed"]);
}
