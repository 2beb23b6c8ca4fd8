//! Copies in modules that XLA compiled from programs that people ask about, cut down to the text that matters.

use analysis::{Backend, Facts, Orders, Target};
use questions::{Cause, Copy, CopyKind, Extra, Program, Study};

fn study(backend: Backend, text: &str) -> Study {
    let module = hlo::read(text).complete().unwrap_or_else(|d| panic!("{d:?}"));
    let target = Target::tuned(backend, &module);
    let facts = Facts::new(&module, Orders::guess(&module, &target), target).expect("facts");
    Study::of_program(Program::new(module, facts), &assigner::Options::default())
}

/// What is told of the copies of a module.
struct Told {
    study: Study,
    copies: Vec<Copy>,
    causes: Vec<Cause>,
}

impl Told {
    fn new(backend: Backend, text: &str) -> Self {
        let study = study(backend, text);
        let copies = questions::copies(&study);
        let (causes, unknown) = questions::causes(&study, &copies);
        assert_eq!(unknown, None);
        Self { study, copies, causes }
    }

    fn label(&self, copy: &Copy) -> String {
        copy.label(&self.study.program.as_ref().expect("the program").module)
    }

    fn copy(&self, label: &str) -> &Copy {
        let found = self.copies.iter().find(|c| self.label(c) == label);
        found.unwrap_or_else(|| panic!("no {label} in {:?}", self.labels()))
    }

    fn labels(&self) -> Vec<String> {
        self.copies.iter().map(|c| self.label(c)).collect()
    }

    fn cause(&self, label: &str) -> (String, String) {
        let copy = self.copy(label);
        let cause = self.causes.iter().find(|c| (c.copy, c.part) == (copy.instruction, copy.part));
        let cause = cause.unwrap_or_else(|| panic!("no cause of {label}"));
        (cause.words.join(" "), cause.removes.join("; "))
    }

    #[track_caller]
    fn check(&self, label: &str, kind: CopyKind, argument: Option<u32>, words: &str) {
        let copy = self.copy(label);
        assert_eq!((copy.kind, copy.argument), (kind, argument), "{label}");
        let told = self.cause(label).0;
        assert!(told.contains(words), "{label}: {told}");
    }
}

/// Fusions that do nothing but turn an argument round are copies of it, and no layout but the right one takes them away.
#[test]
fn arguments_are_laid_out_anew_in_fusions() {
    let told = Told::new(Backend::Cpu, include_str!("data/heads_cpu.hlo"));
    assert_eq!(told.labels(), ["transpose_copy_fusion.1", "transpose_copy_fusion"]);
    told.check(
        "transpose_copy_fusion.1",
        CopyKind::Relayout,
        Some(0),
        "q.1 gives f32[2,128,4,64]{3,2,1,0}, and",
    );
    assert_eq!(
        told.cause("transpose_copy_fusion.1").1,
        "hand over argument 0 laid out as f32[2,128,4,64]{3,1,2,0}"
    );
    assert_eq!(
        told.cause("transpose_copy_fusion").1,
        "hand over argument 1 laid out as f32[2,128,4,64]{1,3,2,0}"
    );
    let table = questions::donation(&told.study).expect("the program");
    for a in &table.arguments {
        assert!(
            matches!(a.extras[..], [Extra::Otherwise { kind: CopyKind::Relayout, bytes: 262_144, .. }]),
            "{a:?}"
        );
    }
    let notes = questions::notes(&told.study, &questions::peak(&told.study));
    assert_eq!(notes.iter().filter(|n| n.name == "relayout").count(), 2, "{notes:?}");
}

/// The layout that is asked for makes the copy needless: the argument then lies as the copy does.
#[test]
fn the_layout_that_is_asked_for_is_the_right_one() {
    let told = Told::new(Backend::Cpu, include_str!("data/heads_cpu.hlo"));
    for (label, wanted) in [("transpose_copy_fusion.1", "{3,1,2,0}"), ("transpose_copy_fusion", "{1,3,2,0}")]
    {
        let removes = told.cause(label).1;
        assert!(removes.ends_with(wanted), "{removes}");
        // The same fusion of an argument laid out so moves nothing.
        let text = include_str!("data/heads_cpu.hlo")
            .replace("f32[2,128,4,64]{3,2,1,0}", &format!("f32[2,128,4,64]{wanted}"))
            .replace("f32[2,4,64,128]{2,1,3,0} transpose", "f32[2,4,64,128]{3,2,1,0} transpose")
            .replace("f32[2,4,128,64]{3,1,2,0} transpose", "f32[2,4,128,64]{3,2,1,0} transpose")
            .replace(" copy(transpose", " bitcast(transpose");
        let again = study(Backend::Cpu, &text);
        let left = questions::copies(&again);
        assert_eq!(left.len(), 1, "the other argument lies as before, in a wrong order");
        let module = &again.program.as_ref().expect("the program").module;
        assert!(left.iter().all(|c| c.label(module) != label), "{label}: {left:?}");
    }
}

