//! Each step is told in the words of the program.

mod common;

use common::cases;
use deallocation::{Options, deallocate, read, words};

/// What the pass says of a program of the tests.
fn told(file: &str, case: &str) -> Vec<String> {
    let (_, input, _) = cases(file).into_iter().find(|(name, ..)| *name == case).expect("it is there");
    let close = Options { close_gaps: true, ..Options::default() };
    let whole = deallocate(&read(input).expect("it can be read"), &close).expect("it is freed");
    whole.steps.iter().map(|s| words::step(&whole.program, s)).collect()
}

#[test]
fn a_diamond() {
    let told = told(include_str!("golden/basic.txt"), "diamond_one_alloc");
    let expected = [
        "`%a` is allocated: somebody has to free it.",
        "`%r` may be `%a`: a branch passes the one to the other.",
        "`%r` may be `%x`: a branch passes the one to the other.",
        "`%r` may be `%a`, but there is a way to it that does not come by `^bb1`: so it must own its buffer.",
        "`%x_clone` is a clone of `%x`, made in front of `cf.br ^bb2(%x_clone : memref<64xf32>)`, so that `%r` gets a buffer of its own.",
        "`%a_clone` is a clone of `%a`, made in front of `cf.br ^bb2(%a_clone : memref<64xf32>)`, so that `%r` gets a buffer of its own.",
        "`%a` has no other name. All ways from its uses meet in `^bb1`: `%a` is freed there, behind the last use, `%a_clone = bufferization.clone %a : memref<64xf32> to memref<64xf32>`.",
        "`%r` has no other name. All ways from its uses meet in `^bb2`: `%r` is freed there, behind the last use, `\"test.copy\"(%r, %out) : (memref<64xf32>, memref<64xf32>) -> ()`.",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_loop() {
    let told = told(include_str!("golden/basic.txt"), "scf_for_carry");
    assert!(told.iter().any(|t| t.contains("the body of `scf.for`")), "{told:#?}");
}
