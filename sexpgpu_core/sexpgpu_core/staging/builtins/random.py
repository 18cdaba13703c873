"""Random tensors and dropout, keyed by (seed, domain, site; step, row, column) (45.14, R1)."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Problem, problem
from ...evaluator.values import NIL, Value, keyword
from ...ir.graph import Value as Node
from ...ir.types import FLOATS
from ..arguments import dtype as dtype_of
from ..arguments import name_text, sizes
from ..exact import is_number
from ..faults import describe, ending
from ..host import tracer, warn
from ..promote import integer, node_of, not_a_tensor, real
from ..table import tensor_builtin
from ..tensor import StepScalar, Tensor, is_tensor
from ..tracer import Tracer

UNSAID = object()
BOOL = keyword("BOOL")
I32 = keyword("I32")
STEP = StepScalar(("ctx", "step"))
ROW = StepScalar(("ctx", "position"))
"""In a pass: the position of the batch's first example, which the host gives."""


def draw(
    t: Tracer, operation: str, site: str, shape: tuple[int, ...], batch: int | None, **more: Any
) -> Node:
    """A random node. In a pass or output the step is 0 and rows are counted by the examples'
    positions. In a `map-over` along the batch it is what the trip's row of a tensor of the whole
    batch would be."""
    values = t.context.values
    if t.part == "init":  # once, before any step and batch
        more |= {"site": site, "domain": "init", "seed": int(values.get("seed", 0))}
        return t.builder(operation, t.builder.constant(0, "i32"), shape=shape, **more)
    place, output = values.get("pass"), values.get("output")
    domain = "train" if place is None else f"eval/{place}"
    domain = domain if output is None else f"output/{output}"
    row = t.region.row() if batch is None else None
    axis = batch if row is None else 0
    attributes: dict[str, Any] = {
        "site": site, "domain": domain, "seed": int(values.get("seed", 0)),
        "shape": shape if row is None else (1, *shape), **more
    }  # fmt: skip
    if axis is not None:
        attributes["batch-axis"] = axis
    if place is not None and t.part != "prepare":
        warn("W-RANDOM-EVAL", f"{site} draws random numbers in pass {place}", site=site)
    drawn = t.builder(operation, *_operands(t, axis, row), **attributes)
    return drawn if row is None else t.builder("reshape", drawn, shape=shape)


def _operands(t: Tracer, batch: int | None, row: Node | None) -> tuple[Node, ...]:
    """Step; the position of the first row, where it counts; the number of the trip, in a loop."""
    b = t.builder
    values = t.context.values
    in_pass = values.get("pass") is not None or values.get("output") is not None
    step = b.constant(0, "i32") if in_pass else t.scalar(STEP, "i32")
    rows = [t.scalar(ROW, "i32")] if in_pass and batch is not None else []
    rows += [row] if row is not None else []
    trip = t.region.trip()
    if trip is not None and not rows:
        rows = [b.constant(0, "i32")]
    first = [rows[0] if len(rows) == 1 else b("add", *rows)] if rows else []
    return (step, *first, *([] if trip is None else [trip]))


def place_of(
    t: Tracer, name: str, shape: Value, like: Value, batch: Any
) -> tuple[tuple[int, ...], int | None, str | None]:
    """Shape, batch axis and dtype of a random tensor (R1)."""
    if like is not NIL:
        if not is_tensor(like):
            raise not_a_tensor(name, like)
        found = t.wide(like.dtype) if like.dtype in FLOATS else None
        return like.shape, batch_axis(t, t.node(like), name), found
    found_shape = sizes(name, shape)
    if batch is UNSAID:
        if t.rows is not None and found_shape and found_shape[0] == t.rows and t.rows > 1:
            raise _batch_not_said(name)
        return found_shape, None, None
    if batch is NIL:
        return found_shape, None, None
    axis = integer(name, "batch", batch)
    if not 0 <= axis < len(found_shape):
        raise problem("E-SHAPE-AXIS", f"{name}: batch axis {axis} of {len(found_shape)} axes")
    return found_shape, axis, None


def _batch_not_said(name: str) -> Problem:
    return problem(
        "E-RANDOM-BATCH",
        f"{name}: axis 0 is as long as the batch, and is not said to be it or not",
        hint=":like x takes the batch axis from x; :batch 0 says axis 0 is it, :batch nil none is",
        edit=ending(" :batch 0", "axis 0 is the batch"),
    )


def batch_axis(t: Tracer, node: Node, name: str) -> int | None:
    """The batch axis of an operand, by the dependence rules; W-RANDOM-BATCH where it is lost."""
    from ..dependence import MIXED, NONE, ROW

    found = t.region.axes().of(node)
    if t.rows is None:  # a loader of one example, `(whole)`
        return None
    if found == MIXED:
        warn("W-RANDOM-BATCH", f"{name}: the batch axis of its operand cannot be followed")
        return 0 if t.rows is not None and node.shape and node.shape[0] == t.rows else None
    return None if found in (NONE, ROW) else found


def _uniform(t: Tracer, name: str, place: tuple[Any, ...], site: Value, dtype: Value) -> Node:
    shape, batch, found = place
    return draw(
        t,
        "random-uniform",
        t.site(name, name_text(site)),
        shape,
        batch,
        dtype=t.wide(dtype_of(name, dtype, found or "f32")),
    )


