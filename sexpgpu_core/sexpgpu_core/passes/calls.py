"""Attention becomes the two calls of a library, where a device has them: before autodiff, so that
the forward pass keeps what its backward pass is made of, and no shares are ever stored."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Builder, Graph, Node, Value
from ..ir.operation import Operations
from ..ir.policy import policy_of
from .rebuild import rebuild

DEEPEST = 128
"""Of a head, that cuDNN's attention takes in both directions."""


def refusal(node: Node, precision: str) -> str | None:
    """Why an attention is not a library's call, or None. `precision`: of the run."""
    low = policy_of(node.policy or precision, precision).low
    q, _, v = node.operands[:3]
    narrow = q.dtype if q.dtype in ("bf16", "f16") else low
    extras = node.get("extras") or ()
    rules = (
        (narrow is not None and q.dtype != "f64", "it is not in 16 bits"),
        (not extras, f"it has {' and '.join(extras)}, which our own numbers or kernels make"),
        (not node.get("soft-cap"), "its scores have a soft cap"),
        (not node.get("window") or bool(node.get("causal")), "its window looks ahead"),
        (max(q.shape[3], v.shape[3]) <= DEEPEST, f"its heads are deeper than {DEEPEST}"),
        (q.shape[3] % 8 == v.shape[3] % 8 == 0, "the depth of its heads is no multiple of 8"),
    )
    return next((why for holds, why in rules if not holds), None)


def library_calls(
    graph: Graph, operations: Operations, library: Callable[[str], bool], precision: str
) -> Graph:
    """The same graph where the device has no such calls or nothing to make them of."""
    attention = any(n.operation == "attention" for n in graph.nodes)
    if not attention or not library("attention-forward"):
        return graph

    def change(b: Builder, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if node.operation != "attention" or refusal(node, precision) is not None:
            return None
        given = {name: node.get(name) for name in ("causal", "window", "scale")}
        return b.several("attention-forward", *operands, **given)[:1]

    return rebuild(graph, operations, change)
