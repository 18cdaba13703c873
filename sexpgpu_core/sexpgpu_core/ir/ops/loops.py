"""Loops and choices as nodes with bodies: `scan`, `while` and `cond`.

A body's inputs are "carry:I" (what the trip before left), "x:I" (the trip's part of what is stacked
on axis 0) and "capture:I" (the same for all trips); its results are "carry:I" and "y:I". A node's
attribute `inputs` names its operands so, `results` its results with the types of the body's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..graph import Graph, Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import Type
from .op import Op, Types
from .shapes import argument, check_count
from .update import inline

if TYPE_CHECKING:
    from ..builder import Builder

Named = Mapping[str, Value]
FOREVER = 1 << 62


def _scan(op: Op, operands: Types, attributes: Attributes) -> Types:
    length = attributes["length"]
    _check_inputs(op, operands, attributes)
    for name, type in zip(attributes["inputs"], operands):
        if name.startswith("x:") and type.shape[:1] != (length,):
            raise argument(op, operands, f"what is stacked has {length} on axis 0")
    return tuple(
        Type(dtype, shape if name.startswith("carry:") else (length, *shape))
        for name, dtype, shape in attributes["results"]
    )


def _check_inputs(op: Op, operands: Types, attributes: Attributes) -> None:
    check_count(op, operands, len(attributes["inputs"]))
    given = dict(zip(attributes["inputs"], operands))
    for name, dtype, shape in attributes["results"]:
        if name.startswith("carry:") and given.get(name) != Type(dtype, shape):
            raise argument(op, operands, f"{name} changes its type")


def _carries(op: Op, operands: Types, attributes: Attributes) -> Types:
    _check_inputs(op, operands, attributes)
    return tuple(Type(dtype, shape) for _, dtype, shape in attributes["results"])


def _chosen(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, len(attributes["inputs"]))
    if operands[0] != Type("bool"):
        raise argument(op, operands, "the test is a bool scalar")
    return tuple(Type(dtype, shape) for _, dtype, shape in attributes["results"])


def _cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    # What the body computes is not at hand: `flops_of` asks it.
    return Cost(0, sum(t.bytes for t in operands), sum(t.bytes for t in results))


def body_key(b: Builder, body: Graph) -> str:
    """The body kept in the builder's graph under its hash."""
    from ..hash import graph_hash

    key = graph_hash(body, b.operations)
    b.graph.bodies.setdefault(key, body)
    return key


def _results(body: Graph) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    return tuple((name, v.dtype, v.shape) for name, v in body.results.items())


def scan(
    b: Builder,
    body: Graph,
    operands: Named,
    length: int,
    reverse: bool = False,
    save: str | None = None,
) -> dict[str, Value]:
    """A `scan` node of a body: the last carries, and the y of all trips stacked, by name. `save`:
    "carry" where the backward pass computes a trip again, else it keeps what it needs of each."""
    more: dict[str, Any] = {"length": length, "reverse": reverse or None, "save": save}
    return _applied(b, "scan", body, operands, more)


def repeat(b: Builder, body: Graph, operands: Named, limit: int = FOREVER) -> dict[str, Value]:
    """A `while` node: trips while the last carry, a bool scalar, holds, at most `limit`."""
    return _applied(b, "while", body, operands, {"limit": limit})


def _applied(
    b: Builder, operation: str, body: Graph, operands: Named, more: dict[str, Any]
) -> dict[str, Value]:
    found = b.several(
        operation,
        *operands.values(),
        body=body_key(b, body),
        inputs=tuple(operands),
        results=_results(body),
        **more,
    )
    return dict(zip(body.results, found))


def choose(b: Builder, test: Value, yes: Graph, no: Graph, operands: Named) -> dict[str, Value]:
    """A `cond` node: the results of one body or the other, which have equal names and types."""
    found = b.several(
        "cond",
        test,
        *operands.values(),
        body=body_key(b, yes),
        other=body_key(b, no),
        inputs=("test", *operands),
        results=_results(yes),
    )
    return dict(zip(yes.results, found))


def _as_loops(b: Builder, node: Node) -> tuple[Value, ...]:
    """A choice as two loops of at most one trip: what the first leaves the second may replace."""
    test, *rest = node.operands
    names = node.get("inputs")[1:]
    types = [Type(dtype, shape) for _, dtype, shape in node.get("results")]
    carries = [b.constant(0, *t) for t in types]
    for key, go in ((node.get("body"), test), (node.get("other"), b("logical-not", test))):
        body = _once(b, b.graph.bodies[key], names, [v.type for v in rest], types)
        operands = {f"carry:{i}": v for i, v in enumerate((*carries, go))}
        operands.update(zip(names, rest))
        found = repeat(b, body, operands, 1)
        carries = [found[f"carry:{i}"] for i in range(len(types))]
    return tuple(carries)


def _once(
    around: Builder, body: Graph, names: tuple[str, ...], given: list[Type], types: list[Type]
) -> Graph:
    """A loop's body that gives what a choice's does, and no more trips."""
    b = type(around)(around.operations)
    operands = {n: b.input(n, "body", *t) for n, t in zip(names, given)}
    for i, t in enumerate((*types, Type("bool"))):
        b.input(f"carry:{i}", "body", *t)
    found = inline(b, body, operands)
    made = [*found.values(), b.constant(False, "bool")]
    b.graph.results = {f"carry:{i}": v for i, v in enumerate(made)}
    return b.graph


def _row(name: str, infer: Any, doc: str, gradient: str, expand: Any = None) -> Op:
    return Op(name, "", Fusion.OPAQUE, Precision.EXACT, infer, doc, gradient, expand, cost=_cost)


ROWS = [
    _row(
        "scan",
        _scan,
        "A body applied trip by trip. Attributes body, inputs, results, length, reverse (from the "
        "last trip), save. Gradient: a scan the other way.",
        "body",
    ),
    _row(
        "while",
        _carries,
        "A body applied while its last carry, a bool scalar, holds. Attributes body, inputs, "
        "results, limit (most trips). Gradient: none.",
        "none",
    ),
    _row(
        "cond",
        _chosen,
        "The results of one of two bodies. Operands test (a bool scalar), captures. Attributes "
        "body (where it holds), other, inputs, results. Gradient: a choice of the bodies'.",
        "body",
        _as_loops,
    ),
]
