"""Builtins called from Python: `call("conv", x, w, padding=1)` is `(conv x w :padding 1)`.

`trace` gives the graph of what a function makes of its inputs, `DEVICES` run it, `both` compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.compile.phases import Phases
from sexpgpu_core.compile.programs import Target, make_unit
from sexpgpu_core.data.kinds import SOURCES
from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.evaluator.values import (
    NIL,
    Function,
    MultipleValues,
    String,
    T,
    keyword,
    make_list,
)
from sexpgpu_core.ir import Builder, Graph, Value, interpret
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import DTYPES, Type
from sexpgpu_core.plan.make import layout_persistent
from sexpgpu_core.staging import builtins, forms
from sexpgpu_core.staging.collector import Collector
from sexpgpu_core.staging.context import Context
from sexpgpu_core.staging.host import Host
from sexpgpu_core.staging.tensor import GENERIC, Handle, Tensor
from sexpgpu_core.staging.tracer import Tracer
from sexpgpu_cpu.device import CpuDevice

assert builtins.__all__ + forms.__all__  # importing them defines all builtins


def dtype_of(dtype: Any) -> str | None:
    """Our name of a NumPy dtype, None for one that is not ours."""
    found = np.dtype(dtype)
    name = {"bfloat16": "bf16", "bool": "bool"}.get(found.name)
    name = name or f"{found.kind}{8 * found.itemsize}"
    return name if name in DTYPES and found.kind in "biufV" else None


def call(name: str, *operands: Any, **keys: Any) -> Any:
    """What a builtin gives; a list where it gives several values. `_` of a key is a dash."""
    given = [lisp(v) for v in operands]
    for key, value in keys.items():
        given += [keyword(key.replace("_", "-").upper()), lisp(value)]
    found = GENERIC[name].call(*given)
    return list(found) if isinstance(found, MultipleValues) else found


def lisp(value: Any) -> Any:
    """A Python value as Lisp has it: keywords of strings, lists of sequences."""
    if value is None or value is False:
        return NIL
    if value is True:
        return T
    if isinstance(value, str):
        return keyword(value.upper())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return lisp(value.tolist())
    if isinstance(value, (list, tuple)) and not isinstance(value, String):
        return make_list([lisp(v) for v in value])
    return value


def constant(array: Any) -> Handle:
    """Constant data."""
    found = np.asarray(array)
    name = dtype_of(found.dtype)
    assert name is not None
    return Handle(Type(name, found.shape), tuple(found.ravel().tolist()))


def trace(
    inputs: Mapping[str, Type],
    work: Callable[[Mapping[str, Tensor]], Sequence[Any]],
    full: str = "f32",
) -> Graph:
    """The graph of `work`, its results named "0", "1", ... `full`: what f32 is in the run."""

    def traced(t: Tracer) -> Graph:
        given = {n: t.tensor(t.widened(t.builder.input(n, "batch", *k))) for n, k in inputs.items()}
        found = work(given)
        t.builder.graph.results = {str(i): t.node(v) for i, v in enumerate(found)}
        return t.builder.graph

    found: Graph = tracing(traced, full)
    return found


def tracing(work: Callable[[Tracer], Any], full: str = "f32") -> Any:
    """What `work` gives while a trace goes on."""
    evaluator = Evaluator(modules={})
    evaluator.host = Host(Collector({kind.kind: kind for kind in SOURCES}, {}))
    facts = {"mode": ":eval", "pass": "test"}
    t = Tracer(OPERATIONS, Context("E", facts, full=full), None)

    def traced() -> Any:
        evaluator.host.tracer = t
        return work(t)

    return evaluator.call(Function("test", traced))


def within(b: Builder, work: Callable[..., Any], *operands: Value) -> Value:
    """What `work` makes of values of a graph that is being built."""

    def traced(t: Tracer) -> Value:
        t.builder = t.root.builder = b
        found: Value = t.node(work(*(t.tensor(v) for v in operands)))
        return found

    made: Value = tracing(traced)
    return made


def on_reference(graph: Graph, arrays: Mapping[str, Any]) -> dict[str, Any]:
    return interpret.run(graph, arrays, OPERATIONS)


def on_cpu(
    graph: Graph, arrays: Mapping[str, Any], scalars: Mapping[str, int] = {}, threads: int = 1
) -> dict[str, Any]:
    device, persistent = CpuDevice(), layout_persistent({})
    unit = make_unit("test", graph, persistent, Target(device, OPERATIONS, "f32", Phases()))
    session = device.open([unit], persistent, threads=threads)
    try:
        outcome = session.program("test").launch(arrays, scalars).outcome()
    finally:
        session.close()
    if outcome.error is not None:
        raise AssertionError(f"the run ended with {outcome.error}")
    results: dict[str, Any] = outcome.results
    return results


DEVICES = {"reference": on_reference, "cpu": on_cpu}


def both(work: Callable[..., Any], *arrays: Any, tolerance: float = 3e-6, full: str = "f32") -> Any:
    """What a function of tensors gives for arrays, on the device; it agrees with the reference up
    to `tolerance` of the greatest element. A list where it gives several."""
    given = {str(i): np.asarray(a) for i, a in enumerate(arrays)}
    types = {n: Type(str(dtype_of(a.dtype)), a.shape) for n, a in given.items()}

    def outputs(tensors: Mapping[str, Tensor]) -> Sequence[Any]:
        found = work(*tensors.values())
        return found if isinstance(found, list) else [found]

    graph = trace(types, outputs, full)
    scalars = {str(n.get("name")): 0 for n in graph.inputs() if n.get("kind") == "scalar"}
    wanted = on_reference(graph, {**given, **{n: np.int32(0) for n in scalars}})
    found = on_cpu(graph, given, scalars, threads=2)
    for name, value in wanted.items():
        assert found[name].dtype == value.dtype
        assert found[name].shape == value.shape
        _agree(found[name], value, tolerance)
    results = [found[name] for name in wanted]
    return results if len(results) > 1 else results[0]


def _agree(found: Any, wanted: Any, tolerance: float) -> None:
    if wanted.dtype.kind in "iub":
        np.testing.assert_array_equal(found, wanted)
        return
    a, b = found.astype("f8"), wanted.astype("f8")
    greatest = np.abs(b[np.isfinite(b)]).max(initial=1e-30)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * greatest)


STEP = 1e-5


def slopes_agree(work: Callable[..., Any], *arrays: Any) -> None:
    """The gradient of the sum of squares of what a function gives, in f64, is its slope."""
    given = {str(i): np.asarray(a) for i, a in enumerate(arrays)}
    types = {n: Type(str(dtype_of(a.dtype)), a.shape) for n, a in given.items()}

    def loss(tensors: Mapping[str, Tensor]) -> Sequence[Any]:
        return [call("sum", call("square", work(*tensors.values())))]

    graph = trace(types, loss)
    floats = {
        n: next(v for v in graph.inputs() if v.get("name") == n)
        for n, a in given.items()
        if a.dtype == np.float64
    }
    found = differentiate(
        graph, OPERATIONS, graph.results["0"], {n: Value(v, 0) for n, v in floats.items()}
    )
    graph.results |= {f"slope {n}": g for n, g in found.items() if g is not None}
    values = on_reference(graph, given)
    graph.results = {"0": graph.results["0"]}
    for name in floats:
        wanted = _differences(graph, given, name)
        slope = values.get(f"slope {name}", np.zeros_like(wanted))
        np.testing.assert_allclose(slope, wanted, rtol=1e-5, atol=1e-6)


def _differences(graph: Graph, given: Mapping[str, Any], name: str) -> Any:
    base = given[name]
    found = np.zeros(base.shape)
    for i in np.ndindex(base.shape):
        sides = []
        for step in (STEP, -STEP):
            moved = base.copy()
            moved[i] += step
            sides.append(float(on_reference(graph, {**given, name: moved})["0"]))
        found[i] = (sides[0] - sides[1]) / (2 * STEP)
    return found
