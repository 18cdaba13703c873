"""The check of a machine with a GPU: `python -P -m bench.gpu [--emulated] [--minutes 10]`.

What is asked of it: the driver and what stands below, steps of the examples beside `reference` in
f32 and bf16, some without its libraries too, the libraries' calls one by one beside PyTorch's, a
step as a graph beside its records one by one, a killed run that goes on, the big models' step
time, the examples beside PyTorch's, compute-sanitizer. A part that fails says so and the others
go on; a part for which no time is left is left out by name. All of it is written to
`results/gpu.json`, with `--emulated` nothing unless `--save` says where.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from sexpgpu_core.diagnostics import Problem, Problems

from . import report
from .gpu_calls import compared
from .models import MODELS, ROOT, Spec, spec_of
from .ours import Ours

Row = dict[str, Any]
BIG = ("gpt2", "llama", "resnet50")
FLOPS = {"H200": 989e12, "H100": 989e12, "A100": 312e12}
"""Of products in bf16 a second, dense, by data sheets."""
SMALL = ("digits", "dlrm")
"""What the emulator does in seconds at its whole size."""
STEPS = 3
SAFE = ("-P",) if sys.version_info >= (3, 11) else ()


class Check:
    """What all parts know: which device, and where files may be made."""

    def __init__(self, emulated: bool, folder: Path, names: list[str]) -> None:
        self.device = "cuda-emulated" if emulated else "cuda"
        self.emulated = emulated
        self.folder = folder
        self.names = names or list(SMALL if emulated else MODELS)

    def ours(self, spec: Spec, precision: str, device: str) -> Ours:
        """An example's step at a precision."""
        text = spec.file.read_text(encoding="utf-8")
        path = self.folder / f"{spec.model}-{precision}.lisp"
        path.write_text(text.replace("(defrun ", f"(defrun :precision :{precision} "), "utf-8")
        return Ours(path, spec.sets, device)


def machine(check: Check) -> Iterator[Row]:
    """Driver, GPU, memory, libraries: what doctor says."""
    from sexpgpu_cuda import presence
    from sexpgpu_cuda.emulated_driver import EmulatedDriver
    from sexpgpu_cuda.real_driver import RealDriver

    driver: Any = EmulatedDriver() if check.emulated else RealDriver()
    yield {"part": "machine", **driver.properties()._asdict()}
    driver.close()
    for line in presence.checks():
        yield {"part": "machine", "name": line["name"], "status": line["status"],
               "detail": line["detail"]}  # fmt: skip


def steps(check: Check) -> Iterator[Row]:
    """Losses and parameters after some steps, beside the reference's."""
    for name in check.names:
        yield from _steps(check, name, "steps")


def plain(check: Check) -> Iterator[Row]:
    """The same by kernels of ours alone, no library's."""
    from sexpgpu_cuda.providers import VARIABLE

    with patch.dict(os.environ, {VARIABLE: "none"}):
        for name in check.names[:4]:
            yield from _steps(check, name, "plain")


def _steps(check: Check, name: str, part: str) -> Iterator[Row]:
    spec = spec_of(name, check.folder)
    for precision in ("f32",) if check.emulated else ("f32", "bf16"):
        yield {"part": part, "model": name, "precision": precision,
               **_beside(check, spec, precision)}  # fmt: skip


def _beside(check: Check, spec: Spec, precision: str) -> Row:
    ours, plain = (check.ours(spec, precision, d) for d in (check.device, "reference"))
    pairs = [(ours.step(i, b := ours.batch(i)), plain.step(i, b)) for i in range(STEPS)]
    apart = [abs(a - b) / max(abs(b), 1e-6) for a, b in pairs]
    far = max(_distance(ours, plain, n) for n in ours.job.persistent.types)
    for side in (ours, plain):
        side.close()
    return {"loss": max(apart), "values": far}


