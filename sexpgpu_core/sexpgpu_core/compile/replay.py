"""A launch that went wrong to the operation that was first: its graph again, node by node.

By the operations' references in NumPy, on the values of before. Rounding may differ from the
device's, so a value that is only just not finite may not be seen again: then there is no cause.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..device import Session, Unit
from ..diagnostics import Diagnostic, Problem
from ..ir import Graph, Operations
from ..ir.graph import Node
from ..ir.interpret import run
from ..ir.types import numpy_dtype
from ..runtime.fault import Cause, Fault
from ..staging.traced import Group
from .scales import left

Values = Callable[[str], Any]
"""Persistent values by their names."""


class _Found(Exception):
    """The first node whose value is not finite, and what it was given."""

    def __init__(self, graph: Graph, node: Node, arrays: tuple[Any, ...]) -> None:
        super().__init__(node.operation)
        self.graph, self.node, self.arrays = graph, node, arrays


class Replay:
    """Explains faults of a session's programs; what `runtime.run` takes as `explain`."""

    def __init__(
        self,
        units: Sequence[Unit],
        session: Session,
        operations: Operations,
        groups: Callable[[str], Group | None] = lambda path: None,
        past: Callable[[], Iterable[tuple[int, Values]]] = tuple,
    ) -> None:
        self._groups, self._past = groups, past
        self._graphs = {unit.name: unit.graph for unit in units}
        self._session = session
        self._operations = operations

    def __call__(self, fault: Fault) -> Cause | None:
        graph = fault.graph or self._graphs[fault.program]
        inputs = self._inputs(graph, fault, self._session.read)
        cause = self._cause(graph, inputs)
        if cause is None or fault.kind != "nonfinite" or "loss" not in fault.outcome.results:
            return cause
        past = ((step, self._inputs(graph, fault, read)) for step, read in self._past())
        return cause._replace(left=left(graph, inputs, past, self._operations))

    def _cause(self, graph: Graph, inputs: Mapping[str, Any]) -> Cause | None:
        try:
            run(graph, inputs, self._operations, watch=_watch)
        except _Found as found:
            return _cause(found)
        except Problem as found:
            return _of_index(found.diagnostic)
        return _of_scalars(graph, inputs) or self._of_before(inputs)

    def _of_before(self, inputs: Mapping[str, Any]) -> Cause | None:
        """The first value that was not finite before the step: one of the data, or the update of
        an earlier step made it, which only a loss or a gradient that it reaches shows."""
        for name, array in inputs.items():
            kind, _, path = name.partition(":")
            if kind == "batch" and _wrong(array):
                return Cause("batch", path, None, (_range(array),))
            if kind in KEPT and _wrong(array):
                owner = path if kind == "parameter" else path.rpartition("/")[0]
                group = self._groups(owner)
                if group is None:
                    return Cause("update", path, None, (_range(array),))
                return Cause(group.name, path, group.span, (_range(array),))
        return None

    def _inputs(self, graph: Graph, fault: Fault, read: Values) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for node in graph.inputs():
            kind, name = node.get("kind"), node.get("name")
            if kind in ("batch", "over"):
                found[f"{kind}:{name}"] = fault.batch[name]
            elif kind == "scalar":
                found[f"{kind}:{name}"] = fault.scalars[name]
            else:
                found[f"{kind}:{name}"] = read(f"{kind}:{name}")
        return found


def _of_scalars(graph: Graph, inputs: Mapping[str, Any]) -> Cause | None:
    """The first number of the step, or of a counter, that its dtype cannot hold."""
    import numpy as np

    for node in graph.inputs():
        if node.get("kind") == "scalar":
            text, type_ = str(node.get("name")), node.types[0]
            with np.errstate(over="ignore"):  # which is what is looked for
                array = np.asarray(inputs[f"scalar:{text}"]).astype(numpy_dtype(type_.dtype))
            if _wrong(array):
                origin = graph.origin(node)
                return Cause("scalar", text, origin.span if origin else None, (_range(array),))
    return None


KEPT = ("parameter", "optimizer", "state")
"""Kinds of values that a step leaves to the next."""


def _watch(graph: Graph, node: Node, arrays: tuple[Any, ...], values: tuple[Any, ...]) -> None:
    """Stop where a value is not finite and none that it was made of was not."""
    if node.operation in ("constant", "input"):
        return
    if any(_wrong(v) for v in values) and not any(_wrong(a) for a in arrays):
        raise _Found(graph, node, arrays)


def _wrong(array: Any) -> int:
    """How many elements are not finite; none of what is not of floats."""
    import numpy as np

    if array.dtype.kind in "iub":
        return 0
    return int(array.size - np.isfinite(array.astype(np.float64)).sum())


def _cause(found: _Found) -> Cause:
    origin = found.graph.origin(found.node)
    given = tuple(_range(a) for a in found.arrays if a.size)
    if origin is None:
        return Cause(found.node.operation, "", None, given, squares=_of_squares(found))
    return Cause(found.node.operation, origin.scope, origin.span, given, gradient=origin.grad)


NORM = ("sqrt", "add", "reduce-sum", "square", "multiply", "cast")
"""What the gradient's norm is made by (step.verdict), by no form of a file."""


def _of_squares(found: _Found) -> str:
    """The dtype of the norm, where it is of that: its gradients are all finite, since they were
    made before."""
    norm = found.graph.results.get("norm")
    waiting = [norm.node] if norm is not None else []
    while waiting:
        node = waiting.pop()
        if node is found.node:
            return norm.dtype if norm is not None else ""
        if node.operation in NORM and found.graph.origin(node) is None:
            waiting += [value.node for value in node.operands]
    return ""


def _range(array: Any) -> dict[str, float]:
    """Of the finite elements; NaN where there is none."""
    import numpy as np

    wide = array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    return {
        "minimum": float(finite.min()) if finite.size else math.nan,
        "maximum": float(finite.max()) if finite.size else math.nan,
        "non_finite": _wrong(array),
    }


def _of_index(d: Diagnostic) -> Cause | None:
    """An operation's own refusal, which the interpreter has given its name and place."""
    if d.code != "E-RUN-INDEX":
        return None
    return Cause(d.message.partition(":")[0], d.scope or "", d.span)
