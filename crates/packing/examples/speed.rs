//! Times the packers on large traces of several shapes, in processor seconds: `cargo run --release -p
//! bufferscope-packing --example speed -- BUFFERS [SHAPE]`. Prints spatial, temporal, both again after one edit (the mean of
//! eight, a size or an end), and a sum of the places, by which two versions can be compared.

#[path = "../../cli/benches/shapes/mod.rs"]
mod shapes;

use packing::{Algorithm, Event, Options, Repacker, pack};

/// Seconds for which this thread has had a processor; wall-clock time where the system does not tell.
fn processor_seconds(begun: std::time::Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    nanoseconds.map_or_else(|| begun.elapsed().as_secs_f64(), |n| n as f64 / 1e9)
}

fn main() {
    let begun = std::time::Instant::now();
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(100_000);
    let only = arguments.next().unwrap_or_default();
    for (name, make) in shapes::SHAPES.into_iter().chain(shapes::HARD) {
        if !name.contains(&only) {
            continue;
        }
        let mut events = make(count);
        print!("{name:26} {count}:");
        let mut sum = 0_u64;
        for algorithm in [Algorithm::Spatial, Algorithm::Temporal] {
            let options = Options { algorithm, ..Options::default() };
            let before = processor_seconds(begun);
            let packing = pack(&events, &options).expect("a well-formed trace");
            print!("  {algorithm} {:.3} s", processor_seconds(begun) - before);
            sum = packing.heaps[0].chunks.iter().fold(sum, |sum, (key, chunk)| {
                sum.rotate_left(5).wrapping_add(chunk.offset ^ u64::from(key.0))
            });
        }
        let mut repacker = Repacker::new(Options::default());
        repacker.pack(&events).expect("a well-formed trace");
        let mut random = shapes::Random::new(9);
        let (mut took, mut searches) = (0.0, 0);
        for _ in 0..8 {
            let at = random.below(events.len() as u64) as usize;
            if let Event::Alloc { size, .. } = &mut events[at] {
                *size += 4096;
            } else {
                // An end, a little later.
                let event = events.remove(at);
                events.insert((at + 20).min(events.len()), event);
            }
            let before = processor_seconds(begun);
            repacker.pack(&events).expect("a well-formed trace");
            took += processor_seconds(begun) - before;
            searches += repacker.searches();
        }
        print!("  edited {:.4} s, {} searches", took / 8.0, searches / 8);
        println!("  {sum:016x}");
    }
}
