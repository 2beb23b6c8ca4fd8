//! Round numbers for axes: of bytes, in powers of two, and of steps.

use assigner::words::grouped;

const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/// A number on an axis: where it stands, and what is written there.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Its value.
    pub at: f64,
    /// In figures.
    pub words: String,
}

/// The next number of the form 1, 2 or 5 times a power of ten.
#[must_use]
pub fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|n| n * power).find(|n| *n >= step).unwrap_or(10.0 * power)
}

/// At most about so many steps between two moments; always the first one that is round.
#[must_use]
pub fn step_ticks(from: f64, to: f64, count: f64) -> Vec<Tick> {
    let every = nice((to - from) / count.max(1.0)).max(1.0);
    ticks(from, to, every, |at| grouped(at as u64))
}

/// At most so many numbers of bytes between two, a power of two apart.
#[must_use]
pub fn byte_ticks(low: f64, high: f64, count: f64) -> Vec<Tick> {
    let every = 2f64.powf(((high - low) / count.max(1.0)).max(1.0).log2().ceil());
    ticks(low, high, every, |at| bytes_in_figures(at, every))
}

fn ticks(from: f64, to: f64, every: f64, words: impl Fn(f64) -> String) -> Vec<Tick> {
    /// More are never drawn, whatever the numbers are.
    const MOST: usize = 64;
    let mut out = Vec::new();
    let mut at = (from / every).ceil() * every;
    while at <= to && out.len() < MOST {
        out.push(Tick { at, words: words(at) });
        at += every;
    }
    out
}

/// Bytes in the largest unit in which numbers that are `every` apart are told apart by few decimals.
fn bytes_in_figures(bytes: f64, every: f64) -> String {
    if bytes < 1.0 {
        return "0".to_owned();
    }
    let last = UNITS.len() - 1;
    let unit_of = |n: f64| ((n.max(1.0).log2() / 10.0).floor() as usize).min(last);
    let size = |unit: usize| 1024f64.powi(unit as i32);
    let unit = unit_of(bytes);
    // Halves, quarters and eighths are exact; of what is finer only what tells it apart.
    let halvings = (size(unit) / every).log2().max(0.0).round();
    let decimals = if halvings <= 3.0 { halvings } else { (halvings * 2f64.log10()).ceil() } as usize;
    if decimals <= 3 {
        return format!("{:.decimals$} {}", bytes / size(unit), UNITS[unit]);
    }
    let unit = unit_of(every);
    format!("{} {}", grouped((bytes / size(unit)).round() as u64), UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(low: f64, high: f64, count: f64) -> Vec<String> {
        byte_ticks(low, high, count).into_iter().map(|t| t.words).collect()
    }

    #[test]
    fn bytes_are_round_in_their_units_and_told_apart() {
        let gib = f64::from(1 << 30);
        assert_eq!(words(0.0, 3.5 * gib, 5.0), ["0", "1 GiB", "2 GiB", "3 GiB"]);
        assert_eq!(words(0.0, 2.0 * gib, 5.0), ["0", "512 MiB", "1.0 GiB", "1.5 GiB", "2.0 GiB"]);
        assert_eq!(words(0.0, 10.0, 5.0), ["0", "2 B", "4 B", "6 B", "8 B", "10 B"]);
        assert_eq!(
            words(1.5 * gib, 1.5 * gib + 32_768.0, 2.0),
            ["1,572,864 KiB", "1,572,880 KiB", "1,572,896 KiB"]
        );
        for (low, high) in [(0.0, 1.0), (5.0, 6.0), (1e12, 1e12 + 7.0), (3.0 * gib, 40.0 * gib), (0.0, 1e19)]
        {
            let all = words(low, high, 6.0);
            let mut once = all.clone();
            once.dedup();
            assert!(!all.is_empty() && all == once && all.len() <= 7, "{low} {high}: {all:?}");
        }
    }

    #[test]
    fn steps_are_whole() {
        let of =
            |from, to, count| step_ticks(from, to, count).into_iter().map(|t| t.words).collect::<Vec<_>>();
        assert_eq!(of(0.0, 6.0, 10.0), ["0", "1", "2", "3", "4", "5", "6"]);
        assert_eq!(of(3.5, 1_234.0, 3.0), ["500", "1,000"]);
        assert_eq!((nice(0.7), nice(1.0), nice(3.0), nice(7.0)), (1.0, 1.0, 5.0, 10.0));
    }
}