/// Each element of a fusion's result that is a copy counts, with its own reader; what is computed does not.
#[test]
fn a_fusion_with_several_results_may_be_several_copies() {
    let told = Told::new(
        Backend::Cpu,
        "HloModule m, is_scheduled=true

fused {
  a = f32[64,32]{1,0} parameter(0)
  b = f32[32,64]{1,0} parameter(1)
  t = f32[32,64]{1,0} transpose(a), dimensions={1,0}
  n = f32[32,64]{1,0} add(t, b)
  d = bf16[32,64]{1,0} convert(b)
  r = f32[32,64]{1,0} convert(d)
  i = bf16[32,64]{1,0} bitcast(d)
  ROOT all = (f32[32,64]{1,0}, f32[32,64]{1,0}, bf16[32,64]{1,0}, f32[32,64]{1,0}) tuple(n, t, i, r)
}

ENTRY e {
  x = f32[64,32]{1,0} parameter(0)
  y = f32[32,64]{1,0} parameter(1)
  f = (f32[32,64]{1,0}, f32[32,64]{1,0}, bf16[32,64]{1,0}, f32[32,64]{1,0}) fusion(x, y), kind=kLoop, calls=fused
  n = f32[32,64]{1,0} get-tuple-element(f), index=0
  t = f32[32,64]{1,0} get-tuple-element(f), index=1
  d = bf16[32,64]{1,0} get-tuple-element(f), index=2
  r = f32[32,64]{1,0} get-tuple-element(f), index=3
  one = f32[32,64]{1,0} multiply(t, n)
  two = bf16[32,64]{1,0} negate(d)
  three = f32[32,64]{1,0} negate(r)
  ROOT o = (f32[32,64]{1,0}, bf16[32,64]{1,0}, f32[32,64]{1,0}) tuple(one, two, three)
}
",
    );
    // What is rounded and widened again is other data.
    assert_eq!(told.labels(), ["f{1}", "f{2}"]);
    told.check("f{1}", CopyKind::Relayout, Some(0), "and one reads");
    told.check("f{2}", CopyKind::Narrowing, Some(1), "and two reads");
}

/// The loop runs sixteen times, as its counter tells; the weights in narrower elements are made before it and kept to its end.
/// They are no attention scores.
#[test]
fn weights_are_converted_before_a_loop() {
    let told = Told::new(Backend::Tpu, include_str!("data/bf16_matmul_f32_weights_tpu.hlo"));
    told.check("convert", CopyKind::Narrowing, Some(0), "and while reads bf16[16,2048,2048]");
    assert_eq!((told.copy("convert").bytes, told.copy("convert").runs), (128 << 20, Some(1)));
    assert_eq!(told.copy("copy.11").runs, Some(16));
    let sum = questions::written(&told.study, &told.copies);
    assert_eq!((sum.is_uncounted, sum.has_branches), (false, false));
    let by_hand = (128 << 20) + 16 * (1 << 20) + 2 * (1 << 20) + 16 * 512 + 512;
    assert_eq!(sum.bytes, by_hand, "{:?}", told.copies);
    // What is fetched back in the end is the result.
    told.check("copy-start", CopyKind::Transfer, None, "as a part of the result.");
    let notes = questions::notes(&told.study, &questions::peak(&told.study));
    assert!(notes.iter().all(|n| n.name != "square"), "{notes:?}");
    let narrowed = notes.iter().find(|n| n.name == "narrowed").expect("the note");
    assert_eq!(narrowed.bytes, 128 << 20);
    told.check("copy.11", CopyKind::Plain, None, "fusion.13 would write where its operand 0 stands");
}

/// Of the branches one runs, so the dearest counts. The four bytes are the choice itself, a predicate made an integer.
#[test]
fn one_branch_is_taken() {
    let told = Told::new(Backend::Cpu, include_str!("data/cond_swap_cpu.hlo"));
    let sum = questions::written(&told.study, &told.copies);
    assert_eq!((sum.bytes, sum.is_uncounted, sum.has_branches), ((16 << 20) + 4, false, true));
    let branch = |label: &str| told.copy(label).branch.map(|b| b.1);
    assert_eq!(
        ["copy", "copy.1", "copy.2", "copy.3", "copy.6", "copy.7"].map(branch),
        [Some(0), Some(0), Some(1), Some(1), None, None]
    );
}

