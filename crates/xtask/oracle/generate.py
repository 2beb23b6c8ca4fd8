"""Compiles the programs of `programs.py` with XLA and keeps its dumps.

usage: generate.py OUT [--targets cpu,gpu,tpu] [--only NAME,...] [--topology v5e:2x2] [--flags "XLA FLAGS"]

Writes OUT/TARGET/NAME/{module.txt,module.hlo.pb,buffer-assignment.txt,values.txt,live-range.txt,
memory-usage-report.txt}.gz and, but for tpu, events.jsonl.gz: the decisions out of the log. CPU is this machine; GPU (an H100
described by `h100.txtpb`) and TPU (libtpu, any `--topology`) are compiled ahead of time, no device is needed.
Programs are compiled in one process, one after the other; a new one is started when the compiler takes it down.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GPU_FLAGS = "--xla_gpu_autotune_level=0"


def child(target, topology, names):
    """Runs in the compiling process."""
    import traceback

    import jax
    import numpy as np
    from jax.experimental import topologies
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    import programs

    def devices(count):
        if target == "cpu":
            return jax.devices()[:count]
        if target == "tpu":
            everything = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices
            return everything[:count] if count == 1 and len(everything) == 1 else everything[:4]
        config = (HERE / "h100.txtpb").read_text()
        return topologies.get_topology_desc(
            platform="cuda", topology_name="x", target_config=config, topology=f"1x1x{count}").devices[:count]

    meshes = {}
    for name in names:
        program = programs.PROGRAMS[name]
        print("===", name, flush=True)
        sys.stderr.write(f"=== {name}\n")
        sys.stderr.flush()
        try:
            if program.devices not in meshes:
                meshes[program.devices] = Mesh(np.array(devices(program.devices)), ("d",))
            mesh = meshes[program.devices]
            programs.set_mesh(mesh)
            specs = program.specs if program.specs is not None else PartitionSpec()
            shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs,
                                     is_leaf=lambda spec: isinstance(spec, PartitionSpec))

            def run(*args):
                return program.function(*args)

            run.__name__ = name
            jit = dict(program.jit)
            if target != "cpu" or program.specs is not None:
                jit["in_shardings"] = shardings
            jax.jit(run, **jit).lower(*program.arguments).compile(compiler_options=program.options or None)
            print("compiled", flush=True)
        except Exception as error:  # noqa: BLE001 - the dumps are there all the same
            print("stopped", " ".join(str(error).split())[:300], flush=True)
            traceback.print_exc()


def nvcc():
    import importlib.util

    spec = importlib.util.find_spec("nvidia.cuda_nvcc")
    return spec.submodule_search_locations[0] if spec else ""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--targets", default="cpu")
    arguments.add_argument("--only", default="")
    arguments.add_argument("--topology", default="v5e:2x2")
    arguments.add_argument("--flags", default="")
    arguments.add_argument("--as", dest="called", default="", help="the folder's name instead of the target's")
    arguments.add_argument("--child", help=argparse.SUPPRESS)
    args = arguments.parse_args()
    if args.child:
        child(args.targets, args.topology, json.loads(args.child))
        return
    sys.path.insert(0, str(HERE))
    from dumps import collect, events_of
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import programs

    only = args.only.split(",") if args.only else None
    for target in args.targets.split(","):
        names = [name for name, p in programs.PROGRAMS.items()
                 if target in p.targets and (only is None or name in only)]
        kept, said = 0, {}
        while names:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="oracle-"))
            flags = (f"--xla_dump_to={folder}/d --xla_dump_hlo_as_text --xla_dump_hlo_as_proto "
                     "--xla_dump_buffer_assignment_analysis ")
            if target == "cpu":
                flags += "--xla_force_host_platform_device_count=4 "
            elif target == "gpu":
                flags += f"{GPU_FLAGS} --xla_gpu_cuda_data_dir={nvcc()} "
            env = dict(os.environ, JAX_PLATFORMS="cpu", TPU_SKIP_MDS_QUERY="1", ALLOW_MULTIPLE_LIBTPU_LOAD="1",
                       TF_CPP_MIN_LOG_LEVEL="0", XLA_FLAGS=flags + args.flags)
            if target != "tpu":
                env["TF_CPP_VMODULE"] = "buffer_assignment=9"
            command = [sys.executable, str(HERE / "generate.py"), "-", "--targets", target, "--topology", args.topology,
                       "--child", json.dumps(names)]
            log = folder / "log"
            with log.open("w") as errors:
                done = subprocess.run(command, env=env, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=errors,
                                      check=False)
            lines = log.read_text(errors="replace").splitlines()
            tried = re.findall(r"^=== (\S+)$", done.stdout, re.M)
            for name in tried:
                out = args.out / (args.called or target) / name
                if not collect(folder / "d", name, out):
                    said[name] = done.stdout.split(f"=== {name}\n")[1].split("\n")[0]
                    continue
                kept += 1
                if target != "tpu":
                    events = "\n".join(events_of(lines, name)) + "\n"
                    (out / "events.jsonl.gz").write_bytes(gzip.compress(events.encode(), 9, mtime=0))
            if not tried:
                print("\n".join(lines[-5:]))
                break
            names = names[names.index(tried[-1]) + 1:]
            shutil.rmtree(folder, ignore_errors=True)
        print(f"{target}: {kept} programs", flush=True)
        for name, why in said.items():
            print(f"  without dumps: {name}: {why[:200]}")


if __name__ == "__main__":
    main()
