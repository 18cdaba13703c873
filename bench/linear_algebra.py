"""Linear algebra on `cpu` beside NumPy's LAPACK: `python bench/linear_algebra.py [--sizes 64 256]`.

One thread each, in turn: milliseconds (the median) of a launch with its copies in and out, and of
the same of numpy.linalg on matrices of the same dtype.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import report

from sexpgpu_core.compile.phases import Phases
from sexpgpu_core.compile.programs import Target, make_unit
from sexpgpu_core.ir import Builder
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.plan.make import layout_persistent
from sexpgpu_cpu.device import CpuDevice

LAPACK: dict[str, Callable[..., Any]] = {
    "cholesky": np.linalg.cholesky,
    "solve": np.linalg.solve,
    "inverse": np.linalg.inv,
    "det": np.linalg.det,
    "qr": np.linalg.qr,
    "eigh": np.linalg.eigh,
    "svd": lambda x: np.linalg.svd(x, full_matrices=False),
}
SECONDS = 1.0
"""A side measures at most so long, but at least three times."""


def matrices(operation: str, n: int, dtype: str) -> dict[str, Any]:
    """A matrix that is positive where it must be; of a system as many right sides."""
    chance = np.random.default_rng(0)
    x = chance.standard_normal((n, n)) / np.sqrt(n)
    if operation in ("cholesky", "eigh"):
        x = x @ x.T + np.eye(n)
    found = {"0": x}
    if operation == "solve":
        found["1"] = chance.standard_normal((n, n))
    return {k: v.astype(numpy_dtype(dtype)) for k, v in found.items()}


def ours(operation: str, given: dict[str, Any], dtype: str) -> tuple[Callable[[], Any], Any]:
    """A launch of the operation alone, and the session to close."""
    b = Builder(OPERATIONS)
    made = b.several(operation, *(b.input(k, "batch", dtype, x.shape) for k, x in given.items()))
    b.graph.results = {str(i): v for i, v in enumerate(made)}
    device, persistent = CpuDevice(), layout_persistent({})
    unit = make_unit("bench", b.graph, persistent, Target(device, OPERATIONS, "f32", Phases()))
    session = device.open([unit], persistent, threads=1)
    program = session.program("bench")
    return lambda: program.launch(given, {}).outcome(), session


def milliseconds(run: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - begin)


def row(operation: str, n: int, dtype: str) -> dict[str, Any]:
    given = matrices(operation, n, dtype)
    run, session = ours(operation, given, dtype)
    sides = run, lambda: LAPACK[operation](*given.values())
    times: tuple[list[float], ...] = ([], [])
    first = [milliseconds(side) for side in sides]
    rounds = int(min(50, max(3, 1e3 * SECONDS / sum(first))))
    for _ in range(rounds):
        for side, spent in zip(sides, times):
            spent.append(milliseconds(side))
    session.close()
    mine, theirs = map(statistics.median, times)
    found = {"operation": operation, "n": n, "dtype": dtype, "ours_ms": mine, "lapack_ms": theirs}
    return {**found, "ratio": mine / theirs, "rounds": rounds}


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[64, 256, 512])
    parser.add_argument("--operations", nargs="*", default=list(LAPACK), choices=list(LAPACK))
    parser.add_argument("--dtypes", nargs="*", default=["f32", "f64"])
    options = parser.parse_args()
    report.tell(report.machine())
    rows = []
    for operation in options.operations:
        for n in options.sizes:
            rows += [row(operation, n, dtype) for dtype in options.dtypes]
            for found in rows[-len(options.dtypes) :]:
                report.tell(found)
    report.finish("linear_algebra", [rows], options.save)


if __name__ == "__main__":
    main()
