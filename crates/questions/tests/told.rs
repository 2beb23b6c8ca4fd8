//! What is told first, and what must not be told: each of a small module that shows one situation.

use analysis::{Backend, Facts, Orders, Target};
use questions::{CopyKind, Effort, Program, Study, WhyNot, advise, donation, notes, peak};

fn study_on(backend: Backend, text: &str) -> Study {
    let module = hlo::read(text).complete().unwrap_or_else(|d| panic!("{d:?}"));
    let target = Target::new(backend);
    let facts = Facts::new(&module, Orders::guess(&module, &target), target).expect("facts");
    Study::of_program(Program::new(module, facts), &assigner::Options::default())
}

fn study(text: &str) -> Study {
    study_on(Backend::Cpu, text)
}

/// All notes, a line each.
fn told(s: &Study) -> String {
    let all: Vec<String> = notes(s, &peak(s)).iter().map(|n| format!("{}: {}", n.name, n.words)).collect();
    all.join("\n")
}

fn name(s: &Study, id: hlo::InstructionId) -> &str {
    s.program.as_ref().expect("the program").module.name_of(id)
}

/// A model of three lines and a loss of two: the loss holds most, though none of its values is the largest group.
const TRAINING: &str = "HloModule m, is_scheduled=true

FileNames
1 \"/home/someone/train.py\"

FunctionNames
1 \"main.<locals>.model\"
2 \"main.<locals>.loss\"
3 \"main.<locals>.loss.<locals>.<lambda>\"

FileLocations
1 {file_name_id=1 function_name_id=1 line=8 end_line=8 column=1 end_column=2}
2 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=1 end_column=2}
3 {file_name_id=1 function_name_id=1 line=15 end_line=15 column=1 end_column=2}
4 {file_name_id=1 function_name_id=2 line=19 end_line=19 column=1 end_column=2}
5 {file_name_id=1 function_name_id=3 line=20 end_line=20 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=3 parent_frame_id=3}
4 {file_location_id=4 parent_frame_id=4}
5 {file_location_id=5 parent_frame_id=5}

ENTRY main {
  x = f32[1024]{0} parameter(0)
  h = f32[1024]{0} custom-call(x), custom_call_target=\"h\", metadata={op_name=\"jit(step)/jvp(Net)/layers_1/dot\" stack_frame_id=1}
  i = f32[1024]{0} custom-call(h), custom_call_target=\"i\", metadata={op_name=\"jit(step)/jvp(Net)/layers_2/dot\" stack_frame_id=2}
  j = f32[1024]{0} custom-call(i), custom_call_target=\"j\", metadata={op_name=\"jit(step)/jvp(Net)/layers_3/dot\" stack_frame_id=3}
  a = f32[1024]{0} custom-call(x), custom_call_target=\"a\", metadata={op_name=\"jit(step)/jvp(jit(log_softmax))/sub\" stack_frame_id=4}
  b = f32[1024]{0} custom-call(a), custom_call_target=\"b\", metadata={op_name=\"jit(step)/transpose(jvp(jit(log_softmax)))/exp\" stack_frame_id=4}
  c = f32[1024]{0} custom-call(b), custom_call_target=\"c\", metadata={op_name=\"jit(step)/jvp()/gather\" stack_frame_id=4}
  ROOT r = f32[] custom-call(h, i, j, a, b, c), custom_call_target=\"r\"
}
";

#[test]
fn the_place_that_holds_most_is_told_first() {
    let s = study(TRAINING);
    let notes = notes(&s, &peak(&s));
    assert_eq!(
        notes[0].words,
        "The place that holds most at the peak of memory space 0 is loss, log_softmax (train.py:19): 12,288 B (12.0 KiB) in 3 values, 50 % of what is alive. Next: model, Net/layers_1 (train.py:8) 17 %, model, Net/layers_2 (train.py:12) 17 %."
    );
    // Lines next to each other are of one place if they are of one function: the function itself, not one inside.
    let beside =
        study(&TRAINING.replace("jvp()/gather\" stack_frame_id=4", "jvp()/gather\" stack_frame_id=5"));
    let space = peak(&beside).spaces[0].clone();
    let places = questions::places(&beside, &space.slots);
    assert_eq!((places[0].lines.as_str(), places[0].slots.len()), ("train.py:19–20", 3));
    // Where one line has all, as of a library, scopes tell more.
    let mut library = TRAINING.to_owned();
    for id in 1..6 {
        library = library
            .replace(&format!("\n{id} {{file_location_id={id}"), &format!("\n{id} {{file_location_id=1"));
    }
    let library = study(&library);
    let places = questions::places(&library, &peak(&library).spaces[0].slots);
    assert_eq!(
        places.iter().map(questions::Place::name).collect::<Vec<_>>(),
        ["model, Net/layers_* (train.py:8)", "model, log_softmax (train.py:8)"]
    );
}

