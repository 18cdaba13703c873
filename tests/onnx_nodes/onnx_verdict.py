"""A test of the wheel on a device: it agrees, it differs, or why it has no counterpart."""

from __future__ import annotations

from typing import Any, NamedTuple

import map_elementwise
import map_layers
import map_reduce
import map_shape
import map_windows
import numpy as np
from builtin_calls import DEVICES, dtype_of, trace
from onnx_cases import Case
from onnx_node import Lazy, Node, Unmapped, Wire
from onnx_reasons import REASONS

from sexpgpu_core.diagnostics import Problem, Problems
from sexpgpu_core.ir import Graph
from sexpgpu_core.ir.types import Type

MAPPING = {
    **map_elementwise.ROWS,
    **map_reduce.ROWS,
    **map_shape.ROWS,
    **map_windows.ROWS,
    **map_layers.ROWS,
}
"""ONNX operation -> what makes it of our builtins."""


class Traced(NamedTuple):
    graph: Graph
    arrays: dict[str, Any]


def traced(case: Case) -> Traced:
    """The test's model as a graph of ours. Raises Unmapped."""
    for name in case.operations:
        if name not in MAPPING:
            raise Unmapped(REASONS.get(name, f"no counterpart of {name}"))
    model = case.model.graph
    arrays = {p.name: a for p, a in zip(model.input, case.inputs) if isinstance(a, np.ndarray)}
    given = {p.name: a for p, a in zip(model.input, case.inputs)}
    types: dict[str, Type] = {}
    for name, array in arrays.items():
        dtype = dtype_of(array.dtype)
        if dtype is None:
            raise Unmapped(f"the dtype {array.dtype}")
        types[name] = Type(dtype, array.shape)
    why: list[Unmapped] = []

    def outputs(tensors: Any) -> list[Any]:
        try:
            return _outputs(case, tensors, given)
        except Unmapped as reason:  # the evaluator would call it a fault of its own
            why.append(reason)
            return []

    graph = trace(types, outputs)
    if why:
        raise why[0]
    return Traced(graph, arrays)


def _outputs(case: Case, tensors: Any, given: dict[str, Any]) -> list[Any]:
    from onnx.numpy_helper import to_array

    model = case.model.graph
    wires: dict[str, Wire] = {t.name: Wire(array=to_array(t), folded=True)
                              for t in model.initializer}  # fmt: skip
    for name, array in given.items():
        if name in tensors:
            wires[name] = Lazy(lambda n=name: tensors[n], array)
        elif array is not None:
            raise Unmapped("operands that are sequences, optional or text")
    opset = next((o.version for o in case.model.opset_import if o.domain == ""), 1)
    for proto in model.node:
        _step(proto, wires, opset)
    return [wires[o.name].tensor for o in model.output]


def _step(proto: Any, wires: dict[str, Wire], opset: int) -> None:
    inputs = [wires.get(name) if name else None for name in proto.input]
    if inputs and all(w is None or w.folded for w in inputs):
        found = _folded(proto, inputs, opset)
    else:
        made = MAPPING[proto.op_type](Node(proto, inputs, opset))
        made = made if isinstance(made, list) else [made]
        found = [m if isinstance(m, Wire) else Wire(m) for m in made]
    for name, wire in zip(proto.output, found):
        wires[name] = wire


def _folded(proto: Any, inputs: list[Wire | None], opset: int) -> list[Wire]:
    """What depends on constants and shapes alone: the arithmetic of sizes in expanded models."""
    from onnx.helper import make_graph, make_model, make_opsetid, make_tensor_value_info
    from onnx.reference import ReferenceEvaluator

    names = [n for n, w in zip(proto.input, inputs) if w is not None]
    ends = [make_tensor_value_info(n, 0, None) for n in names]
    outs = [make_tensor_value_info(n, 0, None) for n in proto.output if n]
    graph = make_graph([proto], "folded", ends, outs)
    model = make_model(graph, opset_imports=[make_opsetid("", opset)])
    arrays = {n: w.array for n, w in zip(proto.input, inputs) if w is not None}
    found = ReferenceEvaluator(model).run(None, arrays)
    return [Wire(array=np.asarray(a), folded=True) for a in found]


UNIT = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}
"""One unit in the last place of the greatest element: the tests round between the steps of a
function, ours rounds once, so what cancels there need not here."""


def _greatest(x: Any) -> float:
    finite = np.abs(x[np.isfinite(x)]) if x.dtype.kind == "f" else np.zeros(0)
    return float(finite.max()) if finite.size else 0.0


def difference(case: Case, results: dict[str, Any]) -> str | None:
    """What differs from the test's outputs, beyond its own tolerance."""
    for at, wanted in enumerate(case.outputs):
        found = results[str(at)]
        wanted = np.asarray(wanted)
        if found.shape != wanted.shape:
            return f"shape {found.shape} for {wanted.shape}"
        if found.dtype != wanted.dtype:
            return f"dtype {found.dtype} for {wanted.dtype}"
        a, b = (x.astype("f8") if x.dtype.kind in "fV" else x for x in (found, wanted))
        atol = max(case.atol, UNIT.get(wanted.dtype.name, 0.0) * _greatest(b))
        if not np.allclose(a, b, rtol=case.rtol, atol=atol, equal_nan=a.dtype.kind == "f"):
            if wanted.dtype.name in ("bfloat16", "float16") and _is_nearer(case, at, a, b):
                continue
            worst = np.abs(np.asarray(a, "f8") - np.asarray(b, "f8")).max()
            return f"output {at} differs by {worst:.3g}"
    return None


def _is_nearer(case: Case, at: int, found: Any, wanted: Any) -> bool:
    """Whether the test's own output is farther than ours from what f64 gives for its operands:
    it rounds to 16 bits between the steps of a function."""
    from onnx.reference import ReferenceEvaluator

    halves = ("bfloat16", "float16")
    given = {
        p.name: a.astype("f8") if np.asarray(a).dtype.name in halves else a
        for p, a in zip(case.model.graph.input, case.inputs)
    }
    exact = np.asarray(ReferenceEvaluator(case.model).run(None, given)[at])
    if exact.dtype != np.float64:
        return False
    return bool(np.abs(found - exact).max() < np.abs(wanted - exact).max())


class Verdict(NamedTuple):
    case: Case
    reason: str | None  # None: it maps
    differences: dict[str, str]  # device -> what differs


def verdict(case: Case) -> Verdict:
    """Traced once, run on every device."""
    try:
        found = traced(case)
    except Unmapped as why:
        return Verdict(case, str(why), {})
    except (Problem, Problems) as refused:
        told = refused.diagnostic if isinstance(refused, Problem) else refused.diagnostics[0]
        return Verdict(case, f"{told.code}: {told.message}", {})
    differences = {}
    for name, device in DEVICES.items():
        try:
            what = difference(case, device(found.graph, found.arrays))
        except (Problem, Problems) as fault:
            what = str(fault)
        if what is not None:
            differences[name] = what
    return Verdict(case, None, differences)
