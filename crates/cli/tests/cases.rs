//! Situations that people ask about: each dump opens, and the question is answered on the command line.
//!
//! `data/cases` holds what XLA wrote for small programs made after public reports, an archive for each. What a good
//! answer holds is taken from the measurements that came with them (`stats.json` in each archive) and from XLA's own log.

use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

fn archive(case: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases").join(format!("{case}.tar.gz"));
    assert!(path.exists(), "{}", path.display());
    path.display().to_string()
}

/// Runs the command; gives standard output and the exit status.
fn run(arguments: &[&str]) -> (String, i32) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_bufferscope")).args(arguments).output().expect("the command runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let status = output.status.code().unwrap_or(-1);
    assert!(matches!(status, 0 | 1), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    (text, status)
}

fn json(arguments: &[&str]) -> Value {
    let (text, _) = run(&[arguments, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{arguments:?}: {e}\n{text}"))
}

/// One module of a case: `cpu/jit_f`, or `tpu/0004`.
fn pick(case: &str, module: &str) -> [String; 3] {
    let (backend, name) = module.split_once('/').expect("a backend and a name");
    let all = json(&["inspect", &archive(case)]);
    let found = all["modules"]
        .as_array()
        .expect("modules")
        .iter()
        .find(|m| m["backend"] == backend && (m["name"] == format!("jit_{name}") || m["id"] == name));
    let found = found.unwrap_or_else(|| panic!("{case} {module}: {all}"));
    let id = found["id"].as_str().expect("a number");
    [archive(case), "--module".to_owned(), format!("{backend}:{id}")]
}

/// Asks about one module, and looks for all of these in the answer.
#[track_caller]
fn check(command: &str, case: &str, module: &str, more: &[&str], expected: &[&str]) -> String {
    let picked = pick(case, module);
    let mut arguments = vec![command];
    arguments.extend(picked.iter().map(String::as_str));
    arguments.extend(more);
    let (text, _) = run(&arguments);
    for e in expected {
        assert!(text.contains(e), "{arguments:?}: expected `{e}` in\n{text}");
    }
    text
}

fn all_cases() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases");
    let mut out: Vec<String> = std::fs::read_dir(folder)
        .expect("the cases")
        .filter_map(|e| e.ok()?.file_name().to_str()?.strip_suffix(".tar.gz").map(str::to_owned))
        .collect();
    out.sort();
    assert!(out.len() >= 20);
    out
}

/// What is told of a copy has the module's own names, and no copy is a copy of itself.
#[test]
fn copies_are_told_of_in_the_names_of_the_module() {
    let text =
        check("copies", "04_read_then_update", "cpu/read_then_add", &["--present"], &["\ncopy: plain"]);
    assert!(!text.contains("Copies copy.\n"), "{text}");
    for (name, at) in
        ["copy.2", "copy.3"].iter().flat_map(|n| text.match_indices(n).map(move |(at, _)| (n, at)))
    {
        let rest = &text[at + name.len()..];
        assert!(
            rest.starts_with(" (a copy that the pass p"),
            "{name}: the module has only copy and copy.1\n{text}"
        );
    }
}

/// A number without its zeros and the end of a name are enough to say which module is meant; a donation without an output goes
/// to one with which no value is lost.
#[test]
fn what_is_meant_is_found_and_a_donation_is_sound_by_default() {
    let archive = archive("20_tpu_hbm_oom");
    let full = run(&["try", &archive, "--module", "tpu:0004", "--donate", "2"]);
    assert_eq!((full.1, full.0.contains("Sound:")), (0, true), "{}", full.0);
    assert_eq!(run(&["try", &archive, "--module", "tpu:4", "--donate", "2"]), full);
    let by_end = run(&["peak", &archive, "--module", "tpu:too_many_arguments"]);
    assert_eq!(by_end, run(&["peak", &archive, "--module", "tpu:0004"]));
}

/// The memory of a donated argument is refused to a value of as many bytes: that stands out.
#[test]
fn a_refused_hand_over_of_a_donated_argument_stands_out() {
    let case = "01_donated_loop_reads";
    check(
        "peak",
        case,
        "cpu/loop_reads_mid",
        &[],
        &["wrapped_exponential takes", "the memory of that was tried and refused"],
    );
}

/// No copy is left without a cause, on any backend.
#[test]
fn every_copy_of_every_case_has_its_cause() {
    let mut seen = std::collections::BTreeMap::new();
    for case in all_cases() {
        let all = json(&["inspect", &archive(&case)]);
        for m in all["modules"].as_array().expect("modules") {
            // Two of the largest would take a minute each.
            if m["instructions"].as_u64() > Some(4_000) {
                continue;
            }
            let (backend, id) =
                (m["backend"].as_str().expect("a backend"), m["id"].as_str().expect("a number"));
            let told =
                json(&["copies", &archive(&case), "--module", &format!("{backend}:{id}"), "--present"]);
            assert!(told["causes_unknown"].is_null(), "{case} {id}: {told}");
            for c in told["copies"].as_array().expect("copies") {
                assert!(c["cause"].as_array().is_some_and(|w| !w.is_empty()), "{case} {id}: {c}");
                *seen.entry(c["kind"].as_str().expect("a kind").to_owned()).or_insert(0u32) += 1;
            }
        }
    }
    let enough = [
        ("plain copy", 300),
        ("re-layout", 80),
        ("widened copy", 8),
        ("transfer to another memory space", 500),
    ];
    for (kind, least) in enough {
        assert!(seen.get(kind).is_some_and(|n| *n >= least), "{kind}: {seen:?}");
    }
}

/// The numbers that JAX told when the programs were compiled.
#[test]
fn every_case_opens_and_its_numbers_are_those_of_the_compiler() {
    let mut compared = 0;
    for case in all_cases() {
        let all = json(&["inspect", &archive(&case)]);
        let modules = all["modules"].as_array().expect("modules");
        assert!(!modules.is_empty(), "{case}");
        for m in modules {
            assert_eq!(m["findings"].as_array().map(Vec::len), Some(0), "{case}: {m}");
            let is_error = |r: &&Value| r["severity"] == "error";
            assert!(
                m["remarks"].as_array().is_some_and(|r| r.iter().find(is_error).is_none()),
                "{case}: {m}"
            );
            assert!(m["instructions"].as_u64().is_some_and(|n| n > 0), "{case}");
            assert_eq!(m["memory"]["source"], "dump", "{case}");
        }
        for backend in ["cpu", "tpu"] {
            compared += numbers(&case, backend, modules);
        }
    }
    assert!(compared > 80, "{compared}");
}

/// The TPU's `memory_analysis`, as far as the files tell it: the temporaries to 32 KiB, since a scalar that the program keeps
/// in a register is left out there, and the peak to 16 KiB.
#[test]
fn the_numbers_of_the_tpu() {
    let (mut compared, mut exact, mut far) = (0, 0, Vec::new());
    for case in all_cases() {
        let all = json(&["inspect", &archive(&case)]);
        for program in stats(&case, "tpu") {
            let Some(label) = program["label"].as_str().filter(|_| program["error"].is_null()) else {
                continue;
            };
            let is_there = |m: &Value| m["backend"] == "tpu" && m["name"] == format!("jit_{label}");
            if !all["modules"].as_array().is_some_and(|all| all.iter().any(is_there)) {
                continue;
            }
            let picked = pick(&case, &format!("tpu/{label}"));
            let mut arguments = vec!["advise", "--trials", "1"];
            arguments.extend(picked.iter().map(String::as_str));
            let told = json(&arguments);
            let number = |name: &str| {
                let numbers = told["numbers"].as_array().expect("numbers");
                let found =
                    numbers.iter().find(|n| n["name"] == name).unwrap_or_else(|| panic!("{name}: {told}"));
                found["bytes"].as_u64().expect("bytes")
            };
            let theirs = |name: &str| program[name].as_u64().unwrap_or(0);
            for name in ["argument_size_in_bytes", "output_size_in_bytes", "alias_size_in_bytes"] {
                assert_eq!(number(name), theirs(name), "{case} {label} {name}");
            }
            let apart = |name: &str| number(name).abs_diff(theirs(name));
            assert!(apart("temp_size_in_bytes") <= 32 << 10, "{case} {label}: {told}");
            compared += 1;
            exact += u32::from(apart("temp_size_in_bytes") == 0);
            if apart("peak_memory_in_bytes") > 16 << 10 {
                far.push(format!("{case} {label}"));
            }
        }
    }
    assert!(compared > 50 && exact > compared - 5, "{compared} {exact}");
    // There, what a loop makes of its state counts beside the state.
    assert_eq!(far, ["12_grad_of_scan_residuals value"]);
}

/// The `stats.json` of one folder of a case.
fn stats(case: &str, backend: &str) -> Vec<Value> {
    let bytes = std::fs::read(archive(case)).expect("the archive");
    let mut tar = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut tar).expect("gzip");
    // A tar archive: a head of 512 bytes with name and size in octal, then the file, up to a multiple of 512.
    let mut at = 0;
    while let Some(head) = tar.get(at..at + 512).filter(|h| h[0] != 0) {
        let text = |from: usize, to: usize| {
            String::from_utf8_lossy(&head[from..to]).trim_end_matches('\0').to_owned()
        };
        let size = usize::from_str_radix(text(124, 136).trim(), 8).expect("a size");
        if text(0, 100).ends_with(&format!("{backend}/stats.json")) {
            let file = &tar[at + 512..at + 512 + size];
            return serde_json::from_slice(file).expect("JSON");
        }
        at += 512 + size.div_ceil(512) * 512;
    }
    Vec::new()
}