/// A loop whose count nobody knows is said to be taken once.
#[test]
fn a_loop_without_a_count_is_told() {
    let text = include_str!("data/bf16_matmul_f32_weights_tpu.hlo");
    let text = text.replace("add(copy.2, constant.12..sunk)", "multiply(copy.2, constant.12..sunk)");
    let told = Told::new(Backend::Tpu, &text);
    let sum = questions::written(&told.study, &told.copies);
    assert!(sum.is_uncounted && sum.caveat().contains("taken once"), "{sum:?}");
    assert_eq!(told.copy("copy.11").runs, None);
}

/// What a program fetches for its next run is read by that.
#[test]
fn an_argument_is_fetched_for_the_next_run() {
    let told = Told::new(Backend::Tpu, include_str!("data/heads_tpu.hlo"));
    told.check("copy-start", CopyKind::Transfer, Some(0), "Fetched before the program starts");
    told.check("copy-start.1", CopyKind::Transfer, Some(0), "for the next run");
    told.check("copy", CopyKind::Relayout, None, "the result is");
}

/// Two copies keep the old state of a loop from the new one. Only with region analysis, as libtpu runs it, the pass makes both.
#[test]
fn a_copy_at_the_end_of_a_loop_has_its_cause() {
    let told = Told::new(Backend::Tpu, include_str!("data/late_read_tpu.hlo"));
    told.check(
        "copy.9",
        CopyKind::Plain,
        None,
        "Made because what the body of loop while leaves as state {1} must get to the state's place.",
    );
    let (words, removes) = told.cause("copy.9");
    assert!(words.contains("multiply_reduce_fusion.2 reads wide.arg_tuple.0{1}"), "{words}");
    assert!(removes.contains("let multiply_reduce_fusion.2 not read get-tuple-element.49"), "{removes}");
    let (words, _) = told.cause("copy");
    assert!(words.contains("written where wide.arg_tuple.0{1} stands"), "{words}");
    assert!(!words.contains("the module has not"), "{words}");
    assert_eq!((told.copy("copy").runs, told.copy("copy.9").runs), (Some(64), Some(64)));
}

/// An update through a bitcast works in place, yet sharing wants one shape: so there is a copy, and that is said.
#[test]
fn a_bitcast_before_an_update_costs_a_copy() {
    let text = include_str!("data/bitcast_between_cpu.hlo");
    let told = Told::new(Backend::Cpu, text);
    told.check(
        "copy.3",
        CopyKind::Plain,
        Some(0),
        "dynamic-update-slice_bitcast_fusion writes over its operand 0, and XLA wants operand and result to be of one shape for that; they are f32[8192,128] and f32[64,128,128]",
    );
    // It is so: with one shape the pass makes none.
    let text = text
        .replace("ROOT bitcast.2 = f32[64,128,128]{2,1,0} bitcast(dynamic_update_slice.0)", "")
        .replace("  dynamic_update_slice.0 =", "  ROOT dynamic_update_slice.0 =")
        .replace("  copy.3 = f32[8192,128]{1,0} copy(bitcast)\n", "")
        .replace(
            "ROOT dynamic-update-slice_bitcast_fusion = f32[64,128,128]{2,1,0} fusion(copy.3, u.1)",
            "f = f32[8192,128]{1,0} fusion(bitcast, u.1)",
        )
        .replace(
            "calls=fused_computation\n}",
            "calls=fused_computation\n  ROOT r = f32[64,128,128]{2,1,0} bitcast(f)\n}",
        )
        .replace("-> f32[64,128,128] {\n  param_0.1", "-> f32[8192,128] {\n  param_0.1");
    let module = hlo::read(&text).complete().unwrap_or_else(|d| panic!("{d:?}\n{text}"));
    let target = Target::new(Backend::Cpu);
    let orders = copy_insertion::guess_orders(&module, &target);
    let outcome =
        copy_insertion::insert_copies(&module, &orders, &target, copy_insertion::Options::default());
    let outcome = outcome.expect("copies");
    assert!(outcome.copies.iter().all(|c| c.fate != copy_insertion::Fate::Stayed), "{:?}", outcome.copies);
}

