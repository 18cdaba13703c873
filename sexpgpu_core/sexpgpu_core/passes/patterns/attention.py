"""Attention written out: scores of queries and keys, their softmax, its product with values.

By `matmul` or `einsum`, with one, two or no axes of batch and heads, a scale, a bias that is added
and a mask that softmax is given; a mask by `where` is one if it is causal and of the lowest float.
"""

from __future__ import annotations

from ...ir import Builder, Node, Value
from ...ir.ops.einsum import parse
from ...ir.rounding import float_highest
from ...records import NamedTuple
from .match import Match, Near, either, number

Labels = tuple[str, ...]
LOW = (
    "what is masked gets a number that a finite score may be below; say (softmax scores :mask m), "
    "or the lowest float"
)
EMPTY = (
    "a row whose mask admits no key is not 0 as written; say (softmax scores :mask m), or use "
    "(causal-mask n)"
)


class Product(NamedTuple):
    """A product of two operands by the labels of their axes."""

    x: Value
    x_labels: Labels
    y: Value
    y_labels: Labels
    labels: Labels


class Parts(NamedTuple):
    """What is found on the way from a softmax down to its scores."""

    product: Product
    scale: float
    causal: bool
    mask: Value | None
    bias: Value | None


def attention(node: Node) -> Match | None:
    outer = _product(node)
    if outer is None:
        return None
    for w, w_labels, v, v_labels in (outer[:4], (*outer[2:4], *outer[:2])):
        share = w.node
        if share.operation == "softmax" and w.shape:
            found = _attention(share, w_labels, v, v_labels, outer.labels)
            if found is not None:
                return found
    return None


def _product(node: Node) -> Product | None:
    x, y = node.operands[0], node.operands[-1]
    if len(node.operands) != 2:
        return None
    if node.operation == "einsum":
        terms = parse(node.get("subscripts"), (len(x.shape), len(y.shape)))
        return Product(x, terms.operands[0], y, terms.operands[1], terms.result)
    rank = len(x.shape)
    if rank != len(y.shape) or x.shape[:-2] != y.shape[:-2]:
        return None
    lead = tuple([f"b{i}" for i in range(rank - 2)])
    own = ("k", "m") if node.get("transpose-x") else ("m", "k")
    other = ("n", "k") if node.get("transpose-y") else ("k", "n")
    return Product(x, lead + own, y, lead + other, (*lead, "m", "n"))


def _attention(
    share: Node, w_labels: Labels, v: Value, v_labels: Labels, labels: Labels
) -> Match | None:
    parts = _parts(share)
    if parts is None:
        return None
    axes = _Axes.of(parts.product, share.get("axis"))
    if axes is None or len(w_labels) != len(axes.scores):
        return None
    known = dict(zip(w_labels, axes.scores))
    named = tuple([known.get(label, "value") for label in v_labels])
    result = tuple([known.get(label, "value") for label in labels])
    if not axes.takes(named, result):
        return None
    return _match(parts, axes, v, named, result)


def _parts(share: Node) -> Parts | None:
    """From the softmax down: mask, bias, scale, in this order; then the product."""
    scale, causal, bias = float(share.get("scale", 1.0)), False, None
    mask = share.operands[1] if len(share.operands) == 2 else None
    value = share.operands[0]
    node = value.node
    if node.operation == "where" and mask is None and _is_product(node.operands[1]):
        _check_lowest(node)
        causal, node = True, node.operands[1].node
    if node.operation == "add":
        found = _biased(node)
        if found is None or scale != 1.0:
            return None
        node, bias = found
    while node.operation in ("multiply", "divide"):
        step = _scaled(node)
        if step is None:
            return None
        node, scale = step[0], scale * step[1]
    product = _product(node) if node.operation in ("matmul", "einsum") else None
    return None if product is None else Parts(product, scale, causal, mask, bias)


def _is_product(value: Value, depth: int = 4) -> bool:
    """Whether scores of a product are under a few numbers and a bias."""
    node = value.node
    if node.operation in ("matmul", "einsum"):
        return True
    if node.operation not in ("multiply", "divide", "add") or not depth:
        return False
    return any(_is_product(v, depth - 1) for v in node.operands)


def _check_lowest(node: Node) -> None:
    """A mask by `where` is that of softmax only if no score can be below what stands for it."""
    test, scores, low = node.operands
    lowest = number(low)
    if lowest is None or lowest > -float_highest(scores.dtype):
        raise Near(LOW)
    if not _is_causal(test, scores.shape):
        raise Near(EMPTY)


def _is_causal(test: Value, shape: tuple[int, ...]) -> bool:
    """key <= query by two iotas, of the last two axes."""
    node = test.node
    if node.operation not in ("less-equal", "greater-equal"):
        return False
    key, query = node.operands if node.operation == "less-equal" else node.operands[::-1]
    return (
        test.shape[-2:] == shape[-2:]
        and all(n == 1 for n in test.shape[:-2])
        and _counts(key, -1)
        and _counts(query, -2)
    )


