"""What a program is given as, and as which files it is read."""

from __future__ import annotations

import os
import re
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Union, runtime_checkable

from ._errors import BadInput, NotScheduled

#: How to get a program that has what is asked of it.
ADVICE = "give what jax.jit(f).lower(...).compile() returns, its as_text(), or the path of a dump folder"


@runtime_checkable
class HasText(Protocol):
    """Anything that gives its program as text, as `jax.stages.Compiled` does."""

    def as_text(self) -> str | None:
        """The program as HLO text."""


#: A program: something compiled, HLO text, or the path of a file, a dump folder or an archive of one.
ProgramLike = Union[HasText, str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Program:
    """A program as files: those of a path, or those that are made of what was given."""

    #: How it may be called in a heading.
    name: str
    #: Where it is, if it was given as a path.
    path: Path | None = None
    #: Else its files, by name.
    files: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, given: ProgramLike, stacklevel: int = 3) -> Program:
        """Takes a program as it was given. `stacklevel` is that of a warning: whose line it names."""
        if isinstance(given, str):
            # A path has no lines, and a module has more than one.
            if "\n" in given:
                _expect_schedule(given, "the text", stacklevel)
                return cls._of_text(given)
            return cls._of_path(Path(given))
        if isinstance(given, os.PathLike):
            return cls._of_path(Path(given))
        jax = sys.modules.get("jax")
        if jax is not None and isinstance(given, jax.stages.Lowered):
            # What is lowered but not compiled is written in another language unless one asks.
            text = given.as_text(dialect="hlo")
            _warn("this is the program before XLA optimises it", "call .compile() on it", stacklevel)
            return cls._of_text(_checked(text, given))
        if isinstance(given, HasText) and not isinstance(given, type):
            text = _checked(given.as_text(), given)
            _expect_schedule(text, f"the text of {_kind(given)}", stacklevel)
            return cls._of_text(text, _proto(given))
        if hasattr(given, "lower"):
            raise TypeError(f"{_kind(given)} is not compiled yet; {ADVICE}")
        raise TypeError(f"{_kind(given)} is no program; {ADVICE}")

    @classmethod
    def _of_path(cls, path: Path) -> Program:
        if not path.exists():
            raise FileNotFoundError(f"{path}: there is no such file or folder; {ADVICE}")
        return cls(path.resolve().name or str(path), path=path)

    @classmethod
    def _of_text(cls, text: str, proto: bytes | None = None) -> Program:
        header = re.search(r"^\s*HloModule\s+%?([^\s,]+)", text, re.MULTILINE)
        name = header[1] if header else "module"
        # A name of a module is anybody's text, and not yet one of a file.
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:80].lstrip("-.") or "module"
        files = {f"{stem}.txt": text.encode("utf-8", "surrogatepass")}
        if proto is not None:
            files[f"{stem}.hlo.pb"] = proto
        return cls(name, files=files)

    def read(self, most_bytes: int) -> dict[str, bytes]:
        """All its files; of a folder those in it and below, by their paths in it."""
        if self.path is None:
            return self.files
        if not self.path.is_dir():
            paths = [self.path]
        else:
            # In an order of their own, and without following links, which may lead back.
            paths = [
                Path(folder, name)
                for folder, folders, names in os.walk(self.path)
                for _ in [folders.sort()]
                for name in sorted(names)
            ]
        paths = [path for path in paths if path.is_file()]
        size = sum(path.stat().st_size for path in paths)
        if size > most_bytes:
            raise BadInput(
                f"{self.path}: {size:,} bytes in {len(paths):,} files, expected at most {most_bytes:,}: a notebook "
                "keeps what it shows; name one module of it with module=, or one of its files"
            )
        base = self.path if self.path.is_dir() else self.path.parent
        return {path.relative_to(base).as_posix(): path.read_bytes() for path in paths}


def _kind(given: object) -> str:
    kind = type(given)
    return f"a {kind.__module__}.{kind.__qualname__}"


def _checked(text: object, given: object) -> str:
    if not isinstance(text, str) or not text.strip():
        what = "no text" if not text else _kind(text)
        raise BadInput(f"as_text() of {_kind(given)} gave {what}, expected HLO text; {ADVICE}")
    return text


def _proto(given: Any) -> bytes | None:
    """The same module as a protocol buffer, which holds XLA's internal orders; text lacks them.

    There is no public way to it in every version of JAX, and the text alone will do: so whatever goes wrong, there is none.
    """
    try:
        (module,) = given.runtime_executable().hlo_modules()
        proto = module.as_serialized_hlo_module_proto()
    except Exception:
        return None
    return proto if isinstance(proto, bytes) else None


def _expect_schedule(text: str, what: str, stacklevel: int) -> None:
    header = re.search(r"^\s*HloModule\b.*$", text, re.MULTILINE)
    # What is no HLO at all the reader says in its own words.
    if header and "is_scheduled=true" not in header[0]:
        _warn(f"{what} has no schedule (is_scheduled=true in its first line)", ADVICE, stacklevel + 1)


def _warn(what: str, advice: str, stacklevel: int) -> None:
    warnings.warn(f"{what}: its memory is not that of the program that will run; {advice}", NotScheduled, stacklevel + 1)
