"""Random tensors of other distributions, permutations: made of uniform numbers and of words."""

from __future__ import annotations

import math
from typing import Any

from ...diagnostics import problem
from ...evaluator.values import NIL, Value, keyword
from ...ir.graph import Value as Node
from ...ir.types import INTEGERS
from ..arguments import axis as axis_of
from ..arguments import dtype as dtype_of
from ..arguments import name_text
from ..faults import describe
from ..host import tracer, warn
from ..promote import integer, node_of, real
from ..table import tensor_builtin
from ..tensor import Tensor
from ..tracer import Tracer
from .random import UNSAID, batch_axis, draw, place_of
from .reductions import want_floats

F32, I32 = keyword("F32"), keyword("I32")
LEAST = 2.0**-25
"""Half a step of the uniform numbers: in place of 0, whose logarithm is none."""


def _uniform(t: Tracer, name: str, shape: Any, batch: int | None, site: Value) -> Node:
    """In [2^-25, 1), f32."""
    drawn = draw(t, "random-uniform", t.site(name, name_text(site)), shape, batch, dtype="f32")
    return t.builder("maximum", drawn, t.builder.constant(LEAST, "f32"))


def _exponential(t: Tracer, uniform: Node) -> Node:
    """-log(1 - u): above 0."""
    b = t.builder
    return b("negate", b("log1p", b("negate", uniform)))


def _gumbel(t: Tracer, uniform: Node) -> Node:
    b = t.builder
    return b("negate", b("log", _exponential(t, uniform)))


def _full(t: Tracer, node: Node, dtype: str) -> Node:
    """Uniform numbers in what is computed of them: in f64 if that is wanted, else in f32."""
    return t.builder("cast", node, dtype="f64") if dtype == "f64" else node


def _as(t: Tracer, node: Node, dtype: str) -> Tensor:
    return t.tensor(node if node.dtype == dtype else t.builder("cast", node, dtype=dtype))


@tensor_builtin(
    "random-truncated-normal", "(shape &key like batch name dtype (mean 0) (std 1) (bound 2))"
)
def random_truncated_normal(
    shape: Value,
    *,
    like: Value = NIL,
    batch: Any = UNSAID,
    name: Value = NIL,
    dtype: Value = NIL,
    mean: Value = 0,
    std: Value = 1,
    bound: Value = 2,
) -> Value:
    """Normal numbers within bound deviations of the mean. F, gradient 0.

    (random-truncated-normal nil :like x)"""
    from .arithmetic import pair

    said = "random-truncated-normal"
    t = tracer(said)
    place, axis, found = place_of(t, said, shape, like, batch)
    limit = real(said, "bound", bound)
    if limit <= 0:
        raise problem("E-TYPE", f"the bound of {said} is above 0, not {describe(bound)}")
    b = t.builder
    drawn = draw(t, "random-uniform", t.site(said, name_text(name)), place, axis, dtype="f32")
    inner = b.constant(_single(math.erf(limit / math.sqrt(2))), "f32")
    even = b("subtract", b("multiply", drawn, b.like(2.0, drawn)), b.like(1.0, drawn))
    root = b.constant(_single(math.sqrt(2)), "f32")
    value = b("multiply", b("erfinv", b("multiply", even, inner)), root)
    edge = _single(limit)
    value = b("clip", value, b.like(-edge, value), b.like(edge, value))
    numbers: Value = _as(t, value, t.wide(dtype_of(said, dtype, found or "f32")))
    scaled = numbers if std == 1 else pair("*", std, numbers)
    return scaled if mean == 0 else pair("+", mean, scaled)


def _single(value: float) -> float:
    from ...ir.rounding import rounded

    return float(rounded(value, "f32"))


def _define(name: str, says: str, made: Any) -> None:
    def call(
        shape: Value,
        *,
        like: Value = NIL,
        batch: Any = UNSAID,
        name: Value = NIL,
        dtype: Value = F32,
    ) -> Tensor:
        t = tracer(said)
        place, axis, _ = place_of(t, said, shape, like, batch)
        found = t.wide(dtype_of(said, dtype, "f32"))
        uniform = _full(t, _uniform(t, said, place, axis, name), found)
        return _as(t, made(t, uniform), found)

    said = name
    call.__doc__ = f"{says}. F, gradient 0. ({name} '(8) :batch 0)"
    tensor_builtin(name, "(shape &key like batch name (dtype :f32))")(call)


_define("random-gumbel", "Gumbel numbers, -log(-log u)", _gumbel)
_define("random-exponential", "Exponential numbers of mean 1", _exponential)


@tensor_builtin("random-categorical", "(logits &key (axis -1) name)")
def random_categorical(logits: Value, *, axis: Value = -1, name: Value = NIL) -> Tensor:
    """An index along an axis, drawn by softmax of the logits. F to i32, without the axis.

    (random-categorical logits)"""
    said = "random-categorical"
    t = tracer(said)
    node = node_of(said, logits, t)
    want_floats(said, node, logits)
    at = axis_of(said, axis, len(node.shape))
    uniform = _uniform(t, said, node.shape, batch_axis(t, node, said), name)
    b = t.builder
    wide = node if node.dtype in ("f32", "f64") else b("cast", node, dtype="f32")
    noise = _gumbel(t, _full(t, uniform, wide.dtype))
    return t.tensor(b("argmax", b("add", wide, noise), axis=at, keep=False))


def _permutation(t: Tracer, said: str, n: int, name: Value) -> Node:
    words = draw(t, "random-bits", t.site(said, name_text(name)), (n,), None)
    return t.builder("argsort", words, axis=0, descending=False)


@tensor_builtin("random-permutation", "(n &key name (dtype :i32))")
def random_permutation(n: Value, *, name: Value = NIL, dtype: Value = I32) -> Tensor:
    """0 to n - 1 in random order, one order for the whole step. I, (n), gradient 0.

    (random-permutation 8)"""
    said = "random-permutation"
    t = tracer(said)
    count, kind = integer(said, "n", n), dtype_of(said, dtype, "i32")
    if count < 0 or kind not in INTEGERS:
        raise problem("E-TYPE", f"{said} of {count} {kind}: integers from 0", wanted="integers")
    return _as(t, _permutation(t, said, count, name), kind)


@tensor_builtin("shuffle", "(x &key (axis 0) name)")
def shuffle(x: Value, *, axis: Value = 0, name: Value = NIL) -> Tensor:
    """x with an axis in random order, one order for the whole step. A, shape of x. (shuffle x)"""
    t = tracer("shuffle")
    node = node_of("shuffle", x, t)
    at = axis_of("shuffle", axis, len(node.shape))
    if t.rows is not None and t.region.axes().of(node) == at:
        from ..mixing import BY_BLOCK

        what = f"shuffle mixes the {t.rows} rows of a block"
        warn("W-BATCH-DEPENDENCE", what, hint=BY_BLOCK, rows=t.rows)
    order = _permutation(t, "shuffle", node.shape[at], name)
    return t.tensor(t.builder("gather", node, order, axis=at, out="drop"))
