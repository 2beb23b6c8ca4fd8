use super::goal::{Condition, Measure, Start, check, see};
use super::*;
use crate::chapters::text_of;
use crate::engine::{Opened, open};
use crate::modules;
use crate::state::Source;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// The module of a state, if the page has it.
fn module(state: &State) -> Option<Opened> {
    let text = match &state.source {
        Source::Shipped(id) => {
            modules::shipped(id)?;
            text_of(id)
        }
        Source::Own(text) => text.clone(),
    };
    open(&text).ok()
}

fn start_of(state: &State) -> Start {
    let base = module(state).expect("it opens");
    see(&base, state, Start::of).expect("its moves can be made")
}

#[test]
fn every_lesson_reads_and_every_state_opens() {
    for (id, text) in SHIPPED {
        let lesson = read(text).unwrap_or_else(|fault| panic!("assets/lessons/{id}.txt: {fault}"));
        assert!(lesson.title.len() > 4 && lesson.about.len() > 20, "{id}");
        assert!((5..=12).contains(&lesson.steps.len()), "{id} has {} steps", lesson.steps.len());
        assert_eq!(read(&write(&lesson)), Ok(lesson.clone()), "{id} reads back");
        for step in &lesson.steps {
            assert!(!step.title.is_empty() && !step.says.is_empty(), "{id}: {step:?}");
            let with = match &step.task {
                Task::Predict { with, .. } => with.as_ref(),
                _ => None,
            };
            for state in step.state.iter().chain(with).chain(&step.solution) {
                let base = module(state).unwrap_or_else(|| panic!("{id}, {}: no such module", step.title));
                assert!(see(&base, state, |_| ()).is_some(), "{id}, {}: a move cannot be made", step.title);
                for edit in &state.edits {
                    assert!(
                        base.original.picture.item(edit.value).is_some(),
                        "{id}, {}: {edit:?}",
                        step.title
                    );
                }
            }
        }
        let asks = |s: &&Step| !matches!(s.task, Task::Nothing | Task::Ask { .. });
        assert!(
            lesson.steps.iter().filter(asks).count() * 3 >= lesson.steps.len() * 2,
            "{id}: most steps ask something"
        );
    }
}

#[test]
fn every_goal_is_open_at_first_and_can_be_reached() {
    let mut goals = 0;
    for (id, _) in SHIPPED {
        for step in shipped(id).expect("it reads").steps {
            let Task::Reach { conditions, .. } = &step.task else { continue };
            goals += 1;
            let first = step.state.as_ref().expect("a goal has a state");
            let start = start_of(first);
            let at = |state: &State| {
                let base = module(state).expect("it opens");
                see(&base, state, |seen| check(conditions, &start, seen)).expect("its moves can be made")
            };
            let (reached, words) = at(first);
            assert!(!reached, "{id}, {}: reached before anything is done: {words}", step.title);
            assert!(words.len() > 10, "{id}, {}: says how things stand", step.title);
            let solution =
                step.solution.as_ref().unwrap_or_else(|| panic!("{id}, {}: no solution", step.title));
            let (reached, words) = at(solution);
            assert!(reached, "{id}, {}: the solution does not reach it: {words}", step.title);
        }
    }
    assert!(goals >= 5, "{goals}");
}

#[test]
fn every_prediction_is_answered_by_the_engine() {
    let mut answers = std::collections::BTreeSet::new();
    for (id, _) in SHIPPED {
        for step in shipped(id).expect("it reads").steps {
            let Task::Predict { judge, with, .. } = &step.task else { continue };
            let first = step.state.as_ref().expect("a question has a state");
            let start = start_of(first);
            let then = with.as_ref().unwrap_or(first);
            let base = module(then).expect("it opens");
            let answer = see(&base, then, |seen| judge.answer(&start, seen)).flatten();
            let (answer, words) = answer.unwrap_or_else(|| panic!("{id}, {}: no answer", step.title));
            assert!(answer < judge.options().len() && words.ends_with('.'), "{id}, {}: {words}", step.title);
            answers.insert((judge.options()[0], answer));
        }
    }
    assert!(answers.len() >= 3, "not always the same answer: {answers:?}");
}

