//! Every phase compared as a graph with what XLA made of the same module: real programs, and random modules.
//!
//! `golden/plain` is without region analysis, `golden/regions` with it. The script `copies.py` among the tools that make
//! the corpus writes more such folders; name one with `BUFFERSCOPE_COPIES`.

mod common;

use common::{STAGES, analysis_of, cases, known_names, module, orders, prints, run};
use copy_insertion::{Fate, Options, Stage, needless, retrace};
use std::collections::BTreeSet;

fn compare(folder: &str, exact: bool, excepted: &[&str]) {
    let mut wrong = Vec::new();
    for case in cases(folder) {
        let name = case.file_name().expect("a name").to_string_lossy().into_owned();
        let before = module(&case, "before");
        let known = known_names(&before);
        for (stage, stop_after) in STAGES {
            let options = Options { region_analysis: analysis_of(folder), stop_after, ..Options::default() };
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

/// XLA's finished modules as a reader of a dump has them: every copy of theirs has its story, under its own name or in the
/// story of the copy that would be made in its place.
#[test]
fn each_copy_of_a_finished_module_has_its_story() {
    let mut wrong = Vec::new();
    let mut copies = 0;
    for folder in ["plain", "regions"] {
        for case in cases(folder) {
            let name = case.file_name().expect("a name").to_string_lossy().into_owned();
            let after = module(&case, "after");
            let (_, target) = orders(&case, &after, false);
            let guessed = copy_insertion::guess_orders(&after, &target);
            let options = Options {
                region_analysis: analysis_of(folder),
                stop_after: Stage::After,
                ..Options::default()
            };
            let told = retrace(&after, &guessed, &target, options).expect("it runs");
            let history = &told.outcome.history;
            let names: BTreeSet<&str> = told
                .outcome
                .copies
                .iter()
                .filter(|c| c.fate == Fate::Stayed)
                .flat_map(|c| c.in_place_of.iter().copied().chain([c.copy]))
                .map(|i| history.name_of(i))
                .collect();
            let fused: BTreeSet<_> = after
                .instruction_ids()
                .filter(|i| after.instruction(*i).opcode == hlo::Opcode::Fusion)
                .flat_map(|i| after.called(i).to_vec())
                .collect();
            for id in after.instruction_ids() {
                let i = after.instruction(id);
                if i.opcode == hlo::Opcode::Copy && !fused.contains(&i.computation) {
                    copies += 1;
                    if !names.contains(after.name_of(id)) {
                        wrong.push(format!("{folder}/{name}: {}", after.name_of(id)));
                    }
                }
            }
            if !needless(&told.outcome).is_empty() {
                wrong.push(format!("{folder}/{name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "of {copies}: {wrong:?}");
}
