"""The questions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path

from ._answers import Explanation, Peak
from ._command import Result, ask
from ._errors import Remark
from ._program import Program, ProgramLike

#: What a page that may be written over holds near its start.
_OURS = b'<meta name="bufferscope-shell"'


def _picked(module: str | int | None) -> list[str]:
    return [] if module is None else ["--module", str(module)]


def _answer(command: str, arguments: Sequence[str | Program], *, with_shell: bool = False) -> Result:
    """An answer whose remarks are warnings at the line of whoever asked."""
    result = ask(command, arguments, with_shell=with_shell)
    if result.stderr.strip():
        warnings.warn(result.stderr.strip(), Remark, stacklevel=3)
    return result


def peak(program: ProgramLike, *, module: str | int | None = None, limit: str | int | None = None) -> Peak:
    """What is alive when most is, and what makes it so much.

    Args:
        program: What `jax.jit(f).lower(...).compile()` gives, or anything else whose `as_text()` gives optimised HLO; the
            text; or the path of a file, a dump folder or an archive of one. Of a dump XLA's own assignment is told; of a
            program alone it is computed anew, by the same rules.
        module: Which module of a dump: its number, its name or one of its files.
        limit: Could it fit into so much main memory? Bytes, or a text such as ``"16GiB"``. The answer is in `fits`.

    Raises:
        BadInput: It cannot be read; in the engine's words, with line and column.
        NoEngine: Nothing here could run the engine.
    """
    given = Program.of(program)
    options = [*_picked(module), *([] if limit is None else ["--limit", str(limit)])]
    data = _answer("peak", ["--json", *options, "--", given]).json()
    return Peak(data, lambda: ask("peak", [*options, "--", given]).stdout)


def explain(program: ProgramLike, a: str | int, b: str | int, *, module: str | int | None = None) -> Explanation:
    """Why two values do or do not share memory.

    Args:
        program: As for `peak`.
        a: A value: ``"fusion.1"``, ``"while.2{0}"`` for a part of a tuple, or XLA's number of it.
        b: Another one.
        module: Which module of a dump.

    Raises:
        BadInput: It cannot be read, or has no such value.
        NoEngine: Nothing here could run the engine.
    """
    given = Program.of(program)
    return Explanation(_answer("explain", ["--json", *_picked(module), "--", given, str(a), str(b)]).json())


def report(
    program: ProgramLike,
    path: str | os.PathLike[str] = "report.html",
    *,
    module: str | int | None = None,
    overwrite: bool = False,
) -> Path:
    """Writes one page with the program, the answers in words and tables, and the lab; gives its path.

    The page opens from a disk, without a network; it is the one that the command `bufferscope report` writes.

    Args:
        program: As for `peak`.
        path: Where to. A report that is there is written over; any other file only with `overwrite`, and what is read never.
        module: Which module of a dump.
        overwrite: Write over a file that is no report.

    Raises:
        BadInput: It cannot be read.
        FileExistsError: Something else is there.
        NoEngine: Nothing here could run the engine.
    """
    given, path = Program.of(program), Path(path)
    _guard(given, path, overwrite)
    page = _answer("report", ["--output", "-", *_picked(module), "--", given], with_shell=True).stdout
    path.write_text(page, encoding="utf-8", newline="\n")
    return path


def _guard(program: Program, path: Path, overwrite: bool) -> None:
    if not path.exists():
        return
    read = program.path
    if read is not None and (path.samefile(read) or (read.resolve() in path.resolve().parents and not _is_report(path))):
        raise FileExistsError(f"{path}: is what is read, expected another name for the page")
    if not overwrite and not _is_report(path):
        raise FileExistsError(f"{path}: is there and is no report, expected another name, or overwrite=True")


def _is_report(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return _OURS in file.read(1 << 16)


def run(command: str, *arguments: ProgramLike) -> Result:
    """Asks the `bufferscope` command anything, as on the command line: `run("advise", compiled, "--json").json()`.

    What is no text stands for a program, and a text for itself: an option, the name of a value. So a path of a program is
    given as a `pathlib.Path`. Status 1 means that the answer is no.

    Raises:
        BadInput: The command does not understand it, or cannot read something; in its words.
        NoEngine: Nothing here could run the engine.
    """
    words: list[str | Program] = []
    # No comprehension, which would be a frame of its own: a warning names the caller's line.
    for argument in arguments:
        words.append(argument if isinstance(argument, str) else Program.of(argument))
    return ask(command, words)
