//! Edits made by hand: what they come to, and whether what comes of them is sound.

use analysis::{Facts, Orders, Target};
use questions::{Edit, Program, Soundness, Study, Tried, baseline, droppable_reads, room, try_edits};

fn study(text: &str) -> Study {
    let module = hlo::read(text).complete().unwrap_or_else(|d| panic!("{d:?}"));
    let target = Target::detect(&module);
    let facts = Facts::new(&module, Orders::guess(&module, &target), target).expect("facts");
    Study::of_program(Program::new(module, facts), &assigner::Options::default())
}

fn entry(header: &str, lines: &str) -> Study {
    study(&format!("HloModule m, is_scheduled=true{header}\n\nENTRY main {{\n{lines}\n}}\n"))
}

fn tried(study: &Study, edits: &[Edit]) -> Result<Tried, String> {
    // Through a file, as the lab and the command keep them.
    let text = serde_json::to_string(edits).expect("plain data");
    let edits: Vec<Edit> = serde_json::from_str(&text).expect("it reads back");
    try_edits(study, &baseline(study, None).expect("a program"), &edits)
}

fn try_one(study: &Study, edit: Edit) -> Tried {
    tried(study, &[edit]).unwrap_or_else(|e| panic!("{e}"))
}

fn id(study: &Study, name: &str) -> hlo::InstructionId {
    let module = &study.program.as_ref().expect("the program").module;
    module.instruction_ids().find(|i| module.name_of(*i) == name).expect("an instruction")
}

/// Two large values, of which one could be made later.
fn early() -> Study {
    entry(
        "",
        "  x = f32[1024]{0} parameter(0)
  a = f32[1024]{0} reverse(x), dimensions={0}
  b = f32[1024]{0} custom-call(x), custom_call_target=\"f\"
  c = f32[4]{0} custom-call(b), custom_call_target=\"g\"
  ROOT d = f32[4]{0} custom-call(a, c), custom_call_target=\"h\"",
    )
}

