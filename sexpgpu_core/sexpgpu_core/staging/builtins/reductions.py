"""Reductions along axes: sums, means, extrema, norms, running sums."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator.values import NIL, T, Value
from ...ir.graph import Value as Node
from ...ir.types import FLOATS
from ..arguments import axes as axes_of
from ..arguments import axis as axis_of
from ..arguments import dtype as dtype_of
from ..arguments import flag
from ..faults import describe
from ..host import tracer
from ..metrics import note_mean, note_weighted
from ..promote import node_of, operands, real
from ..table import tensor_builtin
from ..tensor import Tensor
from ..tracer import Tracer


def reduced(t: Tracer, operation: str, node: Node, axes: tuple[int, ...], keep: bool) -> Node:
    """The node itself where no axis is reduced."""
    if not axes:
        return node
    return t.builder(operation, node, axes=axes, keep=keep)


def count_of(node: Node, axes: tuple[int, ...]) -> int:
    """Elements that one result is made of."""
    count = 1
    for a in axes:
        count *= node.shape[a]
    return count


def mean_node(t: Tracer, node: Node, axes: tuple[int, ...], keep: bool) -> Node:
    """The mean over axes, noted as one so that a metric or loss can be cut at it. Also of one row
    it is a quotient: the sum of a block of one is another node, of which a step adds all."""
    count = count_of(node, axes)
    total = reduced(t, "reduce-sum", node, axes, keep)
    if not axes:
        return total
    found = t.builder("divide", total, t.builder.constant(float(count), node.dtype))
    note_mean(t, found, total, count)
    return found


def want_floats(name: str, node: Node, x: Value) -> None:
    if node.dtype not in FLOATS:
        raise problem(
            "E-DTYPE-ARGUMENT",
            f"{name} of {describe(x)}: it takes floats",
            hint=f"cast the operand: ({name} (cast x :f32))",
            dtype=node.dtype,
        )


@tensor_builtin("sum", "(x &key axis keep dtype)")
def sum_(x: Value, *, axis: Value = NIL, keep: Value = NIL, dtype: Value = NIL) -> Tensor:
    """The sum; of bool i32, of integers their own dtype without `:dtype`. A. (sum x :axis -1)"""
    t = tracer("sum")
    node = node_of("sum", x, t)
    target = t.wide(dtype_of("sum", dtype, "i32" if node.dtype == "bool" else node.dtype))
    if target != node.dtype:
        node = t.builder("cast", node, dtype=target)
    return t.tensor(
        reduced(t, "reduce-sum", node, axes_of("sum", axis, len(node.shape)), flag(keep))
    )


@tensor_builtin("mean", "(x &key axis keep)")
def mean(x: Value, *, axis: Value = NIL, keep: Value = NIL) -> Tensor:
    """The mean; of bool f32, integers are E-DTYPE-ARGUMENT. F, B. (mean x :axis '(0 1))"""
    t = tracer("mean")
    node = node_of("mean", x, t)
    if node.dtype == "bool":
        node = t.builder("cast", node, dtype=t.full)
    want_floats("mean", node, x)
    return t.tensor(mean_node(t, node, axes_of("mean", axis, len(node.shape)), flag(keep)))


@tensor_builtin("weighted-mean", "(x weights &key axis keep)")
def weighted_mean(x: Value, weights: Value, *, axis: Value = NIL, keep: Value = NIL) -> Tensor:
    """sum of w x / sum of w, over the whole step (45.1.1); a weight sum of 0 gives 0. F.

    No gradient reaches the weights. (weighted-mean loss mask)"""
    t = tracer("weighted-mean")
    node = node_of("weighted-mean", x, t)
    want_floats("weighted-mean", node, x)
    w = operands("weighted-mean", (x, _as_dtype(t, weights, node.dtype)))[1][1]
    b, given = t.builder, w
    w = b("stop-gradient", w)
    product = b("multiply", node, w)
    if w.shape != product.shape:
        w = b("broadcast-to", w, shape=product.shape)
    axes = axes_of("weighted-mean", axis, len(product.shape))
    total = reduced(t, "reduce-sum", product, axes, flag(keep))
    weight = reduced(t, "reduce-sum", w, axes, flag(keep))
    found = guarded_ratio(t, total, weight)
    note_weighted(t, found, total, weight, given)
    return t.tensor(found)


def _as_dtype(t: Tracer, weights: Value, dtype: str) -> Value:
    if weights.__class__ is Tensor and weights.dtype == "bool":
        return t.tensor(t.builder("cast", t.node(weights), dtype=dtype))
    return weights


def guarded_ratio(t: Tracer, total: Node, weight: Node) -> Node:
    """total / weight, and 0 where the weight is 0."""
    b = t.builder
    empty = b("equal", weight, b.like(0.0, weight))
    safe = b("where", empty, b.like(1.0, weight), weight)
    return b("where", empty, b.like(0.0, total), b("divide", total, safe))


def _define(name: str, operation: str, says: str, kinds: str) -> None:
    def call(x: Value, *, axis: Value = NIL, keep: Value = NIL) -> Tensor:
        t = tracer(name)
        node = node_of(name, x, t)
        return t.tensor(
            reduced(t, operation, node, axes_of(name, axis, len(node.shape)), flag(keep))
        )

    call.__doc__ = f"{says}. {kinds}, shape without the axes; nil is all. ({name} x :axis -1)"
    tensor_builtin(name, "(x &key axis keep)")(call)


_define("product", "reduce-product", "The product", "N")
_define("reduce-max", "reduce-max", "The greatest; gradient to the first", "N")
_define("reduce-min", "reduce-min", "The least; gradient to the first", "N")
_define("any", "reduce-any", "Whether one holds", "bool")
_define("all", "reduce-all", "Whether all hold", "bool")


@tensor_builtin("count-nonzero", "(x &key axis keep)")
def count_nonzero(x: Value, *, axis: Value = NIL, keep: Value = NIL) -> Tensor:
    """How many elements are not 0. A, i32. (count-nonzero mask)"""
    t = tracer("count-nonzero")
    node = node_of("count-nonzero", x, t)
    b = t.builder
    hit = b("cast", b("cast", node, dtype="bool") if node.dtype != "bool" else node, dtype="i32")
    axes = axes_of("count-nonzero", axis, len(node.shape))
    return t.tensor(reduced(t, "reduce-sum", hit, axes, flag(keep)))


def _define_index(name: str, says: str) -> None:
    def call(x: Value, *, axis: Value = -1, keep: Value = NIL) -> Tensor:
        t = tracer(name)
        node = node_of(name, x, t)
        at = axis_of(name, axis, len(node.shape))
        return t.tensor(t.builder(name, node, axis=at, keep=flag(keep)))

    call.__doc__ = f"The index of the {says} element, the first at a tie. N, i32. ({name} x)"
    tensor_builtin(name, "(x &key (axis -1) keep)")(call)


_define_index("argmax", "greatest")
_define_index("argmin", "least")


@tensor_builtin("variance", "(x &key axis keep (correction 0))")
def variance(x: Value, *, axis: Value = NIL, keep: Value = NIL, correction: Value = 0) -> Tensor:
    """The mean squared distance from the mean; divided by n - correction. F.

    (variance x :axis 0)"""
    t = tracer("variance")
    node = node_of("variance", x, t)
    want_floats("variance", node, x)
    axes = axes_of("variance", axis, len(node.shape))
    b, count = t.builder, count_of(node, axes)
    less = real("variance", "correction", correction)
    if count - less <= 0:
        raise problem("E-SHAPE-ARGUMENT", f"variance of {count} elements with correction {less}")
    middle = mean_node(t, node, axes, True)
    squares = b("square", b("subtract", node, middle))
    total = reduced(t, "reduce-sum", squares, axes, flag(keep))
    return t.tensor(b("divide", total, b.constant(float(count - less), node.dtype)))


@tensor_builtin("std", "(x &key axis keep (correction 0) (eps 0))")
def std(
    x: Value, *, axis: Value = NIL, keep: Value = NIL, correction: Value = 0, eps: Value = 0
) -> Tensor:
    """sqrt(variance + eps). F. (std x :axis 0)"""
    from .arithmetic import pair

    t = tracer("std")
    spread: Value = variance(x, axis=axis, keep=keep, correction=correction)
    if eps != 0:
        spread = pair("+", spread, eps)
    return t.tensor(t.builder("sqrt", t.node(spread)))


@tensor_builtin("quantile", "(x q &key axis keep)")
def quantile(x: Value, q: Value, *, axis: Value = NIL, keep: Value = NIL) -> Tensor:
    """What a share q in [0, 1] of the elements is below, linear between two of them. F.

    It has no gradient. (quantile x 0.9 :axis 0)"""
    t = tracer("quantile")
    node, share = node_of("quantile", x, t), real("quantile", "q", q)
    want_floats("quantile", node, x)
    if not 0 <= share <= 1:
        raise problem("E-TYPE", f"q of quantile is in [0, 1], not {describe(q)}", wanted="[0, 1]")
    axes = axes_of("quantile", axis, len(node.shape))
    return t.tensor(_quantile(t, "quantile", node, share, axes, flag(keep)))


@tensor_builtin("median", "(x &key axis keep)")
def median(x: Value, *, axis: Value = NIL, keep: Value = NIL) -> Tensor:
    """The middle element, or the mean of the two middle ones. F. It has no gradient. (median x)"""
    t = tracer("median")
    node = node_of("median", x, t)
    want_floats("median", node, x)
    axes = axes_of("median", axis, len(node.shape))
    return t.tensor(_quantile(t, "median", node, 0.5, axes, flag(keep)))


def _quantile(
    t: Tracer, name: str, node: Node, share: float, axes: tuple[int, ...], keep: bool
) -> Node:
    if count_of(node, axes) == 0:
        raise problem("E-SHAPE-ARGUMENT", f"{name} of no elements")
    return t.builder("quantile", node, q=share, axes=axes, keep=keep)


@tensor_builtin("logsumexp", "(x &key axis keep)")
def logsumexp(x: Value, *, axis: Value = NIL, keep: Value = NIL) -> Tensor:
    """log of the sum of exponentials, without overflow. F. (logsumexp x :axis -1)"""
    t = tracer("logsumexp")
    node = node_of("logsumexp", x, t)
    want_floats("logsumexp", node, x)
    axes = axes_of("logsumexp", axis, len(node.shape))
    return t.tensor(t.builder("logsumexp", node, axes=axes, keep=flag(keep)))


@tensor_builtin("log-add-exp", "(x y)")
def log_add_exp(x: Value, y: Value) -> Tensor:
    """log(exp x + exp y), without overflow. F, operands broadcast. (log-add-exp x y)"""
    t, (a, c) = operands("log-add-exp", (x, y))
    b = t.builder
    apart = b("negate", b("abs", b("subtract", a, c)))
    return t.tensor(b("add", b("maximum", a, c), b("log1p", b("exp", apart))))


@tensor_builtin("norm", "(x &key axis keep (order 2) (eps 0))")
def norm(
    x: Value, *, axis: Value = NIL, keep: Value = NIL, order: Value = 2, eps: Value = 0
) -> Tensor:
    """The norm of order 1, 2 or :inf; gradient 0 at 0. F. (norm x :axis -1)"""
    t = tracer("norm")
    node = node_of("norm", x, t)
    want_floats("norm", node, x)
    axes, b = axes_of("norm", axis, len(node.shape)), t.builder
    if order == 2:
        return t.tensor(
            _root(t, reduced(t, "reduce-sum", b("square", node), axes, flag(keep)), eps)
        )
    size = b("abs", node)
    if order == 1:
        return t.tensor(reduced(t, "reduce-sum", size, axes, flag(keep)))
    if getattr(order, "name", "") == "INF":
        return t.tensor(reduced(t, "reduce-max", size, axes, flag(keep)))
    raise problem(
        "E-TYPE", f"order of norm is 1, 2 or :inf, not {describe(order)}", wanted="1 2 :inf"
    )


def _root(t: Tracer, squares: Node, eps: Value) -> Node:
    b = t.builder
    if eps != 0:
        return b("sqrt", b("add", squares, b.constant(real("norm", "eps", eps), squares.dtype)))
    empty = b("equal", squares, b.like(0.0, squares))
    root = b("sqrt", b("where", empty, b.like(1.0, squares), squares))
    return b("where", empty, b.like(0.0, squares), root)


@tensor_builtin("normalize", "(x &key (axis -1) (eps 1e-12))")
def normalize(x: Value, *, axis: Value = -1, eps: Value = 1e-12) -> Tensor:
    """x / max(norm, eps) along an axis. F, shape of x. (normalize x)"""
    t = tracer("normalize")
    length = t.node(norm(x, axis=axis, keep=T))
    floor = t.builder.constant(real("normalize", "eps", eps), length.dtype)
    return t.tensor(
        t.builder("divide", node_of("normalize", x, t), t.builder("maximum", length, floor))
    )


def _define_running(name: str, says: str, exclusive: bool) -> None:
    def call(x: Value, *, axis: Value = 0, reverse: Value = NIL, exclusive: Value = NIL) -> Tensor:
        t = tracer(name)
        node = node_of(name, x, t)
        at = axis_of(name, axis, len(node.shape))
        more = {"exclusive": flag(exclusive)} if name in ("cumsum", "cumprod") else {}
        return t.tensor(t.builder(name, node, axis=at, reverse=flag(reverse), **more))

    call.__doc__ = (
        f"{says} along an axis, from its end with `:reverse t`. N, s. ({name} x :axis -1)"
    )
    keys = "(axis 0) reverse exclusive" if exclusive else "(axis 0) reverse"
    tensor_builtin(name, f"(x &key {keys})")(call)


_define_running("cumsum", "Running sums", True)
_define_running("cumprod", "Running products", True)
_define_running("cummax", "The greatest so far", False)
_define_running("cummin", "The least so far", False)