def _distance(ours: Ours, plain: Ours, name: str) -> float:
    """The greatest difference of a persistent value, over its greatest."""
    a, b = (s.session.read(name).astype("f8") for s in (ours, plain))
    return float(np.abs(a - b).max(initial=0) / max(np.abs(b).max(initial=0), 1e-6))


def calls(check: Check) -> Iterator[Row]:
    """Products with their ends, attention and convolutions, each beside PyTorch's."""
    from sexpgpu_cuda.device import EmulatedDevice
    from sexpgpu_cuda.gpu import GpuDevice

    device = EmulatedDevice() if check.emulated else GpuDevice()
    for row in compared(device, check.emulated):
        yield {"part": "calls", **row}


def replay(check: Check) -> Iterator[Row]:
    """A step as one graph leaves the bits of its records launched one by one."""
    from sexpgpu_cuda.emulated_driver import EmulatedDriver
    from sexpgpu_cuda.providers import here, wanted
    from sexpgpu_cuda.real_driver import RealDriver
    from sexpgpu_cuda.session import CudaSession, Ways

    for name in check.names[:4]:
        found = []
        for ways in (Ways(), Ways(graphs=False)):
            ours = check.ours(spec_of(name, check.folder), "f32", check.device)
            ours.session.close()
            driver: Any = EmulatedDriver() if check.emulated else RealDriver()
            job = ours.job
            libraries = wanted() if check.emulated else here()
            session = CudaSession(job.units, job.persistent, driver, ways, libraries)
            ours.session = session
            for value in job.persistent.types:
                session.write(value, job.initial(value))
            ours.program = session.program(ours.stage.step.program)
            losses = [ours.step(i, ours.batch(i)) for i in range(STEPS)]
            found.append((losses, [session.read(n).tobytes() for n in job.persistent.types]))
            ours.close()
        yield {"part": "replay", "model": name, "same": found[0] == found[1]}


def resume(check: Check) -> Iterator[Row]:
    """A run that is stopped and goes on ends in the bits of one that was not. Passes over all that
    is held out take the emulator minutes: the tests resume smaller ones."""
    if check.emulated:
        return
    for name in check.names[:2]:
        spec = spec_of(name, check.folder)
        words = [str(spec.file), "--device", check.device, "--runs", str(check.folder / "runs")]
        words += [w for key, value in spec.sets for w in ("-s", f"{key}={value}")]
        for run, n in (("whole", 6), ("parts", 3)):
            _sexpgpu("run", *words, "--name", f"{name}-{run}", "--steps", str(n))
        _sexpgpu("run", *words, "--name", f"{name}-parts", "--resume", "latest", "--steps", "6",
                 "--resume-changed")  # fmt: skip
        folders = [check.folder / "runs" / f"{name}-{run}" / "checkpoints" for run in
                   ("whole", "parts")]  # fmt: skip
        files = [sorted(f.glob("step-*6/*.safetensors")) for f in folders]
        same = [a.read_bytes() == b.read_bytes() for a, b in zip(*files)]
        yield {"part": "resume", "model": name, "files": len(same), "same": all(same)}


def _sexpgpu(*words: str) -> str:
    done = subprocess.run([sys.executable, *SAFE, "-m", "sexpgpu_cli", *words],
                          capture_output=True, text=True)  # fmt: skip
    if done.returncode:
        raise OSError(f"sexpgpu {words[0]}: exit {done.returncode}: {done.stderr[-600:]}")
    return done.stdout


def big(check: Check) -> Iterator[Row]:
    """A training step of each big model: milliseconds, bytes held, share of the products' peak."""
    if check.emulated:
        return
    for name in BIG:
        ours = Ours(ROOT / "tests" / "cuda" / "models" / f"{name}.lisp", [], check.device)
        batch = ours.batch(0)
        times = []
        for at in range(20):
            began = time.perf_counter()
            ours.step(at, batch)
            times.append(time.perf_counter() - began)
        held = getattr(ours.session, "held", 0)
        gpu = ours.session.driver.properties().name
        ours.close()
        median = sorted(times[5:])[7]
        peak = next((p for word, p in FLOPS.items() if word in gpu), None)
        yield {"part": "big", "model": name, "median_ms": 1e3 * median, "memory_gb": held / 1e9,
               "mfu": ours.flops / median / peak if peak else None}  # fmt: skip


