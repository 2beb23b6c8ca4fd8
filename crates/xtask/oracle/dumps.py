"""What XLA leaves behind, put where the other scripts and the tests expect it: its dump files, and the events of its log."""
import gzip
import json
import re

FILES = {
    "": "module.txt",
    "-buffer-assignment": "buffer-assignment.txt",
    "-buffer-assignment-values": "values.txt",
    "-live-range": "live-range.txt",
    "-memory-usage-report": "memory-usage-report.txt",
}


def collect(dump, name, out):
    """Copies, compressed, the six files of the module `name` from an `--xla_dump_to` folder; false if some are missing."""
    if not dump.is_dir():
        return False
    stem = re.compile(r"module_\d+\.(?:jit_+)?" + re.escape(name) + r"(?:\.cl_\d+)?\.(?:cpu_|sm_[\w.]*gpu_)?after_optimizations(.*)$")
    found = {}
    for path in sorted(dump.iterdir()):
        hit = stem.match(path.name)
        if not hit:
            continue
        rest = hit[1]
        if rest == ".hlo.pb":
            found["module.hlo.pb"] = path
        elif rest.endswith(".txt") and rest[:-4] in FILES:
            found[FILES[rest[:-4]]] = path
    if len(found) < len(FILES) + 1:
        return False
    out.mkdir(parents=True, exist_ok=True)
    for target, path in found.items():
        (out / f"{target}.gz").write_bytes(gzip.compress(path.read_bytes(), 6, mtime=0))
    return True


_VALUE = r"<(\d+) [^>]*>"
_NEW = {
    "constant": r"New allocation #(\d+) for constant HloBuffer (\d+),",
    "parameter": r"New allocation #(\d+) marked as entry computation parameter: HloBuffer (\d+),",
    "thread-local": r"New allocation #(\d+) for thread-local: HloBuffer (\d+),",
    "tuple": r"New allocation #(\d+) for tuple-shaped buffer: HloBuffer (\d+),",
    "other": r"New allocation #(\d+) for: HloBuffer (\d+),",
}
_REFUSALS = [
    ("color", r"Can't assign: buffer has color"),
    ("larger", r"Can't assign: buffer is larger"),
    ("read-only", r"Can't assign: allocation is readonly"),
    ("must-not-live-out", r"Can't assign: .* cannot live out"),
    ("not-reusable", r"Can't assign: allocation is not reusable"),
    ("interference", r"Can't assign: assignee .* live range interferes with"),
    ("copy-of-itself", r"Can't assign: assignee .* is used at copy instruction"),
    ("live-out-size", r"Can't assign: .* is live out and size not the same"),
]


def _events():
    def numbers(event, names, **fixed):
        return lambda hit: dict(event=event, **fixed, **{k: int(v) for k, v in zip(names, hit.groups())})

    rules = [
        (r"Assigning buffer for HloBuffer (\d+),", numbers("assign", ["buffer"])),
        (r"Trying to assign HloBuffer (\d+),.* size \d+ to allocation: allocation (\d+):",
         numbers("try", ["buffer", "allocation"])),
        (r"Reusing \(operand\) allocation #(\d+) for: HloBuffer (\d+),",
         numbers("reuse", ["allocation", "buffer"], operand=True)),
        (r"Reusing allocation #(\d+) for: HloBuffer (\d+),",
         numbers("reuse", ["allocation", "buffer"], operand=False)),
        (r"Delaying assignment of temp buffer: " + _VALUE, numbers("delay", ["value"])),
        (r"Adding the following buffer to allocation #(\d+) \(size=(\d+), offset=(\d+)\) " + _VALUE,
         numbers("place", ["allocation", "size", "offset", "value"])),
        (r"Simulating heap for color (\d+)", numbers("simulate", ["color"])),
        (r"Result size from heap simulator: (\d+)", numbers("heap", ["size"])),
    ]
    rules += [(text, numbers("new", ["allocation", "buffer"], kind=kind)) for kind, text in _NEW.items()]
    rules += [(text, numbers("refuse", [], reason=reason)) for reason, text in _REFUSALS]
    return [(re.compile(text), make) for text, make in rules]


_RULES = _events()
_LINE = re.compile(r"[IWE]\d{4} [\d:.]+ +\d+ buffer_assignment\.cc:\d+\] (.*)")


def events_of(lines, name):
    """The decisions of a verbose log (`TF_CPP_VMODULE=buffer_assignment=9`) about one module, a JSON object each."""
    ours = False
    for line in lines:
        hit = _LINE.match(line)
        if not hit:
            continue
        text = hit[1]
        begin = re.match(r"Assigning buffers to module (\S+)", text)
        if begin:
            ours = re.sub(r"^jit_+", "", begin[1]) == name
        if not ours:
            continue
        for pattern, make in _RULES:
            hit = pattern.match(text)
            if hit:
                yield json.dumps(make(hit))
                break
