//! XLA's own assignments, and ours.

mod common;

use analysis::{Facts, Orders, Position, Target};
use checker::{Verdict, Violation};
use common::{Case, cases, cases_below, expect, words};
use hlo::Opcode;
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
    let target = Target::detect(&case.module);
    let orders = Orders::guess(&case.module, &target);
    let facts = Facts::new(&case.module, orders, target).expect("facts");
    let (assignment, _) =
        assigner::assign(&case.module, &facts, &facts.ranges, &assigner::Options::default());
    dumps::buffer_assignment(&case.module, &facts, &assignment)
}

/// What is lost in such a module was lost before the assigner began: both values are in one buffer, by the rules for
/// loops, donation and updates in place, or the buffer is a constant's or parameter's.
#[track_caller]
fn was_forced(case: &Case, violation: &Violation) {
    let target = Target::detect(&case.module);
    let orders = Orders::guess(&case.module, &target);
    let facts = Facts::new(&case.module, orders, target).expect("facts");
    let buffer = |value: &str| {
        let (name, index) = value.split_once('{').unwrap_or((value, ""));
        let index: Vec<u32> = index.trim_end_matches('}').split(',').filter_map(|n| n.parse().ok()).collect();
        let module = &case.module;
        let instruction =
            module.instruction_ids().find(|i| module.name_of(*i) == name).expect("an instruction");
        let sub = module.shapes.find(module.instruction(instruction).shape, &index).expect("a part");
        let value = facts.dataflow.unique_at(Position { instruction, sub }).expect("one value");
        facts.buffers().iter().find(|b| b.values.contains(&value)).expect("a buffer")
    };
    let is_forced = match violation {
        Violation::Lost { expected, found: Some(found), .. } => {
            buffer(&expected.value).id == buffer(&found.value).id
        }
        Violation::OverOperand { value, read, .. } => buffer(value).id == buffer(&read.value).id,
        Violation::ReadOnly { value, .. } => buffer(value).values.iter().any(|v| {
            let defining = facts.defining(*v);
            matches!(case.module.instruction(defining).opcode, Opcode::Constant | Opcode::Parameter)
        }),
        _ => false,
    };
    assert!(is_forced, "{}: {violation}", case.name);
}

#[test]
fn what_is_lost_without_copies() {
    let mut lost = 0;
    for case in cases().into_iter().filter(|c| !needs_no_copies(&c.name)) {
        if let Verdict::Wrong(violation) = case.verdict(&case.plan()) {
            was_forced(&case, &violation);
            lost += 1;
        }
    }
    assert!(lost > 0);
}

/// Ours are right where XLA's are, and wrong where no assignment could be right.
#[test]
fn of_ours() {
    for case in cases() {
        // Without XLA's memory space assignment this one is not XLA's assignment at all; see below.
        if case.name == "tpu_elementwise_large" {
            continue;
        }
        let xla = case.verdict(&case.plan());
        let ours = Case { dump: our_own(&case), ..case };
        let verdict = ours.verdict(&ours.plan());
        assert_eq!(
            matches!(xla, Verdict::Right(_)),
            matches!(verdict, Verdict::Right(_)),
            "{}: {}",
            ours.name,
            words(&verdict)
        );
    }
}

/// The heap asks only whether the fusion may write over operand 0. Operand 1 is a bitcast of the same value, and the
/// fusion reads it seven rows lower: rows are overwritten before they are read. XLA is spared because memory space
/// assignment has placed these values before.
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

/// `BUFFERSCOPE_CORPUS=DIR cargo test -p bufferscope-checker -- --ignored`
#[test]
#[ignore = "needs a directory of dumps"]
fn a_whole_corpus() {
    let folder = std::env::var_os("BUFFERSCOPE_CORPUS").expect("BUFFERSCOPE_CORPUS names a directory");
    let all = cases_below(Path::new(&folder));
    assert!(!all.is_empty());
    let mut wrong = String::new();
    for case in &all {
        match case.verdict(&case.plan()) {
            Verdict::Right(_) => {}
            Verdict::Wrong(violation) if !needs_no_copies(&case.name) => was_forced(case, &violation),
            verdict => {
                let _ = writeln!(wrong, "{}: {}", case.name, words(&verdict));
            }
        }
    }
    assert_eq!(wrong, "");
}
