//! Times the packers on large traces of several forms: `cargo run --release -p bufferscope-packing --example speed --
//! [BUFFERS] [FORM]`.

use std::time::Instant;

use packing::{Algorithm, BufferKey, Event, Options, pack, peak_live_size};

/// A small deterministic source of numbers (Knuth's MMIX constants).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Buffers as (start, end) on any clock with distinct times, and a size each.
fn events(buffers: &[(u64, u64, u64)]) -> Vec<Event> {
    let mut times: Vec<(u64, bool, u32)> = Vec::new();
    for (&(start, end, _), at) in buffers.iter().zip(0..) {
        times.push((start, false, at));
        times.push((end, true, at));
    }
    times.sort_unstable();
    times
        .into_iter()
        .map(|(_, is_end, at)| {
            let buffer = BufferKey(at);
            if is_end {
                Event::Free { buffer }
            } else {
                Event::Alloc { buffer, size: buffers[at as usize].2 }
            }
        })
        .collect()
}

const FORMS: [&str; 8] =
    ["stair8", "stair1000", "stair100000", "nested", "nested-equal", "random", "short", "layers"];

fn make(form: &str, count: u64) -> Vec<Event> {
    let mut numbers = Numbers(1);
    let mut size = move || 1 + numbers.below(1 << 20);
    let mut places = Numbers(2);
    let buffers: Vec<(u64, u64, u64)> = (0..count)
        .map(|i| {
            let stair = |width: u64, size| (2 * i, 2 * (i + width) + 1, size);
            match form {
                "stair8" => stair(8, size()),
                "stair1000" => stair(1000, size()),
                "stair100000" => stair(100_000, size()),
                "nested" => (i, 2 * count - i, size()),
                "nested-equal" => (i, 2 * count - i, 4096),
                "random" => {
                    let (a, b) = (places.below(8 * count), places.below(8 * count));
                    (a.min(b), a.max(b) + 1, size())
                }
                "short" => {
                    let start = places.below(8 * count);
                    (start, start + 1 + places.below(400), size())
                }
                // A training step: activations of the forward pass live until the backward pass, temporaries are short.
                _ => {
                    let half = count / 2;
                    match i % 2 {
                        0 if i < half => (4 * i, 4 * (count - i) + 1, size()),
                        _ => (4 * i, 4 * (i + 1 + places.below(16)) + 3, size()),
                    }
                }
            }
        })
        .collect();
    events(&buffers)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(100_000);
    let only = arguments.next();
    for form in FORMS.into_iter().filter(|form| only.as_ref().is_none_or(|only| only == form)) {
        let events = make(form, count);
        let floor = peak_live_size(&events).expect("a well-formed trace");
        print!("{form:12} {count}:");
        for algorithm in [Algorithm::Spatial, Algorithm::Temporal, Algorithm::FastMerge] {
            let begin = Instant::now();
            let packing =
                pack(&events, &Options { algorithm, ..Options::default() }).expect("a well-formed trace");
            let ratio = packing.total() as f64 / floor as f64;
            print!("  {algorithm} {:.2} s (x{ratio:.3})", begin.elapsed().as_secs_f64());
        }
        println!();
    }
}
