"""Cross-entropy written out: the log-softmax of the logits at a label, or against shares.

What is matched is the part that one label picks, so the mean, the sign and the weights around it
stay as they are written.
"""

from __future__ import annotations

from ...ir import Node, Value
from .match import Match, Near, core, either, is_, number, same

LABELS = "its targets depend on parameters, and cross-entropy has no gradient to targets"


def picked(node: Node) -> Match | None:
    """The log-softmax at a label: take-along, or gather a row at a time."""
    x, index = node.operands
    inner = x.node
    if inner.operation != "log-softmax" or inner.get("scale", 1.0) != 1.0:
        return None
    labels = _labels(node, index)
    if labels is None or inner.get("axis") != node.get("axis"):
        return None
    return _match(inner.operands[0], labels, node)


def _match(logits: Value, labels: Value, node: Node) -> Match:
    more = {"axis": node.get("axis"), "out": node.get("out")}
    return Match("cross-entropy", (logits, labels), more, negated=True)


def _labels(node: Node, index: Value) -> Value | None:
    """Labels without the axis of classes, or None where one index takes more than one."""
    x, axis = node.operands[0], node.get("axis")
    rest = x.shape[:axis] + x.shape[axis + 1 :]
    if node.operation == "take-along":
        if index.shape != (*x.shape[:axis], 1, *x.shape[axis + 1 :]):
            return None
        found = core(index)
        return found if found.shape == rest else None
    last = axis == len(x.shape) - 1 == node.get("batch-axes", 0)
    return index if last and index.shape == rest else None


def lacking(node: Node) -> Match | None:
    """The logsumexp of the logits less the logit at the label."""
    total, hit = node.operands
    picker = core(hit).node
    if picker.operation not in ("take-along", "gather"):
        return None
    o = is_(total, "logsumexp")
    x, index = picker.operands
    if o is None or not same(o[0], x) or core(total).node.get("axes") != (picker.get("axis"),):
        return None
    labels = _labels(picker, index)
    if labels is None or node.types[0].size != total.type.size:
        return None
    return _match(x, labels, picker)._replace(negated=False)


def soft(node: Node) -> Match | None:
    """The sum over classes of shares times the log-softmax."""
    o = is_(node.operands[0], "multiply")
    axes = node.get("axes")
    if o is None or len(axes) != 1:
        return None
    for x, shares in either(o):
        inner = x.node
        if inner.operation != "log-softmax" or inner.get("axis") != axes[0]:
            continue
        if inner.get("scale", 1.0) != 1.0 or shares.shape != x.shape or number(shares):
            continue
        if _trained(shares):
            raise Near(LABELS)
        logits = inner.operands[0]
        return Match("cross-entropy", (logits, shares), {"axis": axes[0]}, negated=True)
    return None


def _trained(value: Value) -> bool:
    """Whether a value depends on a parameter, or on what a body is given."""
    seen, stack = set(), [value.node]
    while stack:
        node = stack.pop()
        if node.id in seen or node.operation == "stop-gradient":
            continue
        seen.add(node.id)
        if node.get("kind") in ("parameter", "body"):
            return True
        stack.extend(v.node for v in node.operands)
    return False
