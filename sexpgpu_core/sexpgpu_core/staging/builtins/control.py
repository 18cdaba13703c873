"""Gradients held back or changed; and the listed builtins that are not there yet."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator.definitions import builtin
from ...evaluator.values import Function, Value
from ..host import tracer
from ..origins import called_from_file
from ..promote import node_of, operands, real
from ..table import tensor_builtin
from ..tensor import Tensor


@tensor_builtin("stop-gradient", "(x)")
def stop_gradient(x: Value) -> Tensor:
    """x, through which no gradient flows. A. (stop-gradient x)"""
    t = tracer("stop-gradient")
    return t.tensor(t.builder("stop-gradient", node_of("stop-gradient", x, t)))


@tensor_builtin("straight-through", "(x y)")
def straight_through(x: Value, y: Value) -> Tensor:
    """The value of y, the gradient to x. F, shape of x. (straight-through x (round x))"""
    t, (to, value) = operands("straight-through", (x, y))
    return t.tensor(t.builder("straight-through", value, to))


@tensor_builtin("gradient-scale", "(x factor)")
def gradient_scale(x: Value, factor: Value) -> Tensor:
    """x; its gradient times a number, -1 reverses it. F. (gradient-scale x 0.1)"""
    t = tracer("gradient-scale")
    by = real("gradient-scale", "factor", factor)
    return t.tensor(t.builder("gradient-scale", node_of("gradient-scale", x, t), factor=by))


@builtin("%with", "(what value body)", staged=True)
def with_setting(what: str, value: Value, body: Function) -> Value:
    """Calls body with one setting of the trace changed: mode, frozen, policy or copy."""
    t = tracer(what)
    if (what, value) == ("weights", "ema") and t.averaged is not None and not t.averaged:
        raise problem(
            "E-EMA-MISSING",
            "with-weights :ema, and no average is kept",
            hint="(groups :ema 0.999 ...)",
        )
    if (what, value) == ("weights", "ema"):
        t.averages_at = t.averages_at or called_from_file()
    target = t.builder if what in ("policy", "copy") else t
    before = getattr(target, what)
    setattr(target, what, value(before) if callable(value) else value)
    try:
        return body.call()
    finally:
        setattr(target, what, before)
