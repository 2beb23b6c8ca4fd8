//! Sizes in words.

/// Bytes with a binary prefix, as XLA prints them (1.6): `36.2KiB`, `3.00MiB`.
///
/// All but the last division truncate, so the last digit can be lower than the true one.
#[must_use]
pub fn human(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut rest = bytes;
    let mut unit = 0;
    while rest >= 1024 * 1024 {
        rest /= 1024;
        unit += 1;
    }
    let value = rest as f64 / 1024.0;
    if unit == 0 { format!("{value:.1}{}", UNITS[unit]) } else { format!("{value:.2}{}", UNITS[unit]) }
}

/// A number with a space every three digits: `157 444` (4.5).
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{grouped, human};

    #[test]
    fn human_sizes_truncate_before_the_last_step() {
        let cases = [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.0KiB"),
            (37068, "36.2KiB"),
            (1_048_576, "1.00MiB"),
            (3_145_728, "3.00MiB"),
            (1_048_575, "1024.0KiB"),
            (u64::MAX, "16.00EiB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(human(bytes), expected);
        }
    }

    #[test]
    fn groups_of_three() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1000, "1 000"), (157_444, "157 444"), (1_234_567, "1 234 567")]
        {
            assert_eq!(grouped(number), expected);
        }
    }
}
