//! Small programs, one rule each. An assignment is written short: `value allocation offset size`.

use checker::{Backend, Options, Plan, Verdict, check};
use std::fmt::Write;

/// Allocation 0 holds the parameter `p`, 1 is for temporaries, 2 for the result, 3 for constants.
fn plan(places: &str) -> Plan {
    let mut text = String::from("BufferAssignment:\n");
    let heads = [
        "size 64, parameter 0, shape |f32[4]| at ShapeIndex {}",
        "size 4096, preallocated-temp",
        "size 4096, maybe-live-out",
        "size 64, constant",
    ];
    for (n, head) in heads.iter().enumerate() {
        let _ = writeln!(text, "allocation {n}: {head}:");
        for line in places.lines() {
            let word: Vec<&str> = line.split_whitespace().collect();
            if let [value, allocation, offset, size] = word[..]
                && allocation == n.to_string()
            {
                let _ = writeln!(text, " value: <1 {value} @0> (size={size},offset={offset}): ?");
            }
        }
    }
    Plan::parse(&text).expect("an assignment")
}

fn answer(module: &str, places: &str, budget: u64) -> String {
    let read = hlo::read(module);
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    let options = Options { budget, ..Options::new(Backend::Cpu) };
    match check(&read.module.expect("a module"), &plan(places), &options) {
        Ok(Verdict::Right(_)) => "right".into(),
        Ok(Verdict::Wrong(v)) => v.to_string(),
        Ok(Verdict::NotFullyExplored(s)) => format!("not fully explored after {} steps", s.steps),
        Err(e) => format!("error: {e}"),
    }
}

#[track_caller]
fn expect(module: &str, places: &str, expected: &str) {
    assert_eq!(answer(module, places, 1_000_000), expected);
}

const TRANSFER: &str = "HloModule m, is_scheduled=true

ENTRY e {
  p = f32[4]{0} parameter(0)
  a = f32[4]{0} negate(p)
  s = (f32[4]{0}, f32[4]{0}, u32[]) copy-start(a)
  x = f32[4]{0} negate(p)
  d = f32[4]{0} copy-done(s)
  ROOT n = f32[4]{0} add(d, x)
}
";

#[test]
fn under_way() {
    let rest = "p 0 0 16\ns{} 1 64 24\ns{0} 1 128 16\ns{2} 1 192 4\n";
    expect(TRANSFER, &format!("{rest}a 1 0 16\nx 1 256 16\nn 2 0 16"), "right");
    expect(
        TRANSFER,
        &format!("{rest}a 1 0 16\nx 1 0 16\nn 2 0 16"),
        "step 4: d reads a, written at step 1, but allocation 1 [0,16) holds x, written at step 3",
    );
    expect(
        TRANSFER,
        &format!("{rest}a 1 0 16\nx 1 128 16\nn 2 0 16"),
        "step 4: d reads s{0}, written at step 2, but allocation 1 [128,144) holds x, written at step 3",
    );
    let early = TRANSFER.replace(
        "x = f32[4]{0} negate(p)",
        "g = f32[4]{0} get-tuple-element(s), index=0\n  x = f32[4]{0} negate(g)",
    );
    expect(
        &early,
        &format!("{rest}a 1 0 16\nx 1 256 16\nn 2 0 16"),
        "step 4: x reads s{0}, written at step 2, which is still under way",
    );
}

#[test]
fn in_place() {
    let add = "HloModule m, is_scheduled=true

ENTRY e {
  p = f32[4]{0} parameter(0)
  a = f32[4]{0} negate(p)
  ROOT n = f32[4]{0} add(a, p)
}
";
    expect(add, "p 0 0 16\na 2 0 16\nn 2 0 16", "right");
    expect(
        add,
        "p 0 0 16\na 2 4 16\nn 2 0 16",
        "step 2: n writes n to allocation 2 [0,16) while it reads operand 0 (a, written at step 1) from allocation 2 [4,20)",
    );
    let reverse = add.replace("add(a, p)", "reverse(a), dimensions={0}");
    expect(
        &reverse,
        "p 0 0 16\na 2 0 16\nn 2 0 16",
        "step 2: n writes n to allocation 2 [0,16) while it reads operand 0 (a, written at step 1) from allocation 2 [0,16)",
    );
    expect(
        add,
        "p 0 0 16\na 2 0 16\nn 0 0 16",
        "step 2: n writes n to allocation 0 [0,16), over a parameter that is not donated",
    );
    expect(
        add,
        "p 0 0 16\na 1 0 16\nn 1 64 16",
        "n is a result of the program, but allocation 1 is not marked maybe-live-out",
    );
    expect(add, "p 0 0 16\na 2 0 16\nn 2 0 16\nz 2 0 16", "error: 8:1: z, expected a value of the module");
}

