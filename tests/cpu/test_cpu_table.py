"""The table of operations on `cpu`: each is compiled code, and none goes to an interpreter."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sexpgpu_core.compile.explanation import _interpreted
from sexpgpu_core.compile.phases import Phases
from sexpgpu_core.compile.programs import Target, make_unit
from sexpgpu_core.device import Unit
from sexpgpu_core.ir import Builder, Graph, Type
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.ops.examples import EXAMPLES
from sexpgpu_core.ir.text import _attribute, _form, _is_key
from sexpgpu_core.ir.types import FLOATS, numpy_dtype
from sexpgpu_core.plan.make import layout_persistent
from sexpgpu_cpu.device import CpuDevice
from sexpgpu_cpu.reference import ReferenceDevice

BODIES = {"custom-gradient", "scan", "while", "cond", "update"}
"""What applies graphs of its own, which a row cannot hold: test_cpu_loops and test_cpu_session."""
INPUTS = {"input"}


def graph_of(name: str) -> Graph:
    """The example of an operation, its operands as inputs."""
    call = _form(f"({EXAMPLES[name].split(' -> ')[0]})")[0]
    split = next((i for i, w in enumerate(call) if _is_key(w)), len(call))
    b = Builder(OPERATIONS)
    types = [Type(str(t[0]), tuple(t[1:])) for t in call[1:split]]
    operands = [b.input(str(i), "batch", t.dtype, t.shape) for i, t in enumerate(types)]
    keys = [str(k[1:]) for k in call[split::2]]
    made = b.several(name, *operands, **dict(zip(keys, map(_attribute, call[split + 1 :: 2]))))
    b.graph.results = {str(i): v for i, v in enumerate(made)}
    return b.graph


def arrays_of(graph: Graph) -> dict[str, Any]:
    """Floats in (0.1, 0.9), square matrices that are definite, integers 0 and 1."""
    chance = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for node in graph.inputs():
        dtype, shape = node.types[0]
        if dtype in FLOATS:
            x = chance.uniform(0.1, 0.9, shape)
            if len(shape) > 1 and shape[-1] == shape[-2]:
                x = (x + np.swapaxes(x, -1, -2)) / 2 + 2 * np.eye(shape[-1])
        else:
            x = chance.integers(0, 2, shape)
        found[str(node.get("name"))] = x.astype(numpy_dtype(dtype))
    return found


def unit_of(graph: Graph, device: Any) -> Unit:
    target = Target(device, OPERATIONS, "f32", Phases())
    return make_unit("table", graph, layout_persistent({}), target)


def told(unit: Unit) -> list[str]:
    """What `explain` lists of a program as interpreted."""
    return _interpreted(SimpleNamespace(job=SimpleNamespace(units=[unit])))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - BODIES - INPUTS))
def test_each_operation_is_compiled_and_is_its_reference(name: str) -> None:
    graph = graph_of(name)
    arrays = arrays_of(graph)
    unit = unit_of(graph, CpuDevice())
    assert unit.plan is not None
    assert told(unit) == []
    session = CpuDevice().open([unit], layout_persistent({}), threads=1)
    try:
        held = {str(n.get("name")) for n in unit.graph.inputs()}
        batch = {k: v for k, v in arrays.items() if k in held}
        found = session.program("table").launch(batch, {}).outcome().results
    finally:
        session.close()
    for key, wanted in run(graph, arrays, OPERATIONS).items():
        np.testing.assert_allclose(found[key], wanted, rtol=1e-4, atol=1e-5)


def test_what_a_device_of_graphs_takes_is_named() -> None:
    unit = unit_of(graph_of("cumsum"), ReferenceDevice())
    assert unit.plan is None
    assert told(unit) == ["cumsum"]
