"""The lab in a notebook: a page in a frame, with the program in it."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from html import escape
from typing import Literal

from ._command import ask
from ._errors import BufferscopeError
from ._program import Program, ProgramLike
from ._version import SHELL, SHELL_VERSION

Theme = Literal["auto", "light", "dark"]
Language = Literal["auto", "en", "zh-Hans"]

#: Bytes of files that a notebook is made to keep, before they are packed.
MOST_BYTES = 64 << 20
#: What may be given as a height: a number of pixels, or a length.
_LENGTH = re.compile(r"\d+(\.\d+)?(px|em|rem|vh|vw|%)")
_GIVEN = '<script type="text/plain" id="bufferscope-given">'


class Lab:
    """The lab with a program open in it. A notebook that ends a cell with it shows it; `show` does so anywhere in a cell.

    It is one page of about 2 MB, which the notebook keeps in its output. It stands in a frame with an origin of its own,
    which can run the page's scripts and save files, and do nothing else: not read the notebook, not reach a network.
    """

    def __init__(
        self,
        program: ProgramLike,
        *,
        module: str | int | None = None,
        height: int | str = 720,
        theme: Theme = "auto",
        lang: Language = "auto",
    ) -> None:
        """Takes what `show` takes."""
        self._make(Program.of(program), module, height, theme, lang)

    def _make(self, program: Program, module: str | int | None, height: int | str, theme: Theme, lang: Language) -> None:
        if isinstance(height, (int, float)) and not isinstance(height, bool) and height > 0:
            height = f"{height}px"
        if not (isinstance(height, str) and _LENGTH.fullmatch(height)):
            raise ValueError(f"height={height!r}, expected a number of pixels or a length such as '80vh'")
        if theme not in ("auto", "light", "dark"):
            raise ValueError(f"theme={theme!r}, expected 'auto', 'light' or 'dark'")
        if lang not in ("auto", "en", "zh-Hans"):
            raise ValueError(f"lang={lang!r}, expected 'auto', 'en' or 'zh-Hans'")
        #: The program's name.
        self.name = program.name
        self._height = height
        #: The page, which is whole: it opens from a disk as well.
        if module is None:
            self.page = fill(_shell(), program.read(MOST_BYTES))
        else:
            # Which files are of which module, the engine knows.
            options = ["--output", "-", "--module", str(module), "--"]
            self.page = ask("report", [*options, program], with_shell=True).stdout
        wishes = {"data-theme": theme, "data-lang": lang}
        marks = "".join(f' {name}="{wish}"' for name, wish in wishes.items() if wish != "auto")
        self.page = re.sub(r"<html\b", f"<html{marks}", self.page, count=1)

    def _repr_html_(self) -> str:
        # A notebook that is not trusted takes the frame away; then the words behind it say what was there.
        words = (
            f"The Bufferscope lab with {escape(self.name)} stands here once this notebook is trusted, or its cell has run. "
            "<code>bufferscope.report(program)</code> writes it as a file."
        )
        frame = (
            f'<iframe srcdoc="{escape(self.page)}" sandbox="allow-scripts allow-downloads" allow="clipboard-write" '
            f'title="Bufferscope: {escape(self.name)}" '
            'style="position:absolute;inset:0;width:100%;height:100%;border:0"></iframe>'
        )
        style = (
            f"position:relative;height:{self._height};resize:vertical;overflow:hidden;border:1px solid #8888;border-radius:4px"
        )
        return f'<div style="{style}"><p>{words}</p>{frame}</div>'

    def __repr__(self) -> str:
        return f"<Lab: {self.name!r}; a notebook shows it, and bufferscope.report(program, 'report.html') writes it as a file>"


def show(
    program: ProgramLike,
    *,
    module: str | int | None = None,
    height: int | str = 720,
    theme: Theme = "auto",
    lang: Language = "auto",
) -> None:
    """Shows the lab with a program in the notebook: what is alive at the peak, why two values do not share, what would help.

    It works offline, in JupyterLab, Jupyter Notebook, VS Code and whatever else shows HTML, and needs nothing but this
    package. It runs in the reader's browser, without a kernel, so that a saved notebook still has it.

    Args:
        program: What `jax.jit(f).lower(...).compile()` gives, or anything else whose `as_text()` gives optimised HLO; the
            text; or the path of a file, a dump folder or an archive of one.
        module: Which module of a dump: its number, its name or one of its files; this needs the engine, as `peak` does.
            Without it the lab lists them.
        height: Of the frame: pixels, or a length such as ``"80vh"``. Its lower edge can be pulled.
        theme: ``"light"``, ``"dark"``, or ``"auto"`` for what the reader's system has.
        lang: ``"en"``, ``"zh-Hans"``, or ``"auto"`` for what the reader's browser asks for; a link leads to the other one.

    Raises:
        BadInput: There is nothing to be shown, or too much.
        BufferscopeError: This is no notebook; `report` writes the same as a file.
    """
    if not _is_notebook():
        raise BufferscopeError(
            "show needs a notebook (JupyterLab, VS Code and the like); "
            "bufferscope.report(program, 'report.html') writes the same lab as a page for a browser"
        )
    from IPython.display import display

    lab = Lab.__new__(Lab)
    lab._make(Program.of(program), module, height, theme, lang)
    display(lab)  # type: ignore[no-untyped-call]


def _is_notebook() -> bool:
    """Is there an IPython that is not at a terminal?"""
    if "IPython" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return shell is not None and type(shell).__name__ != "TerminalInteractiveShell"


def _shell() -> str:
    try:
        return SHELL.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BufferscopeError(f"{SHELL.name} is not in this package: build a wheel with `cargo xtask wheel`") from None


def fill(shell: str, files: dict[str, bytes]) -> str:
    """Puts files into the lab, where a report has them; `crates/report` says how: a line of JSON, then their bytes, packed.

    Without the part that is read without a program, which takes the engine.
    """
    if f'<meta name="bufferscope-shell" content="{SHELL_VERSION}">' not in shell[: 1 << 16]:
        raise BufferscopeError(f"the lab in this package is not of version {SHELL_VERSION}; build the wheel again")
    head = json.dumps({"files": [[name, len(data)] for name, data in files.items()], "module": None, "state": None})
    # Neither a time nor a name stands in the header, so that the same program gives the same page.
    packed = gzip.compress(b"".join([head.encode(), b"\n", *files.values()]), mtime=0)
    before, mark, after = shell.partition(_GIVEN)
    _, end, after = after.partition("</script>")
    if not (mark and end):
        raise BufferscopeError("the lab in this package has no place for files; build the wheel again")
    return before + mark + base64.b64encode(packed).decode() + end + after