fn numbers(case: &str, backend: &str, modules: &[Value]) -> usize {
    let mut compared = 0;
    for program in stats(case, backend) {
        let Some(label) = program["label"].as_str() else { continue };
        let of = |m: &&Value| m["backend"] == backend && m["name"] == format!("jit_{label}");
        let mut found = modules.iter().filter(of);
        let (Some(m), None, Some(temp)) =
            (found.next(), found.next(), program["temp_size_in_bytes"].as_u64())
        else {
            continue;
        };
        let by_owner = &m["memory"]["by_owner"];
        assert_eq!(by_owner["argument"], program["argument_size_in_bytes"], "{case} {label}");
        // It is left out where it is nothing.
        let taken = program["alias_size_in_bytes"].as_u64().unwrap_or(0);
        let outputs = program["output_size_in_bytes"].as_u64().expect("a number");
        assert_eq!(by_owner["output"].as_u64(), Some(outputs - taken), "{case} {label}");
        if backend == "cpu" {
            assert_eq!(by_owner["temp"].as_u64(), Some(temp), "{case} {label}");
            let peak = m["memory"]["total_bytes"].as_u64().expect("a number")
                - temp
                - by_owner["thread_local"].as_u64().expect("a number");
            assert_eq!(Some(peak), program["peak_memory_in_bytes"].as_u64(), "{case} {label}");
        }
        compared += 1;
    }
    compared
}