@tensor_builtin("random-uniform", "(shape &key like batch name dtype (low 0) (high 1))")
def random_uniform(
    shape: Value,
    *,
    like: Value = NIL,
    batch: Any = UNSAID,
    name: Value = NIL,
    dtype: Value = NIL,
    low: Value = 0,
    high: Value = 1,
) -> Value:
    """Uniform in [low, high); with `:like x` shape is nil. F, gradient 0.

    (random-uniform nil :like x)"""
    from .arithmetic import pair

    t = tracer("random-uniform")
    place = place_of(t, "random-uniform", shape, like, batch)
    drawn: Value = t.tensor(_uniform(t, "random-uniform", place, name, dtype))
    if (low, high) == (0, 1):
        return drawn
    return pair("+", low, pair("*", pair("-", high, low), drawn))


@tensor_builtin("random-normal", "(shape &key like batch name dtype (mean 0) (std 1))")
def random_normal(
    shape: Value,
    *,
    like: Value = NIL,
    batch: Any = UNSAID,
    name: Value = NIL,
    dtype: Value = NIL,
    mean: Value = 0,
    std: Value = 1,
) -> Value:
    """Normal of a mean and deviation, which may be tensors. F. (random-normal nil :like x)"""
    from .arithmetic import pair

    t = tracer("random-normal")
    found_shape, axis, found = place_of(t, "random-normal", shape, like, batch)
    kind = t.wide(dtype_of("random-normal", dtype, found or "f32"))
    site = t.site("random-normal", name_text(name))
    drawn: Value = t.tensor(draw(t, "random-normal", site, found_shape, axis, dtype=kind))
    if std is not NIL and not (is_number(std) and std == 1):
        drawn = pair("*", std, drawn)
    return drawn if is_number(mean) and mean == 0 else pair("+", mean, drawn)


@tensor_builtin("random-bernoulli", "(shape p &key like batch name (dtype :bool))")
def random_bernoulli(
    shape: Value,
    p: Value,
    *,
    like: Value = NIL,
    batch: Any = UNSAID,
    name: Value = NIL,
    dtype: Value = BOOL,
) -> Tensor:
    """True with probability p, a number or tensor. bool, gradient 0.

    (random-bernoulli nil 0.5 :like x)"""
    t = tracer("random-bernoulli")
    found_shape, axis, _ = place_of(t, "random-bernoulli", shape, like, batch)
    site, b = t.site("random-bernoulli", name_text(name)), t.builder
    drawn = draw(t, "random-uniform", site, found_shape, axis, dtype="f32")
    chance = t.node(p) if is_tensor(p) else b.constant(real("random-bernoulli", "p", p), "f32")
    hit = b("less", drawn, b("cast", chance, dtype="f32") if chance.dtype != "f32" else chance)
    kind = t.wide(dtype_of("random-bernoulli", dtype, "bool"))
    return t.tensor(hit if kind == "bool" else b("cast", hit, dtype=kind))


@tensor_builtin("random-int", "(shape low high &key like batch name (dtype :i32))")
def random_int(
    shape: Value,
    low: Value,
    high: Value,
    *,
    like: Value = NIL,
    batch: Any = UNSAID,
    name: Value = NIL,
    dtype: Value = I32,
) -> Tensor:
    """A whole number in [low, high), at most 2^24 of them. I, gradient 0.

    (random-int '(8) 0 10 :batch 0)"""
    t = tracer("random-int")
    place = place_of(t, "random-int", shape, like, batch)
    first, last = integer("random-int", "low", low), integer("random-int", "high", high)
    if not 0 < last - first <= 1 << 24:
        raise problem("E-SHAPE-ARGUMENT", f"random-int: [{first}, {last}) is empty or above 2^24")
    drawn = _uniform(t, "random-int", place, name, NIL)
    b, kind = t.builder, t.wide(dtype_of("random-int", dtype, "i32"))
    if drawn.dtype != "f32":
        drawn = b("cast", drawn, dtype="f32")
    scaled = b("floor", b("multiply", drawn, b.constant(float(last - first), "f32")))
    most = b("minimum", scaled, b.constant(float(last - first - 1), "f32"))
    return t.tensor(b("add", b("cast", most, dtype=kind), b.constant(first, kind)))


@tensor_builtin("dropout", "(x rate &key name)")
def dropout(x: Value, rate: Value, *, name: Value = NIL) -> Value:
    """x with a share of elements 0 and the others scaled by 1/(1 - rate); identity in :eval. F.

    (dropout x 0.1)"""
    t = tracer("dropout")
    node = node_of("dropout", x, t)
    share = real("dropout", "rate", rate)
    if not 0 <= share < 1:
        raise problem(
            "E-TYPE", f"the rate of dropout is in [0, 1), not {describe(rate)}", wanted="[0, 1)"
        )
    site = t.site("dropout", name_text(name))
    if share == 0 or t.mode != ":train":
        return x
    axis = batch_axis(t, node, "dropout")
    b = t.builder
    drawn = draw(t, "random-uniform", site, node.shape, axis, dtype="f32")
    kept = b("greater-equal", drawn, b.constant(_single(share), "f32"))
    scale = b.constant(_rounded(1 / (1 - share), node.dtype), node.dtype)
    return t.tensor(b("where", kept, b("multiply", node, scale), b.like(0.0, node)))


def _single(value: float) -> float:
    return float(_rounded(value, "f32"))


def _rounded(value: float, dtype: str) -> Any:
    from ...ir.rounding import rounded

    return rounded(value, dtype)
