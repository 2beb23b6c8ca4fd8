//! What the engine makes of edited ranges, without a browser: `native_edit MODULE [VALUE START END]...` prints the sizes
//! that the page shows for the same edits, as JSON. MODULE is the id of a module that comes with the page.

use bufferscope_web::{engine, state::Edit};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let id = arguments.next().expect("the id of a module");
    let path = format!("{}/../assets/modules/{id}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("one of assets/modules");
    let opened = engine::open(&text).expect("a module that can be read");
    let rest: Vec<String> = arguments.collect();
    let edits: Vec<Edit> = rest
        .chunks(3)
        .map(|words| Edit {
            value: opened.find(&words[0]).expect("the name of a value"),
            start: words[1].parse().expect("a step"),
            end: words[2].parse().expect("a step"),
        })
        .collect();
    let run = opened.run(&edits);
    println!(
        "{{\"heap\":{},\"temp\":{},\"total\":{},\"floor\":{}}}",
        run.picture.heap_size(),
        run.picture.temp_bytes,
        run.picture.total_bytes,
        run.curve.floor
    );
}
