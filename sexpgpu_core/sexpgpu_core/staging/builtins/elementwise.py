"""Elementwise builtins of one operand: a row each, and the few with arguments of their own."""

from __future__ import annotations

from ...evaluator.values import NIL, Value
from ..host import tracer
from ..promote import elementwise, node_of
from ..table import tensor_builtin
from ..tensor import StepScalar, Tensor, tree_of

FLOAT_ROWS = {
    "rsqrt": "1 / sqrt(x); NaN below 0",
    "exp2": "2 to the x",
    "expm1": "e to the x, less 1, exact near 0",
    "log2": "The logarithm to base 2; NaN below 0",
    "log1p": "log(1 + x), exact near 0",
    "erf": "The error function",
    "erfc": "1 - erf(x), exact for large x",
    "erfinv": "The inverse of erf on (-1, 1)",
    "cbrt": "The cube root, of negative numbers too",
    "lgamma": "The logarithm of |gamma(x)|",
    "sigmoid": "1 / (1 + exp(-x))",
    "sqrt": "The square root; NaN below 0",
    "exp": "e to the x",
    "sin": "The sine",
    "cos": "The cosine",
    "tan": "The tangent",
    "asin": "The arc sine",
    "acos": "The arc cosine",
    "sinh": "The hyperbolic sine",
    "cosh": "The hyperbolic cosine",
    "tanh": "The hyperbolic tangent",
    "asinh": "The inverse hyperbolic sine",
    "acosh": "The inverse hyperbolic cosine",
    "atanh": "The inverse hyperbolic tangent",
}
"""Name -> what it is. F, shape and dtype of x, gradient yes; integers are E-DTYPE-INTEGER."""

NUMBER_ROWS = {
    "abs": "The absolute value; gradient 0 at 0",
    "sign": "-1, 0 or 1; gradient 0",
    "square": "x times x",
}
"""Name -> what it is. N, shape and dtype of x."""

ON_STEP_SCALARS = frozenset(["exp", "sqrt", "cos", "sin", "tanh", "abs"])


def _define_unary(name: str, says: str, kinds: str) -> None:
    def call(x: Value) -> Value:
        if x.__class__ is StepScalar and name in ON_STEP_SCALARS:
            return StepScalar((name, x.tree))
        t = tracer(name)
        return t.tensor(t.builder(name, node_of(name, x, t)))

    call.__doc__ = f"{says}. {kinds}, shape and dtype of x. ({name} x)"
    tensor_builtin(name, "(x)")(call)


for _name, _says in FLOAT_ROWS.items():
    _define_unary(_name, _says, "F")
for _name, _says in NUMBER_ROWS.items():
    _define_unary(_name, _says, "N")


@tensor_builtin("digamma", "(x)")
def digamma(x: Value) -> Tensor:
    """The slope of lgamma; NaN at its poles. F, shape of x; it has no gradient. (digamma x)"""
    t = tracer("digamma")
    return t.tensor(t.builder("digamma", node_of("digamma", x, t)))


@tensor_builtin("signum", "(x)")
def signum(x: Value) -> Tensor:
    """The standard's name of `sign`: -1, 0 or 1 of each element. N, gradient 0. (signum x)"""
    t = tracer("signum")
    return t.tensor(t.builder("sign", node_of("signum", x, t)))


@tensor_builtin("reciprocal", "(x)")
def reciprocal(x: Value) -> Tensor:
    """1 / x. F, shape of x. (reciprocal x)"""
    t = tracer("reciprocal")
    return t.tensor(t.builder("reciprocal", node_of("reciprocal", x, t)))


@tensor_builtin("log", "(x &optional base)")
def log(x: Value, base: Value = NIL) -> Value:
    """The natural logarithm, or that to a base. F, shape of x; NaN below 0. (log x 10)"""
    if x.__class__ is StepScalar and (base is NIL or base.__class__ is not Tensor):
        tail = () if base is NIL else (tree_of(base),)
        return StepScalar(("log", x.tree, *tail))
    t = tracer("log")
    natural = t.tensor(t.builder("log", node_of("log", x, t)))
    if base is NIL:
        return natural
    return elementwise("log", "multiply", (natural, _reciprocal_log(base)))


def _reciprocal_log(base: Value) -> Value:
    from math import log as natural

    from ..promote import real

    return 1 / natural(real("log", "base", base))


@tensor_builtin("log10", "(x)")
def log10(x: Value) -> Value:
    """The logarithm to base 10. F, shape of x. (log10 x)"""
    return log(x, 10)


@tensor_builtin("atan", "(x &optional y)")
def atan(x: Value, y: Value = NIL) -> Tensor:
    """The arc tangent, or with y the angle of the point (y, x). F. (atan x), (atan y x)"""
    if y is not NIL:
        return elementwise("atan", "atan2", (x, y))
    t = tracer("atan")
    return t.tensor(t.builder("atan", node_of("atan", x, t)))


@tensor_builtin("atan2", "(y x)")
def atan2(y: Value, x: Value) -> Tensor:
    """The angle of the point (x, y), in (-pi, pi]. F, operands broadcast. (atan2 y x)"""
    return elementwise("atan2", "atan2", (y, x))
