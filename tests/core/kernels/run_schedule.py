"""A schedule run on NumPy arrays: kernels compiled, other nodes by their references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jit import run_call

from sexpgpu_core.ir import Graph
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.kernels.fuse import schedule
from sexpgpu_core.kernels.kernel import KernelCall, NodeCall, Schedule, View

LIBRARY = frozenset(
    [
        "matmul",
        "scatter-add",
        "scatter-set",
        "scatter-max",
        "scatter-min",
        "put-along",
        "add-along",
        "argmax",
        "argmin",
        "argsort",
        "top-k",
        "cumsum",
        "cumprod",
        "cummax",
        "cummin",
        "searchsorted",
        "cholesky",
        "solve-triangular",
        "lu",
        "qr",
        "eigh",
        "svd",
        "ctc-alignment",
        "conv",
        "conv-input-gradient",
        "conv-weight-gradient",
        "max-pool",
        "max-pool-gradient",
        "avg-pool",
        "avg-pool-gradient",
    ]
)


def library(name: str) -> bool:
    return name in LIBRARY


def seen(view: View, buffers: list[np.ndarray]) -> np.ndarray:
    """A view of a storage as an array."""
    flat = buffers[view.storage].reshape(-1)
    size = flat.itemsize
    strides = [s * size for s in view.strides]
    return np.lib.stride_tricks.as_strided(flat[view.offset :], view.shape, strides)


def filled(schedule: Schedule, inputs: Mapping[str, Any]) -> list[np.ndarray]:
    """A buffer a storage: inputs by name, constants, and NaN (or junk) in what is to be written."""
    buffers = []
    for s in schedule.storages:
        dtype = numpy_dtype(s.type.dtype)
        data = np.full(s.type.size + 16, 113, np.uint8).repeat(dtype.itemsize).view(dtype)
        data = data[: s.type.size].reshape(s.type.shape).copy()
        if s.constant is not None:
            data[...] = s.constant
        elif s.name in inputs:
            data[...] = inputs[s.name]
        buffers.append(data)
    return buffers


def run_calls(
    schedule: Schedule, buffers: list[np.ndarray], width: int | None = None, cut: bool = False
) -> None:
    for call in schedule.calls:
        if isinstance(call, KernelCall):
            from jit import grid

            cuts = sorted({grid(call) // 3, grid(call) // 2}) if cut else ()
            error = run_call(call, [buffers[s] for s in call.operands], width=width, cuts=cuts)
            assert not error.any(), (error, call)
        else:
            run_node(call, buffers)


def run_node(call: NodeCall, buffers: list[np.ndarray]) -> None:
    node = call.node
    arrays = tuple(seen(v, buffers).copy() for v in call.inputs)
    found = OPERATIONS[node.operation].reference(arrays, dict(node.attributes), node.types)
    for view, value in zip(call.outputs, found):
        seen(view, buffers)[...] = value


def run(
    graph: Graph, inputs: Mapping[str, Any], width: int | None = None, cut: bool = False
) -> tuple[dict[str, np.ndarray], Schedule]:
    """Results by name, those of commits as they are in their storages."""
    made = schedule(graph, OPERATIONS, library)
    buffers = filled(made, inputs)
    run_calls(made, buffers, width, cut)
    results = {n: seen(v, buffers).copy() for n, v in made.results.items()}
    for name in graph.results:
        if name.startswith("next:"):
            kind, _, rest = name[5:].partition(":")
            (found,) = (s for s in made.storages if (s.kind, s.name) == (kind, rest))
            results[name] = buffers[found.id].copy()
    return results, made
