//! The shell: the lab as one file, which the build writes and into which a report is put.

use crate::markup::escaped;
use std::fmt;

/// Of which version a shell must be: that of the program, and that of what is put where.
#[must_use]
pub fn version() -> String {
    format!("{}+{}", env!("CARGO_PKG_VERSION"), include_str!("../FORMAT").trim())
}

const VERSION: (&str, &str) = ("<meta name=\"bufferscope-shell\" content=\"", "\">");
const TITLE: (&str, &str) = ("<title>", "</title>");
const STATIC: (&str, &str) = ("<!-- report -->", "<!-- /report -->");
const DATA: (&str, &str) = ("<script type=\"text/plain\" id=\"bufferscope-given\">", "</script>");

/// What a whole page ends with: the program stands last in it, so whatever is missing, it is.
const END: &str = "</html>";

/// Why a file is no shell for this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellError {
    /// Something that every shell has is not there.
    NoShell(&'static str),
    /// It has no end: a file that was cut off.
    Cut,
    /// It is of another version.
    Version {
        /// What it says.
        found: String,
        /// What is needed.
        wanted: String,
    },
}

impl fmt::Display for ShellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoShell(what) => {
                write!(f, "no {what}, expected a report-shell.html as `cargo xtask build` writes it")
            }
            Self::Cut => write!(
                f,
                "is cut off, expected `{END}` at its end: the lab in it would not start; write or fetch the file again"
            ),
            Self::Version { found, wanted } => write!(
                f,
                "version {found}, expected {wanted}: build the shell and the program from the same sources (`cargo xtask build`)"
            ),
        }
    }
}

impl std::error::Error for ShellError {}

/// What stands between two marks, as its range.
fn between(text: &str, (open, close): (&str, &str)) -> Option<std::ops::Range<usize>> {
    let from = text.find(open)? + open.len();
    let to = from + text[from..].find(close)?;
    Some(from..to)
}

/// Is the text a whole shell of this version?
pub fn check(shell: &str) -> Result<(), ShellError> {
    let at = between(shell, VERSION).ok_or(ShellError::NoShell("version"))?;
    let (found, wanted) = (&shell[at], version());
    if found != wanted {
        return Err(ShellError::Version { found: found.chars().take(40).collect(), wanted });
    }
    if !shell.trim_end().ends_with(END) {
        return Err(ShellError::Cut);
    }
    Ok(())
}

/// Puts a report into a shell. A report is a shell again: what was in it is replaced.
pub(crate) fn fill(shell: &str, title: &str, body: &str, data: &str) -> Result<String, ShellError> {
    check(shell)?;
    let mut out = String::with_capacity(shell.len() + body.len() + data.len());
    let mut rest = shell;
    for (marks, what, text) in [
        (TITLE, "title", escaped(title).as_str()),
        (STATIC, "place for the report", body),
        (DATA, "place for the files", data),
    ] {
        let at = between(rest, marks).ok_or(ShellError::NoShell(what))?;
        out += &rest[..at.start];
        out += text;
        rest = &rest[at.end..];
    }
    out += rest;
    Ok(out)
}

/// The report alone, without a program.
pub(crate) fn plain(title: &str, body: &str) -> String {
    // Two style sheets and nothing else: no script runs here, whatever is in the text.
    const TOKENS: &str = include_str!("../../../assets/tokens.css");
    const STYLE: &str = include_str!("../../../assets/report.css");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{TOKENS}{STYLE}</style>\n</head>\n<body class=\"plain\">\n{body}</body>\n</html>\n",
        escaped(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell() -> String {
        format!(
            "<head>{}{}{}<title>lab</title></head><!-- report --><noscript>x</noscript><!-- /report -->\n{}</script><script>1</script></html>\n",
            VERSION.0,
            version(),
            VERSION.1,
            DATA.0
        )
    }

    #[test]
    fn a_report_is_a_shell_again() {
        let once = fill(&shell(), "a<b", "<p>one</p>", "AAAA").expect("a shell");
        assert!(
            once.contains("<title>a&lt;b</title>")
                && once.contains("<!-- report --><p>one</p><!-- /report -->")
        );
        assert!(once.contains("id=\"bufferscope-given\">AAAA</script><script>1</script>"));
        let twice = fill(&once, "c", "<p>two</p>", "BBBB").expect("a shell");
        assert_eq!(twice, fill(&shell(), "c", "<p>two</p>", "BBBB").expect("a shell"));
    }

    #[test]
    fn other_files_and_other_versions_are_refused() {
        assert_eq!(check("<html>"), Err(ShellError::NoShell("version")));
        let other = shell().replace(&version(), "0.0.1+0");
        assert!(matches!(check(&other), Err(ShellError::Version { found, .. }) if found == "0.0.1+0"));
        let whole = shell();
        let (cut, _) = whole.split_once("<!-- report -->").expect("a mark");
        assert_eq!(fill(cut, "", "", ""), Err(ShellError::Cut));
        let lacking = whole.replace("<!-- report -->", "");
        assert_eq!(fill(&lacking, "", "", ""), Err(ShellError::NoShell("place for the report")));
        // However little is missing, but for the line's end.
        for end in whole.find("<title>").expect("a title")..whole.trim_end().len() {
            assert_eq!(check(&whole[..end]), Err(ShellError::Cut));
        }
        assert_eq!(check(whole.trim_end()), Ok(()));
    }
}
