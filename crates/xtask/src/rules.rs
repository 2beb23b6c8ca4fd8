//! `docs/RULES.md` as a page of its own beside the other one, with an anchor for each section: `rules.html#8.5.1`.

use std::fmt::Write as _;

use pulldown_cmark::{CowStr, Event, Parser, Tag, TagEnd, html};

/// The number that a heading begins with.
fn number(heading: &str) -> Option<&str> {
    let first = heading.split_whitespace().next()?;
    let is_number = first.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    is_number.then_some(first)
}

/// The sections of the rules: number and heading.
pub(crate) fn sections(markdown: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut heading: Option<String> = None;
    for event in Parser::new(markdown) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some(heading) = heading.take()
                    && let Some(n) = number(&heading)
                {
                    found.push((n.to_owned(), heading.clone()));
                }
            }
            _ => {}
        }
    }
    found
}

/// The page. `styles` are the `<link>` elements of the page beside it.
pub(crate) fn page(markdown: &str, styles: &str, policy: &str) -> String {
    let sections = sections(markdown);
    let mut next = sections.iter().map(|(n, _)| n);
    let mut pending = true;
    let events = Parser::new(markdown).map(|event| match event {
        Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
            // The title of the page has no number.
            let id = if std::mem::take(&mut pending) {
                None
            } else {
                next.next().map(|n| CowStr::from(n.clone()))
            };
            Event::Start(Tag::Heading { level, id, classes, attrs })
        }
        // Ours has none; whoever puts some in is to see that it is not markup.
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        other => other,
    });
    let mut body = String::new();
    html::push_html(&mut body, events);
    let mut contents = String::new();
    for (n, heading) in &sections {
        let depth = n.matches('.').count();
        let title = heading.trim_start_matches(n.as_str()).trim();
        _ = writeln!(
            contents,
            "<li class=\"depth-{depth}\"><a href=\"#{n}\"><span class=\"n\">{n}</span> {title}</a></li>"
        );
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{policy}\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Bufferscope: the rules</title>\n{styles}\n</head>\n<body>\n\
         <header class=\"masthead\"><p class=\"brand\"><a href=\"./\">Bufferscope</a></p></header>\n\
         <div class=\"page\">\n<nav class=\"rail rules-rail\" aria-label=\"Sections\"><ol>\n{contents}</ol></nav>\n\
         <main class=\"rules\">\n{body}</main>\n</div>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_has_its_number_as_an_anchor() {
        let text =
            "# Title\n\nIntro.\n\n## 8 The assigner\n\n### 8.5.1 Nine `reasons`\n\nText <b>not markup</b>.\n";
        let found: Vec<_> = sections(text).into_iter().map(|(n, _)| n).collect();
        assert_eq!(found, ["8", "8.5.1"]);
        let page = page(text, "", "");
        assert!(page.contains("<h2 id=\"8\">8 The assigner</h2>"), "{page}");
        assert!(page.contains("<h3 id=\"8.5.1\">8.5.1 Nine <code>reasons</code></h3>"), "{page}");
        assert!(page.contains("&lt;b&gt;not markup"), "{page}");
    }
}
