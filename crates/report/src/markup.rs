//! HTML, written so that text of a module stays text.

use std::fmt::Write as _;

/// Characters that are not shown but change what is: those that a browser drops or replaces, and those that turn the
/// direction of writing.
fn is_hidden(c: char) -> bool {
    c.is_control() && c != '\n'
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{061c}' | '\u{feff}')
}

/// Text for content or for an attribute in double quotes. Hidden characters are shown by their numbers.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c if is_hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// How a column is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Names and numbers of others.
    Code,
    /// Figures, to the right.
    Number,
    /// Words.
    Words,
}

/// A table; the first column of each line names it. `foot` is a last line with sums.
pub(crate) fn table(
    out: &mut String,
    caption: &str,
    columns: &[(&str, Column)],
    lines: &[Vec<String>],
    foot: Option<&[String]>,
) {
    _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>\n<caption>{0}</caption>\n<thead><tr>",
        escaped(caption)
    );
    for (name, column) in columns {
        let class = if *column == Column::Number { " class=\"number\"" } else { "" };
        _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escaped(name));
    }
    *out += "</tr></thead>\n<tbody>\n";
    for cells in lines {
        line(out, columns, cells);
    }
    *out += "</tbody>\n";
    if let Some(cells) = foot {
        *out += "<tfoot>\n";
        line(out, columns, cells);
        *out += "</tfoot>\n";
    }
    *out += "</table></div>\n";
}

fn line(out: &mut String, columns: &[(&str, Column)], cells: &[String]) {
    *out += "<tr>";
    for (i, (cell, (_, column))) in cells.iter().zip(columns).enumerate() {
        let (open, close) = if i == 0 { ("<th scope=\"row\"", "</th>") } else { ("<td", "</td>") };
        *out += open;
        if *column == Column::Number {
            *out += " class=\"number\"";
        }
        *out += ">";
        match column {
            Column::Code if !cell.is_empty() => _ = write!(out, "<code>{}</code>", escaped(cell)),
            _ => *out += &escaped(cell),
        }
        *out += close;
    }
    *out += "</tr>\n";
}

/// A list of sentences.
pub(crate) fn list(out: &mut String, tag: &str, lines: &[String]) {
    _ = writeln!(out, "<{tag}>");
    for line in lines {
        _ = writeln!(out, "<li>{}</li>", escaped(line));
    }
    _ = writeln!(out, "</{tag}>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escaped("</script><b a='1\">&"), "&lt;/script&gt;&lt;b a=&#39;1&quot;&gt;&amp;");
        assert_eq!(escaped("a\0b\u{202e}c\n"), "a\\u{0}b\\u{202e}c\n");
        assert_eq!(escaped("fusion.1é你"), "fusion.1é你");
    }
}
