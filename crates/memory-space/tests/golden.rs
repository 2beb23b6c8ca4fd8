//! Traces of libtpu 0.0.52, replayed: the final table of alternate memory and the result of every request.
//!
//! v4, v5e, v5p, v6e and 7x; little memory, few copies, short overlaps, several cross-program prefetches; loops, nested
//! loops, conditionals, copies and slices made asynchronous. `crates/xtask/oracle/msa.py` made all but the oldest.

use flate2::read::GzDecoder;
use memory_space::replay;
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

fn fixtures() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let read = |file: PathBuf| {
        let mut text = String::new();
        GzDecoder::new(std::fs::File::open(&file).unwrap()).read_to_string(&mut text).unwrap();
        (file.file_stem().unwrap().to_string_lossy().into_owned(), text)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn the_table_and_every_request_are_the_same() {
    let (mut tables, mut requests, mut all_requests, mut misplaced_values) = (0, 0, 0, 0);
    let mut wrong = String::new();
    let fixtures = fixtures();
    for (name, text) in &fixtures {
        let (fixture, assignment) = replay::run(text).unwrap();
        if let Err(misplaced) = memory_space::checked::check(&fixture.problem(), &assignment) {
            let _ = writeln!(wrong, "{name}: {misplaced}");
            misplaced_values += 1;
        }
        let (table, trace) = (replay::table(&assignment), replay::trace(&assignment));
        let same = trace.iter().zip(&fixture.trace).take_while(|(a, b)| a == b).count();
        requests += same;
        all_requests += fixture.trace.len();
        if same != fixture.trace.len() || same != trace.len() {
            let _ = writeln!(
                wrong,
                "{name}: request {same}:\n  expected {:?}\n  got {:?}",
                fixture.trace.get(same),
                trace.get(same)
            );
        }
        if table == fixture.expected {
            tables += 1;
        } else {
            let same = table.iter().zip(&fixture.expected).take_while(|(a, b)| a == b).count();
            let _ = writeln!(
                wrong,
                "{name}: row {same}:\n  expected {:?}\n  got {:?}",
                fixture.expected.get(same),
                table.get(same)
            );
        }
    }
    // `d1` was recorded without the slices that XLA tried to make asynchronous, and their requests are missing.
    assert!(
        misplaced_values == 0 && tables == fixtures.len() && requests + 14 >= all_requests,
        "{wrong}tables {tables}/{}, requests {requests}/{all_requests}",
        fixtures.len()
    );
}
