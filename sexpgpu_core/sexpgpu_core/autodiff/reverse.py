"""The reverse sweep: each node's cotangent to its operands' by the operation's gradient rule.

Only nodes that depend on what is asked for are visited. A composite without a rule of its own is
differentiated through its expansion. Gradient nodes have the policy, copy and (marked grad) the
origins of their primal (45.21, 45.24).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..diagnostics import problem
from ..ir import Builder, Graph, Node, Operations, Value
from ..ir.operation import Operation
from ..ir.rules import local_rule
from ..ir.types import FLOATS
from .recompute import Recompute

Key = tuple[int, int]
Cotangents = tuple["Value | None", ...]


class GradientBuilder(Builder):
    """A builder that knows which values a gradient is asked through; it applies local rules.

    `beside`: another builder of the graph, which then knows the same nodes.
    """

    __slots__ = ("_copies", "reached", "recompute")

    def __init__(self, operations: Operations, graph: Graph, beside: Builder | None = None) -> None:
        super().__init__(operations, graph if beside is None else Graph(), rule=local_rule)
        if beside is not None:
            self.graph, self._known = graph, beside._known
        self.reached: set[int] = set()
        self.recompute = Recompute(self)
        self._copies = 0

    def fresh_copy(self) -> int:
        """A number that no node has as its copy, below 0: those of a trace are above."""
        if not self._copies:
            self._copies = min([0, *(n.copy for n in self.graph.nodes)])
        self._copies -= 1
        return self._copies

    def needs(self, value: Value) -> bool:
        """Whether a cotangent of the value is of use."""
        return value.node.id in self.reached and value.dtype in FLOATS


def differentiate(
    graph: Graph,
    operations: Operations,
    loss: Value,
    wrt: Mapping[str, Value],
    seed: float | Value = 1.0,
    builder: GradientBuilder | None = None,
) -> dict[str, Value | None]:
    """Gradients of a scalar loss (or of any value, with a seed of its shape), by the names of wrt.

    Appends to `graph`. None: the loss does not depend on it, or only through operations whose
    gradient is zero. Raises E-GRADIENT where it depends through one that has none. Linear in the
    number of nodes; gradients of shared values are added in the order of the sweep. Pass one
    `builder` to several calls: a new one reads the whole graph.
    """
    b = builder or GradientBuilder(operations, graph)
    b.reached = carriers(operations, graph.nodes, {v.node.id for v in wrt.values()})
    b.recompute = Recompute(b)
    start = seed if isinstance(seed, Value) else b.constant(seed, loss.dtype, loss.shape)
    cotangents = {(loss.node.id, loss.result): start}
    policy, copy = b.policy, b.copy
    sweep(b, [n for n in graph.nodes[: loss.node.id + 1] if n.id in b.reached], cotangents)
    b.policy, b.copy = policy, copy
    return {name: cotangents.get((v.node.id, v.result)) for name, v in wrt.items()}


WAYS_OUT = {
    "while": "a scan, whose trips are counted, has a gradient; stop-gradient of what goes in says "
    "that none is wanted",
}
"""What to write instead of an operation without a gradient, where the page of the code is vague."""


def dependents(
    nodes: Iterable[Node], roots: set[int], through: Callable[[Node], bool] | None = None
) -> set[int]:
    """Ids of the roots and of the nodes among `nodes` (in order) that depend on one, by nodes that
    it goes through: all, if nothing is said."""
    reached = set(roots)
    for node in nodes:
        for v in node.operands:
            if v.node.id in reached:
                if through is None or through(node):
                    reached.add(node.id)
                break
    return reached


def carriers(operations: Operations, nodes: Iterable[Node], roots: set[int]) -> set[int]:
    """Ids of the roots and of the nodes among `nodes` (in order) from which a gradient may come to
    one: `dependents`, but for what depends only through operations whose gradient is zero."""
    return dependents(nodes, roots, lambda n: _kind(operations[n.operation]) != "zero")


def _kind(operation: Operation) -> str:
    return getattr(operation, "differentiable", "yes")


def sweep(b: GradientBuilder, nodes: list[Node], cotangents: dict[Key, Value]) -> None:
    """From the last node to the first: add what each hands to its operands to `cotangents`."""
    for node in reversed(nodes):
        if len(node.types) == 1:
            g = cotangents.get((node.id, 0))
            if g is None or not node.operands:
                continue
            out: tuple[Value | None, ...] = (g,)
        else:
            out = tuple(cotangents.get((node.id, i)) for i in range(len(node.types)))
            if all(g is None for g in out):
                continue
        _pull(b, node, out, cotangents)


def _pull(
    b: GradientBuilder, node: Node, out: tuple[Value | None, ...], cotangents: dict[Key, Value]
) -> None:
    first = len(b.graph.nodes)
    again = b.recompute.of(node, out)
    b.policy, b.copy = again.policy, again.copy
    found = _gradient(b, again, out)
    reached = b.reached
    for v, g in zip(node.operands, found):
        if g is None or v.node.id not in reached or v.dtype not in FLOATS:
            continue
        key = (v.node.id, v.result)
        before = cotangents.get(key)
        cotangents[key] = g if before is None else b("add", before, g)
    _inherit(b.graph, node, first)


def _gradient(
    b: GradientBuilder, node: Node, out: tuple[Value | None, ...]
) -> tuple[Value | None, ...]:
    operation = b.operations[node.operation]
    kind = _kind(operation)
    if kind == "expand":
        return _through_expansion(b, operation, node, out)
    if kind == "body":
        from .scans import BODIES

        return BODIES[node.operation](b, node, out)
    if kind == "none":
        raise _no_gradient(b.graph, node)
    return operation.gradient(b, node, out)


def _through_expansion(
    b: GradientBuilder, operation: Operation, node: Node, out: tuple[Value | None, ...]
) -> tuple[Value | None, ...]:
    """Sweep the expansion's nodes between the operands and the results."""
    results = operation.expand(b, node)
    if results is None:
        raise _no_gradient(b.graph, node)
    inside = _between(results, {v.node.id for v in node.operands})
    # What depends on reached operands is reached, so nothing needs to be undone afterwards.
    roots = {v.node.id for v in node.operands if b.needs(v)}
    b.reached |= carriers(b.operations, inside, roots)
    local: dict[Key, Value] = {}
    for v, g in zip(results, out):
        if g is not None:
            local[v.node.id, v.result] = g
    sweep(b, inside, local)
    b.policy, b.copy = node.policy, node.copy
    # An operand that is given twice has one cotangent: taken out, so that it is handed on once.
    return tuple([local.pop((v.node.id, v.result), None) for v in node.operands])


def _between(results: tuple[Value, ...], stop: set[int]) -> list[Node]:
    """Nodes that the results need, in order, up to and without the nodes of `stop`."""
    seen: dict[int, Node] = {}
    stack = [v.node for v in results]
    while stack:
        node = stack.pop()
        if node.id not in seen and node.id not in stop:
            seen[node.id] = node
            stack.extend(v.node for v in node.operands)
    return [seen[i] for i in sorted(seen)]


def _inherit(graph: Graph, node: Node, first: int) -> None:
    """New nodes come from where their primal comes from."""
    origins = graph.origins.get(node.id)
    if not origins:
        return
    marked = tuple(o if o.grad else o._replace(grad=True) for o in origins)
    for made in range(first, len(graph.nodes)):
        graph.origins.setdefault(made, marked)


def _no_gradient(graph: Graph, node: Node) -> Exception:
    found = problem(
        "E-GRADIENT",
        f"{node.operation} has no gradient and the loss depends on a parameter through it",
        hint=WAYS_OUT.get(node.operation),
        operation=node.operation,
    )
    origin = graph.origin(node)
    return found.locate(origin.span, origin.expansion) if origin is not None else found
