"""Traces memory space assignment in libtpu, compiled ahead of time, and turns its log into fixtures.

usage: msa.py OUT [--only NAME,...] [--keep-logs DIR] [--modules]

Writes OUT/NAME.json: what the algorithm was given (`input`), every segment request with its result (`trace`) and the final table of
alternate memory (`expected`). With --modules also OUT/NAME.hlo, the scheduled module before it. Needs jax 0.10.2 and libtpu 0.0.52. See crates/memory-space/src/replay.rs for the format.
"""
import argparse
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Out of the integers that stand behind "Consume resource" in the log.
BANDWIDTH = {"v5e": 737.66062e9, "v6e": 1638.0e9, "v5p": 2350.4186e9, "tpu7x": 3686.0e9, "v4": 491.23687e9}
TOPOLOGY = {"v5e": "v5e:1x1", "v6e": "v6e:1x1", "v5p": "v5p:2x2x1", "tpu7x": "tpu7x:1x1x1", "v4": "v4:2x2x1"}
# The scoped limit (KiB) that leaves little alternate memory.
LITTLE = {"v5e": 127000, "v6e": 125000, "v5p": 60000, "tpu7x": 60000}


def programs():
    import jax
    import jax.numpy as jnp
    S = lambda *shape: jax.ShapeDtypeStruct(shape, "float32")
    P = {}

    def chain(ws, x):
        for w in ws:
            x = jnp.tanh(x @ w)
        return x

    P["chain"] = (chain, ([S(1024, 1024)] * 6, S(256, 1024)))
    P["chain_small"] = (chain, ([S(256, 256)] * 9, S(512, 256)))

    def residual(ws, x):
        for a, b in ws:
            h = jax.nn.gelu(x @ a)
            x = x + h @ b
        return x

    P["residual"] = (residual, ([(S(512, 1024), S(1024, 512))] * 4, S(512, 512)))

    def skip(ws, x):
        kept = []
        for w in ws:
            kept.append(x)
            x = jnp.sin(x @ w)
        for k in kept:
            x = jnp.sort(x, axis=-1) * k + x
        return x

    P["skip"] = (skip, ([S(512, 512)] * 4, S(512, 512)))

    def attention(q, k, v, w):
        s = jnp.einsum("bqd,bkd->bqk", q, k) / 8.0
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(s, axis=-1), v) @ w

    P["attention"] = (attention, (S(4, 512, 128), S(4, 512, 128), S(4, 512, 128), S(128, 128)))

    def mlp(ws, x, y):
        def loss(ws):
            h = x
            for w in ws:
                h = jnp.tanh(h @ w)
            return jnp.mean((h - y) ** 2)
        g = jax.grad(loss)(ws)
        return [w - 0.1 * d for w, d in zip(ws, g)]

    P["mlp_grad"] = (mlp, ([S(512, 512)] * 4, S(256, 512), S(256, 512)))

    def sorts(x, y):
        for _ in range(3):
            x = jnp.sort(x, axis=0) * y
            x = jnp.cumsum(x, axis=1) + y
        return x

    P["sorts"] = (sorts, (S(512, 512), S(512, 512)))

    def scan(w, x):
        y, _ = jax.lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, None, length=7)
        return y @ w

    P["scan"] = (scan, (S(1024, 1024), S(512, 1024)))

    def scan_layers(ws, x):
        y, _ = jax.lax.scan(lambda c, w: (jnp.tanh(c @ w), jnp.sum(c)), x, ws)
        return y * 2

    P["scan_layers"] = (scan_layers, (S(6, 512, 512), S(512, 512)))

    def two_loops(w, v, x):
        a = jax.lax.fori_loop(0, 5, lambda i, c: jnp.sin(c @ w), x)
        b = jax.lax.fori_loop(0, 5, lambda i, c: jnp.sort(c, axis=1) @ v, a)
        return a + b, jnp.sort(a, axis=0)

    P["two_loops"] = (two_loops, (S(512, 512), S(512, 512), S(512, 512)))

    def nested(w, x):
        inner = lambda c: jax.lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c @ w), c)
        return jax.lax.fori_loop(0, 4, lambda i, c: jnp.sort(inner(c), axis=1), x)

    P["nested"] = (nested, (S(512, 512), S(512, 512)))

    def carry(w, x, y):
        def body(i, c):
            a, b, k = c
            return jnp.tanh(b @ w), jnp.sort(a, axis=1), k
        a, b, k = jax.lax.fori_loop(0, 6, body, (x, x + y, y * 2))
        return a @ b + k

    P["carry"] = (carry, (S(512, 512), S(512, 512), S(512, 512)))

    def cond(p, w, v, x):
        x = jnp.tanh(x @ w)
        y = jax.lax.cond(p > 0, lambda a: jnp.sort(a @ w, axis=1), lambda a: jnp.sin(a @ v) @ v, x)
        return y @ w + x

    P["cond"] = (cond, (jax.ShapeDtypeStruct((), "int32"), S(512, 512), S(512, 512), S(512, 512)))

    def cond_in_loop(w, v, x):
        def body(i, c):
            return jax.lax.cond(i % 2 == 0, lambda a: jnp.tanh(a @ w), lambda a: jnp.sort(a @ v, axis=1), c)
        return jax.lax.fori_loop(0, 6, body, x)

    P["cond_in_loop"] = (cond_in_loop, (S(512, 512), S(512, 512), S(512, 512)))

    def switch(i, w, x):
        y = jnp.sort(x @ w, axis=1)
        z = jax.lax.switch(i, [lambda a, b: a @ b, lambda a, b: jnp.sort(a, axis=0) + b, lambda a, b: a - b], y, x)
        return z @ y, y

    P["switch"] = (switch, (jax.ShapeDtypeStruct((), "int32"), S(512, 512), S(512, 512)))

    def unrolled(w1, w2, x):
        for _ in range(10):
            x = jnp.sort(jnp.tanh(x @ w1) @ w2, axis=1) + x
        return x

    P["unrolled"] = (unrolled, (S(512, 512), S(512, 512), S(256, 512)))

    def slices(x, y):
        a = jnp.sort(x, axis=0)
        b = jnp.tanh(a[:256] @ y)
        c = jnp.sort(b, axis=1) @ a[256:].T
        return c, a[128:384]

    P["slices"] = (slices, (S(1024, 1024), S(1024, 1024)))

    def indexed(x, i, w):
        a = jnp.tanh(x @ w)
        for k in range(3):
            row = jax.lax.dynamic_slice(a, (i + k, 0), (128, 512))
            a = jax.lax.dynamic_update_slice(a, jnp.sort(row, axis=1), (i, 0))
        return a @ w

    P["indexed"] = (indexed, (S(512, 512), jax.ShapeDtypeStruct((), "int32"), S(512, 512)))
    return P


