//! What the figures of the chapters 5 to 7 show, computed natively. The browser tests compare the page with
//! `golden-sharing.json`; this test keeps that file true. `UPDATE=1 cargo test -p bufferscope-web` writes it anew.

#![cfg(not(target_arch = "wasm32"))]

use bufferscope_web::chapters::text_of;
use bufferscope_web::state::{Edit, End};
use bufferscope_web::touching::{OPS, Setting};
use bufferscope_web::{breaking, colours, engine, touching};
use serde_json::{Value, json};

fn pulling() -> Value {
    let opened = engine::open(&text_of("varied_temp_sizes")).expect("it can be read");
    let value = opened.find("sort.6").expect("it is there");
    let pulled = breaking::pulled(&opened, value).expect("it shares");
    let packers: Vec<u64> = breaking::packers(&opened.original).into_iter().map(|p| p.size).collect();
    let ticks = breaking::ticks(&opened, &opened.original);
    // The first way to solve the puzzle.
    let picture = &opened.original.picture;
    let solution = picture.temps().find_map(|i| {
        (1..=breaking::REACH).find_map(|by| {
            let end = (i.end + by).min(picture.last());
            let run = opened.run(&[Edit { value: i.value, start: i.start, end }]);
            let (solved, words) = breaking::progress(&opened, &run);
            solved.then(|| json!({ "value": i.value, "end": end, "words": words }))
        })
    });
    json!({
        "answer": pulled.answer(),
        "words": pulled.words(),
        "packers": packers,
        "ticks": ticks.iter().filter(|(v, _)| *v != value).count(),
        "breaks": opened.thresholds(&opened.original, value, End::End).len(),
        "solution": solution,
    })
}

fn touch() -> Value {
    let of = |s: Setting| {
        let a = touching::answer(s).expect("it can be read");
        json!({
            "op": s.op.id,
            "gpu": s.gpu,
            "verdict": a.verdict.word(),
            "decided": a.verdict.decided(),
            "heap": a.opened.original.picture.heap_size(),
            "words": a.words,
        })
    };
    let all = OPS
        .iter()
        .flat_map(|op| [false, true].map(|gpu| of(Setting { op, differs: false, twice: false, gpu })));
    all.collect()
}

fn spaces() -> Value {
    let all = (0..colours::PROGRAMS.len()).map(|n| {
        let opened = colours::opened(n).expect("it can be read");
        let temps: Vec<String> = colours::spaces(opened)
            .iter()
            .filter(|s| s.temp.is_some())
            .map(|s| format!("{}:{}", s.color, s.bytes))
            .collect();
        let items = &opened.original.picture.items;
        let solution = items.iter().find(|i| colours::takes_over(n, i.value)).map(|i| i.value);
        json!({
            "id": colours::PROGRAMS[n].id,
            "sentence": colours::sentence(opened),
            "spaces": temps.join(" "),
            "why": colours::suggested(n).and_then(|v| colours::why(opened, v)),
            "solution": solution,
        })
    });
    all.collect()
}

#[test]
fn golden_sharing_json_is_what_the_engine_computes() {
    let all = json!({ "pull": pulling(), "touch": touch(), "spaces": spaces() });
    let text = serde_json::to_string_pretty(&all).expect("plain data") + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden-sharing.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, text).expect("the file can be written");
    } else {
        assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text, "UPDATE=1 writes it anew");
    }
}
