"""Random HLO modules, pushed through XLA's real CPU compiler with every HLO pass switched off.

usage: random_modules.py OUT [--from SEED] [--count N] [--kinds NAME,...] [--workers N] [--seconds S]

Writes OUT/KIND-SEED/{module.txt,module.hlo.pb.gz,buffer-assignment.txt,values.txt,live-range.txt,
memory-usage-report.txt,events.jsonl}. XLA renames and reschedules what it is given: the module that counts is the
dumped one, never the generated text. The four files are written before machine code is made, so a module counts even
if the compiler gives up afterwards; because it sometimes takes its whole process with it, modules are compiled by
worker processes that are started again.

Generators (KIND): `plain` arrays of every type; `flow` nested loops, branches, calls and tuples in tuples; `fused`
fusions of every kind; `place` in-place operations, donation and aliasing custom calls; `odd` whatever is rare:
tokens, collectives, copy pairs, dynamic shapes, many-operand sorts; `mixed` everything at once.
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

from dumps import collect, events_of

FLOATS = ["f32", "f64", "bf16", "f16", "f8e4m3fn", "f8e5m2", "f8e4m3b11fnuz"]
SIGNED = ["s32", "s8", "s16", "s64", "s4", "s2"]
UNSIGNED = ["u32", "u8", "u16", "u64", "u4", "u2"]
COMPLEX = ["c64", "c128"]
KINDS = ["plain", "flow", "fused", "place", "odd", "mixed"]
WEIGHTS = {
    "plain": dict(elementwise=4, data=3),
    "flow": dict(elementwise=1, data=1, flow=5, tuples=4),
    "fused": dict(elementwise=1, data=1, fusion=6, tuples=1),
    "place": dict(elementwise=1, data=1, place=6, flow=1, fusion=2, tuples=1),
    "odd": dict(elementwise=1, data=1, odd=6, flow=1, tuples=2),
    "mixed": dict(elementwise=2, data=2, flow=2, fusion=2, place=2, odd=2, tuples=2),
}


def text_of(shape):
    """A shape is (type, dims) or ("tuple", [shapes]) or ("token", ())."""
    kind, rest = shape
    if kind == "tuple":
        return "(" + ", ".join(text_of(s) for s in rest) + ")"
    if kind == "token":
        return "token[]"
    return f"{kind}[{','.join(map(str, rest))}]"


def is_array(shape):
    return shape[0] not in ("tuple", "token")


def count(shape):
    n = 1
    for d in shape[1]:
        n *= d
    return n


class Body:
    """One computation while it is being written: its lines, and what has been computed so far."""

    def __init__(self, maker, name, parameters, depth, inside_fusion=False):
        self.maker, self.name, self.depth, self.inside_fusion = maker, name, depth, inside_fusion
        self.lines, self.pool = [], []
        for i, shape in enumerate(parameters):
            self.emit(shape, f"parameter({i})")

    def emit(self, shape, right):
        """A new instruction; gives its name."""
        self.maker.number += 1
        name = f"i{self.maker.number}"
        self.lines.append((name, f"{name} = {text_of(shape)} {right}"))
        self.pool.append((name, shape))
        return name

    def pick(self, wanted=lambda s: True):
        """Something that was computed and is `wanted`; what is recent is likelier."""
        fits = [v for v in self.pool if wanted(v[1])]
        if not fits:
            return None
        r = self.maker.random
        return fits[max(r.randrange(len(fits)), r.randrange(len(fits)))] if r.random() < 0.6 else r.choice(fits)

    def of(self, shape):
        """Something of this shape, made if need be."""
        found = self.pick(lambda s: s == shape)
        return found[0] if found and self.maker.random.random() < 0.9 else self.make(shape)

    def another(self, shape, than):
        """Something of this shape; in fusions not the same thing again, because StableHLO folds `or(x, x)` away."""
        for _ in range(4):
            found = self.of(shape)
            if found != than or not self.inside_fusion:
                break
        return found

    def make(self, shape):
        kind, rest = shape
        if kind == "tuple":
            return self.emit(shape, "tuple(" + ", ".join(self.of(s) for s in rest) + ")")
        if kind == "token":
            return self.emit(shape, "after-all()")
        r = self.maker.random
        if (r.random() < 0.3 or self.inside_fusion) and kind not in COMPLEX + ["pred"] and rest and not kind.endswith(("2", "4")):
            return self.emit(shape, f"iota(), iota_dimension={r.randrange(len(rest))}")
        value = "true" if kind == "pred" else "(3, 2)" if kind in COMPLEX else "1" if kind.endswith("2") else "3"
        scalar = self.emit((kind, ()), f"constant({value})")
        return scalar if not rest else self.emit(shape, f"broadcast({scalar}), dimensions={{}}")

    def prune(self):
        """Takes out what the last instruction does not need, as fusions must; gives the parameters that stay."""
        needed, lines = {self.lines[-1][0]}, []
        for name, line in reversed(self.lines):
            if name in needed:
                lines.append((name, line))
                needed.update(re.findall(r"\bi\d+\b", line))
        kept = []
        self.lines = []
        for name, line in reversed(lines):
            number = re.search(r" parameter\((\d+)\)", line)
            if number:
                line = line.replace(number[0], f" parameter({len(kept)})")
                kept.append(int(number[1]))
            self.lines.append((name, line))
        return kept

    def finish(self, shape=None, entry=False):
        """Closes the computation with a root (of this shape, if one is asked for)."""
        if shape is not None:
            root = self.of(shape)
            if root != self.lines[-1][0] and self.maker.random.random() < 0.3 and is_array(shape):
                root = self.emit(shape, f"copy({root})")
        else:
            root = self.lines[-1][0]
        shapes = dict(self.pool)
        text = [("ENTRY " if entry else "") + self.name + " {"]
        text += ["  " + ("ROOT " if name == root else "") + line for name, line in self.lines]
        self.maker.computations.append("\n".join(text + ["}"]))
        return shapes[root]


class Maker:
    """Writes one module."""

    def __init__(self, seed, kind):
        self.random = random.Random(f"{kind}-{seed}")
        self.seed, self.kind = seed, kind
        self.number = 0
        self.computations = []
        self.reducers = {}
        r = self.random
        types = r.sample(["f32"] + FLOATS + SIGNED + UNSIGNED + COMPLEX + ["pred"], 3) + ["f32", "s32"]
        extents = [r.choice([1, 2, 3, 4, 5, 8, 16, 33, 128]) for _ in range(2)] + ([0] if r.random() < 0.15 else [])
        self.shapes = []
        for _ in range(r.choice([1, 2, 3, 5])):
            self.shapes.append((r.choice(types), tuple(r.choice(extents) for _ in range(r.choice([0, 1, 1, 2, 2, 3])))))
        self.budget = r.choice([6, 12, 25, 60, 120])

    def fresh(self, prefix):
        self.number += 1
        return f"{prefix}{self.number}"

    def shape(self):
        return self.random.choice(self.shapes)

    def reducer(self, types, op="add"):
        """A computation that folds pairs of these types."""
        key = (tuple(types), op)
        # Sharing a reducer or having one each leads to different call graphs: both happen.
        if key in self.reducers and self.random.random() < 0.5:
            return self.reducers[key]
        n = len(types)
        body = Body(self, self.fresh("fold"), [(t, ()) for t in types] * 2, 99)
        names = [v[0] for v in body.pool]
        out = []
        for i, t in enumerate(types):
            o = "or" if t == "pred" else op
            out.append(body.emit((t, ()), f"{o}({names[i]}, {names[n + i]})"))
        shape = (types[0], ()) if n == 1 else ("tuple", [(t, ()) for t in types])
        if n > 1:
            body.emit(shape, "tuple(" + ", ".join(out) + ")")
        body.finish()
        self.reducers[key] = body.name
        return body.name

    def less(self, types):
        """A comparator: the first pair decides."""
        parameters = [(t, ()) for t in types for _ in range(2)]
        body = Body(self, self.fresh("less"), parameters, 99)
        a, b = body.pool[0][0], body.pool[1][0]
        body.emit(("pred", ()), f"compare({a}, {b}), direction=LT")
        body.finish()
        return body.name

    def module(self):
        r = self.random
        parameters = []
        for _ in range(r.choice([1, 1, 2, 3, 4])):
            parameters.append(self.shape())
        body = Body(self, "main", parameters, 0)
        self.fill(body, self.budget)
        outputs = [body.pick(is_array) for _ in range(r.choice([1, 2, 2, 3, 4]))]
        outputs = [o for o in outputs if o] or [body.pool[0]]
        # Something that no compiler can call ends the work right after the dump; machine code would take ten times as long.
        if r.random() < 0.95:
            n, s = body.pick(is_array) or body.pool[0]
            outputs.append((body.emit(s, f'custom-call({n}), custom_call_target="stop"'), s))
        # Two outputs in one buffer end the process after the dump; most modules therefore have distinct ones.
        if r.random() < 0.9:
            outputs = list(dict(outputs).items())
        outputs = [(body.emit(s, f"copy({n})"), s) if r.random() < 0.5 else (n, s) for n, s in outputs]
        root = ("tuple", [s for _, s in outputs])
        body.emit(root, "tuple(" + ", ".join(n for n, _ in outputs) + ")")
        body.finish(entry=True)
        alias, used = [], set()
        if len(outputs) > 1 and self.seed % 5 != 4 and r.random() < (0.8 if self.kind == "place" else 0.4):
            for i, (_, s) in enumerate(outputs):
                fits = [k for k, p in enumerate(parameters) if p == s and k not in used]
                if fits and r.random() < 0.7:
                    k = r.choice(fits)
                    used.add(k)
                    alias.append(f"{{{i}}}: ({k}, {{}}, {r.choice(['may-alias', 'must-alias'])})")
        head = f"HloModule {self.kind.replace('-', '_')}_{self.seed}"
        if alias:
            head += ", input_output_alias={ " + ", ".join(alias) + " }"
        return head + "\n\n" + "\n\n".join(self.computations) + "\n"

    def fill(self, body, budget):
        weights = WEIGHTS[self.kind]
        names = list(weights)
        end = len(body.lines) + budget
        while len(body.lines) < end:
            group = self.random.choices(names, [weights[n] for n in names])[0]
            if body.inside_fusion and group in ("flow", "odd"):
                group = "elementwise"
            getattr(self, group)(body)

    # Groups of operations. Each adds a few instructions to `body`, or nothing if nothing fits.

    def data(self, b):
        """Operations that move data and change shapes."""
        r = self.random
        v = b.pick(is_array)
        if not v:
            b.make(self.shape())
            return
        n, (t, dims) = v
        op = r.choice(["reshape", "transpose", "slice", "concatenate", "pad", "reverse", "reduce", "broadcast",
                       "dynamic-slice", "dot", "copy", "bitcast", "reduce-window", "gather", "convert"])
        if op == "reshape" and dims:
            b.emit((t, (count((t, dims)),)), f"reshape({n})")
        elif op == "transpose" and len(dims) > 1:
            p = list(range(len(dims)))
            r.shuffle(p)
            b.emit((t, tuple(dims[i] for i in p)), f"transpose({n}), dimensions={{{','.join(map(str, p))}}}")
        elif op == "slice" and dims:
            cut = [(0, d) if r.random() < 0.5 else (d // 2, d) for d in dims]
            b.emit((t, tuple(e - s for s, e in cut)),
                   f"slice({n}), slice={{{', '.join(f'[{s}:{e}]' for s, e in cut)}}}")
        elif op == "concatenate" and dims:
            k = r.randrange(len(dims))
            others = [b.of((t, dims)) for _ in range(r.choice([1, 1, 2]))]
            out = tuple(d * (1 + len(others)) if i == k else d for i, d in enumerate(dims))
            b.emit((t, out), f"concatenate({', '.join([n, *others])}), dimensions={{{k}}}")
        elif op == "pad" and dims:
            z = b.of((t, ()))
            b.emit((t, tuple(d + 3 for d in dims)), f"pad({n}, {z}), padding={'x'.join('1_2' for _ in dims)}")
        elif op == "reverse" and dims:
            b.emit((t, dims), f"reverse({n}), dimensions={{{r.randrange(len(dims))}}}")
        elif op == "reduce" and dims:
            k = r.randrange(len(dims))
            z = b.of((t, ()))
            b.emit((t, dims[:k] + dims[k + 1:]), f"reduce({n}, {z}), dimensions={{{k}}}, to_apply={self.reducer([t])}")
        elif op == "broadcast" and len(dims) < 3:
            b.emit((t, dims + (3,)), f"broadcast({n}), dimensions={{{','.join(map(str, range(len(dims))))}}}")
        elif op == "dynamic-slice" and dims:
            at = [b.of(("s32", ())) for _ in dims]
            size = tuple(max(d // 2, min(d, 1)) for d in dims)
            b.emit((t, size), f"dynamic-slice({n}, {', '.join(at)}), dynamic_slice_sizes={{{','.join(map(str, size))}}}")
        elif op == "dot" and len(dims) == 2 and t in ("f32", "f64", "bf16", "f16", "c64", "s32"):
            m = b.of((t, (dims[1], dims[0])))
            b.emit((t, (dims[0], dims[0])), f"dot({n}, {m}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}")
        elif op == "copy":
            b.emit((t, dims), f"copy({n})")
        elif op == "bitcast":
            b.emit((t, (count((t, dims)),)), f"bitcast({n})")
        elif op == "reduce-window" and dims:
            z = b.of((t, ()))
            window = "x".join("1" for _ in dims)
            b.emit((t, dims), f"reduce-window({n}, {z}), window={{size={window}}}, to_apply={self.reducer([t])}")
        elif op == "gather" and len(dims) == 2 and count((t, dims)):
            at = b.of(("s32", (4, 1)))
            b.emit((t, (4, dims[1])), f"gather({n}, {at}), offset_dims={{1}}, collapsed_slice_dims={{0}}, "
                   f"start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,{dims[1]}}}")
        elif op == "convert":
            to = r.choice(self.shapes)[0]
            if t in COMPLEX and to not in COMPLEX:
                to = "c128"
            b.emit((to, dims), f"convert({n})")

    def elementwise(self, b):
        r = self.random
        v = b.pick(is_array)
        if not v:
            b.make(self.shape())
            return
        n, s = v
        t = s[0]
        if t == "pred":
            op = r.choice(["not", "and", "or", "xor", "select"])
            if op == "not":
                b.emit(s, f"not({n})")
            elif op == "select":
                other = (self.shape()[0], s[1])
                first = b.of(other)
                b.emit(other, f"select({n}, {first}, {b.another(other, first)})")
            else:
                b.emit(s, f"{op}({n}, {b.another(s, n)})")
            return
        if r.random() < 0.4:
            some = ["negate", "copy"]
            if t in FLOATS:
                some += ["exponential", "tanh", "sqrt", "floor", "sine", "logistic", "abs", "sign", "erf", "tan",
                         "reduce-precision"]
            elif t in SIGNED:
                some += ["abs", "not", "popcnt", "sign", "count-leading-zeros"]
            elif t in UNSIGNED:
                some += ["not", "popcnt", "count-leading-zeros"]
            op = r.choice(some)
            extra = ", exponent_bits=5, mantissa_bits=3" if op == "reduce-precision" else ""
            b.emit(s, f"{op}({n}){extra}")
        elif r.random() < 0.8:
            op = r.choice(["add", "subtract", "multiply"] + ([] if t in COMPLEX else ["maximum", "minimum"]))
            b.emit(s, f"{op}({n}, {b.another(s, n) if r.random() < 0.8 or b.inside_fusion else n})")
        elif r.random() < 0.5 and t not in COMPLEX:
            b.emit(("pred", s[1]), f"compare({n}, {b.another(s, n)}), direction={r.choice(['EQ', 'LT', 'GE', 'NE'])}")
        elif t in COMPLEX:
            b.emit(("f32" if t == "c64" else "f64", s[1]), f"{r.choice(['real', 'imag'])}({n})")
        else:
            b.emit(s, f"clamp({b.of(s)}, {n}, {b.of(s)})")

    def tuples(self, b):
        r = self.random
        nested = b.pick(lambda s: s[0] == "tuple" and s[1])
        if nested and r.random() < 0.6:
            i = r.randrange(len(nested[1][1]))
            b.emit(nested[1][1][i], f"get-tuple-element({nested[0]}), index={i}")
        elif not b.inside_fusion:
            parts = [b.pick(lambda s: s[0] != "token") for _ in range(r.choice([1, 2, 3, 7]))]
            parts = [p for p in parts if p] or [(b.make(self.shape()), b.pool[-1][1])]
            b.emit(("tuple", [s for _, s in parts]), "tuple(" + ", ".join(n for n, _ in parts) + ")")
            if r.random() < 0.15:
                n, s = b.pool[-1]
                b.emit(s, f"{r.choice(['opt-barrier', 'copy'])}({n})")

    def flow(self, b):
        r = self.random
        if b.depth > 3 or self.number > 700:
            return
        op = r.choice(["while", "while", "conditional", "conditional", "switch", "call", "call"])
        size = r.choice([1, 3, 6, 12])
        if op == "while":
            parts = [b.pick(lambda s: s[0] != "token") for _ in range(r.choice([0, 1, 2, 3]))]
            parts = [("", ("s32", ()))] + [p for p in parts if p]
            state = ("tuple", [s for _, s in parts])
            start = b.emit(state, "tuple(" + ", ".join(n or b.of(s) for n, s in parts) + ")")
            if r.random() < 0.3:
                start = b.emit(state, f"copy({start})")
            condition = Body(self, self.fresh("cond"), [state], b.depth + 1)
            if r.random() < 0.3:
                self.fill(condition, 2)
            i = condition.emit(("s32", ()), f"get-tuple-element({condition.pool[0][0]}), index=0")
            bound = condition.emit(("s32", ()), "constant(3)")
            condition.emit(("pred", ()), f"compare({i}, {bound}), direction=LT")
            condition.finish()
            body = Body(self, self.fresh("body"), [state], b.depth + 1)
            elements = []
            for k, s in enumerate(state[1]):
                elements.append(body.emit(s, f"get-tuple-element({body.pool[0][0]}), index={k}"))
            self.fill(body, size)
            # Some of the state passes through, perhaps to another place.
            out = [n if r.random() < 0.4 else body.of(s) for n, s in zip(elements, state[1])]
            if r.random() < 0.1:
                body.finish(state)
            else:
                body.emit(state, "tuple(" + ", ".join(out) + ")")
                body.finish()
            n = b.emit(state, f"while({start}), condition={condition.name}, body={body.name}")
            for k, s in enumerate(state[1]):
                if r.random() < 0.7:
                    b.emit(s, f"get-tuple-element({n}), index={k}")
        elif op in ("conditional", "switch"):
            branches = 2 if op == "conditional" else r.choice([1, 2, 3, 4])
            result = self.shape() if r.random() < 0.4 else ("tuple", [self.shape() for _ in range(r.choice([1, 2, 3]))])
            if r.random() < 0.2:
                result = ("tuple", [result, self.shape()])
            names, operands = [], []
            for _ in range(branches):
                if names and r.random() < 0.15:
                    names.append(names[-1])
                    operands.append(b.of(shape))
                    continue
                operand, shape = b.pick(lambda s: s[0] != "token") or (b.make(self.shapes[0]), self.shapes[0])
                operands.append(operand)
                branch = Body(self, self.fresh("branch"), [shape], b.depth + 1)
                self.fill(branch, size)
                branch.finish(result)
                names.append(branch.name)
            if op == "conditional":
                selector = b.of(("pred", ()))
                right = (f"conditional({selector}, {operands[0]}, {operands[1]}), "
                         f"true_computation={names[0]}, false_computation={names[1]}")
            else:
                selector = b.of(("s32", ()))
                right = f"conditional({selector}, {', '.join(operands)}), branch_computations={{{', '.join(names)}}}"
            n = b.emit(result, right)
            if result[0] == "tuple":
                k = r.randrange(len(result[1]))
                b.emit(result[1][k], f"get-tuple-element({n}), index={k}")
        else:
            operands = [b.pick(lambda s: s[0] != "token") for _ in range(r.choice([0, 1, 2, 3]))]
            operands = [o for o in operands if o]
            callee = Body(self, self.fresh("callee"), [s for _, s in operands], b.depth + 1)
            self.fill(callee, size)
            last = callee.pool[-1][1] if callee.pool else ("tuple", [])
            fine = last[0] != "tuple" or last[1]
            shape = callee.finish(None if fine and callee.lines and r.random() < 0.5 else self.shape())
            for _ in range(r.choice([1, 1, 1, 2])):
                b.emit(shape, f"call({', '.join(n for n, _ in operands)}), to_apply={callee.name}")

    def fusion(self, b):
        r = self.random
        operands = [b.pick(is_array) for _ in range(r.choice([1, 1, 2, 3, 4]))]
        operands = [o for o in operands if o]
        if not operands or b.inside_fusion and b.depth > 2:
            return
        body = Body(self, self.fresh("fused"), [s for _, s in operands], b.depth + 1, inside_fusion=True)
        for _ in range(r.choice([1, 1, 2, 4, 8])):
            r.choice([self.elementwise, self.elementwise, self.data, self.place])(body)
        arrays = [(n, s) for n, s in body.pool if is_array(s)]
        kind = r.choice(["kLoop", "kLoop", "kLoop", "kInput", "kOutput", "kCustom"])
        if kind == "kOutput" and r.random() < 0.7:
            two = [s for _, s in arrays if len(s[1]) == 2 and s[0] in ("f32", "f64")]
            if two:
                t, (x, y) = r.choice(two)
                d = body.emit((t, (x, x)), f"dot({body.of((t, (x, y)))}, {body.of((t, (y, x)))}), "
                              "lhs_contracting_dims={1}, rhs_contracting_dims={0}")
                pair = [d, body.of((t, (x, x)))]
                r.shuffle(pair)
                body.emit((t, (x, x)), f"add({pair[0]}, {pair[1]})")
        elif r.random() < 0.4:
            outs = [r.choice(arrays[len(operands):] or arrays) for _ in range(r.choice([1, 2, 3]))]
            body.emit(("tuple", [s for _, s in outs]), "tuple(" + ", ".join(n for n, _ in outs) + ")")
        kept = body.prune()
        operands = [operands[k] for k in kept]
        shape = body.finish()
        alias = ""
        if r.random() < 0.15 and operands and shape == operands[0][1]:
            alias = ", output_to_operand_aliasing={{}: (0, {})}"
        n = b.emit(shape, f"fusion({', '.join(n for n, _ in operands)}), kind={kind}, calls={body.name}{alias}")
        if shape[0] == "tuple":
            for k, s in enumerate(shape[1]):
                if r.random() < 0.8:
                    b.emit(s, f"get-tuple-element({n}), index={k}")

    def place(self, b):
        """Operations that write into their operands."""
        r = self.random
        v = b.pick(is_array)
        if not v:
            return
        n, (t, dims) = v
        op = r.choice(["dus", "dus", "scatter", "scatter2", "custom", "custom2", "sort", "triangular"])
        if b.inside_fusion and op.startswith("custom"):
            op = "dus"
        if op == "dus" and dims:
            small = (t, tuple(max(d // 2, min(d, 1)) for d in dims))
            at = [b.of(("s32", ())) for _ in dims]
            b.emit((t, dims), f"dynamic-update-slice({n}, {b.of(small)}, {', '.join(at)})")
        elif op == "scatter" and len(dims) == 2 and count((t, dims)):
            at, updates = b.of(("s32", (4, 1))), b.of((t, (4, dims[1])))
            b.emit((t, dims), f"scatter({n}, {at}, {updates}), update_window_dims={{1}}, inserted_window_dims={{0}}, "
                   f"scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={self.reducer([t])}")
        elif op == "scatter2" and len(dims) == 1 and count((t, dims)) and not b.inside_fusion:
            m = b.of((t, dims))
            at = b.of(("s32", (4, 1)))
            u = [b.of((t, (4,))), b.of((t, (4,)))]
            s = ("tuple", [(t, dims)] * 2)
            x = b.emit(s, f"scatter({n}, {m}, {at}, {u[0]}, {u[1]}), update_window_dims={{}}, inserted_window_dims={{0}}, "
                       f"scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={self.reducer([t, t])}")
            b.emit((t, dims), f"get-tuple-element({x}), index={r.randrange(2)}")
        elif op == "custom":
            m, s = b.pick(is_array)
            right = f"custom-call({n}, {m}), custom_call_target=\"f{r.randrange(9)}\""
            if r.random() < 0.7:
                right += ", output_to_operand_aliasing={{}: (0, {})}"
            b.emit((t, dims), right)
        elif op == "custom2":
            m, s = b.pick(is_array)
            out = ("tuple", [s, (t, dims), (t, dims)])
            alias = r.choice(["{0}: (1, {})", "{1}: (0, {})", "{0}: (1, {}), {1}: (0, {})"])
            if r.random() < 0.3:
                pack = b.emit(("tuple", [(t, dims), s]), f"tuple({n}, {m})")
                out = ("tuple", [s, (t, dims)])
                right = (f"custom-call({pack}), custom_call_target=\"g\", "
                         "output_to_operand_aliasing={{0}: (0, {1}), {1}: (0, {0})}")
            else:
                right = f"custom-call({n}, {m}), custom_call_target=\"g\", output_to_operand_aliasing={{{alias}}}"
            x = b.emit(out, right)
            k = r.randrange(len(out[1]))
            b.emit(out[1][k], f"get-tuple-element({x}), index={k}")
        elif op == "sort" and dims and t not in COMPLEX and not b.inside_fusion:
            k = r.randrange(len(dims))
            others = [b.of((self.shape()[0], dims)) for _ in range(r.choice([0, 0, 1, 2, 4]))]
            shapes = dict(b.pool)
            kinds = [t] + [shapes[o][0] for o in others]
            if any(x in COMPLEX for x in kinds[:1]):
                return
            s = (t, dims) if not others else ("tuple", [(x, dims) for x in kinds])
            x = b.emit(s, f"sort({', '.join([n, *others])}), dimensions={{{k}}}, to_apply={self.less(kinds)}")
            if others:
                k = r.randrange(len(kinds))
                b.emit((kinds[k], dims), f"get-tuple-element({x}), index={k}")
        elif op == "triangular" and len(dims) == 2 and t in ("f32", "f64") and not b.inside_fusion:
            a = b.of((t, (dims[0], dims[0])))
            b.emit((t, dims), f"triangular-solve({a}, {n}), left_side=true, lower=true, transpose_a=NO_TRANSPOSE")

    def odd(self, b):
        """What real programs rarely have."""
        r = self.random
        v = b.pick(is_array)
        if not v:
            return
        n, s = v
        t, dims = s
        op = r.choice(["token", "all-reduce", "all-reduce2", "permute", "gather", "all-to-all", "dynamic", "map",
                       "rng", "dependency", "cholesky", "fft", "select-and-scatter", "topk", "ids", "conv",
                       "barrier", "outfeed", "bits", "copy-pair", "reduce2", "batch-norm", "update-size"])
        if op == "token":
            tokens = [b.of(("token", ())) for _ in range(r.choice([1, 2]))]
            b.emit(("token", ()), f"after-all({', '.join(tokens)})")
        elif op == "all-reduce":
            b.emit(s, f"all-reduce({n}), replica_groups={{}}, to_apply={self.reducer([t])}")
        elif op == "all-reduce2":
            m, q = b.pick(lambda x: is_array(x) and x[0] == t)
            x = b.emit(("tuple", [s, q]), f"all-reduce({n}, {m}), replica_groups={{}}, to_apply={self.reducer([t])}")
            b.emit(q, f"get-tuple-element({x}), index=1")
        elif op == "permute":
            b.emit(s, f"collective-permute({n}), source_target_pairs={{{{0,0}}}}")
        elif op == "gather" and dims:
            b.emit(s, f"all-gather({n}), replica_groups={{}}, dimensions={{0}}")
        elif op == "all-to-all":
            if dims:
                b.emit(s, f"all-to-all({n}), replica_groups={{{{0}}}}, dimensions={{0}}")
        elif op == "dynamic" and dims and dims[0]:
            z = b.of(("s32", ()))
            body = f"{t}[<={','.join(map(str, dims))}]"
            x = self.fresh("i")
            b.lines.append((x, f"{x} = {body} set-dimension-size({n}, {z}), dimensions={{0}}"))
            y = b.emit(("s32", ()), f"get-dimension-size({x}), dimensions={{0}}")
            del y
        elif op == "map" and t not in COMPLEX + ["pred"]:
            body = Body(self, self.fresh("each"), [(t, ())], 99)
            body.emit((t, ()), f"negate({body.pool[0][0]})")
            body.finish()
            b.emit(s, f"map({n}), dimensions={{{','.join(map(str, range(len(dims))))}}}, to_apply={body.name}")
        elif op == "rng" and t in ("f32", "f64"):
            lo, hi = b.of((t, ())), b.of((t, ()))
            b.emit(s, f"rng({lo}, {hi}), distribution=rng_uniform")
        elif op == "dependency":
            b.emit(s, f"add-dependency({n}, {b.of(('token', ()))})")
        elif op == "cholesky" and len(dims) == 2 and t in ("f32", "f64", "c64"):
            b.emit((t, (dims[0], dims[0])), f"cholesky({b.of((t, (dims[0], dims[0])))}), lower=true")
        elif op == "fft" and t == "c64" and dims:
            b.emit(s, f"fft({n}), fft_type=FFT, fft_length={{{dims[-1]}}}")
        elif op == "select-and-scatter" and len(dims) == 1 and t == "f32":
            z = b.of((t, ()))
            pick = Body(self, self.fresh("pick"), [(t, ())] * 2, 99)
            pick.emit(("pred", ()), f"compare({pick.pool[0][0]}, {pick.pool[1][0]}), direction=GE")
            pick.finish()
            b.emit(s, f"select-and-scatter({n}, {b.of(s)}, {z}), window={{size=1}}, select={pick.name}, "
                   f"scatter={self.reducer([t])}")
        elif op == "topk" and len(dims) == 2 and t == "f32" and dims[1] > 1:
            out = ("tuple", [(t, (dims[0], 1)), ("s32", (dims[0], 1))])
            x = b.emit(out, f"topk({n}), k=1, largest=true")
            b.emit(out[1][0], f"get-tuple-element({x}), index=0")
        elif op == "ids":
            b.emit(("u32", ()), r.choice(["partition-id()", "replica-id()"]))
        elif op == "conv" and len(dims) == 3 and t in ("f32", "f16", "f64"):
            w = b.of((t, (3, dims[2], 2)))
            if dims[1] >= 3:
                b.emit((t, (dims[0], dims[1] - 2, 2)), f"convolution({n}, {w}), window={{size=3}}, dim_labels=b0f_0io->b0f")
        elif op == "barrier":
            x = b.pick(lambda q: q[0] == "tuple")
            if x:
                b.emit(x[1], f"opt-barrier({x[0]})")
        elif op == "outfeed" and b.depth == 0:
            data, token = b.of(("tuple", [s])), b.of(("token", ()))
            b.emit(("token", ()), f"outfeed({data}, {token})")
        elif op == "bits":
            state = b.of(("u64", (2,)))
            x = b.emit(("tuple", [("u64", (2,)), ("u32", (8,))]), f"rng-bit-generator({state}), algorithm=rng_philox")
            b.emit(("u32", (8,)), f"get-tuple-element({x}), index=1")
        elif op == "copy-pair":
            x = b.emit(("tuple", [s, s, ("u32", ())]), f"copy-start({n})")
            b.pool.pop()
            for _ in range(r.choice([0, 1, 3])):
                self.elementwise(b)
            b.emit(s, f"copy-done({x})")
        elif op == "reduce2" and dims:
            m = b.of(("s32", dims))
            types = [t, "s32"]
            z = [b.of((x, ())) for x in types]
            k = r.randrange(len(dims))
            less = dims[:k] + dims[k + 1:]
            out = ("tuple", [(x, less) for x in types])
            x = b.emit(out, f"reduce({n}, {m}, {z[0]}, {z[1]}), dimensions={{{k}}}, to_apply={self.reducer(types)}")
            b.emit(out[1][1], f"get-tuple-element({x}), index=1")
        elif op == "batch-norm" and len(dims) == 2 and t == "f32":
            one = (t, (dims[1],))
            out = ("tuple", [s, one, one])
            x = b.emit(out, f"batch-norm-training({n}, {b.of(one)}, {b.of(one)}), epsilon=0.001, feature_index=1")
            b.emit(s, f"get-tuple-element({x}), index=0")
        elif op == "update-size" and dims:
            b.emit(("s32", ()), f"get-dimension-size({n}), dimensions={{0}}")


WORKER = r"""
import os, sys
import jax
from jaxlib import _hlo, _jax
from jax._src.lib import xla_client as xc

