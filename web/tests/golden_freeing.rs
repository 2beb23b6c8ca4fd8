//! What the figure of chapter 17 shows, computed natively. The browser tests compare the page with `golden-freeing.json`;
//! this test keeps that file true. `UPDATE=1 cargo test -p bufferscope-web` writes it anew.

#![cfg(not(target_arch = "wasm32"))]

use bufferscope_web::freeing::{EXAMPLES, Rule, Story, break_words, kind_words, story};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// As the page shows it: without the marks around code.
fn plain(words: &str) -> String {
    words.replace('`', "")
}

/// Each step, with what a run of every way finds then.
fn steps(story: &Story) -> Value {
    let of = |done: usize| {
        let moment = story.moment(done, &BTreeSet::new(), 0);
        let sets: Vec<String> =
            moment.sets.iter().map(|s| format!("{} {} {}", s.letter, s.names.join(" "), s.status)).collect();
        let first = moment.faults.first().map(|(_, words)| words.clone()).or(moment.verdict());
        json!({
            "words": plain(&story.words(done)),
            "faults": moment.faults.len(),
            "verdict": plain(&first.unwrap_or_default()),
            "sets": sets,
        })
    };
    (0..=story.steps().len()).map(of).collect()
}

/// Each part spoilt in each way.
fn spoilt(story: &Story) -> Value {
    let done = story.steps().len();
    let mut out = Vec::new();
    for part in story.parts() {
        for how in part.ways {
            let moment = story.moment(done, &BTreeSet::from([(part.number, how)]), 0);
            out.push(json!({
                "part": format!("{}, in {}", part.text, part.place),
                "how": break_words(how),
                "faults": moment.faults.iter().map(|(kind, words)| json!([kind_words(*kind), plain(words)])).collect::<Value>(),
            }));
        }
    }
    out.into()
}

#[test]
fn the_page_shows_what_the_engine_computes() {
    let examples: Value = EXAMPLES
        .iter()
        .map(|e| {
            let whole = story(e.text, Rule::Older).expect("it can be read");
            let gaps = story(e.text, Rule::Llvm16).expect("it can be read");
            let newer = story(e.text, Rule::Newer).expect("it can be read");
            let with_newer = newer.moment(0, &BTreeSet::new(), 0);
            let with_gaps = gaps.moment(gaps.steps().len(), &BTreeSet::new(), 0);
            json!({
                "id": e.id,
                "counted": if whole.refusal.is_none() { whole.counted() } else { String::new() },
                "refusal": whole.refusal.as_ref().map(|r| json!({
                    "line": r.at.line, "column": r.at.column, "message": plain(&r.message),
                })),
                "steps": steps(&whole),
                "spoilt": spoilt(&whole),
                "gaps": with_gaps.verdict().map(|v| plain(&v)),
                "newer": json!([
                    with_newer.verdict().map(|v| plain(&v)),
                    if newer.refusal.is_none() { newer.counted() } else { String::new() },
                ]),
            })
        })
        .collect();
    let broken = EXAMPLES[0].text.replace("%a : memref<64xf32>)\n^bb2", "%b : memref<64xf32>)\n^bb2");
    let refusal = story(&broken, Rule::Older).expect_err("%b is not there");
    let now = json!({
        "examples": examples,
        "wrong": {
            "text": broken,
            "line": refusal.at.line,
            "column": refusal.at.column,
            "message": plain(&refusal.message),
        },
    });
    let text = serde_json::to_string_pretty(&now).expect("JSON") + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden-freeing.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &text).expect("it can be written");
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text, "run it with UPDATE=1");
}
