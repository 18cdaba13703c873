"""Builtins that move elements: joining, splitting, padding, rolling, triangles."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator.builtins.listing import proper
from ...evaluator.values import NIL, Cons, MultipleValues, Value
from ...ir.graph import Value as Node
from ..arguments import axis as axis_of
from ..arguments import choice, flag, integers
from ..exact import round_to
from ..faults import describe
from ..host import tracer
from ..promote import integer, node_of, operands
from ..table import tensor_builtin
from ..tensor import Tensor, is_tensor
from ..tracer import Tracer
from .shape import reshaped
from .slicing import cut


def _operands(name: str, x: Value, rest: tuple[Value, ...]) -> tuple[Tracer, list[Node]]:
    if not rest and (x.__class__ is Cons):
        x, *others = proper(name, x)
        rest = tuple(others)
    return operands(name, (x, *rest))


@tensor_builtin("concat", "(x &rest y &key (axis 0))")
def concat(x: Value, *y: Value, axis: Value = 0) -> Tensor:
    """Operands one after another on an axis; a list as the only operand also. A.

    (concat x y :axis -1)"""
    t, nodes = _operands("concat", x, y)
    return t.tensor(_joined(t, nodes, axis_of("concat", axis, len(nodes[0].shape))))


def _joined(t: Tracer, nodes: list[Node], axis: int) -> Node:
    return nodes[0] if len(nodes) == 1 else t.builder("concat", *nodes, axis=axis)


@tensor_builtin("stack", "(x &rest y &key (axis 0))")
def stack(x: Value, *y: Value, axis: Value = 0) -> Tensor:
    """Operands of one shape on a new axis. A. (stack x y :axis 1)"""
    t, nodes = _operands("stack", x, y)
    if any(n.shape != nodes[0].shape for n in nodes):
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"stack of {' and '.join(str(n.type) for n in nodes)}: their shapes differ",
            hint="concat joins on an axis that is there",
            shapes=[list(n.shape) for n in nodes],
        )
    at = axis_of("stack", axis, len(nodes[0].shape) + 1)
    wide = [reshaped(t, n, (*n.shape[:at], 1, *n.shape[at:])) for n in nodes]
    return t.tensor(_joined(t, wide, at))


@tensor_builtin("split", "(x parts &key (axis 0))")
def split(x: Value, parts: Value, *, axis: Value = 0) -> Value:
    """Several values: a count of equal parts, or a list of sizes. A. (split qkv 3 :axis -1)"""
    t = tracer("split")
    node = node_of("split", x, t)
    at = axis_of("split", axis, len(node.shape))
    whole = node.shape[at]
    if parts.__class__ is int and (parts < 1 or whole % parts):
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"split of {describe(x)}: {parts} parts do not divide the {whole} of axis {at}",
            hint=f"parts that divide it: {divisors(whole)}; or a list of sizes",
        )
    cuts = [whole // parts] * parts if parts.__class__ is int else integers("split", "parts", parts)
    if sum(cuts) != whole:
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"split of {describe(x)}: sizes sum to {sum(cuts)}, axis {at} has {whole}",
            hint="sizes that sum to it, or a count of equal parts",
        )
    found, start = [], 0
    for size in cuts:
        found.append(t.tensor(cut(t, node, at, start, start + size)))
        start += size
    return found[0] if len(found) == 1 else MultipleValues(found)


def divisors(n: int) -> str:
    """What divides n, in a hint."""
    found = [str(k) for k in range(1, n + 1) if n % k == 0] if n <= 1 << 16 else [str(n)]
    return " ".join(found if len(found) <= 12 else [*found[:11], "...", found[-1]])


@tensor_builtin("unstack", "(x &key (axis 0))")
def unstack(x: Value, *, axis: Value = 0) -> Value:
    """Several values: one an index of the axis, which is dropped. A. (unstack x :axis 1)"""
    t = tracer("unstack")
    node = node_of("unstack", x, t)
    at = axis_of("unstack", axis, len(node.shape))
    rest = (*node.shape[:at], *node.shape[at + 1 :])
    found = [t.tensor(reshaped(t, cut(t, node, at, i, i + 1), rest)) for i in range(node.shape[at])]
    return found[0] if len(found) == 1 else MultipleValues(found)


@tensor_builtin("pad", "(x widths &key (mode :constant) (value 0))")
def pad(x: Value, widths: Value, *, mode: Value = None, value: Value = 0) -> Tensor:
    """Elements put around the last axes: widths is ((before after)...); `:reflect`, `:edge`.

    A. (pad x '((1 1) (0 0)))"""
    t = tracer("pad")
    node = node_of("pad", x, t)
    pairs = [integers("pad", "widths", w) for w in proper("pad", widths)]
    lead = len(node.shape) - len(pairs)
    if lead < 0 or any(len(p) != 2 or min(p) < 0 for p in pairs):
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"pad of {describe(x)}: {len(pairs)} widths for {len(node.shape)} axes",
            hint="a pair (before after) for each of the last axes, none below 0",
        )
    kind = (
        "constant" if mode is None else choice("pad", "mode", mode, ("constant", "reflect", "edge"))
    )
    if kind != "constant":
        for i, (before, after) in enumerate(pairs):
            node = _extended(t, node, lead + i, before, after, kind)
        return t.tensor(node)
    low = (0,) * lead + tuple(p[0] for p in pairs)
    high = (0,) * lead + tuple(p[1] for p in pairs)
    filler = bool(value) if node.dtype == "bool" else round_to(value, node.dtype)
    return t.tensor(t.builder("pad", node, low=low, high=high, value=filler))


