//! Every body, on the first few of the inputs that a long run would take.

use fuzzing::{Case, Numbers, TARGETS, Target};

fn run(name: &str) {
    let target = Target::find(name).expect("a target");
    let seeds = target.seeds();
    for number in 0..target.in_tests {
        (target.body)(&target.input(&seeds, number));
    }
}

#[test]
fn text() {
    run("text");
}

#[test]
fn proto() {
    run("proto");
}

#[test]
fn dumps() {
    run("dumps");
}

#[test]
fn packing() {
    run("packing");
}

#[test]
fn optimum() {
    run("optimum");
}

#[test]
fn collective() {
    run("collective");
}

#[test]
fn deallocation() {
    run("deallocation");
}

#[test]
fn assigner() {
    run("assigner");
}

#[test]
fn opening() {
    run("opening");
}

#[test]
fn questions() {
    run("questions");
}

/// The generator makes all that it promises.
#[test]
fn modules_have_everything() {
    let mut all = String::new();
    for number in 0..300 {
        let bytes = Numbers::new(number).bytes(800);
        all.push_str(&Case::new(&bytes).text);
    }
    for what in [
        "while(",
        "conditional(",
        "call(",
        "fusion(",
        "dynamic-update-slice(",
        "custom-call(",
        "copy-start(",
        "input_output_alias",
        "output_to_operand_aliasing",
        "bitcast(",
        "reduce(",
        "constant(",
    ] {
        assert!(all.matches(what).count() >= 20, "{what}");
    }
}

#[test]
fn names_are_those_of_the_fuzz_targets() {
    for target in TARGETS {
        let path = format!("{}/../../fuzz/fuzz_targets/{}.rs", env!("CARGO_MANIFEST_DIR"), target.name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert!(text.contains(&format!("\"{}\"", target.name)), "{path}");
    }
}