def cases():
    few = {"xla_msa_max_outstanding_prefetches": "2"}
    short = {"xla_msa_max_overlap_to_mem_size_async_copy_ratio": "0.05"}
    for name in ["chain", "chain_small", "residual", "skip", "attention", "mlp_grad", "sorts", "unrolled"]:
        yield f"{name}_v5e", name, "v5e", {}
    for name in ["chain", "residual", "skip", "mlp_grad", "sorts"]:
        yield f"{name}_v5e_little", name, "v5e", {"xla_tpu_scoped_vmem_limit_kib": LITTLE["v5e"]}
        yield f"{name}_v5e_few", name, "v5e", few
    for chip in ["v6e", "v5p", "tpu7x"]:
        for name in ["residual", "skip", "mlp_grad"]:
            yield f"{name}_{chip}_little", name, chip, {"xla_tpu_scoped_vmem_limit_kib": LITTLE[chip]}
    for name in ["residual", "scan", "cond"]:
        yield f"{name}_v4", name, "v4", {}
    for name in ["residual", "skip", "scan"]:
        yield f"{name}_v5e_short", name, "v5e", short
    yield "chain_v5e_cpp3", "chain", "v5e", {"xla_msa_max_cross_program_prefetches": "3"}
    yield "chain_v6e_cpp2", "chain", "v6e", {"xla_msa_max_cross_program_prefetches": "2", "xla_tpu_scoped_vmem_limit_kib": LITTLE["v6e"]}
    loops = ["scan", "scan_layers", "two_loops", "nested", "carry", "cond", "cond_in_loop", "switch", "slices", "indexed"]
    for name in loops:
        yield f"{name}_v5e", name, "v5e", {}
        yield f"{name}_v5e_little", name, "v5e", {"xla_tpu_scoped_vmem_limit_kib": LITTLE["v5e"]}
    for name in ["carry", "cond", "nested"]:
        yield f"{name}_v6e_little", name, "v6e", {"xla_tpu_scoped_vmem_limit_kib": LITTLE["v6e"]}