def beside(check: Check) -> Iterator[Row]:
    """The examples beside PyTorch on the GPU, by `python -m bench --device cuda`."""
    if check.emulated:
        return
    for name in check.names:
        to = check.folder / f"{name}.json"
        words = [name, "--device", "cuda", "--threads", "1", "--blocks", "3", "--json", str(to)]
        done = subprocess.run([sys.executable, *SAFE, "-m", "bench", *words], cwd=ROOT,
                              capture_output=True, text=True)  # fmt: skip
        if not to.exists():
            yield {"part": "beside", "model": name, "failed": done.stderr[-300:]}
            continue
        for row in json.loads(to.read_text("utf-8"))["rows"]:
            yield {"part": "beside", **{k: v for k, v in row.items() if k != "losses"}}


def sanitizer(check: Check) -> Iterator[Row]:
    """compute-sanitizer's memcheck and racecheck over two steps of digits."""
    program = shutil.which("compute-sanitizer")
    if check.emulated or program is None:
        return
    for tool in ("memcheck", "racecheck"):
        words = [program, "--tool", tool, sys.executable, *SAFE, "-m", "sexpgpu_cli", "run"]
        words += [str(spec_of("digits", check.folder).file), "--device", "cuda", "--steps", "2"]
        done = subprocess.run([*words, "--runs", str(check.folder / tool)], capture_output=True,
                              text=True)  # fmt: skip
        told = re.findall(r"ERROR SUMMARY: (\d+) error", done.stdout + done.stderr)
        yield {"part": "sanitizer", "tool": tool, "exit": done.returncode,
               "errors": int(told[-1]) if told else None}  # fmt: skip


PARTS: dict[str, Callable[[Check], Iterator[Row]]] = {
    f.__name__: f for f in (machine, steps, plain, calls, replay, resume, big, sanitizer, beside)
}


def rows(check: Check, minutes: float, parts: list[str]) -> Iterator[Row]:
    """Of all parts; one that fails is a row that says why, and the next begins."""
    end = time.monotonic() + 60 * minutes
    for name in parts:
        began, some = time.monotonic(), False
        if began > end:
            yield {"part": name, "left_out": "no time"}
            continue
        try:
            for row in PARTS[name](check):
                some = True
                yield row
                if time.monotonic() > end:
                    yield {"part": name, "left_out": "the rest: no time"}
                    break
        except (Problem, Problems, OSError, AssertionError, KeyError, ValueError) as fault:
            yield {"part": name, "failed": f"{type(fault).__name__}: {fault}"[:600]}
            continue
        if not some:
            yield {"part": name, "left_out": "not on this machine"}
        yield {"part": name, "seconds": round(time.monotonic() - began, 1)}


def parsed() -> Namespace:
    parser = report.arguments(__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--emulated", action="store_true", help="on the CPU: the script itself")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--parts", default=",".join(PARTS), help="by commas")
    return parser.parse_args()


def main() -> int:
    """1 if a part failed, or bits that should be the same are not."""
    options, found = parsed(), []
    with tempfile.TemporaryDirectory() as made:
        check = Check(options.emulated, Path(made), options.models)
        for row in rows(check, options.minutes, options.parts.split(",")):
            found.append(row)
            report.tell(row)
    save = options.save or (None if options.emulated else "gpu")
    for path in report.places(save, None):
        report.write("gpu", [found], path)
    return int(any("failed" in row or row.get("same") is False for row in found))


if __name__ == "__main__":
    sys.exit(main())
