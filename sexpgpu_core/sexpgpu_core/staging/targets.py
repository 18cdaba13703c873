"""Losses of labels that are cut from the same field as the inputs: does the model see its target?

Of a field of integers with positions on axis 1, the label at t is the element t + s. The logits at
t read elements t + low to t + high. A target that is read is W-TARGET-LEAK; one that lies two or
more positions beyond what is read, in every such loss, W-TARGET-GAP.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..diagnostics import Diagnostic, Related, diagnostic
from ..ir.dependence import Dependence
from ..ir.graph import Node, Value
from ..ir.reach import FAR, Reach, along
from ..ir.types import INTEGERS
from ..spans import Span
from .causality import leaking, way
from .origins import place_of
from .tracer import Tracer

POSITIONS = 1
"""The axis of positions in a field (b n)."""


def check_targets(t: Tracer) -> Iterator[Diagnostic]:
    """Warnings about the losses of a traced objective."""
    graph = t.root.builder.graph
    losses = [n for n in graph.nodes if _of_positions(n)]
    fields = [n for n in graph.inputs() if _is_text(n)] if losses else []
    for field in fields:
        yield from _of_field(t, field, losses)


def _of_positions(node: Node) -> bool:
    """A cross-entropy with a label a position."""
    if node.operation != "cross-entropy":
        return False
    labels = node.operands[1]
    return labels.dtype in INTEGERS and len(labels.shape) == 2 and len(node.operands[0].shape) == 3


def _is_text(node: Node) -> bool:
    return (
        node.get("kind") == "batch"
        and node.get("dtype") in INTEGERS
        and len(node.get("shape")) == 2
    )


def _of_field(t: Tracer, field: Node, losses: list[Node]) -> Iterator[Diagnostic]:
    b = t.root.builder
    found = Dependence(b.graph, b.operations, [Value(field)], POSITIONS)
    beyond: list[tuple[int, Node]] = []
    for node in losses:
        logits, labels = node.operands[:2]
        place, read = _place(found.of(labels)), found.of(logits)
        if place is None or read.empty:
            continue
        bound = read.bound(POSITIONS)
        if _sees(read, place):
            yield _leak(t, field, found, node, place)
        elif bound is not None:
            high = bound[1]
            beyond.append((place - high, node))
            if high < place:
                t.proved.append(_proof(str(field.get("name")), high, place))
    if beyond and min(n for n, _ in beyond) > 1:
        yield _gap(t, *min(beyond, key=lambda row: row[0]))


def _proof(field: str, high: int, place: int) -> str:
    return f"logits at t see {field} up to {_at(high)}, their label is {field} at {_at(place)}"


def _at(place: int) -> str:
    return "t" if not place else f"t {'+' if place > 0 else '-'} {abs(place)}"


def _place(reach: Reach) -> int | None:
    """Where a label stands in the field, from its own position."""
    low, high = reach.bound(POSITIONS) or (-FAR, FAR)
    return low if low == high else None


def _sees(read: Reach, place: int) -> bool:
    """Whether the logits may read the label. Labels in place are read by models that see both
    ways alike too, where inputs are masked: these are left alone, and what sees by chunks."""
    bound = read.bound(POSITIONS)
    if bound is None:
        return place != 0
    low, high = bound
    if place == 0 != high and set(read.terms) != set(along(POSITIONS).terms):
        return False
    return low <= place <= high and (place != 0 or high == 0 or high not in (FAR, -low))


def _leak(t: Tracer, field: Node, found: Dependence, node: Node, place: int) -> Diagnostic:
    logits, labels = node.operands[:2]
    span, related = _told(t, node, labels.node)
    hint, edit = "inputs end before their labels do: (slice x :axis 1 :end -1)", None
    leak = found.leak(logits, POSITIONS)
    if leak is not None and place > 0:
        there = leaking(t, leak, "W-TARGET-LEAK", None)
        related += (Related(there.message, there.span), Related(f"the way: {way(leak.path)}", None))
        hint, edit = there.hint or hint, there.edit
    return diagnostic(
        "W-TARGET-LEAK",
        f"the logits at t may read {field.get('name')} at {_at(place)}, which is their label",
        span=span,
        hint=hint,
        edit=edit,
        related=related,
    )


def _gap(t: Tracer, beyond: int, node: Node) -> Diagnostic:
    span, related = _told(t, node, node.operands[1].node)
    return diagnostic(
        "W-TARGET-GAP",
        f"the labels are {beyond} positions after the last one that the model reads",
        span=span,
        hint="the next position is 1 after it: labels or logits are shifted once too often",
        related=related,
        beyond=beyond,
    )


def _told(t: Tracer, loss: Node, labels: Node) -> tuple[Span | None, tuple[Related, ...]]:
    """The place of a loss, and where its labels are cut; that one alone where the loss has none."""
    span, made = place_of(loss, t.root), place_of(labels, t.root)
    if span is None or made is None:
        return span or made, ()
    return span, (Related("the labels are cut from the field here", made),)
