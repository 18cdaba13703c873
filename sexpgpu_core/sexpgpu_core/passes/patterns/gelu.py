"""GELU written out: x times its share, exact by erf, or by tanh or a sigmoid."""

from __future__ import annotations

import math

from ...ir import Node, Value
from .match import Match, Near, Polynomial, agrees, core, factors, is_, polynomial

ROOT = math.sqrt(2.0 / math.pi)
TANH: Polynomial = {1: ROOT, 3: 0.044715 * ROOT}
SIGMOID: Polynomial = {1: 1.702}
FORMS: dict[str, tuple[str, Polynomial, str]] = {
    "erf": ("none", {1: math.sqrt(0.5)}, "erf(x / sqrt 2)"),
    "tanh": ("tanh", TANH, "tanh(sqrt(2 / pi) (x + 0.044715 x^3))"),
}


def gelu(node: Node) -> Match | None:
    scale, found = factors(Value(node))
    if len(found) != 2:
        return None
    for x, share in (found, found[::-1]):
        match = _by_share(x, share, scale) or _by_sigmoid(x, share, scale)
        if match is not None:
            return match
    return None


def _match(x: Value, form: str) -> Match:
    return Match("gelu", (x,), {} if form == "none" else {"approximate": form})


def _by_share(x: Value, share: Value, scale: float) -> Match | None:
    """x (a + a f(u)), where with its number a is 1/2."""
    inner = _curve(share)
    if inner is None:
        return None
    form, wanted, says = FORMS[inner.node.operation]
    line = polynomial(share, inner, 1)
    argument = polynomial(inner.node.operands[0], x)
    if line is None or argument is None or not agrees(line, {0: line.get(0, 0.0), 1: line[1]}):
        return None
    if not agrees({d: scale * c for d, c in line.items()}, {0: 0.5, 1: 0.5}):
        return None
    if not agrees(argument, wanted):
        raise Near(f"its numbers are not those of x {says}")
    return _match(x, form)


def _curve(share: Value) -> Value | None:
    """The erf or tanh in a share a + b f(u)."""
    node = core(share).node
    if node.operation in FORMS:
        return core(share)
    if node.operation in ("add", "multiply", "divide", "subtract"):
        for value in node.operands:
            found = _curve(value)
            if found is not None:
                return found
    return None


def _by_sigmoid(x: Value, share: Value, scale: float) -> Match | None:
    """x sigmoid(1.702 x); with twice the argument of tanh it is the form by tanh."""
    inner = is_(share, "sigmoid")
    if inner is None or scale != 1.0:
        return None
    argument = polynomial(inner[0], x)
    if agrees(argument, SIGMOID):
        return _match(x, "sigmoid")
    if agrees(argument, {d: 2.0 * c for d, c in TANH.items()}):
        return _match(x, "tanh")
    return None