#[test]
fn faults_say_where_they_are() {
    let at = |text: &str| {
        let fault = read(text).expect_err("it is wrong");
        (fault.line, fault.column, fault.to_string())
    };
    let head = "bufferscope lesson 1\n";
    for (text, line, column, part) in [
        (String::new(), 1, 1, "nothing; expected `bufferscope lesson 1`"),
        ("bufferscope lesson 9\n".to_owned(), 1, 1, "`bufferscope lesson 9`"),
        (format!("{head}title: A\n"), 2, 1, "expected a step"),
        (format!("{head}title: A\nsay: x\n"), 3, 1, "`say`; expected title, about or step"),
        (format!("{head}\n# a remark\nstep: A\nshow:   nowhere\n"), 5, 9, "`nowhere`; expected a figure"),
        (format!("{head}step: A\nshow: drag m=mlp_grad;what\n"), 3, 7, "expected a state"),
        (
            format!("{head}step: A\nshow: drag m=mlp_grad\ngoal: x\nreach: heap < 3\n"),
            5,
            8,
            "`heap < 3`; expected `share A B`",
        ),
        (
            format!("{head}step: A\nshow: drag m=mlp_grad\nreach: heap <= 3\n"),
            4,
            1,
            "expected `goal` before it",
        ),
        (format!("{head}step: A\nshow: drag m=mlp_grad\ngoal: x\n"), 2, 7, "expected `reach` in it"),
        (
            format!("{head}step: A\nshow: drag\ngoal: x\nreach: heap <= 3\n"),
            2,
            7,
            "expected the figure's state",
        ),
        (
            format!("{head}step: A\nshow: copies m=mlp_grad\ngoal: x\nreach: heap <= 3\n"),
            2,
            7,
            "a figure that shows an assignment",
        ),
        (format!("{head}step: A\nshow: drag m=mlp_grad\npredict: x\njudge: heap\n"), 2, 7, "expected `with`"),
        (
            format!("{head}step: A\nshow: drag\nask: x\nchoice: a\npuzzle: grow\n"),
            6,
            1,
            "expected one thing to do",
        ),
        (
            format!("{head}step: A\nshow: drag\nask: x\nright: a\nright: b\n"),
            6,
            1,
            "expected one right choice",
        ),
        (format!("{head}step: A\nshow: drag\nask: x\nchoice: a\n"), 2, 7, "expected two choices or more"),
        (format!("{head}step: A\nsay: x\n"), 2, 7, "expected `show` in it"),
        (format!("{head}step: A\nshow: drag\nwhat\n"), 4, 1, "`what`; expected a field"),
        (format!("{head}  set in\n"), 2, 3, "a line that is set in"),
        (format!("{head}step: A\nshow: drag\nsolve: x\n"), 4, 1, "`solve`; expected one of title"),
    ] {
        let (l, c, words) = at(&text);
        assert_eq!((l, c), (line, column), "{text:?}: {words}");
        assert!(words.contains(part), "{text:?}: {words}");
    }
}

#[test]
fn lines_that_are_set_in_go_on() {
    let text = "bufferscope lesson 1\r\ntitle: Two\r\n  lines\r\nstep: A\r\nshow: drag\r\nsay: one\r\n\ttwo: three\r\n";
    let lesson = read(text).expect("it reads");
    assert_eq!((lesson.title.as_str(), lesson.steps[0].says[0].as_str()), ("Two lines", "one two: three"));
}

#[test]
fn conditions_are_read_as_they_are_written() {
    for text in [
        "share a b",
        "apart a{0} b.1",
        "heap <= 24 KiB",
        "total >= 1,024 B",
        "heap saves 1 KiB",
        "total grows 3",
        "selected x",
        "changes <= 1",
        "same instructions",
    ] {
        let condition = Condition::read(text).expect(text);
        assert_eq!(Condition::read(&condition.to_string()), Some(condition));
    }
    assert_eq!(Condition::read("heap <= 24 KiB"), Some(Condition::AtMost(Measure::Heap, 24 << 10)));
    for text in [
        "",
        "share a",
        "heap",
        "heap <=",
        "heap <= x",
        "heap <= 1 KB",
        "heap <= 99999999999999 GiB",
        "changes <= -1",
        "peak <= 3",
    ] {
        assert_eq!(Condition::read(text), None, "{text}");
    }
    let fault = conditions("share a b\n  heap < 3\n").expect_err("it is wrong");
    assert_eq!((fault.line, fault.column), (2, 3));
}

#[test]
fn another_program_reaches_nothing() {
    let state = |id: &str| State::new(Source::Shipped(id.to_owned()));
    let start = start_of(&state("varied_temp_sizes"));
    let other = state("donation_swap");
    let base = module(&other).expect("it opens");
    let conditions = conditions("heap saves 1 KiB").expect("it reads");
    let (reached, words) = see(&base, &other, |seen| check(&conditions, &start, seen)).expect("it opens");
    assert!(!reached && words.contains("Another program"), "{words}");
}