#[test]
fn branches() {
    let module = "HloModule m, is_scheduled=true

left {
  l = f32[4]{0} parameter(0)
  t = f32[4]{0} negate(l)
  ROOT u = f32[4]{0} negate(t)
}

right {
  r = f32[4]{0} parameter(0)
  ROOT v = f32[4]{0} negate(r)
}

ENTRY e {
  p = f32[4]{0} parameter(0)
  k = f32[4]{0} negate(p)
  c = pred[] constant(true)
  i = f32[4]{0} conditional(c, p, p), true_computation=left, false_computation=right
  ROOT n = f32[4]{0} add(i, k)
}
";
    let rest = "p 0 0 16\nc 3 0 1\nn 2 0 16\n";
    expect(module, &format!("{rest}k 1 0 16\nt 1 64 16\nu 1 128 16\nv 1 128 16\ni 1 128 16"), "right");
    expect(
        module,
        &format!("{rest}k 1 0 16\nt 1 0 16\nu 1 128 16\nv 1 128 16\ni 1 128 16"),
        "step 9: n reads k, written at step 1, but allocation 1 [0,16) holds t, written at step 4",
    );
    expect(
        module,
        &format!("{rest}k 1 0 16\nt 1 64 16\nu 1 128 16\nv 1 192 16\ni 1 128 16"),
        "v is at allocation 1 [192,208), expected at allocation 1 [128,144) with i: all branches must leave their result there",
    );
    expect(module, &format!("{rest}k 1 0 16\nt 1 64 16\nu 1 128 16\nv 1 128 16"), "i has no address");
}

#[test]
fn state_that_is_not_carried_back() {
    let module = "HloModule m, is_scheduled=true

body {
  b = (f32[4]{0}, f32[4]{0}) parameter(0)
  b0 = f32[4]{0} get-tuple-element(b), index=0
  b1 = f32[4]{0} get-tuple-element(b), index=1
  ROOT swap = (f32[4]{0}, f32[4]{0}) tuple(b1, b0)
}

condition {
  q = (f32[4]{0}, f32[4]{0}) parameter(0)
  ROOT go = pred[] constant(true)
}

ENTRY e {
  p = f32[4]{0} parameter(0)
  x = f32[4]{0} negate(p)
  y = f32[4]{0} negate(p)
  t = (f32[4]{0}, f32[4]{0}) tuple(x, y)
  w = (f32[4]{0}, f32[4]{0}) while(t), condition=condition, body=body
  w0 = f32[4]{0} get-tuple-element(w), index=0
  ROOT n = f32[4]{0} negate(w0)
}
";
    expect(
        module,
        "p 0 0 16\nx 1 0 16\ny 1 64 16\nt{} 1 128 16\nswap{} 1 128 16\ngo 3 0 1\nn 2 0 16\n\
         w{} 1 128 16\nb{} 1 128 16\nq{} 1 128 16\nw{0} 1 0 16\nb{0} 1 0 16\nq{0} 1 0 16",
        "y is at allocation 1 [64,80), expected at allocation 1 [0,16) with w{0}: a loop's state must not move",
    );
}

/// Loops in loops: the work doubles with each, and the answer says so instead of taking for ever.
#[test]
fn deep_loops() {
    let mut module = String::from("HloModule m, is_scheduled=true\n\n");
    let depth = 40;
    for n in 0..depth {
        let inside = match n {
            0 => "  ROOT r0 = f32[4]{0} negate(b0)\n".to_string(),
            _ => format!("  ROOT r{n} = f32[4]{{0}} while(b{n}), condition=c{m}, body=body{m}\n", m = n - 1),
        };
        let _ = write!(
            module,
            "body{n} {{\n  b{n} = f32[4]{{0}} parameter(0)\n{inside}}}\n\n\
             c{n} {{\n  q{n} = f32[4]{{0}} parameter(0)\n  ROOT g{n} = pred[] constant(true)\n}}\n\n"
        );
    }
    let _ = write!(
        module,
        "ENTRY e {{\n  p = f32[4]{{0}} parameter(0)\n  x = f32[4]{{0}} negate(p)\n  \
         ROOT n = f32[4]{{0}} while(x), condition=c{m}, body=body{m}\n}}\n",
        m = depth - 1
    );
    let mut places = String::from("p 0 0 16\nx 2 0 16\nn 2 0 16\n");
    for n in 0..depth {
        let _ = write!(places, "b{n} 2 0 16\nr{n} 2 0 16\nq{n} 2 0 16\ng{n} 3 {n} 1\n");
    }
    let answer = answer(&module, &places, 100_000);
    assert!(answer.starts_with("not fully explored"), "{answer}");
}

#[test]
fn unreadable() {
    for (text, expected) in [
        ("", "1:1: the end of the line, expected BufferAssignment:"),
        (
            "BufferAssignment:\nallocation 1: size 4:\n",
            "2:12: `1: size 4:`, expected allocations numbered from 0 without gaps",
        ),
        ("BufferAssignment:\nallocation 0: size x:\n", "2:20: `x:`, expected a size in bytes"),
        (
            "BufferAssignment:\n value: <1 a @0> (size=4,offset=0): f32[]\n",
            "2:10: `1 a @0> (size=4,offset=0`, expected an allocation before its values",
        ),
        ("BufferAssignment:\nallocation 0: size 4:\n value: <1 a{0 @0>\n", "3:15: ` @0>`, expected ,"),
        (
            "BufferAssignment:\nallocation 0: size 4:\nwhat\n",
            "3:1: `what`, expected `allocation ` or ` value: <`",
        ),
    ] {
        assert_eq!(Plan::parse(text).expect_err("unreadable").to_string(), expected);
    }
}
