//! What is said of texts, one by one.

/// Reads `input`; the remarks must be those of `expected`, one a line.
#[track_caller]
fn check(input: &str, expected: &str) {
    check_bytes(input.as_bytes(), expected);
}

#[track_caller]
fn check_bytes(input: &[u8], expected: &str) {
    let read = hlo::read_bytes(input);
    let got: Vec<_> = read.diagnostics.iter().map(ToString::to_string).collect();
    let expected: Vec<_> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert_eq!(got, expected);
    hlo::fuzzing::read_print_read(input);
}

/// Reads `input`, which must be fine, and prints it.
#[track_caller]
fn printed(input: &str, expected: &str) {
    let read = hlo::read(input);
    assert!(!read.has_errors(), "{:?}", read.diagnostics);
    assert_eq!(hlo::print(&read.module.expect("a module")).trim_end(), expected.trim());
    hlo::fuzzing::read_print_read(input.as_bytes());
}

/// A module whose entry has these instructions.
fn entry(body: &str) -> String {
    format!("HloModule m\n\nENTRY %main {{\n{body}\n}}\n")
}

#[test]
fn operands() {
    check(&entry("%n = f32[4]{0} negate(%p)"), "4:23: the operand `p`, expected an instruction from above");
    check(
        &entry("%n = f32[4]{0} negate(%p)\n%p = f32[4]{0} parameter(0)"),
        "4:23: the operand `p`, expected its definition above, not below",
    );
    check(
        &entry("p = f32[4]{0} parameter(0)\nn = f32[4]{0} negate(f32[5]{0} p)"),
        "5:22: warning: the shape `f32[5]`, the instruction itself has `f32[4]`",
    );
    check(
        &entry("p = f32[4]{0} parameter(0)\nn = f32[4]{0} negate(f32[4]{0} abs(p))"),
        "5:32: an instruction inside an operand, expected it on a line of its own",
    );
    check(
        &entry("p = f32[4]{0} parameter(0)\nn = f32[4]{0} negate(p, p)"),
        "5:1: 2 operands of `n`, expected 1",
    );
    check(
        &entry("p = f32[4]{0} parameter(0)\nn = f32[4]{0} negate(p"),
        "6:1: `}`, expected `,` or `)` after the operand\n7:1: the end of the text inside computation `main`, expected `}`",
    );
}

#[test]
fn one_mistake_is_told_once() {
    let body = "p = f33[4]{0} parameter(0)\nq = f32[4]{0} negate(p)\nROOT r = f32[4]{0} add(q, p)";
    check(&entry(body), "4:5: `f33`, expected an element type");
}

#[test]
fn mistakes_do_not_stop_the_reading() {
    let body = "p = f32[4]{0} parameter(0)\nq = f32[4]{0 negate(p)\nr = f32[4]{0} abs(z)\ns = f32[4]{0} parameter(x)";
    check(
        &entry(body),
        "5:14: `n`, expected `}` after the layout
         6:19: the operand `z`, expected an instruction from above
         7:25: `x`, expected the parameter's number",
    );
}

#[test]
fn parameters() {
    check(&entry("p = f32[] parameter(1)"), "4:21: parameter 1, expected a parameter 0 beside it");
    check(&entry("p = f32[] parameter(4294967296)"), "4:21: `4294967296`, expected the parameter's number");
    check(
        &entry("p = f32[] parameter(4294967295)"),
        "4:21: parameter 4294967295, expected a parameter 0 beside it",
    );
}

#[test]
fn tuples_and_elements() {
    check(
        &entry("p = (f32[], s32[]) parameter(0)\ng = f32[] get-tuple-element(p), index=2"),
        "5:1: the index `2` of `g`, expected an element of `(f32[], s32[])`",
    );
    check(
        &entry("p = (f32[], s32[]) parameter(0)\ng = f32[] get-tuple-element(p), index=1"),
        "5:1: warning: the result of `g` with shape `f32[]`, expected `s32[]`",
    );
    check(
        &entry("p = f32[] parameter(0)\ng = (f32[], f32[]) tuple(p)"),
        "5:1: 1 operands of the tuple `g`, its shape has 2 elements",
    );
    check(
        &entry("p = (f32[], (s32[])) parameter(0)\nROOT n = s32[] negate(p#1#0)"),
        "5:24: warning: a tuple's element written `NAME#NUMBER`, read as a `get-tuple-element`, as older XLA writes it",
    );
    check(
        &entry("p = (f32[], s32[]) parameter(0)\nROOT n = s32[] negate(p#2)"),
        "5:25: element 2, expected an element of `p`",
    );
}

