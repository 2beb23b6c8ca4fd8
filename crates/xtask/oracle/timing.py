"""How long XLA takes for what we do: compiles transformers' training steps of several depths for the CPU.

Prints JSON: for each number of layers the time between `Assigning buffers` and `Buffer assignment done.` in XLA's own log,
how fast jaxlib reads the module's text, and where that text is.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time
from datetime import datetime

parser = argparse.ArgumentParser()
parser.add_argument("out", type=pathlib.Path)
parser.add_argument("--layers", default="12,24,48")
parser.add_argument("--compile", type=int, help="what the program calls itself with")
arguments = parser.parse_args()


def compile_step(layers):
    import jax
    import jax.numpy as jnp

    width, heads, inner, words, batch, length = 128, 4, 512, 512, 2, 64

    def norm(x, gain):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain

    def layer(weights, x):
        parts = jnp.split(norm(x, weights["first"]) @ weights["qkv"], 3, -1)
        query, key, value = (
            p.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3) for p in parts
        )
        scores = query @ key.transpose(0, 1, 3, 2) / (width // heads) ** 0.5
        mask = jnp.tril(jnp.ones((length, length), bool))
        mixed = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1) @ value
        x = x + mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ weights["out"]
        return x + jax.nn.gelu(norm(x, weights["second"]) @ weights["up"]) @ weights["down"]

    def loss(stack, table, tokens):
        x = table[tokens[:, :-1]]
        for weights in stack:
            x = layer(weights, x)
        guesses = jax.nn.log_softmax(x @ table.T)
        return -jnp.take_along_axis(guesses, tokens[:, 1:, None], -1).mean()

    def step(stack, table, momentum, tokens):
        value, gradient = jax.value_and_grad(loss, (0, 1))(stack, table, tokens)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
        stack, table = jax.tree.map(lambda w, m: w - 1e-3 * m, (stack, table), momentum)
        return stack, table, momentum, value

    def shaped(*dims):
        return jax.ShapeDtypeStruct(dims, jnp.float32)

    weights = {
        "first": shaped(width),
        "second": shaped(width),
        "qkv": shaped(width, 3 * width),
        "out": shaped(width, width),
        "up": shaped(width, inner),
        "down": shaped(inner, width),
    }
    stack, table = [weights] * layers, shaped(words, width)
    tokens = jax.ShapeDtypeStruct((batch, length + 1), jnp.int32)
    jax.jit(step, donate_argnums=(0, 1, 2)).lower(stack, table, (stack, table), tokens).compile()


def span(log):
    """Seconds between the two lines; the longest span is the program's own."""
    stamp = re.compile(r"^I\d{4} (\d\d:\d\d:\d\d\.\d+).*(Assigning buffers to module|Buffer assignment done)", re.M)
    begun, longest = None, 0.0
    for at, what in stamp.findall(log):
        at = datetime.strptime(at, "%H:%M:%S.%f")
        if what.startswith("Assigning"):
            begun = at
        elif begun is not None:
            longest = max(longest, (at - begun).total_seconds() % 86400)
            begun = None
    return longest


if arguments.compile is not None:
    compile_step(arguments.compile)
    sys.exit()

from jaxlib import _hlo

result = []
for layers in map(int, arguments.layers.split(",")):
    folder = arguments.out / str(layers)
    environment = os.environ | {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_dump_to={folder} --xla_dump_hlo_as_text",
        "TF_CPP_VMODULE": "buffer_assignment=1",
        "TF_CPP_MIN_LOG_LEVEL": "0",
    }
    command = [sys.executable, __file__, str(folder), "--compile", str(layers)]
    log = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stderr
    texts = sorted(folder.glob("*jit_step*after_optimizations.txt"))
    text = texts[-1].read_text()
    times = []
    for _ in range(3):
        started = time.perf_counter()
        _hlo.hlo_module_from_text(text)
        times.append(time.perf_counter() - started)
    result.append(
        {
            "layers": layers,
            "text": str(texts[-1]),
            "assignment_seconds": span(log),
            "reading_mb_per_second": len(text.encode()) / 1e6 / sorted(times)[1],
        }
    )
json.dump(result, sys.stdout, indent=1)
