//! LLVM's newer rule carries beside each buffer whether it is owned, and frees at the end of each block what is. What LLVM 19 made
//! of these programs is run on every way, beside what the classic rule makes of them.

mod common;

use common::cases;
use deallocation::run::{Border, Kind, run_all, words};
use deallocation::{Options, deallocate, own, print, read};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const CASES: &str = include_str!("golden/newer.txt");

#[test]
fn what_it_prints_is_read_and_printed() {
    for (name, _, result) in cases(CASES) {
        let program = read(result.expect(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let printed = print(&program);
        assert_eq!(print(&read(&printed).unwrap_or_else(|e| panic!("{name}: {e}"))), printed, "{name}");
    }
}

#[test]
fn its_results_are_right() {
    for (name, _, result) in cases(CASES) {
        let program = read(result.expect(name)).expect(name);
        let report = run_all(&program, Border::Owned);
        assert!(report.complete, "{name}");
        let faults: Vec<String> = report.faults.iter().map(|f| words(&program, f)).collect();
        assert_eq!(faults, Vec::<String>::new(), "{name}");
    }
}

/// What changed: where each rule is wrong, and how many clones and releases stand in the text.
#[test]
fn beside_the_classic_rule() {
    let mut out = String::new();
    for (name, input, result) in cases(CASES) {
        let newer = result.expect(name);
        let count = |text: &str, what: &str| text.matches(what).count();
        let classic = match deallocate(&read(input).expect(name), &Options::default()) {
            Ok(outcome) => {
                let text = print(&outcome.program);
                let faults = run_all(&outcome.program, Border::Borrowed).faults;
                let faults: BTreeSet<Kind> = faults.iter().map(|f| f.kind).collect();
                let faults: Vec<String> = faults.iter().map(|k| format!(", {k:?}")).collect();
                let (clones, frees) = (count(&text, "bufferization.clone"), count(&text, "memref.dealloc"));
                format!("{clones} clones, {frees} releases{}", faults.concat())
            }
            Err(_) => "refused".to_owned(),
        };
        let (clones, frees) = (count(newer, "bufferization.clone"), count(newer, "bufferization.dealloc"));
        let ours = print(&own(&read(input).expect(name)).expect(name));
        let (our_clones, our_frees) =
            (count(&ours, "bufferization.clone"), count(&ours, "bufferization.dealloc"));
        _ = writeln!(
            out,
            "{name}: classic {classic}; newer {clones} clones, {frees} releases; ours of it {our_clones}, {our_frees}"
        );
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/newer-beside-classic.txt");
        std::fs::write(path, &out).expect("the file");
        return;
    }
    assert_eq!(out, include_str!("newer-beside-classic.txt"));
}