def _extended(t: Tracer, node: Node, axis: int, before: int, after: int, kind: str) -> Node:
    n = node.shape[axis]
    parts = [node]
    if kind == "reflect":
        if max(before, after) >= n:
            raise problem("E-SHAPE-ARGUMENT", f"pad: reflecting {max(before, after)} of {n}")
        if before:
            left = cut(t, node, axis, 1, before + 1)
            parts.insert(0, t.builder("flip", left, axes=(axis,)))
        if after:
            right = cut(t, node, axis, n - 1 - after, n - 1)
            parts.append(t.builder("flip", right, axes=(axis,)))
        return _joined(t, parts, axis)
    parts[:0] = [cut(t, node, axis, 0, 1)] * before
    parts += [cut(t, node, axis, n - 1, n)] * after
    return _joined(t, parts, axis)


@tensor_builtin("flip", "(x &key (axis 0))")
def flip(x: Value, *, axis: Value = 0) -> Tensor:
    """An axis, or several, in reverse order. A. (flip x :axis -1)"""
    from ..arguments import axes

    t = tracer("flip")
    node = node_of("flip", x, t)
    return t.tensor(t.builder("flip", node, axes=axes("flip", axis, len(node.shape))))


@tensor_builtin("roll", "(x shift &key (axis 0))")
def roll(x: Value, shift: Value, *, axis: Value = 0) -> Tensor:
    """Element i goes to i + shift, around the end. A. (roll x 1 :axis 1)"""
    t = tracer("roll")
    node = node_of("roll", x, t)
    at = axis_of("roll", axis, len(node.shape))
    n = node.shape[at]
    if is_tensor(shift):
        b, by = t.builder, t.node(shift)
        place = b("iota", dtype=by.dtype, shape=(n,), axis=0)
        index = b("mod", b("subtract", place, by), b.like(n, by))
        return t.tensor(b("gather", node, index, axis=at, out="drop"))
    by_count = integer("roll", "shift", shift) % n if n else 0
    if by_count == 0:
        return t.tensor(node)
    parts = [cut(t, node, at, n - by_count, n), cut(t, node, at, 0, n - by_count)]
    return t.tensor(_joined(t, parts, at))


@tensor_builtin("repeat", "(x count &key (axis 0))")
def repeat(x: Value, count: Value, *, axis: Value = 0) -> Tensor:
    """Each element of an axis count times, one after another. A. (repeat x 2 :axis 1)"""
    t = tracer("repeat")
    node = node_of("repeat", x, t)
    at = axis_of("repeat", axis, len(node.shape))
    times = integer("repeat", "count", count)
    before, n, after = node.shape[:at], node.shape[at], node.shape[at + 1 :]
    wide = reshaped(t, node, (*before, n, 1, *after))
    grown = t.builder("broadcast-to", wide, shape=(*before, n, times, *after))
    return t.tensor(reshaped(t, grown, (*before, n * times, *after)))


@tensor_builtin("tile", "(x counts)")
def tile(x: Value, counts: Value) -> Tensor:
    """x repeated as a whole, counts[i] times on axis i. A. (tile x '(2 1))"""
    t = tracer("tile")
    node = node_of("tile", x, t)
    for axis, count in enumerate(integers("tile", "counts", counts)):
        if count != 1:
            at = axis_of("tile", axis, len(node.shape))
            node = _joined(t, [node] * count, at)
    return t.tensor(node)


def _indices(t: Tracer, rows: int, columns: int) -> tuple[Node, Node]:
    i = t.builder("iota", dtype="i32", shape=(rows, 1), axis=0)
    j = t.builder("iota", dtype="i32", shape=(1, columns), axis=1)
    return i, j


