"""Keeps what XLA's copy insertion makes of programs and of random modules, phase by phase (CPU).

usage: copies.py OUT [--from SEED] [--count N] [--kinds NAME,...] [--region-analysis] [--seconds S]

Writes OUT/NAME/{before,added,removed,special,after}.txt.gz and before.hlo.pb.gz: the module before the pass, after copies
are added, after unneeded ones are removed (they still stand there, unread), after the special cases, and at the end.

Of the kind `jax` are the programs of `programs.py` and random functions, compiled as a whole. Modules of the other kinds
go through this one pass alone: kinds are those of `random_modules.py`, and `carry`: nested loops and branches whose state
is swapped, repeated, passed through, updated in place and read late, with copies that stand there already, and donation.
"""
import argparse
import gzip
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from random_modules import KINDS, Maker

STAGES = {
    "before": r"\.before_copy-insertion",
    "added": r"\.copy-insertion\.after_adding_copies_to_resolve_interference",
    "removed": r"\.copy-insertion\.after_removing_unnecessary_copies",
    "special": r"\.copy-insertion\.after_adding_special-case_copies",
    "after": r"\.after_copy-insertion\.before_[\w-]+",
}


class Carry:
    """Random modules about what loops and branches carry."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.done, self.names = [], 0

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}.{self.names}"

    def shape(self):
        return self.random.choice(["f32[8]{0}", "f32[8]{0}", "f32[8]{0}", "f32[4,8]{1,0}", "s32[]"])

    def state(self, depth=0):
        """The shapes of a state; a tuple now and then."""
        parts = [self.shape() for _ in range(self.random.randint(1, 4))]
        if depth < 1 and self.random.random() < 0.25:
            parts.append(tuple(self.state(depth + 1)))
        return parts

    def text(self, shape):
        return shape if isinstance(shape, str) else "(" + ", ".join(map(self.text, shape)) + ")"

    class Body:
        def __init__(self, maker, name):
            self.maker, self.name, self.lines, self.pool = maker, name, [], []

        def emit(self, shape, right, prefix="v", keep=True):
            name = self.maker.fresh(prefix)
            self.lines.append(f"{name} = {self.maker.text(shape)} {right}")
            if keep:
                self.pool.append((name, shape))
            return name

        def of(self, shape):
            """Something of this shape."""
            r = self.maker.random
            found = [n for n, s in self.pool if s == shape]
            if found and r.random() < 0.97:
                return found[-1] if r.random() < 0.4 else r.choice(found)
            if not isinstance(shape, str):
                return self.emit(shape, f"tuple({', '.join(self.of(s) for s in shape)})")
            zero = self.emit(shape[:3] + "[]", f"constant({r.randint(0, 9)})")
            return zero if shape == "s32[]" else self.emit(shape, f"broadcast({zero}), dimensions={{}}")

        def finish(self, root, entry=""):
            lines = [f"  {'ROOT ' if line.startswith(root + ' =') else ''}{line}" for line in self.lines]
            self.maker.done.append(f"{entry}{self.name} {{\n" + "\n".join(lines) + "\n}\n")

    def fused(self, b, shape):
        """A fusion: elementwise, not elementwise, an update in place, or of two results."""
        r = self.random
        kind = r.choice(["loop", "loop", "reverse", "update", "update-read", "two", "bitcast"])
        inner = self.Body(self, self.fresh("fused"))
        a, c = [inner.emit(shape, f"parameter({k})", "param") for k in range(2)]
        operands = [b.of(shape), b.of(shape)]
        result = shape
        if kind == "reverse" and shape != "s32[]":
            root = inner.emit(shape, f"reverse({a}), dimensions={{0}}")
            root = inner.emit(shape, f"add({root}, {c})")
        elif kind in ("update", "update-read", "bitcast") and shape == "f32[8]{0}":
            at = inner.emit("s32[]", "parameter(2)", "param")
            operands.append(b.of("s32[]"))
            piece = inner.emit("f32[2]{0}", f"slice({a if kind == 'update-read' else c}), slice={{[0:2]}}")
            if kind == "bitcast":
                a = inner.emit(shape, f"bitcast({a})")
            root = inner.emit(shape, f"dynamic-update-slice({a}, {piece}, {at})")
        elif kind == "two":
            root = inner.emit(shape, f"add({a}, {c})")
            result = (shape, shape)
            root = inner.emit(result, f"tuple({root}, {inner.emit(shape, f'negate({a})')})")
        else:
            root = inner.emit(shape, f"add({a}, {c})")
        inner.finish(root)
        name = b.emit(result, f"fusion({', '.join(operands)}), kind=kLoop, calls={inner.name}", "fusion")
        if result != shape:
            for k in range(2):
                if r.random() < 0.8:
                    b.emit(shape, f"get-tuple-element({name}), index={k}")

    def step(self, b, depth):
        r = self.random
        shape = self.shape()
        op = r.choice(["unary", "unary", "binary", "binary", "reverse", "fused", "fused", "update", "scatter", "sort",
                       "custom", "copy", "barrier", "while", "cond", "call", "tuple", "element", "edge", "constant",
                       "broadcast", "scatter2"])
        if op == "unary":
            b.emit(shape, f"negate({b.of(shape)})")
        elif op == "binary":
            b.emit(shape, f"{r.choice(['add', 'multiply'])}({b.of(shape)}, {b.of(shape)})")
        elif op == "reverse" and shape != "s32[]":
            b.emit(shape, f"reverse({b.of(shape)}), dimensions={{0}}")
        elif op == "fused":
            self.fused(b, shape)
        elif op == "update":
            piece = b.emit("f32[2]{0}", f"slice({b.of('f32[8]{0}')}), slice={{[1:3]}}", keep=False)
            b.emit("f32[8]{0}", f"dynamic-update-slice({b.of('f32[8]{0}')}, {piece}, {b.of('s32[]')})")
        elif op in ("scatter", "scatter2"):
            at = b.emit("s32[2,1]{1,0}", f"broadcast({b.of('s32[]')}), dimensions={{}}", keep=False)
            n = 1 if op == "scatter" else 2
            updates = [b.emit("f32[2]{0}", f"slice({b.of('f32[8]{0}')}), slice={{[1:3]}}", keep=False) for _ in range(n)]
            inner = self.Body(self, self.fresh("sum"))
            names = [inner.emit("f32[]", f"parameter({k})", "p") for k in range(2 * n)]
            sums = [inner.emit("f32[]", f"add({names[k]}, {names[n + k]})") for k in range(n)]
            pair = ("f32[8]{0}",) * 2
            inner.finish(sums[0] if n == 1 else inner.emit(("f32[]",) * 2, f"tuple({', '.join(sums)})"))
            data = [b.of("f32[8]{0}") for _ in range(n)]
            x = b.emit(pair if n == 2 else pair[0],
                       f"scatter({', '.join([*data, at, *updates])}), update_window_dims={{}}, inserted_window_dims={{0}}, "
                       f"scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={inner.name}")
            if n == 2:
                for k in range(2):
                    b.emit(pair[0], f"get-tuple-element({x}), index={k}")
        elif op == "sort":
            inner = self.Body(self, self.fresh("less"))
            names = [inner.emit("f32[]", f"parameter({k})", "p") for k in range(2)]
            inner.finish(inner.emit("pred[]", f"compare({names[0]}, {names[1]}), direction=LT"))
            b.emit("f32[8]{0}", f"sort({b.of('f32[8]{0}')}), dimensions={{0}}, to_apply={inner.name}")
        elif op == "custom":
            if r.random() < 0.5:
                b.emit(shape, f'custom-call({b.of(shape)}, {b.of(self.shape())}), custom_call_target="f", '
                              "output_to_operand_aliasing={{}: (0, {})}")
            else:
                other = self.shape()
                alias = r.choice(["{0}: (1, {})", "{1}: (0, {})", "{0}: (1, {}), {1}: (0, {})"])
                x = b.emit((other, shape), f'custom-call({b.of(shape)}, {b.of(other)}), custom_call_target="g", '
                                           f"output_to_operand_aliasing={{{alias}}}")
                b.emit(shape, f"get-tuple-element({x}), index=1")
        elif op == "copy":
            b.emit(shape, f"copy({b.of(shape)})", "copy")
        elif op == "barrier":
            pair = (shape, self.shape())
            x = b.emit(pair, f"opt-barrier({b.of(pair)})")
            b.emit(shape, f"get-tuple-element({x}), index=0")
        elif op == "broadcast" and shape == "f32[4,8]{1,0}":
            b.emit(shape, f"broadcast({b.of('f32[8]{0}')}), dimensions={{1}}")
        elif op == "tuple":
            self.take_apart(b, b.of(tuple(self.state())))
        elif op == "element":
            found = [(n, s) for n, s in b.pool if not isinstance(s, str)]
            if found:
                n, s = r.choice(found)
                k = r.randrange(len(s))
                b.emit(s[k], f"get-tuple-element({n}), index={k}")
        elif op == "edge" and len(b.lines) > 2:
            spots = [k for k, line in enumerate(b.lines) if "parameter(" not in line and "control-pred" not in line]
            if len(spots) > 1:
                late = r.choice(spots[1:])
                early = b.lines[r.choice([k for k in spots if k < late])].split(" ")[0]
                b.lines[late] += f", control-predecessors={{{early}}}"
        elif op == "constant":
            b.of("s32[]")
        elif depth < 3 and op == "while":
            self.loop(b, depth)
        elif depth < 3 and op == "cond":
            self.branches(b, depth)
        elif depth < 3 and op == "call":
            given, inner = [self.shape(), self.shape()], self.Body(self, self.fresh("callee"))
            for k, s in enumerate(given):
                inner.emit(s, f"parameter({k})", "p")
            self.fill(inner, depth + 1)
            inner.finish(inner.of(shape))
            b.emit(shape, f"call({', '.join(map(b.of, given))}), to_apply={inner.name}")

    def fill(self, b, depth):
        for _ in range(self.random.randint(1, 7 if depth else 10)):
            self.step(b, depth)

    def take_apart(self, b, name):
        shape = dict(b.pool)[name]
        for k, s in enumerate(shape):
            if self.random.random() < 0.85:
                b.emit(s, f"get-tuple-element({name}), index={k}")

    def give_back(self, b, shape, parameter):
        """A new state: parts of the old one passed through, swapped or repeated, and new ones."""
        r = self.random
        if r.random() < 0.05:
            return parameter
        old = [b.emit(s, f"get-tuple-element({parameter}), index={k}", keep=False) for k, s in enumerate(shape)]
        order = list(range(len(shape)))
        if r.random() < 0.4:
            r.shuffle(order)
        parts = []
        for k, s in enumerate(shape):
            fits = [n for n in order if shape[n] == s]
            if r.random() < 0.35 and fits:
                order.remove(fits[0])
                parts.append(old[fits[0]])
            else:
                parts.append(b.of(s))
        return b.emit(shape, f"tuple({', '.join(parts)})", "tuple")

    def loop(self, b, depth):
        r = self.random
        shape = self.shape() if r.random() < 0.1 else tuple(self.state())
        body, condition = self.Body(self, self.fresh("body")), self.Body(self, self.fresh("cond"))
        parameter = body.emit(shape, "parameter(0)", "state")
        if not isinstance(shape, str):
            self.take_apart(body, parameter)
        self.fill(body, depth + 1)
        body.finish(body.of(shape) if isinstance(shape, str) else self.give_back(body, shape, parameter))
        parameter = condition.emit(shape, "parameter(0)", "state")
        if not isinstance(shape, str):
            self.take_apart(condition, parameter)
        if r.random() < 0.3:
            self.fill(condition, 3)
        number = condition.of("s32[]")
        limit = condition.emit("s32[]", "constant(5)")
        condition.finish(condition.emit("pred[]", f"compare({number}, {limit}), direction=LT", "less"))
        x = b.emit(shape, f"while({b.of(shape)}), condition={condition.name}, body={body.name}", "while")
        if not isinstance(shape, str):
            self.take_apart(b, x)

    def branches(self, b, depth):
        r = self.random
        result = self.shape() if r.random() < 0.4 else tuple(self.state())
        count, names, operands = r.choice([2, 2, 3]), [], []
        shared = tuple(self.state())
        for _ in range(count):
            given = shared if r.random() < 0.6 else tuple(self.state())
            operands.append(b.of(given))
            inner = self.Body(self, self.fresh("branch"))
            parameter = inner.emit(given, "parameter(0)", "p")
            self.take_apart(inner, parameter)
            self.fill(inner, depth + 1)
            if given == result and r.random() < 0.4:
                inner.finish(parameter)
            else:
                inner.finish(inner.of(result))
            names.append(inner.name)
        which = b.of("s32[]")
        x = b.emit(result, f"conditional({', '.join([which, *operands])}), branch_computations={{{', '.join(names)}}}", "cond")
        if not isinstance(result, str):
            self.take_apart(b, x)

    def module(self):
        r = self.random
        b = self.Body(self, self.fresh("main"))
        parameters = [self.shape() for _ in range(r.randint(1, 4))]
        for k, s in enumerate(parameters):
            b.emit(s, f"parameter({k})", "arg")
        for _ in range(r.randint(4, 14)):
            self.step(b, 0)
        if r.random() < 0.8:
            self.loop(b, 0)
        out = [r.choice(b.pool)[1] for _ in range(r.randint(2, 4))]
        taken, names = set(), []
        for s in out:
            free = [n for n, t in b.pool[::-1] if t == s and n not in taken]
            names.append(free[0] if free and r.random() < 0.9 else b.of(s))
            taken.add(names[-1])
        root = b.emit(tuple(out), f"tuple({', '.join(names)})", "root")
        pairs, used = [], set()
        for k, s in enumerate(out):
            fits = [n for n, p in enumerate(parameters) if p == s and n not in used]
            if fits and r.random() < 0.5:
                used.add(fits[0])
                pairs.append(f"{{{k}}}: ({fits[0]}, {{}}, {r.choice(['may', 'must'])}-alias)")
        b.finish(root, "ENTRY ")
        alias = f", input_output_alias={{ {', '.join(pairs)} }}" if pairs else ""
        return f"HloModule m{alias}\n\n" + "\n".join(self.done)


WORKER = r"""
import sys
import jax
from jaxlib import _hlo, _jax
from jax._src.lib import xla_client as xc
device = jax.devices()[0]
print('ready', flush=True)
for line in sys.stdin:
    try:
        module = _hlo.hlo_module_from_text(open(line.strip() + '.hlo').read())
        mlir = _jax.mlir.xla_computation_to_mlir_module(_hlo.XlaComputation(module.as_serialized_hlo_module_proto()))
        device.client.compile_and_load(mlir, xc.DeviceList((device,)), xc.CompileOptions())
        print('compiled', flush=True)
    except Exception as error:
        print('stopped ' + ' '.join(str(error).split())[:300], flush=True)
