//! What the figures of chapters 16 and 18 show, computed natively. The browser tests compare the page with
//! `golden-devices.json`; this test keeps that file true. `UPDATE=1 cargo test -p bufferscope-web` writes it anew.

#![cfg(not(target_arch = "wasm32"))]

use bufferscope_web::meeting::{self, Asked, TROUBLES, WAYS};
use bufferscope_web::remapping::{
    AUTO, BANDWIDTHS, CASES, DRIFTS, FREE, MODULE, POLICIES, Setting, Slice, TIGHT, Trial, course, fastest,
    plan, refused, slices,
};
use bufferscope_web::state::{Source, State};
use bufferscope_web::{chapters::text_of, engine};
use serde_json::{Value, json};

fn real() -> Vec<Slice> {
    slices(&engine::open(&text_of(MODULE)).expect("it can be read"))
}

/// Each way of finding the cutoff, each bandwidth, each amount of free memory.
fn cutoff(all: &[Slice]) -> Value {
    let of = |setting: Setting| {
        let plan = plan(all, setting);
        json!({
            "sentence": plan.sentence(),
            "slice": plan.words(plan.chosen(None)),
            "cutoff": plan.decision.cutoff,
            "reservation": plan.decision.reservation,
        })
    };
    let policies = (0..POLICIES.len()).map(|policy| {
        let mut out = of(Setting { policy, ..Setting::FIRST });
        out["title"] = POLICIES[policy].title.into();
        out
    });
    let bandwidths =
        (0..BANDWIDTHS.len()).map(|bandwidth| of(Setting { bandwidth, ..Setting::FIRST })).collect::<Value>();
    let free = (0..FREE.len()).map(|free| of(Setting { free, ..Setting::FIRST })).collect::<Value>();
    // What solves the puzzle: the calibrated rule, the dearest remap, and the least free memory that does.
    let solution = (0..FREE.len())
        .map(|free| Setting { policy: AUTO + 1, free, remap: 10, ..Setting::FIRST })
        .find(|s| plan(all, *s).solves())
        .expect("the puzzle can be solved");
    let first = plan(all, Setting::FIRST);
    let third = refused(all).expect("the walk ends among those of one size");
    let tight = plan(all, Setting { free: TIGHT, ..Setting::FIRST });
    assert!(tight.is_copied(third), "it is refused and copied all the same");
    let slices: Value = first.order.iter().map(|n| json!({"place": n, "words": first.words(*n)})).collect();
    json!({
        "policies": policies.collect::<Value>(),
        "bandwidths": bandwidths,
        "free": free,
        "solution": { "free": solution.free, "remap": solution.remap },
        "slices": slices,
        "third": tight.words(third),
    })
}

/// Each rule, kept and broken, step by step.
fn churn(all: &[Slice]) -> Value {
    let of = |trial: Trial| {
        let course = course(all, trial);
        json!({
            "sentence": course.sentence(),
            "first": course.first_fault(),
            "chosen": course.chosen(None),
        })
    };
    let first = course(all, Trial::BROKEN);
    let cases = (0..CASES.len()).map(|case| {
        json!({
            "rule": CASES[case].rule,
            "broken": of(Trial { case, ..Trial::BROKEN }),
            "kept": of(Trial { case, kept: true, ..Trial::BROKEN })["sentence"],
        })
    });
    json!({
        "cases": cases.collect::<Value>(),
        "steps": (0..first.steps.len()).map(|n| first.words(n)).collect::<Value>(),
        "drifts": DRIFTS.len(),
        "fastest": fastest(all).expect("one goes well"),
    })
}

/// Everything that can be broken, each way; the events of what happens first.
fn rendezvous(opened: &engine::Opened) -> Value {
    let meet = |way: usize, trouble: usize| {
        meeting::meet(opened, meeting::Setting { way, trouble, ..meeting::Setting::FIRST })
            .expect("it can be played")
    };
    let broken = (0..WAYS.len()).flat_map(|way| {
        (0..TROUBLES.len()).map(move |trouble| {
            let met = meet(way, trouble);
            json!({
                "way": WAYS[way].id,
                "trouble": TROUBLES[trouble].id,
                "sentence": met.sentence(),
                "ready": met.ready().0,
                "events": met.count(),
                "results": met.results().map(|(_, e)| met.result_words(e)).collect::<Value>(),
            })
        })
    });
    let first = meet(0, 0);
    let seats = |n: usize| first.board(n).rows.iter().map(|r| r.here.len()).sum::<usize>();
    json!({
        "broken": broken.collect::<Value>(),
        "words": (0..=first.count()).map(|n| first.words(n)).collect::<Value>(),
        "seats": (0..=first.count()).map(seats).collect::<Value>(),
    })
}

/// A byte, each way, in one physical range and not, from each device.
fn reach(opened: &engine::Opened) -> Value {
    let first = Asked::of(&State::new(Source::Shipped(meeting::MODULE.to_owned())), opened);
    let of = |asked: Asked| {
        let found = meeting::reach(opened, asked).expect("an answer");
        json!({
            "way": WAYS[asked.way].id,
            "device": asked.device,
            "allocation": asked.allocation,
            "offset": asked.offset,
            "range": asked.one_range,
            "sentence": found.sentence(),
            "address": format!("{:#x}", found.address),
            "seen": found.seen.iter().map(meeting::Seen::words).collect::<Value>(),
            "pointers": found.seen.iter().map(|s| s.pointer.map(|p| format!("{p:#x}"))).collect::<Value>(),
        })
    };
    let mut asked = Vec::new();
    for way in 0..WAYS.len() {
        asked.push(Asked { way, ..first });
        asked.push(Asked { way, one_range: true, ..first });
    }
    asked.push(Asked { device: 3, offset: 0, ..first });
    asked.push(Asked { device: 2, allocation: 0, offset: 0, ..first });
    asked.into_iter().map(of).collect()
}

#[test]
fn the_page_shows_what_the_engine_computes() {
    let slices = real();
    let opened = engine::open(&text_of(meeting::MODULE)).expect("it can be read");
    let now = json!({
        "rendezvous": rendezvous(&opened),
        "reach": reach(&opened),
        "cutoff": cutoff(&slices),
        "churn": churn(&slices),
    });
    let text = serde_json::to_string_pretty(&now).expect("JSON") + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden-devices.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &text).expect("it can be written");
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text, "run it with UPDATE=1");
}
