//! Fuzz targets: for each a body that takes any bytes, and panics when something does not hold that must hold for every
//! input.
//!
//! The bodies for one crate are in that crate's hidden `fuzzing` module. What needs several of them is here: a
//! [generator](modules) of small valid modules, and the way of such a module through the [whole engine](whole). The
//! tests run each body about a second; `cargo xtask fuzz` runs it for as long as one likes.
//!
//! ```
//! let text = fuzzing::TARGETS.iter().find(|target| target.name == "text").expect("a target of that name");
//! // Whatever the bytes are, nothing panics; what can be read can be printed and read again.
//! (text.body)(b"HloModule m\n\nENTRY main {\n  ROOT p = f32[4] parameter(0)\n}\n");
//! (text.body)(b"HloModule \xff ENTRY {{{");
//! ```

mod lab;
pub mod modules;
mod numbers;
mod whole;

pub use numbers::{Numbers, mutate};
pub use whole::{Case, assign};

use std::path::{Path, PathBuf};

/// Something to fuzz.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, for the command line.
    pub name: &'static str,
    /// The body.
    pub body: fn(&[u8]),
    /// Ends of the names of files to start from, below `crates/`.
    seeds: &'static [&'static str],
    /// How often a test runs it: about a second's worth.
    pub in_tests: u64,
}

/// All targets.
pub const TARGETS: [Target; 11] = [
    Target {
        name: "text",
        body: hlo::fuzzing::read_print_read,
        seeds: &["module.txt", ".hlo"],
        in_tests: 800,
    },
    Target {
        name: "proto",
        body: hlo::fuzzing::read_proto_print_read,
        seeds: &[".hlo.pb", ".pb"],
        in_tests: 800,
    },
    Target {
        name: "dumps",
        body: read_dumps,
        seeds: &["assignment.txt", "values.txt", "range.txt", "report.txt", "inside.txt", "prefix.txt"],
        in_tests: 300,
    },
    Target { name: "packing", body: packing::fuzzing::check_bytes, seeds: &[], in_tests: 300 },
    Target { name: "optimum", body: packing::fuzzing::check_optimum, seeds: &[], in_tests: 300 },
    Target { name: "memory_space", body: memory_space::fuzzing::check_bytes, seeds: &[], in_tests: 1000 },
    Target {
        name: "deallocation",
        body: deallocation::fuzzing::check_bytes,
        seeds: &[".mlir"],
        in_tests: 400,
    },
    Target {
        name: "collective",
        body: collective::fuzzing::check_bytes,
        seeds: &[".scenario.json"],
        in_tests: 400,
    },
    Target { name: "assigner", body: whole::assign, seeds: &[], in_tests: 400 },
    Target {
        name: "opening",
        body: lab::open_anything,
        seeds: &["assignment.txt", "range.txt", "module.txt", ".hlo", ".gz", ".pb"],
        in_tests: 200,
    },
    Target { name: "questions", body: lab::ask_anything, seeds: &[], in_tests: 150 },
];

/// Both readers of assignments: ours, and the checker's own.
fn read_dumps(bytes: &[u8]) {
    dumps::fuzzing::read_anything(bytes);
    _ = checker::Plan::parse(&String::from_utf8_lossy(bytes));
}

/// Runs the body of a target on an input; panics if there is none of that name, or if something does not hold.
pub fn run(name: &str, bytes: &[u8]) {
    let target = Target::find(name).expect("a target of that name");
    (target.body)(bytes);
}

/// Files are no longer than this when they are mutated; what breaks in a long one breaks in a short one.
const LONGEST_SEED: u64 = 40_000;

impl Target {
    /// The target of that name.
    pub fn find(name: &str) -> Option<Self> {
        TARGETS.into_iter().find(|t| t.name == name)
    }

    /// Files to start from, taken from the test data of all crates, in the order of their paths.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let mut found: Vec<PathBuf> = Vec::new();
        let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
        while let Some(folder) = open.pop() {
            for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()) {
                let name = path.to_string_lossy();
                if path.is_dir() && !name.ends_with("/target") {
                    open.push(path);
                } else if self.seeds.iter().any(|end| name.ends_with(end))
                    && path.metadata().is_ok_and(|m| m.len() <= LONGEST_SEED)
                {
                    found.push(path);
                }
            }
        }
        found.sort();
        found.iter().filter_map(|p| std::fs::read(p).ok()).collect()
    }

    /// The input of that number: the same for the same seeds, on every machine.
    pub fn input(&self, seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
        let mut numbers = Numbers::new(number);
        match numbers.below(seeds.len() as u64 + 1).checked_sub(1).and_then(|n| seeds.get(n as usize)) {
            // Anything at all finds little in a file with a form; a changed file finds more.
            Some(_) if numbers.below(16) == 0 => numbers.bytes(400),
            Some(seed) => mutate(seed, seeds, &mut numbers),
            None => numbers.bytes(800),
        }
    }
}
