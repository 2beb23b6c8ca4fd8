//! Each question, asked of a small module that shows one thing.

use analysis::{Backend, Facts, Orders, Target};
use questions::{
    By, Change, CopyKind, Effort, Extra, Program, Role, State, Study, Until, Verdict, WhyNot, advise,
    compare, donation, hold,
};

fn study_on(backend: Backend, text: &str) -> Study {
    let module = hlo::read(text).complete().unwrap_or_else(|d| panic!("{d:?}"));
    let target = Target::new(backend);
    let facts = Facts::new(&module, Orders::guess(&module, &target), target).expect("facts");
    Study::of_program(Program::new(module, facts), &assigner::Options::default())
}

fn study(text: &str) -> Study {
    study_on(Backend::Cpu, text)
}

/// Instructions of an entry computation with a schedule.
fn entry(header: &str, lines: &str) -> Study {
    study(&format!("HloModule m, is_scheduled=true{header}\n\nENTRY main {{\n{lines}\n}}\n"))
}

fn name(study: &Study, id: hlo::InstructionId) -> &str {
    study.program.as_ref().expect("the program").module.name_of(id)
}

#[test]
fn each_byte_at_the_peak_counts_once() {
    let s = entry(
        "",
        "  x = f32[256]{0} parameter(0)
  a = f32[256]{0} reverse(x), dimensions={0}, metadata={op_name=\"jit(f)/layer0/rev\"}
  b = f32[256]{0} reverse(a), dimensions={0}, metadata={op_name=\"jit(f)/layer1/rev\"}
  c = f32[256]{0} reverse(b), dimensions={0}, metadata={op_name=\"jit(f)/layer2/rev\"}
  d = f32[256]{0} reverse(a), dimensions={0}
  e = f32[256]{0} add(d, c)
  ROOT r = f32[] custom-call(e, b), custom_call_target=\"sum\"",
    );
    let peak = questions::peak(&s);
    let space = &peak.spaces[0];
    let sum: u64 = space.slots.iter().map(|x| x.size).sum();
    assert_eq!((sum, space.slots.last().map(|x| x.cumulative)), (space.live, Some(sum)));
    assert!(space.live >= 3 * 1024 && space.live <= space.temp, "{space:?}");
    let groups = questions::groups(&s, &space.slots);
    let layers = groups.iter().find(|g| g.scope == "jit(f)/layer*").expect("a group");
    assert_eq!((layers.operation.as_str(), layers.repetitions), ("rev", layers.slots.len()));
    assert_eq!(peak.owner(Role::Argument).map(|o| (o.bytes, o.donated)), Some((1024, 0)));
}

#[test]
fn who_holds_a_value() {
    let s = entry(
        "",
        "  x = f32[256]{0} parameter(0)
  a = f32[256]{0} exponential(x)
  b = f32[256]{0} negate(x)
  c = f32[256]{0} add(a, b)
  ROOT r = (f32[256]{0}, f32[256]{0}) tuple(c, b)",
    );
    let of = |text: &str| hold(&s, s.find(text).expect("a value")).expect("a range");
    let a = of("a");
    assert_eq!((a.range, a.first_use.map(|u| u.1), a.until.clone()), ((1, 3), Some(3), Until::Read));
    assert_eq!(a.last_readers.iter().map(|i| name(&s, *i)).collect::<Vec<_>>(), ["c"]);
    assert_eq!(of("b").until, Until::Result);
    assert_eq!(of("x").until, Until::Argument);
    assert!(a.words(&s).contains("c reads it last"), "{}", a.words(&s));
}

#[test]
fn a_fusion_that_repeats_what_is_there() {
    let s = study(
        "HloModule m, is_scheduled=true

fused {
  p = f32[256]{0} parameter(0)
  q = f32[256]{0} parameter(1)
  again = f32[256]{0} exponential(p)
  ROOT o = f32[256]{0} multiply(again, q)
}

ENTRY main {
  x = f32[256]{0} parameter(0)
  k = f32[256]{0} negate(x)
  a = f32[256]{0} exponential(k)
  b = f32[256]{0} reverse(a), dimensions={0}
  ROOT r = f32[256]{0} fusion(k, b), kind=kLoop, calls=fused
}
",
    );
    let found = hold(&s, s.find("k").expect("k")).and_then(|h| h.repeated).expect("a repetition");
    assert_eq!(
        (name(&s, found.reader), found.opcode.as_str(), name(&s, found.instead_of)),
        ("r", "exponential", "a")
    );
}

const LOOP: &str = "HloModule m, is_scheduled=true

body {
  state = (s32[], f32[10,256]{1,0}) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  stack = f32[10,256]{1,0} get-tuple-element(state), index=1
  one = s32[] constant(1)
  zero = s32[] constant(0)
  element = f32[1,256]{1,0} custom-call(i), custom_call_target=\"make\"
  written = f32[10,256]{1,0} dynamic-update-slice(stack, element, i, zero)
  next = s32[] add(i, one)
  ROOT out = (s32[], f32[10,256]{1,0}) tuple(next, written)
}

condition {
  state.1 = (s32[], f32[10,256]{1,0}) parameter(0)
  i.1 = s32[] get-tuple-element(state.1), index=0
  ten = s32[] constant(10)
  ROOT less = pred[] compare(i.1, ten), direction=LT
}

ENTRY main {
  start = s32[] constant(0)
  begin = s32[] copy(start)
  fill = f32[] constant(0)
  empty = f32[10,256]{1,0} broadcast(fill), dimensions={}
  init = (s32[], f32[10,256]{1,0}) tuple(begin, empty)
  loop = (s32[], f32[10,256]{1,0}) while(init), condition=condition, body=body, backend_config={\"known_trip_count\":{\"n\":\"10\"}}
  filled = f32[10,256]{1,0} get-tuple-element(loop), index=1
  ROOT r = f32[10,256]{1,0} reverse(filled), dimensions={0}
}
";

#[test]
fn a_loop_fills_a_stack() {
    let s = study(LOOP);
    let stack = questions::stack(&s, s.find("loop{1}").expect("a value")).expect("a stack");
    assert_eq!((stack.length, stack.element.as_str(), stack.element_bytes), (10, "f32[256]", 1024));
    assert_eq!((name(&s, stack.writer), stack.at.map(|l| name(&s, l))), ("written", Some("loop")));
    assert!(questions::stack(&s, s.find("r").expect("a value")).is_none());
}

#[test]
fn copies_by_kind_and_count() {
    let s =
        study(&LOOP.replace(
            "  next = s32[] add(i, one)",
            "  copied = s32[] copy(i)\n  next = s32[] add(copied, one)",
        ));
    let copies = questions::copies(&s);
    let of = |text: &str| copies.iter().find(|c| name(&s, c.instruction) == text).expect("a copy");
    assert_eq!((of("copied").runs, of("begin").runs), (Some(10), Some(1)));
    let s = entry(
        "",
        "  w = bf16[64,32]{1,0} parameter(0)
  wide = f32[64,32]{1,0} convert(w)
  turned = f32[64,32]{0,1} copy(wide)
  ROOT r = f32[64,32]{0,1} copy(turned)",
    );
    let kinds: Vec<(&str, CopyKind, Option<u32>)> =
        questions::copies(&s).iter().map(|c| (name(&s, c.instruction), c.kind, c.argument)).collect();
    assert!(kinds.contains(&("wide", CopyKind::Widening, Some(0))), "{kinds:?}");
    assert!(kinds.contains(&("turned", CopyKind::Relayout, None)), "{kinds:?}");
    assert!(kinds.contains(&("r", CopyKind::Plain, None)), "{kinds:?}");
}

/// What copy insertion did not make has its cause in who reads it.
#[test]
fn copies_that_change_their_source_say_for_whom() {
    let s = entry(
        "",
        "  w = bf16[64,32]{1,0} parameter(0)
  v = bf16[64,32]{1,0} parameter(1)
  wide = f32[64,32]{1,0} convert(w)
  wider = f32[64,32]{1,0} convert(v)
  one = f32[64,32]{1,0} negate(wide)
  two = f32[64,32]{1,0} negate(one)
  three = f32[64,32]{1,0} negate(two)
  four = f32[64,32]{1,0} add(three, wider)
  turned = f32[64,32]{0,1} copy(four)
  five = f32[64,32]{0,1} negate(turned)
  ROOT last = f32[64,32]{1,0} copy(five)",
    );
    let copies = questions::copies(&s);
    let (causes, unknown) = questions::causes(&s, &copies);
    assert_eq!(unknown, None);
    let of = |text: &str| {
        let found = causes.iter().find(|c| name(&s, c.copy) == text).expect("a cause");
        (found.words.join(" "), found.removes.join(" "))
    };
    assert_eq!(
        of("turned"),
        (
            "four gives f32[64,32]{1,0}, and five reads f32[64,32]{0,1}.".to_owned(),
            "let four give f32[64,32]{0,1} at once, or its readers take f32[64,32]{1,0}".to_owned()
        )
    );
    let (words, removes) = of("wider");
    assert!(
        words.starts_with("Argument 1 comes as bf16[64,32]{1,0}, and four reads f32[64,32]{1,0}."),
        "{words}"
    );
    assert!(
        words.contains(
            "2 widened copies of arguments are there at once, 16,384 B (16.0 KiB); made one by one"
        ) && words.ends_with("at most 1 would be, 8,192 B (8.0 KiB)."),
        "{words}"
    );
    assert!(removes.starts_with("hand argument 1 over with wider elements"), "{removes}");
    let (words, removes) = of("last");
    assert!(words.ends_with("and the result is f32[64,32]{1,0}."), "{words}");
    assert_eq!(removes, "let the output be laid out as f32[64,32]{0,1}, as five gives it");
}

#[test]
fn every_argument_has_a_story() {
    let s = entry(
        ", input_output_alias={ {0}: (0, {}, may-alias), {2}: (3, {}, must-alias) }, buffer_donor={ (1, {}) }",
        "  x = f32[64]{0} parameter(0)
  y = f32[32]{0} parameter(1)
  z = f32[64]{0} parameter(2)
  v = f32[16]{0} parameter(3)
  a = f32[64]{0} add(x, z)
  b = f32[64]{0} copy(z)
  c = f32[16]{0} reverse(v), dimensions={0}
  d = f32[16]{0} copy(c)
  ROOT t = (f32[64]{0}, f32[64]{0}, f32[16]{0}) tuple(a, b, d)",
    );
    let table = donation(&s).expect("the program");
    let of = |n: usize| &table.arguments[n];
    assert!(matches!(&of(0).state, State::Taken { output, .. } if output.to_string() == "{0}"));
    let State::NotTaken(why) = &of(1).state else { panic!("{:?}", of(1)) };
    assert!(why.iter().any(|(_, w)| *w == WhyNot::Bytes(256)));
    assert!(why.iter().any(|(_, w)| *w == WhyNot::HasAnother));
    assert!(matches!(&of(2).state, State::NotOffered(fits) if fits.len() == 1));
    assert!(matches!(&of(3).extras[..], [Extra::CopiedAtTheEnd { bytes: 64, .. }]), "{:?}", of(3));
    assert_eq!((table.taken, table.could_save), (256 + 64, 256));
    // The second output is a plain copy of the third argument.
    assert_eq!(table.outputs[1].copy_of.map(|c| c.0), Some(2));
}

#[test]
fn transfers_pin_what_they_move() {
    let s = study_on(
        Backend::Tpu,
        "HloModule m, is_scheduled=true

ENTRY main {
  x = f32[8,128]{1,0:T(8,128)} parameter(0)
  start = (f32[8,128]{1,0:T(8,128)S(1)}, f32[8,128]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(x)
  other = f32[8,128]{1,0:T(8,128)} negate(x)
  done = f32[8,128]{1,0:T(8,128)S(1)} copy-done(start)
  ROOT r = f32[8,128]{1,0:T(8,128)} add(done, other)
}
",
    );
    let spans = questions::spans(&s);
    let found: Vec<_> = spans.iter().map(|x| (name(&s, x.start), name(&s, x.done), x.from, x.to)).collect();
    assert_eq!(found, [("start", "done", 1, 3)]);
    assert!(spans[0].colors.contains(&1) && spans[0].bytes >= 2 * 4096, "{spans:?}");
}

#[test]
fn changes_are_tried_and_those_that_lose_a_value_are_left_out() {
    // `a` waits for its reader while `b` and `c` come and go.
    let s = entry(
        "",
        "  x = f32[4096]{0} parameter(0)
  a = f32[4096]{0} reverse(x), dimensions={0}
  b = f32[4096]{0} reverse(x), dimensions={0}
  c = f32[4096]{0} reverse(b), dimensions={0}
  d = f32[] custom-call(c), custom_call_target=\"sum\"
  ROOT r = f32[] custom-call(d, a), custom_call_target=\"both\"",
    );
    let found = advise(&s, Effort::default(), &mut |_, _| true);
    let is_later = |c: &Change| matches!(c, Change::Later(ids) if ids.iter().any(|i| name(&s, *i) == "a"));
    let later = found.advice.iter().find(|a| is_later(&a.change));
    assert_eq!(later.map(|a| a.saves), Some(16384), "{found:?}");
    // `saved` is needed: without it the update would spoil `a` before `sum` reads it.
    let s = entry(
        "",
        "  x = f32[4096]{0} parameter(0)
  part = f32[8]{0} parameter(1)
  zero = s32[] constant(0)
  a = f32[4096]{0} reverse(x), dimensions={0}
  saved = f32[4096]{0} copy(a)
  changed = f32[4096]{0} dynamic-update-slice(a, part, zero)
  ROOT sum = f32[4096]{0} add(saved, changed)",
    );
    let found = advise(&s, Effort::default(), &mut |_, _| true);
    assert!(found.spoilt > 0, "{found:?}");
    assert!(!found.advice.iter().any(|a| matches!(a.change, Change::DropCopy(_))), "{found:?}");
    // Nothing is tried once it is told to stop.
    assert_eq!(advise(&s, Effort::default(), &mut |_, _| false).tried, 0);
}

#[test]
fn renamed_values_are_found_again() {
    let left = entry(
        "",
        "  x = f32[64]{0} parameter(0)
  fusion.1 = f32[64]{0} reverse(x), dimensions={0}, metadata={op_name=\"jit(f)/a/rev\"}
  fusion.2 = f32[64]{0} reverse(fusion.1), dimensions={0}, metadata={op_name=\"jit(f)/b/rev\"}
  ROOT r = f32[64]{0} add(fusion.1, fusion.2)",
    );
    // The names have changed places, and the function has another one.
    let right = entry(
        "",
        "  x = f32[64]{0} parameter(0)
  fusion.2 = f32[64]{0} reverse(x), dimensions={0}, metadata={op_name=\"jit(g)/a/rev\"}
  fusion.1 = f32[64]{0} reverse(fusion.2), dimensions={0}, metadata={op_name=\"jit(g)/b/rev\"}
  ROOT r = f32[64]{0} add(fusion.1, fusion.2)",
    );
    let c = compare(&left, &right);
    assert!(c.vanished.is_empty() && c.appeared.is_empty());
    let pairs: Vec<(String, String, By)> = c
        .matched
        .iter()
        .map(|m| (left.rows[m.left].name.to_string(), right.rows[m.right].name.to_string(), m.by))
        .collect();
    assert!(pairs.contains(&("fusion.1".to_owned(), "fusion.2".to_owned(), By::Origin)), "{pairs:?}");
    assert!(pairs.contains(&("fusion.2".to_owned(), "fusion.1".to_owned(), By::Origin)), "{pairs:?}");
}

#[test]
fn steps_of_two_programs_are_laid_beside_each_other() {
    let line = |i: usize, of: usize| {
        format!(
            "  v{i} = f32[64]{{0}} reverse(v{of}), dimensions={{0}}, metadata={{op_name=\"jit(f)/l{i}/rev\"}}\n"
        )
    };
    let program = |order: &[(usize, usize)]| {
        let mut lines = String::from("  v0 = f32[64]{0} parameter(0)\n");
        for (i, of) in order {
            lines += &line(*i, *of);
        }
        entry("", &format!("{lines}  ROOT r = f32[] custom-call(v1, v2, v3), custom_call_target=\"sum\""))
    };
    // The right one has two instructions more, and v3 before v2.
    let (left, right) =
        (program(&[(1, 0), (2, 0), (3, 0)]), program(&[(1, 0), (8, 0), (9, 0), (3, 0), (2, 0)]));
    let c = compare(&left, &right);
    let steps = questions::common_steps(&left, &right, &c.matched);
    // Of the two that changed places one is in the chain.
    assert!(
        steps == [(0, 0), (1, 1), (2, 5), (4, 6)] || steps == [(0, 0), (1, 1), (3, 4), (4, 6)],
        "{steps:?}"
    );
    assert!(c.appeared.len() == 2 && c.vanished.is_empty());
}

#[test]
fn what_makes_the_difference_at_any_step() {
    let wide = |n: u32| {
        entry(
            "",
            &format!(
                "  x = f32[64]{{0}} parameter(0)
  a = f32[{n}]{{0}} custom-call(x), custom_call_target=\"a\", metadata={{op_name=\"jit(f)/a/make\"}}
  b = f32[64]{{0}} custom-call(a), custom_call_target=\"b\", metadata={{op_name=\"jit(f)/b/use\"}}
  ROOT r = f32[] custom-call(b), custom_call_target=\"sum\""
            ),
        )
    };
    let (left, right) = (wide(1024), wide(2048));
    let slots = |s: &Study, step| questions::slots_at(s, 0, step);
    let at = |step| {
        let (l, r) = (slots(&left, step), slots(&right, step));
        questions::shifts((&left, &l), (&right, &r))
    };
    let found = at(1);
    assert_eq!(found.iter().map(|s| s.bytes).collect::<Vec<_>>(), [(0, 8192), (4096, 0)]);
    assert!(found[0].rows.0.is_empty() && right.rows[found[0].rows.1[0]].name.to_string() == "a");
    // Before anything is written there is nothing.
    assert!(at(0).is_empty());
    let c = compare(&left, &right);
    assert_eq!(c.at_peak.len(), 2);
    // The value after it is pushed on, or stays: what is told moved does stand elsewhere.
    for m in c.moved.iter().map(|i| &c.matched[*i]) {
        assert_ne!(left.rows[m.left].offset, right.rows[m.right].offset);
    }
}

#[test]
fn a_limit_that_no_packing_can_keep() {
    let s = entry(
        "",
        "  x = f32[256]{0} parameter(0)
  a = f32[256]{0} reverse(x), dimensions={0}
  b = f32[256]{0} reverse(a), dimensions={0}
  ROOT r = f32[] custom-call(a, b), custom_call_target=\"sum\"",
    );
    let fit = &questions::fits(&s, &questions::peak(&s))[0];
    assert_eq!((fit.least_temp, fit.fixed), (2048, 1028));
    assert_eq!(fit.verdict(fit.fixed + fit.temp), Verdict::Fits);
    assert_eq!(fit.verdict(fit.least - 1), Verdict::Never);
}

#[test]
fn a_refusal_is_cut_down() {
    let mut lines = String::from("  x = f32[64]{0} parameter(0)\n  n0 = f32[64]{0} negate(x)\n");
    for i in 1..60 {
        lines += &["  n", &i.to_string(), " = f32[64]{0} negate(n", &(i - 1).to_string(), ")\n"].concat();
    }
    lines += "  a = f32[64]{0} reverse(n59), dimensions={0}
  b = f32[64]{0} reverse(a), dimensions={0}
  c = f32[64]{0} add(a, b)
  ROOT r = (f32[64]{0}, f32[64]{0}) tuple(c, n30)";
    let s = entry("", &lines);
    let program = s.program.as_ref().expect("the program");
    let reduce = |a: &str, b: &str| {
        let pair = [a.parse().expect("a name"), b.parse().expect("a name")];
        let options = assigner::Options::default();
        questions::reduce(&program.module, &program.facts.target, &options, pair, 1_000_000, &mut |_| true)
    };
    let small = reduce("a", "b").expect("a smaller program");
    assert!(!small.shares && small.reason == "overlap", "{small:?}");
    assert!(small.instructions.1 <= 5 && small.instructions.0 > 60, "{}", small.text);
    assert!(hlo::read(&small.text).complete().is_ok());
    assert!(reduce("a", "nobody").is_err_and(|e| e.to_string().contains("nobody")));
}

#[test]
fn what_grows_with_a_square() {
    let s = entry(
        "",
        "  x = f32[2,128,64]{2,1,0} parameter(0)
  w = f32[64,64]{1,0} parameter(1)
  scores = f32[2,128,128]{2,1,0} custom-call(x), custom_call_target=\"scores\"
  weights = f32[2,128,128]{2,1,0} custom-call(scores), custom_call_target=\"softmax\"
  v = f32[64,64]{1,0} custom-call(w), custom_call_target=\"v\"
  ROOT r = f32[2,128,64]{2,1,0} custom-call(scores, weights, v), custom_call_target=\"out\"",
    );
    let peak = questions::peak(&s);
    let found = questions::growing(&s, &peak.spaces[0]);
    // The matrix has the shape of an argument: it is a weight.
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].dimension.size, found[0].dimension.times, found[0].bytes),
        (128, 2, 2 * 2 * 128 * 128 * 4)
    );
    let notes = questions::notes(&s, &peak);
    let note = notes.iter().find(|n| n.name == "square").expect("a note");
    assert_eq!(
        note.words,
        "2 values at the peak of memory space 0 have two dimensions of 128 (f32[2,128,128]): 262,144 B (256.0 KiB) of 278,528 B (272.0 KiB). If they are one quantity, such as the length of a sequence in attention scores, they grow with its square: twice the length takes 4 times the bytes. That is a guess from shapes alone."
    );
    let of = |shape| questions::repeated(shape).map(|d| (d.size, d.times));
    assert_eq!(of("f32[<=32,32,32]"), Some((32, 3)));
    assert_eq!(of("f32[3,3,256,256]{3,2,1,0}"), Some((256, 2)));
    assert_eq!(of("(f32[64,64], s32[])"), None);
    assert_eq!(of("f32[3,3]"), None);
    assert_eq!(of("f32[18446744073709551615,18446744073709551615]"), Some((u64::MAX, 2)));
    assert_eq!(of("token[]"), None);
}

#[test]
fn what_no_collective_touches_is_told_beside_collective_memory() {
    let text = |big: &str| {
        format!(
            "HloModule m, is_scheduled=true

add {{
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}}

ENTRY main {{
  x = f32[64]{{0}} parameter(0)
  y = f32[1024]{{0}} parameter(1)
  c = f32[64]{{0:S(1)}} copy(x)
  r = f32[64]{{0:S(1)}} all-reduce(c), replica_groups={{}}, to_apply=add
  e = f32[64]{{0}} negate(r)
  big = f32[1024]{{0{big}}} negate(y)
  sum = f32[1024]{{0}} add(big, y)
  ROOT t = (f32[64]{{0}}, f32[1024]{{0}}) tuple(e, sum)
}}
"
        )
    };
    let words = |big: &str| {
        let s = study_on(Backend::Gpu, &text(big));
        let notes = questions::notes(&s, &questions::peak(&s));
        notes.into_iter().find(|n| n.name == "collective-memory").expect("the note").words
    };
    let told = words(":S(1)");
    assert!(told.contains("No collective reads or writes") && told.contains("that is for big."), "{told}");
    let told = words("");
    assert!(!told.contains("No collective reads or writes"), "{told}");
}

#[test]
fn constants_are_equal_by_their_own_values() {
    let s = entry(
        "",
        "  x = f32[4]{0} parameter(0), metadata={op_name=\"x\"}
  differs = (f32[4]{0}, f32[4]{0}) constant(({1, 2, 3, 4}, {9, 2, 3, 4}))
  d0 = f32[4]{0} get-tuple-element(differs), index=0
  d1 = f32[4]{0} get-tuple-element(differs), index=1
  alone = f32[4]{0} constant({ 1.0, 2e0, /*i=2*/ 3, 4 })
  plus = f32[4]{0} constant({0, 0, 0, 0})
  minus = f32[4]{0} constant({-0, -0, -0, -0})
  flat = f32[2,2]{1,0} constant({ { 1, 2 }, { 3, 4 } })
  told = f32[2,2]{1,0} constant({ /*i0=0*/ { 1, 2 }, /*i0=1*/ { 3, 4 } })
  bits = pred[4]{0} constant({1, 0, 1, 1})
  words = pred[4]{0} constant({true, false, true, true})
  big = u64[2]{0} constant({9007199254740992, 9007199254740993})
  bigger = u64[2]{0} constant({9007199254740993, 9007199254740993})
  nest = ((f32[4]{0}, s32[4]{0}), s32[4]{0}) constant((({9, 2, 3, 4}, {7, 7, 7, 7}), {...}))
  n = (f32[4]{0}, s32[4]{0}) get-tuple-element(nest), index=0
  n0 = f32[4]{0} get-tuple-element(n), index=0
  n1 = s32[4]{0} get-tuple-element(n), index=1
  n2 = s32[4]{0} get-tuple-element(nest), index=1
  ROOT r = f32[] custom-call(x, d0, d1, alone, plus, minus, flat, told, bits, words, big, bigger, n0, n1, n2), custom_call_target=\"all\"",
    );
    let found = questions::constants(&s);
    let name = |i: &usize| s.rows[found.constants[*i].row].name.to_string();
    let mut alike: Vec<(Vec<String>, bool)> = found
        .alike
        .iter()
        .map(|a| {
            let mut names: Vec<String> = a.constants.iter().map(name).collect();
            names.sort();
            (names, a.is_certain)
        })
        .collect();
    alike.sort();
    let names = |all: &[&str]| all.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        alike,
        [
            (names(&["alone", "differs{0}"]), true),
            (names(&["bits", "words"]), true),
            (names(&["differs{1}", "nest{0,0}"]), true),
            (names(&["flat", "told"]), true),
        ]
    );
    let content = |wanted: &str| {
        let at = (0..found.constants.len()).find(|i| name(i) == wanted).expect("a constant");
        &found.constants[at].content
    };
    assert_eq!(content("nest{0,1}"), &questions::Content::Uniform("7".to_owned()));
    assert_eq!(content("nest{1}"), &questions::Content::LeftOut);
}

#[test]
fn all_readers_count_and_donated_arguments_are_not_captured() {
    let lines: Vec<String> = (0..70).map(|i| format!("  a{i} = f32[64]{{0}} add(x, k)")).collect();
    let lines = lines.join("\n");
    let text = format!(
        "  state = f32[64]{{0}} parameter(0)
  offered = f32[64]{{0}} parameter(1)
  kept = f32[64]{{0}} parameter(2)
  x = f32[64]{{0}} parameter(3), metadata={{op_name=\"x\"}}
  k = f32[64]{{0}} constant({{...}})
{lines}
  s = f32[64]{{0}} add(offered, kept)
  ROOT r = (f32[64]{{0}}, f32[64]{{0}}) tuple(state, s)"
    );
    let header = ", input_output_alias={ {0}: (0, {}, may-alias) }, buffer_donor={ (1, {}) }";
    let found = questions::constants(&entry(header, &text));
    assert_eq!(found.constants[0].readers.len(), 70);
    assert_eq!(found.captured.iter().map(|c| c.parameter).collect::<Vec<_>>(), [2]);
}

#[test]
fn who_reads_a_constant_and_which_are_equal() {
    let s = study(
        "HloModule m, is_scheduled=true

inner {
  p = f32[8]{0} parameter(0)
  ROOT e = f32[8]{0} exponential(p)
}

fused {
  p = f32[8]{0} parameter(0)
  q = f32[8]{0} parameter(1)
  table = s32[2]{0} constant({1, 2})
  b = f32[8]{0} bitcast(q)
  i = f32[8]{0} fusion(b), kind=kLoop, calls=inner
  ROOT o = f32[8]{0} add(p, i)
}

body {
  t = (s32[], f32[8]{0}) parameter(0)
  n = s32[] get-tuple-element(t), index=0
  v = f32[8]{0} get-tuple-element(t), index=1
  w = f32[8]{0} fusion(v, v), kind=kLoop, calls=fused
  ROOT r = (s32[], f32[8]{0}) tuple(n, w)
}

condition {
  t = (s32[], f32[8]{0}) parameter(0)
  n = s32[] get-tuple-element(t), index=0
  ROOT c = pred[] compare(n, n), direction=LT
}

ENTRY main {
  captured = f32[64]{0} parameter(0)
  tiny = f32[2]{0} parameter(1)
  x = f32[8]{0} parameter(2), metadata={op_name=\"x\"}
  unnamed = f32[64]{0} parameter(3)
  ones = f32[8]{0} constant({1, 1, 1, 1, 1, 1, 1, 1})
  same = f32[8]{0} constant({1, 2, 3, 4, 5, 6, 7, 8})
  also = f32[8]{0} constant({1, 2, 3, 4, 5, 6, 7, 8})
  left = f32[64]{0} constant({...})
  out = f32[64]{0} constant({...}), metadata={op_name=\"jit(f)/iota\"}
  zero = s32[] constant(0)
  start = (s32[], f32[8]{0}) tuple(zero, same)
  loop = (s32[], f32[8]{0}) while(start), condition=condition, body=body
  after = f32[8]{0} get-tuple-element(loop), index=1
  a = f32[8]{0} fusion(x, also), kind=kLoop, calls=fused
  b = f32[8]{0} add(ones, a)
  c = f32[64]{0} add(left, out)
  d = f32[64]{0} add(captured, unnamed)
  ROOT r = (f32[8]{0}, f32[8]{0}, f32[64]{0}, f32[64]{0}) tuple(after, b, c, d)
}
",
    );
    let found = questions::constants(&s);
    let module = &s.program.as_ref().expect("the program").module;
    let of = |wanted: &str| {
        let is_it = |c: &&questions::Constant| s.rows[c.row].name.to_string() == wanted;
        found.constants.iter().find(is_it).unwrap_or_else(|| panic!("{wanted}"))
    };
    assert_eq!(found.bytes, 3 * 32 + 2 * 256 + 4);
    let told = |wanted: &str| -> Vec<String> { of(wanted).readers.iter().map(|r| r.words(module)).collect() };
    // Fusions within fusions are seen through, and so are bitcasts in them.
    assert_eq!(told("also"), ["a (inside: exponential)"]);
    assert_eq!(told("ones"), ["b"]);
    assert_eq!(of("ones").content, questions::Content::Uniform("1".to_owned()));
    assert_eq!(of("also").content, questions::Content::Told);
    assert_eq!(of("left").content, questions::Content::LeftOut);
    assert!(of("out").words(&s).contains("as a guess from its metadata"), "{}", of("out").words(&s));
    // The number of the loop's turns goes into it as it is or by way of a copy; whoever reads it is no tuple and no loop.
    for c in &found.constants {
        let is_handed_on =
            |r: &&questions::Reader| module.str(module.instruction(r.instruction).opcode_name) == "while";
        assert!(c.readers.len() < 2 || !c.readers.iter().any(|r| is_handed_on(&r)), "{c:?}");
    }
    let names = |a: &questions::Alike| -> Vec<String> {
        a.constants.iter().map(|i| s.rows[found.constants[*i].row].name.to_string()).collect()
    };
    let groups: Vec<(Vec<String>, bool, u64)> =
        found.alike.iter().map(|a| (names(a), a.is_certain, a.saves)).collect();
    let owned = |a: [&str; 2]| a.map(str::to_owned).to_vec();
    assert_eq!(groups, [(owned(["left", "out"]), false, 256), (owned(["same", "also"]), true, 32)]);
    assert_eq!(found.in_code.iter().map(|i| name(&s, *i)).collect::<Vec<_>>(), ["table"]);
    // What stands behind a named argument is none, and neither is what is too small.
    assert_eq!(found.captured.iter().map(|c| (c.parameter, c.bytes)).collect::<Vec<_>>(), [(0, 256)]);
    assert_eq!(found.named, (1, 4));
    let words = found.words(&s).join("\n");
    for expected in [
        "6 constants take 612 B",
        "left and out are of one shape",
        "As a guess from its missing name, argument 0 (256 B)",
        "1 array stands in the code of a fusion",
    ] {
        assert!(words.contains(expected), "{expected}: {words}");
    }
}

#[test]
fn arguments_without_any_name_tell_nothing_of_what_was_captured() {
    let s = entry("", "  x = f32[64]{0} parameter(0)\n  ROOT r = f32[64]{0} negate(x)");
    let found = questions::constants(&s);
    assert!(found.captured.is_empty() && found.constants.is_empty());
    let words = found.words(&s).join("\n");
    assert!(words.contains("does not tell"), "{words}");
}

/// On the GPU what collectives read and write is in memory space 1, as in dumps with user buffers.
#[test]
fn a_collective_asks_for_a_memory_space() {
    let text = "HloModule m, is_scheduled=true

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

wrapped {
  p = f32[4,64]{1,0:S(1)} parameter(0)
  ROOT inner = f32[4,64]{1,0:S(1)} all-to-all(p), dimensions={1}
}

ENTRY main {
  x = f32[64,64]{1,0} parameter(0)
  y = f32[4,64]{1,0} parameter(1)
  there = f32[64,64]{1,0:S(1)} copy(x)
  start = f32[64,64]{1,0:S(1)} all-reduce-start(there), to_apply=add
  done = f32[64,64]{1,0:S(1)} all-reduce-done(start)
  back = f32[64,64]{1,0} copy(done)
  moved = f32[4,64]{1,0:S(1)} copy(y)
  begin = ((f32[4,64]{1,0:S(1)}), f32[4,64]{1,0:S(1)}) async-start(moved), calls=wrapped
  end = f32[4,64]{1,0:S(1)} async-done(begin)
  home = f32[4,64]{1,0} copy(end)
  ROOT r = (f32[64,64]{1,0}, f32[4,64]{1,0}) tuple(back, home)
}
";
    let read = |backend| {
        let module = hlo::read(text).complete().unwrap_or_else(|d| panic!("{d:?}"));
        let target = Target::tuned(backend, &module);
        let facts = Facts::new(&module, Orders::guess(&module, &target), target).expect("facts");
        Study::of_program(Program::new(module, facts), &assigner::Options::default())
    };
    let s = read(Backend::Gpu);
    let asked = |value: &str| -> Vec<&str> {
        let row = s.find(value).expect("a value");
        questions::collectives_of(&questions::wishes(&s, row)).into_iter().map(|i| name(&s, i)).collect()
    };
    assert_eq!(asked("there"), ["start"]);
    // The end of a collective is none that asks, and what it wraps goes by its start.
    assert_eq!(asked("start"), ["start"]);
    assert_eq!(asked("moved"), ["begin"]);
    assert_eq!(asked("inner"), ["begin"]);
    assert_eq!(asked("x"), [""; 0]);
    let all = questions::asking(&s, 1);
    let told: Vec<(&str, usize)> = all.iter().map(|a| (name(&s, a.collective), a.rows.len())).collect();
    assert_eq!(told, [("start", 2), ("begin", 2)]);
    let copies = questions::copies(&s);
    let (causes, _) = questions::causes(&s, &copies);
    for (copy, collective) in [
        ("there", "start reads"),
        ("back", "start writes"),
        ("moved", "begin reads"),
        ("home", "begin writes"),
    ] {
        let cause = causes.iter().find(|c| name(&s, c.copy) == copy).expect("a cause");
        let words = cause.words.join(" ");
        assert!(words.contains(collective), "{copy}: {words}");
    }
    let peak = questions::peak(&s);
    let notes = questions::notes(&s, &peak);
    let note = notes.iter().find(|n| n.name == "collective-memory").expect("the note");
    assert_eq!(note.bytes, peak.spaces.iter().find(|p| p.color == 1).expect("space 1").allocated);
    // Elsewhere a collective asks for nothing: the layout does.
    let s = read(Backend::Tpu);
    let row = s.find("there").expect("a value");
    assert_eq!(questions::collectives_of(&questions::wishes(&s, row)), []);
    let words = questions::wishes_words(&s, row).expect("words");
    assert!(words.contains("because its layout says so"), "{words}");
}
