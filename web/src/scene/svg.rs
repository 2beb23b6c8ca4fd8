//! A scene as the text of an SVG: for the export button, and for what stands on the page while there is no JavaScript.

use super::{Anchor, Form, Layer, Mark, Scene};
use std::fmt::Write as _;

/// To a tenth of a pixel: the rest only makes for longer attributes. By whole numbers, because writing floats is 20 KB of the
/// page's first load.
pub fn number(n: f64) -> String {
    let tenths = (n * 10.0).round_ties_even() as i64;
    let sign = if tenths < 0 { "-" } else { "" };
    match (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (whole, rest) => format!("{sign}{whole}.{rest}"),
    }
}

/// The class names of a mark.
pub fn classes(mark: &Mark) -> String {
    let mut names = mark.layer.class().to_owned();
    if let Some(hue) = mark.hue {
        _ = write!(names, " hue-{hue}");
    }
    if !mark.class.is_empty() {
        names.push(' ');
        names.push_str(mark.class);
    }
    names
}

/// Text as it may stand between tags and in attributes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no way to write most of them.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

const HATCH: &str = r#"<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch-ground" width="6" height="6"/><line class="hatch-line" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>"#;

/// The marks of a scene, layer by layer, back to front.
pub fn marks(scene: &Scene) -> String {
    let mut out = String::new();
    for layer in Layer::ALL {
        let mut of_layer = scene.marks.iter().filter(|m| m.layer == layer).peekable();
        if of_layer.peek().is_none() {
            continue;
        }
        _ = write!(out, "<g class=\"layer-{}\">", layer.class());
        for m in of_layer {
            let class = classes(m);
            // As an attribute: in a style sheet the address would be the style sheet's.
            let fill = if layer == Layer::Ground { " fill=\"url(#hatch)\"" } else { "" };
            let (x, y) = (number(m.x), number(m.y));
            _ = match &m.form {
                Form::Rect { w, h } => write!(
                    out,
                    "<rect class=\"{class}\"{fill} x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\"/>",
                    number(*w),
                    number(*h)
                ),
                Form::Line { dx, dy } => write!(
                    out,
                    "<line class=\"{class}\" x1=\"{x}\" y1=\"{y}\" x2=\"{}\" y2=\"{}\"/>",
                    number(m.x + dx),
                    number(m.y + dy)
                ),
                Form::Text { text, anchor } => {
                    let anchor = match anchor {
                        Anchor::Start => "start",
                        Anchor::Middle => "middle",
                        Anchor::End => "end",
                    };
                    write!(
                        out,
                        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>",
                        escaped(text)
                    )
                }
            };
        }
        out.push_str("</g>");
    }
    out
}

/// A picture to be put into a page that has our style sheets; `label` is for those who do not see it.
pub fn inline(scene: &Scene, label: &str) -> String {
    let (w, h) = (number(scene.width), number(scene.height));
    format!(
        "<svg viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" aria-label=\"{}\">{HATCH}{}</svg>",
        escaped(label),
        marks(scene)
    )
}

const TOKENS: &str = include_str!("../../../assets/tokens.css");
const MARKS: &str = include_str!("../../../assets/marks.css");

/// Space around pictures in a file, in CSS pixels.
const MARGIN: f64 = 16.0;

/// One file with several pictures, one below the other, each under its heading; in the light colours, with its own style
/// sheet.
pub fn file(title: &str, pictures: &[(&str, &Scene)]) -> String {
    let width = pictures.iter().map(|(_, s)| s.width).fold(0.0, f64::max) + 2.0 * MARGIN;
    let (mut y, margin) = (MARGIN + 20.0, number(MARGIN));
    let mut body = format!(
        "<text class=\"title\" x=\"{margin}\" y=\"{}\">{}</text>",
        number(MARGIN + 8.0),
        escaped(title)
    );
    for (heading, scene) in pictures {
        _ = write!(
            body,
            "<text class=\"heading\" x=\"{margin}\" y=\"{}\">{}</text>",
            number(y + 12.0),
            escaped(heading)
        );
        y += 20.0;
        _ = write!(body, "<g transform=\"translate({margin} {})\">{}</g>", number(y), marks(scene));
        y += scene.height + MARGIN;
    }
    let (w, h) = (number(width), number(y));
    // Only the first block of tokens: the light colours.
    let light = TOKENS.split("@media").next().unwrap_or_default();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" class=\"plot heap\">\
         <style>{light}\n{MARKS}\n.title {{ font-weight: 600; font-size: 14px; }}\n.heading {{ font-weight: 600; }}</style>\
         {HATCH}<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>{body}</svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::heap;
    use super::super::tests::picture;
    use super::*;

    #[test]
    fn numbers_are_as_short_as_a_tenth_allows() {
        for (n, text) in [
            (0.0, "0"),
            (12.0, "12"),
            (0.04, "0"),
            (-0.04, "0"),
            (-0.3, "-0.3"),
            (7.96, "8"),
            (1e6, "1000000"),
        ] {
            assert_eq!(number(n), text);
        }
        assert_eq!((number(12.34), number(-12.36)), ("12.3".to_owned(), "-12.4".to_owned()));
    }

    #[test]
    fn names_from_a_module_are_text_only() {
        let p = picture(9, "<script>&\"x\" 0 9 0 4000");
        let scene = heap(&p, &p, (400.0, 300.0), None, &[], None).scene;
        let svg = file("a < b", &[("Heap", &scene)]);
        assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;&amp;&quot;x&quot;"), "{svg}");
        assert!(svg.contains("a &lt; b"));
        assert!(inline(&scene, "\"quoted\"").contains("aria-label=\"&quot;quoted&quot;\""));
    }

    #[test]
    fn tags_are_closed_and_ids_are_there() {
        let p = picture(9, "a 0 4 0 100\nb 3 8 128 100");
        let svg = file("t", &[("Heap", &heap(&p, &p, (400.0, 300.0), Some(0), &[], Some(3)).scene)]);
        for tag in ["g", "text", "svg", "style", "defs", "pattern"] {
            let opened = svg.matches(&format!("<{tag} ")).count() + svg.matches(&format!("<{tag}>")).count();
            assert_eq!(opened, svg.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(svg.contains("url(#hatch)") && svg.contains("id=\"hatch\""));
        assert!(svg.contains("--hue-9-line") && !svg.contains("data-theme"));
    }
}
