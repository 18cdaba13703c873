"""Layers of texts run on arrays: what they give, the gradients, the states that they propose."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.evaluator.modules import ModuleText
from sexpgpu_core.ir.graph import Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import Type
from sexpgpu_core.spans import Source
from sexpgpu_core.staging.declare import declare
from sexpgpu_core.staging.trace import trace_stage
from sexpgpu_core.staging.traced import Traced
from sexpgpu_nn.plugin import sexpgpu_modules

FOLDER = Path(__file__).parents[2] / "sexpgpu_nn" / "sexpgpu_nn"
MODULES = {
    row.name: ModuleText(f"{row.name}.lisp", (FOLDER / row.path).read_text("utf-8"))
    for row in sexpgpu_modules()
}
FILE = """(require "sexpgpu/nn")
(defloader data (source (none :examples 100)) (stage :train) (batch 2))
(defmodel net ({names}) (declare (ignorable {names}))
  {form})
(defun objective (&key {names})
  (let* ((y (net {names})) (n (reduce #'* (shape y))))
    (per-block (sum (* (cast y :f32)
                       (reshape (cos (* 1.7 (iota n :dtype :f32))) (shape y)))))))
(defun optimizer () (groups))
(defrun :steps 1)
"""
"""The loss is a sum of the result's elements by weights that are no two equal."""
DTYPES = {"f": "f32", "i": "i32", "b": "bool"}


class Found(NamedTuple):
    """`loss`: of the result by WEIGHTS; gradients by path or name; what states become."""

    loss: float
    gradients: dict[str, Any]
    states: dict[str, Any]


def weighed(y: Any) -> float:
    """The loss of a result in NumPy."""
    y = np.asarray(y, "f8")
    return float((y.ravel() * weights(y.size)).sum())


def weights(count: int) -> Any:
    """Those of the loss: cosines of arguments that are rounded to f32, as ours are."""
    return np.cos((np.float32(1.7) * np.arange(count, dtype="f4")).astype("f8"))


def traced(form: str, arrays: Mapping[str, Any]) -> Traced:
    text = FILE.format(form=form, names=" ".join(arrays))
    experiment, evaluator = declare(Source("t.lisp", text), modules=MODULES)
    fields = {n: Type(DTYPES[a.dtype.kind], a.shape) for n, a in arrays.items()}
    return trace_stage(experiment, evaluator, OPERATIONS, "data", "train", fields, 2)


def parameters(found: Traced) -> dict[str, Any]:
    """A value for each parameter and state by path below the net, of a size that layers like."""
    every = {**found.parameters, **found.states}
    return {path: _drawn(i, every[path].type.shape) for i, path in enumerate(every)}


def _drawn(number: int, shape: tuple[int, ...]) -> Any:
    random = np.random.default_rng(number)
    return random.uniform(0.3, 0.9, shape).astype("f4") * random.choice([-1, 1], shape).astype("f4")


def evaluated(
    form: str, arrays: Mapping[str, Any], given: Mapping[str, Any] | None = None
) -> tuple[Found, dict[str, Any]]:
    """What a layer gives on arrays, and the values of its parameters and states by path."""
    found = traced(form, arrays)
    values = {**parameters(found), **{f"net/{k}": v for k, v in (given or {}).items()}}
    graph = found.graph
    inputs = {str(n.get("name")): n for n in graph.inputs()}
    floats = {
        name: Value(node)
        for name, node in inputs.items()
        if node.types[0].dtype == "f32" and node.get("kind") in ("parameter", "batch")
    }
    gradients = differentiate(graph, OPERATIONS, graph.results["loss"], floats)
    graph.results |= {f"gradient:{n}": g for n, g in gradients.items() if g is not None}
    scalars = {n: np.float32(0) for n in inputs if inputs[n].get("kind") == "scalar"}
    result = run(graph, {**scalars, **arrays, **values}, OPERATIONS)
    return Found(
        float(result["loss"]),
        {
            n.partition(":")[2].removeprefix("net/"): v
            for n, v in result.items()
            if "gradient:" in n
        },
        {
            n.partition(":")[2].removeprefix("net/"): v
            for n, v in result.items()
            if "proposal:" in n
        },
    ), {path.removeprefix("net/"): v for path, v in values.items()}
