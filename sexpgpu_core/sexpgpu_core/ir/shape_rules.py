"""Local rules of shape operations, reductions and products: identities dropped, views joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .graph import Node, Value
from .splats import LocalRule, Operands, is_number, splat
from .types import broadcast

if TYPE_CHECKING:
    from .builder import Builder


def _rule_reshape(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, shape = o[0], a["shape"]
    if x.shape == shape:
        return x
    node = x.node
    if node.operation == "reshape":
        return b("reshape", node.operands[0], shape=shape)
    return _splat_as(b, x, shape)


def _splat_as(b: Builder, x: Value, shape: tuple[int, ...]) -> Value | None:
    number = splat(x)
    if number is None:
        return None
    return b("constant", value=number, dtype=x.dtype, shape=shape)


def _rule_broadcast(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, shape = o[0], a["shape"]
    if x.shape == shape:
        return x
    if x.node.operation == "broadcast-to" and broadcast(x.shape, shape) == shape:
        return b("broadcast-to", x.node.operands[0], shape=shape)
    return _splat_as(b, x, shape) if broadcast(x.shape, shape) == shape else None


def _rule_permute(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, axes = o[0], a["axes"]
    if axes == tuple(range(len(x.shape))):
        return x
    if sorted(axes) != list(range(len(x.shape))):
        return None
    if x.node.operation == "permute":
        inner = x.node.get("axes")
        return b("permute", x.node.operands[0], axes=tuple(inner[i] for i in axes))
    return _splat_as(b, x, tuple(x.shape[i] for i in axes)) if splat(x) is not None else None


def _rule_slice(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x = o[0]
    whole = a["stops"] == x.shape and not any(a["starts"]) and all(s == 1 for s in a["steps"])
    if whole:
        return x
    return _part_of_iota(b, x.node, a) if x.node.operation == "iota" else None


def _part_of_iota(b: Builder, iota: Node, a: dict[str, Any]) -> Value | None:
    """A slice of an iota is a shorter one, scaled and moved: nothing is stored for it. Floats of 16
    bits would be rounded twice."""
    dtype, axis = iota.types[0].dtype, iota.get("axis")
    if dtype in ("bf16", "f16"):
        return None
    counts = zip(a["starts"], a["stops"], a["steps"])
    shape = tuple(max(0, -(-(stop - start) // step)) for start, stop, step in counts)
    found = b("iota", dtype=dtype, shape=shape, axis=axis)
    for operation, number in (("multiply", a["steps"][axis]), ("add", a["starts"][axis])):
        found = b(operation, found, b.constant(number, dtype))
    return found


def _rule_pad(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    return None if any(a["low"] + a["high"] + (a.get("interior") or ())) else o[0]


def _rule_flip(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x = o[0]
    if not a["axes"]:
        return x
    node = x.node
    if node.operation == "flip" and node.get("axes") == a["axes"]:
        return node.operands[0]
    return x if splat(x) is not None else None


def _rule_concat(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    return o[0] if len(o) == 1 else None


def _rule_sum(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, axes = o[0], a["axes"]
    if not axes:
        return x
    node = x.node
    if is_number(x, 0):
        keep = a.get("keep")
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape) if keep or i not in axes)
        return _splat_as(b, x, shape)
    if node.operation == "reshape" and not a.get("keep") and axes == tuple(range(len(x.shape))):
        inner = node.operands[0]
        return b("reduce-sum", inner, axes=tuple(range(len(inner.shape))), keep=False)
    return None


def _rule_reduce(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    return o[0] if not a["axes"] else None


def _rule_matmul(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    x, y = _untransposed(o[0]), _untransposed(o[1])
    if x is None and y is None:
        return None
    flags = {
        "transpose-x": (bool(a.get("transpose-x")) != (x is not None)) or None,
        "transpose-y": (bool(a.get("transpose-y")) != (y is not None)) or None,
    }
    return b("matmul", x or o[0], y or o[1], **flags)


def _untransposed(value: Value) -> Value | None:
    """What a value is the transposition (of the last two axes) of."""
    node = value.node
    if node.operation != "permute":
        return None
    rank = len(value.shape)
    if rank < 2:
        return None
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    return node.operands[0] if node.get("axes") == swapped else None


def _rule_scatter_add(b: Builder, o: Operands, a: dict[str, Any]) -> Value | None:
    return o[0] if is_number(o[2], 0) and a.get("out") == "drop" else None


RULES: dict[str, LocalRule] = {
    "reshape": _rule_reshape,
    "broadcast-to": _rule_broadcast,
    "permute": _rule_permute,
    "slice": _rule_slice,
    "pad": _rule_pad,
    "flip": _rule_flip,
    "concat": _rule_concat,
    "reduce-sum": _rule_sum,
    "reduce-max": _rule_reduce,
    "reduce-min": _rule_reduce,
    "reduce-product": _rule_reduce,
    "reduce-any": _rule_reduce,
    "reduce-all": _rule_reduce,
    "matmul": _rule_matmul,
    "scatter-add": _rule_scatter_add,
}
