"""A graph on `reference` and on `cpu`, by the whole way from passes to the driver."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from error_bounds import error_bounds

from sexpgpu_core.compile.phases import Phases
from sexpgpu_core.compile.programs import Target, make_unit
from sexpgpu_core.ir import Graph
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.text import write
from sexpgpu_core.ir.types import FLOATS, numpy_dtype
from sexpgpu_core.passes.optimize import apply_precision
from sexpgpu_core.plan.make import layout_persistent

DEVICES = "the devices are another distribution's"
CpuDevice: Any = pytest.importorskip("sexpgpu_cpu.device", reason=DEVICES).CpuDevice
ReferenceDevice: Any = pytest.importorskip("sexpgpu_cpu.reference", reason=DEVICES).ReferenceDevice

Arrays = dict[str, Any]
STEP = 5
"""The value of every scalar."""
KINDS = ("batch", "scalar")


def inputs_of(graph: Graph, seed: int) -> Arrays:
    """Floats in (-2, 2), integers of any size, by input name."""
    chance = np.random.default_rng(seed)
    found: Arrays = {}
    for node in graph.inputs():
        dtype, shape = node.types[0]
        if dtype in FLOATS:
            found[node.get("name")] = chance.uniform(-2, 2, shape).astype(numpy_dtype(dtype))
        elif node.get("kind") == "batch":
            size = numpy_dtype(dtype)
            raw = chance.integers(0, 256, (*shape, size.itemsize), np.uint8)
            found[node.get("name")] = raw.view(size).reshape(shape)
    return found


@contextmanager
def poisoned() -> Iterator[None]:
    """The checked build: every buffer is NaN before it is written and after its last use."""
    before = os.environ.get("SEXPGPU_CHECK")
    os.environ["SEXPGPU_CHECK"] = "1"
    try:
        yield
    finally:
        os.environ.pop("SEXPGPU_CHECK")
        if before is not None:
            os.environ["SEXPGPU_CHECK"] = before


def launched(device: Any, graph: Graph, inputs: Arrays, precision: str, threads: int) -> Arrays:
    persistent = layout_persistent({})
    unit = make_unit("graph", graph, persistent, Target(device, OPERATIONS, precision, Phases()))
    session = device.open([unit], persistent, threads=threads)
    try:
        names = {
            k: [n.get("name") for n in unit.graph.inputs() if n.get("kind") == k] for k in KINDS
        }
        batch = {name: inputs[name] for name in names["batch"]}
        scalars = dict.fromkeys(names["scalar"], STEP)
        outcome = session.program("graph").launch(batch, scalars).outcome()
    finally:
        session.close()
    assert outcome.error is None
    return dict(outcome.results)


class Share:
    """How many elements were compared, of how many."""

    def __init__(self) -> None:
        self.known = self.all = 0


def disagreements(graph: Graph, precision: str, seed: int, share: Share) -> list[str]:
    """What is wrong with the devices' results: nothing, if all is well."""
    inputs = inputs_of(graph, seed)
    wanted = error_bounds(
        apply_precision(graph, OPERATIONS, precision), {**inputs, "step": np.int32(STEP)}
    )
    found = {"reference": launched(ReferenceDevice(), graph, inputs, precision, 1)}
    with poisoned():
        for threads in (1, 2):
            name = f"cpu with {threads}"
            found[name] = launched(CpuDevice(), graph, inputs, precision, threads)
    wrong = [
        f"{name}, {result}: {told}"
        for name, results in found.items()
        for result, array in results.items()
        if (told := outside(array, wanted[result], share))
    ]
    alone, both = found["cpu with 1"], found["cpu with 2"]
    wrong += [
        f"{n}: threads change bits" for n, x in alone.items() if x.tobytes() != both[n].tobytes()
    ]
    return wrong


def outside(array: Any, ball: Any, share: Share) -> str:
    """Where a result lies outside its ball."""
    center, radius = ball
    assert array.shape == center.shape
    known = np.isfinite(radius)
    share.known += int(known.sum())
    share.all += known.size
    with np.errstate(all="ignore"):
        got = array.astype("f8") if array.dtype.kind not in "iub" else array
        same = (got == center) | (np.isnan(got.astype("f8")) & np.isnan(center.astype("f8")))
        near = same | (np.abs(got.astype("f8") - center.astype("f8")) <= radius)
    bad = known & ~near
    if not bad.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    near = f"{center[at]} within {radius[at]:.3g}"
    return f"{array.dtype} {got[at]} at {at}, not {near} ({bad.sum()} of {bad.size})"


def told(graph: Graph, wrong: list[str]) -> str:
    return "\n".join([*wrong, write(graph)])
