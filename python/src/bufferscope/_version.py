"""Of which version this package is, and what is in it."""

from pathlib import Path

#: That of the crates: the page and the engine in the wheel are built from the same sources.
__version__ = "0.1.0"
#: Of what a page holds where; the same as in `crates/report/FORMAT`.
FORMAT = "1"
#: What a shell of this version calls itself.
SHELL_VERSION = f"{__version__}+{FORMAT}"

_DATA = Path(__file__).parent / "data"
#: The lab as one file.
SHELL = _DATA / "report-shell.html"
#: The `bufferscope` command as WebAssembly.
WASM = _DATA / "bufferscope.wasm"
