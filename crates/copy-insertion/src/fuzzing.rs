//! Bodies of fuzz targets, here so that tests run them too.

use crate::{Options, RegionAnalysis, Stage, guess_orders, insert_copies, needless, retrace, suggest, words};
use analysis::Target;

/// Whatever the bytes are, the pass ends; what it gives reads back as a module, and can be explained.
///
/// # Panics
///
/// When that is not so.
pub fn copies_of_anything(bytes: &[u8]) {
    let read = hlo::read_bytes(bytes);
    if read.has_errors() {
        return;
    }
    let Some(module) = read.module else { return };
    let target = Target::detect(&module);
    let orders = guess_orders(&module, &target);
    for region_analysis in [RegionAnalysis::Never, RegionAnalysis::Always] {
        for stop_after in [Stage::Added, Stage::Removed, Stage::Special, Stage::After] {
            let options = Options { region_analysis, stop_after, ..Options::default() };
            let outcome = match insert_copies(&module, &orders, &target, options) {
                Ok(outcome) => outcome,
                Err(e) => {
                    assert!(!e.describe(&module).is_empty());
                    return;
                }
            };
            let printed = hlo::print(&outcome.module);
            let again = hlo::read(&printed);
            let errors: Vec<_> = again.diagnostics.iter().map(ToString::to_string).collect();
            assert!(!again.has_errors(), "{errors:?}\n{printed}");
            for story in &outcome.copies {
                assert!(!words::story(&outcome.history, story).is_empty());
            }
            if stop_after == Stage::After {
                let told = retrace(&module, &orders, &target, options).expect("it ran before");
                assert!(needless(&told.outcome).len() <= needless(&outcome).len());
                for s in suggest(&module, &orders, &target, options, &outcome).iter().flatten() {
                    assert!(s.bytes[1] < s.bytes[0]);
                    assert!(!words::suggestion(&module, s).is_empty());
                }
            }
        }
    }
}
