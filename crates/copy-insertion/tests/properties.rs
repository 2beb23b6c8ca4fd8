//! What holds for every module.

mod common;

use assigner::Options as AssignOptions;
use common::{analysis_of, cases, module, run};
use copy_insertion::{Fate, Options, Rule, Stage, fuzzing};
use hlo::{Module, Opcode};
use proptest::prelude::*;

fn copies_in(module: &Module) -> usize {
    module
        .computation_ids()
        .flat_map(|c| module.computation(c).instructions.clone())
        .filter(|i| module.instruction(*i).opcode == Opcode::Copy)
        .count()
}

/// The result, in the order in which it is printed, can be assigned, and no value is lost when it runs.
#[test]
fn no_value_is_lost() {
    for folder in ["plain", "regions"] {
        for case in cases(folder) {
            let before = module(&case, "before");
            let options = Options {
                region_analysis: analysis_of(folder),
                stop_after: Stage::After,
                ..Options::default()
            };
            let outcome = run(&case, &before, true, options);
            let module = hlo::read_owned(hlo::print(&outcome.module)).complete().expect("a module");
            let target = analysis::Target::new(analysis::Backend::Cpu);
            let facts = analysis::Facts::new(&module, outcome.orders, target).expect("facts");
            let (made, _) = assigner::assign(&module, &facts, &facts.ranges, &AssignOptions::default());
            let text = dumps::buffer_assignment(&module, &facts, &made);
            let plan = checker::Plan::parse(&text).expect("an assignment");
            let verdict = checker::check(&module, &plan, &checker::Options::new(checker::Backend::Cpu));
            match verdict {
                Ok(checker::Verdict::Wrong(v)) => panic!("{}: {v}", case.display()),
                Ok(_) => {}
                Err(e) => panic!("{}: {e}", case.display()),
            }
        }
    }
}

/// A second run adds nothing.
#[test]
fn a_second_run_leaves_no_more_copies() {
    for case in cases("plain") {
        let before = module(&case, "before");
        let first = run(&case, &before, true, Options::default());
        let target = analysis::Target::new(analysis::Backend::Cpu);
        let second = copy_insertion::insert_copies(&first.module, &first.orders, &target, Options::default())
            .expect("what the pass gives, it takes");
        let counts = [copies_in(&first.module), copies_in(&second.module)];
        assert!(counts[1] <= counts[0], "{}: {counts:?}", case.display());
    }
}

/// The stories and the module agree on which copies there are.
#[test]
fn stories_are_complete() {
    for folder in ["plain", "regions"] {
        for case in cases(folder) {
            let before = module(&case, "before");
            let options = Options {
                region_analysis: analysis_of(folder),
                stop_after: Stage::After,
                ..Options::default()
            };
            let outcome = run(&case, &before, true, options);
            let module = &outcome.module;
            let is_fused = |c| {
                let calls = |i: &hlo::InstructionId| module.called(*i).contains(&c);
                module.instruction_ids().any(|i| calls(&i) && module.instruction(i).opcode == Opcode::Fusion)
            };
            let mut standing: Vec<_> = module
                .computation_ids()
                .filter(|c| !is_fused(*c))
                .flat_map(|c| module.computation(c).instructions.clone())
                .filter(|i| module.instruction(*i).opcode == Opcode::Copy)
                .collect();
            let mut told: Vec<_> = outcome
                .copies
                .iter()
                .filter(|s| s.fate == Fate::Stayed)
                .filter_map(|s| s.stands_as)
                .collect();
            standing.sort_unstable();
            told.sort_unstable();
            assert_eq!(told, standing, "{}", case.display());
            for s in outcome.copies.iter().filter(|s| s.fate == Fate::Stayed) {
                let special = matches!(
                    s.rule,
                    Rule::ReadOnly { .. }
                        | Rule::NotInPlace { .. }
                        | Rule::SeveralBuffers { .. }
                        | Rule::RepeatedOutput { .. }
                        | Rule::ReadOnlyOutput { .. }
                );
                assert_eq!(s.refusal.is_none(), special, "{}: {s:?}", case.display());
            }
        }
    }
}

#[test]
fn a_second_time_gives_the_same() {
    for case in cases("regions").into_iter().take(12) {
        let before = module(&case, "before");
        let options = Options {
            region_analysis: analysis_of("regions"),
            stop_after: Stage::After,
            ..Options::default()
        };
        let [a, b] = [run(&case, &before, true, options), run(&case, &before, true, options)];
        assert_eq!(hlo::print(&a.module), hlo::print(&b.module));
        assert_eq!(a.copies, b.copies);
    }
}

proptest! {
    /// Damaged modules: lines dropped and bytes changed.
    #[test]
    fn nothing_takes_it_down(which in 0usize..200, dropped in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
                             bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3)) {
        let all = [cases("plain"), cases("regions")].concat();
        let small: Vec<_> = all.iter().filter(|c| c.file_name().is_some_and(|n| n.to_string_lossy().contains('_'))).collect();
        let case = small[which % small.len()];
        let text = String::from_utf8(common::unpack(&case.join("before.txt.gz"))).expect("UTF-8");
        if text.len() > 40_000 {
            return Ok(());
        }
        let mut lines: Vec<&str> = text.lines().collect();
        for d in dropped {
            lines.remove(d.index(lines.len()));
        }
        let mut damaged = lines.join("\n").into_bytes();
        for (at, byte) in bytes {
            let n = damaged.len();
            damaged[at.index(n)] = byte;
        }
        fuzzing::copies_of_anything(&damaged);
    }
}