def work():
    device = jax.devices()[0]
    for line in sys.stdin:
        name, tupled = line.split()
        try:
            module = _hlo.hlo_module_from_text(open(name + '.hlo').read())
            mlir = _jax.mlir.xla_computation_to_mlir_module(_hlo.XlaComputation(module.as_serialized_hlo_module_proto()))
            options = xc.CompileOptions()
            options.parameter_is_tupled_arguments = tupled == '1'
            device.client.compile_and_load(mlir, xc.DeviceList((device,)), options)
            print('compiled', flush=True)
        except Exception as error:
            print('stopped ' + ' '.join(str(error).split())[:300], flush=True)

# The compiler works in a copy of this process, made before it has threads; a new copy costs nothing when one ends.
while True:
    copy = os.fork()
    if copy == 0:
        work()
        os._exit(0)
    status = os.waitpid(copy, 0)[1]
    if status == 0:
        break
    print('died', flush=True)
"""


class Worker:
    """A compiler in a process of its own."""

    def __init__(self, extra=""):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="oracle-"))
        self.log = (self.folder / "log").open("a+")
        env = dict(
            os.environ, JAX_PLATFORMS="cpu", TF_CPP_MIN_LOG_LEVEL="0", TF_CPP_VMODULE="buffer_assignment=9",
            XLA_FLAGS=f"--xla_dump_to={self.folder}/d --xla_dump_hlo_as_text --xla_dump_hlo_as_proto "
                      "--xla_dump_buffer_assignment_analysis --xla_disable_all_hlo_passes=true "
                      f"--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1 {extra}")
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER], cwd=self.folder, env=env, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.log)

    def compile(self, name, text, tupled=False):
        """Gives what became of it: `compiled`, `stopped ...` or `died`."""
        (self.folder / f"{name}.hlo").write_text(text)
        self.log.seek(0)
        self.log.truncate()
        self.process.stdin.write(f"{name} {int(tupled)}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def clear(self):
        """Forgets the dumps so far."""
        shutil.rmtree(self.folder / "d", ignore_errors=True)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--from", dest="first", type=int, default=0)
    arguments.add_argument("--count", type=int, default=100)
    arguments.add_argument("--kinds", default=",".join(KINDS))
    arguments.add_argument("--seconds", type=float, default=float("inf"))
    arguments.add_argument("--flags", default="", help="more XLA flags")
    args = arguments.parse_args()
    worker, kept, refused, end = Worker(args.flags), 0, {}, time.time() + args.seconds
    for seed in range(args.first, args.first + args.count):
        for kind in args.kinds.split(","):
            if time.time() > end:
                break
            name = f"{kind}_{seed}"
            if (args.out / name).exists():
                continue
            text = Maker(seed, kind).module()
            said = worker.compile(name, text, tupled=seed % 5 == 4)
            if collect(worker.folder / "d", name, args.out / name):
                kept += 1
                worker.log.seek(0)
                log = worker.log.read()
                events = "\n".join(events_of(log.splitlines(), name))
                (args.out / name / "events.jsonl.gz").write_bytes(gzip.compress((events + "\n").encode(), 9, mtime=0))
            else:
                worker.log.seek(0)
                fatal = [line for line in worker.log if line.startswith("F")]
                said_more = re.sub(r"%?i\d+(\.\d+)*", "i", (said + " " + " ".join(fatal)[22:])[:220])
                refused[said_more] = refused.get(said_more, 0) + 1
            worker.clear()
    worker.close()
    print(f"{kept} modules; {sum(refused.values())} without dumps")
    for reason, n in sorted(refused.items(), key=lambda item: -item[1])[:25]:
        print(f"  {n:5} {reason}")


if __name__ == "__main__":
    main()
