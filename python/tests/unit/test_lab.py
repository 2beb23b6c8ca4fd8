"""The lab in a frame; with a small page in the place of the real one."""

import base64
import gzip
import json
import re
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

import bufferscope
from bufferscope import BufferscopeError, Lab, _lab
from bufferscope._version import SHELL_VERSION

SHELL = (
    f'<!doctype html>\n<html lang="en">\n<meta name="bufferscope-shell" content="{SHELL_VERSION}">\n'
    '<script type="text/plain" id="bufferscope-given"></script><script>"</script>\n</html>\n'
)
TEXT = 'HloModule a"><script>alert(1)</script>, is_scheduled=true\n\nENTRY </script><b {}\n'


class Frame(HTMLParser):
    """The attributes of the frame, and what else there is."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.frame: dict[str, str | None] = {}
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "iframe":
            self.frame = dict(attrs)


def given(page: str) -> tuple[dict[str, object], bytes]:
    """What the page's own script takes out of it: the line of JSON, and the bytes behind it."""
    block = re.search(r'id="bufferscope-given">([^<]*)</script>', page)
    assert block
    head, _, rest = gzip.decompress(base64.b64decode(block[1])).partition(b"\n")
    return json.loads(head), rest


class OfALab(unittest.TestCase):
    def setUp(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.shell = folder / "report-shell.html"
        self.shell.write_text(SHELL, encoding="utf-8")
        self.enterContext(mock.patch.object(_lab, "SHELL", self.shell))

    def test_the_program_is_in_the_page_and_the_page_in_the_frame(self) -> None:
        frame = Frame(Lab(TEXT)._repr_html_())
        page = frame.frame["srcdoc"]
        assert page
        head, rest = given(page)
        name = "a___script_alert_1___script_.txt"
        self.assertEqual(head, {"files": [[name, len(TEXT)]], "module": None, "state": None})
        self.assertEqual(rest, TEXT.encode())
        # Nothing else of the page is touched, and the program is twice the same.
        self.assertEqual(re.sub(r'(given">)[^<]*', r"\1", page), SHELL)
        self.assertEqual(Lab(TEXT).page, page)

    def test_a_hostile_name_stays_text_and_the_frame_may_do_little(self) -> None:
        frame = Frame(Lab(TEXT)._repr_html_())
        self.assertEqual(frame.tags, ["div", "p", "code", "iframe"])
        self.assertEqual(frame.frame["title"], 'Bufferscope: a"><script>alert(1)</script>')
        self.assertEqual(frame.frame["sandbox"], "allow-scripts allow-downloads")

    def test_height_theme_and_language(self) -> None:
        self.assertIn("height:720px", Lab(TEXT)._repr_html_())
        self.assertIn("height:80vh", Lab(TEXT, height="80vh")._repr_html_())
        self.assertIn('<html data-theme="dark" lang="en">', Lab(TEXT, theme="dark").page)
        self.assertIn('<html lang="en">', Lab(TEXT, theme="auto").page)
        self.assertIn('<html data-lang="zh-Hans" lang="en">', Lab(TEXT, lang="zh-Hans").page)
        self.assertIn('<html data-theme="light" data-lang="en" lang="en">', Lab(TEXT, theme="light", lang="en").page)
        for height in (0, -1, "1px;position:fixed", "", "big", True, None):
            with self.subTest(height), self.assertRaisesRegex(ValueError, "expected a number of pixels"):
                Lab(TEXT, height=height)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "theme='blue', expected"):
            Lab(TEXT, theme="blue")  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "lang='de', expected 'auto', 'en' or 'zh-Hans'"):
            Lab(TEXT, lang="de")  # type: ignore[arg-type]

    def test_another_versions_lab_is_refused(self) -> None:
        self.shell.write_text(SHELL.replace(SHELL_VERSION, "0.0.9+1"))
        with self.assertRaisesRegex(BufferscopeError, "not of version"):
            Lab(TEXT)
        self.shell.write_text(SHELL.replace("bufferscope-given", "other"))
        with self.assertRaisesRegex(BufferscopeError, "no place for files"):
            Lab(TEXT)
        self.shell.unlink()
        with self.assertRaisesRegex(BufferscopeError, "cargo xtask wheel"):
            Lab(TEXT)

    def test_outside_of_a_notebook_it_says_what_to_do(self) -> None:
        with self.assertRaisesRegex(BufferscopeError, r"bufferscope\.report\(program, 'report\.html'\)"):
            bufferscope.show(TEXT)
        self.assertIn("bufferscope.report(program", repr(Lab(TEXT)))


if __name__ == "__main__":
    unittest.main()
