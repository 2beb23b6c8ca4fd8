//! Commands that read dumps: old and new, whole and broken.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Small dumps of XLA.
fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dumps/tests/data").join(name);
    assert!(path.exists(), "{}", path.display());
    path.display().to_string()
}

/// Runs the command; gives standard output, standard error and the exit status.
fn run(arguments: &[&str], input: Option<&str>) -> (String, String, i32) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bufferscope"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    if let (Some(text), Some(pipe)) = (input, &mut child.stdin) {
        pipe.write_all(text.as_bytes()).expect("standard input");
    }
    let output = child.wait_with_output().expect("the command ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr), output.status.code().unwrap_or(-1))
}

fn temporary(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("bufferscope-{}-{name}", std::process::id()));
    std::fs::write(&path, text).expect("a file");
    path
}

/// Where a dump has XLA's own places, `explain`, `shares` and `why` give these, and say of ours that they are ours.
#[test]
fn places_are_those_of_the_dump() {
    let folder = std::env::temp_dir().join(format!("bufferscope-{}-places", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let read = |name: &str| std::fs::read_to_string(data(&format!("cpu/scan_grad/{name}"))).expect("a file");
    // As if XLA numbered its allocations otherwise.
    let mut moved = String::new();
    for line in read("buffer-assignment.txt").lines() {
        let line = match line.strip_prefix("allocation ").and_then(|rest| rest.split_once(':')) {
            Some((number, rest)) => {
                format!("allocation {}:{rest}", number.parse::<u32>().map_or(0, |n| n + 500))
            }
            None => line.to_owned(),
        };
        moved += &line;
        moved.push('\n');
    }
    let name = |end: &str| folder.join(format!("module_0001.jit_f.cpu_after_optimizations{end}.txt"));
    std::fs::write(name(""), read("module.txt")).expect("a file");
    std::fs::write(name("-buffer-assignment"), &moved).expect("a file");
    let folder_text = folder.display().to_string();
    let (table, ..) = run(&["peak", &folder_text, "--json"], None);
    let table: serde_json::Value = serde_json::from_str(&table).expect("JSON");
    let values: Vec<&serde_json::Value> =
        table["spaces"][0]["slots"].as_array().expect("slots").iter().map(|s| &s["values"][0]).collect();
    let [a, b] = [values[0], values[1]];
    let label = |v: &serde_json::Value| v["value"].as_str().expect("a name").to_owned();
    let number = |v: &serde_json::Value| v["allocation"].as_u64().expect("a number");
    assert!(number(a) >= 500);
    let (said, err, _) = run(&["explain", &folder_text, &label(a), &label(b)], None);
    assert!(said.contains(&format!("of allocation {}", number(a))), "{said}{err}");
    let (asked, ..) = run(&["explain", &folder_text, &label(a), &label(b), "--json"], None);
    let asked: serde_json::Value = serde_json::from_str(&asked).expect("JSON");
    assert_eq!((&asked["a"]["allocation"], &asked["a"]["offset"]), (&a["allocation"], &a["offset"]));
    assert!(asked["a"]["ours"]["allocation"].as_u64() < Some(500), "{asked}");
    let (why, ..) = run(&["why", &folder_text, &label(a)], None);
    assert!(why.contains(&format!("of allocation {}", number(a))), "{why}");
    // What asks for another assignment is told of that one.
    let (ours, ..) =
        run(&["explain", &folder_text, &label(a), &label(b), "--heap-limit", "1000000000"], None);
    assert!(!ours.contains("of allocation 5"), "{ours}");
    _ = std::fs::remove_dir_all(folder);
}

#[test]
fn presets_put_every_value_of_a_tpu_module_where_libtpu_does() {
    let module = data("tpu/kv_cache_loop/module.txt");
    let dump = data("tpu/kv_cache_loop/buffer-assignment.txt");
    let text = std::fs::read_to_string(&dump).expect("the dump");
    let mut is_preset = false;
    let mut presets = String::from("BufferAssignment:\n");
    for line in text.lines() {
        if line.starts_with("allocation ") {
            is_preset = line.contains(", color 1,");
        }
        if is_preset {
            presets += line;
            presets.push('\n');
        }
    }
    let file = temporary("presets.txt", &presets);
    let path = file.display().to_string();
    let (out, _, status) = run(&["diff", &module, &dump, "--presets", &path], None);
    assert_eq!(status, 0, "{out}");
    // Without them the second memory is packed like any other.
    assert_eq!(run(&["diff", &module, &dump], None).2, 1);
    for command in ["assign", "decisions", "peak"] {
        assert_eq!(run(&[command, &module, "--presets", &path], None).2, 0, "{command}");
    }

    std::fs::write(&file, presets.replace("copy-start", "kopy-start")).expect("a file");
    let (_, error, status) = run(&["assign", &module, "--presets", &path], None);
    assert!(status == 2 && error.contains("expected a value of the module"), "{error}");
    std::fs::remove_file(&file).expect("the file goes");
}

#[test]
fn dumps_of_all_ages_compare() {
    let now = data("old/buffer-assignment.txt");
    for other in ["old/live-range-inside.txt", "old/log-prefix.txt"] {
        let (out, error, status) = run(&["diff", &now, &data(other)], None);
        assert_eq!((status, error.as_str()), (0, ""), "{out}");
    }
    let twice = std::fs::read_to_string(&now).expect("the dump").replacen(
        "allocation 2:",
        " value: <32 wrapped_exponential @0> (size=4,offset=0): f32[1048576]{0}\nallocation 2:",
        1,
    );
    let file = temporary("twice.txt", &twice);
    let (out, error, status) = run(&["diff", &now, &file.display().to_string()], None);
    assert!(status == 1 && out.contains("1 value appeared:\n  wrapped_exponential: "), "{out}");
    assert!(error.contains("`wrapped_exponential` a second time"), "{error}");
    std::fs::remove_file(&file).expect("the file goes");
    // The peak of one is in the file beside it, that of the other inside it.
    let (out, ..) = run(&["diff", &now, &data("old/live-range-inside.txt")], None);
    assert!(out.contains("peak of the live ranges: 8,388,612 B (8.0 MiB) at step 24 -> "), "{out}");
}

#[test]
fn a_module_and_its_dump_are_the_same() {
    let dump = data("cpu/kv_cache_loop/buffer-assignment.txt");
    let module = data("cpu/kv_cache_loop/module.txt");
    assert_eq!(run(&["diff", &module, &dump], None).2, 0);
    let text = std::fs::read_to_string(&module).expect("the module");
    assert_eq!(run(&["diff", "-", &dump], Some(&text)).2, 0);
    let (out, _, status) = run(&["diff", &data("gpu/kv_cache_loop/module.txt"), &dump, "--json"], None);
    assert_eq!(status, 1);
    let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(json["left"]["temp_bytes"], 544);
    assert_eq!(json["right"]["temp_bytes"], 416);
}

#[test]
fn bad_input_is_named() {
    let dump = data("old/buffer-assignment.txt");
    let text = std::fs::read_to_string(&dump).expect("the dump");
    let cut = temporary("cut.txt", &text[..text.len() - 20]);
    let path = cut.display().to_string();
    let (_, error, status) = run(&["diff", &path, &dump], None);
    assert_eq!(status, 2);
    assert!(error.contains("the file seems to be cut off here"), "{error}");
    std::fs::remove_file(&cut).expect("the file goes");

    let module = data("cpu/kv_cache_loop/module.txt");
    let cases = [
        (
            ["explain", &module, "dott", "dot"],
            "`dott`, expected an instruction of the module; there is dot\n",
        ),
        (
            ["explain", &module, "while.1{9}", "dot"],
            "`while.1{9}`, expected an index into (s32[], f32[16,64], f32[64], f32[64,64])\n",
        ),
        (["shares", &module, "dot", "while.1{"], "`while.1{`, expected a `}` at the end\n"),
        (["shares", &module, "dot", "999999"], "`999999`, expected an instruction of the module\n"),
    ];
    for (arguments, expected) in cases {
        let (_, error, status) = run(&arguments, None);
        assert_eq!((error.as_str(), status), (expected, 2));
    }
    assert_eq!(run(&["peak", "no such file"], None).2, 2);
}

#[test]
fn values_go_by_name_and_by_number() {
    let module = data("cpu/kv_cache_loop/module.txt");
    let by_name = run(&["why", &module, "%while.1{0}"], None);
    let (json, ..) = run(&["why", &module, "while.1{0}", "--json"], None);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let number = json["value"]["id"].to_string();
    assert_eq!(run(&["why", &module, &number], None), by_name);
    assert_eq!(by_name.2, 0);
}

/// A folder or an archive is checked with the assignment beside its module, by name or by number; and what is tried on it is
/// told with its reason.
#[test]
fn folders_are_checked_and_tried() {
    let zip = format!("{}/../../assets/modules/donated_loop_reads.zip", env!("CARGO_MANIFEST_DIR"));
    let module = ["--module", "jit_loop_reads_mid"];
    let (out, err, status) = run(&["check", &zip, module[0], module[1]], None);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("right: "), "{out}");
    let (ours, _, status) = run(&["check", &zip, module[0], module[1], "--ours"], None);
    assert_eq!((status, &ours), (0, &out));
    let (_, err, status) = run(&["check", &zip], None);
    assert!(status == 2 && err.contains("3 modules, expected --module"), "{err}");
    let (out, _, status) = run(&["try", &zip, module[0], module[1], "--align", "4096", "--json"], None);
    let tried: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((status, &tried["soundness"]), (0, &"right".into()), "{out}");
    // What was made is read again, as a list and as a file of the lab.
    let list = temporary("edits.json", &tried["edits"].to_string());
    let kept = format!(
        "{{\"bufferscope_trial\": 1, \"of\": \"m\", \"edits\": {}, \"module\": \"\"}}",
        tried["edits"]
    );
    let kept = temporary("kept.json", &kept);
    for file in [&list, &kept] {
        let file = file.display().to_string();
        let again = run(&["try", &zip, module[0], module[1], "--edits", &file, "--json"], None);
        assert_eq!((again.0, again.2), (out.clone(), 0), "{}", again.1);
    }
    let broken = temporary("broken.json", "[{\"edit\": \"fly\"}]");
    let (_, err, status) =
        run(&["try", &zip, module[0], module[1], "--edits", &broken.display().to_string()], None);
    assert!(status == 2 && err.contains("`fly`, expected one of `range`, `move`"), "{err}");
    for (option, text, says) in [
        ("--move", "a", "expected NAME:STEP"),
        ("--drop-read", "a:b", "expected the number of an operand"),
        ("--donate", "x", "expected an argument like 2"),
        ("--range", "a:1", "expected VALUE:START-END"),
        ("--packer", "best", "best"),
    ] {
        let (_, err, status) = run(&["try", &zip, module[0], module[1], option, text], None);
        assert!(status == 2 && err.contains(says), "{option} {text}: {err}");
    }
}

/// One rule for alignments, whatever the command: what could overflow a size is refused before anything is run.
#[test]
fn alignments_are_powers_of_two_and_small_enough() {
    let module = temporary(
        "aligned.txt",
        "HloModule m, is_scheduled=true\n\nENTRY main {\n  x = f32[1024]{0} parameter(0)\n  a = f32[1024]{0} reverse(x), dimensions={0}\n  ROOT b = f32[4]{0} custom-call(a), custom_call_target=\"f\"\n}\n",
    );
    let path = module.display().to_string();
    for bad in ["0", "3", "4611686018427387904", "9223372036854775808", "99999999999999999999", "-1"] {
        let option = format!("--alignment={bad}");
        for command in ["peak", "assign", "optimum", "advise", "donation", "budget", "decisions", "try"] {
            let (out, said, status) = run(&[command, &path, &option], None);
            assert_eq!(status, 2, "{command} {bad}: {out}{said}");
            assert!(said.contains("expected a power of two"), "{command} {bad}: {said}");
        }
        let (_, said, status) = run(&["diff", &path, &path, &option], None);
        assert!(status == 2 && said.contains("power of two"), "{bad}: {said}");
        let (_, said, status) = run(&["try", &path, &format!("--align={bad}")], None);
        assert!(status == 2 && said.contains("power of two"), "{bad}: {said}");
    }
    for good in ["1", "64", "1073741824"] {
        assert_eq!(run(&["peak", &path, "--alignment", good], None).2, 0, "{good}");
        assert_eq!(run(&["assign", &path, "--alignment", good], None).2, 0, "{good}");
        assert_eq!(run(&["try", &path, "--align", good], None).2, 0, "{good}");
    }
    std::fs::remove_file(module).expect("the file goes");
}

#[test]
fn edits_are_asked_of_what_the_edits_before_have_made() {
    let module = temporary(
        "donated.txt",
        "HloModule don, is_scheduled=true\n\nENTRY main {\n  x = f32[64]{0} parameter(0)\n  y = f32[64]{0} parameter(1)\n  a = f32[64]{0} negate(x)\n  b = f32[64]{0} negate(y)\n  ROOT t = (f32[64]{0}, f32[64]{0}) tuple(a, b)\n}\n",
    );
    let path = module.display().to_string();
    let (out, said, status) = run(&["try", &path, "--donate", "0", "--donate", "1"], None);
    assert_eq!(status, 0, "{out}{said}");
    assert!(out.contains("argument 0 is donated to output {0}"), "{out}");
    assert!(out.contains("argument 1 is donated to output {1}"), "{out}");
    for (arguments, says) in [
        (["--donate", "7"], "the program has 2, numbered from 0"),
        (["--donate", "0{3}"], "an array of argument 0: there is none at this index"),
        (["--move", "a:"], "--move: a:, expected NAME:STEP"),
        (["--range", "a:0-99999"], "the program ends there"),
    ] {
        let (out, said, status) = run(&["try", &path, arguments[0], arguments[1]], None);
        assert!(status == 2 && said.contains(says), "{arguments:?}: {out}{said}");
    }
    let (_, said, status) = run(&["try", &path, "--no-schedule"], None);
    assert!(status == 2 && said.contains("edits are of steps"), "{said}");
    std::fs::remove_file(module).expect("the file goes");
}

#[test]
fn sizes_of_a_table_that_overflow_are_named_by_line() {
    let table =
        temporary("large.csv", "id,lower,upper,size\na,0,2,1\n\nb,0,2,2305843009213693952\nc,0,2,1\n");
    let path = table.display().to_string();
    let (_, said, status) = run(&["optimum", &path], None);
    assert_eq!(status, 2, "{said}");
    assert!(
        said.contains("large.csv:4: with this buffer the sizes add up to more than 2^61 bytes"),
        "{said}"
    );
    std::fs::remove_file(table).expect("the file goes");
}
