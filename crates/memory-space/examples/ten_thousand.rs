//! How long memory space assignment takes for ten thousand values: `cargo run --release --example ten_thousand -p
//! bufferscope-memory-space`.

use std::time::Instant;

fn main() {
    let problem = memory_space::fuzzing::many(10_000);
    let start = Instant::now();
    let assignment = memory_space::assign(&problem).expect("a sound problem");
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} values, {} decisions, {} allocations in fast memory, {seconds:.3} s",
        problem.buffers.len(),
        assignment.decisions.len(),
        assignment.in_alternate().count(),
    );
}