@tensor_builtin("diagonal", "(x &key (offset 0))")
def diagonal(x: Value, *, offset: Value = 0) -> Tensor:
    """The diagonal of the last two axes, or one beside it. A. (diagonal x)"""
    t = tracer("diagonal")
    node = node_of("diagonal", x, t)
    by = integer("diagonal", "offset", offset)
    *lead, m, n = node.shape if len(node.shape) > 1 else _flat("diagonal", x)
    size = min(m + min(by, 0), n - max(by, 0))
    if size <= 0:
        raise problem("E-SHAPE-ARGUMENT", f"diagonal: offset {by} is outside {describe(x)}")
    b = t.builder
    flat = reshaped(t, node, (*lead, m * n))
    start = max(by, 0) + max(-by, 0) * n
    place = b("iota", dtype="i32", shape=(size,), axis=0)
    index = b("add", b("multiply", place, b.constant(n + 1, "i32")), b.constant(start, "i32"))
    return t.tensor(b("gather", flat, index, axis=len(lead), out="drop"))


def _flat(name: str, x: Value) -> tuple[int, ...]:
    raise problem("E-SHAPE-ARGUMENT", f"{name} of {describe(x)}: two axes or more")


@tensor_builtin("diagonal-matrix", "(x &key (offset 0))")
def diagonal_matrix(x: Value, *, offset: Value = 0) -> Tensor:
    """The last axis as the diagonal of a square matrix. A. (diagonal-matrix x)"""
    t = tracer("diagonal-matrix")
    node, by = node_of("diagonal-matrix", x, t), integer("diagonal-matrix", "offset", offset)
    n = node.shape[-1] if node.shape else 1
    size = n + abs(by)
    b = t.builder
    i, j = _indices(t, size, size)
    low, high = max(-by, 0), max(by, 0)
    rank = len(node.shape)
    around = b(
        "pad",
        node,
        low=(0,) * (rank - 1) + (low,),
        high=(0,) * (rank - 1) + (high,),
        value=_zero(node.dtype),
    )
    column = reshaped(t, around, (*node.shape[:-1], size, 1))
    on = b("equal", b("add", i, b.constant(by, "i32")), j)
    return t.tensor(b("where", on, column, b.constant(_zero(node.dtype), node.dtype)))


def _zero(dtype: str) -> bool | int | float:
    if dtype == "bool":
        return False
    return 0.0 if dtype[0] in "fb" else 0


def _triangle(name: str, x: Value, offset: Value, keep: str) -> Tensor:
    t = tracer(name)
    node, by = node_of(name, x, t), integer(name, "offset", offset)
    if len(node.shape) < 2:
        _flat(name, x)
    i, j = _indices(t, *node.shape[-2:])
    b = t.builder
    inside = b(keep, b("subtract", j, i), b.constant(by, "i32"))
    return t.tensor(b("where", inside, node, b.constant(_zero(node.dtype), node.dtype)))


@tensor_builtin("tril", "(x &key (offset 0))")
def tril(x: Value, *, offset: Value = 0) -> Tensor:
    """The lower triangle of the last two axes, 0 above. A. (tril x)"""
    return _triangle("tril", x, offset, "less-equal")


@tensor_builtin("triu", "(x &key (offset 0))")
def triu(x: Value, *, offset: Value = 0) -> Tensor:
    """The upper triangle of the last two axes, 0 below. A. (triu x)"""
    return _triangle("triu", x, offset, "greater-equal")


@tensor_builtin("matrix-trace", "(x)")
def matrix_trace(x: Value) -> Tensor:
    """The sum of the diagonal of the last two axes. N. (matrix-trace x)"""
    t = tracer("matrix-trace")
    node = t.node(diagonal(x))
    return t.tensor(t.builder("reduce-sum", node, axes=(len(node.shape) - 1,), keep=False))


@tensor_builtin("causal-mask", "(n &key window columns)")
def causal_mask(n: Value, *, window: Value = NIL, columns: Value = NIL) -> Tensor:
    """True where key <= query (and query - key < window). bool, (n columns). (causal-mask 64)"""
    t = tracer("causal-mask")
    rows = integer("causal-mask", "n", n)
    width = rows if columns is NIL else integer("causal-mask", "columns", columns)
    i, j = _indices(t, rows, width)
    b = t.builder
    mask = b("less-equal", j, i)
    if flag(window):
        near = b(
            "less", b("subtract", i, j), b.constant(integer("causal-mask", "window", window), "i32")
        )
        mask = b("logical-and", mask, near)
    return t.tensor(mask)
