"""`+ - * / min max expt floor mod` on tensors and step scalars; numbers stay Lisp's."""

from __future__ import annotations

from ...evaluator.definitions import BUILTINS
from ...evaluator.values import NIL, Value
from ...ir.builder import Builder
from ...ir.graph import Value as Node
from ...ir.types import FLOATS, INTEGERS
from ..exact import is_number
from ..host import tracer
from ..promote import elementwise, integer, node_of, operands
from ..table import tensor_builtin
from ..tensor import StepScalar, is_tensor, tree_of

OPERATIONS = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "min": "minimum",
    "max": "maximum", "mod": "mod", "rem": "rem",
}  # fmt: skip


def pair(name: str, x: Value, y: Value) -> Value:
    """One application: on numbers Lisp's, on step scalars a tree, on tensors a node."""
    if is_tensor(x) or is_tensor(y):
        return elementwise(name, OPERATIONS[name], (x, y))
    if x.__class__ is StepScalar or y.__class__ is StepScalar:
        return StepScalar((name, _tree(name, x), _tree(name, y)))
    return BUILTINS[name.upper()].call(x, y)


def _tree(name: str, value: Value) -> Value:
    if is_number(value) or value.__class__ is StepScalar:
        return tree_of(value)
    return BUILTINS[name.upper()].call(value, 1)  # raises its own E-TYPE


def _fold(name: str, first: Value, rest: tuple[Value, ...]) -> Value:
    for y in rest:
        first = pair(name, first, y)
    return first


@tensor_builtin("+", "(&rest x)")
def add(*x: Value) -> Value:
    """The sum. N, operands broadcast. (+ x 1)"""
    return _fold("+", x[0], x[1:])


@tensor_builtin("*", "(&rest x)")
def multiply(*x: Value) -> Value:
    """The product. N, operands broadcast; numbers that stand first are one factor. (* 2 1/3 x)"""
    return _fold("*", x[0], x[1:])


@tensor_builtin("-", "(x &rest y)")
def subtract(x: Value, *y: Value) -> Value:
    """The difference, or x negated. N, operands broadcast. (- x y)"""
    if y:
        return _fold("-", x, y)
    if x.__class__ is StepScalar:
        return StepScalar(("-", x.tree))
    t = tracer("-")
    return t.tensor(t.builder("negate", node_of("-", x, t)))


@tensor_builtin("/", "(x &rest y)")
def divide(x: Value, *y: Value) -> Value:
    """The quotient, or 1 / x. F, operands broadcast; integers are E-DTYPE-INTEGER. (/ x 2)"""
    if y:
        return _fold("/", x, y)
    if x.__class__ is StepScalar:
        return StepScalar(("/", x.tree))
    t = tracer("/")
    return t.tensor(t.builder("reciprocal", node_of("/", x, t)))


@tensor_builtin("1+", "(x)")
def increment(x: Value) -> Value:
    """x + 1. N, shape of x. (1+ x)"""
    return pair("+", x, 1)


@tensor_builtin("1-", "(x)")
def decrement(x: Value) -> Value:
    """x - 1. N, shape of x. (1- x)"""
    return pair("-", x, 1)


@tensor_builtin("min", "(x &rest y)")
def minimum(x: Value, *y: Value) -> Value:
    """The least, element by element; NaN wins. N, operands broadcast. (min x 1)"""
    return _fold("min", x, y)


@tensor_builtin("max", "(x &rest y)")
def maximum(x: Value, *y: Value) -> Value:
    """The greatest, element by element; NaN wins. N, operands broadcast. (max x 0)"""
    return _fold("max", x, y)


@tensor_builtin("mod", "(x y)")
def modulo(x: Value, y: Value) -> Value:
    """What is left of x / y, with the sign of y. N, operands broadcast. (mod x 7)"""
    return pair("mod", x, y)


@tensor_builtin("rem", "(x y)")
def remainder(x: Value, y: Value) -> Value:
    """What is left of x / y, with the sign of x. N, operands broadcast. (rem x 7)"""
    return pair("rem", x, y)


def _define_rounding(name: str, says: str) -> None:
    def call(x: Value, y: Value = 1) -> Value:
        if not is_tensor(x) and not is_tensor(y):
            tail = () if y == 1 else (tree_of(y),)
            return StepScalar((name, tree_of(x), *tail))
        t, nodes = operands(name, (x, y))
        if y == 1:
            return t.tensor(t.builder(name, nodes[0]))
        if nodes[0].dtype not in FLOATS:
            return t.tensor(_whole_quotient(t.builder, name, *nodes))
        return t.tensor(t.builder(name, t.builder("divide", *nodes)))

    call.__doc__ = f"x, or x / y, {says}: one value, dtype kept. N, gradient 0. ({name} x)"
    tensor_builtin(name, "(x &optional (y 1))")(call)


