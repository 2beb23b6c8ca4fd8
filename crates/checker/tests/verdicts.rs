//! XLA's own assignments, and ours.

mod common;

use checker::{Verdict, Violation};
use common::{Case, cases, cases_below, expect, words};
use std::fmt::Write;
use std::path::Path;

/// Modules with `random_` in their name never went through copy insertion. Where such a one needs copies, XLA forces
/// values into one buffer that get in each other's way, and the program it makes is wrong.
fn needs_no_copies(name: &str) -> bool {
    !name.contains("random")
}

#[test]
fn of_xla() {
    let mut got = String::new();
    for case in cases() {
        let verdict = case.verdict(&case.plan());
        assert!(matches!(verdict, Verdict::Right(_)) || !needs_no_copies(&case.name), "{}", words(&verdict));
        let _ = writeln!(got, "{}: {}", case.name, words(&verdict));
    }
    expect("verdicts.txt", &got);
}

fn our_own(case: &Case) -> String {
    let facts = case.facts();
    let (assignment, _) =
        assigner::assign(&case.module, &facts, &facts.ranges, &assigner::Options::default());
    dumps::buffer_assignment(&case.module, &facts, &assignment)
}

/// What is lost in such a module was lost before the assigner began: both values are in one buffer, by the rules for
/// loops, donation and updates in place, or the buffer is a constant's or parameter's. With that told, every assignment of
/// XLA's is right; without, it is wrong exactly where something is told apart.
#[test]
fn what_is_lost_without_copies() {
    let mut got = String::new();
    for case in cases() {
        let plan = case.plan();
        let report = case.report(&plan, &case.facts());
        assert!(matches!(report.verdict, Verdict::Right(_)), "{}: {}", case.name, words(&report.verdict));
        let is_right = matches!(case.verdict(&plan), Verdict::Right(_));
        assert_eq!(report.forced.is_empty(), is_right, "{}", case.name);
        assert!(report.forced.is_empty() || !needs_no_copies(&case.name), "{}", case.name);
        for violation in &report.forced {
            let _ = writeln!(got, "{}: {violation}", case.name);
        }
    }
    assert!(!got.is_empty());
    expect("forced.txt", &got);
}

/// Ours are right where XLA's are, and lose what no assignment could keep.
#[test]
fn of_ours() {
    for case in cases() {
        // Without XLA's memory space assignment this one is not XLA's assignment at all; see below.
        if case.name == "tpu_elementwise_large" {
            continue;
        }
        let facts = case.facts();
        let xla = case.report(&case.plan(), &facts);
        let ours = Case { dump: our_own(&case), ..case };
        let report = ours.report(&ours.plan(), &facts);
        assert!(matches!(report.verdict, Verdict::Right(_)), "{}: {}", ours.name, words(&report.verdict));
        assert_eq!(report.forced.len(), xla.forced.len(), "{}", ours.name);
    }
}

/// XLA's rule asks whether the fusion may write over one of its operands, the first that is the value. Here operand 1 is a
/// bitcast of the same value, and the fusion reads it seven rows lower: rows are overwritten before they are read. XLA is
/// spared because memory space assignment has placed these values before, and elsewhere because one value is seldom read
/// through two operands.
#[test]
fn a_second_name_of_an_operand() {
    let case = cases().into_iter().find(|c| c.name == "tpu_elementwise_large").expect("the case");
    let ours = Case { dump: our_own(&case), ..case };
    assert_eq!(
        words(&ours.verdict(&ours.plan())),
        "wrong: step 6: maximum_multiply_fusion writes maximum_multiply_fusion to allocation 11 [0,4194304) while \
         it reads operand 1 (exponential_add_fusion, written at step 3) from allocation 11 [0,4194304)"
    );
}

/// The same rule in a smaller module, with what XLA:CPU (jaxlib 0.10.2) wrote for it; ours is the same. The compiled program
/// really loses `a`: for 0 to 63 the last eight of its 64 sums were -119 to -126, and all should be -63.
#[test]
fn xla_itself_loses_a_second_reading() {
    let file = |end| common::folder("lost").join(format!("second_reading.{end}"));
    let case = Case::new("second_reading".into(), &file("hlo"), &file("txt"));
    let report = case.report(&case.plan(), &case.facts());
    assert!(report.forced.is_empty());
    let Verdict::Wrong(violation) = report.verdict else { panic!("{}", words(&report.verdict)) };
    assert_eq!(
        violation.to_string(),
        "step 4: out.5 writes out.5 to allocation 2 [0,256) while it reads operand 1 (a.1, written at step 1) from \
         allocation 2 [0,256)"
    );
    assert!(matches!(*violation, Violation::OverOperand { is_second_reading: true, .. }));
    assert_eq!(our_own(&case), case.dump);
}

/// `BUFFERSCOPE_CORPUS=DIR cargo test -p bufferscope-checker -- --ignored`
#[test]
#[ignore = "needs a directory of dumps"]
fn a_whole_corpus() {
    let folder = std::env::var_os("BUFFERSCOPE_CORPUS").expect("BUFFERSCOPE_CORPUS names a directory");
    let all = cases_below(Path::new(&folder));
    assert!(!all.is_empty());
    let mut wrong = String::new();
    for case in &all {
        let report = case.report(&case.plan(), &case.facts());
        let is_right = matches!(report.verdict, Verdict::Right(_));
        if !is_right || !report.forced.is_empty() && needs_no_copies(&case.name) {
            let _ = writeln!(wrong, "{}: {} {:?}", case.name, words(&report.verdict), report.forced.first());
        }
    }
    assert_eq!(wrong, "");
}
