//! What the figures of the chapters 2 and 11 show, computed natively. The browser tests compare the page with
//! `golden-copies.json`; this test keeps that file true. `UPDATE=1 cargo test -p bufferscope-web` writes it anew.

#![cfg(not(target_arch = "wasm32"))]

use bufferscope_web::{binding, copying};
use serde_json::{Value, json};

fn shared(setting: &binding::Setting) -> Value {
    let a = binding::answer(setting).expect("it can be read");
    json!({
        "values": a.group().count(),
        "memory": a.memory,
        "sentence": a.sentence(),
        "pass": a.pass,
        "links": a.links.iter().map(|l| format!("{}: {}", l.rule, l.words)).collect::<Vec<_>>(),
    })
}

fn sharing() -> Value {
    let programs = (0..binding::PROGRAMS.len()).map(|program| {
        let setting = binding::Setting { program, turned: Vec::new() };
        let turned = (0..binding::sites(program).len())
            .map(|n| json!({ "words": binding::sites(program)[n].words, "then": shared(&setting.turn(n)) }));
        json!({
            "id": binding::PROGRAMS[program].id,
            "first": shared(&setting),
            "turned": turned.collect::<Vec<_>>(),
        })
    });
    programs.collect()
}

fn copied(setting: &copying::Setting) -> Value {
    let a = copying::answer(setting).expect("it runs");
    json!({
        "stayed": a.stayed().count(),
        "bytes": a.written(),
        "memory": a.memory,
        "stages": (0..5).map(|s| a.sentence(s)).collect::<Vec<_>>(),
        "refusal": a.suggested().map(|n| a.copies[n].refusal.clone()),
        "copies": a.copies.len(),
    })
}

fn copies() -> Value {
    let cases = (0..copying::CASES.len()).map(|case| {
        let setting = copying::Setting { case, ..copying::Setting::default() };
        let switched = (0..copying::switches(case).len()).map(
            |n| json!({ "words": copying::switches(case)[n].words, "then": copied(&setting.with(n, true)) }),
        );
        json!({
            "id": copying::CASES[case].id,
            "first": copied(&setting),
            "regions": copied(&copying::Setting { regions: true, ..setting.clone() }),
            "switched": switched.collect::<Vec<_>>(),
        })
    });
    cases.collect()
}

#[test]
fn golden_copies_json_is_what_the_engine_computes() {
    let all = json!({ "sharing": sharing(), "copies": copies() });
    let text = serde_json::to_string_pretty(&all).expect("plain data") + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden-copies.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, text).expect("the file can be written");
    } else {
        assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text, "UPDATE=1 writes it anew");
    }
}
