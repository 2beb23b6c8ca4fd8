//! The body of a fuzz target, here so that tests run it too.

use crate::{diff, read};

/// Whatever the bytes are, all readers end, say something sensible and little of it, and say the same again.
///
/// # Panics
///
/// When that is not so.
pub fn read_anything(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let all = read::everything(&text);
    assert_eq!(all, read::everything(&text), "not deterministic");
    assert!(all.1.len() <= read::MOST_DIAGNOSTICS + 1, "{} remarks", all.1.len());
    let lines = text.lines().count() as u32 + 1;
    for d in &all.1 {
        assert!(d.at.line >= 1 && d.at.line <= lines, "{d}: there are {lines} lines");
    }
    let (assignment, _) = read::buffer_assignment(&text);
    let own = diff::diff(&assignment, &assignment);
    assert!(own.words().lines().count() > 0);
    _ = read::values(&text);
    _ = read::live_range(&text);
    _ = read::memory_usage_report(&text);
    _ = read::is_buffer_assignment(&text);
}