#[test]
fn a_donated_array_that_a_loop_reads() {
    let case = "01_donated_loop_reads";
    let text =
        check("why", case, "cpu/loop_reads_mid", &["wrapped_exponential"], &["allocation 0 (x.1): no"]);
    assert!(text.contains("only the place where that stands last could be handed over, call{2}"), "{text}");
    assert!(!text.contains("copy.9"), "{text}");
    check("peak", case, "cpu/loop_reads_mid", &[], &["4,194,304 B donated", "1 × f32[1048576]{0} exp"]);
    check("shares", case, "cpu/no_loop", &["wrapped_exponential", "x.1"], &["yes, 4,194,304 B"]);
    // The number that leaves the temporaries out is told as such.
    check(
        "advise",
        case,
        "cpu/loop_reads_mid",
        &[],
        &["peak_memory_in_bytes           4,194,320", "it is no peak"],
    );
    check(
        "peak",
        case,
        "tpu/loop_reads_mid",
        &[],
        &[
            "broadcast_multiply_fusion reads x.1 at step 37 and computes exponential of it again, though exp.1 holds that",
        ],
    );
    let small = check(
        "reduce",
        case,
        "cpu/loop_reads_mid",
        &["wrapped_exponential", "broadcast_multiply_fusion"],
        &["do not share: touch", "while(", "call("],
    );
    assert!(small.lines().count() < 60, "{small}");
}

#[test]
fn a_branch_that_does_nothing() {
    let case = "02_cond_noop";
    check(
        "copies",
        case,
        "cpu/noop_in_true",
        &["--present"],
        &["copy: plain copy", "copy.2: plain copy", "copy.4: plain copy", "4,194,304 B"],
    );
    // Each of the three has its cause, the values that would collide, who reads late, and what removes it.
    let bad = json_of("copies", case, "cpu/noop_in_true", &["--present"]);
    let of = |name: &str| {
        let found = bad["copies"].as_array().and_then(|all| all.iter().find(|c| c["copy"] == name));
        found.unwrap_or_else(|| panic!("{name}: {bad}")).clone()
    };
    for (name, cause, clash) in [
        (
            "copy",
            "dynamic-update-slice.5 writes over its operand 0",
            "dynamic-update-slice.5 would be written where x.5 stands, but cond.1.clone reads x.5",
        ),
        (
            "copy.2",
            "branch 1 of cond.1.clone gives its result {0} in the place that all branches share",
            "from the middle of one buffer's values to the middle of another's",
        ),
        (
            "copy.4",
            "output {} must get to the place of the donated parameter x.5",
            "copy would be written where x.5 stands, but cond.1.clone reads x.5",
        ),
    ] {
        let told = of(name);
        let words = told["cause"].to_string();
        assert!(words.contains(cause) && words.contains(clash), "{told}");
        assert_eq!((told["written"].as_u64(), told["runs"].as_u64()), (Some(4_194_304), Some(1)), "{told}");
        assert!(
            told["removed_by"]
                .to_string()
                .contains("swap the branches of cond.1.clone: 0 copies instead of 3"),
            "{told}"
        );
    }
    // A copy that stands where its source stands moves nothing.
    let free = json_of("copies", case, "tpu/where", &["--present"]);
    let whole = free["copies"].as_array().and_then(|all| all.iter().find(|c| c["copy"] == "copy.5")).cloned();
    let whole = whole.unwrap_or_else(|| panic!("{free}"));
    assert_eq!((whole["in_place"].as_bool(), whole["written"].as_u64()), (Some(true), Some(0)), "{whole}");
    let good = json_of("copies", case, "cpu/noop_in_false", &["--present"]);
    assert!(
        good["copies"].as_array().is_some_and(|c| c.iter().all(|c| c["bytes"].as_u64() < Some(100))),
        "{good}"
    );
    let text = diff(case, "cpu/noop_in_true", case, "cpu/switch_noop_first");
    for e in [
        "temp: 4,194,436 B (4.0 MiB) -> 68 B",
        "lost: copy (4,194,304 B), copy.2 (4,194,304 B), copy.4 (4,194,304 B)",
    ] {
        assert!(text.contains(e), "{e}\n{text}");
    }
}

fn json_of(command: &str, case: &str, module: &str, more: &[&str]) -> Value {
    let picked = pick(case, module);
    let mut arguments = vec![command];
    arguments.extend(picked.iter().map(String::as_str));
    arguments.extend(more);
    json(&arguments)
}

fn diff(left: &str, left_module: &str, right: &str, right_module: &str) -> String {
    let [l, _, lm] = pick(left, left_module);
    let [r, _, rm] = pick(right, right_module);
    run(&["diff", &l, &r, "--left-module", &lm, "--right-module", &rm]).0
}

#[test]
fn an_element_is_read_before_the_update() {
    let case = "04_read_then_update";
    check(
        "copies",
        case,
        "cpu/read_then_add",
        &["--present"],
        &[
            "2 copies write 8,388,608 B",
            "copy.1: plain copy of x.1 (argument 0)",
            "slice_bitcast_fusion reads",
            "let slice_bitcast_fusion run before add_dynamic-update-slice_fusion",
            "turn on region analysis",
        ],
    );
    check("peak", case, "cpu/with_barrier", &[], &["There is no optimization barrier in this module"]);
    check("advise", case, "cpu/read_then_add", &[], &["temporaries 0 B instead of 4,194,304 B"]);
    for module in ["cpu/read_then_add", "cpu/with_barrier"] {
        let text = diff(case, module, "04b_region_analysis", module);
        for e in ["copies: 2 writing 8,388,608 B (8.0 MiB) -> 0", "temp: 4,194,304 B (4.0 MiB) -> 0 B"] {
            assert!(text.contains(e), "{e}\n{text}");
        }
    }
    check("peak", "04b_region_analysis", "cpu/shift_in_place", &[], &["temp 4,194,436 B"]);
}

