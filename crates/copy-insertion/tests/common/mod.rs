//! Modules out of `golden/`, and their comparison as graphs.

#![allow(dead_code, reason = "each test file uses a part of it")]

use analysis::{Orders, Target};
use copy_insertion::{Options, Outcome, RegionAnalysis, Stage, insert_copies};
use hlo::{ComputationId, InstructionId, Module};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};

pub fn unpack(path: &Path) -> Vec<u8> {
    let packed = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut out).expect("a gzip file");
    out
}

/// `plain` or `regions`, or whatever `BUFFERSCOPE_COPIES` names instead.
pub fn cases(folder: &str) -> Vec<PathBuf> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(folder);
    let folder = std::env::var_os("BUFFERSCOPE_COPIES").map_or(golden, |f| PathBuf::from(f).join(folder));
    let mut out: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the folder").map(|e| e.expect("an entry").path()).collect();
    out.sort();
    out
}

pub fn module(case: &Path, stage: &str) -> Module {
    let text = String::from_utf8(unpack(&case.join(format!("{stage}.txt.gz")))).expect("UTF-8");
    hlo::read_owned(text).complete().unwrap_or_else(|d| panic!("{}/{stage}: {d:?}", case.display()))
}

/// XLA's own orders, or those guessed from the text.
pub fn orders(case: &Path, module: &Module, exact: bool) -> (Orders, Target) {
    let target = Target::new(analysis::Backend::Cpu);
    let orders = if exact {
        let proto = unpack(&case.join("before.hlo.pb.gz"));
        let stored = hlo::read_proto_orders(&proto).expect("a proto");
        Orders::exact(module, &target, &stored).expect("its orders")
    } else {
        copy_insertion::guess_orders(module, &target)
    };
    (orders, target)
}

pub const STAGES: [(&str, Stage); 4] = [
    ("added", Stage::Added),
    ("removed", Stage::Removed),
    ("special", Stage::Special),
    ("after", Stage::After),
];

pub fn analysis_of(folder: &str) -> RegionAnalysis {
    if folder == "plain" { RegionAnalysis::Never } else { RegionAnalysis::Always }
}

pub fn run(case: &Path, before: &Module, exact: bool, options: Options) -> Outcome {
    let (orders, target) = orders(case, before, exact);
    insert_copies(before, &orders, &target, options)
        .unwrap_or_else(|e| panic!("{}: {}", case.display(), e.describe(before)))
}

/// By computation: how often each print occurs, and that of the root.
pub type Prints = BTreeMap<String, (BTreeMap<u64, u32>, u64)>;

/// The names that instructions had before the pass, by computation.
pub fn known_names(before: &Module) -> HashSet<(String, String)> {
    before
        .instruction_ids()
        .map(|i| {
            let c = before.instruction(i).computation;
            (before.computation_name(c).to_owned(), before.name_of(i).to_owned())
        })
        .collect()
}

/// What a module is apart from the names of new instructions: each instruction is opcode, shape, attributes, and the same
/// of all that it reads or waits for.
pub fn prints(module: &Module, known: &HashSet<(String, String)>) -> Prints {
    module
        .computation_ids()
        .map(|c| (module.computation_name(c).to_owned(), prints_of(module, c, known)))
        .collect()
}

fn prints_of(
    module: &Module,
    c: ComputationId,
    known: &HashSet<(String, String)>,
) -> (BTreeMap<u64, u32>, u64) {
    let mut done: HashMap<InstructionId, u64> = HashMap::new();
    let mut stack: Vec<InstructionId> = module.computation(c).instructions.clone();
    while let Some(&at) = stack.last() {
        if done.contains_key(&at) {
            stack.pop();
            continue;
        }
        let before = module.operands(at).iter().chain(module.control_predecessors(at));
        let missing: Vec<InstructionId> = before.copied().filter(|i| !done.contains_key(i)).collect();
        if !missing.is_empty() {
            stack.extend(missing);
            continue;
        }
        stack.pop();
        let mut h = DefaultHasher::new();
        let name = (module.computation_name(c).to_owned(), module.name_of(at).to_owned());
        known.contains(&name).then_some(name).hash(&mut h);
        let instruction = module.instruction(at);
        (instruction.opcode.name(), module.shapes.long(instruction.shape)).hash(&mut h);
        module.str(instruction.payload).hash(&mut h);
        for a in module.attributes(at) {
            let name = module.str(a.name);
            if !matches!(name, "metadata" | "control-predecessors" | "backend_config" | "frontend_attributes")
            {
                (name, module.str(a.value)).hash(&mut h);
            }
        }
        for list in [module.operands(at), module.control_predecessors(at)] {
            list.iter().map(|i| done[i]).collect::<Vec<_>>().hash(&mut h);
        }
        done.insert(at, h.finish());
    }
    let mut counts = BTreeMap::new();
    for i in &module.computation(c).instructions {
        *counts.entry(done[i]).or_insert(0) += 1;
    }
    (counts, done[&module.root(c)])
}