#[test]
fn calls() {
    let loop_of = |condition: &str| {
        format!(
            "HloModule m\n\n{condition}\n\nb {{\n  p = s32[] parameter(0)\n}}\n\nENTRY main {{\n  a = s32[] \
             parameter(0)\n  ROOT w = s32[] while(a), condition=c, body=b\n}}\n"
        )
    };
    check(&loop_of("c {\n  p = s32[] parameter(0)\n  ROOT r = pred[] constant(true)\n}"), "");
    check(
        &loop_of("c {\n  ROOT r = pred[] constant(true)\n}"),
        "13:8: 0 parameters of `c`, expected one, for `w`",
    );
    check(
        &loop_of("c {\n  p = (s32[]) parameter(0)\n  ROOT r = pred[] constant(true)\n}"),
        "14:8: a parameter of `w` with shape `(s32[])`, expected `s32[]`",
    );
    check(&loop_of(""), "11:38: the computation `c`, expected one of this module");
}

#[test]
fn recursion() {
    let text = "HloModule m\n\na {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=b\n}\n\nb {\n  p = f32[] \
                parameter(0)\n  ROOT c = f32[] call(p), to_apply=a\n}\n\nENTRY main {\n  p = f32[] parameter(0)\n  ROOT c = \
                f32[] call(p), to_apply=b\n}\n";
    check(
        text,
        "5:36: warning: `b` before its computation, XLA wants the callee first
         10:8: a call of `a` from inside itself, expected no recursion",
    );
}

#[test]
fn structure() {
    check("HloModule m\n", "2:1: the end of the text, expected a computation");
    check("HloModule m\n\nENTRY e {\n}\n", "3:7: a computation without instructions, expected at least one");
    check(
        "HloModule m\n\na {\n  p = f32[] parameter(0)\n\nENTRY e {\n  p = f32[] parameter(0)\n}\n",
        "6:1: the start of a computation, expected `}` before it",
    );
    check(
        "HloModule m\n\na {\n  p = f32[] parameter(0)\n}\n\nb {\n  p = f32[] parameter(0)\n}\n",
        "10:1: the end of the text, expected an `ENTRY` computation",
    );
    check(
        "HloModule m\nENTRY a {\n  p = f32[] parameter(0)\n}\nENTRY a {\n  p = f32[] parameter(0)\n}\n",
        "5:1: a second `ENTRY`, expected one in a module\n5:7: a second computation `a`, expected another name",
    );
    check(
        "HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {}: (3, {}, must-alias) }\nENTRY a {\n  p = f32[] \
         parameter(0)\n}\n",
        "1:33: the output {0} in `input_output_alias`, expected each place of the entry's result at most once
         1:33: parameter 3 {} in `input_output_alias`, expected each place of the entry's parameters at most once",
    );
    check(
        "HloModule m, input_output_alias={ {0} (0, {}) }\nENTRY a {\n  p = f32[] parameter(0)\n}\n",
        "1:39: `(` in `input_output_alias`, expected `:`",
    );
    check(
        &entry("p = f32[] parameter(0)\n/* no end"),
        "5:1: a comment without end, expected `*/`\n7:1: the end of the text inside computation `main`, expected `}`",
    );
    check(
        &entry("p = f32[] parameter(0), metadata={op_name=\"x}"),
        "4:43: a string without end, expected `\"`",
    );
    check(&entry("p = f32[] parameter(0), sharding={(}"), "4:36: `}`, expected `)`");
    check(
        &entry("p = f32[] parameter(0), sharding="),
        "4:34: the end of the line, expected the attribute's value",
    );
}