/// An argument that a fusion only turns round or converts is copied; one that it only looks at otherwise is not.
#[test]
fn an_argument_in_another_order_or_narrower_is_a_copy() {
    let s = study(
        "HloModule m, is_scheduled=true

turn {
  p = f32[64,32]{1,0} parameter(0)
  t = f32[32,64]{0,1} transpose(p), dimensions={1,0}
  ROOT c = f32[32,64]{1,0} copy(t)
}

both {
  p.1 = f32[64,32]{1,0} parameter(0)
  q = f32[64,32]{1,0} parameter(1)
  n = bf16[64,32]{1,0} convert(p.1)
  k = f32[64,32]{0,1} copy(q)
  b = f32[2048]{0} bitcast(k)
  ROOT o = (bf16[64,32]{1,0}, f32[2048]{0}) tuple(n, b)
}

looks {
  p.2 = f32[64,32]{1,0} parameter(0)
  ROOT t.2 = f32[32,64]{0,1} transpose(p.2), dimensions={1,0}
}

ENTRY main {
  w = f32[64,32]{1,0} parameter(0)
  v = f32[64,32]{1,0} parameter(1)
  turned = f32[32,64]{1,0} fusion(w), kind=kLoop, calls=turn
  narrow = (bf16[64,32]{1,0}, f32[2048]{0}) fusion(w, v), kind=kLoop, calls=both
  same = f32[32,64]{0,1} fusion(v), kind=kLoop, calls=looks
  n.1 = bf16[64,32]{1,0} get-tuple-element(narrow), index=0
  k.1 = f32[2048]{0} get-tuple-element(narrow), index=1
  ROOT r = f32[] custom-call(turned, n.1, k.1, same), custom_call_target=\"r\"
}
",
    );
    let mut found: Vec<(&str, CopyKind, Option<u32>)> =
        questions::copies(&s).iter().map(|c| (name(&s, c.instruction), c.kind, c.argument)).collect();
    found.sort();
    assert_eq!(
        found,
        [
            ("narrow", CopyKind::Relayout, Some(1)),
            ("narrow", CopyKind::Narrowing, Some(0)),
            ("turned", CopyKind::Relayout, Some(0)),
        ]
    );
    let told = told(&s);
    assert!(
        told.contains("narrow is argument 0 (w) as a whole with narrower elements: 4,096 B (4.0 KiB)."),
        "{told}"
    );
    let (causes, _) = questions::causes(&s, &questions::copies(&s));
    assert!(causes.iter().all(|c| !c.words.is_empty()) && causes.len() == 3, "{causes:?}");
}

fn looped(body: &str, state: &str, init: &str) -> Study {
    study(&format!(
        "HloModule m, is_scheduled=true

half {{
  h = f32[10,256]{{1,0}} parameter(0)
  ROOT hc = f32[10,256]{{1,0}} copy(h)
}}

other {{
  g = f32[10,256]{{1,0}} parameter(0)
  gc = f32[10,256]{{1,0}} copy(g)
  ROOT gd = f32[10,256]{{1,0}} copy(gc)
}}

body {{
  state = {state} parameter(0)
  i = s32[] get-tuple-element(state), index=0
  array = f32[10,256]{{1,0}} get-tuple-element(state), index=1
  one = s32[] constant(1)
  zero = s32[] constant(0)
{body}
  next = s32[] add(i, one)
  ROOT out = {state} tuple(next, written)
}}

condition {{
  state.1 = {state} parameter(0)
  i.1 = s32[] get-tuple-element(state.1), index=0
  ten = s32[] constant(10)
  ROOT less = pred[] compare(i.1, ten), direction=LT
}}

ENTRY main {{
  x = f32[10,256]{{1,0}} parameter(0)
  start = s32[] constant({init})
  begin = s32[] copy(start)
  own = f32[10,256]{{1,0}} negate(x)
  init = {state} tuple(begin, own)
  loop = {state} while(init), condition=condition, body=body
  filled = f32[10,256]{{1,0}} get-tuple-element(loop), index=1
  ROOT r = f32[10,256]{{1,0}} reverse(filled), dimensions={{0}}
}}
"
    ))
}

const STATE: &str = "(s32[], f32[10,256]{1,0})";

