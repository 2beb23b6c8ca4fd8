"""The package as it is installed from its wheel, with a real JAX on the CPU. `cargo xtask notebooks` runs these."""

import _thread
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import bufferscope
from bufferscope import BadInput, BufferscopeError, NotScheduled, Remark, _command

#: The command as it was built for this machine.
NATIVE = os.environ["BUFFERSCOPE_COMMAND"]

Array = jax.Array


def mlp(x: Array, w1: Array, w2: Array) -> Array:
    return jnp.sum(jnp.tanh(x @ w1) @ w2)


def attention(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(q @ k.T / 8.0) @ v


def scan(x: Array, w: Array) -> Array:
    def body(h: Array, _: None) -> tuple[Array, Array]:
        h = jnp.tanh(h @ w)
        return h, h.sum()

    return jax.lax.scan(body, x, None, length=12)[1]


def branches(x: Array, flag: Array) -> Any:
    return jax.lax.cond(flag > 0, lambda y: jnp.sort(y, axis=0) @ y, lambda y: y * 2.0, x)


def update(w: Array, x: Array) -> tuple[Array, Array]:
    return w - 0.1 * (x.T @ (x @ w)), x.sum()


def shape(*sizes: int) -> Any:
    return jax.ShapeDtypeStruct(sizes, jnp.float32)  # type: ignore[no-untyped-call]


COMPILED: dict[str, Callable[[], Any]] = {
    "mlp": lambda: jax.jit(jax.grad(mlp, argnums=(1, 2))).lower(shape(64, 128), shape(128, 256), shape(256, 64)),
    "attention": lambda: jax.jit(attention).lower(shape(256, 64), shape(256, 64), shape(256, 64)),
    "scan": lambda: jax.jit(scan).lower(shape(32, 64), shape(64, 64)),
    "branches": lambda: jax.jit(branches).lower(shape(64, 64), shape()),
    "donated": lambda: jax.jit(update, donate_argnums=0).lower(shape(64, 64), shape(32, 64)),
}


@pytest.fixture(scope="module", params=COMPILED)
def compiled(request: pytest.FixtureRequest) -> Any:
    return COMPILED[request.param]().compile()


@pytest.fixture(params=["wasm", "native"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "native":
        monkeypatch.setenv("BUFFERSCOPE", NATIVE)
    else:
        monkeypatch.delenv("BUFFERSCOPE", raising=False)
        assert isinstance(_command.engine(), _command.Wasm)
    yield request.param


def test_the_sizes_are_those_that_xla_itself_tells(compiled: Any, engine: str) -> None:
    peak, stats = bufferscope.peak(compiled), compiled.memory_analysis()
    assert peak.temp_bytes == stats.temp_size_in_bytes
    assert peak.owners["argument"] == stats.argument_size_in_bytes
    # What an argument was given up for is counted with the argument.
    assert peak.owners["output"] == stats.output_size_in_bytes - stats.alias_size_in_bytes
    assert peak.data["source"] == "ours"
    assert f"{peak.allocated_bytes:,} B" in peak.words
    assert sum(value.size or 0 for value in peak.values) >= max((value.size or 0 for value in peak.values), default=0)


def test_both_engines_answer_alike(compiled: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers = []
    for named in (None, NATIVE):
        if named:
            monkeypatch.setenv("BUFFERSCOPE", named)
        page = bufferscope.report(compiled, tmp_path / "report.html").read_bytes()
        peak = bufferscope.peak(compiled)
        names = [value.name for value in peak.values[:2]]
        told = bufferscope.explain(compiled, *names).data if len(names) == 2 else None
        answers.append((page, peak.data, peak.words, told, bufferscope.run("advise", compiled).stdout))
    assert answers[0] == answers[1]
    assert b'id="bufferscope-program"' in answers[0][0]


def test_the_report_is_the_commands_own(engine: str, tmp_path: Path) -> None:
    text = COMPILED["mlp"]().compile().as_text()
    (tmp_path / "jit_mlp.txt").write_text(text)
    shell = Path(bufferscope.__file__).parent / "data" / "report-shell.html"
    theirs = tmp_path / "theirs.html"
    subprocess.run([NATIVE, "report", tmp_path / "jit_mlp.txt", "-o", theirs, "--shell", shell], check=True)
    # Given as text, as a path from elsewhere, and as a path from where one is.
    here = Path.cwd()
    for given in (text, tmp_path / "jit_mlp.txt", os.path.relpath(tmp_path / "jit_mlp.txt", here)):
        assert bufferscope.report(given, tmp_path / "ours.html").read_bytes() == theirs.read_bytes(), given


def test_two_values_of_a_program(engine: str) -> None:
    compiled = COMPILED["mlp"]().compile()
    values = bufferscope.peak(compiled).values
    assert len(values) >= 2
    told = bufferscope.explain(compiled, values[0].name, values[1].name)
    # Both are alive at the peak, at different bytes.
    assert not told.shares
    assert told.a.name == values[0].name and told.a.size == values[0].size
    assert values[0].name in told.words and "do not share" in told.words
    with pytest.raises(BadInput, match=r"nobody"):
        bufferscope.explain(compiled, values[0].name, "nobody")


def test_whether_it_fits(engine: str) -> None:
    compiled = COMPILED["mlp"]().compile()
    assert bufferscope.peak(compiled, limit="1GiB").fits is True
    assert bufferscope.peak(compiled, limit=1024).fits is False
    with pytest.raises(BadInput, match="a lot"):
        bufferscope.peak(compiled, limit="a lot")


def test_what_is_not_compiled_yet(engine: str) -> None:
    lowered = COMPILED["mlp"]()
    with pytest.warns(NotScheduled, match=r"before XLA optimises it: .*; call \.compile\(\) on it") as caught:
        lab = bufferscope.Lab(lowered)
    assert caught[0].filename == __file__
    assert lab.name == "jit_mlp"
    with pytest.warns(NotScheduled), pytest.warns(Remark, match=r"^jit_mlp\.txt: the module has no schedule") as caught:
        bufferscope.peak(lowered)
    assert {warning.filename for warning in caught} == {__file__}
    jitted = jax.jit(mlp)
    for given in (jitted, jitted.trace(shape(8, 8), shape(8, 8), shape(8, 8))):
        with pytest.raises(TypeError, match="is not compiled yet; give what"):
            bufferscope.peak(given)  # type: ignore[arg-type]
    # StableHLO, which is what `lowered.as_text()` gives, the reader names.
    with pytest.raises(BadInput, match="MLIR"):
        bufferscope.peak(lowered.as_text())


def test_an_error_has_the_engines_words_with_line_and_column(engine: str) -> None:
    broken = "HloModule broken, is_scheduled=true\n\nENTRY main {\n  ROOT n = f32[4]{0} negate(p)\n}\n"
    with pytest.raises(BadInput, match=r"^broken\.txt:4:29: the operand `p`, expected an instruction from above"):
        bufferscope.explain(broken, "n", "n")
    with pytest.raises(BadInput, match="--help"):
        bufferscope.explain(COMPILED["mlp"]().compile(), "--help", "-x")


DUMP = """
import jax, jax.numpy as jnp
jax.jit(lambda x: jnp.tanh(x @ x) @ x).lower(jax.ShapeDtypeStruct((64, 64), jnp.float32)).compile()
jax.jit(lambda x: jnp.sort(x)[::-1] * 2.0).lower(jax.ShapeDtypeStruct((512,), jnp.float32)).compile()
"""


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dump")
    flags = f"--xla_dump_to={folder} --xla_dump_hlo_as_text --xla_dump_hlo_as_proto"
    subprocess.run([sys.executable, "-c", DUMP], env={**os.environ, "XLA_FLAGS": flags}, check=True)
    return folder


def test_a_dump_folder(dump: Path, engine: str, tmp_path: Path) -> None:
    found = bufferscope.run("inspect", dump, "--json").json()["modules"]
    assert len(found) >= 2 and all(not module["findings"] for module in found)
    with pytest.raises(BadInput, match="expected --module"):
        bufferscope.peak(dump)
    for module in found[:2]:
        peak = bufferscope.peak(dump, module=module["id"])
        # XLA's own assignment, not one computed anew.
        assert peak.data["source"] == "dump"
        assert peak.allocated_bytes == module["totals"]["total_bytes"]
        page = bufferscope.report(dump, tmp_path / "dump.html", module=module["id"])
        assert f"<h1>{module['name']}</h1>" in page.read_text()
        lab = bufferscope.Lab(dump, module=module["id"])
        assert lab.page == page.read_text()
    # Without an engine all of it is put into the page, whose lab lists the modules.
    assert len(bufferscope.Lab(dump).page) > len(page.read_text())


def test_show_needs_a_notebook() -> None:
    with pytest.raises(BufferscopeError, match=r"bufferscope\.report\("):
        bufferscope.show(COMPILED["mlp"]().compile())


def test_a_long_run_can_be_interrupted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("BUFFERSCOPE", raising=False)
    # A heap that takes the exact search longer than anybody waits.
    starts = [i * 7919 % 5003 for i in range(1500)]
    rows = [f"{i},{start},{start + 50 + i * i * 31 % 900},{1 + i * i * 17 % 9973}" for i, start in enumerate(starts)]
    path = tmp_path / "heap.csv"
    path.write_text("\n".join(["id,lower,upper,size", *rows, ""]))
    timer = threading.Timer(2.0, _thread.interrupt_main)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        bufferscope.run("optimum", path, "--time-limit", "300")
    assert time.monotonic() - begun < 60
    # The next question is answered as ever.
    assert bufferscope.run("optimum", path, "--time-limit", "1").stdout
