"""Activations: composites of a few elementwise nodes, with gradients that are kind to kernels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...diagnostics import problem
from ..graph import Node, Value
from ..operation import Attributes, Fusion, Precision
from .elementwise import floats_1, numbers_1, same_axes
from .elementwise_arithmetic import zero_unless
from .op import Cotangents, Expand, Gradient, Infer, Op, Types

if TYPE_CHECKING:
    from ..builder import Builder

_ROOT = math.sqrt(2.0 / math.pi)
_CUBIC = 0.044715 * _ROOT
_SIGMOID = 1.702


def times(b: Builder, x: Value, number: float) -> Value:
    return b("multiply", x, b.like(number, x))


def plus(b: Builder, x: Value, number: float) -> Value:
    return b("add", x, b.like(number, x))


def _infer_gelu(op: Op, operands: Types, attributes: Attributes) -> Types:
    form = attributes.get("approximate") or "none"
    if form not in _GELU:
        known = " ".join(_GELU)
        raise problem("E-OPTION-VALUE", f"gelu: approximate is one of {known}, not {form}")
    return floats_1(op, operands, attributes)


def _normal_share(b: Builder, x: Value) -> Value:
    """The normal distribution function, 0.5 (1 + erf(x / sqrt 2))."""
    return times(b, plus(b, b("erf", times(b, x, math.sqrt(0.5))), 1.0), 0.5)


def _exact_slope(b: Builder, x: Value) -> Value:
    density = b("exp", times(b, b("square", x), -0.5))
    scaled = times(b, density, 1.0 / math.sqrt(2.0 * math.pi))
    return b("add", _normal_share(b, x), b("multiply", x, scaled))


def _tanh_share(b: Builder, x: Value) -> Value:
    inner = b("multiply", x, plus(b, times(b, b("square", x), _CUBIC), _ROOT))
    return times(b, plus(b, b("tanh", inner), 1.0), 0.5)


def tanh_gelu(b: Builder, x: Value) -> Value:
    return b("multiply", x, _tanh_share(b, x))


def tanh_slope(b: Builder, x: Value) -> Value:
    # With s = (1 + tanh u) / 2: the slope is s + 2 x s (1 - s) u'.
    s = _tanh_share(b, x)
    rise = plus(b, times(b, b("square", x), 6.0 * _CUBIC), 2.0 * _ROOT)
    return b("add", s, b("multiply", b("multiply", x, _spread(b, s)), rise))


def _sigmoid_share(b: Builder, x: Value) -> Value:
    return b("sigmoid", times(b, x, _SIGMOID))


def _sigmoid_slope(b: Builder, x: Value) -> Value:
    s = _sigmoid_share(b, x)
    return b("add", s, b("multiply", times(b, x, _SIGMOID), _spread(b, s)))


def _spread(b: Builder, s: Value) -> Value:
    """s (1 - s)"""
    return b("multiply", s, b("subtract", b.like(1.0, s), s))


_GELU = {
    "none": (_normal_share, _exact_slope),
    "tanh": (_tanh_share, tanh_slope),
    "sigmoid": (_sigmoid_share, _sigmoid_slope),
}


def _expand_gelu(b: Builder, node: Node) -> tuple[Value, ...]:
    x = node.operands[0]
    share = _GELU[node.get("approximate") or "none"][0]
    return (b("multiply", x, share(b, x)),)


def _gelu_back(b: Builder, node: Node, g: Value) -> Cotangents:
    slope = _GELU[node.get("approximate") or "none"][1]
    return (b("multiply", g, slope(b, node.operands[0])),)


def _relu_back(b: Builder, node: Node, g: Value) -> Cotangents:
    x = node.operands[0]
    return (zero_unless(b, b("greater", x, b.like(0, x)), g),)


def _silu_back(b: Builder, node: Node, g: Value) -> Cotangents:
    x = node.operands[0]
    s = b("sigmoid", x)
    slope = b("add", s, b("multiply", x, _spread(b, s)))
    return (b("multiply", g, slope),)


def softplus(b: Builder, x: Value) -> Value:
    """log(1 + exp(x)) without overflow: max(x, 0) + log1p(exp(-|x|))."""
    tail = b("log1p", b("exp", b("negate", b("abs", x))))
    return b("add", b("maximum", x, b.like(0.0, x)), tail)


def _expand_softplus(b: Builder, node: Node) -> tuple[Value, ...]:
    x, beta = node.operands[0], float(node.get("beta", 1.0))
    return (times(b, softplus(b, times(b, x, beta)), 1.0 / beta),)


def _softplus_back(b: Builder, node: Node, g: Value) -> Cotangents:
    slope = b("sigmoid", times(b, node.operands[0], float(node.get("beta", 1.0))))
    return (b("multiply", g, slope),)


def _expand_elu(b: Builder, node: Node) -> tuple[Value, ...]:
    x, alpha = node.operands[0], float(node.get("alpha", 1.0))
    zero = b.like(0.0, x)
    below = times(b, b("expm1", b("minimum", x, zero)), alpha)
    return (b("where", b("greater", x, zero), x, below),)


def _elu_back(b: Builder, node: Node, g: Value) -> Cotangents:
    x, alpha = node.operands[0], float(node.get("alpha", 1.0))
    zero = b.like(0.0, x)
    below = b("multiply", g, times(b, b("exp", b("minimum", x, zero)), alpha))
    return (b("where", b("greater", x, zero), g, below),)


def _expand_leaky(b: Builder, node: Node) -> tuple[Value, ...]:
    x = node.operands[0]
    test = b("greater", x, b.like(0.0, x))
    return (b("where", test, x, times(b, x, float(node.get("slope", 0.01)))),)


def _expand_relu(b: Builder, node: Node) -> tuple[Value, ...]:
    x = node.operands[0]
    return (b("maximum", x, b.like(0, x)),)


def _expand_silu(b: Builder, node: Node) -> tuple[Value, ...]:
    x = node.operands[0]
    return (b("multiply", x, b("sigmoid", x)),)


def _expand_mish(b: Builder, node: Node) -> tuple[Value, ...]:
    x = node.operands[0]
    return (b("multiply", x, b("tanh", b("softplus", x))),)


def _row(
    name: str,
    doc: str,
    expand: Expand,
    gradient: Gradient | None = None,
    infer: Infer = floats_1,
    precision: Precision = Precision.FOLLOW,
) -> Op:
    return Op(
        name,
        "",
        Fusion.ELEMENT,
        precision,
        infer,
        f"{doc} F, shape of x. Gradient: yes.",
        gradient,
        expand=expand,
        depends=same_axes,
    )


ROWS = [
    _row("relu", "max(x, 0); slope 0 at 0.", _expand_relu, _relu_back, numbers_1),
    _row(
        "gelu",
        "x times the normal distribution function. Attribute approximate: none (erf), tanh, "
        "sigmoid (Hendrycks and Gimpel, 2016).",
        _expand_gelu,
        _gelu_back,
        _infer_gelu,
    ),
    _row("silu", "x sigmoid(x).", _expand_silu, _silu_back),
    _row(
        "softplus",
        "log(1 + exp(beta x)) / beta. Attribute beta (1).",
        _expand_softplus,
        _softplus_back,
        precision=Precision.FULL,
    ),
    _row("mish", "x tanh(softplus(x)).", _expand_mish, precision=Precision.FULL),
    _row("elu", "x, or alpha (exp(x) - 1) below 0. Attribute alpha (1).", _expand_elu, _elu_back),
    _row("leaky-relu", "x, or slope x below 0. Attribute slope (0.01).", _expand_leaky),
]
