"""One operation on both sides: our graph with its gradients on a device, and PyTorch in f64.

Both take the gradient of sum(result * weight) with one fixed random weight a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from op_row import Row

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.compile.phases import Phases
from sexpgpu_core.compile.programs import Target, make_unit
from sexpgpu_core.ir import Builder, Graph, interpret
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.plan.make import layout_persistent
from sexpgpu_cpu.device import CpuDevice

Arrays = dict[str, Any]
SMALL = 1e-2
"""Of operands around 1: a result that should vanish is compared with this."""


class Measured(NamedTuple):
    """The greatest difference of each result and gradient, relative to its greatest element."""

    errors: dict[str, float]

    @property
    def worst(self) -> float:
        return max(self.errors.values(), default=0.0)


def graph_of(row: Row, arrays: Arrays) -> Graph:
    """Results "out" and, for each float operand, "gradient:N". `arrays` gains the weight."""
    b = Builder(OPERATIONS)
    operands = [b.input(n, "batch", dtype_of(a), a.shape) for n, a in arrays.items()]
    out = row.ours(b, *operands)
    results = {"out": out}
    if row.differentiable:
        weight = np.random.default_rng(7).standard_normal(out.shape).astype("f4")
        arrays["weight"] = weight
        seed = b.input("weight", "batch", "f32", out.shape)
        floats = {str(i): v for i, v in enumerate(operands) if v.dtype == "f32"}
        found = differentiate(b.graph, OPERATIONS, out, floats, seed)
        results |= {f"gradient:{n}": g for n, g in found.items() if g is not None}
    b.graph.results = results
    return b.graph


def on_reference(graph: Graph, arrays: Arrays) -> Arrays:
    return interpret.run(graph, arrays, OPERATIONS)


def on_cpu(graph: Graph, arrays: Arrays, threads: int = 2) -> Arrays:
    device, persistent = CpuDevice(), layout_persistent({})
    target = Target(device, OPERATIONS, "f32", Phases())
    unit = make_unit("parity", graph, persistent, target)
    session = device.open([unit], persistent, threads=threads)
    try:
        outcome = session.program("parity").launch(arrays, {}).outcome()
    finally:
        session.close()
    assert outcome.error is None
    return outcome.results


DEVICES: dict[str, Callable[[Graph, Arrays], Arrays]] = {
    "reference": on_reference,
    "cpu": on_cpu,
}


def in_torch(row: Row, arrays: Mapping[str, Any]) -> Arrays:
    """What PyTorch gives in f64, by the same names."""
    operands = [_tensor(a) for n, a in arrays.items() if n != "weight"]
    out = row.theirs(*operands)
    found = {"out": out.detach().numpy()}
    if row.differentiable:
        (out * torch.from_numpy(np.asarray(arrays["weight"], "f8"))).sum().backward()
        for i, x in enumerate(operands):
            if x.requires_grad:
                gradient = torch.zeros_like(x) if x.grad is None else x.grad
                found[f"gradient:{i}"] = gradient.numpy()
    return found


def _tensor(array: Any) -> torch.Tensor:
    if array.dtype.kind == "f":
        return torch.from_numpy(array.astype("f8")).requires_grad_()
    return torch.from_numpy(array.astype("i8") if array.dtype.kind == "i" else array.copy())


def compare(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Measured:
    """A gradient that one side leaves out is zero there."""
    assert set(ours) <= set(theirs)
    return Measured({n: relative(ours.get(n), wanted) for n, wanted in theirs.items()})


def relative(found: Any, wanted: Any) -> float:
    """Greatest difference over the greatest element wanted (at least SMALL)."""
    wanted = np.asarray(wanted, "f8")
    found = np.zeros_like(wanted) if found is None else np.asarray(found, "f8")
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    if not wanted.size:
        return 0.0
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
    scale = np.abs(wanted, where=np.isfinite(wanted), out=np.zeros_like(wanted)).max()
    return float(np.nan_to_num(np.abs(found - wanted), nan=0.0).max() / max(scale, SMALL))


def dtype_of(array: Any) -> str:
    return "bool" if array.dtype.kind == "b" else f"{array.dtype.kind}{8 * array.dtype.itemsize}"