#[test]
fn values_that_wait_for_their_reader() {
    let case = "06_unrolled_hoists";
    check(
        "peak",
        case,
        "cpu/pair_counts",
        &[],
        &["36 × s32[262144,1]{1,0}", "at step 65 of 133", "written at step 8 and first read at step 9"],
    );
    let advice = check("advise", case, "cpu/pair_counts", &[], &["1. Compute each of 36 values"]);
    assert!(
        advice.contains("temporaries 2,097,152 B (2.0 MiB) instead of 38,806,416 B"),
        "two would do: {advice}"
    );
    let of = |module| json_of("peak", case, module, &[])["spaces"][0]["temp"].as_u64();
    assert!(of("tpu/pair_counts") > Some(2_300 << 20) && of("tpu/pair_counts_chained") < Some(130 << 20));
    assert_eq!(of("cpu/pair_counts"), of("cpu/pair_counts_chained"));
}

#[test]
fn outputs_that_are_copies_of_arguments() {
    let case = "07_scan_returns_params";
    check(
        "peak",
        case,
        "cpu/returns_state",
        &[],
        &["Output {2} is a plain copy of argument 0 (ws), made by copy.12: 3,145,728 B"],
    );
    check("advise", case, "cpu/returns_state", &[], &["Do not return output {2}", "saves 3,145,7"]);
    check(
        "donation",
        case,
        "cpu/returns_state_donated",
        &[],
        &["taken by output", "Donation saves 3,145,728 B"],
    );
    let text = diff(case, "cpu/returns_state", case, "cpu/returns_state_donated");
    assert!(text.contains("donations gained: argument 0"), "{text}");
}

#[test]
fn stacks_of_loops() {
    check(
        "peak",
        "08_scan_vs_unrolled",
        "cpu/train_loss_scan",
        &[],
        &[
            "while.14{3} is a stacked residual of a forward loop: 8 × f32[512,1024]",
            "while.14{2} is a stacked residual of a forward loop",
            "wide.wide.arg_tuple.3{2} is a stacked gradient of a backward loop",
            "wide.wide.arg_tuple.3{3} is a stacked gradient of a backward loop",
        ],
    );
    check(
        "peak",
        "08_scan_vs_unrolled",
        "cpu/train_loss_unrolled",
        &[],
        &["8 × f32[512,1024]{1,0} tanh", "[forward]"],
    );
    let text = check("peak", "12_grad_of_scan_residuals", "cpu/grad_plain", &[], &["2 × f32[10,512,512]"]);
    for stack in ["while.11{1}", "while.11{2}"] {
        let e = format!("{stack} is a stacked residual of a forward loop: 10 × f32[512,512] of 1,048,576 B");
        assert!(text.contains(&e) && text.contains("dynamic-update-slice_fusion"), "{text}");
    }
}

#[test]
fn recomputed_values_are_marked() {
    check(
        "peak",
        "10_remat_whole_function",
        "cpu/grad_whole",
        &[],
        &["recomputed", "29,360,128 B are recomputed ones", "rematted_computation"],
    );
    let of = |module| json_of("peak", "10_remat_whole_function", module, &[])["owners"][2]["bytes"].as_u64();
    assert!(of("tpu/grad_per_layer") < of("tpu/grad_whole"));
    // Random bits of every block, in one line.
    let text =
        check("peak", "34_dropout_masks", "cpu/grad_dropout_remat", &[], &["jit(_bernoulli)/jit(_uniform)"]);
    assert!(text.contains("They are 6 repetitions of one scope"), "{text}");
    let of = |module: &str| {
        json_of("peak", "34_dropout_masks", module, &[])["owners"][2]["bytes"].as_u64().unwrap_or(0)
    };
    let gain = |a: &str, b: &str| 1.0 - of(b) as f64 / of(a) as f64;
    assert!(gain("cpu/grad_no_dropout", "cpu/grad_no_dropout_remat") > 0.3);
    assert!(gain("cpu/grad_dropout", "cpu/grad_dropout_remat") < 0.11);
}

#[test]
fn padding_of_the_tpu() {
    check(
        "peak",
        "13_tpu_padding",
        "tpu/conv3d_two_channels",
        &[],
        &[
            "copy takes 1,176,502,272 B (1.1 GiB) for 73,531,392 B (70.1 MiB) of data, 16.0 times as much: tiles T(2,128)(2,1), dimension 2 of 8 is minor",
            "it would take 73,531,392 B",
        ],
    );
    let cpu = check("peak", "13_tpu_padding", "cpu/conv3d_two_channels", &[], &[]);
    assert!(!cpu.contains("times its data") && !cpu.contains("are padding"), "{cpu}");
}

