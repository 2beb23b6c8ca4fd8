//! The exact optimum against a search that tries every order.

use packing::optimum::{Item, Limits, Outcome, Problem, ProblemError, Solver, solve};
use proptest::prelude::*;
use std::ops::ControlFlow;

fn solved(problem: &Problem, limits: &Limits) -> Outcome {
    let outcome = solve(problem, limits, &mut |_| ControlFlow::Continue(())).expect("a sound problem");
    assert_eq!(problem.height(&outcome.offsets), Some(outcome.height), "{problem:?}: {outcome:?}");
    assert!(outcome.lower_bound <= outcome.height);
    outcome
}

/// The least height: every item on 0 or on another, in every order.
fn brute_force(problem: &Problem) -> u64 {
    fn overlap(a: &Item, b: &Item) -> bool {
        a.runs.iter().any(|x| b.runs.iter().any(|y| x.start < y.end && y.start < x.end))
    }
    fn place(problem: &Problem, placed: &mut Vec<(usize, u64)>, best: &mut u64) {
        let height = placed.iter().map(|(i, o)| o + problem.items[*i].size).max().unwrap_or(0);
        if height >= *best {
            return;
        }
        if placed.len() == problem.items.len() {
            *best = height;
            return;
        }
        let highest = placed.last().map_or(0, |p| p.1);
        for i in 0..problem.items.len() {
            if placed.iter().any(|p| p.0 == i) {
                continue;
            }
            // By rising offsets: above everything that lives with it and is placed.
            let floor = placed
                .iter()
                .filter(|(j, _)| overlap(&problem.items[i], &problem.items[*j]))
                .map(|(j, o)| (o + problem.items[*j].size).next_multiple_of(problem.alignment))
                .max()
                .unwrap_or(0);
            if floor < highest {
                continue;
            }
            placed.push((i, floor));
            place(problem, placed, best);
            placed.pop();
        }
    }
    let mut best = u64::MAX;
    place(problem, &mut Vec::new(), &mut best);
    best
}

fn item(most_runs: usize) -> impl Strategy<Value = Item> {
    let run = (0_u64..12, 1_u64..8).prop_map(|(start, length)| start..start + length);
    (1_u64..12, prop::collection::vec(run, 1..=most_runs)).prop_map(|(size, runs)| Item { size, runs })
}

fn problem(most: usize) -> impl Strategy<Value = Problem> {
    (prop::collection::vec(item(2), 1..=most), prop_oneof![Just(1_u64), Just(1), Just(4), Just(3)])
        .prop_map(|(items, alignment)| Problem { items, alignment })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn small_problems_are_solved_as_by_brute_force(problem in problem(7)) {
        let outcome = solved(&problem, &Limits::default());
        prop_assert!(outcome.proved());
        prop_assert_eq!(outcome.height, brute_force(&problem));
    }

    #[test]
    fn there_is_a_height_or_a_clash(problem in problem(9), places in prop::collection::vec(0_u64..20, 9)) {
        let offsets: Vec<u64> = places.iter().take(problem.items.len()).map(|p| p * problem.alignment).collect();
        let clashes = problem.clashes(&offsets);
        prop_assert_eq!(problem.height(&offsets).is_none(), !clashes.is_empty(), "{:?}", clashes);
        // Each pair that is named is none by itself, and whatever is not named can be together.
        for i in 0..offsets.len() {
            for j in i + 1..offsets.len() {
                let pair = Problem {
                    items: vec![problem.items[i].clone(), problem.items[j].clone()],
                    alignment: problem.alignment,
                };
                let is_apart = pair.height(&[offsets[i], offsets[j]]).is_some();
                prop_assert_eq!(is_apart, !clashes.contains(&(i, j)));
            }
        }
    }

    #[test]
    fn a_capacity_is_met_or_refused(problem in problem(7), less in 0_u64..4) {
        let least = brute_force(&problem);
        let capacity = least.saturating_sub(less);
        let outcome = solved(&problem, &Limits { capacity: Some(capacity), nodes: None });
        prop_assert_eq!(outcome.fits(capacity), Some(less == 0));
        prop_assert!(outcome.lower_bound <= least);
        if less == 0 {
            prop_assert_eq!(outcome.height, least);
        }
    }

    #[test]
    fn a_limit_of_nodes_gives_the_same_answer_again(problem in problem(24), nodes in 0_u64..200) {
        let limits = Limits { capacity: None, nodes: Some(nodes) };
        let first = solved(&problem, &limits);
        prop_assert!(first.nodes <= nodes);
        prop_assert_eq!(first, solved(&problem, &limits));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn nine_items_are_solved_as_by_brute_force(problem in problem(9)) {
        prop_assert_eq!(solved(&problem, &Limits::default()).height, brute_force(&problem));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn in_the_least_slices_it_comes_to_the_same(problem in problem(40), nodes in 0_u64..3000) {
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let mut solver = Solver::new(&problem, limits.clone()).expect("a sound problem");
        while solver.go_on(&mut |_| ControlFlow::Break(())) {}
        prop_assert_eq!(solver.outcome(), solved(&problem, &limits));
    }
}

#[test]
fn what_is_wrong_is_named() {
    let run = |problem| solve(&problem, &Limits::default(), &mut |_| ControlFlow::Continue(()));
    let items = vec![Item::new(1, 0..1), Item { size: 1, runs: vec![0..1, 3..3] }];
    assert_eq!(run(Problem { items: items.clone(), alignment: 1 }), Err(ProblemError::EmptyRun { item: 1 }));
    assert_eq!(run(Problem { items, alignment: 0 }), Err(ProblemError::ZeroAlignment));
    let items = vec![Item::new(u64::MAX, 0..1)];
    assert_eq!(run(Problem { items, alignment: 64 }), Err(ProblemError::TooLarge { item: 0 }));
    assert_eq!(run(Problem::default()), Ok(Outcome::default()));
}

#[test]
fn the_caller_may_break_off_at_once() {
    let items = (0..40).map(|i| Item::new(7 + i * i % 11, i..i + 9)).collect();
    let problem = Problem { items, alignment: 1 };
    let outcome = solve(&problem, &Limits::default(), &mut |_| ControlFlow::Break(())).expect("sound");
    assert_eq!(problem.height(&outcome.offsets), Some(outcome.height));
    assert_eq!(outcome.nodes, 0);
}

/// The packings to begin with of a large problem end with the time, too; one is there in any case.
#[test]
fn a_large_problem_stops_when_it_is_told_to() {
    let items = (0..20_000_u64).map(|i| Item::new(64 + i * 7919 % 1000, i..i + 50)).collect();
    let problem = Problem { items, alignment: 1 };
    let mut asked = 0;
    let outcome = solve(&problem, &Limits::default(), &mut |_| {
        asked += 1;
        ControlFlow::Break(())
    })
    .expect("a sound problem");
    assert_eq!(problem.height(&outcome.offsets), Some(outcome.height));
    assert!(outcome.lower_bound <= outcome.height);
    // Once for each packer that looks for gaps, and no more but for the search.
    assert!((1..=5).contains(&asked), "{asked}");
    let patient =
        solve(&problem, &Limits { nodes: Some(0), ..Limits::default() }, &mut |_| ControlFlow::Continue(()))
            .expect("a sound problem");
    assert!(patient.height <= outcome.height);
}
