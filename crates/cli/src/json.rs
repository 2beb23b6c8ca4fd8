//! What serde says of a text that is not what was wanted, in words of ours.

/// What was read and what was expected, from what serde says; `whole` is what the text should be. The place is left out.
pub(crate) fn words(said: &str, whole: &str) -> String {
    const READ: [(&str, &str); 4] = [
        ("invalid type: ", ""),
        ("invalid value: ", ""),
        ("unknown variant ", ""),
        ("unknown field ", "the field "),
    ];
    let said = said.rsplit_once(" at line ").map_or(said, |(said, _)| said);
    let (read, expected) = said.split_once(", expected ").unwrap_or((said, ""));
    let Some(read) =
        READ.iter().find_map(|(theirs, ours)| Some(format!("{ours}{}", read.strip_prefix(theirs)?)))
    else {
        return match said.strip_prefix("missing field ") {
            Some(field) => format!("no {field}, expected {whole}"),
            // A sentence of ours.
            None if !expected.is_empty() => said.to_owned(),
            None => format!("no JSON ({said}), expected {whole}"),
        };
    };
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => format!("{read}, expected a whole number from 0"),
        "i32" | "i64" => format!("{read}, expected a whole number"),
        "f64" => format!("{read}, expected a number"),
        "a sequence" => format!("{read}, expected a list"),
        "a map" => format!("{read}, expected an object"),
        "" => format!("{read}, expected {whole}"),
        _ if expected.starts_with("struct ") => format!("{read}, expected an object"),
        _ => format!("{read}, expected {expected}"),
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn serde_in_our_words() {
        let check = |said, expected| assert_eq!(words(said, "a trace"), expected);
        check("expected value at line 1 column 1", "no JSON (expected value), expected a trace");
        check("EOF while parsing a list", "no JSON (EOF while parsing a list), expected a trace");
        check(
            "invalid type: sequence, expected u32 at line 3 column 4",
            "sequence, expected a whole number from 0",
        );
        check("invalid type: map, expected a sequence", "map, expected a list");
        check("missing field `to` at line 1 column 2", "no `to`, expected a trace");
        check("unknown variant `a`, expected `b` or `c`", "`a`, expected `b` or `c`");
        check("clique 0, expected one that is there", "clique 0, expected one that is there");
    }
}
