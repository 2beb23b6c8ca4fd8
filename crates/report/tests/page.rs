//! The page of real modules and of hostile ones: its sums, what is in it, and that it is always the same.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use opening::{Blob, Limits};
use proptest::prelude::*;
use report::{Made, State, Tried, files, make, version};
use std::io::Read as _;
use std::path::Path;

fn shell() -> String {
    format!(
        "<head><meta name=\"bufferscope-shell\" content=\"{}\"><title>lab</title></head>\n<!-- report -->\n<!-- /report -->\n<script type=\"text/plain\" id=\"bufferscope-given\"></script>\n<script type=\"module\">start()</script>\n</html>\n",
        version()
    )
}

fn asset(name: &str) -> Blob {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/modules").join(name);
    Blob::new(format!("somewhere/{name}"), std::fs::read(path).expect("a module"))
}

fn made(blobs: Vec<Blob>, module: usize, state: &State) -> Made {
    let opened = opening::open(blobs, &Limits::default());
    make(&files(&opened, module), Some(&shell()), state, &mut |_, _| {}).expect("a report")
}

/// What the page carries: the line of JSON, and the files.
fn carried(page: &str) -> (serde_json::Value, Vec<(String, Vec<u8>)>) {
    let (_, rest) = page.split_once("id=\"bufferscope-given\">").expect("a block of data");
    let (data, _) = rest.split_once("</script>").expect("its end");
    let packed = BASE64_STANDARD.decode(data).expect("base64");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("gzip");
    let end = bytes.iter().position(|b| *b == b'\n').expect("a line");
    let head: serde_json::Value = serde_json::from_slice(&bytes[..end]).expect("JSON");
    let mut at = end + 1;
    let files = head["files"].as_array().expect("a list").iter().map(|f| {
        let (name, size) = (f[0].as_str().expect("a name"), f[1].as_u64().expect("a length") as usize);
        at += size;
        (name.to_owned(), bytes[at - size..at].to_vec())
    });
    let files = files.collect();
    assert_eq!(at, bytes.len());
    (head, files)
}

/// A table's cells, by its caption.
fn cells(page: &str, caption: &str) -> Vec<Vec<String>> {
    let (_, rest) = page.split_once(&format!("<caption>{caption}")).expect("the table");
    let (table, _) = rest.split_once("</table>").expect("its end");
    let line = |row: &str| {
        let cells = row.split("<t").skip(1).map(|c| {
            let c = c.split_once('>').map_or("", |(_, c)| c);
            c.replace("<code>", "").replace("</code>", "").split("</t").next().unwrap_or_default().to_owned()
        });
        cells.collect()
    };
    table.split("<tr>").skip(1).map(line).collect()
}

fn number(cell: &str) -> u64 {
    cell.split(" B").next().unwrap_or_default().replace(',', "").parse().unwrap_or_else(|_| panic!("{cell}"))
}

#[test]
fn real_modules_add_up_and_carry_their_own_files() {
    for name in
        ["transformer_train.txt", "unet_skip.txt", "gpu_mlp_grad.txt", "tpu_update.txt", "donation_swap.txt"]
    {
        let blob = asset(name);
        let report = made(vec![blob.clone()], 0, &State::default());
        assert_eq!(report, made(vec![blob.clone()], 0, &State::default()), "{name}: the same each time");
        let (head, carried) = carried(&report.page);
        assert_eq!(carried, [(name.to_owned(), blob.bytes.clone())], "without the folder it was in");
        assert_eq!((&head["module"], &head["state"]), (&serde_json::json!(0), &serde_json::Value::Null));

        let owners = cells(&report.page, "Allocations by owner");
        let (foot, lines) = owners[1..].split_last().expect("a last line");
        let sum: u64 = lines.iter().map(|l| number(&l[1])).sum();
        assert_eq!((sum, number(&foot[1])), (report.total, report.total), "{name}");
        for at in report.page.match_indices("<caption>In use at step").map(|(at, _)| at) {
            let alive = cells(&report.page[at..], "In use at step");
            let (foot, lines) = alive[1..].split_last().expect("a last line");
            let sum: u64 = lines.iter().map(|l| number(&l[1])).sum();
            let is_whole = lines.len() < 60;
            assert!(!is_whole || sum == number(&foot[1]), "{name}: {sum} {foot:?}");
            assert!(sum <= number(&foot[1]));
        }
        let headline = report.page.split("<div class=\"headline\">").nth(1).expect("a headline");
        let first = headline.split("<p>").nth(1).expect("a sentence");
        assert_eq!(number(first.split(' ').next().expect("bytes")), report.total);
        assert!(
            report.page.contains("class=\"curve-drawing\"") || !report.page.contains("In use at the peak")
        );
    }
}