#[test]
fn bare_instructions() {
    printed(
        "p = f32[4]{0} parameter(0)\nROOT n = f32[4]{0} negate(p)\n",
        "HloModule main\n\nENTRY %main (p: f32[4]) -> f32[4] {\n  %p = f32[4]{0} parameter(0)\n  ROOT %n = f32[4]{0} \
         negate(%p)\n}",
    );
    printed(
        "// one computation\n%c (x: f32[4]) -> f32[4] { ROOT %x = f32[4] parameter(0) }",
        "HloModule c\n\nENTRY %c (x: f32[4]) -> f32[4] {\n  ROOT %x = f32[4] parameter(0)\n}",
    );
}

#[test]
fn asynchronous_sugar() {
    let text = "HloModule m\n\nENTRY %main {\n  %p = f32[4]{0} parameter(0)\n  %s = ((f32[4]{0}), f32[2]{0}, s32[]) \
                slice-start(%p), slice={[0:2]}, async_execution_thread=\"t\", metadata={op_name=\"a\"}\n  %u = \
                ((f32[4]{0}), f32[2]{0}, s32[]) slice-update(%s)\n  ROOT %d = f32[2]{0} slice-done(%u)\n}\n";
    printed(
        text,
        "HloModule m

%s.wrapped (param_0: f32[4]) -> f32[2] {
  %param_0 = f32[4]{0} parameter(0)
  ROOT %slice = f32[2]{0} slice(%param_0), slice={[0:2]}
}, execution_thread=\"t\"

ENTRY %main (p: f32[4]) -> f32[2] {
  %p = f32[4]{0} parameter(0)
  %s = ((f32[4]{0}), f32[2]{0}, s32[]) async-start(%p), calls=%s.wrapped, async_execution_thread=\"t\", \
         metadata={op_name=\"a\"}
  %u = ((f32[4]{0}), f32[2]{0}, s32[]) async-update(%s)
  ROOT %d = f32[2]{0} async-done(%u)
}",
    );
    let module = hlo::read(text).complete().expect("a module");
    let texts: Vec<_> = module
        .computation(module.entry)
        .instructions
        .iter()
        .map(|i| hlo::instruction_text(&module, *i))
        .collect();
    let expected = [
        "%p = f32[4]{0} parameter(0)",
        "%s = ((f32[4]{0}), f32[2]{0}, s32[]) slice-start(%p), slice={[0:2]}, async_execution_thread=\"t\", \
         metadata={op_name=\"a\"}",
        "%u = ((f32[4]{0}), f32[2]{0}, s32[]) slice-update(%s)",
        "%d = f32[2]{0} slice-done(%u)",
    ];
    assert_eq!(texts, expected);
    check(
        &entry("p = f32[4]{0} parameter(0)\ns = f32[4]{0} slice-start(p)"),
        "5:15: `slice-start` of shape `f32[4]`, expected a tuple of operands, result and contexts",
    );
}

#[test]
fn computations_in_order() {
    let text = "HloModule m\n\na { x = f32[] parameter(0) }\nb { x = f32[] parameter(0) }\n\nENTRY e {\n  i = pred[] \
                parameter(0)\n  x = f32[] parameter(1)\n  ROOT c = f32[] conditional(i, x, x), false_computation=a, \
                true_computation=b\n}\n";
    let module = hlo::read(text).complete().expect("a module");
    let called: Vec<_> =
        module.called(module.root(module.entry)).iter().map(|c| module.computation_name(*c)).collect();
    assert_eq!(called, ["b", "a"]);
}

