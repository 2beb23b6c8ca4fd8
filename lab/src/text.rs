//! Text of others, made fit to be shown: cut to a length, and searched with a reader's own pattern.

pub use report::{cut, cut_line};

use regex_lite::{Regex, RegexBuilder};

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
    fn patterns_do_not_mind_capitals() {
        assert!(pattern("FUSION").is_ok_and(|p| p.is_some_and(|p| !p.is_match("fusion.1"))));
        assert!(pattern("fus.on").is_ok_and(|p| p.is_some_and(|p| p.is_match("Fusion.1"))));
        assert!(pattern("").is_ok_and(|p| p.is_none()));
        assert!(pattern("(").is_err());
    }
}