def _counts(value: Value, axis: int) -> bool:
    node = value.node
    rank = len(value.shape)
    return node.operation == "iota" and rank >= -axis and node.get("axis") == rank + axis


def _biased(node: Node) -> tuple[Node, Value] | None:
    for scores, bias in either(node.operands):
        if scores.shape == node.types[0].shape and _is_product(scores):
            return scores.node, bias
    return None


def _scaled(node: Node) -> tuple[Node, float] | None:
    x, y = node.operands
    if node.operation == "divide":
        n = number(y)
        return (x.node, 1.0 / n) if n and x.shape == node.types[0].shape else None
    for a, b in either(node.operands):
        n = number(b)
        if n is not None and a.shape == node.types[0].shape:
            return a.node, n
    return None


class _Axes(NamedTuple):
    """The labels of scores by what they are: batch (at most two, heads last), query, key, depth;
    and the queries and keys themselves."""

    batch: Labels
    query: str
    key: str
    depth: str
    scores: Labels
    q: Value
    q_labels: Labels
    k: Value
    k_labels: Labels

    @staticmethod
    def of(p: Product, axis: int) -> _Axes | None:
        key = p.labels[axis]
        sides = (p.x, p.x_labels, p.y, p.y_labels)
        if key in p.x_labels:
            sides = (p.y, p.y_labels, p.x, p.x_labels)
        q_labels, k_labels = set(sides[1]), set(sides[3])
        batch = tuple([a for a in p.labels if a in q_labels and a in k_labels])
        query = [a for a in p.labels if a in q_labels and a not in k_labels]
        depth = (q_labels & k_labels) - set(p.labels)
        whole = len(sides[1]) == len(sides[3]) == len(batch) + 2 == len(p.labels)
        if not whole or len(query) != 1 or len(depth) != 1 or key in batch or len(batch) > 2:
            return None
        return _Axes(batch, query[0], key, depth.pop(), p.labels, *sides)

    def takes(self, values: Labels, result: Labels) -> bool:
        """Whether the second product is over keys, and gives values a query."""
        return set(values) == {*self.batch, self.key, "value"} and set(result) == {
            *self.batch,
            self.query,
            "value",
        }

    def by_place(self, sequence: str, depth: str) -> Labels:
        """Batch, place, head, depth: those that there are."""
        return (*self.batch[:1], sequence, *self.batch[1:], depth)


def _match(parts: Parts, axes: _Axes, v: Value, v_labels: Labels, result: Labels) -> Match:
    extras = {"mask": parts.mask, "bias": parts.bias}
    given = {name: value for name, value in extras.items() if value is not None}
    attributes = {
        "scale": parts.scale,
        "causal": parts.causal or None,
        "extras": tuple(given) or None,
    }

    def make(b: Builder) -> Value:
        q = _laid(b, axes.q, axes.q_labels, axes.by_place(axes.query, axes.depth), len(axes.batch))
        k = _laid(b, axes.k, axes.k_labels, axes.by_place(axes.key, axes.depth), len(axes.batch))
        values = _laid(b, v, v_labels, axes.by_place(axes.key, "value"), len(axes.batch))
        more = [_over_scores(b, x, axes) for x in given.values()]
        found = b("attention", q, k, values, *more, **attributes)
        order = axes.by_place(axes.query, "value")
        sizes = [n for n, there in zip(found.shape, _there(len(axes.batch))) if there]
        flat = b("reshape", found, shape=tuple(sizes))
        return b("permute", flat, axes=tuple([order.index(a) for a in result]))

    return Match("attention", (axes.q, axes.k, v, *given.values()), attributes, make=make)


def _there(batch: int) -> tuple[bool, bool, bool, bool]:
    """Which of batch, place, head and depth the file has an axis for."""
    return batch > 0, True, batch > 1, True


def _laid(b: Builder, x: Value, labels: Labels, order: Labels, batch: int) -> Value:
    """As (batch place head depth), absent ones of size 1."""
    moved = b("permute", x, axes=tuple([labels.index(a) for a in order]))
    sizes = iter(moved.shape)
    return b("reshape", moved, shape=tuple([next(sizes) if t else 1 for t in _there(batch)]))


def _over_scores(b: Builder, x: Value, axes: _Axes) -> Value:
    """A mask or bias, which broadcasts to the scores, as (batch head query key)."""
    rank = len(axes.scores)
    whole = b("reshape", x, shape=(1,) * (rank - len(x.shape)) + x.shape)
    order = (*axes.batch, axes.query, axes.key)
    moved = b("permute", whole, axes=tuple([axes.scores.index(a) for a in order]))
    sizes = iter(moved.shape)
    there = (len(axes.batch) > 0, len(axes.batch) > 1, True, True)
    return b("reshape", moved, shape=tuple([next(sizes) if t else 1 for t in there]))
