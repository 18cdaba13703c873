"""Tensors, nil, and lists of such: taken apart into nodes and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Union

from ..evaluator.builtins.listing import proper
from ..evaluator.values import NIL, Cons, Value, make_list
from ..ir.graph import Value as Node
from .promote import node_of, operands
from .tensor import is_tensor
from .tracer import Tracer

Structure = Union[None, str, tuple["Structure", ...]]  # noqa: UP007
"""None for nil, a name for a tensor, or a tuple of such for a list."""
TENSOR = "tensor"


def structure_of(name: str, value: Value) -> Structure:
    """What a value is made of; a number counts as a tensor."""
    if value is NIL:
        return None
    if value.__class__ is Cons:
        return tuple([structure_of(name, v) for v in proper(name, value)])
    return TENSOR


def leaves(name: str, value: Value, t: Tracer) -> list[Node]:
    """The tensors of a value, in order; numbers are f32 or i32. E-STAGE-VALUE for other things."""
    if value is NIL:
        return []
    if value.__class__ is Cons:
        return [node for v in proper(name, value) for node in leaves(name, v, t)]
    if is_tensor(value):
        return [node_of(name, value, t)]
    return operands(name, (value,))[1]


def put_together(structure: Structure, nodes: Sequence[Node], t: Tracer) -> Value:
    """The value of a structure with these tensors."""
    return _value(structure, iter(nodes), t)


def _value(structure: Structure, nodes: Iterator[Node], t: Tracer) -> Value:
    if structure is None:
        return NIL
    if isinstance(structure, tuple):
        return make_list([_value(part, nodes, t) for part in structure])
    return t.tensor(next(nodes))


def told(structure: Structure) -> str:
    """A structure in a message."""
    if structure is None:
        return "nil"
    if isinstance(structure, tuple):
        return "(list " + " ".join(map(told, structure)) + ")"
    return structure
