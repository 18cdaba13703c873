"""A scan as a scan over segments: only the carries between them are kept for the backward pass."""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.graph import Graph
from ..ir.graph import Value as Node
from ..ir.ops import loops


def segmented(
    b: Builder,
    body: Graph,
    operands: dict[str, Node],
    length: int,
    reverse: bool,
    save: str | None,
    every: int,
) -> dict[str, Node]:
    """A scan over segments of `every` trips, which keeps the carries between them only; what is
    left over is a scan behind it, or before it in reverse."""
    whole, rest = length // every, length % every
    spans = [(0, whole * every, True)] + ([(whole * every, length, False)] if rest else [])
    pieces: dict[int, dict[str, Node]] = {}
    operands = dict(operands)
    for start, stop, in_segments in reversed(spans) if reverse else spans:
        part = {n: _rows(b, v, start, stop) if n[0] == "x" else v for n, v in operands.items()}
        if in_segments:
            found = _in_segments(b, body, part, whole, every, reverse, save)
        else:
            found = loops.scan(b, body, part, rest, reverse, save)
        operands.update({n: v for n, v in found.items() if n in operands})
        pieces[start] = found
    first, *more = [pieces[start] for start, _, _ in spans]
    if not more:
        return first
    joined = {n: b("concat", v, more[0][n], axis=0) for n, v in first.items() if n[0] == "y"}
    return {n: joined.get(n, operands.get(n, v)) for n, v in first.items()}


def _rows(b: Builder, node: Node, start: int, stop: int) -> Node:
    rest = node.shape[1:]
    if (start, stop) == (0, node.shape[0]):
        return node
    return b(
        "slice",
        node,
        starts=(start, *(0 for _ in rest)),
        stops=(stop, *rest),
        steps=(1,) * len(node.shape),
    )


def _in_segments(
    b: Builder,
    body: Graph,
    operands: dict[str, Node],
    whole: int,
    every: int,
    reverse: bool,
    save: str | None,
) -> dict[str, Node]:
    inner = Builder(b.operations, origin=b.origin)
    mine = {}
    parts = {}
    for name, v in operands.items():
        shape = (every, *v.shape[1:]) if name[0] == "x" else v.shape
        mine[name] = inner.input(name, "body", v.dtype, shape)
        parts[name] = b("reshape", v, shape=(whole, *shape)) if name[0] == "x" else v
    found = loops.scan(inner, body, mine, every, reverse, save)
    inner.graph.results = found
    outer = loops.scan(b, inner.graph, parts, whole, reverse, "carry")
    return {
        n: b("reshape", v, shape=(whole * every, *v.shape[2:])) if n[0] == "y" else v
        for n, v in outer.items()
    }
