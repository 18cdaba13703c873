"""Gradients of loops, choices and gradients of one's own, in f64, are the slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from builtin_calls import call, slopes_agree

from sexpgpu_core.evaluator.values import Function, MultipleValues


def function(f: Callable[..., Any]) -> Function:
    return Function("f", f)


def scanned(x: Any, h: Any, w: Any, **more: Any) -> Any:
    def step(c: Any, v: Any) -> MultipleValues:
        new = call("tanh", call("+", call("*", c, w), v))
        return MultipleValues((new, call("*", new, v)))

    carry, ys = call("scan", function(step), h, x, **more)
    return call("concat", call("unsqueeze", carry, 0), ys, axis=0)


def nested(x: Any, h: Any, w: Any) -> Any:
    """A scan whose body is a choice of two, the one of them a scan."""

    def step(c: Any, v: Any) -> MultipleValues:
        inner = function(lambda a, b: MultipleValues((call("sin", call("+", a, b)), a)))
        yes = function(lambda: call("scan", inner, c, call("stack", v, w))[0])
        no = function(lambda: call("*", c, call("exp", w)))
        new = call("cond-select", call(">", call("sum", v), 0), yes, no)
        return MultipleValues((new, call("square", new)))

    return call("scan", function(step), h, x)[1]


def mapped(x: Any, h: Any, w: Any) -> Any:
    row = lambda a: call("softmax", call("+", call("*", a, w), h))
    return call("map-over", function(row), x)


def chosen(x: Any, h: Any, w: Any) -> Any:
    test = call(">", call("sum", x), 0)
    yes, no = (function(f) for f in (lambda: call("*", x, w), lambda: call("-", call("sin", x), h)))
    return call("cond-select", test, yes, no)


def products(x: Any, h: Any, w: Any) -> Any:
    return call("associative-scan", function(lambda a, b: call("*", a, b)), call("+", x, h))


CASES: dict[str, Callable[..., Any]] = {
    "scan": scanned,
    "scan, carries kept": lambda *x: scanned(*x, save="carry"),
    "scan in segments": lambda *x: scanned(*x, segments=2),
    "scan from the end": lambda *x: scanned(*x, reverse=True),
    "scan of choices of scans": nested,
    "map-over": mapped,
    "cond-select": chosen,
    "associative-scan": products,
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", [(2, 1), (4, 3), (6, 2)])
def test_the_gradient_of_a_loop_is_its_slope(name: str, shape: tuple[int, int]) -> None:
    chance = np.random.default_rng(0)
    x, h, w = (chance.uniform(-1, 1, s) for s in (shape, shape[1:], shape[1:]))
    slopes_agree(CASES[name], x, h, w)