#[test]
fn donations_that_do_not_help() {
    let case = "15_donation_not_usable";
    check(
        "donation",
        case,
        "cpu/dtype_changes",
        &[],
        &["offered, and nobody took it: output {} takes 524,288 B only"],
    );
    check("donation", case, "cpu/shape_changes", &[], &["no free output has its size"]);
    check("donation", case, "cpu/reduced", &[], &["no free output has its size"]);
    for module in ["cpu/reshaped", "cpu/transposed", "cpu/not_elementwise"] {
        check(
            "donation",
            case,
            module,
            &[],
            &[
                "taken by output",
                "yet the output is computed in 1,048,576 B of work space",
                "copied there by copy",
            ],
        );
    }
    check(
        "donation",
        case,
        "cpu/two_takers",
        &[],
        &["taken by output {0}", "output {1} f32[512,512]: 1,048,576 B, in memory of its own"],
    );
    check(
        "donation",
        case,
        "cpu/read_late",
        &[],
        &["copy saves it, 1,048,576 B, which broadcast_add_fusion reads last"],
    );
    let picked = pick(case, "cpu/shape_changes");
    let arguments = ["budget", &picked[0], "--module", &picked[2], "--must-alias", "0"];
    assert_eq!(run(&arguments).1, 1);
}

#[test]
fn whose_copy_is_in_whose_memory() {
    let case = "16_grad_accumulation";
    check(
        "peak",
        case,
        "cpu/one_batch",
        &[],
        &["copy.2 (of argument 2, in that of argument 1)", "copy.5 (of argument 5, in that of argument 4)"],
    );
    let table = json_of("donation", case, "cpu/one_batch", &[]);
    let taken =
        table["arguments"].as_array().expect("arguments").iter().filter(|a| a["state"] == "taken").count();
    assert_eq!(taken, 12);
    let text = check(
        "copies",
        case,
        "cpu/one_batch",
        &["--present"],
        &["copy.1: plain copy of ps_1_.1 (argument 1)"],
    );
    assert!(text.contains("is donated, and an output will be written there"), "{text}");
    // Carrying the parameters through the loop costs nothing.
    let text = diff(case, "cpu/microbatches", case, "cpu/microbatches_carry_all");
    assert!(text.contains("temp: 3,932,292 B (3.8 MiB) -> 3,932,292 B"), "{text}");
}

#[test]
fn out_of_memory_at_compile_time() {
    let case = "20_tpu_hbm_oom";
    let (text, _) = run(&["inspect", &archive(case)]);
    for e in [
        "What the text calls HLO temporaries is everything",
        "argument: 21,474,836,480 B (20.0 GiB), of which 0 B are donated",
        "No packing can fit: 48,519,708,672 B (45.2 GiB) of temporaries are alive at one step",
        "Strategy 0, 3: 42,949,673,472 B (40.0 GiB) against a limit of 14,224,979,968 B",
    ] {
        assert!(text.contains(e), "{e}\n{text}");
    }
    // Which devices would do.
    check(
        "peak",
        case,
        "tpu/too_many_arguments",
        &[],
        &["v5e (15.75 GiB) and v6e (31.24 GiB). There is room on v5p (95.73 GiB) and 7x (94.74 GiB)."],
    );
    check(
        "advise",
        case,
        "tpu/too_many_arguments",
        &[],
        &["Donate all 20 arguments that fit outputs: saves 21,474,836,480 B (20.0 GiB)"],
    );
    check(
        "why",
        case,
        "tpu/attention_train",
        &["fusion.27{1}"],
        &["at 25,771,343,872 of allocation 136", "In our heap of"],
    );
    check(
        "why",
        case,
        "tpu/attention_train",
        &["copy-start{0}"],
        &["It was placed before the assignment began."],
    );
    // What memory space assignment placed stays where it is, or the program would not be right to begin with.
    let advice = json_of("advise", case, "tpu/attention_train", &["--trials", "12"]);
    let number = |field: &str| advice[field].as_u64().expect("a number");
    assert!(advice["unproved"] == false && number("spoilt") < number("tried"), "{advice}");
    check(
        "peak",
        case,
        "tpu/attention_train",
        &[],
        &[
            "35 × bf16[24,4096,1024]",
            "The compiler itself recomputes",
            "[recomputed]",
            "Nothing is in the host's memory (space 5)",
        ],
    );
}

#[test]
fn sharing_goes_by_bytes() {
    let case = "23_sharing_is_by_bytes";
    check(
        "shares",
        case,
        "cpu/pair_then_box",
        &["sort.0", "fft.2"],
        &["yes, 1,048,576 B", "at 0 of allocation 33", "f32[96,96,64]", "c64[8,16,32,32]"],
    );
    let of = |module| json_of("peak", case, module, &[])["owners"][2]["bytes"].as_u64();
    assert_eq!((of("cpu/pair_then_box"), of("cpu/both_needed")), (Some(2_359_296), Some(4_456_448)));
}

#[test]
fn widened_weights() {
    let case = "25_cpu_gpu_tpu_differ";
    check(
        "peak",
        case,
        "cpu/bf16_mlp",
        &[],
        &[
            "5 widened copies of argument 0, 1, 2, 3 and 4",
            "4 × f32[1024,1024]{1,0} convert",
            "made before the first is read",
        ],
    );
    check("advise", case, "cpu/bf16_mlp", &[], &["right before its first reader: saves 12,582,912 B"]);
    let text = diff(case, "cpu/bf16_mlp", case, "tpu/bf16_mlp");
    assert!(text.contains("4 -> 0 × f32[1024,1024] convert"), "{text}");
}

