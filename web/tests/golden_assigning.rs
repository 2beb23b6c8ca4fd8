//! What the figures of the chapters 8 to 10 show, computed natively. The browser tests compare the page with
//! `golden-assigning.json`; this test keeps that file true. `UPDATE=1 cargo test -p bufferscope-web` writes it anew.

#![cfg(not(target_arch = "wasm32"))]

use bufferscope_web::chapters::text_of;
use bufferscope_web::placing::{self, Line, Moment};
use bufferscope_web::{engine, gates, log, sorting};
use packing::Algorithm;
use serde_json::{Value, json};

fn bins() -> Value {
    let opened = engine::open(&text_of("kv_cache_loop")).expect("it can be read");
    let run = &opened.original;
    let cards: Vec<Value> = sorting::cards(&opened, run, 8)
        .into_iter()
        .map(|c| {
            let key = sorting::BINS.iter().position(|b| b.bin == c.bin).expect("every bin is listed") + 1;
            json!({ "name": c.name, "key": key, "bin": sorting::name(c.bin), "decision": c.decision })
        })
        .collect();
    let log: Vec<String> = log::entries(&opened, run).into_iter().map(|e| e.words).collect();
    json!({ "sentence": sorting::sentence(&sorting::counts(&opened, run)), "cards": cards, "log": log })
}

/// Chapter 9's program.
const PACKED: &str = include_str!("../../assets/modules/varied_temp_sizes.txt");

fn placements(algorithm: Algorithm) -> Value {
    let opened = engine::open(PACKED).expect("it can be read");
    let heap = placing::heap(&opened.original, Some(algorithm)).expect("a heap");
    let steps: Vec<Value> = (0..heap.count())
        .map(|placement| {
            let step = heap.step(placement).expect("it is there");
            let words = placing::words(&opened, &heap, Moment { placement, line: Line::Place });
            json!({ "offset": step.placement.offset, "size": step.placement.size, "words": words })
        })
        .collect();
    let all = placing::words(&opened, &heap, Moment { placement: 0, line: Line::Choose });
    let growth = (0..heap.count()).find(|k| heap.top(k + 1) == heap.packing.total());
    json!({ "total": heap.packing.total(), "steps": steps, "choice": all, "growth": growth })
}

fn lessons() -> Value {
    let said = |lesson: &gates::Lesson, e: &gates::Example| {
        gates::verdict(lesson, &gates::judge(&e.module, &e.options, &lesson.first.presets)).words
    };
    let all =
        gates::lessons().iter().map(|l| json!({ "first": said(l, &l.first), "then": said(l, &l.then) }));
    all.collect()
}

#[test]
fn golden_assigning_json_is_what_the_engine_computes() {
    let all = json!({
        "bins": bins(),
        "spatial": placements(Algorithm::Spatial),
        "temporal": placements(Algorithm::Temporal),
        "gates": lessons(),
    });
    let text = serde_json::to_string_pretty(&all).expect("plain data") + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden-assigning.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, text).expect("the file can be written");
    } else {
        assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text, "UPDATE=1 writes it anew");
    }
}
