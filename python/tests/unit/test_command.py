"""How the command is found and asked; with a small program in its place."""

import os
import stat
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import bufferscope
from bufferscope import BadInput, NoEngine, Remark, _command
from bufferscope._version import __version__

SCHEDULED = "HloModule m, is_scheduled=true\n\nENTRY e {\n  ROOT p = f32[4]{0} parameter(0)\n}\n"

# Says what it was asked, and what it finds there.
FAKE = f"""#!{sys.executable}
import json, os, sys
if sys.argv[1:] == ["-V"]:
    print("bufferscope", os.environ.get("FAKE_VERSION", "{__version__}"))
elif "broken" in sys.argv:
    print("m.txt:4:29: the operand `p`, expected an instruction from above", file=sys.stderr)
    sys.exit(2)
elif "peak" in sys.argv:
    print("m.txt: a remark", file=sys.stderr)
    print('{{"allocated_bytes": 7}}')
elif "report" in sys.argv:
    print('<meta name="bufferscope-shell" content="1">')
else:
    print(json.dumps([sys.argv[1:], sorted(os.listdir("."))]))
    sys.exit(1 if "no" in sys.argv else 0)
"""


@unittest.skipIf(os.name == "nt", "the small program starts with a line that Windows does not know")
class Asking(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        fake = self.folder / "bin" / "bufferscope"
        fake.parent.mkdir()
        fake.write_text(FAKE)
        fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
        self.fake = str(fake)
        self.enterContext(mock.patch.dict(os.environ, {"BUFFERSCOPE": self.fake}))

    def test_what_is_no_text_stands_for_a_program(self) -> None:
        path = self.folder / "d.txt"
        path.write_text(SCHEDULED)

        class Compiled:
            def as_text(self) -> str:
                return SCHEDULED

        words, here = bufferscope.run("why", Compiled(), "fusion.1", "--json").json()
        self.assertEqual((words, here), (["why", "m.txt", "fusion.1", "--json"], ["m.txt"]))
        words, here = bufferscope.run("diff", Compiled(), Compiled(), path).json()
        self.assertEqual((words, here), (["diff", "1/m.txt", "2/m.txt", str(path)], ["1", "2"]))

    def test_the_answer_no_is_no_error_and_bad_input_is_one(self) -> None:
        self.assertEqual(bufferscope.run("shares", "no").status, 1)
        with self.assertRaisesRegex(BadInput, "^m.txt:4:29: the operand `p`, expected an instruction from above$"):
            bufferscope.run("print", "broken")
        with self.assertRaisesRegex(BadInput, "the operand"):
            bufferscope.explain(SCHEDULED, "broken", "-b")

    def test_a_remark_is_a_warning_at_the_line_of_whoever_asked(self) -> None:
        with self.assertWarnsRegex(Remark, "^m.txt: a remark$") as caught:
            told = bufferscope.peak(SCHEDULED)
        self.assertEqual((told.allocated_bytes, caught.filename), (7, __file__))

    def test_a_file_that_is_no_report_is_not_written_over(self) -> None:
        page, other = self.folder / "r.html", self.folder / "other.html"
        for _ in range(2):
            self.assertEqual(bufferscope.report(SCHEDULED, page), page)
        other.write_text("<p>mine</p>")
        with self.assertRaisesRegex(FileExistsError, "is no report, expected another name, or overwrite=True"):
            bufferscope.report(SCHEDULED, other)
        bufferscope.report(SCHEDULED, other, overwrite=True)
        dump = self.folder / "dump"
        dump.mkdir()
        (dump / "m.txt").write_text(SCHEDULED)
        for given in (dump, dump / "m.txt"):
            with self.assertRaisesRegex(FileExistsError, "is what is read"):
                bufferscope.report(given, dump / "m.txt", overwrite=True)
        self.assertEqual((dump / "m.txt").read_text(), SCHEDULED)

    def test_how_it_is_found(self) -> None:
        self.enterContext(mock.patch.object(_command, "WASM", self.folder / "none.wasm"))
        self.enterContext(mock.patch.dict(os.environ, {"BUFFERSCOPE": "", "PATH": str(self.folder / "bin")}))
        engine = _command.engine()
        assert isinstance(engine, _command.Native)
        self.assertEqual(engine.path, self.fake)
        with mock.patch.dict(os.environ, {"FAKE_VERSION": "0.0.9"}), self.assertRaisesRegex(NoEngine, "is of version 0.0.9"):
            _command.engine()
        with mock.patch.dict(os.environ, {"PATH": ""}), self.assertRaisesRegex(NoEngine, "cargo xtask wheel"):
            _command.engine()
        # What is named is taken or named as what is wrong, and nothing else in its place.
        named = mock.patch.dict(os.environ, {"BUFFERSCOPE": "/nowhere/x"})
        with named, self.assertRaisesRegex(NoEngine, "/nowhere/x does not run"):
            bufferscope.peak(SCHEDULED)


if __name__ == "__main__":
    unittest.main()