#[test]
fn a_training_step() {
    let case = "28_adam_train_step";
    let text = check(
        "peak",
        case,
        "cpu/train_step",
        &[],
        &["f32[8,128,4096]", "log_softmax", "By source line:", "By scope:"],
    );
    let peak = json_of("peak", case, "cpu/train_step", &[]);
    let groups = peak["spaces"][0]["groups"].as_array().expect("groups");
    let vocabulary = groups
        .iter()
        .filter(|g| g["shape"].as_str().is_some_and(|s| s.contains("4096]") || s.contains("4096,")));
    let share: u64 = vocabulary.filter_map(|g| g["bytes"].as_u64()).sum();
    assert!(
        share * 10 > peak["spaces"][0]["live"].as_u64().expect("a number") * 4,
        "the loss makes the peak: {text}"
    );
    let table = json_of("donation", case, "cpu/train_step", &[]);
    let taken =
        table["arguments"].as_array().expect("arguments").iter().filter(|a| a["state"] == "taken").count();
    assert_eq!(taken, 51);
    let picked = pick(case, "cpu/train_step");
    let budget = ["budget", &picked[0], "--module", &picked[2], "--max-temp", "17GiB"];
    assert_eq!(run(&budget).1, 0);
    let text = diff(case, "cpu/train_step", case, "cpu/train_step_not_donated");
    assert!(text.contains("donations lost: argument 0, 1, 2"), "{text}");
}

#[test]
fn modules_of_one_name() {
    let all = json(&["inspect", &archive("29_same_name_modules")]);
    let modules = all["modules"].as_array().expect("modules");
    let mut ids: Vec<&str> =
        modules.iter().filter(|m| m["backend"] == "cpu").filter_map(|m| m["id"].as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["0000", "0002", "0004", "0006"]);
    let (text, _) = run(&["inspect", &archive("29_same_name_modules")]);
    assert!(
        text.contains("4 modules are named jit_fn") && text.contains("(f32[100,64]{1,0}, f32[64,100]{1,0})"),
        "{text}"
    );
}

#[test]
fn thirty_two_layers() {
    let text = check(
        "peak",
        "31_deep_unrolled",
        "cpu/deep_step",
        &[],
        &["32 × f32[256,512]{1,0} dot_general", "95 × f32[4,64,128]"],
    );
    assert!(text.contains("94,077,440 B (89.7 MiB)"), "{text}");
}

#[test]
fn work_space_of_libraries() {
    let text = check("peak", "32_library_calls", "cpu/solve", &[], &["library calls (lapack_sgetrf_ffi"]);
    assert!(text.contains("what is allocated inside is in no dump"), "{text}");
}

/// Of every module of every case: what is alive adds up, and is no more than the temporaries take.
#[test]
fn peaks_add_up() {
    let mut spaces = 0;
    for case in all_cases() {
        let all = json(&["inspect", &archive(&case)]);
        for m in all["modules"].as_array().expect("modules") {
            let of = format!(
                "{}:{}",
                m["backend"].as_str().expect("a backend"),
                m["id"].as_str().expect("a number")
            );
            let peak = json(&["peak", &archive(&case), "--module", &of]);
            for s in peak["spaces"].as_array().expect("spaces") {
                let sum = |list: &str, field: &str| -> u64 {
                    let all = s[list].as_array().expect("a list");
                    all.iter().map(|x| x[field].as_u64().expect("a number")).sum()
                };
                let live = s["live"].as_u64().expect("a number");
                assert_eq!(sum("slots", "size"), live, "{case} {of} {}", s["color"]);
                assert_eq!(sum("groups", "bytes"), live, "{case} {of} {}", s["color"]);
                assert!(Some(live) <= s["temp"].as_u64(), "{case} {of} {}", s["color"]);
                spaces += 1;
            }
            let owners = peak["owners"].as_array().expect("owners");
            let sum: u64 = owners.iter().filter_map(|o| o["bytes"].as_u64()).sum();
            assert_eq!(Some(sum), peak["allocated_bytes"].as_u64(), "{case} {of}");
            assert_eq!(peak["allocated_bytes"], m["totals"]["total_bytes"], "{case} {of}");
            // The compiler's own files have the same sums.
            let checks = peak["checks"].as_array().expect("checks");
            assert!(
                checks.iter().all(|c| c["agrees"] == true && c["told"] == peak["allocated_bytes"]),
                "{case} {of}"
            );
            assert!(!checks.is_empty(), "{case} {of}");
            assert_eq!(peak["told_peak"]["bytes"], peak["total_bytes"], "{case} {of}");
            assert_eq!(peak["told_peak"]["step"], peak["step"], "{case} {of}");
        }
    }
    assert!(spaces > 150, "{spaces}");
}

/// Our assignment beside XLA's, value for value, from text alone.
#[test]
fn nearly_all_are_assigned_as_xla_does() {
    let (mut same, mut other) = (0, 0);
    for case in all_cases() {
        let all = json(&["inspect", &archive(&case), "--rerun"]);
        for m in all["modules"].as_array().expect("modules") {
            let words = m["rerun"].as_str().unwrap_or_else(|| panic!("{case}: {m}"));
            if words.contains("Our assignment is XLA's") { same += 1 } else { other += 1 }
        }
    }
    assert!(same > 100 && other <= 4, "{same} are the same, {other} are not");
}

