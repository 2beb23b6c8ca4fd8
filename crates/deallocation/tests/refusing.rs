//! What cannot be read is refused with its place, what was read and what was expected.

use deallocation::read;

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(read(text).expect_err("it is refused").to_string(), expected);
}

#[test]
fn texts() {
    check(
        "func.func @f() {\n  return\n",
        "3:1: the end of the text, expected an operation of `func`, `cf`, `scf`, `memref` or `arith`, or one in its generic form, its name in quotes",
    );
    check(
        "func.func @f() {\n  tensor.empty() : tensor<4xf32>\n}",
        "2:3: `tensor.empty()`, expected an operation of `func`, `cf`, `scf`, `memref` or `arith`, or one in its generic form, its name in quotes",
    );
    check(
        "func.func @f() {\n  \"a.b\"(%x) : (i1) -> ()\n  return\n}",
        "2:9: `%x`, expected a value that is defined",
    );
    check(
        "func.func @f(%x: i1) {\n  \"a.b\"(%x) : (i2) -> ()\n  return\n}",
        "2:9: `%x` as `i2`, expected its own type, `i1`",
    );
    check(
        "func.func @f(%x: i1) {\n  cf.br ^bb1\n}",
        "2:9: `^bb1`, expected the label of a block of this region",
    );
    check(
        "func.func @f(%x: i1, %x: i1) {\n  return\n}",
        "1:22: `%x`, expected a new name: it is defined at 1:14",
    );
    check(
        "func.func @f(%x: i1) {\n  %a:2 = \"a.b\"() : () -> (i1)\n  return\n}",
        "2:3: 2 names for the results of `a.b`, expected 1",
    );
    check(
        "func.func @f(%x: i1) {\n  %a = memref.alloc() : memref<4xf32\n  return\n}",
        "4:1: `}`, expected `>`",
    );
}

#[test]
fn programs() {
    check(
        "func.func @f(%x: i1) {\n  \"a.b\"() : () -> ()\n}",
        "2:3: `a.b`, expected a branch, `return` or `scf.yield` at the end of a block",
    );
    check(
        "func.func @f(%x: i1) -> i1 {\n  return\n}",
        "2:3: `func.return`, expected `return` of what the function says: (i1)",
    );
    check(
        "func.func @f(%x: i1) {\n  cf.br ^bb1\n^bb1(%y: i1):\n  return\n}",
        "2:3: `cf.br`, expected what it passes to fit the 1 arguments of `^bb1`",
    );
    check(
        "func.func @f(%c: i1) {\n  %r = scf.if %c -> (i1) {\n    scf.yield %c : i1\n  }\n  return\n}",
        "2:8: `scf.if`, expected a region for each result",
    );
    check(
        "func.func @f(%c: i1) {\n  \"u.v\"(%a) : (i1) -> ()\n  %a = arith.constant true\n  return\n}",
        "2:3: `u.v`, expected `%a` to be defined on every way to it",
    );
    check(
        "func.func @f(%c: i1) {\n  cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n  %a = arith.constant true\n  cf.br ^bb2\n^bb2:\n  \"u.v\"(%a) : (i1) -> ()\n  return\n}",
        "7:3: `u.v`, expected `%a` to be defined on every way to it",
    );
    check(
        "func.func @f(%c: i1) {\n  \"u.br\"()[^bb1] : () -> ()\n^bb1:\n  return\n}",
        "2:3: `u.br` with successors, expected `cf.br` or `cf.cond_br`: what it passes is not known",
    );
}

#[test]
fn deep_texts() {
    let deep = "\"a\"() ({".repeat(1000);
    assert!(read(&deep).expect_err("too deep").to_string().contains("to a depth of 64"));
    let brackets = format!("func.func @f(%x: memref<{}", "<".repeat(100_000));
    assert!(read(&brackets).is_err());
}
