//! What the figures of chapters 14 and 15 show, computed natively. The browser tests compare the page with
//! `golden-memory.json`; this test keeps that file true. `UPDATE=1 cargo test -p bufferscope-web` writes it anew.

#![cfg(not(target_arch = "wasm32"))]

use bufferscope_web::memory::{
    CAPACITY, PROGRAMS, Setting, first_request, loaded, made_room, micros, run, starts,
};
use bufferscope_web::{looping, spreading};
use serde_json::{Value, json};

fn programs() -> Value {
    let of = |n: usize| {
        let run = run(&Setting::first(n)).expect("it runs");
        let chosen = first_request(n);
        json!({
            "id": PROGRAMS[n].id,
            "why": run.why(chosen),
            "sums": run.sentence(),
            "compared": run.comparison(),
            "heap": run.assignment.heap_size,
            "after": micros(run.seconds.1),
            "verdict": run.verdict(chosen).expect("there is one").name(),
            "places": run.assignment.in_alternate().count(),
        })
    };
    (0..PROGRAMS.len()).map(of).collect()
}

/// Every start of a copy that can be dragged, and what comes of it.
fn pulled() -> Value {
    let loaded = loaded(0).expect("it can be read");
    let is_it = |r: &&bufferscope_web::memory::Request| {
        r.value == "convolution_tanh_fusion.3" && r.reader == "fusion.2"
    };
    let n = loaded.requests.iter().position(|r| is_it(&r)).expect("it is there");
    let setting = Setting::first(0);
    let of = |(start, verdict): (i64, bufferscope_web::memory::Verdict)| {
        let run = run(&Setting { pull: Some((n, start)), ..setting.clone() }).expect("it runs");
        json!({ "start": start, "verdict": verdict.name(), "why": run.why(n) })
    };
    json!({ "reader": n, "starts": starts(&setting, n).into_iter().map(of).collect::<Value>() })
}

/// The first copy whose move solves the puzzle.
fn solution() -> Value {
    let original = run(&Setting::first(0)).expect("it runs");
    let loaded = loaded(0).expect("it can be read");
    for (n, request) in loaded.requests.iter().enumerate() {
        for start in request.defined..request.done {
            let run = run(&Setting { pull: Some((n, start)), ..Setting::first(0) }).expect("it runs");
            let (solved, words) = made_room(&run, &original);
            if solved {
                return json!({ "reader": n, "start": start, "words": words });
            }
        }
    }
    panic!("the puzzle can be solved");
}

/// Less and less fast memory.
fn capacities() -> Value {
    let of = |capacity: i64| {
        let run = run(&Setting { capacity: Some(capacity), ..Setting::first(0) }).expect("it runs");
        json!({ "capacity": capacity, "sums": run.sentence(), "compared": run.comparison() })
    };
    [CAPACITY.0, 50, 100, CAPACITY.1].into_iter().map(of).collect()
}

/// What each step of the propagation says.
fn spread() -> Value {
    let story = spreading::story().expect("it can be read");
    (0..=story.steps.len()).map(|n| story.words(n)).collect()
}

/// The loop's plan as it first is, with half the bandwidth, and the least memory that solves the puzzle.
fn unrolled() -> Value {
    let first = looping::plan(looping::Setting::FIRST).expect("it can be read");
    let slow = looping::plan(looping::Setting { bandwidth: 50, ..looping::Setting::FIRST }).expect("a plan");
    let solution = (looping::CAPACITY.0..=looping::CAPACITY.1).step_by(5).find(|capacity| {
        looping::solves(looping::Setting { capacity: *capacity, ..looping::Setting::FIRST })
    });
    json!({
        "sentence": first.sentence(),
        "copied": first.copied(),
        "slow": slow.sentence(),
        "solution": solution.expect("the puzzle can be solved"),
    })
}

#[test]
fn the_page_shows_what_the_engine_computes() {
    let now = json!({
        "programs": programs(),
        "pulled": pulled(),
        "solution": solution(),
        "capacities": capacities(),
        "spread": spread(),
        "unrolled": unrolled(),
    });
    let text = serde_json::to_string_pretty(&now).expect("JSON") + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden-memory.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &text).expect("it can be written");
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text, "run it with UPDATE=1");
}