/// Whatever a module's names hold, a terminal is shown text.
#[test]
fn hostile_names_are_shown_as_text() {
    let names = ["<img/src=x>", "a\u{1b}[31mred", "b\u{202e}txt.exe", &"y".repeat(100_000)];
    let mut text =
        String::from("HloModule m, is_scheduled=true\n\nENTRY main {\n  p = f32[64]{0} parameter(0)\n");
    for (i, name) in names.iter().enumerate() {
        let before = if i == 0 { "p".to_owned() } else { format!("v{}", i - 1) };
        _ = writeln!(
            text,
            "  v{i} = f32[64]{{0}} reverse({before}), dimensions={{0}}, metadata={{op_name=\"jit(f)/{name}/op\"}}"
        );
    }
    text += "  ROOT r = f32[64]{0} add(v3, v2)\n}\n";
    let folder = std::env::temp_dir().join(format!("bufferscope-hostile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("module_0000.m\u{1b}.cpu_after_optimizations.txt"), &text).expect("a file");
    let path = folder.display().to_string();
    for command in ["inspect", "peak", "donation", "advise"] {
        let (out, _) = run(&[command, &path]);
        assert!(!out.contains('\u{1b}') && !out.contains('\u{202e}'), "{command}: {out}");
    }
    let (out, _) = run(&["peak", &path]);
    assert!(out.contains("\\u{1b}[31mred") || out.contains("txt.exe"), "{out:.2000}");
    std::fs::remove_dir_all(folder).expect("the folder goes");
}

/// A folder of a hundred modules, and the wrong questions to ask of it.
#[test]
fn a_hundred_modules() {
    let folder = std::env::temp_dir().join(format!("bufferscope-hundred-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for i in 0..100 {
        let text = format!(
            "HloModule jit_f, is_scheduled=true\n\nENTRY main {{\n  p = f32[{}]{{0}} parameter(0)\n  ROOT n = f32[{}]{{0}} negate(p)\n}}\n",
            i + 1,
            i + 1
        );
        std::fs::write(folder.join(format!("module_{i:04}.jit_f.cpu_after_optimizations.txt")), text)
            .expect("a file");
    }
    let path = folder.display().to_string();
    let all = json(&["inspect", &path]);
    let modules = all["modules"].as_array().expect("modules");
    assert_eq!(modules.len(), 100);
    // The largest first.
    assert_eq!((modules[0]["id"].as_str(), modules[99]["id"].as_str()), (Some("0099"), Some("0000")));
    let peak = json(&["peak", &path, "--module", "0041"]);
    assert_eq!(peak["allocated_bytes"], 2 * 42 * 4);
    let output = Command::new(env!("CARGO_BIN_EXE_bufferscope"))
        .args(["peak", &path])
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("100 modules, expected --module with the number of one"), "{said}");
    std::fs::remove_dir_all(folder).expect("the folder goes");
}

/// One of the folders of damaged dumps.
fn bad<'a>(command: &'a str, folder: &'a str, more: &[&str]) -> (String, String, i32) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../opening/tests/data/bad_dumps.tar.gz")
        .display()
        .to_string();
    let module = format!("{folder}/0000");
    let arguments = [&[command, &path, "--module", &module], more].concat();
    let output =
        Command::new(env!("CARGO_BIN_EXE_bufferscope")).args(&arguments).output().expect("the command runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code().unwrap_or(-1))
}

/// No limit is kept by an assignment that is cut off or contradicts the other files.
#[test]
fn limits_are_not_kept_by_damaged_assignments() {
    for folder in [
        "06_assignment_cut",
        "10_other_module_live_range",
        "12_unknown_value",
        "20_live_values_overlap",
        "22_beyond_the_end",
        "24_value_twice",
        "25_huge_numbers",
    ] {
        let (out, said, status) = bad("budget", folder, &["--max-total", "10GiB"]);
        assert_eq!(status, 2, "{folder}: {out}{said}");
        assert!(out.contains("as far as it can be read") && !out.contains("kept"), "{folder}: {out}");
        assert!(said.contains("whether the limits are kept is not known"), "{folder}: {said}");
        let (out, _, _) = bad("budget", folder, &["--max-total", "10GiB", "--json"]);
        assert!(out.contains("\"kept\":null") && !out.contains("\"kept\":true"), "{folder}: {out}");
        let (out, said, status) = bad("peak", folder, &["--limit", "10GiB"]);
        assert!(status == 2 && !out.contains("fit into"), "{folder}: {out}{said}");
        // Without a limit what can be read is told, and that it is not to be relied on; ours is not in doubt.
        for command in ["peak", "owners"] {
            let (out, said, status) = bad(command, folder, &[]);
            assert_eq!(status, 2, "{folder}: {out}{said}");
            assert!(
                !out.is_empty() && said.contains("these sums are not to be relied on"),
                "{folder}: {said}"
            );
            assert_eq!(bad(command, folder, &["--ours"]).2, 0, "{folder}");
        }
        assert_eq!(bad("budget", folder, &["--max-total", "10GiB", "--ours"]).2, 0, "{folder}");
    }
}

/// A dump is the same as itself, also where a name has two places, and as itself without its module's text.
#[test]
fn a_dump_and_itself_without_its_text_are_the_same() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../opening/tests/data/bad_dumps.tar.gz")
        .display()
        .to_string();
    for (right, told) in [
        ("24_value_twice", "24_value_twice"),
        ("00_good", "01_no_hlo"),
        ("01_no_hlo", "00_good"),
        ("01_no_hlo", "01_no_hlo"),
    ] {
        let modules = [format!("{right}/0000"), format!("{told}/0000")];
        let sides = ["--left-module", &modules[0], "--right-module", &modules[1]];
        let output = Command::new(env!("CARGO_BIN_EXE_bufferscope"))
            .args([&["diff", &path, &path], &sides[..]].concat())
            .output()
            .expect("the command runs");
        let out = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{right} {told}: {out}");
        assert!(out.contains("The two are the same.") && !out.contains("What makes the difference"), "{out}");
        assert_eq!(out.contains("has no text of its module"), right != told, "{out}");
    }
}

/// What is there is used, and what needs the rest says what is missing.
#[test]
fn damaged_dumps_answer_what_they_can() {
    for folder in [
        "00_good",
        "01_no_hlo",
        "05_hlo_cut_mid_line",
        "34_no_peak_section",
        "36_old_report",
        "38_live_range_inside",
        "39_log_prefix",
    ] {
        let (out, said, status) = bad("peak", folder, &[]);
        assert_eq!(status, 0, "{folder}: {said}");
        assert!(out.contains("8,388,756 B (8.0 MiB) in all"), "{folder}: {out}");
        assert!(out.contains("4,194,304  100.0%  3-24         1 × f32[1048576]{0} exp"), "{folder}: {out}");
        let (out, _, status) = bad("shares", folder, &["bitcast_add_fusion", "copy.8"]);
        assert_eq!((status, out.lines().next()), (0, Some("yes, 4 B")), "{folder}");
        assert_eq!(bad("shares", folder, &["bitcast_add_fusion", "copy.2"]).2, 1, "{folder}");
        assert_eq!(bad("budget", folder, &["--max-temp", "5M"]).2, 0, "{folder}");
    }
    let (out, _, _) = bad("constants", "01_no_hlo", &[]);
    assert!(out.contains("  who reads it is not known: the module's text is not there"), "{out}");
    let (_, said, status) = bad("donation", "01_no_hlo", &[]);
    assert!(status == 2 && said.contains("after_optimizations.txt"), "{said}");
    let (_, said, status) = bad("explain", "01_no_hlo", &["copy.8", "copy.2"]);
    assert!(status == 2 && said.contains("after_optimizations.txt"), "{said}");
    let (_, said, _) = bad("peak", "05_hlo_cut_mid_line", &[]);
    assert!(said.contains("after_optimizations.txt:87:"), "{said}");
    let (_, said, _) = bad("peak", "20_live_values_overlap", &[]);
    assert!(said.contains("wrapped_exponential (3-24) and while.2{1} (21-24)"), "{said}");
    let (out, said, status) = bad("peak", "03_hlo_only", &[]);
    assert!(status == 0 && out.contains("4,194,304  100.0%"), "{said}");
    assert!(out.contains("our own assignment, which no file of the compiler gives"), "{out}");
    // Which file has the total, under which name; an old live-range file gives no peak that could be compared.
    let (out, _, _) = bad("peak", "00_good", &[]);
    let values = "8,388,756 B (8.0 MiB): `Total bytes used` in module_0000.jit_loop_reads_mid.cpu_after_optimizations-buffer-assignment-values.txt";
    assert!(out.contains(values) && out.contains("-live-range.txt says the same"), "{out}");
    let (out, _, _) = bad("peak", "34_no_peak_section", &[]);
    assert!(out.contains(values) && !out.contains("-live-range.txt says"), "{out}");
    let (out, _, _) = bad("budget", "25_huge_numbers", &["--max-constant", "1T", "--json"]);
    assert!(out.contains("9223372036854775819"), "{out}");
}

/// The first line of `peak` is the loss over the vocabulary; a donation that saves nothing says why; and what differs where
/// temporaries and all memory change in opposite directions is told of all memory.
#[test]
fn the_loss_is_named_first_and_a_donation_that_saves_nothing_says_why() {
    let case = "28_adam_train_step";
    let text = check(
        "peak",
        case,
        "cpu/train_step",
        &[],
        &["By place: loss, log_softmax (28_adam_train_step.py:19–20) 45 %"],
    );
    let first =
        text.split_once("What stands out:\n").map_or("", |(_, rest)| rest).lines().next().unwrap_or("");
    assert!(
        first.contains(
            "is loss, log_softmax (28_adam_train_step.py:19–20): 83,898,368 B (80.0 MiB) in 6 values, 45 %"
        ),
        "{first}"
    );
    let told = json_of("peak", case, "cpu/train_step", &[]);
    assert_eq!(told["notes"][0]["name"], "place", "{told}");
    assert_eq!(told["spaces"][0]["by_place"][0]["function"], "loss", "{told}");
    check(
        "try",
        case,
        "cpu/train_step_not_donated",
        &["--donate", "16"],
        &["+4,194,304 B", "The output no longer has memory of its own", "ynn_fusion.7 (4,194,304 B)"],
    );
    let text = diff(case, "cpu/train_step_not_donated", case, "cpu/train_step");
    for e in [
        "The temporaries change by +33,632,256 B (+21.8 %), all memory by −16,699,392 B (−6.6 %)",
        "What makes the difference where most of all memory is in use",
        "+4,194,304 B: 0 -> 4 × f32[1024,256] copy",
    ] {
        assert!(text.contains(e), "{e}\n{text}");
    }
    assert!(!text.contains("4 -> 3"), "{text}");
}

/// What removes all copies at once stands before what removes one.
#[test]
fn what_lets_most_copies_go_is_told_first() {
    let text = check("advise", "16_grad_accumulation", "cpu/one_batch", &[], &[]);
    let first =
        text.split_once("as copy insertion sees it, if you\n").map_or("", |(_, rest)| rest).lines().next();
    assert_eq!(first, Some("  turn on region analysis: 0 copies instead of 5, 1,310,720 B less"), "{text}");
    // Nothing has to be asked for reasons.
    let told = check(
        "copies",
        "16_grad_accumulation",
        "cpu/one_batch",
        &[],
        &["Made because", "It would go if you"],
    );
    assert!(told.starts_with("5 copies write "), "{told}");
}
