"""A graph to its results by the operations' references: the oracle, and the reference device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem
from .builder import Builder
from .graph import Graph, Node, Value
from .operation import Operations
from .types import FLOATS, Type, numpy_dtype

if TYPE_CHECKING:
    import numpy as np


Watch = Callable[[Graph, Node, tuple[Any, ...], tuple[Any, ...]], None]
"""Told of every node, those of bodies among them: its graph, its operands' arrays and its own."""


def run(
    graph: Graph,
    inputs: Mapping[str, np.ndarray],
    operations: Operations,
    f64: bool = False,
    watch: Watch | None = None,
) -> dict[str, np.ndarray]:
    """All results by name, owned by the caller. `inputs` by input name or by KIND:NAME, cast to
    the inputs' types.

    `f64`: every float dtype counts as f64, for differences that must be exact. KeyError for an
    input that is missing, ValueError for one of another shape (scalars spread), Problem
    E-RUN-INDEX for an index outside its axis.
    """
    return _Run(graph, inputs, operations, f64, watch).results()


class _Run:
    """Values of the nodes that the results need."""

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Any],
        operations: Operations,
        f64: bool,
        watch: Watch | None,
    ) -> None:
        self.graph = graph
        self.inputs = inputs
        self.operations = operations
        self.f64 = f64
        self.watch = watch
        self.values: dict[tuple[int, int], Any] = {}

    def results(self) -> dict[str, Any]:
        live = self.graph.live()
        last = self._last_uses(live)
        for node in self.graph.nodes:
            if node.id in live:
                self._step(node)
                for gone in last.get(node.id, ()):
                    self.values.pop(gone, None)
        return {k: self._owned(v) for k, v in self.graph.results.items()}

    def _owned(self, value: Value) -> Any:
        """The array, copied where it may be a view of what the caller gave."""
        found = self.values[value.node.id, value.result]
        return found if found.flags.owndata else found.copy()

    def _last_uses(self, live: set[int]) -> dict[int, list[tuple[int, int]]]:
        """Which values are needed no more after a node."""
        last: dict[tuple[int, int], int] = {}
        for node in self.graph.nodes:
            if node.id in live:
                last.update({(v.node.id, v.result): node.id for v in node.operands})
        for v in self.graph.results.values():
            last.pop((v.node.id, v.result), None)
        found: dict[int, list[tuple[int, int]]] = {}
        for value, at in last.items():
            found.setdefault(at, []).append(value)
        return found

    def _step(self, node: Node) -> None:
        arrays = tuple(self.values[v.node.id, v.result] for v in node.operands)
        types = self.types(node)
        if node.operation == "input":
            found = (self._input(node, types[0]),)
        else:
            found = self._apply(node, arrays, types)
        if self.watch is not None:
            self.watch(self.graph, node, arrays, found)
        for i, value in enumerate(found):
            self.values[node.id, i] = value

    def types(self, node: Node) -> tuple[Type, ...]:
        """Of a node's results, in f64 where that is asked."""
        if not self.f64:
            return node.types
        return tuple(t._replace(dtype="f64") if t.dtype in FLOATS else t for t in node.types)

    def _input(self, node: Node, type_: Type) -> Any:
        import numpy as np

        name = node.get("name")
        key = f"{node.get('kind')}:{name}"
        value = np.asarray(self.inputs[key if key in self.inputs else name])
        if value.shape not in (type_.shape, ()):
            raise ValueError(f"input {name} is {type_} and was given {value.shape}")
        with np.errstate(over="ignore", invalid="ignore"):  # a number that the dtype cannot hold
            value = value.astype(numpy_dtype(type_.dtype), copy=False)
        return np.broadcast_to(value, type_.shape)

    def _apply(
        self, node: Node, arrays: tuple[Any, ...], types: tuple[Type, ...]
    ) -> tuple[Any, ...]:
        if node.operation in BODIED:
            return BODIED[node.operation](self, node, arrays)
        if self.f64 and node.operation == "bitcast":
            arrays = (arrays[0].astype(numpy_dtype(node.operands[0].dtype)),)
        try:
            operation = self.operations[node.operation]
            return operation.reference(arrays, dict(node.attributes), types)
        except NotImplementedError:
            return self._expanded(node, arrays)
        except Problem as found:
            raise self._placed(found, node) from None

    def _placed(self, found: Problem, node: Node) -> Problem:
        """A fault of the data, with the operation's name and place."""
        told = found.diagnostic
        message = f"{node.operation}: {told.message}"
        found.diagnostic = told._replace(message=message, scope=told.scope or self._scope(node))
        origin = self.graph.origin(node)
        return found if origin is None else found.locate(origin.span, origin.expansion)

    def _scope(self, node: Node) -> str | None:
        origin = self.graph.origin(node)
        return origin.scope if origin is not None else None

    def body(self, key: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """A body's results by name."""
        return run(self.graph.bodies[key], given, self.operations, self.f64, self.watch)

    def _expanded(self, node: Node, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        graph = expansion(node, self.operations)
        given = {str(i): a for i, a in enumerate(arrays)}
        found = run(graph, given, self.operations, self.f64)
        return tuple(found[str(i)] for i in range(len(node.types)))


def _update(of: _Run, node: Node, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(of.body(node.get("body"), dict(zip(node.get("inputs"), arrays))).values())


def _cond(of: _Run, node: Node, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    key = node.get("body" if arrays[0] else "other")
    given = dict(zip(node.get("inputs"), arrays))
    found = of.body(key, given)
    return tuple(found[name] for name, _, _ in node.get("results"))


def _while(of: _Run, node: Node, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    given = dict(zip(node.get("inputs"), arrays))
    names = [name for name, _, _ in node.get("results")]
    trips = 0
    while trips < node.get("limit") and given[names[-1]]:
        given.update(of.body(node.get("body"), given))
        trips += 1
    return tuple(given[name] for name in names)


def _scan(of: _Run, node: Node, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Trip by trip; what is stacked is written at the trip's place."""
    import numpy as np

    given = dict(zip(node.get("inputs"), arrays))
    whole = {name: a for name, a in given.items() if name.startswith("x:")}
    made = {
        name: np.zeros(t.shape, numpy_dtype(t.dtype))
        for (name, _, _), t in zip(node.get("results"), of.types(node))
        if name.startswith("y:")
    }
    trips = range(node.get("length"))
    for trip in reversed(trips) if node.get("reverse") else trips:
        given.update({name: a[trip] for name, a in whole.items()})
        found = of.body(node.get("body"), given)
        for name, value in found.items():
            if name in made:
                made[name][trip] = value
            else:
                given[name] = value
    return tuple(made.get(name, given.get(name)) for name, _, _ in node.get("results"))


BODIED: dict[str, Callable[[_Run, Node, tuple[Any, ...]], tuple[Any, ...]]] = {
    "update": _update,
    "cond": _cond,
    "while": _while,
    "scan": _scan,
}
"""Operations that apply a body."""


def expansion(node: Node, operations: Operations) -> Graph:
    """A graph of one composite's primitives: inputs and results are named "0", "1", ...

    Raises NotImplementedError for an operation that has neither reference nor expansion.
    """
    b = Builder(operations)
    operands = tuple(
        b.input(str(i), "residue", v.dtype, v.shape) for i, v in enumerate(node.operands)
    )
    copy = Node(node.operation, operands, node.attributes, node.types, "", 0, -1)
    found: tuple[Value, ...] | None = operations[node.operation].expand(b, copy)
    if found is None:
        raise NotImplementedError(f"{node.operation} has neither reference nor expansion")
    b.graph.results = {str(i): v for i, v in enumerate(found)}
    return b.graph
