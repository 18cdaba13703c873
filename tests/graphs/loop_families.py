"""Families of loops: scans, maps over rows and choices, with bodies of a few operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sexpgpu_core.ir import Builder, Graph, Value
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.ops.loops import choose, scan
from sexpgpu_core.ir.types import FLOATS

if TYPE_CHECKING:
    from grown import Grown

Made = Any
TRIPS = 9
"""Of a scan, at most."""
STEPS: dict[str, Callable[[Builder, Value, Value], Value]] = {
    "add": lambda b, x, y: b("add", x, y),
    "multiply": lambda b, x, y: b("multiply", b("tanh", x), y),
    "maximum": lambda b, x, y: b("maximum", x, y),
    "square": lambda b, x, y: b("square", b("tanh", x)),
    "normal": lambda b, x, y: b("rms-norm", x, axes=(0,), eps=0.1) if x.shape else b("sin", x),
    "sum": lambda b, x, y: b(
        "subtract", y, b("tanh", b("reduce-sum", x, axes=_all(x), keep=False))
    ),
    "flip": lambda b, x, y: b("flip", x, axes=_all(x)[:1]),
}


def _all(x: Value) -> tuple[int, ...]:
    return tuple(range(len(x.shape)))


def _sum(b: Builder, x: Value) -> Value:
    return b("reduce-sum", x, axes=_all(x), keep=False) if x.shape else x


def _steps(g: Grown, b: Builder, x: Value, y: Value) -> Value:
    """x and y of one type, changed a few times; within (-1, 1)."""
    for _ in range(g.number(1, 4)):
        x, y = y, STEPS[g.one(STEPS)](b, x, y)
        if g.chance(3):
            x = b("sin", x)
    return b("tanh", b("add", x, y))


def _rows(g: Grown) -> Value | None:
    """What a loop may go over."""
    return g.pick(lambda v: v.dtype in FLOATS and len(v.shape) >= 1 and 0 < v.shape[0] <= TRIPS)


def scanned(g: Grown) -> Made:
    """A carry changed by each row and by a value that is the same in all trips."""
    xs = _rows(g)
    if xs is None:
        return None
    b = Builder(OPERATIONS)
    row = xs.shape[1:]
    carry, x, same = (b.input(n, "body", xs.dtype, row) for n in ("carry:0", "x:0", "capture:0"))
    new = _steps(g, b, _steps(g, b, carry, x), same)
    b.graph.results = {"carry:0": new, "y:0": _steps(g, b, new, carry)}
    start = g.b("tanh", g.weights(row, xs))
    given = {"carry:0": start, "x:0": xs, "capture:0": g.weights(row, xs)}
    save = "carry" if g.chance(2) else None
    found = scan(g.b, b.graph, given, xs.shape[0], g.chance(2), save)
    return found["carry:0"], found["y:0"]


def mapped(g: Grown) -> Made:
    """Each row by itself."""
    xs = _rows(g)
    if xs is None:
        return None
    b = Builder(OPERATIONS)
    x, same = (b.input(n, "body", xs.dtype, xs.shape[1:]) for n in ("x:0", "capture:0"))
    b.graph.results = {"y:0": _steps(g, b, x, same)}
    given = {"x:0": xs, "capture:0": g.weights(xs.shape[1:], xs)}
    return scan(g.b, b.graph, given, xs.shape[0])["y:0"]


def chosen(g: Grown) -> Made:
    """One of two bodies, by whether a value's greatest element is above a number."""
    x = g.floats(1)
    if x is None or 0 in x.shape:
        return None
    most = g.b("reduce-max", x, axes=_all(x), keep=False)
    test = g.b("greater", most, g.like(g.one((-0.5, 0.3, 0.9)), x))
    given = {"capture:0": x, "capture:1": g.weights(x.shape, x)}
    return choose(g.b, test, _branch(g, given), _branch(g, given), given)["y:0"]


def _branch(g: Grown, given: dict[str, Value]) -> Graph:
    b = Builder(OPERATIONS)
    x, y = (b.input(n, "body", v.dtype, v.shape) for n, v in given.items())
    b.graph.results = {"y:0": _steps(g, b, x, y)}
    return b.graph


LOOPS: dict[str, Callable[[Grown], Made]] = {f.__name__: f for f in (scanned, mapped, chosen)}
