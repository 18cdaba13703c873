"""Where library calls write: in the order or the part of a concat that a result's user wants."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Node, Value
from .kernel import View
from .places import Places
from .views import dense_strides, part, regroup, suits_attention, suits_matmul

WRITERS: dict[str, Callable[[View], bool]] = {
    **dict.fromkeys(("matmul", "matmul-bias", "matmul-gelu-slope"), suits_matmul),
    "attention-backward": suits_attention,
}
"""Operations that write results with strides, and how these may lie."""
_MOVES = frozenset(("permute", "reshape"))
"""What a result goes through on its way to where it is wanted."""

Users = dict[Value, list[Node]]


def lay_results(places: Places) -> None:
    """A result that is only used in another order, or as a part of a concat, is written so."""
    users: Users = {}
    for node in places.prepared.nodes:
        for value in node.operands:
            source = value.node.operation
            if source in WRITERS or source in _MOVES:
                users.setdefault(value, []).append(node)
    outside = set(places.prepared.results.values())
    for node in places.prepared.nodes:
        if node.operation in WRITERS:
            for k in range(len(node.types)):
                _lay(places, Value(node, k), users, outside)


def _lay(places: Places, result: Value, users: Users, outside: set[Value]) -> None:
    """Follow the only user of each value; lay the result where the last one wants it."""
    chain: list[Node] = []
    value = result
    while len(users.get(value, ())) == 1 and value not in outside:
        user = users[value][0]
        if user.operation == "concat":
            _lay_back(places, result, chain, _concat_part(places, user, value))
            return
        if user.operation not in _MOVES:
            break
        chain.append(user)
        value = Value(user)
    for length in range(len(chain), 0, -1):
        last = chain[length - 1]
        if last.operation == "permute":
            type = last.types[0]
            view = View(-1, type.dtype, type.shape, dense_strides(type.shape))
            _lay_back(places, result, chain[:length], view)
            return


def _concat_part(places: Places, concat: Node, operand: Value) -> View:
    whole = places.bases.get(Value(concat))
    if whole is None:
        whole = places.bases[Value(concat)] = places.dense(concat.types[0])
    axis, at = concat.get("axis"), 0
    for value in concat.operands:
        if value == operand:
            break
        at += value.shape[axis]
    starts = tuple(at if a == axis else 0 for a in range(len(whole.shape)))
    return part(whole, starts, (1,) * len(starts), operand.shape)


def _lay_back(places: Places, result: Value, chain: list[Node], view: View) -> None:
    """Lay a result so that the end of a chain of moves has this view, if its call can."""
    strides = view.strides
    for node in reversed(chain):
        below = node.operands[0].shape
        if node.operation == "permute":
            back = [0] * len(below)
            for k, a in enumerate(node.get("axes")):
                back[a] = strides[k]
            strides = tuple(back)
        else:
            found = regroup(node.types[0].shape, strides, below)
            if found is None:
                return
            strides = found
    type = result.type
    laid = View(view.storage, type.dtype, type.shape, strides, view.offset)
    if strides[-1] != 1 or not WRITERS[result.node.operation](laid):
        return
    if view.storage < 0:
        laid = View(places.dense(type).storage, type.dtype, type.shape, strides, 0)
    places.bases[result] = laid
