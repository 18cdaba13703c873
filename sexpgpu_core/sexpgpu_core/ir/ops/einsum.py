"""Einsum: any subscripts, made of permute, reshape, sums and one matmul a pair of operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...diagnostics import problem
from ...records import NamedTuple
from ..graph import Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import Type
from .contraction import product
from .op import Op, Types
from .shapes import argument, same_dtype, size, want_number

if TYPE_CHECKING:
    from ..builder import Builder

Labels = tuple[str, ...]


class Subscripts(NamedTuple):
    """Labels of each operand and of the result; those of `...` are "0", "1" from the end."""

    operands: tuple[Labels, ...]
    result: Labels


def parse(text: str, ranks: tuple[int, ...]) -> Subscripts:
    """From `"bqhd,bkhd->bhqk"`. Without an arrow: labels that stand once, in alphabetic order.

    Raises E-SHAPE-ARGUMENT where the text does not fit the operands.
    """
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise _wrong(text, f"it names {len(terms)} operands, {len(ranks)} are given")
    operands = tuple(_labels(text, t, r) for t, r in zip(terms, ranks))
    dots = max((sum(c.isdigit() for c in o) for o in operands), default=0)
    ellipsis = tuple(str(i) for i in reversed(range(dots)))
    if not arrow:
        letters = left.replace(",", "").replace(".", "")
        return Subscripts(
            operands, (*ellipsis, *sorted(c for c in letters if letters.count(c) == 1))
        )
    head, dotted, tail = right.partition("...")
    result = (*head, *(ellipsis if dotted else ()), *tail)
    known = {c for o in operands for c in o}
    if len(set(result)) != len(result) or not known.issuperset(result):
        for label in result:
            if label not in known:
                raise _wrong(text, f"label {label} of the result is in no operand")
        raise _wrong(text, "a label stands twice in the result")
    return Subscripts(operands, result)


def _labels(text: str, term: str, rank: int) -> Labels:
    head, dotted, tail = term.partition("...")
    if not (head + tail).isalpha() and head + tail:
        raise _wrong(text, f"{term} is not made of letters and one ...")
    free = rank - len(head) - len(tail)
    if free < 0 or (free and not dotted):
        raise _wrong(text, f"{term} names {len(head + tail)} axes of an operand with {rank}")
    return (*head, *(str(i) for i in reversed(range(free))), *tail)


def _wrong(text: str, why: str) -> Exception:
    return problem(
        "E-SHAPE-ARGUMENT",
        f'einsum "{text}": {why}',
        hint='a letter for each axis, a comma between operands: "bi,ij->bj"',
        subscripts=text,
    )


def _sizes(op: Op, operands: Types, subscripts: Subscripts) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for t, labels in zip(operands, subscripts.operands):
        for label, n in zip(labels, t.shape):
            known = sizes.get(label, n)
            if known != n and not (label.isdigit() and 1 in (known, n)):
                raise argument(op, operands, f"label {label} is {known} in one and {n} in another")
            sizes[label] = n if known == 1 else known
    return sizes


def _infer(op: Op, operands: Types, attributes: Attributes) -> Types:
    if not operands:
        raise argument(op, operands, "it takes operands")
    dtype = same_dtype(op, operands)
    want_number(op, dtype)
    found = parse(attributes["subscripts"], tuple(t.rank for t in operands))
    sizes = _sizes(op, operands, found)
    return (Type(dtype, tuple(sizes[c] for c in found.result)),)


class _Term(NamedTuple):
    value: Value
    labels: Labels

    def sizes(self) -> dict[str, int]:
        return dict(zip(self.labels, self.value.shape))


def _expand(b: Builder, node: Node) -> tuple[Value, ...]:
    found = parse(node.get("subscripts"), tuple(len(v.shape) for v in node.operands))
    terms = [_diagonal(b, v, o) for v, o in zip(node.operands, found.operands)]
    left = terms[0]
    for i, right in enumerate(terms[1:], 1):
        later = set(found.result).union(*(t.labels for t in terms[i + 1 :]))
        left = _contract(b, left, right, later)
    left = _summed(b, left, set(found.result))
    return (_finish(b, left, found.result, node.types[0].shape),)


def _diagonal(b: Builder, value: Value, labels: Labels) -> _Term:
    """Sum out the second of two axes with one label, off the diagonal being 0."""
    for i, label in enumerate(labels):
        j = labels.index(label)
        if j < i:
            at = [b("iota", dtype="i32", shape=value.shape, axis=a) for a in (i, j)]
            kept = b("where", b("equal", *at), value, b.like(0, value))
            rest = labels[:i] + labels[i + 1 :]
            return _diagonal(b, b("reduce-sum", kept, axes=(i,), keep=False), rest)
    return _Term(value, labels)


def _summed(b: Builder, term: _Term, needed: set[str]) -> _Term:
    """Sum over the labels that nobody needs."""
    axes = tuple(i for i, c in enumerate(term.labels) if c not in needed)
    if not axes:
        return term
    rest = tuple(c for c in term.labels if c in needed)
    return _Term(b("reduce-sum", term.value, axes=axes, keep=False), rest)


def _squeezed(b: Builder, term: _Term, other: _Term) -> _Term:
    """Without axes of size 1 that the other operand stretches."""
    sizes = other.sizes()
    keep = [i for i, (c, n) in enumerate(term.sizes().items()) if n != 1 or sizes.get(c, 1) == 1]
    if len(keep) == len(term.labels):
        return term
    shape = tuple(term.value.shape[i] for i in keep)
    return _Term(b("reshape", term.value, shape=shape), tuple(term.labels[i] for i in keep))


def _contract(b: Builder, left: _Term, right: _Term, later: set[str]) -> _Term:
    left, right = _squeezed(b, left, right), _squeezed(b, right, left)
    left = _summed(b, left, later | set(right.labels))
    right = _summed(b, right, later | set(left.labels))
    shared = [c for c in left.labels if c in right.labels]
    batch = tuple(c for c in shared if c in later)
    inner = tuple(c for c in shared if c not in later)
    rows = tuple(c for c in left.labels if c not in shared)
    columns = tuple(c for c in right.labels if c not in shared)
    sizes = {**left.sizes(), **right.sizes()}
    labels = batch + rows + columns
    x = _matrix(b, left, sizes, batch, rows, inner)
    y = _matrix(b, right, sizes, batch, columns, inner)
    if inner:
        found = product(b, x, y, False, True)
    else:
        found = b("multiply", x, b("reshape", y, shape=(*y.shape[:-2], 1, y.shape[-2])))
    return _Term(b("reshape", found, shape=tuple(sizes[c] for c in labels)), labels)


def _matrix(
    b: Builder, term: _Term, sizes: dict[str, int], batch: Labels, free: Labels, inner: Labels
) -> Value:
    """(batch, free, inner), each group one axis; no batch axis where there is no batch."""
    order = batch + free + inner
    axes = tuple(term.labels.index(c) for c in order)
    value = b("permute", term.value, axes=axes) if axes != tuple(range(len(axes))) else term.value
    shape = tuple(size([sizes[c] for c in group]) for group in (batch, free, inner))
    return b("reshape", value, shape=shape if batch else shape[1:])


def _finish(b: Builder, term: _Term, result: Labels, shape: tuple[int, ...]) -> Value:
    axes = tuple(term.labels.index(c) for c in result if c in term.labels)
    value = b("permute", term.value, axes=axes)
    return value if value.shape == shape else b("reshape", value, shape=shape)


def _cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    found = parse(attributes["subscripts"], tuple(t.rank for t in operands))
    sizes: dict[str, int] = {}
    for t, labels in zip(operands, found.operands):
        for c, n in zip(labels, t.shape):
            sizes[c] = max(n, sizes.get(c, 0))
    flops = 2 * size(list(sizes.values()))
    return Cost(flops, sum(t.bytes for t in operands), results[0].bytes)


def _axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    found = parse(attributes["subscripts"], tuple(t.rank for t in operands))
    return tuple(
        (found.result.index(c), k, a, "same")
        for k, labels in enumerate(found.operands)
        for a, c in enumerate(labels)
        if c in found.result
    )


ROWS = [
    Op(
        "einsum",
        "",
        Fusion.LIBRARY,
        Precision.LOW,
        _infer,
        'Sums of products by attribute subscripts, "bqhd,bkhd->bhqk", ... allowed, any number of '
        "operands of one dtype. Gradient: yes.",
        expand=_expand,
        cost=_cost,
        depends=_axes,
    )
]
