"""Activations: compositions of elementwise nodes, gradient as the contract says."""

from __future__ import annotations

from collections.abc import Callable

from ...evaluator.values import NIL, Value
from ...ir.builder import Builder
from ...ir.graph import Value as Node
from ..arguments import choice
from ..exact import round_to
from ..host import tracer
from ..promote import node_of, real
from ..table import tensor_builtin
from ..tensor import Tensor

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def number(b: Builder, value: float, x: Node) -> Node:
    """A number as a constant of x's dtype."""
    return b.constant(round_to(value, x.dtype), x.dtype)


def _relu(b: Builder, x: Node) -> Node:
    return b("relu", x)


def _softplus(b: Builder, x: Node) -> Node:
    return b("softplus", x)


def _silu(b: Builder, x: Node) -> Node:
    return b("silu", x)


def _mish(b: Builder, x: Node) -> Node:
    return b("mish", x)


def _softsign(b: Builder, x: Node) -> Node:
    return b("divide", x, b("add", number(b, 1, x), b("abs", x)))


def _relu6(b: Builder, x: Node) -> Node:
    return b("clip", x, number(b, 0, x), number(b, 6, x))


def _relu_squared(b: Builder, x: Node) -> Node:
    return b("square", _relu(b, x))


def _hard_sigmoid(b: Builder, x: Node) -> Node:
    from fractions import Fraction

    from ...ir.rounding import rounded

    sixth = b.constant(rounded(Fraction(1, 6), x.dtype), x.dtype)
    line = b("add", b("multiply", x, sixth), number(b, 0.5, x))
    return b("clip", line, number(b, 0, x), number(b, 1, x))


def _hard_swish(b: Builder, x: Node) -> Node:
    return b("multiply", x, _hard_sigmoid(b, x))


def _below_zero(b: Builder, x: Node, below: Node) -> Node:
    return b("where", b("greater", x, number(b, 0, x)), x, below)


def _elu(b: Builder, x: Node, alpha: float) -> Node:
    return b("elu", x, alpha=alpha)


def _selu(b: Builder, x: Node) -> Node:
    return b("multiply", number(b, SELU_SCALE, x), _elu(b, x, SELU_ALPHA))


def _celu(b: Builder, x: Node, alpha: float) -> Node:
    low = b("minimum", x, number(b, 0, x))
    part = b("expm1", b("divide", low, number(b, alpha, x)))
    return _below_zero(b, x, b("multiply", number(b, alpha, x), part))


def _log_sigmoid(b: Builder, x: Node) -> Node:
    return b("negate", _softplus(b, b("negate", x)))


def _logit(b: Builder, x: Node) -> Node:
    return b("subtract", b("log", x), b("log1p", b("negate", x)))


PLAIN: dict[str, tuple[Callable[[Builder, Node], Node], str]] = {
    "relu": (_relu, "max(x, 0); gradient 0 at 0"),
    "relu6": (_relu6, "min(max(x, 0), 6)"),
    "relu-squared": (_relu_squared, "max(x, 0) squared"),
    "silu": (_silu, "x times sigmoid(x), also called swish"),
    "mish": (_mish, "x times tanh(softplus(x)) (Misra, 2019)"),
    "softsign": (_softsign, "x / (1 + |x|)"),
    "selu": (_selu, "1.0507 x above 0, 1.7581 (exp(x) - 1) below (Klambauer and others, 2017)"),
    "hard-sigmoid": (_hard_sigmoid, "clip(x/6 + 1/2, 0, 1)"),
    "hard-swish": (_hard_swish, "x times hard-sigmoid(x)"),
    "log-sigmoid": (_log_sigmoid, "log(sigmoid(x)), without overflow"),
    "logit": (_logit, "log(x / (1 - x))"),
}


def _define_plain(name: str, build: Callable[[Builder, Node], Node], says: str) -> None:
    def call(x: Value) -> Tensor:
        t = tracer(name)
        return t.tensor(build(t.builder, node_of(name, x, t)))

    call.__doc__ = f"{says}. F, shape of x. ({name} x)"
    tensor_builtin(name, "(x)")(call)


for _name, (_build, _says) in PLAIN.items():
    _define_plain(_name, _build, _says)


@tensor_builtin("gelu", "(x &key (approximate nil))")
def gelu(x: Value, *, approximate: Value = NIL) -> Tensor:
    """x times the normal distribution function, or a `:tanh`, `:sigmoid` form of it. F. (gelu x)"""
    t = tracer("gelu")
    node = node_of("gelu", x, t)
    if approximate is NIL:
        return t.tensor(t.builder("gelu", node))
    kind = choice("gelu", "approximate", approximate, ("tanh", "sigmoid"))
    return t.tensor(t.builder("gelu", node, approximate=kind))


@tensor_builtin("softplus", "(x &key (beta 1))")
def softplus(x: Value, *, beta: Value = 1) -> Tensor:
    """log(1 + exp(beta x)) / beta. F, shape of x. (softplus x)"""
    t = tracer("softplus")
    node = node_of("softplus", x, t)
    if beta == 1:
        return t.tensor(t.builder("softplus", node))
    return t.tensor(t.builder("softplus", node, beta=real("softplus", "beta", beta)))


def _define_alpha(name: str, build: Callable[[Builder, Node, float], Node], says: str) -> None:
    def call(x: Value, *, alpha: Value = 1) -> Tensor:
        t = tracer(name)
        return t.tensor(build(t.builder, node_of(name, x, t), real(name, "alpha", alpha)))

    call.__doc__ = f"{says}. F, shape of x. ({name} x)"
    tensor_builtin(name, "(x &key (alpha 1))")(call)


_define_alpha("elu", _elu, "x above 0, alpha (exp(x) - 1) below")
_define_alpha("celu", _celu, "x above 0, alpha (exp(x/alpha) - 1) below")


@tensor_builtin("leaky-relu", "(x &key (slope 0.01))")
def leaky_relu(x: Value, *, slope: Value = 0.01) -> Tensor:
    """x above 0, slope x below. F, shape of x. (leaky-relu x)"""
    t = tracer("leaky-relu")
    node = node_of("leaky-relu", x, t)
    return t.tensor(t.builder("leaky-relu", node, slope=real("leaky-relu", "slope", slope)))


@tensor_builtin("hard-tanh", "(x &key (low -1) (high 1))")
def hard_tanh(x: Value, *, low: Value = -1, high: Value = 1) -> Value:
    """x limited to [low, high]. F, shape of x. (hard-tanh x)"""
    from .arithmetic import clip

    return clip(x, low, high)
