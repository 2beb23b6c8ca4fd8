//! Text of others, cut to a length.

/// Most characters of one name, shape or scope that are shown; a module may have names of a megabyte.
const MOST_CHARS: usize = 400;
/// Most characters of one line of HLO, or of a sentence, that are shown.
const MOST_LINE: usize = 4_000;

fn cut_at(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => {
            let left = text[at..].chars().count();
            format!("{}… ({left} characters more)", &text[..at])
        }
        None => text.to_owned(),
    }
}

/// A name, cut if it is very long.
#[must_use]
pub fn cut(text: &str) -> String {
    cut_at(text, MOST_CHARS)
}

/// A line of HLO, cut if it is very long.
#[must_use]
pub fn cut_line(text: &str) -> String {
    cut_at(text, MOST_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut() {
        let short = cut(&"é".repeat(1_000_000));
        assert!(short.chars().count() < 450 && short.ends_with("(999600 characters more)"), "{short}");
        assert_eq!(cut("f"), "f");
    }
}
