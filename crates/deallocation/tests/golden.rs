//! What LLVM 16's `mlir-opt --buffer-deallocation` makes of the same programs, in the order in which it makes it.

mod canonical;
mod common;

use canonical::canonical;
use common::cases;
use deallocation::{Options, deallocate, print, read};

#[track_caller]
fn check(text: &str, count: usize) {
    let cases = cases(text);
    assert_eq!(cases.len(), count);
    for (name, input, expected) in cases {
        let outcome = read(input).and_then(|p| deallocate(&p, &Options::default()));
        match (outcome, expected) {
            (Err(_), None) => {}
            (Ok(_), None) => panic!("{name}: is not refused"),
            (Err(e), Some(_)) => panic!("{name}:{e}"),
            (Ok(outcome), Some(expected)) => {
                let expected = canonical(&read(expected).unwrap_or_else(|e| panic!("{name}, expected: {e}")));
                assert_eq!(canonical(&outcome.program), expected, "{name}");
                // What is printed is what was made.
                let printed = print(&outcome.program);
                let again = read(&printed).unwrap_or_else(|e| panic!("{name}, printed: {e}\n{printed}"));
                assert_eq!(canonical(&again), expected, "{name}, printed");
                assert_eq!(print(&again), printed, "{name}, printed twice");
            }
        }
    }
}

#[test]
fn the_basic_cases() {
    check(include_str!("golden/basic.txt"), 17);
}

#[test]
fn cases_of_our_own() {
    check(include_str!("golden/own.txt"), 71);
}

#[test]
fn random_graphs() {
    check(include_str!("golden/graphs.txt"), 80);
}

#[test]
fn a_loop_of_blocks_is_refused_by_its_place() {
    let (_, input, _) = *cases(include_str!("golden/basic.txt"))
        .iter()
        .find(|c| c.0 == "explicit_loop_refused")
        .expect("the case is there");
    let refusal = deallocate(&read(input).expect("it can be read"), &Options::default()).expect_err("a loop");
    assert_eq!(
        refusal.to_string(),
        "7:3: a branch back makes a loop of blocks, expected loops as `scf.for` or `scf.while` only"
    );
}