#[test]
fn a_dump_folder_is_told_as_xla_has_it_and_only_its_own_module_is_carried() {
    let opened = opening::open(vec![asset("donated_loop_reads.zip")], &Limits::default());
    assert_eq!(opened.modules.len(), 3);
    for module in 0..3 {
        let own = files(&opened, module);
        let report = make(&own, Some(&shell()), &State::default(), &mut |_, _| {}).expect("a report");
        assert_eq!(report.name, opened.modules[module].name);
        assert!(report.page.contains("XLA&#39;s own assignment, as its files have it"), "{}", report.name);
        let (_, carried) = carried(&report.page);
        assert!(carried.len() >= 2, "the module and what XLA says of it");
        assert!(carried.iter().all(|(name, _)| name.contains(&report.name) && !name.contains('/')));
        // What is carried is what is opened again: the same page comes of it.
        let again = opening::open(
            carried.iter().map(|(n, b)| Blob::new(n.clone(), b.clone())).collect(),
            &Limits::default(),
        );
        assert_eq!(again.modules.len(), 1);
        assert_eq!(make(&files(&again, 0), Some(&shell()), &State::default(), &mut |_, _| {}), Ok(report));
    }
}

const HOSTILE: &str =
    "</script><script>hit()</script><!-- /report --><img src=x onerror=hit()>\\\"'&amp;\u{202e}evil";

#[test]
fn names_and_metadata_are_text() {
    let text = format!(
        "HloModule m, is_scheduled=true\n\nENTRY e {{\n  p = f32[4096]{{0}} parameter(0)\n  a = f32[4096]{{0}} negate(p), metadata={{op_name=\"{HOSTILE}\" source_file=\"{HOSTILE}\" source_line=1}}\n  b = f32[4096]{{0}} custom-call(a), custom_call_target=\"f\"\n  ROOT r = f32[4096]{{0}} negate(b)\n}}\n"
    );
    let name = format!("module_0001.{HOSTILE}.cpu_after_optimizations.txt");
    let blob = Blob::new(name.replace('/', "_"), text);
    let state = State {
        lab: serde_json::json!({"edits": HOSTILE}),
        tried: Some(Tried {
            edits: vec![HOSTILE.to_owned()],
            sums: vec![("All".to_owned(), 2, 1)],
            words: vec![HOSTILE.to_owned()],
        }),
    };
    let report = made(vec![blob], 0, &state);
    assert_eq!(report.page.matches("<script").count(), 2, "those of the shell");
    assert_eq!(report.page.matches("</script>").count(), 2);
    assert_eq!(report.page.matches("<!-- /report -->").count(), 1);
    assert!(!report.page.contains("<img") && !report.page.contains('\u{202e}'));
    assert!(report.page.contains("\\u{202e}evil") && report.page.contains("onerror=hit()&gt;"));
    assert!(report.page.contains("What was tried"));
    assert_eq!(carried(&report.page).0["state"]["edits"], HOSTILE);
}

#[test]
fn without_a_shell_the_page_stands_alone_and_runs_nothing() {
    let opened = opening::open(vec![asset("unet_skip.txt")], &Limits::default());
    let report = make(&files(&opened, 0), None, &State::default(), &mut |_, _| {}).expect("a report");
    assert!(report.page.starts_with("<!doctype html>") && !report.page.contains("<script"));
    assert!(report.page.contains("default-src 'none'"));
    assert!(!report.page.contains("http://www.w3.org/1999/xhtml"));
}

#[test]
fn what_is_no_module_is_said() {
    let opened = opening::open(vec![Blob::new("a.py", "import jax\n")], &Limits::default());
    let none = make(&files(&opened, 0), Some(&shell()), &State::default(), &mut |_, _| {});
    assert!(none.is_err_and(|e| e.to_string().contains("xla_dump_to")));
    let other = make(&[], Some("<html>"), &State::default(), &mut |_, _| {});
    assert!(other.is_err_and(|e| e.to_string().starts_with("no version")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a scope is called, the page has the marks it had.
    #[test]
    fn any_scope_stays_text(scope in "[ -~&&[^\"\\\\]]{0,60}|\\PC{0,20}") {
        let text = format!(
            "HloModule m, is_scheduled=true\n\nENTRY e {{\n  p = f32[64]{{0}} parameter(0)\n  a = f32[64]{{0}} negate(p), metadata={{op_name=\"{}\"}}\n  ROOT r = f32[64]{{0}} negate(a)\n}}\n",
            scope.replace(['"', '\\'], "")
        );
        let opened = opening::open(vec![Blob::new("m.txt", text)], &Limits::default());
        let own = files(&opened, 0);
        if let Ok(report) = make(&own, Some(&shell()), &State::default(), &mut |_, _| {}) {
            prop_assert_eq!(report.page.matches("<script").count(), 2);
            prop_assert_eq!(report.page.matches("<!--").count(), 2);
            prop_assert_eq!(report.page.matches("<h1>").count(), 1);
        }
    }
}