/// Slices that go to the host's memory and back, beside other work, are transfers.
#[test]
fn pieces_go_to_the_host_and_back() {
    let told = Told::new(
        Backend::Tpu,
        "HloModule m, is_scheduled=true

put {
  all = f32[8,8192,2048]{2,1,0:T(8,128)S(5)} parameter(0)
  one = f32[1,8192,2048]{2,1,0:T(8,128)} parameter(1)
  i = s32[]{:T(128)} parameter(2)
  j = s32[]{:T(128)} parameter(3)
  ROOT u = f32[8,8192,2048]{2,1,0:T(8,128)S(5)} dynamic-update-slice(all, one, i, j, j)
}

get {
  all = f32[8,8192,2048]{2,1,0:T(8,128)S(5)} parameter(0)
  i = s32[]{:T(128)} parameter(1)
  j = s32[]{:T(128)} parameter(2)
  ROOT s = f32[1,8192,2048]{2,1,0:T(8,128)} dynamic-slice(all, i, j, j), dynamic_slice_sizes={1,8192,2048}
}

ENTRY e {
  x = f32[1,8192,2048]{2,1,0:T(8,128)} parameter(0)
  host = f32[8,8192,2048]{2,1,0:T(8,128)S(5)} custom-call(), custom_call_target=\"AllocateBuffer\"
  i = s32[]{:T(128)} constant(3)
  zero = s32[]{:T(128)} constant(0)
  y = f32[1,8192,2048]{2,1,0:T(8,128)} tanh(x)
  there = ((f32[8,8192,2048]{2,1,0:T(8,128)S(5)}, f32[1,8192,2048]{2,1,0:T(8,128)}, s32[]{:T(128)}, s32[]{:T(128)}), f32[8,8192,2048]{2,1,0:T(8,128)S(5)}, u32[]{:S(2)}) async-start(host, y, i, zero), calls=put
  is-there = f32[8,8192,2048]{2,1,0:T(8,128)S(5)} async-done(there)
  back = ((f32[8,8192,2048]{2,1,0:T(8,128)S(5)}, s32[]{:T(128)}, s32[]{:T(128)}), f32[1,8192,2048]{2,1,0:T(8,128)}, u32[]{:S(2)}) async-start(is-there, i, zero), calls=get
  is-back = f32[1,8192,2048]{2,1,0:T(8,128)} async-done(back)
  ROOT r = f32[1,8192,2048]{2,1,0:T(8,128)} negate(is-back)
}
",
    );
    for label in ["there", "back"] {
        assert_eq!(told.copy(label).bytes, 64 << 20, "{label}");
    }
    told.check("there", CopyKind::Transfer, None, "Goes from memory space 0 (HBM) to memory space 5 (host)");
    told.check(
        "back",
        CopyKind::Transfer,
        None,
        "A part of it goes from memory space 5 (host) to memory space 0 (HBM), where r reads it",
    );
}

/// What a copy saves is one thing, and that its result was put into fast memory another; a layout that changes on the way is a
/// re-layout all the same. An output that came through fast memory is a copy of its argument.
#[test]
fn copies_into_another_memory_space_have_their_causes() {
    let told = Told::new(
        Backend::Tpu,
        "HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }

ENTRY e {
  x = f32[64,128]{1,0:T(8,128)} parameter(0)
  y = f32[64,128]{1,0:T(8,128)} parameter(1)
  u = f32[8,128]{1,0:T(8,128)} parameter(2)
  i = s32[]{:T(128)} constant(0)
  begin = (f32[64,128]{1,0:T(8,128)S(1)}, f32[64,128]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(y)
  saved = f32[64,128]{1,0:T(8,128)S(1)} copy(x)
  turned = f32[64,128]{0,1:T(8,128)S(1)} copy(y)
  d = f32[64,128]{1,0:T(8,128)} dynamic-update-slice(x, u, i, i)
  s = f32[64,128]{1,0:T(8,128)} add(saved, d)
  t = f32[64,128]{0,1:T(8,128)} negate(turned)
  end = f32[64,128]{1,0:T(8,128)S(1)} copy-done(begin)
  home = f32[64,128]{1,0:T(8,128)} copy(end)
  ROOT o = (f32[64,128]{1,0:T(8,128)}, f32[64,128]{1,0:T(8,128)}, f32[64,128]{0,1:T(8,128)}, f32[64,128]{1,0:T(8,128)}) tuple(d, s, t, home)
}
",
    );
    told.check("saved", CopyKind::Transfer, Some(0), "Made because d writes over its operand 0.");
    told.check(
        "saved",
        CopyKind::Transfer,
        Some(0),
        "It goes from memory space 0 (HBM) to memory space 1 (VMEM).",
    );
    told.check(
        "turned",
        CopyKind::Relayout,
        Some(1),
        "It goes from memory space 0 (HBM) to memory space 1 (VMEM).",
    );
    assert_eq!(told.cause("turned").1, "hand over argument 1 laid out as f32[64,128]{0,1:T(8,128)}");
    let table = questions::donation(&told.study).expect("the program");
    assert_eq!(table.outputs[3].copy_of.map(|c| c.0), Some(1));
}