def child(program, chip, options):
    import jax
    import numpy as np
    from jax.experimental import topologies
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    function, arguments = programs()[program]
    devices = topologies.get_topology_desc(platform="tpu", topology_name=TOPOLOGY[chip]).devices
    sharding = NamedSharding(Mesh(np.array(devices[:1] if len(devices) == 1 else devices), ("d",)), PartitionSpec())
    jit = jax.jit(function, in_shardings=sharding, out_shardings=sharding)
    jit.lower(*arguments).compile(compiler_options=options or None)


VALUE = r"<(\d+) ([^>]*?)>"


class Log:
    """What the log says, in order."""

    def __init__(self, text, chip):
        self.options, self.schedule, self.resources = {}, [], {}
        self.candidates, self.cross_uses, self.required, self.requests = [], [], [], []
        self.buffers, self.order, self.rows, self.table = [], [], {}, []
        self.pressure, self.aliases, self.accessed = 0, {}, {}
        self.bandwidth = BANDWIDTH[chip]
        self.joint, self.loops, self.loop_size, self.slices = [], {}, 0, {}
        self.module = {}
        self.after = []
        self.read(text)

    def read(self, text):
        value = request = mode = None
        for line in text.split("\n"):
            head = re.match(r"[IWEF]\d{4} [0-9:.]+ +\d+ (\w+)\.cc:\d+\] ?(.*)", line)
            source, b = (head[1], head[2]) if head else ("", line)
            if source == "memory_space_assignment" and not self.schedule and (m := re.match(r"([a-z_]+): (-?[\d.]+)$", b)):
                self.options.setdefault(m[1], float(m[2]) if "." in m[2] else int(m[2]))
            if b.startswith("Module after memory space assignment"):
                mode = "after"
            elif mode == "after":
                if source == "memory_space_assignment":
                    self.after.append(b)
                else:
                    mode = None
            if m := re.match(r"Initial resource\[(\d+)\] = (\S+) ", b):
                self.resources[int(m[1])] = float(m[2])
            elif source == "algorithm" and (m := re.match(r" (\d+): (\S+) (\S+)$", b)):
                self.schedule.append((m[2], m[3]))
            elif m := re.match(r"Cross-program prefetch candidate\. Sorting criteria: \[ (.*) \]\. Candidate: " + VALUE, b):
                keys = m[1].split(", ")
                self.candidates.append(dict(value=int(m[2]), name=m[3], size=int(-float(keys[1])), last_use_time=int(float(keys[3]))))
            elif m := re.match(r"Memory pressure = (\d+)", b):
                self.pressure = int(m[1])
            elif m := re.match(r"Processing buffer: " + VALUE, b):
                value = dict(value=int(m[1]), name=m[2], positions=[], joint=[])
                self.order.append(value)
                mode = None
            elif value is not None and (m := re.match(r"  \d+/\d+\) computation = (\S+), position = (.*), value = " + VALUE, b)) and mode != "done":
                at = [p for p in value["created"] if p["computation"] == m[1] and p["name"] == m[2]] if "created" in value else []
                if at and not any(p is at[0] for p in value["positions"]):
                    at[0]["value"] = int(m[3])
                    value["positions"].append(at[0])
            elif value is not None and (m := re.match(r"  \d+/\d+\) " + VALUE + "$", b)):
                value["joint"].append(int(m[1]))
            elif value is not None and (m := re.match(r"  \d+/\d+\) %(\S+) = (slice|dynamic-slice|copy)\(", b)):
                value.setdefault("candidates", []).append(m[1])
            elif m := re.match(r"Created allocation value: computation = (\S+)", b):
                value.setdefault("created", []).append(dict(computation=m[1], uses=[]))
                mode = "created"
            elif mode == "created" and not head and value.get("created"):
                created = value["created"][-1]
                if b.startswith("  "):
                    if "name" not in created:
                        created["name"] = b.strip()
                    elif b.strip() != "(none)":
                        created["uses"].append(b.strip())
            elif m := re.match(r"Adding `computation = \S+, position = (.*?), value = " + VALUE + "` to aliases of use `(.*)`", b):
                self.aliases.setdefault((value["value"], m[4]), []).append((int(m[2]), m[1]))
            elif m := re.match(r"Adding while body root aliasing for use (.*) to (\S+) ?(\{.*\})?$", b):
                self.aliases.setdefault((value["value"], m[1]), []).append((None, m[2] + " " + (m[3] or "{}")))
            elif m := re.match(r"Adding .*root.* aliasing for use (.*) to (\S+) ?(\{.*\})?$", b):
                self.aliases.setdefault((value["value"], m[1]), []).append((None, m[2] + " " + (m[3] or "{}")))
            elif m := re.match(r"Adding required assignment for value : " + VALUE + r" required assignment: RequiredMemoryAssignment\(memory_space=(\w+), time=(\d+), offset=(\S+), message=(.*)\)", b):
                if not self.order:
                    self.required.append(dict(value=int(m[1]), time=int(m[4]), space="default" if m[3] == "def" else "alternate", reason=m[6]))
            elif m := re.match(r"Adding required assignment: " + VALUE + r" at (\d+) at def", b):
                self.required.append(dict(value=int(m[1]), time=int(m[3]), space="default", reason="Value not allowed."))
            elif m := re.match(r"Finding allocation for computation = (\S+), position = (.*?), value = " + VALUE + r" \[(\d+), (\d+)\] latest prefetch = (\d+) last use = \d+ use = (.*)\. Size = (\d+), def pos", b):
                request = dict(position=m[2], value=int(m[3]), start=int(m[5]), end=int(m[6]), latest=int(m[7]), use=m[8], size=int(m[9]), log=[])
                self.requests.append(request)
                mode = None
            elif m := re.match(r"AllocateSegment result: (.*)", b):
                if request is not None:
                    request["result"] = m[1]
                request = None
            elif m := re.match(r"    (pos|use): (.*), accessed: (\d+) / \d+", b):
                self.accessed[m[2]] = int(m[3])
            elif m := re.match(r"Copy to alternate memory in \(-1, (\d+)\)", b):
                self.cross_uses.append(int(m[1]))
            elif b.startswith("buffer_id,buffer_name"):
                mode = "rows"
            elif b.startswith("buffer_id,size,offset"):
                mode = "table"
            elif m := re.match(r" ?MemoryBoundLoopOptimizer::Initialize.* loop size: (\d+)", b):
                self.loop_size = int(m[1])
            elif m := re.match(r" ?Setting optimized allocations map. Use: (.*) idx: (\d+) allocation: (.*)", b):
                self.loop_hint(m[1], int(m[2]), m[3])
            elif mode == "rows":
                row = next(csv.reader(io.StringIO(b)), [])
                if len(row) == 8 and (m := re.match(r"<(\d+) ", row[1])):
                    self.rows[int(m[1])] = dict(id=int(row[0]), benefit=float(row[2]), size=int(row[3]))
            elif mode == "table" and (m := re.match(r"(-?\d+),(\d+),(\d+),(\d+),(\d+)$", b)):
                self.table.append(dict(zip(["id", "size", "offset", "start", "end"], map(int, m.groups()))))
            if request is not None:
                if m := re.search(r"inst elapsed reduction \(s\) = (\S+),", b):
                    request["reduction"] = float(m[1])
                if m := re.search(r"Async copy elapsed \(s\) = (\S+),", b):
                    request["copy"] = float(m[1])
                if m := re.match(r"Interval min/max/preferred = (\S+) (\S+) (\S+) ", b):
                    request["interval"] = tuple(map(float, m.groups()))
                if m := re.match(r"Trying alternate memory allocation. Slice times = \{ (.*) \}\. Est", b):
                    count = m[1].count("[")
                    if count > 1:
                        self.slices[request["size"]] = count
            if m := re.match(r"(ROOT )?%(\S+) = .*?[)}\]] ([a-z][a-z\-]*)\((.*)$", b.strip()):
                self.module.setdefault(m[2], (m[3], m[4]))
            elif m := re.match(r"(ROOT )?%(\S+) = (\S+) ([a-z][a-z\-]*)\((.*)$", b.strip()):
                self.module.setdefault(m[2], (m[4], m[5]))

    def loop_hint(self, use, index, allocation):
        if allocation.startswith("Copy"):
            c = re.search(r"copy_start_after_time: (-?\d+), copy_done_before_time: (\d+)", allocation)
            start, done, size = int(c[1]), int(c[2]), self.loop_size
            start = -size if (start == size - 1 and done == 0) else (start - size if done <= start + 1 else start)
            self.loops[use] = dict(kind="prefetch", loop_index=index, start=start)
        else:
            self.loops[use] = dict(kind="alternate" if " in alt" in allocation else "default", loop_index=index)