"""


class PassWorker:
    """A compiler that runs this pass alone, in a process of its own."""

    def __init__(self, extra):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="copies-"))
        self.log = (self.folder / "log").open("a+")
        alone = extra + " --xla_enable_hlo_passes_only=copy-insertion"
        env = dict(os.environ, JAX_PLATFORMS="cpu", XLA_FLAGS=flags(self.folder, alone))
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER], cwd=self.folder, env=env, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.log)
        self.process.stdout.readline()

    def compile(self, name, text):
        """Gives what became of it: `compiled`, `stopped ...`, or nothing if the process ended."""
        (self.folder / f"{name}.hlo").write_text(text)
        self.log.seek(0)
        self.log.truncate()
        try:
            self.process.stdin.write(f"{name}\n")
            self.process.stdin.flush()
            return self.process.stdout.readline().strip()
        except BrokenPipeError:
            return ""

    def clear(self):
        """Forgets the dumps so far."""
        shutil.rmtree(self.folder / "d", ignore_errors=True)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def flags(folder, extra):
    """What XLA is to dump."""
    return (f"--xla_dump_to={folder}/d --xla_dump_hlo_as_text --xla_dump_hlo_as_proto "
            f"--xla_dump_hlo_pass_re=copy-insertion {extra}")


def collect(dump, name, out):
    """Copies the stages of one module, compressed; false if some are missing."""
    stem = re.compile(r"module_\d+\.(?:jit_+)?" + re.escape(name) + r"(?:\.cl_\d+)?\.")
    found = {}
    for path in sorted(dump.iterdir()) if dump.is_dir() else []:
        if stem.match(path.name):
            for stage, pattern in STAGES.items():
                if re.search(pattern + r"\.txt$", path.name):
                    found[stage + ".txt"] = path
                elif stage == "before" and re.search(pattern + r"\.hlo\.pb$", path.name):
                    found["before.hlo.pb"] = path
    if len(found) < len(STAGES) + 1:
        return False
    out.mkdir(parents=True, exist_ok=True)
    for target, path in found.items():
        (out / f"{target}.gz").write_bytes(gzip.compress(path.read_bytes(), 6, mtime=0))
    return True


def random_modules(args, kinds, extra):
    worker, kept, refused, end = None, 0, {}, time.time() + args.seconds
    for seed in range(args.first, args.first + args.count):
        for kind in kinds:
            if time.time() > end:
                break
            name = f"{kind}_{seed}"
            if (args.out / name).exists():
                continue
            text = Carry(seed).module() if kind == "carry" else Maker(seed, kind).module()
            text = re.sub(r"^HloModule [^\s,]+", f"HloModule {name}", text)
            worker = worker or PassWorker(extra)
            said = worker.compile(name, text)
            if collect(worker.folder / "d", name, args.out / name):
                kept += 1
            else:
                worker.log.seek(0)
                fatal = [line for line in worker.log if line.startswith("F")]
                why = re.sub(r"[\w%.-]*\d[\w.-]*", "_", (said + " " + " ".join(fatal)[22:])[:160])
                refused[why] = refused.get(why, 0) + 1
            worker.clear()
            if not said:
                worker.close()
                worker = None
    if worker:
        worker.close()
    print(f"{kept} modules kept")
    for why, n in sorted(refused.items(), key=lambda x: -x[1])[:8]:
        print(f"  {n} not: {why}")


def random_function(seed):
    """A function for jax with loops, branches, updates and donation; gives it with arguments and what is donated."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    r = random.Random(seed)
    n = r.choice([16, 64])

    def plan(depth):
        steps = ["add", "dot", "roll", "set", "scatter", "sort", "swap", "read", "reverse", "mean", "same", "select"]
        if depth < 2:
            steps += ["fori", "while", "cond", "switch", "scan"] * 2
        out = []
        for _ in range(r.randint(1, 4 if depth else 5)):
            op = r.choice(steps)
            inner = [plan(depth + 1) for _ in range(3)] if op in ("fori", "while", "cond", "switch", "scan") else []
            out.append((op, r.randrange(3), r.randrange(3), r.randrange(8), inner))
        return out

    def run(steps, state, i):
        for op, a, b, k, inner in steps:
            x, y = state[a], state[b]
            if op == "add":
                new = x + jnp.sin(y)
            elif op == "dot":
                new = (x.reshape(4, -1) @ y.reshape(-1, 4)).sum() + x
            elif op == "roll":
                new = jnp.roll(x, k)
            elif op == "set":
                new = x.at[(i + k) % n].set(y[k])
            elif op == "scatter":
                new = x.at[jnp.array([1, k, 3]) + i].add(y[:3], mode="drop")
            elif op == "sort":
                new = jnp.sort(x)
            elif op == "swap":
                state = [*state]
                state[a], state[b] = state[b], state[a]
                continue
            elif op == "read":
                new = lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i,), (4,)) * y[:4], (i + 1,))
            elif op == "reverse":
                new = x[::-1] + y
            elif op == "mean":
                new = y - x.mean()
            elif op == "same":
                new = y
            elif op == "select":
                new = jnp.where(x > y, x, y[0])
            else:
                state = control(op, inner, k, state, i)
                continue
            state = [*state[:a], new, *state[a + 1:]]
        return state

    def control(op, inner, k, state, i):
        if op == "fori":
            return list(lax.fori_loop(0, 3 + k, lambda j, s: run(inner[0], s, j), state))
        if op == "while":
            def going(s):
                return (s[0][k] < 9) & (s[1].sum() < 99)
            return list(lax.while_loop(going, lambda s: run(inner[0], s, i), state))
        if op == "cond":
            idle = k % 3 == 0
            return list(lax.cond(state[0][0] > k, lambda s: run(inner[0], s, i),
                                 (lambda s: s) if idle else (lambda s: run(inner[1], s, i)), state))
        if op == "switch":
            branches = [lambda s, p=p: run(p, s, i) for p in inner[:2]] + [lambda s: s]
            return list(lax.switch(i % 3, branches, state))
        xs = jnp.arange(float(6 + k))
        state, ys = lax.scan(lambda s, x: (lambda t: (t, t[0][:2] * x))(run(inner[0], s, i)), state, xs)
        return [state[0].at[0].set(ys.sum()), *state[1:]]

    steps = plan(0)

    def function(i, a, b, c):
        out = run(steps, [a, b, c], i)
        return tuple(out) if seed % 3 else (out[0], a.sum(), out[1])

    x = jax.ShapeDtypeStruct((n,), "float32")
    arguments = (jax.ShapeDtypeStruct((), "int32"), x, x, x)
    return function, arguments, tuple(k for k in (1, 2, 3) if r.random() < 0.5)


