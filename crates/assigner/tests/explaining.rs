//! What is said of two values agrees with where they stand and when they are wanted.

use analysis::sharing::{Interference, interference};
use analysis::{Facts, Orders, Target, ValueId};
use assigner::explain::{Explanation, Reason, explain};
use assigner::{Assignment, Decisions, Options};
use hlo::Module;
use std::collections::BTreeMap;
use std::path::Path;

struct Case {
    module: Module,
    facts: Facts,
    assignment: Assignment,
    decisions: Decisions,
}

impl Case {
    fn new(text: &str) -> Self {
        let module = hlo::read(text).module.expect("a module");
        let target = Target::detect(&module);
        let orders = Orders::guess(&module, &target);
        let facts = Facts::new(&module, orders, target).expect("facts");
        let (assignment, decisions) = assigner::assign(&module, &facts, &facts.ranges, &Options::default());
        Self { module, facts, assignment, decisions }
    }

    fn explain(&self, a: ValueId, b: ValueId) -> Explanation {
        explain(&self.module, &self.facts, &self.facts.ranges, (&self.assignment, &self.decisions), [a, b])
    }

    fn find(&self, name: &str) -> ValueId {
        let mut all = self.facts.values();
        all.find(|v| self.facts.label(&self.module, v.id) == name).unwrap_or_else(|| panic!("{name}")).id
    }

    fn say(&self, a: &str, b: &str) -> String {
        let e = self.explain(self.find(a), self.find(b));
        assigner::words::explanation(&self.module, &self.facts, &e)
    }
}

fn modules() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/modules");
    let mut out: Vec<(String, String)> = std::fs::read_dir(directory)
        .expect("a directory")
        .map(|e| e.expect("an entry").path())
        // What was placed before stands beside some modules, and dump folders in archives; they are none.
        .filter(|p| {
            let name = p.to_string_lossy();
            name.ends_with(".txt") && !name.ends_with(".presets.txt")
        })
        .map(|p| (p.display().to_string(), std::fs::read_to_string(&p).expect("a module")))
        .collect();
    out.sort();
    out
}

/// Checks every pair of values, of large modules a sample; gives how often each reason came up.
fn check_pairs(modules: &[(String, String)]) -> BTreeMap<&'static str, u32> {
    let mut seen = BTreeMap::new();
    for (name, text) in modules {
        let case = Case::new(text);
        let facts = &case.facts;
        let values: Vec<ValueId> = facts.values().map(|v| v.id).collect();
        // The large modules by sample.
        let stride = values.len() / 150 + 1;
        for a in values.iter().step_by(stride) {
            for b in values.iter().step_by(stride) {
                let e = case.explain(*a, *b);
                let said = || {
                    format!(
                        "{name}: {} and {}: {e:?}",
                        facts.label(&case.module, *a),
                        facts.label(&case.module, *b)
                    )
                };
                *seen.entry(e.reason.name()).or_default() += 1;
                let direct = interference(&case.module, facts, &facts.ranges, *a, *b);
                match &e.reason {
                    Reason::Same => assert_eq!(a, b, "{}", said()),
                    Reason::MustAlias(links) => {
                        let same = facts.value(*a).buffer == facts.value(*b).buffer;
                        assert!(same && !links.is_empty(), "{}", said());
                        let mut at = *a;
                        for l in links {
                            assert!(at == l.from || at == l.to, "{}", said());
                            at = if at == l.from { l.to } else { l.from };
                        }
                        assert_eq!(at, *b, "{}", said());
                    }
                    Reason::Disjoint { .. } => assert!(e.common_bytes > 0 && direct.is_none(), "{}", said()),
                    // The heap asks of the place that defines a value, the assigner of the one where it stands last.
                    Reason::WrittenOver { .. } => {
                        let is_touch = matches!(direct, None | Some(Interference::Touch { .. }));
                        assert!(e.common_bytes > 0 && is_touch, "{}", said());
                    }
                    Reason::Interference { why, .. } => {
                        assert_eq!(direct, Some(*why), "{}", said());
                        assert_eq!(e.common_bytes, 0, "{}", said());
                    }
                    _ => assert!(e.common_bytes == 0, "{}", said()),
                }
                let text = assigner::words::explanation(&case.module, facts, &e);
                assert!(text.ends_with('.') && !text.contains(". ."), "{text}");
            }
        }
    }
    seen
}

#[test]
fn reasons_agree_with_places_and_ranges() {
    let seen = check_pairs(&modules());
    for name in
        ["must-alias", "disjoint", "written-over", "overlap", "touch", "category", "best-fit", "no-memory"]
    {
        assert!(seen.contains_key(name), "{name} is in no module: {seen:?}");
    }
}

/// The same for a directory of dumps elsewhere: `BUFFERSCOPE_CORPUS=DIR cargo test -p bufferscope-assigner -- --ignored`.
#[test]
#[ignore = "needs a directory of dumps"]
fn a_whole_corpus() {
    let directory = std::env::var_os("BUFFERSCOPE_CORPUS").expect("BUFFERSCOPE_CORPUS names a directory");
    let mut modules = Vec::new();
    let mut stack = vec![std::path::PathBuf::from(directory)];
    while let Some(at) = stack.pop() {
        for entry in std::fs::read_dir(&at).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                stack.push(path);
            } else if path.file_name().is_some_and(|n| n == "module.txt") {
                modules.push((path.display().to_string(), std::fs::read_to_string(&path).expect("a module")));
            }
        }
    }
    assert!(!modules.is_empty());
    println!("{:?}", check_pairs(&modules));
}

/// What makes a value wanted at the same time is an interference whichever way one asks.
#[test]
fn overlaps_are_told_both_ways() {
    let case = Case::new(TOUCHING);
    let [a, b] = ["p", "late"].map(|n| case.find(n));
    for e in [case.explain(a, b), case.explain(b, a)] {
        assert!(matches!(
            e.reason,
            Reason::Category { .. } | Reason::Interference { why: Interference::Overlap(_), .. }
        ));
    }
}

const TOUCHING: &str = "\
HloModule touching, is_scheduled=true

ENTRY main {
  p = f32[64]{0} parameter(0)
  early = f32[64]{0} negate(p)
  sum = f32[64]{0} add(early, p)
  turned = f32[64]{0} reverse(sum), dimensions={0}
  small = f32[8]{0} slice(turned), slice={[0:8]}
  late = f32[8]{0} exponential(small)
  ROOT out = (f32[64]{0}, f32[8]{0}) tuple(turned, late)
}
";

#[test]
fn sentences() {
    let case = Case::new(TOUCHING);
    assert_eq!(
        case.say("early", "sum"),
        "early and sum do not share. They could, but sum was refused the allocation of early: sum is wanted until step 3, the very step that writes turned; closed ranges that touch do overlap, and a reverse does not work element by element on sum, so it cannot work in place."
    );
    assert_eq!(
        case.say("small", "late"),
        "small and late share 32 B. small is read for the last time at step 5, by the very instruction that writes late, and an exponential works element by element."
    );
    assert_eq!(
        case.say("p", "early"),
        "p and early do not share. p is in a parameter that was not donated, over which nothing may be written."
    );
    assert_eq!(
        case.say("sum", "turned"),
        "sum and turned do not share. sum is wanted until step 3, the very step that writes turned; closed ranges that touch do overlap, and a reverse does not work element by element on sum, so it cannot work in place. turned reads sum last."
    );
    assert_eq!(case.say("late", "late"), "late is one value: both names mean it.");
}