def fixture(log):
    time = {name: t for t, (_, name) in enumerate(log.schedule)}
    computation_of = [c for c, _ in log.schedule]
    names = list(dict.fromkeys(computation_of))
    span = {c: (computation_of.index(c), len(computation_of) - 1 - computation_of[::-1].index(c)) for c in names}
    caller = {}
    for name, (opcode, rest) in log.module.items():
        if name in time and opcode in ("while", "conditional", "call"):
            for called in re.findall(r"%([\w.\-]+)", rest[rest.index(")"):] if ")" in rest else rest):
                if called in span:
                    caller[called] = name
    def level(c, only_while):
        n = 0
        while c in caller:
            n += 1 if not only_while or log.module[caller[c]][0] == "while" else 0
            c = computation_of[time[caller[c]]]
        return n
    nest = {c: (level(c, False), level(c, True)) for c in names}
    elapsed = [snapped(log.resources.get(t, 0.0), log.bandwidth) for t in range(len(log.schedule))]
    control = [t for t, (_, n) in enumerate(log.schedule) if log.module.get(n, ("",))[0] in ("while", "conditional", "call")]
    reduction = {(q["value"], q["use"]): q["reduction"] for q in log.requests if "reduction" in q}
    use_value = {}
    for b in log.order:
        for p in b["positions"]:
            for u in p["uses"]:
                use_value.setdefault(u, p["value"])

    def position_time(name):
        return time[name.split(" ")[0].split("{")[0]]

    def body_root_value(name):
        instruction, index = name.split(" ", 1)
        first = re.findall(r"\d+", index)
        return use_value.get(f"{instruction}, operand {first[0]}" if first else instruction)

    conversions = any(len(b["joint"]) > 1 for b in log.order if b["positions"])
    # What was tried together with another buffer stands with that one in the log; put it where it belongs.
    by_value = {b["value"]: b for b in log.order}
    targets = {}
    for b in log.order:
        for name in b.get("candidates", []):
            targets.update({name: p["value"] for p in b["positions"] if p["name"] == name})
        if len(b["joint"]) < 2:
            continue
        leader = {}

        def find(v):
            while leader.get(v, v) != v:
                v = leader[v]
            return v

        for p in b["positions"]:
            for u in p["uses"]:
                for v, n in log.aliases.get((b["value"], u), []):
                    v = v if v is not None else body_root_value(n)
                    if v is not None:
                        leader[find(v)] = find(p["value"])
        for p in list(b["positions"]):
            home = next((j for j in b["joint"] if find(j) == find(p["value"])), b["value"])
            if home != b["value"] and home in by_value:
                b["positions"].remove(p)
                theirs = by_value[home]["positions"]
                if not any(q["name"] == p["name"] and q["computation"] == p["computation"] for q in theirs):
                    theirs.append(p)
    created = {}
    for b in log.order:
        for p in b.get("created", []):
            created.setdefault((p["computation"], p["name"]), len(created))
    for b in log.order:
        b["positions"].sort(key=lambda p: created[p["computation"], p["name"]])
    buffers = []
    for b in log.order:
        if not b["positions"] or b["value"] not in log.rows:
            continue
        row = log.rows[b["value"]]
        positions = []
        for p in b["positions"]:
            uses = []
            for u in p["uses"]:
                instruction = u.split(",")[0]
                t = time[instruction]
                opcode, rest = log.module.get(instruction, ("", ""))
                entry = dict(time=t, use=u)
                called = [c for c in names if caller.get(c) == instruction]
                mine = [(v, n) for v, n in aliases_of(log, b, u)]
                resolved = [[v if v is not None else body_root_value(n), position_time(n)] for v, n in mine]
                entry["aliases"] = [a for a in resolved if a[0] is not None]
                # A branch leaves its result in the tuple that is its root; the log does not tell.
                place = re.match(r".*, operand (\d+)$", u)
                above = caller.get(computation_of[t])
                if place and above and log.module[above][0] == "conditional" and t == span[computation_of[t]][1]:
                    output = [q for q in b["positions"] if re.fullmatch(re.escape(above) + r" ?\{" + place[1] + r"\}", q["name"])]
                    entry["aliases"] += [[q["value"], time[above]] for q in output]
                if (p["value"], u) in reduction:
                    entry["elapsed_reduction"] = reduction[(p["value"], u)]
                if instruction in targets and u.endswith("operand 0"):
                    entry["conversion"] = targets[instruction]
                if u in log.accessed:
                    entry["bytes_accessed"] = log.accessed[u]
                is_root = t == span[computation_of[t]][1]
                if opcode in ("bitcast", "tuple", "get-tuple-element") or re.match(r"(bitcast|tuple|get-tuple-element)(\.\d+)?$", instruction) and not opcode:
                    entry["kind"] = "plain" if is_root else "trivial"
                if opcode in ("while", "conditional") and called:
                    entry["kind"] = opcode
                    first = min(span[c][0] for c in called)
                    entry["latest_prefetch_time"] = first - 1
                    parameters = []
                    for q in b["positions"]:
                        if q["computation"] in called and re.match(r"[^ {]+", q["name"]):
                            d = position_time(q["name"])
                            if [q["value"], d] in entry["aliases"]:
                                reads = sorted(time[x.split(",")[0]] for x in q["uses"])
                                root = span[q["computation"]][1]
                                trivial = lambda x: re.match(r"(bitcast|get-tuple-element)(\.\d+)?$", x.split(",")[0])
                                reads = [time[x.split(",")[0]] for x in q["uses"] if not trivial(x)]
                                parameters.append((q["computation"], d, min([r for r in reads if opcode == "conditional" or r < root], default=None)))
                    if opcode == "while":
                        body = re.search(r"body=%([\w.\-]+)", rest)[1]
                        entry["body"] = names.index(body)
                        inside = [p_ for p_ in parameters if p_[0] == body]
                        at = inside[0][1] if inside else t
                        entry["corrected_time"] = at
                        entry["parameter_time"] = at
                        if inside and inside[0][2] is not None:
                            entry["first_use_time"] = inside[0][2]
                    else:
                        entry["branches"] = [[d, t if r is None else r] for _, d, r in parameters]
                        entry["corrected_time"] = conditional_time(log, called, span, t)
                elif opcode == "call" and called:
                    entry["latest_prefetch_time"] = min(span[c][0] for c in called) - 1
                uses.append(entry)
            position = dict(value=p["value"], name=p["name"], definition_time=position_time(p["name"]),
                            computation=names.index(p["computation"]), uses=uses)
            if p["name"] in log.accessed:
                position["bytes_accessed"] = log.accessed[p["name"]]
            positions.append(position)
        buffers.append(dict(value=b["value"], id=row["id"], name=b["name"], size=row["size"],
                            alternate_memory_benefit=row["benefit"], slices=log.slices.get(row["size"], 0), positions=positions))
    options = dict(log.options, copy_bandwidth_bytes_per_second=log.bandwidth, min_overlap_to_async_copy_ratio=1.0,
                   preferred_overlap_to_async_copy_ratio=2.0)
    sizes = {round(q["copy"] * log.bandwidth / 4096) * 4096 for q in log.requests if "copy" in q}
    override = sizes.pop() if len(sizes) == 1 and len({b["size"] for b in buffers}) > 1 else None
    full = options["max_size_in_bytes"] / log.bandwidth
    ratios = [q["interval"][1] / full for q in log.requests if "interval" in q]
    options["max_overlap_to_mem_size_async_copy_ratio"] = round(ratios[0], 4) if ratios else 8.0
    data = dict(
        options=options, schedule=[n for _, n in log.schedule], elapsed_seconds=elapsed,
        computations=[names.index(c) for c in computation_of], nest=[nest[c][0] for c in computation_of],
        while_nest=[nest[c][1] for c in computation_of], control_flow=control,
        memory_pressure=log.pressure, size_override=override, cross_program_candidates=log.candidates,
        cross_program_first_use_times=log.cross_uses, buffers=buffers, required=log.required, loop_optimized_uses=log.loops)
    after, computation = {}, None
    for line in log.after:
        if m := re.match(r"(?:ENTRY )?%(\S+) \(.*\{$", line):
            computation = m[1]
        elif computation in names and (m := re.match(r"  (?:ROOT )?%(\S+) = (.*)$", line)):
            opcode = re.search(r"[)}\]] ([a-z][a-z\-]*)\(", m[2])
            opcode = opcode[1] if opcode else ""
            kind = {"copy-start": "copy-start", "copy-done": "copy-done", "async-start": "slice-start", "async-done": "slice-done"}.get(opcode)
            if "ConcatBitcast" in m[2]:
                kind = "concat"
            if opcode not in ("tuple", "bitcast", "get-tuple-element"):
                after.setdefault(computation, []).append(kind or m[1])
    trace = [dict(value=q["value"], use=q["use"], start=q["start"], end=q["end"], result=q.get("result", "")) for q in log.requests]
    return dict(input=data, trace=trace, expected=log.table, schedule_after=after), conversions