def child(names):
    """Compiles, as a whole, the programs named on the way in: those of `programs.py`, and random functions `jax_SEED`."""
    import jax
    import numpy as np
    from jax.sharding import Mesh

    import programs

    for name in names:
        print("===", name, flush=True)
        try:
            if name.startswith("jax_"):
                function, arguments, donated = random_function(int(name[4:]))
                more = dict(donate_argnums=donated)
            else:
                program = programs.PROGRAMS[name]
                programs.set_mesh(Mesh(np.array(jax.devices()[:program.devices]), ("d",)))
                function, arguments, more = program.function, program.arguments, dict(program.jit)

            def run(*args):
                return function(*args)

            run.__name__ = name
            jax.jit(run, **more).lower(*arguments).compile()
            print("compiled", flush=True)
        except Exception as error:  # noqa: BLE001 - the dumps are there all the same
            print("stopped", " ".join(str(error).split())[:200], flush=True)


def whole_programs(args, extra):
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    import programs

    names = [n for n, p in programs.PROGRAMS.items() if "cpu" in p.targets and p.specs is None]
    names = names * (args.first == 0) + [f"jax_{s}" for s in range(args.first, args.first + args.count)]
    names = [n for n in names if not (args.out / n).exists()]
    kept, end = 0, time.time() + args.seconds
    while names and time.time() < end:
        batch = names[:20]
        folder = pathlib.Path(tempfile.mkdtemp(prefix="copies-"))
        more = extra + " --xla_force_host_platform_device_count=4"
        env = dict(os.environ, JAX_PLATFORMS="cpu", XLA_FLAGS=flags(folder, more))
        said = subprocess.run([sys.executable, __file__, "-", "--child", ",".join(batch)], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        tried = re.findall(r"^=== (.*)$", said, re.M)
        kept += sum(collect(folder / "d", name, args.out / name) for name in tried)
        for name, why in re.findall(r"^=== (.*)\nstopped (.*)$", said, re.M):
            print(f"  {name} not: {why}")
        names = names[max(len(tried), 1):]
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{kept} programs kept")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--from", dest="first", type=int, default=0)
    arguments.add_argument("--count", type=int, default=100)
    arguments.add_argument("--kinds", default=",".join(["jax", "carry", *KINDS]))
    arguments.add_argument("--seconds", type=float, default=float("inf"))
    arguments.add_argument("--child", help=argparse.SUPPRESS)
    arguments.add_argument("--region-analysis", action="store_true")
    args = arguments.parse_args()
    extra = "--xla_cpu_copy_insertion_use_region_analysis=true" if args.region_analysis else ""
    if args.child:
        child(args.child.split(","))
        return
    kinds = args.kinds.split(",")
    if "jax" in kinds:
        whole_programs(args, extra)
        kinds.remove("jax")
    if kinds:
        random_modules(args, kinds, extra)


if __name__ == "__main__":
    main()