#[test]
fn links_lead_to_a_figure_and_its_state() {
    let of = |link: &str| linked(link).map(|(figure, state)| (figure, state.map(|s| s.encode())));
    let drag = |state: Option<&str>| Some(("drag".to_owned(), state.map(str::to_owned)));
    assert_eq!(of("https://x.example/a/#drag"), drag(None));
    assert_eq!(of(" #v2/drag/drag=m=mlp_grad;e=57.22.31 "), drag(Some("m=mlp_grad;e=57.22.31")));
    assert_eq!(
        of("#v2/live-ranges/clock=m=mlp_grad&drag=m=mlp_grad"),
        Some(("clock".to_owned(), Some("m=mlp_grad".to_owned())))
    );
    assert_eq!(of("#v1;m=mlp_grad;e=57.22.31"), drag(Some("m=mlp_grad;e=57.22.31")));
    for wrong in ["", "drag", "#live-ranges", "#v2/drag/drag=broken", "#v9/x", "#lesson"] {
        assert_eq!(of(wrong), None, "{wrong}");
    }
}

#[test]
fn places_are_written_as_they_are_read() {
    for text in ["new.1", "memory.12", "~abc-_.3", "~.2"] {
        assert_eq!(Place::decode(text).expect(text).encode(), text);
    }
    for text in ["", "new", "new.0", "new.x", "new.-1"] {
        assert_eq!(Place::decode(text), None, "{text}");
    }
    let lesson = shipped("new").expect("it reads");
    let hash = Place { which: Which::Shipped("new".to_owned()), step: 1 }.to_hash(&lesson);
    let address = Address::parse(&hash).expect("ours");
    assert_eq!(
        (address.anchor.as_str(), address.state_of("lesson")),
        (lesson.steps[1].figure.as_str(), Some("new.2"))
    );
}

#[test]
fn a_link_that_is_damaged_or_swells_is_refused() {
    let lesson = shipped("new").expect("it reads");
    let link = packed(&lesson);
    assert_eq!(unpacked(&link), Ok(lesson));
    assert!(unpacked(&link[..link.len() / 2]).is_err());
    assert!(unpacked("!!").is_err());
    assert!(unpacked(&crate::state::pack(&"a".repeat(LONGEST as usize + 1))).is_err());
    let many = format!("{HEAD}\n{}", "step: A\nshow: drag\n".repeat(MOST_STEPS + 1));
    let fault = read(&many).expect_err("too many");
    assert_eq!(fault.expected, "at most 100 steps");
}

fn words() -> impl Strategy<Value = String> {
    "[!-~äß中文🙂]{1,8}( [!-~äß中文🙂]{1,8}){0,6}"
}

fn states() -> impl Strategy<Value = State> {
    "(?s).{0,40}".prop_map(|text| State::new(Source::Own(text)))
}

fn tasks() -> impl Strategy<Value = Task> {
    let condition = prop_oneof![
        Just(Condition::SameInstructions),
        any::<u32>().prop_map(Condition::Changes),
        any::<u64>().prop_map(|n| Condition::AtMost(Measure::Heap, n)),
        "[!-~]{1,9}".prop_map(|a| Condition::Share(a.clone(), a)),
    ];
    prop_oneof![
        Just(Task::Nothing),
        "[a-z-]{1,9}".prop_map(Task::Puzzle),
        "[a-z-]{1,9}".prop_map(Task::Question),
        (words(), option::of(states())).prop_map(|(question, with)| Task::Predict {
            question,
            judge: Judge::Meet("a.1".to_owned(), "b{0}".to_owned()),
            with
        }),
        (words(), vec(words(), 2..5), option::of(0..2_usize))
            .prop_map(|(question, choices, answer)| Task::Ask { question, choices, answer }),
        (words(), vec(condition, 1..4)).prop_map(|(goal, conditions)| Task::Reach { goal, conditions }),
    ]
}

prop_compose! {
    fn steps()(
        title in words(),
        state in states(),
        says in vec(words(), 0..3),
        task in tasks(),
        hint in prop_oneof![Just(String::new()), words()],
        solution in option::of(states()),
    ) -> Step {
        Step { title, figure: "drag".to_owned(), state: Some(state), says, task, hint, solution }
    }
}

proptest! {
    #[test]
    fn every_lesson_reads_back(title in words(), about in words(), steps in vec(steps(), 1..4)) {
        // A lone hyphen is how nothing is written.
        let hyphen = |s: &Step| s.title == NOTHING
            || matches!(&s.task, Task::Ask { question, .. } | Task::Predict { question, .. } if question == NOTHING)
            || matches!(&s.task, Task::Reach { goal, .. } if goal == NOTHING);
        prop_assume!(!steps.iter().any(hyphen));
        let lesson = Lesson { title, about, steps };
        prop_assert_eq!(unpacked(&packed(&lesson)), Ok(lesson));
    }

    #[test]
    fn nothing_makes_it_panic(text in "(?s).{0,200}", key in "[a-z]{0,8}", value in "(?s).{0,40}") {
        _ = read(&text);
        _ = read(&format!("{HEAD}\n{text}"));
        _ = read(&format!("{HEAD}\nstep: A\n{key}: {value}"));
        _ = unpacked(&text);
        _ = Place::decode(&text);
        _ = linked(&text);
        _ = conditions(&text);
    }
}
