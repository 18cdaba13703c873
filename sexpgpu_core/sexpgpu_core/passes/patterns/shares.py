"""Softmax, its logarithm and logsumexp, written out with the greatest element taken away first."""

from __future__ import annotations

from ...ir import Node, Value
from .match import Match, Near, core, either, is_, reduction, same, spread_over

OVERFLOWS = (
    "the greatest element is not subtracted, so exp overflows above 88: not the same function"
)
UNDERFLOWS = "the logarithm of a softmax is -inf where the softmax underflows; log-softmax is not"


def _shifted(value: Value) -> tuple[Value, Value, tuple[int, ...]] | None:
    """(x, its greatest, axes) of x - reduce-max(x)."""
    o = is_(value, "subtract")
    if o is None:
        return None
    most = o[1]
    if stopped := is_(most, "stop-gradient"):
        most = stopped[0]
    found = reduction(most, "reduce-max")
    if found is None or not same(found.source, o[0]):
        return None
    return (o[0], o[1], found.axes) if spread_over(o[1], o[0], found.axes) else None


def _sum_of_exp(value: Value) -> tuple[Value, tuple[int, ...]] | None:
    """(argument of exp, axes) of a sum of exp."""
    found = reduction(value, "reduce-sum")
    inner = is_(found.source, "exp") if found is not None else None
    return (inner[0], found.axes) if found is not None and inner is not None else None


def softmax(node: Node) -> Match | None:
    """exp over its own sum, by division or by the reciprocal."""
    if node.operation == "exp":
        return _exp_of_log(node)
    top, below = _ratio(node)
    if top is None or below is None:
        return None
    inner, found = is_(top, "exp"), _sum_of_exp(below)
    if inner is None or found is None or not same(inner[0], found[0]):
        return None
    axes = found[1]
    if not spread_over(below, top, axes):
        return None
    shifted = _shifted(inner[0])
    if shifted is None:
        raise Near(OVERFLOWS)
    x, _, along = shifted
    if along != axes:
        raise Near("the greatest element is taken along other axes than the sum")
    return _along(x, axes)


def _ratio(node: Node) -> tuple[Value | None, Value | None]:
    if node.operation == "divide":
        x, y = node.operands
        return x, y
    if node.operation == "multiply":
        for x, y in either(node.operands):
            if o := is_(y, "reciprocal"):
                return x, o[0]
    return None, None


def _along(x: Value, axes: tuple[int, ...]) -> Match:
    if len(axes) != 1:
        raise Near("it is along several axes")
    return Match("softmax", (x,), {"axis": axes[0]})


def _exp_of_log(node: Node) -> Match | None:
    """exp(log-softmax x)."""
    value = node.operands[0]
    log = value.node
    if log.operation != "log-softmax":
        return None
    return Match("softmax", log.operands, dict(log.attributes))


def logsumexp(node: Node) -> Match | None:
    """log(sum(exp(x - most))) + most."""
    for x, y in either(node.operands):
        inner = is_(x, "log")
        found = _sum_of_exp(inner[0]) if inner else None
        shifted = _shifted(found[0]) if found else None
        if found is None or shifted is None or not same(shifted[1], y):
            continue
        source, _, axes = shifted
        if axes == found[1] and len(x.shape) == len(y.shape):
            return Match("logsumexp", (source,), _kept(node, source, axes))
    return None


def _kept(node: Node, source: Value, axes: tuple[int, ...]) -> dict[str, object]:
    return {"axes": axes, "keep": len(node.types[0].shape) == len(source.shape)}


def log_softmax(node: Node) -> Match | None:
    """x less its logsumexp; or (x - most) less the logarithm of its sum of exp."""
    if node.operation == "log":
        if _is_share(node.operands[0].node):
            raise Near(UNDERFLOWS)
        return None
    x, total = node.operands
    if (o := is_(total, "logsumexp")) and same(o[0], x):
        axes = core(total).node.get("axes")
        if len(axes) == 1 and spread_over(total, x, axes):
            return Match("log-softmax", (x,), {"axis": axes[0]})
    inner = is_(total, "log")
    found = _sum_of_exp(inner[0]) if inner else None
    if found is None or not same(found[0], x) or len(found[1]) != 1:
        return None
    if not spread_over(total, x, found[1]):
        return None
    shifted = _shifted(x)
    if shifted is None:
        raise Near(OVERFLOWS)
    if shifted[2] != found[1]:
        return None
    return Match("log-softmax", (shifted[0],), {"axis": found[1][0]})


def _is_share(node: Node) -> bool:
    """Whether it is a softmax, or what labels pick of one."""
    if node.operation in ("take-along", "gather", "reshape"):
        return _is_share(node.operands[0].node)
    return node.operation == "softmax" and len(node.operands) == 1
