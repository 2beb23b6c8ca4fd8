"""How answers look; what is in them is the engine's affair."""

import unittest
from html.parser import HTMLParser

from bufferscope import Explanation, Peak

HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J"


def value(name: str, **more: object) -> dict[str, object]:
    return {"value": name, "shape": "f32[64]{0}", "op_name": None, "source_file": None, "source_line": None, **more}


def peak(slots: list[dict[str, object]], notes: tuple[str, ...] = (), verdict: str | None = None) -> Peak:
    owners = {"argument": 256, "output": 0, "temp": 3 << 20}
    data = {
        "allocated_bytes": 256 + (3 << 20),
        "owners": [{"owner": owner, "bytes": size} for owner, size in owners.items()],
        "spaces": [{"color": 0, "step": 3, "instruction": HOSTILE, "slots": slots}],
        "step": 2,
        "instruction": "other",
        "notes": [{"words": words} for words in notes],
        "fits": [{"color": 0, "verdict": verdict}, {"color": 1, "verdict": None}],
    }
    return Peak(data, lambda: "all of it\n")


def slot(name: str, **more: object) -> dict[str, object]:
    return {"size": 4096, "cumulative": 8192, "start": 1, "end": 3, "values": [value(name, **more)]}


class Tags(HTMLParser):
    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


class OfThePeak(unittest.TestCase):
    def test_the_numbers_are_the_engines(self) -> None:
        told = peak([slot("fusion.1", opcode="fusion", size=4096, start=1, end=3)])
        self.assertEqual((told.allocated_bytes, told.temp_bytes, told.step), (256 + (3 << 20), 3 << 20, 3))
        self.assertEqual(told.owners, {"argument": 256, "output": 0, "temp": 3 << 20})
        (one,) = told.values
        self.assertEqual((one.name, one.opcode, one.size, one.start, one.end), ("fusion.1", "fusion", 4096, 1, 3))
        self.assertEqual((str(told), told.words), ("all of it\n", "all of it\n"))
        self.assertIn("3.0 MiB in all: argument 256 B, temp 3.0 MiB.", repr(told))

    def test_whether_it_fits_is_known_only_with_a_limit(self) -> None:
        self.assertEqual([peak([], verdict=v).fits for v in (None, "fits", "perhaps", "never")], [None, True, False, False])

    def test_hostile_names_stay_text(self) -> None:
        told = peak([slot(HOSTILE, op_name=HOSTILE, source_file=HOSTILE, source_line=1)], notes=(HOSTILE,))
        shown = Tags(told._repr_html_())
        self.assertEqual(shown.tags, {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"})
        self.assertIn("<img src=x", shown.text)
        self.assertNotIn("\x1b", repr(told))

    def test_a_long_table_says_how_much_is_left_out(self) -> None:
        self.assertIn("and 5 more", peak([slot(f"v{i}") for i in range(25)])._repr_html_())


class OfAnExplanation(unittest.TestCase):
    def test_it_tells_the_words_and_both_places(self) -> None:
        a = {"value": HOSTILE, "allocation": 0, "offset": 128, "size": 2048, "start": 2, "end": 4}
        b = {"value": "c", "allocation": None, "offset": None, "size": None, "start": None, "end": None}
        told = Explanation({"shares": False, "reason": "overlap", "words": f"{HOSTILE} does not.", "a": a, "b": b})
        self.assertEqual((told.shares, told.reason, told.a.offset, told.b.size), (False, "overlap", 128, None))
        shown = Tags(told._repr_html_())
        self.assertEqual(shown.tags, {"div", "p", "ul", "li"})
        self.assertIn("2,048 B at 128 of allocation 0, steps 2 to 4", shown.text)
        self.assertIn("c: no memory of its own", shown.text)
        self.assertNotIn("\x1b", repr(told) + str(told))


if __name__ == "__main__":
    unittest.main()
