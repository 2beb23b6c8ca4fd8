//! Small helpers on text.

/// Quoted for a remark: in backquotes, control characters escaped, cut after 40 characters.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("`");
    for (i, c) in text.chars().enumerate() {
        if i == 40 {
            out.push_str("...");
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.push('`');
    out
}
