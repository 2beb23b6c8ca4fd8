//! The newer rule, our own: what it makes is run on every way, beside what LLVM 19 makes of the same programs.

mod common;

use common::cases;
use deallocation::run::{Border, run_all, words};
use deallocation::{Program, lower, own, print, read};

fn faults(program: &Program) -> Vec<String> {
    let report = run_all(program, Border::Owned);
    assert!(report.complete);
    report.faults.iter().map(|f| words(program, f)).collect()
}

/// Every program that the tests have.
fn all() -> Vec<(&'static str, &'static str)> {
    let files = [
        include_str!("golden/basic.txt"),
        include_str!("golden/own.txt"),
        include_str!("golden/graphs.txt"),
        include_str!("golden/newer.txt"),
    ];
    files.into_iter().flat_map(cases).map(|(name, input, _)| (name, input)).collect()
}

#[test]
fn nothing_is_wrong_on_any_way() {
    let mut count = 0;
    for (name, input) in all() {
        let program = read(input).expect(name);
        let Ok(owned) = own(&program) else { continue };
        let text = print(&owned);
        let again = read(&text).unwrap_or_else(|e| panic!("{name}: {e}, in\n{text}"));
        assert_eq!(print(&again), text, "{name}");
        assert_eq!(faults(&owned), Vec::<String>::new(), "{name}\n{text}");
        let plain = lower(&owned);
        let text = print(&plain);
        assert!(!text.contains("bufferization.dealloc"), "{name}");
        read(&text).unwrap_or_else(|e| panic!("{name}: {e}, in\n{text}"));
        assert_eq!(faults(&plain), Vec::<String>::new(), "{name}\n{text}");
        count += 1;
    }
    assert!(count > 150, "{count}");
}

/// What LLVM 19 frees, ours does too.
#[test]
fn what_llvm_takes_is_taken() {
    for (name, input, _) in cases(include_str!("golden/newer.txt")) {
        own(&read(input).expect(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// What came in may be a part of a buffer; only a whole one can be freed. Its layout goes, its memory space stays.
#[test]
fn a_part_is_freed_as_a_whole() {
    let text = "\
func.func @f() {
  %a = memref.alloc() : memref<8x4xf32, 1>
  %v = memref.subview %a[0, 0] [2, 2] [1, 1] : memref<8x4xf32, 1> to memref<2x2xf32, strided<[4, 1]>, 1>
  cf.br ^bb1(%v : memref<2x2xf32, strided<[4, 1]>, 1>)
^bb1(%r: memref<2x2xf32, strided<[4, 1]>, 1>):
  \"test.use\"(%r) : (memref<2x2xf32, strided<[4, 1]>, 1>) -> ()
  return
}
";
    let owned = own(&read(text).expect("it can be read")).expect("it is taken");
    let whole = "memref.extract_strided_metadata %r : memref<2x2xf32, strided<[4, 1]>, 1> -> memref<f32, 1>, index, index, index, index, index";
    assert!(print(&owned).contains(whole), "{}", print(&owned));
    assert_eq!(faults(&owned), Vec::<String>::new());
}

/// What a caller gets is its own: an argument is cloned, and so is what is given twice.
#[test]
fn what_is_given_back_is_owned() {
    let text = "\
func.func @f(%x: memref<8xf32>) -> (memref<8xf32>, memref<8xf32>, memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  return %x, %a, %a : memref<8xf32>, memref<8xf32>, memref<8xf32>
}
";
    let owned = own(&read(text).expect("it can be read")).expect("it is taken");
    let printed = print(&owned);
    assert_eq!(printed.matches("bufferization.clone").count(), 2, "{printed}");
    assert_eq!(faults(&owned), Vec::<String>::new(), "{printed}");
}

#[test]
fn what_it_cannot_do_is_refused() {
    let refuses = |text: &str| own(&read(text).expect("it can be read")).expect_err("refused").to_string();
    assert_eq!(
        refuses("func.func @f(%x: memref<8xf32>) {\n  memref.dealloc %x : memref<8xf32>\n  return\n}"),
        "2:3: `memref.dealloc`, expected a program that frees nothing itself"
    );
    assert_eq!(
        refuses("func.func @f() {\n  \"a.b\"() ({\n    \"a.c\"() : () -> ()\n  }) : () -> ()\n  return\n}"),
        "2:3: `a.b`, expected no regions but those of `scf`"
    );
}
