"""Loops, choices and gradients of one's own beside PyTorch's autograd of the same, unrolled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from builtin_calls import call
from op_builtins import built
from op_row import Row

from sexpgpu_core.evaluator.values import Function, MultipleValues
from sexpgpu_core.staging.builtins.control import with_setting
from sexpgpu_core.staging.forms.contexts import Checkpoint

TRIPS: tuple[tuple[int, int], ...] = ((1, 1), (1, 5), (4, 3), (9, 17), (33, 2))
"""Trips and elements of a row."""
SAVING: dict[str, dict[str, Any]] = {
    "": {},
    "-carry": {"save": "carry"},
    "-segments": {"segments": 2},
    "-reverse": {"reverse": True},
    "-reverse-carry": {"reverse": True, "save": "carry"},
}


def function(f: Callable[..., Any]) -> Function:
    return Function("f", f)


def _cell(h: Any, v: Any, w: Any) -> Any:
    return call("tanh", call("+", call("*", h, w), v))


def _all(scanned: Any) -> Any:
    """The last carry before what is stacked."""
    carry, ys = scanned
    return call("concat", call("unsqueeze", carry, 0), ys, axis=0)


def scans() -> list[Row]:
    found = []
    for n, d in TRIPS:
        for label, more in SAVING.items():
            if "segments" in more and n % 2:
                continue

            def ours(x: Any, h: Any, w: Any, more: Any = more) -> Any:
                def step(c: Any, v: Any) -> MultipleValues:
                    new = _cell(c, v, w)
                    return MultipleValues((new, call("*", new, v)))

                return _all(call("scan", function(step), h, x, **more))

            def theirs(x: Any, h: Any, w: Any, back: bool = bool(more.get("reverse"))) -> Any:
                ys: dict[int, Any] = {}
                for t in reversed(range(len(x))) if back else range(len(x)):
                    h = torch.tanh(h * w + x[t])
                    ys[t] = h * x[t]
                return torch.stack([h, *(ys[t] for t in range(len(x)))])

            found.append(built("scan", [(n, d), (d,), (d,)], ours, theirs, label))
    return found


def associative() -> list[Row]:
    times = function(lambda a, b: call("*", a, b))
    found = []
    for n, d in TRIPS:
        found += [
            built(
                "associative-scan",
                [((n, d), "1+")],
                lambda x: call("associative-scan", times, call("/", x, 1.5)),
                lambda x: torch.cumprod(x / 1.5, 0),
            ),
            built(
                "associative-scan",
                [(n, d)],
                lambda x: call(
                    "associative-scan", function(lambda a, b: call("+", a, b)), x, reverse=True
                ),
                lambda x: x.flip(0).cumsum(0).flip(0),
                "-reverse",
            ),
        ]
    return found


def maps() -> list[Row]:
    found = []
    for n, d in TRIPS:

        def ours(x: Any, y: Any, w: Any) -> Any:
            row = lambda a, b: call("softmax", call("+", call("*", a, w), b))
            return call("map-over", function(row), x, y)

        theirs = lambda x, y, w: torch.softmax(x * w + y, -1)
        found.append(built("map-over", [(n, d), (n, d), (d,)], ours, theirs))
        inner = lambda x: call(
            "map-over",
            function(lambda r: call("grad", call("sum", call("sin", r)), r)),
            x,
        )
        found.append(built("map-over", [(n, d)], inner, torch.cos, "-grad"))
    return found


def choices() -> list[Row]:
    found = []
    for n, d in TRIPS:
        for label, limit in (("-yes", -1e3), ("-no", 1e3)):

            def ours(x: Any, y: Any, limit: float = limit) -> Any:
                test = call(">", call("sum", x), limit)
                yes = function(lambda: call("*", call("sin", x), y))
                no = function(lambda: call("exp", call("*", 0.5, y)))
                return call("cond-select", test, yes, no)

            def theirs(x: Any, y: Any, limit: float = limit) -> Any:
                return torch.sin(x) * y if x.sum() > limit else torch.exp(0.5 * y)

            found.append(built("cond-select", [(n, d), (n, d)], ours, theirs, label))
    return found


def repeats() -> list[Row]:
    """Halved while the greatest is above 0.1: no gradient."""
    test = function(lambda x: call(">", call("reduce-max", call("abs", x)), 0.1))
    half = function(lambda x: call("*", x, 0.5))

    def theirs(x: Any) -> Any:
        while x.abs().max() > 0.1:
            x = x * 0.5
        return x

    return [
        built("while-loop", [shape], lambda x: call("while-loop", test, half, x), theirs, "", False)
        for shape in TRIPS
    ]


class _Leaky(torch.autograd.Function):
    """sign(x) whose slope is dy where |x| < 1."""

    @staticmethod
    def forward(context: Any, x: Any) -> Any:
        context.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(context: Any, dy: Any) -> Any:
        (x,) = context.saved_tensors
        return torch.where(x.abs() < 1, dy, 0.0)


def own_gradients() -> list[Row]:
    found = []
    forward = function(lambda x: call("sign", x))
    backward = function(
        lambda x, y, dy: call("where", call("<", call("abs", x), 1), dy, 0.0),
    )
    again = lambda x: with_setting(
        "copy", Checkpoint(), function(lambda: call("tanh", call("square", x)))
    )
    for shape in TRIPS:
        found += [
            built(
                "custom-gradient",
                [shape],
                lambda x: call("custom-gradient", forward, backward, call("*", 0.8, x)),
                lambda x: _Leaky.apply(0.8 * x),
            ),
            built("checkpoint", [shape], again, lambda x: torch.tanh(x * x)),
        ]
    return found


LOOPS: list[Row] = [
    *scans(),
    *associative(),
    *maps(),
    *choices(),
    *repeats(),
    *own_gradients(),
]