def aliases_of(log, buffer, use):
    found = log.aliases.get((buffer["value"], use))
    if found is None:
        found = next((a for (_, u), a in log.aliases.items() if u == use), [])
    return list(dict.fromkeys(found))


def snapped(seconds, bandwidth):
    """The log has six digits, and decisions hang on the last bit: what is bound by memory takes a whole number of bytes."""
    size = round(seconds * bandwidth / 512) * 512
    return size / bandwidth if size and abs(size / bandwidth - seconds) <= 1e-5 * seconds else seconds


def conditional_time(log, called, span, default):
    times = []
    for c in called:
        for t in range(span[c][0], span[c][1] + 1):
            opcode, rest = log.module.get(log.schedule[t][1], ("", ""))
            if opcode == "parameter" and rest.startswith("0)"):
                times.append(t)
    return min(times, default=default)


def without_places(text):
    """Leaves out where in the source things come from, which is another file on every machine."""
    header, rest = text.split("\n", 1)
    start = min((rest.index(mark) for mark in ("\n%", "\nENTRY") if mark in rest), default=0)
    body = re.sub(r", metadata=\{[^{}]*\}", "", rest[start:])
    return re.sub(r", backend_config=\{.*?\}(?=$|, [a-z_]+=)", "", header + "\n" + body, flags=re.M)


