"""Answers: the engine's own data, and how they look in a terminal and in a notebook.

Names in them are anybody's text. They are escaped wherever they become markup, and in a terminal as the command does it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

#: Rows of a table in a notebook; the data have them all.
MOST_ROWS = 20
#: Characters of a name or a shape in a table.
MOST_CHARACTERS = 100


@dataclass(frozen=True)
class Value:
    """A value and its place in memory."""

    #: Its name: `fusion.1`, or `while.2{0}` for a part of a tuple.
    name: str
    #: Its shape with the layout; none where the engine was not asked for it.
    shape: str | None
    #: The instruction's opcode.
    opcode: str | None
    #: What it was in the source program.
    op_name: str | None
    #: The allocation that it is in; none if it has no memory of its own.
    allocation: int | None
    #: Bytes from the allocation's start.
    offset: int | None
    #: Bytes that it takes.
    size: int | None
    #: The step that writes it.
    start: int | None
    #: The step that needs it last.
    end: int | None

    @classmethod
    def _of(cls, data: dict[str, Any]) -> Value:
        given = (data.get(key) for key in ("shape", "opcode", "op_name", "allocation", "offset", "size", "start", "end"))
        return cls(data["value"], *given)


class Peak:
    """What is alive when most is. `print` tells it in the engine's words; `data` is what `bufferscope peak --json` gives."""

    def __init__(self, data: dict[str, Any], tell: Callable[[], str]) -> None:
        #: Everything, as `docs/COMMAND_LINE.md` describes it.
        self.data = data
        self._tell = tell

    @property
    def allocated_bytes(self) -> int:
        """All allocations together."""
        return int(self.data["allocated_bytes"])

    @property
    def owners(self) -> dict[str, int]:
        """Bytes by who they belong to: argument, output, temp, constant, thread-local."""
        return {owner["owner"]: owner["bytes"] for owner in self.data["owners"]}

    @property
    def temp_bytes(self) -> int:
        """Bytes of the temporaries' allocations."""
        return self.owners.get("temp", 0)

    @property
    def step(self) -> int:
        """The step at which most temporaries of main memory are alive; without any, that at which most is."""
        return int(self._main["step"] if self._main else self.data["step"])

    @property
    def instruction(self) -> str:
        """The instruction of that step."""
        return str(self._main["instruction"] if self._main else self.data["instruction"])

    @property
    def values(self) -> list[Value]:
        """The temporaries of main memory at that step, largest first; values that share bytes stand one after another."""
        return [Value._of(value) for slot in self._slots for value in slot["values"]]

    @property
    def notes(self) -> list[str]:
        """What stands out, in words."""
        return [note["words"] for note in self.data["notes"]]

    @property
    def fits(self) -> bool | None:
        """Does it fit into the limit, as it is? None if there was no limit."""
        verdicts = [fit["verdict"] for fit in self.data["fits"] if fit["verdict"] is not None]
        return None if not verdicts else all(verdict == "fits" for verdict in verdicts)

    @cached_property
    def words(self) -> str:
        """All of it in the engine's words, as `bufferscope peak` prints it."""
        return self._tell()

    @property
    def _main(self) -> dict[str, Any] | None:
        spaces: list[dict[str, Any]] = self.data["spaces"]
        return next((space for space in spaces if space["color"] == 0), None)

    @property
    def _slots(self) -> list[dict[str, Any]]:
        return self._main["slots"] if self._main else []

    def _headline(self) -> str:
        owners = ", ".join(f"{owner} {_binary(size)}" for owner, size in self.owners.items() if size)
        when = f"Most temporaries at step {self.step}, {_plain(_cut(self.instruction))}."
        return f"{_binary(self.allocated_bytes)} in all: {owners}. {when}"

    def __repr__(self) -> str:
        return f"<Peak: {self._headline()}>"

    def __str__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        rows = list(self._rows())
        shown = "".join(rows[:MOST_ROWS])
        if len(rows) > MOST_ROWS:
            shown += f"<tr><td colspan=5>and {len(rows) - MOST_ROWS:,} more</td></tr>"
        heads = "".join(f"<th>{head}</th>" for head in ("bytes", "cumulative", "steps", "value", "from"))
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{shown}</tbody></table>" if rows else ""
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"<div><p>{escape(self._headline())}</p>{table}{notes and f'<p>What stands out:</p><ul>{notes}</ul>'}</div>"

    def _rows(self) -> Iterator[str]:
        for slot in self._slots:
            names = ", ".join(value["value"] for value in slot["values"])
            first = slot["values"][0]
            source = f"{first['source_file']}:{first['source_line']}" if first.get("source_file") else ""
            origin = " ".join(filter(None, [first.get("op_name"), source]))
            steps = f"{slot['start']}–{slot['end']}"
            cells = [f"{slot['size']:,}", f"{slot['cumulative']:,}", steps, _cut(f"{names} {first['shape']}"), _cut(origin)]
            yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


class Explanation:
    """Why two values do or do not share memory. `data` is what `bufferscope explain --json` gives."""

    def __init__(self, data: dict[str, Any]) -> None:
        #: Everything, as `docs/COMMAND_LINE.md` describes it.
        self.data = data

    @property
    def shares(self) -> bool:
        """Do they have bytes in common?"""
        return bool(self.data["shares"])

    @property
    def reason(self) -> str:
        """The rule that decided it, such as ``overlap``."""
        return str(self.data["reason"])

    @property
    def words(self) -> str:
        """It in the engine's words."""
        return str(self.data["words"])

    @property
    def a(self) -> Value:
        """The one value."""
        return Value._of(self.data["a"])

    @property
    def b(self) -> Value:
        """The other."""
        return Value._of(self.data["b"])

    def __repr__(self) -> str:
        return f"<Explanation: {_plain(self.words)}>"

    def __str__(self) -> str:
        return _plain(self.words)

    def _repr_html_(self) -> str:
        places = "".join(f"<li>{escape(_place(value))}</li>" for value in (self.a, self.b))
        return f"<div><p>{escape(self.words)}</p><ul>{places}</ul></div>"


def _place(value: Value) -> str:
    if value.allocation is None or value.size is None:
        return f"{_cut(value.name)}: no memory of its own"
    steps = "" if value.start is None else f", steps {value.start} to {value.end}"
    return f"{_cut(value.name)}: {value.size:,} B at {value.offset:,} of allocation {value.allocation}{steps}"


def _binary(size: int) -> str:
    unit = size
    for prefix in ("B", "KiB", "MiB", "GiB", "TiB"):
        if unit < 1024 or prefix == "TiB":
            return f"{size:,} B" if prefix == "B" else f"{unit:.1f} {prefix}"
        unit = unit / 1024  # type: ignore[assignment]
    raise AssertionError("a unit was found above")


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


def _plain(text: str) -> str:
    """Text that a terminal cannot obey."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
