//! Small programs compiled for GPUs: each question is answered, and the answers are those that the dump gives when it is read by
//! hand.
//!
//! `data/gpu/gpu.tar.gz` is a dump folder of seven modules. The numbers here were worked out from its `-buffer-assignment.txt`
//! and `-live-range.txt` with a few lines of another language, not with this program.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn archive() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gpu/gpu.tar.gz").display().to_string()
}

/// Asks about one module; gives standard output and the exit status.
fn ask(command: &str, module: &str, more: &[&str]) -> (String, i32) {
    let mut arguments = vec![command.to_owned(), archive(), "--module".to_owned(), module.to_owned()];
    arguments.extend(more.iter().map(|m| (*m).to_owned()));
    let output =
        Command::new(env!("CARGO_BIN_EXE_bufferscope")).args(&arguments).output().expect("the command runs");
    let status = output.status.code().unwrap_or(-1);
    assert!(matches!(status, 0 | 1), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8(output.stdout).expect("UTF-8"), status)
}

fn json(command: &str, module: &str, more: &[&str]) -> Value {
    let (text, _) = ask(command, module, &[more, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{command} {module}: {e}\n{text}"))
}

/// Every module opens as what it is, without a contradiction, and our assignment puts each value where XLA's has it.
#[test]
fn every_module_opens_and_is_assigned_as_by_the_compiler() {
    let output = Command::new(env!("CARGO_BIN_EXE_bufferscope"))
        .args(["inspect", &archive(), "--rerun", "--json"])
        .output()
        .expect("the command runs");
    assert!(output.status.success());
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let modules = all["modules"].as_array().expect("modules");
    // The largest first, by the `Total bytes` of their memory-usage reports.
    let listed: Vec<(&str, u64)> = modules
        .iter()
        .map(|m| (m["name"].as_str().expect("a name"), m["totals"]["total_bytes"].as_u64().expect("a total")))
        .collect();
    assert_eq!(
        listed,
        [
            ("jit_attention_grad", 786_492),
            ("jit_adam_donated", 170_540),
            ("jit_psum_shardmap", 57_356),
            ("jit_scan_grad", 22_636),
            ("jit_kv_cache_loop", 21_580),
            ("jit_donation_unusable", 8_028),
            ("jit_while_swap", 2_592),
        ]
    );
    for m in modules {
        assert_eq!((m["backend"].as_str(), m["memory"]["source"].as_str()), (Some("gpu"), Some("dump")));
        assert_eq!(m["findings"], Value::Array(Vec::new()), "{m}");
        let same = m["rerun"].as_str().is_some_and(|w| w.starts_with("Our assignment is XLA's"));
        assert!(same, "{}", m["rerun"]);
    }
}

/// What is taken of the temporaries at their peak adds up to what the dump's ranges and offsets give.
#[test]
fn peaks_add_up() {
    let expected = [
        ("0000", 48_152, 43, 41_472),
        ("0001", 393_216, 13, 393_216),
        ("0003", 544, 15, 260),
        ("0004", 512, 15, 512),
        ("0005", 9_280, 48, 8_020),
        ("0006", 8_192, 4, 8_192),
    ];
    for (module, temp, step, live) in expected {
        let told = json("peak", module, &[]);
        let space = &told["spaces"][0];
        assert_eq!(
            (&space["temp"], &space["step"], &space["live"]),
            (&temp.into(), &step.into(), &live.into()),
            "{module}"
        );
        let sum = |of: &Value, field: &str| -> u64 {
            of.as_array().expect("a list").iter().map(|s| s[field].as_u64().expect("bytes")).sum()
        };
        assert_eq!((sum(&space["slots"], "size"), sum(&space["groups"], "bytes")), (live, live), "{module}");
        assert_eq!(
            sum(&told["owners"], "bytes"),
            told["allocated_bytes"].as_u64().expect("a total"),
            "{module}"
        );
    }
    let (none, _) = ask("peak", "0002", &[]);
    assert!(none.contains("There are no temporaries"), "{none}");
}

/// Three values of the scores' shape are all that there is at the peak of attention's gradient.
#[test]
fn scores_grow_with_the_square() {
    let told = json("peak", "0001", &[]);
    let names: Vec<&str> = told["spaces"][0]["slots"]
        .as_array()
        .expect("slots")
        .iter()
        .map(|s| s["values"][0]["value"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["gemm_fusion_dot.1", "gemm_fusion_dot.3", "fusion.12"]);
    let note =
        told["notes"].as_array().expect("notes").iter().find(|n| n["name"] == "square").expect("a note");
    assert_eq!(note["bytes"], 393_216);
    let words = note["words"].as_str().expect("words");
    assert!(words.contains("two dimensions of 64 (f32[8,64,64] and f32[2,4,64,64])"), "{words}");
}

/// What a loop keeps for its backward pass: three arrays of 20 steps.
#[test]
fn residuals_of_a_scan() {
    let told = json("peak", "0005", &[]);
    let group = &told["spaces"][0]["groups"][0];
    assert_eq!((group["count"].as_u64(), group["bytes"].as_u64()), (Some(3), Some(7_680)));
    assert_eq!(
        (group["shape"].as_str(), group["phase"].as_str()),
        (Some("f32[20,32]{1,0}"), Some("forward"))
    );
}

#[test]
fn donations() {
    let adam = json("donation", "0000", &[]);
    let arguments = adam["arguments"].as_array().expect("arguments");
    assert_eq!(arguments.len(), 27);
    // All 25 of the state are taken, each by the output of its number; the batch is not.
    for (i, a) in arguments.iter().enumerate() {
        let taken = a["output"].as_str();
        assert_eq!(taken.map(str::to_owned), (i < 25).then(|| format!("{{{i}}}")), "{a}");
    }
    assert_eq!(json("peak", "0000", &[])["owners"][0]["donated"], 112_900);
    // Two vectors were offered for a scalar: JAX has dropped both.
    let (unusable, _) = ask("donation", "0002", &[]);
    assert!(
        unusable.contains(
            "argument 0 a[0] f32[1000]: 4,000 B, not donated in this module; no free output has its size"
        ),
        "{unusable}"
    );
    let (cache, _) = ask("donation", "0003", &[]);
    assert!(cache.contains("argument 0 a[0] f32[16,64]: 4,096 B, taken by output {0}"), "{cache}");
    assert!(
        cache.contains("argument 2 a[2] f32[64]: 256 B, not donated; output {1} could stand there"),
        "{cache}"
    );
    assert_eq!(ask("budget", "0000", &["--must-alias", "0,1,24", "--max-temp", "48152"]).1, 0);
    assert_eq!(ask("budget", "0000", &["--max-temp", "48151"]).1, 1);
    assert_eq!(ask("budget", "0002", &["--must-alias", "0"]).1, 1);
}

/// The swap of a loop's two arrays: both are copied each time round, and what is not donated once before.
#[test]
fn copies_of_a_loop_that_swaps() {
    let told = json("copies", "0004", &["--present"]);
    let copies: Vec<(&str, u64, u64)> = told["copies"]
        .as_array()
        .expect("copies")
        .iter()
        .map(|c| {
            (
                c["copy"].as_str().expect("a name"),
                c["bytes"].as_u64().expect("bytes"),
                c["runs"].as_u64().expect("how often"),
            )
        })
        .collect();
    assert_eq!(
        copies,
        [("copy.3", 512, 7), ("copy.6", 512, 7), ("copy.13", 512, 1), ("copy.12", 512, 1), ("copy.14", 4, 1)]
    );
    let (words, _) = ask("copies", "0004", &["--present"]);
    // copy.3 = copy(element 0), copy.6 = copy(element 1), and the body gives back (copy.6, copy.3 + 1): each is written where the
    // other is still to be read.
    assert!(
        words.contains(
            "Made because the body of loop while.6 may still read state {0} when the new one is written."
        ),
        "{words}"
    );
    assert!(words.contains("It would go if you donate parameter 1, a_1_.1, to output {1}"), "{words}");
    // The cache is updated in place: nothing of its 4,096 bytes is copied.
    let cache = json("copies", "0003", &["--present"]);
    assert!(
        cache["copies"].as_array().expect("copies").iter().all(|c| c["bytes"].as_u64() < Some(4_096)),
        "{cache}"
    );
}

#[test]
fn who_shares_and_why_not() {
    // Both at offset 131072 of allocation 16, one after the other.
    assert_eq!(ask("shares", "0001", &["fusion.10", "gemm_fusion_dot.3"]).1, 0);
    let (apart, status) = ask("shares", "0001", &["fusion.10", "gemm_fusion_dot.1"]);
    assert_eq!(status, 1);
    assert!(apart.contains("gemm_fusion_dot.1: 131,072 B at 0 of allocation 16, steps 6 to 13"), "{apart}");
    let (why, _) = ask("explain", "0001", &["fusion.10", "gemm_fusion_dot.1"]);
    assert!(why.contains("Both are wanted from step 7 to step 10."), "{why}");
    let (tried, _) = ask("why", "0004", &["copy.3"]);
    assert!(
        tried.contains("allocation 0 (copy.6): no, copy.3 and copy.6 are both alive from step 16 to step 17"),
        "{tried}"
    );
}

/// What a command buffer asks: 27 arguments and 2 outputs may come elsewhere, one arena of temporaries stays the executable's.
#[test]
fn whose_addresses_change() {
    let told = json("owners", "0000", &["--granularity", "64KiB"]);
    let of = |name: &str| -> (u64, u64, u64) {
        let line =
            told["owners"].as_array().expect("owners").iter().find(|o| o["owner"] == name).expect("an owner");
        let field = |f: &str| line[f].as_u64().expect("a number");
        (field("allocations"), field("bytes"), field("mapped"))
    };
    assert_eq!(of("argument"), (27, 122_116, 27 * 65_536));
    assert_eq!(of("output"), (2, 212, 2 * 65_536));
    assert_eq!(of("temp"), (1, 48_152, 65_536));
    assert_eq!(of("thread-local"), (15, 60, 0));
    let donated = told["allocations"].as_array().expect("allocations").iter();
    assert_eq!(donated.filter(|a| a["owner"] == "argument" && a["maybe_live_out"] == true).count(), 25);
    let (words, _) = ask("owners", "0000", &[]);
    assert!(
        words.contains("outputs stand in donated arguments: 112,900 B (110.3 KiB) in 25 allocations."),
        "{words}"
    );
    assert!(words.contains("The executable's: 48,152 B (47.0 KiB) in 1 allocation."), "{words}");
    assert_eq!(
        Command::new(env!("CARGO_BIN_EXE_bufferscope"))
            .args(["owners", &archive(), "--module", "0000", "--granularity", "0"])
            .status()
            .expect("the command runs")
            .code(),
        Some(2)
    );
}

/// The sums are those of the compiler's own files, and the constants and what is captured are told apart.
#[test]
fn sums_and_constants() {
    let (text, _) = ask("peak", "jit_psum_shardmap", &[]);
    assert!(text.contains("add up to the files' own total, 57,356 B"), "{text}");
    for module in ["jit_scan_grad", "jit_kv_cache_loop", "jit_attention_grad"] {
        let found = json("constants", module, &[]);
        let owners = json("owners", module, &[]);
        let by_owner = owners["owners"].as_array().expect("owners");
        let bytes: u64 =
            by_owner.iter().filter(|o| o["owner"] == "constant").filter_map(|o| o["bytes"].as_u64()).sum();
        assert_eq!(found["bytes"].as_u64(), Some(bytes), "{module}");
        let all = found["constants"].as_array().expect("constants");
        assert!(all.iter().all(|c| c["readers"].as_array().is_some_and(|r| !r.is_empty())), "{found}");
        assert_eq!(found["captured"], Value::Array(Vec::new()), "{module}");
    }
}