/// A stack is written and not read, one element a round.
#[test]
fn what_a_loop_changes_in_place_is_no_stack() {
    let write = "  element = f32[1,256]{1,0} custom-call(i), custom_call_target=\"make\"
  written = f32[10,256]{1,0} dynamic-update-slice(array, element, i, zero)";
    let is_stack = |s: &Study| questions::stack(s, s.find("loop{1}").expect("a value")).is_some();
    assert!(is_stack(&looped(write, STATE, "0")));
    // Three rounds do not fill ten elements.
    assert!(!is_stack(&looped(write, STATE, "7")));
    let read = write.replace(
        "  element = f32[1,256]{1,0} custom-call(i)",
        "  old = f32[1,256]{1,0} dynamic-slice(array, i, zero), dynamic_slice_sizes={1,256}
  element = f32[1,256]{1,0} custom-call(old)",
    );
    assert!(!is_stack(&looped(&read, STATE, "0")));
}

/// Of two branches one runs, and a loop's count is in its counter.
#[test]
fn copies_in_branches_and_in_loops_count_as_often_as_they_run() {
    let s = looped(
        "  which = pred[] custom-call(i), custom_call_target=\"which\"
  written = f32[10,256]{1,0} conditional(which, array, array), true_computation=half, false_computation=other",
        STATE,
        "0",
    );
    let copies = questions::copies(&s);
    let of = |text: &str| copies.iter().find(|c| name(&s, c.instruction) == text).expect("a copy");
    assert_eq!((of("hc").runs, of("hc").branch.map(|b| b.1)), (Some(10), Some(0)));
    assert_eq!(of("gd").branch.map(|b| b.1), Some(1));
    let array = 10 * 256 * 4;
    let sum = questions::written(&s, &copies);
    let moved = |text: &str| if of(text).in_place { 0 } else { array };
    let once = moved("hc").max(moved("gc") + moved("gd"));
    let rest: u64 = copies.iter().filter(|c| c.bytes < array).map(questions::Copy::written).sum();
    assert_eq!((sum.bytes, sum.is_uncounted, sum.has_branches), (10 * once + rest, false, true));
    assert!(sum.caveat().contains("of branches the one that writes most"));
}

/// An argument that would be read after its output is written: it is named, and the others are donated together.
#[test]
fn a_donation_that_loses_a_value_is_named_and_does_not_spoil_the_others() {
    let s = study(
        "HloModule m, is_scheduled=true

ENTRY main {
  a = f32[256]{0} parameter(0)
  b = f32[256]{0} parameter(1)
  c = f32[256]{0} parameter(2)
  d = f32[256]{0} reverse(a), dimensions={0}
  f = f32[256]{0} negate(b)
  g = f32[256]{0} add(c, d)
  ROOT r = (f32[256]{0}, f32[256]{0}, f32[256]{0}) tuple(d, f, g)
}
",
    );
    let found = advise(&s, Effort::default(), &mut |_, _| true);
    let words: Vec<&str> = found.unsound.iter().map(|u| u.words.as_str()).collect();
    assert_eq!(words.len(), 1, "{found:?}");
    assert!(
        words[0].starts_with("Argument 0 (a) cannot be donated to output {0} as the program stands: ")
            && words[0].contains("operand 0 (a, there from the start)"),
        "{words:?}"
    );
    assert_eq!(
        found.advice[0].words,
        "Donate 2 arguments that fit outputs, by none of which a value is lost: saves 2,048 B (2.0 KiB)."
    );
}

/// Memory of the host is none for an output on the device.
#[test]
fn an_argument_in_another_memory_space_fits_no_output() {
    let s = study_on(
        Backend::Tpu,
        "HloModule m, is_scheduled=true, buffer_donor={ (1, {}) }

ENTRY main {
  a = f32[8,128]{1,0:T(8,128)S(5)} parameter(0)
  b = f32[8,128]{1,0:T(8,128)S(5)} parameter(1)
  c = f32[8,128]{1,0:T(8,128)} parameter(2)
  ROOT r = f32[8,128]{1,0:T(8,128)} negate(c)
}
",
    );
    let table = donation(&s).expect("a table");
    assert!(
        table.arguments[0].words().contains("no free output has its size"),
        "{}",
        table.arguments[0].words()
    );
    assert!(
        matches!(&table.arguments[1].state, questions::State::NotTaken(why) if why[0].1 == WhyNot::Space)
    );
    assert_eq!(table.could_save, 4096);
}