#[test]
fn an_instruction_moves_within_its_dependencies() {
    let s = early();
    let program = s.program.as_ref().expect("the program");
    let r = room(program, id(&s, "a")).expect("it has room");
    assert_eq!((r.now, r.earliest, r.latest), (1, 1, 3));
    assert_eq!(r.steps().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(r.words(&program.module), "a can run from step 1, behind x to step 3, before d.");
    let t = try_one(&s, Edit::Move { name: "a".into(), to: 3 });
    assert_eq!(t.edits, ["a runs at step 3 instead of step 1"]);
    assert_eq!(t.study.sequence, ["x", "b", "c", "a", "d"]);
    // It takes the place of b.
    assert_eq!(t.before.temp - t.after.temp, 4096);
    assert_eq!(t.soundness, Soundness::Right);
    let far = tried(&s, &[Edit::Move { name: "a".into(), to: 4 }]).expect_err("d waits for it");
    assert!(far.contains("before d. Step 4 is outside"), "{far}");
    let nobody = tried(&s, &[Edit::Move { name: "q".into(), to: 4 }]).expect_err("nobody");
    assert_eq!(nobody, "There is no instruction q.");
    let parameter = tried(&s, &[Edit::Move { name: "x".into(), to: 2 }]).expect_err("a parameter");
    assert!(parameter.contains("is a parameter"), "{parameter}");
}

#[test]
fn a_move_behind_a_writer_is_unsound_until_copies_are_put_in() {
    // The loop's value is written over in place; whoever reads it must come before.
    let s = study(
        "HloModule m, is_scheduled=true

body {
  p = (s32[], f32[1024]{0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[1024]{0} get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  w = f32[1024]{0} negate(v)
  ROOT t = (s32[], f32[1024]{0}) tuple(j, w)
}

cond {
  q = (s32[], f32[1024]{0}) parameter(0)
  k = s32[] get-tuple-element(q), index=0
  n = s32[] constant(10)
  ROOT less = pred[] compare(k, n), direction=LT
}

ENTRY main {
  x = f32[1024]{0} parameter(0)
  zero = s32[] constant(0)
  a = f32[1024]{0} exponential(x)
  start = s32[] copy(zero)
  r = f32[4]{0} custom-call(a), custom_call_target=\"reads\"
  init = (s32[], f32[1024]{0}) tuple(start, a)
  loop = (s32[], f32[1024]{0}) while(init), condition=cond, body=body
  out = f32[1024]{0} get-tuple-element(loop), index=1
  ROOT both = (f32[1024]{0}, f32[4]{0}) tuple(out, r)
}
",
    );
    let program = s.program.as_ref().expect("the program");
    let as_it_is = tried(&s, &[]).expect("nothing");
    assert_eq!(as_it_is.soundness, Soundness::Right);
    assert_eq!(as_it_is.before, as_it_is.after);
    let r = room(program, id(&s, "r")).expect("room");
    let late = try_one(&s, Edit::Move { name: "r".into(), to: r.latest });
    assert!(matches!(&late.soundness, Soundness::NeedsCopy(why) if why.len() == 1), "{:?}", late.soundness);
    assert!(late.soundness.is_unsound() && late.soundness.words().contains('r'));
    let with =
        tried(&s, &[Edit::Move { name: "r".into(), to: r.latest }, Edit::InsertCopies]).expect("copies");
    assert_eq!(with.soundness, Soundness::Right, "{:?}", with.edits);
    assert!(with.after.total > with.before.total);
    // Where the loop moves, its body moves with it.
    let loops = room(program, id(&s, "loop")).expect("room");
    assert_eq!(loops.earliest, loops.now);
    assert_eq!(
        loops.words(&program.module),
        format!("loop can run at step {} only, behind init, before out.", loops.now)
    );
    // A step inside of the loop is none of the reader's own.
    let inside = tried(&s, &[Edit::Move { name: "r".into(), to: loops.now - 1 }]).expect_err("the body's");
    assert!(inside.contains("another computation runs"), "{inside}");
}

#[test]
fn a_range_cut_short_loses_a_value_and_the_checker_says_where() {
    let s = early();
    let t = try_one(&s, Edit::Range { name: "a".into(), start: 1, end: 1 });
    assert!(t.after.temp < t.before.temp);
    let Soundness::Wrong(why) = &t.soundness else { panic!("{:?}", t.soundness) };
    assert!(why.contains('d') && why.contains('a'), "{why}");
    let longer = try_one(&s, Edit::Range { name: "b".into(), start: 1, end: 4 });
    assert_eq!(longer.soundness, Soundness::Right);
}

#[test]
fn a_read_is_left_out() {
    // Of a custom call: the value ends with the reader before.
    let s = entry(
        "",
        "  x = f32[1024]{0} parameter(0)
  a = f32[1024]{0} custom-call(x), custom_call_target=\"f\"
  b = f32[1024]{0} custom-call(a), custom_call_target=\"g\"
  c = f32[1024]{0} custom-call(b), custom_call_target=\"g\"
  ROOT d = f32[4]{0} custom-call(c, a), custom_call_target=\"h\", operand_layout_constraints={f32[1024]{0}, f32[1024]{0}}",
    );
    let value = s.rows.iter().find(|r| r.name.instruction == "a").and_then(|r| r.value).expect("a");
    let program = s.program.as_ref().expect("the program");
    let reads: Vec<(&str, u32)> = droppable_reads(program, value)
        .iter()
        .map(|r| (program.module.name_of(r.reader), r.operand))
        .collect();
    assert_eq!(reads, [("b", 0), ("d", 1)]);
    let t = try_one(&s, Edit::DropRead { reader: "d".into(), operand: 1 });
    assert_eq!(t.edits, ["d does not read a (operand 1)"]);
    assert_eq!((t.before.temp, t.after.temp), (3 * 4096, 2 * 4096));
    assert_eq!(t.soundness, Soundness::Right);
    // What nobody reads is not computed.
    let gone = tried(
        &s,
        &[
            Edit::DropRead { reader: "d".into(), operand: 1 },
            Edit::DropRead { reader: "b".into(), operand: 0 },
        ],
    )
    .expect("both");
    assert!(gone.edits[1].ends_with("what nobody else reads is not computed: a"), "{:?}", gone.edits);
    assert_eq!(gone.study.sequence, ["x", "b", "c", "d"]);
    for (reader, operand, says) in
        [("d", 2, "has 2 operands"), ("x", 0, "has 0 operands"), ("nobody", 0, "no instruction")]
    {
        let e = tried(&s, &[Edit::DropRead { reader: reader.into(), operand }]).expect_err("no such read");
        assert!(e.contains(says), "{e}");
    }
}

#[test]
fn reads_of_fusions_additions_and_updates_are_left_out() {
    let s = study(
        "HloModule m, is_scheduled=true

fused {
  p0 = f32[1024]{0} parameter(0)
  p1 = f32[1024]{0} parameter(1)
  p2 = f32[1024]{0} parameter(2)
  m = f32[1024]{0} multiply(p0, p1)
  ROOT s = f32[1024]{0} add(m, p2)
}

ENTRY main {
  x = f32[1024]{0} parameter(0)
  at = s32[] parameter(1)
  a = f32[1024]{0} custom-call(x), custom_call_target=\"f\"
  b = f32[1024]{0} custom-call(a), custom_call_target=\"g\"
  c = f32[16]{0} custom-call(b), custom_call_target=\"g\"
  f = f32[1024]{0} fusion(b, a, x), kind=kLoop, calls=fused
  g = f32[1024]{0} add(f, b)
  u = f32[1024]{0} dynamic-update-slice(g, c, at)
  ROOT d = f32[4]{0} custom-call(u), custom_call_target=\"h\"
}
",
    );
    let fusion = try_one(&s, Edit::DropRead { reader: "f".into(), operand: 1 });
    assert_eq!(fusion.soundness, Soundness::Right);
    let module = &fusion.study.program.as_ref().expect("the program").module;
    let f = module.instruction_ids().find(|i| module.name_of(*i) == "f").expect("f");
    assert_eq!((module.operands(f).len(), module.instruction(f).opcode), (2, hlo::Opcode::Fusion));
    assert!(hlo::print(module).contains("p1 = f32[1024]{0} broadcast(%p1.zero), dimensions={}"));
    let add = try_one(&s, Edit::DropRead { reader: "g".into(), operand: 1 });
    let module = &add.study.program.as_ref().expect("the program").module;
    assert!(hlo::print(module).contains("add(%f, %f)"));
    assert_eq!(add.soundness, Soundness::Right);
    let update = try_one(&s, Edit::DropRead { reader: "u".into(), operand: 1 });
    let text = hlo::print(&update.study.program.as_ref().expect("the program").module);
    assert!(text.contains("custom-call(%g, %at)") && text.contains("aliasing={{}: (0, {})}"), "{text}");
    // It still writes where it wrote; c, of 64 bytes, is gone.
    assert_eq!(update.before.temp - update.after.temp, 64);
    assert!(!text.contains("%c ="), "{text}");
    assert_eq!(update.soundness, Soundness::Right);
    let e = tried(&s, &[Edit::DropRead { reader: "p0".into(), operand: 0 }]).expect_err("no operand");
    assert!(e.contains("0 operands"), "{e}");
}

#[test]
fn copies_are_left_out_and_put_in() {
    let s = entry(
        ", input_output_alias={ {0}: (1, {}, may-alias), {1}: (0, {}, may-alias) }",
        "  x = f32[1024]{0} parameter(0)
  y = f32[1024]{0} parameter(1)
  copy.x = f32[1024]{0} copy(x)
  copy.y = f32[1024]{0} copy(y)
  ROOT t = (f32[1024]{0}, f32[1024]{0}) tuple(copy.x, copy.y)",
    );
    let without = try_one(&s, Edit::DropCopies);
    assert_eq!(without.edits, ["2 copies are left out"]);
    assert!(without.soundness.is_unsound(), "{:?}", without.soundness);
    let again = tried(&s, &[Edit::DropCopies, Edit::InsertCopies]).expect("copies");
    assert_eq!(again.soundness, Soundness::Right, "{:?}", again.edits);
    assert!(again.after.total > without.after.total);
    let one = try_one(&s, Edit::DropCopy { name: "copy.x".into() });
    assert!(one.after.total <= one.before.total);
    let no_copy = tried(&s, &[Edit::DropCopy { name: "x".into() }]).expect_err("no copy");
    assert_eq!(no_copy, "x is no copy.");
}

#[test]
fn where_no_copy_is_needed_copy_insertion_changes_nothing() {
    // The pass alone would make another order of these.
    let s = entry(
        "",
        "  x = f32[1024]{0} parameter(0)
  y = f32[1024]{0} parameter(1)
  b = f32[1024]{0} custom-call(y), custom_call_target=\"f\"
  c = f32[4]{0} custom-call(b), custom_call_target=\"g\"
  a = f32[1024]{0} reverse(x), dimensions={0}
  ROOT d = f32[4]{0} custom-call(a, c), custom_call_target=\"h\"",
    );
    let t = try_one(&s, Edit::InsertCopies);
    assert_eq!(t.edits, ["copy insertion finds no copy to put in"]);
    assert_eq!(t.study.sequence, s.sequence);
    assert_eq!((t.before, t.soundness), (t.after, Soundness::Right));
}

#[test]
fn inserted_copies_keep_the_schedule() {
    let s = entry(
        ", input_output_alias={ {0}: (1, {}, may-alias), {1}: (0, {}, may-alias) }",
        "  x = f32[1024]{0} parameter(0)
  y = f32[1024]{0} parameter(1)
  b = f32[1024]{0} custom-call(y), custom_call_target=\"f\"
  c = f32[4]{0} custom-call(b), custom_call_target=\"g\"
  a = f32[4]{0} custom-call(x), custom_call_target=\"g\"
  ROOT t = (f32[1024]{0}, f32[1024]{0}, f32[4]{0}, f32[4]{0}) tuple(x, y, a, c)",
    );
    let t = try_one(&s, Edit::InsertCopies);
    assert!(t.study.sequence.len() > s.sequence.len(), "{:?}", t.edits);
    let old: Vec<_> = t.study.sequence.iter().filter(|n| s.sequence.contains(n)).collect();
    // The result is another tuple, of copies.
    assert_eq!(old, ["x", "y", "b", "c", "a"]);
    let module = &t.study.program.as_ref().expect("the program").module;
    assert!(module.is_scheduled);
    assert_eq!(t.soundness, Soundness::Right);
}

#[test]
fn operands_are_numbered_as_they_were() {
    let s = entry(
        "",
        "  x = f32[1024]{0} parameter(0)
  a = f32[1024]{0} custom-call(x), custom_call_target=\"f\"
  b = f32[1024]{0} custom-call(x), custom_call_target=\"g\"
  c = f32[1024]{0} custom-call(x), custom_call_target=\"g\"
  ROOT d = f32[4]{0} custom-call(a, b, c), custom_call_target=\"h\"",
    );
    let drop = |operand| Edit::DropRead { reader: "d".into(), operand };
    let t = tried(&s, &[drop(0), drop(2)]).expect("two reads");
    assert_eq!(t.study.sequence, ["x", "b", "d"]);
    assert!(t.edits[1].starts_with("d does not read c (operand 2)"), "{:?}", t.edits);
    let program = t.study.program.as_ref().expect("the program");
    let value = t.study.rows.iter().find(|r| r.name.instruction == "b").and_then(|r| r.value).expect("b");
    assert_eq!(droppable_reads(program, value).iter().map(|r| r.operand).collect::<Vec<_>>(), [1]);
    let twice = tried(&s, &[drop(0), drop(0)]).expect_err("it is left out");
    assert!(twice.contains("left out already"), "{twice}");
    let beyond = tried(&s, &[drop(0), drop(3)]).expect_err("there are three");
    assert_eq!(beyond, "d has 3 operands, expected a number below that, not 3.");
}

#[test]
fn donations_that_cannot_be_made_say_why() {
    let s = entry(
        "",
        "  x = f32[1024]{0} parameter(0)
  y = f32[16]{0} parameter(1)
  a = f32[1024]{0} negate(x)
  ROOT t = (f32[1024]{0}, f32[16]{0}) tuple(a, y)",
    );
    let donate =
        |parameter, output: &[u32]| Edit::Donate { parameter, index: vec![], output: output.to_vec() };
    let made = try_one(&s, donate(0, &[0]));
    assert_eq!(made.before.total - made.after.total, 4096);
    assert_eq!(made.soundness, Soundness::Right);
    for (edits, says) in [
        (vec![donate(0, &[1])], "argument 0 has 4,096 B, output {1} 64 B"),
        (vec![donate(7, &[1])], "no argument 7"),
        (vec![donate(0, &[7])], "no output {7}"),
        (vec![donate(0, &[])], "one array to one array"),
        (vec![donate(0, &[0]), donate(0, &[0])], "in a donation already"),
        (vec![Edit::Undonate { parameter: 0, index: vec![] }], "argument 0 is not donated"),
        (vec![Edit::DropOutput { output: 4 }], "cannot be left out"),
        (vec![Edit::Alignment { bytes: 3 }], "power of two"),
        (vec![Edit::Alignment { bytes: 0 }], "power of two"),
        (vec![Edit::Alignment { bytes: 1 << 62 }], "power of two"),
        (vec![Edit::Range { name: "a".into(), start: 0, end: 99_999 }], "expected at most 4"),
        (vec![Edit::Algorithm { name: "best".into() }], "best"),
        (vec![Edit::Range { name: "a".into(), start: 3, end: 1 }], "expected the end"),
        (vec![Edit::Range { name: "b".into(), start: 0, end: 1 }], "no value b"),
    ] {
        let e = tried(&s, &edits).expect_err(says);
        assert!(e.contains(says), "{e}");
    }
}

/// On real programs: each instruction can go where its room says, and lands there; each read can be left out; and nothing
/// that keeps the order of reads and writes is unsound.
#[test]
fn every_move_and_every_read_of_real_programs() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/modules");
    let (mut moves, mut reads, mut unsound) = (0, 0, 0);
    for name in ["mlp_grad.txt", "gpu_mlp_grad.txt", "kv_cache_loop.txt", "unet_skip.txt"] {
        let text = std::fs::read_to_string(format!("{folder}/{name}")).expect("a sample");
        let s = study(&text);
        let base = baseline(&s, None).expect("a program");
        let program = s.program.as_ref().expect("the program");
        let module = &program.module;
        for (n, i) in program.facts.clock.sequence.iter().enumerate() {
            let Ok(r) = room(program, *i) else { continue };
            assert!(r.steps().any(|step| step == r.now), "{name}: {r:?}");
            // A few of them: each is a whole run.
            if n % 2 == 0 && r.earliest < r.latest {
                for to in [r.earliest, r.latest] {
                    let edit = Edit::Move { name: module.name_of(*i).into(), to };
                    let t = try_edits(&s, &base, &[edit]).unwrap_or_else(|e| panic!("{name}: {e}"));
                    let there = t.study.sequence.iter().position(|x| x == module.name_of(*i));
                    assert_eq!(there, Some(to as usize), "{name}: {}", module.name_of(*i));
                    assert_eq!(t.study.sequence.len(), s.sequence.len());
                    assert!(
                        !matches!(t.soundness, Soundness::Wrong(_) | Soundness::Unknown(_)),
                        "{:?}",
                        t.soundness
                    );
                    unsound += usize::from(t.soundness.is_unsound());
                    moves += 1;
                }
            }
        }
        for value in program.facts.values().filter(|v| v.id.index() % 3 == 0) {
            for read in droppable_reads(program, value.id) {
                let edit =
                    Edit::DropRead { reader: module.name_of(read.reader).into(), operand: read.operand };
                let t = try_edits(&s, &base, &[edit]).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert!(
                    !matches!(t.soundness, Soundness::Wrong(_) | Soundness::Unknown(_)),
                    "{:?}",
                    t.soundness
                );
                reads += 1;
            }
        }
    }
    assert!(moves > 20 && reads > 20, "{moves} {reads} {unsound}");
}

#[test]
fn a_kept_edit_of_another_version_is_refused() {
    for text in [
        r#"{"edit":"fly","name":"a"}"#,
        r#"{"edit":"move","name":"a"}"#,
        r#"{"edit":"move","name":"a","to":1,"x":2}"#,
    ] {
        assert!(serde_json::from_str::<Edit>(text).is_err(), "{text}");
    }
    let text = serde_json::to_string(&Edit::DropRead { reader: "a".into(), operand: 1 }).expect("plain data");
    assert_eq!(text, r#"{"edit":"drop-read","reader":"a","operand":1}"#);
}

#[test]
fn why_an_output_cannot_be_left_out() {
    let why = |s: &Study, output| tried(s, &[Edit::DropOutput { output }]).expect_err("refused");
    let one = entry("", "  x = f32[64]{0} parameter(0)\n  ROOT a = f32[64]{0} negate(x)");
    assert_eq!(
        why(&one, 0),
        "Output {0} cannot be left out. The program returns one array and no tuple: there is no part of it to leave out."
    );
    let two = entry(
        ", input_output_alias={ {0}: (0, {}, may-alias) }",
        "  x = f32[64]{0} parameter(0)
  a = f32[64]{0} negate(x)
  b = f32[64]{0} negate(a)
  ROOT t = (f32[64]{0}, f32[64]{0}) tuple(a, b)",
    );
    assert!(why(&two, 0).ends_with(
        "Argument 0 is donated to output {0}, which would be gone; take the donation back first."
    ));
    assert!(why(&two, 5).ends_with("There is no output {5}: the program returns 2, numbered from 0."));
    let without = [Edit::Undonate { parameter: 0, index: vec![] }, Edit::DropOutput { output: 0 }];
    assert!(tried(&two, &without).is_ok());
    let only = entry(
        "",
        "  x = f32[64]{0} parameter(0)\n  a = f32[64]{0} negate(x)\n  ROOT t = (f32[64]{0}) tuple(a)",
    );
    assert!(why(&only, 0).contains("the only output"));
    let whole = entry(
        "",
        "  x = f32[64]{0} parameter(0)\n  ROOT t = (f32[64]{0}, f32[64]{0}) custom-call(x), custom_call_target=\"f\"",
    );
    assert!(why(&whole, 1).contains("made whole by a custom-call"));
}

#[test]
fn parameters_do_not_move_in_any_way() {
    let s = entry("", "  x = f32[64]{0} parameter(0)\n  ROOT a = f32[64]{0} negate(x)");
    let expected = "x is a parameter: it is there when its computation begins.";
    for edit in [
        Edit::Move { name: "x".into(), to: 1 },
        Edit::Later { names: vec!["x".into()] },
        Edit::Sooner { name: "x".into() },
    ] {
        assert_eq!(tried(&s, &[edit]).expect_err("refused"), expected);
    }
}

#[test]
fn copy_insertion_leaves_what_nobody_reads() {
    // A transfer ahead of the next program: clearing it away would look like something that copies save.
    let s = entry(
        "",
        "  x = f32[1024]{0} parameter(0)
  start = (f32[1024]{0}, f32[1024]{0}, u32[]) copy-start(x)
  done = f32[1024]{0} copy-done(start)
  ROOT a = f32[1024]{0} negate(x)",
    );
    let t = try_one(&s, Edit::InsertCopies);
    assert_eq!(t.edits, ["copy insertion finds no copy to put in"]);
    assert_eq!((t.study.sequence, t.before), (s.sequence, t.after));
}

#[test]
fn a_name_as_it_is_shown_will_do() {
    let long = "a".repeat(1000);
    let s = entry(
        "",
        &format!(
            "  x = f32[64]{{0}} parameter(0)
  {long} = f32[64]{{0}} reverse(x), dimensions={{0}}
  b = f32[64]{{0}} reverse(x), dimensions={{0}}
  ROOT c = f32[64]{{0}} custom-call({long}, b), custom_call_target=\"f\""
        ),
    );
    let shown = format!("{}… (600 characters more)", "a".repeat(400));
    let moved = try_one(&s, Edit::Move { name: shown.clone(), to: 2 });
    assert_eq!(moved.study.sequence[2], long);
    try_one(&s, Edit::Range { name: shown, start: 1, end: 1 });
    let other = format!("{}… (601 characters more)", "a".repeat(400));
    let refused = tried(&s, &[Edit::Move { name: other, to: 2 }]).expect_err("another name");
    assert!(refused.starts_with("There is no instruction aaa") && refused.len() < 300, "{refused}");
}
