//! Text of others, made fit to be shown: cut to a length, and searched with a reader's own pattern.

use regex_lite::{Regex, RegexBuilder};

/// Most characters of one name, shape or scope that are shown; a module may have names of a megabyte.
const MOST_CHARS: usize = 400;
/// Most characters of one line of HLO that are shown.
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

/// A reader's regular expression. Without capital letters it does not mind them; `None` for an empty one.
pub fn pattern(text: &str) -> Result<Option<Regex>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let sensitive = text.chars().any(char::is_uppercase);
    RegexBuilder::new(text)
        .case_insensitive(!sensitive)
        .build()
        .map(Some)
        .map_err(|e| format!("{text} is no regular expression: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_and_patterns_do_not_mind_capitals() {
        let long = "é".repeat(1_000_000);
        let short = cut(&long);
        assert!(short.chars().count() < 450 && short.ends_with("(999600 characters more)"), "{short}");
        assert_eq!(cut("f"), "f");
        assert!(pattern("FUSION").is_ok_and(|p| p.is_some_and(|p| !p.is_match("fusion.1"))));
        assert!(pattern("fus.on").is_ok_and(|p| p.is_some_and(|p| p.is_match("Fusion.1"))));
        assert!(pattern("").is_ok_and(|p| p.is_none()));
        assert!(pattern("(").is_err());
    }
}
