"""Where matrix products are written: in the order or the part of a concat that their user wants."""

from __future__ import annotations

from ..ir import Node, Value
from .kernel import View
from .places import Places
from .views import dense_strides, part, regroup, suits_matmul

_CHAIN = frozenset(("matmul", "permute", "reshape"))
"""What a product goes through on its way to where it is wanted."""


def lay_products(places: Places) -> None:
    """A product that is only used in another order, or as a part of a concat, is written so."""
    users: dict[int, list[Node]] = {}
    for node in places.prepared.nodes:
        for source, _ in node.operands:
            if source.operation in _CHAIN:
                users.setdefault(source.id, []).append(node)
    outside = {v.node.id for v in places.prepared.results.values()}
    for node in places.prepared.nodes:
        if node.operation == "matmul" and node.id not in outside:
            _lay(places, node, users, outside)


def _lay(places: Places, product: Node, users: dict[int, list[Node]], outside: set[int]) -> None:
    """Follow the only user of each result; lay the product where the last one wants it."""
    chain: list[Node] = []
    node = product
    while len(users.get(node.id, ())) == 1 and node.id not in outside:
        user = users[node.id][0]
        if user.operation == "concat":
            _lay_back(places, product, chain, _concat_part(places, user, node))
            return
        if user.operation not in ("permute", "reshape"):
            break
        chain.append(user)
        node = user
    for length in range(len(chain), 0, -1):
        last = chain[length - 1]
        if last.operation == "permute":
            type = last.types[0]
            view = View(-1, type.dtype, type.shape, dense_strides(type.shape))
            _lay_back(places, product, chain[:length], view)
            return


def _concat_part(places: Places, concat: Node, operand: Node) -> View:
    whole = places.bases.get(Value(concat))
    if whole is None:
        whole = places.bases[Value(concat)] = places.dense(concat.types[0])
    axis, at = concat.get("axis"), 0
    for value in concat.operands:
        if value.node is operand:
            break
        at += value.shape[axis]
    starts = tuple(at if a == axis else 0 for a in range(len(whole.shape)))
    return part(whole, starts, (1,) * len(starts), operand.types[0].shape)


def _lay_back(places: Places, product: Node, chain: list[Node], view: View) -> None:
    """Lay a product so that the end of a chain of moves has this view, if a product can."""
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
    type = product.types[0]
    laid = View(view.storage, type.dtype, type.shape, strides, view.offset)
    if strides[-1] != 1 or not suits_matmul(laid):
        return
    if view.storage < 0:
        laid = View(places.dense(type).storage, type.dtype, type.shape, strides, 0)
    places.bases[Value(product)] = laid
