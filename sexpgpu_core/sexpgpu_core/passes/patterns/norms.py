"""Layer and RMS norm written out, with their weight and bias where these follow."""

from __future__ import annotations

from ...ir import Node, Value
from .match import (
    Match,
    Near,
    Reduced,
    core,
    count,
    divided_sum,
    either,
    is_,
    mean,
    number,
    same,
    spread_over,
    squared,
)

OUTSIDE = "eps is added to the deviation, not to the variance under the root"
SAMPLE = "the variance is divided by n - 1, a norm's by n"
NORMS = ("layer-norm", "rms-norm")


def norm(node: Node) -> Match | None:
    """x over a root of its mean square; of what is centred, a layer norm."""
    top, power = _over_root(node)
    if top is None or power is None:
        return None
    spread, eps = _with_eps(power)
    found = _centred(top, spread) or _plain(top, spread)
    if found is None:
        return None
    operation, x, axes = found
    if not spread_over(_divisor(node, top), top, axes):
        return None
    return Match(operation, (x,), {"axes": axes, "eps": eps})


def _over_root(node: Node) -> tuple[Value | None, Value | None]:
    """(x, v) of x / sqrt(v), x rsqrt(v), x v^(-1/2)."""
    if node.operation == "divide":
        x, root = node.operands
        if o := is_(root, "sqrt"):
            return x, o[0]
        if (o := is_(root, "add")) and any(is_(v, "sqrt") and number(w) for v, w in either(o)):
            _check_near(x, o)
        return None, None
    for x, root in either(node.operands):
        if o := is_(root, "rsqrt"):
            return x, o[0]
        if (o := is_(root, "power")) and number(o[1]) == -0.5:
            return x, o[0]
        if (o := is_(root, "reciprocal")) and (s := is_(o[0], "sqrt")):
            return x, s[0]
    return None, None


def _check_near(x: Value, o: tuple[Value, ...]) -> None:
    """x / (deviation + eps) is no norm; said where the rest would be one."""
    root = next(is_(v, "sqrt") for v in o if is_(v, "sqrt"))
    assert root is not None
    if _centred(x, root[0]) or _plain(x, root[0]):
        raise Near(OUTSIDE)


def _divisor(node: Node, top: Value) -> Value:
    """The operand that is not x."""
    x, y = node.operands
    return y if x is top or same(x, top) else x


def _with_eps(power: Value) -> tuple[Value, float]:
    if o := is_(power, "add"):
        for v, w in either(o):
            eps = number(w)
            if eps is not None and eps >= 0:
                return v, eps
    return power, 0.0


Found = tuple[str, Value, tuple[int, ...]]


def _centred(top: Value, spread: Value) -> Found | None:
    """(x - mean) beside the variance of x."""
    o = is_(top, "subtract")
    average = mean(o[1]) if o else None
    if o is None or average is None or not same(average.source, o[0]):
        return None
    x, axes = o[0], average.axes
    if not spread_over(o[1], x, axes):
        return None
    if not (_mean_of_squares(spread, top, axes) or _difference(spread, x, axes)):
        return None
    return "layer-norm", x, axes


def _mean_of_squares(spread: Value, x: Value, axes: tuple[int, ...] | None) -> Reduced | None:
    """The mean of x squared, along these axes if they are given."""
    found, divisor = divided_sum(spread)
    source = squared(found.source) if found is not None else None
    if found is None or source is None or not same(source, x):
        return None
    if axes is not None and found.axes != axes:
        return None
    n = count(found.source, found.axes)
    if axes is not None and n > 1 and abs(divisor - (n - 1)) < 1e-6 * n:
        raise Near(SAMPLE)
    return found if abs(divisor - n) <= 1e-6 * n else None


def _difference(spread: Value, x: Value, axes: tuple[int, ...]) -> bool:
    """The mean of squares less the square of the mean."""
    o = is_(spread, "subtract")
    if o is None or _mean_of_squares(o[0], x, axes) is None:
        return False
    source = squared(o[1])
    average = mean(source) if source is not None else None
    return average is not None and same(average.source, x) and average.axes == axes


def _plain(top: Value, spread: Value) -> Found | None:
    found = _mean_of_squares(spread, top, None)
    return ("rms-norm", top, found.axes) if found is not None else None


def weighted(node: Node) -> Match | None:
    """A norm times a weight of its axes."""
    for x, weight in either(node.operands):
        norm = x.node
        if norm.operation in NORMS and len(norm.operands) == 1 and _fits(norm, weight):
            return Match(norm.operation, (*norm.operands, weight), dict(norm.attributes))
    return None


def biased(node: Node) -> Match | None:
    """A layer norm with its weight, and a bias added."""
    for x, bias in either(node.operands):
        norm = x.node
        if norm.operation == "layer-norm" and len(norm.operands) == 2 and _fits(norm, bias):
            return Match("layer-norm", (*norm.operands, bias), dict(norm.attributes))
    return None


def _fits(norm: Node, weight: Value) -> bool:
    """Whether it has the sizes of the axes that are normalized, and no others."""
    shape = norm.types[0].shape
    lead = len(shape) - len(weight.shape)
    if number(weight) is not None or weight.dtype != norm.types[0].dtype or lead < 0:
        return False
    axes = norm.get("axes")
    wanted = tuple([n if a in axes else 1 for a, n in enumerate(shape)])
    return (1,) * lead + weight.shape == wanted and core(weight).node is not norm
