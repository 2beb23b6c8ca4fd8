//! What must hold for every text: the body of the fuzz target, also run by the tests.
//!
//! These functions panic when something does not hold; that is their purpose.

use crate::run::{Border, Kind, run_all};
use crate::{Options, Program, deallocate, line, lower, own, print, read};

/// Reads the bytes as a text; what can be read is printed and read again, and goes through the pass.
pub fn check_bytes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(program) = read(&text) {
        check(&program);
    }
}

/// Whether buffers leave a function, or come in by a call or an operation that is not known, or are freed already: then
/// who owns them is not told by the program alone.
fn is_closed(program: &Program) -> bool {
    program.functions().iter().all(|f| {
        let ops = program.op(*f).regions.iter().flat_map(|r| program.in_order(*r));
        ops.into_iter().all(|op| {
            let o = program.op(op);
            let takes_buffers = o.operands.iter().any(|v| program.value(*v).is_buffer());
            let frees = matches!(o.name.as_str(), "memref.dealloc" | "bufferization.dealloc");
            !(frees || o.name == "func.return" && takes_buffers)
        })
    })
}

/// Everything that must hold of a program.
pub fn check(program: &Program) {
    let printed = print(program);
    let again = read(&printed).unwrap_or_else(|e| panic!("{e}, in what was printed:\n{printed}"));
    assert_eq!(print(&again), printed, "printed twice");
    _ = run_all(program, Border::Borrowed);
    if let Ok(owned) = own(program) {
        let steps = is_right(&owned, &printed);
        // Addresses make for many more states.
        if steps < 2000 {
            is_right(&lower(&owned), &printed);
        }
    }
    for close_gaps in [false, true] {
        let options = Options { close_gaps, ..Options::default() };
        let Ok(outcome) = deallocate(program, &options) else { continue };
        let result = print(&outcome.program);
        let again = read(&result).unwrap_or_else(|e| panic!("{e}, in the result:\n{result}"));
        assert_eq!(print(&again), result, "the result, printed twice");
        if !close_gaps || !is_closed(program) {
            continue;
        }
        let report = run_all(&outcome.program, Border::Borrowed);
        if let Some(fault) = report.faults.iter().find(|f| f.kind != Kind::NotOurs) {
            panic!("{:?} at {}:\n{printed}\nbecame\n{result}", fault, line(&outcome.program, fault.at));
        }
    }
}

/// Runs what the newer rule made; gives how many operations that took.
fn is_right(owned: &Program, printed: &str) -> usize {
    let result = print(owned);
    let again = read(&result).unwrap_or_else(|e| panic!("{e}, in what is owned:\n{result}"));
    assert_eq!(print(&again), result, "what is owned, printed twice");
    let report = run_all(owned, Border::Owned);
    if let Some(fault) = report.faults.first() {
        panic!("{:?} at {}:\n{printed}\nbecame\n{result}", fault, line(owned, fault.at));
    }
    report.steps
}
