//! Files of cases.

/// The cases of a file: name, program, what is expected.
pub fn cases(text: &str) -> Vec<(&str, &str, Option<&str>)> {
    text.split("=== ")
        .skip(1)
        .map(|part| {
            let (name, rest) = part.split_once('\n').expect("a name");
            match rest.split_once("--- expected\n") {
                Some((input, expected)) => (name, input, Some(expected)),
                None => (name, rest.split_once("--- refused").expect("what becomes of it").0, None),
            }
        })
        .collect()
}