/// What is marked as recomputed and read on the way forward is the original.
#[test]
fn a_merged_recomputation_is_none() {
    let text = |reader: &str| {
        format!(
            "HloModule m, is_scheduled=true

ENTRY main {{
  x = f32[65536]{{0}} parameter(0)
  a = f32[65536]{{0}} custom-call(x), custom_call_target=\"a\", metadata={{op_name=\"jit(f)/transpose(jvp())/checkpoint/rematted_computation/dot\"}}
  b = f32[65536]{{0}} custom-call(a), custom_call_target=\"b\", metadata={{op_name=\"{reader}\"}}
  ROOT c = f32[65536]{{0}} custom-call(a, b), custom_call_target=\"c\", metadata={{op_name=\"jit(f)/transpose(jvp())/mul\"}}
}}
"
        )
    };
    let merged = told(&study(&text("jit(f)/jvp()/add")));
    assert!(merged.contains("recomputation-merged: Of what is marked as recomputed, 262,144 B"), "{merged}");
    assert!(!merged.contains("recomputed: At the peak"), "{merged}");
    let apart = told(&study(&text("jit(f)/transpose(jvp())/add")));
    assert!(
        !apart.contains("recomputation-merged") && apart.contains("262,144 B are recomputed ones"),
        "{apart}"
    );
}

/// Who keeps values that are alive together; and collectives are named by what they are.
#[test]
fn what_keeps_many_values_is_named() {
    let gather = |n: usize| {
        format!(
            "  g{n} = f32[256]{{0}} all-gather(x), dimensions={{0}}, replica_groups={{}}, metadata={{op_name=\"jit(f)/jvp()/dot_general\"}}\n"
        )
    };
    let lines: Vec<String> = (0..4).map(gather).collect();
    let lines = lines.concat();
    let s = study(&format!(
        "HloModule m, is_scheduled=true

ENTRY main {{
  x = f32[256]{{0}} parameter(0)
{lines}  y = f32[256]{{0}} custom-call(g0, g1, g2, g3), custom_call_target=\"y\"
  z = f32[] custom-call(y), custom_call_target=\"z\"
  ROOT r = f32[] custom-call(z, g0, g1, g2, g3), custom_call_target=\"r\"
}}
"
    ));
    let told = told(&s);
    assert!(
        told.contains("4 values of f32[256] from all-gather in jit(f)/jvp() are alive together"),
        "{told}"
    );
    assert!(
        told.contains(
            "r reads all 4 of them at step 7, so no other order of the program frees one of them sooner."
        ),
        "{told}"
    );
}

/// A copy into another memory space that turns dimensions round is told as that.
#[test]
fn another_order_says_more_than_another_memory_space() {
    let s = study_on(
        Backend::Tpu,
        "HloModule m, is_scheduled=true

ENTRY main {
  x = f32[256,512]{1,0:T(8,128)} parameter(0)
  a = f32[256,512]{1,0:T(8,128)S(1)} negate(x)
  turned = f32[256,512]{0,1:T(8,128)} copy(a)
  moved = f32[256,512]{1,0:T(8,128)} copy(a)
  ROOT r = f32[] custom-call(turned, moved), custom_call_target=\"r\"
}
",
    );
    let copies = questions::copies(&s);
    let mut kinds: Vec<(&str, CopyKind)> = copies.iter().map(|c| (name(&s, c.instruction), c.kind)).collect();
    kinds.sort();
    assert_eq!(kinds, [("moved", CopyKind::Transfer), ("turned", CopyKind::Relayout)]);
    let (causes, _) = questions::causes(&s, &copies);
    let words: Vec<String> = causes.iter().flat_map(|c| c.words.clone()).collect();
    assert!(
        words.iter().any(|w| w == "It goes from memory space 1 (VMEM) to memory space 0 (HBM)."),
        "{words:?}"
    );
    assert!(
        words
            .iter()
            .any(|w| w.starts_with("Goes from memory space 1 (VMEM) to memory space 0 (HBM), where r reads")),
        "{words:?}"
    );
}

/// A kernel that does not say that it works in place is what a donated argument is copied for.
#[test]
fn a_kernel_that_declares_nothing_is_named() {
    let s = study(
        "HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }

ENTRY main {
  x = f32[1024]{0} parameter(0)
  kernel = f32[1024]{0} custom-call(x), custom_call_target=\"kernel\"
  ROOT copy = f32[1024]{0} copy(kernel)
}
",
    );
    let copies = questions::copies(&s);
    let (causes, unknown) = questions::causes(&s, &copies);
    let words: Vec<String> = causes.iter().flat_map(|c| c.words.clone()).collect();
    assert!(
        words.iter().any(|w| w.starts_with("kernel declares no output_to_operand_aliasing: ")),
        "{unknown:?} {words:?}"
    );
}