#[test]
fn texts_of_another_kind() {
    let other = |what: &str| format!("1:1: {what}, expected an HLO module: `HloModule NAME`");
    check("module @jit_f {\n  func.func public @main() {\n  }\n}\n", &other("MLIR, for example StableHLO"));
    check("import jax\n", &other("a Python program"));
    check(
        "BufferAssignment:\nallocation 0: size 4\n",
        &other("a buffer assignment (`-buffer-assignment.txt`)"),
    );
    check("{\"a\": 1}", &other("JSON or something like it"));
    check("; ModuleID = 'x'\n", &other("LLVM IR"));
    check("Gr\u{fc}\u{df}e\n", "1:3: `\u{fc}`, expected `{` and a computation's instructions");
    check(
        "\n\nTotal bytes used: 12 (12B)\n",
        "3:1: the values of a buffer assignment (`-buffer-assignment-values.txt`), expected an HLO module: `HloModule NAME`",
    );
    check_bytes(&[0x1f, 0x8b, 8, 0], "1:1: gzip-compressed bytes, expected them unpacked");
    check_bytes(
        b"\x0a\x05hello\x12\x03abc",
        "1:1: a binary protobuf, perhaps a `.hlo.pb`, expected a module's text here",
    );
    check(
        &format!("*** Dump after x ***\n{}", entry("p = f32[] parameter(0)")),
        "1:1: warning: text before `HloModule`, passed over",
    );
}

#[test]
fn bytes_that_are_no_text() {
    let mut bytes = entry("p = f32[] parameter(0), metadata={op_name=\"x\"}").into_bytes();
    let at = bytes.iter().position(|b| *b == b'x').expect("an x");
    bytes[at] = 0xff;
    check_bytes(&bytes, "4:44: the byte 0xff, expected UTF-8");
    bytes[at] = 0;
    check_bytes(&bytes, "4:44: a NUL byte, expected text");
}

#[test]
fn columns_count_characters() {
    check(
        &entry("p = f32[] parameter(0), metadata={op_name=\"\u{fc}\u{fc}\"}, colour=1"),
        "4:50: warning: an unknown attribute `colour`, kept as it is",
    );
}

#[test]
fn unknown_operations() {
    check(
        &entry("p = f32[] parameter(0)\nROOT q = f32[] frobnicate(p), to_apply={ x = f32[] parameter(0) }"),
        "5:16: warning: an unknown operation `frobnicate`, kept as it is; what it does to memory is not known",
    );
}

/// Depth, count and size are bounded by the text, not by the stack or the memory.
#[test]
fn extremes() {
    let deep = "(".repeat(200_000);
    check(&entry(&format!("p = {deep} parameter(0)")), "5:1: `}`, expected `)`");
    let closed = format!("{}f32[]{}", "(".repeat(101), ")".repeat(101));
    check(
        &entry(&format!("p = {closed} parameter(0)")),
        "4:105: `(`, expected tuples nested at most 100 deep",
    );
    let literal = format!("{}1{}", "{".repeat(100_000), "}".repeat(100_000));
    check(&entry(&format!("p = f32[] constant({literal})")), "");
    let nested = "f = f32[] fusion(), kind=kLoop, calls={".repeat(200);
    let read = hlo::read(&entry(&nested));
    assert!(
        read.diagnostics.iter().any(|d| d.expected == "expected at most 100 levels"),
        "{:?}",
        read.diagnostics
    );
    check(
        &entry("p = f32[99999999999999999999] parameter(0)"),
        "4:9: `99999999999999999999`, expected a number below 2^63",
    );
    let many = "q = f33[] parameter(0)\n".repeat(1000);
    let read = hlo::read(&entry(&many));
    assert_eq!(read.diagnostics.len(), 100);
    assert_eq!(
        read.diagnostics.last().map(ToString::to_string).as_deref(),
        Some("103:5: more errors, not shown")
    );
}

/// Texts that would take quadratic time if something were searched to the end for each line.
#[test]
fn linear_time() {
    let start = std::time::Instant::now();
    for line in [
        "x = f32[4]{0 add(a)\n",
        "x = f32[] constant({\n",
        "x = f32[] parameter(0), metadata={op_name=\"\n",
        "x = (f32[], (\n",
        "/* \n",
        "x = f32[] fusion(), calls={ a = f32[] iota()\n",
        "ENTRY e (\n",
        "HloModule\n",
        "1 \"\n",
        "FileNames\n1 \"\n",
    ] {
        let read = hlo::read(&format!("HloModule m\n\nENTRY e {{\n{}", line.repeat(200_000)));
        assert!(read.has_errors(), "{line}");
        let read = hlo::read(&line.repeat(200_000));
        assert!(read.has_errors(), "{line}");
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}
