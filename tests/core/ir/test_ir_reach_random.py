"""No value of a random graph of reshapes, sums, masks and loops changes outside its reach."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sexpgpu_core.ir import Builder, Value
from sexpgpu_core.ir.dependence import Dependence
from sexpgpu_core.ir.ops import OPERATIONS, loops

sys.path.append(str(Path(__file__).parents[2] / "graphs"))
from causal_parts import late, scores, upto
from seen_positions import violations


class Parts:
    """Values that come of one another by operations that are drawn."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.b = Builder(OPERATIONS)
        self.x = self.b.input("x", "batch", "f32", (2, 12, 2))
        self.values = [self.x]
        for _ in range(draw(st.integers(1, 8))):
            value = draw(st.sampled_from(self.values[-3:]))
            made = draw(st.sampled_from(MAKERS))(self, value)
            if made.type.size <= 400 and made.shape:
                self.values.append(made)

    def axis(self, value: Value) -> int:
        return int(self.draw(st.integers(0, len(value.shape) - 1)))

    def number(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def flag(self) -> bool:
        return bool(self.draw(st.booleans()))


def _reshape(p: Parts, v: Value) -> Value:
    left, shape = v.type.size, []
    while left > 1 and len(shape) < 4:
        shape.append(p.draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0])))
        left //= shape[-1]
    return p.b("reshape", v, shape=(*shape, left))


def _permute(p: Parts, v: Value) -> Value:
    return p.b("permute", v, axes=tuple(p.draw(st.permutations(range(len(v.shape))))))


def _running(p: Parts, v: Value) -> Value:
    return p.b("cumsum", p.b("tanh", v), axis=p.axis(v), reverse=p.flag())


def _summed(p: Parts, v: Value) -> Value:
    keep = p.flag() or len(v.shape) < 2
    found = p.b("reduce-sum", v, axes=(p.axis(v),), keep=keep)
    return p.b("add", v, p.b("tanh", found)) if keep and p.flag() else found


def _late(p: Parts, v: Value) -> Value:
    return late(p.b, v, p.axis(v))


def _flip(p: Parts, v: Value) -> Value:
    return p.b("flip", v, axes=(p.axis(v),))


def _slice(p: Parts, v: Value) -> Value:
    axis = p.axis(v)
    start, step = p.number(0, v.shape[axis] - 1), p.number(1, 3)
    starts, steps = [0] * len(v.shape), [1] * len(v.shape)
    starts[axis], steps[axis] = start, step
    return p.b("slice", v, starts=tuple(starts), stops=v.shape, steps=tuple(steps))


def _concat(p: Parts, v: Value) -> Value:
    return p.b("concat", v, p.b("tanh", v), axis=p.axis(v))


def _softmax(p: Parts, v: Value) -> Value:
    axis = p.axis(v)
    if len(v.shape) < 2 or p.flag():
        return p.b("softmax", v, axis=axis)
    mask = upto(p.b, v.shape[-2], v.shape[-1], p.number(0, 2))
    return p.b("softmax", v, mask, axis=axis)


def _product(p: Parts, v: Value) -> Value:
    if len(v.shape) < 2:
        return v
    s = scores(p.b, v, v)
    mask = upto(p.b, v.shape[-2], v.shape[-2], p.number(-1, 1))
    left = p.b("where", mask, s, p.b.constant(0.0, "f32")) if p.flag() else s
    return p.b("matmul", left, v)


def _gather(p: Parts, v: Value) -> Value:
    axis = p.axis(v)
    n = v.shape[axis]
    at = tuple(p.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=4)))
    return p.b("gather", v, p.b("table", dtype="i32", shape=(len(at),), values=at), axis=axis)


def _loop(p: Parts, v: Value) -> Value:
    """Over axis 0: what is carried, and what each trip gives."""
    if len(v.shape) < 2:
        return v
    body = Builder(OPERATIONS)
    carry, part = (body.input(n, "body", "f32", v.shape[1:]) for n in ("carry:0", "x:0"))
    late_only = p.flag()
    body.graph.results = {
        "carry:0": body("tanh", body("add", carry, part)),
        "y:1": carry if late_only else body("add", carry, body("cumsum", part, axis=0)),
    }
    start = p.b.constant(0.0, "f32", v.shape[1:])
    made = loops.scan(p.b, body.graph, {"carry:0": start, "x:0": v}, v.shape[0], p.flag())
    return made["carry:0" if p.flag() else "y:1"]


def _spread(p: Parts, v: Value) -> Value:
    axis = p.axis(v)
    zero = (0,) * len(v.shape)
    inner = tuple(int(a == axis) for a in range(len(v.shape)))
    return p.b("pad", v, low=inner if p.flag() else zero, high=zero, interior=inner, value=0.0)


MAKERS: list[Callable[[Parts, Value], Value]] = [
    *(_reshape, _reshape, _reshape, _permute, _running, _summed, _late, _flip, _slice, _concat),
    *(_softmax, _product, _gather, _loop, _spread),
]


@st.composite
def parts(draw: Any) -> Parts:
    return Parts(draw)


@settings(
    max_examples=100,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(parts())
def test_no_value_of_reshaped_parts_changes_outside_its_reach(made: Parts) -> None:
    results = {str(i): v for i, v in enumerate(made.values[1:])}
    made.b.graph.results = dict(results)
    found = Dependence(made.b.graph, OPERATIONS, [made.x], 1)
    data = {"x": np.random.default_rng(1).standard_normal((2, 12, 2)).astype("f4")}
    with np.errstate(all="ignore"):
        assert violations(made.b.graph, found, results, data, "x", 1)[:3] == []
