//! Every module of the golden corpus, with XLA's assignment and with ours.

mod common;

use analysis::{Backend, Facts, Orders, Target};
use assigner::{Options, Preset};
use checker::Verdict;
use common::{Case, words};
use std::io::Read;
use std::path::{Path, PathBuf};

fn bytes(path: &Path) -> Vec<u8> {
    let packed = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut out).expect("a gzip file");
    out
}

fn folders(target: &str) -> Vec<PathBuf> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dumps/tests/golden").join(target);
    let mut out: Vec<PathBuf> =
        std::fs::read_dir(golden).expect("the golden corpus").map(|e| e.expect("an entry").path()).collect();
    out.sort();
    out
}

fn read(folder: &Path) -> (Case, Facts) {
    let text = |name| String::from_utf8(bytes(&folder.join(name))).expect("UTF-8");
    let module = hlo::read_owned(text("module.txt.gz")).module.expect("a module");
    let stored = hlo::read_proto_orders(&bytes(&folder.join("module.hlo.pb.gz"))).expect("a proto");
    let target = Target::detect(&module);
    let orders = Orders::exact(&module, &target, &stored).expect("its orders");
    let facts = Facts::new(&module, orders, target).expect("facts");
    let dump = text("buffer-assignment.txt.gz");
    (Case { name: folder.display().to_string(), module, dump }, facts)
}

/// What memory space assignment placed on TPU.
fn presets(case: &Case, facts: &Facts) -> Vec<Preset> {
    if facts.target.backend != Backend::Tpu {
        return Vec::new();
    }
    dumps::presets(&case.module, facts, &case.dump).expect("values of the module").0
}

fn check(target: &str, at_least: usize, needs_no_copies: bool) {
    let folders = folders(target);
    assert!(folders.len() >= at_least, "{} cases of {target}, expected {at_least}", folders.len());
    let mut wrong = Vec::new();
    for folder in folders {
        let (case, facts) = read(&folder);
        let options = Options { presets: presets(&case, &facts), ..Options::default() };
        let (ours, _) = assigner::assign(&case.module, &facts, &facts.ranges, &options);
        let ours = dumps::buffer_assignment(&case.module, &facts, &ours);
        let name = case.name.clone();
        for case in [Case { dump: ours, ..case.clone() }, case] {
            let report = case.report(&case.plan(), &facts);
            if !matches!(report.verdict, Verdict::Right(_)) || needs_no_copies && !report.forced.is_empty() {
                wrong.push(format!("{name}: {} {:?}", words(&report.verdict), report.forced.first()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn cpu() {
    check("cpu", 52, true);
}

#[test]
fn gpu() {
    check("gpu", 49, true);
    check("gpu_collective", 5, true);
}

#[test]
fn tpu() {
    check("tpu", 49, true);
}

/// These never went through copy insertion.
#[test]
fn random() {
    check("random", 50, false);
}
