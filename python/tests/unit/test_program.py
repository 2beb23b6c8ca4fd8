"""What a program may be given as."""

import tempfile
import unittest
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

from bufferscope import BadInput, NotScheduled
from bufferscope._program import Program

SCHEDULED = "HloModule m, is_scheduled=true\n\nENTRY e {\n  ROOT p = f32[4]{0} parameter(0)\n}\n"
OTHER = SCHEDULED.replace(", is_scheduled=true", "")


class Compiled:
    """Gives a text, as what is compiled does."""

    def __init__(self, text: Any) -> None:
        self.text = text

    def as_text(self) -> Any:
        return self.text


class OfTheRuntime(Compiled):
    """Gives a protocol buffer as well, as JAX does."""

    def runtime_executable(self) -> "OfTheRuntime":
        return self

    def hlo_modules(self) -> list[mock.Mock]:
        return [mock.Mock(as_serialized_hlo_module_proto=lambda: b"proto")]


class Given(unittest.TestCase):
    def setUp(self) -> None:
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("error")

    def test_text_is_told_from_a_path_by_its_lines(self) -> None:
        program = Program.of(SCHEDULED)
        self.assertEqual((program.name, program.path, list(program.files)), ("m", None, ["m.txt"]))
        with self.assertRaisesRegex(FileNotFoundError, r"nowhere\.txt: there is no such file or folder; give what jax\.jit"):
            Program.of("nowhere.txt")

    def test_a_compiled_program_gives_text_and_what_text_lacks(self) -> None:
        self.assertEqual(list(Program.of(Compiled(SCHEDULED)).files), ["m.txt"])
        self.assertEqual(Program.of(OfTheRuntime(SCHEDULED)).files, {"m.txt": SCHEDULED.encode(), "m.hlo.pb": b"proto"})

    def test_a_name_of_a_module_is_no_name_of_a_file(self) -> None:
        for name, file in [
            ("../../etc/passwd", "_.._etc_passwd.txt"),
            ("-rf", "rf.txt"),
            ("<script>", "_script_.txt"),
            ("%m", "m.txt"),
            ("..", "module.txt"),
            ("n" * 300, "n" * 80 + ".txt"),
        ]:
            with self.subTest(name):
                self.assertEqual(list(Program.of(SCHEDULED.replace(" m,", f" {name},")).files), [file])

    def test_without_a_schedule_it_says_so_at_the_callers_line(self) -> None:
        unscheduled: list[tuple[Any, str]] = [(OTHER, "the text"), (Compiled(OTHER), "the text of a .*Compiled")]
        for given, what in unscheduled:
            with self.assertWarnsRegex(NotScheduled, f"{what} has no schedule .*; give what jax") as caught:
                Program.of(given, stacklevel=2)
            self.assertEqual(caught.filename, __file__)
        # What is no HLO is for the reader to name.
        Program.of("module @jit_f {\n}\n")

    def test_what_is_no_program_is_refused_with_what_to_do(self) -> None:
        for text in (None, "", 7, b"HloModule"):
            with self.subTest(text), self.assertRaisesRegex(BadInput, "expected HLO text; give what"):
                Program.of(Compiled(text))
        wrong: list[tuple[Any, str]] = [
            (7, "a builtins.int is no program"),
            (Compiled, "is no program"),
            ("x".upper, "is no program"),
        ]
        for given, what in wrong:
            with self.subTest(what), self.assertRaisesRegex(TypeError, what + "; give what"):
                Program.of(given)
        with self.assertRaisesRegex(TypeError, "is not compiled yet; give what"):
            Program.of(mock.Mock(spec=["lower"]))


class Files(unittest.TestCase):
    def test_a_folder_is_read_with_what_is_in_it(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("b.txt", "a.txt", "inner/c.txt"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(name)
        found = Program.of(folder).read(100)
        self.assertEqual(list(found.items()), [(n, n.encode()) for n in ("a.txt", "b.txt", "inner/c.txt")])
        self.assertEqual(Program.of(str(folder / "a.txt")).read(100), {"a.txt": b"a.txt"})
        with self.assertRaisesRegex(BadInput, "21 bytes in 3 files, expected at most 20: .*module="):
            Program.of(folder).read(20)


if __name__ == "__main__":
    unittest.main()
