"""What a device's libraries have as one call is written so: attention, and products that end with a
bias or GELU. Before autodiff, so that the forward pass keeps what its backward pass is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..ir import Builder, Graph, Node, Value
from ..ir.operation import Operations
from ..ir.policy import policy_of
from .rebuild import rebuild

DEEPEST = 128
"""Of a head, that cuDNN's attention takes in both directions."""
ALIGNED = 8
"""Elements of 16 bits that rows of products with epilogues are multiples of: 16 bytes."""
FLAGS = ("transpose-x", "transpose-y")
Call = Callable[[Builder, Node, "tuple[Value, ...]"], "tuple[Value, ...] | None"]


def refusal(node: Node, precision: str) -> str | None:
    """Why an attention is not a library's call, or None. `precision`: of the run."""
    q, _, v = node.operands[:3]
    extras = node.get("extras") or ()
    rules = (
        (_is_narrow(node, precision), "it is not in 16 bits"),
        (not extras, f"it has {' and '.join(extras)}, which our own numbers or kernels make"),
        (not node.get("soft-cap"), "its scores have a soft cap"),
        (not node.get("window") or bool(node.get("causal")), "its window looks ahead"),
        (max(q.shape[3], v.shape[3]) <= DEEPEST, f"its heads are deeper than {DEEPEST}"),
        (q.shape[3] % 8 == v.shape[3] % 8 == 0, "the depth of its heads is no multiple of 8"),
    )
    return next((why for holds, why in rules if not holds), None)


def gelu_refusal(node: Node, precision: str) -> str | None:
    """Why a GELU is not the end of a product, or None; for one of a biased product alone."""
    bias = _biased(node.operands[0])
    if bias is None:
        return "no biased product is what it takes"
    rules = (
        (node.get("approximate") == "tanh", "a library's GELU is the tanh form"),
        (node.policy == bias.policy, "its numbers have a policy of their own"),
    )
    why = next((why for holds, why in rules if not holds), None)
    return why or bias_refusal(bias, precision)


def bias_refusal(node: Node, precision: str) -> str | None:
    """Why a sum is not a product that ends with a bias, or None."""
    product = _product(node)
    if product is None:
        return "it is no product and a bias"
    x, y = product.operands
    inner = x.shape[-1]
    rules = (
        (_is_narrow(product, precision), "it is not in 16 bits"),
        (node.policy == product.policy, "its numbers have a policy of their own"),
        (len(y.shape) == 2 and not product.get("transpose-x"), "it is a batch of products"),
        (
            inner % ALIGNED == node.types[0].shape[-1] % ALIGNED == 0,
            f"its sizes are no multiples of {ALIGNED}",
        ),
        (0 not in (inner, *node.types[0].shape), "it has no elements"),
    )
    return next((why for holds, why in rules if not holds), None)


def _is_narrow(node: Node, precision: str) -> bool:
    """Whether a product or an attention is made in 16 bits."""
    dtype = node.operands[0].dtype
    low = policy_of(node.policy or precision, precision).low
    return dtype in ("bf16", "f16") or (low is not None and dtype != "f64")


def _biased(value: Value) -> Node | None:
    return value.node if value.node.operation == "add" and _product(value.node) else None


def _product(node: Node) -> Node | None:
    """The product that a vector is added to."""
    for value, other in (node.operands, node.operands[::-1]):
        whole = value.node.operation == "matmul" and value.type == node.types[0]
        if whole and other.shape == value.shape[-1:] and other.dtype == value.dtype:
            return value.node
    return None


def library_calls(
    graph: Graph, operations: Operations, library: Callable[[str], bool], precision: str
) -> Graph:
    """The same graph where the device has no such calls or nothing to make them of."""
    calls = Calls(graph, library, precision)
    changes: dict[str, Call] = {n: call for n, (call, made) in calls.table().items() if made}
    if not any(n.operation in changes for n in graph.nodes):
        return graph

    def change(b: Builder, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        call = changes.get(node.operation)
        return None if call is None else call(b, node, operands)

    return rebuild(graph, operations, change)


class Calls:
    """What becomes of each node. A product and its bias are only used by what they are joined
    with."""

    def __init__(self, graph: Graph, library: Callable[[str], bool], precision: str) -> None:
        self.library = library
        self.precision = precision
        self.uses = Counter(v for node in graph.nodes for v in node.operands)
        self.uses.update(graph.results.values())

    def table(self) -> dict[str, tuple[Call, bool]]:
        """By operation: what it may become, and whether the device has that."""
        return {
            "attention": (self._attention, self.library("attention-forward")),
            "add": (self._bias, self.library("matmul-bias")),
            "gelu": (self._gelu, self.library("matmul-gelu")),
        }

    def _attention(
        self, b: Builder, node: Node, operands: tuple[Value, ...]
    ) -> tuple[Value, ...] | None:
        if refusal(node, self.precision) is not None:
            return None
        given = {name: node.get(name) for name in ("causal", "window", "scale")}
        return b.several("attention-forward", *operands, **given)[:1]

    def _bias(
        self, b: Builder, node: Node, operands: tuple[Value, ...]
    ) -> tuple[Value, ...] | None:
        if bias_refusal(node, self.precision) is not None:
            return None
        product = _product(node)
        assert product is not None
        at = 0 if node.operands[0].node is product else 1
        if self.uses[node.operands[at]] > 1:
            return None
        made = operands[at].node
        flags = {name: made.get(name) or None for name in FLAGS}
        return (b("matmul-bias", *made.operands, operands[1 - at], **flags),)

    def _gelu(
        self, b: Builder, node: Node, operands: tuple[Value, ...]
    ) -> tuple[Value, ...] | None:
        made = operands[0].node
        alone = made.operation == "matmul-bias" and self.uses[node.operands[0]] == 1
        if not alone or gelu_refusal(node, self.precision) is not None:
            return None
        flags = {name: made.get(name) or None for name in FLAGS}
        return b.several("matmul-gelu", *made.operands, **flags)[:1]
