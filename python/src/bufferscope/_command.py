"""The engine: the `bufferscope` command, as WebAssembly from this wheel or as it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from ._errors import BadInput, BufferscopeError, NoEngine
from ._program import Program
from ._version import SHELL, WASM, __version__

#: A folder as the command sees it: where it is, and what it is called there.
Folder = tuple[Path, str]


@dataclass(frozen=True)
class Result:
    """What the command said."""

    #: 0 for success or yes, 1 for no.
    status: int
    #: What it answered.
    stdout: str
    #: What it remarked on the input.
    stderr: str

    def json(self) -> Any:
        """The answer, where it was asked for with `--json`."""
        return json.loads(self.stdout)

    def __str__(self) -> str:
        return self.stdout


class Engine(Protocol):
    """Something that runs the command."""

    def run(self, arguments: Sequence[str], folders: Sequence[Folder], here: Path | None) -> Result:
        """Runs it in the folder `here`; it reads nothing but `folders`."""


class Native:
    """The command as a program of this machine."""

    def __init__(self, path: str) -> None:
        self.path = path

    def run(self, arguments: Sequence[str], folders: Sequence[Folder], here: Path | None) -> Result:
        del folders
        try:
            done = subprocess.run([self.path, *arguments], cwd=here, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        except OSError as error:
            raise NoEngine(f"{self.path} does not run: {error}") from error
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace"))

    def version(self) -> str | None:
        """What it says it is; none if it does not run."""
        try:
            return self.run(["-V"], [], None).stdout.strip().rpartition(" ")[2]
        except (NoEngine, UnicodeDecodeError):
            return None


class Wasm:
    """The command as WebAssembly: it sees the folders it is given, may only read them, and has no network."""

    def __init__(self, wasm: bytes) -> None:
        import wasmtime

        config = wasmtime.Config()
        # So that a run can be interrupted.
        config.epoch_interruption = True
        try:
            # Compiling takes a second or two; wasmtime keeps the result for the user.
            config.cache = True
        except wasmtime.WasmtimeError:
            pass
        self._wasmtime = wasmtime
        self._engine = wasmtime.Engine(config)
        self._module = wasmtime.Module(self._engine, wasm)
        self._linker = wasmtime.Linker(self._engine)
        self._linker.define_wasi()

    def run(self, arguments: Sequence[str], folders: Sequence[Folder], here: Path | None) -> Result:
        wasi = self._wasmtime.WasiConfig()
        wasi.argv = ["bufferscope", *arguments]
        for path, name in [*folders, *([(here, ".")] if here else [])]:
            wasi.preopen_dir(str(path), name, False)
        out, err = bytearray(), bytearray()
        wasi.stdout_custom = out.extend
        wasi.stderr_custom = err.extend
        store = self._wasmtime.Store(self._engine)
        store.set_wasi(wasi)
        store.set_epoch_deadline(1)
        ended: list[int | BaseException] = []

        def work() -> None:
            try:
                start: Any = self._linker.instantiate(store, self._module).exports(store)["_start"]
                start(store)
                ended.append(0)
            except self._wasmtime.ExitTrap as exit:
                ended.append(exit.code)
            except BaseException as error:
                ended.append(error)

        # In a thread, because this one could not be interrupted within the engine.
        thread = threading.Thread(target=work, name="bufferscope", daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.1)
        except BaseException:
            self._engine.increment_epoch()
            thread.join()
            raise
        (end,) = ended
        remarks = err.decode("utf-8", "replace")
        if isinstance(end, BaseException):
            # Most likely memory: WebAssembly of 32 bits has 4 GiB at most.
            raise BufferscopeError(
                f"the engine stopped: {remarks.strip() or str(end).splitlines()[0]}; the command itself has all memory "
                "of the machine: build it with cargo and name it in the environment variable BUFFERSCOPE"
            ) from end
        return Result(end, out.decode(), remarks)


@lru_cache(maxsize=1)
def _wasm() -> Wasm:
    return Wasm(WASM.read_bytes())


def engine() -> Engine:
    """What runs the command here: what `BUFFERSCOPE` names, else WebAssembly, else the command on the path."""
    named = os.environ.get("BUFFERSCOPE")
    if named:
        return Native(named)
    missing = 'the engine needs wasmtime: pip install "bufferscope[wasm]"'
    if not WASM.is_file():
        missing = f"{WASM.name} is not in this package: build a wheel with `cargo xtask wheel`"
    else:
        try:
            return _wasm()
        except ImportError:
            pass
    found = shutil.which("bufferscope")
    if found:
        native = Native(found)
        version = native.version()
        if version == __version__:
            return native
        missing += f"; {found} is of version {version}, expected {__version__}"
    raise NoEngine(f"{missing}; or name the command `bufferscope` in the environment variable BUFFERSCOPE")


def ask(command: str, arguments: Sequence[str | Program], *, with_shell: bool = False) -> Result:
    """Asks the command; a program among the arguments stands for its path. Status 2 is an error in the command's words."""
    runs = engine()
    words: list[str] = [command]
    folders: list[Folder] = []
    here: Path | None = None
    with tempfile.TemporaryDirectory(prefix="bufferscope-") as made:
        count = sum(isinstance(argument, Program) and argument.path is None for argument in arguments)
        if count > 0:
            here = Path(made)
        if with_shell:
            folders.append((SHELL.parent, "/bufferscope"))
            words += ["--shell", str(SHELL) if isinstance(runs, Native) else f"/bufferscope/{SHELL.name}"]
        for argument in arguments:
            if isinstance(argument, str):
                words.append(argument)
            elif argument.path is not None:
                # From elsewhere, the path that was given would lead nowhere.
                path = argument.path.absolute() if here else argument.path
                # One of the four files is read with those beside it.
                folder = path if path.is_dir() else path.parent
                folders.append((folder, folder.as_posix()))
                name = path.as_posix()
                # Alone it would mean standard input.
                words.append("./-" if name == "-" else name)
            else:
                # One alone needs no folder in what is said of it.
                words.append(_write(argument, Path(made), "." if count == 1 else f"{len(words)}"))
        result = runs.run(words, folders, here)
    if result.status not in (0, 1):
        raise BadInput(result.stderr.strip() or f"{command} ended with status {result.status}")
    return result


def _write(program: Program, here: Path, folder: str) -> str:
    """Writes the files of a program into a folder; gives the path that names it there: of one file, the file's."""
    (here / folder).mkdir(exist_ok=True)
    for name, data in program.files.items():
        (here / folder / name).write_bytes(data)
    names = list(program.files)
    return (Path(folder) / names[0]).as_posix() if len(names) == 1 else folder
