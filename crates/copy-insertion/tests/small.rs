//! The smallest modules for each rule, and what is told of their copies: the rule, what is copied, and what became of it.

mod common;

use analysis::{Backend, Orders, Target};
use copy_insertion::{
    AttemptOutcome, CopyStory, Error, Fate, Options, Outcome, RegionAnalysis, Stage, insert_copies, suggest,
    words,
};
use hlo::Module;

fn parse(text: &str) -> (Module, Orders, Target) {
    let read = hlo::read(text);
    assert!(!read.has_errors(), "{:?}", read.diagnostics);
    let module = read.module.expect("a module");
    let target = Target::new(Backend::Cpu);
    let orders = copy_insertion::guess_orders(&module, &target);
    (module, orders, target)
}

fn outcome(text: &str, region_analysis: RegionAnalysis) -> Outcome {
    let (module, orders, target) = parse(text);
    let options = Options { region_analysis, stop_after: Stage::After, ..Options::default() };
    insert_copies(&module, &orders, &target, options).expect("copies")
}

fn line(o: &Outcome, s: &CopyStory) -> String {
    let fate = match (s.fate, s.attempts.last().map(|a| &a.outcome), &s.refusal) {
        (Fate::Dead, ..) => "unread".to_owned(),
        (Fate::Removed, Some(AttemptOutcome::SameBuffer), _) => "removed, same buffer".to_owned(),
        (Fate::Removed, Some(AttemptOutcome::AfterSource), _) => "removed, after source".to_owned(),
        (Fate::Removed, ..) => "removed, before copy".to_owned(),
        (Fate::Stayed, _, Some(r)) => format!("stays: {}", words::refusal(&o.history, r)),
        (Fate::Stayed, _, None) => "stays".to_owned(),
    };
    format!("{} {}: {fate}", s.rule.name(), s.of.label(&o.history))
}

fn told(text: &str, region_analysis: RegionAnalysis) -> String {
    let o = outcome(text, region_analysis);
    o.copies.iter().map(|s| line(&o, s) + "\n").collect()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(told(text, RegionAnalysis::Never).trim(), expected.trim());
}

/// For the copy of that rule: all that is advised.
fn advice(text: &str, rule: &str) -> Vec<String> {
    let (module, orders, target) = parse(text);
    let options = Options::default();
    let o = insert_copies(&module, &orders, &target, options).expect("copies");
    let all = suggest(&module, &orders, &target, options, &o);
    let of = |(s, list): (&CopyStory, &Vec<copy_insertion::Suggestion>)| {
        let list: Vec<String> = list.iter().map(|x| words::suggestion(&module, x)).collect();
        (s.rule.name() == rule && s.fate == Fate::Stayed).then_some(list)
    };
    o.copies.iter().zip(&all).filter_map(of).flatten().collect()
}

fn in_loop(state: &str, body: &str, entry: &str) -> String {
    format!(
        "HloModule m\n\nbody {{\n  s = {state} parameter(0)\n{body}}}\n\ncond {{\n  t = {state} parameter(0)\n  \
         i = s32[] get-tuple-element(t), index=0\n  n = s32[] constant(5)\n  ROOT less = pred[] compare(i, n), direction=LT\n}}\n\n\
         ENTRY main {{\n{entry}}}\n"
    )
}

const COUNT: &str =
    "  c = s32[] get-tuple-element(s), index=0\n  one = s32[] constant(1)\n  next = s32[] add(c, one)\n";

#[test]
fn nothing_to_do() {
    check("ENTRY main {\n  p = f32[4]{0} parameter(0)\n  ROOT n = f32[4]{0} negate(p)\n}\n", "");
}

#[test]
fn an_update_in_place() {
    let text = "HloModule m ALIAS

ENTRY main {
  p = f32[8]{0} parameter(0)
  u = f32[2]{0} parameter(1)
  i = s32[] constant(1)
  READ
  d = f32[8]{0} dynamic-update-slice(p, u, i)
  n = f32[8]{0} negate(RESULT)
  ROOT t = (f32[8]{0}, f32[8]{0}) tuple(d, n)
}
";
    let plain = text.replace(" ALIAS", "").replace("  READ\n", "").replace("RESULT", "d");
    check(&plain, "in-place-operand p: removed, after source\nread-only p: stays");
    let donated =
        text.replace(" ALIAS", ", input_output_alias={ {0}: (0, {}, may-alias) }").replace("  READ\n", "");
    check(
        &donated.replace("RESULT", "d"),
        "in-place-operand p: removed, after source
donated-parameter p: removed, same buffer
donated-output t{0}: removed, before copy",
    );
    // The old value is read, and nothing says when.
    let late = donated.replace("RESULT", "p");
    assert_eq!(
        advice(&late, "in-place-operand"),
        [
            "let n run before d: 0 copies instead of 2, 64 B less",
            "let n not read p: 0 copies instead of 2, 64 B less",
            "turn on region analysis: 0 copies instead of 2, 64 B less",
        ]
    );
    assert_eq!(
        advice(&plain, "read-only"),
        ["donate parameter 0, p, to output {0}: 0 copies instead of 1, 32 B less"]
    );
}