def _whole_quotient(b: Builder, name: str, x: Node, y: Node) -> Node:
    """x / y of integers, rounded to a whole number; by 0 it is 0."""
    cut = b("quotient", x, y)
    if name == "truncate":
        return cut
    zero, one = b.like(0, x), b.like(1, x)
    left = b("mod", x, y)  # of the sign of y
    low = b("subtract", cut, b("where", b("equal", left, b("rem", x, y)), zero, one))
    if name == "floor":
        return low
    if name == "ceiling":
        up = b("not-equal", left, zero)
    else:
        rest = b("subtract", b("abs", y), b("abs", left))
        odd = b("equal", b("bit-and", low, one), one)
        half = b("logical-and", b("equal", b("abs", left), rest), odd)
        up = b("logical-or", b("greater", b("abs", left), rest), half)
    up = b("logical-and", up, b("not-equal", y, zero))
    return b("add", low, b("where", up, one, zero))


for _name, _says in {
    "floor": "down to a whole number",
    "ceiling": "up to a whole number",
    "truncate": "to a whole number towards 0",
    "round": "to the nearest whole number, halves to even",
}.items():
    _define_rounding(_name, _says)


@tensor_builtin("expt", "(x y)")
def expt(x: Value, y: Value) -> Value:
    """x to the y. F; I with a whole number y >= 0. Small whole powers are products. (expt x 2)"""
    if not is_tensor(x) and not is_tensor(y):
        return StepScalar(("expt", tree_of(x), tree_of(y)))
    if is_tensor(x) and y.__class__ is int and (abs(y) <= 8 or (y > 0 and x.dtype in INTEGERS)):
        return _whole_power(x, y)
    if is_tensor(x) and y == 0.5:
        t = tracer("expt")
        return t.tensor(t.builder("sqrt", t.node(x)))
    return elementwise("expt", "power", (x, y))


def _whole_power(x: Value, power: int) -> Value:
    t = tracer("expt")
    b, base = t.builder, t.node(x)
    if power < 0:
        return divide(_whole_power(x, -power))
    if power == 0:
        one = 1.0 if base.dtype in FLOATS else 1
        return t.tensor(b("broadcast-to", b.constant(one, base.dtype), shape=base.shape))
    result = None
    while power:
        if power & 1:
            result = base if result is None else b("multiply", result, base)
        power >>= 1
        if power:
            base = b("square", base)
    assert result is not None
    return t.tensor(result)


@tensor_builtin("clip", "(x low high)")
def clip(x: Value, low: Value, high: Value) -> Value:
    """x limited to [low, high]; nil is open. N, operands broadcast; gradient 0 outside.

    (clip x 0 1)"""
    if low is NIL or high is NIL:
        x = x if low is NIL else maximum(x, low)
        return x if high is NIL else minimum(x, high)
    if not any(map(is_tensor, (x, low, high))):
        return minimum(maximum(x, low), high)
    t, nodes = operands("clip", (x, low, high))
    return t.tensor(t.builder("clip", *nodes))


@tensor_builtin("lerp", "(x y weight)")
def lerp(x: Value, y: Value, weight: Value) -> Value:
    """x + weight (y - x). F, operands broadcast. (lerp x y 0.1)"""
    return pair("+", x, pair("*", weight, pair("-", y, x)))


@tensor_builtin("hypot", "(x y)")
def hypot(x: Value, y: Value) -> Value:
    """The length of (x, y), without overflow. F, operands broadcast. (hypot x y)"""
    t, (a, c) = operands("hypot", (x, y))
    b = t.builder
    a, c = b("abs", a), b("abs", c)
    large, small = b("maximum", a, c), b("minimum", a, c)
    empty = b("equal", large, b.like(0.0, large))
    ratio = b("divide", small, b("where", empty, b.like(1.0, large), large))
    ratio = b("where", b("is-inf", large), b.like(0.0, ratio), ratio)
    length = b("multiply", large, b("sqrt", b("add", b.like(1.0, ratio), b("square", ratio))))
    return t.tensor(length)


@tensor_builtin("ash", "(x count)")
def shift(x: Value, count: Value) -> Value:
    """x shifted left by count bits, right where it is negative. I, gradient 0. (ash x 3)"""
    if not is_tensor(count):
        integer("ash", "count", count)
    return elementwise("ash", "shift", (x, count))


def _define_bits(name: str, operation: str, says: str) -> None:
    def call(*x: Value) -> Value:
        result = x[0]
        for y in x[1:]:
            if is_tensor(result) or is_tensor(y):
                result = elementwise(name, operation, (result, y))
            else:
                result = BUILTINS[name.upper()].call(result, y)
        return result

    call.__doc__ = f"{says}, bit by bit. I, operands broadcast, gradient 0. ({name} x 255)"
    tensor_builtin(name, "(&rest x)")(call)


_define_bits("logand", "bit-and", "And")
_define_bits("logior", "bit-or", "Or")
_define_bits("logxor", "bit-xor", "Exclusive or")


@tensor_builtin("lognot", "(x)")
def complement(x: Value) -> Value:
    """All bits turned. I, shape of x. (lognot x)"""
    t = tracer("lognot")
    return t.tensor(t.builder("bit-not", node_of("lognot", x, t)))


@tensor_builtin("popcount", "(x)")
def popcount(x: Value) -> Value:
    """The number of bits that are 1. I, shape of x. (popcount x)"""
    t = tracer("popcount")
    return t.tensor(t.builder("popcount", node_of("popcount", x, t)))
