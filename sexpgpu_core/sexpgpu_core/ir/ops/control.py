"""Operations with bodies that are differentiated: a body is a graph in `graph.bodies` by its hash.

The inputs of a body have kind "body"; a node's attribute `inputs` names them in the order of its
operands. `custom-gradient` gives its first operands on, and its body is their backward function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Node, Value
from ..operation import Attributes, Fusion, Precision
from .leaf import same_axes
from .op import Cotangents, Op, Types, move_cost
from .shapes import check_count
from .update import inline

if TYPE_CHECKING:
    from ..builder import Builder


def _given_on(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, len(attributes["inputs"]))
    return operands[: attributes["values"]]


def _backward(b: Builder, node: Node, out: Cotangents | Value) -> Cotangents:
    """What the body makes of the cotangents, for the operands that stand for x."""
    several = (out,) if isinstance(out, Value) else out
    names = node.get("inputs")
    given = dict(zip(names, node.operands))
    for i, (g, type) in enumerate(zip(several, node.types)):
        given[f"cotangent:{i}"] = b.constant(0, *type) if g is None else g
    found = inline(b, b.graph.bodies[node.get("body")], given)
    return tuple(found.get(name) for name in names)


def _first_operands(b: Builder, node: Node) -> tuple[Value, ...]:
    return node.operands[: node.get("values")]


ROWS = [
    Op(
        "custom-gradient",
        "",
        Fusion.MOVE,
        Precision.EXACT,
        _given_on,
        "The first operands, attribute values of them, with a backward function of their own: a "
        'body of "y:I" (these), "x:I", "cotangent:I" and "capture:I" that gives "x:I". '
        "Attributes body, inputs (names of the operands), values. Gradient: the body's.",
        _backward,
        _first_operands,
        cost=move_cost,
        depends=same_axes,
    ),
]