#[test]
fn a_swap() {
    let state = "(s32[], f32[4]{0}, f32[4]{0})";
    let body = format!(
        "{COUNT}  a = f32[4]{{0}} get-tuple-element(s), index=1\n  b = f32[4]{{0}} get-tuple-element(s), index=2\n  \
         ROOT r = {state} tuple(next, b, a)\n"
    );
    let entry = format!(
        "  z = s32[] constant(0)\n  x = f32[4]{{0}} parameter(0)\n  y = f32[4]{{0}} parameter(1)\n  \
         init = {state} tuple(z, x, y)\n  ROOT w = {state} while(init), condition=cond, body=body\n"
    );
    let text = in_loop(state, &body, &entry);
    let stays = |text: &str, how| told(text, how).lines().filter(|l| l.contains(": stays")).count();
    // Three for what the loop starts from, which nobody may write over; four for the swap, one of them needless.
    assert_eq!(stays(&text, RegionAnalysis::Never), 7);
    assert_eq!(stays(&text, RegionAnalysis::Always), 6);
}

#[test]
fn a_state_that_passes_through() {
    let state = "(s32[], f32[4]{0})";
    let body = format!(
        "{COUNT}  a = f32[4]{{0}} get-tuple-element(s), index=1\n  ROOT r = {state} tuple(next, a)\n"
    );
    let entry = format!(
        "  z = s32[] constant(0)\n  x = f32[4]{{0}} parameter(0)\n  init = {state} tuple(z, x)\n  \
         w = {state} while(init), condition=cond, body=body\n  ROOT g = s32[] get-tuple-element(w), index=0\n"
    );
    check(
        &in_loop(state, &body, &entry),
        "loop-init init{0}: removed, after source
loop-parameter s{0}: removed, after source
loop-result r{0}: removed, before copy
read-only z: stays",
    );
}

#[test]
fn branches() {
    let text = "HloModule m

yes {
  p = f32[4]{0} parameter(0)
  ROOT n = f32[4]{0} negate(p)
}

no {
  q = f32[4]{0} parameter(0)
  ROOT e = f32[4]{0} exponential(q)
}

ENTRY main {
  c = pred[] parameter(0)
  x = f32[4]{0} parameter(1)
  ROOT r = f32[4]{0} conditional(c, x, x), true_computation=yes, false_computation=no
}
";
    check(text, "branch-result n: removed, after source\nbranch-result e: removed, before copy");
    let idle = text.replace("  ROOT n = f32[4]{0} negate(p)\n", "").replace("  p =", "  ROOT p =");
    let told = told(&idle, RegionAnalysis::Never);
    assert!(told.contains("read-only x: stays"), "{told}");
}

/// A branch that does nothing costs copies if it comes last, and none if it comes first.
#[test]
fn an_idle_branch() {
    let text = "HloModule m, input_output_alias={ {}: (1, {}, may-alias) }

change {
  p = (f32[8]{0}) parameter(0)
  a = f32[8]{0} get-tuple-element(p), index=0
  u = f32[1]{0} constant({7})
  i = s32[] constant(3)
  d = f32[8]{0} dynamic-update-slice(a, u, i)
  ROOT r = (f32[8]{0}) tuple(d)
}

idle {
  ROOT q = (f32[8]{0}) parameter(0)
}

ENTRY main {
  c = s32[] parameter(0)
  x = f32[8]{0} parameter(1)
  t = (f32[8]{0}) tuple(x)
  y = (f32[8]{0}) conditional(c, t, t), branch_computations={change, idle}
  ROOT g = f32[8]{0} get-tuple-element(y), index=0
}
";
    let stays: Vec<&str> = ["in-place-operand", "branch-result", "donated-output"].to_vec();
    for rule in stays {
        let advice = advice(text, rule);
        assert!(
            advice.contains(&"swap the branches of y: 0 copies instead of 3, 96 B less".to_owned()),
            "{rule}: {advice:?}"
        );
    }
}

#[test]
fn results() {
    check(
        "ENTRY main {\n  p = f32[4]{0} parameter(0)\n  n = f32[4]{0} negate(p)\n  \
         ROOT t = (f32[4]{0}, f32[4]{0}, f32[4]{0}) tuple(n, n, p)\n}\n",
        "repeated-output t{1}: stays\nread-only-output t{2}: stays",
    );
}

#[test]
fn a_donation_that_cannot_be_used() {
    check(
        "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }\n\nENTRY main {\n  p = f32[4]{0} parameter(0)\n  \
         r = f32[4]{0} reverse(p), dimensions={0}\n  k = s32[] constant(1)\n  ROOT t = (f32[4]{0}, s32[]) tuple(r, k)\n}\n",
        "donated-parameter p: removed, after source
donated-output t{0}: stays: without it, r would be written where p stands, but r reads p itself and cannot work in place
read-only-output tuple{1}: stays",
    );
}

#[test]
fn what_the_pass_refuses() {
    let twice = "HloModule m

f {
  p = f32[] parameter(0)
  ROOT n = f32[] negate(p)
}

ENTRY main {
  x = f32[] parameter(0)
  a = f32[] call(x), to_apply=f
  ROOT b = f32[] call(a), to_apply=f
}
";
    let (module, orders, target) = parse(twice);
    let error = insert_copies(&module, &orders, &target, Options::default()).expect_err("two calls");
    assert!(matches!(error, Error::NotFlattened(_)));
    assert_eq!(
        error.describe(&module),
        "computation %f is called from several places, expected the call graph to be flattened before copy insertion"
    );
}
