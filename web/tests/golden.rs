//! Sizes for edits of the modules that come with the page, computed natively. The browser tests compare the page with
//! `golden.json`; this test keeps that file true. `UPDATE=1 cargo test -p bufferscope-web` writes it anew.

#![cfg(not(target_arch = "wasm32"))]

use bufferscope_web::engine::{self, Run};
use bufferscope_web::modules::SHIPPED;
use bufferscope_web::state::{Edit, End};
use serde_json::{Value, json};

fn numbers(run: &Run) -> Value {
    json!({
        "heap": run.picture.heap_size(),
        "temp": run.picture.temp_bytes,
        "total": run.picture.total_bytes,
        "floor": run.curve.floor,
    })
}

fn text_of(id: &str) -> String {
    let path = format!("{}/../assets/modules/{id}.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("every module that is listed is there")
}

#[test]
fn golden_json_is_what_the_engine_computes() {
    let mut all = Vec::new();
    for module in SHIPPED {
        let opened = engine::open(&text_of(module.id)).expect("every module that is listed can be read");
        let original = &opened.original;
        let value = module.suggested.and_then(|name| opened.find(name)).or_else(|| opened.suggest());
        let value = value.expect("every module has a value to begin with");
        let item = original.picture.item(value).expect("a value with a range");
        let ends: Vec<Value> = (item.end + 1..=original.picture.last())
            .take(6)
            .map(|end| {
                let run = opened.run(&[Edit { value, start: item.start, end }]);
                let mut line = numbers(&run);
                line["end"] = json!(end);
                line
            })
            .collect();
        all.push(json!({
            "module": module.id,
            "value": item.name,
            "original": numbers(original),
            "ends": ends,
        }));
    }
    let text = serde_json::to_string_pretty(&all).expect("plain data") + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, text).expect("the file can be written");
    } else {
        assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text, "UPDATE=1 writes it anew");
    }
}

#[test]
fn suggested_values_exist_and_have_a_sharing_to_break() {
    for module in SHIPPED {
        let opened = engine::open(&text_of(module.id)).expect("every module that is listed can be read");
        let Some(name) = module.suggested else { continue };
        let value = opened.find(name).unwrap_or_else(|| panic!("{} has no {name}", module.id));
        assert!(!opened.thresholds(&opened.original, value, End::End).is_empty(), "{}: {name}", module.id);
    }
}

#[test]
fn at_a_threshold_and_not_before_the_sharing_breaks() {
    let opened = engine::open(&text_of("varied_temp_sizes")).expect("it can be read");
    let value = opened.find("sort.6").expect("it has that value");
    let item = opened.original.picture.item(value).expect("it has a range");
    let first = opened.thresholds(&opened.original, value, End::End)[0].step;
    for end in item.end + 1..=first {
        let run = opened.run(&[Edit { value, start: item.start, end }]);
        assert_eq!(opened.change(&run).broken.is_empty(), end < first, "at step {end}");
    }
}
