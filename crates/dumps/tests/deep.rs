//! What is nested deep costs what it is long: paths are not written out for each level.

use analysis::{Facts, Orders, Target};
use std::fmt::Write as _;

/// A chain of calls, each in the body of the one before it.
fn calls(depth: u32) -> String {
    let mut text = String::from("HloModule deep, is_scheduled=true\n");
    for i in (0..depth).rev() {
        let inner = match i + 1 {
            next if next == depth => "negate(p)".to_owned(),
            next => format!("call(p), to_apply=level_{next}"),
        };
        let head = if i == 0 { "\nENTRY main".to_owned() } else { format!("\nlevel_{i}") };
        _ = write!(
            text,
            "{head} {{\n  p = f32[256]{{0}} parameter(0)\n  ROOT c{i} = f32[256]{{0}} {inner}\n}}\n"
        );
    }
    text
}

#[test]
fn the_breakdown_of_deep_calls() {
    // Paths that are written out would take 10 GB.
    let depth = 20_000;
    let module = hlo::read(&calls(depth)).complete().unwrap_or_else(|d| panic!("{d:?}"));
    let target = Target::detect(&module);
    let facts = Facts::new(&module, Orders::guess(&module, &target), target).expect("facts");
    let peak = dumps::peak(&module, &facts);
    let tree = dumps::breakdown(&module, &facts, &peak.values);
    // The argument and the result; the latter is one level of computations and one of calls deeper each time.
    assert_eq!(tree.iter().map(|n| n.current).sum::<u64>(), peak.total);
    assert_eq!(tree.iter().map(|n| n.depth).max(), Some(2 * depth - 1));
    let few = dumps::largest(&tree, 30);
    assert_eq!(few.len(), 30);
    assert_eq!(few.iter().map(|n| n.depth).collect::<Vec<_>>(), (0..30).collect::<Vec<_>>());
    // The text of the whole grows with the square of the depth, and is cut.
    let text = dumps::breakdown_text(&tree, peak.total);
    assert!(text.len() < 70 << 20, "{}", text.len());
    assert!(text.ends_with("more lines are left out)\n"), "{}", &text[text.len() - 100..]);
}

/// What is left out hangs from what stays, and the last below each parent is drawn as the last.
#[test]
fn the_largest_lines_are_a_tree() {
    let line = |depth: u32, name: &str, total: u64, is_last: bool| dumps::BreakdownNode {
        depth,
        name: name.to_owned(),
        current: 0,
        total,
        remaining: 0,
        is_last,
    };
    let tree = [
        line(0, "main", 100, true),
        line(1, "a", 60, false),
        line(2, "a1", 50, false),
        line(2, "a2", 10, true),
        line(1, "b", 30, false),
        line(2, "b1", 30, true),
        line(1, "c", 10, true),
    ];
    let few: Vec<(String, bool)> =
        dumps::largest(&tree, 5).into_iter().map(|n| (n.name, n.is_last)).collect();
    let expected = [("main", true), ("a", false), ("a1", true), ("b", true), ("b1", true)];
    assert_eq!(few, expected.map(|(name, is_last)| (name.to_owned(), is_last)));
    assert_eq!(dumps::largest(&tree, 9), tree);
    assert_eq!(dumps::largest(&tree, 0), []);
}
