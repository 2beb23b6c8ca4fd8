"""Compares our command line with XLA's dumps, case by case.

usage: compare.py BUFFERSCOPE DIR... [--text | --proto] [--presets] [--show N] [--args "MORE ARGUMENTS"]

A DIR holds one folder for each case, as `generate.py` and `random_modules.py` write them. The tool gets the text and,
for the orders that text lacks, the `.hlo.pb`; with --text the text alone, with --proto the `.hlo.pb` alone. Columns are
counts of equal files. What no dump holds is compared as a set: `uses:` lines (column `values*`), and places
after a heap result (column `decisions`); keys of backend_config may come in any order.
--presets hands the tool the allocations of colour 1 (on v4: 3) of the dump, as memory space assignment placed them.
"""
import argparse
import concurrent.futures
import gzip
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

FILES = ["live-range.txt", "buffer-assignment.txt", "memory-usage-report.txt", "values.txt"]


def read(path):
    packed = path.with_name(path.name + ".gz")
    if packed.exists():
        return gzip.decompress(packed.read_bytes()).decode()
    return path.read_text() if path.exists() else None


def plain_config(line):
    """`backend_config={...}` with its keys in order."""
    head, found, tail = line.partition("backend_config={")
    if not found:
        return line
    try:
        value, end = json.JSONDecoder().raw_decode("{" + tail)
    except ValueError:
        return line
    return head + found + json.dumps(value, sort_keys=True) + tail[end - 1:]


def unordered(values):
    """The lines of a values file, each block of uses sorted."""
    out = []
    for is_use, lines in itertools.groupby(values.splitlines(), key=lambda line: line.startswith("  ")):
        lines = [plain_config(line) for line in lines]
        # Positions are indented alike, and their order is known.
        out += sorted(lines) if is_use and out and out[-1] == " uses:" else lines
    return out


def canonical(lines):
    """Decisions with every run of places sorted; the two reasons that XLA looks for in one walk in hash order as one."""
    one = {"copy-of-itself": "interference"}
    events = [json.loads(line) for line in lines if line.strip()]
    for event in events:
        if event["event"] == "refuse":
            event["reason"] = one.get(event["reason"], event["reason"])
    out = []
    for placed, run in itertools.groupby(events, key=lambda event: event["event"] == "place"):
        run = [json.dumps(event, sort_keys=True) for event in run]
        out += sorted(run) if placed else run
    return out


def presets_of(case, out):
    text, keep = ["BufferAssignment:"], False
    for line in read(case / "buffer-assignment.txt").splitlines():
        if line.startswith("allocation "):
            keep = bool(re.search(r", color [13],", line))
        if keep:
            text.append(line)
    path = out / "presets.txt"
    path.write_text("\n".join(text) + "\n")
    return path


def compare(tool, case, source, presets, more):
    same = {}
    packed = (case / "module.txt.gz").exists()
    text, proto = str(case / ("module.txt.gz" if packed else "module.txt")), str(case / "module.hlo.pb.gz")
    module = {"text": [text], "proto": [proto], "orders": [text, "--orders", proto]}[source] + more
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        if presets:
            module += ["--presets", str(presets_of(case, out))]
        subprocess.run([tool, "assign", *module, "--out", str(out)], capture_output=True, check=False)
        for name in FILES:
            wanted, path = read(case / name), out / name
            if wanted is None:
                continue
            got = path.read_text() if path.exists() else ""
            same[name.removesuffix(".txt")] = got == wanted
            if name == "values.txt":
                same["values*"] = unordered(got) == unordered(wanted)
        events = read(case / "events.jsonl")
        if events is not None:
            done = subprocess.run([tool, "decisions", *module, "--json"], capture_output=True, text=True, check=False)
            try:
                same["decisions"] = canonical(done.stdout.splitlines()) == canonical(events.splitlines())
            except ValueError:
                same["decisions"] = False
    return same


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("tool")
    arguments.add_argument("dirs", nargs="+", type=pathlib.Path)
    arguments.add_argument("--text", action="store_const", dest="source", const="text", default="orders")
    arguments.add_argument("--proto", action="store_const", dest="source", const="proto")
    arguments.add_argument("--presets", action="store_true")
    arguments.add_argument("--show", type=int, default=5)
    arguments.add_argument("--args", default="")
    args = arguments.parse_args()
    perfect = True
    for folder in args.dirs:
        cases = sorted(path for path in folder.iterdir() if path.is_dir())
        run = lambda case: compare(args.tool, case, args.source, args.presets, args.args.split())  # noqa: E731
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(run, cases))
        columns = list(dict.fromkeys(column for same in results for column in same))
        counts = [f"{c} {sum(s.get(c, False) for s in results)}/{sum(c in s for s in results)}" for c in columns]
        print(f"{folder}: {len(cases)} cases  " + "  ".join(counts))
        wrong = [(case.name, same) for case, same in zip(cases, results)
                 if not all(v for k, v in same.items() if k != "values")]
        perfect &= not wrong
        for name, same in wrong[:args.show]:
            print("   differs:", name, ", ".join(k for k, v in same.items() if not v))
    sys.exit(0 if perfect else 1)


if __name__ == "__main__":
    main()