def one_line_lists(data):
    text = json.dumps(data, separators=(",", ":"))
    return re.sub(r',("(?:schedule|schedule_after|elapsed_seconds|buffers|required|trace|expected|loop_optimized_uses)"|\{"value")', r",\n\1", text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep-logs", type=pathlib.Path)
    parser.add_argument("--modules", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*json.loads(arguments.child))
        return
    environment = dict(
        os.environ, TPU_SKIP_MDS_QUERY="1", JAX_PLATFORMS="cpu", ALLOW_MULTIPLE_LIBTPU_LOAD="1", TPU_STDERR_LOG_LEVEL="0",
        TPU_MIN_LOG_LEVEL="0",
        TPU_VMODULE="algorithm=5,memory_space_assignment=4,prefetch_interval_picker=4,memory_space_assignment_util=3,"
                    "best_fit_repacker=3,memory_bound_loop_optimizer=3")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, program, chip, options in cases():
        if arguments.only and name not in arguments.only.split(","):
            continue
        cached = arguments.keep_logs / f"{name}.log" if arguments.keep_logs else None
        if cached and cached.exists() and not arguments.modules:
            text = cached.read_text(errors="replace")
        else:
            command = [sys.executable, __file__, "-", "--child", json.dumps([program, chip, options])]
            folder = tempfile.mkdtemp(prefix="oracle-")
            flags = f"--xla_dump_to={folder} --xla_dump_hlo_as_text" if arguments.modules else ""
            text = subprocess.run(command, env=dict(environment, XLA_FLAGS=flags), capture_output=True, text=True, errors="replace", check=False).stderr
            for module in pathlib.Path(folder).glob("*_before_buffer_assignment.txt"):
                if "jit_" in module.name:
                    (arguments.out / f"{name}.hlo").write_text(without_places(module.read_text()))
            shutil.rmtree(folder)
            if cached:
                cached.parent.mkdir(parents=True, exist_ok=True)
                cached.write_text(text)
        try:
            data, conversions = fixture(Log(text, chip))
        except Exception as error:  # noqa: BLE001 - the other programs go on
            print(name, "no fixture:", repr(error), text[-200:] if "Flattened" not in text else "")
            continue
        (arguments.out / f"{name}.json").write_text(one_line_lists(data))
        results = {q["result"] for q in data["trace"]}
        print(name, len(data["input"]["schedule"]), "instructions", len(data["trace"]), "requests", len(data["expected"]), "rows",
              "conversions" if conversions else "", len(results), flush=True)


if __name__ == "__main__":
    main()
