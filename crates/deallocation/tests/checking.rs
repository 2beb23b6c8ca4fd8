//! The run of every way finds what is wrong: each result of the rule is broken in each way that there is.

mod common;

use common::cases;
use deallocation::run::{Border, Kind, run_all, words};
use deallocation::{Break, Options, Program, Step, deallocate, print, read};
use std::collections::BTreeSet;

fn kinds(program: &Program) -> BTreeSet<Kind> {
    let report = run_all(program, Border::Borrowed);
    assert!(report.complete);
    report.faults.iter().map(|f| f.kind).collect()
}

fn good() -> Vec<(String, Program)> {
    let mut out = Vec::new();
    let files = [include_str!("golden/basic.txt"), include_str!("golden/own.txt")];
    for (name, input, _) in files.iter().flat_map(|f| cases(f)) {
        let options = Options { close_gaps: true, ..Options::default() };
        if let Ok(outcome) = deallocate(&read(input).expect(name), &options) {
            out.push((name.to_owned(), outcome.program));
        }
    }
    out
}

/// What no release in one place can do: whether the buffer is the caller's is decided as the program runs.
const UNDECIDED: [&str; 1] = ["dealloc_too_early_moves"];

#[test]
fn results_are_right() {
    for (name, program) in good() {
        if !UNDECIDED.contains(&name.as_str()) {
            assert_eq!(kinds(&program), BTreeSet::new(), "{name}\n{}", print(&program));
        }
    }
}

#[test]
fn without_a_release_there_is_a_leak() {
    let mut count = 0;
    for (name, program) in good() {
        for op in all(&program, "memref.dealloc") {
            let mut broken = program.clone();
            broken.remove(op);
            assert!(kinds(&broken).contains(&Kind::Leak), "{name}\n{}", print(&broken));
            count += 1;
        }
    }
    assert!(count > 80, "{count}");
}

fn all(program: &Program, name: &str) -> Vec<deallocation::ir::OpId> {
    let functions = program.functions();
    let ops = functions.iter().flat_map(|f| &program.op(*f).regions).flat_map(|r| program.in_order(*r));
    ops.filter(|o| program.op(*o).name == name).collect()
}

#[test]
fn a_second_release_is_found() {
    for (name, program) in good() {
        let text = print(&program);
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate().filter(|(_, l)| l.contains("memref.dealloc ")) {
            let mut twice = lines.clone();
            twice.insert(i, line);
            let broken = read(&twice.join("\n")).expect("it can be read");
            assert!(kinds(&broken).contains(&Kind::FreedTwice), "{name}\n{}", print(&broken));
        }
    }
}

#[test]
fn a_clone_that_is_left_out_shows() {
    let mut found = 0;
    for (name, input, expected) in cases(include_str!("golden/basic.txt")) {
        if expected.is_none() {
            continue;
        }
        let program = read(input).expect(name);
        let close = Options { close_gaps: true, ..Options::default() };
        let whole = deallocate(&program, &close).expect(name);
        let clone = |s: &Step| match s {
            Step::Clone { op, .. } => Some(*op),
            _ => None,
        };
        for op in whole.steps.iter().filter_map(clone) {
            let (broken, _) = whole.so_far(whole.steps.len(), &[(op, Break::LeftOut)]);
            let kinds = kinds(&broken);
            assert!(!kinds.is_empty(), "{name}\n{}", print(&broken));
            found += 1;
        }
    }
    assert!(found >= 10, "{found}");
}

#[test]
fn a_release_that_is_spoilt_shows() {
    let mut found = [0; 3];
    let close = Options { close_gaps: true, ..Options::default() };
    for (name, input, _) in cases(include_str!("golden/own.txt")) {
        let Ok(whole) = deallocate(&read(input).expect(name), &close) else { continue };
        if UNDECIDED.contains(&name) {
            continue;
        }
        for (op, _) in whole.put_in().filter(|(op, _)| whole.program.op(*op).name == "memref.dealloc") {
            let ways = Break::ALL.iter().enumerate().filter(|(_, how)| whole.can_break(op, **how));
            for (n, how) in ways {
                let (broken, seconds) = whole.so_far(whole.steps.len(), &[(op, *how)]);
                let expected = [Kind::Leak, Kind::UsedAfterRelease, Kind::FreedTwice][n];
                assert!(kinds(&broken).contains(&expected), "{name}: {how:?}\n{}", print(&broken));
                assert_eq!(seconds.len(), usize::from(*how == Break::Twice));
                found[n] += 1;
            }
        }
    }
    assert!(found.iter().all(|n| *n > 30), "{found:?}");
}

/// At no step anything but a leak: what is not there yet has not freed anything.
#[test]
fn a_result_on_its_way_only_leaks() {
    let close = Options { close_gaps: true, ..Options::default() };
    for (name, input, _) in cases(include_str!("golden/basic.txt")) {
        let program = read(input).expect(name);
        let Ok(whole) = deallocate(&program, &close) else { continue };
        for done in 0..=whole.steps.len() {
            let (so_far, _) = whole.so_far(done, &[]);
            assert!(kinds(&so_far).iter().all(|k| *k == Kind::Leak), "{name} after {done}");
        }
        assert_eq!(print(&whole.so_far(whole.steps.len(), &[]).0), print(&whole.program), "{name}");
    }
}

/// What `Options::close_gaps` is for.
#[test]
fn the_gaps_are_there() {
    let names = |text: &str| -> Vec<(String, Kind)> {
        let mut out = Vec::new();
        for (name, input, expected) in cases(text) {
            if expected.is_some() {
                let p = deallocate(&read(input).expect(name), &Options::default()).expect(name).program;
                out.extend(kinds(&p).into_iter().map(|k| (name.to_owned(), k)));
            }
        }
        out
    };
    let mut all = names(include_str!("golden/basic.txt"));
    all.extend(names(include_str!("golden/own.txt")));
    let all: Vec<String> = all.iter().map(|(name, kind)| format!("{name}: {kind:?}")).collect();
    assert_eq!(all.join("\n"), include_str!("gaps.txt").trim_end());
}

#[test]
fn a_fault_is_told_with_its_way() {
    let program = read(
        "func.func @f(%c: i1) {
           %a = memref.alloc() : memref<8xf32>
           scf.if %c {
             memref.dealloc %a : memref<8xf32>
           }
           \"test.use\"(%a) : (memref<8xf32>) -> ()
           memref.dealloc %a : memref<8xf32>
           return
         }",
    )
    .expect("it can be read");
    let report = run_all(&program, Border::Borrowed);
    // The function's only block, and the region of the condition.
    assert_eq!(report.faults[0].blocks.len(), 2);
    let told: Vec<String> = report.faults.iter().map(|f| words(&program, f)).collect();
    assert_eq!(
        told,
        [
            "The buffer of `%a` is used when it is gone, by `\"test.use\"(%a) : (memref<8xf32>) -> ()`. It was freed by `memref.dealloc %a : memref<8xf32>`. The way there: %c is true.",
            "The buffer of `%a` is freed twice, the second time by `memref.dealloc %a : memref<8xf32>`. It was freed by `memref.dealloc %a : memref<8xf32>`. The way there: %c is true.",
        ]
    );
}

#[test]
fn a_borrowed_buffer_is_not_ours_to_free() {
    let program = read("func.func @f(%x: memref<8xf32>) { memref.dealloc %x : memref<8xf32> return }");
    assert_eq!(kinds(&program.expect("it can be read")), BTreeSet::from([Kind::NotOurs]));
}
